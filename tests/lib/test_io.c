#include "test_io.h"
#include "base/units.h"
#include "io/sys.h"
#include "test.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FDS = 4096 };

struct test_sys {
	struct fl_sys sys;
	struct fl_fs fs;
	struct fl_sys *below;
	const struct fl_fs *fs_below;
	struct fl_job *first, **last;     /* those that have not run */
	unsigned calls;
	bool open[FDS];
};

static struct test_sys *of(struct fl_sys *sys)
{
	return fl_container(sys, struct test_sys, sys);
}

static struct test_sys *of_fs(const struct fl_fs *fs)
{
	return (struct test_sys *)((char *)(uintptr_t)fs - offsetof(struct test_sys, fs));
}

/* The error for this call if it is to fail, else 0: another one for each n. Zero in a list stands for "less". */
enum { LESS = 100000 };
static int refused(struct test_sys *t, const int *errors)
{
	unsigned len = 0, call = t->calls++;

	if (!test_refuse_io())
		return 0;
	while (errors[len])
		len++;
	return errors[call % len];
}
#define REFUSE(t, ...) ({ \
	static const int errors_[] = { __VA_ARGS__, 0 }; \
	refused((t), errors_); \
})
#define MAY_FAIL(t, ...) \
	do { \
		int sys_ = REFUSE(t, __VA_ARGS__); \
		if (sys_) \
			return -sys_; \
	} while (0)

static int opened(struct test_sys *t, int fd)
{
	if (fd >= 0 && fd < FDS)
		t->open[fd] = true;
	return fd;
}

static void closed(struct test_sys *t, int fd)
{
	if (fd < 0 || fd >= FDS || !t->open[fd])
		(void)test_check(false, "an fd is closed that is not open", __FILE__, __LINE__);
	else
		t->open[fd] = false;
}

/* ---- loop ---- */

static void settle(struct fl_sys *sys)
{
	of(sys)->below->settle(of(sys)->below);
}

static void free_sys(struct fl_sys *sys)
{
	struct test_sys *t = of(sys);

	for (int fd = 0; fd < FDS; fd++)
		if (t->open[fd])
			t->below->close(t->below, fd);
	t->below->free(t->below);
	fl_free(t);
}

static uint64_t now(struct fl_sys *sys)
{
	return of(sys)->below->now(of(sys)->below);
}

static int64_t wall(struct fl_sys *sys)
{
	return of(sys)->below->wall(of(sys)->below);
}

static int random_bytes(struct fl_sys *sys, void *bytes, size_t len)
{
	MAY_FAIL(of(sys), EIO);
	return of(sys)->below->random(of(sys)->below, bytes, len);
}

static int watch(struct fl_sys *sys, int fd, unsigned had, unsigned want, void *token)
{
	if (want)
		MAY_FAIL(of(sys), ENOMEM, ENOSPC);
	return of(sys)->below->watch(of(sys)->below, fd, had, want, token);
}

/* Woken for nothing is what a wait may always be. */
static int wait_events(struct fl_sys *sys, uint64_t until, struct fl_io_event *events, unsigned max)
{
	struct test_sys *t = of(sys);
	struct fl_job *job = t->first;
	int n;

	if (REFUSE(t, EINTR))
		return 0;
	n = t->below->wait(t->below, job ? 0 : until, events, max - 1);
	if (n < 0 || !job)
		return n;
	t->first = job->next;
	if (!t->first)
		t->last = &t->first;
	job->run(job, &t->fs);
	job->returned = true;
	events[n] = (struct fl_io_event){ job, FL_JOB_RETURNED };
	return n + 1;
}

static int job_start(struct fl_sys *sys, struct fl_job *job)
{
	MAY_FAIL(of(sys), EAGAIN, ENOMEM);
	*of(sys)->last = job;
	of(sys)->last = &job->next;
	return 0;
}

static bool job_drop(struct fl_sys *sys, struct fl_job *job)
{
	for (struct fl_job **at = &of(sys)->first; *at; at = &(*at)->next) {
		if (*at != job)
			continue;
		*at = job->next;
		if (!*at)
			of(sys)->last = at;
		return true;
	}
	return false;
}

