/* pod_events.h - Events on the Pods that hold a GPU: one for each change of its health.
 *
 *     struct fl_pod_events_options options = { .holders = holders, .tell = tell, .arg = arg };
 *     events = fl_pod_events_new(io, loop, &options, err);
 *     fl_pod_events_health(events, told)   a Health has changed: lists the Pods that hold the GPU now
 *     fl_pod_events_looked(events)         the kubelet has answered
 *
 * The known holders may be FL_HOLDERS_EVERY old, and a Pod that has ended since gets no Event. So the kubelet is
 * queried again, once for all changes that come together. If it does not answer within FL_POD_EVENTS_WAIT, the last
 * known holders get the Event, with a line in the log: a kubelet that is down ends no Pod.
 */
#pragma once
#include "api/node.h"
#include "node/kubelet/holders.h"

/* How long an Event about a GPU waits for the kubelet to list who holds it: a fault is reported within 5 s. */
#define FL_POD_EVENTS_WAIT (4 * FL_NS_PER_S)
#define FL_POD_EVENTS_MAX 128                    /* Events that wait: one for each of 16 GPUs of 7 MIG devices */
/* An application that fails repeatedly causes an XID each time: its Pod needs one Event, not one a second. As many are
 * stored as one busy node may have at once; beyond that, the oldest is dropped. */
#define FL_POD_EVENTS_XID_EVERY (600 * FL_NS_PER_S)
#define FL_POD_EVENTS_XIDS 64

struct fl_pod_events;

struct fl_pod_events_options {
	struct fl_holders *holders;            /* borrowed */
	struct fl_log *log;
	const char *logs;                      /* the kubelet's directory of Pod logs (node/pod_uid.h); NULL: its own */
	/* Sends one Event about the Pod `ref`, with its UID if that is known; the other fields are those that the loop
	 * reported. */
	void (*tell)(void *arg, const struct fl_told_event *event);
	void *arg;
};

struct fl_pod_events *fl_pod_events_new(struct fl_io *io, struct fl_loop *loop,
					const struct fl_pod_events_options *options,
					struct fl_err *err) FL_MUSTUSE;
struct fl_pod_events *fl_pod_events_free(struct fl_pod_events *events);   /* NULL-safe; drops what waits */
FL_DEFINE_AUTO(fl_pod_events, struct fl_pod_events *, fl_pod_events_free);

/* Copies what it keeps. Without memory for that, or with FL_POD_EVENTS_MAX waiting, the Event is sent at once. */
void fl_pod_events_health(struct fl_pod_events *events, const struct fl_told_event *told);
void fl_pod_events_looked(struct fl_pod_events *events);

/* Sends this one Event, whose `ref` is a Pod without its UID. */
void fl_pod_events_tell(struct fl_pod_events *events, const struct fl_told_event *told);

/* Call it for each fault of a GPU. For an XID of an application, the Pods that hold the GPU or the named MIG device get
 * an Event: the driver does not name the process. One Event per XID and GPU or MIG device in FL_POD_EVENTS_XID_EVERY;
 * fairlead_gpu_faults_total counts all. */
void fl_pod_events_fault(struct fl_pod_events *events, const struct fl_card_fault *fault);
