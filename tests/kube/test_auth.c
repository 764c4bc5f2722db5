/* Credentials that are words, files and programs, and that change. */
#include "api/core.h"
#include "base/log.h"
#include "base/units.h"
#include "kube/watch.h"
#include "script.h"
#include "test.h"
#include <stdio.h>

static const struct exchange once[] = { { "/v", 200, "{}" }, { 0 } };
static const struct exchange refused[] = { { "/v", 401, "{}" }, { "/v", 200, "{}" }, { 0 } };

static int ask(struct script *script)
{
	struct fl_kube_call call = { .verb = FL_KUBE_GET, .path = "/v" };

	call.op = (struct fl_op){ .err = &script->err };
	fl_kube_start(script->kube, &call);
	return (int)test_op(script->io, &call.op);
}

static const struct {
	const char *says, *user, *auth;
} words[] = {
	{ "a token", "token: abc", "Bearer abc" },
	{ "user and password", "username: me, password: 'pa:ss'", "Basic bWU6cGE6c3M=" },
	{ "nobody", "", "" },
};

TEST(credentials_as_words)
{
	EACH_ROW (row, words) {
		FL_AUTO(script) struct script script = { 0 };

		OK_ERR(script_open_as(&script, once, row->user), &script.err);
		OK_ERR(ask(&script), &script.err);
		CHECK_STR(fl_str(script.got_auth), row->auth);
	}
}

TEST(a_token_file_is_read_again_when_it_is_refused)
{
	FL_AUTO(script) struct script script = { 0 };
	const char *path = test_path(test_dir(), "token");
	char user[200];

	(void)snprintf(user, sizeof user, "tokenFile: '%s'", path);
	CHECK(test_write_file(path, "old\n"));
	OK_ERR(script_open_as(&script, once, user), &script.err);
	OK_ERR(ask(&script), &script.err);
	CHECK_STR(fl_str(script.got_auth), "Bearer old");
	CHECK(test_write_file(path, " new\n"));
	script.at = refused;
	OK_ERR(ask(&script), &script.err);
	/* Without memory for the new one, the old one is tried again. */
	if (!test_tortured())
		CHECK_STR(fl_str(script.got_auth), "Bearer new");
	CHECK_INT(script.asked, 3);
}

TEST(a_token_file_that_goes_leaves_the_former_token_in_use)
{
	FL_AUTO(script) struct script script = { 0 };
	const char *path = test_path(test_dir(), "token");
	char user[200];

	(void)snprintf(user, sizeof user, "tokenFile: '%s'", path);
	CHECK(test_write_file(path, "old"));
	OK_ERR(script_open_as(&script, once, user), &script.err);
	OK_ERR(ask(&script), &script.err);
	CHECK(test_write_file(path, ""));
	script.at = refused;
	OK_ERR(ask(&script), &script.err);
	CHECK_STR(fl_str(script.got_auth), "Bearer old");
}

static bool add_line(void *lines, const char *line, size_t len)
{
	fl_buf_str(lines, (struct fl_str){ line, (uint32_t)len });
	return true;
}

static uint64_t no_clock(void *self)
{
	(void)self;
	return 0;
}

static int64_t no_date(void *self)
{
	(void)self;
	return 0;
}

TEST(a_token_file_that_never_was_is_told)
{
	char text[2000] = "";
	struct fl_buf lines = FL_BUF_IN(text);
	struct fl_log log;
	FL_AUTO(script) struct script script = { .log = &log };

	fl_log_init(&log, &(struct fl_log_to){ add_line, no_clock, no_date, &lines }, "test");
	OK_ERR(script_open_as(&script, once, "tokenFile: /nowhere/token"), &script.err);
	REFUSED(ask(&script), FL_E_NOTFOUND);
	if (!test_tortured())
		CHECK(fl_str_starts(fl_str(script.err.text), FL_S("token: ")));
	CHECK_INT(script.asked, 0);
	CHECK(strstr(text, "none to use, will try again") || test_tortured());
}

#define EXEC(says) "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sh, args: " \
			"[-c, '" says "']}"
