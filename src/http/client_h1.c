#include "http/client_in.h"

static struct fl_cconn *of(struct fl_conn *conn)
{
	return fl_container(conn, struct fl_cconn, conn);
}

/* ---- what comes ---- */

static void over(struct fl_cconn *conn)
{
	struct fl_http_call *call = conn->calls;
	bool again = conn->h1.keep_alive && call->sent_all && !conn->conn.got_eof;

	if (!again) {
		conn->retired = true;
		fl_buf_free(&conn->out);
	}
	fl_call_end(call);
}

static void lose(struct fl_cconn *conn, bool lost, const struct fl_err *err)
{
	struct fl_http_call *call = conn->calls;

	conn->broken = true;
	if (call)
		fl_call_lost(call, false, lost, err);
	fl_conn_fail(&conn->conn, err);
}

static bool wants_more(const struct fl_cconn *conn)
{
	return conn->calls && !conn->broken && conn->calls->unconsumed < FL_HTTP_UNCONSUMED;
}

static void happened(struct fl_cconn *conn, int event)
{
	struct fl_http_call *call = conn->calls;

	if (event == FL_H1_HEAD && conn->h1.head.status >= 200)
		fl_call_head(call, &conn->h1.head);
	else if (event == FL_H1_DATA)
		fl_call_data(call, conn->h1.data);
	else if (event == FL_H1_END && conn->h1.head.headers.len)
		fl_call_trailers(call, &conn->h1.head);
	/* Each callback may have ended the call. */
	if (event == FL_H1_END && conn->calls == call)
		over(conn);
}

static size_t take(struct fl_conn *c, const char *bytes, size_t len)
{
	struct fl_cconn *conn = of(c);
	struct fl_str in = { bytes, (uint32_t)len };
	struct fl_err err = { 0 };
	int event = 1;

	while (event > 0 && wants_more(conn)) {
		event = fl_h1_next(&conn->h1, &in, &err);
		if (event < 0)
			lose(conn, false, &err);
		else if (event > 0)
			happened(conn, event);
	}
	if (in.len && !conn->calls && !conn->broken) {
		fl_fail(&err, FL_E_INVALID, "the server sent bytes without a request");
		lose(conn, false, &err);
	}
	return conn->calls ? len - in.len : len;
}

static void eof(struct fl_conn *c)
{
	struct fl_cconn *conn = of(c);
	struct fl_err err = { 0 };
	bool silent = conn->calls && !conn->calls->answer && fl_h1_idle(&conn->h1);
	int event;

	conn->retired = true;
	if (!conn->calls) {
		fl_conn_finish(c);
		return;
	}
	event = c->truncated ? -FL_E_CLOSED : fl_h1_eof(&conn->h1, &err);
	if (event == FL_H1_END) {
		over(conn);
		return;
	}
	fl_fail(&err, FL_E_CLOSED, silent ? "the server closed the connection without an answer" :
					    "the server closed the connection in the middle of its answer");
	lose(conn, silent, &err);
}

void fl_cconn_h1_consumed(struct fl_cconn *conn)
{
	if (conn->conn.paused && wants_more(conn))
		fl_conn_resume(&conn->conn);
}

/* ---- what goes ---- */

/* Put some of the request's body into the room, as a chunk where its length is not known. */
static size_t put_body(struct fl_cconn *conn, struct fl_http_call *call, char *room, size_t len)
{
	bool chunked = fl_call_length(call) < 0, end = false;
	char before[FL_H1_CHUNK_ROOM];
	size_t frame = chunked ? 18 : 0, done = 0, size;
	int64_t got;

	if (len <= frame + 7)
		return 0;
	/* The frame's length is known only afterwards: leave room for the longest one, and move. */
	got = fl_call_pull(call, room + frame, len - frame - (chunked ? 7 : 0), &end);
	if (conn->calls != call)
		return 0;
	if (got < 0) {
		fl_call_fail(call, FL_E_IO, "the body of the request failed");
		return 0;
	}
	if (!chunked)
		done = (size_t)got;
	else if (got) {
		size = fl_h1_chunk_before(before, (size_t)got);
		memmove(room + size, room + frame, (size_t)got);
		memcpy(room, before, size);
		done = size + (size_t)got;
		memcpy(room + done, "\r\n", 2);
		done += 2;
	}
	if (end && chunked) {
		memcpy(room + done, "0\r\n\r\n", 5);
		done += 5;
	}
	call->sent_all = end;
	return done;
}

static size_t fill(struct fl_conn *c, void *room, size_t len)
{
	struct fl_cconn *conn = of(c);
	size_t done = conn->out.len ? fl_buf_take(&conn->out, &conn->out_at, room, len) : 0;

	if (conn->out.len || !conn->calls || conn->broken || conn->calls->sent_all)
		return done;
	return done + put_body(conn, conn->calls, (char *)room + done, len - done);
}

static void closed(struct fl_conn *c, const struct fl_err *err)
{
	struct fl_cconn *conn = of(c);
	struct fl_http_client *client = conn->client;

	if (conn->calls)
		fl_call_lost(conn->calls, false, !conn->calls->answer && fl_h1_idle(&conn->h1), err);
	fl_cconn_drop(conn);
	fl_client_pump(client);
}

const struct fl_conn_user fl_cconn_h1 = { .take = take, .eof = eof, .fill = fill, .closed = closed };

void fl_cconn_h1_start(struct fl_cconn *conn)
{
	fl_h1_init(&conn->h1, FL_H1_RESPONSE);
	conn->out = FL_BUF(4 * FL_HTTP_HEAD_MAX);
	conn->conn.user = &fl_cconn_h1;
}

int fl_cconn_h1_call(struct fl_cconn *conn, struct fl_http_call *call, struct fl_str target, struct fl_err *err)
{
	struct fl_http_head head = { .method = call->method, .authority = conn->client->authority, .target = target };
	struct fl_header room[FL_HTTP_FIELDS_MAX];
	char number[24];
	int64_t length = fl_call_length(call);
	bool bare = !fl_call_sends_body(call);
	int result = fl_call_fields(call, false, room, number, &head.headers, err);

	if (result == 0)
		result = fl_h1_put_request(&conn->out, &head, bare ? FL_H1_NO_LENGTH : length < 0 ? FL_H1_CHUNKED :
			length, err);
	if (result < 0) {
		fl_buf_free(&conn->out);
		return result;
	}
	fl_h1_expect(&conn->h1, fl_str_eq(call->method, FL_S("HEAD")));
	call->sent_all = length == 0;
	fl_conn_wake(&conn->conn);
	return 0;
}
