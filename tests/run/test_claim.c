/* What one alone may have: claimed at the version that was seen. Two planners want it, and one gets it. */
#include "api/demo.h"
#include "fake_api.h"
#include "io/sys.h"
#include "rig.h"

/* A rocket whose packDomain is empty is nobody's. Who wants it writes its own name there. */
#define OWNER(name) \
	{ .manager = name, .kind = &fl_demo_kind, .paths = (const char *const[]){ "spec.color", NULL } }
static const struct fl_owner left = OWNER("left"), right = OWNER("right");

struct facts {
	const struct fl_demo *rocket;
};

static void by_name(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct fl_demo *rocket = after ? after : before;

	fl_dirty_key(dirty, rocket->meta.space, rocket->meta.name);
}

static bool gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct facts *facts = facts_;

	facts->rocket = fl_view_get(view, &fl_demo_kind, key.space, key.name);
	return facts->rocket;
}

static void claim(const struct facts *facts, const struct fl_owner *owner, struct fl_plan *plan)
{
	struct fl_ref ref = FL_REF(&fl_demo_kind, facts->rocket);
	struct fl_str mine = fl_str(owner->manager);
	struct fl_demo want = { 0 };

	if (facts->rocket->spec.color.len && !fl_str_eq(facts->rocket->spec.color, mine)) {
		fl_say(plan, ref, "Taken", "by %.*s", FL_ARG(facts->rocket->spec.color));
		return;
	}
	FL_SET(FL_IN(&want, spec), color, mine);
	fl_want_claim(plan, owner, ref, &want);
}

static void plan_left(const void *facts, struct fl_plan *plan)
{
	claim(facts, &left, plan);
}

static void plan_right(const void *facts, struct fl_plan *plan)
{
	claim(facts, &right, plan);
}

static const struct fl_watched watches[] = { { &fl_demo_kind, by_name, false }, { 0 } };
#define CAPABILITY(name_) \
	{ .name = #name_, .watches = watches, .key = &fl_demo_kind, \
	  .owners = (const struct fl_owner *const[]){ &(name_), NULL }, .facts_size = sizeof(struct facts), \
	  .gather = gather, .plan = plan_##name_ }
static const struct fl_capability for_left = CAPABILITY(left), for_right = CAPABILITY(right);
static const struct fl_source sources[] = { { .kind = &fl_demo_kind }, { 0 } };

#define WORLD(api, one, other) \
	struct fake_client one = { 0 }, other = { 0 }; \
	FL_AUTO(fake_api) struct fake_api api = { 0 }; \
	OK(fake_api_init(&api, sources)); \
	OK(fake_client_init(&one, &api, &for_left)); \
	OK(fake_client_init(&other, &api, &for_right))

#define FREE_ROCKET "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"displayName\":\"a\"}}"

static bool is_of(struct fake_api *api, const char *whose)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_demo *rocket = fake_api_get(api, &fl_demo_kind, "a", &arena);

	return rocket && fl_str_eq(rocket->spec.color, fl_str(whose));
}

static bool at_rest(const struct fake_api *api)
{
	return fl_io_next(api->io) == FL_NEVER;
}

TEST(of_two_who_claim_one_wins_and_the_other_sees_it)
{
	bool won;
	WORLD(api, one, other);

	OK(fake_api_put(&api, &fl_demo_kind, FREE_ROCKET));
	fake_api_run(&api);
	SURE_INT(one.held, 1);
	SURE_INT(other.held, 1);   /* both have seen it free */
	OK(fake_serve(&other));
	won = is_of(&api, "right");
	SURE(won);
	OK(fake_api_settle(&api));
	won = is_of(&api, "right");
	SURE(won);
	SURE_INT(one.refused, 1);
	SURE_INT(one.done, 0);
	SURE(at_rest(&api));
}

TEST(one_who_hears_late_waits_for_the_news_and_asks_for_nothing_meanwhile)
{
	bool won;
	WORLD(api, one, other);

	one.deaf = true;
	OK(fake_api_put(&api, &fl_demo_kind, FREE_ROCKET));
	other.deaf = true;
	fake_hear(&one);
	one.deaf = true;
	OK(fake_api_settle(&api));   /* both claim, both are alone with it */
	SURE_INT(one.done + other.done, 1);
	SURE_INT(one.refused + other.refused, 1);
	fake_api_sleep(&api, FL_RUN_CONFLICT / 2);
	SURE_INT(one.held + other.held, 0);
	fake_hear(&one);
	fake_hear(&other);
	OK(fake_api_settle(&api));
	SURE_INT(one.done + other.done, 1);
	SURE_INT(one.refused + other.refused, 1);
	won = is_of(&api, "left") || is_of(&api, "right");
	SURE(won);
	SURE(at_rest(&api));
}

/* Nothing that a table names has changed, so nobody is told of a change: the claim is tried again all the same. */
TEST(news_of_the_version_alone_is_enough)
{
	bool won;
	WORLD(api, one, other);

	other.deaf = true;
	OK(fake_api_put(&api, &fl_demo_kind, FREE_ROCKET));
	one.deaf = true;
	api.version++;
	OK(fake_api_put(&api, &fl_demo_kind, "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"y\"}},"
					     "\"spec\":{\"displayName\":\"a\"}}"));
	OK(fake_api_put(&api, &fl_demo_kind, FREE_ROCKET));   /* as it was, two versions later */
	OK(fake_api_settle(&api));
	SURE_INT(one.refused, 1);
	SURE_INT(one.done, 0);
	fake_hear(&one);
	OK(fake_api_settle(&api));
	SURE_INT(one.refused, 1);
	won = is_of(&api, "left");
	SURE(won);
}

TEST(without_news_it_is_tried_again_at_a_rate_that_does_not_fall)
{
	WORLD(api, one, other);

	other.deaf = true;
	OK(fake_api_put(&api, &fl_demo_kind, FREE_ROCKET));
	one.deaf = true;
	OK(fake_api_put(&api, &fl_demo_kind, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"displayName\":\"b\"}}"));
	for (uint32_t i = 1; i <= 6; i++) {
		OK(fake_api_settle(&api));
		SURE_INT(one.refused, i);
		fake_api_sleep(&api, FL_RUN_CONFLICT);
	}
}

TEST(what_is_not_there_cannot_be_claimed)
{
	WORLD(api, one, other);

	OK(fake_api_put(&api, &fl_demo_kind, FREE_ROCKET));
	one.deaf = other.deaf = true;
	OK(fake_api_delete(&api, &fl_demo_kind, "a"));
	OK(fake_api_settle(&api));
	SURE_INT(one.refused + other.refused, 2);
	fake_hear(&one);
	fake_hear(&other);
	OK(fake_api_settle(&api));
	SURE_INT(api.truth[0].len, 0);
	SURE_INT(one.held + other.held + one.done + other.done, 0);
	SURE(at_rest(&api));
}
