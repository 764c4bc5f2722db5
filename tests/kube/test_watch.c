/* A watch against a server that says what is written down here; what its consumer is told, in one line. */
#include "api/core.h"
#include "api/node.h"
#include "base/units.h"
#include "kube/watch.h"
#include "script.h"
#include "test.h"
#include <stdio.h>

#define MAPS "/api/v1/configmaps"
#define STREAM MAPS "?watch=true&allowWatchBookmarks=true&sendInitialEvents=true" \
		    "&resourceVersionMatch=NotOlderThan&timeout*"
#define CLASSES "/apis/resource.k8s.io/v1/deviceclasses?watch=true*"
#define CHECK_PATH(version) MAPS "?limit=1&resourceVersion=" version "&resourceVersionMatch=NotOlderThan"
#define CHECK_AT(version) { CHECK_PATH(version), 200, "{}" }
#define BEHIND "{\"reason\":\"Timeout\",\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"}]}}"
#define AFTER(version) MAPS "?watch=true&resourceVersion=" version "&allowWatchBookmarks=true&timeout*"
#define LIST_FROM(version) MAPS "?resourceVersion=" version "&resourceVersionMatch=NotOlderThan"
#define OBJECT(name, version) \
	"{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"s\",\"resourceVersion\":\"" version "\"}}"
#define EVENT(type, name, version) "{\"type\":\"" type "\",\"object\":" OBJECT(name, version) "}\n"
#define BOOKMARK(version) "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"" version "\"}}}\n"
#define END_OF_STATE(version) \
	"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"" version "\",\"annotations\":" \
	"{\"k8s.io/initial-events-end\":\"true\"}}}}\n"
#define LIST(version, resume, items) \
	"{\"metadata\":{\"resourceVersion\":\"" version "\",\"continue\":\"" resume "\"},\"items\":[" items "]}"

struct told {
	char line[400];
	int refuse;                /* so many puts are refused */
	bool knows;                /* a at version 1; and asks are in the line, too */
	bool ahead;                /* of what was told */
	bool follows;              /* whether it is current; that is in the line, too */
};

static void add(struct told *told, const char *what, struct fl_str name)
{
	size_t len = strlen(told->line);

	(void)snprintf(told->line + len, sizeof told->line - len, "%s%s%.*s", len ? " " : "", what, FL_ARG(name));
}

static void on_begin(void *to)
{
	add(to, "begin", FL_S(""));
}

static int on_put(void *to, const void *object, struct fl_err *err)
{
	const struct fl_config_map *map = object;
	struct told *told = to;

	if (told->refuse > 0 && told->refuse--)
		return fl_fail(err, FL_E_NOMEM, "no memory for it");
	add(told, "+", map->meta.name);
	return 0;
}

static void on_gone(void *to, struct fl_str space, struct fl_str name)
{
	add(to, fl_str_eq(space, FL_S("s")) ? "-" : "?", name);
}

static void on_synced(void *to)
{
	add(to, "synced", FL_S(""));
}

static void on_absent(void *to)
{
	add(to, "absent", FL_S(""));
}

static void on_asked(void *to)
{
	const struct told *told = to;

	if (told->knows)
		add(to, "asked", FL_S(""));
}

static bool on_same(void *to, struct fl_str space, struct fl_str name, struct fl_str uid, struct fl_str version)
{
	const struct told *told = to;

	if (!told->knows || uid.len || !fl_str_eq(space, FL_S("s")) || !fl_str_eq(name, FL_S("a")) ||
	    !fl_str_eq(version, FL_S("1")))
		return false;
	add(to, "=", name);
	return true;
}

static bool on_ahead(void *to)
{
	return ((const struct told *)to)->ahead;
}

static void on_current(void *to, bool current)
{
	const struct told *told = to;

	if (told->follows)
		add(to, current ? "current" : "stale", FL_S(""));
}

