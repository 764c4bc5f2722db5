/* gpu.h - the kinds of gpu.deckhouse.io/v1alpha1 as tests need them: proof that tables can say what the contract says.
 *
 * The product's own come with the capability that reads them.
 */
#pragma once
#include "api/meta.h"

/* ---- GPUDevice ---- */
enum fl_test_state { FL_TEST_DISCOVERED, FL_TEST_VALIDATING, FL_TEST_READY, FL_TEST_PENDING_ASSIGNMENT,
	FL_TEST_ASSIGNED,
		     FL_TEST_RESERVED, FL_TEST_IN_USE, FL_TEST_FAULTED, FL_TEST_STATE_COUNT_ };
extern const struct fl_names fl_test_state_names;
enum fl_test_strategy { FL_TEST_NONE, FL_TEST_SINGLE, FL_TEST_MIXED, FL_TEST_STRATEGY_COUNT_ };
extern const struct fl_names fl_test_strategy_names;

#define FL_TEST_PCI(X) \
	X(STR, vendor, "vendor", .interned = true, .help = "Vendor id, four hex digits.") \
	X(STR, device, "device", .interned = true, .help = "Device id, four hex digits.") \
	X(STR, class, "class", .interned = true, .help = "Class, four hex digits.") \
	X(STR, address, "address", .help = "Canonical address, dddd:bb:dd.f.")
FL_STRUCT(fl_test_pci, FL_TEST_PCI);

#define FL_TEST_PARTITION(X) \
	X(STR, name, "name", .required = true, .interned = true, .help = "Profile, for example 1g.10gb.") \
	X(I32, count, "count", .required = true, BETWEEN(0, INT32_MAX), .help = "How many of it exist now.")
FL_STRUCT(fl_test_partition, FL_TEST_PARTITION);

#define FL_TEST_MIG(X) \
	X(BOOL, capable, "capable", .help = "Can the card be cut into partitions?") \
	X(ENUM(fl_test_strategy), strategy, "strategy", .help = "How it is cut.") \
	X(STRS, profiles, "profilesSupported", .interned = true, .help = "Profiles that it knows, sorted.") \
	X(LIST(fl_test_partition), types, "types", .help = "Partitions that exist now.")
FL_STRUCT(fl_test_mig, FL_TEST_MIG);

#define FL_TEST_HARDWARE(X) \
	X(STR, uuid, "uuid", .help = "UUID of the card.") \
	X(STR, product, "product", .interned = true, .help = "Marketing name.") \
	X(OBJ(fl_test_pci), pci, "pci", .help = "Where it sits.") \
	X(OBJ(fl_test_mig), mig, "mig", .help = "What it can be cut into.")
FL_STRUCT(fl_test_hardware, FL_TEST_HARDWARE);

#define FL_TEST_POOL_REF(X) \
	X(STR, name, "name", .interned = true, .column = "Pool", .help = "The pool's name.") \
	X(STR, space, "namespace", .interned = true, .help = "Its namespace; absent: a ClusterGPUPool.")
FL_STRUCT(fl_test_pool_ref, FL_TEST_POOL_REF);

#define FL_TEST_DEVICE_SPEC(X)
FL_STRUCT(fl_test_device_spec, FL_TEST_DEVICE_SPEC);

#define FL_TEST_DEVICE_STATUS(X) \
	X(STR, node_name, "nodeName", .interned = true, .column = "Node", .help = "The node that it is in.") \
	X(STR, inventory_id, "inventoryID", .help = "NODE/ADDRESS, set once and never changed.") \
	X(BOOL, managed, "managed", .column = "Managed", .help = "False when the node is excluded by policy.") \
	X(ENUM(fl_test_state), state, "state", .column = "State", .help = "Where in its life it is.") \
	X(BOOL, auto_attach, "autoAttach", .help = "May a pool take it without being asked?") \
	X(OBJ(fl_test_pool_ref), pool, "poolRef", .help = "The pool that has it; absent: none.") \
	X(OBJ(fl_test_hardware), hardware, "hardware", .help = "What it is.") \
	FL_CONDITIONS(X)
