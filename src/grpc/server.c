#include "grpc/server.h"
#include "base/chain.h"
#include "grpc/pb.h"
#include "http/h2_conn.h"
#include "http/listener.h"
#include "http/server.h"
#include "io/fs.h"
#include <stdio.h>

/* One client's connection. */
struct peer {
	struct fl_grpc_server *server;
	struct fl_conn conn;
	struct fl_h2 *h2;
	uint64_t since;
	struct fl_grpc_call *calls;
	struct peer *next, **from;
};

struct fl_grpc_server {
	struct fl_io *io;
	struct fl_grpc_server_options options;
	struct fl_listener listener;
	struct fl_stat file;      /* the socket that we made, to remove no other */
	struct peer *peers;
	bool drains;
};

enum progress {
	ASKING,     /* the request has not come whole */
	ASKED,      /* the handler has it */
	ENDED,      /* the handler has ended it; what is left is to send */
	CUT         /* the handler does not know yet that it is over */
};

struct fl_grpc_call {
	struct fl_h2_stream stream;
	struct peer *peer;
	const struct fl_grpc_handler *handler;
	struct fl_arena arena;
	struct fl_grpc_frames frames;
	const ProtobufCMessage *request;
	enum progress progress;
	bool responded;                   /* response headers are out */
	struct fl_buf out;                /* messages as they go on the wire */
	size_t sent;                      /* of out */
	size_t newest;                    /* where the last message begins, if the next may replace it; SIZE_MAX: not */
	enum fl_grpc_status status;       /* once ENDED */
	struct fl_buf words;              /* its message, escaped */
	uint64_t deadline;
	struct fl_timer timer;            /* the deadline; or at once, when CUT */
	void (*gone)(void *arg);
	void *gone_arg;
	struct fl_grpc_call *next, **from;
};

/* ---- a call's life ---- */

static struct fl_grpc_call *call_of(struct fl_h2_stream *stream)
{
	return fl_container(stream, struct fl_grpc_call, stream);
}

static struct fl_io *io_of(const struct fl_grpc_call *call)
{
	return call->peer->server->io;
}

static void call_free(struct fl_grpc_call *call)
{
	fl_timer_stop(io_of(call), &call->timer);
	fl_chain_take(call);
	fl_grpc_frames_free(&call->frames);
	fl_buf_free(&call->out);
	fl_buf_free(&call->words);
	fl_arena_free(&call->arena);
	fl_free(call);
}

/* The stream is no more: tell a handler that still has the call, and forget it. */
static void call_over(struct fl_grpc_call *call)
{
	if (call->progress != ASKING && call->progress != ENDED && call->gone)
		call->gone(call->gone_arg);
	call_free(call);
}

static void timer_fired(struct fl_timer *timer)
{
	struct fl_grpc_call *call = fl_container(timer, struct fl_grpc_call, timer);

	fl_h2_reset(&call->stream, call->progress == CUT ? FL_H2_INTERNAL_ERROR : FL_H2_CANCEL);
	call_over(call);
}

/* What went wrong went wrong below: end the stream in the next turn, for a handler may be at work on the call now. */
static void cut(struct fl_grpc_call *call)
{
	if (call->progress != ENDED)
		call->progress = CUT;
	fl_timer_set(io_of(call), &call->timer, fl_now(io_of(call)));
}

/* ---- answering ---- */

static int respond(struct fl_grpc_call *call)
{
	static const struct fl_header fields[] = { { FL_S_INIT("content-type"), FL_S_INIT("application/grpc") } };
	const struct fl_http_head head = { .status = 200, .headers = { fields, FL_LEN(fields) } };

	if (call->responded)
		return 0;
	call->responded = true;
	return fl_h2_respond(&call->stream, &head, true, NULL);
}

