/* Floor 1: what everything above pays for its maps, arenas, log lines, checksums and scrapes. */
#include "base/arena.h"
#include "base/crc32c.h"
#include "base/hmap.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/units.h"
#include <stdio.h>
#include <time.h>

static const uint64_t seed[2] = { 1, 2 };

/* CPU time of this process: what else runs on the machine must not count. */
static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * FL_NS_PER_S + (uint64_t)t.tv_nsec;
}

static void row(const char *name, double value, const char *unit, const char *sign, double bar)
{
	bool ok = sign[0] == '<' ? value <= bar : value >= bar;

	printf("{\"name\":\"%s\",\"value\":%.4g,\"unit\":\"%s\",\"bar\":\"%s %g\",\"ok\":%s}\n", name, value, unit,
	       sign, bar, ok ? "true" : "false");
}

static uint64_t random_at;

static uint64_t any(void)
{
	uint64_t z = random_at += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* ---- maps: 500,000 objects with keys of 30 bytes, in random order, so nearly every access is a cache miss ---- */

enum { OBJECTS = 500000 };

struct object {
	uint32_t len;
	char name[44];
};

static struct fl_str key_of(const void *object)
{
	return (struct fl_str){ ((const struct object *)object)->name, ((const struct object *)object)->len };
}

static void shuffle(uint32_t *order)
{
	for (uint32_t i = 0; i < OBJECTS; i++)
		order[i] = i;
	for (uint32_t i = OBJECTS - 1; i > 0; i--) {
		uint32_t k = (uint32_t)(any() % (i + 1)), swap = order[i];

		order[i] = order[k];
		order[k] = swap;
	}
}

static void least(uint64_t *best, uint64_t spent)
{
	if (*best == 0 || spent < *best)
		*best = spent;
}

/* ns for all of add, get, delete; the least of several rounds stays. False: no memory, or something was lost. */
static bool map_round(struct object *objects, uint32_t *order, uint64_t best[3], uint32_t *ret_cap)
{
	FL_AUTO(fl_hmap) struct fl_hmap map;
	uint64_t start, found = 0;

	fl_hmap_init(&map, key_of, seed);
	shuffle(order);
	start = now();
	for (uint32_t i = 0; i < OBJECTS; i++)
		if (fl_hmap_put(&map, &objects[order[i]], NULL) < 0)
			return false;
	least(&best[0], now() - start);
	*ret_cap = map.cap;
	shuffle(order);
	start = now();
	for (uint32_t i = 0; i < OBJECTS; i++)
		found += fl_hmap_get(&map, key_of(&objects[order[i]])) != NULL;
	least(&best[1], now() - start);
	start = now();
	for (uint32_t i = 0; i < OBJECTS; i++)
		found += fl_hmap_del(&map, key_of(&objects[order[i]])) != NULL;
	least(&best[2], now() - start);
	return found == 2 * OBJECTS;
}

static void maps(struct object *objects, uint32_t *order)
{
	uint64_t best[3] = { 0 };
	uint32_t cap;

	for (uint32_t i = 0; i < OBJECTS; i++)
		objects[i].len = (uint32_t)snprintf(objects[i].name, sizeof objects[i].name,
						    "namespace-%02u/workload-pod-%06u", i % 100, i);
	for (int round = 0; round < 3; round++)
		if (!map_round(objects, order, best, &cap))
			return;
	row("map of 500,000: add", (double)best[0] / OBJECTS, "ns", "<=", 400);
	row("map of 500,000: get", (double)best[1] / OBJECTS, "ns", "<=", 300);
	row("map of 500,000: delete", (double)best[2] / OBJECTS, "ns", "<=", 300);
	row("map of 500,000: bytes beside the objects", (double)cap * 16 / OBJECTS, "B", "<=", 34);
}

/* ---- arenas ---- */

static void arenas(void)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const int rounds = 200, pieces = 10000;
	uint64_t start = now();
	uintptr_t sum = 0;

	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < pieces; i++)
			sum ^= (uintptr_t)fl_arena_get(&arena, 48);
		fl_arena_reset(&arena);
	}
	row("arena: a piece of 48 bytes, reset included", (double)(now() - start) / rounds / pieces, "ns", "<=",
	    sum == 1 ? 0 : 15);
}

/* ---- interned texts: 500,000 holders of 300 texts ---- */

static void interns(void)
{
	FL_AUTO(fl_interns) struct fl_interns pool;
	static const struct fl_istr *held[OBJECTS];
	char names[300][24];
	uint64_t start;

	fl_interns_init(&pool, seed);
	for (int i = 0; i < 300; i++)
		(void)snprintf(names[i], sizeof names[i], "node-%03d.example", i);
	start = now();
	for (uint32_t i = 0; i < OBJECTS; i++)
		held[i] = fl_intern(&pool, fl_str(names[i % 300]));
	row("interned text: one more holder", (double)(now() - start) / OBJECTS, "ns", "<=", 60);
	start = now();
	for (uint32_t i = 0; i < OBJECTS; i++)
		held[i] = fl_intern_drop(&pool, held[i]);
	row("interned text: one holder less", (double)(now() - start) / OBJECTS, "ns", "<=", 20);
}

