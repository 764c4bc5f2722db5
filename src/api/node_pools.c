#include "api/node_pools.h"

FL_BIND(fl_api_watch, FL_API_WATCH)
FL_BIND(fl_pool_change, FL_POOL_CHANGE)

FL_NAMES(fl_api_watched_names, FL_API_WATCHED_COUNT_, [FL_API_DEVICES] = "Devices", [FL_API_POOL] = "GPUPool",
	 [FL_API_CLUSTER_POOL] = "ClusterGPUPool");
FL_NAMES(fl_api_answer_names, FL_API_ANSWER_COUNT_, [FL_API_UNKNOWN] = "Unknown", [FL_API_TOLD] = "Told",
	 [FL_API_ABSENT] = "Absent", [FL_API_DENIED] = "Denied");

FL_LOCAL_KIND(fl_api_watch, "ApiWatch", "apiwatches", "What is watched at the API server for the pools of this node.");
FL_LOCAL_KIND(fl_pool_change, "PoolChange", "poolchanges", "A change of the pools' GPUs that is about to be made.");
