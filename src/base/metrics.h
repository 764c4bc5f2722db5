/* metrics.h - numbers for Prometheus: counters, gauges and histograms, text format 0.0.4.
 *
 *     enum { CALLS, LATENCY, CARDS };
 *     static const struct fl_metric metrics[] = {
 *             [CALLS] = { "fairlead_allocate_total", "Allocate calls.", FL_COUNTER, .labels = { "resource" } },
 *             [LATENCY] = { "fairlead_allocate_seconds", "Duration of these requests.", FL_HISTOGRAM,
 *             FL_METRIC_BUCKETS(buckets) },
 *             [CARDS] = { "fairlead_cards", "Cards by state.", FL_GAUGE, .labels = { "state" }, .collect = cards },
 *     };
 *
 *     fl_metrics_add(registry, metrics, FL_LEN(metrics), self, families, err)     once, at the start
 *     series = fl_series(families[CALLS], (struct fl_str[]){ resource });         once for each set of label values
 *     fl_count(series, 1);                                                        as often as you like
 *
 * Counting in a series costs an addition: no lookup, no allocation. fl_series never fails: without memory, or beyond
 * the family's limit, it returns the family's overflow series (each label "overflow"), and
 * fairlead_metrics_refused_total counts it. Values may also be collected at scrape time (`collect`), which stores
 * nothing. A registry belongs to one thread.
 */
#pragma once
#include "base/buf.h"
#include "base/units.h"

#define FL_METRIC_LABELS 6          /* more make a metric that nobody can query */
#define FL_METRIC_NAME 100          /* bytes of a name; the longest of DCGM has 60 */
#define FL_METRIC_VALUE 253         /* bytes of a label's value: a DNS name, hence any object's */
#define FL_METRIC_SERIES 2000       /* of one family unless its row says otherwise: 16 cards × 100 Pods, some room */
#define FL_METRICS_TEXT (16 * FL_MIB)   /* one scrape: 100,000 series of 160 bytes */

#define FL_METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum fl_metric_kind { FL_COUNTER, FL_GAUGE, FL_HISTOGRAM, FL_METRIC_KIND_COUNT_ };
extern const struct fl_names fl_metric_kind_names;   /* counter gauge histogram, as TYPE has it */

struct fl_metrics;   /* the registry */
struct fl_family;    /* a metric in it */
struct fl_series;    /* one set of label values */
struct fl_scrape;    /* a text being written */

/* A row; it and what it points to live as long as the registry. */
struct fl_metric {
	const char *name;                       /* [a-zA-Z_:][a-zA-Z0-9_:]*; of a counter it ends in _total */
	const char *help;                       /* a sentence */
	enum fl_metric_kind kind;
	const char *labels[FL_METRIC_LABELS];   /* names, the first NULL ends them */
	const double *buckets;                  /* histogram: upper bounds, ascending, without +Inf */
	uint32_t bucket_count;
	uint32_t max_series;                    /* 0: FL_METRIC_SERIES */
	/* Counter or gauge: called at each scrape to report values with fl_scrape_value; then it has no series. */
	void (*collect)(struct fl_scrape *scrape, void *self);
};
#define FL_METRIC_BUCKETS(array) .buckets = (array), .bucket_count = FL_LEN(array)

/* Seconds of a call: from 100 µs to 10 s. */
extern const double fl_latency_buckets[16];

/* The registry and all that is in it; owned by the caller. The seed as for any map. */
struct fl_metrics *fl_metrics_new(const uint64_t seed[2], struct fl_err *err) FL_MUSTUSE;
struct fl_metrics *fl_metrics_free(struct fl_metrics *metrics);

/* All rows of a table or none; ret_families[i] is the family of row i. -FL_E_EXISTS for a name that is taken,
 * -FL_E_INVALID for one that Prometheus would refuse, -FL_E_NOMEM. `self` is handed to collect(). */
int fl_metrics_add(struct fl_metrics *metrics, const struct fl_metric *rows, uint32_t count, void *self,
		   struct fl_family **ret_families, struct fl_err *err) FL_MUSTUSE;

/* The series with these values, one for each label in the row's order; made when it is new. Never NULL. Borrowed until
 * removed. What is not UTF-8 is replaced; what is longer than FL_METRIC_VALUE is cut. NULL values: no labels. */
struct fl_series *fl_series(struct fl_family *family, const struct fl_str *values);

/* For a removed device: its series is no longer reported, and the handle is invalid. The overflow series stays. */
void fl_series_remove(struct fl_series *series);

/* Hot path. A counter only grows; fl_set on one is for a sum kept elsewhere. */
static inline void fl_count(struct fl_series *series, double more);
static inline void fl_set(struct fl_series *series, double value);
void fl_observe(struct fl_series *series, double value);   /* histogram only */

/* From collect(): the present value of a counter or gauge, once for each set of label values. Those beyond the family's
 * limit are left out and counted. */
void fl_scrape_value(struct fl_scrape *scrape, const struct fl_str *values, double value);

/* Append the text of all families that have samples. Failures stick to the buffer. */
int fl_metrics_write(struct fl_metrics *metrics, struct fl_buf *buf, struct fl_err *err) FL_MUSTUSE;

/* The same, one family at a time, for a scrape that must not take a whole turn: start with NULL, go on with the result,
 * NULL at the end. Families are never removed, so any time may pass in between. */
struct fl_family *fl_metrics_next(struct fl_metrics *metrics, struct fl_family *last, struct fl_buf *buf);

/* A label's value as it stands between quotes, or (`quotes` false) a help text: backslash, line end and quote escaped,
 * what is not UTF-8 replaced. And a value as Prometheus reads it back. For texts that no registry makes. */
void fl_metrics_put_text(struct fl_buf *buf, struct fl_str s, bool quotes);
void fl_metrics_put_value(struct fl_buf *buf, double value);

/* ---- inside, for the hot path ---- */

struct fl_series {
	double value;                /* histogram: the sum of all observations */
	struct fl_family *family;
	struct fl_series *next, **from;
	uint32_t len;                /* of the label text, which stands behind the counts */
	uint32_t is_overflow;
	uint64_t counts[];           /* histogram: a count for each bucket, the last for +Inf; not added up */
};

static inline void fl_count(struct fl_series *series, double more)
{
	series->value += more;
}

static inline void fl_set(struct fl_series *series, double value)
{
	series->value = value;
}

FL_DEFINE_AUTO(fl_metrics, struct fl_metrics *, (void)fl_metrics_free);
