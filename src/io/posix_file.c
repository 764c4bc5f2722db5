#include "io/posix.h"
#include <dirent.h>
#include <sys/inotify.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNUSED_FS (void)fs

static int open_at(const struct fl_fs *fs, int dir, const char *path, int flags, unsigned mode)
{
	UNUSED_FS;
	return (int)fl_sys_result(FL_SYS_RETRY(openat(dir, path, flags | O_CLOEXEC, mode)));
}

static int open_in(const struct fl_fs *fs, int dir, const char *path, int flags, unsigned mode, uint64_t resolve)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC), .mode = flags & O_CREAT ? mode : 0, .resolve = resolve
	};
	long r;

	UNUSED_FS;
	/* EAGAIN: a rename or a mount raced with the walk, and the kernel cannot tell whether it stayed inside. Endless
	 * renames must not hold up the caller. */
	for (unsigned races = 0;; races += errno == EAGAIN) {
		r = syscall(SYS_openat2, dir, path, &how, sizeof how);
		if (r >= 0 || (errno != EINTR && errno != EAGAIN) || races == FL_OPEN_RACES_MAX)
			return (int)fl_sys_result(r);
	}
}

static void close_file(const struct fl_fs *fs, int fd)
{
	UNUSED_FS;
	(void)close(fd);
}

static int64_t read_file(const struct fl_fs *fs, int fd, void *bytes, size_t len)
{
	UNUSED_FS;
	return fl_sys_result(FL_SYS_RETRY(read(fd, bytes, len)));
}

static int64_t write_file(const struct fl_fs *fs, int fd, const void *bytes, size_t len)
{
	UNUSED_FS;
	return fl_sys_result(FL_SYS_RETRY(write(fd, bytes, len)));
}

static int64_t pread_file(const struct fl_fs *fs, int fd, void *bytes, size_t len, uint64_t at)
{
	UNUSED_FS;
	return fl_sys_result(FL_SYS_RETRY(pread(fd, bytes, len, (off_t)at)));
}

static int64_t pwrite_file(const struct fl_fs *fs, int fd, const void *bytes, size_t len, uint64_t at)
{
	UNUSED_FS;
	return fl_sys_result(FL_SYS_RETRY(pwrite(fd, bytes, len, (off_t)at)));
}

static int sync_file(const struct fl_fs *fs, int fd)
{
	UNUSED_FS;
	return (int)fl_sys_result(FL_SYS_RETRY(fsync(fd)));
}

static int sync_data(const struct fl_fs *fs, int fd)
{
	UNUSED_FS;
	return (int)fl_sys_result(FL_SYS_RETRY(fdatasync(fd)));
}

static int truncate_file(const struct fl_fs *fs, int fd, uint64_t size)
{
	UNUSED_FS;
	return (int)fl_sys_result(FL_SYS_RETRY(ftruncate(fd, (off_t)size)));
}

static int chmod_file(const struct fl_fs *fs, int fd, unsigned mode)
{
	UNUSED_FS;
	return (int)fl_sys_result(FL_SYS_RETRY(fchmod(fd, mode)));
}

static int64_t mount_flags(const struct fl_fs *fs, int fd)
{
	struct statvfs stat;

	UNUSED_FS;
	return FL_SYS_RETRY(fstatvfs(fd, &stat)) < 0 ? -errno : (int64_t)stat.f_flag;
}

static int64_t ns_of(struct timespec t)
{
	return (int64_t)t.tv_sec * (int64_t)FL_NS_PER_S + t.tv_nsec;
}

static int stat_file(const struct fl_fs *fs, int dir, const char *path, int flags, struct fl_stat *ret)
{
	struct stat s;

	UNUSED_FS;
	if (FL_SYS_RETRY(fstatat(dir, path, &s, flags)) < 0)
		return -errno;
	*ret = (struct fl_stat){
		.mode = s.st_mode, .uid = s.st_uid, .gid = s.st_gid, .links = (uint32_t)s.st_nlink,
		.size = (uint64_t)s.st_size, .ino = s.st_ino, .dev = s.st_dev, .rdev = s.st_rdev,
		.mtime = ns_of(s.st_mtim), .ctime = ns_of(s.st_ctim),
	};
	return 0;
}

static int rename_file(const struct fl_fs *fs, int from_dir, const char *from, int to_dir, const char *to,
		       unsigned flags)
{
	UNUSED_FS;
	return (int)fl_sys_result(FL_SYS_RETRY(renameat2(from_dir, from, to_dir, to, flags)));
}

