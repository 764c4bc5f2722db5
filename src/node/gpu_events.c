#include "node/gpu_events.h"
#include "node/gpu_read.h"
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

static void tell(struct fl_gpu_events *events, const struct fl_gpu_event *event, int64_t count)
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
		tell(events, &event, 1);
}

/* ---- registering ---- */

/* A new set with all that can be had. true: somebody reports. */
static bool enrol(struct fl_gpu_events *events)
{
	const struct fl_nv *nv = events->nv;
	bool any = false;

	if (events->set)
		(void)FL_NV(nv, event_set_free, events->set);
	events->set = NULL;
	if (FL_NV(nv, event_set_create, &events->set) != FL_NV_SUCCESS) {
		events->set = NULL;
		return false;
	}
	for (uint32_t i = 0; i < events->len; i++) {
		unsigned long long types = 0;

		events->at[i].reports = fl_gpu_handle(nv, fl_str(events->at[i].card), &events->at[i].device) ==
						FL_NV_SUCCESS &&
					FL_NV(nv, event_types, events->at[i].device, &types) == FL_NV_SUCCESS &&
					(types & WANTED_EVENTS) &&
					FL_NV(nv, event_register, events->at[i].device, types & WANTED_EVENTS,
					      events->set) == FL_NV_SUCCESS;
		any |= events->at[i].reports;
	}
	return any;
}

static void failed(struct fl_gpu_events *events, int code)
{
	enum fl_nv_meaning meaning = fl_nv_means(code);

	tell_changed(events, "");
	if (meaning == FL_NV_IS_NO_DRIVER || meaning == FL_NV_IS_REPLACED) {
		events->ended(events);
		return;
	}
	events->deaf = true;
	fl_timer_set(events->io, &events->timer, fl_clock(events->io) + events->delay);
	events->delay = events->delay ? events->delay * 2 : FL_GPU_EVENTS_RETRY_FIRST;
	if (events->delay > FL_GPU_EVENTS_RETRY_LAST)
		events->delay = FL_GPU_EVENTS_RETRY_LAST;
}

/* How long the driver may keep us: what is to be sent must be sent. */
static uint32_t patience(const struct fl_gpu_events *events)
{
	uint64_t next = fl_gpu_storm_next(&events->storm), now = fl_clock(events->io);

	if (events->serve->out.len)
		return FLUSH_MS;
	if (next == FL_NEVER)
		return WAIT_MS;
	return next <= now ? 0 : (uint32_t)((next - now) / FL_NS_PER_MS) + 1;
}

/* One wait, then the loop has its turn. */
static void wait_once(struct fl_timer *timer)
{
	struct fl_gpu_events *events = fl_container(timer, struct fl_gpu_events, timer);
	struct fl_nv_event told = { .gi = FL_NV_NO_INSTANCE, .ci = FL_NV_NO_INSTANCE };
	struct fl_gpu_event event;
	int64_t count;
	int code;

	if (events->deaf && !enrol(events)) {
		failed(events, FL_NV_UNKNOWN);
		return;
	}
	if (events->deaf)   /* what was reported while nobody listened shows in a look */
		tell_changed(events, "");
	events->deaf = false;
	code = FL_NV(events->nv, event_wait, events->set, &told, patience(events));
	if (code == FL_NV_SUCCESS) {
		came(events, &told);
	} else if (fl_nv_means(code) != FL_NV_IS_QUIET) {
		failed(events, code);
		return;
	}
	events->delay = 0;
	while ((count = fl_gpu_storm_take(&events->storm, fl_clock(events->io), &event)))
		tell(events, &event, count);
	fl_timer_set(events->io, &events->timer, 0);
}

int fl_gpu_events_start(struct fl_gpu_events *events, struct fl_str cards, struct fl_arena *arena,
			struct fl_str_list *ret, struct fl_err *err)
{
	struct fl_str card;
	bool any;

	fl_gpu_events_stop(events);
	*ret = (struct fl_str_list){ .at = fl_arena_get_n(arena, FL_GPU_CARDS_MAX, sizeof *ret->at) };
	if (!ret->at)
		return fl_fail(err, FL_E_NOMEM, "no memory");
	while (fl_str_split(&cards, ' ', &card))
		if (events->len < FL_GPU_CARDS_MAX && fl_pci_address(card, events->at[events->len].card))
			events->len++;
	events->timer.fire = wait_once;
	any = enrol(events);
	for (uint32_t i = 0; i < events->len; i++)
		if (events->at[i].reports)
			ret->at[ret->len++] = fl_str(events->at[i].card);
	if (any)
		fl_timer_set(events->io, &events->timer, 0);
	return 0;
}

void fl_gpu_events_stop(struct fl_gpu_events *events)
{
	if (events->set)
		(void)FL_NV(events->nv, event_set_free, events->set);
	events->set = NULL;
	fl_timer_stop(events->io, &events->timer);
	events->len = 0;
	events->delay = 0;
	events->deaf = false;
}
