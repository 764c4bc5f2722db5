#include "node/host_scan.h"
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

/* "/usr/lib" only where none of the others has a library: beside "/usr/lib64" it is the one for 32 bits. */
static const char *const lib_dirs[] = {
#if defined(__aarch64__)
	"/usr/lib/aarch64-linux-gnu", "/lib/aarch64-linux-gnu",
#else
	"/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu",
#endif
	"/usr/lib64", "/lib64",
};
static const char *const lib_dirs_last[] = { "/usr/lib", "/lib" };
static const char *const lib_below[] = { "", "/nvidia/current", "/vdpau" };
static const char *const bin_dirs[] = { "/usr/bin", "/usr/sbin", "/bin" };
static const char *const programs[] = {
	"nvidia-cuda-mps-control", "nvidia-cuda-mps-server", "nvidia-debugdump", "nvidia-imex", "nvidia-imex-ctl",
	"nvidia-persistenced", "nvidia-smi",
};
static const char *const firmware_dirs[] = { "/lib/firmware", "/lib/firmware/updates", "/usr/lib/firmware" };
static const char *const sockets[] = { "/run/nvidia-persistenced/socket", "/run/nvidia-fabricmanager/socket" };

static const char *const storage[] = { "/etc/cufile.json", "/run/udev" };   /* of GPUDirect Storage */
static const char mps[] = "/tmp/nvidia-mps";

const struct fl_host_place fl_host_places[FL_HOST_PLACES] = {
	{ "/dev", true, { "nvidia", "dri", "infiniband", "gdrdrv" } },
	{ "/dev/nvidia-caps", true, { "nvidia-cap" } },
	{ "/dev/nvidia-caps-imex-channels", true, { "channel0" } },
	{ "/dev/dri", true, { "card", "renderD" } },
	{ "/dev/infiniband", true, { "uverbs", "rdma_cm" } },
	{ "/run", false, { "nvidia-" } },
	{ "/run/nvidia-persistenced", false, { "socket" } },
	{ "/run/nvidia-fabricmanager", false, { "socket" } },
};

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

bool fl_host_join(char *ret, size_t size, const char *root, const char *path)
{
	size_t len = strlen(root);

	while (len && root[len - 1] == '/')
		len--;
	return (size_t)snprintf(ret, size, "%.*s%s", (int)len, root, path) < size;
}

/* ---- what goes wrong ---- */

static void say(struct looking *l, const char *fmt, ...) FL_PRINTF(2, 3);

static void say(struct looking *l, const char *fmt, ...)
{
	va_list args;

	if (l->scan->message[0])
		return;   /* one at a time: when it is mended, the next one shows */
	va_start(args, fmt);
	(void)vsnprintf(l->scan->message, sizeof l->scan->message, fmt, args);
	va_end(args);
}

static void too_many(struct looking *l, const char *what, const char *name, int max)
{
	say(l, "'%s' is left out: no more than %d %s are looked at, with paths of less than %d bytes", name, max, what,
	    FL_HOST_PATH_MAX);
}

/* What a path without a slash at its end cannot have been is not there. */
static void failed(struct looking *l, int sys, const char *path)
{
	struct fl_err err = { 0 };

	if (sys == ENOENT || sys == ENOTDIR)
		return;
	if (sys == EACCES || sys == EPERM || sys == ELOOP) {
		(void)fl_fail_sys(&err, sys, "'%s' cannot be looked at", path);
		say(l, "%s", err.text);
	} else if (!l->scan->error) {
		l->scan->error = sys;
		(void)snprintf(l->scan->where, sizeof l->scan->where, "%s", path);
	}
}

/* What is under a name, links followed; false: nothing. */
static bool look(struct looking *l, int dir, const char *path, struct fl_stat *ret)
{
	int r = l->fs->stat(l->fs, dir, path, 0, ret);

	if (r < 0)
		failed(l, -r, path);
	return r == 0;
}

/* ---- directories ---- */

/* An fd of a directory that was not looked through before, or -1. */
static int open_new(struct looking *l, const char *root, const char *dir)
{
	char path[2 * FL_HOST_PATH_MAX];
	struct fl_stat stat = { 0 };
	int fd, r;

	if (!fl_host_join(path, sizeof path, root, dir))
		return -1;
	fd = l->fs->open(l->fs, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0) {
		failed(l, -fd, path);
		return -1;
	}
	r = l->fs->stat(l->fs, fd, "", AT_EMPTY_PATH, &stat);
	for (uint32_t i = 0; r == 0 && i < l->seen_count; i++)
		if (l->seen[i].dev == stat.dev && l->seen[i].ino == stat.ino)
			r = -ENOENT;
	if (r < 0) {
		failed(l, -r, path);
		l->fs->close(l->fs, fd);
		return -1;
	}
	if (l->seen_count < FL_LEN(l->seen))
		l->seen[l->seen_count++] = (struct seen){ stat.dev, stat.ino };
	return fd;
}

