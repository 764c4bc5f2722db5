#include "kube/auth.h"
#include "base/backoff.h"
#include "base/log.h"
#include "base/units.h"
#include "http/tls_prepare.h"
#include "json/time.h"

#define FL_EXEC_TIMEOUT (60 * FL_NS_PER_S)     /* of an exec plugin: some talk to slow identity providers */
#define FL_EXEC_EARLY (30 * FL_NS_PER_S)       /* a credential is renewed so long before it ends: clocks differ */
#define FL_EXEC_DOUBT (60 * FL_NS_PER_S)       /* one that is over by our clock is tried so long: the server's counts */
#define FL_KUBE_CONNS 64                 /* of one client: one with HTTP/2; with HTTP/1.1 each watch has its own */
#define FL_KUBE_PING_EVERY (15 * FL_NS_PER_S)  /* a connection that is silent so long is asked ... */
#define FL_KUBE_PING_WITHIN (10 * FL_NS_PER_S) /* ... and lost without an answer: a frozen server shows within 25 s */

static const char *const part_names[] = { [FL_AUTH_TOKEN] = "token", [FL_AUTH_CERT] = "client certificate",
					  [FL_AUTH_KEY] = "client key", [FL_AUTH_CA] = "certificate authority" };
_Static_assert(FL_LEN(part_names) == FL_AUTH_PART_COUNT_, "name every part");

static void next_part(struct fl_auth *auth);

static const struct fl_kube_text *source(const struct fl_auth *auth, unsigned part)
{
	const struct fl_kube_text *const sources[] = {
		[FL_AUTH_TOKEN] = &auth->config->token, [FL_AUTH_CERT] = &auth->config->cert,
		[FL_AUTH_KEY] = &auth->config->key, [FL_AUTH_CA] = &auth->config->ca,
	};

	return sources[part];
}

/* Is there anything that may be another one later? */
static bool changes(const struct fl_auth *auth)
{
	for (unsigned part = 0; part < FL_AUTH_PART_COUNT_; part++)
		if (source(auth, part)->path)
			return true;
	return auth->config->exec != NULL;
}

void fl_auth_init(struct fl_auth *auth)
{
	for (unsigned part = 0; part < FL_AUTH_PART_COUNT_; part++)
		auth->texts[part] = auth->fresh[part] = FL_BUF(FL_CREDENTIAL_MAX);
	auth->exec_info = FL_BUF(2 * FL_CREDENTIAL_MAX);
}

void fl_auth_free(struct fl_auth *auth)
{
	fl_timer_stop(auth->io, &auth->begin);
	fl_op_cancel(&auth->read.op);
	fl_exec_free(&auth->exec);
	fl_op_cancel(&auth->prepare);
	auth->context = fl_tls_context_free(auth->context);
	auth->http = fl_http_client_free(auth->http);
	for (unsigned part = 0; part < FL_AUTH_PART_COUNT_; part++) {
		fl_buf_free(&auth->texts[part]);
		fl_buf_free(&auth->fresh[part]);
	}
	fl_buf_free(&auth->exec_info);
	fl_free(auth->exec_env);
	auth->exec_env = NULL;
}

/* ---- taking it into use ---- */

static bool same(const struct fl_auth *auth, unsigned part)
{
	return fl_str_eq(fl_buf_view(&auth->texts[part]), fl_buf_view(&auth->fresh[part]));
}

/* A new one where anything of it is new, and where there was none. */
static bool needs_context(const struct fl_auth *auth)
{
	return auth->config->tls && !(auth->http && same(auth, FL_AUTH_CERT) && same(auth, FL_AUTH_KEY) &&
				      same(auth, FL_AUTH_CA));
}

static struct fl_tls_context *begin_context(const struct fl_auth *auth, struct fl_err *err)
{
	struct fl_tls_config tls = {
		.peer = auth->config->insecure ? FL_TLS_PEER_TRUST : FL_TLS_PEER_VERIFY,
		.cert = fl_buf_view(&auth->fresh[FL_AUTH_CERT]), .key = fl_buf_view(&auth->fresh[FL_AUTH_KEY]),
		.ca = fl_buf_view(&auth->fresh[FL_AUTH_CA]),
	};

	return fl_tls_context_begin(&tls, fl_wall(auth->io), err);
}

static int use_tls(struct fl_auth *auth, struct fl_err *err)
{
	const struct fl_kube_config *config = auth->config;
	struct fl_http_client_options options = {
		.url = config->server, .user_agent = auth->user_agent, .server_name = fl_str(config->server_name),
		.max_conns = FL_KUBE_CONNS, .ping_every = FL_KUBE_PING_EVERY, .ping_within = FL_KUBE_PING_WITHIN,
		.tls = auth->context,
	};

	if (!auth->http)
		auth->http = fl_http_client_new(auth->io, &options, err);
	else if (auth->context)
		fl_http_client_use(auth->http, auth->context);
	auth->context = fl_tls_context_free(auth->context);
	return auth->http ? 0 : -(int)err->code;
}

