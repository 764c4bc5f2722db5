#include "io/restart.h"
#include "base/backoff.h"

/* No delay after the first failure: a single crash must cost next to nothing. */
static uint64_t delay_after(unsigned failures)
{
	return failures < 2 ? 0 : fl_backoff_after(failures - 1, FL_SUPERVISOR_RETRY_FIRST, FL_SUPERVISOR_RETRY_LAST);
}

struct fl_restart fl_restart_plan(const struct fl_restart_facts *facts)
{
	uint64_t at = facts->failed_at + delay_after(facts->failures);

	if (!facts->wanted || facts->running || facts->dying)
		return (struct fl_restart){ FL_RESTART_NOTHING, 0 };
	if (facts->stuck >= facts->stuck_max)
		return (struct fl_restart){ FL_RESTART_CEILING, 0 };
	if (facts->failures && facts->now < at)
		return (struct fl_restart){ FL_RESTART_LATER, at };
	return (struct fl_restart){ FL_RESTART_START, 0 };
}

unsigned fl_restart_failures(unsigned before, uint64_t lived)
{
	if (lived >= FL_SUPERVISOR_GOOD)
		return 1;
	return before < UINT32_MAX ? before + 1 : before;
}
