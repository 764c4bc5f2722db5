#include "io/io.h"
#include "json/time.h"
#include "kubeconfig.h"
#include "test.h"
#include "test_io.h"

/* A file that is good, for rows that break one thing in it. */
#define CLUSTER "clusters: [{name: c, cluster: {server: https://h:6443, certificate-authority: ca.pem}}]\n"
#define CONTEXT "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n"
#define USERS(what) "users: [{name: u, user: {" what "}}]\n"

static const struct {
	const char *says;
	const char *text;
	const char *server, *space, *ca, *token;
} good[] = {
	{ "a whole file, paths relative to its folder",
	  "apiVersion: v1\nkind: Config\n" CLUSTER CONTEXT USERS("token: abc"), "https://h:6443", "default",
	  "/etc/kube/ca.pem", "abc" },
	{ "a namespace of the context's",
	  CLUSTER USERS("token: abc") "contexts: [{name: x, context: {cluster: c, user: u, namespace: "
			"here}}]\ncurrent-context: x",
	  "https://h:6443", "here", "/etc/kube/ca.pem", "abc" },
	{ "JSON is YAML",
	  "{\"clusters\":[{\"name\":\"c\",\"cluster\":{\"server\":\"https://h\",\"certificate-authority\":"
	  "\"/a\"}}],\"contexts\":"
	  "[{\"name\":\"x\",\"context\":{\"cluster\":\"c\"}}],\"current-context\":\"x\"}",
	  "https://h", "default", "/a", NULL },
	{ "a context without a user is nobody",
	  CLUSTER "contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x", "https://h:6443", "default",
	  "/etc/kube/ca.pem", NULL },
	{ "a server without a scheme is https where a CA is named",
	  "clusters: [{name: c, cluster: {server: 'h:6443', certificate-authority: /a}}]\n" CONTEXT USERS(""),
			"https://h:6443",
	  "default", "/a", NULL },
	{ "credentials may go to this machine in the clear",
	  "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:8001'}}]\n" CONTEXT USERS("token: abc"),
	  "http://127.0.0.1:8001", "default", NULL, "abc" },
	{ "fields that only others know are passed over",
	  "preferences: {}\nextensions: [{name: e, extension: {a: 1}}]\n" CLUSTER CONTEXT USERS("token: abc"),
			"https://h:6443",
	  "default", "/etc/kube/ca.pem", "abc" },
};

TEST(what_a_kubeconfig_says)
{
	EACH_ROW (row, good) {
		FL_AUTO(fl_kube_config) struct fl_kube_config *config = NULL;
		struct fl_err err = { 0 };

		config = test_kubeconfig(&(struct test_kubeconfig){ "/etc/kube/config", fl_str(row->text) }, 1,
					 &(struct fl_kube_where){ 0 }, &err);
		OK_ERR(config ? 0 : -(int)err.code, &err);
		CHECK_STR(config->server, row->server);
		CHECK_STR(config->space, row->space);
		CHECK_STR(fl_str(config->ca.path), row->ca ? row->ca : "");
		CHECK_STR(config->token.text, row->token ? row->token : "");
	}
}

