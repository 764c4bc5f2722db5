#include "api/pools.h"

FL_NAMES(fl_device_state_names, FL_DEVICE_STATE_COUNT_,
	 [FL_DEVICE_DISCOVERED] = "Discovered", [FL_DEVICE_VALIDATING] = "Validating", [FL_DEVICE_READY] = "Ready",
	 [FL_DEVICE_PENDING_ASSIGNMENT] = "PendingAssignment", [FL_DEVICE_ASSIGNED] = "Assigned",
	 [FL_DEVICE_RESERVED] = "Reserved", [FL_DEVICE_IN_USE] = "InUse", [FL_DEVICE_FAULTED] = "Faulted");
FL_NAMES(fl_device_mig_strategy_names, FL_DEVICE_MIG_STRATEGY_COUNT_, [FL_DEVICE_MIG_NONE] = "None",
	 [FL_DEVICE_MIG_SINGLE] = "Single", [FL_DEVICE_MIG_MIXED] = "Mixed");
FL_NAMES(fl_pool_provider_names, FL_PROVIDER_COUNT_, [FL_PROVIDER_NVIDIA] = "Nvidia");
FL_NAMES(fl_pool_backend_names, FL_BACKEND_COUNT_, [FL_BACKEND_DEVICE_PLUGIN] = "DevicePlugin",
	 [FL_BACKEND_DRA] = "DRA");
FL_NAMES(fl_pool_unit_names, FL_POOL_UNIT_COUNT_, [FL_POOL_CARD] = "Card", [FL_POOL_MIG] = "MIG");
FL_NAMES(fl_pool_strategy_names, FL_STRATEGY_COUNT_, [FL_STRATEGY_BIN_PACK] = "BinPack",
	 [FL_STRATEGY_SPREAD] = "Spread");
FL_NAMES(fl_taint_effect_names, FL_EFFECT_COUNT_, [FL_EFFECT_NO_SCHEDULE] = "NoSchedule",
	 [FL_EFFECT_PREFER_NO_SCHEDULE] = "PreferNoSchedule", [FL_EFFECT_NO_EXECUTE] = "NoExecute");

FL_BIND(fl_device_pci, FL_DEVICE_PCI)
FL_BIND(fl_device_partition, FL_DEVICE_PARTITION)
FL_BIND(fl_device_mig, FL_DEVICE_MIG)
FL_BIND(fl_device_hardware, FL_DEVICE_HARDWARE)
FL_BIND(fl_pool_ref, FL_POOL_REF)
FL_BIND(fl_gpu_device_spec, FL_GPU_DEVICE_SPEC)
FL_BIND(fl_gpu_device_status, FL_GPU_DEVICE_STATUS)
FL_BIND(fl_gpu_device, FL_GPU_DEVICE)
FL_BIND(fl_gpu_node_spec, FL_GPU_NODE_SPEC)
FL_BIND(fl_gpu_node_status, FL_GPU_NODE_STATUS)
FL_BIND(fl_gpu_node_state, FL_GPU_NODE_STATE)
FL_BIND(fl_pool_resource, FL_POOL_RESOURCE, .rules = {
	{ "self.unit != 'MIG' || has(self.migProfile)", "resource.migProfile is required when unit=MIG" },
	{ "self.unit != 'Card' || !has(self.migProfile)", "resource.migProfile is not allowed when unit=Card" },
})
FL_BIND(fl_device_criteria, FL_DEVICE_CRITERIA)
FL_BIND(fl_device_selector, FL_DEVICE_SELECTOR)
FL_BIND(fl_pool_assignment, FL_POOL_ASSIGNMENT)
FL_BIND(fl_pool_taint, FL_POOL_TAINT)
FL_BIND(fl_pool_scheduling, FL_POOL_SCHEDULING, .rules = {
	{ "self.strategy != 'Spread' || self.topologyKey != ''",
	  "scheduling.topologyKey is required when strategy=Spread" },
})
FL_BIND(fl_pool_spec, FL_POOL_SPEC, .rules = {
	{ "self.backend != 'DRA' || self.resource.unit == 'Card'",
	  "backend=DRA currently supports only unit=Card" },
	{ "self.backend != 'DRA' || self.resource.slicesPerUnit == 1",
	  "backend=DRA does not support slicesPerUnit>1" },
})
FL_BIND(fl_pool_capacity, FL_POOL_CAPACITY)
FL_BIND(fl_pool_status, FL_POOL_STATUS)

/* The name ends the pool's resource, and the key of its label and taint on Nodes. A GPUPool's key has the module's own
 * prefix, so it may not be one of the module's own keys. */
FL_BIND(fl_gpu_pool, FL_GPU_POOL, .rules = {
	{ "size(self.metadata.name) <= 63 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
	  "metadata.name must have at most 63 characters: lower-case letters, digits and '-', no '-' at its ends" },
	{ "self.kind != 'GPUPool' || !(self.metadata.name in ['enabled', 'dp-enabled', 'present', 'device-count', "
	  "'node', 'device-index', 'ignore', 'assignment', 'vfio', 'pooled'])",
	  "metadata.name is reserved: gpu.deckhouse.io/NAME has another meaning, so choose another name" },
})

#define OURS \
	.group = "gpu.deckhouse.io", .version = "v1alpha1", .categories = "deckhouse,gpu", .status = true, \
	.labels = "module=gpu-control-plane"

const struct fl_kind fl_gpu_device_kind = {
	OURS, .kind = "GPUDevice", .plural = "gpudevices", .short_names = "gdevice,gpudev", .cluster_scoped = true,
	.root = fl_gpu_device_bind,
	.columns = { { "Node" }, { "State" }, { "Managed" }, { "Pool" }, { "Age" }, { "Product", .priority = 1 },
		     { "UUID", .priority = 1 } },
	.help = "A GPU of a node.",
};
const struct fl_kind fl_gpu_node_state_kind = {
	OURS, .kind = "GPUNodeState", .plural = "gpunodestates", .cluster_scoped = true,
	.root = fl_gpu_node_state_bind,
	.columns = { { "Node" }, { "Inventory", .condition = "InventoryComplete" },
		     { "Driver", .condition = "DriverReady" }, { "Toolkit", .condition = "ToolkitReady" },
		     { "Monitoring", .condition = "MonitoringReady" },
		     { "ReadyForPooling", .condition = "ReadyForPooling" },
		     { "Degraded", .condition = "WorkloadsDegraded" }, { "Age" } },
	.help = "State of a node that has GPUs.",
};
#define POOL_COLUMNS \
	.columns = { { "Total" }, { "Available" }, { "Used" }, { "Backend" }, { "Age" }, \
		     { "Configured", .condition = "Configured", .priority = 1 } }
const struct fl_kind fl_gpu_pool_kind = {
	OURS, .kind = "GPUPool", .plural = "gpupools", .short_names = "gpup", .root = fl_gpu_pool_bind, POOL_COLUMNS,
	.help = "GPUs that Pods of one namespace request as gpu.deckhouse.io/NAME.",
};
const struct fl_kind fl_cluster_gpu_pool_kind = {
	OURS, .kind = "ClusterGPUPool", .plural = "clustergpupools", .short_names = "cgpupool,cgpu",
	.cluster_scoped = true, .root = fl_gpu_pool_bind, POOL_COLUMNS,
	.help = "GPUs that Pods of all namespaces request as cluster.gpu.deckhouse.io/NAME.",
};
