/* Nothing is lost when memory is refused: tortured, each of these fails once wherever it can, and must still come to
 * the same end. What is refused for good is said. */
#include "rig.h"
#include <stdio.h>

/* ---- a capability whose keys nothing but the changed object itself names ---- */

static struct {
	char hosts[64];                /* that were planned, in order */
	uint32_t len;
} planned;

static void by_host(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct fl_demo *was = before, *is = after;

	if (was && was->spec.has.host)
		fl_dirty_key(dirty, FL_S(""), was->spec.host);
	if (is && is->spec.has.host)
		fl_dirty_key(dirty, FL_S(""), is->spec.host);
}

static bool gather_host(struct fl_view *view, struct fl_ref key, void *facts)
{
	int n = snprintf(planned.hosts + planned.len, sizeof planned.hosts - planned.len, "[%.*s]", FL_ARG(key.name));

	(void)view;
	(void)facts;
	if (n > 0 && planned.len + (uint32_t)n < sizeof planned.hosts)
		planned.len += (uint32_t)n;
	return false;
}

static void plan_nothing(const void *facts, struct fl_plan *plan)
{
	(void)facts;
	(void)plan;
}

static const struct fl_watched hosts_watches[] = { { &fl_demo_kind, by_host, true }, { 0 } };
static const struct fl_capability hosts = { .name = "hosts", .watches = hosts_watches, .facts_size = 1,
					    .gather = gather_host, .plan = plan_nothing };

static void forget(void)
{
	planned.len = 0;
	planned.hosts[0] = '\0';
}

static int set_up(struct rig *rig)
{
	int r = rig_put(rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"host\":\"red\"}}");

	r = r < 0 ? r : rig_tell_all(rig);
	rig_sleep(rig, 10 * FL_NS_PER_S);
	forget();
	return rig->nomem ? -FL_E_NOMEM : r;
}

static int moves(struct rig *rig)
{
	return rig_put(rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"host\":\"blue\"}}");
}

static int goes(struct rig *rig)
{
	return rig_gone(rig, "a");
}

static int is_not_named(struct rig *rig)
{
	rig->mute = true;
	(void)rig_gone(rig, "a");
	return rig_tell_all(rig);
}

static int kind_goes(struct rig *rig)
{
	fl_feed_absent(rig->rockets);
	return 0;
}

static int goes_while_all_is_told(struct rig *rig)
{
	fl_feed_begin(rig->rockets);
	fl_feed_gone(rig->rockets, FL_S(""), FL_S("a"));
	fl_feed_synced(rig->rockets);
	return 0;
}

static const struct {
	const char *says;
	int (*act)(struct rig *rig);
	const char *red, *blue;
	uint32_t left;
} rows[] = {
	{ "what moves makes both its keys dirty", moves, "[red]", "[blue]", 1 },
	{ "what goes", goes, "[red]", NULL, 0 },
	{ "what a full state does not name", is_not_named, "[red]", NULL, 0 },
	{ "what goes while a full state is told", goes_while_all_is_told, "[red]", NULL, 0 },
	{ "what goes with its kind", kind_goes, "[red]", NULL, 0 },
};

TEST(no_key_is_lost)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_view view;
		RIG(rig, &hosts);

		OK(set_up(&rig));
		OK(row->act(&rig));
		rig_sleep(&rig, 10 * FL_NS_PER_S);
		CHECK(strstr(planned.hosts, row->red));
		CHECK(!row->blue || strstr(planned.hosts, row->blue));
		view = fl_loop_view(rig.loop, &arena);
		CHECK_INT(fl_view_all(&view, &fl_demo_kind).cache->len, row->left);
		CHECK(rig_at_rest(&rig));
	}
}

/* ---- one key, and no object at all ---- */

static const struct fl_capability alone = { .name = "alone", .watches = hosts_watches, .facts_size = 1, .once = true,
					    .gather = gather_host, .plan = plan_nothing };

TEST(the_one_key_is_planned_although_nothing_is_there)
{
	RIG(rig, &alone);

	forget();
	OK(rig_tell_all(&rig));
	rig_sleep(&rig, 10 * FL_NS_PER_S);
	CHECK_STR(fl_str(planned.hosts), "[]");
	CHECK(rig_at_rest(&rig));
}

/* ---- what was laid over the cache and did not come to be ---- */

static const struct fl_owner color_owner = {
	.manager = "fairlead-color", .kind = &fl_demo_kind, .paths = (const char *const[]){ "spec.displayName", NULL },
};
static const struct fl_owner *const color_owners[] = { &color_owner, NULL };

