#include "base/units.h"
#include "io/restart.h"
#include "test.h"

#define MS FL_NS_PER_MS
#define S FL_NS_PER_S
#define FACTS(...) { .wanted = true, .stuck_max = 4, __VA_ARGS__ }

static const struct {
	const char *says;
	struct fl_restart_facts facts;
	enum fl_restart_what what;
	uint64_t at;
} rows[] = {
	{ "none is there: start", FACTS(.now = 1), FL_RESTART_START, 0 },
	{ "one runs", FACTS(.running = true), FL_RESTART_NOTHING, 0 },
	{ "paused", { .stuck_max = 4 }, FL_RESTART_NOTHING, 0 },
	{ "one was killed and is given a moment to go", FACTS(.dying = true), FL_RESTART_NOTHING, 0 },
	{ "one does not die: another is started", FACTS(.stuck = 1), FL_RESTART_START, 0 },
	{ "one less than too many do not die", FACTS(.stuck = 3), FL_RESTART_START, 0 },
	{ "too many do not die", FACTS(.stuck = 4), FL_RESTART_CEILING, 0 },
	{ "the ceiling comes before the wait", FACTS(.stuck = 4, .failures = 9, .now = 5, .failed_at = 4),
	  FL_RESTART_CEILING, 0 },
	{ "a first failure costs nothing", FACTS(.failures = 1, .now = 5, .failed_at = 5), FL_RESTART_START, 0 },
	{ "a second one waits", FACTS(.failures = 2, .now = 5, .failed_at = 5), FL_RESTART_LATER, 250 * MS + 5 },
	{ "a third one waits longer", FACTS(.failures = 3), FL_RESTART_LATER, 500 * MS },
	{ "so it doubles", FACTS(.failures = 8), FL_RESTART_LATER, 16 * S },
	{ "up to half a minute", FACTS(.failures = 9), FL_RESTART_LATER, 30 * S },
	{ "and no further", FACTS(.failures = UINT32_MAX), FL_RESTART_LATER, 30 * S },
	{ "the wait is nearly over", FACTS(.failures = 3, .now = 500 * MS - 1), FL_RESTART_LATER, 500 * MS },
	{ "the wait is over", FACTS(.failures = 3, .now = 500 * MS), FL_RESTART_START, 0 },
};

TEST(when_a_child_is_started)
{
	EACH_ROW (row, rows) {
		struct fl_restart plan = fl_restart_plan(&row->facts);

		CHECK_INT(plan.what, row->what);
		CHECK_INT((int64_t)plan.at, (int64_t)row->at);
	}
}

TEST(a_child_that_lived_long_was_no_failure)
{
	CHECK_INT(fl_restart_failures(0, 0), 1);
	CHECK_INT(fl_restart_failures(3, 59 * S), 4);
	CHECK_INT(fl_restart_failures(3, 60 * S), 1);
	CHECK_INT((int64_t)fl_restart_failures(UINT32_MAX, 0), (int64_t)UINT32_MAX);
}
