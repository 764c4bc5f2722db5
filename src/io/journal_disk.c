#include "io/journal_disk.h"
#include <errno.h>
#include <stdio.h>

/* Most digits of a generation: its successor is still a number. */
enum { DIGITS_MAX = 18, READ_TRIES = 3 };
static const char temporary[] = ".new";

void fl_journal_file_name(const struct fl_journal_disk *disk, uint64_t generation, const char *suffix,
			  char ret[FL_JOURNAL_PATH])
{
	(void)snprintf(ret, FL_JOURNAL_PATH, "%s.%llu%s%s", disk->name, (unsigned long long)generation,
		       *suffix == '.' || !*suffix ? "" : ".", suffix);
}

static int failed(struct fl_journal_disk *disk, const char *what, int r)
{
	disk->job.what = what;
	return r;
}

/* ---- listing ---- */

/* "NAME.12" or "NAME.12.rest": the number, and where the rest begins. */
static bool parse(const struct fl_journal_disk *disk, const char *file, uint64_t *ret_generation, const char **ret_rest)
{
	struct fl_str digits;
	size_t len = strlen(disk->name);

	if (strncmp(file, disk->name, len) != 0 || file[len] != '.')
		return false;
	digits.p = file + len + 1;
	digits.len = (uint32_t)strspn(digits.p, "0123456789");
	*ret_rest = digits.p + digits.len;
	return digits.len <= DIGITS_MAX && fl_str_u64(digits, ret_generation) &&
	       (**ret_rest == 0 || **ret_rest == '.') && strlen(file) < FL_JOURNAL_PATH;
}

/* Keep the newest ones. One that finds no room stays on the disk for a later open. */
static void found_file(struct fl_journal_disk *disk, uint64_t generation)
{
	unsigned i = disk->file_count;

	if (i == FL_JOURNAL_FILES && disk->files[--i].generation > generation)
		return;
	for (; i > 0 && disk->files[i - 1].generation < generation; i--)
		disk->files[i] = disk->files[i - 1];
	disk->files[i] = (struct fl_journal_file){ .generation = generation };
	disk->file_count += disk->file_count < FL_JOURNAL_FILES;
}

/* Oldest first; with no room left the oldest is removed from the disk. */
static void found_aside(struct fl_journal_disk *disk, const struct fl_fs *fs, uint64_t generation, const char *name)
{
	unsigned i;

	if (disk->aside_count == FL_JOURNAL_ASIDE) {
		(void)fs->unlink(fs, disk->dir, disk->aside[0].name, 0);
		memmove(disk->aside, disk->aside + 1, --disk->aside_count * sizeof *disk->aside);
	}
	for (i = disk->aside_count++; i > 0 && disk->aside[i - 1].generation > generation; i--)
		disk->aside[i] = disk->aside[i - 1];
	disk->aside[i].generation = generation;
	(void)snprintf(disk->aside[i].name, sizeof disk->aside[i].name, "%s", name);
}

static int list(struct fl_journal_disk *disk, const struct fl_fs *fs)
{
	char buf[4 * FL_KIB];
	const char *name, *rest;
	uint64_t generation;
	int64_t len;

	while ((len = fs->list(fs, disk->dir, buf, sizeof buf)) > 0) {
		for (size_t at = 0; (name = fl_list_next(buf, (size_t)len, &at, NULL));) {
			if (!parse(disk, name, &generation, &rest))
				continue;
			if (generation > disk->highest)
				disk->highest = generation;
			if (!*rest)
				found_file(disk, generation);
			else if (strcmp(rest, temporary) == 0)
				(void)fs->unlink(fs, disk->dir, name, 0);
			else
				found_aside(disk, fs, generation, name);
		}
	}
	return (int)len;
}

/* The directory's own name must be safe before anything in it is acknowledged. */
static int sync_parent(struct fl_journal_disk *disk, const struct fl_fs *fs)
{
	int dir = fs->open(fs, disk->dir, "..", O_RDONLY | O_DIRECTORY, 0), r;

	if (dir < 0)
		return dir;
	r = fs->fsync(fs, dir);
	fs->close(fs, dir);
	return r == -EROFS || r == -EINVAL ? 0 : r;
}

