/* pod_uid.h - an Event on a Pod gets the Pod's UID.
 *
 * `kubectl describe pod` lists only Events with the Pod's UID, and PodResources does not report it. The kubelet's
 * directory of Pod logs does: its names are NAMESPACE_NAME_UID. An Event whose Pod is not found there, or not within
 * FL_POD_UIDS_WAIT, is sent without a UID.
 *
 *     uids = fl_pod_uids_new(io, &(struct fl_pod_uids_options){ .tell = tell, .arg = arg }, err);
 *     fl_pod_uids_tell(uids, &event)       event.ref is a Pod; calls `tell` later, with the UID
 */
#pragma once
#include "io/io.h"
#include "run/loop.h"

#define FL_POD_UIDS_WAIT (1 * FL_NS_PER_S)       /* a fault is reported within 5 s, 4 of which the kubelet may take */
#define FL_POD_UIDS_MAX 256                      /* Events that wait: each GPU of 16 told to 16 Pods */

struct fl_pod_uids;

struct fl_pod_uids_options {
	const char *logs;                      /* the kubelet's directory of Pod logs; NULL: FL_POD_LOGS */
	void (*tell)(void *arg, const struct fl_told_event *event);
	void *arg;
};

struct fl_pod_uids *fl_pod_uids_new(struct fl_io *io, const struct fl_pod_uids_options *options,
				    struct fl_err *err) FL_MUSTUSE;
struct fl_pod_uids *fl_pod_uids_free(struct fl_pod_uids *uids);   /* NULL-safe; drops what waits */
FL_DEFINE_AUTO(fl_pod_uids, struct fl_pod_uids *, fl_pod_uids_free);

/* Copies what it keeps. Without memory for that, or with FL_POD_UIDS_MAX waiting, the Event is sent at once. */
void fl_pod_uids_tell(struct fl_pod_uids *uids, const struct fl_told_event *event);

/* To keep an Event longer than its call: bytes of its texts; and moves them to `to`, which has room for so many. */
size_t fl_told_event_texts(const struct fl_told_event *event);
void fl_told_event_move(struct fl_told_event *event, char *to);
