#include "api/gpu.h"

FL_NAMES(fl_test_state_names, FL_TEST_STATE_COUNT_, [FL_TEST_DISCOVERED] = "Discovered",
	 [FL_TEST_VALIDATING] = "Validating", [FL_TEST_READY] = "Ready",
	 [FL_TEST_PENDING_ASSIGNMENT] = "PendingAssignment", [FL_TEST_ASSIGNED] = "Assigned",
	 [FL_TEST_RESERVED] = "Reserved", [FL_TEST_IN_USE] = "InUse", [FL_TEST_FAULTED] = "Faulted");
FL_NAMES(fl_test_strategy_names, FL_TEST_STRATEGY_COUNT_, [FL_TEST_NONE] = "None", [FL_TEST_SINGLE] = "Single",
	 [FL_TEST_MIXED] = "Mixed");
FL_NAMES(fl_test_provider_names, FL_TEST_PROVIDER_COUNT_, [FL_TEST_NVIDIA] = "Nvidia");
FL_NAMES(fl_test_backend_names, FL_TEST_BACKEND_COUNT_, [FL_TEST_DEVICE_PLUGIN] = "DevicePlugin",
	 [FL_TEST_DRA] = "DRA");
FL_NAMES(fl_test_unit_names, FL_TEST_UNIT_COUNT_, [FL_TEST_CARD] = "Card", [FL_TEST_PART] = "MIG");
FL_NAMES(fl_test_spread_names, FL_TEST_SPREAD_COUNT_, [FL_TEST_BIN_PACK] = "BinPack", [FL_TEST_SPREAD] = "Spread");

FL_BIND(fl_test_pci, FL_TEST_PCI)
FL_BIND(fl_test_partition, FL_TEST_PARTITION)
FL_BIND(fl_test_mig, FL_TEST_MIG)
FL_BIND(fl_test_hardware, FL_TEST_HARDWARE)
FL_BIND(fl_test_pool_ref, FL_TEST_POOL_REF)
FL_BIND(fl_test_device_spec, FL_TEST_DEVICE_SPEC)
FL_BIND(fl_test_device_status, FL_TEST_DEVICE_STATUS)
FL_BIND(fl_test_device, FL_TEST_DEVICE)
FL_BIND(fl_test_node_spec, FL_TEST_NODE_SPEC)
FL_BIND(fl_test_node_status, FL_TEST_NODE_STATUS)
FL_BIND(fl_test_node_state, FL_TEST_NODE_STATE)
FL_BIND(fl_test_resource, FL_TEST_RESOURCE)
FL_BIND(fl_test_criteria, FL_TEST_CRITERIA)
FL_BIND(fl_test_selector, FL_TEST_SELECTOR)
FL_BIND(fl_test_assignment, FL_TEST_ASSIGNMENT)
FL_BIND(fl_test_taint, FL_TEST_TAINT)
FL_BIND(fl_test_scheduling, FL_TEST_SCHEDULING)
FL_BIND(fl_test_pool_spec, FL_TEST_POOL_SPEC)
FL_BIND(fl_test_capacity, FL_TEST_CAPACITY)
FL_BIND(fl_test_pool_status, FL_TEST_POOL_STATUS)
FL_BIND(fl_test_pool, FL_TEST_POOL)

#define OURS \
	.group = "gpu.deckhouse.io", .version = "v1alpha1", .categories = "deckhouse,gpu", .status = true, \
	.labels = "module=gpu-control-plane"

const struct fl_kind fl_test_device_kind = {
	OURS, .kind = "GPUDevice", .plural = "gpudevices", .short_names = "gdevice,gpudev", .cluster_scoped = true,
	.root = fl_test_device_bind, .columns = { { "Node" }, { "State" }, { "Managed" }, { "Pool" } },
	.help = "One GPU of one node.",
};
const struct fl_kind fl_test_node_state_kind = {
	OURS, .kind = "GPUNodeState", .plural = "gpunodestates", .cluster_scoped = true,
		.root = fl_test_node_state_bind,
	.columns = { { "Node" }, { "Inventory", .condition = "InventoryComplete" }, { "Driver",
		.condition = "DriverReady" },
		     { "Toolkit", .condition = "ToolkitReady" }, { "Monitoring", .condition = "MonitoringReady" },
		     { "ReadyForPooling", .condition = "ReadyForPooling" },
		     { "Degraded", .condition = "WorkloadsDegraded" } },
	.help = "What is so on one node with GPUs.",
};
#define POOL_COLUMNS .columns = { { "Total" }, { "Available" }, { "Used" }, { "Backend" } }
const struct fl_kind fl_test_pool_kind = {
	OURS, .kind = "GPUPool", .plural = "gpupools", .short_names = "gpup", .root = fl_test_pool_bind, POOL_COLUMNS,
	.help = "GPUs that the Pods of one namespace ask for by one name.",
};
const struct fl_kind fl_test_cluster_pool_kind = {
	OURS, .kind = "ClusterGPUPool", .plural = "clustergpupools", .short_names = "cgpupool,cgpu",
	.cluster_scoped = true, .root = fl_test_pool_bind, POOL_COLUMNS,
	.help = "GPUs that all Pods ask for by one name.",
};
