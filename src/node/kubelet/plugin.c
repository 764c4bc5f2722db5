/* The device plugin: a sink whose writes are device lists, and what keeps the kubelet listening to them. */
#include "node/kubelet/plugin_in.h"
#include "base/backoff.h"
#include "base/chain.h"
#include "grpc/deviceplugin.pb-c.h"
#include "grpc/kubelet.h"
#include "node/host/dir_trouble.h"
#include "run/doing.h"
#include <assert.h>
#include <stdio.h>

#define FL_PLUGIN_NAME_SHOWN 30              /* bytes of a resource's name in its socket's: a path has 107 in all */
/* Until the next try with a kubelet that says no, for as long as nothing changes. */
#define FL_PLUGIN_REFUSED_LAST (60 * FL_NS_PER_S)
#define FL_PLUGIN_STEADY (5 * FL_NS_PER_S)           /* a stream that lived so long had nothing wrong with it */

static const char kubelet_dir[] = "/var/lib/kubelet/device-plugins";

/* ---- numbers ---- */

static const struct fl_metric metrics[] = {
	{ "fairlead_plugin_lists_total", "Device lists sent to the kubelet.", FL_COUNTER, .labels = { "resource" } },
	{ "fairlead_plugin_calls_total", "Allocate calls, by outcome.", FL_COUNTER,
	  .labels = { "resource", "outcome" } },
	{ "fairlead_plugin_registrations_total", "Registrations with the kubelet, by outcome.", FL_COUNTER,
	  .labels = { "resource", "outcome" } },
	{ "fairlead_plugin_watchers", "Open ListAndWatch streams of the kubelet.", FL_GAUGE,
	  .labels = { "resource" } },
};

static const struct {
	uint32_t metric;
	struct fl_str outcome;
} counts[PLUGIN_COUNT_] = {
	[PLUGIN_LISTS] = { 0, FL_S_INIT("") },	       [PLUGIN_ALLOCATED] = { 1, FL_S_INIT("allocated") },
	[PLUGIN_REFUSED] = { 1, FL_S_INIT("refused") },     [PLUGIN_REGISTERED] = { 2, FL_S_INIT("registered") },
	[PLUGIN_UNREGISTERED] = { 2, FL_S_INIT("failed") }, [PLUGIN_WATCHERS] = { 3, FL_S_INIT("") },
};

static void series_new(struct plugin *plugin)
{
	for (int i = 0; plugin->all->options.metrics && i < PLUGIN_COUNT_; i++)
		plugin->series[i] = fl_series(plugin->all->families[counts[i].metric],
					      (struct fl_str[]){ plugin->name, counts[i].outcome });
}

static void series_free(struct plugin *plugin)
{
	for (int i = 0; i < PLUGIN_COUNT_; i++)
		if (plugin->series[i])
			fl_series_remove(plugin->series[i]);
}

void plugin_count(struct plugin *plugin, enum plugin_count what)
{
	if (plugin->series[what])
		fl_count(plugin->series[what], 1);
}

/* ---- when to try again ---- */

uint64_t plugins_jitter(struct fl_plugins *all, uint64_t delay)
{
	uint64_t chance = ++all->chances;

	return fl_spread(delay, fl_siphash13(all->seed, &chance, sizeof chance));
}

static void due(struct plugin *plugin, uint64_t delay)
{
	uint64_t at = fl_now(plugin->all->io) + delay;

	if (!fl_timer_is_set(&plugin->again) || at < plugin->again.at)
		fl_timer_set(plugin->all->io, &plugin->again, at);
}

static void back_off(struct plugin *plugin, uint64_t last)
{
	due(plugin, plugins_jitter(plugin->all, fl_backoff(&plugin->delay, FL_PLUGIN_RETRY_FIRST, last)));
}

/* As a fact, for the Node: a folder in which no socket can be made at once, and a kubelet that cannot be reached when
 * it does not just start anew. */
