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
 * FL_EVENT_EVERY; all together pass at FL_EVENT_RATE a second. What the server has refused four times is dropped; while
 * it does not answer, all are kept for FL_EVENT_KEPT.
 */
#pragma once
#include "api/core.h"
#include "kube/client.h"

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
