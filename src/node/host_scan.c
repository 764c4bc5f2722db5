#include "node/host_scan.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

static const char *const lib_dirs[] = {
#if defined(__aarch64__)
	"/usr/lib/aarch64-linux-gnu", "/lib/aarch64-linux-gnu",
#else
	"/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu",
#endif
	"/usr/lib64", "/lib64", "/usr/lib", "/lib",
};
static const char *const lib_below[] = { "", "/vdpau" };
static const char *const bin_dirs[] = { "/usr/bin", "/usr/sbin", "/bin" };
static const char *const programs[] = {
	"nvidia-cuda-mps-control", "nvidia-cuda-mps-server", "nvidia-debugdump", "nvidia-imex", "nvidia-imex-ctl",
	"nvidia-persistenced", "nvidia-smi",
};
static const char *const firmware_dirs[] = { "/lib/firmware", "/lib/firmware/updates", "/usr/lib/firmware" };
static const char *const sockets[] = { "/run/nvidia-persistenced/socket", "/run/nvidia-fabricmanager/socket" };

/* A directory that has been looked through: the same one often has two names. */
struct seen {
	uint64_t dev, ino;
};

struct looking {
	const struct fl_fs *fs;
	struct fl_host_scan *scan;
	struct seen seen[64];
	uint32_t seen_count;
};

static bool join(char *ret, size_t size, const char *root, const char *path)
{
	size_t len = strlen(root);

	while (len && root[len - 1] == '/')
		len--;
	return (size_t)snprintf(ret, size, "%.*s%s", (int)len, root, path) < size;
}

