#include "api/node.h"
#include "api/node_report.h"

FL_NAMES(fl_driver_state_names, FL_DRIVER_STATE_COUNT_, [FL_DRIVER_ABSENT] = "Absent",
	 [FL_DRIVER_STARTING] = "Starting", [FL_DRIVER_READY] = "Ready", [FL_DRIVER_MISMATCH] = "Mismatch",
	 [FL_DRIVER_SICK] = "Sick", [FL_DRIVER_PAUSED] = "Paused");
FL_NAMES(fl_card_answer_names, FL_CARD_ANSWER_COUNT_, [FL_CARD_UNASKED] = "Unasked", [FL_CARD_ANSWERS] = "Answers",
	 [FL_CARD_LOST] = "Lost", [FL_CARD_HUNG] = "Hung", [FL_CARD_FAILS] = "Fails");
FL_NAMES(fl_recovery_names, FL_RECOVERY_COUNT_, [FL_RECOVERY_NONE] = "None", [FL_RECOVERY_RESET] = "Reset",
	 [FL_RECOVERY_REBOOT] = "Reboot", [FL_RECOVERY_DRAIN_P2P] = "DrainP2P",
	 [FL_RECOVERY_DRAIN_RESET] = "DrainAndReset", [FL_RECOVERY_IMEX] = "RecoverIMEX");
FL_NAMES(fl_fault_what_names, FL_FAULT_WHAT_COUNT_, [FL_FAULT_XID] = "Xid", [FL_FAULT_ECC] = "Ecc",
	 [FL_FAULT_RECOVERY] = "Recovery", [FL_FAULT_UNAVAILABLE] = "Unavailable");
FL_NAMES(fl_host_file_names, FL_HOST_FILE_COUNT_, [FL_HOST_LIBRARY] = "Library", [FL_HOST_MODULE] = "Module",
	 [FL_HOST_DATA] = "Data", [FL_HOST_BINARY] = "Binary",
	 [FL_HOST_FIRMWARE] = "Firmware", [FL_HOST_SOCKET] = "Socket", [FL_HOST_CONFIG] = "Config");
FL_NAMES(fl_mig_strategy_names, FL_MIG_STRATEGY_COUNT_, [FL_MIG_NONE] = "none", [FL_MIG_SINGLE] = "single",
	 [FL_MIG_MIXED] = "mixed");
FL_NAMES(fl_device_list_names, FL_DEVICE_LIST_COUNT_, [FL_BY_CDI] = "cdi-cri",
	 [FL_BY_CDI_ANNOTATIONS] = "cdi-annotations", [FL_BY_ENV] = "envvar",
	 [FL_BY_MOUNTS] = "volume-mounts",
	 [FL_BY_NODES] = "device-specs");
FL_NAMES(fl_extra_names, FL_EXTRA_COUNT_, [FL_EXTRA_GDS] = "gds", [FL_EXTRA_MOFED] = "mofed",
	 [FL_EXTRA_GDRCOPY] = "gdrcopy", [FL_EXTRA_IMEX] = "imex-channel");
FL_NAMES(fl_metrics_line_names, FL_METRICS_LINE_COUNT_, [FL_METRICS_ONCE] = "once-a-gpu",
	 [FL_METRICS_NO_HOST] = "no-hostname", [FL_METRICS_NO_BLANKS] = "no-blanks",
	 [FL_METRICS_OLD_NAMES] = "old-labels", [FL_METRICS_POD_UID] = "pod-uid",
	 [FL_METRICS_POD_LABELS] = "pod-labels");
FL_NAMES(fl_cdi_flag_names, FL_CDI_FLAG_COUNT_, [FL_CDI_NO_NVSANDBOXUTILS] = "disable-nvsandboxutils",
	 [FL_CDI_COHERENT_ANNOTATIONS] = "enable-coherent-annotations",
	 [FL_CDI_NO_ADDITIONAL_GIDS] = "no-additional-gids-for-device-nodes",
	 [FL_CDI_NO_IPC] = "disable-ipc-discoverer", [FL_CDI_EXPLICIT_LIBRARIES] = "enable-explicit-driver-libraries");
