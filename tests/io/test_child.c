#include "base/units.h"
#include "io/child.h"
#include "io/signals.h"
#include "test.h"
#include "test_io.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

FL_DEFINE_AUTO(child, struct fl_child *, fl_child_free);

#define SH(script) (const char *const[]){ "sh", "-c", script, NULL }

static int start(struct fl_io *io, const struct fl_spawn *how, struct fl_child **ret, struct fl_err *err)
{
	struct fl_child_start start = { .op.err = err };
	int64_t pid;

	fl_child_start(io, &start, how);
	if (start.child)
		return -FL_E_INVALID;   /* not before done() */
	pid = test_op(io, &start.op);
	*ret = start.child;
	if (pid >= 0 && (!start.child || fl_child_pid(start.child) != (int)pid))
		return -FL_E_INVALID;
	return pid < 0 ? (int)pid : 0;
}

static int wait_for(struct fl_io *io, struct fl_child *child, struct fl_exit *ret)
{
	struct fl_child_wait wait = { 0 };
	int64_t r;

	fl_child_wait(child, &wait);
	r = test_op(io, &wait.op);
	*ret = wait.exit;
	return (int)r;
}

static const struct {
	const char *says, *script;
	struct fl_exit exit;
} exit_rows[] = {
	{ "success", "exit 0", { 0, 0 } },
	{ "a status", "exit 7", { 7, 0 } },
	{ "a signal", "kill -TERM $$", { -1, SIGTERM } },
	{ "signals are as a fresh program has them", "kill -PIPE $$", { -1, SIGPIPE } },
	{ "nothing in the environment", "test -z \"$HOME$PATH_OF_TEST\"", { 0, 0 } },
	{ "it stands at the root", "test \"$(pwd -P)\" = /", { 0, 0 } },
	{ "stdin is empty", "read x; test $? = 1", { 0, 0 } },
	{ "no fd is inherited", "for fd in 3 4 5 6 7 8 9; do test -e /proc/self/fd/$fd && exit 1; done; exit 0",
	  { 0, 0 } },
};

TEST(children_end_and_it_is_told_how)
{
	EACH_ROW (row, exit_rows) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		FL_AUTO(child) struct fl_child *child = NULL;
		struct fl_spawn how = { .path = "/bin/sh", .argv = SH(row->script) };
		struct fl_err err = { 0 };
		struct fl_exit end;

		GOT(io);
		OK_ERR(start(io, &how, &child, &err), &err);
		OK(wait_for(io, child, &end));
		CHECK_INT(end.code, row->exit.code);
		CHECK_INT(end.signo, row->exit.signo);
		OK(wait_for(io, child, &end));   /* told again, as often as asked */
		CHECK_INT(end.code, row->exit.code);
		REFUSED(fl_child_signal(child, SIGTERM, NULL), FL_E_NOTFOUND);
		child = fl_child_free(child);
		CHECK_INT(test_io_open_fds(io), 0);
		CHECK_INT(fl_child_undead(io), 0);
	}
}

TEST(environment_directory_and_session_are_as_given)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(child) struct fl_child *child = NULL;
	struct fl_spawn how = {
		.path = "/bin/sh", .argv = SH("test \"$A\" = 1 && test \"$(pwd -P)\" = /tmp && "
					      "test $(cut -d' ' -f6 /proc/$$/stat) = $$"),
		.env = (const char *const[]){ "A=1", "PATH=/bin:/usr/bin", NULL }, .dir = "/tmp", .session = true,
	};
	struct fl_exit end;

	GOT(io);
	OK(start(io, &how, &child, NULL));
	OK(wait_for(io, child, &end));
	CHECK_INT(end.code, 0);
}

TEST(fds_arrive_under_their_numbers_and_wait)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(child) struct fl_child *child = NULL;
	struct fl_exit end;
	int in[2], out[2];
	char text[40] = "";
	int64_t n, len = 0;

	GOT(io);
	OK(fl_pair(io, FL_PIPE, in, NULL));
	OK(fl_pair(io, FL_SOCKETPAIR, out, NULL));
	{
		/* Crosswise: a number that is wanted may be one that is still in use. */
		struct fl_fd_map fds[] = { { in[0], 0 }, { out[1], in[0] }, { out[1], 7 } };
		struct fl_spawn how = { .path = "/bin/sh", .argv = SH("read x; echo \"got $x\" >&7"), .fds = fds,
					.fd_count = FL_LEN(fds) };

		OK(start(io, &how, &child, NULL));
	}
	fl_close(io, in[0]);
	fl_close(io, out[1]);
	OK(test_pause(io, FL_NS_PER_MS));   /* it waits for its input, although our end does not */
	OK(fl_write(io, in[1], "word\n", 5));
	OK(wait_for(io, child, &end));
	CHECK_INT(end.code, 0);
	while ((n = fl_read(io, out[0], text + len, sizeof text - 1 - (size_t)len)) > 0)
		len += n;
	OK(n);
	CHECK_STR(fl_str(text), "got word\n");
}

