/* Reviews of tokens when there are too many: machines that guess tokens, one that scrapes, and an API server that says
 * what is written down here. It knows no guess: who asks it more often than the script has answers has failed. Not
 * tortured: what is refused on the way changes how many reviews there are. */
#include "base/limits.h"
#include "guard_house.h"
#include "http/client.h"
#include "test.h"
#include <stdio.h>

enum { GUESSERS = 4, GUESSES = 30 };
#define REVIEW "/apis/authentication.k8s.io/v1/tokenreviews*"
#define NONE { REVIEW, 201, "{\"status\":{\"authenticated\":false}}" }
#define TEN_NONE NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE
#define KNOWN { REVIEW, 201, "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"prom\"}}}" }
#define MAY { "/apis/authorization.k8s.io/v1/subjectaccessreviews*", 201, "{\"status\":{\"allowed\":true}}" }
#define HELD { REVIEW, 201, "{}", .held = true }

/* ---- those who come ---- */

struct guest;

struct visit {
	struct fl_http_call call;
	struct fl_header header;
	char token[60];
};

struct guest {
	struct fl_io *io;
	struct fl_http_client *client;
	struct visit visits[GUESSES];
	unsigned count, begun;
	struct fl_timer timer;
	struct fl_err err;
};

static void guest_gone(void *self)
{
	struct guest *guest = self;

	fl_timer_stop(guest->io, &guest->timer);
	for (unsigned i = 0; i < guest->begun; i++)
		fl_http_call_free(&guest->visits[i].call);
	guest->client = fl_http_client_free(guest->client);
}

static void done(struct fl_op *op)
{
	(void)op;
}

/* A process hears only what is begun in it. */
static void begin(struct fl_timer *timer)
{
	struct guest *guest = fl_container(timer, struct guest, timer);

	for (; guest->begun < guest->count; guest->begun++) {
		struct visit *visit = &guest->visits[guest->begun];

		visit->header = (struct fl_header){ FL_S("authorization"), fl_str(visit->token) };
		visit->call = (struct fl_http_call){ .op = { .done = done }, .method = FL_S("GET"),
						     .target = FL_S("/metrics"), .headers = { &visit->header, 1 } };
		fl_http_start(guest->client, &visit->call);
	}
	fl_timer_set(guest->io, timer, fl_now(guest->io) + 10 * FL_NS_PER_MS);
}

static int boot_guest(struct sim_process *process)
{
	struct guest *guest = sim_arg(process);
	struct fl_http_client_options options = { .url = FL_S("http://server:80"), .max_conns = GUESSES };

	sim_own(process, guest, guest_gone);
	guest->io = sim_io(process);
	guest->client = fl_http_client_new(guest->io, &options, &guest->err);
	guest->timer = (struct fl_timer){ .fire = begin };
	fl_timer_set(guest->io, &guest->timer, fl_now(guest->io) + 10 * FL_NS_PER_MS);
	return guest->client ? 0 : -FL_E_NOMEM;
}

static struct visit *show(struct guest *guest, const char *token)
{
	struct visit *visit = &guest->visits[guest->count++];

	(void)snprintf(visit->token, sizeof visit->token, "Bearer %s", token);
	return visit;
}

/* No two guesses are the same: a refusal is kept. */
static void guess(struct guest *guest, unsigned count)
{
	char token[40];

	for (unsigned i = 0; i < count; i++) {
		(void)snprintf(token, sizeof token, "guess-%p-%u", (void *)guest, guest->count);
		(void)show(guest, token);
	}
}

static unsigned answered(const struct guest *guest, int status)
{
	unsigned count = 0;

	for (unsigned i = 0; i < guest->count; i++)
		count += guest->visits[i].call.op.result == status;
	return count;
}

struct town {
	struct sim_world *world;
	struct guard_house house;
	struct guest scraper, guessers[GUESSERS];
};

static void town_auto_(struct town *town)
{
	sim_world_free(town->world);
}

static void found(struct town *town, const struct exchange *says)
{
	struct sim_config config = { .seed = test_random() };
	char name[20];

	town->house.says = says;
	town->world = sim_world_new(&config);
	(void)sim_host_new(town->world, "server", guard_house_boot, &town->house);
	(void)sim_host_new(town->world, "scraper", boot_guest, &town->scraper);
	for (int i = 0; i < GUESSERS; i++) {
		(void)snprintf(name, sizeof name, "guesser-%d", i);
		(void)sim_host_new(town->world, name, boot_guest, &town->guessers[i]);
	}
	sim_run(town->world, 10 * FL_NS_PER_MS);
}

static void pass(struct town *town, uint64_t time)
{
	sim_run(town->world, sim_now(town->world) + time);
}

/* The status that the scraper has after `time`; 0: none yet. */
static int64_t scrape(struct town *town, const char *token, uint64_t time)
{
	struct visit *visit = show(&town->scraper, token);

	pass(town, time);
	return fl_op_busy(&visit->call.op) ? 0 : visit->call.op.result;
}