FL_NAMES(fl_hook_part_names, FL_HOOK_COUNT_, [FL_HOOK_SYMLINKS] = "create-symlinks",
	 [FL_HOOK_CUDA_COMPAT] = "enable-cuda-compat", [FL_HOOK_LDCACHE] = "update-ldcache",
	 [FL_HOOK_NO_NODE_CHANGES] = "disable-device-node-modification",
	 [FL_HOOK_APPLICATION_PROFILE] = "update-application-profile", [FL_HOOK_CHMOD] = "chmod");
FL_NAMES(fl_check_result_names, FL_CHECK_RESULT_COUNT_, [FL_CHECK_PASSED] = "Passed", [FL_CHECK_FAILED] = "Failed",
	 [FL_CHECK_SKIPPED] = "Skipped", [FL_CHECK_STALE] = "Stale");
FL_NAMES(fl_exporter_access_names, FL_EXPORTER_ACCESS_COUNT_, [FL_EXPORTER_OPEN] = "Open",
	 [FL_EXPORTER_TOKENS] = "TokenReview", [FL_EXPORTER_CERTIFICATES] = "ClientCertificate",
	 [FL_EXPORTER_MACHINE] = "ThisMachine");
FL_NAMES(fl_labels_output_names, FL_LABELS_OUTPUT_COUNT_, [FL_LABELS_NODE_FEATURE] = "node-feature",
	 [FL_LABELS_FILE] = "file", [FL_LABELS_NODE] = "node", [FL_LABELS_NONE] = "none");
/* The second and third: --labels=node has written labels, and gpu.present, to the Node itself. */
FL_NAMES(fl_own_node_annotations, FL_OWN_NODE_ANNOTATION_COUNT_,
	 [FL_NODE_NFD_LABELS] = "nfd.node.kubernetes.io/feature-labels",
	 [FL_NODE_OUR_LABELS] = "gpu.deckhouse.io/fairlead-labels",
	 [FL_NODE_OUR_PRESENT] = "gpu.deckhouse.io/fairlead-gpu-present");
FL_NAMES(fl_id_by_names, FL_ID_BY_COUNT_, [FL_ID_UUID] = "uuid", [FL_ID_INDEX] = "index");
FL_NAMES(fl_share_policy_names, FL_SHARE_POLICY_COUNT_, [FL_SHARE_DISTRIBUTED] = "distributed",
	 [FL_SHARE_PACKED] = "packed");
FL_NAMES(fl_without_cdi_names, FL_WITHOUT_CDI_COUNT_, [FL_WITHOUT_CDI_FALL_BACK] = "device-specs",
	 [FL_WITHOUT_CDI_REFUSE] = "refuse");
FL_NAMES(fl_mps_phase_names, FL_MPS_PHASE_COUNT_, [FL_MPS_OFF] = "Stopped", [FL_MPS_RUNNING] = "Running",
	 [FL_MPS_READY] = "Ready", [FL_MPS_DEAF] = "Deaf");
FL_NAMES(fl_health_state_names, FL_HEALTH_STATE_COUNT_, [FL_HEALTHY] = "Healthy", [FL_SUSPECT] = "Suspect",
	 [FL_UNHEALTHY] = "Unhealthy", [FL_RECOVERING] = "Recovering");

