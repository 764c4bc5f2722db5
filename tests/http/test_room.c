/* A server without a free place, in the simulated world: who makes room, who waits, who is answered all the same. */
#include "h2_bytes.h"
#include "http/conn.h"
#include "http/server.h"
#include "test.h"
#include "town.h"

TEST(idle_connections_of_one_address_do_not_starve_healthz)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found(&town));
	dial(town.a, town.host, 80, PLACES, GET("/"));
	PASS(FL_NS_PER_S);
	dial(town.b, town.host, 80, 1, GET("/healthz"));
	PASS(FL_NS_PER_S);
	CHECK(got(town.b, 0, "HTTP/1.1 200 OK") && got(town.a, PLACES - 1, "HTTP/1.1 200 OK"));
	CHECK_INT(open_lines(town.a), SHARE);
	CHECK_INT(open_lines(town.b), 1);
}

TEST(at_the_limit_the_longest_idle_connection_makes_room)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found(&town));
	FILL(GET("/"));
	CHECK_INT(fl_http_server_conns(town.house->server), PLACES);
	/* The first one of all speaks again: another one has been idle for longest. */
	OK(fl_write(town.a->io, town.a->lines[0].poll.fd, GET("/").p, GET("/").len));
	PASS(10 * FL_NS_PER_MS);
	dial(town.b, town.host, 80, 1, GET("/"));
	PASS(10 * FL_NS_PER_MS);
	CHECK(got(town.b, 0, "HTTP/1.1 200 OK") && !got(town.b, 0, "connection: close"));
	CHECK(!town.a->lines[0].over);
	CHECK_INT(open_lines(town.a), SHARE - 1);
	CHECK_INT(open_lines(town.c), SHARE);
	CHECK_INT(fl_http_server_evicted(town.house->server), 1);
}

TEST(an_idle_http2_connection_that_makes_room_is_told_goaway)
{
	FL_AUTO(town) struct town town = { 0 };
	FL_AUTO(fl_buf) struct fl_buf hello = FL_BUF(FL_KIB);
	bool goaway = false;

	h2_hello(&hello);
	OK(fl_buf_check(&hello, "test", NULL));
	OK(found(&town));
	dial(town.a, town.host, 80, 1, fl_buf_view(&hello));
	PASS(10 * FL_NS_PER_MS);
	dial(town.a, town.host, 80, SHARE - 1, GET("/"));
	dial(town.c, town.host, 80, SHARE, GET("/"));
	PASS(10 * FL_NS_PER_MS);
	dial(town.b, town.host, 80, 1, GET("/"));
	PASS(10 * FL_NS_PER_MS);
	CHECK(town.a->lines[0].over && got(town.b, 0, "HTTP/1.1 200 OK"));
	/* Its last frame: 8 bytes or more, type 7, stream 0. */
	for (size_t i = 0; i + 9 < town.a->lines[0].len; i++)
		goaway |= memcmp(town.a->lines[0].said + i, "\0\0\x08\x07\0\0\0\0\0", 9) == 0;
	CHECK(goaway);
}

TEST_ONCE(probes_have_places_of_their_own)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found(&town));
	FILL(GET("/hold"));
	dial(town.b, town.host, 80, 1, GET("/healthz"));
	dial(town.b, town.host, 80, 1, GET("/"));
	PASS(10 * FL_NS_PER_MS);
	CHECK(got(town.b, 0, "HTTP/1.1 200 OK") && got(town.b, 0, "connection: close"));
	CHECK(got(town.b, 1, "HTTP/1.1 503") && got(town.b, 1, "all connections are in use"));
	CHECK_INT(open_lines(town.a) + open_lines(town.c), PLACES);
	CHECK_INT(fl_http_server_evicted(town.house->server), 0);
}

TEST(those_who_say_nothing_in_the_places_of_probes_make_room_for_probes)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found(&town));
	FILL(GET("/hold"));
	dial(town.a, town.host, 80, 2 * FL_HTTP_PROBE_CONNS, FL_S("GET /heal"));
	PASS(10 * FL_NS_PER_MS);
	dial(town.b, town.host, 80, 1, GET("/healthz"));
	PASS(10 * FL_NS_PER_MS);
	CHECK(got(town.b, 0, "HTTP/1.1 200 OK"));
	CHECK(fl_http_server_conns(town.house->server) <= PLACES + FL_HTTP_PROBE_CONNS);
}