static void report_unregistered(struct fl_timer *timer)
{
	struct fl_plugins *all = fl_container(timer, struct fl_plugins, tell_timer);
	const struct plugin *unheard = NULL;
	uint64_t next = FL_NEVER;
	struct fl_err words = { 0 };

	for (const struct plugin *plugin = all->first; plugin; plugin = plugin->next) {
		uint64_t at = plugin->server ? plugin->failing_since + FL_PLUGIN_TOLD_AFTER : 0;

		if (plugin->why.code && at <= fl_now(all->io))
			unheard = plugin;
		else if (plugin->why.code && at < next)
			next = at;
	}
	if (unheard)
		(void)fl_fail(&words, FL_E_IO,
			      "waits for the kubelet to watch %s: %s: mount the kubelet's directory, or name the right "
			      "one (--kubelet-dir)",
			      unheard->bytes, unheard->why.text);
	fl_dir_trouble(all->loop, FL_DIR_KUBELET, unheard ? words.text : NULL);
	if (next != FL_NEVER)
		fl_timer_set(all->io, timer, next);
}

static void tell_soon(struct fl_plugins *all)
{
	all->tell_timer.fire = report_unregistered;
	fl_timer_set(all->io, &all->tell_timer, fl_now(all->io));
}

/* Once for each reason: what goes on for hours is said once. */
static void complain(struct plugin *plugin, const struct fl_err *why)
{
	if (plugin->why.code == why->code && strcmp(plugin->why.text, why->text) == 0)
		return;
	if (!plugin->why.code)
		plugin->failing_since = fl_now(plugin->all->io);
	plugin->why = *why;
	tell_soon(plugin->all);
	fl_log(plugin->all->options.log, FL_WARN, "resource not registered, will retry",
	       FL_KV_STR("resource", plugin->name), FL_KV_ERR(why));
}

/* Nothing is wrong any more. */
static void settle(struct plugin *plugin)
{
	if (plugin->why.code)
		tell_soon(plugin->all);
	plugin->why = (struct fl_err){ .code = FL_OK };
}

void plugin_watchers_changed(struct plugin *plugin)
{
	double count = 0;

	for (const struct watcher *watcher = plugin->watchers; watcher; watcher = watcher->next)
		count++;
	if (plugin->series[PLUGIN_WATCHERS])
		fl_set(plugin->series[PLUGIN_WATCHERS], count);
}

/* The kubelet has let go of the resource, or is about to: it takes a stream's end for that of the newest one. */
void plugin_lost(struct plugin *plugin, uint64_t lived)
{
	plugin->lost = true;
	if (lived >= FL_PLUGIN_STEADY)
		plugin->delay = 0;
	back_off(plugin, FL_PLUGIN_RETRY_LAST);
}

/* Who dialled back because of this Register has hung up before it watched. */
static void left(void *service, uint64_t since)
{
	struct plugin *plugin = service;

	if (since < plugin->asked || plugin->watchers || plugin->lost || plugin->closing || plugin->all->drains)
		return;
	if (fl_op_busy(&plugin->ask.op))
		plugin->lost = true;   /* its end sees to it */
	else
		plugin_lost(plugin, 0);
}

/* ---- our socket ---- */

/* Is the socket in the folder still the one that we listen at? */
static bool stands(const struct plugin *plugin)
{
	const struct fl_fs *fs = fl_io_fs(plugin->all->io);
	struct fl_stat stat;

	return plugin->server && fs->stat(fs, AT_FDCWD, plugin->addr.path, AT_SYMLINK_NOFOLLOW, &stat) == 0 &&
	       stat.ino == plugin->ino;
}

static void stop_listening(struct plugin *plugin)
{
	plugin->closing = true;
	plugin->server = fl_grpc_server_free(plugin->server);
	plugin->closing = false;
}

static int listen_anew(struct plugin *plugin, struct fl_err *err)
{
	struct fl_plugins *all = plugin->all;
	const struct fl_fs *fs = fl_io_fs(all->io);
	char hidden[sizeof plugin->addr.path];
	struct fl_grpc_server_options options = { .addr = plugin->addr, .handlers = plugin_handlers,
						  .handler_count = FL_LEN(plugin_handlers), .service = plugin,
						  .left = left, .made_as = hidden };
	struct fl_stat stat;

	stop_listening(plugin);
	(void)snprintf(hidden, sizeof hidden, "%.*s.%s", (int)(plugin->file - plugin->addr.path), plugin->addr.path,
		       plugin->file);
	plugin->server = fl_grpc_server_new(all->io, &options, err);
	if (!plugin->server)
		return -(int)err->code;
	if (fs->stat(fs, AT_FDCWD, plugin->addr.path, AT_SYMLINK_NOFOLLOW, &stat) < 0) {
		stop_listening(plugin);
		return fl_fail(err, FL_E_RETRY, "socket '%s' has gone at once", plugin->addr.path);
	}
	plugin->ino = stat.ino;
	plugin->listening_since = all->looks;
	return 0;
}

