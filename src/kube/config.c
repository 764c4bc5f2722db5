#include "base/vec.h"
#include "io/file.h"
#include "json/yaml.h"
#include "kube/config_in.h"
#include <errno.h>

#define FL_KUBECONFIG_FILES 64           /* in $KUBECONFIG: more than anybody lists */

static const char account_folder[] = "/var/run/secrets/kubernetes.io/serviceaccount";

struct fl_kube_config *fl_kube_config_free(struct fl_kube_config *config)
{
	if (config) {
		fl_arena_free(&config->arena);
		fl_free(config);
	}
	return NULL;
}

/* ---- small things ---- */

struct fl_str fl_kc_env(const struct fl_kube_where *where, const char *name)
{
	size_t len = strlen(name);

	for (const char *const *at = where->env; at && *at; at++)
		if (strncmp(*at, name, len) == 0 && (*at)[len] == '=' && (*at)[len + 1])
			return fl_str(*at + len + 1);
	return (struct fl_str){ 0 };
}

const char *fl_kc_text(struct fl_arena *arena, struct fl_str s)
{
	return fl_arena_str(arena, s).p;
}

struct fl_str fl_kc_folder(struct fl_str file)
{
	uint32_t len = file.len;

	while (len && file.p[len - 1] != '/')
		len--;
	if (len == 0)
		return FL_S(".");
	return fl_str_sub(file, 0, len > 1 ? len - 1 : 1);
}

const char *fl_kc_path(struct fl_arena *arena, struct fl_str folder, struct fl_str path)
{
	if (fl_str_starts(path, FL_S("/")) || fl_str_eq(folder, FL_S(".")))
		return fl_kc_text(arena, path);
	return fl_arena_printf(arena, "%.*s/%.*s", FL_ARG(folder), FL_ARG(path)).p;
}

bool fl_kc_url_local(struct fl_str url)
{
	struct fl_str host;
	struct fl_addr addr;
	int64_t at;

	if (fl_str_starts(url, FL_S("unix:")))
		return true;
	for (at = 0; (uint64_t)at + 3 <= url.len && memcmp(url.p + at, "://", 3) != 0;)
		at++;
	host = (uint64_t)at + 3 <= url.len ? fl_str_sub(url, (uint32_t)at + 3, url.len) : url;
	at = fl_str_find(host, '/');
	host = at < 0 ? host : fl_str_sub(host, 0, (uint32_t)at);
	if (fl_str_starts(host, FL_S("["))) {
		at = fl_str_find(host, ']');
		host = fl_str_sub(host, 1, at < 1 ? 0 : (uint32_t)at - 1);
	} else {
		at = fl_str_find(host, ':');
		host = at < 0 ? host : fl_str_sub(host, 0, (uint32_t)at);
	}
	if (fl_str_eq(host, FL_S("localhost")))
		return true;
	return fl_addr_parse_ip(&addr, host, 1, NULL) == 0 && fl_addr_local(&addr);
}

/* ---- a file's text ---- */

#define REFUSE_TWICE(list, what) \
	for (uint32_t i_ = 0; i_ < (list)->len; i_++) \
		for (uint32_t k_ = 0; k_ < i_; k_++) \
			if (fl_str_eq((list)->at[i_].name, (list)->at[k_].name)) \
				return fl_fail(err, FL_E_INVALID, "two " what " are called '%.*s': remove one", \
					       FL_ARG((list)->at[i_].name))

static int check_file(const struct fl_kubeconfig *config, struct fl_err *err)
{
	if (config->faults.len)
		return fl_fail(err, FL_E_INVALID, "%.*s must be %.*s", FL_ARG(config->faults.at[0].path),
			       FL_ARG(config->faults.at[0].want));
	if (config->has.kind && config->kind.len && !fl_str_eq(config->kind, FL_S("Config")))
		return fl_fail(err, FL_E_INVALID, "its kind is '%.*s', a kubeconfig's is Config", FL_ARG(config->kind));
	if (config->has.api_version && config->api_version.len && !fl_str_eq(config->api_version, FL_S("v1")))
		return fl_fail(err, FL_E_INVALID, "apiVersion is '%.*s', a kubeconfig's is v1",
			       FL_ARG(config->api_version));
	REFUSE_TWICE(&config->clusters, "clusters");
	REFUSE_TWICE(&config->users, "users");
	REFUSE_TWICE(&config->contexts, "contexts");
	return 0;
}