/* The next names of a directory: false at its end. */
static bool list(struct looking *l, int fd, const char *dir, char *buf, size_t size, size_t *ret_len)
{
	int64_t n = l->fs->list(l->fs, fd, buf, size);

	if (n < 0)
		failed(l, (int)-n, dir);
	*ret_len = n > 0 ? (size_t)n : 0;
	return n > 0;
}

static struct fl_host_file_found *add(struct looking *l, enum fl_host_file what, const char *dir, const char *name)
{
	struct fl_host_file_found *file = &l->scan->files[l->scan->file_count];

	if (l->scan->file_count == FL_HOST_FILES_MAX) {
		too_many(l, "files", name, FL_HOST_FILES_MAX);
		return NULL;
	}
	memset(file, 0, sizeof *file);
	file->what = what;
	if ((size_t)snprintf(file->path, sizeof file->path, "%s%s%s", dir, name[0] ? "/" : "", name) >=
	    sizeof file->path) {
		too_many(l, "files", name, FL_HOST_FILES_MAX);
		return NULL;
	}
	l->scan->file_count++;
	return file;
}

/* ---- libraries ---- */

static bool is_library(const char *name, const char *version)
{
	size_t len = strlen(name), tail = strlen(version);

	if (strncmp(name, "libnvidia-nvvm70.so.", 20) == 0)
		return true;   /* the one of the driver's that bears another version */
	return tail && len > tail + 4 && strncmp(name, "lib", 3) == 0 && name[len - tail - 1] == '.' &&
	       strcmp(name + len - tail, version) == 0 && strstr(name, ".so.") != NULL;
}

static void add_link(struct looking *l, struct fl_host_file_found *file, const char *name)
{
	for (uint32_t i = 0; i < file->link_count; i++)
		if (strcmp(file->links[i], name) == 0)
			return;
	if (file->link_count == FL_HOST_LINKS || strlen(name) >= FL_HOST_NAME_MAX) {
		say(l, "'%s' is left out: of a library no more than %d links are looked at, of less than %d bytes",
		    name, FL_HOST_LINKS, FL_HOST_NAME_MAX);
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

		if (n < 0 && n != -EINVAL)
			failed(l, (int)-n, at);
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
	size_t n;

	while (list(l, fd, dir, buf, sizeof buf, &n)) {
		size_t at = 0;

		while ((name = fl_list_next(buf, n, &at, &type))) {
			if (strncmp(name, "lib", 3) != 0 || !strstr(name, ".so"))
				continue;
			if (links && (type == DT_LNK || type == DT_UNKNOWN))
				follow(l, fd, from, name);
			else if (!links && type != DT_LNK && is_library(name, l->scan->version))
				(void)add(l, FL_HOST_LIBRARY, dir, name);
		}
	}
}

/* Programs open the driver by these names, also where whoever installed it has made no links. */
static void add_usual(struct looking *l, uint32_t from)
{
	for (uint32_t i = from; i < l->scan->file_count; i++) {
		struct fl_host_file_found *file = &l->scan->files[i];

		if (!strstr(file->path, "/libcuda.so."))
			continue;
		add_link(l, file, "libcuda.so.1");
		add_link(l, file, "libcuda.so");
	}
}

static void libraries_in(struct looking *l, const char *dir)
{
	uint32_t from = l->scan->file_count;
	char path[2 * FL_HOST_PATH_MAX];
	int fd = open_new(l, l->scan->root, dir);

	if (fd < 0)
		return;
	look_libraries(l, fd, dir, false, from);
	l->fs->close(l->fs, fd);
	if (l->scan->file_count == from || !fl_host_join(path, sizeof path, l->scan->root, dir))
		return;
	fd = l->fs->open(l->fs, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0) {
		failed(l, -fd, path);
		return;
	}
	look_libraries(l, fd, dir, true, from);
	l->fs->close(l->fs, fd);
	add_usual(l, from);
}

static void libraries(struct looking *l, const char *const *dirs, size_t count)
{
	char dir[FL_HOST_PATH_MAX];

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < FL_LEN(lib_below); j++)
			if ((size_t)snprintf(dir, sizeof dir, "%s%s", dirs[i], lib_below[j]) < sizeof dir)
				libraries_in(l, dir);
}

/* ---- other files ---- */

