#include "base/metrics.h"
#include "base/vec.h"
#include "test.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const uint64_t seed[2] = { 3, 4 };

/* ---- a reader of the text format, from its definition and not from the writer ---- */

struct sample {
	struct fl_str name;
	struct fl_str labels;   /* as they stand in the text, between the braces */
	struct fl_str value;
};

struct text {
	FL_VEC(struct sample) samples;
	FL_VEC(struct fl_str) families;
	const char *wrong;      /* the first thing that no Prometheus would take */
};

static void text_auto_(struct text *text)
{
	fl_vec_free(&text->samples);
	fl_vec_free(&text->families);
}

static struct fl_str word(struct fl_str *rest)
{
	struct fl_str part = { "", 0 };

	(void)fl_str_split(rest, ' ', &part);
	return part;
}

/* name="value",name="value" up to the brace; false when it is not that. */
static bool read_labels(struct fl_str *rest, struct fl_str *ret)
{
	const char *start = rest->p;
	uint32_t i = 0;

	while (i < rest->len && rest->p[i] != '}') {
		while (i < rest->len && (rest->p[i] == '_' || (rest->p[i] | 0x20) >= 'a'))
			i++;
		if (i + 1 >= rest->len || rest->p[i] != '=' || rest->p[i + 1] != '"')
			return false;
		for (i += 2; i < rest->len && rest->p[i] != '"'; i++)
			if (rest->p[i] == '\\' && (i++, i >= rest->len || !strchr("\\\"n", rest->p[i])))
				return false;
		if (i >= rest->len)
			return false;
		i++;
		if (i < rest->len && rest->p[i] == ',')
			i++;
		else if (i >= rest->len || rest->p[i] != '}')
			return false;
	}
	*ret = (struct fl_str){ start, i };
	*rest = fl_str_sub(*rest, i + 1, rest->len);
	return true;
}

/* One of the family's names: itself, or with a suffix when it is a histogram. */
static bool belongs(struct fl_str name, struct fl_str family, bool histogram)
{
	struct fl_str suffix;

	if (!fl_str_starts(name, family))
		return false;
	suffix = fl_str_sub(name, family.len, name.len);
	return histogram ? fl_str_eq(suffix, FL_S("_bucket")) || fl_str_eq(suffix, FL_S("_sum")) ||
				   fl_str_eq(suffix, FL_S("_count")) :
			   suffix.len == 0;
}

static int read_sample(struct text *text, struct fl_str line, struct fl_str family, bool histogram)
{
	struct sample sample = { .name = line };
	char number[64], *end;

	for (uint32_t i = 0; i < line.len; i++)
		if (line.p[i] == '{' || line.p[i] == ' ') {
			sample.name = fl_str_sub(line, 0, i);
			break;
		}
	line = fl_str_sub(line, sample.name.len, line.len);
	if (fl_str_starts(line, FL_S("{"))) {
		line = fl_str_sub(line, 1, line.len);
		if (!read_labels(&line, &sample.labels))
			text->wrong = "labels";
	}
	if (!fl_str_starts(line, FL_S(" ")) || line.len > 60)
		text->wrong = "no value";
	sample.value = fl_str_sub(line, 1, line.len);
	(void)snprintf(number, sizeof number, "%.*s", FL_ARG(sample.value));
	if (number[0] == 0 || (strtod(number, &end), *end))
		text->wrong = "the value is no number";
	if (!belongs(sample.name, family, histogram))
		text->wrong = "a sample among those of another family";
	fl_vec_each (other, &text->samples)
		if (fl_str_eq(other->name, sample.name) && fl_str_eq(other->labels, sample.labels))
			text->wrong = "a sample twice";
	return fl_vec_push(&text->samples, sample);
}