static int decode_file(struct fl_kc_files *files, struct fl_str text, struct fl_kubeconfig *ret, struct fl_err *err)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	FL_AUTO(fl_buf) struct fl_buf json = FL_BUF(FL_KUBECONFIG_MAX * 2);
	FL_AUTO(fl_yaml) struct fl_yaml *yaml = NULL;
	int r = fl_yaml_open(text, &yaml, err);

	if (r < 0 || (r = fl_yaml_next(yaml, &json, err)) <= 0)
		return r;   /* an empty file is an empty configuration */
	r = fl_json_read(NULL, fl_buf_view(&json), 0, &doc, err);
	if (r < 0)
		return r;
	/* "null" and blanks are empty, too. */
	if (yyjson_is_null(yyjson_doc_get_root(doc)))
		return 0;
	r = fl_decode(fl_kubeconfig_bind(), yyjson_doc_get_root(doc), files->arena, 0, ret, err);
	return r < 0 ? r : check_file(ret, err);
}

int fl_kc_add(struct fl_kc_files *files, struct fl_str name, struct fl_str text, struct fl_err *err)
{
	struct fl_kc_file *file;
	int r;

	if (files->len == files->max)
		return fl_fail(err, FL_E_TOOBIG, "more than %u kubeconfig files", files->max);
	file = &files->at[files->len];
	file->name = fl_arena_str(files->arena, name);
	if (!file->name.p)
		return fl_fail(err, FL_E_NOMEM, "no memory for a kubeconfig");
	r = decode_file(files, text, &file->config, err);
	if (r < 0)
		return fl_wrap(err, "%.*s", FL_ARG(name));
	files->len++;
	return 0;
}

/* ---- from the disk ---- */

/* 1: read. 0: there is none. */
static int read_file(const struct fl_fs *fs, const char *path, struct fl_buf *into, struct fl_err *err)
{
	int fd = fs->open(fs, AT_FDCWD, path, O_RDONLY, 0);
	int64_t n = 1;

	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0;
	if (fd < 0)
		return fl_fail_sys(err, -fd, "cannot read '%s'", path);
	fl_buf_clear(into);
	while (n > 0) {
		void *room = fl_buf_room(into, FL_FILE_FIRST);

		n = room ? fs->read(fs, fd, room, FL_FILE_FIRST) : 0;
		if (n > 0)
			fl_buf_added(into, (size_t)n);
	}
	fs->close(fs, fd);
	if (n < 0)
		return fl_fail_sys(err, (int)-n, "cannot read '%s'", path);
	if (fl_buf_check(into, path, err) < 0)
		return -(int)err->code;
	return 1;
}

static int load_file(const struct fl_fs *fs, struct fl_kc_files *files, const char *path, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_KUBECONFIG_MAX);
	struct fl_err own = { 0 };
	int r = read_file(fs, path, &text, &own);

	if (r < 0)
		return fl_fail_as(err, &own);
	if (r == 0)
		return 0;
	r = fl_kc_add(files, fl_str(path), fl_buf_view(&text), err);
	return r < 0 ? r : 1;
}

