/* h2.h - an HTTP/2 connection: streams on top, bytes below. No i/o; h2_conn.h puts it on a socket.
 *
 * One side's session. The owner gives it what came (fl_h2_recv) and takes what is to be sent (fl_h2_send); a stream is
 * a struct fl_h2_stream embedded in its owner's object. What happens is told through one table of callbacks.
 *
 * Back-pressure. What comes is handed over at once, and the stream's window opens again only by fl_h2_consume, so at
 * most a stream window waits unconsumed on each stream; the connection's window is opened at once, so that one slow
 * consumer never stalls the rest. What goes is pulled when the peer and the socket have room for it.
 *
 * A stream's life. Server: request() is called with the whole head; fl_h2_accept() within it takes the stream, else it
 * is refused. Client: fl_h2_request(). Then head(), data(), end() as they come, and closed() exactly once, last, unless
 * the owner has ended it with fl_h2_reset(), after which nothing is told. Inside closed() the object may be freed. Any
 * function may be called from any callback; after fl_h2_free from within fl_h2_recv or fl_h2_send these return
 * -FL_E_CLOSED.
 *
 * Header fields are checked by nghttp2, and by ourselves where no_http_messaging turns that off.
 */
#pragma once
#include "http/head.h"

struct fl_h2;

enum fl_h2_code {
	FL_H2_NO_ERROR, FL_H2_PROTOCOL_ERROR, FL_H2_INTERNAL_ERROR, FL_H2_FLOW_CONTROL_ERROR, FL_H2_SETTINGS_TIMEOUT,
	FL_H2_STREAM_CLOSED, FL_H2_FRAME_SIZE_ERROR, FL_H2_REFUSED_STREAM, FL_H2_CANCEL, FL_H2_COMPRESSION_ERROR,
	FL_H2_CONNECT_ERROR, FL_H2_ENHANCE_YOUR_CALM, FL_H2_INADEQUATE_SECURITY, FL_H2_HTTP_1_1_REQUIRED,
	FL_H2_CODE_COUNT_
};
extern const struct fl_names fl_h2_code_names;

enum fl_h2_block { FL_H2_INFORMATIONAL, FL_H2_RESPONSE, FL_H2_TRAILERS };

enum fl_h2_end { FL_H2_MORE, FL_H2_END, FL_H2_END_TRAILERS };

struct fl_h2_stream {
	struct fl_h2 *h2;          /* NULL: not open */
	int32_t id;
	uint32_t unconsumed;       /* bytes handed over and not consumed yet */
	bool got_head, got_end;    /* of what the peer sends: final head, end */
	bool sent_head, sent_end;  /* of what we send */
	bool pulls;                /* there is a body of ours */
	bool reached;              /* the peer has sent something for it, so it may have acted */
	struct fl_h2_stream *next, **from;
};

struct fl_h2_user {
	/* Server. The head lives until this returns. `end`: no body follows (end() is not called then). */
	void (*request)(struct fl_h2 *h2, const struct fl_http_head *head, bool end);

	/* A header block after the request: the client's responses, either side's trailers. Lives until this returns;
	 * end() follows when it is the last. */
	void (*head)(struct fl_h2_stream *stream, enum fl_h2_block block, const struct fl_http_head *head);
	void (*data)(struct fl_h2_stream *stream, struct fl_str bytes);
	void (*end)(struct fl_h2_stream *stream);

	/* Put up to `len` bytes of our body into `room`; returns how many. *ret_end says that they are the last ones:
	 * FL_H2_END, or FL_H2_END_TRAILERS after a call of fl_h2_trailers. 0 bytes and FL_H2_MORE: none now, fl_h2_wake
	 * will say. A negative number resets the stream with INTERNAL_ERROR. */
	int64_t (*pull)(struct fl_h2_stream *stream, void *room, size_t len, enum fl_h2_end *ret_end);

	/* The stream is no more. NO_ERROR with got_end and sent_end is the good end. `why`: what a
	 * connection was lost for, or is wrong with a head, for people; "" where `code` says all: a peer's reset. */
	void (*closed)(struct fl_h2_stream *stream, enum fl_h2_code code, const char *why);

	/* ---- optional, about the connection ---- */

	/* The peer takes no new streams; those beyond `last` are closed with REFUSED_STREAM and were not processed. */
	void (*goaway)(struct fl_h2 *h2, int32_t last, enum fl_h2_code code);
	void (*settings)(struct fl_h2 *h2);   /* the peer's settings have come: fl_h2_room may be another */
	void (*pong)(struct fl_h2 *h2);       /* the answer to fl_h2_ping */
	void (*wake)(struct fl_h2 *h2);       /* there is something to send (not told within fl_h2_recv, fl_h2_send) */
	void (*lost)(struct fl_h2 *h2, const struct fl_err *err);   /* h2_conn.h only: see there */
};

