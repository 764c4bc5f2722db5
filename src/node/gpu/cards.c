/* What is told of cards, of their faults and of the driver: objects for the caches, made of what is there and what is
 * new. No copies are kept here. */
#include "node/gpu/in.h"
#include "plan/gpu/health.h"
#include <stdio.h>

#define KEEP(card, old, member) ((card)->member = (old)->member, (card)->has.member = (old)->has.member)

/* What is told a second time in other words would make a card at rest change. */
static void set_text(struct fl_card *card, const char *text)
{
	FL_SET_TEXT(card, message, fl_str(text));
}

static int set_bus(struct fl_gpu *gpu, struct fl_card *card, const struct fl_pci_card *bus)
{
	FL_SET(card, vendor, fl_str(bus->vendor));
	FL_SET(card, device, fl_str(bus->device));
	FL_SET(card, pci_class, fl_str(bus->class));
	FL_UNSET(card, numa);
	FL_UNSET(card, pcie_width);
	FL_UNSET(card, pcie_width_max);
	if (bus->width)
		FL_SET(card, pcie_width, bus->width);
	if (bus->width_max)
		FL_SET(card, pcie_width_max, bus->width_max);
	FL_UNSET(card, dri);
	FL_UNSET(card, vgpu);
	if (bus->vgpu)
		FL_SET(card, vgpu, true);
	FL_SET_TEXT(card, vgpu_version, fl_str(bus->vgpu_version));
	FL_SET_TEXT(card, vgpu_branch, fl_str(bus->vgpu_branch));
	FL_SET_TEXT(card, bound, fl_str(bus->bound));
	if (bus->numa >= 0)
		FL_SET(card, numa, bus->numa);
	FL_SET_TEXT(card, bus, fl_str(bus->path));
	if (!bus->dri_len)
		return 0;
	if (!FL_ELEMENTS(card, &gpu->arena, dri, bus->dri_len))
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < bus->dri_len; i++)
		card->dri.at[i] = fl_str(bus->dri[i]);
	return 0;
}

/* What the bus and we say of it, which the driver's answer does not hold. */
static void keep_ours(struct fl_card *card, const struct fl_card *old)
{
	KEEP(card, old, vendor);
	KEEP(card, old, device);
	KEEP(card, old, pci_class);
	KEEP(card, old, bound);
	KEEP(card, old, numa);
	KEEP(card, old, bus);
	KEEP(card, old, pcie_width);
	KEEP(card, old, pcie_width_max);
	KEEP(card, old, dri);
	KEEP(card, old, vgpu);
	KEEP(card, old, vgpu_version);
	KEEP(card, old, vgpu_branch);
	KEEP(card, old, links);
}

/* The names of a card's faults: a view does not outlive a change. */
static uint32_t faults_of(struct fl_gpu *gpu, struct fl_str address, struct fl_str names[FL_GPU_FAULTS_MAX])
{
	struct fl_view view = fl_loop_view(gpu->loop, &gpu->arena);
	struct fl_each each = fl_view_all(&view, &fl_card_fault_kind);
	const struct fl_card_fault *fault;
	uint32_t len = 0;

	while (gpu->faults && (fault = fl_each_next(&each)) && len < FL_GPU_FAULTS_MAX)
		if (fl_str_eq(fault->card, address))
			names[len++] = fault->meta.name;
	return len;
}

/* A look that began before a fault was told says nothing of it. Without memory the look counts for less. */
static void count_clean_for_faults(struct fl_gpu *gpu, struct fl_str address, uint64_t asked_at)
{
	struct fl_view view = fl_loop_view(gpu->loop, &gpu->arena);
	struct fl_str names[FL_GPU_FAULTS_MAX];
	uint32_t len = faults_of(gpu, address, names);

	for (uint32_t i = 0; i < len; i++) {
		const struct fl_card_fault *old = fl_view_get(&view, &fl_card_fault_kind, FL_S(""), names[i]);
		struct fl_card_fault put;

		if (!old || old->clean >= FL_CARD_CLEAN_MAX || (uint64_t)old->last >= asked_at)
			continue;
		put = *old;
		FL_SET(&put, clean, old->clean + 1);
		if (fl_feed_put(gpu->faults_feed, &put, NULL) < 0)
			return;
	}
}

