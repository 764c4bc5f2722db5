/* tls.h - TLS 1.2 and 1.3 as bytes in, bytes out. No I/O: conn.h puts it on a socket.
 *
 * A context holds our certificate and the CAs that we trust, made from PEM texts. Its connections share it and keep it
 * alive: for new certificates make a new context and drop the old one. Only the given CA is trusted, never the system's
 * bundle.
 */
#pragma once
#include "base/buf.h"

#define FL_TLS_CA_STEP 2                            /* certificates read in one turn: 0.2 to 0.4 ms each */

struct fl_tls_context;
struct fl_tls;

enum fl_tls_peer {
	FL_TLS_PEER_VERIFY,     /* a client: verify the server's name by `ca`. The default */
	FL_TLS_PEER_TRUST,      /* a client: insecure-skip-tls-verify; a server: asks for no certificate */
	FL_TLS_PEER_ASK,        /* a server: request a certificate, and verify it by `ca` */
	FL_TLS_PEER_REQUIRE,    /* a server: refuse connections without one */
};

struct fl_tls_config {
	bool server;
	enum fl_tls_peer peer;
	struct fl_str cert, key;   /* PEM: leaf first, then the chain; both or (client) neither */
	struct fl_str ca;          /* PEM, one or several */
	bool no_h2;                /* offer and accept HTTP/1.1 only */
};

/* FL_E_INVALID: the error names the bad text and the reason: no PEM, key of another certificate, expired ... */
struct fl_tls_context *fl_tls_context_new(const struct fl_tls_config *config, int64_t wall_ns,
					  struct fl_err *err) FL_MUSTUSE;

/* The same in steps of under a millisecond each, for a bundle of many CAs: begin, then step while it returns 1. 0: the
 * context is ready; < 0: it failed, free it. Until then `config->ca` is borrowed, and only these calls may use the
 * context. */
struct fl_tls_context *fl_tls_context_begin(const struct fl_tls_config *config, int64_t wall_ns,
					    struct fl_err *err) FL_MUSTUSE;
int fl_tls_context_step(struct fl_tls_context *context, struct fl_err *err) FL_MUSTUSE;

struct fl_tls_context *fl_tls_context_ref(struct fl_tls_context *context);
struct fl_tls_context *fl_tls_context_free(struct fl_tls_context *context);   /* one reference; NULL-safe */
FL_DEFINE_AUTO(fl_tls_context, struct fl_tls_context *, fl_tls_context_free);

/* When our certificate expires, seconds since 1970; 0 without one. */
int64_t fl_tls_context_expires(const struct fl_tls_context *context);

/* A client passes the expected server's host name or address; a server passes NULL. */
struct fl_tls *fl_tls_new(struct fl_tls_context *context, const char *server_name, struct fl_err *err) FL_MUSTUSE;
struct fl_tls *fl_tls_free(struct fl_tls *tls);
FL_DEFINE_AUTO(fl_tls, struct fl_tls *, fl_tls_free);

/* Bytes from the network, borrowed until they are used up: make the calls below until they need more. */
void fl_tls_feed(struct fl_tls *tls, const void *bytes, size_t len);

/* The bytes for the network; the owner drops what it has sent. */
struct fl_buf *fl_tls_out(struct fl_tls *tls);

/* 1: done. 0: send fl_tls_out and feed more. FL_E_DENIED: one side refuses the other's certificate; FL_E_INVALID: the
 * peer does not speak TLS. After a failure send fl_tls_out (an alert), then close. */
int fl_tls_handshake(struct fl_tls *tls, struct fl_err *err) FL_MUSTUSE;

/* > 0: plain bytes; 0: the peer has sent close_notify; -FL_E_AGAIN: feed more. */
int64_t fl_tls_read(struct fl_tls *tls, void *plain, size_t len, struct fl_err *err) FL_MUSTUSE;

/* Encrypts all of it into fl_tls_out. */
int fl_tls_write(struct fl_tls *tls, const void *plain, size_t len, struct fl_err *err) FL_MUSTUSE;
void fl_tls_end(struct fl_tls *tls);   /* close_notify */

/* After the handshake. */
bool fl_tls_h2(const struct fl_tls *tls);

/* The common name and organisations of the peer's verified certificate: user and groups in Kubernetes. common_name is
 * "" without a certificate. Lives as long as `tls`; the first call allocates it (FL_E_NOMEM). */
struct fl_tls_subject {
	struct fl_str common_name;
	struct fl_str organizations[8];
	uint32_t organization_count;
};
int fl_tls_peer_subject(struct fl_tls *tls, const struct fl_tls_subject **ret, struct fl_err *err) FL_MUSTUSE;
