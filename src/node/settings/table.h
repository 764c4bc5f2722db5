/* table.h - the settings of a node that an option gives: a row each.
 *
 *     X(STR, pass_specs, BOOL, pass_nodes, "pass-device-specs", "Hand out device nodes too.", (.env = ...), (.file =
 *     ...))
 *
 * the option's type (STR, or STRS of one that may be given many times), its member of struct fl_settings_given, how the
 * text is read (json/setting.h), the member of struct fl_settings that it writes (`has`: none), the option's name and
 * help, what else the option has (base/option.h) and what else the setting has (json/setting.h).
 *
 * From here come the options, the names in the environment, the places in NVIDIA's file, the defaults, the bounds and
 * the table in docs/NODE.md. Fields of the file that have no option stand in read.c.
 */
#pragma once
#include "api/node.h"
#include "base/units.h"
#include "json/setting.h"

#define FL_SETTINGS_FILE_MAX (1 * FL_MIB)     /* NVIDIA's configuration: a ConfigMap holds no more */
#define FL_SETTINGS_LIST 64                   /* shared resources, pools, XIDs: more than there are of any */
#define FL_SETTINGS_WAIT_MAX (3600 * FL_NS_PER_S)   /* no longer is a healthy GPU kept away for its past */

/* Readers of values that no kind of json/setting.h describes. */
int fl_settings_own_hook(struct fl_setting_in *in, const struct fl_setting_value *value);
int fl_settings_own_prefix(struct fl_setting_in *in, const struct fl_setting_value *value);
int fl_settings_own_mps_root(struct fl_setting_in *in, const struct fl_setting_value *value);
int fl_settings_own_node_feature(struct fl_setting_in *in, const struct fl_setting_value *value);
int fl_settings_own_metrics(struct fl_setting_in *in, const struct fl_setting_value *value);
int fl_settings_own_metrics_truth(struct fl_setting_in *in, const struct fl_setting_value *value);
int fl_settings_own_channel(struct fl_setting_in *in, const struct fl_setting_value *value);
extern const struct fl_names fl_discovery_names;

/* --unpooled, --no-unpooled, --unpooled=false: NVIDIA's documentation has them without a value. */
#define FL_TRUTH .bare = true, .value = "true|false"

