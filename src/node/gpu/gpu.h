/* gpu.h - the driver's feeder: GPUs, their faults, and the driver's state (api/node.h: Driver, Card, Fault).
 *
 * Only children load NVIDIA's library (`fairlead gpu`, node/gpu/child.h). One answers calls, one at a time, each with a
 * deadline. One only waits for events. One is started for each deep check and ends after it. The agent continues in
 * each of these cases:
 *   - no library or no kernel module: Driver is Absent, GPUs are reported as far as the bus shows them, and the search
 *     is repeated every FL_GPU_FIND_EVERY;
 *   - a call that does not return costs its child. The next child excludes the GPU of that call until the GPU answers a
 *     separate deep check (FL_GPU_HUNG_RETRY_*). The same holds for a GPU on which the library has crashed twice;
 *   - a crash whose replacement runs within FL_GPU_CRASH_GRACE is one log line and a count; a longer one makes the
 *     Driver Sick;
 *   - the driver's files change (an upgrade): the children release it at once, and new ones start when library and
 *     kernel module have one version again. Without a pause the kernel module cannot be unloaded, as the children hold
 *     it.
 * GPUs are checked every FL_GPU_LOOK_EVERY, and every FL_GPU_LOOK_SOON while one has a fault or recovers. An event is
 * reported at once. A check without news changes nothing. The identity of a GPU is kept while it does not answer: its
 * holders know it by its UUID.
 */
#pragma once
#include "io/io.h"
#include "plan/exporter/field.h"
#include "run/loop.h"

#define FL_GPU_FAULTS_MAX 256                /* kept at once: 16 GPUs with each known XID; more are only counted */
/* The idle agent's budget is 60 us a second: a check of eight GPUs takes 3 ms, and events do not wait for one. */
#define FL_GPU_LOOK_EVERY (30 * FL_NS_PER_S)
/* Search interval while there is no driver: a few calls of stat, 0.1 ms. */
#define FL_GPU_FIND_EVERY (2 * FL_NS_PER_S)
/* A child that crashed and is back within this time was no outage. */
#define FL_GPU_CRASH_GRACE (1 * FL_NS_PER_S)
/* A request to release the driver waits so long: children that can die have died by then. */
#define FL_GPU_LET_GO (2 * FL_NS_PER_S)

struct fl_card_fault;
struct fl_gpu;
struct fl_gpu_sample;
struct fl_log;

/* Intervals and deadlines in ns; 0: the FL_GPU_* of the comment. */
struct fl_gpu_pace {
	uint64_t look_every, look_soon, find_every;         /* LOOK_EVERY, LOOK_SOON, FIND_EVERY */
	uint64_t start, card, links, check;                 /* *_DEADLINE */
	uint64_t links_every, hung_first, hung_last, grace; /* LINKS_EVERY, HUNG_RETRY_FIRST, _LAST, CRASH_GRACE */
};

struct fl_gpu_options {
	const char *program;          /* of the children: our own; borrowed, like all here */
	const char *const *roots;     /* roots of the driver to search, in order: "/", "/run/nvidia/driver"; NULL
					 ends. NULL itself: not known yet, the search begins with
					 fl_gpu_search() */
	const char *dev_root;         /* NULL: the driver's root */
	const char *sysfs, *proc;     /* "/sys", "/proc": others in tests and with a containerised driver */
	const char *const *env;       /* of the children; NULL: empty */
	bool cuda;                    /* a deep check makes a CUDA context */
	bool wait;                    /* leave the driver alone until fl_gpu_begin(): a pause may be stored.
					 A child is running already, and has not loaded the library */
	const char *pod_logs;         /* the kubelet's, by which Pods are named; NULL: /var/log/pods */
	struct fl_gpu_pace pace;
	/* Another driver was found under this root; it is of this version, and is asked next. NULL: not asked */
	void (*found)(void *arg, const char *root, const char *version);
	void (*reported)(void *arg, const struct fl_card_fault *fault);   /* a GPU has reported it; NULL: not asked */
	/* Telemetry of one GPU; texts are borrowed for the call. NULL instead: the round of fl_gpu_sample() is over,
	 * and `complete` says whether every GPU that answers was read. NULL: not asked */
	void (*sampled)(void *arg, const struct fl_gpu_sample *sample, bool complete);
	void *arg;
	struct fl_log *log;
	struct fl_metrics *metrics;
};

/* Feeds until it is freed. The loop must have sources for fl_driver_kind, fl_card_kind and fl_card_fault_kind; the last
 * one with fl_gpu_fault_sink, as plans delete an ended fault. */
struct fl_gpu *fl_gpu_new(struct fl_io *io, struct fl_loop *loop, const struct fl_gpu_options *options,
			  struct fl_err *err) FL_MUSTUSE;
struct fl_gpu *fl_gpu_free(struct fl_gpu *gpu);    /* children are killed. NULL-safe, returns NULL */
FL_DEFINE_AUTO(fl_gpu, struct fl_gpu *, fl_gpu_free);

extern const struct fl_sink fl_gpu_fault_sink;     /* its self is a struct fl_gpu **: the source comes first */

/* Plans can set only the compute mode of a GPU (plan/gpu/mps.h); its self is a struct fl_gpu **. Fails while the driver
 * is not ready. After a change, the GPU is fed with the driver's new values. */
extern const struct fl_sink fl_gpu_card_sink;

/* Scans the bus and the driver's files and checks all GPUs now, for a caller that knows of a change. */
void fl_gpu_look(struct fl_gpu *gpu);

/* Reads these fields of every GPU that answers, one after the other, behind all other requests; options.sampled tells
 * of them. False: not now, as the driver is not ready or a round is under way. A GPU that does not answer is excluded
 * as after any other call, and delays the others once. */
bool fl_gpu_sample(struct fl_gpu *gpu, const struct fl_dcgm_set *wanted) FL_MUSTUSE;

/* Sets the roots to search, and the root of /dev; .p NULL: the driver's root. Copied. Equal values and FL_E_NOMEM
 * change nothing. */
int fl_gpu_search(struct fl_gpu *gpu, const struct fl_str *roots, uint32_t len, struct fl_str dev) FL_MUSTUSE;

void fl_gpu_begin(struct fl_gpu *gpu);             /* with `wait`; called again, it changes nothing */

/* Releases the driver, and reopens it. Pauses are counted: two pauses need two resumes, cancelled or not. Result: 0
 * when all children are gone; FL_E_TIMEOUT when one hangs in the kernel, so that the driver cannot be unloaded. The
 * deadline is FL_GPU_LET_GO. `why` is the reason in messages. */
struct fl_gpu_pause {
	struct fl_op op;
	bool users;                   /* waits up to FL_DRIVER_USERS_WAIT for the list of other users of the driver */
	struct fl_gpu_pause *next, **from;    /* the feeder's */
};
void fl_gpu_pause(struct fl_gpu *gpu, struct fl_gpu_pause *pause, const char *why);
void fl_gpu_resume(struct fl_gpu *gpu);

/* Appends which other processes have the driver open: "; 1 process still has it open: ...", or why that is unknown.
 * Appends nothing if there are none, or no pause. The list is made when the pause is reached, and again every
 * FL_DRIVER_USERS_EVERY while there are some. */
void fl_gpu_users(const struct fl_gpu *gpu, struct fl_buf *ret);

/* Processes, for tests and `status`; 0: there is none now. */
struct fl_gpu_state {
	int calls, events, check;     /* pids */
	unsigned stuck;               /* that hang in the kernel */
	uint64_t asked;               /* requests that were answered */
};
struct fl_gpu_state fl_gpu_state(const struct fl_gpu *gpu);
