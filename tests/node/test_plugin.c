/* The device plugin and a kubelet that does what the real one does, in a world with a clock of its own. */
#include "grpc/deviceplugin.pb-c.h"
#include "grpc/kubelet.h"
#include "node/agent.h"
#include "node/kubelet/plugin_in.h"
#include "plugin_world.h"
#include "test_io.h"
#include <stdio.h>

static void connected(struct fl_op *op)
{
	(void)op;
}

/* ---- another kubelet's socket, or none ---- */

TEST(kubelet_socket_elsewhere_registers_there_with_sockets_in_the_plugin_directory)
{
	FL_AUTO(world) struct world w = { .kubelet_socket = "/elsewhere/kubelet.sock" };

	OK_ERR(world_start(&w), &w.err);
	OK(sim_file_put(w.node.host, "/elsewhere/other", "", 0));
	OK_ERR(fake_kubelet_start(&w.kubelet, w.io, "/elsewhere", &w.err), &w.err);
	(void)snprintf(w.kubelet.dir, sizeof w.kubelet.dir, "%s", dir);
	WISH(w, TWO);
	CHECK(comes(&w, GPU, "GPU-0 GPU-1", SOON));
}

TEST(empty_kubelet_socket_registers_nothing_and_serves_the_sockets)
{
	FL_AUTO(world) struct world w = { .kubelet_socket = "" };
	struct fl_connect connect = { .addr.kind = FL_ADDR_UNIX };
	struct plugin *plugin;

	OK_ERR(world_start(&w), &w.err);
	KUBELET(w);
	WISH(w, TWO);
	pass(&w, 10 * FL_NS_PER_S);
	CHECK_INT(w.kubelet.asked, 0);
	CHECK_INT(w.kubelet.registered, 0);
	CHECK(!fl_plugins_unwatched(w.plugins, NULL));
	plugin = w.plugins->first;
	GOT(plugin);
	connect.addr = plugin->addr;
	connect.op = (struct fl_op){ .deadline = fl_now(w.io) + FL_NS_PER_S, .err = &w.err, .done = connected };
	fl_connect(w.io, &connect);
	pass(&w, FL_NS_PER_S);
	OK_ERR(connect.op.result < 0 ? (int)connect.op.result : 0, &w.err);
	fl_close(w.io, (int)connect.op.result);
}

/* ---- the list ---- */

TEST(a_resource_is_registered_and_its_list_follows)
{
	WORLD(w);

	KUBELET(w);
	WISH(w, TWO);
	CHECK(comes(&w, GPU, "GPU-0 GPU-1", SOON));
	CHECK(!fl_plugins_unwatched(w.plugins, NULL));
	WISH(w, ONE_SICK);
	CHECK(comes(&w, GPU, "GPU-0 GPU-1!", SOON));
	WISH(w, "[]");
	CHECK(comes(&w, GPU, "(none)", SOON));
	pass(&w, 2 * FL_PLUGIN_WATCHED_WITHIN);
	CHECK(test_tortured() || w.kubelet.registered == 1);
	CHECK_INT(w.kubelet.repeated, 0);
}

/* Each list, and how often anything was withdrawn by then. */
TEST_ONCE(what_can_no_longer_be_allocated_is_told)
{
	static const struct {
		const char *says, *wish;
		int withdrawn;
	} lists[] = {
		{ "the first list", TWO, 0 },
		{ "one is sick now", ONE_SICK, 1 },
		{ "and well again", TWO, 1 },
		{ "one has gone", "[{\"metadata\":{\"name\":\"nvidia.com/gpu\"},\"units\":[{\"id\":\"GPU-1\","
		  "\"healthy\":true}]}]", 2 },
		{ "there is another one", TWO, 2 },
		{ "the resource has gone", "[]", 3 },
	};
	WORLD(w);

	KUBELET(w);
	EACH_ROW (row, lists) {
		OK_ERR(wishes_put(w.loop, fl_str(row->wish), &w.err), &w.err);
		pass(&w, FL_NS_PER_S);
		CHECK_INT(w.withdrawn, row->withdrawn);
	}
	CHECK_INT(w.given, 0);
}

