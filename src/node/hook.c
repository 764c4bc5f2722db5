#include "node/hook.h"
#include "base/buf.h"
#include "base/limits.h"
#include "json/json.h"
#include <errno.h>
#include <stdio.h>

/* A path of a container, as a runtime mounts it: absolute, and shorter than this. */
enum { PATH = 512 };

/* ---- where the container is ---- */

static int read_all(const struct fl_fs *fs, int fd, const char *what, size_t max, struct fl_buf *into,
		    struct fl_err *err)
{
	char piece[4096];
	int64_t n;

	*into = FL_BUF(max);
	while ((n = fs->read(fs, fd, piece, sizeof piece)) > 0)
		fl_buf_put(into, piece, (size_t)n);
	return n < 0 ? fl_fail_sys(err, (int)-n, "read %s", what) : fl_buf_check(into, what, err);
}

static bool copy(char *ret, struct fl_str text)
{
	return fl_str_find(text, '\0') < 0 && (size_t)snprintf(ret, PATH, "%.*s", FL_ARG(text)) < PATH;
}

static int read_bundle(const struct fl_fs *fs, int state, char ret[PATH], struct fl_err *err)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	FL_AUTO(fl_buf) struct fl_buf text = { 0 };
	struct fl_str bundle;
	int r = read_all(fs, state, "the container's state", FL_HOOK_STATE_MAX, &text, err);

	if (r == 0)
		r = fl_json_read(NULL, fl_buf_view(&text), 0, &doc, err);
	if (r < 0)
		return fl_wrap(err, "the container's state");
	if (!fl_json_str(fl_json_get(yyjson_doc_get_root(doc), FL_S("bundle")), &bundle) || !bundle.len ||
	    bundle.p[0] != '/' || !copy(ret, bundle))
		return fl_fail(err, FL_E_INVALID, "the container's state, on stdin, names no bundle");
	return 0;
}

