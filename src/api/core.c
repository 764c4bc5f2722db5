#include "api/core.h"

FL_NAMES(fl_pod_phase_names, FL_POD_PHASE_COUNT_, [FL_POD_PENDING] = "Pending", [FL_POD_RUNNING] = "Running",
	 [FL_POD_SUCCEEDED] = "Succeeded", [FL_POD_FAILED] = "Failed", [FL_POD_UNKNOWN] = "Unknown");

FL_NAMES(fl_pod_labels, 3, "gpu-control-plane.deckhouse.io/pool", "gpu-control-plane.deckhouse.io/pool-scope", "app");
FL_NAMES(fl_pod_resources, 3, "gpu.deckhouse.io/", "cluster.gpu.deckhouse.io/", "nvidia.com/");
FL_NAMES(fl_pod_conditions, 1, "Ready");
FL_NAMES(fl_node_conditions, 4, "Ready", "MemoryPressure", "DiskPressure", "PIDPressure");

FL_BIND(fl_pod_meta, FL_POD_META)
FL_BIND(fl_pod_resources_of, FL_POD_RESOURCES)
FL_BIND(fl_pod_container, FL_POD_CONTAINER)
FL_BIND(fl_pod_spec, FL_POD_SPEC)
FL_BIND(fl_core_condition, FL_CORE_CONDITION)
FL_BIND(fl_pod_status, FL_POD_STATUS)
FL_BIND(fl_pod, FL_POD)
FL_BIND(fl_node_meta, FL_NODE_META)
FL_BIND(fl_taint, FL_TAINT)
FL_BIND(fl_node_spec, FL_NODE_SPEC)
FL_BIND(fl_node_status, FL_NODE_STATUS)
FL_BIND(fl_node, FL_NODE)
FL_BIND(fl_namespace, FL_NAMESPACE)
FL_BIND(fl_config_map, FL_CONFIG_MAP)
FL_BIND(fl_object_ref, FL_OBJECT_REF)
FL_BIND(fl_event_series, FL_EVENT_SERIES)
FL_BIND(fl_event, FL_EVENT)

#define CORE .built_in = true, .group = "", .version = "v1"

const struct fl_kind fl_pod_kind = {
	CORE, .kind = "Pod", .plural = "pods", .short_names = "po", .root = fl_pod_bind, .status = true,
	.help = "Containers that run together on one node.",
};
const struct fl_kind fl_node_kind = {
	CORE, .kind = "Node", .plural = "nodes", .short_names = "no", .cluster_scoped = true, .root = fl_node_bind,
	.status = true, .help = "A machine.",
};
const struct fl_kind fl_namespace_kind = {
	CORE, .kind = "Namespace", .plural = "namespaces", .short_names = "ns", .cluster_scoped = true,
	.root = fl_namespace_bind, .status = true, .help = "Where names are unique.",
};
const struct fl_kind fl_config_map_kind = {
	CORE, .kind = "ConfigMap", .plural = "configmaps", .short_names = "cm", .root = fl_config_map_bind,
	.help = "Texts that programs read.",
};
const struct fl_kind fl_event_kind = {
	.built_in = true, .group = "events.k8s.io", .version = "v1", .kind = "Event", .plural = "events",
	.short_names = "ev", .root = fl_event_bind, .help = "Something that happened to an object.",
};
