/* nv_abi.h - NVML as far as a node agent calls it: codes, structs as they lie in memory, names of symbols.
 *
 * Declarations of our own, so that no header of the vendor's is needed to build. Nothing here loads anything: who does
 * finds each symbol and keeps it in a struct fl_nv_calls (fl_nv_resolve). Every symbol is optional: a driver is as old
 * or as new as its owner wants, so a caller looks whether a member is NULL before it calls, and takes that for
 * FL_NV_NOT_SUPPORTED. A member has several names where the newest symbol takes the same arguments as the older ones;
 * they are tried in order. Where the arguments differ (memory and memory_v2) each has a member of its own.
 *
 * Structs with a `version` are filled in with FL_NV_VERSION(struct, n) before the call; a driver that does not know
 * that version answers FL_NV_ARGUMENT_VERSION_MISMATCH, and the next older one is tried. What a driver leaves alone
 * keeps the bytes that it had: zero what you pass.
 *
 * Handles are the driver's, good until shutdown, and never freed; those of MIG instances also end with their instance.
 * Texts are terminated by the driver within the length passed. Any call may block for as long as the hardware does.
 * Sizes and offsets are those of 64-bit Linux; tests/node/same_abi compares them with the vendor's header.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FL_NV_LIBRARY "libnvidia-ml.so.1"

struct fl_nv_device;            /* a whole GPU or a MIG device */
struct fl_nv_gi;                /* a GPU instance */
struct fl_nv_ci;                /* a compute instance */
struct fl_nv_event_set;

/* ---- what a call returns
 * ------------------------------------------------------------------------------------------ */

#define FL_NV_CODES(X) \
	X(SUCCESS, 0) \
	X(UNINITIALIZED, 1) \
	X(INVALID_ARGUMENT, 2) \
	X(NOT_SUPPORTED, 3) \
	X(NO_PERMISSION, 4) \
	X(ALREADY_INITIALIZED, 5) \
	X(NOT_FOUND, 6) \
	X(INSUFFICIENT_SIZE, 7) \
	X(INSUFFICIENT_POWER, 8) \
	X(DRIVER_NOT_LOADED, 9) \
	X(TIMEOUT, 10) \
	X(IRQ_ISSUE, 11) \
	X(LIBRARY_NOT_FOUND, 12) \
	X(FUNCTION_NOT_FOUND, 13) \
	X(CORRUPTED_INFOROM, 14) \
	X(GPU_IS_LOST, 15) \
	X(RESET_REQUIRED, 16) \
	X(OPERATING_SYSTEM, 17) \
	X(LIB_RM_VERSION_MISMATCH, 18) \
	X(IN_USE, 19) \
	X(MEMORY, 20) \
	X(NO_DATA, 21) \
	X(VGPU_ECC_NOT_SUPPORTED, 22) \
	X(INSUFFICIENT_RESOURCES, 23) \
	X(FREQ_NOT_SUPPORTED, 24) \
	X(ARGUMENT_VERSION_MISMATCH, 25) \
	X(DEPRECATED, 26) \
	X(NOT_READY, 27) \
	X(GPU_NOT_FOUND, 28) \
	X(INVALID_STATE, 29) \
	X(RESET_TYPE_NOT_SUPPORTED, 30) \
	X(UNKNOWN, 999)

#define FL_NV_CODE_(name, number) FL_NV_##name = (number),
enum fl_nv_code { FL_NV_CODES(FL_NV_CODE_) };
#undef FL_NV_CODE_

/* "GPU_IS_LOST"; NULL for a number that this header does not know. */
const char *fl_nv_code_name(int code);

/* ---- constants
 * ----------------------------------------------------------------------------------------------------- */

enum {
	/* Room for a text that never is too little. */
	FL_NV_TEXT = 96,
	FL_NV_PCI_TEXT = 32,
	/* NVLinks of one GPU, at most: NVML_NVLINK_MAX_LINKS is 36 in the headers of CUDA 13.4 (driver 615), the newest
	 * there are, and 18 in those of 13.0. */
	FL_NV_LINKS = 36,
	FL_NV_FIELDS_AT_ONCE = 100,     /* what one call for field values carries, at most */
};

