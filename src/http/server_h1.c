#include "http/server_in.h"

static struct fl_sconn *of(struct fl_conn *conn)
{
	return fl_container(conn, struct fl_sconn, conn);
}

/* ---- what comes ---- */

/* The connection cannot go on: send the reason, unless an answer has begun, and close. */
static void refuse_conn(struct fl_sconn *conn, int status, const char *why)
{
	struct fl_http_head head = { .status = status,
		.headers = FL_HEADERS({ FL_S("content-type"), FL_S("text/plain; charset=utf-8") }) };
	struct fl_err err = { 0 };
	bool owed = status && (!conn->reqs || !conn->reqs->answering);

	while (conn->reqs)
		fl_http_req_gone(conn->reqs);
	if (owed && fl_h1_put_response(&conn->out, &head, (int64_t)strlen(why) + 1, true, &err) == 0) {
		fl_buf_str(&conn->out, fl_str(why));
		fl_buf_char(&conn->out, '\n');
	}
	conn->last = true;
	fl_timer_stop(conn->conn.io, &conn->timer);
	fl_conn_finish(&conn->conn);
}

void fl_sconn_h1_late(struct fl_sconn *conn)
{
	refuse_conn(conn, 408, "the head of the request comes too slowly");
}

static void begin_request(struct fl_sconn *conn)
{
	struct fl_http_req *req;

	conn->h1.head.scheme = conn->conn.tls ? FL_S("https") : FL_S("http");
	conn->last = conn->last || !conn->h1.keep_alive || fl_sconn_extra(conn);
	req = fl_http_req_new(conn, &conn->h1.head);
	if (!req) {
		refuse_conn(conn, 503, "no memory for a request");
		return;
	}
	fl_http_req_start(req, !conn->h1.has_body);
	if (conn->h1.expect_continue && conn->reqs && !conn->reqs->answering)
		fl_buf_str(&conn->out, FL_S("HTTP/1.1 100 Continue\r\n\r\n"));
}

/* May the parser be called now? Not while an answer is going out, nor while its handler is too slow. */
static bool wants_more(struct fl_sconn *conn)
{
	return !conn->conn.finishing && !conn->conn.failed &&
	       (!conn->reqs || (!conn->reqs->got_end && conn->reqs->unconsumed < FL_HTTP_UNCONSUMED));
}

/* A client may start HTTP/2 without negotiation: its preface is not a valid HTTP/1.1 request. */
static bool starts_h2(struct fl_sconn *conn, struct fl_str in)
{
	return !conn->served && !conn->conn.tls && fl_h1_idle(&conn->h1) && fl_str_starts(in, FL_S("PRI "));
}

static size_t take_h2(struct fl_sconn *conn, const char *bytes, size_t len)
{
	struct fl_err err = { 0 };

	if (fl_sconn_h2_start(conn, &err) == 0)
		return conn->conn.user->take(&conn->conn, bytes, len);
	fl_conn_fail(&conn->conn, &err);
	return len;
}

static size_t take(struct fl_conn *c, const char *bytes, size_t len)
{
	struct fl_sconn *conn = of(c);
	struct fl_str in = { bytes, (uint32_t)len };
	struct fl_err err = { 0 };
	int event = 1;

	if (starts_h2(conn, in))
		return take_h2(conn, bytes, len);
	while (event > 0 && wants_more(conn)) {
		event = fl_h1_next(&conn->h1, &in, &err);
		if (event < 0)
			refuse_conn(conn, conn->h1.refusal, err.text);
		else if (event == FL_H1_HEAD)
			begin_request(conn);
		else if (event == FL_H1_DATA && conn->reqs)
			fl_http_req_came(conn->reqs, conn->h1.data);
		else if (event == FL_H1_END && conn->reqs && !conn->reqs->got_end)
			fl_http_req_came_end(conn->reqs);
	}
	if (!conn->reqs && !c->finishing)
		fl_sconn_wait(conn);
	return c->finishing ? len : len - in.len;
}

/* The parser is between two messages also after the END of a request without a body. */
static void eof(struct fl_conn *c)
{
	struct fl_sconn *conn = of(c);

	conn->last = true;
	if (!conn->reqs) {
		fl_conn_finish(c);
		return;
	}
	/* The client may still read, which is unknown. A complete answer goes out; else treat it as disconnected, as Go
	 * and nginx do. */
	if (conn->reqs->got_end && conn->reqs->ended)
		return;
	refuse_conn(conn, 400, "the connection was closed in the middle of a message");
}

