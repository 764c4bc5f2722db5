/* decide.h - the capabilities of a node's GPUs (run/loop.h). What each reads is its FL_GPU_..._FACTS table (plan/gpu);
 * what comes out:
 *
 * fl_node_health: Health, by the GPU's address. fl_node_lists: Resource, the Memo "claims", conditions on the Node.
 * fl_node_cdi: CdiSpec. fl_node_mps: MpsDaemon, the compute mode of Cards, a condition on the Node. fl_node_mig:
 * Layout, a condition and a label on the Node. fl_node_host: Host.
 */
#pragma once
#include "run/loop.h"

extern const struct fl_capability fl_node_health, fl_node_lists, fl_node_cdi, fl_node_mps, fl_node_mig, fl_node_host;

/* What the sources of these kinds must be found by. */
extern const struct fl_index fl_node_card_by[], fl_node_fault_by[], fl_node_health_by[];
