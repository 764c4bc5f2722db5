/* The demo capability, from file to file: the round trip that docs/ADDING-A-CAPABILITY.md leads through. */
#include "base/units.h"
#include "demo_capability.h"
#include "keys_check.h"
#include "kind_lint.h"
#include "rig.h"
#include "sim/sim.h"
#include "test.h"
#include "test_io.h"
#include <unistd.h>

/* ---- the kinds ---- */

TEST(kinds_hold_together)
{
	struct fl_err err = { 0 };

	OK_ERR(kind_lint(&fl_bell_kind, &err), &err);
	OK_ERR(kind_lint(&fl_sign_kind, &err), &err);
}

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
		struct fl_bell bell = { .spec = { .rings = row->times, .problem = fl_str(row->problem) } };
		struct ring_facts facts = { .name = FL_S("door"), .bell = row->rings ? &bell : NULL };
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

struct house {
	const char *dir;
	struct fl_loop *loop;
	struct fl_files_sink sink;
	struct fl_folder bells, signs;
};

/* Sources, then capabilities. */
static int house_build(struct house *house, struct fl_io *io)
{
	struct fl_loop_options options = { .seed = { 1, 2 } };
	struct fl_source bells = { .kind = &fl_bell_kind };
	struct fl_source signs = { .kind = &fl_sign_kind, .sink = &fl_files_sink, .sink_arg = &house->sink };

	house->sink = (struct fl_files_sink){ .io = io, .dir = house->dir, .suffix = ".sign", .print = sign_print };
	house->loop = fl_loop_new(io, &options, NULL);
	if (!house->loop || fl_loop_source(house->loop, &bells, NULL) < 0 ||
	    fl_loop_source(house->loop, &signs, NULL) < 0 || fl_loop_capability(house->loop, &ring, NULL) < 0)
		return -FL_E_NOMEM;
	return 0;
}

/* Then feeders. */
static void house_feed(struct house *house, struct fl_io *io)
{
	house->bells = (struct fl_folder){ .dir = house->dir, .suffix = ".bell", .parse = bell_parse };
	house->signs = (struct fl_folder){ .dir = house->dir, .suffix = ".sign", .parse = sign_parse };
	fl_folder_start(io, &house->bells, fl_loop_feed(house->loop, &fl_bell_kind));
	fl_folder_start(io, &house->signs, fl_loop_feed(house->loop, &fl_sign_kind));
}

static void house_leave(void *self)
{
	struct house *house = self;

	fl_folder_stop(&house->bells);
	fl_folder_stop(&house->signs);
	house->loop = fl_loop_free(house->loop);
}

static void house_auto_(struct house *house)
{
	house_leave(house);
}

static int boot(struct sim_process *process)
{
	struct house *house = sim_arg(process);
	int r;

	sim_own(process, house, house_leave);
	r = house_build(house, sim_io(process));
	if (r == 0)
		house_feed(house, sim_io(process));
	return r;
}

static bool says(struct sim_host *host, const char *path, const char *text)
{
	char room[64];
	struct fl_buf got = FL_BUF_IN(room);

	return sim_file_get(host, path, &got) < 0 ? !text : text && fl_str_eq(fl_buf_view(&got), fl_str(text));
}

/* Nobody hints at what is put on the disk from outside: it is seen at the next look. */
static void pass(struct sim_world *world)
{
	sim_run(world, sim_now(world) + 10 * FL_FOLDER_POLL);
}

