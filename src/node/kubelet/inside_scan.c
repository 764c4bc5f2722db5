#include "node/kubelet/inside_scan.h"
#include "base/chars.h"
#include "base/hmap.h"
#include "base/mem.h"
#include "node/host/scan.h"
#include <errno.h>
#include <stdio.h>
#include <sys/sysmacros.h>

struct looking {
	const struct fl_fs *fs;
	struct fl_inside_scan *scan;
	int proc, host;                        /* the host's root */
	struct fl_stat root;                   /* the same, to be told from a container's */
	unsigned uvm;                          /* major number of unified memory's nodes; 0: the kernel has none */
};

/* ---- libraries ---- */

/* 570.133.20: three digits and more before the first dot, which tells it from 1.1.13 of a library of its own. */
static uint32_t version_len(struct fl_str text)
{
	uint32_t len = 0, major = 0;

	while (len < text.len &&
	       (fl_is_digit(text.p[len]) || (len && text.p[len] == '.' && fl_is_digit(text.p[len - 1]))))
		len++;
	if (len && text.p[len - 1] == '.')
		len--;
	while (major < len && fl_is_digit(text.p[major]))
		major++;
	return major >= 3 && major < len ? len : 0;
}

static bool is_of_a_library(char c)
{
	return fl_is_alnum(c) || c == '_' || c == '+' || c == '.' ||
	       c == '-';
}

/* The length of "libcuda.so." or "libnvidia-NAME.so." at the start; 0: it is neither. */
static uint32_t name_len(struct fl_str text)
{
	const struct fl_str cuda = FL_S("libcuda.so."), others = FL_S("libnvidia-"), so = FL_S(".so.");
	uint32_t len = others.len;

	if (fl_str_starts(text, cuda))
		return cuda.len;
	if (!fl_str_starts(text, others))
		return 0;
	while (len < text.len && is_of_a_library(text.p[len])) {
		if (fl_str_starts(fl_str_sub(text, len, so.len), so))
			return len + so.len;
		len++;
	}
	return 0;
}

bool fl_inside_library(struct fl_str line, struct fl_str version, char ret[static FL_INSIDE_TEXT])
{
	static const char compat[] = "/compat/";

	if (memmem(line.p, line.len, compat, sizeof compat - 1))
		return false;
	for (uint32_t at = 0; at + 1 < line.len; at++) {
		struct fl_str file = fl_str_sub(line, at + 1, line.len), now;
		uint32_t name = line.p[at] == '/' ? name_len(file) : 0;

		if (!name)
			continue;
		now = fl_str_sub(file, name, file.len);
		now.len = version_len(now);
		if (!now.len || fl_str_eq(now, version) || name + now.len >= FL_INSIDE_TEXT)
			continue;
		(void)snprintf(ret, FL_INSIDE_TEXT, "%.*s", (int)(name + now.len), file.p);
		return true;
	}
	return false;
}

/* Line by line; a line that is longer than the room is looked at in pieces. */
static bool find_library(struct looking *l, const char *pid, const char *name, char ret[static FL_INSIDE_TEXT])
{
	struct fl_str version = fl_str(l->scan->version);
	char path[64], *text = l->scan->text;
	size_t size = sizeof l->scan->text, len = 0, all = 0;
	bool found = false;
	int64_t got = 1;
	int fd;

	(void)snprintf(path, sizeof path, "%.20s/%s", pid, name);
	fd = l->fs->open(l->fs, l->proc, path, O_RDONLY | O_CLOEXEC, 0);
	while (fd >= 0 && !found && got > 0 && all < FL_INSIDE_MAP_BYTES) {
		struct fl_str rest, line;
		const char *last;

		got = l->fs->read(l->fs, fd, text + len, size - len);
		len += got > 0 ? (size_t)got : 0;
		all += got > 0 ? (size_t)got : 0;
		last = got > 0 && len < size ? memrchr(text, '\n', len) : text + len;
		rest = (struct fl_str){ text, last ? (uint32_t)(last - text) : 0 };
		while (!found && rest.len && fl_str_split(&rest, '\n', &line))
			found = fl_inside_library(line, version, ret);
		if (!last)
			continue;
		last += last < text + len;
		len -= (size_t)(last - text);
		memmove(text, last, len);
	}
	if (fd >= 0)
		l->fs->close(l->fs, fd);
	return found;
}

