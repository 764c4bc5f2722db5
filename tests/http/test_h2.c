#include "base/units.h"
#include "h2_bytes.h"
#include "http/h2.h"
#include "test.h"

/* ---- two sides that write down what they are told ---- */

struct side;
struct stream {
	struct fl_h2_stream h2;
	struct side *side;
	struct fl_str body;        /* what pull() gives */
	uint32_t at, most;         /* most: bytes that may be pulled so far; UINT32_MAX: all */
	bool trailers, hold;       /* hold: do not consume what comes */
	bool answer_later;
	uint32_t got;
	bool closed;
	enum fl_h2_code code;
};

struct side {
	struct fl_h2 *h2;
	struct fl_buf log;
	struct stream streams[8];  /* a server's, in the order in which they came */
	uint32_t count;
	struct fl_str body;        /* a server answers with this */
	bool trailers, refuse, hold, silent, free_it;
	int failed;
};

static void note_headers(struct fl_buf *log, const struct fl_http_head *head)
{
	for (uint32_t i = 0; i < head->headers.len; i++)
		fl_buf_printf(log, " %.*s=%.*s", FL_ARG(head->headers.at[i].name), FL_ARG(head->headers.at[i].value));
	fl_buf_str(log, FL_S("; "));
}

static void answer(struct stream *stream)
{
	struct fl_http_head head = { .status = 200, .headers = FL_HEADERS({ FL_S("x"), FL_S("y") }) };

	if (fl_h2_respond(&stream->h2, &head, stream->body.len > 0, NULL) < 0)
		stream->side->failed = -FL_E_NOMEM;
}

static void on_request(struct fl_h2 *h2, const struct fl_http_head *head, bool end)
{
	struct side *side = fl_h2_arg(h2);
	struct stream *stream = &side->streams[side->count];

	fl_buf_printf(&side->log, "%.*s %.*s at=%.*s%s", FL_ARG(head->method), FL_ARG(head->target),
		      FL_ARG(head->authority),
		      end ? "" : "+");
	note_headers(&side->log, head);
	if (side->free_it) {
		side->h2 = fl_h2_free(h2);
		return;
	}
	if (side->refuse || side->count == FL_LEN(side->streams))
		return;
	side->count++;
	*stream = (struct stream){ .side = side, .body = side->body, .most = UINT32_MAX, .trailers = side->trailers,
				   .hold = side->hold, .answer_later = side->silent };
	fl_h2_accept(h2, &stream->h2);
	if (end && !side->silent)
		answer(stream);
}

static void on_head(struct fl_h2_stream *h2, enum fl_h2_block block, const struct fl_http_head *head)
{
	struct stream *stream = fl_container(h2, struct stream, h2);

	fl_buf_printf(&stream->side->log, "%s %d", block == FL_H2_TRAILERS ? "trailers" : "head", head->status);
	note_headers(&stream->side->log, head);
}

static void on_data(struct fl_h2_stream *h2, struct fl_str bytes)
{
	struct stream *stream = fl_container(h2, struct stream, h2);

	stream->got += bytes.len;
	if (!stream->hold)
		fl_h2_consume(h2, bytes.len);
}

static void on_end(struct fl_h2_stream *h2)
{
	struct stream *stream = fl_container(h2, struct stream, h2);

	fl_buf_printf(&stream->side->log, "%u end; ", stream->got);
	if (!stream->h2.sent_head && stream >= stream->side->streams &&
	    stream < stream->side->streams + FL_LEN(stream->side->streams) &&
	    !stream->answer_later)
		answer(stream);
}

static int64_t on_pull(struct fl_h2_stream *h2, void *room, size_t len, enum fl_h2_end *ret_end)
{
	struct stream *stream = fl_container(h2, struct stream, h2);
	struct fl_str piece = fl_str_sub(stream->body, stream->at, len < stream->most - stream->at ? (uint32_t)len :
		stream->most - stream->at);

	if (piece.len)
		memcpy(room, piece.p, piece.len);
	stream->at += piece.len;
	if (stream->at < stream->body.len)
		return piece.len;
	*ret_end = stream->trailers ? FL_H2_END_TRAILERS : FL_H2_END;
	if (stream->trailers && fl_h2_trailers(h2, FL_HEADERS({ FL_S("t"), FL_S("u") }), NULL) < 0)
		return -FL_E_NOMEM;
	return piece.len;
}