TEST_ONCE(shares_and_numa_nodes_are_told)   /* as the first one, for those who call and are called */
{
	WORLD(w);

	KUBELET(w);
	WISH(w, "[{\"metadata\":{\"name\":\"a/b\"},\"units\":[{\"id\":\"X\",\"healthy\":true,\"replicas\":3},"
		"{\"id\":\"Y\",\"healthy\":true,\"numaNode\":1}]}]");
	CHECK(comes(&w, "a/b", "X::0 X::1 X::2 Y@1", SOON));
}

TEST_ONCE(what_is_no_other_list_is_not_sent_again)
{
	WORLD(w);

	KUBELET(w);
	WISH(w, TWO);
	CHECK(comes(&w, GPU, "GPU-0 GPU-1", SOON));
	WISH(w, "[{\"metadata\":{\"name\":\"nvidia.com/gpu\"},\"ways\":[\"envvar\"],"
		"\"units\":[{\"id\":\"GPU-0\",\"healthy\":true},{\"id\":\"GPU-1\",\"healthy\":true}]}]");
	pass(&w, FL_NS_PER_S);
	CHECK_INT(w.kubelet.lists, 1);
	CHECK_INT(w.kubelet.registered, 1);
}

TEST_ONCE(a_list_that_the_kubelet_would_not_take_is_refused)
{
	WORLD(w);

	KUBELET(w);
	WISH(w, "[{\"metadata\":{\"name\":\"a/b\"},\"units\":[{\"id\":\"X\",\"healthy\":true,\"replicas\":200000}]}]");
	pass(&w, SOON);
	CHECK_STR(fl_str(fake_kubelet_devices(&w.kubelet, "a/b")), "(none)");
	CHECK_INT(w.kubelet.registered, 0);
}

TEST_ONCE(several_resources_register_side_by_side)
{
	WORLD(w);

	KUBELET(w);
	w.kubelet.slow = 5 * FL_NS_PER_S;
	WISH(w, "[{\"metadata\":{\"name\":\"a/b\"},\"units\":[{\"id\":\"X\",\"healthy\":true}]},"
		"{\"metadata\":{\"name\":\"a/c\"},\"units\":[{\"id\":\"Y\",\"healthy\":true}]},"
		"{\"metadata\":{\"name\":\"a/d\"},\"units\":[{\"id\":\"Z\",\"healthy\":true}]}]");
	pass(&w, 5500 * FL_NS_PER_MS);
	CHECK_STR(fl_str(fake_kubelet_devices(&w.kubelet, "a/b")), "X");
	CHECK_STR(fl_str(fake_kubelet_devices(&w.kubelet, "a/c")), "Y");
	CHECK_STR(fl_str(fake_kubelet_devices(&w.kubelet, "a/d")), "Z");
}

TEST_ONCE(a_kubelet_that_watches_a_moment_later_is_not_asked_again)
{
	WORLD(w);

	KUBELET(w);
	w.kubelet.late = FL_PLUGIN_WATCHED_WITHIN / 2;
	WISH(w, TWO);
	pass(&w, 10 * FL_PLUGIN_WATCHED_WITHIN);
	CHECK_STR(fl_str(fake_kubelet_devices(&w.kubelet, GPU)), "GPU-0 GPU-1");
	CHECK_INT(w.kubelet.registered, 1);
	CHECK_INT(w.kubelet.lists, 1);
}

/* ---- whatever the kubelet does ---- */

struct happening {
	const char *says;
	void (*happens)(struct world *w);
	uint64_t within;           /* until the resource is there again */
	int registered;            /* times, all in all */
};

static void stream_ends(struct world *w)
{
	struct fake_stream *stream = fake_kubelet_find(&w->kubelet, GPU);

	if (stream)
		fake_kubelet_end(stream);
}

static void kubelet_restarts(struct world *w)
{
	fake_kubelet_stop(&w->kubelet);
	w->kubelet = (struct fake_kubelet){ 0 };
	pass(w, 3 * FL_NS_PER_S);
	(void)fake_kubelet_start(&w->kubelet, w->io, dir, NULL);
}