enum fl_nv_enable { FL_NV_OFF, FL_NV_ON };
enum fl_nv_memory_error { FL_NV_CORRECTED, FL_NV_UNCORRECTED };
enum fl_nv_counter { FL_NV_VOLATILE, FL_NV_AGGREGATE };   /* since the driver was loaded; since the card was made */
enum fl_nv_location {
	FL_NV_L1, FL_NV_L2, FL_NV_DRAM, FL_NV_REGISTERS, FL_NV_TEXTURE, FL_NV_TEXTURE_SHM, FL_NV_CBU, FL_NV_SRAM,
};
enum fl_nv_clock { FL_NV_CLOCK_GRAPHICS, FL_NV_CLOCK_SM, FL_NV_CLOCK_MEM, FL_NV_CLOCK_VIDEO };
enum fl_nv_compute_mode {
	FL_NV_COMPUTE_DEFAULT, FL_NV_COMPUTE_EXCLUSIVE_THREAD, FL_NV_COMPUTE_PROHIBITED,
	FL_NV_COMPUTE_EXCLUSIVE_PROCESS,
};
enum fl_nv_topology {                                     /* the nearer, the smaller */
	FL_NV_TOPOLOGY_INTERNAL = 0, FL_NV_TOPOLOGY_SINGLE = 10, FL_NV_TOPOLOGY_MULTIPLE = 20,
	FL_NV_TOPOLOGY_HOSTBRIDGE = 30, FL_NV_TOPOLOGY_NODE = 40, FL_NV_TOPOLOGY_SYSTEM = 50,
};
enum fl_nv_p2p_caps { FL_NV_P2P_READ, FL_NV_P2P_WRITE, FL_NV_P2P_NVLINK, FL_NV_P2P_ATOMICS, FL_NV_P2P_PCI };
enum fl_nv_p2p_status {
	FL_NV_P2P_OK, FL_NV_P2P_CHIPSET_NOT_SUPPORTED, FL_NV_P2P_GPU_NOT_SUPPORTED, FL_NV_P2P_IOH_NOT_SUPPORTED,
	FL_NV_P2P_DISABLED, FL_NV_P2P_NOT_SUPPORTED, FL_NV_P2P_UNKNOWN,
};
enum fl_nv_link_peer {
	FL_NV_LINK_PEER_GPU = 0, FL_NV_LINK_PEER_NPU = 1, FL_NV_LINK_PEER_SWITCH = 2, FL_NV_LINK_PEER_UNKNOWN = 255,
};
enum fl_nv_brand {
	FL_NV_BRAND_UNKNOWN = 0, FL_NV_BRAND_TESLA = 2, FL_NV_BRAND_GEFORCE = 5, FL_NV_BRAND_NVIDIA_RTX = 13,
	FL_NV_BRAND_NVIDIA = 14,
};
enum fl_nv_arch {
	FL_NV_ARCH_KEPLER = 2, FL_NV_ARCH_MAXWELL = 3, FL_NV_ARCH_PASCAL = 4, FL_NV_ARCH_VOLTA = 5,
	FL_NV_ARCH_TURING = 6,
	FL_NV_ARCH_AMPERE = 7, FL_NV_ARCH_ADA = 8, FL_NV_ARCH_HOPPER = 9, FL_NV_ARCH_BLACKWELL = 10,
};

/* Kinds of event, as bits. Register only what the device supports. They come on whole GPUs, never on MIG devices. */
#define FL_NV_EVENT_SBE (1ull << 0)
#define FL_NV_EVENT_DBE (1ull << 1)
#define FL_NV_EVENT_PSTATE (1ull << 2)
#define FL_NV_EVENT_XID (1ull << 3)
#define FL_NV_EVENT_CLOCK (1ull << 4)
#define FL_NV_EVENT_POWER_SOURCE (1ull << 7)
#define FL_NV_EVENT_MIG_CONFIG (1ull << 8)
#define FL_NV_EVENT_SBE_STORM (1ull << 9)
#define FL_NV_EVENT_RETIREMENT (1ull << 10)
#define FL_NV_EVENT_RETIREMENT_FAILURE (1ull << 11)
#define FL_NV_EVENT_POISON (1ull << 12)
#define FL_NV_EVENT_FATAL_POISON (1ull << 13)
#define FL_NV_EVENT_UNAVAILABLE (1ull << 14)
#define FL_NV_EVENT_RECOVERY_ACTION (1ull << 15)

#define FL_NV_NO_INSTANCE UINT32_MAX    /* an event or a process of no GPU or compute instance */

/* MIG profiles are asked for by these numbers, and by nothing else: what a call to create wants is the `id` that the
 * answer carries. */
enum fl_nv_gi_profile_no {
	FL_NV_GI_1, FL_NV_GI_2, FL_NV_GI_3, FL_NV_GI_4, FL_NV_GI_7, FL_NV_GI_8, FL_NV_GI_6, FL_NV_GI_1_REV1,
	FL_NV_GI_2_REV1,
	FL_NV_GI_1_REV2, FL_NV_GI_1_GFX, FL_NV_GI_2_GFX, FL_NV_GI_4_GFX, FL_NV_GI_1_NO_ME, FL_NV_GI_2_NO_ME,
	FL_NV_GI_1_ALL_ME, FL_NV_GI_2_ALL_ME, FL_NV_GI_3_GFX, FL_NV_GI_COUNT
};
enum fl_nv_ci_profile_no {
	FL_NV_CI_1, FL_NV_CI_2, FL_NV_CI_3, FL_NV_CI_4, FL_NV_CI_7, FL_NV_CI_8, FL_NV_CI_6, FL_NV_CI_1_REV1,
	FL_NV_CI_7_NVL,
	FL_NV_CI_COUNT
};
enum { FL_NV_CI_ENGINES_SHARED };       /* the one engine profile that there is */
enum { FL_NV_GI_CAN_P2P = 1, FL_NV_GI_CAN_GFX = 2 };

