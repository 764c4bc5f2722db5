/* The API server on a port, and webhooks on another host, in the simulated world. Whatever single allocation or call
 * fails, each request is answered as it must be when it is sent again. */
#include "base/base64.h"
#include "base/units.h"
#include "certs.h"
#include "http/client.h"
#include "local/server.h"
#include "sim/sim.h"
#include "test.h"
#include <stdio.h>

enum { TRIES = 4 };
#define SPACE "/api/v1/namespaces/default/configmaps"
#define VALIDATING "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
#define MAP(name) "{\"metadata\":{\"name\":\"" name "\"}}"
/* CA and PORT are filled in. */
#define HOOK(name, path, more) "{\"metadata\":{\"name\":\"" name "\"},\"webhooks\":[{\"name\":\"" name ".demo.io\"," \
	"\"admissionReviewVersions\":[\"v1\"],\"sideEffects\":\"None\",\"timeoutSeconds\":1," more "\"rules\":[{" \
	"\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"operations\":[\"CREATE\"],\"resources\":[\"configmaps\"]}]," \
	"\"clientConfig\":{\"caBundle\":\"CA\",\"service\":{\"namespace\":\"n\",\"name\":\"hooks\",\"path\":\"/" path \
	"\"}}}]}"

static const struct step {
	const char *method, *path, *body;
	int status, again;   /* again: what it is when the first time has been done without an answer */
	const char *holds;
} steps[] = {
	{ "POST", SPACE, MAP("a"), 201, 409, "\"name\":\"a\"" },
	{ "GET", SPACE, NULL, 200, 200, "\"name\":\"a\"" },
	{ "POST", VALIDATING, HOOK("a", "allow", ""), 201, 409, NULL },
	{ "POST", SPACE, MAP("b"), 201, 409, NULL },
	{ "POST", VALIDATING, HOOK("b", "deny", ""), 201, 409, NULL },
	{ "POST", SPACE, MAP("c"), 403, 403, "b.demo.io\\\" denied the request: no" },
	{ "DELETE", VALIDATING "/b", NULL, 200, 404, NULL },
	{ "POST", VALIDATING, HOOK("c", "slow", "\"failurePolicy\":\"Ignore\","), 201, 409, NULL },
	{ "POST", SPACE, MAP("c"), 201, 409, NULL },
};

struct town {
	struct sim_world *world;
	struct sim_host *server, *hooks;
	struct server *serving;
	struct hooks *asked;
	struct client *client;
	unsigned reviews;
};

/* ---- the webhooks ---- */

struct hooks {
	struct town *town;
	struct fl_http_server *http;
	struct fl_err err;
};

static void hooks_gone(void *self)
{
	struct hooks *hooks = self;

	hooks->town->asked = NULL;
	fl_http_server_free(hooks->http);
	fl_free(hooks);
}

static void never(void *arg)
{
	(void)arg;
}

static const struct fl_http_req_user patient = { .gone = never };

static void review(struct fl_http_req *req)
{
	struct hooks *hooks = fl_http_req_service(req);
	struct fl_str body = fl_http_req_body(req), path = fl_http_req_path(req);
	const char *uid = memmem(body.p, body.len, "\"uid\":\"", 7);
	bool deny = fl_str_eq(path, FL_S("/deny"));
	struct fl_header type = { FL_S("content-type"), FL_S("application/json") };
	char text[300];
	int len;

	hooks->town->reviews++;
	if (fl_str_eq(path, FL_S("/slow"))) {
		fl_http_req_on(req, &patient, NULL);
		return;
	}
	len = snprintf(text, sizeof text, "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\","
		       "\"response\":{\"uid\":\"%.36s\",\"allowed\":%s,\"status\":{\"code\":403,\"message\":\"no\"}}}",
		       uid ? uid + 7 : "", deny ? "false" : "true");
	fl_http_req_answer(req, 200, (struct fl_headers){ &type, 1 }, (struct fl_str){ text, (uint32_t)len });
}

