/* What the kubelet asks of a resource, and the list that it watches. */
#include "base/chain.h"
#include "grpc/deviceplugin.pb-c.h"
#include "grpc/kubelet.h"
#include "node/kubelet/plugin_in.h"
#include "plan/gpu/allocate.h"

/* A device list: grpc-go, and so the kubelet, takes no message over 4 MiB. Some 45,000 shares. */
#define FL_PLUGIN_LIST_MAX (4 * FL_MIB)

static const void *as(const ProtobufCMessage *message)
{
	return message;
}

/* protobuf-c only reads what it sends, and does not say so. */
static char *sent(const char *text)
{
	return (char *)(uintptr_t)text;
}

/* Terminated, as protobuf-c wants it; NULL: no memory. */
static char *text_of(struct fl_arena *arena, struct fl_str s)
{
	return sent(fl_arena_str(arena, s).p);
}

static void no_memory(struct fl_grpc_call *call)
{
	fl_grpc_call_end(call, FL_GRPC_RESOURCE_EXHAUSTED, "out of memory; try again");
}

static struct plugin *plugin_of(const struct fl_grpc_call *call)
{
	return fl_grpc_call_service(call);
}

bool plugin_pre_start(const struct fl_resource *resource)
{
	return resource->has.pre_start && resource->pre_start;
}

static void options(struct fl_grpc_call *call, const ProtobufCMessage *request)
{
	V1beta1__DevicePluginOptions reply = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

	(void)request;
	reply.get_preferred_allocation_available = true;
	reply.pre_start_required = plugin_pre_start(&plugin_of(call)->resource);
	fl_grpc_call_reply(call, &reply.base);
}

/* ---- the list ---- */

static uint32_t shares(const struct fl_unit *unit)
{
	return unit->has.replicas && unit->replicas > 0 ? (uint32_t)unit->replicas : 1;
}

static bool shared(const struct fl_unit *unit)
{
	return unit->has.replicas && unit->replicas > 0;
}

bool plugin_same_list(const struct fl_resource *a, const struct fl_resource *b)
{
	if (a->units.len != b->units.len)
		return false;
	for (uint32_t i = 0; i < a->units.len; i++) {
		const struct fl_unit *x = &a->units.at[i], *y = &b->units.at[i];

		if (!fl_str_eq(x->id, y->id) || shared(x) != shared(y) || shares(x) != shares(y) ||
		    x->healthy != y->healthy || x->has.numa != y->has.numa || (x->has.numa && x->numa != y->numa))
			return false;
	}
	return true;
}

/* A share is sent as its ID, health and NUMA node, each with its tag and length: never more than this beside the ID. */
enum { SHARE_BYTES = 40 };

int plugin_check_list(const struct fl_resource *resource, struct fl_err *err)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < resource->units.len; i++)
		bytes += (uint64_t)shares(&resource->units.at[i]) * (resource->units.at[i].id.len + SHARE_BYTES);
	if (bytes <= FL_PLUGIN_LIST_MAX)
		return 0;
	return fl_fail(err, FL_E_TOOBIG,
		       "a device list of %llu bytes, the kubelet accepts %zu: use fewer replicas per GPU",
		       (unsigned long long)bytes, (size_t)FL_PLUGIN_LIST_MAX);
}

static int add_share(struct fl_arena *arena, const struct fl_unit *unit, uint32_t share, V1beta1__TopologyInfo *numa,
		     V1beta1__Device **ret)
{
	V1beta1__Device *device = fl_arena_get(arena, sizeof *device);

	if (!device)
		return -FL_E_NOMEM;
	v1beta1__device__init(device);
	device->id = shared(unit) ? sent(fl_arena_printf(arena, "%.*s::%u", FL_ARG(unit->id), share).p) :
				    text_of(arena, unit->id);
	device->health = sent(unit->healthy ? "Healthy" : "Unhealthy");
	device->topology = numa;
	*ret = device;
	return device->id ? 0 : -FL_E_NOMEM;
}