static void kubelet_restarts_unseen(struct world *w)
{
	sim_faults(w->node.host)->no_notify = true;
	kubelet_restarts(w);
}

static void wipe(struct world *w)
{
	const struct fl_fs *fs = fl_io_fs(w->io);

	for (struct plugin *plugin = w->plugins->first; plugin; plugin = plugin->next)
		(void)fs->unlink(fs, AT_FDCWD, plugin->addr.path, 0);
}

static void kubelet_restarts_and_wipes(struct world *w)
{
	fake_kubelet_stop(&w->kubelet);
	w->kubelet = (struct fake_kubelet){ 0 };
	wipe(w);
	pass(w, FL_NS_PER_S);
	(void)fake_kubelet_start(&w->kubelet, w->io, dir, NULL);
}

static void folder_goes_and_comes(struct world *w)
{
	const struct fl_fs *fs = fl_io_fs(w->io);

	fake_kubelet_stop(&w->kubelet);
	w->kubelet = (struct fake_kubelet){ 0 };
	wipe(w);
	(void)fs->unlink(fs, AT_FDCWD, "/plugins/DEPRECATION", 0);
	(void)fs->unlink(fs, AT_FDCWD, "/plugins", AT_REMOVEDIR);
	pass(w, 5 * FL_NS_PER_S);
	(void)fs->mkdir(fs, AT_FDCWD, "/plugins", 0750);
	(void)fake_kubelet_start(&w->kubelet, w->io, dir, NULL);
}

static void refuses_for_a_while(struct world *w)
{
	w->kubelet.refuses = true;
	stream_ends(w);
	pass(w, 300 * FL_NS_PER_MS);
	w->kubelet.refuses = false;
}

static void is_slow(struct world *w)
{
	w->kubelet.slow = 30 * FL_NS_PER_S;
	stream_ends(w);
}

/* The new client is there, and then the end of the old stream is seen. */
static void old_stream_ends_late(struct world *w)
{
	struct fake_stream *stream = fake_kubelet_find(&w->kubelet, GPU);

	if (!stream)
		return;
	stream->current = false;
	plugins_kubelet_is_new(w->plugins, fl_wall(w->io) + 1);
}

/* It has registered, and its end takes the client that was to watch: no stream of ours ends. */
static void hangs_up_before_it_watches(struct world *w)
{
	w->kubelet.late = FL_PLUGIN_WATCHED_WITHIN / 2;
	stream_ends(w);
	pass(w, FL_PLUGIN_WATCHED_WITHIN / 4);
	CHECK(test_tortured() || fake_kubelet_find(&w->kubelet, GPU));
	w->kubelet.late = 0;
	stream_ends(w);
}

static const struct happening happenings[] = {
	{ "the stream ends", stream_ends, 100 * FL_NS_PER_MS, 2 },
	{ "the kubelet hangs up before it watches", hangs_up_before_it_watches, 100 * FL_NS_PER_MS, 3 },
	{ "the kubelet restarts", kubelet_restarts, FL_NS_PER_S, 1 },
	{ "the kubelet restarts, and no hint of the folder comes", kubelet_restarts_unseen, 1200 * FL_NS_PER_MS, 1 },
	{ "the kubelet restarts and removes all sockets", kubelet_restarts_and_wipes, FL_NS_PER_S, 1 },
	{ "our socket is unlinked by somebody", wipe, 100 * FL_NS_PER_MS, 2 },
	{ "the folder goes and comes back", folder_goes_and_comes, 3 * FL_NS_PER_S, 1 },
	{ "the kubelet refuses for a while", refuses_for_a_while, FL_NS_PER_S, 2 },
	{ "the kubelet takes half a minute to answer", is_slow, 31 * FL_NS_PER_S, 2 },
	{ "the end of an old stream takes the new one with it", old_stream_ends_late, FL_NS_PER_S, 2 },
};

