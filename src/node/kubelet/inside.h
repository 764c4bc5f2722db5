/* inside.h - checks of this node's containers from outside (node/kubelet/inside_scan.h): feeder of Inside, sink of
 * Inspection.
 *
 *     static struct fl_inside_feeder inside;
 *     fl_inside_init(&inside, io, &options)
 *     fl_loop_source(loop, &(struct fl_source){ &fl_inside_kind, NULL, NULL, NULL }, err);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_inspection_kind, NULL, &inside.sink, &inside }, err);
 *     fl_inside_start(&inside, loop)          nothing is wanted yet, and nothing known
 *     fl_inside_stop(&inside)                 before the loop is freed
 *
 * An Inspection of a driver version means one check after FL_INSIDE_FIRST and, with `again`, one every options.every.
 * A check that fails or does not end is logged once and changes nothing: earlier results stay, and the next check is
 * made on time. A check that cannot open a container's /dev reports what it found, and is logged as failed.
 */
#pragma once
#include "io/io.h"
#include "run/loop.h"

/* Interval of checks while Pods hold GPUs: 1,000 processes take some 15 ms of a worker, and
 * libraries of another driver some ms more for each Pod. */
#define FL_INSIDE_EVERY (60 * FL_NS_PER_S)
#define FL_INSIDE_FIRST (2 * FL_NS_PER_S)  /* after a driver starts: the kubelet gets its list first */
#define FL_INSIDE_WAIT (10 * FL_NS_PER_S)  /* for one check */

struct fl_log;

struct fl_inside_options {
	const char *proc;          /* the host's processes; NULL: /proc */
	const char *logs;          /* the kubelet's directory of Pod logs; NULL: /var/log/pods */
	uint64_t every;            /* 0: FL_INSIDE_EVERY */
	struct fl_log *log;
};

struct fl_inside_feeder {
	struct fl_sink sink;       /* of Inspection; its self is the feeder */

	/* Private. */
	struct fl_io *io;
	struct fl_inside_options options;
	struct fl_loop *loop;      /* NULL: not started */
	bool wanted, again;
	char version[64];
	struct fl_timer timer;     /* of the next check */
	struct fl_op op;           /* the check in flight */
	struct fl_err err;
	bool failed;               /* the last check, and that is logged */
	bool anew;                 /* the Inspection has changed since this check began */
};

void fl_inside_init(struct fl_inside_feeder *feeder, struct fl_io *io, const struct fl_inside_options *options);
void fl_inside_start(struct fl_inside_feeder *feeder, struct fl_loop *loop);
void fl_inside_stop(struct fl_inside_feeder *feeder);
