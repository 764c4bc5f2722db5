#include "node/decide_pods.h"
#include "node/state_is_ours.h"
#include "plan/gpu/dev_nodes.h"
#include "plan/gpu/inside.h"
#include "plan/gpu/links.h"
#include "plan/gpu/pods.h"
#include "plan/gpu/taint.h"

/* ---- Pods ---- */

FL_FACTS_ONCE(pods_known, fl_gpu_pods_facts, FL_GPU_PODS_FACTS)

static bool pods_gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct fl_gpu_pods_facts *facts = facts_;

	if (!pods_known_gather(view, key, facts))
		return false;
	facts->all_known = facts->failed_known && !(facts->watch && facts->watch->failed_only);
	return true;
}

const struct fl_capability fl_node_pods = {
	.name = "node-pods", .watches = pods_known_watches,
	.owners = FL_OWNERS(&fl_gpu_book_owner, &fl_gpu_book_memo_owner, &fl_gpu_refused_owner, &fl_gpu_evict_owner,
			    &fl_gpu_pod_watch_owner), .once = true,
	.facts_size = sizeof(struct fl_gpu_pods_facts), .gather = pods_gather, .plan = fl_gpu_pods_plan,
};

/* ---- the taint ---- */

FL_FACTS_ONCE(taint, fl_gpu_taint_facts, FL_GPU_TAINT_FACTS, FL_WHEN_STATE_IS_OURS)

const struct fl_capability fl_node_taint = {
	.name = "node-taint", .watches = taint_watches, .owners = FL_OWNERS(&fl_gpu_taint_owner), .once = true,
	.facts_size = sizeof(struct fl_gpu_taint_facts), .gather = taint_gather, .plan = fl_gpu_taint_plan,
};

/* ---- links in /dev/char ---- */

FL_FACTS_ONCE(links, fl_gpu_links_facts, FL_GPU_LINKS_FACTS, FL_WHEN_STATE_IS_OURS)

const struct fl_capability fl_node_links = {
	.name = "node-links", .watches = links_watches, .owners = FL_OWNERS(&fl_gpu_links_owner), .once = true,
	.facts_size = sizeof(struct fl_gpu_links_facts), .gather = links_gather, .plan = fl_gpu_links_plan,
};

/* ---- device nodes that could not be made ---- */

FL_FACTS_ONCE(dev_nodes, fl_gpu_dev_nodes_facts, FL_GPU_DEV_NODES_FACTS, FL_WHEN_STATE_IS_OURS)

const struct fl_capability fl_node_dev_nodes = {
	.name = "node-dev-nodes", .watches = dev_nodes_watches, .owners = FL_OWNERS(&fl_gpu_dev_nodes_owner),
	.once = true,
	.facts_size = sizeof(struct fl_gpu_dev_nodes_facts), .gather = dev_nodes_gather, .plan = fl_gpu_dev_nodes_plan,
};

/* ---- what is inside of containers ---- */

/* A driver that is away, or on its way, changes nothing: what was found stays. */
FL_FACTS_ONCE(inside_known, fl_gpu_inside_facts, FL_GPU_INSIDE_FACTS, FL_WHEN_STATE_IS_OURS)

static bool inside_gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct fl_gpu_inside_facts *facts = facts_;

	return inside_known_gather(view, key, facts) && facts->driver->state == FL_DRIVER_READY &&
	       facts->driver->version.len;
}

const struct fl_capability fl_node_inside = {
	.name = "node-inside", .watches = inside_known_watches,
	.owners = FL_OWNERS(&fl_gpu_inspection_owner, &fl_gpu_finding_owner, &fl_gpu_access_owner), .once = true,
	.facts_size = sizeof(struct fl_gpu_inside_facts), .gather = inside_gather, .plan = fl_gpu_inside_plan,
};
