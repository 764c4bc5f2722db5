#include "serve/guard.h"
#include "base/chain.h"
#include "base/hmap.h"
#include "base/units.h"
#include "json/write.h"
#include "serve/pages.h"
#include <strings.h>

#define FL_GUARD_USER 128                      /* of a user's name in a refusal */

FL_NAMES(fl_guard_step_names, FL_GUARD_STEP_COUNT_, [FL_GUARD_SERVE] = "served",
	 [FL_GUARD_SERVE_STALE] = "served stale", [FL_GUARD_WAIT] = "wait", [FL_GUARD_ASK_TOKEN] = "ask token",
	 [FL_GUARD_ASK_ACCESS] = "ask access", [FL_GUARD_NO_TOKEN] = "no token", [FL_GUARD_NOBODY] = "unknown token",
	 [FL_GUARD_FORBIDDEN] = "forbidden", [FL_GUARD_NO_API] = "no API server", [FL_GUARD_BUSY] = "busy",
	 [FL_GUARD_CANNOT_ASK] = "cannot ask");

/* ---- the decision ---- */

/* May no more be begun? Whoever guesses tokens asks the API server through us. A token that was allowed is asked about
 * again whatever the shares of others and of its own address are, and a few reviews are for such tokens alone: whoever
 * holds one that was taken away cannot put off its review by using up the others. */
static bool busy(const struct fl_guard_facts *facts)
{
	const struct fl_guard_load *asks = &facts->asks, *lately = &facts->lately;
	bool own_full, untrusted_full, again_full;

	if (facts->kept == FL_GUARD_KEPT_OLD)
		return asks->all >= FL_GUARD_ASKS || lately->all >= FL_GUARD_REVIEWS;
	if (asks->all >= FL_GUARD_ASKS_NEW || lately->all >= FL_GUARD_REVIEWS_NEW)
		return true;
	own_full = asks->own >= (facts->trusted ? FL_GUARD_ASKS_HALF : FL_GUARD_ASKS_UNTRUSTED) ||
		   lately->own >= (facts->trusted ? FL_GUARD_REVIEWS_HALF : FL_GUARD_REVIEWS_UNTRUSTED);
	untrusted_full = asks->untrusted >= FL_GUARD_ASKS_HALF || lately->untrusted >= FL_GUARD_REVIEWS_HALF;
	again_full = asks->again >= FL_GUARD_ASKS_UNTRUSTED || lately->again >= FL_GUARD_REVIEWS_UNTRUSTED;
	return own_full || (!facts->trusted && (untrusted_full || (!facts->first && again_full)));
}

static enum fl_guard_step before_a_review(const struct fl_guard_facts *facts)
{
	switch (facts->kept) {
	case FL_GUARD_KEPT_YES: return FL_GUARD_SERVE;
	case FL_GUARD_KEPT_NOBODY: return FL_GUARD_NOBODY;
	case FL_GUARD_KEPT_NO: return FL_GUARD_FORBIDDEN;
	case FL_GUARD_KEPT_OLD:
	case FL_GUARD_NOT_KEPT: break;
	}
	if (facts->asked)
		return FL_GUARD_WAIT;
	if (!busy(facts))
		return FL_GUARD_ASK_TOKEN;
	return facts->kept == FL_GUARD_KEPT_OLD && facts->away ? FL_GUARD_SERVE_STALE : FL_GUARD_BUSY;
}

enum fl_guard_step fl_guard_next(const struct fl_guard_facts *facts)
{
	bool failed = facts->token_review == FL_GUARD_FAILED || facts->access_review == FL_GUARD_FAILED;

	if (facts->open || facts->local || facts->vouched)
		return FL_GUARD_SERVE;
	if (!facts->has_api)
		return FL_GUARD_NO_API;
	if (!facts->token)
		return FL_GUARD_NO_TOKEN;
	if (failed)
		return facts->kept == FL_GUARD_KEPT_OLD ? FL_GUARD_SERVE_STALE : FL_GUARD_CANNOT_ASK;
	if (facts->token_review == FL_GUARD_UNASKED)
		return before_a_review(facts);
	if (facts->token_review == FL_GUARD_NO)
		return FL_GUARD_NOBODY;
	if (facts->access_review == FL_GUARD_UNASKED)
		return FL_GUARD_ASK_ACCESS;
	return facts->access_review == FL_GUARD_YES ? FL_GUARD_SERVE : FL_GUARD_FORBIDDEN;
}

