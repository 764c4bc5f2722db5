#include "io/file.h"
#include "io/job.h"
#include "io/loop.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

struct replace_job {
	struct fl_job job;
	char *path, *dir, *name;        /* as given; and its two parts */
	char temporary[FL_NAME_MAX + 1], old[FL_NAME_MAX + 1];
	const char *content;
	size_t len;
	unsigned mode;
	bool keep_old;
	char bytes[];                   /* what the pointers point to */
};

/* ".NAME.0123456789abcdef.tmp": left by a write that crashed. The number distinguishes it from ".NAME.more". */
static bool is_leftover(const struct replace_job *replace, const char *name)
{
	size_t len = strlen(replace->name);

	return name[0] == '.' && strncmp(name + 1, replace->name, len) == 0 && name[1 + len] == '.' &&
	       strspn(name + 2 + len, "0123456789abcdef") == 16 && strcmp(name + 18 + len, ".tmp") == 0;
}

/* A failed sweep does not fail the write: the next one tries again. */
static void sweep(const struct replace_job *replace, const struct fl_fs *fs, int dir)
{
	char buf[2048];
	int64_t len;

	while ((len = fs->list(fs, dir, buf, sizeof buf)) > 0) {
		const char *name;
		size_t at = 0;

		while ((name = fl_list_next(buf, (size_t)len, &at, NULL)))
			if (is_leftover(replace, name))
				(void)fs->unlink(fs, dir, name, 0);
	}
}

static int fail(struct replace_job *replace, const char *what, int r)
{
	replace->job.what = what;
	return r;
}

static int write_temporary(struct replace_job *replace, const struct fl_fs *fs, int dir)
{
	int fd = fs->open(fs, dir, replace->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return fail(replace, "create a file beside it", fd);
	r = fs->chmod(fs, fd, replace->mode);
	if (r < 0)
		(void)fail(replace, "set its mode", r);
	if (r == 0 && (r = fl_fs_write_all(fs, fd, replace->content, replace->len)) < 0)
		(void)fail(replace, "write", r);
	if (r == 0 && (r = fs->fdatasync(fs, fd)) < 0)
		(void)fail(replace, "sync", r);
	fs->close(fs, fd);
	return r;
}

/* A second name for the present content, so that the file itself is never without a name. */
static int keep_old(struct replace_job *replace, const struct fl_fs *fs, int dir)
{
	int r = fs->unlink(fs, dir, replace->old, 0);

	if (r == 0 || r == -ENOENT)
		r = fs->link(fs, dir, replace->name, dir, replace->old);
	return r == -ENOENT ? 0 : r;
}

static int replace_in(struct replace_job *replace, const struct fl_fs *fs, int dir)
{
	int r;

	sweep(replace, fs, dir);
	r = write_temporary(replace, fs, dir);
	if (r == 0 && replace->keep_old && (r = keep_old(replace, fs, dir)) < 0)
		(void)fail(replace, "keep the old one", r);
	if (r == 0 && (r = fs->rename(fs, dir, replace->temporary, dir, replace->name, 0)) < 0)
		(void)fail(replace, "rename", r);
	if (r < 0) {
		(void)fs->unlink(fs, dir, replace->temporary, 0);
		return r;
	}
	r = fs->fsync(fs, dir);
	return r < 0 ? fail(replace, "sync its directory", r) : 0;
}

static void run(struct fl_job *job, const struct fl_fs *fs)
{
	struct replace_job *replace = fl_container(job, struct replace_job, job);
	int dir = fs->open(fs, AT_FDCWD, replace->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

	if (dir < 0) {
		job->result = fail(replace, "open its directory", dir);
		return;
	}
	job->result = replace_in(replace, fs, dir);
	fs->close(fs, dir);
}

static void finish(struct fl_job *job, struct fl_op *op)
{
	struct replace_job *replace = fl_container(job, struct replace_job, job);

	if (job->result < 0)
		fl_op_fail_sys(op, (int)-job->result, "replace '%s': %s", replace->path, job->what);
	else
		fl_op_end(op, 0);
}

/* "a/b" is "b" in "a"; "/b" in "/"; "b" in ".". */
static void split(struct replace_job *job, const char *path, size_t len)
{
	char *slash;

	job->path = job->bytes;
	memcpy(job->path, path, len + 1);
	job->dir = job->path + len + 1;
	memcpy(job->dir, path, len + 1);
	slash = strrchr(job->dir, '/');
	job->name = job->path + (slash ? slash - job->dir + 1 : 0);
	if (slash)
		slash[slash == job->dir] = 0;
	else
		memcpy(job->dir, ".", 2);
}

void fl_file_replace(struct fl_io *io, struct fl_file_replace *replace)
{
	size_t path = strlen(replace->path), copies = 2 * (path + 2);
	struct replace_job *job = fl_zalloc(sizeof *job + copies + replace->content.len);
	uint64_t chance;

	if (!job) {
		fl_op_refuse(&replace->op, io, FL_E_NOMEM, "replace '%s'", replace->path);
		return;
	}
	if (fl_random(io, &chance, sizeof chance, NULL) < 0) {
		fl_free(job);
		fl_op_refuse(&replace->op, io, FL_E_IO, "replace '%s': no random bytes", replace->path);
		return;
	}
	job->job = (struct fl_job){ .run = run, .finish = finish };
	job->mode = replace->mode ? replace->mode : 0600;
	job->keep_old = replace->keep_old;
	split(job, replace->path, path);
	job->content = job->bytes + copies;
	job->len = replace->content.len;
	if (job->len)
		memcpy(job->bytes + copies, replace->content.p, job->len);
	if (!job->name[0] || strlen(job->name) + sizeof "..0123456789abcdef.tmp" > sizeof job->temporary) {
		fl_op_refuse(&replace->op, io, FL_E_INVALID, "replace '%s': not the name of a file", replace->path);
		fl_free(job);
		return;
	}
	(void)snprintf(job->temporary, sizeof job->temporary, ".%s.%016" PRIx64 ".tmp", job->name, chance);
	(void)snprintf(job->old, sizeof job->old, "%s.1", job->name);
	fl_job_start(io, &replace->op, &job->job, FL_LANE_FILES);
}
