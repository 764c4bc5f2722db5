#include "http/client_in.h"

static struct fl_http_call *of(struct fl_h2_stream *stream)
{
	return fl_container(stream, struct fl_http_call, stream);
}

static void on_head(struct fl_h2_stream *stream, enum fl_h2_block block, const struct fl_http_head *head)
{
	if (block == FL_H2_RESPONSE)
		fl_call_head(of(stream), head);
	else if (block == FL_H2_TRAILERS)
		fl_call_trailers(of(stream), head);
}

static void on_data(struct fl_h2_stream *stream, struct fl_str bytes)
{
	fl_call_data(of(stream), bytes);
}

/* An answer that comes before our request has ended counts. */
static void on_end(struct fl_h2_stream *stream)
{
	struct fl_http_call *call = of(stream);

	if (!stream->pulls || call->sent_all)
		return; /* closed() follows at once */
	fl_h2_reset(stream, FL_H2_CANCEL);
	fl_call_end(call);
}

static int64_t on_pull(struct fl_h2_stream *stream, void *room, size_t len, enum fl_h2_end *ret_end)
{
	struct fl_http_call *call = of(stream);
	bool end = false;
	int64_t got = fl_call_pull(call, room, len, &end);

	if (got >= 0 && end) {
		call->sent_all = true;
		*ret_end = FL_H2_END;
	}
	return got;
}

static void on_closed(struct fl_h2_stream *stream, enum fl_h2_code code, const char *why)
{
	struct fl_http_call *call = of(stream);
	struct fl_cconn *conn = call->conn;
	bool lost = fl_h2_conn(conn->h2) == NULL;
	struct fl_err err = { 0 };

	if (code == FL_H2_NO_ERROR && stream->got_head && stream->got_end) {
		fl_call_end(call);
		return;
	}
	if (lost)
		fl_fail(&err, FL_E_CLOSED, "%s", why);
	else
		fl_fail(&err, FL_E_CLOSED, "the server has reset the stream: %s",
			why[0] ? why : fl_name(&fl_h2_code_names, (int)code));
	fl_call_lost(call, code == FL_H2_REFUSED_STREAM, lost && !stream->reached, &err);
	if (lost)
		return; /* on_lost() follows */
	fl_cconn_quiet(conn);
	fl_client_pump(conn->client);
}

static void on_change(struct fl_h2 *h2)
{
	struct fl_cconn *conn = fl_h2_arg(h2);

	fl_client_pump(conn->client);
}

/* Its streams go on; new calls need another connection. */
static void on_goaway(struct fl_h2 *h2, int32_t last, enum fl_h2_code code)
{
	struct fl_cconn *conn = fl_h2_arg(h2);

	(void)last;
	(void)code;
	conn->retired = true;
	fl_client_pump(conn->client);
}

static void on_lost(struct fl_h2 *h2, const struct fl_err *err)
{
	struct fl_cconn *conn = fl_h2_arg(h2);
	struct fl_http_client *client = conn->client;

	(void)err;
	fl_cconn_drop(conn);
	fl_client_pump(client);
}

static const struct fl_h2_user user = { .head = on_head, .data = on_data, .end = on_end, .pull = on_pull,
	.closed = on_closed,
					.goaway = on_goaway, .settings = on_change, .lost = on_lost };

int fl_cconn_h2_start(struct fl_cconn *conn, struct fl_err *err)
{
	const struct fl_http_client_options *options = &conn->client->options;
	struct fl_h2_config config = { .user = &user, .arg = conn, .stream_window = options->stream_window };

	conn->h2 = fl_h2_new(&config, err);
	if (!conn->h2)
		return -FL_E_NOMEM;
	fl_h2_on_conn(conn->h2, &conn->conn);
	if (options->ping_every)
		fl_h2_keep_alive(conn->h2, options->ping_every, options->ping_within);
	return 0;
}

int fl_cconn_h2_call(struct fl_cconn *conn, struct fl_http_call *call, struct fl_str target, struct fl_err *err)
{
	struct fl_http_client *client = conn->client;
	struct fl_http_head head = { .method = call->method, .scheme = client->secure ? FL_S("https") : FL_S("http"),
				     .authority = client->authority, .target = target };
	struct fl_header room[FL_HTTP_FIELDS_MAX];
	char number[24];
	int result = fl_call_fields(call, true, room, number, &head.headers, err);

	if (result < 0)
		return result;
	call->sent_all = fl_call_length(call) == 0;
	return fl_h2_request(conn->h2, &call->stream, &head, fl_call_length(call) != 0, err);
}
