/* ownership.h - who owns which fields: the sets of all entries of metadata.managedFields, in one tree.
 *
 * A field has one bit for each entry. An entry's set is read into the tree once, and printed again only when it has
 * changed. Elements are those of the API: "f:name", "k:{"name":"x"}", "v:"text"", "i:0", sorted by their bytes.
 *
 * A failed allocation sticks (`failed`).
 */
#pragma once
#include "local/tree.h"

struct fl_owned {
	struct fl_str text;                  /* the element behind its colon */
	char kind;                           /* the letter before it; 0: the root */
	bool hit;                            /* the value here has changed */
	uint32_t turn;                       /* of the treap */
	struct fl_owned *less, *more;        /* beside it */
	struct fl_owned *below;              /* the root of those below it */
	yyjson_mut_val *old, *new;           /* of a list's item, while its list is merged or compared */
	uint64_t own[];
};

struct fl_ownership {
	struct fl_arena *arena;
	struct fl_owned *root;
	uint32_t words;                      /* of each field's bits */
	uint32_t seed;
	bool failed;
};

void fl_ownership_init(struct fl_ownership *fields, struct fl_arena *arena, uint32_t owners);

/* Find, or make with a copy of the text. NULL: it is not there; of make: allocation failed. */
struct fl_owned *fl_owned_find(const struct fl_owned *up, char kind, struct fl_str text);
struct fl_owned *fl_owned_make(struct fl_ownership *fields, struct fl_owned *up, char kind, struct fl_str text);

static inline bool fl_owned_has(const struct fl_owned *field, uint32_t owner)
{
	return field->own[owner / 64] >> owner % 64 & 1;
}
static inline void fl_owned_set(struct fl_owned *field, uint32_t owner)
{
	field->own[owner / 64] |= (uint64_t)1 << owner % 64;
}
static inline void fl_owned_clear(struct fl_owned *field, uint32_t owner)
{
	field->own[owner / 64] &= ~((uint64_t)1 << owner % 64);
}

/* Does the owner own the field or anything below it? */
bool fl_owned_any(const struct fl_owned *field, uint32_t owner);

/* Read an entry's fieldsV1 for this owner. */
void fl_ownership_read(struct fl_ownership *fields, uint32_t owner, yyjson_mut_val *v1);

/* The owner's set as fieldsV1; NULL: allocation failed. */
yyjson_mut_val *fl_ownership_print(const struct fl_ownership *fields, uint32_t owner, yyjson_mut_doc *doc);

/* The element of a list's item: by its keys ("k"), or its value ("v"). 0: `buf` holds its text. 1: the item has none
 * (no key at all; no plain value). */
struct fl_node;
int fl_element_of(const struct fl_node *list, yyjson_mut_val *item, struct fl_buf *buf, char *ret_kind);

/* Append the element as paths show it: ".name", "[k="x"]", "[="v"]". */
void fl_element_put(struct fl_buf *buf, char kind, struct fl_str text);

/* Of the root and of metadata: what belongs to the API server, and no manager owns. */
bool fl_owned_is_servers(struct fl_str name, bool in_metadata);
