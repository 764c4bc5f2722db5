#include "http/listener.h"
#include "base/units.h"

#define FL_HTTP_ACCEPT_PAUSE (100 * FL_NS_PER_MS)   /* until the next try when accept fails, for lack of fds */

/* Accepted in one turn: then open connections get their turn. */
#define TAKE 32

static void want(struct fl_listener *listener)
{
	struct fl_err err = { 0 };

	if (listener->held || listener->fd < 0)
		fl_poll_stop(listener->io, &listener->poll);
	else if (fl_poll_set(listener->io, &listener->poll, FL_READABLE, &err) < 0)
		fl_timer_set(listener->io, &listener->again, fl_now(listener->io) + FL_HTTP_ACCEPT_PAUSE);
}

static void on_again(struct fl_timer *timer)
{
	want(fl_container(timer, struct fl_listener, again));
}

static void on_ready(struct fl_poll *poll, unsigned what)
{
	struct fl_listener *listener = fl_container(poll, struct fl_listener, poll);
	struct fl_err err = { 0 };
	struct fl_addr peer;
	bool gone = false;
	int fd = 0;

	(void)what;
	listener->gone = &gone;
	for (int i = 0; i < TAKE && fd >= 0 && !gone && !listener->held; i++) {
		fd = fl_accept(listener->io, listener->fd, &peer, &err);
		if (fd >= 0)
			listener->accepted(listener, fd, &peer);
		else if (fd != -FL_E_AGAIN && listener->failed)
			listener->failed(listener, &err);
	}
	if (gone)
		return;
	listener->gone = NULL;
	if (fd < 0 && fd != -FL_E_AGAIN && fd != -FL_E_RETRY) {
		fl_poll_stop(listener->io, &listener->poll);
		fl_timer_set(listener->io, &listener->again, fl_now(listener->io) + FL_HTTP_ACCEPT_PAUSE);
	}
}

int fl_listener_start(struct fl_io *io, struct fl_listener *listener, const struct fl_addr *addr, unsigned mode,
		      struct fl_err *err)
{
	listener->io = io;
	listener->held = false;
	listener->gone = NULL;
	listener->again = (struct fl_timer){ .fire = on_again };
	listener->fd = fl_listen(io, addr, mode, err);
	if (listener->fd < 0)
		return listener->fd;
	listener->poll = (struct fl_poll){ .ready = on_ready, .fd = listener->fd };
	if (fl_poll_set(io, &listener->poll, FL_READABLE, err) < 0) {
		fl_listener_stop(listener);
		return err ? -(int)err->code : -FL_E_IO;
	}
	return 0;
}

void fl_listener_stop(struct fl_listener *listener)
{
	if (!listener->io || listener->fd < 0)
		return;
	if (listener->gone)
		*listener->gone = true;
	listener->gone = NULL;
	fl_poll_stop(listener->io, &listener->poll);
	fl_timer_stop(listener->io, &listener->again);
	fl_close(listener->io, listener->fd);
	listener->fd = -1;
}

void fl_listener_hold(struct fl_listener *listener, bool hold)
{
	listener->held = hold;
	if (!fl_timer_is_set(&listener->again))
		want(listener);
}
