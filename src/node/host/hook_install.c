#include "node/host/hook_install.h"
#include "base/units.h"
#include "node/host/elf.h"
#include <errno.h>
#include <stdio.h>
#include <sys/statvfs.h>

#define FL_HOOK_TICK (2 * FL_NS_PER_S)   /* of time stamps: the coarsest file systems have whole seconds, by twos */

enum { PATH = 512, PIECE = 16384 };
#define REMEDY "name a path for the hook's program by --cdi-hook-path, the same on the host and in the agent's " \
	       "container"

#define MAKE_ROOM "make room on its file system, which --cdi-hook-path or --state-dir names; the agent retries"

struct source {
	struct fl_elf elf;
	uint64_t at, len;
};

/* `r`: a negated errno. */
static int fail_at(struct fl_err *err, int r, const char *what, const char *path)
{
	bool is_full = r == -ENOSPC || r == -EDQUOT;

	return fl_fail_sys(err, -r, "%s '%s': %s", what, path, is_full ? MAKE_ROOM : REMEDY);
}

static int open_source(const struct fl_fs *fs, const char *path, struct source *ret, struct fl_err *err)
{
	int fd = fs->open(fs, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0), r;

	if (fd < 0)
		return fl_fail_sys(err, -fd, "open '%s' for the hook's program", path);
	r = fl_elf_open(&ret->elf, fs, fd);
	if (r == 0)
		r = fl_elf_section(&ret->elf, FL_HOOK_PROGRAM_SECTION, &ret->at, &ret->len);
	if (r == 0)
		return fd;
	fs->close(fs, fd);
	if (r == -ENOENT || r == -ENOEXEC)
		return fl_fail(err, FL_E_UNSUPPORTED, "'%s' carries no program for the hook: build it with one, or set "
						      "--cdi-hook-path to a fairlead-cdi-hook",
			       path);
	return fl_fail_sys(err, -r, "read '%s' for the hook's program", path);
}

static int read_piece(const struct fl_fs *fs, int fd, char *to, size_t len, uint64_t at)
{
	size_t got = 0;

	while (got < len) {
		int64_t n = fs->pread(fs, fd, to + got, len - got, at + got);

		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
		got += (size_t)n;
	}
	return 0;
}

/* 1: the file is the program; 0: it is another; or a negated errno. */
static int is_same(const struct source *source, int fd, uint64_t size)
{
	const struct fl_fs *fs = source->elf.fs;
	char a[PIECE], b[PIECE];

	if (size != source->len)
		return 0;
	for (uint64_t done = 0; done < size; done += PIECE) {
		size_t len = size - done < PIECE ? (size_t)(size - done) : PIECE;
		int r = read_piece(fs, source->elf.fd, a, len, source->at + done);

		if (r == 0)
			r = read_piece(fs, fd, b, len, done);
		if (r < 0)
			return r;
		if (memcmp(a, b, len) != 0)
			return 0;
	}
	return 1;
}

static bool is_known(const struct fl_hook_known *known, const struct fl_stat *stat)
{
	const struct fl_stat *then = &known->stat;

	return then->ino && then->ino == stat->ino && then->dev == stat->dev && then->size == stat->size &&
	       then->mode == stat->mode && then->mtime == stat->mtime && then->ctime == stat->ctime;
}

static void keep_known(struct fl_hook_known *known, const struct fl_stat *stat)
{
	known->stat = stat->ctime < known->now - (int64_t)FL_HOOK_TICK ? *stat : (struct fl_stat){ 0 };
}

/* 1: it is there as it should be; 0: it is to be written; or -code. */
static int look(const struct source *source, int dir, const char *name, const char *path,
		struct fl_hook_known *known, struct fl_err *err)
{
	const struct fl_fs *fs = source->elf.fs;
	int fd = fs->open(fs, dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0), r;
	struct fl_stat stat = { 0 };
	struct fl_elf elf;
	uint64_t at, len;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fail_at(err, fd, "open", path);
	r = fs->stat(fs, fd, "", AT_EMPTY_PATH, &stat);
	if (r == 0)
		r = is_known(known, &stat) ? 1 : is_same(source, fd, stat.size);
	if (r == 1 && (stat.mode & 0111) == 0111) {
		keep_known(known, &stat);
		fs->close(fs, fd);
		return 1;
	}
	/* Of another version, or one whose mode somebody has changed: ours to replace. */
	if (r == 0) {
		r = fl_elf_open(&elf, fs, fd);
		if (r == 0)
			r = fl_elf_section(&elf, FL_HOOK_SECTION, &at, &len);
		if (r == -ENOENT || r == -ENOEXEC)
			r = fl_fail(err, FL_E_EXISTS, "'%s' is not Fairlead's hook, and is left as it is: " REMEDY,
				    path);
		else if (r < 0)
			r = fl_fail_sys(err, -r, "read '%s'", path);
	} else if (r < 0) {
		r = fl_fail_sys(err, -r, "read '%s'", path);
	}
	fs->close(fs, fd);
	return r < 0 ? r : 0;
}

