/* Events against a server that says what is written down here. */
#include "base/limits.h"
#include "kube/events.h"
#include "script.h"
#include "test.h"
#include <stdio.h>

#define EVENTS "/apis/events.k8s.io/v1/namespaces/s/events"
#define CREATE EVENTS "?fieldManager=me"

static struct fl_events *reporter(struct script *script)
{
	return fl_events_new(script->kube, &(struct fl_events_options){ .controller = "me", .instance = "me-0" },
			     &script->err);
}

static void tell(struct fl_events *events, const char *reason, const char *note)
{
	fl_event(events,
		 &(struct fl_event_say){ .kind = &fl_config_map_kind, .space = FL_S("s"), .name = FL_S("a"),
				.uid = FL_S("u"),
					 .reason = reason, .action = "Plan", .warning = true },
		 "%s", note);
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
	tell(events, "Low", "no card");
	OK_ERR(turns(&script, 300), &script.err);
	if (test_tortured())
		return;
	CHECK_STR(fl_str(script.wrong), "");
	for (size_t i = 0; i < FL_LEN(parts); i++)
		CHECK(strstr(script.got_body, parts[i]));
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
		tell(events, "Low", "no card");
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
	tell(events, "Low", "no card");
	tell(events, "High", "no card");
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
