/* Webhook-style POSTs over TLS and HTTP/2, so many in flight: requests for each second of the server's own CPU time,
 * and how long they take; and what an idle watch costs the server. The server is a process of its own, the client is
 * ours. */
#include "base/units.h"
#include "http/client.h"
#include "http/server.h"
#include "certs.h"
#include <stdio.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FLIGHT 8
#define CALLS 40000
#define WARM 4000
#define WATCHES 2000        /* over HTTP/2; a tenth of it over HTTP/1.1 */
#define REVIEW 3000         /* bytes of an AdmissionReview with a Pod in it */

static char review[REVIEW];
static const char verdict[] = "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"response\":"
			      "{\"uid\":"
			      "\"705ab4f5-6393-11e8-b7cc-42010a800002\",\"allowed\":true}}";

static void answer(struct fl_http_req *req)
{
	struct fl_str text = { verdict, sizeof verdict - 1 };

	if (fl_http_req_body(req).len != REVIEW)
		abort();
	fl_http_req_answer(req, 200, FL_HEADERS({ FL_S("content-type"), FL_S("application/json") }), text);
}

static uint64_t cpu(void)
{
	struct timespec used;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * FL_NS_PER_S + (uint64_t)used.tv_nsec;
}

static uint64_t served_from;

/* The client says when the warm-up is over, and asks what the rest has cost. */
static void mark(struct fl_http_req *req)
{
	if (fl_str_eq(fl_http_req_query(req), FL_S("start")))
		served_from = cpu();
	fl_http_req_say(req, 200, "%llu", (unsigned long long)(cpu() - served_from));
}

static void nobody(void *arg)
{
	(void)arg;
}

/* One event, then silence. */
static void watch(struct fl_http_req *req)
{
	static const struct fl_http_req_user user = { .gone = nobody };

	fl_http_req_on(req, &user, NULL);
	fl_http_req_begin(req, 200, FL_HEADERS({ FL_S("content-type"), FL_S("application/json") }), -1);
	fl_http_req_send(req, (struct fl_str){ review, 700 });
}

/* Bytes of the server that are in memory and its own. */
static void memory(struct fl_http_req *req)
{
	unsigned long long pages, shared;
	char line[200], *at = line;
	FILE *file = fopen("/proc/self/statm", "r");

	(void)malloc_trim(0);
	if (!file || !fgets(line, sizeof line, file))
		abort();
	(void)fclose(file);
	(void)strtoull(at, &at, 10);
	pages = strtoull(at, &at, 10);
	shared = strtoull(at, &at, 10);
	fl_http_req_say(req, 200, "%llu", (pages - shared) * 4096);
}

static const struct fl_http_route routes[] = {
	{ "POST", "/admit", answer, 0, false }, { "GET", "/cpu", mark, 0, false }, { "GET", "/watch", watch, 0, false },
	{ "GET", "/memory", memory, 0, false },
};

static void die(const char *what, const struct fl_err *err)
{
	(void)fprintf(stderr, "bench_http: %s: %s\n", what, err->text);
	exit(1);
}

static void serve(int port_fd, const struct test_certs *certs)
{
	struct fl_err err = { 0 };
	struct fl_io *io = fl_posix_new(&err);
	struct fl_http_server_options options = { .routes = routes, .route_count = FL_LEN(routes),
		.max_streams = 2 * WATCHES };
	struct fl_tls_config config = { .server = true, .peer = FL_TLS_PEER_TRUST, .cert = fl_str(certs->server.cert),
					.key = fl_str(certs->server.key) };
	struct fl_http_server *server = io ? fl_http_server_new(io, &options, &err) : NULL;
	struct fl_tls_context *tls = server ? fl_tls_context_new(&config, fl_wall(io), &err) : NULL;
	struct fl_addr addr;

	if (!tls || fl_addr_parse(&addr, FL_S("127.0.0.1:0"), &err) < 0 ||
	    fl_http_server_listen(server, &addr, 0, tls, &addr, &err) < 0)
		die("server", &err);
	if (write(port_fd, &addr.port, sizeof addr.port) != sizeof addr.port || fl_io_run(io, &err) < 0)
		die("server", &err);
}

struct bench {
	struct fl_io *io;
	struct fl_http_client *client;
	struct fl_err err;
	uint32_t started, ended, wanted;
	uint64_t *took;
};

struct one {
	struct fl_http_call call;
	struct bench *bench;
	uint64_t began;
};

static void start(struct one *one)
{
	one->began = fl_clock(one->bench->io);
	one->bench->started++;
	fl_http_start(one->bench->client, &one->call);
}

static void done(struct fl_op *op)
{
	struct one *one = fl_container(fl_container(op, struct fl_http_call, op), struct one, call);
	struct bench *bench = one->bench;

	if (op->result != 200)
		die("a call", &bench->err);
	bench->took[bench->ended++] = fl_clock(bench->io) - one->began;
	if (bench->started < bench->wanted)
		start(one);
	else if (bench->ended == bench->wanted)
		fl_io_stop(bench->io);
}

static void run(struct bench *bench, uint32_t calls)
{
	static struct one ones[FLIGHT];

	bench->started = bench->ended = 0;
	bench->wanted = calls;
	for (int i = 0; i < FLIGHT; i++) {
		ones[i].bench = bench;
		ones[i].call.op = (struct fl_op){ .done = done, .err = &bench->err };
		ones[i].call.method = FL_S("POST");
		ones[i].call.target = FL_S("/admit");
		ones[i].call.body = (struct fl_str){ review, sizeof review };
		start(&ones[i]);
	}
	if (fl_io_run(bench->io, &bench->err) < 0)
		die("client", &bench->err);
	for (int i = 0; i < FLIGHT; i++)
		fl_http_call_free(&ones[i].call);
}

