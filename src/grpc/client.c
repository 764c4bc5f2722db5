#include "grpc/client.h"
#include "base/chain.h"
#include "base/units.h"
#include "grpc/pb.h"
#include "http/h2_conn.h"
#include <assert.h>

#define FL_GRPC_CLIENT_WINDOW (1 * FL_MIB) /* a stream's: a node's whole PodResources without waiting */
#define FL_GRPC_CONNECT_TIMEOUT (10 * FL_NS_PER_S)   /* a unix socket answers at once or is as good as dead */

/* One connection. The newest takes new calls; one that is going away lives until its calls have ended. */
struct link {
	struct fl_grpc_client *client;
	struct fl_conn conn;
	struct fl_h2 *h2;
	struct link *next, **from;
};

struct fl_grpc_stream {
	struct fl_h2_stream stream;
	struct fl_grpc_client *client;
	struct fl_grpc_request *request;
	struct fl_buf out;              /* kept whole, for a stream that is refused is sent again */
	size_t sent;
	unsigned tries;
	struct fl_grpc_frames frames;
	struct fl_arena scratch;        /* the message that got() is shown */
	enum fl_grpc_status status;
	bool has_status;
	struct fl_buf words;
	bool *gone;                     /* set when the stream is freed while it is at work below */
	struct fl_grpc_stream *next, **from;   /* among those that wait for a connection; from NULL: not there */
};

struct fl_grpc_client {
	struct fl_io *io;
	struct fl_addr addr;
	struct fl_connect connect;
	struct fl_err connect_err;
	struct link *links;                         /* newest first */
	struct fl_grpc_stream *waiting, **last;     /* in the order of their start */
	uint32_t streams;
};

/* A server that refuses a call three times in a row is not going to take it. */
static const unsigned tries_max = 3;

static void go_on(struct fl_grpc_client *client);

/* ---- a call's life ---- */

static struct fl_grpc_stream *stream_of(struct fl_h2_stream *stream)
{
	return fl_container(stream, struct fl_grpc_stream, stream);
}

static void wait_in_line(struct fl_grpc_stream *stream)
{
	struct fl_grpc_client *client = stream->client;

	fl_chain_append(&client->last, stream);
}

static void leave_line(struct fl_grpc_stream *stream)
{
	if (!stream->from)
		return;
	fl_chain_take_of(&stream->client->last, stream);
}

static void stream_free(struct fl_grpc_stream *stream)
{
	if (stream->gone)
		*stream->gone = true;
	leave_line(stream);
	stream->request->stream = NULL;
	stream->client->streams--;
	fl_buf_free(&stream->out);
	fl_buf_free(&stream->words);
	fl_grpc_frames_free(&stream->frames);
	fl_arena_free(&stream->scratch);
	fl_free(stream);
}

/* The end of a call: status and words go to the caller in the next turn. */
static void end(struct fl_grpc_stream *stream, enum fl_grpc_status status, struct fl_str words)
{
	struct fl_grpc_request *request = stream->request;
	char copy[FL_ERR_TEXT];
	struct fl_str kept = fl_str_sub(words, 0, sizeof copy);

	if (kept.len)
		memcpy(copy, kept.p, kept.len);   /* they may lie in the stream */
	stream_free(stream);
	request->status = status;
	if (status == FL_GRPC_OK)
		fl_op_end(&request->op, 0);
	else
		fl_op_fail(&request->op, fl_grpc_code_of_status(status), "%s: %s: %.*s", request->method->path,
			   fl_name(&fl_grpc_status_names, (int)status), (int)kept.len, copy);
}

static void drop(struct fl_op *op)
{
	struct fl_grpc_request *request = fl_container(op, struct fl_grpc_request, op);
	struct fl_grpc_client *client;

	if (!request->stream)
		return;
	client = request->stream->client;
	fl_h2_reset(&request->stream->stream, FL_H2_CANCEL);
	stream_free(request->stream);
	request->status = FL_GRPC_DEADLINE_EXCEEDED;   /* if anybody asks: a cancelled op has no done() */
	go_on(client);
}

