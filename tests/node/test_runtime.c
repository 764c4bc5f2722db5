/* Whether CDI is on, as runtimes of our own tell it, in a world with a clock of its own. */
#include "api/node.h"
#include "base/units.h"
#include "grpc/runtime.h"
#include "grpc/runtime.pb-c.h"
#include "grpc/server.h"
#include "node/host/runtime.h"
#include "node_world.h"
#include "test.h"
#include <stdio.h>

#define CONTAINERD "/run/containerd/containerd.sock"
#define CRIO "/run/crio/crio.sock"

struct world {
	struct node_world node;
	struct fl_loop *loop;
	struct fl_runtime_feed *runtime;
	struct fl_grpc_server *server;
	const char *name, *version, *config;   /* what the runtime tells; NULL config: nothing */
	bool refuses, silent;
	int asked;                             /* for its status */
	struct fl_arena arena;
	struct fl_buf text;
	struct fl_err err;
};

static void world_auto_(struct world *w)
{
	fl_grpc_server_free(w->server);
	w->runtime = fl_runtime_free(w->runtime);
	w->loop = fl_loop_free(w->loop);
	fl_arena_free(&w->arena);
	fl_buf_free(&w->text);
	node_world_end(&w->node);
}

/* ---- the runtime ---- */

static void tell_version(struct fl_grpc_call *call, const ProtobufCMessage *request)
{
	struct world *w = fl_grpc_call_service(call);
	Runtime__V1__VersionResponse reply = RUNTIME__V1__VERSION_RESPONSE__INIT;

	(void)request;
	reply.version = (char *)(uintptr_t) "0.1.0";
	reply.runtime_name = (char *)(uintptr_t)w->name;
	reply.runtime_version = (char *)(uintptr_t)w->version;
	fl_grpc_call_reply(call, &reply.base);
}

static void tell_status(struct fl_grpc_call *call, const ProtobufCMessage *request)
{
	struct world *w = fl_grpc_call_service(call);
	Runtime__V1__StatusResponse reply = RUNTIME__V1__STATUS_RESPONSE__INIT;
	Runtime__V1__InfoEntry other = RUNTIME__V1__INFO_ENTRY__INIT, config = RUNTIME__V1__INFO_ENTRY__INIT;
	Runtime__V1__InfoEntry *entries[] = { &other, &config };

	w->asked++;
	if (w->silent)
		return;
	if (w->refuses || !((const Runtime__V1__StatusRequest *)request)->verbose) {
		fl_grpc_call_end(call, FL_GRPC_INTERNAL, "not now");
		return;
	}
	other.key = (char *)(uintptr_t) "golang";
	other.value = (char *)(uintptr_t) "\"go1.26\"";
	config.key = (char *)(uintptr_t) "config";
	config.value = (char *)(uintptr_t)w->config;
	reply.n_info = w->config ? 2 : 1;
	reply.info = entries;
	fl_grpc_call_reply(call, &reply.base);
}

static const struct fl_grpc_handler handlers[] = { { &fl_runtime_version, tell_version },
						   { &fl_runtime_status, tell_status } };

static int serve(struct world *w, const char *socket)
{
	struct fl_grpc_server_options how = { .addr = { .kind = FL_ADDR_UNIX }, .handlers = handlers,
					      .handler_count = FL_LEN(handlers), .service = w };

	(void)snprintf(how.addr.path, sizeof how.addr.path, "%s", socket);
	w->server = fl_grpc_server_new(w->node.io, &how, &w->err);
	return w->server ? 0 : -(int)w->err.code;
}

static void stop(struct world *w)
{
	w->server = fl_grpc_server_free(w->server);
}

/* ---- us ---- */

static int world_start(struct world *w)
{
	w->text = FL_BUF(4 * FL_KIB);
	w->name = "containerd";
	w->version = "v2.2.9";
	w->config = "{\"enableCDI\":true,\"cdiSpecDirs\":[\"/etc/cdi\",\"/var/run/cdi\"]}";
	if (node_world_start(&w->node, 3, test_refuse_io) < 0 ||
	    sim_file_put(w->node.host, "/run/containerd/x", "", 0) < 0 ||
	    sim_file_put(w->node.host, "/run/crio/x", "", 0) < 0)
		return -FL_E_IO;
	w->loop = fl_loop_new(w->node.io, &(struct fl_loop_options){ .seed = { 1, 2 } }, &w->err);
	if (!w->loop || fl_loop_source(w->loop, &(struct fl_source){ .kind = &fl_runtime_kind }, &w->err) < 0)
		return -FL_E_NOMEM;
	return 0;
}

