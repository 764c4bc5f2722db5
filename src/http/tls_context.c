#include "http/tls_in.h"

/* Our ALPN list; a server takes the first of them that the client offers. */
static const unsigned char both[] = "\x02h2\x08http/1.1";
static const unsigned char old[] = "\x08http/1.1";

static int no_password(char *buf, int size, int writing, void *arg)
{
	(void)buf;
	(void)size;
	(void)writing;
	(void)arg;
	return 0; /* there is no way to ask for a password */
}

static BIO *bio_of(struct fl_str text)
{
	return BIO_new_mem_buf(text.len ? text.p : "", (int)text.len);
}

static int check_dates(X509 *cert, int64_t wall_ns, struct fl_err *err)
{
	int64_t now = wall_ns / 1000000000;
	char when[64];

	if (fl_tls_time_seconds(X509_get0_notAfter(cert)) <= now)
		return fl_fail(err, FL_E_INVALID, "the certificate has expired on %s",
			       fl_tls_time_text(X509_get0_notAfter(cert), when));
	return 0;
}

static int add_chain(SSL_CTX *ssl, BIO *bio, struct fl_err *err)
{
	X509 *cert;

	while ((cert = PEM_read_bio_X509(bio, NULL, no_password, NULL)) != NULL) {
		if (!SSL_CTX_add0_chain_cert(ssl, cert)) {
			X509_free(cert);
			return fl_tls_fail(err, FL_E_INVALID, "the certificate's chain");
		}
	}
	if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
		return fl_tls_fail(err, FL_E_INVALID, "the certificate's chain");
	ERR_clear_error();
	return 0;
}

static int use_cert(struct fl_tls_context *context, struct fl_str pem, int64_t wall_ns, struct fl_err *err)
{
	BIO *bio = bio_of(pem);
	X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, no_password, NULL) : NULL;
	int result = 0;

	if (!cert)
		result = fl_tls_fail(err, FL_E_INVALID, "the certificate is not PEM");
	else if (!SSL_CTX_use_certificate(context->ssl, cert))
		result = fl_tls_fail(err, FL_E_INVALID, "the certificate cannot be used");
	else
		result = check_dates(cert, wall_ns, err);
	if (result == 0) {
		context->expires = fl_tls_time_seconds(X509_get0_notAfter(cert));
		result = add_chain(context->ssl, bio, err);
	}
	X509_free(cert);
	BIO_free(bio);
	return result;
}

EVP_PKEY *fl_tls_read_key(struct fl_str pem)
{
	BIO *bio = bio_of(pem);
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL) : NULL;

	BIO_free(bio);
	return key;
}

static int use_key(struct fl_tls_context *context, struct fl_str pem, struct fl_err *err)
{
	EVP_PKEY *key = fl_tls_read_key(pem);
	int result = 0;

	if (!key)
		result = fl_tls_fail(err, FL_E_INVALID, "the private key is not PEM, or has a password");
	else if (!SSL_CTX_use_PrivateKey(context->ssl, key) || !SSL_CTX_check_private_key(context->ssl)) {
		ERR_clear_error();
		result = fl_fail(err, FL_E_INVALID, "the private key belongs to another certificate");
	}
	EVP_PKEY_free(key);
	return result;
}

static int add_ca(struct fl_tls_context *context, X509 *cert, struct fl_err *err)
{
	X509_STORE *store = SSL_CTX_get_cert_store(context->ssl);

	if (!X509_STORE_add_cert(store, cert) || (context->server && !SSL_CTX_add_client_CA(context->ssl, cert)))
		return fl_tls_fail(err, FL_E_INVALID, "a CA certificate cannot be used");
	return 0;
}

