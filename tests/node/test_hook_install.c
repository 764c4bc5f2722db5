/* The hook's program on a host: written when it is not there as it should be, and never over somebody else's file. This
 * test carries it, as `fairlead` does. */
#include "node/host/hook_install.h"
#include "io/posix.h"
#include "node/host/host.h"
#include "test.h"
#include "test_io.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SELF "/proc/self/exe"

static const char *path_of(const char *dir)
{
	return test_path(dir, "state/bin/fairlead-cdi-hook");
}

static int install(struct fl_io *io, const char *source, const char *path, struct fl_err *err)
{
	struct fl_hook_known known = { 0 };

	return fl_hook_install(fl_io_fs(io), source, path, &known, err);
}

static bool is_program(const char *path)
{
	char command[700];
	struct stat stat = { 0 };

	(void)snprintf(command, sizeof command, "%s cdi-hook --help | grep -q 'container runtime'", path);
	return lstat(path, &stat) == 0 && S_ISREG(stat.st_mode) && (stat.st_mode & 07777) == 0755 &&
	       system(command) == 0;
}

static bool folder_has(const char *dir, unsigned want)
{
	char command[700];

	(void)snprintf(command, sizeof command, "[ $(ls -A %s/state/bin | wc -l) = %u ]", dir, want);
	return system(command) == 0;
}

/* Starts programs: no torture; below is what fails on the way. */
TEST_ONCE(it_is_written_where_there_is_none_and_then_left_alone)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir();
	struct stat before = { 0 }, after = { 0 };
	struct fl_err err = { 0 };

	OK_ERR(install(io, SELF, path_of(dir), &err), &err);
	CHECK(is_program(path_of(dir)));
	CHECK(folder_has(dir, 1));
	CHECK(stat(path_of(dir), &before) == 0);
	OK_ERR(install(io, SELF, path_of(dir), &err), &err);
	CHECK(stat(path_of(dir), &after) == 0 && before.st_ino == after.st_ino);
	CHECK_INT(test_io_open_fds(io), 0);
}

TEST_ONCE(one_of_ours_that_was_changed_is_replaced)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir();
	struct fl_err err = { 0 };
	FILE *file;
	bool written;

	OK_ERR(install(io, SELF, path_of(dir), &err), &err);
	file = fopen(path_of(dir), "ae");
	GOT(file);
	written = fputs("more", file) >= 0;
	CHECK(fclose(file) == 0 && written);
	OK_ERR(install(io, SELF, path_of(dir), &err), &err);
	CHECK(is_program(path_of(dir)));
	CHECK(chmod(path_of(dir), 0600) == 0);
	OK_ERR(install(io, SELF, path_of(dir), &err), &err);
	CHECK(is_program(path_of(dir)));
}

static unsigned reads;

static int64_t counted_pread(const struct fl_fs *fs, int fd, void *bytes, size_t len, uint64_t at)
{
	(void)fs;
	reads++;
	return fl_posix_fs.pread(&fl_posix_fs, fd, bytes, len, at);
}

static unsigned reads_of_a_look(const char *path, struct fl_hook_known *known)
{
	struct fl_fs fs = fl_posix_fs;
	struct fl_err err = { 0 };

	fs.pread = counted_pread;
	reads = 0;
	return fl_hook_install(&fs, SELF, path, known, &err) == 0 ? reads : UINT_MAX;
}

/* As long as its stat is the same and older than a tick: what changes it then changes that too. */
TEST_ONCE(one_that_is_known_is_not_read_again)
{
	const char *path = path_of(test_dir());
	struct fl_hook_known known = { .now = INT64_MAX };
	struct stat before = { 0 }, after = { 0 };
	unsigned whole, of_known;
	int fd;

	CHECK(reads_of_a_look(path, &known) != UINT_MAX);   /* writes it */
	whole = reads_of_a_look(path, &known);
	of_known = reads_of_a_look(path, &known);
	CHECK(whole != UINT_MAX && whole > of_known + 16);
	CHECK(stat(path, &before) == 0);
	known.now = before.st_ctim.tv_sec * (int64_t)FL_NS_PER_S;   /* a change within this tick would not show */
	CHECK_INT(reads_of_a_look(path, &known), of_known);
	CHECK_INT(reads_of_a_look(path, &known), whole);
	known.now = INT64_MAX;
	CHECK_INT(reads_of_a_look(path, &known), whole);
	/* The same size, and the old time stamps as far as one can set them. */
	fd = open(path, O_WRONLY | O_CLOEXEC);
	CHECK(fd >= 0 && pwrite(fd, "X", 1, 4096) == 1);
	CHECK(futimens(fd, (const struct timespec[]){ before.st_atim, before.st_mtim }) == 0 && close(fd) == 0);
	(void)reads_of_a_look(path, &known);
	CHECK(stat(path, &after) == 0 && after.st_ino != before.st_ino);
	CHECK(is_program(path));
}

