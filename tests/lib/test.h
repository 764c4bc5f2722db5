/* test.h - the test runner: TAP out, one program a file, torture built in.
 *
 *     static const struct { const char *says; ... } rows[] = { { "an empty text is no number", ... }, ... };
 *
 *     TEST(numbers)
 *     {
 *             EACH_ROW (row, rows) {
 *                     OK(parse(row->in, &got, &err));
 *                     CHECK_INT(got, row->want);
 *             }
 *     }
 *
 * Two kinds of check. OK and GOT wrap a call that may fail for want of memory or by an i/o error: under torture
 * (`--torture`), where the n-th allocation or i/o call of the test is made to fail for every n, such a failure ends the
 * test quietly. CHECK* state what must hold whatever failed before: a call either says that it failed or has done all
 * of it. So a swallowed failure shows, and so does a half-commit. Every check leaves the TEST function at once, so what
 * a test holds is held by FL_AUTO variables; a run that leaves memory behind has failed.
 *
 *     test_foo               run every test          test_foo NAME...   those whose name contains NAME
 *     test_foo --torture     every n of every test   test_foo --list
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

struct test {
	const char *name;
	void (*run)(void);
	bool no_torture;
	struct test *next;
};
void test_add(struct test *test);

#define TEST(name_) TEST_(name_, false)
/* For a test whose torture would not end (it starts real programs, or is a soak): say why beside it. */
#define TEST_ONCE(name_) TEST_(name_, true)
#define TEST_(name_, once_) \
	static void test_run_##name_(void); \
	__attribute__((constructor)) static void test_add_##name_(void) \
	{ \
		static struct test test = { .name = #name_, .run = test_run_##name_, .no_torture = (once_) }; \
		test_add(&test); \
	} \
	static void test_run_##name_(void)

/* Also names the row in every failure that follows; rows have a member `says`. */
#define EACH_ROW(row, rows) \
	for (__typeof__(&(rows)[0]) row = (rows); row < (rows) + FL_LEN(rows) && (test_row(row->says), true); row++)
void test_row(const char *says);

/* Rows that begin anew each time: a torture does one row after the other, each with every n of its own, instead of all
 * rows for each n of all of them. Once in a test. */
#define EACH_ROW_ALONE(row, rows) \
	for (__typeof__(&(rows)[0]) row = (rows) + test_rows_from(FL_LEN(rows)), \
				    end_ = (rows) + test_rows_to(FL_LEN(rows)); \
	     row < end_ && (test_row(row->says), true); row++)
size_t test_rows_from(size_t count);
size_t test_rows_to(size_t count);

#define CHECK(cond) \
	do { \
		if (!(cond)) { \
			(void)test_check(false, #cond, __FILE__, __LINE__); \
			return; \
		} \
	} while (0)
#define CHECK_INT(got, want) \
	do { \
		if (!test_check_int((int64_t)(got), (int64_t)(want), #got, __FILE__, __LINE__)) \
			return; \
	} while (0)
#define CHECK_STR(got, want) \
	do { \
		if (!test_check_str((got), (want), #got, __FILE__, __LINE__)) \
			return; \
	} while (0)
/* A call that returns < 0 on failure; a pointer that is NULL on failure. */
#define OK(call) \
	do { \
		if (!test_ok((call), #call, NULL, __FILE__, __LINE__)) \
			return; \
	} while (0)
#define OK_ERR(call, err) \
	do { \
		if (!test_ok((call), #call, (err), __FILE__, __LINE__)) \
			return; \
	} while (0)
#define GOT(ptr) \
	do { \
		if (!(ptr)) { \
			(void)test_ok(-FL_E_NOMEM, #ptr, NULL, __FILE__, __LINE__); \
			return; \
		} \
	} while (0)
/* A call that must be refused with this code (or, under torture, end quietly for want of memory). */
#define REFUSED(call, code) \
	do { \
		if (!test_refused((call), (code), #call, __FILE__, __LINE__)) \
			return; \
	} while (0)
#define SKIP(why) \
	do { \
		test_skip(why); \
		return; \
	} while (0)

bool test_check(bool ok, const char *what, const char *file, int line);
bool test_check_int(int64_t got, int64_t want, const char *what, const char *file, int line);
bool test_check_str(struct fl_str got, const char *want, const char *what, const char *file, int line);
bool test_ok(int64_t result, const char *what, const struct fl_err *err, const char *file, int line);
bool test_refused(int64_t result, enum fl_code code, const char *what, const char *file, int line);
void test_skip(const char *why);

/* Has the failure that this torture round ordered happened? Has a check failed? */
bool test_tortured(void);
bool test_failed(void);

/* Asked by the i/o seam of the tests before each call: shall this one fail? Counts. */
bool test_refuse_io(void);

/* A seeded stream of numbers: the same in every run unless TEST_SEED says otherwise; printed when a test fails. */
uint64_t test_random(void);