static int link_file(const struct fl_fs *fs, int from_dir, const char *from, int to_dir, const char *to)
{
	UNUSED_FS;
	return (int)fl_sys_result(FL_SYS_RETRY(linkat(from_dir, from, to_dir, to, 0)));
}

static int unlink_file(const struct fl_fs *fs, int dir, const char *path, int flags)
{
	UNUSED_FS;
	return (int)fl_sys_result(FL_SYS_RETRY(unlinkat(dir, path, flags)));
}

static int make_dir(const struct fl_fs *fs, int dir, const char *path, unsigned mode)
{
	UNUSED_FS;
	return (int)fl_sys_result(FL_SYS_RETRY(mkdirat(dir, path, mode)));
}

static int make_symlink(const struct fl_fs *fs, const char *target, int dir, const char *path)
{
	UNUSED_FS;
	return (int)fl_sys_result(FL_SYS_RETRY(symlinkat(target, dir, path)));
}

static int make_node(const struct fl_fs *fs, int dir, const char *path, unsigned mode, uint64_t rdev)
{
	int r = (int)fl_sys_result(FL_SYS_RETRY(mknodat(dir, path, S_IFCHR | mode, rdev))), fd;
	char opened[32];
	struct stat is;

	UNUSED_FS;
	if (r < 0)
		return r;
	/* Regardless of the umask; and not by its name, which may be a symlink by now. */
	fd = (int)fl_sys_result(FL_SYS_RETRY(openat(dir, path, O_PATH | O_NOFOLLOW | O_CLOEXEC)));
	if (fd < 0)
		return fd;
	(void)snprintf(opened, sizeof opened, "/proc/self/fd/%d", fd);
	r = (int)fl_sys_result(FL_SYS_RETRY(fstat(fd, &is)));
	if (r == 0 && (!S_ISCHR(is.st_mode) || is.st_rdev != rdev))
		r = -EEXIST;
	if (r == 0)
		r = (int)fl_sys_result(FL_SYS_RETRY(chmod(opened, mode)));
	(void)close(fd);
	return r;
}

static int64_t read_symlink(const struct fl_fs *fs, int dir, const char *path, char *buf, size_t len)
{
	UNUSED_FS;
	return fl_sys_result(FL_SYS_RETRY(readlinkat(dir, path, buf, len)));
}

/* Convert the kernel's records in place: ours are always shorter. */
static size_t compact(char *buf, size_t len)
{
	size_t out = 0;

	for (size_t at = 0; at < len;) {
		unsigned short record;
		unsigned char type = (unsigned char)buf[at + offsetof(struct dirent64, d_type)];
		const char *name = buf + at + offsetof(struct dirent64, d_name);
		size_t name_len = strlen(name);

		memcpy(&record, buf + at + offsetof(struct dirent64, d_reclen), sizeof record);
		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
			memmove(buf + out + 1, name, name_len + 1);
			buf[out] = (char)type;
			out += 1 + name_len + 1;
		}
		at += record;
	}
	return out;
}

static int64_t list_dir(const struct fl_fs *fs, int fd, char *buf, size_t len)
{
	size_t kept = 0;
	ssize_t n = 1;

	UNUSED_FS;
	while (n > 0 && kept == 0) {   /* nothing but "." and ".." is not the end */
		n = FL_SYS_RETRY(getdents64(fd, buf, len));
		if (n > 0)
			kept = compact(buf, (size_t)n);
	}
	return n < 0 ? -errno : (int64_t)kept;
}

static int lock_file(const struct fl_fs *fs, int fd, int how)
{
	UNUSED_FS;
	return (int)fl_sys_result(FL_SYS_RETRY(flock(fd, how | LOCK_NB)));
}

static const uint32_t watched = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_MOVE_SELF |
				IN_ONLYDIR | IN_EXCL_UNLINK;

static int notify_add(const struct fl_fs *fs, int notify_fd, const char *path)
{
	UNUSED_FS;
	return (int)fl_sys_result(inotify_add_watch(notify_fd, path, watched));
}

const struct fl_fs fl_posix_fs = {
	.open = open_at, .open_in = open_in, .close = close_file, .read = read_file, .write = write_file,
	.pread = pread_file, .pwrite = pwrite_file, .fsync = sync_file, .fdatasync = sync_data,
	.truncate = truncate_file, .chmod = chmod_file, .stat = stat_file, .rename = rename_file, .link = link_file,
	.unlink = unlink_file, .mkdir = make_dir, .symlink = make_symlink, .mknod = make_node,
	.readlink = read_symlink, .list = list_dir,
	.mount_flags = mount_flags, .cover = fl_posix_cover, .lock = lock_file, .lookup = fl_posix_lookup,
	.notify_add = notify_add,
};
