/* events.h - waiting for what cards report by themselves. For the child that does nothing else.
 *
 * Equal events that come faster than FL_GPU_STORM_EVERY are told together, with how many there were: the first one of
 * them at once.
 */
#pragma once
#include "io/serve.h"
#include "node/gpu/child.h"
#include "node/gpu/nv_load.h"
#include "node/gpu/pci.h"

#define FL_GPU_STORM 64                      /* kinds of event that a child remembers, to tell repeated ones at once */
/* Equal events of one card that come faster are told together: a storm of them costs next to nothing. */
#define FL_GPU_STORM_EVERY (100 * FL_NS_PER_MS)
/* Waiting for events fails: the card is gone, or the driver. Soon again, then so seldom that it costs nothing. */
#define FL_GPU_EVENTS_RETRY_FIRST (1 * FL_NS_PER_S)
#define FL_GPU_EVENTS_RETRY_LAST (30 * FL_NS_PER_S)

/* ---- storms: pure ---- */

struct fl_gpu_event {
	char card[FL_PCI_ADDRESS];
	enum fl_fault_what what;
	int64_t xid;
	int32_t gi, ci;                      /* -1: none */
};

struct fl_gpu_storm {
	struct {
		struct fl_gpu_event event;
		uint64_t told;               /* when; 0: this place is free */
		int64_t more;                /* that have come since */
	} at[FL_GPU_STORM];
};

/* One more. true: tell it now. false: it is kept, fl_gpu_storm_take gives it when it is time. */
bool fl_gpu_storm_add(struct fl_gpu_storm *storm, const struct fl_gpu_event *event, int64_t count, uint64_t now);
/* How many of *ret are to be told now; 0: none. */
int64_t fl_gpu_storm_take(struct fl_gpu_storm *storm, uint64_t now, struct fl_gpu_event *ret);
/* When the next are due; FL_NEVER. */
uint64_t fl_gpu_storm_next(const struct fl_gpu_storm *storm);

/* ---- waiting ---- */

struct fl_gpu_events {
	/* The caller's. */
	struct fl_io *io;
	struct fl_serve *serve;
	const struct fl_nv *nv;              /* open */
	void (*ended)(struct fl_gpu_events *events);   /* the driver is gone: end the program */

	/* Its own. */
	struct fl_nv_event_set *set;
	struct fl_timer timer;
	bool deaf;                           /* a wait failed, as with a card that is lost: the set is made anew */
	uint64_t delay;                      /* before that: none at first; ever longer while every wait fails */
	uint64_t again_at, again_delay;      /* when those are tried that should report and do not; FL_NEVER: all do */
	bool untold;                         /* the agent knows of others that report, or of another reason */
	char why[FL_ERR_TEXT];               /* the first of those does not; "": all do that can */
	struct fl_gpu_storm storm;
	uint32_t len;
	struct {
		char card[FL_PCI_ADDRESS];
		struct fl_nv_device *device;
		bool reports, cannot;        /* neither: it is tried again */
	} at[FL_GPU_CARDS_MAX];
};

/* Register these, parted by blanks: Told, with `cards` that report and `why` not all do. One that cannot report by
 * itself is left alone; one that is refused for another reason, or a set, is tried again (FL_GPU_EVENTS_RETRY_*), and
 * what became of it is told (FL_GPU_TELL_LISTENS); those that report go on meanwhile. Fails when the driver is gone. */
int fl_gpu_events_start(struct fl_gpu_events *events, struct fl_str cards, struct fl_arena *arena,
			struct fl_gpu_told *ret, struct fl_err *err) FL_MUSTUSE;
void fl_gpu_events_stop(struct fl_gpu_events *events);   /* one that is not started is left alone */
