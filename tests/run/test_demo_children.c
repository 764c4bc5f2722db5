/* The demo with children, against an API server that keeps the rules: what a parent has, what it claims, how it
 * goes. */
#include "base/units.h"
#include "demo_children.h"
#include "fake_api.h"
#include "io/sys.h"
#include "keys_check.h"
#include "kind_lint.h"
#include "rig.h"

TEST(kinds_of_the_market_hold_together)
{
	struct fl_err err = { 0 };

	OK_ERR(kind_lint(&fl_market_kind, &err), &err);
	OK_ERR(kind_lint(&fl_stall_kind, &err), &err);
	OK_ERR(kind_lint(&fl_square_kind, &err), &err);
}

/* ---- the decision ---- */

/* Metadata, to be gone on with. */
#define NAMED(name) "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ns\""
#define FINALIZER "metadata.finalizers \"demo.fairlead.test/stalls\"\n"
#define OWNERS(uid) \
	"\"ownerReferences\":[{\"apiVersion\":\"demo.fairlead.test/v1\",\"kind\":\"Market\"," \
	"\"name\":\"m\",\"uid\":\"" uid "\",\"controller\":true,\"blockOwnerDeletion\":true}]"
#define REF(uid) "{\"metadata\":{" OWNERS(uid) "}"
#define READY(is, reason, message) \
	"want Market ns/m by demo-market {\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"" is "\"," \
	"\"reason\":\"" reason "\",\"message\":\"" message "\",\"observedGeneration\":4}]}}\n"

static const struct {
	const char *says;
	bool going;
	const char *square;   /* whose it is; NULL: there is none */
	const char *plan;
} rows[] = {
	{ "a market has its finalizer first, then its square and a stall for each good, and no others", false, "",
	  "item Market ns/m first " FINALIZER
	  "want Square s by demo-square as seen {\"spec\":{\"market\":\"m\"}}\n"
	  "want Stall ns/m-figs of Market ns/m by demo-stalls " REF("u1") ",\"spec\":{\"sells\":\"figs\"}}\n"
	  READY("False", "Building", "0 of 1 stalls") "no other Stall of Market ns/m\n" },
	{ "the square of another market is not claimed", false, "n",
	  "item Market ns/m first " FINALIZER
	  "want Stall ns/m-figs of Market ns/m by demo-stalls " REF("u1") ",\"spec\":{\"sells\":\"figs\"}}\n"
	  READY("False", "Building", "0 of 1 stalls") "no other Stall of Market ns/m\n" },
	{ "a market that goes has no stalls, gives its square back, and its finalizer last", true, "m",
	  "want Square s by demo-square as seen {\"spec\":{\"market\":\"\"}}\n"
	  "no item Market ns/m last " FINALIZER "no other Stall of Market ns/m\n" },
};

TEST(market_plans)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);
		struct fl_str figs = FL_S("figs");
		struct fl_market market = { .spec = { .goods = { &figs, 1 } } };
		struct fl_square square = { .spec = { .market = fl_str(row->square ? row->square : "") } };
		struct market_facts facts = { .market = &market, .square = row->square ? &square : NULL };
		struct fl_plan plan;

		FL_SET(FL_IN(&market, meta), name, FL_S("m"));
		FL_SET(&market.meta, space, FL_S("ns"));
		FL_SET(&market.meta, uid, FL_S("u1"));
		FL_SET(&market.meta, generation, 4);
		if (row->going)
			FL_SET(&market.meta, deletion_timestamp, 1);
		FL_SET(FL_IN(&square, meta), name, FL_S("s"));
		fl_plan_init(&plan, &arena);
		market_plan(&facts, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		fl_plan_print(&plan, &text);
		OK(fl_buf_check(&text, "plan", NULL));
		CHECK_STR(fl_buf_view(&text), row->plan);
	}
}

/* ---- with a server ---- */

#define WORLD(api, one) \
	struct fake_client one = { 0 }; \
	FL_AUTO(fake_api) struct fake_api api = { 0 }; \
	OK(fake_api_init(&api, market_sources)); \
	OK(fake_client_init(&one, &api, &markets))

#define MARKET(name, goods) NAMED(name) "},\"spec\":{\"goods\":[" goods "]}}"
#define FIGS_AND_NUTS MARKET("m", "\"figs\",\"nuts\"")

static struct fl_str ready(struct fake_api *api, const char *name, struct fl_arena *arena)
{
	const struct fl_market *market = fake_api_get(api, &fl_market_kind, name, arena);

	return market && market->status.conditions.len ? market->status.conditions.at[0].reason : FL_S("none");
}

