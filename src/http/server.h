/* server.h - answer HTTP requests: HTTP/1.1 and HTTP/2 on one port, with TLS, plain, or on a unix socket.
 *
 * Routes are a table. A handler gets a request with its body, collected up to a limit or streamed. It answers exactly
 * once: at once, later, or in pieces. Before it returns without an answer it sets a gone() callback with
 * fl_http_req_on, for a client that disconnects first. Do not touch the request after gone(), the answer, or the end of
 * an answer in pieces.
 *
 * At max_conns a connection of the address that has most of them is closed for the next one (HTTP/2: GOAWAY), the one
 * that has been idle for longest; then one that has waited for its peer for FL_HTTP_ROOM_AFTER: for a handshake, a
 * head, a body, or for it to take its answer; of these the one whose peer has given no sign for longest. One peer
 * address (IPv6: one /64) gets at most half of the places. Probe routes are answered beyond the limit; each address
 * has a share of those places. The address that has most of them makes room for others, and of several the one that
 * has most connections in all.
 * max_handshakes paces handshakes: one that has taken FL_HTTP_ROOM_AFTER stops counting. One peer address has at most
 * a quarter of them under way. All others are accepted and wait, each for FL_HTTP_HANDSHAKE_PATIENCE; the address with
 * the fewest handshakes that are not over is the next one.
 *
 * Limits and deadlines for clients are the FL_HTTP_* below; the options change some of them.
 */
#pragma once
#include "http/chunk.h"
#include "http/head.h"
#include "http/tls.h"
#include "io/io.h"

#define FL_HTTP_BODY_MAX (8 * FL_MIB)       /* a collected request: an AdmissionReview holds two objects of 3 MiB */
#define FL_HTTP_SAY_MAX (64 * FL_KIB)       /* a text answer: a reason for each of some hundred devices */
#define FL_HTTP_LISTENERS_MAX 4             /* IPv4 or both, a unix socket, plain for probes, one to spare */
#define FL_HTTP_CONNS_MAX 10000             /* open connections of one server: 15 KiB each with TLS is 150 MiB */
#define FL_HTTP_PROBE_CONNS 8               /* beyond FL_HTTP_CONNS_MAX: a kubelet has three probes, each its own */
#define FL_HTTP_PROBE_SHARE 3               /* of those, for one address: two addresses leave 2 for a third */
/* A handshake, a head, a body or the taking of an answer that takes longer may have to make room. */
#define FL_HTTP_ROOM_AFTER (2 * FL_NS_PER_S)
#define FL_HTTP_HANDSHAKES_MAX 64           /* at once: 0.5 ms each, so the last one of them waits 32 ms */
#define FL_HTTP_HEAD_TIMEOUT (10 * FL_NS_PER_S)     /* for a whole head, from its first byte or the accept */
#define FL_HTTP_IDLE_TIMEOUT (150 * FL_NS_PER_S)    /* a connection without a request; Go clients drop theirs at 90 s */
#define FL_HTTP_BODY_TIMEOUT (15 * FL_NS_PER_S)     /* without a byte of the body */

struct fl_http_server;
struct fl_http_req;

struct fl_http_route {
	const char *method;        /* NULL: any. HEAD is routed as GET; the server omits its body */
	const char *path;          /* "/healthz"; a '*' at the end matches any rest. First match wins */
	void (*handle)(struct fl_http_req *req);
	size_t max_body;           /* collected; 0: FL_HTTP_BODY_MAX. Longer ones are answered with 413 */
	bool streams;              /* not collected: handle() is called after the head */
	bool probe;                /* may use the FL_HTTP_PROBE_CONNS places beyond max_conns */
};

/* One request that has ended, for metrics and an access log. */
struct fl_http_access {
	const struct fl_http_head *head;
	const struct fl_http_route *route;   /* NULL: none matched */
	int status;                          /* 0: no answer was begun */
	bool cut;                            /* the answer was not completed */
	bool h2;
	uint64_t took;                       /* ns from the head to the end */
	uint64_t received, sent;             /* bytes of the bodies */
};

struct fl_http_server_options {
	const struct fl_http_route *routes;  /* borrowed */
	size_t route_count;
	void *service;                       /* the handlers find it with fl_http_req_service */
	void (*ended)(void *service, const struct fl_http_access *access);
	/* 0: FL_HTTP_CONNS_MAX, FL_HTTP_HANDSHAKES_MAX and so on */
	uint32_t max_conns, max_handshakes, max_streams;
	size_t max_queue;
	uint64_t head_timeout, idle_timeout, body_timeout;
};

