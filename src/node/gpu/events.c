#include "node/gpu/events.h"
#include "base/backoff.h"
#include "node/gpu/read.h"
#include <stdio.h>

#define ECC_EVENTS (FL_NV_EVENT_DBE | FL_NV_EVENT_RETIREMENT_FAILURE | FL_NV_EVENT_FATAL_POISON)
#define CHANGE_EVENTS (FL_NV_EVENT_MIG_CONFIG | FL_NV_EVENT_RECOVERY_ACTION)
#define WANTED_EVENTS (FL_NV_EVENT_XID | FL_NV_EVENT_UNAVAILABLE | ECC_EVENTS | CHANGE_EVENTS)

/* A wait ends without an event now and then, to see whether the agent is still there; nobody waits for that. */
enum { WAIT_MS = 60 * 1000, FLUSH_MS = 5 };

/* ---- storms ---- */

static bool same(const struct fl_gpu_event *a, const struct fl_gpu_event *b)
{
	return a->what == b->what && a->xid == b->xid && a->gi == b->gi && a->ci == b->ci &&
	       strcmp(a->card, b->card) == 0;
}

bool fl_gpu_storm_add(struct fl_gpu_storm *storm, const struct fl_gpu_event *event, int64_t count, uint64_t now)
{
	size_t place = FL_GPU_STORM;

	for (size_t i = 0; i < FL_GPU_STORM; i++) {
		if (storm->at[i].told && same(&storm->at[i].event, event)) {
			if (!storm->at[i].more && now >= storm->at[i].told + FL_GPU_STORM_EVERY) {
				storm->at[i].told = now;
				return true;
			}
			storm->at[i].more += count;
			return false;
		}
		if (!storm->at[i].more && (place == FL_GPU_STORM || storm->at[i].told < storm->at[place].told))
			place = i;   /* nothing waits there: the one that was quiet longest makes room */
	}
	if (place < FL_GPU_STORM) {
		storm->at[place].event = *event;
		storm->at[place].told = now;
	}
	return true;
}

int64_t fl_gpu_storm_take(struct fl_gpu_storm *storm, uint64_t now, struct fl_gpu_event *ret)
{
	for (size_t i = 0; i < FL_GPU_STORM; i++) {
		int64_t count = storm->at[i].more;

		if (!count || now < storm->at[i].told + FL_GPU_STORM_EVERY)
			continue;
		*ret = storm->at[i].event;
		storm->at[i].told = now;
		storm->at[i].more = 0;
		return count;
	}
	return 0;
}

uint64_t fl_gpu_storm_next(const struct fl_gpu_storm *storm)
{
	uint64_t next = FL_NEVER;

	for (size_t i = 0; i < FL_GPU_STORM; i++)
		if (storm->at[i].more && storm->at[i].told + FL_GPU_STORM_EVERY < next)
			next = storm->at[i].told + FL_GPU_STORM_EVERY;
	return next;
}

/* ---- telling ---- */

static void report_event(struct fl_gpu_events *events, const struct fl_gpu_event *event, int64_t count)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);
	struct fl_jw w = FL_JW(&text);
	struct fl_card_fault fault = { 0 };

	FL_SET(&fault, card, fl_str(event->card));
	FL_SET(&fault, what, event->what);
	if (event->what == FL_FAULT_XID)
		FL_SET(&fault, xid, event->xid);
	if (event->gi >= 0)
		FL_SET(&fault, gi, event->gi);
	if (event->ci >= 0)
		FL_SET(&fault, ci, event->ci);
	FL_SET(&fault, count, count);
	fl_encode(fl_card_fault_bind(), &fault, &w);
	/* The agent is behind, or memory is short: told a little later, together with what comes meanwhile. */
	if (text.failed || fl_serve_event(events->serve, FL_GPU_TELL_FAULT, fl_buf_view(&text)) < 0)
		(void)fl_gpu_storm_add(&events->storm, event, count, fl_clock(events->io));
}

static void tell_changed(struct fl_gpu_events *events, const char *card)
{
	/* A hint: the clock makes up for one that is lost. */
	(void)!fl_serve_event(events->serve, FL_GPU_TELL_CHANGED, fl_str(card));
}

static int32_t instance(uint32_t number)
{
	return number < 255 ? (int32_t)number : -1;   /* FL_NV_NO_INSTANCE, and 0xFF in some older drivers */
}

