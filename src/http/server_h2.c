#include "http/server_in.h"

static struct fl_http_req *of(struct fl_h2_stream *stream)
{
	return fl_container(stream, struct fl_http_req, stream);
}

static void on_request(struct fl_h2 *h2, const struct fl_http_head *head, bool end)
{
	struct fl_sconn *conn = fl_h2_arg(h2);
	struct fl_http_req *req = fl_http_req_new(conn, head);

	if (!req)
		return; /* refused: the client may retry */
	fl_h2_accept(h2, &req->stream);
	if (fl_sconn_extra(conn))
		fl_h2_drain(h2, fl_now(conn->conn.io) + 2 * FL_HTTP_GOAWAY_WAIT);
	fl_http_req_start(req, end);
}

static void on_head(struct fl_h2_stream *stream, enum fl_h2_block block, const struct fl_http_head *head)
{
	/* Trailers of a request: no handler uses them. */
	(void)stream;
	(void)block;
	(void)head;
}

static void on_data(struct fl_h2_stream *stream, struct fl_str bytes)
{
	fl_http_req_came(of(stream), bytes);
}

static void on_end(struct fl_h2_stream *stream)
{
	fl_http_req_came_end(of(stream));
}

static int64_t on_pull(struct fl_h2_stream *stream, void *room, size_t len, enum fl_h2_end *ret_end)
{
	struct fl_http_req *req = of(stream);
	size_t got = fl_chunk_pull(&req->queue, room, len);

	if (req->doomed)
		return -FL_E_IO;
	if (req->ended && !req->queue.len) {
		*ret_end = req->trailers ? FL_H2_END_TRAILERS : FL_H2_END;
		if (req->trailers && fl_h2_trailers(stream, req->trailers->headers, NULL) < 0)
			return -FL_E_NOMEM;
	}
	fl_http_req_pulled(req, got);
	return (int64_t)got;
}

static void on_closed(struct fl_h2_stream *stream, enum fl_h2_code code, const char *why)
{
	(void)code;
	(void)why;
	fl_http_req_gone(of(stream));
}

static void on_lost(struct fl_h2 *h2, const struct fl_err *err)
{
	(void)err;
	fl_sconn_drop(fl_h2_arg(h2));
}

static const struct fl_h2_user user = { .request = on_request, .head = on_head, .data = on_data, .end = on_end,
					.pull = on_pull, .closed = on_closed, .lost = on_lost };

int fl_sconn_h2_start(struct fl_sconn *conn, struct fl_err *err)
{
	struct fl_h2_config config = { .user = &user, .arg = conn, .server = true,
				       .no_http_messaging = conn->kind == FL_ADDR_UNIX,
				       .max_streams = conn->server->options.max_streams };

	conn->h2 = fl_h2_new(&config, err);
	if (!conn->h2)
		return -FL_E_NOMEM;
	fl_h2_on_conn(conn->h2, &conn->conn);
	return 0;
}

int fl_sconn_h2_begin(struct fl_http_req *req, struct fl_headers headers, struct fl_err *err)
{
	struct fl_header fields[FL_HTTP_FIELDS_MAX];
	struct fl_http_head head = { .status = req->status, .headers = { fields, 0 } };
	char text[24];
	struct fl_buf length = FL_BUF_IN(text);

	if (headers.len >= FL_HTTP_FIELDS_MAX)
		return fl_fail(err, FL_E_TOOBIG, "over %d header fields", FL_HTTP_FIELDS_MAX);
	for (uint32_t i = 0; i < headers.len; i++)
		fields[head.headers.len++] = headers.at[i];
	if (req->length >= 0 && req->status != 204 && req->status != 304) {
		fl_buf_printf(&length, "%lld", (long long)req->length);
		fields[head.headers.len++] = (struct fl_header){ FL_S("content-length"), fl_buf_view(&length) };
	}
	return fl_h2_respond(&req->stream, &head, !req->no_body && req->length != 0, err);
}