static void comes_back(const struct happening *row)
{
	WORLD(w);

	KUBELET(w);
	WISH(w, TWO);
	CHECK(comes(&w, GPU, "GPU-0 GPU-1", SOON));
	row->happens(&w);
	pass(&w, FL_NS_PER_MS);
	CHECK(comes(&w, GPU, "GPU-0 GPU-1", row->within));
	pass(&w, 2 * FL_PLUGIN_LOOK_EVERY + FL_PLUGIN_WATCHED_WITHIN);
	CHECK_STR(fl_str(fake_kubelet_devices(&w.kubelet, GPU)), "GPU-0 GPU-1");
	CHECK(w.kubelet.registered >= row->registered && w.kubelet.registered <= row->registered + 2);
	CHECK_INT(w.kubelet.repeated, 0);
	WISH(w, ONE_SICK);
	CHECK(comes(&w, GPU, "GPU-0 GPU-1!", FL_NS_PER_S));
}

TEST_ONCE(whatever_happens_the_resource_comes_back)   /* ten worlds; one of them is tortured below */
{
	EACH_ROW (row, happenings) {
		comes_back(row);
		if (test_failed())
			return;
	}
}

TEST(a_stream_that_ends_is_registered_again)
{
	WORLD(w);

	KUBELET(w);
	WISH(w, TWO);
	CHECK(comes(&w, GPU, "GPU-0 GPU-1", SOON));
	stream_ends(&w);
	CHECK(comes(&w, GPU, "GPU-0 GPU-1", SOON));
	wipe(&w);
	pass(&w, SOON);
	CHECK(comes(&w, GPU, "GPU-0 GPU-1", SOON));
}

static bool is_drained(void *world)
{
	return fl_plugins_drain(((struct world *)world)->plugins);
}

/* The kubelet is told in words, nobody new can come, and nothing is begun any more. */
TEST(at_the_end_streams_end_in_order)
{
	const struct fl_fs *fs;
	struct fake_stream *stream;
	struct fl_stat stat;
	char path[64 + FL_NAME_MAX];
	WORLD(w);

	KUBELET(w);
	WISH(w, TWO);
	CHECK(comes(&w, GPU, "GPU-0 GPU-1", SOON));
	stream = fake_kubelet_find(&w.kubelet, GPU);
	(void)snprintf(path, sizeof path, "%s/%s", dir, stream->endpoint);
	fs = fl_io_fs(w.io);
	CHECK(fs->stat(fs, AT_FDCWD, path, 0, &stat) == 0 || test_tortured());
	CHECK(!is_drained(&w));
	CHECK(fs->stat(fs, AT_FDCWD, path, 0, &stat) < 0 || test_tortured());
	CHECK(node_until(&w.node, FL_AGENT_END_WAIT, is_drained, &w) || test_tortured());
	pass(&w, SOON);
	CHECK(strstr(stream->err.text, "the agent ends") || test_tortured());
	CHECK_STR(fl_str(fake_kubelet_devices(&w.kubelet, GPU)), "(none)");
	CHECK(w.kubelet.registered == 1 || test_tortured());
}

TEST_ONCE(without_a_kubelet_it_waits_and_costs_little)
{
	struct fl_err why = { 0 };
	uint64_t events;
	WORLD(w);

	WISH(w, TWO);
	pass(&w, 10 * FL_NS_PER_S);
	CHECK_STR(fl_str(fl_plugins_unwatched(w.plugins, &why)), GPU);
	CHECK(why.code != FL_OK);
	events = sim_events(w.node.sim);
	pass(&w, 100 * FL_NS_PER_S);
	CHECK(sim_events(w.node.sim) - events < 1000);
	KUBELET(w);
	CHECK(comes(&w, GPU, "GPU-0 GPU-1", FL_NS_PER_S));
}

static struct fl_str trouble(struct world *w, struct fl_arena *arena)
{
	struct fl_view view = fl_loop_view(w->loop, arena);
	const struct fl_dir_trouble *told = fl_view_get(&view, &fl_dir_trouble_kind, FL_S(""), FL_S(FL_DIR_KUBELET));

	return told ? told->why : FL_S("");
}

