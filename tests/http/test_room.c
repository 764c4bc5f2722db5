/* A server without a free place, in the simulated world: who makes room, who waits, who is answered all the same. */
#include "base/limits.h"
#include "certs.h"
#include "h2_bytes.h"
#include "http/client.h"
#include "http/server.h"
#include "sim/sim.h"
#include "test.h"

enum { MUCH = 256 << 10, PLACES = 16, SHARE = PLACES / 2, LINES = 2 * PLACES, FEW_HANDSHAKES = 4 };
#define GET(path) FL_S("GET " path " HTTP/1.1\r\nhost: a\r\n\r\n")

/* ---- the server ---- */

struct house {
	struct fl_io *io;
	struct fl_http_server *server;
	struct fl_tls_context *tls;
	struct fl_err err;
};

static void do_ok(struct fl_http_req *req)
{
	fl_http_req_answer(req, 200, FL_NO_HEADERS, FL_S("ok"));
}

static void on_gone(void *arg)
{
	(void)arg;
}

static void do_hold(struct fl_http_req *req)
{
	static const struct fl_http_req_user user = { .gone = on_gone };

	fl_http_req_on(req, &user, NULL);
	fl_http_req_begin(req, 200, FL_NO_HEADERS, -1);
	fl_http_req_send(req, FL_S("held"));
}

static void do_much(struct fl_http_req *req)
{
	FL_AUTO(fl_mem) char *much = fl_zalloc(MUCH);

	if (much)
		fl_http_req_answer(req, 200, FL_NO_HEADERS, (struct fl_str){ much, MUCH });
	else
		fl_http_req_say(req, 503, "no memory");
}

static const struct fl_http_route routes[] = { { NULL, "/", do_ok, 1000, false }, { "GET", "/hold", do_hold },
					       { "GET", "/much", do_much },
					       { "GET", "/healthz", do_ok, .probe = true } };

static void house_gone(void *self)
{
	struct house *house = self;

	fl_http_server_free(house->server);
	fl_tls_context_free(house->tls);
	fl_free(house);
}

static int open_tls(struct house *house, struct fl_addr *addr)
{
	const struct test_certs *certs = test_certs();
	struct fl_tls_config config = { .server = true, .peer = FL_TLS_PEER_TRUST };

	if (!certs)
		return -FL_E_NOMEM;
	config.cert = fl_str(certs->server.cert);
	config.key = fl_str(certs->server.key);
	house->tls = fl_tls_context_new(&config, 0, &house->err);
	return house->tls ? fl_http_server_listen(house->server, addr, 0, house->tls, NULL, &house->err) : -FL_E_NOMEM;
}

static int boot(struct sim_process *process, uint32_t handshakes)
{
	struct house *house = fl_zalloc(sizeof *house);
	struct fl_http_server_options options = { .routes = routes, .route_count = FL_LEN(routes),
						  .max_conns = PLACES,
						  .max_handshakes = handshakes };
	struct fl_addr addr = sim_addr(sim_host_of(process), 80), safe = sim_addr(sim_host_of(process), 443);

	if (!house)
		return -FL_E_NOMEM;
	sim_own(process, house, house_gone);
	*(struct house **)sim_arg(process) = house;
	house->io = sim_io(process);
	house->server = fl_http_server_new(house->io, &options, &house->err);
	if (!house->server || fl_http_server_listen(house->server, &addr, 0, NULL, NULL, &house->err) < 0)
		return -FL_E_NOMEM;
	return open_tls(house, &safe);
}

static int boot_house(struct sim_process *process)
{
	return boot(process, PLACES);
}

static int boot_paced_house(struct sim_process *process)
{
	return boot(process, FEW_HANDSHAKES);
}

/* ---- those who come ---- */

struct line {
	struct guest *guest;
	struct fl_connect connect;
	struct fl_poll poll;
	struct fl_str says;
	char said[2000];
	size_t len;
	bool over, deaf;           /* deaf: it reads nothing by itself */
};

struct guest {
	struct fl_io *io;
	struct sim_process *process;
	struct fl_http_client *client;
	struct fl_http_call call;
	struct fl_tls_context *tls;
	struct fl_err err;
	struct line lines[LINES];
	unsigned count;
	int done;
	bool deaf;                 /* the lines that it dials are */
};

static void hear(struct line *line, size_t most)
{
	struct fl_poll *poll = &line->poll;
	char bytes[4000];
	int64_t got = fl_read(line->guest->io, poll->fd, bytes, most < sizeof bytes ? most : sizeof bytes);

	if (got > 0) {
		size_t room = sizeof line->said - 1 - line->len, piece = (size_t)got < room ? (size_t)got : room;

		memcpy(line->said + line->len, bytes, piece);
		line->len += piece;
	} else if (got != -FL_E_AGAIN) {
		line->over = true;
		fl_poll_stop(line->guest->io, poll);
		fl_close(line->guest->io, poll->fd);
	}
}

static void on_bytes(struct fl_poll *poll, unsigned what)
{
	(void)what;
	hear(fl_container(poll, struct line, poll), SIZE_MAX);
}

static void on_connect(struct fl_op *op)
{
	struct line *line = fl_container(fl_container(op, struct fl_connect, op), struct line, connect);

	line->over = op->result < 0;
	if (op->result < 0)
		return;
	line->poll = (struct fl_poll){ .ready = on_bytes, .fd = (int)op->result };
	if (line->says.len && fl_write(line->guest->io, line->poll.fd, line->says.p, line->says.len) < 0)
		line->over = true;
	if (!line->deaf && fl_poll_set(line->guest->io, &line->poll, FL_READABLE, NULL) < 0)
		line->over = true;
}

