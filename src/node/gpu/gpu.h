/* gpu.h - the driver as a feeder: cards, their faults, and how we get on with it all (api/node.h: Driver, Card, Fault).
 *
 * The library of the vendor is loaded by children only (`fairlead gpu`, node/gpu/child.h): one answers calls, one at a
 * time and each by a deadline; one does nothing but wait for events; one is made for each deep check and thrown away.
 * Whatever they do, this side goes on:
 *   - no library, or no kernel module: Driver says Absent, cards are told as far as the bus tells them, and it is
 *     looked for again every FL_GPU_FIND_EVERY;
 *   - a call that does not return costs its child; the card that it was about is left out by the next one, and answers
 *     again only after a deep check of its own has seen it do so (FL_GPU_HUNG_RETRY_*). So is a card on which the
 *     library has crashed twice;
 *   - a crash whose replacement is there within FL_GPU_CRASH_GRACE is a line in the log and a number; a longer one
 *     makes the Driver Sick;
 *   - the driver's files change under us (an upgrade): children let go at once, and start anew when library and
 *     kernel's part are of one version again; without a pause the kernel's part cannot be unloaded, as we hold it.
 * Cards are looked at every FL_GPU_LOOK_EVERY, and every FL_GPU_LOOK_SOON while one has a fault or is coming back; an
 * event is told at once. A look that finds nothing new changes nothing. What a card was is kept while it does not
 * answer: its UUID is how its holders know it.
 */
#pragma once
#include "io/io.h"
#include "run/loop.h"

#define FL_GPU_FAULTS_MAX 256                /* kept at once: 16 cards with each XID that is known; more are counted */
/* Idle, the whole agent has 60 us a second: eight cards looked at take 3 ms, and events do not wait for a look. */
#define FL_GPU_LOOK_EVERY (30 * FL_NS_PER_S)
/* Where there is no driver: how late its arrival may be noticed. A few calls of stat, 0.1 ms. */
#define FL_GPU_FIND_EVERY (2 * FL_NS_PER_S)
/* A child that crashed and is back within this time was no outage. */
#define FL_GPU_CRASH_GRACE (1 * FL_NS_PER_S)
/* Whoever asks us to let go of the driver waits so long: children that can die have died by then. */
#define FL_GPU_LET_GO (2 * FL_NS_PER_S)

struct fl_card_fault;
struct fl_gpu;
struct fl_log;

/* How often, and how long: ns; 0 is the FL_GPU_* that is named beside. */
struct fl_gpu_pace {
	uint64_t look_every, look_soon, find_every;         /* LOOK_EVERY, LOOK_SOON, FIND_EVERY */
	uint64_t start, card, links, check;                 /* *_DEADLINE */
	uint64_t links_every, hung_first, hung_last, grace; /* LINKS_EVERY, HUNG_RETRY_FIRST, _LAST, CRASH_GRACE */
};

struct fl_gpu_options {
	const char *program;          /* of the children: ourselves; borrowed, like all here */
	const char *const *roots;     /* where to look for the driver, in order: "/", "/run/nvidia/driver"; NULL
					 ends. NULL itself: they are not known yet; the search begins with
					 fl_gpu_search() */
	const char *dev_root;         /* NULL: the driver's root */
	const char *sysfs, *proc;     /* "/sys", "/proc": others in tests and with a containerised driver */
	const char *const *env;       /* of the children; NULL: empty */
	bool cuda;                    /* a deep check makes a CUDA context */
	bool wait;                    /* leave the driver alone until fl_gpu_begin(): somebody may want it released.
					 A child is there already, and has not loaded the library */
	const char *pod_logs;         /* the kubelet's, by which Pods are named; NULL: /var/log/pods */
	struct fl_gpu_pace pace;
	/* Another driver was found under this root; it is of this version, and is asked next. NULL: not asked */
	void (*found)(void *arg, const char *root, const char *version);
	void (*reported)(void *arg, const struct fl_card_fault *fault);   /* a GPU has reported it; NULL: not asked */
	void *arg;
	struct fl_log *log;
	struct fl_metrics *metrics;
};

/* Feeds until it is freed. The loop must have sources for fl_driver_kind, fl_card_kind and fl_card_fault_kind; the last
 * one with fl_gpu_fault_sink, for plans want a fault gone when it is over. */
struct fl_gpu *fl_gpu_new(struct fl_io *io, struct fl_loop *loop, const struct fl_gpu_options *options,
			  struct fl_err *err) FL_MUSTUSE;
struct fl_gpu *fl_gpu_free(struct fl_gpu *gpu);    /* children are killed. NULL-safe, returns NULL */
FL_DEFINE_AUTO(fl_gpu, struct fl_gpu *, fl_gpu_free);

extern const struct fl_sink fl_gpu_fault_sink;     /* its self is a struct fl_gpu **: the source comes first */

/* A card's compute mode is all of it that can be wanted (plan/gpu/mps.h); its self is a struct fl_gpu **. Fails while
 * the driver is not ready; else the card is fed as the driver shows it afterwards. */
extern const struct fl_sink fl_gpu_card_sink;

/* Look at the bus, the driver's files and all cards now, as after a change that somebody knows of. */
void fl_gpu_look(struct fl_gpu *gpu);

/* Search these roots from now on, and this one for /dev; .p NULL: the driver's root. Copied; the same as before changes
 * nothing, and neither does FL_E_NOMEM. */
int fl_gpu_search(struct fl_gpu *gpu, const struct fl_str *roots, uint32_t len, struct fl_str dev) FL_MUSTUSE;

void fl_gpu_begin(struct fl_gpu *gpu);             /* with `wait`; called again, it changes nothing */

/* Let go of the driver, and take it up again. Pauses are counted: who pauses twice resumes twice, cancelled or not.
 * result: 0 when all children are gone; FL_E_TIMEOUT when one of them hangs in the kernel, and the driver cannot be
 * unloaded for that reason. A deadline of FL_GPU_LET_GO is kept by itself. `why` is for people. */
struct fl_gpu_pause {
	struct fl_op op;
	bool users;                   /* it waits, up to FL_DRIVER_USERS_WAIT, for who else has the driver open */
	struct fl_gpu_pause *next, **from;    /* the feeder's */
};
void fl_gpu_pause(struct fl_gpu *gpu, struct fl_gpu_pause *pause, const char *why);
void fl_gpu_resume(struct fl_gpu *gpu);

/* Who else has the driver open, as looked at when the pause was reached and every FL_DRIVER_USERS_EVERY while anybody
 * has: "; 1 process still has it open: ...", appended; or that it is not known, and why. Nothing is written where there
 * is nobody, or no pause. */
void fl_gpu_users(const struct fl_gpu *gpu, struct fl_buf *ret);

/* Processes, for tests and `status`; 0: there is none now. */
struct fl_gpu_state {
	int calls, events, check;     /* pids */
	unsigned stuck;               /* that hang in the kernel */
	uint64_t asked;               /* requests that were answered */
};
struct fl_gpu_state fl_gpu_state(const struct fl_gpu *gpu);
