/* Where the container's loader finds the driver's libraries: glibc's cache, musl's list of directories, and what an
 * ldconfig of the image will read when it is run later. */
#include "base/arena.h"
#include "node/host/elf.h"
#include "node/hook/in.h"
#include "node/hook/json.h"
#include "node/host/ld_cache.h"
#include <errno.h>
#include <stdio.h>

#define FL_HOOK_CACHE_MAX (8 * FL_MIB)       /* of an image's linker cache; 2,000 libraries are 160 KiB */
#define FL_HOOK_ENTRIES_MAX 512              /* names that the hook adds to it: a driver has 60 */

enum { PATH = FL_HOOK_PATH };

#if defined(__aarch64__)
#define MUSL "aarch64"
#define GLIBC "/lib/ld-linux-aarch64.so.1"
#else
#define MUSL "x86_64"
#define GLIBC "/lib64/ld-linux-x86-64.so.2"
#endif

struct names {
	const struct fl_hooking *h;
	struct fl_arena arena;
	struct fl_ld_entry at[FL_HOOK_ENTRIES_MAX];
	uint32_t len;
	uint32_t firm;                 /* these names have their file: of several files of one name, ldconfig takes the
					  newest of a directory, unless a link of the host has chosen */
	int why;                       /* a negated errno that no container can do without; 0: none */
};

/* ---- files ---- */

/* Others read it: programs that run as nobody have a loader too. */
static int write_file(const struct fl_fs *fs, int dir, const char *name, struct fl_str content)
{
	int fd = fs->open(fs, dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644), r;

	if (fd < 0)
		return fd;
	r = fs->chmod(fs, fd, 0644);
	if (r == 0)
		r = fl_fs_write_all(fs, fd, content.p, content.len);
	fs->close(fs, fd);
	return r;
}

/* In the place of what has the name, links among it; whoever reads it meanwhile has the whole old or the whole new. */
static int put_file(const struct fl_hooking *h, const char *folder, const char *name, struct fl_str content)
{
	const struct fl_fs *fs = h->fs;
	int dir = fl_hook_make_dir(h, folder), r;
	char temp[FL_NAME_MAX];

	if (dir < 0)
		return dir;
	(void)snprintf(temp, sizeof temp, ".%s.fairlead", name);
	r = fs->unlink(fs, dir, temp, 0);
	if (r == 0 || r == -ENOENT)
		r = write_file(fs, dir, temp, content);
	if (r == 0)
		r = fs->rename(fs, dir, temp, dir, name, 0);
	if (r < 0)
		(void)fs->unlink(fs, dir, temp, 0);
	fs->close(fs, dir);
	return r;
}

int fl_hook_put(const struct fl_hooking *h, const char *folder, const char *name, const struct fl_buf *content,
		struct fl_err *err)
{
	char path[PATH];
	int r;

	if (fl_buf_check(content, name, err) < 0)
		return -(int)err->code;
	r = put_file(h, folder, name, fl_buf_view(content));
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	return r < 0 ? fl_hook_failed(h, r, "write", path, err) : 0;
}

/* All of a regular file of the image's own; -ENOENT: there is none. What is mounted is not the image's: its content
 * must not get into a file that everybody in the container reads. */
static int get(const struct fl_hooking *h, const char *path, size_t max, struct fl_buf *into)
{
	uint64_t size;
	int fd = fl_hook_open_own(h, path, &size), r;

	if (fd < 0)
		return fd == -EXDEV || fd == -ENOTDIR || fd == -ELOOP || fd == -ENXIO ? -ENOENT : fd;
	r = size > max ? -EFBIG : fl_hook_read(h->fs, fd, max, into);
	h->fs->close(h->fs, fd);
	return r;
}

static bool is_there(const struct fl_hooking *h, const char *path)
{
	int fd = fl_hook_open(h, path, O_PATH);

	if (fd >= 0)
		h->fs->close(h->fs, fd);
	return fd >= 0;
}

/* ---- names of libraries ---- */

/* In the same directory, by the numbers in its name. */
static bool is_newer(const char *path, struct fl_str before)
{
	const char *name = strrchr(path, '/');

	return name && (size_t)(name - path) < before.len && memcmp(path, before.p, (size_t)(name - path) + 1) == 0 &&
	       strverscmp(path, before.p) > 0;
}

static void add_name(struct names *n, struct fl_str key, const char *path)
{
	uint32_t at = 0;

	while (at < n->len && !fl_str_eq(n->at[at].key, key))
		at++;
	if (at == FL_HOOK_ENTRIES_MAX || (at < n->len && (at < n->firm || !is_newer(path, n->at[at].value))))
		return;   /* a driver has a tenth of them */
	n->at[at] = (struct fl_ld_entry){ .flags = FL_LD_FLAGS, .key = fl_arena_str(&n->arena, key),
					  .value = fl_arena_str(&n->arena, fl_str(path)) };
	if (!n->at[at].key.p || !n->at[at].value.p)
		n->why = -ENOMEM;
	else
		n->len += at == n->len;
}

