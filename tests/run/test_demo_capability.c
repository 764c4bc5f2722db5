/* The demo capability, from file to file: the round trip that docs/ADDING-A-CAPABILITY.md leads through. */
#include "base/limits.h"
#include "demo_capability.h"
#include "keys_check.h"
#include "test.h"
#include "test_io.h"
#include <unistd.h>

/* ---- the decision: one sentence a row ---- */

static const struct {
	const char *says;
	bool rings;
	int32_t times;
	const char *problem, *plan;
} rows[] = {
	{ "a bell has a sign that says how it rings", true, 2, "",
	  "want Sign door by demo-ring {\"spec\":{\"text\":\"ding ding\"}}\nsay Bell door: Rings: 2 times\n" },
	{ "a sign without a bell goes", false, 0, "", "gone Sign door\n" },
	{ "a bell whose file says nothing keeps its sign", true, 0, "door.bell: empty",
	  "say Bell door: Silent: door.bell: empty\n" },
};

TEST(ring_plans)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_KIB);
		struct ring_facts facts = { .bell = { &fl_bell_kind, FL_S(""), FL_S("door"), FL_S("") },
					    .sign = { &fl_sign_kind, FL_S(""), FL_S("door"), FL_S("") },
					    .rings = row->rings, .times = row->times, .problem = fl_str(row->problem) };
		struct fl_plan plan;

		fl_plan_init(&plan, &arena);
		ring_plan(&facts, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		fl_plan_print(&plan, &text);
		OK(fl_buf_check(&text, "plan", NULL));
		CHECK_STR(fl_buf_view(&text), row->plan);
	}
}

/* ---- the loop around it ---- */

struct world {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_files_sink sink;
	struct fl_folder bells, signs;
};

static void world_auto_(struct world *w)
{
	fl_folder_stop(&w->bells);
	fl_folder_stop(&w->signs);
	w->loop = fl_loop_free(w->loop);
	w->io = fl_io_free(w->io);
}

/* The loop, the sources and the capability; without feeders. */
static int world_init(struct world *w, const char *dir)
{
	struct fl_loop_options options = { .seed = { 1, 2 } };
	struct fl_source bells = { .kind = &fl_bell_kind };
	struct fl_source signs = { .kind = &fl_sign_kind, .sink = &fl_files_sink, .sink_arg = &w->sink };

	w->io = test_io();
	if (!w->io)
		return -FL_E_NOMEM;
	w->sink = (struct fl_files_sink){ .io = w->io, .dir = dir, .suffix = ".sign", .print = sign_print };
	w->loop = fl_loop_new(w->io, &options, NULL);
	if (!w->loop || fl_loop_source(w->loop, &bells, NULL) < 0 || fl_loop_source(w->loop, &signs, NULL) < 0 ||
	    fl_loop_capability(w->loop, &ring, NULL) < 0)
		return -FL_E_NOMEM;
	w->bells = (struct fl_folder){ .dir = dir, .suffix = ".bell", .parse = bell_parse };
	w->signs = (struct fl_folder){ .dir = dir, .suffix = ".sign", .parse = sign_parse };
	return 0;
}

static void world_feed(struct world *w)
{
	fl_folder_start(w->io, &w->bells, fl_loop_feed(w->loop, &fl_bell_kind));
	fl_folder_start(w->io, &w->signs, fl_loop_feed(w->loop, &fl_sign_kind));
}

/* Turns until the file says so. A hint of the kernel that was lost under torture is nobody's to make good: notify.h. */
static int says(struct world *w, const char *path, const char *text)
{
	for (int i = 0; i < (test_tortured() ? 20 : 2000); i++) {
		int r = test_pause(w->io, FL_NS_PER_MS);

		if (r < 0)
			return r;
		if (fl_str_eq(test_read_file(path), fl_str(text)))
			return 1;
	}
	return 0;
}

#define COMES_TO_SAY(w, path, text) \
	do { \
		int r_ = says(w, path, text); \
		OK(r_); \
		CHECK(r_ == 1 || test_tortured()); \
		if (r_ == 0) \
			return;   /* it is tried again, after longer than a test can wait: test_folder.c does */ \
	} while (0)

