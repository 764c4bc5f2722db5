#include "node/gpu/find.h"
#include "base/chars.h"
#include "node/gpu/nv_abi.h"
#include <errno.h>
#include <stdio.h>

/* Two numbers or three, with points between: "550.54.15", "535.43". */
static bool is_version(struct fl_str word)
{
	struct fl_str part;
	uint32_t parts = 0;

	if (word.len >= FL_GPU_VERSION_MAX)
		return false;
	while (fl_str_split(&word, '.', &part)) {
		for (uint32_t i = 0; i < part.len; i++)
			if (!fl_is_digit(part.p[i]))
				return false;
		if (!part.len)
			return false;
		parts++;
	}
	return parts == 2 || parts == 3;
}

void fl_gpu_version_in(struct fl_str text, char ret[FL_GPU_VERSION_MAX])
{
	struct fl_str line, word;

	ret[0] = '\0';
	if (!fl_str_split(&text, '\n', &line))
		return;
	while (fl_str_split(&line, ' ', &word)) {
		if (is_version(word)) {
			(void)snprintf(ret, FL_GPU_VERSION_MAX, "%.*s", FL_ARG(word));
			return;
		}
	}
}

static void read_kernel(const struct fl_fs *fs, const char *proc, struct fl_gpu_found *ret)
{
	char path[FL_GPU_PATH_MAX], text[512];
	int64_t n = -1;
	int fd;

	if (snprintf(path, sizeof path, "%s/driver/nvidia/version", proc) >= (int)sizeof path)
		return;
	fd = fs->open(fs, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
		ret->error = -fd;
	if (fd < 0)
		return;
	n = fl_fs_read_all(fs, fd, text, sizeof text);
	fs->close(fs, fd);
	if (n < 0)
		return;
	fl_gpu_version_in((struct fl_str){ text, (uint32_t)n }, ret->kernel);
	if (!ret->kernel[0])   /* it is loaded, and nobody knows which */
		(void)snprintf(ret->kernel, sizeof ret->kernel, "?");
}

/* ---- the library ---- */

/* "libnvidia-ml.so.550.54.15" -> "550.54.15" */
static void version_of(const char *path, char ret[FL_GPU_VERSION_MAX])
{
	static const struct fl_str name = FL_S_INIT("libnvidia-ml.so.");
	const char *slash = strrchr(path, '/');
	struct fl_str last = fl_str(slash ? slash + 1 : path), version;

	ret[0] = '\0';
	if (!fl_str_starts(last, name))
		return;
	version = fl_str_sub(last, name.len, UINT32_MAX);
	if (is_version(version))
		(void)snprintf(ret, FL_GPU_VERSION_MAX, "%.*s", FL_ARG(version));
}

/* What could not be opened for now is not known; what may not be, and what is no library, is not there. */
static void failed(struct fl_gpu_found *found, int sys)
{
	if (sys == EMFILE || sys == ENFILE || sys == ENOMEM)
		found->error = sys;
}

struct finding {
	const struct fl_fs *fs;
	const char *root;
	const char *version;                   /* only this one; NULL: any */
	struct fl_gpu_found *found;
};

/* Under the name that was looked for, unless it leads elsewhere when the kernel follows its links outside the root. */
static bool try_file(const struct finding *f, const char *dir, const char *name)
{
	char named[FL_HOST_PATH_MAX + 64], given[2 * FL_HOST_PATH_MAX], full[2 * FL_HOST_PATH_MAX];
	char path[FL_HOST_PATH_MAX], soname[FL_HOST_NAME_MAX], version[FL_GPU_VERSION_MAX];
	struct fl_stat stat = { 0 }, same = { 0 };
	bool is_same;
	int r;

	(void)snprintf(named, sizeof named, "%s/%s", dir[1] ? dir : "", name);
	r = fl_root_resolve(f->fs, f->root, named, path, &stat);
	if (r == 0) {
		version_of(path, version);
		if (!S_ISREG(stat.mode) || (f->version && strcmp(f->version, version) != 0) ||
		    !fl_root_join(full, sizeof full, f->root, path) ||
		    !fl_root_join(given, sizeof given, f->root, named))
			return false;
		r = fl_lib_look(f->fs, AT_FDCWD, full, soname);
	}
	if (r < 0) {
		failed(f->found, -r);
		return false;
	}
	is_same = f->fs->stat(f->fs, AT_FDCWD, given, 0, &same) == 0 && same.dev == stat.dev && same.ino == stat.ino;
	(void)snprintf(f->found->library, sizeof f->found->library, "%s", is_same ? given : full);
	(void)snprintf(f->found->root, sizeof f->found->root, "%s", f->root);
	memcpy(f->found->version, version, sizeof version);
	f->found->print = ((stat.dev * 31 + stat.ino) * 31 + (uint64_t)stat.mtime) * 31 + stat.size;
	return true;
}

static bool try_dirs(const struct finding *f, const struct fl_lib_dirs *dirs, uint32_t from)
{
	char name[FL_GPU_VERSION_MAX + 32];

	for (uint32_t i = from; i < dirs->len; i++)
		if (try_file(f, dirs->at[i], FL_NV_LIBRARY))
			return true;
	if (!f->version)
		return false;
	(void)snprintf(name, sizeof name, "libnvidia-ml.so.%s", f->version);
	for (uint32_t i = from; i < dirs->len; i++)
		if (try_file(f, dirs->at[i], name))
			return true;
	return false;
}

static bool try_root(const struct finding *f, struct fl_lib_dirs *dirs)
{
	uint32_t usual;
	bool found;

	fl_lib_dirs_usual(f->fs, f->root, dirs);
	usual = dirs->len;
	found = try_dirs(f, dirs, 0);
	if (!found) {
		fl_lib_dirs_cached(f->fs, f->root, dirs);
		found = try_dirs(f, dirs, usual);
	}
	if (dirs->error)
		failed(f->found, dirs->error);
	return found;
}

/* The one of the kernel's version where it is known and there, else the first. */
static void find_library(const struct fl_fs *fs, const char *roots, struct fl_lib_dirs *dirs, struct fl_gpu_found *ret)
{
	struct finding f = { .fs = fs, .found = ret };
	bool known = ret->kernel[0] && ret->kernel[0] != '?';

	for (int any = known ? 0 : 1; any < 2; any++) {
		f.version = any ? NULL : ret->kernel;
		for (f.root = roots; *f.root; f.root += strlen(f.root) + 1)
			if (try_root(&f, dirs))
				return;
	}
}

static bool is_there(const struct fl_fs *fs, const char *root, const char *path, struct fl_stat *ret)
{
	char full[FL_GPU_PATH_MAX];
	const char *slash = root[0] && root[strlen(root) - 1] == '/' ? "" : "/";

	return snprintf(full, sizeof full, "%s%s%s", root, slash, path) < (int)sizeof full &&
	       fs->stat(fs, AT_FDCWD, full, 0, ret) == 0;
}

/* Texts of "vendor,model", each with its NUL. */
static bool says_tegra(const struct fl_fs *fs, const char *proc)
{
	char path[FL_GPU_PATH_MAX], text[512];
	int64_t n = -1;
	int fd = -1;

	if (snprintf(path, sizeof path, "%s/device-tree/compatible", proc) < (int)sizeof path)
		fd = fs->open(fs, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd >= 0) {
		n = fl_fs_read_all(fs, fd, text, sizeof text - 1);
		fs->close(fs, fd);
	}
	if (n <= 0)
		return false;
	text[n] = '\0';
	for (const char *at = text; at < text + n; at += strlen(at) + 1)
		if (strncmp(at, "nvidia,tegra", 12) == 0)
			return true;
	return false;
}

/* Asked where the driver is not whole: what has it is plain, whatever else lies around. */
static enum fl_gpu_platform platform_of(const struct fl_fs *fs, const char *roots, const char *dev_root,
					const char *proc)
{
	struct fl_stat stat = { 0 };
	bool tegra = false;

	if (dev_root[0] && is_there(fs, dev_root, "dev/dxg", &stat))
		return FL_GPU_WSL;
	for (const char *root = roots; *root; root += strlen(root) + 1) {
		if ((!dev_root[0] && is_there(fs, root, "dev/dxg", &stat)) ||
		    is_there(fs, root, "usr/lib/wsl/lib/libdxcore.so", &stat))
			return FL_GPU_WSL;
		tegra |= is_there(fs, root, "etc/nv_tegra_release", &stat);
	}
	return tegra || says_tegra(fs, proc) ? FL_GPU_TEGRA : FL_GPU_PLAIN;
}

static bool has_node(const struct fl_fs *fs, const char *root, const char *dev_root)
{
	struct fl_stat stat = { 0 };
	const char *dev = dev_root;

	if (!dev[0])
		(void)fl_root_dev(fs, root, &dev);
	return is_there(fs, dev, "dev/nvidiactl", &stat);
}

void fl_gpu_find(const struct fl_fs *fs, const char *roots, const char *dev_root, const char *proc,
		 struct fl_lib_dirs *dirs, struct fl_gpu_found *ret)
{
	memset(ret, 0, sizeof *ret);
	read_kernel(fs, proc, ret);
	find_library(fs, roots, dirs, ret);
	if (!ret->library[0] || !ret->kernel[0])
		ret->platform = platform_of(fs, roots, dev_root, proc);
	if (ret->platform != FL_GPU_PLAIN)
		ret->library[0] = ret->root[0] = ret->version[0] = '\0';
	if (ret->library[0])
		ret->node = has_node(fs, ret->root, dev_root);
}
