#include "base/chain.h"
#include "base/units.h"
#include "http/server_in.h"
#include <stdio.h>

/* How far one reader of a streamed answer may lag: some hundred watch events. Beyond that it is cut and lists again. */
#define FL_HTTP_QUEUE_MAX (1 * FL_MIB)
#define FL_HTTP_BODIES_MAX (64 * FL_MIB)    /* collected bodies of all requests: eight of the largest */
#define FL_HTTP_BODY_PACE 1024              /* least bytes of a body in each FL_HTTP_BODY_TIMEOUT, or it is cut */
#define FL_HTTP_WRITE_PACE 1024             /* least bytes of an answer taken in each FL_HTTP_WRITE_TIMEOUT */

/* ---- its life ---- */

struct fl_http_req *fl_http_req_new(struct fl_sconn *conn, const struct fl_http_head *head)
{
	struct fl_http_req *req = fl_zalloc(sizeof *req);

	if (!req)
		return NULL;
	req->head = fl_http_head_copy(head);
	if (!req->head) {
		fl_free(req);
		return NULL;
	}
	req->conn = conn;
	req->began = fl_now(conn->conn.io);
	req->length = -1;
	req->owed = FL_NEVER;
	fl_chain_add(&conn->reqs, req);
	conn->served = true;
	fl_sconn_wait(conn);
	return req;
}

static void drop_body(struct fl_http_req *req)
{
	req->conn->server->collected -= req->body.len;
	fl_buf_free(&req->body);
}

void fl_http_req_free(struct fl_http_req *req)
{
	struct fl_sconn *conn = req->conn;
	const struct fl_http_server_options *options = &conn->server->options;

	if (options->ended) {
		struct fl_http_access access = {
			.head = req->head, .route = req->route, .status = req->status, .h2 = conn->h2 != NULL,
			.cut = !req->ended || req->queue.len, .took = fl_clock(conn->conn.io) - req->began,
			.received = req->received, .sent = req->sent,
		};

		options->ended(options->service, &access);
	}
	fl_timer_stop(conn->conn.io, &req->pace);
	drop_body(req);
	fl_chunk_clear(&req->queue);
	fl_chain_take(req);
	fl_free(req->head);
	fl_free(req->trailers);
	fl_free(req);
	fl_sconn_wait(conn);
}

void fl_http_req_gone(struct fl_http_req *req)
{
	const struct fl_http_req_user *user = req->ended ? NULL : req->user;
	void *arg = req->arg;

	/* Reset the stream first, and call the handler only when the request is freed. */
	fl_h2_reset(&req->stream, FL_H2_CANCEL);
	fl_http_req_free(req);
	if (user && user->gone)
		user->gone(arg);
}

/* For use inside a handler's call: what the handler holds must stay until it returns. */
static void cut_later(struct fl_http_req *req)
{
	req->doomed = true;
	fl_chunk_clear(&req->queue);
	fl_timer_set(req->conn->conn.io, &req->pace, fl_now(req->conn->conn.io));
}

void fl_http_req_cut(struct fl_http_req *req)
{
	struct fl_sconn *conn = req->conn;
	struct fl_err err = { 0 };

	req->user = NULL;
	if (req->handling) {
		cut_later(req);
		return;
	}
	if (conn->h2) {
		fl_h2_reset(&req->stream, FL_H2_CANCEL);
		fl_http_req_free(req);
		return;
	}
	fl_fail(&err, FL_E_CLOSED, "the request was cut");
	fl_conn_fail(&conn->conn, &err);
}

/* ---- the way to its handler ---- */

static bool path_fits(const char *pattern, struct fl_str path)
{
	struct fl_str want = fl_str(pattern);

	if (want.len && want.p[want.len - 1] == '*')
		return fl_str_starts(path, fl_str_sub(want, 0, want.len - 1));
	return fl_str_eq(path, want);
}

static bool method_fits(const char *wanted, struct fl_str method)
{
	return !wanted || fl_str_eq(method, fl_str(wanted)) ||
	       (fl_str_eq(method, FL_S("HEAD")) && fl_str_eq(fl_str(wanted), FL_S("GET")));
}

