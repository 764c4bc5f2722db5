/* An elector against a server that says what is written down here. */
#include "base/units.h"
#include "kube/lease.h"
#include "script.h"
#include "test.h"
#include <stdio.h>

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/s/leases"
#define LEASE(version, holder, seconds, transitions) \
	"{\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"" version "\"},\"spec\":{\"holderIdentity\":" \
	"\"" holder "\"," \
	"\"leaseDurationSeconds\":" seconds ",\"leaseTransitions\":" transitions "}}"
#define PATCH LEASES "/l?fieldManager=fairlead"

struct told {
	char line[200];
};

static void leads(void *arg, bool is)
{
	struct told *told = arg;
	size_t len = strlen(told->line);

	(void)snprintf(told->line + len, sizeof told->line - len, is ? "[leads]" : "[does not]");
}

static void leader(void *arg, struct fl_str who)
{
	struct told *told = arg;
	size_t len = strlen(told->line);

	(void)snprintf(told->line + len, sizeof told->line - len, "(%.*s)", FL_ARG(who));
}

static const struct {
	const char *says;
	struct exchange script[7];
	const char *told;
	bool held;
	int term;
	const char *last;          /* how the last request's body begins */
} rows[] = {
	{ "where there is no Lease, one is made",
	  { { LEASES "/l", 404, "{\"details\":{\"name\":\"l\"}}" },
	    { LEASES "?fieldManager=fairlead", 201, LEASE("1", "me", "1", "0") } },
	  "(me)[leads]", true, 0,
	  "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"l\"},\"spec\":{"
	  "\"holderIdentity\":\"me\",\"leaseDurationSeconds\":1,\"renewTime\":\"" },
	{ "another is faster to make it",
	  { { LEASES "/l", 404, "{}" }, { LEASES "?fieldManager=fairlead", 409, "{\"reason\":\"AlreadyExists\"}" },
	    { LEASES "/l", 200, LEASE("1", "you", "60", "0") } },
	  "(you)", false, 0 },
	{ "one that nobody holds is taken, and says so",
	  { { LEASES "/l", 200, LEASE("1", "", "1", "4") }, { PATCH, 200, LEASE("2", "me", "1", "5") } },
	  "()(me)[leads]", true, 5,
	  "{\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"1\"},\"spec\":{\"holderIdentity\":\"me\"," },
	{ "another is faster to take it",
	  { { LEASES "/l", 200, LEASE("1", "", "1", "4") }, { PATCH, 409, "{\"reason\":\"Conflict\"}" },
	    { LEASES "/l", 200, LEASE("2", "you", "60", "5") } },
	  "()(you)", false, 5 },
	{ "one that is ours already is taken up without a new term",
	  { { LEASES "/l", 200, LEASE("1", "me", "1", "4") }, { PATCH, 200, LEASE("2", "me", "1", "4") } },
	  "(me)[leads]", true, 4 },
	{ "one that runs out is taken",
	  { { LEASES "/l", 200, LEASE("1", "you", "0", "4") }, { PATCH, 200, LEASE("2", "me", "1", "5") } },
	  "(you)(me)[leads]", true, 5 },
	{ "an answer in another's name is no leadership",
	  { { LEASES "/l", 200, LEASE("1", "", "1", "4") }, { PATCH, 200, LEASE("2", "you", "60", "5") } }, "()(you)",
			false, 5 },
	{ "renewed by what is known, without reading",
	  { { LEASES "/l", 200, LEASE("1", "", "1", "4") }, { PATCH, 200, LEASE("2", "me", "1", "5") },
	    { PATCH, 200, LEASE("3", "me", "1", "5") } },
	  "()(me)[leads]", true, 5,
	  "{\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"2\"},\"spec\":{\"holderIdentity\":\"me\"," },
	{ "a renewal that meets another's name ends it",
	  { { LEASES "/l", 200, LEASE("1", "", "1", "4") }, { PATCH, 200, LEASE("2", "me", "1", "5") },
	    { PATCH, 409, "{\"reason\":\"Conflict\"}" }, { LEASES "/l", 200, LEASE("9", "you", "60", "6") } },
	  "()(me)[leads](you)[does not]", false, 6 },
};

static const struct fl_lease_times quick = { 900 * FL_NS_PER_MS, 600 * FL_NS_PER_MS, 20 * FL_NS_PER_MS };

static int turns(struct script *script, const struct told *told, const char *want)
{
	for (int i = 0; i < 1000 && !script->wrong[0] && !test_tortured(); i++) {
		if (!script->at->target && strcmp(told->line, want) == 0)
			return 0;
		if (fl_io_turn(script->io, fl_now(script->io) + FL_NS_PER_MS, &script->err) < 0)
			return -(int)script->err.code;
	}
	return 0;
}

