#include "http/openssl.h"
#include "base/mem.h"
#include <dlfcn.h>
#include <pthread.h>

#define HINT "install OpenSSL " OPENSSL_MSTR(OPENSSL_VERSION_MAJOR) " (Debian: libssl3 or libssl3t64)"

struct fl_openssl fl_openssl;

#define NAME_(name) #name,
static const char *const names[] = { FL_OPENSSL_CALLS(NAME_) };
#undef NAME_

_Static_assert(sizeof(struct fl_openssl) == sizeof names, "a pointer a name");
_Static_assert(sizeof(void *) == sizeof(void (*)(void)), "dlsym's pointer is a function's too");

int fl_openssl_fill(struct fl_openssl *ret, void *(*find)(void *library, const char *name), void *library,
		    struct fl_err *err)
{
	struct fl_openssl got;
	unsigned long version;

	for (size_t i = 0; i < FL_LEN(names); i++) {
		void *at = find(library, names[i]);

		if (!at)
			return fl_fail(err, FL_E_UNSUPPORTED, "load " FL_OPENSSL_FILE ": it has no %s: " HINT,
				       names[i]);
		memcpy((char *)&got + i * sizeof at, &at, sizeof at);
	}
	/* 0xMNN00PP0. Within a major version OpenSSL removes nothing and changes no meaning; an older minor version may
	 * lack a flag that the headers have. */
	version = got.OpenSSL_version_num();
	if (version >> 28 != OPENSSL_VERSION_MAJOR || version >> 20 < (unsigned long)OPENSSL_VERSION_NUMBER >> 20)
		return fl_fail(err, FL_E_UNSUPPORTED,
			       "load " FL_OPENSSL_FILE ": it is version %lu.%lu, older than %d.%d or of another major "
			       "version: " HINT,
			       version >> 28, version >> 20 & 0xff, OPENSSL_VERSION_MAJOR,
			       OPENSSL_VERSION_MINOR);
	*ret = got;
	return 0;
}

static void *find_symbol(void *library, const char *name)
{
	return dlsym(library, name);   /* libssl's handle reaches libcrypto, which it needs */
}

int fl_openssl_open(struct fl_openssl *ret, const char *file, struct fl_err *err)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	int r;

	if (!library) {
		const char *words = dlerror();

		return fl_fail(err, FL_E_NOTFOUND, "load %s for TLS: %s: " HINT, file,
			       words ? words : "no reason given");
	}
	r = fl_openssl_fill(ret, find_symbol, library, err);
	if (r < 0)
		(void)dlclose(library);
	return r;
}

/* A lock outside io: the loop and a worker (tls_prepare.c) may be the first at the same time. */
int fl_openssl_load(struct fl_err *err)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool loaded;
	int r = 0;

	(void)pthread_mutex_lock(&lock);
	if (!loaded)
		r = fl_openssl_open(&fl_openssl, FL_OPENSSL_FILE, err);
	if (r == 0)
		loaded = true;
	(void)pthread_mutex_unlock(&lock);
	return r;
}
