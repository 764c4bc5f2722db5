#include "node/host/links.h"
#include "api/node.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/job.h"
#include "run/doing.h"
#include <errno.h>
#include <stdio.h>

enum { PATH_BYTES = 512 };

struct link_job {
	struct fl_job job;
	char dir[PATH_BYTES], path[PATH_BYTES], target[PATH_BYTES];   /* target "": the link goes */
};

static int64_t make(struct link_job *link, const struct fl_fs *fs)
{
	char now[PATH_BYTES];
	int64_t r = fs->mkdir(fs, AT_FDCWD, link->dir, 0755), len;

	link->job.what = "make the directory of";
	if (r < 0 && r != -EEXIST)
		return r;
	link->job.what = "make the link";
	r = fs->symlink(fs, link->target, AT_FDCWD, link->path);
	if (r != -EEXIST)
		return r;
	link->job.what = "read the link";
	len = fs->readlink(fs, AT_FDCWD, link->path, now, sizeof now);
	if (len < 0)
		return len;
	if ((size_t)len == strlen(link->target) && memcmp(now, link->target, (size_t)len) == 0)
		return 0;
	link->job.what = "replace the link";
	r = fs->unlink(fs, AT_FDCWD, link->path, 0);
	return r < 0 && r != -ENOENT ? r : fs->symlink(fs, link->target, AT_FDCWD, link->path);
}

static int64_t drop(struct link_job *link, const struct fl_fs *fs)
{
	char now[PATH_BYTES];
	int64_t len = fs->readlink(fs, AT_FDCWD, link->path, now, sizeof now), r;

	link->job.what = "remove the link";
	if (len == -ENOENT || len == -EINVAL)
		return 0;   /* gone, or no link of ours */
	if (len < 0 || !memmem(now, (size_t)len, "/nvidia", 7))
		return len < 0 ? len : 0;
	r = fs->unlink(fs, AT_FDCWD, link->path, 0);
	return r == -ENOENT ? 0 : r;
}

static void run(struct fl_job *job, const struct fl_fs *fs)
{
	struct link_job *link = fl_container(job, struct link_job, job);

	job->result = link->target[0] ? make(link, fs) : drop(link, fs);
}

static void finish(struct fl_job *job, struct fl_op *op)
{
	const struct link_job *link = fl_container(job, struct link_job, job);

	if (job->result < 0)
		fl_op_fail_sys(op, (int)-job->result, "%s '%s'", job->what, link->path);
	else
		fl_op_end(op, 0);
}

static bool put(char text[PATH_BYTES], struct fl_str a, const char *between, struct fl_str b)
{
	return snprintf(text, PATH_BYTES, "%.*s%s%.*s", FL_ARG(a), between, FL_ARG(b)) < PATH_BYTES;
}

static void start(void *self, struct fl_write *write)
{
	static const struct fl_err too_long = { .code = FL_E_TOOBIG,
						.text = "the path of a device node is too long for a link" };
	static const struct fl_err no_memory = { .code = FL_E_NOMEM, .text = "no memory to link a device node" };
	const struct fl_links *links = self;
	struct fl_doing *doing = write->held;
	struct link_job *job = fl_zalloc(sizeof *job);
	struct fl_str dir = fl_str(links->dir ? links->dir : "/dev/char");
	const struct fl_dev_link *object = write->what == FL_WANT_OBJECT ? write->object : NULL;

	fl_doing_begin(doing, write);
	if (!job || !put(job->dir, dir, "", FL_S("")) || !put(job->path, dir, "/", write->ref.name) ||
	    (object && !put(job->target, object->target, "", FL_S("")))) {
		fl_doing_over(doing, links->io, job ? &too_long : &no_memory);
		fl_free(job);
		return;
	}
	job->job = (struct fl_job){ .run = run, .finish = finish };
	doing->op.deadline = fl_now(links->io) + FL_FILE_TIMEOUT;
	fl_job_start(links->io, &doing->op, &job->job, FL_LANE_FILES);
}

const struct fl_sink fl_links_sink = { .start = start, .cancel = fl_doing_cancel, .room = sizeof(struct fl_doing),
				       .retry_last = FL_LOCAL_RETRY_LAST };