#define PRINTED(status) \
	"echo \"{\\\"apiVersion\\\":\\\"client.authentication.k8s.io/v1\\\",\\\"kind\\\":" \
	"\\\"ExecCredential\\\",\\\"status\\\":{" \
	status "}}\""

static const struct {
	const char *says, *user, *auth;
	enum fl_code code;
	const char *text;
} plugins[] = {
	{ "a program prints a token", EXEC(PRINTED("\\\"token\\\":\\\"t\\\"")), "Bearer t" },
	{ "one that has expired by our clock is tried: the server's clock counts",
	  EXEC(PRINTED("\\\"token\\\":\\\"t\\\",\\\"expirationTimestamp\\\":\\\"2001-01-01T00:00:00Z\\\"")),
	  "Bearer t" },
	{ "a program that fails says why", EXEC("echo a >&2; echo log in first >&2; exit 3"), NULL, FL_E_DENIED,
	  "'/usr/bin/sh': it ended with 3: log in first" },
	{ "a program that is killed", EXEC("kill -9 $$"), NULL, FL_E_DENIED, "'/usr/bin/sh': it died of signal 9" },
	{ "a program that prints something else", EXEC("echo hello"), NULL, FL_E_INVALID,
	  "'/usr/bin/sh': what it printed is no JSON" },
};

/* Real programs: the start alone takes longer than torture may. */
TEST_ONCE(credentials_of_a_program)
{
	EACH_ROW (row, plugins) {
		FL_AUTO(script) struct script script = { 0 };

		OK_ERR(script_open_as(&script, once, row->user), &script.err);
		if (row->code) {
			REFUSED(ask(&script), row->code);
			CHECK_STR(fl_str(script.err.text), row->text);
			CHECK_INT(script.asked, 0);
			continue;
		}
		OK_ERR(ask(&script), &script.err);
		CHECK_STR(fl_str(script.got_auth), row->auth);
	}
}

/* ---- refused to a watch, which is not tried again by the client ---- */

#define STREAM "/api/v1/configmaps?watch=true*"
#define UP_TO_DATE \
	"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\",\"annotations\":" \
	"{\"k8s.io/initial-events-end\":\"true\"}}}}\n"

static const struct exchange expired[] = {
	{ "/v", 200, "{}" }, { STREAM, 401, "{}" }, { STREAM, 200, UP_TO_DATE, .stay = true }, { 0 },
};
static const struct exchange revoked[] = {
	{ "/v", 200, "{}" },
	{ STREAM, 200, UP_TO_DATE },
	{ "/api/v1/configmaps?watch=true&resourceVersion=9*", 401, "{}" },
	{ "/api/v1/configmaps?watch=true&resourceVersion=9*", 200, "", .stay = true },
	{ 0 },
};
static const struct exchange checked[] = {
	{ "/v", 200, "{}" },
	{ STREAM, 200, UP_TO_DATE, .cut = true },
	{ "/api/v1/configmaps?limit=1&resourceVersion=9*", 401, "{}" },
	{ "/api/v1/configmaps?limit=1&resourceVersion=9*", 200, "{}" },
	{ "/api/v1/configmaps?watch=true&resourceVersion=9*", 200, "", .stay = true },
	{ 0 },
};

static const struct {
	const char *says;
	const struct exchange *script;
} watched[] = {
	{ "a full state that is refused", expired },
	{ "a watch that is refused when it resumes", revoked },
	{ "a check that is refused", checked },
};

static void told(void *to)
{
	(void)to;
}

static int put(void *to, const void *object, struct fl_err *err)
{
	(void)to;
	(void)object;
	(void)err;
	return 0;
}

static void gone(void *to, struct fl_str space, struct fl_str name)
{
	(void)to;
	(void)space;
	(void)name;
}

static const struct fl_watch_to nobody = { .begin = told, .put = put, .gone = gone, .synced = told, .absent = told };

