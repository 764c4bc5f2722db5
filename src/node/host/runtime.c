#include "node/host/runtime.h"
#include "base/log.h"
#include "grpc/client.h"
#include "grpc/runtime.h"
#include "grpc/runtime.pb-c.h"
#include "io/job.h"
#include "io/notify.h"
#include "json/bind_walk.h"
#include "node/host/crio_conf.h"
#include "node/host/driver_root.h"
#include <stdio.h>

static const char *const sockets[] = { "/run/containerd/containerd.sock", "/run/crio/crio.sock" };

/* What CRI-O tells, as it names its own variables. */
#define FL_CRIO_RUNNING(X) \
	X(STRS, dirs, "CDISpecDirs", .help = "Where its CDI files are.")
FL_STRUCT(fl_crio_running, FL_CRIO_RUNNING);
FL_BIND(fl_crio_running, FL_CRIO_RUNNING)

/* What a runtime tells of its configuration, of all that only this: containerd beside each other, CRI-O inside. */
#define FL_CRI_CONFIG(X) \
	X(BOOL, cdi, "enableCDI", .help = "Whether CDI device names have effect.") \
	X(STRS, dirs, "cdiSpecDirs", .help = "Where its CDI files are.") \
	X(OBJ(fl_crio_running), crio, "crio", .help = "CRI-O: the active configuration.")
FL_STRUCT(fl_cri_config, FL_CRI_CONFIG);
FL_BIND(fl_cri_config, FL_CRI_CONFIG)

static const char *const crio_usual[] = { "/etc/cdi", "/var/run/cdi" };

struct crio_look {
	struct fl_job job;
	struct fl_runtime_feed *runtime;       /* as long as the operation waits */
	char dir[FL_CRIO_PATH_MAX];
	struct fl_crio_conf conf;
};

struct fl_runtime_feed {
	struct fl_io *io;
	struct fl_feed *feed;
	struct fl_log *log;
	const char *cdi_dir, *crio_dir;
	const char *socket;                    /* NULL: the usual ones in turn */
	uint32_t turn;
	struct fl_grpc_client *client;
	struct fl_grpc_request version, status;
	struct fl_op files;                    /* of CRI-O's configuration */
	struct fl_notify notify;
	struct fl_timer timer;
	struct fl_err err, why, files_why;
	char before[FL_ERR_TEXT / 2];          /* why the usual sockets before this one do not do, each with "; " */
	uint64_t silent;                       /* since when it does not answer, where it does not */
	bool answered;                         /* ever */
	bool watched;                          /* the kernel has said that it watches the socket's folder */
	bool once_more;                        /* the socket is another one since it was asked */
	uint64_t again;                        /* when it is asked the next time */
	char dir[FL_GPU_PATH_MAX], name[64], runtime[64], release[64];
};

const char *fl_runtime_socket(const struct fl_runtime_feed *runtime)
{
	return runtime->socket ? runtime->socket : sockets[runtime->turn];
}

static void ask(struct fl_runtime_feed *runtime);

static void ask_again(struct fl_timer *timer)
{
	ask(fl_container(timer, struct fl_runtime_feed, timer));
}

static void set(struct fl_runtime_feed *runtime, void (*fire)(struct fl_timer *timer), uint64_t time)
{
	runtime->timer.fire = fire;
	fl_timer_set(runtime->io, &runtime->timer, fl_now(runtime->io) + time);
}

/* A connection that waits for minutes is memory for nothing, here and there. */
static void let_go(struct fl_timer *timer)
{
	struct fl_runtime_feed *runtime = fl_container(timer, struct fl_runtime_feed, timer);

	runtime->client = fl_grpc_client_free(runtime->client);
	set(runtime, ask_again, runtime->again);
}

static void rest(struct fl_runtime_feed *runtime, uint64_t time)
{
	runtime->again = time;
	set(runtime, let_go, 0);
}

static int put_why(struct fl_runtime_feed *runtime, const struct fl_err *why, struct fl_err *err)
{
	struct fl_runtime now = { 0 };

	FL_SET(FL_IN(&now, meta), name, FL_S("runtime"));
	FL_SET(&now, message, fl_str(why->text));
	return fl_feed_put(runtime->feed, &now, err);
}

