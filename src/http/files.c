#include "http/files.h"
#include "base/hmap.h"
#include "base/units.h"
#include "http/tls_prepare.h"
#include "io/io.h"

#define FL_FILES_TEXT_MAX (256 * FL_KIB)            /* a CA bundle of a hundred certificates */
#define FL_FILES_RETRY (5 * FL_NS_PER_S)            /* after a failure, unless a change comes before */

static void read_next(struct fl_files *files);

static void again(struct fl_files *files, uint64_t after)
{
	fl_timer_set(files->io, &files->timer, fl_now(files->io) + after);
}

/* Wipes the texts: no key stays in freed memory. */
static void wipe(struct fl_files *files)
{
	for (uint32_t i = 0; i < FL_FILES_MOST; i++) {
		if (files->texts[i].p)
			explicit_bzero(files->texts[i].p, files->texts[i].cap);
		fl_buf_free(&files->texts[i]);
	}
}

static void fail(struct fl_files *files)
{
	wipe(files);
	again(files, FL_FILES_RETRY);
	if (files->reported == files->err.code)
		return;
	files->reported = files->err.code;
	if (files->failed)
		files->failed(files, &files->err);
}

static void report_texts(struct fl_files *files)
{
	static const uint64_t seed[2] = { 0x66696c65, 0x73 };
	struct fl_str texts[FL_FILES_MOST];
	struct fl_buf held[FL_FILES_MOST];
	uint64_t seen = 1;

	for (uint32_t i = 0; i < FL_FILES_MOST; i++) {
		texts[i] = fl_buf_view(&files->texts[i]);
		seen = seen * 31 + fl_siphash13(seed, texts[i].p, texts[i].len);
	}
	files->reported = FL_OK;
	again(files, fl_round_in(fl_now(files->io), FL_FILES_POLL));
	if (seen == files->seen) {
		wipe(files);
		return;
	}
	files->seen = seen;
	/* changed() may stop and free us: hold the texts here meanwhile. */
	memcpy(held, files->texts, sizeof held);
	memset(files->texts, 0, sizeof files->texts);
	files->changed(files, texts);
	for (uint32_t i = 0; i < FL_FILES_MOST; i++) {
		if (held[i].p)
			explicit_bzero(held[i].p, held[i].cap);
		fl_buf_free(&held[i]);
	}
}

static void done(struct fl_op *op)
{
	struct fl_files *files = fl_container(op, struct fl_files, read.op);

	if (op->result < 0) {
		fail(files);
		return;
	}
	files->at++;
	read_next(files);
}

static void read_next(struct fl_files *files)
{
	while (files->at < FL_FILES_MOST && !files->paths[files->at])
		files->at++;
	if (files->at < FL_FILES_MOST) {
		files->texts[files->at] = FL_BUF(FL_FILES_TEXT_MAX);
		files->read = (struct fl_file_read){ .op = { .done = done, .err = &files->err,
							     .deadline = fl_now(files->io) + FL_FILES_DEADLINE },
						     .path = files->paths[files->at],
							.into = &files->texts[files->at] };
		fl_file_read(files->io, &files->read);
		return;
	}
	/* A file changed during the read: the texts may not belong together. */
	if (files->changing) {
		wipe(files);
		again(files, FL_FILES_SETTLE);
		return;
	}
	report_texts(files);
}

static void on_timer(struct fl_timer *timer)
{
	struct fl_files *files = fl_container(timer, struct fl_files, timer);

	files->at = 0;
	files->changing = false;
	read_next(files);
}

/* The changed name does not matter: in projected volumes it is never a file's own. */
static void on_change(struct fl_notify *notify, const char *name)
{
	struct fl_files *files = fl_container(notify, struct fl_files_dir, notify)->files;

	(void)name;
	files->changing = true;
	if (!fl_op_busy(&files->read.op))
		again(files, FL_FILES_SETTLE);
}

static struct fl_str dir_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == path ? FL_S("/") : slash ? (struct fl_str){ path, (uint32_t)(slash - path) } : FL_S(".");
}

