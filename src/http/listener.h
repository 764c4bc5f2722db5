/* listener.h - accept connections as they come, or none while held. */
#pragma once
#include "io/io.h"

struct fl_listener {
	/* The owner's. Called for each connection; the owner closes the fd. */
	void (*accepted)(struct fl_listener *listener, int fd, const struct fl_addr *peer);
	void (*failed)(struct fl_listener *listener,
		const struct fl_err *err);   /* may be NULL; the listener goes on by itself */

	struct fl_io *io;
	int fd;                    /* -1: not started */
	bool held;
	struct fl_poll poll;
	struct fl_timer again;     /* after a failure: the next try */
	bool *gone;
};

/* `mode` is a unix socket's. */
int fl_listener_start(struct fl_io *io, struct fl_listener *listener, const struct fl_addr *addr, unsigned mode,
		      struct fl_err *err) FL_MUSTUSE;
void fl_listener_stop(struct fl_listener *listener);   /* from anywhere; a unix socket's path stays */

/* Accept none while held; connections wait in the kernel. */
void fl_listener_hold(struct fl_listener *listener, bool hold);
