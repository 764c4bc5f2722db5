#include "base/units.h"
#include "io/file.h"
#include "io/job.h"
#include "io/fs.h"
#include "test.h"
#include "test_io.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* ---- read ---- */

static const struct {
	const char *says;
	size_t size, max;
	int64_t result;
} read_rows[] = {
	{ "an empty file", 0, 100, 0 },
	{ "a small one", 10, 100, 10 },
	{ "as large as is allowed", 100, 100, 100 },
	{ "one byte too large", 101, 100, -FL_E_TOOBIG },
	{ "exactly one first piece", 4096, 10000, 4096 },
	{ "in several pieces", 50000, 60000, 50000 },
	{ "far too large", 50000, 5000, -FL_E_TOOBIG },
	{ "nothing is allowed, nothing is there", 0, 0, 0 },
	{ "nothing is allowed, something is there", 1, 0, -FL_E_TOOBIG },
};

static char content[50001];

static const char *content_of(size_t size)
{
	for (size_t i = 0; i < size; i++)
		content[i] = (char)('a' + i % 23);
	content[size] = 0;
	return content;
}

TEST(files_are_read_whole)
{
	EACH_ROW (row, read_rows) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(row->max);
		struct fl_err err = { 0 };
		struct fl_file_read read = { .op.err = &err, .path = test_path(test_dir(), "f"), .into = &buf };

		GOT(io);
		CHECK(test_write_file(read.path, content_of(row->size)));
		fl_file_read(io, &read);
		if (row->result < 0) {
			REFUSED(test_op(io, &read.op), -(enum fl_code)row->result);
			CHECK(!buf.p);
		} else {
			OK_ERR(test_op(io, &read.op), &err);
			CHECK_INT(read.op.result, row->result);
			CHECK_INT(buf.len, row->size);
			CHECK(memcmp(buf.p, content, row->size) == 0 && buf.p[row->size] == 0);
			fl_buf_char(&buf, '!');   /* it is a buffer like any other */
			CHECK(buf.failed == (row->size == row->max ? FL_E_TOOBIG : FL_OK) || test_tortured());
		}
		CHECK_INT(test_io_open_fds(io), 0);
	}
}

TEST(a_read_that_fails_leaves_the_buffer_alone)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(100);
	struct fl_err err = { 0 };
	struct fl_file_read read = { .op.err = &err, .path = "/nonexistent/token", .into = &buf };

	GOT(io);
	fl_buf_str(&buf, FL_S("old"));
	OK(fl_buf_check(&buf, "test", NULL));
	fl_file_read(io, &read);
	REFUSED(test_op(io, &read.op), FL_E_NOTFOUND);
	CHECK_STR(fl_buf_view(&buf), "old");
	if (!test_tortured())
		CHECK_STR(fl_str(err.text), "read '/nonexistent/token': No such file or directory");
	read.path = "/tmp";
	fl_file_read(io, &read);
	REFUSED(test_op(io, &read.op), FL_E_IO);
	read.path = "/proc/self/stat";   /* says that it is empty, and is not */
	buf.max = 4096;
	fl_file_read(io, &read);
	OK(test_op(io, &read.op));
	CHECK(buf.len > 10);
}

/* ---- replace ---- */

static int names_in(const char *dir)
{
	const struct fl_fs *fs;
	struct fl_io *io = fl_posix_new(NULL);
	char buf[4096];
	int count = 0, fd;
	int64_t len;

	if (!io)
		return -FL_E_NOMEM;
	fs = fl_io_fs(io);
	fd = fs->open(fs, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
	while ((len = fs->list(fs, fd, buf, sizeof buf)) > 0)
		for (size_t at = 0; fl_list_next(buf, (size_t)len, &at, NULL);)
			count++;
	fs->close(fs, fd);
	fl_io_free(io);
	return count;
}

TEST(a_file_is_replaced_whole_or_not_at_all)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir(), *path = test_path(dir, "state");
	struct fl_file_replace replace = { .path = path, .content = FL_S("new"), .mode = 0640, .keep_old = true };
	struct fl_err err = { 0 };
	struct fl_str now;
	struct stat stat;
	int names;
	int64_t r;

	GOT(io);
	CHECK(test_write_file(path, "old"));
	CHECK(test_write_file(test_path(dir, ".state.0123456789abcdef.tmp"), "left by a crash"));
	CHECK(test_write_file(test_path(dir, ".state.more.0123456789abcdef.tmp"), "another's"));
	replace.op.err = &err;
	fl_file_replace(io, &replace);
	r = test_op(io, &replace.op);
	now = test_read_file(path);
	CHECK_INT(test_io_open_fds(io), 0);
	if (r < 0) {
		CHECK(test_tortured());
		CHECK(fl_str_eq(now, FL_S("old")) || fl_str_eq(now, FL_S("new")));
		CHECK(err.code != FL_OK && err.text[0]);
		return;
	}
	CHECK_STR(now, "new");
	CHECK_STR(test_read_file(test_path(dir, "state.1")), "old");
	CHECK(lstat(path, &stat) == 0 && (stat.st_mode & 0777) == 0640);
	now = test_read_file(test_path(dir, ".state.more.0123456789abcdef.tmp"));
	CHECK_STR(now, "another's");
	names = names_in(dir);
	OK(names);
	if (!test_tortured())
		CHECK_INT(names, 3);
}

