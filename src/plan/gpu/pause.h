/* pause.h - whether the driver is to be released, and what of that outlives the process.
 *
 * Pure. A release is requested by the Node's label nvidia.com/gpu.deploy.* = paused-for-..., or by the operator
 * (`fairlead pause`). Until a new request reaches this process, the stored one applies.
 */
#pragma once
#include "api/node.h"
#include "plan/facts.h"
#include "plan/plan.h"

/* Who requests it: names of Pause and of PauseRequest. */
#define FL_PAUSE_OPERATOR "operator"
#define FL_PAUSE_NODE "node"

#define FL_GPU_PAUSE_FACTS(X) \
	X(NEED, fl_settings, settings, "settings") /* until then it is not known which Node is ours */ \
	X(ONE, fl_pause_request, word, FL_PAUSE_OPERATOR) /* NULL: the operator has sent this process no request */ \
	X(ONE, fl_pause, by_operator, FL_PAUSE_OPERATOR) /* the stored request */ \
	X(ONE, fl_pause, by_node, FL_PAUSE_NODE) \
	X(MAYBE_ONLY, fl_own_node, node) \
	X(KNOWN, fl_own_node, node_known)
FL_FACTS(fl_gpu_pause_facts, FL_GPU_PAUSE_FACTS);

extern const struct fl_owner fl_gpu_driver_pause_owner, fl_gpu_pause_owner;

/* The operator's reason, from the request to this process, else from the stored one; empty: no pause is requested. */
struct fl_str fl_gpu_pause_by_operator(const struct fl_pause_request *word, const struct fl_pause *remembered);

void fl_gpu_pause_plan(const void *facts, struct fl_plan *plan);