FL_STRUCT(fl_test_device_status, FL_TEST_DEVICE_STATUS);

#define FL_TEST_DEVICE(X) \
	FL_OBJECT(X) \
	X(OBJ(fl_test_device_spec), spec, "spec", .help = "Reserved.") \
	X(OBJ(fl_test_device_status), status, "status", .help = "What is so.")
FL_STRUCT(fl_test_device, FL_TEST_DEVICE);
extern const struct fl_kind fl_test_device_kind;

/* ---- GPUNodeState ---- */
#define FL_TEST_NODE_SPEC(X) \
	X(STR, node_name, "nodeName", .required = true, .column = "Node", .help = "The node that it is about.")
FL_STRUCT(fl_test_node_spec, FL_TEST_NODE_SPEC);

#define FL_TEST_NODE_STATUS(X) FL_CONDITIONS(X)
FL_STRUCT(fl_test_node_status, FL_TEST_NODE_STATUS);

#define FL_TEST_NODE_STATE(X) \
	FL_OBJECT(X) \
	X(OBJ(fl_test_node_spec), spec, "spec", .help = "Which node.") \
	X(OBJ(fl_test_node_status), status, "status", .help = "What is so.")
FL_STRUCT(fl_test_node_state, FL_TEST_NODE_STATE);
extern const struct fl_kind fl_test_node_state_kind;

/* ---- GPUPool, ClusterGPUPool ---- */
enum fl_test_provider { FL_TEST_NVIDIA, FL_TEST_PROVIDER_COUNT_ };
extern const struct fl_names fl_test_provider_names;
enum fl_test_backend { FL_TEST_DEVICE_PLUGIN, FL_TEST_DRA, FL_TEST_BACKEND_COUNT_ };
extern const struct fl_names fl_test_backend_names;
enum fl_test_unit { FL_TEST_CARD, FL_TEST_PART, FL_TEST_UNIT_COUNT_ };
extern const struct fl_names fl_test_unit_names;
enum fl_test_spread { FL_TEST_BIN_PACK, FL_TEST_SPREAD, FL_TEST_SPREAD_COUNT_ };
extern const struct fl_names fl_test_spread_names;

#define FL_TEST_PROFILE .pattern = "^[0-9]+g\\.[0-9]+gb$", .example = "1g.10gb"
#define FL_TEST_PCI_ID .pattern = "^[0-9a-fA-F]{4}$", .example = "10de"

#define FL_TEST_RESOURCE(X) \
	X(ENUM(fl_test_unit), unit, "unit", .required = true, .help = "A whole card or one MIG partition.") \
	X(STR, mig_profile, "migProfile", FL_TEST_PROFILE, \
	  .help = "The partition's profile. Needed with unit MIG, refused with Card.") \
	X(I32, slices_per_unit, "slicesPerUnit", BETWEEN(1, 64), DEFAULT(1), \
	  .help = "How many Pods share one unit in turns.") \
	X(I32, max_devices_per_node, "maxDevicesPerNode", BETWEEN(1, INT32_MAX), \
	  .help = "No more cards than this from one node.")
FL_STRUCT(fl_test_resource, FL_TEST_RESOURCE);

#define FL_TEST_CRITERIA(X) \
	X(STRS, inventory_ids, "inventoryIDs", .help = "These cards.") \
	X(STRS, products, "products", .help = "Cards of these names.") \
	X(STRS, pci_vendors, "pciVendors", FL_TEST_PCI_ID, .help = "Cards of these vendors.") \
	X(STRS, pci_devices, "pciDevices", FL_TEST_PCI_ID, .help = "Cards of these device ids.") \
	X(BOOL, mig_capable, "migCapable", .help = "Cards that can, or cannot, be cut.") \
	X(STRS, mig_profiles, "migProfiles", FL_TEST_PROFILE, .help = "Cards that know one of these profiles.")
FL_STRUCT(fl_test_criteria, FL_TEST_CRITERIA);

#define FL_TEST_SELECTOR(X) \
	X(OBJ(fl_test_criteria), include, "include", \
	  .help = "All that is given must match; nothing given: every card.") \
	X(OBJ(fl_test_criteria), exclude, "exclude", .help = "Any match takes the card out.")