static int numa_of(struct fl_arena *arena, const struct fl_unit *unit, V1beta1__TopologyInfo **ret)
{
	struct numa {
		V1beta1__TopologyInfo info;
		V1beta1__NUMANode node, *nodes[1];
	} *numa;

	*ret = NULL;
	if (!unit->has.numa)
		return 0;
	numa = fl_arena_get(arena, sizeof *numa);
	if (!numa)
		return -FL_E_NOMEM;
	v1beta1__topology_info__init(&numa->info);
	v1beta1__numanode__init(&numa->node);
	numa->node.id = unit->numa;
	numa->nodes[0] = &numa->node;
	numa->info.n_nodes = 1;
	numa->info.nodes = numa->nodes;
	*ret = &numa->info;
	return 0;
}

static int make_list(const struct fl_resource *resource, struct fl_arena *arena, V1beta1__ListAndWatchResponse *ret)
{
	V1beta1__TopologyInfo *numa;
	size_t count = 0;

	for (uint32_t i = 0; i < resource->units.len; i++)
		count += shares(&resource->units.at[i]);
	v1beta1__list_and_watch_response__init(ret);
	ret->devices = fl_arena_get_n(arena, count, sizeof *ret->devices);
	if (!ret->devices)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < resource->units.len; i++) {
		const struct fl_unit *unit = &resource->units.at[i];

		if (numa_of(arena, unit, &numa) < 0)
			return -FL_E_NOMEM;
		for (uint32_t share = 0; share < shares(unit); share++)
			if (add_share(arena, unit, share, numa, &ret->devices[ret->n_devices++]) < 0)
				return -FL_E_NOMEM;
	}
	return 0;
}

static void unlink_watcher(struct watcher *watcher)
{
	fl_chain_take(watcher);
	plugin_watchers_changed(watcher->plugin);
}

static void watcher_gone(void *watcher_)
{
	struct watcher *watcher = watcher_;
	struct plugin *plugin = watcher->plugin;
	bool newest = plugin->watchers == watcher;

	unlink_watcher(watcher);
	if (newest && !plugin->closing)
		plugin_lost(plugin, fl_now(plugin->all->io) - watcher->since);
}

/* One that could not be told of a state must not go on as if it had been. */
static void cut(struct watcher *watcher)
{
	struct fl_grpc_call *call = watcher->call;

	watcher_gone(watcher);
	no_memory(call);
}

void plugin_send_all(struct plugin *plugin)
{
	struct fl_arena *arena = &plugin->all->scratch;
	V1beta1__ListAndWatchResponse list;
	bool made = plugin->watchers && make_list(&plugin->resource, arena, &list) == 0;

	for (struct watcher *watcher = plugin->watchers, *next; watcher; watcher = next) {
		next = watcher->next;
		if (made)
			fl_grpc_call_send_newest(watcher->call, &list.base);
		else
			cut(watcher);
	}
	if (made)
		plugin_count(plugin, PLUGIN_LISTS);
	plugin->sent = fl_now(plugin->all->io);
	fl_arena_free(arena);
}

void plugin_end_watchers(struct plugin *plugin, const char *why)
{
	while (plugin->watchers) {
		struct watcher *watcher = plugin->watchers;

		unlink_watcher(watcher);
		fl_grpc_call_end(watcher->call, FL_GRPC_UNAVAILABLE, "%s", why);
	}
}

static void list_and_watch(struct fl_grpc_call *call, const ProtobufCMessage *request)
{
	struct plugin *plugin = plugin_of(call);
	struct fl_arena *arena = &plugin->all->scratch;
	struct watcher *watcher = fl_arena_get(fl_grpc_call_arena(call), sizeof *watcher);
	V1beta1__ListAndWatchResponse list;

	(void)request;
	if (plugin->all->drains) {
		fl_grpc_call_end(call, FL_GRPC_UNAVAILABLE, "the agent ends");
		return;
	}
	if (!watcher || make_list(&plugin->resource, arena, &list) < 0) {
		no_memory(call);
		plugin_lost(plugin, 0);
	} else {
		*watcher = (struct watcher){ .plugin = plugin, .call = call, .since = fl_now(plugin->all->io) };
		fl_chain_add(&plugin->watchers, watcher);
		plugin->lost = false;
		plugin->sent = fl_now(plugin->all->io);
		fl_grpc_call_on_gone(call, watcher_gone, watcher);
		fl_grpc_call_send_newest(call, &list.base);
		plugin_count(plugin, PLUGIN_LISTS);
		plugin_watchers_changed(plugin);
	}
	fl_arena_free(arena);
}

