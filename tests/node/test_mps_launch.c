/* `fairlead mps` among files and processes that a Pod could have made. */
#include "node/mps/launch.h"
#include "io/posix.h"
#include "test.h"
#include "test_io.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a directory of MPS, and a file system that notes what is opened in it ---- */

struct place {
	struct fl_fs fs;
	const struct fl_fs *real;
	struct fl_io *io;
	bool opened;                   /* what is neither a file nor a directory */
	bool memory;                   /* of a process, which may keep whoever reads it waiting for ever */
	char mps[120], pipe[160], pid_file[200], remembered[160], program[160], other[160];
	int hold[2];                   /* processes end when it is closed */
	pid_t child, pid;              /* the child that was forked, and the process in question */
};

static int note_open(const struct fl_fs *fs, int dir, const char *path, int flags, unsigned mode)
{
	struct place *p = (struct place *)fl_container(fs, const struct place, fs);
	int fd = p->real->open(p->real, dir, path, flags | O_NONBLOCK, mode);
	struct fl_str name = fl_str(path);
	struct stat is;

	p->memory |= fl_str_ends(name, FL_S("/environ")) || fl_str_ends(name, FL_S("/cmdline"));
	p->opened |= fd >= 0 && !(flags & O_PATH) && fstat(fd, &is) == 0 && !S_ISREG(is.st_mode) &&
		     !S_ISDIR(is.st_mode);
	return fd;
}

static bool place_up(struct place *p)
{
	const char *dir = test_dir();
	char command[900];

	p->io = fl_posix_new(NULL);
	if (!p->io || pipe2(p->hold, O_CLOEXEC) < 0)
		return false;
	p->real = fl_io_fs(p->io);
	p->fs = *p->real;
	p->fs.open = note_open;
	(void)snprintf(p->mps, sizeof p->mps, "%s/mps", dir);
	(void)snprintf(p->pipe, sizeof p->pipe, "%s/nvidia.com/gpu/pipe", p->mps);
	(void)snprintf(p->pid_file, sizeof p->pid_file, "%s/" FL_MPS_PROGRAM ".pid", p->pipe);
	(void)snprintf(p->remembered, sizeof p->remembered, "%s/nvidia.com/gpu/.daemon", p->mps);
	(void)snprintf(p->program, sizeof p->program, "%s/driver/" FL_MPS_PROGRAM, dir);
	(void)snprintf(p->other, sizeof p->other, "%s/image/" FL_MPS_PROGRAM, dir);
	(void)snprintf(command, sizeof command, "mkdir -p %s %s/driver %s/image && cp /bin/sh %s && cp /bin/sh %s",
		       p->pipe, dir, dir, p->program, p->other);
	return system(command) == 0;
}

static void place_auto_(struct place *p)
{
	if (p->hold[1])
		(void)close(p->hold[1]);
	if (p->hold[0])
		(void)close(p->hold[0]);
	if (p->child > 0)
		(void)waitpid(p->child, NULL, 0);
	fl_io_free(p->io);
}

static int launch(struct place *p, const char *what, struct fl_buf *out, struct fl_err *err)
{
	const struct fl_mps_launch how = { .what = fl_str(what), .root = p->mps, .resource = "nvidia.com/gpu",
					   .program = p->program, .proc = "/proc" };

	return fl_mps_launch(&p->fs, &how, out, err);
}

/* ---- what lies where the pid file was ---- */

static const struct {
	const char *says, *before, *after;     /* of its path, in a command */
} planted[] = {
	{ "a pipe", "mkfifo", "" },
	{ "a device", "mknod", "c 1 5" },
	{ "a link to a device", "ln -s /dev/zero", "" },
	{ "a link to a file", "ln -s /proc/1/stat", "" },
	{ "a directory", "mkdir", "" },
	{ "a file that does not end soon", "truncate -s 1G", "" },
};

TEST_ONCE(mps_only_a_file_is_read_for_the_pid_of_a_daemon)
{
	if (geteuid() != 0)
		SKIP("device nodes cannot be made here");
	EACH_ROW (row, planted) {
		FL_AUTO(place) struct place p = { 0 };
		FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(8 * FL_KIB);
		struct fl_err err = { 0 };
		char command[400];

		CHECK(place_up(&p));
		(void)snprintf(command, sizeof command, "%s %s %s", row->before, p.pid_file, row->after);
		CHECK(system(command) == 0);
		OK_ERR(launch(&p, "find", &out, &err), &err);
		CHECK_INT(out.len, 0);
		CHECK(!p.opened);
	}
}

/* ---- processes ---- */

enum { BY_FILE = 1, REMEMBERED = 2, REMEMBERED_BEFORE = 4, OTHER_FILE = 8, CLIENT = 16, CONTAINER = 32, NOT_PIPE = 64 };