static int read_text(struct text *text, struct fl_str all)
{
	struct fl_str line, family = { NULL, 0 }, type = { NULL, 0 }, rest;
	int result = 0;

	if (all.len && all.p[all.len - 1] != '\n')
		text->wrong = "the last line has no end";
	if (!fl_str_utf8(all))
		text->wrong = "not UTF-8";
	for (all.len -= all.len > 0; result == 0 && all.p && fl_str_split(&all, '\n', &line);) {
		rest = line;
		if (fl_str_starts(line, FL_S("# HELP "))) {
			rest = fl_str_sub(line, 7, line.len);
			family = word(&rest);
			type.p = NULL;
			fl_vec_each (other, &text->families)
				if (fl_str_eq(*other, family))
					text->wrong = "a family twice";
			result = fl_vec_push(&text->families, family);
		} else if (fl_str_starts(line, FL_S("# TYPE "))) {
			rest = fl_str_sub(line, 7, line.len);
			if (!fl_str_eq(word(&rest), family) || type.p)
				text->wrong = "TYPE of another family than HELP";
			type = rest;
		} else if (!type.p) {
			text->wrong = "a sample before TYPE";
		} else {
			result = read_sample(text, line, family, fl_str_eq(type, FL_S("histogram")));
		}
	}
	return result;
}

/* What one scrape says of `name{labels}`, or "nothing". */
static struct fl_str value_of(const struct text *text, const char *name, const char *labels)
{
	fl_vec_each (sample, &text->samples)
		if (fl_str_eq(sample->name, fl_str(name)) && fl_str_eq(sample->labels, fl_str(labels)))
			return sample->value;
	return FL_S("nothing");
}

#define SCRAPE(text, buf, metrics) \
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_METRICS_TEXT); \
	FL_AUTO(text) struct text text = { .wrong = NULL }; \
	OK(fl_metrics_write(metrics, &buf, NULL)); \
	OK(read_text(&text, fl_buf_view(&buf))); \
	CHECK_STR(fl_str(text.wrong), "")

/* ---- the cases ---- */

enum { TOTAL, PLAIN, SECONDS, STATE };

static const double bounds[] = { 0.001, 0.1, 2.5 };
static const struct fl_metric rows[] = {
	[TOTAL] = { "fairlead_allocations_total", "Allocate calls.", FL_COUNTER, .labels = { "resource", "result" } },
	[PLAIN] = { "fairlead_cards", "Cards\nin a \\ \"node\".", FL_GAUGE },
	[SECONDS] = { "fairlead_allocate_seconds", "How long.", FL_HISTOGRAM, .labels = { "resource" },
		FL_METRIC_BUCKETS(bounds) },
	[STATE] = { "fairlead_state", "Few series.", FL_GAUGE, .labels = { "gpu" }, .max_series = 2 },
};

#define VALUES(...) ((const struct fl_str[]){ __VA_ARGS__ })
#define FRESH(metrics, family) \
	FL_AUTO(fl_metrics) struct fl_metrics *metrics = fl_metrics_new(seed, NULL); \
	struct fl_family *family[FL_LEN(rows)]; \
	GOT(metrics); \
	OK(fl_metrics_add(metrics, rows, FL_LEN(rows), NULL, family, NULL))

TEST(a_scrape_is_exactly_the_format)
{
	FRESH(metrics, family);
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_METRICS_TEXT);

	fl_count(fl_series(family[TOTAL], VALUES(FL_S("nvidia.com/gpu"), FL_S("ok"))), 2);
	fl_set(fl_series(family[PLAIN], NULL), 8);
	fl_observe(fl_series(family[SECONDS], VALUES(FL_S("x"))), 0.05);
	fl_observe(fl_series(family[SECONDS], VALUES(FL_S("x"))), 99);
	OK(fl_metrics_write(metrics, &buf, NULL));
	if (test_tortured())
		return;   /* a series that was refused shows as overflow */
	CHECK_STR(fl_buf_view(&buf),
		  "# HELP fairlead_allocations_total Allocate calls.\n"
		  "# TYPE fairlead_allocations_total counter\n"
		  "fairlead_allocations_total{resource=\"nvidia.com/gpu\",result=\"ok\"} 2\n"
		  "# HELP fairlead_cards Cards\\nin a \\\\ \"node\".\n"
		  "# TYPE fairlead_cards gauge\n"
		  "fairlead_cards 8\n"
		  "# HELP fairlead_allocate_seconds How long.\n"
		  "# TYPE fairlead_allocate_seconds histogram\n"
		  "fairlead_allocate_seconds_bucket{resource=\"x\",le=\"0.001\"} 0\n"
		  "fairlead_allocate_seconds_bucket{resource=\"x\",le=\"0.1\"} 1\n"
		  "fairlead_allocate_seconds_bucket{resource=\"x\",le=\"2.5\"} 1\n"
		  "fairlead_allocate_seconds_bucket{resource=\"x\",le=\"+Inf\"} 2\n"
		  "fairlead_allocate_seconds_sum{resource=\"x\"} 99.05\n"
		  "fairlead_allocate_seconds_count{resource=\"x\"} 2\n");
}

