#include "agent_world.h"
#include "ahead.h"
#include "api/nfd.h"
#include "grpc/kubelet.h"
#include "grpc/podresources.pb-c.h"
#include "run/memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* ---- who holds what, as the kubelet tells ---- */

static void list_pods(struct fl_grpc_call *call, const ProtobufCMessage *request)
{
	struct world *w = fl_grpc_call_service(call);
	V1__ListPodResourcesResponse reply = V1__LIST_POD_RESOURCES_RESPONSE__INIT;
	V1__PodResources pod = V1__POD_RESOURCES__INIT, other = V1__POD_RESOURCES__INIT;
	FL_AUTO(fl_mem) V1__PodResources **pods = fl_zalloc_n(1 + w->crowd, sizeof(V1__PodResources *));
	V1__ContainerResources container = V1__CONTAINER_RESOURCES__INIT, *containers[] = { &container };
	V1__ContainerDevices devices = V1__CONTAINER_DEVICES__INIT, *device[] = { &devices };
	char space[] = "team", name[] = "job", resource[80] = GPU, *ids[] = { w->held }, long_name[254] = "";

	(void)request;
	if (w->held_as)
		(void)snprintf(resource, sizeof resource, "%s", w->held_as);
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
	memset(long_name, 'n', sizeof long_name - 1);
	other.namespace_ = space;
	other.name = long_name;
	for (uint32_t i = 0; pods && i < w->crowd; i++)
		pods[reply.n_pod_resources++] = &other;
	if (pods && w->held)
		pods[reply.n_pod_resources++] = &pod;
	reply.pod_resources = pods;
	w->reply_len = protobuf_c_message_get_packed_size(&reply.base);
	fl_grpc_call_reply(call, &reply.base);
}

static const struct fl_grpc_handler handlers[] = { { &fl_pods_list, list_pods } };

int tells_up(struct world *w)
{
	struct fl_grpc_server_options options = { .addr.kind = FL_ADDR_UNIX, .handlers = handlers,
						  .handler_count = FL_LEN(handlers), .service = w };

	(void)snprintf(options.addr.path, sizeof options.addr.path, "%s/kubelet.sock", w->pod_dir);
	w->pods = fl_grpc_server_new(w->rig.io, &options, &w->err);
	return w->pods ? 0 : -FL_E_IO;
}

void kubelet_is_young(struct world *w, bool young)
{
	ahead(w->rig.io, !young);
}

void tells_down(struct world *w)
{
	w->pods = fl_grpc_server_free(w->pods);
}

static int kubelet_up(struct world *w)
{
	return tells_up(w) == 0 ? fake_kubelet_start(&w->kubelet, w->rig.io, w->plugins, &w->err) : -FL_E_IO;
}

/* ---- the agent ---- */

/* As the agent before has left it. */
static int tell_node(struct world *w)
{
	struct fl_feed *feed = fl_loop_feed(w->loop, &fl_own_node_kind);
	struct fl_condition ready = { 0 };
	struct fl_own_node node = { 0 };

	FL_SET(FL_IN(&node, meta), name, FL_S("n1"));
	FL_SET(&ready, type, FL_S("GPUsReady"));
	FL_SET(&ready, status, FL_CONDITION_TRUE);
	FL_SET(&ready, reason, FL_S("Ready"));
	FL_SET(&ready, message, FL_S("as it was"));
	node.status.conditions.at = &ready;
	node.status.conditions.len = 1;
	node.status.has.conditions = node.has.status = 1;
	fl_feed_begin(feed);
	if (fl_feed_put(feed, &node, &w->err) < 0)
		return -FL_E_NOMEM;
	fl_feed_synced(feed);
	return 0;
}

static int sources(struct world *w, const struct fl_agent_options *options)
{
	const struct fl_kind *const theirs[] = { &fl_own_node_kind, &fl_device_class_kind, &fl_node_feature_kind };

	for (uint32_t i = 0; i < FL_LEN(theirs); i++)
		if (fl_loop_source(w->loop,
				   &(struct fl_source){ theirs[i], NULL, &fl_memory_sink, w->rig.io }, &w->err) < 0)
			return -FL_E_NOMEM;
	if (fl_agent_sources(&w->agent, w->rig.io, w->loop, options, &w->err) < 0)
		return -FL_E_NOMEM;
	for (const struct fl_capability *const *row = fl_agent_capabilities; *row; row++)
		if (fl_loop_capability(w->loop, *row, &w->err) < 0)
			return -FL_E_NOMEM;
	for (uint32_t i = w->configs || w->node ? 1 : 0; i < FL_LEN(theirs); i++)
		fl_feed_absent(fl_loop_feed(w->loop, theirs[i]));   /* no API server */
	return w->node ? tell_node(w) : 0;
}

static void changed(void *w, const struct fl_told_event *told)
{
	fl_agent_tell(&((struct world *)w)->agent, told);
}

