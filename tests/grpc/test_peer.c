/* Our client against a grpc-go server, which tests/peer/pair starts. */
#include "base/units.h"
#include "grpc/client.h"
#include "grpc/deviceplugin.pb-c.h"
#include "grpc/kubelet.h"
#include "test.h"
#include "test_io.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct call {
	struct fl_grpc_request request;
	struct fl_err err;
	int lists;
};

static void call_auto_(struct call *call)
{
	fl_op_cancel(&call->request.op);
	fl_arena_free(&call->request.arena);
}
#define CALL(c, method_) FL_AUTO(call) struct call c = { .request.method = (method_) }

/* The loop is real, and a client of it is freed first. */
#define WORLD(io, client) \
	FL_AUTO(fl_io) struct fl_io *io = fl_posix_new(NULL); \
	FL_AUTO(fl_grpc_client) struct fl_grpc_client *client = io ? connect_peer(io) : NULL; \
	GOT(client)

static struct fl_grpc_client *connect_peer(struct fl_io *io)
{
	struct fl_addr addr = { .kind = FL_ADDR_UNIX };
	const char *socket = getenv("PEER_SOCKET");

	(void)snprintf(addr.path, sizeof addr.path, "%s", socket ? socket : "PEER_SOCKET is not set");
	return fl_grpc_client_new(io, &addr, NULL);
}

static void got(struct fl_grpc_request *request, const ProtobufCMessage *message)
{
	struct call *call = fl_container(request, struct call, request);
	const V1beta1__ListAndWatchResponse *list = (const void *)message;

	call->lists = (int)list->n_devices == call->lists + 1 ? call->lists + 1 : -1000;
}

static void start(struct fl_io *io, struct fl_grpc_client *client, struct call *call, const ProtobufCMessage *message,
		  uint64_t timeout)
{
	call->request.op = (struct fl_op){ .done = test_op_done, .err = &call->err, .deadline = fl_now(io) + timeout };
	call->request.got = got;
	call->request.message = message;
	fl_grpc_start(client, &call->request);
}

static void start_allocate(struct fl_io *io, struct fl_grpc_client *client, struct call *call, const char *id,
			   uint64_t timeout)
{
	V1beta1__ContainerAllocateRequest container = V1BETA1__CONTAINER_ALLOCATE_REQUEST__INIT;
	V1beta1__ContainerAllocateRequest *containers[1] = { &container };
	V1beta1__AllocateRequest request = V1BETA1__ALLOCATE_REQUEST__INIT;
	char *ids[1] = { (char *)(uintptr_t)id };

	container.n_devices_ids = 1;
	container.devices_ids = ids;
	request.n_container_requests = 1;
	request.container_requests = containers;
	start(io, client, call, &request.base, timeout);
}

static struct fl_str echo_of(const struct call *call)
{
	const V1beta1__AllocateResponse *reply = (const void *)call->request.reply;

	return fl_str(reply->container_responses[0]->envs[0]->value);
}

static const struct {
	const char *says, *id;
	uint64_t timeout;
	enum fl_code code;
	enum fl_grpc_status status;
	const char *text;   /* the echo, or the words of the failure */
} rows[] = {
	{ "a call and its answer", "echo:hello, w\xc3\xb6rld", 0, FL_OK, FL_GRPC_OK, "hello, w\xc3\xb6rld" },
	{ "an answer without text", "echo:", 0, FL_OK, FL_GRPC_OK, "" },
	{ "a status with its words", "status:5:100% f\xc3\xbcr\nheute", 0, FL_E_NOTFOUND, FL_GRPC_NOT_FOUND,
	  "/v1beta1.DevicePlugin/Allocate: NotFound: 100% f\xc3\xbcr\nheute" },
	{ "status UNAVAILABLE means again later", "status:14:not yet", 0, FL_E_RETRY, FL_GRPC_UNAVAILABLE,
	  "/v1beta1.DevicePlugin/Allocate: Unavailable: not yet" },
	{ "a deadline is kept", "sleep:1m", 50 * FL_NS_PER_MS, FL_E_TIMEOUT, FL_GRPC_DEADLINE_EXCEEDED, NULL },
	{ "an answer just in time", "sleep:50ms", 0, FL_OK, FL_GRPC_OK, "slept" },
};

TEST_ONCE(calls)   /* a server of flesh and blood */
{
	WORLD(io, client);

	EACH_ROW (row, rows) {
		CALL(call, &fl_plugin_allocate);

		start_allocate(io, client, &call, row->id, row->timeout ? row->timeout : 5 * FL_NS_PER_S);
		CHECK_INT(test_op(io, &call.request.op), -(int64_t)row->code);
		CHECK_INT(call.request.status, row->status);
		if (row->text)
			CHECK_STR(row->code ? fl_str(call.err.text) : echo_of(&call), row->text);
	}
}