TEST(what_was_never_counted_is_left_out_unless_it_has_no_labels)
{
	FRESH(metrics, family);
	SCRAPE(text, buf, metrics);

	CHECK_INT(text.families.len, 1);
	CHECK_STR(value_of(&text, "fairlead_cards", ""), "0");
}

static const struct {
	const char *says;
	struct fl_str value;
	const char *escaped;
} labels[] = {
	{ "plain text stays", FL_S_INIT("a-b.c/d"), "a-b.c/d" },
	{ "a quote", FL_S_INIT("\""), "\\\"" },
	{ "a backslash", FL_S_INIT("\\"), "\\\\" },
	{ "a line end", FL_S_INIT("a\nb"), "a\\nb" },
	{ "a backslash and an n are no line end", FL_S_INIT("\\n"), "\\\\n" },
	{ "letters beyond ASCII stay", FL_S_INIT("\xc3\xa9"), "\xc3\xa9" },
	{ "what is not UTF-8 is replaced", FL_S_INIT("a\xff"), "a\xef\xbf\xbd" },
	{ "an empty value", { NULL, 0 }, "" },
	{ "braces and commas mean nothing", FL_S_INIT("},{"), "},{" },
};

TEST(label_values_are_escaped)
{
	EACH_ROW (row, labels) {
		FRESH(metrics, family);
		char want[64];

		fl_set(fl_series(family[STATE], VALUES(row->value)), 1);
		SCRAPE(text, buf, metrics);
		if (test_tortured())
			return;
		(void)snprintf(want, sizeof want, "gpu=\"%s\"", row->escaped);
		CHECK_STR(value_of(&text, "fairlead_state", want), "1");
	}
}

static const struct {
	const char *says;
	double value;
	const char *want;
} numbers[] = {
	{ "zero", 0, "0" },
	{ "less than zero by nothing", -0.0, "-0" },
	{ "a whole number", 42, "42" },
	{ "a negative one", -42, "-42" },
	{ "a tenth is written as people do", 0.1, "0.1" },
	{ "a negative fraction", -0.5, "-0.5" },
	{ "watts", 312.457, "312.457" },
	{ "a millionth", 0.000001, "0.000001" },
	{ "a billionth", 1e-9, "1e-09" },
	{ "as many digits as are needed", 1.0 / 3, "0.3333333333333333" },
	{ "no digit too many", 2.0 / 3, "0.6666666666666666" },
	{ "what a sum of tenths really is", 0.1 + 0.2, "0.30000000000000004" },
	{ "large", 123456789012345.0, "123456789012345" },
	{ "larger than the short way takes", 9007199254740993.0, "9007199254740992" },
	{ "very large", 1e300, "1e+300" },
	{ "no end", INFINITY, "+Inf" },
	{ "no end downwards", -INFINITY, "-Inf" },
	{ "no number", NAN, "NaN" },
};

TEST(values_are_exact_and_short)
{
	EACH_ROW (row, numbers) {
		FRESH(metrics, family);

		fl_set(fl_series(family[PLAIN], NULL), row->value);
		SCRAPE(text, buf, metrics);
		CHECK_STR(value_of(&text, "fairlead_cards", ""), row->want);
	}
}

TEST(any_value_reads_back_as_it_was)
{
	FRESH(metrics, family);

	for (int i = 0; i < 400 && !test_tortured(); i++) {
		uint64_t bits = test_random();
		double value = i % 2 ? (double)(int64_t)(bits >> 24) / 1000 : 0;
		FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(4000);
		struct fl_str text;

		if (i % 2 == 0)
			memcpy(&value, &bits, sizeof value);
		if (!isfinite(value))
			continue;
		fl_set(fl_series(family[PLAIN], NULL), value);
		OK(fl_metrics_write(metrics, &buf, NULL));
		text = fl_str_trim(fl_buf_view(&buf));
		while (fl_str_find(text, ' ') >= 0)
			text = fl_str_sub(text, (uint32_t)fl_str_find(text, ' ') + 1, text.len);
		CHECK(strtod(text.p, NULL) == value);
	}
}