static const struct fl_http_route *find_route(struct fl_http_req *req, bool *ret_path_known)
{
	const struct fl_http_server_options *options = &req->conn->server->options;
	struct fl_str path = fl_http_req_path(req);

	*ret_path_known = false;
	for (size_t i = 0; i < options->route_count; i++) {
		const struct fl_http_route *route = &options->routes[i];

		if (!path_fits(route->path, path))
			continue;
		if (method_fits(route->method, req->head->method))
			return route;
		*ret_path_known = true;
	}
	return NULL;
}

static void handle(struct fl_http_req *req)
{
	fl_timer_stop(req->conn->conn.io, &req->pace);
	req->handling = true;
	req->route->handle(req);
	req->handling = false;
	if (!req->ended && !req->user && !req->doomed)
		fl_http_req_say(req, 500, "the handler gave no answer");
}

/* Cut it, and call its handler's gone(). */
static void give_up(struct fl_http_req *req)
{
	const struct fl_http_req_user *user = req->ended ? NULL : req->user;
	void *arg = req->arg;

	fl_http_req_cut(req);
	if (user && user->gone)
		user->gone(arg);
}

/* Bytes of the answer's body that have left the queue. */
static uint64_t taken(const struct fl_http_req *req)
{
	return req->sent - req->queue.bytes;
}

/* From now on the peer must take the queue, or the answer's end. */
static void owe(struct fl_http_req *req)
{
	struct fl_sconn *conn = req->conn;

	if (req->doomed || req->owed != FL_NEVER)
		return;
	req->owed = fl_now(conn->conn.io);
	req->paced = taken(req);
	fl_timer_set(conn->conn.io, &req->pace, req->owed + FL_HTTP_WRITE_TIMEOUT);
	fl_http_room_changed(conn->server);
}

static void on_pace(struct fl_timer *timer)
{
	struct fl_http_req *req = fl_container(timer, struct fl_http_req, pace);
	const struct fl_http_server_options *options = &req->conn->server->options;
	bool owed = req->owed != FL_NEVER;

	if (req->doomed || (owed && taken(req) < req->paced + FL_HTTP_WRITE_PACE)) {
		give_up(req);
		return;
	}
	if (owed) {
		req->paced = taken(req);
		fl_timer_set(req->conn->conn.io, timer, fl_now(req->conn->conn.io) + FL_HTTP_WRITE_TIMEOUT);
		return;
	}
	if (req->received < req->paced + FL_HTTP_BODY_PACE) {
		drop_body(req);
		req->collecting = false;
		fl_http_req_say(req, 408, "the body of the request comes too slowly");
		return;
	}
	req->paced = req->received;
	fl_timer_set(req->conn->conn.io, timer,
		     fl_now(req->conn->conn.io) + fl_http_or(options->body_timeout, FL_HTTP_BODY_TIMEOUT));
}

static void collect(struct fl_http_req *req)
{
	size_t most = req->route->max_body ? req->route->max_body : FL_HTTP_BODY_MAX;
	struct fl_str length = fl_headers_get(req->head->headers, FL_S("content-length"));
	const struct fl_http_server_options *options = &req->conn->server->options;
	uint64_t bytes = 0;

	req->body = FL_BUF(most);
	if (length.p && fl_str_u64(length, &bytes) && bytes > most) {
		fl_http_req_say(req, 413, "a body of %llu bytes; at most %zu are accepted", (unsigned long long)bytes,
				most);
		return;
	}
	/* An announced length allocates nothing before its bytes come, except for the usual sizes, which are allocated
	 * once. */
	if (bytes && !fl_buf_room(&req->body, bytes < 64 * FL_KIB ? bytes : 64 * FL_KIB))
		req->body.failed = FL_E_NOMEM;
	req->collecting = true;
	req->pace.fire = on_pace;
	fl_timer_set(req->conn->conn.io, &req->pace,
		     fl_now(req->conn->conn.io) + fl_http_or(options->body_timeout, FL_HTTP_BODY_TIMEOUT));
}

void fl_http_req_start(struct fl_http_req *req, bool end)
{
	bool path_known;

	req->pace.fire = on_pace;
	req->got_end = end;
	req->route = find_route(req, &path_known);
	if (req->conn->extra && !(req->route && req->route->probe))
		fl_http_req_say(req, 503, "all connections are in use: close some, or retry later");
	else if (!req->route && path_known)
		fl_http_req_say(req, 405, "method %.*s is not supported here", FL_ARG(req->head->method));
	else if (!req->route)
		fl_http_req_say(req, 404, "no route for %.*s", FL_ARG(fl_http_req_path(req)));
	else if (end || req->route->streams)
		handle(req);
	else
		collect(req);
}

