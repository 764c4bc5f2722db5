/* quantity.h - amounts of cpu, memory and cards as Kubernetes writes them: 128Mi, 0.5, 500m, 1e3.
 *
 * Exact decimal numbers down to a billionth; what is finer is rounded away from zero when it is read, so that asking
 * for very little is still asking for something. Reading, comparison and the canonical text are those of Kubernetes'
 * own type, with three differences: more than 28 significant digits or an exponent over 100 is refused, a
 * text is always printed canonically ("1.500" as "1500m"), and a number beyond 999E prints so that it reads back.
 *
 * 16 bytes, no allocation; zero-initialised is 0.
 */
#pragma once
#include "json/json.h"

enum fl_quantity_format {
	FL_QUANTITY_DECIMAL,     /* 12M */
	FL_QUANTITY_BINARY,      /* 12Mi; never over 2^63-1 when read: Kubernetes caps it there */
	FL_QUANTITY_EXPONENT,    /* 12e6 */
	FL_QUANTITY_FORMAT_COUNT_
};
extern const struct fl_names fl_quantity_format_names;

struct fl_quantity {
	uint64_t low;        /* the mantissa, 96 bits, low part ... */
	int32_t high;        /* ... and high part with the sign */
	int8_t scale;        /* times ten to this, -9 to 100 */
	uint8_t format;      /* enum fl_quantity_format: how it was written, and is printed */
};

/* FL_E_INVALID; FL_E_TOOBIG: more digits than fit. */
int fl_quantity_parse(struct fl_str text, struct fl_quantity *ret, struct fl_err *err) FL_MUSTUSE;

/* Of a JSON text or number; blanks around it are let through, as the API server does. */
int fl_quantity_of_json(const yyjson_val *val, struct fl_quantity *ret, struct fl_err *err) FL_MUSTUSE;

/* The canonical text, not terminated; its length. Equal numbers of one format print alike. */
#define FL_QUANTITY_TEXT 144   /* room for the longest */
uint32_t fl_quantity_print(struct fl_quantity q, char text[FL_QUANTITY_TEXT]);

/* Rounded away from zero to whole units; what does not fit stops at INT64_MAX or INT64_MIN. */
int64_t fl_quantity_value(struct fl_quantity q);

/* By number; the format does not count. */
int fl_quantity_cmp(struct fl_quantity a, struct fl_quantity b);