/* Where it has none of the sockets it is asked again at the other one at once; what has answered once is restarting. */
static void failed(struct fl_runtime_feed *runtime, const struct fl_err *last)
{
	struct fl_err err = { 0 }, why = { 0 };

	if (!runtime->socket && !runtime->answered && runtime->turn + 1 < FL_LEN(sockets)) {
		(void)snprintf(runtime->before, sizeof runtime->before, "%.116s; ", last->text);
		runtime->turn++;
		set(runtime, ask_again, 0);
		return;
	}
	(void)fl_fail(&why, last->code, "%s%s", runtime->answered ? "" : runtime->before, last->text);
	if (strcmp(why.text, runtime->why.text) != 0)
		fl_log(runtime->log, FL_WARN, "container runtime does not report whether CDI is enabled, will retry",
		       FL_KV_ERR(&why));
	if (!runtime->why.text[0])
		runtime->silent = fl_now(runtime->io);
	/* One that starts a moment after us is no news. */
	if (!runtime->answered && fl_now(runtime->io) - runtime->silent >= FL_RUNTIME_QUIET &&
	    put_why(runtime, &why, &err) < 0)
		fl_log(runtime->log, FL_WARN, "cannot report that the container runtime does not answer",
		       FL_KV_ERR(&err));
	runtime->why = why;
	if (!runtime->answered)
		runtime->turn = 0;
	rest(runtime, FL_RUNTIME_RETRY);
}

/* ---- what it says ---- */

int fl_runtime_config(struct fl_str text, struct fl_arena *arena, struct fl_runtime *ret, struct fl_err *err)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct fl_cri_config config = { 0 };
	int r = fl_json_read(NULL, text, 0, &doc, err);

	if (r == 0)
		r = fl_decode(fl_cri_config_bind(), yyjson_doc_get_root(doc), arena, 0, &config, err);
	if (r < 0)
		return r == -FL_E_NOMEM ? r : 0;
	FL_SET(ret, cdi_known, config.has.cdi);
	if (config.has.cdi)
		FL_SET(ret, cdi, config.cdi);
	if (config.crio.dirs.len) {
		config.dirs = config.crio.dirs;
		config.has.dirs = 1;
	}
	if (config.has.dirs) {
		ret->cdi_dirs = config.dirs;
		ret->has.cdi_dirs = 1;
	}
	return 0;
}

static int read_config(const Runtime__V1__StatusResponse *reply, struct fl_arena *arena, struct fl_runtime *ret,
		       struct fl_err *err)
{
	for (size_t i = 0; i < reply->n_info; i++)
		if (strcmp(reply->info[i]->key, "config") == 0)
			return fl_runtime_config(fl_str(reply->info[i]->value), arena, ret, err);
	return 0;
}

static bool is_crio(const struct fl_runtime_feed *runtime)
{
	return strcmp(runtime->runtime, "cri-o") == 0;
}

static int put(struct fl_runtime_feed *runtime, struct fl_runtime *now, struct fl_err *err)
{
	FL_SET(FL_IN(now, meta), name, FL_S("runtime"));
	FL_SET(now, runtime, fl_str(runtime->runtime));
	FL_SET(now, version, fl_str(runtime->release));
	if (runtime->cdi_dir)
		FL_SET(now, our_dir, fl_str(runtime->cdi_dir));
	FL_SET(now, cdi_known, is_crio(runtime) || now->cdi_known);
	if (is_crio(runtime))
		FL_SET(now, cdi, true);   /* it cannot be turned off there */
	if (!now->cdi_known)
		FL_SET(now, message, FL_S("it does not report whether CDI is enabled: it predates CDI, or hides it"));
	return fl_feed_put(runtime->feed, now, err);
}

static void answered(struct fl_runtime_feed *runtime, int r, const struct fl_err *err)
{
	if (r < 0) {
		failed(runtime, err);
		return;
	}
	runtime->why = (struct fl_err){ 0 };
	runtime->answered = true;
	rest(runtime, runtime->once_more ? 0 : FL_RUNTIME_EVERY);
}

/* ---- CRI-O's configuration files ---- */

static void look_run(struct fl_job *job, const struct fl_fs *fs)
{
	struct crio_look *look = fl_container(job, struct crio_look, job);

	fl_crio_conf_read(fs, look->dir, &look->conf);
}

