#include "http/tls_in.h"
#include <stdio.h>
#include <time.h>

int fl_tls_fail(struct fl_err *err, enum fl_code code, const char *what)
{
	unsigned long first = ERR_get_error(), next;
	const char *reason = first ? ERR_reason_error_string(first) : NULL;

	while ((next = ERR_get_error()) != 0)
		if (ERR_GET_REASON(next) == ERR_R_MALLOC_FAILURE)
			code = FL_E_NOMEM;
	if (first && ERR_GET_REASON(first) == ERR_R_MALLOC_FAILURE)
		code = FL_E_NOMEM;
	return fl_fail(err, code, "%s%s%s", what, reason ? ": " : "", reason ? reason : "");
}

const char *fl_tls_time_text(const ASN1_TIME *time, char buf[static 64])
{
	struct tm tm;

	buf[0] = 0;
	if (ASN1_TIME_to_tm(time, &tm))
		(void)strftime(buf, 64, "%Y-%m-%d %H:%M:%S UTC", &tm);
	return buf;
}

int64_t fl_tls_time_seconds(const ASN1_TIME *time)
{
	struct tm tm;

	return ASN1_TIME_to_tm(time, &tm) ? (int64_t)timegm(&tm) : 0;
}

/* "a, b, 10.0.0.1" */
static void put_names(struct fl_buf *buf, X509 *cert)
{
	GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);

	for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
		const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
		const ASN1_STRING *text = name->type == GEN_DNS ? name->d.dNSName : name->type == GEN_IPADD ?
			name->d.iPAddress : NULL;
		const unsigned char *bytes = text ? ASN1_STRING_get0_data(text) : NULL;
		int len = text ? ASN1_STRING_length(text) : 0;

		if (!text)
			continue;
		if (buf->len)
			fl_buf_str(buf, FL_S(", "));
		if (name->type == GEN_DNS)
			fl_buf_put(buf, bytes, (size_t)len);
		else if (len == 4)
			fl_buf_printf(buf, "%d.%d.%d.%d", bytes[0], bytes[1], bytes[2], bytes[3]);
		else
			fl_buf_str(buf, FL_S("an IPv6 address"));
	}
	GENERAL_NAMES_free(names);
}

static int fail_names(struct fl_tls *tls, X509 *cert, struct fl_err *err)
{
	char text[160];
	struct fl_buf names = FL_BUF_IN(text);

	put_names(&names, cert);
	return fl_fail(err, FL_E_DENIED, "the certificate of %s is for %.*s%s; not for %s", tls->server_name,
		       names.len ? (int)names.len : 8, names.len ? names.p : "no names", names.failed ? "..." : "",
		       tls->server_name);
}

int fl_tls_on_verify(int good, X509_STORE_CTX *store)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct fl_tls *tls = SSL_get_app_data(ssl);
	X509 *cert = X509_STORE_CTX_get_current_cert(store);

	if (!good && cert && !tls->refused && X509_up_ref(cert)) {
		tls->refused = cert;
		tls->refused_depth = X509_STORE_CTX_get_error_depth(store);
	}
	return good;
}

static int fail_verify(struct fl_tls *tls, long result, struct fl_err *err)
{
	const char *who = tls->server_name ? tls->server_name : "the client";
	const char *above = tls->refused_depth ? ", rather a CA above it," : "";
	X509 *cert = tls->refused;
	char when[64];

	if (cert && (result == X509_V_ERR_HOSTNAME_MISMATCH || result == X509_V_ERR_IP_ADDRESS_MISMATCH) &&
	    tls->server_name)
		return fail_names(tls, cert, err);
	if (cert && result == X509_V_ERR_CERT_HAS_EXPIRED)
		return fl_fail(err, FL_E_DENIED, "the certificate of %s%s has expired on %s", who, above,
			       fl_tls_time_text(X509_get0_notAfter(cert), when));
	if (cert && result == X509_V_ERR_CERT_NOT_YET_VALID)
		return fl_fail(err, FL_E_DENIED, "the certificate of %s%s is valid from %s only; is a clock wrong?",
			       who, above,
			       fl_tls_time_text(X509_get0_notBefore(cert), when));
	if (result == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY || result == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN ||
	    result == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT || result == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE ||
	    result == X509_V_ERR_CERT_SIGNATURE_FAILURE)
		return fl_fail(err, FL_E_DENIED, "the certificate of %s is not signed by the given CA", who);
	return fl_fail(err, FL_E_DENIED, "the certificate of %s: %s", who, X509_verify_cert_error_string(result));
}

/* Alerts of the peer's that speak about our certificate. */
static bool refuses_us(int reason)
{
	static const int refusals[] = {
		SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
			SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED,
		SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN,
			SSL_R_TLSV1_ALERT_UNKNOWN_CA,
		SSL_R_TLSV1_ALERT_ACCESS_DENIED, SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED,
	};

	for (size_t i = 0; i < FL_LEN(refusals); i++)
		if (refusals[i] == reason)
			return true;
	return false;
}

int fl_tls_fail_handshake(struct fl_tls *tls, struct fl_err *err)
{
	unsigned long first = ERR_peek_error();
	long result = SSL_get_verify_result(tls->ssl);
	int reason = ERR_GET_REASON(first);

	if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED && result != X509_V_OK) {
		ERR_clear_error();
		return fail_verify(tls, result, err);
	}
	if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)
		return fl_tls_fail(err, FL_E_DENIED, "the client showed no certificate");
	if (reason == SSL_R_HTTP_REQUEST || reason == SSL_R_HTTPS_PROXY_REQUEST)
		return fl_tls_fail(err, FL_E_INVALID, "the client sent plain HTTP to a TLS port");
	if (reason == SSL_R_WRONG_VERSION_NUMBER)
		return fl_tls_fail(err, FL_E_INVALID, "the peer does not speak TLS");
	if (refuses_us(reason))
		return fl_tls_fail(err, FL_E_DENIED, "the peer refuses our certificate");
	return fl_tls_fail(err, FL_E_INVALID, "TLS");
}
