/* Own writes laid over what is told, where the server's word and its answer cross each other. */
#include "rig.h"

static const struct fl_owner owner = {
	.manager = "fairlead-capacity", .kind = &fl_demo_kind, .paths = (const char *const[]){ "status.capacity",
	  NULL },
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

static void plan_it(const void *facts, struct fl_plan *plan)
{
	const struct fl_demo *rocket = ((const struct facts *)facts)->rocket;
	struct fl_demo want = { 0 };

	FL_SET(FL_IN(FL_IN(&want, status), capacity), total, rocket->spec.replicas);
	fl_want(plan, &owner, FL_REF(&fl_demo_kind, rocket), &want);
}

static const struct fl_watched watches[] = { { &fl_demo_kind, by_name, false }, { 0 } };
static const struct fl_capability capacity = { .name = "capacity", .watches = watches, .key = &fl_demo_kind,
					       .owners = owners, .facts_size = sizeof(struct facts),
					       .gather = gather, .plan = plan_it };

/* The server answers a write that it has carried out before the object went. */
static void answer_late(struct fl_write *write)
{
	struct fl_demo rocket = { 0 };

	FL_SET(FL_IN(&rocket, meta), name, FL_S("a"));
	FL_SET(&rocket.meta, resource_version, FL_S("2"));
	fl_write_done(write, &rocket);
}

TEST(what_goes_while_a_write_of_it_is_on_its_way_stays_gone)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_demo *now;
	struct fl_write *write;
	RIG(rig, &capacity);

	OK(rig_tell_all(&rig));
	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"replicas\":3}}"));
	rig_run(&rig);
	if (rig.nomem || test_tortured())
		return;
	CHECK_INT(rig.held, 1);
	write = rig.writes[0];
	rig.held = 0;
	OK(rig_gone(&rig, "a"));
	answer_late(write);
	rig_run(&rig);
	if (rig.nomem || test_tortured())
		return;
	CHECK(!rig_see(&rig, "a", &arena));
	CHECK_INT(rig.held, 0);
	CHECK(rig_at_rest(&rig));
	/* One of the same name is another, and is seen when it is told. */
	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"replicas\":4}}"));
	rig_run(&rig);
	if (rig.nomem || test_tortured())
		return;
	CHECK_INT(rig.held, 1);
	OK(rig_serve(&rig));
	rig_run(&rig);
	if (rig.nomem || test_tortured())
		return;
	now = rig_see(&rig, "a", &arena);
	if (rig.nomem)
		return;
	CHECK(now);
	CHECK_INT(now->status.capacity.total, 4);
	CHECK(rig_at_rest(&rig));
}