static void on_closed(struct fl_h2_stream *h2, enum fl_h2_code code, const char *why)
{
	struct stream *stream = fl_container(h2, struct stream, h2);

	fl_buf_printf(&stream->side->log, "closed %s; ", fl_name(&fl_h2_code_names, (int)code));
	(void)why;
	stream->closed = true;
	stream->code = code;
}

static void on_goaway(struct fl_h2 *h2, int32_t last, enum fl_h2_code code)
{
	struct side *side = fl_h2_arg(h2);

	fl_buf_printf(&side->log, "goaway %s%s; ", last == INT32_MAX ? "soon " : "",
		fl_name(&fl_h2_code_names, (int)code));
}

static void on_pong(struct fl_h2 *h2)
{
	struct side *side = fl_h2_arg(h2);

	fl_buf_str(&side->log, FL_S("pong; "));
}

static const struct fl_h2_user user = { .request = on_request, .head = on_head, .data = on_data, .end = on_end,
	.pull = on_pull,
					.closed = on_closed, .goaway = on_goaway, .pong = on_pong };

static void side_auto_(struct side *side)
{
	fl_h2_free(side->h2);
	fl_buf_free(&side->log);
}

static int side_open(struct side *side, struct fl_h2_config config)
{
	config.user = &user;
	config.arg = side;
	side->log = FL_BUF(64 * FL_KIB);
	side->h2 = fl_h2_new(&config, NULL);
	return side->h2 ? 0 : -FL_E_NOMEM;
}

/* Carry bytes both ways, `piece` at a time, until nobody has any. */
static int carry(struct side *a, struct side *b, size_t piece)
{
	char bytes[16384];

	for (bool moved = true; moved;) {
		moved = false;
		for (int i = 0; i < 2; i++) {
			struct side *from = i ? b : a, *to = i ? a : b;
			int64_t got = from->h2 ? fl_h2_send(from->h2, bytes, piece, NULL) : 0;
			int result = got > 0 && to->h2 ? fl_h2_recv(to->h2, bytes, (size_t)got, NULL) : (int)got;

			if (result < 0)
				return result;
			moved = moved || got > 0;
		}
	}
	/* Where memory was refused, nghttp2 may have ended a stream or the connection, politely and by the protocol. */
	return test_tortured() ? -FL_E_NOMEM : a->failed ? a->failed : b->failed;
}

static int get(struct side *client, struct stream *stream, struct fl_str target)
{
	struct fl_http_head head = { .method = FL_S("GET"), .scheme = FL_S("http"), .authority = FL_S("a"),
		.target = target };

	stream->side = client;
	stream->most = stream->most ? stream->most : UINT32_MAX;
	return fl_h2_request(client->h2, &stream->h2, &head, stream->body.len > 0, NULL);
}

static char many[700 * 1024];

#define OPEN(client, server, ...) \
	OK(side_open(&client, (struct fl_h2_config){ 0 })); \
	OK(side_open(&server, (struct fl_h2_config){ .server = true, __VA_ARGS__ }))

TEST(a_request_is_answered)
{
	FL_AUTO(side) struct side client = { 0 }, server = { .body = FL_S("hello"), .trailers = true };
	struct stream stream = { .body = FL_S("abc"), .trailers = true };

	OPEN(client, server);
	OK(get(&client, &stream, FL_S("/x?y")));
	OK(carry(&client, &server, 16384));
	CHECK_STR(fl_buf_view(&server.log), "GET /x?y at=a+; trailers 0 t=u; 3 end; closed NO_ERROR; ");
	CHECK_STR(fl_buf_view(&client.log), "head 200 x=y; trailers 0 t=u; 5 end; closed NO_ERROR; ");
	CHECK_INT(fl_h2_open_streams(client.h2), 0);
}

TEST(bytes_may_be_cut_anywhere)
{
	FL_AUTO(side) struct side client = { 0 }, server = { .body = { many, 3000 } };
	struct stream stream = { .body = { many, 2000 } };

	OPEN(client, server);
	OK(get(&client, &stream, FL_S("/")));
	OK(carry(&client, &server, 1));
	CHECK_STR(fl_buf_view(&server.log), "GET / at=a+; 2000 end; closed NO_ERROR; ");
	CHECK_STR(fl_buf_view(&client.log), "head 200 x=y; 3000 end; closed NO_ERROR; ");
}