static int look(struct fl_journal_disk *disk, const struct fl_fs *fs)
{
	char name[FL_JOURNAL_PATH];
	struct fl_stat stat;
	int r;

	if (disk->dir < 0) {
		/* Other users may pass through but not list it: the CDI hook's program lies below, and a container with
		 * a user namespace starts it as an unprivileged user. */
		r = fs->mkdir(fs, AT_FDCWD, disk->dir_path, 0711);
		if (r < 0 && r != -EEXIST && r != -EROFS)
			return failed(disk, "make the directory", r);
		disk->dir = fs->open(fs, AT_FDCWD, disk->dir_path, O_RDONLY | O_DIRECTORY, 0);
		if (disk->dir < 0)
			return failed(disk, "open the directory", disk->dir);
	}
	r = fs->lock(fs, disk->dir, LOCK_EX);
	if (r < 0)
		return failed(disk, "lock the directory", r);
	r = list(disk, fs);
	if (r < 0)
		return failed(disk, "list the directory", r);
	for (unsigned i = 0; i < disk->file_count; i++) {
		fl_journal_file_name(disk, disk->files[i].generation, "", name);
		r = fs->stat(fs, disk->dir, name, AT_SYMLINK_NOFOLLOW, &stat);
		if (r < 0)
			return failed(disk, "stat a file", r);
		disk->files[i].size = S_ISREG(stat.mode) ? stat.size : UINT64_MAX;
	}
	return 0;
}

/* ---- reading ---- */

static int64_t read_once(struct fl_journal_disk *disk, const struct fl_fs *fs, const char *name)
{
	int fd = fs->open(fs, disk->dir, name, O_RDONLY | O_NOFOLLOW, 0);
	int64_t n;

	if (fd < 0)
		return fd;
	n = fl_fs_read_all(fs, fd, disk->in, (size_t)disk->files[disk->at].size);
	fs->close(fs, fd);
	return n;
}

/* A file that cannot be read is tried again before it is given up, since an older one holds less. A passing shortage of
 * this machine is no reason to give it up at all. */
static int read_file(struct fl_journal_disk *disk, const struct fl_fs *fs)
{
	char name[FL_JOURNAL_PATH];
	int64_t n = -EIO;

	fl_journal_file_name(disk, disk->files[disk->at].generation, "", name);
	for (int tries = 0; n == -EIO && tries < READ_TRIES; tries++)
		n = read_once(disk, fs, name);
	if (n == -ENOMEM || n == -EMFILE || n == -ENFILE || n == -EACCES || n == -EPERM)
		return failed(disk, "read a file", (int)n);
	disk->read_errno = n < 0 ? (int)-n : 0;
	disk->verdict = (struct fl_journal_verdict){ .state = FL_JOURNAL_UNREADABLE };
	if (n >= 0)
		disk->verdict = fl_journal_judge(disk->in, (size_t)n);
	return 0;
}

/* ---- writing ---- */

/* Rename bad files, so that no later open reads them; remove the oldest of those. */
static void set_aside(struct fl_journal_disk *disk, const struct fl_fs *fs)
{
	char from[FL_JOURNAL_PATH], to[FL_JOURNAL_PATH];
	unsigned kept = 0;

	for (unsigned i = 0; i < disk->file_count; i++) {
		const struct fl_journal_file file = disk->files[i];

		if (file.bad != FL_JOURNAL_WHOLE) {
			fl_journal_file_name(disk, file.generation, "", from);
			fl_journal_file_name(disk, file.generation, fl_name(&fl_journal_state_names, (int)file.bad),
					     to);
			if (fs->rename(fs, disk->dir, from, disk->dir, to, 0) == 0) {
				found_aside(disk, fs, file.generation, to);
				continue;
			}
		}
		disk->files[kept++] = file;
	}
	disk->file_count = kept;
	while (disk->aside_count > FL_JOURNAL_ASIDE_MAX) {
		(void)fs->unlink(fs, disk->dir, disk->aside[0].name, 0);
		memmove(disk->aside, disk->aside + 1, --disk->aside_count * sizeof *disk->aside);
	}
}

/* The current generation and the one before stay. A failed removal is tried again next time. */
static void tidy(struct fl_journal_disk *disk, const struct fl_fs *fs)
{
	char name[FL_JOURNAL_PATH];
	unsigned kept = 2;

	set_aside(disk, fs);
	for (unsigned i = 2; i < disk->file_count; i++) {
		fl_journal_file_name(disk, disk->files[i].generation, "", name);
		if (fs->unlink(fs, disk->dir, name, 0) < 0)
			disk->files[kept++] = disk->files[i];
	}
	if (disk->file_count > kept)
		disk->file_count = kept;
}

