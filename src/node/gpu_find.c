#include "node/gpu_find.h"
#include "node/nv_abi.h"
#include <errno.h>
#include <stdio.h>

/* As the vendor's own tools look, the usual ones first. */
static const char *const dirs[] = {
#if defined(__aarch64__)
	"usr/lib/aarch64-linux-gnu", "lib/aarch64-linux-gnu",
#else
	"usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu",
#endif
	"usr/lib64", "lib64", "usr/lib", "lib", "usr/local/nvidia/lib64", "opt/nvidia/lib64",
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Two numbers or three, with points between: "550.54.15", "535.43". */
static bool is_version(struct fl_str word)
{
	struct fl_str part;
	uint32_t parts = 0;

	if (word.len >= FL_GPU_VERSION_MAX)
		return false;
	while (fl_str_split(&word, '.', &part)) {
		for (uint32_t i = 0; i < part.len; i++)
			if (!is_digit(part.p[i]))
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

/* "libnvidia-ml.so.550.54.15" -> "550.54.15" */
static void read_version(const struct fl_fs *fs, struct fl_gpu_found *ret)
{
	static const struct fl_str name = FL_S_INIT("libnvidia-ml.so.");
	char target[FL_GPU_PATH_MAX];
	int64_t n = fs->readlink(fs, AT_FDCWD, ret->library, target, sizeof target);
	struct fl_str text, part, last = FL_S("");

	if (n <= 0)
		return;
	text = (struct fl_str){ target, (uint32_t)n };
	while (fl_str_split(&text, '/', &part))
		last = part;
	if (fl_str_starts(last, name) && is_version(fl_str_sub(last, name.len, UINT32_MAX)))
		(void)snprintf(ret->version, sizeof ret->version, "%.*s",
			       FL_ARG(fl_str_sub(last, name.len, UINT32_MAX)));
}

static bool try_dir(const struct fl_fs *fs, const char *root, const char *dir, struct fl_gpu_found *ret)
{
	const char *slash = root[0] && root[strlen(root) - 1] == '/' ? "" : "/";
	struct fl_stat stat = { 0 };

	if (snprintf(ret->library, sizeof ret->library, "%s%s%s/%s", root, slash, dir, FL_NV_LIBRARY) >=
		    (int)sizeof ret->library ||
	    fs->stat(fs, AT_FDCWD, ret->library, 0, &stat) < 0 || !S_ISREG(stat.mode)) {
		ret->library[0] = '\0';
		return false;
	}
	(void)snprintf(ret->root, sizeof ret->root, "%s", root);
	ret->print = ((stat.dev * 31 + stat.ino) * 31 + (uint64_t)stat.mtime) * 31 + stat.size;
	return true;
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

void fl_gpu_find(const struct fl_fs *fs, const char *roots, const char *dev_root, const char *proc,
		 struct fl_gpu_found *ret)
{
	char path[FL_GPU_PATH_MAX];
	struct fl_stat stat = { 0 };

	memset(ret, 0, sizeof *ret);
	read_kernel(fs, proc, ret);
	for (const char *root = roots; *root && !ret->library[0]; root += strlen(root) + 1)
		for (size_t i = 0; i < sizeof dirs / sizeof *dirs && !ret->library[0]; i++)
			(void)try_dir(fs, root, dirs[i], ret);
	if (!ret->library[0] || !ret->kernel[0])
		ret->platform = platform_of(fs, roots, dev_root, proc);
	if (ret->platform != FL_GPU_PLAIN)
		ret->library[0] = ret->root[0] = '\0';
	if (!ret->library[0])
		return;
	read_version(fs, ret);
	if (snprintf(path, sizeof path, "%s/dev/nvidiactl", dev_root[0] ? dev_root : ret->root) < (int)sizeof path)
		ret->node = fs->stat(fs, AT_FDCWD, path, 0, &stat) == 0;
}