static const struct {
	const char *says, *path, *dir;
	enum fl_code code;
	const char *words;
} fail_rows[] = {
	{ "a program that is not there", "/nonexistent/program", NULL, FL_E_NOTFOUND,
	  "start '/nonexistent/program': No such file or directory" },
	{ "a file that is no program", "/etc/passwd", NULL, FL_E_DENIED, "start '/etc/passwd': Permission denied" },
	{ "a directory", "/tmp", NULL, FL_E_DENIED, "start '/tmp': Permission denied" },
	{ "no directory to stand in", "/bin/sh", "/nonexistent", FL_E_NOTFOUND,
	  "start '/bin/sh': No such file or directory" },
};

TEST(a_program_that_cannot_be_started_is_told_with_the_errno)
{
	EACH_ROW (row, fail_rows) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		FL_AUTO(child) struct fl_child *child = NULL;
		struct fl_spawn how = { .path = row->path, .argv = SH("true"), .dir = row->dir };
		struct fl_err err = { 0 };

		GOT(io);
		while (waitpid(-1, NULL, 0) > 0)   /* of rounds that ended early: killed, and nobody's */
			;
		REFUSED(start(io, &how, &child, &err), row->code);
		CHECK(!child);
		if (!test_tortured())
			CHECK_STR(fl_str(err.text), row->words);
		for (int i = 0; i < 1000 && fl_child_undead(io) > 0; i++)
			OK(test_pause(io, FL_NS_PER_MS));
		CHECK_INT(fl_child_undead(io), 0);
		CHECK_INT(test_io_open_fds(io), 0);
		CHECK(waitpid(-1, NULL, WNOHANG) < 0);   /* no zombie is left */
	}
}

TEST(too_many_fds_are_refused)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(child) struct fl_child *child = NULL;
	struct fl_fd_map fds[FL_SPAWN_FDS + 1] = { 0 };
	struct fl_spawn how = { .path = "/bin/true", .argv = SH(""), .fds = fds, .fd_count = FL_LEN(fds) };

	GOT(io);
	REFUSED(start(io, &how, &child, NULL), FL_E_INVALID);
}

TEST(a_child_is_stopped_continued_and_killed)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(child) struct fl_child *child = NULL;
	struct fl_spawn how = { .path = "/bin/sleep", .argv = (const char *const[]){ "sleep", "100", NULL } };
	struct fl_child_wait wait = { 0 };

	GOT(io);
	OK(start(io, &how, &child, NULL));
	OK(fl_child_signal(child, SIGSTOP, NULL));
	wait.op.deadline = fl_clock(io) + 5 * FL_NS_PER_MS;
	fl_child_wait(child, &wait);
	REFUSED(test_op(io, &wait.op), FL_E_TIMEOUT);   /* stopped is not ended, and the waiting ends alone */
	OK(fl_child_signal(child, SIGTERM, NULL));
	OK(fl_child_signal(child, SIGCONT, NULL));
	wait.op.deadline = 0;
	fl_child_wait(child, &wait);
	OK(test_op(io, &wait.op));
	CHECK_INT(wait.exit.signo, SIGTERM);
}

TEST(a_child_that_is_freed_dies_and_is_buried)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct fl_spawn how = { .path = "/bin/sleep", .argv = (const char *const[]){ "sleep", "100", NULL } };
	FL_AUTO(child) struct fl_child *child = NULL;
	struct fl_child_wait wait = { .op.done = test_op_done };

	GOT(io);
	OK(start(io, &how, &child, NULL));
	fl_child_wait(child, &wait);
	fl_op_cancel(&wait.op);
	child = fl_child_free(child);
	CHECK_INT(fl_child_undead(io), 1);
	for (int i = 0; i < 2000 && fl_child_undead(io) > 0; i++)
		OK(test_pause(io, FL_NS_PER_MS));
	if (!test_tortured()) {
		CHECK_INT(fl_child_undead(io), 0);
		CHECK_INT(test_io_open_fds(io), 0);
	}
}

