#include "base/units.h"
#include "grpc/wire.h"
#include "test.h"

static void frames_auto_(struct fl_grpc_frames *frames)
{
	fl_grpc_frames_free(frames);
}
#define AUTO_FRAMES __attribute__((cleanup(frames_auto_))) struct fl_grpc_frames

/* Three messages, the middle one empty. */
static const struct fl_str three = FL_S_INIT("\0\0\0\0\3abc\0\0\0\0\0\0\0\0\0\2de");
static const char *const want[] = { "abc", "", "de" };

TEST(messages_come_whole_however_the_bytes_are_cut)
{
	for (uint32_t first = 0; first <= three.len; first++)
		for (uint32_t second = first; second <= three.len; second++) {
			AUTO_FRAMES frames = { .max = 10 };
			struct fl_str parts[] = { fl_str_sub(three, 0, first), fl_str_sub(three, first, second - first),
						  fl_str_sub(three, second, three.len) };
			struct fl_str message;
			size_t count = 0;

			for (size_t i = 0; i < FL_LEN(parts); i++) {
				int result;

				while ((result = fl_grpc_next(&frames, &parts[i], &message, NULL)) > 0) {
					CHECK(count < FL_LEN(want));
					CHECK_STR(message, want[count++]);
				}
				OK(result);
				CHECK_INT(parts[i].len, 0);
			}
			CHECK_INT((int64_t)count, FL_LEN(want));
			CHECK(fl_grpc_frames_whole(&frames));
		}
}

static const struct {
	const char *says;
	struct fl_str in;
	enum fl_code code;
} bad_rows[] = {
	{ "a compressed message is refused", FL_S_INIT("\1\0\0\0\1a"), FL_E_UNSUPPORTED },
	{ "a message over the limit is refused before it has come", FL_S_INIT("\0\0\0\0\x0b"), FL_E_TOOBIG },
	{ "a length of 4 GiB is only a number", FL_S_INIT("\0\xff\xff\xff\xff"), FL_E_TOOBIG },
};

TEST(bad_messages_end_the_stream)
{
	EACH_ROW (row, bad_rows) {
		AUTO_FRAMES frames = { .max = 10 };
		struct fl_str in = row->in, message, more = three;

		REFUSED(fl_grpc_next(&frames, &in, &message, NULL), row->code);
		REFUSED(fl_grpc_next(&frames, &more, &message, NULL), FL_E_INVALID);
	}
}

TEST(a_message_cut_short_is_seen)
{
	AUTO_FRAMES frames = { .max = 10 };
	struct fl_str in = FL_S("\0\0\0\0\3ab"), message;

	OK(fl_grpc_next(&frames, &in, &message, NULL));
	CHECK(!fl_grpc_frames_whole(&frames));
}

static const struct {
	const char *says;
	struct fl_str plain;
	const char *escaped;
} escape_rows[] = {
	{ "printable ASCII stays", FL_S_INIT("no GPU: a,b;~"), "no GPU: a,b;~" },
	{ "the percent sign is escaped", FL_S_INIT("100%"), "100%25" },
	{ "line ends are escaped", FL_S_INIT("a\nb"), "a%0Ab" },
	{ "bytes beyond ASCII are escaped in upper case", FL_S_INIT("\xc3\xbc"), "%C3%BC" },
};

TEST(status_messages)
{
	EACH_ROW (row, escape_rows) {
		FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(1 * FL_KIB);
		FL_AUTO(fl_buf) struct fl_buf back = FL_BUF(1 * FL_KIB);

		fl_grpc_escape(&out, row->plain);
		OK(fl_buf_check(&out, "escape", NULL));
		CHECK_STR(fl_buf_view(&out), row->escaped);
		fl_grpc_unescape(&back, fl_buf_view(&out));
		OK(fl_buf_check(&back, "unescape", NULL));
		CHECK(fl_str_eq(fl_buf_view(&back), row->plain));
	}
}

