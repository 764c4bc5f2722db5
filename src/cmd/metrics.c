#include "cmd/metrics.h"
#include "base/log.h"
#include "serve/scrape.h"
#include <stdio.h>

_Static_assert(sizeof(struct fl_pages_at) >= sizeof(struct fl_exporter_at), "room for where a text has come to");

/* As long as the loop turns: a probe that ends the agent for want of a driver would help nobody. */
static void health(struct fl_http_req *req)
{
	fl_http_req_say(req, 200, "OK");
}

static const struct fl_page pages[] = {
	{ "/", fl_pages_list, "This list.", .open = true },
	{ "/health", health, "200 while the event loop runs.", true, true },
	{ "/metrics", fl_scrape, "Metrics of the GPUs for Prometheus." },
	{ 0 },
};

static bool text(void *self, struct fl_pages_at *at_, uint64_t until, struct fl_buf *buf)
{
	struct metrics *metrics = self;
	struct fl_exporter_at at;
	bool more;

	if (!metrics->exporter->io)
		return false;
	memcpy(&at, at_, sizeof at);
	more = fl_exporter_text(metrics->exporter, &at, until, buf);
	memcpy(at_, &at, sizeof at);
	return more;
}

int metrics_address(struct fl_str text, struct fl_addr *ret, struct fl_err *err)
{
	char all[64] = "";
	struct fl_buf whole = FL_BUF_IN(all);
	struct fl_err why = { 0 };

	fl_buf_printf(&whole, "%s%.*s", text.len && text.p[0] == ':' ? "[::]" : "", FL_ARG(text));
	if (whole.failed || fl_addr_parse(ret, fl_buf_view(&whole), &why) < 0)
		return fl_fail(err, FL_E_INVALID, "--metrics-listen: '%.*s' is no address, as :9400%s%s", FL_ARG(text),
			       why.text[0] ? ": " : "", why.text);
	return 0;
}

static void listen_now(struct fl_timer *timer)
{
	struct metrics *metrics = fl_container(timer, struct metrics, again);
	struct fl_err err = { 0 };

	if (fl_http_server_listen(metrics->pages.server, &metrics->addr, 0600, NULL, &metrics->addr, &err) == 0) {
		fl_log(metrics->log, FL_INFO, "GPU metrics served",
		       FL_KV_TEXT("access", metrics->pages.open_metrics ? "open" : "token"));
		metrics->waits = false;
		return;
	}
	if (!metrics->waits)
		fl_log(metrics->log, FL_WARN, "GPU metrics not served, will retry: another exporter may have the port",
		       FL_KV_ERR(&err));
	metrics->waits = true;
	fl_timer_set(metrics->pages.io, timer, fl_now(metrics->pages.io) + METRICS_RETRY);
}

int metrics_start(struct metrics *metrics, const struct metrics_options *options, struct fl_err *err)
{
	if (!options->listen.len)
		return 0;
	if (metrics_address(options->listen, &metrics->addr, err) < 0)
		return -(int)err->code;
	metrics->exporter = options->exporter;
	metrics->log = options->log;
	metrics->again.fire = listen_now;
	metrics->started = true;
	metrics->pages = (struct fl_pages){ .io = options->io, .title = "fairlead GPU metrics", .loop = options->loop,
					    .kube = options->kube, .open_metrics = options->open, .common = pages,
					    .text = text, .self = metrics };
	if (fl_pages_start(&metrics->pages, err) < 0)
		return fl_wrap(err, "--metrics-listen");
	listen_now(&metrics->again);
	return 0;
}

void metrics_stop(struct metrics *metrics)
{
	if (!metrics->started)
		return;
	fl_timer_stop(metrics->pages.io, &metrics->again);
	fl_pages_stop(&metrics->pages);
	metrics->started = false;
}
