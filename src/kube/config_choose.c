/* The context that is meant, and what its cluster and user say. */
#include "base/base64.h"
#include "kube/config_in.h"

FL_BIND(fl_kc_cluster, FL_KC_CLUSTER)
FL_BIND(fl_kc_env, FL_KC_ENV)
FL_BIND(fl_kc_exec, FL_KC_EXEC)
FL_BIND(fl_kc_any, FL_KC_ANY)
FL_BIND(fl_kc_user, FL_KC_USER)
FL_BIND(fl_kc_context, FL_KC_CONTEXT)
FL_BIND(fl_kc_named_cluster, FL_KC_NAMED_CLUSTER)
FL_BIND(fl_kc_named_user, FL_KC_NAMED_USER)
FL_BIND(fl_kc_named_context, FL_KC_NAMED_CONTEXT)
FL_BIND(fl_kubeconfig, FL_KUBECONFIG)

/* The first file's entry of that name; `file` says which. */
#define FIND(files, list, wanted, ret_file) ({ \
	__typeof__(&(files)->at[0].config.list.at[0].it) found_ = NULL; \
	for (uint32_t i_ = 0; i_ < (files)->len && !found_; i_++) \
		for (uint32_t k_ = 0; k_ < (files)->at[i_].config.list.len && !found_; k_++) \
			if (fl_str_eq((files)->at[i_].config.list.at[k_].name, (wanted))) { \
				found_ = &(files)->at[i_].config.list.at[k_].it; \
				*(ret_file) = (files)->at[i_].name; \
			} \
	found_; \
})

struct chooser {
	const struct fl_kube_where *where;
	struct fl_kube_config *config;
	struct fl_arena *arena;
	struct fl_str folder;          /* of the file that the entry stands in */
	struct fl_err *err;
};

static int no_memory(struct chooser *c)
{
	return fl_fail(c->err, FL_E_NOMEM, "no memory for a kubeconfig");
}

/* Base64 as YAML may fold it: line ends and blanks in between mean nothing. */
static int take_data(struct chooser *c, const char *field, struct fl_str data, struct fl_str *ret)
{
	FL_AUTO(fl_buf) struct fl_buf packed = FL_BUF(FL_KUBECONFIG_MAX);
	FL_AUTO(fl_buf) struct fl_buf plain = FL_BUF(FL_KUBECONFIG_MAX);

	for (uint32_t i = 0; i < data.len; i++)
		if (data.p[i] != '\n' && data.p[i] != '\r' && data.p[i] != ' ')
			fl_buf_char(&packed, data.p[i]);
	if (fl_buf_check(&packed, field, c->err) < 0)
		return no_memory(c);
	if (fl_base64_get(&plain, FL_BASE64_STD, fl_buf_view(&packed), c->err) < 0)
		return fl_wrap(c->err, "%s", field);
	*ret = fl_arena_str(c->arena, fl_buf_view(&plain));
	return ret->p ? 0 : no_memory(c);
}

/* A text given as such wins over the file, as in kubectl. */
static int take_text(struct chooser *c, const char *field, struct fl_str data, struct fl_str path,
		     struct fl_kube_text *ret)
{
	if (data.len)
		return take_data(c, field, data, &ret->text);
	if (path.len && !(ret->path = fl_kc_path(c->arena, c->folder, path)))
		return no_memory(c);
	return 0;
}

/* ---- the cluster ---- */

static int take_server(struct chooser *c, const struct fl_kc_cluster *cluster)
{
	struct fl_str server = cluster->server;
	bool tls = cluster->ca.len || cluster->ca_data.len || cluster->insecure;

	if (!server.len)
		return fl_fail(c->err, FL_E_INVALID, "it has no server: write where the API server is");
	if (fl_str_starts(server, FL_S("https://")) || fl_str_starts(server, FL_S("http://")) ||
	    fl_str_starts(server, FL_S("unix:")))
		c->config->server = fl_arena_str(c->arena, server);
	else
		c->config->server = fl_arena_printf(c->arena, "%s%.*s", tls ? "https://" : "http://", FL_ARG(server));
	if (!c->config->server.p)
		return no_memory(c);
	c->config->tls = fl_str_starts(c->config->server, FL_S("https://"));
	return 0;
}

