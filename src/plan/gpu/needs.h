/* needs.h - what a container needs of the host to use a GPU, and whether it is there.
 *
 * Pure. Device lists (lists.h), the CDI file (cdi.h) and readiness ask the same: no GPU is advertised without
 * its libraries, its device nodes and, where containers get devices by CDI, its CDI file.
 */
#pragma once
#include "api/cdi.h"
#include "plan/plan.h"

/* Was what is there found for what is asked now? Else a look is on its way, and the file that follows from it. */
bool fl_gpu_host_seen(const struct fl_host *host);
/* Or the look came to nothing, for a reason that its message tells. */
bool fl_gpu_host_failed(const struct fl_host *host);

/* The driver's libcuda was looked for and is not there: why, where, and what to do; empty: it is there, or nobody has
 * looked yet. */
struct fl_str fl_gpu_libraries_missing(struct fl_plan *plan, const struct fl_host *host);

/* The hook's program was looked for and there is none that the container runtime can start: why, and what to do; empty:
 * there is one, none is needed, or nobody has looked yet. A CDI file that names it would keep containers from
 * starting. */
struct fl_str fl_gpu_hook_missing(const struct fl_settings *settings, const struct fl_host *host);
/* The first of both that keeps GPUs from being advertised, and the condition's reason for it. */
struct fl_str fl_gpu_lacks(struct fl_plan *plan, const struct fl_settings *settings, const struct fl_host *host,
			   const char **ret_reason);

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
const struct fl_host_node *fl_gpu_node_at(const struct fl_host *host, struct fl_str path);

/* The roots as the host has them, for what is written: of the driver's files, of /dev. */
struct fl_str fl_gpu_written_root(const struct fl_settings *settings, const struct fl_host *host);
struct fl_str fl_gpu_written_dev(const struct fl_settings *settings, const struct fl_host *host);

/* Does any strategy of the settings name CDI devices? */
bool fl_gpu_by_cdi(const struct fl_settings *settings);

/* Why no GPU can be advertised yet; empty: nothing stands in the way, or no GPU answers. */
struct fl_gpu_needs_facts {
	const struct fl_settings *settings;
	const struct fl_host *host;            /* NULL: nobody has looked yet */
	const struct fl_card *cards;
	const struct fl_cdi_spec *specs;
	uint32_t card_len, spec_len;
};
struct fl_str fl_gpu_needs(const struct fl_gpu_needs_facts *facts, struct fl_arena *arena);
