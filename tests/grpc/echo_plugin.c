#include "echo_plugin.h"
#include "base/units.h"
#include "grpc/deviceplugin.pb-c.h"
#include "grpc/kubelet.h"
#include <stdio.h>

static const void *as(const ProtobufCMessage *message)
{
	return message;
}

static void options(struct fl_grpc_call *call, const ProtobufCMessage *request)
{
	V1beta1__DevicePluginOptions reply = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

	(void)request;
	reply.get_preferred_allocation_available = true;
	fl_grpc_call_reply(call, &reply.base);
}

static void pre_start(struct fl_grpc_call *call, const ProtobufCMessage *request)
{
	V1beta1__PreStartContainerResponse reply = V1BETA1__PRE_START_CONTAINER_RESPONSE__INIT;

	(void)request;
	fl_grpc_call_reply(call, &reply.base);
}

static void caller_gone(void *plugin)
{
	((struct echo_plugin *)plugin)->gone++;
}

/* Three lists with one, two and three devices, then silence. */
static void list_and_watch(struct fl_grpc_call *call, const ProtobufCMessage *request)
{
	V1beta1__Device device[3] = { V1BETA1__DEVICE__INIT, V1BETA1__DEVICE__INIT, V1BETA1__DEVICE__INIT };
	V1beta1__Device *devices[3] = { &device[0], &device[1], &device[2] };
	V1beta1__ListAndWatchResponse list = V1BETA1__LIST_AND_WATCH_RESPONSE__INIT;
	char ids[3][8] = { "GPU-0", "GPU-1", "GPU-2" }, healthy[] = "Healthy";
	const struct echo_plugin *plugin = fl_grpc_call_service(call);

	(void)request;
	fl_grpc_call_on_gone(call, caller_gone, fl_grpc_call_service(call));
	list.devices = devices;
	for (size_t i = 0; i < 3; i++) {
		device[i].id = ids[i];
		device[i].health = healthy;
		list.n_devices = i + 1;
		if (plugin->newest)
			fl_grpc_call_send_newest(call, &list.base);
		else
			fl_grpc_call_send(call, &list.base);
	}
}

static void preferred(struct fl_grpc_call *call, const ProtobufCMessage *request_)
{
	const V1beta1__PreferredAllocationRequest *request = as(request_);
	V1beta1__ContainerPreferredAllocationResponse container =
		V1BETA1__CONTAINER_PREFERRED_ALLOCATION_RESPONSE__INIT;
	V1beta1__ContainerPreferredAllocationResponse *containers[1] = { &container };
	V1beta1__PreferredAllocationResponse reply = V1BETA1__PREFERRED_ALLOCATION_RESPONSE__INIT;

	if (request->n_container_requests != 1 ||
	    (size_t)request->container_requests[0]->allocation_size >
		    request->container_requests[0]->n_available_deviceids) {
		fl_grpc_call_end(call, FL_GRPC_INVALID_ARGUMENT, "more than is available");
		return;
	}
	container.n_deviceids = (size_t)request->container_requests[0]->allocation_size;
	container.deviceids = request->container_requests[0]->available_deviceids;
	reply.n_container_responses = 1;
	reply.container_responses = containers;
	fl_grpc_call_reply(call, &reply.base);
}

static void echo(struct fl_grpc_call *call, char *text)
{
	V1beta1__ContainerAllocateResponse__EnvsEntry env = V1BETA1__CONTAINER_ALLOCATE_RESPONSE__ENVS_ENTRY__INIT;
	V1beta1__ContainerAllocateResponse__EnvsEntry *envs[1] = { &env };
	V1beta1__ContainerAllocateResponse container = V1BETA1__CONTAINER_ALLOCATE_RESPONSE__INIT;
	V1beta1__ContainerAllocateResponse *containers[1] = { &container };
	V1beta1__AllocateResponse reply = V1BETA1__ALLOCATE_RESPONSE__INIT;
	char key[] = "ECHO";

	env.key = key;
	env.value = text;
	container.n_envs = 1;
	container.envs = envs;
	reply.n_container_responses = 1;
	reply.container_responses = containers;
	fl_grpc_call_reply(call, &reply.base);
}

/* A caller that is kept waiting. */
struct sleeper {
	struct fl_timer timer;
	struct fl_grpc_call *call;
	struct echo_plugin *plugin;
};

static void sleeper_wakes(struct fl_timer *timer)
{
	struct sleeper *sleeper = fl_container(timer, struct sleeper, timer);
	char text[] = "slept";

	echo(sleeper->call, text);
	fl_free(sleeper);
}

static void sleeper_gone(void *sleeper_)
{
	struct sleeper *sleeper = sleeper_;

	fl_timer_stop(sleeper->plugin->io, &sleeper->timer);
	sleeper->plugin->gone++;
	fl_free(sleeper);
}

