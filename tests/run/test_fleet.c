/* Plans about many objects: counted and summed up by an index, not gone through. */
#include "demo_capability.h"
#include "keys_check.h"
#include "rig.h"
#include <stdio.h>

/* A fleet is all Rockets of one colour: how many there are, and how many replicas that are together. */
static void by_color(const void *object, struct fl_under *under)
{
	const struct fl_demo *rocket = object;

	FL_UNDER_FOR(under, rocket->spec.replicas, rocket->meta.space, rocket->spec.color);
}
static const struct fl_index by[] = { { "color", by_color }, { 0 } };

struct facts {
	struct fl_ref fleet;
	uint32_t rockets;
	int64_t replicas;
};

static void name_one(const struct fl_demo *rocket, struct fl_dirty *dirty)
{
	if (rocket && rocket->spec.has.color)
		fl_dirty_key(dirty, rocket->meta.space, rocket->spec.color);
}

static void both_colors(const void *before, const void *after, struct fl_dirty *dirty)
{
	name_one(before, dirty);
	name_one(after, dirty);
}

static void new_color(const void *before, const void *after, struct fl_dirty *dirty)
{
	name_one(after ? after : before, dirty);
}

static void color_when_it_changes(const void *before_, const void *after_, struct fl_dirty *dirty)
{
	const struct fl_demo *before = before_, *after = after_;

	if (!before || !after || !fl_str_eq(before->spec.color, after->spec.color))
		both_colors(before, after, dirty);
}

static bool gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	struct fl_str color = FL_VALUE(view, key.space, key.name);
	struct facts *facts = facts_;

	facts->fleet = key;
	facts->rockets = fl_view_count(view, &fl_demo_kind, "color", color);
	facts->replicas = fl_view_sum(view, &fl_demo_kind, "color", color);
	return facts->rockets > 0;
}

static void plan_it(const void *facts_, struct fl_plan *plan)
{
	const struct facts *facts = facts_;

	fl_say(plan, facts->fleet, "Counted", "%u with %lld", facts->rockets, (long long)facts->replicas);
}

#define FLEET(name_, keys_, ...) \
	static const struct fl_watched name_##_watches[] = { { &fl_demo_kind, keys_, false }, { 0 } }; \
	static const struct fl_capability name_ = { \
		.name = #name_, .watches = name_##_watches, .key = &fl_demo_kind, \
		.facts_size = sizeof(struct facts), .gather = gather, .plan = plan_it, __VA_ARGS__ \
	}
FLEET(fleet, both_colors);
FLEET(forgets_the_old, new_color);
FLEET(forgets_the_sum, color_when_it_changes);

/* ---- a loop with Rockets and nobody who writes them ---- */

struct port {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_feed *rockets;
};

static void port_auto_(struct port *port)
{
	fl_loop_free(port->loop);
	fl_io_free(port->io);
}

static int port_open(struct port *port, const struct fl_capability *capability)
{
	struct fl_loop_options options = { .seed = { 1, 2 } };
	struct fl_source source = { .kind = &fl_demo_kind, .by = by };

	port->io = rig_clock();
	port->loop = port->io ? fl_loop_new(port->io, &options, NULL) : NULL;
	if (!port->loop || fl_loop_source(port->loop, &source, NULL) < 0 ||
	    (capability && fl_loop_capability(port->loop, capability, NULL) < 0))
		return -FL_E_NOMEM;
	port->rockets = fl_loop_feed(port->loop, &fl_demo_kind);
	return 0;
}

static int put(struct port *port, const char *name, const char *color, int32_t replicas)
{
	struct fl_demo rocket = { 0 };

	FL_SET(FL_IN(&rocket, meta), name, fl_str(name));
	FL_SET(&rocket.meta, space, FL_S("team"));
	FL_SET(FL_IN(&rocket, spec), color, fl_str(color));
	FL_SET(&rocket.spec, replicas, replicas);
	return fl_feed_put(port->rockets, &rocket, NULL);
}

static int planned(struct port *port, const struct fl_capability *capability, const char *color, struct fl_buf *text)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_plan plan;

	fl_plan_init(&plan, &arena);
	if (fl_loop_try(port->loop, capability, FL_S("team"), fl_str(color), &plan, NULL, NULL))
		fl_plan_print(&plan, text);
	return plan.failed || text->failed ? -FL_E_NOMEM : 0;
}

TEST(a_plan_counts_and_sums_up_what_it_does_not_go_through)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_KIB);
	FL_AUTO(port) struct port port = { 0 };

	OK(port_open(&port, &fleet));
	OK(put(&port, "a", "red", 3));
	OK(put(&port, "b", "red", 4));
	OK(put(&port, "c", "blue", 5));
	OK(planned(&port, &fleet, "red", &text));
	CHECK_STR(fl_buf_view(&text), "say Rocket team/red: Counted: 2 with 7\n");
}

