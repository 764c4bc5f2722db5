/* taint.h - a taint that keeps Pods off the Node until its GPUs are ready for the first time after a boot.
 *
 * Pure. Only with --startup-taint. The taint of the Node's first registration (an autoscaler's template, the kubelet's
 * --register-with-taints) and the one that the agent adds after a boot are the same. It is a startup taint: once the
 * GPUs were ready in this boot it does not return, whatever happens to them. Other conditions report their health. The
 * condition GPUsStarted stores that they were ready.
 *
 * Ready here means: the driver answers, GPUsReady is True or names only unhealthy GPUs, at least one GPU is healthy,
 * and the kubelet counts a device of each resource that has a healthy one.
 */
#pragma once
#include "api/node.h"
#include "plan/facts.h"
#include "plan/plan.h"

/* Cluster autoscalers treat a node with a taint under this prefix as still starting. */
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