/* Status without any message: one header block that is also the last. */
static int respond_trailers_only(struct fl_grpc_call *call)
{
	char number[12];
	struct fl_header fields[4] = { { FL_S("content-type"), FL_S("application/grpc") },
				       { FL_S("grpc-status"), { number, 0 } },
				       { FL_S("grpc-message"), fl_buf_view(&call->words) },
				       { FL_S("grpc-accept-encoding"), FL_S("identity") } };
	const struct fl_http_head head = { .status = 200,
					   .headers = { fields, call->status == FL_GRPC_UNIMPLEMENTED ? 4 : 3 } };

	fields[1].value.len = (uint32_t)snprintf(number, sizeof number, "%d", (int)call->status);
	call->responded = true;
	return fl_h2_respond(&call->stream, &head, false, NULL);
}

static int send_trailers(struct fl_grpc_call *call)
{
	char number[12];
	struct fl_header fields[2] = { { FL_S("grpc-status"), { number, 0 } },
				       { FL_S("grpc-message"), fl_buf_view(&call->words) } };

	fields[0].value.len = (uint32_t)snprintf(number, sizeof number, "%d", (int)call->status);
	return fl_h2_trailers(&call->stream, (struct fl_headers){ fields, call->words.len ? 2 : 1 }, NULL);
}

static int64_t pull(struct fl_h2_stream *stream, void *room, size_t len, enum fl_h2_end *ret_end)
{
	struct fl_grpc_call *call = call_of(stream);

	len = fl_buf_take(&call->out, &call->sent, room, len);
	if (call->out.len == 0 && call->progress == ENDED) {
		*ret_end = FL_H2_END_TRAILERS;
		if (send_trailers(call) < 0)
			return -1;
	}
	return (int64_t)len;
}

static void send_message(struct fl_grpc_call *call, const ProtobufCMessage *message)
{
	/* What has been sent makes room at the front, but not byte by byte. */
	if (call->sent > call->out.len / 2) {
		fl_buf_drop(&call->out, call->sent);
		call->sent = 0;
	}
	call->newest = call->out.len;
	if (fl_pb_write(&call->out, message, NULL) < 0 || respond(call) < 0)
		cut(call);
	else
		fl_h2_wake(&call->stream);
}

void fl_grpc_call_send(struct fl_grpc_call *call, const ProtobufCMessage *message)
{
	if (call->progress != ASKED)
		return;
	send_message(call, message);
	call->newest = SIZE_MAX;
}

void fl_grpc_call_send_newest(struct fl_grpc_call *call, const ProtobufCMessage *message)
{
	if (call->progress != ASKED)
		return;
	if (call->newest >= call->sent && call->newest < call->out.len)
		call->out.len = call->newest;   /* nothing of it has gone out yet */
	send_message(call, message);
}

static void end(struct fl_grpc_call *call, enum fl_grpc_status status)
{
	bool was_cut = call->progress == CUT;

	call->progress = ENDED;
	call->status = status;
	if (was_cut)
		return;   /* its timer ends it, and the handler need not be told any more */
	if (call->words.failed || (!call->responded && respond_trailers_only(call) < 0))
		cut(call);
	else
		fl_h2_wake(&call->stream);
}

void fl_grpc_call_reply(struct fl_grpc_call *call, const ProtobufCMessage *message)
{
	fl_grpc_call_send(call, message);
	end(call, FL_GRPC_OK);
}

void fl_grpc_call_end(struct fl_grpc_call *call, enum fl_grpc_status status, const char *fmt, ...)
{
	char words[FL_GRPC_WORDS_MAX] = "";
	va_list args;

	if (fmt) {
		va_start(args, fmt);
		(void)vsnprintf(words, sizeof words, fmt, args);
		va_end(args);
	}
	fl_grpc_escape(&call->words, fl_str(words));
	end(call, status);
}

void fl_grpc_call_fail(struct fl_grpc_call *call, const struct fl_err *err)
{
	fl_grpc_call_end(call, fl_grpc_status_of_code(err->code), "%s", err->text);
}