/* ---- devices ---- */

static bool covers(struct fl_str number, uint32_t wanted)
{
	uint64_t n;

	return fl_str_eq(number, FL_S("*")) || (fl_str_u64(number, &n) && n == wanted);
}

/* "c 195:* rwm" a line; "a *:* rwm" is everything. */
bool fl_inside_allowed(struct fl_str list, uint32_t major_number, uint32_t minor_number)
{
	struct fl_str line;

	while (fl_str_split(&list, '\n', &line)) {
		struct fl_str kind, major, minor;

		if (!fl_str_split(&line, ' ', &kind) || !fl_str_split(&line, ':', &major) ||
		    !fl_str_split(&line, ' ', &minor) || !line.p)
			continue;
		if ((fl_str_eq(kind, FL_S("a")) || fl_str_eq(kind, FL_S("c"))) && covers(major, major_number) &&
		    covers(minor, minor_number) && fl_str_find(line, 'r') >= 0 && fl_str_find(line, 'w') >= 0)
			return true;
	}
	return false;
}

enum { NVIDIA_MAJOR = 195, MINOR_DIGITS = 7 };   /* of a minor number of Linux, at most */

struct container {
	struct fl_inside_pod found;
	char rules[4096];                      /* what its cgroup may open ... */
	struct fl_str list;                    /* ... if that can be read */
	bool systemds;
};

/* The driver's, as its names and the kernel's numbers have it: whoever may make device nodes calls them as he likes. */
static bool is_the_drivers(const struct looking *l, struct fl_str name, unsigned number)
{
	const struct fl_str gpu = FL_S("nvidia");

	for (size_t i = 0; i < FL_LEN(fl_host_uvm_nodes); i++)
		if (fl_str_eq(name, fl_str(fl_host_uvm_nodes[i])))
			return l->uvm && number == l->uvm;
	if (number != NVIDIA_MAJOR || !fl_str_starts(name, gpu))
		return false;
	if (fl_str_eq(name, FL_S("nvidiactl")) || fl_str_eq(name, FL_S("nvidia-modeset")))
		return true;
	for (uint32_t i = gpu.len; i < name.len; i++)
		if (!fl_is_digit(name.p[i]))
			return false;
	return name.len > gpu.len && name.len <= gpu.len + MINOR_DIGITS;
}

static void look_at_node(struct looking *l, struct container *c, const char *name, uint64_t rdev)
{
	char link[96], target[8];

	if (c->list.len && !fl_inside_allowed(c->list, major(rdev), minor(rdev)))
		(void)snprintf(c->found.denied, sizeof c->found.denied, "/dev/%.100s", name);
	(void)snprintf(link, sizeof link, "dev/char/%u:%u", major(rdev), minor(rdev));
	if (c->systemds && l->fs->readlink(l->fs, l->host, link, target, sizeof target) == -ENOENT)
		(void)snprintf(c->found.unlinked, sizeof c->found.unlinked, "/dev/%.100s", name);
}

/* The driver's nodes in the root of a process, by their own numbers. */
static void look_at_nodes(struct looking *l, struct container *c, int root)
{
	int fd = l->fs->open_in(l->fs, root, "dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0,
				RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
	uint32_t names = 0;
	char list[4096];
	int64_t len;

	if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR && fd != -ELOOP)   /* these three: it has none */
		l->scan->unopened = -fd;
	while (fd >= 0 && names < FL_INSIDE_DEV_NAMES && (len = l->fs->list(l->fs, fd, list, sizeof list)) > 0) {
		const char *name;
		size_t at = 0;

		while ((name = fl_list_next(list, (size_t)len, &at, NULL)) && names++ < FL_INSIDE_DEV_NAMES) {
			struct fl_stat stat;

			if (strncmp(name, "nvidia", 6) == 0 &&
			    l->fs->stat(l->fs, fd, name, AT_SYMLINK_NOFOLLOW, &stat) == 0 && S_ISCHR(stat.mode) &&
			    is_the_drivers(l, fl_str(name), major(stat.rdev)))
				look_at_node(l, c, name, stat.rdev);
		}
	}
	if (fd >= 0)
		l->fs->close(l->fs, fd);
}

