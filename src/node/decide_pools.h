/* decide_pools.h - the capability of the pools of the cluster: ApiWatch, PoolChange, the Memo "pools", and a condition
 * on the GPUDevices of this node (plan/nodepools). */
#pragma once
#include "run/loop.h"

extern const struct fl_capability fl_node_pools;
