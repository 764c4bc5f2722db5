#include "test.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Every n up to here, then ever larger steps: the rare far end of a long test is still visited. */
static const long torture_all = 2000, torture_samples = 200;

enum fault { FAULT_NONE, FAULT_MEMORY, FAULT_IO };

static struct {
	struct test *first, **last;
	const char *row, *skipped;
	bool failed, fired;
	enum fault fault;
	long fail_at;                   /* this call of that kind fails */
	long calls[FAULT_IO + 1];
	size_t rows, alone;             /* of EACH_ROW_ALONE; the one whose turn it is, from 1 on, 0: all */
	uint64_t seed, random;
	char text[1024];                /* what the first failed check said */
} t = { .seed = 1 };

void test_add(struct test *test)
{
	if (!t.last)
		t.last = &t.first;
	*t.last = test;
	t.last = &test->next;
}

static bool refuse(enum fault kind)
{
	long call = t.calls[kind]++;

	if (t.fault != kind || call != t.fail_at)
		return false;
	t.fired = true;
	return true;
}

static bool refuse_memory(size_t size)
{
	(void)size;
	return refuse(FAULT_MEMORY);
}

bool test_refuse_io(void)
{
	return refuse(FAULT_IO);
}

void test_row(const char *says)
{
	t.row = says;
}

bool test_tortured(void)
{
	return t.fired;
}

bool test_failed(void)
{
	return t.failed;
}

void test_skip(const char *why)
{
	t.skipped = why;
}

static bool fail(const char *file, int line, const char *what, const char *detail)
{
	if (!t.failed)
		(void)snprintf(t.text, sizeof t.text, "%s:%d: %s%s%s%s%s", file, line, what, detail[0] ? ": " : "",
			       detail, t.row ? "; row: " : "", t.row ? t.row : "");
	t.failed = true;
	return false;
}

bool test_check(bool ok, const char *what, const char *file, int line)
{
	return ok ? true : fail(file, line, what, "");
}

bool test_check_int(int64_t got, int64_t want, const char *what, const char *file, int line)
{
	char detail[80];

	(void)snprintf(detail, sizeof detail, "got %" PRId64 ", want %" PRId64, got, want);
	return got == want ? true : fail(file, line, what, detail);
}

bool test_check_str(struct fl_str got, const char *want, const char *what, const char *file, int line)
{
	char detail[600];

	if (fl_str_eq(got, fl_str(want)))
		return true;
	(void)snprintf(detail, sizeof detail, "got '%.*s', want '%s'", FL_ARG(got), want);
	return fail(file, line, what, detail);
}

bool test_ok(int64_t result, const char *what, const struct fl_err *err, const char *file, int line)
{
	char detail[FL_ERR_TEXT + 40];

	if (result >= 0)
		return true;
	if (t.fired)
		return false;
	(void)snprintf(detail, sizeof detail, "%s%s%s", fl_name(&fl_code_names, (int)-result), err ? ": " : "",
		       err ? err->text : "");
	return fail(file, line, what, detail);
}

bool test_refused(int64_t result, enum fl_code code, const char *what, const char *file, int line)
{
	char detail[120];

	if (result == -(int64_t)code)
		return true;
	if (t.fired && result < 0)
		return false;
	(void)snprintf(detail, sizeof detail, "got '%s' (%" PRId64 "), want a refusal: '%s'",
		       result < 0 ? fl_name(&fl_code_names, (int)-result) : "success", result,
		       fl_name(&fl_code_names, (int)code));
	return fail(file, line, what, detail);
}

uint64_t test_random(void)
{
	uint64_t z = t.random += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static void run(struct test *test, enum fault fault, long fail_at)
{
	long live = fl_mem_live();
	char detail[60];

	t.row = t.skipped = NULL;
	t.failed = t.fired = false;
	t.fault = fault;
	t.fail_at = fail_at;
	t.calls[FAULT_MEMORY] = t.calls[FAULT_IO] = 0;
	t.random = t.seed;
	test->run();
	t.fault = FAULT_NONE;
	(void)snprintf(detail, sizeof detail, "%ld block(s)", fl_mem_live() - live);
	if (fl_mem_live() != live)
		(void)fail(test->name, 0, "memory left behind", detail);
}

size_t test_rows_from(size_t count)
{
	t.rows = count;
	return t.alone ? t.alone - 1 : 0;
}

size_t test_rows_to(size_t count)
{
	return t.alone ? t.alone : count;
}

static long step(long n)
{
	return n < torture_all ? 1 : 1 + (n - torture_all) / torture_samples + (long)(test_random() % 16);
}

/* Fail every call of one kind, one a round; how many rounds there were. */
static long torture_kind(struct test *test, enum fault kind, const char *name)
{
	long n, rounds = 0;

	for (n = 0;; n += step(n)) {
		run(test, kind, n);
		rounds++;
		if (t.failed) {
			printf("# with %s %ld failing (seed %" PRIu64 ")\n", name, n, t.seed);
			return rounds;
		}
		if (!t.fired)
			return rounds;
	}
}

static long torture_both(struct test *test)
{
	long rounds = torture_kind(test, FAULT_MEMORY, "allocation");

	return t.failed ? rounds : rounds + torture_kind(test, FAULT_IO, "i/o call");
}

static void torture(struct test *test)
{
	long rounds = 0;
	size_t rows;

	t.rows = 0;
	run(test, FAULT_NONE, 0);
	if (t.failed || t.skipped)
		return;
	rows = t.rows;
	if (!rows)
		rounds = torture_both(test);
	for (t.alone = 1; t.alone <= rows && !t.failed; t.alone++)
		rounds += torture_both(test);
	t.alone = 0;
	if (!t.failed)
		printf("# %s: %ld rounds\n", test->name, rounds);
}

static bool wanted(const struct test *test, int names, char **name)
{
	for (int i = 0; i < names; i++)
		if (strstr(test->name, name[i]))
			return true;
	return names == 0;
}

int main(int argc, char **argv)
{
	bool torturing = argc > 1 && strcmp(argv[1], "--torture") == 0;
	bool listing = argc > 1 && strcmp(argv[1], "--list") == 0;
	const char *seed = getenv("TEST_SEED");
	int flags = torturing || listing, count = 0, failures = 0;

	if (seed)
		t.seed = strtoull(seed, NULL, 10);
	setvbuf(stdout, NULL, _IOLBF, 0);
	fl_mem_refuse = refuse_memory;
	for (struct test *test = t.first; test; test = test->next) {
		if (!wanted(test, argc - 1 - flags, argv + 1 + flags) || (torturing && test->no_torture))
			continue;
		if (listing) {
			printf("%s\n", test->name);
			continue;
		}
		if (torturing)
			torture(test);
		else
			run(test, FAULT_NONE, 0);
		failures += t.failed;
		printf("%sok %d - %s%s%s\n", t.failed ? "not " : "", ++count, test->name, t.skipped ? " # SKIP " : "",
		       t.skipped ? t.skipped : "");
		if (t.failed)
			printf("# %s (seed %" PRIu64 ")\n", t.text, t.seed);
	}
	if (!listing)
		printf("1..%d\n", count);
	return failures != 0;
}
