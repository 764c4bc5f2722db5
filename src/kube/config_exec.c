/* Programs that print credentials: how they are named, asked and understood. client.c's credentials run them. */
#include "base/base64.h"
#include "json/time.h"
#include "kube/config_in.h"
#include <sys/stat.h>

FL_NAMES(fl_exec_version_names, FL_EXEC_VERSION_COUNT_, [FL_EXEC_V1] = "client.authentication.k8s.io/v1",
	 [FL_EXEC_V1BETA1] = "client.authentication.k8s.io/v1beta1");
FL_BIND(fl_exec_status, FL_EXEC_STATUS)
FL_BIND(fl_exec_credential_json, FL_EXEC_CREDENTIAL)

/* ---- where it is ---- */

static bool runs(const struct fl_fs *fs, const char *path)
{
	struct fl_stat st;

	return !fs || (fs->stat(fs, AT_FDCWD, path, 0, &st) == 0 && S_ISREG(st.mode) && (st.mode & 0111));
}

/* On $PATH, where a bare name is meant; empty elements, which would mean the current folder, are passed over. */
static const char *on_path(struct fl_arena *arena, const struct fl_fs *fs, const struct fl_kube_where *where,
			   struct fl_str command)
{
	struct fl_str rest = fl_kc_env(where, "PATH"), folder;

	while (fl_str_split(&rest, ':', &folder)) {
		const char *path;

		if (!fl_str_starts(folder, FL_S("/")))
			continue;
		path = fl_arena_printf(arena, "%.*s/%.*s", FL_ARG(folder), FL_ARG(command)).p;
		if (path && runs(fs, path))
			return path;
	}
	return NULL;
}

static const char *find_program(const struct fl_kc_exec *exec, struct fl_str folder, const struct fl_kube_where *where,
				const struct fl_fs *fs, struct fl_arena *arena)
{
	const char *path;

	if (fl_str_find(exec->command, '/') < 0)
		return on_path(arena, fs, where, exec->command);
	path = fl_kc_path(arena, folder, exec->command);
	return path && runs(fs, path) ? path : NULL;
}

/* ---- what it is given ---- */

static bool same_name(const char *a, struct fl_str name)
{
	return strncmp(a, name.p, name.len) == 0 && a[name.len] == '=';
}

/* Ours, those of the plugin replaced or added, and room for one more and the end. */
static const char **environment(const struct fl_kc_exec *exec, const struct fl_kube_where *where,
				struct fl_arena *arena)
{
	uint32_t count = 0, len = 0;
	const char **env;

	while (where->env && where->env[count])
		count++;
	env = fl_arena_get_n(arena, (size_t)count + exec->env.len + 2, sizeof *env);
	for (uint32_t i = 0; env && i < count; i++) {
		bool replaced = same_name(where->env[i], FL_S("KUBERNETES_EXEC_INFO"));

		for (uint32_t k = 0; k < exec->env.len; k++)
			replaced = replaced || same_name(where->env[i], exec->env.at[k].name);
		if (!replaced && !(env[len++] = fl_kc_text(arena, fl_str(where->env[i]))))
			return NULL;
	}
	for (uint32_t k = 0; env && k < exec->env.len; k++) {
		env[len] = fl_arena_printf(arena, "%.*s=%.*s", FL_ARG(exec->env.at[k].name),
					   FL_ARG(exec->env.at[k].value))
				   .p;
		if (!env[len++])
			return NULL;
	}
	return env;
}

static const char **arguments(const struct fl_kc_exec *exec, struct fl_arena *arena)
{
	const char **argv = fl_arena_get_n(arena, (size_t)exec->args.len + 2, sizeof *argv);

	if (argv && !(argv[0] = fl_kc_text(arena, exec->command)))
		return NULL;
	for (uint32_t i = 0; argv && i < exec->args.len; i++)
		if (!(argv[i + 1] = fl_kc_text(arena, exec->args.at[i])))
			return NULL;
	return argv;
}

static int check(const struct fl_kc_exec *exec, int *ret_version, struct fl_err *err)
{
	*ret_version = fl_name_find(&fl_exec_version_names, exec->api_version);
	if (!exec->command.len)
		return fl_fail(err, FL_E_INVALID, "it has no command");
	if (*ret_version < 0)
		return fl_fail(err, FL_E_UNSUPPORTED, "apiVersion '%.*s' is not supported: the plugin's v1 or v1beta1 "
						      "is",
			       FL_ARG(exec->api_version));
	if (fl_str_eq(exec->interactive, FL_S("Always")))
		return fl_fail(err, FL_E_UNSUPPORTED, "'%.*s' needs a person (interactiveMode: Always), and none is "
						      "here: use a credential that works without one",
			       FL_ARG(exec->command));
	if (exec->interactive.len ? !fl_str_eq(exec->interactive, FL_S("Never")) &&
					    !fl_str_eq(exec->interactive, FL_S("IfAvailable")) :
				    *ret_version == FL_EXEC_V1)
		return fl_fail(err, FL_E_INVALID, "interactiveMode is '%.*s': it must be Never, IfAvailable or Always",
			       FL_ARG(exec->interactive));
	for (uint32_t i = 0; i < exec->env.len; i++)
		if (!exec->env.at[i].name.len || fl_str_find(exec->env.at[i].name, '=') >= 0)
			return fl_fail(err, FL_E_INVALID, "env[%u]: '%.*s' is no name", i,
				       FL_ARG(exec->env.at[i].name));
	return 0;
}