static int watch_dir(struct fl_files *files, uint32_t i)
{
	struct fl_files_dir *dir = &files->dirs[i];
	struct fl_str path = dir_of(files->paths[i]);

	for (uint32_t k = 0; k < i; k++)
		if (files->dirs[k].path && fl_str_eq(fl_str(files->dirs[k].path), path))
			return 0;
	dir->path = fl_strdup(path);
	if (!dir->path)
		return -FL_E_NOMEM;
	dir->files = files;
	dir->notify = (struct fl_notify){ .changed = on_change, .dir = dir->path };
	fl_notify_start(files->io, &dir->notify);
	return 0;
}

int fl_files_start(struct fl_io *io, struct fl_files *files, struct fl_err *err)
{
	files->io = io;
	files->started = true;
	files->seen = 0;
	files->reported = FL_OK;
	files->timer = (struct fl_timer){ .fire = on_timer };
	files->read = (struct fl_file_read){ 0 };
	memset(files->dirs, 0, sizeof files->dirs);
	memset(files->texts, 0, sizeof files->texts);
	for (uint32_t i = 0; i < FL_FILES_MOST; i++) {
		if (files->paths[i] && watch_dir(files, i) < 0) {
			fl_files_stop(files);
			return fl_fail(err, FL_E_NOMEM, "no memory to watch '%s'", files->paths[i]);
		}
	}
	files->at = 0;
	files->changing = false;
	read_next(files);
	return 0;
}

void fl_files_stop(struct fl_files *files)
{
	if (!files->started)
		return;
	files->started = false;
	fl_op_cancel(&files->read.op);
	fl_timer_stop(files->io, &files->timer);
	for (uint32_t i = 0; i < FL_FILES_MOST; i++) {
		if (!files->dirs[i].path)
			continue;
		fl_notify_stop(&files->dirs[i].notify);
		fl_free(files->dirs[i].path);
		files->dirs[i].path = NULL;
	}
	wipe(files);
}

/* ---- TLS ---- */

enum { CERT, KEY, CA };

static void tls_failed(struct fl_files *base, const struct fl_err *err)
{
	struct fl_tls_files *files = fl_container(base, struct fl_tls_files, files);

	if (files->failed)
		files->failed(files, err);
}

static void tls_changed(struct fl_files *base, const struct fl_str *texts)
{
	struct fl_tls_files *files = fl_container(base, struct fl_tls_files, files);
	struct fl_tls_context *context;
	struct fl_err err = { 0 };

	files->config.cert = texts[CERT];
	files->config.key = texts[KEY];
	files->config.ca = texts[CA];
	context = fl_tls_context_new(&files->config, fl_wall(base->io), &err);
	files->config.cert = files->config.key = files->config.ca = (struct fl_str){ 0 };
	if (context) {
		files->changed(files, context);
		fl_tls_context_free(context);
		return;
	}
	fl_wrap(&err, "'%s'", files->cert ? files->cert : files->ca);
	/* A failed allocation passes: report the same texts again. */
	if (err.code == FL_E_NOMEM) {
		base->seen = 0;
		fl_timer_set(base->io, &base->timer, fl_now(base->io) + FL_FILES_RETRY);
	}
	tls_failed(base, &err);
}

int fl_tls_files_start(struct fl_io *io, struct fl_tls_files *files, struct fl_err *err)
{
	int r;

	files->files.changed = tls_changed;
	files->files.failed = tls_failed;
	files->files.paths[CERT] = files->cert;
	files->files.paths[KEY] = files->key;
	files->files.paths[CA] = files->ca;
	r = fl_files_start(io, &files->files, err);
	if (r < 0)
		return r;
	/* Runs in the lane of files, behind the first of them: a server has two, so it ends before a context is
	 * made. */
	files->prepare = (struct fl_op){ 0 };
	fl_tls_prepare(io, &files->prepare, FL_S(""));
	return 0;
}

void fl_tls_files_stop(struct fl_tls_files *files)
{
	fl_op_cancel(&files->prepare);
	fl_files_stop(&files->files);
}
