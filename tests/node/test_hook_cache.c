/* What the hook writes for a container's loader, and over /proc: the linker's cache, cuda-compat, the parameters. */
#include "hook_bundle.h"
#include "io/posix.h"
#include "node/host/ld_cache.h"
#include "test.h"
#include "test_io.h"
#include <elf.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the linker's cache ---- */

/* An ELF file with a soname and perhaps a note of NVIDIA's, by hand: of this machine when `machine` is 0. */
static size_t make_library(uint8_t *to, const char *soname, const char *note, unsigned machine)
{
	static const char names[] = "\0.shstrtab\0.note.cuda.fwd_compatibility";
	Elf64_Ehdr *head = (Elf64_Ehdr *)(void *)to;
	Elf64_Phdr *load = (Elf64_Phdr *)(void *)(to + 64);
	Elf64_Dyn *dynamic = (Elf64_Dyn *)(void *)(to + 256);
	Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(to + 1024);
	Elf64_Nhdr *text = (Elf64_Nhdr *)(void *)(to + 1536);

	memset(to, 0, 4096);
	memcpy(head->e_ident, "\177ELF\2\1\1", 7);
	head->e_type = ET_DYN;
#if defined(__aarch64__)
	head->e_machine = machine ? (Elf64_Half)machine : EM_AARCH64;
#else
	head->e_machine = machine ? (Elf64_Half)machine : EM_X86_64;
#endif
	head->e_phoff = 64;
	head->e_phentsize = sizeof *load;
	head->e_phnum = 2;
	load[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_filesz = 4096, .p_memsz = 4096, .p_vaddr = 0x10000 };
	load[1] = (Elf64_Phdr){ .p_type = PT_DYNAMIC, .p_offset = 256, .p_filesz = 4 * sizeof *dynamic };
	dynamic[0] = (Elf64_Dyn){ .d_tag = DT_STRTAB, .d_un.d_ptr = 0x10000 + 512 };
	dynamic[1] = (Elf64_Dyn){ .d_tag = DT_STRSZ, .d_un.d_val = 200 };
	dynamic[2] = (Elf64_Dyn){ .d_tag = DT_SONAME, .d_un.d_val = 1 };
	(void)snprintf((char *)to + 513, 199, "%s", soname);
	if (!note)
		return 4096;
	head->e_shoff = 1024;
	head->e_shentsize = sizeof *sections;
	head->e_shnum = 3;
	head->e_shstrndx = 1;
	sections[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = 768, .sh_size = sizeof names };
	memcpy(to + 768, names, sizeof names);
	sections[2] = (Elf64_Shdr){ .sh_name = 11, .sh_type = SHT_NOTE, .sh_offset = 1536, .sh_size = 1024 };
	text->n_namesz = sizeof "NVIDIA Corporation";
	text->n_descsz = (Elf64_Word)strlen(note) + 1;
	memcpy(to + 1548, "NVIDIA Corporation", text->n_namesz);
	memcpy(to + 1568, note, strlen(note));
	return 4096;
}

static bool put_library(const char *dir, const char *path, const char *soname, const char *note, unsigned machine)
{
	static uint8_t bytes[4096];
	size_t len = make_library(bytes, soname, note, machine);
	FILE *file = fopen(hook_at(dir, path), "we");
	bool ok = file && fwrite(bytes, 1, len, file) == len;

	return file && fclose(file) == 0 && ok;
}

/* What the container's cache says of a name: "KEY => VALUE" each, in order; "(none)" without a cache. */
static struct fl_str cache_says(const char *dir, const char *key)
{
	static char bytes[65536], text[600];
	struct fl_buf buf = FL_BUF_IN(text);
	FILE *file = fopen(hook_at(dir, "bundle/rootfs/etc/ld.so.cache"), "re");
	size_t len = file ? fread(bytes, 1, sizeof bytes, file) : 0;
	struct fl_ld_cache cache;
	struct fl_ld_entry entry;

	if (file)
		(void)fclose(file);
	if (!fl_ld_cache_open(&cache, bytes, len))
		return FL_S("(none)");
	while (fl_ld_cache_next(&cache, &entry))
		if (!key[0] || fl_str_eq(entry.key, fl_str(key)))
			fl_buf_printf(&buf, "%.*s=%.*s ", FL_ARG(entry.key), FL_ARG(entry.value));
	return buf.len ? fl_buf_view(&buf) : FL_S("");
}