static int boot_hooks(struct sim_process *process)
{
	static const struct fl_http_route routes[] = { { NULL, "/*", review, FL_MIB, false, false } };
	FL_AUTO(fl_tls_context) struct fl_tls_context *tls = NULL;
	struct hooks *hooks = fl_zalloc(sizeof *hooks);
	struct fl_addr addr = sim_addr(sim_host_of(process), 443);
	struct fl_io *io = sim_io(process);
	struct test_cert cert;

	if (!hooks)
		return -FL_E_NOMEM;
	hooks->town = sim_arg(process);
	sim_own(process, hooks, hooks_gone);
	if (!test_certs() || !test_cert_make(&(struct test_cert_wish){ .issuer = &test_certs()->ca, .name = "hooks",
			.names = "DNS:hooks.n.svc" }, &cert))
		return -FL_E_NOMEM;
	tls = fl_tls_context_new(&(struct fl_tls_config){ .server = true, .cert = fl_str(cert.cert),
			.key = fl_str(cert.key) }, fl_wall(io), &hooks->err);
	hooks->http = tls ? fl_http_server_new(io, &(struct fl_http_server_options){ .routes = routes, .route_count = 1,
			.service = hooks }, &hooks->err) : NULL;
	if (!hooks->http || fl_http_server_listen(hooks->http, &addr, 0, tls, NULL, &hooks->err) < 0)
		return -FL_E_NOMEM;
	hooks->town->asked = hooks;
	return 0;
}

/* ---- the API server ---- */

struct server {
	struct town *town;
	struct fl_api *api;
	struct fl_api_server *http;
	struct fl_err err;
};

static void server_gone(void *self)
{
	struct server *server = self;

	server->town->serving = NULL;
	fl_api_server_free(server->http);
	fl_api_free(server->api);
	fl_free(server);
}

static bool find_service(void *arg, struct fl_str space, struct fl_str name, uint16_t port, struct fl_addr *ret)
{
	struct town *town = arg;

	*ret = sim_addr(town->hooks, port);
	return fl_str_eq(space, FL_S("n")) && fl_str_eq(name, FL_S("hooks"));
}

static int boot_server(struct sim_process *process)
{
	struct server *server = fl_zalloc(sizeof *server);
	struct fl_addr addr = sim_addr(sim_host_of(process), 80);
	struct fl_api_options options = { .seed = { 1, 2 }, .service = find_service, .arg = sim_arg(process) };

	if (!server)
		return -FL_E_NOMEM;
	server->town = sim_arg(process);
	sim_own(process, server, server_gone);
	server->api = fl_api_new(&options, fl_wall(sim_io(process)) / 1000, &server->err);
	server->http = server->api ? fl_api_serve(sim_io(process), server->api, &addr, NULL, NULL, &server->err) : NULL;
	server->town->serving = server->http ? server : NULL;
	return server->http ? 0 : -FL_E_NOMEM;
}

/* ---- who asks ---- */

struct client {
	struct town *town;
	struct fl_io *io;
	struct fl_http_client *http;
	struct fl_http_call call;
	struct fl_header type;
	struct fl_timer next;
	struct fl_err err;
	struct fl_buf body;
	char url[FL_ADDR_TEXT + 8];
	unsigned step, tries;
	char said[400];              /* of the step that was answered otherwise */
};

static void client_gone(void *self)
{
	struct client *client = self;

	client->town->client = NULL;
	fl_timer_stop(client->io, &client->next);
	fl_http_call_auto_(&client->call);
	fl_http_client_free(client->http);
	fl_buf_free(&client->body);
	fl_free(client);
}

static void put_body(struct fl_buf *out, const char *body)
{
	const char *at = body ? strstr(body, "\"CA\"") : NULL;

	if (!at) {
		fl_buf_str(out, fl_str(body));
		return;
	}
	fl_buf_str(out, (struct fl_str){ body, (uint32_t)(at + 1 - body) });
	fl_base64_put(out, FL_BASE64_STD, test_certs()->ca.cert, strlen(test_certs()->ca.cert));
	fl_buf_str(out, fl_str(at + 3));
}

static void send_step(struct fl_timer *timer)
{
	struct client *client = fl_container(timer, struct client, next);
	const struct step *step = &steps[client->step];

	fl_http_call_free(&client->call);
	fl_buf_clear(&client->body);
	put_body(&client->body, step->body);
	client->call.method = fl_str(step->method);
	client->call.target = fl_str(step->path);
	client->call.headers = (struct fl_headers){ &client->type, 1 };
	client->call.body = fl_buf_view(&client->body);
	client->call.op.deadline = fl_now(client->io) + 5 * FL_NS_PER_S;
	client->tries++;
	fl_http_start(client->http, &client->call);
}

