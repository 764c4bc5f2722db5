#include "fake_kubelet.h"
#include "grpc/deviceplugin.pb-c.h"
#include "grpc/kubelet.h"
#include "grpc/podresources.pb-c.h"
#include <stdio.h>

static const void *as(const ProtobufCMessage *message)
{
	return message;
}

static void stream_free(struct fake_stream *stream)
{
	if (!stream->client)
		return;
	fl_timer_stop(stream->kubelet->io, &stream->timer);
	fl_op_cancel(&stream->options.op);
	fl_op_cancel(&stream->list.op);
	fl_arena_free(&stream->options.arena);
	fl_arena_free(&stream->list.arena);
	stream->client = fl_grpc_client_free(stream->client);
	stream->current = false;
}

static void let_go(struct fake_stream *stream)
{
	stream->dead = true;
	stream->current = false;
	fl_timer_set(stream->kubelet->io, &stream->timer, fl_now(stream->kubelet->io));
}

/* Whoever is the client by now goes with the stream that has ended. */
static void list_ended(struct fl_op *op)
{
	struct fake_stream *stream = fl_container(op, struct fake_stream, list.op);
	struct fake_stream *current = fake_kubelet_find(stream->kubelet, stream->resource);

	stream->kubelet->ended++;
	if (current && current != stream)
		let_go(current);
	let_go(stream);
}

static void got_list(struct fl_grpc_request *request, const ProtobufCMessage *message)
{
	struct fake_stream *stream = fl_container(request, struct fake_stream, list);
	const V1beta1__ListAndWatchResponse *list = as(message);
	struct fl_buf text = FL_BUF_IN(stream->devices);
	char before[sizeof stream->devices];

	memcpy(before, stream->devices, sizeof before);
	text.len = 0;
	for (size_t i = 0; i < list->n_devices; i++) {
		const V1beta1__Device *device = list->devices[i];

		fl_buf_printf(&text, "%s%s%s", i ? " " : "", device->id,
			      strcmp(device->health, "Healthy") == 0 ? "" : "!");
		if (device->topology && device->topology->n_nodes == 1)
			fl_buf_printf(&text, "@%lld", (long long)device->topology->nodes[0]->id);
	}
	stream->kubelet->repeated += stream->lists > 0 && strcmp(before, stream->devices) == 0;
	stream->lists++;
	stream->kubelet->lists++;
}

static void watch(struct fake_stream *stream)
{
	V1beta1__Empty empty = V1BETA1__EMPTY__INIT;

	stream->list = (struct fl_grpc_request){ .method = &fl_plugin_list_and_watch, .message = &empty.base,
						 .got = got_list, .op = { .done = list_ended, .err = &stream->err } };
	fl_grpc_start(stream->client, &stream->list);
}

static void got_options(struct fl_op *op)
{
	struct fake_stream *stream = fl_container(op, struct fake_stream, options.op), *old;
	V1beta1__Empty empty = V1BETA1__EMPTY__INIT;

	if (!stream->registering || op->result < 0) {
		if (stream->registering)
			fl_grpc_call_end(stream->registering, FL_GRPC_UNKNOWN, "no dial back: %s", stream->err.text);
		stream->registering = NULL;
		let_go(stream);
		return;
	}
	stream->pre_start = ((const V1beta1__DevicePluginOptions *)as(stream->options.reply))->pre_start_required;
	old = fake_kubelet_find(stream->kubelet, stream->resource);
	if (old)
		old->current = false;   /* its stream goes on, and when it ends it takes the new one with it */
	stream->current = true;
	stream->kubelet->registered++;
	fl_grpc_call_reply(stream->registering, &empty.base);
	stream->registering = NULL;
	fl_timer_set(stream->kubelet->io, &stream->timer, fl_now(stream->kubelet->io) + stream->kubelet->late);
}

/* Its next step: to be freed, to watch, or to dial back. */
static void go_on(struct fl_timer *timer)
{
	struct fake_stream *stream = fl_container(timer, struct fake_stream, timer);
	V1beta1__Empty empty = V1BETA1__EMPTY__INIT;

	if (stream->dead) {
		stream_free(stream);
		return;
	}
	if (stream->current) {
		watch(stream);
		return;
	}
	stream->options = (struct fl_grpc_request){ .method = &fl_plugin_options, .message = &empty.base,
						    .op = { .done = got_options, .err = &stream->err } };
	fl_grpc_start(stream->client, &stream->options);
}

static void register_gone(void *stream_)
{
	struct fake_stream *stream = stream_;

	stream->registering = NULL;   /* the real one's context is cancelled: the dial fails */
	let_go(stream);
}

static struct fake_stream *free_place(struct fake_kubelet *kubelet)
{
	for (int i = 0; i < FAKE_STREAMS; i++)
		if (!kubelet->streams[i].client)
			return &kubelet->streams[i];
	return NULL;
}

