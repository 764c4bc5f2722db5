#include "base/units.h"
#include "http/h1.h"
#include "test.h"

/* What the parser tells, as one text: "GET /x host=a b=c; 'body'; end", with "!400 words" where it refuses. */
static int transcript(struct fl_h1 *h1, struct fl_buf *out, const char *bytes, size_t len, size_t piece, bool eof)
{
	struct fl_err err = { 0 };
	bool in_data = false;
	int event = 0;

	for (size_t at = 0; at < len && event >= 0; at += piece) {
		struct fl_str in = { bytes + at, (uint32_t)(len - at < piece ? len - at : piece) };

		while ((event = fl_h1_next(h1, &in, &err)) > FL_H1_MORE) {
			if (event != FL_H1_DATA && in_data)
				fl_buf_str(out, FL_S("'; "));
			if (event == FL_H1_HEAD && h1->kind == FL_H1_REQUEST)
				fl_buf_printf(out, "%.*s %.*s at=%.*s%s", FL_ARG(h1->head.method),
					      FL_ARG(h1->head.target),
					      FL_ARG(h1->head.authority), h1->keep_alive ? "" : " close");
			else if (event == FL_H1_HEAD)
				fl_buf_printf(out, "%d%s", h1->head.status, h1->keep_alive ? "" : " close");
			if (event != FL_H1_DATA)
				for (uint32_t i = 0; i < h1->head.headers.len; i++)
					fl_buf_printf(out, " %.*s=%.*s", FL_ARG(h1->head.headers.at[i].name),
						      FL_ARG(h1->head.headers.at[i].value));
			if (event == FL_H1_HEAD)
				fl_buf_str(out, FL_S("; "));
			if (event == FL_H1_END)
				fl_buf_str(out, FL_S(" end; "));
			if (event == FL_H1_DATA && !in_data)
				fl_buf_char(out, '\'');
			if (event == FL_H1_DATA)
				fl_buf_str(out, h1->data);
			in_data = event == FL_H1_DATA;
		}
	}
	if (in_data)
		fl_buf_str(out, FL_S("'; "));
	if (event >= 0 && eof) {
		event = fl_h1_eof(h1, &err);
		if (event >= 0)
			fl_buf_str(out, event == FL_H1_END ? FL_S(" end; eof") : FL_S("eof"));
	}
	if (event == -FL_E_NOMEM)
		return event;
	if (event < 0)
		fl_buf_printf(out, "!%d %s", h1->refusal, err.text);
	return fl_buf_check(out, "transcript", NULL);
}

struct row {
	const char *says;
	struct fl_str in;
	const char *want;
};
#define GET "GET / HTTP/1.1\r\nhost: a\r\n"
#define POST "POST / HTTP/1.1\r\nhost: a\r\n"