/* The driver's libraries mounted at D, as the runtime says it. */
static void make_driver(const char *dir, const char *folder, const char *rest)
{
	char text[1200], path[300];

	make_bundle(dir, "rootfs");
	(void)snprintf(text, sizeof text, "{\"root\":{\"path\":\"rootfs\"},\"mounts\":[{\"destination\":\"/proc\"},"
					  "{\"destination\":\"%s/libcuda.so.550.54.15\",\"source\":\"/x\"},"
					  "{\"destination\":\"%s/libnvidia-glcore.so.550.54.15\"},"
					  "{\"destination\":\"%s/lib32.so.1\"},"
					  "{\"destination\":\"/elsewhere/libother.so.1\"}%s]}",
		       folder, folder, folder, rest);
	(void)test_write_file(hook_at(dir, "bundle/config.json"), text);
	(void)snprintf(path, sizeof path, "bundle/rootfs%s/libcuda.so.550.54.15", folder);
	(void)put_library(dir, path, "libcuda.so.1", NULL, 0);
	(void)snprintf(path, sizeof path, "bundle/rootfs%s/libnvidia-glcore.so.550.54.15", folder);
	(void)put_library(dir, path, "libnvidia-glcore.so.550.54.15", NULL, 0);
	(void)snprintf(path, sizeof path, "bundle/rootfs%s/lib32.so.1", folder);
	(void)put_library(dir, path, "lib32.so.1", NULL, EM_386);
	(void)put_library(dir, "bundle/rootfs/elsewhere/libother.so.1", "libother.so.1", NULL, 0);
}

#define DRIVER "/usr/lib64"
#define OURS "libnvidia-glcore.so.550.54.15=" DRIVER "/libnvidia-glcore.so.550.54.15 " \
	"libcuda.so.1=" DRIVER "/libcuda.so.550.54.15 libcuda.so=" DRIVER "/libcuda.so.1 "

static int hook_driver(struct fl_io *io, const char *dir, const char *version, struct fl_err *err)
{
	struct fl_str links[] = { FL_S_INIT("libcuda.so.550.54.15::" DRIVER "/libcuda.so.1"),
				  FL_S_INIT("libcuda.so.1::" DRIVER "/libcuda.so") };
	struct fl_str folders[] = { FL_S_INIT(DRIVER) };

	return run_hook(io, dir, (struct fl_hook){ { links, 2, 2 }, { folders, 1, 1 }, fl_str(version) }, err);
}

TEST(row_24_distroless_gets_a_cache_a_configuration_and_links)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir();
	struct fl_err err = { 0 };
	struct stat stat = { 0 };

	GOT(io);
	make_driver(dir, DRIVER, "");
	OK_ERR(hook_driver(io, dir, "", &err), &err);
	CHECK_INT(test_io_open_fds(io), 0);
	if (test_tortured())
		return;   /* a warning tells what is missing */
	CHECK_STR(cache_says(dir, ""), OURS);
	CHECK_STR(test_read_file(hook_at(dir, "bundle/rootfs/etc/ld.so.conf")), "include /etc/ld.so.conf.d/*.conf\n");
	CHECK_STR(test_read_file(hook_at(dir, "bundle/rootfs/etc/ld.so.conf.d/00-fairlead.conf")), DRIVER "\n");
	CHECK_STR(fl_str(what_is(dir, "bundle/rootfs" DRIVER "/libcuda.so.1")), "> libcuda.so.550.54.15");
	CHECK(lstat(hook_at(dir, "bundle/rootfs/etc/ld.so.cache"), &stat) == 0);
	CHECK_INT(stat.st_mode & 07777, 0644);
}

#define GBM "libnvidia-egl-gbm.so.1"

static const struct {
	const char *says, *link, *file;
} versions[] = {
	{ "of two files of one soname the newest counts, as with ldconfig", "", ".1.10" },
	{ "unless the host's own link has chosen", GBM ".1.2::" DRIVER "/" GBM, ".1.2" },
};

