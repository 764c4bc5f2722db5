/* The inventory at the size of 5,000 nodes x 8 GPUs, against caches in memory: all to write, then the same as a replica
 * that starts when all is written, then one Node that is disabled. */
#include "api/core.h"
#include "api/nfd.h"
#include "api/pools.h"
#include "base/units.h"
#include "cmd/controller/inventory.h"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NODES = 5000, GPUS = 8, CALM = 10, STARTS = 3 };

/* A server that answers in the next turn, and tells of it. */
static struct world {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_timer answer;
	struct fl_write *held[FL_RUN_WRITES];
	uint32_t count;
	uint64_t version, writes;
} world;

static void must(int r, const struct fl_err *err)
{
	if (r >= 0)
		return;
	(void)fprintf(stderr, "bench_inventory: %s\n", err->text);
	exit(1);
}

static uint64_t now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * FL_NS_PER_S + (uint64_t)t.tv_nsec;
}

static void row(const char *name, double value, const char *unit, double most)
{
	(void)printf("{\"name\":\"inventory: %s\",\"value\":%.4g,\"unit\":\"%s\",\"bar\":\"<= %g\",\"ok\":%s}\n",
		     name, value,
		     unit, most, value <= most ? "true" : "false");
}

static size_t heap(void)
{
	return mallinfo2().uordblks + mallinfo2().hblkhd;
}

/* What the loop shows of the object has the write in it; a copy outlives that. */
static void take(struct fl_write *write)
{
	FL_VIEW(view, world.loop);
	const struct fl_bind *root = write->ref.kind->root();
	struct fl_feed *feed = fl_loop_feed(world.loop, write->ref.kind);
	const void *shown = fl_view_get(&view, write->ref.kind, write->ref.space, write->ref.name);
	struct fl_err err = { .text = "an object that is written is not shown" };
	void *object = fl_arena_get(view.arena, root->size);
	struct fl_meta *meta;

	must(shown && object ? 0 : -1, &err);
	must(fl_copy(root, shown, view.arena, object, &err), &err);
	meta = write->ref.kind == &fl_gpu_device_kind ? &((struct fl_gpu_device *)object)->meta :
							&((struct fl_gpu_node_state *)object)->meta;
	FL_SET(meta, name, fl_arena_str(view.arena, write->ref.name));
	FL_SET(meta, resource_version, fl_arena_printf(view.arena, "%llu", (unsigned long long)++world.version));
	if (!meta->has.uid)
		FL_SET(meta, uid, meta->resource_version);
	if (write->ref.kind == &fl_gpu_device_kind && ((struct fl_gpu_device *)object)->has.status)
		FL_SET(&((struct fl_gpu_device *)object)->status, state,
		       FL_DEVICE_DISCOVERED); /* the schema's default */
	world.writes++;
	fl_write_done(write, object);
	must(fl_feed_put(feed, object, &err), &err);
}

static void answer(struct fl_timer *timer)
{
	struct fl_write *held[CALM];
	uint32_t count = world.count < CALM
				 ? world.count
				 : CALM; /* a turn is the loop's: the server's part is small */

	memcpy(held, world.held, count * sizeof *held);
	world.count -= count;
	memmove(world.held, world.held + count, world.count * sizeof *held);
	if (world.count)
		fl_timer_set(world.io, timer, fl_now(world.io));
	for (uint32_t i = 0; i < count; i++)
		take(held[i]);
}

static void start(void *self, struct fl_write *write)
{
	(void)self;
	world.held[world.count++] = write;
	fl_timer_set(world.io, &world.answer, fl_now(world.io));
}

static void cancel(void *self, struct fl_write *write)
{
	(void)self;
	(void)write;
}
static const struct fl_sink sink = { .start = start, .cancel = cancel };

static struct fl_loop *new_loop(void)
{
	const struct fl_source sources[] = {
		{ .kind = &fl_gpu_device_kind, .by = fl_inventory_devices_by, .sink = &sink },
		{ .kind = &fl_gpu_node_state_kind, .sink = &sink },
		{ .kind = &fl_module_config_kind, .sink = &sink, .unpacked = &fl_module_made },
		{ .kind = &fl_node_kind, .by = fl_inventory_nodes_by },
		{ .kind = &fl_gpu_feature_kind, .by = fl_inventory_features_by },
	};
	struct fl_loop_options options = { .seed = { 1, 2 } };
	struct fl_err err = { 0 };
	struct fl_loop *loop = fl_loop_new(world.io, &options, &err);

