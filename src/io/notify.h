/* notify.h - a directory has changed.
 *
 * A hint, never a fact: look yourself, and look now and then without being told. Watches the directory and not a file,
 * because sockets are made anew and projected volumes swap the symlink ..data. The directory may come, go and come
 * back; where the kernel has no watches left it is listed every second instead. So starting cannot fail, and nobody
 * needs to know which way it goes (but `hint` says why, for a log or a condition).
 */
#pragma once
#include "io/op.h"

struct fl_notify {
	/* The caller's. `name` is what was made, renamed, removed or closed after writing; "" means look at everything:
	 * said once when the watch stands (so look after starting, not before), when changes were lost, and when the
	 * directory went or came back. It lives until changed() returns. changed() may stop any watch, its own
	 * included. */
	void (*changed)(struct fl_notify *notify, const char *name);
	const char *dir;              /* borrowed until the stop */

	/* The loop's; hint may be read. */
	struct fl_err hint;           /* FL_OK: watched by the kernel. Else why it is looked at by the clock */
	struct fl_io *io;             /* NULL: not started */
	struct fl_op op;              /* setting up, or looking by the clock */
	struct fl_timer timer;
	uint64_t delay;
	uint64_t seen;                /* what the directory looked like */
	bool told;                    /* of the beginning */
	int watch;                    /* the kernel's number; -1: none */
	struct fl_notify *next, **from;
};
void fl_notify_start(struct fl_io *io, struct fl_notify *notify);
void fl_notify_stop(struct fl_notify *notify);   /* one that is not started is left alone */