/* ---- registration ---- */

static void try_now(struct plugin *plugin);

static void let_client_go(struct fl_plugins *all)
{
	for (struct plugin *plugin = all->first; plugin; plugin = plugin->next)
		if (fl_op_busy(&plugin->ask.op))
			return;
	all->client = fl_grpc_client_free(all->client);
}

/* Who says no may do so for good; who is not there is soon. */
static uint64_t last_delay(enum fl_grpc_status status)
{
	return status == FL_GRPC_UNAVAILABLE || status == FL_GRPC_DEADLINE_EXCEEDED ||
			       status == FL_GRPC_RESOURCE_EXHAUSTED ? FL_PLUGIN_RETRY_LAST :
								      FL_PLUGIN_REFUSED_LAST;
}

/* Once for each resource, and after each failure: what is registered again and again in between is no news. */
static void tell_registered(struct plugin *plugin)
{
	int64_t healthy = 0, all = 0;

	if (plugin->told && !plugin->why.code)
		return;
	fl_resource_count(&plugin->resource, &healthy, &all);
	fl_log(plugin->all->options.log, FL_INFO, "registered", FL_KV_STR("resource", plugin->name),
	       FL_KV_INT("healthy", healthy), FL_KV_INT("devices", all));
	plugin->told = true;
}

static void asked(struct fl_op *op)
{
	struct plugin *plugin = fl_container(op, struct plugin, ask.op);

	fl_arena_free(&plugin->ask.arena);
	if (op->result < 0) {
		plugin->asked_wall = 0;
		plugin_count(plugin, PLUGIN_UNREGISTERED);
		complain(plugin, &plugin->err);
		back_off(plugin, last_delay(plugin->ask.status));
	} else {
		plugin_count(plugin, PLUGIN_REGISTERED);
		tell_registered(plugin);
		settle(plugin);
		if (plugin->lost || plugin->changed)
			back_off(plugin, FL_PLUGIN_RETRY_LAST);
		else if (!plugin->watchers)
			due(plugin, FL_PLUGIN_WATCHED_WITHIN);
	}
	let_client_go(plugin->all);
}

static int ask(struct plugin *plugin, struct fl_err *err)
{
	struct fl_plugins *all = plugin->all;
	V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;
	V1beta1__RegisterRequest message = V1BETA1__REGISTER_REQUEST__INIT;
	char version[] = "v1beta1";

	if (!all->client)
		all->client = fl_grpc_client_new(all->io, &all->kubelet, err);
	if (!all->client)
		return -(int)err->code;
	message.version = version;
	message.endpoint = (char *)(uintptr_t)plugin->file;
	message.resource_name = plugin->bytes;
	message.options = &options;
	options.get_preferred_allocation_available = true;
	options.pre_start_required = plugin_pre_start(&plugin->resource);
	plugin->ask = (struct fl_grpc_request){ .method = &fl_kubelet_register, .message = &message.base };
	plugin->ask.op = (struct fl_op){ .done = asked, .err = &plugin->err,
					 .deadline = fl_now(all->io) + FL_PLUGIN_REGISTER_TIMEOUT };
	plugin->asked_wall = fl_wall(all->io);
	plugin->asked = fl_now(all->io);
	fl_grpc_start(all->client, &plugin->ask);
	return 0;
}

static void try_now(struct plugin *plugin)
{
	struct fl_err err = { 0 };

	fl_timer_stop(plugin->all->io, &plugin->again);
	if (fl_op_busy(&plugin->ask.op)) {
		plugin->changed = true;
		return;
	}
	plugin->lost = plugin->changed = false;
	plugin_end_watchers(plugin, "registering again");
	if ((!stands(plugin) && listen_anew(plugin, &err) < 0) ||
	    (plugin->all->kubelet.path[0] && ask(plugin, &err) < 0)) {
		complain(plugin, &err);
		back_off(plugin, FL_PLUGIN_RETRY_LAST);
	} else if (!plugin->all->kubelet.path[0]) {
		settle(plugin);   /* it is registered nowhere: that it listens is all */
	}
}

