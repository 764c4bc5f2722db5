/* A client to whom much is on its way reads its connections now and then. */
#include "base/units.h"
#include "http/client.h"
#include "http/server.h"
#include "test.h"
#include "test_io.h"
#include <stdio.h>

static char much[200 * 1024];

static void do_hello(struct fl_http_req *req)
{
	fl_http_req_answer(req, 200, FL_NO_HEADERS, FL_S("hello"));
}

static void do_much(struct fl_http_req *req)
{
	fl_http_req_answer(req, 200, FL_NO_HEADERS, (struct fl_str){ much, sizeof much });
}

static void do_cut(struct fl_http_req *req)
{
	fl_http_req_begin(req, 200, FL_NO_HEADERS, 10);
	fl_http_req_cut(req);
}

static const struct fl_http_route routes[] = {
	{ "GET", "/hello", do_hello, 0, false },
	{ "GET", "/much", do_much, 0, false },
	{ "GET", "/cut", do_cut, 0, false },
};

struct web {
	struct fl_io *io;
	struct fl_http_server *server;
	struct fl_http_client *client;
	struct fl_err err;
};

static void web_auto_(struct web *web)
{
	fl_http_client_free(web->client);
	fl_http_server_free(web->server);
	fl_io_free(web->io);
}

static int web_open(struct web *web, bool h2)
{
	struct fl_http_server_options options = { .routes = routes, .route_count = FL_LEN(routes) };
	struct fl_http_client_options client = { .plain_h2 = h2 };
	char text[FL_ADDR_TEXT], url[FL_ADDR_TEXT + 10];
	struct fl_addr addr, at;

	web->io = test_io();
	if (!web->io)
		return -FL_E_NOMEM;
	web->server = fl_http_server_new(web->io, &options, &web->err);
	if (!web->server || fl_addr_parse(&addr, FL_S("127.0.0.1:0"), &web->err) < 0 ||
	    fl_http_server_listen(web->server, &addr, 0600, NULL, &at, &web->err) < 0)
		return -(int)web->err.code;
	(void)snprintf(url, sizeof url, "http://%.*s", FL_ARG(fl_addr_print(&at, text)));
	client.url = fl_str(url);
	web->client = fl_http_client_new(web->io, &client, &web->err);
	return web->client ? 0 : -(int)web->err.code;
}

static int64_t ask(struct web *web, const char *target, struct fl_http_call *call)
{
	*call = (struct fl_http_call){ .op = { .done = test_op_done, .err = &web->err }, .method = FL_S("GET"),
				       .target = fl_str(target) };
	fl_http_start(web->client, call);
	return test_op(web->io, &call->op);
}

static int64_t say_hello(struct web *web)
{
	FL_AUTO(fl_http_call) struct fl_http_call call = { 0 };
	int64_t result = ask(web, "/hello", &call);

	return result == 503 ? -FL_E_NOMEM : result;   /* a server without memory */
}

TEST_ONCE(all_is_read_all_the_same)
{
	memset(much, 'x', sizeof much);
	for (int h2 = 0; h2 < 2; h2++) {
		FL_AUTO(web) struct web web = { 0 };
		FL_AUTO(fl_http_call) struct fl_http_call call = { 0 };

		OK_ERR(web_open(&web, h2), &web.err);
		fl_http_client_batch(web.client, FL_NS_PER_MS);
		for (int i = 0; i < 3; i++)
			CHECK_INT(say_hello(&web), 200);
		CHECK_INT(ask(&web, "/much", &call), 200);
		CHECK_INT(call.reply.len, sizeof much);
		fl_http_call_free(&call);
		CHECK_INT(ask(&web, "/cut", &call), -FL_E_CLOSED);
	}
}

TEST(who_rests_after_a_read_is_told_of_nothing_meanwhile)
{
	const uint64_t rest = 10 * FL_NS_PER_MS;
	FL_AUTO(web) struct web web = { 0 };
	uint64_t before;

	OK_ERR(web_open(&web, true), &web.err);
	OK_ERR(say_hello(&web), &web.err);
	fl_http_client_batch(web.client, rest);
	before = fl_clock(web.io);
	OK_ERR(say_hello(&web), &web.err);
	OK_ERR(say_hello(&web), &web.err);
	/* The first answer was read after `before`. */
	CHECK(test_tortured() || fl_clock(web.io) >= before + rest);
	fl_http_client_batch(web.client, 0);
	for (int i = 0; i < 3; i++)
		OK_ERR(say_hello(&web), &web.err);
}

TEST_ONCE(a_rest_that_is_called_off_is_over)
{
	const uint64_t rest = 10 * FL_NS_PER_S;
	FL_AUTO(web) struct web web = { 0 };
	FL_AUTO(fl_http_call) struct fl_http_call call = { .method = FL_S("GET"), .target = FL_S("/hello") };
	uint64_t before;

	OK_ERR(web_open(&web, true), &web.err);
	OK_ERR(say_hello(&web), &web.err);
	before = fl_clock(web.io);
	fl_http_client_batch(web.client, rest);
	OK_ERR(say_hello(&web), &web.err);
	call.op = (struct fl_op){ .done = test_op_done, .err = &web.err };
	fl_http_start(web.client, &call);
	while (fl_clock(web.io) < before + 50 * FL_NS_PER_MS)
		OK(fl_io_turn(web.io, fl_now(web.io) + FL_NS_PER_MS, &web.err));
	CHECK(fl_op_busy(&call.op));
	fl_http_client_batch(web.client, 0);
	CHECK_INT(test_op(web.io, &call.op), 200);
	CHECK(fl_clock(web.io) < before + rest);
}
