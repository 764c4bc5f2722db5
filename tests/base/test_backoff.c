#include "base/backoff.h"
#include "test.h"

TEST(each_failure_doubles_the_wait_up_to_the_most)
{
	static const uint64_t waits[] = { 100, 200, 400, 800, 1000, 1000 };
	uint64_t delay = 0;

	CHECK_INT(fl_backoff_after(0, 100, 1000), 100);
	for (uint32_t i = 0; i < FL_LEN(waits); i++) {
		CHECK_INT(fl_backoff(&delay, 100, 1000), waits[i]);
		CHECK_INT(fl_backoff_after(i + 1, 100, 1000), waits[i]);
	}
	delay = 0;
	CHECK_INT(fl_backoff(&delay, 100, 1000), 100);
}

TEST(a_first_wait_above_the_most_is_the_most)
{
	uint64_t delay = 0;

	CHECK_INT(fl_backoff(&delay, 100, 50), 50);
	CHECK_INT(fl_backoff_after(UINT32_MAX, 100, 50), 50);
	CHECK_INT(fl_backoff_after(UINT32_MAX, 1, 1000), 1000);
}

TEST(a_wait_is_spread_over_half_of_it_more)
{
	CHECK_INT(fl_spread(100, 0), 100);
	CHECK_INT(fl_spread(100, 50), 150);
	CHECK_INT(fl_spread(100, 51), 100);
	CHECK_INT(fl_spread(0, 77), 0);
}
