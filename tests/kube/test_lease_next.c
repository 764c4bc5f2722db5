#include "base/units.h"
#include "kube/lease.h"
#include "test.h"

#define S FL_NS_PER_S
#define TIMES { 15 * S, 10 * S, 2 * S }
/* At second 100 of a clock that began somewhere. */
#define NOW (100 * S)

static const struct {
	const char *says;
	struct fl_lease_facts facts;
	enum fl_lease_do what;
	uint64_t at;
	bool lost;
} rows[] = {
	{ "who knows nothing looks", { .now = NOW, .times = TIMES }, FL_LEASE_READ },
	{ "a look that failed is taken again a retry later",
	  { .now = NOW, .times = TIMES, .tried = 99 * S }, FL_LEASE_WAIT, 101 * S },
	{ "where there is none, it is made", { .now = NOW, .times = TIMES, .known = true }, FL_LEASE_CREATE },
	{ "one that nobody holds is taken",
	  { .now = NOW, .times = TIMES, .known = true, .exists = true, .free = true }, FL_LEASE_TAKE },
	{ "one that somebody holds and renews is looked at",
	  { .now = NOW, .times = TIMES, .known = true, .exists = true, .changed = 90 * S, .holder_duration = 15 * S,
	    .tried = 98 * S },
	  FL_LEASE_READ },
	{ "but not more often than each retry",
	  { .now = NOW, .times = TIMES, .known = true, .exists = true, .changed = 90 * S, .holder_duration = 15 * S,
	    .tried = 99 * S },
	  FL_LEASE_WAIT, 101 * S },
	{ "one that has not changed for its holder's duration is taken",
	  { .now = NOW, .times = TIMES, .known = true, .exists = true, .changed = 85 * S, .holder_duration = 15 * S,
	    .tried = 98 * S },
	  FL_LEASE_TAKE },
	{ "a moment earlier it is not",
	  { .now = NOW - 1, .times = TIMES, .known = true, .exists = true, .changed = 85 * S, .holder_duration = 15 * S,
	    .tried = 97 * S },
	  FL_LEASE_READ },
	{ "the duration is the holder's, not ours",
	  { .now = NOW, .times = TIMES, .known = true, .exists = true, .changed = 85 * S, .holder_duration = 60 * S,
	    .tried = 98 * S },
	  FL_LEASE_READ },
	{ "a leader renews each retry",
	  { .now = NOW, .times = TIMES, .known = true, .exists = true, .mine = true, .renewed = 98 * S,
			.tried = 98 * S },
	  FL_LEASE_RENEW },
	{ "and waits in between",
	  { .now = NOW, .times = TIMES, .known = true, .exists = true, .mine = true, .renewed = 99 * S,
			.tried = 99 * S },
	  FL_LEASE_WAIT, 101 * S },
	{ "a leader that cannot renew leads until it gives up",
	  { .now = NOW, .times = TIMES, .renewed = 90 * S + 1, .tried = 99 * S }, FL_LEASE_WAIT, 100 * S + 1 },
	{ "and no longer, even if the Lease still names it",
	  { .now = NOW, .times = TIMES, .known = true, .exists = true, .mine = true, .renewed = 90 * S,
			.tried = 98 * S },
	  FL_LEASE_TAKE, .lost = true },
	{ "a process that was stopped for a minute does not lead when it goes on",
	  { .now = NOW, .times = TIMES, .known = true, .exists = true, .mine = true, .renewed = 40 * S,
			.tried = 40 * S },
	  FL_LEASE_TAKE, .lost = true },
	{ "a leader that sees another's name does not lead",
	  { .now = NOW, .times = TIMES, .known = true, .exists = true, .renewed = 99 * S, .changed = 99 * S,
	    .holder_duration = 15 * S, .tried = 99 * S },
	  FL_LEASE_WAIT, 101 * S, .lost = true },
	{ "our own name without leadership: we were restarted, and take it up",
	  { .now = NOW, .times = TIMES, .known = true, .exists = true, .mine = true }, FL_LEASE_TAKE },
	{ "a short duration leaves a fifth of it as margin",
	  { .now = NOW, .times = { 10 * S, 9 * S + 1, 2 * S }, .known = true, .exists = true, .mine = true,
			.renewed = 92 * S,
	    .tried = 99 * S },
	  FL_LEASE_WAIT, 101 * S, .lost = true },
	{ "a leader that stops gives it back",
	  { .now = NOW, .times = TIMES, .known = true, .exists = true, .mine = true, .renewed = 99 * S, .tried = 99 * S,
	    .stopping = true },
	  FL_LEASE_RELEASE, .lost = true },
	{ "one that waits and stops has nothing to give back",
	  { .now = NOW, .times = TIMES, .known = true, .exists = true, .stopping = true }, FL_LEASE_OVER },
	{ "one that does not know any more what is there looks once",
	  { .now = NOW, .times = TIMES, .claimed = true, .stopping = true }, FL_LEASE_READ },
	{ "and not twice",
	  { .now = NOW, .times = TIMES, .claimed = true, .stopping = true, .looked = true }, FL_LEASE_OVER },
	{ "what was found to be ours is given back",
	  { .now = NOW, .times = TIMES, .known = true, .exists = true, .mine = true, .claimed = true, .stopping = true,
	    .looked = true },
	  FL_LEASE_RELEASE },
	{ "what was found to be another's is left alone",
	  { .now = NOW, .times = TIMES, .known = true, .exists = true, .claimed = true, .stopping = true,
	    .looked = true },
	  FL_LEASE_OVER },
	{ "nor has one that knows nothing", { .now = NOW, .times = TIMES, .stopping = true }, FL_LEASE_OVER },
};

TEST(what_an_elector_does_next)
{
	EACH_ROW (row, rows) {
		struct fl_lease_step step = fl_lease_next(&row->facts);

		CHECK_STR(fl_str(fl_name(&fl_lease_do_names, (int)step.what)), fl_name(&fl_lease_do_names,
										       (int)row->what));
		CHECK_INT(step.at, row->at);
		CHECK_INT(step.lost, row->lost);
	}
}

TEST(leadership_is_believed_for_less_time_than_others_wait)
{
	struct fl_lease_times usual = TIMES, hasty = { 5 * S, 100 * S, S };

	CHECK_INT(fl_lease_until(&usual, 0), 0);
	CHECK_INT(fl_lease_until(&usual, 50 * S), 60 * S);
	CHECK_INT(fl_lease_until(&hasty, 50 * S), 54 * S);
}