/* ---- sockets ---- */

static int connect_to(struct fl_sys *sys, const struct fl_addr *addr)
{
	struct test_sys *t = of(sys);

	MAY_FAIL(t, EMFILE, ENFILE, ENOBUFS, ENETUNREACH);
	return opened(t, t->below->connect(t->below, addr));
}

static int connected(struct fl_sys *sys, int fd)
{
	MAY_FAIL(of(sys), ECONNREFUSED, EHOSTUNREACH, ETIMEDOUT);
	return of(sys)->below->connected(of(sys)->below, fd);
}

static int listen_on(struct fl_sys *sys, const struct fl_addr *addr, unsigned mode)
{
	struct test_sys *t = of(sys);

	MAY_FAIL(t, EMFILE, EACCES, EROFS);
	return opened(t, t->below->listen(t->below, addr, mode));
}

static int accept_from(struct fl_sys *sys, int fd, struct fl_addr *ret_peer)
{
	struct test_sys *t = of(sys);

	MAY_FAIL(t, EAGAIN, ENOBUFS, ENOMEM);
	return opened(t, t->below->accept(t->below, fd, ret_peer));
}

static int local_addr(struct fl_sys *sys, int fd, struct fl_addr *ret)
{
	MAY_FAIL(of(sys), ENOBUFS);
	return of(sys)->below->local_addr(of(sys)->below, fd, ret);
}

static int peer_cred(struct fl_sys *sys, int fd, struct fl_cred *ret)
{
	MAY_FAIL(of(sys), EOPNOTSUPP);
	return of(sys)->below->peer_cred(of(sys)->below, fd, ret);
}

static int64_t read_fd(struct fl_sys *sys, int fd, void *bytes, size_t len)
{
	int e = REFUSE(of(sys), ECONNRESET, LESS, EAGAIN, ETIMEDOUT);

	if (e && e != LESS)
		return -e;
	return of(sys)->below->read(of(sys)->below, fd, bytes, e && len > 1 ? 1 : len);
}

static int64_t write_fd(struct fl_sys *sys, int fd, const void *bytes, size_t len)
{
	int e = REFUSE(of(sys), EPIPE, LESS, EAGAIN, ECONNRESET);

	if (e && e != LESS)
		return -e;
	return of(sys)->below->write(of(sys)->below, fd, bytes, e && len > 1 ? 1 : len);
}

static int shutdown_write(struct fl_sys *sys, int fd)
{
	return of(sys)->below->shutdown_write(of(sys)->below, fd);
}

static void close_fd(struct fl_sys *sys, int fd)
{
	closed(of(sys), fd);
	of(sys)->below->close(of(sys)->below, fd);
}

static int pair(struct fl_sys *sys, enum fl_pair_kind kind, int ret_fds[static 2])
{
	struct test_sys *t = of(sys);
	int r;

	MAY_FAIL(t, EMFILE, ENFILE);
	r = t->below->pair(t->below, kind, ret_fds);
	for (int i = 0; i < 2 && r == 0; i++)
		(void)opened(t, ret_fds[i]);
	return r;
}

/* ---- children, signals, directories ---- */

static int spawn(struct fl_sys *sys, const struct fl_spawn *how, struct fl_spawned *ret)
{
	struct test_sys *t = of(sys);
	int r;

	MAY_FAIL(t, EAGAIN, ENOMEM, EMFILE);
	r = t->below->spawn(t->below, how, ret);
	if (r == 0) {
		(void)opened(t, ret->fd);
		(void)opened(t, ret->started);
	}
	return r;
}

static int reap(struct fl_sys *sys, int fd, struct fl_exit *ret)
{
	MAY_FAIL(of(sys), EAGAIN);
	return of(sys)->below->reap(of(sys)->below, fd, ret);
}

static int send_signal(struct fl_sys *sys, int fd, int signo)
{
	if (signo != 9)   /* the last resort cannot be refused: the child is ours */
		MAY_FAIL(of(sys), EPERM);
	return of(sys)->below->kill(of(sys)->below, fd, signo);
}

