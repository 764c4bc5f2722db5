/* Who may see pages that name Pods: the decision, and a guard between a client on another host and an API server that
 * says what is written down here. */
#include "base/units.h"
#include "guard_house.h"
#include "http/client.h"
#include "test.h"

/* ---- the decision ---- */

#define ASKED .has_api = true, .token = true
#define TRUSTED ASKED, .trusted = true

static const struct {
	const char *says;
	struct fl_guard_facts facts;
	enum fl_guard_step step;
} decisions[] = {
	{ "loopback is open", { .local = true }, FL_GUARD_SERVE },
	{ "a client certificate that is verified is as good as a token", { .has_api = true, .vouched = true },
	  FL_GUARD_SERVE },
	{ "--open-metrics opens it", { .open = true }, FL_GUARD_SERVE },
	{ "without an API server nobody else is served", { .token = true }, FL_GUARD_NO_API },
	{ "who shows no token is told to", { .has_api = true }, FL_GUARD_NO_TOKEN },
	{ "a token is reviewed first", { ASKED }, FL_GUARD_ASK_TOKEN },
	{ "a token that is none", { ASKED, .token_review = FL_GUARD_NO }, FL_GUARD_NOBODY },
	{ "then the right of its user is", { ASKED, .token_review = FL_GUARD_YES }, FL_GUARD_ASK_ACCESS },
	{ "who has it is served", { ASKED, .token_review = FL_GUARD_YES, .access_review = FL_GUARD_YES },
	  FL_GUARD_SERVE },
	{ "who has not is not", { ASKED, .token_review = FL_GUARD_YES, .access_review = FL_GUARD_NO },
	  FL_GUARD_FORBIDDEN },
	{ "a review that failed allows nothing", { ASKED, .token_review = FL_GUARD_FAILED }, FL_GUARD_CANNOT_ASK },
	{ "nor does the second", { ASKED, .token_review = FL_GUARD_YES, .access_review = FL_GUARD_FAILED },
	  FL_GUARD_CANNOT_ASK },
	{ "what was allowed is, while nobody can be asked",
	  { ASKED, .kept = FL_GUARD_KEPT_OLD, .token_review = FL_GUARD_FAILED }, FL_GUARD_SERVE_STALE },
	{ "nor about its user",
	  { ASKED, .kept = FL_GUARD_KEPT_OLD, .token_review = FL_GUARD_YES, .access_review = FL_GUARD_FAILED },
	  FL_GUARD_SERVE_STALE },
	{ "a token that was taken away counts, whatever was before",
	  { ASKED, .kept = FL_GUARD_KEPT_OLD, .token_review = FL_GUARD_NO }, FL_GUARD_NOBODY },
	{ "a fresh verdict needs no review", { ASKED, .kept = FL_GUARD_KEPT_YES }, FL_GUARD_SERVE },
	{ "nor does a fresh refusal", { ASKED, .kept = FL_GUARD_KEPT_NOBODY }, FL_GUARD_NOBODY },
	{ "of either kind", { ASKED, .kept = FL_GUARD_KEPT_NO }, FL_GUARD_FORBIDDEN },
	{ "an old one is asked about again", { ASKED, .kept = FL_GUARD_KEPT_OLD }, FL_GUARD_ASK_TOKEN },
	{ "a right that was taken away counts, whatever was before",
	  { ASKED, .kept = FL_GUARD_KEPT_OLD, .token_review = FL_GUARD_YES, .access_review = FL_GUARD_NO },
	  FL_GUARD_FORBIDDEN },
	{ "one review fewer than the limit under way",
	  { TRUSTED, .asks.all = FL_GUARD_ASKS_NEW - 1 }, FL_GUARD_ASK_TOKEN },
	{ "the limit of reviews under way", { TRUSTED, .asks.all = FL_GUARD_ASKS_NEW }, FL_GUARD_BUSY },
	{ "one fewer than the limit in the last second", { TRUSTED, .lately.all = FL_GUARD_REVIEWS_NEW - 1 },
	  FL_GUARD_ASK_TOKEN },
	{ "the limit of reviews in the last second", { TRUSTED, .lately.all = FL_GUARD_REVIEWS_NEW }, FL_GUARD_BUSY },
	{ "which leaves some for a token that was allowed",
	  { ASKED, .asks.all = FL_GUARD_ASKS_NEW, .lately.all = FL_GUARD_REVIEWS_NEW, .kept = FL_GUARD_KEPT_OLD },
	  FL_GUARD_ASK_TOKEN },
	{ "a token that was allowed is not served because all reviews are taken",
	  { ASKED, .asks.all = FL_GUARD_ASKS, .kept = FL_GUARD_KEPT_OLD }, FL_GUARD_BUSY },
	{ "nor because all of this second are",
	  { ASKED, .lately.all = FL_GUARD_REVIEWS, .kept = FL_GUARD_KEPT_OLD }, FL_GUARD_BUSY },
	{ "it is where the API server could lately not be asked",
	  { ASKED, .asks.all = FL_GUARD_ASKS, .kept = FL_GUARD_KEPT_OLD, .away = true }, FL_GUARD_SERVE_STALE },
	{ "which lets in no other token", { ASKED, .asks.all = FL_GUARD_ASKS, .away = true }, FL_GUARD_BUSY },
	{ "and is found out by asking again", { ASKED, .kept = FL_GUARD_KEPT_OLD, .away = true }, FL_GUARD_ASK_TOKEN },
	{ "a token is not asked about twice at once", { ASKED, .asked = true }, FL_GUARD_WAIT },
	{ "nor is one that was allowed, and its request waits though all reviews are taken",
	  { ASKED, .asked = true, .asks.all = FL_GUARD_ASKS, .kept = FL_GUARD_KEPT_OLD }, FL_GUARD_WAIT },
	{ "a fresh verdict counts while all reviews are taken",
	  { ASKED, .asks.all = FL_GUARD_ASKS, .kept = FL_GUARD_KEPT_YES }, FL_GUARD_SERVE },
	{ "an address that is not trusted, with less than its quarter",
	  { ASKED, .asks.own = FL_GUARD_ASKS_UNTRUSTED - 1, .lately.own = FL_GUARD_REVIEWS_UNTRUSTED - 1 },
	  FL_GUARD_ASK_TOKEN },
	{ "one with its quarter under way", { ASKED, .asks.own = FL_GUARD_ASKS_UNTRUSTED }, FL_GUARD_BUSY },
	{ "one with its quarter in the last second", { ASKED, .lately.own = FL_GUARD_REVIEWS_UNTRUSTED },
	  FL_GUARD_BUSY },
	{ "a trusted address, with less than its half",
	  { TRUSTED, .asks.own = FL_GUARD_ASKS_HALF - 1, .lately.own = FL_GUARD_REVIEWS_HALF - 1 },
	  FL_GUARD_ASK_TOKEN },
	{ "a trusted one with its half under way", { TRUSTED, .asks.own = FL_GUARD_ASKS_HALF }, FL_GUARD_BUSY },
	{ "a trusted one with its half in the last second", { TRUSTED, .lately.own = FL_GUARD_REVIEWS_HALF },
	  FL_GUARD_BUSY },
	{ "addresses that are not trusted, with less than their half together",
	  { ASKED, .asks.untrusted = FL_GUARD_ASKS_HALF - 1, .lately.untrusted = FL_GUARD_REVIEWS_HALF - 1 },
	  FL_GUARD_ASK_TOKEN },
	{ "their half under way is the most", { ASKED, .asks.untrusted = FL_GUARD_ASKS_HALF }, FL_GUARD_BUSY },
	{ "their half in the last second is the most", { ASKED, .lately.untrusted = FL_GUARD_REVIEWS_HALF },
	  FL_GUARD_BUSY },
	{ "those that come again, with less than their quarter together",
	  { ASKED, .asks.again = FL_GUARD_ASKS_UNTRUSTED - 1, .lately.again = FL_GUARD_REVIEWS_UNTRUSTED - 1 },
	  FL_GUARD_ASK_TOKEN },
	{ "a quarter under way is the most for those that come again", { ASKED, .asks.again = FL_GUARD_ASKS_UNTRUSTED },
	  FL_GUARD_BUSY },
	{ "a quarter in the last second is the most for them", { ASKED, .lately.again = FL_GUARD_REVIEWS_UNTRUSTED },
	  FL_GUARD_BUSY },
	{ "they leave the rest to one that comes for the first time",
	  { ASKED, .first = true, .asks.again = FL_GUARD_ASKS_UNTRUSTED, .lately.again = FL_GUARD_REVIEWS_UNTRUSTED },
	  FL_GUARD_ASK_TOKEN },
	{ "they leave the other half to those that are trusted",
	  { TRUSTED, .asks.untrusted = FL_GUARD_ASKS_HALF, .lately.untrusted = FL_GUARD_REVIEWS_HALF },
	  FL_GUARD_ASK_TOKEN },
	{ "a token that was allowed is reviewed again though the share of its address is taken",
	  { ASKED, .asks.own = FL_GUARD_ASKS_HALF, .lately.own = FL_GUARD_REVIEWS_HALF, .kept = FL_GUARD_KEPT_OLD },
	  FL_GUARD_ASK_TOKEN },
};

