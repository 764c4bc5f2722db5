/* When a key is planned again: after a failure, at the moment that its plan asked for, and what it sees then. */
#include "rig.h"
#include <stdio.h>

/* Two owners of one object are two writes, one after the other; serial is a moment; armed: it should not be. */
static const struct fl_owner capacity_owner = {
	.manager = "fairlead-capacity", .kind = &fl_demo_kind,
	.paths = (const char *const[]){ "status.capacity", NULL },
};
static const struct fl_owner color_owner = {
	.manager = "fairlead-color", .kind = &fl_demo_kind, .paths = (const char *const[]){ "spec.color", NULL },
};
static const struct fl_owner *const owners[] = { &capacity_owner, &color_owner, NULL };

struct facts {
	const struct fl_demo *rocket;
	uint64_t now;
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
	facts->now = view->now;
	return facts->rocket;
}

static void plan_it(const void *facts_, struct fl_plan *plan)
{
	const struct facts *facts = facts_;
	const struct fl_demo *rocket = facts->rocket;
	struct fl_ref ref = FL_REF(&fl_demo_kind, rocket);
	struct fl_demo capacity = { 0 }, color = { 0 };

	if (rocket->spec.has.serial && facts->now < (uint64_t)rocket->spec.serial)
		fl_want_at(plan, (uint64_t)rocket->spec.serial);
	if (rocket->spec.armed)
		fl_want_gone(plan, ref);
	if (!rocket->spec.has.replicas)
		return;
	FL_SET(FL_IN(FL_IN(&capacity, status), capacity), total, rocket->spec.replicas);
	fl_want(plan, &capacity_owner, ref, &capacity);
	FL_SET(FL_IN(&color, spec), color, FL_S("red"));
	fl_want(plan, &color_owner, ref, &color);
}

static const struct fl_watched watches[] = { { &fl_demo_kind, by_name, false }, { 0 } };
static const struct fl_capability both = { .name = "both", .watches = watches, .key = &fl_demo_kind, .owners = owners,
					   .facts_size = sizeof(struct facts), .gather = gather, .plan = plan_it };

TEST(a_key_with_two_writes_of_one_object_rests_when_the_first_fails)
{
	RIG(rig, &both);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	for (int i = 0; i < 6; i++) {
		SURE_INT(rig.held, 1);
		SURE_INT(rig.started, i + 1);
		rig_refuse(&rig, FL_E_DENIED);
		rig_run(&rig);
		SURE_INT(rig.held, 0);
		rig_sleep(&rig, (FL_RUN_RETRY_FIRST << i) / 2);
		SURE_INT(rig.held, 0);
		rig_sleep(&rig, FL_RUN_RETRY_FIRST << i);
	}
	OK(rig_settle(&rig));
	SURE_INT(rig.started, 8);
	SURE(rig_at_rest(&rig));
}

TEST(a_moment_that_is_asked_for_after_a_failure_comes)
{
	double plans;
	RIG(rig, &both);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	rig_refuse(&rig, FL_E_DENIED);
	rig_run(&rig);
	/* Before it is tried again nothing is wanted any more, but later. */
	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"serial\":100000000000}}"));
	rig_run(&rig);
	SURE(!rig_waits(&rig));
	plans = rig_metric(&rig, "fairlead_plans_total{name=\"both\"} ");
	rig_sleep(&rig, 90 * FL_NS_PER_S);
	SURE(rig_metric(&rig, "fairlead_plans_total{name=\"both\"} ") == plans);
	rig_sleep(&rig, 20 * FL_NS_PER_S);
	SURE(rig_metric(&rig, "fairlead_plans_total{name=\"both\"} ") == plans + 1);
}

TEST(who_bears_the_name_of_what_was_deleted_is_not_taken_for_it)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_demo *now;
	struct fl_write *write;
	RIG(rig, &both);

	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"armed\":true}}"));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	if (rig.nomem || test_tortured())
		return;
	CHECK_INT(rig.held, 1);
	CHECK_INT(rig.writes[0]->what, FL_WANT_GONE);
	write = rig.writes[0];
	rig.held = 0;
	OK(rig_gone(&rig, "a"));
	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"}}"));
	rig_run(&rig);
	now = rig_see(&rig, "a", &arena);
	if (rig.nomem || test_tortured())
		return;
	CHECK(now && !now->meta.has.deletion_timestamp);
	fl_write_gone(write);   /* the answer to what is told already */
	rig_run(&rig);
	SURE(rig_see(&rig, "a", &arena));
	SURE(rig_at_rest(&rig));
}

static const struct fl_capability patient = { .name = "patient", .watches = watches, .key = &fl_demo_kind,
					      .owners = owners, .every = FL_NS_PER_S,
					      .facts_size = sizeof(struct facts), .gather = gather, .plan = plan_it };
#define PLANS "fairlead_plans_total{name=\"patient\"} "