TEST(row_24_a_soname_leads_to_the_file_that_ldconfig_would_take)
{
	EACH_ROW_ALONE (row, versions) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		const char *dir = test_dir();
		struct fl_str links[] = { fl_str(row->link) }, folders[] = { FL_S_INIT(DRIVER) };
		struct fl_err err = { 0 };
		char want[200];

		GOT(io);
		make_driver(dir, DRIVER, ",{\"destination\":\"" DRIVER "/" GBM ".1.2\"},"
					 "{\"destination\":\"" DRIVER "/" GBM ".1.10\"},"
					 "{\"destination\":\"" DRIVER "/" GBM ".1.1\"}");
		CHECK(put_library(dir, "bundle/rootfs" DRIVER "/" GBM ".1.2", GBM, NULL, 0) &&
		      put_library(dir, "bundle/rootfs" DRIVER "/" GBM ".1.10", GBM, NULL, 0) &&
		      put_library(dir, "bundle/rootfs" DRIVER "/" GBM ".1.1", GBM, NULL, 0));
		OK_ERR(run_hook(io, dir, (struct fl_hook){ { links, row->link[0] != '\0', 1 }, { folders, 1, 1 },
							   FL_S("") }, &err), &err);
		if (test_tortured())
			return;
		(void)snprintf(want, sizeof want, GBM "=" DRIVER "/" GBM "%s ", row->file);
		CHECK_STR(cache_says(dir, GBM), want);
	}
}

/* A cache of glibc's own ldconfig over a tree of ours: its entries stay, in its order, ours before equal ones. */
static bool make_image_cache(const char *dir)
{
	char text[900];

	(void)put_library(dir, "bundle/rootfs/opt/image/libimage.so.2", "libimage.so.2", NULL, 0);
	(void)put_library(dir, "bundle/rootfs/opt/image/libcuda.so.1", "libcuda.so.1", NULL, 0);
	(void)test_write_file(hook_at(dir, "bundle/rootfs/etc/ld.so.conf"),
			      "/opt/image\ninclude /etc/ld.so.conf.d/*.conf\n");
	(void)snprintf(text, sizeof text, "/sbin/ldconfig -r %s/bundle/rootfs", dir);
	return system(text) == 0;
}

TEST_ONCE(row_23_entries_of_the_images_cache_stay_and_ours_come_first)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir();
	struct fl_err err = { 0 };

	make_bundle(dir, "rootfs");
	if (!make_image_cache(dir))
		SKIP("there is no ldconfig that makes a cache of another root");
	make_driver(dir, DRIVER, "");
	OK_ERR(hook_driver(io, dir, "", &err), &err);
	CHECK_STR(fl_str(hook_warned), "");
	CHECK_STR(cache_says(dir, "libimage.so.2"), "libimage.so.2=/opt/image/libimage.so.2 ");
	CHECK_STR(cache_says(dir, "libcuda.so.1"),
		  "libcuda.so.1=" DRIVER "/libcuda.so.550.54.15 libcuda.so.1=/opt/image/libcuda.so.1 ");
	/* Once more, as for a container whose root is used again: nothing is there twice. */
	OK_ERR(hook_driver(io, dir, "", &err), &err);
	CHECK_STR(cache_says(dir, "libcuda.so.1"),
		  "libcuda.so.1=" DRIVER "/libcuda.so.550.54.15 libcuda.so.1=/opt/image/libcuda.so.1 ");
}

TEST_ONCE(row_25_an_ldconfig_that_is_run_later_keeps_our_directories)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir();
	struct fl_err err = { 0 };
	char text[900];

	make_driver(dir, "/opt/driver", "");
	{
		struct fl_str folders[] = { FL_S_INIT("/opt/driver") };

		OK_ERR(run_hook(io, dir, (struct fl_hook){ .folders = { folders, 1, 1 } }, &err), &err);
	}
	(void)snprintf(text, sizeof text, "/sbin/ldconfig -r %s/bundle/rootfs", dir);
	if (system(text) != 0)
		SKIP("there is no ldconfig that makes a cache of another root");
	CHECK_STR(cache_says(dir, "libcuda.so.1"), "libcuda.so.1=/opt/driver/libcuda.so.1 ");
}