TEST_ONCE(one_address_has_a_share_of_the_places)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found(&town));
	dial(town.a, town.host, 80, SHARE, GET("/hold"));
	PASS(10 * FL_NS_PER_MS);
	dial(town.a, town.host, 80, 1, GET("/"));
	dial(town.b, town.host, 80, 1, GET("/"));
	PASS(10 * FL_NS_PER_MS);
	CHECK(got(town.a, SHARE, "HTTP/1.1 503") && got(town.b, 0, "HTTP/1.1 200 OK"));
}

static const struct {
	const char *says;
	struct fl_str bytes;
} halves[] = {
	{ "half a head", FL_S_INIT("GET / HTTP/1.1\r\nhost: a\r\nx: ") },
	{ "half a body", FL_S_INIT("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nabc") },
};

TEST(half_a_request_holds_no_place_for_ever)
{
	EACH_ROW (row, halves) {
		FL_AUTO(town) struct town town = { 0 };

		OK(found(&town));
		FILL(row->bytes);
		dial(town.a, town.host, 80, 1, GET("/"));
		PASS(FL_NS_PER_S);
		CHECK(got(town.a, SHARE, "HTTP/1.1 503"));
		PASS(FL_NS_PER_S);
		dial(town.a, town.host, 80, 1, GET("/"));
		PASS(10 * FL_NS_PER_MS);
		CHECK(got(town.a, SHARE + 1, "HTTP/1.1 200 OK"));
	}
}

static void say_more(struct line *line, struct fl_str text)
{
	if (!line->over && fl_write(line->guest->io, line->poll.fd, text.p, text.len) < 0)
		line->over = true;
}

TEST(a_peer_that_still_sends_stays_longer_than_one_that_is_silent)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found(&town));
	FILL(halves[1].bytes);
	PASS(19 * FL_NS_PER_S / 10);
	say_more(&town.a->lines[0], FL_S("def"));
	PASS(FL_NS_PER_S / 5);
	dial(town.b, town.host, 80, 1, GET("/"));
	PASS(10 * FL_NS_PER_MS);
	CHECK(got(town.b, 0, "HTTP/1.1 200 OK"));
	CHECK(!town.a->lines[0].over);
	CHECK_INT(open_lines(town.a) + open_lines(town.c), PLACES - 1);
}

/* A slow loris: every one of them sends, and none comes to an end. */
TEST_ONCE(bytes_that_trickle_in_hold_no_place_for_ever)
{
	EACH_ROW (row, halves) {
		FL_AUTO(town) struct town town = { 0 };

		OK(found(&town));
		FILL(row->bytes);
		for (int i = 0; i < 6; i++) {
			PASS(2 * FL_NS_PER_S / 5);
			for (unsigned j = 0; j < SHARE; j++) {
				say_more(&town.a->lines[j], FL_S("y"));
				say_more(&town.c->lines[j], FL_S("y"));
			}
		}
		dial(town.b, town.host, 80, 1, GET("/"));
		PASS(10 * FL_NS_PER_MS);
		CHECK(got(town.b, 0, "HTTP/1.1 200 OK"));
	}
}

/* ---- answers that are not taken ---- */

/* HTTP/2: a request with a window of 0 for the answer, or with the usual one. */
static void put_h2(struct fl_buf *out, bool closed, const char *path)
{
	char head[60] = "\x82\x86\x41\x01"
			"a\x04";
	size_t len = strlen(path);

	fl_buf_str(out, FL_S(H2_PREFACE));
	h2_frame(out, H2_SETTINGS, 0, 0, closed ? FL_S("\0\4\0\0\0\0") : FL_S(""));
	head[6] = (char)len;
	memcpy(head + 7, path, len);
	h2_frame(out, H2_HEADERS, H2_END_STREAM | H2_END_HEADERS, 1, (struct fl_str){ head, (uint32_t)len + 7 });
}

static const struct taker {
	const char *says;
	bool h2;
} takers[] = {
	{ "HTTP/2 with a window of 0", true },
	{ "HTTP/1.1 and a socket that is not read", false },
};

