#include "local/server.h"
#include "local/hook_http.h"

struct fl_api_server {
	struct fl_io *io;
	struct fl_api *api;
	struct fl_http_server *http;
	struct fl_timer work;
	struct fl_hook_servers hooks;
};

/* A request that takes more than one turn. */
struct exchange {
	struct fl_api_server *server;
	struct fl_http_req *req;
	struct fl_api_call *call;
	struct fl_api_watch watch;
	struct fl_timer bookmark, timeout, pump;
	bool watches;
	struct fl_hook_questions questions;
};

static int64_t wall(struct fl_io *io)
{
	return fl_wall(io) / 1000;
}

static void on_work(struct fl_timer *timer)
{
	struct fl_api_server *server = fl_container(timer, struct fl_api_server, work);

	fl_io_name(server->io, "api work");
	if (fl_api_work(server->api, wall(server->io)))
		fl_timer_set(server->io, &server->work, fl_now(server->io));
}

static void exchange_free(struct exchange *exchange)
{
	struct fl_io *io = exchange->server->io;

	fl_timer_stop(io, &exchange->bookmark);
	fl_timer_stop(io, &exchange->timeout);
	fl_timer_stop(io, &exchange->pump);
	fl_hook_questions_stop(&exchange->questions);
	fl_api_call_free(exchange->call);
	fl_free(exchange);
}

static void gone(void *arg)
{
	exchange_free(arg);
}

/* ---- watches ---- */

static bool has_room(const struct exchange *exchange)
{
	return fl_http_req_queued(exchange->req) < FL_API_QUEUE_MAX;
}

static bool watch_send(struct fl_api_watch *watch, struct fl_chunk *chunk)
{
	struct exchange *exchange = fl_container(watch, struct exchange, watch);

	fl_http_req_send_chunk(exchange->req, chunk);
	return has_room(exchange);
}

static void on_end(struct fl_timer *timer)
{
	struct exchange *exchange = fl_container(timer, struct exchange, timeout);

	fl_http_req_end(exchange->req, FL_NO_HEADERS);
	exchange_free(exchange);
}

/* In a turn of its own: the server may be in the middle of telling others. */
static void watch_ended(struct fl_api_watch *watch)
{
	struct exchange *exchange = fl_container(watch, struct exchange, watch);

	fl_timer_stop(exchange->server->io, &exchange->bookmark);
	fl_timer_stop(exchange->server->io, &exchange->pump);
	fl_timer_set(exchange->server->io, &exchange->timeout, fl_now(exchange->server->io));
}

static void on_bookmark(struct fl_timer *timer)
{
	struct exchange *exchange = fl_container(timer, struct exchange, bookmark);

	fl_timer_set(exchange->server->io, timer, fl_now(exchange->server->io) + FL_API_BOOKMARK);
	fl_api_watch_bookmark(&exchange->watch);
}

static void on_pump(struct fl_timer *timer)
{
	struct exchange *exchange = fl_container(timer, struct exchange, pump);

	if (exchange->watches)
		fl_api_watch_pump(&exchange->watch);
}

/* ---- lists ---- */

/* Send until the client has enough to read. */
static void send_list(struct exchange *exchange)
{
	struct fl_err err = { 0 };

	while (has_room(exchange)) {
		if (fl_api_call_more(exchange->call, &err)) {
			fl_http_req_send(exchange->req, fl_api_call_body(exchange->call));
			continue;
		}
		if (err.code)
			fl_http_req_cut(exchange->req);
		else
			fl_http_req_end(exchange->req, FL_NO_HEADERS);
		exchange_free(exchange);
		return;
	}
}

static void drained(void *arg)
{
	struct exchange *exchange = arg;

	if (fl_api_call_outcome(exchange->call) == FL_OUTCOME_HOOKS)
		return;
	if (exchange->watches)
		fl_timer_set(exchange->server->io, &exchange->pump, fl_now(exchange->server->io));
	else
		send_list(exchange);
}

static const struct fl_http_req_user user = { .gone = gone, .drained = drained };

/* ---- requests ---- */

static void begin_watch(struct exchange *exchange)
{
	struct fl_io *io = exchange->server->io;

	exchange->watches = true;
	exchange->watch.give = watch_send;
	exchange->watch.ended = watch_ended;
	exchange->bookmark.fire = on_bookmark;
	exchange->timeout.fire = on_end;
	exchange->pump.fire = on_pump;
	fl_api_watch_start(exchange->call, &exchange->watch);
	fl_timer_set(io, &exchange->bookmark, fl_now(io) + FL_API_BOOKMARK);
	if (exchange->watch.timeout)
		fl_timer_set(io, &exchange->timeout, fl_now(io) + (uint64_t)exchange->watch.timeout * 1000);
	fl_api_watch_pump(&exchange->watch);
}

