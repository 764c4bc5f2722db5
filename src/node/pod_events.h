/* pod_events.h - Pods are told of a card that they hold: an Event for each change of its health.
 *
 *     struct fl_pod_events_options options = { .holders = holders, .tell = tell, .arg = arg };
 *     events = fl_pod_events_new(io, loop, &options, err);
 *     fl_pod_events_health(events, told)   a Health has changed: the kubelet is asked who holds the card now
 *     fl_pod_events_looked(events)         the kubelet has answered
 *
 * What is known of holders may be FL_HOLDERS_EVERY old, and a Pod that has ended since is not to be told: so the
 * kubelet is asked anew, once for all changes that come together. Where it does not answer within FL_POD_EVENTS_WAIT,
 * who held it last is told, and the log says that: a kubelet that is down ends no Pod.
 */
#pragma once
#include "api/node.h"
#include "node/kubelet/holders.h"

/* How long an Event about a GPU waits for the kubelet to list who holds it: a fault is reported within 5 s. */
#define FL_POD_EVENTS_WAIT (4 * FL_NS_PER_S)
#define FL_POD_EVENTS_MAX 128                    /* Events that wait: one for each of 16 GPUs of 7 MIG devices */
/* An application that fails over and over reports an XID each time: its Pod needs one Event to be looked at, not one a
 * second. Remembered are as many as one busy node may have at once; beyond, the oldest is forgotten. */
#define FL_POD_EVENTS_XID_EVERY (600 * FL_NS_PER_S)
#define FL_POD_EVENTS_XIDS 64

struct fl_pod_events;

struct fl_pod_events_options {
	struct fl_holders *holders;            /* borrowed */
	struct fl_log *log;
	/* One Event, about the Pod that `ref` is; the rest is as the loop told it. */
	void (*tell)(void *arg, const struct fl_told_event *event);
	void *arg;
};

struct fl_pod_events *fl_pod_events_new(struct fl_io *io, struct fl_loop *loop,
					const struct fl_pod_events_options *options,
					struct fl_err *err) FL_MUSTUSE;
struct fl_pod_events *fl_pod_events_free(struct fl_pod_events *events);   /* NULL-safe; drops what waits */
FL_DEFINE_AUTO(fl_pod_events, struct fl_pod_events *, fl_pod_events_free);

/* Copies what it keeps. Without memory for that, or with FL_POD_EVENTS_MAX waiting, it is told at once. */
void fl_pod_events_health(struct fl_pod_events *events, const struct fl_told_event *told);
void fl_pod_events_looked(struct fl_pod_events *events);

/* A GPU has reported a fault. If it is an XID that an application causes, the Pods that hold the GPU, or the MIG device
 * that it names, get an Event: the driver does not tell which process it was. One Event per XID and GPU or MIG device
 * in FL_POD_EVENTS_XID_EVERY; fairlead_gpu_faults_total counts all. */
void fl_pod_events_fault(struct fl_pod_events *events, const struct fl_card_fault *fault);
