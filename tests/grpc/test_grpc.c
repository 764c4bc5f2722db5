/* Our client against our server, on one loop. */
#include "base/units.h"
#include "echo_plugin.h"
#include "grpc/client.h"
#include "grpc/deviceplugin.pb-c.h"
#include "grpc/kubelet.h"
#include "test.h"
#include "test_io.h"
#include <stdio.h>

/* A server, a client, and the loop below both. */
struct world {
	struct fl_io *io;
	const char *path;
	struct echo_plugin plugin;
	struct fl_grpc_client *client;
};

struct call {
	struct fl_grpc_request request;
	struct fl_err err;
	int lists;              /* messages of a stream, as long as each is what it should be */
	int messages, devices;  /* of a stream; and what the last of them has */
	int cancel_after;       /* cancel within got() of this one */
};

static void got(struct fl_grpc_request *request, const ProtobufCMessage *message)
{
	struct call *call = fl_container(request, struct call, request);
	const V1beta1__ListAndWatchResponse *list = (const void *)message;

	call->messages++;
	call->devices = (int)list->n_devices;
	call->lists = (int)list->n_devices == call->lists + 1 ? call->lists + 1 : -1000;
	if (call->lists == call->cancel_after)
		fl_op_cancel(&request->op);
}

static void call_auto_(struct call *call)
{
	fl_op_cancel(&call->request.op);
	fl_arena_free(&call->request.arena);
}

static void world_auto_(struct world *w)
{
	fl_grpc_client_free(w->client);
	if (w->plugin.server)
		echo_plugin_stop(&w->plugin);
	fl_io_free(w->io);
}

static struct fl_addr addr_of(const char *path)
{
	struct fl_addr addr = { .kind = FL_ADDR_UNIX };

	(void)snprintf(addr.path, sizeof addr.path, "%s", path);
	return addr;
}

/* A server that takes so few calls at once has some of ours wait. */
enum { STREAMS = 6 };

static int world_start(struct world *w, struct fl_err *err)
{
	struct fl_addr addr;
	int result;

	w->io = test_io();
	if (!w->io)
		return fl_fail(err, FL_E_NOMEM, "no loop");
	w->path = test_path(test_dir(), "plugin.sock");
	addr = addr_of(w->path);
	result = echo_plugin_start(&w->plugin, w->io, w->path, STREAMS, err);
	if (result < 0)
		return result;
	w->client = fl_grpc_client_new(w->io, &addr, err);
	return w->client ? 0 : -FL_E_NOMEM;
}

/* Calls are declared after the world, and so are over before it. */
#define WORLD(w) FL_AUTO(world) struct world w = { 0 }
#define CALL(c, method_) FL_AUTO(call) struct call c = { .request.method = (method_) }

static void start(struct world *w, struct call *call, const ProtobufCMessage *message, uint64_t timeout)
{
	call->request.op = (struct fl_op){ .done = test_op_done, .err = &call->err };
	call->request.got = got;
	call->request.message = message;
	if (timeout)
		call->request.op.deadline = fl_now(w->io) + timeout;
	fl_grpc_start(w->client, &call->request);
}

static void start_allocate(struct world *w, struct call *call, const char *id, uint64_t timeout)
{
	V1beta1__ContainerAllocateRequest container = V1BETA1__CONTAINER_ALLOCATE_REQUEST__INIT;
	V1beta1__ContainerAllocateRequest *containers[1] = { &container };
	V1beta1__AllocateRequest request = V1BETA1__ALLOCATE_REQUEST__INIT;
	char *ids[1] = { (char *)(uintptr_t)id };

	container.n_devices_ids = 1;
	container.devices_ids = ids;
	request.n_container_requests = 1;
	request.container_requests = containers;
	start(w, call, &request.base, timeout);
}

static struct fl_str echo_of(const struct call *call)
{
	const V1beta1__AllocateResponse *reply = (const void *)call->request.reply;

	return fl_str(reply->container_responses[0]->envs[0]->value);
}