TEST(the_same_labels_are_the_same_series)
{
	FRESH(metrics, family);
	struct fl_series *a = fl_series(family[TOTAL], VALUES(FL_S("x"), FL_S("ok")));

	if (test_tortured())
		return;
	CHECK(fl_series(family[TOTAL], VALUES(FL_S("x"), FL_S("ok"))) == a);
	CHECK(fl_series(family[TOTAL], VALUES(FL_S("ok"), FL_S("x"))) != a);
	CHECK(fl_series(family[PLAIN], NULL) == fl_series(family[PLAIN], NULL));
}

TEST(buckets_hold_what_is_not_above_their_bound)
{
	static const struct {
		const char *says;
		double value;
		int bucket;
	} in[] = {
		{ "below the first", 0, 0 },
		{ "less than nothing", -5, 0 },
		{ "at a bound", 0.1, 1 },
		{ "just above it", 0.100001, 2 },
		{ "at the last bound", 2.5, 2 },
		{ "above the last", 2.6, 3 },
		{ "no end", INFINITY, 3 },
		{ "no number", NAN, 3 },
	};

	EACH_ROW (row, in) {
		FRESH(metrics, family);
		struct fl_series *series = fl_series(family[SECONDS], VALUES(FL_S("x")));

		fl_observe(series, row->value);
		for (int i = 0; i < 4; i++)
			CHECK_INT(series->counts[i], i == row->bucket);
	}
}

TEST(a_series_that_is_removed_is_no_longer_told)
{
	FRESH(metrics, family);
	struct fl_series *a = fl_series(family[TOTAL], VALUES(FL_S("a"), FL_S("ok")));
	struct fl_series *b = fl_series(family[TOTAL], VALUES(FL_S("b"), FL_S("ok")));
	struct fl_series *c = fl_series(family[TOTAL], VALUES(FL_S("c"), FL_S("ok")));

	if (test_tortured())
		return;
	fl_count(a, 1);
	fl_count(c, 3);
	fl_series_remove(b);
	{
		SCRAPE(text, buf, metrics);
		CHECK_STR(value_of(&text, "fairlead_allocations_total", "resource=\"a\",result=\"ok\""), "1");
		CHECK_STR(value_of(&text, "fairlead_allocations_total", "resource=\"b\",result=\"ok\""), "nothing");
		CHECK_STR(value_of(&text, "fairlead_allocations_total", "resource=\"c\",result=\"ok\""), "3");
	}
	fl_series_remove(c);
	fl_series_remove(a);
	b = fl_series(family[TOTAL], VALUES(FL_S("b"), FL_S("ok")));
	if (test_tortured())
		return;
	CHECK(b->value == 0);
	SCRAPE(text, buf, metrics);
	CHECK_INT(text.samples.len, 2);
	fl_series_remove(fl_series(family[PLAIN], NULL));
	CHECK(fl_series(family[PLAIN], NULL) != NULL);
}

TEST(what_passes_the_limit_is_counted_together_and_told)
{
	FRESH(metrics, family);

	for (int i = 0; i < 5; i++) {
		char name[12];

		(void)snprintf(name, sizeof name, "%d", i);
		fl_count(fl_series(family[STATE], VALUES(fl_str(name))), 1);
	}
	SCRAPE(text, buf, metrics);
	if (test_tortured())
		return;
	CHECK_STR(value_of(&text, "fairlead_state", "gpu=\"0\""), "1");
	CHECK_STR(value_of(&text, "fairlead_state", "gpu=\"1\""), "1");
	CHECK_STR(value_of(&text, "fairlead_state", "gpu=\"2\""), "nothing");
	CHECK_STR(value_of(&text, "fairlead_state", "gpu=\"overflow\""), "3");
	CHECK_STR(value_of(&text, "fairlead_metrics_refused_total", "metric=\"fairlead_state\""), "3");
}

