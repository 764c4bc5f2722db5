/* A directory as a sink. A try is up to two jobs, one after the other in the lane of files: the sweep that goes before
 * the first one, and the file's replacement or end. A write is a try, or two where the directory has gone since it was
 * swept: the second one's sweep makes it. */
#include "run/files_sink.h"
#include "io/file.h"
#include "io/job.h"
#include "run/folder.h"
#include <errno.h>

struct writing {
	struct fl_files_sink *sink;
	struct fl_write *write;
	struct fl_err err;
	bool sweeps;                   /* in this try */
	struct fl_op sweep, remove;
	struct fl_file_replace replace;
};

static void try(struct writing *writing);

/* ---- taking files away, as a job ---- */

struct removal {
	struct fl_job job;
	bool sweep;                    /* what a crash left; else the one file */
	bool make;                     /* the directory, where it is not there */
	char *dir, *name;              /* for a sweep the name is the suffix */
	char bytes[];
};

/* ".NAME<suffix>.0123456789abcdef.tmp": see fl_file_replace. */
static bool is_leftover(const char *name, struct fl_str suffix)
{
	static const struct fl_str end = FL_S_INIT(".0123456789abcdef.tmp");
	struct fl_str whole = fl_str(name), tail;

	if (name[0] != '.' || whole.len <= 1 + suffix.len + end.len)
		return false;
	tail = fl_str_sub(whole, whole.len - end.len, end.len);
	return tail.p[0] == '.' && strspn(tail.p + 1, "0123456789abcdef") == 16 && strcmp(tail.p + 17, ".tmp") == 0 &&
	       fl_str_ends(fl_str_sub(whole, 0, whole.len - end.len), suffix);
}

static void sweep_in(struct removal *removal, const struct fl_fs *fs, int dir)
{
	char buf[2048];
	int64_t len;
	int r = 0;

	while ((len = fs->list(fs, dir, buf, sizeof buf)) > 0) {
		const char *name;
		size_t at = 0;

		while ((name = fl_list_next(buf, (size_t)len, &at, NULL)))
			if (is_leftover(name, fl_str(removal->name)))
				r |= fs->unlink(fs, dir, name, 0);
	}
	removal->job.what = "sweep";
	removal->job.result = len < 0 ? len : r < 0 ? -EIO : 0;
}

static void remove_in(struct removal *removal, const struct fl_fs *fs, int dir)
{
	int r = fs->unlink(fs, dir, removal->name, 0);

	removal->job.what = "remove";
	if (r == 0) {
		r = fs->fsync(fs, dir);
		removal->job.what = "sync its directory";
	}
	removal->job.result = r == -ENOENT ? 0 : r;
}