#define FL_SETTINGS_TABLE(X) \
	X(STR, mig_strategy, ENUM, mig, "mig-strategy", "Resource names of MIG devices: none, single or mixed.", \
	  (.env = "MIG_STRATEGY", .env_also = "GFD_MIG_STRATEGY", .value = "none|single|mixed"), \
	  (.file = "flags.migStrategy", .fallback = "none")) \
	X(STRS, list_strategy, LIST, device_lists, "device-list-strategy", \
	  "How containers get devices: cdi-cri, cdi-annotations, envvar, volume-mounts, device-specs.", \
	  (.env = "DEVICE_LIST_STRATEGY"), \
	  (.file = "flags.plugin.deviceListStrategy", .fallback = "cdi-cri", \
	   .blank = "an empty list allocates nothing: name a strategy, as cdi-cri, or leave it out")) \
	X(STR, id_strategy, ENUM, id_by, "device-id-strategy", "Name of a device in containers: uuid or index.", \
	  (.env = "DEVICE_ID_STRATEGY", .value = "uuid|index"), \
	  (.file = "flags.plugin.deviceIDStrategy", .fallback = "uuid")) \
	X(STR, pass_specs, BOOL, pass_nodes, "pass-device-specs", \
	  "Also allocate device nodes, unless every strategy is CDI.", \
	  (.env = "PASS_DEVICE_SPECS", FL_TRUTH), (.file = "flags.plugin.passDeviceSpecs")) \
	X(STR, share_policy, ENUM, share_policy, "shared-devices-allocation-policy", \
	  "Order in which replicas are preferred: distributed or packed.", \
	  (.env = "SHARED_DEVICES_ALLOCATION_POLICY", .value = "distributed|packed"), \
	  (.file = "flags.plugin.sharedDevicesAllocationPolicy", .fallback = "distributed")) \
	X(STR, annotation_prefix, OWN, annotation_prefix, "cdi-annotation-prefix", \
	  "Prefix of annotations that name CDI devices.", (.env = "CDI_ANNOTATION_PREFIX"), \
	  (.file = "flags.plugin.cdiAnnotationPrefix", .fallback = "cdi.k8s.io/", .own = fl_settings_own_prefix)) \
	X(STR, nvidia_hook, OWN, hook, "nvidia-cdi-hook-path", \
	  "--cdi-hook-path by NVIDIA's name; a path of NVIDIA's own hook is reported and not used.", \
	  (.env = "NVIDIA_CDI_HOOK_PATH", .also = "nvidia-ctk-path", .env_also = "NVIDIA_CTK_PATH", .hidden = true), \
	  (.file = "flags.plugin.nvidiaCDIHookPath", .file_also = "flags.plugin.nvidiaCTKPath", \
	   .own = fl_settings_own_hook)) \
	X(STR, hook, OWN, hook, "cdi-hook-path", \
	  "Path of the CDI hook's program, in the agent and on the host; " \
	  "else STATE_DIR/bin/fairlead-cdi-hook; empty: no hook.", (), (.own = fl_settings_own_hook)) \
	X(STR, hook_usual, LATER, hook, "cdi-hook-default", "The default of --cdi-hook-path.", \
	  (.hidden = true), ()) \
	X(STRS, roots, PATH, driver_root, "driver-root", \
	  "Roots of the driver to try, in order; / and /run/nvidia/driver. One: CDI files name it.", \
	  (.env = "NVIDIA_DRIVER_ROOT", .also = "nvidia-driver-root"), \
	  (.file = "flags.nvidiaDriverRoot", .file_also = "flags.driverRoot")) \
	X(STR, look_root, PATH, look_roots, "driver-root-ctr-path", \
	  "Path of the driver's root in the agent; CDI files name --driver-root.", \
	  (.env = "DRIVER_ROOT_CTR_PATH", .also = "container-driver-root", .env_also = "CONTAINER_DRIVER_ROOT", \
	   .value = "PATH"), \
	  (.file = "flags.plugin.driverRootCtrPath", .file_also = "flags.plugin.containerDriverRoot")) \
	X(STR, dev_root, PATH, dev_root, "dev-root", \
	  "Directory of the host with /dev; else the driver's root, if it has one.", \
	  (.env = "NVIDIA_DEV_ROOT", .also = "nvidia-dev-root", .value = "PATH"), \
	  (.file = "flags.nvidiaDevRoot", .file_also = "flags.devRoot")) \
	X(STRS, cdi_flags, SET, cdi_flags, "cdi-feature-flags", \
	  "Changes to CDI files, by NVIDIA's names: no-additional-gids-for-device-nodes, " \
	  "disable-ipc-discoverer; all.", \
	  (.env = "CDI_FEATURE_FLAGS"), \
	  (.element = 1 + FL_CDI_COHERENT_ANNOTATIONS, .unsupported = "no device has annotations; leave it out")) \
	X(STRS, disabled_hooks, SET, disabled_hooks, "cdi-disable-hooks", \
	  "Skip parts of the CDI hook: create-symlinks, enable-cuda-compat, update-ldcache, ...; all.", \
	  (.env = "CDI_DISABLE_HOOKS"), ()) \
	X(STR, without_cdi, ENUM, without_cdi, "without-cdi", \
	  "What to do where the container runtime has CDI off: device-specs or refuse.", \
	  (.value = "device-specs|refuse"), \
	  (.fallback = "device-specs")) \
	X(STR, unpooled, BOOL, unpooled, "unpooled", \
	  "Serve GPUs that are in no pool as nvidia.com/gpu and nvidia.com/mig-*.", (FL_TRUTH), \
	  (.fallback = "false")) \
	X(STRS, pools, LATER, pools, "pool", \
	  "A resource and its GPUs: gpu.deckhouse.io/train=0,1 or ...=all.", (), ()) \
	X(STR, gpu_pools, BOOL, gpu_pools, "gpu-pools", \
	  "Serve the GPUs of this node that belong to a GPUPool or ClusterGPUPool as that pool.", (FL_TRUTH), \
	  (.fallback = "false")) \
	X(STR, pre_start, BOOL, pre_start, "pre-start", \
	  "Check GPUs before each container start; while no agent runs, no container restarts.", (FL_TRUTH), ()) \
	X(STR, disable_health, LATER, ignored, "disable-health-checks", \
	  "XIDs to ignore besides those of applications; all: no fault counts.", \
	  (.env = "DP_DISABLE_HEALTHCHECKS"), ()) \
	X(STR, enable_health, LATER, ignored, "enable-health-checks", \
	  "XIDs to count although ignored by default; all: every XID.", \
	  (.env = "DP_ENABLE_HEALTHCHECKS"), ()) \
	X(STR, cdi_kind, QUALIFIED, cdi_kind, "cdi-kind", \
	  "Vendor and class of the CDI devices.", (), \
	  (.fallback = "k8s.device-plugin.nvidia.com/gpu", .wanted = "no vendor.example/class")) \
	X(STR, recovery_wait, DURATION, recovery_wait, "recovery-wait", \
	  "Minimum time between two GPU recoveries, up to 1h.", (), \
	  (.fallback = "30s", .max = FL_SETTINGS_WAIT_MAX, .wanted = "no time from 0s to 1h, as 30s")) \
	X(STR, recovery_wait_max, DURATION, recovery_wait_max, "recovery-wait-max", \
	  "Longest healthy time before a flapping GPU recovers, above --recovery-wait and up to 1h; 0s: off. " \
	  "The default rises to twice --recovery-wait.", (), \
	  (.fallback = "10m", .max = FL_SETTINGS_WAIT_MAX, .wanted = "no time from 0s to 1h, as 10m")) \
	X(STR, recovery_checks, NUMBER, recovery_checks, "recovery-checks", \
	  "Health checks without a fault before a GPU recovers.", (), \
	  (.fallback = "3", .min = 1, .max = FL_CARD_CLEAN_MAX)) \
	X(STR, startup_taint, BOOL, startup_taint, "startup-taint", "Taint the Node until its GPUs are ready.", \
	  (FL_TRUTH), ()) \
	X(STR, evict_after, DURATION, evict_after, "evict-after", \
	  "Evict Pods this long after their GPU died; 0s: never.", (.value = "DURATION"), \
	  (.fallback = "0s", .none_at_zero = true, .wanted = "no duration from 0s (never) on, as 5m")) \
	X(STR, remove_refused, BOOL, remove_refused, "remove-refused-pods", \
	  "Delete Pods that the kubelet refused for lack of a GPU, if they have a controller.", (FL_TRUTH), ()) \
	X(STR, dev_links, BOOL, dev_links, "dev-char-links", \
	  "Keep /dev/char links to the GPUs' device nodes, for the systemd cgroup driver.", (FL_TRUTH), ()) \
	X(STR, make_nodes, BOOL, make_nodes, "make-device-nodes", \
	  "Make /dev/nvidia-uvm and /dev/nvidia-uvm-tools where they are missing.", (FL_TRUTH), \
	  (.fallback = "true")) \
	X(STR, node_feature, OWN, has, "use-node-feature-api", "true: --labels=node-feature; false: --labels=file.", \
	  (.env = "GFD_USE_NODE_FEATURE_API", .env_also = "USE_NODE_FEATURE_API", .hidden = true, FL_TRUTH), \
	  (.file = "flags.useNodeFeatureAPI", .own = fl_settings_own_node_feature)) \
	X(STR, labels, ENUM, labels, "labels", \
	  "Where to write the labels of the GPUs: node-feature (an object of node feature discovery), " \
	  "file (of its worker), node (without it) or none.", (.value = "node-feature|file|node|none"), \
	  (.fallback = "node-feature")) \
	X(STR, no_timestamp, BOOL, no_timestamp, "without-timestamp", \
	  "Leave out the label nvidia.com/gfd.timestamp.", \
	  (.env = "GFD_NO_TIMESTAMP", .also = "no-timestamp", FL_TRUTH), (.file = "flags.gfd.noTimestamp")) \
	X(STR, oneshot, BOOL, has, "oneshot", "Accepted without effect: labels are kept up to date.", \
	  (.env = "GFD_ONESHOT", .hidden = true, FL_TRUTH), (.file = "flags.gfd.oneshot")) \
	X(STR, sleep_interval, ANY, has, "sleep-interval", "Accepted without effect: labels are kept up to date.", \
	  (.env = "GFD_SLEEP_INTERVAL", .hidden = true), (.file = "flags.gfd.sleepInterval")) \
	X(STR, present_label, BOOL, present_label, "gpu-present-label", \
	  "Write the label nvidia.com/gpu.present, as the GPU Operator does.", (FL_TRUTH), ()) \
	X(STR, fail_on_init, BOOL, has, "fail-on-init-error", \
	  "Accepted without effect: the agent starts without a driver.", \
	  (.env = "FAIL_ON_INIT_ERROR", .env_also = "GFD_FAIL_ON_INIT_ERROR", .hidden = true, FL_TRUTH), \
	  (.file = "flags.failOnInitError")) \
	X(STR, discovery, ENUM, has, "device-discovery-strategy", "auto or nvml.", \
	  (.env = "DEVICE_DISCOVERY_STRATEGY", .env_also = "GFD_DEVICE_DISCOVERY_STRATEGY", \
	   .value = "auto|nvml", .hidden = true), \
	  (.file = "flags.deviceDiscoveryStrategy", .names = &fl_discovery_names, \
	   .wanted = "not supported (Tegra, WSL and vfio are not): write auto or nvml")) \
	X(STR, gdrcopy, ELEMENT, extras, "gdrcopy-enabled", "Give containers GDRCopy's device beside their GPUs.", \
	  (.env = "GDRCOPY_ENABLED", FL_TRUTH), (.file = "flags.gdrcopyEnabled", .element = FL_EXTRA_GDRCOPY)) \
	X(STR, gds, ELEMENT, extras, "gds-enabled", "Give containers the devices of GPUDirect Storage.", \
	  (.env = "GDS_ENABLED", FL_TRUTH), (.file = "flags.gdsEnabled", .element = FL_EXTRA_GDS)) \
	X(STR, mofed, ELEMENT, extras, "mofed-enabled", "Give containers the devices of the InfiniBand network.", \
	  (.env = "MOFED_ENABLED", FL_TRUTH), (.file = "flags.mofedEnabled", .element = FL_EXTRA_MOFED)) \
	X(STR, imex_channels, OWN, extras, "imex-channel-ids", "IMEX channels that containers get: [] or [0].", \
	  (.env = "IMEX_CHANNEL_IDS"), \
	  (.file = "imex.channelIDs", .element = FL_EXTRA_IMEX, .own = fl_settings_own_channel)) \
	X(STR, imex_required, BOOL, imex_required, "imex-required", \
	  "Advertise no GPU while the IMEX channel is missing.", (.env = "IMEX_REQUIRED", FL_TRUTH), \
	  (.file = "imex.required")) \
	X(STR, metrics_listen, TEXT, metrics_listen, "metrics-listen", \
	  "Listen address of GPU metrics under DCGM's names; empty: none.", \
	  (.env = "DCGM_EXPORTER_LISTEN", .empty = true, .value = "ADDRESS"), (.fallback = ":9400")) \
	X(STR, metrics_interval, NUMBER, metrics_interval, "metrics-interval", \
	  "Time between two reads of the GPUs, ms; a minute while nobody scrapes.", \
	  (.env = "DCGM_EXPORTER_INTERVAL"), (.fallback = "15000", .min = 1000, .max = 60000)) \
	X(STR, metrics_file, PATH, metrics_file, "metrics-file", \
	  "List of GPU metrics: NAME, TYPE, HELP; followed. Else the default list.", \
	  (.env = "DCGM_EXPORTER_COLLECTORS", .value = "PATH"), ()) \
	X(STR, metrics_web, PATH, metrics_web, "metrics-web-config", \
	  "Web config file of GPU metrics: TLS and client certificates; followed.", \
	  (.env = "DCGM_EXPORTER_WEB_CONFIG_FILE", .value = "PATH"), ()) \
	X(STR, metrics_once, ELEMENT, metrics_lines, "metrics-once-a-gpu", \
	  "Tell what a whole GPU has once, not for each GPU instance.", (FL_TRUTH), (.element = FL_METRICS_ONCE)) \
	X(STR, metrics_no_host, ELEMENT, metrics_lines, "metrics-no-hostname", \
	  "Leave out the labels hostname and Hostname.", (.env = "DCGM_EXPORTER_NO_HOSTNAME", FL_TRUTH), \
	  (.element = FL_METRICS_NO_HOST)) \
	X(STR, metrics_no_blanks, ELEMENT, metrics_lines, "metrics-replace-blanks", \
	  "Write - for blanks in the label modelName.", \
	  (.env = "DCGM_EXPORTER_REPLACE_BLANKS_IN_MODEL_NAME", FL_TRUTH), (.element = FL_METRICS_NO_BLANKS)) \
	X(STR, metrics_old_names, ELEMENT, metrics_lines, "metrics-old-labels", \
	  "Write the labels of DCGM's exporter 1.x: uuid, pod_name, pod_namespace, container_name.", \
	  (.env = "DCGM_EXPORTER_USE_OLD_NAMESPACE", FL_TRUTH), (.element = FL_METRICS_OLD_NAMES)) \
	X(STR, metrics_xids, NUMBER, metrics_xids, "metrics-xid-window", \
	  "How long an XID counts in DCGM_EXP_XID_ERRORS_COUNT, ms.", \
	  (.env = "DCGM_EXPORTER_XID_COUNT_WINDOW_SIZE"), (.fallback = "300000", .min = 1000, .max = 86400000)) \
	X(STR, metrics_clocks, NUMBER, metrics_clocks, "metrics-clock-window", \
	  "How long a sample counts in DCGM_EXP_CLOCK_EVENTS_COUNT, ms.", \
	  (.env = "DCGM_EXPORTER_CLOCK_EVENTS_COUNT_WINDOW_SIZE"), \
	  (.fallback = "300000", .min = 1000, .max = 900000)) \
	X(STR, metrics_configmap, OWN, has, "metrics-configmap", "Not supported.", \
	  (.env = "DCGM_EXPORTER_CONFIGMAP_DATA", .hidden = true), (.own = fl_settings_own_metrics, \
	  .unsupported = "mount the ConfigMap, and name its file with --metrics-file")) \
	X(STR, metrics_systemd, OWN, has, "metrics-systemd-socket", "Not supported.", \
	  (.env = "DCGM_EXPORTER_SYSTEMD_SOCKET", .hidden = true), (.own = fl_settings_own_metrics_truth, \
	  .unsupported = "write --metrics-listen")) \
	X(STR, metrics_devices, OWN, has, "metrics-devices", "Not supported.", \
	  (.env = "DCGM_EXPORTER_DEVICES_STR", .hidden = true), (.own = fl_settings_own_metrics, \
	  .unsupported = "all GPUs are told, in MIG mode by their instances; write --metrics-once-a-gpu")) \
	X(STR, metrics_pod_labels, ELEMENT, metrics_lines, "metrics-pod-labels", \
	  "Write the labels of Pods in their lines, as the container runtime has them.", \
	  (.env = "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS", FL_TRUTH), (.element = FL_METRICS_POD_LABELS)) \
	X(STR, metrics_pod_uid, ELEMENT, metrics_lines, "metrics-pod-uid", \
	  "Write the label pod_uid in the lines of Pods.", \
	  (.env = "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID", FL_TRUTH), (.element = FL_METRICS_POD_UID)) \
	X(STR, metrics_pod_allow, TEXT, metrics_pod_allow, "metrics-pod-label-allowlist", \
	  "Names of the Pod labels that are written, as regular expressions between commas; empty: all.", \
	  (.env = "DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX", .empty = true, .value = "PATTERN,..."), ()) \
	X(STR, metrics_id_type, OWN, has, "metrics-gpu-id-type", \
	  "Accepted without effect: device IDs of both types are attributed.", \
	  (.env = "DCGM_EXPORTER_KUBERNETES_GPU_ID_TYPE", .hidden = true), (.own = fl_settings_own_metrics, \
	  .unsupported = "")) \
	X(STR, metrics_hostengine, OWN, has, "metrics-hostengine", "Not supported.", \
	  (.env = "DCGM_REMOTE_HOSTENGINE_INFO", .hidden = true), (.own = fl_settings_own_metrics, \
	  .unsupported = "the driver is asked directly")) \
	X(STR, metrics_hpc, OWN, has, "metrics-hpc-jobs", "Not supported.", \
	  (.env = "DCGM_HPC_JOB_MAPPING_DIR", .hidden = true), (.own = fl_settings_own_metrics, \
	  .unsupported = "jobs of other schedulers are not told")) \
	X(STR, metrics_socket, OWN, has, "metrics-pod-resources-socket", "Not supported.", \
	  (.env = "DCGM_POD_RESOURCES_KUBELET_SOCKET", .hidden = true), (.own = fl_settings_own_metrics, \
	  .unsupported = "write --kubelet-dir")) \
	X(STR, metrics_pods, BOOL, metrics_pods, "metrics-pods", \
	  "Name the containers that have a device in its lines.", (.env = "DCGM_EXPORTER_KUBERNETES", FL_TRUTH), \
	  (.fallback = "true")) \
	X(STR, metrics_virtual, OWN, has, "metrics-virtual-gpus", \
	  "true has no effect, false is not supported: each Pod of a shared GPU has lines.", \
	  (.env = "KUBERNETES_VIRTUAL_GPUS", .hidden = true), (.own = fl_settings_own_metrics_truth, \
	  .element = true, .unsupported = "each Pod of a shared GPU has lines")) \
	X(STR, metrics_dra, OWN, has, "metrics-dra", "Not supported.", \
	  (.env = "KUBERNETES_ENABLE_DRA", .hidden = true), (.own = fl_settings_own_metrics_truth, \
	  .unsupported = "no lines name the Pods of claims")) \
	X(STR, metrics_names, OWN, has, "metrics-resource-names", \
	  "Accepted without effect: devices of every resource are attributed.", \
	  (.env = "NVIDIA_RESOURCE_NAMES", .hidden = true), (.own = fl_settings_own_metrics, .unsupported = "")) \
	X(STR, mps_root, OWN, mps_root, "mps-root", \
	  "Directory on the host for MPS, as /run/nvidia/mps; sharing.mps of the configuration needs it.", \
	  (.env = "MPS_ROOT", .value = "DIR"), (.file = "flags.mpsRoot", .own = fl_settings_own_mps_root)) \
	X(STR, mig_manager, BOOL, mig_manager, "mig-manager", \
	  "Partition GPUs by MIG, by the layout that the Node's label nvidia.com/mig.config names.", (FL_TRUTH), ()) \
	X(STR, mig_config, TEXT, mig_config, "mig-config", \
	  "MIG layout of a Node without that label: all-balanced, or a name of --mig-config-file.", (), ()) \
	X(STR, mig_file, PATH, mig_file, "mig-config-file", \
	  "File with MIG layouts, as mig-parted reads it (version v1); else all-disabled, all-1g.10gb, ...", \
	  (.value = "FILE"), ())