FL_STRUCT(fl_test_selector, FL_TEST_SELECTOR);

#define FL_TEST_ASSIGNMENT(X) \
	X(BOOL, require_annotation, "requireAnnotation", DEFAULT(true), \
	  .help = "Only cards that a person gives to it?") \
	X(OBJ(fl_label_selector), auto_approve, "autoApproveSelector", .help = "Cards that it takes by itself.")
FL_STRUCT(fl_test_assignment, FL_TEST_ASSIGNMENT);

#define FL_TEST_TAINT(X) \
	X(STR, key, "key", .required = true, LENGTH(1, 0), .help = "Key.") \
	X(STR, value, "value", .help = "Value.") \
	X(STR, effect, "effect", .help = "Effect.")
FL_STRUCT(fl_test_taint, FL_TEST_TAINT);

#define FL_TEST_SCHEDULING(X) \
	X(ENUM(fl_test_spread), strategy, "strategy", DEFAULT(FL_TEST_SPREAD), \
	  .help = "Fill nodes or spread over zones.") \
	X(STR, topology_key, "topologyKey", DEFAULT_TEXT("topology.kubernetes.io/zone"), \
	  .help = "Node label that makes a zone.") \
	X(BOOL, taints_enabled, "taintsEnabled", DEFAULT(true), .help = "Keep other Pods off the pool's nodes?") \
	X(LIST(fl_test_taint), taints, "taints", .help = "Further taints on the pool's nodes.")
FL_STRUCT(fl_test_scheduling, FL_TEST_SCHEDULING);

#define FL_TEST_POOL_SPEC(X) \
	X(ENUM(fl_test_provider), provider, "provider", DEFAULT(FL_TEST_NVIDIA), .immutable = true, .help = "Vendor.") \
	X(ENUM(fl_test_backend), backend, "backend", DEFAULT(FL_TEST_DEVICE_PLUGIN), .immutable = true, \
	  .column = "Backend", .help = "What serves it on the node.") \
	X(OBJ(fl_test_resource), resource, "resource", .required = true, .immutable = true, \
	  CEL("(self.unit == 'MIG') == has(self.migProfile)", "migProfile belongs to unit MIG, and only there"), \
	  .help = "What the pool's resource stands for.") \
	X(OBJ(fl_label_selector), node_selector, "nodeSelector", .immutable = true, \
	  .help = "Nodes whose cards it may have.") \
	X(OBJ(fl_test_selector), device_selector, "deviceSelector", .immutable = true, \
	  .help = "Cards that it may have.") \
	X(OBJ(fl_test_assignment), assignment, "deviceAssignment", .help = "How cards come to it.") \
	X(OBJ(fl_test_scheduling), scheduling, "scheduling", .immutable = true, .help = "Where its Pods go.")
FL_STRUCT(fl_test_pool_spec, FL_TEST_POOL_SPEC);

#define FL_TEST_CAPACITY(X) \
	X(I32, total, "total", BETWEEN(0, INT32_MAX), .column = "Total", .help = "Units that the pool has.") \
	X(I32, available, "available", BETWEEN(0, INT32_MAX), .column = "Available", \
	  .help = "Units that a Pod could take.") \
	X(I32, used, "used", BETWEEN(0, INT32_MAX), .column = "Used", .help = "Units held by Pods.")
FL_STRUCT(fl_test_capacity, FL_TEST_CAPACITY);

#define FL_TEST_POOL_STATUS(X) \
	X(OBJ(fl_test_capacity), capacity, "capacity", .help = "How much there is.") \
	FL_CONDITIONS(X)
FL_STRUCT(fl_test_pool_status, FL_TEST_POOL_STATUS);

#define FL_TEST_POOL(X) \
	FL_OBJECT(X) \
	X(OBJ(fl_test_pool_spec), spec, "spec", .required = true, .help = "What the pool is made of.") \
	X(OBJ(fl_test_pool_status), status, "status", .help = "What is so.")
FL_STRUCT(fl_test_pool, FL_TEST_POOL);
extern const struct fl_kind fl_test_pool_kind, fl_test_cluster_pool_kind;