struct fl_h2_config {
	const struct fl_h2_user *user;
	void *arg;                     /* the owner's, for fl_h2_arg */
	bool server;
	bool no_http_messaging;        /* unix-socket servers: clients that send a path as :authority (old kubelets) */
	uint32_t max_streams;          /* that the peer may open; 0: FL_H2_STREAMS */
	uint32_t stream_window;        /* bytes; 0: FL_H2_STREAM_WINDOW */
	uint32_t conn_window;          /* 0: FL_H2_CONN_WINDOW */
	uint32_t max_head;             /* of a header list; 0: FL_HTTP_HEAD_MAX */
};

/* Its SETTINGS (and the client's preface) are ready to be sent at once. NULL: no memory. */
struct fl_h2 *fl_h2_new(const struct fl_h2_config *config, struct fl_err *err) FL_MUSTUSE;

/* Tells nothing: streams that are open just end, their `h2` is NULL afterwards. NULL-safe, returns NULL; allowed from
 * any callback. */
struct fl_h2 *fl_h2_free(struct fl_h2 *h2);
FL_DEFINE_AUTO(fl_h2, struct fl_h2 *, fl_h2_free);
void *fl_h2_arg(const struct fl_h2 *h2);

/* ---- bytes ---- */

/* All of it is taken. A failure is the end of the connection: send what fl_h2_send still gives (a GOAWAY that says
 * why), then close. A bad preface, an invalid header block, floods: FL_E_INVALID; FL_E_NOMEM. */
int fl_h2_recv(struct fl_h2 *h2, const void *bytes, size_t len, struct fl_err *err) FL_MUSTUSE;

/* How many bytes to be sent were put into `room`; 0: none now. */
int64_t fl_h2_send(struct fl_h2 *h2, void *room, size_t len, struct fl_err *err) FL_MUSTUSE;

/* Neither side has anything more to say: close. */
bool fl_h2_over(const struct fl_h2 *h2);

/* ---- streams ---- */

void fl_h2_accept(struct fl_h2 *h2, struct fl_h2_stream *stream);   /* within request() only */

/* head->method, scheme, authority and target are sent as they are. `body`: pull() will be asked for one. -FL_E_AGAIN:
 * no room now, see fl_h2_room; -FL_E_CLOSED: the connection takes no more streams. Then `stream` is not open. */
int fl_h2_request(struct fl_h2 *h2, struct fl_h2_stream *stream, const struct fl_http_head *head, bool body,
		  struct fl_err *err) FL_MUSTUSE;

/* The final answer; without a body it also ends our side. If the request has not ended by the end of ours, the stream
 * is reset with NO_ERROR then. */
int fl_h2_respond(struct fl_h2_stream *stream, const struct fl_http_head *head, bool body,
		  struct fl_err *err) FL_MUSTUSE;

/* Within pull(), before it returns FL_H2_END_TRAILERS. */
int fl_h2_trailers(struct fl_h2_stream *stream, struct fl_headers trailers, struct fl_err *err) FL_MUSTUSE;

void fl_h2_wake(struct fl_h2_stream *stream);                   /* pull() has something now */
void fl_h2_consume(struct fl_h2_stream *stream, size_t len);    /* of what data() gave */

/* At once: the stream is no more, nothing is told, the object may be freed. One that is not open is left alone. */
void fl_h2_reset(struct fl_h2_stream *stream, enum fl_h2_code code);

/* ---- the connection ---- */

uint32_t fl_h2_open_streams(const struct fl_h2 *h2);
uint32_t fl_h2_room(const struct fl_h2 *h2);      /* how many more streams the peer would take now; 0 when going away */
bool fl_h2_going(const struct fl_h2 *h2);         /* a GOAWAY was sent or has come */
int fl_h2_ping(struct fl_h2 *h2) FL_MUSTUSE;      /* -FL_E_NOMEM */

/* Server: take no more streams, finish those that are open. Call it, wait for pong() or a second, call it again: the
 * first time says it politely, the second time for good. */
void fl_h2_shutdown(struct fl_h2 *h2);

/* A GOAWAY for good, at once, of a connection on which nothing is open. */
void fl_h2_leave(struct fl_h2 *h2);

/* Say why, and no more: what fl_h2_send gives after this ends in a GOAWAY. */
void fl_h2_abort(struct fl_h2 *h2, enum fl_h2_code code, const char *why);
