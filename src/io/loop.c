#include "io/loop.h"
#include <assert.h>

struct fl_io *fl_io_new(struct fl_sys *sys, struct fl_err *err)
{
	struct fl_io *io = fl_zalloc(sizeof *io);

	if (!io) {
		sys->free(sys);
		(void)fl_fail(err, FL_E_NOMEM, "event loop");
		return NULL;
	}
	io->sys = sys;
	io->now = sys->now(sys);
	io->ended_last = &io->ended;
	io->notifies_last = &io->notifies;
	io->notify_poll.fd = -1;
	return io;
}

struct fl_io *fl_posix_new(struct fl_err *err)
{
	struct fl_sys *sys = fl_posix_sys(err);

	return sys ? fl_io_new(sys, err) : NULL;
}

struct fl_io *fl_io_free(struct fl_io *io)
{
	struct fl_sys *sys;

	if (!io)
		return NULL;
	sys = io->sys;
	io->at = io->len = 0;
	io->notifies = NULL;
	fl_children_free(io);
	fl_jobs_take_back(io);
	sys->settle(sys);
	fl_jobs_release(io);
	fl_notifies_close(io);
	fl_free(io);
	sys->free(sys);
	return NULL;
}

struct fl_sys *fl_io_sys(struct fl_io *io)
{
	return io->sys;
}

const struct fl_fs *fl_io_fs(struct fl_io *io)
{
	return io->sys->fs;
}

/* ---- time and random bytes ---- */

uint64_t fl_now(struct fl_io *io)
{
	return io->now;
}

uint64_t fl_clock(struct fl_io *io)
{
	return io->sys->now(io->sys);
}

int64_t fl_wall(struct fl_io *io)
{
	return io->sys->wall(io->sys);
}

int fl_random(struct fl_io *io, void *bytes, size_t len, struct fl_err *err)
{
	int r = io->sys->random(io->sys, bytes, len);

	return r < 0 ? fl_fail_sys(err, -r, "random bytes") : 0;
}

void fl_timer_set(struct fl_io *io, struct fl_timer *timer, uint64_t at)
{
	/* Not before now: a timer that is repeatedly set in the past must not delay those that are due. */
	fl_timers_set(&io->timers, timer, at < io->now ? io->now : at);
}

void fl_timer_stop(struct fl_io *io, struct fl_timer *timer)
{
	fl_timers_stop(&io->timers, timer);
}

/* ---- readiness ---- */

int fl_poll_set(struct fl_io *io, struct fl_poll *poll, unsigned want, struct fl_err *err)
{
	int r;

	if (want == poll->want)
		return 0;
	if (want == 0) {
		fl_poll_stop(io, poll);
		return 0;
	}
	r = io->sys->watch(io->sys, poll->fd, poll->want, want, poll);
	if (r < 0)
		return fl_fail_sys(err, -r, "watch an fd");
	poll->want = want;
	return 0;
}

void fl_poll_stop(struct fl_io *io, struct fl_poll *poll)
{
	if (!poll->want)
		return;
	(void)io->sys->watch(io->sys, poll->fd, poll->want, 0, poll);
	poll->want = 0;
	for (unsigned i = io->at; i < io->len; i++)
		if (io->batch[i].token == poll)
			io->batch[i].token = NULL;
}

/* ---- turns ---- */

const struct fl_turns *fl_io_turns(const struct fl_io *io)
{
	return &io->turns;
}

void fl_io_turns_reset(struct fl_io *io)
{
	io->turns = (struct fl_turns){ 0 };
}

void fl_io_name(struct fl_io *io, const char *name)
{
	io->name = name;
}

void fl_io_stop(struct fl_io *io)
{
	io->stopped = true;
}

uint64_t fl_io_next(const struct fl_io *io)
{
	if (io->at < io->len || io->doing || io->ended)
		return 0;
	return io->timers.first ? io->timers.first->at : FL_NEVER;
}

/* After each callback: how long was it? False when the turn has used up its time. */
static bool called(struct fl_io *io, const char *kind)
{
	uint64_t now = io->sys->now(io->sys), took = now - io->now;

	if (took > io->turns.longest_call) {
		io->turns.longest_call = took;
		io->turns.longest_name = io->name ? io->name : kind;
	}
	io->name = NULL;
	io->now = now;
	return now - io->turn_began < FL_TURN_BUDGET;
}

static bool call_poll(struct fl_io *io, struct fl_poll *poll, unsigned what)
{
	if (what & FL_HUNGUP)
		what |= poll->want;
	what &= poll->want | FL_HUNGUP;   /* the interest may have changed since the report */
	if (!what)
		return true;
	poll->ready(poll, what);
	return called(io, "poll");
}

static void run_batch(struct fl_io *io)
{
	bool time_left = true;

	while (time_left && io->at < io->len) {
		struct fl_io_event *event = &io->batch[io->at++];

		if (!event->token)
			continue;
		if (event->what & FL_JOB_RETURNED) {
			fl_job_returned(event->token);
			time_left = called(io, "job");
		} else {
			time_left = call_poll(io, event->token, event->what);
		}
	}
}

static void run_timers(struct fl_io *io)
{
	uint64_t now = io->now, turn = io->timers.turns;
	struct fl_timer *timer;

	while ((timer = fl_timers_due(&io->timers, now, turn))) {
		timer->fire(timer);
		if (!called(io, "timer"))
			return;
	}
}

static void run_ended(struct fl_io *io)
{
	if (!io->doing && io->ended) {
		io->doing = io->ended;
		io->doing->from = &io->doing;
		io->ended = NULL;
		io->ended_last = &io->ended;
	}
	while (io->doing) {
		fl_op_run(io->doing);
		if (!called(io, "op"))
			return;
	}
}

int fl_io_turn(struct fl_io *io, uint64_t until, struct fl_err *err)
{
	uint64_t next = fl_io_next(io), took;
	int n;

	if (io->at == io->len) {
		n = io->sys->wait(io->sys, next < until ? next : until, io->batch, FL_TURN_EVENTS);
		io->at = io->len = 0;
		if (n < 0)
			return fl_fail_sys(err, -n, "wait for events");
		io->len = (unsigned)n;
	}
	io->turn_began = io->now = io->sys->now(io->sys);
	/* Each of the three gets at least one call a turn, however long the others take. */
	run_batch(io);
	run_timers(io);
	run_ended(io);
	took = io->now - io->turn_began;
	if (took > io->turns.longest)
		io->turns.longest = took;
	io->turns.count++;
	return 0;
}

int fl_io_run(struct fl_io *io, struct fl_err *err)
{
	int r = 0;

	while (!io->stopped && r == 0)
		r = fl_io_turn(io, FL_NEVER, err);
	io->stopped = false;
	return r;
}