static const struct {
	const char *says, *name;
	enum fl_code code;
} bad_rows[] = {
	{ "no name", "x/", FL_E_INVALID },
	{ "no directory", "x/y", FL_E_NOTFOUND },
	{ "a name that leaves no room for the temporary one",
	  "012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"
	  "890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345"
	  "6789012345678901234", FL_E_INVALID },
};

TEST(what_cannot_be_replaced_is_told)
{
	EACH_ROW (row, bad_rows) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		struct fl_file_replace replace = { .path = test_path(test_dir(), row->name), .content = FL_S("x") };

		GOT(io);
		fl_file_replace(io, &replace);
		REFUSED(test_op(io, &replace.op), row->code);
	}
}

TEST(a_symlink_is_replaced_and_not_followed)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir(), *path = test_path(dir, "link"), *target = test_path(dir, "target");
	struct fl_file_replace replace = { .path = path, .content = FL_S("new") };
	struct stat stat;

	GOT(io);
	CHECK(test_write_file(target, "precious"));
	CHECK(symlink(target, path) == 0);
	fl_file_replace(io, &replace);
	OK(test_op(io, &replace.op));
	CHECK_STR(test_read_file(target), "precious");
	CHECK(lstat(path, &stat) == 0 && S_ISREG(stat.st_mode) && (stat.st_mode & 0777) == 0600);
}

TEST(writes_of_one_file_keep_their_order)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *path = test_path(test_dir(), "state");
	static const char *const contents[] = { "one", "two", "three" };
	struct fl_file_replace replace[3] = { 0 };

	GOT(io);
	for (int i = 0; i < 3; i++) {
		replace[i] = (struct fl_file_replace){ .op.done = test_op_done, .path = path };
		replace[i].content = fl_str(contents[i]);
		fl_file_replace(io, &replace[i]);
	}
	fl_op_cancel(&replace[2].op);   /* has not begun, and never will */
	for (int i = 0; i < 2; i++)
		OK(test_op(io, &replace[i].op));
	CHECK_STR(test_read_file(path), "two");
}

/* ---- a sick disk ---- */

/* Opening a FIFO that nobody writes to hangs as a sick disk does; a read of ours would not wait for it. */
struct sick {
	struct fl_job job;
	char path[256];
};

static void sick_run(struct fl_job *job, const struct fl_fs *fs)
{
	int fd = fs->open(fs, AT_FDCWD, fl_container(job, struct sick, job)->path, O_RDONLY | O_CLOEXEC, 0);
	char byte;

	if (fd < 0)
		return;
	job->result = fl_fs_read_all(fs, fd, &byte, 1);   /* until the writer has gone */
	fs->close(fs, fd);
}

static void sick_release(struct fl_job *job)
{
	fl_free(fl_container(job, struct sick, job));
}

