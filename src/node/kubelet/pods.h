/* pods.h - the Pods of this node, from the API server: watched while a plan needs them, and evicted.
 *
 *     fl_loop_source(loop, &(struct fl_source){ &fl_own_pod_kind, NULL, &fl_kube_sink, kube }, err);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_pod_watch_kind, NULL, &fl_pod_watch_sink, &pods }, err);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_eviction_kind, NULL, &fl_eviction_sink, &pods }, err);
 *     pods = (struct fl_pods){ .event = event, .event_arg = arg };
 *     fl_pods_begin(&pods, io, loop, kube, node, log)      nothing is watched, and the kind is absent
 *     fl_pods_stop(&pods)                                  before the loop ends
 *
 * While PodWatch "pods" is wanted, one watch with the field selector spec.nodeName is open, and status.phase=Failed
 * where it wants no more; otherwise the kind is absent from the cache and costs nothing. The kubelet bounds how many
 * Pods there are (110 by default).
 *
 * An Eviction is a POST to the Pod's eviction subresource, for the Pod with that uid only. A PodDisruptionBudget that
 * refuses it (429) is obeyed: it is tried again, between FL_EVICT_AGAIN and FL_EVICT_RETRY_LAST, without holding up
 * other calls, and an Event on the Pod names it. A conflict (409: the Pod has changed) is tried again at once, and then
 * waits for what the watch tells. A Pod that is gone counts as evicted.
 */
#pragma once
#include "base/units.h"
#include "node/api/watching.h"
#include "node/host/processes.h"
#include "run/loop.h"

/* Time between two requests for an eviction that a PodDisruptionBudget refuses: at least, and at most unless the API
 * server's Retry-After is longer. */
#define FL_EVICT_AGAIN (5 * FL_NS_PER_S)
#define FL_EVICT_RETRY_LAST (10 * FL_NS_PER_S)
/* So many refusals are remembered: the kubelet's default of Pods, which may share GPUs. When more are, the oldest is
 * forgotten, and that Pod is asked for at the next change. */
#define FL_EVICT_REFUSED 110

/* An eviction that the API server has refused. */
struct fl_pods_refusal {
	char uid[FL_POD_UID];          /* of the Pod; empty: none */
	uint64_t until;                /* it is not asked for again before */
	struct fl_err why;
};

struct fl_pods {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_kube *kube;          /* NULL: there is no API server, and Pods stay unknown */
	struct fl_log *log;
	void (*event)(void *arg, const struct fl_told_event *event);   /* of a refused eviction; NULL: nobody is told */
	void *event_arg;
	struct fl_watching watching;
	struct fl_pods_refusal refused[FL_EVICT_REFUSED];
	uint32_t refused_next;
	bool failed_only;              /* it tells only of those that Failed */
	char fields[sizeof "spec.nodeName=" + 256], failed[sizeof "spec.nodeName=,status.phase=Failed" + 256];
};

void fl_pods_begin(struct fl_pods *pods, struct fl_io *io, struct fl_loop *loop, struct fl_kube *kube,
		   struct fl_str node, struct fl_log *log);
void fl_pods_stop(struct fl_pods *pods);

extern const struct fl_sink fl_pod_watch_sink, fl_eviction_sink;   /* each self is a struct fl_pods */
