#include "io/op.h"
#include "base/chain.h"
#include "io/loop.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

static void late(struct fl_timer *timer)
{
	struct fl_op *op = fl_container(timer, struct fl_op, timer);

	if (op->drop)
		op->drop(op);
	fl_op_fail(op, FL_E_TIMEOUT, "deadline passed");
}

void fl_op_begin(struct fl_op *op, struct fl_io *io, void (*drop)(struct fl_op *op))
{
	assert(op->state == FL_OP_IDLE);
	op->state = FL_OP_PENDING;
	op->result = 0;
	op->io = io;
	op->drop = drop;
	op->held = NULL;
	op->timer = (struct fl_timer){ .fire = late };
	if (op->deadline && op->deadline != FL_NEVER)
		fl_timer_set(io, &op->timer, op->deadline);
}

void fl_op_end(struct fl_op *op, int64_t result)
{
	struct fl_io *io = op->io;

	assert(op->state == FL_OP_PENDING);
	fl_timer_stop(io, &op->timer);
	op->state = FL_OP_ENDED;
	op->result = result;
	fl_chain_append(&io->ended_last, op);
}

static void unlink_ended(struct fl_op *op)
{
	*op->from = op->next;
	if (op->next)
		op->next->from = op->from;
	else if (op->io->ended_last == &op->next)
		op->io->ended_last = op->from;
	op->state = FL_OP_IDLE;
}

void fl_op_run(struct fl_op *op)
{
	unlink_ended(op);
	if (op->done)
		op->done(op);
}

void fl_op_cancel(struct fl_op *op)
{
	if (op->state == FL_OP_IDLE)
		return;
	if (op->drop && (op->state == FL_OP_PENDING || op->result >= 0))
		op->drop(op);
	if (op->state == FL_OP_ENDED)
		unlink_ended(op);
	else
		fl_timer_stop(op->io, &op->timer);
	op->state = FL_OP_IDLE;
}

/* The text of a failure, for both functions below. */
static void fail(struct fl_op *op, struct fl_err *err)
{
	if (op->err)
		*op->err = *err;
	fl_op_end(op, -(int64_t)err->code);
}

void fl_op_fail(struct fl_op *op, enum fl_code code, const char *fmt, ...)
{
	struct fl_err err = { .code = code };
	va_list args;

	va_start(args, fmt);
	if (op->err && vsnprintf(err.text, sizeof err.text, fmt, args) < 0)
		err.text[0] = 0;
	va_end(args);
	fail(op, &err);
}

void fl_op_fail_sys(struct fl_op *op, int sys, const char *fmt, ...)
{
	struct fl_err err = { .code = fl_code_of_errno(sys), .sys = sys };
	char words[FL_ERR_TEXT];
	va_list args;

	va_start(args, fmt);
	if (op->err && vsnprintf(words, sizeof words, fmt, args) >= 0)
		(void)fl_fail_sys(&err, sys, "%s", words);
	va_end(args);
	fail(op, &err);
}
