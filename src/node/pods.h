/* pods.h - the Pods of this node, from the API server: watched while a plan needs them, and evicted.
 *
 *     fl_loop_source(loop, &(struct fl_source){ &fl_own_pod_kind, NULL, &fl_kube_sink, kube }, err);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_pod_watch_kind, NULL, &fl_pod_watch_sink, &pods }, err);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_eviction_kind, NULL, &fl_eviction_sink, &pods }, err);
 *     fl_pods_begin(&pods, io, loop, kube, node, log)      nothing is watched, and the kind is absent
 *     fl_pods_stop(&pods)                                  before the loop ends
 *
 * While PodWatch "pods" is wanted, one watch with the field selector spec.nodeName is open; otherwise the kind is
 * absent from the cache and costs nothing. The kubelet bounds how many Pods there are (110 by default).
 *
 * An Eviction is a POST to the Pod's eviction subresource, for the Pod with that uid only. A PodDisruptionBudget that
 * refuses it (429) is obeyed: it is tried again, with backoff, without holding up other calls. A Pod that is gone or
 * replaced counts as evicted.
 */
#pragma once
#include "kube/watch.h"
#include "run/loop.h"

struct fl_pods {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_kube *kube;          /* NULL: there is no API server, and Pods stay unknown */
	struct fl_log *log;
	struct fl_watch *watch;        /* NULL: not watched */
	char fields[sizeof "spec.nodeName=" + 256];
};

void fl_pods_begin(struct fl_pods *pods, struct fl_io *io, struct fl_loop *loop, struct fl_kube *kube,
		   struct fl_str node, struct fl_log *log);
void fl_pods_stop(struct fl_pods *pods);

extern const struct fl_sink fl_pod_watch_sink, fl_eviction_sink;   /* each self is a struct fl_pods */
