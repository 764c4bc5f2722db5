/* An elector against a server that says what is written down here. */
#include "base/limits.h"
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

static struct fl_elector *elect(struct script *script, struct told *told)
{
	return fl_elector_new(script->kube,
			      &(struct fl_lease_options){ .space = "s", .name = "l", .identity = "me", .times = quick,
							  .leads = leads, .leader = leader, .arg = told },
			      &script->err);
}

TEST(who_leads)
{
	EACH_ROW (row, rows) {
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
