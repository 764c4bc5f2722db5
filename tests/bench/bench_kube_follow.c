/* kube_follow - Pods from an API server into the loop's cache, by the whole real path, for bench_kube:
 *
 *     kube_follow KUBECONFIG [EVENTS]
 *
 * It reads all Pods, plans each node once, and says what that took; then it waits for so many changes and says how long
 * each took from the moment in its resourceVersion to the plan. A capability as those of the pools: its keys are nodes,
 * and its facts are the Pods of one.
 */
#include "api/core.h"
#include "base/units.h"
#include "run/kube.h"
#include "run/loop.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* One process, one bench: a plan has no place to say what it measured. */
static struct {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_feed *feed;
	bool listed;
	uint64_t began;
	double cpu;                    /* when the state was there */
	uint64_t plans, after;         /* plans; changes sent before this moment are no events */
	uint64_t *late;
	uint32_t events, got;
} bench;

static uint64_t monotonic(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * FL_NS_PER_S + (uint64_t)now.tv_nsec;
}

static double cpu(void)
{
	struct rusage used;

	(void)getrusage(RUSAGE_SELF, &used);
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/* KiB. What getrusage says begins with what was there before exec. */
static long peak(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[200];
	long kib = 0;

	while (file && fgets(line, sizeof line, file))
		if (strncmp(line, "VmHWM:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	if (file)
		(void)fclose(file);
	return kib;
}

static int die(const struct fl_err *err)
{
	(void)fprintf(stderr, "kube_follow: %s\n", err->text);
	return 1;
}

/* ---- the capability ---- */

struct facts {
	uint32_t pods;
	uint64_t newest;
};

static void by_node(const void *pod, struct fl_under *under)
{
	FL_UNDER(under, ((const struct fl_pod *)pod)->spec.node_name);
}

static void by_space(const void *pod, struct fl_under *under)
{
	FL_UNDER(under, ((const struct fl_pod *)pod)->meta.space);
}

static const struct fl_index pods_by[] = { { "node", by_node }, { "namespace", by_space }, { 0 } };

static void keys(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct fl_pod *was = before, *is = after;

	if (was)
		fl_dirty_key(dirty, FL_S(""), was->spec.node_name);
	if (is)
		fl_dirty_key(dirty, FL_S(""), is->spec.node_name);
}

static bool gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct fl_each each = fl_view_by(view, &fl_pod_kind, "node", key.name);
	struct facts *facts = facts_;
	const struct fl_pod *pod;

	while ((pod = fl_each_next(&each))) {
		int64_t version = 0;

		facts->pods++;
		if (fl_str_i64(pod->meta.resource_version, &version) && (uint64_t)version > facts->newest)
			facts->newest = (uint64_t)version;
	}
	return facts->pods > 0;
}

static void plan_it(const void *facts_, struct fl_plan *plan)
{
	const struct facts *facts = facts_;

	(void)plan;
	bench.plans++;
	if (facts->newest <= bench.after || bench.got == bench.events)
		return;
	bench.late[bench.got++] = monotonic() - facts->newest;
	if (bench.got == bench.events)
		fl_io_stop(bench.io);
}

static const struct fl_watched watches[] = { { &fl_pod_kind, keys, false }, { 0 } };
static const struct fl_capability nodes = {
	.name = "bench", .watches = watches, .facts_size = sizeof(struct facts), .gather = gather, .plan = plan_it,
};

/* ---- the watch tells us first ---- */

static void begin(void *feed)
{
	fl_feed_watch.begin(feed);
}

static int put(void *feed, const void *object, struct fl_err *err)
{
	return fl_feed_watch.put(feed, object, err);
}

static void gone(void *feed, struct fl_str space, struct fl_str name)
{
	fl_feed_watch.gone(feed, space, name);
}

static void synced(void *feed)
{
	fl_feed_watch.synced(feed);
	bench.listed = true;
	bench.cpu = cpu();
}

static void absent(void *feed)
{
	fl_feed_watch.absent(feed);
}

static const struct fl_watch_to to = { begin, put, gone, synced, absent };

/* ---- what is said ---- */

static void say_list(void)
{
	const struct fl_turns *turns = fl_io_turns(bench.io);

	(void)printf("{\"cpu_s\":%.6f,\"wall_s\":%.6f,\"rss_kib\":%ld,\"cache_kib\":%llu,\"turn_ms\":%.3f,"
		     "\"call_ms\":%.3f,\"call\":\"%s\",\"plans\":%llu,\"planned_cpu_s\":%.6f}\n",
		     bench.cpu, (double)(monotonic() - bench.began) / 1e9, peak(),
		     (unsigned long long)fl_loop_bytes(bench.loop) / 1024, (double)turns->longest / 1e6,
		     (double)turns->longest_call / 1e6, turns->longest_name ? turns->longest_name : "",
		     (unsigned long long)bench.plans, cpu());
	(void)fflush(stdout);
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void say_events(double before)
{
	const uint64_t *p50 = &bench.late[bench.events / 2];
	const uint64_t *p99 = &bench.late[(uint64_t)bench.events * 99 / 100];

	qsort(bench.late, bench.events, sizeof *bench.late, by_time);
	(void)printf("{\"p50_us\":%.3f,\"p99_us\":%.3f,\"cpu_us\":%.3f}\n", (double)*p50 / 1e3, (double)*p99 / 1e3,
		     (cpu() - before) / bench.events * 1e6);
}

/* Until the state is there and every node has been planned. */
static int read_all(struct fl_err *err)
{
	while (!bench.listed || !fl_loop_idle(bench.loop))
		if (fl_io_turn(bench.io, FL_NEVER, err) < 0)
			return -1;
	say_list();
	return 0;
}

static int follow(struct fl_kube *kube, struct fl_err *err)
{
	struct fl_loop_options loop_options = { 0 };
	struct fl_source source = { .kind = &fl_pod_kind, .by = pods_by };
	struct fl_watch_options options = { .kind = &fl_pod_kind, .to = &to };
	FL_AUTO(fl_loop) struct fl_loop *loop = NULL;
	FL_AUTO(fl_watch) struct fl_watch *watch = NULL;
	double before;

	if (fl_random(bench.io, loop_options.seed, sizeof loop_options.seed, err) < 0)
		return -1;
	bench.loop = loop = fl_loop_new(bench.io, &loop_options, err);
	if (!loop || fl_loop_source(loop, &source, err) < 0 || fl_loop_capability(loop, &nodes, err) < 0)
		return -1;
	options.arg = fl_loop_feed(loop, &fl_pod_kind);
	watch = fl_watch_new(kube, &options, err);
	if (!watch || read_all(err) < 0)
		return -1;
	before = cpu();
	if (bench.events && fl_io_run(bench.io, err) < 0)
		return -1;
	if (bench.events)
		say_events(before);
	return 0;
}

int main(int argc, char **argv)
{
	struct fl_err err = { 0 };
	struct fl_kube_where where = { .kubeconfig = argc > 1 ? argv[1] : NULL, .env = (const char *const *)environ };
	FL_AUTO(fl_io) struct fl_io *io = fl_posix_new(&err);
	FL_AUTO(fl_kube_config) struct fl_kube_config *config = NULL;
	FL_AUTO(fl_kube) struct fl_kube *kube = NULL;
	int r;

	if (!where.kubeconfig)
		return 2;
	bench.began = bench.after = monotonic();
	bench.events = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
	bench.late = fl_zalloc_n(bench.events + 1, sizeof *bench.late);
	bench.io = io;
	config = io ? fl_kube_config_load(fl_io_fs(io), &where, &err) : NULL;
	kube = config ? fl_kube_new(io, &(struct fl_kube_options){ .config = config, .role = "bench" }, &err) : NULL;
	r = kube && bench.late ? follow(kube, &err) : -1;
	fl_free(bench.late);
	return r < 0 ? die(&err) : 0;
}
