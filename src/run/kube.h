/* kube.h - the API server as feeder and sink of the loop.
 *
 *     fl_loop_source(loop, &(struct fl_source){ &fl_gpu_pool_kind, NULL, &fl_kube_sink, kube }, err);
 *     fl_watch_new(kube, &(struct fl_watch_options){ .kind = &fl_gpu_pool_kind, .to = &fl_feed_watch,
 *                                                    .arg = fl_loop_feed(loop, &fl_gpu_pool_kind) }, err);
 *     options.event = fl_kube_event, options.arg = events;          where nothing else needs the argument
 *
 * What an owner wants goes out as one server-side apply with the owner as field manager, to the status subresource if
 * it is the status; items of shared lists as JSON patch; what should not be as delete, all of them for the object with
 * the uid that was seen. Each attempt asks fl_write_may first. What the server answers is what the caches show from
 * then on.
 */
#pragma once
#include "kube/events.h"
#include "kube/watch.h"
#include "run/loop.h"

extern const struct fl_sink fl_kube_sink;          /* its self is a struct fl_kube */
extern const struct fl_watch_to fl_feed_watch;     /* its arg is a struct fl_feed */

/* An Event for the condition that changed; `events` is a struct fl_events. */
void fl_kube_event(void *events, const struct fl_told_event *event);