static const struct row requests[] = {
	{ "the plainest request", FL_S_INIT("GET /x?y=1 HTTP/1.1\r\nHost: a:80\r\n\r\n"),
		"GET /x?y=1 at=a:80 host=a:80;  end; " },
	{ "names become lower case, blanks around values go",
	  FL_S_INIT(GET "X-A: \t b c \t\r\nEmpty:\r\n\r\n"), "GET / at=a host=a x-a=b c empty=;  end; " },
	{ "a body of the given length", FL_S_INIT(POST "Content-Length: 3\r\n\r\nabc"),
	  "POST / at=a host=a content-length=3; 'abc';  end; " },
	{ "two requests in one piece", FL_S_INIT(GET "\r\n" GET "\r\n"),
		"GET / at=a host=a;  end; GET / at=a host=a;  end; " },
	{ "chunks, an extension, a trailer",
	  FL_S_INIT(POST "Transfer-Encoding: Chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nSum: 9\r\n\r\n" GET "\r\n"),
	  "POST / at=a host=a transfer-encoding=Chunked; 'abc';  sum=9 end; GET / at=a host=a;  end; " },
	{ "chunks without a trailer", FL_S_INIT(POST "transfer-encoding: chunked\r\n\r\nA\r\n0123456789\r\n00\r\n\r\n"),
	  "POST / at=a host=a transfer-encoding=chunked; '0123456789';  end; " },
	{ "the client wants to close", FL_S_INIT(GET "Connection: x, Close\r\n\r\n"),
	  "GET / at=a close host=a connection=x, Close;  end; " },
	{ "HTTP/1.0 needs no host and closes", FL_S_INIT("GET / HTTP/1.0\r\n\r\n"), "GET / at= close;  end; " },
	{ "HTTP/1.0 that wants to stay", FL_S_INIT("GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n"),
	  "GET / at= connection=keep-alive;  end; " },
	{ "a target with a host goes before the field", FL_S_INIT("GET http://b:1/x HTTP/1.1\r\nhost: a\r\n\r\n"),
	  "GET /x at=b:1 host=a;  end; " },
	{ "OPTIONS may ask about everything", FL_S_INIT("OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n"),
		"OPTIONS * at=a host=a;  end; " },
	{ "bytes beyond ASCII may stand in values", FL_S_INIT(GET "x: \xc3\xa9\r\n\r\n"),
		"GET / at=a host=a x=\xc3\xa9;  end; " },
	{ "a folded line", FL_S_INIT(GET "x: 1\r\n 2\r\n\r\n"),
		"!400 a folded header line, which HTTP/1.1 forbids" },
	{ "a bare LF ends no line", FL_S_INIT("GET / HTTP/1.1\nhost: a\r\n\r\n"),
		"!400 a line ends in LF alone; it must end in CR LF" },
	{ "a bare CR is no blank", FL_S_INIT(GET "x: a\rb\r\n\r\n"), "!400 header 'x' has control bytes" },
	{ "a NUL in a value", FL_S_INIT(GET "x: a\0b\r\n\r\n"), "!400 header 'x' has control bytes" },
	{ "length and coding together", FL_S_INIT(POST "content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n"),
	  "!400 both content-length and transfer-encoding: where does the body end?" },
	{ "two lengths, even the same", FL_S_INIT(POST "content-length: 3\r\ncontent-length: 3\r\n\r\n"),
	  "!400 more than one header 'content-length'" },
	{ "a list of lengths", FL_S_INIT(POST "content-length: 3, 3\r\n\r\n"),
		"!400 content-length '3, 3' is no length" },
	{ "a length with a sign", FL_S_INIT(POST "content-length: +3\r\n\r\n"),
		"!400 content-length '+3' is no length" },
	{ "a length beyond all numbers", FL_S_INIT(POST "content-length: 99999999999999999999\r\n\r\n"),
	  "!400 content-length '99999999999999999999' is no length" },
	{ "an empty length", FL_S_INIT(POST "content-length:\r\n\r\n"), "!400 content-length '' is no length" },
	{ "two codings", FL_S_INIT(POST "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n"),
	  "!400 more than one header 'transfer-encoding'" },
	{ "a coding that we do not know", FL_S_INIT(POST "transfer-encoding: gzip, chunked\r\n\r\n"),
	  "!501 transfer-encoding 'gzip, chunked'; only chunked is known" },
	{ "a coding in HTTP/1.0", FL_S_INIT("POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n"),
	  "!400 transfer-encoding in HTTP/1.0" },
	{ "no host", FL_S_INIT("GET / HTTP/1.1\r\n\r\n"), "!400 no header 'host'" },
	{ "two hosts", FL_S_INIT(GET "Host: a\r\n\r\n"), "!400 more than one header 'host'" },
	{ "a host with a path", FL_S_INIT("GET / HTTP/1.1\r\nhost: a/b\r\n\r\n"), "!400 header 'host' names no host" },
	{ "a blank before the colon", FL_S_INIT(GET "x : 1\r\n\r\n"),
		"!400 a header name with bytes that may not stand there" },
	{ "a line without a colon", FL_S_INIT(GET "x\r\n\r\n"), "!400 a header line without a colon" },
	{ "a header without a name", FL_S_INIT(GET ": x\r\n\r\n"),
		"!400 a header name with bytes that may not stand there" },
	{ "an empty line before the request", FL_S_INIT("\r\n" GET "\r\n"), "!400 this is not HTTP" },
	{ "TLS on a plain port", FL_S_INIT("\x16\x03\x01"), "!400 TLS where plain HTTP is spoken" },
	{ "a method with bytes that are none", FL_S_INIT("G(T / HTTP/1.1\r\nhost: a\r\n\r\n"),
		"!400 a malformed method" },
	{ "two blanks", FL_S_INIT("GET  / HTTP/1.1\r\nhost: a\r\n\r\n"), "!400 no HTTP version where one belongs" },
	{ "no version", FL_S_INIT("GET /\r\nhost: a\r\n\r\n"), "!400 a request line without a version" },
	{ "only a method", FL_S_INIT("GET\r\n\r\n"), "!400 no request line" },
	{ "a version of the future", FL_S_INIT("GET / HTTP/2.0\r\nhost: a\r\n\r\n"),
		"!505 HTTP/2.0 is not spoken here, HTTP/1.1 is" },
	{ "a version that is none", FL_S_INIT("GET / HTTP/1.x\r\nhost: a\r\n\r\n"),
		"!505 HTTP/1.x is not spoken here, HTTP/1.1 is" },
	{ "a target that is no path", FL_S_INIT("GET x HTTP/1.1\r\nhost: a\r\n\r\n"),
		"!400 a request target that does not begin with '/'" },
	{ "a target with a fragment", FL_S_INIT("GET /#x HTTP/1.1\r\nhost: a\r\n\r\n"),
	  "!400 a request target with bytes that may not stand there" },
	{ "a target with user info", FL_S_INIT("GET http://u@b/ HTTP/1.1\r\nhost: a\r\n\r\n"),
		"!400 a request target without a proper host" },
	{ "CONNECT is not for us", FL_S_INIT("CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n"),
		"!501 CONNECT is not served here" },
	{ "an expectation that cannot be met", FL_S_INIT(POST "expect: cake\r\ncontent-length: 1\r\n\r\n"),
		"!417 expect 'cake' cannot be met" },
	{ "a chunk size that is none", FL_S_INIT(POST "transfer-encoding: chunked\r\n\r\nx\r\n"),
	  "POST / at=a host=a transfer-encoding=chunked; !400 a chunk without a proper size" },
	{ "a chunk size with 0x", FL_S_INIT(POST "transfer-encoding: chunked\r\n\r\n0x1\r\n"),
	  "POST / at=a host=a transfer-encoding=chunked; !400 a chunk without a proper size" },
	{ "a chunk size of 16 digits", FL_S_INIT(POST "transfer-encoding: chunked\r\n\r\n0000000000000001\r\n"),
	  "POST / at=a host=a transfer-encoding=chunked; !400 a chunk without a proper size" },
	{ "a negative chunk size", FL_S_INIT(POST "transfer-encoding: chunked\r\n\r\n-1\r\n"),
	  "POST / at=a host=a transfer-encoding=chunked; !400 a chunk without a proper size" },
	{ "a chunk that is longer than it says", FL_S_INIT(POST "transfer-encoding: chunked\r\n\r\n1\r\nab\r\n"),
	  "POST / at=a host=a transfer-encoding=chunked; 'a'; !400 a chunk that is longer than its size" },
	{ "a chunk size that ends in LF", FL_S_INIT(POST "transfer-encoding: chunked\r\n\r\n1\na\r\n"),
	  "POST / at=a host=a transfer-encoding=chunked; !400 a line ends in LF alone; it must end in CR LF" },
	{ "a length among the trailers",
	  FL_S_INIT(POST "transfer-encoding: chunked\r\n\r\n0\r\ncontent-length: 1\r\n\r\n"),
	  "POST / at=a host=a transfer-encoding=chunked; !400 'content-length' among the trailers" },
};

