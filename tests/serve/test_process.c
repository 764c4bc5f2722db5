#include "serve/process.h"
#include "base/units.h"
#include "test.h"
#include "test_io.h"
#include <unistd.h>

#define LIMITS \
	"Limit                     Soft Limit           Hard Limit           Units     \n" \
	"Max cpu time              unlimited            unlimited            seconds   \n" \
	"Max open files            1024                 524288               files     \n"

/* utime 250, stime 50, 3 threads, started at tick 1000, 8192 bytes of addresses, 2 pages. */
#define STAT(name) \
	"42 (" name ") S 1 42 42 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 3 0 1000 8192 2 18446744073709551615 1 1 0\n"

static const struct {
	const char *says, *stat, *limits, *uptime;
	int result;
	double cpu, threads, max_fds;
} rows[] = {
	{ "what a kernel writes", STAT("fairlead"), LIMITS, "110.00 5.00", 0, 3, 3, 1024 },
	{ "a name with blanks and brackets", STAT("a) b (c"), LIMITS, "110.00 5.00", 0, 3, 3, 1024 },
	{ "no limit on files", STAT("a"), "Max open files            unlimited            unlimited            files\n",
	  "110.00 5.00", 0, 3, 3, -1 },
	{ "no limits at all", STAT("a"), "", "110.00 5.00", 0, 3, 3, -1 },
	{ "half a line", "42 (a) S 1 42", LIMITS, "110.00 5.00", -FL_E_INVALID, 0, 0, 0 },
	{ "nothing", "", LIMITS, "110.00 5.00", -FL_E_INVALID, 0, 0, 0 },
	{ "an uptime that is none", STAT("a"), LIMITS, "soon", -FL_E_INVALID, 0, 0, 0 },
};

TEST(what_the_kernel_says_is_read)
{
	double hz = (double)sysconf(_SC_CLK_TCK);

	EACH_ROW (row, rows) {
		struct fl_process process = { 0 };
		struct fl_err err = { 0 };
		int64_t wall = 2000 * (int64_t)FL_NS_PER_S;

		CHECK_INT(fl_process_read(&process, fl_str(row->stat), fl_str(row->limits), fl_str(row->uptime), wall,
					  &err),
			  row->result);
		CHECK(process.seen == (row->result == 0));
		if (row->result < 0)
			continue;
		CHECK(process.cpu_s == row->cpu * 100 / hz);
		CHECK(process.threads == row->threads);
		CHECK(process.max_fds == row->max_fds);
		CHECK(process.start_s == 2000 - (110 - 1000 / hz));
		CHECK(process.virtual_ == 8192 && process.resident == 2 * (double)sysconf(_SC_PAGESIZE));
		/* Once said, the start does not tremble with the clocks. */
		OK(fl_process_read(&process, fl_str(row->stat), fl_str(row->limits), FL_S("110.05 5.00"), wall, NULL));
		CHECK(process.start_s == 2000 - (110 - 1000 / hz));
	}
}

TEST(this_process_is_seen)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_metrics) struct fl_metrics *metrics = fl_metrics_new((uint64_t[]){ 1, 2 }, NULL);
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);
	struct fl_process process = { 0 };
	struct fl_process_look look = { .into = &process };
	struct fl_err err = { 0 };

	GOT(io && metrics);
	look.op.err = &err;
	OK_ERR(fl_process_add(&process, metrics, "test", &err), &err);
	OK(fl_metrics_write(metrics, &text, NULL));
	CHECK(!strstr(text.p, "process_"));
	CHECK(strstr(text.p, "fairlead_build_info{version=\"" FL_VERSION "\",role=\"test\"} 1\n"));
	fl_process_look(io, &look);
	OK_ERR(test_op(io, &look.op), &err);
	/* A read that came short under torture is no failure: /proc gives what it gives, and the numbers are
	 * checked. */
	CHECK(process.seen && process.resident > 0 && process.threads >= 1);
	fl_buf_clear(&text);
	OK(fl_metrics_write(metrics, &text, NULL));
	CHECK(strstr(text.p, "process_resident_memory_bytes "));
	CHECK(strstr(text.p, "# TYPE process_cpu_seconds_total counter\n"));
}