static int take_cluster(struct chooser *c, const struct fl_kc_cluster *cluster)
{
	struct fl_kube_config *config = c->config;
	int r;

	if (cluster->proxy_url.len)
		return fl_fail(c->err, FL_E_UNSUPPORTED, "proxy-url is not supported: connect without a proxy, or run "
							 "one "
							 "that forwards to this cluster and name it as server");
	r = take_server(c, cluster);
	if (r < 0)
		return r;
	if (cluster->insecure && (cluster->ca.len || cluster->ca_data.len))
		return fl_fail(c->err, FL_E_INVALID, "insecure-skip-tls-verify with a certificate-authority: remove "
						     "one, "
						     "best the first");
	config->insecure = cluster->insecure;
	if (cluster->tls_server_name.len) {
		config->server_name = fl_kc_text(c->arena, cluster->tls_server_name);
		if (!config->server_name)
			return no_memory(c);
	}
	r = take_text(c, "certificate-authority-data", cluster->ca_data, cluster->ca, &config->ca);
	if (r < 0)
		return r;
	if (config->tls && !config->insecure && !config->ca.text.p && !config->ca.path)
		return fl_fail(c->err, FL_E_INVALID, "it has no certificate-authority, and the system's are not "
						     "trusted: name "
						     "the file of the cluster's CA");
	return 0;
}

/* ---- the user ---- */

static int check_user(struct chooser *c, const struct fl_kc_user *user)
{
	bool cert = user->cert.len || user->cert_data.len, key = user->key.len || user->key_data.len;

	if (user->has.provider)
		return fl_fail(c->err, FL_E_UNSUPPORTED, "auth-provider '%.*s' is not supported, nor by Kubernetes "
							 "since 1.26: "
							 "use its exec plugin",
			       FL_ARG(user->provider.name));
	if (user->has.as_extra)
		return fl_fail(c->err, FL_E_UNSUPPORTED, "as-user-extra is not supported: remove it");
	if (cert != key)
		return fl_fail(c->err, FL_E_INVALID, "client-certificate and client-key belong together: %s is missing",
			       cert ? "the key" : "the certificate");
	if ((user->token.len || user->token_file.len) && user->username.len)
		return fl_fail(c->err, FL_E_INVALID, "both token and username: use one way to authenticate");
	return 0;
}

static int take_words(struct chooser *c, const struct fl_kc_user *user)
{
	struct fl_kube_config *config = c->config;

	if (user->token_file.len) {
		config->token.path = fl_kc_path(c->arena, c->folder, user->token_file);
		if (!config->token.path)
			return no_memory(c);
	} else if (user->token.len) {
		config->token.text = user->token;
	}
	if (user->username.len) {
		config->user = fl_kc_text(c->arena, user->username);
		config->password = fl_kc_text(c->arena, user->password);
		if (!config->user || !config->password)
			return no_memory(c);
	}
	config->as = user->as;
	config->as_uid = user->as_uid;
	config->as_groups = user->as_groups.at;
	config->as_group_count = user->as_groups.len;
	return 0;
}

static int take_user(struct chooser *c, const struct fl_kc_user *user, const struct fl_fs *fs)
{
	struct fl_kube_config *config = c->config;
	int r = check_user(c, user);

	if (r == 0)
		r = take_text(c, "client-certificate-data", user->cert_data, user->cert, &config->cert);
	if (r == 0)
		r = take_text(c, "client-key-data", user->key_data, user->key, &config->key);
	if (r == 0)
		r = take_words(c, user);
	if (r == 0 && user->has.exec && !user->token.len && !user->token_file.len) {
		r = fl_kc_exec(&user->exec, c->folder, c->where, fs, config, c->err);
		if (r < 0)
			return fl_wrap(c->err, "exec");
	}
	return r;
}

