#include "node/hook/in.h"
#include "node/hook/json.h"
#include <errno.h>
#include <stdio.h>
#include <sys/statvfs.h>

#define FL_HOOK_CONFIG_MAX (8 * FL_MIB)      /* of a container's: an environment of thousands of services */

enum { PATH = FL_HOOK_PATH };

/* ---- small things ---- */

int fl_hook_read(const struct fl_fs *fs, int fd, size_t max, struct fl_buf *into)
{
	char piece[4096];
	int64_t n;

	*into = FL_BUF(max);
	while ((n = fs->read(fs, fd, piece, sizeof piece)) > 0 && !into->failed)
		fl_buf_put(into, piece, (size_t)n);
	return n < 0 ? (int)n : into->failed == FL_E_NOMEM ? -ENOMEM : into->failed ? -EFBIG : 0;
}

bool fl_hook_copy(char ret[FL_HOOK_PATH], struct fl_str text)
{
	return fl_str_find(text, '\0') < 0 && (size_t)snprintf(ret, PATH, "%.*s", FL_ARG(text)) < PATH;
}

bool fl_hook_is_name(struct fl_str text)
{
	return text.len && text.len <= FL_NAME_MAX && fl_str_find(text, '/') < 0 && !fl_str_eq(text, FL_S(".")) &&
	       !fl_str_eq(text, FL_S(".."));
}

bool fl_hook_is_path(struct fl_str text)
{
	struct fl_str rest = text, part;

	if (text.len < 2 || text.len >= PATH || text.p[0] != '/')
		return false;
	rest = fl_str_sub(rest, 1, rest.len);
	while (fl_str_split(&rest, '/', &part))
		if (!fl_hook_is_name(part))
			return false;
	return true;
}

/* NULL: not the container's doing, but this machine's: no memory, no more files. */
static const char *why(int sys)
{
	switch (sys) {
	case EXDEV:
		return "it is on a mount of its own, and that is not the image's";
	case EBUSY:
		return "something is mounted on it";
	case ELOOP:
	case ENOTDIR:
	case EISDIR:
	case ENOTEMPTY:
	case EEXIST:
	case ENXIO:
	case ENODEV:
	case ENOENT:
	case ENAMETOOLONG:
	case EMLINK:
		return "the image's own files are in the way";
	case EAGAIN:
		return "directories are moved all the time";
	case EFBIG:
		return "it is too large";
	case ENOSPC:
	case EDQUOT:
		return "its file system is full";
	case EIO:
	case EINVAL:
	case ESTALE:
	case ENOTCONN:
	case ETIMEDOUT:
	case EREMOTEIO:
	case EUCLEAN:
	case EBADMSG:
	case EOPNOTSUPP:
		return "its file system fails";
	case EROFS:
	case EPERM:
	case EACCES:
	case ENOSYS:
		return "this container's sandbox does not let it be written";
	default:
		return NULL;
	}
}

int fl_hook_failed(const struct fl_hooking *h, int r, const char *what, const char *path, struct fl_err *err)
{
	const char *cause = why(-r);
	struct fl_err words = { 0 };

	if (!cause)
		return fl_fail_sys(err, -r, "%s '%s' of the container", what, path);
	(void)fl_fail_sys(&words, -r, "%s '%s' of the container, left out: %s", what, path, cause);
	if (h->hook->warn)
		h->hook->warn(words.text);
	return 0;
}

/* ---- where the container is ---- */

static int read_json(const struct fl_fs *fs, int fd, const char *what, size_t max, struct fl_buf *into,
		     struct fl_err *err)
{
	int r = fl_hook_read(fs, fd, max, into);

	if (r == -EFBIG)
		return fl_fail(err, FL_E_TOOBIG, "%s: over %zu bytes", what, max);
	return r < 0 ? fl_fail_sys(err, -r, "read %s", what) : 0;
}

static int read_bundle(const struct fl_fs *fs, int state, char ret[PATH], struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf text = { 0 };
	struct fl_str bundle;

	if (read_json(fs, state, "the container's state", FL_HOOK_STATE_MAX, &text, err) < 0)
		return -(int)err->code;
	if (!fl_bare_member(fl_buf_view(&text), "bundle", &bundle) || !fl_bare_text(bundle, ret, PATH) ||
	    ret[0] != '/')
		return fl_fail(err, FL_E_INVALID, "the container's state, on stdin, names no bundle");
	return 0;
}

