#include "base/units.h"
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
	{ "what stands around an escape stays", FL_S_INIT("ab\ncd"), "\"ab\\ncd\"" },
	{ "escapes follow each other", FL_S_INIT("\n\t\r"), "\"\\n\\t\\r\"" },
	{ "nothing", { NULL, 0 }, "\"\"" },
	{ "what would steer a terminal is escaped too", FL_S_INIT("\x7f\xc2\x9b\xc2\xa0"),
	  "\"\\u007f\\u009b\xc2\xa0\"" },
	{ "a broken sequence amid good ones", FL_S_INIT("\xc3\xa9\xff\xc3\xa9"), "\"\xc3\xa9\xef\xbf\xbd\xc3\xa9\"" },
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

static const struct {
	const char *says;
	int64_t n;
	const char *want, *unsigned_want;
} numbers[] = {
	{ "zero", 0, "0", "0" },
	{ "one digit", 7, "7", "7" },
	{ "ten", 10, "10", "10" },
	{ "the largest", INT64_MAX, "9223372036854775807", "9223372036854775807" },
	{ "the smallest", INT64_MIN, "-9223372036854775808", "9223372036854775808" },
	{ "minus one", -1, "-1", "18446744073709551615" },
};

TEST(numbers_in_decimal)
{
	EACH_ROW (row, numbers) {
		char text[40];
		struct fl_buf buf = FL_BUF_IN(text);

		fl_buf_int(&buf, row->n);
		CHECK_STR(fl_buf_view(&buf), row->want);
		fl_buf_clear(&buf);
		fl_buf_uint(&buf, (uint64_t)row->n);
		CHECK_STR(fl_buf_view(&buf), row->unsigned_want);
	}
}

TEST(a_buffer_in_an_array_never_allocates)
{
	long live = fl_mem_live();
	char text[8];
	struct fl_buf buf = FL_BUF_IN(text);

	fl_buf_printf(&buf, "%s", "1234567");
	CHECK_STR(fl_buf_view(&buf), "1234567");
	CHECK_INT(fl_buf_check(&buf, "test", NULL), 0);
	fl_buf_char(&buf, '8');
	CHECK_INT(fl_buf_check(&buf, "test", NULL), -FL_E_TOOBIG);
	CHECK_STR(fl_buf_view(&buf), "1234567");
	fl_buf_clear(&buf);
	fl_buf_printf(&buf, "%s", "12345678");
	CHECK_INT(fl_buf_check(&buf, "test", NULL), -FL_E_TOOBIG);
	CHECK_STR(fl_buf_view(&buf), "");
	CHECK_INT(buf.p[0], 0);
	CHECK_INT(fl_mem_live(), live);
}

TEST(printing_grows_the_buffer_when_it_must)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(1 * FL_KIB);

	for (int i = 0; i < 30; i++)
		fl_buf_printf(&buf, "%09d|", i);
	OK(fl_buf_check(&buf, "test", NULL));
	CHECK_INT(buf.len, 300);
	for (int i = 0; i < 30; i++) {
		char want[12];
		struct fl_buf one = FL_BUF_IN(want);

		fl_buf_printf(&one, "%09d|", i);
		CHECK_STR(fl_str_sub(fl_buf_view(&buf), (uint32_t)i * 10, 10), want);
	}
}

TEST(printing_stops_at_the_ceiling_and_leaves_what_was_there)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(10);

	fl_buf_printf(&buf, "%s", "12345678");
	OK(fl_buf_check(&buf, "test", NULL));
	fl_buf_printf(&buf, "%s", "abc");
	REFUSED(fl_buf_check(&buf, "test", NULL), FL_E_TOOBIG);
	CHECK_STR(fl_buf_view(&buf), "12345678");
	fl_buf_printf(&buf, "%s", "a");
	CHECK_STR(fl_buf_view(&buf), "12345678");
}

TEST(a_ceiling_that_is_none_is_no_overflow)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(SIZE_MAX);

	CHECK(fl_buf_room(&buf, SIZE_MAX) == NULL);
	CHECK_INT(fl_buf_check(&buf, "test", NULL), -FL_E_TOOBIG);
	fl_buf_clear(&buf);
	CHECK(fl_buf_room(&buf, FL_ALLOC_MAX) == NULL);
	CHECK_INT(fl_buf_check(&buf, "test", NULL), -FL_E_NOMEM);
	fl_buf_clear(&buf);
	fl_buf_str(&buf, FL_S("abc"));
	OK(fl_buf_check(&buf, "test", NULL));
	CHECK_STR(fl_buf_view(&buf), "abc");
}

TEST(room_is_filled_and_then_counted)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(100);
	char *room = fl_buf_room(&buf, 50);

	GOT(room);
	memcpy(room, "abc", 3);
	fl_buf_added(&buf, 3);
	CHECK_STR(fl_buf_view(&buf), "abc");
	CHECK_INT(buf.p[3], 0);
	fl_buf_drop(&buf, 99);
	CHECK_STR(fl_buf_view(&buf), "");
	fl_buf_free(&buf);
	CHECK(buf.p == NULL && buf.max == 100);
	fl_buf_drop(&buf, 1);
	CHECK_INT(buf.len, 0);
}

TEST(what_is_taken_piece_by_piece_is_all_of_it)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(100);
	char room[4];
	size_t at = 0;

	fl_buf_str(&buf, FL_S("abcdef"));
	OK(fl_buf_check(&buf, "test", NULL));
	CHECK_INT((int64_t)fl_buf_take(&buf, &at, room, sizeof room), 4);
	CHECK(memcmp(room, "abcd", 4) == 0);
	CHECK_INT((int64_t)fl_buf_take(&buf, &at, room, sizeof room), 2);
	CHECK(memcmp(room, "ef", 2) == 0);
	CHECK_INT((int64_t)fl_buf_take(&buf, &at, room, sizeof room), 0);
	CHECK_INT((int64_t)at, 0);
	CHECK_INT((int64_t)buf.len, 0);
}