static bool serves(enum fl_guard_step step)
{
	return step == FL_GUARD_SERVE || step == FL_GUARD_SERVE_STALE;
}

/* ---- verdicts that are kept ---- */

/* A token, and the audience that it must be for: "" is the API server's own. */
struct shown {
	struct fl_str token;
	const char *audience;
};

static void key_of(const struct fl_guard *guard, struct shown shown, struct fl_str path, uint64_t key[2])
{
	for (int i = 0; i < 2; i++)
		key[i] = (fl_siphash13(guard->secrets[i], shown.token.p, shown.token.len) ^
			  fl_siphash13(guard->secrets[1 - i], path.p, path.len)) +
			 (shown.audience[0] != '\0');
}

static uint64_t lasts(enum fl_guard_kept kept)
{
	return kept == FL_GUARD_KEPT_YES ? FL_GUARD_STALE : FL_GUARD_DENIED;
}

static struct fl_guard_verdict *find_verdict(struct fl_guard *guard, const uint64_t key[2])
{
	for (size_t i = 0; i < FL_LEN(guard->verdicts); i++)
		if (guard->verdicts[i].key[0] == key[0] && guard->verdicts[i].key[1] == key[1])
			return &guard->verdicts[i];
	return NULL;
}

static enum fl_guard_kept kept(struct fl_guard *guard, const uint64_t key[2])
{
	const struct fl_guard_verdict *verdict = find_verdict(guard, key);
	uint64_t age;

	if (!verdict || verdict->kept == FL_GUARD_NOT_KEPT)
		return FL_GUARD_NOT_KEPT;
	age = fl_now(guard->io) - verdict->since;
	if (age >= lasts(verdict->kept))
		return FL_GUARD_NOT_KEPT;
	return verdict->kept == FL_GUARD_KEPT_YES && age >= FL_GUARD_ALLOWED ? FL_GUARD_KEPT_OLD : verdict->kept;
}

/* Whoever shows many tokens that are none pushes out others like that, not those that are good. */
static struct fl_guard_verdict *place_for(struct fl_guard *guard, const uint64_t key[2])
{
	struct fl_guard_verdict *best = find_verdict(guard, key);

	for (size_t i = 0; i < FL_LEN(guard->verdicts) && !best; i++)
		if (guard->verdicts[i].kept == FL_GUARD_NOT_KEPT)
			best = &guard->verdicts[i];
	if (best)
		return best;
	best = &guard->verdicts[0];
	for (size_t i = 1; i < FL_LEN(guard->verdicts); i++) {
		struct fl_guard_verdict *each = &guard->verdicts[i];
		bool good = each->kept == FL_GUARD_KEPT_YES, best_good = best->kept == FL_GUARD_KEPT_YES;

		if (good == best_good ? each->since < best->since : best_good)
			best = each;
	}
	return best;
}

/* Has it shown a token that was allowed in the last FL_GUARD_STALE? */
static bool trusted(const struct fl_guard *guard, const struct fl_origin *origin)
{
	uint64_t now = fl_now(guard->io);

	for (size_t i = 0; i < FL_LEN(guard->verdicts); i++) {
		const struct fl_guard_verdict *each = &guard->verdicts[i];

		if (each->kept == FL_GUARD_KEPT_YES && now - each->since < FL_GUARD_STALE &&
		    fl_origin_eq(&each->origin, origin))
			return true;
	}
	return false;
}

/* ---- one that is asked about ---- */

/* A request that waits for its verdict. */
struct waiter {
	struct waiter *next, **from;
	struct fl_http_req *req;
	void (*handle)(struct fl_http_req *req);
};

