/* What may stand in a header. */
#include "http/head.h"
#include "test.h"

static const struct {
	const char *says;
	struct fl_str name, value;
	bool valid;
} headers[] = {
	{ "a short one", FL_S_INIT("accept"), FL_S_INIT("a/b"), true },
	{ "nothing is a value", FL_S_INIT("accept"), { NULL, 0 }, true },
	{ "a long one, with a tab in its first eight bytes", FL_S_INIT("x-a"), FL_S_INIT("a\tb and more"), true },
	{ "a tab behind them", FL_S_INIT("x-a"), FL_S_INIT("eight bytes,\tand more"), true },
	{ "bytes above ASCII", FL_S_INIT("x-a"), FL_S_INIT("\x80\xff\xc3\xa9\x80\xff\xc3\xa9"), true },
	{ "the lowest and the highest that may be", FL_S_INIT("x-a"), FL_S_INIT("        ~~~~~~~~"), true },
	{ "a control character in the first eight", FL_S_INIT("x-a"), FL_S_INIT("ab\x1f" "defgh"), false },
	{ "as the last of them", FL_S_INIT("x-a"), FL_S_INIT("abcdefg\x01ijk"), false },
	{ "in what is left behind the eights", FL_S_INIT("x-a"), FL_S_INIT("abcdefghij\n"), false },
	{ "behind a tab", FL_S_INIT("x-a"), FL_S_INIT("a\tcdefghij\rl"), false },
	{ "a zero", FL_S_INIT("x-a"), FL_S_INIT("abcdefgh\0jklmnopq"), false },
	{ "DEL", FL_S_INIT("x-a"), FL_S_INIT("abcdef\x7fh"), false },
	{ "DEL beside a byte above ASCII", FL_S_INIT("x-a"), FL_S_INIT("\xff\x7f\x80" "defgh"), false },
	{ "no name", FL_S_INIT(""), FL_S_INIT("a"), false },
	{ "a name with capitals", FL_S_INIT("Accept"), FL_S_INIT("a"), false },
	{ "a name with a colon at its end", FL_S_INIT("accept:"), FL_S_INIT("a"), false },
	{ "a name that begins with a blank", FL_S_INIT(" accept"), FL_S_INIT("a"), false },
};

TEST(headers_are_what_may_be_sent)
{
	EACH_ROW (row, headers)
		CHECK_INT(fl_header_valid(&(struct fl_header){ .name = row->name, .value = row->value }), row->valid);
}
