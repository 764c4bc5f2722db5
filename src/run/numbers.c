/* The loop's metrics: ours, and those by which dashboards know any controller's work queue. */
#include "run/loop_in.h"

enum {
	DEPTH, ADDS, RETRIES, QUEUED, WORKED, PLANS, WRITES, OBJECTS, BYTES, KEYS, CONTESTED, OVERLAYS, SYNCED,
	REFUSED, COUNT_,
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

static double depth_of(const struct cap *cap)
{
	return cap->queue.len;
}
static void depth(struct fl_scrape *scrape, void *loop)
{
	each_cap(scrape, loop, depth_of);
}

static double keys_of(const struct cap *cap)
{
	return cap->keys.len;
}
static void keys(struct fl_scrape *scrape, void *loop)
{
	each_cap(scrape, loop, keys_of);
}

static double contested_of(const struct cap *cap)
{
	const struct contest *contest = cap->loop->oldest;
	double count = 0;

	for (; contest; contest = contest->next)
		for (const struct fl_owner *const *owner = cap->row->owners; contest->is && owner && *owner; owner++)
			count += strcmp(contest->text, (*owner)->manager) == 0;
	return count;
}
static void contested(struct fl_scrape *scrape, void *loop)
{
	each_cap(scrape, loop, contested_of);
}

static double objects_of(const struct fl_feed *feed)
{
	return feed->cache.len;
}
static void objects(struct fl_scrape *scrape, void *loop)
{
	each_feed(scrape, loop, objects_of);
}

static double bytes_of(const struct fl_feed *feed)
{
	return (double)fl_cache_bytes(&feed->cache);
}
static void bytes(struct fl_scrape *scrape, void *loop)
{
	each_feed(scrape, loop, bytes_of);
}

static double overlays_of(const struct fl_feed *feed)
{
	return feed->overlays.len;
}
static void overlays(struct fl_scrape *scrape, void *loop)
{
	each_feed(scrape, loop, overlays_of);
}

static double synced_of(const struct fl_feed *feed)
{
	return feed->state == FEED_SYNCED;
}
static void synced(struct fl_scrape *scrape, void *loop)
{
	each_feed(scrape, loop, synced_of);
}

static const struct fl_metric rows[] = {
	[DEPTH] = { "workqueue_depth", "Keys that wait to be planned.", FL_GAUGE, { "name" }, .collect = depth },
	[ADDS] = { "workqueue_adds_total", "Keys that became dirty.", FL_COUNTER, { "name" } },
	[RETRIES] = { "workqueue_retries_total", "Keys that failed and are tried again.", FL_COUNTER, { "name" } },
	[QUEUED] = { "workqueue_queue_duration_seconds", "From dirty to planned.", FL_HISTOGRAM, { "name" },
		     FL_METRIC_BUCKETS(fl_latency_buckets) },
	[WORKED] = { "workqueue_work_duration_seconds", "To gather, plan and see what differs.", FL_HISTOGRAM,
		     { "name" },
		     FL_METRIC_BUCKETS(fl_latency_buckets) },
	[PLANS] = { "fairlead_plans_total", "Plans that were called; at rest this stands still.", FL_COUNTER,
		    { "name" } },
	[WRITES] = { "fairlead_writes_total", "Writes that ended.", FL_COUNTER, { "name", "kind", "what", "outcome" } },
	[OBJECTS] = { "fairlead_cache_objects", "Objects in the cache.", FL_GAUGE, { "kind" }, .collect = objects },
	[BYTES] = { "fairlead_cache_bytes", "Memory of the cache, indexes included.", FL_GAUGE, { "kind" }, .collect =
		    bytes },
	[KEYS] = { "fairlead_keys", "Keys about which something is known: dirty, delayed, or talkative.", FL_GAUGE,
		   { "name" },
		   .collect = keys },
	[CONTESTED] = { "fairlead_contested", "Objects of which somebody takes away what we write.", FL_GAUGE,
			{ "name" },
			.collect = contested },
	[OVERLAYS] = { "fairlead_overlays", "Own writes that have not been told back yet.", FL_GAUGE, { "kind" },
		       .collect = overlays },
	[SYNCED] = { "fairlead_cache_synced", "1 when all objects of the kind are known.", FL_GAUGE, { "kind" },
		     .collect = synced },
	[REFUSED] = { "fairlead_keys_refused_total", "Keys that were too long to be planned.", FL_COUNTER, { "name" } },
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
