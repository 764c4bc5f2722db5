/* shared.h - items of lists that the API treats as one value and that we share with others (plan.h, struct fl_shared).
 *
 * Pure. The patch holds for one version of the object only: it tests resourceVersion first.
 */
#pragma once
#include "plan/plan.h"

/* What makes the item the one that it is, for keys and for people: "key=gpu,effect=NoSchedule", or the text. */
void fl_shared_name(const struct fl_shared *shared, const void *item, struct fl_buf *out);

/* What the want (FL_WANT_ITEM, FL_WANT_NO_ITEM) changes in the object `have`: 0 nothing, 1 something. Then *ret, a root
 * struct in the arena, is the object afterwards and *ret_patch the JSON patch. FL_E_INVALID: the list holds what we
 * could not read, so places in it are not known. */
int fl_shared_change(const struct fl_shared *shared, enum fl_want_what what, const void *item, const void *have,
		     struct fl_str version, struct fl_arena *arena, void **ret, struct fl_str *ret_patch,
		     struct fl_err *err) FL_MUSTUSE;