/* Until the script is over, with another credential than the one that was read for the first call. */
static int watch_all(struct script *script, const char *path, const char *fresh)
{
	const struct fl_watch_options options = { .kind = &fl_config_map_kind, .to = &nobody };
	FL_AUTO(fl_watch) struct fl_watch *watch = NULL;
	int r = ask(script);

	if (r < 0)
		return r;
	if (!test_write_file(path, fresh))
		return -FL_E_IO;
	watch = fl_watch_new(script->kube, &options, &script->err);
	if (!watch)
		return -(int)script->err.code;
	for (int i = 0; i < 3000 && script->at->target && !script->wrong[0] && !test_tortured(); i++) {
		if (fl_io_turn(script->io, fl_now(script->io) + FL_NS_PER_MS, &script->err) < 0)
			return -(int)script->err.code;
		fl_watch_poke(watch);
	}
	return 0;
}

TEST(a_token_file_is_read_again_when_a_watch_is_refused)
{
	EACH_ROW (row, watched) {
		FL_AUTO(script) struct script script = { 0 };
		const char *path = test_path(test_dir(), "token");
		char user[200];

		(void)snprintf(user, sizeof user, "tokenFile: '%s'", path);
		CHECK(test_write_file(path, "old"));
		OK_ERR(script_open_as(&script, row->script, user), &script.err);
		OK_ERR(watch_all(&script, path, "new"), &script.err);
		if (test_tortured())
			return;
		CHECK_STR(fl_str(script.wrong), "");
		CHECK(!script.at->target);
		CHECK_STR(fl_str(script.got_auth), "Bearer new");
	}
}

#define GIVES(token) \
	"{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":" \
	"\"" token "\"}}"

/* A program that prints what a file holds, and notes in another that it was started. */
static const char *plugin(char user[static 400], const char *gives, const char *starts)
{
	(void)snprintf(user, 400, EXEC("echo >> %s; cat %s"), starts, gives);
	return user;
}

/* Real programs, as above. */
TEST_ONCE(a_program_is_asked_again_when_a_watch_is_refused)
{
	EACH_ROW (row, watched) {
		FL_AUTO(script) struct script script = { 0 };
		const char *gives = test_path(test_dir(), "gives"), *starts = test_path(test_dir(), "starts");
		char user[400];

		CHECK(test_write_file(gives, GIVES("old")) && test_write_file(starts, ""));
		OK_ERR(script_open_as(&script, row->script, plugin(user, gives, starts)), &script.err);
		OK_ERR(watch_all(&script, gives, GIVES("new")), &script.err);
		CHECK_STR(fl_str(script.wrong), "");
		CHECK(!script.at->target);
		CHECK_STR(fl_str(script.got_auth), "Bearer new");
		CHECK_INT(test_read_file(starts).len, 2);
	}
}

#define REFUSED_5 \
	{ "/v", 401, "{}" }, { "/v", 401, "{}" }, { "/v", 401, "{}" }, { "/v", 401, "{}" }, { "/v", 401, "{}" }

static const struct {
	const char *says;
	bool once;
} refusals[] = {
	{ "calls that are not tried again", true },
	{ "calls that are", false },
};

/* Twenty that are refused take milliseconds; a second later it would be asked again. */
TEST_ONCE(a_program_that_gives_what_is_refused_is_not_asked_for_each_call)
{
	static const struct exchange script_says[] = { REFUSED_5, REFUSED_5, REFUSED_5, REFUSED_5, REFUSED_5, { 0 } };

	EACH_ROW (row, refusals) {
		FL_AUTO(script) struct script script = { 0 };
		const char *gives = test_path(test_dir(), "gives"), *starts = test_path(test_dir(), "starts");
		char user[400];

		CHECK(test_write_file(gives, GIVES("old")) && test_write_file(starts, ""));
		OK_ERR(script_open_as(&script, script_says, plugin(user, gives, starts)), &script.err);
		for (int i = 0; i < 20; i++) {
			struct fl_kube_call call = { .verb = FL_KUBE_GET, .path = "/v", .once = row->once };

			call.op = (struct fl_op){ .err = &script.err };
			fl_kube_start(script.kube, &call);
			CHECK_INT(test_op(script.io, &call.op), -FL_E_DENIED);
		}
		CHECK(test_read_file(starts).len >= 2);
		CHECK(test_read_file(starts).len <= 4);
	}
}