/* It may be another folder than the kubelet's. One that starts anew is no news, and what is over is not told. */
TEST_ONCE(a_kubelet_that_is_not_reached_is_told_after_a_while)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	WORLD(w);

	WISH(w, TWO);
	pass(&w, FL_PLUGIN_TOLD_AFTER - FL_NS_PER_S);
	CHECK_STR(trouble(&w, &arena), "");
	pass(&w, 2 * FL_NS_PER_S);
	CHECK(fl_str_starts(trouble(&w, &arena), FL_S("waits for the kubelet to watch " GPU ": ")));
	CHECK(fl_str_ends(trouble(&w, &arena), FL_S("(--kubelet-dir)")));
	KUBELET(w);
	pass(&w, 5 * FL_NS_PER_S);
	CHECK_STR(trouble(&w, &arena), "");
	fake_kubelet_stop(&w.kubelet);
	pass(&w, FL_PLUGIN_TOLD_AFTER + 2 * FL_NS_PER_S);
	CHECK(trouble(&w, &arena).len > 0);
	WISH(w, "[]");
	pass(&w, FL_NS_PER_S);
	CHECK_STR(trouble(&w, &arena), "");
}

TEST_ONCE(options_are_the_same_in_both_places_and_a_change_is_registered)
{
	struct fake_stream *stream;
	WORLD(w);

	KUBELET(w);
	WISH(w, TWO);
	CHECK(comes(&w, GPU, "GPU-0 GPU-1", SOON));
	stream = fake_kubelet_find(&w.kubelet, GPU);
	CHECK(!stream->pre_start && !stream->said_pre_start);
	WISH(w, "[{\"metadata\":{\"name\":\"nvidia.com/gpu\"},\"preStart\":true,"
		"\"units\":[{\"id\":\"GPU-0\",\"healthy\":true},{\"id\":\"GPU-1\",\"healthy\":true}]}]");
	pass(&w, SOON);
	stream = fake_kubelet_find(&w.kubelet, GPU);
	CHECK(stream && stream->pre_start && stream->said_pre_start && stream->lists == 1);
}

/* ---- the folder ---- */

TEST_ONCE(what_a_former_process_left_is_removed_and_others_are_told)
{
	static const struct fl_addr left = { .kind = FL_ADDR_UNIX, .path = "/plugins/fairlead-gpu-1234-abcd.sock" },
				    made = { .kind = FL_ADDR_UNIX, .path = "/plugins/.fairlead-gpu-1234-abcd.sock" },
				    live = { .kind = FL_ADDR_UNIX, .path = "/plugins/nvidia-gpu.sock" },
				    dead = { .kind = FL_ADDR_UNIX, .path = "/plugins/dead.sock" };
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_fs *fs;
	struct fl_view view;
	const struct fl_plugin_socket *sock;
	struct fl_stat stat;
	WORLD(w);

	fs = fl_io_fs(w.io);
	fl_close(w.io, fl_listen(w.io, &left, 0600, NULL));
	fl_close(w.io, fl_listen(w.io, &made, 0600, NULL));
	fl_close(w.io, fl_listen(w.io, &dead, 0600, NULL));
	CHECK(fl_listen(w.io, &live, 0600, NULL) >= 0);
	KUBELET(w);
	WISH(w, TWO);
	CHECK(comes(&w, GPU, "GPU-0 GPU-1", SOON));
	pass(&w, FL_NS_PER_S);
	CHECK(fs->stat(fs, AT_FDCWD, left.path, 0, &stat) < 0);
	CHECK(fs->stat(fs, AT_FDCWD, made.path, 0, &stat) < 0);
	CHECK_INT(fs->stat(fs, AT_FDCWD, dead.path, 0, &stat), 0);
	view = fl_loop_view(w.loop, &arena);
	sock = fl_view_get(&view, &fl_plugin_socket_kind, FL_S(""), FL_S("nvidia-gpu.sock"));
	CHECK(sock && sock->live && !sock->ours && sock->made);
	sock = fl_view_get(&view, &fl_plugin_socket_kind, FL_S(""), FL_S("dead.sock"));
	CHECK(sock && !sock->live && !sock->ours);
	sock = fl_view_get(&view, &fl_plugin_socket_kind, FL_S(""), fl_str(w.plugins->first->file));
	CHECK(sock && sock->live && sock->ours);
	CHECK(!fl_view_get(&view, &fl_plugin_socket_kind, FL_S(""), FL_S("kubelet.sock")));
	CHECK_INT(fs->stat(fs, AT_FDCWD, w.plugins->first->addr.path, 0, &stat), 0);
	CHECK_INT(stat.mode & 0777, 0600);
}

