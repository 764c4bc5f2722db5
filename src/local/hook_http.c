#include "local/hook_http.h"

struct fl_hook_server {
	struct fl_http_client *client;
	struct fl_str origin, server, ca;
	struct fl_arena arena;        /* they lie in */
	uint32_t users;
	uint64_t turn;                /* when it was asked last */
};

struct fl_hook_question {
	struct fl_hook_questions *all;
	uint32_t index;
	struct fl_hook_server *server;
	struct fl_http_call call;
	struct fl_header header[2];
	struct fl_err err;
};

/* ---- servers ---- */

static void server_free(struct fl_hook_server *server)
{
	if (!server)
		return;
	fl_http_client_free(server->client);
	fl_arena_free(&server->arena);
	fl_free(server);
}
FL_DEFINE_AUTO(server, struct fl_hook_server *, server_free);

void fl_hook_servers_free(struct fl_hook_servers *servers)
{
	for (size_t i = 0; i < FL_HOOK_SERVERS; i++)
		server_free(servers->at[i]);
	*servers = (struct fl_hook_servers){ .io = servers->io };
}

static bool copy(struct fl_hook_server *server, struct fl_str *to, struct fl_str from)
{
	*to = fl_arena_str(&server->arena, from);
	return to->p != NULL;
}

static struct fl_hook_server *server_new(struct fl_io *io, const struct fl_api_hook *hook, struct fl_err *err)
{
	FL_AUTO(server) struct fl_hook_server *server = fl_zalloc(sizeof *server);
	FL_AUTO(fl_tls_context) struct fl_tls_context *tls = NULL;
	struct fl_http_client_options options = { .url = hook->origin, .server_name = hook->server,
						  .user_agent = FL_S("kube-apiserver-admission") };

	if (!server || !copy(server, &server->origin, hook->origin) || !copy(server, &server->server, hook->server) ||
	    !copy(server, &server->ca, hook->ca))
		return fl_null(err, FL_E_NOMEM, "no memory for a webhook's connections");
	tls = fl_tls_context_new(&(struct fl_tls_config){ .ca = hook->ca }, fl_wall(io), err);
	options.tls = tls;
	server->client = tls ? fl_http_client_new(io, &options, err) : NULL;
	return server->client ? fl_steal(&server) : NULL;
}

static struct fl_hook_server *server_find(struct fl_hook_servers *servers, const struct fl_api_hook *hook,
					  struct fl_err *err)
{
	struct fl_hook_server **place = NULL;

	for (size_t i = 0; i < FL_HOOK_SERVERS; i++) {
		struct fl_hook_server *server = servers->at[i];

		if (server && fl_str_eq(server->origin, hook->origin) && fl_str_eq(server->server, hook->server) &&
		    fl_str_eq(server->ca, hook->ca))
			return server;
		if (!server || (!server->users && (!place || (*place && server->turn < (*place)->turn))))
			place = &servers->at[i];
	}
	if (!place)
		return fl_null(err, FL_E_RETRY, "%d servers of webhooks are asked already", FL_HOOK_SERVERS);
	server_free(*place);
	*place = server_new(servers->io, hook, err);
	return *place;
}

/* ---- questions ---- */

/* As the API server words it where Go has words of its own. */
static void tell_failure(struct fl_hook_question *question, int64_t result)
{
	struct fl_hook_questions *all = question->all;
	const struct fl_api_hook *hook = fl_api_call_hook(all->call, question->index);
	char text[FL_ERR_TEXT + 100];
	struct fl_buf buf = FL_BUF_IN(text);
	struct fl_str place = fl_str_sub(hook->origin, sizeof "https://" - 1, hook->origin.len);

	if (result == -FL_E_TIMEOUT)
		fl_buf_str(&buf, FL_S("context deadline exceeded"));
	else if (result == -FL_E_RETRY)
		fl_buf_printf(&buf, "dial tcp %.*s: connect: connection refused", FL_ARG(fl_str_sub(place, 0, 100)));
	else
		fl_buf_str(&buf, fl_str(question->err.text));
	fl_api_call_hooked(all->call, question->index, 0, fl_buf_view(&buf));
}

static void answered(struct fl_op *op)
{
	struct fl_hook_question *question =
		fl_container(fl_container(op, struct fl_http_call, op), struct fl_hook_question, call);
	struct fl_hook_questions *all = question->all;

	if (op->result < 0)
		tell_failure(question, op->result);
	else
		fl_api_call_hooked(all->call, question->index, (int)op->result, fl_buf_view(&question->call.reply));
	fl_http_call_free(&question->call);
	question->server->users--;
	question->server = NULL;
	if (--all->open == 0)
		all->done(all);
}

static void start_one(struct fl_hook_questions *all, struct fl_hook_question *question, const struct fl_api_hook *hook)
{
	struct fl_io *io = all->servers->io;

	question->header[0] = (struct fl_header){ FL_S("content-type"), FL_S("application/json") };
	question->header[1] = (struct fl_header){ FL_S("accept"), FL_S("application/json, */*") };
	question->server->users++;
	question->server->turn = ++all->servers->turn;
	question->call = (struct fl_http_call){
		.op = { .done = answered, .err = &question->err, .deadline = fl_now(io) + hook->timeout * FL_NS_PER_S },
		.method = FL_S("POST"), .target = hook->target,
		.headers = { question->header, FL_LEN(question->header) },
		.body = hook->body, .max_reply = FL_HOOK_REPLY_MAX,
		.idempotent = true,   /* sideEffects: None */
	};
	fl_http_start(question->server->client, &question->call);
}

int fl_hook_questions_start(struct fl_hook_questions *all)
{
	all->len = fl_api_call_hooks(all->call);
	all->at = fl_zalloc_n(all->len, sizeof *all->at);
	all->open = 0;
	if (!all->at)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < all->len; i++) {
		struct fl_hook_question *question = &all->at[i];
		const struct fl_api_hook *hook = fl_api_call_hook(all->call, i);

		question->all = all;
		question->index = i;
		if (!hook)
			continue;
		question->server = server_find(all->servers, hook, &question->err);
		if (!question->server && question->err.code == FL_E_NOMEM) {
			fl_hook_questions_stop(all);
			return -FL_E_NOMEM;
		}
		if (question->server) {
			all->open++;
			start_one(all, question, hook);
		} else {
			fl_api_call_hooked(all->call, i, 0, fl_str(question->err.text));
		}
	}
	return 0;
}

void fl_hook_questions_stop(struct fl_hook_questions *all)
{
	for (uint32_t i = 0; all->at && i < all->len; i++) {
		struct fl_hook_question *question = &all->at[i];

		if (!question->server)
			continue;
		fl_op_cancel(&question->call.op);
		fl_http_call_free(&question->call);
		question->server->users--;
	}
	fl_free(all->at);
	all->at = NULL;
	all->len = all->open = 0;
}