/* Was this look a clean one? A look made early because of a report is not counted: it would bring the GPU back
 * sooner. */
static void count_clean(struct fl_gpu *gpu, struct gpu_card *card, const struct gpu_change *change,
			const struct fl_card *old)
{
	const struct fl_card *fresh = change->fresh;
	bool worse = old->has.ecc && fresh->ecc > old->ecc;
	uint64_t now = fl_now(gpu->io);

	if (!fl_gpu_look_is_clean(fresh) || worse) {
		card->clean = 0;
		return;
	}
	if (card->counted_at && now < card->counted_at + gpu->pace.look_soon)
		return;
	card->counted_at = now;
	card->clean += card->clean < FL_CARD_CLEAN_MAX;
	count_clean_for_faults(gpu, fl_str(card->address), change->asked_at);
}

bool gpu_card_rests(struct fl_gpu *gpu, const struct gpu_card *card)
{
	struct fl_view view = fl_loop_view(gpu->loop, &gpu->arena);
	const struct fl_card_fault *fault;

	if (card->answer != FL_CARD_ANSWERS || card->clean < FL_CARD_CLEAN_MAX)
		return false;
	fl_view_each (fault, &view, &fl_card_fault_kind)
		if (gpu->faults && fault->clean < FL_CARD_CLEAN_MAX && fl_str_eq(fault->card, fl_str(card->address)))
			return false;
	return true;
}

int gpu_put_card(struct fl_gpu *gpu, struct gpu_card *card, const struct gpu_change *change)
{
	static const struct fl_card none = { 0 };
	struct fl_view view = fl_loop_view(gpu->loop, &gpu->arena);
	const struct fl_card *old = fl_view_get(&view, &fl_card_kind, FL_S(""), fl_str(card->address));
	const char *message = change->message;
	char text[FL_ERR_TEXT];
	struct fl_card put;

	if (view.failed)
		return -FL_E_NOMEM;
	if (!old)
		old = &none;
	/* What answers no more is what it was: holders know it by its UUID. */
	put = change->fresh && (change->fresh->answer == FL_CARD_ANSWERS || !old->has.uuid) ? *change->fresh : *old;
	if (change->fresh) {
		count_clean(gpu, card, change, old);
		(void)snprintf(text, sizeof text, "%.*s", FL_ARG(change->fresh->message));
		message = text;
	} else if (!message && card->answer == old->answer) {
		(void)snprintf(text, sizeof text, "%.*s", FL_ARG(old->message));
		message = text;
	}
	keep_ours(&put, old);
	if (!put.has.cuda || !change->fresh)
		KEEP(&put, old, cuda);
	if (change->miscomputes)
		FL_SET(&put, cuda, false);
	if (change->bus && set_bus(gpu, &put, change->bus) < 0)
		return -FL_E_NOMEM;
	if (change->links)
		FL_SET(&put, links, change->links->links);
	FL_SET(FL_IN(&put, meta), name, fl_str(card->address));
	FL_SET(&put, answer, card->answer);
	FL_SET(&put, events, card->reports);
	FL_SET(&put, clean, card->clean);
	set_text(&put, message);
	return fl_feed_put(gpu->cards_feed, &put, NULL);
}

/* ---- faults ---- */

void gpu_drop_card(struct fl_gpu *gpu, struct fl_str address)
{
	struct fl_str names[FL_GPU_FAULTS_MAX];
	uint32_t len = faults_of(gpu, address, names);

	for (uint32_t i = 0; i < len; i++) {
		fl_feed_gone(gpu->faults_feed, FL_S(""), names[i]);
		gpu->faults -= gpu->faults > 0;
	}
	fl_feed_gone(gpu->cards_feed, FL_S(""), address);
}

/* The card's own count of clean looks goes on: whether a report counts against it, and against which part, is a plan's
 * to say. -FL_E_NOMEM: nothing was told of it; the card is looked at now. */
