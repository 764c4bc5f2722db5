/* The exporter in the agent: real children on a fake driver, a kubelet, and texts as a scraper gets them. */
#include "agent_world.h"
#include "grpc/runtime.h"
#include "grpc/runtime.pb-c.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[8 << 20];

/* A scrape, in as many pieces as it takes. */
static bool scrape(struct world *w)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(sizeof text - 1);
	struct fl_exporter_at at = { 0 };

	while (fl_exporter_text(&w->agent.exporter, &at, 0, &buf))
		continue;
	(void)snprintf(text, sizeof text, "%s", buf.p ? buf.p : "");
	return !buf.failed;
}

/* The value of the first line of this metric that has all these labels; -1: there is none. */
static double value(const char *metric, const char *has, const char *has_too)
{
	size_t len = strlen(metric);

	for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		char copy[4096];

		(void)snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "\n"), line);
		if (strncmp(copy, metric, len) == 0 && (copy[len] == '{' || copy[len] == ' ') && strstr(copy, has) &&
		    strstr(copy, has_too))
			return strtod(strrchr(copy, ' '), NULL);
	}
	return -1;
}

static int lines(const char *metric, const char *has)
{
	size_t len = strlen(metric);
	int n = 0;

	for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *end = strchr(line, '\n'), *at = strstr(line, has);

		n += strncmp(line, metric, len) == 0 && line[len] == '{' && at && (!end || at < end);
	}
	return n;
}

static bool has_lines(struct world *w, int n)
{
	return scrape(w) && lines("DCGM_FI_DEV_GPU_TEMP", "gpu=") == n;
}

static bool is_stamped(struct world *w, int arg)
{
	(void)arg;
	return scrape(w) && value("dcgm_exporter_last_update_time_seconds", "", "") > 1e9;
}

TEST_ONCE(each_gpu_has_lines_under_the_names_of_dcgm)
{
	WORLD(w, "two-t4", 0);

	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, has_lines, 2) && until(&w, is_stamped, 0));
	CHECK(strstr(text, "# HELP DCGM_FI_DEV_GPU_TEMP GPU temperature (in C).\n# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"));
	CHECK(value("DCGM_FI_DEV_GPU_TEMP", "gpu=\"0\",UUID=\"GPU-", "device=\"nvidia0\",modelName=\"Tesla T4\"") > 20);
	CHECK(value("DCGM_FI_DEV_FB_FREE", "gpu=\"1\"", "DCGM_FI_DRIVER_VERSION=\"") > 1000);
	CHECK(value("DCGM_FI_DEV_POWER_USAGE", "gpu=\"1\"", "pci_bus_id=\"00000000:") > 1);
	CHECK(value("DCGM_FI_DEV_XID_ERRORS", "gpu=\"0\"", "err_code=\"0\"") == 0);
	/* A T4 has neither rows to remap nor metrics of its own: they are absent, not 0. */
	CHECK_INT(lines("DCGM_FI_DEV_ROW_REMAP_FAILURE", "gpu="), 0);
	CHECK_INT(lines("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gpu="), 0);
	CHECK_INT(lines("DCGM_FI_DEV_VGPU_LICENSE_STATUS", "gpu="), 0);
	CHECK(value("fairlead_gpu_energy_joules_total", "uuid=\"GPU-", "model=\"Tesla T4\"") >= 0);
}

static bool has_pod(struct world *w, int n)
{
	return scrape(w) && lines("DCGM_FI_DEV_GPU_UTIL", "container=\"job\",namespace=\"team\",pod=\"job\"") == n;
}

TEST_ONCE(a_pod_s_lines_come_and_go_with_it)
{
	char held[60];
	uint64_t asked;
	WORLD(w, "two-t4", 0);

	(void)snprintf(held, sizeof held, "%s", uuid(&w, 1));
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, has_lines, 2) && has_pod(&w, 0));
	w.held = held;
	fl_holders_look(w.agent.holders);   /* as after Allocate */
	asked = fl_clock(w.rig.io);
	CHECK(until(&w, has_pod, 1));
	CHECK(fl_clock(w.rig.io) < asked + FL_NS_PER_S);
	CHECK(value("DCGM_FI_DEV_GPU_UTIL", "gpu=\"1\"", "pod=\"job\"") >= 0);
	CHECK(value("DCGM_FI_DEV_GPU_UTIL", "gpu=\"0\"", "") >= 0);
	CHECK_INT(lines("DCGM_FI_DEV_GPU_UTIL", "gpu="), 2);
	w.held = NULL;
	CHECK(until(&w, has_pod, 0));
}

static bool is_unanswered(struct world *w, int arg)
{
	(void)arg;
	return fl_holders_why(w->agent.holders)->code != FL_OK;
}

