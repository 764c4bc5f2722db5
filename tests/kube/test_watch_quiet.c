/* What takes a watch minutes, in simulated time: one that stays open and silent (a proxy that swallows what the API
 * server sends), and a kind that the API server does not have. */
#include "api/core.h"
#include "api/node.h"
#include "base/log.h"
#include "base/units.h"
#include "kube/watch.h"
#include "script.h"
#include "sim/sim.h"
#include "test.h"
#include <stdio.h>

#define MAPS "/api/v1/configmaps"
#define STREAM MAPS "?watch=true&allowWatchBookmarks=true&sendInitialEvents=true" \
		    "&resourceVersionMatch=NotOlderThan&timeout*"
#define CHECK_AT(version) { MAPS "?limit=1&resourceVersion=" version "&resourceVersionMatch=NotOlderThan", 200, "{}" }
#define AFTER(version) MAPS "?watch=true&resourceVersion=" version "&allowWatchBookmarks=true&timeout*"
#define EVENT(type, name, version) \
	"{\"type\":\"" type "\",\"object\":{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"s\"," \
	"\"resourceVersion\":\"" version "\"}}}\n"
#define BOOKMARK(version) "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"" version "\"}}}\n"
#define END_OF_STATE(version) \
	"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"" version "\",\"annotations\":" \
	"{\"k8s.io/initial-events-end\":\"true\"}}}}\n"

struct row {
	const char *says;
	struct exchange script[8];
	unsigned asked;            /* until it is silent */
	const char *more;          /* what comes all the same, MORE_AFTER_S from the start; NULL: nothing */
	const char *told, *later;  /* by then, and when it was asked again */
	const char *version;
	unsigned more_at;          /* in s from the start, and the watch stays open so long; 0: MORE_AFTER_S */
};

static const struct row rows[] = {
	{ "silent behind its full state",
	  { { STREAM, 200, EVENT("ADDED", "a", "1") END_OF_STATE("9"), .stay = true }, CHECK_AT("9"),
	    { AFTER("9"), 200, EVENT("ADDED", "b", "10"), .stay = true } },
	  1, NULL, "begin +a synced", "begin +a synced +b", "10" },
	{ "silent behind a bookmark",
	  { { STREAM, 200, EVENT("ADDED", "a", "1") END_OF_STATE("9"), .stay = true }, CHECK_AT("12"),
	    { AFTER("12"), 200, EVENT("DELETED", "a", "13"), .stay = true } },
	  1, BOOKMARK("12"), "begin +a synced", "begin +a synced -a", "13" },
	{ "silent from its beginning, after one that sent bookmarks",
	  { { STREAM, 200, EVENT("ADDED", "a", "1") END_OF_STATE("9"), .cut = true }, CHECK_AT("9"),
	    { AFTER("9"), 200, "", .stay = true }, CHECK_AT("9"),
	    { AFTER("9"), 200, EVENT("ADDED", "b", "10"), .stay = true } },
	  3, NULL, "begin +a synced", "begin +a synced +b", "10" },
};

/* ---- one process with both: what is between them is silent ---- */

struct house {
	const struct row *row;
	struct script script;
	struct fl_watch *watch;
	const struct fl_kind *kind;
	struct fl_log log;
	unsigned absent_lines;     /* of the log */
	struct fl_timer more;      /* a process hears only what is begun in it */
	char line[200];
};

enum { MORE_AFTER_S = 100 };

static void add(struct house *house, const char *what, struct fl_str name)
{
	size_t len = strlen(house->line);

	(void)snprintf(house->line + len, sizeof house->line - len, "%s%s%.*s", len ? " " : "", what, FL_ARG(name));
}

static void on_begin(void *to)
{
	add(to, "begin", FL_S(""));
}

static int on_put(void *to, const void *object, struct fl_err *err)
{
	const struct fl_config_map *map = object;

	(void)err;
	add(to, "+", map->meta.name);
	return 0;
}

static void on_gone(void *to, struct fl_str space, struct fl_str name)
{
	(void)space;
	add(to, "-", name);
}

static void on_synced(void *to)
{
	add(to, "synced", FL_S(""));
}

static void on_absent(void *to)
{
	add(to, "absent", FL_S(""));
}

static const struct fl_watch_to consumer = { on_begin, on_put, on_gone, on_synced, on_absent };

static void house_gone(void *self)
{
	struct house *house = self;

	fl_timer_stop(house->script.io, &house->more);
	house->watch = fl_watch_free(house->watch);
	script_close(&house->script);
}

static bool on_line(void *self, const char *line, size_t len)
{
	struct house *house = self;

	house->absent_lines += memmem(line, len, "kind absent", 11) != NULL;
	return true;
}

static uint64_t no_clock(void *self)
{
	(void)self;
	return 1;
}

static int64_t no_wall(void *self)
{
	(void)self;
	return 1;
}

static void send_more(struct fl_timer *timer)
{
	struct house *house = fl_container(timer, struct house, more);

	script_more(&house->script, house->row->more);
}

static int boot(struct sim_process *process)
{
	struct house *house = sim_arg(process);
	struct fl_watch_options options = { .kind = house->kind ? house->kind : &fl_config_map_kind, .to = &consumer,
					    .arg = house, .log = &house->log,
					    .timeout_s = 2 * house->row->more_at };

	fl_log_init(&house->log, &(struct fl_log_to){ on_line, no_clock, no_wall, house }, "test");
	sim_own(process, house, house_gone);
	house->script.io = sim_io(process);
	if (script_open(&house->script, house->row->script) < 0)
		return -FL_E_NOMEM;
	house->more.fire = send_more;
	if (house->row->more)
		fl_timer_set(house->script.io, &house->more,
			     fl_now(house->script.io) +
				     (house->row->more_at ? house->row->more_at : MORE_AFTER_S) * FL_NS_PER_S);
	house->watch = fl_watch_new(house->script.kube, &options, &house->script.err);
	return house->watch ? 0 : -FL_E_NOMEM;
}

