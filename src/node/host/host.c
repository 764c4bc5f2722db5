#include "node/host/host.h"
#include "base/units.h"
#include "io/job.h"
#include "run/doing.h"
#include <stdio.h>

#define FL_HOST_SETTLE (50 * FL_NS_PER_MS)       /* udev makes the nodes of a driver one after the other: one look */
#define FL_HOST_AGAIN (5 * FL_NS_PER_S)          /* after a look that came to nothing */

/* ---- a look, in a worker ---- */

struct fl_host_look {
	struct fl_job job;
	struct fl_host_sink *sink;
	struct fl_arena *arena;                /* whoever waits for it: there as long as finish() is called */
	const struct fl_host *wanted;
	struct fl_host *ret;
	char hook[FL_HOST_PATH_MAX];
	const char *source;
	bool installed;                        /* ahead of this look */
	struct fl_hook_known hook_known;
	struct fl_err hook_err;                /* FL_OK: the hook's program is there */
	bool make_nodes;
	bool kept;                             /* by the sink, for the look that is to come */
	struct fl_err nodes_err;               /* FL_OK: no device node is missing that can be made */
	struct fl_host_scan scan;
};

struct writing {
	struct fl_doing doing;
	struct fl_host host;                   /* what was found; in the write's arena */
};

static const char *source_of(const struct fl_host_sink *sink)
{
	return sink->source ? sink->source : "/proc/self/exe";
}

static void run(struct fl_job *job, const struct fl_fs *fs)
{
	struct fl_host_look *look = fl_container(job, struct fl_host_look, job);

	fl_host_scan(fs, &look->scan);
	if (look->hook[0] && !look->installed)
		(void)!fl_hook_install(fs, look->source, look->hook, &look->hook_known, &look->hook_err);
	if (look->make_nodes && !look->scan.error)
		(void)!fl_host_make_nodes(fs, &look->scan, &look->nodes_err);
}

static int take_file(const struct fl_host_file_found *file, struct fl_arena *arena, struct fl_host_path *ret)
{
	FL_SET(ret, what, file->what);
	FL_SET(ret, path, fl_arena_str(arena, fl_str(file->path)));
	if (file->at[0])
		FL_SET(ret, at, fl_arena_str(arena, fl_str(file->at)));
	if (!ret->path.p || (file->at[0] && !ret->at.p) ||
	    (file->link_count && !FL_ELEMENTS(ret, arena, links, file->link_count)))
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < file->link_count; i++) {
		FL_SET(&ret->links.at[i], name, fl_arena_str(arena, fl_str(file->links[i].name)));
		FL_SET(&ret->links.at[i], target, fl_arena_str(arena, fl_str(file->links[i].target)));
		if (!ret->links.at[i].name.p || !ret->links.at[i].target.p)
			return -FL_E_NOMEM;
	}
	return 0;
}

static int take_files(const struct fl_host_scan *scan, struct fl_arena *arena, struct fl_host *host)
{
	struct fl_host_path *at = FL_ELEMENTS(host, arena, paths, scan->file_count);

	for (uint32_t i = 0; i < scan->file_count && at; i++)
		if (take_file(&scan->files[i], arena, &at[i]) < 0)
			return -FL_E_NOMEM;
	return at || !scan->file_count ? 0 : -FL_E_NOMEM;
}

static int take_nodes(const struct fl_host_scan *scan, struct fl_arena *arena, struct fl_host *host)
{
	struct fl_host_node *at = FL_ELEMENTS(host, arena, nodes, scan->node_count);

	for (uint32_t i = 0; i < scan->node_count && at; i++) {
		const struct fl_host_node_found *node = &scan->nodes[i];

		FL_SET(&at[i], path, fl_arena_str(arena, fl_str(node->path)));
		if (!at[i].path.p)
			return -FL_E_NOMEM;
		FL_SET(&at[i], major, (int32_t)node->major);
		FL_SET(&at[i], minor, (int32_t)node->minor);
		FL_SET(&at[i], mode, (int32_t)node->mode);
		FL_SET(&at[i], gid, (int32_t)node->gid);
	}
	return at || !scan->node_count ? 0 : -FL_E_NOMEM;
}

static int take_hook(const struct fl_host_look *look, struct fl_arena *arena, struct fl_host *host)
{
	FL_UNSET(host, hook_at);
	FL_UNSET(host, hook_message);
	if (!look->hook[0])
		return 0;
	if (look->hook_err.code)
		FL_SET(host, hook_message, fl_arena_str(arena, fl_str(look->hook_err.text)));
	else
		FL_SET(host, hook_at, fl_arena_str(arena, fl_str(look->hook)));
	return host->hook_message.p || host->hook_at.p ? 0 : -FL_E_NOMEM;
}

