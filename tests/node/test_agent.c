/* The agent as a whole: real children on a fake driver, a kubelet and a disk, and what a restart leaves of it. */
#include "base/limits.h"
#include "fake_kubelet.h"
#include "gpu_rig.h"
#include "grpc/kubelet.h"
#include "grpc/podresources.pb-c.h"
#include "io/child.h"
#include "node/agent.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define GPU "nvidia.com/gpu"

struct world {
	struct gpu_rig rig;            /* the fake driver, and the io of all */
	struct fl_loop *loop;
	struct fl_agent agent;
	struct fake_kubelet kubelet;
	struct fl_grpc_server *pods;
	char *held;                    /* the device that the one Pod has; NULL: there is none */
	struct fl_settings_given given;
	char plugins[80], pod_dir[80], cdi[80], state[80], file[160], control[120];
	bool opened;                   /* the driver, while nobody should have */
	struct fl_err err;
};

/* ---- who holds what, as the kubelet tells ---- */

static void list_pods(struct fl_grpc_call *call, const ProtobufCMessage *request)
{
	struct world *w = fl_grpc_call_service(call);
	V1__ListPodResourcesResponse reply = V1__LIST_POD_RESOURCES_RESPONSE__INIT;
	V1__PodResources pod = V1__POD_RESOURCES__INIT, *pods[] = { &pod };
	V1__ContainerResources container = V1__CONTAINER_RESOURCES__INIT, *containers[] = { &container };
	V1__ContainerDevices devices = V1__CONTAINER_DEVICES__INIT, *device[] = { &devices };
	char space[] = "team", name[] = "job", resource[] = GPU, *ids[] = { w->held };

	(void)request;
	devices.resource_name = resource;
	devices.n_device_ids = 1;
	devices.device_ids = ids;
	container.name = name;
	container.n_devices = 1;
	container.devices = device;
	pod.namespace_ = space;
	pod.name = name;
	pod.n_containers = 1;
	pod.containers = containers;
	reply.n_pod_resources = w->held != NULL;
	reply.pod_resources = pods;
	fl_grpc_call_reply(call, &reply.base);
}

static const struct fl_grpc_handler handlers[] = { { &fl_pods_list, list_pods } };

static int kubelet_up(struct world *w)
{
	struct fl_grpc_server_options options = { .addr.kind = FL_ADDR_UNIX, .handlers = handlers,
						  .handler_count = FL_LEN(handlers), .service = w };

	(void)snprintf(options.addr.path, sizeof options.addr.path, "%s/kubelet.sock", w->pod_dir);
	w->pods = fl_grpc_server_new(w->rig.io, &options, &w->err);
	return w->pods ? fake_kubelet_start(&w->kubelet, w->rig.io, w->plugins, &w->err) : -FL_E_IO;
}

/* ---- the agent ---- */

static int sources(struct world *w, const struct fl_agent_options *options)
{
	const struct fl_kind *const theirs[] = { &fl_own_node_kind, &fl_device_class_kind };

	for (uint32_t i = 0; i < FL_LEN(theirs); i++)
		if (fl_loop_source(w->loop, &(struct fl_source){ .kind = theirs[i] }, &w->err) < 0)
			return -FL_E_NOMEM;
	if (fl_agent_sources(&w->agent, w->rig.io, w->loop, options, &w->err) < 0)
		return -FL_E_NOMEM;
	for (const struct fl_capability *const *row = fl_agent_capabilities; *row; row++)
		if (fl_loop_capability(w->loop, *row, &w->err) < 0)
			return -FL_E_NOMEM;
	for (uint32_t i = 0; i < FL_LEN(theirs); i++)
		fl_feed_absent(fl_loop_feed(w->loop, theirs[i]));   /* no API server */
	return 0;
}