static const struct {
	const char *says;
	const char *text;
	enum fl_code code;
	const char *text_of_failure;
} bad[] = {
	{ "no context", CLUSTER, FL_E_NOTFOUND,
	  "f: no context is chosen; `kubectl config use-context` chooses one, and so does --context" },
	{ "a context that nobody holds", CLUSTER "current-context: other", FL_E_NOTFOUND,
	  "f: there is no context 'other'; `kubectl config get-contexts` lists them" },
	{ "a cluster that nobody holds", CONTEXT, FL_E_NOTFOUND,
	  "f: context 'x' names the cluster 'c', which no file holds" },
	{ "a user that nobody holds", CLUSTER CONTEXT, FL_E_NOTFOUND,
	  "f: context 'x' names the user 'u', which no file holds" },
	{ "no server", "clusters: [{name: c, cluster: {}}]\n" CONTEXT USERS(""), FL_E_INVALID,
	  "f: cluster 'c': it has no server: write where the API server is" },
	{ "a proxy", "clusters: [{name: c, cluster: {server: https://h, proxy-url: http://p}}]\n" CONTEXT USERS(""),
	  FL_E_UNSUPPORTED,
	  "f: cluster 'c': proxy-url is not supported: connect without a proxy, or run one that forwards to this "
			"cluster and name "
	  "it as server" },
	{ "no CA", "clusters: [{name: c, cluster: {server: https://h}}]\n" CONTEXT USERS(""), FL_E_INVALID,
	  "f: cluster 'c': it has no certificate-authority, and the system's are not trusted: name the file of the "
			"cluster's CA" },
	{ "a CA, and not to look at it",
	  "clusters: [{name: c, cluster: {server: https://h, certificate-authority: a, insecure-skip-tls-verify: "
			"true}}]\n" CONTEXT
		  USERS(""),
	  FL_E_INVALID,
	  "f: cluster 'c': insecure-skip-tls-verify with a certificate-authority: remove one, best the first" },
	{ "a token over the network in the clear",
	  "clusters: [{name: c, cluster: {server: http://10.0.0.1}}]\n" CONTEXT USERS("token: t"), FL_E_DENIED,
	  "http://10.0.0.1: credentials would go over the network in the clear; use https" },
	{ "auth-provider", CLUSTER CONTEXT USERS("auth-provider: {name: gcp}"), FL_E_UNSUPPORTED,
	  "f: user 'u': auth-provider 'gcp' is not supported, nor by Kubernetes since 1.26: use its exec plugin" },
	{ "a certificate without its key", CLUSTER CONTEXT USERS("client-certificate: a"), FL_E_INVALID,
	  "f: user 'u': client-certificate and client-key belong together: the key is missing" },
	{ "two ways at once", CLUSTER CONTEXT USERS("token: t, username: me, password: pw"), FL_E_INVALID,
	  "f: user 'u': both token and username: use one way to authenticate" },
	{ "base64 that is none", CLUSTER CONTEXT USERS("client-certificate-data: 'a!', client-key: k"), FL_E_INVALID,
			NULL },
	{ "two entries of one name", "clusters: [{name: c, cluster: {}}, {name: c, cluster: {}}]", FL_E_INVALID,
	  "f: two clusters are called 'c': remove one" },
	{ "another kind of file", "kind: Pod\n" CLUSTER CONTEXT, FL_E_INVALID,
	  "f: its kind is 'Pod', a kubeconfig's is Config" },
	{ "another version", "apiVersion: v2\n" CLUSTER CONTEXT, FL_E_INVALID,
			"f: apiVersion is 'v2', a kubeconfig's is v1" },
	{ "a number for a token", CLUSTER CONTEXT USERS("token: 5"), FL_E_INVALID,
			"f: users[0].user.token must be a text" },
	{ "no YAML", "clusters: [", FL_E_INVALID, NULL },
	{ "a plugin that asks a person",
	  CLUSTER CONTEXT USERS("exec: {apiVersion: client.authentication.k8s.io/v1, command: /p, interactiveMode: "
			"Always}"),
	  FL_E_UNSUPPORTED,
	  "f: user 'u': exec: '/p' needs a person (interactiveMode: Always), and none is here: use a credential that "
	  "works without one" },
	{ "a plugin of an old version",
	  CLUSTER CONTEXT USERS("exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: /p}"),
			FL_E_UNSUPPORTED,
	  "f: user 'u': exec: apiVersion 'client.authentication.k8s.io/v1alpha1' is not supported: the plugin's v1 or "
			"v1beta1 is" },
	{ "a plugin that does not say whether it asks",
	  CLUSTER CONTEXT USERS("exec: {apiVersion: client.authentication.k8s.io/v1, command: /p}"), FL_E_INVALID,
	  "f: user 'u': exec: interactiveMode is '': it must be Never, IfAvailable or Always" },
};

TEST(what_a_kubeconfig_must_not_say)
{
	EACH_ROW (row, bad) {
		FL_AUTO(fl_kube_config) struct fl_kube_config *config = NULL;
		struct fl_err err = { 0 };

		config = test_kubeconfig(&(struct test_kubeconfig){ "f", fl_str(row->text) }, 1,
					 &(struct fl_kube_where){ 0 },
					 &err);
		REFUSED(config ? 0 : -(int)err.code, row->code);
		if (row->text_of_failure && !test_tortured())
			CHECK_STR(fl_str(err.text), row->text_of_failure);
	}
}