static int read_root(const struct fl_fs *fs, const char *bundle, char ret[2 * PATH], struct fl_err *err)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	FL_AUTO(fl_buf) struct fl_buf text = { 0 };
	char path[2 * PATH], name[PATH];
	struct fl_str root;
	int fd, r;

	(void)snprintf(path, sizeof path, "%s/config.json", bundle);
	fd = fs->open(fs, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return fl_fail_sys(err, -fd, "open '%s'", path);
	r = read_all(fs, fd, path, FL_HOOK_CONFIG_MAX, &text, err);
	fs->close(fs, fd);
	if (r == 0)
		r = fl_json_read(NULL, fl_buf_view(&text), 0, &doc, err);
	if (r < 0)
		return fl_wrap(err, "'%s'", path);
	if (!fl_json_str(fl_json_get(fl_json_get(yyjson_doc_get_root(doc), FL_S("root")), FL_S("path")), &root) ||
	    !root.len || !copy(name, root))
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

/* The kernel says EAGAIN when something was moved while it looked: a container that does so all the time gets nothing.
 * The root is one mount; beyond it is what somebody else has mounted. The path is given without its first slash: should
 * the kernel ever not heed where its end is, this machine's own folder of that name would still not be meant. */
static int open_in(const struct fl_fs *fs, int root, const char *path)
{
	int fd = -EAGAIN;

	for (int i = 0; i < 16 && fd == -EAGAIN; i++)
		fd = fs->open_in(fs, root, path[1] ? path + 1 : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0,
				 RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV);
	return fd;
}

/* Make the directories of a path that are missing, one after the other, each by the fd of the one above. */
static int make_folders(const struct fl_fs *fs, int root, const char *path)
{
	char part[PATH];

	for (const char *end = path; *end;) {
		const char *begin = end + 1;
		int above, fd, r;

		end = begin + strcspn(begin, "/");
		(void)snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
		fd = open_in(fs, root, part);
		if (fd >= 0) {
			fs->close(fs, fd);
			continue;
		}
		if (fd != -ENOENT)
			return fd;
		(void)snprintf(part, sizeof part, "%.*s", (int)(begin - path), path);
		above = open_in(fs, root, part);
		if (above < 0)
			return above;
		(void)snprintf(part, sizeof part, "%.*s", (int)(end - begin), begin);
		r = fs->mkdir(fs, above, part, 0755);
		fs->close(fs, above);
		if (r < 0 && r != -EEXIST)
			return r;
	}
	return 0;
}

static int fail_at(struct fl_err *err, int sys, const char *path)
{
	if (sys == EXDEV)
		return fl_fail(err, FL_E_DENIED, "'%s' of the container is on a mount of its own: none is made there",
			       path);
	if (sys == ELOOP || sys == EAGAIN || sys == ENOTDIR)
		return fl_fail(err, FL_E_DENIED, "'%s' of the container leads nowhere where a link can be made", path);
	return fl_fail_sys(err, sys, "'%s' of the container", path);
}

/* ---- links ---- */

/* What is in its place goes, but for a directory: an image may bring a stub of the library. */
static int put_link(const struct fl_fs *fs, int dir, const char *target, const char *name)
{
	char temp[PATH], there[PATH];
	int64_t n;
	int r = fs->symlink(fs, target, dir, name);

	if (r != -EEXIST)
		return r;
	n = fs->readlink(fs, dir, name, there, sizeof there);
	if (n == (int64_t)strlen(target) && memcmp(there, target, (size_t)n) == 0)
		return 0;
	if ((size_t)snprintf(temp, sizeof temp, ".%s.fairlead", name) >= sizeof temp)
		return -ENAMETOOLONG;
	r = fs->unlink(fs, dir, temp, 0);
	if (r == 0 || r == -ENOENT)
		r = fs->symlink(fs, target, dir, temp);
	if (r == 0)
		r = fs->rename(fs, dir, temp, dir, name, 0);
	if (r < 0)
		(void)fs->unlink(fs, dir, temp, 0);
	return r;
}

/* One name, and none that leads anywhere else. */
static bool is_name(struct fl_str text)
{
	return text.len && text.len <= FL_NAME_MAX && fl_str_find(text, '/') < 0 && !fl_str_eq(text, FL_S(".")) &&
	       !fl_str_eq(text, FL_S(".."));
}

static bool is_path(struct fl_str text)
{
	struct fl_str rest = text, part;

	if (text.len < 2 || text.len >= PATH || text.p[0] != '/')
		return false;
	rest = fl_str_sub(rest, 1, rest.len);
	while (fl_str_split(&rest, '/', &part))
		if (!is_name(part))
			return false;
	return true;
}

struct link {
	char target[PATH], folder[PATH], name[PATH];
};

static int read_link(struct fl_str given, struct link *ret, struct fl_err *err)
{
	char text[PATH];
	const char *colons = copy(text, given) ? strstr(text, "::") : NULL;
	const char *slash = colons ? strrchr(colons, '/') : NULL;
	struct fl_str target, folder;

	if (slash) {
		target = (struct fl_str){ text, (uint32_t)(colons - text) };
		folder = (struct fl_str){ colons + 2, (uint32_t)(slash - colons - 2) };
		if (is_name(target) && is_path(folder) && is_name(fl_str(slash + 1)) && copy(ret->target, target) &&
		    copy(ret->folder, folder) && copy(ret->name, fl_str(slash + 1)))
			return 0;
	}
	return fl_fail(err, FL_E_INVALID, "--link '%.*s': what is wanted is NAME::/FOLDER/LINK", FL_ARG(given));
}

static int make_link(const struct fl_fs *fs, int root, const struct link *link, struct fl_err *err)
{
	int r = make_folders(fs, root, link->folder), dir = r < 0 ? r : open_in(fs, root, link->folder);

	if (dir < 0)
		return fail_at(err, -dir, link->folder);
	r = put_link(fs, dir, link->target, link->name);
	fs->close(fs, dir);
	return r < 0 ? fl_fail_sys(err, -r, "link '%s' in '%s' of the container", link->name, link->folder) : 0;
}

/* ---- where the container's own loader looks ---- */

static const char *const loader_folders[] = {
#if defined(__aarch64__)
	"/usr/lib/aarch64-linux-gnu", "/lib/aarch64-linux-gnu",
#else
	"/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu",
#endif
	"/usr/lib64", "/lib64",
};

/* The same link in a folder of the loader, where it has one that is not the link's own. Nothing that is there goes. */
static int also_link(const struct fl_fs *fs, int root, const struct link *link, const char *folder, struct fl_err *err)
{
	char target[2 * PATH];
	struct fl_stat own = { 0 }, other = { 0 };
	int dir = open_in(fs, root, folder), own_dir, r;

	if (dir == -ENOENT || dir == -ENOTDIR || dir == -EXDEV || dir == -ELOOP)
		return 0;
	if (dir < 0)
		return fail_at(err, -dir, folder);
	own_dir = open_in(fs, root, link->folder);
	r = own_dir < 0 ? own_dir : fs->stat(fs, own_dir, "", AT_EMPTY_PATH, &own);
	if (r == 0)
		r = fs->stat(fs, dir, "", AT_EMPTY_PATH, &other);
	if (r == 0 && (own.dev != other.dev || own.ino != other.ino)) {
		(void)snprintf(target, sizeof target, "%s/%s", link->folder, link->target);
		r = fs->symlink(fs, target, dir, link->name);
	}
	if (own_dir >= 0)
		fs->close(fs, own_dir);
	fs->close(fs, dir);
	return r < 0 && r != -EEXIST ? fail_at(err, -r, folder) : 0;
}

static bool is_folder(const struct fl_hook *hook, const char *folder)
{
	for (uint32_t i = 0; i < hook->folders.len; i++)
		if (fl_str_eq(hook->folders.at[i], fl_str(folder)))
			return true;
	return false;
}

static int make_links(const struct fl_fs *fs, int root, const struct fl_hook *hook, struct fl_err *err)
{
	for (uint32_t i = 0; i < hook->links.len; i++) {
		struct link link;
		int r = read_link(hook->links.at[i], &link, err);

		if (r == 0)
			r = make_link(fs, root, &link, err);
		for (size_t k = 0; r == 0 && is_folder(hook, link.folder) && k < FL_LEN(loader_folders); k++)
			r = also_link(fs, root, &link, loader_folders[k], err);
		if (r < 0)
			return r;
	}
	return 0;
}

int fl_hook_run(const struct fl_fs *fs, int state, const struct fl_hook *hook, struct fl_err *err)
{
	char bundle[PATH], path[2 * PATH];
	int root = -1, r = read_bundle(fs, state, bundle, err);

	if (r == 0)
		r = read_root(fs, bundle, path, err);
	if (r == 0)
		r = open_root(fs, path, &root, err);
	if (r == 0)
		r = make_links(fs, root, hook, err);
	if (root >= 0)
		fs->close(fs, root);
	return r;
}