TEST(room_comes_back_when_a_series_goes)
{
	FRESH(metrics, family);
	struct fl_series *a = fl_series(family[STATE], VALUES(FL_S("a")));
	struct fl_series *b = fl_series(family[STATE], VALUES(FL_S("b")));
	struct fl_series *c = fl_series(family[STATE], VALUES(FL_S("c")));

	if (test_tortured())
		return;
	CHECK(a != c && b != c && c->is_overflow);
	fl_series_remove(c);
	fl_series_remove(a);
	c = fl_series(family[STATE], VALUES(FL_S("c")));
	CHECK(test_tortured() || !c->is_overflow);
}

TEST(a_device_named_overflow_makes_no_double)
{
	FRESH(metrics, family);

	fl_set(fl_series(family[STATE], VALUES(FL_S("overflow"))), 1);
	for (int i = 0; i < 3; i++)
		fl_set(fl_series(family[STATE], VALUES(i ? i == 1 ? FL_S("1") : FL_S("2") : FL_S("0"))), 1);
	SCRAPE(text, buf, metrics);
	CHECK_STR(value_of(&text, "fairlead_state", "gpu=\"overflow\""), "1");
}

TEST(without_memory_a_series_is_still_in_hand)
{
	FRESH(metrics, family);
	struct fl_series *series = fl_series(family[TOTAL], VALUES(FL_S("x"), FL_S("ok")));

	CHECK(series != NULL);
	fl_count(series, 1);
	CHECK(!series->is_overflow || test_tortured());
}

TEST(long_values_are_cut_at_a_character)
{
	FRESH(metrics, family);
	char long_a[400], long_b[400];

	for (size_t i = 0; i < sizeof long_a; i++)
		long_a[i] = "\xe2\x82\xac"[i % 3];
	memcpy(long_b, long_a, sizeof long_b);
	fl_set(fl_series(family[STATE], VALUES(((struct fl_str){ long_a, sizeof long_a }))), 1);
	fl_set(fl_series(family[STATE], VALUES(((struct fl_str){ long_b, 300 }))), 2);
	SCRAPE(text, buf, metrics);
	if (test_tortured())
		return;
	CHECK_INT(text.samples.len, 2);
	CHECK_INT(text.samples.at[1].labels.len, FL_METRIC_VALUE - 1 + 6);
	CHECK_STR(text.samples.at[1].value, "2");
}

static void collect(struct fl_scrape *scrape, void *self)
{
	const int *cards = self;

	for (int i = 0; i < *cards; i++) {
		char name[12];

		(void)snprintf(name, sizeof name, "%d", i);
		fl_scrape_value(scrape, VALUES(fl_str(name)), 60 + i);
	}
}

TEST(values_can_be_asked_for_at_scrape_time)
{
	static const struct fl_metric warm = { "DCGM_FI_DEV_GPU_TEMP", "Degrees.", FL_GAUGE, .labels = { "gpu" },
					       .collect = collect, .max_series = 3 };
	FRESH(metrics, family);
	struct fl_family *degrees;
	int cards = 2;

	OK(fl_metrics_add(metrics, &warm, 1, &cards, &degrees, NULL));
	{
		SCRAPE(text, buf, metrics);
		CHECK_STR(value_of(&text, "DCGM_FI_DEV_GPU_TEMP", "gpu=\"1\""), "61");
	}
	cards = 0;
	{
		SCRAPE(text, buf, metrics);
		CHECK_INT(text.families.len, 1);
	}
	cards = 5;
	SCRAPE(text, buf, metrics);
	CHECK_STR(value_of(&text, "DCGM_FI_DEV_GPU_TEMP", "gpu=\"2\""), "62");
	CHECK_STR(value_of(&text, "DCGM_FI_DEV_GPU_TEMP", "gpu=\"3\""), "nothing");
	CHECK_STR(value_of(&text, "fairlead_metrics_refused_total", "metric=\"DCGM_FI_DEV_GPU_TEMP\""), "2");
}

