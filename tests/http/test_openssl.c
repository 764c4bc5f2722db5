/* OpenSSL is loaded when it is first needed, and what is wrong with it is named. */
#include "http/openssl.h"
#include "test.h"

static const struct {
	const char *says;
	const char *lacks;           /* a name that the library does not have */
	unsigned long version;
	int code;
	const char *text;            /* part of the error */
} rows[] = {
	{ "the version that the headers are of is taken", NULL, OPENSSL_VERSION_NUMBER, 0, "" },
	{ "a later minor version is taken", NULL, OPENSSL_VERSION_NUMBER + (1ul << 20), 0, "" },
	{ "an older major version is refused", NULL, 0x1010101fl, -FL_E_UNSUPPORTED,
	  "it is version 1.1, older than 3." },
	{ "a later major version is refused", NULL, 0x40000000l, -FL_E_UNSUPPORTED, "it is version 4.0" },
	{ "a library without one of the functions is refused, and the function is named", "SSL_read_ex",
	  OPENSSL_VERSION_NUMBER, -FL_E_UNSUPPORTED, "it has no SSL_read_ex: install OpenSSL 3" },
};

static unsigned long told_version;

static unsigned long version_num(void)
{
	return told_version;
}

static void *find(void *library, const char *name)
{
	unsigned long (*version)(void) = version_num;
	void *at = library;

	if (library && strcmp(library, name) == 0)
		return NULL;
	if (strcmp(name, "OpenSSL_version_num") == 0)
		memcpy(&at, &version, sizeof at);
	return at ? at : (void *)&told_version;
}

TEST(only_a_whole_openssl_of_this_major_version_is_taken)
{
	EACH_ROW (row, rows) {
		struct fl_openssl got = { 0 }, none = { 0 };
		struct fl_err err = { 0 };
		char lacks[32] = "";

		told_version = row->version;
		if (row->lacks)
			memcpy(lacks, row->lacks, strlen(row->lacks) + 1);
		CHECK_INT(fl_openssl_fill(&got, find, row->lacks ? lacks : NULL, &err), row->code);
		CHECK(strstr(err.text, row->text) != NULL);
		CHECK((memcmp(&got, &none, sizeof got) == 0) == (row->code != 0));
	}
}

TEST(a_missing_openssl_is_named_with_its_file_and_package)
{
	struct fl_openssl got = { 0 };
	struct fl_err err = { 0 };

	CHECK_INT(fl_openssl_open(&got, "libssl.so.999", &err), -FL_E_NOTFOUND);
	CHECK(strstr(err.text, "load libssl.so.999 for TLS: ") == err.text);
	CHECK(strstr(err.text, "No such file") != NULL);
	CHECK(strstr(err.text, ": install OpenSSL 3 (Debian: libssl3") != NULL);
	CHECK(!got.SSL_new);
}

TEST(openssl_is_loaded_once)
{
	struct fl_err err = { 0 };
	struct fl_openssl first;

	CHECK_INT(fl_openssl_load(&err), 0);
	first = fl_openssl;
	CHECK(first.SSL_new && first.X509_verify_cert_error_string);
	CHECK_INT(fl_openssl_load(&err), 0);
	CHECK(memcmp(&first, &fl_openssl, sizeof first) == 0);
}