#define CHECK_READY(api, name, reason) \
	do { \
		FL_AUTO(fl_arena) struct fl_arena arena_ = { 0 }; \
		struct fl_str is_ = ready(&(api), name, &arena_); \
\
		SURE_STR(is_, reason); \
	} while (0)

/* What the writes were, since the last time. */
#define CHECK_LOG(api, text) \
	do { \
		SURE_STR(fl_buf_view(&(api).log), text); \
		fl_buf_clear(&(api).log); \
	} while (0)

static uint32_t count(struct fake_api *api, uint32_t kind)
{
	return api->truth[kind].len;
}

TEST(a_market_comes_and_goes_in_order)
{
	WORLD(api, one);

	OK(fake_api_put(&api, &fl_square_kind, "{\"metadata\":{\"name\":\"s\"}}"));
	OK(fake_api_put(&api, &fl_market_kind, FIGS_AND_NUTS));
	fake_api_run(&api);
	SURE_INT(one.held, 1);   /* the finalizer; nothing else before it is answered */
	OK(fake_api_settle(&api));
	CHECK_LOG(api, "item Market m\nwant Square s\nwant Stall m-figs\nwant Stall m-nuts\n"
		       "want Market m\nwant Market m\n");   /* Building, then AllStalls */
	CHECK_READY(api, "ns/m", "AllStalls");
	OK(fake_api_delete(&api, &fl_market_kind, "ns/m"));
	OK(fake_api_settle(&api));
	CHECK_LOG(api, "want Square s\ngone Stall m-figs\ngone Stall m-nuts\nno item Market m\n");
	SURE_INT(count(&api, 0) + count(&api, 1), 0);
	SURE(fl_io_next(api.io) == FL_NEVER);
}

TEST(a_good_that_is_not_sold_any_more_has_no_stall)
{
	WORLD(api, one);

	OK(fake_api_put(&api, &fl_market_kind, FIGS_AND_NUTS));
	OK(fake_api_settle(&api));
	fl_buf_clear(&api.log);
	OK(fake_api_put(&api, &fl_market_kind,
			NAMED("m") ",\"finalizers\":[\"demo.fairlead.test/stalls\"]},"
				   "\"spec\":{\"goods\":[\"nuts\"]}}"));
	OK(fake_api_settle(&api));
	SURE_INT(count(&api, 1), 1);
	CHECK_READY(api, "ns/m", "AllStalls");
	OK(fake_api_delete(&api, &fl_stall_kind, "ns/m-nuts"));   /* somebody */
	OK(fake_api_settle(&api));
	SURE_INT(count(&api, 1), 1);
	SURE(fl_io_next(api.io) == FL_NEVER);
}

/* Not only what is deleted: whatever else the plan wants is answered before. */
TEST(the_finalizer_waits_until_the_square_is_given_back)
{
	WORLD(api, one);

	OK(fake_api_put(&api, &fl_square_kind, "{\"metadata\":{\"name\":\"s\"}}"));
	OK(fake_api_put(&api, &fl_market_kind, MARKET("m", "")));
	OK(fake_api_settle(&api));
	fl_buf_clear(&api.log);
	OK(fake_api_delete(&api, &fl_market_kind, "ns/m"));
	fake_api_run(&api);
	SURE_INT(one.held, 1);
	OK(fake_api_settle(&api));
	CHECK_LOG(api, "want Square s\nno item Market m\n");
	SURE_INT(count(&api, 0), 0);
}

/* Stalls that are slow to go hold the finalizer: going is not gone. */
TEST(the_finalizer_waits_until_the_last_child_is_gone)
{
	WORLD(api, one);

	OK(fake_api_put(&api, &fl_market_kind, FIGS_AND_NUTS));
	OK(fake_api_settle(&api));
	OK(fake_api_put(&api, &fl_stall_kind, NAMED("m-figs") ",\"finalizers\":[\"slow\"]," OWNERS("uid-1") "}}"));
	OK(fake_api_settle(&api));
	fl_buf_clear(&api.log);
	OK(fake_api_delete(&api, &fl_market_kind, "ns/m"));
	OK(fake_api_settle(&api));
	CHECK_LOG(api, "gone Stall m-figs\ngone Stall m-nuts\n");
	SURE_INT(count(&api, 0), 1);
	SURE(fl_io_next(api.io) == FL_NEVER);
	OK(fake_api_put(&api, &fl_stall_kind,
			NAMED("m-figs") ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}}"));
	OK(fake_api_settle(&api));
	CHECK_LOG(api, "no item Market m\n");
	SURE_INT(count(&api, 0), 0);
}