static const double down[] = { 2, 1 }, endless[] = { 1, INFINITY };
static char long_name[FL_METRIC_NAME + 2];
static const struct {
	const char *says;
	struct fl_metric row;
	enum fl_code code;
	const char *words;
} refusals[] = {
	{ "a name that is taken", { "fairlead_cards", "h", FL_GAUGE }, FL_E_EXISTS,
	  "metric fairlead_cards: there is one of this name" },
	{ "a name with a dash", { "a-b", "h", FL_GAUGE }, FL_E_INVALID, "metric 'a-b': no name for a metric" },
	{ "a name that begins with a digit", { "1a", "h", FL_GAUGE }, FL_E_INVALID,
	  "metric '1a': no name for a metric" },
	{ "an empty name", { "", "h", FL_GAUGE }, FL_E_INVALID, "metric '': no name for a metric" },
	{ "no name", { NULL, "h", FL_GAUGE }, FL_E_INVALID, "metric '': no name for a metric" },
	{ "no help", { "a", NULL, FL_GAUGE }, FL_E_INVALID, "metric a: no help" },
	{ "a label with a colon", { "a", "h", FL_GAUGE, .labels = { "x:y" } }, FL_E_INVALID,
	  "metric a: 'x:y' is no name for a label" },
	{ "a label of Prometheus' own", { "a", "h", FL_GAUGE, .labels = { "__x" } }, FL_E_INVALID,
	  "metric a: '__x' is no name for a label" },
	{ "a histogram's own label", { "a", "h", FL_HISTOGRAM, .labels = { "le" }, FL_METRIC_BUCKETS(bounds) },
	  FL_E_INVALID,
	  "metric a: 'le' is no name for a label" },
	{ "a label twice", { "a", "h", FL_GAUGE, .labels = { "x", "y", "x" } }, FL_E_INVALID,
	  "metric a: label 'x' twice" },
	{ "a histogram without buckets", { "a", "h", FL_HISTOGRAM }, FL_E_INVALID,
	  "metric a: a histogram, and nothing else, has 1 to 32 buckets" },
	{ "a gauge with buckets", { "a", "h", FL_GAUGE, FL_METRIC_BUCKETS(bounds) }, FL_E_INVALID,
	  "metric a: a histogram, and nothing else, has 1 to 32 buckets" },
	{ "buckets that descend", { "a", "h", FL_HISTOGRAM, FL_METRIC_BUCKETS(down) }, FL_E_INVALID,
	  "metric a: buckets must ascend and be finite" },
	{ "a bucket that is the last one's", { "a", "h", FL_HISTOGRAM, FL_METRIC_BUCKETS(endless) }, FL_E_INVALID,
	  "metric a: buckets must ascend and be finite" },
	{ "a histogram that is collected", { "a", "h", FL_HISTOGRAM, FL_METRIC_BUCKETS(bounds), .collect = collect },
	  FL_E_INVALID,
	  "metric a: a histogram cannot be collected" },
};

TEST(rows_that_prometheus_would_not_take_are_refused)
{
	EACH_ROW (row, refusals) {
		FRESH(metrics, family);
		const struct fl_metric both[] = { { "fine", "h", FL_GAUGE }, row->row };
		struct fl_family *ret[2];
		struct fl_err err;

		REFUSED(fl_metrics_add(metrics, both, 2, NULL, ret, &err), row->code);
		CHECK(test_tortured() || fl_str_eq(fl_str(err.text), fl_str(row->words)));
		/* The table's first row went with the second: its name is free again. */
		OK(fl_metrics_add(metrics, both, 1, NULL, ret, &err));
		SCRAPE(text, buf, metrics);
		CHECK_INT(text.families.len, 2);
	}
}

TEST(a_name_has_a_longest)
{
	FRESH(metrics, family);
	const struct fl_metric row = { long_name, "h", FL_GAUGE };
	struct fl_family *ret;

	memset(long_name, 'a', sizeof long_name - 1);
	REFUSED(fl_metrics_add(metrics, &row, 1, NULL, &ret, NULL), FL_E_INVALID);
	long_name[FL_METRIC_NAME] = 0;
	OK(fl_metrics_add(metrics, &row, 1, NULL, &ret, NULL));
}

TEST(a_scrape_that_does_not_fit_says_so)
{
	FRESH(metrics, family);
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(20);

	REFUSED(fl_metrics_write(metrics, &buf, NULL), FL_E_TOOBIG);
}
