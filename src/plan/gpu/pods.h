/* pods.h - decisions about the Pods of this node: lost allocations, refused Pods, evictions.
 *
 * Pure. One plan, three parts:
 *     book.c     the book of allocations: earlier answers of PodResources, kept on disk, against the present one
 *     refused.c  Pods that the kubelet refused for lack of a device
 *     evict.c    Pods whose GPU is dead, if the settings enable eviction
 * All three need Pods of the API server, but rarely. The API server is watched while the plan wants a PodWatch, and
 * only for Failed Pods while refused.c alone needs them. An unknown fact changes nothing.
 */
#pragma once
#include "api/node.h"
#include "plan/facts.h"
#include "plan/plan.h"

#define FL_GPU_PODS_FACTS(X) \
	X(NEED, fl_settings, settings, "settings") \
	X(ONE, fl_driver, driver, "driver") \
	X(ONE, fl_active, active, "active") /* NULL: the kubelet has not answered yet */ \
	X(MAYBE_ONLY, fl_own_node, node) \
	X(ONE, fl_pod_watch, watch, "pods") \
	X(MAYBE_ALL, fl_own_pod, pods, pod_len) /* only Failed ones, if `watch` is limited to these */ \
	X(KNOWN, fl_own_pod, failed_known) /* the Failed ones are known */ \
	X(CURRENT, fl_own_pod, pods_current) /* since when they are known as they are now */ \
	X(ALL, fl_booking, bookings, booking_len) /* the book */ \
	X(MAYBE_ONE, fl_memo, kept, FL_BOOK_MEMO) /* once it was complete */ \
	X(ALL, fl_holder, holders, holder_len) \
	X(ALL, fl_health, healths, health_len) \
	X(ALL, fl_card, cards, card_len) \
	X(ALL, fl_resource, resources, resource_len) /* that are served */ \
	X(ALL, fl_eviction, evictions, eviction_len) /* the existing ones */ \
	X(NOW, now) \
	X(WALL, wall)
FL_FACTS(fl_gpu_pods_facts, FL_GPU_PODS_FACTS, bool all_known; /* all Pods of this node are */);

extern const struct fl_owner fl_gpu_book_owner, fl_gpu_book_memo_owner, fl_gpu_refused_owner, fl_gpu_evict_owner,
	fl_gpu_pod_watch_owner;
void fl_gpu_pods_plan(const void *facts, struct fl_plan *plan);

/* Whether an Event (EvictionRefused) on the Pod reports the refused eviction; if so, appends its message. `throttled`:
 * refused with status 429, as by a disruption budget; no other refusal concerns the Pod. */
bool fl_gpu_evict_refused(const struct fl_eviction *eviction, bool throttled, const char *why, struct fl_buf *ret);
