#include "http/client_in.h"
#include "base/chain.h"
#include <stdarg.h>
#include <stdio.h>

/* ---- the url ---- */

static int split_host(struct fl_http_client *client, struct fl_str rest, uint16_t port, struct fl_err *err)
{
	int64_t slash = fl_str_find(rest, '/'), number = port, colon;
	struct fl_str host = slash < 0 ? rest : fl_str_sub(rest, 0, (uint32_t)slash);

	client->authority = host;
	client->base = slash < 0 ? FL_S("") : fl_str_sub(rest, (uint32_t)slash, rest.len);
	while (client->base.len && client->base.p[client->base.len - 1] == '/')
		client->base.len--;
	if (fl_str_starts(host, FL_S("["))) {
		colon = fl_str_find(host, ']');
		if (colon < 0)
			return fl_fail(err, FL_E_INVALID, "an IPv6 address without its ']'");
		rest = fl_str_sub(host, (uint32_t)colon + 1, host.len);
		host = fl_str_sub(host, 1, (uint32_t)colon - 1);
		colon = rest.len ? 0 : -1;
	} else {
		colon = fl_str_find(host, ':');
		rest = colon < 0 ? FL_S("") : fl_str_sub(host, (uint32_t)colon, host.len);
		host.len = colon < 0 ? host.len : (uint32_t)colon;
	}
	if (colon >= 0 && (rest.p[0] != ':' || !fl_str_i64(fl_str_sub(rest, 1, rest.len), &number) || number < 1 ||
			   number > 65535))
		return fl_fail(err, FL_E_INVALID, "'%.*s' is no port", FL_ARG(rest));
	if (!host.len || host.len > FL_HOST_MAX || fl_str_find(client->authority, '@') >= 0 ||
	    memchr(host.p, 0, host.len))
		return fl_fail(err, FL_E_INVALID, "no proper host");
	memcpy(client->host, host.p, host.len);
	client->port = (uint16_t)number;
	return 0;
}

static int parse_url(struct fl_http_client *client, struct fl_str url, struct fl_err *err)
{
	int result;

	if (fl_str_starts(url, FL_S("unix:"))) {
		client->authority = FL_S("localhost");
		return fl_addr_parse(&client->addr, url, err);
	}
	client->secure = fl_str_starts(url, FL_S("https://"));
	if (!client->secure && !fl_str_starts(url, FL_S("http://")))
		return fl_fail(err, FL_E_INVALID, "'%.*s': a url begins with https://, http:// or unix:", FL_ARG(url));
	result = split_host(client, fl_str_sub(url, client->secure ? 8 : 7, url.len), client->secure ? 443 : 80, err);
	return result < 0 ? fl_wrap(err, "'%.*s'", FL_ARG(url)) : 0;
}

static struct fl_str keep(char **at, struct fl_str s)
{
	struct fl_str kept = { *at, s.len };

	if (s.len)
		memcpy(*at, s.p, s.len);
	(*at)[s.len] = 0;
	*at += s.len + 1;
	return kept;
}

static int copy_texts(struct fl_http_client *client, const struct fl_http_client_options *options)
{
	size_t size = (size_t)options->url.len + options->server_name.len + options->user_agent.len + 3;
	char *at = client->texts = fl_alloc(size);

	if (!at)
		return -FL_E_NOMEM;
	client->options = *options;
	client->options.url = keep(&at, options->url);
	client->options.server_name = keep(&at, options->server_name);
	client->options.user_agent = keep(&at, options->user_agent);
	client->options.token = FL_S("");
	client->tls = options->tls ? fl_tls_context_ref(options->tls) : NULL;
	return fl_http_client_token(client, options->token);
}

struct fl_http_client *fl_http_client_new(struct fl_io *io, const struct fl_http_client_options *options,
					  struct fl_err *err)
{
	FL_AUTO(fl_http_client) struct fl_http_client *client = fl_zalloc(sizeof *client);

	if (client)
		client->io = io;
	if (!client || copy_texts(client, options) < 0) {
		fl_fail(err, FL_E_NOMEM, "no memory for an HTTP client");
		return NULL;
	}
	client->waiting_end = &client->waiting;
	if (parse_url(client, client->options.url, err) < 0)
		return NULL;
	if (client->secure && !client->tls) {
		fl_fail(err, FL_E_INVALID, "'%.*s' needs certificates to trust", FL_ARG(options->url));
		return NULL;
	}
	return fl_steal(&client);
}

