/* Events against a server that says what is written down here. */
#include "base/units.h"
#include "kube/events.h"
#include "script.h"
#include "sim/sim.h"
#include "test.h"
#include <stdio.h>

#define EVENTS "/apis/events.k8s.io/v1/namespaces/s/events"
#define CREATE EVENTS "?fieldManager=me"

static struct fl_events *reporter(struct script *script)
{
	return fl_events_new(script->kube, &(struct fl_events_options){ .controller = "me", .instance = "me-0" },
			     &script->err);
}

static void tell_of(struct fl_events *events, const char *name, const char *reason, const char *note)
{
	fl_event(events,
		 &(struct fl_event_say){ .kind = &fl_config_map_kind, .space = FL_S("s"), .name = fl_str(name),
					 .uid = FL_S("u"), .reason = reason, .action = "Plan", .warning = true },
		 "%s", note);
}

static void tell(struct fl_events *events, const char *reason, const char *note)
{
	tell_of(events, "a", reason, note);
}

static int turns(struct script *script, int count)
{
	for (int i = 0; i < count && !test_tortured(); i++) {
		if (!script->at->target)
			break;
		if (fl_io_turn(script->io, fl_now(script->io) + FL_NS_PER_MS, &script->err) < 0)
			return -(int)script->err.code;
	}
	return 0;
}

TEST(what_is_said_is_written)
{
	static const struct exchange exchanges[] = { { CREATE, 201, "{}" }, { 0 } };
	static const char *const parts[] = {
		"\"namespace\":\"s\"", "\"reportingController\":\"me\"", "\"reportingInstance\":\"me-0\"",
				"\"action\":\"Plan\"",
		"\"reason\":\"Low\"", "\"type\":\"Warning\"", "\"name\":\"a.",
	};
	FL_AUTO(script) struct script script = { 0 };
	FL_AUTO(fl_events) struct fl_events *events = NULL;

	OK_ERR(script_open(&script, exchanges), &script.err);
	events = reporter(&script);
	GOT(events);
	tell(events, "Low", "no GPU");
	OK_ERR(turns(&script, 300), &script.err);
	if (test_tortured())
		return;
	CHECK_STR(fl_str(script.wrong), "");
	for (size_t i = 0; i < FL_LEN(parts); i++)
		CHECK(strstr(script.got_body, parts[i]));
}

/* A name is cut at 230 bytes, here behind "-.", which no part of a name may end in. */
TEST(the_name_of_an_event_ends_in_a_letter_or_digit_where_it_is_cut)
{
	static const struct exchange exchanges[] = { { CREATE, 201, "{}" }, { 0 } };
	FL_AUTO(script) struct script script = { 0 };
	FL_AUTO(fl_events) struct fl_events *events = NULL;
	char name[241], want[260];

	memset(name, 'a', sizeof name - 1);
	name[240] = 0;
	memcpy(name + 227, "-.-b", 4);
	(void)snprintf(want, sizeof want, "\"name\":\"%.227s.", name);
	CHECK_INT(name[229], '-');
	OK_ERR(script_open(&script, exchanges), &script.err);
	events = reporter(&script);
	GOT(events);
	tell_of(events, name, "Low", "no GPU");
	OK_ERR(turns(&script, 300), &script.err);
	if (test_tortured())
		return;
	CHECK_STR(fl_str(script.wrong), "");
	CHECK(strstr(script.got_body, want));
	CHECK_INT(strstr(script.got_body, want)[strlen(want)] != '.', 1);
}

TEST(the_same_said_again_is_one_event)
{
	static const struct exchange exchanges[] = { { CREATE, 201, "{}" }, { CREATE, 201, "{}" }, { 0 } };
	FL_AUTO(script) struct script script = { 0 };
	FL_AUTO(fl_events) struct fl_events *events = NULL;

	OK_ERR(script_open(&script, exchanges), &script.err);
	events = reporter(&script);
	GOT(events);
	for (int i = 0; i < 100; i++)
		tell(events, "Low", "no GPU");
	CHECK(test_tortured() || fl_events_waiting(events) == 1);
	tell(events, "High", "another reason");
	OK_ERR(turns(&script, 300), &script.err);
	if (test_tortured())
		return;
	CHECK_STR(fl_str(script.wrong), "");
	CHECK(!script.at->target);
	CHECK_INT(fl_events_dropped(events), 0);
}

