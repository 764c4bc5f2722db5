/* Who has the GPU driver open: a /proc of ours, in a temporary directory. */
#include "node/gpu/driver_users.h"
#include "node/host/processes.h"
#include "io/posix.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define UID_A "0a1b2c3d-1111-2222-3333-444455556666"
#define UID_A_SYSTEMD "0a1b2c3d_1111_2222_3333_444455556666"
#define UID_B "99999999-1111-2222-3333-444455556666"
#define UID_STATIC "0a1b2c3d1111222233334444555566aa"

static const struct {
	const char *says, *cgroup, *uid;
} cgroups[] = {
	{ "cgroupfs, v2", "0::/kubepods/burstable/pod" UID_A "/9f8e7d", UID_A },
	{ "cgroupfs, v1", "12:devices:/kubepods/pod" UID_A "/9f8e7d\n11:freezer:/", UID_A },
	{ "systemd", "0::/kubepods.slice/kubepods-pod" UID_A_SYSTEMD ".slice/cri-containerd-9f8e7d.scope", UID_A },
	{ "a static Pod", "0::/kubepods/besteffort/pod" UID_STATIC "/9f8e7d", UID_STATIC },
	{ "a service is no Pod", "0::/system.slice/nvidia-persistenced.service", NULL },
	{ "podman is no Pod", "0::/user.slice/libpod-0a1b2c3d.scope", NULL },
	{ "a UID that is cut is none", "0::/kubepods/pod0a1b2c3d-1111", NULL },
	{ "an empty file", "", NULL },
};

TEST(a_process_belongs_to_the_pod_that_its_cgroup_names)
{
	EACH_ROW (row, cgroups) {
		char uid[FL_POD_UID] = "";

		CHECK_INT(fl_cgroup_pod(fl_str(row->cgroup), uid), row->uid != NULL);
		CHECK(strcmp(uid, row->uid ? row->uid : "") == 0);
	}
}

struct tree {
	char top[64], proc[80], logs[80];
};

static void tree_auto_(struct tree *tree)
{
	char command[128];

	(void)snprintf(command, sizeof command, "rm -rf '%s'", tree->top);
	if (system(command) != 0)
		perror(command);
}

static bool write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");
	bool good = file && fputs(text, file) >= 0;

	return file && fclose(file) == 0 && good;
}

/* A process with one open file. */
static bool process(const struct tree *tree, int pid, const char *comm, const char *cgroup, const char *target)
{
	char path[200];

	(void)snprintf(path, sizeof path, "%s/%d", tree->proc, pid);
	if (mkdir(path, 0755) < 0)
		return false;
	(void)snprintf(path, sizeof path, "%s/%d/fd", tree->proc, pid);
	if (mkdir(path, 0755) < 0)
		return false;
	(void)snprintf(path, sizeof path, "%s/%d/fd/0", tree->proc, pid);
	if (symlink("/dev/null", path) < 0)
		return false;
	(void)snprintf(path, sizeof path, "%s/%d/fd/17", tree->proc, pid);
	if (symlink(target, path) < 0)
		return false;
	(void)snprintf(path, sizeof path, "%s/%d/comm", tree->proc, pid);
	if (!write_file(path, comm))
		return false;
	(void)snprintf(path, sizeof path, "%s/%d/cgroup", tree->proc, pid);
	return write_file(path, cgroup);
}

static bool tree_up(struct tree *tree)
{
	char path[200];

	(void)snprintf(tree->top, sizeof tree->top, "/tmp/driver-users-XXXXXX");
	if (!mkdtemp(tree->top))
		return false;
	(void)snprintf(tree->proc, sizeof tree->proc, "%s/proc", tree->top);
	(void)snprintf(tree->logs, sizeof tree->logs, "%s/logs", tree->top);
	(void)snprintf(path, sizeof path, "%s/logs/team_job_" UID_A, tree->top);
	return mkdir(tree->proc, 0755) == 0 && mkdir(tree->logs, 0755) == 0 && mkdir(path, 0755) == 0;
}

#define TREE(tree) \
	FL_AUTO(tree) struct tree tree = { .top = "" }; \
	struct fl_driver_users users; \
	CHECK(tree_up(&tree))
#define FIND(tree) fl_driver_users_find(&fl_posix_fs, (tree).proc, "/run/nvidia/driver", (tree).logs, &users)

