/* client.h - send HTTP requests to one server, over HTTP/2 if the server supports it, else HTTP/1.1.
 *
 * A client keeps connections open: one for HTTP/2 up to the streams that the server allows, more up to `max_conns`;
 * then calls wait. A call is an operation: cancelled at once, late by its deadline. The client repeats a stream that
 * the server certainly has not processed (REFUSED_STREAM, beyond the last of a GOAWAY). It repeats a call that was lost
 * with its connection before any answer only if the call is idempotent. It repeats each call FL_HTTP_REPLAYS times at
 * most. Every other failure goes to the caller.
 */
#pragma once
#include "http/h1.h"
#include "http/h2.h"
#include "http/tls.h"
#include "io/io.h"

#define FL_HTTP_REPLY_MAX (32 * FL_MIB)     /* a collected response: as large as a JSON document may be */
/* For each address, and for the lookup: a lost SYN is sent again after 1 s. */
#define FL_HTTP_CONNECT_TIMEOUT (5 * FL_NS_PER_S)
#define FL_HTTP_CLIENT_CONNS 4                      /* of one client: 250 streams each with HTTP/2 */
#define FL_HTTP_REPLAYS 3                           /* a server that refuses a stream so often will not take it */

struct fl_http_client;

struct fl_http_client_options {
	struct fl_str url;             /* "https://host:6443/base", "http://[::1]:8080", "unix:/path" */
	struct fl_tls_context *tls;    /* https; a reference is taken */
	struct fl_str server_name;     /* the server certificate's name, if not the url's host */
	struct fl_str user_agent;
	struct fl_str token;           /* bearer token; see fl_http_client_token */
	bool plain_h2;                 /* http and unix: HTTP/2 without negotiation */
	uint32_t max_conns;            /* 0: FL_HTTP_CLIENT_CONNS */
	uint32_t stream_window;        /* HTTP/2: bytes that a paused call may hold; 0: FL_H2_STREAM_WINDOW */
	uint64_t connect_timeout;      /* ns for each address; 0: FL_HTTP_CONNECT_TIMEOUT */
	uint64_t ping_every, ping_within;   /* HTTP/2: PING a silent server; 0: never */
};

/* Copies what it needs. Connects with the first call. FL_E_INVALID: a bad url, or https without tls. */
struct fl_http_client *fl_http_client_new(struct fl_io *io, const struct fl_http_client_options *options,
					  struct fl_err *err) FL_MUSTUSE;
struct fl_http_client *fl_http_client_free(struct fl_http_client *client);   /* end its calls first; NULL-safe */
FL_DEFINE_AUTO(fl_http_client, struct fl_http_client *, fl_http_client_free);

/* From the next call on: use other certificates or CA (open calls end on their old connections), or another token. */
void fl_http_client_use(struct fl_http_client *client, struct fl_tls_context *tls);
int fl_http_client_token(struct fl_http_client *client, struct fl_str token) FL_MUSTUSE;   /* "": none; -FL_E_NOMEM */

/* Read each connection at most this often (ns; see fl_conn_batch), while many answers are in flight. 0: at once. */
void fl_http_client_batch(struct fl_http_client *client, uint64_t every);

uint32_t fl_http_client_conns(const struct fl_http_client *client);
uint32_t fl_http_client_opened(const struct fl_http_client *client);   /* connections, in total */

struct fl_http_call {
	/* The caller's. Texts and body are borrowed until done() or cancel. op.deadline covers the whole call.
	 * op.result is the HTTP status, whatever it is, or a negated enum fl_code: FL_E_CLOSED (connection lost or
	 * stream reset), FL_E_TIMEOUT, FL_E_DENIED (certificates), FL_E_RETRY (no server answers at the address),
	 * FL_E_TOOBIG. */
	struct fl_op op;
	struct fl_str method, target;
	struct fl_headers headers;     /* content-length, host, user-agent and authorization are added */
	struct fl_str body;
	uint64_t head_timeout;         /* ns from the start to the answer's head; 0: none */
	uint64_t idle_timeout;         /* ns without a byte of the answer's body; 0: none */
	size_t max_reply;              /* collected; 0: FL_HTTP_REPLY_MAX */
	bool idempotent;               /* may be sent twice, as GET, HEAD and OPTIONS always may */

	/* A streamed answer. head(), which may be NULL: the head has come. got(): a piece of the body has come; report
	 * its bytes with fl_http_call_consume. Both may cancel the operation. Without got() the body is collected in
	 * `reply`. */
	void (*head)(struct fl_http_call *call);
	void (*got)(struct fl_http_call *call, struct fl_str bytes);

	/* A streamed request: put up to `len` bytes into `room` and return how many, 0 only with *ret_end. Negative:
	 * fail the call. Such a call is never repeated. */
	int64_t (*pull)(struct fl_http_call *call, void *room, size_t len, bool *ret_end);
	int64_t pull_length;           /* content-length; -1: not known */

	/* The answer, in head(), got() and done(). The caller frees it with fl_http_call_free after done() or
	 * cancel. */
	int status;
	struct fl_http_head *answer, *trailers;   /* NULL: none */
	struct fl_buf reply;

	/* The client's. */
	struct fl_http_client *client;
	struct fl_cconn *conn;         /* NULL: it waits for one */
	struct fl_h2_stream stream;
	struct fl_http_call *next, **from;
	struct fl_timer timer;
	uint64_t last;                 /* when bytes of the answer last came */
	size_t sent, unconsumed;
	uint8_t replays;
	bool pulled, sent_all, ended;
};

/* Never calls back from inside. */
void fl_http_start(struct fl_http_client *client, struct fl_http_call *call);
void fl_http_call_consume(struct fl_http_call *call, size_t len);
void fl_http_call_free(struct fl_http_call *call);   /* the answer of an ended or cancelled call */
static inline void fl_http_call_auto_(struct fl_http_call *call)
{
	fl_op_cancel(&call->op);
	fl_http_call_free(call);
}
