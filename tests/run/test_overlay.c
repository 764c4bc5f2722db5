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

TEST(a_full_state_that_was_asked_for_before_an_answer_need_not_show_the_write)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	RIG(rig, &capacity);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	rig.mute = true;
	fl_feed_asked(rig.rockets);
	rig.version += 100;
	OK(rig_serve(&rig));
	SURE(fl_feed_ahead(rig.rockets));
	rig.version = 1;   /* what the server had when it was asked */
	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"replicas\":3},\"status\":{}}"));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	SURE_INT(rig.started, 1);
	{
		SEES(rig, arena, seen, "a");
		SURE_INT(seen->status.capacity.total, 3);
	}
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	SURE_INT(rig.started, 2);
}

/* It went while the watch was down, and so its end was never told. */
TEST(what_a_full_state_does_not_name_is_not_below_an_own_write)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	RIG(rig, &capacity);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	rig.mute = true;
	OK(rig_serve(&rig));
	OK(rig_gone(&rig, "a"));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	SURE(!rig_see(&rig, "a", &arena));
	SURE(rig_at_rest(&rig));
}

TEST(a_write_that_fails_shows_nothing_that_a_full_state_has_not_named)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	RIG(rig, &capacity);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	SURE_INT(rig.held, 1);
	rig.mute = true;
	OK(rig_gone(&rig, "a"));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	SURE(rig_see(&rig, "a", &arena) != NULL);   /* the write may make it */
	rig_refuse(&rig, FL_E_NOTFOUND);
	rig_run(&rig);
	SURE(!rig_see(&rig, "a", &arena));
}

/* ... but what was told in the midst of it, before the write began, was named. */
TEST(a_write_begun_while_a_full_state_is_told_lies_over_what_was_named)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	RIG(rig, &capacity);

	OK(rig_put(&rig, ROCKET("a", 0)));
	OK(rig_tell_all(&rig));
	OK(rig_settle(&rig));
	fl_feed_begin(rig.rockets);
	OK(rig_put(&rig, ROCKET("a", 3)));
	rig_run(&rig);
	SURE_INT(rig.held, 1);
	fl_feed_synced(rig.rockets);
	rig_refuse(&rig, FL_E_RETRY);
	{
		SEES(rig, arena, seen, "a");
		SURE_INT(seen->spec.replicas, 3);
		SURE_INT(seen->status.capacity.total, 0);
	}
}

/* The echo of an own write, a full state of what is known: nobody reads it. Rows say what has been so far. */
static int write_answered(struct rig *rig)
{
	rig->mute = true;
	return rig_serve(rig);
}

static int write_answered_by_nothing(struct rig *rig)
{
	rig->mute = rig->no_answer = true;
	return rig_serve(rig);
}

static int write_on_its_way(struct rig *rig)
{
	rig->mute = true;
	return 0;
}

static int write_told(struct rig *rig)
{
	return rig_serve(rig);
}

static const struct {
	const char *says;
	int (*act)(struct rig *rig);
	const char *uid, *version;
	bool same;
	int overlays;                  /* left behind */
} known[] = {
	{ "the echo of an answer is what is shown", write_answered, "uid-1", "2", true, 0 },
	{ "what has been told is what is shown", write_told, "uid-1", "2", true, 0 },
	{ "an older one than the answer is not", write_answered, "uid-1", "1", false, 1 },
	{ "a newer one is not", write_answered, "uid-1", "3", false, 1 },
	{ "another of the name is not", write_answered, "uid-2", "2", false, 1 },
	{ "one without a version is not", write_answered, "uid-1", "", false, 1 },
	{ "one without a uid is not", write_answered, "", "2", false, 1 },
	{ "what is below a write on its way is not", write_on_its_way, "uid-1", "1", false, 1 },
	{ "nor what is below one that nobody answered", write_answered_by_nothing, "uid-1", "1", false, 1 },
};

TEST(what_is_shown_already_need_not_be_read)
{
	EACH_ROW (row, known) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		double overlays;
		bool same;
		RIG(rig, &capacity);

		OK(rig_put(&rig, ROCKET("a", 3)));
		OK(rig_tell_all(&rig));
		rig_run(&rig);
		OK(row->act(&rig));
		if (rig.nomem || test_tortured())
			return;
		same = fl_feed_same(rig.rockets, FL_S(""), FL_S("a"), fl_str(row->uid), fl_str(row->version));
		CHECK_INT(same, row->same);
		CHECK(!fl_feed_same(rig.rockets, FL_S(""), FL_S("b"), fl_str(row->uid), fl_str(row->version)));
		overlays = rig_metric(&rig, "fairlead_overlays{kind=\"Rocket\"} ");
		rig_run(&rig);
		if (rig.nomem || test_tortured())
			return;
		CHECK_INT(overlays, row->overlays);
		{
			SEES(rig, arena, seen, "a");
			CHECK_INT(seen->status.capacity.total, 3);
		}
		CHECK_INT(rig.started, 1);
	}
}

