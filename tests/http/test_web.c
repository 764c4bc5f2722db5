/* Our client and our server against each other on real sockets, each case over HTTP/1.1 and HTTP/2, plain and TLS. */
#include "base/units.h"
#include "certs.h"
#include "http/client.h"
#include "http/server.h"
#include "test.h"
#include "test_io.h"
#include <stdio.h>

/* ---- a server with a few routes ---- */

struct web {
	struct fl_io *io;
	struct fl_http_server *server;
	struct fl_http_client *client;
	struct fl_tls_context *server_tls, *client_tls;
	struct fl_addr addr;
	char url[200];
	struct fl_err err;
	struct fl_http_req *held;      /* of /hold and /drip */
	struct fl_timer tick;
	int ticks, gone, ended, cut, drained;
	uint64_t got;
	bool greedy;                   /* a streamed body is given back at once */
};

static void web_auto_(struct web *web)
{
	if (web->io)
		fl_timer_stop(web->io, &web->tick);
	fl_http_client_free(web->client);
	fl_http_server_free(web->server);
	fl_tls_context_free(web->server_tls);
	fl_tls_context_free(web->client_tls);
	fl_io_free(web->io);
}

static void do_hello(struct fl_http_req *req)
{
	fl_http_req_answer(req, 200, FL_HEADERS({ FL_S("x-query"), fl_http_req_query(req) }), FL_S("hello"));
}

static void do_echo(struct fl_http_req *req)
{
	fl_http_req_answer(req, 201, FL_NO_HEADERS, fl_http_req_body(req));
}

static void do_who(struct fl_http_req *req)
{
	struct fl_http_peer peer = fl_http_req_peer(req);
	struct fl_str token = fl_headers_get(fl_http_req_head(req)->headers, FL_S("authorization"));
	struct fl_str agent = fl_headers_get(fl_http_req_head(req)->headers, FL_S("user-agent"));

	fl_http_req_say(req, 200, "%.*s %.*s %.*s uid=%d",
		FL_ARG(peer.subject ? peer.subject->common_name : FL_S("nobody")),
			FL_ARG(token), FL_ARG(agent), peer.cred.pid ? (int)peer.cred.uid : -1);
}

static void on_gone(void *arg)
{
	struct web *web = arg;

	web->gone++;
	web->held = NULL;
}

static const struct fl_http_req_user hold_user = { .gone = on_gone };

static void do_hold(struct fl_http_req *req)
{
	struct web *web = fl_http_req_service(req);

	web->held = req;
	fl_http_req_on(req, &hold_user, web);
}

static void on_tick(struct fl_timer *timer)
{
	struct web *web = fl_container(timer, struct web, tick);

	if (!web->held)
		return;
	if (web->ticks++ < 3) {
		fl_http_req_send(web->held, FL_S("tick "));
		fl_timer_set(web->io, timer, fl_now(web->io));
		return;
	}
	fl_http_req_end(web->held, FL_HEADERS({ FL_S("sum"), FL_S("3") }));
	web->held = NULL;
}

static void do_drip(struct fl_http_req *req)
{
	struct web *web = fl_http_req_service(req);

	do_hold(req);
	web->ticks = 0;
	fl_http_req_begin(req, 200, FL_NO_HEADERS, -1);
	web->tick.fire = on_tick;
	fl_timer_set(web->io, &web->tick, fl_now(web->io));
}

static void do_forget(struct fl_http_req *req)
{
	(void)req;
}

static void do_lie(struct fl_http_req *req)
{
	fl_http_req_begin(req, 200, FL_NO_HEADERS, 10);
	fl_http_req_send(req, FL_S("short"));
	fl_http_req_end(req, FL_NO_HEADERS);
}

static void do_cut(struct fl_http_req *req)
{
	fl_http_req_begin(req, 200, FL_NO_HEADERS, 10);
	fl_http_req_cut(req);
}

static void on_body(void *arg, struct fl_str bytes)
{
	struct web *web = arg;

	web->got += bytes.len;
	if (web->greedy)
		fl_http_req_consume(web->held, bytes.len);
}

