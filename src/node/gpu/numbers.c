/* The feeder in numbers: fairlead_gpu_*. */
#include "base/metrics.h"
#include "node/gpu/in.h"

enum { CALLS, SECONDS, STARTS, START_FAILURES, CRASHES, ABANDONED, FAULTS, STUCK, REPORTING, COUNT_ };

_Static_assert((int)COUNT_ <= (int)(sizeof((struct fl_gpu *)0)->families / sizeof(struct fl_family *)),
	       "a place for each");

static void stuck(struct fl_scrape *scrape, void *self)
{
	fl_scrape_value(scrape, NULL, gpu_stuck(self));
}

static void reporting(struct fl_scrape *scrape, void *self)
{
	const struct fl_gpu *gpu = self;
	double count = 0;

	fl_vec_each (card, &gpu->cards)
		count += card->reports;
	fl_scrape_value(scrape, NULL, count);
}

static const struct fl_metric rows[] = {
	[CALLS] = { "fairlead_gpu_calls_total", "Requests to the driver that completed.", FL_COUNTER,
		    { "call", "outcome" } },
	[SECONDS] = { "fairlead_gpu_call_seconds", "Duration of these requests.", FL_HISTOGRAM, { "call" },
		      FL_METRIC_BUCKETS(fl_latency_buckets) },
	[STARTS] = { "fairlead_gpu_child_starts_total", "GPU children started.", FL_COUNTER, { "child" } },
	[START_FAILURES] = { "fairlead_gpu_child_start_failures_total", "GPU children that failed to start.",
			     FL_COUNTER, { "child" } },
	[CRASHES] = { "fairlead_gpu_child_crashes_total", "GPU children that crashed.", FL_COUNTER,
		      { "child" } },
	[ABANDONED] = { "fairlead_gpu_child_abandoned_total", "GPU children that missed a deadline.", FL_COUNTER,
			{ "child" } },
	[FAULTS] = { "fairlead_gpu_faults_total", "Faults that GPUs reported.", FL_COUNTER, { "card", "fault" } },
	[STUCK] = { "fairlead_gpu_children_stuck", "GPU children that hang in the kernel.", FL_GAUGE,
		    .collect = stuck },
	[REPORTING] = { "fairlead_gpu_cards_reporting", "GPUs that report faults as events.", FL_GAUGE,
			.collect = reporting },
};

int gpu_numbers_add(struct fl_gpu *gpu, struct fl_err *err)
{
	if (!gpu->options.metrics)
		return 0;
	return fl_metrics_add(gpu->options.metrics, rows, COUNT_, gpu, gpu->families, err);
}

void gpu_count_call(struct fl_gpu *gpu, enum fl_gpu_ask ask, int r, uint64_t took)
{
	struct fl_str labels[2] = { fl_str(fl_name(&fl_gpu_ask_names, (int)ask)),
				    fl_str(fl_name(&fl_code_names, r < 0 ? -r : 0)) };

	if (!gpu->options.metrics)
		return;
	fl_count(fl_series(gpu->families[CALLS], labels), 1);
	fl_observe(fl_series(gpu->families[SECONDS], labels), (double)took / FL_NS_PER_S);
}

static void count(struct fl_gpu *gpu, int family, enum gpu_role role)
{
	struct fl_str label = fl_str(fl_name(&gpu_role_names, (int)role));

	if (gpu->options.metrics)
		fl_count(fl_series(gpu->families[family], &label), 1);
}

void gpu_count_news(struct fl_gpu *gpu, enum gpu_role role, enum fl_supervisor_news news)
{
	switch (news) {
	case FL_CHILD_READY: count(gpu, STARTS, role); return;
	case FL_CHILD_ENDED: count(gpu, CRASHES, role); return;
	case FL_CHILD_ABANDONED: count(gpu, ABANDONED, role); return;
	case FL_CHILD_FAILED: count(gpu, START_FAILURES, role); return;
	case FL_CHILD_STUCK:
	case FL_CHILD_REAPED:
	case FL_CHILD_CEILING:
	case FL_CHILD_LET_GO:
	case FL_CHILD_NEWS_COUNT_: return;
	}
}

void gpu_count_fault(struct fl_gpu *gpu, const struct fl_card_fault *fault)
{
	FL_AUTO(fl_buf) struct fl_buf name = FL_BUF(FL_RUN_NAME);
	struct fl_str labels[2] = { fault->card };

	if (!gpu->options.metrics)
		return;
	fl_gpu_fault_name(&(struct fl_card_fault){ .what = fault->what, .xid = fault->xid }, &name);
	labels[1] = fl_str_sub(fl_buf_view(&name), 1, UINT32_MAX);   /* without its slash */
	fl_count(fl_series(gpu->families[FAULTS], labels), (double)fault->count);
}
