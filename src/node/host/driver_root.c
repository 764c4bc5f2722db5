#include "node/host/driver_root.h"
#include "node/host/elf.h"
#include "node/host/ld_cache.h"
#include <errno.h>
#include <stdio.h>

enum { LINKS_MAX = 40 };   /* as many as the kernel follows */

const char *const fl_lib_dir_names[] = {
	"/", "/usr/lib64",
#if defined(__aarch64__)
	"/usr/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu/nvidia/current", "/lib64", "/lib/aarch64-linux-gnu",
	"/lib/aarch64-linux-gnu/nvidia/current",
#else
	"/usr/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu/nvidia/current", "/lib64", "/lib/x86_64-linux-gnu",
	"/lib/x86_64-linux-gnu/nvidia/current",
#endif
	"/usr/lib", "/lib", "/usr/local/nvidia/lib64", "/opt/nvidia/lib64", "",
};

bool fl_root_join(char *ret, size_t size, const char *root, const char *path)
{
	size_t len = strlen(root);

	while (len && root[len - 1] == '/')
		len--;
	return (size_t)snprintf(ret, size, "%.*s%s%s", (int)len, root, path[0] == '/' ? "" : "/", path) < size;
}

/* ---- links inside the root ---- */

struct walk {
	char done[FL_HOST_PATH_MAX];             /* without links; "" is the root */
	char rest[2 * FL_HOST_PATH_MAX];         /* what is still to be walked */
	unsigned links;
	struct fl_root_known *known;
};

static const struct fl_root_name *find_known(const struct fl_root_known *known, const char *path)
{
	uint32_t len = known->count < FL_ROOT_KNOWN_MAX ? known->count : FL_ROOT_KNOWN_MAX;

	for (uint32_t i = 0; i < len; i++)
		if (strcmp(known->at[i].path, path) == 0)
			return &known->at[i];
	return NULL;
}

static void learn(struct fl_root_known *known, const char *path, bool absent)
{
	struct fl_root_name *name = &known->at[known->count++ % FL_ROOT_KNOWN_MAX];

	(void)snprintf(name->path, sizeof name->path, "%s", path);
	name->absent = absent;
}

static void go_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
}

/* The link at the end of `done` is replaced by what it says. */
static int follow(struct walk *w, const char *rest, char *target, int64_t len)
{
	char text[sizeof w->rest];

	if (++w->links > LINKS_MAX)
		return -ELOOP;
	target[len] = '\0';
	if ((size_t)snprintf(text, sizeof text, "%s/%s", target, rest) >= sizeof text)
		return -ENAMETOOLONG;
	memcpy(w->rest, text, sizeof text);
	if (target[0] == '/')
		w->done[0] = '\0';
	else
		go_up(w->done);
	return 0;
}

/* Its last name is on the disk: 1, and a link was followed if it is one; or a negated errno. */
static int resolve(const struct fl_fs *fs, const char *root, struct walk *w, const char *rest)
{
	const struct fl_root_name *name = *rest ? find_known(w->known, w->done) : NULL;
	char full[2 * FL_HOST_PATH_MAX], target[FL_HOST_PATH_MAX];
	int64_t n;
	int r;

	if (!fl_root_join(full, sizeof full, root, w->done))
		return -ENAMETOOLONG;
	n = !name ? fs->readlink(fs, AT_FDCWD, full, target, sizeof target) : name->absent ? -ENOENT : -EINVAL;
	if (!name && *rest && (n == -EINVAL || n == -ENOENT))   /* what several paths may begin with */
		learn(w->known, w->done, n == -ENOENT);
	if (n == 0 || (n < 0 && n != -EINVAL))
		return n ? (int)n : -ENOENT;
	if (n >= (int64_t)sizeof target)
		return -ENAMETOOLONG;
	r = n > 0 ? follow(w, rest, target, n) : 0;
	if (n < 0)   /* it is no link */
		memmove(w->rest, rest, strlen(rest) + 1);
	return r < 0 ? r : 1;
}

/* One name further; 0 at the end. */
static int step(const struct fl_fs *fs, const char *root, struct walk *w)
{
	const char *name = w->rest + strspn(w->rest, "/");
	size_t len = strcspn(name, "/"), at = strlen(w->done);

	if (!len)
		return 0;
	if (len > 2 || strncmp(name, "..", len) != 0) {
		if ((size_t)snprintf(w->done + at, sizeof w->done - at, "/%.*s", (int)len, name) >= sizeof w->done - at)
			return -ENAMETOOLONG;
		return resolve(fs, root, w, name + len);
	}
	if (len == 2)
		go_up(w->done);
	memmove(w->rest, name + len, strlen(name + len) + 1);
	return 1;
}

int fl_root_resolve(const struct fl_fs *fs, const char *root, const char *path, char ret[FL_HOST_PATH_MAX],
		    struct fl_stat *ret_stat)
{
	struct fl_root_known known;

	known.count = 0;
	return fl_root_resolve_known(fs, root, path, &known, ret, ret_stat);
}

int fl_root_resolve_known(const struct fl_fs *fs, const char *root, const char *path, struct fl_root_known *known,
			  char ret[FL_HOST_PATH_MAX], struct fl_stat *ret_stat)
{
	char full[2 * FL_HOST_PATH_MAX];
	struct walk w = { .known = known };
	int r;

	if ((size_t)snprintf(w.rest, sizeof w.rest, "%s", path) >= sizeof w.rest)
		return -ENAMETOOLONG;
	do
		r = step(fs, root, &w);
	while (r > 0);
	if (r < 0)
		return r;
	(void)snprintf(ret, FL_HOST_PATH_MAX, "%s", w.done[0] ? w.done : "/");
	if (!fl_root_join(full, sizeof full, root, ret))
		return -ENAMETOOLONG;
	return fs->stat(fs, AT_FDCWD, full, AT_SYMLINK_NOFOLLOW, ret_stat);
}

