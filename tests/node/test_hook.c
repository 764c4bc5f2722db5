/* The hook in containers of every kind, those among them that want out. What is outside must stay as it was. */
#include "base/limits.h"
#include "node/hook.h"
#include "test.h"
#include "test_io.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIB "libcuda.so.5"

/* ---- a bundle: DIR/bundle/config.json, DIR/bundle/rootfs, and DIR/outside beside it ---- */

static char *at(const char *dir, const char *path)
{
	static char paths[8][600];
	static unsigned next;
	char *ret = paths[next++ % FL_LEN(paths)];

	(void)snprintf(ret, sizeof paths[0], "%s/%s", dir, path);
	for (char *p = ret + strlen(dir) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		(void)mkdir(ret, 0755);
	}
	return ret;
}

static void make_bundle(const char *dir, const char *root)
{
	char text[800];

	(void)snprintf(text, sizeof text, "{\"ociVersion\":\"1.2.0\",\"root\":{\"path\":\"%s\"}}", root);
	(void)test_write_file(at(dir, "bundle/config.json"), text);
	(void)mkdir(at(dir, "bundle/rootfs"), 0755);
	(void)mkdir(at(dir, "outside"), 0755);
	(void)snprintf(text, sizeof text, "{\"ociVersion\":\"1.2.0\",\"id\":\"x\",\"bundle\":\"%s/bundle\"}", dir);
	(void)test_write_file(at(dir, "state"), text);
}

/* "PATH" a file, "PATH > TARGET" a link, "PATH /" a folder, a line each; @ in a target is the folder of the test. */
static void make_files(const char *dir, const char *lines)
{
	struct fl_str rest = fl_str(lines), line;

	while (fl_str_split(&rest, '\n', &line)) {
		char path[300], target[400], *how;

		if (!line.len)
			continue;
		(void)snprintf(path, sizeof path, "bundle/rootfs/%.*s", FL_ARG(line));
		how = strchr(path, ' ');
		if (how)
			*how++ = '\0';
		if (!how)
			(void)test_write_file(at(dir, path), "image");
		else if (how[0] == '/')
			(void)mkdir(at(dir, path), 0755);
		else if (how[2] == '@' && snprintf(target, sizeof target, "%s%s", dir, how + 3) > 0)
			(void)!symlink(target, at(dir, path));
		else
			(void)!symlink(how + 2, at(dir, path));
	}
}

static int hook(struct fl_io *io, const char *dir, const char *link, const char *folder, struct fl_err *err)
{
	const struct fl_fs *fs = fl_io_fs(io);
	struct fl_str links[] = { fl_str(link) }, folders[] = { fl_str(folder) };
	const struct fl_hook hook = { { links, link[0] != '\0', 1 }, { folders, folder[0] != '\0', 1 } };
	int fd = fs->open(fs, AT_FDCWD, at(dir, "state"), O_RDONLY | O_CLOEXEC, 0), r;

	if (fd < 0)
		return fl_fail_sys(err, -fd, "open the state");
	r = fl_hook_run(fs, fd, &hook, err);
	fs->close(fs, fd);
	return r;
}

/* What a path of the container's is: "> target", "file", "folder", "nothing". */
static const char *what_is(const char *dir, const char *path)
{
	static char text[400];
	const char *full = at(dir, path);
	struct stat stat;
	ssize_t n = readlink(full, text + 2, sizeof text - 3);

	if (n >= 0) {
		memcpy(text, "> ", 2);
		text[n + 2] = '\0';
		return text;
	}
	return lstat(full, &stat) < 0 ? "nothing" : S_ISDIR(stat.st_mode) ? "folder" : "file";
}

static bool is_empty(const char *dir, const char *path)
{
	return rmdir(at(dir, path)) == 0 && mkdir(at(dir, path), 0755) == 0;
}

/* ---- rows ---- */

#define LINK LIB "::/usr/lib64/libcuda.so.1"

