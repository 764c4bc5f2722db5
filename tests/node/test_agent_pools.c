/* Pools of the cluster as a whole: the agent, real children on a fake driver, and a kubelet. What the API server would
 * tell is put into the agent's caches. */
#include "agent_world.h"
#include "api/node_pools.h"
#include "base/units.h"
#include "plan/gpu_facts.h"
#include <stdio.h>

#define POOL "cluster.gpu.deckhouse.io/q"
#define NAMED "annotations: {cluster.gpu.deckhouse.io/assignment: q}"

/* ---- the API server ---- */

static int put(struct world *w, const struct fl_kind *kind, struct fl_str text)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const void *object = text.p ? facts_object(&arena, kind->root(), text) : NULL;

	return object ? fl_feed_put(fl_loop_feed(w->loop, kind), object, NULL) : -FL_E_NOMEM;
}

static int pool_is(struct world *w, const char *resource)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };

	return put(w, &fl_cluster_gpu_pool_kind,
		   fl_arena_printf(&arena, "metadata: {name: q, uid: q1}\nspec: {provider: Nvidia, backend: "
					   "DevicePlugin, "
					   "resource: {%s}}\n",
				   resource));
}

static struct fl_str address(struct world *w, struct fl_arena *arena)
{
	struct fl_view view = fl_loop_view(w->loop, arena);
	const struct fl_card *card;

	fl_view_each (card, &view, &fl_card_kind)
		if (fl_str_eq(card->uuid, fl_str(uuid(w, 0))))
			return card->meta.name;
	return FL_S("");
}

/* The first GPU's, with what it says by now. */
static int device_is(struct world *w, const char *meta, const char *status)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_feed *feed = fl_loop_feed(w->loop, &fl_gpu_device_kind);
	FL_VIEW(view, w->loop);
	const struct fl_gpu_device *was = fl_view_get(&view, &fl_gpu_device_kind, FL_S(""), FL_S("d"));
	struct fl_str text = fl_arena_printf(&arena,
					     "metadata: {name: d, uid: d1, %s}\nstatus: {nodeName: n1, %s, hardware: "
					     "{uuid: %s, pci: {address: '%.*s'}}}\n",
					     meta, status, uuid(w, 0), FL_ARG(address(w, &arena)));
	struct fl_gpu_device *device = text.p ? facts_object(&arena, fl_gpu_device_bind(), text) : NULL;
	int r;

	if (!device)
		return -FL_E_NOMEM;
	if (was) {
		device->status.conditions = was->status.conditions;
		device->status.has.conditions = was->status.has.conditions;
	}
	fl_feed_begin(feed);
	r = fl_feed_put(feed, device, NULL);
	fl_feed_synced(feed);
	return r;
}

static int node_counts(struct world *w, unsigned units)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };

	return put(w, &fl_own_node_kind,
		   fl_arena_printf(&arena, "metadata: {name: n1}\nstatus: {allocatable: {" POOL ": %u}}\n", units));
}

/* ---- looking ---- */

static const char *reason;     /* that is waited for */

static bool says(struct world *w, int arg)
{
	FL_VIEW(view, w->loop);
	const struct fl_gpu_device *device = fl_view_get(&view, &fl_gpu_device_kind, FL_S(""), FL_S("d"));
	const struct fl_condition *is =
		device ? fl_condition_find(&device->status.conditions, FL_S("Configured")) : NULL;

	(void)arg;
	return is ? fl_str_eq(is->reason, fl_str(reason)) : device && !*reason;
}

static bool comes_to(struct world *w, const char *word)
{
	reason = word;
	return until(w, says, 0);
}

static bool unpooled_is(struct world *w, int is)
{
	return listed(w, 0) == is;
}

/* So many healthy devices of the pool. */
static bool pool_has(struct world *w, int units)
{
	const char *list = fake_kubelet_devices(&w->kubelet, POOL);
	int healthy = 0;

	for (const char *at = list; (at = strpbrk(at, "GM")); at++) {
		size_t len = strcspn(at, " ");

		if (strncmp(at, "GPU-", 4) != 0 && strncmp(at, "MIG-", 4) != 0)
			continue;
		healthy += memchr(at, '!', len) == NULL;
		at += len - 1;
	}
	return healthy == units;
}

static bool rests(struct world *w, int arg)
{
	(void)arg;
	return fl_loop_idle(w->loop);
}