/* ---- what the server says ---- */

static void take_status(struct fl_grpc_stream *stream, struct fl_headers headers)
{
	struct fl_str status = fl_headers_get(headers, FL_S("grpc-status"));

	if (!status.p)
		return;
	stream->has_status = true;
	stream->status = fl_grpc_status_parse(status);
	fl_grpc_unescape(&stream->words, fl_headers_get(headers, FL_S("grpc-message")));
}

static void head(struct fl_h2_stream *h2_stream, enum fl_h2_block block, const struct fl_http_head *got)
{
	struct fl_grpc_stream *stream = stream_of(h2_stream);

	if (block == FL_H2_INFORMATIONAL)
		return;
	take_status(stream, got->headers);
	if (block == FL_H2_TRAILERS || stream->has_status)
		return;
	if (got->status == 200 &&
	    fl_str_starts(fl_headers_get(got->headers, FL_S("content-type")), FL_S("application/grpc")))
		return;
	stream->has_status = true;
	stream->status = fl_grpc_status_of_http(got->status);
	fl_buf_printf(&stream->words, "no gRPC: HTTP status %d", got->status);
}

static int one_reply(struct fl_grpc_stream *stream, struct fl_str message, struct fl_err *err)
{
	struct fl_grpc_request *request = stream->request;

	if (request->reply)
		return fl_fail(err, FL_E_IO, "more than one reply to a unary call");
	return fl_pb_read(&request->arena, request->method->reply, message, &request->reply, err);
}

static int one_of_many(struct fl_grpc_stream *stream, struct fl_str message, struct fl_err *err)
{
	struct fl_grpc_request *request = stream->request;
	const ProtobufCMessage *shown;
	int result;

	fl_arena_reset(&stream->scratch);
	result = fl_pb_read(&stream->scratch, request->method->reply, message, &shown, err);
	if (result == 0)
		request->got(request, shown);
	return result;
}

static void data(struct fl_h2_stream *h2_stream, struct fl_str bytes)
{
	struct fl_grpc_stream *stream = stream_of(h2_stream);
	int (*take)(struct fl_grpc_stream *, struct fl_str, struct fl_err *) =
		stream->request->method->streams ? one_of_many : one_reply;
	struct fl_str in = bytes, message;
	struct fl_err err;
	bool gone = false;
	int result;

	fl_h2_consume(h2_stream, bytes.len);
	if (stream->has_status)
		return;   /* the body of an HTTP refusal */
	stream->gone = &gone;
	do {
		result = fl_grpc_next(&stream->frames, &in, &message, &err);
		if (result > 0 && take(stream, message, &err) < 0)
			result = -1;
	} while (result > 0 && !gone);
	if (gone)
		return;
	stream->gone = NULL;
	if (result < 0) {
		fl_h2_reset(h2_stream, FL_H2_CANCEL);
		end(stream, fl_grpc_status_of_bytes(err.code), fl_str(err.text));
	}
}

static int64_t pull(struct fl_h2_stream *h2_stream, void *room, size_t len, enum fl_h2_end *ret_end)
{
	struct fl_grpc_stream *stream = stream_of(h2_stream);
	size_t left = stream->out.len - stream->sent;

	if (len > left)
		len = left;
	memcpy(room, stream->out.p + stream->sent, len);
	stream->sent += len;
	if (stream->sent == stream->out.len)
		*ret_end = FL_H2_END;
	return (int64_t)len;
}

static void finish(struct fl_grpc_stream *stream)
{
	bool short_of_reply = !stream->request->method->streams && !stream->request->reply;

	if (stream->words.failed == FL_E_NOMEM)
		end(stream, FL_GRPC_RESOURCE_EXHAUSTED, FL_S("out of memory"));
	else if (stream->status != FL_GRPC_OK)
		end(stream, stream->status, fl_buf_view(&stream->words));
	else if (short_of_reply || !fl_grpc_frames_whole(&stream->frames))
		end(stream, FL_GRPC_INTERNAL, FL_S("status OK without a whole reply"));
	else
		end(stream, FL_GRPC_OK, FL_S(""));
}

