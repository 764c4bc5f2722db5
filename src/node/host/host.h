/* host.h - the driver's files and device nodes: the sink of Host, which scans them in a worker.
 *
 *     static struct fl_host_sink host = { .io = io };
 *     fl_loop_source(loop, &(struct fl_source){ &fl_host_kind, NULL, &fl_host_sink, &host }, err);
 *
 * The plan wants a Host of a driver version and GPU layout; the sink scans, and the result is the observed state. At
 * startup that is one scan, when the driver has reported all of its GPUs. A driver that is absent or not ready yet
 * changes nothing: containers keep what they have. A scan that hangs or fails is a failed write: the Host then has only
 * its message (fl_gpu_host_failed, plan/gpu/needs.h), and the scan is retried, every FL_LOCAL_RETRY_LAST at least.
 * While the driver answers its first requests, the hook's program may be written and the driver's files found in
 * advance: a scan within FL_HOST_EARLY uses both.
 */
#pragma once
#include "io/io.h"
#include "io/notify.h"
#include "node/host/hook_install.h"
#include "node/host/scan.h"
#include "run/loop.h"

#define FL_HOST_DEADLINE (20 * FL_NS_PER_S)      /* a root on a disk that is slow and not dead */
#define FL_HOST_EARLY (2 * FL_NS_PER_S)          /* the hook's program, just written; a driver may come much later */
#define FL_HOST_POLL (60 * FL_NS_PER_S)          /* for changes without a notification: /proc/devices, driver files */

struct fl_host_sink {
	struct fl_io *io;
	const char *proc, *sysfs;  /* NULL: "/proc", "/sys" */
	const char *const *env;    /* borrowed for good: PATH and data directories to search; NULL: empty */
	const char *source;        /* the file that contains the hook's program; NULL: "/proc/self/exe" */

	/* The sink's. */
	struct fl_loop *loop;      /* of the first look; NULL: there was none */
	struct fl_op early;        /* the hook's program is written ahead of the look that needs it */
	char early_hook[FL_HOST_PATH_MAX]; /* written before the first look; "": unknown */
	uint64_t early_at;         /* when */
	struct fl_hook_known hook_known;   /* by the last look */
	struct fl_op files;        /* the driver's files are looked for ahead of the look that needs them */
	struct fl_host_look *ahead;        /* which has them; NULL: none */
	uint64_t ahead_at;         /* since when */
	struct fl_host_dir {
		struct fl_notify notify;
		struct fl_host_sink *sink;
		const struct fl_host_place *place;
		char path[2 * FL_HOST_PATH_MAX];   /* "": it is not watched */
	} dirs[FL_HOST_PLACES + 1];        /* the last one has the hook's program */
	struct fl_host_place hook_place;   /* "dir" is not used */
	char hook[FL_HOST_PATH_MAX];       /* the program whose directory is watched */
	struct fl_timer timer;     /* the next look without being asked */
	struct fl_op op;           /* that look */
	struct fl_err err;
	struct fl_host *found;     /* by it; in the arena */
	struct fl_arena arena;
};

/* Writes the hook's program in advance; the next scan reports the result. */
void fl_host_hook_early(struct fl_host_sink *sink, struct fl_str path);
/* Searches this root in advance for the driver's files; used if the driver has this version. */
void fl_host_files_early(struct fl_host_sink *sink, struct fl_str root, struct fl_str version);

void fl_host_stop(struct fl_host_sink *sink);      /* before the loop is freed; one that never looked is left alone */

extern const struct fl_sink fl_host_sink;          /* its self is a struct fl_host_sink */