struct fl_guard_ask {
	struct fl_guard *guard;
	struct fl_guard_review review;
	struct fl_guard_ask *next, **from;
	struct waiter *waiters;        /* none: they have left */
	struct fl_guard_facts facts;
	const char *audience;          /* of struct shown */
	uint64_t key[2], deadline;
	struct fl_kube_call call;
	enum fl_guard_step step;       /* the answer, once it is in guard->over */
	struct fl_timer rest;
	struct fl_err err;
	struct fl_buf path, body, access;  /* access: the second question, written from the answer to the first */
	char user[FL_GUARD_USER];      /* cut, for the refusal */
};

static void leave(struct waiter *waiter)
{
	fl_chain_take(waiter);
	fl_free(waiter);
}

static void end(struct fl_guard_ask *ask)
{
	fl_op_cancel(&ask->call.op);
	fl_timer_stop(ask->guard->io, &ask->rest);
	while (ask->waiters) {
		fl_http_req_on(ask->waiters->req, NULL, NULL);
		leave(ask->waiters);
	}
	fl_buf_free(&ask->path);
	fl_buf_free(&ask->body);
	fl_buf_free(&ask->access);
	fl_chain_take(ask);
	fl_free(ask);
}

/* The review goes on: its place in the budget is taken, and whoever begins reviews only to leave learns nothing. */
static void gone(void *arg)
{
	leave(arg);
}

static struct fl_guard_ask *under_way(const struct fl_guard *guard, const uint64_t key[2])
{
	for (struct fl_guard_ask *ask = guard->asks; ask; ask = ask->next)
		if (ask->key[0] == key[0] && ask->key[1] == key[1])
			return ask;
	return NULL;
}

static void count(struct fl_guard *guard, enum fl_guard_step step)
{
	if (guard->answers)
		fl_count(fl_series(guard->answers,
				   (struct fl_str[]){ fl_str(fl_name(&fl_guard_step_names, (int)step)) }),
			 1);
}

#define BEARER { FL_S_INIT("www-authenticate"), FL_S_INIT("Bearer realm=\"fairlead\"") }

static const struct {
	int status;
	const char *reason;        /* metav1.StatusReason */
	struct fl_header header;   /* "": none */
} refusals[] = {
	[FL_GUARD_NO_TOKEN] = { 401, "Unauthorized", BEARER }, [FL_GUARD_NOBODY] = { 401, "Unauthorized", BEARER },
	[FL_GUARD_FORBIDDEN] = { 403, "Forbidden" }, [FL_GUARD_NO_API] = { 403, "Forbidden" },
	[FL_GUARD_BUSY] = { 503, "ServiceUnavailable", { FL_S_INIT("retry-after"), FL_S_INIT("1") } },
	[FL_GUARD_CANNOT_ASK] = { 503, "ServiceUnavailable" },
};

static void put_refusal(struct fl_buf *words, enum fl_guard_step step, struct fl_str path, const char *user,
			const char *why)
{
	switch (step) {
	case FL_GUARD_NO_TOKEN:
		fl_buf_printf(words, "no bearer token: send 'Authorization: Bearer TOKEN' of a user that may get %.*s "
				     "(ClusterRole with nonResourceURLs), or ask from this machine's loopback",
			      FL_ARG(path));
		break;
	case FL_GUARD_NOBODY:
		fl_buf_printf(words, "the API server does not know this bearer token: it has expired, or is of another "
				     "cluster or audience; send a current one");
		break;
	case FL_GUARD_FORBIDDEN:
		fl_buf_printf(words,
			      "user '%s' may not get %.*s: bind it to a ClusterRole with nonResourceURLs [%.*s], "
			      "verbs [get]",
			      user[0] ? user : "of this token", FL_ARG(path), FL_ARG(path));
		break;
	case FL_GUARD_NO_API:
		fl_buf_printf(words, "no API server to check a token with: ask from this machine's loopback, give "
				     "--kubeconfig, or open the page to all with --open-metrics");
		break;
	case FL_GUARD_BUSY:
		fl_buf_printf(words, "too many token reviews: ask again in a second");
		break;
	case FL_GUARD_CANNOT_ASK:
		fl_buf_printf(words,
			      "cannot check the token: %s; needed: create tokenreviews.authentication.k8s.io and "
			      "subjectaccessreviews.authorization.k8s.io",
			      why);
		break;
	case FL_GUARD_SERVE:
	case FL_GUARD_SERVE_STALE:
	case FL_GUARD_WAIT:
	case FL_GUARD_ASK_TOKEN:
	case FL_GUARD_ASK_ACCESS:
	case FL_GUARD_STEP_COUNT_: break;
	}
}