TEST(who_may_see_a_page)
{
	EACH_ROW (row, decisions)
		CHECK_STR(fl_str(fl_name(&fl_guard_step_names, (int)fl_guard_next(&row->facts))),
			  fl_name(&fl_guard_step_names, (int)row->step));
}

/* ---- the guard at work ---- */

#define TOKEN(answer) \
	{ "/apis/authentication.k8s.io/v1/tokenreviews?fieldManager=fairlead", 201, "{\"status\":{" answer "}}" }
#define ACCESS(answer) \
	{ "/apis/authorization.k8s.io/v1/subjectaccessreviews?fieldManager=fairlead", 201, "{\"status\":{" answer "}}" }
#define KNOWN TOKEN("\"authenticated\":true,\"user\":{\"username\":\"prom\",\"uid\":\"7\",\"groups\":[\"g\"]," \
		    "\"extra\":{\"k\":[\"v\"]}}")
#define OURS TOKEN("\"authenticated\":true,\"user\":{\"username\":\"asker\"},\"audiences\":[\"x\",\"fairlead\"]")
#define MAY ACCESS("\"allowed\":true")
#define AWAY { "/apis/authentication.k8s.io/v1/tokenreviews?fieldManager=fairlead", 500, "{}" }

struct step {
	uint64_t after;            /* time that passes before */
	int status;                /* of the answer; 0: no more steps */
	unsigned asked;            /* requests to the API server by then */
};

