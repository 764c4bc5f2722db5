/* Any bytes as the container's state, its config.json, a --link and every file of the container, parted by form feeds:
 * whatever they say, nothing is opened, made or removed but by a kernel that was told where the container's root ends,
 * and by one name in a directory on the root's own mount. Of files, those are opened that were looked at. */
#include "fuzz.h"
#include "node/hook/hook.h"
#include <errno.h>
#include <stdlib.h>

enum { STATE = 3, CONFIG, LINK, FILE_IN, SEEN, ROOT, INSIDE, LISTED, MADE };
#define INSIDE_ONLY (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)

struct container {
	struct fl_fs fs;
	struct fl_str parts[4];                /* what is left to be read: state, config; the link; a file */
	struct fl_str file;
	uint32_t size, listed;
	uint32_t missing;                      /* a bit each: is the folder that is asked for next there? */
};

static struct container *of(const struct fl_fs *fs)
{
	return fl_container((uintptr_t)fs, struct container, fs);
}

static void must(bool so)
{
	if (!so)
		abort();
}

static bool next_is_missing(struct container *c)
{
	bool missing = c->missing & 1;

	c->missing >>= 1;
	return missing;
}

static int fs_open(const struct fl_fs *fs, int dir, const char *path, int flags, unsigned mode)
{
	const struct fl_str own = FL_S("/proc/self/fd/");
	uint64_t number;

	(void)fs;
	(void)mode;
	if (dir == INSIDE) {
		must((flags & O_CREAT) && (flags & O_EXCL) && (flags & O_NOFOLLOW) && !strchr(path, '/'));
		return MADE;
	}
	if (strcmp(path, "/proc/driver/nvidia/params") == 0)
		return -ENOENT;
	must((flags & O_ACCMODE) == O_RDONLY && !(flags & O_CREAT) && path[0] == '/');
	if (dir == AT_FDCWD && (flags & O_DIRECTORY))
		return ROOT;
	if (dir == AT_FDCWD && fl_str_ends(fl_str(path), FL_S("/config.json")))   /* in a bundle of any name */
		return CONFIG;
	must(fl_str_starts(fl_str(path), own) && fl_str_u64(fl_str(path + own.len), &number) && number == SEEN);
	return FILE_IN;
}

static int fs_open_in(const struct fl_fs *fs, int dir, const char *path, int flags, unsigned mode, uint64_t resolve)
{
	(void)mode;
	must(dir == ROOT && path[0] && path[0] != '/' && (resolve & INSIDE_ONLY) == INSIDE_ONLY);
	must((flags & O_ACCMODE) == O_RDONLY && !(flags & O_CREAT));
	if (next_is_missing(of(fs)))
		return -ENOENT;
	if (flags & O_DIRECTORY)
		return resolve & RESOLVE_NO_XDEV ? INSIDE : LISTED;   /* of the latter nothing is changed */
	must(flags & O_PATH);
	return SEEN;
}

static void fs_close(const struct fl_fs *fs, int fd)
{
	(void)fs;
	must(fd == CONFIG || (fd >= FILE_IN && fd <= MADE));
}

static int64_t fs_read(const struct fl_fs *fs, int fd, void *bytes, size_t len)
{
	struct fl_str *rest;
	uint32_t n;

	must(fd == STATE || fd == CONFIG || fd == FILE_IN);
	rest = &of(fs)->parts[fd - STATE];
	n = rest->len < len ? rest->len : (uint32_t)len;
	memcpy(bytes, n ? rest->p : "", n);
	*rest = fl_str_sub(*rest, n, rest->len);
	return n;
}

/* The container's root has another number than the host's; each folder has one of its own. */
static int fs_stat(const struct fl_fs *fs, int dir, const char *path, int flags, struct fl_stat *ret)
{
	(void)flags;
	if (dir == FILE_IN || dir == SEEN || dir == LISTED)
		*ret = (struct fl_stat){ .mode = S_IFREG, .size = of(fs)->size };
	else
		*ret = (struct fl_stat){ .ino = path[0] ? 1 : dir == ROOT ? 2 : 3 + (of(fs)->missing & 1) };
	return 0;
}