TEST(a_start_may_be_cancelled)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct fl_spawn how = { .path = "/bin/sleep", .argv = (const char *const[]){ "sleep", "100", NULL } };
	struct fl_child_start start = { .op.done = test_op_done };

	GOT(io);
	fl_child_start(io, &start, &how);
	fl_op_cancel(&start.op);
	for (int i = 0; i < 2000 && fl_child_undead(io) > 0; i++)
		OK(test_pause(io, FL_NS_PER_MS));
	CHECK_INT(fl_child_undead(io), 0);
	CHECK(!start.child);
}

/* The state letter of a process, or 0 when there is none. */
static char state_of(int pid)
{
	char path[40], text[200] = "";
	const char *end;
	FILE *file;

	(void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	(void)!fread(text, 1, sizeof text - 1, file);
	(void)fclose(file);
	end = strrchr(text, ')');
	return end && end[1] ? end[2] : '?';
}

static int parent_that_dies(int tell)
{
	struct fl_spawn how = { .path = "/bin/sleep", .argv = (const char *const[]){ "sleep", "100", NULL },
				.death_signal = SIGKILL };
	struct fl_io *io = fl_posix_new(NULL);
	struct fl_child *child;
	int pid;

	if (!io || start(io, &how, &child, NULL) < 0)
		return 1;
	pid = fl_child_pid(child);
	return write(tell, &pid, sizeof pid) == sizeof pid ? 0 : 1;
}

/* Starts a process that is no test. */
TEST_ONCE(a_child_with_a_death_signal_does_not_outlive_us)
{
	int fds[2], pid = 0, parent;

	CHECK(pipe(fds) == 0);
	parent = fork();
	if (parent == 0)
		_exit(parent_that_dies(fds[1]));
	(void)close(fds[1]);
	CHECK(read(fds[0], &pid, sizeof pid) == sizeof pid);
	(void)close(fds[0]);
	CHECK(waitpid(parent, NULL, 0) == parent);
	for (int i = 0; i < 2000 && state_of(pid) && state_of(pid) != 'Z'; i++)
		(void)usleep(1000);
	CHECK(state_of(pid) == 0 || state_of(pid) == 'Z');
}

/* Whoever opens it waits for the end of the lease: the exec of a sick disk. */
static int hanging_program(const char *path)
{
	int fd = -1;

	if (test_write_file(path, "#!/bin/sh\nexit 3\n") && chmod(path, 0700) == 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	(void)signal(SIGIO, SIG_IGN);
	return fcntl(fd, F_SETLEASE, F_WRLCK) == 0 ? fd : -1;
}

/* Children before their exec see what we map now, unless they have a copy of our memory. -1: it cannot be told here. */
static int children_that_share(void)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	FILE *children = fopen("/proc/thread-self/children", "re");
	char start[32], pid[16], path[64], line[512];
	int count = children ? 0 : -1;

	(void)snprintf(start, sizeof start, "%lx-", (unsigned long)(uintptr_t)page);
	while (children && fscanf(children, "%15s", pid) == 1) {
		FILE *maps;

		(void)snprintf(path, sizeof path, "/proc/%s/maps", pid);
		maps = fopen(path, "re");
		while (maps && fgets(line, sizeof line, maps))
			count += strncmp(line, start, strlen(start)) == 0;
		if (maps)
			(void)fclose(maps);
	}
	if (children)
		(void)fclose(children);
	(void)munmap(page, 4096);
	return count;
}

/* The first one may share our memory: what it needs of that is kept until its exec. Later ones must not need it. */
TEST_ONCE(an_exec_that_hangs_holds_up_nobody)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(child) struct fl_child *hanging = NULL, *too = NULL, *other = NULL;
	struct fl_child_start first = { .op.done = test_op_done }, second = { .op.done = test_op_done };
	struct fl_exit end;
	const char *path = test_path(test_dir(), "hanging");
	int lease = hanging_program(path);

	GOT(io);
	CHECK(lease >= 0);
	fl_child_start(io, &first, &(struct fl_spawn){ .path = path, .argv = (const char *const[]){ path, NULL } });
	fl_child_start(io, &second, &(struct fl_spawn){ .path = path, .argv = (const char *const[]){ path, NULL } });
	for (int i = 0; i < 3; i++) {
		OK(start(io, &(struct fl_spawn){ .path = "/bin/sh", .argv = SH("exit 7") }, &other, NULL));
		OK(wait_for(io, other, &end));
		CHECK_INT(end.code, 7);
		other = fl_child_free(other);
	}
	CHECK(fl_op_busy(&first.op) && fl_op_busy(&second.op));
	CHECK(children_that_share() <= 1);
	CHECK(fcntl(lease, F_SETLEASE, F_UNLCK) == 0);
	OK(test_op(io, &first.op));
	OK(test_op(io, &second.op));
	hanging = first.child;
	too = second.child;
	OK(wait_for(io, hanging, &end));
	CHECK_INT(end.code, 3);
	OK(wait_for(io, too, &end));
	CHECK_INT(end.code, 3);
	(void)close(lease);
}