enum fl_nv_fabric_state {
	FL_NV_FABRIC_NOT_SUPPORTED, FL_NV_FABRIC_NOT_STARTED, FL_NV_FABRIC_IN_PROGRESS, FL_NV_FABRIC_COMPLETED,
};
enum fl_nv_fabric_summary {
	FL_NV_FABRIC_SUMMARY_NONE, FL_NV_FABRIC_HEALTHY, FL_NV_FABRIC_UNHEALTHY, FL_NV_FABRIC_LIMITED,
};

/* Parts of the fabric's health mask: each FL_NV_FABRIC_BITS(mask, part) is 0 unknown, 1 yes, 2 no; of CONFIG 1 is
 * fine. */
enum {
	FL_NV_FABRIC_DEGRADED_BW = 0, FL_NV_FABRIC_ROUTE_RECOVERY = 2, FL_NV_FABRIC_ROUTE_UNHEALTHY = 4,
	FL_NV_FABRIC_ACCESS_TIMEOUT = 6, FL_NV_FABRIC_CONFIG = 8, FL_NV_FABRIC_PARTITION_ASSIGNED = 12,
};
#define FL_NV_FABRIC_BITS(mask, part) (((mask) >> (part)) & ((part) == FL_NV_FABRIC_CONFIG ? 15u : 3u))

enum fl_nv_recovery {
	FL_NV_RECOVERY_NONE, FL_NV_RECOVERY_RESET, FL_NV_RECOVERY_REBOOT, FL_NV_RECOVERY_DRAIN_P2P,
	FL_NV_RECOVERY_DRAIN_RESET,
	FL_NV_RECOVERY_IMEX_DOMAIN,
};

/* What field_values can be asked for. */
enum fl_nv_field {
	FL_NV_FIELD_ECC_CURRENT = 1, FL_NV_FIELD_ECC_PENDING = 2,
	FL_NV_FIELD_SBE_VOLATILE = 3, FL_NV_FIELD_DBE_VOLATILE = 4, FL_NV_FIELD_SBE_AGGREGATE = 5,
	FL_NV_FIELD_DBE_AGGREGATE = 6,
	FL_NV_FIELD_RETIRED_SBE = 29, FL_NV_FIELD_RETIRED_DBE = 30, FL_NV_FIELD_RETIRED_PENDING = 31,
	FL_NV_FIELD_NVLINK_CRC_FLIT = 38, FL_NV_FIELD_NVLINK_REPLAY = 52, FL_NV_FIELD_NVLINK_RECOVERY = 59,
	FL_NV_FIELD_MEMORY_TEMPERATURE = 82, FL_NV_FIELD_ENERGY = 83,
	FL_NV_FIELD_NVLINK_SPEED = 90, FL_NV_FIELD_NVLINK_COUNT = 91, FL_NV_FIELD_PCIE_REPLAY = 94,
	FL_NV_FIELD_NVLINK_DATA_TX = 138, FL_NV_FIELD_NVLINK_DATA_RX = 139, /* KiB; scope: link, or UINT32_MAX for
									       all */
	FL_NV_FIELD_REMAPPED_CORRECTABLE = 142, FL_NV_FIELD_REMAPPED_UNCORRECTABLE = 143,
	FL_NV_FIELD_REMAPPED_PENDING = 144, FL_NV_FIELD_REMAPPED_FAILURE = 145,
	FL_NV_FIELD_RESETLESS_MIG = 184, FL_NV_FIELD_POWER_AVERAGE = 185, FL_NV_FIELD_POWER_INSTANT = 186,  /* mW */
	FL_NV_FIELD_RECOVERY_ACTION = 230,                                      /* enum fl_nv_recovery */
};
/* Fields that the exporter asks for by the numbers of its table (plan/exporter/field.h). */
enum {
	/* ns: slowed down by power, temperature, sync boost, the board, low use, reliability; newer ones. */
	FL_NV_FIELD_VIOLATION_FIRST = 74, FL_NV_FIELD_VIOLATION_LAST = 79, FL_NV_FIELD_SW_THERMAL = 269,
	FL_NV_FIELD_HW_THERMAL = 270, FL_NV_FIELD_POWER_BRAKE = 271,
	FL_NV_FIELD_NVLINK_CRC_DATA = 45, FL_NV_FIELD_PCIE_TX = 197, FL_NV_FIELD_PCIE_RX = 198, /* bytes */
	/* NVLink 5, the link in the scope: packets and bytes sent and received, then errors. */
	FL_NV_FIELD_NVLINK5_FIRST = 201, FL_NV_FIELD_NVLINK5_TX_BYTES = 202, FL_NV_FIELD_NVLINK5_RX_BYTES = 204,
	FL_NV_FIELD_NVLINK5_LAST = 222,
};
enum fl_nv_value_type {
	FL_NV_VALUE_DOUBLE, FL_NV_VALUE_U32, FL_NV_VALUE_ULONG, FL_NV_VALUE_U64, FL_NV_VALUE_I64, FL_NV_VALUE_I32,
	FL_NV_VALUE_U16,
};

/* ---- structs
 * ------------------------------------------------------------------------------------------------------- */

/* The word that says which layout a struct has: FL_NV_VERSION(struct fl_nv_memory_v2, 2). */
#define FL_NV_VERSION(type, number) ((uint32_t)sizeof(type) | (uint32_t)(number) << 24)

