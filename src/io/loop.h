/* loop.h - the inside of struct fl_io, for the files of this folder only. */
#pragma once
#include "base/units.h"
#include "io/notify.h"
#include "io/sys.h"

/* Events taken from the kernel at a time: few enough to stop in time, enough that the call is 2 % of the work. */
#define FL_TURN_EVENTS 64
/* A turn stops here and goes on in the next: half of the promised 2 ms, so one callback may take the other half. */
#define FL_TURN_BUDGET (1 * FL_NS_PER_MS)

struct fl_io {
	struct fl_sys *sys;
	uint64_t now;
	struct fl_timers timers;

	/* The ended operations: those of this turn, then those that end meanwhile. */
	struct fl_op *doing, *ended, **ended_last;

	/* The events of wait(); at..len are still to be called back. token NULL: its poll was stopped. */
	unsigned at, len;
	bool stopped;
	uint64_t turn_began;
	const char *name;
	struct fl_turns turns;

	struct fl_job *flying;               /* all jobs that the implementation has */

	/* notify.c */
	struct fl_notify *notifies, **notifies_last;
	struct fl_notify *notify_next;       /* the next one, while a change is being reported */
	struct fl_poll notify_poll;          /* fd -1: not open */
	struct fl_timer notify_more;
	unsigned notify_setups;              /* jobs in flight that may add a watch */

	/* child.c */
	struct fl_child *undead;
	unsigned undead_count;

	struct fl_io_event batch[FL_TURN_EVENTS];
};

void fl_op_append(struct fl_op *op);                       /* op.c: to the ended ones */
void fl_op_run(struct fl_op *op);                          /* op.c: take it out and call done() */
void fl_job_returned(struct fl_job *job);                  /* job.c */
void fl_jobs_take_back(struct fl_io *io);                  /* job.c: those that have not begun */
void fl_jobs_release(struct fl_io *io);                    /* job.c: those that are over */
void fl_children_free(struct fl_io *io);                   /* child.c */
void fl_notifies_close(struct fl_io *io);                  /* notify.c: when no directory is watched */
