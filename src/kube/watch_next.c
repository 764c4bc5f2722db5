/* What a watch does after which outcome. Pure. */
#include "base/backoff.h"
#include "base/units.h"
#include "kube/watch.h"

/* After the first minute of asking, 5,000 nodes ask 6 times a second. A watch of the definition, or a new connection,
 * tells sooner. */
#define FL_WATCH_ASK_SOON 5
#define FL_WATCH_ASK_SELDOM (600 * FL_NS_PER_S)

FL_NAMES(fl_watch_state_names, FL_WATCH_STATE_COUNT_, [FL_WATCH_STARTING] = "starting", [FL_WATCH_READING] = "reading",
	 [FL_WATCH_LIVE] = "live", [FL_WATCH_BROKEN] = "broken", [FL_WATCH_ABSENT] = "absent");
FL_NAMES(fl_watch_step_names, FL_WATCH_STEP_COUNT_, [FL_STEP_STREAM] = "stream", [FL_STEP_LIST] = "list",
	 [FL_STEP_WATCH] = "watch", [FL_STEP_CHECK] = "check", [FL_STEP_ASK] = "ask");
FL_NAMES(fl_watch_outcome_names, FL_WATCH_OUTCOME_COUNT_, [FL_OUT_START] = "start", [FL_OUT_DONE] = "done",
	 [FL_OUT_LOST] = "lost", [FL_OUT_EXPIRED] = "expired", [FL_OUT_AHEAD] = "ahead",
	 [FL_OUT_NO_STREAM] = "no stream", [FL_OUT_ABSENT] = "absent", [FL_OUT_DENIED] = "denied",
	 [FL_OUT_BUSY] = "busy", [FL_OUT_FAILED] = "failed");

/* So many failures in a row cast doubt on the version itself: a server restored from a backup never reaches it. */
enum { DOUBT = 6 };
/* A server that has not seen our version has waited for it for seconds before it says so. */
enum { DOUBT_BEHIND = 2 };

static uint64_t back_off(uint32_t failures)
{
	return fl_backoff_after(failures + 1, FL_WATCH_DELAY_FIRST, FL_WATCH_DELAY_LAST);
}

static void full_state(struct fl_watch_plan *plan)
{
	plan->forget = true;
	plan->step = plan->no_stream ? FL_STEP_LIST : FL_STEP_STREAM;
}

static void go_on(const struct fl_watch_facts *facts, struct fl_watch_plan *plan)
{
	bool other = facts->outcome == FL_OUT_LOST || facts->step == FL_STEP_CHECK;

	if (facts->has_version)
		plan->step = other ? FL_STEP_CHECK : FL_STEP_WATCH;   /* it may be another server by now */
	else
		full_state(plan);
}

/* Was it about this version? A lost connection, a server that is busy and a missing right say nothing of it, and a
 * full state is the last thing that a busy server needs. */
static bool is_doubtful(const struct fl_watch_facts *facts, uint32_t failures)
{
	uint32_t doubt = facts->outcome == FL_OUT_AHEAD ? DOUBT_BEHIND : DOUBT;

	return facts->has_version && failures >= doubt && facts->outcome != FL_OUT_LOST &&
	       facts->outcome != FL_OUT_BUSY && facts->outcome != FL_OUT_DENIED;
}

/* Once more, later: soon after one that had come to something. */
static void again(const struct fl_watch_facts *facts, struct fl_watch_plan *plan)
{
	/* Part of a full state is no progress: the next attempt reads it from its beginning again. */
	uint32_t failures = facts->progress && facts->has_version ? 0 : facts->failures;

	go_on(facts, plan);
	plan->broken = true;
	plan->delay = back_off(failures);
	if (plan->delay < facts->retry_after)
		plan->delay = facts->retry_after;
	plan->failures = failures + 1;
	if (is_doubtful(facts, failures))
		full_state(plan);
}

static void after_done(const struct fl_watch_facts *facts, struct fl_watch_plan *plan)
{
	if (facts->step == FL_STEP_LIST) {
		plan->step = FL_STEP_WATCH;
		plan->failures = facts->failures;   /* a list that is followed by 410 each time is a circle */
	} else if (facts->step == FL_STEP_CHECK && facts->has_version) {
		plan->step = FL_STEP_WATCH;
		plan->failures = facts->failures;   /* of the watch, which has not yet shown that it is better now */
	} else if (facts->step == FL_STEP_ASK) {
		full_state(plan);
	} else if (!facts->has_version) {
		/* The stream ended before its initial events did. */
		again(facts, plan);
		plan->no_stream |= facts->failures >= DOUBT;
		full_state(plan);
	} else if (facts->progress || facts->took >= FL_NS_PER_S) {
		go_on(facts, plan);
	} else {
		/* A server that ends watches as soon as they begin is not to be asked in a circle. */
		again(facts, plan);
		plan->broken = facts->failures > 0;
	}
}