/* An fd of a directory that was not looked through before, or -1. */
static int open_new(struct looking *l, const char *root, const char *dir)
{
	char path[2 * FL_HOST_PATH_MAX];
	struct fl_stat stat = { 0 };
	int fd;

	if (!join(path, sizeof path, root, dir))
		return -1;
	fd = l->fs->open(l->fs, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (l->fs->stat(l->fs, fd, "", AT_EMPTY_PATH, &stat) == 0) {
		for (uint32_t i = 0; i < l->seen_count; i++)
			if (l->seen[i].dev == stat.dev && l->seen[i].ino == stat.ino) {
				l->fs->close(l->fs, fd);
				return -1;
			}
		if (l->seen_count < FL_LEN(l->seen))
			l->seen[l->seen_count++] = (struct seen){ stat.dev, stat.ino };
	}
	return fd;
}

static struct fl_host_file_found *add(struct looking *l, enum fl_host_file what, const char *dir, const char *name)
{
	struct fl_host_file_found *file = &l->scan->files[l->scan->file_count];

	if (l->scan->file_count == FL_HOST_FILES_MAX) {
		l->scan->cut = true;
		return NULL;
	}
	memset(file, 0, sizeof *file);
	file->what = what;
	if ((size_t)snprintf(file->path, sizeof file->path, "%s%s%s", dir, name[0] ? "/" : "", name) >=
	    sizeof file->path) {
		l->scan->cut = true;
		return NULL;
	}
	l->scan->file_count++;
	return file;
}

/* ---- libraries ---- */

static bool is_library(const char *name, const char *version)
{
	size_t len = strlen(name), tail = strlen(version);

	return tail && len > tail + 4 && strncmp(name, "lib", 3) == 0 && name[len - tail - 1] == '.' &&
	       strcmp(name + len - tail, version) == 0 && strstr(name, ".so.") != NULL;
}

static void add_link(struct looking *l, struct fl_host_file_found *file, const char *name)
{
	for (uint32_t i = 0; i < file->link_count; i++)
		if (strcmp(file->links[i], name) == 0)
			return;
	if (file->link_count == FL_HOST_LINKS || strlen(name) >= FL_HOST_NAME_MAX) {
		l->scan->cut = true;
		return;
	}
	(void)snprintf(file->links[file->link_count++], FL_HOST_NAME_MAX, "%s", name);
}

/* Which of the libraries from `from` on a link leads to, directly or by another one: libcuda.so -> libcuda.so.1 ->
 * libcuda.so.550.54.15. */
static void follow(struct looking *l, int dir, uint32_t from, const char *name)
{
	char at[FL_HOST_NAME_MAX], target[FL_HOST_PATH_MAX];

	if (strlen(name) >= sizeof at)
		return;
	(void)snprintf(at, sizeof at, "%s", name);
	for (int hops = 0; hops < 4; hops++) {
		int64_t n = l->fs->readlink(l->fs, dir, at, target, sizeof target - 1);
		const char *base;

		if (n <= 0)
			return;
		target[n] = '\0';
		base = strrchr(target, '/');
		base = base ? base + 1 : target;
		for (uint32_t i = from; i < l->scan->file_count; i++) {
			const char *own = strrchr(l->scan->files[i].path, '/');

			if (own && strcmp(own + 1, base) == 0) {
				add_link(l, &l->scan->files[i], name);
				return;
			}
		}
		if (strlen(base) >= sizeof at)
			return;
		memcpy(at, base, strlen(base) + 1);
	}
}

/* All names of a directory, twice: the libraries first, then what leads to them. */
static void look_libraries(struct looking *l, int fd, const char *dir, bool links, uint32_t from)
{
	char buf[4096];
	const char *name;
	unsigned char type;
	int64_t n;

	while ((n = l->fs->list(l->fs, fd, buf, sizeof buf)) > 0) {
		size_t at = 0;

		while ((name = fl_list_next(buf, (size_t)n, &at, &type))) {
			if (strncmp(name, "lib", 3) != 0 || !strstr(name, ".so"))
				continue;
			if (links && (type == DT_LNK || type == DT_UNKNOWN))
				follow(l, fd, from, name);
			else if (!links && type != DT_LNK && is_library(name, l->scan->version))
				(void)add(l, FL_HOST_LIBRARY, dir, name);
		}
	}
}

static void libraries(struct looking *l, const char *dir)
{
	uint32_t from = l->scan->file_count;
	char path[2 * FL_HOST_PATH_MAX];
	int fd = open_new(l, l->scan->root, dir);

	if (fd < 0)
		return;
	look_libraries(l, fd, dir, false, from);
	l->fs->close(l->fs, fd);
	if (l->scan->file_count == from || !join(path, sizeof path, l->scan->root, dir))
		return;
	fd = l->fs->open(l->fs, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	look_libraries(l, fd, dir, true, from);
	l->fs->close(l->fs, fd);
}

/* ---- other files ---- */

static void programs_of(struct looking *l, const char *dir)
{
	int fd = open_new(l, l->scan->root, dir);
	struct fl_stat stat = { 0 };

	if (fd < 0)
		return;
	for (size_t i = 0; i < FL_LEN(programs); i++)
		if (l->fs->stat(l->fs, fd, programs[i], 0, &stat) == 0 && S_ISREG(stat.mode))
			(void)add(l, FL_HOST_BINARY, dir, programs[i]);
	l->fs->close(l->fs, fd);
}

static void firmware(struct looking *l, const char *above)
{
	char dir[FL_HOST_PATH_MAX], buf[FL_LIST_MIN];
	const char *name;
	int64_t n;
	int fd;

	if ((size_t)snprintf(dir, sizeof dir, "%s/nvidia/%s", above, l->scan->version) >= sizeof dir)
		return;
	fd = open_new(l, l->scan->root, dir);
	if (fd < 0)
		return;
	while ((n = l->fs->list(l->fs, fd, buf, sizeof buf)) > 0) {
		size_t at = 0;

		while ((name = fl_list_next(buf, (size_t)n, &at, NULL)))
			if (strncmp(name, "gsp", 3) == 0 && strstr(name, ".bin"))
				(void)add(l, FL_HOST_FIRMWARE, dir, name);
	}
	l->fs->close(l->fs, fd);
}

static void sockets_of(struct looking *l)
{
	char path[2 * FL_HOST_PATH_MAX];
	struct fl_stat stat = { 0 };

	for (size_t i = 0; i < FL_LEN(sockets); i++)
		if (join(path, sizeof path, l->scan->root, sockets[i]) &&
		    l->fs->stat(l->fs, AT_FDCWD, path, 0, &stat) == 0 && S_ISSOCK(stat.mode))
			(void)add(l, FL_HOST_SOCKET, sockets[i], "");
}

/* ---- device nodes ---- */

static bool is_ours(const char *name)
{
	return strncmp(name, "nvidia", 6) == 0 || strncmp(name, "card", 4) == 0 || strncmp(name, "renderD", 7) == 0;
}

static void nodes_in(struct looking *l, const char *dir)
{
	char buf[4096];
	const char *name;
	int fd = open_new(l, l->scan->dev_root, dir);
	int64_t n;

	if (fd < 0)
		return;
	while ((n = l->fs->list(l->fs, fd, buf, sizeof buf)) > 0) {
		size_t at = 0;

		while ((name = fl_list_next(buf, (size_t)n, &at, NULL))) {
			struct fl_host_node_found *node = &l->scan->nodes[l->scan->node_count];
			struct fl_stat stat = { 0 };

			if (!is_ours(name) || l->fs->stat(l->fs, fd, name, 0, &stat) < 0 || !S_ISCHR(stat.mode))
				continue;
			if (l->scan->node_count == FL_HOST_NODES_MAX ||
			    (size_t)snprintf(node->path, sizeof node->path, "%s/%s", dir, name) >= sizeof node->path) {
				l->scan->cut = true;
				continue;
			}
			node->major = major(stat.rdev);
			node->minor = minor(stat.rdev);
			node->mode = stat.mode & 07777;
			node->gid = stat.gid;
			l->scan->node_count++;
		}
	}
	l->fs->close(l->fs, fd);
}

/* ---- all of it ---- */

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct fl_host_file_found *)a)->path, ((const struct fl_host_file_found *)b)->path);
}