TEST(a_broken_escape_is_kept_as_it_came)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(1 * FL_KIB);

	fl_grpc_unescape(&out, FL_S("50% %zz %4"));
	OK(fl_buf_check(&out, "unescape", NULL));
	CHECK_STR(fl_buf_view(&out), "50% %zz %4");
}

static const struct {
	const char *says;
	struct fl_str in;
	uint64_t ns;   /* 0: none */
} timeout_rows[] = {
	{ "hours", FL_S_INIT("1H"), 3600 * FL_NS_PER_S },
	{ "minutes", FL_S_INIT("2M"), 120 * FL_NS_PER_S },
	{ "seconds", FL_S_INIT("3S"), 3 * FL_NS_PER_S },
	{ "milliseconds", FL_S_INIT("4m"), 4 * FL_NS_PER_MS },
	{ "microseconds", FL_S_INIT("5u"), 5000 },
	{ "nanoseconds", FL_S_INIT("6n"), 6 },
	{ "eight digits", FL_S_INIT("99999999n"), 99999999 },
	{ "more hours than there is time saturate", FL_S_INIT("99999999H"), UINT64_MAX },
	{ "nine digits are none", FL_S_INIT("999999999n"), 0 },
	{ "a unit alone is none", FL_S_INIT("S"), 0 },
	{ "another unit is none", FL_S_INIT("1s"), 0 },
	{ "a sign is none", FL_S_INIT("-1S"), 0 },
	{ "nothing is none", FL_S_INIT(""), 0 },
};

TEST(timeouts_are_read)
{
	EACH_ROW (row, timeout_rows) {
		uint64_t ns = 0;

		CHECK(fl_grpc_timeout_parse(row->in, &ns) == (row->ns != 0));
		CHECK(ns == row->ns);
	}
}

TEST(timeouts_are_printed_in_the_finest_unit_that_fits_and_never_shorter)
{
	static const uint64_t values[] = { 1, 99999998, 99999999, 100000001, 5 * FL_NS_PER_S, 86400 * FL_NS_PER_S,
					   UINT64_MAX / 2 };

	for (size_t i = 0; i < FL_LEN(values); i++) {
		char buf[16];
		uint64_t ns;

		CHECK(fl_grpc_timeout_parse(fl_grpc_timeout_print(values[i], buf), &ns));
		CHECK(ns >= values[i]);
		CHECK(ns - values[i] <= values[i] / 10000);
	}
}

TEST(statuses)
{
	CHECK_INT(fl_grpc_status_parse(FL_S("12")), FL_GRPC_UNIMPLEMENTED);
	CHECK_INT(fl_grpc_status_parse(FL_S("17")), FL_GRPC_UNKNOWN);
	CHECK_INT(fl_grpc_status_parse(FL_S("")), FL_GRPC_UNKNOWN);
	CHECK_INT(fl_grpc_status_of_http(503), FL_GRPC_UNAVAILABLE);
	CHECK_INT(fl_grpc_status_of_http(418), FL_GRPC_UNKNOWN);
	CHECK_INT(fl_grpc_status_of_reset(8, false), FL_GRPC_CANCELLED);
	CHECK_INT(fl_grpc_status_of_reset(8, true), FL_GRPC_DEADLINE_EXCEEDED);
	CHECK_INT(fl_grpc_status_of_reset(0, false), FL_GRPC_INTERNAL);
	for (int i = 0; i < FL_GRPC_COUNT_; i++)
		CHECK(fl_name(&fl_grpc_status_names, i)[0] != '?');
	for (int code = 0; code < FL_E_COUNT_; code++) {
		enum fl_grpc_status status = fl_grpc_status_of_code((enum fl_code)code);

		CHECK((status == FL_GRPC_OK) == (code == FL_OK));
		CHECK(status != FL_GRPC_UNKNOWN);
	}
}
