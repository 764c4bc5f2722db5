#include "api/node.h"

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
FL_NAMES(fl_host_file_names, FL_HOST_FILE_COUNT_, [FL_HOST_LIBRARY] = "Library", [FL_HOST_BINARY] = "Binary",
	 [FL_HOST_FIRMWARE] = "Firmware", [FL_HOST_SOCKET] = "Socket", [FL_HOST_CONFIG] = "Config");
FL_NAMES(fl_mig_strategy_names, FL_MIG_STRATEGY_COUNT_, [FL_MIG_NONE] = "none", [FL_MIG_SINGLE] = "single",
	 [FL_MIG_MIXED] = "mixed");
FL_NAMES(fl_hand_out_names, FL_HAND_OUT_COUNT_, [FL_HAND_CDI] = "cdi-cri",
	 [FL_HAND_CDI_ANNOTATIONS] = "cdi-annotations", [FL_HAND_ENV] = "envvar", [FL_HAND_MOUNTS] = "volume-mounts",
	 [FL_HAND_NODES] = "device-specs");
FL_NAMES(fl_extra_names, FL_EXTRA_COUNT_, [FL_EXTRA_GDS] = "gds", [FL_EXTRA_MOFED] = "mofed",
	 [FL_EXTRA_GDRCOPY] = "gdrcopy", [FL_EXTRA_IMEX] = "imex-channel");
FL_NAMES(fl_id_by_names, FL_ID_BY_COUNT_, [FL_ID_UUID] = "uuid", [FL_ID_INDEX] = "index");
FL_NAMES(fl_share_policy_names, FL_SHARE_POLICY_COUNT_, [FL_SHARE_DISTRIBUTED] = "distributed",
	 [FL_SHARE_PACKED] = "packed");
FL_NAMES(fl_without_cdi_names, FL_WITHOUT_CDI_COUNT_, [FL_WITHOUT_CDI_FALL_BACK] = "device-specs",
	 [FL_WITHOUT_CDI_REFUSE] = "refuse");
FL_NAMES(fl_unit_kind_names, FL_UNIT_KIND_COUNT_, [FL_UNIT_CARD] = "Card", [FL_UNIT_MIG] = "MIG");
FL_NAMES(fl_health_state_names, FL_HEALTH_STATE_COUNT_, [FL_HEALTHY] = "Healthy", [FL_SUSPECT] = "Suspect",
	 [FL_UNHEALTHY] = "Unhealthy", [FL_RECOVERING] = "Recovering");

FL_BIND(fl_local_meta, FL_LOCAL_META)
FL_BIND(fl_driver, FL_DRIVER)
FL_BIND(fl_partition, FL_PARTITION)
FL_BIND(fl_card_link, FL_CARD_LINK)
FL_BIND(fl_fabric, FL_FABRIC)
FL_BIND(fl_card, FL_CARD)
FL_BIND(fl_card_fault, FL_CARD_FAULT)
FL_BIND(fl_holder, FL_HOLDER)
FL_BIND(fl_host_path, FL_HOST_PATH)
FL_BIND(fl_host_node, FL_HOST_NODE)
FL_BIND(fl_host, FL_HOST)
FL_BIND(fl_runtime, FL_RUNTIME)
FL_BIND(fl_plugin_socket, FL_PLUGIN_SOCKET)
FL_BIND(fl_sharing, FL_SHARING)
FL_BIND(fl_node_pool, FL_NODE_POOL)
FL_BIND(fl_settings, FL_SETTINGS)
FL_BIND(fl_given_option, FL_GIVEN_OPTION)
FL_BIND(fl_given, FL_GIVEN)
FL_BIND(fl_config_file, FL_CONFIG_FILE)
FL_BIND(fl_word, FL_WORD)
FL_BIND(fl_pause, FL_PAUSE)
FL_BIND(fl_hold, FL_HOLD)
FL_BIND(fl_unit, FL_UNIT)
FL_BIND(fl_resource, FL_RESOURCE)
FL_BIND(fl_health_status, FL_HEALTH_STATUS)
FL_BIND(fl_identity, FL_IDENTITY)
FL_BIND(fl_health, FL_HEALTH)
FL_BIND(fl_own_node_status, FL_OWN_NODE_STATUS)
FL_BIND(fl_own_node_meta, FL_OWN_NODE_META)
FL_BIND(fl_own_node, FL_OWN_NODE)
FL_BIND(fl_device_class_meta, FL_DEVICE_CLASS_META)
FL_BIND(fl_device_class_spec, FL_DEVICE_CLASS_SPEC)
FL_BIND(fl_device_class, FL_DEVICE_CLASS)

