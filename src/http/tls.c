/* The engine of one connection. OpenSSL reads the fed bytes and writes into a buffer, through our own BIO. */
#include "http/tls_in.h"

static int bio_read(BIO *bio, char *into, size_t len, size_t *ret)
{
	struct fl_tls *tls = BIO_get_data(bio);

	BIO_clear_retry_flags(bio);
	*ret = len < tls->in_len ? len : tls->in_len;
	if (*ret == 0) {
		BIO_set_retry_read(bio);
		return 0;
	}
	memcpy(into, tls->in, *ret);
	tls->in += *ret;
	tls->in_len -= *ret;
	return 1;
}

static int bio_write(BIO *bio, const char *bytes, size_t len, size_t *ret)
{
	struct fl_tls *tls = BIO_get_data(bio);

	BIO_clear_retry_flags(bio);
	fl_buf_put(&tls->out, bytes, len);
	*ret = len;
	return tls->out.failed == FL_OK;
}

static long bio_ctrl(BIO *bio, int what, long number, void *pointer)
{
	(void)bio;
	(void)number;
	(void)pointer;
	return what == BIO_CTRL_FLUSH || what == BIO_CTRL_DUP;
}

BIO_METHOD *fl_tls_bio_method(void)
{
	BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "fairlead");

	if (!method)
		return NULL;
	if (!BIO_meth_set_read_ex(method, bio_read) || !BIO_meth_set_write_ex(method, bio_write) ||
	    !BIO_meth_set_ctrl(method, bio_ctrl)) {
		BIO_meth_free(method);
		return NULL;
	}
	return method;
}

/* Set the server that a client expects: an address is compared with the certificate's addresses, a name with its names.
 * Only a name is sent to the server. */
