#include "base/base64.h"
#include "base/chain.h"
#include "kube/client_in.h"
#include <assert.h>
#include <stdio.h>

#define FL_KUBE_REPLY_MAX (4 * FL_MIB)   /* one object or Status, collected: as large as an object can be */
#define FL_KUBE_SPARES 64                /* calls' own memory, kept for the next: as many as a loop has on their way */
#define FL_KUBE_SPARE_BUF (4 * FL_KIB)   /* ... with each of four buffers, unless it grew beyond */

FL_NAMES(fl_kube_verb_names, FL_KUBE_VERB_COUNT_, [FL_KUBE_GET] = "get", [FL_KUBE_LIST] = "list",
	 [FL_KUBE_WATCH] = "watch", [FL_KUBE_CREATE] = "create", [FL_KUBE_UPDATE] = "update",
	 [FL_KUBE_APPLY] = "apply", [FL_KUBE_MERGE] = "patch", [FL_KUBE_JSON_PATCH] = "json-patch",
	 [FL_KUBE_DELETE] = "delete");
FL_NAMES(fl_item_names, FL_ITEM_COUNT_, [FL_ITEM] = "item", [FL_ADDED] = "ADDED", [FL_MODIFIED] = "MODIFIED",
	 [FL_DELETED] = "DELETED", [FL_BOOKMARK] = "BOOKMARK");

/* As client-go names them, so that dashboards know them. */
enum { REQUESTS, DURATIONS, RETRIES, METRIC_COUNT };
static const double duration_buckets[] = { 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60 };
static const struct fl_metric metrics[] = {
	[REQUESTS] = { "rest_client_requests_total", "Requests to the API server, by response code.", FL_COUNTER,
		       .labels = { "code", "host", "method" } },
	[DURATIONS] = { "rest_client_request_duration_seconds", "Time from a request to its response headers.",
			FL_HISTOGRAM,
			.labels = { "verb", "host" }, FL_METRIC_BUCKETS(duration_buckets) },
	[RETRIES] = { "rest_client_request_retries_total", "Requests that were retried.", FL_COUNTER,
		      .labels = { "code", "verb", "host" } },
};

/* ---- queues ---- */

static void push(struct fl_flight_queue *queue, struct fl_kube_flight *flight)
{
	if (!queue->last)
		queue->last = &queue->first;
	fl_chain_append(&queue->last, flight);
	queue->len++;
}

static void take_out(struct fl_flight_queue *queue, struct fl_kube_flight *flight)
{
	fl_chain_take_of(&queue->last, flight);
	queue->len--;
}

static void unqueue(struct fl_kube_flight *flight)
{
	if (!flight->from)
		return;
	take_out(flight->unsure ? &flight->kube->unsure : &flight->kube->held, flight);
}

static struct fl_kube_flight *pop(struct fl_flight_queue *queue)
{
	struct fl_kube_flight *flight = queue->first;

	if (flight)
		take_out(queue, flight);
	return flight;
}

/* Answers of many writes come one by one, a few a millisecond, and so do their echoes: waking up for each of them would
 * be most of what they cost. While half of them come the server works at the other half, so all are done as soon as
 * before; and where they are quick no rest is worth its timer. */
uint64_t fl_kube_rest(uint32_t writes, uint64_t takes)
{
	uint64_t rest = takes / FL_KUBE_BATCH_SHARE;

	if (writes < FL_KUBE_MANY || rest < FL_KUBE_BATCH_MIN)
		return 0;
	return rest < FL_KUBE_BATCH_MAX ? rest : FL_KUBE_BATCH_MAX;
}

/* The same of a long list, which API servers send a few KiB at a time. In whole milliseconds. */
uint64_t fl_kube_list_rest(uint64_t bytes, uint64_t took)
{
	uint64_t rest = bytes > FL_KUBE_LONG_LIST ? took / (bytes / FL_KUBE_LIST_PIECE) : 0;

	rest -= rest % FL_NS_PER_MS;
	return rest < FL_KUBE_LIST_REST_MAX ? rest : FL_KUBE_LIST_REST_MAX;
}

static void rest_between(struct fl_kube *kube)
{
	uint64_t rest = fl_kube_rest(kube->writes, kube->write_takes), other = kube->lists ? kube->list_rest : 0;

	if (kube->auth.http)
		fl_http_client_batch(kube->auth.http, rest > other ? rest : other);
}

