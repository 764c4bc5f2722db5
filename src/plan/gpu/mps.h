/* mps.h - GPUs shared by MPS: which control daemons should run, and the next step towards that.
 *
 * One step at a time, each completed before the plan wants the next one:
 *     record the GPUs in the journal -> compute mode EXCLUSIVE_PROCESS -> daemon -> limits -> shares are healthy
 * and back, when the settings no longer ask for MPS, all holders are known (holders.h) and no Pod holds a share:
 *     daemon -> compute mode DEFAULT -> record
 * A crash at any point leaves facts from which the same plan continues or reverts. The next agent adopts a daemon that
 * still runs. A daemon that died is replaced at once. One that does not answer is replaced when no Pod holds a share:
 * its clients may still work, and would end with it. Both, and a fault of a client (which ends all clients of that
 * GPU), make the shares Unhealthy at once. They recover after `recoveryChecks` probes without a fault, and not twice
 * within `recoveryWait`.
 *
 * A GPU that a Pod holds without MPS joins when that Pod has ended: in exclusive mode the Pod's next process would
 * fail. Rejected, with NVIDIA's text where there is one: MIG devices, and more replicas than a GPU can serve clients.
 */
#pragma once
#include "api/node.h"
#include "plan/facts.h"
#include "plan/plan.h"

/* Clients of one MPS server on a GPU: NVIDIA's limits, from compute capability 7.5 on, and below 7.5. */
#define FL_MPS_SHARES_MAX 48
#define FL_MPS_SHARES_OLD 16
#define FL_MPS_ROOT_MAX 200                  /* bytes of its path: paths below it are mounts of a Pod, and sockets */

#define FL_GPU_MPS_FACTS(X) \
	X(NEED, fl_settings, settings, "settings") \
	X(NEED, fl_driver, driver, "driver") \
	X(ONE, fl_host, host, "host") \
	X(ALL, fl_card, cards, card_len) \
	X(ALL, fl_holder, holders, holder_len) \
	X(ONE, fl_active, active, "active") /* NULL: the kubelet has not answered yet */ \
	X(ALL, fl_mps, daemons, daemon_len) \
	X(MAYBE_ONLY, fl_own_node, node) \
	X(NOW, now)
FL_FACTS(fl_gpu_mps_facts, FL_GPU_MPS_FACTS);

extern const struct fl_owner fl_gpu_mps_owner, fl_gpu_mps_card_owner, fl_gpu_mps_node_owner;
void fl_gpu_mps_plan(const void *facts, struct fl_plan *plan);

/* NVML's compute modes. */
enum { FL_COMPUTE_DEFAULT = 0, FL_COMPUTE_EXCLUSIVE_PROCESS = 3 };

/* The limits of a daemon as a text, "0=10240M 1=10240M 25%"; .p NULL: no memory. */
struct fl_str fl_gpu_mps_limits(const struct fl_mps *mps, struct fl_arena *arena);

/* Why the GPU's replicas may not be allocated by this resource's daemon (`mps` NULL: there is none); empty: they may.
 * *ret_soon: the reason ends in a moment. */
struct fl_str fl_gpu_mps_unready(const struct fl_mps *mps, const struct fl_card *card, bool *ret_soon);

/* Whether the settings share a resource of this name by MPS. */
bool fl_gpu_mps_shares(const struct fl_settings *settings, struct fl_str name);

/* The daemon that has changed the GPU's compute mode, or NULL. */
const struct fl_mps *fl_gpu_mps_has(const struct fl_mps *daemons, uint32_t len, const struct fl_card *card);
