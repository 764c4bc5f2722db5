#include "node/mps/launch.h"
#include "base/names.h"
#include "io/detach.h"
#include <errno.h>
#include <stdio.h>

#define FL_MPS_LEFT_MAX 10000                /* names that Pods have left beside a daemon: a second's work */
/* The daemon has one file with bytes, its pid, and a few sockets and pipes; 4096 names are 4 MiB of the kernel's. */
#define FL_MPS_PIPE_TMPFS "mode=0755,size=1m,nr_inodes=4096"
#define FL_MPS_SHM_TMPFS "mode=1777,size=50%"

FL_NAMES(fl_mps_launch_names, FL_MPS_LAUNCH_COUNT_, [FL_MPS_LAUNCH_START] = "start", [FL_MPS_LAUNCH_FIND] = "find",
	 [FL_MPS_LAUNCH_CLEAN] = "clean");

struct launch {
	const struct fl_fs *fs;
	const struct fl_mps_launch *how;
	char dir[FL_MPS_PATH_MAX];             /* of the resource */
	struct fl_err *err;
};

struct path {
	char text[FL_MPS_PATH_MAX + 64];
};

static const char *under(const struct launch *l, struct path *path, const char *name)
{
	(void)snprintf(path->text, sizeof path->text, "%s/%s", l->dir, name);
	return path->text;
}

