/* taint.h - a taint that keeps Pods off the Node until its GPUs are ready for the first time after a boot.
 *
 * Pure. With --startup-taint only; then the taint of the Node's first registration (an autoscaler's template, the
 * kubelet's --register-with-taints) and the one that is put here after a boot are the same. It is a startup taint: once
 * the GPUs were ready in this boot it does not come back, whatever happens to them; their health is told otherwise. The
 * condition GPUsStarted remembers that.
 *
 * Ready is what counts for the scheduler: the driver answers, GPUsReady is True or names only unhealthy GPUs, one at
 * least is healthy, and the kubelet counts a device of each resource that has a healthy one.
 */
#pragma once
#include "api/node.h"
#include "plan/facts.h"
#include "plan/plan.h"

/* Cluster autoscalers take a node with a taint under this prefix for one that still starts. */
#define FL_STARTUP_TAINT "startup-taint.cluster-autoscaler.kubernetes.io/nvidia-gpu-not-ready"

#define FL_GPU_TAINT_FACTS(X) \
	X(NEED, fl_settings, settings, "settings") \
	X(ONE, fl_driver, driver, "driver") \
	X(NEED_ONLY, fl_own_node, node) \
	X(ALL, fl_resource, resources, resource_len)
FL_FACTS(fl_gpu_taint_facts, FL_GPU_TAINT_FACTS);

extern const struct fl_owner fl_gpu_taint_owner;
extern const struct fl_shared fl_gpu_taints;
void fl_gpu_taint_plan(const void *facts, struct fl_plan *plan);