static int process(struct fl_sys *sys, int pid)
{
	MAY_FAIL(of(sys), EMFILE, ENOMEM);
	return opened(of(sys), of(sys)->below->process(of(sys)->below, pid));
}

static int signals(struct fl_sys *sys, uint64_t set)
{
	MAY_FAIL(of(sys), EMFILE);
	return opened(of(sys), of(sys)->below->signals(of(sys)->below, set));
}

static int signal_read(struct fl_sys *sys, int fd)
{
	MAY_FAIL(of(sys), EAGAIN);
	return of(sys)->below->signal_read(of(sys)->below, fd);
}

static int notify_open(struct fl_sys *sys)
{
	MAY_FAIL(of(sys), EMFILE);
	return opened(of(sys), of(sys)->below->notify_open(of(sys)->below));
}

static int notify_read(struct fl_sys *sys, int fd, struct fl_change *ret)
{
	return of(sys)->below->notify_read(of(sys)->below, fd, ret);
}

static void notify_drop(struct fl_sys *sys, int fd, int number)
{
	of(sys)->below->notify_drop(of(sys)->below, fd, number);
}

/* ---- files ---- */

static int fs_open(const struct fl_fs *fs, int dir, const char *path, int flags, unsigned mode)
{
	struct test_sys *t = of_fs(fs);

	if (flags & O_CREAT)
		MAY_FAIL(t, ENOSPC, EROFS, EMFILE, EDQUOT);
	else
		MAY_FAIL(t, EIO, EMFILE, EACCES);
	return opened(t, t->fs_below->open(t->fs_below, dir, path, flags, mode));
}

static int fs_open_in(const struct fl_fs *fs, int dir, const char *path, int flags, unsigned mode, uint64_t resolve)
{
	struct test_sys *t = of_fs(fs);

	MAY_FAIL(t, EIO, EMFILE);
	return opened(t, t->fs_below->open_in(t->fs_below, dir, path, flags, mode, resolve));
}

static void fs_close(const struct fl_fs *fs, int fd)
{
	closed(of_fs(fs), fd);
	of_fs(fs)->fs_below->close(of_fs(fs)->fs_below, fd);
}

#define LESS_OR(t, len, ...) ({ \
	int e_ = REFUSE(t, __VA_ARGS__); \
	if (e_ && e_ != LESS) \
		return -e_; \
	e_ && (len) > 1 ? 1 : (len); \
})

static int64_t fs_read(const struct fl_fs *fs, int fd, void *bytes, size_t len)
{
	len = LESS_OR(of_fs(fs), len, EIO, LESS);
	return of_fs(fs)->fs_below->read(of_fs(fs)->fs_below, fd, bytes, len);
}

static int64_t fs_write(const struct fl_fs *fs, int fd, const void *bytes, size_t len)
{
	len = LESS_OR(of_fs(fs), len, ENOSPC, LESS, EIO);
	return of_fs(fs)->fs_below->write(of_fs(fs)->fs_below, fd, bytes, len);
}

static int64_t fs_pread(const struct fl_fs *fs, int fd, void *bytes, size_t len, uint64_t at)
{
	len = LESS_OR(of_fs(fs), len, EIO, LESS);
	return of_fs(fs)->fs_below->pread(of_fs(fs)->fs_below, fd, bytes, len, at);
}

static int64_t fs_pwrite(const struct fl_fs *fs, int fd, const void *bytes, size_t len, uint64_t at)
{
	len = LESS_OR(of_fs(fs), len, ENOSPC, LESS, EIO);
	return of_fs(fs)->fs_below->pwrite(of_fs(fs)->fs_below, fd, bytes, len, at);
}

/* What is the same but for the name. */
#define PASS(name, params, args, ...) \
	static int fs_##name params \
	{ \
		MAY_FAIL(of_fs(fs), __VA_ARGS__); \
		fs = of_fs(fs)->fs_below; \
		return fs->name args; \
	}