TEST_ONCE(a_folder_whose_path_is_too_long_is_refused)
{
	char deep[120];
	struct fl_plugins_options options = { .dir = deep };
	struct fl_err err = { 0 };
	WORLD(w);

	memset(deep, 'd', sizeof deep);
	deep[0] = '/';
	deep[sizeof deep - 1] = 0;
	CHECK(!fl_plugins_new(w.io, w.loop, &options, &err));
	CHECK_INT(err.code, FL_E_TOOBIG);
}

/* ---- another plugin ---- */

/* NVIDIA's: it registers once, and does not know whether the kubelet listens. */
struct other_plugin_there {
	struct fl_io *io;
	struct fl_grpc_server *server;
	struct fl_grpc_client *client;
	struct fl_grpc_request request;
	struct fl_err err;
};

static void theirs_auto_(struct other_plugin_there *theirs)
{
	fl_op_cancel(&theirs->request.op);
	fl_arena_free(&theirs->request.arena);
	theirs->client = fl_grpc_client_free(theirs->client);
	theirs->server = fl_grpc_server_free(theirs->server);
}

static void their_options(struct fl_grpc_call *call, const ProtobufCMessage *request)
{
	V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

	(void)request;
	fl_grpc_call_reply(call, &options.base);
}

static void their_list(struct fl_grpc_call *call, const ProtobufCMessage *request)
{
	char id[] = "THEIRS", health[] = "Healthy";
	V1beta1__Device device = V1BETA1__DEVICE__INIT, *devices[] = { &device };
	V1beta1__ListAndWatchResponse list = V1BETA1__LIST_AND_WATCH_RESPONSE__INIT;

	(void)request;
	device.id = id;
	device.health = health;
	list.devices = devices;
	list.n_devices = 1;
	fl_grpc_call_send(call, &list.base);
}

static const struct fl_grpc_handler their_handlers[] = { { &fl_plugin_options, their_options },
							 { &fl_plugin_list_and_watch, their_list } };

static void their_register_done(struct fl_op *op)
{
	(void)op;
}

static int theirs_start(struct other_plugin_there *theirs, struct world *w)
{
	static const struct fl_grpc_server_options how = {
		.addr = { .kind = FL_ADDR_UNIX, .path = "/plugins/nvidia-gpu.sock" },
		.handlers = their_handlers, .handler_count = FL_LEN(their_handlers),
	};
	const struct fl_addr kubelet = { .kind = FL_ADDR_UNIX, .path = "/plugins/kubelet.sock" };
	V1beta1__RegisterRequest message = V1BETA1__REGISTER_REQUEST__INIT;
	char version[] = "v1beta1", endpoint[] = "nvidia-gpu.sock", name[] = GPU;

	theirs->server = fl_grpc_server_new(w->io, &how, &w->err);
	theirs->client = theirs->server ? fl_grpc_client_new(w->io, &kubelet, &w->err) : NULL;
	if (!theirs->client)
		return -(int)w->err.code;
	message.version = version;
	message.endpoint = endpoint;
	message.resource_name = name;
	theirs->request = (struct fl_grpc_request){ .method = &fl_kubelet_register, .message = &message.base };
	theirs->request.op = (struct fl_op){ .done = their_register_done, .err = &theirs->err };
	fl_grpc_start(theirs->client, &theirs->request);
	return 0;
}

#define COUNTS(w) OK_ERR(fake_kubelet_counts(&(w).kubelet, pods_dir, &(w).err), &(w).err)