TEST(a_slow_consumer_stalls_only_itself)
{
	FL_AUTO(side) struct side client = { 0 }, server = { .body = { many, sizeof many } };
	struct stream slow = { .hold = true }, quick = { 0 };

	OPEN(client, server);
	OK(get(&client, &slow, FL_S("/slow")));
	OK(get(&client, &quick, FL_S("/quick")));
	OK(carry(&client, &server, 16384));
	CHECK_INT(quick.got, sizeof many);
	CHECK_INT(slow.got, FL_H2_STREAM_WINDOW);
	CHECK(quick.closed && !slow.closed);
	slow.hold = false;
	fl_h2_consume(&slow.h2, slow.got);
	OK(carry(&client, &server, 16384));
	CHECK_INT(slow.got, sizeof many);
	CHECK(slow.closed);
}

TEST(a_body_may_come_in_its_own_time)
{
	FL_AUTO(side) struct side client = { 0 }, server = { .body = FL_S("x") };
	struct stream stream = { .body = FL_S("abcdef"), .most = 1 };

	OPEN(client, server);
	OK(get(&client, &stream, FL_S("/")));
	OK(carry(&client, &server, 16384));
	CHECK_INT(server.streams[0].got, 1);
	stream.most = 4;
	fl_h2_wake(&stream.h2);
	OK(carry(&client, &server, 16384));
	CHECK_INT(server.streams[0].got, 4);
	stream.most = UINT32_MAX;
	fl_h2_wake(&stream.h2);
	OK(carry(&client, &server, 16384));
	CHECK(stream.closed && server.streams[0].closed);
}

TEST(an_answer_before_the_end_of_the_request_ends_it)
{
	FL_AUTO(side) struct side client = { 0 }, server = { .silent = true };
	struct stream stream = { .body = FL_S("abcdef"), .most = 1 };

	OPEN(client, server);
	OK(get(&client, &stream, FL_S("/")));
	OK(carry(&client, &server, 16384));
	answer(&server.streams[0]);
	OK(carry(&client, &server, 16384));
	CHECK(test_tortured() || (stream.closed && stream.code == FL_H2_NO_ERROR && stream.h2.got_end));
}

TEST(a_reset_is_final_and_silent_for_its_author)
{
	FL_AUTO(side) struct side client = { 0 }, server = { .silent = true };
	struct stream stream = { 0 };

	OPEN(client, server);
	OK(get(&client, &stream, FL_S("/")));
	OK(carry(&client, &server, 16384));
	fl_h2_reset(&stream.h2, FL_H2_CANCEL);
	CHECK(!stream.h2.h2 && !stream.closed);
	OK(carry(&client, &server, 16384));
	CHECK(server.streams[0].closed);
	CHECK_INT(server.streams[0].code, FL_H2_CANCEL);
	CHECK_STR(fl_buf_view(&client.log), "");
}

TEST(a_request_that_was_not_sent_yet_can_be_reset)
{
	FL_AUTO(side) struct side client = { 0 }, server = { .silent = true };
	struct stream stream = { 0 };

	OPEN(client, server);
	OK(get(&client, &stream, FL_S("/")));
	fl_h2_reset(&stream.h2, FL_H2_CANCEL);
	OK(carry(&client, &server, 16384));
	CHECK_INT(server.count, 0);
	CHECK_STR(fl_buf_view(&client.log), "");
}

TEST(what_nobody_takes_is_refused)
{
	FL_AUTO(side) struct side client = { 0 }, server = { .refuse = true };
	struct stream stream = { 0 };

	OPEN(client, server);
	OK(get(&client, &stream, FL_S("/")));
	OK(carry(&client, &server, 16384));
	CHECK_STR(fl_buf_view(&client.log), "closed REFUSED_STREAM; ");
}

