/* server.h - answer HTTP requests: HTTP/1.1 and HTTP/2 on one port, with TLS, plain, or on a unix socket.
 *
 * Routes are a table. A handler is called with a request, its body collected up to a limit (or streamed, where the
 * route says so), and answers when it can: at once, later, or with a stream of pieces. A handler that does not answer
 * before it returns says with fl_http_req_on whom to tell when the client goes first; then the request is no more.
 * Otherwise it is answered exactly once, and must not be touched after the answer or its end.
 *
 * At max_conns the connection that has been idle for longest is closed for the next one (HTTP/2: GOAWAY), then one
 * that has waited for its peer for FL_HTTP_ROOM_AFTER: for a handshake, a head, a body, or for it to take its answer;
 * of these the one whose peer has given no sign for longest. One peer address (IPv6: one /64) gets at most half of the
 * places. Probe routes are answered beyond the limit; each address has a share of those places. The address that has
 * most of them makes room for others, and of several the one that has most connections in all.
 * max_handshakes paces handshakes: one that has taken FL_HTTP_ROOM_AFTER stops counting. One peer address has at most a
 * quarter of them under way; its others wait for these, each for FL_HTTP_HANDSHAKE_PATIENCE, and hold up nobody else.
 *
 * Limits and deadlines that end what the client does wrong: FL_HTTP_* of base/limits.h, some by the options.
 */
#pragma once
#include "http/chunk.h"
#include "http/head.h"
#include "http/tls.h"
#include "io/io.h"

struct fl_http_server;
struct fl_http_req;

struct fl_http_route {
	const char *method;        /* NULL: any. HEAD goes where GET goes, and its body is left out below */
	const char *path;          /* "/healthz"; with '*' at the end all that begins so. The first one counts */
	void (*handle)(struct fl_http_req *req);
	size_t max_body;           /* collected; 0: FL_HTTP_BODY_MAX. Longer ones are answered with 413 */
	bool streams;              /* not collected: handle() is called with the head */
	bool probe;                /* has FL_HTTP_PROBE_CONNS places of its own beyond max_conns */
};

/* One request that has ended, for metrics and an access log. */
struct fl_http_access {
	const struct fl_http_head *head;
	const struct fl_http_route *route;   /* NULL: none fitted */
	int status;                          /* 0: no answer was begun */
	bool cut;                            /* the answer did not reach its end */
	bool h2;
	uint64_t took;                       /* ns from the head to the end */
	uint64_t received, sent;             /* bytes of the bodies */
};

struct fl_http_server_options {
	const struct fl_http_route *routes;  /* borrowed */
	size_t route_count;
	void *service;                       /* the handlers find it with fl_http_req_service */
	void (*ended)(void *service, const struct fl_http_access *access);
	/* 0: as in base/limits.h */
	uint32_t max_conns, max_handshakes, max_streams;
	size_t max_queue;
	uint64_t head_timeout, idle_timeout, body_timeout;
};

struct fl_http_server *fl_http_server_new(struct fl_io *io, const struct fl_http_server_options *options,
					  struct fl_err *err) FL_MUSTUSE;

/* At once: open requests are gone. Not from inside a handler. NULL-safe, returns NULL. */
struct fl_http_server *fl_http_server_free(struct fl_http_server *server);
FL_DEFINE_AUTO(fl_http_server, struct fl_http_server *, fl_http_server_free);

/* One more place to listen at, up to FL_HTTP_LISTENERS_MAX: with TLS, or plain (`tls` NULL). `mode` is a unix socket's;
 * its path is left to the caller to remove. *ret_addr (may be NULL) says where, with the port that port 0 became. */
int fl_http_server_listen(struct fl_http_server *server, const struct fl_addr *addr, unsigned mode,
			  struct fl_tls_context *tls, struct fl_addr *ret_addr, struct fl_err *err) FL_MUSTUSE;

/* New connections show this certificate; those that are open live on. */
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

/* What is told about a request that is not answered at once. The table and arg outlive the request. */
struct fl_http_req_user {
	void (*gone)(void *arg);                       /* the client has gone; the request is no more */
	/* A route that streams: bytes of the body, each to be given back by fl_http_req_consume; and its end. */
	void (*body)(void *arg, struct fl_str bytes);
	void (*body_end)(void *arg);
	void (*drained)(void *arg);                    /* what was queued has been sent; may be NULL */
};
void fl_http_req_on(struct fl_http_req *req, const struct fl_http_req_user *user, void *arg);
void fl_http_req_consume(struct fl_http_req *req, size_t len);

/* ---- for handlers: the answer ---- */

/* Whole; the body is copied. content-length is written below and must not be among the headers. */
void fl_http_req_answer(struct fl_http_req *req, int status, struct fl_headers headers, struct fl_str body);

/* In words: "text/plain", a line end added; at most FL_HTTP_SAY_MAX bytes. */
void fl_http_req_say(struct fl_http_req *req, int status, const char *fmt, ...) FL_PRINTF(3, 4);

/* In pieces: begin, send any number of times, end. length -1: nobody knows. What the client does not take is queued;
 * who lets more than max_queue pile up is cut off, and gone() is told, never from inside of send. */
void fl_http_req_begin(struct fl_http_req *req, int status, struct fl_headers headers, int64_t length);
void fl_http_req_send(struct fl_http_req *req, struct fl_str bytes);
void fl_http_req_send_chunk(struct fl_http_req *req, struct fl_chunk *chunk);   /* takes a reference of its own */
void fl_http_req_end(struct fl_http_req *req, struct fl_headers trailers);
size_t fl_http_req_queued(const struct fl_http_req *req);

/* Break off: the client sees a reset or a closed connection. gone() is not told. */
void fl_http_req_cut(struct fl_http_req *req);