static const struct row responses[] = {
	{ "the plainest response", FL_S_INIT("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"),
		"200 content-length=2; 'hi';  end; eof" },
	{ "no reason, and not even its blank", FL_S_INIT("HTTP/1.1 404\r\ncontent-length: 0\r\n\r\n"),
		"404 content-length=0;  end; eof" },
	{ "100 and 103 come before",
	  FL_S_INIT("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\na: b\r\n\r\nHTTP/1.1 204 None\r\n\r\n"),
	  "100; 103 a=b; 204;  end; eof" },
	{ "without a length it ends with the connection", FL_S_INIT("HTTP/1.1 200 OK\r\n\r\nhi"),
		"200 close; 'hi';  end; eof" },
	{ "304 has no body, whatever it says", FL_S_INIT("HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n"),
	  "304 content-length=9;  end; eof" },
	{ "chunks", FL_S_INIT("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"),
	  "200 transfer-encoding=chunked; 'hi';  end; eof" },
	{ "cut in the head", FL_S_INIT("HTTP/1.1 200 OK\r\n"),
		"!0 the connection was closed in the middle of a message" },
	{ "cut in the body", FL_S_INIT("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nhi"),
	  "200 content-length=3; 'hi'; !0 the connection was closed in the middle of a message" },
	{ "cut in a chunk", FL_S_INIT("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhi"),
	  "200 transfer-encoding=chunked; 'hi'; !0 the connection was closed in the middle of a message" },
	{ "a switch to something else", FL_S_INIT("HTTP/1.1 101 Switching\r\n\r\n"),
	  "!0 the server switches to another protocol without a request to" },
	{ "a status that is no number", FL_S_INIT("HTTP/1.1 2x0 OK\r\n\r\n"), "!0 no status line" },
	{ "a status of two digits", FL_S_INIT("HTTP/1.1 20 OK\r\n\r\n"), "!0 no status line" },
	{ "a status of four digits", FL_S_INIT("HTTP/1.1 2000 OK\r\n\r\n"), "!0 no status line" },
	{ "an old SSH server", FL_S_INIT("SSH-2.0-x\r\n\r\n"), "!0 no HTTP version where one belongs" },
	{ "length and coding together",
	  FL_S_INIT("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n"),
	  "!0 both content-length and transfer-encoding: where does the body end?" },
};

