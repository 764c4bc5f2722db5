#include "io/fs.h"
#include <errno.h>
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
