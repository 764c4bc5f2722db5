/* The simulator itself: the same seed gives the same world, and what breaks breaks as it does outside. */
#include "base/units.h"
#include "sim/sim.h"
#include "test.h"
#include "test_io.h"
#include <stdio.h>

static const struct sim_config plain = { .seed = 1, .trace = true };

/* ---- an echo server and clients that ask it again and again ---- */

struct server {
	struct fl_io *io;
	struct fl_poll poll;
	struct talk *talks;
	struct fl_child_start start;
};

struct talk {
	struct server *server;
	struct fl_poll poll;
	struct talk *next;
};

static void server_gone(void *self)
{
	struct server *server = self;

	fl_op_cancel(&server->start.op);
	fl_child_free(server->start.child);
	fl_poll_stop(server->io, &server->poll);
	fl_close(server->io, server->poll.fd);
	for (struct talk *talk = server->talks, *next; talk; talk = next) {
		next = talk->next;
		fl_poll_stop(server->io, &talk->poll);
		fl_close(server->io, talk->poll.fd);
		fl_free(talk);
	}
	fl_free(server);
}

static void talk_ready(struct fl_poll *poll, unsigned what)
{
	struct talk *talk = fl_container(poll, struct talk, poll);
	struct fl_io *io = talk->server->io;
	char bytes[64];
	int64_t n = fl_read(io, poll->fd, bytes, sizeof bytes);

	(void)what;
	if (n == -FL_E_AGAIN)
		return;
	if (n > 0 && fl_write(io, poll->fd, bytes, (size_t)n) == n)
		return;
	fl_poll_stop(io, poll);
	fl_close(io, poll->fd);
	poll->fd = -1;
}

static void server_ready(struct fl_poll *poll, unsigned what)
{
	struct server *server = fl_container(poll, struct server, poll);
	int fd = fl_accept(server->io, poll->fd, NULL, NULL);
	struct talk *talk;

	(void)what;
	if (fd < 0)
		return;
	talk = fl_zalloc(sizeof *talk);
	if (talk) {
		talk->server = server;
		talk->poll = (struct fl_poll){ .ready = talk_ready, .fd = fd };
	}
	if (!talk || fl_poll_set(server->io, &talk->poll, FL_READABLE, NULL) < 0) {
		fl_close(server->io, fd);
		fl_free(talk);
		return;
	}
	talk->next = server->talks;
	server->talks = talk;
}

static int server_main(struct sim_process *p)
{
	struct server *server = fl_zalloc(sizeof *server);
	const struct fl_addr *at = sim_arg(p);
	struct fl_addr addr = { .kind = FL_ADDR_IP4, .port = 80 };

	if (!server)
		return -FL_E_NOMEM;
	server->io = sim_io(p);
	server->poll.ready = server_ready;
	sim_own(p, server, server_gone);
	server->poll.fd = fl_listen(server->io, at ? at : &addr, 0600, NULL);
	if (server->poll.fd < 0)
		return server->poll.fd;
	return fl_poll_set(server->io, &server->poll, FL_READABLE, NULL);
}

struct client {
	struct fl_io *io;
	struct sim_process *process;
	struct fl_connect connect;
	struct fl_timer again;
	struct fl_poll poll;
	struct count *count;
};

struct count {
	struct fl_addr to;
	unsigned answers, connects, failures;
	enum fl_code last;
};

static void client_gone(void *self)
{
	struct client *client = self;

	fl_op_cancel(&client->connect.op);
	fl_timer_stop(client->io, &client->again);
	fl_poll_stop(client->io, &client->poll);
	fl_close(client->io, client->poll.fd);
	fl_free(client);
}

static void connect_again(struct client *client);