PASS(fsync, (const struct fl_fs *fs, int fd), (fs, fd), EIO, ENOSPC)
PASS(fdatasync, (const struct fl_fs *fs, int fd), (fs, fd), EIO, ENOSPC)
PASS(truncate, (const struct fl_fs *fs, int fd, uint64_t size), (fs, fd, size), EIO, ENOSPC)
static int64_t fs_mount_flags(const struct fl_fs *fs, int fd)
{
	MAY_FAIL(of_fs(fs), EIO);
	return of_fs(fs)->fs_below->mount_flags(of_fs(fs)->fs_below, fd);
}

PASS(cover, (const struct fl_fs *fs, int dir, const char *name, const void *bytes, size_t len),
     (fs, dir, name, bytes, len), EPERM, ENOSYS)
PASS(chmod, (const struct fl_fs *fs, int fd, unsigned mode), (fs, fd, mode), EIO, EROFS)
PASS(stat, (const struct fl_fs *fs, int dir, const char *path, int flags, struct fl_stat *ret),
     (fs, dir, path, flags, ret), EIO)
PASS(rename, (const struct fl_fs *fs, int from_dir, const char *from, int to_dir, const char *to, unsigned flags),
     (fs, from_dir, from, to_dir, to, flags), EIO, ENOSPC, EROFS)
PASS(link, (const struct fl_fs *fs, int from_dir, const char *from, int to_dir, const char *to),
     (fs, from_dir, from, to_dir, to), EIO, ENOSPC, EMLINK)
PASS(unlink, (const struct fl_fs *fs, int dir, const char *path, int flags), (fs, dir, path, flags), EIO, EROFS)
PASS(mkdir, (const struct fl_fs *fs, int dir, const char *path, unsigned mode), (fs, dir, path, mode), ENOSPC, EROFS)
PASS(symlink, (const struct fl_fs *fs, const char *target, int dir, const char *path), (fs, target, dir, path), ENOSPC)
PASS(mknod, (const struct fl_fs *fs, int dir, const char *path, unsigned mode, uint64_t rdev),
     (fs, dir, path, mode, rdev), EPERM, EROFS, ENOSPC)
PASS(lock, (const struct fl_fs *fs, int fd, int how), (fs, fd, how), EWOULDBLOCK, ENOLCK)
PASS(lookup, (const struct fl_fs *fs, const char *host, struct fl_addr *ret, unsigned max), (fs, host, ret, max),
     EAGAIN, ENOENT, EIO)
PASS(notify_add, (const struct fl_fs *fs, int notify_fd, const char *path), (fs, notify_fd, path), ENOSPC, ENOMEM)

static int64_t fs_readlink(const struct fl_fs *fs, int dir, const char *path, char *buf, size_t len)
{
	MAY_FAIL(of_fs(fs), EIO);
	return of_fs(fs)->fs_below->readlink(of_fs(fs)->fs_below, dir, path, buf, len);
}

static int64_t fs_list(const struct fl_fs *fs, int fd, char *buf, size_t len)
{
	MAY_FAIL(of_fs(fs), EIO);
	return of_fs(fs)->fs_below->list(of_fs(fs)->fs_below, fd, buf, len);
}

struct fl_io *test_io(void)
{
	struct fl_sys *below = fl_posix_sys(NULL);
	struct test_sys *t = below ? fl_zalloc(sizeof *t) : NULL;

	if (!t) {
		if (below)
			below->free(below);
		return NULL;
	}
	t->below = below;
	t->fs_below = below->fs;
	t->last = &t->first;
	t->fs = (struct fl_fs){
		.open = fs_open, .open_in = fs_open_in, .close = fs_close, .read = fs_read, .write = fs_write,
		.pread = fs_pread, .pwrite = fs_pwrite, .fsync = fs_fsync, .fdatasync = fs_fdatasync,
		.truncate = fs_truncate, .chmod = fs_chmod, .stat = fs_stat, .rename = fs_rename, .link = fs_link,
		.unlink = fs_unlink, .mkdir = fs_mkdir, .symlink = fs_symlink, .mknod = fs_mknod,
		.readlink = fs_readlink,
		.mount_flags = fs_mount_flags, .cover = fs_cover, .list = fs_list, .lock = fs_lock,
		.lookup = fs_lookup, .notify_add = fs_notify_add,
	};
	t->sys = (struct fl_sys){
		.settle = settle, .free = free_sys, .fs = &t->fs, .now = now, .wall = wall, .random = random_bytes,
		.watch = watch, .wait = wait_events, .job_start = job_start, .job_drop = job_drop,
		.connect = connect_to, .connected = connected, .listen = listen_on, .accept = accept_from,
		.local_addr = local_addr, .peer_cred = peer_cred, .read = read_fd, .write = write_fd,
		.shutdown_write = shutdown_write, .close = close_fd, .pair = pair,
		.spawn = spawn, .reap = reap, .kill = send_signal, .process = process,
		.signals = signals, .signal_read = signal_read,
		.notify_open = notify_open, .notify_read = notify_read, .notify_drop = notify_drop,
	};
	return fl_io_new(&t->sys, NULL);
}

