#include "io/timer.h"
#include "io/io.h"
#include "test.h"

/* The heap against the plainest thing that could be: an array that is looked through. */
enum { TIMERS = 60, STEPS = 6000 };

struct model {
	bool set;
	uint64_t at, turn;
};

static struct fl_timer timers[TIMERS];
static struct model models[TIMERS];

static int model_due(uint64_t now, uint64_t turn)
{
	int first = -1;

	for (int i = 0; i < TIMERS; i++)
		if (models[i].set && (first < 0 || models[i].at < models[first].at ||
				      (models[i].at == models[first].at && models[i].turn < models[first].turn)))
			first = i;
	return first >= 0 && models[first].at <= now && models[first].turn <= turn ? first : -1;
}

static int index_of(const struct fl_timer *timer)
{
	return timer ? (int)(timer - timers) : -1;
}

TEST(the_heap_does_what_a_list_would)
{
	struct fl_timers heap = { 0 };
	uint64_t turns = 0, now = 0;

	memset(timers, 0, sizeof timers);
	memset(models, 0, sizeof models);
	for (int step = 0; step < STEPS; step++) {
		int i = (int)(test_random() % TIMERS), want;
		uint64_t at = test_random() % 40, turn;

		switch (test_random() % 4) {
		case 0:
		case 1:
			fl_timers_set(&heap, &timers[i], now + at);
			models[i] = (struct model){ true, now + at, ++turns };
			break;
		case 2:
			fl_timers_stop(&heap, &timers[i]);
			models[i].set = false;
			break;
		default:
			now += test_random() % 8;
			turn = turns - test_random() % 5;
			if (turn > turns)
				turn = turns;
			want = model_due(now, turn);
			CHECK_INT(index_of(fl_timers_due(&heap, now, turn)), want);
			if (want >= 0)
				models[want].set = false;
		}
		CHECK(fl_timer_is_set(&timers[i]) == models[i].set);
	}
	for (int left = TIMERS; left > 0; left--) {
		int want = model_due(UINT64_MAX - 1, turns);

		CHECK_INT(index_of(fl_timers_due(&heap, UINT64_MAX - 1, turns)), want);
		if (want >= 0)
			models[want].set = false;
	}
	CHECK(!heap.first);
}

TEST(timers_of_one_time_fire_in_the_order_of_setting)
{
	struct fl_timers heap = { 0 };

	memset(timers, 0, sizeof timers);
	for (int i = 0; i < TIMERS; i++)
		fl_timers_set(&heap, &timers[i], 7);
	fl_timers_set(&heap, &timers[0], 7);   /* set anew: now the last */
	for (int i = 1; i < TIMERS; i++)
		CHECK_INT(index_of(fl_timers_due(&heap, 7, FL_NEVER)), i);
	CHECK_INT(index_of(fl_timers_due(&heap, 7, FL_NEVER)), 0);
}

TEST(rounds_are_multiples_of_the_clock)
{
	static const struct {
		const char *says;
		uint64_t now, every, in;
	} rows[] = {
		{ "within a round it is the rest of it", 42, 30, 18 },
		{ "at a round it is the next one", 60, 30, 30 },
		{ "just before one it is that", 59, 30, 1 },
		{ "the clock's beginning is a round", 0, 30, 30 },
	};

	for (size_t i = 0; i < FL_LEN(rows); i++) {
		test_row(rows[i].says);
		CHECK_INT(fl_round_in(rows[i].now, rows[i].every), rows[i].in);
	}
}

TEST(never_is_not_set)
{
	struct fl_timers heap = { 0 };
	struct fl_timer timer = { 0 };

	fl_timers_set(&heap, &timer, 5);
	CHECK(fl_timer_is_set(&timer));
	fl_timers_set(&heap, &timer, FL_NEVER);
	CHECK(!fl_timer_is_set(&timer));
	fl_timers_stop(&heap, &timer);
	CHECK(!heap.first);
}

TEST(many_children_do_not_need_a_deep_stack)
{
	enum { MANY = 200000 };
	struct fl_timers heap = { 0 };
	FL_AUTO(fl_mem) struct fl_timer *many = fl_zalloc_n(MANY, sizeof *many);

	GOT(many);
	for (uint64_t i = 0; i < MANY; i++)
		fl_timers_set(&heap, &many[i], i);
	for (uint64_t i = 0; i < MANY; i++)
		CHECK(fl_timers_due(&heap, MANY, FL_NEVER) == &many[i]);
}

TEST(a_timer_takes_48_bytes)
{
	CHECK_INT(sizeof(struct fl_timer), 48);
}
