/* tls.h - TLS 1.2 and 1.3 as bytes in, bytes out. No i/o: conn.h puts it on a socket.
 *
 * A context is who we are and whom we trust, made from PEM texts and shared by its connections, which keep it alive: to
 * take over new certificates make a new one and drop the old. Only the given CA is trusted, never the system's bundle.
 */
#pragma once
#include "base/buf.h"

struct fl_tls_context;
struct fl_tls;

enum fl_tls_peer {
	FL_TLS_PEER_VERIFY,     /* a client: the server must prove its name by `ca`. The default */
	FL_TLS_PEER_TRUST,      /* a client: insecure-skip-tls-verify; a server: asks for no certificate */
	FL_TLS_PEER_ASK,        /* a server: a certificate is welcome, and verified by `ca` */
	FL_TLS_PEER_REQUIRE,    /* a server: no connection without one */
};

struct fl_tls_config {
	bool server;
	enum fl_tls_peer peer;
	struct fl_str cert, key;   /* PEM: leaf first, then the chain; both or (client) neither */
	struct fl_str ca;          /* PEM, one or several */
	bool no_h2;                /* offer and take HTTP/1.1 only */
};

/* FL_E_INVALID says which text is wrong and how: no PEM, key of another certificate, expired ... */
struct fl_tls_context *fl_tls_context_new(const struct fl_tls_config *config, int64_t wall_ns,
					  struct fl_err *err) FL_MUSTUSE;

/* The same in steps of under a millisecond each, for a bundle of many CAs: begin, then step until it does not say 1 any
 * more. 0: it is made; < 0: it is not, let go of it. Until then `config->ca` is borrowed and the context is for
 * nothing else. */
struct fl_tls_context *fl_tls_context_begin(const struct fl_tls_config *config, int64_t wall_ns,
					    struct fl_err *err) FL_MUSTUSE;
int fl_tls_context_step(struct fl_tls_context *context, struct fl_err *err) FL_MUSTUSE;

struct fl_tls_context *fl_tls_context_ref(struct fl_tls_context *context);
struct fl_tls_context *fl_tls_context_free(struct fl_tls_context *context);   /* one reference; NULL-safe */
FL_DEFINE_AUTO(fl_tls_context, struct fl_tls_context *, fl_tls_context_free);

/* When our certificate ends, seconds since 1970; 0 without one. */
int64_t fl_tls_context_expires(const struct fl_tls_context *context);

/* A client names the server that it expects, a host name or an address; NULL for a server. */
struct fl_tls *fl_tls_new(struct fl_tls_context *context, const char *server_name, struct fl_err *err) FL_MUSTUSE;
struct fl_tls *fl_tls_free(struct fl_tls *tls);
FL_DEFINE_AUTO(fl_tls, struct fl_tls *, fl_tls_free);

/* Bytes from the network, borrowed until they are used up: go on with the calls below until they want more. */
void fl_tls_feed(struct fl_tls *tls, const void *bytes, size_t len);

/* Bytes for the network pile up here; the owner drops what it has sent. */
struct fl_buf *fl_tls_out(struct fl_tls *tls);

/* 1: done. 0: send what there is and feed more. FL_E_DENIED: the peer's certificate is refused, or the peer refuses
 * ours; FL_E_INVALID: no TLS; the words say why. Send what there is (an alert), then close. */
int fl_tls_handshake(struct fl_tls *tls, struct fl_err *err) FL_MUSTUSE;

/* > 0 plain bytes; 0: the peer has ended properly; -FL_E_AGAIN: feed more. */
int64_t fl_tls_read(struct fl_tls *tls, void *plain, size_t len, struct fl_err *err) FL_MUSTUSE;

/* Encrypts all of it. */
int fl_tls_write(struct fl_tls *tls, const void *plain, size_t len, struct fl_err *err) FL_MUSTUSE;
void fl_tls_end(struct fl_tls *tls);   /* close_notify */

/* After the handshake. */
bool fl_tls_h2(const struct fl_tls *tls);

/* Of the peer's certificate, verified: its common name and organisations, as Kubernetes reads them (user and groups).
 * common_name is "" without one. Lives as long as `tls`; made at the first call; FL_E_NOMEM. */
struct fl_tls_subject {
	struct fl_str common_name;
	struct fl_str organizations[8];
	uint32_t organization_count;
};
int fl_tls_peer_subject(struct fl_tls *tls, const struct fl_tls_subject **ret, struct fl_err *err) FL_MUSTUSE;
