/* decide_pods.h - the capabilities that concern Pods and the Node as a whole (run/loop.h, plan/gpu_pods.h,
 * gpu_taint.h, gpu_inside.h, gpu_dev_nodes.h).
 *
 * Active, Holder, Booking, Health, Card, Driver, Settings, Resource, Eviction, PodWatch, and Pod and Node of the API
 * server -> Booking, Eviction, PodWatch, a condition on the Node, Pods deleted (fl_node_pods, at once); Settings,
 * Driver, Resource, Node -> a taint and a condition on the Node (fl_node_taint, at once); Settings, Host,
 * DevLink -> DevLink (fl_node_links, at once); Settings, Host, Node -> a condition on the Node (fl_node_dev_nodes, at
 * once); Settings, Driver, Holder, Inside, PodFinding, Node -> Inspection,
 * PodFinding, a condition on the Node (fl_node_inside, at once).
 */
#pragma once
#include "run/loop.h"

extern const struct fl_capability fl_node_pods, fl_node_taint, fl_node_links, fl_node_dev_nodes, fl_node_inside;