/* Who had a device when the kubelet answered last is named for a while, and then nobody: the lines stay. */
TEST_ONCE(while_podresources_is_away_its_last_answer_is_told_for_a_while)
{
	char held[60];
	uint64_t until_then;
	WORLD(w, "two-t4", 0);

	(void)snprintf(held, sizeof held, "%s", uuid(&w, 1));
	w.held = held;
	w.pods_stale = 2 * FL_NS_PER_S;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, has_lines, 2) && until(&w, has_pod, 1));
	tells_down(&w);
	fl_holders_look(w.agent.holders);
	CHECK(until(&w, is_unanswered, 0));
	until_then = fl_holders_as_of(w.agent.holders) + w.pods_stale;
	CHECK(until(&w, has_pod, 0));
	CHECK(fl_now(w.rig.io) >= until_then);
	CHECK(has_lines(&w, 2));
	OK_ERR(tells_up(&w), &w.err);
	CHECK(until(&w, has_pod, 1));
}

/* What grpc-go takes by default, and dcgm-exporter with it, is 4 MiB. */
TEST_ONCE(a_kubelet_s_answer_of_more_than_4_mib_is_read_whole)
{
	char held[60];
	WORLD(w, "two-t4", 0);

	(void)snprintf(held, sizeof held, "%s", uuid(&w, 1));
	w.held = held;
	w.crowd = 18000;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, has_lines, 2) && until(&w, has_pod, 1));
	CHECK(w.reply_len > 4 * FL_MIB);
}

static bool knows_holder(struct world *w, int n)
{
	FL_VIEW(view, w->loop);
	uint32_t len;

	(void)fl_view_array(&view, &fl_holder_kind, &len);
	return len == (uint32_t)n;
}

/* As DCGM_EXPORTER_KUBERNETES=false has it. */
TEST_ONCE(lines_name_no_pods_where_they_shall_not)
{
	char held[60];
	WORLD(w, "two-t4", 0);

	(void)snprintf(held, sizeof held, "%s", uuid(&w, 1));
	w.held = held;
	w.no_pods = true;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, has_lines, 2) && until(&w, knows_holder, 1));
	CHECK(has_pod(&w, 0) && lines("DCGM_FI_DEV_GPU_UTIL", "gpu=") == 2);
}

static void list_sandboxes(struct fl_grpc_call *call, const ProtobufCMessage *request)
{
	Runtime__V1__ListPodSandboxResponse reply = RUNTIME__V1__LIST_POD_SANDBOX_RESPONSE__INIT;
	Runtime__V1__PodSandboxMetadata metadata = RUNTIME__V1__POD_SANDBOX_METADATA__INIT;
	Runtime__V1__PodSandbox pod = RUNTIME__V1__POD_SANDBOX__INIT, *pods[] = { &pod };
	char space[] = "team", name[] = "job", uid[] = "7a1c";

	(void)request;
	metadata.name = name;
	metadata.namespace_ = space;
	metadata.uid = uid;
	pod.metadata = &metadata;
	reply.n_items = 1;
	reply.items = pods;
	fl_grpc_call_reply(call, &reply.base);
}

static const struct fl_grpc_handler runtime[] = { { &fl_runtime_sandboxes, list_sandboxes } };

static bool has_uid(struct world *w, int arg)
{
	(void)arg;
	return scrape(w) && lines("DCGM_FI_DEV_GPU_UTIL", "pod=\"job\",pod_uid=\"7a1c\"") == 1;
}

TEST_ONCE(a_pod_s_uid_is_told_as_the_container_runtime_has_it)
{
	struct fl_grpc_server_options how = { .addr.kind = FL_ADDR_UNIX, .handlers = runtime, .handler_count = 1 };
	FL_AUTO(fl_grpc_server) struct fl_grpc_server *server = NULL;
	char held[60];
	WORLD(w, "two-t4", 0);

	(void)snprintf(how.addr.path, sizeof how.addr.path, "%s/runtime.sock", w.rig.folder);
	server = fl_grpc_server_new(w.rig.io, &how, &w.err);
	OK_ERR(server ? 0 : -FL_E_IO, &w.err);
	(void)snprintf(held, sizeof held, "%s", uuid(&w, 1));
	w.held = held;
	w.runtime = how.addr.path;
	w.pod_uid = true;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, has_uid, 0));
	agent_down(&w);
	server = fl_grpc_server_free(server);
}

static bool is_lost(struct world *w, int arg)
{
	(void)arg;
	return scrape(w) && lines("DCGM_FI_DEV_GPU_TEMP", "gpu=\"1\"") == 0 &&
	       lines("DCGM_FI_DEV_GPU_TEMP", "gpu=\"0\"") == 1;
}

TEST_ONCE(a_gpu_that_is_lost_has_no_lines_and_holds_up_no_other)
{
	WORLD(w, "two-t4", 0);

	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, has_lines, 2));
	OK_ERR(rig_say(&w.rig, "lose 1", &w.err), &w.err);
	CHECK(until(&w, is_lost, 0));
	OK_ERR(rig_say(&w.rig, "heal", &w.err), &w.err);
	CHECK(until(&w, has_lines, 2));
}

static bool has_xid(struct world *w, int xid)
{
	return scrape(w) && value("DCGM_FI_DEV_XID_ERRORS", "gpu=\"0\"", "err_code=") == xid;
}

