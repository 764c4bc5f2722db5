/* What the kubelet counts of a resource, against what it was told.
 *
 * It takes the end of any stream for the end of whoever serves the resource by then, says so to nobody, and never dials
 * again. So where one plugin follows another the resource may end up with none, though one is there and was told that
 * it is registered: ours, or the one that we have made way for. The kubelet's own count shows it.
 */
#include "grpc/deviceplugin.pb-c.h"
#include "grpc/kubelet.h"
#include "grpc/podresources.pb-c.h"
#include "node/kubelet/holders.h"
#include "node/kubelet/plugin_in.h"
#include "plan/gpu/ids.h"
#include <stdio.h>

#define FL_PLUGIN_COUNT_AFTER (100 * FL_NS_PER_MS)   /* a list, or a stream's end: the kubelet has seen it by then, */
#define FL_PLUGIN_COUNT_AGAIN (1 * FL_NS_PER_S)      /* or a while later */

static struct fl_str served_by(const struct other_plugin *other)
{
	return fl_gpu_socket_of(fl_str(other->name));
}

static bool is_of(const char *resource, const struct other_plugin *other)
{
	struct fl_str name = fl_str(resource), domain = FL_S(FL_GPU_DOMAIN);

	return fl_str_starts(name, domain) && fl_str_eq(fl_str_sub(name, domain.len, name.len), served_by(other));
}

/* ---- who else is there ---- */

static const struct folder_socket *still_there(const struct fl_plugins *all, const struct other_plugin *other_plugin)
{
	fl_vec_each (sock, &all->seen)
		if (sock->live && sock->ino == other_plugin->ino && strcmp(sock->name, other_plugin->name) == 0)
			return sock;
	return NULL;
}

static bool is_known(const struct fl_plugins *all, const struct folder_socket *sock)
{
	fl_vec_each (other_plugin, &all->other_plugins)
		if (strcmp(other_plugin->name, sock->name) == 0)
			return true;
	return false;
}

void plugins_see_other_plugins(struct fl_plugins *all)
{
	uint64_t now = fl_now(all->io), every;
	bool others = false;

	for (uint32_t i = all->other_plugins.len; i-- > 0;)
		if (!still_there(all, &all->other_plugins.at[i])) {
			fl_vec_remove(&all->other_plugins, i);
			others = true;
		}
	fl_vec_each (sock, &all->seen) {
		struct other_plugin other_plugin = { .ino = sock->ino };

		if (!sock->live || !fl_gpu_socket_of(fl_str(sock->name)).len || is_known(all, sock))
			continue;
		memcpy(other_plugin.name, sock->name, sizeof other_plugin.name);
		others |= fl_vec_push(&all->other_plugins, other_plugin) == 0;   /* else the next look knows it */
	}
	all->count_again |= others;   /* a kubelet under load hears of a stream's end late */
	if (others)
		all->others_at = now;
	every = all->other_plugins.len || now - all->others_at < FL_PLUGIN_COUNT_EVERY ? FL_PLUGIN_LOOK_EVERY :
										     FL_PLUGIN_COUNT_EVERY;
	if (others || now - all->counted >= every)
		plugins_count_soon(all);
}

/* ---- the kubelet is told of another plugin ---- */

static void helped(struct fl_op *op)
{
	struct fl_plugins *all = fl_container(op, struct fl_plugins, help.op);

	if (op->result < 0)
		fl_log(all->options.log, FL_WARN, "cannot register another plugin again",
		       FL_KV_ERR(&all->count_err));
	fl_arena_free(&all->help.arena);
	all->help_client = fl_grpc_client_free(all->help_client);
}

/* As that plugin has done itself: the kubelet dials back to the socket that is named. */
static void help(struct fl_plugins *all, struct other_plugin *other_plugin, const char *resource)
{
	V1beta1__RegisterRequest message = V1BETA1__REGISTER_REQUEST__INIT;
	char version[] = "v1beta1";

	all->help_client = fl_grpc_client_new(all->io, &all->kubelet, &all->count_err);
	if (!all->help_client)
		return;
	other_plugin->helped++;
	fl_log(all->options.log, FL_WARN, "other plugin dropped by the kubelet, registering it again",
	       FL_KV_TEXT("resource", resource), FL_KV_TEXT("socket", other_plugin->name));
	message.version = version;
	message.endpoint = other_plugin->name;
	message.resource_name = (char *)(uintptr_t)resource;
	all->help = (struct fl_grpc_request){ .method = &fl_kubelet_register, .message = &message.base };
	all->help.op = (struct fl_op){ .done = helped, .err = &all->count_err,
				       .deadline = fl_now(all->io) + FL_PLUGIN_REGISTER_TIMEOUT };
	fl_grpc_start(all->help_client, &all->help);
}

