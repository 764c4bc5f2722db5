/* op.h - what can wait.
 *
 * An operation is a struct fl_op embedded in its caller's own object. The caller fills in what happens at the end and
 * by when, and starts it with a function of its kind (fl_connect, fl_file_read, fl_lookup, ...). Then one of two things
 * happens, never both:
 *   - done() is called, exactly once, from the loop: never from inside the start, so a caller needs no care for
 *     re-entrance. A start that fails at once also tells so through done().
 *   - fl_op_cancel() is called before that: done() is never called, and whatever still goes on below (a worker stuck on
 *     a sick disk) no longer knows of the operation. The object may be freed at once.
 * Inside done() the operation is over: it may be started again, and what contains it may be freed.
 */
#pragma once
#include "base/err.h"
#include "io/timer.h"

struct fl_io;

#define FL_NEVER UINT64_MAX

struct fl_op {
	/* The caller's, set before the start. */
	void (*done)(struct fl_op *op);
	uint64_t deadline;            /* monotonic ns at which it ends with FL_E_TIMEOUT; 0 or FL_NEVER: none */
	struct fl_err *err;           /* where the words of a failure go; NULL: nowhere */

	int64_t result;               /* in done(): what the kind says, >= 0; or a negated enum fl_code */

	/* The loop's. */
	enum { FL_OP_IDLE, FL_OP_PENDING, FL_OP_ENDED } state;
	struct fl_io *io;
	void (*drop)(struct fl_op *op);
	struct fl_timer timer;
	struct fl_op *prev, *next;
};

static inline bool fl_op_busy(const struct fl_op *op)
{
	return op->state != FL_OP_IDLE;
}

/* At once and for good; an idle operation is left alone. */
void fl_op_cancel(struct fl_op *op);

/* For those who provide a kind of operation. Between begin and end the operation is pending; drop() is called when it
 * is cancelled or its deadline passes, and must let go of it without calling anything of the caller. end() and fail()
 * queue done() for the loop. Neither may be called after drop(). */
void fl_op_begin(struct fl_op *op, struct fl_io *io, void (*drop)(struct fl_op *op));
void fl_op_end(struct fl_op *op, int64_t result);
void fl_op_fail(struct fl_op *op, enum fl_code code, const char *fmt, ...) FL_PRINTF(3, 4);
void fl_op_fail_sys(struct fl_op *op, int sys, const char *fmt, ...) FL_PRINTF(3, 4);