static void refuse(struct fl_http_req *req, enum fl_guard_step step, const char *user, const char *why)
{
	FL_AUTO(fl_buf) struct fl_buf words = FL_BUF(4 * FL_KIB), body = FL_BUF(16 * FL_KIB);
	struct fl_header fields[] = { { FL_S("content-type"), FL_S("text/plain; charset=utf-8") },
				      refusals[step].header };
	bool json = false;

	put_refusal(&words, step, fl_http_req_path(req), user, why);
	if (fl_pages_json(req, &json, NULL) == 0 && json) {
		fields[0].value = FL_S("application/json");
		fl_pages_put_status(&body, fl_buf_view(&words), refusals[step].reason, refusals[step].status);
	} else {
		fl_buf_str(&body, fl_buf_view(&words));
		fl_buf_char(&body, '\n');
	}
	fl_http_req_answer(req, refusals[step].status,
			   (struct fl_headers){ fields, fields[1].name.len ? 2 : 1 }, fl_buf_view(&body));
}

static void answer(struct fl_guard *guard, const struct waiter *to, enum fl_guard_step step, const char *user,
		   const char *why)
{
	count(guard, step);
	if (serves(step))
		to->handle(to->req);
	else
		refuse(to->req, step, user, why);
}

static void keep(struct fl_guard_ask *ask, enum fl_guard_kept what)
{
	struct fl_guard_verdict *verdict = place_for(ask->guard, ask->key);

	*verdict = (struct fl_guard_verdict){ .key = { ask->key[0], ask->key[1] }, .kept = what,
					      .since = ask->review.begun, .origin = ask->review.origin };
}

static void go_on(struct fl_guard_ask *ask);

/* ---- the questions ---- */

static const struct fl_kind token_review = { .group = "authentication.k8s.io", .version = "v1", .kind = "TokenReview",
					     .plural = "tokenreviews", .cluster_scoped = true };
static const struct fl_kind access_review = { .group = "authorization.k8s.io", .version = "v1",
					      .kind = "SubjectAccessReview", .plural = "subjectaccessreviews",
					      .cluster_scoped = true };

static void put_token_review(struct fl_buf *body, struct shown shown)
{
	struct fl_jw w = FL_JW(body);

	fl_buf_str(body, FL_S("{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenReview\","
			      "\"spec\":{\"token\":"));
	fl_jw_str(&w, shown.token);
	if (shown.audience[0])
		fl_buf_printf(body, ",\"audiences\":[\"%s\"]", shown.audience);
	fl_buf_str(body, FL_S("}}"));
}

/* An API server that knows nothing of audiences names none, and may have looked at its own. */
static bool is_for(const char *audience, yyjson_val *status)
{
	yyjson_val *each;
	struct fl_str text;
	size_t i, count;

	yyjson_arr_foreach (fl_json_get(status, FL_S("audiences")), i, count, each)
		if (fl_json_str(each, &text) && fl_str_eq(text, fl_str(audience)))
			return true;
	return !audience[0];
}

static void put_member(struct fl_buf *body, const char *name, const yyjson_val *value)
{
	struct fl_jw w = FL_JW(body);

	if (!value)
		return;
	fl_buf_printf(body, "\"%s\":", name);
	fl_jw_val(&w, value);
	fl_buf_char(body, ',');
}

/* For whoever the first review found: name, UID, groups and what else is known of the user. */
static void put_access_review(struct fl_buf *body, yyjson_val *user, struct fl_str path)
{
	struct fl_jw w = FL_JW(body);

	fl_buf_str(body, FL_S("{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\","
			      "\"spec\":{"));
	put_member(body, "user", fl_json_get(user, FL_S("username")));
	put_member(body, "uid", fl_json_get(user, FL_S("uid")));
	put_member(body, "groups", fl_json_get(user, FL_S("groups")));
	put_member(body, "extra", fl_json_get(user, FL_S("extra")));
	fl_buf_str(body, FL_S("\"nonResourceAttributes\":{\"verb\":\"get\",\"path\":"));
	fl_jw_str(&w, path);
	fl_buf_str(body, FL_S("}}}"));
}

