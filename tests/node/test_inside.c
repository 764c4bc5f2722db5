/* What is found in containers, from the driver's change to the finding: feeder and plan, in a simulated world. */
#include "api/node.h"
#include "base/units.h"
#include "node/decide_pods.h"
#include "node/kubelet/inside.h"
#include "node_world.h"
#include "plan/gpu_facts.h"
#include "run/memory.h"
#include "test.h"
#include "test_io.h"

#define UID_A "0a1b2c3d-1111-2222-3333-444455556666"
#define CUDA(version) "7f00-7f01 r-xp 0 fd:00 12 /usr/lib64/libcuda.so." version "\n"

struct world {
	struct node_world node;
	struct fl_inside_feeder inside;
	struct fl_loop *loop;
	struct fl_arena arena;
	struct fl_err err;
};

static void world_auto_(struct world *w)
{
	fl_inside_stop(&w->inside);
	w->loop = fl_loop_free(w->loop);
	fl_arena_free(&w->arena);
	node_world_end(&w->node);
}

static int put_sim(struct world *w, const char *path, const char *text)
{
	return sim_file_put(w->node.host, path, text, strlen(text));
}

static int world_start(struct world *w)
{
	const struct fl_source sources[] = {
		{ .kind = &fl_settings_kind }, { .kind = &fl_driver_kind }, { .kind = &fl_holder_kind },
		{ .kind = &fl_inside_kind }, { .kind = &fl_health_kind },
		{ .kind = &fl_inspection_kind, .sink = &w->inside.sink, .sink_arg = &w->inside },
		{ .kind = &fl_pod_finding_kind, .sink = &fl_memory_sink, .sink_arg = w->node.io },
		{ .kind = &fl_own_node_kind, .sink = &fl_memory_sink, .sink_arg = w->node.io },
	};

	w->loop = fl_loop_new(w->node.io, &(struct fl_loop_options){ .seed = { 1, 2 } }, &w->err);
	if (!w->loop)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < FL_LEN(sources); i++)
		if (fl_loop_source(w->loop, &sources[i], &w->err) < 0)
			return -FL_E_NOMEM;
	if (fl_loop_capability(w->loop, &fl_node_inside, &w->err) < 0)
		return -FL_E_NOMEM;
	fl_inside_start(&w->inside, w->loop);
	fl_memory_begin(w->loop, &fl_pod_finding_kind);
	fl_memory_begin(w->loop, &fl_health_kind);
	fl_feed_absent(fl_loop_feed(w->loop, &fl_own_node_kind));
	return 0;
}

/* A container of team/job that has a driver's library mounted. */
static int world_begin(struct world *w)
{
	if (node_world_start(&w->node, 3, test_refuse_io) < 0 || put_sim(w, "/proc/1/root/dev/char/1:3", "") < 0 ||
	    put_sim(w, "/proc/812/root/dev/null", "") < 0 ||
	    put_sim(w, "/proc/812/cgroup", "0::/kubepods/pod" UID_A "/c1\n") < 0 ||
	    put_sim(w, "/proc/812/maps", "") < 0 || put_sim(w, "/proc/812/comm", "python3\n") < 0 ||
	    put_sim(w, "/proc/812/mountinfo", "1 2 0:1 / /usr/lib64/libcuda.so.570.133.20 ro - x y z\n") < 0 ||
	    put_sim(w, "/var/log/pods/team_job_" UID_A "/c/0.log", "") < 0)
		return -FL_E_IO;
	fl_inside_init(&w->inside, w->node.io, &(struct fl_inside_options){ .every = 10 * FL_NS_PER_S });
	return world_start(w);
}

static int feed(struct world *w, const struct fl_kind *kind, const char *text)
{
	const void *object = facts_object(&w->arena, kind->root(), fl_str(text));
	int r = object ? fl_feed_put(fl_loop_feed(w->loop, kind), object, &w->err) : -FL_E_NOMEM;

	fl_feed_synced(fl_loop_feed(w->loop, kind));
	return r;
}

static bool is_found(void *w_)
{
	struct world *w = w_;
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);

	return fl_view_get(&view, &fl_pod_finding_kind, FL_S(""), FL_S("team/job")) != NULL;
}

static bool is_not_found(void *w)
{
	return !is_found(w);
}

#define HOLDER "metadata: {name: h}\nresource: r\ndevices: [G1]\npodNamespace: team\npod: job\ncontainer: c\n"
#define DRIVER(version) "metadata: {name: driver}\nstate: Ready\nversion: " version "\n"

TEST(a_pod_is_stale_from_the_change_of_its_driver_to_its_end)
{
	FL_AUTO(world) struct world w = { 0 };

	OK_ERR(world_begin(&w), &w.err);
	OK_ERR(feed(&w, &fl_settings_kind, "metadata: {name: settings}\n"), &w.err);
	OK_ERR(feed(&w, &fl_holder_kind, HOLDER), &w.err);
	OK_ERR(feed(&w, &fl_driver_kind, DRIVER("570.133.20")), &w.err);
	node_pass(&w.node, 60 * FL_NS_PER_S);
	CHECK(!is_found(&w));
	OK_ERR(feed(&w, &fl_driver_kind, DRIVER("580.65.06")), &w.err);
	CHECK(node_until(&w.node, 60 * FL_NS_PER_S, is_found, &w));
	/* A driver that is away says nothing of it. */
	OK_ERR(feed(&w, &fl_driver_kind, "metadata: {name: driver}\nstate: Paused\n"), &w.err);
	node_pass(&w.node, 60 * FL_NS_PER_S);
	CHECK(node_until(&w.node, FL_NS_PER_S, is_found, &w));
	OK_ERR(feed(&w, &fl_driver_kind, DRIVER("580.65.06")), &w.err);
	/* The Pod ends: looked at again by the clock, as long as something is wrong. */
	OK(put_sim(&w, "/proc/812/cgroup", "0::/\n"));
	CHECK(node_until(&w.node, 60 * FL_NS_PER_S, is_not_found, &w));
}

TEST(pods_that_hold_gpus_are_looked_into_by_the_clock)
{
	FL_AUTO(world) struct world w = { 0 };

	OK_ERR(world_begin(&w), &w.err);
	OK_ERR(feed(&w, &fl_settings_kind, "metadata: {name: settings}\n"), &w.err);
	OK_ERR(feed(&w, &fl_driver_kind, DRIVER("570.133.20")), &w.err);
	OK_ERR(feed(&w, &fl_holder_kind, HOLDER), &w.err);
	node_pass(&w.node, 60 * FL_NS_PER_S);
	CHECK(!is_found(&w));
	OK(put_sim(&w, "/proc/812/maps", CUDA("550.54.15")));
	CHECK(node_until(&w.node, 60 * FL_NS_PER_S, is_found, &w));
}
