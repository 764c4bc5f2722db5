/* kube_converge - 10,000 statuses on a real API server, for bench_kube. Objects are the demo's Rockets, and what should
 * be so is status.capacity.total = spec.replicas + PLUS.
 *
 *     kube_converge KUBECONFIG COUNT PLUS control   a controller: Lease, watch, cache, plan, apply; until its stdin
 *     ends kube_converge KUBECONFIG COUNT PLUS blind     the same applies, as many at once, and nothing else
 *     kube_converge KUBECONFIG COUNT 0 make         makes the Rockets
 *
 * Each says in a line of JSON what it took once all is so; `control` says it again for each line on its stdin.
 */
#include "api/demo.h"
#include "base/units.h"
#include "kube/lease.h"
#include "run/kube.h"
#include "run/loop.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { REPLICAS = 3 };

/* One process, one bench: a plan has no place to count itself. */
static struct {
	struct fl_io *io;
	struct fl_kube *kube;
	struct fl_loop *loop;
	uint32_t count, plus;
	uint64_t began;
	uint64_t plans, writes;
	bool ended;                    /* stdin is at its end */
} bench;

static uint64_t monotonic(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * FL_NS_PER_S + (uint64_t)now.tv_nsec;
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

static void say(void)
{
	struct rusage used;
	double cpu;

	(void)getrusage(RUSAGE_SELF, &used);
	cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	      (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
	(void)printf("{\"wall_s\":%.6f,\"cpu_s\":%.6f,\"rss_kib\":%ld,\"writes\":%llu,\"plans\":%llu}\n",
		     (double)(monotonic() - bench.began) / 1e9, cpu, peak(), (unsigned long long)bench.writes,
		     (unsigned long long)bench.plans);
	(void)fflush(stdout);
}

static void die(const struct fl_err *err)
{
	(void)fprintf(stderr, "kube_converge: %s\n", err->text);
	exit(1);
}

/* ---- the capability ---- */

static const struct fl_owner status_owner = {
	.manager = "bench", .kind = &fl_demo_kind, .paths = (const char *const[]){ "status.capacity", NULL },
};
static const struct fl_owner spec_owner = {
	.manager = "bench-person", .kind = &fl_demo_kind, .paths = (const char *const[]){ "spec", NULL },
};
static const struct fl_owner *const owners[] = { &status_owner, NULL };

static void keys(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct fl_demo *rocket = after ? after : before;

	fl_dirty_key(dirty, rocket->meta.space, rocket->meta.name);
}

static bool gather(struct fl_view *view, struct fl_ref key, void *facts)
{
	const struct fl_demo *rocket = fl_view_get(view, &fl_demo_kind, key.space, key.name);

	*(const struct fl_demo **)facts = rocket;
	return rocket != NULL;
}

static void want_total(struct fl_demo *want, int32_t replicas)
{
	FL_SET(FL_IN(FL_IN(want, status), capacity), total, replicas + (int32_t)bench.plus);
}

static void plan_it(const void *facts, struct fl_plan *plan)
{
	const struct fl_demo *rocket = *(const struct fl_demo *const *)facts;
	struct fl_demo want = { 0 };

	bench.plans++;
	want_total(&want, rocket->spec.replicas);
	fl_want(plan, &status_owner, FL_REF(&fl_demo_kind, rocket), &want);
}

static const struct fl_watched watches[] = { { &fl_demo_kind, keys, false }, { 0 } };
static const struct fl_capability capacity = {
	.name = "bench", .watches = watches, .key = &fl_demo_kind, .owners = owners,
	.facts_size = sizeof(struct fl_demo *), .gather = gather, .plan = plan_it,
};

/* ---- control ---- */

static void start_write(void *kube, struct fl_write *write)
{
	bench.writes++;
	fl_kube_sink.start(kube, write);
}

static void cancel_write(void *kube, struct fl_write *write)
{
	fl_kube_sink.cancel(kube, write);
}

static void leads(void *loop, bool leads)
{
	fl_loop_lead(loop, leads);
}

static struct fl_elector *elector;

static bool may_write(void *arg)
{
	(void)arg;
	return elector && fl_lease_held(elector);
}

static void stdin_ready(struct fl_poll *poll, unsigned what)
{
	char bytes[64];
	int64_t n = fl_read(bench.io, poll->fd, bytes, sizeof bytes);

	(void)what;
	if (n > 0)
		say();
	if (n > 0 || n == -FL_E_AGAIN)
		return;
	bench.ended = true;
	fl_poll_stop(bench.io, poll);
}

/* Says so when all is so for the first time; nothing else of it runs at rest. */
static void run_to_rest(struct fl_err *err)
{
	bool told = false;

	while (!bench.ended) {
		if (fl_io_turn(bench.io, FL_NEVER, err) < 0)
			die(err);
		if (!told && bench.writes >= bench.count && fl_loop_idle(bench.loop)) {
			told = true;
			say();
		}
	}
}

static void control(struct fl_err *err)
{
	struct fl_sink sink = { start_write, cancel_write, fl_kube_sink.room };
	struct fl_source source = { .kind = &fl_demo_kind, .sink = &sink, .sink_arg = bench.kube };
	struct fl_loop_options options = { .standby = true, .may_write = may_write };
	struct fl_watch_options watch_options = { .kind = &fl_demo_kind, .to = &fl_feed_watch };
	struct fl_lease_options lease = { .space = "default", .identity = "bench", .leads = leads };
	struct fl_poll in = { .ready = stdin_ready, .fd = 0 };
	char name[40];
	FL_AUTO(fl_loop) struct fl_loop *loop = NULL;
	FL_AUTO(fl_watch) struct fl_watch *watch = NULL;

	(void)snprintf(name, sizeof name, "bench-%u", bench.plus);
	if (fl_random(bench.io, options.seed, sizeof options.seed, err) < 0)
		die(err);
	bench.loop = loop = fl_loop_new(bench.io, &options, err);
	if (!loop || fl_loop_source(loop, &source, err) < 0 || fl_loop_capability(loop, &capacity, err) < 0)
		die(err);
	watch_options.arg = fl_loop_feed(loop, &fl_demo_kind);
	watch = fl_watch_new(bench.kube, &watch_options, err);
	lease.name = name;
	lease.arg = loop;
	elector = watch ? fl_elector_new(bench.kube, &lease, err) : NULL;
	if (!elector || fl_poll_set(bench.io, &in, FL_READABLE, err) < 0)
		die(err);
	run_to_rest(err);
	fl_poll_stop(bench.io, &in);
	elector = fl_elector_free(elector);
}

/* ---- blind, make ---- */

struct one {
	struct fl_kube_call call;
	const struct fl_owner *owner;
	struct fl_buf body;
	struct fl_arena arena;
	struct fl_err err;
	char name[24];
};

static void written(struct fl_op *op);

static void write_next(struct one *one)
{
	struct fl_demo want = { 0 };
	struct fl_jw w = FL_JW(&one->body);

	(void)snprintf(one->name, sizeof one->name, "rocket-%llu", (unsigned long long)bench.writes++);
	if (one->owner == &status_owner) {
		want_total(&want, REPLICAS);
	} else {
		FL_SET(FL_IN(&want, spec), name, FL_S("rocket"));
		FL_SET(&want.spec, replicas, REPLICAS);
	}
	fl_buf_clear(&one->body);
	fl_arena_reset(&one->arena);
	if (fl_owned_apply(one->owner, FL_S("default"), fl_str(one->name), FL_S(""), FL_S(""), &want, &one->arena, &w,
			   &one->err) < 0)
		die(&one->err);
	one->call = (struct fl_kube_call){
		.op = { .done = written, .err = &one->err, .deadline = fl_now(bench.io) + FL_RUN_WRITE_TIMEOUT },
		.verb = FL_KUBE_APPLY, .kind = &fl_demo_kind, .space = FL_S("default"), .name = fl_str(one->name),
		.subresource = one->owner == &status_owner ? "status" : NULL, .manager = one->owner->manager,
		.body = fl_buf_view(&one->body), .force = true,
	};
	fl_kube_start(bench.kube, &one->call);
}

static uint32_t answered;

static void written(struct fl_op *op)
{
	struct one *one = fl_container(fl_container(op, struct fl_kube_call, op), struct one, call);

	if (op->result < 0)
		die(&one->err);
	if (++answered == bench.count)
		fl_io_stop(bench.io);
	else if (bench.writes < bench.count)
		write_next(one);
}

static void blind(const struct fl_owner *owner, struct fl_err *err)
{
	struct one *ones = fl_zalloc_n(FL_RUN_WRITES, sizeof *ones);

	for (uint32_t i = 0; ones && i < FL_RUN_WRITES && i < bench.count; i++) {
		ones[i].owner = owner;
		ones[i].body = FL_BUF(FL_JSON_ITEM_MAX);
		write_next(&ones[i]);
	}
	if (!ones || fl_io_run(bench.io, err) < 0)
		die(err);
	say();
	for (uint32_t i = 0; i < FL_RUN_WRITES; i++) {
		fl_buf_free(&ones[i].body);
		fl_arena_free(&ones[i].arena);
	}
	fl_free(ones);
}

int main(int argc, char **argv)
{
	struct fl_err err = { 0 };
	struct fl_kube_where where = { .kubeconfig = argc > 1 ? argv[1] : NULL, .env = (const char *const *)environ };
	FL_AUTO(fl_io) struct fl_io *io = fl_posix_new(&err);
	FL_AUTO(fl_kube_config) struct fl_kube_config *config = NULL;
	FL_AUTO(fl_kube) struct fl_kube *kube = NULL;

	if (argc != 5)
		return 2;
	bench.began = monotonic();
	bench.count = (uint32_t)strtoul(argv[2], NULL, 10);
	bench.plus = (uint32_t)strtoul(argv[3], NULL, 10);
	bench.io = io;
	config = io ? fl_kube_config_load(fl_io_fs(io), &where, &err) : NULL;
	kube = config ? fl_kube_new(io, &(struct fl_kube_options){ .config = config, .role = "bench" }, &err) : NULL;
	if (!kube)
		die(&err);
	bench.kube = kube;
	if (strcmp(argv[4], "control") == 0)
		control(&err);
	else
		blind(strcmp(argv[4], "blind") == 0 ? &status_owner : &spec_owner, &err);
	return 0;
}
