/* Each variable of DCGM's exporter is used, or refused by name. */
#include "settings_read.h"

static const struct documented documented[] = {
	{ "where GPU metrics are served", "--metrics-listen=:1", "DCGM_EXPORTER_LISTEN=:1", "-", "metricsListen" },
	{ "how often GPUs are read", "--metrics-interval=30000", "DCGM_EXPORTER_INTERVAL=30000", "-",
	  "metricsInterval" },
	{ "the list of metrics", "--metrics-file=/c", "DCGM_EXPORTER_COLLECTORS=/c", "-", "metricsFile" },
	{ "the web config", "--metrics-web-config=/w", "DCGM_EXPORTER_WEB_CONFIG_FILE=/w", "-", "metricsWebConfig" },
	{ "no host name", "--metrics-no-hostname", "DCGM_EXPORTER_NO_HOSTNAME=true", "-", "metricsLines" },
	{ "no blanks", "--metrics-replace-blanks", "DCGM_EXPORTER_REPLACE_BLANKS_IN_MODEL_NAME=true", "-",
	  "metricsLines" },
	{ "labels of version 1", "--metrics-old-labels", "DCGM_EXPORTER_USE_OLD_NAMESPACE=true", "-",
	  "metricsLines" },
	{ "the window of XIDs", "--metrics-xid-window=1000", "DCGM_EXPORTER_XID_COUNT_WINDOW_SIZE=1000", "-",
	  "metricsXidWindow" },
	{ "the window of clock events", "--metrics-clock-window=1000",
	  "DCGM_EXPORTER_CLOCK_EVENTS_COUNT_WINDOW_SIZE=1000", "-", "metricsClockWindow" },
	{ "Pods are named", "--metrics-pods", "DCGM_EXPORTER_KUBERNETES=true", "-", "" },
	{ "Pods are not named", "--metrics-pods=false", "DCGM_EXPORTER_KUBERNETES=false", "-", "metricsPods" },
	{ "whether Pods are named: no bool", "--metrics-pods=x", "DCGM_EXPORTER_KUBERNETES=x", "-", "!" },
	{ "the host engine of DCGM", "-", "DCGM_REMOTE_HOSTENGINE_INFO=h:5555", "-", "untaken" },
	{ "claims", "-", "KUBERNETES_ENABLE_DRA=true", "-", "untaken" },
	{ "no claims", "-", "KUBERNETES_ENABLE_DRA=false", "-", "" },
	{ "each Pod of a shared GPU", "-", "KUBERNETES_VIRTUAL_GPUS=true", "-", "" },
	{ "one Pod of a shared GPU", "-", "KUBERNETES_VIRTUAL_GPUS=false", "-", "untaken" },
	{ "further resources: all are attributed", "-", "NVIDIA_RESOURCE_NAMES=nvidia.com/a", "-", "" },
	{ "a list in a ConfigMap", "-", "DCGM_EXPORTER_CONFIGMAP_DATA=ns:name", "-", "untaken" },
	{ "a socket of systemd's", "-", "DCGM_EXPORTER_SYSTEMD_SOCKET=true", "-", "untaken" },
	{ "no socket of systemd's", "-", "DCGM_EXPORTER_SYSTEMD_SOCKET=false", "-", "" },
	{ "some devices", "-", "DCGM_EXPORTER_DEVICES_STR=g:0", "-", "untaken" },
	{ "labels of Pods", "--metrics-pod-labels", "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS=true", "-",
	  "metricsLines" },
	{ "UIDs of Pods", "--metrics-pod-uid", "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID=true", "-", "metricsLines" },
	{ "some labels of Pods", "--metrics-pod-label-allowlist=app",
	  "DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX=app", "-", "metricsPodLabelAllowlist" },
	{ "device IDs of other plugins are known anyway", "-", "DCGM_EXPORTER_KUBERNETES_GPU_ID_TYPE=device-name", "-",
	  "" },
	{ "jobs of other schedulers", "-", "DCGM_HPC_JOB_MAPPING_DIR=/j", "-", "untaken" },
	{ "PodResources elsewhere", "-", "DCGM_POD_RESOURCES_KUBELET_SOCKET=/s", "-", "untaken" },
};

TEST(each_variable_of_dcgm_s_exporter_is_used_or_refused_by_name)
{
	EACH_ROW (row, documented)
		check_documented(row);
}
