/* layout.h - how the GPUs of a node should be partitioned by MIG, and the next step towards that.
 *
 * One step at a time for each GPU, each observed before the plan wants the next one; the journal has it before it is
 * done (Layout, api/mig.h):
 *     withdraw what must go -> wait for its holders -> MIG mode -> destroy -> create -> the GPU is as it should be
 * A device is withdrawn when the agent refuses to allocate it and the kubelet has listed holders once more after that:
 * whoever was given it before is among them.
 * A crash at any point leaves facts from which the same plan goes on. A GPU instance that was made just before a crash
 * is recognised by its profile and place. If the driver refuses a step, or reports success without an effect, the GPU
 * is changed back to what it was, and the change is tried again after a while.
 *
 * Nothing that is held changes: Pods, MPS daemons and processes are named in the Node's condition. GPU instances that
 * match are kept. Those that the agent has neither made nor adopted are reported and never destroyed; one that matches
 * is adopted. A reset of the GPU or a reboot is never ours: the condition has the command, and the change goes on
 * after it.
 *
 * What is wanted: the layout that the Node's label nvidia.com/mig.config names, or the settings do for a Node without
 * it. Names are those of mig-parted's file, or without one: all-disabled, all-enabled, all-balanced, all-<profile>.
 * While the API server is away, the layout last wanted counts. GPUs of pools of the command line are left alone. One of
 * a pool of the cluster has as many MIG devices of the pool's profile as fit, or none where its unit is a GPU; when it
 * leaves, it becomes what it was before; MigState tells how far that is, by the GPU's address. Everything is left
 * alone while NVIDIA's mig-manager runs on the Node.
 */
#pragma once
#include "api/node.h"
#include "plan/facts.h"
#include "plan/plan.h"

#define FL_MIG_LABEL "nvidia.com/mig.config"
#define FL_MIG_STATE_LABEL "nvidia.com/mig.config.state"
#define FL_MIG_MANAGER_LABEL "nvidia.com/gpu.deploy.mig-manager"
#define FL_MIG_CONDITION "MIGConfigured"

#define FL_MIG_BUSY_EVERY (2 * FL_NS_PER_S)      /* a process is in the way: how often the step is tried */
#define FL_MIG_AGAIN_FIRST (60 * FL_NS_PER_S)    /* a failed change is tried again: each try withdraws devices ... */
#define FL_MIG_AGAIN_LAST (3600 * FL_NS_PER_S)   /* ... so not for ever at this pace */

#define FL_MIG_FACTS(X) \
	X(NEED, fl_settings, settings, "settings") \
	X(NEED, fl_driver, driver, "driver") \
	X(ALL, fl_card, cards, card_len) \
	X(ALL, fl_layout, layouts, layout_len) \
	X(ALL, fl_mig_state, states, state_len) \
	X(ALL, fl_holder, holders, holder_len) \
	X(ONE, fl_active, active, "active") /* NULL: the kubelet has not answered yet */ \
	X(ALL, fl_resource, resources, resource_len) /* as they are served now */ \
	X(ALL, fl_mps, mps, mps_len) \
	X(ONLY, fl_mig_file, file) /* NULL: there is none */ \
	X(TOLD, fl_own_node, node_told) \
	X(MAYBE_ONLY, fl_own_node, node) \
	X(NOW, now)
FL_FACTS(fl_mig_facts, FL_MIG_FACTS);

extern const struct fl_owner fl_mig_owner, fl_mig_node_owner, fl_mig_label_owner, fl_mig_state_owner;
void fl_mig_plan(const void *facts, struct fl_plan *plan);
