/* peer_web.c - our HTTP server as a program, for peers: `peer_web SOCKET` until it is killed or drained. It speaks
 * plain at SOCKET, and TLS at what it writes into SOCKET.addr, with a CA in SOCKET.ca and certificates in files that it
 * renews when it is asked to. */
#include "base/units.h"
#include "certs.h"
#include "http/files.h"
#include "http/server.h"
#include <stdio.h>
#include <stdlib.h>

struct slow {
	struct fl_http_req *req;
	struct fl_timer timer;
	uint64_t count;
};

static struct {
	struct fl_io *io;
	struct fl_http_server *server;
	struct fl_addr local, tcp;
	bool listening;
	char path[200];
	char crt[220], key[220];
	char much[20 << 20];
} web;

static void die(const char *what, const struct fl_err *err)
{
	(void)fprintf(stderr, "peer_web: %s: %s\n", what, err ? err->text : "");
	exit(1);
}

static void gone(void *arg)
{
	struct slow *slow = arg;

	fl_timer_stop(web.io, &slow->timer);
	free(slow);
}

static void body(void *arg, struct fl_str bytes)
{
	struct slow *slow = arg;

	slow->count += bytes.len;
	fl_http_req_consume(slow->req, bytes.len);
}

static void body_end(void *arg)
{
	struct slow *slow = arg;

	fl_http_req_say(slow->req, 200, "%llu", (unsigned long long)slow->count);
	gone(slow);
}

static const struct fl_http_req_user user = { .gone = gone, .body = body, .body_end = body_end };

static struct slow *take_time(struct fl_http_req *req)
{
	struct slow *slow = calloc(1, sizeof *slow);

	if (!slow)
		die("memory", NULL);
	slow->req = req;
	fl_http_req_on(req, &user, slow);
	return slow;
}

static void do_hello(struct fl_http_req *req)
{
	fl_http_req_answer(req, 200, FL_NO_HEADERS, FL_S("hello"));
}

static void do_echo(struct fl_http_req *req)
{
	fl_http_req_answer(req, 200, FL_NO_HEADERS, fl_http_req_body(req));
}

static void do_much(struct fl_http_req *req)
{
	fl_http_req_answer(req, 200, FL_NO_HEADERS, (struct fl_str){ web.much, sizeof web.much });
}

static void do_count(struct fl_http_req *req)
{
	(void)take_time(req);
}

static void do_trailers(struct fl_http_req *req)
{
	fl_http_req_begin(req, 200, FL_HEADERS({ FL_S("trailer"), FL_S("Sum") }), -1);
	fl_http_req_send(req, FL_S("ab"));
	fl_http_req_send(req, FL_S("c"));
	fl_http_req_end(req, FL_HEADERS({ FL_S("sum"), FL_S("3") }));
}

static void do_watch(struct fl_http_req *req)
{
	(void)take_time(req);
	fl_http_req_begin(req, 200, FL_NO_HEADERS, -1);
	fl_http_req_send(req, FL_S("event"));
}

static void on_slow(struct fl_timer *timer)
{
	struct slow *slow = fl_container(timer, struct slow, timer);

	do_hello(slow->req);
	gone(slow);
}

static void do_slow(struct fl_http_req *req)
{
	struct slow *slow = take_time(req);

	slow->timer.fire = on_slow;
	fl_timer_set(web.io, &slow->timer, fl_now(web.io) + 300 * FL_NS_PER_MS);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file || fputs(text, file) < 0 || fclose(file) != 0)
		die(path, NULL);
}

static void renew(void)
{
	struct test_cert cert;

	if (!test_cert_make(&(struct test_cert_wish){ .issuer = &test_certs()->ca, .name = "server",
		.names = "DNS:localhost,IP:127.0.0.1" },
			    &cert))
		die("certificate", NULL);
	write_file(web.crt, cert.cert);
	write_file(web.key, cert.key);
}