TEST(of_several_files_the_first_that_says_something_counts)
{
	static const struct test_kubeconfig files[] = {
		{ "/a/one", FL_S_INIT("current-context: x\nusers: [{name: u, user: {tokenFile: t}}]") },
		{ "/b/two", FL_S_INIT(CLUSTER CONTEXT USERS("token: none") "\n") },
		{ "/c/three", FL_S_INIT("") },
		{ "/d/four", FL_S_INIT("current-context: z\ncontexts: [{name: z, context: {cluster: c}}]") },
	};
	FL_AUTO(fl_kube_config) struct fl_kube_config *config = NULL;
	struct fl_err err = { 0 };

	config = test_kubeconfig(files, FL_LEN(files), &(struct fl_kube_where){ 0 }, &err);
	OK_ERR(config ? 0 : -(int)err.code, &err);
	CHECK_STR(fl_str(config->token.path), "/a/t");
	CHECK_STR(config->token.text, "");
	CHECK_STR(fl_str(config->ca.path), "/b/ca.pem");
	CHECK_STR(config->source, "/b/two, context 'x'");
	config = fl_kube_config_free(config);
	config = test_kubeconfig(files, FL_LEN(files),
				 &(struct fl_kube_where){ .context = "z", .space = "s", .as = "me" }, &err);
	OK_ERR(config ? 0 : -(int)err.code, &err);
	CHECK_STR(config->space, "s");
	CHECK_STR(config->as, "me");
	CHECK(!config->token.path);
}

TEST(a_plugin_gets_its_words_and_ours)
{
	static const char text[] = CLUSTER CONTEXT USERS(
		"exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./bin/p, args: [a, b], "
		"provideClusterInfo: true, "
		"env: [{name: HOME, value: /h}, {name: X, value: why}]}");
	static const char *const env[] = { "HOME=/root", "LANG=C", "KUBERNETES_EXEC_INFO=old", NULL };
	FL_AUTO(fl_kube_config) struct fl_kube_config *config = NULL;
	FL_AUTO(fl_buf) struct fl_buf info = FL_BUF(4096);
	struct fl_err err = { 0 };

	config = test_kubeconfig(&(struct test_kubeconfig){ "/k/f", fl_str(text) }, 1,
				 &(struct fl_kube_where){ .env = env }, &err);
	OK_ERR(config ? 0 : -(int)err.code, &err);
	CHECK(config->exec);
	CHECK_STR(fl_str(config->exec->path), "/k/./bin/p");
	CHECK_STR(fl_str(config->exec->argv[2]), "b");
	CHECK_STR(fl_str(config->exec->env[0]), "LANG=C");
	CHECK_STR(fl_str(config->exec->env[1]), "HOME=/h");
	CHECK_STR(fl_str(config->exec->env[2]), "X=why");
	CHECK(!config->exec->env[3]);
	fl_exec_info(config, FL_S("CA"), &info);
	OK(fl_buf_check(&info, "info", &err));
	if (test_tortured())
		return;
	CHECK_STR(fl_buf_view(&info), "KUBERNETES_EXEC_INFO={\"kind\":\"ExecCredential\",\"apiVersion\":"
				      "\"client.authentication.k8s.io/v1beta1\",\"spec\":{\"cluster\":{\"server\":"
				      "\"https://h:6443\",\"certificate-authority-data\":\"Q0E=\",\"config\":null},"
				      "\"interactive\":false}}");
}

static const struct {
	const char *says, *printed, *token, *failure;
	int64_t expires;
} printed[] = {
	{ "a token",
	  "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{"
	  "\"token\":\"t\"}}", "t", NULL,
	  FL_TIME_NONE },
	{ "a token with an end",
	  "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t\","
	  "\"expirationTimestamp\":\"1970-01-01T00:00:09Z\"}}",
	  "t", NULL, 9000000 },
	{ "another version than was asked for",
	  "{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"kind\":\"ExecCredential\",\"status\":{"
	  "\"token\":\"t\"}}", NULL,
	  "it printed apiVersion 'client.authentication.k8s.io/v1beta1', the kubeconfig says "
			"'client.authentication.k8s.io/v1'" },
	{ "nothing of use",
			"{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
			"\"status\":{}}", NULL,
	  "it printed neither a token nor a certificate" },
	{ "half a pair",
	  "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{"
	  "\"clientKeyData\":\"secret\"}}",
	  NULL, "it printed a certificate without its key, or a key alone" },
	{ "no JSON: and no word of it", "secret", NULL, "what it printed is no JSON" },
	{ "no status", "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\"}", NULL,
	  "it printed no status" },
};

TEST(what_a_plugin_prints)
{
	EACH_ROW (row, printed) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_exec_credential got;
		struct fl_err err = { 0 };
		int r = fl_exec_credential_read(FL_EXEC_V1, fl_str(row->printed), &arena, &got, &err);

		if (row->failure) {
			REFUSED(r, FL_E_INVALID);
			if (!test_tortured())
				CHECK_STR(fl_str(err.text), row->failure);
			continue;
		}
		OK_ERR(r, &err);
		CHECK_STR(got.token, row->token);
		CHECK_INT(got.expires, row->expires);
	}
}

/* ---- with a disk ---- */