static const struct {
	const char *says;
	int how;
	bool found;
} processes[] = {
	{ "a daemon, by its pid file", BY_FILE, true },
	{ "a daemon that we have written down, whatever was done to its pid file", REMEMBERED, true },
	{ "a daemon that nothing names", 0, true },
	{ "a daemon whose program was replaced since we have written it down", REMEMBERED | OTHER_FILE, true },
	{ "a process that has the pid of a daemon that has ended", BY_FILE | REMEMBERED_BEFORE | OTHER_FILE, false },
	{ "another program of that name", BY_FILE | OTHER_FILE, false },
	{ "the driver's program in a container", BY_FILE | CONTAINER, false },
	{ "a client of the daemon", BY_FILE | CLIENT, false },
	{ "a daemon of another directory", BY_FILE | NOT_PIPE, false },
};

__attribute__((noreturn)) static void be_process(const struct place *p, int how, int tell)
{
	const char *file = how & OTHER_FILE ? p->other : p->program;
	const char *const argv[] = { file, "-c", "read line", how & CLIENT ? NULL : "-d", NULL };
	char directory[200];
	const char *const env[] = { directory, NULL };
	pid_t pid = getpid();

	(void)snprintf(directory, sizeof directory, "CUDA_MPS_PIPE_DIRECTORY=%s%s", p->pipe, how & NOT_PIPE ? "2" : "");
	if (how & CONTAINER && unshare(CLONE_NEWPID) == 0)
		pid = fork();
	if (pid == getpid() || pid == 0) {
		(void)close(p->hold[1]);
		(void)dup2(p->hold[0], 0);
		(void)execve(file, (char *const *)argv, (char *const *)env);
		_exit(127);
	}
	(void)close(p->hold[1]);
	(void)!write(tell, &pid, sizeof pid);
	(void)close(tell);
	(void)waitpid(pid, NULL, 0);
	_exit(0);
}

/* It runs the program when nobody has this pipe any more. */
static bool process_up(struct place *p, int how)
{
	int tell[2];
	bool told;
	char more;

	if (pipe2(tell, O_CLOEXEC) < 0)
		return false;
	p->child = fork();
	if (p->child == 0)
		be_process(p, how, tell[1]);
	(void)close(tell[1]);
	p->pid = p->child;
	told = p->child > 0 && (!(how & CONTAINER) || read(tell[0], &p->pid, sizeof p->pid) == sizeof p->pid);
	told = told && read(tell[0], &more, 1) == 0;
	(void)close(tell[0]);
	return told;
}

static bool name_process(const struct place *p, int how)
{
	char path[60], text[100], stat[1024] = "";
	FILE *file;
	long long start;

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)p->pid);
	file = fopen(path, "r");
	if (!file || !fgets(stat, sizeof stat, file) || fclose(file) != 0)
		return false;
	start = fl_mps_start_time(fl_str(stat));
	(void)snprintf(text, sizeof text, "%d\n", how & BY_FILE ? (int)p->pid : 1);
	if (start <= 0 || !test_write_file(p->pid_file, text))
		return false;
	(void)snprintf(text, sizeof text, "%d %lld\n", (int)p->pid, start - (how & REMEMBERED_BEFORE ? 1 : 0));
	return !(how & (REMEMBERED | REMEMBERED_BEFORE)) || test_write_file(p->remembered, text);
}

TEST_ONCE(mps_what_is_taken_for_the_daemon)
{
	if (geteuid() != 0)
		SKIP("a PID namespace cannot be made here");
	EACH_ROW (row, processes) {
		FL_AUTO(place) struct place p = { 0 };
		FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(8 * FL_KIB);
		struct fl_err err = { 0 };
		struct fl_str rest, line;
		char pid[20];

		CHECK(place_up(&p) && process_up(&p, row->how) && name_process(&p, row->how));
		OK_ERR(launch(&p, "find", &out, &err), &err);
		(void)snprintf(pid, sizeof pid, "%d ", (int)p.pid);
		CHECK_INT(fl_str_starts(fl_buf_view(&out), fl_str(pid)), row->found);
		CHECK_INT(out.len > 0, row->found);
		/* It was started by this test, which gives it no cgroup of its own. */
		rest = fl_buf_view(&out);
		CHECK(!row->found || (fl_str_split(&rest, '\n', &line) && fl_str_ends(line, FL_S(" " FL_MPS_INSIDE))));
		CHECK(row->found || row->how & (CLIENT | NOT_PIPE) || !p.memory);
		CHECK_INT(launch(&p, "clean", &out, &err), row->found ? -FL_E_RETRY : 0);
	}
}

static const struct {
	const char *says, *stat;
	int64_t start;
} starts[] = {
	{ "the 22nd field", "7 (a) S 1 7 7 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 12345 9 9", 12345 },
	{ "names have blanks and parentheses", "7 (a) 1 (b)) S 1 7 7 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 12345 9", 12345 },
	{ "it may be the last one", "7 (a) S 1 7 7 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 12345", 12345 },
	{ "too few of them", "7 (a) S 1 7 7 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0", 0 },
	{ "no name", "7", 0 },
	{ "nothing behind the name", "7 (a)", 0 },
	{ "nothing", "", 0 },
	{ "no number", "7 (a) S 1 7 7 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 x 9", 0 },
};

TEST(mps_start_time_of_a_process)
{
	EACH_ROW (row, starts)
		CHECK_INT(fl_mps_start_time(fl_str(row->stat)), row->start);
}
