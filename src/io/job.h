/* job.h - straight-line code that may block, as an operation.
 *
 * A job is an object of its own on the heap: it holds its input before the start and its result afterwards. run()
 * executes where it may block (posix: in a worker thread, created on first use). It must neither allocate nor touch
 * anything but the job and `fs`. The operation only waits for the job: when it is cancelled or late, the job's memory
 * stays until run() has returned; then release() frees it.
 *
 *     struct my_job { struct fl_job job; int fd; char bytes[4096]; ... };
 *     job->job = (struct fl_job){ .run = my_run, .finish = my_finish, .release = my_release };
 *     fl_job_start(io, &my->op, &job->job, FL_LANE_FILES);
 */
#pragma once
#include "io/fs.h"
#include "io/op.h"

/* Jobs of one lane run one after the other, in the order of their start; lanes do not wait for each other. So writes
 * keep their order, and a slow disk never delays a name lookup. FL_LANE_BULK is for scans and copies of many files,
 * which must not delay single reads and writes. FL_LANE_JOURNAL is for the journal: other files do not wait for its
 * syncs. FL_LANE_PROCESSES is for /proc files about a process's memory: reading one waits for that process, which may
 * hang in the kernel. FL_LANE_OPEN_FILES is for the lists of files that processes have open: reading one waits for no
 * process, and a pause waits for the result. */
enum fl_lane {
	FL_LANE_FILES, FL_LANE_LOOKUP, FL_LANE_NOTIFY, FL_LANE_BULK, FL_LANE_JOURNAL, FL_LANE_PROCESSES,
	FL_LANE_OPEN_FILES, FL_LANE_COUNT_
};

struct fl_job {
	void (*run)(struct fl_job *job, const struct fl_fs *fs);
	/* On the loop, and only if the operation still waits: hand over the result and end the operation (fl_op_end,
	 * fl_op_fail). If an unused result must be released, set op->drop first. Or start the job again for the same
	 * operation (fl_job_again). NULL: end with `result`, or fail with `what` and its errno. */
	void (*finish)(struct fl_job *job, struct fl_op *op);
	/* On the loop, always, once, last: release what the job still holds, and the job. NULL: free what the job is
	 * the first member of. */
	void (*release)(struct fl_job *job);

	int64_t result;            /* run()'s: >= 0 or a negated errno */
	const char *what;          /* run()'s: what failed, a literal: "fsync" */

	/* The loop's and the implementation's. */
	enum fl_lane lane;
	bool again;
	bool returned;             /* the implementation's: run() is over */
	struct fl_op *op;          /* NULL: it was cancelled or late */
	struct fl_io *io;
	struct fl_job *next;       /* the implementation's, while it has the job */
	struct fl_job *flying, **from;
};

/* Takes over the job, also when it cannot be started: then the operation fails and release() is called. */
void fl_job_start(struct fl_io *io, struct fl_op *op, struct fl_job *job, enum fl_lane lane);

/* Within finish() only: run it once more, in the same lane, instead of ending the operation. */
void fl_job_again(struct fl_job *job);