static int use(struct fl_auth *auth, struct fl_err *err)
{
	struct fl_str token = fl_str_trim(fl_buf_view(&auth->fresh[FL_AUTH_TOKEN]));

	if (use_tls(auth, err) < 0)
		return fl_wrap(err, "credentials of %.*s", FL_ARG(auth->config->source));
	if (auth->config->token.path && !token.len)
		return fl_fail(err, FL_E_INVALID, "token file '%s' is empty", auth->config->token.path);
	if (fl_http_client_token(auth->http, token) < 0)
		return fl_fail(err, FL_E_NOMEM, "no memory for a token");
	for (unsigned part = 0; part < FL_AUTH_PART_COUNT_; part++) {
		struct fl_buf former = auth->texts[part];

		auth->texts[part] = auth->fresh[part];
		auth->fresh[part] = former;
	}
	return 0;
}

static void over(struct fl_auth *auth, const struct fl_err *failure)
{
	auth->busy = auth->spent = false;
	auth->read_at = fl_now(auth->io);
	for (unsigned part = 0; part < FL_AUTH_PART_COUNT_; part++)
		fl_buf_free(&auth->fresh[part]);
	if (failure) {
		auth->err = *failure;
		if (auth->http)
			fl_log(auth->log, FL_WARN, "credentials unreadable, previous ones kept", FL_KV_ERR(failure));
		else
			fl_log(auth->log, FL_WARN, "credentials unreadable, none to use, will try again",
			       FL_KV_ERR(failure));
	} else {
		auth->err = (struct fl_err){ 0 };
		auth->generation++;
	}
	auth->ready(auth);
}

static void make_context(struct fl_timer *timer)
{
	struct fl_auth *auth = fl_container(timer, struct fl_auth, begin);
	struct fl_err err = { 0 };
	int more = fl_tls_context_step(auth->context, &err);

	fl_io_name(auth->io, "TLS");
	if (more > 0) {
		fl_timer_set(auth->io, &auth->begin, fl_now(auth->io));
		return;
	}
	if (more < 0) {
		auth->context = fl_tls_context_free(auth->context);
		(void)fl_wrap(&err, "credentials of %.*s", FL_ARG(auth->config->source));
	}
	over(auth, more < 0 || use(auth, &err) < 0 ? &err : NULL);
}

static void start_context(struct fl_auth *auth)
{
	struct fl_err err = { 0 };

	auth->context = begin_context(auth, &err);
	if (auth->context) {
		auth->begin = (struct fl_timer){ .fire = make_context };
		fl_timer_set(auth->io, &auth->begin, fl_now(auth->io));
	} else {
		(void)fl_wrap(&err, "credentials of %.*s", FL_ARG(auth->config->source));
		over(auth, &err);
	}
}

static void prepared(struct fl_op *op)
{
	start_context(fl_container(op, struct fl_auth, prepare));
}

static void finish(struct fl_auth *auth)
{
	struct fl_err err = { 0 };

	if (!needs_context(auth)) {
		over(auth, use(auth, &err) < 0 ? &err : NULL);
	} else if (auth->http) {
		start_context(auth);
	} else {
		auth->prepare = (struct fl_op){ .done = prepared };
		fl_tls_prepare(auth->io, &auth->prepare, fl_buf_view(&auth->fresh[FL_AUTH_KEY]));
	}
}

/* ---- the plugin ---- */

static int take_exec(struct fl_auth *auth, struct fl_err *err)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_exec_credential got;
	int r = fl_exec_credential_read(auth->config->exec->version, fl_buf_view(&auth->exec.out.buf), &arena, &got,
					err);
	int64_t left;

	if (r < 0)
		return r;
	if (got.token.p)
		fl_buf_str(&auth->fresh[FL_AUTH_TOKEN], got.token);
	if (got.cert.p) {
		fl_buf_clear(&auth->fresh[FL_AUTH_CERT]);
		fl_buf_clear(&auth->fresh[FL_AUTH_KEY]);
		fl_buf_str(&auth->fresh[FL_AUTH_CERT], got.cert);
		fl_buf_str(&auth->fresh[FL_AUTH_KEY], got.key);
	}
	auth->expires = 0;
	if (got.expires != FL_TIME_NONE) {
		/* Its end is by the wall clock; from here on it is measured. */
		left = got.expires - fl_wall(auth->io) / 1000;
		if (left <= 0) {
			/* Ours may be wrong, and then there would be no better one: the server says whether it is
			 * good. */
			fl_log(auth->log, FL_WARN, "credential expired by the local clock, still tried",
			       FL_KV_STR("plugin", fl_str(auth->config->exec->path)));
			left = FL_EXEC_DOUBT / 1000;
		}
		auth->expires = fl_now(auth->io) + (uint64_t)left * 1000;
	}
	for (unsigned part = 0; part < FL_AUTH_PART_COUNT_; part++)
		if (fl_buf_check(&auth->fresh[part], "a credential", err) < 0)
			return -(int)err->code;
	return 0;
}

