/* web.h - the web config file of Prometheus' exporters: TLS, and whether clients show certificates.
 *
 *     tls_server_config: {cert_file: tls.crt, key_file: tls.key, client_auth_type: RequireAndVerifyClientCert,
 *                         client_ca_file: ca.crt}
 *     http_server_config: {http2: true}
 *
 * Paths are relative to the file. A file without tls_server_config, or an empty one, means plain HTTP. What is not
 * supported, passwords first of all, refuses the file by its name, as whoever wrote it relies on it. Pure.
 */
#pragma once
#include "json/bind.h"

#define FL_WEB_MAX (64 * FL_KIB)               /* the file: a screen of lines; certificates have files of their own */

enum fl_web_clients {
	FL_WEB_ANY,            /* no certificate is asked for */
	FL_WEB_GIVEN,          /* one that is shown is verified */
	FL_WEB_REQUIRED,
	FL_WEB_CLIENTS_COUNT_
};
extern const struct fl_names fl_web_clients_names;
enum fl_web_version { FL_WEB_TLS12, FL_WEB_VERSION_COUNT_ };
extern const struct fl_names fl_web_version_names;

#define FL_WEB(X) \
	X(STR, cert, "cert", .help = "Path of the certificate; absent: plain HTTP.") \
	X(STR, key, "key", .help = "Path of its key.") \
	X(STR, ca, "ca", .help = "Path of the CAs of clients.") \
	X(ENUM(fl_web_clients), clients, "clients", .help = "Whether clients show certificates.") \
	X(BOOL, h2, "http2", .help = "Is HTTP/2 offered?")
FL_STRUCT(fl_web, FL_WEB);

/* `folder`: where the file is, with '/' at its end or empty. Texts are in the arena. FL_E_INVALID names the field, or
 * the line, and what to write. */
int fl_web_read(struct fl_str text, struct fl_str folder, struct fl_arena *arena, struct fl_web *ret,
		struct fl_err *err) FL_MUSTUSE;
