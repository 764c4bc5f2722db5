/* needs.h - what a container needs of the host to use a GPU, and whether the host has it.
 *
 * Pure. Shared by device lists (lists.h), the CDI file (cdi.h) and readiness: no GPU is advertised without its
 * libraries, its device nodes and, where containers get devices by CDI, its CDI file.
 */
#pragma once
#include "api/cdi.h"
#include "plan/plan.h"

/* Whether the scan is that of the present request. If not, a scan is in flight, and its CDI file follows. */
bool fl_gpu_host_seen(const struct fl_host *host);
/* Whether the scan failed; its message gives the reason. */
bool fl_gpu_host_failed(const struct fl_host *host);

/* If the scan found no libcuda of the driver: cause, searched places and remedy. Empty: it was found, or not scanned
 * yet. */
struct fl_str fl_gpu_libraries_missing(struct fl_plan *plan, const struct fl_host *host);

/* Whether the CDI hook does this part of its work; whether CDI files have a hook at all. Of FL_HOOK_CHMOD ours has
 * nothing to do. */
bool fl_gpu_hook_does(const struct fl_settings *settings, enum fl_hook_part part);
bool fl_gpu_hook_runs(const struct fl_settings *settings);
/* If the scan found no hook program that the container runtime can start: cause and remedy. Empty: there is one, none
 * is needed, or not scanned yet. Containers would not start with a CDI file that names a missing hook. */
struct fl_str fl_gpu_hook_missing(const struct fl_settings *settings, const struct fl_host *host);
/* The first of these two that keeps GPUs from being advertised, and the condition's reason for it. */
struct fl_str fl_gpu_lacks(struct fl_plan *plan, const struct fl_settings *settings, const struct fl_host *host,
			   const char **ret_reason);

/* Device nodes that a container needs for a GPU (`part` NULL) or a MIG device on it: the GPU's node, and those of the
 * MIG device's two capabilities. The CDI file does not name a device that lacks one: a container would not start with
 * it, or would start without it. */
struct fl_gpu_nodes {
	struct fl_str path[3];                 /* empty: it is not known which one */
	const struct fl_host_node *node[3];    /* NULL: the host has none there */
	uint32_t len;
};
struct fl_gpu_nodes fl_gpu_nodes(struct fl_plan *plan, const struct fl_host *host, const struct fl_card *card,
				 const struct fl_partition *part);
/* A text that names the first missing node; empty: none is missing. */
struct fl_str fl_gpu_node_missing(const struct fl_gpu_nodes *nodes);
const struct fl_host_node *fl_gpu_node_at(const struct fl_host *host, struct fl_str path);

/* The roots of the driver's files and of /dev as paths of the host, for generated files. */
struct fl_str fl_gpu_written_root(const struct fl_settings *settings, const struct fl_host *host);
struct fl_str fl_gpu_written_dev(const struct fl_settings *settings, const struct fl_host *host);

/* Whether any device list strategy of the settings uses CDI. */
bool fl_gpu_by_cdi(const struct fl_settings *settings);

/* Why no GPU can be advertised yet; empty: nothing prevents it, or no GPU answers. */
struct fl_gpu_needs_facts {
	const struct fl_settings *settings;
	const struct fl_host *host;            /* NULL: not scanned yet */
	const struct fl_card *cards;
	const struct fl_cdi_spec *specs;
	uint32_t card_len, spec_len;
};
struct fl_str fl_gpu_needs(const struct fl_gpu_needs_facts *facts, struct fl_arena *arena);
