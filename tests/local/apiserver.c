/* apiserver.c - the embedded API server as a program, for peers: `apiserver --listen 127.0.0.1:PORT [--tls DIR]` until
 * it is killed. It prints "listening on http://127.0.0.1:PORT" as soon as it answers. With --tls it speaks TLS, with a
 * CA of its own in DIR/ca.crt. HTTP/1.1 and HTTP/2, the latter also without TLS. */
#include "certs.h"
#include "local/server.h"
#include <stdio.h>
#include <stdlib.h>

static void die(const char *what, const struct fl_err *err)
{
	(void)fprintf(stderr, "apiserver: %s: %s\n", what, err->text);
	exit(1);
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[400];
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file) != 0)
		die(path, &(struct fl_err){ .text = "cannot be written" });
}

static struct fl_tls_context *make_tls(const char *dir, int64_t wall, struct fl_err *err)
{
	struct fl_tls_config config = { .server = true };
	struct test_cert cert;

	if (!test_certs() || !test_cert_make(&(struct test_cert_wish){ .issuer = &test_certs()->ca, .name = "server",
			.names = "DNS:localhost,IP:127.0.0.1" }, &cert))
		die("a certificate", err);
	write_file(dir, "ca.crt", test_certs()->ca.cert);
	config.cert = fl_str(cert.cert);
	config.key = fl_str(cert.key);
	return fl_tls_context_new(&config, wall, err);
}

int main(int argc, char **argv)
{
	struct fl_err err = { .text = "usage: apiserver --listen ADDRESS:PORT [--tls DIR]" };
	const char *listen = NULL, *tls_dir = NULL;
	struct fl_api_options options = { 0 };
	struct fl_tls_context *tls = NULL;
	struct fl_api_server *server;
	struct fl_addr addr;
	struct fl_api *api;
	struct fl_io *io;
	char text[FL_ADDR_TEXT];

	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--listen") == 0)
			listen = argv[i + 1];
		else if (strcmp(argv[i], "--tls") == 0)
			tls_dir = argv[i + 1];
	}
	if (!listen || fl_addr_parse(&addr, fl_str(listen), &err) < 0)
		die("start", &err);
	io = fl_posix_new(&err);
	if (!io || fl_random(io, options.seed, sizeof options.seed, &err) < 0)
		die("start", &err);
	api = fl_api_new(&options, fl_wall(io) / 1000, &err);
	if (tls_dir && !(tls = make_tls(tls_dir, fl_wall(io), &err)))
		die("tls", &err);
	server = api ? fl_api_serve(io, api, &addr, tls, &addr, &err) : NULL;
	if (!server)
		die("start", &err);
	text[fl_addr_print(&addr, text).len] = '\0';
	(void)printf("listening on %s://%s\n", tls ? "https" : "http", text);
	(void)fflush(stdout);
	if (fl_io_run(io, &err) < 0)
		die("run", &err);
	return 0;
}
