/* Floor 3: a list as the API server sends it, split, parsed, bound and packed; what it costs in time and memory. */
#include "api/core.h"
#include "api/pools.h"
#include "base/units.h"
#include "json/bind_pack.h"
#include "json/split.h"
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { DEVICES = 7101, PODS = 100000, CHUNK = 64 * 1024, ROUNDS = 7 };

static const uint64_t seed[2] = { 1, 2 };

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);   /* one core's time, whoever else is on it */
	return (uint64_t)t.tv_sec * FL_NS_PER_S + (uint64_t)t.tv_nsec;
}

static void row(const char *name, double value, const char *unit, const char *sign, double bar)
{
	bool ok = sign[0] == '<' ? value <= bar : value >= bar;

	printf("{\"name\":\"%s\",\"value\":%.4g,\"unit\":\"%s\",\"bar\":\"%s %g\",\"ok\":%s}\n", name, value, unit,
	       sign, bar,
	       ok ? "true" : "false");
}

static void must(int r, const struct fl_err *err)
{
	if (r >= 0)
		return;
	fprintf(stderr, "bench_json: %s\n", err->text);
	exit(1);
}

/* ---- the list: 7,101 devices of 2.8 KB, as sent, with managedFields ---- */

/* "f:a":{"f:b":{}} and so on: what the API server says of who wrote what, a third of the object. */
static void put_managed(struct fl_buf *buf, const char *manager)
{
	fl_buf_printf(buf, "{\"manager\":\"%s\",\"operation\":\"Apply\",\"apiVersion\":\"gpu.deckhouse.io/v1alpha1\","
			   "\"time\":\"2026-01-31T12:00:00Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:status\":{"
			   "\"f:autoAttach\":{},\"f:hardware\":{\"f:mig\":{\"f:capable\":{},\"f:strategy\":{}},\"f:"
			   "pci\":{"
			   "\"f:address\":{},\"f:class\":{},\"f:device\":{},\"f:vendor\":{}},\"f:product\":{},\"f:"
			   "uuid\":{}},"
			   "\"f:inventoryID\":{},\"f:managed\":{},\"f:nodeName\":{}}},\"subresource\":\"status\"}",
		      manager);
}

static void put_condition(struct fl_buf *buf, const char *type, const char *reason)
{
	fl_buf_printf(buf, "{\"lastTransitionTime\":\"2026-01-31T12:00:00Z\",\"message\":\"all checks of the node and "
			   "of the "
			   "card have passed\",\"reason\":\"%s\",\"status\":\"True\",\"type\":\"%s\"}",
		      reason, type);
}

static void put_device(struct fl_buf *buf, uint32_t i)
{
	fl_buf_printf(buf, "{\"apiVersion\":\"gpu.deckhouse.io/v1alpha1\",\"kind\":\"GPUDevice\",\"metadata\":{"
			   "\"annotations\":"
			   "{\"gpu.deckhouse.io/assignment\":\"pool-%u\"},\"creationTimestamp\":\"2026-01-31T12:00:"
			   "00Z\","
			   "\"generation\":1,\"labels\":{\"gpu.deckhouse.io/device-index\":\"%u\","
			   "\"gpu.deckhouse.io/node\":"
			   "\"gpu-node-%u\"},\"managedFields\":[",
		      i % 40, i % 8, i / 8);
	put_managed(buf, "fairlead-inventory");
	fl_buf_char(buf, ',');
	put_managed(buf, "fairlead-device-state");
	fl_buf_char(buf, ',');
	put_managed(buf, "fairlead-capacity");
	fl_buf_printf(buf, "],\"name\":\"gpu-node-%u-%u-10de-20b2\",\"ownerReferences\":[{\"apiVersion\":\"v1\","
			   "\"kind\":"
			   "\"Node\",\"name\":\"gpu-node-%u\",\"uid\":\"6ba7b810-9dad-11d1-80b4-%012x\"}],"
			   "\"resourceVersion\":"
			   "\"%u\",\"uid\":\"7ba7b810-9dad-11d1-80b4-%012x\"},\"spec\":{},\"status\":{\"autoAttach\":"
			   "false,"
			   "\"conditions\":[",
		      i / 8, i % 8, i / 8, i / 8, 1000000 + i, i);
	put_condition(buf, "Configured", "Configured");
	fl_buf_char(buf, ',');
	put_condition(buf, "DriverReady", "DriverDetected");
	fl_buf_char(buf, ',');
	put_condition(buf, "Managed", "NodeManaged");
	fl_buf_printf(buf, "],\"hardware\":{\"mig\":{\"capable\":true,\"profilesSupported\":[\"1g.10gb\",\"1g.20gb\","
			   "\"2g.20gb\","
			   "\"3g.40gb\",\"4g.40gb\",\"7g.80gb\"],\"strategy\":\"None\"},\"pci\":{\"address\":\"0000:"
			   "%02x:00.0\","
			   "\"class\":\"0302\",\"device\":\"20b2\",\"vendor\":\"10de\"},\"product\":\"NVIDIA "
			   "A100-SXM4-80GB\","
			   "\"uuid\":\"GPU-8ba7b810-9dad-11d1-80b4-%012x\"},\"inventoryID\":\"gpu-node-%u/0000:%02x:"
			   "00.0\","
			   "\"managed\":true,\"nodeName\":\"gpu-node-%u\",\"poolRef\":{\"name\":\"pool-%u\","
			   "\"namespace\":\"team-%u\"},"
			   "\"state\":\"Assigned\"}}",
		      i % 8, i, i / 8, i % 8, i / 8, i % 40, i % 10);
}

