/* Children in another namespace than their parent, where a label is in place of the owner reference: made, and no
 * others, from the real loop to an API server that keeps the rules. */
#include "demo_children.h"
#include "fake_api.h"
#include "io/sys.h"
#include "keys_check.h"
#include "rig.h"

#define LABEL "demo.fairlead.test/market"

static const struct fl_owner stall_owner = {
	.manager = "label-stalls", .kind = &fl_stall_kind,
	.paths = (const char *const[]){ "spec.sells", "metadata.labels[" LABEL "]", NULL },
};
static const struct fl_children stalls = { &stall_owner, &fl_market_kind, LABEL };
static const struct fl_finalizer finalizer = FL_FINALIZER(&fl_market_kind, "label-market", "demo.fairlead.test/stalls");

static void by_uid(const void *object, struct fl_under *under)
{
	FL_UNDER(under, ((const struct fl_market *)object)->meta.uid);
}
static const struct fl_index markets_by[] = { { "uid", by_uid }, { 0 } };
static const struct fl_index stalls_by[] = { { "market", .label = LABEL }, { 0 } };
static const struct fl_source sources[] = {
	{ .kind = &fl_market_kind, .by = markets_by }, { .kind = &fl_stall_kind, .by = stalls_by }, { 0 },
};

static void by_name(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct fl_market *market = after ? after : before;

	fl_dirty_key(dirty, market->meta.space, market->meta.name);
}

/* The label has the uid of the parent, and keys are names. */
static void parent_of(const void *before, const void *after, struct fl_dirty *dirty)
{
	const void *stalls_of[] = { before, after };

	for (unsigned i = 0; i < FL_LEN(stalls_of); i++) {
		struct fl_str uid = stalls_of[i] ? fl_parent_of(&stalls, stalls_of[i]) : FL_S("");
		struct fl_each each = fl_view_by(dirty->view, &fl_market_kind, "uid", uid);
		const struct fl_market *market = uid.len ? fl_each_next(&each) : NULL;

		if (market)
			fl_dirty_key(dirty, market->meta.space, market->meta.name);
	}
}

struct facts {
	const struct fl_market *market;
};

static bool gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct facts *facts = facts_;

	facts->market = fl_view_get(view, &fl_market_kind, key.space, key.name);
	return facts->market;
}

static void plan_it(const void *facts, struct fl_plan *plan)
{
	const struct fl_market *market = ((const struct facts *)facts)->market;
	struct fl_ref self = FL_REF(&fl_market_kind, market);

	fl_want_no_others(plan, &stalls, self);
	if (market->meta.has.deletion_timestamp) {
		fl_want_no_finalizer(plan, &finalizer, self);
		return;
	}
	fl_want_finalizer(plan, &finalizer, self);
	for (uint32_t i = 0; i < market->spec.goods.len; i++) {
		struct fl_ref ref = { &fl_stall_kind, FL_S("yard"), market->spec.goods.at[i] };
		struct fl_stall stall = { 0 };

		FL_SET(FL_IN(&stall, spec), sells, market->spec.goods.at[i]);
		fl_want_child(plan, &stalls, self, ref, &stall);
	}
}

static const struct fl_watched watches[] = {
	{ &fl_market_kind, by_name, false }, { &fl_stall_kind, parent_of, false }, { 0 },
};
static const struct fl_capability labelled = {
	.name = "labelled", .watches = watches, .key = &fl_market_kind,
	.owners = (const struct fl_owner *const[]){ &stall_owner, NULL },
	.children = (const struct fl_children *const[]){ &stalls, NULL }, .facts_size = sizeof(struct facts),
	.gather = gather, .plan = plan_it,
};

#define WORLD(api, one) \
	struct fake_client one = { 0 }; \
	FL_AUTO(fake_api) struct fake_api api = { 0 }; \
	OK(fake_api_init(&api, sources)); \
	OK(fake_client_init(&one, &api, &labelled))
#define MARKET(goods) "{\"metadata\":{\"name\":\"m\",\"namespace\":\"ns\"},\"spec\":{\"goods\":[" goods "]}}"
#define WITH_FINALIZER(goods) \
	"{\"metadata\":{\"name\":\"m\",\"namespace\":\"ns\",\"finalizers\":[\"demo.fairlead.test/stalls\"]}," \
	"\"spec\":{\"goods\":[" goods "]}}"
#define STALL(name, uid) \
	"{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"yard\",\"labels\":{\"" LABEL "\":\"" uid "\"}}," \
	"\"spec\":{\"sells\":\"hats\"}}"
#define BARE(name) "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"yard\"},\"spec\":{\"sells\":\"hats\"}}"

/* What the writes were, since the last time. */
#define CHECK_LOG(api, text) \
	do { \
		SURE_STR(fl_buf_view(&(api).log), text); \
		fl_buf_clear(&(api).log); \
	} while (0)
#define CHECK_REST(api) SURE(fl_io_next((api).io) == FL_NEVER)

