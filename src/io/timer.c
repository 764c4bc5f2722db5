#include "io/timer.h"
#include "base/chain.h"

static bool before(const struct fl_timer *a, const struct fl_timer *b)
{
	return a->at < b->at || (a->at == b->at && a->turn < b->turn);
}

/* Both are heads of heaps without siblings; the later one becomes the first child of the other. */
static struct fl_timer *join(struct fl_timer *a, struct fl_timer *b)
{
	struct fl_timer *above = before(b, a) ? b : a, *below = above == a ? b : a;

	below->next = above->child;
	if (below->next)
		below->next->from = &below->next;
	below->from = &above->child;
	above->child = below;
	return above;
}

/* The children of a head that goes away, as one heap: in pairs from the left, then the pairs from the right. */
static struct fl_timer *join_all(struct fl_timer *list)
{
	struct fl_timer *pairs = NULL, *all = NULL;

	while (list) {
		struct fl_timer *a = list, *b = a->next;

		list = b ? b->next : NULL;
		a->next = NULL;
		if (b) {
			b->next = NULL;
			a = join(a, b);
		}
		a->next = pairs;
		pairs = a;
	}
	while (pairs) {
		struct fl_timer *next = pairs->next;

		pairs->next = NULL;
		all = all ? join(all, pairs) : pairs;
		pairs = next;
	}
	return all;
}

static void put(struct fl_timers *timers, struct fl_timer *heap)
{
	if (!heap)
		return;
	timers->first = timers->first ? join(timers->first, heap) : heap;
	timers->first->from = &timers->first;
}

void fl_timers_stop(struct fl_timers *timers, struct fl_timer *timer)
{
	struct fl_timer *below;

	if (!timer->turn)
		return;
	below = timer->child ? join_all(timer->child) : NULL;
	fl_chain_take(timer);
	timer->turn = 0;
	timer->child = NULL;
	put(timers, below);
}

void fl_timers_set(struct fl_timers *timers, struct fl_timer *timer, uint64_t at)
{
	fl_timers_stop(timers, timer);
	if (at == FL_NEVER)
		return;
	timer->at = at;
	timer->turn = ++timers->turns;
	timer->child = timer->next = NULL;
	put(timers, timer);
}

struct fl_timer *fl_timers_due(struct fl_timers *timers, uint64_t now, uint64_t turn)
{
	struct fl_timer *timer = timers->first;

	if (!timer || timer->at > now || timer->turn > turn)
		return NULL;
	fl_timers_stop(timers, timer);
	return timer;
}