static int take(const struct fl_host_look *look)
{
	const struct fl_host_scan *scan = &look->scan;
	const struct fl_host *wanted = look->wanted;
	struct fl_arena *arena = look->arena;
	struct fl_host *host = look->ret;
	struct fl_str seen = fl_arena_printf(arena, "%.*s/%.*s", FL_ARG(wanted->version), FL_ARG(wanted->layout));

	*host = *wanted;
	FL_SET(FL_IN(host, meta), name, FL_S("host"));
	FL_SET(host, seen, seen);
	FL_SET(host, nodes_root, fl_arena_str(arena, fl_str(scan->nodes_root)));
	FL_SET_TEXT(host, looked, fl_arena_str(arena, fl_str(scan->looked)));
	FL_SET_TEXT(host, message, fl_arena_str(arena, fl_str(scan->message)));
	FL_UNSET(host, nodes_message);
	if (look->nodes_err.code)
		FL_SET(host, nodes_message, fl_arena_str(arena, fl_str(look->nodes_err.text)));
	if (!seen.p || !host->nodes_root.p || (scan->looked[0] && !host->looked.p) ||
	    (scan->message[0] && !host->message.p) || (look->nodes_err.code && !host->nodes_message.p))
		return -FL_E_NOMEM;
	return take_hook(look, arena, host) < 0 || take_files(scan, arena, host) < 0 ||
			       take_nodes(scan, arena, host) < 0
		       ? -FL_E_NOMEM
		       : 0;
}

static void watch(const struct fl_host_look *look);

static void cannot_read(const struct fl_host_scan *scan, struct fl_op *op)
{
	char dev[FL_HOST_PATH_MAX + 8];
	bool nodes;

	(void)snprintf(dev, sizeof dev, "%s/dev", strcmp(scan->nodes_root, "/") == 0 ? "" : scan->nodes_root);
	nodes = scan->nodes_root[0] && fl_str_starts(fl_str(scan->where), fl_str(dev));
	fl_op_fail(op, fl_code_of_errno(scan->error),
		   "cannot read '%s', where the driver's %s should be: %s: name their root by %s", scan->where,
		   nodes ? "device nodes" : "files", strerrordesc_np(scan->error),
		   nodes ? "--dev-root" : "--driver-root");
}

static void finish(struct fl_job *job, struct fl_op *op)
{
	struct fl_host_look *look = fl_container(job, struct fl_host_look, job);
	const struct fl_host_scan *scan = &look->scan;

	look->sink->hook_known = look->hook_known;
	if (scan->error) {
		cannot_read(scan, op);
	} else if (take(look) < 0) {
		fl_op_fail(op, FL_E_NOMEM, "no memory for the driver's files");
	} else {
		watch(look);
		fl_op_end(op, 0);
	}
}

static void release(struct fl_job *job)
{
	struct fl_host_look *look = fl_container(job, struct fl_host_look, job);

	if (!look->kept)
		fl_free(look);
}

static bool copy(char *to, size_t size, struct fl_str text)
{
	return (size_t)snprintf(to, size, "%.*s", FL_ARG(text)) < size;
}

/* For files under a root, of a version; NULL: `err` says why. */
static struct fl_host_look *look_new(struct fl_host_sink *sink, struct fl_str root, struct fl_str version,
				     struct fl_err *err)
{
	struct fl_host_look *look = fl_zalloc(sizeof *look);

	if (!look)
		return fl_null(err, FL_E_NOMEM, "no memory to look for the driver's files");
	look->sink = sink;
	look->scan.env = sink->env;
	if (copy(look->scan.root, sizeof look->scan.root, root) &&
	    copy(look->scan.version, sizeof look->scan.version, version) &&
	    copy(look->scan.proc, sizeof look->scan.proc, fl_str(sink->proc ? sink->proc : "/proc")) &&
	    copy(look->scan.sysfs, sizeof look->scan.sysfs, fl_str(sink->sysfs ? sink->sysfs : "/sys")))
		return look;
	(void)fl_fail(err, FL_E_TOOBIG, "the driver's root or version is too long to look for its files");
	fl_free(look);
	return NULL;
}

