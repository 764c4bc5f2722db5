#include "node/decide_pods.h"
#include "node/one_key.h"
#include "plan/gpu_dev_nodes.h"
#include "plan/gpu_inside.h"
#include "plan/gpu_links.h"
#include "plan/gpu_pods.h"
#include "plan/gpu_taint.h"

static void *all(struct fl_view *view, const struct fl_kind *kind, uint32_t *ret_len)
{
	struct fl_each each = fl_view_all(view, kind);
	void *list;

	*ret_len = fl_each_array(&each, &list);
	return list;
}

static const void *one(struct fl_view *view, const struct fl_kind *kind, struct fl_str name)
{
	return fl_view_get(view, kind, FL_S(""), name);
}

static const struct fl_own_node *own_node(struct fl_view *view, const struct fl_settings *settings)
{
	if (!settings || !settings->node.len || fl_view_absent(view, &fl_own_node_kind))
		return NULL;
	return one(view, &fl_own_node_kind, settings->node);
}

/* ---- Pods ---- */

static bool pods_gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct fl_gpu_pods_facts *facts = facts_;
	const struct fl_pod_watch *watch;

	(void)key;
	facts->settings = one(view, &fl_settings_kind, FL_S("settings"));
	if (!facts->settings)
		return false;
	facts->driver = one(view, &fl_driver_kind, FL_S("driver"));
	facts->active = one(view, &fl_active_kind, FL_S("active"));
	facts->node = own_node(view, facts->settings);
	facts->bookings = all(view, &fl_booking_kind, &facts->booking_len);
	facts->holders = all(view, &fl_holder_kind, &facts->holder_len);
	facts->healths = all(view, &fl_health_kind, &facts->health_len);
	facts->cards = all(view, &fl_card_kind, &facts->card_len);
	facts->resources = all(view, &fl_resource_kind, &facts->resource_len);
	facts->evictions = all(view, &fl_eviction_kind, &facts->eviction_len);
	watch = one(view, &fl_pod_watch_kind, FL_S("pods"));
	facts->failed_known = !fl_view_absent(view, &fl_own_pod_kind);
	facts->all_known = facts->failed_known && !(watch && watch->failed_only);
	if (facts->failed_known)
		facts->pods = all(view, &fl_own_pod_kind, &facts->pod_len);
	facts->now = view->now;
	facts->wall = view->wall;
	return true;
}

static const struct fl_watched pods_watches[] = {
	{ &fl_settings_kind, fl_one_key, false }, { &fl_driver_kind, fl_one_key, false },
	{ &fl_active_kind, fl_one_key, false },   { &fl_booking_kind, fl_one_key, false },
	{ &fl_holder_kind, fl_one_key, false },   { &fl_health_kind, fl_one_key, false },
	{ &fl_card_kind, fl_one_key, false },     { &fl_resource_kind, fl_one_key, false },
	{ &fl_eviction_kind, fl_one_key, false }, { &fl_own_pod_kind, fl_one_key, true },
	{ &fl_own_node_kind, fl_one_key, true },  { &fl_pod_watch_kind, fl_one_key, false },
	{ 0 },
};
static const struct fl_owner *const pods_owners[] = { &fl_gpu_book_owner, &fl_gpu_refused_owner, &fl_gpu_evict_owner,
						      &fl_gpu_pod_watch_owner, NULL };

const struct fl_capability fl_node_pods = {
	.name = "node-pods", .watches = pods_watches, .owners = pods_owners, .once = true,
	.facts_size = sizeof(struct fl_gpu_pods_facts), .gather = pods_gather, .plan = fl_gpu_pods_plan,
};

/* ---- the taint ---- */

static bool taint_gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct fl_gpu_taint_facts *facts = facts_;

	(void)key;
	facts->settings = one(view, &fl_settings_kind, FL_S("settings"));
	facts->node = own_node(view, facts->settings);
	if (!facts->node)
		return false;
	facts->driver = one(view, &fl_driver_kind, FL_S("driver"));
	facts->resources = all(view, &fl_resource_kind, &facts->resource_len);
	return true;
}

static const struct fl_watched taint_watches[] = {
	{ &fl_settings_kind, fl_one_key, false }, { &fl_driver_kind, fl_one_key, false },
	{ &fl_resource_kind, fl_one_key, false }, { &fl_own_node_kind, fl_one_key, true },
	FL_WHEN_STATE_IS_OURS, { 0 },
};
static const struct fl_owner *const taint_owners[] = { &fl_gpu_taint_owner, NULL };

