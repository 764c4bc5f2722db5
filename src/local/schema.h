/* schema.h - the schema of a kind: a structural OpenAPI v3 schema as CustomResourceDefinitions carry it.
 *
 * Compiled once, then only read. The root's apiVersion, kind and metadata are the API server's own; what the CRD says
 * of them is ignored. x-kubernetes-validations (CEL) are not evaluated: fl_schema_rules lists them.
 *
 * `pattern` is matched with POSIX extended expressions after a translation (\d, \w, \s, (?:...)). What has no equal
 * there (lazy repeats, \b, \p{...}, flags) is not checked: fl_schema_rules lists it too.
 *
 * x-fairlead-present: true is said of a map or list of a built-in kind that Go's type always has: who makes the object
 * does not own the map itself, but what is in it.
 *
 * The order of a write: fl_schema_prune, fl_schema_default, fl_schema_check.
 */
#pragma once
#include "json/bind_kind.h"
#include "local/tree.h"

/* A kind that the schema knows in part, such as a Pod: what no property names is kept, at every level. */
#define FL_SCHEMA_OPEN 1u

/* Places within places of a schema, which is walked with recursion; the deepest real one (a Pod template) has some
 * 15. */
#define FL_SCHEMA_DEPTH 100

struct fl_schema;

/* From openAPIV3Schema, which may go afterwards. FL_E_INVALID names the path of what is no structural schema. */
int fl_schema_compile(yyjson_val *openapi, unsigned flags, struct fl_schema **ret, struct fl_err *err) FL_MUSTUSE;
/* From the table of a kind of ours. */
int fl_schema_of_kind(const struct fl_kind *kind, unsigned flags, struct fl_schema **ret,
		      struct fl_err *err) FL_MUSTUSE;
void fl_schema_free(struct fl_schema *schema);   /* NULL-safe */

/* What the schema asks for and this code does not check. */
struct fl_schema_rule {
	struct fl_str path;   /* "spec.replicas" */
	struct fl_str rule;   /* "self <= 3", "pattern \bx" */
};
const struct fl_schema_rule *fl_schema_rules(const struct fl_schema *schema, uint32_t *ret_len);

/* Remove what the schema does not name. Each removed field is reported in `unknown` (NULL: not wanted) with the message
 * 'unknown field "spec.a"', sorted by path. */
void fl_schema_prune(const struct fl_schema *schema, yyjson_mut_val *object, struct fl_causes *unknown);

/* Set absent fields to their defaults; a null where none is allowed counts as absent, and goes where there is no
 * default. FL_E_NOMEM. */
int fl_schema_default(const struct fl_schema *schema, yyjson_mut_doc *doc, yyjson_mut_val *object) FL_MUSTUSE;

/* The same after fl_apply: a null that has no default stays, so that fl_schema_check refuses it. What it lets pass all
 * the same goes in fl_schema_default afterwards, as it does when the API server reads the object again. */
int fl_schema_fill(const struct fl_schema *schema, yyjson_mut_doc *doc, yyjson_mut_val *object) FL_MUSTUSE;

/* Check all values; every fault is a cause. The caller looks at causes->len and ->failed. */
void fl_schema_check(const struct fl_schema *schema, yyjson_mut_val *object, struct fl_causes *causes);

/* The same of an update: what stays as it is in `old` may stay wrong, as a schema may have become stricter since.
 * `status`: that alone was written. */
void fl_schema_check_update(const struct fl_schema *schema, bool status, yyjson_mut_val *old, yyjson_mut_val *object,
			    struct fl_causes *causes);

FL_DEFINE_AUTO(fl_schema, struct fl_schema *, fl_schema_free);
