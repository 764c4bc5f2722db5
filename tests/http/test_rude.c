/* Clients that misbehave, byte for byte, on a real socket: each is answered or cut, within bounds, and others are
 * served. */
#include "base/units.h"
#include "h2_bytes.h"
#include "http/conn.h"
#include "http/h2.h"
#include "http/server.h"
#include "test.h"
#include "test_io.h"

struct rude {
	struct fl_io *io;
	struct fl_http_server *server;
	struct fl_addr addr;
	struct fl_connect connect;
	struct fl_poll poll;
	struct fl_err err;
	char said[4000];           /* what the server answered */
	size_t len;
	int over, served;          /* the server has closed */
	struct fl_http_req *held;
	int gone;
};

static void rude_auto_(struct rude *rude)
{
	if (rude->io && rude->poll.fd > 0) {
		fl_poll_stop(rude->io, &rude->poll);
		fl_close(rude->io, rude->poll.fd);
	}
	fl_http_server_free(rude->server);
	fl_io_free(rude->io);
}

static void do_ok(struct fl_http_req *req)
{
	struct rude *rude = fl_http_req_service(req);

	rude->served++;
	fl_http_req_answer(req, 200, FL_NO_HEADERS, FL_S("ok"));
}

static void on_gone(void *arg)
{
	struct rude *rude = arg;

	rude->gone++;
	rude->held = NULL;
}

static void do_hold(struct fl_http_req *req)
{
	static const struct fl_http_req_user user = { .gone = on_gone };
	struct rude *rude = fl_http_req_service(req);

	rude->held = req;
	fl_http_req_on(req, &user, rude);
}

static const struct fl_http_route routes[] = {
	{ NULL, "/", do_ok, 1000, false },
	{ NULL, "/hold", do_hold, 1000, false },
};

static void on_ready(struct fl_poll *poll, unsigned what)
{
	struct rude *rude = fl_container(poll, struct rude, poll);
	char bytes[4096];
	int64_t got = fl_read(rude->io, poll->fd, bytes, sizeof bytes);

	(void)what;
	if (got > 0) {
		size_t room = sizeof rude->said - 1 - rude->len, piece = (size_t)got < room ? (size_t)got : room;

		memcpy(rude->said + rude->len, bytes, piece);
		rude->len += piece;
	} else if (got != -FL_E_AGAIN) {
		rude->over++;
		fl_poll_stop(rude->io, poll);
	}
}

static int rude_open(struct rude *rude, struct fl_http_server_options options)
{
	int r;

	rude->io = test_io();
	if (!rude->io)
		return -FL_E_NOMEM;
	options.routes = routes;
	options.route_count = FL_LEN(routes);
	options.service = rude;
	rude->server = fl_http_server_new(rude->io, &options, &rude->err);
	if (!rude->server)
		return -FL_E_NOMEM;
	r = fl_addr_parse(&rude->addr, FL_S("127.0.0.1:0"), &rude->err);
	if (r == 0)
		r = fl_http_server_listen(rude->server, &rude->addr, 0, NULL, &rude->addr, &rude->err);
	if (r < 0)
		return r;
	rude->connect = (struct fl_connect){ .op.err = &rude->err, .addr = rude->addr };
	fl_connect(rude->io, &rude->connect);
	r = (int)test_op(rude->io, &rude->connect.op);
	if (r < 0)
		return r;
	rude->poll = (struct fl_poll){ .ready = on_ready, .fd = r };
	return fl_poll_set(rude->io, &rude->poll, FL_READABLE, &rude->err);
}

static int say(struct rude *rude, struct fl_str bytes)
{
	while (bytes.len) {
		int64_t put = fl_write(rude->io, rude->poll.fd, bytes.p, bytes.len);

		if (put == -FL_E_CLOSED)
			return 0; /* cut already */
		if (put < 0 && put != -FL_E_AGAIN)
			return (int)put;
		if (put > 0)
			bytes = fl_str_sub(bytes, (uint32_t)put, bytes.len);
		else if (fl_io_turn(rude->io, fl_clock(rude->io) + FL_NS_PER_MS, NULL) < 0)
			return -FL_E_IO;
	}
	return 0;
}

/* Turns until the server has closed; how soon it must is the test's own limit. */
static int wait_over(struct rude *rude)
{
	uint64_t begun = fl_clock(rude->io);

	while (!rude->over && fl_clock(rude->io) < begun + (test_tortured() ? FL_NS_PER_S / 20 : 30 * FL_NS_PER_S))
		if (fl_io_turn(rude->io, fl_clock(rude->io) + 10 * FL_NS_PER_MS, NULL) < 0)
			return -FL_E_IO;
	rude->said[rude->len] = 0;
	if (test_pause(rude->io, FL_NS_PER_MS) < 0) /* the server sees our end, too */
		return -FL_E_IO;
	return test_tortured() ? -FL_E_IO : rude->over ? 0 : -FL_E_TIMEOUT;
}

