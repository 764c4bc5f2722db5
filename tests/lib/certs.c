#define OPENSSL_NO_DEPRECATED
#include "certs.h"
#include <openssl/pem.h>
#include <openssl/x509v3.h>

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;
	bool good;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	good = extension && X509_add_ext(cert, extension, -1);
	X509_EXTENSION_free(extension);
	return good;
}

static bool add_name(X509 *cert, const char *field, const char *value)
{
	X509_NAME *name = X509_get_subject_name(cert);

	return !value || X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, (const unsigned char *)value, -1, -1,
						    0);
}

static bool fill_cert(X509 *cert, X509 *issuer, EVP_PKEY *key, const struct test_cert_wish *wish)
{
	static long serial = 1000;
	long from = wish->from || wish->to ? wish->from : -3600, to = wish->from || wish->to ? wish->to : 86400;

	return X509_set_version(cert, 2) && ASN1_INTEGER_set(X509_get_serialNumber(cert), serial++) &&
	       X509_gmtime_adj(X509_getm_notBefore(cert), from) && X509_gmtime_adj(X509_getm_notAfter(cert), to) &&
	       X509_set_pubkey(cert, key) && add_name(cert, "O", wish->group) && add_name(cert, "CN", wish->name) &&
	       X509_set_issuer_name(cert, X509_get_subject_name(issuer)) &&
	       add_extension(cert, issuer, NID_basic_constraints, wish->ca ? "critical,CA:TRUE" : "CA:FALSE") &&
	       (!wish->names || add_extension(cert, issuer, NID_subject_alt_name, wish->names));
}

static bool to_text(BIO *bio, char *into, size_t size)
{
	int len = BIO_read(bio, into, (int)size - 1);

	into[len > 0 ? len : 0] = 0;
	return len > 0 && BIO_ctrl_pending(bio) == 0;
}

static X509 *read_cert(const char *pem)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;

	BIO_free(bio);
	return cert;
}

static EVP_PKEY *read_key(const char *pem)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;

	BIO_free(bio);
	return key;
}

bool test_cert_make(const struct test_cert_wish *wish, struct test_cert *ret)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = X509_new();
	X509 *issuer = wish->issuer ? read_cert(wish->issuer->cert) : NULL;
	EVP_PKEY *issuer_key = wish->issuer ? read_key(wish->issuer->key) : NULL;
	BIO *bio = BIO_new(BIO_s_mem());
	bool good = key && cert && bio && (!wish->issuer || (issuer && issuer_key));

	good = good && fill_cert(cert, issuer ? issuer : cert, key, wish) &&
	       X509_sign(cert, issuer_key ? issuer_key : key, EVP_sha256());
	good = good && PEM_write_bio_X509(bio, cert) && to_text(bio, ret->cert, sizeof ret->cert);
	good = good && PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) &&
	       to_text(bio, ret->key, sizeof ret->key);
	BIO_free(bio);
	X509_free(cert);
	X509_free(issuer);
	EVP_PKEY_free(key);
	EVP_PKEY_free(issuer_key);
	return good;
}

const struct test_certs *test_certs(void)
{
	static struct test_certs certs;
	static bool made;

	if (!made)
		made = test_cert_make(&(struct test_cert_wish){ .name = "test CA", .ca = true }, &certs.ca) &&
		       test_cert_make(&(struct test_cert_wish){ .issuer = &certs.ca, .name = "server",
								.names = "DNS:localhost,IP:127.0.0.1,IP:::1" },
									&certs.server) &&
		       test_cert_make(&(struct test_cert_wish){ .issuer = &certs.ca, .name = "tester",
			.group = "testers" }, &certs.client);
	return made ? &certs : NULL;
}