static int write_new(struct fl_journal_disk *disk, const struct fl_fs *fs, const char *name, int *ret_fd)
{
	static const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
	int fd = fs->open(fs, disk->dir, name, flags, 0600), r;

	if (fd == -EEXIST) {   /* left by a failed attempt that could not remove it either */
		r = fs->unlink(fs, disk->dir, name, 0);
		fd = r < 0 ? r : fs->open(fs, disk->dir, name, flags, 0600);
	}
	if (fd < 0)
		return failed(disk, "create a file", fd);
	r = fl_fs_write_all(fs, fd, disk->out.p, disk->out.len);
	if (r < 0)
		(void)failed(disk, "write", r);
	if (r == 0 && (r = fs->fdatasync(fs, fd)) < 0)
		(void)failed(disk, "sync", r);
	if (r < 0) {
		fs->close(fs, fd);
		(void)fs->unlink(fs, disk->dir, name, 0);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

static int rotate(struct fl_journal_disk *disk, const struct fl_fs *fs)
{
	char from[FL_JOURNAL_PATH], to[FL_JOURNAL_PATH];
	uint64_t generation = disk->highest + 1;
	int fd = -1, r;

	r = disk->named ? 0 : sync_parent(disk, fs);
	if (r < 0)
		return failed(disk, "sync the directory's parent", r);
	disk->named = true;
	fl_journal_file_name(disk, generation, temporary, from);
	fl_journal_file_name(disk, generation, "", to);
	r = write_new(disk, fs, from, &fd);
	if (r < 0)
		return r;
	/* From here on the new file may be the valid one after a crash, so append nothing more to the old one. */
	disk->sealed = true;
	disk->highest = generation;
	r = fs->rename(fs, disk->dir, from, disk->dir, to, 0);
	if (r < 0) {
		(void)failed(disk, "rename", r);
		(void)fs->unlink(fs, disk->dir, from, 0);
	} else {
		if (disk->file_count == FL_JOURNAL_FILES)
			disk->file_count--;
		memmove(disk->files + 1, disk->files, disk->file_count++ * sizeof *disk->files);
		disk->files[0] = (struct fl_journal_file){ .generation = generation };
		r = fs->fsync(fs, disk->dir);
		if (r < 0)
			(void)failed(disk, "sync the directory", r);
	}
	if (r < 0) {
		fs->close(fs, fd);
		return r;
	}
	if (disk->fd >= 0)
		fs->close(fs, disk->fd);
	disk->fd = fd;
	disk->size = disk->out.len;
	disk->sealed = false;
	tidy(disk, fs);
	return 0;
}

static int write_at(const struct fl_fs *fs, int fd, const char *bytes, size_t len, uint64_t at)
{
	while (len) {
		int64_t n = fs->pwrite(fs, fd, bytes, len, at);

		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
		bytes += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

/* Durably remove what could not be written whole: otherwise a crash might bring back part of a failed append. After a
 * failed sync the file's content is unknown: append nothing more to it. */
static int append(struct fl_journal_disk *disk, const struct fl_fs *fs)
{
	int r = write_at(fs, disk->fd, disk->out.p, disk->out.len, disk->size);

	if (r < 0) {
		disk->sealed = fs->truncate(fs, disk->fd, disk->size) < 0 || fs->fdatasync(fs, disk->fd) < 0;
		return failed(disk, "write", r);
	}
	r = fs->fdatasync(fs, disk->fd);
	if (r < 0) {
		disk->sealed = true;
		return failed(disk, "sync", r);
	}
	disk->size += disk->out.len;
	return 0;
}

void fl_journal_disk_run(struct fl_job *job, const struct fl_fs *fs)
{
	struct fl_journal_disk *disk = fl_container(job, struct fl_journal_disk, job);

	switch (disk->step) {
	case FL_JOURNAL_LOOK:
		job->result = look(disk, fs);
		return;
	case FL_JOURNAL_READ:
		job->result = read_file(disk, fs);
		return;
	case FL_JOURNAL_ROTATE:
		job->result = rotate(disk, fs);
		return;
	case FL_JOURNAL_APPEND:
		job->result = append(disk, fs);
		return;
	}
}
