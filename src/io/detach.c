#include "io/detach.h"
#include "base/str.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { PATH_SIZE = 1024 };
#ifndef MS_NOSYMFOLLOW
#define MS_NOSYMFOLLOW 256     /* an older kernel ignores it */
#endif

/* ---- a cgroup of its own ---- */

/* A group of v1 without processors or memory takes no process. */
static void inherit(const char *group, const char *file)
{
	char from[PATH_SIZE + 64], to[PATH_SIZE + 64], bytes[256];
	const char *slash = strrchr(group, '/');
	ssize_t n = -1;
	int fd;

	if ((size_t)snprintf(from, sizeof from, "%.*s/%s", (int)(slash - group), group, file) >= sizeof from ||
	    (size_t)snprintf(to, sizeof to, "%s/%s", group, file) >= sizeof to)
		return;
	fd = open(from, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, bytes, sizeof bytes);
		(void)close(fd);
	}
	fd = n > 0 ? open(to, O_WRONLY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		(void)!write(fd, bytes, (size_t)n);
		(void)close(fd);
	}
}

static void join(const char *group)
{
	char path[PATH_SIZE + 64];
	int fd;

	if (mkdir(group, 0755) < 0 && errno != EEXIST)
		return;
	inherit(group, "cpuset.cpus");
	inherit(group, "cpuset.mems");
	(void)snprintf(path, sizeof path, "%s/cgroup.procs", group);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)!write(fd, "0", 1);
	(void)close(fd);
}

/* "4:memory:/system.slice/fairlead.service": a group beside it; of a Pod: above all Pods, whose groups end with
 * them. */
static void join_beside(char *line, const char *name)
{
	char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL, *end;
	char group[PATH_SIZE];

	if (!path)
		return;
	*path++ = '\0';
	controllers++;
	if (strncmp(controllers, "name=", 5) == 0)
		controllers += 5;
	path[strcspn(path, "\n")] = '\0';
	end = strstr(path, "/kubepods");
	if (!end)
		end = strrchr(path, '/');
	if (!end)
		return;
	*end = '\0';
	if ((size_t)snprintf(group, sizeof group, "/sys/fs/cgroup%s%s%s/%s", controllers[0] ? "/" : "", controllers,
			     path, name) < sizeof group)
		join(group);
}

static void leave_cgroup(const char *name)
{
	char bytes[8192], *line = bytes;
	int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof bytes - 1);

	if (fd >= 0)
		(void)close(fd);
	if (n <= 0)
		return;
	bytes[n] = '\0';
	while (line && *line) {
		char *next = strchr(line, '\n');

		if (next)
			*next++ = '\0';
		join_beside(line, name);
		line = next;
	}
}

/* ---- the daemon ---- */

/* Only system calls from here to the exec. A failure is reported by its errno and a text. */
__attribute__((noreturn)) static void become(const struct fl_detach *how, int status)
{
	const char *what = "begin a session";
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), failed;
	sigset_t none;

	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (how->cgroup)
		leave_cgroup(how->cgroup);
	if (null < 0 || setsid() < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
		goto fail;
	what = "mount its /dev/shm";
	if (how->shm && (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ||
			 mount(how->shm, "/dev/shm", NULL, MS_BIND, NULL) < 0))
		goto fail;
	what = "run the program";
	(void)close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
	(void)execve(how->path, (char *const *)how->argv, (char *const *)how->env);
fail:
	failed = errno;
	(void)!write(status, &failed, sizeof failed);
	(void)!write(status, what, strlen(what));
	_exit(127);
}

int fl_detach(const struct fl_detach *how, struct fl_err *err)
{
	struct {
		int failed;
		char what[64];
	} told = { 0 };
	int status[2], ended = 0;
	ssize_t n;
	pid_t pid;

	if (pipe2(status, O_CLOEXEC) < 0)
		return fl_fail_sys(err, errno, "start '%s'", how->path);
	pid = fork();
	if (pid == 0)
		become(how, status[1]);
	(void)close(status[1]);
	if (pid < 0) {
		(void)close(status[0]);
		return fl_fail_sys(err, errno, "start '%s'", how->path);
	}
	do
		n = read(status[0], &told, sizeof told - 1);
	while (n < 0 && errno == EINTR);
	(void)close(status[0]);
	while (waitpid(pid, &ended, 0) < 0 && errno == EINTR)
		;
	if (n >= (ssize_t)sizeof told.failed)
		return fl_fail_sys(err, told.failed, "start '%s': %s", how->path, told.what);
	if (ended)
		return fl_fail(err, FL_E_IO, "'%s' ended with %d", how->path,
			       WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended));
	return 0;
}

/* ---- of the host ---- */

int fl_detach_tmpfs(const char *path, const char *options, bool links, struct fl_err *err)
{
	unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC | (links ? 0 : MS_NOSYMFOLLOW);
	struct statfs is;

	if (statfs(path, &is) < 0)
		return fl_fail_sys(err, errno, "stat '%s'", path);
	{
		char above[PATH_SIZE];
		struct stat here, parent;

		if ((size_t)snprintf(above, sizeof above, "%s/..", path) >= sizeof above)
			return fl_fail(err, FL_E_TOOBIG, "'%s' is too long a path", path);
		if (stat(path, &here) == 0 && stat(above, &parent) == 0 && here.st_dev != parent.st_dev &&
		    is.f_type == TMPFS_MAGIC)
			return 0;
	}
	if (mount("fairlead", path, "tmpfs", flags, options) < 0)
		return fl_fail_sys(err, errno, "mount a tmpfs on '%s'", path);
	return 0;
}

int fl_detach_unmount(const char *path, struct fl_err *err)
{
	if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 && errno != EINVAL && errno != ENOENT)
		return fl_fail_sys(err, errno, "unmount '%s'", path);
	return 0;
}

int fl_detach_label(const char *path, struct fl_err *err)
{
	static const char label[] = "system_u:object_r:container_file_t:s0";

	if (access("/sys/fs/selinux/enforce", F_OK) < 0)
		return 0;
	if (lsetxattr(path, "security.selinux", label, sizeof label, 0) < 0)
		return fl_fail_sys(err, errno, "label '%s' container_file_t", path);
	return 0;
}
