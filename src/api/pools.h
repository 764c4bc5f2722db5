/* pools.h - gpu.deckhouse.io/v1alpha1: GPUDevice, GPUNodeState, GPUPool and ClusterGPUPool.
 *
 * A pool of either kind is a struct fl_gpu_pool. What a schema can say is said here; what needs other objects (unique
 * names, selectors that compile) is said by admission.
 */
#pragma once
#include "api/meta.h"

/* ---- GPUDevice ---- */
/* Reserved and InUse are read like Assigned; the control plane never sets them. */
enum fl_device_state { FL_DEVICE_DISCOVERED, FL_DEVICE_VALIDATING, FL_DEVICE_READY, FL_DEVICE_PENDING_ASSIGNMENT,
		       FL_DEVICE_ASSIGNED, FL_DEVICE_RESERVED, FL_DEVICE_IN_USE, FL_DEVICE_FAULTED,
		       FL_DEVICE_STATE_COUNT_ };
extern const struct fl_names fl_device_state_names;
enum fl_device_mig_strategy { FL_DEVICE_MIG_NONE, FL_DEVICE_MIG_SINGLE, FL_DEVICE_MIG_MIXED,
			      FL_DEVICE_MIG_STRATEGY_COUNT_ };
extern const struct fl_names fl_device_mig_strategy_names;

#define FL_DEVICE_PCI(X) \
	X(STR, vendor, "vendor", .interned = true, .help = "Vendor id: four hex digits, lower case.") \
	X(STR, device, "device", .interned = true, .help = "Device id: four hex digits, lower case.") \
	X(STR, class, "class", .interned = true, .help = "Class: four hex digits, lower case.") \
	X(STR, address, "address", .help = "Address: dddd:bb:dd.f.")
FL_STRUCT(fl_device_pci, FL_DEVICE_PCI);

#define FL_DEVICE_PARTITION(X) \
	X(STR, name, "name", .required = true, .interned = true, \
	  .help = "Profile of the MIG devices, for example 1g.10gb.") \
	X(I32, count, "count", .required = true, BETWEEN(0, INT32_MAX), .help = "Number of these MIG devices now.")
FL_STRUCT(fl_device_partition, FL_DEVICE_PARTITION);

#define FL_DEVICE_MIG(X) \
	X(BOOL, capable, "capable", .help = "Whether the GPU supports MIG.") \
	X(ENUM(fl_device_mig_strategy), strategy, "strategy", .help = "How the node names its MIG devices.") \
	X(STRS, profiles, "profilesSupported", .interned = true, \
	  .help = "MIG profiles that the GPU supports, sorted.") \
	X(LIST(fl_device_partition), types, "types", .help = "MIG devices that exist now.")
FL_STRUCT(fl_device_mig, FL_DEVICE_MIG);

#define FL_DEVICE_HARDWARE(X) \
	X(STR, uuid, "uuid", .column = "UUID", .help = "UUID of the GPU.") \
	X(STR, product, "product", .interned = true, .column = "Product", .help = "Product name.") \
	X(OBJ(fl_device_pci), pci, "pci", .help = "Its place and ids on the PCI bus.") \
	X(OBJ(fl_device_mig), mig, "mig", .help = "Its MIG support and layout.")
FL_STRUCT(fl_device_hardware, FL_DEVICE_HARDWARE);

#define FL_POOL_REF(X) \
	X(STR, name, "name", .interned = true, .column = "Pool", .selectable = true, .help = "Name of the pool.") \
	X(STR, space, "namespace", .interned = true, .help = "Namespace of the pool; absent: a ClusterGPUPool.")
FL_STRUCT(fl_pool_ref, FL_POOL_REF);

#define FL_GPU_DEVICE_SPEC(X)
FL_STRUCT(fl_gpu_device_spec, FL_GPU_DEVICE_SPEC);

#define FL_GPU_DEVICE_STATUS(X) \
	X(STR, node_name, "nodeName", .interned = true, .column = "Node", .selectable = true, \
	  .help = "Node that contains the GPU.") \
	X(STR, inventory_id, "inventoryID", .help = "NODE/ADDRESS: set once, never changed.") \
	X(BOOL, managed, "managed", .column = "Managed", .help = "False: the policy excludes the node.") \
	X(ENUM(fl_device_state), state, "state", DEFAULT(FL_DEVICE_DISCOVERED), .column = "State", .selectable = true, \
	  .help = "State of the GPU.") \
	X(BOOL, auto_attach, "autoAttach", .help = "Whether pools may take the GPU without an annotation.") \
	X(OBJ(fl_pool_ref), pool, "poolRef", .help = "Pool that owns the GPU; absent: none.") \
	X(OBJ(fl_device_hardware), hardware, "hardware", .help = "Hardware of the GPU.") \
	FL_CONDITIONS(X)