TEST(one_object_may_have_so_many_and_no_more)
{
	static const struct exchange exchanges[] = { { 0 } };
	FL_AUTO(script) struct script script = { 0 };
	FL_AUTO(fl_events) struct fl_events *events = NULL;

	OK_ERR(script_open(&script, exchanges), &script.err);
	events = reporter(&script);
	GOT(events);
	for (int i = 0; i < 40; i++) {
		char reason[16];

		(void)snprintf(reason, sizeof reason, "R%d", i);
		tell(events, reason, "x");
	}
	if (test_tortured())
		return;
	CHECK_INT(fl_events_waiting(events), FL_EVENT_BURST);
	CHECK_INT(fl_events_dropped(events), 40 - FL_EVENT_BURST);
}

TEST(what_the_server_refuses_is_dropped_and_counted)
{
	static const struct exchange exchanges[] = { { CREATE, 403, "{\"reason\":\"Forbidden\"}" }, { CREATE, 201,
			"{}" }, { 0 } };
	FL_AUTO(script) struct script script = { 0 };
	FL_AUTO(fl_events) struct fl_events *events = NULL;

	OK_ERR(script_open(&script, exchanges), &script.err);
	events = reporter(&script);
	GOT(events);
	tell(events, "Low", "no GPU");
	tell(events, "High", "no GPU");
	OK_ERR(turns(&script, 300), &script.err);
	if (test_tortured())
		return;
	CHECK_INT(fl_events_dropped(events), 1);
	CHECK_STR(fl_str(script.wrong), "");
}

TEST(a_long_note_is_cut_between_characters)
{
	static const struct exchange exchanges[] = { { CREATE, 201, "{}" }, { 0 } };
	FL_AUTO(script) struct script script = { 0 };
	FL_AUTO(fl_events) struct fl_events *events = NULL;
	char note[1300] = "";

	for (int i = 0; i < 512; i++)
		(void)snprintf(note + 1 + 2 * i - !i, 3, "%s", "\xc3\xa9");
	OK_ERR(script_open(&script, exchanges), &script.err);
	events = reporter(&script);
	GOT(events);
	tell(events, "Low", note);
	OK_ERR(turns(&script, 300), &script.err);
	CHECK(test_tortured() || !script.wrong[0]);
}

/* ---- under a clock of its own ---- */

#define CREATED { CREATE, 201, "{}" }
#define CREATED_5 CREATED, CREATED, CREATED, CREATED, CREATED
#define CREATED_35 CREATED_5, CREATED_5, CREATED_5, CREATED_5, CREATED_5, CREATED_5, CREATED_5
#define BUSY { CREATE, 503, "{}" }
#define BROKEN { CREATE, 500, "{\"reason\":\"InternalError\"}" }
#define SILENT { CREATE, 201, "{}", .held = true }
#define EXISTS { CREATE, 409, "{\"reason\":\"AlreadyExists\"}" }
#define GROWN EVENTS "/a.*"
#define NOT_GROWN { GROWN, 503, "{}" }
#define MS FL_NS_PER_MS
#define S FL_NS_PER_S

struct step {
	unsigned say;              /* of one object, or of so many */
	uint64_t after;            /* then so much time passes */
	unsigned asked;            /* and there were so many requests until then */
	const char *note;          /* NULL: "no card"; "#": a count that is never the same */
};

