/* gpu_pods.h - decisions about the Pods of this node: do they have the devices that they run with, were some refused,
 * must some leave?
 *
 * Pure. One plan, three parts:
 *     gpu_book.c     the book of allocations: what PodResources has said before, kept on disk, against what it says now
 *     gpu_refused.c  Pods that the kubelet refused for want of a device
 *     gpu_evict.c    Pods whose GPU is dead, if settings say so
 * All three need Pods of the API server, and only now and then: they are watched while the plan wants a PodWatch, and
 * only those that Failed while gpu_refused.c alone needs them. What is not known changes nothing.
 */
#pragma once
#include "api/node.h"
#include "plan/plan.h"

struct fl_gpu_pods_facts {
	const struct fl_settings *settings;
	const struct fl_driver *driver;        /* NULL: nobody has looked yet */
	const struct fl_active *active;        /* NULL: the kubelet has not answered yet */
	const struct fl_own_node *node;        /* NULL: no API server, or not known yet */
	const struct fl_own_pod *pods;         /* sorted by namespace and name; counts only if `failed_known`;
						  without `all_known` only Failed ones are in it */
	const struct fl_booking *bookings;     /* the book, sorted by name */
	const struct fl_holder *holders;       /* sorted by name */
	const struct fl_health *healths;
	const struct fl_card *cards;
	const struct fl_resource *resources;   /* that are served */
	const struct fl_eviction *evictions;   /* that were made */
	uint32_t pod_len, booking_len, holder_len, health_len, card_len, resource_len, eviction_len;
	bool all_known;                        /* all Pods of this node are known */
	bool failed_known;                     /* those that Failed are */
	uint64_t now;                          /* loop clock, ns */
	int64_t wall;                          /* microseconds since 1970 */
};

extern const struct fl_owner fl_gpu_book_owner, fl_gpu_refused_owner, fl_gpu_evict_owner, fl_gpu_pod_watch_owner;
void fl_gpu_pods_plan(const void *facts, struct fl_plan *plan);
