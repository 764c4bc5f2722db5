/* children.h - what a parent has: the objects of a kind that were made for it, and how they show it.
 *
 * Mostly a child names its parent as its controller, among its owner references: then the garbage collector takes it
 * away after the parent. An owner reference cannot lead to another namespace; children there bear a label instead, with
 * the parent's uid, and who takes the parent away takes them away too.
 */
#pragma once
#include "api/meta.h"
#include "api/owner.h"

struct fl_children {
	const struct fl_owner *owner;      /* what is written of each; with a label: it owns that label */
	const struct fl_kind *parent;
	const char *label;                 /* NULL: the parent is their controller */
};

/* The owner reference of the controller, or NULL. */
const struct fl_owner_ref *fl_controller(const struct fl_owner_ref_list *refs);
/* Is it a reference to this kind, whatever the version? */
bool fl_owner_ref_is(const struct fl_owner_ref *ref, const struct fl_kind *kind);

/* Of an object of any kind: empty where it has none, or its metadata has no such row. */
struct fl_owner_ref_list fl_owner_refs_of(const struct fl_kind *kind, const void *object);
struct fl_str fl_label_of(const struct fl_kind *kind, const void *object, struct fl_str key);

/* The uid of the parent that the object names; empty: none. */
struct fl_str fl_parent_of(const struct fl_children *children, const void *object);

/* May there be such children? FL_E_INVALID says what is missing. */
int fl_children_check(const struct fl_children *children, struct fl_err *err) FL_MUSTUSE;

/* Make `object`, a root struct that is the caller's, name its parent. *ret_owner is the owner of all that is written of
 * it. Both share what they are made of, and live as long as the arena. */
int fl_child_name(const struct fl_children *children, struct fl_str parent_name, struct fl_str parent_uid, void *object,
		  struct fl_arena *arena, struct fl_owner *ret_owner) FL_MUSTUSE;

/* An owner that lives as long as the arena, paths and all; NULL: refused. */
const struct fl_owner *fl_owner_copy(const struct fl_owner *owner, struct fl_arena *arena);
