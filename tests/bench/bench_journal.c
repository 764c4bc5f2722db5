/* What a durable record costs: beside the same bytes written and synced by hand, call by call in turn, because the disk
 * is shared. In the folder where this runs: a disk, and not memory as /tmp may be. */
#include "io/journal.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 300, TOGETHER = 32 };

static void row(const char *name, double value, const char *unit, double most)
{
	printf("{\"name\": \"%s\", \"value\": %.3f, \"unit\": \"%s\", ", name, value, unit);
	printf("\"bar\": \"<= %g\", \"ok\": %s}\n", most, value <= most ? "true" : "false");
}

static void must(int64_t r, const struct fl_err *err)
{
	if (r >= 0)
		return;
	fprintf(stderr, "bench_journal: %s\n", err->text);
	exit(1);
}

static void nothing(struct fl_op *op)
{
	(void)op;
}

static void finish(struct fl_io *io, struct fl_op *op, struct fl_err *err)
{
	while (fl_op_busy(op))
		must(fl_io_turn(io, FL_NEVER, err), err);
	must(op->result, err);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double at_percent(uint64_t *times, unsigned percent)
{
	qsort(times, ROUNDS, sizeof *times, by_value);
	times += ROUNDS * percent / 100;
	return (double)*times / 1e6;
}

static uint64_t by_hand(struct fl_io *io, int fd, const char *bytes, size_t len)
{
	uint64_t begun = fl_clock(io);

	if (write(fd, bytes, len) != (ssize_t)len || fdatasync(fd) < 0)
		abort();
	return fl_clock(io) - begun;
}

static uint64_t appended(struct fl_io *io, struct fl_journal *journal, int count, struct fl_err *err)
{
	static struct fl_journal_append appends[TOGETHER];
	static char value[224];
	uint64_t begun = fl_clock(io);

	for (int i = 0; i < count; i++) {
		appends[i].op = (struct fl_op){ .done = nothing, .err = err };
		fl_journal_put(journal, &appends[i], 1, (struct fl_str){ &"abcdefghijklmnopqrstuvwxyzABCDEF"[i], 1 },
			       (struct fl_str){ value, sizeof value });
	}
	for (int i = 0; i < count; i++)
		finish(io, &appends[i].op, err);
	return fl_clock(io) - begun;
}

int main(void)
{
	static uint64_t ours[ROUNDS], theirs[ROUNDS], together[ROUNDS];
	struct fl_err err = { 0 };
	struct fl_io *io = fl_posix_new(&err);
	struct fl_journal_open open = { .op = { .done = nothing, .err = &err }, .name = "bench" };
	char dir[] = "./bench-journal-XXXXXX", path[64], command[64], bytes[256] = { 0 };
	double p50, p50_by_hand, p99;
	int fd;

	if (!io || !mkdtemp(dir))
		return 1;
	(void)snprintf(path, sizeof path, "%s/by-hand", dir);
	fd = openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	open.dir = dir;
	fl_journal_open(io, &open);
	finish(io, &open.op, &err);
	for (int i = 0; i < ROUNDS; i++) {
		theirs[i] = by_hand(io, fd, bytes, sizeof bytes);
		ours[i] = appended(io, open.journal, 1, &err);
	}
	p50 = at_percent(ours, 50);
	p50_by_hand = at_percent(theirs, 50);
	p99 = at_percent(ours, 99);
	fprintf(stderr, "bench_journal: 256 B: p50 %.3f ms, by hand %.3f; p99 %.3f, by hand %.3f\n", p50, p50_by_hand,
		p99, at_percent(theirs, 99));
	row("journal: record of 256 B, of the time by hand, p50", p50 / p50_by_hand, "x", 1.5);
	/* A loop of its own: these fill the log, and a new generation now and then must not count as one record. */
	for (int i = 0; i < ROUNDS; i++) {
		ours[i] = appended(io, open.journal, 1, &err);
		together[i] = appended(io, open.journal, TOGETHER, &err);
	}
	p50 = at_percent(ours, 50);
	row("journal: 32 records at once, of the time of one, p50", at_percent(together, 50) / p50, "x", 3);
	fl_journal_close(open.journal);
	fl_io_free(io);
	(void)close(fd);
	(void)snprintf(command, sizeof command, "rm -r '%s'", dir);
	return system(command) != 0;
}