int fl_tls_context_step(struct fl_tls_context *context, struct fl_err *err)
{
	int result = 0;

	for (unsigned i = 0; context->ca && i < FL_TLS_CA_STEP; i++) {
		X509 *cert = PEM_read_bio_X509(context->ca, NULL, no_password, NULL);

		if (!cert) {
			if (!context->ca_count || ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
				result = fl_tls_fail(err, FL_E_INVALID, "the CA certificates are not PEM");
			ERR_clear_error();
			BIO_free(context->ca);
			context->ca = NULL;
			return result;
		}
		result = add_ca(context, cert, err);
		X509_free(cert);
		if (result < 0)
			return result;
		context->ca_count++;
	}
	return context->ca != NULL;
}

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
			   unsigned in_len, void *arg)
{
	const unsigned char *ours = arg;
	unsigned len = ours == both ? sizeof both - 1 : sizeof old - 1;
	unsigned char *chosen;

	(void)ssl;
	if (SSL_select_next_proto(&chosen, out_len, ours, len, in, in_len) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_NOACK; /* unknown protocols: HTTP/1.1, as without ALPN */
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static int set_peer(struct fl_tls_context *context, const struct fl_tls_config *config, struct fl_err *err)
{
	int mode = SSL_VERIFY_NONE;

	switch (config->peer) {
	case FL_TLS_PEER_VERIFY:
		mode = config->server ? SSL_VERIFY_NONE : SSL_VERIFY_PEER;
		break;
	case FL_TLS_PEER_TRUST:
		break;
	case FL_TLS_PEER_ASK:
		mode = SSL_VERIFY_PEER;
		break;
	case FL_TLS_PEER_REQUIRE:
		mode = SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
		break;
	}
	SSL_CTX_set_verify(context->ssl, mode, fl_tls_on_verify);
	if (mode != SSL_VERIFY_NONE && !config->ca.len)
		return fl_fail(err, FL_E_INVALID, "no CA is given to verify the peer with");
	if (mode == SSL_VERIFY_NONE)
		return 0;
	context->ca = bio_of(config->ca);
	return context->ca ? 0 : fl_tls_fail(err, FL_E_NOMEM, "no memory for the CA certificates");
}

static int set_up(struct fl_tls_context *context, const struct fl_tls_config *config, int64_t wall_ns,
		  struct fl_err *err)
{
	unsigned char *protocols = (unsigned char *)(uintptr_t)(config->no_h2 ? old : both);
	unsigned len = config->no_h2 ? sizeof old - 1 : sizeof both - 1;
	int result = 0;

	if (!SSL_CTX_set_min_proto_version(context->ssl, TLS1_2_VERSION))
		return fl_tls_fail(err, FL_E_INVALID, "TLS");
	/* Sessions are not kept: a resumed handshake saves 0.2 ms, a ticket key would have to be rotated. */
	SSL_CTX_set_session_cache_mode(context->ssl, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(context->ssl, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
						  SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_num_tickets(context->ssl, 0);
	/* A server may have many idle connections. A client has few, and would allocate and free 16 KiB a record. */
	SSL_CTX_set_mode(context->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | (config->server ? SSL_MODE_RELEASE_BUFFERS : 0));
	if (config->server)
		SSL_CTX_set_alpn_select_cb(context->ssl, choose_protocol, protocols);
	else if (SSL_CTX_set_alpn_protos(context->ssl, protocols, len) != 0)
		return fl_tls_fail(err, FL_E_NOMEM, "TLS");
	if (config->cert.len || config->server)
		result = use_cert(context, config->cert, wall_ns, err);
	if (result == 0 && (config->cert.len || config->key.len))
		result = use_key(context, config->key, err);
	return result == 0 ? set_peer(context, config, err) : result;
}

struct fl_tls_context *fl_tls_context_begin(const struct fl_tls_config *config, int64_t wall_ns, struct fl_err *err)
{
	FL_AUTO(fl_tls_context) struct fl_tls_context *context = NULL;

	if (fl_openssl_load(err) < 0)
		return NULL;
	ERR_clear_error();
	context = fl_zalloc(sizeof *context);
	if (!context) {
		fl_fail(err, FL_E_NOMEM, "no memory for TLS");
		return NULL;
	}
	context->refs = 1;
	context->server = config->server;
	context->peer = config->peer;
	context->bio = fl_tls_bio_method();
	context->ssl = SSL_CTX_new(config->server ? TLS_server_method() : TLS_client_method());
	if (!context->bio || !context->ssl) {
		(void)fl_tls_fail(err, FL_E_NOMEM, "no memory for TLS");
		return NULL;
	}
	return set_up(context, config, wall_ns, err) == 0 ? fl_steal(&context) : NULL;
}

struct fl_tls_context *fl_tls_context_new(const struct fl_tls_config *config, int64_t wall_ns, struct fl_err *err)
{
	FL_AUTO(fl_tls_context) struct fl_tls_context *context = fl_tls_context_begin(config, wall_ns, err);
	int more = context ? 1 : -1;

	while (more > 0)
		more = fl_tls_context_step(context, err);
	return more == 0 ? fl_steal(&context) : NULL;
}

struct fl_tls_context *fl_tls_context_ref(struct fl_tls_context *context)
{
	context->refs++;
	return context;
}

struct fl_tls_context *fl_tls_context_free(struct fl_tls_context *context)
{
	if (!context || --context->refs)
		return NULL;
	BIO_free(context->ca);
	SSL_CTX_free(context->ssl);
	BIO_meth_free(context->bio);
	fl_free(context);
	return NULL;
}

int64_t fl_tls_context_expires(const struct fl_tls_context *context)
{
	return context->expires;
}
