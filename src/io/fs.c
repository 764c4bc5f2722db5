#include "io/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

const char *fl_list_next(const char *buf, size_t len, size_t *at, unsigned char *ret_type)
{
	const char *name;

	if (*at >= len)
		return NULL;
	if (ret_type)
		*ret_type = (unsigned char)buf[*at];
	name = buf + *at + 1;
	*at += 1 + strlen(name) + 1;
	return name;
}

int fl_fs_write_all(const struct fl_fs *fs, int fd, const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len) {
		int64_t n = fs->write(fs, fd, p, len);

		if (n <= 0)
			return n < 0 ? (int)n : -EIO;   /* a file that keeps accepting 0 bytes would loop for ever */
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int64_t fl_fs_read_all(const struct fl_fs *fs, int fd, void *bytes, size_t len)
{
	char *p = bytes;
	size_t got = 0;

	while (got < len) {
		int64_t n = fs->read(fs, fd, p + got, len - got);

		if (n < 0)
			return n;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (int64_t)got;
}

/* ---- a directory that others fill ---- */

struct emptying {
	const struct fl_fs *fs;
	int top;
	uint32_t *most;
	unsigned number;               /* the next name for a directory that is moved up */
	bool again;                    /* the top has names that this pass may not have listed */
};

typedef int removal(struct emptying *e, int dir, const char *name);

static int spend(struct emptying *e)
{
	if (!*e->most)
		return -E2BIG;
	--*e->most;
	return 0;
}

static int remove_each(struct emptying *e, int dir, removal *each)
{
	char buf[FL_LIST_MIN];
	const char *name;
	int64_t len;

	while ((len = e->fs->list(e->fs, dir, buf, sizeof buf)) > 0) {
		size_t at = 0;

		while ((name = fl_list_next(buf, (size_t)len, &at, NULL))) {
			int r = spend(e);

			if (r == 0)
				r = each(e, dir, name);
			if (r < 0)
				return r;
		}
	}
	return (int)len;
}

/* Others may have the same name there: one of their files or full directories keeps it. */
static int move_up(struct emptying *e, int dir, const char *name)
{
	char number[16];
	int r;

	e->again = true;
	do {
		(void)snprintf(number, sizeof number, "%u", e->number++);
		r = e->fs->rename(e->fs, dir, name, e->top, number, 0);
		if (r != -ENOTDIR && r != -ENOTEMPTY && r != -EEXIST)
			return r == -ENOENT ? 0 : r;
		r = spend(e);
	} while (r == 0);
	return r;
}

static int remove_below(struct emptying *e, int dir, const char *name)
{
	int r = e->fs->unlink(e->fs, dir, name, 0);

	return r == -EISDIR ? move_up(e, dir, name) : r == -ENOENT ? 0 : r;
}

/* A directory within a directory is moved up, and then is one of these: no nesting is too deep. */
static int remove_at_top(struct emptying *e, int dir, const char *name)
{
	int r = e->fs->unlink(e->fs, dir, name, 0), sub;

	if (r != -EISDIR)
		return r == -ENOENT ? 0 : r;
	sub = e->fs->open_in(e->fs, dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0,
			     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
	if (sub < 0)
		return sub;
	r = remove_each(e, sub, remove_below);
	e->fs->close(e->fs, sub);
	return r < 0 ? r : e->fs->unlink(e->fs, dir, name, AT_REMOVEDIR);
}

int fl_fs_empty(const struct fl_fs *fs, int dir, uint32_t *most)
{
	struct emptying e = { .fs = fs, .top = dir, .most = most };
	int r;

	do {
		int fd = fs->open(fs, dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

		if (fd < 0)
			return fd;
		e.again = false;
		r = remove_each(&e, fd, remove_at_top);
		fs->close(fs, fd);
	} while (r == 0 && e.again);
	return r;
}
