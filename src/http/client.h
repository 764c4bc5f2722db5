/* client.h - make HTTP requests of one server, over HTTP/2 where it speaks it, else HTTP/1.1.
 *
 * A client keeps the connections: one for HTTP/2 up to the streams that the server allows, further ones up to a small
 * number, then calls wait their turn. A call is an operation: cancelled at once, late by its deadline. A stream that
 * the server has surely not touched (REFUSED_STREAM, beyond the last of a GOAWAY) is sent again by itself; one that was
 * lost with its connection before any answer only if it can do no harm twice; both FL_HTTP_REPLAYS times at most.
 * Everything else is told.
 */
#pragma once
#include "http/h1.h"
#include "http/h2.h"
#include "http/tls.h"
#include "io/io.h"

struct fl_http_client;

struct fl_http_client_options {
	struct fl_str url;             /* "https://host:6443/base", "http://[::1]:8080", "unix:/path" */
	struct fl_tls_context *tls;    /* https; a reference is taken */
	struct fl_str server_name;     /* the name on the server's certificate, if it is not the url's host */
	struct fl_str user_agent;
	struct fl_str token;           /* bearer token; see fl_http_client_token */
	bool plain_h2;                 /* http and unix: HTTP/2 without asking (the server is known to speak it) */
	uint32_t max_conns;            /* 0: FL_HTTP_CLIENT_CONNS */
	uint32_t stream_window;        /* HTTP/2: bytes that a paused call may hold; 0: FL_H2_STREAM_WINDOW */
	uint64_t connect_timeout;      /* ns for each address; 0: FL_HTTP_CONNECT_TIMEOUT */
	uint64_t ping_every, ping_within;   /* HTTP/2: ask after a silent server; 0: never */
};

/* Copies what it needs. FL_E_INVALID: what is wrong with the url; https without tls. Connects with the first call. */
struct fl_http_client *fl_http_client_new(struct fl_io *io, const struct fl_http_client_options *options,
					  struct fl_err *err) FL_MUSTUSE;
struct fl_http_client *fl_http_client_free(struct fl_http_client *client);   /* its calls have ended; NULL-safe */
FL_DEFINE_AUTO(fl_http_client, struct fl_http_client *, fl_http_client_free);

/* From the next call on: other certificates or CA (open calls end on their old connections), another token. */
void fl_http_client_use(struct fl_http_client *client, struct fl_tls_context *tls);
int fl_http_client_token(struct fl_http_client *client, struct fl_str token) FL_MUSTUSE;   /* "": none; -FL_E_NOMEM */

/* Read each connection this seldom at most (ns; see fl_conn_batch): while many answers are on their way. 0: at once. */
void fl_http_client_batch(struct fl_http_client *client, uint64_t every);

uint32_t fl_http_client_conns(const struct fl_http_client *client);
uint32_t fl_http_client_opened(const struct fl_http_client *client);   /* connections, since it was made */

struct fl_http_call {
	/* The caller's. Texts and body are borrowed until done() or cancel. op.deadline is for all of it; op.result is
	 * the status, whatever it is, or a negated enum fl_code: FL_E_CLOSED lost with the connection or reset,
	 * FL_E_TIMEOUT, FL_E_DENIED certificates, FL_E_RETRY nobody answers there, FL_E_TOOBIG. */
	struct fl_op op;
	struct fl_str method, target;
	struct fl_headers headers;     /* content-length, host, user-agent and authorization are added */
	struct fl_str body;
	uint64_t head_timeout;         /* ns from the start to the answer's head; 0: none */
	uint64_t idle_timeout;         /* ns without a byte of the answer's body; 0: none */
	size_t max_reply;              /* collected; 0: FL_HTTP_REPLY_MAX */
	bool idempotent;               /* harmless twice; GET, HEAD and OPTIONS are so anyway */

	/* A streamed answer: its head is there (may be NULL); some of its body, to be given back by
	 * fl_http_call_consume. Both may cancel the operation. Without got() the body is collected in `reply`. */
	void (*head)(struct fl_http_call *call);
	void (*got)(struct fl_http_call *call, struct fl_str bytes);

	/* A streamed request: up to `len` bytes into `room`, how many; 0 and no end: none now, fl_http_call_wake says.
	 * Negative: give up. Such a call is never sent again. */
	int64_t (*pull)(struct fl_http_call *call, void *room, size_t len, bool *ret_end);
	int64_t pull_length;           /* announced; -1: not known */

	/* The answer, in head(), got() and done(). The caller's to free, by fl_http_call_free, after done() or
	 * cancel. */
	int status;
	struct fl_http_head *answer, *trailers;   /* NULL: none */
	struct fl_buf reply;

	/* The client's. */
	struct fl_http_client *client;
	struct fl_cconn *conn;         /* NULL: waits for one */
	struct fl_h2_stream stream;
	struct fl_http_call *next, **from;
	struct fl_timer timer;
	uint64_t last;                 /* when something of the answer came */
	size_t sent, unconsumed;
	uint8_t replays;
	bool pulled, sent_all, ended;
};

/* Never calls back from inside. */
void fl_http_start(struct fl_http_client *client, struct fl_http_call *call);
void fl_http_call_consume(struct fl_http_call *call, size_t len);
void fl_http_call_wake(struct fl_http_call *call);
void fl_http_call_free(struct fl_http_call *call);   /* what the answer holds; of an ended or cancelled call */
static inline void fl_http_call_auto_(struct fl_http_call *call)
{
	fl_op_cancel(&call->op);
	fl_http_call_free(call);
}
