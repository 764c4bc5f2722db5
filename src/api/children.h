/* children.h - children: the objects made for a parent, and how they name it.
 *
 * Usually a child has an owner reference to its parent as controller: the garbage collector deletes it after the
 * parent. An owner reference cannot point to another namespace. Children there have a label with the parent's uid
 * instead, and whoever deletes the parent deletes them too.
 */
#pragma once
#include "api/meta.h"
#include "api/owner.h"

struct fl_children {
	const struct fl_owner *owner;      /* the fields written to each child, the label included */
	const struct fl_kind *parent;
	const char *label;                 /* NULL: the parent is their controller */
};

/* The owner reference of the controller, or NULL. */
const struct fl_owner_ref *fl_controller(const struct fl_owner_ref_list *refs);
/* Is it a reference to this kind, whatever the version? */
bool fl_owner_ref_is(const struct fl_owner_ref *ref, const struct fl_kind *kind);

/* Of an object of any kind: empty if it has none, or if its kind has no such row. */
struct fl_owner_ref_list fl_owner_refs_of(const struct fl_kind *kind, const void *object);
struct fl_str fl_label_of(const struct fl_kind *kind, const void *object, struct fl_str key);

/* The uid of the object's parent; empty: none. */
struct fl_str fl_parent_of(const struct fl_children *children, const void *object);

/* Is this description valid? FL_E_INVALID: the text names what is missing. */
int fl_children_check(const struct fl_children *children, struct fl_err *err) FL_MUSTUSE;

/* Make `object`, a root struct of the caller's, name its parent. *ret_owner owns all fields that are written of it.
 * Both borrow the arguments and live as long as the arena. */
int fl_child_name(const struct fl_children *children, struct fl_str parent_name, struct fl_str parent_uid, void *object,
		  struct fl_arena *arena, struct fl_owner *ret_owner) FL_MUSTUSE;

/* A deep copy of an owner that lives as long as the arena; NULL: allocation failed. */
const struct fl_owner *fl_owner_copy(const struct fl_owner *owner, struct fl_arena *arena);