struct facts {
	struct fl_ref ref;
	struct fl_str name;
};

static void by_name(const void *before, const void *after, struct fl_dirty *dirty)
{
	fl_dirty_key(dirty, FL_S(""), ((const struct fl_demo *)(after ? after : before))->meta.name);
}

static bool gather_rocket(struct fl_view *view, struct fl_ref key, void *facts_)
{
	const struct fl_demo *rocket = fl_view_get(view, &fl_demo_kind, key.space, key.name);
	struct facts *facts = facts_;

	if (!rocket)
		return false;
	facts->ref = FL_REF(&fl_demo_kind, rocket);
	return true;
}

static void plan_name(const void *facts_, struct fl_plan *plan)
{
	const struct facts *facts = facts_;
	struct fl_demo want = { 0 };

	FL_SET(FL_IN(&want, spec), name, FL_S("wanted"));
	fl_want(plan, &color_owner, facts->ref, &want);
}

static const struct fl_watched name_watches[] = { { &fl_demo_kind, by_name, false }, { 0 } };
static const struct fl_capability names = { .name = "names", .watches = name_watches, .key = &fl_demo_kind,
					    .owners = color_owners, .facts_size = sizeof(struct facts),
					    .gather = gather_rocket, .plan = plan_name };

TEST(a_write_that_failed_is_seen_as_not_done_and_tried_again)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_demo *rocket;
	RIG(rig, &names);

	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"}}"));
	OK(rig_tell_all(&rig));
	rig_sleep(&rig, 10 * FL_NS_PER_S);
	CHECK_INT(rig.held, 1);
	rig_refuse(&rig, FL_E_RETRY);
	rig_sleep(&rig, 10 * FL_NS_PER_S);
	CHECK_INT(rig.held, 1);
	OK(rig_serve(&rig));
	rig_sleep(&rig, 10 * FL_NS_PER_S);
	OK(rig.nomem ? -FL_E_NOMEM : 0);
	rocket = rig_get(&rig, "a", &arena);
	GOT(rocket);
	CHECK_STR(rocket->spec.name, "wanted");
	CHECK(rig.started == 2 || test_tortured());
}

TEST(what_failed_waits_longer_each_time_whatever_is_told_meanwhile)
{
	RIG(rig, &names);

	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"}}"));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	for (unsigned i = 0; i < 4; i++) {   /* waits: 100, 200, 400, 800 ms and up to half as much again */
		CHECK(rig.held == 1 || test_tortured());
		rig_refuse(&rig, FL_E_RETRY);
		OK(rig_put(&rig, i % 2 ? "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"host\":\"x\"}}" :
					 "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"host\":\"y\"}}"));
		rig_sleep(&rig, (99 << i) * FL_NS_PER_MS);
		CHECK(rig.held == 0 || test_tortured());
		rig_sleep(&rig, (52 << i) * FL_NS_PER_MS);
	}
	rig_refuse(&rig, FL_E_RETRY);
	rig_sleep(&rig, 1500 * FL_NS_PER_MS);
	CHECK(rig.held == 0 || test_tortured());
	rig_sleep(&rig, 1000 * FL_NS_PER_MS);
	CHECK(rig.held == 1 || test_tortured());
}

/* The server has done it and the answer is lost; its word of it is the object as we have laid it. */
TEST(an_echo_that_comes_before_the_failure_stays)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const struct fl_demo *rocket;
	RIG(rig, &names);

	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"}}"));
	OK(rig_tell_all(&rig));
	rig_sleep(&rig, 10 * FL_NS_PER_S);
	CHECK_INT(rig.held, 1);
	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"displayName\":\"wanted\"}}"));
	rig_refuse(&rig, FL_E_TIMEOUT);
	rig_sleep(&rig, 10 * FL_NS_PER_S);
	rocket = rig_see(&rig, "a", &arena);
	OK(rig.nomem ? -FL_E_NOMEM : 0);
	CHECK(rocket);
	CHECK_STR(rocket->spec.name, "wanted");
	CHECK_INT(rig.held, 0);
}

/* ---- what is too long ---- */

static char too_long[FL_RUN_NAME + 1];

static void by_long_name(const void *before, const void *after, struct fl_dirty *dirty)
{
	fl_dirty_key(dirty, FL_S(""), (struct fl_str){ too_long, FL_RUN_NAME });
	fl_dirty_key(dirty, FL_S(""), (struct fl_str){ too_long, FL_RUN_NAME - 1 });
	by_name(before, after, dirty);
}