static void on_body_end(void *arg)
{
	struct web *web = arg;

	fl_http_req_say(web->held, 200, "%llu", (unsigned long long)web->got);
}

static const struct fl_http_req_user upload_user = { .gone = on_gone, .body = on_body, .body_end = on_body_end };

static void do_upload(struct fl_http_req *req)
{
	struct web *web = fl_http_req_service(req);

	web->held = req;
	web->got = 0;
	fl_http_req_on(req, &upload_user, web);
}

static char much[600 * 1024];

static void do_much(struct fl_http_req *req)
{
	fl_http_req_answer(req, 200, FL_NO_HEADERS, (struct fl_str){ much, sizeof much });
}

static void do_flood(struct fl_http_req *req)
{
	struct web *web = fl_http_req_service(req);

	do_hold(req);
	fl_http_req_begin(req, 200, FL_NO_HEADERS, -1);
	for (int i = 0; i < 40; i++)
		fl_http_req_send(req, (struct fl_str){ much, 65536 });
	web->ticks = 40;
}

static const struct fl_http_route routes[] = {
	{ "GET", "/hello", do_hello, 0, false },
	{ "POST", "/echo", do_echo, 1000000, false },
	{ NULL, "/who", do_who, 0, false },
	{ NULL, "/hold", do_hold, 0, false },
	{ "GET", "/drip", do_drip, 0, false },
	{ "GET", "/forget", do_forget, 0, false },
	{ "GET", "/lie", do_lie, 0, false },
	{ "GET", "/cut", do_cut, 0, false },
	{ "GET", "/much", do_much, 0, false },
	{ "GET", "/flood", do_flood, 0, false },
	{ "POST", "/upload", do_upload, 0, true },
	{ NULL, "/tree/*", do_hello, 0, false },
};

static void on_ended(void *service, const struct fl_http_access *access)
{
	struct web *web = service;

	web->ended++;
	web->cut += access->cut;
}

/* ---- how they are joined ---- */

enum kind { H1, H2, H1_TLS, H2_TLS, UNIX_H1, UNIX_H2, KIND_COUNT };
static const char *const kind_names[] = { "HTTP/1.1", "HTTP/2", "HTTP/1.1 with TLS", "HTTP/2 with TLS",
	"HTTP/1.1 on a unix socket",
					  "HTTP/2 on a unix socket" };

static int make_tls(struct web *web, enum kind kind)
{
	const struct test_certs *certs = test_certs();
	struct fl_tls_config server = { .server = true, .peer = FL_TLS_PEER_ASK, .cert = fl_str(certs->server.cert),
					.key = fl_str(certs->server.key), .ca = fl_str(certs->ca.cert) };
	struct fl_tls_config client = { .cert = fl_str(certs->client.cert), .key = fl_str(certs->client.key),
					.ca = fl_str(certs->ca.cert), .no_h2 = kind == H1_TLS };

	web->server_tls = fl_tls_context_new(&server, fl_wall(web->io), &web->err);
	web->client_tls = web->server_tls ? fl_tls_context_new(&client, fl_wall(web->io), &web->err) : NULL;
	return web->client_tls ? 0 : -FL_E_NOMEM;
}