struct fl_nv_pci {
	char bus_id_legacy[16];
	uint32_t domain, bus, device;
	uint32_t id;                    /* device << 16 | vendor */
	uint32_t subsystem;
	char bus_id[FL_NV_PCI_TEXT];    /* "00000000:07:00.0"; drivers without _v3 leave it alone: zero it first */
};

struct fl_nv_memory {
	uint64_t total, free, used;     /* bytes; used holds what the driver reserved */
};

struct fl_nv_memory_v2 {
	uint32_t version;               /* 2 */
	uint64_t total, reserved, free, used;
};

struct fl_nv_bar1 {
	uint64_t total, free, used;
};

struct fl_nv_utilisation {
	uint32_t gpu, memory;           /* per cent of the last sample */
};

/* memory is UINT64_MAX where the driver cannot tell. Drivers from 535.43 to 535.86 write 32 bytes for each process of
 * compute_processes, ours are 24: with those, ask for one more than there are and distrust all but the first. */
struct fl_nv_process {
	uint32_t pid;
	uint64_t memory;
	uint32_t gi, ci;
};

struct fl_nv_process_v1 {
	uint32_t pid;
	uint64_t memory;
};

struct fl_nv_attributes {
	uint32_t multiprocessors, copy_engines, decoders, encoders, jpegs, ofas, gi_slices, ci_slices;
	uint64_t memory_mib;
};

struct fl_nv_placement {
	uint32_t start, size;           /* in memory slices */
};

struct fl_nv_gi_profile {
	uint32_t id, p2p, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
	uint64_t memory_mib;
};

struct fl_nv_gi_profile_v2 {
	uint32_t version;               /* 2 */
	uint32_t id, p2p, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
	uint64_t memory_mib;
	char name[96];
};

struct fl_nv_gi_profile_v3 {
	uint32_t version;               /* 3 */
	uint32_t id, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
	uint64_t memory_mib;
	char name[96];
	uint32_t can;                   /* FL_NV_GI_CAN_* */
};

struct fl_nv_gi_info {
	struct fl_nv_device *device;
	uint32_t id, profile;
	struct fl_nv_placement placement;
};

struct fl_nv_ci_profile {
	uint32_t id, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
};

struct fl_nv_ci_profile_v2 {
	uint32_t version;               /* 2 */
	uint32_t id, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
	char name[96];
};

struct fl_nv_ci_profile_v3 {
	uint32_t version;               /* 3 */
	uint32_t id, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
	char name[96];
	uint32_t can;
};

struct fl_nv_ci_info {
	struct fl_nv_device *device;
	struct fl_nv_gi *gi;
	uint32_t id, profile;
	struct fl_nv_placement placement;
};

struct fl_nv_event {
	struct fl_nv_device *device;
	uint64_t type;                  /* one of FL_NV_EVENT_* */
	uint64_t data;                  /* the XID of FL_NV_EVENT_XID */
	uint32_t gi, ci;                /* FL_NV_NO_INSTANCE: of the whole GPU */
};

struct fl_nv_fabric {
	uint8_t cluster[16];
	int32_t status;                 /* enum fl_nv_code; means something when state is COMPLETED */
	uint32_t clique;
	uint8_t state;                  /* enum fl_nv_fabric_state */
};

struct fl_nv_fabric_v2 {
	uint32_t version;               /* 2 */
	uint8_t cluster[16];
	int32_t status;
	uint32_t clique;
	uint8_t state;
	uint32_t health;                /* see FL_NV_FABRIC_BITS */
};

struct fl_nv_fabric_v3 {
	uint32_t version;               /* 3 */
	uint8_t cluster[16];
	int32_t status;
	uint32_t clique;
	uint8_t state;
	uint32_t health;
	uint8_t summary;                /* enum fl_nv_fabric_summary */
};

struct fl_nv_platform_v2 {
	uint32_t version;               /* 2 */
	uint8_t ib_guid[16];
	uint8_t chassis_serial[16];     /* not always terminated */
	uint8_t slot, tray, host, peer_type, module;
};

/* Metrics of the time between two samples of a device, 100 ms apart or more. Headers differ in how many fit, under one
 * version: this is room for the most. A metric's texts are the driver's own. */
enum { FL_NV_GPM_METRICS = 512 };   /* 477 in the headers of CUDA 13.4 */
struct fl_nv_gpm_sample;
struct fl_nv_gpm_metric {
	uint32_t id;                    /* in */
	int32_t code;                   /* of this metric alone */
	double value;                   /* NaN: none */
	const char *texts[3];
};
struct fl_nv_gpm_metrics {
	uint32_t version;               /* the plain number 1 */
	uint32_t count;
	struct fl_nv_gpm_sample *from, *to;
	struct fl_nv_gpm_metric at[FL_NV_GPM_METRICS];
};
struct fl_nv_gpm_support {
	uint32_t version;               /* the plain number 1 */
	uint32_t is;
};

struct fl_nv_field_value {
	uint32_t field, scope;          /* in */
	int64_t timestamp, latency_us;
	uint32_t type;                  /* enum fl_nv_value_type */
	int32_t code;                   /* of this field alone */
	union {
		double f64;
		int32_t i32;
		uint32_t u32;
		unsigned long ulong;
		uint64_t u64;
		int64_t i64;
		uint16_t u16;
	} value;
};