TEST(row_26_alpine_gets_musls_list_with_its_own_directories_last)
{
	static const struct {
		const char *says, *before, *want;
		bool warned;
	} lists[] = {
		{ "no list of the image's", NULL, DRIVER "\n/lib\n/usr/local/lib\n/usr/lib\n", false },
		{ "one with colons", "/opt/a:/usr/lib\n/opt/b\n",
		  DRIVER "\n/opt/a\n/usr/lib\n/opt/b\n/lib\n/usr/local/lib\n", false },
		{ "one that somebody wrote by hand", "/opt//a/:\n\n/opt/b",
		  DRIVER "\n/opt//a/\n/opt/b\n/lib\n/usr/local/lib\n/usr/lib\n", false },
		{ "what is no absolute path is left out, and that is a warning", "root:$6$x:/opt/a\n/opt/\tb\nlib\n",
		  DRIVER "\n/opt/a\n/lib\n/usr/local/lib\n/usr/lib\n", true },
	};

	EACH_ROW (row, lists) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		const char *dir = test_dir();
		struct fl_err err = { 0 };

		GOT(io);
		make_driver(dir, DRIVER, "");
		(void)test_write_file(hook_at(dir, "bundle/rootfs/etc/alpine-release"), "3.20\n");
		if (row->before)
			(void)test_write_file(hook_at(dir, "bundle/rootfs/etc/ld-musl-x86_64.path"), row->before);
		OK_ERR(hook_driver(io, dir, "", &err), &err);
		if (test_tortured())
			return;
#if defined(__x86_64__)
		CHECK_STR(test_read_file(hook_at(dir, "bundle/rootfs/etc/ld-musl-x86_64.path")), row->want);
		CHECK_INT(strstr(hook_warned, "no absolute path was left out") != NULL, row->warned);
#endif
		CHECK_STR(cache_says(dir, ""), "(none)");
	}
}

/* CVE-2025-23267 and its like: what stands at our names leads to the host. */
/* Each row makes files; of those under torture there is one below. */
TEST_ONCE(row_30_what_leads_to_the_host_is_replaced_or_left_and_the_host_is_untouched)
{
	static const struct {
		const char *says, *files, *cache;
	} images[] = {
		{ "the cache is a link to a file of the host", "etc/ld.so.cache > @/outside/cache\n", OURS },
		{ "the configuration is one", "etc/ld.so.conf > @/outside/conf\n", OURS },
		{ "so is our name in it", "etc/ld.so.conf.d/00-fairlead.conf > @/outside/own\n", OURS },
		{ "and the name it is written under", "etc/.ld.so.cache.fairlead > @/outside/x\n", OURS },
		{ "all of /etc", "etc > @/outside\n", "(none)" },
		{ "/etc, by steps up", "etc > ../../../outside\n", "(none)" },
		{ "the directory of configurations", "etc/ld.so.conf.d > @/outside\n", OURS },
		{ "a cache that is a directory", "etc/ld.so.cache/x\n", "(none)" },
		{ "a cache that is damaged", "etc/ld.so.cache\n", OURS },
	};

	EACH_ROW (row, images) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		const char *dir = test_dir();
		struct fl_err err = { 0 };
		int r;

		GOT(io);
		make_bundle(dir, "rootfs");
		make_files(dir, row->files);
		make_driver(dir, DRIVER, "");
		r = hook_driver(io, dir, "", &err);
		CHECK(is_empty(dir, "outside"));
		CHECK_INT(test_io_open_fds(io), 0);
		if (test_tortured())
			return;
		CHECK_INT(r, 0);
		CHECK_STR(cache_says(dir, ""), row->cache);
	}
}

/* A neighbour that swaps /etc for a link to the host, while the cache is written again and again. */
TEST_ONCE(row_31_an_etc_that_is_swapped_all_the_time_leads_nowhere)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir();
	int made = 0;
	pid_t pid;

	make_driver(dir, DRIVER, "");
	make_files(dir, "etc /\nevil > @/outside\n");
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		char a[600], b[600];

		(void)snprintf(a, sizeof a, "%s/bundle/rootfs/etc", dir);
		(void)snprintf(b, sizeof b, "%s/bundle/rootfs/evil", dir);
		for (;;)
			(void)renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
	}
	for (int i = 0; i < 300; i++) {
		struct fl_err err = { 0 };

		made += hook_driver(io, dir, "", &err) == 0 && !hook_warned[0];
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	CHECK(is_empty(dir, "outside"));
	CHECK(made > 0);
}

/* ---- mounts: in a child with mounts of its own; 77: none can be made here ---- */