static void make_list(struct fl_buf *buf)
{
	fl_buf_str(buf, FL_S("{\"apiVersion\":\"gpu.deckhouse.io/v1alpha1\",\"items\":["));
	for (uint32_t i = 0; i < DEVICES; i++) {
		if (i)
			fl_buf_char(buf, ',');
		put_device(buf, i);
	}
	fl_buf_str(buf, FL_S("],\"kind\":\"GPUDeviceList\",\"metadata\":{\"resourceVersion\":\"2000000\"}}"));
}

/* ---- a cache as simple as can be: one block an object ---- */
struct block {
	uint32_t len;
	char bytes[];
};

struct cache {
	struct block **at;
	uint32_t len;
	size_t bytes;              /* of the blocks */
	struct fl_interns interns;
};

static void keep(struct cache *cache, const struct fl_bind *bind, const void *object, struct fl_buf *scratch)
{
	struct block *block;
	struct fl_err err;

	fl_buf_clear(scratch);
	must(fl_pack(bind, object, &cache->interns, scratch, &err), &err);
	block = fl_alloc(sizeof *block + scratch->len);
	if (!block)
		exit(1);
	block->len = (uint32_t)scratch->len;
	memcpy(block->bytes, scratch->p, scratch->len);
	cache->bytes += malloc_usable_size(block) + sizeof(size_t);   /* as the allocator counts it */
	cache->at[cache->len++] = block;
}

static void drop(struct cache *cache, const struct fl_bind *bind)
{
	for (uint32_t i = 0; i < cache->len; i++) {
		fl_pack_drop(bind, (struct fl_str){ cache->at[i]->bytes, cache->at[i]->len }, &cache->interns);
		fl_free(cache->at[i]);
	}
	cache->len = 0;
	cache->bytes = 0;
}

static void read_list(struct fl_str list, struct cache *cache)
{
	FL_AUTO(fl_split) struct fl_split split;
	FL_AUTO(fl_json_space) struct fl_json_space space = { 0 };
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(fl_buf) struct fl_buf scratch = FL_BUF(FL_JSON_ITEM_MAX);
	struct fl_gpu_device device;
	struct fl_str item;
	struct fl_err err;
	yyjson_doc *doc;
	int r;

	fl_split_init(&split, FL_SPLIT_LIST, 0);
	for (uint32_t at = 0; at < list.len; at += CHUNK) {
		fl_split_push(&split, fl_str_sub(list, at, CHUNK));
		while ((r = fl_split_next(&split, &item, &err)) > 0) {
			fl_json_space_reset(&space);
			fl_arena_reset(&arena);
			must(fl_json_read(&space, item, 0, &doc, &err), &err);
			must(fl_decode(fl_gpu_device_bind(), yyjson_doc_get_root(doc), &arena, FL_DECODE_BORROW,
				       &device, &err),
			     &err);
			keep(cache, fl_gpu_device_bind(), &device, &scratch);
		}
		must(r, &err);
	}
	must(fl_split_end(&split, &err), &err);
}

/* ---- the process's memory, as the kernel counts it ---- */

static long kib_of(const char *what)
{
	char line[160];
	FILE *file = fopen("/proc/self/status", "r");
	long kib = 0;

	while (file && fgets(line, sizeof line, file))
		if (strncmp(line, what, strlen(what)) == 0)
			kib = strtol(line + strlen(what), NULL, 10);
	if (file)
		(void)fclose(file);
	return kib;
}

static void forget_peak(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "5", 1) != 1)
		fprintf(stderr, "bench_json: the kernel does not forget the peak; what came before counts too\n");
	if (fd >= 0)
		(void)close(fd);
}