/* Turns until it is so. Tortured, it may never be. */
#define UNTIL(io, cond) \
	do { \
		uint64_t begun_ = fl_clock(io); \
		while (!(cond) && fl_clock(io) < begun_ + (test_tortured() ? 3 * FL_NS_PER_MS : 30 * FL_NS_PER_S)) \
			OK(fl_io_turn(io, fl_clock(io) + FL_NS_PER_MS, NULL)); \
		CHECK(test_tortured() || (cond)); \
	} while (0)

static const struct {
	const char *says;
	struct fl_str bytes;
	const char *first;         /* of the answer */
} cut[] = {
	{ "no HTTP at all", FL_S_INIT("\x01\x02\x03"), "HTTP/1.1 400 Bad Request\r\n" },
	{ "a TLS hello", FL_S_INIT("\x16\x03\x01\x02"), "HTTP/1.1 400 Bad Request\r\n" },
	{ "smuggling",
	  FL_S_INIT("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n"),
	  "HTTP/1.1 400 Bad Request\r\n" },
	{ "a body beyond the limit", FL_S_INIT("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1001\r\n\r\n"),
		"HTTP/1.1 413 Content Too Large\r\n" },
	{ "a chunk without a size",
	  FL_S_INIT("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nz\r\n"),
	  "HTTP/1.1 400 Bad Request\r\n" },
	{ "a version that nobody speaks", FL_S_INIT("GET / HTTP/3.0\r\nhost: a\r\n\r\n"),
		"HTTP/1.1 505 HTTP Version Not Supported\r\n" },
	{ "close means close", FL_S_INIT("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"),
		"HTTP/1.1 200 OK\r\n" },
	{ "HTTP/1.0 is answered and closed", FL_S_INIT("GET / HTTP/1.0\r\n\r\n"), "HTTP/1.1 200 OK\r\n" },
	{ "half of HTTP/2's preface", FL_S_INIT("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"), "" },
};

TEST(what_is_wrong_is_answered_and_cut)
{
	EACH_ROW (row, cut) {
		FL_AUTO(rude) struct rude rude = { 0 };

		OK_ERR(rude_open(&rude, (struct fl_http_server_options){ 0 }), &rude.err);
		OK(say(&rude, row->bytes));
		/* It lingers until the client has ended, too. */
		OK(test_pause(rude.io, 2 * FL_NS_PER_MS));
		fl_shutdown_write(rude.io, rude.poll.fd);
		OK(wait_over(&rude));
		if (row->first[0])
			CHECK_STR(fl_str_sub(fl_str(rude.said), 0, (uint32_t)strlen(row->first)), row->first);
		CHECK_INT(fl_http_server_conns(rude.server), 0);
	}
}

TEST(pipelined_requests_are_answered_in_order)
{
	FL_AUTO(rude) struct rude rude = { 0 };
	const char *at;
	int count = 0;

	OK_ERR(rude_open(&rude, (struct fl_http_server_options){ 0 }), &rude.err);
	for (int i = 0; i < 20; i++)
		OK(say(&rude, FL_S("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nab")));
	OK(say(&rude, FL_S("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")));
	fl_shutdown_write(rude.io, rude.poll.fd);
	OK(wait_over(&rude));
	CHECK_INT(rude.served, 21);
	for (at = rude.said; (at = strstr(at, "HTTP/1.1 200 OK")) != NULL; at++)
		count++;
	CHECK_INT(count, 21);
}

TEST(a_continue_is_said_before_the_body_is_sent)
{
	FL_AUTO(rude) struct rude rude = { 0 };

	OK_ERR(rude_open(&rude, (struct fl_http_server_options){ 0 }), &rude.err);
	OK(say(&rude, FL_S("POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\n"
			   "connection: close\r\ncontent-length: 2\r\n\r\n")));
	UNTIL(rude.io, rude.len > 0);
	if (!test_tortured())
		CHECK_STR(((struct fl_str){ rude.said, (uint32_t)rude.len }), "HTTP/1.1 100 Continue\r\n\r\n");
	OK(say(&rude, FL_S("ab")));
	fl_shutdown_write(rude.io, rude.poll.fd);
	OK(wait_over(&rude));
	CHECK(strstr(rude.said, "HTTP/1.1 200 OK"));
}

