/* bench_kube_pod.h - a Pod as an API server tells it: 2.5 KB, with what kubelet and managedFields say. */
#pragma once
#include "base/buf.h"

struct bench_pod {
	uint32_t i;            /* which one: name, node (8 a node), namespace (of 50) and pool (of 40) follow from it */
	uint64_t version;
	bool ready;
	bool named;            /* apiVersion and kind stand in it, as in an event; not so in a list */
};
void bench_pod_put(struct fl_buf *buf, const struct bench_pod *pod);
