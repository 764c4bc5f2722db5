#include "base/units.h"
#include "test.h"

/* What Go's time.ParseDuration and Duration.String say. */
static const struct {
	const char *says;
	struct fl_str text;
	bool ok;
	int64_t ns;
	const char *printed;
} durations[] = {
	{ "seconds", FL_S_INIT("10s"), true, 10000000000, "10s" },
	{ "units follow each other", FL_S_INIT("1m30s"), true, 90000000000, "1m30s" },
	{ "milliseconds", FL_S_INIT("500ms"), true, 500000000, "500ms" },
	{ "a fraction", FL_S_INIT("1.5h"), true, 5400000000000, "1h30m0s" },
	{ "a negative one", FL_S_INIT("-2us"), true, -2000, "-2\xc2\xb5s" },
	{ "zero needs no unit", FL_S_INIT("0"), true, 0, "0s" },
	{ "zero may be negative", FL_S_INIT("-0"), true, 0, "0s" },
	{ "zero ends nothing else", FL_S_INIT("1s0"), false, 0, "" },
	{ "a plus sign", FL_S_INIT("+5s"), true, 5000000000, "5s" },
	{ "as it is printed", FL_S_INIT("1h0m0s"), true, 3600000000000, "1h0m0s" },
	{ "a fraction without a whole", FL_S_INIT(".5s"), true, 500000000, "500ms" },
	{ "a whole with a bare dot", FL_S_INIT("1.s"), true, 1000000000, "1s" },
	{ "the micro sign", FL_S_INIT("1\xc2\xb5s"), true, 1000, "1\xc2\xb5s" },
	{ "the Greek letter", FL_S_INIT("1\xce\xbcs"), true, 1000, "1\xc2\xb5s" },
	{ "all units at once", FL_S_INIT("3h2m1s4ms5us6ns"), true, 10921004005006, "3h2m1.004005006s" },
	{ "a unit may come twice", FL_S_INIT("1s1s"), true, 2000000000, "2s" },
	{ "more decimals than there are nanoseconds", FL_S_INIT("0.1000000000000000000001h"), true, 360000000000,
	  "6m0s" },
	{ "a third of an hour", FL_S_INIT("0.3333333333333333333h"), true, 1200000000000, "20m0s" },
	{ "the longest", FL_S_INIT("2562047h47m16.854775807s"), true, INT64_MAX, "2562047h47m16.854775807s" },
	{ "the longest backwards", FL_S_INIT("-9223372036854775808ns"), true, INT64_MIN, "-2562047h47m16.854775808s" },
	{ "one more than the longest", FL_S_INIT("9223372036854775808ns"), false, 0, "" },
	{ "one hour more", FL_S_INIT("2562048h"), false, 0, "" },
	{ "so long that it comes round again", FL_S_INIT("99999999999999999999h"), false, 0, "" },
	{ "nothing", { NULL, 0 }, false, 0, "" },
	{ "a sign alone", FL_S_INIT("-"), false, 0, "" },
	{ "a unit alone", FL_S_INIT("s"), false, 0, "" },
	{ "a number alone", FL_S_INIT("1"), false, 0, "" },
	{ "an unknown unit", FL_S_INIT("1x"), false, 0, "" },
	{ "days are no unit", FL_S_INIT("1d"), false, 0, "" },
	{ "two dots", FL_S_INIT("1.2.3s"), false, 0, "" },
	{ "a dot alone", FL_S_INIT(".s"), false, 0, "" },
	{ "a blank", FL_S_INIT("1 s"), false, 0, "" },
	{ "a sign within", FL_S_INIT("1s-1s"), false, 0, "" },
	{ "an exponent", FL_S_INIT("1e3s"), false, 0, "" },
};

TEST(durations_are_read_and_printed_as_go_does)
{
	EACH_ROW (row, durations) {
		char text[64];
		struct fl_buf buf = FL_BUF_IN(text);
		int64_t ns = 77;

		CHECK_INT(fl_duration(row->text, &ns), row->ok);
		CHECK_INT(ns, row->ok ? row->ns : 77);
		if (!row->ok)
			continue;
		fl_buf_duration(&buf, ns);
		CHECK_STR(fl_buf_view(&buf), row->printed);
		CHECK(fl_duration(fl_buf_view(&buf), &ns));
		CHECK_INT(ns, row->ns);
	}
}

static const struct {
	const char *says;
	int64_t ns;
	const char *printed;
} prints[] = {
	{ "a nanosecond", 1, "1ns" },
	{ "just below a microsecond", 999, "999ns" },
	{ "a microsecond and a bit", 1001, "1.001\xc2\xb5s" },
	{ "just below a millisecond", 999999, "999.999\xc2\xb5s" },
	{ "just below a second", 999999999, "999.999999ms" },
	{ "a tenth more than a second", 1100000000, "1.1s" },
	{ "a minute", 60000000000, "1m0s" },
	{ "an hour and a second", 3601000000000, "1h0m1s" },
	{ "a day is 24 hours", 86400000000000, "24h0m0s" },
	{ "a second and a half ago", -1500000000, "-1.5s" },
};

TEST(durations_are_printed_in_the_fitting_unit)
{
	EACH_ROW (row, prints) {
		char text[64];
		struct fl_buf buf = FL_BUF_IN(text);

		fl_buf_duration(&buf, row->ns);
		CHECK_STR(fl_buf_view(&buf), row->printed);
	}
}

static const struct {
	const char *says;
	int64_t ns;
	const char *printed;
} times[] = {
	{ "where it begins", 0, "1970-01-01T00:00:00.000000Z" },
	{ "a moment before", -1, "1969-12-31T23:59:59.999999Z" },
	{ "the leap day of a leap century", 951782400000000000, "2000-02-29T00:00:00.000000Z" },
	{ "its last microsecond", 951868799999999999, "2000-02-29T23:59:59.999999Z" },
	{ "no leap day in 2100", 4107542400000000000, "2100-03-01T00:00:00.000000Z" },
	{ "an ordinary moment", 1735786945678901234, "2025-01-02T03:02:25.678901Z" },
	{ "before it begins", -62135596800000000, "1968-01-12T20:06:43.200000Z" },
	{ "the first that can be said", INT64_MIN, "1677-09-21T00:12:43.145224Z" },
	{ "the last that can be said", INT64_MAX, "2262-04-11T23:47:16.854775Z" },
};

TEST(times_are_rfc_3339)
{
	EACH_ROW (row, times) {
		char text[64];
		struct fl_buf buf = FL_BUF_IN(text);

		fl_buf_time(&buf, row->ns);
		CHECK_STR(fl_buf_view(&buf), row->printed);
	}
}
