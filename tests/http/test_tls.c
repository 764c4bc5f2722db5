#include "base/units.h"
#include "certs.h"
#include "http/tls.h"
#include "http/tls_prepare.h"
#include "test.h"
#include "test_io.h"
#include <time.h>

static int64_t wall(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static struct fl_str start(const struct fl_err *err, const char *want)
{
	return fl_str_sub(fl_str(err->text), 0, (uint32_t)strlen(want));
}

/* Both ends of one connection, and what became of the handshake. */
struct ends {
	struct fl_tls_context *server_context, *client_context;
	struct fl_tls *server, *client;
	struct fl_err server_err, client_err;
	int server_result, client_result;
};

static void ends_auto_(struct ends *ends)
{
	fl_tls_free(ends->server);
	fl_tls_free(ends->client);
	fl_tls_context_free(ends->server_context);
	fl_tls_context_free(ends->client_context);
}

/* `piece` bytes at a time from one to the other. */
static void carry(struct fl_tls *from, struct fl_tls *to, size_t piece, int *result, struct fl_err *err)
{
	struct fl_buf *out = fl_tls_out(from);

	while (out->len && *result == 0) {
		size_t len = out->len < piece ? out->len : piece;

		fl_tls_feed(to, out->p, len);
		*result = fl_tls_handshake(to, err);
		fl_buf_drop(out, len);
	}
}

static int shake(struct ends *ends, const struct fl_tls_config *server, const struct fl_tls_config *client,
		 const char *name,
		 size_t piece)
{
	/* The server believes that it is 1970, so that it shows whatever it is given. */
	ends->server_context = fl_tls_context_new(server, 0, &ends->server_err);
	ends->client_context = ends->server_context ? fl_tls_context_new(client, wall(), &ends->client_err) : NULL;
	ends->server = ends->client_context ? fl_tls_new(ends->server_context, NULL, &ends->server_err) : NULL;
	ends->client = ends->server ? fl_tls_new(ends->client_context, name, &ends->client_err) : NULL;
	if (!ends->client)
		return -(int)(ends->server_err.code ? ends->server_err.code : ends->client_err.code);
	ends->client_result = fl_tls_handshake(ends->client, &ends->client_err);
	for (int i = 0; i < 10; i++) {
		carry(ends->client, ends->server, piece, &ends->server_result, &ends->server_err);
		carry(ends->server, ends->client, piece, &ends->client_result, &ends->client_err);
	}
	if (ends->server_result == -FL_E_NOMEM || ends->client_result == -FL_E_NOMEM)
		return -FL_E_NOMEM;
	return 0;
}

/* Plain bytes through; how many came. */
static int64_t pass(struct fl_tls *from, struct fl_tls *to, struct fl_str text, char *into, size_t size,
		    struct fl_err *err)
{
	struct fl_buf *out = fl_tls_out(from);
	int64_t got, done = 0;
	int result = text.len ? fl_tls_write(from, text.p, text.len, err) : 0;

	if (result < 0)
		return result;
	fl_tls_feed(to, out->p, out->len);
	while ((got = fl_tls_read(to, into + done, size - (size_t)done, err)) > 0)
		done += got;
	fl_buf_clear(out);
	return got == -FL_E_AGAIN ? done : got;
}

static struct fl_tls_config config_of(const struct test_cert *cert, const struct test_cert *ca, bool server,
				      enum fl_tls_peer peer)
{
	return (struct fl_tls_config){ .server = server, .peer = peer, .cert = fl_str(cert ? cert->cert : NULL),
				       .key = fl_str(cert ? cert->key : NULL), .ca = fl_str(ca ? ca->cert : NULL) };
}

TEST(bytes_go_both_ways)
{
	const struct test_certs *certs = test_certs();
	FL_AUTO(ends) struct ends ends = { 0 };
	static char big[40000], into[50000];
	struct fl_tls_config server, client;

	CHECK(certs);
	server = config_of(&certs->server, NULL, true, FL_TLS_PEER_TRUST);
	client = config_of(NULL, &certs->ca, false, FL_TLS_PEER_VERIFY);
	OK(shake(&ends, &server, &client, "localhost", SIZE_MAX));
	CHECK_INT(ends.server_result, 1);
	CHECK_INT(ends.client_result, 1);
	CHECK(fl_tls_h2(ends.client) && fl_tls_h2(ends.server));
	OK(pass(ends.client, ends.server, FL_S("hello"), into, sizeof into, NULL));
	CHECK_STR(((struct fl_str){ into, 5 }), "hello");
	memset(big, 'x', sizeof big);
	OK(pass(ends.server, ends.client, (struct fl_str){ big, sizeof big }, into, sizeof into, NULL));
	CHECK(memcmp(big, into, sizeof big) == 0);
	fl_tls_end(ends.server);
	fl_tls_end(ends.server);
	OK(pass(ends.server, ends.client, FL_S(""), into, sizeof into, NULL));
	fl_tls_feed(ends.client, "", 0);
	/* The farewell goes out if there is memory for it: the end of the connection says the same. */
	CHECK(fl_tls_read(ends.client, into, sizeof into, NULL) == 0 || test_tortured());
}

static const struct {
	const char *says, *name;
	enum fl_tls_peer peer;
	enum { NO_CERT, OUR_CERT, FOREIGN_CERT } shows;
	enum { GOOD, EXPIRED, TOO_EARLY, FOREIGN, NAMELESS, OTHER_NAMES } server;
	int server_result, client_result;
	const char *server_says, *client_says;
} hands[] = {
	{ "a name that the certificate has", "localhost", FL_TLS_PEER_TRUST, NO_CERT, GOOD, 1, 1, "", "" },
	{ "an address that it has", "127.0.0.1", FL_TLS_PEER_TRUST, NO_CERT, GOOD, 1, 1, "", "" },
	{ "an IPv6 address that it has", "::1", FL_TLS_PEER_TRUST, NO_CERT, GOOD, 1, 1, "", "" },
	{ "another name", "other", FL_TLS_PEER_TRUST, NO_CERT, GOOD, -FL_E_DENIED, -FL_E_DENIED,
		"TLS: sslv3 alert bad certificate",
	  "the certificate of other is for localhost, 127.0.0.1, an IPv6 address; not for other" },
	{ "another address", "10.0.0.1", FL_TLS_PEER_TRUST, NO_CERT, GOOD, -FL_E_DENIED, -FL_E_DENIED, "",
	  "the certificate of 10.0.0.1 is for localhost, 127.0.0.1, an IPv6 address; not for 10.0.0.1" },
	{ "a certificate that has expired", "localhost", FL_TLS_PEER_TRUST, NO_CERT, EXPIRED, -FL_E_DENIED,
		-FL_E_DENIED, "",
	  "the certificate of localhost has expired on 20" },
	{ "a certificate of tomorrow", "localhost", FL_TLS_PEER_TRUST, NO_CERT, TOO_EARLY, -FL_E_DENIED, -FL_E_DENIED,
		"",
	  "the certificate of localhost is valid from " },
	{ "a certificate of another CA", "localhost", FL_TLS_PEER_TRUST, NO_CERT, FOREIGN, -FL_E_DENIED, -FL_E_DENIED,
	  "the peer refuses our certificate: tlsv1 alert unknown ca",
		"the certificate of localhost is not signed by the given CA" },
	{ "a common name is no name of a server", "localhost", FL_TLS_PEER_TRUST, NO_CERT, NAMELESS, -FL_E_DENIED,
		-FL_E_DENIED, "", "" },
	{ "nor is it beside addresses", "localhost", FL_TLS_PEER_TRUST, NO_CERT, OTHER_NAMES, -FL_E_DENIED,
		-FL_E_DENIED, "", "the certificate of localhost is for 127.0.0.1; not for localhost" },
	{ "a client with a certificate", "localhost", FL_TLS_PEER_REQUIRE, OUR_CERT, GOOD, 1, 1, "", "" },
	{ "a client without one, where it may", "localhost", FL_TLS_PEER_ASK, NO_CERT, GOOD, 1, 1, "", "" },
	{ "a client without one, where it must", "localhost", FL_TLS_PEER_REQUIRE, NO_CERT, GOOD, -FL_E_DENIED, 1,
	  "the client showed no certificate", "" },
	{ "a client with a certificate of another CA", "localhost", FL_TLS_PEER_ASK, FOREIGN_CERT, GOOD, -FL_E_DENIED,
		1,
	  "the certificate of the client is not signed by the given CA", "" },
};

static struct test_cert expired, early, foreign_ca, foreign, nameless, other_names;

static bool make_more(const struct test_certs *certs)
{
	static bool made;

	made = made || (test_cert_make(&(struct test_cert_wish){ .issuer = &certs->ca, .name = "old",
		.names = "DNS:localhost",
								 .from = -7200, .to = -5 }, &expired) &&
			test_cert_make(&(struct test_cert_wish){ .issuer = &certs->ca, .name = "new",
				.names = "DNS:localhost",
								 .from = 3600, .to = 7200 }, &early) &&
			test_cert_make(&(struct test_cert_wish){ .issuer = &certs->ca, .name = "localhost" },
				       &nameless) &&
			test_cert_make(&(struct test_cert_wish){ .issuer = &certs->ca, .name = "localhost",
								 .names = "IP:127.0.0.1" },
				       &other_names) &&
			test_cert_make(&(struct test_cert_wish){ .name = "other CA", .ca = true }, &foreign_ca) &&
			test_cert_make(&(struct test_cert_wish){ .issuer = &foreign_ca, .name = "x",
				.names = "DNS:localhost" }, &foreign));
	return made;
}

TEST(who_is_trusted)
{
	const struct test_certs *certs = test_certs();

	CHECK(certs && make_more(certs));
	EACH_ROW (row, hands) {
		const struct test_cert *shown[] = { &certs->server, &expired, &early, &foreign, &nameless,
						    &other_names },
			*own[] = { NULL, &certs->client, &foreign };
		FL_AUTO(ends) struct ends ends = { 0 };
		struct fl_tls_config server = config_of(shown[row->server], &certs->ca, true, row->peer);
		struct fl_tls_config client = config_of(own[row->shows], &certs->ca, false, FL_TLS_PEER_VERIFY);

		OK(shake(&ends, &server, &client, row->name, SIZE_MAX));
		CHECK_INT(ends.client_result, row->client_result);
		if (row->client_result < 0)
			CHECK_STR(start(&ends.client_err, row->client_says), row->client_says);
		if (row->client_result == 1)
			CHECK_INT(ends.server_result, row->server_result);
		if (row->client_result == 1 && row->server_result < 0)
			CHECK_STR(start(&ends.server_err, row->server_says), row->server_says);
	}
}

TEST(a_handshake_may_come_byte_by_byte)
{
	const struct test_certs *certs = test_certs();
	FL_AUTO(ends) struct ends ends = { 0 };
	struct fl_tls_config server, client;

	CHECK(certs);
	server = config_of(&certs->server, NULL, true, FL_TLS_PEER_TRUST);
	client = config_of(NULL, &certs->ca, false, FL_TLS_PEER_VERIFY);
	server.no_h2 = true;
	OK(shake(&ends, &server, &client, "localhost", 1));
	CHECK_INT(ends.server_result, 1);
	CHECK_INT(ends.client_result, 1);
	CHECK(!fl_tls_h2(ends.client));
}

TEST(the_client_is_who_its_certificate_says)
{
	const struct test_certs *certs = test_certs();
	FL_AUTO(ends) struct ends ends = { 0 };
	const struct fl_tls_subject *subject;
	struct fl_tls_config server, client;

	CHECK(certs);
	server = config_of(&certs->server, &certs->ca, true, FL_TLS_PEER_ASK);
	client = config_of(&certs->client, &certs->ca, false, FL_TLS_PEER_VERIFY);
	OK(shake(&ends, &server, &client, "localhost", SIZE_MAX));
	OK(fl_tls_peer_subject(ends.server, &subject, NULL));
	CHECK_STR(subject->common_name, "tester");
	CHECK_INT(subject->organization_count, 1);
	CHECK_STR(subject->organizations[0], "testers");
}

static const struct {
	const char *says;
	struct fl_tls_config config;
	const char *want;
} contexts[] = {
	{ "a server needs a certificate", { .server = true }, "the certificate is not PEM" },
	{ "a certificate needs its key", { .cert = FL_S_INIT("C") }, "the private key is not PEM, or has a password" },
	{ "a key needs its certificate", { .key = FL_S_INIT("K") }, "the private key belongs to another certificate" },
	{ "a key of another certificate", { .cert = FL_S_INIT("C"), .key = FL_S_INIT("X") },
		"the private key belongs to another certificate" },
	{ "text that is no certificate", { .cert = FL_S_INIT("hello"), .key = FL_S_INIT("K") },
		"the certificate is not PEM" },
	{ "half a certificate", { .cert = FL_S_INIT("H"), .key = FL_S_INIT("K") },
		"the certificate is not PEM: bad end line" },
	{ "a CA that is none", { .ca = FL_S_INIT("hello") }, "the CA certificates are not PEM" },
	{ "nobody to trust", { .peer = FL_TLS_PEER_VERIFY }, "no CA is given to verify the peer with" },
};

static struct fl_str spell(struct fl_str letter, const struct test_certs *certs, const char *half)
{
	if (fl_str_eq(letter, FL_S("C")))
		return fl_str(certs->server.cert);
	if (fl_str_eq(letter, FL_S("K")))
		return fl_str(certs->server.key);
	if (fl_str_eq(letter, FL_S("X")))
		return fl_str(certs->client.key);
	return fl_str_eq(letter, FL_S("H")) ? fl_str(half) : letter;
}

TEST(a_bad_certificate_is_told_before_it_is_used)
{
	const struct test_certs *certs = test_certs();
	char half[400];

	CHECK(certs);
	memcpy(half, certs->server.cert, sizeof half - 1);
	half[sizeof half - 1] = 0;
	EACH_ROW (row, contexts) {
		struct fl_err err = { 0 };
		struct fl_tls_config config = row->config;
		FL_AUTO(fl_tls_context) struct fl_tls_context *context = NULL;

		config.cert = spell(config.cert, certs, half);
		config.key = spell(config.key, certs, half);
		context = fl_tls_context_new(&config, wall(), &err);
		CHECK(!context);
		REFUSED(-(int)err.code, FL_E_INVALID);
		CHECK_STR(start(&err, row->want), row->want);
	}
}

TEST(an_expired_certificate_of_ours_is_refused)
{
	const struct test_certs *certs = test_certs();
	struct fl_tls_config config;
	FL_AUTO(fl_tls_context) struct fl_tls_context *good = NULL;
	struct fl_err err = { 0 };

	CHECK(certs);
	config = config_of(&certs->server, NULL, true, FL_TLS_PEER_TRUST);
	good = fl_tls_context_new(&config, wall(), &err);
	GOT(good);
	CHECK(fl_tls_context_expires(good) > wall() / 1000000000 + 80000);
	CHECK(!fl_tls_context_new(&config, wall() + 90000 * 1000000000ll, &err));
	REFUSED(-(int)err.code, FL_E_INVALID);
	CHECK_STR(start(&err, "the certificate has expired on 20"), "the certificate has expired on 20");
}

TEST(plain_http_is_no_tls)
{
	const struct test_certs *certs = test_certs();
	FL_AUTO(ends) struct ends ends = { 0 };
	struct fl_tls_config server, client;

	CHECK(certs);
	server = config_of(&certs->server, NULL, true, FL_TLS_PEER_TRUST);
	client = config_of(NULL, &certs->ca, false, FL_TLS_PEER_VERIFY);
	OK(shake(&ends, &server, &client, "localhost", SIZE_MAX));
	ends.server = fl_tls_free(ends.server);
	ends.server = fl_tls_new(ends.server_context, NULL, NULL);
	GOT(ends.server);
	fl_tls_feed(ends.server, "GET / HTTP/1.1\r\n\r\n", 18);
	REFUSED(fl_tls_handshake(ends.server, &ends.server_err), FL_E_INVALID);
	CHECK_STR(fl_str(ends.server_err.text), "the client sent plain HTTP to a TLS port: http request");
	ends.client = fl_tls_free(ends.client);
	ends.client = fl_tls_new(ends.client_context, "localhost", NULL);
	GOT(ends.client);
	fl_tls_feed(ends.client, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
	REFUSED(fl_tls_handshake(ends.client, &ends.client_err), FL_E_INVALID);
	CHECK_STR(fl_str(ends.client_err.text), "the peer does not speak TLS: wrong version number");
}

TEST(a_bundle_of_many_is_read_in_steps)
{
	FL_AUTO(fl_buf) struct fl_buf ca = FL_BUF(FL_MIB);
	FL_AUTO(fl_tls_context) struct fl_tls_context *context = NULL;
	struct fl_tls_config config = { 0 };
	struct fl_err err = { 0 };
	int steps = 0, more = 1;

	for (int i = 0; i < 3 * FL_TLS_CA_STEP; i++)
		fl_buf_str(&ca, fl_str(test_certs()->ca.cert));
	OK(fl_buf_check(&ca, "the bundle", NULL));
	config.ca = fl_buf_view(&ca);
	context = fl_tls_context_begin(&config, wall(), &err);
	GOT(context);
	for (; more > 0; steps++)
		more = fl_tls_context_step(context, &err);
	OK_ERR(more, &err);
	CHECK_INT(steps, 4);
	OK_ERR(fl_tls_context_step(context, &err), &err);   /* there is nothing more to do */
}

TEST(openssl_is_made_ready_off_the_loop)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct fl_op op = { 0 };

	GOT(io);
	fl_tls_prepare(io, &op, FL_S(""));
	CHECK(fl_op_busy(&op));
	OK(test_op(io, &op));
	fl_tls_prepare(io, &op, FL_S("no key"));
	fl_op_cancel(&op);
	CHECK(!fl_op_busy(&op));
}
