#include "kube/events.h"
#include "base/backoff.h"
#include "base/hmap.h"
#include "base/log.h"
#include "base/units.h"
#include <stdio.h>

#define FL_EVENT_MAX 256                 /* series that are remembered: 1 KiB each; the oldest goes */
#define FL_EVENT_NOTE 1024               /* bytes, as the API server has it */
#define FL_EVENT_TIMEOUT (10 * FL_NS_PER_S)   /* to write one */

/* One Event that was said, and how often since. */
struct series {
	uint64_t hash;             /* of all but the note and the count; 0: the place is free */
	struct fl_str group_version, kind, space, name, uid, version, reason, action, note;
	struct fl_str event;       /* its metadata.name */
	char *texts, *note_text;   /* that they lie in; the note in its own, as it may change until it is sent */
	bool warning, created;
	uint32_t count, written;   /* said; known to the server */
	uint32_t lost;             /* the count of a create whose outcome is unknown; 0: none */
	uint32_t tries;            /* since the server had it last */
	int64_t first, last;       /* us since 1970 */
	uint64_t said, wrote;      /* monotonic ns */
	uint64_t not_before;       /* of one that goes on with another note: when it may be created */
};

/* How many Events one subject has had. */
struct object {
	uint64_t hash, at;
	double tokens;
};

struct fl_events {
	struct fl_kube *kube;
	struct fl_io *io;
	struct fl_events_options options;
	struct series *series;
	struct object *objects;
	uint64_t seed[2];
	double tokens;
	uint64_t filled, dropped, not_before;
	uint32_t unanswered;       /* writes in a row: the server is away */
	struct series *writing;
	struct fl_timer timer;
	struct fl_kube_call call;
	struct fl_err err;
	struct fl_buf body;
	struct fl_family *told, *lost;
};

enum { TOLD, LOST, METRIC_COUNT };
static const struct fl_metric metrics[] = {
	[TOLD] = { "fairlead_events_total", "Events written to the API server.", FL_COUNTER, .labels = { "type" } },
	[LOST] = { "fairlead_events_dropped_total", "Events that were dropped: too many, or refused.", FL_COUNTER,
		   .labels = { "reason" } },
};

static void lose(struct fl_events *events, const char *why)
{
	events->dropped++;
	if (events->lost)
		fl_count(fl_series(events->lost, (struct fl_str[]){ fl_str(why) }), 1);
}

static void forget(struct series *series)
{
	fl_free(series->texts);
	fl_free(series->note_text);
	*series = (struct series){ 0 };
}

/* ---- rates ---- */

static bool take_token(double *tokens, uint64_t *at, uint64_t now, double burst, uint64_t every)
{
	*tokens += (double)(now - *at) / (double)every;
	if (*tokens > burst)
		*tokens = burst;
	*at = now;
	if (*tokens < 1)
		return false;
	*tokens -= 1;
	return true;
}

/* A GPU that is told of again and again leaves the others of its Node, and the Node itself, their own. Places are
 * shared by hash: who finds another there takes over its place. */
static bool subject_may(struct fl_events *events, const struct fl_event_say *say)
{
	uint64_t now = fl_now(events->io), hash = fl_siphash13(events->seed, say->uid.p, say->uid.len) ^
						  fl_siphash13(events->seed, say->name.p, say->name.len) ^
						  3 * fl_siphash13(events->seed, say->subject.p, say->subject.len);
	struct object *object = &events->objects[hash % FL_EVENT_MAX];

	if (object->hash != hash)
		*object = (struct object){ .hash = hash, .at = now, .tokens = FL_EVENT_BURST };
	return take_token(&object->tokens, &object->at, now, FL_EVENT_BURST, FL_EVENT_EVERY);
}

/* ---- what is written ---- */