static void count_write(struct fl_kube *kube, const struct fl_kube_call *call, int more)
{
	if (call->verb < FL_KUBE_CREATE)
		return;
	kube->writes += (uint32_t)more;
	rest_between(kube);
}

void fl_flight_listed(struct fl_kube_flight *flight, uint32_t bytes)
{
	struct fl_kube *kube = flight->kube;

	flight->listed += bytes;
	kube->list_rest = fl_kube_list_rest(flight->listed, fl_now(kube->io) - flight->began);
	rest_between(kube);
}

void fl_flight_lists(struct fl_kube_flight *flight, bool full_state)
{
	if (flight->full_state == full_state)
		return;
	flight->full_state = full_state;
	flight->kube->lists += full_state ? 1 : UINT32_MAX;
	flight->kube->list_rest = 0;
	rest_between(flight->kube);
}

/* Of the last few, the newest counting most. */
static void note_duration(struct fl_kube *kube, const struct fl_kube_flight *flight)
{
	int64_t took = (int64_t)(fl_now(kube->io) - flight->began), mean = (int64_t)kube->write_takes;

	if (flight->call->verb >= FL_KUBE_CREATE)
		kube->write_takes = (uint64_t)(mean + (took - mean) / 8);
}

/* ---- the end of a call ---- */

static void flight_release(struct fl_kube_flight *flight)
{
	fl_buf_free(&flight->target);
	fl_buf_free(&flight->body);
	fl_buf_free(&flight->reply);
	fl_buf_free(&flight->resume);
	fl_free(flight);
}

static void buf_keep(struct fl_buf *buf)
{
	if (buf->cap > FL_KUBE_SPARE_BUF)
		fl_buf_free(buf);
	else
		fl_buf_clear(buf);
}

/* The next call finds its buffers as long as this one needed them. */
static void flight_keep(struct fl_kube *kube, struct fl_kube_flight *flight)
{
	buf_keep(&flight->target);
	buf_keep(&flight->body);
	buf_keep(&flight->reply);
	buf_keep(&flight->resume);
	flight->next = kube->spare;
	kube->spare = flight;
	kube->spares++;
}

static struct fl_kube_flight *take_spare(struct fl_kube *kube)
{
	struct fl_kube_flight *flight = kube->spare;

	kube->spare = flight->next;
	kube->spares--;
	*flight = (struct fl_kube_flight){ .target = flight->target, .body = flight->body, .reply = flight->reply,
					   .resume = flight->resume };
	return flight;
}

static struct fl_kube_flight *flight_new(struct fl_kube *kube)
{
	struct fl_kube_flight *flight = kube->spare ? take_spare(kube) : fl_zalloc(sizeof *flight);

	if (!flight)
		return NULL;
	flight->kube = kube;
	flight->target.max = FL_KUBE_TARGET_MAX;
	flight->resume.max = FL_KUBE_TARGET_MAX / 2;
	flight->body.max = FL_KUBE_TARGET_MAX;
	flight->reply.max = FL_KUBE_REPLY_MAX;
	return flight;
}

static void flight_free(struct fl_kube_flight *flight)
{
	if (flight->gone)
		*flight->gone = true;
	count_write(flight->kube, flight->call, -1);
	fl_flight_lists(flight, false);
	unqueue(flight);
	fl_timer_stop(flight->kube->io, &flight->again);
	fl_op_cancel(&flight->http.op);
	fl_http_call_free(&flight->http);
	fl_split_free(&flight->split);
	flight->call->flight = NULL;
	if (!FL_BLOCK_A_PIECE && flight->kube->spares < FL_KUBE_SPARES)
		flight_keep(flight->kube, flight);
	else
		flight_release(flight);
}

void fl_flight_end(struct fl_kube_flight *flight)
{
	struct fl_kube_call *call = flight->call;

	note_duration(flight->kube, flight);
	flight_free(flight);
	fl_op_end(&call->op, call->status);
}

void fl_flight_fail(struct fl_kube_flight *flight, const struct fl_err *err)
{
	struct fl_kube_call *call = flight->call;
	struct fl_err own = *err;

	flight_free(flight);
	fl_op_fail(&call->op, own.code, "%s", own.text);
}

static void drop(struct fl_op *op)
{
	struct fl_kube_call *call = fl_container(op, struct fl_kube_call, op);

	if (call->flight)
		flight_free(call->flight);
}

/* ---- going ---- */