/* The guests that take no answer are a and c; `hello` holds what they send. */
static int found_takers(struct town *town, const struct taker *taker, struct fl_buf *hello)
{
	int got = found(town);

	if (got < 0)
		return got;
	town->a->deaf = town->c->deaf = !taker->h2;
	if (taker->h2)
		put_h2(hello, true, "/much");
	else
		fl_buf_str(hello, GET("/much"));
	return fl_buf_check(hello, "test", NULL);
}

/* One byte more of the answer. */
static void take_a_byte(const struct taker *taker, struct line *line)
{
	if (taker->h2)
		say_more(line, FL_S("\0\0\4\x08\0\0\0\0\1\0\0\0\1"));
	else if (!line->over)
		hear(line, 1);
}

TEST(an_answer_that_is_not_taken_holds_no_place_for_ever)
{
	EACH_ROW_ALONE (row, takers) {
		FL_AUTO(town) struct town town = { 0 };
		FL_AUTO(fl_buf) struct fl_buf hello = FL_BUF(FL_KIB);

		OK(found_takers(&town, row, &hello));
		FILL(fl_buf_view(&hello));
		town.a->deaf = false;
		dial(town.a, town.host, 80, 1, GET("/"));
		dial(town.a, town.host, 80, 1, GET("/healthz"));
		PASS(FL_NS_PER_S);
		CHECK(got(town.a, SHARE, "HTTP/1.1 503") && got(town.a, SHARE + 1, "HTTP/1.1 200 OK"));
		PASS(11 * FL_NS_PER_S / 10);
		CHECK_INT(fl_http_server_conns(town.house->server), PLACES);
		dial(town.a, town.host, 80, 1, GET("/"));
		PASS(10 * FL_NS_PER_MS);
		CHECK(got(town.a, SHARE + 2, "HTTP/1.1 200 OK"));
		CHECK_INT(fl_http_server_evicted(town.house->server), 1);
	}
}

TEST_ONCE(an_answer_that_is_taken_by_the_byte_holds_no_place_for_ever)
{
	EACH_ROW (row, takers) {
		FL_AUTO(town) struct town town = { 0 };
		FL_AUTO(fl_buf) struct fl_buf hello = FL_BUF(FL_KIB);

		OK(found_takers(&town, row, &hello));
		FILL(fl_buf_view(&hello));
		for (int i = 0; i < 6; i++) {
			PASS(2 * FL_NS_PER_S / 5);
			for (unsigned j = 0; j < SHARE; j++) {
				take_a_byte(row, &town.a->lines[j]);
				take_a_byte(row, &town.c->lines[j]);
			}
		}
		CHECK_INT(fl_http_server_evicted(town.house->server), 0);
		dial(town.b, town.host, 80, 1, GET("/"));
		PASS(10 * FL_NS_PER_MS);
		CHECK(got(town.b, 0, "HTTP/1.1 200 OK"));
		CHECK_INT(fl_http_server_evicted(town.house->server), 1);
	}
}

static bool was_reset(const struct line *line)
{
	for (size_t i = 0; i + 13 <= line->len; i++)
		if (memcmp(line->said + i, "\0\0\4\3\0\0\0\0\1", 9) == 0)
			return true;
	return false;
}

/* Also where there is room for all. */
TEST(an_answer_that_is_not_taken_is_given_up)
{
	EACH_ROW_ALONE (row, takers) {
		FL_AUTO(town) struct town town = { 0 };
		FL_AUTO(fl_buf) struct fl_buf hello = FL_BUF(FL_KIB);

		OK(found_takers(&town, row, &hello));
		dial(town.a, town.host, 80, 1, fl_buf_view(&hello));
		PASS(10 * FL_NS_PER_MS);
		/* What the socket takes at the beginning is progress. */
		for (uint64_t time = 0; time < 2 * FL_HTTP_WRITE_TIMEOUT; time += FL_NS_PER_S * 10) {
			CHECK(time >= FL_HTTP_WRITE_TIMEOUT || !was_reset(&town.a->lines[0]));
			CHECK(time >= FL_HTTP_WRITE_TIMEOUT || fl_http_server_conns(town.house->server) == 1);
			PASS(FL_NS_PER_S * 10);
			take_a_byte(row, &town.a->lines[0]);
		}
		CHECK(was_reset(&town.a->lines[0]) == row->h2);
		CHECK_INT(fl_http_server_conns(town.house->server), row->h2);
	}
}

