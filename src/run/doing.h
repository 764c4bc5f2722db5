/* doing.h - for a sink that carries out one operation: its end is the write's, which succeeded or is retried.
 *
 *     struct linking {
 *             struct fl_doing doing;         first in the sink's room
 *             ...
 *     };
 *
 *     static void start(void *self, struct fl_write *write)
 *     {
 *             struct linking *linking = write->held;
 *
 *             fl_doing_begin(&linking->doing, write);
 *             fl_job_start(io, &linking->doing.op, ...);         its end is the write's; or, where it is over:
 *             fl_doing_over(&linking->doing, io, &why);
 *     }
 *
 *     const struct fl_sink fl_links_sink = { start, fl_doing_cancel, sizeof(struct linking), FL_LOCAL_RETRY_LAST };
 */
#pragma once
#include "io/op.h"
#include "run/loop.h"

struct fl_doing {
	struct fl_op op;               /* .done may be another one, which ends the write itself */
	struct fl_write *write;
	struct fl_err err;             /* of the op */
};

void fl_doing_begin(struct fl_doing *doing, struct fl_write *write);
/* Ends after `start`, as no write may end inside of it. NULL, or a `why` without a code: it went well. */
void fl_doing_over(struct fl_doing *doing, struct fl_io *io, const struct fl_err *why);
void fl_doing_cancel(void *self, struct fl_write *write);