static void lost(struct client *client, int64_t why)
{
	client->count->failures++;
	client->count->last = (enum fl_code)-why;
	sim_note(client->process, "lost: %s", fl_name(&fl_code_names, (int)-why));
	fl_poll_stop(client->io, &client->poll);
	fl_close(client->io, client->poll.fd);
	client->poll.fd = -1;
	fl_timer_stop(client->io, &client->again);
	fl_timer_set(client->io, &client->again, fl_now(client->io) + 100 * FL_NS_PER_MS);
}

static void ask(struct fl_timer *timer)
{
	struct client *client = fl_container(timer, struct client, again);
	int64_t n;

	if (client->poll.fd < 0) {
		connect_again(client);
		return;
	}
	n = fl_write(client->io, client->poll.fd, "ask", 3);
	if (n < 0 && n != -FL_E_AGAIN)
		lost(client, n);
	else
		fl_timer_set(client->io, timer, fl_now(client->io) + 10 * FL_NS_PER_MS);
}

static void answered(struct fl_poll *poll, unsigned what)
{
	struct client *client = fl_container(poll, struct client, poll);
	char bytes[64];
	int64_t n = fl_read(client->io, poll->fd, bytes, sizeof bytes);

	(void)what;
	if (n > 0)
		client->count->answers += (unsigned)n;
	else if (n != -FL_E_AGAIN)
		lost(client, n ? n : -FL_E_CLOSED);
}

static void connected(struct fl_op *op)
{
	struct client *client = fl_container(op, struct client, connect.op);

	if (op->result < 0) {
		lost(client, op->result);
		return;
	}
	client->count->connects++;
	client->poll.fd = (int)op->result;
	if (fl_poll_set(client->io, &client->poll, FL_READABLE, NULL) < 0)
		lost(client, -FL_E_IO);
	else
		fl_timer_set(client->io, &client->again, 0);
}

static void connect_again(struct client *client)
{
	client->connect.op.deadline = fl_now(client->io) + 2 * FL_NS_PER_S;
	fl_connect(client->io, &client->connect);
}

static int client_main(struct sim_process *p)
{
	struct client *client = fl_zalloc(sizeof *client);

	if (!client)
		return -FL_E_NOMEM;
	client->io = sim_io(p);
	client->process = p;
	client->count = sim_arg(p);
	client->connect = (struct fl_connect){ .op.done = connected, .addr = client->count->to };
	client->again.fire = ask;
	client->poll = (struct fl_poll){ .ready = answered, .fd = -1 };
	sim_own(p, client, client_gone);
	connect_again(client);
	return 0;
}

/* A program that failed as it was told to has nothing more to say: that nothing leaks is what is looked at then. */
#define UNLESS_TORTURED() \
	do { \
		if (test_tortured()) \
			return; \
	} while (0)

/* ---- the same seed, the same world ---- */

struct story {
	struct sim_host *a, *b;
};

static void cut(void *arg)
{
	struct story *story = arg;

	sim_cut(story->a, story->b, true);
}

static void heal(void *arg)
{
	struct story *story = arg;

	sim_cut(story->a, story->b, false);
}

static void crash(void *arg)
{
	struct story *story = arg;

	sim_crash(story->a);
}

static void start(void *arg)
{
	struct story *story = arg;

	sim_start(story->a);
}

static struct sim_world *tell(struct sim_config config, struct count *count)
{
	struct sim_world *w = sim_world_new(&config);
	struct story story;

	story.a = sim_host_new(w, "a", server_main, NULL);
	*count = (struct count){ .to = sim_addr(story.a, 80) };
	story.b = sim_host_new(w, "b", client_main, count);
	sim_at(w, 1 * FL_NS_PER_S, cut, &story);
	sim_at(w, 2 * FL_NS_PER_S, heal, &story);
	sim_at(w, 5 * FL_NS_PER_S, crash, &story);
	sim_at(w, 6 * FL_NS_PER_S, start, &story);
	sim_run(w, 10 * FL_NS_PER_S);
	return w;
}

static struct sim_config rough(uint64_t seed)
{
	return (struct sim_config){ .seed = seed, .trace = true, .short_io = 100000, .reset = 2000 };
}