FL_BIND(fl_driver, FL_DRIVER)
FL_BIND(fl_part_attributes, FL_PART_ATTRIBUTES)
FL_BIND(fl_partition, FL_PARTITION)
FL_BIND(fl_card_link, FL_CARD_LINK)
FL_BIND(fl_fabric, FL_FABRIC)
FL_BIND(fl_card, FL_CARD)
FL_BIND(fl_card_fault, FL_CARD_FAULT)
FL_BIND(fl_holder, FL_HOLDER)
FL_BIND(fl_host_link, FL_HOST_LINK)
FL_BIND(fl_host_path, FL_HOST_PATH)
FL_BIND(fl_host_node, FL_HOST_NODE)
FL_BIND(fl_host, FL_HOST)
FL_BIND(fl_runtime, FL_RUNTIME)
FL_BIND(fl_plugin_socket, FL_PLUGIN_SOCKET)
FL_BIND(fl_dir_trouble, FL_DIR_TROUBLE)
FL_BIND(fl_readiness_status, FL_READINESS_STATUS)
FL_BIND(fl_readiness, FL_READINESS)
FL_BIND(fl_sharing, FL_SHARING)
FL_BIND(fl_node_pool, FL_NODE_POOL)
FL_BIND(fl_settings, FL_SETTINGS)
FL_BIND(fl_check_status, FL_CHECK_STATUS)
FL_BIND(fl_check, FL_CHECK)
FL_BIND(fl_exporter_status, FL_EXPORTER_STATUS)
FL_BIND(fl_label_file, FL_LABEL_FILE)
FL_BIND(fl_ready_file, FL_READY_FILE)
FL_BIND(fl_label_lag, FL_LABEL_LAG)
FL_BIND(fl_given_option, FL_GIVEN_OPTION)
FL_BIND(fl_given, FL_GIVEN)
FL_BIND(fl_config_file, FL_CONFIG_FILE)
FL_BIND(fl_memo, FL_MEMO)
FL_BIND(fl_pause_request, FL_PAUSE_REQUEST)
FL_BIND(fl_pause, FL_PAUSE)
FL_BIND(fl_driver_pause, FL_DRIVER_PAUSE)
FL_BIND(fl_mps_limit, FL_MPS_LIMIT)
FL_BIND(fl_mps, FL_MPS)
FL_BIND(fl_unit, FL_UNIT)
FL_BIND(fl_resource, FL_RESOURCE)
FL_BIND(fl_health_status, FL_HEALTH_STATUS)
FL_BIND(fl_identity, FL_IDENTITY)
FL_BIND(fl_health, FL_HEALTH)
FL_BIND(fl_active, FL_ACTIVE)
FL_BIND(fl_booking_status, FL_BOOKING_STATUS)
FL_BIND(fl_booking, FL_BOOKING)
FL_BIND(fl_pod_watch, FL_POD_WATCH)
FL_BIND(fl_dev_link, FL_DEV_LINK)
FL_BIND(fl_inspection, FL_INSPECTION)
FL_BIND(fl_inside, FL_INSIDE)
FL_BIND(fl_pod_finding_status, FL_POD_FINDING_STATUS)
FL_BIND(fl_pod_finding, FL_POD_FINDING)
FL_BIND(fl_eviction_status, FL_EVICTION_STATUS)
FL_BIND(fl_eviction, FL_EVICTION)
FL_BIND(fl_own_pod_meta, FL_OWN_POD_META)
FL_BIND(fl_own_pod_resources, FL_OWN_POD_RESOURCES)
FL_BIND(fl_own_pod_container, FL_OWN_POD_CONTAINER)
FL_BIND(fl_own_pod_spec, FL_OWN_POD_SPEC)
FL_BIND(fl_own_pod_status, FL_OWN_POD_STATUS)
FL_BIND(fl_own_pod, FL_OWN_POD)
FL_BIND(fl_own_node_spec, FL_OWN_NODE_SPEC)
FL_BIND(fl_own_node_status, FL_OWN_NODE_STATUS)
FL_BIND(fl_own_node_meta, FL_OWN_NODE_META)
FL_BIND(fl_own_node, FL_OWN_NODE)
FL_BIND(fl_device_class_meta, FL_DEVICE_CLASS_META)
FL_BIND(fl_device_class_spec, FL_DEVICE_CLASS_SPEC)
FL_BIND(fl_device_class, FL_DEVICE_CLASS)

