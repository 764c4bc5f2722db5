#include "node/decide_pools.h"
#include "node/state_is_ours.h"
#include "plan/nodepools/nodepools.h"

FL_FACTS_ONCE(pools_known, fl_nodepools_facts, FL_NODEPOOLS_FACTS, { &fl_cluster_gpu_pool_kind, fl_one_key, true },
	      FL_WHEN_STATE_IS_OURS)

/* Pools of both kinds are one struct, and facts are named after that. */
static bool pools_gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct fl_nodepools_facts *facts = facts_;

	if (!pools_known_gather(view, key, facts))
		return false;
	facts->cluster_pools = fl_view_array(view, &fl_cluster_gpu_pool_kind, &facts->cluster_pool_len);
	return true;
}

const struct fl_capability fl_node_pools = {
	.name = "node-pools", .watches = pools_known_watches, .once = true,
	.owners = FL_OWNERS(&fl_nodepools_watch_owner, &fl_nodepools_memo_owner, &fl_nodepools_change_owner,
			    &fl_nodepools_device_owner),
	.facts_size = sizeof(struct fl_nodepools_facts), .gather = pools_gather, .plan = fl_nodepools_plan,
};