	must(loop ? 0 : -1, &err);
	for (unsigned i = 0; i < FL_LEN(sources); i++)
		must(fl_loop_source(loop, &sources[i], &err), &err);
	must(fl_loop_capability(loop, &fl_inventory, &err), &err);
	must(fl_loop_capability(loop, &fl_device_states, &err), &err);
	return loop;
}

/* Some labels that are not ours, as Nodes have them. */
static void put_node(struct fl_loop *loop, uint32_t i, bool off)
{
	char name[24], uid[40];
	struct fl_pair labels[20];
	char keys[18][32];
	struct fl_node node = { 0 };
	struct fl_err err = { 0 };
	uint32_t len = 0;

	if (off)
		labels[len++] = (struct fl_pair){ FL_S("gpu.deckhouse.io/enabled"), FL_S("false") };
	for (unsigned k = 0; k < FL_LEN(keys); k++) {
		(void)snprintf(keys[k], sizeof keys[k], "other.example.com/label-%02u", k);
		labels[len++] = (struct fl_pair){ fl_str(keys[k]), FL_S("value") };
	}
	(void)snprintf(name, sizeof name, "node-%u", i);
	(void)snprintf(uid, sizeof uid, "11111111-2222-3333-4444-%012u", i);
	FL_SET(FL_IN(&node, meta), name, fl_str(name));
	FL_SET(&node.meta, uid, fl_str(uid));
	FL_SET(&node.meta, labels, ((struct fl_map){ labels, len }));
	must(fl_feed_put(fl_loop_feed(loop, &fl_node_kind), &node, &err), &err);
}

static void put_feature(struct fl_loop *loop, uint32_t i)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_gpu_feature feature = { 0 };
	struct fl_gpu_features *in = FL_IN(FL_IN(&feature, spec), features);
	struct fl_str node = fl_arena_printf(&arena, "node-%u", i);
	struct fl_pair label = { FL_S(FL_NFD_NODE_NAME), node };
	struct fl_err err = { .text = "no memory" };
	struct fl_nfd_instances *gpus;

	FL_SET(FL_IN(&feature, meta), name, fl_arena_printf(&arena, "nvidia-features-for-node-%u-fairlead", i));
	FL_SET(&feature.meta, space, FL_S("fairlead"));
	FL_SET(&feature.meta, labels, ((struct fl_map){ &label, 1 }));
	must(FL_ELEMENTS(in, &arena, instances, 1) ? 0 : -1, &err);
	in->instances.at->key = FL_S(FL_NFD_GPU);
	gpus = &in->instances.at->value;
	must(FL_ELEMENTS(gpus, &arena, elements, GPUS) ? 0 : -1, &err);
	for (uint32_t k = 0; k < GPUS; k++) {
		struct fl_pair all[] = {
			{ FL_S("class"), FL_S("0302") }, { FL_S("device"), FL_S("2330") },
			{ FL_S("index"), fl_arena_printf(&arena, "%u", k) }, { FL_S("memoryMiB"), FL_S("81559") },
			{ FL_S("mig.capable"), FL_S("true") }, { FL_S("mig.enabled"), FL_S("false") },
			{ FL_S("minor"), fl_arena_printf(&arena, "%u", k) },
			{ FL_S("pci.address"), fl_arena_printf(&arena, "0000:%02x:00.0", k + 16) },
			{ FL_S("product"), FL_S("NVIDIA H100 80GB HBM3") },
			{ FL_S("uuid"), fl_arena_printf(&arena, "GPU-%08x-1111-2222-3333-444455556666", i * GPUS + k) },
			{ FL_S("vendor"), FL_S("10de") },
		};
		struct fl_pair *own = fl_arena_get_n(&arena, FL_LEN(all), sizeof *own);

		must(own ? 0 : -1, &err);
		memcpy(own, all, sizeof all);
		FL_SET(&gpus->elements.at[k], attributes, ((struct fl_map){ own, FL_LEN(all) }));
	}
	must(fl_feed_put(fl_loop_feed(loop, &fl_gpu_feature_kind), &feature, &err), &err);
}