/* Its server has ended the call by a reset, and our own timer is due as well. */
TEST_ONCE(a_loop_that_is_late_still_calls_a_passed_deadline_a_timeout)
{
	WORLD(io, client);
	CALL(first, &fl_plugin_allocate);
	CALL(call, &fl_plugin_allocate);
	struct timespec late = { .tv_nsec = 300 * FL_NS_PER_MS };

	start_allocate(io, client, &first, "echo:", 5 * FL_NS_PER_S);
	OK_ERR(test_op(io, &first.request.op), &first.err);   /* the connection is there */
	start_allocate(io, client, &call, "sleep:1m", 50 * FL_NS_PER_MS);
	for (int i = 0; i < 3; i++)
		OK(fl_io_turn(io, fl_clock(io), NULL));   /* the call is sent */
	CHECK(nanosleep(&late, NULL) == 0);
	CHECK_INT(test_op(io, &call.request.op), -FL_E_TIMEOUT);
	CHECK_INT(call.request.status, FL_GRPC_DEADLINE_EXCEEDED);
}

TEST_ONCE(megabytes_come_whole)
{
	WORLD(io, client);
	CALL(call, &fl_plugin_allocate);

	start_allocate(io, client, &call, "big:12000000", 10 * FL_NS_PER_S);
	OK_ERR(test_op(io, &call.request.op), &call.err);
	CHECK_INT(echo_of(&call).len, 12000000);
}

TEST_ONCE(megabytes_go_whole)
{
	enum { SIZE = 3 << 20 };
	WORLD(io, client);
	CALL(call, &fl_plugin_allocate);
	FL_AUTO(fl_mem) char *id = fl_alloc(SIZE);

	GOT(id);
	memset(id, 'y', SIZE);
	memcpy(id, "echo:", 5);
	id[SIZE - 1] = 0;
	start_allocate(io, client, &call, id, 10 * FL_NS_PER_S);
	OK_ERR(test_op(io, &call.request.op), &call.err);
	CHECK_STR(echo_of(&call), id + 5);
}

TEST_ONCE(more_than_we_take_is_refused)
{
	WORLD(io, client);
	CALL(call, &fl_plugin_allocate);

	call.request.max_reply = 1000;
	start_allocate(io, client, &call, "big:2000", 5 * FL_NS_PER_S);
	REFUSED(test_op(io, &call.request.op), FL_E_TOOBIG);
	CHECK_INT(call.request.status, FL_GRPC_RESOURCE_EXHAUSTED);
}

TEST_ONCE(a_stream_beside_a_hundred_calls)
{
	enum { CALLS = 100 };
	V1beta1__Empty empty = V1BETA1__EMPTY__INIT;
	WORLD(io, client);
	CALL(watch, &fl_plugin_list_and_watch);
	FL_AUTO(fl_mem) struct call *calls = fl_zalloc_n(CALLS, sizeof *calls);
	char ids[CALLS][24];
	int good = 0;

	GOT(calls);
	start(io, client, &watch, &empty.base, 60 * FL_NS_PER_S);
	for (int i = 0; i < CALLS; i++) {
		(void)snprintf(ids[i], sizeof ids[i], "echo:%d", i);
		calls[i].request.method = &fl_plugin_allocate;
		start_allocate(io, client, &calls[i], ids[i], 5 * FL_NS_PER_S);
	}
	for (int i = 0; i < CALLS; i++) {
		good += test_op(io, &calls[i].request.op) == 0 && fl_str_eq(echo_of(&calls[i]), fl_str(ids[i] + 5));
		call_auto_(&calls[i]);
	}
	CHECK_INT(good, CALLS);
	OK(test_turns(io, &watch.lists, 3));
	CHECK(fl_op_busy(&watch.request.op));
}

static int64_t how_many_gone(struct fl_io *io, struct fl_grpc_client *client)
{
	CALL(ask, &fl_plugin_allocate);
	int64_t gone = -1;

	start_allocate(io, client, &ask, "gone", 5 * FL_NS_PER_S);
	if (test_op(io, &ask.request.op) >= 0)
		(void)fl_str_i64(echo_of(&ask), &gone);
	return gone;
}

TEST_ONCE(a_caller_who_cancels_is_forgotten_by_the_server)
{
	WORLD(io, client);
	uint64_t end = fl_now(io) + 10 * FL_NS_PER_S;
	int64_t before = how_many_gone(io, client), now = before;

	CHECK(before >= 0);
	/* One that goes before the server has begun with it is not counted there, nor at once. */
	while (now == before && fl_now(io) < end) {
		CALL(slow, &fl_plugin_allocate);

		start_allocate(io, client, &slow, "sleep:1m", 60 * FL_NS_PER_S);
		(void)test_pause(io, 20 * FL_NS_PER_MS);
		fl_op_cancel(&slow.request.op);
		now = how_many_gone(io, client);
	}
	CHECK(now > before);
}

/* What a kubelet does: it calls the plugin back before it answers Register; here nobody listens on that socket. */
TEST_ONCE(a_refused_registration_says_why)
{
	V1beta1__RegisterRequest message = V1BETA1__REGISTER_REQUEST__INIT;
	char version[] = "v1alpha0", endpoint[] = "none.sock", resource[] = "example.com/gpu";
	WORLD(io, client);
	CALL(call, &fl_kubelet_register);

	message.version = version;
	message.endpoint = endpoint;
	message.resource_name = resource;
	start(io, client, &call, &message.base, 5 * FL_NS_PER_S);
	CHECK(test_op(io, &call.request.op) < 0);
	CHECK_STR(fl_str(call.err.text),
		  "/v1beta1.Registration/Register: Unknown: version \"v1alpha0\" is not supported");
}