TEST(the_same_seed_gives_the_same_trace)
{
	struct count first, second;

	for (uint64_t seed = 1; seed <= 3; seed++) {
		FL_AUTO(sim_world) struct sim_world *a = tell(rough(seed), &first);
		FL_AUTO(sim_world) struct sim_world *b = tell(rough(seed), &second);

		UNLESS_TORTURED();
		CHECK(sim_trace(a).len > 1000);
		CHECK(fl_str_eq(sim_trace(a), sim_trace(b)));
		CHECK(first.answers > 500);
		CHECK_INT(first.answers, second.answers);
	}
}

TEST(another_seed_gives_another_trace)
{
	struct count count;
	FL_AUTO(sim_world) struct sim_world *a = tell(rough(1), &count);
	FL_AUTO(sim_world) struct sim_world *b = tell(rough(2), &count);

	UNLESS_TORTURED();
	CHECK(!fl_str_eq(sim_trace(a), sim_trace(b)));
}

/* ---- the network ---- */

TEST(a_cut_network_delays_and_a_crash_resets)
{
	struct count count;
	FL_AUTO(sim_world) struct sim_world *w = tell(plain, &count);

	UNLESS_TORTURED();
	/* The cut of a second loses nothing; the crash is told by a reset once the host is back. */
	CHECK_INT(count.failures, 1);
	CHECK_INT(count.last, FL_E_CLOSED);
	CHECK_INT(count.connects, 2);
	CHECK(count.answers > 3 * 500);
}

TEST(nobody_listens_nobody_is_there)
{
	struct count refused = { 0 }, nowhere = { 0 };
	FL_AUTO(sim_world) struct sim_world *w = sim_world_new(&plain);
	struct sim_host *a = sim_host_new(w, "a", server_main, NULL), *b;

	refused.to = sim_addr(a, 81);
	nowhere.to = (struct fl_addr){ .kind = FL_ADDR_IP4, .port = 80, .ip = { 10, 9, 9, 9 } };
	b = sim_host_new(w, "b", client_main, &refused);
	sim_run(w, FL_NS_PER_S / 20);
	UNLESS_TORTURED();
	CHECK_INT(refused.failures, 1);
	CHECK_INT(refused.last, FL_E_RETRY);
	sim_crash(b);
	(void)sim_host_new(w, "c", client_main, &nowhere);
	sim_run(w, FL_NS_PER_S / 10);
	UNLESS_TORTURED();
	CHECK_INT(nowhere.failures, 1);
}

TEST(a_connect_into_a_cut_network_ends_by_its_deadline)
{
	struct count count = { 0 };
	FL_AUTO(sim_world) struct sim_world *w = sim_world_new(&plain);
	struct sim_host *a = sim_host_new(w, "a", server_main, NULL), *b;

	count.to = sim_addr(a, 80);
	b = sim_host_new(w, "b", client_main, &count);
	sim_cut_one_way(a, b, true);
	sim_run(w, 1900 * FL_NS_PER_MS);
	UNLESS_TORTURED();
	CHECK_INT(count.failures, 0);
	sim_run(w, 2050 * FL_NS_PER_MS);
	CHECK_INT(count.failures, 1);
	CHECK_INT(count.last, FL_E_TIMEOUT);
	sim_cut(a, b, false);
	sim_run(w, 4000 * FL_NS_PER_MS);
	UNLESS_TORTURED();
	CHECK_INT(count.connects, 1);
}

