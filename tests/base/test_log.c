#include "base/log.h"
#include "test.h"

/* A sink that keeps what it got, and clocks that stand where they are put. */
static struct {
	char text[3 * FL_LOG_LINE];
	size_t len, last;   /* last: bytes of the last call */
	int calls;
	uint64_t now;
	bool full;          /* nothing is taken */
} out;

static bool keep(void *self, const char *line, size_t len)
{
	(void)self;
	out.calls++;
	out.last = len;
	if (out.full || len > sizeof out.text - out.len)
		return false;
	memcpy(out.text + out.len, line, len);
	out.len += len;
	return true;
}

static uint64_t now(void *self)
{
	(void)self;
	return out.now;
}

static int64_t wall(void *self)
{
	(void)self;
	return 1735786945678901234;
}

static const struct fl_log_to to = { .line = keep, .now = now, .wall = wall };
static struct fl_log log_of_test;

static struct fl_log *fresh(void)
{
	fl_log_init(&log_of_test, &to, NULL);
	out.len = out.last = 0;
	out.calls = 0;
	out.now = 0;
	out.full = false;
	return &log_of_test;
}

/* What was logged, without the time in front and the place (which moves with this file) at the end. */
static struct fl_str said(void)
{
	static char text[sizeof out.text];
	struct fl_str all = { out.text, (uint32_t)out.len };
	struct fl_str head = FL_S("{\"ts\":\"2025-01-02T03:02:25.678901Z\",");
	size_t len = 0;

	if (fl_str_starts(all, head))
		all = fl_str_sub(all, head.len, all.len);
	for (uint32_t i = 0; i < all.len; i++) {
		const char *place = "test_log.c:";

		text[len++] = all.p[i];
		if (len < strlen(place) || memcmp(text + len - strlen(place), place, strlen(place)) != 0)
			continue;
		text[len++] = '#';
		while (i + 1 < all.len && all.p[i + 1] >= '0' && all.p[i + 1] <= '9')
			i++;
	}
	return (struct fl_str){ text, (uint32_t)len };
}

TEST(a_line_is_one_object_in_one_call)
{
	struct fl_log *log = fresh();

	log->role = "node";
	fl_log(log, FL_INFO, "device list sent", FL_KV_STR("resource", FL_S("nvidia.com/gpu")),
	       FL_KV_INT("devices", -8));
	CHECK_INT(out.calls, 1);
	CHECK_STR(said(),
		  "\"level\":\"info\",\"role\":\"node\",\"msg\":\"device list sent\",\"resource\":\"nvidia.com/gpu\","
		  "\"devices\":-8,\"at\":\"test_log.c:#\"}\n");
}

static const struct fl_err denied = { .code = FL_E_DENIED, .text = "open '/x': Permission denied" };

static const struct {
	const char *says;
	struct fl_kv kv;
	const char *json, *console;
} values[] = {
	{ "a text", { "k", FL_KV_TYPE_STR, { .str = FL_S_INIT("v") } }, "\"k\":\"v\"", "k=v" },
	{ "no text at all", { "k", FL_KV_TYPE_TEXT, { .text = NULL } }, "\"k\":null", "k=null" },
	{ "an empty text", { "k", FL_KV_TYPE_TEXT, { .text = "" } }, "\"k\":\"\"", "k=\"\"" },
	{ "a text with a blank", { "k", FL_KV_TYPE_TEXT, { .text = "a b" } }, "\"k\":\"a b\"", "k=\"a b\"" },
	{ "a text that looks like keys", { "k", FL_KV_TYPE_TEXT, { .text = "a=1" } }, "\"k\":\"a=1\"", "k=\"a=1\"" },
	{ "quotes and line ends", { "k", FL_KV_TYPE_TEXT, { .text = "\"\n" } }, "\"k\":\"\\\"\\n\"", "k=\"\\\"\\n\"" },
	{ "letters beyond ASCII", { "k", FL_KV_TYPE_TEXT, { .text = "\xc3\xa9" } }, "\"k\":\"\xc3\xa9\"",
	  "k=\"\xc3\xa9\"" },
	{ "what is not UTF-8", { "k", FL_KV_TYPE_TEXT, { .text = "a\xff" } }, "\"k\":\"a\xef\xbf\xbd\"",
	  "k=\"a\xef\xbf\xbd\"" },
	{ "what would steer a terminal", { "k", FL_KV_TYPE_TEXT, { .text = "\x1b[2J\x7f\xc2\x9b" } },
	  "\"k\":\"\\u001b[2J\\u007f\\u009b\"", "k=\"\\u001b[2J\\u007f\\u009b\"" },
	{ "a number", { "k", FL_KV_TYPE_INT, { .i = INT64_MIN } }, "\"k\":-9223372036854775808",
	  "k=-9223372036854775808" },
	{ "a large number", { "k", FL_KV_TYPE_UINT, { .u = UINT64_MAX } }, "\"k\":18446744073709551615",
	  "k=18446744073709551615" },
	{ "yes", { "k", FL_KV_TYPE_BOOL, { .is = true } }, "\"k\":true", "k=true" },
	{ "a while", { "k", FL_KV_TYPE_DURATION, { .i = 1500000000 } }, "\"k\":\"1.5s\"", "k=1.5s" },
	{ "a failure", { "error", FL_KV_TYPE_ERR, { .err = &denied } },
	  "\"error\":\"open '/x': Permission denied\",\"code\":\"denied\"",
		"error=\"open '/x': Permission denied\" code=denied" },
	{ "no failure", { "error", FL_KV_TYPE_ERR, { .err = NULL } }, NULL, NULL },
	{ "a secret is never shown", { "k", FL_KV_TYPE_SECRET, { .secret = { FL_S_INIT("hunter2") } } },
	  "\"k\":\"(secret)\"",
	  "k=(secret)" },
};

