/* decide_pods.h - the capabilities that concern Pods and the Node as a whole (run/loop.h). What each reads is its
 * FL_GPU_..._FACTS table (plan/gpu); what comes out:
 *
 * fl_node_pods: Booking, Eviction, PodWatch, a condition on the Node, Pods deleted. fl_node_taint: a taint and a
 * condition on the Node. fl_node_links: DevLink. fl_node_dev_nodes: a condition on the Node. fl_node_inside:
 * Inspection, PodFinding, a condition on the Node.
 */
#pragma once
#include "run/loop.h"

extern const struct fl_capability fl_node_pods, fl_node_taint, fl_node_links, fl_node_dev_nodes, fl_node_inside;