static int by_node_path(const void *a, const void *b)
{
	return strcmp(((const struct fl_host_node_found *)a)->path, ((const struct fl_host_node_found *)b)->path);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int check(const struct fl_fs *fs, const char *root, const char *below)
{
	char path[2 * FL_HOST_PATH_MAX];
	struct fl_stat stat = { 0 };
	int r = join(path, sizeof path, root, below) ? fs->stat(fs, AT_FDCWD, path, 0, &stat) : -ENAMETOOLONG;

	return r < 0 ? -r : 0;
}

void fl_host_scan(const struct fl_fs *fs, struct fl_host_scan *scan)
{
	struct looking l = { .fs = fs, .scan = scan };
	char dir[FL_HOST_PATH_MAX];

	scan->error = check(fs, scan->root, "/");
	if (!scan->error)
		scan->error = check(fs, scan->dev_root, "/dev");
	for (size_t i = 0; i < FL_LEN(lib_dirs); i++)
		for (size_t j = 0; j < FL_LEN(lib_below); j++)
			if ((size_t)snprintf(dir, sizeof dir, "%s%s", lib_dirs[i], lib_below[j]) < sizeof dir)
				libraries(&l, dir);
	for (size_t i = 0; i < FL_LEN(bin_dirs); i++)
		programs_of(&l, bin_dirs[i]);
	for (size_t i = 0; i < FL_LEN(firmware_dirs) && scan->version[0]; i++)
		firmware(&l, firmware_dirs[i]);
	sockets_of(&l);
	nodes_in(&l, "/dev");
	nodes_in(&l, "/dev/nvidia-caps");
	nodes_in(&l, "/dev/dri");
	for (uint32_t i = 0; i < scan->file_count; i++)
		qsort(scan->files[i].links, scan->files[i].link_count, FL_HOST_NAME_MAX, by_text);
	qsort(scan->files, scan->file_count, sizeof *scan->files, by_path);
	qsort(scan->nodes, scan->node_count, sizeof *scan->nodes, by_node_path);
}