/* Set after a stream's end, a failure, or a registration that nobody has followed up. */
static void again(struct fl_timer *timer)
{
	struct plugin *plugin = fl_container(timer, struct plugin, again);

	fl_io_name(plugin->all->io, "register");
	if (fl_op_busy(&plugin->ask.op) || (plugin->watchers && !plugin->lost && !plugin->changed))
		return;   /* its end sees to it; or the stream has come meanwhile */
	try_now(plugin);
}

static void stop_asking(struct plugin *plugin)
{
	fl_op_cancel(&plugin->ask.op);
	fl_arena_free(&plugin->ask.arena);
	plugin->asked_wall = 0;
}

void plugins_kubelet_is_new(struct fl_plugins *all, int64_t made)
{
	bool busy = false;

	if (!all->kubelet.path[0])
		return;
	for (struct plugin *plugin = all->first; plugin; plugin = plugin->next)
		busy |= fl_op_busy(&plugin->ask.op) && plugin->asked_wall < made;
	for (struct plugin *plugin = all->first; plugin; plugin = plugin->next)
		if (busy || plugin->asked_wall < made)
			stop_asking(plugin);
	let_client_go(all);
	for (struct plugin *plugin = all->first; plugin; plugin = plugin->next) {
		if (plugin->asked_wall)
			continue;   /* it was this kubelet that was asked */
		plugin->delay = 0;
		try_now(plugin);
	}
}

void plugin_socket_is_gone(struct plugin *plugin)
{
	if (stands(plugin))
		return;
	if (fl_op_busy(&plugin->ask.op))
		stop_asking(plugin);   /* it names a socket that is not there */
	let_client_go(plugin->all);
	plugin->delay = 0;
	try_now(plugin);
}

void plugin_not_counted(struct plugin *plugin)
{
	fl_log(plugin->all->options.log, FL_WARN, "resource dropped by the kubelet, registering again",
	       FL_KV_STR("resource", plugin->name));
	try_now(plugin);
}

/* ---- a resource's life ---- */

static struct plugin *find_plugin(const struct fl_plugins *all, struct fl_str name)
{
	for (struct plugin *plugin = all->first; plugin; plugin = plugin->next)
		if (fl_str_eq(plugin->name, name))
			return plugin;
	return NULL;
}

static void plugin_free(struct plugin *plugin)
{
	struct fl_plugins *all = plugin->all;

	stop_asking(plugin);
	fl_timer_stop(all->io, &plugin->again);
	stop_listening(plugin);
	series_free(plugin);
	fl_arena_free(&plugin->arena);
	tell_soon(all);
	fl_chain_take(plugin);
	fl_free(plugin);
	let_client_go(all);
}

/* The end of the resource's name is for people, the hash tells those apart that end alike. */
static int name_socket(struct plugin *plugin, struct fl_err *err)
{
	static const uint64_t same_for_all[2] = { 0, 0 };
	struct fl_plugins *all = plugin->all;
	size_t len = sizeof plugin->addr.path;
	struct fl_str rest = plugin->name, part, end = plugin->name;
	int n, dir = (int)strlen(all->options.dir) + 1;

	while (fl_str_split(&rest, '/', &part))
		end = part;
	end = fl_str_sub(end, 0, FL_PLUGIN_NAME_SHOWN);
	plugin->addr.kind = FL_ADDR_UNIX;
	n = snprintf(plugin->addr.path, len, "%s/fairlead-%.*s-%04x-%s.sock", all->options.dir, FL_ARG(end),
		     (unsigned)(fl_siphash13(same_for_all, plugin->name.p, plugin->name.len) & 0xffff), all->process);
	if (n + 1 >= (int)len)   /* one more for the dot */
		return fl_fail(err, FL_E_TOOBIG, "no socket for %.*s: the path '%s' is too long", FL_ARG(plugin->name),
			       all->options.dir);
	plugin->file = plugin->addr.path + dir;
	return 0;
}