FL_STRUCT(fl_gpu_device_status, FL_GPU_DEVICE_STATUS);

#define FL_GPU_DEVICE(X) \
	FL_OBJECT(X) \
	X(OBJ(fl_gpu_device_spec), spec, "spec", .help = "Reserved.") \
	X(OBJ(fl_gpu_device_status), status, "status", .help = "Observed state.")
FL_STRUCT(fl_gpu_device, FL_GPU_DEVICE);
extern const struct fl_kind fl_gpu_device_kind;

/* ---- GPUNodeState ---- */
#define FL_GPU_NODE_SPEC(X) \
	X(STR, node_name, "nodeName", .required = true, .column = "Node", .help = "Name of the Node.")
FL_STRUCT(fl_gpu_node_spec, FL_GPU_NODE_SPEC);

#define FL_GPU_NODE_STATUS(X) FL_CONDITIONS(X)
FL_STRUCT(fl_gpu_node_status, FL_GPU_NODE_STATUS);

#define FL_GPU_NODE_STATE(X) \
	FL_OBJECT(X) \
	X(OBJ(fl_gpu_node_spec), spec, "spec", .help = "The node.") \
	X(OBJ(fl_gpu_node_status), status, "status", .help = "Observed state.")
FL_STRUCT(fl_gpu_node_state, FL_GPU_NODE_STATE);
extern const struct fl_kind fl_gpu_node_state_kind;

/* ---- GPUPool, ClusterGPUPool ---- */
enum fl_pool_provider { FL_PROVIDER_NVIDIA, FL_PROVIDER_COUNT_ };
extern const struct fl_names fl_pool_provider_names;
enum fl_pool_backend { FL_BACKEND_DEVICE_PLUGIN, FL_BACKEND_DRA, FL_BACKEND_COUNT_ };
extern const struct fl_names fl_pool_backend_names;
enum fl_pool_unit { FL_POOL_CARD, FL_POOL_MIG, FL_POOL_UNIT_COUNT_ };
extern const struct fl_names fl_pool_unit_names;
enum fl_pool_strategy { FL_STRATEGY_BIN_PACK, FL_STRATEGY_SPREAD, FL_STRATEGY_COUNT_ };
extern const struct fl_names fl_pool_strategy_names;
enum fl_taint_effect { FL_EFFECT_NO_SCHEDULE, FL_EFFECT_PREFER_NO_SCHEDULE, FL_EFFECT_NO_EXECUTE, FL_EFFECT_COUNT_ };
extern const struct fl_names fl_taint_effect_names;

/* In any case, as people write it; admission stores it in lower case. */
#define FL_POOL_PROFILE .pattern = "^[0-9]+[gG]\\.[0-9]+[gG][bB]$", .example = "1g.10gb"
#define FL_DEVICE_PCI_ID .pattern = "^[0-9a-fA-F]{4}$", .example = "10de"

#define FL_POOL_RESOURCE(X) \
	X(ENUM(fl_pool_unit), unit, "unit", .required = true, \
	  .help = "One unit: a whole GPU (Card) or one MIG device (MIG).") \
	X(STR, mig_profile, "migProfile", FL_POOL_PROFILE, \
	  .help = "Profile of the MIG devices: required with unit MIG, not allowed with Card.") \
	X(I32, slices_per_unit, "slicesPerUnit", BETWEEN(1, 64), DEFAULT(1), \
	  .help = "Number of Pods that may share a unit by time-slicing.") \
	X(I32, max_devices_per_node, "maxDevicesPerNode", BETWEEN(1, INT32_MAX), \
	  .help = "Maximum number of GPUs of one node; absent: all.")
FL_STRUCT(fl_pool_resource, FL_POOL_RESOURCE);

#define FL_DEVICE_CRITERIA(X) \
	X(STRS, inventory_ids, "inventoryIDs", .help = "These GPUs: inventoryID, NODE-ADDRESS or object name.") \
	X(STRS, products, "products", .help = "GPUs of these product names.") \
	X(STRS, pci_vendors, "pciVendors", FL_DEVICE_PCI_ID, .help = "GPUs of these vendor ids.") \
	X(STRS, pci_devices, "pciDevices", FL_DEVICE_PCI_ID, .help = "GPUs of these device ids.") \
	X(BOOL, mig_capable, "migCapable", .help = "GPUs that support MIG, or that do not.") \
	X(STRS, mig_profiles, "migProfiles", FL_POOL_PROFILE, .help = "GPUs that support one of these MIG profiles.")
FL_STRUCT(fl_device_criteria, FL_DEVICE_CRITERIA);

