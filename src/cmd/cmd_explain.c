/* Why is it so? The controller that leads knows: its plans say what they think of an object. It is found by its Lease,
 * and asked through the API server. The proxy of the API server connects to the Pod in plain HTTP, and the Lease may
 * name any Pod, so the controller is shown a short-lived token that only allows to read explanations. */
#include "api/coordination.h"
#include "base/units.h"
#include "cmd/program.h"
#include "json/name.h"
#include "kube/client.h"
#include "serve/guard.h"
#include "serve/pages.h"
#include "http/query.h"
#include <unistd.h>

struct explain {
	struct fl_str kind, name, space, context, server, controller, lease, lease_space, account;
	const char *kubeconfig;
	int64_t port, timeout;
	enum fl_output output;
};

static const struct fl_option options[] = {
	FL_OPT_STR(struct explain, kind, "KIND", "The kind, its plural or a short name.", .operand = true,
		   .required = true),
	FL_OPT_STR(struct explain, name, "NAME", "The object.", .operand = true, .required = true),
	FL_OPT_STR(struct explain, space, "namespace", "Where the object is; else the namespace of the context.",
		   .letter = 'n'),
	FL_OPT_ENUM(struct explain, output, fl_output, "output", "How to print it.", .letter = 'o', .fallback = "text"),
	FL_OPT_PATH(struct explain, kubeconfig, "kubeconfig",
		    "The kubeconfig to use; else $KUBECONFIG or ~/.kube/config."),
	FL_OPT_STR(struct explain, context, "context", "The kubeconfig's context to use.", .value = "NAME"),
	FL_OPT_STR(struct explain, server, "server", "An API server without TLS and credentials, on this machine.",
		   .value = "URL"),
	FL_OPT_STR(struct explain, controller, "controller",
		   "Ask this one itself, on this machine: http://127.0.0.1:8080, unix:/path.", .value = "URL"),
	FL_OPT_STR(struct explain, lease, "lease", "The Lease that the controller holds.", .value = "NAME",
		   .fallback = "fairlead-controller"),
	FL_OPT_STR(struct explain, lease_space, "lease-namespace", "Where the controller runs.", .value = "NAMESPACE",
		   .fallback = "fairlead"),
	FL_OPT_STR(struct explain, account, "account",
		   "The ServiceAccount beside the Lease whose token the controller is shown.", .value = "NAME",
		   .fallback = "fairlead-explain"),
	FL_OPT_INT(struct explain, port, "controller-port", "The port of the controller's pages.", .min = 1,
		   .max = 65535, .fallback = "8080"),
	FL_OPT_DURATION(struct explain, timeout, "timeout", "How long to wait.", .fallback = "15s",
			.min = FL_NS_PER_MS, .max = 600 * FL_NS_PER_S),
};

struct asking {
	const struct explain *config;
	struct fl_io *io;
	struct fl_kube_config *where;
	struct fl_kube *kube;
	struct fl_kube_call call;
	struct fl_arena arena;
	struct fl_lease lease;
	struct fl_buf target, out, bearer;
	bool answered;
};

/* The status, or -code. */
static int64_t ask(struct asking *a, struct fl_err *err)
{
	a->call.op = (struct fl_op){ .err = err, .deadline = fl_now(a->io) + (uint64_t)a->config->timeout };
	a->call.once = true;
	fl_kube_start(a->kube, &a->call);
	while (fl_op_busy(&a->call.op))
		if (fl_io_turn(a->io, FL_NEVER, err) < 0)
			return -FL_E_IO;
	return a->call.op.result;
}

/* ---- who leads ---- */

static int got_lease(struct fl_kube_call *call, enum fl_item what, yyjson_val *json, struct fl_err *err)
{
	struct asking *a = fl_container(call, struct asking, call);

	(void)what;
	return fl_decode(fl_lease_bind(), json, &a->arena, 0, &a->lease, err);
}

