/* The metrics of a role: its turns, its watches, and whether it leads, as client-go names that. */
#include "cmd/role_in.h"

static void leads(struct fl_scrape *scrape, void *run_)
{
	const struct fl_running *run = run_;
	struct fl_str name = run->flags->lease;

	if (run->elector)
		fl_scrape_value(scrape, &name, fl_lease_held(run->elector));
}

static void turns(struct fl_scrape *scrape, void *run)
{
	fl_scrape_value(scrape, NULL, (double)fl_io_turns(((struct fl_running *)run)->io)->count);
}

static void longest(struct fl_scrape *scrape, void *run)
{
	fl_scrape_value(scrape, NULL, (double)fl_io_turns(((struct fl_running *)run)->io)->longest / 1e9);
}

static void longest_call(struct fl_scrape *scrape, void *run)
{
	const struct fl_turns *turns = fl_io_turns(((struct fl_running *)run)->io);
	struct fl_str name = fl_str(turns->longest_name ? turns->longest_name : "none");

	fl_scrape_value(scrape, &name, (double)turns->longest_call / 1e9);
}

static void evicted(struct fl_scrape *scrape, void *run_)
{
	const struct fl_running *run = run_;
	struct fl_str pages = FL_S("pages"), webhooks = FL_S("webhooks");

	if (run->pages.server)
		fl_scrape_value(scrape, &pages, (double)fl_http_server_evicted(run->pages.server));
	if (run->webhooks)
		fl_scrape_value(scrape, &webhooks, (double)fl_http_server_evicted(fl_webhooks_server(run->webhooks)));
}

static void log_lost(struct fl_scrape *scrape, void *run)
{
	fl_scrape_value(scrape, NULL, (double)((const struct fl_running *)run)->log.lost);
}

static void expires(struct fl_scrape *scrape, void *run_)
{
	const struct fl_running *run = run_;

	if (run->loaded)
		fl_scrape_value(scrape, NULL, (double)run->expires);
}

static void each_watch(struct fl_scrape *scrape, const struct fl_running *run,
		       double (*value)(const struct fl_watch_info *info))
{
	for (uint32_t i = 0; i < run->watches.len; i++) {
		struct fl_watch_info info = fl_watch_info(run->watches.at[i]);
		const struct fl_role_kind *row = &run->role->kinds[i];
		struct fl_str of[] = { fl_str(row->kind->kind), fl_str(row->source ? row->source : "") };

		fl_scrape_value(scrape, of, value(&info));
	}
}

static double events_of(const struct fl_watch_info *info)
{
	return (double)info->events;
}
static void watch_events(struct fl_scrape *scrape, void *run)
{
	each_watch(scrape, run, events_of);
}

static double full_of(const struct fl_watch_info *info)
{
	return (double)info->full_states;
}
static void watch_full(struct fl_scrape *scrape, void *run)
{
	each_watch(scrape, run, full_of);
}

static double failures_of(const struct fl_watch_info *info)
{
	return (double)info->failures;
}
static void watch_failures(struct fl_scrape *scrape, void *run)
{
	each_watch(scrape, run, failures_of);
}

static double live_of(const struct fl_watch_info *info)
{
	return info->state == FL_WATCH_LIVE;
}
static void watch_live(struct fl_scrape *scrape, void *run)
{
	each_watch(scrape, run, live_of);
}

static const struct fl_metric rows[] = {
	{ "leader_election_master_status", "1 when this replica leads.", FL_GAUGE, { "name" }, .collect = leads },
	{ "fairlead_turns_total", "Event loop iterations.", FL_COUNTER, .collect = turns },
	{ "fairlead_turn_longest_seconds", "Longest event loop iteration since the "
					   "start.", FL_GAUGE, .collect = longest },
	{ "fairlead_call_longest_seconds", "Longest callback since the start, with its name.", FL_GAUGE, { "callback" },
	  .collect = longest_call },
	{ "fairlead_log_lines_lost_total", "Log lines that stderr had no room for.", FL_COUNTER, .collect = log_lost },
	{ "fairlead_watch_events_total", "Watch events from the API server.", FL_COUNTER, { "kind", "source" },
	  .collect = watch_events },
	{ "fairlead_watch_full_states_total", "Lists that were read.", FL_COUNTER, { "kind", "source" },
	  .collect = watch_full },
	{ "fairlead_watch_failures_total", "Failed watches and lists.", FL_COUNTER, { "kind", "source" },
	  .collect = watch_failures },
	{ "fairlead_watch_live", "1 when the cache of the kind is up to date.", FL_GAUGE, { "kind", "source" },
	  .collect = watch_live },
	{ "fairlead_connections_evicted_total", "Connections closed at the limit to make room for others.", FL_COUNTER,
	  { "server" }, .collect = evicted },
	{ "fairlead_webhook_certificate_expiry_seconds", "Expiry of the webhook certificate, as Unix time.",
	  FL_GAUGE, .collect = expires },
};

int role_numbers_add(struct fl_running *run, struct fl_err *err)
{
	struct fl_family *families[FL_LEN(rows)];

	return fl_metrics_add(run->metrics, rows, FL_LEN(rows), run, families, err);
}