static void do_register(struct fl_grpc_call *call, const ProtobufCMessage *request_)
{
	const V1beta1__RegisterRequest *request = as(request_);
	struct fake_kubelet *kubelet = fl_grpc_call_service(call);
	struct fake_stream *stream = free_place(kubelet);
	char path[sizeof kubelet->dir + sizeof stream->endpoint];
	struct fl_addr addr;

	kubelet->asked++;
	(void)snprintf(path, sizeof path, "%s/%s", kubelet->dir, request->endpoint);
	if (kubelet->refuses || !stream || fl_addr_unix(&addr, fl_str(path), NULL) < 0 ||
	    strcmp(request->version, "v1beta1") != 0) {
		kubelet->refused++;
		fl_grpc_call_end(call, FL_GRPC_UNKNOWN, "no more plugins today");
		return;
	}
	*stream = (struct fake_stream){ .kubelet = kubelet, .timer.fire = go_on, .registering = call };
	(void)snprintf(stream->resource, sizeof stream->resource, "%s", request->resource_name);
	(void)snprintf(stream->endpoint, sizeof stream->endpoint, "%s", request->endpoint);
	stream->said_pre_start = request->options && request->options->pre_start_required;
	stream->client = fl_grpc_client_new(kubelet->io, &addr, NULL);
	if (!stream->client) {
		fl_grpc_call_end(call, FL_GRPC_RESOURCE_EXHAUSTED, "out of memory");
		return;
	}
	fl_grpc_call_on_gone(call, register_gone, stream);
	fl_timer_set(kubelet->io, &stream->timer, fl_now(kubelet->io) + kubelet->slow);
}

static const struct fl_grpc_handler handlers[] = { { &fl_kubelet_register, do_register } };

int fake_kubelet_start(struct fake_kubelet *kubelet, struct fl_io *io, const char *dir, struct fl_err *err)
{
	struct fl_grpc_server_options how = { .addr.kind = FL_ADDR_UNIX, .handlers = handlers,
					      .handler_count = FL_LEN(handlers), .service = kubelet };

	kubelet->io = io;
	(void)snprintf(kubelet->dir, sizeof kubelet->dir, "%s", dir);
	(void)snprintf(how.addr.path, sizeof how.addr.path, "%s/kubelet.sock", kubelet->dir);
	kubelet->server = fl_grpc_server_new(io, &how, err);
	return kubelet->server ? 0 : -(int)(err ? err->code : FL_E_IO);
}

/* One device stands for all that are healthy. */
static void count(struct fl_grpc_call *call, const ProtobufCMessage *request)
{
	struct fake_kubelet *kubelet = fl_grpc_call_service(call);
	V1__AllocatableResourcesResponse reply = V1__ALLOCATABLE_RESOURCES_RESPONSE__INIT;
	V1__ContainerDevices devices[FAKE_STREAMS], *at[FAKE_STREAMS];
	char *ids[FAKE_STREAMS];

	(void)request;
	kubelet->counted++;
	for (int i = 0; i < FAKE_STREAMS; i++) {
		struct fake_stream *stream = &kubelet->streams[i];
		V1__ContainerDevices *here = &devices[reply.n_devices];

		if (!stream->current || !stream->lists || !stream->devices[0])
			continue;
		v1__container_devices__init(here);
		here->resource_name = stream->resource;
		ids[i] = stream->devices;
		here->device_ids = &ids[i];
		here->n_device_ids = 1;
		at[reply.n_devices++] = here;
	}
	reply.devices = at;
	fl_grpc_call_reply(call, &reply.base);
}

static const struct fl_grpc_handler count_handlers[] = { { &fl_pods_allocatable, count } };

int fake_kubelet_counts(struct fake_kubelet *kubelet, const char *dir, struct fl_err *err)
{
	struct fl_grpc_server_options how = { .addr.kind = FL_ADDR_UNIX, .handlers = count_handlers,
					      .handler_count = FL_LEN(count_handlers), .service = kubelet };

	(void)snprintf(how.addr.path, sizeof how.addr.path, "%s/kubelet.sock", dir);
	kubelet->pods = fl_grpc_server_new(kubelet->io, &how, err);
	return kubelet->pods ? 0 : -(int)(err ? err->code : FL_E_IO);
}

void fake_kubelet_stop(struct fake_kubelet *kubelet)
{
	kubelet->pods = fl_grpc_server_free(kubelet->pods);
	kubelet->server = fl_grpc_server_free(kubelet->server);
	for (int i = 0; i < FAKE_STREAMS; i++)
		stream_free(&kubelet->streams[i]);
}

struct fake_stream *fake_kubelet_find(struct fake_kubelet *kubelet, const char *resource)
{
	for (int i = 0; i < FAKE_STREAMS; i++)
		if (kubelet->streams[i].current && strcmp(kubelet->streams[i].resource, resource) == 0)
			return &kubelet->streams[i];
	return NULL;
}

const char *fake_kubelet_devices(struct fake_kubelet *kubelet, const char *resource)
{
	struct fake_stream *stream = fake_kubelet_find(kubelet, resource);

	return stream && stream->lists ? stream->devices : "(none)";
}

void fake_kubelet_end(struct fake_stream *stream)
{
	struct fake_stream *current = fake_kubelet_find(stream->kubelet, stream->resource);

	if (current && current != stream)
		stream_free(current);
	stream_free(stream);
}
