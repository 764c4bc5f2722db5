/* Compiled by same_abi with the vendor's header in the way: says nothing when all agrees, and does not compile when
 * not. */
#include <nvml.h>

#include "node/gpu/nv_abi.h"

#define SIZE(ours, theirs) _Static_assert(sizeof(struct ours) == sizeof(theirs), #ours " is as large as " #theirs)
#define AT(ours, member, theirs, their) \
	_Static_assert(offsetof(struct ours, member) == offsetof(theirs, their), #ours "." #member); \
	_Static_assert(sizeof(((struct ours *)0)->member) == sizeof(((theirs *)0)->their), #ours "." #member " size")
#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #ours " is " #theirs)

SIZE(fl_nv_pci, nvmlPciInfo_t);
AT(fl_nv_pci, bus_id_legacy, nvmlPciInfo_t, busIdLegacy);
AT(fl_nv_pci, domain, nvmlPciInfo_t, domain);
AT(fl_nv_pci, bus, nvmlPciInfo_t, bus);
AT(fl_nv_pci, device, nvmlPciInfo_t, device);
AT(fl_nv_pci, id, nvmlPciInfo_t, pciDeviceId);
AT(fl_nv_pci, subsystem, nvmlPciInfo_t, pciSubSystemId);
AT(fl_nv_pci, bus_id, nvmlPciInfo_t, busId);
SIZE(fl_nv_memory, nvmlMemory_t);
AT(fl_nv_memory, total, nvmlMemory_t, total);
AT(fl_nv_memory, free, nvmlMemory_t, free);
AT(fl_nv_memory, used, nvmlMemory_t, used);
SIZE(fl_nv_memory_v2, nvmlMemory_v2_t);
AT(fl_nv_memory_v2, total, nvmlMemory_v2_t, total);
AT(fl_nv_memory_v2, reserved, nvmlMemory_v2_t, reserved);
AT(fl_nv_memory_v2, free, nvmlMemory_v2_t, free);
AT(fl_nv_memory_v2, used, nvmlMemory_v2_t, used);
SIZE(fl_nv_bar1, nvmlBAR1Memory_t);
AT(fl_nv_bar1, free, nvmlBAR1Memory_t, bar1Free);
SIZE(fl_nv_utilisation, nvmlUtilization_t);
AT(fl_nv_utilisation, memory, nvmlUtilization_t, memory);
SIZE(fl_nv_process, nvmlProcessInfo_t);
AT(fl_nv_process, memory, nvmlProcessInfo_t, usedGpuMemory);
AT(fl_nv_process, gi, nvmlProcessInfo_t, gpuInstanceId);
AT(fl_nv_process, ci, nvmlProcessInfo_t, computeInstanceId);
SIZE(fl_nv_process_v1, nvmlProcessInfo_v1_t);
AT(fl_nv_process_v1, memory, nvmlProcessInfo_v1_t, usedGpuMemory);
SIZE(fl_nv_gpm_support, nvmlGpmSupport_t);
SIZE(fl_nv_gpm_metric, nvmlGpmMetric_t);
AT(fl_nv_gpm_metric, code, nvmlGpmMetric_t, nvmlReturn);
AT(fl_nv_gpm_metric, value, nvmlGpmMetric_t, value);
AT(fl_nv_gpm_metrics, count, nvmlGpmMetricsGet_t, numMetrics);
AT(fl_nv_gpm_metrics, from, nvmlGpmMetricsGet_t, sample1);
_Static_assert(offsetof(struct fl_nv_gpm_metrics, at) == offsetof(nvmlGpmMetricsGet_t, metrics), "metrics begin alike");
_Static_assert(sizeof(struct fl_nv_gpm_metrics) >= sizeof(nvmlGpmMetricsGet_t), "room for as many metrics");
SIZE(fl_nv_attributes, nvmlDeviceAttributes_t);
AT(fl_nv_attributes, ofas, nvmlDeviceAttributes_t, sharedOfaCount);
AT(fl_nv_attributes, gi_slices, nvmlDeviceAttributes_t, gpuInstanceSliceCount);
AT(fl_nv_attributes, ci_slices, nvmlDeviceAttributes_t, computeInstanceSliceCount);
AT(fl_nv_attributes, memory_mib, nvmlDeviceAttributes_t, memorySizeMB);
SIZE(fl_nv_placement, nvmlGpuInstancePlacement_t);
SIZE(fl_nv_placement, nvmlComputeInstancePlacement_t);
SIZE(fl_nv_gi_profile, nvmlGpuInstanceProfileInfo_t);
AT(fl_nv_gi_profile, slices, nvmlGpuInstanceProfileInfo_t, sliceCount);
AT(fl_nv_gi_profile, memory_mib, nvmlGpuInstanceProfileInfo_t, memorySizeMB);
SIZE(fl_nv_gi_profile_v2, nvmlGpuInstanceProfileInfo_v2_t);
AT(fl_nv_gi_profile_v2, id, nvmlGpuInstanceProfileInfo_v2_t, id);
AT(fl_nv_gi_profile_v2, memory_mib, nvmlGpuInstanceProfileInfo_v2_t, memorySizeMB);
AT(fl_nv_gi_profile_v2, name, nvmlGpuInstanceProfileInfo_v2_t, name);
SIZE(fl_nv_gi_profile_v3, nvmlGpuInstanceProfileInfo_v3_t);
AT(fl_nv_gi_profile_v3, slices, nvmlGpuInstanceProfileInfo_v3_t, sliceCount);
AT(fl_nv_gi_profile_v3, name, nvmlGpuInstanceProfileInfo_v3_t, name);
AT(fl_nv_gi_profile_v3, can, nvmlGpuInstanceProfileInfo_v3_t, capabilities);
SIZE(fl_nv_gi_info, nvmlGpuInstanceInfo_t);
AT(fl_nv_gi_info, profile, nvmlGpuInstanceInfo_t, profileId);
AT(fl_nv_gi_info, placement, nvmlGpuInstanceInfo_t, placement);
SIZE(fl_nv_ci_profile, nvmlComputeInstanceProfileInfo_t);
AT(fl_nv_ci_profile, ofas, nvmlComputeInstanceProfileInfo_t, sharedOfaCount);
SIZE(fl_nv_ci_profile_v2, nvmlComputeInstanceProfileInfo_v2_t);
AT(fl_nv_ci_profile_v2, name, nvmlComputeInstanceProfileInfo_v2_t, name);
SIZE(fl_nv_ci_profile_v3, nvmlComputeInstanceProfileInfo_v3_t);
AT(fl_nv_ci_profile_v3, can, nvmlComputeInstanceProfileInfo_v3_t, capabilities);
SIZE(fl_nv_ci_info, nvmlComputeInstanceInfo_t);
AT(fl_nv_ci_info, gi, nvmlComputeInstanceInfo_t, gpuInstance);
AT(fl_nv_ci_info, placement, nvmlComputeInstanceInfo_t, placement);
SIZE(fl_nv_event, nvmlEventData_t);
AT(fl_nv_event, data, nvmlEventData_t, eventData);
AT(fl_nv_event, gi, nvmlEventData_t, gpuInstanceId);
SIZE(fl_nv_fabric, nvmlGpuFabricInfo_t);
AT(fl_nv_fabric, state, nvmlGpuFabricInfo_t, state);
SIZE(fl_nv_fabric_v2, nvmlGpuFabricInfo_v2_t);
AT(fl_nv_fabric_v2, cluster, nvmlGpuFabricInfo_v2_t, clusterUuid);
AT(fl_nv_fabric_v2, status, nvmlGpuFabricInfo_v2_t, status);
AT(fl_nv_fabric_v2, health, nvmlGpuFabricInfo_v2_t, healthMask);
SIZE(fl_nv_fabric_v3, nvmlGpuFabricInfo_v3_t);
AT(fl_nv_fabric_v3, clique, nvmlGpuFabricInfo_v3_t, cliqueId);
AT(fl_nv_fabric_v3, summary, nvmlGpuFabricInfo_v3_t, healthSummary);
SIZE(fl_nv_platform_v2, nvmlPlatformInfo_v2_t);
AT(fl_nv_platform_v2, slot, nvmlPlatformInfo_v2_t, slotNumber);
AT(fl_nv_platform_v2, module, nvmlPlatformInfo_v2_t, moduleId);
SIZE(fl_nv_field_value, nvmlFieldValue_t);
AT(fl_nv_field_value, scope, nvmlFieldValue_t, scopeId);
AT(fl_nv_field_value, type, nvmlFieldValue_t, valueType);
AT(fl_nv_field_value, code, nvmlFieldValue_t, nvmlReturn);
AT(fl_nv_field_value, value, nvmlFieldValue_t, value);

#define CODE(name, number) SAME(FL_NV_##name, NVML_ERROR_##name);
#define NVML_ERROR_SUCCESS NVML_SUCCESS
FL_NV_CODES(CODE)

SAME(FL_NV_VERSION(struct fl_nv_memory_v2, 2), nvmlMemory_v2);
SAME(FL_NV_VERSION(struct fl_nv_fabric_v2, 2), nvmlGpuFabricInfo_v2);
SAME(FL_NV_VERSION(struct fl_nv_fabric_v3, 3), nvmlGpuFabricInfo_v3);
SAME(FL_NV_VERSION(struct fl_nv_platform_v2, 2), nvmlPlatformInfo_v2);
SAME(FL_NV_VERSION(struct fl_nv_gi_profile_v2, 2), nvmlGpuInstanceProfileInfo_v2);
SAME(FL_NV_VERSION(struct fl_nv_gi_profile_v3, 3), nvmlGpuInstanceProfileInfo_v3);
SAME(FL_NV_VERSION(struct fl_nv_ci_profile_v2, 2), nvmlComputeInstanceProfileInfo_v2);
SAME(FL_NV_VERSION(struct fl_nv_ci_profile_v3, 3), nvmlComputeInstanceProfileInfo_v3);
SAME(FL_NV_TEXT, NVML_DEVICE_NAME_V2_BUFFER_SIZE);
SAME(FL_NV_TEXT, NVML_DEVICE_UUID_V2_BUFFER_SIZE);
SAME(FL_NV_LINKS, NVML_NVLINK_MAX_LINKS);
SAME(FL_NV_SRAM, NVML_MEMORY_LOCATION_SRAM);
SAME(FL_NV_CLOCK_VIDEO, NVML_CLOCK_VIDEO);
SAME(FL_NV_COMPUTE_EXCLUSIVE_PROCESS, NVML_COMPUTEMODE_EXCLUSIVE_PROCESS);
SAME(FL_NV_TOPOLOGY_SYSTEM, NVML_TOPOLOGY_SYSTEM);
SAME(FL_NV_P2P_PCI, NVML_P2P_CAPS_INDEX_PCI);
SAME(FL_NV_P2P_UNKNOWN, NVML_P2P_STATUS_UNKNOWN);
SAME(FL_NV_LINK_PEER_SWITCH, NVML_NVLINK_DEVICE_TYPE_SWITCH);
SAME(FL_NV_ARCH_BLACKWELL, NVML_DEVICE_ARCH_BLACKWELL);
SAME(FL_NV_BRAND_NVIDIA, NVML_BRAND_NVIDIA);
SAME(FL_NV_EVENT_XID, nvmlEventTypeXidCriticalError);
SAME(FL_NV_EVENT_MIG_CONFIG, nvmlEventMigConfigChange);
SAME(FL_NV_EVENT_RECOVERY_ACTION, nvmlEventTypeGpuRecoveryAction);
SAME(FL_NV_GI_1_REV2, NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2);
SAME(FL_NV_GI_2_ALL_ME, NVML_GPU_INSTANCE_PROFILE_2_SLICE_ALL_ME);
SAME(FL_NV_CI_1_REV1, NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1);
SAME(FL_NV_FABRIC_COMPLETED, NVML_GPU_FABRIC_STATE_COMPLETED);
SAME(FL_NV_FABRIC_LIMITED, NVML_GPU_FABRIC_HEALTH_SUMMARY_LIMITED_CAPACITY);
SAME(FL_NV_FABRIC_ACCESS_TIMEOUT, NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ACCESS_TIMEOUT_RECOVERY);
SAME(FL_NV_FABRIC_CONFIG, NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_INCORRECT_CONFIGURATION);
SAME(FL_NV_FIELD_RETIRED_PENDING, NVML_FI_DEV_RETIRED_PENDING);
SAME(FL_NV_FIELD_NVLINK_CRC_FLIT, NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL);
SAME(FL_NV_FIELD_NVLINK_REPLAY, NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL);
SAME(FL_NV_FIELD_NVLINK_RECOVERY, NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL);
SAME(FL_NV_FIELD_MEMORY_TEMPERATURE, NVML_FI_DEV_MEMORY_TEMP);
SAME(FL_NV_FIELD_ENERGY, NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION);
SAME(FL_NV_FIELD_NVLINK_SPEED, NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON);
SAME(FL_NV_FIELD_NVLINK_COUNT, NVML_FI_DEV_NVLINK_LINK_COUNT);
SAME(FL_NV_FIELD_PCIE_REPLAY, NVML_FI_DEV_PCIE_REPLAY_COUNTER);
SAME(FL_NV_FIELD_NVLINK_DATA_RX, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX);
SAME(FL_NV_FIELD_REMAPPED_CORRECTABLE, NVML_FI_DEV_REMAPPED_COR);
SAME(FL_NV_FIELD_REMAPPED_UNCORRECTABLE, NVML_FI_DEV_REMAPPED_UNC);
SAME(FL_NV_FIELD_REMAPPED_PENDING, NVML_FI_DEV_REMAPPED_PENDING);
SAME(FL_NV_FIELD_REMAPPED_FAILURE, NVML_FI_DEV_REMAPPED_FAILURE);
SAME(FL_NV_FIELD_RESETLESS_MIG, NVML_FI_DEV_IS_RESETLESS_MIG_SUPPORTED);
SAME(FL_NV_FIELD_POWER_AVERAGE, NVML_FI_DEV_POWER_AVERAGE);
SAME(FL_NV_FIELD_POWER_INSTANT, NVML_FI_DEV_POWER_INSTANT);
SAME(FL_NV_FIELD_RECOVERY_ACTION, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION);
SAME(FL_NV_VALUE_U16, NVML_VALUE_TYPE_UNSIGNED_SHORT);