TEST(anybody_elses_file_is_left_as_it_is)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *path = test_path(test_dir(), "nvidia-ctk");
	struct fl_err err = { 0 };

	GOT(io);
	(void)test_write_file(path, "#!/bin/sh\n");
	REFUSED(install(io, SELF, path, &err), FL_E_EXISTS);
	CHECK(strstr(err.text, "is not Fairlead's hook") && strstr(err.text, "--cdi-hook-path"));
	CHECK_STR(test_read_file(path), "#!/bin/sh\n");
}

TEST(a_program_that_carries_none_says_so)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir();
	struct fl_err err = { 0 };

	GOT(io);
	(void)test_write_file(test_path(dir, "text"), "x");
	REFUSED(install(io, test_path(dir, "text"), path_of(dir), &err), FL_E_UNSUPPORTED);
	CHECK(access(path_of(dir), F_OK) < 0);
}

static int64_t no_room(const struct fl_fs *fs, int fd, const void *bytes, size_t len)
{
	(void)fs;
	(void)fd;
	(void)bytes;
	(void)len;
	return -ENOSPC;
}

static int no_room_for_a_folder(const struct fl_fs *fs, int dir, const char *path, unsigned mode)
{
	(void)fs;
	(void)dir;
	(void)path;
	(void)mode;
	return -EDQUOT;
}

/* Another path would be the wrong remedy: the hook would be as far from the state as from the room. */
TEST_ONCE(a_full_disk_has_its_own_remedy)
{
	const char *dir = test_dir();
	struct fl_fs full = fl_posix_fs;
	struct fl_hook_known known = { 0 };
	struct fl_err err = { 0 };

	full.mkdir = no_room_for_a_folder;
	CHECK(fl_hook_install(&full, SELF, path_of(dir), &known, &err) < 0);
	CHECK(strstr(err.text, "make room") && strstr(err.text, "Disk quota exceeded"));
	CHECK(!strstr(err.text, "name a path"));
	full.mkdir = fl_posix_fs.mkdir;
	full.write = no_room;
	CHECK(fl_hook_install(&full, SELF, path_of(dir), &known, &err) < 0);
	CHECK(strstr(err.text, "make room") && strstr(err.text, "No space left on device"));
	CHECK(folder_has(dir, 0));
}

static int on_noexec(const char *dir)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct fl_err err = { 0 };

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", dir, "tmpfs", MS_NOEXEC, NULL) < 0)
		return 77;
	return install(io, SELF, path_of(dir), &err) == -FL_E_DENIED && strstr(err.text, "noexec") &&
			       strstr(err.text, "--cdi-hook-path")
		       ? 0
		       : 1;
}

TEST_ONCE(row_36_a_mount_without_execution_is_refused_with_the_remedy)
{
	const char *dir = test_dir();
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(on_noexec(dir));
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		SKIP("no mounts can be made here");
	CHECK_INT(WEXITSTATUS(status), 0);
}

/* A directory in the temporary file's place. */
TEST_ONCE(what_fails_on_the_way_leaves_the_old_program_whole)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	const char *dir = test_dir();
	struct fl_err err = { 0 };

	OK_ERR(install(io, SELF, path_of(dir), &err), &err);
	CHECK(chmod(path_of(dir), 0700) == 0);   /* to be replaced */
	CHECK(mkdir(test_path(dir, "state/bin/.fairlead-cdi-hook.tmp"), 0700) == 0);
	CHECK(install(io, SELF, path_of(dir), &err) < 0);
	CHECK(strstr(err.text, "write the hook's program"));
	CHECK(rmdir(test_path(dir, "state/bin/.fairlead-cdi-hook.tmp")) == 0);
	CHECK(chmod(path_of(dir), 0755) == 0 && is_program(path_of(dir)));
}

/* While the driver is asked. */
TEST_ONCE(it_is_written_ahead_of_the_look_that_needs_it)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct fl_host_sink sink = { .io = io, .source = SELF };
	const char *dir = test_dir();
	struct fl_err err = { 0 };

	GOT(io);
	fl_host_hook_early(&sink, fl_str(path_of(dir)));
	CHECK(access(path_of(dir), F_OK) < 0 && fl_op_busy(&sink.early));   /* not on the loop */
	while (fl_op_busy(&sink.early))
		OK_ERR(fl_io_turn(io, FL_NEVER, &err), &err);
	CHECK(is_program(path_of(dir)));
	CHECK_STR(fl_str(sink.early_hook), path_of(dir));

	/* Where it cannot be written the look tries again, and tells. */
	sink.early_hook[0] = '\0';
	fl_host_hook_early(&sink, FL_S("/proc/none/hook"));
	while (fl_op_busy(&sink.early))
		OK_ERR(fl_io_turn(io, FL_NEVER, &err), &err);
	CHECK_STR(fl_str(sink.early_hook), "");
	fl_host_stop(&sink);
}
