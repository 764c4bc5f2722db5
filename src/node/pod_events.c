#include "node/pod_events.h"
#include "node/pod_uid.h"
#include "api/core.h"
#include "api/node.h"
#include "base/log.h"
#include "base/hmap.h"
#include "base/vec.h"
#include "plan/gpu/health.h"
#include "plan/gpu/tell.h"
#include <stdio.h>

/* An Event that waits for the kubelet's word; its texts lie behind it. */
struct waiting {
	struct fl_told_event event;
	uint64_t at;                           /* since when */
};

struct fl_pod_events {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_pod_events_options options;
	struct fl_pod_uids *uids;
	struct waiting *all[FL_POD_EVENTS_MAX];      /* in the order in which they came */
	uint32_t len;
	struct fl_timer patience;              /* until the first one is told all the same */
	struct { uint64_t key, at; } xids[FL_POD_EVENTS_XIDS];   /* of applications, as last told; at 0: none */
};

void fl_pod_events_tell(struct fl_pod_events *events, const struct fl_told_event *told)
{
	fl_pod_uids_tell(events->uids, told);
}

static void tell_pods(struct fl_pod_events *events, const struct fl_told_event *told)
{
	FL_VIEW(view, events->loop);
	struct fl_gpu_tell_facts facts = { .health = told->ref.name };
	struct fl_told_event event = *told;
	struct fl_gpu_pod *pods;
	uint32_t len;

	facts.card = fl_view_get(&view, &fl_card_kind, FL_S(""), told->ref.name);
	facts.healths = fl_view_array(&view, &fl_health_kind, &facts.health_len);
	facts.holders = fl_view_array(&view, &fl_holder_kind, &facts.holder_len);
	pods = fl_view_alloc(&view, facts.holder_len + 1, sizeof *pods);
	if (!pods || view.failed) {
		fl_log(events->options.log, FL_WARN, "no memory to tell Pods of the GPU that they hold",
		       FL_KV_STR("health", told->ref.name));
		return;
	}
	len = fl_gpu_affected_pods(&facts, pods);
	for (uint32_t i = 0; i < len; i++) {
		event.ref = (struct fl_ref){ &fl_pod_kind, pods[i].space, pods[i].name, FL_S("") };
		fl_pod_events_tell(events, &event);
	}
}

static void send_first(struct fl_pod_events *events, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		tell_pods(events, &events->all[i]->event);
		fl_free(events->all[i]);
	}
	events->len -= count;
	memmove(events->all, events->all + count, events->len * sizeof *events->all);
	if (events->len)
		fl_timer_set(events->io, &events->patience, events->all[0]->at + FL_POD_EVENTS_WAIT);
	else
		fl_timer_stop(events->io, &events->patience);
}

static void no_more_patience(struct fl_timer *timer)
{
	struct fl_pod_events *events = fl_container(timer, struct fl_pod_events, patience);
	uint32_t count = 0;

	fl_log(events->options.log, FL_WARN,
	       "kubelet lists no holders, Event goes to the last known ones",
	       FL_KV_ERR(fl_holders_why(events->options.holders)));
	while (count < events->len && fl_now(events->io) >= events->all[count]->at + FL_POD_EVENTS_WAIT)
		count++;
	send_first(events, count);
}

void fl_pod_events_looked(struct fl_pod_events *events)
{
	uint64_t as_of = fl_holders_as_of(events->options.holders);
	uint32_t count = 0;

	while (count < events->len && events->all[count]->at <= as_of)
		count++;
	if (count)
		send_first(events, count);
	if (events->len)
		fl_holders_look(events->options.holders);
}

static struct waiting *copy(const struct fl_told_event *told, uint64_t now)
{
	struct waiting *waiting = fl_alloc(sizeof *waiting + fl_told_event_texts(told));

	if (!waiting)
		return NULL;
	*waiting = (struct waiting){ .event = *told, .at = now };
	fl_told_event_move(&waiting->event, (char *)(waiting + 1));
	return waiting;
}

void fl_pod_events_health(struct fl_pod_events *events, const struct fl_told_event *told)
{
	struct waiting *waiting = events->len < FL_POD_EVENTS_MAX ? copy(told, fl_now(events->io)) : NULL;

	if (!waiting) {
		tell_pods(events, told);
		return;
	}
	events->all[events->len++] = waiting;
	if (events->len == 1)
		fl_timer_set(events->io, &events->patience, waiting->at + FL_POD_EVENTS_WAIT);
	fl_holders_look(events->options.holders);
}