struct fl_http_server *fl_http_server_new(struct fl_io *io, const struct fl_http_server_options *options,
					  struct fl_err *err) FL_MUSTUSE;

/* Ends open requests at once, with gone(). Not from inside a handler. NULL-safe, returns NULL. */
struct fl_http_server *fl_http_server_free(struct fl_http_server *server);
FL_DEFINE_AUTO(fl_http_server, struct fl_http_server *, fl_http_server_free);

/* Listen on one more address, up to FL_HTTP_LISTENERS_MAX: with TLS, or plain (`tls` NULL). `mode` is a unix socket's;
 * the caller removes its path. *ret_addr (may be NULL) is the actual address, with the port chosen for port 0. */
int fl_http_server_listen(struct fl_http_server *server, const struct fl_addr *addr, unsigned mode,
			  struct fl_tls_context *tls, struct fl_addr *ret_addr, struct fl_err *err) FL_MUSTUSE;

/* New connections use this certificate; open ones are unaffected. */
void fl_http_server_use(struct fl_http_server *server, struct fl_tls_context *tls);

/* Accept no more, finish what is open (GOAWAY, "connection: close"), cut the rest at `deadline`; then done(), in a
 * later turn. */
void fl_http_server_drain(struct fl_http_server *server, uint64_t deadline, void (*done)(void *arg), void *arg);

uint32_t fl_http_server_conns(const struct fl_http_server *server);

/* Connections that were closed to make room for others, since the start. */
uint64_t fl_http_server_evicted(const struct fl_http_server *server);

/* ---- for handlers: the request; all of it lives until the request's end ---- */

void *fl_http_req_service(const struct fl_http_req *req);
const struct fl_http_route *fl_http_req_route(const struct fl_http_req *req);   /* of the server's table */
const struct fl_http_head *fl_http_req_head(const struct fl_http_req *req);
struct fl_str fl_http_req_path(const struct fl_http_req *req);    /* as sent, not decoded */
struct fl_str fl_http_req_query(const struct fl_http_req *req);
struct fl_str fl_http_req_body(const struct fl_http_req *req);    /* collected */

struct fl_http_peer {
	struct fl_addr addr;
	struct fl_cred cred;                   /* of a unix socket's other end, else zeroed */
	const struct fl_tls_subject *subject;  /* of a verified client certificate; NULL: none */
};
struct fl_http_peer fl_http_req_peer(const struct fl_http_req *req);

/* Callbacks for a request that is not answered at once. The table and arg must outlive the request. */
struct fl_http_req_user {
	void (*gone)(void *arg);                       /* the client disconnected; the request is freed */
	/* A route that streams: bytes of the body, to be acknowledged by fl_http_req_consume; and its end. */
	void (*body)(void *arg, struct fl_str bytes);
	void (*body_end)(void *arg);
	void (*drained)(void *arg);                    /* the queue has been sent; may be NULL */
};
void fl_http_req_on(struct fl_http_req *req, const struct fl_http_req_user *user, void *arg);
void fl_http_req_consume(struct fl_http_req *req, size_t len);

/* ---- for handlers: the answer ---- */

/* A whole answer; copies the body. The server adds content-length: leave it out of the headers. */
void fl_http_req_answer(struct fl_http_req *req, int status, struct fl_headers headers, struct fl_str body);

/* A text answer: "text/plain", with a line end added; at most FL_HTTP_SAY_MAX bytes. */
void fl_http_req_say(struct fl_http_req *req, int status, const char *fmt, ...) FL_PRINTF(3, 4);

/* An answer in pieces: begin, send any number of times, end. length -1: unknown. Bytes that the client does not take
 * are queued. A client with more than max_queue bytes queued is cut off; then gone() is called, never from inside
 * send. */
void fl_http_req_begin(struct fl_http_req *req, int status, struct fl_headers headers, int64_t length);
void fl_http_req_send(struct fl_http_req *req, struct fl_str bytes);
void fl_http_req_send_chunk(struct fl_http_req *req, struct fl_chunk *chunk);   /* takes a reference of its own */
void fl_http_req_end(struct fl_http_req *req, struct fl_headers trailers);
size_t fl_http_req_queued(const struct fl_http_req *req);

/* Abort: the client sees a reset or a closed connection. gone() is not called. */
void fl_http_req_cut(struct fl_http_req *req);