static void reply_ends(struct fl_h2_stream *stream)
{
	(void)stream;   /* stream_closed() sees the whole of it */
}

/* A server that sees the deadline pass resets the stream. A loop that is late hears of that before its own timer. */
static enum fl_grpc_status status_of_reset(const struct fl_grpc_stream *stream, enum fl_h2_code code)
{
	uint64_t deadline = stream->request->op.deadline;

	return fl_grpc_status_of_reset((uint32_t)code, deadline && fl_now(stream->client->io) >= deadline);
}

static void stream_closed(struct fl_h2_stream *h2_stream, enum fl_h2_code code, const char *why)
{
	struct fl_grpc_stream *stream = stream_of(h2_stream);
	struct fl_grpc_client *client = stream->client;

	if (stream->has_status) {
		finish(stream);
	} else if (code == FL_H2_REFUSED_STREAM && !h2_stream->reached && ++stream->tries < tries_max) {
		stream->sent = 0;
		wait_in_line(stream);
	} else if (code == FL_H2_NO_ERROR && h2_stream->got_end) {
		end(stream, FL_GRPC_INTERNAL, FL_S("server closed the stream without sending trailers"));
	} else {
		end(stream, why[0] ? FL_GRPC_UNAVAILABLE : status_of_reset(stream, code),
		    why[0] ? fl_str(why) : fl_str(fl_name(&fl_h2_code_names, (int)code)));
	}
	go_on(client);
}

/* ---- connections ---- */

static void link_free(struct link *link)
{
	fl_chain_take(link);
	link->h2 = fl_h2_free(link->h2);
	fl_conn_close(&link->conn);
	fl_free(link);
}

static void lost(struct fl_h2 *h2, const struct fl_err *err)
{
	struct link *link = fl_h2_arg(h2);
	struct fl_grpc_client *client = link->client;

	(void)err;   /* its streams have ended already */
	link_free(link);
	go_on(client);
}

static void settings_came(struct fl_h2 *h2)
{
	go_on(((struct link *)fl_h2_arg(h2))->client);
}

static const struct fl_h2_user user = {
	.head = head, .data = data, .end = reply_ends, .pull = pull, .closed = stream_closed, .settings = settings_came,
	.lost = lost,
};

static int link_new(struct fl_grpc_client *client, int fd, struct fl_err *err)
{
	struct link *link = fl_zalloc(sizeof *link);
	const struct fl_h2_config config = { .user = &user, .arg = link, .stream_window = FL_GRPC_CLIENT_WINDOW };

	if (link)
		link->h2 = fl_h2_new(&config, err);
	if (!link || !link->h2) {
		fl_close(client->io, fd);
		fl_free(link);
		return fl_fail(err, FL_E_NOMEM, "gRPC connection: out of memory");
	}
	link->client = client;
	fl_chain_add(&client->links, link);
	fl_conn_start(client->io, &link->conn, fd);
	fl_h2_on_conn(link->h2, &link->conn);
	return 0;
}

static void fail_waiting(struct fl_grpc_client *client, const struct fl_err *err)
{
	while (client->waiting)
		end(client->waiting, FL_GRPC_UNAVAILABLE, fl_str(err->text));
}

static void connected(struct fl_op *op)
{
	struct fl_grpc_client *client = fl_container(op, struct fl_grpc_client, connect.op);

	if (op->result < 0 || link_new(client, (int)op->result, &client->connect_err) < 0)
		fail_waiting(client, &client->connect_err);
	go_on(client);
}

static void dial(struct fl_grpc_client *client)
{
	if (fl_op_busy(&client->connect.op))
		return;
	client->connect = (struct fl_connect){ .addr = client->addr };
	client->connect.op = (struct fl_op){ .done = connected,
					     .deadline = fl_now(client->io) + FL_GRPC_CONNECT_TIMEOUT,
					     .err = &client->connect_err };
	fl_connect(client->io, &client->connect);
}