static const struct row {
	const char *says;
	struct exchange script[36];
	struct step steps[8];
	uint32_t dropped;
	const char *last;          /* part of the last request's body */
} rows[] = {
	{ "all together pass at a rate, after a first rush",
	  { CREATED_35 }, { { 35, 100 * MS, FL_EVENT_RATE_BURST }, { 0, S, 30 }, { 0, S, 35 } } },
	{ "a series grows in one Event, once a minute",
	  { CREATED, { GROWN, 200, "{}" } }, { { 1, S, 1 }, { 1, 58 * S, 1 }, { 1, 2 * S, 2 } },
	  .last = "{\"series\":{\"count\":3,\"lastObservedTime\":\"" },
	{ "one that has outlived its hour begins anew, and at once",
	  { CREATED, { GROWN, 404, "{}" }, CREATED, { GROWN, 200, "{}" } },
	  { { 1, S, 1 }, { 1, 61 * S, 3 }, { 1, 61 * S, 4 } }, .last = "{\"series\":{\"count\":3," },
	{ "a server that is broken or busy is away: nothing is dropped, and one request at a time asks",
	  { BUSY, BROKEN, { CREATE, 429, "{}" }, { CREATE, 504, "{\"reason\":\"Timeout\"}" }, BROKEN, BROKEN, CREATED,
	    CREATED, CREATED },
	  { { 3, 1900 * MS, 1 }, { 0, 200 * S, 9 }, { 0, 100 * S, 9 } } },
	{ "one try that goes well is enough, and what was said meanwhile is in it",
	  { BUSY, CREATED }, { { 1, S, 1 }, { 1, 3 * S, 2 }, { 0, 100 * S, 2 } }, .last = "\"series\":{\"count\":2," },
	{ "one that the server fails on does not hold up the others",
	  { BUSY, CREATED, CREATED }, { { 2, S, 1 }, { 0, 3 * S, 3 } }, .last = "\"name\":\"a0." },
	{ "a series whose word fails is written again soon",
	  { CREATED, NOT_GROWN, NOT_GROWN, NOT_GROWN, { GROWN, 200, "{}" } },
	  { { 1, S, 1 }, { 1, 60 * S, 2 }, { 0, 24 * S, 5 }, { 0, 100 * S, 5 } }, .last = "{\"series\":{\"count\":2," },
	{ "a create without an answer that had succeeded is a success when the next one finds it there, and what was "
	  "said meanwhile is written",
	  { { CREATE, 201, "{}", .held = true }, EXISTS, { GROWN, 200, "{}" } },
	  { { 1, S, 1 }, { 1, 15 * S, 2 }, { 0, 62 * S, 3 }, { 0, 100 * S, 3 } }, .last = "{\"series\":{\"count\":2," },
	{ "an API server that does not answer for minutes has the Event when it is back",
	  { SILENT, SILENT, SILENT, SILENT, SILENT, CREATED },
	  { { 1, S, 1 }, { 0, 200 * S, 6 }, { 0, 100 * S, 6 } } },
	{ "a name that is taken without a create of ours is a failure", { EXISTS }, { { 1, S, 1 }, { 0, 100 * S, 1 } },
	  .dropped = 1 },
	{ "another note is another Event, no sooner than a minute after the last, and the old one has its last count",
	  { CREATED, { GROWN, 200, "{}" }, CREATED },
	  { { 1, S, 1 }, { 1, S, 1 }, { 1, 57 * S, 1, "GPU 2" }, { 0, 2 * S, 3 }, { 0, 300 * S, 3 } },
	  .last = "\"note\":\"GPU 2\"" },
	{ "a note that changes later than that is an Event at once", { CREATED, CREATED },
	  { { 1, 61 * S, 1 }, { 1, S, 2, "GPU 2" } }, .last = "\"note\":\"GPU 2\"" },
	{ "a note that is never the same is an Event a minute, with the newest", { CREATED, CREATED, CREATED },
	  { { 1000, 59 * S, 1, "#" }, { 1, 2 * S, 2, "#" }, { 1000, 57 * S, 2, "#" }, { 0, 3 * S, 3 } },
	  .last = "\"note\":\"2000\"" },
	{ "while the first is on its way too", { SILENT, EXISTS, CREATED },
	  { { 1, S, 1 }, { 1, 15 * S, 2, "GPU 2" }, { 0, 60 * S, 3 } }, .last = "\"note\":\"GPU 2\"" },
};

static const struct row *row_exists = &rows[7];
static const struct row *row_away = &rows[8];
static const struct row *row_taken = &rows[9];

struct world {
	struct sim_world *sim;
	const struct row *row;
	const struct step *step;   /* what is said next */
	unsigned count;
	struct fl_timer talk;
	struct script script;
	struct fl_events *events;
};

static void world_auto_(struct world *world)
{
	sim_world_free(world->sim);
}

static void gone(void *self)
{
	struct world *world = self;

	if (world->script.io)
		fl_timer_stop(world->script.io, &world->talk);
	world->events = fl_events_free(world->events);
	script_close(&world->script);
}

/* A process hears only what is said in it. */
static void talk(struct fl_timer *timer)
{
	struct world *world = fl_container(timer, struct world, talk);
	const struct step *step = world->step++;

	for (unsigned i = 0; i < step->say; i++) {
		char name[16] = "a", count[16] = "";
		const char *note = step->note && step->note[0] == '#' ? count : step->note;

		if (step->say > 1 && !step->note)
			(void)snprintf(name, sizeof name, "a%u", i);
		if (note == count)
			(void)snprintf(count, sizeof count, "%u", world->count++);
		tell_of(world->events, name, "Low", note ? note : "no GPU");
	}
	if (step->after)
		fl_timer_set(world->script.io, timer, fl_now(world->script.io) + step->after);
}

