#include "node/hook/in.h"
#include <errno.h>
#include <stdio.h>

enum { PATH = FL_HOOK_PATH };

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

struct link {
	char target[PATH], folder[PATH], name[PATH];
};

/* Names, with steps up in front: no more of them than the link lies deep, so that it never leads out of the root. */
static bool is_target(struct fl_str text, struct fl_str folder)
{
	uint32_t ups = 0, depth = folder.len > 1;
	bool named = false;
	struct fl_str part;

	for (uint32_t i = 1; i < folder.len; i++)
		depth += folder.p[i] == '/';
	while (fl_str_split(&text, '/', &part)) {
		if (!named && fl_str_eq(part, FL_S("..")))
			ups++;
		else if (fl_hook_is_name(part))
			named = true;
		else
			return false;
	}
	return named && ups <= depth;
}

static int read_link(struct fl_str given, struct link *ret, struct fl_err *err)
{
	char text[PATH];
	const char *colons = fl_hook_copy(text, given) ? strstr(text, "::") : NULL;
	const char *slash = colons ? strrchr(colons, '/') : NULL;
	struct fl_str target, folder;

	if (slash) {
		target = (struct fl_str){ text, (uint32_t)(colons - text) };
		folder = (struct fl_str){ colons + 2, (uint32_t)(slash - colons - 2) };
		if (fl_hook_is_path(folder) && is_target(target, folder) && fl_hook_is_name(fl_str(slash + 1)) &&
		    fl_hook_copy(ret->target, target) && fl_hook_copy(ret->folder, folder) &&
		    fl_hook_copy(ret->name, fl_str(slash + 1)))
			return 0;
	}
	return fl_fail(err, FL_E_INVALID, "--link '%.*s': what is wanted is TEXT::/DIR/LINK, and a TEXT that is "
					  "relative and stays inside",
		       FL_ARG(given));
}

int fl_hook_links(const struct fl_hooking *h, struct fl_err *err)
{
	for (uint32_t i = 0; i < h->hook->links.len; i++) {
		struct link link;
		char path[2 * PATH + 1];
		int r = read_link(h->hook->links.at[i], &link, err), dir;

		if (r < 0)
			return r;
		dir = r = fl_hook_make_dir(h, link.folder);
		if (dir >= 0) {
			r = put_link(h->fs, dir, link.target, link.name);
			h->fs->close(h->fs, dir);
		}
		(void)snprintf(path, sizeof path, "%s/%s", link.folder, link.name);
		if (r < 0 && fl_hook_failed(h, r, "link", path, err) < 0)
			return -(int)err->code;
	}
	return 0;
}
