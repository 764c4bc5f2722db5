#include "test.h"

static const struct fl_str nothing = { NULL, 0 };

TEST(texts_are_equal_by_their_bytes)
{
	CHECK(fl_str_eq(FL_S("a"), FL_S("a")));
	CHECK(!fl_str_eq(FL_S("a"), FL_S("b")));
	CHECK(!fl_str_eq(FL_S("a"), FL_S("ab")));
	CHECK(fl_str_eq(nothing, FL_S("")));
	CHECK(!fl_str_eq(FL_S("a\0b"), FL_S("a\0c")));
	CHECK_INT(fl_str(NULL).len, 0);
	CHECK_INT(fl_str("abc").len, 3);
}

static const struct {
	const char *says;
	struct fl_str less, more;
} orders[] = {
	{ "nothing comes first", { NULL, 0 }, FL_S_INIT("a") },
	{ "a shorter text comes before what it begins", FL_S_INIT("ab"), FL_S_INIT("abc") },
	{ "capitals come before small letters", FL_S_INIT("Z"), FL_S_INIT("a") },
	{ "bytes are unsigned", FL_S_INIT("z"), FL_S_INIT("\xc3\xa9") },
	{ "digits are no numbers", FL_S_INIT("10"), FL_S_INIT("9") },
};

TEST(order_is_by_bytes)
{
	EACH_ROW (row, orders) {
		CHECK(fl_str_cmp(row->less, row->more) < 0);
		CHECK(fl_str_cmp(row->more, row->less) > 0);
		CHECK_INT(fl_str_cmp(row->less, row->less), 0);
	}
}

TEST(beginnings_and_ends)
{
	CHECK(fl_str_starts(FL_S("nvidia.com/gpu"), FL_S("nvidia.com/")));
	CHECK(fl_str_ends(FL_S("nvidia.com/gpu"), FL_S("/gpu")));
	CHECK(fl_str_starts(FL_S("a"), nothing) && fl_str_ends(FL_S("a"), nothing));
	CHECK(fl_str_starts(nothing, nothing) && fl_str_ends(nothing, nothing));
	CHECK(!fl_str_starts(FL_S("a"), FL_S("ab")) && !fl_str_ends(FL_S("b"), FL_S("ab")));
	CHECK(!fl_str_starts(FL_S("abc"), FL_S("bc")) && !fl_str_ends(FL_S("abc"), FL_S("ab")));
}

TEST(parts_of_a_text)
{
	CHECK_STR(fl_str_sub(FL_S("abcdef"), 2, 3), "cde");
	CHECK_STR(fl_str_sub(FL_S("abc"), 1, 99), "bc");
	CHECK_STR(fl_str_sub(FL_S("abc"), 99, 1), "");
	CHECK_STR(fl_str_sub(FL_S("abc"), UINT32_MAX, UINT32_MAX), "");
	CHECK_STR(fl_str_sub(nothing, 3, 3), "");
	CHECK_INT(fl_str_find(FL_S("abcabc"), 'c'), 2);
	CHECK_INT(fl_str_find(FL_S("abc"), 'x'), -1);
	CHECK_INT(fl_str_find(nothing, 'x'), -1);
	CHECK_STR(fl_str_trim(FL_S(" \t a b\r\n")), "a b");
	CHECK_STR(fl_str_trim(FL_S(" \n\t ")), "");
	CHECK_STR(fl_str_trim(nothing), "");
}

static const struct {
	const char *says;
	struct fl_str text;
	const char *parts;   /* joined by '|', each closed by it */
} splits[] = {
	{ "an empty middle is a part", FL_S_INIT("a,,b"), "a||b|" },
	{ "an empty text is one empty part", FL_S_INIT(""), "|" },
	{ "no text has no parts", { NULL, 0 }, "" },
	{ "what ends in a separator ends in an empty part", FL_S_INIT("a,"), "a||" },
	{ "a separator alone has two sides", FL_S_INIT(","), "||" },
	{ "no separator, one part", FL_S_INIT("abc"), "abc|" },
};

