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
 * of the agent's that cannot be used is said at once, also while it keeps all else from being known.
 */
#pragma once
#include "api/cdi.h"
#include "plan/plan.h"

struct fl_gpu_lists_facts {
	const struct fl_settings *settings;
	const struct fl_driver *driver;        /* NULL: nobody has looked yet */
	const struct fl_runtime *runtime;      /* NULL: likewise */
	const struct fl_host *host;
	const struct fl_card *cards;           /* by address */
	const struct fl_health *health;
	const struct fl_holder *holders;
	const struct fl_resource *resources;   /* as they are served now */
	const struct fl_plugin_socket *sockets;
	const struct fl_cdi_spec *specs;       /* a device whose CDI name is not there yet is not handed out */
	const struct fl_cdi_trouble *troubles; /* ... and why it is not */
	const struct fl_dir_trouble *dirs;     /* directories that the agent cannot use */
	bool blocked;                          /* by them: what lists rest on is not known, and only that is said */
	struct fl_str_list claimed;            /* extended resource names of DeviceClasses */
	bool claims_known;                     /* the API server has told of them; else they are those of the memo */
	bool memo_known;
	const struct fl_memo *claims;          /* what it told last; NULL: none */
	const struct fl_mps *mps;              /* control daemons */
	uint32_t mps_len;
	const struct fl_own_node *node;        /* NULL: no API server, or not told yet */
	uint32_t card_len, health_len, holder_len, resource_len, socket_len, spec_len, trouble_len,
		dir_len;
	uint64_t now;
};

extern const struct fl_owner fl_gpu_lists_owner, fl_gpu_lists_node_owner, fl_gpu_lists_memo_owner;
void fl_gpu_lists_plan(const void *facts, struct fl_plan *plan);

/* Does a pool of the settings name the card? */
bool fl_gpu_in_pool(const struct fl_settings *settings, const struct fl_card *card);
