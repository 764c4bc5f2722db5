/* shared.h - items of lists that the API treats as one value and that other writers change too (struct fl_shared).
 *
 * Pure. The patch applies to one version of the object: it tests resourceVersion first.
 */
#pragma once
#include "plan/plan.h"

/* The item's identity, for keys and for people: "key=gpu,effect=NoSchedule", or the text. */
void fl_shared_name(const struct fl_shared *shared, const void *item, struct fl_buf *out);

/* Compares the want (FL_WANT_ITEM, FL_WANT_NO_ITEM) with the object `have`: 0 no difference, 1 a difference. Then *ret,
 * a root struct in the arena, is the object after the write and *ret_patch the JSON patch. FL_E_INVALID: the list has
 * an item that cannot be bound, so positions in it are unknown. */
int fl_shared_change(const struct fl_shared *shared, enum fl_want_what what, const void *item, const void *have,
		     struct fl_str version, struct fl_arena *arena, void **ret, struct fl_str *ret_patch,
		     struct fl_err *err) FL_MUSTUSE;
