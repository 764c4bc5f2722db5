/* What is wanted of a kind in memory is so, and what is wanted no more is gone. */
#include "api/node.h"
#include "base/units.h"
#include "rig.h"
#include "run/memory.h"

/* A Given that says what the Settings' message is to be; none: there are to be no Settings. */
struct facts {
	const struct fl_given *given;
};

static const struct fl_owner owner = {
	.manager = "test", .kind = &fl_settings_kind, .paths = (const char *const[]){ "message", NULL },
};
static const struct fl_owner *const owners[] = { &owner, NULL };

static void once(const void *before, const void *after, struct fl_dirty *dirty)
{
	(void)before;
	(void)after;
	fl_dirty_key(dirty, FL_S(""), FL_S(""));
}

static bool gather(struct fl_view *view, struct fl_ref key, void *facts)
{
	(void)key;
	((struct facts *)facts)->given = fl_view_get(view, &fl_given_kind, FL_S(""), FL_S("given"));
	return true;
}

static void plan(const void *facts_, struct fl_plan *plan)
{
	const struct facts *facts = facts_;
	struct fl_ref ref = { &fl_settings_kind, FL_S(""), FL_S("settings"), FL_S("") };
	struct fl_settings settings = { 0 };

	if (!facts->given) {
		fl_want_gone(plan, ref);
		return;
	}
	FL_SET(FL_IN(&settings, meta), name, ref.name);
	FL_SET(&settings, message, facts->given->node);
	fl_want(plan, &owner, ref, &settings);
}

static const struct fl_watched watches[] = {
	{ &fl_given_kind, once, false }, { &fl_settings_kind, once, false }, { 0 },
};
static const struct fl_capability capability = {
	.name = "copy", .watches = watches, .owners = owners, .once = true, .facts_size = sizeof(struct facts),
	.gather = gather, .plan = plan,
};

struct world {
	struct fl_io *io;
	struct fl_loop *loop;
	bool refused;                  /* a turn was refused memory: the next one goes on */
};

static void world_auto_(struct world *w)
{
	w->loop = fl_loop_free(w->loop);
	w->io = fl_io_free(w->io);
}

static int world_init(struct world *w)
{
	struct fl_loop_options options = { .seed = { 1, 2 } };
	struct fl_source given = { &fl_given_kind, NULL, NULL, NULL };
	struct fl_source settings = { &fl_settings_kind, NULL, &fl_memory_sink, NULL };

	w->io = rig_clock();
	settings.sink_arg = w->io;
	w->loop = w->io ? fl_loop_new(w->io, &options, NULL) : NULL;
	if (!w->loop || fl_loop_source(w->loop, &given, NULL) < 0 || fl_loop_source(w->loop, &settings, NULL) < 0 ||
	    fl_loop_capability(w->loop, &capability, NULL) < 0)
		return -FL_E_NOMEM;
	fl_memory_begin(w->loop, &fl_settings_kind);
	fl_memory_begin(w->loop, &fl_given_kind);
	return 0;
}

/* Everything that can happen within ten seconds: what was refused memory comes again. */
static void pass(struct world *w)
{
	uint64_t until = fl_clock(w->io) + 10 * FL_NS_PER_S;

	while (fl_clock(w->io) < until)
		w->refused |= fl_io_turn(w->io, until, NULL) < 0;
}

static int give(struct world *w, const char *text)
{
	struct fl_given given = { 0 };

	FL_SET(FL_IN(&given, meta), name, FL_S("given"));
	FL_SET(&given, node, fl_str(text));
	return fl_feed_put(fl_loop_feed(w->loop, &fl_given_kind), &given, NULL);
}

static const struct fl_settings *see(struct world *w, struct fl_arena *arena)
{
	struct fl_view view = fl_loop_view(w->loop, arena);

	return fl_view_get(&view, &fl_settings_kind, FL_S(""), FL_S("settings"));
}

TEST(what_is_wanted_is_so)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(world) struct world w = { 0 };
	const struct fl_settings *settings;

	OK(world_init(&w));
	pass(&w);
	CHECK(see(&w, &arena) == NULL);
	OK(give(&w, "one"));
	pass(&w);
	GOT(settings = see(&w, &arena));
	CHECK_STR(settings->message, "one");
	OK(give(&w, "another"));
	pass(&w);
	GOT(settings = see(&w, &arena));
	CHECK_STR(settings->message, "another");
	CHECK(fl_loop_idle(w.loop));
	fl_feed_gone(fl_loop_feed(w.loop, &fl_given_kind), FL_S(""), FL_S("given"));
	pass(&w);
	CHECK(see(&w, &arena) == NULL);
}

/* The loop ends while a write is on its way: nobody is told any more. */
TEST(an_end_in_the_middle)
{
	FL_AUTO(world) struct world w = { 0 };

	OK(world_init(&w));
	OK(give(&w, "one"));
	for (int turns = 0; turns < 100 && !fl_loop_writing(w.loop); turns++)
		OK(fl_io_turn(w.io, 0, NULL));
}
