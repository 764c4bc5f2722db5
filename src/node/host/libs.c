/* The driver's libraries. */
#include "node/host/elf.h"
#include "node/host/scan_in.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool starts(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

/* ---- names ---- */

/* "libcuda.so.550.54.15", of the version that is loaded. */
static bool is_of_version(const char *name, const char *version)
{
	size_t len = strlen(name), tail = strlen(version);

	return tail && len > tail + 4 && strncmp(name + len - tail - 4, ".so.", 4) == 0 &&
	       strcmp(name + len - tail, version) == 0;
}

static bool is_nvvm(const char *name)
{
	return starts(name, "libnvidia-nvvm70.so.");
}

/* Those that have versions of their own: "libnvidia-egl-gbm.so.1.1.2". */
static bool is_egl(const char *name)
{
	static const char *const kinds[] = { "gbm", "wayland", "wayland2", "xcb", "xlib" };
	static const char begin[] = "libnvidia-egl-";

	if (!starts(name, begin))
		return false;
	name += sizeof begin - 1;
	for (size_t i = 0; i < FL_LEN(kinds); i++)
		if (starts(name, kinds[i]) && starts(name + strlen(kinds[i]), ".so."))
			return strchr(name + strlen(kinds[i]) + 4, '.') != NULL;
	return false;
}

/* ---- links ---- */

static const char *link_of(const struct fl_host_file_found *file, const char *name)
{
	for (uint32_t i = 0; i < file->link_count; i++)
		if (strcmp(file->links[i].name, name) == 0)
			return file->links[i].name;
	return NULL;
}

static void add_link(struct looking *l, struct fl_host_file_found *file, const char *name, const char *target)
{
	struct fl_host_link_found *link = &file->links[file->link_count];

	if (strcmp(name, target) == 0 || link_of(file, name))
		return;
	if (file->link_count == FL_HOST_LINKS || strlen(name) >= FL_HOST_NAME_MAX ||
	    strlen(target) >= FL_HOST_NAME_MAX) {
		scan_say(l, "'%s' is left out: a library gets no more than %d links, of less than %d bytes", name,
			 FL_HOST_LINKS, FL_HOST_NAME_MAX);
		return;
	}
	(void)snprintf(link->name, sizeof link->name, "%s", name);
	(void)snprintf(link->target, sizeof link->target, "%s", target);
	file->link_count++;
}

static bool has_name(struct looking *l, int dir, const char *name)
{
	char target[FL_HOST_PATH_MAX];
	int64_t n = l->fs->readlink(l->fs, dir, name, target, sizeof target);

	if (n < 0 && n != -EINVAL)
		scan_failed(l, (int)-n, name);
	return n >= 0 || n == -EINVAL;
}

/* Does a link that the host has become one to this file? There may be several libraries with versions of their own: of
 * those the host's link chooses one. */
static bool leads_here(struct looking *l, int dir, const struct fl_host_file_found *file, const char *name)
{
	const char *own = base_of(file->path);
	char target[FL_HOST_PATH_MAX];
	int64_t n;

	if (!has_name(l, dir, name))
		return false;
	if (is_of_version(own, l->scan->version))
		return true;
	n = l->fs->readlink(l->fs, dir, name, target, sizeof target - 1);
	target[n < 0 ? 0 : n] = '\0';
	return strcmp(base_of(target), own) == 0 || link_of(file, base_of(target));
}

/* Links that containers get although the host has none. `name` is in the file's directory or below it. */
static void add_always(struct looking *l, struct fl_host_file_found *file, const char *stem)
{
	static const struct {
		const char *stem, *name, *soname;
		bool above;
	} always[] = {
		{ "libcuda", "libcuda.so", "libcuda.so.1", false },
		{ "libnvidia-opticalflow", "libnvidia-opticalflow.so", "libnvidia-opticalflow.so.1", false },
		{ "libGLX_nvidia", "libGLX_indirect.so.0", "", false },
		{ "libnvidia-vulkan-producer", "libnvidia-vulkan-producer.so", "", false },
		{ "libglxserver_nvidia", "libglxserver_nvidia.so", "", false },
		{ "libnvidia-allocator", "gbm/nvidia-drm_gbm.so", "libnvidia-allocator.so.1", true },
	};
	const char *own = base_of(file->path);
	char target[FL_HOST_PATH_MAX + 4];

	for (size_t i = 0; i < FL_LEN(always); i++) {
		if (strcmp(stem, always[i].stem) != 0)
			continue;
		if (always[i].soname[0])
			add_link(l, file, always[i].soname, own);
		(void)snprintf(target, sizeof target, "%s%s", always[i].above ? "../" : "",
			       always[i].soname[0] ? always[i].soname : own);
		add_link(l, file, always[i].name, target);
	}
}