int fl_root_dev(const struct fl_fs *fs, const char *root, const char **ret)
{
	struct fl_stat stat = { 0 };
	char path[FL_HOST_PATH_MAX];
	int r = fl_root_resolve(fs, root, "/dev", path, &stat);

	*ret = r == 0 && S_ISDIR(stat.mode) ? root : "/";
	return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

/* ---- directories of libraries ---- */

static void failed(struct fl_lib_dirs *dirs, int sys, const char *root, const char *path)
{
	if (dirs->error || sys == ENOENT || sys == ENOTDIR)
		return;
	dirs->error = sys;
	if (!fl_root_join(dirs->where, sizeof dirs->where, root, path))
		(void)snprintf(dirs->where, sizeof dirs->where, "%.*s", FL_HOST_PATH_MAX, path);
}

static void add_dir(const struct fl_fs *fs, const char *root, const char *name, struct fl_root_known *known,
		    struct fl_lib_dirs *dirs)
{
	struct fl_stat stat = { 0 };
	char path[FL_HOST_PATH_MAX];
	int r = fl_root_resolve_known(fs, root, name, known, path, &stat);

	if (r < 0)
		failed(dirs, -r, root, name);
	if (r < 0 || !S_ISDIR(stat.mode))
		return;
	for (uint32_t i = 0; i < dirs->len; i++)
		if (strcmp(dirs->at[i], path) == 0)
			return;
	if (dirs->len == FL_LIB_DIRS_MAX)
		failed(dirs, E2BIG, root, name);
	else
		memcpy(dirs->at[dirs->len++], path, sizeof path);
}

void fl_lib_dirs_usual(const struct fl_fs *fs, const char *root, struct fl_lib_dirs *ret)
{
	struct fl_root_known known;

	known.count = 0;
	ret->len = 0;
	ret->error = 0;
	for (const char *const *name = fl_lib_dir_names; **name; name++)
		add_dir(fs, root, *name, &known, ret);
}

static int64_t read_cache(const struct fl_fs *fs, const char *root, struct fl_lib_dirs *dirs)
{
	char path[FL_HOST_PATH_MAX], full[2 * FL_HOST_PATH_MAX];
	struct fl_stat stat = { 0 };
	int fd = fl_root_resolve(fs, root, "/etc/ld.so.cache", path, &stat);
	int64_t n;

	if (fd == 0 && !fl_root_join(full, sizeof full, root, path))
		fd = -ENAMETOOLONG;
	if (fd == 0)
		fd = fs->open(fs, AT_FDCWD, full, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	n = fl_fs_read_all(fs, fd, dirs->cache, sizeof dirs->cache);
	fs->close(fs, fd);
	return n == (int64_t)sizeof dirs->cache ? -EFBIG : n;
}

void fl_lib_dirs_cached(const struct fl_fs *fs, const char *root, struct fl_lib_dirs *dirs)
{
	static const struct fl_str cuda = FL_S_INIT("libcuda.so"), nvml = FL_S_INIT("libnvidia-ml.so");
	int64_t n = read_cache(fs, root, dirs);
	struct fl_root_known known;
	struct fl_ld_cache cache;
	struct fl_ld_entry entry;

	known.count = 0;
	if (n < 0)
		failed(dirs, (int)-n, root, "/etc/ld.so.cache");
	if (n <= 0 || !fl_ld_cache_open(&cache, dirs->cache, (size_t)n))
		return;
	while (fl_ld_cache_next(&cache, &entry)) {
		char dir[FL_HOST_PATH_MAX], file[FL_HOST_PATH_MAX];
		struct fl_stat stat = { 0 };

		if (entry.flags != FL_LD_FLAGS ||
		    (!fl_str_starts(entry.key, cuda) && !fl_str_starts(entry.key, nvml)) ||
		    (size_t)snprintf(dir, sizeof dir, "%.*s", FL_ARG(entry.value)) >= sizeof dir || !strrchr(dir, '/'))
			continue;
		/* Where it is, and where the driver's own file is that it leads to. */
		if (fl_root_resolve_known(fs, root, dir, &known, file, &stat) < 0)
			continue;   /* an entry from before the last ldconfig */
		go_up(dir);
		add_dir(fs, root, dir[0] ? dir : "/", &known, dirs);
		go_up(file);
		add_dir(fs, root, file[0] ? file : "/", &known, dirs);
	}
}

int fl_lib_look(const struct fl_fs *fs, int dir, const char *path, char soname[FL_HOST_NAME_MAX])
{
	int fd = fs->open(fs, dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0), r;
	char name[FL_ELF_SONAME_MAX] = "";
	struct fl_elf elf;

	soname[0] = '\0';
	if (fd < 0)
		return fd;
	r = fl_elf_open(&elf, fs, fd);
	if (r == 0)
		r = fl_elf_soname(&elf, name);
	fs->close(fs, fd);
	if (r < 0)
		return r;
	if (strlen(name) < FL_HOST_NAME_MAX)
		(void)snprintf(soname, FL_HOST_NAME_MAX, "%s", name);
	return 0;
}