static struct plugin *plugin_new(struct fl_plugins *all, struct fl_str name, struct fl_err *err)
{
	FL_AUTO(fl_mem) struct plugin *plugin = fl_zalloc(sizeof *plugin + name.len + 1);

	if (!plugin)
		return fl_null(err, FL_E_NOMEM, "no memory to serve %.*s", FL_ARG(name));
	plugin->all = all;
	memcpy(plugin->bytes, name.p, name.len);
	plugin->name = (struct fl_str){ plugin->bytes, name.len };
	plugin->delay = 0;
	plugin->again.fire = again;
	if (name_socket(plugin, err) < 0)
		return NULL;
	series_new(plugin);
	fl_chain_add(&all->first, plugin);
	return fl_steal(&plugin);
}

/* Is there a unit that could be allocated, and cannot be in `now`? Both are sorted; NULL: in none. */
static bool loses(const struct fl_resource *was, const struct fl_resource *now)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < was->units.len; i++) {
		const struct fl_unit *unit = &was->units.at[i];

		while (now && n < now->units.len && fl_str_cmp(now->units.at[n].id, unit->id) < 0)
			n++;
		if (unit->healthy && (!now || n == now->units.len || !fl_str_eq(now->units.at[n].id, unit->id) ||
				      !now->units.at[n].healthy))
			return true;
	}
	return false;
}

static int withdraw(const struct plugin *plugin, const struct fl_resource *now, struct fl_err *err)
{
	const struct fl_plugins_options *options = &plugin->all->options;

	if (!options->withdrawn || !loses(&plugin->resource, now))
		return 0;
	return options->withdrawn(options->arg, plugin->given, err);
}

/* Take over a Resource. Nothing has changed on failure. */
static int take_resource(struct plugin *plugin, const struct fl_resource *resource, struct fl_err *err)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_arena old = plugin->arena;
	struct fl_resource now = { 0 };
	struct fl_pb_fields common;
	bool same_list, same_options;

	if (plugin_check_list(resource, err) < 0 || fl_copy(fl_resource_bind(), resource, &arena, &now, err) < 0)
		return -(int)err->code;
	FL_SET(FL_IN(&now, meta), name, plugin->name);   /* a want's object has none */
	if (plugin_pack_common(&now, &arena, &common, err) < 0 || withdraw(plugin, &now, err) < 0)
		return -(int)err->code;
	same_list = plugin_same_list(&plugin->resource, &now);
	same_options = plugin_pre_start(&plugin->resource) == plugin_pre_start(&now);
	plugin->resource = now;
	plugin->common = common;
	plugin->arena = arena;
	arena = old;
	if (!same_options && plugin->server)
		try_now(plugin);
	else if (!same_list)
		plugin_send_all(plugin);
	return 0;
}

static int carry_out(struct fl_plugins *all, const struct fl_write *write, struct fl_err *err)
{
	struct plugin *plugin = find_plugin(all, write->ref.name);
	bool made = !plugin;
	int r;

	if (write->what == FL_WANT_GONE) {
		if (plugin && withdraw(plugin, NULL, err) < 0)
			return -(int)err->code;
		if (plugin)
			plugin_free(plugin);
		return 0;
	}
	if (write->what != FL_WANT_OBJECT)
		return fl_fail(err, FL_E_UNSUPPORTED, "a device list has no items that are shared with others");
	if (made)
		plugin = plugin_new(all, write->ref.name, err);
	if (!plugin)
		return -(int)err->code;
	r = take_resource(plugin, write->object, err);
	if (r < 0 && made)
		plugin_free(plugin);
	else if (r == 0 && made)
		try_now(plugin);
	return r;
}

/* ---- the sink ---- */

static void start(void *self, struct fl_write *write)
{
	struct fl_plugins *all = *(struct fl_plugins **)self;
	struct fl_err err = { 0 };

	assert(all);   /* PluginSocket is not synced before, so no plan that looks at it has been called */
	(void)carry_out(all, write, &err);
	fl_doing_begin(write->held, write);
	fl_doing_over(write->held, all->io, &err);
}