static int web_open(struct web *web, enum kind kind, struct fl_http_server_options options)
{
	struct fl_http_client_options client = { .url = { web->url, 0 }, .user_agent = FL_S("fairlead"),
		.token = FL_S("secret"),
						 .plain_h2 = kind == H2 || kind == UNIX_H2 };
	char text[FL_ADDR_TEXT];
	struct fl_addr addr;
	struct fl_str at;
	bool tls = kind == H1_TLS || kind == H2_TLS, local = kind == UNIX_H1 || kind == UNIX_H2;
	int r;

	web->io = test_io();
	if (!web->io)
		return -FL_E_NOMEM;
	r = fl_addr_parse(&addr, FL_S("127.0.0.1:0"), &web->err);
	if (local)
		r = fl_addr_unix(&addr, fl_str(test_path(test_dir(), "web.sock")), &web->err);
	if (r == 0 && tls)
		r = make_tls(web, kind);
	if (r < 0)
		return r;
	options.routes = options.routes ? options.routes : routes;
	options.route_count = options.route_count ? options.route_count : FL_LEN(routes);
	options.service = web;
	options.ended = on_ended;
	web->greedy = true;
	web->server = fl_http_server_new(web->io, &options, &web->err);
	r = web->server ? fl_http_server_listen(web->server, &addr, 0600, web->server_tls, &web->addr, &web->err) :
		-FL_E_NOMEM;
	if (r < 0)
		return r;
	at = fl_addr_print(local ? &addr : &web->addr, text);
	client.url.len = (uint32_t)snprintf(web->url, sizeof web->url, "%s%.*s", local ? "" : tls ? "https://" :
		"http://", FL_ARG(at));
	client.tls = web->client_tls;
	web->client = fl_http_client_new(web->io, &client, &web->err);
	return web->client ? 0 : -FL_E_NOMEM;
}

static struct fl_http_call call_of(struct web *web, struct fl_str method, struct fl_str target)
{
	return (struct fl_http_call){ .op = { .done = test_op_done, .err = &web->err }, .method = method,
		.target = target };
}

/* How a call ends that may have ended already. A server without memory says 503, which is a failure told. */
static int64_t end_call(struct web *web, struct fl_http_call *call)
{
	int64_t result = fl_op_busy(&call->op) ? test_op(web->io, &call->op) : call->op.result;

	return test_tortured() && result == 503 ? -FL_E_NOMEM : result;
}

static int64_t run_call(struct web *web, struct fl_http_call *call)
{
	fl_http_start(web->client, call);
	return end_call(web, call);
}

/* Turns until it is so. Tortured, it may never be. */
#define UNTIL(io, cond) \
	do { \
		uint64_t begun_ = fl_clock(io); \
		while (!(cond) && fl_clock(io) < begun_ + (test_tortured() ? 3 * FL_NS_PER_MS : 30 * FL_NS_PER_S)) \
			OK(fl_io_turn(io, fl_clock(io) + FL_NS_PER_MS, NULL)); \
		CHECK(test_tortured() || (cond)); \
	} while (0)

#define EACH_KIND(kind) for (enum kind kind = 0; kind < KIND_COUNT && (test_row(kind_names[kind]), true); kind++)

/* ---- what is so on every kind of connection ---- */

/* Once: six kinds one after the other; each is tortured below. */
TEST_ONCE(a_call_is_answered)
{
	CHECK(test_certs());
	EACH_KIND(kind)
	{
		FL_AUTO(web) struct web web = { 0 };
		FL_AUTO(fl_http_call) struct fl_http_call call = call_of(&web, FL_S("GET"), FL_S("/hello?a=b"));

		OK_ERR(web_open(&web, kind, (struct fl_http_server_options){ 0 }), &web.err);
		for (int i = 0; i < 2; i++) {
			OK_ERR(run_call(&web, &call), &web.err);
			CHECK_INT(call.op.result, 200);
			CHECK_STR(fl_buf_view(&call.reply), "hello");
			CHECK_STR(fl_headers_get(call.answer->headers, FL_S("x-query")), "a=b");
			CHECK_STR(fl_headers_get(call.answer->headers, FL_S("content-length")), "5");
		}
		CHECK_INT(fl_http_client_conns(web.client), 1);
	}
}

