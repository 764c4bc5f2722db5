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

/* ---- claims ---- */

static const struct fl_owner color = {
	.manager = "fairlead-color", .kind = &fl_demo_kind, .paths = (const char *const[]){ "spec.color", NULL },
};
static const struct fl_owner pack = {
	.manager = "fairlead-pack", .kind = &fl_demo_kind, .paths = (const char *const[]){ "spec.packDomain", NULL },
};
static const struct fl_owner *const two_owners[] = { &color, &pack, NULL };

/* First red, then ours. */
static void claim_it(const void *facts, struct fl_plan *plan)
{
	const struct fl_demo *rocket = ((const struct facts *)facts)->rocket;
	struct fl_ref ref = FL_REF(&fl_demo_kind, rocket);
	struct fl_demo want = { 0 };

	FL_SET(FL_IN(&want, spec), color, FL_S("red"));
	FL_SET(&want.spec, legacy, FL_S("ours"));
	fl_want(plan, &color, ref, &want);
	if (fl_str_eq(rocket->spec.color, FL_S("red")))
		fl_want_claim(plan, &pack, ref, &want);
}
static const struct fl_capability claiming = {
	.name = "claiming", .watches = watches, .key = &fl_demo_kind, .owners = two_owners,
	.facts_size = sizeof(struct facts), .gather = gather, .plan = claim_it,
};

/* What is laid over an object has no version of its own: the one below is older than what the plan has seen. */
TEST(a_claim_waits_until_the_version_of_what_is_seen_is_known)
{
	RIG(rig, &claiming);

	rig.mute = rig.no_answer = true;
	OK(rig_put(&rig, ROCKET("a", 1)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	SURE_INT(rig.held, 1);
	OK(rig_serve(&rig));
	rig_sleep(&rig, 60 * FL_NS_PER_S);
	SURE_INT(rig.held, 0);
	SURE_INT(rig.started, 1);
	OK(rig_tell(&rig, "a"));
	rig_run(&rig);
	SURE_INT(rig.held, 1);
	SURE(rig.held && rig.writes[0]->as_seen && fl_str_eq(rig.writes[0]->version, FL_S("2")));
	OK(rig_serve(&rig));
	OK(rig_tell(&rig, "a"));
	rig_run(&rig);
	SURE_INT(rig.started, 2);
	SURE(rig_at_rest(&rig));
}

/* ---- deletions ---- */

/* An armed rocket should not be; spec.color is the uid of the one that is meant. */
static void delete_it(const void *facts, struct fl_plan *plan)
{
	static const struct fl_deletion how = { .propagation = FL_FOREGROUND, .as_seen = true, .grace_s = 7 };
	const struct fl_demo *rocket = ((const struct facts *)facts)->rocket;
	struct fl_ref ref = { &fl_demo_kind, FL_S(""), rocket->meta.name, rocket->spec.color };

	if (rocket->spec.armed)
		fl_want_deleted(plan, ref, &how);
}
CAPABILITY(deleting, delete_it)

#define ARMED(meta, uid) \
	"{\"metadata\":{\"name\":\"a\"" meta "},\"spec\":{\"armed\":true,\"color\":\"" uid "\"}}"
#define GOING ",\"finalizers\":[\"theirs\"],\"deletionTimestamp\":\"2026-01-01T00:00:00Z\""

static const struct {
	const char *says, *rocket;
	bool deleted;
} deletions[] = {
	{ "the one that is meant is deleted", ARMED("", "uid-1"), true },
	{ "whichever it is, where no uid is given", ARMED("", ""), true },
	{ "another one of its name is not", ARMED("", "uid-0"), false },
	{ "one that is going already is not", ARMED(GOING, "uid-1"), false },
};

TEST(what_should_not_be_is_deleted_as_the_plan_says)
{
	EACH_ROW_ALONE (row, deletions) {
		RIG(rig, &deleting);

		OK(rig_put(&rig, row->rocket));
		OK(rig_tell_all(&rig));
		rig_run(&rig);
		SURE_INT(rig.held, row->deleted);
		if (rig.held) {
			const struct fl_write *write = rig.writes[0];

			CHECK(write->what == FL_WANT_GONE && write->as_seen);
			CHECK(write->how.propagation == FL_FOREGROUND && write->how.grace_s == 7 && !write->how.now);
			CHECK_STR(write->ref.uid, "uid-1");
			CHECK_STR(write->version, "1");
		}
		OK(rig_settle(&rig));
		SURE_INT(rig.truth.len, !row->deleted);
		SURE_INT(rig.started, row->deleted);
		SURE(rig_at_rest(&rig));
	}
}

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

/* ---- Events that hang on a write, and on no condition ---- */

/* Red, with an Event; gone when it is grounded, with one about another. */
static void color_it(const void *facts, struct fl_plan *plan)
{
	const struct fl_demo *rocket = ((const struct facts *)facts)->rocket;
	struct fl_ref ref = FL_REF(&fl_demo_kind, rocket), other = { &fl_demo_kind, FL_S(""), FL_S("tower"), FL_S("") };
	struct fl_demo want = { 0 };

	if (rocket->spec.replicas == 0) {
		fl_want_gone(plan, ref);
		fl_want_event(plan, NULL, ref, other, FL_EMIT_NORMAL, "Grounded", "%.*s is gone", FL_ARG(ref.name));
		return;
	}
	FL_SET(FL_IN(&want, spec), color, FL_S("red"));
	fl_want(plan, &color, ref, &want);
	fl_want_event(plan, &color, ref, ref, FL_EMIT_WARNING, "Painted", "it is red now");
}
static const struct fl_capability painting = {
	.name = "painting", .watches = watches, .key = &fl_demo_kind, .owners = two_owners,
	.facts_size = sizeof(struct facts), .gather = gather, .plan = color_it,
};

TEST(an_event_of_a_want_is_sent_once_its_write_has_succeeded)
{
	RIG(rig, &painting);

	OK(rig_put(&rig, ROCKET("a", 1)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	SURE_INT(rig.held, 1);
	SURE_INT(rig.events.len, 0);
	rig_refuse(&rig, FL_E_RETRY);
	rig_run(&rig);
	SURE_INT(rig.events.len, 0);
	rig_sleep(&rig, FL_NS_PER_S);
	OK(rig_settle(&rig));
	SURE_STR(fl_buf_view(&rig.events), "Warning a Painted Painted\n");
	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"replicas\":2,\"color\":\"red\"}}"));
	OK(rig_settle(&rig));
	SURE_STR(fl_buf_view(&rig.events), "Warning a Painted Painted\n");
}

TEST(an_event_of_an_end_is_about_what_it_names)
{
	RIG(rig, &painting);

	OK(rig_put(&rig, ROCKET("a", 0)));
	OK(rig_tell_all(&rig));
	OK(rig_settle(&rig));
	SURE_STR(fl_buf_view(&rig.events), "Normal tower Grounded Grounded\n");
}