static int got_user(struct fl_kube_call *call, enum fl_item what, yyjson_val *object, struct fl_err *err)
{
	struct fl_guard_ask *ask = fl_container(call, struct fl_guard_ask, call);
	yyjson_val *status = fl_json_get(object, FL_S("status")), *user = fl_json_get(status, FL_S("user"));
	struct fl_buf name = FL_BUF_IN(ask->user);
	struct fl_str text = { 0 };

	(void)what;
	ask->facts.token_review = FL_GUARD_NO;
	if (!yyjson_is_true(fl_json_get(status, FL_S("authenticated"))) || !is_for(ask->audience, status))
		return 0;
	if (!fl_json_str(fl_json_get(user, FL_S("username")), &text) || !text.len)
		return fl_fail(err, FL_E_INVALID, "the token review names no user");
	fl_buf_str(&name, fl_str_sub(text, 0, sizeof ask->user - 1));
	put_access_review(&ask->access, user, fl_buf_view(&ask->path));
	ask->facts.token_review = FL_GUARD_YES;
	return fl_buf_check(&ask->access, "a subject access review", err);
}

static int got_access(struct fl_kube_call *call, enum fl_item what, yyjson_val *object, struct fl_err *err)
{
	struct fl_guard_ask *ask = fl_container(call, struct fl_guard_ask, call);

	(void)what;
	(void)err;
	ask->facts.access_review = yyjson_is_true(fl_json_get(fl_json_get(object, FL_S("status")), FL_S("allowed"))) ?
					   FL_GUARD_YES :
					   FL_GUARD_NO;
	return 0;
}

static void answered(struct fl_op *op)
{
	struct fl_guard_ask *ask = fl_container(fl_container(op, struct fl_kube_call, op), struct fl_guard_ask, call);
	bool first = ask->call.kind == &token_review;
	enum fl_guard_said *said = first ? &ask->facts.token_review : &ask->facts.access_review;

	if (op->result < 0 || *said == FL_GUARD_UNASKED)
		*said = FL_GUARD_FAILED;
	go_on(ask);
}

static void ask_api(struct fl_guard_ask *ask, const struct fl_kind *kind, const struct fl_buf *body,
		    int (*item)(struct fl_kube_call *, enum fl_item, yyjson_val *, struct fl_err *))
{
	ask->call = (struct fl_kube_call){ .op = { .done = answered, .err = &ask->err, .deadline = ask->deadline },
					   .verb = FL_KUBE_CREATE, .kind = kind, .body = fl_buf_view(body),
					   .item = item };
	fl_kube_start(ask->guard->kube, &ask->call);
}

/* Not where its review has failed, as that tells nothing about the address. */
static void no_longer_first(struct fl_guard *guard, const struct fl_guard_review *review)
{
	if (review->trusted || !review->first)
		return;
	guard->refused[guard->refused_at++] = (struct fl_guard_refused){ fl_now(guard->io), review->origin };
	guard->refused_at %= FL_LEN(guard->refused);
}

/* Some in each turn: a page takes its time, and many may have waited. */
static void answer_some(struct fl_timer *timer)
{
	struct fl_guard_ask *ask = fl_container(timer, struct fl_guard_ask, rest);

	for (int i = 0; i < FL_GUARD_ANSWERS && ask->waiters; i++) {
		struct waiter waiter = *ask->waiters;

		leave(ask->waiters);
		fl_http_req_on(waiter.req, NULL, NULL);
		answer(ask->guard, &waiter, ask->step, ask->user, ask->err.text[0] ? ask->err.text : "no memory");
	}
	if (ask->waiters)
		fl_timer_set(ask->guard->io, &ask->rest, 0);
	else
		end(ask);
}

