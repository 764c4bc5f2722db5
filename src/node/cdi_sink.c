/* What cannot be written is said: of each CDI file that could not be, why, and what to do. All that a disk has nothing
 * to say about (the directory that is not there yet, what a crash left, a file that goes) is fl_files_sink's. */
#include "base/limits.h"
#include "base/log.h"
#include "io/file.h"
#include "node/cdi.h"
#include <errno.h>

/* Lies behind what fl_files_sink has of a write. */
struct writing {
	struct fl_cdi_dir *cdi;
	struct fl_write *write;
	struct fl_err err;
	struct fl_file_replace replace;
};

static size_t inner_room(void)
{
	return (fl_files_sink.room + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
}

static struct writing *writing_of(struct fl_write *write)
{
	return (struct writing *)(void *)((char *)write->held + inner_room());
}

/* ---- what is said ---- */

static const struct fl_cdi_trouble *find(struct fl_view *view, struct fl_str name)
{
	return fl_view_get(view, &fl_cdi_trouble_kind, FL_S(""), name);
}

static const char *remedy(const struct fl_err *err)
{
	switch (err->sys) {
	case EROFS: return "mount it so that it can be written";
	case ENOSPC:
	case EDQUOT: return "make room there";
	case EISDIR: return "take away what lies there";
	case EACCES:
	case EPERM: return "let the agent write there";
	case ENOENT:
	case ENOTDIR: return "make the directory, or name another one (--cdi-dir)";
	default: return "look at that disk and the kernel's log";
	}
}

/* Nobody has tried for a while: the file is not wanted any more. */
static void stale(struct fl_timer *timer)
{
	struct fl_cdi_dir *cdi = fl_container(timer, struct fl_cdi_dir, stale);
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(cdi->loop, &arena);
	struct fl_each each = fl_view_all(&view, &fl_cdi_trouble_kind);
	const struct fl_cdi_trouble *trouble = fl_each_next(&each);
	struct fl_str name = trouble ? fl_arena_str(&arena, trouble->meta.name) : FL_S("");

	if (view.failed || !name.p)
		fl_timer_set(cdi->io, timer, fl_now(cdi->io) + FL_RUN_RETRY_FIRST);
	else if (trouble) {
		fl_feed_gone(cdi->trouble, FL_S(""), name);
		fl_timer_set(cdi->io, timer, 0);   /* the next one */
	}
}

/* Once for each change: who tries again and fails as before says nothing new. What finds no memory is said the next
 * time. */
static void say_trouble(struct fl_cdi_dir *cdi, struct writing *writing)
{
	struct fl_view view = fl_loop_view(cdi->loop, &writing->write->arena);
	const struct fl_cdi_trouble *old = find(&view, writing->write->ref.name);
	struct fl_cdi_trouble trouble = { 0 };
	struct fl_str why = fl_arena_printf(&writing->write->arena, "%s: %s", writing->err.text,
					    remedy(&writing->err));

	cdi->stale.fire = stale;
	fl_timer_set(cdi->io, &cdi->stale, fl_now(cdi->io) + FL_CDI_TROUBLE_STALE);
	if (view.failed || !why.p || writing->err.code == FL_E_NOMEM || (old && fl_str_eq(old->why, why)))
		return;
	FL_SET(FL_IN(&trouble, meta), name, writing->write->ref.name);
	FL_SET(&trouble, why, why);
	if (fl_feed_put(cdi->trouble, &trouble, NULL) < 0)
		return;
	fl_log(cdi->log, FL_ERROR, "a CDI file cannot be written, will try again", FL_KV_ERR(&writing->err),
	       FL_KV_TEXT("remedy", remedy(&writing->err)));
}

void fl_cdi_trouble_over(struct fl_cdi_dir *cdi, struct fl_write *write)
{
	struct fl_view view;

	cdi->made = false;
	if (!cdi->io)
		return;
	view = fl_loop_view(cdi->loop, &write->arena);
	if (!find(&view, write->ref.name) && !view.failed)
		return;
	fl_log(cdi->log, FL_INFO, "a CDI file is as it should be again", FL_KV_STR("name", write->ref.name));
	fl_feed_gone(cdi->trouble, FL_S(""), write->ref.name);
}

/* ---- a write ---- */

/* It makes the directory, and sweeps it. */
static void the_long_way(struct fl_cdi_dir *cdi, struct fl_write *write)
{
	cdi->begun = true;
	cdi->files.swept = false;
	fl_files_sink.start(&cdi->files, write);
}

static void replaced(struct fl_op *op)
{
	struct writing *writing = fl_container(op, struct writing, replace.op);
	struct fl_cdi_dir *cdi = writing->cdi;

	if (op->result >= 0) {
		fl_write_done(writing->write, cdi->files.written(cdi, writing->write));
		return;
	}
	if (writing->err.sys == ENOENT && !cdi->made) {
		cdi->made = true;
		the_long_way(cdi, writing->write);
		return;
	}
	cdi->made = false;
	say_trouble(cdi, writing);
	fl_write_failed(writing->write, &writing->err);
}

/* False: somebody else knows what to say of it. */
static bool prepare(struct fl_cdi_dir *cdi, struct fl_write *write, struct fl_buf *out)
{
	struct writing *writing = writing_of(write);
	struct fl_str name = write->ref.name, path;

	if (!name.len || name.p[0] == '.' || fl_str_find(name, '/') >= 0 || fl_str_find(name, '\0') >= 0)
		return false;
	*writing = (struct writing){ .cdi = cdi, .write = write };
	path = fl_arena_printf(&write->arena, "%s/%.*s%s", cdi->dir, FL_ARG(name), cdi->files.suffix);
	if (!path.p || cdi->files.print(cdi, write->object, out, NULL) < 0 || !fl_write_may(write))
		return false;
	writing->replace.op = (struct fl_op){ .done = replaced, .err = &writing->err,
					      .deadline = fl_now(cdi->io) + FL_FILE_TIMEOUT };
	writing->replace.path = path.p;
	writing->replace.content = fl_buf_view(out);
	writing->replace.mode = cdi->files.mode;
	return true;
}

static void start(void *self, struct fl_write *write)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_FOLDER_FILE_MAX);
	struct fl_cdi_dir *cdi = self;

	if (write->what == FL_WANT_GONE)
		fl_cdi_trouble_over(cdi, write);
	if (write->what == FL_WANT_OBJECT && cdi->begun && cdi->io && prepare(cdi, write, &out))
		fl_file_replace(cdi->io, &writing_of(write)->replace);
	else if (write->what == FL_WANT_OBJECT)
		the_long_way(cdi, write);
	else
		fl_files_sink.start(&cdi->files, write);
}

static void cancel(void *self, struct fl_write *write)
{
	struct fl_cdi_dir *cdi = self;

	fl_op_cancel(&writing_of(write)->replace.op);
	fl_files_sink.cancel(&cdi->files, write);
}

void fl_cdi_sink_init(struct fl_cdi_dir *cdi)
{
	cdi->sink = (struct fl_sink){ .start = start, .cancel = cancel,
				      .room = inner_room() + sizeof(struct writing),
				      .retry_last = fl_files_sink.retry_last };
}
