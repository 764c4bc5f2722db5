/* inventory.h - the capabilities of the controller that keep the inventory of GPUs, and what their kinds need.
 *
 *     nodes, NodeFeatures, ModuleConfig ─▶ inventory ─▶ GPUDevices, GPUNodeStates
 *     GPUDevices ─▶ device-state ─▶ status.state
 */
#pragma once
#include "api/module.h"
#include "cmd/role.h"

extern const struct fl_capability fl_inventory, fl_device_states, fl_module_settings_check;

/* Indexes of their kinds. */
extern const struct fl_index fl_inventory_nodes_by[], fl_inventory_features_by[], fl_inventory_devices_by[];
extern const struct fl_make fl_module_made;    /* of ModuleConfig: a struct fl_module */

/* A change of a GPUNodeState's condition is told at its Node; everything else at the object itself. */
void fl_inventory_event(struct fl_running *run, const struct fl_told_event *told);