static const struct {
	const char *says, *stall, *condition;
} takers[] = {
	{ "somebody's without a controller", NAMED("m-figs") "},\"spec\":{\"sells\":\"hats\"}}",
	  "m-figs is that of somebody who has set no controller: delete it, or sell something else" },
	{ "another kind's",
	  NAMED("m-figs") ",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Bazaar\","
	  "\"name\":\"b\",\"uid\":\"u\",\"controller\":true}]},\"spec\":{\"sells\":\"hats\"}}",
	  "m-figs is that of Bazaar b: delete it, or sell something else" },
	{ "a parent's of the same name that is gone",
	  NAMED("m-figs") "," OWNERS("old") "},\"spec\":{\"sells\":\"hats\"}}",
	  "m-figs is that of Market m of another uid: delete it, or sell something else" },
};

TEST(what_bears_the_name_of_a_child_is_left_and_told)
{
	EACH_ROW (row, takers) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf words = FL_BUF(4 * FL_KIB);
		const struct fl_market *market_;
		const struct fl_stall *stall;
		WORLD(api, one);

		OK(fake_api_put(&api, &fl_stall_kind, row->stall));
		OK(fake_api_put(&api, &fl_market_kind, FIGS_AND_NUTS));
		OK(fake_api_settle(&api));
		market_ = fake_api_get(&api, &fl_market_kind, "ns/m", &arena);
		stall = fake_api_get(&api, &fl_stall_kind, "ns/m-figs", &arena);
		OK(api.nomem ? -FL_E_NOMEM : 0);
		SURE(stall && fl_str_eq(stall->spec.sells, FL_S("hats")));
		SURE(market_ && market_->status.conditions.len == 1);
		if (market_ && market_->status.conditions.len)
			SURE_STR(market_->status.conditions.at[0].message, row->condition);
		OK(fl_loop_explain(one.loop, &fl_market_kind, FL_S("ns"), FL_S("m"), &words, NULL));
		SURE(memmem(words.p, words.len, "market: Taken: Stall m-figs is that of ", 39));
		SURE(fl_io_next(api.io) == FL_NEVER);
		OK(fake_api_delete(&api, &fl_stall_kind, "ns/m-figs"));   /* no key can be read from it */
		OK(fake_api_settle(&api));
		CHECK_READY(api, "ns/m", "AllStalls");
	}
}

/* A market of the same name comes at once: the stalls of the one before are not its own. */
TEST(a_market_of_the_same_name_has_stalls_of_its_own)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_stall *before, *after;
	WORLD(api, one);

	OK(fake_api_put(&api, &fl_market_kind, FIGS_AND_NUTS));
	OK(fake_api_settle(&api));
	before = fake_api_get(&api, &fl_stall_kind, "ns/m-figs", &arena);
	OK(fake_api_delete(&api, &fl_market_kind, "ns/m"));
	OK(fake_api_settle(&api));
	OK(fake_api_put(&api, &fl_market_kind, FIGS_AND_NUTS));
	OK(fake_api_settle(&api));
	after = fake_api_get(&api, &fl_stall_kind, "ns/m-figs", &arena);
	OK(api.nomem ? -FL_E_NOMEM : 0);
	SURE(before && after && !fl_str_eq(before->meta.uid, after->meta.uid) &&
	     !fl_str_eq(fl_controller(&before->meta.owner_references)->uid,
			fl_controller(&after->meta.owner_references)->uid));
}

TEST(a_market_that_is_going_gets_no_finalizer)
{
	WORLD(api, one);

	OK(fake_api_put(&api, &fl_market_kind,
			NAMED("m") ",\"finalizers\":[\"theirs\"],"
				   "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{\"goods\":[\"figs\"]}}"));
	OK(fake_api_settle(&api));
	CHECK_LOG(api, "");
	SURE_INT(one.refused, 0);
}

/* Nor from a plan that does not look whether it goes: the server would refuse it for ever. */
static void want_finalizer(const void *facts, struct fl_plan *plan)
{
	static const struct fl_finalizer own = FL_FINALIZER(&fl_market_kind, "demo-market", "demo.fairlead.test/own");

	fl_want_finalizer(plan, &own, FL_REF(&fl_market_kind, ((const struct market_facts *)facts)->market));
}