static int agent_up(struct world *w)
{
	struct fl_agent_options options = {
		.config = { .given = &w->given, .node = FL_S("n1") },
		.gpu = { .program = "/proc/self/exe", .roots = w->rig.roots, .sysfs = w->rig.sysfs,
			 .proc = w->rig.proc, .env = w->rig.envs,
			 .pace = { .look_every = 400 * FL_NS_PER_MS, .look_soon = 20 * FL_NS_PER_MS,
				   .find_every = 20 * FL_NS_PER_MS } },
		.state_dir = w->state, .plugins_dir = w->plugins, .pods_dir = w->pod_dir, .cdi_dir = w->cdi,
		.runtime_socket = "/nowhere", .control = w->control, .log = &w->rig.log,
	};

	w->agent = (struct fl_agent){ 0 };
	w->loop = fl_loop_new(w->rig.io, &(struct fl_loop_options){ .seed = { 1, 2 } }, &w->err);
	if (!w->loop || sources(w, &options) < 0)
		return -FL_E_NOMEM;
	return fl_agent_start(&w->agent, &w->err);
}

static void agent_down(struct world *w)
{
	fl_agent_stop(&w->agent);
	w->loop = fl_loop_free(w->loop);
}

static void world_auto_(struct world *w)
{
	agent_down(w);
	fl_grpc_server_free(w->pods);
	fake_kubelet_stop(&w->kubelet);
	rig_down(&w->rig);
}

static void no_line(void *self, const char *line, size_t len)
{
	(void)self;
	if (getenv("TEST_LOG"))
		(void)fprintf(stderr, "# %.*s", (int)len, line);
}

static uint64_t no_clock(void *self)
{
	(void)self;
	return 0;
}

static int64_t no_wall(void *self)
{
	(void)self;
	return 0;
}

static int world_up(struct world *w, const char *topology, unsigned flags)
{
	char *const paths[] = { w->plugins, w->pod_dir, w->cdi, w->state };
	static const char *const names[] = { "plugins", "pods", "cdi", "state" };

	if (rig_up(&w->rig, topology, RIG_LATER | flags, &w->err) < 0)
		return -FL_E_IO;
	fl_log_init(&w->rig.log, &(struct fl_log_to){ no_line, no_clock, no_wall, w }, "test");
	w->given.unpooled = FL_S("true");
	for (int i = 0; i < 4; i++) {
		(void)snprintf(paths[i], sizeof w->cdi, "%s/%s", w->rig.folder, names[i]);
		if (mkdir(paths[i], 0755) < 0)
			return -FL_E_IO;
	}
	(void)snprintf(w->file, sizeof w->file, "%s/k8s.device-plugin.nvidia.com-gpu.json", w->cdi);
	return kubelet_up(w);
}

/* ---- looking ---- */

/* Turns until it is so; false when it is not within 20 s. */
static bool until(struct world *w, bool (*so)(struct world *w, int arg), int arg)
{
	uint64_t end = fl_clock(w->rig.io) + 20 * FL_NS_PER_S;

	while (!so(w, arg)) {
		if (fl_clock(w->rig.io) > end ||
		    fl_io_turn(w->rig.io, fl_clock(w->rig.io) + 20 * FL_NS_PER_MS, NULL) < 0)
			return false;
	}
	return true;
}

static const char *uuid(const struct world *w, int gpu)
{
	return w->rig.state->gpus[gpu].uuid;
}

/* 'H', 'U', or '-' where it is not in the list. */
static char listed(struct world *w, int gpu)
{
	const char *at = strstr(fake_kubelet_devices(&w->kubelet, GPU), uuid(w, gpu));

	return !at ? '-' : at[strlen(uuid(w, gpu))] == '!' ? 'U' : 'H';
}

static bool both_are(struct world *w, int both)
{
	return listed(w, 0) == both && listed(w, 1) == both;
}

static bool first_is(struct world *w, int what)
{
	return listed(w, 0) == what;
}

static bool is_ready(struct world *w, int arg)
{
	FL_AUTO(fl_buf) struct fl_buf words = FL_BUF(FL_KIB);

	(void)arg;
	return fl_agent_ready(&w->agent, &words);
}

static bool says(struct world *w, const char *what, const char *path, const char *todo)
{
	FL_AUTO(fl_buf) struct fl_buf words = FL_BUF(FL_KIB);

	return !fl_agent_ready(&w->agent, &words) && words.p && strstr(words.p, what) && strstr(words.p, path) &&
	       strstr(words.p, todo);
}