/* The end of our stream takes away what they have: they are told to the kubelet anew. */
TEST(who_is_made_way_for_is_not_lost)
{
	WORLD(w);
	FL_AUTO(theirs) struct other_plugin_there theirs = { 0 };

	KUBELET(w);
	COUNTS(w);
	WISH(w, TWO);
	CHECK(comes(&w, GPU, "GPU-0 GPU-1", SOON));
	OK_ERR(theirs_start(&theirs, &w), &w.err);
	CHECK(comes(&w, GPU, "THEIRS", SOON) || test_tortured());
	pass(&w, 30 * FL_NS_PER_MS);
	WISH(w, "[]");
	pass(&w, 30 * FL_NS_PER_MS);
	CHECK(test_tortured() || !fake_kubelet_find(&w.kubelet, GPU));
	pass(&w, 2 * FL_PLUGIN_LOOK_EVERY);
	CHECK_STR(fl_str(fake_kubelet_devices(&w.kubelet, GPU)), "THEIRS");
	CHECK(test_tortured() || w.kubelet.registered == 3);
}

/* The end of theirs takes away what we have, and our stream goes on for nobody. */
TEST(who_has_gone_takes_nothing_with_them)
{
	WORLD(w);
	FL_AUTO(theirs) struct other_plugin_there theirs = { 0 };

	KUBELET(w);
	COUNTS(w);
	WISH(w, TWO);
	CHECK(comes(&w, GPU, "GPU-0 GPU-1", SOON));
	OK_ERR(theirs_start(&theirs, &w), &w.err);
	pass(&w, FL_NS_PER_S);
	CHECK(comes(&w, GPU, "THEIRS", 0) || test_tortured());
	theirs_auto_(&theirs);
	CHECK(comes(&w, GPU, "GPU-0 GPU-1", FL_NS_PER_S) || test_tortured());
	CHECK(comes(&w, GPU, "GPU-0 GPU-1", 2 * FL_PLUGIN_LOOK_EVERY));
	pass(&w, 2 * FL_PLUGIN_LOOK_EVERY);
	CHECK(test_tortured() || w.kubelet.registered == 3);
}

/* Where no other plugin is, it is asked for seldom; what it has let go of all the same comes back by itself. */
TEST_ONCE(what_the_kubelet_lets_go_of_in_silence_is_registered_again)
{
	int before;
	WORLD(w);

	KUBELET(w);
	COUNTS(w);
	WISH(w, TWO);
	CHECK(comes(&w, GPU, "GPU-0 GPU-1", SOON));
	pass(&w, 2 * FL_PLUGIN_COUNT_EVERY);
	before = w.kubelet.counted;
	pass(&w, 10 * FL_PLUGIN_COUNT_EVERY);
	CHECK(w.kubelet.counted >= before + 9 && w.kubelet.counted <= before + 11);
	CHECK_INT(w.kubelet.registered, 1);
	fake_kubelet_find(&w.kubelet, GPU)->current = false;
	CHECK(!fake_kubelet_find(&w.kubelet, GPU));
	CHECK(comes(&w, GPU, "GPU-0 GPU-1", FL_PLUGIN_COUNT_EVERY + 2 * FL_PLUGIN_LOOK_EVERY));
	CHECK_INT(w.kubelet.registered, 2);
}

/* A plugin whose devices are all sick is not registered for ever. */
TEST_ONCE(a_resource_that_is_sick_as_a_whole_is_not_told_of_again)
{
	static const struct fl_addr theirs = { .kind = FL_ADDR_UNIX, .path = "/plugins/nvidia-mig-1g.10gb.sock" };
	WORLD(w);

	KUBELET(w);
	COUNTS(w);
	CHECK(fl_listen(w.io, &theirs, 0600, NULL) >= 0);
	WISH(w, "[{\"metadata\":{\"name\":\"nvidia.com/gpu\"},\"units\":[]}]");
	CHECK(comes(&w, GPU, "", SOON));
	pass(&w, 20 * FL_PLUGIN_REGISTER_TIMEOUT);
	CHECK_INT(w.kubelet.asked, 1 + FL_PLUGIN_HELPS_MAX);
	CHECK(w.kubelet.counted > 10);
}