static void came(struct fl_gpu_events *events, const struct fl_nv_event *told)
{
	struct fl_gpu_event event = { .gi = instance(told->gi), .ci = instance(told->ci) };
	uint64_t now = fl_clock(events->io);

	for (uint32_t i = 0; i < events->len; i++)
		if (events->at[i].device == told->device)
			memcpy(event.card, events->at[i].card, sizeof event.card);
	if (!event.card[0])
		return;
	if (event.gi < 0)
		event.ci = -1;
	if (told->type & CHANGE_EVENTS)
		tell_changed(events, event.card);
	if (told->type & FL_NV_EVENT_XID) {
		event.what = FL_FAULT_XID;
		event.xid = (int64_t)(told->data & INT32_MAX);
	} else if (told->type & ECC_EVENTS) {
		event.what = FL_FAULT_ECC;
	} else if (told->type & FL_NV_EVENT_UNAVAILABLE) {
		event.what = FL_FAULT_UNAVAILABLE;
	} else if ((told->type & FL_NV_EVENT_RECOVERY_ACTION) &&
		   fl_gpu_wants_repair(fl_gpu_recovery(events->nv, told->device))) {
		event.what = FL_FAULT_RECOVERY;
	} else {
		return;
	}
	if (fl_gpu_storm_add(&events->storm, &event, 1, now))
		report_event(events, &event, 1);
}

/* ---- registering ---- */

static void free_set(struct fl_gpu_events *events)
{
	if (events->set)
		(void)FL_NV(events->nv, event_set_free, events->set);
	events->set = NULL;
	for (uint32_t i = 0; i < events->len; i++)
		events->at[i].reports = events->at[i].cannot = false;
}

static bool any_reports(const struct fl_gpu_events *events)
{
	for (uint32_t i = 0; i < events->len; i++)
		if (events->at[i].reports)
			return true;
	return false;
}

/* What it does not have at all. An argument that is refused was fine a moment ago: that may change again. */
static bool never_will(int code)
{
	return fl_nv_means(code) == FL_NV_IS_ABSENT && code != FL_NV_INVALID_ARGUMENT;
}

static bool driver_is_gone(int code)
{
	return fl_nv_means(code) == FL_NV_IS_NO_DRIVER || fl_nv_means(code) == FL_NV_IS_REPLACED;
}

/* One card into the set; `what` is the call that refused it. */
static int register_card(struct fl_gpu_events *events, uint32_t i, const char **what)
{
	const struct fl_nv *nv = events->nv;
	unsigned long long types = 0;
	int code = fl_gpu_handle(nv, fl_str(events->at[i].card), &events->at[i].device);

	*what = "nvmlDeviceGetHandleByPciBusId";
	if (code == FL_NV_SUCCESS) {
		*what = "nvmlDeviceGetSupportedEventTypes";
		code = FL_NV(nv, event_types, events->at[i].device, &types);
	}
	if (code != FL_NV_SUCCESS)
		return code;
	if (!(types & WANTED_EVENTS))
		return FL_NV_NOT_SUPPORTED;
	*what = "nvmlDeviceRegisterEvents";
	return FL_NV(nv, event_register, events->at[i].device, types & WANTED_EVENTS, events->set);
}

/* Those that are not in the set and could be; it is made if there is none, and who is in it stays. What this changed is
 * to be told. The last answer of a driver that is gone, or 0. */
static int enrol(struct fl_gpu_events *events)
{
	const char *what = "nvmlEventSetCreate";
	bool changed = false, again = false;
	char why[FL_ERR_TEXT] = "";
	struct fl_err err;
	int set = FL_NV_SUCCESS;

	if (!events->set && (set = FL_NV(events->nv, event_set_create, &events->set)) != FL_NV_SUCCESS)
		events->set = NULL;
	for (uint32_t i = 0; i < events->len; i++) {
		int code = set;

		if (events->at[i].reports || events->at[i].cannot)
			continue;
		if (set == FL_NV_SUCCESS)
			code = register_card(events, i, &what);
		if (driver_is_gone(code))
			return code;
		events->at[i].reports = code == FL_NV_SUCCESS;
		events->at[i].cannot = never_will(code);
		changed |= events->at[i].reports;
		if (events->at[i].reports || events->at[i].cannot)
			continue;
		again = true;
		(void)fl_nv_fail(events->nv, code, what, &err);
		if (!why[0])
			(void)snprintf(why, sizeof why, "%s: %.200s", events->at[i].card, err.text);
	}
	events->untold |= changed || strcmp(why, events->why) != 0;
	memcpy(events->why, why, sizeof why);
	events->again_at = FL_NEVER;
	if (!again)
		events->again_delay = 0;
	else
		events->again_at = fl_clock(events->io) + fl_backoff(&events->again_delay, FL_GPU_EVENTS_RETRY_FIRST,
								     FL_GPU_EVENTS_RETRY_LAST);
	return 0;
}

/* Who reports, and why others do not: in `room`, and where the cards are. */
static struct fl_gpu_told who_reports(const struct fl_gpu_events *events, struct fl_str room[static FL_GPU_CARDS_MAX])
{
	struct fl_gpu_told told = { .cards.at = room };

	for (uint32_t i = 0; i < events->len; i++)
		if (events->at[i].reports)
			told.cards.at[told.cards.len++] = fl_str(events->at[i].card);
	told.has.cards = true;
	FL_SET_TEXT(&told, why, fl_str(events->why));
	return told;
}

