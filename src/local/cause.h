/* cause.h - the reasons for which a request is refused, as a Status carries them in details.causes.
 *
 * A list lies in an arena, texts included. A failed allocation sticks to it (`failed`); writers check once at the end.
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"

struct fl_cause {
	const char *reason;         /* "FieldValueInvalid"; NULL for unknown and repeated fields, which are no causes */
	struct fl_str field;        /* "spec.replicas" */
	struct fl_str message;      /* "Required value": without the field */
	struct fl_cause *next;
};

struct fl_causes {
	struct fl_arena *arena;
	struct fl_cause *first, *last;
	uint32_t len;
	bool failed;
};
#define FL_CAUSES(memory) ((struct fl_causes){ .arena = (memory) })

/* Append one. The field is copied; the message is printed. */
void fl_cause_add(struct fl_causes *causes, const char *reason, struct fl_str field, const char *fmt, ...)
	FL_PRINTF(4, 5);

/* All in one text, as the API server words it: "spec.a: Required value", of several "[spec.a: ..., spec.b: ...]". A
 * cause that stands there twice is told once. */
void fl_causes_text(const struct fl_causes *causes, struct fl_buf *buf);