const struct fl_sink fl_plugin_sink = { .start = start, .cancel = fl_doing_cancel, .room = sizeof(struct fl_doing),
					.retry_last = FL_LOCAL_RETRY_LAST };

/* ---- the whole ---- */

static int set_up(struct fl_plugins *all, struct fl_err *err)
{
	uint32_t process;

	if (!all->options.dir)
		all->options.dir = kubelet_dir;
	all->kubelet.kind = FL_ADDR_UNIX;
	if (snprintf(all->kubelet.path, sizeof all->kubelet.path, "%s%s",
		     all->options.kubelet ? all->options.kubelet : all->options.dir,
		     all->options.kubelet ? "" : "/kubelet.sock") >= (int)sizeof all->kubelet.path)
		return fl_fail(err, FL_E_TOOBIG, "the path '%s' is too long for a socket",
			       all->options.kubelet ? all->options.kubelet : all->options.dir);
	/* Who registers nowhere cares for no kubelet's count, and helps no other plugin to register. */
	if (!all->kubelet.path[0])
		all->options.pods_dir = NULL;
	if (all->options.pods_dir)
		all->pods.kind = FL_ADDR_UNIX;
	if (all->options.pods_dir &&
	    snprintf(all->pods.path, sizeof all->pods.path, "%s/kubelet.sock", all->options.pods_dir) >=
		    (int)sizeof all->pods.path)
		return fl_fail(err, FL_E_TOOBIG, "the path '%s' leaves no room for a socket", all->options.pods_dir);
	if (fl_random(all->io, all->seed, sizeof all->seed, err) < 0 ||
	    fl_random(all->io, &process, sizeof process, err) < 0)
		return -(int)err->code;
	(void)snprintf(all->process, sizeof all->process, "%08x", process);
	if (all->options.metrics)
		return fl_metrics_add(all->options.metrics, metrics, FL_LEN(metrics), NULL, all->families, err);
	return 0;
}

struct fl_plugins *fl_plugins_new(struct fl_io *io, struct fl_loop *loop, const struct fl_plugins_options *options,
				  struct fl_err *err)
{
	FL_AUTO(fl_mem) struct fl_plugins *all = fl_zalloc(sizeof *all);
	struct fl_feed *resources = fl_loop_feed(loop, &fl_resource_kind);
	struct fl_err local;

	if (!err)
		err = &local;
	if (!all)
		return fl_null(err, FL_E_NOMEM, "no memory for the device plugin");
	all->io = io;
	all->loop = loop;
	all->options = *options;
	all->sockets = fl_loop_feed(loop, &fl_plugin_socket_kind);
	if (set_up(all, err) < 0)
		return NULL;
	fl_feed_begin(resources);
	fl_feed_synced(resources);
	plugins_folder_start(all);
	return fl_steal(&all);
}

bool fl_plugins_drain(struct fl_plugins *all)
{
	bool done = true;

	if (!all->drains) {
		plugins_folder_stop(all);
		plugins_count_stop(all);
	}
	for (struct plugin *plugin = all->first; plugin; plugin = plugin->next) {
		if (!all->drains) {
			stop_asking(plugin);
			fl_timer_stop(all->io, &plugin->again);
			plugin_end_watchers(plugin, "the agent ends");
			plugin->closing = true;
		}
		done &= !plugin->server || fl_grpc_server_drain(plugin->server);
	}
	all->drains = true;
	let_client_go(all);
	return done;
}

struct fl_plugins *fl_plugins_free(struct fl_plugins *all)
{
	if (!all)
		return NULL;
	plugins_folder_stop(all);
	plugins_count_stop(all);
	while (all->first)
		plugin_free(all->first);
	fl_timer_stop(all->io, &all->tell_timer);
	fl_arena_free(&all->scratch);
	fl_vec_free(&all->seen);
	fl_vec_free(&all->other_plugins);
	fl_free(all);
	return NULL;
}

const char *fl_plugins_unwatched(const struct fl_plugins *all, struct fl_err *ret_why)
{
	for (const struct plugin *plugin = all->first; plugin && all->kubelet.path[0]; plugin = plugin->next) {
		if (plugin->watchers)
			continue;
		if (ret_why)
			*ret_why = plugin->why;
		return plugin->bytes;
	}
	return NULL;
}