static int expect_server(struct fl_tls *tls, const char *name)
{
	ASN1_OCTET_STRING *ip = a2i_IPADDRESS(name);
	int good;

	ERR_clear_error();
	tls->server_name = fl_strdup(fl_str(name));
	if (!tls->server_name) {
		ASN1_OCTET_STRING_free(ip);
		return 0;
	}
	if (ip)
		good = X509_VERIFY_PARAM_set1_ip(SSL_get0_param(tls->ssl), ASN1_STRING_get0_data(ip),
						 (size_t)ASN1_STRING_length(ip));
	else
		good = SSL_set_tlsext_host_name(tls->ssl, name) && SSL_set1_host(tls->ssl, name);
	ASN1_OCTET_STRING_free(ip);
	/* Only subjectAltName counts, as in Go: a common name is no host name (RFC 6125 §6.4.4, RFC 9525). */
	SSL_set_hostflags(tls->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	SSL_set_connect_state(tls->ssl);
	return good;
}

struct fl_tls *fl_tls_new(struct fl_tls_context *context, const char *server_name, struct fl_err *err)
{
	FL_AUTO(fl_tls) struct fl_tls *tls = fl_zalloc(sizeof *tls);
	BIO *bio;

	ERR_clear_error();
	if (!tls) {
		fl_fail(err, FL_E_NOMEM, "no memory for a TLS connection");
		return NULL;
	}
	tls->out = FL_BUF(SIZE_MAX / 2); /* the owner asks for more only when this is empty */
	tls->context = fl_tls_context_ref(context);
	tls->ssl = SSL_new(context->ssl);
	bio = tls->ssl ? BIO_new(context->bio) : NULL;
	if (!bio) {
		(void)fl_tls_fail(err, FL_E_NOMEM, "no memory for a TLS connection");
		return NULL;
	}
	BIO_set_data(bio, tls);
	(void)SSL_set_app_data(tls->ssl, tls);
	BIO_set_init(bio, 1);
	SSL_set_bio(tls->ssl, bio, bio);
	if (context->server)
		SSL_set_accept_state(tls->ssl);
	else if (!expect_server(tls, server_name)) {
		(void)fl_tls_fail(err, FL_E_NOMEM, "no memory for a TLS connection");
		return NULL;
	}
	return fl_steal(&tls);
}

struct fl_tls *fl_tls_free(struct fl_tls *tls)
{
	if (!tls)
		return NULL;
	SSL_free(tls->ssl);
	fl_buf_free(&tls->out);
	X509_NAME_free(tls->subject_name);
	X509_free(tls->refused);
	fl_free(tls->subject);
	fl_free(tls->server_name);
	fl_tls_context_free(tls->context);
	fl_free(tls);
	return NULL;
}

void fl_tls_feed(struct fl_tls *tls, const void *bytes, size_t len)
{
	tls->in = bytes;
	tls->in_len = len;
}

struct fl_buf *fl_tls_out(struct fl_tls *tls)
{
	return &tls->out;
}

static int broken(struct fl_tls *tls, struct fl_err *err)
{
	tls->broken = true;
	if (tls->out.failed) {
		ERR_clear_error();
		return fl_fail(err, FL_E_NOMEM, "no memory for bytes to send");
	}
	return fl_tls_fail_handshake(tls, err);
}

int fl_tls_handshake(struct fl_tls *tls, struct fl_err *err)
{
	int result;

	ERR_clear_error();
	result = SSL_do_handshake(tls->ssl);
	if (result == 1)
		return 1;
	if (SSL_get_error(tls->ssl, result) == SSL_ERROR_WANT_READ && !tls->out.failed)
		return 0;
	return broken(tls, err);
}

/* An old entry in the queue would be reported as the next failure's reason. Checking takes a tenth of the time of
 * clearing, and the queue is mostly empty. */
static void forget_errors(void)
{
	if (ERR_peek_error())
		ERR_clear_error();
}

int64_t fl_tls_read(struct fl_tls *tls, void *plain, size_t len, struct fl_err *err)
{
	size_t got;

	forget_errors();
	if (SSL_read_ex(tls->ssl, plain, len, &got))
		return (int64_t)got;
	switch (SSL_get_error(tls->ssl, 0)) {
	case SSL_ERROR_WANT_READ:
		return -FL_E_AGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	}
	return broken(tls, err);
}

int fl_tls_write(struct fl_tls *tls, const void *plain, size_t len, struct fl_err *err)
{
	const char *bytes = plain;
	size_t put;

	forget_errors();
	while (len) {
		if (!SSL_write_ex(tls->ssl, bytes, len, &put))
			return broken(tls, err);
		bytes += put;
		len -= put;
	}
	return 0;
}

void fl_tls_end(struct fl_tls *tls)
{
	if (tls->ended || tls->broken || !SSL_is_init_finished(tls->ssl))
		return;
	tls->ended = true;
	ERR_clear_error();
	(void)SSL_shutdown(tls->ssl);
	ERR_clear_error();
}

bool fl_tls_h2(const struct fl_tls *tls)
{
	const unsigned char *chosen;
	unsigned len;

	SSL_get0_alpn_selected(tls->ssl, &chosen, &len);
	return len == 2 && memcmp(chosen, "h2", 2) == 0;
}

static struct fl_str entry_text(X509_NAME *name, int at)
{
	const ASN1_STRING *text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at));

	return (struct fl_str){ (const char *)ASN1_STRING_get0_data(text), (uint32_t)ASN1_STRING_length(text) };
}

static void read_subject(struct fl_tls_subject *subject, X509_NAME *name)
{
	int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);

	if (at >= 0)
		subject->common_name = entry_text(name, at);
	for (at = -1; (at = X509_NAME_get_index_by_NID(name, NID_organizationName, at)) >= 0 &&
		      subject->organization_count < FL_LEN(subject->organizations);)
		subject->organizations[subject->organization_count++] = entry_text(name, at);
}

int fl_tls_peer_subject(struct fl_tls *tls, const struct fl_tls_subject **ret, struct fl_err *err)
{
	X509 *cert = SSL_get0_peer_certificate(tls->ssl);

	if (!tls->subject) {
		struct fl_tls_subject *subject = fl_zalloc(sizeof *subject);

		if (!subject)
			return fl_fail(err, FL_E_NOMEM, "no memory for a certificate's subject");
		/* An unverified certificate proves nothing: treat it as none. */
		if (cert && tls->context->peer != FL_TLS_PEER_TRUST && SSL_get_verify_result(tls->ssl) == X509_V_OK) {
			tls->subject_name = X509_NAME_dup(X509_get_subject_name(cert));
			if (!tls->subject_name) {
				fl_free(subject);
				return fl_tls_fail(err, FL_E_NOMEM, "no memory for a certificate's subject");
			}
			read_subject(subject, tls->subject_name);
		}
		tls->subject = subject;
	}
	*ret = tls->subject;
	return 0;
}