TEST(values_in_both_formats)
{
	EACH_ROW (row, values) {
		char want[300];
		struct fl_buf buf = FL_BUF_IN(want);
		struct fl_log *log = fresh();

		fl_log(log, FL_INFO, "m", row->kv);
		fl_buf_printf(&buf, "\"level\":\"info\",\"msg\":\"m\",%s%s\"at\":\"test_log.c:#\"}\n",
			row->json ? row->json : "",
			      row->json ? "," : "");
		CHECK_STR(said(), want);
		log = fresh();
		log->format = FL_LOG_TEXT;
		fl_log(log, FL_INFO, "m", row->kv);
		fl_buf_clear(&buf);
		fl_buf_printf(&buf, "2025-01-02T03:02:25.678901Z INFO  m %s%sat=test_log.c:#\n",
			row->console ? row->console : "",
			      row->console ? " " : "");
		CHECK_STR(said(), want);
	}
}

TEST(levels_may_change_at_any_time)
{
	struct fl_log *log = fresh();
	int asked = 0;

	fl_log(log, FL_DEBUG, "not shown", FL_KV_INT("asked", ++asked));
	CHECK_INT(out.calls, 0);
	CHECK_INT(asked, 0);
	log->level = FL_DEBUG;
	fl_log(log, FL_DEBUG, "shown", FL_KV_INT("asked", ++asked));
	CHECK_INT(out.calls, 1);
	CHECK_INT(asked, 1);
	log->level = FL_ERROR;
	fl_log(log, FL_WARN, "not shown");
	fl_log(log, FL_ERROR, "shown");
	CHECK_INT(out.calls, 2);
	CHECK(fl_str_ends(said(), FL_S("\"level\":\"error\",\"msg\":\"shown\",\"at\":\"test_log.c:#\"}\n")));
}

TEST(no_log_is_silent)
{
	int asked = 0;

	fl_log(NULL, FL_ERROR, "nobody listens", FL_KV_INT("asked", ++asked));
	fl_log_flush(NULL);
	CHECK_INT(asked, 0);
	if (asked == 0)
		fl_log(NULL, FL_ERROR, "one statement");
	else
		asked++;
	CHECK_INT(asked, 0);
}

static void chatter(struct fl_log *log)
{
	fl_log(log, FL_WARN, "again");
}

TEST(a_place_that_repeats_itself_is_held_back_and_counted)
{
	struct fl_log *log = fresh();

	for (int i = 0; i < FL_LOG_BURST + 7; i++)
		chatter(log);
	CHECK_INT(out.calls, FL_LOG_BURST);
	fl_log(log, FL_WARN, "another place is not held back");
	CHECK_INT(out.calls, FL_LOG_BURST + 1);
	out.now = FL_LOG_EVERY - 1;
	chatter(log);
	CHECK_INT(out.calls, FL_LOG_BURST + 1);
	out.now = FL_LOG_EVERY;
	out.len = 0;
	chatter(log);
	CHECK_STR(said(), "\"level\":\"warn\",\"msg\":\"again\",\"at\":\"test_log.c:#\",\"suppressed\":8}\n");
	chatter(log);
	CHECK_INT(out.calls, FL_LOG_BURST + 2);
	out.now += 3 * FL_LOG_EVERY;
	out.len = 0;
	chatter(log);
	CHECK_STR(said(), "\"level\":\"warn\",\"msg\":\"again\",\"at\":\"test_log.c:#\",\"suppressed\":1}\n");
	out.len = 0;
	chatter(log);
	CHECK_STR(said(), "\"level\":\"warn\",\"msg\":\"again\",\"at\":\"test_log.c:#\"}\n");
}