static bool all_report(struct world *w, int arg)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);
	uint32_t len;
	const struct fl_card *cards = fl_view_array(&view, &fl_card_kind, &len);

	(void)arg;
	for (uint32_t i = 0; i < len; i++)
		if (!cards[i].events)
			return false;
	return len > 0;
}

TEST_ONCE(the_last_xid_stays_and_each_is_counted)
{
	WORLD(w, "two-t4", 0);

	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, has_lines, 2) && until(&w, all_report, 0) && until(&w, has_xid, 0));
	OK_ERR(rig_say(&w.rig, "xid 0 31", &w.err), &w.err);
	CHECK(until(&w, has_xid, 31));
	OK_ERR(rig_say(&w.rig, "xid 0 43", &w.err), &w.err);
	CHECK(until(&w, has_xid, 43));
	CHECK(value("fairlead_gpu_xid_errors_total", "gpu=\"0\"", "xid=\"31\"") == 1);
	CHECK(value("fairlead_gpu_xid_errors_total", "gpu=\"0\"", "xid=\"43\"") == 1);
	CHECK_INT(lines("fairlead_gpu_xid_errors_total", "gpu=\"1\""), 0);
}

static bool has_profile(struct world *w, int percent)
{
	return scrape(w) && value("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gpu=\"0\"", "") > percent / 100.0 - 0.001;
}

/* Profiling metrics need two samples, so they come with the second round. */
TEST_ONCE(hopper_s_profiling_metrics_come_with_the_second_sample)
{
	WORLD(w, "dgx-h100", 0);

	w.metrics_period = 200 * FL_NS_PER_MS;
	OK_ERR(rig_say(&w.rig, "load 0 60", &w.err), &w.err);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, has_lines, 8));
	CHECK(until(&w, has_profile, 60));
	CHECK(value("DCGM_FI_PROF_PCIE_TX_BYTES", "gpu=\"0\"", "") == 60.0 * 1048576);
	CHECK(value("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "gpu=\"0\"", "") >= 0);
	CHECK(value("fairlead_gpu_nvlink_bytes_total", "gpu=\"0\"", "direction=\"tx\"") > 0);
	CHECK(value("fairlead_gpu_pcie_bytes_total", "gpu=\"0\"", "direction=\"rx\"") > 0);
	CHECK(value("fairlead_gpu_throttled_seconds_total", "gpu=\"0\"", "reason=\"power\"") >= 0);
}

static void write_list(const char *path, const char *lines)
{
	char next[120];
	FILE *file;

	(void)snprintf(next, sizeof next, "%s.next", path);
	file = fopen(next, "w");
	if (!file)
		return;
	(void)fputs(lines, file);
	(void)fclose(file);
	(void)rename(next, path);
}

static bool tells_only(struct world *w, int limit)
{
	(void)limit;
	return scrape(w) && lines("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "gpu=\"0\"") == 1 &&
	       !strstr(text, "DCGM_FI_DEV_GPU_TEMP");
}

static bool is_refused(struct world *w, int arg)
{
	(void)arg;
	return strstr(w->agent.exporter.why.text, "line 2: ") != NULL;
}

/* A list is followed; one with a line that cannot be served changes nothing. */
TEST_ONCE(the_list_s_file_is_followed_and_a_broken_one_keeps_the_old_list)
{
	char path[100];
	WORLD(w, "two-t4", 0);

	(void)snprintf(path, sizeof path, "%s/metrics.csv", w.rig.folder);
	write_list(path, "DCGM_FI_DEV_ENFORCED_POWER_LIMIT, gauge, Limit (in W).\n");
	w.metrics_file = path;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, tells_only, 0));
	write_list(path, "# new\nDCGM_FI_DEV_NO_SUCH, gauge, No.\n");
	CHECK(until(&w, is_refused, 0) && tells_only(&w, 0));
	write_list(path, "DCGM_FI_DEV_GPU_TEMP, gauge, T\n");
	CHECK(until(&w, has_lines, 2));
	CHECK(!strstr(text, "DCGM_FI_DEV_ENFORCED_POWER_LIMIT"));
	CHECK_INT(w.agent.exporter.why.code, FL_OK);
}

static uint64_t reads(struct world *w)
{
	return w->rig.state->calls[fake_call_no("temperature")];
}

static bool waited(struct world *w, int ms)
{
	static uint64_t from;

	if (ms == 0)
		from = fl_clock(w->rig.io);
	return fl_clock(w->rig.io) >= from + (unsigned)ms * FL_NS_PER_MS;
}

/* Ten scrapes of one period are one read of the driver. */
TEST_ONCE(the_driver_is_read_once_a_period_whoever_scrapes)
{
	uint64_t before;
	WORLD(w, "two-t4", 0);

	w.metrics_period = 60 * FL_NS_PER_S;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, has_lines, 2) && until(&w, is_stamped, 0));
	before = reads(&w);
	CHECK_INT(before, 2);
	CHECK(waited(&w, 0));
	for (int i = 0; i < 10; i++)
		CHECK(scrape(&w));
	CHECK(until(&w, waited, 300));
	CHECK_INT(reads(&w), before);
}
