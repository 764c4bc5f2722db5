/* The API server on a port of the simulated world: writers and a watcher on hosts of their own, a network that breaks,
 * a server that forgets and throttles. What the watcher knows in the end is what the server has, and the same seed
 * tells the same story. */
#include "api/core.h"
#include "base/units.h"
#include "kube/watch.h"
#include "local/server.h"
#include "sim/sim.h"
#include "test.h"

enum { WRITERS = 4, WINDOW = 32, SEEDS = 50 };
#define WRITING (20 * FL_NS_PER_S)
#define SETTLED (120 * FL_NS_PER_S)

struct number {
	bool there;
	char text[24];
};

struct server {
	struct town *town;
	struct fl_api *api;
	struct fl_api_server *http;
	struct fl_err err;
};

struct client {
	struct town *town;
	struct fl_io *io;
	struct fl_kube_config config;
	char url[FL_ADDR_TEXT + 8];
	struct fl_kube *kube;
	struct fl_err err;
	/* A writer. */
	struct fl_kube_call call;
	struct fl_timer next;
	char name[8], body[200];
	unsigned id, sent, acknowledged;
	/* The watcher. */
	struct fl_watch *watch;
	bool seen[WRITERS];
};

struct town {
	struct sim_world *world;
	struct sim_host *host, *watching;
	struct server *server;
	struct client *writers[WRITERS];
	struct number known[WRITERS];
	unsigned begun;
};

static void server_gone(void *self)
{
	struct server *server = self;

	server->town->server = NULL;
	fl_api_server_free(server->http);
	fl_api_free(server->api);
	fl_free(server);
}

static int boot_server(struct sim_process *process)
{
	struct server *server = fl_zalloc(sizeof *server);
	struct fl_addr addr = sim_addr(sim_host_of(process), 80);
	struct fl_api_options options = { .seed = { 1, 2 }, .window = WINDOW };

	if (!server)
		return -FL_E_NOMEM;
	server->town = sim_arg(process);
	sim_own(process, server, server_gone);
	server->api = fl_api_new(&options, fl_wall(sim_io(process)) / 1000, &server->err);
	server->http = server->api ? fl_api_serve(sim_io(process), server->api, &addr, NULL, NULL, &server->err) : NULL;
	if (!server->http)
		return -FL_E_NOMEM;
	server->town->server = server;
	return 0;
}

static void client_gone(void *self)
{
	struct client *client = self;

	fl_timer_stop(client->io, &client->next);
	fl_op_cancel(&client->call.op);
	fl_watch_free(client->watch);
	fl_kube_free(client->kube);
	fl_free(client);
}

static struct client *new_client(struct sim_process *process)
{
	struct client *client = fl_zalloc(sizeof *client);
	struct fl_addr addr;
	char text[FL_ADDR_TEXT];

	if (!client)
		return NULL;
	client->io = sim_io(process);
	client->town = sim_arg(process);
	sim_own(process, client, client_gone);
	addr = sim_addr(client->town->host, 80);
	text[fl_addr_print(&addr, text).len] = '\0';
	(void)snprintf(client->url, sizeof client->url, "http://%s", text);
	client->config = (struct fl_kube_config){ .source = FL_S("the test"), .server = fl_str(client->url),
						  .space = FL_S("default") };
	client->kube = fl_kube_new(client->io, &(struct fl_kube_options){ .config = &client->config }, &client->err);
	return client->kube ? client : NULL;
}

/* ---- who writes ---- */

static void write_next(struct fl_timer *timer)
{
	struct client *client = fl_container(timer, struct client, next);
	int len;

	if (fl_now(client->io) > WRITING)
		return;
	if (client->sent == client->acknowledged)
		client->sent++;          /* else the last one again: it may not have arrived */
	len = snprintf(client->body, sizeof client->body,
		       "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\"},"
		       "\"data\":{\"n\":\"%u\"}}",
		       client->name, client->sent);
	client->call.body = (struct fl_str){ client->body, (uint32_t)len };
	fl_kube_start(client->kube, &client->call);
}

static void written(struct fl_op *op)
{
	struct client *client = fl_container(fl_container(op, struct fl_kube_call, op), struct client, call);

	if (op->result == 200 || op->result == 201)
		client->acknowledged = client->sent;
	fl_timer_set(client->io, &client->next,
		     fl_now(client->io) + sim_random(client->town->world) % (40 * FL_NS_PER_MS));
}

static int boot_writer(struct sim_process *process)
{
	struct client *client = new_client(process);
	unsigned id = 0;

	if (!client)
		return -FL_E_NOMEM;
	while (client->town->writers[id])
		id++;
	client->id = id;
	client->town->writers[id] = client;
	(void)snprintf(client->name, sizeof client->name, "w-%u", id);
	client->call = (struct fl_kube_call){ .op = { .done = written, .err = &client->err }, .verb = FL_KUBE_APPLY,
		.kind = &fl_config_map_kind, .space = FL_S("default"), .name = fl_str(client->name), .force = true };
	client->next.fire = write_next;
	fl_timer_set(client->io, &client->next, fl_now(client->io));
	return 0;
}

