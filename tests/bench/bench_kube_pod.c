#include "bench_kube_pod.h"

static void put_field_set(struct fl_buf *buf)
{
	fl_buf_str(buf, FL_S(
				"\"managedFields\":[{\"manager\":\"kube-controller-manager\","
				"\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":\"2026-11-02T08:15:04Z\","
				"\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{\"f:labels\":{\".\":{},"
				"\"f:app\":{},\"f:gpu-control-plane.deckhouse.io/pool\":{},"
				"\"f:gpu-control-plane.deckhouse.io/pool-scope\":{}},\"f:ownerReferences\":{\".\":{},"
				"\"k:{\\\"uid\\\":\\\"0c4e8f9e-2a4b-4a57-9d0c-4e5f6a7b8c9d\\\"}\":{}}},"
				"\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"main\\\"}\":{\".\":{},"
				"\"f:image\":{},\"f:name\":{},\"f:resources\":{\".\":{},\"f:limits\":{}}}},"
				"\"f:dnsPolicy\":{},\"f:restartPolicy\":{}}}},{\"manager\":\"kubelet\","
				"\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":\"2026-11-02T08:15:09Z\","
				"\"fieldsType\":\"FieldsV1\","
				"\"fieldsV1\":{\"f:status\":{\"f:conditions\":"
				"{\"k:{\\\"type\\\":\\\"Ready\\\"}\":{\".\":{},"
				"\"f:lastTransitionTime\":{},\"f:status\":{},\"f:type\":{}}},\"f:phase\":{},"
				"\"f:podIP\":{},\"f:startTime\":{}}},\"subresource\":\"status\"}]"));
}

static void put_spec(struct fl_buf *buf, uint32_t i)
{
	fl_buf_printf(buf,
		      "\"spec\":{\"volumes\":[{\"name\":\"token\","
		      "\"projected\":{\"sources\":[{\"serviceAccountToken\":{\"expirationSeconds\":3607,"
		      "\"path\":\"token\"}}],\"defaultMode\":420}}],\"containers\":[{\"name\":\"main\","
		      "\"image\":\"registry.local/train:v1\",\"resources\":{\"limits\":{\"cpu\":\"8\","
		      "\"gpu.deckhouse.io/pool-%u\":\"1\",\"memory\":\"64Gi\"},\"requests\":{\"cpu\":\"8\","
		      "\"gpu.deckhouse.io/pool-%u\":\"1\",\"memory\":\"64Gi\"}},"
		      "\"volumeMounts\":[{\"name\":\"token\",\"readOnly\":true,"
		      "\"mountPath\":\"/var/run/secrets/kubernetes.io/serviceaccount\"}],"
		      "\"imagePullPolicy\":\"IfNotPresent\"}],\"restartPolicy\":\"Always\","
		      "\"dnsPolicy\":\"ClusterFirst\",\"nodeName\":\"gpu-node-%u\","
		      "\"schedulerName\":\"default-scheduler\",\"priority\":0}",
		      i % 40, i % 40, i / 8);
}

static void put_status(struct fl_buf *buf, const struct bench_pod *pod)
{
	const char *ready = pod->ready ? "True" : "False";

	fl_buf_printf(buf,
		      "\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\","
		      "\"status\":\"%s\",\"lastTransitionTime\":\"2026-11-02T08:15:09Z\"},"
		      "{\"type\":\"ContainersReady\",\"status\":\"%s\","
		      "\"lastTransitionTime\":\"2026-11-02T08:15:09Z\"},{\"type\":\"PodScheduled\","
		      "\"status\":\"True\",\"lastTransitionTime\":\"2026-11-02T08:15:04Z\"}],"
		      "\"hostIP\":\"10.1.0.%u\",\"podIP\":\"10.244.%u.%u\","
		      "\"startTime\":\"2026-11-02T08:15:04Z\",\"containerStatuses\":[{\"name\":\"main\","
		      "\"state\":{\"running\":{\"startedAt\":\"2026-11-02T08:15:08Z\"}},\"ready\":true,"
		      "\"restartCount\":0,\"image\":\"registry.local/train:v1\",\"imageID\":\"\","
		      "\"started\":true}],\"qosClass\":\"Burstable\"}",
		      ready, ready, pod->i / 8 % 250, pod->i / 250 % 250, pod->i % 250);
}

void bench_pod_put(struct fl_buf *buf, const struct bench_pod *pod)
{
	uint32_t i = pod->i;

	fl_buf_str(buf, pod->named ? FL_S("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",") : FL_S("{"));
	fl_buf_printf(buf,
		      "\"metadata\":{\"name\":\"train-%u-worker-%u\",\"namespace\":\"team-%u\","
		      "\"uid\":\"9ba7b810-9dad-11d1-80b4-%012x\",\"resourceVersion\":\"%llu\","
		      "\"creationTimestamp\":\"2026-11-02T08:15:04Z\",\"labels\":{\"app\":\"train\","
		      "\"gpu-control-plane.deckhouse.io/pool\":\"pool-%u\","
		      "\"gpu-control-plane.deckhouse.io/pool-scope\":\"namespaced\"},"
		      "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
		      "\"name\":\"train-%u\",\"uid\":\"0c4e8f9e-2a4b-4a57-9d0c-4e5f6a7b8c9d\","
		      "\"controller\":true,\"blockOwnerDeletion\":true}],",
		      i / 8, i % 8, i % 50, i, (unsigned long long)pod->version, i % 40, i / 8);
	put_field_set(buf);
	fl_buf_str(buf, FL_S("},"));
	put_spec(buf, i);
	fl_buf_char(buf, ',');
	put_status(buf, pod);
	fl_buf_char(buf, '}');
}