/* ---- no memory for a copy of what a child needs ---- */

enum { TEXTS = 128 };

/* Of a MiB each; texts of that size cost the test nothing, as they are one and the same. */
static const char **long_list(const char *text)
{
	static const char *list[TEXTS + 1];

	for (int i = 0; i < TEXTS; i++)
		list[i] = text;
	return list;
}

/* What is mapped from now on may have so much together. */
static bool limit_memory(size_t more, struct rlimit *ret_before)
{
	FILE *statm = fopen("/proc/self/statm", "re");
	struct rlimit limit;
	char pages[32] = "";
	bool known = statm && fscanf(statm, "%31s", pages) == 1 && getrlimit(RLIMIT_AS, ret_before) == 0;

	if (statm)
		(void)fclose(statm);
	limit = *ret_before;
	limit.rlim_cur = strtoul(pages, NULL, 10) * (unsigned long)sysconf(_SC_PAGESIZE) + more;
	return known && setrlimit(RLIMIT_AS, &limit) == 0;
}

TEST_ONCE(a_child_without_memory_for_its_arguments_or_environment_is_refused)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(child) struct fl_child *child = NULL;
	FL_AUTO(fl_mem) char *text = fl_zalloc(FL_MIB);
	struct rlimit before;
	struct fl_exit end;

	GOT(io);
	GOT(text);
	memset(text, 'x', FL_MIB - 1);
	for (int env = 0; env < 2; env++) {
		const char *const *list = long_list(text);
		struct fl_spawn how = { .path = "/bin/sh", .argv = env ? SH("exit 7") : list,
					.env = env ? list : NULL };
		struct fl_err err = { 0 };
		int r;

		CHECK(limit_memory(TEXTS / 2 * FL_MIB, &before));
		r = start(io, &how, &child, &err);
		CHECK(setrlimit(RLIMIT_AS, &before) == 0);
		REFUSED(r, FL_E_NOMEM);
		CHECK(!child);
	}
	OK(start(io, &(struct fl_spawn){ .path = "/bin/sh", .argv = SH("exit 7") }, &child, NULL));
	OK(wait_for(io, child, &end));
	CHECK_INT(end.code, 7);
	child = fl_child_free(child);
	CHECK_INT(test_io_open_fds(io), 0);
}

/* ---- signals ---- */

struct told {
	struct fl_signals signals;
	int count, signo;
	bool stops;
};

static void came(struct fl_signals *signals, int signo)
{
	struct told *told = fl_container(signals, struct told, signals);

	told->signo = signo;
	told->count++;
	if (told->stops)
		fl_signals_stop(signals);
}

static void stop_auto_(struct told *told)
{
	fl_signals_stop(&told->signals);
}

TEST(signals_are_told_by_the_loop)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	__attribute__((cleanup(stop_auto_))) struct told told = { .signals.came = came };

	GOT(io);
	OK(fl_signals_start(io, &told.signals, (const int[]){ SIGTERM, SIGHUP, 0 }, NULL));
	CHECK(raise(SIGHUP) == 0);
	CHECK_INT(told.count, 0);
	OK(test_turns(io, &told.count, 1));
	CHECK_INT(told.signo, SIGHUP);
	told.stops = true;
	CHECK(raise(SIGTERM) == 0);
	OK(test_turns(io, &told.count, 2));
	CHECK_INT(told.signo, SIGTERM);
	CHECK_INT(test_io_open_fds(io), 0);
}
