/* apply.h - who owns which field: server-side apply, and metadata.managedFields after every other write.
 *
 * Pure: objects in, objects out. The caller gives the time, and sets resourceVersion and generation. Objects are whole
 * trees with apiVersion, kind and metadata (tree.h), already pruned.
 */
#pragma once
#include "local/schema.h"

/* Entries with the operation Update; the API server joins the oldest beyond this into "ancient-changes". */
#define FL_UPDATERS_MAX 10

/* What of an object a request writes. */
enum fl_part {
	FL_PART_WHOLE,    /* a kind without the status subresource */
	FL_PART_MAIN,     /* all but status */
	FL_PART_STATUS,   /* status alone */
	FL_PART_SCALE,    /* replicas, by the scale subresource; no apply */
	FL_PART_COUNT_
};

struct fl_writer {
	struct fl_str manager;       /* fieldManager, or what the User-Agent makes of it */
	struct fl_str api_version;   /* of the request */
	enum fl_part part;
	int64_t now;                 /* microseconds since 1970 */
};

/* Let the part that the request does not write be as in `before` (NULL: the object is being created), but for
 * managedFields, which an apply has set. */
int fl_part_reset(enum fl_part part, yyjson_mut_doc *doc, yyjson_mut_val *before, yyjson_mut_val *after) FL_MUSTUSE;

#define FL_APPLY_FORCE 1u

/* Merge a configuration into the live object `live`, a tree of `doc` that is changed in place and worthless after a
 * failure. For a new object pass one with nothing but apiVersion, kind and metadata's name and namespace. Texts of
 * `config`, `schema` and of the conflicts' arena are borrowed.
 *
 * 1: something changed; prune, fill (fl_schema_fill), check and default what came out. 0: nothing did, and nothing is
 * to be written. FL_E_CONFLICT: the causes (reason FieldManagerConflict) and the error say with whom: "Apply failed
 * with 1 conflict:
 * ..."; fl_apply_conflict prints the text whole. FL_E_INVALID: the configuration does not fit the schema.
 * FL_E_NOMEM. */
int fl_apply(const struct fl_schema *schema, const struct fl_writer *who, unsigned flags, yyjson_mut_doc *doc,
	     yyjson_mut_val *live, yyjson_mut_val *config, struct fl_causes *conflicts, struct fl_err *err) FL_MUSTUSE;

/* The message of a Status for these conflicts. */
void fl_apply_conflict(const struct fl_causes *conflicts, struct fl_buf *buf);

/* After a create (`before` NULL), update or patch: set metadata.managedFields of `after`, a tree of `doc` that is
 * already defaulted. 1: fields changed hands or values changed; 0: nothing did. FL_E_NOMEM. */
int fl_managed_update(const struct fl_schema *schema, const struct fl_writer *who, yyjson_mut_doc *doc,
		      yyjson_mut_val *before, yyjson_mut_val *after, struct fl_arena *arena, struct fl_err *err)
	FL_MUSTUSE;