#define WORLD(w) \
	FL_AUTO(world) struct world w = { 0 }; \
	OK_ERR(world_start(&w), &w.err)

static int begin(struct world *w)
{
	w->runtime = fl_runtime_new(w->node.io, w->loop, &(struct fl_runtime_options){ 0 }, &w->err);
	return w->runtime ? 0 : -(int)w->err.code;
}

/* "containerd v2.2.9 on /etc/cdi,/var/run/cdi", "? it is not there". */
static struct fl_str known(struct world *w)
{
	struct fl_view view = fl_loop_view(w->loop, &w->arena);
	const struct fl_runtime *now = fl_view_get(&view, &fl_runtime_kind, FL_S(""), FL_S("runtime"));

	fl_buf_clear(&w->text);
	if (!now)
		return view.failed ? FL_S("out of memory") : FL_S("nothing");
	fl_buf_printf(&w->text, "%.*s %.*s %s", FL_ARG(now->runtime), FL_ARG(now->version),
		      !now->cdi_known ? "?" : now->cdi ? "on" : "off");
	for (uint32_t i = 0; i < now->cdi_dirs.len; i++)
		fl_buf_printf(&w->text, "%s%.*s", i ? "," : " ", FL_ARG(now->cdi_dirs.at[i]));
	if (now->has.dirs_from)
		fl_buf_printf(&w->text, " by %.*s", FL_ARG(now->dirs_from));
	if (now->has.message)
		fl_buf_printf(&w->text, " (%.*s)", FL_ARG(now->message));
	return w->text.failed ? FL_S("out of memory") : fl_buf_view(&w->text);
}

struct awaited {
	struct world *w;
	const char *text;
};

static bool has_come(void *awaited_)
{
	struct awaited *awaited = awaited_;

	return fl_str_eq(known(awaited->w), fl_str(awaited->text));
}

static bool comes(struct world *w, const char *text, uint64_t within)
{
	struct awaited awaited = { w, text };

	/* After a failure that was ordered, until it has been asked a few times more. */
	return node_until(&w->node, within, has_come, &awaited) ||
	       (test_tortured() &&
		node_until(&w->node, 4 * (FL_RUNTIME_RETRY + FL_RUNTIME_DEADLINE), has_come, &awaited));
}

#define ON "containerd v2.2.9 on /etc/cdi,/var/run/cdi"
#define UNSAID " (it does not report whether CDI is enabled: it predates CDI, or hides it)"

TEST(what_a_runtime_tells_of_itself_is_understood)
{
	static const struct {
		const char *says, *name, *version, *config, *want;
	} rows[] = {
		{ "containerd 2: on by default", "containerd", "v2.2.9",
		  "{\"containerd\":{\"runtimes\":{\"runc\":{}}},\"enableCDI\":true,\"cdiSpecDirs\":[\"/etc/cdi\",\"/"
		  "var/"
		  "run/cdi\"],\"rootDir\":\"/x\"}",
		  ON },
		{ "containerd 1.7: off by default", "containerd", "v1.7.28",
		  "{\"cni\":{},\"enableCDI\":false,\"cdiSpecDirs\":[\"/etc/cdi\",\"/var/run/cdi\"]}",
		  "containerd v1.7.28 off /etc/cdi,/var/run/cdi" },
		{ "without directories of its own", "containerd", "v2.2.9", "{\"enableCDI\":true,\"cdiSpecDirs\":null}",
		  "containerd v2.2.9 on" },
		{ "containerd 1.6 knows nothing of it", "containerd", "v1.6.39", "{\"cni\":{}}",
		  "containerd v1.6.39 ?" UNSAID },
		{ "CRI-O's is always on, and its configuration no JSON", "cri-o", "1.34.0", "[crio]\nroot = \"/x\"\n",
		  "cri-o 1.34.0 on" },
		{ "a newer CRI-O says where it reads CDI files", "cri-o", "1.35.0",
		  "{\"sandboxImage\":\"x\",\"crio\":{\"DefaultRuntime\":\"crun\",\"CDISpecDirs\":[\"/etc/cdi\","
		  "\"/c\"]}}",
		  "cri-o 1.35.0 on /etc/cdi,/c" },
		{ "one that shows no configuration", "docker", "28", NULL, "docker 28 ?" UNSAID },
		{ "one that shows another", "mine", "1", "[]", "mine 1 ?" UNSAID },
		{ "one whose text is broken", "containerd", "v2", "{\"enableCDI\":tr", "containerd v2 ?" UNSAID },
		{ "a value of the wrong type is none", "containerd", "v2", "{\"enableCDI\":\"yes\"}",
		  "containerd v2 ?" UNSAID },
	};

	EACH_ROW (row, rows) {
		WORLD(w);

		w.name = row->name;
		w.version = row->version;
		w.config = row->config;
		OK_ERR(serve(&w, CONTAINERD), &w.err);
		OK_ERR(begin(&w), &w.err);
		CHECK(comes(&w, row->want, FL_NS_PER_S));
	}
}