static const struct {
	const char *says;
	struct exchange script[8];
	const char *told;
	enum fl_watch_state state;
	const char *version;
	bool no_stream, any_first;
	const char *fields, *since;
	int refuse;
	bool knows, ahead, follows;
	const struct fl_kind *kind;            /* NULL: ConfigMap */
} rows[] = {
	{ "the state as a stream, and then its changes",
	  { { STREAM, 200, EVENT("ADDED", "a", "1") EVENT("ADDED", "b", "2") END_OF_STATE("9") EVENT("DELETED", "a",
			"10"),
	      .stay = true } },
	  "begin +a +b synced -a", FL_WATCH_LIVE, "10" },
	{ "a state in which nothing is", { { STREAM, 200, END_OF_STATE("9"), .stay = true } }, "begin synced",
			FL_WATCH_LIVE, "9" },
	{ "the state as a list of two pages, and then its changes",
	  { { MAPS "?limit=500", 200, LIST("7", "n", OBJECT("a", "1")) },
	    { MAPS "?limit=500&continue=n", 200, LIST("7", "", OBJECT("b", "2")) },
	    { AFTER("7"), 200, EVENT("MODIFIED", "b", "8"), .stay = true } },
	  "begin +a +b synced +b", FL_WATCH_LIVE, "8", .no_stream = true },
	{ "a server that knows no stream is asked for a list",
	  { { STREAM, 422, "{\"reason\":\"Invalid\"}" }, { MAPS "?limit=500", 200, LIST("7", "", "") },
	    { AFTER("7"), 200, "", .stay = true } },
	  "begin synced", FL_WATCH_LIVE, "7" },
	{ "after a lost connection it resumes, and tells nothing twice",
	  { { STREAM, 200, EVENT("ADDED", "a", "1") END_OF_STATE("9"), .cut = true },
	    CHECK_AT("9"), { AFTER("9"), 200, EVENT("MODIFIED", "a", "11"), .stay = true } },
	  "begin +a synced +a", FL_WATCH_LIVE, "11" },
	{ "a bookmark moves on where it resumes",
	  { { STREAM, 200, END_OF_STATE("9") BOOKMARK("50"), .cut = true },
	    CHECK_AT("50"), { AFTER("50"), 200, EVENT("ADDED", "a", "51"), .stay = true } },
	  "begin synced +a", FL_WATCH_LIVE, "51" },
	{ "a state that was cut is told anew, from its beginning",
	  { { STREAM, 200, EVENT("ADDED", "a", "1"), .cut = true },
	    { STREAM, 200, EVENT("ADDED", "b", "2") END_OF_STATE("9"), .stay = true } },
	  "begin +a begin +b synced", FL_WATCH_LIVE, "9" },
	{ "a forgotten version as an answer",
	  { { STREAM, 200, EVENT("ADDED", "a", "1") END_OF_STATE("9"), .cut = true },
	    CHECK_AT("9"), { AFTER("9"), 410, "{\"reason\":\"Expired\"}" },
	    { STREAM, 200, EVENT("ADDED", "b", "2") END_OF_STATE("90"), .stay = true } },
	  "begin +a synced begin +b synced", FL_WATCH_LIVE, "90" },
	{ "a forgotten version as an event",
	  { { STREAM, 200, END_OF_STATE("9") "{\"type\":\"ERROR\",\"object\":{\"code\":410,\"reason\":\"Expired\"}}",
			.stay = true },
	    { STREAM, 200, END_OF_STATE("90"), .stay = true } },
	  "begin synced begin synced", FL_WATCH_LIVE, "90" },
	{ "a continue token that expires between pages",
	  { { MAPS "?limit=500", 200, LIST("7", "n", OBJECT("a", "1")) }, { MAPS "?limit=500&continue=n", 410, "{}" },
	    { MAPS "?limit=500", 200, LIST("8", "", OBJECT("b", "1")) }, { AFTER("8"), 200, "", .stay = true } },
	  "begin +a begin +b synced", FL_WATCH_LIVE, "8", .no_stream = true },
	{ "a version that the server has not seen yet is not given up",
	  { { STREAM, 200, END_OF_STATE("9"), .cut = true }, { CHECK_PATH("9"), 504, BEHIND }, CHECK_AT("9"),
	    { AFTER("9"), 200, EVENT("ADDED", "a", "10"), .stay = true } },
	  "begin synced +a", FL_WATCH_LIVE, "10" },
	{ "a kind that is not there, and comes",
	  { { STREAM, 404, "404 page not found" }, { "/api/v1", 200, "{\"resources\":[{\"name\":\"pods\"}]}" },
	    { "/api/v1", 200, "{\"resources\":[{\"name\":\"configmaps\"}]}" }, { STREAM, 200, END_OF_STATE("9"),
			.stay = true } },
	  "absent begin synced", FL_WATCH_LIVE, "9" },
	{ "a group version that is not there, either",
	  { { STREAM, 404, "" }, { "/api/v1", 404, "" }, { "/api/v1", 500, "" },
	    { "/api/v1", 200, "{\"resources\":[{\"name\":\"configmaps\"}]}" }, { STREAM, 200, END_OF_STATE("9"),
			.stay = true } },
	  "absent begin synced", FL_WATCH_LIVE, "9" },
	{ "a kind that vanishes",
	  { { STREAM, 200, EVENT("ADDED", "a", "1") END_OF_STATE("9") }, { AFTER("9"), 404, "" },
	    { "/api/v1", 200, "{\"resources\":[{\"name\":\"configmaps\"}]}" }, { STREAM, 200, END_OF_STATE("20"),
			.stay = true } },
	  "begin +a synced absent begin synced", FL_WATCH_LIVE, "20" },
	{ "a built-in kind that is not there is asked after, and no definition of it",
	  { { CLASSES, 404, "" }, { "/apis/resource.k8s.io/v1", 404, "" }, { "/apis/resource.k8s.io/v1", 200,
	    "{\"resources\":[{\"name\":\"deviceclasses\"}]}" }, { CLASSES, 200, END_OF_STATE("9"), .stay = true } },
	  "absent begin synced", FL_WATCH_LIVE, "9", .kind = &fl_device_class_kind },
	{ "a right that is missing",
	  { { STREAM, 403, "{\"reason\":\"Forbidden\"}" }, { STREAM, 200, END_OF_STATE("9"), .stay = true } },
	  "begin synced", FL_WATCH_LIVE, "9" },
	{ "a server that is busy",
	  { { STREAM, 429, "{}", "1" }, { STREAM, 200, END_OF_STATE("9"), .stay = true } }, "begin synced",
			FL_WATCH_LIVE, "9" },
	{ "a change that was not taken comes again",
	  { { STREAM, 200, END_OF_STATE("9") EVENT("ADDED", "a", "10") EVENT("ADDED", "b", "11"), .stay = true },
	    { AFTER("9"), 200, EVENT("ADDED", "a", "10") EVENT("ADDED", "b", "11"), .stay = true } },
	  "begin synced +a +b", FL_WATCH_LIVE, "11", .refuse = 1 },
	{ "what is no JSON breaks the connection, not the watch",
	  { { STREAM, 200, END_OF_STATE("9") "{\"type\":}", .stay = true }, { AFTER("9"), 200, EVENT("ADDED", "a",
			"10"), .stay = true } },
	  "begin synced +a", FL_WATCH_LIVE, "10" },
	{ "an object that cannot be bound in part is told nevertheless",
	  { { STREAM, 200,
	      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"labels\":5}}}" END_OF_STATE("9"),
			.stay = true } },
	  "begin +a synced", FL_WATCH_LIVE, "9" },
	{ "a first list may come from the server's cache, the next is not older than what was told",
	  { { LIST_FROM("0"), 200, LIST("7", "", OBJECT("a", "1")) }, { AFTER("7"), 410, "{}" },
	    { LIST_FROM("7"), 200, LIST("90", "", OBJECT("b", "1")) }, { AFTER("90"), 200, "", .stay = true } },
	  "begin +a synced begin +b synced", FL_WATCH_LIVE, "90", .no_stream = true, .any_first = true },
	{ "so may a first stream, and the next is the newest state",
	  { { MAPS "?watch=true&resourceVersion=0&allowWatchBookmarks=true&sendInitialEvents=true&*", 200,
	      EVENT("ADDED", "a", "1") END_OF_STATE("7") }, { AFTER("7"), 410, "{}" },
	    { STREAM, 200, END_OF_STATE("90"), .stay = true } },
	  "begin +a synced begin synced", FL_WATCH_LIVE, "90", .any_first = true },
	{ "nor is the first where one was told before",
	  { { LIST_FROM("7"), 200, LIST("9", "", "") }, { AFTER("9"), 200, "", .stay = true } },
	  "begin synced", FL_WATCH_LIVE, "9", .no_stream = true, .any_first = true, .since = "7" },
	{ "but whoever has written what was not told yet reads the newest state",
	  { { MAPS "?limit=500", 200, LIST("9", "", "") }, { AFTER("9"), 410, "{}" },
	    { MAPS "?limit=500", 200, LIST("10", "", "") }, { AFTER("10"), 200, "", .stay = true } },
	  "begin synced begin synced", FL_WATCH_LIVE, "10", .no_stream = true, .any_first = true, .since = "7",
	  .ahead = true },
	{ "where the server has not seen that, its newest state is read, as far as it goes",
	  { { MAPS "?limit=500", 200, LIST("7", "", "") }, { AFTER("7"), 410, "{}" }, { LIST_FROM("7"), 504, BEHIND },
	    { MAPS "?limit=500", 200, LIST("3", "", "") }, { AFTER("3"), 410, "{}" },
	    { LIST_FROM("3"), 200, LIST("4", "", "") }, { AFTER("4"), 200, "", .stay = true } },
	  "begin synced begin synced begin synced", FL_WATCH_LIVE, "4", .no_stream = true },
	{ "a watch of some fields looks for those alone when it asks whether the server has seen its version",
	  { { MAPS "?watch=true&fieldSelector=x%3Dy&*", 200, END_OF_STATE("9"), .cut = true },
	    { MAPS "?resourceVersion=9&resourceVersionMatch=NotOlderThan&fieldSelector=x%3Dy", 200, "{}" },
	    { MAPS "?watch=true&fieldSelector=x%3Dy&resourceVersion=9&*", 200,
	      EVENT("ADDED", "a", "10"), .stay = true } },
	  "begin synced +a", FL_WATCH_LIVE, "10", .fields = "x=y" },
	{ "a new connection may lead to a server that knows initial events",
	  { { STREAM, 422, "{}" }, { MAPS "?limit=500", 200, LIST("7", "", "") }, { AFTER("7"), 200, "", .cut = true },
	    CHECK_AT("7"), { AFTER("7"), 410, "{}" }, { STREAM, 200, END_OF_STATE("90"), .stay = true } },
	  "begin synced begin synced", FL_WATCH_LIVE, "90" },
	{ "what is known is not read again; a full state says when it was asked for",
	  { { STREAM, 200, EVENT("ADDED", "a", "1") EVENT("ADDED", "b", "1") END_OF_STATE("9")
	      EVENT("MODIFIED", "a", "1") EVENT("MODIFIED", "a", "2"), .stay = true } },
	  "asked begin =a +b synced =a +a", FL_WATCH_LIVE, "2", .knows = true },
	{ "a list is asked for once, however many pages it has, and the watch behind it asks for nothing",
	  { { MAPS "?limit=500", 200, LIST("8", "next", OBJECT("a", "1")) },
	    { MAPS "?limit=500&continue=next", 200, LIST("8", "", OBJECT("a", "2")) },
	    { AFTER("8"), 200, EVENT("MODIFIED", "a", "1"), .stay = true } },
	  "asked begin =a +a synced =a", FL_WATCH_LIVE, "1", .no_stream = true, .knows = true },
	{ "what is told is current until the watch breaks, and again when it is resumed",
	  { { STREAM, 200, EVENT("ADDED", "a", "1") END_OF_STATE("9"), .cut = true }, CHECK_AT("9"),
	    { AFTER("9"), 200, EVENT("ADDED", "b", "10"), .stay = true } },
	  "begin +a current synced stale current +b", FL_WATCH_LIVE, "10", .follows = true },
	{ "... or read anew",
	  { { STREAM, 200, END_OF_STATE("9") EVENT("ADDED", "a", "10") }, { AFTER("10"), 410, "{}" },
	    { STREAM, 200, END_OF_STATE("90"), .stay = true } },
	  "begin current synced +a stale begin current synced", FL_WATCH_LIVE, "90", .follows = true },
	{ "a kind that is not there is not current",
	  { { STREAM, 404, "" }, { "/api/v1", 200, "{\"resources\":[]}" },
	    { "/api/v1", 200, "{\"resources\":[{\"name\":\"configmaps\"}]}" },
	    { STREAM, 200, END_OF_STATE("9"), .stay = true } },
	  "absent begin current synced", FL_WATCH_LIVE, "9", .follows = true },
	{ "one that was cut is asked for anew",
	  { { STREAM, 200, EVENT("ADDED", "b", "1") }, { STREAM, 200, END_OF_STATE("9"), .stay = true } },
	  "asked begin +b asked begin synced", FL_WATCH_LIVE, "9", .knows = true },
};

