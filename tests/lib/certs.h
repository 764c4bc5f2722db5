/* certs.h - certificates and keys for tests, made when they are needed; none is committed. P-256, as PEM. */
#pragma once
#include "base/str.h"

struct test_cert {
	char cert[2048], key[512];
};

struct test_cert_wish {
	const struct test_cert *issuer;   /* NULL: signed by itself */
	const char *name;                 /* common name */
	const char *group;                /* organisation; NULL: none */
	const char *names;                /* "DNS:a,IP:127.0.0.1"; NULL: none */
	long from, to;                    /* seconds from now; both 0: from an hour ago for a day */
	bool ca;
};

/* false: something in OpenSSL failed. */
bool test_cert_make(const struct test_cert_wish *wish, struct test_cert *ret);

/* Made once a program: a CA, a server ("localhost", 127.0.0.1, ::1), a client ("tester" of "testers"). NULL on
 * failure. */
struct test_certs {
	struct test_cert ca, server, client;
};
const struct test_certs *test_certs(void);