void fl_http_req_came(struct fl_http_req *req, struct fl_str bytes)
{
	struct fl_http_server *server = req->conn->server;

	req->received += bytes.len;
	req->unconsumed += bytes.len;
	if (!req->collecting && req->user && req->user->body && !req->ended) {
		req->user->body(req->arg, bytes);
		return;
	}
	fl_http_req_consume(req, bytes.len);
	if (!req->collecting)
		return; /* answered already: ignore what still comes */
	if (server->collected + bytes.len > FL_HTTP_BODIES_MAX) {
		drop_body(req);
		req->collecting = false;
		fl_http_req_say(req, 503, "too many request bodies at once: retry later");
		return;
	}
	fl_buf_put(&req->body, bytes.p, bytes.len);
	if (!req->body.failed) {
		server->collected += bytes.len;
		return;
	}
	req->collecting = false;
	if (req->body.failed == FL_E_TOOBIG)
		fl_http_req_say(req, 413, "a body of more than the %zu bytes that are accepted", req->body.max);
	else
		fl_http_req_say(req, 503, "no memory for the body");
}

void fl_http_req_came_end(struct fl_http_req *req)
{
	req->got_end = true;
	if (req->collecting) {
		req->collecting = false;
		handle(req);
	} else if (req->user && req->user->body_end && !req->ended) {
		req->user->body_end(req->arg);
	}
}

/* ---- what handlers ask ---- */

void *fl_http_req_service(const struct fl_http_req *req)
{
	return req->conn->server->options.service;
}

const struct fl_http_route *fl_http_req_route(const struct fl_http_req *req)
{
	return req->route;
}

const struct fl_http_head *fl_http_req_head(const struct fl_http_req *req)
{
	return req->head;
}

struct fl_str fl_http_req_path(const struct fl_http_req *req)
{
	struct fl_str path, query;

	fl_http_target_split(req->head->target, &path, &query);
	return path;
}

struct fl_str fl_http_req_query(const struct fl_http_req *req)
{
	struct fl_str path, query;

	fl_http_target_split(req->head->target, &path, &query);
	return query;
}

struct fl_str fl_http_req_body(const struct fl_http_req *req)
{
	return fl_buf_view(&req->body);
}

struct fl_http_peer fl_http_req_peer(const struct fl_http_req *req)
{
	struct fl_conn *conn = &req->conn->conn;
	struct fl_http_peer peer = { .addr = { .kind = req->conn->kind, .port = req->conn->port,
		.scope = req->conn->scope } };
	const struct fl_tls_subject *subject;

	memcpy(peer.addr.ip, req->conn->ip, sizeof peer.addr.ip);
	if (conn->fd >= 0 && peer.addr.kind == FL_ADDR_UNIX && fl_peer_cred(conn->io, conn->fd, &peer.cred, NULL) < 0)
		peer.cred = (struct fl_cred){ .uid = UINT32_MAX, .gid = UINT32_MAX };
	if (conn->tls && fl_tls_peer_subject(conn->tls, &subject, NULL) == 0 && subject->common_name.len)
		peer.subject = subject;
	return peer;
}

void fl_http_req_on(struct fl_http_req *req, const struct fl_http_req_user *user, void *arg)
{
	req->user = user;
	req->arg = arg;
}

void fl_http_req_consume(struct fl_http_req *req, size_t len)
{
	req->unconsumed -= len;
	if (req->conn->h2)
		fl_h2_consume(&req->stream, len);
	else
		fl_sconn_h1_consumed(req->conn);
}

/* ---- the answer ---- */

static void wake(struct fl_http_req *req)
{
	if (req->conn->h2)
		fl_h2_wake(&req->stream);
	else
		fl_conn_wake(&req->conn->conn);
}

/* 0; else the request will be cut. */
static int begin_answer(struct fl_http_req *req, int status, struct fl_headers headers, int64_t length)
{
	struct fl_err err = { 0 };
	int result;

	req->answering = true;
	req->status = status;
	req->length = length;
	req->no_body = status == 204 || status == 304 || fl_str_eq(req->head->method, FL_S("HEAD"));
	result = req->conn->h2 ? fl_sconn_h2_begin(req, headers, &err) : fl_sconn_h1_begin(req, headers, &err);
	if (result < 0)
		cut_later(req);
	return result;
}