/* After each answer. */
static void go_on(struct fl_guard_ask *ask)
{
	struct fl_guard *guard = ask->guard;
	bool failed = ask->facts.token_review == FL_GUARD_FAILED || ask->facts.access_review == FL_GUARD_FAILED;
	enum fl_guard_step step;

	if (!failed)
		guard->failed = 0;
	else if (ask->facts.kept == FL_GUARD_KEPT_OLD)
		guard->failed = fl_now(guard->io);
	ask->facts.kept = kept(guard, ask->key);   /* it may have become too old meanwhile */
	step = fl_guard_next(&ask->facts);
	if (step == FL_GUARD_ASK_ACCESS) {
		ask_api(ask, &access_review, &ask->access, got_access);
		return;
	}
	if (!failed)
		keep(ask, step == FL_GUARD_SERVE     ? FL_GUARD_KEPT_YES :
			  step == FL_GUARD_FORBIDDEN ? FL_GUARD_KEPT_NO :
						       FL_GUARD_KEPT_NOBODY);
	if (!failed && step != FL_GUARD_SERVE)
		no_longer_first(guard, &ask->review);
	fl_chain_take(ask);
	fl_chain_add(&guard->over, ask);
	ask->step = step;
	ask->rest.fire = answer_some;
	answer_some(&ask->rest);
}

/* ---- the budget ---- */

static void add(struct fl_guard_load *load, const struct fl_guard_review *each, const struct fl_guard_review *review)
{
	load->all++;
	load->untrusted += !each->trusted;
	load->again += !each->trusted && !each->first;
	load->own += fl_origin_eq(&each->origin, &review->origin);
}

static void add_loads(const struct fl_guard *guard, const struct fl_guard_review *review, struct fl_guard_facts *facts)
{
	for (const struct fl_guard_ask *ask = guard->asks; ask; ask = ask->next)
		add(&facts->asks, &ask->review, review);
	for (size_t i = 0; i < FL_LEN(guard->reviewed); i++)
		if (guard->reviewed[i].begun && review->begun < guard->reviewed[i].begun + FL_NS_PER_S)
			add(&facts->lately, &guard->reviewed[i], review);
}

/* The last refusals come last in the ring. */
static bool first(const struct fl_guard *guard, const struct fl_guard_review *review)
{
	for (const struct fl_guard_ask *ask = guard->asks; ask; ask = ask->next)
		if (ask->review.first && fl_origin_eq(&ask->review.origin, &review->origin))
			return false;
	for (size_t i = 1; i <= FL_LEN(guard->refused); i++) {
		const struct fl_guard_refused *each =
			&guard->refused[(guard->refused_at + FL_LEN(guard->refused) - i) % FL_LEN(guard->refused)];

		if (!each->at || review->begun >= each->at + FL_GUARD_FIRST_AGAIN)
			return true;
		if (fl_origin_eq(&each->origin, &review->origin))
			return false;
	}
	return true;
}

static void charge(struct fl_guard *guard, const struct fl_guard_review *review)
{
	guard->reviewed[guard->review_at++] = *review;
	guard->review_at %= FL_LEN(guard->reviewed);
}

/* ---- the begin ---- */

static void no_memory(struct fl_guard *guard, const struct waiter *waiter)
{
	answer(guard, waiter, FL_GUARD_CANNOT_ASK, "", "no memory");
}

static void wait_for(struct fl_guard_ask *ask, const struct waiter *who)
{
	static const struct fl_http_req_user user = { .gone = gone };
	struct waiter *waiter = fl_alloc(sizeof *waiter);

	if (!waiter) {
		no_memory(ask->guard, who);
		return;
	}
	*waiter = (struct waiter){ .req = who->req, .handle = who->handle };
	fl_chain_add(&ask->waiters, waiter);
	fl_http_req_on(waiter->req, &user, waiter);
}

static void begin(struct fl_guard *guard, const struct waiter *who, const struct fl_guard_facts *facts,
		  struct shown shown, const struct fl_guard_review *review)
{
	uint64_t within = facts->kept == FL_GUARD_KEPT_OLD ? FL_GUARD_AGAIN : FL_GUARD_TIMEOUT;
	struct fl_guard_ask *ask = fl_zalloc(sizeof *ask);
	struct fl_str path = fl_http_req_path(who->req);