static int find_leader(struct asking *a, struct fl_str *ret_pod, struct fl_err *err)
{
	const struct explain *config = a->config;
	struct fl_str holder;
	int64_t r, end;

	a->call = (struct fl_kube_call){ .kind = &fl_lease_kind, .space = config->lease_space, .name = config->lease,
					 .item = got_lease };
	r = ask(a, err);
	if (r == -FL_E_NOTFOUND)
		return fl_fail(err, FL_E_NOTFOUND,
			       "there is no Lease %.*s/%.*s: is the controller installed? --lease and "
			       "--lease-namespace say where else to look",
			       FL_ARG(config->lease_space), FL_ARG(config->lease));
	if (r == -FL_E_DENIED)
		return fl_wrap(err, "you may not see who leads (get leases in namespace %.*s)",
			       FL_ARG(config->lease_space));
	if (r < 0)
		return fl_wrap(err, "Lease %.*s", FL_ARG(config->lease));
	holder = a->lease.spec.holder_identity;
	if (!holder.len)
		return fl_fail(err, FL_E_RETRY, "no controller leads just now: nobody holds Lease %.*s/%.*s; look at "
						"its Pods, or try again",
			       FL_ARG(config->lease_space), FL_ARG(config->lease));
	end = fl_str_find(holder, '_');
	*ret_pod = end < 0 ? holder : fl_str_sub(holder, 0, (uint32_t)end);
	if (!fl_name_ok(FL_NAME_SUBDOMAIN, *ret_pod))
		return fl_fail(err, FL_E_INVALID,
			       "Lease %.*s/%.*s: holderIdentity does not begin with the name of a Pod: another program "
			       "holds this Lease; see --lease",
			       FL_ARG(config->lease_space), FL_ARG(config->lease));
	return 0;
}

/* ---- by which right ---- */

static const struct fl_kind account_kind = { .group = "", .version = "v1", .kind = "ServiceAccount",
					     .plural = "serviceaccounts" };

static int got_token(struct fl_kube_call *call, enum fl_item what, yyjson_val *json, struct fl_err *err)
{
	struct asking *a = fl_container(call, struct asking, call);
	struct fl_str token = { 0 };

	(void)what;
	if (!fl_json_str(fl_json_get(fl_json_get(json, FL_S("status")), FL_S("token")), &token) || !token.len)
		return fl_fail(err, FL_E_INVALID, "the answer has no status.token");
	fl_buf_printf(&a->bearer, "Bearer %.*s", FL_ARG(token));
	return fl_buf_check(&a->bearer, "the token", err);
}

/* For ten minutes, which is the least that Kubernetes gives. */
static int get_token(struct asking *a, struct fl_err *err)
{
	const struct explain *config = a->config;
	int64_t r;

	a->call = (struct fl_kube_call){
		.verb = FL_KUBE_CREATE, .kind = &account_kind, .space = config->lease_space, .name = config->account,
		.subresource = "token", .item = got_token,
		.body = FL_S("{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenRequest\",\"spec\":"
			     "{\"audiences\":[\"" FL_GUARD_AUDIENCE "\"],\"expirationSeconds\":600}}"),
	};
	r = ask(a, err);
	if (r == -FL_E_NOTFOUND)
		return fl_fail(err, FL_E_NOTFOUND,
			       "there is no ServiceAccount %.*s/%.*s: create it, and bind it to a ClusterRole with "
			       "nonResourceURLs [/explain], verbs [get]; or name another with --account",
			       FL_ARG(config->lease_space), FL_ARG(config->account));
	if (r == -FL_E_DENIED)
		return fl_wrap(err, "you may not get a token of ServiceAccount %.*s/%.*s (create "
				    "serviceaccounts/token)",
			       FL_ARG(config->lease_space), FL_ARG(config->account));
	if (r < 0)
		return fl_wrap(err, "token of ServiceAccount %.*s/%.*s", FL_ARG(config->lease_space),
			       FL_ARG(config->account));
	return a->bearer.len ? 0 : fl_fail(err, FL_E_INVALID, "the answer to the token request is empty");
}

/* ---- what it says ---- */

static int got_words(struct fl_kube_call *call, enum fl_item what, yyjson_val *json, struct fl_err *err)
{
	struct asking *a = fl_container(call, struct asking, call);
	yyjson_val *lines = fl_json_get(json, FL_S("lines")), *line;
	struct fl_jw w = FL_JW(&a->out);
	struct fl_str text;
	size_t i, count;

	(void)what;
	if (!yyjson_is_arr(lines))
		return fl_fail(err, FL_E_INVALID, "the answer is no explanation: is this a controller of Fairlead?");
	a->answered = true;
	if (a->config->output == FL_OUTPUT_JSON) {
		fl_jw_val(&w, json);
		fl_buf_char(&a->out, '\n');
	} else {
		yyjson_arr_foreach (lines, i, count, line)
			if (fl_json_str(line, &text))
				fl_buf_printf(&a->out, "%.*s\n", FL_ARG(text));
		if (!count)
			fl_buf_printf(&a->out, "no plan has a message about it\n");
	}
	return fl_buf_check(&a->out, "the explanation", err);
}

static void put_query(struct asking *a)
{
	const struct explain *config = a->config;

	fl_buf_str(&a->target, FL_S("/explain"));
	fl_query_put(&a->target, "kind", config->kind);
	fl_query_put(&a->target, "name", config->name);
	fl_query_put(&a->target, "namespace", config->space.len ? config->space : a->where->space);
	fl_query_put(&a->target, "output", FL_S("json"));
}