/* ---- who gets what ---- */

static int wish_of(struct fl_arena *arena, char **ids, size_t len, struct fl_device_ids *ret, struct fl_err *err)
{
	struct fl_str *at = fl_arena_get_n(arena, len, sizeof *at);

	if (!at || len > UINT32_MAX)
		return fl_fail(err, FL_E_NOMEM, "out of memory; try again");
	for (size_t i = 0; i < len; i++)
		at[i] = fl_str(ids[i]);
	*ret = (struct fl_device_ids){ at, (uint32_t)len };
	return 0;
}

/* A list of `n` pointers to messages of this type, each initialised; NULL: no memory. */
#define MESSAGES(arena, n, type, init) ({ \
	type **list_ = fl_arena_get_n((arena), (n), sizeof *list_ + sizeof **list_); \
	for (size_t i_ = 0; list_ && i_ < (n); i_++) { \
		list_[i_] = (type *)(void *)(list_ + (n)) + i_; \
		init(list_[i_]); \
	} \
	list_; \
})

static bool put_nodes(struct fl_arena *arena, const struct fl_allocation *handed,
		      V1beta1__ContainerAllocateResponse *reply)
{
	bool ok = true;

	reply->devices = MESSAGES(arena, handed->node_len, V1beta1__DeviceSpec, v1beta1__device_spec__init);
	reply->mounts = MESSAGES(arena, handed->mount_len, V1beta1__Mount, v1beta1__mount__init);
	if (!reply->devices || !reply->mounts)
		return false;
	reply->n_devices = handed->node_len;
	for (size_t i = 0; i < reply->n_devices; i++) {
		reply->devices[i]->container_path = text_of(arena, handed->nodes[i].path);
		reply->devices[i]->host_path = text_of(arena, handed->nodes[i].host_path);
		reply->devices[i]->permissions = sent("rw");
		ok &= reply->devices[i]->container_path && reply->devices[i]->host_path;
	}
	reply->n_mounts = handed->mount_len;
	for (size_t i = 0; i < reply->n_mounts; i++) {
		reply->mounts[i]->container_path = text_of(arena, handed->mounts[i].path);
		reply->mounts[i]->host_path = text_of(arena, handed->mounts[i].host_path);
		reply->mounts[i]->read_only = !handed->mounts[i].writable;
		ok &= reply->mounts[i]->container_path && reply->mounts[i]->host_path;
	}
	return ok;
}

static bool put_texts(struct fl_arena *arena, const struct fl_allocation *handed,
		      V1beta1__ContainerAllocateResponse *reply)
{
	bool ok = true;

	reply->envs = MESSAGES(arena, handed->env_len, V1beta1__ContainerAllocateResponse__EnvsEntry,
			       v1beta1__container_allocate_response__envs_entry__init);
	reply->annotations = MESSAGES(arena, handed->annotation_len,
				      V1beta1__ContainerAllocateResponse__AnnotationsEntry,
				      v1beta1__container_allocate_response__annotations_entry__init);
	reply->cdi_devices = MESSAGES(arena, handed->cdi_len, V1beta1__CDIDevice, v1beta1__cdidevice__init);
	if (!reply->envs || !reply->annotations || !reply->cdi_devices)
		return false;
	reply->n_envs = handed->env_len;
	for (size_t i = 0; i < reply->n_envs; i++) {
		reply->envs[i]->key = text_of(arena, handed->env[i].key);
		reply->envs[i]->value = text_of(arena, handed->env[i].value);
		ok &= reply->envs[i]->key && reply->envs[i]->value;
	}
	reply->n_annotations = handed->annotation_len;
	for (size_t i = 0; i < reply->n_annotations; i++) {
		reply->annotations[i]->key = text_of(arena, handed->annotations[i].key);
		reply->annotations[i]->value = text_of(arena, handed->annotations[i].value);
		ok &= reply->annotations[i]->key && reply->annotations[i]->value;
	}
	reply->n_cdi_devices = handed->cdi_len;
	for (size_t i = 0; i < reply->n_cdi_devices; i++) {
		reply->cdi_devices[i]->name = text_of(arena, handed->cdi[i]);
		ok &= reply->cdi_devices[i]->name != NULL;
	}
	return ok;
}

