/* err.h - one error object, on the caller's stack.
 *
 * A function that can fail returns 0 (or a count) and on failure a negated enum fl_code. The code decides what the
 * caller does next; the text is for people. The object is written only on failure, so one object serves many calls.
 * NULL: not wanted. Nothing here allocates.
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
	FL_E_CONFLICT,    /* another writer changed it: read again */
	FL_E_DENIED,
	FL_E_TOOBIG,      /* over one of the limits in docs/LIMITS.md */
	FL_E_AGAIN,       /* nothing available now: wait for readiness */
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

#define FL_ERR_TEXT 240   /* a sentence: what failed, why, what to do; it lies on the stack */

struct fl_err {
	enum fl_code code;
	int sys;                  /* the errno behind it, or 0 */
	char text[FL_ERR_TEXT];   /* cut, never overrun; always terminated */
};

#define FL_MUSTUSE __attribute__((warn_unused_result))
#define FL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define FL_COLD __attribute__((cold))   /* rarely called: the compiler moves the path to it out of the way */

/* Each returns -code, so that a failure is one return statement. */
int fl_fail(struct fl_err *err, enum fl_code code, const char *fmt, ...) FL_PRINTF(3, 4) FL_COLD;
/* The same, for a function that returns a pointer. */
#define fl_null(...) ((void)fl_fail(__VA_ARGS__), NULL)

/* The code follows from the errno, whose text is appended: "open '/x': No such file or directory". */
int fl_fail_sys(struct fl_err *err, int sys, const char *fmt, ...) FL_PRINTF(3, 4) FL_COLD;

/* Put a text in front of the error's: "<new>: <text>". Keeps code and errno; returns -err->code (-FL_E_IO with a NULL
 * object, which has no code). */
int fl_wrap(struct fl_err *err, const char *fmt, ...) FL_PRINTF(2, 3) FL_COLD;

/* Copy a failure to another object and return its negated code. */
int fl_fail_as(struct fl_err *err, const struct fl_err *cause) FL_COLD;

/* What an errno means for a caller. */
enum fl_code fl_code_of_errno(int sys);