/* A library for this machine is named as it says, and as `also` (NULL: no other name). Anything else is left out, and
 * so is one that cannot be read. */
static void add_library(struct names *n, const char *path, const char *also)
{
	char soname[FL_ELF_SONAME_MAX];
	struct fl_elf elf;
	int fd = fl_hook_open_library(n->h, path, 0), r;

	if (fd < 0)
		return;
	r = fl_elf_open(&elf, n->h->fs, fd);
	if (r == 0)
		r = fl_elf_soname(&elf, soname);
	n->h->fs->close(n->h->fs, fd);
	if (r < 0)
		return;
	add_name(n, r ? (struct fl_str){ soname, (uint32_t)r } : fl_str(strrchr(path, '/') + 1), path);
	if (also)
		add_name(n, fl_str(also), path);
}

static bool is_library_name(const char *name)
{
	return strncmp(name, "lib", 3) == 0 && strstr(name, ".so") != NULL;
}

static bool is_folder(const struct fl_hook *hook, struct fl_str folder)
{
	return fl_str_in(hook->folders.at, hook->folders.len, folder);
}

/* What the runtime has mounted into those directories. */
static void add_mounted(struct names *n)
{
	struct fl_str mounts, mount, value;
	char path[PATH];
	uint32_t at = 0;

	if (!fl_bare_member(n->h->config, "mounts", &mounts))
		return;
	while (fl_bare_next(mounts, &at, &mount)) {
		const char *name;

		if (!fl_bare_member(mount, "destination", &value) || !fl_bare_text(value, path, sizeof path) ||
		    !fl_hook_is_path(fl_str(path)))
			continue;
		name = strrchr(path, '/') + 1;
		if (is_library_name(name) &&
		    is_folder(n->h->hook, (struct fl_str){ path, (uint32_t)(name - path - 1) }))
			add_library(n, path, NULL);
	}
}

/* The links beside them, which are known by the name of the link too: "libcuda.so", which programs open. */
static void add_linked(struct names *n)
{
	for (uint32_t i = 0; i < n->h->hook->links.len; i++) {
		char text[PATH], path[2 * PATH], *colons, *slash;

		if (!fl_hook_copy(text, n->h->hook->links.at[i]) || !(colons = strstr(text, "::")) ||
		    !(slash = strrchr(colons, '/')))
			continue;
		*colons = '\0';
		if (strchr(text, '/') || !is_library_name(slash + 1) ||
		    !is_folder(n->h->hook, (struct fl_str){ colons + 2, (uint32_t)(slash - colons - 2) }))
			continue;
		(void)snprintf(path, sizeof path, "%.*s/%s", (int)(slash - colons - 2), colons + 2, text);
		if (strlen(path) < PATH)
			add_library(n, path, slash + 1);
	}
}

/* Of as many files at most as there are places: each that is looked at costs the container time to start. */
static void add_compat(struct names *n)
{
	uint32_t looked_at = 0;
	int dir = fl_hook_open(n->h, FL_HOOK_COMPAT, O_DIRECTORY);
	char buf[4096], path[PATH];
	const char *name;
	int64_t len;

	if (dir < 0)
		return;
	while (looked_at < FL_HOOK_ENTRIES_MAX && (len = n->h->fs->list(n->h->fs, dir, buf, sizeof buf)) > 0) {
		size_t at = 0;

		while ((name = fl_list_next(buf, (size_t)len, &at, NULL)))
			if (is_library_name(name) && looked_at++ < FL_HOOK_ENTRIES_MAX &&
			    (size_t)snprintf(path, sizeof path, FL_HOOK_COMPAT "/%s", name) < sizeof path)
				add_library(n, path, name);
	}
	n->h->fs->close(n->h->fs, dir);
}

/* ---- glibc ---- */

static int write_cache(const struct fl_hooking *h, bool compat, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf now = { 0 }, wanted = FL_BUF(2 * FL_HOOK_CACHE_MAX);
	struct names *n = fl_zalloc(sizeof *n);
	struct fl_ld_cache cache;
	int r;

	if (!n)
		return fl_fail(err, FL_E_NOMEM, "no memory for the names of libraries");
	n->h = h;
	if (compat)
		add_compat(n);
	n->firm = n->len;
	add_linked(n);
	n->firm = n->len;
	add_mounted(n);
	r = n->why ? n->why : get(h, "/etc/ld.so.cache", FL_HOOK_CACHE_MAX, &now);
	/* One that no loader would take is as if there were none. */
	if (r < 0 && r != -ENOENT)
		r = fl_hook_failed(h, r, "read", "/etc/ld.so.cache", err);
	else if (fl_ld_cache_merge(r == 0 && now.len && fl_ld_cache_open(&cache, now.p, now.len) ? &cache : NULL, n->at,
				   n->len, &wanted, err) < 0)
		r = -(int)err->code;
	else
		r = n->len ? fl_hook_put(h, "/etc", "ld.so.cache", &wanted, err) : 0;
	fl_arena_free(&n->arena);
	fl_free(n);
	return r;
}