/* Has this been done a moment ago, ahead of the look? */
static bool still_so(const struct fl_host_sink *sink, uint64_t done_at)
{
	return fl_now(sink->io) < done_at + FL_HOST_EARLY;
}

/* The one that has the files already, where it is of use. */
static struct fl_host_look *look_ahead(struct fl_host_sink *sink, struct fl_str root, struct fl_str version)
{
	struct fl_host_look *look = fl_steal(&sink->ahead);

	if (look && still_so(sink, sink->ahead_at) && fl_str_eq(fl_str(look->scan.root), root) &&
	    fl_str_eq(fl_str(look->scan.version), version))
		return look;
	fl_free(look);
	return NULL;
}

/* `wanted`, `arena` and `ret` are borrowed until the operation is over. */
static void start_look(struct fl_host_sink *sink, struct fl_op *op, const struct fl_host *wanted,
		       struct fl_arena *arena, struct fl_host *ret)
{
	struct fl_host_look *look = look_ahead(sink, wanted->root, wanted->version);
	struct fl_err err = { 0 };

	op->deadline = fl_now(sink->io) + FL_HOST_DEADLINE;
	if (!look)
		look = look_new(sink, wanted->root, wanted->version, &err);
	if (look && copy(look->scan.dev_root, sizeof look->scan.dev_root, wanted->dev_root) &&
	    copy(look->hook, sizeof look->hook, wanted->hook)) {
		look->job = (struct fl_job){ .run = run, .finish = finish, .release = release };
		look->kept = false;
		look->make_nodes = wanted->make_nodes;
		look->source = source_of(sink);
		look->installed = look->hook[0] && strcmp(look->hook, sink->early_hook) == 0 &&
				  still_so(sink, sink->early_at);
		sink->early_hook[0] = '\0';   /* the next look looks for itself */
		look->hook_known = sink->hook_known;
		look->hook_known.now = fl_wall(sink->io);
		look->arena = arena;
		look->wanted = wanted;
		look->ret = ret;
		fl_job_start(sink->io, op, &look->job, FL_LANE_BULK);
		return;
	}
	fl_op_begin(op, sink->io, NULL);
	if (look)
		(void)fl_fail(&err, FL_E_TOOBIG, "--dev-root or --cdi-hook-path is too long to look there");
	fl_op_fail(op, err.code, "%s", err.text);
	fl_free(look);
}

/* ---- the driver's files, ahead of the look ---- */

static void run_files(struct fl_job *job, const struct fl_fs *fs)
{
	fl_host_scan_files(fs, &fl_container(job, struct fl_host_look, job)->scan);
}

static void finish_files(struct fl_job *job, struct fl_op *op)
{
	struct fl_host_look *look = fl_container(job, struct fl_host_look, job);
	struct fl_host_sink *sink = look->sink;

	fl_free(sink->ahead);
	sink->ahead = look->scan.has_files ? look : NULL;
	sink->ahead_at = fl_now(sink->io);
	look->kept = look->scan.has_files;
	fl_op_end(op, 0);
}

/* Nothing depends on it: after a failure the look, in the same lane, tries again and reports it. So it is with the
 * hook's program. */
void fl_host_files_early(struct fl_host_sink *sink, struct fl_str root, struct fl_str version)
{
	struct fl_host_look *look = fl_op_busy(&sink->files) ? NULL : look_new(sink, root, version, NULL);

	if (!look)
		return;
	look->job = (struct fl_job){ .run = run_files, .finish = finish_files, .release = release };
	sink->files = (struct fl_op){ .deadline = fl_now(sink->io) + FL_HOST_DEADLINE };
	fl_job_start(sink->io, &sink->files, &look->job, FL_LANE_BULK);
}

/* ---- the hook's program, ahead of the first look ---- */

struct early {
	struct fl_job job;
	const char *source;
	char hook[FL_HOST_PATH_MAX];
	bool installed;
};

static void run_early(struct fl_job *job, const struct fl_fs *fs)
{
	struct early *early = fl_container(job, struct early, job);
	struct fl_hook_known known = { 0 };
	struct fl_err err = { 0 };

	early->installed = fl_hook_install(fs, early->source, early->hook, &known, &err) == 0;
}

static void finish_early(struct fl_job *job, struct fl_op *op)
{
	struct fl_host_sink *sink = fl_container(op, struct fl_host_sink, early);
	const struct early *early = fl_container(job, struct early, job);

	if (early->installed)
		memcpy(sink->early_hook, early->hook, sizeof sink->early_hook);
	sink->early_at = fl_now(sink->io);
	fl_op_end(op, 0);
}

