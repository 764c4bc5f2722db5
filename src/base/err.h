/* err.h - one error object, on the caller's stack.
 *
 * A function that can fail returns 0 (or a count) and on failure a negated enum fl_code. The code says what the caller
 * does next, the text what a person reads. The object is touched only on failure, so one object serves many calls, and
 * NULL stands for "I do not care". Nothing here allocates.
 *
 *     if (parse(&pool, err) < 0)
 *             return fl_wrap(err, "pool %s", name);        "pool a100: bad quantity '1x'"
 */
#pragma once
#include "base/names.h"

enum fl_code {
	FL_OK,
	FL_E_INVALID,     /* the input is wrong: do not retry */
	FL_E_NOTFOUND,
	FL_E_EXISTS,
	FL_E_CONFLICT,    /* somebody else changed it: read again */
	FL_E_DENIED,
	FL_E_TOOBIG,      /* over a limit of base/limits.h */
	FL_E_AGAIN,       /* nothing to be had now: wait for readiness */
	FL_E_RETRY,       /* failed for now: try again later */
	FL_E_TIMEOUT,
	FL_E_CLOSED,      /* the other side is gone */
	FL_E_UNSUPPORTED,
	FL_E_CORRUPT,     /* stored bytes are not what was written */
	FL_E_NOMEM,
	FL_E_IO,
	FL_E_COUNT_
};
extern const struct fl_names fl_code_names;

#define FL_ERR_TEXT 240

struct fl_err {
	enum fl_code code;
	int sys;                  /* the errno behind it, or 0 */
	char text[FL_ERR_TEXT];   /* cut, never overrun; always terminated */
};

#define FL_MUSTUSE __attribute__((warn_unused_result))
#define FL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define FL_COLD __attribute__((cold))   /* seldom called: what leads to it is put out of the way of the rest */

/* Each returns -code, so that a failure is one return statement. */
int fl_fail(struct fl_err *err, enum fl_code code, const char *fmt, ...) FL_PRINTF(3, 4) FL_COLD;

/* The code follows from the errno, and its words are appended: "open '/x': No such file or directory". */
int fl_fail_sys(struct fl_err *err, int sys, const char *fmt, ...) FL_PRINTF(3, 4) FL_COLD;

/* Put words in front of what is there: "<words>: <text>". Keeps code and errno; returns -err->code (or -FL_E_IO with
 * a NULL object, whose code nobody knows). */
int fl_wrap(struct fl_err *err, const char *fmt, ...) FL_PRINTF(2, 3) FL_COLD;

/* Copy a failure to another object and return its negated code. */
int fl_fail_as(struct fl_err *err, const struct fl_err *cause) FL_COLD;

/* What an errno means for a caller. */
enum fl_code fl_code_of_errno(int sys);