TEST(one_of_several_by_a_text)
{
	static const struct { int number; struct { struct fl_str name; } meta; } at[] = {
		{ 1, { FL_S_INIT("a") } }, { 2, { FL_S_INIT("b") } }, { 3, { FL_S_INIT("b") } },
	};
	static const struct fl_str texts[] = { FL_S_INIT("a"), FL_S_INIT("bc") };

	CHECK(fl_find(at, FL_LEN(at), meta.name, FL_S("b")) == &at[1]);
	CHECK(!fl_find(at, FL_LEN(at), meta.name, FL_S("c")));
	CHECK(!fl_find(at, 1, meta.name, FL_S("b")));
	CHECK(!fl_find(&at[1], 0, meta.name, FL_S("b")));
	CHECK(fl_str_in(texts, FL_LEN(texts), FL_S("bc")));
	CHECK(!fl_str_in(texts, FL_LEN(texts), FL_S("b")));
	CHECK(!fl_str_in(texts, 1, FL_S("bc")));
	CHECK(!fl_str_in(NULL, 0, FL_S("")));
}

TEST(splitting)
{
	EACH_ROW (row, splits) {
		char got[64];
		struct fl_buf buf = FL_BUF_IN(got);
		struct fl_str rest = row->text, part;

		while (fl_str_split(&rest, ',', &part)) {
			fl_buf_str(&buf, part);
			fl_buf_char(&buf, '|');
		}
		CHECK_STR(fl_buf_view(&buf), row->parts);
	}
}

static const struct {
	const char *says;
	struct fl_str text;
	bool is_i64, is_u64;
	int64_t want;
} numbers[] = {
	{ "zero", FL_S_INIT("0"), true, true, 0 },
	{ "a number", FL_S_INIT("42"), true, true, 42 },
	{ "leading zeros change nothing", FL_S_INIT("0042"), true, true, 42 },
	{ "a negative number is signed only", FL_S_INIT("-42"), true, false, -42 },
	{ "the largest signed", FL_S_INIT("9223372036854775807"), true, true, INT64_MAX },
	{ "one more is unsigned only", FL_S_INIT("9223372036854775808"), false, true, INT64_MIN },
	{ "the smallest signed", FL_S_INIT("-9223372036854775808"), true, false, INT64_MIN },
	{ "one less does not fit", FL_S_INIT("-9223372036854775809"), false, false, 0 },
	{ "the largest unsigned", FL_S_INIT("18446744073709551615"), false, true, -1 },
	{ "one more does not fit", FL_S_INIT("18446744073709551616"), false, false, 0 },
	{ "ten times as much does not fit", FL_S_INIT("184467440737095516150"), false, false, 0 },
	{ "nothing is no number", { NULL, 0 }, false, false, 0 },
	{ "a sign alone is no number", FL_S_INIT("-"), false, false, 0 },
	{ "two signs are none", FL_S_INIT("--1"), false, false, 0 },
	{ "no plus sign", FL_S_INIT("+1"), false, false, 0 },
	{ "no blanks", FL_S_INIT(" 1"), false, false, 0 },
	{ "nothing behind", FL_S_INIT("1x"), false, false, 0 },
	{ "no fraction", FL_S_INIT("1.0"), false, false, 0 },
	{ "no NUL byte behind", FL_S_INIT("1\0"), false, false, 0 },
};

TEST(numbers_are_exact_or_refused)
{
	EACH_ROW (row, numbers) {
		int64_t i = 77;
		uint64_t u = 77;

		CHECK_INT(fl_str_i64(row->text, &i), row->is_i64);
		CHECK_INT(i, row->is_i64 ? row->want : 77);
		CHECK_INT(fl_str_u64(row->text, &u), row->is_u64);
		CHECK_INT((int64_t)u, row->is_u64 ? row->want : 77);
	}
}