/* ---- what is so ---- */

TEST_ONCE(one_address_that_guesses_leaves_reviews_for_others)
{
	static const struct exchange says[] = { TEN_NONE, KNOWN, MAY, { 0 } };
	FL_AUTO(town) struct town town = { 0 };

	found(&town, says);
	guess(&town.guessers[0], GUESSES);
	pass(&town, 200 * FL_NS_PER_MS);
	CHECK_INT(answered(&town.guessers[0], 401), FL_GUARD_REVIEWS_UNTRUSTED);
	CHECK_INT(answered(&town.guessers[0], 503), GUESSES - FL_GUARD_REVIEWS_UNTRUSTED);
	CHECK_INT(scrape(&town, "good", 200 * FL_NS_PER_MS), 200);
	CHECK_STR(fl_str(town.house.script.wrong), "");
}

/* The API server does not answer: each review lasts for seconds. */
TEST_ONCE(one_address_that_guesses_leaves_room_for_reviews_of_others)
{
	static const struct exchange says[] = { HELD, HELD, HELD, HELD, KNOWN, MAY, { 0 } };
	FL_AUTO(town) struct town town = { 0 };

	found(&town, says);
	guess(&town.guessers[0], 4);
	pass(&town, FL_NS_PER_S + 200 * FL_NS_PER_MS);
	guess(&town.guessers[0], 4);
	pass(&town, 200 * FL_NS_PER_MS);
	CHECK_INT(answered(&town.guessers[0], 503), 4);
	CHECK_INT(scrape(&town, "good", 200 * FL_NS_PER_MS), 200);
	CHECK_STR(fl_str(town.house.script.wrong), "");
}

TEST_ONCE(many_addresses_that_guess_leave_reviews_for_one_that_was_allowed)
{
	static const struct exchange says[] = { KNOWN, MAY, TEN_NONE, TEN_NONE, KNOWN, MAY, { 0 } };
	FL_AUTO(town) struct town town = { 0 };
	unsigned reviewed = 0;

	found(&town, says);
	CHECK_INT(scrape(&town, "good", 2 * FL_NS_PER_S), 200);
	for (int i = 0; i < GUESSERS; i++)
		guess(&town.guessers[i], GUESSES);
	pass(&town, 200 * FL_NS_PER_MS);
	for (int i = 0; i < GUESSERS; i++)
		reviewed += answered(&town.guessers[i], 401);
	CHECK_INT(reviewed, FL_GUARD_REVIEWS_HALF);
	/* Its token was renewed; and the one that is kept needs none of the budget. */
	CHECK_INT(scrape(&town, "renewed", 200 * FL_NS_PER_MS), 200);
	CHECK_INT(scrape(&town, "good", 200 * FL_NS_PER_MS), 200);
	CHECK_STR(fl_str(town.house.script.wrong), "");
	CHECK_INT(town.house.script.asked, FL_LEN(says) - 1);
}

/* Behind one address, that of a node: guesses take its share, and a token that was taken away is found out. */
TEST_ONCE(a_token_that_was_allowed_is_asked_about_again_though_its_address_guesses)
{
	static const struct exchange says[] = { KNOWN, MAY, TEN_NONE, TEN_NONE, NONE, { 0 } };
	FL_AUTO(town) struct town town = { 0 };

	found(&town, says);
	CHECK_INT(scrape(&town, "good", FL_GUARD_ALLOWED + FL_NS_PER_S), 200);
	guess(&town.scraper, FL_GUARD_REVIEWS_HALF + 4);
	pass(&town, 200 * FL_NS_PER_MS);
	CHECK_INT(answered(&town.scraper, 401), FL_GUARD_REVIEWS_HALF);
	CHECK_INT(scrape(&town, "good", 200 * FL_NS_PER_MS), 401);
	CHECK_STR(fl_str(town.house.script.wrong), "");
}

/* The API server does not answer: a scrape that waits for 3 s gets its page, for ten minutes. */
TEST_ONCE(a_token_that_was_allowed_is_served_in_time_while_the_api_server_does_not_answer)
{
	static const struct exchange says[] = { KNOWN, MAY, HELD, HELD, { 0 } };
	FL_AUTO(town) struct town town = { 0 };

	found(&town, says);
	CHECK_INT(scrape(&town, "good", FL_GUARD_ALLOWED + FL_NS_PER_S), 200);
	CHECK_INT(scrape(&town, "good", 5 * FL_NS_PER_S / 2), 200);
	pass(&town, FL_GUARD_STALE - FL_GUARD_ALLOWED);
	CHECK_INT(scrape(&town, "good", 11 * FL_NS_PER_S / 2), 503);
	CHECK_STR(fl_str(town.house.script.wrong), "");
}