FL_LOCAL_KIND(fl_driver, "Driver", "drivers", "The vendor's driver.");
FL_LOCAL_KIND(fl_card, "Card", "cards", "A GPU of this node.");
FL_LOCAL_KIND(fl_card_fault, "Fault", "faults", "What a GPU has reported.");
FL_LOCAL_KIND(fl_holder, "Holder", "holders", "A container that has devices of this node.");
FL_LOCAL_KIND(fl_active, "Active", "actives", "Containers of active Pods, as PodResources lists them.");
FL_LOCAL_KIND(fl_booking, "Booking", "bookings", "Devices that a container was given.");
FL_LOCAL_KIND(fl_pod_watch, "PodWatch", "podwatches", "Whether the Pods of this node are watched.");
FL_LOCAL_KIND(fl_dev_link, "DevLink", "devlinks", "A link in /dev/char to a device node.");
FL_LOCAL_KIND(fl_inspection, "Inspection", "inspections", "What the containers of this node are inspected for.");
FL_LOCAL_KIND(fl_inside, "Inside", "insides", "What was seen in the containers of a Pod.");
FL_LOCAL_KIND(fl_pod_finding, "PodFinding", "podfindings", "What is wrong inside of a Pod.");
FL_LOCAL_KIND(fl_eviction, "Eviction", "evictions", "A Pod that is evicted because its GPU is dead.");
FL_LOCAL_KIND(fl_host, "Host", "hosts", "The driver's files on this node.");
FL_LOCAL_KIND(fl_runtime, "Runtime", "runtimes", "The container runtime.");
FL_LOCAL_KIND(fl_plugin_socket, "PluginSocket", "pluginsockets", "A socket in the kubelet's folder of device plugins.");
FL_LOCAL_KIND(fl_dir_trouble, "DirTrouble", "dirtroubles", "A directory that the agent cannot use.");
FL_LOCAL_KIND(fl_readiness, "Readiness", "readinesses", "Whether the GPUs of this node are served, and why not.");
FL_LOCAL_KIND(fl_settings, "Settings", "settings", "How this node hands out its GPUs.");
FL_LOCAL_KIND(fl_pause_request, "PauseRequest", "pauserequests", "What the operator has said of the driver last.");
FL_LOCAL_KIND(fl_pause, "Pause", "pauses", "A request to release or reopen the driver.");
FL_LOCAL_KIND(fl_driver_pause, "DriverPause", "driverpauses", "Whether the driver is released.");
FL_LOCAL_KIND(fl_mps, "MpsDaemon", "mpsdaemons", "The MPS control daemon of a resource.");
FL_LOCAL_KIND(fl_check, "Check", "checks", "Whether something that GPU programs need works.");
FL_LOCAL_KIND(fl_exporter_status, "Exporter", "exporters", "How GPU metrics are served.");
FL_LOCAL_KIND(fl_ready_file, "ReadyFile", "readyfiles", "A file that says that a check has passed.");
FL_LOCAL_KIND(fl_label_file, "LabelFile", "labelfiles", "A file with labels, for NFD's local source.");
FL_LOCAL_KIND(fl_label_lag, "LabelLag", "labellags", "Labels that the Node does not have yet.");
FL_LOCAL_KIND(fl_given, "Given", "givens", "What the agent was started with.");
FL_LOCAL_KIND(fl_config_file, "ConfigFile", "configfiles", "A file of the node's configuration.");
FL_LOCAL_KIND(fl_memo, "Memo", "memos", "What the API server has said, kept on the disk for a start without it.");
FL_LOCAL_KIND(fl_resource, "Resource", "resources", "A list of devices that the kubelet hands out.");
FL_LOCAL_KIND(fl_health, "Health", "healths", "How a GPU or partition is, and since when.");

const struct fl_kind fl_own_pod_kind = {
	.built_in = true, .group = "", .version = "v1", .kind = "Pod", .plural = "pods", .root = fl_own_pod_bind,
	.status = true, .help = "A Pod of the Node that the agent runs on.",
};
const struct fl_kind fl_own_node_kind = {
	.built_in = true, .group = "", .version = "v1", .kind = "Node", .plural = "nodes", .cluster_scoped = true,
	.root = fl_own_node_bind, .status = true, .help = "The Node that the agent runs on.",
};
const struct fl_kind fl_device_class_kind = {
	.built_in = true, .group = "resource.k8s.io", .version = "v1", .kind = "DeviceClass", .plural = "deviceclasses",
	.cluster_scoped = true, .root = fl_device_class_bind, .help = "Devices that Pods get through claims.",
};

void fl_resource_count(const struct fl_resource *resource, int64_t *ret_healthy, int64_t *ret_all)
{
	*ret_healthy = *ret_all = 0;
	for (uint32_t i = 0; i < resource->units.len; i++) {
		const struct fl_unit *unit = &resource->units.at[i];
		int64_t devices = unit->has.replicas ? unit->replicas : 1;

		*ret_all += devices;
		*ret_healthy += unit->healthy && !unit->leaving ? devices : 0;
	}
}
