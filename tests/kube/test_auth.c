/* Credentials that are words, files and programs, and that change. */
#include "base/limits.h"
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

TEST(a_token_file_that_never_was_is_told)
{
	FL_AUTO(script) struct script script = { 0 };

	OK_ERR(script_open_as(&script, once, "tokenFile: /nowhere/token"), &script.err);
	REFUSED(ask(&script), FL_E_NOTFOUND);
	if (!test_tortured())
		CHECK(fl_str_starts(fl_str(script.err.text), FL_S("token: ")));
	CHECK_INT(script.asked, 0);
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
