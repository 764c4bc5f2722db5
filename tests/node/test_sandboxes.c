/* UIDs and labels of Pods, as a container runtime of our own tells them, in a world with a clock of its own. */
#include "base/log.h"
#include "base/units.h"
#include "grpc/runtime.h"
#include "grpc/runtime.pb-c.h"
#include "grpc/server.h"
#include "node/exporter/sandboxes.h"
#include "node_world.h"
#include "test.h"
#include <stdio.h>

#define SOCKET "/run/containerd/containerd.sock"

struct pod {
	const char *name, *uid;
	int64_t created;
	bool ended;
	const char *labels[8];         /* names and values */
};

struct world {
	struct node_world node;
	struct fl_grpc_server *server;
	struct fl_sandboxes sandboxes;
	const struct pod *pods;        /* the runtime's */
	uint32_t len;
	int asked, changed;
	struct fl_log log;
	struct fl_buf text;
	struct fl_err err;
};

static void world_auto_(struct world *w)
{
	fl_grpc_server_free(w->server);
	fl_sandboxes_stop(&w->sandboxes);
	fl_buf_free(&w->text);
	node_world_end(&w->node);
}

static char *plain(const char *text)
{
	return (char *)(uintptr_t)text;
}

static void list_sandboxes(struct fl_grpc_call *call, const ProtobufCMessage *request)
{
	struct world *w = fl_grpc_call_service(call);
	const Runtime__V1__ListPodSandboxRequest *asked = (const void *)request;
	Runtime__V1__ListPodSandboxResponse reply = RUNTIME__V1__LIST_POD_SANDBOX_RESPONSE__INIT;
	Runtime__V1__PodSandboxMetadata metadata[4];
	Runtime__V1__PodSandbox pods[4], *items[4];
	Runtime__V1__InfoEntry labels[4][4], *entries[4][4];

	w->asked++;
	if (!asked->filter || !asked->filter->state || asked->filter->state->state != 0) {
		fl_grpc_call_end(call, FL_GRPC_INTERNAL, "all of them?");
		return;
	}
	for (uint32_t i = 0; i < w->len; i++) {
		runtime__v1__pod_sandbox_metadata__init(&metadata[i]);
		runtime__v1__pod_sandbox__init(&pods[i]);
		metadata[i].name = plain(w->pods[i].name);
		metadata[i].namespace_ = plain("team");
		metadata[i].uid = plain(w->pods[i].uid);
		pods[i].metadata = &metadata[i];
		pods[i].created_at = w->pods[i].created;
		pods[i].state = w->pods[i].ended;
		pods[i].labels = entries[i];
		for (; pods[i].n_labels < 4 && w->pods[i].labels[2 * pods[i].n_labels]; pods[i].n_labels++) {
			runtime__v1__info_entry__init(&labels[i][pods[i].n_labels]);
			labels[i][pods[i].n_labels].key = plain(w->pods[i].labels[2 * pods[i].n_labels]);
			labels[i][pods[i].n_labels].value = plain(w->pods[i].labels[2 * pods[i].n_labels + 1]);
			entries[i][pods[i].n_labels] = &labels[i][pods[i].n_labels];
		}
		items[i] = &pods[i];
	}
	reply.n_items = w->len;
	reply.items = items;
	fl_grpc_call_reply(call, &reply.base);
}

static const struct fl_grpc_handler handlers[] = { { &fl_runtime_sandboxes, list_sandboxes } };

static int serve(struct world *w)
{
	struct fl_grpc_server_options how = { .addr = { .kind = FL_ADDR_UNIX }, .handlers = handlers,
					      .handler_count = FL_LEN(handlers), .service = w };

	(void)snprintf(how.addr.path, sizeof how.addr.path, "%s", SOCKET);
	w->server = fl_grpc_server_new(w->node.io, &how, &w->err);
	return w->server ? 0 : -(int)w->err.code;
}

static const char *socket_of(void *arg)
{
	(void)arg;
	return SOCKET;
}

static void changed(struct fl_sandboxes *sandboxes)
{
	fl_container(sandboxes, struct world, sandboxes)->changed++;
}

static bool no_line(void *arg, const char *line, size_t len)
{
	(void)arg;
	(void)line;
	(void)len;
	return true;
}
static uint64_t no_clock(void *arg)
{
	(void)arg;
	return 0;
}
static int64_t no_wall(void *arg)
{
	(void)arg;
	return 0;
}

static int world_start(struct world *w, bool labels, const char *allow)
{
	struct fl_sandboxes_options options = { socket_of, w, labels, fl_str(allow), &w->log };

	w->text = FL_BUF(8 * FL_KIB);
	fl_log_init(&w->log, &(struct fl_log_to){ no_line, no_clock, no_wall, w }, "test");
	if (node_world_start(&w->node, 3, test_refuse_io) < 0 ||
	    sim_file_put(w->node.host, "/run/containerd/x", "", 0) < 0)
		return -FL_E_IO;
	w->sandboxes.changed = changed;
	return fl_sandboxes_start(&w->sandboxes, w->node.io, &options, &w->err);
}

#define WORLD(w, labels, allow) \
	FL_AUTO(world) struct world w = { 0 }; \
	OK_ERR(world_start(&w, labels, allow), &w.err)

static bool has_changed(void *w)
{
	return ((struct world *)w)->changed > 0;
}

