/* holders.h - whether all containers that hold a device are known.
 *
 * Pure. Holders are those that the kubelet lists or, until it does, those in the book of allocations (book.c). One may
 * be missing until a kubelet that knows all of its Pods has answered this agent. "Not known yet" is not "absent":
 * irreversible steps wait. Allocation does not wait: the book has the containers that an agent has served, and until it
 * is read, the feeder reports no full state of Holders (node/kubelet/holders.h).
 */
#pragma once
#include "api/node.h"
#include "plan/plan.h"

/* A kubelet answers within seconds of its start, and a machine boots in minutes. After so long without an answer none
 * will come (PodResources disabled or unreachable), and the book alone counts. */
#define FL_GPU_HOLDERS_PATIENCE (600 * FL_NS_PER_S)

/* If false, the plan runs again when this may have changed. */
bool fl_gpu_holders_known(const struct fl_active *active, const struct fl_settings *settings, uint64_t now,
			  struct fl_plan *plan);
