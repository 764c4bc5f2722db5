/* field.h - what the exporter can tell of a GPU: one row a field, by the names of DCGM and its exporter.
 *
 *     X(SM_CLOCK, "DCGM_FI_DEV_SM_CLOCK", NULL, "dcgm_sm_clock", 100, GAUGE, GPU, CLOCK, 1, 1, WHOLE, true, "help")
 *
 * its name, the name since DCGM 4.6, the name of the exporter's version 1, DCGM's number, the metric's type, whose
 * value it is, where NVML has it and with which argument, what the value is multiplied by, how it is printed, whether
 * it is in the default list, and the help text. NULL: has none. Rows without a name are sources of fairlead_gpu_*
 * (own.h).
 *
 * From here come the names that a list may have, the default list, what the driver is asked for (node/gpu/sample.c),
 * and the table in docs/METRICS.md.
 */
#pragma once
#include "base/names.h"

#define FL_DCGM_LINKS 36        /* NVLinks of one GPU, at most: as many as NVML has */
#define FL_DCGM_NAMED_LINKS 18  /* ... for which DCGM has names of their own */

enum fl_dcgm_type { FL_DCGM_GAUGE, FL_DCGM_COUNTER, FL_DCGM_LABEL, FL_DCGM_TYPE_COUNT_ };
extern const struct fl_names fl_dcgm_type_names;

enum fl_dcgm_level {
	FL_DCGM_OF_GPU,          /* GPU instances repeat the value of their GPU */
	FL_DCGM_OF_INSTANCE,     /* a GPU instance has a value of its own */
	FL_DCGM_OF_LINK,         /* a line a link */
	FL_DCGM_OF_NAMED_LINK,   /* '#' in the name is the link */
};

/* The argument: FIELD and FIELD_SUM, VIOLATION: NVML's number of the field; CLOCK: 1 SM, 2 memory, 3 video; THRESHOLD:
 * NVML's; MEMORY and BAR1: 0 total, 1 free, 2 used, 3 reserved, 4 the ratio of used; GPM: NVML's metric. */
enum fl_dcgm_source {
	FL_DCGM_FROM_FIELD, FL_DCGM_FROM_FIELD_SUM /* over all links */, FL_DCGM_FROM_LINK_ERRORS,
	FL_DCGM_FROM_VIOLATION, FL_DCGM_FROM_CLOCK, FL_DCGM_FROM_APP_CLOCK, FL_DCGM_FROM_MAX_CLOCK,
	FL_DCGM_FROM_CLOCK_REASONS, FL_DCGM_FROM_TEMPERATURE, FL_DCGM_FROM_MEMORY_TEMP, FL_DCGM_FROM_THRESHOLD,
	FL_DCGM_FROM_POWER, FL_DCGM_FROM_POWER_LIMIT, FL_DCGM_FROM_ENERGY, FL_DCGM_FROM_PSTATE, FL_DCGM_FROM_FAN,
	FL_DCGM_FROM_UTILISATION, FL_DCGM_FROM_ENCODER, FL_DCGM_FROM_DECODER, FL_DCGM_FROM_PCIE,
	FL_DCGM_FROM_PCIE_REPLAYS, FL_DCGM_FROM_MEMORY, FL_DCGM_FROM_BAR1, FL_DCGM_FROM_FABRIC, FL_DCGM_FROM_GPM,
	FL_DCGM_FROM_SERIAL, FL_DCGM_FROM_VBIOS, FL_DCGM_FROM_CLUSTER,
	/* The agent's own: of what the driver has told otherwise. */
	FL_DCGM_FROM_DRIVER, FL_DCGM_FROM_XID, FL_DCGM_FROM_XID_COUNT, FL_DCGM_FROM_CLOCK_COUNT,
	FL_DCGM_FROM_NVLINK_RATE,
	FL_DCGM_FROM_NOTHING,    /* of a guest of a hypervisor: a host has none */
};

enum fl_dcgm_form { FL_DCGM_WHOLE, FL_DCGM_DECIMAL, FL_DCGM_TEXT };