TEST(there_is_room_for_so_many)
{
	FL_AUTO(side) struct side client = { 0 }, server = { .silent = true };
	struct stream streams[3] = { 0 };

	OPEN(client, server, .max_streams = 2);
	OK(carry(&client, &server, 16384));
	CHECK_INT(fl_h2_room(client.h2), 2);
	OK(get(&client, &streams[0], FL_S("/")));
	OK(get(&client, &streams[1], FL_S("/")));
	CHECK_INT(fl_h2_room(client.h2), 0);
	REFUSED(get(&client, &streams[2], FL_S("/")), FL_E_AGAIN);
	CHECK(!streams[2].h2.h2);
}

TEST(a_server_that_goes_finishes_what_it_has)
{
	FL_AUTO(side) struct side client = { 0 }, server = { .silent = true };
	struct stream stream = { 0 }, late = { 0 };

	OPEN(client, server);
	OK(get(&client, &stream, FL_S("/")));
	OK(carry(&client, &server, 16384));
	fl_h2_shutdown(server.h2);
	OK(carry(&client, &server, 16384));
	REFUSED(get(&client, &late, FL_S("/")), FL_E_CLOSED);
	fl_h2_shutdown(server.h2);
	OK(carry(&client, &server, 16384));
	CHECK(!fl_h2_over(server.h2));
	answer(&server.streams[0]);
	OK(carry(&client, &server, 16384));
	CHECK(server.failed || fl_h2_over(server.h2));
	CHECK_STR(fl_buf_view(&client.log),
		  "goaway soon NO_ERROR; goaway NO_ERROR; head 200 x=y; 0 end; closed NO_ERROR; ");
}

TEST(a_session_may_be_freed_from_within)
{
	FL_AUTO(side) struct side client = { 0 }, server = { .free_it = true };
	struct stream stream = { 0 };
	int result;

	OPEN(client, server);
	OK(get(&client, &stream, FL_S("/")));
	result = carry(&client, &server, 16384);
	REFUSED(result, FL_E_CLOSED);
	CHECK(test_tortured() || !server.h2);
}

TEST(a_head_over_the_limit_is_answered)
{
	FL_AUTO(side) struct side client = { 0 }, server = { 0 };
	struct stream stream = { .side = &client };
	struct fl_http_head head = { .method = FL_S("GET"), .scheme = FL_S("http"), .authority = FL_S("a"),
		.target = FL_S("/"),
				     .headers = FL_HEADERS({ FL_S("big"), { many, 20000 } }) };

	memset(many, 'x', sizeof many);
	OPEN(client, server, .max_head = 16384);
	OK(fl_h2_request(client.h2, &stream.h2, &head, false, NULL));
	OK(carry(&client, &server, 16384));
	CHECK_STR(fl_buf_view(&server.log), "");
	CHECK_STR(fl_buf_view(&client.log), "head 431; 0 end; closed NO_ERROR; ");
}

TEST(what_cannot_be_sent_is_refused)
{
	FL_AUTO(side) struct side client = { 0 };
	struct stream stream = { .side = &client };
	struct fl_http_head head = { .method = FL_S("GET"), .scheme = FL_S("http"), .authority = FL_S("a"),
		.target = FL_S("/"),
				     .headers = FL_HEADERS({ FL_S("x"), FL_S("a\nb") }) };

	OK(side_open(&client, (struct fl_h2_config){ 0 }));
	REFUSED(fl_h2_request(client.h2, &stream.h2, &head, false, NULL), FL_E_INVALID);
	head.headers = FL_HEADERS({ FL_S("X"), FL_S("a") });
	REFUSED(fl_h2_request(client.h2, &stream.h2, &head, false, NULL), FL_E_INVALID);
	head.headers = FL_NO_HEADERS;
	head.target = FL_S("/ x");
	REFUSED(fl_h2_request(client.h2, &stream.h2, &head, false, NULL), FL_E_INVALID);
}

TEST(a_ping_is_answered)
{
	FL_AUTO(side) struct side client = { 0 }, server = { 0 };

	OPEN(client, server);
	OK(fl_h2_ping(client.h2));
	OK(carry(&client, &server, 16384));
	CHECK_STR(fl_buf_view(&client.log), "pong; ");
}

/* ---- bytes that no good client sends ---- */