int agent_up(struct world *w)
{
	struct fl_agent_options options = {
		.config = { .given = &w->given, .file = w->config, .dir = w->configs, .node = FL_S("n1"),
			    .ready_dir = w->ready_dir },
		.gpu = { .program = "/proc/self/exe", .roots = w->rig.roots, .sysfs = w->rig.sysfs,
			 .proc = w->rig.proc, .env = w->rig.envs,
			 .pace = { .look_every = 400 * FL_NS_PER_MS, .look_soon = 20 * FL_NS_PER_MS,
				   .find_every = 20 * FL_NS_PER_MS } },
		.state_dir = w->state, .plugins_dir = w->plugins, .pods_dir = w->pod_dir, .cdi_dir = w->cdi,
		.exporter = { .period = w->metrics_period ? w->metrics_period : 50 * FL_NS_PER_MS,
			      .pods_stale = w->pods_stale, .file = w->metrics_file,
			      .style = { .node = FL_S("n1"), .no_pods = w->no_pods, .pod_uid = w->pod_uid } },
		.inside.logs = w->logs,
		.runtime_socket = w->runtime ? w->runtime : "/nowhere", .control = w->control, .log = &w->rig.log,
		.event = w->hear, .event_arg = w, .end_wait = w->end_wait,
	};

	w->root = fl_str(w->rig.root);
	w->given.roots = (struct fl_strs){ &w->root, w->rig.roots[0] == w->rig.root, 1 };
	w->agent = (struct fl_agent){ 0 };
	w->loop = fl_loop_new(w->rig.io, &(struct fl_loop_options){ .seed = { 1, 2 }, .event = changed, .arg = w },
			      &w->err);
	if (!w->loop || sources(w, &options) < 0)
		return -FL_E_NOMEM;
	return fl_agent_start(&w->agent, &w->err);
}

void agent_down(struct world *w)
{
	fl_agent_stop(&w->agent);
	w->loop = fl_loop_free(w->loop);
}

void world_auto_(struct world *w)
{
	agent_down(w);
	fl_grpc_server_free(w->pods);
	fake_kubelet_stop(&w->kubelet);
	rig_down(&w->rig);
}

static bool no_line(void *self, const char *line, size_t len)
{
	((struct world *)self)->warned += memmem(line, len, "configuration invalid", 21) != NULL;
	((struct world *)self)->untaken += memmem(line, len, "configuration applied in part", 29) != NULL;
	((struct world *)self)->missed += memmem(line, len, "Node not found", 14) != NULL;
	if (memmem(line, len, "settings changed", 16))
		(void)snprintf(((struct world *)self)->changed, sizeof((struct world *)self)->changed, "%.*s",
			       (int)len, line);
	((struct world *)self)->registered += memmem(line, len, "\"msg\":\"registered\"", 18) != NULL;
	((struct world *)self)->killed += memmem(line, len, "does not quit, killed", 21) != NULL;
	if (getenv("TEST_LOG"))
		(void)fprintf(stderr, "# %.*s", (int)len, line);
	return true;
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

int world_up(struct world *w, const char *topology, unsigned flags)
{
	char *const paths[] = { w->plugins, w->pod_dir, w->cdi, w->state, w->logs };
	static const char *const names[] = { "plugins", "pods", "cdi", "state", "logs" };

	if (rig_up(&w->rig, topology, RIG_LATER | flags, &w->err) < 0)
		return -FL_E_IO;
	fl_log_init(&w->rig.log, &(struct fl_log_to){ no_line, no_clock, no_wall, w }, "test");
	w->given.unpooled = FL_S("true");
	for (size_t i = 0; i < FL_LEN(names); i++) {
		(void)snprintf(paths[i], sizeof w->cdi, "%s/%s", w->rig.folder, names[i]);
		if (mkdir(paths[i], 0755) < 0)
			return -FL_E_IO;
	}
	kubelet_is_young(w, false);
	(void)snprintf(w->file, sizeof w->file, "%s/k8s.device-plugin.nvidia.com-gpu.json", w->cdi);
	return kubelet_up(w);
}

/* ---- looking ---- */

bool until(struct world *w, bool (*so)(struct world *w, int arg), int arg)
{
	uint64_t end = fl_clock(w->rig.io) + 20 * FL_NS_PER_S;

	while (!so(w, arg)) {
		if (fl_clock(w->rig.io) > end ||
		    fl_io_turn(w->rig.io, fl_clock(w->rig.io) + 20 * FL_NS_PER_MS, NULL) < 0)
			return false;
	}
	return true;
}

const char *uuid(const struct world *w, int gpu)
{
	return w->rig.state->gpus[gpu].uuid;
}

char listed(struct world *w, int gpu)
{
	const char *at = strstr(fake_kubelet_devices(&w->kubelet, GPU), uuid(w, gpu));

	return !at ? '-' : at[strlen(uuid(w, gpu))] == '!' ? 'U' : 'H';
}

bool both_are(struct world *w, int both)
{
	return listed(w, 0) == both && listed(w, 1) == both;
}

bool node_says(struct world *w, const char *status, const char *part)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);
	const struct fl_own_node *node = fl_view_get(&view, &fl_own_node_kind, FL_S(""), FL_S("n1"));
	const struct fl_condition *ready = node ? fl_condition_find(&node->status.conditions, FL_S("GPUsReady")) :
						  NULL;

	return ready && strcmp(fl_name(&fl_condition_status_names, (int)ready->status), status) == 0 &&
	       ready->message.len && memmem(ready->message.p, ready->message.len, part, strlen(part));
}

bool is_ready(struct world *w, int arg)
{
	FL_AUTO(fl_buf) struct fl_buf words = FL_BUF(FL_KIB);

	(void)arg;
	return fl_agent_ready(&w->agent, &words);
}

bool is_dead(int pid)
{
	char path[40], state = 'Z';
	FILE *file;

	(void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (file && fscanf(file, "%*d %*s %c", &state) != 1)
		state = 'Z';
	if (file)
		(void)fclose(file);
	return state == 'Z';
}