struct row {
	const char *says, *files, *link, *folder;
	enum fl_code code;
	const char *where, *want;        /* within the container's root */
};
static const struct row rows[] = {
	{ "a link is made beside the library", "usr/lib64/" LIB "\n", LINK, "", FL_OK, "usr/lib64/libcuda.so.1",
	  "> " LIB },
	{ "in an image without the folder it is made", "", LINK, "", FL_OK, "usr/lib64/libcuda.so.1", "> " LIB },
	{ "a link that is right stays", "usr/lib64/libcuda.so.1 > " LIB "\n", LINK, "", FL_OK, "usr/lib64/libcuda.so.1",
	  "> " LIB },
	{ "one to another version goes", "usr/lib64/libcuda.so.1 > libcuda.so.4\n", LINK, "", FL_OK,
	  "usr/lib64/libcuda.so.1", "> " LIB },
	{ "a stub that the image brings goes", "usr/lib64/libcuda.so.1\n", LINK, "", FL_OK, "usr/lib64/libcuda.so.1",
	  "> " LIB },
	{ "a folder in its place does not", "usr/lib64/libcuda.so.1/x\n", LINK, "", FL_E_IO, "usr/lib64/libcuda.so.1",
	  "folder" },
	{ "links of the image are followed inside", "lib64x /\nusr/lib64 > ../lib64x\n", LINK, "", FL_OK,
	  "lib64x/libcuda.so.1", "> " LIB },
	{ "absolute ones too", "lib64x /\nusr/lib64 > /lib64x\n", LINK, "", FL_OK, "lib64x/libcuda.so.1", "> " LIB },
	/* CVE-2025-23359, CVE-2024-0132: a link that leads out. */
	{ "a link to a folder of the host leads nowhere", "usr/lib64 > @/outside\n", LINK, "", FL_E_NOTFOUND,
	  "usr/lib64/libcuda.so.1", "nothing" },
	{ "nor does one that climbs",
	  "usr/lib64 > ../../../outside\n", LINK, "", FL_E_NOTFOUND, "usr/lib64/libcuda.so.1",
	  "nothing" },
	{ "nor one above the folder", "usr > ../../outside\n", LINK, "", FL_E_NOTFOUND, "usr/lib64", "nothing" },
	{ "nor one in the link's own place: it is replaced, not followed",
	  "usr/lib64/libcuda.so.1 > @/outside\n", LINK, "",
	  FL_OK, "usr/lib64/libcuda.so.1", "> " LIB },
	{ "nor one where it is made for a moment",
	  "usr/lib64/libcuda.so.1\nusr/lib64/.libcuda.so.1.fairlead > @/outside/x\n", LINK, "", FL_OK,
	  "usr/lib64/libcuda.so.1", "> " LIB },
	{ "a link that leads to itself leads nowhere", "usr/lib64 > lib64\n", LINK, "", FL_E_DENIED, "usr/lib64/x",
	  "nothing" },
	{ "a file where the folder should be", "usr/lib64\n", LINK, "", FL_E_DENIED, "usr/lib64", "file" },
	{ "an image of another distribution has it where its loader looks",
	  "usr/lib64 /\n", LIB "::/opt/x/libcuda.so.1",
	  "/opt/x", FL_OK, "usr/lib64/libcuda.so.1", "> /opt/x/" LIB },
	{ "but not over what it brings", "usr/lib64/libcuda.so.1\n", LIB "::/opt/x/libcuda.so.1", "/opt/x", FL_OK,
	  "usr/lib64/libcuda.so.1", "file" },
	{ "nor through a link out", "usr/lib64 > @/outside\n", LIB "::/opt/x/libcuda.so.1", "/opt/x", FL_OK,
	  "opt/x/libcuda.so.1", "> " LIB },
	{ "a target elsewhere is refused", "",
	  "../" LIB "::/usr/lib64/libcuda.so.1", "", FL_E_INVALID, "usr", "nothing" },
	{ "so is an absolute one", "", "/etc/shadow::/usr/lib64/libcuda.so.1", "", FL_E_INVALID, "usr", "nothing" },
	{ "a folder with steps up", "", LIB "::/usr/../lib64/libcuda.so.1", "", FL_E_INVALID, "usr", "nothing" },
	{ "one that is relative", "", LIB "::usr/lib64/libcuda.so.1", "", FL_E_INVALID, "usr", "nothing" },
	{ "a link of no name", "", LIB "::/usr/lib64/", "", FL_E_INVALID, "usr", "nothing" },
	{ "one that is a step up", "", LIB "::/usr/lib64/..", "", FL_E_INVALID, "usr", "nothing" },
	{ "words that are no link", "", "x", "", FL_E_INVALID, "usr", "nothing" },
	{ "nothing to do", "", "", "", FL_OK, "usr", "nothing" },
};

static void look_at(const struct row *row)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir();
	struct fl_err err = { 0 };
	char where[300];
	int r;

	GOT(io);
	make_bundle(dir, "rootfs");
	make_files(dir, row->files);
	r = hook(io, dir, row->link, row->folder, &err);
	CHECK(is_empty(dir, "outside"));
	CHECK_INT(test_io_open_fds(io), 0);
	if (test_tortured())
		return;
	CHECK_INT(-r, row->code);
	(void)snprintf(where, sizeof where, "bundle/rootfs/%s", row->where);
	CHECK_STR(fl_str(what_is(dir, where)), row->want);
}

