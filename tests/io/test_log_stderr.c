#include "io/log_stderr.h"
#include "test.h"
#include "test_io.h"
#include <unistd.h>

/* For the time of a call, stderr is the writing end of a pipe. */
static bool log_into(int pipe_fd, const struct fl_log_to *to, struct fl_str text)
{
	int old = dup(STDERR_FILENO);
	bool taken;

	(void)dup2(pipe_fd, STDERR_FILENO);
	taken = to->line(to->self, text.p, text.len);
	(void)dup2(old, STDERR_FILENO);
	(void)close(old);
	return taken;
}

TEST(a_line_is_one_write_and_a_full_pipe_stops_nobody)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	static char bytes[70000];
	struct fl_log_to to;
	int fds[2], lost = 0;

	GOT(io);
	to = fl_log_to_stderr(io);
	CHECK(to.now(to.self) == fl_now(io));
	CHECK(to.wall(to.self) > 0);
	CHECK(pipe(fds) == 0);   /* blocking: a line too many would hang the test */
	CHECK(log_into(fds[1], &to, FL_S("{}\n")));
	CHECK(read(fds[0], bytes, sizeof bytes) == 3 && memcmp(bytes, "{}\n", 3) == 0);
	for (int i = 0; i < 40; i++)
		lost += !log_into(fds[1], &to, (struct fl_str){ bytes, 4000 });
	CHECK(lost > 20);   /* a pipe has 64 KiB */
	CHECK(read(fds[0], bytes, sizeof bytes) >= 4000);
	(void)close(fds[0]);
	CHECK(!log_into(fds[1], &to, FL_S("{}\n")));   /* nobody reads any more: no signal */
	(void)close(fds[1]);
}