/* A process whose root is still the host's is about to become a container's: it shows what the host has. */
static bool is_inside(struct looking *l, int fd)
{
	struct fl_stat root;

	return l->fs->stat(l->fs, fd, "", AT_EMPTY_PATH, &root) == 0 &&
	       (root.dev != l->root.dev || root.ino != l->root.ino);
}

/* The cgroup that decides about devices: version 1's, else version 2's. */
static struct fl_str cgroup_of(struct fl_str text, bool *ret_one)
{
	struct fl_str line, unified = { 0 };

	while (fl_str_split(&text, '\n', &line)) {
		struct fl_str number, names, name;

		if (!fl_str_split(&line, ':', &number) || !fl_str_split(&line, ':', &names) || !line.p)
			continue;
		if (!names.len)
			unified = line;
		while (fl_str_split(&names, ',', &name))
			if (fl_str_eq(name, FL_S("devices"))) {
				*ret_one = true;
				return line;
			}
	}
	*ret_one = false;
	return unified;
}

static void look_at_container(struct looking *l, struct container *c, const char *pid, int root, struct fl_str cgroup,
			      bool one)
{
	char path[1024];

	c->list = (struct fl_str){ 0 };
	if (one && snprintf(path, sizeof path, "sys/fs/cgroup/devices%.*s/devices.list", FL_ARG(cgroup)) <
			   (int)sizeof path)
		c->list = fl_process_text(l->fs, l->host, path, c->rules, sizeof c->rules);
	c->systemds = cgroup.p && memmem(cgroup.p, cgroup.len, ".slice/", 7) && fl_str_ends(cgroup, FL_S(".scope"));
	look_at_nodes(l, c, root);
	if (l->scan->version[0])
		(void)find_library(l, pid, "mountinfo", c->found.library);
}

/* ---- process by process ---- */

/* false: it was looked at before, or there are too many. */
static bool is_new(struct fl_inside_scan *scan, struct fl_str cgroup)
{
	static const uint64_t seed[2] = { 0x696e73696465u, 0x636f6e7461696eu };
	uint64_t digest = fl_siphash13(seed, cgroup.p, cgroup.len);

	for (uint32_t i = 0; i < scan->containers; i++)
		if (scan->seen[i] == digest)
			return false;
	if (scan->containers == FL_INSIDE_CONTAINERS) {
		scan->cut = true;
		return false;
	}
	scan->seen[scan->containers++] = digest;
	return true;
}

static struct fl_inside_pod *known(struct fl_inside_scan *scan, const char *uid)
{
	for (uint32_t i = 0; i < scan->len; i++)
		if (strcmp(scan->at[i].uid, uid) == 0)
			return &scan->at[i];
	return NULL;
}

/* A Pod that the kubelet of this node does not know is another node's of the same machine, or over. */
static struct fl_inside_pod *add_pod(struct looking *l, const char *uid)
{
	struct fl_inside_scan *scan = l->scan;
	struct fl_inside_pod *pod = known(scan, uid);

	if (pod)
		return pod;
	if (scan->len == FL_INSIDE_PODS) {
		scan->cut = true;
		return NULL;
	}
	pod = &scan->at[scan->len];
	*pod = (struct fl_inside_pod){ 0 };
	if (fl_pod_of_uid(l->fs, scan->logs, uid, pod->pod) == 0)
		return NULL;
	(void)snprintf(pod->uid, sizeof pod->uid, "%s", uid);
	scan->len++;
	return pod;
}