TEST(a_file_becomes_a_file)
{
	const char *dir = test_dir();
	FL_AUTO(world) struct world w = { 0 };

	CHECK(test_write_file(test_path(dir, "door.bell"), "2\n"));
	CHECK(test_write_file(test_path(dir, "gate.bell"), "1\n"));
	CHECK(test_write_file(test_path(dir, "old.sign"), "of another life"));
	OK(world_init(&w, dir));
	world_feed(&w);
	COMES_TO_SAY(&w, test_path(dir, "door.sign"), "ding ding");
	COMES_TO_SAY(&w, test_path(dir, "gate.sign"), "ding");
	COMES_TO_SAY(&w, test_path(dir, "old.sign"), "(none)");
	CHECK(test_write_file(test_path(dir, "door.bell"), "3\n"));
	CHECK(unlink(test_path(dir, "gate.bell")) == 0);
	COMES_TO_SAY(&w, test_path(dir, "door.sign"), "ding ding ding");
	COMES_TO_SAY(&w, test_path(dir, "gate.sign"), "(none)");
	CHECK(test_write_file(test_path(dir, "door.sign"), "somebody else's"));
	COMES_TO_SAY(&w, test_path(dir, "door.sign"), "ding ding ding");
}

/* ---- does it look again at whatever it has read? ---- */

TEST(no_change_is_missed)
{
	const char *dir = test_dir();
	FL_AUTO(fl_buf) struct fl_buf missed = FL_BUF(8 * FL_KIB);
	FL_AUTO(world) struct world w = { 0 };
	struct fl_bell bell = { 0 };
	struct fl_sign sign = { 0 };

	OK(world_init(&w, dir));
	FL_SET(FL_IN(&bell, meta), name, FL_S("door"));
	FL_SET(FL_IN(&bell, spec), rings, 2);
	FL_SET(FL_IN(&sign, meta), name, FL_S("door"));
	FL_SET(FL_IN(&sign, spec), text, FL_S("ding ding"));
	OK(fl_feed_put(fl_loop_feed(w.loop, &fl_bell_kind), &bell, NULL));
	OK(fl_feed_put(fl_loop_feed(w.loop, &fl_sign_kind), &sign, NULL));
	OK(keys_check(w.loop, &ring, FL_S(""), FL_S("door"), &missed));
	OK(keys_check(w.loop, &ring, FL_S(""), FL_S("nobody"), &missed));
	CHECK_STR(fl_buf_view(&missed), "");
}

static void hears_only_new_ones(const void *before, const void *after, struct fl_dirty *dirty)
{
	if (!before)
		fl_dirty_key(dirty, FL_S(""), ((const struct fl_bell *)after)->meta.name);
}

static void hears_nothing(const void *before, const void *after, struct fl_dirty *dirty)
{
	(void)before;
	(void)after;
	(void)dirty;
}

/* The check itself: one that misses changes is told what it misses. */
TEST(keys_that_miss_something_are_found_out)
{
	static const struct fl_watched deaf[] = { { &fl_bell_kind, hears_only_new_ones, false },
						  { &fl_sign_kind, hears_nothing, false }, { 0 } };
	const char *dir = test_dir();
	FL_AUTO(fl_buf) struct fl_buf missed = FL_BUF(8 * FL_KIB);
	FL_AUTO(world) struct world w = { 0 };
	struct fl_capability half = ring;
	struct fl_bell bell = { 0 };

	half.watches = deaf;
	OK(world_init(&w, dir));
	FL_SET(FL_IN(&bell, meta), name, FL_S("door"));
	FL_SET(FL_IN(&bell, spec), rings, 2);
	OK(fl_feed_put(fl_loop_feed(w.loop, &fl_bell_kind), &bell, NULL));
	OK(keys_check(w.loop, &half, FL_S(""), FL_S("door"), &missed));
	CHECK_STR(fl_buf_view(&missed), "ring: the end of Bell door does not make the key 'door' dirty\n"
					"ring: a change of Bell door does not make the key 'door' dirty\n"
					"\t(of spec.rings)\n"
					"ring: a change of Bell door does not make the key 'door' dirty\n"
					"\t(of spec.rings)\n"
					"ring: a change of Bell door does not make the key 'door' dirty\n"
					"\t(of spec.problem)\n"
					"ring: a change of Bell door does not make the key 'door' dirty\n"
					"\t(of spec)\n"
					"ring: the coming of Sign door does not make the key 'door' dirty\n");
}