static int allocate_one(const struct plugin *plugin, struct fl_arena *arena, char **ids, size_t len,
			V1beta1__ContainerAllocateResponse *reply, struct fl_err *err)
{
	struct fl_allocation handed = { 0 };
	struct fl_device_ids wish;
	int r = wish_of(arena, ids, len, &wish, err);

	if (r == 0)
		r = fl_gpu_allocate(&plugin->resource, &wish, arena, &handed, err);
	if (r == 0 && (!put_texts(arena, &handed, reply) || !put_nodes(arena, &handed, reply)))
		r = fl_fail(err, FL_E_NOMEM, "out of memory; try again");
	fl_pb_add(&reply->base, &plugin->common);
	return r;
}

int plugin_pack_common(const struct fl_resource *resource, struct fl_arena *arena, struct fl_pb_fields *ret,
		       struct fl_err *err)
{
	FL_AUTO(fl_arena) struct fl_arena scratch = { 0 };
	V1beta1__ContainerAllocateResponse common = V1BETA1__CONTAINER_ALLOCATE_RESPONSE__INIT;
	struct fl_allocation handed;
	int r = fl_gpu_allocate_common(resource, &scratch, &handed, err);

	if (r == 0 && (!put_texts(&scratch, &handed, &common) || !put_nodes(&scratch, &handed, &common)))
		r = fl_fail(err, FL_E_NOMEM, "no memory for what the containers of %.*s have in common",
			    FL_ARG(resource->meta.name));
	return r == 0 ? fl_pb_pack(arena, &common.base, ret, err) : r;
}

static void refuse(struct fl_grpc_call *call, const struct fl_err *err)
{
	struct plugin *plugin = plugin_of(call);

	plugin_count(plugin, PLUGIN_REFUSED);
	fl_log(plugin->all->options.log, FL_WARN, "devices are refused", FL_KV_STR("resource", plugin->name),
	       FL_KV_ERR(err));
	fl_grpc_call_fail(call, err);
}

static void allocate(struct fl_grpc_call *call, const ProtobufCMessage *request_)
{
	const V1beta1__AllocateRequest *request = as(request_);
	struct plugin *plugin = plugin_of(call);
	struct fl_arena *arena = fl_grpc_call_arena(call);
	V1beta1__AllocateResponse reply = V1BETA1__ALLOCATE_RESPONSE__INIT;
	struct fl_err err = { .code = FL_E_NOMEM, .text = "out of memory; try again" };
	int r = 0;

	reply.container_responses = MESSAGES(arena, request->n_container_requests, V1beta1__ContainerAllocateResponse,
					     v1beta1__container_allocate_response__init);
	reply.n_container_responses = request->n_container_requests;
	for (size_t i = 0; reply.container_responses && r == 0 && i < reply.n_container_responses; i++)
		r = allocate_one(plugin, arena, request->container_requests[i]->devices_ids,
				 request->container_requests[i]->n_devices_ids, reply.container_responses[i], &err);
	if (!reply.container_responses || r < 0) {
		refuse(call, &err);
		return;
	}
	plugin->given = fl_now(plugin->all->io);
	fl_grpc_call_reply(call, &reply.base);
	plugin_count(plugin, PLUGIN_ALLOCATED);
	if (plugin->all->options.allocated)
		plugin->all->options.allocated(plugin->all->options.arg);
}

