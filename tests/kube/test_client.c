/* The client against a server that says what is written down here. */
#include "api/core.h"
#include "base/units.h"
#include "http/client_in.h"
#include "kube/client_in.h"
#include "script.h"
#include "test.h"
#include <stdio.h>

#define MAPS "/api/v1/namespaces/s/configmaps"

struct asker {
	struct fl_kube_call call;
	struct fl_err err;
	char said[300];            /* names of the items; pages as |version */
};

static int item(struct fl_kube_call *call, enum fl_item what, yyjson_val *object, struct fl_err *err)
{
	struct asker *asker = fl_container(call, struct asker, call);
	struct fl_str name = { "?", 1 };
	size_t len = strlen(asker->said);

	(void)fl_json_str(fl_json_get(fl_json_get(object, FL_S("metadata")), FL_S("name")), &name);
	if (fl_str_eq(name, FL_S("poison")))
		return fl_fail(err, FL_E_NOMEM, "no room");
	(void)snprintf(asker->said + len, sizeof asker->said - len, "%s%s%.*s", len ? " " : "",
		       what == FL_ITEM ? "" : fl_name(&fl_item_names, (int)what), FL_ARG(name));
	return 0;
}

static void page(struct fl_kube_call *call, const struct fl_list *list)
{
	struct asker *asker = fl_container(call, struct asker, call);
	size_t len = strlen(asker->said);

	(void)snprintf(asker->said + len, sizeof asker->said - len, "|%.*s", FL_ARG(list->resource_version));
}

#define A_MAP "{\"metadata\":{\"name\":\"a\"}}"
#define CALL(...) { .kind = &fl_config_map_kind, .space = FL_S_INIT("s"), __VA_ARGS__ }