static int write_program(const struct source *source, int dir, const char *name)
{
	const struct fl_fs *fs = source->elf.fs;
	int fd = fs->open(fs, dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0700), r = 0;
	char piece[PIECE];

	if (fd < 0)
		return fd;
	for (uint64_t done = 0; r == 0 && done < source->len; done += PIECE) {
		size_t len = source->len - done < PIECE ? (size_t)(source->len - done) : PIECE;

		r = read_piece(fs, source->elf.fd, piece, len, source->at + done);
		if (r == 0)
			r = fl_fs_write_all(fs, fd, piece, len);
	}
	if (r == 0)
		r = fs->chmod(fs, fd, 0755);
	if (r == 0)
		r = fs->fsync(fs, fd);
	fs->close(fs, fd);
	return r;
}

/* The file is synced before it has its name, for a torn one would be somebody else's. Its name is not: if a power
 * failure takes it back, the next start gives it again, before it advertises any device. */
static int replace(const struct source *source, int dir, const char *name, const char *path, struct fl_err *err)
{
	const struct fl_fs *fs = source->elf.fs;
	char temp[FL_NAME_MAX + 1];
	int r = -ENAMETOOLONG;

	if ((size_t)snprintf(temp, sizeof temp, ".%s.tmp", name) < sizeof temp) {
		r = fs->unlink(fs, dir, temp, 0);
		if (r == 0 || r == -ENOENT)
			r = write_program(source, dir, temp);
		if (r == 0)
			r = fs->rename(fs, dir, temp, dir, name, 0);
		if (r < 0)
			(void)fs->unlink(fs, dir, temp, 0);
	}
	return r < 0 ? fail_at(err, r, "write the hook's program", path) : 0;
}

/* The directory of the path, made where it is missing; its name is what follows. */
static int open_folder(const struct fl_fs *fs, const char *path, const char **ret_name, struct fl_err *err)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH];
	int fd = -ENAMETOOLONG, made = 0;

	if (!slash || path[0] != '/' || !slash[1])
		return fl_fail(err, FL_E_INVALID, "'%s' is not the path of a file: " REMEDY, path);
	*ret_name = slash + 1;
	if ((size_t)snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path) <
	    sizeof folder) {
		for (char *p = folder + 1; (p = strchr(p, '/')); *p++ = '/') {
			*p = '\0';
			(void)fs->mkdir(fs, AT_FDCWD, folder, 0755);   /* the open below tells */
		}
		made = fs->mkdir(fs, AT_FDCWD, folder, 0755);
		fd = fs->open(fs, AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	}
	if (fd == -ENOENT && made < 0)
		fd = made;   /* which says why */
	return fd < 0 ? fail_at(err, fd, "open the directory of", path) : fd;
}

static int install(const struct source *source, const char *path, struct fl_hook_known *known, struct fl_err *err)
{
	const struct fl_fs *fs = source->elf.fs;
	const char *name = NULL;
	int dir = open_folder(fs, path, &name, err), r;
	int64_t flags;

	if (dir < 0)
		return dir;
	flags = fs->mount_flags(fs, dir);
	if (flags < 0)
		r = fl_fail_sys(err, (int)-flags, "look at the mount of '%s'", path);
	else if (flags & ST_NOEXEC)
		r = fl_fail(err, FL_E_DENIED, "'%s' is on a mount without execution (noexec): " REMEDY, path);
	else
		r = look(source, dir, name, path, known, err);
	if (r == 0)
		r = replace(source, dir, name, path, err);
	fs->close(fs, dir);
	return r < 0 ? r : 0;
}

int fl_hook_install(const struct fl_fs *fs, const char *source_path, const char *path, struct fl_hook_known *known,
		    struct fl_err *err)
{
	struct source source = { 0 };
	int fd = open_source(fs, source_path, &source, err), r;

	if (fd < 0)
		return fd;
	r = install(&source, path, known, err);
	fs->close(fs, fd);
	return r;
}
