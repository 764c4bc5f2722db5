#include "node/gpu/driver_users.h"
#include "base/mem.h"
#include "node/host/driver_root.h"
#include "node/host/processes.h"
#include <errno.h>
#include <stdio.h>
#include <sys/sysmacros.h>

enum { MAJORS = 8 };                           /* of the driver: GPUs, unified memory, capabilities, switches, IMEX */

struct search {
	const struct fl_fs *fs;
	const char *dev_root;
	int proc;
	unsigned majors[MAJORS];               /* the driver's, by the kernel's list */
	uint32_t major_len;                    /* 0: it has none, so names decide */
	struct fl_driver_users *ret;
};

void fl_driver_users_add(const struct fl_fs *fs, int proc, const char *logs, const char *pid,
			 struct fl_driver_users *ret)
{
	char path[64], comm[FL_PROCESS_NAME], cgroup[4096], uid[FL_POD_UID], pod[FL_POD_NAME] = "";
	size_t at = strlen(ret->text);
	int len;

	if (ret->count++ >= FL_DRIVER_USERS_NAMED)
		return;
	fl_process_name(fs, proc, pid, comm);
	(void)snprintf(path, sizeof path, "%.20s/cgroup", pid);
	if (fl_cgroup_pod(fl_process_text(fs, proc, path, cgroup, sizeof cgroup), uid) &&
	    fl_pod_of_uid(fs, logs, uid, pod) <= 0)
		(void)snprintf(pod, sizeof pod, "UID %s", uid);
	len = snprintf(ret->text + at, sizeof ret->text - at, "%s%s (pid %.20s%s%.150s)", at ? ", " : "", comm, pid,
		       pod[0] ? ", Pod " : "", pod);
	if (len <= 0 || (size_t)len >= sizeof ret->text - at)
		ret->text[at] = '\0';
}

/* ---- who has it ---- */

static bool is_driver(const struct search *s, const char *target)
{
	static const char device[] = "/dev/nvidia";
	size_t root = s->dev_root ? strlen(s->dev_root) : 0;

	if (strncmp(target, device, sizeof device - 1) == 0)
		return true;
	return root > 1 && strncmp(target, s->dev_root, root) == 0 &&
	       strncmp(target + root, device, sizeof device - 1) == 0;
}

/* "195 nvidia", "511 nvidia-uvm" among the character devices. */
static void read_majors(struct search *s)
{
	char text[8192];
	struct fl_str rest = fl_process_text(s->fs, s->proc, "devices", text, sizeof text), line, number;
	uint64_t n;

	while (fl_str_split(&rest, '\n', &line) && !fl_str_starts(line, FL_S("Block"))) {
		line = fl_str_trim(line);
		if (!fl_str_split(&line, ' ', &number) || !fl_str_starts(line, FL_S("nvidia")) ||
		    !fl_str_u64(number, &n) || s->major_len == MAJORS)
			continue;
		s->majors[s->major_len++] = (unsigned)n;
	}
}

static bool is_major(const struct search *s, unsigned number)
{
	for (uint32_t i = 0; i < s->major_len; i++)
		if (s->majors[i] == number)
			return true;
	return false;
}

/* 1: it is of the driver; 0: it is not; or a negated errno. A container calls its nodes and files as it likes, so the
 * number decides. What is open is not asked for anything: it may lie on a file system that does not answer. */
static int64_t is_open(const struct search *s, int dir, const char *name)
{
	char target[FL_GPU_PATH_MAX + 32];
	struct fl_stat stat;
	int64_t got;

	if (s->major_len) {
		got = s->fs->stat(s->fs, dir, name, AT_STATX_DONT_SYNC, &stat);
		return got < 0 ? got : S_ISCHR(stat.mode) && is_major(s, major(stat.rdev));
	}
	got = s->fs->readlink(s->fs, dir, name, target, sizeof target - 1);
	target[got > 0 ? got : 0] = '\0';
	return got < 0 ? got : is_driver(s, target);
}

/* A process that has ended meanwhile has nothing open. */
static bool is_over(int64_t result)
{
	return result == -ENOENT || result == -ESRCH;
}

static bool has_driver(struct search *s, const char *pid)
{
	char path[64], list[2048];
	bool has = false, unread = false;
	uint32_t looked = 0;
	int64_t len = 0;
	int fd;

	(void)snprintf(path, sizeof path, "%.20s/fd", pid);
	fd = s->fs->open(s->fs, s->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	while (fd >= 0 && !has && looked < FL_DRIVER_USERS_FDS &&
	       (len = s->fs->list(s->fs, fd, list, sizeof list)) > 0) {
		const char *name;
		size_t at = 0;

		while (!has && (name = fl_list_next(list, (size_t)len, &at, NULL)) && looked++ < FL_DRIVER_USERS_FDS) {
			int64_t is = is_open(s, fd, name);

			unread |= is < 0 && !is_over(is);
			has = is > 0;
		}
	}
	if (fd >= 0)
		s->fs->close(s->fs, fd);
	unread |= (fd < 0 && !is_over(fd)) || (len < 0 && !is_over(len));
	s->ret->unread += !has && unread;
	s->ret->cut |= !has && looked >= FL_DRIVER_USERS_FDS;
	return has;
}

void fl_driver_users_find(const struct fl_fs *fs, const char *proc, const char *dev_root, const char *logs,
			  struct fl_driver_users *ret)
{
	struct search s = { .fs = fs, .dev_root = dev_root, .ret = ret };
	bool all = true;
	uint32_t looked = 0;
	char list[4096];
	int64_t len = 0;

	*ret = (struct fl_driver_users){ 0 };
	s.proc = fs->open(fs, AT_FDCWD, proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (s.proc >= 0)
		read_majors(&s);
	while (s.proc >= 0 && all && (len = fs->list(fs, s.proc, list, sizeof list)) > 0) {
		const char *name;
		size_t at = 0;

		while ((name = fl_list_next(list, (size_t)len, &at, NULL))) {
			if (name[0] < '1' || name[0] > '9')
				continue;
			all = looked++ < FL_DRIVER_USERS_PIDS;
			if (!all)
				break;
			if (has_driver(&s, name))
				fl_driver_users_add(fs, s.proc, logs, name, ret);
		}
	}
	ret->cut |= !all;
	ret->error = s.proc < 0 ? -s.proc : len < 0 ? (int)-len : 0;
	if (s.proc >= 0)
		fs->close(fs, s.proc);
}