static const struct {
	const char *says, *comm, *cgroup, *target, *text;
} processes[] = {
	{ "a process of a Pod", "python3\n", "0::/kubepods/pod" UID_A "/c", "/dev/nvidia0",
	  "python3 (pid 812, Pod team/job)" },
	{ "a Pod without a directory of logs is named by its UID", "python3\n", "0::/kubepods/pod" UID_STATIC "/c",
	  "/dev/nvidia-uvm", "python3 (pid 812, Pod UID " UID_STATIC ")" },
	{ "a service of the host", "nvidia-persiste\n", "0::/system.slice/x.service", "/dev/nvidiactl",
	  "nvidia-persiste (pid 812)" },
	{ "devices of a driver container", "dcgm\n", "0::/", "/run/nvidia/driver/dev/nvidia-caps/nvidia-cap1",
	  "dcgm (pid 812)" },
	{ "what a process calls itself does not break the line", "a\nb\x1b[0m\n", "0::/", "/dev/nvidia0",
	  "a?b??0m (pid 812)" },
	{ "nor pose as another process or Pod, nor as a command", "a, b (pid 1, '`)", "0::/", "/dev/nvidia0",
	  "a??b??pid?1????? (pid 812)" },
	{ "other files are not the driver's", "vim\n", "0::/", "/home/me/dev/nvidia0", "" },
};

TEST_ONCE(processes_that_have_the_driver_open_are_named)   /* real files */
{
	EACH_ROW (row, processes) {
		TREE(tree);
		CHECK(process(&tree, 812, row->comm, row->cgroup, row->target));
		FIND(tree);
		CHECK_STR(fl_str(users.text), row->text);
		CHECK_INT(users.count, row->text[0] ? 1 : 0);
		CHECK(!users.cut);
	}
}

/* The names are a container's own: it makes a node of the driver under another one, and calls a file of its own as the
 * driver's. */
TEST_ONCE(what_is_open_is_the_drivers_by_its_number)   /* real files */
{
	char path[100], file[120];

	TREE(tree);
	(void)snprintf(path, sizeof path, "%s/devices", tree.proc);
	CHECK(write_file(path, "Character devices:\n  1 mem\n  5 nvidia-frontend\n\nBlock devices:\n  1 nvidia-x\n"));
	(void)snprintf(path, sizeof path, "%s/dev", tree.top);
	(void)snprintf(file, sizeof file, "%s/nvidia0", path);
	CHECK(mkdir(path, 0755) == 0 && write_file(file, ""));
	CHECK(process(&tree, 812, "hidden\n", "0::/", "/dev/tty"));   /* major number 5 */
	CHECK(process(&tree, 813, "forged\n", "0::/", file));
	CHECK(process(&tree, 814, "away\n", "0::/", "/dev/nvidia-nowhere"));
	fl_driver_users_find(&fl_posix_fs, tree.proc, tree.top, tree.logs, &users);
	CHECK_STR(fl_str(users.text), "hidden (pid 812)");
	CHECK_INT(users.count, 1);
	CHECK_INT(users.unread, 0);
}

TEST_ONCE(many_processes_are_counted_and_the_first_are_named)   /* real files */
{
	uint32_t named = 0;

	TREE(tree);
	for (int i = 0; i < 40; i++)
		CHECK(process(&tree, 1000 + i, "worker-with-a-name-of-its-own\n", "0::/kubepods/pod" UID_A "/c",
			      "/dev/nvidia3"));
	FIND(tree);
	CHECK_INT(users.count, 40);
	for (const char *at = users.text; (at = strstr(at, "Pod team/job")) != NULL; at++)
		named++;
	CHECK_INT(named, FL_DRIVER_USERS_NAMED);
}

TEST_ONCE(a_proc_that_cannot_be_read_is_an_error_and_names_nobody)   /* real files */
{
	struct fl_driver_users users;

	fl_driver_users_find(&fl_posix_fs, "/nowhere", NULL, "/nowhere", &users);
	CHECK_INT(users.count, 0);
	CHECK_INT(users.error, ENOENT);
	CHECK_STR(fl_str(users.text), "");
}

/* Somebody else's process, to one who lacks CAP_SYS_PTRACE: its directory `fd` may not be opened, or its links not be
 * read; or it has just ended. */
struct other {
	struct fl_fs fs;
	const char *dir;
	int open_error, link_error, fd;
};

