/* The whole round: what comes in, what is planned, what is written, and what is not. */
#include "api/core.h"
#include "rig.h"
#include <stdio.h>

/* ---- two small capabilities ---- */

static const struct fl_owner capacity_owner = {
	.manager = "fairlead-capacity", .kind = &fl_demo_kind,
	.paths = (const char *const[]){ "status.capacity", "status.conditions[type=Empty]", NULL },
};
static const struct fl_owner color_owner = {
	.manager = "fairlead-color", .kind = &fl_demo_kind, .paths = (const char *const[]){ "spec.color", NULL },
};
static const struct fl_owner *const capacity_owners[] = { &capacity_owner, NULL };
static const struct fl_owner *const color_owners[] = { &color_owner, NULL };

struct facts {
	const struct fl_demo *rocket;
	struct fl_ref ref;
	struct fl_str contested;
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
	facts->contested = fl_view_contested(view, &capacity_owner, key.space, key.name);
	facts->now = view->now;
	if (!facts->rocket)
		return false;
	facts->ref = FL_REF(&fl_demo_kind, facts->rocket);
	return true;
}

/* status.capacity.total follows spec.replicas; Empty is told when there are none. `serial` asks to be called again. */
static void plan_capacity(const void *facts_, struct fl_plan *plan)
{
	const struct facts *facts = facts_;
	struct fl_demo want = { 0 };
	int32_t n = facts->rocket->spec.replicas;

	FL_SET(FL_IN(FL_IN(&want, status), capacity), total, n);
	fl_want(plan, &capacity_owner, facts->ref, &want);
	fl_want_condition(plan, &capacity_owner, facts->ref, n ? FL_EMIT_NORMAL : FL_EMIT_WARNING, "Empty",
			  n ? FL_CONDITION_FALSE : FL_CONDITION_TRUE, n > 6 ? "Crowded" : n ? "Filled" : "NothingThere",
			  "%d there", n);
	fl_say(plan, facts->ref, "Counted", "%d", n);
	if (facts->contested.p)
		fl_say(plan, facts->ref, "Contested", "%.*s", FL_ARG(facts->contested));
	if (facts->rocket->spec.has.serial && facts->now < (uint64_t)facts->rocket->spec.serial)
		fl_want_at(plan, (uint64_t)facts->rocket->spec.serial);
}

/* Rockets called paint-* are red; those called bin-* are not there; those called pair-* make one called other. */
static void plan_color(const void *facts_, struct fl_plan *plan)
{
	const struct facts *facts = facts_;
	struct fl_demo want = { 0 };
	struct fl_ref other = { &fl_demo_kind, FL_S(""), FL_S("other"), FL_S("") };

	FL_SET(FL_IN(&want, spec), color, FL_S("red"));
	if (fl_str_starts(facts->ref.name, FL_S("paint-")))
		fl_want(plan, &color_owner, facts->ref, &want);
	if (fl_str_starts(facts->ref.name, FL_S("bin-")))
		fl_want_gone(plan, facts->ref);
	if (fl_str_starts(facts->ref.name, FL_S("pair-")))
		fl_want(plan, &color_owner, other, &want);
}

static const struct fl_watched watches[] = { { &fl_demo_kind, by_name, false }, { 0 } };
static const struct fl_capability capacity = {
	.name = "capacity", .watches = watches, .key = &fl_demo_kind, .owners = capacity_owners,
	.facts_size = sizeof(struct facts), .gather = gather, .plan = plan_capacity,
};
static const struct fl_capability color = {
	.name = "color", .watches = watches, .key = &fl_demo_kind, .owners = color_owners,
	.facts_size = sizeof(struct facts), .gather = gather, .plan = plan_color,
};

/* How often a plan was called, as the metrics have it. */
static double plans_of(struct rig *rig, const char *name)
{
	char line[80];
	double value;

	(void)snprintf(line, sizeof line, "fairlead_plans_total{name=\"%s\"} ", name);
	value = rig_metric(rig, line);
	return value < 0 && !rig->nomem ? 0 : value;
}

