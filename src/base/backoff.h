/* backoff.h - how long to wait before a retry: twice as long each time, up to a maximum.
 *
 *     wait = fl_spread(fl_backoff(&delay, FIRST, LAST), chance);
 *     ...
 *     delay = 0;       it went well
 */
#pragma once
#include <stdint.h>

/* The wait after one more failure; *delay is the last such wait, 0 before the first. */
static inline uint64_t fl_backoff(uint64_t *delay, uint64_t first, uint64_t last)
{
	uint64_t next = *delay ? *delay * 2 : first;

	return *delay = next < last ? next : last;
}

/* The wait after so many failures in a row; after none as after one. */
static inline uint64_t fl_backoff_after(uint32_t failures, uint64_t first, uint64_t last)
{
	uint64_t delay = first;

	while (failures-- > 1 && delay < last)
		delay *= 2;
	return delay < last ? delay : last;
}

/* Adds up to half of the delay at random, so that what failed together is not retried together. */
static inline uint64_t fl_spread(uint64_t delay, uint64_t chance)
{
	return delay + chance % (delay / 2 + 1);
}
