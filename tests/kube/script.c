#include "script.h"
#include "base/units.h"
#include "test.h"
#include <stdio.h>
#include <unistd.h>

static void gone(void *arg)
{
	((struct script *)arg)->open = NULL;
}

static void held_gone(void *arg)
{
	((struct script *)arg)->held = NULL;
}

/* When what was said has gone out. */
static void cut_now(struct fl_timer *timer)
{
	struct script *script = fl_container(timer, struct script, cut);
	struct fl_http_req *open = script->open;

	script->open = NULL;
	if (open)
		fl_http_req_cut(open);
}

static const struct fl_http_req_user req_user = { .gone = gone }, held_user = { .gone = held_gone };

static bool fits(const char *want, struct fl_str target)
{
	size_t len = strlen(want);

	if (len && want[len - 1] == '*')
		return fl_str_starts(target, (struct fl_str){ want, (uint32_t)len - 1 });
	return fl_str_eq(target, fl_str(want));
}

static void record(struct script *script, struct fl_http_req *req)
{
	const struct fl_http_head *head = fl_http_req_head(req);

	(void)snprintf(script->got_body, sizeof script->got_body, "%.*s", FL_ARG(fl_http_req_body(req)));
	(void)snprintf(script->got_type, sizeof script->got_type, "%.*s",
		       FL_ARG(fl_headers_get(head->headers, FL_S("content-type"))));
	(void)snprintf(script->got_auth, sizeof script->got_auth, "%.*s",
		       FL_ARG(fl_headers_get(head->headers, FL_S("authorization"))));
	(void)snprintf(script->got_headers, sizeof script->got_headers, "%.*s|%.*s|%.*s", FL_ARG(head->method),
		       FL_ARG(fl_headers_get(head->headers, FL_S("user-agent"))),
		       FL_ARG(fl_headers_get(head->headers, FL_S("accept"))));
}

static void handle(struct fl_http_req *req)
{
	struct script *script = fl_http_req_service(req);
	const struct exchange *now = script->at;
	const struct fl_http_head *head = fl_http_req_head(req);
	struct fl_header fields[2] = { { FL_S("content-type"), FL_S("application/json") } };
	struct fl_headers headers = { fields, 1 };

	script->asked++;
	record(script, req);
	if (!now->target || !fits(now->target, head->target)) {
		if (!script->wrong[0])
			(void)snprintf(script->wrong, sizeof script->wrong, "asked %.*s, not %s", FL_ARG(head->target),
				       now->target ? now->target : "anything more");
		fl_http_req_say(req, 500, "not in the script");
		return;
	}
	script->at += !now->always;
	if (now->retry_after)
		fields[headers.len++] = (struct fl_header){ FL_S("retry-after"), fl_str(now->retry_after) };
	if (now->held) {
		fl_http_req_on(req, &held_user, script);
		script->held = req;
		return;
	}
	if (!now->stay && !now->cut) {
		fl_http_req_answer(req, now->status, headers, fl_str(now->body));
		return;
	}
	fl_http_req_on(req, &req_user, script);
	script->open = req;
	fl_http_req_begin(req, now->status, headers, -1);
	fl_http_req_send(req, fl_str(now->body));
	if (now->cut)
		fl_timer_set(script->io, &script->cut, fl_now(script->io) + 3 * FL_NS_PER_MS);
}

void script_more(struct script *script, const char *text)
{
	if (script->open)
		fl_http_req_send(script->open, fl_str(text));
}

void script_answer(struct script *script, const char *body)
{
	struct fl_header field = { FL_S("content-type"), FL_S("application/json") };
	struct fl_http_req *held = script->held;

	script->held = NULL;
	if (held)
		fl_http_req_answer(held, 200, (struct fl_headers){ &field, 1 }, fl_str(body));
}

static struct fl_kube_config *configure(struct script *script, const char *user)
{
	static const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
	struct fl_kube_where where = { .env = env, .server = user ? NULL : script->server_url };
	char text[1000], path[140];

	if (!user)
		return fl_kube_config_load(fl_io_fs(script->io), &where, &script->err);
	(void)snprintf(text, sizeof text,
		       "clusters: [{name: c, cluster: {server: '%s'}}]\nusers: [{name: u, user: {%s}}]\n"
		       "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n",
		       script->server_url, user);
	(void)snprintf(path, sizeof path, "%s.config", script->socket);
	where.kubeconfig = path;
	return test_write_file(path, text) ? fl_kube_config_load(fl_io_fs(script->io), &where, &script->err) : NULL;
}

int script_open(struct script *script, const struct exchange *exchanges)
{
	return script_open_as(script, exchanges, NULL);
}

int script_open_as(struct script *script, const struct exchange *exchanges, const char *user_says)
{
	static const struct fl_http_route routes[] = { { NULL, "*", handle, 0, false } };
	struct fl_http_server_options options = { .routes = routes, .route_count = 1, .service = script };
	struct fl_kube_options kube = { .role = "test", .log = script->log };
	struct fl_addr addr;

	script->at = exchanges;
	script->cut = (struct fl_timer){ .fire = cut_now };
	script->simulated = script->io != NULL;
	(void)snprintf(script->socket, sizeof script->socket, "%s",
		       script->simulated ? "@api" : test_path(test_dir(), "api"));
	(void)snprintf(script->server_url, sizeof script->server_url, "unix:%s", script->socket);
	if (!script->simulated)
		script->io = test_io();
	if (!script->io)
		return -FL_E_NOMEM;
	script->server = fl_http_server_new(script->io, &options, &script->err);
	if (!script->server || fl_addr_parse(&addr, fl_str(script->server_url), &script->err) < 0 ||
	    fl_http_server_listen(script->server, &addr, 0600, NULL, NULL, &script->err) < 0)
		return -(int)script->err.code;
	script->config = configure(script, user_says);
	kube.config = script->config;
	script->kube = script->config ? fl_kube_new(script->io, &kube, &script->err) : NULL;
	return script->kube ? 0 : -(int)script->err.code;
}

void script_close(struct script *script)
{
	if (script->io)
		fl_timer_stop(script->io, &script->cut);
	fl_kube_free(script->kube);
	fl_kube_config_free(script->config);
	fl_http_server_free(script->server);
	if (script->simulated)
		return;
	fl_io_free(script->io);
	(void)unlink(script->socket);
}