TEST(a_round_trip_is_one_write_and_then_silence)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_demo *rocket;
	double plans;
	RIG(rig, &capacity);

	OK(rig_put(&rig, ROCKET("a", 3)));
	rig_run(&rig);
	SURE_INT(rig.started, 0);   /* not all is known yet */
	OK(rig_tell_all(&rig));
	OK(rig_settle(&rig));
	SURE_INT(rig.started, 1);
	rocket = rig_get(&rig, "a", &arena);
	OK(rocket && !test_tortured() ? 0 : -FL_E_NOMEM);
	SURE_INT(rocket->status.capacity.total, 3);
	SURE_INT(rocket->status.conditions.len, 1);
	SURE_STR(rocket->status.conditions.at[0].reason, "Filled");
	SURE(rocket->status.conditions.at[0].has.last_transition_time);
	SURE(!rocket->has.spec || rocket->spec.replicas == 3);
	SURE(rig_at_rest(&rig));
	plans = plans_of(&rig, "capacity");
	rig_sleep(&rig, 3600 * FL_NS_PER_S);
	SURE_INT(rig.started, 1);
	SURE(plans_of(&rig, "capacity") == plans);
	OK(rig_tell(&rig, "a"));   /* the same again is no change */
	rig_run(&rig);
	SURE(plans_of(&rig, "capacity") == plans);
}

TEST(own_writes_on_their_way_are_seen_as_done)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	RIG(rig, &capacity);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	OK(rig.held ? 0 : -FL_E_NOMEM);
	{
		SEES(rig, arena, laid, "a");
		SURE_INT(laid->status.capacity.total, 3);
	}
	rig_run(&rig);
	SURE_INT(rig.started, 1);   /* seen as done: nothing more to write */

	/* Meanwhile somebody changes what is not ours: both show. */
	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"replicas\":3,\"color\":\"blue\"}}"));
	{
		SEES(rig, arena, both, "a");
		SURE_STR(both->spec.color, "blue");
		SURE_INT(both->status.capacity.total, 3);
	}
	rig_refuse(&rig, FL_E_RETRY);
	{
		SEES(rig, arena, told, "a");
		SURE(test_tortured() || !told->has.status);
		SURE_STR(told->spec.color, "blue");
	}
}

TEST(an_old_word_does_not_undo_what_was_written)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	RIG(rig, &capacity);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	rig.mute = true;
	OK(rig_serve(&rig));
	/* The watch lags behind: it tells of the version before our write. */
	{
		struct fl_demo old = { 0 };

		FL_SET(FL_IN(&old, meta), name, FL_S("a"));
		FL_SET(FL_IN(&old, meta), resource_version, FL_S("1"));
		FL_SET(FL_IN(&old, spec), replicas, 3);
		OK(fl_feed_put(rig.rockets, &old, NULL));
	}
	rig_run(&rig);
	{
		SEES(rig, arena, seen, "a");
		SURE_INT(seen->status.capacity.total, 3);
	}
	SURE_INT(rig.started, 1);
	OK(rig_tell(&rig, "a"));
	rig_run(&rig);
	SURE_INT(rig.started, 1);
	SURE(rig_at_rest(&rig));
}

/* A server that was set back (a restored etcd) is believed as soon as a full state was asked for after our write had
 * been answered: it would show it. */
TEST(a_server_that_was_set_back_is_believed)
{
	RIG(rig, &capacity);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	rig.mute = true;
	rig.version += 100;
	OK(rig_serve(&rig));
	rig.version = 1;
	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"replicas\":3},\"status\":{}}"));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	SURE_INT(rig.started, 2);
}

TEST(a_write_whose_event_came_first_is_over_with_its_answer)
{
	RIG(rig, &capacity);

	rig.early = rig.mute = true;
	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	OK(rig_serve(&rig));
	SURE_INT(rig.unread, 1);
	rig.version = 0;   /* set back: what is told now is older, and nothing is laid over it */
	OK(rig_put(&rig, ROCKET("a", 5)));
	OK(rig_tell(&rig, "a"));
	rig_run(&rig);
	SURE_INT(rig.started, 2);
}

TEST(a_sink_that_is_told_nothing_is_believed_until_a_feeder_speaks)
{
	RIG(rig, &capacity);

	rig.no_answer = true;
	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	rig.mute = true;
	OK(rig_serve(&rig));
	rig_run(&rig);
	SURE_INT(rig.started, 1);
	OK(rig_tell(&rig, "a"));
	rig_run(&rig);
	SURE_INT(rig.started, 1);
	SURE(rig_at_rest(&rig));
}