static int64_t result_of(struct world *w, struct call *call)
{
	return test_op(w->io, &call->request.op);
}

TEST(a_call_and_its_answer)
{
	WORLD(w);
	CALL(call, &fl_plugin_allocate);

	OK(world_start(&w, NULL));
	start_allocate(&w, &call, "echo:hello", 5 * FL_NS_PER_S);
	OK_ERR(result_of(&w, &call), &call.err);
	CHECK_INT(call.request.status, FL_GRPC_OK);
	CHECK_STR(echo_of(&call), "hello");
}

static const struct {
	const char *says, *id;
	enum fl_code code;
	enum fl_grpc_status status;
	const char *words;
} refusals[] = {
	{ "a status comes with its words", "status:5:no GPU-7 here: 100%", FL_E_NOTFOUND, FL_GRPC_NOT_FOUND,
	  "/v1beta1.DevicePlugin/Allocate: NotFound: no GPU-7 here: 100%" },
	{ "an unknown device is the caller's mistake", "GPU-7", FL_E_INVALID, FL_GRPC_INVALID_ARGUMENT,
	  "/v1beta1.DevicePlugin/Allocate: InvalidArgument: no such device: \"GPU-7\"" },
};

TEST(refusals_come_with_code_status_and_words)
{
	EACH_ROW (row, refusals) {
		WORLD(w);
		CALL(call, &fl_plugin_allocate);

		OK(world_start(&w, NULL));
		start_allocate(&w, &call, row->id, 0);
		REFUSED(result_of(&w, &call), row->code);
		CHECK_INT(call.request.status, row->status);
		CHECK_STR(fl_str(call.err.text), row->words);
	}
}

TEST(a_method_that_the_server_does_not_have_is_named)
{
	static const struct fl_grpc_method unknown = { .path = "/v1beta1.DevicePlugin/Nope",
						       .request = &v1beta1__empty__descriptor,
						       .reply = &v1beta1__empty__descriptor };
	V1beta1__Empty empty = V1BETA1__EMPTY__INIT;
	WORLD(w);
	CALL(call, &unknown);

	OK(world_start(&w, NULL));
	start(&w, &call, &empty.base, 0);
	REFUSED(result_of(&w, &call), FL_E_UNSUPPORTED);
	CHECK_STR(fl_str(call.err.text), "/v1beta1.DevicePlugin/Nope: Unimplemented: unknown method Nope for service "
					 "v1beta1.DevicePlugin");
}

/* On a busy machine a short deadline passes before the server has seen the call; then a longer one is tried. */
TEST(a_deadline_ends_a_call_on_both_sides)
{
	WORLD(w);

	OK(world_start(&w, NULL));
	for (uint64_t timeout = 20 * FL_NS_PER_MS; !w.plugin.slept && timeout < 10 * FL_NS_PER_S; timeout *= 4) {
		CALL(call, &fl_plugin_allocate);

		start_allocate(&w, &call, "sleep:1m", timeout);
		REFUSED(result_of(&w, &call), FL_E_TIMEOUT);
		if (test_tortured())
			return;
	}
	CHECK_INT(w.plugin.slept, 1);
	OK(test_turns(w.io, &w.plugin.gone, 1));
}

TEST(a_cancelled_call_is_let_go_of_by_the_server)
{
	WORLD(w);
	CALL(slow, &fl_plugin_allocate);
	CALL(quick, &fl_plugin_allocate);

	OK(world_start(&w, NULL));
	start_allocate(&w, &slow, "sleep:1m", 0);
	start_allocate(&w, &quick, "echo:1", 0);
	OK(result_of(&w, &quick));
	if (test_tortured())
		return;
	OK(test_turns(w.io, &w.plugin.slept, 1));
	fl_op_cancel(&slow.request.op);
	OK(test_turns(w.io, &w.plugin.gone, 1));
}