/* Each row makes files: what fails under torture is tried on a few of them. */
TEST_ONCE(links_are_made_inside_and_nowhere_else)
{
	EACH_ROW (row, rows) {
		look_at(row);
		if (test_failed())
			return;
	}
}

TEST(what_fails_on_the_way_leaves_nothing_outside)
{
	static const char *const some[] = { "in an image without the folder it is made",
					    "a stub that the image brings goes",
					    "an image of another distribution has it where its loader looks" };

	for (size_t i = 0; i < FL_LEN(rows); i++)
		for (size_t k = 0; k < FL_LEN(some); k++)
			if (strcmp(rows[i].says, some[k]) == 0 && !test_tortured() && !test_failed())
				look_at(&rows[i]);
}

TEST(what_the_runtime_says_is_looked_at)
{
	static const struct {
		const char *says, *state, *config;
		enum fl_code code;
	} said[] = {
		{ "no state", "", NULL, FL_E_INVALID },
		{ "a state without a bundle", "{}", NULL, FL_E_INVALID },
		{ "a bundle that is no path", "{\"bundle\":\"x\"}", NULL, FL_E_INVALID },
		{ "one that is no text", "{\"bundle\":1}", NULL, FL_E_INVALID },
		{ "one with a zero in it", "{\"bundle\":\"/a\\u0000b\"}", NULL, FL_E_INVALID },
		{ "one that is not there", "{\"bundle\":\"/nowhere/at/all\"}", NULL, FL_E_NOTFOUND },
		{ "a configuration that is none", NULL, "{", FL_E_INVALID },
		{ "one without a root", NULL, "{\"root\":{}}", FL_E_INVALID },
		{ "the machine's own root", NULL, "{\"root\":{\"path\":\"/\"}}", FL_E_DENIED },
		{ "and by another way", NULL, "{\"root\":{\"path\":\"/proc/../\"}}", FL_E_DENIED },
		{ "a root that is not there", NULL, "{\"root\":{\"path\":\"nowhere\"}}", FL_E_NOTFOUND },
	};

	EACH_ROW (row, said) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		const char *dir = test_dir();
		struct fl_err err = { 0 };

		GOT(io);
		make_bundle(dir, "rootfs");
		if (row->state)
			(void)test_write_file(at(dir, "state"), row->state);
		if (row->config)
			(void)test_write_file(at(dir, "bundle/config.json"), row->config);
		REFUSED(hook(io, dir, LINK, "", &err), row->code);
		CHECK(err.text[0]);
	}
}

/* CVE-2024-0132: what is looked at is not what is worked on. A neighbour swaps the folder for a link to the host as
 * fast as it can. Real time: no torture. */
TEST_ONCE(a_folder_that_is_swapped_all_the_time_leads_nowhere)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir();
	int made = 0;
	pid_t pid;

	GOT(io);
	make_bundle(dir, "rootfs");
	make_files(dir, "usr/lib64 /\nusr/evil > @/outside\n");
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		char a[600], b[600];

		(void)snprintf(a, sizeof a, "%s/bundle/rootfs/usr/lib64", dir);
		(void)snprintf(b, sizeof b, "%s/bundle/rootfs/usr/evil", dir);
		for (;;)
			(void)renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
	}
	for (int i = 0; i < 3000; i++) {
		struct fl_err err = { 0 };

		made += hook(io, dir, LINK, "/usr/lib64", &err) == 0;
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	CHECK(is_empty(dir, "outside"));
	CHECK(made > 0);   /* or nothing was tried */
}

/* A volume at the folder: the host's files are behind it. Needs mounts of its own, so it is a child. */
TEST_ONCE(nothing_is_written_on_a_volume)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir();
	int status = 0;
	pid_t pid;

	GOT(io);
	make_bundle(dir, "rootfs");
	make_files(dir, "usr/lib64 /\n");
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		struct fl_err err = { 0 };
		char from[600], to[600];

		(void)snprintf(from, sizeof from, "%s/outside", dir);
		(void)snprintf(to, sizeof to, "%s/bundle/rootfs/usr/lib64", dir);
		if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount(from, to, NULL, MS_BIND, NULL) < 0)
			_exit(77);
		_exit(hook(io, dir, LINK, "", &err) == -FL_E_DENIED && strstr(err.text, "on a mount of its own") ? 0
		      : 1);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("no mounts can be made here");
	CHECK_INT(status, 0);
	CHECK(is_empty(dir, "outside"));
}