#define FL_DEVICE_SELECTOR(X) \
	X(OBJ(fl_device_criteria), include, "include", \
	  .help = "Every given criterion must match; none given: every GPU.") \
	X(OBJ(fl_device_criteria), exclude, "exclude", .help = "One matching criterion excludes the GPU.")
FL_STRUCT(fl_device_selector, FL_DEVICE_SELECTOR);

#define FL_POOL_ASSIGNMENT(X) \
	X(BOOL, require_annotation, "requireAnnotation", DEFAULT(true), \
	  .help = "True: only GPUs that are annotated with the pool's name join it.") \
	X(OBJ(fl_label_selector), auto_approve, "autoApproveSelector", \
	  .help = "GPUs that join without an annotation by a person.")
FL_STRUCT(fl_pool_assignment, FL_POOL_ASSIGNMENT);

#define FL_POOL_TAINT(X) \
	X(STR, key, "key", .required = true, LENGTH(1, 317), .example = "team.example.com/gpu", \
	  .pattern = "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$", \
	  .help = "Key of the taint.") \
	X(STR, value, "value", LENGTH(0, 63), .help = "Value of the taint.") \
	X(ENUM(fl_taint_effect), effect, "effect", DEFAULT(FL_EFFECT_NO_SCHEDULE), .help = "Effect of the taint.")
FL_STRUCT(fl_pool_taint, FL_POOL_TAINT);

#define FL_POOL_SCHEDULING(X) \
	X(ENUM(fl_pool_strategy), strategy, "strategy", DEFAULT(FL_STRATEGY_SPREAD), \
	  .help = "BinPack fills nodes, Spread uses all zones.") \
	X(STR, topology_key, "topologyKey", DEFAULT_TEXT("topology.kubernetes.io/zone"), \
	  .help = "Node label whose values are the zones.") \
	X(BOOL, taints_enabled, "taintsEnabled", DEFAULT(true), \
	  .help = "Whether a taint keeps other Pods off the pool's nodes.") \
	X(LIST(fl_pool_taint), taints, "taints", .help = "Further taints on the pool's nodes.")
FL_STRUCT(fl_pool_scheduling, FL_POOL_SCHEDULING);

/* A DRA pool hands out whole GPUs only, one Pod each. */
#define FL_POOL_SPEC(X) \
	X(ENUM(fl_pool_provider), provider, "provider", DEFAULT(FL_PROVIDER_NVIDIA), .immutable = true, \
	  .help = "Vendor.") \
	X(ENUM(fl_pool_backend), backend, "backend", DEFAULT(FL_BACKEND_DEVICE_PLUGIN), .immutable = true, \
	  .column = "Backend", .help = "Interface by which the node serves the GPUs.") \
	X(OBJ(fl_pool_resource), resource, "resource", .required = true, .immutable = true, \
	  .help = "What one unit of the pool's resource is.") \
	X(OBJ(fl_label_selector), node_selector, "nodeSelector", .immutable = true, \
	  .help = "Nodes whose GPUs may join.") \
	X(OBJ(fl_device_selector), device_selector, "deviceSelector", .immutable = true, \
	  .help = "GPUs that may join.") \
	X(OBJ(fl_pool_assignment), assignment, "deviceAssignment", .help = "How GPUs join.") \
	X(OBJ(fl_pool_scheduling), scheduling, "scheduling", .immutable = true, \
	  .help = "Where the Pods of the pool run.")
FL_STRUCT(fl_pool_spec, FL_POOL_SPEC);

#define FL_POOL_CAPACITY(X) \
	X(I32, total, "total", BETWEEN(0, INT32_MAX), .column = "Total", .help = "Units of the pool.") \
	X(I32, available, "available", BETWEEN(0, INT32_MAX), .column = "Available", \
	  .help = "Units that no Pod uses.") \
	X(I32, used, "used", BETWEEN(0, INT32_MAX), .column = "Used", .help = "Units that Pods use.")
FL_STRUCT(fl_pool_capacity, FL_POOL_CAPACITY);

#define FL_POOL_STATUS(X) \
	X(OBJ(fl_pool_capacity), capacity, "capacity", .help = "Units, by use.") \
	FL_CONDITIONS(X)
FL_STRUCT(fl_pool_status, FL_POOL_STATUS);

#define FL_GPU_POOL(X) \
	FL_OBJECT(X) \
	X(OBJ(fl_pool_spec), spec, "spec", .required = true, .help = "Desired state.") \
	X(OBJ(fl_pool_status), status, "status", .help = "Observed state.")
FL_STRUCT(fl_gpu_pool, FL_GPU_POOL);
extern const struct fl_kind fl_gpu_pool_kind, fl_cluster_gpu_pool_kind;