TEST(changes_that_come_together_are_planned_once)
{
	RIG(rig, &capacity);

	OK(rig_tell_all(&rig));
	rig_run(&rig);
	OK(rig_put(&rig, ROCKET("a", 1)));
	OK(rig_put(&rig, ROCKET("a", 2)));
	OK(rig_put(&rig, ROCKET("a", 3)));
	rig_run(&rig);
	SURE_INT(rig.started, 1);
	SURE_INT(((const struct fl_demo *)rig.writes[0]->object)->status.capacity.total, 3);
	SURE_STR(rig.writes[0]->paths.at[0], "status.capacity");
}

TEST(what_fails_is_tried_again_ever_later_and_forgotten_when_it_succeeds)
{
	uint64_t began, gap = 0;
	RIG(rig, &capacity);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	for (int i = 0; i < 8; i++) {
		uint64_t took;

		began = fl_clock(rig.io);
		for (int j = 0; j < 4000 && !rig.held; j++)
			rig_sleep(&rig, 100 * FL_NS_PER_MS);
		OK(rig.held ? 0 : -FL_E_NOMEM);
		took = fl_clock(rig.io) - began;
		SURE(test_tortured() || i == 0 || took + FL_NS_PER_S / 5 >= gap);
		gap = took;
		rig_refuse(&rig, FL_E_RETRY);
	}
	SURE(gap > 5 * FL_NS_PER_S && gap < 30 * FL_NS_PER_S);
	rig_sleep(&rig, 60 * FL_NS_PER_S);
	OK(rig_settle(&rig));
	SURE(rig_at_rest(&rig));
	OK(rig_put(&rig, ROCKET("a", 4)));
	rig_run(&rig);
	rig_refuse(&rig, FL_E_RETRY);
	rig_sleep(&rig, FL_NS_PER_S / 4);
	SURE_INT(rig.held, 1);   /* the first failure again: it waits no longer than the first time */
}