static void answered(struct fl_op *op)
{
	struct client *client = fl_container(fl_container(op, struct fl_http_call, op), struct client, call);
	const struct step *step = &steps[client->step];
	struct fl_str reply = fl_buf_view(&client->call.reply);
	bool first = op->result == step->status && (!step->holds || memmem(reply.p, reply.len, step->holds,
									   strlen(step->holds)));

	if (!first && !(client->tries > 1 && op->result == step->again) && client->tries == TRIES) {
		(void)snprintf(client->said, sizeof client->said, "%s %s: %d %.*s", step->method, step->path,
			       (int)op->result, (int)reply.len, reply.p ? reply.p : client->err.text);
		return;
	}
	if (first || (client->tries > 1 && op->result == step->again)) {
		client->step++;
		client->tries = 0;
	}
	if (client->step < FL_LEN(steps))
		fl_timer_set(client->io, &client->next, fl_now(client->io) + 100 * FL_NS_PER_MS);
}

static int boot_client(struct sim_process *process)
{
	struct client *client = fl_zalloc(sizeof *client);
	struct fl_addr addr;
	char text[FL_ADDR_TEXT];

	if (!client)
		return -FL_E_NOMEM;
	client->io = sim_io(process);
	client->town = sim_arg(process);
	sim_own(process, client, client_gone);
	client->town->client = client;
	client->body = FL_BUF(FL_MIB);
	client->type = (struct fl_header){ FL_S("content-type"), FL_S("application/json") };
	client->call.op = (struct fl_op){ .done = answered, .err = &client->err };
	client->next.fire = send_step;
	addr = sim_addr(client->town->server, 80);
	text[fl_addr_print(&addr, text).len] = '\0';
	(void)snprintf(client->url, sizeof client->url, "http://%s", text);
	client->http = fl_http_client_new(client->io, &(struct fl_http_client_options){ .url = fl_str(client->url) },
					  &client->err);
	if (!client->http)
		return -FL_E_NOMEM;
	fl_timer_set(client->io, &client->next, fl_now(client->io));
	return 0;
}

/* ---- the tests ---- */

static int found(struct town *town)
{
	*town = (struct town){ .world = sim_world_new(&(struct sim_config){ .seed = 1, .refuse = test_refuse_io }) };
	if (!town->world)
		return -FL_E_NOMEM;
	town->hooks = sim_host_new(town->world, "hooks", boot_hooks, town);
	town->server = sim_host_new(town->world, "server", boot_server, town);
	sim_run(town->world, 10 * FL_NS_PER_MS);
	(void)sim_host_new(town->world, "client", boot_client, town);
	return 0;
}

static void town_auto_(struct town *town)
{
	sim_world_free(town->world);
}

TEST(every_request_is_answered_in_the_end)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found(&town));
	/* What is refused while they begin ends them. */
	GOT(town.serving && town.asked ? town.serving : NULL);
	sim_run(town.world, 60 * FL_NS_PER_S);
	GOT(town.client);
	CHECK_STR(fl_str(town.client->said), "");
	CHECK_INT(town.client->step, FL_LEN(steps));
	CHECK(town.reviews >= (test_tortured() ? 1 : 5));
}

/* What waits for a webhook goes with its client. */
TEST(a_client_that_leaves_takes_its_questions_along)
{
	FL_AUTO(town) struct town town = { 0 };
	uint64_t until = 10 * FL_NS_PER_MS;

	OK(found(&town));
	GOT(town.serving && town.asked ? town.serving : NULL);
	for (uint64_t i = 0; i < 1000 && !(town.client && town.client->step == 8); i++)
		sim_run(town.world, until += 20 * FL_NS_PER_MS);
	GOT(town.client);
	CHECK_INT(town.client->step, 8);
	sim_run(town.world, until += 300 * FL_NS_PER_MS);   /* the last one is sent and waits */
	CHECK(town.serving);
	fl_http_call_auto_(&town.client->call);
	sim_run(town.world, until + 5 * FL_NS_PER_S);
	CHECK(town.serving);
}