static void plan_long(const void *facts_, struct fl_plan *plan)
{
	const struct facts *facts = facts_;
	struct fl_ref ref = facts->ref;
	struct fl_demo want = { 0 };

	ref.name = (struct fl_str){ too_long, FL_RUN_NAME };
	ref.uid = FL_S("");
	FL_SET(FL_IN(&want, spec), name, FL_S("wanted"));
	fl_want(plan, &color_owner, ref, &want);
}

static const struct fl_watched long_watches[] = { { &fl_demo_kind, by_long_name, false }, { 0 } };
static const struct fl_capability longs = { .name = "longs", .watches = long_watches, .key = &fl_demo_kind,
					    .owners = color_owners, .facts_size = sizeof(struct facts),
					    .gather = gather_rocket, .plan = plan_long };

TEST(what_is_too_long_is_refused_and_said)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(4 * FL_KIB), metrics = FL_BUF(FL_MIB);
	RIG(rig, &longs);

	memset(too_long, 'x', sizeof too_long);
	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"}}"));
	OK(rig_tell_all(&rig));
	rig_sleep(&rig, FL_NS_PER_S);
	OK(rig.nomem ? -FL_E_NOMEM : 0);
	OK(fl_metrics_write(rig.metrics, &metrics, NULL));
	CHECK(!strstr(metrics.p, "fairlead_keys_refused_total{name=\"longs\"} 0"));
	CHECK_INT(rig.started, 0);
	OK(fl_loop_explain(rig.loop, &fl_demo_kind, FL_S(""), FL_S("a"), &out, NULL));
	CHECK(strstr(out.p, "plan of longs: the name of a Rocket has 1024 bytes: at most 1023 are possible") ||
	      test_tortured());
}

/* ---- the numbers of it ---- */

static const char *const numbers[] = {
	"workqueue_depth{name=\"names\"} 0\n", "workqueue_adds_total{name=\"names\"} ",
	"workqueue_unfinished_work_seconds{name=\"names\"} 10\n",
	"workqueue_longest_running_processor_seconds{name=\"names\"} 10\n",
	"workqueue_queue_duration_seconds_count{name=\"names\"} ",
	"workqueue_work_duration_seconds_count{name=\"names\"} ",
	"fairlead_cache_full_states_total{kind=\"Rocket\"} 2\n", "fairlead_cache_told_total{kind=\"Rocket\"} 3\n",
	"fairlead_cache_silent_seconds{kind=\"Rocket\"} 10\n", "fairlead_overlays{kind=\"Rocket\"} 1\n",
};

TEST(what_dashboards_know_is_counted)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_MIB);
	RIG(rig, &names);

	OK(rig_put(&rig, "{\"metadata\":{\"name\":\"a\"}}"));
	OK(rig_tell_all(&rig));
	rig_run(&rig);
	OK(rig_tell_all(&rig));
	rig_sleep(&rig, 10 * FL_NS_PER_S);
	OK(fl_metrics_write(rig.metrics, &out, NULL));
	for (size_t i = 0; i < FL_LEN(numbers) && !test_tortured(); i++) {
		test_row(numbers[i]);
		CHECK(strstr(out.p, numbers[i]));
	}
}

static double unpacked(struct rig *rig)
{
	return rig_metric(rig, "fairlead_cache_unpacked_total{kind=\"Rocket\"} ");
}

/* A full state of what is known already costs no plan and no unpacking: it is counted as such. */
TEST(what_is_told_again_changes_nothing)
{
	double before, same, again, moved;
	RIG(rig, &hosts);

	OK(set_up(&rig));
	before = unpacked(&rig);
	OK(rig_tell_all(&rig));
	rig_sleep(&rig, FL_NS_PER_S);
	SURE_INT(planned.len, 0);
	same = rig_metric(&rig, "fairlead_cache_unchanged_total{kind=\"Rocket\"} ");
	again = unpacked(&rig);
	SURE_INT(same, 2);
	SURE_INT(again - before, 0);
	OK(moves(&rig));   /* the keys of a change read what was there before it */
	rig_sleep(&rig, FL_NS_PER_S);
	moved = unpacked(&rig);
	SURE_INT(moved - again, 1);
}

/* How many there were when it was planned last; -1: the kind was not known. */
static int planned_with;