static void bench_list(void)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(64 * FL_MIB);
	struct cache cache = { .at = fl_zalloc_n(DEVICES, sizeof *cache.at) };
	uint64_t best = UINT64_MAX, start;
	long before, peak;
	double mb;

	make_list(&text);
	if (text.failed || !cache.at)
		exit(1);
	mb = (double)text.len / 1e6;
	fl_interns_init(&cache.interns, seed);
	fprintf(stderr, "bench_json: a list of %.1f MB, %.0f bytes an object\n", mb, (double)text.len / DEVICES);

	(void)malloc_trim(0);   /* what making the list left behind would hide what comes */
	forget_peak();
	before = kib_of("VmRSS:");
	read_list(fl_buf_view(&text), &cache);
	peak = kib_of("VmHWM:");
	row("list of 20 MB split, parsed, bound: peak memory above the bound objects",
	    (double)(peak - before) / 1024 - (double)cache.bytes / (double)FL_MIB, "MiB", "<=", 8);
	row("a cached GPUDevice of 2.8 KB", (double)cache.bytes / DEVICES, "B", "<=", 614);

	for (int i = 0; i < ROUNDS; i++) {
		drop(&cache, fl_gpu_device_bind());
		start = now();
		read_list(fl_buf_view(&text), &cache);
		if (now() - start < best)
			best = now() - start;
	}
	row("list of 20 MB split, parsed, bound and packed, one core", mb / ((double)best / 1e9), "MB/s", ">=", 300);
	drop(&cache, fl_gpu_device_bind());
	fl_interns_free(&cache.interns);
	fl_free(cache.at);
}

/* ---- 100,000 Pods with an index by UID ---- */

static void make_pod(struct fl_buf *buf, uint32_t i)
{
	fl_buf_printf(buf, "{\"metadata\":{\"name\":\"train-job-%u-7d9f8c6b5d-%05x\",\"namespace\":\"team-%u\","
			   "\"resourceVersion\":"
			   "\"%u\",\"uid\":\"6ba7b810-9dad-11d1-80b4-%012x\",\"labels\":{\"app\":\"train\",\"hash\":"
			   "\"7d9f8c6b5d\","
			   "\"gpu-control-plane.deckhouse.io/pool\":\"pool-%u\","
			   "\"gpu-control-plane.deckhouse.io/pool-scope\":\"namespaced\"}},\"spec\":{\"nodeName\":"
			   "\"gpu-node-%u\","
			   "\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"cpu\":\"4\","
			   "\"gpu.deckhouse.io/pool-%u\":\"1\"},"
			   "\"requests\":{\"cpu\":\"4\",\"gpu.deckhouse.io/pool-%u\":\"1\"}}}]},\"status\":{\"phase\":"
			   "\"Running\","
			   "\"conditions\":[{\"type\":\"Initialized\",\"status\":\"True\"},{\"type\":\"Ready\","
			   "\"status\":\"True\"}]}}",
		      i % 500, i, i % 100, 1000000 + i, i, i % 40, i % 5000, i % 40, i % 40);
}

static struct fl_str pod_key(const void *object)
{
	const struct block *block = object;

	return FL_PEEK_RAW(fl_pod, meta.uid, ((struct fl_str){ block->bytes, block->len }));
}

static void bench_pods(void)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB), scratch = FL_BUF(FL_MIB);
	FL_AUTO(fl_json_space) struct fl_json_space space = { 0 };
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct cache cache = { .at = fl_zalloc_n(PODS, sizeof *cache.at) };
	struct fl_hmap by_uid;
	struct fl_pod pod;
	yyjson_doc *doc;
	struct fl_err err;
	size_t packed = 0, before;
	uint64_t start, took;
	void *old;

	if (!cache.at)
		exit(1);
	fl_interns_init(&cache.interns, seed);
	fl_hmap_init(&by_uid, pod_key, seed);
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	for (uint32_t i = 0; i < PODS; i++) {
		fl_buf_clear(&text);
		make_pod(&text, i);
		fl_json_space_reset(&space);
		fl_arena_reset(&arena);
		must(fl_json_read(&space, fl_buf_view(&text), 0, &doc, &err), &err);
		must(fl_decode(fl_pod_bind(), yyjson_doc_get_root(doc), &arena, FL_DECODE_BORROW, &pod, &err), &err);
		keep(&cache, fl_pod_bind(), &pod, &scratch);
		must(fl_hmap_put(&by_uid, cache.at[i], &old), &err);
		packed += cache.at[i]->len;
	}
	row("a cached Pod at 100,000, with an index by UID",
	    (double)(mallinfo2().uordblks + mallinfo2().hblkhd - before) / PODS, "B", "<=", 250);
	fprintf(stderr, "bench_json: of these %.1f bytes are the packed Pod\n", (double)packed / PODS);

	start = now();
	for (uint32_t i = 0; i < PODS; i++) {
		struct fl_str node;

		must(FL_PEEK(fl_pod, spec.node_name, ((struct fl_str){ cache.at[i]->bytes, cache.at[i]->len }), &arena,
			     &node),
		     &err);
	}
	took = now() - start;
	row("one field of a packed Pod", (double)took / PODS, "ns", "<=", 250);
	fl_hmap_free(&by_uid);
	drop(&cache, fl_pod_bind());
	fl_interns_free(&cache.interns);
	fl_free(cache.at);
}

int main(void)
{
	bench_list();
	bench_pods();
	return 0;
}