static uint64_t jitter(struct fl_kube *kube, uint64_t below)
{
	uint64_t chance = 0;

	/* Without chance there is no jitter, and no harm. */
	if (fl_random(kube->io, &chance, sizeof chance, NULL) < 0)
		return 0;
	return below ? chance % below : 0;
}

static void send_now(struct fl_kube_flight *flight)
{
	struct fl_kube_call *call = flight->call;
	struct fl_err err = { 0 };

	if (call->may_send && !call->may_send(call->may_arg)) {
		(void)fl_fail(&err, FL_E_DENIED, "not sent: this replica does not lead any more");
		fl_flight_fail(flight, &err);
		return;
	}
	fl_http_call_free(&flight->http);
	fl_flight_begin_answer(flight);
	if (fl_flight_prepare(flight, &err) < 0) {
		fl_flight_fail(flight, &err);
		return;
	}
	flight->tries++;
	flight->generation = flight->kube->auth.generation;
	flight->sent = fl_clock(flight->kube->io);
	fl_http_start(flight->kube->auth.http, &flight->http);
}

void fl_flight_go(struct fl_kube_flight *flight)
{
	struct fl_kube *kube = flight->kube;

	/* Who does not try again by itself waits for what may be better. */
	if (!fl_auth_fresh(&kube->auth) || (kube->auth.spent && flight->call->once)) {
		flight->unsure = true;
		push(&kube->unsure, flight);
	} else if ((kube->closed_until || kube->held.first) && !flight->call->urgent) {
		flight->unsure = false;
		push(&kube->held, flight);
	} else {
		send_now(flight);
	}
}

/* ---- the gate ---- */

/* One goes first; while nobody is told to wait again, twice as many follow each time. */
static void open_gate(struct fl_timer *timer)
{
	struct fl_kube *kube = fl_container(timer, struct fl_kube, gate);
	const uint64_t pause = 10 * FL_NS_PER_MS;

	kube->closed_until = 0;
	kube->opening = kube->opening ? kube->opening * 2 : 1;
	for (uint32_t i = 0; i < kube->opening && kube->held.first && !kube->closed_until; i++)
		send_now(pop(&kube->held));
	if (kube->held.first)
		fl_timer_set(kube->io, &kube->gate, fl_now(kube->io) + pause + jitter(kube, pause));
	else
		kube->opening = 0;
}

static void come_back(struct fl_timer *timer)
{
	fl_flight_go(fl_container(timer, struct fl_kube_flight, again));
}

void fl_flight_later(struct fl_kube_flight *flight, uint64_t after, bool gate)
{
	struct fl_kube *kube = flight->kube;
	uint64_t at = fl_now(kube->io) + after;

	if (kube->retries)
		fl_count(fl_series(kube->retries, (struct fl_str[]){ gate ? FL_S("429") : FL_S("5xx"),
				flight->http.method,
								     fl_str(kube->host) }), 1);
	if (gate && at > kube->closed_until) {
		kube->closed_until = at;
		kube->opening = 0;
		fl_timer_set(kube->io, &kube->gate, at + jitter(kube, after / 4 + 1));
	}
	if (gate && !flight->call->urgent) {
		flight->unsure = false;
		push(&kube->held, flight);
	} else {
		fl_timer_set(kube->io, &flight->again, at + jitter(kube, after / 4 + 1));
	}
}

/* ---- credentials ---- */

void fl_flight_refused(struct fl_kube_flight *flight, const struct fl_err *err)
{
	struct fl_kube *kube = flight->kube;
	bool other = fl_auth_refused(&kube->auth, flight->generation);

	if (!other || flight->refreshed || flight->call->once) {
		fl_flight_fail(flight, err);
		return;
	}
	flight->refreshed = true;
	if (flight->generation != kube->auth.generation) {
		fl_flight_go(flight);   /* somebody else has had them read since */
		return;
	}
	flight->unsure = true;
	push(&kube->unsure, flight);
}

static void auth_ready(struct fl_auth *auth)
{
	struct fl_kube *kube = fl_container(auth, struct fl_kube, auth);
	struct fl_flight_queue waiting = { 0 };
	struct fl_kube_flight *flight;
	struct fl_err err = auth->err;

	/* Those that come to wait again meanwhile wait for the next reading. */
	while ((flight = pop(&kube->unsure)))
		push(&waiting, flight);
	while ((flight = waiting.first)) {
		take_out(&waiting, flight);
		if (err.code && (!auth->http || !flight->refreshed))
			fl_flight_fail(flight, &err);
		else
			fl_flight_go(flight);
	}
}