struct fl_http_client *fl_http_client_free(struct fl_http_client *client)
{
	if (!client)
		return NULL;
	while (client->conns)
		fl_cconn_drop(client->conns);
	fl_tls_context_free(client->tls);
	fl_free(client->bearer);
	fl_free(client->texts);
	fl_free(client);
	return NULL;
}

void fl_http_client_use(struct fl_http_client *client, struct fl_tls_context *tls)
{
	struct fl_tls_context *former = client->tls;
	struct fl_cconn *next;

	client->tls = fl_tls_context_ref(tls);
	fl_tls_context_free(former);
	for (struct fl_cconn *conn = client->conns; conn; conn = next) {
		next = conn->next;
		conn->retired = true;
		fl_cconn_quiet(conn);
	}
}

int fl_http_client_token(struct fl_http_client *client, struct fl_str token)
{
	char *bearer = NULL;

	if (token.len) {
		bearer = fl_alloc((size_t)token.len + 8);
		if (!bearer)
			return -FL_E_NOMEM;
		memcpy(bearer, "Bearer ", 7);
		memcpy(bearer + 7, token.p, token.len);
		bearer[token.len + 7] = 0;
	}
	fl_free(client->bearer);
	client->bearer = bearer;
	return 0;
}

void fl_http_client_batch(struct fl_http_client *client, uint64_t every)
{
	if (client->batch == every)
		return;
	client->batch = every;
	for (struct fl_cconn *conn = client->conns; conn; conn = conn->next)
		fl_conn_batch(&conn->conn, every);
}

uint32_t fl_http_client_conns(const struct fl_http_client *client)
{
	return client->conn_count;
}

uint32_t fl_http_client_opened(const struct fl_http_client *client)
{
	return client->opened;
}

/* ---- what a call sends ---- */

int64_t fl_call_length(const struct fl_http_call *call)
{
	return call->pull ? call->pull_length : (int64_t)call->body.len;
}

bool fl_call_sends_body(const struct fl_http_call *call)
{
	return call->pull || call->body.len || fl_str_eq(call->method, FL_S("POST")) ||
	       fl_str_eq(call->method, FL_S("PUT")) ||
	       fl_str_eq(call->method, FL_S("PATCH"));
}

int fl_call_fields(struct fl_http_call *call, bool length, struct fl_header *room, char number[static 24],
		   struct fl_headers *ret, struct fl_err *err)
{
	struct fl_http_client *client = call->client;
	uint32_t count = 0;

	if (call->headers.len > FL_HTTP_FIELDS_MAX - 3)
		return fl_fail(err, FL_E_TOOBIG, "over %d header fields", FL_HTTP_FIELDS_MAX - 3);
	for (uint32_t i = 0; i < call->headers.len; i++)
		room[count++] = call->headers.at[i];
	if (client->options.user_agent.len && !fl_headers_get(call->headers, FL_S("user-agent")).p)
		room[count++] = (struct fl_header){ FL_S("user-agent"), client->options.user_agent };
	if (client->bearer && !fl_headers_get(call->headers, FL_S("authorization")).p)
		room[count++] = (struct fl_header){ FL_S("authorization"), fl_str(client->bearer) };
	if (length && fl_call_sends_body(call) && fl_call_length(call) >= 0) {
		int digits = snprintf(number, 24, "%lld", (long long)fl_call_length(call));

		room[count++] = (struct fl_header){ FL_S("content-length"), { number, (uint32_t)digits } };
	}
	*ret = (struct fl_headers){ room, count };
	return 0;
}

int64_t fl_call_pull(struct fl_http_call *call, void *room, size_t len, bool *ret_end)
{
	struct fl_str piece;
	int64_t got;

	if (call->pull) {
		call->pulled = true;
		got = call->pull(call, room, len, ret_end);
		if (got > 0)
			call->sent += (size_t)got;
		return got;
	}
	piece = fl_str_sub(call->body, (uint32_t)call->sent, len < UINT32_MAX ? (uint32_t)len : UINT32_MAX);
	if (piece.len)
		memcpy(room, piece.p, piece.len);
	call->sent += piece.len;
	*ret_end = call->sent == call->body.len;
	return piece.len;
}

/* ---- events of a call ---- */

void fl_call_off(struct fl_http_call *call)
{
	struct fl_http_client *client = call->client;

	if (!call->from)
		return;
	if (call->conn)
		fl_chain_take(call);
	else
		fl_chain_take_of(&client->waiting_end, call);
	call->conn = NULL;
}

static void forget_answer(struct fl_http_call *call)
{
	fl_free(call->answer);
	fl_free(call->trailers);
	call->answer = call->trailers = NULL;
	call->status = 0;
	fl_buf_free(&call->reply);
}