#define FL_NV_AT_(type, member, offset) _Static_assert(offsetof(struct type, member) == (offset), #type "." #member)
#define FL_NV_SIZE_(type, size) _Static_assert(sizeof(struct type) == (size), #type)
FL_NV_SIZE_(fl_nv_pci, 68);
FL_NV_AT_(fl_nv_pci, id, 28);
FL_NV_AT_(fl_nv_pci, bus_id, 36);
FL_NV_SIZE_(fl_nv_memory, 24);
FL_NV_SIZE_(fl_nv_memory_v2, 40);
FL_NV_AT_(fl_nv_memory_v2, total, 8);
FL_NV_AT_(fl_nv_memory_v2, free, 24);
FL_NV_SIZE_(fl_nv_bar1, 24);
FL_NV_SIZE_(fl_nv_utilisation, 8);
FL_NV_SIZE_(fl_nv_process, 24);
FL_NV_AT_(fl_nv_process, gi, 16);
FL_NV_SIZE_(fl_nv_process_v1, 16);
FL_NV_SIZE_(fl_nv_attributes, 40);
FL_NV_AT_(fl_nv_attributes, memory_mib, 32);
FL_NV_SIZE_(fl_nv_placement, 8);
FL_NV_SIZE_(fl_nv_gi_profile, 48);
FL_NV_AT_(fl_nv_gi_profile, memory_mib, 40);
FL_NV_SIZE_(fl_nv_gi_profile_v2, 152);
FL_NV_AT_(fl_nv_gi_profile_v2, name, 56);
FL_NV_SIZE_(fl_nv_gi_profile_v3, 152);
FL_NV_AT_(fl_nv_gi_profile_v3, memory_mib, 40);
FL_NV_AT_(fl_nv_gi_profile_v3, can, 144);
FL_NV_SIZE_(fl_nv_gi_info, 24);
FL_NV_AT_(fl_nv_gi_info, placement, 16);
FL_NV_SIZE_(fl_nv_ci_profile, 36);
FL_NV_SIZE_(fl_nv_ci_profile_v2, 136);
FL_NV_SIZE_(fl_nv_ci_profile_v3, 140);
FL_NV_AT_(fl_nv_ci_profile_v3, can, 136);
FL_NV_SIZE_(fl_nv_ci_info, 32);
FL_NV_SIZE_(fl_nv_event, 32);
FL_NV_AT_(fl_nv_event, gi, 24);
FL_NV_SIZE_(fl_nv_fabric, 28);
FL_NV_AT_(fl_nv_fabric, state, 24);
FL_NV_SIZE_(fl_nv_fabric_v2, 36);
FL_NV_AT_(fl_nv_fabric_v2, health, 32);
FL_NV_SIZE_(fl_nv_fabric_v3, 40);
FL_NV_AT_(fl_nv_fabric_v3, summary, 36);
FL_NV_SIZE_(fl_nv_platform_v2, 44);
FL_NV_AT_(fl_nv_platform_v2, slot, 36);
FL_NV_SIZE_(fl_nv_gpm_metric, 40);
FL_NV_SIZE_(fl_nv_gpm_metrics, 24 + 512 * 40);
FL_NV_AT_(fl_nv_gpm_metrics, at, 24);
FL_NV_SIZE_(fl_nv_gpm_support, 8);
FL_NV_SIZE_(fl_nv_field_value, 40);
FL_NV_AT_(fl_nv_field_value, value, 32);

/* ---- calls
 * --------------------------------------------------------------------------------------------------------- */

/* X(result, member, arguments, names, the newest first). In a list, *count is what fits, then how many there are;
 * FL_NV_INSUFFICIENT_SIZE says that it was too little. `any` is any version of the struct named beside it.
 *
 * Without a caller yet: those for attribution (processes, brand), for partitioning (set_mig_mode, gi_*, ci_*), for DRA
 * (architecture, platform, link and P2P state), and by_uuid, is_mig and mig_parent, which the peers of the tests ask
 * the fake driver. */
