/* NVIDIA's images of a newer CUDA bring a newer libcuda of their own for older drivers of the data centre. It is used
 * when it says that it can be, and is newer than the host's. */
#include "node/host/elf.h"
#include "node/hook/in.h"
#include "node/hook/json.h"
#include <errno.h>
#include <stdio.h>

static int64_t number(struct fl_str *rest)
{
	struct fl_str part;
	int64_t n;

	return fl_str_split(rest, '.', &part) && fl_str_i64(part, &n) ? n : -1;
}

/* By numbers: 550.9 is less than 550.54.15. */
static int compare(struct fl_str a, struct fl_str b)
{
	for (int i = 0; i < 8; i++) {
		int64_t x = number(&a), y = number(&b);

		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

static int64_t major_of(struct fl_str version)
{
	return number(&version);
}

/* The one regular libcuda.so.C of the directory: its C; false: there is none, or more than one. */
static bool find_compat(const struct fl_hooking *h, int dir, char ret[FL_NAME_MAX + 1])
{
	char buf[4096];
	const char *name;
	unsigned count = 0;
	int64_t len;

	while ((len = h->fs->list(h->fs, dir, buf, sizeof buf)) > 0) {
		size_t at = 0;

		while ((name = fl_list_next(buf, (size_t)len, &at, NULL))) {
			struct fl_stat stat = { 0 };

			if (strncmp(name, "libcuda.so.", 11) != 0 || !strchr(name + 11, '.') ||
			    strlen(name) > FL_NAME_MAX ||
			    h->fs->stat(h->fs, dir, name, AT_SYMLINK_NOFOLLOW, &stat) < 0 || !S_ISREG(stat.mode))
				continue;
			count++;
			memcpy(ret, name + 11, strlen(name + 11) + 1);
		}
	}
	return len == 0 && count == 1;
}

/* 1: the library names this major; 0: it does not; -ENOENT: it prints nothing; or another negated errno. */
static int says(const struct fl_hooking *h, const char *path, int64_t major)
{
	char note[FL_ELF_NOTE_MAX];
	struct fl_str list, one;
	struct fl_elf elf;
	uint32_t at = 0;
	int64_t n;
	int fd = fl_hook_open_library(h, path, O_NOFOLLOW), r;

	if (fd < 0)
		return fd;
	r = fl_elf_open(&elf, h->fs, fd);
	if (r == 0)
		r = fl_elf_note(&elf, ".note.cuda.fwd_compatibility", "NVIDIA Corporation", note);
	h->fs->close(h->fs, fd);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	if (!fl_bare_member((struct fl_str){ note, (uint32_t)r }, "Driver", &list))
		return 0;
	while (fl_bare_next(list, &at, &one))
		if (fl_str_i64(one, &n) && n == major)
			return 1;
	return 0;
}

bool fl_hook_compat(const struct fl_hooking *h)
{
	int dir = fl_hook_open(h, FL_HOOK_COMPAT, O_DIRECTORY), told;
	char version[FL_NAME_MAX + 1], path[sizeof FL_HOOK_COMPAT "/libcuda.so." + FL_NAME_MAX];
	struct fl_str own;
	bool found;

	if (dir < 0)
		return false;
	found = find_compat(h, dir, version);
	h->fs->close(h->fs, dir);
	own = fl_str(version);
	if (!found || major_of(own) < 0 || major_of(h->hook->version) < 0)
		return false;
	(void)snprintf(path, sizeof path, FL_HOOK_COMPAT "/libcuda.so.%s", version);
	told = says(h, path, major_of(h->hook->version));
	if (told == -ENOENT)
		return major_of(own) > major_of(h->hook->version);
	return told == 1 && compare(own, h->hook->version) > 0;
}
