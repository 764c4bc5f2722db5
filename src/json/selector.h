/* selector.h - which objects are meant: label selectors and field selectors, as Kubernetes reads, prints and applies
 * them.
 *
 *     a=b,c!=d,e in (x,y),f notin (z),g,!h,i>5          from a text
 *     {"matchLabels":{"a":"b"},"matchExpressions":[...]} from a LabelSelector
 *
 * Both become the same compiled form, sorted by key, which lives in an arena of the caller's.
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "json/bind.h"

enum fl_selector_op {
	FL_SELECTOR_IS,            /* = and == */
	FL_SELECTOR_IS_NOT,
	FL_SELECTOR_IN,
	FL_SELECTOR_NOT_IN,
	FL_SELECTOR_EXISTS,
	FL_SELECTOR_NOT_EXISTS,
	FL_SELECTOR_GREATER,       /* both sides are integers */
	FL_SELECTOR_LESS,
	FL_SELECTOR_OP_COUNT_
};
extern const struct fl_names fl_selector_op_names;   /* as matchExpressions spells them; "=", ">" where it has none */

struct fl_requirement {
	struct fl_str key;
	enum fl_selector_op op;
	bool twice;                 /* written ==; printed so again */
	struct fl_str_list values;      /* sorted */
};

/* All must hold. Zero-initialised matches everything. */
struct fl_selector {
	struct fl_requirement *at;
	uint32_t len, cap;
	bool nothing;               /* matches no object: what a LabelSelector that is absent means */
};

/* From a text. FL_E_INVALID says what stands where it should not; FL_E_TOOBIG: over FL_SELECTOR_MAX; FL_E_NOMEM. */
int fl_selector_parse(struct fl_arena *arena, struct fl_str text, struct fl_selector *ret,
		      struct fl_err *err) FL_MUSTUSE;

/* From a LabelSelector. NULL or null matches nothing, {} everything. Texts are borrowed from the document. */
int fl_selector_of_json(struct fl_arena *arena, yyjson_val *val, struct fl_selector *ret,
			struct fl_err *err) FL_MUSTUSE;

/* Piece by piece, for a LabelSelector that is bound already: begin with room for `cap` requirements, add each (checked
 * as the API server does; texts are borrowed), and close. */
int fl_selector_begin(struct fl_arena *arena, uint32_t cap, struct fl_selector *ret, struct fl_err *err) FL_MUSTUSE;
int fl_selector_add(struct fl_selector *selector, struct fl_str key, enum fl_selector_op op, struct fl_str_list values,
		    struct fl_err *err) FL_MUSTUSE;
void fl_selector_close(struct fl_selector *selector);

bool fl_selector_match(const struct fl_selector *selector, struct fl_map labels);

/* The canonical text. Nothing prints as the empty text, which reads back as everything: ask .nothing first. */
void fl_selector_print(struct fl_buf *buf, const struct fl_selector *selector);

/* ---- field selectors: metadata.name=x,status.phase!=Failed ---- */

struct fl_field_term {
	struct fl_str field, value;   /* the value unescaped */
	bool is_not;
};
struct fl_field_selector {
	struct fl_field_term *at;
	uint32_t len;
};

/* Within a value, backslash stands before a comma, an equals sign and itself. */
int fl_field_selector_parse(struct fl_arena *arena, struct fl_str text, struct fl_field_selector *ret,
			    struct fl_err *err) FL_MUSTUSE;

/* A field that is not there is empty. Which fields a kind has, the caller checks. */
bool fl_field_selector_match(const struct fl_field_selector *selector, struct fl_map fields);

void fl_field_selector_print(struct fl_buf *buf, const struct fl_field_selector *selector);