static void programs_of(struct looking *l, const char *dir)
{
	int fd = open_new(l, l->scan->root, dir);
	struct fl_stat stat = { 0 };

	if (fd < 0)
		return;
	for (size_t i = 0; i < FL_LEN(programs); i++)
		if (look(l, fd, programs[i], &stat) && S_ISREG(stat.mode))
			(void)add(l, FL_HOST_BINARY, dir, programs[i]);
	l->fs->close(l->fs, fd);
}

static void firmware(struct looking *l, const char *above)
{
	char dir[FL_HOST_PATH_MAX], buf[FL_LIST_MIN];
	const char *name;
	size_t n;
	int fd;

	if ((size_t)snprintf(dir, sizeof dir, "%s/nvidia/%s", above, l->scan->version) >= sizeof dir)
		return;
	fd = open_new(l, l->scan->root, dir);
	if (fd < 0)
		return;
	while (list(l, fd, dir, buf, sizeof buf, &n)) {
		size_t at = 0;

		while ((name = fl_list_next(buf, n, &at, NULL)))
			if (strncmp(name, "gsp", 3) == 0 && strstr(name, ".bin"))
				(void)add(l, FL_HOST_FIRMWARE, dir, name);
	}
	l->fs->close(l->fs, fd);
}

static void sockets_of(struct looking *l)
{
	char path[2 * FL_HOST_PATH_MAX];
	struct fl_stat stat = { 0 };
	int r;

	for (size_t i = 0; i < FL_LEN(sockets); i++)
		if (fl_host_join(path, sizeof path, l->scan->root, sockets[i]) &&
		    look(l, AT_FDCWD, path, &stat) && S_ISSOCK(stat.mode))
			(void)add(l, FL_HOST_SOCKET, sockets[i], "");
	for (size_t i = 0; i < FL_LEN(storage); i++)
		if (fl_host_join(path, sizeof path, l->scan->root, storage[i]) && look(l, AT_FDCWD, path, &stat) &&
		    (S_ISREG(stat.mode) || S_ISDIR(stat.mode)))
			(void)add(l, FL_HOST_CONFIG, storage[i], "");
	/* Anybody may make something in /tmp. What root has made there is nobody else's to replace. */
	if (!fl_host_join(path, sizeof path, l->scan->root, mps))
		return;
	r = l->fs->stat(l->fs, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &stat);
	if (r < 0)
		failed(l, -r, path);
	else if (S_ISDIR(stat.mode) && !stat.uid)
		(void)add(l, FL_HOST_SOCKET, mps, "");
}

static void places(struct looking *l)
{
	char path[2 * FL_HOST_PATH_MAX];
	struct fl_stat stat = { 0 };

	for (uint32_t i = 0; i < FL_HOST_PLACES; i++) {
		const struct fl_host_place *place = &fl_host_places[i];

		if (fl_host_join(path, sizeof path, place->dev ? l->scan->dev_root : l->scan->root, place->dir) &&
		    look(l, AT_FDCWD, path, &stat) && S_ISDIR(stat.mode))
			l->scan->places |= 1u << i;
	}
}

/* ---- device nodes ---- */

static void add_node(struct looking *l, const char *dir, const char *name, uint64_t rdev, uint32_t mode, uint32_t gid)
{
	struct fl_host_node_found *node = &l->scan->nodes[l->scan->node_count];

	if (l->scan->node_count == FL_HOST_NODES_MAX ||
	    (size_t)snprintf(node->path, sizeof node->path, "%s/%s", dir, name) >= sizeof node->path) {
		too_many(l, "device nodes", name, FL_HOST_NODES_MAX);
		return;
	}
	node->major = major(rdev);
	node->minor = minor(rdev);
	node->mode = mode & 07777;
	node->gid = gid;
	l->scan->node_count++;
}

static void nodes_in(struct looking *l, const char *dir, const char *const *prefixes)
{
	char buf[4096];
	const char *name;
	int fd = open_new(l, l->scan->dev_root, dir);
	size_t n;

	if (fd < 0)
		return;
	while (list(l, fd, dir, buf, sizeof buf, &n)) {
		size_t at = 0;

		while ((name = fl_list_next(buf, n, &at, NULL))) {
			struct fl_stat stat = { 0 };
			bool ours = false;

			for (const char *const *prefix = prefixes; *prefix; prefix++)
				ours |= strncmp(name, *prefix, strlen(*prefix)) == 0;
			if (ours && look(l, fd, name, &stat) && S_ISCHR(stat.mode))
				add_node(l, dir, name, stat.rdev, stat.mode, stat.gid);
		}
	}
	l->fs->close(l->fs, fd);
}