TEST(a_file_becomes_a_file)
{
	struct house house = { .dir = "/house" };
	FL_AUTO(sim_world) struct sim_world *world =
		sim_world_new(&(struct sim_config){ .seed = 7, .refuse = test_refuse_io });
	struct sim_host *host = sim_host_new(world, "node", boot, &house);

	(void)sim_file_put(host, "/house/door.bell", "2\n", 2);
	(void)sim_file_put(host, "/house/old.sign", "of another life", 15);
	pass(world);
	GOT(house.loop);
	CHECK(says(host, "/house/door.sign", "ding ding"));
	CHECK(says(host, "/house/old.sign", NULL));
	(void)sim_file_put(host, "/house/door.bell", "loud", 4);
	pass(world);
	(void)sim_file_put(host, "/house/door.sign", "somebody else's", 15);
	pass(world);
	CHECK(says(host, "/house/door.sign", "somebody else's"));
	(void)sim_file_put(host, "/house/door.bell", "3\n", 2);
	pass(world);
	CHECK(says(host, "/house/door.sign", "ding ding ding"));
	CHECK(fl_loop_idle(house.loop));
}

/* The same on this machine's disk, where the kernel's hints come. Not tortured: under a clock of its own it is. */
static bool comes_to_say(struct fl_io *io, const char *path, const char *text)
{
	for (int i = 0; i < 2000 && test_pause(io, FL_NS_PER_MS) == 0; i++)
		if (fl_str_eq(test_read_file(path), fl_str(text)))
			return true;
	return false;
}

TEST_ONCE(a_hint_is_enough)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(house) struct house house = { .dir = test_dir() };
	const char *bell = test_path(house.dir, "door.bell"), *sign = test_path(house.dir, "door.sign");

	GOT(io);
	CHECK(test_write_file(bell, "2\n"));
	OK(house_build(&house, io));
	house_feed(&house, io);
	CHECK(comes_to_say(io, sign, "ding ding"));
	CHECK(test_write_file(bell, "3\n"));
	CHECK(comes_to_say(io, sign, "ding ding ding"));
	CHECK(test_write_file(sign, "somebody else's"));
	CHECK(comes_to_say(io, sign, "ding ding ding"));
	CHECK(unlink(bell) == 0);
	CHECK(comes_to_say(io, sign, "(none)"));
}

/* ---- does it look again at whatever it has read? ---- */

static int put_both(struct fl_loop *loop)
{
	struct fl_bell bell = { 0 };
	struct fl_sign sign = { 0 };
	int r;

	FL_SET(FL_IN(&bell, meta), name, FL_S("door"));
	FL_SET(FL_IN(&bell, spec), rings, 2);
	FL_SET(FL_IN(&sign, meta), name, FL_S("door"));
	FL_SET(FL_IN(&sign, spec), text, FL_S("ding ding"));
	r = fl_feed_put(fl_loop_feed(loop, &fl_bell_kind), &bell, NULL);
	return r < 0 ? r : fl_feed_put(fl_loop_feed(loop, &fl_sign_kind), &sign, NULL);
}

TEST(no_change_is_missed)
{
	FL_AUTO(fl_io) struct fl_io *io = rig_clock();
	FL_AUTO(house) struct house house = { .dir = "/house" };
	FL_AUTO(fl_buf) struct fl_buf missed = FL_BUF(8 * FL_KIB);

	GOT(io);
	OK(house_build(&house, io));
	OK(put_both(house.loop));
	OK(keys_check(house.loop, &ring, FL_S(""), FL_S("door"), &missed));
	OK(keys_check(house.loop, &ring, FL_S(""), FL_S("nobody"), &missed));
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
	FL_AUTO(fl_io) struct fl_io *io = rig_clock();
	FL_AUTO(house) struct house house = { .dir = "/house" };
	FL_AUTO(fl_buf) struct fl_buf missed = FL_BUF(8 * FL_KIB);
	struct fl_capability half = ring;
	struct fl_bell bell = { 0 };

	half.watches = deaf;
	GOT(io);
	OK(house_build(&house, io));
	FL_SET(FL_IN(&bell, meta), name, FL_S("door"));
	FL_SET(FL_IN(&bell, spec), rings, 2);
	OK(fl_feed_put(fl_loop_feed(house.loop, &fl_bell_kind), &bell, NULL));
	OK(keys_check(house.loop, &half, FL_S(""), FL_S("door"), &missed));
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