/* $KUBECONFIG: a list; what is not there is passed over, as kubectl does, and so is a file that is named again. */
static int load_list(const struct fl_fs *fs, struct fl_kc_files *files, struct fl_str list, struct fl_err *err)
{
	struct fl_str part;

	while (fl_str_split(&list, ':', &part)) {
		FL_AUTO(fl_mem) char *path = NULL;
		bool known = part.len == 0;
		int r;

		for (uint32_t i = 0; i < files->len; i++)
			known = known || fl_str_eq(files->at[i].name, part);
		if (known)
			continue;
		path = fl_strdup(part);
		if (!path)
			return fl_fail(err, FL_E_NOMEM, "no memory for a kubeconfig");
		r = load_file(fs, files, path, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int load_home(const struct fl_fs *fs, struct fl_kc_files *files, struct fl_str home, struct fl_err *err)
{
	struct fl_str path = fl_arena_printf(files->arena, "%.*s/.kube/config", FL_ARG(home));

	if (!path.p)
		return fl_fail(err, FL_E_NOMEM, "no memory for a kubeconfig");
	return load_file(fs, files, path.p, err);
}

/* ---- the Pod's service account ---- */

static int account_space(const struct fl_fs *fs, const char *folder, struct fl_kube_config *config, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(2 * FL_FILE_FIRST);
	struct fl_str path = fl_arena_printf(&config->arena, "%s/namespace", folder);
	int r = path.p ? read_file(fs, path.p, &text, err) : fl_fail(err, FL_E_NOMEM, "no memory");

	if (r < 0)
		return r;
	config->space = fl_arena_str(&config->arena, r ? fl_str_trim(fl_buf_view(&text)) : FL_S("default"));
	if (config->space.p && !config->space.len)
		config->space = FL_S("default");
	return 0;
}

static int load_account(const struct fl_fs *fs, const struct fl_kube_where *where, struct fl_kube_config *config,
			struct fl_err *err)
{
	const char *folder = where->account_dir ? where->account_dir : account_folder;
	struct fl_str host = fl_kc_env(where, "KUBERNETES_SERVICE_HOST"), port = fl_kc_env(where,
											   "KUBERNETES_SERVICE_PORT");
	bool six = fl_str_find(host, ':') >= 0;

	config->server = fl_arena_printf(&config->arena, "https://%s%.*s%s:%.*s", six ? "[" : "", FL_ARG(host),
					 six ? "]" : "", FL_ARG(port));
	config->source = fl_arena_printf(&config->arena, "the service account in %s", folder);
	config->token.path = fl_arena_printf(&config->arena, "%s/token", folder).p;
	config->ca.path = fl_arena_printf(&config->arena, "%s/ca.crt", folder).p;
	config->tls = true;
	if (where->as)
		config->as = fl_arena_str(&config->arena, fl_str(where->as));
	if (account_space(fs, folder, config, err) < 0)
		return -(int)err->code;
	if (where->space)
		config->space = fl_arena_str(&config->arena, fl_str(where->space));
	if (!config->server.p || !config->source.p || !config->token.path || !config->ca.path || !config->space.p)
		return fl_fail(err, FL_E_NOMEM, "no memory for the service account");
	return 0;
}

/* ---- --server ---- */

static int take_server(const struct fl_kube_where *where, struct fl_kube_config *config, struct fl_err *err)
{
	const char *option = where->server_option ? where->server_option : "--server";
	struct fl_str server = fl_str(where->server);
	bool bare = !fl_str_starts(server, FL_S("http:")) && !fl_str_starts(server, FL_S("https:")) &&
		    !fl_str_starts(server, FL_S("unix:"));

	if (fl_str_starts(server, FL_S("https:")))
		return fl_fail(err, FL_E_UNSUPPORTED,
			       "%s %s: it is for a plain server on this machine; name a kubeconfig with --kubeconfig, "
			       "it holds certificates too",
			       option, where->server);
	if (!fl_kc_url_local(server))
		return fl_fail(err, FL_E_DENIED,
			       "%s %s: plain http leaves this machine unprotected; use a loopback address, or "
			       "--kubeconfig",
			       option, where->server);
	config->server = fl_arena_printf(&config->arena, "%s%s", bare ? "http://" : "", where->server);
	config->source = fl_arena_printf(&config->arena, "%s %s", option, where->server);
	config->space = fl_arena_str(&config->arena, fl_str(where->space ? where->space : "default"));
	config->as = fl_arena_str(&config->arena, fl_str(where->as));
	if (!config->server.p || !config->source.p || !config->space.p)
		return fl_fail(err, FL_E_NOMEM, "no memory for a kubeconfig");
	return 0;
}

/* ---- all of it ---- */

static int load_files(const struct fl_fs *fs, const struct fl_kube_where *where, struct fl_kc_files *files,
		      struct fl_err *err)
{
	struct fl_str list = fl_kc_env(where, "KUBECONFIG"), home = fl_kc_env(where, "HOME");
	int r;

	if (where->kubeconfig) {
		r = load_file(fs, files, where->kubeconfig, err);
		if (r == 0)
			return fl_fail(err, FL_E_NOTFOUND, "--kubeconfig %s: there is no such file", where->kubeconfig);
		return r;
	}
	if (list.p)
		return load_list(fs, files, list, err);
	return home.p ? load_home(fs, files, home, err) : 0;
}

static int load(const struct fl_fs *fs, const struct fl_kube_where *where, struct fl_kube_config *config,
		struct fl_err *err)
{
	struct fl_kc_files files = { .max = FL_KUBECONFIG_FILES, .arena = &config->arena };

	if (where->server)
		return take_server(where, config, err);
	files.at = fl_arena_get_n(&config->arena, files.max, sizeof *files.at);
	if (!files.at)
		return fl_fail(err, FL_E_NOMEM, "no memory for a kubeconfig");
	if (load_files(fs, where, &files, err) < 0)
		return -1;
	if (files.len)
		return fl_kc_choose(&files, where, fs, config, err);
	if (fl_kc_env(where, "KUBERNETES_SERVICE_HOST").p && fl_kc_env(where, "KUBERNETES_SERVICE_PORT").p)
		return load_account(fs, where, config, err);
	return fl_fail(err, FL_E_NOTFOUND, "no cluster is named: there is no file in $KUBECONFIG, no ~/.kube/config, "
					   "and this "
					   "is no Pod; name a kubeconfig with --kubeconfig");
}

struct fl_kube_config *fl_kube_config_load(const struct fl_fs *fs, const struct fl_kube_where *where,
					   struct fl_err *err)
{
	struct fl_err own = { 0 };
	FL_AUTO(fl_kube_config) struct fl_kube_config *config = fl_zalloc(sizeof *config);

	if (!config)
		(void)fl_fail(&own, FL_E_NOMEM, "no memory for a kubeconfig");
	if (!config || load(fs, where, config, &own) < 0) {
		(void)fl_fail_as(err, &own);
		return NULL;
	}
	return fl_steal(&config);
}