static void put_event(struct fl_events *events, const struct series *series)
{
	struct fl_event event = { 0 };
	struct fl_jw w = FL_JW(&events->body);
	struct fl_object_ref *about;

	FL_SET(FL_IN(&event, meta), name, series->event);
	FL_SET(&event.meta, space, series->space.len ? series->space :
				   fl_str(events->options.space ? events->options.space : "default"));
	FL_SET(&event, event_time, series->first);
	FL_SET(&event, reporting_controller, fl_str(events->options.controller));
	FL_SET(&event, reporting_instance, fl_str(events->options.instance));
	FL_SET(&event, action, series->action);
	FL_SET(&event, reason, series->reason);
	FL_SET(&event, note, series->note);
	FL_SET(&event, type, series->warning ? FL_S("Warning") : FL_S("Normal"));
	about = FL_IN(&event, regarding);
	FL_SET(about, api_version, series->group_version);
	FL_SET(about, kind, series->kind);
	FL_SET(about, space, series->space);
	FL_SET(about, name, series->name);
	FL_SET(about, uid, series->uid);
	FL_SET(about, resource_version, series->version);
	if (series->count > 1) {
		FL_SET(FL_IN(&event, series), count, (int32_t)series->count);
		FL_SET(&event.series, last_observed_time, series->last);
	}
	fl_kind_encode(&fl_event_kind, &event, &w);
}

static void put_series(struct fl_events *events, const struct series *series)
{
	struct fl_event_series grown = { 0 };
	struct fl_jw w = FL_JW(&events->body);

	FL_SET(&grown, count, (int32_t)series->count);
	FL_SET(&grown, last_observed_time, series->last);
	fl_jw_obj(&w);
	fl_jw_key(&w, FL_S("series"));
	fl_encode(fl_event_series_bind(), &grown, &w);
	fl_jw_end_obj(&w);
}

static void write_next(struct fl_events *events);

/* The server has it. */
static void put_down(struct fl_events *events, struct series *series)
{
	if (events->told)
		fl_count(fl_series(events->told,
				   (struct fl_str[]){ series->warning ? FL_S("Warning") : FL_S("Normal") }),
			 1);
	series->created = true;
	series->tries = 0;
	series->lost = 0;
}

static bool is_for_later(int64_t result)
{
	return result == -FL_E_RETRY || result == -FL_E_TIMEOUT || result == -FL_E_CLOSED || result == -FL_E_NOMEM;
}

/* Whether the server has it is not known, or it has not. */
static void write_again(struct fl_events *events, struct series *series, uint64_t after)
{
	if (!series->created && !series->lost)
		series->lost = series->written;
	series->written = 0;
	series->tries++;
	events->not_before = series->wrote + after;
}

/* The server is away, broken or too busy: that is no word on this Event. 0: it has answered. */
static uint64_t wait_for_server(struct fl_events *events, int64_t result)
{
	uint64_t delay, chance = 0;

	if (!is_for_later(result)) {
		events->unanswered = 0;
		return 0;
	}
	delay = fl_backoff_after(++events->unanswered, FL_EVENT_RETRY_FIRST, FL_EVENT_RETRY_LAST);
	if (delay < events->call.answer.retry_after)
		delay = events->call.answer.retry_after;
	return fl_random(events->io, &chance, sizeof chance, NULL) < 0 ? delay : fl_spread(delay, chance);
}

static void written(struct fl_op *op)
{
	struct fl_events *events = fl_container(op, struct fl_events, call.op);
	struct series *series = events->writing;
	uint64_t wait = wait_for_server(events, op->result);

	events->writing = NULL;
	series->wrote = fl_now(events->io);
	if (wait && series->wrote < series->said + FL_EVENT_KEPT) {
		write_again(events, series, wait);
	} else if (op->result >= 0) {
		put_down(events, series);
	} else if (op->result == -FL_E_EXISTS && series->lost) {
		/* The create that got no answer had succeeded: the server has the count of that one. */
		series->written = series->lost;
		put_down(events, series);
	} else if (op->result == -FL_E_NOTFOUND && series->created) {
		series->created = false;   /* it has outlived its hour: the series begins anew */
		series->written = 0;
	} else {
		fl_log(events->options.log, FL_WARN, "Event not written", FL_KV_STR("reason", series->reason),
		       FL_KV_STR("about", series->name), FL_KV_ERR(&events->err));
		lose(events, "refused");
		forget(series);
	}
	write_next(events);
}

