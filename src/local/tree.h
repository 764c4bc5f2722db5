/* tree.h - an object while a request changes it: a tree of yyjson's mutable values.
 *
 * A tree belongs to a document, which owns its memory. A name stands once in an object of a tree.
 */
#pragma once
#include "json/json.h"
#include "local/cause.h"

/* Where a value stands; it lies on the stack of the code that walks there. Printed as "spec.list[0].name". */
struct fl_at {
	const struct fl_at *up;
	struct fl_str name;   /* NULL: `index` counts */
	size_t index;
};
void fl_at_put(struct fl_buf *buf, const struct fl_at *at);

/* A tree of a value that was read. Texts are borrowed: `val`'s document must outlive `doc`. Of a repeated name the last
 * value counts, in the first one's place, as in Go; each is reported in `repeats` (NULL: not wanted) with the message
 * 'duplicate field "spec.a"'. NULL: allocation failed. */
yyjson_mut_val *fl_tree_of(yyjson_mut_doc *doc, yyjson_val *val, struct fl_causes *repeats) FL_MUSTUSE;

/* A copy in `doc` whose texts are borrowed from the original's document. NULL: allocation failed. */
yyjson_mut_val *fl_tree_copy(yyjson_mut_doc *doc, yyjson_mut_val *val) FL_MUSTUSE;

/* The member of that name; NULL when there is none or `object` is no object (or NULL). */
yyjson_mut_val *fl_tree_get(yyjson_mut_val *object, struct fl_str name);

/* Replace the member or append it; false: allocation failed. The name is borrowed. `val` must stand nowhere else. */
bool fl_tree_put(yyjson_mut_doc *doc, yyjson_mut_val *object, struct fl_str name, yyjson_mut_val *val) FL_MUSTUSE;

/* Remove the member, if it is there. */
void fl_tree_remove(yyjson_mut_val *object, struct fl_str name);

/* The members of one object by name, for many look-ups: quick for objects of any size. Nothing
 * may be removed from it meanwhile; what is added may not be found. */
struct fl_tree_names {
	yyjson_mut_val *object;
	yyjson_mut_val **keys;   /* sorted; NULL: the object has few */
	size_t len;
};
void fl_tree_names_init(struct fl_tree_names *names, yyjson_mut_val *object);
yyjson_mut_val *fl_tree_names_get(const struct fl_tree_names *names, struct fl_str name);
static inline void fl_tree_names_auto_(struct fl_tree_names *names)
{
	fl_free(names->keys);
}

/* The same value? The order of members does not count; 1 and 1.0 differ. */
bool fl_tree_equal(yyjson_mut_val *a, yyjson_mut_val *b);

struct fl_str fl_tree_str(const yyjson_mut_val *val);   /* its text; empty when it is none */