void fl_host_hook_early(struct fl_host_sink *sink, struct fl_str path)
{
	struct early *early;

	if (!path.len || fl_op_busy(&sink->early))
		return;
	early = fl_zalloc(sizeof *early);
	if (!early || !copy(early->hook, sizeof early->hook, path)) {
		fl_free(early);
		return;
	}
	early->job = (struct fl_job){ .run = run_early, .finish = finish_early };
	early->source = source_of(sink);
	sink->early = (struct fl_op){ .deadline = fl_now(sink->io) + FL_HOST_DEADLINE };
	fl_job_start(sink->io, &sink->early, &early->job, FL_LANE_BULK);
}

/* ---- the sink: look because something else is wanted ---- */

/* In place of what was found for something else: nobody should wait for what does not come in a moment. Told after the
 * write's end, for as long as it is on its way all that it wants is laid over what is told. */
static void came_to_nothing(struct writing *writing)
{
	struct fl_write *write = writing->doing.write;
	struct fl_feed *feed = fl_loop_feed(write->loop, &fl_host_kind);
	const struct fl_host *wanted = write->object;
	struct fl_err err = writing->doing.err;
	struct fl_host host = { 0 };

	if (err.code == FL_E_TIMEOUT)
		(void)fl_fail(&err, err.code, "cannot read the driver's files and device nodes: '%.*s' does not answer",
			      FL_ARG(wanted->root));
	fl_write_failed(write, &err);
	FL_SET(FL_IN(&host, meta), name, FL_S("host"));
	FL_SET(&host, message, fl_str(err.text));
	if (err.code == FL_E_NOMEM || fl_feed_put(feed, &host, NULL) < 0)
		return;   /* the next look tells */
}

static void looked(struct fl_op *op)
{
	struct writing *writing = fl_container(op, struct writing, doing.op);
	struct fl_write *write = writing->doing.write;
	struct fl_err *err = &writing->doing.err;

	if (op->result < 0)
		came_to_nothing(writing);
	else if (fl_feed_put(fl_loop_feed(write->loop, &fl_host_kind), &writing->host, err) < 0)
		fl_write_failed(write, err);   /* nobody else would ever tell of it */
	else
		fl_write_done(write, NULL);
}

static void start(void *self, struct fl_write *write)
{
	static const struct fl_err shared = { .code = FL_E_UNSUPPORTED,
					      .text = "a host has no items that are shared with others" };
	struct fl_host_sink *sink = self;
	struct writing *writing = write->held;

	fl_doing_begin(&writing->doing, write);
	sink->loop = write->loop;
	if (write->what != FL_WANT_OBJECT) {
		fl_doing_over(&writing->doing, sink->io, write->what == FL_WANT_GONE ? NULL : &shared);
		return;
	}
	writing->doing.op.done = looked;
	start_look(sink, &writing->doing.op, write->object, &write->arena, &writing->host);
}

const struct fl_sink fl_host_sink = { .start = start, .cancel = fl_doing_cancel, .room = sizeof(struct writing),
				      .retry_last = FL_LOCAL_RETRY_LAST };

/* ---- look again, because something may have come or gone ---- */

/* What was found last, if it was found for what is wanted now. Else a look is under way or about to be, and comes after
 * whatever has changed. */
static const struct fl_host *as_it_was(struct fl_host_sink *sink)
{
	struct fl_view view = fl_loop_view(sink->loop, &sink->arena);
	const struct fl_host *host = fl_view_get(&view, &fl_host_kind, FL_S(""), FL_S("host"));
	struct fl_str seen = host ? fl_arena_printf(&sink->arena, "%.*s/%.*s", FL_ARG(host->version),
						    FL_ARG(host->layout))
				  : FL_S("");

	return host && seen.p && fl_str_eq(host->seen, seen) ? host : NULL;
}

/* Jobs of a lane end in the order of their start, so a look that somebody wants meanwhile comes after this one, and
 * what it wants is laid over what this one tells. When nothing came of it, what was found before stays. */
static void looked_again(struct fl_op *op)
{
	struct fl_host_sink *sink = fl_container(op, struct fl_host_sink, op);

	if (op->result < 0 || fl_feed_put(fl_loop_feed(sink->loop, &fl_host_kind), sink->found, NULL) < 0)
		fl_timer_set(sink->io, &sink->timer, fl_now(sink->io) + FL_HOST_AGAIN);
	fl_arena_free(&sink->arena);
}