static void write_it(struct fl_events *events, struct series *series)
{
	fl_buf_clear(&events->body);
	if (series->created)
		put_series(events, series);
	else
		put_event(events, series);
	series->written = series->count;
	events->writing = series;
	events->call = (struct fl_kube_call){
		.op = { .done = written, .err = &events->err, .deadline = fl_now(events->io) + FL_EVENT_TIMEOUT },
		.verb = series->created ? FL_KUBE_MERGE : FL_KUBE_CREATE, .kind = &fl_event_kind,
		.space = series->space.len ? series->space : fl_str(events->options.space ?
				events->options.space : "default"),
		.name = series->event, .body = fl_buf_view(&events->body), .manager = events->options.controller,
	};
	fl_kube_start(events->kube, &events->call);
}

/* ---- what is due ---- */

/* When is it to be written? FL_NEVER: nothing new is known of it. */
static uint64_t due(const struct series *series)
{
	if (series->count == series->written)
		return FL_NEVER;
	if (!series->created)
		return series->not_before;
	return series->tries ? 0 : series->wrote + FL_EVENT_SERIES_EVERY;
}

/* One that the server fails on each time does not hold up the others for its hour. */
static bool goes_before(const struct series *a, const struct series *b)
{
	return a->tries != b->tries ? a->tries < b->tries : a->said < b->said;
}

static void write_next(struct fl_events *events)
{
	uint64_t now = fl_now(events->io), next = FL_NEVER;
	struct series *first = NULL;

	for (struct series *s = events->series; s < events->series + FL_EVENT_MAX; s++) {
		uint64_t end = s->said + FL_EVENT_SERIES_END, at;

		if (!s->hash || s == events->writing)
			continue;
		at = due(s);
		if (now >= end && at == FL_NEVER) {
			forget(s);
			continue;
		}
		if (now >= end && s->created)
			at = now;   /* the last word of a series */
		if (at <= now && (!first || goes_before(s, first)))
			first = s;
		next = at < next ? at : next;
		next = end < next && end > now ? end : next;
	}
	if (events->writing)
		return;
	if (first && now < events->not_before)
		next = events->not_before;
	else if (first && !take_token(&events->tokens, &events->filled, now, FL_EVENT_RATE_BURST,
				      FL_NS_PER_S / FL_EVENT_RATE))
		next = now + FL_NS_PER_S / FL_EVENT_RATE;
	else if (first)
		write_it(events, first);
	fl_timer_set(events->io, &events->timer, next);
}

static void woken(struct fl_timer *timer)
{
	write_next(fl_container(timer, struct fl_events, timer));
}

/* ---- saying ---- */

static struct series *place_for(struct fl_events *events, uint64_t hash)
{
	struct series *oldest = NULL;

	for (struct series *s = events->series; s < events->series + FL_EVENT_MAX; s++) {
		if (s->hash == hash || !s->hash)
			return s;
		if (s != events->writing && s->count == s->written && (!oldest || s->said < oldest->said))
			oldest = s;
	}
	if (oldest)
		forget(oldest);
	return oldest;
}

static struct series *find_series(struct fl_events *events, uint64_t hash)
{
	for (struct series *s = events->series; s < events->series + FL_EVENT_MAX; s++)
		if (s->hash == hash)
			return s;
	return NULL;
}

static struct fl_str keep(char **at, struct fl_str s)
{
	struct fl_str kept = { *at, s.len };