static int boot(struct sim_process *process)
{
	struct world *world = sim_arg(process);

	sim_own(process, world, gone);
	world->script.io = sim_io(process);
	if (script_open(&world->script, world->row->script) < 0)
		return -FL_E_NOMEM;
	world->events = reporter(&world->script);
	world->talk = (struct fl_timer){ .fire = talk };
	fl_timer_set(world->script.io, &world->talk, fl_now(world->script.io) + 2 * MS);
	return world->events ? 0 : -FL_E_NOMEM;
}

/* One at a time: torture runs all of a TEST again for each call in it. */
static void run(const struct row *row)
{
	struct sim_config config = { .seed = test_random(), .refuse = test_refuse_io };
	FL_AUTO(world) struct world world = { .row = row, .step = row->steps };

	test_row(row->says);
	world.sim = sim_world_new(&config);
	(void)sim_host_new(world.sim, "here", boot, &world);
	sim_run(world.sim, MS);
	for (const struct step *step = row->steps; step->after; step++) {
		sim_run(world.sim, sim_now(world.sim) + step->after);
		OK(test_tortured() ? -FL_E_IO : 0);
		CHECK_STR(fl_str(world.script.wrong), "");
		CHECK_INT(world.script.asked, step->asked);
	}
	CHECK_INT(fl_events_dropped(world.events), row->dropped);
	CHECK(!row->last || strstr(world.script.got_body, row->last));
}

TEST(a_rate_for_all)
{
	run(&rows[0]);
}

TEST(a_series)
{
	run(&rows[1]);
}

TEST(a_series_that_begins_anew)
{
	run(&rows[2]);
}

TEST(a_server_that_is_broken_drops_nothing)
{
	run(&rows[3]);
}

TEST(a_second_try)
{
	run(&rows[4]);
}

TEST(one_that_fails_goes_behind_the_others)
{
	run(&rows[5]);
}

TEST(a_series_whose_word_fails)
{
	run(&rows[6]);
}

TEST(a_create_that_timed_out_and_exists_is_a_success)
{
	run(row_exists);
}

TEST(an_outage_of_minutes_loses_no_event)
{
	run(row_away);
}

TEST(a_name_that_is_taken)
{
	run(row_taken);
}

TEST(another_note)
{
	run(&rows[10]);
}

TEST(another_note_later)
{
	run(&rows[11]);
}

TEST(a_note_that_is_never_the_same)
{
	run(&rows[12]);
}

TEST(another_note_while_the_first_is_on_its_way)
{
	run(&rows[13]);
}

static void tell_of_gpu(struct fl_events *events, int gpu, int reason)
{
	char subject[16], word[16], note[32];

	(void)snprintf(subject, sizeof subject, "GPU-%d", gpu);
	(void)snprintf(word, sizeof word, "R%d", reason);
	(void)snprintf(note, sizeof note, "GPU %d has failed", gpu);
	fl_event(events,
		 &(struct fl_event_say){ .kind = &fl_config_map_kind, .space = FL_S("s"), .name = FL_S("a"),
					 .uid = FL_S("u"), .subject = fl_str(subject), .reason = word, .action = "x" },
		 "%s", note);
}

/* The same fault of two GPUs of a Node is two Events, and one GPU that is told of for ever takes nothing from the
 * other. */
TEST(each_subject_has_its_own_events_and_its_own_limit)
{
	static const struct exchange exchanges[] = { { 0 } };
	FL_AUTO(script) struct script script = { 0 };
	FL_AUTO(fl_events) struct fl_events *events = NULL;

	OK_ERR(script_open(&script, exchanges), &script.err);
	events = reporter(&script);
	GOT(events);
	for (int i = 0; i < 40; i++)
		tell_of_gpu(events, 1, i);
	CHECK(test_tortured() || fl_events_waiting(events) == FL_EVENT_BURST);
	for (int i = 0; i < 40; i++)
		tell_of_gpu(events, 2, i);
	if (test_tortured())
		return;
	CHECK_INT(fl_events_waiting(events), 2 * FL_EVENT_BURST);
	CHECK_INT(fl_events_dropped(events), 80 - 2 * FL_EVENT_BURST);
}
