/* patch.h - merge patches (RFC 7386) and JSON patches (RFC 6902) on the tree of an object, as the API server applies
 * them.
 *
 * The tree is changed in place, and worthless after a failure; *object may become another value. Texts of `patch` are
 * borrowed. Where the API server is looser than the RFC: "replace" of a member that is not there adds it, "copy" of one
 * copies null, "test" takes it for null, a missing "value" is null, and an index of -1 counts from the end.
 */
#pragma once
#include "local/tree.h"

/* What an operation "copy" may add up to: each doubles what it copies. A request has at most 3 MiB, and a text of one
 * byte takes 24 as a value. */
#define FL_PATCH_VALUES 1000000

/* FL_E_NOMEM alone: any JSON is a merge patch. */
int fl_tree_merge(yyjson_mut_doc *doc, yyjson_mut_val **object, yyjson_val *patch, struct fl_err *err) FL_MUSTUSE;

/* FL_E_CONFLICT: a "test" found another value. FL_E_INVALID: an operation that is none, or a path that is not there;
 * the text names it. FL_E_TOOBIG: more operations than the API server takes, or more than FL_PATCH_VALUES copied. */
int fl_tree_patch(yyjson_mut_doc *doc, yyjson_mut_val **object, yyjson_val *patch, struct fl_err *err) FL_MUSTUSE;