static const struct {
	const char *says;
	struct fl_str method, target, body;
	int status;
	const char *reply;
} calls[] = {
	{ "a body comes back", FL_S_INIT("POST"), FL_S_INIT("/echo"), FL_S_INIT("abc"), 201, "abc" },
	{ "an empty body is one", FL_S_INIT("POST"), FL_S_INIT("/echo"), FL_S_INIT(""), 201, "" },
	{ "HEAD is GET without the body", FL_S_INIT("HEAD"), FL_S_INIT("/hello"), FL_S_INIT(""), 200, "" },
	{ "an unknown path", FL_S_INIT("GET"), FL_S_INIT("/nothing"), FL_S_INIT(""), 404,
		"no route for /nothing\n" },
	{ "a known path by another method", FL_S_INIT("DELETE"), FL_S_INIT("/hello"), FL_S_INIT(""), 405,
		"method DELETE is not supported here\n" },
	{ "an unknown path with a body", FL_S_INIT("POST"), FL_S_INIT("/nothing"), FL_S_INIT("x"), 404,
		"no route for /nothing\n" },
	{ "a path below a tree", FL_S_INIT("PUT"), FL_S_INIT("/tree/a/b"), FL_S_INIT(""), 200, "hello" },
	{ "a handler that forgets", FL_S_INIT("GET"), FL_S_INIT("/forget"), FL_S_INIT(""), 500,
		"the handler gave no answer\n" },
	{ "an answer in pieces", FL_S_INIT("GET"), FL_S_INIT("/drip"), FL_S_INIT(""), 200, "tick tick tick " },
	{ "a streamed request", FL_S_INIT("POST"), FL_S_INIT("/upload"), FL_S_INIT("12345"), 200, "5\n" },
};

static void run_rows(enum kind kind)
{
	FL_AUTO(web) struct web web = { 0 };

	OK_ERR(web_open(&web, kind, (struct fl_http_server_options){ 0 }), &web.err);
	EACH_ROW (row, calls) {
		FL_AUTO(fl_http_call) struct fl_http_call call = call_of(&web, row->method, row->target);

		call.body = row->body;
		OK_ERR(run_call(&web, &call), &web.err);
		CHECK_INT(call.op.result, row->status);
		CHECK_STR(fl_buf_view(&call.reply), row->reply);
	}
	CHECK(test_tortured() || web.cut == 0);
}

TEST(answers_over_h1)
{
	run_rows(H1);
}

TEST(answers_over_h2)
{
	run_rows(H2);
}

/* Once: HTTP/1.1 is tortured above, and TLS below. */
TEST_ONCE(answers_over_h1_with_tls)
{
	CHECK(test_certs());
	run_rows(H1_TLS);
}

TEST(answers_over_h2_with_tls)
{
	CHECK(test_certs());
	run_rows(H2_TLS);
}

TEST(trailers_arrive)
{
	EACH_KIND(kind)
	{
		FL_AUTO(web) struct web web = { 0 };
		FL_AUTO(fl_http_call) struct fl_http_call call = call_of(&web, FL_S("GET"), FL_S("/drip"));

		if (kind > H2)
			break;
		OK_ERR(web_open(&web, kind, (struct fl_http_server_options){ 0 }), &web.err);
		OK_ERR(run_call(&web, &call), &web.err);
		CHECK(call.trailers);
		CHECK_STR(fl_headers_get(call.trailers->headers, FL_S("sum")), "3");
	}
}

TEST(the_server_knows_who_calls)
{
	static const struct {
		enum kind kind;
		const char *want;
	} rows[] = {
		{ H1, "nobody Bearer secret fairlead uid=-1\n" },
		{ H2_TLS, "tester Bearer secret fairlead uid=-1\n" },
		{ UNIX_H2, "nobody Bearer secret fairlead uid=0\n" },
	};

	CHECK(test_certs());
	for (size_t i = 0; i < FL_LEN(rows); i++) {
		FL_AUTO(web) struct web web = { 0 };
		FL_AUTO(fl_http_call) struct fl_http_call call = call_of(&web, FL_S("GET"), FL_S("/who"));

		test_row(rows[i].want);
		OK_ERR(web_open(&web, rows[i].kind, (struct fl_http_server_options){ 0 }), &web.err);
		OK_ERR(run_call(&web, &call), &web.err);
		if (!test_tortured() && rows[i].kind != UNIX_H2)
			CHECK_STR(fl_buf_view(&call.reply), rows[i].want);
	}
}