static void run_row(const struct row *row, enum fl_h1_kind kind, size_t piece)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(4 * FL_KIB);
	FL_AUTO(fl_h1) struct fl_h1 h1 = { 0 };

	fl_h1_init(&h1, kind);
	OK(transcript(&h1, &out, row->in.p, row->in.len, piece, kind == FL_H1_RESPONSE));
	CHECK_STR(fl_buf_view(&out), row->want);
}

TEST(requests_are_read_strictly)
{
	EACH_ROW (row, requests)
		run_row(row, FL_H1_REQUEST, row->in.len);
}

TEST(requests_may_come_byte_by_byte)
{
	EACH_ROW (row, requests)
		run_row(row, FL_H1_REQUEST, 1);
}

TEST(responses_are_read_strictly)
{
	EACH_ROW (row, responses) {
		run_row(row, FL_H1_RESPONSE, row->in.len);
		run_row(row, FL_H1_RESPONSE, 1);
	}
}

TEST(a_response_to_head_has_no_body)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(4 * FL_KIB);
	FL_AUTO(fl_h1) struct fl_h1 h1 = { 0 };
	struct fl_str in = FL_S("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n");

	fl_h1_init(&h1, FL_H1_RESPONSE);
	fl_h1_expect(&h1, true);
	OK(transcript(&h1, &out, in.p, in.len, in.len, false));
	CHECK_STR(fl_buf_view(&out), "200 content-length=9;  end; ");
	CHECK(fl_h1_idle(&h1));
}

TEST(a_waiting_parser_holds_no_memory)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(4 * FL_KIB);
	FL_AUTO(fl_h1) struct fl_h1 h1 = { 0 };
	struct fl_str in = FL_S(POST "content-length: 2\r\n\r\nab");
	long live;

	fl_h1_init(&h1, FL_H1_REQUEST);
	OK(fl_buf_room(&out, 1000) ? 0 : -FL_E_NOMEM);
	live = fl_mem_live();
	OK(transcript(&h1, &out, in.p, in.len, in.len, false));
	CHECK_INT(fl_mem_live(), live);
}

