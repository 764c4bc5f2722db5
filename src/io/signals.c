#include "io/signals.h"
#include "io/loop.h"

static void ready(struct fl_poll *poll, unsigned what)
{
	struct fl_signals *signals = fl_container(poll, struct fl_signals, poll);
	struct fl_sys *sys = signals->io->sys;
	int signo = sys->signal_read(sys, poll->fd);

	(void)what;
	if (signo > 0)   /* one a turn: came() may have freed us, and the others are reported again */
		signals->came(signals, signo);
}

int fl_signals_start(struct fl_io *io, struct fl_signals *signals, const int *signos, struct fl_err *err)
{
	uint64_t set = 0;
	int fd;

	for (; *signos; signos++)
		set |= 1ull << (*signos - 1);
	fd = io->sys->signals(io->sys, set);
	if (fd < 0)
		return fl_fail_sys(err, -fd, "wait for signals");
	signals->io = io;
	signals->poll = (struct fl_poll){ .ready = ready, .fd = fd };
	if (fl_poll_set(io, &signals->poll, FL_READABLE, err) < 0) {
		fl_close(io, fd);
		signals->io = NULL;
		return fl_wrap(err, "wait for signals");
	}
	return 0;
}

void fl_signals_stop(struct fl_signals *signals)
{
	if (!signals->io)
		return;
	fl_poll_stop(signals->io, &signals->poll);
	fl_close(signals->io, signals->poll.fd);
	signals->io = NULL;
}
