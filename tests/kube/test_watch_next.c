#include "base/units.h"
#include "kube/watch.h"
#include "test.h"

#define MS FL_NS_PER_MS
#define S FL_NS_PER_S

static const struct {
	const char *says;
	struct fl_watch_facts facts;
	enum fl_watch_step step;
	uint64_t delay;
	uint32_t failures;
	bool forget, no_stream, absent, broken, newest;
} rows[] = {
	{ "a new watch begins with a stream of all that is there",
	  { .outcome = FL_OUT_START }, FL_STEP_STREAM, .forget = true },
	{ "a new watch that must not stream begins with a list",
	  { .outcome = FL_OUT_START, .no_stream = true }, FL_STEP_LIST, .forget = true, .no_stream = true },
	{ "a server that does not know initial events is asked for a list, at once and from now on",
	  { FL_STEP_STREAM, FL_OUT_NO_STREAM }, FL_STEP_LIST, .forget = true, .no_stream = true },
	{ "400 to a plain watch is a failure like any other",
	  { FL_STEP_WATCH, FL_OUT_NO_STREAM, .has_version = true }, FL_STEP_WATCH, 200 * MS, 1, .broken = true },
	{ "a list that was read to its end is followed by a watch, at once, and what has failed before still counts",
	  { FL_STEP_LIST, FL_OUT_DONE, .has_version = true, .newest = true, .failures = 3 }, FL_STEP_WATCH, 0, 3 },
	{ "a watch that ends as agreed goes on where it was, at once, and nothing was broken",
	  { FL_STEP_WATCH, FL_OUT_DONE, .has_version = true, .took = 300 * S }, FL_STEP_WATCH },
	{ "a stream that ends as agreed goes on as a watch",
	  { FL_STEP_STREAM, FL_OUT_DONE, .has_version = true, .progress = true, .took = 300 * S }, FL_STEP_WATCH },
	{ "I8: a stream that ends in good order before its initial events end begins anew, later",
	  { FL_STEP_STREAM, FL_OUT_DONE, .progress = true, .took = 2 * S }, FL_STEP_STREAM, 200 * MS, 1,
	  .forget = true, .broken = true },
	{ "I8: one that does so again and again is asked for less and less often, whatever came of it",
	  { FL_STEP_STREAM, FL_OUT_DONE, .progress = true, .took = 2 * S, .failures = 4 }, FL_STEP_STREAM, 3200 * MS, 5,
	  .forget = true, .broken = true },
	{ "a server that never completes a stream is asked for a list",
	  { FL_STEP_STREAM, FL_OUT_DONE, .progress = true, .failures = 6 }, FL_STEP_LIST, 12800 * MS, 7,
	  .forget = true, .no_stream = true, .broken = true },
	{ "a full state that is cut again and again is asked for less and less often",
	  { FL_STEP_STREAM, FL_OUT_LOST, .progress = true, .failures = 3 }, FL_STEP_STREAM, 1600 * MS, 4,
	  .forget = true, .broken = true },
	{ "a server that ends watches as soon as they begin is not asked in a circle",
	  { FL_STEP_WATCH, FL_OUT_DONE, .has_version = true, .took = 5 * MS, .failures = 2 }, FL_STEP_WATCH, 800 * MS,
			3,
	  .broken = true },
	{ "the first of those is no reason to call it broken",
	  { FL_STEP_WATCH, FL_OUT_DONE, .has_version = true, .took = 5 * MS }, FL_STEP_WATCH, 200 * MS, 1 },
	{ "a lost connection may have been another server's: has the next one seen our version?",
	  { FL_STEP_WATCH, FL_OUT_LOST, .has_version = true, .progress = true }, FL_STEP_CHECK, 200 * MS, 1,
			.broken = true },
	{ "a connection lost again and again is tried less and less often",
	  { FL_STEP_WATCH, FL_OUT_LOST, .has_version = true, .failures = 5 }, FL_STEP_CHECK, 6400 * MS, 6,
			.broken = true },
	{ "never less often than each half minute, and the version is kept: the server may come back with it",
	  { FL_STEP_WATCH, FL_OUT_LOST, .has_version = true, .failures = 99 }, FL_STEP_CHECK, 30 * S, 100,
			.broken = true },
	{ "what came meanwhile makes the back-off begin anew",
	  { FL_STEP_WATCH, FL_OUT_LOST, .has_version = true, .progress = true, .failures = 9 }, FL_STEP_CHECK,
			200 * MS, 1,
	  .broken = true },
	{ "it has: the watch goes on there, and what has failed before still counts",
	  { FL_STEP_CHECK, FL_OUT_DONE, .has_version = true, .failures = 3 }, FL_STEP_WATCH, 0, 3 },
	{ "it has not: perhaps it will in a moment",
	  { FL_STEP_CHECK, FL_OUT_AHEAD, .has_version = true }, FL_STEP_CHECK, 200 * MS, 1, .broken = true },
	{ "it has not, again and again: it was restored from a backup, and our version means nothing",
	  { FL_STEP_CHECK, FL_OUT_AHEAD, .has_version = true, .failures = 2 }, FL_STEP_STREAM, 800 * MS, 3,
	  .forget = true, .broken = true, .newest = true },
	{ "a server that cannot say gives a new full state",
	  { FL_STEP_CHECK, FL_OUT_NO_STREAM, .has_version = true, .failures = 6 }, FL_STEP_STREAM, 12800 * MS, 7,
	  .forget = true, .broken = true, .newest = true },
	{ "a kind that is gone by then",
	  { FL_STEP_CHECK, FL_OUT_ABSENT, .has_version = true }, FL_STEP_ASK, 1 * S, 1,
	  .forget = true, .absent = true },
	{ "a full state that was cut begins anew",
	  { FL_STEP_STREAM, FL_OUT_LOST, .progress = true }, FL_STEP_STREAM, 200 * MS, 1, .forget = true,
			.broken = true },
	{ "a list that was cut begins anew",
	  { FL_STEP_LIST, FL_OUT_LOST, .no_stream = true, .failures = 1 }, FL_STEP_LIST, 400 * MS, 2, .forget = true,
	  .no_stream = true, .broken = true },
	{ "a forgotten version means a new full state, soon, after a watch that has lasted",
	  { FL_STEP_WATCH, FL_OUT_EXPIRED, .has_version = true, .took = 30 * S, .failures = 4 }, FL_STEP_STREAM,
	  200 * MS, .forget = true, .broken = true },
	{ "one that is forgotten as soon as it was read is not asked for in a circle, whatever came before",
	  { FL_STEP_WATCH, FL_OUT_EXPIRED, .has_version = true, .no_stream = true, .progress = true, .took = 2 * S,
	    .failures = 4 }, FL_STEP_LIST, 3200 * MS, 5, .forget = true, .no_stream = true, .broken = true },
	{ "nor is one of a stream",
	  { FL_STEP_STREAM, FL_OUT_EXPIRED, .has_version = true, .progress = true, .took = S, .failures = 1 },
	  FL_STEP_STREAM, 400 * MS, 2, .forget = true, .broken = true },
	{ "a stream that does not come to its end is slow",
	  { FL_STEP_STREAM, FL_OUT_LOST, .took = 30 * S }, FL_STEP_STREAM, 200 * MS, 1, .forget = true,
	  .broken = true },
	{ "twice in a row may be a server that knows no initial events",
	  { FL_STEP_STREAM, FL_OUT_LOST, .took = 30 * S, .failures = 1 }, FL_STEP_LIST, 400 * MS, 2, .forget = true,
	  .no_stream = true, .broken = true },
	{ "a server that has not seen what another told is asked for its newest state",
	  { FL_STEP_LIST, FL_OUT_AHEAD, .no_stream = true }, FL_STEP_LIST, 200 * MS, 1, .forget = true,
	  .no_stream = true, .broken = true, .newest = true },
	{ "and so until it has told one",
	  { FL_STEP_LIST, FL_OUT_LOST, .no_stream = true, .newest = true }, FL_STEP_LIST, 200 * MS, 1, .forget = true,
	  .no_stream = true, .broken = true, .newest = true },
	{ "a continue token that expires means a new list, and not in a circle",
	  { FL_STEP_LIST, FL_OUT_EXPIRED, .no_stream = true, .failures = 2 }, FL_STEP_LIST, 800 * MS, 3, .forget = true,
	  .no_stream = true, .broken = true, .newest = true },
	{ "a server that has not seen our version yet is asked again with it",
	  { FL_STEP_WATCH, FL_OUT_AHEAD, .has_version = true }, FL_STEP_WATCH, 200 * MS, 1, .broken = true },
	{ "a server that never sees it was restored from a backup: the version goes",
	  { FL_STEP_WATCH, FL_OUT_AHEAD, .has_version = true, .failures = 6 }, FL_STEP_STREAM, 12800 * MS, 7,
			.forget = true,
	  .broken = true, .newest = true },
	{ "a kind that is not there is asked after",
	  { FL_STEP_STREAM, FL_OUT_ABSENT }, FL_STEP_ASK, 1 * S, 1, .forget = true, .absent = true },
	{ "a kind that has vanished is asked after, whatever failed before",
	  { FL_STEP_WATCH, FL_OUT_ABSENT, .has_version = true, .failures = 7 }, FL_STEP_ASK, 1 * S, 1, .forget = true,
	  .absent = true },
	{ "it is asked after less and less often",
	  { FL_STEP_ASK, FL_OUT_ABSENT, .failures = 3 }, FL_STEP_ASK, 8 * S, 4, .forget = true, .absent = true },
	{ "each half minute at least, for a minute",
	  { FL_STEP_ASK, FL_OUT_ABSENT, .failures = 5 }, FL_STEP_ASK, 30 * S, 6, .forget = true, .absent = true },
	{ "I8: and then every ten minutes",
	  { FL_STEP_ASK, FL_OUT_ABSENT, .failures = 6 }, FL_STEP_ASK, 600 * S, 7, .forget = true, .absent = true },
	{ "a kind that has come is read at once",
	  { FL_STEP_ASK, FL_OUT_DONE, .failures = 9 }, FL_STEP_STREAM, .forget = true },
	{ "when asking fails, nothing new is known",
	  { FL_STEP_ASK, FL_OUT_FAILED, .failures = 1 }, FL_STEP_ASK, 2 * S, 2 },
	{ "a right that is missing may be given later",
	  { FL_STEP_STREAM, FL_OUT_DENIED, .failures = 3 }, FL_STEP_STREAM, 1600 * MS, 4, .forget = true,
			.broken = true },
	{ "a server that says when to come back is taken at its word",
	  { FL_STEP_STREAM, FL_OUT_BUSY, .retry_after = 7 * S }, FL_STEP_STREAM, 7 * S, 1, .forget = true,
			.broken = true },
	{ "a short Retry-After does not undo the back-off",
	  { FL_STEP_WATCH, FL_OUT_BUSY, .has_version = true, .retry_after = S, .failures = 5 }, FL_STEP_WATCH,
			6400 * MS, 6,
	  .broken = true },
	{ "I8: one that is busy for long is not asked for a full state",
	  { FL_STEP_WATCH, FL_OUT_BUSY, .has_version = true, .retry_after = S, .failures = 9 }, FL_STEP_WATCH, 30 * S,
	  10, .broken = true },
	{ "nor is one that has denied the right to watch",
	  { FL_STEP_WATCH, FL_OUT_DENIED, .has_version = true, .failures = 9 }, FL_STEP_WATCH, 30 * S, 10,
	  .broken = true },
	{ "an object that was not taken comes again",
	  { FL_STEP_WATCH, FL_OUT_FAILED, .has_version = true }, FL_STEP_WATCH, 200 * MS, 1, .broken = true },
	{ "one that fails every time is fetched in another way",
	  { FL_STEP_WATCH, FL_OUT_FAILED, .has_version = true, .failures = 6 }, FL_STEP_STREAM, 12800 * MS, 7,
			.forget = true,
	  .broken = true, .newest = true },
};

