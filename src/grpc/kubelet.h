/* kubelet.h - the services of a node: device plugins, plugin registration, PodResources.
 *
 * Messages come from grpc/proto; the sockets on which each service lives are in reference node-interfaces, section 1.1.
 */
#pragma once
#include "grpc/method.h"

/* Served by the kubelet on device-plugins/kubelet.sock. */
extern const struct fl_grpc_method fl_kubelet_register;

/* Served by a device plugin, one socket a resource. */
extern const struct fl_grpc_method fl_plugin_options, fl_plugin_list_and_watch, fl_plugin_preferred, fl_plugin_allocate,
	fl_plugin_pre_start;

/* Served by any plugin on its socket in plugins_registry. */
extern const struct fl_grpc_method fl_registration_info, fl_registration_status;

/* Served by the kubelet on pod-resources/kubelet.sock. */
extern const struct fl_grpc_method fl_pods_list, fl_pods_allocatable, fl_pods_get;
