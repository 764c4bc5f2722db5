/* fs.h - calls that may block: files, directories, name lookup.
 *
 * A table of calls that return when they are done, however long that takes. Use it where blocking is allowed: at
 * start-up, in commands, in child programs (fl_io_fs) and inside a job (job.h). Never on the loop: use the operations
 * of file.h there.
 *
 * Every call returns what the system call does, and a negated errno on failure (not a negated enum fl_code):
 * fl_fail_sys makes an error of it. EINTR is never returned. Reads and writes may be short. `dir` is an fd or AT_FDCWD;
 * flags are the kernel's (O_*, AT_*, RESOLVE_*, RENAME_*, LOCK_*). Fds belong to the seam; no child inherits them.
 * Nothing here allocates with fl_alloc or touches the loop, so a worker may call all of it.
 */
#pragma once
#include "io/addr.h"
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>

#define FL_OPEN_RACES_MAX 64         /* path walks that a rename or mount raced with; normally one is enough */

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
	/* Once one of these has failed, earlier writes may be lost although a later sync succeeds. */
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
	/* Mount a read-only file with these bytes over the file NAME in the directory, in the caller's mount namespace
	 * only. Only in /proc: -EXDEV elsewhere. Changes the process's working directory: for single-purpose
	 * programs. */
	int (*cover)(const struct fl_fs *fs, int dir, const char *name, const void *bytes, size_t len);

	/* Some of the names in a directory opened with O_DIRECTORY, from where the last call ended; 0 at the end. Walk
	 * them with fl_list_next. len >= FL_LIST_MIN. Neither "." nor ".." is among them. */
	int64_t (*list)(const struct fl_fs *fs, int fd, char *buf, size_t len);

	/* flock: LOCK_SH, LOCK_EX or LOCK_UN. Never waits: -EWOULDBLOCK when another process holds it. */
	int (*lock)(const struct fl_fs *fs, int fd, int how);

	/* Addresses of a host in the order in which to try them, ports 0; how many. -ENOENT: there is no such name;
	 * -EAGAIN: no name server answered. */
	int (*lookup)(const struct fl_fs *fs, const char *host, struct fl_addr *ret, unsigned max);

	/* Watch a directory with the fd of the loop's notify_open (io/sys.h). Returns a number >= 0, the same one for
	 * the same directory. -ENOSPC: no more watches. */
	int (*notify_add)(const struct fl_fs *fs, int notify_fd, const char *path);
};

#define FL_LIST_MIN 512   /* least size of list()'s buffer: the longest name fits */

/* The next name in the buffer that list() filled: start with *at = 0; NULL at the end. *ret_type (may be NULL) is a
 * DT_*, DT_UNKNOWN where the file system does not say. */
const char *fl_list_next(const char *buf, size_t len, size_t *at, unsigned char *ret_type);

/* Whole transfers over the table: 0 or a negated errno. fl_fs_read_all stops at the end or when `len` is full and
 * returns how much. */
int fl_fs_write_all(const struct fl_fs *fs, int fd, const void *bytes, size_t len) FL_MUSTUSE;
int64_t fl_fs_read_all(const struct fl_fs *fs, int fd, void *bytes, size_t len) FL_MUSTUSE;

/* Remove the content of a directory that others may write to, but not the directory. Symlinks are not followed, and
 * directories may be nested to any depth. It removes or moves at most `*most` names and counts them down. 0, or a
 * negated errno: -E2BIG when names are left, -EXDEV at a mount. What is removed stays removed after a failure. */
int fl_fs_empty(const struct fl_fs *fs, int dir, uint32_t *most) FL_MUSTUSE;

struct fl_io;
const struct fl_fs *fl_io_fs(struct fl_io *io);
