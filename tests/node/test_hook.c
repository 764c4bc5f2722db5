/* The hook in containers of every kind, those among them that want out. What is outside must stay as it was. */
#include "base/units.h"
#include "hook_bundle.h"
#include "test.h"
#include "test_io.h"
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIB "libcuda.so.5"

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
	{ "a folder in its place does not", "usr/lib64/libcuda.so.1/x\n", LINK, "", FL_OK, "usr/lib64/libcuda.so.1",
	  "folder" },
	{ "links of the image are followed inside", "lib64x /\nusr/lib64 > ../lib64x\n", LINK, "", FL_OK,
	  "lib64x/libcuda.so.1", "> " LIB },
	{ "absolute ones too", "lib64x /\nusr/lib64 > /lib64x\n", LINK, "", FL_OK, "lib64x/libcuda.so.1", "> " LIB },
	/* CVE-2025-23359, CVE-2024-0132: a link that leads out. */
	{ "a link to a folder of the host leads nowhere", "usr/lib64 > @/outside\n", LINK, "", FL_OK,
	  "usr/lib64/libcuda.so.1", "nothing" },
	{ "nor does one that climbs",
	  "usr/lib64 > ../../../outside\n", LINK, "", FL_OK, "usr/lib64/libcuda.so.1",
	  "nothing" },
	{ "nor one above the folder", "usr > ../../outside\n", LINK, "", FL_OK, "usr/lib64", "nothing" },
	{ "nor one in the link's own place: it is replaced, not followed",
	  "usr/lib64/libcuda.so.1 > @/outside\n", LINK, "",
	  FL_OK, "usr/lib64/libcuda.so.1", "> " LIB },
	{ "nor one where it is made for a moment",
	  "usr/lib64/libcuda.so.1\nusr/lib64/.libcuda.so.1.fairlead > @/outside/x\n", LINK, "", FL_OK,
	  "usr/lib64/libcuda.so.1", "> " LIB },
	{ "a link that leads to itself leads nowhere", "usr/lib64 > lib64\n", LINK, "", FL_OK, "usr/lib64/x",
	  "nothing" },
	{ "a file where the folder should be", "usr/lib64\n", LINK, "", FL_OK, "usr/lib64", "file" },
	{ "a text with steps up stays inside", "", "../libnvidia-allocator.so.1::/usr/lib64/gbm/nvidia-drm_gbm.so", "",
	  FL_OK, "usr/lib64/gbm/nvidia-drm_gbm.so", "> ../libnvidia-allocator.so.1" },
	{ "a link of a device", "", "../card1::/dev/dri/by-path/pci-0000:07:00.0-card", "", FL_OK,
	  "dev/dri/by-path/pci-0000:07:00.0-card", "> ../card1" },
	{ "one with more steps up than it lies deep is refused", "", "../../../" LIB "::/usr/lib64/libcuda.so.1", "",
	  FL_E_INVALID, "usr", "nothing" },
	{ "so is one with a step up in the middle", "", "a/../../" LIB "::/usr/lib64/libcuda.so.1", "", FL_E_INVALID,
	  "usr", "nothing" },
	{ "and one that is a step up alone", "", "..::/usr/lib64/libcuda.so.1", "", FL_E_INVALID, "usr", "nothing" },
	{ "an absolute text is refused", "", "/etc/shadow::/usr/lib64/libcuda.so.1", "", FL_E_INVALID, "usr",
	  "nothing" },
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
					    "a stub that the image brings goes", "a text with steps up stays inside" };

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

	EACH_ROW_ALONE (row, said) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		const char *dir = test_dir();
		struct fl_err err = { 0 };

		GOT(io);
		make_bundle(dir, "rootfs");
		if (row->state)
			(void)test_write_file(hook_at(dir, "state"), row->state);
		if (row->config)
			(void)test_write_file(hook_at(dir, "bundle/config.json"), row->config);
		REFUSED(hook(io, dir, LINK, "", &err), row->code);
		CHECK(err.text[0]);
	}
}

/* CRI-O puts all annotations of the Pod into the state, and once more as JSON in JSON.
 * Thousands of reads: no torture. */
TEST_ONCE(a_state_with_all_annotations_a_pod_may_have_is_read)
{
	static const struct {
		const char *says;
		size_t annotation;
		enum fl_code code;
	} states[] = {
		{ "twice 256 KiB", 600 * FL_KIB, FL_OK },
		{ "more than any runtime writes", FL_HOOK_STATE_MAX, FL_E_TOOBIG },
	};

	EACH_ROW (row, states) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		const char *dir = test_dir();
		struct fl_err err = { 0 };
		bool written;
		FILE *file;
		int r;

		GOT(io);
		make_bundle(dir, "rootfs");
		file = fopen(hook_at(dir, "state"), "we");
		written = file && fprintf(file, "{\"annotations\":{\"x\":\"%0*d\"},", (int)row->annotation, 0) > 0 &&
			  fprintf(file, "\"bundle\":\"%s/bundle\"}", dir) > 0;
		CHECK(file && fclose(file) == 0 && written);
		r = hook(io, dir, LINK, "", &err);
		if (test_tortured())
			return;
		CHECK_INT(-r, row->code);
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
		_exit(hook(io, dir, LINK, "", &err) == 0 && strstr(hook_warned, "on a mount of its own") ? 0 : 1);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("no mounts can be made here");
	CHECK_INT(status, 0);
	CHECK(is_empty(dir, "outside"));
}