TEST(of_one_object_one_write_at_a_time)
{
	RIG(rig, &capacity, &color);

	OK(rig_put(&rig, ROCKET("paint-a", 3)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	SURE_INT(rig.held, 1);
	OK(rig_serve(&rig));
	rig_run(&rig);
	SURE_INT(rig.held, 1);
	OK(rig_settle(&rig));
	SURE_INT(rig.started, 2);
	SURE(rig_at_rest(&rig));
}

TEST(writes_on_their_way_have_a_ceiling_and_all_come_to_their_turn)
{
	char json[96];
	RIG(rig, &capacity);

	for (int i = 0; i < 80; i++) {
		(void)snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"r%d\"},\"spec\":{\"replicas\":2}}", i);
		OK(rig_put(&rig, json));
	}
	OK(rig_tell_all(&rig));
	OK(rig_settle(&rig));
	OK(rig_settle(&rig));
	SURE_INT(rig.most, FL_RUN_WRITES);
	SURE_INT(rig.started, 80);
	SURE(rig_at_rest(&rig));
}

/* A capability with a thousand keys must not hold up one that has a single one. */
TEST(capabilities_take_turns)
{
	char json[96];
	RIG(rig, &capacity, &color);

	for (int i = 0; i < 20; i++) {
		(void)snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"r%d\"},\"spec\":{\"replicas\":2}}", i);
		OK(rig_put(&rig, json));
	}
	OK(rig_put(&rig, ROCKET("pair-z", 1)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	for (uint32_t i = 0; i < rig.held; i++)
		if (rig.writes[i]->owner == &color_owner)
			return;
	SURE(!"the write of the other capability is among the first");
}

TEST(what_is_not_wanted_goes_once)
{
	RIG(rig, &color);

	OK(rig_put(&rig, ROCKET("bin-a", 1)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	OK(rig.held ? 0 : -FL_E_NOMEM);
	SURE_INT(rig.writes[0]->what, FL_WANT_GONE);
	SURE_STR(rig.writes[0]->ref.uid, "uid-1");
	OK(rig_settle(&rig));
	SURE_INT(rig.started, 1);
	SURE_INT(rig.truth.len, 0);
	SURE(rig_at_rest(&rig));
}

TEST(what_is_not_there_is_made)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_demo *other;
	RIG(rig, &color);

	OK(rig_put(&rig, ROCKET("pair-a", 1)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	OK(rig.held ? 0 : -FL_E_NOMEM);
	SURE(!rig.writes[0]->exists);
	rig_refuse(&rig, FL_E_RETRY);
	OK(rig.nomem ? -FL_E_NOMEM : 0);
	SURE(!rig_see(&rig, "other", &arena));
	rig_sleep(&rig, FL_NS_PER_S);
	OK(rig_settle(&rig));
	other = rig_get(&rig, "other", &arena);
	OK(other ? 0 : -FL_E_NOMEM);
	SURE_STR(other->spec.color, "red");
	SURE_INT(rig.started, 2);
}

TEST(a_moment_that_was_asked_for_comes)
{
	double plans;
	RIG(rig, &capacity);

	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"replicas\":1,\"serial\":100000000000}}"));
	OK(rig_tell_all(&rig));
	OK(rig_settle(&rig));
	plans = plans_of(&rig, "capacity");
	rig_sleep(&rig, 98 * FL_NS_PER_S);
	SURE(plans_of(&rig, "capacity") == plans);
	rig_sleep(&rig, 2 * FL_NS_PER_S);
	SURE(plans_of(&rig, "capacity") == plans + 1);
	SURE(rig_at_rest(&rig));
}

static void strips(struct fl_demo *rocket)
{
	FL_UNSET(&rocket->status, capacity);
}

TEST(what_a_webhook_takes_away_is_told_and_rests)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(8 * FL_KIB);
	RIG(rig, &capacity);

	rig.webhook = strips;
	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	OK(rig_settle(&rig));
	rig_sleep(&rig, 300 * FL_NS_PER_S);
	SURE_INT(rig.started, 1);
	OK(fl_loop_explain(rig.loop, &fl_demo_kind, FL_S(""), FL_S("a"), &text, NULL));
	SURE(strstr(text.p,
		    "contested: status.capacity: reverted by another writer each time fairlead-capacity writes it"));
	SURE(strstr(text.p, "capacity: Contested: status.capacity"));
	/* It is tried again now and then; and when the webhook is gone, it heals. */
	rig_sleep(&rig, 310 * FL_NS_PER_S);
	SURE_INT(rig.held, 1);
	rig.webhook = NULL;
	OK(rig_settle(&rig));
	rig_sleep(&rig, 3600 * FL_NS_PER_S);
	SURE_INT(rig.started, 2);
	SURE(rig_at_rest(&rig));
}

TEST(a_contest_with_another_writer_ends)
{
	RIG(rig, &capacity);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	for (int i = 0; i < 12; i++) {
		OK(rig_settle(&rig));
		OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"replicas\":3},"
				 "\"status\":{\"capacity\":{\"total\":9}}}"));
		rig_sleep(&rig, 100 * FL_NS_PER_MS);
	}
	SURE_INT(rig.started, FL_CONTEST_TRIES);
	/* What is wanted now is something else: that is written at once. */
	OK(rig_put(&rig, ROCKET("a", 4)));
	rig_run(&rig);
	SURE_INT(rig.held, 1);
}

TEST(events_come_once_after_the_write_that_changed_a_status_or_a_reason)
{
	RIG(rig, &capacity);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_put(&rig, ROCKET("b", 0)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	SURE_INT(rig.events.len, 0);
	OK(rig_settle(&rig));
	SURE_STR(fl_buf_view(&rig.events), "Warning b Empty NothingThere\n");
	OK(rig_put(&rig, ROCKET("a", 5)));   /* the same status, another message */
	OK(rig_settle(&rig));
	OK(rig_put(&rig, ROCKET("b", 1)));
	rig_run(&rig);
	rig_refuse(&rig, FL_E_CONFLICT);
	rig_sleep(&rig, FL_NS_PER_S);
	OK(rig_settle(&rig));
	SURE_STR(fl_buf_view(&rig.events), "Warning b Empty NothingThere\nNormal b Empty Filled\n");
	OK(rig_put(&rig, ROCKET("b", 7)));   /* the same status, another reason */
	OK(rig_settle(&rig));
	SURE_STR(fl_buf_view(&rig.events),
		 "Warning b Empty NothingThere\nNormal b Empty Filled\nNormal b Empty Crowded\n");
}

static int64_t transition(struct rig *rig)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_demo *rocket = rig_get(rig, "a", &arena);

	return rocket && rocket->status.conditions.len ? rocket->status.conditions.at[0].last_transition_time : 0;
}

