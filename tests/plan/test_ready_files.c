/* The files of NVIDIA's validator, from our checks: each is there while it is true. */
#include "plan/checks/ready.h"
#include "gpu_facts.h"

#define CHECK_IS(name, result) "metadata: {name: " name "}\nresult: " result "\n"
#define AND "---\n"
#define WELL CHECK_IS("cuda", "Passed") AND CHECK_IS("driver", "Passed") AND CHECK_IS("nodes", "Passed") AND \
	CHECK_IS("toolkit", "Passed")
#define HOST "root: /\nnodesRoot: /\n"
#define READY(is) "metadata: {name: gpus}\nstatus: {conditions: [{type: GPUsReady, status: '" is "', reason: x, " \
	"message: '', lastTransitionTime: '1970-01-01T00:00:10Z'}]}\n"
#define OF_HOST "driver:IS_HOST_DRIVER=true NVIDIA_DRIVER_ROOT=/ DRIVER_ROOT_CTR_PATH=/host NVIDIA_DEV_ROOT=/ " \
	"DEV_ROOT_CTR_PATH=/host \n"

/* `want`: "name:content" of each file that is wanted, a blank for the end of a line; "-name" of one that goes. */
static const struct {
	const char *says, *dir, *settings, *host, *checks, *readiness, *want;
} rows[] = {
	{ "off: nothing is written", "", "", HOST, WELL, READY("True"), "" },
	{ "all has passed", "/v", "", HOST, WELL, READY("True"), OF_HOST "toolkit:\ncuda:\nplugin:\n" },
	{ "nothing is known yet, as at a restart: the files stay", "/v", "", NULL, "", NULL, "" },
	{ "what is stale is not known", "/v", "", HOST,
	  CHECK_IS("driver", "Passed") AND CHECK_IS("nodes", "Stale") AND CHECK_IS("toolkit", "Stale"),
	  READY("Unknown"), "" },
	{ "a driver that fails", "/v", "", HOST,
	  CHECK_IS("driver", "Failed") AND CHECK_IS("nodes", "Passed") AND CHECK_IS("toolkit", "Failed"),
	  READY("False"), "-driver\n-toolkit\n-cuda\n-plugin\n" },
	{ "whatever is not known besides", "/v", "", HOST,
	  CHECK_IS("cuda", "Skipped") AND CHECK_IS("driver", "Failed") AND CHECK_IS("nodes", "Stale") AND
	  CHECK_IS("toolkit", "Stale"), NULL, "-driver\n-toolkit\n-cuda\n" },
	{ "device nodes are a part of the driver", "/v", "", HOST,
	  CHECK_IS("driver", "Passed") AND CHECK_IS("nodes", "Failed"), NULL, "-driver\n-toolkit\n-cuda\n" },
	{ "what was not tried has not passed", "/v", "", HOST,
	  CHECK_IS("cuda", "Skipped") AND CHECK_IS("driver", "Passed") AND CHECK_IS("nodes", "Passed"), NULL,
	  OF_HOST "-cuda\n" },
	{ "a driver container has its own root", "/v", "", "root: /run/nvidia/driver\nnodesRoot: /\n",
	  CHECK_IS("driver", "Passed") AND CHECK_IS("nodes", "Passed"), NULL,
	  "driver:IS_HOST_DRIVER=false NVIDIA_DRIVER_ROOT=/run/nvidia/driver DRIVER_ROOT_CTR_PATH=/driver-root "
	  "NVIDIA_DEV_ROOT=/ DEV_ROOT_CTR_PATH=/host \n" },
	{ "and may have the device nodes too", "/v", "", "root: /run/nvidia/driver\nnodesRoot: /run/nvidia/driver\n",
	  CHECK_IS("driver", "Passed") AND CHECK_IS("nodes", "Passed"), NULL,
	  "driver:IS_HOST_DRIVER=false NVIDIA_DRIVER_ROOT=/run/nvidia/driver DRIVER_ROOT_CTR_PATH=/driver-root "
	  "NVIDIA_DEV_ROOT=/run/nvidia/driver DEV_ROOT_CTR_PATH=/driver-root \n" },
	{ "paths are those of the host, wherever the agent sees them", "/v", "driverRoot: /\n",
	  "root: /driver-root\nnodesRoot: /driver-root\n", CHECK_IS("driver", "Passed") AND CHECK_IS("nodes", "Passed"),
	  NULL, OF_HOST },
};

static void print_plan(const struct fl_plan *plan, struct fl_buf *out)
{
	for (const struct fl_want *want = plan->first; want; want = want->next) {
		const struct fl_ready_file *file = want->object;
		struct fl_str rest = want->what == FL_WANT_OBJECT ? file->content : FL_S(""), line;

		fl_buf_printf(out, "%s%.*s%s", want->what == FL_WANT_OBJECT ? "" : "-", FL_ARG(want->ref.name),
			      want->what == FL_WANT_OBJECT ? ":" : "");
		while (fl_str_split(&rest, '\n', &line))
			if (line.len)
				fl_buf_printf(out, "%.*s ", FL_ARG(line));
		fl_buf_str(out, FL_S("\n"));
	}
}

TEST(a_file_is_there_while_its_checks_pass)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);
		struct fl_given given = { .ready_dir = fl_str(row->dir) };
		struct fl_ready_facts f = { .given = &given };
		struct fl_str settings = fl_arena_printf(&arena, "metadata: {name: settings}\n%s", row->settings);
		struct fl_plan plan;

		GOT(settings.p);
		GOT(f.settings = facts_object(&arena, fl_settings_bind(), settings));
		if (row->host)
			GOT(f.host = facts_object(&arena, fl_host_bind(), fl_str(row->host)));
		if (row->readiness)
			GOT(f.readiness = facts_object(&arena, fl_readiness_bind(), fl_str(row->readiness)));
		GOT(f.checks = facts_list(&arena, fl_check_bind(), row->checks, &f.check_len));
		fl_plan_init(&plan, &arena);
		fl_ready_plan(&f, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		print_plan(&plan, &text);
		OK(fl_buf_check(&text, "the plan", NULL));
		CHECK_STR(fl_buf_view(&text), row->want);
	}
}
