#include "base/metrics.h"
#include "base/chain.h"
#include "base/hmap.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define FL_METRIC_BUCKETS_MAX 32   /* of one histogram */

FL_NAMES(fl_metric_kind_names, FL_METRIC_KIND_COUNT_,
	 [FL_COUNTER] = "counter", [FL_GAUGE] = "gauge", [FL_HISTOGRAM] = "histogram");

const double fl_latency_buckets[16] = {
	0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
};

/* The label text of a series: {a="x",b="y"} without the braces, ready to be written. All values at their longest and
 * every byte escaped, that is what one may take. */
enum { LABELS_MAX = FL_METRIC_LABELS * (2 * FL_METRIC_VALUE + FL_METRIC_NAME + 8) };

struct fl_family {
	const struct fl_metric *row;
	struct fl_metrics *metrics;
	void *self;
	struct fl_family *next;
	uint32_t labels, max, refused;
	struct fl_series *first, **last;   /* in the order in which they came */
	struct fl_series *overflow;        /* made with the family, so that there always is one; or the only one */
	struct fl_hmap by_labels;
};

struct fl_metrics {
	uint64_t seed[2];
	struct fl_family *first, **last;
	struct fl_hmap by_name;
};

struct fl_scrape {
	struct fl_buf *buf;
	struct fl_family *family;
	uint32_t collected;
	bool any;   /* HELP and TYPE are written */
};

/* ---- the registry ---- */

static struct fl_str name_of(const void *family)
{
	return fl_str(((const struct fl_family *)family)->row->name);
}

static uint32_t counts_of(const struct fl_metric *row)
{
	return row->kind == FL_HISTOGRAM ? row->bucket_count + 1 : 0;
}

static struct fl_str labels_of(const void *object)
{
	const struct fl_series *series = object;

	return (struct fl_str){ (const char *)&series->counts[counts_of(series->family->row)], series->len };
}

struct fl_metrics *fl_metrics_new(const uint64_t seed[2], struct fl_err *err)
{
	struct fl_metrics *metrics = fl_zalloc(sizeof *metrics);

	if (!metrics)
		return fl_null(err, FL_E_NOMEM, "metrics");
	metrics->seed[0] = seed[0];
	metrics->seed[1] = seed[1];
	metrics->last = &metrics->first;
	fl_hmap_init(&metrics->by_name, name_of, seed);
	return metrics;
}

static void family_free(struct fl_family *family)
{
	while (family->first)
		fl_series_remove(family->first);
	fl_hmap_free(&family->by_labels);
	fl_free(family->overflow);
	fl_free(family);
}

struct fl_metrics *fl_metrics_free(struct fl_metrics *metrics)
{
	if (!metrics)
		return NULL;
	while (metrics->first) {
		struct fl_family *family = metrics->first;

		metrics->first = family->next;
		family_free(family);
	}
	fl_hmap_free(&metrics->by_name);
	fl_free(metrics);
	return NULL;
}

static bool is_name(const char *name, bool colon)
{
	size_t i;

	for (i = 0; name && name[i] && i <= FL_METRIC_NAME; i++) {
		char c = name[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c == ':' && colon) ||
		      (c >= '0' && c <= '9' && i > 0)))
			return false;
	}
	return i > 0 && i <= FL_METRIC_NAME;
}

static int check_labels(const struct fl_metric *row, struct fl_err *err)
{
	for (uint32_t i = 0; i < FL_METRIC_LABELS && row->labels[i]; i++) {
		const char *label = row->labels[i];

		if (!is_name(label, false) || strncmp(label, "__", 2) == 0 ||
		    (row->kind == FL_HISTOGRAM && strcmp(label, "le") == 0))
			return fl_fail(err, FL_E_INVALID, "metric %s: '%s' is no name for a label", row->name, label);
		for (uint32_t k = 0; k < i; k++)
			if (strcmp(label, row->labels[k]) == 0)
				return fl_fail(err, FL_E_INVALID, "metric %s: label '%s' twice", row->name, label);
	}
	return 0;
}

