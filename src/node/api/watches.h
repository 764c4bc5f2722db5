/* watches.h - the GPUDevices of this node and the pools that they belong to, from the API server.
 *
 *     fl_loop_source(loop, &(struct fl_source){ &fl_gpu_device_kind, NULL, &fl_kube_sink, kube }, err);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_gpu_pool_kind }, err);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_cluster_gpu_pool_kind }, err);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_api_watch_kind, NULL, &fl_api_watch_sink, &watches }, err);
 *     fl_api_watches_begin(&watches, io, loop, kube, node, log)    nothing is watched
 *     fl_api_watches_stop(&watches)                                before the loop ends
 *
 * Each ApiWatch that is wanted is one watch with a field selector: of GPUDevices by status.nodeName, of a pool by its
 * name. So the cost depends on this node alone. What the API server answers stands in the ApiWatch; a pool that is in
 * no cache is absent only where it says Told. GPUDevices are absent while they are not watched.
 */
#pragma once
#include "api/node_pools.h"
#include "node/api/watching.h"

struct fl_api_watched_one;

struct fl_api_watches {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_kube *kube;          /* NULL: there is no API server, so it has no GPUDevices */
	struct fl_log *log;
	struct fl_str node;
	struct fl_api_watched_one *first;
	struct fl_timer tell;          /* of what could not be told for lack of memory */
};

void fl_api_watches_begin(struct fl_api_watches *watches, struct fl_io *io, struct fl_loop *loop, struct fl_kube *kube,
			  struct fl_str node, struct fl_log *log);
void fl_api_watches_stop(struct fl_api_watches *watches);

extern const struct fl_sink fl_api_watch_sink;   /* its self is a struct fl_api_watches */
