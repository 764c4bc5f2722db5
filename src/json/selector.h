/* selector.h - requirements on labels, as Kubernetes reads and applies them; and label selectors that are texts.
 *
 *     a=b,c!=d,e in (x,y),f notin (z),g,!h,i>5
 *
 * What is bound in an object (LabelSelector, the terms of node affinity) is matched by api/selector.h, out of the same
 * requirements.
 */
#pragma once
#include "base/arena.h"
#include "json/bind.h"

/* A selector comes in a URL, and servers take 8 KiB of that. */
#define FL_SELECTOR_MAX (16 * FL_KIB)

enum fl_selector_op {
	FL_SELECTOR_IN,            /* in texts also = and == */
	FL_SELECTOR_NOT_IN,        /* ... and != */
	FL_SELECTOR_EXISTS,
	FL_SELECTOR_NOT_EXISTS,
	FL_SELECTOR_GREATER,       /* both sides are integers */
	FL_SELECTOR_LESS,
	FL_SELECTOR_OP_COUNT_
};
extern const struct fl_names fl_selector_op_names;   /* as matchExpressions spells them */

struct fl_requirement {
	struct fl_str key;
	enum fl_selector_op op;
	struct fl_str_list values;
};

/* May it be used? FL_E_INVALID says why the API server refuses it. */
int fl_requirement_check(const struct fl_requirement *requirement, struct fl_err *err) FL_MUSTUSE;

/* One that the check refuses holds for no labels. NotIn and DoesNotExist hold where the label is absent. */
bool fl_requirement_holds(const struct fl_requirement *requirement, struct fl_map labels);

/* All must hold. Zero-initialised matches everything. */
struct fl_selector {
	struct fl_requirement *at;
	uint32_t len;
};

/* Lives in the arena, and needs the text no more. FL_E_INVALID says what stands where it should not; FL_E_TOOBIG: over
 * FL_SELECTOR_MAX; FL_E_NOMEM. */
int fl_selector_parse(struct fl_arena *arena, struct fl_str text, struct fl_selector *ret,
		      struct fl_err *err) FL_MUSTUSE;

bool fl_selector_match(const struct fl_selector *selector, struct fl_map labels);
