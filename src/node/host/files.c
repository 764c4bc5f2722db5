/* Programs, configuration, firmware and sockets of the driver. */
#include "node/host/scan_in.h"
#include <stdio.h>

#define FL_HOST_DIRS_MAX 32          /* $PATH and the usual directories of programs: a dozen */

/* ---- directories that the agent's environment names ---- */

static struct fl_str variable(const struct fl_host_scan *scan, const char *name)
{
	size_t len = strlen(name);

	for (const char *const *env = scan->env; env && *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return fl_str(*env + len + 1);
	return FL_S("");
}

/* The next directory of a list; false at its end. What is not absolute is nobody's directory below a root. */
static bool next_dir(struct looking *l, struct fl_str *list, char ret[FL_HOST_PATH_MAX])
{
	struct fl_str dir;

	while (fl_str_split(list, ':', &dir)) {
		if (!dir.len || dir.p[0] != '/')
			continue;
		if ((size_t)snprintf(ret, FL_HOST_PATH_MAX, "%.*s", FL_ARG(dir)) < FL_HOST_PATH_MAX)
			return true;
		scan_say(l, "a directory of the environment is left out: '%.*s' is too long", 80, dir.p);
	}
	return false;
}

/* ---- programs: the first that may be run ---- */

static const struct fl_str bin_dirs = FL_S_INIT("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
static const char *const programs[] = {
	"nvidia-cuda-mps-control", "nvidia-cuda-mps-server", "nvidia-debugdump", "nvidia-imex", "nvidia-imex-ctl",
	"nvidia-persistenced", "nvidia-smi", "nvidia-xconfig",
};

struct bins {
	char at[FL_HOST_DIRS_MAX][FL_HOST_PATH_MAX];
	uint32_t len;
};

/* Containers find it by the name that it was found by, also where that is a link of the host. */
static void program(struct looking *l, const char *name, const struct bins *dirs)
{
	char path[FL_HOST_PATH_MAX], file[FL_HOST_PATH_MAX];
	struct fl_stat stat = { 0 };

	for (uint32_t i = 0; i < dirs->len; i++) {
		if ((size_t)snprintf(path, sizeof path, "%s/%s", dirs->at[i], name) >= sizeof path ||
		    !scan_look(l, path, file, &stat) || !S_ISREG(stat.mode) || !(stat.mode & 0111))
			continue;
		(void)scan_add(l, FL_HOST_BINARY, file, path);
		return;
	}
}

/* Those of a list that there are, each once. */
static void add_bins(struct looking *l, struct fl_str list, struct bins *dirs)
{
	char name[FL_HOST_PATH_MAX], path[FL_HOST_PATH_MAX];
	struct fl_stat stat = { 0 };

	while (next_dir(l, &list, name)) {
		uint32_t i = 0;

		if (!scan_look(l, name, path, &stat) || !S_ISDIR(stat.mode))
			continue;
		while (i < dirs->len && strcmp(dirs->at[i], path) != 0)
			i++;
		if (i < dirs->len)
			continue;
		if (dirs->len == FL_HOST_DIRS_MAX)
			scan_too_many(l, "directories of programs", name, FL_HOST_DIRS_MAX);
		else
			memcpy(dirs->at[dirs->len++], path, sizeof path);
	}
}

static void find_programs(struct looking *l)
{
	struct bins dirs = { 0 };

	add_bins(l, variable(l->scan, "PATH"), &dirs);
	add_bins(l, bin_dirs, &dirs);
	for (size_t i = 0; i < FL_LEN(programs); i++)
		program(l, programs[i], &dirs);
}

/* ---- what the driver's libraries read: the first place that has it ---- */

static const struct {
	const char *name, *below;              /* of its place in a container */
	bool root;                             /* looked for in the root itself, too: COS */
} data[] = {
	{ "glvnd/egl_vendor.d/10_nvidia.json", "/usr/share", false },
	{ "egl/egl_external_platform.d/15_nvidia_gbm.json", "/usr/share", false },
	{ "egl/egl_external_platform.d/10_nvidia_wayland.json", "/usr/share", false },
	{ "egl/egl_external_platform.d/09_nvidia_wayland2.json", "/usr/share", false },
	{ "egl/egl_external_platform.d/20_nvidia_xcb.json", "/usr/share", false },
	{ "egl/egl_external_platform.d/20_nvidia_xlib.json", "/usr/share", false },
	{ "nvidia/nvoptix.bin", "/usr/share", false },
	{ "X11/xorg.conf.d/10-nvidia.conf", "/usr/share", false },
	{ "X11/xorg.conf.d/nvidia-drm-outputclass.conf", "/usr/share", false },
	{ "OpenCL/vendors/nvidia.icd", "/etc", false },
	{ "vulkan/icd.d/nvidia_icd.json", "/etc", true },
	{ "vulkan/icd.d/nvidia_layers.json", "/etc", true },
	{ "vulkan/icd.d/nvidia_icd.x86_64.json", "/etc", true },
	{ "vulkan/icd.d/nvidia_icd.aarch64.json", "/etc", true },
	{ "vulkan/implicit_layer.d/nvidia_layers.json", "/etc", true },
};

static bool data_in(struct looking *l, const char *above, const char *name, const char *below)
{
	char path[2 * FL_HOST_PATH_MAX], file[FL_HOST_PATH_MAX];
	struct fl_stat stat = { 0 };

	if ((size_t)snprintf(path, sizeof path, "%s/%s", above, name) >= FL_HOST_PATH_MAX ||
	    !scan_look(l, path, file, &stat) || !S_ISREG(stat.mode))
		return false;
	(void)snprintf(path, sizeof path, "%s/%s", below, name);
	(void)scan_add(l, FL_HOST_DATA, file, path);
	return true;
}

static void find_data(struct looking *l)
{
	struct fl_str shared = variable(l->scan, "XDG_DATA_DIRS");

	if (!shared.len)
		shared = FL_S("/usr/local/share:/usr/share");
	for (size_t i = 0; i < FL_LEN(data); i++) {
		bool found = data_in(l, "/etc", data[i].name, data[i].below);
		struct fl_str rest = shared;
		char above[FL_HOST_PATH_MAX];

		while (!found && next_dir(l, &rest, above))
			found = data_in(l, above, data[i].name, data[i].below);
		if (!found && data[i].root)
			(void)data_in(l, "", data[i].name, data[i].below);
	}
}

/* ---- firmware: all of it ---- */

static void firmware_in(struct looking *l, const char *above)
{
	char dir[2 * FL_HOST_PATH_MAX], found[FL_HOST_PATH_MAX], buf[FL_LIST_MIN];
	struct fl_stat stat = { 0 };
	const char *name;
	size_t n;
	int fd;

	if ((size_t)snprintf(dir, sizeof dir, "%s/nvidia/%s", above, l->scan->version) >= FL_HOST_PATH_MAX ||
	    !scan_look(l, dir, found, &stat) || !S_ISDIR(stat.mode))
		return;
	fd = scan_open(l, found);
	if (fd < 0)
		return;
	while (scan_list(l, fd, found, buf, sizeof buf, &n)) {
		size_t at = 0;

		while ((name = fl_list_next(buf, n, &at, NULL))) {
			char path[FL_HOST_PATH_MAX + FL_NAME_MAX], place[2 * FL_HOST_PATH_MAX + FL_NAME_MAX];
			char file[FL_HOST_PATH_MAX];

			if (strncmp(name, "gsp", 3) != 0 || !strstr(name, ".bin"))
				continue;
			(void)snprintf(path, sizeof path, "%s/%s", found, name);
			(void)snprintf(place, sizeof place, "%s/%s", dir, name);
			if (strlen(place) >= FL_HOST_PATH_MAX)
				scan_too_many(l, "files", name, FL_HOST_FILES_MAX);
			else if (scan_look(l, path, file, &stat) && S_ISREG(stat.mode))
				(void)scan_add(l, FL_HOST_FIRMWARE, file, place);
		}
	}
	l->fs->close(l->fs, fd);
}

/* A line that the kernel says of itself; "" where there is none. */
static void read_line(struct looking *l, const char *root, const char *name, char ret[FL_HOST_PATH_MAX])
{
	char path[2 * FL_HOST_PATH_MAX];
	int64_t n = -1;
	int fd = -1;

	ret[0] = '\0';
	if (!root[0] || !fl_root_join(path, sizeof path, root, name))
		return;
	fd = l->fs->open(l->fs, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd >= 0) {
		n = fl_fs_read_all(l->fs, fd, ret, FL_HOST_PATH_MAX - 1);
		l->fs->close(l->fs, fd);
	}
	if (n < 0)
		scan_failed(l, (int)-(fd < 0 ? fd : n), path);
	ret[n > 0 ? n : 0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
}

/* In the order of the kernel's own search. */
static void find_firmware(struct looking *l)
{
	static const char *const dirs[] = { "/lib/firmware/updates", "/lib/firmware" };
	char own[FL_HOST_PATH_MAX], release[FL_HOST_PATH_MAX], dir[2 * FL_HOST_PATH_MAX];

	if (!l->scan->version[0])
		return;
	read_line(l, l->scan->sysfs, "/module/firmware_class/parameters/path", own);
	read_line(l, l->scan->proc, "/sys/kernel/osrelease", release);
	if (own[0] == '/')
		firmware_in(l, own);
	for (size_t i = 0; i < FL_LEN(dirs); i++) {
		(void)snprintf(dir, sizeof dir, "%s/%s", dirs[i], release);
		if (release[0])
			firmware_in(l, dir);
		firmware_in(l, dirs[i]);
	}
}

/* ---- sockets, and what GPUDirect Storage brings ---- */

static void find_sockets(struct looking *l)
{
	static const char *const names[] = { "nvidia-persistenced/socket", "nvidia-fabricmanager/socket" };
	static const char *const above[] = { "/run", "/var/run" };
	char path[FL_HOST_PATH_MAX], file[FL_HOST_PATH_MAX];
	struct fl_stat stat = { 0 };

	for (size_t i = 0; i < FL_LEN(names); i++)
		for (size_t k = 0; k < FL_LEN(above); k++) {
			(void)snprintf(path, sizeof path, "%s/%s", above[k], names[i]);
			if (!scan_look(l, path, file, &stat) || !S_ISSOCK(stat.mode))
				continue;
			(void)scan_add(l, FL_HOST_SOCKET, file, path);
			break;
		}
}

static void find_storage(struct looking *l)
{
	static const char *const storage[] = { "/etc/cufile.json", "/run/udev" };
	char file[FL_HOST_PATH_MAX];
	struct fl_stat stat = { 0 };

	for (size_t i = 0; i < FL_LEN(storage); i++)
		if (scan_look(l, storage[i], file, &stat) && (S_ISREG(stat.mode) || S_ISDIR(stat.mode)))
			(void)scan_add(l, FL_HOST_CONFIG, file, storage[i]);
}

void scan_files(struct looking *l)
{
	find_programs(l);
	find_data(l);
	find_firmware(l);
	find_sockets(l);
	find_storage(l);
}