/* What the check finds about a capability, for the key team/red. */
static int missed_by(const struct fl_capability *capability, struct fl_buf *missed)
{
	FL_AUTO(port) struct port port = { 0 };
	int r = port_open(&port, capability);

	if (r == 0)
		r = put(&port, "a", "red", 3);
	return r < 0 ? r : keys_check(port.loop, capability, FL_S("team"), FL_S("red"), missed);
}

TEST(keys_that_name_all_that_is_counted_miss_nothing)
{
	FL_AUTO(fl_buf) struct fl_buf missed = FL_BUF(FL_KIB);

	OK(missed_by(&fleet, &missed));
	CHECK_STR(fl_buf_view(&missed), "");
}

static bool says(const struct fl_buf *missed, const char *words)
{
	return missed->p && strstr(missed->p, words);
}

TEST(keys_that_forget_who_leaves_the_count_are_found_out)
{
	FL_AUTO(fl_buf) struct fl_buf missed = FL_BUF(FL_KIB);

	OK(missed_by(&forgets_the_old, &missed));
	CHECK(says(&missed, "forgets_the_old: a change of Rocket a does not make the key 'red' dirty"));
	CHECK(says(&missed, "spec.color"));
}

TEST(keys_that_forget_what_is_summed_up_are_found_out)
{
	FL_AUTO(fl_buf) struct fl_buf missed = FL_BUF(FL_KIB);

	OK(missed_by(&forgets_the_sum, &missed));
	CHECK(says(&missed, "forgets_the_sum: a change of Rocket a does not make the key 'red' dirty"));
	CHECK(says(&missed, "spec.replicas"));
}

/* ---- what all objects of a kind depend on ---- */

enum { BELLS = 20, ROCKETS = 40 };
static uint32_t calls, bell_calls, last_rocket, last_bell[BELLS];

/* A bell is named by one letter. */
static void each_bell(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct fl_bell *bell = after ? after : before;

	bell_calls++;
	last_bell[(bell->meta.name.p[0] - 'a') % BELLS] = ++calls;
	fl_dirty_key(dirty, FL_S(""), bell->meta.name);
}

static void all_bells(const void *before, const void *after, struct fl_dirty *dirty)
{
	(void)before;
	(void)after;
	last_rocket = ++calls;
	fl_dirty_each(dirty, &fl_bell_kind);
}

static const struct fl_watched bell_watches[] = { { &fl_bell_kind, each_bell, false },
						  { &fl_demo_kind, all_bells, false }, { 0 } };
static const struct fl_capability bells = { .name = "bells", .watches = bell_watches, .key = &fl_bell_kind,
					    .facts_size = sizeof(struct facts), .gather = gather, .plan = plan_it };

static int ring_all(struct port *port)
{
	struct fl_source source = { .kind = &fl_bell_kind };
	struct fl_feed *feed;
	int r = port_open(port, NULL);

	if (r < 0 || fl_loop_source(port->loop, &source, NULL) < 0 || fl_loop_capability(port->loop, &bells, NULL) < 0)
		return -FL_E_NOMEM;
	feed = fl_loop_feed(port->loop, &fl_bell_kind);
	for (char name[] = "a"; r == 0 && name[0] < 'a' + BELLS; name[0]++) {
		struct fl_bell bell = { 0 };

		FL_SET(FL_IN(&bell, meta), name, fl_str(name));
		r = fl_feed_put(feed, &bell, NULL);
	}
	for (int i = 0; r == 0 && i < ROCKETS; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "rocket-%d", i);
		r = put(port, name, "red", 1);
	}
	if (r == 0) {
		fl_feed_synced(feed);
		fl_feed_synced(port->rockets);
	}
	return r;
}

TEST(what_every_object_of_one_kind_asks_of_all_of_another_is_done_a_few_times_only)
{
	FL_AUTO(port) struct port port = { 0 };

	calls = bell_calls = last_rocket = 0;
	memset(last_bell, 0, sizeof last_bell);
	OK(ring_all(&port));
	for (int turns = 0; turns < 10000 && !fl_loop_idle(port.loop); turns++)
		OK(fl_io_turn(port.io, fl_clock(port.io) + FL_NS_PER_S, NULL));
	CHECK(fl_loop_idle(port.loop));
	SURE(bell_calls <= 3 * BELLS);
	for (int i = 0; i < BELLS; i++)
		CHECK(last_bell[i] > last_rocket);
}