/* ---- the driver's application profile ---- */

#define PROFILES "bundle/rootfs/etc/nvidia/nvidia-application-profiles-rc.d"
#define PROFILE PROFILES "/10-container.conf"
#define MASK(mask) \
	"{\"profiles\":[{\"name\":\"container\",\"settings\":[\"EGLVisibleDGPUDevices\"," mask "]}]," \
	"\"rules\":[{\"pattern\":[],\"profile\":\"container\"}]}\n"

/* "nvidia0=195:0" a device node, "nvidia1" a file, parted by blanks. */
static bool make_dev(const char *dir, const char *nodes)
{
	struct fl_str rest = fl_str(nodes), node;

	(void)mkdir(hook_at(dir, "bundle/rootfs/dev"), 0755);
	while (nodes[0] && fl_str_split(&rest, ' ', &node)) {
		unsigned major = 0, minor = 0;
		char path[200], name[64], *numbers;

		(void)snprintf(name, sizeof name, "%.*s", FL_ARG(node));
		numbers = strchr(name, '=');
		if (numbers) {
			*numbers++ = '\0';
			major = (unsigned)strtoul(numbers, &numbers, 10);
			minor = (unsigned)strtoul(numbers + 1, NULL, 10);
		}
		(void)snprintf(path, sizeof path, "bundle/rootfs/dev/%s", name);
		(void)unlink(hook_at(dir, path));
		if (mknod(hook_at(dir, path), major ? S_IFCHR | 0666 : S_IFREG | 0666, makedev(major, minor)) < 0)
			return false;
	}
	return true;
}

static bool reads(const char *path, char *text, size_t room)
{
	FILE *file = fopen(path, "re");
	size_t n;

	if (!file)
		return false;
	n = fread(text, 1, room - 1, file);
	text[n] = '\0';
	(void)fclose(file);
	return true;
}

#define LONG "0123456789012345678901234567890123456789012345678"

TEST(a_profile_names_the_gpus_of_the_container)
{
	static const struct {
		const char *says, *nodes, *files, *want, *warned;   /* want NULL: there is no file */
	} profiles[] = {
		{ "one GPU", "nvidia0=195:0 nvidiactl=195:255 nvidia-uvm=511:0", "", MASK("0x1"), "" },
		{ "two of them, by their minor numbers", "nvidia1=195:1 nvidia9=195:9", "", MASK("0x202"), "" },
		{ "the last one that fits", "nvidia63=195:63", "", MASK("0x8000000000000000"), "" },
		{ "one beyond is told", "nvidia2=195:2 nvidia64=195:64", "", MASK("0x4"), "above 63" },
		{ "where all are beyond, none is listed", "nvidia64=195:64", "", MASK("0x0"), "above 63" },
		{ "no GPU, no profile", "nvidiactl=195:255 null=1:3", "", NULL, "" },
		{ "a file is no GPU", "nvidia0", "", NULL, "" },
		{ "what the image has in its place goes", "nvidia0=195:0",
		  "etc/nvidia/nvidia-application-profiles-rc.d/10-container.conf\n", MASK("0x1"), "" },
		{ "a folder that leads out of the container leads nowhere", "nvidia0=195:0", "etc/nvidia > @/outside\n",
		  NULL, "left out" },
		{ "a link to what no file may be called", "nvidia0=195:0",
		  "etc/nvidia > " LONG LONG LONG LONG LONG LONG "\n", NULL, "left out" },
	};

	EACH_ROW (row, profiles) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		const char *dir = test_dir();
		struct fl_err err = { 0 };
		char text[400] = "";

		GOT(io);
		make_bundle(dir, "rootfs");
		if (!make_dev(dir, row->nodes))
			SKIP("device nodes cannot be made here");
		make_files(dir, row->files);
		OK_ERR(run_hook(io, dir, (struct fl_hook){ .profile = true }, &err), &err);
		CHECK(is_empty(dir, "outside"));
		if (test_tortured())
			return;
		if (row->want) {
			CHECK(reads(hook_at(dir, PROFILE), text, sizeof text));
			CHECK_STR(fl_str(text), row->want);
		} else {
			CHECK(access(hook_at(dir, PROFILES), F_OK) < 0);
		}
		CHECK(strstr(hook_warned, row->warned) && (row->warned[0] || !hook_warned[0]));
	}
}
