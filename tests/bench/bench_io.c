/* The floor io alone: what a timer, an event, a job and a state file cost. */
#include "base/units.h"
#include "io/file.h"
#include "io/io.h"
#include "io/job.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void row(const char *name, double value, const char *unit, double most)
{
	printf("{\"name\": \"%s\", \"value\": %.3f, \"unit\": \"%s\", ", name, value, unit);
	printf("\"bar\": \"<= %g\", \"ok\": %s}\n", most, value <= most ? "true" : "false");
}

static void must(int64_t r, const struct fl_err *err)
{
	if (r >= 0)
		return;
	fprintf(stderr, "bench_io: %s\n", err->text);
	exit(1);
}

/* ---- timers ---- */

enum { TIMERS = 100000 };

static uint64_t chance(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

enum { TRIES = 5 };

static double least(double a, double b)
{
	return a == 0 || b < a ? b : a;
}

static void bench_timers(struct fl_io *io)
{
	struct fl_timer *timers = malloc(TIMERS * sizeof *timers);
	double set = 0, stopped = 0, moved = 0;
	uint64_t state = 88172645463325252u;

	if (!timers)
		abort();
	memset(timers, 1, TIMERS * sizeof *timers);   /* or the first round would measure the kernel's pages */
	memset(timers, 0, TIMERS * sizeof *timers);
	for (int try = 0; try < TRIES; try++) {
		uint64_t t[4], at;

		t[0] = fl_clock(io);
		at = t[0] + 100 * FL_NS_PER_S;
		for (int i = 0; i < TIMERS; i++)
			fl_timer_set(io, &timers[i], at + chance(&state) % FL_NS_PER_S);
		t[1] = fl_clock(io);
		/* A deadline that is always moved: what a connection does with each request. */
		for (uint64_t i = 0; i < TIMERS; i++)
			fl_timer_set(io, &timers[chance(&state) % 1000], at + FL_NS_PER_S + i);
		t[2] = fl_clock(io);
		for (int i = 0; i < TIMERS; i++)
			fl_timer_stop(io, &timers[i]);
		t[3] = fl_clock(io);
		set = least(set, (double)(t[1] - t[0]) / TIMERS);
		moved = least(moved, (double)(t[2] - t[1]) / TIMERS);
		stopped = least(stopped, (double)(t[3] - t[2]) / TIMERS);
	}
	row("io: timer set, 100,000", set, "ns", 30);
	row("io: timer moved, one of 1,000 among 100,000", moved, "ns", 30);
	row("io: timer stopped, 100,000", stopped, "ns", 30);
	row("io: one timer", sizeof *timers, "B", 50);
	free(timers);
}

/* ---- a ring: each fd that becomes readable writes to the next ---- */

enum { RING = 1000, EVENTS = 400000, TOKENS = 100 };

static struct node {
	struct fl_poll poll;
	int out;
} ring[RING];
static struct fl_io *ring_io;
static int events;

static void pass(struct fl_poll *poll, unsigned what)
{
	struct node *node = fl_container(poll, struct node, poll);
	char byte;

	(void)what;
	must(fl_read(ring_io, poll->fd, &byte, 1), &(struct fl_err){ .text = "read" });
	must(fl_write(ring_io, node->out, "x", 1), &(struct fl_err){ .text = "write" });
	if (++events >= EVENTS)
		fl_io_stop(ring_io);
}

static void bench_ring(struct fl_io *io)
{
	struct fl_err err = { 0 };
	uint64_t start;
	int fds[2];

	ring_io = io;
	for (int i = 0; i < RING; i++) {
		must(fl_pair(io, FL_PIPE, fds, &err), &err);
		ring[i].poll = (struct fl_poll){ .ready = pass, .fd = fds[0] };
		ring[(i + RING - 1) % RING].out = fds[1];
		must(fl_poll_set(io, &ring[i].poll, FL_READABLE, &err), &err);
	}
	for (int i = 0; i < TOKENS; i++)
		must(fl_write(io, ring[i * (RING / TOKENS)].out, "x", 1), &err);
	start = fl_clock(io);
	must(fl_io_run(io, &err), &err);
	row("io: event in a ring of 1,000 fds", (double)(fl_clock(io) - start) / 1000 / EVENTS, "us", 2.2);
	for (int i = 0; i < RING; i++) {
		fl_poll_stop(io, &ring[i].poll);
		fl_close(io, ring[i].poll.fd);
		fl_close(io, ring[i].out);
	}
}

/* ---- jobs ---- */

static int left;

static void nothing(struct fl_job *job, const struct fl_fs *fs)
{
	(void)fs;
	job->result = 0;
}

static void keep(struct fl_job *job)
{
	(void)job;
}

static void again(struct fl_op *op)
{
	static struct fl_job job;

	if (left-- == 0) {
		fl_io_stop(op->io);
		return;
	}
	job = (struct fl_job){ .run = nothing, .release = keep };
	fl_job_start(op->io, op, &job, FL_LANE_FILES);
}

/* The best of some rounds: what two threads take to wake each other is mostly up to who else wants the cores. */
static void bench_jobs(struct fl_io *io)
{
	enum { ROUNDS = 8, JOBS = 2500 };
	struct fl_err err = { 0 };
	struct fl_op op = { .done = again, .err = &err, .io = io };
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = fl_clock(io), took;

		left = JOBS;
		again(&op);
		must(fl_io_run(io, &err), &err);
		took = fl_clock(io) - start;
		best = took < best ? took : best;
	}
	/* Mostly the waking of two cores, 30 us each where they were idle. */
	row("io: job to a worker and back", (double)best / 1000 / JOBS, "us", 150);
}