static void run(struct fl_job *job, const struct fl_fs *fs)
{
	struct removal *removal = fl_container(job, struct removal, job);
	int dir = fs->open(fs, AT_FDCWD, removal->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

	if (dir == -ENOENT && removal->make) {
		job->what = "make the directory";
		job->result = fs->mkdir(fs, AT_FDCWD, removal->dir, 0755);
		return;
	}
	job->what = "open its directory";
	job->result = dir == -ENOENT ? 0 : dir;   /* without the directory the file is gone too */
	if (dir < 0)
		return;
	if (removal->sweep)
		sweep_in(removal, fs, dir);
	else
		remove_in(removal, fs, dir);
	fs->close(fs, dir);
}

static void finish(struct fl_job *job, struct fl_op *op)
{
	struct removal *removal = fl_container(job, struct removal, job);

	if (job->result < 0)
		fl_op_fail_sys(op, (int)-job->result, "remove '%s/%s': %s", removal->dir, removal->name, job->what);
	else
		fl_op_end(op, 0);
}

static void start_removal(const struct fl_files_sink *sink, struct fl_op *op, bool sweep, const char *name)
{
	size_t dir_size = strlen(sink->dir) + 1, name_size = strlen(name) + 1;
	struct removal *removal = fl_zalloc(sizeof *removal + dir_size + name_size);

	op->deadline = fl_now(sink->io) + FL_FILE_TIMEOUT;
	if (!removal) {
		fl_op_refuse(op, sink->io, FL_E_NOMEM, "no memory to remove a file");
		return;
	}
	removal->job = (struct fl_job){ .run = run, .finish = finish };
	removal->sweep = sweep;
	removal->make = sweep && sink->make;
	removal->dir = removal->bytes;
	removal->name = removal->bytes + dir_size;
	memcpy(removal->dir, sink->dir, dir_size);
	memcpy(removal->name, name, name_size);
	fl_job_start(sink->io, op, &removal->job, FL_LANE_FILES);
}

/* ---- a write ---- */

static void end_writing(struct writing *writing, int64_t result)
{
	const struct fl_files_sink *sink = writing->sink;

	fl_op_cancel(&writing->sweep);   /* nobody waits for it; it goes on */
	if (sink->tried)
		sink->tried(sink->arg, writing->write, result < 0 ? &writing->err : NULL);
	if (result < 0)
		fl_write_failed(writing->write, &writing->err);
	else if (writing->write->what == FL_WANT_GONE)
		fl_write_gone(writing->write);
	else
		fl_write_done(writing->write, sink->written ? sink->written(sink->arg, writing->write) : NULL);
}

static void replaced(struct fl_op *op)
{
	struct writing *writing = fl_container(op, struct writing, replace.op);
	struct fl_files_sink *sink = writing->sink;

	if (op->result < 0)
		sink->swept = false;   /* it has left something, or the directory is gone */
	if (op->result < 0 && writing->err.sys == ENOENT && sink->make && !writing->sweeps)
		try(writing);
	else
		end_writing(writing, op->result);
}

static void removed(struct fl_op *op)
{
	end_writing(fl_container(op, struct writing, remove), op->result);
}

/* A sweep that fails is no reason not to write: it comes again before the next one. */
static void swept(struct fl_op *op)
{
	fl_container(op, struct writing, sweep)->sink->swept = op->result >= 0;
}

static int put_together(struct fl_files_sink *sink, struct writing *writing, const char *name, struct fl_buf *out,
			struct fl_err *err)
{
	struct fl_write *write = writing->write;
	struct fl_str path = fl_arena_printf(&write->arena, "%s/%s", sink->dir, name);

	if (!path.p)
		return fl_fail(err, FL_E_NOMEM, "no memory to write '%s'", name);
	if (sink->print(sink->arg, write->object, out, err) < 0)
		return fl_wrap(err, "'%s'", path.p);
	writing->replace.path = path.p;
	writing->replace.content = fl_buf_view(out);
	writing->replace.mode = sink->mode;
	return fl_buf_check(out, path.p, err);
}

static void replace(struct fl_files_sink *sink, struct writing *writing, const char *name)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_FOLDER_FILE_MAX);
	struct fl_err err = { .code = FL_E_INVALID };

	writing->replace.op.deadline = fl_now(sink->io) + FL_FILE_TIMEOUT;
	if (put_together(sink, writing, name, &out, &err) < 0)
		fl_op_refuse(&writing->replace.op, sink->io, err.code, "%s", err.text);
	else
		fl_file_replace(sink->io, &writing->replace);
}

/* Nothing but a name in this very directory; one that begins with a dot would be hidden from a folder. */
static int check(const struct fl_files_sink *sink, struct fl_write *write, struct fl_err *err)
{
	struct fl_str name = write->ref.name;

	if (!name.len || name.p[0] == '.' || fl_str_find(name, '/') >= 0 || fl_str_find(name, '\0') >= 0)
		return fl_fail(err, FL_E_INVALID, "'%.*s' is not the name of a file in '%s'", FL_ARG(name), sink->dir);
	if (write->what != FL_WANT_OBJECT && write->what != FL_WANT_GONE)
		return fl_fail(err, FL_E_UNSUPPORTED, "a file has no items that are shared with others");
	if (!fl_write_may(write))
		return fl_fail(err, FL_E_DENIED, "another replica leads");
	return 0;
}

static void try(struct writing *writing)
{
	struct fl_files_sink *sink = writing->sink;
	struct fl_write *write = writing->write;
	const char *suffix = sink->suffix ? sink->suffix : "";
	struct fl_str name = fl_arena_printf(&write->arena, "%.*s%s", FL_ARG(write->ref.name), suffix);
	struct fl_err err = { .code = FL_E_NOMEM, .text = "no memory for the name of a file" };

	if (!name.p || check(sink, write, &err) < 0) {
		fl_op_refuse(&writing->remove, sink->io, err.code, "%s", err.text);
		return;
	}
	writing->sweeps = !sink->swept;
	if (writing->sweeps)
		start_removal(sink, &writing->sweep, true, suffix);
	if (write->what == FL_WANT_GONE)
		start_removal(sink, &writing->remove, false, name.p);
	else
		replace(sink, writing, name.p);
}

static void start_file(void *self, struct fl_write *write)
{
	struct writing *writing = write->held;

	*writing = (struct writing){ .sink = self, .write = write };
	writing->sweep = (struct fl_op){ .done = swept };
	writing->remove = (struct fl_op){ .done = removed, .err = &writing->err };
	writing->replace.op = (struct fl_op){ .done = replaced, .err = &writing->err };
	try(writing);
}

static void cancel_file(void *self, struct fl_write *write)
{
	struct writing *writing = write->held;

	(void)self;
	fl_op_cancel(&writing->sweep);
	fl_op_cancel(&writing->remove);
	fl_op_cancel(&writing->replace.op);
}

const struct fl_sink fl_files_sink = { .start = start_file, .cancel = cancel_file, .room = sizeof(struct writing),
				      .retry_last = FL_LOCAL_RETRY_LAST };