/* ---- asking ---- */

/* "/package.Service/Method" in two. */
static void split_path(struct fl_str path, struct fl_str *ret_service, struct fl_str *ret_method)
{
	struct fl_str rest = fl_str_sub(path, 1, path.len);

	*ret_method = (struct fl_str){ "", 0 };
	if (fl_str_split(&rest, '/', ret_service) && rest.p)
		*ret_method = rest;
}

static const struct fl_grpc_handler *find_handler(const struct fl_grpc_server *server, struct fl_str path,
						  bool *ret_service_known)
{
	struct fl_str service, method, known;

	split_path(path, &service, &method);
	*ret_service_known = false;
	for (size_t i = 0; i < server->options.handler_count; i++) {
		const struct fl_grpc_handler *handler = &server->options.handlers[i];

		if (fl_str_eq(fl_str(handler->method->path), path))
			return handler;
		split_path(fl_str(handler->method->path), &known, &method);
		*ret_service_known |= fl_str_eq(known, service);
	}
	return NULL;
}

static void refuse_unknown(struct fl_grpc_call *call, struct fl_str path, bool service_known)
{
	struct fl_str service, method;

	split_path(path, &service, &method);
	if (service_known)
		fl_grpc_call_end(call, FL_GRPC_UNIMPLEMENTED, "unknown method %.*s for service %.*s", FL_ARG(method),
				 FL_ARG(service));
	else
		fl_grpc_call_end(call, FL_GRPC_UNIMPLEMENTED, "unknown service %.*s", FL_ARG(service));
}

/* Not gRPC at all: an HTTP status says so. */
static int http_refusal(const struct fl_http_head *head, uint64_t *ret_timeout)
{
	struct fl_str type = fl_headers_get(head->headers, FL_S("content-type"));
	struct fl_str timeout = fl_headers_get(head->headers, FL_S("grpc-timeout"));
	struct fl_str after = fl_str_sub(type, sizeof "application/grpc" - 1, type.len);

	if (!fl_str_eq(head->method, FL_S("POST")))
		return 405;
	if (!fl_str_starts(type, FL_S("application/grpc")) || (after.len && after.p[0] != '+' && after.p[0] != ';'))
		return 415;
	if (timeout.p && !fl_grpc_timeout_parse(timeout, ret_timeout))
		return 400;
	return 0;
}

static struct fl_grpc_call *call_new(struct peer *peer)
{
	struct fl_grpc_call *call = fl_zalloc(sizeof *call);
	size_t max = peer->server->options.max_message;

	if (!call)
		return NULL;
	call->peer = peer;
	call->frames.max = max ? max : FL_GRPC_MESSAGE_MAX;
	call->out = FL_BUF(FL_GRPC_QUEUE_MAX);
	call->newest = SIZE_MAX;
	call->words = FL_BUF(3 * FL_GRPC_WORDS_MAX);   /* each byte may become three */
	call->deadline = FL_NEVER;
	call->timer.fire = timer_fired;
	fl_chain_add(&peer->calls, call);
	return call;
}

static void asks(struct fl_h2 *h2, const struct fl_http_head *head, bool body_ends)
{
	struct peer *peer = fl_h2_arg(h2);
	uint64_t timeout = FL_NEVER;
	int refusal = http_refusal(head, &timeout);
	struct fl_str encoding = fl_headers_get(head->headers, FL_S("grpc-encoding"));
	struct fl_grpc_call *call = call_new(peer);
	uint64_t now = fl_now(peer->server->io), whole_by = now + FL_HTTP_BODY_TIMEOUT;
	bool service_known;

	if (!call)
		return;   /* not accepted: the stream is refused, which the client may try again */
	fl_h2_accept(h2, &call->stream);
	if (refusal) {
		call->progress = ENDED;
		if (fl_h2_respond(&call->stream, &(struct fl_http_head){ .status = refusal }, false, NULL) < 0)
			cut(call);
		return;
	}
	call->handler = find_handler(peer->server, head->target, &service_known);
	if (!call->handler)
		refuse_unknown(call, head->target, service_known);
	else if (encoding.len && !fl_str_eq(encoding, FL_S("identity")))
		fl_grpc_call_end(call, FL_GRPC_UNIMPLEMENTED, "compression '%.*s' is not supported; send identity",
				 FL_ARG(encoding));
	else if (body_ends)
		fl_grpc_call_end(call, FL_GRPC_INTERNAL, "the request has no message");
	if (call->progress == ENDED)
		return;
	if (timeout < FL_NEVER - now)
		call->deadline = now + timeout;
	fl_timer_set(io_of(call), &call->timer, call->deadline < whole_by ? call->deadline : whole_by);
}