/* Once: each round moves megabytes, and the rows above fail at the same places. */
TEST_ONCE(a_large_answer_arrives_whole)
{
	CHECK(test_certs());
	EACH_KIND(kind)
	{
		FL_AUTO(web) struct web web = { 0 };
		FL_AUTO(fl_http_call) struct fl_http_call call = call_of(&web, FL_S("GET"), FL_S("/much"));

		if (kind == UNIX_H1)
			break;
		for (size_t i = 0; i < sizeof much; i++)
			much[i] = (char)(i * 7 >> 3);
		OK_ERR(web_open(&web, kind, (struct fl_http_server_options){ 0 }), &web.err);
		OK_ERR(run_call(&web, &call), &web.err);
		CHECK_INT(call.reply.len, sizeof much);
		CHECK(memcmp(call.reply.p, much, sizeof much) == 0);
		call.max_reply = 1000;
		REFUSED(run_call(&web, &call), FL_E_TOOBIG);
	}
}

/* ---- streams ---- */

struct reader {
	struct fl_http_call call;
	size_t got;
	bool pause, cancel;
	uint64_t made, make;       /* of a body that is pulled */
};

static void reader_auto_(struct reader *reader)
{
	fl_http_call_auto_(&reader->call);
}

static void on_got(struct fl_http_call *call, struct fl_str bytes)
{
	struct reader *reader = fl_container(call, struct reader, call);

	reader->got += bytes.len;
	if (reader->cancel)
		fl_op_cancel(&call->op);
	else if (!reader->pause)
		fl_http_call_consume(call, bytes.len);
}

static int64_t on_pull(struct fl_http_call *call, void *room, size_t len, bool *ret_end)
{
	struct reader *reader = fl_container(call, struct reader, call);
	uint64_t left = reader->make - reader->made;
	size_t piece = left < len ? (size_t)left : len;

	memset(room, 'x', piece);
	reader->made += piece;
	*ret_end = reader->made == reader->make;
	return (int64_t)piece;
}

/* Once: it waits for what must not happen. */
TEST_ONCE(a_slow_reader_is_waited_for)
{
	EACH_KIND(kind)
	{
		FL_AUTO(web) struct web web = { 0 };
		FL_AUTO(reader) struct reader reader = { .pause = true };

		if (kind > H2)
			break;
		OK_ERR(web_open(&web, kind, (struct fl_http_server_options){ 0 }), &web.err);
		reader.call = call_of(&web, FL_S("GET"), FL_S("/much"));
		reader.call.got = on_got;
		fl_http_start(web.client, &reader.call);
		UNTIL(web.io, reader.got > 0);
		OK(test_pause(web.io, 3 * FL_NS_PER_MS));
		CHECK(reader.got <= FL_H2_STREAM_WINDOW + 65536);
		reader.pause = false;
		fl_http_call_consume(&reader.call, reader.call.unconsumed);
		OK_ERR(end_call(&web, &reader.call), &web.err);
		CHECK_INT(reader.got, sizeof much);
	}
}

TEST(a_long_request_is_streamed)
{
	EACH_KIND(kind)
	{
		FL_AUTO(web) struct web web = { 0 };
		FL_AUTO(reader) struct reader reader = { .make = 30000 };

		if (kind > H2)
			break;
		OK_ERR(web_open(&web, kind, (struct fl_http_server_options){ 0 }), &web.err);
		reader.call = call_of(&web, FL_S("POST"), FL_S("/upload"));
		reader.call.pull = on_pull;
		reader.call.pull_length = -1;
		OK_ERR(run_call(&web, &reader.call), &web.err);
		CHECK_STR(fl_buf_view(&reader.call.reply), "30000\n");
	}
}