/* An answer in pieces. */
static void begin_pieces(struct exchange *exchange)
{
	struct fl_api_call *call = exchange->call;

	fl_http_req_begin(exchange->req, fl_api_call_status(call), fl_api_call_headers(call), -1);
	if (fl_api_call_outcome(call) == FL_OUTCOME_WATCH) {
		begin_watch(exchange);
		return;
	}
	fl_http_req_send(exchange->req, fl_api_call_body(call));
	send_list(exchange);
}

static void answer(struct fl_http_req *req, const struct fl_api_call *call)
{
	fl_http_req_answer(req, fl_api_call_status(call), fl_api_call_headers(call), fl_api_call_body(call));
}

static void fail(struct exchange *exchange)
{
	fl_http_req_say(exchange->req, 500, "no memory");
	exchange_free(exchange);
}

/* ---- webhooks ---- */

/* Until all have answered, or the request is; then with its answer. */
static void proceed(struct exchange *exchange)
{
	struct fl_api_server *server = exchange->server;

	while (fl_api_call_outcome(exchange->call) == FL_OUTCOME_HOOKS) {
		fl_hook_questions_stop(&exchange->questions);
		if (fl_hook_questions_start(&exchange->questions) < 0) {
			fail(exchange);
			return;
		}
		if (exchange->questions.open)
			return;
		if (!fl_api_call_resume(exchange->call, wall(server->io))) {
			fail(exchange);
			return;
		}
	}
	fl_timer_set(server->io, &server->work, fl_now(server->io));
	if (fl_api_call_outcome(exchange->call) != FL_OUTCOME_ANSWER) {
		begin_pieces(exchange);
		return;
	}
	answer(exchange->req, exchange->call);
	exchange_free(exchange);
}

static void hooks_answered(struct fl_hook_questions *questions)
{
	struct exchange *exchange = fl_container(questions, struct exchange, questions);

	if (fl_api_call_resume(exchange->call, wall(exchange->server->io)))
		proceed(exchange);
	else
		fail(exchange);
}

/* The call is the exchange's from here on. */
static void begin_exchange(struct fl_api_server *server, struct fl_http_req *req, struct fl_api_call *call)
{
	struct exchange *exchange = fl_zalloc(sizeof *exchange);

	if (!exchange) {
		fl_api_call_free(call);
		fl_http_req_say(req, 500, "no memory");
		return;
	}
	*exchange = (struct exchange){ .server = server, .req = req, .call = call };
	exchange->questions = (struct fl_hook_questions){ .servers = &server->hooks, .call = call,
							  .done = hooks_answered };
	fl_http_req_on(req, &user, exchange);
	proceed(exchange);
}

static void handle(struct fl_http_req *req)
{
	struct fl_api_server *server = fl_http_req_service(req);
	const struct fl_http_head *head = fl_http_req_head(req);
	struct fl_ask ask = {
		.method = head->method,
		.path = fl_http_req_path(req),
		.query = fl_http_req_query(req),
		.type = fl_headers_get(head->headers, FL_S("content-type")),
		.accept = fl_headers_get(head->headers, FL_S("accept")),
		.agent = fl_headers_get(head->headers, FL_S("user-agent")),
		.body = fl_http_req_body(req),
		.now = wall(server->io),
	};
	struct fl_api_call *call = fl_api_call(server->api, &ask);

	if (!call) {
		fl_http_req_say(req, 500, "no memory");
		return;
	}
	fl_timer_set(server->io, &server->work, fl_now(server->io));
	if (fl_api_call_outcome(call) == FL_OUTCOME_ANSWER) {
		answer(req, call);
		fl_api_call_free(call);
		return;
	}
	begin_exchange(server, req, call);
}

static const struct fl_http_route routes[] = { { NULL, "/*", handle, FL_API_BODY_MAX, false, false } };

struct fl_api_server *fl_api_serve(struct fl_io *io, struct fl_api *api, const struct fl_addr *at,
				   struct fl_tls_context *tls, struct fl_addr *ret_addr, struct fl_err *err)
{
	FL_AUTO(fl_api_server) struct fl_api_server *server = fl_zalloc(sizeof *server);
	struct fl_http_server_options options = { .routes = routes, .route_count = FL_LEN(routes),
						  .max_queue = FL_API_QUEUE_MAX + FL_API_QUEUE_ROOM };

	if (!server)
		return fl_null(err, FL_E_NOMEM, "no memory for an API server");
	*server = (struct fl_api_server){ .io = io, .api = api, .work.fire = on_work, .hooks.io = io };
	options.service = server;
	server->http = fl_http_server_new(io, &options, err);
	if (!server->http || fl_http_server_listen(server->http, at, 0, tls, ret_addr, err) < 0)
		return NULL;
	return fl_steal(&server);
}

struct fl_api_server *fl_api_server_free(struct fl_api_server *server)
{
	if (!server)
		return NULL;
	fl_timer_stop(server->io, &server->work);
	fl_http_server_free(server->http);
	fl_hook_servers_free(&server->hooks);
	fl_free(server);
	return NULL;
}
