#include "io/log_stderr.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

/* A pipe that has room at all takes this much at once, without blocking and in one piece. */
_Static_assert(FL_LOG_LINE <= PIPE_BUF, "a line of the log fits into a pipe in one piece");

/* stderr is not made non-blocking: it may be a terminal that we share with a shell. */
static bool line(void *self, const char *text, size_t len)
{
	struct pollfd room = { .fd = STDERR_FILENO, .events = POLLOUT };
	ssize_t n;

	(void)self;
	if (poll(&room, 1, 0) != 1 || !(room.revents & POLLOUT))
		return false;
	do
		n = write(STDERR_FILENO, text, len);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)len;
}

static uint64_t now(void *self)
{
	return fl_now(self);
}

static int64_t wall(void *self)
{
	return fl_wall(self);
}

struct fl_log_to fl_log_to_stderr(struct fl_io *io)
{
	return (struct fl_log_to){ .line = line, .now = now, .wall = wall, .self = io };
}