static const struct {
	const char *says;
	struct fl_str text;
	uint32_t first;      /* bytes of the first character */
	bool whole;
} utf8[] = {
	{ "nothing is UTF-8", { NULL, 0 }, 0, true },
	{ "ASCII is UTF-8", FL_S_INIT("plain text, longer than a word"), 1, true },
	{ "a NUL byte is a character", FL_S_INIT("\0"), 1, true },
	{ "two bytes", FL_S_INIT("\xc3\xa9"), 2, true },
	{ "three bytes", FL_S_INIT("\xe2\x82\xac"), 3, true },
	{ "four bytes", FL_S_INIT("\xf0\x9f\x98\x80"), 4, true },
	{ "the last character of all", FL_S_INIT("\xf4\x8f\xbf\xbf"), 4, true },
	{ "beyond the last", FL_S_INIT("\xf4\x90\x80\x80"), 0, false },
	{ "a surrogate", FL_S_INIT("\xed\xa0\x80"), 0, false },
	{ "what comes before the surrogates", FL_S_INIT("\xed\x9f\xbf"), 3, true },
	{ "an overlong slash of two", FL_S_INIT("\xc0\xaf"), 0, false },
	{ "an overlong slash of three", FL_S_INIT("\xe0\x80\xaf"), 0, false },
	{ "an overlong slash of four", FL_S_INIT("\xf0\x80\x80\xaf"), 0, false },
	{ "a lone continuation", FL_S_INIT("\x80"), 0, false },
	{ "cut after one of two", FL_S_INIT("\xc3"), 0, false },
	{ "cut after three of four", FL_S_INIT("\xf0\x9f\x98"), 0, false },
	{ "no continuation where one must be", FL_S_INIT("\xe2\x82" "A"), 0, false },
	{ "a byte that never occurs", FL_S_INIT("\xff"), 0, false },
	{ "a bad byte far behind", FL_S_INIT("0123456789abcdef\x80"), 1, false },
	{ "a bad byte within the first word", FL_S_INIT("0123\x80" "5678"), 1, false },
	{ "good bytes behind two words", FL_S_INIT("0123456789abcdef\xc3\xa9"), 1, true },
};

TEST(utf8_as_the_standard_has_it)
{
	EACH_ROW (row, utf8) {
		CHECK_INT(fl_str_utf8_len(row->text), row->first);
		CHECK_INT(fl_str_utf8(row->text), row->whole);
	}
}

static const struct {
	const char *says;
	struct fl_str a, b;
	uint32_t want;
} distances[] = {
	{ "the same", FL_S_INIT("resync"), FL_S_INIT("resync"), 0 },
	{ "case does not count", FL_S_INIT("ReSync"), FL_S_INIT("resync"), 0 },
	{ "one letter missing", FL_S_INIT("rsync"), FL_S_INIT("resync"), 1 },
	{ "one letter wrong", FL_S_INIT("resink"), FL_S_INIT("resinc"), 1 },
	{ "two neighbours swapped", FL_S_INIT("verison"), FL_S_INIT("version"), 1 },
	{ "neighbours swapped at the front", FL_S_INIT("evrsion"), FL_S_INIT("version"), 1 },
	{ "nothing to something", { NULL, 0 }, FL_S_INIT("abc"), 3 },
	{ "nothing in common", FL_S_INIT("abc"), FL_S_INIT("xyzuv"), 5 },
	{ "the textbook's pair", FL_S_INIT("kitten"), FL_S_INIT("sitting"), 3 },
	{ "too long to be meant", FL_S_INIT("a"), FL_S_INIT("01234567890123456789012345678901234567890"), UINT32_MAX },
};

TEST(how_far_two_names_are_apart)
{
	EACH_ROW (row, distances) {
		CHECK_INT(fl_str_distance(row->a, row->b), row->want);
		CHECK_INT(fl_str_distance(row->b, row->a), row->want);
	}
}
