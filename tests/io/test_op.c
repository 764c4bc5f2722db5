#include "base/units.h"
#include "io/job.h"
#include "test.h"
#include "test_io.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* An operation of our own kind, which ends when told to. */
struct toy {
	struct fl_op op;
	const char *name;
	struct fl_err err;
	int done, dropped;
	int64_t result;
	struct toy *cancels, *starts, *ends;   /* inside done() */
	bool freed_by_done;
};

static char diary[200];
static int dropped_well;

static void drop(struct fl_op *op)
{
	struct toy *toy = fl_container(op, struct toy, op);

	toy->dropped++;
	dropped_well += op->state == FL_OP_ENDED;
}

static void start(struct fl_io *io, struct toy *toy)
{
	fl_op_begin(&toy->op, io, drop);
}

static void done(struct fl_op *op)
{
	struct toy *toy = fl_container(op, struct toy, op);
	size_t len = strlen(diary);

	(void)snprintf(diary + len, sizeof diary - len, "%s%s", len ? " " : "", toy->name);
	toy->done++;
	toy->result = op->result;
	if (toy->cancels)
		fl_op_cancel(&toy->cancels->op);
	if (toy->starts)
		start(op->io, toy->starts);
	if (toy->ends)
		fl_op_end(&toy->ends->op, 0);
	if (toy->freed_by_done)
		memset(toy, 0xdd, sizeof *toy);
}

#define TOY(name_) (struct toy){ .name = name_, .op.done = done }

TEST(operations_are_done_in_the_order_in_which_they_ended_and_never_at_once)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct toy a = TOY("a"), b = TOY("b"), c = TOY("c");

	GOT(io);
	diary[0] = 0;
	start(io, &a);
	start(io, &b);
	start(io, &c);
	fl_op_end(&c.op, 1);
	fl_op_end(&a.op, 2);
	CHECK_INT(a.done + c.done, 0);
	CHECK(fl_op_busy(&a.op));
	OK(fl_io_turn(io, FL_NEVER, NULL));   /* does not wait: there is something to do */
	CHECK_STR(fl_str(diary), "c a");
	CHECK(!fl_op_busy(&a.op));
	CHECK_INT(c.result, 1);
	CHECK_INT(b.done, 0);
	fl_op_cancel(&b.op);
	CHECK_INT(b.dropped, 1);
	CHECK_INT(a.dropped + c.dropped, 0);
}

static const struct {
	const char *says;
	bool started, ended, failed, turned, twice;
	int done, dropped, dropped_well;
} cancel_rows[] = {
	{ "one that never started is left alone", false, false, false, false, false, 0, 0, 0 },
	{ "a pending one is dropped", true, false, false, false, false, 0, 1, 0 },
	{ "twice is once", true, false, false, false, true, 0, 1, 0 },
	{ "one that ended well gives its result back", true, true, false, false, false, 0, 1, 1 },
	{ "one that failed has nothing to give back", true, false, true, false, false, 0, 0, 0 },
	{ "one that is done is idle", true, true, false, true, false, 1, 0, 0 },
};

TEST(cancel_at_every_moment)
{
	EACH_ROW (row, cancel_rows) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		struct toy a = TOY("a");

		GOT(io);
		diary[0] = 0;
		dropped_well = 0;
		a.op.deadline = fl_now(io) + FL_NS_PER_S;
		if (row->started)
			start(io, &a);
		if (row->ended)
			fl_op_end(&a.op, 3);
		if (row->failed)
			fl_op_fail(&a.op, FL_E_IO, "no");
		if (row->turned)
			OK(fl_io_turn(io, 0, NULL));
		fl_op_cancel(&a.op);
		if (row->twice)
			fl_op_cancel(&a.op);
		CHECK(!fl_timer_is_set(&a.op.timer));
		OK(fl_io_turn(io, 0, NULL));
		CHECK_INT(a.done, row->done);
		CHECK_INT(a.dropped, row->dropped);
		CHECK_INT(dropped_well, row->dropped_well);
		CHECK(!fl_op_busy(&a.op));
	}
}