static const struct fl_watch_to consumer = { on_begin, on_put, on_gone, on_synced, on_absent, on_asked, on_same,
					     on_ahead, on_current };

/* Turns until the script is over and all is told; whoever waits between steps is told not to. */
static int turns(struct script *script, struct fl_watch *watch, const struct told *told, const char *want)
{
	for (int i = 0; i < 2000; i++) {
		if (fl_io_turn(script->io, fl_now(script->io) + FL_NS_PER_MS, &script->err) < 0)
			return -(int)script->err.code;
		if (!script->at->target && strcmp(told->line, want) == 0)
			return 0;
		if (script->wrong[0] || test_tortured())
			return 0;
		fl_watch_poke(watch);
	}
	return 0;
}

#define PARTS 4

/* Every so-many-eth row: torture runs all of a TEST again for each call in it, so a few short ones are quicker. */
static void part(size_t from)
{
	for (__typeof__(&rows[0]) row = rows + from; row < rows + FL_LEN(rows); row += PARTS) {
		FL_AUTO(script) struct script script = { 0 };
		FL_AUTO(fl_watch) struct fl_watch *watch = NULL;
		struct told told = { .refuse = row->refuse, .knows = row->knows, .ahead = row->ahead,
				     .follows = row->follows };
		struct fl_watch_info info;

		test_row(row->says);
		OK_ERR(script_open(&script, row->script), &script.err);
		watch = fl_watch_new(script.kube,
				     &(struct fl_watch_options){ .kind = row->kind ? row->kind :
										  &fl_config_map_kind, .to = &consumer,
						.arg = &told,
								 .no_stream = row->no_stream,
								 .any_first = row->any_first, .fields = row->fields,
								 .since = fl_str(row->since) },
				     &script.err);
		GOT(watch);
		OK_ERR(turns(&script, watch, &told, row->told), &script.err);
		if (test_tortured())
			return;
		CHECK_STR(fl_str(script.wrong), "");
		CHECK_STR(fl_str(told.line), row->told);
		info = fl_watch_info(watch);
		CHECK_STR(fl_str(fl_name(&fl_watch_state_names, (int)info.state)),
			  fl_name(&fl_watch_state_names, (int)row->state));
		CHECK_STR(info.version, row->version);
	}
}

TEST(a_watch_with_a_selector_that_is_none_is_refused)
{
	FL_AUTO(script) struct script script = { 0 };
	FL_AUTO(fl_watch) struct fl_watch *watch = NULL;
	struct fl_watch_options options = { .kind = &fl_config_map_kind, .labels = "a in b", .to = &consumer };

	OK_ERR(script_open(&script, rows[0].script), &script.err);
	watch = fl_watch_new(script.kube, &options, &script.err);
	CHECK(!watch);
	REFUSED(-(int)script.err.code, FL_E_INVALID);
	CHECK_STR(fl_str(script.err.text), "watch configmaps: selector 'a in b': 'b' stands where '(' should");
}

TEST(what_a_watch_tells_1)
{
	part(0);
}

TEST(what_a_watch_tells_2)
{
	part(1);
}

TEST(what_a_watch_tells_3)
{
	part(2);
}

TEST(what_a_watch_tells_4)
{
	part(3);
}