TEST_ONCE(streams_stay_however_long_they_are)
{
	EACH_ROW (row, takers) {
		FL_AUTO(town) struct town town = { 0 };
		FL_AUTO(fl_buf) struct fl_buf hello = FL_BUF(FL_KIB);

		OK(found(&town));
		put_h2(&hello, false, "/hold");
		FILL(row->h2 ? fl_buf_view(&hello) : GET("/hold"));
		PASS(2 * FL_HTTP_WRITE_TIMEOUT);
		dial(town.b, town.host, 80, 1, GET("/"));
		PASS(10 * FL_NS_PER_MS);
		CHECK(got(town.b, 0, "HTTP/1.1 503"));
		CHECK_INT(open_lines(town.a) + open_lines(town.c), PLACES);
		CHECK_INT(fl_http_server_evicted(town.house->server), 0);
	}
}

TEST_ONCE(an_address_with_its_share_makes_room_for_itself_with_what_it_does_not_take)
{
	FL_AUTO(town) struct town town = { 0 };
	FL_AUTO(fl_buf) struct fl_buf hello = FL_BUF(FL_KIB);

	OK(found_takers(&town, &takers[0], &hello));
	dial(town.a, town.host, 80, SHARE, fl_buf_view(&hello));
	PASS(21 * FL_NS_PER_S / 10);
	dial(town.a, town.host, 80, 1, GET("/"));
	PASS(10 * FL_NS_PER_MS);
	CHECK(got(town.a, SHARE, "HTTP/1.1 200 OK") && !got(town.a, SHARE, "connection: close"));
	CHECK_INT(open_lines(town.a), SHARE);
}

TEST_ONCE(answers_that_are_not_taken_in_the_places_of_probes_make_room_for_probes)
{
	FL_AUTO(town) struct town town = { 0 };
	FL_AUTO(fl_buf) struct fl_buf probe = FL_BUF(FL_KIB);

	OK(found(&town));
	put_h2(&probe, true, "/healthz");
	FILL(GET("/hold"));
	dial(town.a, town.host, 80, 2 * FL_HTTP_PROBE_CONNS, fl_buf_view(&probe));
	dial(town.c, town.host, 80, 2 * FL_HTTP_PROBE_CONNS, fl_buf_view(&probe));
	dial(town.b, town.host, 80, FL_HTTP_PROBE_SHARE, fl_buf_view(&probe));
	PASS(10 * FL_NS_PER_MS);
	dial(town.b, town.host, 80, 1, GET("/healthz"));
	PASS(10 * FL_NS_PER_MS);
	CHECK(got(town.b, FL_HTTP_PROBE_SHARE, "HTTP/1.1 200 OK"));
}

TEST_ONCE(two_addresses_leave_a_place_for_the_probe_of_a_third)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found(&town));
	FILL(GET("/hold"));
	dial(town.b, town.host, 80, 1, FL_S("GET /heal"));
	PASS(10 * FL_NS_PER_MS);
	dial(town.a, town.host, 80, 2 * FL_HTTP_PROBE_CONNS, FL_S("GET /heal"));
	dial(town.c, town.host, 80, 2 * FL_HTTP_PROBE_CONNS, FL_S("GET /heal"));
	PASS(10 * FL_NS_PER_MS);
	say_more(&town.b->lines[0], FL_S("thz HTTP/1.1\r\nhost: a\r\n\r\n"));
	PASS(10 * FL_NS_PER_MS);
	CHECK(got(town.b, 0, "HTTP/1.1 200 OK"));
	CHECK_INT(fl_http_server_conns(town.house->server), PLACES + 2 * FL_HTTP_PROBE_SHARE);
}

/* Never idle and never slow: they are replaced in time. */
TEST_ONCE(half_heads_of_two_addresses_leave_places_for_a_third)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found(&town));
	FILL(halves[0].bytes);
	dial(town.b, town.host, 80, 1, GET("/hold"));
	PASS(10 * FL_NS_PER_MS);
	dial(town.b, town.host, 80, 1, GET("/"));
	PASS(10 * FL_NS_PER_MS);
	CHECK(got(town.b, 0, "HTTP/1.1 200 OK") && got(town.b, 1, "HTTP/1.1 200 OK"));
	CHECK_INT(open_lines(town.a), SHARE - 1);
	CHECK_INT(open_lines(town.c), SHARE - 1);
}

