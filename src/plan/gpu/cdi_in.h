/* cdi_in.h - the CDI files while they are made: which devices are in them (cdi.c), under which names that
 * containers hold (cdi_names.c), what each brings (cdi_edits.c), and the files that are ours (cdi_files.c).
 */
#pragma once
#include "plan/gpu/cdi.h"

struct cdi {
	const struct fl_gpu_cdi_facts *facts;
	struct fl_plan *plan;
	const struct fl_cdi_spec *old;         /* of ours, as it is; NULL: there is none */
	struct fl_cdi_spec spec;
	uint32_t room;                         /* of its devices */
	bool gids;                             /* may groups of device nodes be given? */
};

/* A device, unless one of that name is in. */
void cdi_put_device(struct cdi *c, struct fl_str name, const struct fl_cdi_edits *edits);

/* ---- cdi_names.c ---- */
bool cdi_is_uuid(struct fl_str name);
/* May a container hold that device? May one hold any card, or a part of one? */
bool cdi_held(const struct cdi *c, struct fl_str name);
bool cdi_any_held(const struct cdi *c);
/* Names that are held and whose device is gone: indexes before the cards that are there, all others after them. */
void cdi_keep_indexes(struct cdi *c);
void cdi_keep_names(struct cdi *c);

/* ---- cdi_edits.c ---- */
bool cdi_has_flag(const struct cdi *c, enum fl_cdi_flag flag);
bool cdi_runs(const struct cdi *c, enum fl_hook_part part);
/* A hook of ours with room for so many arguments more; NULL: no memory. */
struct fl_cdi_hook *cdi_hook_begin(struct cdi *c, struct fl_cdi_edits *edits, uint32_t args);
/* Room for so many nodes, then each; false: no memory. */
bool cdi_nodes_begin(struct cdi *c, struct fl_cdi_edits *edits, uint32_t count);
void cdi_put_node(struct cdi *c, struct fl_cdi_edits *edits, const struct fl_host_node *from);
void cdi_put_path(struct cdi *c, struct fl_cdi_edits *edits, const struct fl_host_path *path);
/* What every card brings. */
void cdi_put_common(struct cdi *c);

/* ---- cdi_files.c ---- */
/* May groups be given, after the settings and what the runtime can read? */
bool cdi_gids_allowed(const struct cdi *c);
/* The lowest version that has all of it. */
struct fl_str cdi_version(const struct fl_cdi_spec *spec);
struct fl_str cdi_file_name(struct fl_plan *plan, struct fl_str kind);
/* Files of ours beside that one: what containers get beside cards, and those of another kind, which go. */
void cdi_put_extras(struct cdi *c);
void cdi_sweep(struct cdi *c, struct fl_str name);