const struct fl_capability fl_node_taint = {
	.name = "node-taint", .watches = taint_watches, .owners = taint_owners, .once = true,
	.facts_size = sizeof(struct fl_gpu_taint_facts), .gather = taint_gather, .plan = fl_gpu_taint_plan,
};

/* ---- links in /dev/char ---- */

static bool links_gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct fl_gpu_links_facts *facts = facts_;

	(void)key;
	facts->settings = one(view, &fl_settings_kind, FL_S("settings"));
	facts->host = one(view, &fl_host_kind, FL_S("host"));
	facts->links = all(view, &fl_dev_link_kind, &facts->link_len);
	return facts->settings && facts->host;
}

static const struct fl_watched links_watches[] = {
	{ &fl_settings_kind, fl_one_key, false },
	{ &fl_host_kind, fl_one_key, false },
	{ &fl_dev_link_kind, fl_one_key, false },
	FL_WHEN_STATE_IS_OURS,
	{ 0 },
};
static const struct fl_owner *const links_owners[] = { &fl_gpu_links_owner, NULL };

const struct fl_capability fl_node_links = {
	.name = "node-links", .watches = links_watches, .owners = links_owners, .once = true,
	.facts_size = sizeof(struct fl_gpu_links_facts), .gather = links_gather, .plan = fl_gpu_links_plan,
};

/* ---- device nodes that could not be made ---- */

static bool dev_nodes_gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct fl_gpu_dev_nodes_facts *facts = facts_;

	(void)key;
	facts->host = one(view, &fl_host_kind, FL_S("host"));
	facts->node = own_node(view, one(view, &fl_settings_kind, FL_S("settings")));
	return facts->host && facts->node;
}

static const struct fl_watched dev_nodes_watches[] = {
	{ &fl_settings_kind, fl_one_key, false }, { &fl_host_kind, fl_one_key, false },
	{ &fl_own_node_kind, fl_one_key, true }, FL_WHEN_STATE_IS_OURS, { 0 },
};
static const struct fl_owner *const dev_nodes_owners[] = { &fl_gpu_dev_nodes_owner, NULL };

const struct fl_capability fl_node_dev_nodes = {
	.name = "node-dev-nodes", .watches = dev_nodes_watches, .owners = dev_nodes_owners, .once = true,
	.facts_size = sizeof(struct fl_gpu_dev_nodes_facts), .gather = dev_nodes_gather, .plan = fl_gpu_dev_nodes_plan,
};

/* ---- what is inside of containers ---- */

/* A driver that is away, or on its way, changes nothing: what was found stays. */
static bool inside_gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct fl_gpu_inside_facts *facts = facts_;

	(void)key;
	facts->settings = one(view, &fl_settings_kind, FL_S("settings"));
	facts->driver = one(view, &fl_driver_kind, FL_S("driver"));
	facts->node = own_node(view, facts->settings);
	facts->holders = all(view, &fl_holder_kind, &facts->holder_len);
	facts->insides = all(view, &fl_inside_kind, &facts->inside_len);
	facts->findings = all(view, &fl_pod_finding_kind, &facts->finding_len);
	return facts->settings && facts->driver && facts->driver->state == FL_DRIVER_READY &&
	       facts->driver->version.len;
}

static const struct fl_watched inside_watches[] = {
	{ &fl_settings_kind, fl_one_key, false }, { &fl_driver_kind, fl_one_key, false },
	{ &fl_holder_kind, fl_one_key, false }, { &fl_inside_kind, fl_one_key, false },
	{ &fl_pod_finding_kind, fl_one_key, false }, { &fl_own_node_kind, fl_one_key, true },
	FL_WHEN_STATE_IS_OURS, { 0 },
};
static const struct fl_owner *const inside_owners[] = { &fl_gpu_inspection_owner, &fl_gpu_finding_owner,
							&fl_gpu_access_owner, NULL };

const struct fl_capability fl_node_inside = {
	.name = "node-inside", .watches = inside_watches, .owners = inside_owners, .once = true,
	.facts_size = sizeof(struct fl_gpu_inside_facts), .gather = inside_gather, .plan = fl_gpu_inside_plan,
};
