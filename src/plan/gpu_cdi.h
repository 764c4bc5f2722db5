/* gpu_cdi.h - the CDI file of this node's GPUs: a pure function of what the host has.
 *
 * Each full GPU and each partition is a device by UUID and by index, and `all` is all of them. Names that a container
 * holds stay in the file, with what they meant, until nobody holds them. What containers get beside cards has files of
 * its own (plan/gpu_extras.h), which go when they are switched off and no Pod can have them any more.
 */
#pragma once
#include "api/cdi.h"
#include "plan/plan.h"

struct fl_gpu_cdi_facts {
	const struct fl_settings *settings;
	const struct fl_driver *driver;
	const struct fl_host *host;            /* NULL, or not yet seen as it is to be: nothing is wanted, what is
		written stays */
	const struct fl_card *cards;
	const struct fl_holder *holders;
	const struct fl_cdi_spec *specs;       /* ours, as they are in the folder */
	const struct fl_resource *resources;   /* as they are served now: what they hand out has its file */
	uint32_t card_len, holder_len, spec_len, resource_len;
};

/* What a container needs of the host to use a card (no `part`) or a partition of it: the card's node, and those of the
 * partition's two capabilities. A device that lacks one is not named in the file: who asked for it would not start, or
 * start without it. */
struct fl_gpu_nodes {
	struct fl_str path[3];                 /* empty: it is not known which one */
	const struct fl_host_node *node[3];    /* NULL: the host has none there */
	uint32_t len;
};
struct fl_gpu_nodes fl_gpu_nodes(struct fl_plan *plan, const struct fl_host *host, const struct fl_card *card,
				 const struct fl_partition *part);
/* The first that is not there, for people; empty: all are. */
struct fl_str fl_gpu_node_missing(const struct fl_gpu_nodes *nodes);

/* Was what is there found for what is asked now? Else a look is on its way, and the file that follows from it. */
bool fl_gpu_host_seen(const struct fl_host *host);
/* Or the look came to nothing, for a reason that its message tells. */
bool fl_gpu_host_failed(const struct fl_host *host);

extern const struct fl_owner fl_gpu_cdi_owner;
void fl_gpu_cdi_plan(const void *facts, struct fl_plan *plan);