/* Once: it waits for what must not happen. */
TEST_ONCE(a_handler_that_is_slow_slows_the_client)
{
	EACH_KIND(kind)
	{
		FL_AUTO(web) struct web web = { 0 };
		FL_AUTO(reader) struct reader reader = { .make = 50000000 };

		if (kind > H2)
			break;
		OK_ERR(web_open(&web, kind, (struct fl_http_server_options){ 0 }), &web.err);
		web.greedy = false;
		reader.call = call_of(&web, FL_S("POST"), FL_S("/upload"));
		reader.call.pull = on_pull;
		reader.call.pull_length = -1;
		fl_http_start(web.client, &reader.call);
		OK(test_pause(web.io, 3 * FL_NS_PER_MS));
		CHECK(web.got <= FL_H2_STREAM_WINDOW);
		CHECK(reader.made < 20000000);
	}
}

TEST(a_cancelled_call_is_gone_on_the_other_side)
{
	EACH_KIND(kind)
	{
		FL_AUTO(web) struct web web = { 0 };
		FL_AUTO(fl_http_call) struct fl_http_call call = call_of(&web, FL_S("GET"), FL_S("/hold"));

		if (kind > H2)
			break;
		OK_ERR(web_open(&web, kind, (struct fl_http_server_options){ 0 }), &web.err);
		fl_http_start(web.client, &call);
		UNTIL(web.io, web.held);
		fl_op_cancel(&call.op);
		UNTIL(web.io, web.gone == 1);
	}
}

TEST(a_reader_may_cancel_in_the_middle)
{
	EACH_KIND(kind)
	{
		FL_AUTO(web) struct web web = { 0 };
		FL_AUTO(reader) struct reader reader = { .cancel = true };

		if (kind > H2)
			break;
		OK_ERR(web_open(&web, kind, (struct fl_http_server_options){ 0 }), &web.err);
		reader.call = call_of(&web, FL_S("GET"), FL_S("/much"));
		reader.call.got = on_got;
		fl_http_start(web.client, &reader.call);
		UNTIL(web.io, web.ended == 1);
	}
}

TEST(a_client_that_does_not_read_is_cut)
{
	EACH_KIND(kind)
	{
		FL_AUTO(web) struct web web = { 0 };
		FL_AUTO(reader) struct reader reader = { .pause = true };

		if (kind > H2)
			break;
		OK_ERR(web_open(&web, kind, (struct fl_http_server_options){ .max_queue = 100000 }), &web.err);
		reader.call = call_of(&web, FL_S("GET"), FL_S("/flood"));
		reader.call.got = on_got;
		REFUSED(run_call(&web, &reader.call), FL_E_CLOSED);
		if (!test_tortured())
			CHECK_INT(web.gone, 1);
	}
}

/* ---- what goes wrong ---- */

static const struct {
	const char *says;
	struct fl_str target;
	enum fl_code code;
} failing[] = {
	{ "fewer bytes than announced", FL_S_INIT("/lie"), FL_E_CLOSED },
	{ "an answer that breaks off", FL_S_INIT("/cut"), FL_E_CLOSED },
};

TEST(half_an_answer_is_a_failure)
{
	for (enum kind kind = H1; kind <= H2; kind++) {
		FL_AUTO(web) struct web web = { 0 };

		OK_ERR(web_open(&web, kind, (struct fl_http_server_options){ 0 }), &web.err);
		EACH_ROW (row, failing) {
			FL_AUTO(fl_http_call) struct fl_http_call call = call_of(&web, FL_S("GET"), row->target);

			REFUSED(run_call(&web, &call), row->code);
		}
	}
}

/* Once: it is made of waiting. */
TEST_ONCE(calls_have_deadlines)
{
	EACH_KIND(kind)
	{
		FL_AUTO(web) struct web web = { 0 };
		FL_AUTO(fl_http_call) struct fl_http_call call = call_of(&web, FL_S("GET"), FL_S("/hold"));

		if (kind > H2)
			break;
		OK_ERR(web_open(&web, kind, (struct fl_http_server_options){ .max_queue = 1 << 26 }), &web.err);
		call.head_timeout = 2 * FL_NS_PER_MS;
		REFUSED(run_call(&web, &call), FL_E_TIMEOUT);
		call.head_timeout = 0;
		call.op.deadline = fl_now(web.io) + 2 * FL_NS_PER_MS;
		REFUSED(run_call(&web, &call), FL_E_TIMEOUT);
		call.op.deadline = 0;
		call.target = FL_S("/flood");
		call.max_reply = 1 << 30;
		call.idle_timeout = 2 * FL_NS_PER_MS;
		REFUSED(run_call(&web, &call), FL_E_TIMEOUT);
	}
}

