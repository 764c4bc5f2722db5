#include "node/mps/launch.h"
#include "base/limits.h"
#include "base/names.h"
#include "io/detach.h"
#include <errno.h>
#include <stdio.h>

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

/* Of our user and that program, for this pipe directory: the pid is told by a file that Pods may write. */
static bool is_ours(const struct launch *l, int64_t pid)
{
	char path[FL_MPS_PATH_MAX], bytes[16 * 1024], want[FL_MPS_PATH_MAX + 64];
	struct fl_stat self = { 0 }, its = { 0 };
	int64_t n;

	(void)snprintf(want, sizeof want, "%s/self", l->how->proc);
	(void)snprintf(path, sizeof path, "%s/%lld", l->how->proc, (long long)pid);
	if (l->fs->stat(l->fs, AT_FDCWD, want, 0, &self) < 0 || l->fs->stat(l->fs, AT_FDCWD, path, 0, &its) < 0 ||
	    its.uid != self.uid)
		return false;
	(void)snprintf(path, sizeof path, "%s/%lld/comm", l->how->proc, (long long)pid);
	n = read_small(l->fs, path, bytes, sizeof bytes);
	/* The kernel keeps 15 bytes of a name. */
	if (n < 15 || strncmp(bytes, FL_MPS_PROGRAM, 15) != 0)
		return false;
	(void)snprintf(path, sizeof path, "%s/%lld/environ", l->how->proc, (long long)pid);
	(void)snprintf(want, sizeof want, "CUDA_MPS_PIPE_DIRECTORY=%s/pipe", l->dir);
	n = read_small(l->fs, path, bytes, sizeof bytes);
	for (const char *at = bytes; n > 0 && at < bytes + n; at += strlen(at) + 1)
		if (strcmp(at, want) == 0)
			return true;
	return false;
}

static int64_t find(const struct launch *l)
{
	struct path path;
	char bytes[32];
	int64_t n = read_small(l->fs, under(l, &path, "pipe/" FL_MPS_PROGRAM ".pid"), bytes, sizeof bytes), pid;

	if (n <= 0 || !fl_str_i64(fl_str_trim((struct fl_str){ bytes, (uint32_t)n }), &pid) || pid <= 1)
		return 0;
	return is_ours(l, pid) ? pid : 0;
}

static void print(const struct launch *l, int64_t pid, struct fl_buf *out)
{
	struct path path;
	char bytes[4096];
	int64_t n = read_small(l->fs, under(l, &path, ".started"), bytes, sizeof bytes);

	fl_buf_printf(out, "%lld\n%.*s\n", (long long)pid, (int)(n > 0 ? n : 0), bytes);
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
	static const char *const files[] = { ".started", "log/control.log", "log/server.log" };
	struct path path;

	for (size_t i = 0; i < FL_LEN(files); i++)
		if (remove_file(l, files[i]) < 0)
			return -(int)l->err->code;
	if (empty_pipe(l) < 0)
		return -(int)l->err->code;
	(void)l->fs->unlink(l->fs, AT_FDCWD, under(l, &path, "log"), AT_REMOVEDIR);   /* what is not ours stays */
	return 0;
}

static int start(const struct launch *l)
{
	char pipe[FL_MPS_PATH_MAX + 64], log[FL_MPS_PATH_MAX + 64], libraries[FL_MPS_PATH_MAX + 64];
	struct path shm, dir;
	const char *const argv[] = { l->how->program, "-d", NULL };
	const char *env[] = { pipe, log, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL,
			      NULL };
	const struct fl_detach how = { .path = l->how->program, .argv = argv, .env = env, .shm = shm.text,
				       .cgroup = "fairlead-mps" };

	(void)snprintf(shm.text, sizeof shm.text, "%s/shm", l->how->root);
	if (make(l, under(l, &dir, "log"), 0755) < 0 || make(l, shm.text, 0755) < 0 ||
	    make(l, under(l, &dir, "pipe"), 0755) < 0 || fl_detach_label(dir.text, l->err) < 0 ||
	    fl_detach_tmpfs(shm.text, l->err) < 0 || remove_file(l, ".started") < 0 ||
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
	int what = fl_name_find(&fl_mps_launch_names, how->what), r;
	int64_t pid;

	if (what < 0)
		return fl_fail(err, FL_E_INVALID, "'%.*s' is neither start, find nor clean", FL_ARG(how->what));
	if ((size_t)snprintf(l.dir, sizeof l.dir, "%s/%s", how->root, how->resource) >= sizeof l.dir)
		return fl_fail(err, FL_E_TOOBIG, "'%s' is too long a path", how->root);
	if (what == FL_MPS_LAUNCH_CLEAN)
		return clean(&l);
	pid = find(&l);
	if (!pid && what == FL_MPS_LAUNCH_START) {
		r = start(&l);
		if (r < 0)
			return r;
		pid = find(&l);
		if (!pid)
			return fl_fail(err, FL_E_RETRY, "it has not written its pid yet");
	}
	if (pid)
		print(&l, pid, out);
	return fl_buf_check(out, "what is known of the daemon", err);
}
