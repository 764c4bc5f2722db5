/* One handshake with ourselves, in a worker: so this calls OpenSSL directly, and nothing of base that allocates. */
#include "http/tls_prepare.h"
#include "http/tls_in.h"
#include "io/job.h"

static X509 *self_signed(EVP_PKEY *key)
{
	X509 *cert = X509_new();
	X509_NAME *name = cert ? X509_get_subject_name(cert) : NULL;

	if (name && ASN1_INTEGER_set(X509_get_serialNumber(cert), 1) &&
	    X509_gmtime_adj(X509_getm_notBefore(cert), -3600) && X509_gmtime_adj(X509_getm_notAfter(cert), 3600) &&
	    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"own", -1, -1, 0) &&
	    X509_set_issuer_name(cert, name) && X509_set_pubkey(cert, key) && X509_sign(cert, key, EVP_sha256()))
		return cert;
	X509_free(cert);
	return NULL;
}

/* Written and read as text, as certificates come. */
static void trust(SSL_CTX *client, X509 *cert)
{
	BIO *text = BIO_new(BIO_s_mem());
	X509 *read = text && PEM_write_bio_X509(text, cert) ? PEM_read_bio_X509(text, NULL, NULL, NULL) : NULL;

	if (read)
		(void)X509_STORE_add_cert(SSL_CTX_get_cert_store(client), read);
	X509_free(read);
	BIO_free(text);
}

static void shake_hands(SSL *client, SSL *server)
{
	BIO *there = BIO_new(BIO_s_mem()), *back = BIO_new(BIO_s_mem());

	if (there && back && BIO_up_ref(there) && BIO_up_ref(back)) {
		SSL_set_bio(client, back, there);
		SSL_set_bio(server, there, back);
		SSL_set_connect_state(client);
		SSL_set_accept_state(server);
		for (int i = 0; i < 3; i++) {   /* flights; failures do not matter */
			(void)SSL_do_handshake(client);
			(void)SSL_do_handshake(server);
		}
		return;
	}
	BIO_free(there);
	BIO_free(back);
}

static void meet(SSL_CTX *client, SSL_CTX *server, EVP_PKEY *key, X509 *cert)
{
	SSL *here = SSL_new(client), *there = SSL_new(server);

	trust(client, cert);
	SSL_CTX_set_verify(client, SSL_VERIFY_PEER, NULL);
	if (here && there && SSL_use_certificate(there, cert) && SSL_use_PrivateKey(there, key))
		shake_hands(here, there);
	SSL_free(here);
	SSL_free(there);
}

static void warm_up(EVP_PKEY *key)
{
	X509 *cert = key ? self_signed(key) : NULL;
	SSL_CTX *client = SSL_CTX_new(TLS_client_method()), *server = SSL_CTX_new(TLS_server_method());

	if (cert && client && server)
		meet(client, server, key, cert);
	SSL_CTX_free(client);
	SSL_CTX_free(server);
	X509_free(cert);
	EVP_PKEY_free(key);
	ERR_clear_error();
}

struct preparing {
	struct fl_job job;
	uint32_t key_len;
	char key[];
};

static void run(struct fl_job *job, const struct fl_fs *fs)
{
	const struct preparing *preparing = fl_container(job, struct preparing, job);

	(void)fs;
	if (fl_openssl_load(NULL) == 0) {   /* else the first context tells why */
		warm_up(EVP_EC_gen("P-256"));
		if (preparing->key_len)
			warm_up(fl_tls_read_key((struct fl_str){ preparing->key, preparing->key_len }));
	}
	job->result = 0;
}

static void release(struct fl_job *job)
{
	struct preparing *preparing = fl_container(job, struct preparing, job);

	explicit_bzero(preparing->key, preparing->key_len);
	fl_free(preparing);
}

void fl_tls_prepare(struct fl_io *io, struct fl_op *op, struct fl_str key)
{
	struct preparing *preparing = fl_zalloc(sizeof *preparing + key.len);

	if (!preparing) {
		fl_op_begin(op, io, NULL);
		fl_op_end(op, 0);
		return;
	}
	preparing->job = (struct fl_job){ .run = run, .release = release };
	preparing->key_len = key.len;
	if (key.len)
		memcpy(preparing->key, key.p, key.len);
	fl_job_start(io, op, &preparing->job, FL_LANE_FILES);
}
