/* The loop's metrics: ours, and those by which dashboards know any controller's work queue. */
#include "run/loop_in.h"

enum {
	DEPTH, ADDS, RETRIES, QUEUED, WORKED, UNFINISHED, LONGEST, PLANS, WRITES, OBJECTS, BYTES, KEYS, CONTESTED,
	OVERLAYS, SYNCED, FULL_STATES, TOLD, UNCHANGED, SILENT, UNPACKED, REFUSED, COUNT_,
};

static void each_cap(struct fl_scrape *scrape, void *loop_, double (*value)(const struct cap *cap))
{
	const struct fl_loop *loop = loop_;

	fl_vec_each (cap, &loop->caps) {
		struct fl_str name = fl_str((*cap)->row->name);

		fl_scrape_value(scrape, &name, value(*cap));
	}
}

static void each_feed(struct fl_scrape *scrape, void *loop_, double (*value)(const struct fl_feed *feed))
{
	const struct fl_loop *loop = loop_;

	fl_vec_each (feed, &loop->feeds) {
		struct fl_str name = fl_str((*feed)->source.kind->kind);

		fl_scrape_value(scrape, &name, value(*feed));
	}
}

/* A collect() that asks a value of each capability, or of each feed. */
#define OF_CAPS(name_, value) \
	static double name_##_of(const struct cap *cap) \
	{ \
		return (double)(value); \
	} \
	static void name_(struct fl_scrape *scrape, void *loop) \
	{ \
		each_cap(scrape, loop, name_##_of); \
	}
#define OF_FEEDS(name_, value) \
	static double name_##_of(const struct fl_feed *feed) \
	{ \
		return (double)(value); \
	} \
	static void name_(struct fl_scrape *scrape, void *loop) \
	{ \
		each_feed(scrape, loop, name_##_of); \
	}

static uint32_t count_contested(const struct cap *cap)
{
	uint32_t count = 0;

	for (const struct contest *contest = cap->loop->oldest; contest; contest = contest->next)
		count += contest_active(contest) && contest->contested->cap == cap;
	return count;
}

/* A plan is over in the turn in which it was called; what goes on is its writes. */
static double seconds_written(const struct cap *cap, bool longest)
{
	uint64_t now = fl_now(cap->loop->io), sum = 0;

	for (const struct slot *slot = cap->loop->slots; slot; slot = slot->next) {
		uint64_t took = slot->cap == cap ? now - slot->began : 0;

		sum = longest ? (took > sum ? took : sum) : sum + took;
	}
	return (double)sum / 1e9;
}

OF_CAPS(depth, cap->queue.len)
OF_CAPS(keys, cap->keys.len)
OF_CAPS(contested, count_contested(cap))
OF_CAPS(unfinished, seconds_written(cap, false))
OF_CAPS(longest, seconds_written(cap, true))
OF_FEEDS(objects, feed->cache.len)
OF_FEEDS(bytes, fl_cache_bytes(&feed->cache))
OF_FEEDS(overlays, feed->overlays.len)
OF_FEEDS(synced, feed->state == FEED_SYNCED)
OF_FEEDS(full_states, feed->full_states)
OF_FEEDS(told, feed->told)
OF_FEEDS(unchanged, feed->unchanged)
OF_FEEDS(unpacked, feed->cache.unpackings)
OF_FEEDS(silent, feed->told_at ? (double)(fl_now(feed->loop->io) - feed->told_at) / 1e9 : 0)

static const struct fl_metric rows[] = {
	[DEPTH] = { "workqueue_depth", "Keys waiting to be planned.", FL_GAUGE, { "name" }, .collect = depth },
	[ADDS] = { "workqueue_adds_total", "Keys that became dirty.", FL_COUNTER, { "name" } },
	[RETRIES] = { "workqueue_retries_total", "Failed keys that are tried again.", FL_COUNTER, { "name" } },
	[QUEUED] = { "workqueue_queue_duration_seconds", "Time from dirty to planned.", FL_HISTOGRAM, { "name" },
		     FL_METRIC_BUCKETS(fl_latency_buckets) },
	[WORKED] = { "workqueue_work_duration_seconds", "Time to gather, plan and compare one key.", FL_HISTOGRAM,
		     { "name" },
		     FL_METRIC_BUCKETS(fl_latency_buckets) },
	[UNFINISHED] = { "workqueue_unfinished_work_seconds", "Age of all writes in flight, summed up.",
			 FL_GAUGE, { "name" }, .collect = unfinished },
	[LONGEST] = { "workqueue_longest_running_processor_seconds", "Age of the oldest write in flight.",
		      FL_GAUGE, { "name" }, .collect = longest },
	[PLANS] = { "fairlead_plans_total", "Plans computed; constant when idle.", FL_COUNTER,
		    { "name" } },
	[WRITES] = { "fairlead_writes_total", "Writes that ended.", FL_COUNTER, { "name", "kind", "what", "outcome" } },
	[OBJECTS] = { "fairlead_cache_objects", "Objects in the cache.", FL_GAUGE, { "kind" }, .collect = objects },
	[BYTES] = { "fairlead_cache_bytes", "Memory of the cache and its indexes.", FL_GAUGE, { "kind" }, .collect =
		    bytes },
	[KEYS] = { "fairlead_keys", "Keys kept in memory: dirty, delayed, failed, or with text for explain.", FL_GAUGE,
		   { "name" },
		   .collect = keys },
	[CONTESTED] = { "fairlead_contested", "Own writes that another writer keeps reverting.", FL_GAUGE,
			{ "name" },
			.collect = contested },
	[OVERLAYS] = { "fairlead_overlays", "Own writes that no feeder has reported yet.", FL_GAUGE, { "kind" },
		       .collect = overlays },
	[SYNCED] = { "fairlead_cache_synced", "1 when all objects of the kind have been read.", FL_GAUGE, { "kind" },
		     .collect = synced },
	[FULL_STATES] = { "fairlead_cache_full_states_total",
			  "Full lists received: at the start, and where a watch could not continue.", FL_COUNTER,
			  { "kind" }, .collect = full_states },
	[TOLD] = { "fairlead_cache_told_total", "Objects reported by feeders, deleted ones included.", FL_COUNTER,
		   { "kind" }, .collect = told },
	[UNCHANGED] = { "fairlead_cache_unchanged_total", "Reported objects that had not changed.", FL_COUNTER,
			{ "kind" }, .collect = unchanged },
	[SILENT] = { "fairlead_cache_silent_seconds", "Time since a feeder last reported anything of the kind.",
		     FL_GAUGE,
		     { "kind" }, .collect = silent },
	[UNPACKED] = { "fairlead_cache_unpacked_total",
		       "Objects unpacked from the cache, for keys, facts and comparisons.",
		       FL_COUNTER, { "kind" }, .collect = unpacked },
	[REFUSED] = { "fairlead_keys_refused_total", "Keys too long to be planned.", FL_COUNTER, { "name" } },
};

int run_metrics_add(struct fl_loop *loop, struct fl_err *err)
{
	_Static_assert(COUNT_ <= FL_LEN(loop->families), "room for every family");
	if (!loop->options.metrics)
		return 0;
	return fl_metrics_add(loop->options.metrics, rows, COUNT_, loop, loop->families, err);
}

void run_metrics_cap(struct cap *cap)
{
	struct fl_family **families = cap->loop->families;
	struct fl_str name = fl_str(cap->row->name);

	if (!cap->loop->options.metrics)
		return;
	cap->adds = fl_series(families[ADDS], &name);
	cap->retries = fl_series(families[RETRIES], &name);
	cap->queued = fl_series(families[QUEUED], &name);
	cap->worked = fl_series(families[WORKED], &name);
	cap->plans = fl_series(families[PLANS], &name);
	cap->refused = fl_series(families[REFUSED], &name);
}

void run_count_write(struct fl_loop *loop, const struct slot *slot, const char *outcome)
{
	struct fl_str values[] = { fl_str(slot->cap->row->name), fl_str(slot->write.ref.kind->kind),
				   fl_str(fl_name(&fl_want_names, (int)slot->write.what)), fl_str(outcome) };

	if (loop->options.metrics)
		fl_count(fl_series(loop->families[WRITES], values), 1);
}