static void refused_as(struct fl_str head, int count, struct fl_str line)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_MIB);
	FL_AUTO(fl_h1) struct fl_h1 h1 = { 0 };
	struct fl_err err = { 0 };
	struct fl_str in;

	fl_buf_str(&text, head);
	for (int i = 0; i < count; i++)
		fl_buf_str(&text, line);
	fl_buf_str(&text, FL_S("\r\n"));
	OK(fl_buf_check(&text, "test", NULL));
	in = fl_buf_view(&text);
	fl_h1_init(&h1, FL_H1_REQUEST);
	for (int event = 1; event > 0;) {
		event = fl_h1_next(&h1, &in, &err);
		if (event == 0)
			CHECK(!"it should have been refused");
		if (event < 0)
			REFUSED(event, FL_E_TOOBIG);
	}
	CHECK(test_tortured() || h1.refusal == 431);
	CHECK(h1.text.cap <= 2 * FL_HTTP_HEAD_MAX);
}

TEST(every_part_of_a_request_has_a_ceiling)
{
	refused_as(FL_S(GET), 5000, FL_S("x: yyyyyyyyyyyyyyyyyyyyyyy\r\n"));
	refused_as(FL_S(GET), 200, FL_S("x: y\r\n"));
	refused_as(FL_S("GET /"), 40000, FL_S("x"));
	refused_as(FL_S(POST "transfer-encoding: chunked\r\n\r\n1;"), 300, FL_S("x"));
	refused_as(FL_S(POST "transfer-encoding: chunked\r\n\r\n0\r\n"), 5000, FL_S("x: yyyyyyyyyyyyyy\r\n"));
}

TEST(what_is_written_can_be_read)
{
	FL_AUTO(fl_buf) struct fl_buf wire = FL_BUF(4 * FL_KIB), out = FL_BUF(4 * FL_KIB);
	FL_AUTO(fl_h1) struct fl_h1 h1 = { 0 };
	struct fl_http_head head = { .method = FL_S("PUT"), .target = FL_S("/a?b"), .authority = FL_S("h:1"),
				     .headers = FL_HEADERS({ FL_S("x"), FL_S("y") }) };
	char frame[FL_H1_CHUNK_ROOM];

	OK(fl_h1_put_request(&wire, &head, FL_H1_CHUNKED, NULL));
	fl_buf_put(&wire, frame, fl_h1_chunk_before(frame, 17));
	fl_buf_str(&wire, FL_S("0123456789abcdefg\r\n"));
	OK(fl_h1_put_last_chunk(&wire, FL_HEADERS({ FL_S("t"), FL_S("u") }), NULL));
	fl_h1_init(&h1, FL_H1_REQUEST);
	OK(transcript(&h1, &out, wire.p, wire.len, wire.len, false));
	CHECK_STR(fl_buf_view(&out),
		  "PUT /a?b at=h:1 host=h:1 transfer-encoding=chunked x=y; '0123456789abcdefg';  t=u end; ");
}

TEST(nothing_can_end_a_line_in_our_name)
{
	FL_AUTO(fl_buf) struct fl_buf wire = FL_BUF(4 * FL_KIB);
	struct fl_http_head head = { .status = 200, .headers = FL_HEADERS({ FL_S("x"), FL_S("y\r\nz: 1") }) };

	REFUSED(fl_h1_put_response(&wire, &head, 0, false, NULL), FL_E_INVALID);
	head.headers = FL_HEADERS({ FL_S("content-length"), FL_S("9") });
	REFUSED(fl_h1_put_response(&wire, &head, 0, false, NULL), FL_E_INVALID);
	head = (struct fl_http_head){ .method = FL_S("GET"), .target = FL_S("/ HTTP/1.1\r\nx: y"),
		.authority = FL_S("a") };
	REFUSED(fl_h1_put_request(&wire, &head, 0, NULL), FL_E_INVALID);
	head = (struct fl_http_head){ .method = FL_S("GET"), .target = FL_S("/"), .authority = FL_S("a\r\nx: y") };
	REFUSED(fl_h1_put_request(&wire, &head, 0, NULL), FL_E_INVALID);
}
