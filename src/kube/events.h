/* events.h - tell people: Events of events.k8s.io/v1, as `kubectl get events` shows them.
 *
 *     fl_event(events, &(struct fl_event_say){ .kind = &fl_gpu_pool_kind, .space = space, .name = name, .uid = uid,
 *                                              .warning = true, .reason = "CapacityLow", .action = "Plan" }, "%s",
 *                                              text);
 *
 * Never blocks, never fails, bounded: what comes too often or too much is counted (fairlead_events_dropped_total) and
 * dropped. The same thing said again of the same subject becomes a series: one Event whose count grows, written again
 * at most every FL_EVENT_SERIES_EVERY, and ended when nothing was said for FL_EVENT_SERIES_END. The API server refuses
 * another note for an Event that there is: with another note the series goes on in a new Event, at most every
 * FL_EVENT_SERIES_EVERY and with the newest note then. Each subject may have FL_EVENT_BURST Events and one more every
 * FL_EVENT_EVERY; all together pass at FL_EVENT_RATE a second. What the server refuses is dropped; while it does not
 * answer, or answers 429 or 5xx, all are kept for FL_EVENT_KEPT.
 */
#pragma once
#include "api/core.h"
#include "kube/client.h"

#define FL_EVENT_WORD 128                /* bytes of reason and action, as the API server has it */
#define FL_EVENT_RATE 5                  /* Events a second of one process ... */
#define FL_EVENT_RATE_BURST 25           /* ... and this many at once: a rack that fails is told card by card */
#define FL_EVENT_BURST 25                /* about one subject: as client-go about an object ... */
#define FL_EVENT_EVERY (30 * FL_NS_PER_S)      /* ... and one more each half minute */
#define FL_EVENT_SERIES_EVERY (60 * FL_NS_PER_S)   /* a series that goes on is written again this often at most */
#define FL_EVENT_SERIES_END (360 * FL_NS_PER_S)    /* nothing said for so long: the next is a new Event */
#define FL_EVENT_RETRY_FIRST (2 * FL_NS_PER_S)     /* without a good answer: an outage is waited out ... */
#define FL_EVENT_RETRY_LAST (30 * FL_NS_PER_S)     /* ... with ever fewer requests, ... */
#define FL_EVENT_KEPT (3600 * FL_NS_PER_S)         /* ... for as long as the API server keeps an Event */

struct fl_events;

struct fl_events_options {
	const char *controller;        /* reportingController: "gpu.deckhouse.io/fairlead" */
	const char *instance;          /* reportingInstance: the Pod's name */
	const char *space;             /* where Events about cluster-scoped objects go; NULL: "default" */
	struct fl_metrics *metrics;
	struct fl_log *log;
};

struct fl_events *fl_events_new(struct fl_kube *kube, const struct fl_events_options *options,
				struct fl_err *err) FL_MUSTUSE;
struct fl_events *fl_events_free(struct fl_events *events);   /* what was not sent is lost. NULL-safe */
FL_DEFINE_AUTO(fl_events, struct fl_events *, fl_events_free);

struct fl_event_say {
	const struct fl_kind *kind;
	struct fl_str space, name, uid, version;   /* copied */
	struct fl_str subject;         /* copied: what of the object it is about, as one GPU of a Node; else empty */
	bool warning;                  /* else Normal */
	const char *reason;            /* one word: CamelCase, at most 128 bytes */
	const char *action;            /* what was done, one word */
};
void fl_event(struct fl_events *events, const struct fl_event_say *say, const char *note, ...) FL_PRINTF(3, 4);

/* Due and not sent yet; and how many were dropped since the start. */
uint32_t fl_events_waiting(const struct fl_events *events);
uint64_t fl_events_dropped(const struct fl_events *events);
