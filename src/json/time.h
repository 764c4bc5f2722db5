/* time.h - moments as the API writes them: RFC 3339, to the second (metav1.Time) or to the microsecond (MicroTime).
 *
 * A moment is an int64_t: microseconds since 1970, UTC. Years 0000 to 9999; no leap seconds, no time zone data. Read as
 * Go reads: an hour of one digit, a comma before the fraction, any number of decimals (those beyond the sixth are cut)
 * and offsets up to 24:60 are let through. Durations are in base/units.h.
 */
#pragma once
#include "base/err.h"

/* No moment: an absent time, and Go's zero time 0001-01-01T00:00:00Z, which the API server prints as null. */
#define FL_TIME_NONE INT64_MIN

int fl_time_parse(struct fl_str text, int64_t *ret_us, struct fl_err *err) FL_MUSTUSE;

/* The same with exactly six decimals, as the API server demands of a MicroTime. */
int fl_time_parse_micro(struct fl_str text, int64_t *ret_us, struct fl_err *err) FL_MUSTUSE;

/* "2026-11-21T07:12:03Z", "2026-11-21T07:12:03.123456Z"; not terminated; the length. 0 for FL_TIME_NONE and for what is
 * outside the years. */
#define FL_TIME_TEXT 32   /* room for one with microseconds, of 27 bytes */
uint32_t fl_time_print(int64_t us, char text[FL_TIME_TEXT]);
uint32_t fl_time_print_micro(int64_t us, char text[FL_TIME_TEXT]);

/* Would a YAML reader take it for a moment (2001-1-1, 2001-01-01 10:20:30)? Where that is a text, it needs quotes. */
bool fl_time_is_yaml(struct fl_str text);
