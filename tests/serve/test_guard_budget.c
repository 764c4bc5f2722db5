/* Reviews of tokens when there are too many: machines that guess tokens, one that scrapes, and an API server that says
 * what is written down here. It knows no guess: who asks it more often than the script has answers has failed. Not
 * tortured: what is refused on the way changes how many reviews there are. */
#include "base/units.h"
#include "guard_house.h"
#include "http/client.h"
#include "test.h"
#include <stdio.h>

enum { GUESSERS = 24, FEW = 4, GUESSES = 30, CROWD = 200 };
#define REVIEW "/apis/authentication.k8s.io/v1/tokenreviews*"
#define NONE { REVIEW, 201, "{\"status\":{\"authenticated\":false}}" }
#define TEN_NONE NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE
#define FOUR_NONE NONE, NONE, NONE, NONE
#define ALWAYS_NONE { REVIEW, 201, "{\"status\":{\"authenticated\":false}}", .always = true }
#define KNOWN { REVIEW, 201, "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"prom\"}}}" }
#define MAY { "/apis/authorization.k8s.io/v1/subjectaccessreviews*", 201, "{\"status\":{\"allowed\":true}}" }
#define HELD { REVIEW, 201, "{}", .held = true }

/* ---- those who come ---- */

struct guest;

struct visit {
	struct fl_http_call call;
	struct fl_header header;
	char token[60];
	struct fl_str long_token;      /* "": as above */
};

