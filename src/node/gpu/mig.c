#include "node/gpu/mig.h"
#include "base/log.h"
#include "node/gpu/in.h"
#include <stdio.h>

/* A change of the mode may reset the GPU, which takes seconds. */
#define FL_GPU_MIG_DEADLINE (60 * FL_NS_PER_S)

struct acting {
	struct fl_gpu_order order;             /* first: its op is what is returned */
	struct fl_write *write;
	struct fl_gpu *gpu;
	struct fl_err err;
};

static bool says_nothing(enum fl_code code)
{
	return code == FL_E_RETRY || code == FL_E_NOMEM || code == FL_E_CLOSED || code == FL_E_TIMEOUT ||
	       code == FL_E_NOTFOUND || code == FL_E_UNSUPPORTED;
}

static void acted(struct fl_op *op)
{
	struct acting *acting = fl_container(op, struct acting, order.op);
	const struct fl_layout *wanted = acting->write->object;
	struct fl_layout now = *wanted;
	bool refused = op->result < 0;

	if (refused && says_nothing(acting->err.code)) {
		fl_write_failed(acting->write, &acting->err);
		return;
	}
	if (refused)
		fl_log(acting->gpu->options.log, FL_WARN, "MIG step refused", FL_KV_TEXT("step", acting->order.text),
		       FL_KV_ERR(&acting->err));
	else
		fl_log(acting->gpu->options.log, FL_INFO, "MIG step done",
		       FL_KV_TEXT("step", acting->order.text));
	FL_SET(FL_IN(&now, meta), name, acting->write->ref.name);
	FL_SET(&now, answered, wanted->turn);
	FL_SET(&now, busy, refused && acting->err.code == FL_E_AGAIN);
	FL_SET_TEXT(&now, refused, fl_str(refused ? acting->err.text : ""));
	FL_SET(&now, tried, (int64_t)fl_now(acting->gpu->io));
	fl_write_done(acting->write, &now);
}

static void put_instance(struct fl_buf *buf, const struct fl_mig_instance *instance, bool computes)
{
	fl_buf_printf(buf, " %.*s@%d", FL_ARG(instance->profile), (int)instance->start);
	for (uint32_t i = 0; computes && i < instance->computes.len; i++)
		fl_buf_printf(buf, "%c%d", i ? ',' : '=', (int)instance->computes.at[i]);
}

/* False: there is nothing to do. */
static bool put_order(struct fl_buf *buf, const struct fl_layout *layout)
{
	switch (layout->step) {
	case FL_MIG_MODE_ON: fl_buf_str(buf, FL_S(" mode 1")); return true;
	case FL_MIG_MODE_OFF: fl_buf_str(buf, FL_S(" mode 0")); return true;
	case FL_MIG_CREATE:
		fl_buf_str(buf, FL_S(" create"));
		put_instance(buf, &layout->at, true);
		return true;
	case FL_MIG_DESTROY:
		fl_buf_str(buf, FL_S(" destroy"));
		put_instance(buf, &layout->at, false);
		for (uint32_t i = 0; i < layout->unused.len; i++)
			put_instance(buf, &layout->unused.at[i], false);
		return true;
	case FL_MIG_REST:
	case FL_MIG_STEP_COUNT_: break;
	}
	return false;
}

/* Something else of the Layout has changed, and the step is done. */
static bool is_answered(struct fl_write *write, const struct fl_layout *layout)
{
	struct fl_view view = fl_loop_view(write->loop, &write->arena);
	const struct fl_layout *is = fl_view_get(&view, &fl_layout_kind, FL_S(""), write->ref.name);

	return is && is->has.answered && is->answered == layout->turn;
}

struct fl_op *fl_gpu_mig_act(void *gpu, struct fl_write *write, struct fl_err *err)
{
	const struct fl_layout *layout = write->object;
	struct acting *acting;
	struct fl_buf buf;

	if (layout->step == FL_MIG_REST || is_answered(write, layout))
		return NULL;
	acting = fl_arena_get(&write->arena, sizeof *acting);
	if (!acting || !*(struct fl_gpu **)gpu) {
		(void)fl_fail(err, FL_E_RETRY, "no memory for a step, or no driver");
		return NULL;
	}
	acting->write = write;
	acting->gpu = *(struct fl_gpu **)gpu;
	acting->order.ask = FL_GPU_ASK_MIG;
	acting->order.within = FL_GPU_MIG_DEADLINE;
	acting->order.alone = layout->step == FL_MIG_MODE_ON || layout->step == FL_MIG_MODE_OFF;
	acting->order.op = (struct fl_op){ .done = acted, .err = &acting->err };
	buf = FL_BUF_IN(acting->order.text);
	(void)snprintf(acting->order.address, sizeof acting->order.address, "%.*s", FL_ARG(write->ref.name));
	fl_buf_str(&buf, write->ref.name);
	(void)put_order(&buf, layout);
	if (fl_buf_check(&buf, "a step", err) < 0)
		return NULL;
	fl_gpu_order(acting->gpu, &acting->order);
	return &acting->order.op;
}
