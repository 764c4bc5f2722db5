#include "run/doing.h"

static void ended(struct fl_op *op)
{
	struct fl_doing *doing = fl_container(op, struct fl_doing, op);

	if (op->result < 0)
		fl_write_failed(doing->write, &doing->err);
	else if (doing->write->what == FL_WANT_GONE)
		fl_write_gone(doing->write);
	else
		fl_write_done(doing->write, NULL);
}

void fl_doing_begin(struct fl_doing *doing, struct fl_write *write)
{
	*doing = (struct fl_doing){ .op = { .done = ended, .err = &doing->err }, .write = write };
}

void fl_doing_over(struct fl_doing *doing, struct fl_io *io, const struct fl_err *why)
{
	fl_op_begin(&doing->op, io, NULL);
	if (why && why->code)
		fl_op_fail(&doing->op, why->code, "%s", why->text);
	else
		fl_op_end(&doing->op, 0);
}

void fl_doing_cancel(void *self, struct fl_write *write)
{
	struct fl_doing *doing = write->held;

	(void)self;
	fl_op_cancel(&doing->op);
}