struct town {
	struct sim_world *world;
	struct house house;
};

static void town_auto_(struct town *town)
{
	sim_world_free(town->world);
}

static void pass(struct town *town, uint64_t time)
{
	sim_run(town->world, sim_now(town->world) + time);
}

/* What is refused to the process shows only as something that does not happen. */
#define PASS(time) \
	do { \
		pass(&town, time); \
		OK(test_tortured() ? -FL_E_IO : 0); \
	} while (0)

#define CHECK_STATE(state_) CHECK_INT(fl_watch_info(town.house.watch).state, (state_))

static bool is_asked(void *arg)
{
	const struct town *town = arg;

	return town->house.script.asked >= town->house.row->asked;
}

TEST_ONCE(a_watch_that_is_silent_for_200_s_is_asked_again)
{
	EACH_ROW (row, rows) {
		FL_AUTO(town) struct town town = { .house.row = row };
		struct sim_config config = { .seed = test_random() };
		uint64_t silent;

		town.world = sim_world_new(&config);
		(void)sim_host_new(town.world, "node", boot, &town.house);
		CHECK(sim_run_until(town.world, 30 * FL_NS_PER_S, is_asked, &town));
		PASS(row->more ? MORE_AFTER_S * FL_NS_PER_S : 100 * FL_NS_PER_MS);
		silent = sim_now(town.world);
		/* Slow is not silent: nothing happens for as long as an API server may send nothing. */
		PASS(FL_WATCH_QUIET - FL_NS_PER_S);
		CHECK_STATE(FL_WATCH_LIVE);
		CHECK_INT(town.house.script.asked, row->asked);
		CHECK_STR(fl_str(town.house.line), row->told);
		/* Then what was told is still there, and the watch goes on from where it was. */
		PASS(10 * FL_NS_PER_S);
		CHECK(sim_now(town.world) - silent < FL_WATCH_QUIET + 10 * FL_NS_PER_S);
		CHECK_STATE(FL_WATCH_LIVE);
		CHECK_INT(town.house.script.asked, row->asked + 2);
		CHECK_STR(fl_str(town.house.line), row->later);
		CHECK_STR(fl_watch_info(town.house.watch).version, row->version);
		CHECK_INT(fl_watch_info(town.house.watch).full_states, 1);
		CHECK_STR(fl_str(town.house.script.wrong), "");
	}
}

/* ---- a server that knew no initial events ---- */

#define EXPIRED "{\"type\":\"ERROR\",\"object\":{\"code\":410,\"reason\":\"Expired\"}}\n"
#define LISTED(query) { MAPS query, 200, "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[]}" }
#define NO_STREAM { STREAM, 422, "{}" }, LISTED("?limit=500"), { AFTER("7"), 200, "", .stay = true }

static const struct row streams[] = {
	{ "is not asked for them again within the hour",
	  { NO_STREAM, LISTED("?resourceVersion=7*"), { AFTER("7"), 200, "", .stay = true } }, 5, EXPIRED,
	  .more_at = 3500 },
	{ "is asked for them after it", { NO_STREAM, { STREAM, 200, END_OF_STATE("9"), .stay = true } }, 4, EXPIRED,
	  .more_at = 3700 },
};

TEST_ONCE(a_server_without_initial_events_is_asked_for_them_again_after_an_hour)
{
	EACH_ROW (row, streams) {
		FL_AUTO(town) struct town town = { .house.row = row };
		struct sim_config config = { .seed = test_random() };

		town.world = sim_world_new(&config);
		(void)sim_host_new(town.world, "node", boot, &town.house);
		CHECK(sim_run_until(town.world, (row->more_at + 60) * FL_NS_PER_S, is_asked, &town));
		PASS(FL_NS_PER_S);
		CHECK_STR(fl_str(town.house.script.wrong), "");
		CHECK_STATE(FL_WATCH_LIVE);
	}
}

/* An API server without resource.k8s.io, as one older than 1.34 is: the kind is absent, which capabilities go on with
 * (fl_view_absent), and it is asked for again, ever more seldom; the log says it once. */
#define CLASSES "/apis/resource.k8s.io/v1/deviceclasses"
#define NO_GROUP { "/apis/resource.k8s.io/v1", 404, "404 page not found" }

TEST_ONCE(an_api_server_without_resource_k8s_io_is_asked_again_with_backoff)
{
	static const struct row row = {
		NULL, { { CLASSES "?watch=true*", 404, "404 page not found" }, NO_GROUP, NO_GROUP, NO_GROUP, NO_GROUP,
			NO_GROUP, NO_GROUP },
		.asked = 7,
	};
	FL_AUTO(town) struct town town = { .house = { .row = &row, .kind = &fl_device_class_kind } };
	struct sim_config config = { .seed = test_random() };
	uint64_t took;

	town.world = sim_world_new(&config);
	(void)sim_host_new(town.world, "node", boot, &town.house);
	CHECK(sim_run_until(town.world, 600 * FL_NS_PER_S, is_asked, &town));
	took = sim_now(town.world);
	/* 1, 2, 4, 8, 16 and 30 s, and as much jitter at most. */
	CHECK(took >= 61 * FL_NS_PER_S && took <= 2 * 62 * FL_NS_PER_S);
	CHECK_STATE(FL_WATCH_ABSENT);
	CHECK_STR(fl_str(town.house.line), "absent");
	CHECK_INT(town.house.absent_lines, 1);
	CHECK_STR(fl_str(town.house.script.wrong), "");
}
