/* The end of leading while something is on its way. */
#include "rig.h"

static const struct fl_owner owner = {
	.manager = "test", .kind = &fl_demo_kind, .paths = (const char *const[]){ "status.capacity", NULL },
};
static const struct fl_owner *const owners[] = { &owner, NULL };

struct facts {
	const struct fl_demo *rocket;
};

static void by_name(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct fl_demo *rocket = after ? after : before;

	fl_dirty_key(dirty, rocket->meta.space, rocket->meta.name);
}

static bool gather(struct fl_view *view, struct fl_ref key, void *facts)
{
	const struct fl_demo *rocket = fl_view_get(view, &fl_demo_kind, key.space, key.name);

	((struct facts *)facts)->rocket = rocket;
	return rocket;
}

/* It says no word: its key is kept by nothing but its work. */
static void plan(const void *facts_, struct fl_plan *plan)
{
	const struct facts *facts = facts_;
	struct fl_demo want = { 0 };

	FL_SET(FL_IN(FL_IN(&want, status), capacity), total, facts->rocket->spec.replicas);
	fl_want(plan, &owner, FL_REF(&fl_demo_kind, facts->rocket), &want);
}

static const struct fl_watched watches[] = { { &fl_demo_kind, by_name, false }, { 0 } };
static const struct fl_capability silent = {
	.name = "silent", .watches = watches, .key = &fl_demo_kind, .owners = owners,
	.facts_size = sizeof(struct facts), .gather = gather, .plan = plan,
};

/* Its facts change while its write is on its way, so the key waits for that; then somebody else leads, and it ends. */
TEST(a_key_that_waits_for_its_own_write_outlives_the_end_of_leading)
{
	RIG(rig, &silent);

	OK(rig_tell_all(&rig));
	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"replicas\":3}}"));
	rig_run(&rig);
	OK(rig.held ? 0 : -FL_E_NOMEM);
	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"replicas\":4}}"));
	rig_run(&rig);
	CHECK_INT(rig.held, 1);
	fl_loop_lead(rig.loop, false);
	rig_run(&rig);
	OK(rig_serve(&rig));
	rig_run(&rig);
	CHECK_INT(fl_loop_writing(rig.loop), 0);
	CHECK_INT(rig.started, 1);
	fl_loop_lead(rig.loop, true);
	rig_sleep(&rig, 10 * FL_NS_PER_S);
	OK(rig_serve(&rig));
	rig_run(&rig);
	CHECK(test_tortured() || rig.started == 2);
}

/* It was held back below, by a server that asked to wait: who led meanwhile may have decided otherwise. */
TEST(what_was_wanted_under_a_former_lead_may_not_go_out_under_the_next)
{
	RIG(rig, &silent);

	OK(rig_tell_all(&rig));
	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"replicas\":3}}"));
	rig_run(&rig);
	OK(rig.held ? 0 : -FL_E_NOMEM);
	CHECK(fl_write_may(rig.writes[0]));
	fl_loop_lead(rig.loop, true);   /* as before: nothing has changed */
	CHECK(fl_write_may(rig.writes[0]));
	fl_loop_lead(rig.loop, false);
	CHECK(!fl_write_may(rig.writes[0]));
	fl_loop_lead(rig.loop, true);
	CHECK(!fl_write_may(rig.writes[0]));
	rig_refuse(&rig, FL_E_DENIED);
	rig_sleep(&rig, FL_NS_PER_S);
	SURE_INT(rig.held, 1);   /* wanted anew */
	SURE(!rig.held || fl_write_may(rig.writes[0]));
	OK(rig_settle(&rig));
}
