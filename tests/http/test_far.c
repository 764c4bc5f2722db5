/* Client and server on two hosts of the simulated world, where networks are cut and time costs nothing. */
#include "base/units.h"
#include "http/client.h"
#include "http/server.h"
#include "sim/sim.h"
#include "test.h"

/* ---- a server that holds /hold and answers the rest ---- */

struct far {
	struct fl_io *io;
	struct fl_http_server *server;
	struct fl_http_client *client;
	struct fl_http_call call;
	struct fl_err err;
	int done, gone;
};

static void far_gone(void *self)
{
	struct far *far = self;

	fl_http_call_auto_(&far->call);
	fl_http_client_free(far->client);
	fl_http_server_free(far->server);
	fl_free(far);
}

static void on_gone(void *arg)
{
	((struct far *)arg)->gone++;
}

static void do_hold(struct fl_http_req *req)
{
	static const struct fl_http_req_user user = { .gone = on_gone };

	fl_http_req_on(req, &user, fl_http_req_service(req));
	fl_http_req_begin(req, 200, FL_NO_HEADERS, -1);
	fl_http_req_send(req, FL_S("event"));
}

static void do_echo(struct fl_http_req *req)
{
	fl_http_req_answer(req, 200, FL_NO_HEADERS, fl_http_req_body(req));
}

static const struct fl_http_route routes[] = { { "GET", "/hold", do_hold, 0, false },
					       { "POST", "/echo", do_echo, 0, false } };

static int boot_server(struct sim_process *process)
{
	struct far *far = fl_zalloc(sizeof *far);
	struct fl_http_server_options options = { .routes = routes, .route_count = FL_LEN(routes), .service = far };
	struct fl_addr addr = sim_addr(sim_host_of(process), 80);

	if (!far)
		return -FL_E_NOMEM;
	sim_own(process, far, far_gone);
	*(struct far **)sim_arg(process) = far;
	far->io = sim_io(process);
	far->server = fl_http_server_new(far->io, &options, &far->err);
	return far->server ? fl_http_server_listen(far->server, &addr, 0, NULL, NULL, &far->err) : -FL_E_NOMEM;
}

static void on_done(struct fl_op *op)
{
	fl_container(fl_container(op, struct fl_http_call, op), struct far, call)->done++;
}

static int boot_client(struct sim_process *process)
{
	struct far *far = fl_zalloc(sizeof *far);
	struct fl_http_client_options options = { .url = FL_S("http://server:80"), .plain_h2 = true,
						  .ping_every = 10 * FL_NS_PER_S, .ping_within = 5 * FL_NS_PER_S };

	if (!far)
		return -FL_E_NOMEM;
	sim_own(process, far, far_gone);
	*(struct far **)sim_arg(process) = far;
	far->io = sim_io(process);
	far->client = fl_http_client_new(far->io, &options, &far->err);
	far->call = (struct fl_http_call){ .op = { .done = on_done, .err = &far->err }, .method = FL_S("GET"),
					   .target = FL_S("/hold") };
	return far->client ? 0 : -FL_E_NOMEM;
}

struct two {
	struct sim_world *world;
	struct sim_host *server_host, *client_host;
	struct far *server, *client;
};

static void two_auto_(struct two *two)
{
	sim_world_free(two->world);
}

static int meet(struct two *two, struct sim_config config)
{
	config.seed = test_random();
	config.refuse = test_refuse_io;
	two->world = sim_world_new(&config);
	two->server_host = sim_host_new(two->world, "server", boot_server, &two->server);
	two->client_host = sim_host_new(two->world, "client", boot_client, &two->client);
	sim_run(two->world, FL_NS_PER_MS);
	return test_tortured() || !two->server || !two->client ? -FL_E_NOMEM : 0;
}

TEST(a_silent_network_is_found_out)
{
	FL_AUTO(two) struct two two = { 0 };
	uint64_t turns;

	OK(meet(&two, (struct sim_config){ 0 }));
	fl_http_start(two.client->client, &two.client->call);
	sim_run(two.world, FL_NS_PER_S);
	turns = fl_io_turns(two.client->io)->count;
	sim_run(two.world, 59 * FL_NS_PER_S);
	OK(test_tortured() ? -FL_E_IO : 0);
	CHECK_INT(two.client->done, 0); /* a quiet watch is asked after, and lives */
	CHECK_INT(fl_io_turns(two.client->io)->count - turns, 1 + 5 * 3);   /* a PING: due, written, answered */
	CHECK_INT(two.client->call.status, 200);
	sim_cut(two.server_host, two.client_host, true);
	sim_run(two.world, 76 * FL_NS_PER_S);
	OK(test_tortured() ? -FL_E_IO : 0);
	CHECK_INT(two.client->done, 1);
	CHECK_INT(two.client->call.op.result, -FL_E_CLOSED);
	CHECK(strstr(two.client->err.text, "does not answer a PING"));
}

TEST(a_server_that_crashes_is_told_and_found_again)
{
	FL_AUTO(two) struct two two = { 0 };

	OK(meet(&two, (struct sim_config){ 0 }));
	fl_http_start(two.client->client, &two.client->call);
	sim_run(two.world, FL_NS_PER_S);
	sim_crash(two.server_host);
	sim_start(two.server_host);
	sim_run(two.world, 30 * FL_NS_PER_S);
	OK(test_tortured() ? -FL_E_IO : 0);
	CHECK_INT(two.client->done, 1);
	two.client->call.method = FL_S("POST");
	two.client->call.target = FL_S("/echo");
	two.client->call.body = FL_S("abc");
	fl_http_start(two.client->client, &two.client->call);
	sim_run(two.world, 40 * FL_NS_PER_S);
	OK(test_tortured() ? -FL_E_IO : 0);
	CHECK_INT(two.client->done, 2);
	CHECK_INT(two.client->call.op.result, 200);
	CHECK_STR(fl_buf_view(&two.client->call.reply), "abc");
}

/* Bytes come in odd pieces and connections break at random: a call ends well or is told, and never stays. */
TEST(on_a_bad_network_every_call_ends)
{
	FL_AUTO(two) struct two two = { 0 };
	static char body[20000];
	int good = 0, bad = 0;

	OK(meet(&two, (struct sim_config){ .short_io = 500000, .reset = 20000 }));
	for (int i = 0; i < 50; i++) {
		two.client->done = 0;
		two.client->call.method = FL_S("POST");
		two.client->call.target = FL_S("/echo");
		two.client->call.body = (struct fl_str){ body, sizeof body };
		two.client->call.op.deadline = 0;
		fl_http_start(two.client->client, &two.client->call);
		sim_run(two.world, sim_now(two.world) + 60 * FL_NS_PER_S);
		OK(test_tortured() ? -FL_E_IO : 0);
		CHECK_INT(two.client->done, 1);
		good += two.client->call.op.result == 200 && two.client->call.reply.len == sizeof body;
		bad += two.client->call.op.result < 0;
	}
	CHECK_INT(good + bad, 50);
	CHECK(good > 10 && bad > 0);
}