static int check_row(const struct fl_metric *row, struct fl_err *err)
{
	if (!is_name(row->name, true))
		return fl_fail(err, FL_E_INVALID, "metric '%s': no name for a metric", row->name ? row->name : "");
	if (!row->help)
		return fl_fail(err, FL_E_INVALID, "metric %s: no help", row->name);
	if ((row->kind == FL_HISTOGRAM) != (row->bucket_count > 0) || row->bucket_count > FL_METRIC_BUCKETS_MAX)
		return fl_fail(err, FL_E_INVALID, "metric %s: a histogram, and nothing else, has 1 to %d buckets",
			       row->name, FL_METRIC_BUCKETS_MAX);
	if (row->kind == FL_HISTOGRAM && row->collect)
		return fl_fail(err, FL_E_INVALID, "metric %s: a histogram cannot be collected", row->name);
	for (uint32_t i = 0; i < row->bucket_count; i++)
		if (!isfinite(row->buckets[i]) || (i > 0 && row->buckets[i] <= row->buckets[i - 1]))
			return fl_fail(err, FL_E_INVALID, "metric %s: buckets must ascend and be finite", row->name);
	return check_labels(row, err);
}

/* ---- label text ---- */

void fl_metrics_put_text(struct fl_buf *buf, struct fl_str s, bool quotes)
{
	while (s.len) {
		uint32_t len = fl_str_utf8_len(s);

		if (len == 0)
			fl_buf_str(buf, FL_S("\xef\xbf\xbd"));
		else if (s.p[0] == '\n')
			fl_buf_str(buf, FL_S("\\n"));
		else if (s.p[0] == '\\' || (s.p[0] == '"' && quotes))
			fl_buf_put(buf, (char[]){ '\\', s.p[0] }, 2);
		else
			fl_buf_put(buf, s.p, len);
		s = fl_str_sub(s, len ? len : 1, s.len);
	}
}

static struct fl_str cut(struct fl_str s)
{
	uint32_t len = FL_METRIC_VALUE;

	if (s.len <= len)
		return s;
	while (len > FL_METRIC_VALUE - 3 && ((unsigned char)s.p[len] & 0xc0) == 0x80)
		len--;
	return fl_str_sub(s, 0, len);
}

static void put_labels(struct fl_buf *buf, const struct fl_family *family, const struct fl_str *values)
{
	for (uint32_t i = 0; i < family->labels; i++) {
		fl_buf_printf(buf, "%s%s=\"", i ? "," : "", family->row->labels[i]);
		fl_metrics_put_text(buf, cut(values[i]), true);
		fl_buf_char(buf, '"');
	}
}

/* ---- series ---- */

static struct fl_series *series_new(struct fl_family *family, struct fl_str labels)
{
	size_t counts = counts_of(family->row) * sizeof(uint64_t);
	struct fl_series *series = fl_zalloc(sizeof *series + counts + labels.len);

	if (!series)
		return NULL;
	series->family = family;
	series->len = labels.len;
	if (labels.len)
		memcpy((char *)series->counts + counts, labels.p, labels.len);
	return series;
}

/* The last resort of a family with labels, or the one series of one without. */
static int add_overflow(struct fl_family *family)
{
	char text[LABELS_MAX];
	struct fl_buf buf = FL_BUF_IN(text);
	struct fl_str values[FL_METRIC_LABELS];

	for (uint32_t i = 0; i < FL_METRIC_LABELS; i++)
		values[i] = FL_S("overflow");
	put_labels(&buf, family, values);
	family->overflow = series_new(family, fl_buf_view(&buf));
	if (!family->overflow)
		return -FL_E_NOMEM;
	family->overflow->is_overflow = true;
	return 0;
}

static struct fl_series *refused(struct fl_family *family)
{
	family->refused++;
	return family->overflow;
}

static struct fl_series *find_or_make(struct fl_family *family, const struct fl_str *values)
{
	char text[LABELS_MAX];
	struct fl_buf buf = FL_BUF_IN(text);
	struct fl_series *series;

	put_labels(&buf, family, values);
	series = fl_hmap_get(&family->by_labels, fl_buf_view(&buf));
	if (series)
		return series;
	if (fl_str_eq(fl_buf_view(&buf), labels_of(family->overflow)) || family->by_labels.len >= family->max)
		return refused(family);
	series = series_new(family, fl_buf_view(&buf));
	if (!series)
		return refused(family);
	if (fl_hmap_put(&family->by_labels, series, NULL) < 0) {
		fl_free(series);
		return refused(family);
	}
	fl_chain_append(&family->last, series);
	return series;
}