static int send_head(struct fl_h2 *h2, struct fl_grpc_stream *stream, struct fl_err *err)
{
	char timeout[16];
	const struct fl_op *op = &stream->request->op;
	uint64_t now = fl_now(stream->client->io);
	struct fl_header fields[] = { { FL_S("content-type"), FL_S("application/grpc") },
				      { FL_S("te"), FL_S("trailers") },
				      { FL_S("user-agent"), FL_S("fairlead") },
				      { FL_S("grpc-timeout"), { timeout, 0 } } };
	struct fl_http_head request = { .method = FL_S("POST"), .scheme = FL_S("http"), .authority = FL_S("localhost"),
					.target = fl_str(stream->request->method->path),
					.headers = { fields, FL_LEN(fields) } };

	if (op->deadline && op->deadline != FL_NEVER)
		fields[3].value = fl_grpc_timeout_print(op->deadline > now ? op->deadline - now : 1, timeout);
	else
		request.headers.len--;
	return fl_h2_request(h2, &stream->stream, &request, true, err);
}

/* Send what waits, as far as there is a connection with room; have one made when there is none. */
static void go_on(struct fl_grpc_client *client)
{
	while (client->waiting) {
		struct fl_grpc_stream *stream = client->waiting;
		struct link *link = client->links;
		struct fl_err err = { 0 };

		if (!link || fl_h2_going(link->h2)) {
			dial(client);
			return;
		}
		if (send_head(link->h2, stream, &err) == 0) {
			leave_line(stream);
		} else if (err.code == FL_E_AGAIN) {
			return;   /* a stream that ends goes on here */
		} else if (err.code == FL_E_CLOSED) {
			dial(client);
			return;
		} else {
			end(stream, fl_grpc_status_of_code(err.code), fl_str(err.text));
		}
	}
}

/* ---- the client ---- */

struct fl_grpc_client *fl_grpc_client_new(struct fl_io *io, const struct fl_addr *addr, struct fl_err *err)
{
	struct fl_grpc_client *client = fl_zalloc(sizeof *client);

	if (!client)
		return fl_null(err, FL_E_NOMEM, "gRPC client: out of memory");
	client->io = io;
	client->addr = *addr;
	client->last = &client->waiting;
	return client;
}

struct fl_grpc_client *fl_grpc_client_free(struct fl_grpc_client *client)
{
	if (!client)
		return NULL;
	assert(client->streams == 0);
	fl_op_cancel(&client->connect.op);
	while (client->links)
		link_free(client->links);
	fl_free(client);
	return NULL;
}

void fl_grpc_start(struct fl_grpc_client *client, struct fl_grpc_request *request)
{
	struct fl_grpc_stream *stream = fl_zalloc(sizeof *stream);
	struct fl_err err;

	fl_op_begin(&request->op, client->io, drop);
	request->stream = stream;
	request->reply = NULL;
	request->status = FL_GRPC_UNKNOWN;
	if (!stream) {
		request->status = FL_GRPC_RESOURCE_EXHAUSTED;
		fl_op_fail(&request->op, FL_E_NOMEM, "%s: out of memory", request->method->path);
		return;
	}
	client->streams++;
	stream->client = client;
	stream->request = request;
	stream->out = FL_BUF(FL_GRPC_QUEUE_MAX);
	stream->words = FL_BUF(FL_GRPC_WORDS_MAX);
	stream->frames.max = request->max_reply ? request->max_reply : FL_GRPC_REPLY_MAX;
	stream->scratch.max = 8 * stream->frames.max;
	wait_in_line(stream);
	if (fl_pb_write(&stream->out, request->message, &err) < 0)
		end(stream, fl_grpc_status_of_code(err.code), fl_str(err.text));
	else
		go_on(client);
}
