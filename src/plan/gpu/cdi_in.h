/* cdi_in.h - building the CDI files: their devices (cdi.c), names that containers hold (cdi_names.c), the container
 * edits of each device (cdi_edits.c), and which files are ours (cdi_files.c).
 */
#pragma once
#include "plan/gpu/cdi.h"

struct cdi {
	const struct fl_gpu_cdi_facts *facts;
	struct fl_plan *plan;
	const struct fl_cdi_spec *old;         /* our present file; NULL: there is none */
	struct fl_cdi_spec spec;
	uint32_t room;                         /* for devices in it */
	bool gids;                             /* groups of device nodes may be written */
};

/* Adds a device unless the file has one of that name. */
void cdi_put_device(struct cdi *c, struct fl_str name, const struct fl_cdi_edits *edits);

/* ---- cdi_names.c ---- */
bool cdi_is_uuid(struct fl_str name);
/* Whether a container may hold that device; whether one may hold any GPU or MIG device. */
bool cdi_held(const struct cdi *c, struct fl_str name);
bool cdi_any_held(const struct cdi *c);
/* Add held names whose device is gone: indexes before the present GPUs, all other names after them. */
void cdi_keep_indexes(struct cdi *c);
void cdi_keep_names(struct cdi *c);

/* ---- cdi_edits.c ---- */
bool cdi_has_flag(const struct cdi *c, enum fl_cdi_flag flag);
/* A hook of ours with room for `args` more arguments; NULL: no memory. */
struct fl_cdi_hook *cdi_hook_begin(struct cdi *c, struct fl_cdi_edits *edits, uint32_t args);
/* Makes room for `count` nodes, which cdi_put_node() and cdi_put_path() then add; false: no memory. */
bool cdi_nodes_begin(struct cdi *c, struct fl_cdi_edits *edits, uint32_t count);
void cdi_put_node(struct cdi *c, struct fl_cdi_edits *edits, const struct fl_host_node *from);
void cdi_put_path(struct cdi *c, struct fl_cdi_edits *edits, const struct fl_host_path *path);
/* The edits that every GPU needs. */
void cdi_put_common(struct cdi *c);

/* ---- cdi_files.c ---- */
/* Whether groups may be written: the settings allow it and the runtime can read them. */
bool cdi_gids_allowed(const struct cdi *c);
/* The lowest CDI version that has all fields of the file. */
struct fl_str cdi_version(const struct fl_cdi_spec *spec);
struct fl_str cdi_file_name(struct fl_plan *plan, struct fl_str kind);
/* Our other files: those of extra devices, and those of another kind, which are removed. */
void cdi_put_extras(struct cdi *c);
void cdi_sweep(struct cdi *c, struct fl_str name);