static bool has_registered(struct world *w, int resources)
{
	return w->registered >= resources;
}

static bool is_held(struct world *w, int arg)
{
	FL_VIEW(view, w->loop);

	(void)arg;
	return fl_view_first(&view, &fl_holder_kind) != NULL;
}

/* Its Pod's device is in the list, and not to be had. */
static bool keeps_held(struct world *w, int arg)
{
	const char *at = strstr(fake_kubelet_devices(&w->kubelet, POOL), w->held);

	(void)arg;
	return at && at[strlen(w->held)] == '!';
}

/* GPU instances of the only GPU; its MIG mode is on while there are any. */
static bool has_instances(struct world *w, int instances)
{
	int n = 0;

	for (uint32_t i = 0; i < FAKE_GIS; i++)
		n += w->rig.state->gpus[0].gis[i].used != 0;
	return n == instances && w->rig.state->gpus[0].mig == (instances > 0);
}

/* It starts processes, as all tests here. */
TEST_ONCE(a_gpu_joins_a_pool_and_leaves_it_again)
{
	WORLD(w, "two-t4", 0);
	char held[80];

	w.node = true;
	w.given.gpu_pools = FL_S("true");
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, unpooled_is, 'H'));

	OK(pool_is(&w, "unit: Card, slicesPerUnit: 2"));
	OK(device_is(&w, NAMED, "state: PendingAssignment, poolRef: {name: q}"));
	CHECK(until(&w, pool_has, 2));
	CHECK(until(&w, unpooled_is, '-'));
	CHECK_INT(listed(&w, 1), 'H');
	CHECK(comes_to(&w, "Waiting"));
	OK(node_counts(&w, 2));
	CHECK(comes_to(&w, "Applied"));
	CHECK(until(&w, rests, 0));   /* what was served is on the disk */
	agent_down(&w);

	/* The API server is away: the pool is served as it was. */
	w.registered = 0;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, has_registered, 2));
	CHECK(until(&w, pool_has, 2));
	CHECK_INT(listed(&w, 0), '-');

	/* Its Pod goes on, and nobody else gets it. */
	(void)snprintf(held, sizeof held, "%s::1", uuid(&w, 0));
	w.held = held;
	w.held_as = POOL;
	fl_holders_look(w.agent.holders);
	CHECK(until(&w, is_held, 0));
	OK(pool_is(&w, "unit: Card, slicesPerUnit: 2"));
	OK(device_is(&w, "labels: {}", "state: Assigned, poolRef: {name: q}"));
	CHECK(until(&w, pool_has, 0));
	CHECK(comes_to(&w, "CardInUse"));
	CHECK(until(&w, keeps_held, 0));
	CHECK_INT(listed(&w, 0), '-');

	w.held = NULL;
	fl_holders_look(w.agent.holders);
	CHECK(comes_to(&w, "Drained"));
	CHECK_INT(listed(&w, 0), '-');
	OK(device_is(&w, "labels: {}", "state: Ready"));
	CHECK(until(&w, unpooled_is, 'H'));
	CHECK(comes_to(&w, ""));
}

TEST_ONCE(a_gpu_of_a_mig_pool_is_partitioned_and_whole_again)
{
	WORLD(w, "dgx-h100", 0);

	w.rig.state->gpus_n = 1;
	w.node = true;
	w.given.gpu_pools = FL_S("true");
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, unpooled_is, 'H'));
	OK(pool_is(&w, "unit: MIG, migProfile: 1g.10gb"));
	OK(device_is(&w, NAMED, "state: PendingAssignment, poolRef: {name: q}"));
	CHECK(until(&w, has_instances, 7));
	CHECK_INT(listed(&w, 0), '-');

	/* Kept back, it keeps its layout; it has its former one when it leaves. */
	OK(device_is(&w, "labels: {gpu.deckhouse.io/ignore: 'true'}, " NAMED, "state: Assigned, poolRef: {name: q}"));
	CHECK(comes_to(&w, "Ignored"));
	CHECK(has_instances(&w, 7));
	OK(device_is(&w, NAMED, "state: Assigned, managed: false, poolRef: {name: q}"));
	CHECK(comes_to(&w, "Drained"));
	CHECK(has_instances(&w, 0));
	CHECK_INT(listed(&w, 0), '-');
}
