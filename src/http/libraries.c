#include "http/libraries.h"
#include "http/openssl_use.h"
#include <nghttp2/nghttp2.h>

void fl_http_libraries(void (*say)(void *self, const char *name, const char *version), void *self)
{
	say(self, "nghttp2", nghttp2_version(0)->version_str);
	say(self, "openssl", fl_openssl_load(NULL) == 0 ? OpenSSL_version(OPENSSL_VERSION_STRING) : "missing");
}
