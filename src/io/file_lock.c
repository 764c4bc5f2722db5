#include "io/file.h"
#include "base/backoff.h"
#include "io/job.h"
#include "io/loop.h"
#include <errno.h>

/* One attempt is a job; between attempts a timer runs. Waiting in flock itself would need a thread for each lock. */
struct lock_job {
	struct fl_job job;
	int fd;               /* what holds the lock, until somebody takes it */
	char path[];
};

/* The path may have been given to another file meanwhile: a lock on the removed one would hold nobody off. */
static int64_t take(const struct fl_fs *fs, int fd, const char *path)
{
	struct fl_stat held, named;
	int r = fs->lock(fs, fd, LOCK_EX);

	if (r == 0)
		r = fs->stat(fs, fd, "", AT_EMPTY_PATH, &held);
	if (r == 0)
		r = fs->stat(fs, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &named);
	if (r == -ENOENT || (r == 0 && (held.ino != named.ino || held.dev != named.dev)))
		r = -EWOULDBLOCK;
	return r;
}

static void run(struct fl_job *job, const struct fl_fs *fs)
{
	struct lock_job *lock = fl_container(job, struct lock_job, job);
	int fd = fs->open(fs, AT_FDCWD, lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

	job->result = fd < 0 ? fd : take(fs, fd, lock->path);
	if (fd >= 0 && job->result < 0)
		fs->close(fs, fd);
	else
		lock->fd = fd;
}

static void give_back(struct fl_op *op)
{
	fl_close(op->io, (int)op->result);
}

static void finish(struct fl_job *job, struct fl_op *op)
{
	struct lock_job *lock = fl_container(job, struct lock_job, job);

	if (job->result == -EWOULDBLOCK) {
		fl_op_end(op, -FL_E_AGAIN);
	} else if (job->result < 0) {
		fl_op_fail_sys(op, (int)-job->result, "lock '%s'", lock->path);
	} else {
		op->drop = give_back;
		fl_op_end(op, lock->fd);
		lock->fd = -1;
	}
}

static void release(struct fl_job *job)
{
	struct lock_job *lock = fl_container(job, struct lock_job, job);

	fl_close(job->io, lock->fd);
	fl_free(lock);
}

static void attempt(struct fl_io *io, struct fl_file_lock *lock)
{
	size_t path = strlen(lock->path) + 1;
	struct lock_job *job = fl_zalloc(sizeof *job + path);

	if (!job) {
		fl_op_refuse(&lock->attempt, io, FL_E_NOMEM, "lock '%s'", lock->path);
		return;
	}
	job->job = (struct fl_job){ .run = run, .finish = finish, .release = release };
	job->fd = -1;
	memcpy(job->path, lock->path, path);
	fl_job_start(io, &lock->attempt, &job->job, FL_LANE_FILES);
}

static void tried(struct fl_op *op)
{
	struct fl_file_lock *lock = fl_container(op, struct fl_file_lock, attempt);
	struct fl_io *io = lock->op.io;

	if (op->result != -FL_E_AGAIN) {
		fl_op_end(&lock->op, op->result);
		return;
	}
	fl_timer_set(io, &lock->retry, fl_now(io) + fl_backoff(&lock->delay, FL_LOCK_RETRY_FIRST, FL_LOCK_RETRY_LAST));
}

static void retry(struct fl_timer *timer)
{
	struct fl_file_lock *lock = fl_container(timer, struct fl_file_lock, retry);

	attempt(lock->op.io, lock);
}

static void drop(struct fl_op *op)
{
	struct fl_file_lock *lock = fl_container(op, struct fl_file_lock, op);

	if (op->state == FL_OP_ENDED) {
		fl_close(op->io, (int)op->result);
		return;
	}
	fl_op_cancel(&lock->attempt);
	fl_timer_stop(op->io, &lock->retry);
}

void fl_file_lock(struct fl_io *io, struct fl_file_lock *lock)
{
	fl_op_begin(&lock->op, io, drop);
	lock->attempt = (struct fl_op){ .done = tried, .err = lock->op.err };
	lock->retry = (struct fl_timer){ .fire = retry };
	lock->delay = 0;
	attempt(io, lock);
}