static struct fl_kube_config *load(struct fl_io *io, const struct fl_kube_where *where, struct fl_err *err)
{
	return fl_kube_config_load(fl_io_fs(io), where, err);
}

TEST(a_list_of_files_in_the_environment)
{
	const char *dir = test_dir();
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_kube_config) struct fl_kube_config *config = NULL;
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_str list = fl_arena_printf(&arena, "KUBECONFIG=%s/none:%s/b::%s/b", dir, dir, dir);
	struct fl_err err = { 0 };

	GOT(io);
	GOT(list.p);
	CHECK(test_write_file(test_path(dir, "b"), CLUSTER CONTEXT USERS("token: abc")));
	config = load(io, &(struct fl_kube_where){ .env = (const char *const[]){ list.p, NULL } }, &err);
	OK_ERR(config ? 0 : -(int)err.code, &err);
	CHECK_STR(config->token.text, "abc");
	CHECK_STR(fl_str(config->ca.path), test_path(dir, "ca.pem"));
}

TEST(a_file_that_is_named_must_be_there)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_kube_config) struct fl_kube_config *config = NULL;
	struct fl_err err = { 0 };

	GOT(io);
	config = load(io, &(struct fl_kube_where){ .kubeconfig = "/nowhere/at/all" }, &err);
	REFUSED(config ? 0 : -(int)err.code, FL_E_NOTFOUND);
	if (!test_tortured())
		CHECK_STR(fl_str(err.text), "--kubeconfig /nowhere/at/all: there is no such file");
}

TEST(the_service_account_of_a_pod)
{
	static const char *const env[] = { "KUBERNETES_SERVICE_HOST=fd00::1", "KUBERNETES_SERVICE_PORT=443", NULL };
	const char *dir = test_dir();
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_kube_config) struct fl_kube_config *config = NULL;
	struct fl_err err = { 0 };

	GOT(io);
	CHECK(test_write_file(test_path(dir, "namespace"), "mine\n"));
	config = load(io, &(struct fl_kube_where){ .env = env, .account_dir = dir }, &err);
	OK_ERR(config ? 0 : -(int)err.code, &err);
	CHECK_STR(config->server, "https://[fd00::1]:443");
	CHECK_STR(config->space, "mine");
	CHECK_STR(fl_str(config->token.path), test_path(dir, "token"));
	CHECK(config->tls);
}

static const struct {
	const char *says, *server, *becomes;
	enum fl_code code;
} servers[] = {
	{ "a bare address is http", "127.0.0.1:8080", "http://127.0.0.1:8080" },
	{ "localhost is this machine", "http://localhost:1", "http://localhost:1" },
	{ "so is ::1", "http://[::1]:1", "http://[::1]:1" },
	{ "a unix socket", "unix:/run/api.sock", "unix:/run/api.sock" },
	{ "another machine", "10.0.0.1:8080", NULL, FL_E_DENIED },
	{ "a name that only looks local", "http://localhost.evil:80", NULL, FL_E_DENIED },
	{ "https belongs into a kubeconfig", "https://127.0.0.1", NULL, FL_E_UNSUPPORTED },
};

TEST(a_plain_server_on_this_machine)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();

	GOT(io);
	EACH_ROW (row, servers) {
		FL_AUTO(fl_kube_config) struct fl_kube_config *config = NULL;
		struct fl_err err = { 0 };

		config = load(io, &(struct fl_kube_where){ .server = row->server }, &err);
		if (row->code) {
			REFUSED(config ? 0 : -(int)err.code, row->code);
			continue;
		}
		OK_ERR(config ? 0 : -(int)err.code, &err);
		CHECK_STR(config->server, row->becomes);
	}
}

TEST(a_refused_server_is_told_by_the_option_that_named_it)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_kube_config) struct fl_kube_config *config = NULL;
	struct fl_err err = { 0 };

	GOT(io);
	config = load(io, &(struct fl_kube_where){ .server = "http://10.0.0.1:9401", .server_option = "--controller" },
		      &err);
	REFUSED(config ? 0 : -(int)err.code, FL_E_DENIED);
	if (!test_tortured())
		CHECK(fl_str_starts(fl_str(err.text), FL_S("--controller http://10.0.0.1:9401: ")));
}

TEST(without_anything_the_next_step_is_told)
{
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	FL_AUTO(fl_kube_config) struct fl_kube_config *config = NULL;
	struct fl_err err = { 0 };

	GOT(io);
	config = load(io, &(struct fl_kube_where){ .env = (const char *const[]){ NULL } }, &err);
	REFUSED(config ? 0 : -(int)err.code, FL_E_NOTFOUND);
}
