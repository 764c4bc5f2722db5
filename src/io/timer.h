/* timer.h - something to happen at a time.
 *
 * A pairing heap through the timers themselves: setting, moving and cancelling allocate nothing and so cannot fail; a
 * timer is cancelled where it stands. Timers of the same time fire in the order in which they were set.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct fl_timer {
	void (*fire)(struct fl_timer *timer);
	uint64_t at;                                  /* monotonic ns */
	uint64_t turn;                                /* the how-manieth set() this was; 0: not set */
	struct fl_timer *child, *next, **from;        /* first child; next sibling; what points here */
};

struct fl_timers {
	struct fl_timer *first;
	uint64_t turns;
};

static inline bool fl_timer_is_set(const struct fl_timer *timer)
{
	return timer->turn != 0;
}

void fl_timers_set(struct fl_timers *timers, struct fl_timer *timer, uint64_t at);
void fl_timers_stop(struct fl_timers *timers, struct fl_timer *timer);

/* Take out the first one that is due by `now`; NULL when none is. */
struct fl_timer *fl_timers_due(struct fl_timers *timers, uint64_t now);