static int in_own_mounts(int (*run)(struct fl_io *io, const char *dir), const char *dir)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		struct fl_io *io = test_io();

		if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
			_exit(77);
		_exit(run(io, dir));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static int on_read_only_root(struct fl_io *io, const char *dir)
{
	struct fl_err err = { 0 };
	char path[600];

	(void)snprintf(path, sizeof path, "%s/bundle/rootfs", dir);
	if (mount(path, path, NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, path, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0)
		return 77;
	return hook_driver(io, dir, "", &err) == 0 && strstr(hook_warned, "Read-only file system") ? 0 : 1;
}

TEST_ONCE(row_29_a_read_only_root_is_a_warning_and_the_container_starts)
{
	const char *dir = test_dir();
	int r;

	make_driver(dir, DRIVER, "");
	r = in_own_mounts(on_read_only_root, dir);
	if (r == 77)
		SKIP("no mounts can be made here");
	CHECK_INT(r, 0);
}

static int with_volume_over_etc(struct fl_io *io, const char *dir)
{
	struct fl_err err = { 0 };
	char from[600], to[600];

	(void)snprintf(from, sizeof from, "%s/outside", dir);
	(void)snprintf(to, sizeof to, "%s/bundle/rootfs/etc", dir);
	if (mount(from, to, NULL, MS_BIND, NULL) < 0)
		return 77;
	return hook_driver(io, dir, "", &err) == 0 && strstr(hook_warned, "on a mount of its own") ? 0 : 1;
}

TEST_ONCE(row_31_a_volume_over_etc_is_not_written_to)
{
	const char *dir = test_dir();
	int r;

	make_driver(dir, DRIVER, "");
	make_files(dir, "etc /\n");
	r = in_own_mounts(with_volume_over_etc, dir);
	if (r == 77)
		SKIP("no mounts can be made here");
	CHECK_INT(r, 0);
	CHECK(is_empty(dir, "outside"));
}

/* ---- what the image leads to is read as root, and copied to where everybody reads it ---- */

#if defined(__x86_64__)
#define MUSL_LIST "etc/ld-musl-x86_64.path"
#else
#define MUSL_LIST "etc/ld-musl-aarch64.path"
#endif

/* A volume with a secret in lines of paths, and /proc. */
static int with_secrets(struct fl_io *io, const char *dir)
{
	static const struct {
		const char *says, *files;
	} images[] = {
		{ "the list of musl is a link into a volume", MUSL_LIST " > /host/secret\n" },
		{ "and by a link to the volume", MUSL_LIST " > ../there/secret\nthere > host\n" },
		{ "and into /proc", MUSL_LIST " > /proc/sys/kernel/core_pattern\n" },
		{ "and by a magic link", MUSL_LIST " > /proc/self/cwd/secret\n" },
	};
	char from[600], to[600];

	(void)snprintf(from, sizeof from, "%s/outside", dir);
	(void)snprintf(to, sizeof to, "%s/bundle/rootfs/host", dir);
	if (mount(from, to, NULL, MS_BIND, NULL) < 0)
		return 77;
	(void)snprintf(to, sizeof to, "%s/bundle/rootfs/proc", dir);
	if (mount("/proc", to, NULL, MS_BIND | MS_REC, NULL) < 0 || chdir(from) < 0)
		return 77;
	for (size_t i = 0; i < FL_LEN(images); i++) {
		struct fl_err err = { 0 };

		(void)unlink(hook_at(dir, "bundle/rootfs/" MUSL_LIST));
		make_files(dir, images[i].files);
		if (hook_driver(io, dir, "", &err) != 0 ||
		    !fl_str_eq(test_read_file(hook_at(dir, "bundle/rootfs/" MUSL_LIST)),
			       FL_S(DRIVER "\n/lib\n/usr/local/lib\n/usr/lib\n")))
			return (int)i + 1;
	}
	return 0;
}

TEST_ONCE(what_the_image_leads_to_on_another_mount_is_not_copied)
{
	const char *dir = test_dir();
	int r;

	make_driver(dir, DRIVER, "");
	make_files(dir, "etc/alpine-release\nhost /\nproc /\n");
	(void)test_write_file(hook_at(dir, "outside/secret"), "/this/is/secret\n");
	r = in_own_mounts(with_secrets, dir);
	if (r == 77)
		SKIP("no mounts can be made here");
	CHECK_INT(r, 0);
}

/* What cannot be run from is no place of libraries; /proc and /sys are mounted so. */
static int with_libraries_nobody_can_run(struct fl_io *io, const char *dir)
{
	struct fl_err err = { 0 };
	char path[600];

	(void)snprintf(path, sizeof path, "%s/bundle/rootfs" DRIVER, dir);
	if (mount(path, path, NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, path, NULL, MS_BIND | MS_REMOUNT | MS_NOEXEC, NULL) < 0)
		return 77;
	return hook_driver(io, dir, "", &err) == 0 && fl_str_eq(cache_says(dir, ""), FL_S("(none)")) ? 0 : 1;
}

TEST_ONCE(a_library_on_a_mount_without_programs_is_not_read)
{
	const char *dir = test_dir();
	int r;

	make_driver(dir, DRIVER, "");
	r = in_own_mounts(with_libraries_nobody_can_run, dir);
	if (r == 77)
		SKIP("no mounts can be made here");
	CHECK_INT(r, 0);
}

/* The kernel tells of each opening but those with O_PATH. */
TEST_ONCE(what_is_no_regular_file_is_not_opened)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir();
	struct fl_err err = { 0 };
	struct inotify_event event;
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	make_driver(dir, DRIVER, "");
	CHECK(mkfifo(hook_at(dir, "bundle/rootfs/etc/ld.so.cache"), 0600) == 0);
	CHECK(mkfifo(hook_at(dir, "bundle/rootfs" DRIVER "/libcuda.so.1"), 0600) == 0);
	CHECK(fd >= 0 && inotify_add_watch(fd, hook_at(dir, "bundle/rootfs/etc/ld.so.cache"), IN_OPEN) >= 0 &&
	      inotify_add_watch(fd, hook_at(dir, "bundle/rootfs" DRIVER "/libcuda.so.1"), IN_OPEN) >= 0);
	OK_ERR(run_hook(io, dir,
			(struct fl_hook){ .links = { (struct fl_str[]){ FL_S("libcuda.so.1::" DRIVER "/libcuda.so") },
						     1, 1 },
					  .folders = { (struct fl_str[]){ FL_S(DRIVER) }, 1, 1 } },
			&err), &err);
	for (ssize_t n; (n = read(fd, &event, sizeof event)) > 0;)
		CHECK(!(event.mask & IN_OPEN));
	(void)close(fd);
	CHECK_STR(cache_says(dir, "libcuda.so.1"), "libcuda.so.1=" DRIVER "/libcuda.so.550.54.15 ");
}

