/* The process that the vendor's library lives in. It may hang and crash: others go on. */
#include "node/gpu/child.h"
#include "node/gpu/cuda.h"
#include "node/gpu/events.h"
#include "node/gpu/partition.h"
#include "node/gpu/sample.h"
#include "node/host/driver_root.h"
#include <stdio.h>

struct child {
	struct fl_io *io;
	const struct fl_gpu_child_options *options;
	struct fl_serve serve;
	char library[FL_GPU_PATH_MAX];       /* that is loaded */
	struct fl_nv nv;
	struct fl_gpu_reader reader;
	struct fl_gpu_sampler sampler;
	struct fl_gpu_events events;
	struct fl_arena arena;               /* of one request */
	struct fl_buf out;
};

static int say(struct child *child, const struct fl_bind *bind, const void *object, struct fl_err *err)
{
	struct fl_jw w = FL_JW(&child->out);

	fl_encode(bind, object, &w);
	return fl_buf_check(&child->out, "an answer", err);
}

static int ask_driver(struct child *child, struct fl_str known, struct fl_err *err)
{
	struct fl_gpu_told told = { 0 };
	uint64_t count = 0;
	int r = fl_gpu_read_driver(&child->reader, &child->arena, FL_IN(&told, driver), err);

	(void)fl_str_u64(known, &count);
	if (r >= 0)
		r = fl_gpu_read_list(&child->reader, (uint32_t)(count & UINT32_MAX), &child->arena, &told.cards, err);
	told.has.cards = told.cards.len != 0;
	return r < 0 ? r : say(child, fl_gpu_told_bind(), &told, err);
}

/* A context on the card, when the reading found nothing wrong. What it says is kept in the card. */
static int make_context(struct child *child, struct fl_card *card, struct fl_err *err)
{
	struct fl_str library = fl_str(child->library);
	struct fl_err said = { 0 };
	char uuid[FL_NV_TEXT];
	uint32_t end = library.len;
	int r;

	if (!child->options->cuda || card->answer != FL_CARD_ANSWERS || card->mig ||
	    snprintf(uuid, sizeof uuid, "%.*s", FL_ARG(card->uuid)) >= (int)sizeof uuid)
		return 0;
	while (end && library.p[end - 1] != '/')
		end--;
	r = fl_gpu_cuda_check(fl_str_sub(library, 0, end ? end - 1 : 0), uuid, &said);
	if (r != 0)
		FL_SET(card, cuda, r > 0);
	if (r >= 0)
		return 0;
	FL_SET(card, answer, FL_CARD_FAILS);
	FL_SET(card, message, fl_arena_str(&child->arena, fl_str(said.text)));
	return card->message.p ? 0 : fl_fail(err, FL_E_NOMEM, "no memory");
}

static int ask_card(struct child *child, struct fl_str address, bool check, struct fl_err *err)
{
	struct fl_card card = { 0 };
	int r = fl_gpu_read_card(&child->reader, address, &child->arena, &card, err);

	if (r >= 0 && check)
		r = make_context(child, &card, err);
	return r < 0 ? r : say(child, fl_card_bind(), &card, err);
}

/* "0000:07:00.0 3": the GPU, and what remains of the text. */
static int take_address(struct fl_str *payload, char address[static FL_PCI_ADDRESS], struct fl_err *err)
{
	struct fl_str word = { 0 };

	if (fl_str_split(payload, ' ', &word) && fl_pci_address(word, address))
		return 0;
	return fl_fail(err, FL_E_INVALID, "'%.*s' is not the address of a GPU", FL_ARG(word));
}

static int ask_mode(struct child *child, struct fl_str payload, struct fl_err *err)
{
	char address[FL_PCI_ADDRESS];
	struct fl_nv_device *device = NULL;
	uint64_t mode;
	int code, r = take_address(&payload, address, err);

	if (r < 0)
		return r;
	if (!fl_str_u64(payload, &mode) || mode > 3)
		return fl_fail(err, FL_E_INVALID, "'%.*s' is not a compute mode of a GPU", FL_ARG(payload));
	code = fl_gpu_handle(&child->nv, fl_str(address), &device);
	if (code == FL_NV_SUCCESS)
		code = FL_NV(&child->nv, set_compute_mode, device, (uint32_t)mode);
	if (code != FL_NV_SUCCESS)
		return fl_nv_fail(&child->nv, code, "nvmlDeviceSetComputeMode", err);
	return ask_card(child, fl_str(address), false, err);
}

static int ask_mig(struct child *child, struct fl_str payload, struct fl_err *err)
{
	char address[FL_PCI_ADDRESS];
	int r = take_address(&payload, address, err);

	if (r == 0)
		r = fl_gpu_partition(&child->reader, fl_str(address), payload, err);
	return r < 0 ? r : ask_card(child, fl_str(address), false, err);
}

static int ask_links(struct child *child, struct fl_str cards, struct fl_err *err)
{
	struct fl_str_list list = { .at = fl_arena_get_n(&child->arena, FL_GPU_CARDS_MAX, sizeof *list.at) };
	struct fl_gpu_told told = { 0 };
	struct fl_str card;
	int r;

	if (!list.at)
		return fl_fail(err, FL_E_NOMEM, "no memory");
	while (fl_str_split(&cards, ' ', &card))
		if (card.len && list.len < FL_GPU_CARDS_MAX)
			list.at[list.len++] = card;
	r = fl_gpu_read_links(&child->reader, &list, &child->arena, &told, err);
	return r < 0 ? r : say(child, fl_gpu_told_bind(), &told, err);
}

