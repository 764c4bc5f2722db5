/* Unified memory's device nodes: nothing else makes them before the first program uses CUDA, and a container in a user
 * namespace gets device nodes by bind mounts of the host's. */
#include "node/host/scan.h"
#include <errno.h>
#include <stdio.h>
#include <sys/sysmacros.h>

enum { PATH = 2 * FL_HOST_PATH_MAX };

/* Whole or not at all: it gets its name when it has its mode. */
static int make(const struct fl_fs *fs, int dir, const char *name, uint64_t rdev)
{
	char temp[FL_HOST_NAME_MAX];
	int r;

	(void)snprintf(temp, sizeof temp, ".%s.fairlead", name);
	r = fs->unlink(fs, dir, temp, 0);
	if (r == 0 || r == -ENOENT)
		r = fs->mknod(fs, dir, temp, FL_HOST_UVM_MODE, rdev);
	if (r == 0)
		r = fs->rename(fs, dir, temp, dir, name, RENAME_NOREPLACE);
	if (r < 0)
		(void)fs->unlink(fs, dir, temp, 0);
	return r;
}

static int make_one(const struct fl_fs *fs, int dir, const char *path, const char *name, uint64_t rdev,
		    struct fl_err *err)
{
	struct fl_stat stat = { 0 };
	int r = fs->stat(fs, dir, name, 0, &stat);

	if (r == -ENOENT) {
		r = make(fs, dir, name, rdev);
		if (r == 0)
			return 0;
		if (r != -EEXIST)
			return fl_fail_sys(err, -r,
					   "make the device node '%s/%s' (needs a writable /dev and CAP_MKNOD; or run "
					   "nvidia-modprobe -u -c 0)",
					   path, name);
		r = fs->stat(fs, dir, name, 0, &stat);   /* a link to nothing, or somebody was faster */
	}
	if (r < 0 && r != -ENOENT)
		return fl_fail_sys(err, -r, "look at '%s/%s'", path, name);
	if (r == 0 && S_ISCHR(stat.mode) && stat.rdev == rdev)
		return 0;
	return fl_fail(err, FL_E_EXISTS, "'%s/%s' is not the character device %u:%u: remove it, and the agent makes it",
		       path, name, major(rdev), minor(rdev));
}

int fl_host_make_nodes(const struct fl_fs *fs, const struct fl_host_scan *scan, struct fl_err *err)
{
	char path[PATH];
	int dir, r = 0;

	if (!scan->uvm_major)
		return 0;
	if (!fl_root_join(path, sizeof path, scan->nodes_root, "/dev"))
		return fl_fail(err, FL_E_TOOBIG, "the path of /dev is too long to make device nodes there");
	dir = fs->open(fs, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (dir < 0)
		return fl_fail_sys(err, -dir, "open '%s'", path);
	for (uint32_t i = 0; i < FL_LEN(fl_host_uvm_nodes) && r == 0; i++)
		r = make_one(fs, dir, path, fl_host_uvm_nodes[i], makedev(scan->uvm_major, i), err);
	fs->close(fs, dir);
	return r;
}