TEST(what_is_going_gets_no_finalizer_whatever_is_wanted)
{
	struct fl_capability stubborn = markets;
	struct fake_client one = { 0 };
	FL_AUTO(fake_api) struct fake_api api = { 0 };

	stubborn.plan = want_finalizer;
	OK(fake_api_init(&api, market_sources));
	OK(fake_client_init(&one, &api, &stubborn));
	OK(fake_api_put(&api, &fl_market_kind,
			NAMED("m") ",\"finalizers\":[\"theirs\"],"
				   "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{\"goods\":[]}}"));
	OK(fake_api_settle(&api));
	CHECK_LOG(api, "");
	SURE(fl_io_next(api.io) == FL_NEVER);
}

/* ---- does it look again at whatever it has read? ---- */

TEST(no_change_around_a_market_is_missed)
{
	FL_AUTO(fl_buf) struct fl_buf missed = FL_BUF(16 * FL_KIB);
	WORLD(api, one);

	OK(fake_api_put(&api, &fl_square_kind, "{\"metadata\":{\"name\":\"s\"}}"));
	OK(fake_api_put(&api, &fl_market_kind, FIGS_AND_NUTS));
	OK(fake_api_settle(&api));
	OK(keys_check(one.loop, &markets, FL_S("ns"), FL_S("m"), &missed));
	CHECK_STR(fl_buf_view(&missed), "");
}

static void hears_nothing(const void *before, const void *after, struct fl_dirty *dirty)
{
	(void)before;
	(void)after;
	(void)dirty;
}

TEST(keys_that_do_not_name_the_parent_are_found_out)
{
	FL_AUTO(fl_buf) struct fl_buf missed = FL_BUF(16 * FL_KIB);
	struct fl_watched deaf[] = { markets.watches[0], { &fl_stall_kind, hears_nothing, false }, markets.watches[2],
				     { 0 } };
	struct fl_capability half = markets;
	WORLD(api, one);

	half.watches = deaf;
	OK(fake_api_put(&api, &fl_market_kind, MARKET("m", "\"figs\"")));
	OK(fake_api_settle(&api));
	OK(keys_check(one.loop, &half, FL_S("ns"), FL_S("m"), &missed));
	SURE(missed.p &&
	     memmem(missed.p, missed.len, "market: the end of Stall m-figs does not make the key 'm' dirty\n", 64));
}

/* ---- what is refused when the loop is put together ---- */

static int refusal(const struct fl_source *sources, const struct fl_capability *row, struct fl_err *err)
{
	FL_AUTO(fl_io) struct fl_io *io = rig_clock();
	struct fl_loop_options options = { .seed = { 1, 2 } };
	struct fl_loop *loop = io ? fl_loop_new(io, &options, err) : NULL;
	int r = loop ? 0 : -FL_E_NOMEM;

	for (; r == 0 && sources->kind; sources++)
		r = fl_loop_source(loop, sources, err);
	if (r == 0)
		r = fl_loop_capability(loop, row, err);
	(void)fl_loop_free(loop);
	return r;
}

static const struct fl_owner other = {
	.manager = "other", .kind = &fl_stall_kind, .paths = (const char *const[]){ "spec.sells", NULL },
};

TEST(children_without_index_watch_or_owner_are_refused)
{
	static const struct fl_source bare[] = { { .kind = &fl_market_kind }, { .kind = &fl_stall_kind },
						 { .kind = &fl_square_kind }, { 0 } };
	static const struct fl_children unlisted = { &other, &fl_market_kind, NULL };
	static const struct fl_children unlabelled = { &other, &fl_market_kind, "demo.fairlead.test/market" };
	struct fl_watched blind[] = { markets.watches[0], markets.watches[2], { 0 } };
	struct fl_capability no_watch = markets, no_owner = markets, no_label = markets;
	struct fl_err err = { 0 };

	no_watch.watches = blind;
	no_owner.children = (const struct fl_children *const[]){ &unlisted, NULL };
	no_label.children = (const struct fl_children *const[]){ &unlabelled, NULL };
	REFUSED(refusal(bare, &markets, &err), FL_E_INVALID);
	CHECK_STR(fl_str(err.text), "capability market makes Stall for Market, and no index finds them: "
				    "{ \"controller\", fl_by_controller }");
	REFUSED(refusal(market_sources, &no_watch, &err), FL_E_INVALID);
	CHECK_STR(fl_str(err.text), "capability market makes Stall for Market and does not watch both");
	REFUSED(refusal(market_sources, &no_owner, &err), FL_E_INVALID);
	CHECK_STR(fl_str(err.text), "capability market does not list the owner other of its children");
	REFUSED(refusal(market_sources, &no_label, &err), FL_E_INVALID);
	CHECK_STR(fl_str(err.text), "capability market: owner other does not own "
				    "metadata.labels[demo.fairlead.test/market] of Stall");
}