static int put_fault(struct fl_gpu *gpu, struct fl_card_fault *fault)
{
	FL_AUTO(fl_buf) struct fl_buf name = FL_BUF(FL_RUN_NAME);
	struct gpu_card *card = gpu_card(gpu, fault->card);
	struct fl_view view = fl_loop_view(gpu->loop, &gpu->arena);
	const struct fl_card_fault *old;
	int r;

	if (card) {
		card->hash = 0;
		card->look_at = 0;
	}
	fl_gpu_fault_name(fault, &name);
	old = fl_view_get(&view, &fl_card_fault_kind, FL_S(""), fl_buf_view(&name));
	if (view.failed || name.failed)
		return -FL_E_NOMEM;
	if (!old && gpu->faults >= FL_GPU_FAULTS_MAX) {
		fl_log(gpu->options.log, FL_WARN, "fault dropped, too many",
		       FL_KV_STR("fault", fl_buf_view(&name)));
		if (card)
			card->clean = 0;   /* nothing else will say that it was not well; told with the next look */
		return 0;
	}
	FL_SET(FL_IN(fault, meta), name, fl_buf_view(&name));
	FL_SET(fault, count, fault->count + (old ? old->count : 0));
	FL_SET(fault, last, (int64_t)fl_now(gpu->io));
	FL_SET(fault, clean, 0);
	r = fl_feed_put(gpu->faults_feed, fault, NULL);
	gpu->faults += r >= 0 && !old;
	return r;
}

static int take_fault(struct fl_gpu *gpu, struct fl_str payload)
{
	struct fl_card_fault fault, fresh;
	struct fl_err err = { 0 };
	int r = fl_gpu_take_fault(payload, &gpu->arena, &fault, &err);

	if (r < 0 && r != -FL_E_NOMEM) {
		fl_log(gpu->options.log, FL_WARN, "invalid message from a GPU child", FL_KV_ERR(&err));
		return 0;
	}
	fresh = fault;   /* what is told has those of before in its count */
	if (r == 0)
		r = put_fault(gpu, &fault);
	if (r == 0)
		gpu_count_fault(gpu, &fresh);
	if (r == 0 && gpu->options.reported)
		gpu->options.reported(gpu->options.arg, &fresh);
	return r;
}

/* It is told once, and by nobody else: what has no memory now is kept as it came. */
static void keep_fault(struct fl_gpu *gpu, struct fl_str payload)
{
	struct gpu_late *late = &gpu->late[gpu->late_len];

	if (gpu->late_len == FL_LEN(gpu->late) || payload.len > sizeof late->bytes) {
		fl_log(gpu->options.log, FL_ERROR, "fault dropped, no memory",
		       FL_KV_STR("fault", fl_str_sub(payload, 0, FL_GPU_LATE_BYTES)));
		return;
	}
	memcpy(late->bytes, payload.p, payload.len);
	late->len = payload.len;
	gpu->late_len++;
	gpu->late_at = fl_now(gpu->io) + gpu->pace.look_soon;
}

void gpu_tell_late(struct fl_gpu *gpu)
{
	uint32_t told = 0;

	if (!gpu->late_len || fl_now(gpu->io) < gpu->late_at)
		return;
	while (told < gpu->late_len &&
	       take_fault(gpu, (struct fl_str){ gpu->late[told].bytes, gpu->late[told].len }) >= 0)
		told++;
	gpu->late_len -= told;
	memmove(gpu->late, gpu->late + told, gpu->late_len * sizeof *gpu->late);
	gpu->late_at = fl_now(gpu->io) + gpu->pace.look_soon;
}

void gpu_event(void *kid_, uint16_t kind, struct fl_str payload)
{
	struct gpu_kid *kid = kid_;
	struct fl_gpu *gpu = kid->gpu;

	fl_arena_reset(&gpu->arena);
	if (kind == FL_GPU_TELL_CHANGED) {
		fl_vec_each (card, &gpu->cards)
			if (!payload.len || fl_str_eq(fl_str(card->address), payload))
				card->look_at = 0;
	} else if (kind == FL_GPU_TELL_LISTENS) {
		gpu_listens(gpu, payload);
	} else if (kind != FL_GPU_TELL_FAULT) {
		fl_log(gpu->options.log, FL_WARN, "unknown message from a GPU child", FL_KV_INT("kind", kind));
	} else if (take_fault(gpu, payload) < 0) {
		keep_fault(gpu, payload);
	}
	fl_arena_reset(&gpu->arena);
	gpu_wake(gpu);
}