/* Without any of its files nothing is known: they may be out of this container's sight. */
static int put_files(struct fl_runtime_feed *runtime, const struct fl_crio_conf *conf, struct fl_err *err)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	uint32_t len = conf->dir_count ? conf->dir_count : FL_LEN(crio_usual);
	struct fl_runtime now = { 0 };

	if (!conf->seen)
		return put(runtime, &now, err);
	if (!FL_ELEMENTS(&now, &arena, cdi_dirs, len))
		return fl_fail(err, FL_E_NOMEM, "no memory for the directories of CDI files");
	for (uint32_t i = 0; i < len; i++)
		now.cdi_dirs.at[i] = fl_str(conf->dir_count ? conf->dirs[i] : crio_usual[i]);
	FL_SET_TEXT(&now, dirs_from, fl_str(conf->path));
	return put(runtime, &now, err);
}

static void look_finish(struct fl_job *job, struct fl_op *op)
{
	struct crio_look *look = fl_container(job, struct crio_look, job);
	const struct fl_crio_conf *conf = &look->conf;
	struct fl_err err = { 0 };

	if (conf->error)
		fl_op_fail_sys(op, conf->error, "read '%s'", conf->path);
	else if (conf->wrong)
		fl_op_fail(op, FL_E_INVALID, "'%s' is not understood, or there are too many files or directories",
			   conf->path);
	else if (put_files(look->runtime, conf, &err) < 0)
		fl_op_fail(op, err.code, "%s", err.text);
	else
		fl_op_end(op, 0);
}

/* On failure: directories unknown, CDI on. */
static void looked(struct fl_op *op)
{
	struct fl_runtime_feed *runtime = fl_container(op, struct fl_runtime_feed, files);
	struct fl_runtime now = { 0 };
	struct fl_err err = { 0 };
	int r = 0;

	if (op->result < 0) {
		if (strcmp(runtime->files_why.text, runtime->err.text) != 0)
			fl_log(runtime->log, FL_WARN, "cannot tell where CRI-O reads CDI files (cdi_spec_dirs)",
			       FL_KV_ERR(&runtime->err));
		runtime->files_why = runtime->err;
		r = put(runtime, &now, &err);
	} else {
		runtime->files_why = (struct fl_err){ 0 };
	}
	answered(runtime, r, &err);
}

static void look_at_files(struct fl_runtime_feed *runtime)
{
	struct crio_look *look = fl_zalloc(sizeof *look);

	runtime->files = (struct fl_op){ .done = looked, .err = &runtime->err,
					 .deadline = fl_now(runtime->io) + FL_RUNTIME_DEADLINE };
	if (!look) {
		fl_op_refuse(&runtime->files, runtime->io, FL_E_NOMEM, "no memory to read CRI-O's configuration");
		return;
	}
	look->job = (struct fl_job){ .run = look_run, .finish = look_finish };
	look->runtime = runtime;
	(void)snprintf(look->dir, sizeof look->dir, "%s", runtime->crio_dir);
	fl_job_start(runtime->io, &runtime->files, &look->job, FL_LANE_FILES);
}

/* ---- its answers ---- */

static void told_status(struct fl_op *op)
{
	struct fl_runtime_feed *runtime = fl_container(op, struct fl_runtime_feed, status.op);
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_runtime now = { 0 };
	struct fl_err err = { 0 };
	int r = op->result < 0 ? -1 : read_config((const void *)runtime->status.reply, &arena, &now, &err);

	if (r == 0 && is_crio(runtime) && !now.cdi_dirs.len) {
		fl_arena_free(&runtime->status.arena);
		look_at_files(runtime);
		return;
	}
	if (r == 0)
		r = put(runtime, &now, &err);
	fl_arena_free(&runtime->status.arena);
	answered(runtime, r, op->result < 0 ? &runtime->err : &err);
}

static void call(struct fl_runtime_feed *runtime, struct fl_grpc_request *request, const struct fl_grpc_method *method,
		 const ProtobufCMessage *message, void (*done)(struct fl_op *op))
{
	*request = (struct fl_grpc_request){
		.op = { .done = done, .err = &runtime->err, .deadline = fl_now(runtime->io) + FL_RUNTIME_DEADLINE },
		.method = method, .message = message,
	};
	fl_grpc_start(runtime->client, request);
}