/* b has two of these places, and the oldest; a and c have three each. */
TEST_ONCE(whoever_has_most_places_for_probes_gives_one_up)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found(&town));
	FILL(GET("/hold"));
	dial(town.b, town.host, 80, 2, FL_S("GET /heal"));
	PASS(10 * FL_NS_PER_MS);
	dial(town.a, town.host, 80, FL_HTTP_PROBE_SHARE, FL_S("GET /heal"));
	dial(town.c, town.host, 80, FL_HTTP_PROBE_SHARE, FL_S("GET /heal"));
	PASS(10 * FL_NS_PER_MS);
	CHECK_INT(fl_http_server_conns(town.house->server), PLACES + FL_HTTP_PROBE_CONNS);
	dial(town.b, town.host, 80, 1, GET("/healthz"));
	PASS(10 * FL_NS_PER_MS);
	CHECK(got(town.b, 2, "HTTP/1.1 200 OK"));
	CHECK_INT(open_lines(town.b), 2);
}

/* a and c have two of these places each, as b has, and eight others. b's are the oldest. */
TEST_ONCE(of_addresses_with_as_many_places_for_probes_the_one_with_most_connections_gives_one_up)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found(&town));
	FILL(GET("/hold"));
	dial(town.b, town.host, 80, 2, FL_S("GET /heal"));
	PASS(10 * FL_NS_PER_MS);
	dial(town.a, town.host, 80, 2, FL_S("GET /heal"));
	dial(town.c, town.host, 80, 2, FL_S("GET /heal"));
	dial(town.d, town.host, 80, 2, FL_S("GET /heal"));
	PASS(10 * FL_NS_PER_MS);
	CHECK_INT(fl_http_server_conns(town.house->server), PLACES + FL_HTTP_PROBE_CONNS);
	dial(town.e, town.host, 80, 1, GET("/healthz"));
	PASS(10 * FL_NS_PER_MS);
	CHECK(got(town.e, 0, "HTTP/1.1 200 OK"));
	CHECK_INT(open_lines(town.b) + open_lines(town.d), 4);
	CHECK_INT(open_lines(town.a) + open_lines(town.c), PLACES + 3);
}

static void hang_up(struct guest *guest)
{
	for (unsigned i = 0; i < guest->count; i++)
		if (!guest->lines[i].over) {
			fl_poll_stop(guest->io, &guest->lines[i].poll);
			fl_close(guest->io, guest->lines[i].poll.fd);
			guest->lines[i].over = true;
		}
}

/* Ordinary places and those for probes, again and again: one left behind would be missing in the end. */
TEST(an_address_has_its_whole_share_again_after_its_connections_have_gone)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found(&town));
	dial(town.c, town.host, 80, SHARE, GET("/hold"));
	PASS(10 * FL_NS_PER_MS);
	for (int i = 0; i < 2; i++) {
		dial(town.a, town.host, 80, SHARE, GET("/hold"));
		PASS(10 * FL_NS_PER_MS);
		dial(town.a, town.host, 80, 1, GET("/hold"));
		PASS(10 * FL_NS_PER_MS);
		CHECK(got(town.a, town.a->count - 1, "HTTP/1.1 503"));
		CHECK(got(town.a, town.a->count - 2, "held"));
		hang_up(town.a);
		PASS(10 * FL_NS_PER_MS);
		CHECK_INT(fl_http_server_conns(town.house->server), SHARE);
	}
}

TEST_ONCE(idle_tls_connections_make_room)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found(&town));
	OK_ERR(call_tls(town.a), &town.a->err);
	PASS(100 * FL_NS_PER_MS);
	CHECK_INT(town.a->call.op.result, 200);
	dial(town.a, town.host, 80, SHARE - 1, GET("/hold"));
	dial(town.c, town.host, 80, SHARE, GET("/hold"));
	PASS(100 * FL_NS_PER_MS);
	OK_ERR(call_tls(town.b), &town.b->err);
	PASS(100 * FL_NS_PER_MS);
	CHECK_INT(town.b->call.op.result, 200);
	CHECK_INT(fl_http_server_evicted(town.house->server), 1);
}