static const struct {
	const char *says;
	struct fl_str bytes;
	const char *first;
} slow[] = {
	{ "a connection that never says a thing", FL_S_INIT(""), "" },
	{ "half a head", FL_S_INIT("GET / HTTP/1.1\r\nhost: a\r\nx: "), "HTTP/1.1 408 Request Timeout\r\n" },
	{ "half a body", FL_S_INIT("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nabc"),
		"HTTP/1.1 408 Request Timeout\r\n" },
	{ "half an HTTP/2 preface", FL_S_INIT("PRI * HTTP/2.0\r\n\r\n"), "" },
};

/* Once: it is made of waiting. */
TEST_ONCE(the_slow_are_cut)
{
	EACH_ROW (row, slow) {
		FL_AUTO(rude) struct rude rude = { 0 };

		OK_ERR(rude_open(&rude, (struct fl_http_server_options){ .head_timeout = 10 * FL_NS_PER_MS,
			.idle_timeout = 10 * FL_NS_PER_MS,
									 .body_timeout = 10 * FL_NS_PER_MS }),
		       &rude.err);
		OK(say(&rude, row->bytes));
		UNTIL(rude.io, rude.over || rude.len);
		fl_shutdown_write(rude.io, rude.poll.fd);
		OK(wait_over(&rude));
		CHECK_STR(fl_str_sub(fl_str(rude.said), 0, (uint32_t)strlen(row->first)), row->first);
		CHECK_INT(fl_http_server_conns(rude.server), 0);
	}
}

/* Once: it is made of waiting. The answer has been read, and nothing of another request has come. */
TEST_ONCE(an_idle_connection_is_closed_without_a_408)
{
	FL_AUTO(rude) struct rude rude = { 0 };
	uint64_t begun;

	OK_ERR(rude_open(&rude, (struct fl_http_server_options){ .head_timeout = 10 * FL_NS_PER_MS,
								 .idle_timeout = 60 * FL_NS_PER_MS }),
	       &rude.err);
	begun = fl_clock(rude.io);
	OK(say(&rude, FL_S("GET / HTTP/1.1\r\nhost: a\r\n\r\n")));
	UNTIL(rude.io, rude.over);
	CHECK(fl_clock(rude.io) - begun >= 60 * FL_NS_PER_MS);
	fl_shutdown_write(rude.io, rude.poll.fd);
	OK(wait_over(&rude));
	CHECK(strstr(rude.said, "HTTP/1.1 200 OK"));
	CHECK(!strstr(rude.said, "408"));
	CHECK_INT(fl_http_server_conns(rude.server), 0);
}

/* Once: a byte now and then for as long as the deadline is a matter of the clock. */
TEST_ONCE(a_head_has_its_time_from_its_first_byte)
{
	FL_AUTO(rude) struct rude rude = { 0 };

	OK_ERR(rude_open(&rude, (struct fl_http_server_options){ .head_timeout = 30 * FL_NS_PER_MS }), &rude.err);
	OK(say(&rude, FL_S("GET / HTTP/1.1\r\n")));
	for (int i = 0; i < 1000 && !rude.over && !rude.len; i++) {
		OK(say(&rude, FL_S("x: y\r\n")));
		OK(test_pause(rude.io, 5 * FL_NS_PER_MS));
	}
	CHECK_STR(fl_str_sub(fl_str(rude.said), 0, 28), "HTTP/1.1 408 Request Timeout");
}

TEST(a_client_that_ends_its_side_has_left)
{
	FL_AUTO(rude) struct rude rude = { 0 };

	OK_ERR(rude_open(&rude, (struct fl_http_server_options){ 0 }), &rude.err);
	OK(say(&rude, FL_S("GET /hold HTTP/1.1\r\nhost: a\r\n\r\n")));
	UNTIL(rude.io, rude.held);
	fl_shutdown_write(rude.io, rude.poll.fd);
	OK(wait_over(&rude));
	CHECK_INT(rude.gone, 1);
}

/* Once: the session itself is tortured in test_h2. */
TEST_ONCE(rapid_reset_is_cut_on_the_socket)
{
	FL_AUTO(rude) struct rude rude = { 0 };
	FL_AUTO(fl_buf) struct fl_buf wire = FL_BUF(FL_MIB);

	h2_hello(&wire);
	for (uint32_t i = 0; i < 20 * FL_H2_RESETS_BURST; i++) {
		h2_frame(&wire, H2_HEADERS, 5, 2 * i + 1, FL_S("\x82\x86\x41\x01"
							       "a\x44\x05/hold"));
		h2_frame(&wire, H2_RST, 0, 2 * i + 1, FL_S("\0\0\0\x08"));
	}
	OK(fl_buf_check(&wire, "test", NULL));
	OK_ERR(rude_open(&rude, (struct fl_http_server_options){ 0 }), &rude.err);
	OK(say(&rude, fl_buf_view(&wire)));
	OK(test_pause(rude.io, 5 * FL_NS_PER_MS));
	fl_shutdown_write(rude.io, rude.poll.fd);
	OK(wait_over(&rude));
	/* What came in the same read as the one too many is still looked at. */
	CHECK(rude.gone >= FL_H2_RESETS_BURST && rude.gone < 10 * FL_H2_RESETS_BURST);
	CHECK_INT(fl_http_server_conns(rude.server), 0);
}

