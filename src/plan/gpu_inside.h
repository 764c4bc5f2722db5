/* gpu_inside.h - what is wrong inside of running Pods, and what to do about it.
 *
 * Pure. Two things happen to Pods that run, and neither shows in the kubelet:
 *   - the driver is changed under them: who uses libraries of the one before is stale (DriverChanged);
 *   - `systemctl daemon-reload` with the systemd cgroup driver takes GPUs away from containers (DeviceAccessLost).
 * Each is a condition of a PodFinding, with an Event on the Pod; a Pod that is gone, or well again, has no PodFinding.
 * That containers may lose their GPUs by a daemon-reload is one condition of the Node (GPUAccessAtRisk), without an
 * Event: it depends on versions that the agent does not know.
 *
 * Containers are inspected once for each driver, and again and again while Pods hold GPUs or something is wrong.
 */
#pragma once
#include "api/node.h"
#include "plan/plan.h"

struct fl_gpu_inside_facts {
	const struct fl_settings *settings;
	const struct fl_driver *driver;        /* ready, and its version is known */
	const struct fl_own_node *node;        /* NULL: no API server, or not known yet */
	const struct fl_holder *holders;
	const struct fl_inside *insides;
	const struct fl_pod_finding *findings; /* that were made */
	uint32_t holder_len, inside_len, finding_len;
};

extern const struct fl_owner fl_gpu_inspection_owner, fl_gpu_finding_owner, fl_gpu_access_owner;
void fl_gpu_inside_plan(const void *facts, struct fl_plan *plan);