/* A neighbour with the same volume: once a library has been looked at, a FIFO lies in its place. */
static const char *library, *fifo;
static int swaps;

static int stat_and_swap(const struct fl_fs *fs, int dir, const char *path, int flags, struct fl_stat *ret)
{
	int r = fl_posix_fs.stat(fs, dir, path, flags, ret);
	struct stat is = { 0 };

	if (r == 0 && stat(library, &is) == 0 && is.st_ino == ret->ino && S_ISREG(is.st_mode))
		swaps += renameat2(AT_FDCWD, library, AT_FDCWD, fifo, RENAME_EXCHANGE) == 0;
	return r;
}

TEST_ONCE(what_takes_the_place_of_a_file_that_was_looked_at_is_not_opened)
{
	const struct fl_hook hook = { .folders = { (struct fl_str[]){ FL_S(DRIVER) }, 1, 1 } };
	const char *dir = test_dir();
	struct fl_fs fs = fl_posix_fs;
	struct fl_err err = { 0 };
	struct inotify_event event;
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	make_driver(dir, DRIVER, "");
	library = strdup(hook_at(dir, "bundle/rootfs" DRIVER "/libcuda.so.550.54.15"));
	fifo = strdup(hook_at(dir, "bundle/rootfs" DRIVER "/fifo"));
	CHECK(library && fifo && mkfifo(fifo, 0600) == 0);
	CHECK(fd >= 0 && inotify_add_watch(fd, fifo, IN_OPEN) >= 0);
	fs.stat = stat_and_swap;
	OK_ERR(run_hook_over(&fs, dir, hook, &err), &err);
	CHECK_INT(swaps, 1);
	CHECK(read(fd, &event, sizeof event) < 0);
	(void)close(fd);
	CHECK_STR(cache_says(dir, "libcuda.so.1"), "libcuda.so.1=" DRIVER "/libcuda.so.550.54.15 ");
	free((char *)library);
	free((char *)fifo);
}

/* ---- what the container's own files forbid does not stop it ---- */

static int with_volume_over_files(struct fl_io *io, const char *dir)
{
	static const char *const files[] = { "etc/ld.so.cache", "etc/ld.so.conf.d/00-fairlead.conf", MUSL_LIST,
					     "usr/lib64/libcuda.so.1" };
	char from[600];

	(void)snprintf(from, sizeof from, "%s/outside/file", dir);
	for (size_t i = 0; i < FL_LEN(files); i++) {
		struct fl_err err = { 0 };
		char path[300];

		(void)snprintf(path, sizeof path, "bundle/rootfs/%s", files[i]);
		(void)unlink(hook_at(dir, path));
		(void)test_write_file(hook_at(dir, path), "");
		if (mount(from, hook_at(dir, path), NULL, MS_BIND, NULL) < 0)
			return 77;
		if (hook_driver(io, dir, "", &err) != 0 || !strstr(hook_warned, "something is mounted on it"))
			return (int)i + 1;
		(void)umount2(hook_at(dir, path), MNT_DETACH);
	}
	return 0;
}

