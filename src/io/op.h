/* op.h - asynchronous operations: a result or a cancel, each exactly once.
 *
 * An operation is a struct fl_op embedded in its caller's own object. The caller sets the callback and the deadline,
 * and starts it with a function of its kind (fl_connect, fl_file_read, fl_lookup, ...). Then one of two things happens,
 * never both:
 *   - done() is called exactly once, from the loop: never from inside the start, so a caller need not care about
 *     re-entrance. A start that fails at once reports it through done() too.
 *   - fl_op_cancel() is called before that: done() is never called. Work that still goes on below (a worker stuck on a
 *     hung disk) no longer touches the operation. The object may be freed at once.
 *
 * Inside done() the operation is over: it may be started again, and what contains it may be freed. Operations are done
 * in the order in which they ended.
 *
 *     get->op = (struct fl_op){ .done = got, .deadline = fl_now(io) + 2 * FL_NS_PER_S, .err = &get->err };
 *     fl_connect(io, &get->connect);
 */
#pragma once
#include "base/err.h"
#include "io/timer.h"

struct fl_io;

struct fl_op {
	/* The caller's, set before the start. */
	void (*done)(struct fl_op *op);   /* NULL: nothing depends on its end */
	uint64_t deadline;            /* monotonic ns at which it ends with FL_E_TIMEOUT; 0 or FL_NEVER: none */
	struct fl_err *err;           /* gets the error of a failure; NULL: not wanted */

	int64_t result;               /* in done(): >= 0, as its kind documents; or a negated enum fl_code */

	/* The loop's. Zeroed is idle. */
	enum { FL_OP_IDLE, FL_OP_PENDING, FL_OP_ENDED } state;
	struct fl_io *io;
	void (*drop)(struct fl_op *op);
	void *held;                   /* the kind's: what it waits for */
	struct fl_timer timer;
	struct fl_op *next, **from;   /* in the queue of the ended ones */
};

static inline bool fl_op_busy(const struct fl_op *op)
{
	return op->state != FL_OP_IDLE;
}

/* At once and for good. Does nothing to an idle operation. */
void fl_op_cancel(struct fl_op *op);

/* ---- for those who provide a kind of operation ----
 *
 * begin() comes first, also where the start fails at once. Between begin and end the operation is pending. end() and
 * fail() queue done() for the loop. drop() must not call the caller back. It may be NULL where neither case needs
 * anything. It is called
 *   - while the operation is pending, when it is cancelled or late: it releases all that is held; after it call neither
 *     end() nor fail();
 *   - when it has ended well (state FL_OP_ENDED, result >= 0) and is cancelled before done(): it releases what the
 *     result holds, an fd for example. */
void fl_op_begin(struct fl_op *op, struct fl_io *io, void (*drop)(struct fl_op *op));
void fl_op_end(struct fl_op *op, int64_t result);
void fl_op_fail(struct fl_op *op, enum fl_code code, const char *fmt, ...) FL_PRINTF(3, 4) FL_COLD;
void fl_op_fail_sys(struct fl_op *op, int sys, const char *fmt, ...) FL_PRINTF(3, 4) FL_COLD;
/* One that fails before it has begun anything. The arguments may be the error that op->err points to. */
#define fl_op_refuse(op, io, ...) (fl_op_begin((op), (io), NULL), fl_op_fail((op), __VA_ARGS__))
