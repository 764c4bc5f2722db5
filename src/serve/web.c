#include "serve/web.h"
#include "base/units.h"
#include "json/setting.h"
#include "json/yaml.h"

FL_NAMES(fl_web_clients_names, FL_WEB_CLIENTS_COUNT_, [FL_WEB_ANY] = "NoClientCert",
	 [FL_WEB_GIVEN] = "VerifyClientCertIfGiven", [FL_WEB_REQUIRED] = "RequireAndVerifyClientCert");
/* The least version is always this one. */
FL_NAMES(fl_web_version_names, FL_WEB_VERSION_COUNT_, [FL_WEB_TLS12] = "TLS12");

FL_BIND(fl_web, FL_WEB)

#define TLS "tls_server_config."
#define FIELD(place, kind_, member_, ...) \
	{ .file = (place), .kind = FL_SETTING_##kind_, .member = offsetof(struct fl_web, member_), __VA_ARGS__ }
#define NOT_SERVED(place, why) { .file = (place), .kind = FL_SETTING_UNREAD, .untaken = "not supported: " why }

static const struct fl_setting rows[] = {
	FIELD(TLS "cert_file", TEXT, cert),
	FIELD(TLS "key_file", TEXT, key),
	FIELD(TLS "client_ca_file", TEXT, ca),
	FIELD(TLS "client_auth_type", ENUM, clients),
	FIELD("http_server_config.http2", BOOL, h2, .fallback = "true"),
	{ .file = TLS "min_version", .kind = FL_SETTING_ENUM, .names = &fl_web_version_names },
	NOT_SERVED("basic_auth_users", "show a token that the API server knows, or a client certificate"),
	NOT_SERVED("rate_limit", "reviews of tokens have limits of their own"),
	NOT_SERVED("http_server_config.headers", "no page is for browsers"),
	NOT_SERVED(TLS "cert", "write cert_file"),
	NOT_SERVED(TLS "key", "write key_file"),
	NOT_SERVED(TLS "client_ca", "write client_ca_file"),
	NOT_SERVED(TLS "client_allowed_sans", "let client_ca_file have the scraper's CA only"),
	NOT_SERVED(TLS "max_version", "TLS 1.3 is always offered"),
	NOT_SERVED(TLS "cipher_suites", "OpenSSL chooses"),
	NOT_SERVED(TLS "prefer_server_cipher_suites", "OpenSSL chooses"),
	NOT_SERVED(TLS "curve_preferences", "OpenSSL chooses"),
};

/* A path of the file becomes an absolute one, or one that is relative to us as `folder` is. */
static int resolve_path(struct fl_str folder, struct fl_arena *arena, struct fl_str *path, struct fl_err *err)
{
	if (!path->len || path->p[0] == '/')
		return 0;
	*path = fl_arena_printf(arena, "%.*s%.*s", FL_ARG(folder), FL_ARG(*path));
	return path->p ? 0 : fl_fail(err, FL_E_NOMEM, "no memory for the web config");
}

static int check_web(const struct fl_web *web, struct fl_err *err)
{
	if (!web->cert.len != !web->key.len)
		return fl_fail(err, FL_E_INVALID, TLS "%s is missing", web->cert.len ? "key_file" : "cert_file");
	if (!web->cert.len && (web->ca.len || web->clients != FL_WEB_ANY))
		return fl_fail(err, FL_E_INVALID, TLS "cert_file is missing: clients show certificates to TLS only");
	if (!web->ca.len && web->clients != FL_WEB_ANY)
		return fl_fail(err, FL_E_INVALID, TLS "client_ca_file is missing: it verifies clients");
	if (web->ca.len && web->clients == FL_WEB_ANY)
		return fl_fail(err, FL_E_INVALID,
			       TLS "client_auth_type is missing: client_ca_file is for RequireAndVerifyClientCert or "
				   "VerifyClientCertIfGiven");
	return 0;
}

int fl_web_read(struct fl_str text, struct fl_str folder, struct fl_arena *arena, struct fl_web *ret,
		struct fl_err *err)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct fl_str untaken = FL_S("");
	struct fl_setting_in in = { rows, FL_LEN(rows), fl_web_bind(), ret, arena, .untaken = &untaken,
				    .unknown = "no such field", .err = err };
	int r;

	*ret = (struct fl_web){ 0 };
	if (text.len > FL_WEB_MAX)
		return fl_fail(err, FL_E_TOOBIG, "the file has %u bytes, more than %llu", text.len, FL_WEB_MAX);
	r = fl_setting_fallbacks(&in);
	if (r == 0)
		r = fl_yaml_read_any(NULL, text, &doc, err);
	if (r > 0)
		r = fl_json_no_repeats(doc, err);
	if (r == 0 && doc)
		r = fl_setting_file(&in, doc);
	if (r == 0 && untaken.len)
		r = fl_fail(err, FL_E_INVALID, "%.*s", FL_ARG(untaken));
	if (r == 0)
		r = check_web(ret, err);
	if (r < 0 || resolve_path(folder, arena, &ret->cert, err) < 0 ||
	    resolve_path(folder, arena, &ret->key, err) < 0 || resolve_path(folder, arena, &ret->ca, err) < 0)
		return r < 0 ? r : -FL_E_NOMEM;
	return 0;
}
