/* decide.h - the node's capabilities: which facts matter to which plan (run/loop.h, plan/gpu_*.h).
 *
 * Card, Driver, Fault, Settings -> Health (fl_node_health, by card); all of them, Health, Holder, Runtime, PluginSocket
 * -> Resource (fl_node_lists, at once); Card, Host, Holder -> CdiSpec (fl_node_cdi, at once).
 */
#pragma once
#include "run/loop.h"

extern const struct fl_capability fl_node_health, fl_node_lists, fl_node_cdi;

/* Sources of all the node's kinds, with their indexes; sinks are the role's to name. */
extern const struct fl_index fl_node_card_by[], fl_node_fault_by[], fl_node_holder_by[], fl_node_health_by[];