/* "50ms" and "1m" are all that the tests ask for. */
static uint64_t duration(struct fl_str text)
{
	bool ms = fl_str_ends(text, FL_S("ms"));
	uint64_t number = 0;

	(void)fl_str_u64(fl_str_sub(text, 0, text.len - (ms ? 2 : 1)), &number);
	return number * (ms ? FL_NS_PER_MS : 60 * FL_NS_PER_S);
}

static void sleep_call(struct fl_grpc_call *call, struct fl_str text)
{
	struct echo_plugin *plugin = fl_grpc_call_service(call);
	struct sleeper *sleeper = fl_zalloc(sizeof *sleeper);

	if (!sleeper) {
		fl_grpc_call_end(call, FL_GRPC_RESOURCE_EXHAUSTED, "out of memory");
		return;
	}
	plugin->slept++;
	*sleeper = (struct sleeper){ .timer.fire = sleeper_wakes, .call = call, .plugin = plugin };
	fl_grpc_call_on_gone(call, sleeper_gone, sleeper);
	fl_timer_set(plugin->io, &sleeper->timer, fl_now(plugin->io) + duration(text));
}

static void status(struct fl_grpc_call *call, struct fl_str text)
{
	int64_t colon = fl_str_find(text, ':');
	struct fl_str words = fl_str_sub(text, (uint32_t)(colon + 1), text.len);

	fl_grpc_call_end(call, fl_grpc_status_parse(fl_str_sub(text, 0, (uint32_t)colon)), "%.*s", FL_ARG(words));
}

static void big(struct fl_grpc_call *call, struct fl_str text)
{
	uint64_t size = 0;
	char *bytes;

	(void)fl_str_u64(text, &size);
	bytes = fl_arena_get(fl_grpc_call_arena(call), size + 1);
	if (!bytes) {
		fl_grpc_call_end(call, FL_GRPC_RESOURCE_EXHAUSTED, "out of memory");
		return;
	}
	memset(bytes, 'x', size);
	echo(call, bytes);
}

static void allocate(struct fl_grpc_call *call, const ProtobufCMessage *request_)
{
	const V1beta1__AllocateRequest *request = as(request_);
	struct echo_plugin *plugin = fl_grpc_call_service(call);
	struct fl_str id, after;
	char number[24];

	if (request->n_container_requests != 1 || request->container_requests[0]->n_devices_ids != 1) {
		fl_grpc_call_end(call, FL_GRPC_INVALID_ARGUMENT, "one container and one device, please");
		return;
	}
	id = fl_str(request->container_requests[0]->devices_ids[0]);
	after = fl_str_sub(id, (uint32_t)(fl_str_find(id, ':') + 1), id.len);
	if (fl_str_starts(id, FL_S("echo:"))) {
		echo(call, request->container_requests[0]->devices_ids[0] + 5);
	} else if (fl_str_starts(id, FL_S("big:"))) {
		big(call, after);
	} else if (fl_str_starts(id, FL_S("status:"))) {
		status(call, after);
	} else if (fl_str_starts(id, FL_S("sleep:"))) {
		sleep_call(call, after);
	} else if (fl_str_eq(id, FL_S("gone"))) {
		(void)snprintf(number, sizeof number, "%d", plugin->gone);
		echo(call, number);
	} else {
		fl_grpc_call_end(call, FL_GRPC_INVALID_ARGUMENT, "no such device: \"%.*s\"", FL_ARG(id));
	}
}

static const struct fl_grpc_handler handlers[] = {
	{ &fl_plugin_options, options },     { &fl_plugin_list_and_watch, list_and_watch },
	{ &fl_plugin_preferred, preferred }, { &fl_plugin_allocate, allocate },
	{ &fl_plugin_pre_start, pre_start },
};

int echo_plugin_start(struct echo_plugin *plugin, struct fl_io *io, const char *path, uint32_t max_streams,
		      struct fl_err *err)
{
	struct fl_grpc_server_options how = { .handlers = handlers, .handler_count = FL_LEN(handlers),
					      .service = plugin, .max_streams = max_streams };

	*plugin = (struct echo_plugin){ .io = io };
	how.addr.kind = FL_ADDR_UNIX;
	if (snprintf(how.addr.path, sizeof how.addr.path, "%s", path) >= (int)sizeof how.addr.path)
		return fl_fail(err, FL_E_INVALID, "socket path '%s' is too long", path);
	plugin->server = fl_grpc_server_new(io, &how, err);
	return plugin->server ? 0 : -(int)(err ? err->code : FL_E_IO);
}

void echo_plugin_stop(struct echo_plugin *plugin)
{
	plugin->server = fl_grpc_server_free(plugin->server);
}