static void asked(struct fl_op *op)
{
	fl_io_stop(op->io);
}

static double ask(struct bench *bench, struct fl_str target)
{
	struct fl_http_call call = { .op = { .done = asked, .err = &bench->err }, .method = FL_S("GET"),
		.target = target };
	double value;

	fl_http_start(bench->client, &call);
	if (fl_io_run(bench->io, &bench->err) < 0 || call.op.result != 200)
		die("client", &bench->err);
	fl_buf_char(&call.reply, 0);
	value = strtod(call.reply.p, NULL);
	fl_http_call_free(&call);
	return value;
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static struct fl_http_client *client_of(struct bench *bench, uint16_t port, const struct test_certs *certs, bool h1)
{
	struct fl_tls_config config = { .ca = fl_str(certs->ca.cert), .no_h2 = h1 };
	struct fl_tls_context *tls = fl_tls_context_new(&config, fl_wall(bench->io), &bench->err);
	struct fl_http_client_options options = { .tls = tls, .max_conns = WATCHES };
	struct fl_http_client *client;
	char url[60];

	options.url = (struct fl_str){ url, (uint32_t)snprintf(url, sizeof url, "https://127.0.0.1:%u", port) };
	client = tls ? fl_http_client_new(bench->io, &options, &bench->err) : NULL;
	if (!client)
		die("client", &bench->err);
	fl_tls_context_free(tls);
	return client;
}

static int events;

static void got_event(struct fl_http_call *call, struct fl_str bytes)
{
	fl_http_call_consume(call, bytes.len);
	events += (int)bytes.len;
}

/* Bytes of the server for each of `count` watches. The question travels on a connection of its own. */
static double watches(struct bench *bench, struct fl_http_client *client, uint32_t count)
{
	struct fl_http_call *calls = calloc(count, sizeof *calls);
	double before = ask(bench, FL_S("/memory")), after;

	events = 0;
	for (uint32_t i = 0; calls && i < count; i++) {
		calls[i].op = (struct fl_op){ .done = asked, .err = &bench->err };
		calls[i].method = FL_S("GET");
		calls[i].target = FL_S("/watch");
		calls[i].got = got_event;
		fl_http_start(client, &calls[i]);
		/* They come one after the other, as clients do, and not all in one read. */
		while (events < (int)(i + 1) * 700)
			if (fl_io_turn(bench->io, fl_clock(bench->io) + FL_NS_PER_S, &bench->err) < 0)
				die("client", &bench->err);
	}
	after = ask(bench, FL_S("/memory"));
	for (uint32_t i = 0; calls && i < count; i++) {
		fl_op_cancel(&calls[i].op);
		fl_http_call_free(&calls[i]);
	}
	free(calls);
	return (after - before) / count;
}

static void pause_for(struct bench *bench, uint64_t ns)
{
	uint64_t end = fl_clock(bench->io) + ns;

	while (fl_clock(bench->io) < end)
		if (fl_io_turn(bench->io, end, &bench->err) < 0)
			die("client", &bench->err);
}

static void row(const char *name, double value, const char *unit, double bar, bool least)
{
	printf("{\"name\":\"%s\",\"value\":%.3f,\"unit\":\"%s\",\"bar\":\"%s %.0f\",\"ok\":%s}\n", name, value, unit,
	       least ? ">=" : "<=", bar, (least ? value >= bar : value <= bar) ? "true" : "false");
}

static void measure(uint16_t port, const struct test_certs *certs)
{
	static uint64_t took[CALLS];
	const uint64_t *p99 = &took[CALLS * 99 / 100];
	struct bench bench = { .took = took };
	struct fl_http_client *h2, *h1;

	bench.io = fl_posix_new(&bench.err);
	if (!bench.io)
		die("client", &bench.err);
	bench.client = client_of(&bench, port, certs, false);
	run(&bench, WARM);
	(void)ask(&bench, FL_S("/cpu?start"));
	run(&bench, CALLS);
	row("webhook_post_tls_8", CALLS / (ask(&bench, FL_S("/cpu")) / 1e9), "req/s/core", 20000, true);
	qsort(took, CALLS, sizeof *took, by_time);
	row("webhook_post_tls_8_p99", (double)*p99 / 1e6, "ms", 1, false);
	h1 = client_of(&bench, port, certs, true);
	row("idle_watch_h1_tls", watches(&bench, h1, WATCHES / 10), "B", 17000, false); /* OpenSSL alone keeps 14,000 */
	fl_http_client_free(h1);
	pause_for(&bench, FL_NS_PER_S / 5); /* until the server has closed them all */
	h2 = client_of(&bench, port, certs, false);
	row("idle_watch_h2", watches(&bench, h2, WATCHES), "B", 1024, false);
	fl_http_client_free(h2);
	fl_http_client_free(bench.client);
	fl_io_free(bench.io);
}

int main(void)
{
	const struct test_certs *certs = test_certs();
	uint16_t port = 0;
	int fds[2];
	pid_t server;

	memset(review, 'x', sizeof review);
	if (!certs || pipe(fds) != 0)
		return 1;
	server = fork();
	if (server == 0)
		serve(fds[1], certs);
	if (server > 0 && read(fds[0], &port, sizeof port) == sizeof port)
		measure(port, certs);
	if (server > 0) {
		(void)kill(server, SIGTERM);
		(void)waitpid(server, NULL, 0);
	}
	return port ? 0 : 1;
}
