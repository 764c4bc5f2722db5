/* decide.h - the node's capabilities: which facts matter to which plan (run/loop.h, plan/gpu_*.h).
 *
 * Card, Driver, Fault, Settings, Holder, Resource -> Health (fl_node_health, by the card's address); all of them,
 * Health, Runtime, Host, PluginSocket, CdiSpec, DeviceClass, Node -> Resource, and a condition on the Node
 * (fl_node_lists, at once); Card, Driver, Host, Holder, Settings -> CdiSpec (fl_node_cdi, at once); these and the Node
 * -> MpsDaemon, the compute mode of Cards, and a condition on the Node (fl_node_mps, at once).
 *
 * DeviceClass and Node are the API server's: fl_node_lists goes without where there is none. Until it has told of
 * DeviceClasses, those that it told of last (Memo "claims") claim their resources.
 */
#pragma once
#include "run/loop.h"

extern const struct fl_capability fl_node_health, fl_node_lists, fl_node_cdi, fl_node_mps;

/* What the sources of these kinds must be found by. */
extern const struct fl_index fl_node_card_by[], fl_node_fault_by[], fl_node_holder_by[], fl_node_health_by[];
