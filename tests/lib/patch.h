/* patch.h - changes to JSON documents: merge patch (RFC 7386) and JSON patch (RFC 6902), as the API server applies
 * them.
 *
 * Documents come from fl_json_read and stay as they are; what comes out is a new one in the space. Read a patch with
 * FL_JSON_STRICT: a name that stands twice in it is a mistake.
 */
#pragma once
#include "json/write.h"

/* Patches: as many operations as the API server takes; memory for the largest object, made of one-digit numbers and
 * nothing else (24 bytes for two), twice over. An operation "copy" doubles what it copies. */
#define FL_PATCH_OPS 10000
#define FL_PATCH_MEMORY (24 * FL_JSON_ITEM_MAX)

/* FL_E_TOOBIG: it would take more than FL_PATCH_MEMORY. */
int fl_patch_merge(struct fl_json_space *space, yyjson_val *doc, yyjson_val *patch, yyjson_mut_doc **ret_doc,
		   struct fl_err *err) FL_MUSTUSE;

/* All operations or none. FL_E_CONFLICT: a "test" found another value. FL_E_INVALID: an operation that is none, or a
 * path that is not there. FL_E_TOOBIG: more than FL_PATCH_OPS operations, or it would take more than FL_PATCH_MEMORY.
 * The text names the operation. */
int fl_patch_json(struct fl_json_space *space, yyjson_val *doc, yyjson_val *patch, yyjson_mut_doc **ret_doc,
		  struct fl_err *err) FL_MUSTUSE;

/* Write the merge patch that makes `after` of `before`, two objects. False: they do not differ, {} was written. A list
 * is replaced whole. A member that is null in `after` is taken for absent: a merge patch cannot say null. */
bool fl_patch_diff(struct fl_jw *w, yyjson_val *before, yyjson_val *after);