static void put_all(struct fl_loop *loop)
{
	for (uint32_t i = 0; i < NODES; i++) {
		put_node(loop, i, false);
		put_feature(loop, i);
	}
}

static void synced(struct fl_loop *loop)
{
	const struct fl_kind *kind;

	for (uint32_t i = 0; (kind = fl_loop_kind(loop, i)); i++)
		fl_feed_synced(fl_loop_feed(loop, kind));
}

/* The longest turn, in processor time: by the wall it would be that of whoever else is on the machine. */
static uint64_t settle(void)
{
	struct fl_err err = { 0 };
	uint64_t longest = 0;

	while (!fl_loop_idle(world.loop)) {
		uint64_t began = now(), took;

		must(fl_io_turn(world.io, 0, &err), &err);
		took = now() - began;
		longest = took > longest ? took : longest;
	}
	return longest;
}

static void all_to_write(void)
{
	uint64_t began, longest;
	size_t before;

	world.loop = new_loop();
	before = heap();
	put_all(world.loop);
	(void)fprintf(stderr, "bench_inventory: Nodes and NodeFeatures: %.1f MiB\n",
		      (double)(heap() - before) / (double)FL_MIB);
	began = now();
	synced(world.loop);
	longest = settle();
	row("40,000 devices, all to write: each write", (double)(now() - began) / 1e3 / (double)world.writes, "us", 60);
	row("all to write: writes", (double)world.writes, "", 2.0 * NODES * (GPUS + 1));
	row("all to write: longest turn", (double)longest / 1e6, "ms", 2);
	row("all to write: heap", (double)(heap() - before) / (double)FL_MIB, "MiB", 64);
}

/* What the first loop has, to a second one. */
static void hand_over(const struct fl_kind *kind, struct fl_loop *from, struct fl_loop *to)
{
	FL_VIEW(view, from);
	struct fl_err err = { 0 };
	const void *object;

	fl_view_each (object, &view, kind)
		must(fl_feed_put(fl_loop_feed(to, kind), object, &err), &err);
}

/* A replica that starts, several times: of the longest turns the least counts, an interrupt is in the others. */
static void nothing_to_write(void)
{
	uint64_t longest = UINT64_MAX, took = UINT64_MAX;

	for (int i = 0; i < STARTS; i++) {
		struct fl_loop *first = world.loop;
		size_t before = heap();
		uint64_t began, turn;

		world.loop = new_loop();
		put_all(world.loop);
		hand_over(&fl_gpu_device_kind, first, world.loop);
		hand_over(&fl_gpu_node_state_kind, first, world.loop);
		if (i == 0)
			row("a Node with 8 devices in the caches", (double)(heap() - before) / NODES, "B",
			    64.0 * FL_MIB / NODES);
		(void)fl_loop_free(first);
		world.writes = 0;
		began = now();
		synced(world.loop);
		turn = settle();
		longest = turn < longest ? turn : longest;
		took = now() - began < took ? now() - began : took;
		if (world.writes)
			break;
	}
	row("nothing to write, to settled", (double)took / 1e9, "s", 10);
	row("nothing to write: writes", (double)world.writes, "", 0);
	row("nothing to write: longest turn", (double)longest / 1e6, "ms", 2);
}

static void one_node(void)
{
	uint64_t began = now();

	world.writes = 0;
	put_node(world.loop, 77, true);
	(void)settle();
	row("a Node is disabled, to settled", (double)(now() - began) / 1e6, "ms", 5);
	row("a Node is disabled: writes", (double)world.writes, "", GPUS + 1);
}

int main(void)
{
	struct fl_err err = { 0 };

	world.io = fl_posix_new(&err);
	must(world.io ? 0 : -1, &err);
	world.answer.fire = answer;
	all_to_write();
	nothing_to_write();
	one_node();
	world.loop = fl_loop_free(world.loop);
	world.io = fl_io_free(world.io);
	return 0;
}
