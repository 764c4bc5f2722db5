/* inventory.h - GPUDevices and GPUNodeState of a Node, from its labels and NodeFeatures.
 *
 * Pure; a key is a Node's name. What is written once stays when its source falls silent: a GPU that has vanished keeps
 * its object, and a field that is not known any more keeps its value. Objects go with their Node, by the garbage
 * collector; those of a Node that is being deleted are deleted.
 *
 * With invalid settings nothing is written: what was decided by the last valid ones stays.
 */
#pragma once
#include "api/core.h"
#include "api/module.h"
#include "api/nfd.h"
#include "api/pools.h"
#include "plan/plan.h"

#define FL_LABEL_NODE "gpu.deckhouse.io/node"
#define FL_LABEL_INDEX "gpu.deckhouse.io/device-index"
#define FL_LABEL_IGNORE "gpu.deckhouse.io/ignore"
#define FL_MANAGED_DISABLED "ManagedDisabled"
#define FL_INVENTORY_COMPLETE "InventoryComplete"
#define FL_IGNORED "Ignored"

struct fl_inventory_facts {
	const struct fl_node *node;
	const struct fl_gpu_feature *features; /* of the Node */
	uint32_t feature_len;
	const struct fl_gpu_device *devices;   /* of the Node, or of a former one of its name */
	uint32_t device_len;
	const struct fl_gpu_device *others;    /* whose names may be in the way: those above may be among them */
	uint32_t other_len;
	const struct fl_gpu_node_state *state;
	const struct fl_module *module;
	uint64_t now;
};

extern const struct fl_owner fl_inventory_device_owner, fl_inventory_device_status_owner;
extern const struct fl_owner fl_inventory_state_owner, fl_inventory_state_status_owner;
void fl_inventory_plan(const void *facts, struct fl_plan *plan);

/* The Node of a device: by its status, or, before it has one, by its owner reference. */
struct fl_str fl_device_node(const struct fl_gpu_device *device);
/* Its owner reference to a Node; NULL: it has none. */
const struct fl_owner_ref *fl_device_owner_node(const struct fl_meta *meta);
/* Is the label there that takes it out? */
bool fl_device_is_ignored(const struct fl_gpu_device *device);