/* The names by which programs ask for a library: its soname and the one for linkers, where the host has them. Those of
 * the driver's version lead to this file, also where the host's lead to another version. */
static void add_links(struct looking *l, int dir, struct fl_host_file_found *file, const char *soname)
{
	const char *own = base_of(file->path), *so = strstr(own, ".so");
	char stem[FL_HOST_NAME_MAX], name[FL_HOST_NAME_MAX];

	if (!so || (size_t)snprintf(stem, sizeof stem, "%.*s", (int)(so - own), own) >= sizeof stem ||
	    (size_t)snprintf(name, sizeof name, "%s.so", stem) >= sizeof name)
		return;
	if (soname[0] && leads_here(l, dir, file, soname))
		add_link(l, file, soname, own);
	add_always(l, file, stem);
	if (leads_here(l, dir, file, name))
		add_link(l, file, name, soname[0] && link_of(file, soname) ? soname : own);
}

/* ---- directories ---- */

/* A file without links in its path, in the directory of this fd. NULL: it cannot be loaded here, or is there
 * already. */
static struct fl_host_file_found *add_file(struct looking *l, enum fl_host_file what, int dir, const char *path,
					   const char *at)
{
	char soname[FL_HOST_NAME_MAX];
	struct fl_host_file_found *found;
	int r = fl_lib_look(l->fs, dir, base_of(path), soname);

	if (r == -ENOEXEC)
		l->scan->foreign++;
	else if (r < 0)
		scan_failed(l, -r, path);
	found = r < 0 ? NULL : scan_add(l, what, path, at);
	if (found && !found->at[0])
		add_links(l, dir, found, soname);
	return found;
}

/* One whose path may have links. A module is opened by the path that was looked for. */
static struct fl_host_file_found *take_link(struct looking *l, enum fl_host_file what, const char *path)
{
	char file[FL_HOST_PATH_MAX], above[FL_HOST_PATH_MAX];
	struct fl_host_file_found *found;
	struct fl_stat stat = { 0 };
	int dir;

	if (!scan_look(l, path, file, &stat) || !S_ISREG(stat.mode))
		return NULL;
	(void)snprintf(above, sizeof above, "%.*s", (int)(base_of(file) - file), file);
	dir = scan_open(l, above);
	if (dir < 0)
		return NULL;
	found = add_file(l, what, dir, file, what == FL_HOST_MODULE ? path : NULL);
	l->fs->close(l->fs, dir);
	return found;
}

struct wanted {
	enum fl_host_file what;
	bool all;                              /* those with versions of their own, too */
};

/* How many of the driver's version there are. */
static uint32_t libraries_in(struct looking *l, const char *dir, struct wanted wanted)
{
	int fd = scan_open(l, dir);
	char buf[4096], path[2 * FL_HOST_PATH_MAX];
	uint32_t count = 0;
	unsigned char type;
	const char *name;
	size_t n;

	if (fd < 0)
		return 0;
	while (scan_list(l, fd, dir, buf, sizeof buf, &n)) {
		size_t at = 0;

		while ((name = fl_list_next(buf, n, &at, &type))) {
			bool ours = is_of_version(name, l->scan->version);

			if (!ours && !(wanted.all && (is_egl(name) || is_nvvm(name))))
				continue;
			if ((size_t)snprintf(path, sizeof path, "%s/%s", dir[1] ? dir : "", name) >= FL_HOST_PATH_MAX)
				scan_too_many(l, "files", name, FL_HOST_FILES_MAX);
			else if ((type == DT_REG ? add_file(l, wanted.what, fd, path, NULL) :
						   take_link(l, wanted.what, path)) &&
				 ours && starts(name, "lib"))
				count++;
		}
	}
	l->fs->close(l->fs, fd);
	return count;
}

/* The one with another version in its name belongs to the driver beside which it lies. */
static void drop_nvvm(struct looking *l, uint32_t from)
{
	uint32_t kept = from;

	for (uint32_t i = from; i < l->scan->file_count; i++)
		if (!is_nvvm(base_of(l->scan->files[i].path)))
			l->scan->files[kept++] = l->scan->files[i];
	l->scan->file_count = kept;
}