/* ---- the context ---- */

static struct fl_str context_name(const struct fl_kc_files *files, const struct fl_kube_where *where)
{
	if (where->context)
		return fl_str(where->context);
	for (uint32_t i = 0; i < files->len; i++)
		if (files->at[i].config.current_context.len)
			return files->at[i].config.current_context;
	return (struct fl_str){ 0 };
}

static int finish(struct chooser *c, const struct fl_kc_context *context)
{
	struct fl_kube_config *config = c->config;
	bool secrets = config->token.text.p || config->token.path || config->user || config->exec;

	if (c->where->as)
		config->as = fl_str(c->where->as);
	config->space = c->where->space ? fl_str(c->where->space) : context->space.len ?
			context->space : FL_S("default");
	config->as = fl_arena_str(c->arena, config->as);
	config->space = fl_arena_str(c->arena, config->space);
	if (!config->as.p || !config->space.p)
		return no_memory(c);
	if (!config->tls && secrets && !fl_kc_url_local(config->server))
		return fl_fail(c->err, FL_E_DENIED, "%.*s: credentials would go over the network in the clear; use "
						    "https",
			       FL_ARG(config->server));
	return 0;
}

static int choose(struct chooser *c, const struct fl_kc_files *files, const struct fl_fs *fs, struct fl_str name)
{
	const struct fl_kc_context *context;
	const struct fl_kc_cluster *cluster;
	const struct fl_kc_user *user = NULL;
	struct fl_str file, where;

	context = FIND(files, contexts, name, &file);
	if (!context)
		return fl_fail(c->err, FL_E_NOTFOUND, "%.*s: there is no context '%.*s'; `kubectl config "
						      "get-contexts` lists them",
			       FL_ARG(files->at[0].name), FL_ARG(name));
	where = file;
	cluster = FIND(files, clusters, context->cluster, &file);
	if (!cluster)
		return fl_fail(c->err, FL_E_NOTFOUND, "%.*s: context '%.*s' names the cluster '%.*s', which no file "
						      "holds",
			       FL_ARG(where), FL_ARG(name), FL_ARG(context->cluster));
	c->folder = fl_kc_folder(file);
	if (take_cluster(c, cluster) < 0)
		return fl_wrap(c->err, "%.*s: cluster '%.*s'", FL_ARG(file), FL_ARG(context->cluster));
	if (context->user.len) {
		user = FIND(files, users, context->user, &file);
		if (!user)
			return fl_fail(c->err, FL_E_NOTFOUND, "%.*s: context '%.*s' names the user '%.*s', which no "
							      "file holds",
				       FL_ARG(where), FL_ARG(name), FL_ARG(context->user));
		c->folder = fl_kc_folder(file);
		if (take_user(c, user, fs) < 0)
			return fl_wrap(c->err, "%.*s: user '%.*s'", FL_ARG(file), FL_ARG(context->user));
	}
	c->config->source = fl_arena_printf(c->arena, "%.*s, context '%.*s'", FL_ARG(where), FL_ARG(name));
	return c->config->source.p ? finish(c, context) : no_memory(c);
}

int fl_kc_choose(const struct fl_kc_files *files, const struct fl_kube_where *where, const struct fl_fs *fs,
		 struct fl_kube_config *config, struct fl_err *err)
{
	struct fl_err own = { 0 };
	struct chooser c = { .where = where, .config = config, .arena = &config->arena, .err = &own };
	struct fl_str name = context_name(files, where);
	int r;

	if (!name.len)
		return fl_fail(err, FL_E_NOTFOUND, "%.*s: no context is chosen; `kubectl config use-context` chooses "
						   "one, and so "
						   "does --context",
			       FL_ARG(files->len ? files->at[0].name : FL_S("kubeconfig")));
	r = choose(&c, files, fs, name);
	return r < 0 ? fl_fail_as(err, &own) : 0;
}