/* ---- XIDs of applications ---- */

/* Was the same told a while ago? If not, it is now. */
static bool told_before(struct fl_pod_events *events, const struct fl_card_fault *fault)
{
	static const uint64_t seed[2] = { 0x7869646f66617070u, 0x6c69636174696f6eu };
	uint64_t now = fl_now(events->io), key;
	uint32_t oldest = 0;
	char text[96];
	int len = snprintf(text, sizeof text, "%.*s/%lld/%d/%d", FL_ARG(fault->card), (long long)fault->xid,
			   fault->has.gi ? fault->gi : -1, fault->has.ci ? fault->ci : -1);

	key = fl_siphash13(seed, text, (size_t)len < sizeof text ? (size_t)len : sizeof text - 1);
	for (uint32_t i = 0; i < FL_POD_EVENTS_XIDS; i++) {
		if (events->xids[i].at && events->xids[i].key == key &&
		    now < events->xids[i].at + FL_POD_EVENTS_XID_EVERY)
			return true;
		if (events->xids[i].at < events->xids[oldest].at)
			oldest = i;
	}
	for (uint32_t i = 0; i < FL_POD_EVENTS_XIDS; i++)
		if (events->xids[i].key == key)
			oldest = i;
	events->xids[oldest].key = key;
	events->xids[oldest].at = now ? now : 1;
	return false;
}

/* On the MIG devices that it names, or on the whole GPU: without a GPU instance it names none. */
static void tell_xid(struct fl_pod_events *events, const struct fl_card_fault *fault, const struct fl_card *card,
		     struct fl_told_event *event)
{
	bool any = false;

	for (uint32_t i = 0; card && i < card->partitions.len; i++) {
		if (!fault->has.gi || !fl_gpu_fault_concerns(fault, &card->partitions.at[i]))
			continue;
		event->ref.name = card->partitions.at[i].uuid;
		fl_pod_events_health(events, event);
		any = true;
	}
	if (any)
		return;
	event->ref.name = fault->card;
	fl_pod_events_health(events, event);
}

void fl_pod_events_fault(struct fl_pod_events *events, const struct fl_card_fault *fault)
{
	FL_VIEW(view, events->loop);
	const struct fl_settings *settings = fl_view_get(&view, &fl_settings_kind, FL_S(""), FL_S("settings"));
	const struct fl_card *card = fl_view_get(&view, &fl_card_kind, FL_S(""), fault->card);
	struct fl_told_event event = { .ref.kind = &fl_health_kind, .warning = true, .type = FL_S("Application"),
				       .capability = "events" };
	const struct fl_xid *xid;

	if (!settings || !fl_gpu_tell_is_application(settings, fault) || told_before(events, fault))
		return;
	xid = fl_xid_find(fault->xid);
	event.subject = fault->card;
	event.reason = fl_arena_printf(view.arena, "Xid%lld", (long long)fault->xid);
	event.message = fl_arena_printf(view.arena,
					"XID %lld on GPU %.*s: %s: look at the application of this Pod, or of another "
					"that shares the GPU; the GPU stays healthy",
					(long long)fault->xid,
					FL_ARG(card && card->uuid.len ? card->uuid : fault->card), xid->says);
	if (event.reason.p && event.message.p)
		tell_xid(events, fault, card, &event);
	else
		fl_log(events->options.log, FL_WARN, "no memory to tell Pods of an XID", FL_KV_INT("xid", fault->xid));
}

struct fl_pod_events *fl_pod_events_new(struct fl_io *io, struct fl_loop *loop,
					const struct fl_pod_events_options *options,
					struct fl_err *err)
{
	struct fl_pod_events *events = fl_zalloc(sizeof *events);
	struct fl_pod_uids_options uids = { options->logs, options->tell, options->arg };

	if (!events)
		return fl_null(err, FL_E_NOMEM, "no memory to tell Pods of their GPUs");
	events->uids = fl_pod_uids_new(io, &uids, err);
	if (!events->uids) {
		fl_free(events);
		return NULL;
	}
	events->io = io;
	events->loop = loop;
	events->options = *options;
	events->patience.fire = no_more_patience;
	return events;
}

struct fl_pod_events *fl_pod_events_free(struct fl_pod_events *events)
{
	if (!events)
		return NULL;
	fl_timer_stop(events->io, &events->patience);
	events->uids = fl_pod_uids_free(events->uids);
	for (uint32_t i = 0; i < events->len; i++)
		fl_free(events->all[i]);
	fl_free(events);
	return NULL;
}