#define FRAME(type, flags, id, payload) type, flags, id, FL_S_INIT(payload)
static const struct {
	const char *says;
	int type, flags;
	uint32_t id;
	struct fl_str payload;
	bool lenient;
	const char *log;
	bool over;                 /* the connection is at its end */
} odd[] = {
	{ "a good request is one", FRAME(H2_HEADERS, 5, 1, H2_GET), false, "GET / at=a; closed NO_ERROR; ", false },
	{ "a path as :authority is malformed on the network",
	  FRAME(H2_HEADERS, 5, 1, "\x83\x86\x84\x41\x05/a.so"), false, "", false },
	{ "and taken on a unix socket, because old kubelets send it",
	  FRAME(H2_HEADERS, 5, 1, "\x83\x86\x84\x41\x05/a.so"), true, "POST / at=/a.so; closed NO_ERROR; ", false },
	{ "no :path", FRAME(H2_HEADERS, 5, 1, "\x82\x86"), false, "", false },
	{ "no :path, lenient", FRAME(H2_HEADERS, 5, 1, "\x82\x86"), true, "", false },
	{ "two :method, lenient", FRAME(H2_HEADERS, 5, 1, "\x82\x82\x86\x84"), true, "", false },
	{ "a field before a pseudo-field, lenient", FRAME(H2_HEADERS, 5, 1, "\x82\x86\x40\x01x\x01y\x84"), true, "",
		false },
	{ "a capital in a name, lenient", FRAME(H2_HEADERS, 5, 1, "\x82\x86\x84\x40\x01X\x01y"), true, "", false },
	{ "a line end in a value, lenient", FRAME(H2_HEADERS, 5, 1, "\x82\x86\x84\x40\x01x\x01\n"), true, "", false },
	{ "a line end in a value", FRAME(H2_HEADERS, 5, 1, "\x82\x86\x84\x40\x01x\x01\n"), false, "", false },
	{ "a blank in :path, lenient", FRAME(H2_HEADERS, 5, 1, "\x82\x86\x44\x02/ "), true, "", false },
	{ "transfer-encoding, lenient",
	  FRAME(H2_HEADERS, 5, 1, "\x82\x86\x84\x40\x11transfer-encoding\x07" "chunked"), true, "", false },
	{ "connection", FRAME(H2_HEADERS, 5, 1, "\x82\x86\x84\x40\x0a" "connection\x05" "close"), false, "", false },
	{ "te: gzip, lenient", FRAME(H2_HEADERS, 5, 1, "\x82\x86\x84\x40\x02te\x04gzip"), true, "", false },
	{ "an unknown pseudo-field, lenient", FRAME(H2_HEADERS, 5, 1, "\x82\x86\x84\x40\x02:x\x01y"), true, "", false },
	{ "an index that HPACK does not have", FRAME(H2_HEADERS, 5, 1, "\xff\x80\x80\x01"), false, "", true },
	{ "a length beyond the block", FRAME(H2_HEADERS, 5, 1, "\x82\x86\x84\x41\x7fx"), false, "", true },
	{ "Huffman code that ends wrongly", FRAME(H2_HEADERS, 5, 1, "\x82\x86\x84\x41\x82\xff\xff"), false, "", true },
	{ "a table size above the one allowed", FRAME(H2_HEADERS, 5, 1, "\x3f\xe2\x7f\x82\x86\x84"), false, "", true },
	{ "a stream of the server's", FRAME(H2_HEADERS, 5, 2, H2_GET), false, "", true },
	{ "HEADERS on stream 0", FRAME(H2_HEADERS, 5, 0, H2_GET), false, "", true },
	{ "DATA for a stream that never was", FRAME(H2_DATA, 0, 1, "x"), false, "", true },
	{ "CONTINUATION out of nowhere", FRAME(H2_CONTINUATION, 4, 1, H2_GET), false, "", true },
	{ "SETTINGS of five bytes", FRAME(H2_SETTINGS, 0, 0, "12345"), false, "", true },
	{ "PING of nine bytes", FRAME(H2_PING, 0, 0, "123456789"), false, "", true },
	{ "a window update of 0", FRAME(H2_WINDOW, 0, 0, "\0\0\0\0"), false, "", true },
	{ "PUSH_PROMISE from a client", FRAME(H2_PUSH, 4, 1, "\0\0\0\2\x82"), false, "", true },
	{ "RST_STREAM for a stream that never was", FRAME(H2_RST, 0, 1, "\0\0\0\0"), false, "", true },
	{ "a frame of an unknown kind", FRAME(99, 0, 0, "x"), false, "", false },
};