TEST(a_stream_tells_each_state_while_calls_go_on)
{
	V1beta1__Empty empty = V1BETA1__EMPTY__INIT;
	WORLD(w);
	CALL(watch, &fl_plugin_list_and_watch);
	CALL(call, &fl_plugin_allocate);

	OK(world_start(&w, NULL));
	start(&w, &watch, &empty.base, 0);
	start_allocate(&w, &call, "echo:beside", 0);
	OK(result_of(&w, &call));
	if (test_tortured())
		return;
	OK(test_turns(w.io, &watch.lists, 3));
	CHECK(fl_op_busy(&watch.request.op));
}

TEST(of_states_that_nobody_has_taken_only_the_newest_waits)
{
	V1beta1__Empty empty = V1BETA1__EMPTY__INIT;
	WORLD(w);
	CALL(watch, &fl_plugin_list_and_watch);
	CALL(call, &fl_plugin_allocate);

	OK(world_start(&w, NULL));
	w.plugin.newest = true;
	start(&w, &watch, &empty.base, 0);
	start_allocate(&w, &call, "echo:behind", 0);
	OK(result_of(&w, &call));
	if (test_tortured())
		return;
	OK(test_turns(w.io, &watch.messages, 1));
	CHECK_INT(watch.messages, 1);
	CHECK_INT(watch.devices, 3);
}

TEST(a_stream_may_be_cancelled_from_within_a_message)
{
	V1beta1__Empty empty = V1BETA1__EMPTY__INIT;
	WORLD(w);
	CALL(watch, &fl_plugin_list_and_watch);
	CALL(call, &fl_plugin_allocate);

	OK(world_start(&w, NULL));
	watch.cancel_after = 2;
	start(&w, &watch, &empty.base, 0);
	start_allocate(&w, &call, "sleep:20ms", 0);
	OK(result_of(&w, &call));
	if (test_tortured())
		return;
	CHECK_INT(watch.lists, 2);
	CHECK(!fl_op_busy(&watch.request.op));
}

TEST(no_server_is_told_and_not_waited_for)
{
	struct fl_addr nowhere = addr_of("/nonexistent/plugin.sock");
	WORLD(w);
	CALL(call, &fl_plugin_allocate);

	OK(world_start(&w, NULL));
	w.client = fl_grpc_client_free(w.client);
	w.client = fl_grpc_client_new(w.io, &nowhere, NULL);
	GOT(w.client);
	start_allocate(&w, &call, "echo:x", 0);
	REFUSED(result_of(&w, &call), FL_E_RETRY);
	CHECK_INT(call.request.status, FL_GRPC_UNAVAILABLE);
}

TEST(a_server_that_comes_back_is_found_again)
{
	WORLD(w);
	CALL(before, &fl_plugin_allocate);
	CALL(lost, &fl_plugin_allocate);
	CALL(after, &fl_plugin_allocate);

	OK(world_start(&w, NULL));
	start_allocate(&w, &lost, "sleep:1m", 0);
	start_allocate(&w, &before, "echo:1", 0);
	OK(result_of(&w, &before));
	echo_plugin_stop(&w.plugin);
	CHECK(result_of(&w, &lost) < 0);
	OK(echo_plugin_start(&w.plugin, w.io, w.path, STREAMS, NULL));
	start_allocate(&w, &after, "echo:2", 0);
	OK_ERR(result_of(&w, &after), &after.err);
	CHECK_STR(echo_of(&after), "2");
}

TEST(more_calls_than_a_connection_takes_wait_their_turn)
{
	enum { CALLS = 3 * STREAMS };
	WORLD(w);
	FL_AUTO(fl_mem) struct call *calls = fl_zalloc_n(CALLS, sizeof *calls);
	int64_t result = 0;

	GOT(calls);
	OK(world_start(&w, NULL));
	for (size_t i = 0; i < CALLS; i++) {
		calls[i].request.method = &fl_plugin_allocate;
		start_allocate(&w, &calls[i], "echo:x", 0);
	}
	for (size_t i = 0; i < CALLS; i++) {
		int64_t one = result_of(&w, &calls[i]);

		result = one < 0 ? one : result;
		call_auto_(&calls[i]);
	}
	OK(result);
}