/* A plan wants a fault gone: it goes in the next turn, as nothing may end from inside. */
struct going {
	struct fl_timer timer;
	struct fl_write *write;
	struct fl_gpu *gpu;            /* may be freed before a cancel */
	struct fl_io *io;
};

static void goes(struct fl_timer *timer)
{
	struct going *going = fl_container(timer, struct going, timer);
	struct fl_write *write = going->write;
	struct fl_gpu *gpu = going->gpu;
	const struct fl_err refused = { .code = FL_E_UNSUPPORTED, .text = "GPUs report faults; a plan can only "
									  "delete them" };

	if (write->what != FL_WANT_GONE) {
		fl_write_failed(write, &refused);
		return;
	}
	fl_feed_gone(gpu->faults_feed, write->ref.space, write->ref.name);
	gpu->faults -= gpu->faults > 0;
	fl_write_gone(write);
}

static void fault_start(void *self, struct fl_write *write)
{
	struct going *going = write->held;
	struct fl_gpu *gpu = *(struct fl_gpu **)self;

	*going = (struct going){ .timer = { .fire = goes }, .write = write, .gpu = gpu, .io = gpu->io };
	fl_timer_set(gpu->io, &going->timer, 0);
}

static void fault_cancel(void *self, struct fl_write *write)
{
	struct going *going = write->held;

	(void)self;
	fl_timer_stop(going->io, &going->timer);
}

const struct fl_sink fl_gpu_fault_sink = { .start = fault_start, .cancel = fault_cancel,
					   .room = sizeof(struct going) };

/* ---- the driver ---- */

static bool two_versions(const struct fl_gpu_found *f)
{
	return f->version[0] && f->kernel[0] && f->kernel[0] != '?' && strcmp(f->version, f->kernel) != 0;
}

/* What is not supported is refused by its name, with what to do instead. */
static const char *not_for(enum fl_gpu_platform platform)
{
	switch (platform) {
	case FL_GPU_WSL:
		return "this is Linux under Windows (WSL: /dev/dxg or /usr/lib/wsl is there), which has no device "
		       "nodes for its GPU and is not supported: use a Linux host, or NVIDIA's device plugin for this "
		       "node";
	case FL_GPU_TEGRA:
		return "this is a Tegra (Jetson), whose GPU has no NVML and no device nodes of its own and is not "
		       "supported: use NVIDIA's device plugin with --device-discovery-strategy=tegra for this node";
	case FL_GPU_PLAIN:
	case FL_GPU_PLATFORM_COUNT_:
		break;
	}
	return NULL;
}

/* What a child has said, without the child's name. */
static const char *said_of(const struct fl_gpu *gpu)
{
	const char *name = fl_name(&gpu_role_names, GPU_CALLS), *text = gpu->said.text;
	size_t len = strlen(name);

	return strncmp(text, name, len) == 0 && strncmp(text + len, ": ", 2) == 0 ? text + len + 2 : text;
}

/* The driver's own words, and what to do. */
static void say_refusal(const struct fl_gpu *gpu, struct fl_buf *why)
{
	const char *remedy = "search the kernel log for NVRM (dmesg); reload the driver, or reboot";

	if (gpu->word == GPU_WORD_NO_DRIVER)
		remedy = "load its kernel module (modprobe nvidia); if that fails, install the driver again";
	else if (gpu->word == GPU_WORD_MISMATCH)
		remedy = "load the kernel module of the library's version, or reboot";
	fl_buf_printf(why, "%s: %s", said_of(gpu), remedy);
}

/* How we get on with it, and words for a person. */
static enum fl_driver_state judge(const struct fl_gpu *gpu, struct fl_buf *why)
{
	const struct fl_gpu_found *f = &gpu->found;
	unsigned stuck = gpu_stuck(gpu);

