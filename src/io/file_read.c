#include "io/file.h"
#include "io/job.h"
#include "io/loop.h"
#include <errno.h>

/* Runs again with a larger buffer each time, because a worker must not allocate. */
struct read_job {
	struct fl_job job;
	int fd;               /* -1: not open yet */
	char *bytes;          /* room for cap, one of them for a terminator */
	size_t len, cap, max;
	uint64_t size;        /* as stat reports it; 0 in /proc */
	char path[];
};

/* Reads to the end of the file; -ENOBUFS when the buffer is full before. */
static int64_t fill(struct read_job *read, const struct fl_fs *fs)
{
	struct fl_stat stat;
	int64_t n;
	int r;

	if (read->fd < 0) {
		/* O_NONBLOCK: a FIFO in its place must not block the lane. */
		r = fs->open(fs, AT_FDCWD, read->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
		if (r < 0)
			return r;
		read->fd = r;
		r = fs->stat(fs, read->fd, "", AT_EMPTY_PATH, &stat);
		if (r < 0)
			return r;
		if (S_ISDIR(stat.mode))
			return -EISDIR;
		read->size = stat.size;
	}
	n = fl_fs_read_all(fs, read->fd, read->bytes + read->len, read->cap - read->len);
	if (n < 0)
		return n;
	read->len += (size_t)n;
	return read->len == read->cap ? -ENOBUFS : (int64_t)read->len;
}

static void run(struct fl_job *job, const struct fl_fs *fs)
{
	struct read_job *read = fl_container(job, struct read_job, job);

	job->result = fill(read, fs);
	if (job->result != -ENOBUFS && read->fd >= 0) {
		fs->close(fs, read->fd);
		read->fd = -1;
	}
}

/* 0, or why there is no larger buffer. The last byte of the largest one is never kept: it only shows that the file is
 * too long. */
static enum fl_code grow(struct read_job *read)
{
	size_t cap = read->cap * 2;
	char *bytes;

	if (read->cap > read->max)
		return FL_E_TOOBIG;
	if (read->size < read->max && cap < read->size + 1)
		cap = read->size + 1;
	if (cap > read->max)
		cap = read->max + 1;
	bytes = fl_realloc(read->bytes, cap);
	if (!bytes)
		return FL_E_NOMEM;
	read->bytes = bytes;
	read->cap = cap;
	return FL_OK;
}

static void finish(struct fl_job *job, struct fl_op *op)
{
	struct read_job *read = fl_container(job, struct read_job, job);
	struct fl_buf *into = fl_container(op, struct fl_file_read, op)->into;
	enum fl_code code = FL_OK;

	if (job->result == -ENOBUFS) {
		code = grow(read);
		if (code == FL_OK)
			fl_job_again(job);
		else if (code == FL_E_TOOBIG)
			fl_op_fail(op, code, "read '%s': over %zu bytes", read->path, read->max);
		else
			fl_op_fail(op, code, "read '%s'", read->path);
	} else if (job->result < 0) {
		fl_op_fail_sys(op, (int)-job->result, "read '%s'", read->path);
	} else {
		fl_buf_free(into);
		into->failed = FL_OK;
		into->p = fl_steal(&read->bytes);
		into->len = read->len;
		into->cap = read->cap;
		into->p[into->len] = 0;
		fl_op_end(op, (int64_t)read->len);
	}
}

static void release(struct fl_job *job)
{
	struct read_job *read = fl_container(job, struct read_job, job);

	fl_close(job->io, read->fd);
	fl_free(read->bytes);
	fl_free(read);
}

void fl_file_read(struct fl_io *io, struct fl_file_read *read)
{
	size_t path = strlen(read->path) + 1, max = read->into->max;
	struct read_job *job = fl_zalloc(sizeof *job + path);
	size_t cap = max < FL_FILE_FIRST ? max + 1 : FL_FILE_FIRST;

	if (!job || !(job->bytes = fl_alloc(cap))) {
		fl_free(job);
		fl_op_refuse(&read->op, io, FL_E_NOMEM, "read '%s'", read->path);
		return;
	}
	job->job = (struct fl_job){ .run = run, .finish = finish, .release = release };
	job->fd = -1;
	job->cap = cap;
	job->max = max;
	memcpy(job->path, read->path, path);
	fl_job_start(io, &read->op, &job->job, FL_LANE_FILES);
}
