#include "io/posix.h"
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Mounts by fd alone: no path is walked twice, so none can be swapped meanwhile. */

static int result(long r)
{
	return (int)fl_sys_result(r);
}

/* An fd of a tmpfs that is mounted nowhere yet. */
static int new_tmpfs(void)
{
	int config = result(syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC)), root;

	if (config < 0)
		return config;
	root = result(syscall(SYS_fsconfig, config, FSCONFIG_CMD_CREATE, NULL, NULL, 0));
	if (root == 0)
		root = result(syscall(SYS_fsmount, config, FSMOUNT_CLOEXEC,
				      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
	(void)close(config);
	return root;
}

static int put_file(int dir, const char *name, const void *bytes, size_t len)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	int64_t n;

	if (fd < 0)
		return -errno;
	n = fl_sys_result(write(fd, bytes, len));
	if (n >= 0 && fchmod(fd, 0444) < 0)
		n = -errno;
	(void)close(fd);
	return n < 0 ? (int)n : (size_t)n == len ? 0 : -ENOSPC;
}

/* A mount of a single file of a mount. The kernel clones only what is mounted somewhere, so this hides the directory
 * for a moment. */
static int take_file(int root, int dir, const char *name)
{
	int tree, r = result(syscall(SYS_move_mount, root, "", dir, "",
				     MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH));

	if (r < 0)
		return r;
	tree = result(syscall(SYS_open_tree, root, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
	r = result(fchdir(root));
	if (r == 0)
		r = result(umount2(".", MNT_DETACH));
	(void)!chdir("/");
	if (r == 0 || tree < 0)
		return tree;
	(void)close(tree);
	return r;
}

static int mount_over(int tree, int dir, const char *name)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	int file = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), r;

	if (file < 0)
		return -errno;
	r = result(syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof attr));
	if (r == 0)
		r = result(syscall(SYS_move_mount, tree, "", file, "",
				   MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH));
	(void)close(file);
	return r;
}

int fl_posix_cover(const struct fl_fs *fs, int dir, const char *name, const void *bytes, size_t len)
{
	struct statfs stat;
	int root, tree = -1, r;

	(void)fs;
	if (fstatfs(dir, &stat) < 0)
		return -errno;
	if (stat.f_type != PROC_SUPER_MAGIC)
		return -EXDEV;
	root = new_tmpfs();
	if (root < 0)
		return root;
	r = put_file(root, name, bytes, len);
	if (r == 0)
		r = tree = take_file(root, dir, name);
	(void)close(root);
	if (tree >= 0) {
		r = mount_over(tree, dir, name);
		(void)close(tree);
	}
	return r;
}
