/* TLS handshakes that are slow or never end, in the simulated world: whom they hold up. */
#include "http/conn.h"
#include "http/server.h"
#include "test.h"
#include "town.h"

/* They have all places, but not all handshakes: one of them makes room at once. */
TEST_ONCE(slow_handshakes_of_two_addresses_hold_no_place_for_ever)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found(&town));
	dial(town.a, town.host, 443, SHARE, FL_S(""));
	dial(town.c, town.host, 443, SHARE, FL_S(""));
	PASS(100 * FL_NS_PER_MS);
	CHECK_INT(fl_http_server_conns(town.house->server), PLACES);
	OK_ERR(call_tls(town.b), &town.b->err);
	PASS(100 * FL_NS_PER_MS);
	CHECK_INT(town.b->done, 1);
	CHECK_INT(town.b->call.op.result, 200);
}

static bool is_accepted(void *arg)
{
	const struct town *town = arg;

	return fl_http_server_conns(town->house->server) == 1;
}

/* The peer's machine is busy, as ours may be: in the middle of its handshake it gets no turn for three seconds. */
TEST_ONCE(a_slow_handshake_is_not_cut_while_there_are_places)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found_with(&town, boot_paced_house));
	OK_ERR(call_tls(town.a), &town.a->err);
	CHECK(sim_run_until(town.world, sim_now(town.world) + FL_NS_PER_S, is_accepted, &town));
	sim_hang(town.a->process, false);
	dial(town.c, town.host, 443, 1, FL_S(""));
	dial(town.d, town.host, 443, 1, FL_S(""));
	dial(town.e, town.host, 443, 1, FL_S(""));
	PASS(100 * FL_NS_PER_MS);
	CHECK_INT(fl_http_server_conns(town.house->server), FEW_HANDSHAKES);
	/* As many as may be at once: the next one waits, but only until they are slow. */
	OK_ERR(call_tls(town.b), &town.b->err);
	PASS(FL_NS_PER_S);
	CHECK_INT(town.b->done, 0);
	PASS(2 * FL_NS_PER_S);
	CHECK_INT(town.b->done, 1);
	CHECK_INT(town.b->call.op.result, 200);
	sim_unhang(town.a->process);
	PASS(100 * FL_NS_PER_MS);
	CHECK_INT(town.a->call.op.result, 200);
	CHECK_INT(fl_http_server_evicted(town.house->server), 0);
}

TEST_ONCE(silent_handshakes_of_one_address_do_not_hold_up_others)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found_with(&town, boot_paced_house));
	dial(town.a, town.host, 443, 2 * FEW_HANDSHAKES, FL_S(""));
	PASS(100 * FL_NS_PER_MS);
	CHECK_INT(fl_http_server_conns(town.house->server), 2 * FEW_HANDSHAKES);
	OK_ERR(call_tls(town.b), &town.b->err);
	PASS(100 * FL_NS_PER_MS);
	CHECK_INT(town.b->done, 1);
	CHECK_INT(town.b->call.op.result, 200);
	PASS(3 * FL_HTTP_HANDSHAKE_PATIENCE);
	CHECK_INT(open_lines(town.a), 0);
}

/* Each brings as many more as become slow: whoever has none under way is still the next one. */
TEST_ONCE(silent_handshakes_of_four_addresses_hold_up_nobody_for_longer_than_the_first_is_slow)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found_with(&town, boot_large_paced_house));
	for (int second = 0; second < 10; second++) {
		unsigned more = second ? 1 : 3 * FEW_HANDSHAKES;

		dial(town.a, town.host, 443, more, FL_S(""));
		dial(town.c, town.host, 443, more, FL_S(""));
		dial(town.d, town.host, 443, more, FL_S(""));
		dial(town.e, town.host, 443, more, FL_S(""));
		PASS(FL_NS_PER_S);
	}
	CHECK(fl_http_server_conns(town.house->server) > 10 * FEW_HANDSHAKES);
	OK_ERR(call_tls(town.b), &town.b->err);
	PASS(FL_HTTP_ROOM_AFTER + 100 * FL_NS_PER_MS);
	CHECK_INT(town.b->done, 1);
	CHECK_INT(town.b->call.op.result, 200);
}

/* They come to all places, of which one address has one, and that is idle. */
TEST_ONCE(silent_handshakes_do_not_take_the_idle_place_of_an_address_that_has_fewer)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found_with(&town, boot_large_paced_house));
	OK_ERR(call_tls(town.b), &town.b->err);
	PASS(100 * FL_NS_PER_MS);
	CHECK_INT(town.b->done, 1);
	CHECK_INT(fl_http_client_conns(town.b->client), 1);
	dial(town.a, town.host, 443, LINES, FL_S(""));
	dial(town.c, town.host, 443, LINES, FL_S(""));
	PASS(100 * FL_NS_PER_MS);
	dial(town.d, town.host, 443, LINES, FL_S(""));
	dial(town.e, town.host, 443, LINES, FL_S(""));
	PASS(100 * FL_NS_PER_MS);
	CHECK(fl_http_server_evicted(town.house->server) > 0);
	CHECK_INT(fl_http_client_conns(town.b->client), 1);
}

TEST_ONCE(a_handshake_beyond_the_share_of_its_address_begins_when_one_before_is_slow)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found_with(&town, boot_paced_house));
	dial(town.a, town.host, 443, FEW_HANDSHAKES / 4, FL_S(""));
	PASS(100 * FL_NS_PER_MS);
	OK_ERR(call_tls(town.a), &town.a->err);
	PASS(FL_NS_PER_S);
	CHECK_INT(town.a->done, 0);
	PASS(FL_NS_PER_S);
	CHECK_INT(town.a->done, 1);
	CHECK_INT(town.a->call.op.result, 200);
}

/* One begins each two seconds: half of them would have to wait for longer than they may. */
TEST_ONCE(a_handshake_that_has_not_begun_within_its_patience_is_given_up)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found_with(&town, boot_large_paced_house));
	dial(town.a, town.host, 443, LINES, FL_S(""));
	PASS(FL_HTTP_HANDSHAKE_PATIENCE - FL_NS_PER_S);
	CHECK_INT(open_lines(town.a), LINES);
	PASS(2 * FL_NS_PER_S);
	CHECK(open_lines(town.a) <= LINES / 2);
}

static void on_drained(void *arg)
{
	*(bool *)arg = true;
}

TEST_ONCE(a_handshake_that_has_not_begun_ends_when_the_server_drains)
{
	FL_AUTO(town) struct town town = { 0 };
	bool drained = false;

	OK(found_with(&town, boot_paced_house));
	dial(town.a, town.host, 443, SHARE, FL_S(""));
	PASS(100 * FL_NS_PER_MS);
	CHECK_INT(open_lines(town.a), SHARE);
	fl_http_server_drain(town.house->server, sim_now(town.world) + FL_HTTP_HANDSHAKE_PATIENCE, on_drained,
			     &drained);
	PASS(100 * FL_NS_PER_MS);
	CHECK_INT(open_lines(town.a), FEW_HANDSHAKES / 4);
	PASS(FL_HTTP_HANDSHAKE_PATIENCE);
	CHECK(drained);
}
