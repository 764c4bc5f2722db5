#include "test.h"
#include <errno.h>

TEST(a_failure_is_one_return_statement)
{
	struct fl_err err = { 0 };

	CHECK_INT(fl_fail(&err, FL_E_CONFLICT, "rv %d", 3), -FL_E_CONFLICT);
	CHECK_INT(err.code, FL_E_CONFLICT);
	CHECK_INT(err.sys, 0);
	CHECK_STR(fl_str(err.text), "rv 3");
	CHECK_INT(fl_wrap(&err, "device %s", "gpu-0"), -FL_E_CONFLICT);
	CHECK_STR(fl_str(err.text), "device gpu-0: rv 3");
}

TEST(nobody_who_wants_the_words_gets_the_code_alone)
{
	struct fl_err cause = { .code = FL_E_DENIED };

	CHECK_INT(fl_fail(NULL, FL_E_TIMEOUT, "slow"), -FL_E_TIMEOUT);
	CHECK_INT(fl_fail_sys(NULL, ENOENT, "open"), -FL_E_NOTFOUND);
	CHECK_INT(fl_wrap(NULL, "outer"), -FL_E_IO);
	CHECK_INT(fl_fail_as(NULL, &cause), -FL_E_DENIED);
}

TEST(a_failure_can_be_copied)
{
	struct fl_err cause, err = { 0 };

	CHECK_INT(fl_fail_sys(&cause, ENOSPC, "write '%s'", "/x"), -FL_E_RETRY);
	CHECK_INT(fl_fail_as(&err, &cause), -FL_E_RETRY);
	CHECK_INT(err.sys, ENOSPC);
	CHECK_STR(fl_str(err.text), "write '/x': No space left on device");
	CHECK_INT(fl_fail_as(&err, &err), -FL_E_RETRY);
	CHECK_STR(fl_str(err.text), "write '/x': No space left on device");
}

TEST(an_unknown_errno_still_has_words)
{
	struct fl_err err;

	CHECK_INT(fl_fail_sys(&err, 99999, "ioctl"), -FL_E_IO);
	CHECK_STR(fl_str(err.text), "ioctl: ?");
}

TEST(words_too_long_are_cut_and_terminated)
{
	struct fl_err err;
	char lots[2 * FL_ERR_TEXT];

	memset(lots, 'x', sizeof lots);
	lots[sizeof lots - 1] = 0;
	CHECK_INT(fl_fail(&err, FL_E_INVALID, "%s", lots), -FL_E_INVALID);
	CHECK_INT(strlen(err.text), FL_ERR_TEXT - 1);
	CHECK_INT(fl_wrap(&err, "%s", lots), -FL_E_INVALID);
	CHECK_INT(strlen(err.text), FL_ERR_TEXT - 1);
	CHECK_INT(fl_fail_sys(&err, EIO, "%s", lots), -FL_E_IO);
	CHECK_INT(strlen(err.text), FL_ERR_TEXT - 1);
}

TEST(words_cut_inside_a_character_end_before_it)
{
	struct fl_err err;
	char lots[FL_ERR_TEXT];

	memset(lots, 'x', sizeof lots);
	lots[FL_ERR_TEXT - 3] = 0;
	(void)fl_fail(&err, FL_E_INVALID, "%s\xe2\x82\xac", lots);
	CHECK_INT(strlen(err.text), FL_ERR_TEXT - 3);
	CHECK(fl_str_utf8(fl_str(err.text)));
	(void)fl_fail(&err, FL_E_INVALID, "%s", "\xe2\x82");
	CHECK_STR(fl_str(err.text), "\xe2\x82");
}

TEST(the_new_words_may_lie_in_the_old_ones)
{
	struct fl_err err;

	(void)fl_fail(&err, FL_E_INVALID, "abc");
	(void)fl_fail(&err, FL_E_RETRY, "%s again: %s", err.text, err.text);
	CHECK_STR(fl_str(err.text), "abc again: abc");
	(void)fl_wrap(&err, "(%s)", err.text);
	CHECK_STR(fl_str(err.text), "(abc again: abc): abc again: abc");
}

static const struct {
	const char *says;
	int sys;
	enum fl_code code;
} errnos[] = {
	{ "a missing file is not found", ENOENT, FL_E_NOTFOUND },
	{ "a full disk may have room later", ENOSPC, FL_E_RETRY },
	{ "no right is a denial", EACCES, FL_E_DENIED },
	{ "a link that was not to be followed is a denial", ELOOP, FL_E_DENIED },
	{ "a full queue is a wait for readiness", EAGAIN, FL_E_AGAIN },
	{ "a reset connection is closed", ECONNRESET, FL_E_CLOSED },
	{ "a server that does not listen may do so later", ECONNREFUSED, FL_E_RETRY },
	{ "no memory is no memory", ENOMEM, FL_E_NOMEM },
	{ "a silent peer is a timeout", ETIMEDOUT, FL_E_TIMEOUT },
	{ "a broken disk is an i/o error", EIO, FL_E_IO },
	{ "what is not listed is an i/o error", ENOTTY, FL_E_IO },
};

TEST(an_errno_says_what_a_caller_does_next)
{
	EACH_ROW (row, errnos)
		CHECK_INT(fl_code_of_errno(row->sys), row->code);
}
