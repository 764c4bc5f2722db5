/* Compute modes: one after the other, by the child for calls. */
#include "node/gpu/in.h"
#include <stdio.h>

bool gpu_mode_ask(struct fl_gpu *gpu, struct gpu_kid *kid)
{
	char text[FL_PCI_ADDRESS + 16];
	struct gpu_mode *mode = gpu->modes;

	if (!mode)
		return false;
	mode->asked = true;
	memcpy(kid->card, mode->address, sizeof kid->card);
	(void)snprintf(text, sizeof text, "%s %d", mode->address, (int)mode->mode);
	gpu_kid_ask(kid, FL_GPU_ASK_MODE, fl_str(text), gpu->pace.card);
	return true;
}

static void end(struct fl_gpu *gpu, const struct fl_err *why)
{
	struct gpu_mode *mode = gpu->modes;

	gpu->modes = mode->next;
	if (why)
		fl_write_failed(mode->write, why);
	else
		fl_write_done(mode->write, NULL);
}

/* The first one, unless that was cancelled meanwhile. */
void gpu_mode_answered(struct fl_gpu *gpu, int r, const struct fl_err *err)
{
	if (gpu->modes && gpu->modes->asked)
		end(gpu, r < 0 ? err : NULL);
}

void gpu_modes_fail(struct fl_gpu *gpu)
{
	const struct fl_err why = { .code = FL_E_RETRY, .text = "the driver is not ready" };

	while (gpu->modes && !(gpu->modes->asked && gpu->kids[GPU_CALLS].asking))
		end(gpu, &why);
}

static void start(void *self, struct fl_write *write)
{
	struct fl_gpu *gpu = *(struct fl_gpu **)self;
	struct gpu_mode *mode = write->held, **at = &gpu->modes;
	const struct fl_card *card = write->object;

	*mode = (struct gpu_mode){ .write = write,
				   .mode = write->what == FL_WANT_OBJECT && card->has.compute_mode ?
						   card->compute_mode : 0 };
	(void)snprintf(mode->address, sizeof mode->address, "%.*s", FL_ARG(write->ref.name));
	while (*at)
		at = &(*at)->next;
	*at = mode;
	gpu_wake(gpu);
}

static void cancel(void *self, struct fl_write *write)
{
	struct fl_gpu *gpu = *(struct fl_gpu **)self;

	for (struct gpu_mode **at = gpu ? &gpu->modes : NULL; at && *at; at = &(*at)->next)
		if (*at == write->held) {
			*at = (*at)->next;
			return;
		}
}

const struct fl_sink fl_gpu_card_sink = { .start = start, .cancel = cancel, .room = sizeof(struct gpu_mode),
					  .retry_last = FL_LOCAL_RETRY_LAST };