static const struct {
	const char *says;
	struct fl_kube_call call;
	struct exchange script[6];
	int status;                /* or a negated code */
	const char *said, *text;
	const char *body, *type;   /* of the last request; NULL: not looked at */
} rows[] = {
	{ "get", CALL(.verb = FL_KUBE_GET, .name = FL_S_INIT("a")), { { MAPS "/a", 200, A_MAP } }, 200, "a" },
	{ "a name is escaped", CALL(.verb = FL_KUBE_GET, .name = FL_S_INIT("a/b?c")), { { MAPS "/a%2Fb%3Fc", 200,
			A_MAP } },
	  200, "a" },
	{ "create", CALL(.verb = FL_KUBE_CREATE, .name = FL_S_INIT("a"), .body = FL_S_INIT("{}"), .manager = "me"),
	  { { MAPS "?fieldManager=me", 201, A_MAP } }, 201, "a", NULL, "{}", "application/json" },
	{ "apply, with all that can be said",
	  CALL(.verb = FL_KUBE_APPLY, .name = FL_S_INIT("a"), .body = FL_S_INIT("{}"), .manager = "me", .force = true,
	       .dry_run = true, .strict = true, .subresource = "status"),
	  { { MAPS "/a/status?fieldManager=me&force=true&dryRun=All&fieldValidation=Strict", 200, A_MAP } }, 200, "a",
			NULL,
	  "{}", "application/apply-patch+yaml" },
	{ "a merge patch", CALL(.verb = FL_KUBE_MERGE, .name = FL_S_INIT("a"), .body = FL_S_INIT("{}")),
	  { { MAPS "/a?fieldManager=fairlead", 200, A_MAP } }, 200, "a", NULL, "{}", "application/merge-patch+json" },
	{ "a JSON patch", CALL(.verb = FL_KUBE_JSON_PATCH, .name = FL_S_INIT("a"), .body = FL_S_INIT("[]")),
	  { { MAPS "/a?fieldManager=fairlead", 200, A_MAP } }, 200, "a", NULL, "[]", "application/json-patch+json" },
	{ "delete, with all that can be said",
	  CALL(.verb = FL_KUBE_DELETE, .name = FL_S_INIT("a"), .if_uid = FL_S_INIT("u"), .if_version = FL_S_INIT("7"),
	       .propagation = FL_FOREGROUND, .now = true, .dry_run = true),
	  { { MAPS "/a", 200, A_MAP } }, 200, "a", NULL,
	  "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"preconditions\":{\"uid\":\"u\","
	  "\"resourceVersion\":\"7\"},"
	  "\"propagationPolicy\":\"Foreground\",\"gracePeriodSeconds\":0,\"dryRun\":[\"All\"]}" },
	{ "delete, with a grace of its own",
	  CALL(.verb = FL_KUBE_DELETE, .name = FL_S_INIT("a"), .grace_s = 5), { { MAPS "/a", 200, A_MAP } }, 200, "a",
	  NULL, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"gracePeriodSeconds\":5}" },
	{ "a list in pages, whose objects come one by one",
	  CALL(.verb = FL_KUBE_LIST, .limit = 2, .labels = FL_S_INIT("a in (b,c)"), .fields = FL_S_INIT("x!=y")),
	  { { MAPS "?labelSelector=a%20in%20%28b%2Cc%29&fieldSelector=x%21%3Dy&limit=2", 200,
	      "{\"metadata\":{\"resourceVersion\":\"5\",\"continue\":\"n/1\"},\"items\":[" A_MAP ",{"
	      "\"metadata\":{\"name\":"
	      "\"b\"}}]}" },
	    { MAPS "?labelSelector=a%20in%20%28b%2Cc%29&fieldSelector=x%21%3Dy&limit=2&continue=n%2F1", 200,
	      "{\"items\":[{\"metadata\":{\"name\":\"c\"}}],\"metadata\":{\"resourceVersion\":\"5\"}}" } },
	  200, "a b|5 c|5" },
	{ "a continue token that has expired",
	  CALL(.verb = FL_KUBE_LIST),
	  { { MAPS "?limit=500", 200, "{\"metadata\":{\"resourceVersion\":\"5\",\"continue\":\"n\"},\"items\":[]}" },
	    { MAPS "?limit=500&continue=n", 410, "{\"reason\":\"Expired\",\"message\":\"old\"}" } },
	  -FL_E_CONFLICT, "|5", "old" },
	{ "a watch",
	  CALL(.verb = FL_KUBE_WATCH, .version = FL_S_INIT("5"), .bookmarks = true, .timeout_s = 9),
	  { { MAPS "?watch=true&resourceVersion=5&allowWatchBookmarks=true&timeoutSeconds=9", 200,
	      "{\"type\":\"ADDED\",\"object\":" A_MAP "}\n{\"type\":\"DELETED\",\"object\":" A_MAP "}\n"
	      "{\"type\":\"BOOKMARK\",\"object\":{}}" } },
	  200, "ADDEDa DELETEDa BOOKMARK?" },
	{ "a watch that ends in an error",
	  CALL(.verb = FL_KUBE_WATCH),
	  { { MAPS "?watch=true", 200,
	      "{\"type\":\"ADDED\",\"object\":" A_MAP "}{\"type\":\"ERROR\",\"object\":{\"code\":"
	      "410,\"message\":\"old\"}}",
	      .stay = true } },
	  -FL_E_CONFLICT, "ADDEDa", "old" },
	{ "a watch that is cut in the middle of an object",
	  CALL(.verb = FL_KUBE_WATCH), { { MAPS "?watch=true", 200, "{\"type\":\"ADDED\",\"obj" } }, -FL_E_CLOSED, "" },
	{ "an event of a type that nobody knows",
	  CALL(.verb = FL_KUBE_WATCH), { { MAPS "?watch=true", 200, "{\"type\":\"NEW\",\"object\":{}}",
			.stay = true } },
	  -FL_E_INVALID, "", "an event of type 'NEW' in a watch" },
	{ "an object that is not taken ends the call with what was said",
	  CALL(.verb = FL_KUBE_WATCH),
	  { { MAPS "?watch=true", 200, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"poison\"}}}",
			.stay = true } },
	  -FL_E_NOMEM, "", "no room" },
	{ "no JSON where an object belongs", CALL(.verb = FL_KUBE_GET, .name = FL_S_INIT("a")), { { MAPS "/a", 200,
			"<html>" } },
	  -FL_E_INVALID, "" },
	{ "a list that is none", CALL(.verb = FL_KUBE_LIST), { { MAPS "?limit=500", 200, "[1,2]" } }, -FL_E_INVALID,
			"" },
	{ "429 is waited for and tried again",
	  CALL(.verb = FL_KUBE_GET, .name = FL_S_INIT("a")),
	  { { MAPS "/a", 429, "{}", "0" }, { MAPS "/a", 429, "{}", "0" }, { MAPS "/a", 200, A_MAP } }, 200, "a" },
	{ "unless that is not wanted",
	  CALL(.verb = FL_KUBE_GET, .name = FL_S_INIT("a"), .once = true),
	  { { MAPS "/a", 429, "{\"message\":\"slow\"}", "0" } }, -FL_E_RETRY, "", "slow" },
	{ "an urgent call comes back by itself",
	  CALL(.verb = FL_KUBE_GET, .name = FL_S_INIT("a"), .urgent = true),
	  { { MAPS "/a", 429, "{}", "0" }, { MAPS "/a", 200, A_MAP } }, 200, "a" },
	{ "503 with Retry-After is tried again",
	  CALL(.verb = FL_KUBE_GET, .name = FL_S_INIT("a")),
	  { { MAPS "/a", 503, "{}", "0" }, { MAPS "/a", 200, A_MAP } }, 200, "a" },
	{ "500 without is told", CALL(.verb = FL_KUBE_GET, .name = FL_S_INIT("a")), { { MAPS "/a", 500, "{}" } },
			-FL_E_RETRY,
	  "", "the server answers 500" },
	{ "401 is tried once more with credentials read again",
	  CALL(.verb = FL_KUBE_GET, .name = FL_S_INIT("a")),
	  { { MAPS "/a", 401, "{}" }, { MAPS "/a", 200, A_MAP } }, 200, "a" },
	{ "and told the second time",
	  CALL(.verb = FL_KUBE_GET, .name = FL_S_INIT("a")),
	  { { MAPS "/a", 401, "{}" }, { MAPS "/a", 401, "{\"message\":\"who?\"}" } }, -FL_E_DENIED, "", "who?" },
	{ "a path of its own", { .verb = FL_KUBE_GET, .path = "/version" }, { { "/version", 200, "{}" } }, 200, "?" },
};

