/* notify.h - watch a directory for changes.
 *
 * A change is a hint, never a fact: read the directory yourself, and now and then without a hint too. It watches the
 * directory and not a file, because sockets are recreated and projected volumes swap the symlink ..data. The directory
 * may come, go and come back. Where the kernel has no watches left, it is listed every second instead, and `hint` holds
 * the reason for a log or a condition. So starting cannot fail.
 */
#pragma once
#include "io/op.h"

struct fl_notify {
	/* The caller's. `name` is the file that was made, renamed, removed or closed after writing; it lives until
	 * changed() returns. "" means read everything: sent once when the watch is set up (so read then, not before),
	 * when changes were lost, and when the directory went or came back. changed() may stop any watch, its own
	 * included. */
	void (*changed)(struct fl_notify *notify, const char *name);
	const char *dir;              /* borrowed until the stop */
	uint64_t rare;                /* ns; how often it is looked for while it is missing, by the clock; 0: 1 s */

	/* The loop's; hint may be read. */
	struct fl_err hint;           /* FL_OK: watched by the kernel. Else why it is listed on a timer */
	struct fl_io *io;             /* NULL: not started */
	struct fl_op op;              /* setting up, or listing */
	struct fl_timer timer;
	uint64_t delay;
	uint64_t seen;                /* digest of the last listing */
	bool reported;                /* the first ""; false again: send another */
	int watch;                    /* the kernel's number; -1: none */
	struct fl_notify *next, **from;
};
void fl_notify_start(struct fl_io *io, struct fl_notify *notify);
void fl_notify_stop(struct fl_notify *notify);   /* one that is not started is left alone */