TEST(a_hung_process_neither_answers_nor_resets)
{
	struct count count = { 0 };
	FL_AUTO(sim_world) struct sim_world *w = sim_world_new(&plain);
	struct sim_host *a = sim_host_new(w, "a", server_main, NULL);
	unsigned answers;

	count.to = sim_addr(a, 80);
	(void)sim_host_new(w, "b", client_main, &count);
	sim_run(w, FL_NS_PER_S);
	UNLESS_TORTURED();
	answers = count.answers;
	CHECK(answers > 200);
	sim_hang(sim_process_find(a, 1), false);
	sim_run(w, 2 * FL_NS_PER_S);
	CHECK(count.answers < answers + 10);
	CHECK_INT(count.failures, 0);
	sim_unhang(sim_process_find(a, 1));
	sim_run(w, 3 * FL_NS_PER_S);
	CHECK(count.answers > 2 * answers);
	sim_signal(sim_process_find(a, 1), 9);
	sim_run(w, 3 * FL_NS_PER_S + 10 * FL_NS_PER_MS);
	CHECK_INT(count.failures, 1);
	CHECK_INT((int)sim_process_count(a), 0);
}

/* Each call of the seam fails once: both programs live with that, or end; the world goes on and nothing is left. */
TEST(any_call_may_fail)
{
	struct sim_config config = { .seed = 1, .refuse = test_refuse_io };
	struct count count = { 0 };
	FL_AUTO(sim_world) struct sim_world *w = sim_world_new(&config);
	struct sim_host *a = sim_host_new(w, "a", server_main, NULL);

	count.to = sim_addr(a, 80);
	(void)sim_host_new(w, "b", client_main, &count);
	sim_run(w, FL_NS_PER_S / 4);
	UNLESS_TORTURED();
	CHECK(count.answers > 20);
}

/* ---- many ---- */

TEST_ONCE(hundreds_of_hosts_are_cheap)
{
	struct sim_config config = { .seed = 3 };
	struct count counts[300] = { 0 };
	FL_AUTO(sim_world) struct sim_world *w = sim_world_new(&config);
	struct sim_host *server = sim_host_new(w, "server", server_main, NULL);
	char name[20];

	for (unsigned i = 0; i < FL_LEN(counts); i++) {
		counts[i].to = sim_addr(server, 80);
		(void)snprintf(name, sizeof name, "client-%u", i);
		(void)sim_host_new(w, name, client_main, &counts[i]);
	}
	sim_run(w, FL_NS_PER_S);
	for (unsigned i = 0; i < FL_LEN(counts); i++)
		CHECK(counts[i].answers > 200);
	printf("# %llu events\n", (unsigned long long)sim_events(w));
}

/* ---- what else the seam promises ---- */

struct visitor {
	struct fl_io *io;
	struct fl_connect connect;
	struct fl_child_start start;
	struct fl_err err;
	int64_t connected, started;
	struct fl_cred cred;
	int64_t wall;
};

static void visitor_connected(struct fl_op *op)
{
	struct visitor *v = fl_container(op, struct visitor, connect.op);

	v->connected = op->result;
	if (op->result < 0)
		return;
	if (fl_peer_cred(v->io, (int)op->result, &v->cred, NULL) < 0)
		v->cred.pid = -1;
	v->wall = fl_wall(v->io);
	fl_close(v->io, (int)op->result);
}

static void visitor_started(struct fl_op *op)
{
	struct visitor *v = fl_container(op, struct visitor, start.op);

	v->started = op->result;
}

static void visitor_gone(void *self)
{
	struct visitor *v = self;

	fl_op_cancel(&v->connect.op);
	fl_op_cancel(&v->start.op);
}

/* A second process of the same host: by the path of a unix socket it reaches the first. */
static int visitor_main(struct sim_process *p)
{
	struct visitor *v = sim_arg(p);
	static const struct fl_addr addr = { .kind = FL_ADDR_UNIX, .path = "/run/server.sock" };

	v->io = sim_io(p);
	v->connect = (struct fl_connect){ .op = { .done = visitor_connected, .err = &v->err }, .addr = addr };
	v->start = (struct fl_child_start){ .op = { .done = visitor_started } };
	sim_own(p, v, visitor_gone);
	fl_connect(v->io, &v->connect);
	fl_child_start(v->io, &v->start, &(struct fl_spawn){ .path = "/bin/nothing" });
	return 0;
}