#define PARTS 4

/* Every so-many-eth row: torture runs all of a TEST again for each call in it, so a few short ones are quicker. */
static void part(size_t from)
{
	for (__typeof__(&rows[0]) row = rows + from; row < rows + FL_LEN(rows); row += PARTS) {
		FL_AUTO(script) struct script script = { 0 };
		struct asker asker = { .call = row->call };

		test_row(row->says);
		OK_ERR(script_open(&script, row->script), &script.err);
		asker.call.op = (struct fl_op){ .err = &asker.err };
		asker.call.item = item;
		asker.call.page = page;
		fl_kube_start(script.kube, &asker.call);
		if (row->status < 0)
			REFUSED(test_op(script.io, &asker.call.op), -row->status);
		else
			OK_ERR(test_op(script.io, &asker.call.op), &asker.err);
		if (test_tortured())
			return;
		CHECK_STR(fl_str(script.wrong), "");
		CHECK_INT(asker.call.op.result, row->status);
		CHECK_STR(fl_str(asker.said), row->said);
		CHECK(!script.at->target);
		if (row->text)
			CHECK_STR(fl_str(asker.err.text), row->text);
		if (row->body)
			CHECK_STR(fl_str(script.got_body), row->body);
		if (row->type)
			CHECK_STR(fl_str(script.got_type), row->type);
	}
}

TEST(what_is_asked_and_what_comes_of_it_1)
{
	part(0);
}

TEST(what_is_asked_and_what_comes_of_it_2)
{
	part(1);
}

TEST(what_is_asked_and_what_comes_of_it_3)
{
	part(2);
}

TEST(what_is_asked_and_what_comes_of_it_4)
{
	part(3);
}

TEST(who_asks)
{
	static const struct exchange exchanges[] = { { "/version", 200, "{}" }, { 0 } };
	FL_AUTO(script) struct script script = { 0 };
	struct asker asker = { .call = { .verb = FL_KUBE_GET, .path = "/version" } };

	OK_ERR(script_open(&script, exchanges), &script.err);
	asker.call.op = (struct fl_op){ .err = &asker.err };
	fl_kube_start(script.kube, &asker.call);
	OK_ERR(test_op(script.io, &asker.call.op), &asker.err);
	CHECK_STR(fl_str(script.got_headers), "GET|fairlead/" FL_VERSION " (test)|application/json");
}