	if (s.len)
		memcpy(*at, s.p, s.len);
	*at += s.len;
	return kept;
}

static bool set_note(struct series *series, struct fl_str note)
{
	char *text = fl_alloc(note.len + 1), *at = text;

	if (!text)
		return false;
	fl_free(series->note_text);
	series->note_text = text;
	series->note = keep(&at, note);
	return true;
}

static bool fill(struct series *series, const struct fl_event_say *say, struct fl_str group_version,
		 struct fl_str event)
{
	struct fl_str reason = fl_str_sub(fl_str(say->reason), 0, FL_EVENT_WORD);
	struct fl_str action = fl_str_sub(fl_str(say->action), 0, FL_EVENT_WORD);
	size_t about = (size_t)group_version.len + strlen(say->kind->kind) + say->space.len + say->name.len;
	char *at = fl_alloc(about + say->uid.len + say->version.len + reason.len + action.len + event.len);

	if (!at)
		return false;
	series->texts = at;
	series->group_version = keep(&at, group_version);
	series->kind = keep(&at, fl_str(say->kind->kind));
	series->space = keep(&at, say->space);
	series->name = keep(&at, say->name);
	series->uid = keep(&at, say->uid);
	series->version = keep(&at, say->version);
	series->reason = keep(&at, reason);
	series->action = keep(&at, action);
	series->event = keep(&at, event);
	series->warning = say->warning;
	return true;
}

static uint64_t hash_of(struct fl_events *events, const struct fl_event_say *say)
{
	FL_AUTO(fl_buf) struct fl_buf key = FL_BUF(4 * FL_KIB);

	fl_buf_printf(&key, "%s/%s/%.*s/%.*s/%.*s/%d/%s/%s/%.*s", say->kind->group, say->kind->kind,
		      FL_ARG(say->space), FL_ARG(say->name), FL_ARG(say->uid), say->warning, say->reason, say->action,
		      FL_ARG(say->subject));
	return key.failed ? 0 : fl_siphash13(events->seed, key.p, key.len) | 1;
}

/* At most FL_EVENT_NOTE bytes, and no half of a character. */
static struct fl_str cut(char text[static FL_EVENT_NOTE + 1], const char *fmt, va_list args)
{
	struct fl_str note;

	(void)vsnprintf(text, FL_EVENT_NOTE + 1, fmt, args);
	note = fl_str(text);
	while (note.len && !fl_str_utf8(note))
		note.len--;
	return note;
}

/* A part of a DNS subdomain ends in a letter or digit; a name that was cut may end in '-' or '.'. */
static struct fl_str label_end(struct fl_str name)
{
	while (name.len && (name.p[name.len - 1] == '-' || name.p[name.len - 1] == '.'))
		name.len--;
	return name;
}

static struct series *begin(struct fl_events *events, const struct fl_event_say *say, uint64_t hash, struct fl_str note)
{
	char event[300];
	FL_AUTO(fl_buf) struct fl_buf group_version = FL_BUF(512);
	struct series *series = place_for(events, hash);

	if (!series) {
		lose(events, "full");
		return NULL;
	}
	fl_kind_api_version(say->kind, &group_version);
	*series = (struct series){ 0 };
	(void)snprintf(event, sizeof event, "%.*s.%llx", FL_ARG(label_end(fl_str_sub(say->name, 0, 230))),
		       (unsigned long long)fl_wall(events->io));
	if (group_version.failed || !fill(series, say, fl_buf_view(&group_version), fl_str(event)) ||
	    !set_note(series, note)) {
		lose(events, "memory");
		forget(series);
		return NULL;
	}
	if (!subject_may(events, say)) {
		lose(events, "rate");
		forget(series);
		return NULL;
	}
	series->hash = hash;
	series->first = fl_wall(events->io) / 1000;
	return series;
}