static bool says_the_file(struct world *w, int arg)
{
	(void)arg;
	return says(w, "cannot write a CDI file", w->file, ": take away what lies there");
}

static bool says_the_folder(struct world *w, int arg)
{
	(void)arg;
	return says(w, "cannot see what lies in the CDI directory", w->cdi, "Not a directory");
}

static bool is_absent(struct world *w, int arg)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);
	const struct fl_driver *driver = fl_view_get(&view, &fl_driver_kind, FL_S(""), FL_S("driver"));

	(void)arg;
	return driver && driver->state == FL_DRIVER_ABSENT && fl_loop_idle(w->loop);
}

static bool first_reports(struct world *w, int arg)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);
	const struct fl_card *card;
	char address[16];

	(void)arg;
	rig_address(&w->rig, 0, address);
	card = fl_view_get(&view, &fl_card_kind, FL_S(""), fl_str(address));
	return card && card->events;
}

static bool is_let_go(struct world *w, int arg)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);
	const struct fl_driver *driver = fl_view_get(&view, &fl_driver_kind, FL_S(""), FL_S("driver"));

	(void)arg;
	w->opened |= fake_in_use(w->rig.state->path);
	return driver && driver->state == FL_DRIVER_PAUSED && fl_loop_idle(w->loop);
}

static bool is_without_children(struct world *w, int arg)
{
	(void)arg;
	w->opened |= fake_in_use(w->rig.state->path);
	return fl_gpu_state(w->agent.gpu).calls == 0;
}

static int say(struct world *w, bool pause)
{
	struct fl_word word = { 0 };

	FL_SET(FL_IN(&word, meta), name, FL_S("operator"));
	FL_SET(&word, pause, pause);
	FL_SET(&word, why, FL_S("an upgrade"));
	return fl_feed_put(fl_loop_feed(w->loop, &fl_word_kind), &word, &w->err);
}

static bool has_ended(struct world *w, int arg)
{
	(void)arg;
	return fl_agent_end(&w->agent);
}

#define WORLD(w, topology, flags) \
	FL_AUTO(world) struct world w = { 0 }; \
	OK_ERR(world_up(&w, topology, flags), &w.err)

/* ---- the tests ---- */

TEST_ONCE(without_a_driver_it_waits_and_then_lists_what_comes)
{
	WORLD(w, "two-t4", RIG_NO_LIBRARY);

	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, is_absent, 0));
	CHECK_INT(w.kubelet.registered, 0);
	CHECK(access(w.file, F_OK) < 0);
	OK_ERR(rig_tree(&w.rig, true, &w.err), &w.err);
	CHECK(until(&w, both_are, 'H'));
	CHECK(access(w.file, F_OK) == 0);
	CHECK_INT(w.kubelet.registered, 1);
	CHECK(until(&w, is_ready, 0) && until(&w, first_reports, 0));
	OK_ERR(rig_say(&w.rig, "xid 0 79", &w.err), &w.err);
	CHECK(until(&w, first_is, 'U'));
	CHECK_INT(listed(&w, 1), 'H');
}

/* The one that was here before is told of nothing by the card; after a boot the CDI folder is empty as well. */
TEST_ONCE(a_restart_remembers_what_a_lost_card_was_while_a_pod_holds_it)
{
	WORLD(w, "two-t4", 0);

	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, both_are, 'H'));
	CHECK(until(&w, is_ready, 0));
	agent_down(&w);
	CHECK(unlink(w.file) == 0);
	OK_ERR(rig_say(&w.rig, "lose 0", &w.err), &w.err);
	w.held = w.rig.state->gpus[0].uuid;
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, first_is, 'U'));
	CHECK_INT(listed(&w, 1), 'H');   /* in the very first list: a Pod that comes back with it is not refused */
	CHECK(access(w.file, F_OK) == 0);
	CHECK(until(&w, is_ready, 0));
	CHECK_INT(listed(&w, 0), 'U');
	OK_ERR(rig_say(&w.rig, "heal 0", &w.err), &w.err);
}

