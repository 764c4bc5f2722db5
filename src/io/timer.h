/* timer.h - timers: a callback at a time.
 *
 * An intrusive pairing heap: setting, moving and cancelling allocate nothing and so cannot fail. Timers of the same
 * time fire in the order in which they were set. A zeroed timer is not set; a set one must not move in memory.
 *
 * Code above this layer uses fl_timer_set and fl_timer_stop (io/io.h); the heap itself is for the loop.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FL_NEVER UINT64_MAX

struct fl_timer {
	void (*fire)(struct fl_timer *timer);
	uint64_t at;                                  /* monotonic ns */
	uint64_t turn;                                /* number of the set() that set it; 0: not set */
	struct fl_timer *child, *next, **from;        /* first child; next sibling; what points here */
};

struct fl_timers {
	struct fl_timer *first;                       /* the next one due; NULL: none is set */
	uint64_t turns;                               /* set() calls so far: the `turn` of the last one */
};

static inline bool fl_timer_is_set(const struct fl_timer *timer)
{
	return timer->turn != 0;
}

/* A set timer moves. FL_NEVER stops it. O(1). */
void fl_timers_set(struct fl_timers *timers, struct fl_timer *timer, uint64_t at);

/* Does nothing to a timer that is not set. O(log n) on average. */
void fl_timers_stop(struct fl_timers *timers, struct fl_timer *timer);

/* Take out the first one that is due by `now` and was set no later than the set() counted `turn`; NULL when the first
 * due one was set later, or none is due. */
struct fl_timer *fl_timers_due(struct fl_timers *timers, uint64_t now, uint64_t turn);
