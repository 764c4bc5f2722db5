#include "base/units.h"
#include "io/posix.h"
#include "test.h"
#include "test_io.h"
#include <stdio.h>
#include <time.h>

/* ---- a diary: what was called, in which order ---- */

static char diary[200];

static void note(const char *what)
{
	size_t len = strlen(diary);

	(void)snprintf(diary + len, sizeof diary - len, "%s%s", len ? " " : "", what);
}

/* ---- timers ---- */

struct clock {
	struct fl_timer timer;
	struct fl_io *io;
	const char *name;
	struct clock *stops, *sets;
	uint64_t at;
	int fired;
};

static void fired(struct fl_timer *timer)
{
	struct clock *clock = fl_container(timer, struct clock, timer);

	note(clock->name);
	clock->fired++;
	if (clock->stops)
		fl_timer_stop(clock->io, &clock->stops->timer);
	if (clock->sets)
		fl_timer_set(clock->io, &clock->sets->timer, clock->at);
}

TEST(timers_fire_by_time_and_then_by_order_of_setting)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct clock c[4] = { { .name = "a" }, { .name = "b" }, { .name = "c" }, { .name = "d" } };
	uint64_t now;

	GOT(io);
	diary[0] = 0;
	now = fl_now(io);
	for (int i = 0; i < 4; i++)
		c[i].timer.fire = fired, c[i].io = io;
	fl_timer_set(io, &c[3].timer, now + 3 * FL_NS_PER_MS);
	fl_timer_set(io, &c[2].timer, now + 1 * FL_NS_PER_MS);
	fl_timer_set(io, &c[1].timer, now + 1 * FL_NS_PER_MS);
	fl_timer_set(io, &c[0].timer, now);
	CHECK_STR(fl_str(diary), "");
	OK(test_turns(io, &c[3].fired, 1));
	CHECK_STR(fl_str(diary), "a c b d");
	CHECK(fl_clock(io) >= now + 3 * FL_NS_PER_MS);
}

TEST(a_kernel_without_exact_waits_is_never_early_and_does_not_spin)
{
	FL_AUTO(fl_io) struct fl_io *io = fl_posix_new(NULL);
	struct clock c = { .name = "", .timer.fire = fired };
	uint64_t at;

	GOT(io);
	diary[0] = 0;
	fl_posix_of(fl_io_sys(io))->no_pwait2 = true;
	at = fl_now(io) + 2 * FL_NS_PER_MS + 1000;
	fl_timer_set(io, &c.timer, at);
	OK(test_turns(io, &c.fired, 1));
	CHECK(fl_clock(io) >= at);
	CHECK(fl_io_turns(io)->count <= 2);
	OK(fl_io_turn(io, 0, NULL));
}

TEST(a_timer_may_stop_or_set_others_and_itself)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct clock c[3] = { { .name = "a" }, { .name = "b" }, { .name = "c" } };

	GOT(io);
	diary[0] = 0;
	for (int i = 0; i < 3; i++) {
		c[i].timer.fire = fired, c[i].io = io;
		fl_timer_set(io, &c[i].timer, 1);
	}
	c[0].stops = &c[1];
	c[2].sets = &c[2];
	OK(fl_io_turn(io, 0, NULL));
	if (c[2].fired == 0)   /* under torture the wait may have been cut short; time may have run out: go on */
		OK(fl_io_turn(io, 0, NULL));
	CHECK_STR(fl_str(diary), "a c");
	CHECK_INT(c[2].fired, 1);   /* what is set in a turn fires in a later one */
	OK(test_turns(io, &c[2].fired, 3));
	CHECK_INT(c[1].fired, 0);
	fl_timer_stop(io, &c[2].timer);
}

TEST(one_that_is_always_set_in_the_past_pushes_nobody_back)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct clock a = { .name = "", .timer.fire = fired }, b = { .name = "", .timer.fire = fired };

	GOT(io);
	diary[0] = 0;
	a.io = b.io = io;
	a.sets = &a;
	fl_timer_set(io, &a.timer, 1);
	fl_timer_set(io, &b.timer, fl_now(io) + 100000);
	OK(test_turns(io, &b.fired, 1));
	CHECK(a.fired >= 1);
	fl_timer_stop(io, &a.timer);
}

