/* gpu.h - the driver as a feeder: cards, their faults, and how we get on with it all (api/node.h: Driver, Card, Fault).
 *
 * The library of the vendor is loaded by children only (`fairlead gpu`, node/gpu_child.h): one answers calls, one at a
 * time and each by a deadline; one does nothing but wait for events; one is made for each deep check and thrown away.
 * Whatever they do, this side goes on:
 *   - no library, or no kernel module: Driver says Absent, cards are told as far as the bus tells them, and it is
 *     looked for again (a change in the directories where it would be, and the clock);
 *   - a call that does not return costs its child; the card that it was about is left out by the next one, and answers
 *     again only after a deep check of its own has seen it do so (FL_GPU_HUNG_RETRY_*);
 *   - a crash is a fact about the driver for as long as its replacement is not there, never an outage;
 *   - the driver's files change under us (upgrade, unload): children let go within FL_GPU_LET_GO, and start anew.
 * Cards are looked at every FL_GPU_LOOK_EVERY, and every FL_GPU_LOOK_SOON while one has a fault or is coming back; an
 * event is told at once. A look that finds nothing new changes nothing.
 */
#pragma once
#include "io/io.h"
#include "run/loop.h"

struct fl_gpu;
struct fl_log;

struct fl_gpu_options {
	const char *program;          /* of the children: ourselves; borrowed, like all here */
	const char *const *roots;     /* where to look for the driver, in order: "/", "/run/nvidia/driver"; NULL ends */
	const char *dev_root;         /* NULL: the driver's root */
	const char *sysfs, *proc;     /* "/sys", "/proc": others in tests and with a containerised driver */
	const char *const *env;       /* for the children, beside what they need; NULL: none */
	struct fl_log *log;
	struct fl_metrics *metrics;
};

/* Feeds until it is freed. The loop must have sources for fl_driver_kind, fl_card_kind and fl_card_fault_kind; the last
 * one with fl_gpu_fault_sink, for plans want a fault gone when it is over. */
struct fl_gpu *fl_gpu_new(struct fl_io *io, struct fl_loop *loop, const struct fl_gpu_options *options,
			  struct fl_err *err) FL_MUSTUSE;
struct fl_gpu *fl_gpu_free(struct fl_gpu *gpu);    /* children are killed. NULL-safe, returns NULL */

extern const struct fl_sink fl_gpu_fault_sink;     /* its self is a struct fl_gpu */

/* Let go of the driver: children are gone when done() is called, within FL_GPU_LET_GO; and take it up again. Reasons
 * are counted: who pauses twice resumes twice. `why` is for people. */
void fl_gpu_pause(struct fl_gpu *gpu, const char *why, void (*done)(void *arg), void *arg);
void fl_gpu_resume(struct fl_gpu *gpu);