/* No API server has these; the group is for words only. */
#define LOCAL .group = "node.fairlead", .version = "v1", .cluster_scoped = true, .built_in = true

const struct fl_kind fl_driver_kind = {
	LOCAL, .kind = "Driver", .plural = "drivers", .root = fl_driver_bind, .help = "The vendor's driver.",
};
const struct fl_kind fl_card_kind = {
	LOCAL, .kind = "Card", .plural = "cards", .root = fl_card_bind, .help = "A GPU of this node.",
};
const struct fl_kind fl_card_fault_kind = {
	LOCAL, .kind = "Fault", .plural = "faults", .root = fl_card_fault_bind, .help = "What a card has reported.",
};
const struct fl_kind fl_holder_kind = {
	LOCAL, .kind = "Holder", .plural = "holders", .root = fl_holder_bind,
	.help = "A container that has devices of this node.",
};
const struct fl_kind fl_host_kind = {
	LOCAL, .kind = "Host", .plural = "hosts", .root = fl_host_bind, .help = "The driver's files on this node.",
};
const struct fl_kind fl_runtime_kind = {
	LOCAL, .kind = "Runtime", .plural = "runtimes", .root = fl_runtime_bind, .help = "The container runtime.",
};
const struct fl_kind fl_plugin_socket_kind = {
	LOCAL, .kind = "PluginSocket", .plural = "pluginsockets", .root = fl_plugin_socket_bind,
	.help = "A socket in the kubelet's folder of device plugins.",
};
const struct fl_kind fl_settings_kind = {
	LOCAL, .kind = "Settings", .plural = "settings", .root = fl_settings_bind,
	.help = "How this node hands out its GPUs.",
};
const struct fl_kind fl_word_kind = {
	LOCAL, .kind = "Word", .plural = "words", .root = fl_word_bind,
	.help = "What the operator has said of the driver last.",
};
const struct fl_kind fl_pause_kind = {
	LOCAL, .kind = "Pause", .plural = "pauses", .root = fl_pause_bind,
	.help = "A wish that the driver be let go of.",
};
const struct fl_kind fl_hold_kind = {
	LOCAL, .kind = "Hold", .plural = "holds", .root = fl_hold_bind, .help = "Whether the driver is let go of.",
};
const struct fl_kind fl_given_kind = {
	LOCAL, .kind = "Given", .plural = "givens", .root = fl_given_bind,
	.help = "What the agent was started with.",
};
const struct fl_kind fl_config_file_kind = {
	LOCAL, .kind = "ConfigFile", .plural = "configfiles", .root = fl_config_file_bind,
	.help = "A file of the node's configuration.",
};
const struct fl_kind fl_resource_kind = {
	LOCAL, .kind = "Resource", .plural = "resources", .root = fl_resource_bind,
	.help = "A list of devices that the kubelet hands out.",
};
const struct fl_kind fl_health_kind = {
	LOCAL, .kind = "Health", .plural = "healths", .root = fl_health_bind,
	.help = "How a card or partition is, and since when.",
};
const struct fl_kind fl_own_node_kind = {
	.built_in = true, .group = "", .version = "v1", .kind = "Node", .plural = "nodes", .cluster_scoped = true,
	.root = fl_own_node_bind, .status = true, .help = "The Node that the agent runs on.",
};
const struct fl_kind fl_device_class_kind = {
	.built_in = true, .group = "resource.k8s.io", .version = "v1", .kind = "DeviceClass", .plural = "deviceclasses",
	.cluster_scoped = true, .root = fl_device_class_bind, .help = "Devices that Pods get through claims.",
};