/* Which of the two that stand in the way has not found it. */
static int why_not(const struct asking *a, struct fl_str pod, int64_t r, struct fl_err *err)
{
	const struct explain *config = a->config;

	if (r == -FL_E_NOTFOUND && fl_str_starts(fl_str(err->text), FL_S("pods \"")))
		return fl_fail(err, FL_E_NOTFOUND,
			       "Pod %.*s/%.*s held the Lease %.*s and is gone; another one leads when that has run "
			       "out: try again in a moment",
			       FL_ARG(config->lease_space), FL_ARG(pod), FL_ARG(config->lease));
	if (r == -FL_E_DENIED && pod.len && !fl_str_starts(fl_str(err->text), FL_S("pods \"")))
		return fl_wrap(err, "the controller");
	if (r == -FL_E_DENIED && pod.len)
		return fl_wrap(err, "you may not ask the controller (get pods/proxy in namespace %.*s)",
			       FL_ARG(config->lease_space));
	if (r == -FL_E_NOTFOUND || r == -FL_E_INVALID)
		return -(int)err->code;
	return pod.len ? fl_wrap(err, "Pod %.*s, port %lld", FL_ARG(pod), (long long)config->port) :
			 fl_wrap(err, "%.*s", FL_ARG(config->controller));
}

static int ask_it(struct asking *a, struct fl_err *err)
{
	struct fl_str pod = { 0 };
	int64_t r;

	if (!a->config->controller.len) {
		r = find_leader(a, &pod, err);
		if (r == 0)
			r = get_token(a, err);
		if (r < 0)
			return (int)r;
		fl_buf_str(&a->target, FL_S("/api/v1/namespaces/"));
		fl_buf_url(&a->target, a->config->lease_space);
		fl_buf_printf(&a->target, "/pods/http:%.*s:%lld/proxy", FL_ARG(pod), (long long)a->config->port);
	}
	put_query(a);
	if (fl_buf_check(&a->target, "the question", err) < 0)
		return -(int)err->code;
	a->call = (struct fl_kube_call){ .path = a->target.p, .item = got_words,
					 .forwarded = fl_buf_view(&a->bearer) };
	r = ask(a, err);
	if (r < 0)
		return why_not(a, pod, r, err);
	return a->answered ? fl_print(&a->out, err) : fl_fail(err, FL_E_INVALID, "the answer is empty");
}

static int explain(const struct fl_call *call, struct fl_err *err)
{
	const struct explain *config = call->config;
	struct fl_kube_where where = { .kubeconfig = config->kubeconfig, .context = config->context.p,
				       .server = config->server.p, .env = (const char *const *)environ };
	struct asking a = { .config = config, .target = FL_BUF(FL_KUBE_TARGET_MAX), .out = FL_BUF(FL_EXPLAIN_MAX),
			    .bearer = FL_BUF(FL_HTTP_HEAD_MAX) };
	int r = -FL_E_NOMEM;

	if (config->controller.len)   /* no API server stands between: it is asked just like one */
		where = (struct fl_kube_where){ .server = config->controller.p, .server_option = "--controller",
						.env = where.env };
	a.io = fl_posix_new(err);
	a.where = a.io ? fl_kube_config_load(fl_io_fs(a.io), &where, err) : NULL;
	if (a.where)
		a.kube = fl_kube_new(a.io, &(struct fl_kube_options){ .config = a.where, .role = "explain" }, err);
	if (a.kube)
		r = ask_it(&a, err);
	else
		r = -(int)err->code;
	fl_op_cancel(&a.call.op);
	fl_kube_free(a.kube);
	fl_kube_config_free(a.where);
	fl_buf_free(&a.target);
	fl_buf_free(&a.out);
	fl_buf_free(&a.bearer);
	fl_arena_free(&a.arena);
	fl_io_free(a.io);
	return r;
}

const struct fl_command fl_cmd_explain = {
	"explain", "Explain the state of an object: conditions, messages of the plans, failed writes.",
	"Prints the conditions of the object, the latest messages of the plans about it, failed writes with their "
	"causes, and who keeps reverting the controller's writes.\n\n"
	"The controller that leads is found by its Lease and asked through the API server. In the controller's "
	"namespace this takes the rights to get that Lease and pods/proxy, and to create serviceaccounts/token of "
	"--account, which may get the path /explain (nonResourceURLs). The controller is shown a token of that account "
	"that no API server takes, never the credentials of the kubeconfig.\n\n"
	"The agent of a node answers for itself: curl 'http://127.0.0.1:9401/explain?kind=Health&name=GPU' there, "
	"where GPU is its PCI address or its UUID.",
	FL_COMMAND_OPTIONS(options, struct explain), .run = explain,
};