/* An answer whose echo has overtaken it need not be read, whatever is told between its head and its end. */
static int nothing_more(struct rig *rig)
{
	(void)rig;
	return 0;
}

static int another_number(struct rig *rig)
{
	return rig_put(rig, ROCKET("a", 5));
}

static int ours_taken_away(struct rig *rig)
{
	return rig_put(rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"replicas\":3},\"status\":{}}");
}

static int it_goes(struct rig *rig)
{
	return rig_gone(rig, "a");
}

static const struct {
	const char *says;
	bool early;
	int (*between)(struct rig *rig);
	bool seen;
	uint32_t started;              /* writes, by the end */
} overtaken[] = {
	{ "its echo came first", true, nothing_more, true, 1 },
	{ "its echo has not come", false, nothing_more, false, 1 },
	{ "its echo came first, and then somebody else's change", true, another_number, true, 2 },
	{ "its echo came first, and then somebody took it away", true, ours_taken_away, true, 2 },
	{ "its echo came first, and then the end of it all", true, it_goes, true, 1 },
};

TEST(an_answer_that_was_overtaken_by_its_echo_need_not_be_read)
{
	EACH_ROW (row, overtaken) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_demo answer = { 0 };
		struct fl_write *write;
		const struct fl_demo *truth, *seen;
		RIG(rig, &capacity);

		OK(rig_put(&rig, ROCKET("a", 3)));
		OK(rig_tell_all(&rig));
		rig_run(&rig);
		if (rig.nomem || test_tortured())
			return;
		CHECK_INT(rig.held, 1);
		write = rig.writes[0];
		rig.held = 0;
		rig.mute = !row->early;
		OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"replicas\":3},"
				 "\"status\":{\"capacity\":{\"total\":3}}}"));
		truth = rig_get(&rig, "a", &arena);
		GOT(truth);
		OK(fl_copy(fl_demo_bind(), truth, &arena, &answer, NULL));
		CHECK(!fl_write_seen(write, FL_S("1")));
		CHECK_INT(fl_write_seen(write, answer.meta.resource_version), row->seen);
		rig.mute = false;
		OK(row->between(&rig));
		fl_write_done(write, row->seen ? NULL : &answer);
		OK(rig_settle(&rig));
		truth = rig_get(&rig, "a", &arena);
		seen = rig_see(&rig, "a", &arena);
		if (rig.nomem || test_tortured())
			return;
		CHECK_INT(rig.started, row->started);
		CHECK((truth != NULL) == (seen != NULL));
		CHECK(!truth || fl_equal(fl_demo_bind(), truth, seen));
		CHECK(!truth || truth->status.capacity.total == truth->spec.replicas);
		CHECK(rig_at_rest(&rig));
	}
}

TEST(what_is_the_same_in_a_full_state_is_named)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_demo *rocket;
	RIG(rig, &capacity);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_put(&rig, ROCKET("b", 3)));
	OK(rig_tell_all(&rig));
	OK(rig_settle(&rig));
	rocket = rig_get(&rig, "a", &arena);
	GOT(rocket);
	fl_feed_begin(rig.rockets);
	SURE(fl_feed_same(rig.rockets, FL_S(""), FL_S("a"), rocket->meta.uid, rocket->meta.resource_version));
	fl_feed_synced(rig.rockets);
	rig_run(&rig);
	SURE(rig_see(&rig, "a", &arena) != NULL);
	SURE(!rig_see(&rig, "b", &arena));
	SURE_INT(rig.started, 2);
}

/* ---- two writes of one object, one after the other ---- */

static const struct fl_owner namer = {
	.manager = "fairlead-namer", .kind = &fl_demo_kind, .paths = (const char *const[]){ "spec.displayName", NULL },
};
static const struct fl_owner *const both_owners[] = { &owner, &namer, NULL };

static void plan_both(const void *facts, struct fl_plan *plan)
{
	const struct fl_demo *rocket = ((const struct facts *)facts)->rocket;
	struct fl_demo want = { 0 };

	plan_it(facts, plan);
	FL_SET(FL_IN(&want, spec), name, FL_S("rocket"));
	fl_want(plan, &namer, FL_REF(&fl_demo_kind, rocket), &want);
}

static const struct fl_capability two_parts = { .name = "parts", .watches = watches, .key = &fl_demo_kind,
						.owners = both_owners, .facts_size = sizeof(struct facts),
						.gather = gather, .plan = plan_both };

