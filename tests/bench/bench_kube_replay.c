/* kube_replay - an API server that has Pods and nothing else, for bench_kube: the same bytes for every client.
 *
 *     kube_replay PODS EVENTS list|stream CA-FILE
 *
 * It prints "ready PORT BYTES" and serves TLS, HTTP/2 first, until its stdin ends. Pages are made before anybody asks.
 * `list` serves pages and does not know initial events, as servers before 1.32; `stream` serves initial events. A watch
 * is sent so many events, one each millisecond. The resourceVersion of an event is the time, CLOCK_MONOTONIC in
 * nanoseconds, at which it was handed to the connection, so whoever gets it knows how long it took.
 */
#include "base/units.h"
#include "bench_kube_pod.h"
#include "certs.h"
#include "http/server.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAGE = 500, PER_NODE = 8 };
#define EVENT_EVERY FL_NS_PER_MS
#define LIST_VERSION 1000000

struct replay {
	struct fl_io *io;
	bool stream;
	uint32_t pods, events, block_count;
	struct fl_chunk **blocks;      /* PAGE objects each, as they stand in a list or in a stream */
	uint64_t bytes;
	struct fl_poll in;
};

/* A watch that is on. */
struct watch {
	struct fl_http_req *req;
	struct replay *replay;
	struct fl_timer timer;
	struct fl_buf text;
	uint32_t sent;
};

#define AS_JSON FL_HEADERS({ FL_S("content-type"), FL_S("application/json") })

static void die(const char *what, const struct fl_err *err)
{
	(void)fprintf(stderr, "kube_replay: %s: %s\n", what, err->text);
	exit(1);
}

/* ---- what is there ---- */

static void make_block(struct replay *replay, uint32_t block, struct fl_buf *text)
{
	struct fl_err err = { 0 };

	fl_buf_clear(text);
	for (uint32_t i = block * PAGE; i < replay->pods && i < (block + 1) * PAGE; i++) {
		struct bench_pod pod = { i, i + 1, true, replay->stream };

		fl_buf_str(text, replay->stream ? FL_S("{\"type\":\"ADDED\",\"object\":") :
				 i % PAGE       ? FL_S(",") :
						  FL_S(""));
		bench_pod_put(text, &pod);
		fl_buf_str(text, replay->stream ? FL_S("}\n") : FL_S(""));
	}
	if (fl_buf_check(text, "a page", &err) < 0)
		die("pages", &err);
	replay->blocks[block] = fl_chunk_new(fl_buf_view(text));
	if (!replay->blocks[block])
		die("pages", &(struct fl_err){ .text = "no memory" });
	replay->bytes += text->len;
}

static void make(struct replay *replay)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(64 * FL_MIB);

	replay->block_count = (replay->pods + PAGE - 1) / PAGE;
	replay->blocks = fl_zalloc_n(replay->block_count, sizeof *replay->blocks);
	if (!replay->blocks)
		die("pages", &(struct fl_err){ .text = "no memory" });
	for (uint32_t i = 0; i < replay->block_count; i++)
		make_block(replay, i, &text);
}

/* ---- what is asked ---- */

static struct fl_str param(struct fl_str query, const char *name)
{
	struct fl_str pair, key, none = { 0 };

	while (fl_str_split(&query, '&', &pair))
		if (fl_str_split(&pair, '=', &key) && fl_str_eq(key, fl_str(name)))
			return pair.p ? pair : FL_S("");
	return none;
}

static bool is_set(struct fl_str query, const char *name)
{
	struct fl_str value = param(query, name);

	return fl_str_eq(value, FL_S("true")) || fl_str_eq(value, FL_S("1"));
}

/* Pages of PAGE objects; without a limit all of them at once. */
static void list(struct fl_http_req *req, const struct replay *replay, struct fl_str query)
{
	int64_t limit = 0, first = 0;
	char text[300] = "";
	struct fl_buf around = FL_BUF_IN(text);
	uint32_t end;

	(void)fl_str_i64(param(query, "limit"), &limit);
	(void)fl_str_i64(param(query, "continue"), &first);
	if ((limit && limit != PAGE) || first < 0 || first >= replay->block_count) {
		fl_http_req_say(req, 400, "pages have %d Pods here", PAGE);
		return;
	}
	end = limit ? (uint32_t)first + 1 : replay->block_count;
	fl_buf_printf(&around, "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"%d\"",
		      LIST_VERSION);
	if (end < replay->block_count)
		fl_buf_printf(&around, ",\"continue\":\"%u\",\"remainingItemCount\":%u", end,
			      replay->pods - end * PAGE);
	fl_buf_str(&around, FL_S("},\"items\":["));
	fl_http_req_begin(req, 200, AS_JSON, -1);
	fl_http_req_send(req, fl_buf_view(&around));
	for (uint32_t i = (uint32_t)first; i < end; i++) {
		fl_http_req_send(req, i > first ? FL_S(",") : FL_S(""));
		fl_http_req_send_chunk(req, replay->blocks[i]);
	}
	fl_http_req_send(req, FL_S("]}\n"));
	fl_http_req_end(req, FL_NO_HEADERS);
}

static void watch_gone(void *arg)
{
	struct watch *watch = arg;

	fl_timer_stop(watch->replay->io, &watch->timer);
	fl_buf_free(&watch->text);
	fl_free(watch);
}

