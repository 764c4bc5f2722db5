#include "node/host/scan_in.h"
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

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

/* ---- what goes wrong ---- */

void scan_say(struct looking *l, const char *fmt, ...)
{
	va_list args;

	if (l->scan->message[0])
		return;
	va_start(args, fmt);
	(void)vsnprintf(l->scan->message, sizeof l->scan->message, fmt, args);
	va_end(args);
}

void scan_too_many(struct looking *l, const char *what, const char *name, int max)
{
	scan_say(l, "'%s' is left out: no more than %d %s are looked at, with paths of less than %d bytes", name, max,
		 what, FL_HOST_PATH_MAX);
}

/* What a path without a slash at its end cannot have been is not there. What will be the same the next time is said. */
void scan_failed(struct looking *l, int sys, const char *path)
{
	struct fl_err err = { 0 };

	if (sys == ENOENT || sys == ENOTDIR)
		return;
	if (sys == EACCES || sys == EPERM || sys == ELOOP || sys == ENAMETOOLONG || sys == EFBIG || sys == E2BIG) {
		(void)fl_fail_sys(&err, sys, "'%s' cannot be looked at", path);
		scan_say(l, "%s", err.text);
	} else if (!l->scan->error) {
		l->scan->error = sys;
		(void)snprintf(l->scan->where, sizeof l->scan->where, "%s", path);
	}
}

/* What is under a name, links followed; false: nothing. */
static bool look_at(struct looking *l, int dir, const char *path, struct fl_stat *ret)
{
	int r = l->fs->stat(l->fs, dir, path, 0, ret);

	if (r < 0)
		scan_failed(l, -r, path);
	return r == 0;
}

bool scan_look(struct looking *l, const char *path, char ret[FL_HOST_PATH_MAX], struct fl_stat *ret_stat)
{
	int r = fl_root_resolve_known(l->fs, l->scan->root, path, &l->known, ret, ret_stat);
	char full[2 * FL_HOST_PATH_MAX];

	if (r < 0 && fl_root_join(full, sizeof full, l->scan->root, path))
		scan_failed(l, -r, full);
	return r == 0;
}

/* ---- directories ---- */