/* Asks; "team/a=1,app="x"; ": all that is known. After a failure that was ordered it is asked again. */
static struct fl_str ask(struct world *w)
{
	for (int i = 0; i < (test_tortured() ? 4 : 1) && (!i || w->sandboxes.why.code); i++) {
		w->changed = 0;
		fl_sandboxes_ask(&w->sandboxes);
		(void)node_until(&w->node, 2 * FL_SANDBOXES_TIMEOUT, has_changed, w);
	}
	fl_buf_free(&w->text);
	w->text = FL_BUF(8 * FL_KIB);
	for (uint32_t i = 0; i < w->sandboxes.len; i++) {
		const struct fl_dcgm_pod *pod = &w->sandboxes.pods[i];

		fl_buf_printf(&w->text, "%.*s/%.*s=%.*s%.*s; ", FL_ARG(pod->space), FL_ARG(pod->name), FL_ARG(pod->uid),
			      FL_ARG(pod->labels));
	}
	return fl_buf_view(&w->text);
}

#define TELLS(w, want) \
	do { \
		struct fl_str told_ = ask(&(w)); \
		OK(fl_buf_check(&(w).text, "what is known", NULL)); \
		CHECK_STR(told_, want); \
	} while (0)

static const struct {
	const char *says;
	bool labels;
	const char *allow;
	struct pod pods[3];
	const char *want;
} rows[] = {
	{ "each Pod has its UID", false, "", { { .name = "a", .uid = "1" }, { .name = "b", .uid = "2" } },
	  "team/a=1; team/b=2; " },
	{ "labels are not told unasked", false, "", { { .name = "a", .uid = "1", .labels = { "app", "x" } } },
	  "team/a=1; " },
	{ "labels, by name", true, "", { { .name = "a", .uid = "1", .labels = { "tier", "y", "app", "x" } } },
	  "team/a=1,app=\"x\",tier=\"y\"; " },
	{ "what Prometheus does not take is _", true, "",
	  { { .name = "a", .uid = "1", .labels = { "app.kubernetes.io/name", "x", "9-lives", "y" } } },
	  "team/a=1,_9_lives=\"y\",app_kubernetes_io_name=\"x\"; " },
	{ "two labels of one name are one", true, "",
	  { { .name = "a", .uid = "1", .labels = { "a.b", "x", "a/b", "x" } } }, "team/a=1,a_b=\"x\"; " },
	{ "a label that a line has anyway is left out", true, "",
	  { { .name = "a", .uid = "1", .labels = { "pod", "x", "gpu", "y", "DCGM_FI_DRIVER_VERSION", "z" } } },
	  "team/a=1; " },
	{ "the runtime's own are left out", true, "",
	  { { .name = "a", .uid = "1", .labels = { "io.kubernetes.pod.uid", "1", "app", "x" } } },
	  "team/a=1,app=\"x\"; " },
	{ "those that are allowed", true, "^app$, tier",
	  { { .name = "a", .uid = "1", .labels = { "app", "x", "application", "y", "the-tier", "z" } } },
	  "team/a=1,app=\"x\",the_tier=\"z\"; " },
	{ "of two sandboxes the newer one", false, "",
	  { { .name = "a", .uid = "1", .created = 5 }, { .name = "a", .uid = "2", .created = 7 },
	    { .name = "b", .uid = "3" } },
	  "team/a=2; team/b=3; " },
	{ "one that has ended is no Pod's", false, "",
	  { { .name = "a", .uid = "1", .created = 5 }, { .name = "a", .uid = "2", .created = 7, .ended = true } },
	  "team/a=1; " },
};

TEST(uids_and_labels_are_told_as_the_runtime_has_them)
{
	EACH_ROW (row, rows) {
		WORLD(w, row->labels, row->allow);

		w.pods = row->pods;
		while (w.len < 3 && row->pods[w.len].name)
			w.len++;
		OK_ERR(serve(&w), &w.err);
		TELLS(w, row->want);
	}
}

TEST(what_was_known_stays_while_the_runtime_is_away)
{
	static const struct pod pods[] = { { .name = "a", .uid = "1" } }, next[] = { { .name = "a", .uid = "2" } };
	WORLD(w, false, "");

	w.pods = pods;
	w.len = 1;
	OK_ERR(serve(&w), &w.err);
	TELLS(w, "team/a=1; ");
	w.server = fl_grpc_server_free(w.server);
	TELLS(w, "team/a=1; ");
	CHECK(w.sandboxes.why.code != FL_OK);
	w.pods = next;
	OK_ERR(serve(&w), &w.err);
	TELLS(w, "team/a=2; ");
	CHECK_INT(w.sandboxes.why.code, FL_OK);
}

TEST(it_is_asked_once_at_a_time)
{
	WORLD(w, false, "");

	OK_ERR(serve(&w), &w.err);
	fl_sandboxes_ask(&w.sandboxes);
	TELLS(w, "");
	CHECK(w.asked == 1 || test_tortured());
}

TEST(a_pattern_that_is_none_is_refused_by_name)
{
	struct fl_err err = { 0 };

	OK_ERR(fl_sandboxes_check(FL_S("^app$,tier.*"), &err), &err);
	REFUSED(fl_sandboxes_check(FL_S("app,a["), &err), FL_E_INVALID);
	CHECK(strstr(err.text, "'a[' is no regular expression: "));
	REFUSED(fl_sandboxes_check(FL_S("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"), &err), FL_E_INVALID);
	CHECK(strstr(err.text, "'17': more than 16 patterns"));
}