TEST_ONCE(a_volume_over_a_file_is_a_warning_and_the_container_starts)
{
	const char *dir = test_dir();
	int r;

	make_driver(dir, DRIVER, "");
	make_files(dir, "etc/alpine-release\nlib64/ld-linux-x86-64.so.2\nlib/ld-linux-aarch64.so.1\n");
	(void)test_write_file(hook_at(dir, "outside/file"), "the host's");
	r = in_own_mounts(with_volume_over_files, dir);
	if (r == 77)
		SKIP("no mounts can be made here");
	CHECK_INT(r, 0);
	CHECK_STR(test_read_file(hook_at(dir, "outside/file")), "the host's");
}

static int on_full_root(struct fl_io *io, const char *dir)
{
	struct fl_err err = { 0 };
	char path[600];

	(void)snprintf(path, sizeof path, "%s/bundle/rootfs", dir);
	if (mount("none", path, "tmpfs", 0, "size=256k,nr_inodes=64") < 0)
		return 77;
	make_driver(dir, DRIVER, "");
	make_files(dir, "etc /\n");
	for (int i = 0; i < 64; i++) {
		(void)snprintf(path, sizeof path, "bundle/rootfs/full%d", i);
		(void)test_write_file(hook_at(dir, path), "");
	}
	return hook_driver(io, dir, "", &err) == 0 && strstr(hook_warned, "its file system is full") ? 0 : 1;
}

TEST_ONCE(a_full_root_is_a_warning_and_the_container_starts)
{
	const char *dir = test_dir();
	int r;

	make_bundle(dir, "rootfs");
	r = in_own_mounts(on_full_root, dir);
	if (r == 77)
		SKIP("no mounts can be made here");
	CHECK_INT(r, 0);
}

/* openat2 that says EAGAIN for ever, as a kernel does while directories are moved: by a filter of system calls. */
static int with_endless_races(struct fl_io *io, const char *dir)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { FL_LEN(filter), filter };
	struct fl_err err = { 0 };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return 77;
	(void)alarm(20);
	return hook_driver(io, dir, "", &err) == 0 && strstr(hook_warned, "moved all the time") ? 0 : 1;
}

TEST_ONCE(endless_races_end)
{
	const char *dir = test_dir();
	int r;

	make_driver(dir, DRIVER, "");
	r = in_own_mounts(with_endless_races, dir);
	if (r == 77)
		SKIP("no filter of system calls can be set here");
	CHECK_INT(r, 0);
}

/* ---- the driver's parameters ---- */