/* The uid in the label of a stall; "" without one, "-" without a stall. */
static struct fl_str label_of(struct fake_api *api, const char *name, struct fl_arena *arena)
{
	const struct fl_stall *stall = fake_api_get(api, &fl_stall_kind, name, arena);
	struct fl_str uid = stall ? fl_parent_of(&stalls, stall) : FL_S("-");

	return uid.p ? uid : FL_S("");
}
#define CHECK_LABEL(api, name, uid) \
	do { \
		FL_AUTO(fl_arena) struct fl_arena arena_ = { 0 }; \
		struct fl_str is_ = label_of(&(api), name, &arena_); \
\
		SURE_STR(is_, uid); \
	} while (0)

TEST(a_parent_has_those_with_its_label_and_no_others)
{
	WORLD(api, one);

	OK(fake_api_put(&api, &fl_market_kind, MARKET("\"figs\",\"nuts\"")));
	OK(fake_api_settle(&api));
	CHECK_LOG(api, "item Market m\nwant Stall figs\nwant Stall nuts\n");
	CHECK_LABEL(api, "yard/figs", "uid-1");
	/* One that another writer gives the label is not wanted; others are not looked at. */
	OK(fake_api_put(&api, &fl_stall_kind, STALL("hats", "uid-1")));
	OK(fake_api_put(&api, &fl_stall_kind, STALL("caps", "uid-99")));
	OK(fake_api_put(&api, &fl_stall_kind, BARE("bare")));
	OK(fake_api_settle(&api));
	CHECK_LOG(api, "gone Stall hats\n");
	CHECK_LABEL(api, "yard/hats", "-");
	CHECK_LABEL(api, "yard/caps", "uid-99");
	CHECK_LABEL(api, "yard/bare", "");
	/* One that is not wanted any more goes. */
	OK(fake_api_put(&api, &fl_market_kind, WITH_FINALIZER("\"nuts\"")));
	OK(fake_api_settle(&api));
	CHECK_LOG(api, "gone Stall figs\n");
	CHECK_LABEL(api, "yard/nuts", "uid-1");
	CHECK_REST(api);
}

TEST(when_the_parent_goes_those_with_its_label_go_before_its_finalizer)
{
	WORLD(api, one);

	OK(fake_api_put(&api, &fl_market_kind, MARKET("\"figs\",\"nuts\"")));
	OK(fake_api_put(&api, &fl_stall_kind, STALL("caps", "uid-99")));
	OK(fake_api_settle(&api));
	fl_buf_clear(&api.log);
	OK(fake_api_delete(&api, &fl_market_kind, "ns/m"));
	OK(fake_api_settle(&api));
	CHECK_LOG(api, "gone Stall figs\ngone Stall nuts\nno item Market m\n");
	SURE_INT(api.truth[0].len, 0);
	SURE_INT(api.truth[1].len, 1);
	CHECK_LABEL(api, "yard/caps", "uid-99");
	CHECK_REST(api);
}

TEST(a_child_that_loses_its_label_is_another_writers_and_is_left)
{
	FL_AUTO(fl_buf) struct fl_buf words = FL_BUF(4 * FL_KIB);
	WORLD(api, one);

	OK(fake_api_put(&api, &fl_market_kind, MARKET("\"figs\"")));
	OK(fake_api_settle(&api));
	fl_buf_clear(&api.log);
	OK(fake_api_put(&api, &fl_stall_kind, BARE("figs")));
	OK(fake_api_settle(&api));
	CHECK_LOG(api, "");
	OK(fl_loop_explain(one.loop, &fl_market_kind, FL_S("ns"), FL_S("m"), &words, NULL));
	SURE(words.p && strstr(words.p, "labelled: Taken: Stall figs is that of "));
	OK(fake_api_delete(&api, &fl_stall_kind, "yard/figs"));
	OK(fake_api_settle(&api));
	CHECK_LOG(api, "want Stall figs\n");
	CHECK_LABEL(api, "yard/figs", "uid-1");
	CHECK_REST(api);
}

TEST(another_process_finds_them_by_their_label_and_changes_nothing)
{
	struct fake_client other = { 0 };
	WORLD(api, one);

	OK(fake_api_put(&api, &fl_market_kind, MARKET("\"figs\",\"nuts\"")));
	OK(fake_api_settle(&api));
	fl_buf_clear(&api.log);
	OK(fake_client_init(&other, &api, &labelled));
	OK(fake_api_settle(&api));
	CHECK_LOG(api, "");
	CHECK_REST(api);
}

TEST(no_change_of_those_with_a_label_is_missed)
{
	FL_AUTO(fl_buf) struct fl_buf missed = FL_BUF(16 * FL_KIB);
	WORLD(api, one);

	OK(fake_api_put(&api, &fl_market_kind, MARKET("\"figs\"")));
	OK(fake_api_settle(&api));
	OK(keys_check(one.loop, &labelled, FL_S("ns"), FL_S("m"), &missed));
	CHECK_STR(fl_buf_view(&missed), "");
}