TEST(a_transition_is_stamped_when_the_status_changes_and_only_then)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	int64_t first, second, third;
	RIG(rig, &capacity);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	OK(rig_settle(&rig));
	first = transition(&rig);
	OK(first ? 0 : -FL_E_NOMEM);
	rig_sleep(&rig, 10 * FL_NS_PER_S);
	{
		const struct fl_demo *rocket = rig_get(&rig, "a", &arena);
		struct fl_demo more = rocket ? *rocket : (struct fl_demo){ 0 };

		OK(rocket ? 0 : -FL_E_NOMEM);
		FL_SET(&more.spec, replicas, 4);
		FL_SET(&more.meta, resource_version, FL_S("90"));
		rig.version = 90;
		OK(fl_feed_put(rig.rockets, &more, NULL));
	}
	OK(rig_settle(&rig));
	second = transition(&rig);
	OK(second ? 0 : -FL_E_NOMEM);
	SURE(first == second && first % 1000000 == 0);
	OK(rig_put(&rig, ROCKET("a", 0)));
	OK(rig_settle(&rig));
	third = transition(&rig);
	OK(third ? 0 : -FL_E_NOMEM);
	SURE(third > first);
}

TEST(a_standby_keeps_warm_and_plans_nothing)
{
	RIG_(rig, true, &capacity);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	rig_sleep(&rig, FL_NS_PER_S);
	SURE(plans_of(&rig, "capacity") <= 0);
	SURE(rig_at_rest(&rig));
	fl_loop_lead(rig.loop, true);
	rig_run(&rig);
	OK(rig.held ? 0 : -FL_E_NOMEM);
	SURE(fl_write_may(rig.writes[0]));
	rig.may_write = false;
	SURE(!fl_write_may(rig.writes[0]));
	rig.may_write = true;
	fl_loop_lead(rig.loop, false);
	SURE(!fl_write_may(rig.writes[0]));
	rig_refuse(&rig, FL_E_DENIED);
	rig_sleep(&rig, 3600 * FL_NS_PER_S);
	SURE_INT(rig.started, 1);
	fl_loop_lead(rig.loop, true);
	OK(rig_settle(&rig));
	SURE_INT(rig.started, 2);
}

TEST(what_a_full_state_does_not_name_is_gone)
{
	RIG(rig, &capacity);
	char json[96];

	for (int i = 0; i < 40; i++) {
		(void)snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"r%d\"},\"spec\":{\"replicas\":2}}", i);
		OK(rig_put(&rig, json));
	}
	OK(rig_tell_all(&rig));
	OK(rig_settle(&rig));
	rig.mute = true;
	for (int i = 0; i < 39; i++) {
		(void)snprintf(json, sizeof json, "r%d", i);
		OK(rig_gone(&rig, json));
	}
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	{
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };

		SURE(!rig_see(&rig, "r5", &arena));
		SURE(rig_see(&rig, "r39", &arena));
	}
	SURE_INT(rig.started, 40);
	SURE(rig_at_rest(&rig));
}

TEST(a_kind_that_goes_stops_the_plans_that_need_it)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	double plans;
	RIG(rig, &capacity);

	SURE(fl_loop_missing(rig.loop) == &fl_demo_kind);
	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	OK(rig_settle(&rig));
	SURE(!fl_loop_missing(rig.loop));
	fl_feed_absent(rig.rockets);
	rig_run(&rig);
	OK(rig.nomem ? -FL_E_NOMEM : 0);
	SURE(!rig_see(&rig, "a", &arena));
	SURE(fl_loop_missing(rig.loop) == &fl_demo_kind);
	plans = plans_of(&rig, "capacity");
	rig_sleep(&rig, 3600 * FL_NS_PER_S);
	SURE(plans_of(&rig, "capacity") == plans);
	SURE(rig_at_rest(&rig));
	OK(rig_tell_all(&rig));
	OK(rig_settle(&rig));
	SURE_INT(rig.started, 1);
	SURE(plans_of(&rig, "capacity") > plans);
}

