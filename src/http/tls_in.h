/* tls_in.h - the inside of TLS, for tls.c, tls_context.c and tls_error.c. */
#pragma once
#include "http/openssl_use.h"
#include "http/tls.h"

struct fl_tls_context {
	SSL_CTX *ssl;
	BIO_METHOD *bio;           /* ours: reads the fed bytes, writes into `out` */
	BIO *ca;                   /* the CAs still to be read while the context is being made */
	uint32_t ca_count;
	int64_t expires;
	uint32_t refs;
	bool server;
	enum fl_tls_peer peer;
};

struct fl_tls {
	SSL *ssl;
	struct fl_tls_context *context;
	const char *in;            /* borrowed from fl_tls_feed */
	size_t in_len;
	struct fl_buf out;
	struct fl_tls_subject *subject;
	X509_NAME *subject_name;   /* what `subject` points into */
	X509 *refused;             /* the certificate in the peer's chain that did not verify */
	int refused_depth;
	char *server_name;         /* the server that a client expects; NULL: a server */
	bool ended, broken;
};

/* Empty OpenSSL's error queue into `err`: "<what>: <reason>". The code is FL_E_NOMEM if an allocation failed. */
int fl_tls_fail(struct fl_err *err, enum fl_code code, const char *what);

/* Why a handshake failed, with the certificates' details. */
int fl_tls_fail_handshake(struct fl_tls *tls, struct fl_err *err);

/* "1 Jan 2026 12:00:00 GMT" of an ASN.1 time; lives in buf. */
const char *fl_tls_time_text(const ASN1_TIME *time, char buf[static 64]);
int64_t fl_tls_time_seconds(const ASN1_TIME *time);

/* OpenSSL's callback for each certificate of the peer: stores the refused one. */
int fl_tls_on_verify(int good, X509_STORE_CTX *store);

/* The caller frees it. NULL: not PEM, with a password, or no memory: see OpenSSL's error queue. */
EVP_PKEY *fl_tls_read_key(struct fl_str pem);

BIO_METHOD *fl_tls_bio_method(void);
