/* bind_walk.h - read, write, compare, copy and check any bound struct.
 *
 * A bound struct owns nothing: its texts and lists lie in an arena, in the document that it was read from, or are
 * literals, and live as long as those. A zeroed struct is empty and valid. Texts are UTF-8; maps are sorted by key.
 */
#pragma once
#include "json/bind.h"
#include "json/write.h"

/* The texts stay in the document, which must then outlive the object; otherwise they are copied to the arena. */
#define FL_DECODE_BORROW 1u
/* For what a person wrote: an unknown field is a fault too, and any fault refuses the object. */
#define FL_DECODE_STRICT 2u

/* Read an object. A value of the wrong type or outside its C type's range is left out, and reported in the root's
 * `faults` (at most FL_FAULTS_MAX). fl_check checks bounds and patterns. FL_E_INVALID: not a JSON object, or strict:
 * "spec.resource.slice: no such field; did you mean 'slices'?". */
int fl_decode(const struct fl_bind *bind, yyjson_val *json, struct fl_arena *arena, unsigned flags, void *ret_object,
	      struct fl_err *err) FL_MUSTUSE;

/* Write an object: the present members, in the order of the table. */
void fl_encode(const struct fl_bind *bind, const void *object, struct fl_jw *w);

/* Are the same members present with the same values? Order counts in every list. Quantities compare as numbers: "0.5"
 * equals "500m". */
bool fl_equal(const struct fl_bind *bind, const void *a, const void *b);

/* The paths at which two objects differ, in the order of the table: "spec.replicas", "metadata.labels[app]",
 * "status.conditions[type=Ready].reason"; an atomic list, a set and a list-map in another order by their own path. None
 * exactly when they are equal. Paths lie in the arena. */
int fl_diff(const struct fl_bind *bind, const void *a, const void *b, struct fl_arena *arena,
	    struct fl_str_list *ret_paths, struct fl_err *err) FL_MUSTUSE;

/* Append the operations of a JSON patch (RFC 6902), comma between them and no brackets, that make `after` of `json`,
 * from which `before` was decoded; none when nothing differs. What no table names stays: list-maps are changed by their
 * keys, other lists of objects by place, and an object that is to go but holds more keeps that. FL_E_INVALID: a list is
 * to be changed some of whose elements could not be bound; else as the buffer says. */
int fl_bind_patch(const struct fl_bind *bind, const void *before, const void *after, yyjson_val *json,
		  struct fl_buf *out, struct fl_err *err) FL_MUSTUSE;

/* A deep copy into the arena, texts included. */
int fl_copy(const struct fl_bind *bind, const void *object, struct fl_arena *arena, void *ret,
	    struct fl_err *err) FL_MUSTUSE;

/* Check an object by its table, with the CRD's bounds: it finds what the API server would refuse, except CEL rules.
 * `old` is what was there before, for what must not change; NULL when new. The number of faults found (at most
 * FL_FAULTS_MAX), in *ret_faults. */
int fl_check(const struct fl_bind *bind, const void *old, const void *object, struct fl_arena *arena,
	     struct fl_fault_list *ret_faults, struct fl_err *err) FL_MUSTUSE;

/* Set every absent member to its default; for a struct that a program makes and then reads. */
void fl_defaults(const struct fl_bind *bind, void *object);

/* The row of that JSON name, or NULL. */
const struct fl_field *fl_field_find(const struct fl_bind *bind, struct fl_str json);