/* Bytes of a small file; < 0: a negated errno. */
static int64_t read_small(const struct fl_fs *fs, const char *path, char *bytes, size_t size)
{
	int fd = fs->open(fs, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	int64_t n = fd;

	if (fd >= 0) {
		n = fl_fs_read_all(fs, fd, bytes, size - 1);
		fs->close(fs, fd);
	}
	bytes[n > 0 ? n : 0] = '\0';
	return n;
}

/* ---- is there one? ---- */

struct process {
	int64_t pid, start;
};

/* /proc/PID/stat: the process's name is the 2nd field, and may hold anything. */
int64_t fl_mps_start_time(struct fl_str stat)
{
	enum { STATE = 3, START = 22 };
	struct fl_str field = { 0 };
	int64_t start;
	uint32_t at = stat.len;

	while (at && stat.p[at - 1] != ')')
		at--;
	if (!at || at == stat.len)
		return 0;
	stat = fl_str_sub(stat, at + 1, stat.len);
	for (int i = STATE; i <= START; i++)
		if (!fl_str_split(&stat, ' ', &field))
			return 0;
	return fl_str_i64(field, &start) ? start : 0;
}

/* Of a file of the process: bytes, < 0 a negated errno. */
static int64_t read_of(const struct launch *l, int64_t pid, const char *name, char *bytes, size_t size)
{
	char path[FL_MPS_PATH_MAX];

	(void)snprintf(path, sizeof path, "%s/%lld/%s", l->how->proc, (long long)pid, name);
	return read_small(l->fs, path, bytes, size);
}

static int stat_of(const struct launch *l, int64_t pid, const char *name, struct fl_stat *ret)
{
	char path[FL_MPS_PATH_MAX];

	if (pid)
		(void)snprintf(path, sizeof path, "%s/%lld/%s", l->how->proc, (long long)pid, name);
	else
		(void)snprintf(path, sizeof path, "%s/self/%s", l->how->proc, name);
	return l->fs->stat(l->fs, AT_FDCWD, path, 0, ret);
}

static bool same_file(const struct fl_stat *a, const struct fl_stat *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

/* Words that end with a zero byte each. */
static bool has_word(const char *bytes, int64_t n, const char *word)
{
	for (const char *at = bytes; n > 0 && at < bytes + n; at += strlen(at) + 1)
		if (strcmp(at, word) == 0)
			return true;
	return false;
}

/* Of our user and of that name. A Pod can choose both. */
static bool has_name(const struct launch *l, int64_t pid)
{
	struct fl_stat self = { 0 }, its = { 0 };
	char bytes[64];
	int64_t n = read_of(l, pid, "comm", bytes, sizeof bytes);

	/* The kernel keeps 15 bytes of a name. */
	return n >= 15 && strncmp(bytes, FL_MPS_PROGRAM, 15) == 0 && stat_of(l, 0, "", &self) == 0 &&
	       stat_of(l, pid, "", &its) == 0 && its.uid == self.uid;
}

/* For this pipe directory. A Pod can choose that, and also where its memory with the text comes from: reading it may
 * take for ever. */
static bool has_directory(const struct launch *l, int64_t pid)
{
	char bytes[16 * 1024], want[FL_MPS_PATH_MAX + 64];

	(void)snprintf(want, sizeof want, "CUDA_MPS_PIPE_DIRECTORY=%s/pipe", l->dir);
	return has_word(bytes, read_of(l, pid, "environ", bytes, sizeof bytes), want);
}

/* What a Pod cannot choose, though it has the driver's program too: the very file, and no PID namespace of its own.
 * Clients of the daemon run that file as well, without -d. */
static bool is_started_here(const struct launch *l, int64_t pid)
{
	struct fl_stat a = { 0 }, b = { 0 };
	char bytes[1024];

	if (stat_of(l, pid, "exe", &a) < 0 || l->fs->stat(l->fs, AT_FDCWD, l->how->program, 0, &b) < 0 ||
	    !same_file(&a, &b))
		return false;
	if (stat_of(l, pid, "ns/pid", &a) < 0 || stat_of(l, 0, "ns/pid", &b) < 0 || !same_file(&a, &b))
		return false;
	return has_word(bytes, read_of(l, pid, "cmdline", bytes, sizeof bytes), "-d");
}

/* The start time is read first: whoever has the pid by the time that it is opened is compared with it again. */
static bool is_ours(const struct launch *l, int64_t pid, int64_t start, struct process *ret)
{
	char bytes[1024];
	int64_t n = pid > 1 ? read_of(l, pid, "stat", bytes, sizeof bytes) : 0;

	ret->pid = pid;
	ret->start = fl_mps_start_time((struct fl_str){ bytes, n > 0 ? (uint32_t)n : 0 });
	if (!ret->start || (start && ret->start != start))
		return false;
	return has_name(l, pid) && (start || is_started_here(l, pid)) && has_directory(l, pid);
}

/* What we wrote when it was started: no Pod can change it, and it names a daemon whose program was replaced since. */
static bool find_remembered(const struct launch *l, struct process *ret)
{
	struct path path;
	char bytes[64];
	int64_t n = read_small(l->fs, under(l, &path, ".daemon"), bytes, sizeof bytes), pid, start;
	struct fl_str rest = { bytes, n > 0 ? (uint32_t)n : 0 }, word;

	rest = fl_str_trim(rest);
	return fl_str_split(&rest, ' ', &word) && fl_str_i64(word, &pid) && fl_str_i64(rest, &start) && start &&
	       is_ours(l, pid, start, ret);
}

/* The daemon's own file, in the directory that Pods write to: they may have put a link, a pipe or a device there, whose
 * opening alone may do harm. */
static int64_t read_pid_file(const struct launch *l, char *bytes, size_t size)
{
	const struct fl_fs *fs = l->fs;
	struct fl_stat dir = { 0 }, file = { 0 };
	struct path path;
	int at = fs->open(fs, AT_FDCWD, under(l, &path, "pipe"), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	int fd = at < 0 ? at : fs->open(fs, at, FL_MPS_PROGRAM ".pid", O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	int64_t n = fd;

	if (fd >= 0 && fs->stat(fs, at, "", AT_EMPTY_PATH, &dir) == 0 &&
	    fs->stat(fs, fd, "", AT_EMPTY_PATH, &file) == 0 && S_ISREG(file.mode) && file.dev == dir.dev) {
		(void)snprintf(path.text, sizeof path.text, "%s/self/fd/%d", l->how->proc, fd);
		n = read_small(fs, path.text, bytes, size);
	} else if (fd >= 0) {
		n = -EINVAL;
	}
	if (fd >= 0)
		fs->close(fs, fd);
	if (at >= 0)
		fs->close(fs, at);
	return n;
}

static bool find_by_pid_file(const struct launch *l, struct process *ret)
{
	char bytes[32];
	int64_t n = read_pid_file(l, bytes, sizeof bytes), pid;

	return n > 0 && fl_str_i64(fl_str_trim((struct fl_str){ bytes, (uint32_t)n }), &pid) && is_ours(l, pid, 0, ret);
}

static int find_among_all(const struct launch *l, struct process *ret)
{
	int fd = l->fs->open(l->fs, AT_FDCWD, l->how->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	char buf[4096];
	const char *name;
	bool found = false;
	int64_t len = fd, pid;

	while (fd >= 0 && !found && (len = l->fs->list(l->fs, fd, buf, sizeof buf)) > 0)
		for (size_t at = 0; !found && (name = fl_list_next(buf, (size_t)len, &at, NULL));)
			found = fl_str_i64(fl_str(name), &pid) && is_ours(l, pid, 0, ret);
	if (fd >= 0)
		l->fs->close(l->fs, fd);
	return len < 0 ? fl_fail_sys(l->err, (int)-len, "look for an MPS control daemon in '%s'", l->how->proc) : found;
}

/* 1: there is one; 0: there is none. */
static int find_process(const struct launch *l, struct process *ret)
{
	return find_remembered(l, ret) || find_by_pid_file(l, ret) ? 1 : find_among_all(l, ret);
}

static int remember(const struct launch *l, const struct process *process)
{
	struct path path, temporary;
	char text[64];
	int n = snprintf(text, sizeof text, "%lld %lld\n", (long long)process->pid, (long long)process->start);
	int fd = l->fs->open(l->fs, AT_FDCWD, under(l, &temporary, ".daemon.new"),
			     O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int r = fd;

	if (fd >= 0) {
		r = fl_fs_write_all(l->fs, fd, text, (size_t)n);
		l->fs->close(l->fs, fd);
	}
	if (r == 0)
		r = l->fs->rename(l->fs, AT_FDCWD, temporary.text, AT_FDCWD, under(l, &path, ".daemon"), 0);
	return r < 0 ? fl_fail_sys(l->err, -r, "write '%s/.daemon'", l->dir) : 0;
}

/* Whoever ends this cgroup, as a runtime does with a container's, ends the daemon too. */
static bool is_in_our_cgroup(const struct launch *l, int64_t pid)
{
	char path[FL_MPS_PATH_MAX], its[4096], own[4096];
	int64_t n = read_of(l, pid, "cgroup", its, sizeof its);

	(void)snprintf(path, sizeof path, "%s/self/cgroup", l->how->proc);
	return n > 0 && read_small(l->fs, path, own, sizeof own) == n && memcmp(its, own, (size_t)n) == 0;
}

static void print(const struct launch *l, const struct process *process, struct fl_buf *out)
{
	struct path path;
	char bytes[4096];
	int64_t n = read_small(l->fs, under(l, &path, ".started"), bytes, sizeof bytes);

	fl_buf_printf(out, "%lld %lld%s\n%.*s\n", (long long)process->pid, (long long)process->start,
		      is_in_our_cgroup(l, process->pid) ? " " FL_MPS_INSIDE : "", (int)(n > 0 ? n : 0), bytes);
}

/* ---- its directories ---- */

/* All of them, however many. */
static int make(const struct launch *l, const char *path, unsigned mode)
{
	char part[FL_MPS_PATH_MAX + 64];
	int r = 0;

	for (size_t i = 1; r == 0 && i <= strlen(path); i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		(void)snprintf(part, sizeof part, "%.*s", (int)i, path);
		r = l->fs->mkdir(l->fs, AT_FDCWD, part, mode);
		r = r == -EEXIST ? 0 : r;
	}
	return r < 0 ? fl_fail_sys(l->err, -r, "make the directory '%s'", path) : 0;
}

static int remove_file(const struct launch *l, const char *name)
{
	struct path path;
	int r = l->fs->unlink(l->fs, AT_FDCWD, under(l, &path, name), 0);

	return r < 0 && r != -ENOENT ? fl_fail_sys(l->err, -r, "remove '%s'", path.text) : 0;
}

/* What a daemon left, and what Pods have put beside it: the directory is theirs too, and a name that the next daemon
 * needs may be a directory now. */
static int empty_pipe(const struct launch *l)
{
	uint32_t most = FL_MPS_LEFT_MAX;
	struct path path;
	int fd = l->fs->open(l->fs, AT_FDCWD, under(l, &path, "pipe"),
			     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	int r = fd;

	if (fd >= 0) {
		r = fl_fs_empty(l->fs, fd, &most);
		l->fs->close(l->fs, fd);
	}
	if (r < 0 && r != -ENOENT)
		return fl_fail_sys(l->err, -r, "empty '%s', which Pods may write to (remove it by hand)", path.text);
	return 0;
}

static int clean(const struct launch *l)
{
	static const char *const files[] = { ".started", ".daemon", ".daemon.new", "log/control.log",
					     "log/server.log" };
	struct process process;
	struct path path;
	int there = find_process(l, &process);

	if (there < 0)
		return there;
	if (there)
		return fl_fail(l->err, FL_E_RETRY, "an MPS control daemon (process %lld) still runs",
			       (long long)process.pid);
	for (size_t i = 0; i < FL_LEN(files); i++)
		if (remove_file(l, files[i]) < 0)
			return -(int)l->err->code;
	/* Below the tmpfs there may be what Pods left in the plain directory of a former agent. */
	if (fl_detach_unmount(under(l, &path, "pipe"), l->err) < 0 || empty_pipe(l) < 0)
		return -(int)l->err->code;
	(void)l->fs->unlink(l->fs, AT_FDCWD, under(l, &path, "log"), AT_REMOVEDIR);   /* what is not ours stays */
	return 0;
}

/* `pipe` is a file system of its own: Pods that fill it harm no other, and no link of theirs leads the daemon out of
 * it. It stays as long as Pods may have it, over the daemon's end and ours: they see the next daemon in it. */
static int make_directories(const struct launch *l, const char *shm)
{
	struct path log, pipe;

	if (make(l, under(l, &log, "log"), 0755) < 0 || make(l, shm, 0755) < 0 ||
	    make(l, under(l, &pipe, "pipe"), 0755) < 0 ||
	    fl_detach_tmpfs(pipe.text, FL_MPS_PIPE_TMPFS, false, l->err) < 0 ||
	    fl_detach_label(pipe.text, l->err) < 0 || fl_detach_tmpfs(shm, FL_MPS_SHM_TMPFS, true, l->err) < 0)
		return -(int)l->err->code;
	return 0;
}

static int start(const struct launch *l)
{
	char pipe[FL_MPS_PATH_MAX + 64], log[FL_MPS_PATH_MAX + 64], libraries[FL_MPS_PATH_MAX + 64];
	struct path shm;
	const char *const argv[] = { l->how->program, "-d", NULL };
	const char *env[] = { pipe, log, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL,
			      NULL };
	const struct fl_detach how = { .path = l->how->program, .argv = argv, .env = env, .shm = shm.text,
				       .cgroup = "fairlead-mps" };

	(void)snprintf(shm.text, sizeof shm.text, "%s/shm", l->how->root);
	if (make_directories(l, shm.text) < 0 || remove_file(l, ".started") < 0 || remove_file(l, ".daemon") < 0 ||
	    empty_pipe(l) < 0)
		return -(int)l->err->code;
	(void)snprintf(pipe, sizeof pipe, "CUDA_MPS_PIPE_DIRECTORY=%s/pipe", l->dir);
	(void)snprintf(log, sizeof log, "CUDA_MPS_LOG_DIRECTORY=%s/log", l->dir);
	(void)snprintf(libraries, sizeof libraries, "LD_LIBRARY_PATH=%s", l->how->libraries ? l->how->libraries : "");
	if (l->how->libraries && l->how->libraries[0])
		env[3] = libraries;
	return fl_detach(&how, l->err);
}

int fl_mps_launch(const struct fl_fs *fs, const struct fl_mps_launch *how, struct fl_buf *out, struct fl_err *err)
{
	struct launch l = { .fs = fs, .how = how, .err = err };
	int what = fl_name_find(&fl_mps_launch_names, how->what);
	struct process process;
	int found;

	if (what < 0)
		return fl_fail(err, FL_E_INVALID, "'%.*s' is neither start, find nor clean", FL_ARG(how->what));
	if ((size_t)snprintf(l.dir, sizeof l.dir, "%s/%s", how->root, how->resource) >= sizeof l.dir)
		return fl_fail(err, FL_E_TOOBIG, "'%s' is too long a path", how->root);
	if (what == FL_MPS_LAUNCH_CLEAN)
		return clean(&l);
	found = find_process(&l, &process);
	if (found == 0 && what == FL_MPS_LAUNCH_START) {
		if (start(&l) < 0)
			return -(int)err->code;
		found = find_process(&l, &process);
		if (found == 0)
			return fl_fail(err, FL_E_RETRY, "the MPS control daemon that was started is not seen yet");
	}
	if (found < 0)
		return found;
	if (found && what == FL_MPS_LAUNCH_START && remember(&l, &process) < 0)
		return -(int)err->code;
	if (found)
		print(&l, &process, out);
	return fl_buf_check(out, "what is known of the daemon", err);
}