/* Unlike a hint this must arrive: what cannot be told now is told after the next wait, a short one. */
static void tell_listens(struct fl_gpu_events *events)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);
	struct fl_jw w = FL_JW(&text);
	struct fl_str room[FL_GPU_CARDS_MAX];
	struct fl_gpu_told told = who_reports(events, room);

	fl_encode(fl_gpu_told_bind(), &told, &w);
	events->untold = text.failed || fl_serve_event(events->serve, FL_GPU_TELL_LISTENS, fl_buf_view(&text)) < 0;
}

static void failed(struct fl_gpu_events *events, int code)
{
	tell_changed(events, "");
	if (driver_is_gone(code)) {
		events->ended(events);
		return;
	}
	events->deaf = true;
	fl_timer_set(events->io, &events->timer, fl_clock(events->io) + events->delay);
	(void)fl_backoff(&events->delay, FL_GPU_EVENTS_RETRY_FIRST, FL_GPU_EVENTS_RETRY_LAST);
}

/* How long the driver may keep us: what is to be sent must be sent, and who waits to be registered is tried. */
static uint32_t patience(const struct fl_gpu_events *events)
{
	uint64_t next = fl_gpu_storm_next(&events->storm), now = fl_clock(events->io);

	if (events->serve->out.len || events->untold)
		return FLUSH_MS;
	if (events->again_at < next)
		next = events->again_at;
	if (next == FL_NEVER)
		return WAIT_MS;
	return next <= now ? 0 : (uint32_t)((next - now) / FL_NS_PER_MS) + 1;
}

/* All anew after a wait that failed; else those whose time has come. false: the driver is gone. */
static bool enrol_again(struct fl_gpu_events *events)
{
	int code = FL_NV_SUCCESS;

	if (events->deaf)
		free_set(events);
	if (events->deaf || fl_clock(events->io) >= events->again_at)
		code = enrol(events);
	if (code != FL_NV_SUCCESS) {
		failed(events, code);
		return false;
	}
	if (events->deaf)   /* what was reported while nobody listened shows in a look */
		tell_changed(events, "");
	events->untold |= events->deaf;
	events->deaf = false;
	if (events->untold)
		tell_listens(events);
	return true;
}

/* The next wait is in the next turn; without anybody to wait for, when one is tried again or something is to be
 * told. */
static void wait_next(struct fl_gpu_events *events)
{
	uint64_t next = fl_gpu_storm_next(&events->storm);

	if (events->again_at < next)
		next = events->again_at;
	if (events->untold)
		next = fl_clock(events->io) + FLUSH_MS * FL_NS_PER_MS;
	if (any_reports(events))
		next = 0;
	if (next != FL_NEVER)
		fl_timer_set(events->io, &events->timer, next);
}

/* One wait, then the loop has its turn. */
static void wait_once(struct fl_timer *timer)
{
	struct fl_gpu_events *events = fl_container(timer, struct fl_gpu_events, timer);
	struct fl_nv_event told = { .gi = FL_NV_NO_INSTANCE, .ci = FL_NV_NO_INSTANCE };
	struct fl_gpu_event event;
	int64_t count;

	if (!enrol_again(events))
		return;
	if (any_reports(events)) {
		int code = FL_NV(events->nv, event_wait, events->set, &told, patience(events));

		if (code == FL_NV_SUCCESS) {
			came(events, &told);
		} else if (fl_nv_means(code) != FL_NV_IS_QUIET) {
			failed(events, code);
			return;
		}
		events->delay = 0;
	}
	while ((count = fl_gpu_storm_take(&events->storm, fl_clock(events->io), &event)))
		report_event(events, &event, count);
	wait_next(events);
}

int fl_gpu_events_start(struct fl_gpu_events *events, struct fl_str cards, struct fl_arena *arena,
			struct fl_gpu_told *ret, struct fl_err *err)
{
	struct fl_str *room = fl_arena_get_n(arena, FL_GPU_CARDS_MAX, sizeof *room);
	struct fl_str card;
	int code;

	fl_gpu_events_stop(events);
	if (!room)
		return fl_fail(err, FL_E_NOMEM, "no memory");
	while (fl_str_split(&cards, ' ', &card))
		if (events->len < FL_GPU_CARDS_MAX && fl_pci_address(card, events->at[events->len].card))
			events->len++;
	events->timer.fire = wait_once;
	code = enrol(events);
	if (code != FL_NV_SUCCESS)
		return fl_nv_fail(events->nv, code, "events", err);
	*ret = who_reports(events, room);
	events->untold = false;
	wait_next(events);
	return 0;
}

void fl_gpu_events_stop(struct fl_gpu_events *events)
{
	free_set(events);
	fl_timer_stop(events->io, &events->timer);
	events->len = 0;
	events->delay = events->again_delay = 0;
	events->again_at = FL_NEVER;
	events->deaf = events->untold = false;
	events->why[0] = '\0';
}