struct guest {
	struct fl_io *io;
	struct fl_http_client *client;
	struct visit visits[GUESSES];
	unsigned count, begun;
	bool restless;             /* shows a new token each half second, in its only visit */
	uint64_t from;             /* when it begins, after its boot */
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

static void go(struct guest *guest, struct visit *visit)
{
	visit->header = (struct fl_header){ FL_S("authorization"), fl_str(visit->token) };
	if (visit->long_token.len)
		visit->header.value = visit->long_token;
	visit->call = (struct fl_http_call){ .op = { .done = done }, .method = FL_S("GET"), .target = FL_S("/metrics"),
					     .headers = { &visit->header, 1 } };
	fl_http_start(guest->client, &visit->call);
}

static void begin_again(struct guest *guest)
{
	struct visit *visit = &guest->visits[0];

	if (guest->begun && fl_op_busy(&visit->call.op))
		return;
	if (guest->begun)
		fl_http_call_free(&visit->call);
	guest->begun = 1;
	(void)snprintf(visit->token, sizeof visit->token, "Bearer guess-%p-%u", (void *)guest, guest->count++);
	go(guest, visit);
}

/* A process hears only what is begun in it. */
static void begin(struct fl_timer *timer)
{
	struct guest *guest = fl_container(timer, struct guest, timer);

	if (guest->restless)
		begin_again(guest);
	for (; guest->begun < guest->count && !guest->restless; guest->begun++)
		go(guest, &guest->visits[guest->begun]);
	fl_timer_set(guest->io, timer, fl_now(guest->io) + (guest->restless ? 500 : 10) * FL_NS_PER_MS);
}

static int boot_guest(struct sim_process *process)
{
	struct guest *guest = sim_arg(process);
	struct fl_http_client_options options = { .url = FL_S("http://server:80"), .max_conns = GUESSES };

	sim_own(process, guest, guest_gone);
	guest->io = sim_io(process);
	guest->client = fl_http_client_new(guest->io, &options, &guest->err);
	guest->timer = (struct fl_timer){ .fire = begin };
	fl_timer_set(guest->io, &guest->timer, fl_now(guest->io) + 10 * FL_NS_PER_MS + guest->from);
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

static void guess_all(struct guest *guessers, unsigned count, unsigned each)
{
	for (unsigned i = 0; i < count; i++)
		guess(&guessers[i], each);
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
	struct guest scraper, guessers[GUESSERS], crowd[CROWD];
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

static void found_crowd(struct town *town)
{
	char name[20];

	for (int i = 0; i < CROWD; i++) {
		(void)snprintf(name, sizeof name, "crowd-%d", i);
		town->crowd[i].restless = true;
		town->crowd[i].from = (uint64_t)i * 500 * FL_NS_PER_MS / CROWD;
		(void)sim_host_new(town->world, name, boot_guest, &town->crowd[i]);
	}
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
	guess_all(town.guessers, GUESSERS, GUESSES);
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

/* A scraper that was restarted: its address is new. */
TEST_ONCE(addresses_that_guess_leave_reviews_for_a_new_address)
{
	static const struct exchange says[] = { TEN_NONE, FOUR_NONE, KNOWN, MAY, { 0 } };
	FL_AUTO(town) struct town town = { 0 };

	found(&town, says);
	guess_all(town.guessers, FEW, GUESSES);
	pass(&town, 200 * FL_NS_PER_MS);
	CHECK_INT(scrape(&town, "good", 200 * FL_NS_PER_MS), 200);
	CHECK_STR(fl_str(town.house.script.wrong), "");
	CHECK_INT(town.house.script.asked, FEW + FL_GUARD_REVIEWS_UNTRUSTED + 2);
}

/* Four more than there are first reviews in a second: those have theirs in the next one, and leave the others. */
TEST_ONCE(addresses_that_guess_for_the_first_time_hold_up_a_new_address_only_once)
{
	static const struct exchange says[] = { TEN_NONE, TEN_NONE, TEN_NONE, FOUR_NONE, KNOWN, MAY, { 0 } };
	FL_AUTO(town) struct town town = { 0 };

	found(&town, says);
	guess_all(town.guessers, GUESSERS, 1);
	pass(&town, 200 * FL_NS_PER_MS);
	CHECK_INT(town.house.script.asked, FL_GUARD_REVIEWS_HALF);
	CHECK_INT(scrape(&town, "good", 200 * FL_NS_PER_MS), 503);
	pass(&town, FL_NS_PER_S);
	guess_all(town.guessers, GUESSERS, 2);
	pass(&town, 200 * FL_NS_PER_MS);
	CHECK_INT(scrape(&town, "good", 200 * FL_NS_PER_MS), 200);
	CHECK_STR(fl_str(town.house.script.wrong), "");
}

TEST_ONCE(an_address_that_was_refused_comes_again_for_ten_minutes)
{
	static const struct exchange says[] = { TEN_NONE, FOUR_NONE, TEN_NONE, TEN_NONE, FOUR_NONE, { 0 } };
	FL_AUTO(town) struct town town = { 0 };

	found(&town, says);
	guess_all(town.guessers, FEW, FL_GUARD_REVIEWS_UNTRUSTED);
	pass(&town, 2 * FL_NS_PER_S);
	CHECK_INT(town.house.script.asked, FEW + FL_GUARD_REVIEWS_UNTRUSTED);
	guess_all(town.guessers, FEW, 5);
	pass(&town, FL_GUARD_FIRST_AGAIN - FL_NS_PER_S);
	CHECK_INT(town.house.script.asked, FEW + 2 * FL_GUARD_REVIEWS_UNTRUSTED);
	guess_all(town.guessers, FEW, 5);
	pass(&town, 200 * FL_NS_PER_MS);
	CHECK_INT(town.house.script.asked, 2 * FEW + 3 * FL_GUARD_REVIEWS_UNTRUSTED);
	CHECK_STR(fl_str(town.house.script.wrong), "");
}

/* ---- a scraper that asks once a minute, always at the same second ---- */

/* Ten that know the second: each has a first review, and ten more are of those that come again. What the scraper shows
 * is none too: 401 says that it had its review. */
TEST_ONCE(ten_addresses_that_know_when_a_scraper_asks_keep_it_out_once)
{
	static const struct exchange says[] = { ALWAYS_NONE, { 0 } };
	FL_AUTO(town) struct town town = { 0 };

	found(&town, says);
	guess_all(town.guessers, 10, 3);
	pass(&town, 500 * FL_NS_PER_MS);
	CHECK_INT(town.house.script.asked, FL_GUARD_REVIEWS_HALF);
	CHECK_INT(scrape(&town, "new", 59700 * FL_NS_PER_MS), 503);
	guess_all(town.guessers, 10, 3);
	pass(&town, 300 * FL_NS_PER_MS);
	CHECK_INT(scrape(&town, "new", 500 * FL_NS_PER_MS), 401);
	CHECK_STR(fl_str(town.house.script.wrong), "");
}

/* All have their first reviews in the first 20 s, in which it asks for the first time. */
TEST_ONCE(two_hundred_addresses_that_ask_all_the_time_keep_a_scraper_out_once)
{
	static const struct exchange says[] = { ALWAYS_NONE, { 0 } };
	FL_AUTO(town) struct town town = { 0 };

	found(&town, says);
	found_crowd(&town);
	pass(&town, 10500 * FL_NS_PER_MS);
	CHECK_INT(scrape(&town, "new", 60 * FL_NS_PER_S), 503);
	CHECK_INT(scrape(&town, "new", 500 * FL_NS_PER_MS), 401);
	CHECK_STR(fl_str(town.house.script.wrong), "");
}

/* ---- which review makes an address one that comes again ---- */

TEST_ONCE(an_address_whose_review_failed_still_comes_first)
{
	static const struct exchange says[] = { HELD, TEN_NONE, FOUR_NONE, KNOWN, MAY, { 0 } };
	FL_AUTO(town) struct town town = { 0 };

	found(&town, says);
	CHECK_INT(scrape(&town, "good", FL_GUARD_TIMEOUT + FL_NS_PER_S), 503);
	guess_all(town.guessers, FEW, GUESSES);
	pass(&town, 200 * FL_NS_PER_MS);
	CHECK_INT(town.house.script.asked, 1 + FEW + FL_GUARD_REVIEWS_UNTRUSTED);
	CHECK_INT(scrape(&town, "good", 200 * FL_NS_PER_MS), 200);
	CHECK_STR(fl_str(town.house.script.wrong), "");
}

/* The API server takes its time: two addresses have a first review under way each, and four more together. */
TEST_ONCE(an_address_has_one_first_review_under_way)
{
	static const struct exchange says[] = { HELD, HELD, HELD, HELD, HELD, HELD, KNOWN, MAY, { 0 } };
	FL_AUTO(town) struct town town = { 0 };

	found(&town, says);
	guess_all(town.guessers, 2, FL_GUARD_ASKS_UNTRUSTED);
	pass(&town, 200 * FL_NS_PER_MS);
	CHECK_INT(town.house.script.asked, 2 + FL_GUARD_ASKS_UNTRUSTED);
	CHECK_INT(scrape(&town, "good", 200 * FL_NS_PER_MS), 200);
	CHECK_STR(fl_str(town.house.script.wrong), "");
}

/* No body of a review takes so many bytes that are no UTF-8, as each becomes three, and nobody is asked. Its address
 * might show another such token each time, and would always come first. */
TEST_ONCE(an_address_whose_token_fits_no_review_comes_again)
{
	static const struct exchange says[] = { ALWAYS_NONE, { 0 } };
	static char token[FL_HTTP_HEAD_MAX - 200];
	FL_AUTO(town) struct town town = { 0 };

	memset(token, 0xff, sizeof token);
	found(&town, says);
	memcpy(token, "Bearer ", 7);
	for (int i = 0; i < FEW; i++) {
		show(&town.guessers[i], "")->long_token = (struct fl_str){ token, sizeof token };
		pass(&town, FL_NS_PER_S);
	}
	CHECK_INT(town.house.script.asked, 0);
	CHECK_INT(answered(&town.guessers[0], 503), 1);
	guess_all(town.guessers, FEW, GUESSES - 1);
	pass(&town, 200 * FL_NS_PER_MS);
	CHECK_INT(town.house.script.asked, FL_GUARD_REVIEWS_UNTRUSTED);
	CHECK_STR(fl_str(town.house.script.wrong), "");
}

#define USER "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"prom\"}}}"

TEST_ONCE(requests_with_one_token_share_a_review_and_are_answered_in_several_turns)
{
	static const struct exchange says[] = { HELD, MAY, { 0 } };
	FL_AUTO(town) struct town town = { 0 };

	found(&town, says);
	for (int i = 1; i < GUESSES; i++)
		(void)show(&town.scraper, "good");
	pass(&town, 200 * FL_NS_PER_MS);
	CHECK_INT(town.house.script.asked, 1);
	script_answer(&town.house.script, USER);
	CHECK_INT(scrape(&town, "good", 200 * FL_NS_PER_MS), 200);
	CHECK_INT(answered(&town.scraper, 200), GUESSES);
	CHECK_INT(town.house.most_in_turn, FL_GUARD_ANSWERS);
	CHECK_STR(fl_str(town.house.script.wrong), "");
}

TEST_ONCE(a_review_goes_on_when_who_asked_leaves)
{
	static const struct exchange says[] = { HELD, MAY, { 0 } };
	FL_AUTO(town) struct town town = { 0 };

	found(&town, says);
	CHECK_INT(scrape(&town, "good", 200 * FL_NS_PER_MS), 0);
	fl_op_cancel(&town.scraper.visits[0].call.op);
	pass(&town, 200 * FL_NS_PER_MS);
	script_answer(&town.house.script, USER);
	pass(&town, 200 * FL_NS_PER_MS);
	CHECK_INT(scrape(&town, "good", 200 * FL_NS_PER_MS), 200);
	CHECK_STR(fl_str(town.house.script.wrong), "");
}

#define FOUR_HELD HELD, HELD, HELD, HELD

/* All reviews are under way when an allowed token is due for another one: the API server might know that it was taken
 * away. Only when it has let a review of such a token run out it counts as away. */
TEST_ONCE(reviews_that_are_used_up_do_not_make_an_old_verdict_good)
{
	static const struct exchange says[] = { KNOWN, MAY, KNOWN, MAY, FOUR_HELD, FOUR_HELD, FOUR_HELD, FOUR_HELD,
						HELD, { 0 } };
	FL_AUTO(town) struct town town = { 0 };
	struct fl_str retry = { 0 };
	struct visit *last;

	found(&town, says);
	CHECK_INT(scrape(&town, "one", FL_NS_PER_S), 200);
	CHECK_INT(scrape(&town, "two", FL_GUARD_ALLOWED + FL_NS_PER_S), 200);
	guess(&town.scraper, FL_GUARD_ASKS_HALF);
	pass(&town, 200 * FL_NS_PER_MS);
	guess_all(town.guessers, 3, FL_GUARD_ASKS_UNTRUSTED);
	pass(&town, 200 * FL_NS_PER_MS);
	CHECK_INT(town.house.script.asked, 4 + FL_GUARD_ASKS_NEW);
	CHECK_INT(scrape(&town, "one", 200 * FL_NS_PER_MS), 0);
	last = &town.scraper.visits[town.scraper.count];
	CHECK_INT(scrape(&town, "two", 200 * FL_NS_PER_MS), 503);
	if (last->call.answer)
		retry = fl_headers_get(last->call.answer->headers, FL_S("retry-after"));
	CHECK_STR(retry, "1");
	pass(&town, FL_GUARD_AGAIN);
	CHECK_INT(last[-1].call.op.result, 200);
	CHECK_INT(scrape(&town, "one", 200 * FL_NS_PER_MS), 0);
	CHECK_INT(scrape(&town, "two", 200 * FL_NS_PER_MS), 200);
	CHECK_STR(fl_str(town.house.script.wrong), "");
}