static void after_absent(const struct fl_watch_facts *facts, struct fl_watch_plan *plan)
{
	uint32_t asked = facts->step == FL_STEP_ASK ? facts->failures : 0;

	plan->step = FL_STEP_ASK;
	plan->forget = plan->absent = true;
	plan->delay = asked > FL_WATCH_ASK_SOON ?
			      FL_WATCH_ASK_SELDOM :
			      fl_backoff_after(asked + 1, FL_WATCH_ASK_FIRST, FL_WATCH_ASK_LAST);
	plan->failures = asked + 1;
}

/* Asking itself failed: what we knew, that the kind is absent, still holds. */
static void ask_again(const struct fl_watch_facts *facts, struct fl_watch_plan *plan)
{
	plan->step = FL_STEP_ASK;
	plan->delay = fl_backoff_after(facts->failures + 1, FL_WATCH_ASK_FIRST, FL_WATCH_ASK_LAST);
	if (plan->delay < facts->retry_after)
		plan->delay = facts->retry_after;
	plan->failures = facts->failures + 1;
}

/* Not at once, as everybody's version expires together; and not in a circle: only a watch that has lasted was better
 * than the one before. */
static void after_expired(const struct fl_watch_facts *facts, struct fl_watch_plan *plan)
{
	bool lasted = facts->has_version && facts->took >= FL_WATCH_DELAY_LAST;
	uint32_t failures = lasted ? 0 : facts->failures;

	plan->delay = back_off(failures);
	plan->failures = lasted ? 0 : failures + 1;
	plan->broken = true;
	full_state(plan);
}

/* Once is slow. Twice in a row may be a server that ignores what it does not know and never ends the initial events. */
static void after_lost(const struct fl_watch_facts *facts, struct fl_watch_plan *plan)
{
	if (facts->step == FL_STEP_STREAM && !facts->has_version && facts->took >= FL_WATCH_READING_QUIET)
		plan->no_stream |= facts->failures > 0;
	again(facts, plan);
}

/* Where no server may know the version that was told, the next list cannot ask for what is not older. */
static bool asks_newest(const struct fl_watch_facts *facts, const struct fl_watch_plan *plan)
{
	bool refused = facts->outcome == FL_OUT_FAILED || facts->outcome == FL_OUT_NO_STREAM;

	if (plan->forget && (facts->outcome == FL_OUT_AHEAD || (refused && facts->failures >= DOUBT) ||
			     (facts->step == FL_STEP_LIST && facts->outcome == FL_OUT_EXPIRED)))
		return true;
	return facts->newest && !facts->has_version;
}

static struct fl_watch_plan after(const struct fl_watch_facts *facts)
{
	struct fl_watch_plan plan = { .no_stream = facts->no_stream };

	if (facts->step == FL_STEP_ASK && facts->outcome != FL_OUT_DONE && facts->outcome != FL_OUT_ABSENT &&
	    facts->outcome != FL_OUT_START) {
		ask_again(facts, &plan);
		return plan;
	}
	switch (facts->outcome) {
	case FL_OUT_START: full_state(&plan); break;
	case FL_OUT_DONE: after_done(facts, &plan); break;
	case FL_OUT_EXPIRED: after_expired(facts, &plan); break;
	case FL_OUT_ABSENT: after_absent(facts, &plan); break;
	case FL_OUT_NO_STREAM:
		if (facts->step == FL_STEP_STREAM) {
			plan.no_stream = true;
			full_state(&plan);
			break;
		}
		again(facts, &plan);
		break;
	case FL_OUT_LOST: after_lost(facts, &plan); break;
	case FL_OUT_AHEAD:
	case FL_OUT_DENIED:
	case FL_OUT_BUSY:
	case FL_OUT_FAILED:
	case FL_WATCH_OUTCOME_COUNT_: again(facts, &plan); break;
	}
	return plan;
}

struct fl_watch_plan fl_watch_next(const struct fl_watch_facts *facts)
{
	struct fl_watch_plan plan = after(facts);

	plan.newest = asks_newest(facts, &plan);
	return plan;
}
