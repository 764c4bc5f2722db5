/* The web config file of Prometheus' exporters: what is taken, and what is refused by its name. */
#include "serve/web.h"
#include "test.h"
#include <string.h>

#define PAIR "cert_file: tls.crt, key_file: /k/tls.key"

static const struct {
	const char *says, *text;
	const char *want;   /* cert|key|ca|clients|http2, or what the error has in it behind a '!' */
} rows[] = {
	{ "an empty file is plain HTTP", "", "|||NoClientCert|yes" },
	{ "comments alone are, too", "# TLS later\n", "|||NoClientCert|yes" },
	{ "paths are relative to the file", "tls_server_config: {" PAIR "}",
	  "/etc/web/tls.crt|/k/tls.key||NoClientCert|yes" },
	{ "clients that must show a certificate",
	  "tls_server_config: {" PAIR ", client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca}",
	  "/etc/web/tls.crt|/k/tls.key|/etc/web/ca|RequireAndVerifyClientCert|yes" },
	{ "clients that may",
	  "tls_server_config: {" PAIR ", client_auth_type: VerifyClientCertIfGiven, client_ca_file: ca}",
	  "/etc/web/tls.crt|/k/tls.key|/etc/web/ca|VerifyClientCertIfGiven|yes" },
	{ "without HTTP/2", "http_server_config: {http2: false}", "|||NoClientCert|no" },
	{ "the least version that there is", "tls_server_config: {" PAIR ", min_version: TLS12}",
	  "/etc/web/tls.crt|/k/tls.key||NoClientCert|yes" },
	{ "another least version is refused", "tls_server_config: {" PAIR ", min_version: TLS13}", "!min_version" },
	{ "passwords are refused by name", "basic_auth_users: {a: $2y$10$x}",
	  "!basic_auth_users: not supported: show a token" },
	{ "an unverified certificate is none", "tls_server_config: {" PAIR ", client_auth_type: RequireAnyClientCert, "
	  "client_ca_file: ca}", "!client_auth_type" },
	{ "ciphers are refused by name", "tls_server_config: {" PAIR ", cipher_suites: [A]}", "!cipher_suites" },
	{ "names of clients are", "tls_server_config: {" PAIR ", client_allowed_sans: [a]}", "!client_allowed_sans" },
	{ "a certificate in the file is", "tls_server_config: {cert: x, key: y}", "!write cert_file" },
	{ "headers are", "http_server_config: {headers: {A: b}}", "!http_server_config.headers" },
	{ "an unknown name is refused", "tls_server_config: {certificate: x}", "!certificate: no such field" },
	{ "a certificate needs its key", "tls_server_config: {cert_file: c}", "!key_file is missing" },
	{ "a key its certificate", "tls_server_config: {key_file: c}", "!cert_file is missing" },
	{ "verifying needs a CA", "tls_server_config: {" PAIR ", client_auth_type: RequireAndVerifyClientCert}",
	  "!client_ca_file is missing" },
	{ "a CA needs a use", "tls_server_config: {" PAIR ", client_ca_file: ca}", "!client_auth_type is missing" },
	{ "clients' certificates need TLS", "tls_server_config: {client_auth_type: VerifyClientCertIfGiven}",
	  "!to TLS only" },
	{ "what is no YAML has a line", "a: [\n", "!line " },
	{ "a list is no config", "[a]", "!an object" },
};

TEST(web_configs)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf got = FL_BUF(FL_KIB);
		struct fl_err err = { 0 };
		struct fl_web web;
		int r = fl_web_read(fl_str(row->text), FL_S("/etc/web/"), &arena, &web, &err);

		if (r == -FL_E_INVALID && row->want[0] == '!') {
			CHECK(strstr(err.text, row->want + 1));
			continue;
		}
		OK_ERR(r, &err);
		fl_buf_printf(&got, "%.*s|%.*s|%.*s|%s|%s", FL_ARG(web.cert), FL_ARG(web.key), FL_ARG(web.ca),
			      fl_name(&fl_web_clients_names, (int)web.clients), web.h2 ? "yes" : "no");
		OK(fl_buf_check(&got, "config", NULL));
		CHECK_STR(fl_buf_view(&got), row->want);
	}
}
