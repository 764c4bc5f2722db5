/* inside.h - faults inside running Pods, and their remedies.
 *
 * Pure. Two faults of running Pods do not show in the kubelet:
 *   - the driver was changed under them: processes with libraries of the previous one are stale (DriverChanged);
 *   - `systemctl daemon-reload` with the systemd cgroup driver revokes access to GPUs (DeviceAccessLost).
 * Each is a condition of a PodFinding, with an Event on the Pod. A Pod that is gone or without fault has no PodFinding.
 * The risk that containers lose their GPUs by a daemon-reload is one condition of the Node (GPUAccessAtRisk), without
 * an Event: it depends on versions that the agent does not know.
 *
 * Containers are inspected once for each driver, and periodically while Pods hold GPUs or something is wrong.
 */
#pragma once
#include "api/node.h"
#include "plan/facts.h"
#include "plan/plan.h"

#define FL_GPU_INSIDE_FACTS(X) \
	X(NEED, fl_settings, settings, "settings") \
	X(NEED, fl_driver, driver, "driver") /* nothing is planned until it is ready, and its version is known */ \
	X(MAYBE_ONLY, fl_own_node, node) \
	X(ALL, fl_holder, holders, holder_len) \
	X(ALL, fl_inside, insides, inside_len) \
	X(ALL, fl_pod_finding, findings, finding_len) /* the existing ones */
FL_FACTS(fl_gpu_inside_facts, FL_GPU_INSIDE_FACTS);

extern const struct fl_owner fl_gpu_inspection_owner, fl_gpu_finding_owner, fl_gpu_access_owner;
void fl_gpu_inside_plan(const void *facts, struct fl_plan *plan);