TEST(an_idle_loop_does_not_wake)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	uint64_t before, until;

	GOT(io);
	OK(fl_io_turn(io, 0, NULL));
	before = fl_io_turns(io)->count;
	until = fl_clock(io) + 20 * FL_NS_PER_MS;
	while (fl_clock(io) < until)
		OK(fl_io_turn(io, until, NULL));
	CHECK(fl_io_turns(io)->count - before <= 2);   /* one, and one more where the wait is cut short */
}

/* ---- polls ---- */

struct ear {
	struct fl_poll poll;
	struct fl_io *io;
	const char *name;
	struct ear *stops;
	bool frees, reads;
	int heard;
	unsigned what;
};

static void heard(struct fl_poll *poll, unsigned what)
{
	struct ear *ear = fl_container(poll, struct ear, poll);
	struct ear *other = ear->stops;
	char byte;

	note(ear->name);
	ear->heard++;
	ear->what = what;
	if (ear->reads)
		(void)!fl_read(ear->io, poll->fd, &byte, 1);
	if (other) {
		bool frees = ear->frees;

		fl_poll_stop(ear->io, &other->poll);
		if (frees)
			memset(other, 0xdd, sizeof *other);   /* whoever touches it now crashes or fails */
	}
}

TEST(a_poll_freed_by_another_in_the_same_batch_is_not_called)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct ear a = { .name = "a", .frees = true }, b = { .name = "b", .frees = true };
	int fds[2][2];

	GOT(io);
	diary[0] = 0;
	for (int i = 0; i < 2; i++) {
		struct ear *ear = i ? &b : &a;

		OK(fl_pair(io, FL_PIPE, fds[i], NULL));
		ear->io = io;
		ear->poll = (struct fl_poll){ .ready = heard, .fd = fds[i][0] };
		OK(fl_poll_set(io, &ear->poll, FL_READABLE, NULL));
		OK(fl_write(io, fds[i][1], "x", 1));
	}
	a.stops = &b;
	b.stops = &a;
	while (!diary[0])
		OK(fl_io_turn(io, 0, NULL));
	CHECK(strcmp(diary, "a") == 0 || strcmp(diary, "b") == 0);
	fl_poll_stop(io, diary[0] == 'a' ? &a.poll : &b.poll);
}

TEST(a_poll_may_stop_and_free_itself)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct ear a = { .name = "a", .frees = true };
	int fds[2];

	GOT(io);
	diary[0] = 0;
	OK(fl_pair(io, FL_SOCKETPAIR, fds, NULL));
	a.stops = &a;
	a.io = io;
	a.poll = (struct fl_poll){ .ready = heard, .fd = fds[0] };
	OK(fl_poll_set(io, &a.poll, FL_WRITABLE, NULL));
	while (!diary[0])
		OK(fl_io_turn(io, 0, NULL));
	OK(fl_io_turn(io, 0, NULL));
	CHECK_STR(fl_str(diary), "a");
}

static const struct {
	const char *says;
	unsigned want;
	bool written, closed;
	unsigned what;
} ready_rows[] = {
	{ "nothing to read: nothing is told", FL_READABLE, false, false, 0 },
	{ "bytes to read", FL_READABLE, true, false, FL_READABLE },
	{ "room to write", FL_WRITABLE, false, false, FL_WRITABLE },
	{ "both", FL_READABLE | FL_WRITABLE, true, false, FL_READABLE | FL_WRITABLE },
	{ "only what is asked for", FL_WRITABLE, true, false, FL_WRITABLE },
	{ "a hang-up comes with all that is asked for", FL_READABLE, false, true, FL_READABLE | FL_HUNGUP },
	{ "a hang-up is told to a writer too", FL_WRITABLE, false, true, FL_WRITABLE | FL_HUNGUP },
	{ "a poll that asks for nothing is told nothing, not even a hang-up", 0, true, true, 0 },
};

TEST(readiness)
{
	EACH_ROW (row, ready_rows) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		struct ear a = { .name = "" };
		int fds[2];

		GOT(io);
		OK(fl_pair(io, FL_SOCKETPAIR, fds, NULL));
		a.poll = (struct fl_poll){ .ready = heard, .fd = fds[0] };
		OK(fl_poll_set(io, &a.poll, row->want, NULL));
		if (row->written)
			OK(fl_write(io, fds[1], "x", 1));
		if (row->closed)
			fl_close(io, fds[1]);
		OK(fl_io_turn(io, 0, NULL));
		OK(fl_io_turn(io, 0, NULL));
		CHECK_INT(a.what, row->what);
		fl_poll_stop(io, &a.poll);
	}
}

