/* h2.h - an HTTP/2 session: streams on top, bytes below. No I/O; h2_conn.h puts it on a socket.
 *
 * One side's session. The owner passes it received bytes (fl_h2_recv) and takes bytes to send (fl_h2_send). A stream is
 * a struct fl_h2_stream embedded in its owner's object. One table of callbacks reports all events.
 *
 * Back-pressure. Received data goes to data() at once. A stream's window opens again only by fl_h2_consume, so each
 * stream has at most one window of unconsumed bytes. The connection's window opens at once, so that one slow consumer
 * never stalls the rest. pull() is called when the peer and the socket have room.
 *
 * A stream's life. Server: request() gets the whole head; call fl_h2_accept() in it to take the stream, else it is
 * refused. Client: fl_h2_request(). Then head(), data() and end() as they come, and closed() exactly once, last. After
 * fl_h2_reset() no further callback comes. closed() may free the object. Any callback may call any function; after
 * fl_h2_free from within fl_h2_recv or fl_h2_send these return -FL_E_CLOSED.
 *
 * nghttp2 checks header fields; where no_http_messaging turns that off, this module does.
 */
#pragma once
#include "http/head.h"

#define FL_H2_STREAMS 250                           /* open at once on a connection, as in Go's server */
#define FL_H2_STREAM_WINDOW (256 * FL_KIB)          /* fills 2 Gbit/s at 1 ms; a paused stream keeps this much */
#define FL_H2_CONN_WINDOW (16 * FL_MIB)             /* so large that it never limits a stream */
#define FL_H2_QUEUE_MAX 1000                        /* frames queued for a peer that does not read; then it is cut */
#define FL_H2_RESETS_BURST 200                      /* rapid reset: streams that a peer may reset at once ... */
#define FL_H2_RESETS_RATE 50                        /* ... and a second after that */
#define FL_H2_CONTINUATIONS 4                       /* frames of 16 KiB after the first: twice FL_HTTP_HEAD_MAX */
/* Frames that bring nothing, such as PING, PRIORITY, WINDOW_UPDATE or one of an unknown type: a client may send this
 * many at once, this many a second after that, and some for each request and for what it is sent. */
#define FL_H2_IDLE_BURST 200
#define FL_H2_IDLE_RATE 50

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
	uint32_t unconsumed;       /* bytes passed to data() and not consumed yet */
	bool got_head, got_end;    /* from the peer: final head, end */
	bool sent_head, sent_end;  /* from us */
	bool pulls;                /* we send a body */
	bool reached;              /* the peer has sent a frame for it, so it may have processed it */
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

	/* Put up to `len` bytes of our body into `room`; returns how many. Set *ret_end with the last ones: FL_H2_END,
	 * or FL_H2_END_TRAILERS after a call of fl_h2_trailers. 0 bytes and FL_H2_MORE: none now; call fl_h2_wake
	 * later. A negative number resets the stream with INTERNAL_ERROR. */
	int64_t (*pull)(struct fl_h2_stream *stream, void *room, size_t len, enum fl_h2_end *ret_end);

	/* The stream is gone. NO_ERROR with got_end and sent_end is success. `why`, for people: why the connection was
	 * lost or the head is malformed; "" for a peer's reset. */
	void (*closed)(struct fl_h2_stream *stream, enum fl_h2_code code, const char *why);

	/* ---- optional, about the connection ---- */

	/* The peer takes no new streams. Those beyond `last` were not processed and are closed with REFUSED_STREAM. */
	void (*goaway)(struct fl_h2 *h2, int32_t last, enum fl_h2_code code);
	void (*settings)(struct fl_h2 *h2);   /* the peer's settings came: fl_h2_room may have changed */
	void (*pong)(struct fl_h2 *h2);       /* the answer to fl_h2_ping */
	void (*wake)(struct fl_h2 *h2);       /* there are bytes to send (not called within fl_h2_recv, fl_h2_send) */
	void (*lost)(struct fl_h2 *h2, const struct fl_err *err);   /* h2_conn.h only: see there */
};