static void data(struct fl_h2_stream *stream, struct fl_str bytes)
{
	struct fl_grpc_call *call = call_of(stream);
	struct fl_str in = bytes, message;
	const ProtobufCMessageDescriptor *type;
	struct fl_err err;
	int result;

	fl_h2_consume(stream, bytes.len);
	while (call->progress == ASKING) {
		type = call->handler->method->request;
		result = fl_grpc_next(&call->frames, &in, &message, &err);
		if (result == 0)
			return;
		if (result > 0 && call->request)
			result = fl_fail(&err, FL_E_IO, "more than one message in a unary request");
		if (result > 0)
			result = fl_pb_read(&call->arena, type, message, &call->request, &err);
		if (result < 0)
			fl_grpc_call_end(call, fl_grpc_status_of_bytes(err.code), "%s", err.text);
	}
}

static void request_ends(struct fl_h2_stream *stream)
{
	struct fl_grpc_call *call = call_of(stream);

	if (call->progress != ASKING)
		return;
	if (!call->request || !fl_grpc_frames_whole(&call->frames)) {
		fl_grpc_call_end(call, FL_GRPC_INTERNAL, "the request ended within a message");
		return;
	}
	fl_grpc_frames_free(&call->frames);
	if (call->deadline == FL_NEVER)
		fl_timer_stop(io_of(call), &call->timer);
	else
		fl_timer_set(io_of(call), &call->timer, call->deadline);
	call->progress = ASKED;
	call->handler->call(call, call->request);
}

static void stream_closed(struct fl_h2_stream *stream, enum fl_h2_code code, const char *why)
{
	(void)code;
	(void)why;
	call_over(call_of(stream));
}

static void trailers_of_request(struct fl_h2_stream *stream, enum fl_h2_block block, const struct fl_http_head *head)
{
	(void)stream;
	(void)block;
	(void)head;
}

/* ---- connections ---- */

static void peer_free(struct peer *peer)
{
	while (peer->calls) {
		fl_h2_reset(&peer->calls->stream, FL_H2_CANCEL);
		call_over(peer->calls);
	}
	fl_chain_take(peer);
	peer->h2 = fl_h2_free(peer->h2);
	fl_conn_close(&peer->conn);
	fl_free(peer);
}

static void lost(struct fl_h2 *h2, const struct fl_err *err)
{
	struct peer *peer = fl_h2_arg(h2);
	const struct fl_grpc_server *server = peer->server;
	uint64_t since = peer->since;

	(void)err;
	peer_free(peer);
	if (server->options.left)
		server->options.left(server->options.service, since);
}

static const struct fl_h2_user user = {
	.request = asks, .head = trailers_of_request, .data = data, .end = request_ends, .pull = pull,
	.closed = stream_closed, .lost = lost,
};