/* A /proc of the host's with a driver, made of what this kernel has: version is a file that there always is. */
static int with_params(struct fl_io *io, const char *dir)
{
	const struct fl_fs *fs = fl_io_fs(io);
	char path[600], text[200] = "";
	int fd, r;

	(void)snprintf(path, sizeof path, "%s/bundle/rootfs/proc", dir);
	if (mount("proc", path, "proc", 0, NULL) < 0)
		return 77;
	fd = fs->open(fs, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	r = fs->cover(fs, fd, "version", "ModifyDeviceFiles: 0\n", 21);
	fs->close(fs, fd);
	if (r == -EPERM || r == -ENOSYS)
		return 77;
	(void)snprintf(path, sizeof path, "%s/bundle/rootfs/proc/version", dir);
	fd = fs->open(fs, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (r < 0 || fd < 0 || fl_fs_read_all(fs, fd, text, sizeof text) != 21)
		return 1;
	if (fs->open(fs, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0) != -EROFS)
		return 2;
	/* Where the directory was hidden for a moment, all is as it was. */
	(void)snprintf(path, sizeof path, "%s/bundle/rootfs/proc/uptime", dir);
	if (fs->open(fs, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0) < 0)
		return 3;
	/* And not outside of /proc. */
	fd = fs->open(fs, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	return fs->cover(fs, fd, "state", "x", 1) == -EXDEV && memcmp(text, "ModifyDeviceFiles: 0", 20) == 0 ? 0 : 4;
}

TEST_ONCE(row_33_a_file_of_proc_is_covered_by_one_that_nobody_can_write)
{
	const char *dir = test_dir();
	int r;

	make_driver(dir, DRIVER, "");
	(void)mkdir(hook_at(dir, "bundle/rootfs/proc"), 0755);
	r = in_own_mounts(with_params, dir);
	if (r == 77)
		SKIP("nothing can be mounted over /proc here");
	CHECK_INT(r, 0);
}

/* ---- cuda-compat ---- */

#define COMPAT_CONF "bundle/rootfs/etc/ld.so.conf.d/00-compat-fairlead.conf"
#define COMPAT "bundle/rootfs/usr/local/cuda/compat/"

/* Each row makes files; of those under torture there is one below. */
TEST_ONCE(rows_34_35_an_images_newer_cuda_is_used_when_it_says_that_it_can_be)
{
	static const struct {
		const char *says, *file, *other, *note, *host;
		bool newer;
	} images[] = {
		{ "row 34: newer by its major, without a note", "libcuda.so.560.35", NULL, NULL, "550.54.15", true },
		{ "row 34: the same major, without a note", "libcuda.so.550.90", NULL, NULL, "550.54.15", false },
		{ "row 34: older", "libcuda.so.535.1.2", NULL, NULL, "550.54.15", false },
		{ "row 34: two files", "libcuda.so.560.35", "libcuda.so.555.1", NULL, "550.54.15", false },
		{ "a note that names our major, and newer", "libcuda.so.560.35", NULL,
		  "{\"Format\":1,\"Driver\":[535, 550]}",
		  "550.54.15", true },
		{ "a newer one of our major, by the note", "libcuda.so.550.90.1", NULL,
		  "{\"Driver\":[550]}", "550.54.15",
		  true },
		{ "row 35: a note without our major", "libcuda.so.560.35", NULL,
		  "{\"Driver\":[535, 545]}", "550.54.15", false },
		{ "a note that names our major, and older", "libcuda.so.550.9", NULL, "{\"Driver\":[550]}", "550.54.15",
		  false },
		{ "the same", "libcuda.so.550.54.15", NULL, "{\"Driver\":[550]}", "550.54.15", false },
		{ "a note that is damaged", "libcuda.so.560.35", NULL, "{\"Driver\":[55", "550.54.15", false },
		{ "a host whose version is not told", "libcuda.so.560.35", NULL, NULL, "", false },
		{ "a version that is none", "libcuda.so.x.y", NULL, NULL, "550.54.15", false },
	};

	EACH_ROW (row, images) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		const char *dir = test_dir();
		struct fl_err err = { 0 };
		char path[300];

		GOT(io);
		make_driver(dir, DRIVER, "");
		(void)snprintf(path, sizeof path, COMPAT "%s", row->file);
		(void)put_library(dir, path, "libcuda.so.1", row->note, 0);
		if (row->other) {
			(void)snprintf(path, sizeof path, COMPAT "%s", row->other);
			(void)put_library(dir, path, "libcuda.so.1", NULL, 0);
		}
		(void)!symlink(row->file, hook_at(dir, COMPAT "libcuda.so.1"));
		OK_ERR(hook_driver(io, dir, row->host, &err), &err);
		if (test_tortured())
			return;
		if (row->newer) {
			CHECK(strstr(cache_says(dir, "libcuda.so.1").p, "libcuda.so.1=/usr/local/cuda/compat/") ==
			      cache_says(dir, "libcuda.so.1").p);
			CHECK_STR(test_read_file(hook_at(dir, COMPAT_CONF)),
				  "/usr/local/cuda/compat\n");
		} else {
			CHECK_STR(cache_says(dir, "libcuda.so.1"),
				  "libcuda.so.1=" DRIVER "/libcuda.so.550.54.15 ");
			CHECK_STR(fl_str(what_is(dir, COMPAT_CONF)),
				  "nothing");
		}
	}
}

TEST(what_fails_while_cuda_compat_is_looked_at_leaves_the_host_untouched)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir();
	struct fl_err err = { 0 };
	int r;

	GOT(io);
	make_driver(dir, DRIVER, "");
	make_files(dir, "etc/ld.so.cache > @/outside/cache\netc/ld.so.conf.d > @/outside\n");
	(void)put_library(dir, COMPAT "libcuda.so.560.35", "libcuda.so.1", "{\"Driver\":[550]}", 0);
	r = hook_driver(io, dir, "550.54.15", &err);
	CHECK(is_empty(dir, "outside"));
	CHECK_INT(test_io_open_fds(io), 0);
	OK_ERR(r, &err);
}