/* 0: as seldom as usual. */
static struct fl_elector *elect_every(struct script *script, struct told *told, uint64_t retry)
{
	struct fl_lease_times times = quick;

	times.retry = retry ? retry : FL_LEASE_RETRY;
	return fl_elector_new(script->kube,
			      &(struct fl_lease_options){ .space = "s", .name = "l", .identity = "me", .times = times,
							  .leads = leads, .leader = leader, .arg = told },
			      &script->err);
}

static struct fl_elector *elect(struct script *script, struct told *told)
{
	return elect_every(script, told, quick.retry);
}

TEST(who_leads)
{
	EACH_ROW_ALONE (row, rows) {
		FL_AUTO(script) struct script script = { 0 };
		FL_AUTO(fl_elector) struct fl_elector *elector = NULL;
		struct told told = { 0 };

		OK_ERR(script_open(&script, row->script), &script.err);
		elector = elect(&script, &told);
		GOT(elector);
		OK_ERR(turns(&script, &told, row->told), &script.err);
		if (test_tortured())
			return;
		CHECK_STR(fl_str(script.wrong), "");
		CHECK_STR(fl_str(told.line), row->told);
		CHECK_INT(fl_lease_held(elector), row->held);
		CHECK_INT(fl_lease_term(elector), row->term);
		if (row->last)
			CHECK(fl_str_starts(fl_str(script.got_body), fl_str(row->last)));
	}
}

TEST(a_clean_end_gives_it_back)
{
	static const struct exchange exchanges[] = { { LEASES "/l", 200, LEASE("1", "", "1", "4") },
						     { PATCH, 200, LEASE("2", "me", "1", "5") },
						     { PATCH, 200, LEASE("3", "", "1", "5") },
						     { 0 } };
	static const char released[] = "{\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"2\"},\"spec\":{"
				       "\"holderIdentity\":\"\",\"leaseDurationSeconds\":1,";
	FL_AUTO(script) struct script script = { 0 };
	FL_AUTO(fl_elector) struct fl_elector *elector = NULL;
	struct told told = { 0 };
	struct fl_op stop = { 0 };

	OK_ERR(script_open(&script, exchanges), &script.err);
	elector = elect(&script, &told);
	GOT(elector);
	for (int i = 0; i < 1000 && !fl_lease_held(elector) && !test_tortured(); i++)
		OK_ERR(fl_io_turn(script.io, fl_now(script.io) + FL_NS_PER_MS, &script.err), &script.err);
	if (test_tortured())
		return;
	CHECK(fl_lease_held(elector));
	fl_elector_stop(elector, &stop);
	CHECK(!fl_lease_held(elector));
	OK(test_op(script.io, &stop));
	if (test_tortured())
		return;
	CHECK_STR(fl_str(script.wrong), "");
	CHECK(fl_str_starts(fl_str(script.got_body), fl_str(released)));
	CHECK_STR(fl_str(told.line), "()(me)[leads][does not]()");
}

#define TAKEN { LEASES "/l", 200, LEASE("1", "", "1", "4") }, { PATCH, 200, LEASE("2", "me", "1", "5") }
#define OVERTAKEN { PATCH, 409, "{\"reason\":\"Conflict\"}" }
#define RELEASED(version) "{\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"" version "\"},\"spec\":{" \
			  "\"holderIdentity\":\"\","