int scan_open(struct looking *l, const char *dir)
{
	char path[2 * FL_HOST_PATH_MAX];
	int fd;

	if (!fl_root_join(path, sizeof path, l->scan->root, dir))
		return -1;
	fd = l->fs->open(l->fs, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		scan_failed(l, -fd, path);
	return fd < 0 ? -1 : fd;
}

bool scan_list(struct looking *l, int fd, const char *dir, char *buf, size_t size, size_t *ret_len)
{
	int64_t n = l->fs->list(l->fs, fd, buf, size);

	if (n < 0)
		scan_failed(l, (int)-n, dir);
	*ret_len = n > 0 ? (size_t)n : 0;
	return n > 0;
}

struct fl_host_file_found *scan_add(struct looking *l, enum fl_host_file what, const char *path, const char *at)
{
	struct fl_host_file_found *file = &l->scan->files[l->scan->file_count];

	if (at && strcmp(at, path) == 0)
		at = NULL;
	for (uint32_t i = 0; i < l->scan->file_count; i++)
		if (strcmp(l->scan->files[i].path, path) == 0 && strcmp(l->scan->files[i].at, at ? at : "") == 0)
			return NULL;
	if (l->scan->file_count == FL_HOST_FILES_MAX) {
		scan_too_many(l, "files", path, FL_HOST_FILES_MAX);
		return NULL;
	}
	memset(file, 0, sizeof *file);
	file->what = what;
	(void)snprintf(file->path, sizeof file->path, "%s", path);
	(void)snprintf(file->at, sizeof file->at, "%s", at ? at : "");
	l->scan->file_count++;
	return file;
}

static void places(struct looking *l)
{
	char path[2 * FL_HOST_PATH_MAX];
	struct fl_stat stat = { 0 };

	for (uint32_t i = 0; i < FL_HOST_PLACES; i++) {
		const struct fl_host_place *place = &fl_host_places[i];

		if (fl_root_join(path, sizeof path, place->dev ? l->scan->nodes_root : l->scan->root, place->dir) &&
		    look_at(l, AT_FDCWD, path, &stat) && S_ISDIR(stat.mode))
			l->scan->places |= 1u << i;
	}
}

/* ---- device nodes ---- */

static void add_node(struct looking *l, const char *dir, const char *name, uint64_t rdev, uint32_t mode, uint32_t gid)
{
	struct fl_host_node_found *node = &l->scan->nodes[l->scan->node_count];

	if (l->scan->node_count == FL_HOST_NODES_MAX ||
	    (size_t)snprintf(node->path, sizeof node->path, "%s/%s", dir, name) >= sizeof node->path) {
		scan_too_many(l, "device nodes", name, FL_HOST_NODES_MAX);
		return;
	}
	node->major = major(rdev);
	node->minor = minor(rdev);
	node->mode = mode & 07777;
	node->gid = gid;
	l->scan->node_count++;
}

/* An fd of a directory that was not looked through before, or -1: the same one may have two names. */
static int open_nodes(struct looking *l, const char *dir)
{
	char path[2 * FL_HOST_PATH_MAX];
	struct fl_stat stat = { 0 };
	int fd, r;

	if (!fl_root_join(path, sizeof path, l->scan->nodes_root, dir))
		return -1;
	fd = l->fs->open(l->fs, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0) {
		scan_failed(l, -fd, path);
		return -1;
	}
	r = l->fs->stat(l->fs, fd, "", AT_EMPTY_PATH, &stat);
	for (uint32_t i = 0; r == 0 && i < l->seen_count; i++)
		if (l->seen[i].dev == stat.dev && l->seen[i].ino == stat.ino)
			r = -ENOENT;
	if (r < 0) {
		scan_failed(l, -r, path);
		l->fs->close(l->fs, fd);
		return -1;
	}
	if (l->seen_count < FL_LEN(l->seen))
		l->seen[l->seen_count++] = (struct scan_seen){ stat.dev, stat.ino };
	return fd;
}

static void nodes_in(struct looking *l, const char *dir, const char *const *prefixes)
{
	char buf[4096];
	const char *name;
	int fd = open_nodes(l, dir);
	size_t n;

	if (fd < 0)
		return;
	while (scan_list(l, fd, dir, buf, sizeof buf, &n)) {
		size_t at = 0;

		while ((name = fl_list_next(buf, n, &at, NULL))) {
			struct fl_stat stat = { 0 };
			bool ours = false;

			for (const char *const *prefix = prefixes; *prefix; prefix++)
				ours |= strncmp(name, *prefix, strlen(*prefix)) == 0;
			if (ours && look_at(l, fd, name, &stat) && S_ISCHR(stat.mode))
				add_node(l, dir, name, stat.rdev, stat.mode, stat.gid);
		}
	}
	l->fs->close(l->fs, fd);
}

unsigned fl_host_major(struct fl_str devices, struct fl_str driver)
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

const char *const fl_host_uvm_nodes[] = { "nvidia-uvm", "nvidia-uvm-tools" };

/* Nobody makes the nodes of unified memory before the first program uses CUDA, and a container cannot: what the kernel
 * has registered is told as if they were there already. */
static void memory_nodes(struct looking *l)
{
	char path[2 * FL_HOST_PATH_MAX], text[8192];
	int64_t n = -1;
	unsigned major;
	int fd;

	if (!l->scan->proc[0] || !fl_root_join(path, sizeof path, l->scan->proc, "/devices"))
		return;
	fd = l->fs->open(l->fs, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd >= 0) {
		n = fl_fs_read_all(l->fs, fd, text, sizeof text);
		l->fs->close(l->fs, fd);
	}
	if (n < 0) {
		scan_failed(l, (int)-(fd < 0 ? fd : n), path);
		return;
	}
	l->scan->uvm_major = major = fl_host_major((struct fl_str){ text, (uint32_t)n }, FL_S("nvidia-uvm"));
	for (uint32_t i = 0; major && i < FL_LEN(fl_host_uvm_nodes); i++) {
		(void)snprintf(path, sizeof path, "/dev/%s", fl_host_uvm_nodes[i]);
		if (!has_node(l, path))
			add_node(l, "/dev", fl_host_uvm_nodes[i], makedev(major, i), FL_HOST_UVM_MODE, 0);
	}
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

/* No root at all, or one whose /dev was named and is not there, is no node without a driver: it is not mounted yet. */
static bool is_there(struct looking *l, const char *root, const char *below)
{
	struct fl_host_scan *scan = l->scan;
	struct fl_stat stat = { 0 };
	int r = fl_root_join(scan->where, sizeof scan->where, root, below)
			? l->fs->stat(l->fs, AT_FDCWD, scan->where, 0, &stat)
			: -ENAMETOOLONG;

	scan->error = r < 0 ? -r : S_ISDIR(stat.mode) ? 0 : ENOTDIR;
	return !scan->error;
}

static bool find_dev(struct looking *l)
{
	struct fl_host_scan *scan = l->scan;
	const char *root = scan->dev_root;
	int r = root[0] ? 0 : fl_root_dev(l->fs, scan->root, &root);

	if (r < 0) {
		scan->error = -r;
		(void)snprintf(scan->where, sizeof scan->where, "%s/dev", scan->root);
		return false;
	}
	(void)snprintf(scan->nodes_root, sizeof scan->nodes_root, "%s", root);
	return is_there(l, root, "/dev");
}

void fl_host_scan_files(const struct fl_fs *fs, struct fl_host_scan *scan)
{
	struct looking l = { .fs = fs, .scan = scan };

	scan->file_count = scan->foreign = 0;
	scan->message[0] = scan->looked[0] = '\0';
	scan->error = 0;
	if (!is_there(&l, scan->root, "/"))
		return;
	scan_libraries(&l);
	scan_files(&l);
	for (uint32_t i = 0; i < scan->file_count; i++)
		qsort(scan->files[i].links, scan->files[i].link_count, sizeof scan->files[i].links[0], by_text);
	qsort(scan->files, scan->file_count, sizeof *scan->files, by_path);
	scan->has_files = !scan->error;
}

void fl_host_scan(const struct fl_fs *fs, struct fl_host_scan *scan)
{
	static const char *const vendors[] = { "nvidia", "gdrdrv", NULL };
	static const char *const drawing[] = { "card", "renderD", NULL };
	static const char *const network[] = { "uverbs", "rdma_cm", NULL };
	static const char *const channels[] = { "channel0", NULL };   /* of thousands, the one that may be asked for */
	struct looking l = { .fs = fs, .scan = scan };

	scan->node_count = scan->places = scan->uvm_major = 0;
	scan->nodes_root[0] = '\0';
	if (!scan->has_files)
		fl_host_scan_files(fs, scan);
	if (!scan->has_files || !find_dev(&l))
		return;
	nodes_in(&l, "/dev", vendors);
	nodes_in(&l, "/dev/nvidia-caps", vendors);
	nodes_in(&l, "/dev/nvidia-caps-imex-channels", channels);
	nodes_in(&l, "/dev/dri", drawing);
	nodes_in(&l, "/dev/infiniband", network);
	memory_nodes(&l);
	places(&l);
	qsort(scan->nodes, scan->node_count, sizeof *scan->nodes, by_node_path);
}