TEST(what_a_watch_does_next)
{
	EACH_ROW (row, rows) {
		struct fl_watch_plan plan = fl_watch_next(&row->facts);

		CHECK_STR(fl_str(fl_name(&fl_watch_step_names, (int)plan.step)), fl_name(&fl_watch_step_names,
											 (int)row->step));
		CHECK_INT(plan.delay, row->delay);
		CHECK_INT(plan.failures, row->failures);
		CHECK_INT(plan.forget, row->forget);
		CHECK_INT(plan.no_stream, row->no_stream);
		CHECK_INT(plan.absent, row->absent);
		CHECK_INT(plan.broken, row->broken);
		CHECK_INT(plan.newest, row->newest);
	}
}

/* Whatever comes of whatever was done: a watch without a version is never resumed, and nothing is asked in a circle. */
TEST(no_outcome_leads_astray)
{
	for (unsigned bits = 0; bits < 8; bits++)
		for (int step = 0; step < FL_WATCH_STEP_COUNT_; step++)
			for (int outcome = 1; outcome < FL_WATCH_OUTCOME_COUNT_; outcome++) {
				struct fl_watch_facts facts = { .step = (enum fl_watch_step)step,
								.outcome = (enum fl_watch_outcome)outcome,
								.has_version = bits & 1 || (step == FL_STEP_LIST &&
											    outcome == FL_OUT_DONE),
								.no_stream = bits & 2, .failures = bits & 4 ? 8 : 0 };
				struct fl_watch_plan plan = fl_watch_next(&facts);
				bool good = outcome == FL_OUT_DONE && (step == FL_STEP_LIST || step == FL_STEP_ASK ||
								       step == FL_STEP_CHECK);
				bool other = outcome == FL_OUT_NO_STREAM && step == FL_STEP_STREAM;

				CHECK(plan.step != FL_STEP_WATCH || (facts.has_version && !plan.forget));
				CHECK(plan.step != FL_STEP_STREAM || !plan.no_stream);
				CHECK(good || other || plan.delay >= FL_WATCH_DELAY_FIRST);
				CHECK(plan.delay <= FL_WATCH_DELAY_LAST || plan.absent);
			}
}