TEST(inside_done_others_may_be_cancelled_started_and_ended)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct toy a = TOY("a"), b = TOY("b"), c = TOY("c"), d = TOY("d"), e = TOY("e");

	GOT(io);
	diary[0] = 0;
	start(io, &a);
	start(io, &b);
	start(io, &c);
	start(io, &e);
	a.cancels = &b;
	a.starts = &d;
	a.ends = &e;
	fl_op_end(&a.op, 0);
	fl_op_end(&b.op, 0);
	fl_op_end(&c.op, 0);
	OK(fl_io_turn(io, 0, NULL));
	CHECK_STR(fl_str(diary), "a c");   /* what ends in a turn is done in the next */
	CHECK(fl_op_busy(&d.op));
	OK(fl_io_turn(io, 0, NULL));
	CHECK_STR(fl_str(diary), "a c e");
	CHECK_INT(b.done, 0);
	fl_op_cancel(&d.op);
}

TEST(the_last_ended_one_may_be_cancelled)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct toy a = TOY("a"), b = TOY("b"), c = TOY("c");

	GOT(io);
	diary[0] = 0;
	start(io, &a);
	start(io, &b);
	start(io, &c);
	fl_op_end(&a.op, 0);
	fl_op_end(&b.op, 0);
	fl_op_cancel(&b.op);
	fl_op_end(&c.op, 0);
	OK(fl_io_turn(io, 0, NULL));
	CHECK_STR(fl_str(diary), "a c");
}

TEST(done_may_start_the_same_operation_again_or_free_it)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct toy a = TOY("a"), b = TOY("b");

	GOT(io);
	diary[0] = 0;
	start(io, &a);
	start(io, &b);
	a.starts = &a;
	b.freed_by_done = true;
	fl_op_end(&a.op, 0);
	fl_op_end(&b.op, 0);
	OK(fl_io_turn(io, 0, NULL));
	CHECK_STR(fl_str(diary), "a b");
	CHECK(fl_op_busy(&a.op));
	fl_op_cancel(&a.op);
}

TEST(a_deadline_ends_it)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct toy a = TOY("a"), past = TOY("past"), never = TOY("never");

	GOT(io);
	diary[0] = 0;
	a.op.err = &a.err;
	a.op.deadline = fl_now(io) + FL_NS_PER_MS;
	past.op.deadline = 1;
	never.op.deadline = FL_NEVER;
	start(io, &a);
	start(io, &past);
	start(io, &never);
	CHECK_INT(past.done, 0);
	OK(test_turns(io, &a.done, 1));
	CHECK_STR(fl_str(diary), "past a");
	CHECK_INT(a.result, -FL_E_TIMEOUT);
	CHECK_INT(a.err.code, FL_E_TIMEOUT);
	CHECK_INT(a.dropped, 1);
	CHECK_INT(never.done, 0);
	fl_op_cancel(&never.op);
}

TEST(an_end_beats_a_deadline_that_comes_later)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct toy a = TOY("a");

	GOT(io);
	a.op.deadline = 1;
	start(io, &a);
	fl_op_end(&a.op, 4);
	OK(test_turns(io, &a.done, 1));
	CHECK_INT(a.result, 4);
	CHECK_INT(a.dropped, 0);
}

TEST(a_failure_has_code_errno_and_words)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct toy a = TOY("a"), b = TOY("b");

	GOT(io);
	a.op.err = &a.err;
	start(io, &a);
	start(io, &b);
	fl_op_fail_sys(&a.op, ENOSPC, "write '%s'", "x");
	fl_op_fail(&b.op, FL_E_DENIED, "nobody reads this");
	OK(test_turns(io, &b.done, 1));
	CHECK_INT(a.result, -FL_E_RETRY);
	CHECK_INT(a.err.sys, ENOSPC);
	CHECK_STR(fl_str(a.err.text), "write 'x': No space left on device");
	CHECK_INT(b.result, -FL_E_DENIED);
}

/* ---- jobs ---- */

struct work {
	struct fl_job job;
	int runs, want_runs;
	int64_t result;
};
static int released, finished, job_order;

static void run(struct fl_job *job, const struct fl_fs *fs)
{
	struct work *work = fl_container(job, struct work, job);

	(void)fs;
	work->runs++;
	job->result = work->result;
	job->what = "work";
}