static const struct {
	const char *says;
	int type, flags;
	uint32_t id;
	struct fl_str payload;
} idle_frames[] = {
	{ "PRIORITY", H2_PRIORITY, 0, 3, FL_S_INIT("\0\0\0\0\x01") },
	{ "SETTINGS, with all answers read", H2_SETTINGS, 0, 0, FL_S_INIT("") },
	{ "PING, with all answers read", H2_PING, 0, 0, FL_S_INIT("12345678") },
	{ "WINDOW_UPDATE", H2_WINDOW, 0, 0, FL_S_INIT("\0\0\0\x01") },
	{ "an unknown type", 0xf0, 0, 0, FL_S_INIT("") },
	{ "empty DATA of a request that goes on", H2_DATA, 0, 1, FL_S_INIT("") },
	{ "empty DATA of a request that was answered", H2_DATA, 0, 3, FL_S_INIT("") },
};

/* Once: the session itself is tortured in test_h2. */
TEST_ONCE(frames_that_bring_nothing_are_cut)
{
	EACH_ROW (row, idle_frames) {
		FL_AUTO(rude) struct rude rude = { 0 };
		FL_AUTO(fl_buf) struct fl_buf wire = FL_BUF(FL_MIB);

		h2_hello(&wire);
		h2_frame(&wire, H2_HEADERS, H2_END_HEADERS, 1, FL_S("\x83\x86\x41\x01"
								    "a\x44\x05/hold"));
		h2_frame(&wire, H2_HEADERS, H2_END_HEADERS | H2_END_STREAM, 3, FL_S(H2_GET));
		OK_ERR(rude_open(&rude, (struct fl_http_server_options){ 0 }), &rude.err);
		OK(say(&rude, fl_buf_view(&wire)));
		UNTIL(rude.io, rude.served == 1);
		/* A few at a time: no queue of ours is full. */
		for (int i = 0; i < 20 * FL_H2_IDLE_BURST && !rude.over; i += 20) {
			fl_buf_clear(&wire);
			for (int k = 0; k < 20; k++)
				h2_frame(&wire, row->type, row->flags, row->id, row->payload);
			OK(say(&rude, fl_buf_view(&wire)));
			OK(fl_io_turn(rude.io, fl_clock(rude.io), NULL));
		}
		CHECK(rude.over);
		CHECK_INT(fl_http_server_conns(rude.server), 0);
	}
}

/* Whoever reads what it asked for, and opens its windows in the smallest steps, is served. */
TEST_ONCE(requests_earn_frames_that_bring_nothing)
{
	FL_AUTO(rude) struct rude rude = { 0 };
	FL_AUTO(fl_buf) struct fl_buf wire = FL_BUF(FL_MIB);
	const int count = 5 * FL_H2_IDLE_BURST;

	h2_hello(&wire);
	OK_ERR(rude_open(&rude, (struct fl_http_server_options){ 0 }), &rude.err);
	for (int i = 0; i < count; i++) {
		h2_frame(&wire, H2_HEADERS, H2_END_HEADERS | H2_END_STREAM, (uint32_t)(2 * i + 1), FL_S(H2_GET));
		for (int k = 0; k < 3; k++)
			h2_frame(&wire, H2_WINDOW, 0, 0, FL_S("\0\0\0\x02"));
		OK(say(&rude, fl_buf_view(&wire)));
		fl_buf_clear(&wire);
		UNTIL(rude.io, rude.served > i || rude.over);
		rude.len = 0;
	}
	CHECK_INT(rude.over, 0);
	CHECK_INT(rude.served, count);
}

TEST(so_many_connections_and_no_more)
{
	FL_AUTO(rude) struct rude rude = { 0 };
	struct fl_connect more = { 0 };
	int fd;

	OK_ERR(rude_open(&rude, (struct fl_http_server_options){ .max_conns = 1 }), &rude.err);
	OK(say(&rude, FL_S("GET /hold HTTP/1.1\r\nhost: a\r\n\r\n")));
	UNTIL(rude.io, rude.held);
	more = (struct fl_connect){ .op.err = &rude.err, .addr = rude.addr };
	fl_connect(rude.io, &more);
	fd = (int)test_op(rude.io, &more.op);
	OK(fd);
	if (test_pause(rude.io, 2 * FL_NS_PER_MS) == 0 && !test_tortured())
		CHECK_INT(fl_http_server_conns(rude.server), 1);
	fl_close(rude.io, fd);
}