/* So many lines that say this first. */
static void dial(struct guest *guest, struct sim_host *to, uint16_t port, unsigned count, struct fl_str says)
{
	for (; count && guest->count < LINES; count--) {
		struct line *line = &guest->lines[guest->count++];

		*line = (struct line){ .guest = guest, .says = says, .deaf = guest->deaf,
				       .connect = { .op = { .done = on_connect }, .addr = sim_addr(to, port) } };
		fl_connect(guest->io, &line->connect);
	}
}

static void guest_gone(void *self)
{
	struct guest *guest = self;

	for (unsigned i = 0; i < guest->count; i++)
		fl_op_cancel(&guest->lines[i].connect.op);
	fl_http_call_auto_(&guest->call);
	fl_http_client_free(guest->client);
	fl_tls_context_free(guest->tls);
	fl_free(guest);
}

static int boot_guest(struct sim_process *process)
{
	struct guest *guest = fl_zalloc(sizeof *guest);

	if (!guest)
		return -FL_E_NOMEM;
	sim_own(process, guest, guest_gone);
	*(struct guest **)sim_arg(process) = guest;
	guest->io = sim_io(process);
	guest->process = process;
	return 0;
}

struct town {
	struct sim_world *world;
	struct sim_host *host;
	struct house *house;
	struct guest *a, *b, *c;
};

static void town_auto_(struct town *town)
{
	sim_world_free(town->world);
}

static int found_with(struct town *town, sim_main house)
{
	struct sim_config config = { .seed = test_random(), .refuse = test_refuse_io };

	town->world = sim_world_new(&config);
	town->host = sim_host_new(town->world, "server", house, &town->house);
	(void)sim_host_new(town->world, "a", boot_guest, &town->a);
	(void)sim_host_new(town->world, "b", boot_guest, &town->b);
	(void)sim_host_new(town->world, "c", boot_guest, &town->c);
	sim_run(town->world, FL_NS_PER_MS);
	return test_tortured() || !town->house || !town->a || !town->b || !town->c ? -FL_E_NOMEM : 0;
}

static int found(struct town *town)
{
	return found_with(town, boot_house);
}

static void pass(struct town *town, uint64_t time)
{
	sim_run(town->world, sim_now(town->world) + time);
}

static bool got(const struct guest *guest, unsigned line, const char *text)
{
	return guest && strstr(guest->lines[line].said, text);
}

static unsigned open_lines(const struct guest *guest)
{
	unsigned count = 0;

	for (unsigned i = 0; i < guest->count; i++)
		count += !guest->lines[i].over;
	return count;
}

/* What is refused in a process shows only as something that does not happen. */
#define PASS(time) \
	do { \
		pass(&town, time); \
		OK(test_tortured() ? -FL_E_IO : 0); \
	} while (0)

/* Two addresses take all places. */
#define FILL(text) \
	do { \
		dial(town.a, town.host, 80, SHARE, text); \
		PASS(10 * FL_NS_PER_MS); \
		dial(town.c, town.host, 80, SHARE, text); \
		PASS(10 * FL_NS_PER_MS); \
	} while (0)

/* ---- what is so ---- */

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
	CHECK(got(town.b, 1, "HTTP/1.1 503") && got(town.b, 1, "all places for connections are taken"));
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

static void on_done(struct fl_op *op)
{
	fl_container(fl_container(op, struct fl_http_call, op), struct guest, call)->done++;
}

static int call_tls(struct guest *guest)
{
	struct fl_tls_config config = { .peer = FL_TLS_PEER_TRUST };
	struct fl_http_client_options options = { .url = FL_S("https://server:443") };

	guest->tls = fl_tls_context_new(&config, 0, &guest->err);
	if (!guest->tls)
		return -FL_E_NOMEM;
	options.tls = guest->tls;
	guest->client = fl_http_client_new(guest->io, &options, &guest->err);
	if (!guest->client)
		return -FL_E_NOMEM;
	guest->call = (struct fl_http_call){ .op = { .done = on_done, .err = &guest->err }, .method = FL_S("GET"),
					     .target = FL_S("/") };
	fl_http_start(guest->client, &guest->call);
	return 0;
}

/* As many as there may be at once, and more that wait: without room for others they would be 10 s each. */
TEST_ONCE(slow_handshakes_of_two_addresses_hold_no_place_for_ever)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found(&town));
	dial(town.a, town.host, 443, SHARE, FL_S(""));
	dial(town.c, town.host, 443, SHARE, FL_S(""));
	PASS(100 * FL_NS_PER_MS);
	CHECK_INT(fl_http_server_conns(town.house->server), PLACES);
	OK_ERR(call_tls(town.b), &town.b->err);
	PASS(FL_NS_PER_S);
	CHECK_INT(town.b->done, 0);
	PASS(2 * FL_NS_PER_S);
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
	dial(town.c, town.host, 443, FEW_HANDSHAKES - 1, FL_S(""));
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

/* Many that never say a word, and more that wait behind them: each time the limit is full it is full for 2 s. */
TEST_ONCE(silent_handshakes_hold_up_others_for_two_seconds_each_time)
{
	FL_AUTO(town) struct town town = { 0 };

	OK(found_with(&town, boot_paced_house));
	dial(town.a, town.host, 443, 2 * FEW_HANDSHAKES, FL_S(""));
	PASS(100 * FL_NS_PER_MS);
	CHECK_INT(fl_http_server_conns(town.house->server), FEW_HANDSHAKES);
	OK_ERR(call_tls(town.b), &town.b->err);
	PASS(4 * FL_NS_PER_S);
	CHECK_INT(town.b->done, 1);
	CHECK_INT(town.b->call.op.result, 200);
	PASS(FL_HTTP_HANDSHAKE_PATIENCE);
	CHECK_INT(open_lines(town.a), 0);
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