/* Take it off the connection: reset its stream, or close an HTTP/1.1 connection. */
static void detach(struct fl_http_call *call)
{
	struct fl_cconn *conn = call->conn;

	fl_timer_stop(call->client->io, &call->timer);
	fl_call_off(call);
	if (!conn)
		return;
	if (conn->h2) {
		fl_h2_reset(&call->stream, FL_H2_CANCEL);
	} else if (!conn->broken) {
		struct fl_err err = { 0 };

		conn->broken = true;
		fl_fail(&err, FL_E_CLOSED, "the call was ended");
		fl_conn_fail(&conn->conn, &err);
	}
	fl_cconn_quiet(conn);
}

static void drop(struct fl_op *op)
{
	detach(fl_container(op, struct fl_http_call, op));
}

void fl_call_fail(struct fl_http_call *call, enum fl_code code, const char *fmt, ...)
{
	char words[FL_ERR_TEXT];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(words, sizeof words, fmt, args);
	va_end(args);
	detach(call);
	fl_op_fail(&call->op, code, "%s", words);
}

void fl_call_head(struct fl_http_call *call, const struct fl_http_head *head)
{
	call->last = fl_now(call->client->io);
	call->status = head->status;
	call->answer = fl_http_head_copy(head);
	if (!call->answer) {
		fl_call_fail(call, FL_E_NOMEM, "no memory for the answer's head");
		return;
	}
	fl_timer_stop(call->client->io, &call->timer);
	if (call->idle_timeout)
		fl_timer_set(call->client->io, &call->timer, call->last + call->idle_timeout);
	if (call->head)
		call->head(call);
}

void fl_call_trailers(struct fl_http_call *call, const struct fl_http_head *head)
{
	call->trailers = fl_http_head_copy(head);
	if (!call->trailers)
		fl_call_fail(call, FL_E_NOMEM, "no memory for the answer's trailers");
}

void fl_call_data(struct fl_http_call *call, struct fl_str bytes)
{
	struct fl_str length;
	uint64_t announced;

	call->last = fl_now(call->client->io);
	call->unconsumed += bytes.len;
	if (call->got) {
		call->got(call, bytes);
		return;
	}
	length = fl_headers_get(call->answer->headers, FL_S("content-length"));
	if (!call->reply.len && length.p && fl_str_u64(length, &announced) && announced < FL_MIB &&
	    !fl_buf_room(&call->reply, announced) && !call->reply.failed)
		call->reply.failed = FL_E_NOMEM;
	fl_buf_put(&call->reply, bytes.p, bytes.len);
	if (call->reply.failed == FL_E_TOOBIG)
		fl_call_fail(call, FL_E_TOOBIG, "the answer has more than %zu bytes", call->reply.max);
	else if (call->reply.failed)
		fl_call_fail(call, FL_E_NOMEM, "no memory for the answer");
	else
		fl_http_call_consume(call, bytes.len);
}

void fl_call_end(struct fl_http_call *call)
{
	struct fl_cconn *conn = call->conn;

	fl_timer_stop(call->client->io, &call->timer);
	fl_call_off(call);
	fl_op_end(&call->op, call->status);
	fl_cconn_quiet(conn);
	fl_client_pump(conn->client);
}

static bool harmless(const struct fl_http_call *call)
{
	return call->idempotent || fl_str_eq(call->method, FL_S("GET")) || fl_str_eq(call->method, FL_S("HEAD")) ||
	       fl_str_eq(call->method, FL_S("OPTIONS"));
}

static void wait_for_conn(struct fl_http_client *client, struct fl_http_call *call)
{
	call->conn = NULL;
	fl_chain_append(&client->waiting_end, call);
}

void fl_call_lost(struct fl_http_call *call, bool untouched, bool lost, const struct fl_err *err)
{
	struct fl_http_client *client = call->client;
	bool again = (untouched || (lost && harmless(call))) && !call->answer && !call->pulled &&
		     call->replays < FL_HTTP_REPLAYS;

	fl_call_off(call);
	if (again) {
		call->replays++;
		call->sent = 0;
		call->sent_all = false;
		wait_for_conn(client, call);
		return;
	}
	fl_timer_stop(client->io, &call->timer);
	fl_op_fail(&call->op, err->code, "%.*s %.*s: %s", FL_ARG(call->method), FL_ARG(call->target), err->text);
}

