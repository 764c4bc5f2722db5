/* openssl.h - OpenSSL, loaded when it is first needed.
 *
 * The dynamic loader takes some 4 ms for libssl and libcrypto in each process, so the program has no NEEDED entry for
 * them. fl_openssl_load() opens them; calls go through the table `fl_openssl` (openssl_use.h).
 */
#pragma once
#ifndef OPENSSL_NO_DEPRECATED
#define OPENSSL_NO_DEPRECATED
#endif
#include "base/err.h"
#include "http/openssl_calls.h"
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* The library's file, of the headers' shared object version. */
#define FL_OPENSSL_FILE "libssl.so." OPENSSL_MSTR(OPENSSL_SHLIB_VERSION)

#define FL_OPENSSL_MEMBER_(name) __typeof__(name) *name;
struct fl_openssl { FL_OPENSSL_CALLS(FL_OPENSSL_MEMBER_) };
#undef FL_OPENSSL_MEMBER_

/* All NULL until fl_openssl_load() has returned 0, then constant and shared by all threads. */
extern struct fl_openssl fl_openssl;

/* Loads the library once, which blocks for some 4 ms; from then on returns 0 at once. Any thread may call it.
 * FL_E_NOTFOUND, FL_E_UNSUPPORTED: the text names the file and the package. The next call tries again. */
int fl_openssl_load(struct fl_err *err) FL_MUSTUSE;

/* Its two halves, for tests: open a file; fill `ret` by find(library, name), which is dlsym or a test's own. A failure
 * leaves `ret` unchanged. */
int fl_openssl_open(struct fl_openssl *ret, const char *file, struct fl_err *err) FL_MUSTUSE;
int fl_openssl_fill(struct fl_openssl *ret, void *(*find)(void *library, const char *name), void *library,
		    struct fl_err *err) FL_MUSTUSE;
