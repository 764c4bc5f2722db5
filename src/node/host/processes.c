#include "node/host/processes.h"
#include "base/chars.h"
#include "base/mem.h"
#include <stdio.h>

struct fl_str fl_process_text(const struct fl_fs *fs, int proc, const char *path, char *buf, size_t size)
{
	int fd = fs->open(fs, proc, path, O_RDONLY | O_CLOEXEC, 0);
	int64_t len = fd < 0 ? -1 : fl_fs_read_all(fs, fd, buf, size);

	if (fd >= 0)
		fs->close(fs, fd);
	return fl_str_trim((struct fl_str){ buf, len > 0 ? (uint32_t)len : 0 });
}

/* A process calls itself as it likes, and its name stands in texts for people between our own words: it has no sign
 * that could end it there, or begin something else, in a text or in a shell. */
static bool is_plain(char c)
{
	return fl_is_alnum(c) ||
	       (c && strchr("._-+:/@", c));
}

void fl_process_name(const struct fl_fs *fs, int proc, const char *pid, char ret[static FL_PROCESS_NAME])
{
	char path[64], comm[FL_PROCESS_NAME];
	struct fl_str name;

	(void)snprintf(path, sizeof path, "%.20s/comm", pid);
	name = fl_process_text(fs, proc, path, comm, sizeof comm - 1);
	for (uint32_t i = 0; i < name.len; i++)
		ret[i] = is_plain(name.p[i]) ? name.p[i] : '?';
	ret[name.len] = '\0';
}

static bool is_uid(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-' || c == '_';
}

/* .../pod<uid>/... by cgroupfs; ...-pod<uid with '_'>.slice by systemd. A static Pod's has 32 digits and no dash. */
bool fl_cgroup_pod(struct fl_str cgroup, char ret[static FL_POD_UID])
{
	for (uint32_t at = 0; at + 3 < cgroup.len; at++) {
		uint32_t len = 0;

		if (memcmp(cgroup.p + at, "pod", 3) != 0)
			continue;
		while (at + 3 + len < cgroup.len && is_uid(cgroup.p[at + 3 + len]))
			len++;
		if (len != 36 && len != 32)
			continue;
		for (uint32_t i = 0; i < len; i++)
			ret[i] = cgroup.p[at + 3 + i] == '_' ? '-' : cgroup.p[at + 3 + i];
		ret[len] = '\0';
		return true;
	}
	return false;
}

/* NAMESPACE_NAME_UID -> NAMESPACE/NAME; neither name has a '_'. */
static bool is_pods(const char *name, const char *uid, char ret[static FL_POD_NAME])
{
	const char *second = strrchr(name, '_'), *first = strchr(name, '_');

	if (!first || first == second || strcmp(second + 1, uid) != 0)
		return false;
	(void)snprintf(ret, FL_POD_NAME, "%.*s/%.*s", (int)(first - name), name, (int)(second - first - 1), first + 1);
	return true;
}

/* The kubelet's directory of Pod logs, while it is read. */
struct pods {
	const struct fl_fs *fs;
	int fd;
	char list[4096];
	int64_t len;
	size_t at;
};

static int open_pods(struct pods *pods, const struct fl_fs *fs, const char *logs)
{
	pods->fs = fs;
	pods->len = 0;
	pods->at = 0;
	pods->fd = fs->open(fs, AT_FDCWD, logs, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	return pods->fd;
}

/* NULL: there is no further one, or pods->len < 0 is what went wrong. */
static const char *next_pod(struct pods *pods)
{
	const char *name;

	for (;;) {
		name = pods->len > 0 ? fl_list_next(pods->list, (size_t)pods->len, &pods->at, NULL) : NULL;
		if (name)
			return name;
		pods->at = 0;
		pods->len = pods->fs->list(pods->fs, pods->fd, pods->list, sizeof pods->list);
		if (pods->len <= 0)
			return NULL;
	}
}

int fl_pod_of_uid(const struct fl_fs *fs, const char *logs, const char *uid, char ret[static FL_POD_NAME])
{
	struct pods pods;
	bool found = false;
	const char *name;

	if (open_pods(&pods, fs, logs) < 0)
		return pods.fd;
	while (!found && (name = next_pod(&pods)))
		found = is_pods(name, uid, ret);
	fs->close(fs, pods.fd);
	return found ? 1 : (int)pods.len;
}

int fl_uid_of_pod(const struct fl_fs *fs, const char *logs, const char *pod, char ret[static FL_POD_UID])
{
	struct pods pods;
	int found = 0;
	const char *name;

	ret[0] = '\0';
	if (open_pods(&pods, fs, logs) < 0)
		return pods.fd;
	while ((name = next_pod(&pods))) {
		const char *last = strrchr(name, '_');
		char of[FL_POD_NAME];

		if (last && strlen(last + 1) < FL_POD_UID && is_pods(name, last + 1, of) && strcmp(of, pod) == 0 &&
		    found++ == 0)
			(void)snprintf(ret, FL_POD_UID, "%s", last + 1);
	}
	fs->close(fs, pods.fd);
	if (found == 1 && pods.len == 0)
		return 1;
	ret[0] = '\0';
	return (int)pods.len;
}