int fl_kc_exec(const struct fl_kc_exec *exec, struct fl_str folder, const struct fl_kube_where *where,
	       const struct fl_fs *fs, struct fl_kube_config *config, struct fl_err *err)
{
	struct fl_arena *arena = &config->arena;
	struct fl_kube_exec *made = fl_arena_get(arena, sizeof *made);
	int version, r = check(exec, &version, err);

	if (r < 0)
		return r;
	if (!made)
		return fl_fail(err, FL_E_NOMEM, "no memory for a kubeconfig");
	made->version = (enum fl_exec_version)version;
	made->cluster_info = exec->cluster_info;
	made->path = fs ? find_program(exec, folder, where, fs, arena) : fl_kc_path(arena, folder, exec->command);
	if (!made->path)
		return fl_fail(err, FL_E_NOTFOUND, "there is no program '%.*s'%s%.*s", FL_ARG(exec->command),
			       exec->install_hint.len ? ": " : "", FL_ARG(exec->install_hint));
	made->argv = arguments(exec, arena);
	made->env = environment(exec, where, arena);
	if (!made->argv || !made->env)
		return fl_fail(err, FL_E_NOMEM, "no memory for a kubeconfig");
	config->exec = made;
	return 0;
}

/* ---- what it is told, and what it says ---- */

static void put_cluster(const struct fl_kube_config *config, struct fl_str ca, struct fl_jw *w)
{
	FL_AUTO(fl_buf) struct fl_buf data = FL_BUF(2 * FL_KUBECONFIG_MAX);

	fl_jw_put(w, "cluster", obj);
	fl_jw_put(w, "server", str, config->server);
	if (config->server_name)
		fl_jw_put(w, "tls-server-name", str, fl_str(config->server_name));
	if (config->insecure) {
		fl_jw_put(w, "insecure-skip-tls-verify", bool, true);
	}
	if (ca.len) {
		fl_base64_put(&data, FL_BASE64_STD, ca.p, ca.len);
		fl_jw_put(w, "certificate-authority-data", str, fl_buf_view(&data));
	}
	fl_jw_put(w, "config", null);
	fl_jw_end_obj(w);
}

void fl_exec_info(const struct fl_kube_config *config, struct fl_str ca, struct fl_buf *out)
{
	struct fl_jw w = FL_JW(out);

	fl_buf_str(out, FL_S("KUBERNETES_EXEC_INFO="));
	fl_jw_obj(&w);
	fl_jw_put(&w, "kind", str, FL_S("ExecCredential"));
	fl_jw_put(&w, "apiVersion", str, fl_str(fl_name(&fl_exec_version_names, config->exec->version)));
	fl_jw_put(&w, "spec", obj);
	if (config->exec->cluster_info)
		put_cluster(config, ca, &w);
	fl_jw_put(&w, "interactive", bool, false);
	fl_jw_end_obj(&w);
	fl_jw_end_obj(&w);
}

static int check_credential(const struct fl_exec_credential_json *said, enum fl_exec_version version,
			    struct fl_err *err)
{
	const struct fl_exec_status *status = &said->status;

	if (said->faults.len)
		return fl_fail(err, FL_E_INVALID, "%.*s must be %.*s", FL_ARG(said->faults.at[0].path),
			       FL_ARG(said->faults.at[0].want));
	if (!fl_str_eq(said->kind, FL_S("ExecCredential")))
		return fl_fail(err, FL_E_INVALID, "it printed a '%.*s' and no ExecCredential", FL_ARG(said->kind));
	if (fl_name_find(&fl_exec_version_names, said->api_version) != (int)version)
		return fl_fail(err, FL_E_INVALID, "it printed apiVersion '%.*s', the kubeconfig says '%s'",
			       FL_ARG(said->api_version),
			       fl_name(&fl_exec_version_names, version));
	if (!said->has.status)
		return fl_fail(err, FL_E_INVALID, "it printed no status");
	if (!status->token.len && !status->cert.len && !status->key.len)
		return fl_fail(err, FL_E_INVALID, "it printed neither a token nor a certificate");
	if (!status->cert.len != !status->key.len)
		return fl_fail(err, FL_E_INVALID, "it printed a certificate without its key, or a key alone");
	return 0;
}

int fl_exec_credential_read(enum fl_exec_version version, struct fl_str printed, struct fl_arena *arena,
			    struct fl_exec_credential *ret, struct fl_err *err)
{
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct fl_exec_credential_json said;
	int r = fl_json_read(NULL, printed, 0, &doc, err);

	if (r < 0)
		return fl_fail(err, r == -FL_E_NOMEM ? FL_E_NOMEM : FL_E_INVALID, "what it printed is no JSON");
	r = fl_decode(fl_exec_credential_json_bind(), yyjson_doc_get_root(doc), arena, 0, &said, err);
	if (r < 0 || (r = check_credential(&said, version, err)) < 0)
		return r;
	*ret = (struct fl_exec_credential){ .expires = FL_TIME_NONE };
	if (said.status.token.len)
		ret->token = said.status.token;
	if (said.status.cert.len) {
		ret->cert = said.status.cert;
		ret->key = said.status.key;
	}
	if (said.status.has.expires)
		ret->expires = said.status.expires;
	return 0;
}