/* The text of config.json, and the root that it names. */
static int read_config(const struct fl_fs *fs, const char *bundle, struct fl_buf *text, char ret[2 * PATH],
		       struct fl_err *err)
{
	char path[2 * PATH], name[PATH];
	struct fl_str root, value;
	int fd, r;

	(void)snprintf(path, sizeof path, "%s/config.json", bundle);
	fd = fs->open(fs, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return fl_fail_sys(err, -fd, "open '%s'", path);
	r = read_json(fs, fd, path, FL_HOOK_CONFIG_MAX, text, err);
	fs->close(fs, fd);
	if (r < 0)
		return r;
	if (!fl_bare_member(fl_buf_view(text), "root", &root) || !fl_bare_member(root, "path", &value) ||
	    !fl_bare_text(value, name, sizeof name) || !name[0])
		return fl_fail(err, FL_E_INVALID, "'%s' names no root", path);
	if (name[0] == '/')
		(void)snprintf(ret, (size_t)(2 * PATH), "%s", name);
	else
		(void)snprintf(ret, (size_t)(2 * PATH), "%s/%s", bundle, name);
	return 0;
}

/* The host's own root is nobody's container: somebody has called this by hand. */
static int open_root(const struct fl_fs *fs, const char *path, int *ret, struct fl_err *err)
{
	struct fl_stat root = { 0 }, host = { 0 };
	int fd = fs->open(fs, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0), r;

	if (fd < 0)
		return fl_fail_sys(err, -fd, "open the container's root '%s'", path);
	r = fs->stat(fs, fd, "", AT_EMPTY_PATH, &root);
	if (r == 0)
		r = fs->stat(fs, AT_FDCWD, "/", 0, &host);
	if (r == 0 && (root.dev != host.dev || root.ino != host.ino)) {
		*ret = fd;
		return 0;
	}
	fs->close(fs, fd);
	return r < 0 ? fl_fail_sys(err, -r, "look at the container's root '%s'", path)
		     : fl_fail(err, FL_E_DENIED, "'%s' is this machine's own root, and no container's", path);
}

/* ---- its directories ---- */

/* The path is given without its first slash: should the kernel ever not heed where its end is, this machine's own
 * directory of that name would still not be meant. */
static int open_in(const struct fl_hooking *h, const char *path, int flags, uint64_t resolve)
{
	return h->fs->open_in(h->fs, h->root, path[1] ? path + 1 : ".", flags | O_CLOEXEC, 0,
			      RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve);
}

int fl_hook_open(const struct fl_hooking *h, const char *path, int flags)
{
	/* O_NONBLOCK: a FIFO in its place shall hold up nobody. */
	return open_in(h, path, flags & O_PATH ? flags : O_RDONLY | O_NONBLOCK | O_NOCTTY | flags, 0);
}

/* Opening and reading a device or a file of /proc have effects of their own. So the file is looked at by O_PATH, and
 * what was looked at is opened: its path may lead elsewhere by now. */
static int open_regular(const struct fl_hooking *h, const char *path, int flags, uint64_t resolve, bool (*may)(int64_t),
			uint64_t *ret_size)
{
	int seen = open_in(h, path, flags | O_PATH, resolve), r;
	struct fl_stat stat = { 0 };
	int64_t mount = 0;
	char itself[32];

	if (seen < 0)
		return seen;
	r = h->fs->stat(h->fs, seen, "", AT_EMPTY_PATH, &stat);
	if (r == 0 && may)
		mount = h->fs->mount_flags(h->fs, seen);
	if (r == 0 && mount < 0)
		r = (int)mount;
	if (r == 0 && (!S_ISREG(stat.mode) || (may && !may(mount))))
		r = -ENXIO;
	if (r == 0) {
		(void)snprintf(itself, sizeof itself, "/proc/self/fd/%d", seen);
		r = h->fs->open(h->fs, AT_FDCWD, itself, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
	}
	h->fs->close(h->fs, seen);
	*ret_size = stat.size;
	return r;
}

int fl_hook_open_own(const struct fl_hooking *h, const char *path, uint64_t *ret_size)
{
	return open_regular(h, path, 0, RESOLVE_NO_XDEV, NULL, ret_size);
}

static bool may_be_run(int64_t mount)
{
	return !(mount & ST_NOEXEC);
}

int fl_hook_open_library(const struct fl_hooking *h, const char *path, int flags)
{
	uint64_t size;

	return open_regular(h, path, flags, 0, may_be_run, &size);
}

/* The root is one mount; beyond it is what somebody else has mounted. */
int fl_hook_open_dir(const struct fl_hooking *h, const char *path)
{
	return open_in(h, path, O_RDONLY | O_DIRECTORY, RESOLVE_NO_XDEV);
}

/* One directory after the other, each by the fd of the one above. */
int fl_hook_make_dir(const struct fl_hooking *h, const char *path)
{
	int dir = fl_hook_open_dir(h, path);
	char part[PATH];

	for (const char *end = path; dir == -ENOENT && *end;) {
		const char *begin = end + 1;
		int above, fd, r;

		end = begin + strcspn(begin, "/");
		(void)snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
		fd = fl_hook_open_dir(h, part);
		if (fd >= 0) {
			h->fs->close(h->fs, fd);
			continue;
		}
		if (fd != -ENOENT)
			return fd;
		(void)snprintf(part, sizeof part, "%.*s", (int)(begin - path), path);
		above = fl_hook_open_dir(h, part);
		if (above < 0)
			return above;
		(void)snprintf(part, sizeof part, "%.*s", (int)(end - begin), begin);
		r = h->fs->mkdir(h->fs, above, part, 0755);
		h->fs->close(h->fs, above);
		if (r < 0 && r != -EEXIST)
			return r;
	}
	return dir == -ENOENT ? fl_hook_open_dir(h, path) : dir;
}

/* ---- the driver's parameters ---- */

static const char params[] = "/proc/driver/nvidia/params";
static const char fixed[] = "ModifyDeviceFiles: 0", free_[] = "ModifyDeviceFiles: ";

/* The host's, with the one line changed; false: it is there already, or nothing is. */
static bool fix(struct fl_str now, struct fl_buf *ret)
{
	bool changed = false;
	struct fl_str line;

	while (fl_str_split(&now, '\n', &line)) {
		if (!now.p && !line.len)
			break;
		if (fl_str_starts(line, fl_str(free_)) && !fl_str_eq(line, fl_str(fixed))) {
			line = fl_str(fixed);
			changed = true;
		}
		fl_buf_str(ret, line);
		fl_buf_char(ret, '\n');
	}
	return changed;
}

/* The host's /proc is the one of this process. Where there is none, or no driver, nothing is to be done. */
int fl_hook_params(const struct fl_hooking *h, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf now = { 0 }, wanted = FL_BUF(FL_HOOK_LIST_MAX);
	const struct fl_fs *fs = h->fs;
	int fd = fs->open(fs, AT_FDCWD, params, O_RDONLY | O_CLOEXEC, 0), dir, r;

	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR ? 0 : fl_hook_failed(h, fd, "read the host's value for", params,
									    err);
	r = fl_hook_read(fs, fd, FL_HOOK_LIST_MAX / 2, &now);
	fs->close(fs, fd);
	if (r < 0 || !fix(fl_buf_view(&now), &wanted))
		return r < 0 ? fl_hook_failed(h, r, "read the host's value for", params, err) : 0;
	if (fl_buf_check(&wanted, params, err) < 0)
		return -(int)err->code;
	dir = fl_hook_open(h, "/proc/driver/nvidia", O_DIRECTORY);
	if (dir < 0)
		return fl_hook_failed(h, dir, "mount a copy over", params, err);
	r = fs->cover(fs, dir, "params", wanted.p, wanted.len);
	fs->close(fs, dir);
	return r < 0 ? fl_hook_failed(h, r, "mount a copy over", params, err) : 0;
}

/* ---- all of it ---- */

static int work(struct fl_hooking *h, struct fl_err *err)
{
	int r = fl_hook_links(h, err);

	if (r == 0 && h->hook->folders.len)
		r = fl_hook_cache(h, h->hook->version.len && fl_hook_compat(h), err);
	if (r == 0 && h->hook->params_fixed)
		r = fl_hook_params(h, err);
	if (r == 0 && h->hook->profile)
		r = fl_hook_profile(h, err);
	return r;
}

int fl_hook_run(const struct fl_fs *fs, int state, const struct fl_hook *hook, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf config = { 0 };
	struct fl_hooking h = { .fs = fs, .hook = hook, .root = -1 };
	char bundle[PATH], path[2 * PATH];
	struct fl_err none;
	int r;

	err = err ? err : &none;
	r = read_bundle(fs, state, bundle, err);
	if (r == 0)
		r = read_config(fs, bundle, &config, path, err);
	if (r == 0)
		r = open_root(fs, path, &h.root, err);
	h.config = fl_buf_view(&config);
	if (r == 0)
		r = work(&h, err);
	if (h.root >= 0)
		fs->close(fs, h.root);
	return r;
}