/* The major number that the kernel gave a driver of this name, of "120 nvidia-uvm"; 0: none. */
static unsigned major_of(struct fl_str devices, struct fl_str driver)
{
	struct fl_str line;

	while (fl_str_split(&devices, '\n', &line)) {
		unsigned number = 0;
		uint32_t at = 0;

		if (fl_str_starts(line, FL_S("Block")))
			break;
		while (at < line.len && line.p[at] == ' ')
			at++;
		for (; at < line.len && line.p[at] >= '0' && line.p[at] <= '9' && number < 10000; at++)
			number = number * 10 + (unsigned)(line.p[at] - '0');
		if (number && at < line.len && line.p[at] == ' ' &&
		    fl_str_eq(fl_str_sub(line, at + 1, line.len), driver))
			return number;
	}
	return 0;
}

static bool has_node(const struct looking *l, const char *path)
{
	for (uint32_t i = 0; i < l->scan->node_count; i++)
		if (strcmp(l->scan->nodes[i].path, path) == 0)
			return true;
	return false;
}

/* Nobody makes the nodes of unified memory before the first program uses CUDA, and a container cannot: what the kernel
 * has registered is told as if they were there already. */
static void memory_nodes(struct looking *l)
{
	char path[2 * FL_HOST_PATH_MAX], text[8192];
	int64_t n = -1;
	unsigned major;
	int fd;

	if (!l->scan->proc[0] || !fl_host_join(path, sizeof path, l->scan->proc, "/devices"))
		return;
	fd = l->fs->open(l->fs, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd >= 0) {
		n = fl_fs_read_all(l->fs, fd, text, sizeof text);
		l->fs->close(l->fs, fd);
	}
	if (n < 0) {
		failed(l, (int)-(fd < 0 ? fd : n), path);
		return;
	}
	major = major_of((struct fl_str){ text, (uint32_t)n }, FL_S("nvidia-uvm"));
	if (major && !has_node(l, "/dev/nvidia-uvm"))
		add_node(l, "/dev", "nvidia-uvm", makedev(major, 0), 0666, 0);
	if (major && !has_node(l, "/dev/nvidia-uvm-tools"))
		add_node(l, "/dev", "nvidia-uvm-tools", makedev(major, 1), 0666, 0);
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

/* A root without a /dev, and no root at all, are no node without a driver: somebody has not mounted them yet. */
static bool is_there(struct looking *l, const char *root, const char *below)
{
	struct fl_host_scan *scan = l->scan;
	struct fl_stat stat = { 0 };
	int r = fl_host_join(scan->where, sizeof scan->where, root, below)
			? l->fs->stat(l->fs, AT_FDCWD, scan->where, 0, &stat)
			: -ENAMETOOLONG;

	scan->error = r < 0 ? -r : S_ISDIR(stat.mode) ? 0 : ENOTDIR;
	return !scan->error;
}

void fl_host_scan(const struct fl_fs *fs, struct fl_host_scan *scan)
{
	static const char *const vendors[] = { "nvidia", "gdrdrv", NULL };
	static const char *const drawing[] = { "card", "renderD", NULL };
	static const char *const network[] = { "uverbs", "rdma_cm", NULL };
	static const char *const channels[] = { "channel0", NULL };   /* of thousands, the one that may be asked for */
	struct looking l = { .fs = fs, .scan = scan };

	scan->file_count = scan->node_count = scan->places = 0;
	scan->message[0] = '\0';
	if (!is_there(&l, scan->root, "/") || !is_there(&l, scan->dev_root, "/dev"))
		return;
	libraries(&l, lib_dirs, FL_LEN(lib_dirs));
	if (!scan->file_count)
		libraries(&l, lib_dirs_last, FL_LEN(lib_dirs_last));
	for (size_t i = 0; i < FL_LEN(bin_dirs); i++)
		programs_of(&l, bin_dirs[i]);
	for (size_t i = 0; i < FL_LEN(firmware_dirs) && scan->version[0]; i++)
		firmware(&l, firmware_dirs[i]);
	sockets_of(&l);
	nodes_in(&l, "/dev", vendors);
	nodes_in(&l, "/dev/nvidia-caps", vendors);
	nodes_in(&l, "/dev/nvidia-caps-imex-channels", channels);
	nodes_in(&l, "/dev/dri", drawing);
	nodes_in(&l, "/dev/infiniband", network);
	memory_nodes(&l);
	places(&l);
	for (uint32_t i = 0; i < scan->file_count; i++)
		qsort(scan->files[i].links, scan->files[i].link_count, FL_HOST_NAME_MAX, by_text);
	qsort(scan->files, scan->file_count, sizeof *scan->files, by_path);
	qsort(scan->nodes, scan->node_count, sizeof *scan->nodes, by_node_path);
}