static int ask_events(struct child *child, struct fl_str cards, struct fl_err *err)
{
	struct fl_gpu_told told = { 0 };
	int r = fl_gpu_events_start(&child->events, cards, &child->arena, &told, err);

	return r < 0 ? r : say(child, fl_gpu_told_bind(), &told, err);
}

/* "0000:07:00.0 ff3" */
static int ask_sample(struct child *child, struct fl_str payload, struct fl_err *err)
{
	char address[FL_PCI_ADDRESS];
	struct fl_gpu_sample sample = { 0 };
	struct fl_dcgm_set wanted;
	struct fl_str word = { 0 };
	int r;

	if (!fl_str_split(&payload, ' ', &word) || !fl_pci_address(word, address) || !fl_gpu_take_set(payload, &wanted))
		return fl_fail(err, FL_E_INVALID, "'%.*s' is not what can be sampled of a GPU", FL_ARG(payload));
	r = fl_gpu_sample_card(&child->sampler, fl_str(address), &wanted, &child->arena, &sample, err);
	return r < 0 ? r : say(child, fl_gpu_sample_bind(), &sample, err);
}

/* The library that the request begins with, unless there is one already. */
static int load(struct child *child, struct fl_str *payload, struct fl_err *err)
{
	struct fl_str library;

	if (!fl_str_split(payload, '\n', &library) || !library.len || library.len >= sizeof child->library)
		return fl_fail(err, FL_E_INVALID, "the request does not name the driver's library");
	if (!child->library[0])
		(void)snprintf(child->library, sizeof child->library, "%.*s", FL_ARG(library));
	return fl_nv_open(&child->nv, child->library, err);
}

static int do_ask(struct child *child, uint16_t kind, struct fl_str payload, struct fl_err *err)
{
	char address[FL_PCI_ADDRESS];
	int r = load(child, &payload, err);

	if (r < 0)
		return r;
	switch ((enum fl_gpu_ask)kind) {
	case FL_GPU_ASK_DRIVER: return ask_driver(child, payload, err);
	case FL_GPU_ASK_CARD:
	case FL_GPU_ASK_CHECK:
		if (!fl_pci_address(payload, address))
			return fl_fail(err, FL_E_INVALID, "'%.*s' is not the address of a GPU", FL_ARG(payload));
		return ask_card(child, fl_str(address), kind == FL_GPU_ASK_CHECK, err);
	case FL_GPU_ASK_LINKS: return ask_links(child, payload, err);
	case FL_GPU_ASK_EVENTS: return ask_events(child, payload, err);
	case FL_GPU_ASK_MODE: return ask_mode(child, payload, err);
	case FL_GPU_ASK_SAMPLE: return ask_sample(child, payload, err);
	case FL_GPU_ASK_MIG: return ask_mig(child, payload, err);
	case FL_GPU_ASK_COUNT_: break;
	}
	return fl_fail(err, FL_E_UNSUPPORTED, "no such request");
}

static void asked(struct fl_serve *serve, uint32_t id, uint16_t kind, struct fl_str payload)
{
	struct child *child = fl_container(serve, struct child, serve);
	struct fl_err err = { 0 };
	int r;

	fl_buf_clear(&child->out);
	fl_arena_reset(&child->arena);
	r = do_ask(child, kind, payload, &err);
	if (r >= 0) {
		fl_serve_reply(serve, id, fl_buf_view(&child->out));
		return;
	}
	if (r == -FL_E_NOTFOUND || r == -FL_E_UNSUPPORTED) {
		/* Nothing to talk to: hold on to none of it, or it could not be taken away. */
		fl_gpu_events_stop(&child->events);
		fl_gpu_sampler_free(&child->sampler);
		fl_nv_close(&child->nv);
		fl_gpu_reader_free(&child->reader);
		child->library[0] = '\0';
	}
	fl_serve_refuse(serve, id, (enum fl_code)-r, err.text);
}

static void parent_ended(struct fl_serve *serve)
{
	fl_io_stop(fl_container(serve, struct child, serve)->io);
}

static void driver_ended(struct fl_gpu_events *events)
{
	fl_io_stop(events->io);
}

int fl_gpu_child_run(struct fl_io *io, const struct fl_gpu_child_options *options, struct fl_err *err)
{
	struct child child = {
		.io = io, .options = options, .out = FL_BUF(FL_FRAME_MAX),
		.serve = { .request = asked, .ended = parent_ended },
	};
	int r;

	child.reader = (struct fl_gpu_reader){ .nv = &child.nv, .fs = fl_io_fs(io), .proc = options->proc };
	child.sampler = (struct fl_gpu_sampler){ .io = io, .nv = &child.nv };
	child.events = (struct fl_gpu_events){ .io = io, .serve = &child.serve, .nv = &child.nv,
					       .ended = driver_ended };
	r = fl_serve_start(io, &child.serve, FL_SERVE_FD, err);
	if (r >= 0)
		r = fl_io_run(io, err);
	fl_gpu_events_stop(&child.events);
	fl_serve_stop(&child.serve);
	fl_gpu_sampler_free(&child.sampler);
	fl_nv_close(&child.nv);
	fl_gpu_reader_free(&child.reader);
	fl_arena_free(&child.arena);
	fl_buf_free(&child.out);
	return r;
}