static int both_main(struct sim_process *p)
{
	struct fl_spawn how = { .path = "/bin/visitor" };
	struct server *server = fl_zalloc(sizeof *server);
	static const struct fl_addr addr = { .kind = FL_ADDR_UNIX, .path = "/run/server.sock" };

	if (!server)
		return -FL_E_NOMEM;
	server->io = sim_io(p);
	server->poll.ready = server_ready;
	sim_own(p, server, server_gone);
	server->poll.fd = fl_listen(server->io, &addr, 0600, NULL);
	if (server->poll.fd < 0 || fl_poll_set(server->io, &server->poll, FL_READABLE, NULL) < 0)
		return -FL_E_IO;
	server->start.op.done = test_op_done;
	fl_child_start(server->io, &server->start, &how);
	return 0;
}

TEST_ONCE(unix_sockets_know_the_peer_and_a_missing_program_does_not_start)
{
	struct visitor v = { 0 };
	FL_AUTO(sim_world) struct sim_world *w = sim_world_new(&plain);
	struct sim_host *host;

	sim_program(w, "/bin/visitor", visitor_main);
	host = sim_host_new(w, "a", both_main, &v);
	CHECK_INT(sim_file_put(host, "/run/x", "", 0), 0);
	sim_wall_step(host, -3600 * (int64_t)FL_NS_PER_S);
	sim_run(w, FL_NS_PER_S);
	CHECK(v.connected > 0);
	CHECK_INT(v.cred.pid, 1);
	CHECK_INT(v.started, -FL_E_NOTFOUND);
	CHECK(v.wall > 1767225600000000000 - 3601 * (int64_t)FL_NS_PER_S);
	CHECK(v.wall < 1767225600000000000 - 3598 * (int64_t)FL_NS_PER_S);
	sim_stop(host);
	CHECK_INT((int)sim_process_count(host), 0);
}

/* Two ends of one direction: what one sends arrives, what the other answers does not. */
TEST_ONCE(a_link_may_be_cut_one_way_and_connections_reset)
{
	struct count count = { 0 };
	FL_AUTO(sim_world) struct sim_world *w = sim_world_new(&plain);
	struct sim_host *a = sim_host_new(w, "a", server_main, NULL), *b;
	unsigned answers;

	count.to = sim_addr(a, 80);
	b = sim_host_new(w, "b", client_main, &count);
	sim_run(w, FL_NS_PER_S);
	sim_cut_one_way(a, b, true);
	sim_run(w, sim_now(w) + 5 * FL_NS_PER_MS);
	answers = count.answers;
	sim_run(w, sim_now(w) + 3 * FL_NS_PER_S);
	CHECK_INT(count.answers, answers);
	CHECK_INT(count.failures, 0);
	sim_cut_one_way(a, b, false);
	sim_run(w, sim_now(w) + 7 * FL_NS_PER_S);
	CHECK(count.answers > answers + 3 * 900);
	sim_reset_all(b);
	sim_run(w, sim_now(w) + FL_NS_PER_S);
	CHECK_INT(count.failures, 1);
	CHECK_INT(count.connects, 2);
}

/* For ever is a quarter of an hour: then the sender is told. */
TEST_ONCE(a_peer_that_never_answers_is_given_up)
{
	struct count count = { 0 };
	FL_AUTO(sim_world) struct sim_world *w = sim_world_new(&plain);
	struct sim_host *a = sim_host_new(w, "a", server_main, NULL);

	count.to = sim_addr(a, 80);
	(void)sim_host_new(w, "b", client_main, &count);
	sim_run(w, FL_NS_PER_S);
	sim_crash(a);
	sim_run(w, 100 * FL_NS_PER_S);
	CHECK_INT(count.failures, 0);
	sim_run(w, 1200 * FL_NS_PER_S);
	CHECK(count.failures > 0);
}