#define FL_UNPAREN(...) __VA_ARGS__
#define FL_GIVEN_STR struct fl_str
#define FL_GIVEN_STRS struct fl_strs
#define FL_GIVEN_LIST_STR false
#define FL_GIVEN_LIST_STRS true
#define FL_GIVEN_MEMBER(type, given, kind, member, option, help, more, setting) FL_GIVEN_##type given;

/* What was given on the command line or in the environment, as it was written; .p NULL: it was not. Of a list the
 * command line's items are one text each, and any of them may be parted by commas. */
struct fl_settings_given {
	FL_SETTINGS_TABLE(FL_GIVEN_MEMBER)
};

/* Rows of a command whose struct begins with a struct fl_settings_given. */
#define FL_SETTINGS_OPTIONS FL_SETTINGS_TABLE(FL_SETTINGS_OPTION)
#define FL_SETTINGS_OPTION(type, given, kind, member, option, help, more, setting) \
	FL_OPT_##type(struct fl_settings_given, given, option, help, FL_UNPAREN more),

/* Rows for json/setting.h. */
#define FL_SETTINGS_ROWS FL_SETTINGS_TABLE(FL_SETTINGS_ROW)
#define FL_SETTINGS_ROW(type, given_, kind_, member_, option_, help, more, setting) \
	{ .option = option_, .given = offsetof(struct fl_settings_given, given_), \
	  .given_list = FL_GIVEN_LIST_##type, .kind = FL_SETTING_##kind_, \
	  .member = offsetof(struct fl_settings, member_), FL_UNPAREN setting },
