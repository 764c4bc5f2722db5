/* fs.h - what may block: files, directories, name lookup.
 *
 * A table of primitives that returns when it is done, however long that takes. Straight-line code over it is allowed
 * where waiting is: at start-up, in commands, in child programs (fl_io_fs), and inside a job (job.h). From the loop
 * itself never: use the operations of file.h.
 *
 * Every call returns what the kernel's does, and a negated errno on failure (not a negated enum fl_code): words are
 * made from it with fl_fail_sys. EINTR is never returned. Reads and writes may be short. `dir` is an fd or AT_FDCWD;
 * flags are the kernel's (O_*, AT_*, RESOLVE_*, RENAME_*, LOCK_*). Fds are the seam's and are never inherited by a
 * child. Nothing here allocates with fl_alloc or touches the loop, so all of it may be called from a worker.
 */
#pragma once
#include "io/addr.h"
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>

#define FL_NAME_MAX 255   /* bytes of one name in a directory, as everywhere on Linux */

struct fl_stat {
	uint32_t mode, uid, gid, links;   /* mode with the kind of file: S_ISREG(mode) */
	uint64_t size, ino, dev, rdev;
	int64_t mtime, ctime;             /* ns since 1970 */
};

struct fl_fs {
	int (*open)(const struct fl_fs *fs, int dir, const char *path, int flags, unsigned mode);
	/* openat2: `resolve` keeps the path inside of `dir` (RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS, ...); -EXDEV,
	 * -ELOOP; -EAGAIN: renames or mounts raced with each of FL_OPEN_RACES_MAX walks */
	int (*open_in)(const struct fl_fs *fs, int dir, const char *path, int flags, unsigned mode, uint64_t resolve);
	void (*close)(const struct fl_fs *fs, int fd);
	int64_t (*read)(const struct fl_fs *fs, int fd, void *bytes, size_t len);
	int64_t (*write)(const struct fl_fs *fs, int fd, const void *bytes, size_t len);
	int64_t (*pread)(const struct fl_fs *fs, int fd, void *bytes, size_t len, uint64_t at);
	int64_t (*pwrite)(const struct fl_fs *fs, int fd, const void *bytes, size_t len, uint64_t at);
	/* Once one of these has failed, what was written before may be lost although a later one succeeds. */
	int (*fsync)(const struct fl_fs *fs, int fd);
	int (*fdatasync)(const struct fl_fs *fs, int fd);
	int (*truncate)(const struct fl_fs *fs, int fd, uint64_t size);
	int (*chmod)(const struct fl_fs *fs, int fd, unsigned mode);
	int (*stat)(const struct fl_fs *fs, int dir, const char *path, int flags, struct fl_stat *ret);

	int (*rename)(const struct fl_fs *fs, int from_dir, const char *from, int to_dir, const char *to,
		      unsigned flags);
	int (*link)(const struct fl_fs *fs, int from_dir, const char *from, int to_dir, const char *to);
	int (*unlink)(const struct fl_fs *fs, int dir, const char *path, int flags);
	int (*mkdir)(const struct fl_fs *fs, int dir, const char *path, unsigned mode);
	int (*symlink)(const struct fl_fs *fs, const char *target, int dir, const char *path);
	/* A character device with exactly this mode, whatever the umask. On failure one may be left. */
	int (*mknod)(const struct fl_fs *fs, int dir, const char *path, unsigned mode, uint64_t rdev);
	/* Bytes of the target, cut at len, not terminated. */
	int64_t (*readlink)(const struct fl_fs *fs, int dir, const char *path, char *buf, size_t len);

	/* ST_* of the mount that the fd lies on (statvfs): ST_NOEXEC, ST_RDONLY. */
	int64_t (*mount_flags)(const struct fl_fs *fs, int fd);
	/* Mount a read-only file with these bytes over the file NAME in the directory, for the caller's mount namespace
	 * alone. Only in /proc: -EXDEV elsewhere. Changes the process's working directory: for programs of one duty. */
	int (*cover)(const struct fl_fs *fs, int dir, const char *name, const void *bytes, size_t len);

	/* Some of the names in a directory opened with O_DIRECTORY, going on where the last call ended; 0 at the end.
	 * Walk them with fl_list_next. len >= FL_LIST_MIN. Neither "." nor ".." is among them. */
	int64_t (*list)(const struct fl_fs *fs, int fd, char *buf, size_t len);

	/* flock: LOCK_SH, LOCK_EX or LOCK_UN. Never waits: -EWOULDBLOCK when somebody else holds it. */
	int (*lock)(const struct fl_fs *fs, int fd, int how);

	/* Addresses of a host in the order in which to try them, ports 0; how many. -ENOENT: there is no such name;
	 * -EAGAIN: no name server answers now. */
	int (*lookup)(const struct fl_fs *fs, const char *host, struct fl_addr *ret, unsigned max);

	/* Watch a directory with what the loop's notify_open (io/sys.h) gave: a number >= 0, the same one for the same
	 * directory. -ENOSPC: no more watches. */
	int (*notify_add)(const struct fl_fs *fs, int notify_fd, const char *path);
};

#define FL_LIST_MIN 512

/* The next name of what list() put into `buf`: start with *at = 0; NULL at the end. *ret_type (may be NULL) is a DT_*,
 * DT_UNKNOWN where the file system does not say. */
const char *fl_list_next(const char *buf, size_t len, size_t *at, unsigned char *ret_type);

/* Whole transfers over the table: 0 or a negated errno. fl_fs_read_all stops at the end or when `len` is full and
 * returns how much. */
int fl_fs_write_all(const struct fl_fs *fs, int fd, const void *bytes, size_t len) FL_MUSTUSE;
int64_t fl_fs_read_all(const struct fl_fs *fs, int fd, void *bytes, size_t len) FL_MUSTUSE;

/* Removes all that is in a directory that others may write to, and not the directory. Links are not followed. It
 * removes
 * *most names at most, and counts them down: 0, or a negated errno, -E2BIG where more are left or folders are deeper
 * than FL_EMPTY_DEPTH_MAX, -EBUSY at a mount. */
int fl_fs_empty(const struct fl_fs *fs, int dir, uint32_t *most) FL_MUSTUSE;

struct fl_io;
const struct fl_fs *fl_io_fs(struct fl_io *io);