static void finish(struct fl_job *job, struct fl_op *op)
{
	struct work *work = fl_container(job, struct work, job);

	finished++;
	if (work->runs < work->want_runs)
		fl_job_again(job);
	else
		fl_op_end(op, work->result * 10);
}

static void release(struct fl_job *job)
{
	struct work *work = fl_container(job, struct work, job);

	released++;
	job_order = job_order * 10 + (int)work->result;
	fl_free(work);
}

static struct work *work_new(int64_t result, bool finishes)
{
	struct work *work = fl_zalloc(sizeof *work);

	released = finished = job_order = 0;
	if (work) {
		work->job = (struct fl_job){ .run = run, .finish = finishes ? finish : NULL, .release = release };
		work->result = result;
	}
	return work;
}

static const struct {
	const char *says;
	int64_t work;
	bool finishes;
	int runs;
	int64_t result;
	const char *words;
} job_rows[] = {
	{ "its result is the operation's", 7, false, 1, 7, NULL },
	{ "a negated errno is a failure with words", -ENOENT, false, 1, -FL_E_NOTFOUND,
	  "work: No such file or directory" },
	{ "finish decides", 7, true, 1, 70, NULL },
	{ "finish may have it run again", 7, true, 3, 70, NULL },
};

TEST(one_without_done_ends_and_a_job_without_release_is_freed)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct fl_op op = { 0 };
	struct work *work;

	GOT(io);
	work = work_new(7, false);
	GOT(work);
	work->job.release = NULL;
	fl_job_start(io, &op, &work->job, FL_LANE_FILES);
	while (fl_op_busy(&op))
		OK(fl_io_turn(io, FL_NEVER, NULL));
	OK((int)op.result);
	CHECK_INT(op.result, 7);
}

TEST(jobs_end_operations)
{
	EACH_ROW (row, job_rows) {
		FL_AUTO(fl_io) struct fl_io *io = test_io();
		struct fl_err err;
		struct fl_op op = { .err = &err };
		struct work *work;
		int64_t result;

		GOT(io);
		work = work_new(row->work, row->finishes);
		GOT(work);
		work->want_runs = row->runs;
		fl_job_start(io, &op, &work->job, FL_LANE_FILES);
		result = test_op(io, &op);
		CHECK_INT(released, 1);
		if (test_tortured() && result != row->result) {
			CHECK(result < 0);   /* no worker: told */
			return;
		}
		CHECK_INT(result, row->result);
		CHECK_INT(finished, row->finishes ? row->runs : 0);
		if (row->words)
			CHECK_STR(fl_str(err.text), row->words);
	}
}

TEST(a_cancelled_job_never_runs_if_it_has_not_begun)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct fl_op op = { .done = test_op_done };
	struct work *work;

	GOT(io);
	work = work_new(1, false);
	GOT(work);
	fl_job_start(io, &op, &work->job, FL_LANE_FILES);
	fl_op_cancel(&op);
	CHECK_INT(released, 1);
}

/* With real threads: each job waits until the test lets it go on. */
struct gate {
	struct fl_job job;
	int fd;
};

static _Atomic bool begun;

static void wait_at_gate(struct fl_job *job, const struct fl_fs *fs)
{
	char byte;

	begun = true;
	job->result = fs->read(fs, fl_container(job, struct gate, job)->fd, &byte, 1);
}

static void gate_release(struct fl_job *job)
{
	released++;
	fl_free(fl_container(job, struct gate, job));
}

static int blocking_pipe(struct fl_io *io, int fds[2])
{
	int r = fl_pair(io, FL_PIPE, fds, NULL);

	return r < 0 ? r : fcntl(fds[0], F_SETFL, 0);
}