TEST(an_interest_that_shrank_is_not_told_from_the_batch)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct ear a = { .name = "a" };
	int fds[2];

	GOT(io);
	OK(fl_pair(io, FL_SOCKETPAIR, fds, NULL));
	a.poll = (struct fl_poll){ .ready = heard, .fd = fds[0] };
	OK(fl_poll_set(io, &a.poll, FL_READABLE | FL_WRITABLE, NULL));
	OK(fl_poll_set(io, &a.poll, FL_READABLE, NULL));
	OK(fl_poll_set(io, &a.poll, FL_READABLE, NULL));   /* no change: no call */
	OK(fl_io_turn(io, 0, NULL));
	CHECK_INT(a.heard, 0);
	OK(fl_poll_set(io, &a.poll, 0, NULL));
	CHECK_INT(a.poll.want, 0);
}

TEST(hundreds_of_ready_fds_all_get_their_turn)
{
	enum { MANY = 200 };
	FL_AUTO(fl_io) struct fl_io *io = fl_posix_new(NULL);
	static struct ear ears[MANY];
	int fds[MANY][2];
	bool all = false;

	GOT(io);
	for (int i = 0; i < MANY; i++) {
		OK(fl_pair(io, FL_PIPE, fds[i], NULL));
		OK(fl_write(io, fds[i][1], "x", 1));
		ears[i] = (struct ear){ .name = "", .io = io, .poll = { .ready = heard, .fd = fds[i][0] } };
		OK(fl_poll_set(io, &ears[i].poll, FL_READABLE, NULL));
	}
	for (int turn = 0; turn < 100 && !all; turn++) {
		OK(fl_io_turn(io, 0, NULL));
		all = true;
		for (int i = 0; i < MANY; i++)
			all &= ears[i].heard > 0;
	}
	CHECK(all);
	for (int i = 0; i < MANY; i++) {
		fl_poll_stop(io, &ears[i].poll);
		fl_close(io, fds[i][0]);
		fl_close(io, fds[i][1]);
	}
}

/* ---- the loop itself ---- */

static void stop(struct fl_timer *timer)
{
	fl_io_stop(fl_container(timer, struct clock, timer)->io);
}

TEST(a_loop_runs_until_it_is_stopped)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct clock c = { .timer.fire = stop };

	GOT(io);
	c.io = io;
	fl_io_stop(io);
	OK(fl_io_run(io, NULL));   /* stopped before it ran */
	fl_timer_set(io, &c.timer, fl_now(io) + FL_NS_PER_MS);
	OK(fl_io_run(io, NULL));
	CHECK(!fl_timer_is_set(&c.timer));
}

static void dawdle(struct fl_timer *timer)
{
	struct clock *clock = fl_container(timer, struct clock, timer);
	uint64_t until = fl_clock(clock->io) + 3 * FL_NS_PER_MS;

	fl_io_name(clock->io, clock->name);
	while (fl_clock(clock->io) < until)
		;
	clock->fired++;
}

TEST(the_longest_call_is_known_by_its_name)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct clock c[2] = { { .name = "slow one", .timer.fire = dawdle }, { .name = "next", .timer.fire = fired } };

	GOT(io);
	for (int i = 0; i < 2; i++) {
		c[i].io = io;
		fl_timer_set(io, &c[i].timer, 1);
	}
	OK(test_turns(io, &c[0].fired, 1));
	CHECK_INT(c[1].fired, 0);   /* the turn's time was used up */
	OK(test_turns(io, &c[1].fired, 1));
	CHECK(fl_io_turns(io)->longest_call >= 3 * FL_NS_PER_MS);
	CHECK(fl_io_turns(io)->longest >= fl_io_turns(io)->longest_call);
	CHECK_STR(fl_str(fl_io_turns(io)->longest_name), "slow one");
	fl_io_turns_reset(io);
	CHECK_INT(fl_io_turns(io)->longest, 0);
}

TEST(clocks_and_chance)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	uint8_t a[16] = { 0 }, b[16] = { 0 };

	GOT(io);
	CHECK(fl_now(io) > 0);
	CHECK(fl_clock(io) >= fl_now(io));
	CHECK(fl_wall(io) / (int64_t)FL_NS_PER_S - time(NULL) <= 1);
	OK(fl_random(io, a, sizeof a, NULL));
	OK(fl_random(io, b, sizeof b, NULL));
	CHECK(memcmp(a, b, sizeof a) != 0);
}
