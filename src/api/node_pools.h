/* node_pools.h - by which a GPU node serves the pools of the cluster: two kinds in the agent's caches only.
 *
 *     ApiWatch    an object, or the objects of one kind, that the agent watches at the API server: "devices" are the
 *                 GPUDevices of this node, "GPUPool/NAMESPACE/NAME" and "ClusterGPUPool/NAME" one pool each
 *     PoolChange  one, "pools": a change of the pools' GPUs that is about to be made
 * The pools in force are the Memo "pools" (api/node.h).
 */
#pragma once
#include "api/node.h"

#define FL_POOLS_NAME "pools"                /* of the Memo and of the PoolChange */
#define FL_DEVICES_WATCH "devices"

enum fl_api_watched { FL_API_DEVICES, FL_API_POOL, FL_API_CLUSTER_POOL, FL_API_WATCHED_COUNT_ };
extern const struct fl_names fl_api_watched_names;

enum fl_api_answer {
	FL_API_UNKNOWN,        /* the API server has not answered yet: nothing is known to be absent */
	FL_API_TOLD,           /* it has: what is not in the cache is not there */
	FL_API_ABSENT,         /* it has no such kind, or there is no API server */
	FL_API_DENIED,         /* it refuses to answer */
	FL_API_ANSWER_COUNT_
};
extern const struct fl_names fl_api_answer_names;

/* `answer` is observed, the rest desired. */
#define FL_API_WATCH(X) \
	FL_LOCAL(X) \
	X(ENUM(fl_api_watched), what, "what", .required = true, .help = "What is watched.") \
	X(STR, pool_space, "poolNamespace", .help = "Namespace of the pool; absent: a ClusterGPUPool.") \
	X(STR, pool, "pool", .help = "Name of the pool.") \
	X(ENUM(fl_api_answer), answer, "answer", .help = "What the API server answers.")
FL_STRUCT(fl_api_watch, FL_API_WATCH);
extern const struct fl_kind fl_api_watch_kind;

#define FL_POOL_CHANGE(X) \
	FL_LOCAL(X) \
	X(LIST(fl_node_pool), pools, "pools", .help = "What the pools are to be.") \
	X(I64, first, "first", .help = "When they first differed from what is in force: ns of the loop's clock.") \
	X(I64, since, "since", .help = "When they last changed: ns of the loop's clock.")
FL_STRUCT(fl_pool_change, FL_POOL_CHANGE);
extern const struct fl_kind fl_pool_change_kind;