struct fl_series *fl_series(struct fl_family *family, const struct fl_str *values)
{
	assert(!family->row->collect);
	return family->labels == 0 ? family->overflow : find_or_make(family, values);
}

void fl_series_remove(struct fl_series *series)
{
	struct fl_family *family = series->family;

	if (series->is_overflow)
		return;
	(void)fl_hmap_del(&family->by_labels, labels_of(series));
	fl_chain_take_of(&family->last, series);
	fl_free(series);
}

void fl_observe(struct fl_series *series, double value)
{
	const struct fl_metric *row = series->family->row;
	uint32_t low = 0, high = row->bucket_count;

	assert(row->kind == FL_HISTOGRAM);
	/* The first bound that is not below the value; none for what is no number, which belongs to +Inf. */
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (value <= row->buckets[middle])
			high = middle;
		else
			low = middle + 1;
	}
	series->counts[low]++;
	series->value += value;
}

/* ---- adding ---- */

static int add_row(struct fl_metrics *metrics, const struct fl_metric *row, void *self, struct fl_family **ret,
		   struct fl_err *err)
{
	struct fl_family *family;

	if (check_row(row, err) < 0)
		return -FL_E_INVALID;
	if (fl_hmap_get(&metrics->by_name, fl_str(row->name)))
		return fl_fail(err, FL_E_EXISTS, "metric %s: there is one of this name", row->name);
	family = fl_zalloc(sizeof *family);
	if (!family)
		return fl_fail(err, FL_E_NOMEM, "metric %s", row->name);
	*family = (struct fl_family){ .row = row, .metrics = metrics, .self = self };
	family->last = &family->first;
	family->max = row->max_series ? row->max_series : FL_METRIC_SERIES;
	while (family->labels < FL_METRIC_LABELS && row->labels[family->labels])
		family->labels++;
	fl_hmap_init(&family->by_labels, labels_of, metrics->seed);
	if ((!row->collect && add_overflow(family) < 0) || fl_hmap_put(&metrics->by_name, family, NULL) < 0) {
		family_free(family);
		return fl_fail(err, FL_E_NOMEM, "metric %s", row->name);
	}
	*metrics->last = family;
	metrics->last = &family->next;
	*ret = family;
	return 0;
}

int fl_metrics_add(struct fl_metrics *metrics, const struct fl_metric *rows, uint32_t count, void *self,
		   struct fl_family **ret_families, struct fl_err *err)
{
	struct fl_family **before = metrics->last;

	for (uint32_t i = 0; i < count; i++) {
		int result = add_row(metrics, &rows[i], self, &ret_families[i], err);

		if (result == 0)
			continue;
		while (i-- > 0) {
			(void)fl_hmap_del(&metrics->by_name, fl_str(rows[i].name));
			family_free(ret_families[i]);
		}
		*before = NULL;
		metrics->last = before;
		return result;
	}
	return 0;
}

/* ---- the text ---- */

/* Nearly every value has at most six decimals: then value = whole/10^6 exactly as strtod would read the digits back. */
static bool put_short(struct fl_buf *buf, double value)
{
	double millionths = value * 1e6;
	int64_t n, left;
	uint32_t unit = 1000000;

	if (!(millionths > -9e15 && millionths < 9e15))
		return false;
	n = (int64_t)(millionths < 0 ? millionths - 0.5 : millionths + 0.5);
	if ((double)n / 1e6 != value)
		return false;
	if (signbit(value))
		fl_buf_char(buf, '-');
	n = n < 0 ? -n : n;
	fl_buf_int(buf, n / unit);
	left = n % unit;
	if (left)
		fl_buf_char(buf, '.');
	while (left) {
		unit /= 10;
		fl_buf_char(buf, (char)('0' + left / unit));
		left %= unit;
	}
	return true;
}

void fl_metrics_put_value(struct fl_buf *buf, double value)
{
	char text[40];

	if (isnan(value)) {
		fl_buf_str(buf, FL_S("NaN"));
	} else if (isinf(value)) {
		fl_buf_str(buf, value > 0 ? FL_S("+Inf") : FL_S("-Inf"));
	} else if (!put_short(buf, value)) {
		for (int digits = 15; digits <= 17; digits++) {
			(void)snprintf(text, sizeof text, "%.*g", digits, value);
			if (strtod(text, NULL) == value)
				break;
		}
		fl_buf_str(buf, fl_str(text));
	}
}