int test_io_open_fds(struct fl_io *io)
{
	struct test_sys *t = of(fl_io_sys(io));
	int count = 0;

	for (int fd = 0; fd < FDS; fd++)
		count += t->open[fd];
	return count;
}

/* ---- turning ---- */

enum { SECONDS = 10 };   /* for what takes a moment, on a machine that may do much else */

void test_op_done(struct fl_op *op)
{
	(void)op;
}

int64_t test_op(struct fl_io *io, struct fl_op *op)
{
	uint64_t until = fl_clock(io) + SECONDS * FL_NS_PER_S;

	op->done = test_op_done;
	while (fl_op_busy(op)) {
		if (fl_io_turn(io, until, NULL) < 0 || fl_clock(io) >= until) {
			fl_op_cancel(op);
			(void)test_check(false, "the operation does not end", __FILE__, __LINE__);
			return -FL_E_TIMEOUT;
		}
	}
	return op->result;
}

int test_turns(struct fl_io *io, const int *count, int want)
{
	uint64_t until = fl_clock(io) + SECONDS * FL_NS_PER_S;

	while (*count < want) {
		if (fl_io_turn(io, until, NULL) < 0 || fl_clock(io) >= until) {
			(void)test_check(false, "it does not happen", __FILE__, __LINE__);
			return -FL_E_TIMEOUT;
		}
	}
	return 0;
}

int test_pause(struct fl_io *io, uint64_t ns)
{
	uint64_t until = fl_clock(io) + ns;
	int r = 0;

	while (r == 0 && fl_clock(io) < until)
		r = fl_io_turn(io, until, NULL);
	return r;
}

/* ---- files past the seam ---- */

static char dirs[64][64];
static unsigned dir_count;

static void remove_tree(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	char below[4096];

	while (dir && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		(void)snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
		if (unlink(below) < 0)
			remove_tree(below);
	}
	if (dir)
		(void)closedir(dir);
	(void)rmdir(path);
}

static void remove_dirs(void)
{
	for (size_t i = 0; i < FL_LEN(dirs); i++)
		if (dirs[i][0])
			remove_tree(dirs[i]);
}

/* A torture run makes thousands; the oldest goes, which no test still uses. */
const char *test_dir(void)
{
	char *path = dirs[dir_count % FL_LEN(dirs)];

	if (dir_count++ == 0)
		(void)atexit(remove_dirs);
	if (path[0])
		remove_tree(path);
	(void)snprintf(path, sizeof dirs[0], "/tmp/fl-test-XXXXXX");
	if (!mkdtemp(path)) {
		perror("mkdtemp");
		abort();
	}
	return path;
}

const char *test_path(const char *dir, const char *name)
{
	static char paths[8][512];
	static unsigned next;
	char *path = paths[next++ % FL_LEN(paths)];

	(void)snprintf(path, sizeof paths[0], "%s/%s", dir, name);
	return path;
}

bool test_write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");
	bool ok = file && fputs(text, file) >= 0;

	return (file && fclose(file) == 0) && ok;
}

struct fl_str test_read_file(const char *path)
{
	static char text[65536];
	FILE *file = fopen(path, "re");
	size_t len;

	if (!file)
		return FL_S("(none)");
	len = fread(text, 1, sizeof text, file);
	(void)fclose(file);
	return (struct fl_str){ text, (uint32_t)len };
}