#define FL_NV_CALLS(X) \
	/* life */ \
	X(int, init, (void), "nvmlInit_v2", "nvmlInit") \
	X(int, shutdown, (void), "nvmlShutdown") \
	X(const char *, error_string, (int code), "nvmlErrorString") \
	/* system */ \
	X(int, driver_version, (char *text, uint32_t size), "nvmlSystemGetDriverVersion") \
	X(int, cuda_version, (int *version), "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion") \
	/* which devices there are */ \
	X(int, count, (uint32_t *count), "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount") \
	X(int, by_index, (uint32_t index, struct fl_nv_device **device), \
	  "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex") \
	X(int, by_uuid, (const char *uuid, struct fl_nv_device **device), "nvmlDeviceGetHandleByUUID") \
	X(int, by_pci, (const char *bus_id, struct fl_nv_device **device), \
	  "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId") \
	/* what a device is */ \
	X(int, uuid, (struct fl_nv_device *d, char *text, uint32_t size), "nvmlDeviceGetUUID") \
	X(int, name, (struct fl_nv_device *d, char *text, uint32_t size), "nvmlDeviceGetName") \
	X(int, index, (struct fl_nv_device *d, uint32_t *index), "nvmlDeviceGetIndex") \
	X(int, minor, (struct fl_nv_device *d, uint32_t *minor), "nvmlDeviceGetMinorNumber") \
	X(int, pci, (struct fl_nv_device *d, struct fl_nv_pci *pci), \
	  "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2") \
	X(int, brand, (struct fl_nv_device *d, uint32_t *brand), "nvmlDeviceGetBrand") \
	X(int, architecture, (struct fl_nv_device *d, uint32_t *arch), "nvmlDeviceGetArchitecture") \
	X(int, compute_capability, (struct fl_nv_device *d, int *major, int *minor), \
	  "nvmlDeviceGetCudaComputeCapability") \
	X(int, serial, (struct fl_nv_device *d, char *text, uint32_t size), "nvmlDeviceGetSerial") \
	X(int, vbios, (struct fl_nv_device *d, char *text, uint32_t size), "nvmlDeviceGetVbiosVersion") \
	X(int, platform, (struct fl_nv_device *d, void *any), "nvmlDeviceGetPlatformInfo") \
	X(int, compute_mode, (struct fl_nv_device *d, uint32_t *mode), "nvmlDeviceGetComputeMode") \
	X(int, set_compute_mode, (struct fl_nv_device *d, uint32_t mode), "nvmlDeviceSetComputeMode") \
	/* memory and processes */ \
	X(int, memory_v2, (struct fl_nv_device *d, struct fl_nv_memory_v2 *memory), "nvmlDeviceGetMemoryInfo_v2") \
	X(int, memory, (struct fl_nv_device *d, struct fl_nv_memory *memory), "nvmlDeviceGetMemoryInfo") \
	X(int, bar1, (struct fl_nv_device *d, struct fl_nv_bar1 *bar1), "nvmlDeviceGetBAR1MemoryInfo") \
	X(int, compute_processes, (struct fl_nv_device *d, uint32_t *count, struct fl_nv_process *list), \
	  "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2") \
	X(int, compute_processes_v1, (struct fl_nv_device *d, uint32_t *count, struct fl_nv_process_v1 *list), \
	  "nvmlDeviceGetComputeRunningProcesses") \
	X(int, graphics_processes, (struct fl_nv_device *d, uint32_t *count, struct fl_nv_process *list), \
	  "nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2") \
	/* telemetry */ \
	X(int, power, (struct fl_nv_device *d, uint32_t *mw), "nvmlDeviceGetPowerUsage") \
	X(int, power_limit, (struct fl_nv_device *d, uint32_t *mw), \
	  "nvmlDeviceGetEnforcedPowerLimit") \
	X(int, power_set_limit, (struct fl_nv_device *d, uint32_t *mw), "nvmlDeviceGetPowerManagementLimit") \
	X(int, power_default, (struct fl_nv_device *d, uint32_t *mw), "nvmlDeviceGetPowerManagementDefaultLimit") \
	X(int, power_range, (struct fl_nv_device *d, uint32_t *min_mw, uint32_t *max_mw), \
	  "nvmlDeviceGetPowerManagementLimitConstraints") \
	X(int, energy, (struct fl_nv_device *d, unsigned long long *mj), "nvmlDeviceGetTotalEnergyConsumption") \
	X(int, temperature, (struct fl_nv_device *d, uint32_t sensor, uint32_t *celsius), "nvmlDeviceGetTemperature") \
	X(int, threshold, (struct fl_nv_device *d, uint32_t which, uint32_t *celsius), \
	  "nvmlDeviceGetTemperatureThreshold") \
	X(int, fan, (struct fl_nv_device *d, uint32_t *percent), "nvmlDeviceGetFanSpeed") \
	X(int, utilisation, (struct fl_nv_device *d, struct fl_nv_utilisation *rates), \
	  "nvmlDeviceGetUtilizationRates") \
	X(int, encoder, (struct fl_nv_device *d, uint32_t *percent, uint32_t *period_us), \
	  "nvmlDeviceGetEncoderUtilization") \
	X(int, decoder, (struct fl_nv_device *d, uint32_t *percent, uint32_t *period_us), \
	  "nvmlDeviceGetDecoderUtilization") \
	X(int, clock, (struct fl_nv_device *d, uint32_t which, uint32_t *mhz), "nvmlDeviceGetClockInfo") \
	X(int, max_clock, (struct fl_nv_device *d, uint32_t which, uint32_t *mhz), "nvmlDeviceGetMaxClockInfo") \
	X(int, app_clock, (struct fl_nv_device *d, uint32_t which, uint32_t *mhz), "nvmlDeviceGetApplicationsClock") \
	X(int, clock_reasons, (struct fl_nv_device *d, unsigned long long *reasons), \
	  "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons") \
	X(int, performance_state, (struct fl_nv_device *d, uint32_t *state), "nvmlDeviceGetPerformanceState") \
	X(int, pcie_replays, (struct fl_nv_device *d, uint32_t *count), "nvmlDeviceGetPcieReplayCounter") \
	X(int, pcie_generation, (struct fl_nv_device *d, uint32_t *generation), "nvmlDeviceGetCurrPcieLinkGeneration") \
	X(int, pcie_width, (struct fl_nv_device *d, uint32_t *lanes), "nvmlDeviceGetCurrPcieLinkWidth") \
	X(int, pcie_max_generation, (struct fl_nv_device *d, uint32_t *generation), \
	  "nvmlDeviceGetMaxPcieLinkGeneration") \
	X(int, pcie_max_width, (struct fl_nv_device *d, uint32_t *lanes), "nvmlDeviceGetMaxPcieLinkWidth") \
	X(int, field_values, (struct fl_nv_device *d, int count, struct fl_nv_field_value *values), \
	  "nvmlDeviceGetFieldValues") \
	X(int, gpm_supported, (struct fl_nv_device *d, struct fl_nv_gpm_support *support), \
	  "nvmlGpmQueryDeviceSupport") \
	X(int, gpm_alloc, (struct fl_nv_gpm_sample **sample), "nvmlGpmSampleAlloc") \
	X(int, gpm_free, (struct fl_nv_gpm_sample *sample), "nvmlGpmSampleFree") \
	X(int, gpm_sample, (struct fl_nv_device *d, struct fl_nv_gpm_sample *sample), "nvmlGpmSampleGet") \
	X(int, gpm_sample_gi, (struct fl_nv_device *d, uint32_t gi, struct fl_nv_gpm_sample *sample), \
	  "nvmlGpmMigSampleGet") \
	X(int, gpm_metrics, (struct fl_nv_gpm_metrics *metrics), "nvmlGpmMetricsGet") \
	/* errors of memory */ \
	X(int, ecc_total, (struct fl_nv_device *d, uint32_t error, uint32_t counter, unsigned long long *count), \
	  "nvmlDeviceGetTotalEccErrors") \
	X(int, retired_pending, (struct fl_nv_device *d, uint32_t *pending), "nvmlDeviceGetRetiredPagesPendingStatus") \
	X(int, remapped_rows, (struct fl_nv_device *d, uint32_t *correctable, uint32_t *uncorrectable, \
	  uint32_t *pending, uint32_t *failed), \
	  "nvmlDeviceGetRemappedRows") \
	/* how devices are joined */ \
	X(int, common_ancestor, (struct fl_nv_device *a, struct fl_nv_device *b, uint32_t *level), \
	  "nvmlDeviceGetTopologyCommonAncestor") \
	X(int, p2p_status, (struct fl_nv_device *a, struct fl_nv_device *b, uint32_t caps, uint32_t *status), \
	  "nvmlDeviceGetP2PStatus") \
	X(int, link_state, (struct fl_nv_device *d, uint32_t link, uint32_t *on), "nvmlDeviceGetNvLinkState") \
	X(int, link_peer, (struct fl_nv_device *d, uint32_t link, struct fl_nv_pci *pci), \
	  "nvmlDeviceGetNvLinkRemotePciInfo_v2", "nvmlDeviceGetNvLinkRemotePciInfo") \
	X(int, link_errors, (struct fl_nv_device *d, uint32_t link, uint32_t counter, unsigned long long *count), \
	  "nvmlDeviceGetNvLinkErrorCounter") \
	X(int, link_peer_type, (struct fl_nv_device *d, uint32_t link, uint32_t *type), \
	  "nvmlDeviceGetNvLinkRemoteDeviceType") \
	X(int, fabric_any, (struct fl_nv_device *d, void *any), "nvmlDeviceGetGpuFabricInfoV") \
	X(int, fabric, (struct fl_nv_device *d, struct fl_nv_fabric *info), "nvmlDeviceGetGpuFabricInfo") \
	/* MIG: the card */ \
	X(int, mig_mode, (struct fl_nv_device *d, uint32_t *now, uint32_t *pending), "nvmlDeviceGetMigMode") \
	X(int, set_mig_mode, (struct fl_nv_device *d, uint32_t mode, int *activation), "nvmlDeviceSetMigMode") \
	X(int, gi_profile_any, (struct fl_nv_device *d, uint32_t number, void *any), \
	  "nvmlDeviceGetGpuInstanceProfileInfoV") \
	X(int, gi_profile, (struct fl_nv_device *d, uint32_t number, struct fl_nv_gi_profile *info), \
	  "nvmlDeviceGetGpuInstanceProfileInfo") \
	X(int, gi_placements, (struct fl_nv_device *d, uint32_t profile, struct fl_nv_placement *list, \
	  uint32_t *count), \
	  "nvmlDeviceGetGpuInstancePossiblePlacements_v2", "nvmlDeviceGetGpuInstancePossiblePlacements") \
	X(int, gi_create, (struct fl_nv_device *d, uint32_t profile, struct fl_nv_gi **gi), \
	  "nvmlDeviceCreateGpuInstance") \
	X(int, gi_create_at, (struct fl_nv_device *d, uint32_t profile, const struct fl_nv_placement *at, \
	  struct fl_nv_gi **gi), \
	  "nvmlDeviceCreateGpuInstanceWithPlacement") \
	X(int, gi_list, (struct fl_nv_device *d, uint32_t profile, struct fl_nv_gi **list, uint32_t *count), \
	  "nvmlDeviceGetGpuInstances") \
	X(int, gi_by_id, (struct fl_nv_device *d, uint32_t id, struct fl_nv_gi **gi), "nvmlDeviceGetGpuInstanceById") \
	X(int, gi_info, (struct fl_nv_gi *gi, struct fl_nv_gi_info *info), "nvmlGpuInstanceGetInfo") \
	X(int, gi_destroy, (struct fl_nv_gi *gi), "nvmlGpuInstanceDestroy") \
	/* MIG: compute instances */ \
	X(int, ci_profile_any, (struct fl_nv_gi *gi, uint32_t number, uint32_t engines, void *any), \
	  "nvmlGpuInstanceGetComputeInstanceProfileInfoV") \
	X(int, ci_profile, (struct fl_nv_gi *gi, uint32_t number, uint32_t engines, struct fl_nv_ci_profile *info), \
	  "nvmlGpuInstanceGetComputeInstanceProfileInfo") \
	X(int, ci_placements, (struct fl_nv_gi *gi, uint32_t profile, struct fl_nv_placement *list, uint32_t *count), \
	  "nvmlGpuInstanceGetComputeInstancePossiblePlacements") \
	X(int, ci_create, (struct fl_nv_gi *gi, uint32_t profile, struct fl_nv_ci **ci), \
	  "nvmlGpuInstanceCreateComputeInstance") \
	X(int, ci_create_at, (struct fl_nv_gi *gi, uint32_t profile, const struct fl_nv_placement *at, \
	  struct fl_nv_ci **ci), \
	  "nvmlGpuInstanceCreateComputeInstanceWithPlacement") \
	X(int, ci_list, (struct fl_nv_gi *gi, uint32_t profile, struct fl_nv_ci **list, uint32_t *count), \
	  "nvmlGpuInstanceGetComputeInstances") \
	X(int, ci_by_id, (struct fl_nv_gi *gi, uint32_t id, struct fl_nv_ci **ci), \
	  "nvmlGpuInstanceGetComputeInstanceById") \
	X(int, ci_info, (struct fl_nv_ci *ci, struct fl_nv_ci_info *info), \
	  "nvmlComputeInstanceGetInfo_v2", "nvmlComputeInstanceGetInfo") \
	X(int, ci_destroy, (struct fl_nv_ci *ci), "nvmlComputeInstanceDestroy") \
	/* MIG: devices */ \
	X(int, mig_max, (struct fl_nv_device *d, uint32_t *count), "nvmlDeviceGetMaxMigDeviceCount") \
	X(int, mig_by_index, (struct fl_nv_device *d, uint32_t index, struct fl_nv_device **mig), \
	  "nvmlDeviceGetMigDeviceHandleByIndex") \
	X(int, mig_parent, (struct fl_nv_device *mig, struct fl_nv_device **device), \
	  "nvmlDeviceGetDeviceHandleFromMigDeviceHandle") \
	X(int, is_mig, (struct fl_nv_device *d, uint32_t *yes), "nvmlDeviceIsMigDeviceHandle") \
	X(int, gi_id, (struct fl_nv_device *mig, uint32_t *id), "nvmlDeviceGetGpuInstanceId") \
	X(int, ci_id, (struct fl_nv_device *mig, uint32_t *id), "nvmlDeviceGetComputeInstanceId") \
	X(int, attributes, (struct fl_nv_device *mig, struct fl_nv_attributes *attributes), \
	  "nvmlDeviceGetAttributes_v2", "nvmlDeviceGetAttributes") \
	/* events */ \
	X(int, event_types, (struct fl_nv_device *d, unsigned long long *types), "nvmlDeviceGetSupportedEventTypes") \
	X(int, event_set_create, (struct fl_nv_event_set **set), "nvmlEventSetCreate") \
	X(int, event_register, (struct fl_nv_device *d, unsigned long long types, struct fl_nv_event_set *set), \
	  "nvmlDeviceRegisterEvents") \
	X(int, event_wait, (struct fl_nv_event_set *set, struct fl_nv_event *event, uint32_t timeout_ms), \
	  "nvmlEventSetWait_v2") \
	X(int, event_set_free, (struct fl_nv_event_set *set), "nvmlEventSetFree")

#define FL_NV_MEMBER_(result, member, arguments, ...) result (*member) arguments;
struct fl_nv_calls { FL_NV_CALLS(FL_NV_MEMBER_) };
#undef FL_NV_MEMBER_

#define FL_NV_NAMES_MAX 3   /* of one call: no call has been renamed more often */

/* What each member of struct fl_nv_calls is called in the library, in the order of the members; unused names are
 * NULL. */
struct fl_nv_symbol {
	const char *member;
	const char *names[FL_NV_NAMES_MAX];
};
extern const struct fl_nv_symbol fl_nv_symbols[];
extern const size_t fl_nv_symbols_n;

/* Asks find(library, name) for every symbol, name after name; find is dlsym, or a test's own. Members without one
 * become NULL. Returns how many were found. */
size_t fl_nv_resolve(struct fl_nv_calls *calls, void *(*find)(void *library, const char *name), void *library);