/* Needs real threads. */
TEST_ONCE(a_stuck_file_holds_up_neither_the_loop_nor_lookups)
{
	FL_AUTO(fl_io) struct fl_io *io = fl_posix_new(NULL);
	FL_AUTO(fl_buf) struct fl_buf other = FL_BUF(100);
	const char *dir = test_dir(), *fifo = test_path(dir, "fifo"), *file = test_path(dir, "file");
	struct sick *sick = fl_zalloc(sizeof *sick);
	struct fl_op stuck = { .done = test_op_done };
	struct fl_file_read behind = { .path = file, .into = &other, .op.done = test_op_done };
	struct fl_lookup lookup = { .host = "localhost" };
	int fd;

	GOT(io);
	GOT(sick);
	CHECK(mkfifo(fifo, 0600) == 0);
	CHECK(test_write_file(file, "well"));
	(void)snprintf(sick->path, sizeof sick->path, "%s", fifo);
	sick->job = (struct fl_job){ .run = sick_run, .release = sick_release };
	fl_job_start(io, &stuck, &sick->job, FL_LANE_FILES);
	fl_file_read(io, &behind);
	fl_lookup(io, &lookup);
	OK(test_op(io, &lookup.op));
	/* There is a reader once the worker is in it; it goes on waiting, for bytes then. */
	while ((fd = open(fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0)
		OK(test_pause(io, FL_NS_PER_MS));
	CHECK(fl_op_busy(&stuck));
	fl_op_cancel(&stuck);
	OK(test_pause(io, FL_NS_PER_MS));
	CHECK(fl_op_busy(&behind.op));
	(void)close(fd);   /* well again */
	OK(test_op(io, &behind.op));
	CHECK_STR(fl_buf_view(&other), "well");
}

TEST_ONCE(a_pipe_in_the_place_of_a_file_holds_nobody_up)
{
	FL_AUTO(fl_io) struct fl_io *io = fl_posix_new(NULL);
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(100);
	const char *fifo = test_path(test_dir(), "fifo");
	struct fl_file_read read = { .path = fifo, .into = &buf };

	GOT(io);
	CHECK(mkfifo(fifo, 0600) == 0);
	read.op.done = test_op_done;
	fl_file_read(io, &read);
	CHECK_INT(test_op(io, &read.op), 0);   /* nobody writes: it is empty */
}

/* ---- paths that must stay inside ---- */

static const struct {
	const char *says, *path;
	uint64_t resolve;
	int result;   /* 0: opens */
} inside_rows[] = {
	{ "a file inside", "dir/file", RESOLVE_BENEATH, 0 },
	{ "a symlink that stays inside", "dir/in", RESOLVE_BENEATH, 0 },
	{ "a symlink that stays inside, where none is followed", "dir/in", RESOLVE_NO_SYMLINKS, -ELOOP },
	{ "a symlink to an absolute path", "dir/absolute", RESOLVE_BENEATH, -EXDEV },
	{ "a symlink that climbs out", "dir/out", RESOLVE_BENEATH, -EXDEV },
	{ "dots that climb out", "../../etc/passwd", RESOLVE_BENEATH, -EXDEV },
	{ "an absolute path", "/etc/passwd", RESOLVE_BENEATH, -EXDEV },
	{ "an absolute symlink, taken from the new root", "dir/absolute", RESOLVE_IN_ROOT, -ENOENT },
};

TEST(open_in_stays_inside)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir();
	const struct fl_fs *fs;
	int fd;

	GOT(io);
	fs = fl_io_fs(io);
	OK(fs->mkdir(fs, AT_FDCWD, test_path(dir, "dir"), 0700));
	CHECK(test_write_file(test_path(dir, "dir/file"), "x"));
	OK(fs->symlink(fs, "file", AT_FDCWD, test_path(dir, "dir/in")));
	OK(fs->symlink(fs, "/etc/passwd", AT_FDCWD, test_path(dir, "dir/absolute")));
	OK(fs->symlink(fs, "../../../../etc/passwd", AT_FDCWD, test_path(dir, "dir/out")));
	fd = fs->open(fs, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
	OK(fd);
	EACH_ROW (row, inside_rows) {
		int got = fs->open_in(fs, fd, row->path, O_RDONLY, 0, row->resolve);

		if (got == -ENOSYS)
			SKIP("openat2 is not to be had");
		if (test_tortured() && got < 0)
			return;
		CHECK_INT(got < 0 ? got : 0, row->result);
	}
}

/* ---- the primitives ---- */

TEST(primitives_do_what_they_say)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir();
	const struct fl_fs *fs;
	struct fl_stat stat;
	char buf[FL_LIST_MIN];
	int d, fd, other;

	GOT(io);
	fs = fl_io_fs(io);
	d = fs->open(fs, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
	OK(d);
	CHECK_INT(fs->list(fs, d, buf, sizeof buf) > 0, 0);
	fd = fs->open(fs, d, "a", O_RDWR | O_CREAT, 0640);
	OK(fd);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	OK(fl_fs_write_all(fs, fd, "0123456789", 10));
	OK(fs->pwrite(fs, fd, "xy", 2, 4));
	OK(fs->fsync(fs, fd));
	OK(fs->truncate(fs, fd, 8));
	OK(fs->pread(fs, fd, buf, 3, 3));
	if (!test_tortured())
		CHECK(memcmp(buf, "3xy", 3) == 0);
	OK(fs->stat(fs, d, "a", 0, &stat));
	CHECK(S_ISREG(stat.mode) && stat.size == 8 && stat.links == 1 && stat.mtime > 0);
	CHECK_INT(fl_fs_read_all(fs, fd, buf, 100) > 0, 0);   /* at the end */
	OK(fs->lock(fs, fd, LOCK_EX));
	other = fs->open(fs, d, "a", O_RDWR, 0);
	OK(other);
	CHECK(fs->lock(fs, other, LOCK_SH) < 0);
	OK(fs->lock(fs, fd, LOCK_UN));
	OK(fs->lock(fs, other, LOCK_SH));
	OK(fs->link(fs, d, "a", d, "b"));
	OK(fs->symlink(fs, "a", d, "c"));
	CHECK(fs->rename(fs, d, "a", d, "b", RENAME_NOREPLACE) < 0);
	OK(fs->rename(fs, d, "b", d, "e", RENAME_NOREPLACE));
	OK(fs->readlink(fs, d, "c", buf, sizeof buf));
	CHECK_INT(buf[0], 'a');
	OK(fs->unlink(fs, d, "a", 0));
	OK(fs->mkdir(fs, d, "sub", 0700));
	OK(fs->unlink(fs, d, "sub", AT_REMOVEDIR));
}

TEST(long_lists_come_in_parts)
{
	enum { NAMES = 60 };
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir(), *name;
	bool seen[NAMES] = { 0 };
	char buf[FL_LIST_MIN], path[64];
	const struct fl_fs *fs;
	unsigned char type;
	int d, parts = 0, count = 0;
	int64_t len;

	GOT(io);
	for (int i = 0; i < NAMES; i++) {
		(void)snprintf(path, sizeof path, "a-name-of-a-file-%02d", i);
		CHECK(test_write_file(test_path(dir, path), ""));
	}
	fs = fl_io_fs(io);
	d = fs->open(fs, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
	OK(d);
	for (; (len = fs->list(fs, d, buf, sizeof buf)) > 0; parts++) {
		for (size_t at = 0; (name = fl_list_next(buf, (size_t)len, &at, &type)); count++) {
			CHECK_INT(type, 8);   /* DT_REG */
			seen[(name[17] - '0') * 10 + name[18] - '0'] = true;
		}
	}
	OK(len);
	CHECK_INT(count, NAMES);
	CHECK(parts > 1);
	for (int i = 0; i < NAMES; i++)
		CHECK(seen[i]);
}

/* ---- a directory that others fill ---- */

static const struct {
	const char *says;
	int depth;
	uint32_t most;
	int result;
} empty_rows[] = {
	{ "files, links and folders go", 2, 100, 0 },
	{ "what is too much stays", 2, 3, -E2BIG },
	{ "directories in directories go, however deep", 40, 1000, 0 },
};

/* d/d/d..., each with a file and a link that leads out. */
static int fill(const struct fl_fs *fs, int dir, int depth)
{
	int r = fs->symlink(fs, "../keep", dir, "link"), sub = -1;

	if (r == 0)
		r = sub = fs->open(fs, dir, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0);
	if (r >= 0)
		fs->close(fs, sub);
	if (r < 0 || depth == 0)
		return r < 0 ? r : 0;
	r = fs->mkdir(fs, dir, "d", 0700);
	if (r == 0)
		r = sub = fs->open(fs, dir, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (r >= 0) {
		r = fill(fs, sub, depth - 1);
		fs->close(fs, sub);
	}
	return r;
}

TEST(a_directory_is_emptied_and_nothing_beside_it)
{
	EACH_ROW (row, empty_rows) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		const struct fl_fs *fs;
		uint32_t most = row->most;
		const char *top = test_dir(), *dir = test_path(top, "dir");
		struct fl_stat stat;
		int fd, r;

		GOT(io);
		fs = fl_io_fs(io);
		OK(fs->mkdir(fs, AT_FDCWD, dir, 0700));
		CHECK(test_write_file(test_path(top, "keep"), "x"));
		fd = fs->open(fs, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
		OK(fd);
		OK(fill(fs, fd, row->depth));
		r = fl_fs_empty(fs, fd, &most);
		if (test_tortured() && r < 0)
			return;
		CHECK_INT(r, row->result);
		CHECK(r < 0 || fs->unlink(fs, AT_FDCWD, dir, AT_REMOVEDIR) == 0 || test_tortured());
		OK(fs->stat(fs, AT_FDCWD, test_path(top, "keep"), 0, &stat));
	}
}