/* ---- log ---- */

static bool drop_line(void *self, const char *line, size_t len)
{
	*(size_t *)self += len + (line[0] == 0);
	return true;
}

static uint64_t ever_later(void *self)
{
	return *(size_t *)self * FL_LOG_EVERY;
}

static int64_t wall(void *self)
{
	(void)self;
	return 1735786945678901234;
}

static void logs(void)
{
	static struct fl_log log;
	const int lines = 200000;
	size_t written = 0;
	uint64_t start;

	fl_log_init(&log, &(struct fl_log_to){ drop_line, ever_later, wall, &written }, "node");
	start = now();
	for (int i = 0; i < lines; i++)
		fl_log(&log, FL_INFO, "device list sent", FL_KV_STR("resource", FL_S("nvidia.com/gpu")),
		       FL_KV_INT("devices", i));
	row("log: a line with two values, put together", (double)(now() - start) / lines, "ns", "<=", 1500);
	start = now();
	for (int i = 0; i < lines; i++)
		fl_log(&log, FL_DEBUG, "not on", FL_KV_INT("devices", i));
	row("log: a line whose level is off", (double)(now() - start) / lines, "ns", "<=", 5);
}

/* ---- checksums ---- */

static void checksums(void)
{
	static char bytes[1 << 20];
	const int rounds = 64;
	uint32_t sum = 0;
	uint64_t start;

	memset(bytes, 'x', sizeof bytes);
	start = now();
	for (int i = 0; i < rounds; i++)
		sum = fl_crc32c(sum, bytes, sizeof bytes);
	row("crc32c", (double)rounds * sizeof bytes / (double)(now() - start), "GB/s", ">=", sum == 1 ? 0 : 1);
	start = now();
	for (int i = 0; i < rounds / 16; i++)
		sum = fl_crc32c_tables(sum, bytes, sizeof bytes);
	row("crc32c by tables", rounds / 16.0 * sizeof bytes / (double)(now() - start), "GB/s", ">=",
	    sum == 1 ? 0 : 0.1);
}

/* ---- metrics: 10,000 series of 60 bytes of labels ---- */

static void scrapes(void)
{
	static const struct fl_metric rows[] = {
		{ "DCGM_FI_DEV_POWER_USAGE", "Power draw in W.", FL_GAUGE, .labels = { "gpu", "UUID", "pod" },
		  .max_series = 20000 },
		{ "fairlead_allocate_seconds", "Time of Allocate.", FL_HISTOGRAM, .buckets = fl_latency_buckets,
		  .bucket_count = 16 },
	};
	FL_AUTO(fl_metrics) struct fl_metrics *metrics = fl_metrics_new(seed, NULL);
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_METRICS_TEXT);
	struct fl_family *family[2];
	struct fl_series *latency;
	const int series = 10000, scrapes_done = 20, observations = 1000000;
	uint64_t start, best = UINT64_MAX;

	if (!metrics || fl_metrics_add(metrics, rows, 2, NULL, family, NULL) < 0)
		return;
	for (int i = 0; i < series; i++) {
		char gpu[16], uuid[44], pod[32];

		(void)snprintf(gpu, sizeof gpu, "%d", i % 8);
		(void)snprintf(uuid, sizeof uuid, "GPU-%08d-1111-2222-3333-444455556666", i);
		(void)snprintf(pod, sizeof pod, "trainer-%05d", i);
		fl_set(fl_series(family[0], (struct fl_str[]){ fl_str(gpu), fl_str(uuid), fl_str(pod) }),
		       300 + (double)(any() % 100000) / 1000);
	}
	for (int i = 0; i < scrapes_done; i++) {
		fl_buf_clear(&buf);
		start = now();
		if (fl_metrics_write(metrics, &buf, NULL) < 0)
			return;
		if (now() - start < best)
			best = now() - start;
	}
	row("metrics: 10,000 series written", (double)best / 1e6, "ms", "<=", 5);
	latency = fl_series(family[1], NULL);
	start = now();
	for (int i = 0; i < observations; i++)
		fl_observe(latency, (double)(i % 1000) / 1e4);
	row("metrics: an observation", (double)(now() - start) / observations, "ns", "<=", 50);
}

int main(void)
{
	struct object *objects = fl_zalloc_n(OBJECTS, sizeof *objects);
	uint32_t *order = fl_zalloc_n(OBJECTS, sizeof *order);

	if (objects && order)
		maps(objects, order);
	fl_free(objects);
	fl_free(order);
	arenas();
	interns();
	logs();
	checksums();
	scrapes();
	return 0;
}