static void copy_text(char to[static FL_INSIDE_TEXT], const char *from)
{
	if (!to[0])
		memcpy(to, from, FL_INSIDE_TEXT);
}

/* What was found in a process, and, by the first one of a container, in that. */
static void add_finding(struct looking *l, const char *pid, const char *uid, const struct fl_inside_pod *found,
			bool mapped)
{
	char name[FL_PROCESS_NAME];
	struct fl_inside_pod *pod;

	if (!found->library[0] && !found->denied[0] && !found->unlinked[0])
		return;
	pod = add_pod(l, uid);
	if (!pod)
		return;
	if (mapped) {
		fl_process_name(l->fs, l->proc, pid, name);
		memcpy(pod->library, found->library, sizeof pod->library);
		(void)snprintf(pod->process, sizeof pod->process, "%s (pid %.20s)", name, pid);
	}
	copy_text(pod->library, found->library);
	copy_text(pod->denied, found->denied);
	copy_text(pod->unlinked, found->unlinked);
}

static void look_at_process(struct looking *l, const char *pid)
{
	char path[64], text[4096], uid[FL_POD_UID];
	struct fl_str all, cgroup;
	const struct fl_inside_pod *before;
	struct container c = { 0 };
	bool one, mapped = false;
	int root;

	(void)snprintf(path, sizeof path, "%.20s/cgroup", pid);
	all = fl_process_text(l->fs, l->proc, path, text, sizeof text);
	cgroup = cgroup_of(all, &one);
	if (!fl_cgroup_pod(cgroup, uid))
		return;
	(void)snprintf(path, sizeof path, "%.20s/root", pid);
	root = l->fs->open(l->fs, l->proc, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (root < 0)
		return;
	if (is_inside(l, root)) {
		before = known(l->scan, uid);
		if (is_new(l->scan, cgroup))
			look_at_container(l, &c, pid, root, cgroup, one);
		if (l->scan->version[0] && !(before && before->process[0]))
			mapped = find_library(l, pid, "maps", c.found.library);
		add_finding(l, pid, uid, &c.found, mapped);
	}
	l->fs->close(l->fs, root);
}

/* The first process has the host's, as the agent has where it is no container. */
static int open_host(struct looking *l)
{
	int host = l->fs->open(l->fs, l->proc, "1/root", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

	if (host < 0)
		host = l->fs->open(l->fs, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (host >= 0 && l->fs->stat(l->fs, host, ".", 0, &l->root) < 0)
		l->root = (struct fl_stat){ 0 };
	return host;
}

static unsigned uvm_major(struct looking *l)
{
	char text[8192];

	return fl_host_major(fl_process_text(l->fs, l->proc, "devices", text, sizeof text), FL_S("nvidia-uvm"));
}

void fl_inside_scan(const struct fl_fs *fs, struct fl_inside_scan *scan)
{
	struct looking l = { .fs = fs, .scan = scan };
	uint32_t looked = 0;
	char list[4096];
	int64_t len = 0;

	scan->len = scan->containers = 0;
	scan->cut = false;
	scan->unopened = 0;
	l.proc = fs->open(fs, AT_FDCWD, scan->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	scan->error = l.proc < 0 ? -l.proc : 0;
	if (l.proc < 0)
		return;
	l.host = open_host(&l);
	scan->error = l.host < 0 ? -l.host : 0;
	l.uvm = uvm_major(&l);
	while (!scan->error && (len = fs->list(fs, l.proc, list, sizeof list)) > 0) {
		const char *name;
		size_t at = 0;

		while ((name = fl_list_next(list, (size_t)len, &at, NULL)))
			if (name[0] >= '1' && name[0] <= '9' && looked++ < FL_INSIDE_PIDS)
				look_at_process(&l, name);
	}
	scan->cut |= looked > FL_INSIDE_PIDS;
	if (len < 0)
		scan->error = (int)-len;
	if (l.host >= 0)
		fs->close(fs, l.host);
	fs->close(fs, l.proc);
}
