#include "json/time.h"
#include "base/units.h"
#include "vectors.h"

/* As the API server puts it into JSON. */
static struct fl_str json_of(uint32_t len, const char *printed, char *text)
{
	if (len == 0)
		return FL_S("null");
	return (struct fl_str){ text, (uint32_t)snprintf(text, 40, "\"%.*s\"", (int)len, printed) };
}

TEST(times_are_read_and_printed_as_go_does)
{
	char printed[FL_TIME_TEXT], text[40];
	int64_t us, want;

	EACH_VECTOR(row, "times")
	{
		if (vector_ok(row, 1)) {
			OK(fl_time_parse(row->field[0], &us, NULL));
			CHECK(fl_str_i64(row->field[2], &want));
			CHECK(us == want || (us == FL_TIME_NONE && want == -62135596800000000));
			CHECK_FIELD(json_of(fl_time_print(us, printed), printed, text), row, 3);
		} else {
			REFUSED(fl_time_parse(row->field[0], &us, NULL), FL_E_INVALID);
		}
		if (vector_ok(row, 4)) {
			OK(fl_time_parse_micro(row->field[0], &us, NULL));
			CHECK_FIELD(json_of(fl_time_print_micro(us, printed), printed, text), row, 5);
		} else {
			REFUSED(fl_time_parse_micro(row->field[0], &us, NULL), FL_E_INVALID);
		}
	}
}

TEST(every_printed_time_reads_back)
{
	char text[FL_TIME_TEXT];
	int64_t back, span = 10000ll * 365 * 86400 * 1000000;

	for (int i = 0; i < 20000; i++) {
		int64_t us = (int64_t)(test_random() % (uint64_t)span) - span / 5;
		uint32_t len = fl_time_print_micro(us, text);

		CHECK(len == 27 || us < -62167219200000000 || us >= 253402300800000000);
		if (len == 0)
			continue;
		OK(fl_time_parse_micro((struct fl_str){ text, len }, &back, NULL));
		CHECK_INT(back, us);
	}
}

TEST(what_is_no_moment_prints_nothing)
{
	char text[FL_TIME_TEXT];

	CHECK_INT(fl_time_print(FL_TIME_NONE, text), 0);
	CHECK_INT(fl_time_print(INT64_MIN + 1, text), 0);
	CHECK_INT(fl_time_print(INT64_MAX, text), 0);
}

TEST(a_refusal_shows_how_to_write_it)
{
	struct fl_err err;
	int64_t us;

	REFUSED(fl_time_parse(FL_S("yesterday"), &us, &err), FL_E_INVALID);
	CHECK_STR(fl_str(err.text), "'yesterday' is no time; write it like 2006-01-02T15:04:05Z");
	REFUSED(fl_time_parse(FL_S("0000-01-01T00:00:00+01:00"), &us, &err), FL_E_INVALID);
}

TEST(durations_are_read_and_printed_as_go_does)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(1 * FL_KIB);
	int64_t ns, want;

	EACH_VECTOR(row, "durations")
	{
		if (!vector_ok(row, 1)) {
			CHECK(!fl_duration(row->field[0], &ns));
			continue;
		}
		CHECK(fl_duration(row->field[0], &ns));
		CHECK(fl_str_i64(row->field[2], &want));
		CHECK_INT(ns, want);
		fl_buf_clear(&buf);
		fl_buf_duration(&buf, ns);
		OK(fl_buf_check(&buf, "test", NULL));
		CHECK_FIELD(fl_buf_view(&buf), row, 3);
	}
}