	if (gpu->pauses) {
		fl_buf_printf(why, "released: %s", gpu->why);
		fl_gpu_users(gpu, why);
		return FL_DRIVER_PAUSED;
	}
	if (not_for(f->platform)) {
		fl_buf_str(why, fl_str(not_for(f->platform)));
		return FL_DRIVER_ABSENT;
	}
	if (!f->library[0]) {
		fl_buf_str(why, FL_S("there is no libnvidia-ml.so.1 under "));
		for (const char *const *root = gpu->options.roots; *root; root++)
			fl_buf_printf(why, "%s%.200s", root == gpu->options.roots ? "" : " or ", *root);
		fl_buf_str(why, FL_S("; install NVIDIA's driver, or name its root (--driver-root)"));
		return FL_DRIVER_ABSENT;
	}
	if (two_versions(f)) {
		fl_buf_printf(why, "the library has version %s, the kernel module %s: load the new module",
			      f->version, f->kernel);
		return FL_DRIVER_MISMATCH;
	}
	if (!f->kernel[0] && (gpu->kernel_seen || !f->node)) {
		fl_buf_str(why, FL_S("the driver's kernel module is not loaded (modprobe nvidia)"));
		return FL_DRIVER_ABSENT;
	}
	if (stuck >= FL_SUPERVISOR_STUCK_MAX) {
		fl_buf_printf(why, "%u processes hang in the driver, so no other is started; if this persists, reboot "
				   "the node",
			      stuck);
		if (!fl_gpu_state(gpu).calls)
			return FL_DRIVER_SICK;
	}
	switch (gpu->word) {
	case GPU_WORD_NO_DRIVER: say_refusal(gpu, why); return FL_DRIVER_ABSENT;
	case GPU_WORD_MISMATCH: say_refusal(gpu, why); return FL_DRIVER_MISMATCH;
	case GPU_WORD_SICK: say_refusal(gpu, why); return FL_DRIVER_SICK;
	case GPU_WORD_NONE:
	case GPU_WORD_FINE: break;
	}
	if (gpu->out && fl_now(gpu->io) >= gpu->out_at + gpu->pace.grace) {
		if (gpu->start_failed)
			fl_buf_printf(why, "its process cannot be started: %s: if a limit is the cause, raise it: "
					   "pids.max of the control group, LimitNOFILE, fs.file-max, memory",
				      said_of(gpu));
		else
			fl_buf_printf(why, "its library hangs or crashes: %s",
				      gpu->said.code ? said_of(gpu) : "see the log");
		return FL_DRIVER_SICK;
	}
	return gpu->ready ? FL_DRIVER_READY : FL_DRIVER_STARTING;
}

void gpu_say_driver(struct fl_gpu *gpu)
{
	static const uint64_t seed[2] = { 0x6472697665727361u, 0x7969736865726521u };
	FL_AUTO(fl_buf) struct fl_buf why = FL_BUF(FL_PLAN_TEXT);
	struct fl_driver driver = { 0 };
	const char *version = gpu->version[0] && gpu->known ? gpu->version : gpu->found.version;
	char digest[FL_PLAN_TEXT + 3 * FL_GPU_PATH_MAX];
	enum fl_driver_state state;
	uint64_t hash;

	if (!gpu->looked)
		return;
	state = judge(gpu, &why);
	if (state == FL_DRIVER_READY && gpu->version[0])
		version = gpu->version;
	(void)snprintf(digest, sizeof digest, "%d %s %d %s %s %s %.*s", (int)state, version, gpu->cuda,
		       gpu->found.library, gpu->found.root, gpu->found.kernel, FL_ARG(fl_buf_view(&why)));
	hash = fl_siphash13(seed, digest, strlen(digest));
	if (hash == gpu->told || why.failed)
		return;
	FL_SET(FL_IN(&driver, meta), name, FL_S("driver"));
	FL_SET(&driver, state, state);
	FL_SET_TEXT(&driver, version, fl_str(version));
	if (gpu->cuda)
		FL_SET(&driver, cuda, gpu->cuda);
	if (gpu->found.library[0]) {
		FL_SET(&driver, library, fl_str(gpu->found.library));
		FL_SET(&driver, root, fl_str(gpu->found.root));
	}
	FL_SET_TEXT(&driver, kernel, fl_str(gpu->found.kernel));
	FL_SET_TEXT(&driver, message, fl_buf_view(&why));
	if (fl_feed_put(gpu->drivers, &driver, NULL) == 0)
		gpu->told = hash;
}