	if (!ask) {
		no_memory(guard, who);
		return;
	}
	*ask = (struct fl_guard_ask){ .guard = guard, .review = *review, .facts = *facts,
				      .path = FL_BUF(FL_HTTP_HEAD_MAX),
				      .body = FL_BUF(2 * FL_HTTP_HEAD_MAX), .access = FL_BUF(2 * FL_HTTP_HEAD_MAX),
				      .audience = shown.audience, .deadline = review->begun + within };
	fl_chain_add(&guard->asks, ask);
	charge(guard, review);
	key_of(guard, shown, path, ask->key);
	fl_buf_str(&ask->path, path);
	put_token_review(&ask->body, shown);
	wait_for(ask, who);
	if (fl_buf_check(&ask->body, "a token review", &ask->err) < 0 ||
	    fl_buf_check(&ask->path, "a path", &ask->err) < 0) {
		ask->facts.token_review = FL_GUARD_FAILED;
		no_longer_first(guard, review);    /* the fault is the token's: nobody was asked */
		go_on(ask);
		return;
	}
	ask_api(ask, &token_review, &ask->body, got_user);
}

static struct fl_str bearer(const struct fl_http_req *req, struct fl_str header)
{
	struct fl_str value = fl_headers_get(fl_http_req_head(req)->headers, header);

	if (value.len > 7 && strncasecmp(value.p, "bearer ", 7) == 0)
		return fl_str_trim(fl_str_sub(value, 7, value.len));
	return (struct fl_str){ 0 };
}

void fl_guard_serve(struct fl_guard *guard, struct fl_http_req *req, void (*handle)(struct fl_http_req *req))
{
	struct fl_http_peer peer = fl_http_req_peer(req);
	struct shown shown = { bearer(req, FL_S("authorization")), "" };
	struct fl_guard_facts facts = { .open = guard->open, .local = fl_addr_local(&peer.addr),
					.vouched = peer.subject, .has_api = guard->kube != NULL };
	struct fl_guard_review review = { .begun = fl_now(guard->io), .origin = fl_addr_origin(&peer.addr) };
	struct waiter who = { .req = req, .handle = handle };
	struct fl_guard_ask *ask = NULL;
	enum fl_guard_step step;
	uint64_t key[2];

	if (!shown.token.len)
		shown = (struct shown){ bearer(req, FL_S("fairlead-authorization")), FL_GUARD_AUDIENCE };
	facts.token = shown.token.len > 0;
	if (facts.token) {
		key_of(guard, shown, fl_http_req_path(req), key);
		facts.kept = kept(guard, key);
		ask = under_way(guard, key);
		facts.asked = ask != NULL;
		facts.away = guard->failed && review.begun < guard->failed + FL_GUARD_AWAY;
		facts.trusted = review.trusted = trusted(guard, &review.origin);
		facts.first = review.first = first(guard, &review);
		add_loads(guard, &review, &facts);
	}
	step = fl_guard_next(&facts);
	if (step == FL_GUARD_WAIT)
		wait_for(ask, &who);
	else if (step == FL_GUARD_ASK_TOKEN)
		begin(guard, &who, &facts, shown, &review);
	else if (facts.open || facts.local || facts.vouched)
		handle(req);
	else
		answer(guard, &who, step, "", "");
}

/* ---- the whole ---- */

static const struct fl_metric metrics[] = {
	{ "fairlead_page_checks_total", "Requests for pages that need a token, by outcome.", FL_COUNTER,
	  .labels = { "outcome" } },
};

int fl_guard_start(struct fl_guard *guard, struct fl_err *err)
{
	if (fl_random(guard->io, guard->secrets, sizeof guard->secrets, err) < 0)
		return -(int)(err ? err->code : FL_E_IO);
	return guard->metrics ? fl_metrics_add(guard->metrics, metrics, FL_LEN(metrics), guard, &guard->answers, err)
			      : 0;
}

void fl_guard_stop(struct fl_guard *guard)
{
	while (guard->asks)
		end(guard->asks);
	while (guard->over)
		end(guard->over);
}
