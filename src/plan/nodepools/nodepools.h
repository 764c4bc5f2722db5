/* nodepools.h - which GPUs of this node belong to the pools of the cluster, and how far each is.
 *
 * Pure. The controller says by status.poolRef of a GPUDevice which pool owns the GPU; the pool says what its resource
 * is. From both follows what this node serves: the Memo "pools", which the configuration puts into the Settings and
 * which counts again after a restart, so that pools are served while the API server is away.
 *
 * A GPU of a pool is never advertised as anything else. It is kept back, which withdraws it, while
 *   - its label gpu.deckhouse.io/ignore says so, or its state is none in which pools serve it;
 *   - the pool asks for what this agent does not have.
 * It leaves when its annotation no longer names the pool, its node is not managed, or the pool is deleted: withdrawn at
 * once, its MIG layout undone when nobody holds it, then reported as Drained. The controller clears poolRef after that.
 *
 * What joins waits for FL_POOLS_QUIET without a further change, FL_POOLS_LATEST at most. What the API server has not
 * answered yet changes nothing.
 *
 * Of a GPUDevice the agent writes the condition Configured, and nothing else.
 */
#pragma once
#include "api/node_pools.h"
#include "plan/facts.h"
#include "plan/plan.h"

/* A controller that assigns the GPUs of a node writes one after the other, and each change is a list for the
 * kubelet. */
#define FL_POOLS_QUIET (2 * FL_NS_PER_S)
#define FL_POOLS_LATEST (10 * FL_NS_PER_S)

#define FL_POOLS_CONDITION "Configured"

#define FL_NODEPOOLS_FACTS(X) \
	X(NEED, fl_settings, settings, "settings") \
	X(ALL, fl_card, cards, card_len) \
	X(ALL, fl_api_watch, watches, watch_len) \
	X(MAYBE_ALL, fl_health, health, health_len) \
	X(MAYBE_ALL, fl_gpu_device, devices, device_len) \
	X(KNOWN, fl_gpu_device, devices_known) \
	X(MAYBE_ALL, fl_gpu_pool, pools, pool_len) \
	X(ALL, fl_resource, resources, resource_len) /* as they are served now */ \
	X(MAYBE_ALL, fl_holder, holders, holder_len) \
	X(TOLD, fl_holder, holders_told) \
	X(ONE, fl_active, active, "active") \
	X(MAYBE_ALL, fl_layout, layouts, layout_len) \
	X(ALL, fl_mig_state, states, state_len) \
	X(MAYBE_ONLY, fl_own_node, node) /* NULL: no API server, or not known yet */ \
	X(KNOWN, fl_memo, memo_known) \
	X(MAYBE_ONE, fl_memo, memo, FL_POOLS_NAME) \
	X(ONE, fl_pool_change, change, FL_POOLS_NAME) \
	X(NOW, now)
FL_FACTS(fl_nodepools_facts, FL_NODEPOOLS_FACTS, const struct fl_gpu_pool *cluster_pools; uint32_t cluster_pool_len;);

extern const struct fl_owner fl_nodepools_watch_owner, fl_nodepools_memo_owner, fl_nodepools_change_owner,
	fl_nodepools_device_owner;
void fl_nodepools_plan(const void *facts, struct fl_plan *plan);