#define FL_DCGM_FIELDS(X) \
	X(SM_CLOCK, "DCGM_FI_DEV_SM_CLOCK", NULL, "dcgm_sm_clock", 100, GAUGE, GPU, CLOCK, 1, 1, WHOLE, true, \
	  "SM clock frequency (in MHz).") \
	X(MEM_CLOCK, "DCGM_FI_DEV_MEM_CLOCK", NULL, "dcgm_memory_clock", 101, GAUGE, GPU, CLOCK, 2, 1, WHOLE, true, \
	  "Memory clock frequency (in MHz).") \
	X(MEMORY_TEMP, "DCGM_FI_DEV_MEMORY_TEMP", "DCGM_FI_DEV_MEMORY_TEMP_CELSIUS", \
	  "dcgm_memory_temp", 140, GAUGE, GPU, MEMORY_TEMP, 0, 1, WHOLE, true, "Memory temperature (in C).") \
	X(GPU_TEMP, "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_TEMP_CELSIUS", \
	  "dcgm_gpu_temp", 150, GAUGE, GPU, TEMPERATURE, 0, 1, WHOLE, true, "GPU temperature (in C).") \
	X(POWER_USAGE, "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS", \
	  "dcgm_power_usage", 155, GAUGE, GPU, POWER, 0, 1e-3, DECIMAL, true, "Power draw (in W).") \
	X(TOTAL_ENERGY_CONSUMPTION, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", NULL, \
	  "dcgm_total_energy_consumption", 156, COUNTER, GPU, ENERGY, 0, 1, WHOLE, true, \
	  "Total energy consumption since the driver was loaded (in mJ).") \
	X(PCIE_REPLAY_COUNTER, "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "DCGM_FI_DEV_PCIE_REPLAY_TOTAL", \
	  "dcgm_pcie_replay_counter", 202, COUNTER, GPU, PCIE_REPLAYS, 0, 1, WHOLE, true, \
	  "Total number of PCIe retries.") \
	X(GPU_UTIL, "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL_RATIO", \
	  "dcgm_gpu_utilization", 203, GAUGE, GPU, UTILISATION, 0, 1, WHOLE, true, "GPU utilization (in %).") \
	X(MEM_COPY_UTIL, "DCGM_FI_DEV_MEM_COPY_UTIL", NULL, \
	  "dcgm_mem_copy_utilization", 204, GAUGE, GPU, UTILISATION, 1, 1, WHOLE, true, \
	  "Memory utilization (in %).") \
	X(ENC_UTIL, "DCGM_FI_DEV_ENC_UTIL", NULL, \
	  "dcgm_enc_utilization", 206, GAUGE, GPU, ENCODER, 0, 1, WHOLE, true, "Encoder utilization (in %).") \
	X(DEC_UTIL, "DCGM_FI_DEV_DEC_UTIL", NULL, \
	  "dcgm_dec_utilization", 207, GAUGE, GPU, DECODER, 0, 1, WHOLE, true, "Decoder utilization (in %).") \
	X(XID_ERRORS, "DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_XID_ERROR", \
	  "dcgm_xid_errors", 230, GAUGE, INSTANCE, XID, 0, 1, WHOLE, true, \
	  "Value of the last XID error encountered.") \
	X(FB_FREE, "DCGM_FI_DEV_FB_FREE", NULL, "dcgm_fb_free", 251, GAUGE, INSTANCE, MEMORY, 1, 1, WHOLE, true, \
	  "Framebuffer memory free (in MiB).") \
	X(FB_USED, "DCGM_FI_DEV_FB_USED", NULL, "dcgm_fb_used", 252, GAUGE, INSTANCE, MEMORY, 2, 1, WHOLE, true, \
	  "Framebuffer memory used (in MiB).") \
	X(FB_RESERVED, "DCGM_FI_DEV_FB_RESERVED", NULL, NULL, 253, GAUGE, INSTANCE, MEMORY, 3, 1, WHOLE, true, \
	  "Framebuffer memory reserved (in MiB).") \
	X(NVLINK_BANDWIDTH_TOTAL, "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "DCGM_FI_DEV_NVLINK_THROUGHPUT_TOTAL", \
	  "dcgm_nvlink_bandwidth_total", 449, COUNTER, GPU, NVLINK_RATE, 0, 1, WHOLE, true, \
	  "NVLink bandwidth of all links (in MB/s).") \
	X(UNCORRECTABLE_REMAPPED_ROWS, "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", \
	  "DCGM_FI_DEV_ROW_REMAP_UNCORRECTABLE_TOTAL", \
	  NULL, 393, COUNTER, GPU, FIELD, 143, 1, WHOLE, true, "Number of remapped rows for uncorrectable errors.") \
	X(CORRECTABLE_REMAPPED_ROWS, "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", \
	  "DCGM_FI_DEV_ROW_REMAP_CORRECTABLE_TOTAL", \
	  NULL, 394, COUNTER, GPU, FIELD, 142, 1, WHOLE, true, "Number of remapped rows for correctable errors.") \
	X(ROW_REMAP_FAILURE, "DCGM_FI_DEV_ROW_REMAP_FAILURE", "DCGM_FI_DEV_ROW_REMAP_FAILED", \
	  NULL, 395, GAUGE, GPU, FIELD, 145, 1, WHOLE, true, "Whether remapping of rows has failed.") \
	X(PROF_GR_ENGINE_ACTIVE, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", \
	  "dcgm_fi_prof_gr_engine_active", 1001, GAUGE, INSTANCE, GPM, 1, 0.01, DECIMAL, true, \
	  "Ratio of time the graphics engine is active.") \
	X(PROF_PIPE_TENSOR_ACTIVE, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_TENSOR_UTIL_RATIO", \
	  "dcgm_fi_prof_pipe_tensor_active", 1004, GAUGE, INSTANCE, GPM, 5, 0.01, DECIMAL, true, \
	  "Ratio of cycles the tensor (HMMA) pipe is active.") \
	X(PROF_DRAM_ACTIVE, "DCGM_FI_PROF_DRAM_ACTIVE", "DCGM_FI_PROF_DRAM_UTIL_RATIO", \
	  "dcgm_fi_prof_dram_active", 1005, GAUGE, INSTANCE, GPM, 10, 0.01, DECIMAL, true, \
	  "Ratio of cycles the device memory interface is active.") \
	X(PROF_PCIE_TX_BYTES, "DCGM_FI_PROF_PCIE_TX_BYTES", NULL, \
	  "dcgm_fi_prof_pcie_tx_bytes", 1009, GAUGE, GPU, GPM, 20, 1048576, WHOLE, true, \
	  "Rate of data sent over PCIe (in bytes per second).") \
	X(PROF_PCIE_RX_BYTES, "DCGM_FI_PROF_PCIE_RX_BYTES", NULL, \
	  "dcgm_fi_prof_pcie_rx_bytes", 1010, GAUGE, GPU, GPM, 21, 1048576, WHOLE, true, \
	  "Rate of data received over PCIe (in bytes per second).") \
	X(DRIVER_VERSION, "DCGM_FI_DRIVER_VERSION", "DCGM_FI_SYSTEM_DRIVER_VERSION", \
	  NULL, 1, LABEL, GPU, DRIVER, 0, 1, TEXT, true, "Driver version.") \
	X(VGPU_LICENSE_STATUS, "DCGM_FI_DEV_VGPU_LICENSE_STATUS", NULL, NULL, 526, GAUGE, GPU, NOTHING, 0, 1, WHOLE, \
	  true, \
	  "vGPU license status.") \
	X(VIDEO_CLOCK, "DCGM_FI_DEV_VIDEO_CLOCK", NULL, NULL, 102, GAUGE, GPU, CLOCK, 3, 1, WHOLE, false, \
	  "Video clock frequency (in MHz).") \
	X(APP_SM_CLOCK, "DCGM_FI_DEV_APP_SM_CLOCK", NULL, NULL, 110, GAUGE, GPU, APP_CLOCK, 1, 1, WHOLE, false, \
	  "SM application clock (in MHz).") \
	X(APP_MEM_CLOCK, "DCGM_FI_DEV_APP_MEM_CLOCK", NULL, NULL, 111, GAUGE, GPU, APP_CLOCK, 2, 1, WHOLE, false, \
	  "Memory application clock (in MHz).") \
	X(CLOCK_THROTTLE_REASONS, "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", \
	  NULL, 112, GAUGE, GPU, CLOCK_REASONS, 0, 1, WHOLE, false, "Current clock event reasons (bit mask).") \
	X(MAX_SM_CLOCK, "DCGM_FI_DEV_MAX_SM_CLOCK", NULL, NULL, 113, GAUGE, GPU, MAX_CLOCK, 1, 1, WHOLE, false, \
	  "Maximum SM clock (in MHz).") \
	X(MAX_MEM_CLOCK, "DCGM_FI_DEV_MAX_MEM_CLOCK", NULL, NULL, 114, GAUGE, GPU, MAX_CLOCK, 2, 1, WHOLE, false, \
	  "Maximum memory clock (in MHz).") \
	X(MAX_VIDEO_CLOCK, "DCGM_FI_DEV_MAX_VIDEO_CLOCK", NULL, \
	  NULL, 115, GAUGE, GPU, MAX_CLOCK, 3, 1, WHOLE, false, "Maximum video clock (in MHz).") \
	X(MEM_MAX_OP_TEMP, "DCGM_FI_DEV_MEM_MAX_OP_TEMP", "DCGM_FI_DEV_MEMORY_MAX_OP_TEMP_CELSIUS", \
	  NULL, 151, GAUGE, GPU, THRESHOLD, 2, 1, WHOLE, false, \
	  "Maximum operating temperature of the memory (in C).") \
	X(GPU_MAX_OP_TEMP, "DCGM_FI_DEV_GPU_MAX_OP_TEMP", "DCGM_FI_DEV_GPU_MAX_OP_TEMP_CELSIUS", \
	  NULL, 152, GAUGE, GPU, THRESHOLD, 3, 1, WHOLE, false, "Maximum operating temperature of the GPU (in C).") \
	X(POWER_USAGE_INSTANT, "DCGM_FI_DEV_POWER_USAGE_INSTANT", "DCGM_FI_DEV_BOARD_POWER_RAW_WATTS", \
	  NULL, 157, GAUGE, GPU, FIELD, 186, 1e-3, DECIMAL, false, "Instantaneous power draw (in W).") \
	X(SLOWDOWN_TEMP, "DCGM_FI_DEV_SLOWDOWN_TEMP", "DCGM_FI_DEV_GPU_TEMP_SLOWDOWN_CELSIUS", \
	  NULL, 158, GAUGE, GPU, THRESHOLD, 1, 1, WHOLE, false, "Slowdown temperature (in C).") \
	X(SHUTDOWN_TEMP, "DCGM_FI_DEV_SHUTDOWN_TEMP", "DCGM_FI_DEV_GPU_TEMP_SHUTDOWN_CELSIUS", \
	  NULL, 159, GAUGE, GPU, THRESHOLD, 0, 1, WHOLE, false, "Shutdown temperature (in C).") \
	X(POWER_MGMT_LIMIT, "DCGM_FI_DEV_POWER_MGMT_LIMIT", "DCGM_FI_DEV_BOARD_POWER_LIMIT_REQUESTED_WATTS", \
	  NULL, 160, GAUGE, GPU, POWER_LIMIT, 1, 1e-3, DECIMAL, false, "Power limit (in W).") \
	X(POWER_MGMT_LIMIT_MIN, "DCGM_FI_DEV_POWER_MGMT_LIMIT_MIN", "DCGM_FI_DEV_BOARD_POWER_LIMIT_MIN_WATTS", \
	  NULL, 161, GAUGE, GPU, POWER_LIMIT, 2, 1e-3, DECIMAL, false, "Minimum power limit (in W).") \
	X(POWER_MGMT_LIMIT_MAX, "DCGM_FI_DEV_POWER_MGMT_LIMIT_MAX", "DCGM_FI_DEV_BOARD_POWER_LIMIT_MAX_WATTS", \
	  NULL, 162, GAUGE, GPU, POWER_LIMIT, 3, 1e-3, DECIMAL, false, "Maximum power limit (in W).") \
	X(POWER_MGMT_LIMIT_DEF, "DCGM_FI_DEV_POWER_MGMT_LIMIT_DEF", "DCGM_FI_DEV_BOARD_POWER_LIMIT_DEFAULT_WATTS", \
	  NULL, 163, GAUGE, GPU, POWER_LIMIT, 4, 1e-3, DECIMAL, false, "Default power limit (in W).") \
	X(ENFORCED_POWER_LIMIT, "DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "DCGM_FI_DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS", \
	  NULL, 164, GAUGE, GPU, POWER_LIMIT, 0, 1e-3, DECIMAL, false, "Enforced power limit (in W).") \
	X(FABRIC_MANAGER_STATUS, "DCGM_FI_DEV_FABRIC_MANAGER_STATUS", NULL, \
	  NULL, 170, GAUGE, GPU, FABRIC, 0, 1, WHOLE, false, \
	  "State of the fabric registration (0 not supported, 1 not started, 2 in progress, 3 success, 4 failure).") \
	X(FABRIC_MANAGER_ERROR_CODE, "DCGM_FI_DEV_FABRIC_MANAGER_ERROR_CODE", "DCGM_FI_DEV_FABRIC_MANAGER_ERROR", \
	  NULL, 171, GAUGE, GPU, FABRIC, 1, 1, WHOLE, false, "Error of the fabric registration.") \
	X(FABRIC_CLUSTER_UUID, "DCGM_FI_DEV_FABRIC_CLUSTER_UUID", NULL, \
	  NULL, 172, LABEL, GPU, CLUSTER, 0, 1, TEXT, false, "UUID of the fabric's cluster.") \
	X(FABRIC_CLIQUE_ID, "DCGM_FI_DEV_FABRIC_CLIQUE_ID", NULL, NULL, 173, GAUGE, GPU, FABRIC, 2, 1, WHOLE, false, \
	  "Clique of the fabric.") \
	X(FABRIC_HEALTH_MASK, "DCGM_FI_DEV_FABRIC_HEALTH_MASK", NULL, \
	  NULL, 174, GAUGE, GPU, FABRIC, 3, 1, WHOLE, false, "Health of the fabric (bit mask).") \
	X(FABRIC_HEALTH_SUMMARY, "DCGM_FI_DEV_FABRIC_HEALTH_SUMMARY", NULL, \
	  NULL, 175, GAUGE, GPU, FABRIC, 4, 1, WHOLE, false, \
	  "Health of the fabric (1 healthy, 2 unhealthy, 3 limited).") \
	X(PSTATE, "DCGM_FI_DEV_PSTATE", "DCGM_FI_DEV_GPU_PSTATE", NULL, 190, GAUGE, GPU, PSTATE, 0, 1, WHOLE, false, \
	  "Performance state (0 is the highest).") \
	X(FAN_SPEED, "DCGM_FI_DEV_FAN_SPEED", NULL, NULL, 191, GAUGE, GPU, FAN, 0, 1, WHOLE, false, \
	  "Fan speed (in %).") \
	X(PCIE_MAX_LINK_GEN, "DCGM_FI_DEV_PCIE_MAX_LINK_GEN", NULL, NULL, 235, GAUGE, GPU, PCIE, 2, 1, WHOLE, false, \
	  "Maximum PCIe generation.") \
	X(PCIE_MAX_LINK_WIDTH, "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", NULL, \
	  NULL, 236, GAUGE, GPU, PCIE, 3, 1, WHOLE, false, "Maximum PCIe link width.") \
	X(PCIE_LINK_GEN, "DCGM_FI_DEV_PCIE_LINK_GEN", NULL, NULL, 237, GAUGE, GPU, PCIE, 0, 1, WHOLE, false, \
	  "Current PCIe generation.") \
	X(PCIE_LINK_WIDTH, "DCGM_FI_DEV_PCIE_LINK_WIDTH", NULL, NULL, 238, GAUGE, GPU, PCIE, 1, 1, WHOLE, false, \
	  "Current PCIe link width.") \
	X(POWER_VIOLATION, "DCGM_FI_DEV_POWER_VIOLATION", NULL, \
	  "dcgm_power_violation", 240, COUNTER, GPU, FIELD, 74, 1, WHOLE, false, \
	  "Throttling duration due to the power limit (in ns).") \
	X(THERMAL_VIOLATION, "DCGM_FI_DEV_THERMAL_VIOLATION", NULL, \
	  "dcgm_thermal_violation", 241, COUNTER, GPU, VIOLATION, 75, 1, WHOLE, false, \
	  "Throttling duration due to the temperature (in ns).") \
	X(SYNC_BOOST_VIOLATION, "DCGM_FI_DEV_SYNC_BOOST_VIOLATION", NULL, \
	  "dcgm_sync_boost_violation", 242, COUNTER, GPU, FIELD, 76, 1, WHOLE, false, \
	  "Throttling duration due to sync boost (in ns).") \
	X(BOARD_LIMIT_VIOLATION, "DCGM_FI_DEV_BOARD_LIMIT_VIOLATION", NULL, \
	  "dcgm_board_limit_violation", 243, COUNTER, GPU, FIELD, 77, 1, WHOLE, false, \
	  "Throttling duration due to the board limit (in ns).") \
	X(LOW_UTIL_VIOLATION, "DCGM_FI_DEV_LOW_UTIL_VIOLATION", NULL, \
	  "dcgm_low_util_violation", 244, COUNTER, GPU, FIELD, 78, 1, WHOLE, false, \
	  "Throttling duration due to low utilization (in ns).") \
	X(RELIABILITY_VIOLATION, "DCGM_FI_DEV_RELIABILITY_VIOLATION", NULL, \
	  "dcgm_reliability_violation", 245, COUNTER, GPU, FIELD, 79, 1, WHOLE, false, \
	  "Throttling duration due to reliability (in ns).") \
	X(FB_TOTAL, "DCGM_FI_DEV_FB_TOTAL", NULL, "dcgm_fb_total", 250, GAUGE, INSTANCE, MEMORY, 0, 1, WHOLE, false, \
	  "Framebuffer memory (in MiB).") \
	X(FB_USED_PERCENT, "DCGM_FI_DEV_FB_USED_PERCENT", "DCGM_FI_DEV_FB_USED_RATIO", \
	  NULL, 254, GAUGE, INSTANCE, MEMORY, 4, 1, DECIMAL, false, \
	  "Ratio of framebuffer memory used to what is not reserved.") \
	X(BAR1_TOTAL, "DCGM_FI_DEV_BAR1_TOTAL", NULL, NULL, 90, GAUGE, INSTANCE, BAR1, 0, 1, WHOLE, false, \
	  "BAR1 memory (in MiB).") \
	X(BAR1_USED, "DCGM_FI_DEV_BAR1_USED", NULL, NULL, 92, GAUGE, INSTANCE, BAR1, 2, 1, WHOLE, false, \
	  "BAR1 memory used (in MiB).") \
	X(BAR1_FREE, "DCGM_FI_DEV_BAR1_FREE", NULL, NULL, 93, GAUGE, INSTANCE, BAR1, 1, 1, WHOLE, false, \
	  "BAR1 memory free (in MiB).") \
	X(ECC_CURRENT, "DCGM_FI_DEV_ECC_CURRENT", "DCGM_FI_DEV_ECC_MODE", \
	  NULL, 300, GAUGE, GPU, FIELD, 1, 1, WHOLE, false, "Current ECC mode.") \
	X(ECC_PENDING, "DCGM_FI_DEV_ECC_PENDING", NULL, NULL, 301, GAUGE, GPU, FIELD, 2, 1, WHOLE, false, \
	  "ECC mode after the next reset.") \
	X(ECC_SBE_VOL_TOTAL, "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", NULL, \
	  "dcgm_ecc_sbe_volatile_total", 310, COUNTER, GPU, FIELD, 3, 1, WHOLE, false, \
	  "Total number of single-bit volatile ECC errors.") \
	X(ECC_DBE_VOL_TOTAL, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", NULL, \
	  "dcgm_ecc_dbe_volatile_total", 311, COUNTER, GPU, FIELD, 4, 1, WHOLE, false, \
	  "Total number of double-bit volatile ECC errors.") \
	X(ECC_SBE_AGG_TOTAL, "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL", NULL, \
	  "dcgm_ecc_sbe_aggregate_total", 312, COUNTER, GPU, FIELD, 5, 1, WHOLE, false, \
	  "Total number of single-bit persistent ECC errors.") \
	X(ECC_DBE_AGG_TOTAL, "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", NULL, \
	  "dcgm_ecc_dbe_aggregate_total", 313, COUNTER, GPU, FIELD, 6, 1, WHOLE, false, \
	  "Total number of double-bit persistent ECC errors.") \
	X(RETIRED_SBE, "DCGM_FI_DEV_RETIRED_SBE", "DCGM_FI_DEV_PAGE_RETIRED_SBE_TOTAL", \
	  "dcgm_retired_pages_sbe", 390, COUNTER, GPU, FIELD, 29, 1, WHOLE, false, \
	  "Total number of pages retired due to single-bit errors.") \
	X(RETIRED_DBE, "DCGM_FI_DEV_RETIRED_DBE", "DCGM_FI_DEV_PAGE_RETIRED_DBE_TOTAL", \
	  "dcgm_retired_pages_dbe", 391, COUNTER, GPU, FIELD, 30, 1, WHOLE, false, \
	  "Total number of pages retired due to double-bit errors.") \
	X(RETIRED_PENDING, "DCGM_FI_DEV_RETIRED_PENDING", "DCGM_FI_DEV_PAGE_RETIRED_PENDING", \
	  "dcgm_retired_pages_pending", 392, COUNTER, GPU, FIELD, 31, 1, WHOLE, false, \
	  "Total number of pages pending retirement.") \
	X(ROW_REMAP_PENDING, "DCGM_FI_DEV_ROW_REMAP_PENDING", NULL, \
	  NULL, 396, GAUGE, GPU, FIELD, 144, 1, WHOLE, false, "Whether remapping of rows is pending.") \
	X(NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL, "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", \
	  "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_TOTAL", \
	  "dcgm_nvlink_flit_crc_error_count_total", 409, COUNTER, GPU, FIELD, 38, 1, WHOLE, false, \
	  "Total number of NVLink flow-control CRC errors.") \
	X(NVLINK_CRC_DATA_ERROR_COUNT_TOTAL, "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", \
	  "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_TOTAL", \
	  "dcgm_nvlink_data_crc_error_count_total", 419, COUNTER, GPU, FIELD, 45, 1, WHOLE, false, \
	  "Total number of NVLink data CRC errors.") \
	X(NVLINK_REPLAY_ERROR_COUNT_TOTAL, "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", \
	  "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_TOTAL", \
	  "dcgm_nvlink_replay_error_count_total", 429, COUNTER, GPU, FIELD, 52, 1, WHOLE, false, \
	  "Total number of NVLink retries.") \
	X(NVLINK_RECOVERY_ERROR_COUNT_TOTAL, "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", \
	  "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_TOTAL", \
	  "dcgm_nvlink_recovery_error_count_total", 439, COUNTER, GPU, FIELD, 59, 1, WHOLE, false, \
	  "Total number of NVLink recovery errors.") \
	X(NVLINK_COUNT_TX_PACKETS, "DCGM_FI_DEV_NVLINK_COUNT_TX_PACKETS", NULL, \
	  NULL, 1200, COUNTER, LINK, FIELD, 201, 1, WHOLE, false, "NVLink 5: packets sent, by link.") \
	X(NVLINK_COUNT_TX_BYTES, "DCGM_FI_DEV_NVLINK_COUNT_TX_BYTES", NULL, \
	  NULL, 1201, COUNTER, LINK, FIELD, 202, 1, WHOLE, false, "NVLink 5: bytes sent, by link.") \
	X(NVLINK_COUNT_RX_PACKETS, "DCGM_FI_DEV_NVLINK_COUNT_RX_PACKETS", NULL, \
	  NULL, 1202, COUNTER, LINK, FIELD, 203, 1, WHOLE, false, "NVLink 5: packets received, by link.") \
	X(NVLINK_COUNT_RX_BYTES, "DCGM_FI_DEV_NVLINK_COUNT_RX_BYTES", NULL, \
	  NULL, 1203, COUNTER, LINK, FIELD, 204, 1, WHOLE, false, "NVLink 5: bytes received, by link.") \
	X(NVLINK_COUNT_RX_MALFORMED_PACKET_ERRORS, "DCGM_FI_DEV_NVLINK_COUNT_RX_MALFORMED_PACKET_ERRORS", NULL, \
	  NULL, 1204, COUNTER, LINK, FIELD, 206, 1, WHOLE, false, "NVLink 5: malformed packets received, by link.") \
	X(NVLINK_COUNT_RX_BUFFER_OVERRUN_ERRORS, "DCGM_FI_DEV_NVLINK_COUNT_RX_BUFFER_OVERRUN_ERRORS", NULL, \
	  NULL, 1205, COUNTER, LINK, FIELD, 207, 1, WHOLE, false, \
	  "NVLink 5: packets discarded for lack of room, by link.") \
	X(NVLINK_COUNT_RX_ERRORS, "DCGM_FI_DEV_NVLINK_COUNT_RX_ERRORS", NULL, \
	  NULL, 1206, COUNTER, LINK, FIELD, 208, 1, WHOLE, false, \
	  "NVLink 5: packets received with errors, by link.") \
	X(NVLINK_COUNT_RX_REMOTE_ERRORS, "DCGM_FI_DEV_NVLINK_COUNT_RX_REMOTE_ERRORS", NULL, \
	  NULL, 1207, COUNTER, LINK, FIELD, 209, 1, WHOLE, false, \
	  "NVLink 5: packets received that the other end marked bad, by link.") \
	X(NVLINK_COUNT_RX_GENERAL_ERRORS, "DCGM_FI_DEV_NVLINK_COUNT_RX_GENERAL_ERRORS", NULL, \
	  NULL, 1208, COUNTER, LINK, FIELD, 210, 1, WHOLE, false, \
	  "NVLink 5: packets received with a wrong header, by link.") \
	X(NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS, "DCGM_FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS", NULL, \
	  NULL, 1209, COUNTER, LINK, FIELD, 211, 1, WHOLE, false, \
	  "NVLink 5: local errors beyond the threshold, by link.") \
	X(NVLINK_COUNT_TX_DISCARDS, "DCGM_FI_DEV_NVLINK_COUNT_TX_DISCARDS", NULL, \
	  NULL, 1210, COUNTER, LINK, FIELD, 212, 1, WHOLE, false, "NVLink 5: packets that were not sent, by link.") \
	X(NVLINK_COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS, "DCGM_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS", \
	  NULL, \
	  NULL, 1211, COUNTER, LINK, FIELD, 213, 1, WHOLE, false, \
	  "NVLink 5: link recoveries that succeeded, by link.") \
	X(NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS, "DCGM_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS", NULL, \
	  NULL, 1212, COUNTER, LINK, FIELD, 214, 1, WHOLE, false, "NVLink 5: link recoveries that failed, by link.") \
	X(NVLINK_COUNT_LINK_RECOVERY_EVENTS, "DCGM_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS", NULL, \
	  NULL, 1213, COUNTER, LINK, FIELD, 215, 1, WHOLE, false, "NVLink 5: link recoveries, by link.") \
	X(NVLINK_COUNT_RX_SYMBOL_ERRORS, "DCGM_FI_DEV_NVLINK_COUNT_RX_SYMBOL_ERRORS", NULL, \
	  NULL, 1214, COUNTER, LINK, FIELD, 221, 1, WHOLE, false, "NVLink 5: symbol errors received, by link.") \
	X(NVLINK_COUNT_EFFECTIVE_ERRORS, "DCGM_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS", NULL, \
	  NULL, 1219, COUNTER, LINK, FIELD, 219, 1, WHOLE, false, \
	  "NVLink 5: errors that were not corrected, by link.") \
	X(PROF_SM_ACTIVE, "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_SM_UTIL_RATIO", \
	  "dcgm_fi_prof_sm_active", 1002, GAUGE, INSTANCE, GPM, 2, 0.01, DECIMAL, false, \
	  "Ratio of cycles an SM has at least one warp assigned.") \
	X(PROF_SM_OCCUPANCY, "DCGM_FI_PROF_SM_OCCUPANCY", "DCGM_FI_PROF_SM_OCCUPANCY_RATIO", \
	  "dcgm_fi_prof_sm_occupancy", 1003, GAUGE, INSTANCE, GPM, 3, 0.01, DECIMAL, false, \
	  "Ratio of warps resident on an SM.") \
	X(PROF_PIPE_FP64_ACTIVE, "DCGM_FI_PROF_PIPE_FP64_ACTIVE", "DCGM_FI_PROF_FP64_UTIL_RATIO", \
	  "dcgm_fi_prof_pipe_fp64_active", 1006, GAUGE, INSTANCE, GPM, 11, 0.01, DECIMAL, false, \
	  "Ratio of cycles the fp64 pipes are active.") \
	X(PROF_PIPE_FP32_ACTIVE, "DCGM_FI_PROF_PIPE_FP32_ACTIVE", "DCGM_FI_PROF_FP32_UTIL_RATIO", \
	  "dcgm_fi_prof_pipe_fp32_active", 1007, GAUGE, INSTANCE, GPM, 12, 0.01, DECIMAL, false, \
	  "Ratio of cycles the fp32 pipes are active.") \
	X(PROF_PIPE_FP16_ACTIVE, "DCGM_FI_PROF_PIPE_FP16_ACTIVE", "DCGM_FI_PROF_FP16_UTIL_RATIO", \
	  "dcgm_fi_prof_pipe_fp16_active", 1008, GAUGE, INSTANCE, GPM, 13, 0.01, DECIMAL, false, \
	  "Ratio of cycles the fp16 pipes are active.") \
	X(PROF_NVLINK_TX_BYTES, "DCGM_FI_PROF_NVLINK_TX_BYTES", NULL, \
	  "dcgm_fi_prof_nvlink_tx_bytes", 1011, GAUGE, GPU, GPM, 61, 1048576, WHOLE, false, \
	  "Rate of data sent over NVLink (in bytes per second).") \
	X(PROF_NVLINK_RX_BYTES, "DCGM_FI_PROF_NVLINK_RX_BYTES", NULL, \
	  "dcgm_fi_prof_nvlink_rx_bytes", 1012, GAUGE, GPU, GPM, 60, 1048576, WHOLE, false, \
	  "Rate of data received over NVLink (in bytes per second).") \
	X(PROF_PIPE_TENSOR_IMMA_ACTIVE, "DCGM_FI_PROF_PIPE_TENSOR_IMMA_ACTIVE", "DCGM_FI_PROF_IMMA_UTIL_RATIO", \
	  "dcgm_fi_prof_pipe_tensor_imma_active", 1013, GAUGE, INSTANCE, GPM, 9, 0.01, DECIMAL, false, \
	  "Ratio of cycles the tensor (IMMA) pipe is active.") \
	X(PROF_PIPE_TENSOR_HMMA_ACTIVE, "DCGM_FI_PROF_PIPE_TENSOR_HMMA_ACTIVE", "DCGM_FI_PROF_HMMA_UTIL_RATIO", \
	  "dcgm_fi_prof_pipe_tensor_hmma_active", 1014, GAUGE, INSTANCE, GPM, 7, 0.01, DECIMAL, false, \
	  "Ratio of cycles the tensor (HMMA) pipe is active.") \
	X(PROF_PIPE_TENSOR_DFMA_ACTIVE, "DCGM_FI_PROF_PIPE_TENSOR_DFMA_ACTIVE", "DCGM_FI_PROF_DFMA_UTIL_RATIO", \
	  "dcgm_fi_prof_pipe_tensor_dfma_active", 1015, GAUGE, INSTANCE, GPM, 6, 0.01, DECIMAL, false, \
	  "Ratio of cycles the tensor (DFMA) pipe is active.") \
	X(PROF_PIPE_INT_ACTIVE, "DCGM_FI_PROF_PIPE_INT_ACTIVE", "DCGM_FI_PROF_INT_UTIL_RATIO", \
	  "dcgm_fi_prof_pipe_int_active", 1016, GAUGE, INSTANCE, GPM, 4, 0.01, DECIMAL, false, \
	  "Ratio of cycles the integer pipe is active.") \
	X(PROF_NVDEC0_ACTIVE, "DCGM_FI_PROF_NVDEC0_ACTIVE", "DCGM_FI_PROF_NVDEC_UTIL_0_RATIO", \
	  "dcgm_fi_prof_nvdec0_active", 1017, GAUGE, GPU, GPM, 30, 0.01, DECIMAL, false, \
	  "Ratio of cycles engine 0 of NVDEC is active.") \
	X(PROF_NVDEC1_ACTIVE, "DCGM_FI_PROF_NVDEC1_ACTIVE", "DCGM_FI_PROF_NVDEC_UTIL_1_RATIO", \
	  "dcgm_fi_prof_nvdec1_active", 1018, GAUGE, GPU, GPM, 31, 0.01, DECIMAL, false, \
	  "Ratio of cycles engine 1 of NVDEC is active.") \
	X(PROF_NVDEC2_ACTIVE, "DCGM_FI_PROF_NVDEC2_ACTIVE", "DCGM_FI_PROF_NVDEC_UTIL_2_RATIO", \
	  "dcgm_fi_prof_nvdec2_active", 1019, GAUGE, GPU, GPM, 32, 0.01, DECIMAL, false, \
	  "Ratio of cycles engine 2 of NVDEC is active.") \
	X(PROF_NVDEC3_ACTIVE, "DCGM_FI_PROF_NVDEC3_ACTIVE", "DCGM_FI_PROF_NVDEC_UTIL_3_RATIO", \
	  "dcgm_fi_prof_nvdec3_active", 1020, GAUGE, GPU, GPM, 33, 0.01, DECIMAL, false, \
	  "Ratio of cycles engine 3 of NVDEC is active.") \
	X(PROF_NVDEC4_ACTIVE, "DCGM_FI_PROF_NVDEC4_ACTIVE", "DCGM_FI_PROF_NVDEC_UTIL_4_RATIO", \
	  "dcgm_fi_prof_nvdec4_active", 1021, GAUGE, GPU, GPM, 34, 0.01, DECIMAL, false, \
	  "Ratio of cycles engine 4 of NVDEC is active.") \
	X(PROF_NVDEC5_ACTIVE, "DCGM_FI_PROF_NVDEC5_ACTIVE", "DCGM_FI_PROF_NVDEC_UTIL_5_RATIO", \
	  "dcgm_fi_prof_nvdec5_active", 1022, GAUGE, GPU, GPM, 35, 0.01, DECIMAL, false, \
	  "Ratio of cycles engine 5 of NVDEC is active.") \
	X(PROF_NVDEC6_ACTIVE, "DCGM_FI_PROF_NVDEC6_ACTIVE", "DCGM_FI_PROF_NVDEC_UTIL_6_RATIO", \
	  "dcgm_fi_prof_nvdec6_active", 1023, GAUGE, GPU, GPM, 36, 0.01, DECIMAL, false, \
	  "Ratio of cycles engine 6 of NVDEC is active.") \
	X(PROF_NVDEC7_ACTIVE, "DCGM_FI_PROF_NVDEC7_ACTIVE", "DCGM_FI_PROF_NVDEC_UTIL_7_RATIO", \
	  "dcgm_fi_prof_nvdec7_active", 1024, GAUGE, GPU, GPM, 37, 0.01, DECIMAL, false, \
	  "Ratio of cycles engine 7 of NVDEC is active.") \
	X(PROF_NVJPG0_ACTIVE, "DCGM_FI_PROF_NVJPG0_ACTIVE", "DCGM_FI_PROF_NVJPG_UTIL_0_RATIO", \
	  "dcgm_fi_prof_nvjpg0_active", 1025, GAUGE, GPU, GPM, 40, 0.01, DECIMAL, false, \
	  "Ratio of cycles engine 0 of NVJPG is active.") \
	X(PROF_NVJPG1_ACTIVE, "DCGM_FI_PROF_NVJPG1_ACTIVE", "DCGM_FI_PROF_NVJPG_UTIL_1_RATIO", \
	  "dcgm_fi_prof_nvjpg1_active", 1026, GAUGE, GPU, GPM, 41, 0.01, DECIMAL, false, \
	  "Ratio of cycles engine 1 of NVJPG is active.") \
	X(PROF_NVJPG2_ACTIVE, "DCGM_FI_PROF_NVJPG2_ACTIVE", "DCGM_FI_PROF_NVJPG_UTIL_2_RATIO", \
	  "dcgm_fi_prof_nvjpg2_active", 1027, GAUGE, GPU, GPM, 42, 0.01, DECIMAL, false, \
	  "Ratio of cycles engine 2 of NVJPG is active.") \
	X(PROF_NVJPG3_ACTIVE, "DCGM_FI_PROF_NVJPG3_ACTIVE", "DCGM_FI_PROF_NVJPG_UTIL_3_RATIO", \
	  "dcgm_fi_prof_nvjpg3_active", 1028, GAUGE, GPU, GPM, 43, 0.01, DECIMAL, false, \
	  "Ratio of cycles engine 3 of NVJPG is active.") \
	X(PROF_NVJPG4_ACTIVE, "DCGM_FI_PROF_NVJPG4_ACTIVE", "DCGM_FI_PROF_NVJPG_UTIL_4_RATIO", \
	  "dcgm_fi_prof_nvjpg4_active", 1029, GAUGE, GPU, GPM, 44, 0.01, DECIMAL, false, \
	  "Ratio of cycles engine 4 of NVJPG is active.") \
	X(PROF_NVJPG5_ACTIVE, "DCGM_FI_PROF_NVJPG5_ACTIVE", "DCGM_FI_PROF_NVJPG_UTIL_5_RATIO", \
	  "dcgm_fi_prof_nvjpg5_active", 1030, GAUGE, GPU, GPM, 45, 0.01, DECIMAL, false, \
	  "Ratio of cycles engine 5 of NVJPG is active.") \
	X(PROF_NVJPG6_ACTIVE, "DCGM_FI_PROF_NVJPG6_ACTIVE", "DCGM_FI_PROF_NVJPG_UTIL_6_RATIO", \
	  "dcgm_fi_prof_nvjpg6_active", 1031, GAUGE, GPU, GPM, 46, 0.01, DECIMAL, false, \
	  "Ratio of cycles engine 6 of NVJPG is active.") \
	X(PROF_NVJPG7_ACTIVE, "DCGM_FI_PROF_NVJPG7_ACTIVE", "DCGM_FI_PROF_NVJPG_UTIL_7_RATIO", \
	  "dcgm_fi_prof_nvjpg7_active", 1032, GAUGE, GPU, GPM, 47, 0.01, DECIMAL, false, \
	  "Ratio of cycles engine 7 of NVJPG is active.") \
	X(PROF_NVOFA0_ACTIVE, "DCGM_FI_PROF_NVOFA0_ACTIVE", "DCGM_FI_PROF_NVOFA_UTIL_0_RATIO", \
	  "dcgm_fi_prof_nvofa0_active", 1033, GAUGE, GPU, GPM, 50, 0.01, DECIMAL, false, \
	  "Ratio of cycles engine 0 of NVOFA is active.") \
	X(PROF_NVOFA1_ACTIVE, "DCGM_FI_PROF_NVOFA1_ACTIVE", "DCGM_FI_PROF_NVOFA_UTIL_1_RATIO", \
	  "dcgm_fi_prof_nvofa1_active", 1034, GAUGE, GPU, GPM, 51, 0.01, DECIMAL, false, \
	  "Ratio of cycles engine 1 of NVOFA is active.") \
	X(SERIAL, "DCGM_FI_DEV_SERIAL", NULL, NULL, 53, LABEL, GPU, SERIAL, 0, 1, TEXT, false, "Serial number.") \
	X(VBIOS_VERSION, "DCGM_FI_DEV_VBIOS_VERSION", NULL, NULL, 85, LABEL, GPU, VBIOS, 0, 1, TEXT, false, \
	  "VBIOS version.") \
	X(XID_COUNT, "DCGM_EXP_XID_ERRORS_COUNT", NULL, NULL, 0, GAUGE, INSTANCE, XID_COUNT, 0, 1, WHOLE, false, \
	  "Count of XID errors within the window.") \
	X(CLOCK_COUNT, "DCGM_EXP_CLOCK_EVENTS_COUNT", NULL, NULL, 0, GAUGE, GPU, CLOCK_COUNT, 0, 1, WHOLE, false, \
	  "Count of clock events within the window.") \
	X(NVLINK_CRC_FLIT_L, "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L#", \
	  "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_L#_TOTAL", \
	  NULL, 0, COUNTER, NAMED_LINK, LINK_ERRORS, 2, 1, WHOLE, false, \
	  "Number of NVLink flow-control CRC errors of one link.") \
	X(NVLINK_CRC_DATA_L, "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L#", \
	  "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_L#_TOTAL", \
	  NULL, 0, COUNTER, NAMED_LINK, LINK_ERRORS, 3, 1, WHOLE, false, \
	  "Number of NVLink data CRC errors of one link.") \
	X(NVLINK_REPLAY_L, "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L#", "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_L#_TOTAL", \
	  NULL, 0, COUNTER, NAMED_LINK, LINK_ERRORS, 0, 1, WHOLE, false, "Number of NVLink retries of one link.") \
	X(NVLINK_RECOVERY_L, "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L#", \
	  "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_L#_TOTAL", \
	  NULL, 0, COUNTER, NAMED_LINK, LINK_ERRORS, 1, 1, WHOLE, false, \
	  "Number of NVLink recovery errors of one link.") \
	X(OWN_NVLINK_TX, NULL, NULL, NULL, 0, COUNTER, GPU, FIELD, 138, 1024, DECIMAL, false, "") \
	X(OWN_NVLINK_RX, NULL, NULL, NULL, 0, COUNTER, GPU, FIELD, 139, 1024, DECIMAL, false, "") \
	X(OWN_NVLINK5_TX, NULL, NULL, NULL, 0, COUNTER, GPU, FIELD_SUM, 202, 1, DECIMAL, false, "") \
	X(OWN_NVLINK5_RX, NULL, NULL, NULL, 0, COUNTER, GPU, FIELD_SUM, 204, 1, DECIMAL, false, "") \
	X(OWN_PCIE_TX, NULL, NULL, NULL, 0, COUNTER, GPU, FIELD, 197, 1, DECIMAL, false, "") \
	X(OWN_PCIE_RX, NULL, NULL, NULL, 0, COUNTER, GPU, FIELD, 198, 1, DECIMAL, false, "") \
	X(OWN_HW_THERMAL, NULL, NULL, NULL, 0, COUNTER, GPU, FIELD, 270, 1e-9, DECIMAL, false, "") \
	X(OWN_HW_POWER_BRAKE, NULL, NULL, NULL, 0, COUNTER, GPU, FIELD, 271, 1e-9, DECIMAL, false, "")