/* ---- the fence ---- */

struct fence {
	int allow;                 /* so many times yes */
	int asked;
};

static bool may(void *arg)
{
	struct fence *fence = arg;

	return fence->asked++ < fence->allow;
}

TEST(a_fenced_write_is_not_sent_when_the_fence_says_no)
{
	/* No at once; yes when it begins, and no when its bytes are asked for. */
	for (int allow = 0; allow < 2; allow++) {
		static const struct exchange exchanges[] = { { 0 } };
		FL_AUTO(script) struct script script = { 0 };
		struct fence fence = { .allow = allow };
		struct asker asker = { .call = CALL(.verb = FL_KUBE_MERGE, .name = FL_S("a"), .body = FL_S("{}"),
						    .may_send = may, .may_arg = &fence) };

		OK_ERR(script_open(&script, exchanges), &script.err);
		asker.call.op = (struct fl_op){ .err = &asker.err };
		fl_kube_start(script.kube, &asker.call);
		REFUSED(test_op(script.io, &asker.call.op), FL_E_DENIED);
		CHECK_INT(script.asked, 0);
		if (!test_tortured())
			CHECK_STR(fl_str(asker.err.text), "not sent: this replica does not lead any more");
	}
}

TEST(a_fenced_write_goes_while_the_fence_says_yes)
{
	static const struct exchange exchanges[] = { { MAPS "/a?fieldManager=fairlead", 200, A_MAP }, { 0 } };
	FL_AUTO(script) struct script script = { 0 };
	struct fence fence = { .allow = 100 };
	struct asker asker = { .call = CALL(.verb = FL_KUBE_MERGE, .name = FL_S("a"), .body = FL_S("{\"data\":{}}"),
					    .may_send = may, .may_arg = &fence) };

	OK_ERR(script_open(&script, exchanges), &script.err);
	asker.call.op = (struct fl_op){ .err = &asker.err };
	fl_kube_start(script.kube, &asker.call);
	OK_ERR(test_op(script.io, &asker.call.op), &asker.err);
	CHECK_STR(fl_str(script.got_body), "{\"data\":{}}");
}

/* ---- many writes ---- */

static const struct {
	const char *says;
	uint32_t writes;
	uint64_t takes, rest;          /* ms */
} rests[] = {
	{ "nothing is on its way", 0, 1000, 0 },
	{ "few writes are read one by one", FL_KUBE_MANY - 1, 1000, 0 },
	{ "half of what one takes", FL_KUBE_MANY, 80, 40 },
	{ "quick ones are read as they come", 64, 7, 0 },
	{ "the shortest that is worth it", 64, 8, 4 },
	{ "never longer than what others may wait", 64, 10000, 64 },
	{ "how long they take is not known yet", 64, 0, 0 },
};

TEST(with_many_writes_on_their_way_answers_are_read_together)
{
	EACH_ROW (row, rests)
		CHECK_INT(fl_kube_rest(row->writes, row->takes * FL_NS_PER_MS), row->rest * FL_NS_PER_MS);
}

static const struct {
	const char *says;
	uint64_t bytes, took, rest;    /* KiB, ms, ms */
} list_rests[] = {
	{ "nothing has come", 0, 1000, 0 },
	{ "a short one", 256, 100000, 0 },
	{ "while 32 KiB come", 1024, 128, 4 },
	{ "in whole milliseconds", 1024, 159, 4 },
	{ "one that comes quickly is read as it comes", 1024, 31, 0 },
	{ "never longer than this", 1024, 100000, 8 },
};

TEST(a_long_list_that_comes_slowly_is_read_in_pieces)
{
	EACH_ROW (row, list_rests)
		CHECK_INT(fl_kube_list_rest(row->bytes * FL_KIB, row->took * FL_NS_PER_MS), row->rest * FL_NS_PER_MS);
}