static const struct row {
	const char *says;
	struct exchange script[8];
	struct step steps[6];
	const char *token, *words; /* words: part of the last answer */
	bool proxied;              /* the token comes in Fairlead-Authorization */
} rows[] = {
	{ "who may is served, and asked about every two minutes",
	  { KNOWN, MAY, KNOWN, MAY }, { { 0, 200, 2 }, { 60 * FL_NS_PER_S, 200, 2 }, { 61 * FL_NS_PER_S, 200, 4 } },
	  "t", "secret" },
	{ "the API server's proxy leaves another header, for a token of our audience",
	  { OURS, MAY }, { { 0, 200, 2 } }, "t", "secret", .proxied = true },
	{ "one that the API server takes itself is no token there",
	  { TOKEN("\"authenticated\":true,\"user\":{\"username\":\"root\"},\"audiences\":[\"https://kubernetes\"]") },
	  { { 0, 401, 1 } }, "t", "of another cluster or audience", .proxied = true },
	{ "nor one of an API server that knows nothing of audiences",
	  { KNOWN }, { { 0, 401, 1 } }, "t", "of another cluster or audience", .proxied = true },
	{ "no token is no way in", { { 0 } }, { { 0, 401, 0 } }, "", "send 'Authorization: Bearer TOKEN'" },
	{ "a token that nobody knows, kept for ten seconds",
	  { TOKEN("\"error\":\"expired\""), TOKEN("\"authenticated\":false") },
	  { { 0, 401, 1 }, { 2 * FL_NS_PER_S, 401, 1 }, { 4 * FL_NS_PER_S, 401, 2 } }, "t",
	  "the API server does not know this bearer token" },
	{ "a right that is missing, and comes",
	  { KNOWN, ACCESS("\"allowed\":false"), KNOWN, MAY },
	  { { 0, 403, 2 }, { 2 * FL_NS_PER_S, 403, 2 }, { 4 * FL_NS_PER_S, 200, 4 } }, "t", "secret" },
	{ "what is missing is told",
	  { KNOWN, ACCESS("\"allowed\":false") }, { { 0, 403, 2 } }, "t",
	  "user 'prom' may not get /metrics: bind it to a ClusterRole with nonResourceURLs [/metrics], verbs [get]" },
	{ "an API server that is away allows nothing new", { AWAY }, { { 0, 503, 1 } }, "t",
	  "cannot check the token:" },
	{ "for ten minutes it takes nothing away",
	  { KNOWN, MAY, AWAY, AWAY }, { { 0, 200, 2 }, { 130 * FL_NS_PER_S, 200, 3 }, { 600 * FL_NS_PER_S, 503, 4 } },
	  "t", "cannot check the token:" },
	{ "nor does one that does not answer",
	  { KNOWN, MAY, { "/apis/authentication.k8s.io/v1/tokenreviews*", 201, "{}", .held = true } },
	  { { 0, 200, 2 }, { 130 * FL_NS_PER_S, 200, 3 } }, "t", "secret" },
	{ "a token that it no longer knows is refused at once, also after it was away",
	  { KNOWN, MAY, AWAY, TOKEN("\"error\":\"expired\"") },
	  { { 0, 200, 2 }, { 130 * FL_NS_PER_S, 200, 3 }, { 1 * FL_NS_PER_S, 401, 4 } }, "t",
	  "the API server does not know this bearer token" },
	{ "an API server that does not answer is waited for a few seconds",
	  { { "/apis/authentication.k8s.io/v1/tokenreviews*", 201, "{}", .held = true } }, { { 0, 503, 1 } }, "t",
	  "cannot check the token:" },
};