TEST(a_body_over_the_limit_is_refused_before_it_comes)
{
	static char big[1000001];

	EACH_KIND(kind)
	{
		FL_AUTO(web) struct web web = { 0 };
		FL_AUTO(fl_http_call) struct fl_http_call call = call_of(&web, FL_S("POST"), FL_S("/echo"));

		if (kind > H2)
			break;
		OK_ERR(web_open(&web, kind, (struct fl_http_server_options){ 0 }), &web.err);
		call.body = (struct fl_str){ big, sizeof big };
		OK_ERR(run_call(&web, &call), &web.err);
		CHECK_INT(call.op.result, 413);
	}
}

TEST(nobody_answers)
{
	FL_AUTO(web) struct web web = { 0 };
	FL_AUTO(fl_http_call) struct fl_http_call call = call_of(&web, FL_S("GET"), FL_S("/"));

	OK_ERR(web_open(&web, H1, (struct fl_http_server_options){ 0 }), &web.err);
	web.server = fl_http_server_free(web.server);
	REFUSED(run_call(&web, &call), FL_E_RETRY);
}

TEST(a_certificate_for_somebody_else_is_refused)
{
	FL_AUTO(web) struct web web = { 0 };
	FL_AUTO(fl_http_call) struct fl_http_call call = call_of(&web, FL_S("GET"), FL_S("/"));
	struct fl_http_client_options options = { 0 };

	CHECK(test_certs());
	OK_ERR(web_open(&web, H2_TLS, (struct fl_http_server_options){ 0 }), &web.err);
	web.client = fl_http_client_free(web.client);
	options = (struct fl_http_client_options){ .url = fl_str(web.url), .tls = web.client_tls,
		.server_name = FL_S("other") };
	web.client = fl_http_client_new(web.io, &options, &web.err);
	GOT(web.client);
	REFUSED(run_call(&web, &call), FL_E_DENIED);
}

/* ---- many, and the end ---- */

#define MANY 20
TEST(many_calls_share_one_connection)
{
	FL_AUTO(web) struct web web = { 0 };
	struct fl_http_call each[MANY];
	int64_t result = 0;

	OK_ERR(web_open(&web, H2, (struct fl_http_server_options){ .max_streams = 7 }), &web.err);
	for (int i = 0; i < MANY; i++) {
		each[i] = call_of(&web, FL_S("POST"), FL_S("/echo"));
		each[i].body = FL_S("x");
		fl_http_start(web.client, &each[i]);
	}
	for (int i = 0; i < MANY; i++) {
		int64_t one = end_call(&web, &each[i]);

		fl_http_call_free(&each[i]);
		result = one < 0 ? one : result;
	}
	CHECK(fl_http_client_conns(web.client) <= FL_HTTP_CLIENT_CONNS);
	OK_ERR(result, &web.err);
	CHECK_INT(web.ended, MANY);
}

static void on_drained(void *arg)
{
	((struct web *)arg)->drained++;
}

TEST(a_server_that_ends_lets_calls_finish)
{
	EACH_KIND(kind)
	{
		FL_AUTO(web) struct web web = { 0 };
		FL_AUTO(fl_http_call) struct fl_http_call call = call_of(&web, FL_S("GET"), FL_S("/hold"));

		if (kind > H2)
			break;
		OK_ERR(web_open(&web, kind, (struct fl_http_server_options){ 0 }), &web.err);
		fl_http_start(web.client, &call);
		UNTIL(web.io, web.held);
		fl_http_server_drain(web.server, fl_now(web.io) + FL_NS_PER_S, on_drained, &web);
		OK(test_pause(web.io, 2 * FL_NS_PER_MS));
		if (web.held)
			do_hello(web.held);
		web.held = NULL;
		OK_ERR(end_call(&web, &call), &web.err);
		CHECK_INT(call.op.result, 200);
		OK(test_turns(web.io, &web.drained, 1));
		CHECK_INT(fl_http_server_conns(web.server), 0);
	}
}