TEST(a_pause_gives_a_whole_burst_again_and_no_more)
{
	struct fl_log *log = fresh();

	out.now = 5;
	for (int i = 0; i < 100; i++)
		chatter(log);
	CHECK_INT(out.calls, FL_LOG_BURST);
	out.now += 1000 * FL_LOG_EVERY;
	out.calls = 0;
	for (int i = 0; i < 100; i++)
		chatter(log);
	CHECK_INT(out.calls, FL_LOG_BURST);
}

TEST(debug_is_never_held_back)
{
	struct fl_log *log = fresh();

	log->level = FL_DEBUG;
	for (int i = 0; i < 100; i++)
		fl_log(log, FL_DEBUG, "all of it");
	CHECK_INT(out.calls, 100);
}

TEST(a_flush_tells_what_was_held_back_last)
{
	struct fl_log *log = fresh();

	fl_log_flush(log);
	CHECK_INT(out.calls, 0);
	for (int i = 0; i < FL_LOG_BURST + 2; i++)
		chatter(log);
	out.len = 0;
	fl_log_flush(log);
	CHECK_STR(said(),
		  "\"level\":\"warn\",\"msg\":\"the last lines from here were held back\",\"at\":\"test_log.c:#\","
		  "\"suppressed\":2}\n");
	out.calls = 0;
	fl_log_flush(log);
	CHECK_INT(out.calls, 0);
}

TEST(more_places_than_there_is_room_for_share_and_still_log)
{
	struct fl_log *log = fresh();
	const struct fl_kv end = { .type = FL_KV_TYPE_END };

	for (uint32_t line = 1; line <= 2 * FL_LOG_SITES; line++)
		fl_log_(log, FL_INFO, "x.c", line, "m", &end);
	CHECK_INT(out.calls, 2 * FL_LOG_SITES);
	for (uint32_t line = 1; line <= FL_LOG_SITES; line++) {
		uint32_t found = 0;

		for (uint32_t i = 0; i < FL_LOG_SITES; i++)
			found += log->sites[i].line == line;
		CHECK_INT(found, 1);
	}
}

TEST(places_are_told_apart_by_file_and_line)
{
	struct fl_log *log = fresh();
	const struct fl_kv end = { .type = FL_KV_TYPE_END };
	char copy[] = "x.c";

	for (int i = 0; i < FL_LOG_BURST; i++)
		fl_log_(log, FL_INFO, "x.c", 1, "m", &end);
	out.calls = 0;
	fl_log_(log, FL_INFO, copy, 1, "the same, wherever its name is stored", &end);
	CHECK_INT(out.calls, 0);
	fl_log_(log, FL_INFO, "x.c", 2, "m", &end);
	fl_log_(log, FL_INFO, "y.c", 1, "m", &end);
	CHECK_INT(out.calls, 2);
}

static char lots[3 * FL_LOG_LINE];

static struct fl_str lots_of(const char *piece)
{
	size_t len = strlen(piece);

	for (size_t i = 0; i < sizeof lots; i++)
		lots[i] = piece[i % len];
	return (struct fl_str){ lots, sizeof lots };
}

TEST(a_long_value_ends_in_an_ellipsis_at_a_character)
{
	static const struct {
		const char *says, *piece;
		uint32_t kept;
	} rows[] = {
		{ "ASCII is cut anywhere", "x", FL_LOG_VALUE },
		{ "two bytes stay together", "\xc3\xa9", FL_LOG_VALUE },
		{ "three bytes stay together", "\xe2\x82\xac", FL_LOG_VALUE - 1 },
		{ "what is no character is cut anywhere", "\x80", 3 * (FL_LOG_VALUE - 3) },
	};

	EACH_ROW (row, rows) {
		struct fl_log *log = fresh();
		struct fl_str got;
		int64_t from;

		fl_log(log, FL_INFO, "m", FL_KV_STR("k", lots_of(row->piece)), FL_KV_INT("after", 1));
		got = said();
		CHECK(fl_str_utf8(got));
		from = fl_str_find(got, 'k');
		got = fl_str_sub(got, (uint32_t)from + 4, got.len);
		CHECK_INT(fl_str_find(got, '"'), row->kept + 3);
		CHECK_STR(fl_str_sub(got, row->kept, got.len), "\xe2\x80\xa6\",\"after\":1,\"at\":\"test_log.c:#\"}\n");
	}
}