TEST(the_same_inputs_give_the_same_order)
{
	char names[2][2048] = { "", "" };

	for (int round = 0; round < 2; round++) {
		char json[96];
		size_t len = 0;
		RIG(rig, &capacity, &color);

		for (int i = 0; i < 12; i++) {
			(void)snprintf(json, sizeof json,
				       "{\"metadata\":{\"name\":\"paint-%d\"},\"spec\":{\"replicas\":%d}}", i, i);
			OK(rig_put(&rig, json));
		}
		OK(rig_tell_all(&rig));
		rig_run(&rig);
		for (uint32_t i = 0; i < rig.held; i++)
			len += (size_t)snprintf(names[round] + len, sizeof names[round] - len, "%.*s ",
						FL_ARG(rig.writes[i]->ref.name));
	}
	SURE_STR(fl_str(names[0]), names[1]);
}

/* ---- what is refused ---- */

static const struct fl_owner thief_owner = {
	.manager = "thief", .kind = &fl_demo_kind, .paths = (const char *const[]){ "status.capacity.used", NULL },
};
static const struct fl_owner mixed_owner = {
	.manager = "mixed", .kind = &fl_demo_kind, .paths = (const char *const[]){ "status.phase", "spec.host", NULL },
};
static const struct fl_watched others[] = { { &fl_pod_kind, by_name, false }, { 0 } };

static const struct {
	const char *says;
	struct fl_capability row;
	enum fl_code code;
} refused[] = {
	{ "a field that another capability writes",
	  { .name = "thief", .watches = watches, .owners = (const struct fl_owner *const[]){ &thief_owner, NULL } },
	  FL_E_CONFLICT },
	{ "an owner on both sides of the status",
	  { .name = "mixed", .watches = watches, .owners = (const struct fl_owner *const[]){ &mixed_owner, NULL } },
	  FL_E_INVALID },
	{ "a kind without a source", { .name = "blind", .watches = others }, FL_E_INVALID },
};

TEST(capabilities_that_cannot_work_are_refused)
{
	EACH_ROW (row, refused) {
		struct fl_err err = { 0 };
		RIG(rig, &capacity);

		REFUSED(fl_loop_capability(rig.loop, &row->row, &err), row->code);
		SURE(strstr(err.text, row->row.name));
	}
}

/* ---- questions ---- */

static int ask(struct fl_view *view, const void *request, void *facts, struct fl_err *err)
{
	((struct facts *)facts)->rocket = fl_view_get(view, &fl_demo_kind, FL_S(""), fl_str(request));
	(void)err;
	return 0;
}

static int answer(const void *facts_, const void *request, struct fl_arena *arena, void *reply, struct fl_err *err)
{
	const struct facts *facts = facts_;

	(void)arena;
	if (!facts->rocket)
		return fl_fail(err, FL_E_NOTFOUND, "no rocket '%s'", (const char *)request);
	*(int *)reply = facts->rocket->spec.replicas;
	return 0;
}

TEST(what_waits_is_answered_from_the_same_facts)
{
	static const struct fl_kind *const reads[] = { &fl_demo_kind, NULL };
	static const struct fl_answering row = { "count", reads, sizeof(struct facts), ask, answer };
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	int n = 0;
	RIG(rig, &capacity);

	REFUSED(fl_loop_answer(rig.loop, &row, "a", &arena, &n, NULL), FL_E_RETRY);
	OK(rig_put(&rig, ROCKET("a", 7)));
	OK(rig_tell_all(&rig));
	OK(fl_loop_answer(rig.loop, &row, "a", &arena, &n, NULL));
	SURE_INT(n, 7);
	REFUSED(fl_loop_answer(rig.loop, &row, "b", &arena, &n, NULL), FL_E_NOTFOUND);
}

TEST(explain_says_what_the_plans_said)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(8 * FL_KIB);
	RIG(rig, &capacity);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	OK(rig_settle(&rig));
	OK(rig_put(&rig, ROCKET("a", 4)));
	rig_run(&rig);
	rig_refuse(&rig, FL_E_INVALID);
	OK(fl_loop_explain(rig.loop, &fl_demo_kind, FL_S(""), FL_S("a"), &text, NULL));
	SURE_STR(fl_buf_view(&text), "condition Empty False, Filled: 3 there\ncapacity: Counted: 4\n"
				     "capacity: failed 1 times: Rocket a: refused; again in 0 s\n");
	REFUSED(fl_loop_explain(rig.loop, &fl_demo_kind, FL_S(""), FL_S("b"), &text, NULL), FL_E_NOTFOUND);
}

