/* conn.h - a byte stream over a socket, plain or TLS, with deadlines.
 *
 * Embedded in its owner's object. take() gets bytes as they come; fill() is called for bytes to send when the socket
 * has room. So neither direction piles up here, and an idle connection holds no buffers. */
#pragma once
#include "http/tls.h"
#include "io/io.h"

#define FL_HTTP_HANDSHAKE_TIMEOUT (10 * FL_NS_PER_S)    /* a client's; a server's is longer for busy machines: */
#define FL_HTTP_HANDSHAKE_PATIENCE (30 * FL_NS_PER_S)   /* where places are short, silent peers are closed sooner */
#define FL_HTTP_WRITE_TIMEOUT (30 * FL_NS_PER_S)    /* without the socket accepting a byte */
#define FL_HTTP_LINGER (2 * FL_NS_PER_S)            /* for the peer to read our last bytes */

struct fl_conn;

struct fl_conn_user {
	/* The TLS handshake is done: fl_conn_h2() and the peer's certificate are known. Not called on plain
	 * connections. */
	void (*open)(struct fl_conn *conn);

	/* Bytes have come; returns how many were taken. Less than all: the connection keeps the rest, reads nothing
	 * more, and passes it again after fl_conn_resume(). */
	size_t (*take)(struct fl_conn *conn, const char *bytes, size_t len);

	/* The peer has ended its side; we may still send. Called after all bytes were taken. */
	void (*eof)(struct fl_conn *conn);

	/* Put up to `len` bytes to send into `room`; returns how many. 0: none now; call fl_conn_wake later. */
	size_t (*fill)(struct fl_conn *conn, void *room, size_t len);

	/* The connection failed, was late, or has ended after fl_conn_finish (FL_E_CLOSED): the socket is closed.
	 * Called once, last, and never from inside a function that the owner has called. It may free the object. */
	void (*closed)(struct fl_conn *conn, const struct fl_err *err);
};

struct fl_conn {
	const struct fl_conn_user *user;   /* the owner's; may be changed at any time (ALPN) */
	void *arg;

	/* May be read. */
	struct fl_io *io;
	int fd;                            /* -1: not started, or closed */
	struct fl_tls *tls;                /* NULL: plain */
	uint64_t last_read;                /* when bytes came last, monotonic ns */
	uint64_t last_sent;                /* when the socket took bytes last */
	bool ready;                        /* plain, or the handshake is done */

	uint64_t batch;                    /* ns: read this seldom at most; 0: at once. Set by fl_conn_batch */

	bool truncated;                    /* TLS: the peer ended without close_notify; data may be cut */

	/* The connection's own. */
	bool paused, resumed, got_eof, told_eof, finishing, shut, failed, in_dispatch;
	bool watched;                      /* the write timer runs */
	bool resting;                      /* the rest timer runs: one read takes what comes until then */
	struct fl_poll poll;
	struct fl_timer wake;              /* flush, resume or report the end, in the next turn */
	struct fl_timer slow;              /* handshake, then write progress */
	struct fl_timer rest;
	uint8_t record[5];                 /* TLS handshake: the header of the incoming record */
	uint32_t record_len, record_rest;  /* bytes of that header; bytes of the record still to come */
	bool *gone;
	struct fl_buf in;                  /* received and not taken */
	struct fl_buf out;                 /* not sent yet; with TLS it is in the engine */
	struct fl_err *err;                /* the failure, until it is reported; NULL: no memory for it */
};

/* Takes over `fd`, a connected socket; set user (and arg) before. No callback comes before the next turn. */
void fl_conn_start(struct fl_io *io, struct fl_conn *conn, int fd);

/* The same with TLS: a server's or client's context; a client names the expected server (see fl_tls_new). On failure
 * the fd is closed and the connection is not started. A client's handshake may take FL_HTTP_HANDSHAKE_TIMEOUT, a
 * server's FL_HTTP_HANDSHAKE_PATIENCE. */
int fl_conn_start_tls(struct fl_io *io, struct fl_conn *conn, int fd, struct fl_tls_context *context,
		      const char *server_name, struct fl_err *err) FL_MUSTUSE;

/* Close at once, from anywhere; closed() is not called, and the object may be freed. Unsent bytes are lost. Does
 * nothing to a connection that is not started. */
void fl_conn_close(struct fl_conn *conn);

/* Send what fill() still returns and what is queued, then close_notify and the end; then closed() is called. The peer
 * has FL_HTTP_LINGER to read it. */
void fl_conn_finish(struct fl_conn *conn);

/* Give up: closed() is called with this failure. */
void fl_conn_fail(struct fl_conn *conn, const struct fl_err *err);

void fl_conn_wake(struct fl_conn *conn);     /* fill() has something; sent after this callback, or next turn */
/* Before an immediate close: send what fill() returns and TLS's close_notify, as far as the socket takes it at once.
 * Not from inside a callback of the connection. */
void fl_conn_last_words(struct fl_conn *conn);
void fl_conn_resume(struct fl_conn *conn);   /* take() wants more now */

/* After a read that emptied the socket, read again only `every` ns later. For an owner with many small answers in
 * flight, where a wake-up for each would be most of the work. 0, the default: read as soon as bytes come. May be
 * changed at any time; sending does not wait. */
void fl_conn_batch(struct fl_conn *conn, uint64_t every);

bool fl_conn_h2(const struct fl_conn *conn);                   /* did ALPN choose h2? */
size_t fl_conn_unsent(const struct fl_conn *conn);             /* bytes that wait for the socket */