static void exec_done(struct fl_op *op)
{
	struct fl_auth *auth = fl_container(op, struct fl_auth, exec.op);
	struct fl_err err = auth->err;

	if (op->result < 0 || take_exec(auth, &err) < 0) {
		(void)fl_wrap(&err, "'%s'", auth->config->exec->path);
		fl_exec_free(&auth->exec);
		over(auth, &err);
		return;
	}
	fl_exec_free(&auth->exec);
	finish(auth);
}

static void run_exec(struct fl_auth *auth)
{
	const struct fl_kube_exec *exec = auth->config->exec;
	struct fl_err err = { 0 };
	size_t count = 0;

	while (exec->env[count])
		count++;
	fl_buf_clear(&auth->exec_info);
	fl_exec_info(auth->config, fl_buf_view(&auth->fresh[FL_AUTH_CA]), &auth->exec_info);
	fl_free(auth->exec_env);
	auth->exec_env = fl_zalloc_n(count + 2, sizeof *auth->exec_env);
	if (!auth->exec_env || auth->exec_info.failed) {
		(void)fl_fail(&err, FL_E_NOMEM, "no memory to run '%s'", exec->path);
		over(auth, &err);
		return;
	}
	memcpy(auth->exec_env, exec->env, count * sizeof *auth->exec_env);
	auth->exec_env[count] = auth->exec_info.p;
	auth->exec.op = (struct fl_op){ .done = exec_done, .err = &auth->err,
					.deadline = fl_now(auth->io) + FL_EXEC_TIMEOUT };
	fl_exec_start(auth->io, &auth->exec,
		      &(struct fl_spawn){ .path = exec->path, .argv = exec->argv, .env = auth->exec_env });
}

/* ---- the files ---- */

static void file_done(struct fl_op *op)
{
	struct fl_auth *auth = fl_container(op, struct fl_auth, read.op);
	struct fl_err err = auth->err;

	if (op->result < 0) {
		(void)fl_wrap(&err, "%s", part_names[auth->part]);
		over(auth, &err);
		return;
	}
	auth->part++;
	next_part(auth);
}

static void next_part(struct fl_auth *auth)
{
	struct fl_err err = { 0 };

	for (; auth->part < FL_AUTH_PART_COUNT_; auth->part++) {
		const struct fl_kube_text *from = source(auth, auth->part);

		fl_buf_clear(&auth->fresh[auth->part]);
		if (from->path) {
			auth->read = (struct fl_file_read){ .op = { .done = file_done, .err = &auth->err,
								    .deadline = fl_now(auth->io) + FL_FILE_TIMEOUT },
							    .path = from->path, .into = &auth->fresh[auth->part] };
			fl_file_read(auth->io, &auth->read);
			return;
		}
		fl_buf_str(&auth->fresh[auth->part], from->text);
		if (fl_buf_check(&auth->fresh[auth->part], part_names[auth->part], &err) < 0) {
			over(auth, &err);
			return;
		}
	}
	if (auth->config->exec)
		run_exec(auth);
	else
		finish(auth);
}

static void begin(struct fl_timer *timer)
{
	struct fl_auth *auth = fl_container(timer, struct fl_auth, begin);

	fl_io_name(auth->io, "credentials");
	next_part(auth);
}

void fl_auth_refresh(struct fl_auth *auth)
{
	if (auth->busy)
		return;
	auth->busy = true;
	auth->part = 0;
	auth->begin = (struct fl_timer){ .fire = begin };
	fl_timer_set(auth->io, &auth->begin, fl_now(auth->io));
}

/* A file is read for next to nothing; who starts a program for each refusal makes a storm of an outage. */
static uint64_t patience(const struct fl_auth *auth)
{
	if (!auth->config->exec || !auth->refusals)
		return 0;
	return fl_backoff_after(auth->refusals, FL_EXEC_AGAIN_FIRST, FL_EXEC_AGAIN_LAST);
}

bool fl_auth_refused(struct fl_auth *auth, uint32_t generation)
{
	uint64_t age = fl_now(auth->io) - auth->read_at;

	if (generation != auth->generation)
		return true;
	if (auth->busy) {
		auth->spent = true;
		return true;
	}
	/* What lasted longer than we ever wait was good, whatever was before it. */
	if (age > 2 * FL_EXEC_AGAIN_LAST)
		auth->refusals = 0;
	if (age < patience(auth))
		return false;
	auth->refusals++;
	auth->spent = true;
	fl_auth_refresh(auth);
	return true;
}

bool fl_auth_fresh(struct fl_auth *auth)
{
	uint64_t now = fl_now(auth->io);
	bool old = auth->http && changes(auth) && now - auth->read_at >= FL_CREDENTIAL_AGE && !auth->config->exec;
	bool expired = auth->expires && now >= auth->expires;
	bool soon = auth->expires && now + FL_EXEC_EARLY >= auth->expires && now - auth->read_at >= FL_NS_PER_S;

	if (!auth->http || expired || old || soon)
		fl_auth_refresh(auth);
	return auth->http && !expired;
}
