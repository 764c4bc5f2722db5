#include "town.h"
#include "certs.h"
#include "http/server.h"
#include "test.h"

enum { MUCH = 256 << 10 };

/* ---- the server ---- */

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

static int boot(struct sim_process *process, uint32_t conns, uint32_t handshakes)
{
	struct house *house = fl_zalloc(sizeof *house);
	struct fl_http_server_options options = { .routes = routes, .route_count = FL_LEN(routes),
						  .max_conns = conns,
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
	return boot(process, PLACES, PLACES);
}

int boot_paced_house(struct sim_process *process)
{
	return boot(process, PLACES, FEW_HANDSHAKES);
}

int boot_large_paced_house(struct sim_process *process)
{
	return boot(process, 2 * LINES, FEW_HANDSHAKES);
}

/* ---- those who come ---- */

void hear(struct line *line, size_t most)
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
void dial(struct guest *guest, struct sim_host *to, uint16_t port, unsigned count, struct fl_str says)
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

void town_auto_(struct town *town)
{
	sim_world_free(town->world);
}

int found_with(struct town *town, sim_main house)
{
	struct sim_config config = { .seed = test_random(), .refuse = test_refuse_io };

	town->world = sim_world_new(&config);
	town->host = sim_host_new(town->world, "server", house, &town->house);
	(void)sim_host_new(town->world, "a", boot_guest, &town->a);
	(void)sim_host_new(town->world, "b", boot_guest, &town->b);
	(void)sim_host_new(town->world, "c", boot_guest, &town->c);
	(void)sim_host_new(town->world, "d", boot_guest, &town->d);
	(void)sim_host_new(town->world, "e", boot_guest, &town->e);
	sim_run(town->world, FL_NS_PER_MS);
	if (test_tortured() || !town->house)
		return -FL_E_NOMEM;
	return town->a && town->b && town->c && town->d && town->e ? 0 : -FL_E_NOMEM;
}

int found(struct town *town)
{
	return found_with(town, boot_house);
}

void pass(struct town *town, uint64_t time)
{
	sim_run(town->world, sim_now(town->world) + time);
}

bool got(const struct guest *guest, unsigned line, const char *text)
{
	return guest && strstr(guest->lines[line].said, text);
}

unsigned open_lines(const struct guest *guest)
{
	unsigned count = 0;

	for (unsigned i = 0; i < guest->count; i++)
		count += !guest->lines[i].over;
	return count;
}

static void on_done(struct fl_op *op)
{
	fl_container(fl_container(op, struct fl_http_call, op), struct guest, call)->done++;
}

int call_tls(struct guest *guest)
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
