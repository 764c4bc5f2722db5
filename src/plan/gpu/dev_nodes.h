/* dev_nodes.h - the condition about device nodes that the agent could not make (GPUDeviceNodesMissing).
 *
 * Pure. The scan of the host makes missing device nodes of unified memory (node/host/scan.h). GPUs are ready without
 * them: only containers in user namespaces need them.
 */
#pragma once
#include "api/node.h"
#include "plan/facts.h"
#include "plan/plan.h"

#define FL_GPU_DEV_NODES_FACTS(X) \
	X(NEED, fl_host, host, "host") \
	X(NEED_ONLY, fl_own_node, node)
FL_FACTS(fl_gpu_dev_nodes_facts, FL_GPU_DEV_NODES_FACTS);

extern const struct fl_owner fl_gpu_dev_nodes_owner;
void fl_gpu_dev_nodes_plan(const void *facts, struct fl_plan *plan);