#define LOOK (6 * FL_NS_PER_S)     /* from one look to what passes before the next */

struct guest {
	const struct row *row;
	const struct step *step;   /* the next one */
	struct fl_io *io;
	struct fl_timer timer;
	struct fl_http_client *client;
	struct fl_http_call call;
	struct fl_header header;
	struct fl_err err;
};

static void guest_gone(void *self)
{
	struct guest *guest = self;

	fl_timer_stop(guest->io, &guest->timer);
	fl_http_call_free(&guest->call);
	guest->client = fl_http_client_free(guest->client);
}

static void done(struct fl_op *op)
{
	(void)op;
}

/* A process hears only what is begun in it. */
static void look(struct fl_timer *timer)
{
	struct guest *guest = fl_container(timer, struct guest, timer);

	fl_http_call_free(&guest->call);
	guest->call = (struct fl_http_call){ .op = { .done = done, .err = &guest->err }, .method = FL_S("GET"),
					     .target = FL_S("/metrics"),
					     .headers = { &guest->header, guest->row->proxied } };
	fl_http_start(guest->client, &guest->call);
	guest->step++;
	if (guest->step->status)
		fl_timer_set(guest->io, timer, fl_now(guest->io) + LOOK + guest->step->after);
}

static int boot_guest(struct sim_process *process)
{
	struct guest *guest = sim_arg(process);
	struct fl_http_client_options options = { .url = FL_S("http://server:80") };

	sim_own(process, guest, guest_gone);
	if (!guest->row->proxied)
		options.token = fl_str(guest->row->token);
	guest->header = (struct fl_header){ FL_S("fairlead-authorization"), FL_S("Bearer t") };
	guest->io = sim_io(process);
	guest->client = fl_http_client_new(guest->io, &options, &guest->err);
	guest->step = guest->row->steps;
	guest->timer = (struct fl_timer){ .fire = look };
	fl_timer_set(guest->io, &guest->timer, fl_now(guest->io) + 2 * FL_NS_PER_MS);
	return guest->client ? 0 : -FL_E_NOMEM;
}