/* One Pod of each node in turn, so that no two events that follow each other are about the same node. */
static void next_event(struct fl_timer *timer)
{
	struct watch *watch = fl_container(timer, struct watch, timer);
	uint32_t nodes = watch->replay->pods / PER_NODE, round = watch->sent / nodes;
	struct bench_pod pod = { watch->sent % nodes * PER_NODE, 0, round % 2 == 1, true };
	struct timespec now;

	if (watch->sent++ == watch->replay->events)
		return;
	fl_timer_set(watch->replay->io, timer, fl_now(watch->replay->io) + EVENT_EVERY);
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	pod.version = (uint64_t)now.tv_sec * FL_NS_PER_S + (uint64_t)now.tv_nsec;
	fl_buf_clear(&watch->text);
	fl_buf_str(&watch->text, FL_S("{\"type\":\"MODIFIED\",\"object\":"));
	bench_pod_put(&watch->text, &pod);
	fl_buf_str(&watch->text, FL_S("}\n"));
	fl_http_req_send(watch->req, fl_buf_view(&watch->text));
}

static void watch(struct fl_http_req *req, struct replay *replay, bool initial)
{
	static const struct fl_http_req_user user = { .gone = watch_gone };
	struct watch *watch = fl_zalloc(sizeof *watch);
	char text[300];

	if (!watch)
		die("a watch", &(struct fl_err){ .text = "no memory" });
	*watch = (struct watch){ .req = req, .replay = replay, .timer.fire = next_event,
				 .text = FL_BUF(64 * FL_KIB) };
	fl_http_req_on(req, &user, watch);
	fl_http_req_begin(req, 200, AS_JSON, -1);
	if (initial) {
		for (uint32_t i = 0; i < replay->block_count; i++)
			fl_http_req_send_chunk(req, replay->blocks[i]);
		(void)snprintf(text, sizeof text,
			       "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\","
			       "\"metadata\":{\"resourceVersion\":\"%d\","
			       "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n",
			       LIST_VERSION);
		fl_http_req_send(req, fl_str(text));
	}
	/* Events are about a client at rest: until then it has read what is there. */
	fl_timer_set(replay->io, &watch->timer, fl_now(replay->io) + FL_NS_PER_S / 2);
}

static void pods(struct fl_http_req *req)
{
	struct replay *replay = fl_http_req_service(req);
	struct fl_str query = fl_http_req_query(req);
	bool initial = is_set(query, "sendInitialEvents");

	if (!is_set(query, "watch"))
		list(req, replay, query);
	else if (initial && !replay->stream)
		fl_http_req_answer(req, 422, AS_JSON,
				   FL_S("{\"kind\":\"Status\",\"apiVersion\":\""
					"v1\",\"status\":\"Failure\",\"reason\":\"Invalid\","
					"\"message\":\"sendInitialEvents is forbidden\",\"code\":422}"));
	else
		watch(req, replay, initial);
}

/* ---- the program ---- */

static void stdin_ready(struct fl_poll *poll, unsigned what)
{
	struct replay *replay = fl_container(poll, struct replay, in);
	char bytes[64];

	(void)what;
	if (fl_read(replay->io, 0, bytes, sizeof bytes) != -FL_E_AGAIN)
		fl_io_stop(replay->io);
}

static void write_ca(const char *path, const char *pem)
{
	FILE *file = fopen(path, "w");

	if (!file || fputs(pem, file) < 0 || fclose(file) != 0)
		die(path, &(struct fl_err){ .text = "cannot be written" });
}

static void serve(struct replay *replay, const struct test_certs *certs)
{
	static const struct fl_http_route routes[] = { { "GET", "/api/v1/pods", pods, 0, false } };
	struct fl_http_server_options options = { .routes = routes, .route_count = FL_LEN(routes), .service = replay,
						  .max_queue = 4096 * (size_t)FL_MIB };
	struct fl_tls_config config = { .server = true, .peer = FL_TLS_PEER_TRUST, .cert = fl_str(certs->server.cert),
					.key = fl_str(certs->server.key) };
	struct fl_err err = { 0 };
	FL_AUTO(fl_http_server) struct fl_http_server *server = fl_http_server_new(replay->io, &options, &err);
	FL_AUTO(fl_tls_context) struct fl_tls_context *tls =
		server ? fl_tls_context_new(&config, fl_wall(replay->io), &err) : NULL;
	struct fl_addr addr;

	if (!tls || fl_addr_parse(&addr, FL_S("127.0.0.1:0"), &err) < 0 ||
	    fl_http_server_listen(server, &addr, 0, tls, &addr, &err) < 0 ||
	    fl_poll_set(replay->io, &replay->in, FL_READABLE, &err) < 0)
		die("server", &err);
	(void)printf("ready %u %llu\n", addr.port, (unsigned long long)replay->bytes);
	(void)fflush(stdout);
	if (fl_io_run(replay->io, &err) < 0)
		die("server", &err);
	fl_poll_stop(replay->io, &replay->in);
}

int main(int argc, char **argv)
{
	const struct test_certs *certs = test_certs();
	struct fl_err err = { 0 };
	FL_AUTO(fl_io) struct fl_io *io = fl_posix_new(&err);
	struct replay replay = { .io = io, .in = { .ready = stdin_ready, .fd = 0 } };

	if (argc != 5 || !io || !certs) {
		(void)fprintf(stderr, "usage: kube_replay PODS EVENTS list|stream CA-FILE\n");
		return 2;
	}
	replay.pods = (uint32_t)strtoul(argv[1], NULL, 10);
	replay.events = (uint32_t)strtoul(argv[2], NULL, 10);
	replay.stream = strcmp(argv[3], "stream") == 0;
	make(&replay);
	write_ca(argv[4], certs->ca.cert);
	serve(&replay, certs);
	for (uint32_t i = 0; i < replay.block_count; i++)
		fl_chunk_free(replay.blocks[i]);
	fl_free(replay.blocks);
	return 0;
}