TEST(a_key_that_may_be_planned_once_a_second_is_planned_at_both_ends_of_a_burst)
{
	static const char *const burst[] = {
		"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"color\":\"red\"}}",
		"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"color\":\"blue\"}}",
		"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"color\":\"green\"}}",
	};
	RIG(rig, &patient);

	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"}}"));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	SURE(rig_metric(&rig, PLANS) == 1);
	for (uint32_t i = 0; i < FL_LEN(burst); i++) {
		OK(rig_put(&rig, burst[i]));
		rig_sleep(&rig, FL_NS_PER_S / 10);
	}
	SURE(rig_metric(&rig, PLANS) == 1);
	rig_sleep(&rig, FL_NS_PER_S);
	SURE(rig_metric(&rig, PLANS) == 2);
	rig_sleep(&rig, 10 * FL_NS_PER_S);
	SURE(rig_metric(&rig, PLANS) == 2);
	SURE(rig_at_rest(&rig));
	OK(rig_put(&rig, burst[0]));
	rig_run(&rig);
	SURE(rig_metric(&rig, PLANS) == 3);
}

TEST(a_moment_that_a_plan_asked_for_comes_to_a_key_that_rests)
{
	RIG(rig, &patient);

	/* The clock begins at one second; the moment is a tenth of a second later. */
	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"serial\":1100000000}}"));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	SURE(rig_metric(&rig, PLANS) == 1);
	rig_sleep(&rig, FL_NS_PER_S / 5);
	SURE(rig_metric(&rig, PLANS) == 2);
	rig_sleep(&rig, 10 * FL_NS_PER_S);
	SURE(rig_metric(&rig, PLANS) == 2);
	SURE(rig_at_rest(&rig));
}

/* ---- what a server refuses while its object changes ---- */

static void plan_capacity(const void *facts_, struct fl_plan *plan)
{
	const struct facts *facts = facts_;
	struct fl_demo capacity = { 0 };

	FL_SET(FL_IN(FL_IN(&capacity, status), capacity), total, facts->rocket->spec.replicas);
	fl_want(plan, &capacity_owner, FL_REF(&fl_demo_kind, facts->rocket), &capacity);
}

static const struct fl_owner *const one_owner[] = { &capacity_owner, NULL };
static const struct fl_capability one = { .name = "one", .watches = watches, .key = &fl_demo_kind, .owners = one_owner,
					  .facts_size = sizeof(struct facts), .gather = gather, .plan = plan_capacity };

/* A Rocket that somebody else changes, and what we want of it. */
static int change(struct rig *rig, int beat, int replicas)
{
	char json[160];

	(void)snprintf(json, sizeof json,
		       "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"color\":\"%d\",\"replicas\":%d}}", beat, replicas);
	return rig_put(rig, json);
}

static int refuse_for(struct rig *rig, int tenths, int replicas, int step)
{
	for (int i = 0; i < tenths; i++) {
		if (change(rig, i, replicas += step) < 0)
			return -FL_E_NOMEM;
		rig_sleep(rig, FL_NS_PER_S / 10);
		while (rig->held && !rig->nomem)
			rig_refuse(rig, FL_E_RETRY);
	}
	return rig->nomem ? -FL_E_NOMEM : 0;
}

TEST(a_change_does_not_cut_short_the_rest_of_what_failed)
{
	uint32_t before;
	RIG(rig, &one);

	OK(change(&rig, 0, 3));
	OK(rig_tell_all(&rig));
	OK(refuse_for(&rig, 60, 3, 0));
	SURE(rig.started >= 5 && rig.started <= 7);    /* 0.1, 0.2, 0.4, 0.8, 1.6, 3.2 s and jitter, not 60 */
	rig_sleep(&rig, 20 * FL_NS_PER_S);
	OK(rig_settle(&rig));
	before = rig.started;
	OK(change(&rig, 61, 4));
	rig_run(&rig);
	SURE_INT(rig.started, before + 1);             /* what went well is no failure any more */
	OK(rig_settle(&rig));
	SURE(rig_at_rest(&rig));
}

TEST(another_wish_than_the_one_that_failed_goes_a_second_later)
{
	uint32_t before;
	RIG(rig, &one);

	OK(change(&rig, 0, 3));
	OK(rig_tell_all(&rig));
	OK(refuse_for(&rig, 60, 3, 0));
	rig_sleep(&rig, 10 * FL_NS_PER_S);
	SURE_INT(rig.held, 1);
	rig_refuse(&rig, FL_E_RETRY);
	before = rig.started;
	OK(change(&rig, 61, 4));
	rig_sleep(&rig, FL_NS_PER_S / 2);
	SURE_INT(rig.started, before);
	rig_sleep(&rig, FL_NS_PER_S);
	SURE_INT(rig.started, before + 1);
	OK(rig_settle(&rig));
	SURE(rig_at_rest(&rig));
}

TEST(a_wish_that_is_never_the_same_is_tried_a_few_times_until_all_of_them_rest)
{
	RIG(rig, &one);

	OK(change(&rig, 0, 3));
	OK(rig_tell_all(&rig));
	OK(refuse_for(&rig, 1000, 3, 1));
	SURE(rig.started < 30);                        /* of 1000 wishes in 100 s */
	rig_sleep(&rig, 450 * FL_NS_PER_S);
	OK(rig_settle(&rig));
	SURE(rig_at_rest(&rig));
}