struct town {
	struct sim_world *world;
	struct guard_house house;
	struct guest guest;
};

static void town_auto_(struct town *town)
{
	sim_world_free(town->world);
}

static void found(struct town *town, const struct row *row)
{
	struct sim_config config = { .seed = test_random(), .refuse = test_refuse_io };

	town->house.says = row->script;
	town->guest.row = row;
	town->world = sim_world_new(&config);
	(void)sim_host_new(town->world, "server", guard_house_boot, &town->house);
	(void)sim_host_new(town->world, "guest", boot_guest, &town->guest);
	sim_run(town->world, FL_NS_PER_MS);
}

static void run(const struct row *row)
{
	FL_AUTO(town) struct town town = { 0 };

	test_row(row->says);
	found(&town, row);
	for (const struct step *step = row->steps; step->status; step++) {
		sim_run(town.world, sim_now(town.world) + step->after + LOOK);
		OK(test_tortured() ? -FL_E_IO : 0);
		CHECK_STR(fl_str(town.house.script.wrong), "");
		CHECK_INT(town.guest.call.op.result, step->status);
		CHECK_INT(town.house.script.asked, step->asked);
	}
	CHECK(strstr(town.guest.call.reply.p, row->words));
}

TEST(tokens_are_reviewed_1)
{
	for (size_t i = 0; i < FL_LEN(rows); i += 2)
		run(&rows[i]);
}

TEST(tokens_are_reviewed_2)
{
	for (size_t i = 1; i < FL_LEN(rows); i += 2)
		run(&rows[i]);
}

TEST(the_user_of_the_token_is_who_is_asked_about)
{
	FL_AUTO(town) struct town town = { 0 };

	found(&town, &rows[0]);
	sim_run(town.world, FL_NS_PER_S);
	OK(test_tortured() ? -FL_E_IO : 0);
	CHECK(strstr(town.house.script.got_body,
		     "\"kind\":\"SubjectAccessReview\",\"spec\":{\"user\":\"prom\",\"uid\":\"7\","
		     "\"groups\":[\"g\"],\"extra\":{\"k\":[\"v\"]},"
		     "\"nonResourceAttributes\":{\"verb\":\"get\",\"path\":\"/metrics\"}}}"));
}

TEST(only_the_proxys_token_is_asked_about_with_our_audience)
{
	static const struct row asked[] = {
		{ "the proxy's header", { TOKEN("") }, { { 0, 401, 1 } }, "t", "", .proxied = true },
		{ "the usual header", { TOKEN("") }, { { 0, 401, 1 } }, "t", "", .proxied = false },
	};

	EACH_ROW (row, asked) {
		FL_AUTO(town) struct town town = { 0 };

		found(&town, row);
		sim_run(town.world, FL_NS_PER_S);
		OK(test_tortured() ? -FL_E_IO : 0);
		CHECK_STR(fl_str(town.house.script.got_body),
			  row->proxied ? "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenReview\","
					 "\"spec\":{\"token\":\"t\",\"audiences\":[\"fairlead\"]}}" :
					 "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenReview\","
					 "\"spec\":{\"token\":\"t\"}}");
	}
}

TEST(without_an_api_server_other_machines_are_refused)
{
	FL_AUTO(town) struct town town = { .house.alone = true };

	found(&town, &rows[0]);
	sim_run(town.world, FL_NS_PER_S);
	OK(test_tortured() ? -FL_E_IO : 0);
	CHECK_INT(town.guest.call.op.result, 403);
	CHECK(strstr(town.guest.call.reply.p, "no API server to check a token with") &&
	      strstr(town.guest.call.reply.p, "--open-metrics"));
}