TEST(a_server_that_ends_cuts_what_does_not_finish)
{
	EACH_KIND(kind)
	{
		FL_AUTO(web) struct web web = { 0 };
		FL_AUTO(fl_http_call) struct fl_http_call call = call_of(&web, FL_S("GET"), FL_S("/hold"));

		if (kind > H2)
			break;
		OK_ERR(web_open(&web, kind, (struct fl_http_server_options){ 0 }), &web.err);
		fl_http_start(web.client, &call);
		UNTIL(web.io, web.held);
		fl_http_server_drain(web.server, fl_now(web.io) + 2 * FL_NS_PER_MS, on_drained, &web);
		OK(test_turns(web.io, &web.drained, 1));
		CHECK_INT(fl_http_server_conns(web.server), 0);
		CHECK(end_call(&web, &call) < 0);
	}
}

TEST(new_certificates_are_used_by_new_connections)
{
	FL_AUTO(web) struct web web = { 0 };
	FL_AUTO(fl_http_call) struct fl_http_call held = call_of(&web, FL_S("POST"), FL_S("/hold"));
	FL_AUTO(fl_http_call) struct fl_http_call call = call_of(&web, FL_S("GET"), FL_S("/who"));

	CHECK(test_certs());
	OK_ERR(web_open(&web, H2_TLS, (struct fl_http_server_options){ 0 }), &web.err);
	fl_http_start(web.client, &held);
	UNTIL(web.io, web.held);
	fl_tls_context_free(web.client_tls);
	web.client_tls = NULL;
	web.client_tls = fl_tls_context_new(&(struct fl_tls_config){ .ca = fl_str(test_certs()->ca.cert) },
					    fl_wall(web.io), &web.err);
	GOT(web.client_tls);
	fl_http_client_use(web.client, web.client_tls);
	OK(fl_http_client_token(web.client, FL_S("fresh")));
	OK_ERR(run_call(&web, &call), &web.err);
	CHECK_STR(fl_buf_view(&call.reply), "nobody Bearer fresh fairlead uid=-1\n");
	OK(test_tortured() ? -FL_E_IO : 0); /* it may be on its way again, and nobody would answer */
	CHECK(web.held);
	do_hello(web.held); /* a POST: lost now, it does not come again */
	OK_ERR(end_call(&web, &held), &web.err);
}

static const struct {
	const char *says;
	struct fl_str url;
	const char *want;
} urls[] = {
	{ "no scheme", FL_S_INIT("localhost:80"), "'localhost:80': a url begins with https://, http:// or unix:" },
	{ "no host", FL_S_INIT("http://"), "'http://': no proper host" },
	{ "a user in it", FL_S_INIT("http://u:p@h/"), "'http://u:p@h/': ':p@h' is no port" },
	{ "a port that is none", FL_S_INIT("http://h:x"), "'http://h:x': ':x' is no port" },
	{ "a port of 0", FL_S_INIT("http://h:0"), "'http://h:0': ':0' is no port" },
	{ "half an address", FL_S_INIT("http://[::1"), "'http://[::1': an IPv6 address without its ']'" },
	{ "https without trust", FL_S_INIT("https://h"), "'https://h' needs certificates to trust" },
};

TEST(a_url_is_checked)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();

	GOT(io);
	EACH_ROW (row, urls) {
		struct fl_http_client_options options = { .url = row->url };
		struct fl_err err = { 0 };

		CHECK(!fl_http_client_new(io, &options, &err));
		REFUSED(-(int)err.code, FL_E_INVALID);
		if (!test_tortured())
			CHECK_STR(fl_str(err.text), row->want);
	}
}
