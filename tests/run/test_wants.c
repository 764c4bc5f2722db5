/* What a plan may say beyond an object as it should be: of which generation a condition holds, how an object goes, and
 * what is wanted only of the version that was seen. */
#include "api/core.h"
#include "rig.h"

static const struct fl_owner owner = {
	.manager = "fairlead-capacity", .kind = &fl_demo_kind,
	.paths = (const char *const[]){ "status.conditions[type=Empty]", NULL },
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

static bool gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct facts *facts = facts_;

	facts->rocket = fl_view_get(view, &fl_demo_kind, key.space, key.name);
	return facts->rocket;
}

static const struct fl_watched watches[] = { { &fl_demo_kind, by_name, false }, { 0 } };

#define CAPABILITY(name_, plan_) \
	static const struct fl_capability name_ = { \
		.name = #name_, .watches = watches, .key = &fl_demo_kind, .owners = owners, \
		.facts_size = sizeof(struct facts), .gather = gather, .plan = plan_, \
	};

/* ---- conditions ---- */

static void say_empty(const void *facts, struct fl_plan *plan)
{
	const struct fl_demo *rocket = ((const struct facts *)facts)->rocket;

	fl_want_condition(plan, &owner, FL_REF(&fl_demo_kind, rocket), FL_EMIT_WARNING, "Empty", FL_CONDITION_TRUE,
			  "NothingThere", "of color %.*s", FL_ARG(rocket->spec.color));
}
CAPABILITY(empty, say_empty)

#define OF_GENERATION(n, color) \
	"{\"metadata\":{\"name\":\"a\",\"generation\":" #n "},\"spec\":{\"color\":\"" color "\"}}"

static int64_t observed(struct rig *rig, int64_t *ret_stamp)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_demo *rocket = rig_get(rig, "a", &arena);
	bool is = rocket && rocket->status.conditions.len;

	*ret_stamp = is ? rocket->status.conditions.at[0].last_transition_time : -1;
	return is ? rocket->status.conditions.at[0].observed_generation : -1;
}

TEST(a_condition_of_an_older_generation_is_written_again_without_an_event)
{
	int64_t seen, first, second;
	RIG(rig, &empty);

	OK(rig_put(&rig, OF_GENERATION(1, "red")));
	OK(rig_tell_all(&rig));
	OK(rig_settle(&rig));
	seen = observed(&rig, &first);
	SURE_INT(seen, 1);
	SURE_STR(fl_buf_view(&rig.events), "Warning a Empty NothingThere\n");
	rig_sleep(&rig, 10 * FL_NS_PER_S);
	OK(rig_put(&rig, OF_GENERATION(2, "red")));
	OK(rig_settle(&rig));
	seen = observed(&rig, &second);
	SURE_INT(seen, 2);
	SURE_INT(second, first);
	SURE_INT(rig.started, 2);
	SURE_STR(fl_buf_view(&rig.events), "Warning a Empty NothingThere\n");
	SURE(rig_at_rest(&rig));
}