static const struct {
	const char *says;
	struct fl_kube_call call;
	struct exchange script[3];
	uint64_t stays_at;             /* how many items are told before it is looked at; 0: when it is over */
	uint32_t lists;
} lists[] = {
	{ "pages", CALL(.verb = FL_KUBE_LIST),
	  { { "/*", 200, "{\"metadata\":{\"continue\":\"n\"},\"items\":[" A_MAP "]}" },
	    { "/*", 200, "{\"metadata\":{},\"items\":[" A_MAP "]}" } } },
	{ "the start of a watch", CALL(.verb = FL_KUBE_WATCH, .initial_events = true),
	  { { "/*", 200, "{\"type\":\"ADDED\",\"object\":" A_MAP "}{\"type\":\"BOOKMARK\",\"object\":{}}",
	      .stay = true } },
	  2, 0 },
	{ "not the start of a watch that goes on", CALL(.verb = FL_KUBE_WATCH, .initial_events = true),
	  { { "/*", 200, "{\"type\":\"ADDED\",\"object\":" A_MAP "}", .stay = true } }, 1, 1 },
	{ "a watch that begins with changes", CALL(.verb = FL_KUBE_WATCH, .version = FL_S_INIT("5")),
	  { { "/*", 200, "{\"type\":\"ADDED\",\"object\":" A_MAP "}", .stay = true } }, 1, 0 },
	{ "one that breaks off", CALL(.verb = FL_KUBE_WATCH, .initial_events = true),
	  { { "/*", 200, "{\"type\":\"ADDED\",\"object\":" A_MAP "}{", .cut = true } } },
};

TEST(a_list_that_is_over_is_not_rested_for)
{
	EACH_ROW (row, lists) {
		FL_AUTO(script) struct script script = { 0 };
		struct asker asker = { .call = row->call };

		OK_ERR(script_open(&script, row->script), &script.err);
		asker.call.item = item;
		asker.call.op = (struct fl_op){ .done = test_op_done, .err = &asker.err };
		fl_kube_start(script.kube, &asker.call);
		while (fl_op_busy(&asker.call.op) && !(row->stays_at && asker.call.items == row->stays_at))
			OK(fl_io_turn(script.io, fl_now(script.io) + FL_NS_PER_MS, &script.err));
		CHECK(fl_op_busy(&asker.call.op) || !script.kube->lists);
		CHECK(!fl_op_busy(&asker.call.op) || script.kube->lists == row->lists);
		fl_op_cancel(&asker.call.op);
	}
}

/* Half a MiB in two pieces, a long while between them. */
TEST_ONCE(a_long_list_has_its_connection_rest_between_pieces)   /* it waits for itself */
{
	static const struct exchange exchanges[] = {
		{ "/*", 200, "{\"metadata\":{},\"items\":[" A_MAP, .stay = true },
	};
	FL_AUTO(script) struct script script = { 0 };
	FL_AUTO(fl_buf) struct fl_buf more = FL_BUF(FL_MIB);
	struct asker asker = { .call = CALL(.verb = FL_KUBE_LIST, .item = item) };
	const struct fl_http_client *http;

	while (more.len < 256 * FL_KIB && !more.failed)
		fl_buf_printf(&more, ",%s", A_MAP);
	OK_ERR(script_open(&script, exchanges), &script.err);
	asker.call.op = (struct fl_op){ .done = test_op_done, .err = &asker.err };
	fl_kube_start(script.kube, &asker.call);
	while (!asker.call.items)
		OK(fl_io_turn(script.io, fl_now(script.io) + FL_NS_PER_MS, &script.err));
	http = script.kube->auth.http;
	CHECK_INT(http->batch, 0);
	for (int i = 0; i < 2; i++) {
		uint64_t before = asker.call.items;

		OK(test_pause(script.io, 20 * FL_NS_PER_MS));
		fl_http_req_send(script.open, fl_buf_view(&more));
		while (asker.call.items - before < more.len / sizeof A_MAP)
			OK(fl_io_turn(script.io, fl_now(script.io) + FL_NS_PER_MS, &script.err));
		CHECK(i == 0 || (http->batch >= FL_NS_PER_MS && http->batch <= FL_KUBE_LIST_REST_MAX));
	}
	fl_http_req_send(script.open, FL_S("]}"));
	fl_http_req_end(script.open, (struct fl_headers){ 0 });
	script.open = NULL;
	while (fl_op_busy(&asker.call.op))
		OK(fl_io_turn(script.io, fl_now(script.io) + FL_NS_PER_MS, &script.err));
	CHECK(asker.call.op.result >= 0);
	CHECK_INT(http->batch, 0);
}

