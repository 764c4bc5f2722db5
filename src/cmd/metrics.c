#include "cmd/metrics.h"
#include "base/backoff.h"
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

	if (!metrics->options.exporter->io)
		return false;
	memcpy(&at, at_, sizeof at);
	more = fl_exporter_text(metrics->options.exporter, &at, until, buf);
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

/* ---- listening ---- */

static void tell_access(struct metrics *metrics)
{
	struct fl_exporter_listener *state = &metrics->state;

	state->tls = metrics->context != NULL;
	state->access = metrics->options.open                               ? FL_EXPORTER_OPEN :
			metrics->context && metrics->clients != FL_WEB_ANY ? FL_EXPORTER_CERTIFICATES :
			metrics->options.kube                               ? FL_EXPORTER_TOKENS :
										  FL_EXPORTER_MACHINE;
	fl_exporter_listens(metrics->options.exporter, state);
}

static void close_all(struct metrics *metrics)
{
	fl_timer_stop(metrics->options.io, &metrics->again);
	fl_pages_stop(&metrics->pages);
	metrics->listens = false;
}

static int open_all(struct metrics *metrics, struct fl_err *err)
{
	if (!metrics->pages.server && fl_pages_start(&metrics->pages, err) < 0) {
		fl_pages_stop(&metrics->pages);
		return fl_wrap(err, "--metrics-listen");
	}
	return fl_http_server_listen(metrics->pages.server, &metrics->addr, 0600, metrics->context, &metrics->addr,
				     err);
}

static void retry_later(struct metrics *metrics)
{
	uint64_t now = fl_now(metrics->options.io);
	uint64_t wait = fl_backoff(&metrics->delay, METRICS_RETRY_FIRST, METRICS_RETRY_LAST);

	if (wait == METRICS_RETRY_LAST)
		wait = fl_round_in(now, METRICS_RETRY_LAST);
	fl_timer_set(metrics->options.io, &metrics->again, now + wait);
}

static void listen_now(struct fl_timer *timer)
{
	struct metrics *metrics = fl_container(timer, struct metrics, again);
	struct fl_err err = { 0 };
	bool waits = metrics->state.closed.code != FL_OK;

	metrics->listens = open_all(metrics, &err) == 0;
	metrics->state.closed = err;
	if (metrics->listens)
		metrics->delay = 0;
	else
		retry_later(metrics);
	tell_access(metrics);
	if (metrics->listens)
		fl_log(metrics->options.log, FL_INFO, "GPU metrics served",
		       FL_KV_STR("access", fl_str(fl_name(&fl_exporter_access_names, (int)metrics->state.access))),
		       FL_KV_BOOL("tls", metrics->context));
	else if (!waits)
		fl_log(metrics->options.log, FL_WARN,
		       "GPU metrics not served, will retry: another exporter may have the port", FL_KV_ERR(&err));
}

/* ---- the web config ---- */

static void web_refused(struct metrics *metrics, const struct fl_err *err)
{
	struct fl_err why = *err;

	(void)fl_wrap(&why, "web config '%s'", metrics->options.web);
	fl_log(metrics->options.log, FL_WARN, "web config of GPU metrics not in force", FL_KV_ERR(&why));
	metrics->state.web = why;
	if (!metrics->listens)
		metrics->state.closed = why;
	tell_access(metrics);
}

/* What is open stays open, unless plain and TLS change places. */
static void use_web(struct metrics *metrics, struct fl_tls_context *context)
{
	bool same = !context == !metrics->context && metrics->listens;

	fl_tls_context_free(metrics->context);
	metrics->context = context ? fl_tls_context_ref(context) : NULL;
	metrics->clients = metrics->next;
	metrics->state.web = metrics->state.closed = (struct fl_err){ 0 };
	if (same && context)
		fl_http_server_use(metrics->pages.server, context);
	if (same) {
		tell_access(metrics);
		return;
	}
	close_all(metrics);
	metrics->delay = 0;
	listen_now(&metrics->again);
}

static void tls_changed(struct fl_tls_files *files, struct fl_tls_context *context)
{
	use_web(fl_container(files, struct metrics, tls), context);
}

static void tls_failed(struct fl_tls_files *files, const struct fl_err *err)
{
	web_refused(fl_container(files, struct metrics, tls), err);
}

/* A file that is being written is empty for a moment, and what Pods do must not be read by the whole network then. */
static int no_more_tls(struct fl_err *err)
{
	return fl_fail(err, FL_E_INVALID, "it names no certificate now: TLS stays; restart the agent for plain HTTP");
}

static void file_changed(struct fl_files *files, const struct fl_str *texts)
{
	struct metrics *metrics = fl_container(files, struct metrics, file);
	struct fl_arena arena = { 0 };
	struct fl_web web;
	struct fl_err err = { 0 };
	struct fl_str path = fl_str(metrics->options.web);
	uint32_t folder = path.len;

	while (folder && path.p[folder - 1] != '/')
		folder--;
	if (fl_web_read(texts[0], fl_str_sub(path, 0, folder), &arena, &web, &err) < 0 ||
	    (metrics->context && !web.cert.len && no_more_tls(&err) < 0)) {
		fl_arena_free(&arena);
		web_refused(metrics, &err);
		return;
	}
	fl_tls_files_stop(&metrics->tls);
	fl_arena_free(&metrics->arena);
	metrics->arena = arena;
	metrics->next = web.clients;
	if (!web.cert.len) {
		use_web(metrics, NULL);
		return;
	}
	metrics->tls = (struct fl_tls_files){
		.changed = tls_changed, .failed = tls_failed, .cert = web.cert.p, .key = web.key.p,
		.ca = web.ca.len ? web.ca.p : NULL,
		.config = { .server = true, .no_h2 = !web.h2,
			    .peer = web.clients == FL_WEB_ANY      ? FL_TLS_PEER_TRUST :
				    web.clients == FL_WEB_REQUIRED ? FL_TLS_PEER_REQUIRE :
								     FL_TLS_PEER_ASK },
	};
	if (fl_tls_files_start(metrics->options.io, &metrics->tls, &err) < 0)
		web_refused(metrics, &err);
}

static void file_failed(struct fl_files *files, const struct fl_err *err)
{
	web_refused(fl_container(files, struct metrics, file), err);
}

/* ---- the whole ---- */

int metrics_start(struct metrics *metrics, const struct metrics_options *options, struct fl_err *err)
{
	if (!options->listen.len)
		return 0;
	if (metrics_address(options->listen, &metrics->addr, err) < 0)
		return -(int)err->code;
	metrics->options = *options;
	metrics->state.listen = options->listen;
	metrics->again.fire = listen_now;
	metrics->started = true;
	metrics->pages = (struct fl_pages){ .io = options->io, .title = "fairlead GPU metrics", .loop = options->loop,
					    .kube = options->kube, .open_metrics = options->open, .common = pages,
					    .text = text, .self = metrics };
	if (!options->web) {
		listen_now(&metrics->again);
		return 0;
	}
	metrics->file = (struct fl_files){ .changed = file_changed, .failed = file_failed, .paths = { options->web } };
	return fl_files_start(options->io, &metrics->file, err);
}

void metrics_stop(struct metrics *metrics)
{
	if (!metrics->started)
		return;
	fl_files_stop(&metrics->file);
	fl_tls_files_stop(&metrics->tls);
	close_all(metrics);
	metrics->context = fl_tls_context_free(metrics->context);
	fl_arena_free(&metrics->arena);
	metrics->started = false;
}