static void on_timer(struct fl_timer *timer)
{
	struct fl_http_call *call = fl_container(timer, struct fl_http_call, timer);
	uint64_t now = fl_now(call->client->io);

	if (!call->answer)
		fl_call_fail(call, FL_E_TIMEOUT, "%.*s %.*s: no answer within %llu ms", FL_ARG(call->method),
			     FL_ARG(call->target),
			     (unsigned long long)(call->head_timeout / FL_NS_PER_MS));
	else if (now - call->last >= call->idle_timeout)
		fl_call_fail(call, FL_E_TIMEOUT, "%.*s %.*s: no byte of the answer for %llu ms", FL_ARG(call->method),
			     FL_ARG(call->target), (unsigned long long)(call->idle_timeout / FL_NS_PER_MS));
	else
		fl_timer_set(call->client->io, timer, call->last + call->idle_timeout);
}

/* ---- the pool ---- */

static bool has_room(const struct fl_cconn *conn)
{
	if (!conn->open || conn->retired || conn->broken)
		return false;
	return conn->h2 ? fl_h2_room(conn->h2) > 0 : !conn->calls;
}

static int put_on(struct fl_cconn *conn, struct fl_http_call *call, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf target = FL_BUF(FL_HTTP_HEAD_MAX);
	struct fl_str full = call->target;
	int result;

	if (call->client->base.len) {
		fl_buf_str(&target, call->client->base);
		fl_buf_str(&target, call->target);
		result = fl_buf_check(&target, "target", err);
		if (result < 0)
			return result;
		full = fl_buf_view(&target);
	}
	result = conn->h2 ? fl_cconn_h2_call(conn, call, full, err) : fl_cconn_h1_call(conn, call, full, err);
	if (result < 0)
		return result;
	fl_timer_stop(conn->client->io, &conn->idle);
	fl_call_off(call);
	call->conn = conn;
	fl_chain_add(&conn->calls, call);
	return 0;
}

/* Put the next waiting call on a connection; false: none has room. */
static bool place(struct fl_http_client *client)
{
	struct fl_http_call *call = client->waiting;
	struct fl_err err = { 0 };
	int result;

	for (struct fl_cconn *conn = client->conns; conn; conn = conn->next) {
		if (!has_room(conn))
			continue;
		result = put_on(conn, call, &err);
		if (result == 0)
			return true;
		if (result == -FL_E_AGAIN || result == -FL_E_CLOSED)
			continue;
		fl_call_off(call);
		fl_timer_stop(client->io, &call->timer);
		fl_op_fail(&call->op, err.code, "%.*s %.*s: %s", FL_ARG(call->method), FL_ARG(call->target), err.text);
		return true;
	}
	return false;
}

void fl_client_pump(struct fl_http_client *client)
{
	uint32_t most = client->options.max_conns ? client->options.max_conns : FL_HTTP_CLIENT_CONNS, wanted = 0;

	while (client->waiting && place(client))
		;
	for (struct fl_http_call *call = client->waiting; call && wanted < most; call = call->next)
		wanted++;
	if (!client->knows_h1 && wanted > 1)
		wanted = 1; /* one connection may carry them all */
	while (client->dialing < wanted && client->conn_count < most)
		fl_cconn_dial(client);
}

void fl_client_fail_waiting(struct fl_http_client *client, const struct fl_err *err)
{
	while (client->waiting) {
		struct fl_http_call *call = client->waiting;

		fl_call_off(call);
		fl_timer_stop(client->io, &call->timer);
		fl_op_fail(&call->op, err->code, "%.*s %.*s: %s", FL_ARG(call->method), FL_ARG(call->target),
			   err->text);
	}
}

/* ---- calls ---- */

void fl_http_start(struct fl_http_client *client, struct fl_http_call *call)
{
	forget_answer(call);
	call->client = client;
	call->reply = FL_BUF(call->max_reply ? call->max_reply : FL_HTTP_REPLY_MAX);
	call->stream = (struct fl_h2_stream){ 0 };
	call->timer = (struct fl_timer){ .fire = on_timer };
	call->sent = call->unconsumed = 0;
	call->replays = 0;
	call->pulled = call->sent_all = call->ended = false;
	fl_op_begin(&call->op, client->io, drop);
	if (call->head_timeout)
		fl_timer_set(client->io, &call->timer, fl_now(client->io) + call->head_timeout);
	wait_for_conn(client, call);
	fl_client_pump(client);
}

void fl_http_call_consume(struct fl_http_call *call, size_t len)
{
	struct fl_cconn *conn = call->conn;

	call->unconsumed -= len;
	if (conn && conn->h2)
		fl_h2_consume(&call->stream, len);
	else if (conn)
		fl_cconn_h1_consumed(conn);
}

void fl_http_call_free(struct fl_http_call *call)
{
	forget_answer(call);
}