/* Of an older CRI-O, which says nothing of it. */
TEST(where_crio_reads_cdi_files_is_found_in_its_configuration)
{
	static const struct {
		const char *says, *main, *name, *drop_in, *last, *want;   /* files; NULL: there is none */
	} rows[] = {
		{ "none of its files can be seen: nothing is known", NULL, NULL, NULL, NULL, "cri-o 1.34.0 on" },
		{ "without the setting they are the usual ones", "[crio.runtime]\n# cdi_spec_dirs = ['/x']\n", NULL,
		  NULL, NULL, "cri-o 1.34.0 on /etc/cdi,/var/run/cdi" },
		{ "crio.conf has it", "[crio]\nroot = \"/r\"\n[crio.runtime]\n"
		  "cdi_spec_dirs = [\n  \"/a\", # one\n  '/b',\n]\n",
		  NULL, NULL, NULL, "cri-o 1.34.0 on /a,/b by /etc/crio/crio.conf" },
		{ "a file of crio.conf.d comes after it", "[crio.runtime]\ncdi_spec_dirs = [\"/a\"]\n", "10-x.conf",
		  "[crio.runtime]\ncdi_spec_dirs = [\"/b\"]\n", NULL,
		  "cri-o 1.34.0 on /b by /etc/crio/crio.conf.d/10-x.conf" },
		{ "the last one in the order of names counts", NULL, "20-x.conf",
		  "crio.runtime.cdi_spec_dirs = ['/c']\n",
		  "[crio.runtime]\ncdi_spec_dirs = [\"/b\"]\n",
		  "cri-o 1.34.0 on /c by /etc/crio/crio.conf.d/20-x.conf" },
		{ "one without the setting changes nothing", NULL, "20-x.conf", "[crio.image]\npause_image = \"x\"\n",
		  "[crio.runtime]\ncdi_spec_dirs = [\"/b\"]\n",
		  "cri-o 1.34.0 on /b by /etc/crio/crio.conf.d/15-y.conf" },
		{ "an inline table", "crio = { runtime = { cdi_spec_dirs = [\"/d\"] } }\n", NULL, NULL, NULL,
		  "cri-o 1.34.0 on /d by /etc/crio/crio.conf" },
		{ "the same name elsewhere, in a text or in a list of tables is none",
		  "cdi_spec_dirs = [\"/a\"]\n[crio.image]\ncdi_spec_dirs = [\"/b\"]\n[[crio.runtime]]\ncdi_spec_dirs = "
		  "[\"/c\"]\n[other]\nx = \"\"\"\n[crio.runtime]\ncdi_spec_dirs = ['/d']\n\"\"\"\n"
		  "y = [[1, 2], {z = 3}]\n",
		  NULL, NULL, NULL, "cri-o 1.34.0 on /etc/cdi,/var/run/cdi" },
		{ "a file that is no TOML tells nothing", "[crio.runtime\ncdi_spec_dirs = [\"/a\"]\n", NULL, NULL, NULL,
		  "cri-o 1.34.0 on" },
		{ "nor does a text in place of the list", "[crio.runtime]\ncdi_spec_dirs = \"/a\"\n", NULL, NULL, NULL,
		  "cri-o 1.34.0 on" },
	};

	EACH_ROW (row, rows) {
		char path[100];
		WORLD(w);

		w.name = "cri-o";
		w.version = "1.34.0";
		w.config = "{\"sandboxImage\":\"x\"}";
		if (row->main)
			OK(sim_file_put(w.node.host, "/etc/crio/crio.conf", row->main, strlen(row->main)));
		(void)snprintf(path, sizeof path, "/etc/crio/crio.conf.d/%s", row->name ? row->name : "");
		if (row->name)
			OK(sim_file_put(w.node.host, path, row->drop_in, strlen(row->drop_in)));
		if (row->last)
			OK(sim_file_put(w.node.host, "/etc/crio/crio.conf.d/15-y.conf", row->last,
					strlen(row->last)));
		OK_ERR(serve(&w, CRIO), &w.err);
		OK_ERR(begin(&w), &w.err);
		CHECK(comes(&w, row->want, FL_NS_PER_S) || test_tortured());
	}
}