/* ---- calls ---- */

void fl_kube_start(struct fl_kube *kube, struct fl_kube_call *call)
{
	struct fl_kube_flight *flight = flight_new(kube);

	assert(call->kind || call->path);
	call->status = 0;
	call->answer = (struct fl_answer){ 0 };
	call->items = 0;
	call->flight = flight;
	fl_op_begin(&call->op, kube->io, drop);
	if (!flight) {
		fl_op_fail(&call->op, FL_E_NOMEM, "no memory for a request");
		return;
	}
	flight->call = call;
	flight->began = fl_now(kube->io);
	count_write(kube, call, 1);
	flight->again = (struct fl_timer){ .fire = come_back };
	fl_flight_go(flight);
}

uint32_t fl_kube_waiting(const struct fl_kube *kube)
{
	return kube->held.len;
}

uint64_t fl_kube_closed_until(const struct fl_kube *kube)
{
	return kube->closed_until;
}

struct fl_io *fl_kube_io(struct fl_kube *kube)
{
	return kube->io;
}

uint32_t fl_kube_opened(const struct fl_kube *kube)
{
	return kube->auth.http ? fl_http_client_opened(kube->auth.http) : 0;
}

/* ---- the client ---- */

static void name_host(struct fl_kube *kube)
{
	struct fl_str url = kube->config->server;
	struct fl_buf buf = FL_BUF_IN(kube->host);
	int64_t at = 0;

	while ((uint64_t)at + 3 <= url.len && memcmp(url.p + at, "://", 3) != 0)
		at++;
	url = (uint64_t)at + 3 <= url.len ? fl_str_sub(url, (uint32_t)at + 3, url.len) : url;
	at = fl_str_find(url, '/');
	fl_buf_str(&buf, fl_str_sub(url, 0, at < 0 ? FL_HOST_MAX : (uint32_t)at));
}

static int set_up(struct fl_kube *kube, const struct fl_kube_options *options, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf pair = FL_BUF(4 * FL_KIB);
	struct fl_family *families[METRIC_COUNT];

	kube->basic = FL_BUF(8 * FL_KIB);
	if (kube->config->user) {
		fl_buf_printf(&pair, "%s:%s", kube->config->user, kube->config->password);
		fl_buf_str(&kube->basic, FL_S("Basic "));
		fl_base64_put(&kube->basic, FL_BASE64_STD, pair.p, pair.len);
		if (fl_buf_check(&pair, "user and password", err) < 0 || fl_buf_check(&kube->basic,
										      "user and password", err) < 0)
			return -(int)err->code;
	}
	(void)snprintf(kube->user_agent, sizeof kube->user_agent, "fairlead/" FL_VERSION "%s%s%s", options->role ?
			" (" : "",
		       options->role ? options->role : "", options->role ? ")" : "");
	name_host(kube);
	if (!options->metrics)
		return 0;
	if (fl_metrics_add(options->metrics, metrics, METRIC_COUNT, NULL, families, err) < 0)
		return -(int)err->code;
	kube->requests = families[REQUESTS];
	kube->durations = families[DURATIONS];
	kube->retries = families[RETRIES];
	return 0;
}

struct fl_kube *fl_kube_new(struct fl_io *io, const struct fl_kube_options *options, struct fl_err *err)
{
	FL_AUTO(fl_kube) struct fl_kube *kube = fl_zalloc(sizeof *kube);
	struct fl_err own = { 0 };

	if (!kube)
		return fl_null(err, FL_E_NOMEM, "no memory for a Kubernetes client");
	kube->io = io;
	kube->config = options->config;
	kube->log = options->log;
	kube->gate = (struct fl_timer){ .fire = open_gate };
	kube->auth = (struct fl_auth){ .io = io, .config = options->config, .log = options->log, .ready = auth_ready };
	fl_auth_init(&kube->auth);
	if (set_up(kube, options, &own) < 0) {
		(void)fl_fail_as(err, &own);
		return NULL;
	}
	kube->auth.user_agent = fl_str(kube->user_agent);
	return fl_steal(&kube);
}

struct fl_kube *fl_kube_free(struct fl_kube *kube)
{
	if (!kube)
		return NULL;
	while (kube->spare)
		flight_release(take_spare(kube));
	fl_timer_stop(kube->io, &kube->gate);
	fl_auth_free(&kube->auth);
	fl_buf_free(&kube->basic);
	fl_json_space_free(&kube->space);
	fl_free(kube);
	return NULL;
}
