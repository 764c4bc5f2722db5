/* conn.h - a stream of bytes over a socket, plain or TLS, with deadlines.
 *
 * Embedded in its owner's object. Bytes are handed over as they come, bytes to be sent are asked for when there is
 * room, so neither direction piles up here. An idle connection holds no buffers. */
#pragma once
#include "http/tls.h"
#include "io/io.h"

struct fl_conn;

struct fl_conn_user {
	/* The TLS handshake is done: fl_conn_h2() and the peer's certificate are known. Not called on plain
	 * connections. */
	void (*open)(struct fl_conn *conn);

	/* Bytes that came; returns how many were taken. Less than all: the rest is kept and given again, with what came
	 * meanwhile, after fl_conn_resume(); until then nothing is read from the socket. */
	size_t (*take)(struct fl_conn *conn, const char *bytes, size_t len);

	/* The peer has ended its side; we may still write. Called after all bytes were taken. */
	void (*eof)(struct fl_conn *conn);

	/* Put up to `len` bytes to be sent into `room`; how many. 0: none now, fl_conn_wake will say. */
	size_t (*fill)(struct fl_conn *conn, void *room, size_t len);

	/* Broken, too late, or over after fl_conn_finish (FL_E_CLOSED): the socket is closed. Once, last. The object
	 * may be freed. Never from inside a function that the owner has called. */
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

	bool truncated;                    /* TLS: the peer ended without saying so; what came may lack its end */

	/* The connection's own. */
	bool paused, resumed, got_eof, told_eof, finishing, shut, failed, in_dispatch;
	bool watched;                      /* the write timer runs */
	bool resting;                      /* the rest timer runs: what comes until then is read together */
	struct fl_poll poll;
	struct fl_timer wake;              /* flush, resume or tell the end, in the next turn */
	struct fl_timer slow;              /* handshake, then write progress */
	struct fl_timer rest;
	uint8_t record[5];                 /* TLS, until it is ready: the header of the record that comes */
	uint32_t record_len, record_rest;  /* bytes of that header; bytes of the record still to come */
	bool *gone;
	struct fl_buf in;                  /* came and not taken */
	struct fl_buf out;                 /* not taken by the socket yet; with TLS it is in the engine */
	struct fl_err *err;                /* what it failed of, until it is told; NULL: there was no memory for it */
};

/* Takes over `fd`, a connected socket; set user (and arg) before. Nothing is told before the next turn. */
void fl_conn_start(struct fl_io *io, struct fl_conn *conn, int fd);

/* The same with TLS: a server's or client's context; a client says whom it expects (see fl_tls_new). On failure the fd
 * is closed and the connection is not started. A client's handshake has FL_HTTP_HANDSHAKE_TIMEOUT, a server's
 * FL_HTTP_HANDSHAKE_PATIENCE. */
int fl_conn_start_tls(struct fl_io *io, struct fl_conn *conn, int fd, struct fl_tls_context *context,
		      const char *server_name, struct fl_err *err) FL_MUSTUSE;

/* At once and without a word; closed() is not called, the object may be freed, from anywhere. One that is not started
 * is left alone. Bytes that the socket has not taken are lost. */
void fl_conn_close(struct fl_conn *conn);

/* Send what fill() still gives and what is queued, then close_notify and the end; then closed() is told. The peer has
 * FL_HTTP_LINGER for it. */
void fl_conn_finish(struct fl_conn *conn);

/* Give up: closed() is told with this failure. */
void fl_conn_fail(struct fl_conn *conn, const struct fl_err *err);

void fl_conn_wake(struct fl_conn *conn);     /* fill() has something; sent after this callback, or next turn */
/* What fill() has, and TLS's farewell, if the socket takes it at once: before a close that waits for nobody. Not from
 * inside a callback of the connection's. */
void fl_conn_last_words(struct fl_conn *conn);
void fl_conn_resume(struct fl_conn *conn);   /* take() wants more now */

/* After a read that left nothing, the next one is `every` ns later: for an owner to whom many small answers are on
 * their way, of which waking up for each would be most of the work. 0: as soon as bytes come, which a connection begins
 * with. May be changed at any time; sending does not wait. */
void fl_conn_batch(struct fl_conn *conn, uint64_t every);

bool fl_conn_h2(const struct fl_conn *conn);                   /* did ALPN choose h2? */
size_t fl_conn_unsent(const struct fl_conn *conn);             /* bytes that wait for the socket */