TEST(odd_frames_are_refused_and_no_more)
{
	EACH_ROW (row, odd) {
		FL_AUTO(side) struct side server = { 0 }, nobody = { 0 };
		FL_AUTO(fl_buf) struct fl_buf wire = FL_BUF(4 * FL_KIB);

		OK(side_open(&server, (struct fl_h2_config){ .server = true, .no_http_messaging = row->lenient }));
		h2_hello(&wire);
		h2_frame(&wire, row->type, row->flags, row->id, row->payload);
		OK(fl_buf_check(&wire, "test", NULL));
		OK(fl_h2_recv(server.h2, wire.p, wire.len, NULL));
		OK(carry(&server, &nobody, 16384));
		CHECK_STR(fl_buf_view(&server.log), row->log);
		CHECK_INT(fl_h2_over(server.h2), row->over);
	}
}

TEST(a_bad_preface_is_no_http2)
{
	FL_AUTO(side) struct side server = { 0 };

	OK(side_open(&server, (struct fl_h2_config){ .server = true }));
	REFUSED(fl_h2_recv(server.h2, "GET / HTTP/1.1\r\n\r\n", 18, NULL), FL_E_INVALID);
}

/* Feeds `count` times what make() writes; how far it came before the connection ended, and that its memory stayed
 * small. */
static void flood(void (*make)(struct fl_buf *wire, uint32_t i), uint32_t count, bool reads)
{
	FL_AUTO(side) struct side server = { .silent = true }, nobody = { 0 };
	FL_AUTO(fl_buf) struct fl_buf wire = FL_BUF(64 * FL_KIB);
	int result = 0;

	OK(side_open(&server, (struct fl_h2_config){ .server = true }));
	h2_hello(&wire);
	for (uint32_t i = 0; i < count && result == 0 && !fl_h2_over(server.h2); i++) {
		make(&wire, i);
		OK(fl_buf_check(&wire, "test", NULL));
		result = fl_h2_recv(server.h2, wire.p, wire.len, NULL);
		fl_buf_clear(&wire);
		fl_buf_clear(&server.log);
		server.count = 0;
		if (reads && result == 0)
			result = carry(&server, &nobody, 16384);
		CHECK(fl_mem_live() < 20000);
	}
	CHECK(test_tortured() || result == -FL_E_INVALID || fl_h2_over(server.h2));
}

static void make_resets(struct fl_buf *wire, uint32_t i)
{
	h2_frame(wire, H2_HEADERS, 5, 2 * i + 1, FL_S(H2_GET));
	h2_frame(wire, H2_RST, 0, 2 * i + 1, FL_S("\0\0\0\x08"));
}

static void make_continuations(struct fl_buf *wire, uint32_t i)
{
	h2_frame(wire, i ? H2_CONTINUATION : H2_HEADERS, 0, 1, i ? FL_S("\x40\x01x\x01y") : FL_S(H2_GET));
}

static void make_pings(struct fl_buf *wire, uint32_t i)
{
	(void)i;
	h2_frame(wire, H2_PING, 0, 0, FL_S("12345678"));
}

static void make_settings(struct fl_buf *wire, uint32_t i)
{
	(void)i;
	h2_frame(wire, H2_SETTINGS, 0, 0, FL_S("\0\4\0\0\0\1"));
}

static void make_malformed(struct fl_buf *wire, uint32_t i)
{
	h2_frame(wire, H2_HEADERS, 5, 2 * i + 1, FL_S("\x82\x86"));
}

TEST(rapid_reset_is_cut)
{
	flood(make_resets, 2 * FL_H2_RESETS_BURST, true);
}

TEST(a_flood_of_continuations_is_cut)
{
	flood(make_continuations, 3 * FL_H2_CONTINUATIONS, true);
}

TEST(pings_without_reading_are_cut)
{
	flood(make_pings, 3 * FL_H2_QUEUE_MAX, false);
}

TEST(settings_without_reading_are_cut)
{
	flood(make_settings, 3 * FL_H2_QUEUE_MAX, false);
}

TEST(malformed_requests_without_reading_are_cut)
{
	flood(make_malformed, 3 * FL_H2_QUEUE_MAX, false);
}