/* For an ldconfig that is run later: it forgets what no configuration names. */
static int write_conf(const struct fl_hooking *h, bool compat, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf own = FL_BUF(FL_HOOK_LIST_MAX), newer = FL_BUF(PATH), all = FL_BUF(PATH);
	int r = 0;

	for (uint32_t i = 0; i < h->hook->folders.len; i++)
		fl_buf_printf(&own, "%.*s\n", FL_ARG(h->hook->folders.at[i]));
	fl_buf_str(&newer, FL_S(FL_HOOK_COMPAT "\n"));
	fl_buf_str(&all, FL_S("include /etc/ld.so.conf.d/*.conf\n"));
	if (!is_there(h, "/etc/ld.so.conf"))
		r = fl_hook_put(h, "/etc", "ld.so.conf", &all, err);
	if (r == 0 && compat)
		r = fl_hook_put(h, "/etc/ld.so.conf.d", "00-compat-fairlead.conf", &newer, err);
	return r == 0 ? fl_hook_put(h, "/etc/ld.so.conf.d", "00-fairlead.conf", &own, err) : r;
}

/* ---- musl ---- */

static bool has_line(const struct fl_buf *list, struct fl_str line)
{
	struct fl_str rest = fl_buf_view(list), other;

	while (fl_str_split(&rest, '\n', &other))
		if (fl_str_eq(other, line))
			return true;
	return false;
}

static void add_line(struct fl_buf *list, struct fl_str line)
{
	if (!line.len || has_line(list, line))
		return;
	fl_buf_str(list, line);
	fl_buf_char(list, '\n');
}

/* An absolute path of characters: "/opt//lib/" is one, a line of some other file is none. */
static bool is_listed_path(struct fl_str text)
{
	for (uint32_t i = 0; i < text.len; i++)
		if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7f)
			return false;
	return text.len < PATH && text.p[0] == '/';
}

/* What the image's list names; false: something of it is no path. */
static bool add_list(struct fl_buf *list, struct fl_str rest)
{
	struct fl_str line, part;
	bool all = true;

	while (fl_str_split(&rest, '\n', &line)) {
		while (fl_str_split(&line, ':', &part)) {
			if (!part.len)
				continue;
			if (is_listed_path(part))
				add_line(list, part);
			else
				all = false;
		}
	}
	return all;
}

/* The file is there in place of the loader's own directories, so those are named in it. */
static int write_musl(const struct fl_hooking *h, struct fl_err *err)
{
	static const struct fl_str usual[] = { FL_S_INIT("/lib"), FL_S_INIT("/usr/local/lib"), FL_S_INIT("/usr/lib") };
	FL_AUTO(fl_buf) struct fl_buf now = { 0 }, wanted = FL_BUF(2 * FL_HOOK_LIST_MAX);
	int r = get(h, "/etc/ld-musl-" MUSL ".path", FL_HOOK_LIST_MAX, &now);

	if (r < 0 && r != -ENOENT)
		return fl_hook_failed(h, r, "read", "/etc/ld-musl-" MUSL ".path", err);
	for (uint32_t i = 0; i < h->hook->folders.len; i++)
		add_line(&wanted, h->hook->folders.at[i]);
	if (r == 0 && !add_list(&wanted, fl_buf_view(&now)) && h->hook->warn)
		h->hook->warn("'/etc/ld-musl-" MUSL ".path' of the container: what is no absolute path was left out");
	for (uint32_t i = 0; i < FL_LEN(usual); i++)
		add_line(&wanted, usual[i]);
	return fl_hook_put(h, "/etc", "ld-musl-" MUSL ".path", &wanted, err);
}

int fl_hook_cache(const struct fl_hooking *h, bool compat, struct fl_err *err)
{
	bool musl = is_there(h, "/etc/alpine-release") || is_there(h, "/lib/ld-musl-" MUSL ".so.1");

	for (uint32_t i = 0; i < h->hook->folders.len; i++)
		if (!fl_hook_is_path(h->hook->folders.at[i]) || fl_str_find(h->hook->folders.at[i], '\n') >= 0)
			return fl_fail(err, FL_E_INVALID, "--folder '%.*s' is no absolute path of names",
				       FL_ARG(h->hook->folders.at[i]));
	if (musl && write_musl(h, err) < 0)
		return -(int)err->code;
	if (musl && !is_there(h, GLIBC))
		return 0;
	return write_conf(h, compat, err) < 0 ? -(int)err->code : write_cache(h, compat, err);
}