static int64_t fs_mount_flags(const struct fl_fs *fs, int fd)
{
	(void)fs;
	must(fd == SEEN);
	return 0;
}

static int64_t fs_pread(const struct fl_fs *fs, int fd, void *bytes, size_t len, uint64_t from)
{
	struct fl_str file = of(fs)->file;

	must(fd == FILE_IN && from <= UINT32_MAX);
	file = fl_str_sub(file, (uint32_t)from, (uint32_t)len);
	memcpy(bytes, file.len ? file.p : "", file.len);
	return file.len;
}

static int64_t fs_write(const struct fl_fs *fs, int fd, const void *bytes, size_t len)
{
	(void)fs;
	(void)bytes;
	must(fd == MADE);
	return (int64_t)len;
}

static int fs_chmod(const struct fl_fs *fs, int fd, unsigned mode)
{
	(void)fs;
	must(fd == MADE && mode == 0644);
	return 0;
}

/* One file, once. */
static int64_t fs_list(const struct fl_fs *fs, int fd, char *buf, size_t len)
{
	static const char name[] = "\10libcuda.so.560.35.3";

	must(fd == LISTED && len >= sizeof name);
	if (of(fs)->listed++)
		return 0;
	memcpy(buf, name, sizeof name);
	return sizeof name;
}

static void one_name(int dir, const char *name)
{
	must(dir == INSIDE && name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
}

static int fs_mkdir(const struct fl_fs *fs, int dir, const char *path, unsigned mode)
{
	(void)mode;
	one_name(dir, path);
	return next_is_missing(of(fs)) ? -EEXIST : 0;
}

static int fs_symlink(const struct fl_fs *fs, const char *target, int dir, const char *path)
{
	one_name(dir, path);
	must(target[0] != '\0');
	return next_is_missing(of(fs)) ? -EEXIST : 0;
}

static int fs_unlink(const struct fl_fs *fs, int dir, const char *path, int flags)
{
	(void)fs;
	one_name(dir, path);
	must(flags == 0);
	return 0;
}

static int fs_rename(const struct fl_fs *fs, int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	(void)fs;
	(void)flags;
	one_name(from_dir, from);
	one_name(to_dir, to);
	return 0;
}

static int64_t fs_readlink(const struct fl_fs *fs, int dir, const char *path, char *buf, size_t len)
{
	(void)fs;
	(void)buf;
	(void)len;
	one_name(dir, path);
	return -EINVAL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct container c = {
		.fs = { .open = fs_open, .open_in = fs_open_in, .close = fs_close, .read = fs_read, .stat = fs_stat,
			.pread = fs_pread, .write = fs_write, .chmod = fs_chmod, .list = fs_list,
			.mount_flags = fs_mount_flags, .mkdir = fs_mkdir, .symlink = fs_symlink,
			.unlink = fs_unlink, .rename = fs_rename, .readlink = fs_readlink },
	};
	struct fl_str rest = { (const char *)data, (uint32_t)size };
	struct fl_str folder = FL_S("/opt/x");

	for (uint32_t i = 0; i < FL_LEN(c.parts) && fl_str_split(&rest, '\f', &c.parts[i]); i++)
		;
	if (c.parts[2].len)
		c.missing = (uint8_t)c.parts[2].p[c.parts[2].len - 1];
	c.file = c.parts[3];
	c.size = c.file.len;
	(void)!fl_hook_run(&c.fs, STATE,
			   &(struct fl_hook){ { &c.parts[2], c.parts[2].len > 0, 1 }, { &folder, 1, 1 },
					      FL_S("550.54.15"), true, NULL },
			   NULL);
	return 0;
}