static void do_rotate(struct fl_http_req *req)
{
	renew();
	fl_http_req_say(req, 200, "renewed");
}

static void drained(void *arg)
{
	(void)arg;
	fl_io_stop(web.io);
}

static void on_drain(struct fl_timer *timer)
{
	free(fl_container(timer, struct slow, timer));
	fl_http_server_drain(web.server, fl_now(web.io) + 5 * FL_NS_PER_S, drained, NULL);
}

static void do_drain(struct fl_http_req *req)
{
	struct slow *slow = calloc(1, sizeof *slow);

	if (!slow)
		die("memory", NULL);
	fl_http_req_say(req, 200, "ending");
	slow->timer.fire = on_drain;
	fl_timer_set(web.io, &slow->timer, fl_now(web.io));
}

static const struct fl_http_route routes[] = {
	{ "GET", "/hello", do_hello, 0, false },   { "POST", "/echo", do_echo, 2 * FL_MIB, false },
	{ "GET", "/much", do_much, 0, false },     { "POST", "/count", do_count, 0, true },
	{ "GET", "/trailers", do_trailers, 0, false }, { "GET", "/watch", do_watch, 0, false },
	{ "GET", "/slow", do_slow, 0, false },     { "POST", "/rotate", do_rotate, 0, false },
	{ "POST", "/drain", do_drain, 0, false },
	/* For h2spec: whatever the method, the answer waits for the end of the body, and so for what is wrong in it. */
	{ "GET", "/whole", do_hello, 0, false },   { "POST", "/whole", do_hello, 0, false },
};

/* The first certificate opens the port; each later one is shown from then on. */
static void tls_changed(struct fl_tls_files *files, struct fl_tls_context *context)
{
	struct fl_err err = { 0 };
	char text[FL_ADDR_TEXT], path[220];

	(void)files;
	if (web.listening) {
		fl_http_server_use(web.server, context);
		return;
	}
	web.listening = true;
	if (fl_http_server_listen(web.server, &web.tcp, 0, context, &web.tcp, &err) < 0 ||
	    fl_http_server_listen(web.server, &web.local, 0600, NULL, NULL, &err) < 0)
		die("listen", &err);
	(void)snprintf(path, sizeof path, "%s.addr", web.path);
	text[fl_addr_print(&web.tcp, text).len] = 0;
	write_file(path, text);
	(void)puts("ready");
	(void)fflush(stdout);
}

int main(int argc, char **argv)
{
	struct fl_err err = { .text = "usage: peer_web SOCKET" };
	struct fl_http_server_options options = { .routes = routes, .route_count = FL_LEN(routes) };
	struct fl_tls_files files = { .changed = tls_changed, .config = { .server = true, .peer = FL_TLS_PEER_TRUST } };
	char ca[220];

	if (argc != 2 || !test_certs())
		die("start", &err);
	(void)snprintf(web.path, sizeof web.path, "%s", argv[1]);
	(void)snprintf(ca, sizeof ca, "%s.ca", web.path);
	(void)snprintf(web.crt, sizeof web.crt, "%s.crt", web.path);
	(void)snprintf(web.key, sizeof web.key, "%s.key", web.path);
	write_file(ca, test_certs()->ca.cert);
	renew();
	web.io = fl_posix_new(&err);
	options.max_queue = sizeof web.much;
	web.server = web.io ? fl_http_server_new(web.io, &options, &err) : NULL;
	files.cert = web.crt;
	files.key = web.key;
	if (!web.server || fl_addr_parse(&web.tcp, FL_S("127.0.0.1:0"), &err) < 0 ||
	    fl_addr_unix(&web.local, fl_str(web.path), &err) < 0 ||
	    fl_tls_files_start(web.io, &files, &err) < 0 || fl_io_run(web.io, &err) < 0)
		die("start", &err);
	fl_tls_files_stop(&files);
	fl_http_server_free(web.server);
	fl_io_free(web.io);
	return fl_mem_live() != 0;
}
