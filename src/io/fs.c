#include "io/fs.h"
#include "base/limits.h"
#include <errno.h>
#include <fcntl.h>
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
			return n < 0 ? (int)n : -EIO;   /* a file that takes nothing and says so would loop for ever */
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

static int empty(const struct fl_fs *fs, int dir, uint32_t *most, unsigned depth);

static int remove_name(const struct fl_fs *fs, int dir, const char *name, uint32_t *most, unsigned depth)
{
	int r = fs->unlink(fs, dir, name, 0), sub;

	if (r != -EISDIR)
		return r == -ENOENT ? 0 : r;
	sub = fs->open(fs, dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (sub < 0)
		return sub;
	r = empty(fs, sub, most, depth + 1);
	fs->close(fs, sub);
	return r < 0 ? r : fs->unlink(fs, dir, name, AT_REMOVEDIR);
}

static int empty(const struct fl_fs *fs, int dir, uint32_t *most, unsigned depth)
{
	char buf[FL_LIST_MIN];
	const char *name;
	int64_t len;

	if (depth > FL_EMPTY_DEPTH_MAX)
		return -E2BIG;
	while ((len = fs->list(fs, dir, buf, sizeof buf)) > 0) {
		size_t at = 0;

		while ((name = fl_list_next(buf, (size_t)len, &at, NULL))) {
			int r = *most ? remove_name(fs, dir, name, most, depth) : -E2BIG;

			if (r < 0)
				return r;
			--*most;
		}
	}
	return (int)len;
}

int fl_fs_empty(const struct fl_fs *fs, int dir, uint32_t *most)
{
	return empty(fs, dir, most, 0);
}