TEST(a_line_never_passes_its_length_and_says_that_it_was_cut)
{
	static const struct fl_str ends[] = {
		[FL_LOG_JSON] = FL_S_INIT(",\"d\":\"\xe2\x80\xa6\",\"e\":5,\"at\":\"test_log.c:#\",\"cut\":true}\n"),
		[FL_LOG_TEXT] = FL_S_INIT(" d=\"\xe2\x80\xa6\" e=5 at=test_log.c:# cut=true\n"),
	};
	struct fl_log *log = fresh();
	struct fl_str x = lots_of("x");

	for (int format = 0; format < FL_LOG_FORMAT_COUNT_; format++) {
		log->format = (enum fl_log_format)format;
		out.len = 0;
		fl_log(log, FL_INFO, "m", FL_KV_STR("a", x), FL_KV_STR("b", x), FL_KV_STR("c", x), FL_KV_STR("d", x),
		       FL_KV_INT("e", 5));
		CHECK(out.last < FL_LOG_LINE);
		CHECK(fl_str_ends(said(), ends[format]));
	}
}

TEST(a_line_of_escapes_stays_whole_too)
{
	struct fl_log *log = fresh();
	struct fl_str x = lots_of("\x01");

	fl_log(log, FL_INFO, "m", FL_KV_STR("a", x), FL_KV_INT("b", 1));
	CHECK_STR(said(),
		  "\"level\":\"info\",\"msg\":\"m\",\"a\":\"\xe2\x80\xa6\",\"b\":1,\"at\":\"test_log.c:#\","
		  "\"cut\":true}\n");
}

TEST(keys_beyond_the_room_are_left_out)
{
	struct fl_log *log = fresh();
	struct fl_kv many[401];
	const struct fl_kv end = { .type = FL_KV_TYPE_END };

	for (int i = 0; i < 400; i++)
		many[i] = FL_KV_INT("a_number_of_some_sort", i);
	many[400] = end;
	fl_log_(log, FL_INFO, "x.c", 1, "m", many);
	CHECK(out.last < FL_LOG_LINE && out.last > FL_LOG_LINE - 200);
	CHECK(fl_str_ends(said(), FL_S(",\"at\":\"x.c:1\",\"cut\":true}\n")));
}

TEST(level_names_are_those_of_the_option)
{
	CHECK_INT(fl_name_find(&fl_level_names, FL_S("debug")), FL_DEBUG);
	CHECK_INT(fl_name_find(&fl_log_format_names, FL_S("text")), FL_LOG_TEXT);
}

/* I6 a journal that is stuck: what is missing is told as soon as a line is taken again. */
TEST(lines_that_are_not_taken_are_counted_and_told_with_the_next_one)
{
	struct fl_log *log = fresh();

	out.full = true;
	for (int i = 0; i < FL_LOG_BURST + 3; i++)   /* three are suppressed, which is no loss */
		fl_log(log, FL_INFO, "a");
	CHECK_INT(log->lost, FL_LOG_BURST);
	fl_log_flush(log);
	CHECK_INT(log->lost, FL_LOG_BURST + 2);       /* of what was suppressed, and of what was lost */
	CHECK_INT(out.len, 0);
	out.full = false;
	out.now = FL_LOG_BURST * FL_LOG_EVERY;
	fl_log(log, FL_INFO, "b");
	CHECK_STR(said(), "\"level\":\"info\",\"msg\":\"b\",\"at\":\"test_log.c:#\",\"lost\":22}\n");
	out.len = 0;
	fl_log(log, FL_INFO, "c");
	CHECK_STR(said(), "\"level\":\"info\",\"msg\":\"c\",\"at\":\"test_log.c:#\"}\n");
	out.len = 0;
	fl_log_flush(log);                            /* what was suppressed is told still */
	CHECK(strstr(out.text, "\"suppressed\":3"));
	out.full = true;
	fl_log(log, FL_INFO, "d");
	out.full = false;
	out.len = 0;
	fl_log_flush(log);                            /* at the end no line follows that would tell */
	CHECK(strstr(out.text, "the last lines of the log were lost") && strstr(out.text, "\"lost\":1}"));
	CHECK_INT(log->lost, log->lost_told);
}