static void replaced(struct fl_op *op)
{
	must(op->result, op->err);
	fl_io_stop(op->io);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The same by hand, straight-line. */
static void by_hand(const char *path, const char *temporary, struct fl_str content)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (write(fd, content.p, content.len) != (ssize_t)content.len || fdatasync(fd) < 0)
		abort();
	if (rename(temporary, path) < 0 || fsync(dir) < 0)
		abort();
	(void)close(fd);
	(void)close(dir);
}

/* In the folder where this runs: a disk, and not memory as /tmp may be. In turns, as the disk is shared. */
static void bench_replace(struct fl_io *io)
{
	enum { TIMES = 301, middle = TIMES / 2 };
	static char content[4096];
	static uint64_t ours[TIMES], theirs[TIMES];
	double p50, p50_by_hand;
	struct fl_err err = { 0 };
	struct fl_file_replace replace = { .op = { .done = replaced, .err = &err }, .path = "bench-io-state" };

	replace.content = (struct fl_str){ content, sizeof content };
	for (int i = 0; i < TIMES; i++) {
		ours[i] = fl_clock(io);
		fl_file_replace(io, &replace);
		must(fl_io_run(io, &err), &err);
		theirs[i] = fl_clock(io);
		ours[i] = theirs[i] - ours[i];
		by_hand(replace.path, ".bench-io-state.tmp", replace.content);
		theirs[i] = fl_clock(io) - theirs[i];
	}
	qsort(ours, TIMES, sizeof *ours, by_size);
	qsort(theirs, TIMES, sizeof *theirs, by_size);
	p50 = (double)ours[middle];
	p50_by_hand = (double)theirs[middle];
	fprintf(stderr, "bench_io: state file of 4 KiB: p50 %.3f ms, by hand %.3f ms\n", p50 / 1e6, p50_by_hand / 1e6);
	row("io: state file replaced for good, of the time by hand", p50 / p50_by_hand, "x", 1.25);
	(void)unlink(replace.path);
}

int main(void)
{
	struct fl_err err = { 0 };
	struct fl_io *io = fl_posix_new(&err);

	must(io ? 0 : -1, &err);
	bench_timers(io);
	bench_ring(io);
	bench_jobs(io);
	bench_replace(io);
	fl_io_free(io);
	return 0;
}