void fl_sconn_h1_consumed(struct fl_sconn *conn)
{
	if (conn->conn.paused && wants_more(conn))
		fl_conn_resume(&conn->conn);
}

/* ---- what goes ---- */

static void over(struct fl_sconn *conn, struct fl_http_req *req)
{
	bool last = conn->last || !req->got_end;
	struct fl_str none = { 0 };
	struct fl_err err = { 0 };

	fl_http_req_free(req);
	/* An idle connection holds no memory: take the END of a request without a body, and ignore it. */
	if (!last && fl_h1_idle(&conn->h1) && fl_h1_next(&conn->h1, &none, &err) < 0)
		fl_conn_fail(&conn->conn, &err);
	if (last)
		fl_conn_finish(&conn->conn);
	else
		fl_conn_resume(&conn->conn);
}

/* Put some of the body into the room, as a chunk where the length is not known. */
static size_t put_body(struct fl_http_req *req, char *room, size_t len)
{
	size_t most = req->queue.bytes, before = 0;

	if (req->length >= 0 || req->no_body || req->plain)
		return fl_chunk_pull(&req->queue, room, len);
	if (len <= FL_H1_CHUNK_ROOM || !most)
		return 0;
	most = most < len - FL_H1_CHUNK_ROOM ? most : len - FL_H1_CHUNK_ROOM;
	before = fl_h1_chunk_before(room, most);
	(void)fl_chunk_pull(&req->queue, room + before, most);
	room[before + most] = '\r';
	room[before + most + 1] = '\n';
	return before + most + 2;
}

/* Write the framing's end; returns whether there is any. */
static bool put_end(struct fl_sconn *conn, struct fl_http_req *req)
{
	struct fl_err err = { 0 };
	struct fl_headers trailers = req->trailers ? req->trailers->headers : FL_NO_HEADERS;

	if (req->length >= 0 || req->no_body || req->plain)
		return false;
	if (fl_h1_put_last_chunk(&conn->out, trailers, &err) < 0)
		fl_conn_fail(&conn->conn, &err);
	req->length = 0; /* said */
	return true;
}

static size_t fill(struct fl_conn *c, void *room, size_t len)
{
	struct fl_sconn *conn = of(c);
	struct fl_http_req *req = conn->reqs;
	size_t done = conn->out.len ? fl_buf_take(&conn->out, &conn->out_at, room, len) : 0, body;
	struct fl_err err = { 0 };

	if (fl_buf_check(&conn->out, "response", &err) < 0) {
		fl_conn_fail(c, &err);
		return 0;
	}
	if (conn->out.len || !req || !req->answering || req->doomed)
		return done;
	body = put_body(req, (char *)room + done, len - done);
	done += body;
	if (req->queue.len || !req->ended) {
		fl_http_req_pulled(req, body);
		return done;
	}
	if (put_end(conn, req))
		done += fl_buf_take(&conn->out, &conn->out_at, (char *)room + done, len - done);
	if (!conn->out.len)
		over(conn, req);
	return done;
}

static void closed(struct fl_conn *c, const struct fl_err *err)
{
	(void)err;
	fl_sconn_drop(of(c));
}

const struct fl_conn_user fl_sconn_h1 = { .take = take, .eof = eof, .fill = fill, .closed = closed };

void fl_sconn_h1_start(struct fl_sconn *conn)
{
	fl_h1_init(&conn->h1, FL_H1_REQUEST);
	conn->out = FL_BUF(4 * FL_HTTP_HEAD_MAX);
	conn->conn.user = &fl_sconn_h1;
}

int fl_sconn_h1_begin(struct fl_http_req *req, struct fl_headers headers, struct fl_err *err)
{
	struct fl_sconn *conn = req->conn;
	struct fl_http_head head = { .status = req->status, .headers = headers };
	bool bare = req->status == 204 || req->status == 304;
	bool plain = req->length < 0 && conn->h1.version == 0, close = conn->last || !req->got_end || plain;
	int64_t length = bare || plain ? FL_H1_NO_LENGTH : req->length >= 0 ? req->length : FL_H1_CHUNKED;
	size_t had = conn->out.len;
	int result = fl_h1_put_response(&conn->out, &head, length, close, err);

	req->plain = plain;
	conn->last = close;
	if (result < 0 && !conn->out.failed)
		conn->out.len = had;
	if (result == 0)
		fl_conn_wake(&conn->conn);
	return result;
}
