/* holders.h - are all known who hold a device?
 *
 * Pure. Holders are those whom the kubelet has told of, or, before it has, those in the book of allocations (book.c).
 * Somebody may be missing among them until a kubelet that knows all of its Pods has answered this agent. Not known yet
 * is not absent: what cannot be undone waits. Handing out does not: the book has whom an agent has served, and before
 * there is one, Holders are not told as a full state (node/kubelet/holders.h).
 */
#pragma once
#include "api/node.h"
#include "plan/plan.h"

/* A kubelet that answers does so within seconds of its start, and a machine boots in minutes. After so long without any
 * answer there is none to come (PodResources switched off, or not to be reached), and the book alone counts. */
#define FL_GPU_HOLDERS_PATIENCE (600 * FL_NS_PER_S)

/* False: the plan is called again when it may be so. */
bool fl_gpu_holders_known(const struct fl_active *active, const struct fl_settings *settings, uint64_t now,
			  struct fl_plan *plan);