/* ---- who watches ---- */

static void watch_begin(void *arg)
{
	struct client *client = arg;

	client->town->begun++;
	memset(client->seen, 0, sizeof client->seen);
}

static int watch_put(void *arg, const void *object, struct fl_err *err)
{
	const struct fl_config_map *map = object;
	struct client *client = arg;
	unsigned id = (unsigned)map->meta.name.p[2] - '0';

	(void)err;
	if (!fl_str_starts(map->meta.name, FL_S("w-")))
		return 0;
	client->seen[id] = client->town->known[id].there = true;
	if (map->data.len == 1)
		(void)snprintf(client->town->known[id].text, sizeof client->town->known[id].text, "%.*s",
			       (int)map->data.at[0].value.len, map->data.at[0].value.p);
	return 0;
}

static void watch_gone(void *arg, struct fl_str space, struct fl_str name)
{
	struct client *client = arg;

	(void)space;
	if (fl_str_starts(name, FL_S("w-")))
		client->town->known[name.p[2] - '0'].there = false;
}

static void watch_synced(void *arg)
{
	struct client *client = arg;

	for (unsigned i = 0; i < WRITERS; i++)
		client->town->known[i].there = client->seen[i];
}

static void watch_absent(void *arg)
{
	(void)arg;
}

static int boot_watcher(struct sim_process *process)
{
	static const struct fl_watch_to to = { .begin = watch_begin, .put = watch_put, .gone = watch_gone,
					       .synced = watch_synced, .absent = watch_absent };
	struct client *client = new_client(process);

	if (!client)
		return -FL_E_NOMEM;
	client->watch = fl_watch_new(client->kube, &(struct fl_watch_options){ .kind = &fl_config_map_kind, .to = &to,
		.arg = client }, &client->err);
	return client->watch ? 0 : -FL_E_NOMEM;
}

/* ---- what happens to them ---- */

static void cut(void *arg)
{
	struct town *town = arg;

	sim_cut(town->host, town->watching, true);
}

static void heal(void *arg)
{
	struct town *town = arg;

	sim_cut(town->host, town->watching, false);
}

static void break_all(void *arg)
{
	sim_reset_all(((struct town *)arg)->host);
}

static void forget(void *arg)
{
	struct town *town = arg;

	if (town->server)
		fl_api_compact(town->server->api);
}

static void throttle(void *arg)
{
	struct town *town = arg;

	if (town->server)
		fl_api_throttle(town->server->api, 20, 1);
}

static struct sim_world *tell(uint64_t seed, struct town *town)
{
	struct sim_world *w = sim_world_new(&(struct sim_config){ .seed = seed, .trace = true, .short_io = 50000,
								  .reset = 1000 });

	*town = (struct town){ .world = w };
	town->host = sim_host_new(w, "server", boot_server, town);
	sim_run(w, 10 * FL_NS_PER_MS);
	town->watching = sim_host_new(w, "watching", boot_watcher, town);
	for (unsigned i = 0; i < WRITERS; i++) {
		char name[8] = { 'w', (char)('0' + i) };

		(void)sim_host_new(w, name, boot_writer, town);
	}
	sim_at(w, 3 * FL_NS_PER_S, cut, town);
	sim_at(w, 6 * FL_NS_PER_S, heal, town);
	sim_at(w, 9 * FL_NS_PER_S, break_all, town);
	sim_at(w, 12 * FL_NS_PER_S, throttle, town);
	sim_at(w, 14 * FL_NS_PER_S, forget, town);
	sim_at(w, 14 * FL_NS_PER_S + 1, break_all, town);
	sim_run(w, SETTLED);
	return w;
}

TEST_ONCE(a_watcher_knows_in_the_end_what_the_server_has)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct town town;
		FL_AUTO(sim_world) struct sim_world *w = tell(seed, &town);

		CHECK(w && town.begun > 1);          /* it was made to begin anew */
		for (unsigned i = 0; i < WRITERS; i++) {
			char sent[24];

			(void)snprintf(sent, sizeof sent, "%u", town.writers[i]->sent);
			CHECK(town.writers[i]->acknowledged > 100);
			CHECK_INT(town.writers[i]->acknowledged, town.writers[i]->sent);
			CHECK(town.known[i].there);
			CHECK_STR(fl_str(town.known[i].text), sent);
		}
	}
}

TEST_ONCE(the_same_seed_tells_the_same_story)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct town first, second;
		FL_AUTO(sim_world) struct sim_world *a = tell(seed, &first);
		FL_AUTO(sim_world) struct sim_world *b = tell(seed, &second);

		CHECK(sim_trace(a).len > 1000);
		CHECK(fl_str_eq(sim_trace(a), sim_trace(b)));
	}
}