TEST(where_containerd_is_not_there_crio_is_asked_at_once)
{
	WORLD(w);

	w.name = "cri-o";
	w.version = "1.34.0";
	w.config = "{\"sandboxImage\":\"x\"}";
	OK_ERR(serve(&w, CRIO), &w.err);
	OK_ERR(begin(&w), &w.err);
	CHECK(comes(&w, "cri-o 1.34.0 on", FL_NS_PER_S));
}

static bool names_both(struct fl_str text)
{
	return fl_str_starts(text, FL_S("  ? (")) && memmem(text.p, text.len, CONTAINERD, strlen(CONTAINERD)) &&
	       memmem(text.p, text.len, CRIO, strlen(CRIO));
}

TEST(a_runtime_that_starts_after_us_is_asked_when_its_socket_is_there)
{
	WORLD(w);

	OK_ERR(begin(&w), &w.err);
	CHECK(fl_feed_known(fl_loop_feed(w.loop, &fl_runtime_kind)));   /* nobody waits for it */
	node_pass(&w.node, FL_RUNTIME_QUIET - FL_NS_PER_S);   /* a moment of silence is no news */
	CHECK(fl_str_eq(known(&w), FL_S("nothing")) || test_tortured());
	node_pass(&w.node, 2 * FL_RUNTIME_RETRY);
	CHECK(names_both(known(&w)) || test_tortured());
	OK_ERR(serve(&w, CONTAINERD), &w.err);
	CHECK(comes(&w, ON, FL_RUNTIME_RETRY + FL_NS_PER_S));
}

TEST(a_restart_with_another_configuration_shows_at_once)
{
	WORLD(w);

	OK_ERR(serve(&w, CONTAINERD), &w.err);
	OK_ERR(begin(&w), &w.err);
	CHECK(comes(&w, ON, FL_NS_PER_S));
	node_pass(&w.node, FL_NS_PER_S);
	CHECK(test_tortured() || w.asked == 1);
	stop(&w);
	node_pass(&w.node, 2 * FL_RUNTIME_RETRY);
	CHECK(fl_str_eq(known(&w), FL_S(ON)) || test_tortured());
	w.config = "{\"enableCDI\":false}";
	OK_ERR(serve(&w, CONTAINERD), &w.err);
	CHECK(comes(&w, "containerd v2.2.9 off", FL_NS_PER_S));
}

TEST(at_rest_it_is_asked_seldom)
{
	WORLD(w);

	OK_ERR(serve(&w, CONTAINERD), &w.err);
	OK_ERR(begin(&w), &w.err);
	CHECK(comes(&w, ON, FL_NS_PER_S));
	node_pass(&w.node, FL_RUNTIME_EVERY - FL_NS_PER_S);
	CHECK(test_tortured() || w.asked == 1);
	w.config = "{\"enableCDI\":false}";
	CHECK(comes(&w, "containerd v2.2.9 off", 3 * FL_NS_PER_S));
}

TEST(one_that_refuses_or_says_nothing_is_asked_again)
{
	WORLD(w);

	w.refuses = true;
	OK_ERR(serve(&w, CONTAINERD), &w.err);
	OK_ERR(begin(&w), &w.err);
	node_pass(&w.node, FL_NS_PER_S);
	w.refuses = false;
	w.silent = true;
	node_pass(&w.node, 2 * FL_RUNTIME_RETRY + FL_RUNTIME_DEADLINE);
	w.silent = false;
	CHECK(comes(&w, ON, 2 * FL_RUNTIME_RETRY + 2 * FL_RUNTIME_DEADLINE));
}
