/* Floor 1 with texts from outside: what is printed is UTF-8, one line and within its bounds; what is read reads
 * back. */
#include "base/base64.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/option.h"
#include "base/units.h"
#include "fuzz.h"
#include <assert.h>

static bool one_line(void *self, const char *line, size_t len)
{
	(void)self;
	assert(len > 0 && len < FL_LOG_LINE && line[len - 1] == '\n' && memchr(line, '\n', len) == line + len - 1);
	assert(fl_str_utf8((struct fl_str){ line, (uint32_t)len }));
	for (size_t i = 0; i + 1 < len; i++)
		assert((unsigned char)line[i] >= ' ' && line[i] != 0x7f);
	return true;
}

static uint64_t now(void *self)
{
	(void)self;
	return 0;
}

static int64_t wall(void *self)
{
	(void)self;
	return 0;
}

static void log_it(struct fl_str text)
{
	static struct fl_log log;

	fl_log_init(&log, &(struct fl_log_to){ .line = one_line, .now = now, .wall = wall }, "fuzz");
	for (int format = 0; format < FL_LOG_FORMAT_COUNT_; format++) {
		log.format = (enum fl_log_format)format;
		fl_log(&log, FL_INFO, "text", FL_KV_STR("a", text),
		       FL_KV_STR("b", fl_str_sub(text, text.len / 2, text.len)),
		       FL_KV_STR("c", text), FL_KV_STR("d", text));
	}
}

static void base64_it(struct fl_str text)
{
	for (int form = FL_BASE64_STD; form <= FL_BASE64_URL_RAW; form++) {
		FL_AUTO(fl_buf) struct fl_buf bytes = FL_BUF(FL_MIB), again = FL_BUF(FL_MIB);

		if (fl_base64_get(&bytes, (enum fl_base64)form, text, NULL) < 0)
			continue;
		fl_base64_put(&again, (enum fl_base64)form, bytes.p, bytes.len);
		assert(fl_str_eq(fl_buf_view(&again), text));
	}
}

static void units_it(struct fl_str text)
{
	char printed[64];
	struct fl_buf buf = FL_BUF_IN(printed);
	int64_t value, back;

	if (fl_duration(text, &value)) {
		fl_buf_duration(&buf, value);
		assert(fl_duration(fl_buf_view(&buf), &back) && back == value);
	}
}

static void label_it(struct fl_str text)
{
	static const struct fl_metric row = { "m", "h", FL_GAUGE, .labels = { "l" } };
	static const uint64_t seed[2] = { 1, 2 };
	FL_AUTO(fl_metrics) struct fl_metrics *metrics = fl_metrics_new(seed, NULL);
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_MIB);
	struct fl_family *family;
	uint32_t lines = 0;

	if (!metrics || fl_metrics_add(metrics, &row, 1, NULL, &family, NULL) < 0)
		return;
	fl_set(fl_series(family, &text), 1);
	if (fl_metrics_write(metrics, &buf, NULL) < 0)
		return;
	assert(fl_str_utf8(fl_buf_view(&buf)));
	for (size_t i = 0; i < buf.len; i++)
		lines += buf.p[i] == '\n';
	assert(lines == 3);
}

struct config {
	int64_t number, time;
	bool is;
	struct fl_strs list, rest;
};

static const struct fl_option options[] = {
	FL_OPT_INT(struct config, number, "number", "N.", .letter = 'n', .min = -5, .max = 5),
	FL_OPT_DURATION(struct config, time, "time", "T.", .letter = 't'),
	FL_OPT_BOOL(struct config, is, "is", "I.", .letter = 'i'),
	FL_OPT_STRS(struct config, list, "list", "L.", .letter = 'l', .fallback = "a,b"),
	FL_OPT_STRS(struct config, rest, "REST", "R.", .operand = true),
};

/* The text's lines are the arguments, and the first the environment. */
static void options_it(struct fl_str text)
{
	static const struct fl_options table = { options, FL_LEN(options), "F_" };
	FL_AUTO(fl_mem) char *copy = fl_strdup(text);
	struct config config = { .number = 0 };
	const char *argv[64], *env[] = { copy, NULL };
	struct fl_args args = { .argv = argv, .env = env };
	struct fl_err err;
	bool help;

	for (char *p = copy; p && args.argc < FL_LEN(argv); args.argc++) {
		argv[args.argc] = p;
		p = strchr(p, '\n');
		if (p)
			*p++ = 0;
	}
	if (copy && fl_options_parse(&table, &args, &config, &help, &err) == 0)
		assert(config.number >= -5 && config.number <= 5 && config.time >= 0);
	fl_options_release(&table, &config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fl_str text = { (const char *)data, (uint32_t)size };

	log_it(text);
	base64_it(text);
	units_it(text);
	label_it(text);
	options_it(text);
	return 0;
}