/* ---- what it counts ---- */

static bool counts(const V1__AllocatableResourcesResponse *reply, const char *resource)
{
	for (size_t i = 0; i < reply->n_devices; i++)
		if (reply->devices[i]->n_device_ids && strcmp(reply->devices[i]->resource_name, resource) == 0)
			return true;
	return false;
}

/* Was it told of healthy devices, and long enough ago? */
static bool should_count(const struct plugin *plugin)
{
	bool healthy = false;

	for (uint32_t i = 0; i < plugin->resource.units.len; i++)
		healthy |= plugin->resource.units.at[i].healthy;
	return healthy && plugin->watchers && !plugin->lost && !plugin->changed && !fl_op_busy(&plugin->ask.op) &&
	       plugin->sent + FL_PLUGIN_COUNT_AFTER <= plugin->all->counted;
}

static void judge_other_plugin(struct fl_plugins *all, struct other_plugin *other_plugin,
			       const V1__AllocatableResourcesResponse *reply)
{
	char resource[sizeof other_plugin->name + sizeof FL_GPU_DOMAIN];

	(void)snprintf(resource, sizeof resource, FL_GPU_DOMAIN "%.*s", FL_ARG(served_by(other_plugin)));
	if (other_plugin->helped == FL_PLUGIN_HELPS_MAX || fl_op_busy(&all->help.op) || counts(reply, resource))
		return;
	for (const struct plugin *plugin = all->first; plugin; plugin = plugin->next)
		if (is_of(plugin->bytes, other_plugin))
			return;   /* it is being made way for, or is served until the plan knows */
	help(all, other_plugin, resource);
}

static void counted(struct fl_op *op)
{
	struct fl_plugins *all = fl_container(op, struct fl_plugins, count.op);
	const V1__AllocatableResourcesResponse *reply = (const void *)all->count.reply;

	fl_io_name(all->io, "what the kubelet counts");
	/* One that does not tell is asked again with the next look. */
	for (struct plugin *plugin = all->first; op->result >= 0 && plugin; plugin = plugin->next)
		if (should_count(plugin) && !counts(reply, plugin->bytes))
			plugin_not_counted(plugin);
	fl_vec_each (other_plugin, &all->other_plugins)
		if (op->result >= 0)
			judge_other_plugin(all, other_plugin, reply);
	fl_arena_free(&all->count.arena);
	all->count_client = fl_grpc_client_free(all->count_client);
	if (all->count_again)
		fl_timer_set(all->io, &all->count_timer, fl_now(all->io) + FL_PLUGIN_COUNT_AGAIN);
	all->count_again = false;
}

static void count_now(struct fl_timer *timer)
{
	struct fl_plugins *all = fl_container(timer, struct fl_plugins, count_timer);
	V1__AllocatableResourcesRequest message = V1__ALLOCATABLE_RESOURCES_REQUEST__INIT;

	if (fl_op_busy(&all->count.op) || (!all->first && !all->other_plugins.len))
		return;
	all->counted = fl_now(all->io);
	all->count_client = fl_grpc_client_new(all->io, &all->pods, &all->count_err);
	if (!all->count_client)
		return;
	all->count = (struct fl_grpc_request){ .method = &fl_pods_allocatable, .message = &message.base };
	all->count.op = (struct fl_op){ .done = counted, .err = &all->count_err,
					.deadline = fl_now(all->io) + FL_HOLDERS_TIMEOUT };
	fl_grpc_start(all->count_client, &all->count);
}

void plugins_count_soon(struct fl_plugins *all)
{
	if (!all->pods.path[0])
		return;
	all->count_timer.fire = count_now;
	fl_timer_set(all->io, &all->count_timer, fl_now(all->io) + FL_PLUGIN_COUNT_AFTER);
}

void plugins_count_stop(struct fl_plugins *all)
{
	fl_timer_stop(all->io, &all->count_timer);
	fl_op_cancel(&all->count.op);
	fl_op_cancel(&all->help.op);
	fl_arena_free(&all->count.arena);
	fl_arena_free(&all->help.arena);
	all->count_client = fl_grpc_client_free(all->count_client);
	all->help_client = fl_grpc_client_free(all->help_client);
}