/* ---- anything, in any order ---- */

static const char *const names[] = { "a", "b", "paint-c", "paint-d", "bin-e", "pair-f" };

/* Something happens: in the world, on the wire, or to the lease. */
static int something(struct rig *rig)
{
	char json[96];
	const char *name = names[test_random() % FL_LEN(names)];

	(void)snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"replicas\":%d}}", name,
		       (int)(test_random() % 4));
	switch (test_random() % 8) {
	case 0:
	case 1:
		return rig_put(rig, json);
	case 2:
		return rig_gone(rig, name);
	case 3:
		rig->mute = !rig->mute;
		return rig->mute ? 0 : rig_tell_all(rig);
	case 4:
		rig_refuse(rig, test_random() % 2 ? FL_E_CONFLICT : FL_E_RETRY);
		break;
	case 5:
		rig_sleep(rig, test_random() % FL_NS_PER_S);
		break;
	case 6:
		fl_loop_lead(rig->loop, test_random() % 4 != 0);
		break;
	default:
		rig_run(rig);
		rig->early = test_random() % 2;
		return rig_serve(rig);
	}
	return 0;
}

TEST(whatever_happens_it_converges)
{
	RIG(rig, &capacity, &color);

	OK(rig_tell_all(&rig));
	for (int i = 0; i < 120; i++)
		OK(something(&rig));
	rig.mute = false;
	fl_loop_lead(rig.loop, true);
	OK(rig_tell_all(&rig));
	for (int i = 0; i < 8; i++) {
		OK(rig_settle(&rig));
		rig_sleep(&rig, 700 * FL_NS_PER_S);
		OK(rig_tell_all(&rig));
	}
	OK(rig_settle(&rig));
	for (size_t i = 0; i < FL_LEN(names); i++) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		const struct fl_demo *truth = rig_get(&rig, names[i], &arena), *seen = rig_see(&rig, names[i], &arena);

		OK(rig.nomem ? -FL_E_NOMEM : 0);
		CHECK((truth != NULL) == (seen != NULL));
		CHECK(!truth || fl_equal(fl_demo_bind(), truth, seen));
		CHECK(!truth || truth->status.capacity.total == truth->spec.replicas);
		CHECK(!truth || strncmp(names[i], "paint", 5) != 0 || fl_str_eq(truth->spec.color, FL_S("red")));
		CHECK(!truth || names[i][1] != 'i');
	}
	CHECK(rig_at_rest(&rig));
}

/* A beginning does not put all of a large cache into the queue: what waits is bounded, and nothing spins meanwhile. Not
 * tortured: some hundred objects; that no key is lost is shown with a few (test_lost). */
TEST_ONCE(of_a_beginning_only_so_many_keys_wait)
{
	enum { ROCKETS = FL_RUN_QUEUE + FL_RUN_WRITES + 200 };
	RIG(rig, &capacity);
	char json[120];
	double depth;

	for (uint32_t i = 0; i < ROCKETS; i++) {
		(void)snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"r-%u\"},\"spec\":{\"replicas\":3}}", i);
		OK(rig_put(&rig, json));
	}
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	CHECK_INT(rig.held, FL_RUN_WRITES);
	depth = rig_metric(&rig, "workqueue_depth{name=\"capacity\"} ");
	CHECK(depth >= FL_RUN_QUEUE - FL_RUN_WRITES && depth <= FL_RUN_QUEUE + FL_RUN_WRITES);
	CHECK(rig_waits(&rig));
	for (uint32_t served = 0; rig.held; served++) {
		OK(rig_serve(&rig));
		rig_run(&rig);
		depth = rig_metric(&rig, "workqueue_depth{name=\"capacity\"} ");
		CHECK(depth <= FL_RUN_QUEUE + 2 * FL_RUN_WRITES);
		CHECK(served < ROCKETS);
	}
	CHECK_INT(rig.started, ROCKETS);
	CHECK(rig_at_rest(&rig));
}