/* ---- modules of X.Org: the first place that has one ---- */

static bool module_below(struct looking *l, const char *above, const char *name)
{
	static const char *const below[] = { "nvidia/xorg", "xorg/modules/drivers", "xorg/modules/extensions",
					     "xorg/modules/updates/drivers", "xorg/modules/updates/extensions" };
	char path[FL_HOST_PATH_MAX];
	uint32_t before = l->scan->file_count;

	for (size_t i = 0; i < FL_LEN(below); i++)
		if ((size_t)snprintf(path, sizeof path, "%s/%s/%s", above[1] ? above : "", below[i], name) <
			    sizeof path &&
		    take_link(l, FL_HOST_MODULE, path))
			return true;
	return l->scan->file_count > before;
}

static void modules(struct looking *l, const uint32_t *dirs, uint32_t count)
{
	static const char *const others[] = { "/usr/lib", "/usr/lib64", "/usr/X11R6/lib", "/usr/X11R6/lib64" };
	char names[2][FL_HOST_NAME_MAX + sizeof l->scan->version] = { "nvidia_drv.so" };

	(void)snprintf(names[1], sizeof names[1], "libglxserver_nvidia.so.%s", l->scan->version);
	for (size_t i = 0; i < FL_LEN(names); i++) {
		bool found = false;

		for (uint32_t k = 0; k < count && !found; k++)
			found = module_below(l, l->scan->dirs.at[dirs[k]], names[i]);
		for (size_t k = 0; k < FL_LEN(others) && !found; k++)
			found = module_below(l, others[k], names[i]);
	}
}

/* ---- all of them ---- */

static bool has_cuda(const struct fl_host_scan *scan)
{
	for (uint32_t i = 0; i < scan->file_count; i++)
		if (starts(base_of(scan->files[i].path), "libcuda.so."))
			return true;
	return false;
}

/* For the condition of a node that lacks libcuda: each place by its name. */
static void say_looked(struct fl_host_scan *scan, uint32_t usual)
{
	char *at = scan->looked, *end = at + sizeof scan->looked;

	for (const char *const *name = fl_lib_dir_names; **name && at < end; name++)
		at += snprintf(at, (size_t)(end - at), "%s%s", at > scan->looked ? ", " : "", *name);
	if (at < end)
		at += snprintf(at, (size_t)(end - at), " and the directories of /etc/ld.so.cache (");
	for (uint32_t i = usual; i < scan->dirs.len && at < end; i++)
		at += snprintf(at, (size_t)(end - at), "%s%s", i > usual ? ", " : "", scan->dirs.at[i]);
	if (at < end)
		at += snprintf(at, (size_t)(end - at), "%s), below '%s'", usual == scan->dirs.len ? "no other" : "",
			       scan->root);
	if (scan->foreign && at < end)
		(void)snprintf(at, (size_t)(end - at), "; %u files are not 64-bit libraries of this machine",
			       scan->foreign);
}

static void libraries_of(struct looking *l, uint32_t from, uint32_t *dirs, uint32_t *count)
{
	char path[FL_HOST_PATH_MAX + 8];

	for (uint32_t i = from; i < l->scan->dirs.len; i++) {
		const char *dir = l->scan->dirs.at[i];
		uint32_t before = l->scan->file_count;

		if (!libraries_in(l, dir, (struct wanted){ FL_HOST_LIBRARY, true })) {
			drop_nvvm(l, before);
			continue;
		}
		dirs[(*count)++] = i;
		if ((size_t)snprintf(path, sizeof path, "%s/vdpau", dir[1] ? dir : "") < FL_HOST_PATH_MAX)
			(void)libraries_in(l, path, (struct wanted){ FL_HOST_MODULE, false });
	}
}

void scan_libraries(struct looking *l)
{
	struct fl_host_scan *scan = l->scan;
	uint32_t dirs[FL_LIB_DIRS_MAX], count = 0, usual;

	fl_lib_dirs_usual(l->fs, scan->root, &scan->dirs);
	usual = scan->dirs.len;
	libraries_of(l, 0, dirs, &count);
	if (!has_cuda(scan)) {
		fl_lib_dirs_cached(l->fs, scan->root, &scan->dirs);
		libraries_of(l, usual, dirs, &count);
	}
	if (scan->dirs.error)
		scan_failed(l, scan->dirs.error, scan->dirs.where);
	if (!has_cuda(scan))
		say_looked(scan, usual);
	if (count)
		modules(l, dirs, count);
}