static int other_open(const struct fl_fs *fs, int at, const char *path, int flags, uint32_t mode)
{
	struct other *other = fl_container(fs, struct other, fs);
	bool is_it = strcmp(path, other->dir) == 0;
	int fd = is_it && other->open_error ? -other->open_error
					    : fl_posix_fs.open(&fl_posix_fs, at, path, flags, mode);

	if (is_it || fd == other->fd)
		other->fd = is_it ? fd : -1;
	return fd;
}

static int64_t other_readlink(const struct fl_fs *fs, int dir, const char *path, char *buf, size_t size)
{
	const struct other *other = fl_container(fs, struct other, fs);

	if (dir == other->fd && other->link_error)
		return -other->link_error;
	return fl_posix_fs.readlink(&fl_posix_fs, dir, path, buf, size);
}

static const struct {
	const char *says;
	int open_error, link_error;
	uint32_t unread, count;
} others[] = {
	{ "all may be read", 0, 0, 0, 2 },
	{ "its directory may not be opened", EACCES, 0, 1, 1 },
	{ "its links may not be read", 0, EACCES, 1, 1 },
	{ "it ended before its directory was opened", ENOENT, 0, 0, 1 },
	{ "it ended before its links were read", 0, ENOENT, 0, 1 },
	{ "it ended while its links were read", 0, ESRCH, 0, 1 },
};

TEST_ONCE(a_pod_s_uid_is_in_the_name_of_its_logs)   /* real files */
{
	static const char *const other[] = { "team_jo_" UID_B, "team2_job_" UID_B, "team_job2_" UID_B, "team_job" };
	char uid[FL_POD_UID], path[200];
	FL_AUTO(tree) struct tree tree = { .top = "" };

	CHECK(tree_up(&tree));
	for (size_t i = 0; i < FL_LEN(other); i++) {
		(void)snprintf(path, sizeof path, "%s/%s", tree.logs, other[i]);
		CHECK_INT(mkdir(path, 0755), 0);
	}
	CHECK_INT(fl_uid_of_pod(&fl_posix_fs, tree.logs, "team/job", uid), 1);
	CHECK_STR(fl_str(uid), UID_A);
	CHECK_INT(fl_uid_of_pod(&fl_posix_fs, tree.logs, "team/none", uid), 0);
	CHECK_STR(fl_str(uid), "");
	(void)snprintf(path, sizeof path, "%s/team_job_" UID_B, tree.logs);   /* which of them is meant is not known */
	CHECK_INT(mkdir(path, 0755), 0);
	CHECK_INT(fl_uid_of_pod(&fl_posix_fs, tree.logs, "team/job", uid), 0);
	CHECK_STR(fl_str(uid), "");
	CHECK(fl_uid_of_pod(&fl_posix_fs, "/nowhere", "team/job", uid) < 0);
}

TEST_ONCE(a_process_whose_files_may_not_be_read_is_counted_as_unread_and_not_as_free)   /* real files */
{
	EACH_ROW (row, others) {
		struct other other = { fl_posix_fs, "812/fd", row->open_error, row->link_error, -1 };

		other.fs.open = other_open;
		other.fs.readlink = other_readlink;
		TREE(tree);
		CHECK(process(&tree, 812, "python3\n", "0::/", "/dev/nvidia0"));
		CHECK(process(&tree, 813, "dcgm\n", "0::/", "/dev/nvidia0"));
		fl_driver_users_find(&other.fs, tree.proc, NULL, tree.logs, &users);
		CHECK_INT(users.unread, row->unread);
		CHECK_INT(users.count, row->count);
		CHECK_INT(users.error, 0);
	}
}

TEST_ONCE(a_process_with_more_files_than_are_looked_at_is_not_free)   /* real files */
{
	char path[200];

	TREE(tree);
	CHECK(process(&tree, 812, "python3\n", "0::/", "/dev/null"));
	FIND(tree);
	CHECK(!users.cut);
	for (int i = 100; i < 100 + FL_DRIVER_USERS_FDS; i++) {
		(void)snprintf(path, sizeof path, "%s/812/fd/%d", tree.proc, i);
		CHECK_INT(symlink("/dev/null", path), 0);
	}
	FIND(tree);
	CHECK_INT(users.count, 0);
	CHECK(users.cut);
}