/* A text that holds a count changes whenever it is said: that must not be an Event each time. */
static struct series *with_note(struct fl_events *events, const struct fl_event_say *say, struct series *old,
				struct fl_str note)
{
	uint64_t hash = old->hash, now = fl_now(events->io), aside;
	uint64_t since = old == events->writing ? now : old->wrote;
	struct series *series;

	if (fl_str_eq(old->note, note))
		return old;
	if (!old->created && !old->lost && old != events->writing) {   /* the server has nothing of it */
		if (set_note(old, note))
			return old;
		lose(events, "memory");
		return NULL;
	}
	/* It is not grown any more; how often it was said by now is still written. */
	old->hash = aside = fl_siphash13(events->seed, old->event.p, old->event.len) | 1;
	series = begin(events, say, hash, note);
	if (series)
		series->not_before = since + FL_EVENT_SERIES_EVERY;
	else if (old->hash == aside)
		old->hash = hash;
	return series;
}

void fl_event(struct fl_events *events, const struct fl_event_say *say, const char *note, ...)
{
	uint64_t hash = hash_of(events, say);
	struct series *series = hash ? find_series(events, hash) : NULL;
	char text[FL_EVENT_NOTE + 1];
	struct fl_str said;
	va_list args;

	if (!hash) {
		lose(events, "memory");
		return;
	}
	va_start(args, note);
	said = cut(text, note, args);
	va_end(args);
	series = series ? with_note(events, say, series, said) : begin(events, say, hash, said);
	if (!series)
		return;
	series->count++;
	series->last = fl_wall(events->io) / 1000;
	series->said = fl_now(events->io);
	if (!events->writing)
		fl_timer_set(events->io, &events->timer, fl_now(events->io));
}

uint32_t fl_events_waiting(const struct fl_events *events)
{
	uint64_t now = fl_now(events->io);
	uint32_t waiting = 0;

	for (const struct series *s = events->series; s < events->series + FL_EVENT_MAX; s++)
		waiting += s->hash && !s->created && s->not_before <= now;
	return waiting;
}

uint64_t fl_events_dropped(const struct fl_events *events)
{
	return events->dropped;
}

/* ---- the whole ---- */

struct fl_events *fl_events_new(struct fl_kube *kube, const struct fl_events_options *options, struct fl_err *err)
{
	FL_AUTO(fl_events) struct fl_events *events = fl_zalloc(sizeof *events);
	struct fl_family *families[METRIC_COUNT];

	if (events) {
		events->kube = kube;
		events->io = fl_kube_io(kube);
		events->options = *options;
		events->timer = (struct fl_timer){ .fire = woken };
		events->body = FL_BUF(16 * FL_KIB);
		events->tokens = FL_EVENT_RATE_BURST;
		events->filled = fl_now(events->io);
		events->series = fl_zalloc_n(FL_EVENT_MAX, sizeof *events->series);
		events->objects = fl_zalloc_n(FL_EVENT_MAX, sizeof *events->objects);
	}
	if (!events || !events->series || !events->objects)
		return fl_null(err, FL_E_NOMEM, "no memory for events");
	if (fl_random(events->io, events->seed, sizeof events->seed, err) < 0)
		return NULL;
	if (options->metrics) {
		if (fl_metrics_add(options->metrics, metrics, METRIC_COUNT, NULL, families, err) < 0)
			return NULL;
		events->told = families[TOLD];
		events->lost = families[LOST];
	}
	return fl_steal(&events);
}

struct fl_events *fl_events_free(struct fl_events *events)
{
	if (!events)
		return NULL;
	if (events->io)
		fl_timer_stop(events->io, &events->timer);
	fl_op_cancel(&events->call.op);
	for (struct series *s = events->series; s && s < events->series + FL_EVENT_MAX; s++)
		forget(s);
	fl_free(events->series);
	fl_free(events->objects);
	fl_buf_free(&events->body);
	fl_free(events);
	return NULL;
}