/* Needs a worker that is stuck: real threads. */
TEST_ONCE(a_stuck_lane_holds_up_no_other_and_forgets_who_gave_up)
{
	FL_AUTO(fl_io) struct fl_io *io = fl_posix_new(NULL);
	struct fl_op stuck = { .done = test_op_done }, behind = { .done = test_op_done }, other = { 0 };
	struct gate *gate = fl_zalloc(sizeof *gate);
	struct work *a, *b;
	int fds[2];

	GOT(io);
	GOT(gate);
	OK(blocking_pipe(io, fds));
	begun = false;
	gate->job = (struct fl_job){ .run = wait_at_gate, .release = gate_release };
	gate->fd = fds[0];
	fl_job_start(io, &stuck, &gate->job, FL_LANE_FILES);
	a = work_new(1, false);
	GOT(a);
	fl_job_start(io, &behind, &a->job, FL_LANE_FILES);
	b = work_new(2, false);
	GOT(b);
	fl_job_start(io, &other, &b->job, FL_LANE_LOOKUP);
	CHECK_INT(test_op(io, &other), 2);   /* another lane goes on */
	CHECK_INT(released, 1);
	while (!begun)
		OK(test_pause(io, FL_NS_PER_MS));
	CHECK(fl_op_busy(&stuck) && fl_op_busy(&behind));
	fl_op_cancel(&stuck);                /* at once, although the worker is still in it */
	CHECK_INT(released, 1);
	OK(fl_write(io, fds[1], "x", 1));
	CHECK_INT(test_op(io, &behind), 1);  /* then the lane goes on */
	CHECK_INT(released, 3);
	fl_close(io, fds[0]);
	fl_close(io, fds[1]);
}

TEST_ONCE(a_late_job_costs_its_operation_only_the_deadline)
{
	FL_AUTO(fl_io) struct fl_io *io = fl_posix_new(NULL);
	struct gate *gate = fl_zalloc(sizeof *gate);
	struct fl_op stuck = { 0 };
	int fds[2];

	GOT(io);
	GOT(gate);
	released = 0;
	OK(blocking_pipe(io, fds));
	begun = false;
	gate->job = (struct fl_job){ .run = wait_at_gate, .release = gate_release };
	gate->fd = fds[0];
	stuck.deadline = fl_now(io) + 30 * FL_NS_PER_MS;
	fl_job_start(io, &stuck, &gate->job, FL_LANE_FILES);
	CHECK_INT(test_op(io, &stuck), -FL_E_TIMEOUT);
	if (!begun)
		SKIP("no worker came to run in 30 ms");
	CHECK_INT(released, 0);
	OK(fl_write(io, fds[1], "x", 1));
	OK(test_turns(io, &released, 1));
	fl_close(io, fds[0]);
	fl_close(io, fds[1]);
}

TEST_ONCE(a_lane_keeps_the_order)
{
	enum { JOBS = 9 };
	FL_AUTO(fl_io) struct fl_io *io = fl_posix_new(NULL);
	struct work *work[JOBS];
	struct fl_op ops[JOBS];

	GOT(io);
	for (int i = 0; i < JOBS; i++) {
		work[i] = work_new(i + 1, false);
		GOT(work[i]);
	}
	for (int i = 0; i < JOBS; i++) {
		ops[i] = (struct fl_op){ .done = test_op_done };
		fl_job_start(io, &ops[i], &work[i]->job, FL_LANE_FILES);
	}
	OK(test_turns(io, &released, JOBS));
	CHECK_INT(job_order, 123456789);
	for (int i = 0; i < JOBS; i++)
		CHECK_INT(test_op(io, &ops[i]), i + 1);
}

TEST_ONCE(a_loop_that_is_freed_waits_for_what_runs_and_drops_what_does_not)
{
	struct fl_io *io = fl_posix_new(NULL);
	struct gate *gate = fl_zalloc(sizeof *gate);
	struct work *work = work_new(1, false);
	struct fl_op a = { .done = test_op_done }, b = { .done = test_op_done };
	int fds[2];

	GOT(io);
	OK(blocking_pipe(io, fds));
	begun = false;
	gate->job = (struct fl_job){ .run = wait_at_gate, .release = gate_release };
	gate->fd = fds[0];
	fl_job_start(io, &a, &gate->job, FL_LANE_FILES);
	fl_job_start(io, &b, &work->job, FL_LANE_FILES);
	while (!begun)
		OK(test_pause(io, FL_NS_PER_MS));
	OK(fl_write(io, fds[1], "x", 1));
	fl_close(io, fds[1]);
	fl_io_free(io);
	CHECK_INT(released, 2);
	(void)close(fds[0]);
}