static bool needless(struct fl_kube_call *call, struct fl_str object)
{
	(void)call;
	return fl_str_eq(object, FL_S(A_MAP));
}

TEST_ONCE(an_answer_that_is_not_needed_is_not_told)
{
	static const struct exchange exchanges[] = { { "/*", 200, A_MAP },
						     { "/*", 200, "{\"metadata\":{\"name\":\"b\"}}" },
						     { 0 } };
	FL_AUTO(script) struct script script = { 0 };

	OK_ERR(script_open(&script, exchanges), &script.err);
	for (int i = 0; i < 2; i++) {
		struct asker asker = { .call = CALL(.verb = FL_KUBE_GET, .name = FL_S("a"), .item = item,
						    .needless = needless) };

		asker.call.op = (struct fl_op){ .err = &asker.err };
		fl_kube_start(script.kube, &asker.call);
		OK_ERR(test_op(script.io, &asker.call.op), &asker.err);
		CHECK_STR(fl_str(asker.said), i == 0 ? "" : "b");
	}
}

TEST_ONCE(many_writes_end_each_with_its_own_answer)
{
	enum { N = 40 };
	struct exchange exchanges[N + 1] = { 0 };
	struct asker askers[N];
	FL_AUTO(script) struct script script = { 0 };

	for (int i = 0; i < N; i++)
		exchanges[i] = (struct exchange){ .target = "/*", .status = 200, .body = A_MAP };
	OK_ERR(script_open(&script, exchanges), &script.err);
	for (int round = 0; round < 2; round++) {   /* the second time in the memory of the first */
		script.at = exchanges;
		for (int i = 0; i < N; i++) {
			askers[i] = (struct asker){ .call = CALL(.verb = FL_KUBE_MERGE, .name = FL_S("a"),
								 .body = FL_S("{}"), .item = item) };
			askers[i].call.op = (struct fl_op){ .done = test_op_done, .err = &askers[i].err };
			fl_kube_start(script.kube, &askers[i].call);
		}
		for (int i = 0; i < N; i++) {
			if (fl_op_busy(&askers[i].call.op))
				(void)test_op(script.io, &askers[i].call.op);
			CHECK_INT(askers[i].call.op.result, 200);
			CHECK_STR(fl_str(askers[i].said), "a");
		}
	}
	CHECK_STR(fl_str(script.wrong), "");
}

/* ---- the gate ---- */

TEST(what_one_call_is_told_holds_for_all_but_the_urgent)
{
	static const struct exchange exchanges[] = { { "/one", 429, "{}", "1" }, { "/urgent", 200, "{}" }, { "/*",
			200, "{}" },
						     { "/*", 200, "{}" }, { 0 } };
	FL_AUTO(script) struct script script = { 0 };
	struct asker one = { .call = { .verb = FL_KUBE_GET, .path = "/one" } };
	struct asker two = { .call = { .verb = FL_KUBE_GET, .path = "/two" } };
	struct asker urgent = { .call = { .verb = FL_KUBE_GET, .path = "/urgent", .urgent = true } };

	if (test_tortured())
		return;
	OK_ERR(script_open(&script, exchanges), &script.err);
	one.call.op = (struct fl_op){ .done = test_op_done, .err = &one.err };
	two.call.op = (struct fl_op){ .done = test_op_done, .err = &two.err };
	urgent.call.op = (struct fl_op){ .err = &urgent.err };
	fl_kube_start(script.kube, &one.call);
	while (!fl_kube_closed_until(script.kube) && fl_op_busy(&one.call.op) && !test_tortured())
		OK(fl_io_turn(script.io, fl_now(script.io) + FL_NS_PER_MS, &script.err));
	fl_kube_start(script.kube, &two.call);
	CHECK(test_tortured() || fl_kube_waiting(script.kube) == 2);
	fl_kube_start(script.kube, &urgent.call);
	test_op(script.io, &urgent.call.op);
	CHECK(test_tortured() || (urgent.call.op.result == 200 && fl_op_busy(&one.call.op) &&
				  fl_op_busy(&two.call.op)));
	fl_op_cancel(&one.call.op);
	fl_op_cancel(&two.call.op);
	CHECK_INT(fl_kube_waiting(script.kube), 0);
}
