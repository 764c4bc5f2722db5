/* server_in.h - the inside of the HTTP server. server.c: connections and their limits; server_req.c: requests and their
 * answers, the same for both protocols; server_origin.c: the connections of each peer address; server_room.c: which
 * connection makes room at the limit; server_h1.c and server_h2.c: the two protocols. */
#pragma once
#include "base/hmap.h"
#include "http/conn.h"
#include "http/h1.h"
#include "http/h2_conn.h"
#include "http/listener.h"
#include "http/server.h"

struct fl_http_place {
	struct fl_listener listener;
	struct fl_http_server *server;
	enum fl_addr_kind kind;    /* a unix socket's peers have no address of their own */
	bool tls;
};

struct fl_http_server {
	struct fl_io *io;
	struct fl_http_server_options options;
	struct fl_http_place places[FL_HTTP_LISTENERS_MAX];
	uint32_t place_count;
	struct fl_tls_context *tls;
	struct fl_sconn *conns;
	uint32_t conn_count, extra_count;
	struct fl_hmap origins;    /* those that have connections, owned */
	uint32_t shaking, parked;  /* those that are paced, and those that wait for one of them */
	uint64_t evicted;
	size_t collected;          /* bytes of collected bodies, of all requests */
	bool held, draining;
	uint64_t deadline;
	struct fl_timer drain;
	void (*drained)(void *arg);
	void *drained_arg;
};

/* One peer address, while it has connections. */
struct fl_http_origin {
	struct fl_origin origin;
	struct fl_sconn *conns;
	uint32_t conn_count, extra_count;
	uint32_t shaking, parked;  /* as the server's */
	uint32_t begun;            /* handshakes that are not over, those that have been slow too */
};

enum fl_sconn_wait { FL_WAIT_NOTHING, FL_WAIT_HEAD, FL_WAIT_REQUEST };

/* One connection, the server's side of it. */
struct fl_sconn {
	struct fl_conn conn;
	struct fl_http_server *server;
	struct fl_sconn *next, **from;
	struct fl_http_req *reqs;          /* open ones; HTTP/1.1: at most one */
	struct fl_h2 *h2;                  /* NULL: HTTP/1.1 */
	enum fl_addr_kind kind;            /* the peer's address, without a struct fl_addr's path */
	uint16_t port;
	uint8_t ip[16];
	uint32_t scope;
	struct fl_http_origin *origin;     /* whose share of places it uses; NULL: unknown */
	struct fl_sconn *next_same, **from_same;   /* of that origin */
	struct fl_timer timer;
	enum fl_sconn_wait waits;          /* what the timer limits */
	uint64_t since;                    /* begun, or idle, monotonic ns */
	bool shaking, served;
	int parked;                        /* the socket, until its handshake may begin; -1: not parked */
	bool begun;                        /* its handshake has, and is not over ... */
	bool paced;                        /* ... and counts against max_handshakes */
	bool extra;                        /* beyond the limit: for one probe, then closed */
	/* HTTP/1.1 */
	bool last;                         /* no request after this one */
	struct fl_h1 h1;
	struct fl_buf out;                 /* heads and framing */
	size_t out_at;
};

struct fl_http_req {
	struct fl_h2_stream stream;        /* HTTP/2 */
	struct fl_sconn *conn;
	struct fl_http_req *next, **from;
	struct fl_http_head *head;
	const struct fl_http_route *route;
	const struct fl_http_req_user *user;
	void *arg;
	uint64_t began, received, sent;
	struct fl_timer pace;              /* checks the pace of a collected body or an answer */
	uint64_t paced;                    /* bytes received or taken at the last check */
	uint64_t owed;                     /* since when the peer has bytes to take; FL_NEVER: it has none */
	struct fl_buf body;
	size_t unconsumed;                 /* HTTP/1.1 */
	struct fl_chunk_queue queue;
	struct fl_http_head *trailers;
	int64_t length;                    /* -1: not announced */
	int status;
	bool handling;                     /* handle() is on the stack */
	bool collecting, got_end;          /* of the request */
	bool answering, ended, no_body;    /* of the answer */
	bool plain;                        /* HTTP/1.0: the end of the connection ends the body */
	bool doomed;                       /* to be cut in the next turn */
};

/* server.c */
void fl_sconn_drop(struct fl_sconn *conn);                 /* closes it, frees it and its requests */
void fl_sconn_shake(struct fl_sconn *conn, int fd);        /* begins the handshake; may drop it */
void fl_sconn_wait(struct fl_sconn *conn);                 /* sets the timer for its present wait */
uint64_t fl_http_or(uint64_t given, uint64_t otherwise);

/* server_origin.c */
int fl_http_origins_init(struct fl_http_server *server, struct fl_err *err) FL_MUSTUSE;
struct fl_http_origin *fl_http_origin_find(const struct fl_http_server *server,
					   const struct fl_origin *origin);   /* NULL: has none */
int fl_http_origin_join(struct fl_sconn *conn, const struct fl_origin *peer) FL_MUSTUSE;   /* or -FL_E_NOMEM */
void fl_http_origin_leave(struct fl_sconn *conn);          /* before its place is released */

/* server_room.c */
enum fl_room { FL_ROOM, FL_ROOM_PROBE, FL_ROOM_NONE };
enum fl_room fl_http_room(struct fl_http_server *server, const struct fl_origin *peer);   /* may close another one */
bool fl_sconn_extra(struct fl_sconn *conn);                /* false also where an ordinary place has become free */
void fl_sconn_pace(struct fl_sconn *conn);                 /* its handshake counts from now on */
bool fl_sconn_park(struct fl_sconn *conn, int fd);         /* too many handshakes are under way: keeps the fd */
void fl_sconn_unpark(struct fl_sconn *conn);               /* forgets the fd; may be called again */
void fl_sconn_paced(struct fl_sconn *conn);                /* its handshake counts no more; may be called again */
void fl_sconn_shaken(struct fl_sconn *conn);               /* its handshake is over; may be called again */
void fl_http_hold_or_go_on(struct fl_http_server *server);
void fl_http_room_changed(struct fl_http_server *server);

/* server_req.c */
struct fl_http_req *fl_http_req_new(struct fl_sconn *conn, const struct fl_http_head *head);   /* NULL: no memory */
void fl_http_req_free(struct fl_http_req *req);            /* calls only `ended` */
void fl_http_req_gone(struct fl_http_req *req);            /* calls the handler's gone(), and frees */
void fl_http_req_start(struct fl_http_req *req, bool end); /* the head is complete: find the route and go on */
void fl_http_req_came(struct fl_http_req *req, struct fl_str bytes);
void fl_http_req_came_end(struct fl_http_req *req);
void fl_http_req_pulled(struct fl_http_req *req, size_t len);   /* so much of the queue was sent */

/* server_h1.c */
extern const struct fl_conn_user fl_sconn_h1;
void fl_sconn_h1_start(struct fl_sconn *conn);
int fl_sconn_h1_begin(struct fl_http_req *req, struct fl_headers headers, struct fl_err *err) FL_MUSTUSE;
void fl_sconn_h1_consumed(struct fl_sconn *conn);
void fl_sconn_h1_late(struct fl_sconn *conn);

/* server_h2.c */
int fl_sconn_h2_start(struct fl_sconn *conn, struct fl_err *err) FL_MUSTUSE;
int fl_sconn_h2_begin(struct fl_http_req *req, struct fl_headers headers, struct fl_err *err) FL_MUSTUSE;