/* The end comes when so many requests have been asked; one that is held is answered after it. */
struct end {
	const char *says;
	struct exchange script[8];
	unsigned asked;
	uint64_t retry;
	const char *answer;        /* to the one that is held */
	const char *last;          /* how the last request's body begins */
	const char *told;
};
/* Renewals, which have to be waited for. */
static const struct end renewals[] = {
	{ "a renewal under way is waited for: its answer has the version",
	  { TAKEN, { PATCH, 200, "", .held = true }, { PATCH, 200, LEASE("4", "", "1", "5") } },
	  3, 250 * FL_NS_PER_MS, LEASE("3", "me", "1", "5"), RELEASED("3"), "()(me)[leads][does not]()" },
	{ "a renewal without an answer has landed, perhaps: one look",
	  { TAKEN, { PATCH, 200, "", .held = true }, { LEASES "/l", 200, LEASE("3", "me", "1", "5") },
	    { PATCH, 200, LEASE("4", "", "1", "5") } },
	  3, 20 * FL_NS_PER_MS, NULL, RELEASED("3"), "()(me)[leads][does not]()" },
	{ "a renewal that failed leaves it unknown: one look",
	  { TAKEN, { PATCH, 500, "{}" }, { LEASES "/l", 200, LEASE("3", "me", "1", "5") },
	    { PATCH, 200, LEASE("4", "", "1", "5") } },
	  3, 20 * FL_NS_PER_MS, NULL, RELEASED("3"), "()(me)[leads][does not]()" },
};
static const struct end ends[] = {
	{ "taking it is waited for, and makes no leader any more",
	  { { LEASES "/l", 200, LEASE("1", "", "1", "4") }, { PATCH, 200, "", .held = true },
	    { PATCH, 200, LEASE("3", "", "1", "5") } },
	  2, 0, LEASE("2", "me", "1", "5"), RELEASED("2"), "()(me)()" },
	{ "a release with a former version looks, and is tried once more",
	  { TAKEN, OVERTAKEN, { LEASES "/l", 200, LEASE("7", "me", "1", "5") },
	    { PATCH, 200, LEASE("8", "", "1", "5") } },
	  2, 0, NULL, RELEASED("7"), "()(me)[leads][does not]()" },
	{ "but not for ever",
	  { TAKEN, OVERTAKEN, { LEASES "/l", 200, LEASE("7", "me", "1", "5") }, OVERTAKEN },
	  2, 0, NULL, RELEASED("7"), "()(me)[leads][does not]" },
	{ "another's is never given back",
	  { TAKEN, OVERTAKEN, { LEASES "/l", 200, LEASE("7", "you", "1", "6") } },
	  2, 0, NULL, NULL, "()(me)[leads][does not](you)" },
	{ "nor is nobody's",
	  { TAKEN, OVERTAKEN, { LEASES "/l", 200, LEASE("7", "", "1", "6") } },
	  2, 0, NULL, NULL, "()(me)[leads][does not]()" },
	{ "a look that fails is the end",
	  { TAKEN, OVERTAKEN, { LEASES "/l", 500, "{}" } }, 2, 0, NULL, NULL, "()(me)[leads][does not]" },
	{ "one that was removed is nobody's",
	  { TAKEN, { PATCH, 404, "{}" } }, 2, 0, NULL, RELEASED("2"), "()(me)[leads][does not]" },
	{ "one that waits ends at once, though it was looking",
	  { { LEASES "/l", 200, "", .held = true } }, 1, 0, NULL, NULL, "" },
	{ "one that waits has nothing to give back",
	  { { LEASES "/l", 200, LEASE("1", "you", "60", "4") } }, 1, 0, NULL, NULL, "(you)" },
};

/* Until so many are asked, and what was answered has come. */
static int until_asked(struct script *script, unsigned asked)
{
	int after = 0;

	for (int i = 0; i < 1000 && after < 5 && !test_tortured(); i++) {
		if (fl_io_turn(script->io, fl_now(script->io) + FL_NS_PER_MS, &script->err) < 0)
			return -(int)script->err.code;
		after += script->asked >= asked;
	}
	return 0;
}

static void end(const struct end *row)
{
	FL_AUTO(script) struct script script = { 0 };
	FL_AUTO(fl_elector) struct fl_elector *elector = NULL;
	struct told told = { 0 };
	struct fl_op stop = { 0 };

	test_row(row->says);
	OK_ERR(script_open(&script, row->script), &script.err);
	elector = elect_every(&script, &told, row->retry);
	GOT(elector);
	OK_ERR(until_asked(&script, row->asked), &script.err);
	if (test_tortured())
		return;
	fl_elector_stop(elector, &stop);
	CHECK(!fl_lease_held(elector));
	if (row->answer)
		script_answer(&script, row->answer);
	OK(test_op(script.io, &stop));
	if (test_tortured())
		return;
	CHECK_STR(fl_str(script.wrong), "");
	CHECK(!script.at->target);
	CHECK_STR(fl_str(told.line), row->told);
	CHECK(!row->last || fl_str_starts(fl_str(script.got_body), fl_str(row->last)));
}

/* Torture would wait for each of them. */
TEST_ONCE(how_it_ends_while_it_renews)
{
	for (const struct end *row = renewals; row < renewals + FL_LEN(renewals) && !test_failed(); row++)
		end(row);
}

#define PARTS 4

/* Every so-many-eth row: torture runs all of a TEST again for each call in it, so a few short ones are quicker. */
static void part(size_t from)
{
	for (const struct end *row = ends + from; row < ends + FL_LEN(ends) && !test_failed(); row += PARTS)
		end(row);
}

TEST(how_it_ends_1)
{
	part(0);
}

TEST(how_it_ends_2)
{
	part(1);
}

TEST(how_it_ends_3)
{
	part(2);
}

TEST(how_it_ends_4)
{
	part(3);
}
