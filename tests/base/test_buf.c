#include "base/limits.h"
#include "test.h"

TEST(a_buffer_keeps_what_was_put_in)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(1 * FL_KIB);

	fl_buf_str(&buf, FL_S("a"));
	fl_buf_char(&buf, '=');
	fl_buf_printf(&buf, "%d", 7);
	OK(fl_buf_check(&buf, "test", NULL));
	CHECK_STR(fl_buf_view(&buf), "a=7");
	fl_buf_drop(&buf, 2);
	CHECK_STR(fl_buf_view(&buf), "7");
}

TEST(a_buffer_never_passes_its_ceiling)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(4);
	struct fl_err err;

	fl_buf_str(&buf, FL_S("abcd"));
	OK(fl_buf_check(&buf, "test", NULL));
	fl_buf_char(&buf, 'e');
	REFUSED(fl_buf_check(&buf, "name", &err), FL_E_TOOBIG);
	CHECK_STR(fl_str(err.text), "name: over 4 bytes");
	CHECK_STR(fl_buf_view(&buf), "abcd");
	fl_buf_clear(&buf);
	fl_buf_char(&buf, 'e');
	CHECK_STR(fl_buf_view(&buf), "e");
}

static const struct {
	const char *says;
	struct fl_str in;
	const char *want;
} json_rows[] = {
	{ "plain text is quoted", FL_S_INIT("abc"), "\"abc\"" },
	{ "quotes and backslashes are escaped", FL_S_INIT("a\"\\"), "\"a\\\"\\\\\"" },
	{ "control bytes have short or long forms", FL_S_INIT("\n\x01"), "\"\\n\\u0001\"" },
	{ "text beyond ASCII stays", FL_S_INIT("\xc3\xa9"), "\"\xc3\xa9\"" },
	{ "a broken sequence becomes the replacement character", FL_S_INIT("\xc3"), "\"\xef\xbf\xbd\"" },
	{ "a NUL byte is a control byte", FL_S_INIT("\0"), "\"\\u0000\"" },
};

TEST(json_strings)
{
	EACH_ROW (row, json_rows) {
		FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(100);

		fl_buf_json(&buf, row->in);
		OK(fl_buf_check(&buf, "test", NULL));
		CHECK_STR(fl_buf_view(&buf), row->want);
	}
}