#define FL_DCGM_ID_(id, ...) FL_DCGM_##id,
enum fl_dcgm_id { FL_DCGM_FIELDS(FL_DCGM_ID_) FL_DCGM_COUNT };
#undef FL_DCGM_ID_

struct fl_dcgm_field {
	const char *id, *name, *also, *old;
	uint16_t number;
	enum fl_dcgm_type type;
	enum fl_dcgm_level level;
	enum fl_dcgm_source source;
	uint32_t arg;
	double scale;
	enum fl_dcgm_form form;
	bool usual;
	const char *help;
};
extern const struct fl_dcgm_field fl_dcgm_fields[FL_DCGM_COUNT];

/* A set of fields, as the driver is asked for them. */
struct fl_dcgm_set {
	uint64_t bits[(FL_DCGM_COUNT + 63) / 64];
};
static inline void fl_dcgm_add(struct fl_dcgm_set *set, uint32_t id)
{
	set->bits[id / 64] |= 1ull << id % 64;
}
static inline bool fl_dcgm_has(const struct fl_dcgm_set *set, uint32_t id)
{
	return set->bits[id / 64] >> id % 64 & 1;
}

/* The field of any of its names, or -1; *ret_link is the link of a name that has one, else -1. */
int fl_dcgm_find(struct fl_str name, int32_t *ret_link);