static void look_again(struct fl_timer *timer)
{
	struct fl_host_sink *sink = fl_container(timer, struct fl_host_sink, timer);
	const struct fl_host *host;

	if (fl_op_busy(&sink->op)) {
		fl_timer_set(sink->io, timer, fl_now(sink->io) + FL_HOST_SETTLE);
		return;
	}
	host = as_it_was(sink);
	sink->found = fl_arena_get(&sink->arena, sizeof *sink->found);
	if (!host || !sink->found) {
		fl_arena_free(&sink->arena);
		fl_timer_set(sink->io, timer, fl_now(sink->io) + FL_HOST_AGAIN);
		return;
	}
	sink->op = (struct fl_op){ .done = looked_again, .err = &sink->err };
	start_look(sink, &sink->op, host, &sink->arena, sink->found);
}

static void hint(struct fl_notify *notify, const char *name)
{
	struct fl_host_dir *dir = fl_container(notify, struct fl_host_dir, notify);
	uint64_t at = fl_now(dir->sink->io) + FL_HOST_SETTLE;
	bool ours = !name[0];

	for (const char *const *begin = dir->place->names; *begin; begin++)
		ours |= strncmp(name, *begin, strlen(*begin)) == 0;
	if (ours && (!fl_timer_is_set(&dir->sink->timer) || dir->sink->timer.at > at))
		fl_timer_set(dir->sink->io, &dir->sink->timer, at);
}

static void watch_dir(struct fl_host_sink *sink, struct fl_host_dir *dir, const struct fl_host_place *place,
		      const char *path)
{
	if (strcmp(path, dir->path) == 0)
		return;
	fl_notify_stop(&dir->notify);
	(void)snprintf(dir->path, sizeof dir->path, "%s", path);
	dir->sink = sink;
	dir->place = place;
	dir->notify.changed = hint;
	dir->notify.dir = dir->path;
	if (path[0])
		fl_notify_start(sink->io, &dir->notify);
}

/* Containers do not start while the file names a program that is not there: one that is removed or replaced is put back
 * at once, and so it is when a file of somebody else has gone from its place. */
static void watch_hook(const struct fl_host_look *look)
{
	struct fl_host_sink *sink = look->sink;
	bool there = look->hook[0] && (!look->hook_err.code || look->hook_err.code == FL_E_EXISTS);
	const char *slash = strrchr(look->hook, '/');
	char path[FL_HOST_PATH_MAX] = "";

	if (there && slash) {
		memcpy(sink->hook, look->hook, sizeof sink->hook);
		sink->hook_place.names[0] = sink->hook + (slash + 1 - look->hook);
		(void)snprintf(path, sizeof path, "%.*s", slash == look->hook ? 1 : (int)(slash - look->hook),
			       look->hook);
	}
	watch_dir(sink, &sink->dirs[FL_HOST_PLACES], &sink->hook_place, path);
}

/* The directories that there are, and no others: one that is not there would be looked for by the clock. */
static void watch(const struct fl_host_look *look)
{
	const struct fl_host_scan *scan = &look->scan;
	struct fl_host_sink *sink = look->sink;

	sink->timer.fire = look_again;
	if (!fl_timer_is_set(&sink->timer))
		fl_timer_set(sink->io, &sink->timer,
			     fl_now(sink->io) + fl_round_in(fl_now(sink->io), FL_HOST_POLL));
	for (uint32_t i = 0; i < FL_HOST_PLACES; i++) {
		const struct fl_host_place *place = &fl_host_places[i];
		char path[sizeof sink->dirs[i].path];

		if (!(scan->places >> i & 1) ||
		    !fl_root_join(path, sizeof path, place->dev ? scan->nodes_root : scan->root, place->dir))
			path[0] = '\0';
		watch_dir(sink, &sink->dirs[i], place, path);
	}
	watch_hook(look);
}

void fl_host_stop(struct fl_host_sink *sink)
{
	fl_op_cancel(&sink->early);
	fl_op_cancel(&sink->files);
	fl_free(fl_steal(&sink->ahead));
	if (!sink->loop)
		return;
	for (uint32_t i = 0; i < FL_LEN(sink->dirs); i++)
		fl_notify_stop(&sink->dirs[i].notify);
	fl_timer_stop(sink->io, &sink->timer);
	fl_op_cancel(&sink->op);
	fl_arena_free(&sink->arena);
	sink->loop = NULL;
}