static void told_version(struct fl_op *op)
{
	struct fl_runtime_feed *runtime = fl_container(op, struct fl_runtime_feed, version.op);
	Runtime__V1__StatusRequest verbose = RUNTIME__V1__STATUS_REQUEST__INIT;

	if (op->result >= 0) {
		const Runtime__V1__VersionResponse *reply = (const void *)runtime->version.reply;

		(void)snprintf(runtime->runtime, sizeof runtime->runtime, "%s", reply->runtime_name);
		(void)snprintf(runtime->release, sizeof runtime->release, "%s", reply->runtime_version);
	}
	fl_arena_free(&runtime->version.arena);
	if (op->result < 0) {
		failed(runtime, &runtime->err);
		return;
	}
	verbose.verbose = true;
	call(runtime, &runtime->status, &fl_runtime_status, &verbose.base, told_status);
}

/* ---- when it is asked ---- */

static bool asking(const struct fl_runtime_feed *runtime)
{
	return fl_op_busy(&runtime->version.op) || fl_op_busy(&runtime->status.op) || fl_op_busy(&runtime->files);
}

/* The kernel tells of the socket's folder only: that is where it is made anew. */
static void socket_changed(struct fl_notify *notify, const char *name)
{
	struct fl_runtime_feed *runtime = fl_container(notify, struct fl_runtime_feed, notify);

	bool first = !name[0] && !runtime->watched;

	runtime->watched |= first;
	if (first || (name[0] && strcmp(name, runtime->name) != 0))
		return;
	if (asking(runtime))
		runtime->once_more = true;
	else
		set(runtime, ask_again, 0);
}

static void watch(struct fl_runtime_feed *runtime)
{
	const char *path = fl_runtime_socket(runtime), *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;

	if (strlen(runtime->dir) == len && strncmp(runtime->dir, path, len) == 0)
		return;
	fl_notify_stop(&runtime->notify);
	(void)snprintf(runtime->dir, sizeof runtime->dir, "%.*s", (int)len, path);
	(void)snprintf(runtime->name, sizeof runtime->name, "%s", slash ? slash + 1 : path);
	runtime->watched = false;
	runtime->notify = (struct fl_notify){ .changed = socket_changed, .dir = runtime->dir };
	fl_notify_start(runtime->io, &runtime->notify);
}

static void ask(struct fl_runtime_feed *runtime)
{
	Runtime__V1__VersionRequest version = RUNTIME__V1__VERSION_REQUEST__INIT;
	struct fl_addr addr;

	runtime->once_more = false;
	watch(runtime);
	runtime->client = fl_grpc_client_free(runtime->client);
	if (fl_addr_unix(&addr, fl_str(fl_runtime_socket(runtime)), &runtime->err) == 0)
		runtime->client = fl_grpc_client_new(runtime->io, &addr, &runtime->err);
	if (runtime->client)
		call(runtime, &runtime->version, &fl_runtime_version, &version.base, told_version);
	else
		failed(runtime, &runtime->err);
}

struct fl_runtime_feed *fl_runtime_new(struct fl_io *io, struct fl_loop *loop, const struct fl_runtime_options *options,
				       struct fl_err *err)
{
	struct fl_runtime_feed *runtime = fl_zalloc(sizeof *runtime);

	if (!runtime)
		return fl_null(err, FL_E_NOMEM, "no memory to ask the container runtime");
	runtime->io = io;
	runtime->feed = fl_loop_feed(loop, &fl_runtime_kind);
	runtime->log = options->log;
	runtime->socket = options->socket;
	runtime->cdi_dir = options->cdi_dir;
	runtime->crio_dir = options->crio_dir ? options->crio_dir : "/etc/crio";
	fl_feed_begin(runtime->feed);
	fl_feed_synced(runtime->feed);
	ask(runtime);
	return runtime;
}

struct fl_runtime_feed *fl_runtime_free(struct fl_runtime_feed *runtime)
{
	if (!runtime)
		return NULL;
	fl_op_cancel(&runtime->version.op);
	fl_op_cancel(&runtime->status.op);
	fl_op_cancel(&runtime->files);
	fl_arena_free(&runtime->version.arena);
	fl_arena_free(&runtime->status.arena);
	fl_grpc_client_free(runtime->client);
	fl_notify_stop(&runtime->notify);
	fl_timer_stop(runtime->io, &runtime->timer);
	fl_free(runtime);
	return NULL;
}
