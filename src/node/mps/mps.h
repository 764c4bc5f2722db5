/* mps.h - MPS control daemons: MpsDaemon, as feeder and sink in one (plan/gpu/mps.h decides).
 *
 *     fl_mps_init(&mps, io, &options);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_mps_kind, NULL, &fl_mps_sink, &mps }, err);
 *     fl_mps_begin(&mps, loop, journal, err);     when the journal is open
 *     fl_mps_stop(&mps);                          before the loop and the journal; daemons go on
 *
 * A write is one step: the record of GPUs in the journal, the daemon's start (or the adoption of one that is there),
 * its limits, its end. Programs do what may block: `fairlead mps` (node/mps/launch.h), and NVIDIA's
 * nvidia-cuda-mps-control, which takes commands on stdin and passes them to the daemon. A daemon's end is told by the
 * kernel at once (a pidfd); whether it answers, and whether a server reports a fault, is asked every
 * FL_MPS_PROBE_EVERY, more seldom while it has no clients, and every FL_MPS_PROBE_SOON until it has been fine for a
 * while. The daemon is no child of ours and outlives us.
 */
#pragma once
#include "io/io.h"
#include "io/journal.h"
#include "run/loop.h"

/* A daemon that does not answer its clients is a fault within 5 s: probe and deadline together; within 12 s where it
 * had no client at the last probe. Its end is reported at once. */
#define FL_MPS_PROBE_EVERY (3500 * FL_NS_PER_MS)
#define FL_MPS_ANSWER_DEADLINE (1500 * FL_NS_PER_MS)
#define FL_MPS_PROBE_UNUSED (10 * FL_NS_PER_S)     /* of a daemon without clients: nobody waits for it yet */
#define FL_MPS_PROBE_SOON (1 * FL_NS_PER_S)        /* of one that has not been fine for a while */
#define FL_MPS_START_DEADLINE (10 * FL_NS_PER_S)   /* and for its limits: programs that do next to nothing */

struct fl_log;
struct fl_mps_daemon;

struct fl_mps_options {
	const char *program;           /* ourselves; all borrowed */
	const char *proc;              /* NULL: "/proc" */
	const char *const *env;        /* of `fairlead mps`; NULL: empty */
	uint64_t probe_soon;           /* ns; 0: FL_MPS_PROBE_SOON */
	struct fl_log *log;
};

struct fl_mps_daemons {
	struct fl_io *io;
	struct fl_mps_options options;
	struct fl_loop *loop;          /* NULL: not begun */
	struct fl_journal *journal;
	struct fl_mps_daemon *first;
	struct fl_err unread;          /* why a record was not read; FL_OK: all were */
	struct fl_journal_append aside;        /* its copy, on its way */
};

void fl_mps_init(struct fl_mps_daemons *daemons, struct fl_io *io, const struct fl_mps_options *options);
int fl_mps_begin(struct fl_mps_daemons *daemons, struct fl_loop *loop, struct fl_journal *journal,
		 struct fl_err *err) FL_MUSTUSE;
/* A record of another format counts as none, and is kept under "aside/" and its key: which and why (*ret). */
bool fl_mps_unread(const struct fl_mps_daemons *daemons, struct fl_err *ret);
void fl_mps_stop(struct fl_mps_daemons *daemons);   /* one that has not begun is left alone */

extern const struct fl_sink fl_mps_sink;            /* its self is a struct fl_mps_daemons */
