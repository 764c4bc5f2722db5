#include "run/memory.h"

struct writing {
	struct fl_op op;
	struct fl_write *write;
};

static void written(struct fl_op *op)
{
	struct fl_write *write = fl_container(op, struct writing, op)->write;

	if (write->what == FL_WANT_GONE)
		fl_write_gone(write);
	else if (write->what == FL_WANT_OBJECT)
		fl_write_done(write, NULL);
	else
		fl_write_failed(write, &(struct fl_err){ .code = FL_E_UNSUPPORTED,
							 .text = "what is in memory only has no items to share" });
}

static void start(void *io, struct fl_write *write)
{
	struct writing *writing = write->held;

	*writing = (struct writing){ .op.done = written, .write = write };
	fl_op_begin(&writing->op, io, NULL);
	fl_op_end(&writing->op, 0);
}

static void cancel(void *io, struct fl_write *write)
{
	(void)io;
	fl_op_cancel(&((struct writing *)write->held)->op);
}

const struct fl_sink fl_memory_sink = { start, cancel, sizeof(struct writing) };