static int prefer_one(const struct plugin *plugin, struct fl_arena *arena,
		      const V1beta1__ContainerPreferredAllocationRequest *request,
		      V1beta1__ContainerPreferredAllocationResponse *reply, struct fl_err *err)
{
	struct fl_device_ids available, must;
	uint32_t size = request->allocation_size > 0 ? (uint32_t)request->allocation_size : 0;
	struct fl_str *ids;
	int r = wish_of(arena, request->available_deviceids, request->n_available_deviceids, &available, err);

	if (r == 0)
		r = wish_of(arena, request->must_include_deviceids, request->n_must_include_deviceids, &must, err);
	if (r == 0 && size > available.len)
		r = fl_fail(err, FL_E_INVALID, "%u devices of %u that are available", size, available.len);
	if (r < 0)
		return r;
	ids = fl_arena_get_n(arena, size, sizeof *ids);
	reply->deviceids = fl_arena_get_n(arena, size, sizeof *reply->deviceids);
	if (!ids || !reply->deviceids)
		return fl_fail(err, FL_E_NOMEM, "out of memory; try again");
	r = fl_prefer(&plugin->resource, &available, &must, size, arena, ids, err);
	for (uint32_t i = 0; r == 0 && i < size; i++) {
		reply->deviceids[i] = text_of(arena, ids[i]);
		if (!reply->deviceids[i])
			r = fl_fail(err, FL_E_NOMEM, "out of memory; try again");
	}
	reply->n_deviceids = size;
	return r;
}

static void preferred(struct fl_grpc_call *call, const ProtobufCMessage *request_)
{
	const V1beta1__PreferredAllocationRequest *request = as(request_);
	struct fl_arena *arena = fl_grpc_call_arena(call);
	V1beta1__PreferredAllocationResponse reply = V1BETA1__PREFERRED_ALLOCATION_RESPONSE__INIT;
	struct fl_err err = { .code = FL_E_NOMEM, .text = "out of memory; try again" };
	int r = 0;

	reply.container_responses = MESSAGES(arena, request->n_container_requests,
					     V1beta1__ContainerPreferredAllocationResponse,
					     v1beta1__container_preferred_allocation_response__init);
	reply.n_container_responses = request->n_container_requests;
	for (size_t i = 0; reply.container_responses && r == 0 && i < reply.n_container_responses; i++)
		r = prefer_one(plugin_of(call), arena, request->container_requests[i], reply.container_responses[i],
			       &err);
	if (!reply.container_responses || r < 0)
		refuse(call, &err);
	else
		fl_grpc_call_reply(call, &reply.base);
}

/* The same question as Allocate's: what could not be handed out now must not be started with. */
static void pre_start(struct fl_grpc_call *call, const ProtobufCMessage *request_)
{
	const V1beta1__PreStartContainerRequest *request = as(request_);
	V1beta1__PreStartContainerResponse reply = V1BETA1__PRE_START_CONTAINER_RESPONSE__INIT;
	struct fl_arena *arena = fl_grpc_call_arena(call);
	struct fl_device_ids wish;
	struct fl_allocation handed;
	struct fl_err err = { 0 };
	int r = wish_of(arena, request->devices_ids, request->n_devices_ids, &wish, &err);

	if (r == 0)
		r = fl_gpu_allocate(&plugin_of(call)->resource, &wish, arena, &handed, &err);
	if (r < 0)
		refuse(call, &err);
	else
		fl_grpc_call_reply(call, &reply.base);
}

const struct fl_grpc_handler plugin_handlers[5] = {
	{ &fl_plugin_options, options },     { &fl_plugin_list_and_watch, list_and_watch },
	{ &fl_plugin_preferred, preferred }, { &fl_plugin_allocate, allocate },
	{ &fl_plugin_pre_start, pre_start },
};
