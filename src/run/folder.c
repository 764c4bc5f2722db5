/* A directory as a feeder. One thing at a time is on its way: a list of names, or one file. */
#include "run/folder.h"
#include "base/log.h"
#include "io/job.h"
#include "run/loop_in.h"
#include <dirent.h>
#include <errno.h>

#define FL_FOLDER_NAMES_FIRST (4 * FL_KIB)    /* what is read of names at once: some hundred */
#define FL_FOLDER_NAMES_MAX (256 * FL_KIB)    /* all names: thousands, and a leak of files is told and not followed */
#define FL_FOLDER_HINTS_MAX (4 * FL_KIB)      /* names of changed files that wait; beyond, all are read */

/* ---- the names in a directory, as a job ---- */

/* Run again and again, with a larger buffer each time, as a worker does not allocate. */
struct list_job {
	struct fl_job job;
	int fd;               /* -1: not open yet */
	bool missing;         /* there is no such directory */
	char *bytes;
	size_t len, cap;
	char dir[];
};

static int64_t list_some(struct list_job *list, const struct fl_fs *fs)
{
	if (list->fd < 0) {
		int fd = fs->open(fs, AT_FDCWD, list->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

		list->missing = fd == -ENOENT;
		if (fd < 0)
			return list->missing ? 0 : fd;
		list->fd = fd;
	}
	while (list->cap - list->len >= FL_LIST_MIN) {
		int64_t n = fs->list(fs, list->fd, list->bytes + list->len, list->cap - list->len);

		if (n <= 0)
			return n;
		list->len += (size_t)n;
	}
	return -ENOBUFS;
}

static void list_run(struct fl_job *job, const struct fl_fs *fs)
{
	struct list_job *list = fl_container(job, struct list_job, job);

	job->result = list_some(list, fs);
	if (job->result != -ENOBUFS && list->fd >= 0) {
		fs->close(fs, list->fd);
		list->fd = -1;
	}
}

static void list_finish(struct fl_job *job, struct fl_op *op)
{
	struct list_job *list = fl_container(job, struct list_job, job);
	struct fl_folder *folder = fl_container(op, struct fl_folder, list);
	char *bytes;

	if (job->result == -ENOBUFS && list->cap >= FL_FOLDER_NAMES_MAX) {
		fl_op_fail(op, FL_E_TOOBIG, "list '%s': its names take more than %zu bytes; move some files away",
			   list->dir, (size_t)FL_FOLDER_NAMES_MAX);
	} else if (job->result == -ENOBUFS) {
		bytes = fl_realloc(list->bytes, list->cap * 2);
		if (!bytes) {
			fl_op_fail(op, FL_E_NOMEM, "list '%s'", list->dir);
			return;
		}
		list->bytes = bytes;
		list->cap *= 2;
		fl_job_again(job);
	} else if (job->result < 0) {
		fl_op_fail_sys(op, (int)-job->result, "list '%s'", list->dir);
	} else {
		fl_buf_free(&folder->names);
		folder->names.p = fl_steal(&list->bytes);
		folder->names.len = list->len;
		folder->names.cap = list->cap;
		folder->missing = list->missing;
		fl_op_end(op, 0);
	}
}

static void list_release(struct fl_job *job)
{
	struct list_job *list = fl_container(job, struct list_job, job);

	fl_close(job->io, list->fd);
	fl_free(list->bytes);
	fl_free(list);
}

static void listed(struct fl_op *op);

static void start_list(struct fl_folder *folder)
{
	size_t dir = strlen(folder->dir) + 1;
	struct list_job *list = fl_zalloc(sizeof *list + dir);

	folder->list = (struct fl_op){ .done = listed, .deadline = fl_now(folder->io) + FL_FILE_TIMEOUT,
				       .err = &folder->failed };
	if (!list || !(list->bytes = fl_alloc(FL_FOLDER_NAMES_FIRST))) {
		fl_free(list);
		fl_op_refuse(&folder->list, folder->io, FL_E_NOMEM, "list '%s'", folder->dir);
		return;
	}
	list->job = (struct fl_job){ .run = list_run, .finish = list_finish, .release = list_release };
	list->fd = -1;
	list->cap = FL_FOLDER_NAMES_FIRST;
	memcpy(list->dir, folder->dir, dir);
	fl_job_start(folder->io, &folder->list, &list->job, FL_LANE_FILES);
}

/* ---- from a file to an object ---- */

/* The object's name; .p NULL: the file is none of ours. */
static struct fl_str object_name(const struct fl_folder *folder, const char *name)
{
	struct fl_str whole = fl_str(name), suffix = fl_str(folder->suffix);

	if (name[0] != '.' && folder->also && fl_str_ends(whole, fl_str(folder->also)))
		return whole;
	if (name[0] == '.' || whole.len <= suffix.len || !fl_str_ends(whole, suffix))
		return (struct fl_str){ NULL, 0 };
	if (folder->only && !fl_str_eq(whole, fl_str(folder->only)))
		return (struct fl_str){ NULL, 0 };
	return fl_str_sub(whole, 0, whole.len - suffix.len);
}

static int put_file(struct fl_folder *folder, struct fl_str name, const struct fl_folder_file *file, struct fl_err *err)
{
	struct fl_arena *arena = &folder->feed->loop->feeding;
	void *object = fl_arena_get(arena, folder->feed->source.kind->root()->size);
	int r = -FL_E_NOMEM;

	if (object) {
		run_set_names(folder->feed, object, FL_S(""), name);
		r = folder->parse(folder->arg, file, arena, object, err);
	} else {
		(void)fl_fail(err, FL_E_NOMEM, "no memory for '%s'", folder->path);
	}
	if (r > 0)
		r = fl_feed_put(folder->feed, object, err);
	else if (r == 0)
		fl_feed_gone(folder->feed, FL_S(""), name);
	fl_arena_reset(arena);
	return r;
}

/* Does it fail for now, and say nothing of the file itself? */
static bool is_for_now(int64_t result)
{
	return result == -FL_E_NOMEM || result == -FL_E_TIMEOUT || result == -FL_E_RETRY || result == -FL_E_AGAIN;
}

static void miss(struct fl_folder *folder, const struct fl_err *why)
{
	folder->missed = true;
	folder->why = *why;
}

/* What came of the file. `result` as that of fl_file_read, with its words in `failed`. */
static void take_in(struct fl_folder *folder, int64_t result)
{
	struct fl_str name = object_name(folder, folder->name);
	struct fl_folder_file file = { fl_str(folder->name), fl_buf_view(&folder->content), NULL };
	struct fl_err cause = folder->failed, err = { 0 };
	int r = (int)(result < 0 ? result : 0);

	if (r == -FL_E_NOTFOUND || (r < 0 && cause.sys == EISDIR)) {
		fl_feed_gone(folder->feed, FL_S(""), name);
		return;
	}
	if (r == 0)
		r = put_file(folder, name, &file, &cause);
	if (r < 0 && !is_for_now(r)) {
		file = (struct fl_folder_file){ file.name, FL_S(""), &cause };
		r = put_file(folder, name, &file, &err);
		cause = r < 0 ? err : cause;
	}
	if (r < 0)
		miss(folder, &cause);
}

/* ---- one after the other ---- */

static void go_on(struct fl_folder *folder);

static void have_read(struct fl_op *op)
{
	struct fl_folder *folder = fl_container(op, struct fl_folder, read.op);

	fl_io_name(folder->io, "folder");
	take_in(folder, op->result);
	if (op->result == -FL_E_TIMEOUT) {   /* the others would wait as long each */
		folder->looking = false;
		fl_buf_clear(&folder->hints);
	}
	go_on(folder);
}

/* False: the name is none of ours. */
static bool start_read(struct fl_folder *folder, const char *name)
{
	size_t len = strlen(name) + 1;

	if (!object_name(folder, name).p)
		return false;
	if (len > sizeof folder->path - (size_t)(folder->name - folder->path)) {
		miss(folder, &(struct fl_err){ .code = FL_E_TOOBIG, .text = "the directory's path is too long" });
		return false;
	}
	memcpy(folder->name, name, len);
	folder->read = (struct fl_file_read){
		.op = { .done = have_read, .deadline = fl_now(folder->io) + FL_FILE_TIMEOUT, .err = &folder->failed },
		.path = folder->path, .into = &folder->content,
	};
	fl_file_read(folder->io, &folder->read);
	return true;
}

static bool read_listed(struct fl_folder *folder)
{
	unsigned char type;
	const char *name;

	while ((name = fl_list_next(folder->names.p, folder->names.len, &folder->at, &type)))
		if ((type == DT_REG || type == DT_LNK || type == DT_UNKNOWN) && start_read(folder, name))
			return true;
	return false;
}

static bool read_hinted(struct fl_folder *folder)
{
	while (folder->hints.len) {
		char name[FL_NAME_MAX + 1];
		size_t len = strlen(folder->hints.p) + 1;

		memcpy(name, folder->hints.p, len);
		fl_buf_drop(&folder->hints, len);
		if (start_read(folder, name))
			return true;
	}
	return false;
}

/* An object of its own, which goes when a look finds the directory. */
static void say_missing(struct fl_folder *folder)
{
	struct fl_err why = { 0 }, err = { 0 };
	struct fl_folder_file file = { FL_S("."), FL_S(""), &why };

	(void)fl_fail(&why, FL_E_NOTFOUND, "there is no directory '%s'", folder->dir);
	if (put_file(folder, file.name, &file, &err) < 0)
		miss(folder, &err);
}

static void listed(struct fl_op *op)
{
	struct fl_folder *folder = fl_container(op, struct fl_folder, list);

	if (op->result < 0) {
		miss(folder, &folder->failed);
	} else {
		folder->looking = true;
		folder->at = 0;
		fl_feed_begin(folder->feed);
		if (folder->missing && folder->tell_missing)
			say_missing(folder);
	}
	go_on(folder);
}

static void end_look(struct fl_folder *folder)
{
	folder->looking = false;
	fl_buf_free(&folder->names);
	if (!folder->missed)
		fl_feed_synced(folder->feed);
}

/* Nothing is due any more: by the clock, then. A hint that was followed does not put off what had been set. */
static void rest(struct fl_folder *folder)
{
	uint64_t now = fl_now(folder->io);
	uint64_t delay = folder->missed ? folder->delay : fl_round_in(now, FL_FOLDER_POLL), at = now + delay;

	fl_buf_free(&folder->content);
	if (fl_timer_is_set(&folder->timer) && folder->timer.at <= at)
		return;
	fl_timer_set(folder->io, &folder->timer, at);
	folder->delay = FL_RUN_RETRY_FIRST;
	if (folder->missed) {
		folder->delay = delay * 2 < FL_FOLDER_POLL ? delay * 2 : FL_FOLDER_POLL;
		fl_log(folder->feed->loop->options.log, FL_WARN, "directory not readable, will retry",
		       FL_KV_TEXT("directory", folder->dir), FL_KV_DURATION("in", (int64_t)delay),
		       FL_KV_ERR(&folder->why), FL_KV_TEXT("remedy", folder->remedy ? folder->remedy : ""));
	} else {
		folder->why = (struct fl_err){ .code = FL_OK };
	}
	if (folder->looked)
		folder->looked(folder->arg, &folder->why);
}

static void go_on(struct fl_folder *folder)
{
	if (fl_op_busy(&folder->list) || fl_op_busy(&folder->read.op))
		return;
	if (folder->looking && read_listed(folder))
		return;
	if (folder->looking)
		end_look(folder);
	if (folder->look) {
		folder->look = folder->missed = false;
		folder->began = true;
		fl_timer_stop(folder->io, &folder->timer);
		fl_buf_clear(&folder->hints);
		start_list(folder);
	} else if (!read_hinted(folder)) {
		rest(folder);
	}
}

static void look_at_all(struct fl_folder *folder)
{
	folder->look = true;
	go_on(folder);
}

static void folder_due(struct fl_timer *timer)
{
	look_at_all(fl_container(timer, struct fl_folder, timer));
}

static bool is_hinted(const struct fl_folder *folder, const char *name)
{
	for (size_t at = 0; at < folder->hints.len; at += strlen(folder->hints.p + at) + 1)
		if (strcmp(folder->hints.p + at, name) == 0)
			return true;
	return false;
}

/* The first change sets the time and later ones do not put it off: what never rests is followed too. */
static void look_when_settled(struct fl_folder *folder)
{
	uint64_t at = fl_now(folder->io) + folder->settle;

	if (!fl_timer_is_set(&folder->timer) || folder->timer.at > at)
		fl_timer_set(folder->io, &folder->timer, at);
}

/* More hints than find room, or none that tells a name, are one look at everything. */
static void changed(struct fl_notify *notify, const char *name)
{
	struct fl_folder *folder = fl_container(notify, struct fl_folder, notify);
	bool all = !name[0] || strcmp(name, "..data") == 0;   /* which all files of a projected volume lead through */

	if (!all && (!object_name(folder, name).p || is_hinted(folder, name)))
		return;
	if (folder->settle && folder->began) {
		look_when_settled(folder);
		return;
	}
	if (!all)
		fl_buf_put(&folder->hints, name, strlen(name) + 1);
	if (all || folder->hints.failed)
		look_at_all(folder);
	else
		go_on(folder);
}

/* ---- start and stop ---- */

void fl_folder_start(struct fl_io *io, struct fl_folder *folder, struct fl_feed *feed)
{
	size_t dir = strlen(folder->dir);

	folder->io = io;
	folder->feed = feed;
	folder->names = FL_BUF(FL_FOLDER_NAMES_MAX);
	folder->hints = FL_BUF(FL_FOLDER_HINTS_MAX);
	folder->content = FL_BUF(folder->max ? folder->max : FL_FOLDER_FILE_MAX);
	folder->timer = (struct fl_timer){ .fire = folder_due };
	folder->delay = FL_RUN_RETRY_FIRST;
	folder->began = folder->look = folder->looking = false;
	folder->why = (struct fl_err){ .code = FL_E_RETRY, .text = "not read yet" };
	if (dir > sizeof folder->path - 2)
		dir = sizeof folder->path - 2;   /* start_read says so of each name */
	memcpy(folder->path, folder->dir, dir);
	folder->path[dir] = '/';
	folder->name = folder->path + dir + 1;
	folder->notify = (struct fl_notify){ .changed = changed, .dir = folder->dir,
					     .rare = folder->optional ? FL_FOLDER_POLL : 0 };
	fl_notify_start(io, &folder->notify);
}

void fl_folder_stop(struct fl_folder *folder)
{
	if (!folder->io)
		return;
	fl_notify_stop(&folder->notify);
	fl_op_cancel(&folder->list);
	fl_op_cancel(&folder->read.op);
	fl_timer_stop(folder->io, &folder->timer);
	fl_buf_free(&folder->names);
	fl_buf_free(&folder->hints);
	fl_buf_free(&folder->content);
	folder->io = NULL;
}