void fl_http_req_begin(struct fl_http_req *req, int status, struct fl_headers headers, int64_t length)
{
	(void)begin_answer(req, status, headers, length);
}

void fl_http_req_send_chunk(struct fl_http_req *req, struct fl_chunk *chunk)
{
	size_t most = fl_http_or(req->conn->server->options.max_queue, FL_HTTP_QUEUE_MAX);

	if (req->doomed || req->no_body)
		return;
	/* One piece may have any size; the queue may not. */
	if ((req->queue.bytes && req->queue.bytes + chunk->len > most) || fl_chunk_push(&req->queue, chunk) < 0) {
		cut_later(req);
		return;
	}
	req->sent += chunk->len;
	if (chunk->len)
		owe(req);
	wake(req);
}

void fl_http_req_send(struct fl_http_req *req, struct fl_str bytes)
{
	struct fl_chunk *chunk = bytes.len && !req->doomed && !req->no_body ? fl_chunk_new(bytes) : NULL;

	if (chunk)
		fl_http_req_send_chunk(req, chunk);
	else if (bytes.len && !req->doomed && !req->no_body)
		cut_later(req);
	fl_chunk_free(chunk);
}

void fl_http_req_end(struct fl_http_req *req, struct fl_headers trailers)
{
	struct fl_http_head block = { .headers = trailers };

	req->ended = true;
	req->user = NULL;
	owe(req);
	if (trailers.len && !req->no_body && !req->doomed) {
		req->trailers = fl_http_head_copy(&block);
		if (!req->trailers)
			cut_later(req);
	}
	/* Fewer or more bytes than announced: the connection cannot be used any more. */
	if (!req->doomed && !req->no_body && req->length >= 0 && req->sent != (uint64_t)req->length)
		cut_later(req);
	wake(req);
}

void fl_http_req_answer(struct fl_http_req *req, int status, struct fl_headers headers, struct fl_str body)
{
	if (begin_answer(req, status, headers, body.len) == 0)
		fl_http_req_send(req, body);
	fl_http_req_end(req, FL_NO_HEADERS);
}

/* Drop a partial character at the end of a cut text. */
static struct fl_str whole_characters(struct fl_str text)
{
	struct fl_str shorter = text;

	for (int i = 0; i < 4 && shorter.len && !fl_str_utf8(shorter); i++)
		shorter.len--;
	return fl_str_utf8(shorter) ? shorter : text;
}

/* Send the line with its line end. `text` has room for one more byte. */
static void say_line(struct fl_http_req *req, int status, struct fl_str text)
{
	((char *)(uintptr_t)text.p)[text.len++] = '\n';
	fl_http_req_answer(req, status, FL_HEADERS({ FL_S("content-type"), FL_S("text/plain; charset=utf-8") }), text);
}

/* Without memory for a long text, send its beginning. */
void fl_http_req_say(struct fl_http_req *req, int status, const char *fmt, ...)
{
	char room[512];
	FL_AUTO(fl_mem) char *longer = NULL;
	struct fl_str text = { room, 0 };
	va_list args, again;
	int len;

	va_start(args, fmt);
	va_copy(again, args);
	len = vsnprintf(room, sizeof room, fmt, args);
	if (len >= (int)sizeof room) {
		size_t size = (size_t)len < FL_HTTP_SAY_MAX ? (size_t)len + 1 : FL_HTTP_SAY_MAX;

		longer = fl_alloc(size);
		text.p = longer ? longer : room;
		text.len = (uint32_t)(longer ? size : sizeof room) - 1;
		if (longer)
			(void)vsnprintf(longer, size, fmt, again);
		if ((size_t)len >= size || !longer)
			text = whole_characters(text);
	} else if (len > 0) {
		text.len = (uint32_t)len;
	}
	va_end(again);
	va_end(args);
	say_line(req, status, text);
}

size_t fl_http_req_queued(const struct fl_http_req *req)
{
	return req->queue.bytes;
}

void fl_http_req_pulled(struct fl_http_req *req, size_t len)
{
	if (!len || req->queue.bytes || req->ended)
		return;
	req->owed = FL_NEVER;
	fl_timer_stop(req->conn->conn.io, &req->pace);
	fl_http_room_changed(req->conn->server);
	if (req->user && req->user->drained)
		req->user->drained(req->arg);
}