static void put_head(struct fl_scrape *scrape)
{
	const struct fl_metric *row = scrape->family->row;

	if (scrape->any)
		return;
	scrape->any = true;
	fl_buf_printf(scrape->buf, "# HELP %s ", row->name);
	fl_metrics_put_text(scrape->buf, fl_str(row->help), false);
	fl_buf_printf(scrape->buf, "\n# TYPE %s %s\n", row->name, fl_name(&fl_metric_kind_names, (int)row->kind));
}

/* name_suffix{labels,le="bound"} value */
static void put_sample(struct fl_buf *buf, const char *name, const char *suffix, struct fl_str labels, const double *le,
		       double value)
{
	fl_buf_str(buf, fl_str(name));
	fl_buf_str(buf, fl_str(suffix));
	if (labels.len || le) {
		fl_buf_char(buf, '{');
		fl_buf_str(buf, labels);
		if (le) {
			fl_buf_str(buf, labels.len ? FL_S(",le=\"") : FL_S("le=\""));
			fl_metrics_put_value(buf, *le);
			fl_buf_char(buf, '"');
		}
		fl_buf_char(buf, '}');
	}
	fl_buf_char(buf, ' ');
	fl_metrics_put_value(buf, value);
	fl_buf_char(buf, '\n');
}

static void put_series(struct fl_scrape *scrape, const struct fl_series *series)
{
	const struct fl_metric *row = scrape->family->row;
	struct fl_str labels = labels_of(series);
	uint64_t sum = 0;

	put_head(scrape);
	if (row->kind != FL_HISTOGRAM) {
		put_sample(scrape->buf, row->name, "", labels, NULL, series->value);
		return;
	}
	for (uint32_t i = 0; i <= row->bucket_count; i++) {
		double bound = i < row->bucket_count ? row->buckets[i] : INFINITY;

		sum += series->counts[i];
		put_sample(scrape->buf, row->name, "_bucket", labels, &bound, (double)sum);
	}
	put_sample(scrape->buf, row->name, "_sum", labels, NULL, series->value);
	put_sample(scrape->buf, row->name, "_count", labels, NULL, (double)sum);
}

void fl_scrape_value(struct fl_scrape *scrape, const struct fl_str *values, double value)
{
	char text[LABELS_MAX];
	struct fl_buf labels = FL_BUF_IN(text);

	if (scrape->collected++ >= scrape->family->max) {
		scrape->family->refused++;
		return;
	}
	put_head(scrape);
	put_labels(&labels, scrape->family, values);
	put_sample(scrape->buf, scrape->family->row->name, "", fl_buf_view(&labels), NULL, value);
}

static void put_family(struct fl_buf *buf, struct fl_family *family)
{
	struct fl_scrape scrape = { .buf = buf, .family = family };

	if (family->row->collect) {
		family->row->collect(&scrape, family->self);
		return;
	}
	for (const struct fl_series *series = family->first; series; series = series->next)
		put_series(&scrape, series);
	if (family->labels == 0 || family->refused)
		put_series(&scrape, family->overflow);
}

/* How often each family returned its overflow series: reported only if it happened. */
static void put_refusals(struct fl_buf *buf, const struct fl_metrics *metrics)
{
	static const struct fl_metric row = { "fairlead_metrics_refused_total",
					      "Series counted as overflow, for lack of room or memory.",
						FL_COUNTER,
					      .labels = { "metric" } };
	struct fl_family self = { .row = &row, .labels = 1, .max = UINT32_MAX };
	struct fl_scrape scrape = { .buf = buf, .family = &self };

	for (const struct fl_family *family = metrics->first; family; family = family->next)
		if (family->refused)
			fl_scrape_value(&scrape, (struct fl_str[]){ fl_str(family->row->name) }, family->refused);
}

struct fl_family *fl_metrics_next(struct fl_metrics *metrics, struct fl_family *last, struct fl_buf *buf)
{
	struct fl_family *family = last ? last->next : metrics->first;

	if (family)
		put_family(buf, family);
	else
		put_refusals(buf, metrics);
	return family;
}

int fl_metrics_write(struct fl_metrics *metrics, struct fl_buf *buf, struct fl_err *err)
{
	struct fl_family *family = NULL;

	while ((family = fl_metrics_next(metrics, family, buf)))
		continue;
	return fl_buf_check(buf, "metrics", err);
}