static bool count_gather(struct fl_view *view, struct fl_ref key, void *facts)
{
	struct fl_each each = fl_view_all(view, &fl_demo_kind);

	(void)key;
	(void)facts;
	planned_with = fl_view_absent(view, &fl_demo_kind) ? -1 : 0;
	while (planned_with >= 0 && fl_each_next(&each))
		planned_with++;
	return false;
}

static void count_keys(const void *before, const void *after, struct fl_dirty *dirty)
{
	(void)before;
	(void)after;
	fl_dirty_key(dirty, FL_S(""), FL_S(""));
}

static void count_plan(const void *facts, struct fl_plan *plan)
{
	(void)facts;
	(void)plan;
}

static const struct fl_watched count_watches[] = { { &fl_demo_kind, count_keys, true }, { 0 } };
static const struct fl_owner *const count_owners[] = { NULL };
static const struct fl_capability counting = { .name = "counting", .watches = count_watches, .owners = count_owners,
					       .once = true, .facts_size = 1, .gather = count_gather,
					       .plan = count_plan };

/* ---- whether what is known is current ---- */

static uint64_t current_since;
static uint32_t current_plans;

static bool current_gather(struct fl_view *view, struct fl_ref key, void *facts)
{
	(void)key;
	(void)facts;
	current_since = fl_view_current(view, &fl_demo_kind);
	current_plans++;
	return false;
}

static const struct fl_watched current_watches[] = { { &fl_demo_kind, count_keys, true, true }, { 0 } };
static const struct fl_capability judging = { .name = "judging", .watches = current_watches, .owners = count_owners,
					      .once = true, .facts_size = 1, .gather = current_gather,
					      .plan = count_plan };

/* The clock of the rig stands still between the sleeps, so each time is known. */
TEST(a_plan_that_judges_is_called_when_what_is_known_is_current_no_more_and_when_it_is_again)
{
	uint64_t before;
	RIG(rig, &judging, &counting);

	rig.mute = true;
	current_since = 7;
	fl_feed_awaited(rig.rockets);
	rig_sleep(&rig, FL_NS_PER_S);
	fl_feed_begin(rig.rockets);
	fl_feed_current(rig.rockets, true);
	rig_run(&rig);
	SURE_INT(current_since, 0);          /* not before all is told */
	before = fl_now(rig.io);
	fl_feed_synced(rig.rockets);
	rig_run(&rig);
	SURE_INT(current_since, before);
	rig_sleep(&rig, FL_NS_PER_S);
	fl_feed_current(rig.rockets, false);
	rig_run(&rig);
	SURE_INT(current_since, 0);
	SURE_INT(planned_with, 0);           /* what is known is as it was */
	planned_with = -2;
	rig_sleep(&rig, FL_NS_PER_S);
	before = fl_now(rig.io);
	fl_feed_current(rig.rockets, true);
	rig_run(&rig);
	SURE_INT(current_since, before);
	SURE_INT(planned_with, -2);          /* who does not ask is not called */
	current_plans = 0;
	rig_sleep(&rig, FL_NS_PER_S);
	fl_feed_current(rig.rockets, true);
	fl_feed_begin(rig.rockets);
	fl_feed_synced(rig.rockets);
	rig_run(&rig);
	SURE_INT(current_since, before);     /* a full state changes nothing of it */
	SURE_INT(current_plans, 0);
	fl_feed_absent(rig.rockets);
	rig_run(&rig);
	SURE_INT(current_since, 0);
	SURE(rig_at_rest(&rig));
}

/* A full state comes in turns: its objects, and then its end. */
TEST(what_came_before_a_kind_was_known_is_planned_again_when_it_is)
{
	RIG(rig, &counting);

	rig.mute = true;
	OK(rig_put(&rig, ROCKET("a", 3)));
	fl_feed_absent(rig.rockets);
	rig_run(&rig);
	SURE_INT(planned_with, -1);
	fl_feed_begin(rig.rockets);
	OK(rig_tell(&rig, "a"));
	rig_run(&rig);
	fl_feed_synced(rig.rockets);
	rig_run(&rig);
	SURE_INT(planned_with, 1);
	fl_feed_absent(rig.rockets);
	rig_run(&rig);
	SURE_INT(planned_with, -1);
	fl_feed_begin(rig.rockets);
	fl_feed_synced(rig.rockets);
	rig_run(&rig);
	SURE_INT(planned_with, 0);
	SURE(rig_at_rest(&rig));
}