static void accepted(struct fl_listener *listener, int fd, const struct fl_addr *addr)
{
	struct fl_grpc_server *server = fl_container(listener, struct fl_grpc_server, listener);
	struct peer *peer = fl_zalloc(sizeof *peer);
	const struct fl_h2_config config = { .user = &user, .arg = peer, .server = true, .no_http_messaging = true,
					     .max_streams = server->options.max_streams };

	(void)addr;
	if (peer)
		peer->h2 = fl_h2_new(&config, NULL);
	if (!peer || !peer->h2) {
		fl_close(server->io, fd);   /* the client dials again */
		fl_h2_free(peer ? peer->h2 : NULL);
		fl_free(peer);
		return;
	}
	peer->server = server;
	peer->since = fl_now(server->io);
	fl_chain_add(&server->peers, peer);
	fl_conn_start(server->io, &peer->conn, fd);
	fl_h2_on_conn(peer->h2, &peer->conn);
}

/* ---- the server ---- */

/* Listens under `made`, which becomes addr's path. */
static int listen_as(struct fl_grpc_server *server, const struct fl_addr *made, struct fl_err *err)
{
	const struct fl_grpc_server_options *options = &server->options;
	const struct fl_fs *fs = fl_io_fs(server->io);
	const char *path = options->addr.path;
	int result = fl_listener_start(server->io, &server->listener, made, options->mode ? options->mode : 0600, err);

	if (result < 0)
		return result;
	result = fs->stat(fs, AT_FDCWD, made->path, AT_SYMLINK_NOFOLLOW, &server->file);
	if (result == 0 && options->made_as)
		result = fs->rename(fs, AT_FDCWD, made->path, AT_FDCWD, path, 0);
	if (result == 0)
		return 0;
	if (options->made_as)
		(void)fs->unlink(fs, AT_FDCWD, made->path, 0);
	fl_listener_stop(&server->listener);
	return fl_fail_sys(err, -result, "socket '%s'", path);
}

struct fl_grpc_server *fl_grpc_server_new(struct fl_io *io, const struct fl_grpc_server_options *options,
					  struct fl_err *err)
{
	FL_AUTO(fl_mem) struct fl_grpc_server *server = fl_zalloc(sizeof *server);
	struct fl_addr made = options->addr;

	if (!server)
		return fl_null(err, FL_E_NOMEM, "gRPC server: out of memory");
	if (options->made_as && fl_addr_unix(&made, fl_str(options->made_as), err) < 0)
		return NULL;
	server->io = io;
	server->options = *options;
	server->listener.accepted = accepted;
	if (listen_as(server, &made, err) < 0)
		return NULL;
	return fl_steal(&server);
}

/* Another process may have put its own socket in place of ours meanwhile: that one stays. */
static void remove_socket(struct fl_grpc_server *server)
{
	const struct fl_fs *fs = fl_io_fs(server->io);
	const char *path = server->options.addr.path;
	struct fl_stat now;

	if (fs->stat(fs, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &now) == 0 && now.ino == server->file.ino &&
	    now.dev == server->file.dev)
		(void)fs->unlink(fs, AT_FDCWD, path, 0);
}

bool fl_grpc_server_drain(struct fl_grpc_server *server)
{
	if (!server->drains) {
		server->drains = true;
		remove_socket(server);
		fl_listener_stop(&server->listener);
	}
	for (const struct peer *peer = server->peers; peer; peer = peer->next)
		if (peer->calls)
			return false;
	return true;
}

struct fl_grpc_server *fl_grpc_server_free(struct fl_grpc_server *server)
{
	if (!server)
		return NULL;
	if (!server->drains) {
		remove_socket(server);
		fl_listener_stop(&server->listener);
	}
	while (server->peers)
		peer_free(server->peers);
	fl_free(server);
	return NULL;
}

void *fl_grpc_call_service(const struct fl_grpc_call *call)
{
	return call->peer->server->options.service;
}

struct fl_arena *fl_grpc_call_arena(struct fl_grpc_call *call)
{
	return &call->arena;
}

void fl_grpc_call_on_gone(struct fl_grpc_call *call, void (*gone)(void *arg), void *arg)
{
	call->gone = gone;
	call->gone_arg = arg;
}
