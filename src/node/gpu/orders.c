/* What changes GPUs: one order after the other, by the child for calls. */
#include "node/gpu/in.h"
#include <stdio.h>

/* ---- orders ---- */

/* A change of the MIG mode fails while any client of the driver has the GPU open: our other children release it. */
static bool others_are_gone(struct fl_gpu *gpu)
{
	bool gone = true;

	for (int i = 0; i < GPU_ROLE_COUNT_; i++) {
		if (i == GPU_CALLS || !gpu->kids[i].s)
			continue;
		if (i == GPU_EVENTS)
			gpu_listen_anew(gpu);
		else
			gpu_kid_let_go(&gpu->kids[i]);
		gone = false;
	}
	return gone;
}

bool gpu_order_alone(const struct fl_gpu *gpu)
{
	return gpu->orders && gpu->orders->alone;
}

bool gpu_order_ask(struct fl_gpu *gpu, struct gpu_kid *kid)
{
	struct fl_gpu_order *order = gpu->orders;

	if (!order || (order->alone && !others_are_gone(gpu)))
		return false;
	order->asked = true;
	memcpy(kid->card, order->address, sizeof kid->card);
	gpu_kid_ask(kid, order->ask, fl_str(order->why.code ? order->address : order->text),
		    order->within ? order->within : gpu->pace.card);
	return true;
}

static void end(struct fl_gpu *gpu, const struct fl_err *why)
{
	struct fl_gpu_order *order = gpu->orders;

	gpu->orders = order->next;
	order->gpu = NULL;
	if (why)
		fl_op_fail(&order->op, why->code, "%s", why->text);
	else
		fl_op_end(&order->op, 0);
}

/* The first one, unless that was cancelled meanwhile. One that failed halfway has changed something all the same: the
 * GPU is read again before its order ends. */
void gpu_order_answered(struct fl_gpu *gpu, int r, const struct fl_err *err)
{
	struct fl_gpu_order *order = gpu->orders;

	if (!order || !order->asked)
		return;
	if (r < 0 && order->ask == FL_GPU_ASK_MIG && r != -FL_E_AGAIN) {
		order->why = *err;
		order->ask = FL_GPU_ASK_CARD;
		order->asked = false;
		gpu_wake(gpu);
		return;
	}
	end(gpu, order->why.code ? &order->why : r < 0 ? err : NULL);
}

void gpu_orders_fail(struct fl_gpu *gpu)
{
	const struct fl_err why = { .code = FL_E_RETRY, .text = "the driver is not ready" };

	while (gpu->orders && !(gpu->orders->asked && gpu->kids[GPU_CALLS].asking))
		end(gpu, &why);
}

static void dropped(struct fl_op *op)
{
	struct fl_gpu_order *order = fl_container(op, struct fl_gpu_order, op);

	for (struct fl_gpu_order **at = order->gpu ? &order->gpu->orders : NULL; at && *at; at = &(*at)->next)
		if (*at == order) {
			*at = order->next;
			return;
		}
}

void fl_gpu_order(struct fl_gpu *gpu, struct fl_gpu_order *order)
{
	struct fl_gpu_order **at = &gpu->orders;

	fl_op_begin(&order->op, gpu->io, dropped);
	order->gpu = gpu;
	order->next = NULL;
	order->asked = false;
	while (*at)
		at = &(*at)->next;
	*at = order;
	gpu_wake(gpu);
}

/* ---- compute modes ---- */

struct mode_write {
	struct fl_gpu_order order;
	struct fl_write *write;
	struct fl_err err;
};

static void mode_is_set(struct fl_op *op)
{
	struct mode_write *mode = fl_container(op, struct mode_write, order.op);

	if (op->result < 0)
		fl_write_failed(mode->write, &mode->err);
	else
		fl_write_done(mode->write, NULL);
}

static void start(void *self, struct fl_write *write)
{
	struct fl_gpu *gpu = *(struct fl_gpu **)self;
	struct mode_write *mode = write->held;
	const struct fl_card *card = write->object;
	bool set = write->what == FL_WANT_OBJECT && card->has.compute_mode;

	*mode = (struct mode_write){ .write = write, .order = { .ask = FL_GPU_ASK_MODE } };
	mode->order.op = (struct fl_op){ .done = mode_is_set, .err = &mode->err };
	(void)snprintf(mode->order.address, sizeof mode->order.address, "%.*s", FL_ARG(write->ref.name));
	(void)snprintf(mode->order.text, sizeof mode->order.text, "%s %d", mode->order.address,
		       set ? (int)card->compute_mode : 0);
	fl_gpu_order(gpu, &mode->order);
}

static void cancel(void *self, struct fl_write *write)
{
	(void)self;
	fl_op_cancel(&((struct mode_write *)write->held)->order.op);
}

const struct fl_sink fl_gpu_card_sink = { .start = start, .cancel = cancel, .room = sizeof(struct mode_write),
					  .retry_last = FL_LOCAL_RETRY_LAST };
