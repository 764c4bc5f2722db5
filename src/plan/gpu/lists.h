/* lists.h - which resources this node serves, and which devices each has.
 *
 * One name for one GPU: a GPU of a pool is the pool's. The others are nvidia.com/gpu and nvidia.com/mig-* where the
 * settings enable that.
 *
 * What stays in a list:
 *   - a removed GPU that a Pod holds, Unhealthy, until no Pod holds it;
 *   - a resource that Pods hold and that is ours: served now, of a pool, in our own domains, or a name of unpooled GPUs
 *     where those are enabled. After a restart nothing distinguishes any other resource from another plugin's, so the
 *     agent does not register it for its holders;
 *   - devices of a GPU that does not answer or whose driver is away, as healthy as Health says. Also of a GPU that was
 *     lost before it was in any list, if this agent or a stored Health knows its UUID.
 *
 * A resource is served once three things are known: which configuration counts, the health of all its devices, and that
 * their CDI file is on the disk. So nothing flaps at startup. A device that is added or recovers waits for its file
 * too. A resource that a DeviceClass claims, or that another plugin's live socket serves, is not served.
 *
 * The Node's conditions report what is not served, a container runtime that does not tell whether it has CDI enabled,
 * and a directory that the agent cannot use: the last at once, even while it keeps everything else unknown. Settings
 * that are understood but not applied have a condition of their own: they make no GPU unready. For FL_LISTS_SETTLE
 * after the agent's start, a lack that soon ends (the driver's first answer, the CDI file) leaves the condition as the
 * previous agent wrote it. Readiness has the same condition, for the log and for /readyz. /readyz fails where there are
 * GPUs and the node's configuration keeps back all of them: an unsuitable strategy, a missing requirement, a wrong
 * driver root.
 */
#pragma once
#include "api/cdi.h"
#include "plan/facts.h"
#include "plan/plan.h"

#define FL_LISTS_SETTLE (30 * FL_NS_PER_S)   /* a driver that needs longer to start is reported */

/* The condition of the Node and of Readiness that other code reads, and its reason when only unhealthy GPUs make it
 * False. */
#define FL_GPUS_READY "GPUsReady"
#define FL_GPUS_UNHEALTHY "GPUsUnhealthy"

/* `specs`: a device without a CDI name is not advertised yet; `troubles` gives the reason. `claims`: the names that
 * DeviceClasses claimed when the API server last reported them. */
#define FL_GPU_LISTS_FACTS(X) \
	X(NEED, fl_settings, settings, "settings") \
	X(NEED, fl_driver, driver, "driver") \
	X(ONE, fl_runtime, runtime, "runtime") \
	X(ONE, fl_host, host, "host") \
	X(ALL, fl_card, cards, card_len) \
	X(MAYBE_ALL, fl_health, health, health_len) \
	X(MAYBE_ALL, fl_holder, holders, holder_len) \
	X(ALL, fl_resource, resources, resource_len) /* as they are served now */ \
	X(MAYBE_ALL, fl_plugin_socket, sockets, socket_len) \
	X(MAYBE_ALL, fl_cdi_spec, specs, spec_len) \
	X(ALL, fl_cdi_trouble, troubles, trouble_len) \
	X(ALL, fl_dir_trouble, dirs, dir_len) /* directories that the agent cannot use */ \
	X(MAYBE_ALL, fl_mps, mps, mps_len) \
	X(MAYBE_ALL, fl_layout, layouts, layout_len) /* MIG: what is being changed is withdrawn */ \
	X(MAYBE_ALL, fl_device_class, classes, class_len) \
	X(TOLD, fl_health, state_known) /* Health comes last of what the state directory keeps */ \
	X(TOLD, fl_cdi_spec, specs_known) \
	X(TOLD, fl_holder, holders_known) \
	X(TOLD, fl_plugin_socket, sockets_known) \
	X(TOLD, fl_device_class, classes_known) /* if not, `claims` has the claimed names */ \
	X(KNOWN, fl_memo, memo_known) \
	X(MAYBE_ONE, fl_memo, claims, "claims") \
	X(MAYBE_ONE, fl_readiness, readiness, "gpus") /* as last reported */ \
	X(MAYBE_ONLY, fl_own_node, node) /* NULL: no API server, or not known yet */ \
	X(NOW, now)
FL_FACTS(fl_gpu_lists_facts, FL_GPU_LISTS_FACTS);

extern const struct fl_owner fl_gpu_lists_owner, fl_gpu_lists_node_owner, fl_gpu_lists_ready_owner,
	fl_gpu_lists_memo_owner;
void fl_gpu_lists_plan(const void *facts, struct fl_plan *plan);

/* The first pool of the settings that names the GPU; NULL: none does. */
const struct fl_node_pool *fl_gpu_pool_of(const struct fl_settings *settings, const struct fl_card *card);
