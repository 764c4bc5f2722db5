/* signals.h - signals as callbacks of the loop. fl_posix_new ignores SIGPIPE. */
#pragma once
#include "io/io.h"
#include <signal.h>

struct fl_signals {
	void (*came)(struct fl_signals *signals, int signo);   /* may stop */
	struct fl_io *io;                                       /* the loop's */
	struct fl_poll poll;
};

/* From now on these signals only call came(); they stay blocked after the stop too. The list ends with 0. One
 * fl_signals an fl_io. */
int fl_signals_start(struct fl_io *io, struct fl_signals *signals, const int *signos, struct fl_err *err) FL_MUSTUSE;
void fl_signals_stop(struct fl_signals *signals);
