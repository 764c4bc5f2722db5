/* process.h - what this process takes of its machine, under the names that every dashboard knows: process_*, and which
 * build it is: fairlead_build_info.
 *
 *     fl_process_add(process, metrics, "controller", err);      once
 *     fl_process_look(io, &look);                               before each scrape; then look.op.done
 *
 * /proc is read by a worker. What could not be seen is left out of the metrics, or is what it was the last time.
 */
#pragma once
#include "base/metrics.h"
#include "io/op.h"

struct fl_process {
	const char *role;              /* set by fl_process_add, borrowed */
	bool seen;
	double cpu_s, start_s;         /* seconds; start: since 1970 */
	double resident, virtual_;     /* bytes */
	double open_fds, max_fds;      /* max < 0: no limit */
	double threads;
};

/* The struct outlives the registry. */
int fl_process_add(struct fl_process *process, struct fl_metrics *metrics, const char *role,
		   struct fl_err *err) FL_MUSTUSE;

/* result: 0, and *into says what is so now. */
struct fl_process_look {
	struct fl_op op;
	struct fl_process *into;       /* borrowed until done() or cancel */
};
void fl_process_look(struct fl_io *io, struct fl_process_look *look);

/* Pure: read the texts of /proc/self/stat, /proc/self/limits and /proc/uptime as they are at `wall` (ns since 1970).
 * FL_E_INVALID: that is not what a kernel writes. */
int fl_process_read(struct fl_process *process, struct fl_str stat, struct fl_str limits, struct fl_str uptime,
		    int64_t wall, struct fl_err *err) FL_MUSTUSE;
