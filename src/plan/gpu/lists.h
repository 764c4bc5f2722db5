/* lists.h - which resources there are on this node, and which devices each has.
 *
 * One name for one card: a card of a pool is the pool's; others are nvidia.com/gpu and nvidia.com/mig-* where the
 * settings say so. A card that somebody holds stays in its list, Unhealthy, until nobody does, and so does a resource
 * that is ours: served now, of a pool, in our own domains, or a name of unpooled cards where those are on. One that is
 * none of these is another plugin's for all that can be known after a restart, and is not registered for its holders.
 * While a card does not answer, or its driver is away, its devices stay in the list, as healthy as Health says; so do
 * those of one that was lost before it was in any list, as far as this agent or what Health remembers knows its UUID. A
 * resource is served when the health of all its devices is known and the CDI file that has them is on the disk, so that
 * nothing flaps at the start, and when it is known which configuration counts; a device that comes to a list, or comes
 * back, waits for its file too. A resource that a DeviceClass claims, or that somebody else's live socket serves, is
 * not served, and that is said on the Node; so is that the container runtime does not tell whether it heeds the CDI
 * names that containers are given. What is understood of the settings and not taken is said there too, by a condition
 * of its own: no card is unready for that. For FL_LISTS_SETTLE after the agent's start, what comes by itself in a
 * moment (the driver's first answer, the CDI file) leaves the condition as the agent before has written it. A directory
 * of the agent's that cannot be used is said at once, also while it keeps all else from being known. Readiness has the
 * same condition, for the log and for /readyz: that fails where there are GPUs and the node's set-up keeps all of them
 * back (a strategy that does not fit, something required that is missing, a wrong root of the driver).
 */
#pragma once
#include "api/cdi.h"
#include "plan/facts.h"
#include "plan/plan.h"

#define FL_LISTS_SETTLE (30 * FL_NS_PER_S)   /* a driver that needs longer to start is news */

/* What other code than the plan's looks for: the condition of the Node and of Readiness, and its reason when all that
 * is wrong are GPUs that are not well. */
#define FL_GPUS_READY "GPUsReady"
#define FL_GPUS_UNHEALTHY "GPUsUnhealthy"

/* `specs`: a device whose CDI name is not there yet is not handed out, and `troubles` says why it is not. `claims` is
 * what the API server told last of DeviceClasses. */
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
	X(MAYBE_ALL, fl_device_class, classes, class_len) \
	X(TOLD, fl_health, state_known) /* Health comes last of what the state directory keeps */ \
	X(TOLD, fl_cdi_spec, specs_known) \
	X(TOLD, fl_holder, holders_known) \
	X(TOLD, fl_plugin_socket, sockets_known) \
	X(TOLD, fl_device_class, classes_known) /* else the names that they claim are those of `claims` */ \
	X(KNOWN, fl_memo, memo_known) \
	X(MAYBE_ONE, fl_memo, claims, "claims") \
	X(MAYBE_ONE, fl_readiness, readiness, "gpus") /* as it was told last */ \
	X(MAYBE_ONLY, fl_own_node, node) /* NULL: no API server, or not told yet */ \
	X(NOW, now)
FL_FACTS(fl_gpu_lists_facts, FL_GPU_LISTS_FACTS);

extern const struct fl_owner fl_gpu_lists_owner, fl_gpu_lists_node_owner, fl_gpu_lists_ready_owner,
	fl_gpu_lists_memo_owner;
void fl_gpu_lists_plan(const void *facts, struct fl_plan *plan);

/* Does a pool of the settings name the card? */
bool fl_gpu_in_pool(const struct fl_settings *settings, const struct fl_card *card);