/* Somebody's write from before ours, told only now. */
static int tell_older(struct rig *rig)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_demo rocket = { 0 };

	FL_SET(FL_IN(&rocket, meta), name, FL_S("a"));
	FL_SET(&rocket.meta, uid, FL_S("uid-1"));
	FL_SET(&rocket.meta, resource_version, FL_S("2"));
	FL_SET(FL_IN(&rocket, spec), replicas, 3);
	return fl_feed_put(rig->rockets, &rocket, NULL);
}

static bool shows_total(struct rig *rig, int32_t total)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_demo *rocket = rig_see(rig, "a", &arena);

	return rocket && rocket->status.capacity.total == total;
}

static bool has_overlays(struct rig *rig, int count)
{
	return (int)rig_metric(rig, "fairlead_overlays{kind=\"Rocket\"} ") == count;
}

TEST(what_is_older_than_an_answer_is_not_shown_while_another_write_is_on_its_way_nor_when_it_fails)
{
	RIG(rig, &two_parts);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	rig.mute = true;
	rig.version += 10;
	OK(rig_serve(&rig));
	rig_run(&rig);
	SURE_INT(rig.started, 2);
	SURE_INT(rig.held, 1);
	SURE(rig.held && rig.writes[0]->owner == &namer);
	OK(tell_older(&rig));
	rig_run(&rig);
	SURE(shows_total(&rig, 3));
	rig_refuse(&rig, FL_E_RETRY);
	rig_run(&rig);
	SURE(shows_total(&rig, 3));
	OK(tell_older(&rig));
	rig_run(&rig);
	SURE(shows_total(&rig, 3));
	SURE(has_overlays(&rig, 1));
	/* The echo comes, and the second write goes again: that one alone. */
	OK(rig_tell(&rig, "a"));
	SURE(has_overlays(&rig, 0));
	rig_sleep(&rig, FL_NS_PER_S);
	SURE_INT(rig.held, 1);
	SURE(rig.held && rig.writes[0]->owner == &namer);
	rig.mute = false;
	OK(rig_settle(&rig));
	SURE_INT(rig.started, 3);
	SURE(rig_at_rest(&rig));
}

/* A server that was set back tells what is older than our answer, and that is so by now. */
TEST(a_full_state_that_was_asked_for_after_an_answer_is_true_under_another_write_too)
{
	RIG(rig, &two_parts);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	rig.mute = true;
	rig.version += 10;
	OK(rig_serve(&rig));
	rig_run(&rig);
	SURE_INT(rig.held, 1);
	fl_feed_asked(rig.rockets);
	fl_feed_begin(rig.rockets);
	OK(tell_older(&rig));
	fl_feed_synced(rig.rockets);
	rig_run(&rig);
	SURE(shows_total(&rig, 0));
	rig_refuse(&rig, FL_E_RETRY);
	rig_run(&rig);
	SURE(shows_total(&rig, 0) || (rig.held && rig.writes[0]->owner == &owner));
}

/* A full state that was asked for before the answer names it as it was: it stays, and is not swept out. */
TEST(a_full_state_that_names_an_older_one_under_another_write_leaves_it_there)
{
	RIG(rig, &two_parts);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	rig.mute = true;
	rig.version += 10;
	fl_feed_asked(rig.rockets);
	OK(rig_serve(&rig));
	rig_run(&rig);
	SURE_INT(rig.held, 1);
	fl_feed_begin(rig.rockets);
	OK(tell_older(&rig));
	fl_feed_synced(rig.rockets);
	rig_run(&rig);
	SURE(shows_total(&rig, 3));
	rig_refuse(&rig, FL_E_RETRY);
	rig_run(&rig);
	SURE(shows_total(&rig, 3));
	OK(rig_tell(&rig, "a"));
	SURE(has_overlays(&rig, 0));
}

/* ... and one that does not name it, as it was not there yet, does not take it away. */
TEST(a_full_state_from_before_an_answer_says_nothing_of_what_that_made)
{
	RIG(rig, &two_parts);

	OK(rig_put(&rig, ROCKET("a", 3)));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	rig.mute = true;
	rig.version += 10;
	fl_feed_asked(rig.rockets);
	OK(rig_serve(&rig));
	rig_run(&rig);
	fl_feed_begin(rig.rockets);
	fl_feed_synced(rig.rockets);
	rig_run(&rig);
	SURE(shows_total(&rig, 3));
	rig_refuse(&rig, FL_E_RETRY);
	rig_run(&rig);
	SURE(shows_total(&rig, 3));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	SURE(shows_total(&rig, 3));
	SURE(has_overlays(&rig, 0));
}
