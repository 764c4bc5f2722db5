/* timer.h - something to happen at a time.
 *
 * A pairing heap through the timers themselves: setting, moving and cancelling allocate nothing and so cannot fail; a
 * timer is cancelled where it stands. Timers of the same time fire in the order in which they were set. Zeroed is a
 * timer that is not set; a set one must not move in memory.
 *
 * Above this floor timers are set with fl_timer_set and fl_timer_stop (io/io.h); the heap itself is for the loop.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FL_NEVER UINT64_MAX

struct fl_timer {
	void (*fire)(struct fl_timer *timer);
	uint64_t at;                                  /* monotonic ns */
	uint64_t turn;                                /* the how-manieth set() this was; 0: not set */
	struct fl_timer *child, *next, **from;        /* first child; next sibling; what points here */
};

struct fl_timers {
	struct fl_timer *first;                       /* the next one due; NULL: none is set */
	uint64_t turns;                               /* of set() so far: the `turn` of the last one */
};

static inline bool fl_timer_is_set(const struct fl_timer *timer)
{
	return timer->turn != 0;
}

/* A set timer moves. FL_NEVER stops it. O(1). */
void fl_timers_set(struct fl_timers *timers, struct fl_timer *timer, uint64_t at);

/* One that is not set is left alone. O(log n) on average. */
void fl_timers_stop(struct fl_timers *timers, struct fl_timer *timer);

/* Take out the first one that is due by `now` and was set no later than the set() counted `turn`; NULL when the first
 * due one was set later, or none is due. */
struct fl_timer *fl_timers_due(struct fl_timers *timers, uint64_t now, uint64_t turn);
