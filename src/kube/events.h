/* events.h - Events of events.k8s.io/v1, as `kubectl get events` shows them.
 *
 *     fl_event(events, &(struct fl_event_say){ .kind = &fl_gpu_pool_kind, .space = space, .name = name, .uid = uid,
 *                                              .warning = true, .reason = "CapacityLow", .action = "Plan" }, "%s",
 *                                              text);
 *
 * Never blocks, never fails, bounded: Events above the limits are counted (fairlead_events_dropped_total) and dropped.
 * A repeated Event about the same subject becomes a series: one Event with a growing count, written again at most every
 * FL_EVENT_SERIES_EVERY, and ended after FL_EVENT_SERIES_END without a repetition. The API server refuses to change the
 * note of an existing Event, so with another note the series continues in a new Event, at most every
 * FL_EVENT_SERIES_EVERY and with the newest note. Each subject may have FL_EVENT_BURST Events and one more every
 * FL_EVENT_EVERY; all together are limited to FL_EVENT_RATE a second. An Event that the server rejects is dropped.
 * While the server does not answer, or answers 429 or 5xx, Events are kept for FL_EVENT_KEPT.
 */
#pragma once
#include "api/core.h"
#include "kube/client.h"

#define FL_EVENT_WORD 128                /* bytes of reason and action, as the API server has it */
#define FL_EVENT_RATE 5                  /* Events a second of one process ... */
#define FL_EVENT_RATE_BURST 25           /* ... and this many at once: a failing rack has one for each GPU */
#define FL_EVENT_BURST 25                /* about one subject: as client-go about an object ... */
#define FL_EVENT_EVERY (30 * FL_NS_PER_S)      /* ... and one more each half minute */
#define FL_EVENT_SERIES_EVERY (60 * FL_NS_PER_S)   /* a series that goes on is written again this often at most */
#define FL_EVENT_SERIES_END (360 * FL_NS_PER_S)    /* so long without a repetition: the next is a new Event */
#define FL_EVENT_RETRY_FIRST (2 * FL_NS_PER_S)     /* after a failure: the process waits for the outage to end ... */
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
struct fl_events *fl_events_free(struct fl_events *events);   /* drops unsent Events. NULL-safe */
FL_DEFINE_AUTO(fl_events, struct fl_events *, fl_events_free);

struct fl_event_say {
	const struct fl_kind *kind;
	struct fl_str space, name, uid, version;   /* copied */
	struct fl_str subject;         /* copied: the part of the object concerned, as one GPU of a Node; else empty */
	bool warning;                  /* else Normal */
	const char *reason;            /* one word: CamelCase, at most 128 bytes */
	const char *action;            /* the action taken, one word */
};
void fl_event(struct fl_events *events, const struct fl_event_say *say, const char *note, ...) FL_PRINTF(3, 4);

/* The number of Events not sent yet, and of those dropped since the start. */
uint32_t fl_events_waiting(const struct fl_events *events);
uint64_t fl_events_dropped(const struct fl_events *events);