/* Nobody is told of it any more, but the card has counted it. */
TEST_ONCE(an_error_of_memory_while_nobody_is_there_is_found_at_the_next_start)
{
	WORLD(w, "two-t4", 0);

	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, first_is, 'H'));
	CHECK(until(&w, is_ready, 0));
	agent_down(&w);
	OK_ERR(rig_say(&w.rig, "ecc 0 uncorrected", &w.err), &w.err);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, first_is, 'U'));
	CHECK(until(&w, first_is, 'H'));   /* by itself, when it has proven itself */
}

/* Somebody changes the driver, and we are killed or replaced meanwhile: whoever comes leaves it alone, from the first
 * moment on. */
TEST_ONCE(a_pause_holds_until_it_is_taken_back_whoever_is_there)
{
	char path[140];
	WORLD(w, "two-t4", 0);

	(void)snprintf(w.control, sizeof w.control, "%s/run/node.sock", w.rig.folder);
	(void)snprintf(path, sizeof path, "%s/run/paused/operator", w.rig.folder);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, both_are, 'H'));
	w.held = w.rig.state->gpus[0].uuid;
	OK_ERR(say(&w, true), &w.err);
	CHECK(until(&w, is_let_go, 0));
	CHECK(access(path, F_OK) == 0);
	for (int i = 0; i < 2; i++) {
		agent_down(&w);
		w.opened = false;
		OK_ERR(agent_up(&w), &w.err);
		CHECK(until(&w, is_let_go, 0) && until(&w, first_is, 'U') && until(&w, is_ready, 0));
		CHECK(until(&w, is_without_children, 0) && !w.opened);
	}
	OK_ERR(say(&w, false), &w.err);
	CHECK(until(&w, both_are, 'H'));
	CHECK(access(path, F_OK) < 0);
	agent_down(&w);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, both_are, 'H'));
}

/* Somebody takes over at once: nothing of the one before may be left, however early it is told to end. */
TEST_ONCE(it_ends_in_order)
{
	struct fake_stream *stream;
	WORLD(w, "two-t4", 0);

	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, both_are, 'H'));
	stream = fake_kubelet_find(&w.kubelet, GPU);
	fl_loop_lead(w.loop, false);
	CHECK(until(&w, has_ended, 0));
	CHECK_INT(fl_child_undead(w.rig.io), 0);
	CHECK_INT(fl_gpu_state(w.agent.gpu).calls, 0);
	CHECK(until(&w, first_is, '-'));
	CHECK(strstr(stream->err.text, "the agent ends"));
	agent_down(&w);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, both_are, 'H'));
}

TEST_ONCE(it_ends_before_it_has_begun)
{
	WORLD(w, "two-t4", 0);

	OK_ERR(agent_up(&w), &w.err);
	OK_ERR(fl_io_turn(w.rig.io, fl_clock(w.rig.io), &w.err), &w.err);
	fl_loop_lead(w.loop, false);
	CHECK(until(&w, has_ended, 0));
	CHECK_INT(fl_child_undead(w.rig.io), 0);
}

/* Something else lies where the file should be, or the folder. It is not ready, and says why and what to do; then it
 * heals. */
TEST_ONCE(a_cdi_file_that_cannot_be_written_is_no_readiness)
{
	WORLD(w, "two-t4", 0);

	CHECK(mkdir(w.file, 0755) == 0);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, says_the_file, 0));
	CHECK_INT(w.kubelet.registered, 0);
	CHECK(rmdir(w.file) == 0);
	CHECK(until(&w, both_are, 'H'));
	CHECK(until(&w, is_ready, 0));
}

TEST_ONCE(a_cdi_directory_that_is_none_is_no_readiness)
{
	WORLD(w, "two-t4", 0);
	FILE *file;

	CHECK(rmdir(w.cdi) == 0);
	file = fopen(w.cdi, "we");
	CHECK(file && fclose(file) == 0);
	OK_ERR(agent_up(&w), &w.err);
	CHECK(until(&w, says_the_folder, 0));
	CHECK(unlink(w.cdi) == 0);
	CHECK(until(&w, both_are, 'H'));
	CHECK(until(&w, is_ready, 0));
}