struct fl_h2_config {
	const struct fl_h2_user *user;
	void *arg;                     /* the owner's, for fl_h2_arg */
	bool server;
	bool no_http_messaging;        /* unix-socket servers: clients that send a path as :authority (old kubelets) */
	uint32_t max_streams;          /* streams of the peer; 0: FL_H2_STREAMS */
	uint32_t stream_window;        /* bytes; 0: FL_H2_STREAM_WINDOW */
	uint32_t conn_window;          /* 0: FL_H2_CONN_WINDOW */
	uint32_t max_head;             /* of a header list; 0: FL_HTTP_HEAD_MAX */
};

/* Its SETTINGS (and the client's preface) can be sent at once. NULL: no memory. */
struct fl_h2 *fl_h2_new(const struct fl_h2_config *config, struct fl_err *err) FL_MUSTUSE;

/* Calls no callback: open streams just end, with `h2` NULL. NULL-safe, returns NULL; allowed from any callback. */
struct fl_h2 *fl_h2_free(struct fl_h2 *h2);
FL_DEFINE_AUTO(fl_h2, struct fl_h2 *, fl_h2_free);
void *fl_h2_arg(const struct fl_h2 *h2);

/* ---- bytes ---- */

/* Takes all bytes. A failure ends the connection: send what fl_h2_send still returns (a GOAWAY with the reason), then
 * close. FL_E_INVALID: a bad preface, an invalid header block, a flood; FL_E_NOMEM. */
int fl_h2_recv(struct fl_h2 *h2, const void *bytes, size_t len, struct fl_err *err) FL_MUSTUSE;

/* Puts bytes to send into `room`; returns how many. 0: none now. */
int64_t fl_h2_send(struct fl_h2 *h2, void *room, size_t len, struct fl_err *err) FL_MUSTUSE;

/* Has the session ended on both sides? Then close. */
bool fl_h2_over(const struct fl_h2 *h2);

/* ---- streams ---- */

void fl_h2_accept(struct fl_h2 *h2, struct fl_h2_stream *stream);   /* within request() only */

/* Sends head->method, scheme, authority and target as they are. `body`: pull() supplies one. -FL_E_AGAIN: no room now,
 * see fl_h2_room; -FL_E_CLOSED: the connection takes no more streams. After a failure `stream` is not open. */
int fl_h2_request(struct fl_h2 *h2, struct fl_h2_stream *stream, const struct fl_http_head *head, bool body,
		  struct fl_err *err) FL_MUSTUSE;

/* The final answer; without a body it also ends our side. If our side ends before the request does, the stream is then
 * reset with NO_ERROR. */
int fl_h2_respond(struct fl_h2_stream *stream, const struct fl_http_head *head, bool body,
		  struct fl_err *err) FL_MUSTUSE;

/* Within pull(), before it returns FL_H2_END_TRAILERS. */
int fl_h2_trailers(struct fl_h2_stream *stream, struct fl_headers trailers, struct fl_err *err) FL_MUSTUSE;

void fl_h2_wake(struct fl_h2_stream *stream);                   /* pull() has something now */
void fl_h2_consume(struct fl_h2_stream *stream, size_t len);    /* of data()'s bytes */

/* End the stream at once: no callback follows, and the object may be freed. Does nothing to one that is not open. */
void fl_h2_reset(struct fl_h2_stream *stream, enum fl_h2_code code);

/* ---- the connection ---- */

uint32_t fl_h2_open_streams(const struct fl_h2 *h2);
uint32_t fl_h2_room(const struct fl_h2 *h2);      /* streams that the peer would still take; 0 when going away */
bool fl_h2_going(const struct fl_h2 *h2);         /* a GOAWAY was sent or has come */
int fl_h2_ping(struct fl_h2 *h2) FL_MUSTUSE;      /* -FL_E_NOMEM */

/* Server: take no more streams, finish the open ones. Call it, wait for pong() or a second, and call it again: the
 * first GOAWAY still allows streams in flight, the second names the last one. */
void fl_h2_shutdown(struct fl_h2 *h2);

/* Send the final GOAWAY at once, on a connection without open streams. */
void fl_h2_leave(struct fl_h2 *h2);
