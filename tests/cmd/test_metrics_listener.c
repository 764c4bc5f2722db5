/* The listener of the GPU metrics: plain, with TLS, with client certificates, and from one to the other. */
#include "base/log.h"
#include "base/units.h"
#include "certs.h"
#include "cmd/metrics.h"
#include "http/client.h"
#include "test.h"
#include "test_io.h"
#include <stdio.h>
#include <string.h>

struct house {
	struct fl_io *io;
	struct fl_log log;
	struct fl_exporter exporter;   /* not started: its text is empty */
	struct metrics metrics;
	struct fl_err err;
	const char *dir;
	char web[120];
};

static void house_auto_(struct house *h)
{
	metrics_stop(&h->metrics);
	fl_io_free(h->io);
}

static bool no_line(void *arg, const char *line, size_t len)
{
	(void)arg;
	(void)line;
	(void)len;
	return true;
}
static uint64_t no_clock(void *arg)
{
	(void)arg;
	return 0;
}
static int64_t no_wall(void *arg)
{
	(void)arg;
	return 0;
}

static int begin(struct house *h, bool web)
{
	struct metrics_options options = { .exporter = &h->exporter, .log = &h->log, .listen = FL_S("127.0.0.1:0") };

	fl_log_init(&h->log, &(struct fl_log_to){ no_line, no_clock, no_wall, h }, "test");
	h->io = test_io();
	if (!h->io)
		return -FL_E_NOMEM;
	h->dir = test_dir();
	(void)snprintf(h->web, sizeof h->web, "%s", test_path(h->dir, "web.yaml"));
	options.io = h->io;
	options.web = web ? h->web : NULL;
	return metrics_start(&h->metrics, &options, &h->err);
}

/* Asks /health; `scheme`, and the client's certificate. -FL_E_DENIED: not without one. */
static int64_t ask(struct house *h, bool tls, const struct test_cert *shown)
{
	FL_AUTO(fl_tls_context) struct fl_tls_context *context = NULL;
	FL_AUTO(fl_http_client) struct fl_http_client *client = NULL;
	FL_AUTO(fl_http_call) struct fl_http_call call = { .method = FL_S("GET"), .target = FL_S("/health") };
	struct fl_tls_config config = { .ca = fl_str(test_certs()->ca.cert) };
	char url[80];

	if (shown) {
		config.cert = fl_str(shown->cert);
		config.key = fl_str(shown->key);
	}
	if (tls && !(context = fl_tls_context_new(&config, fl_wall(h->io), NULL)))
		return -FL_E_NOMEM;
	(void)snprintf(url, sizeof url, "%s://localhost:%u", tls ? "https" : "http", h->metrics.addr.port);
	client = fl_http_client_new(h->io, &(struct fl_http_client_options){ .url = fl_str(url), .tls = context },
				    NULL);
	if (!client)
		return -FL_E_NOMEM;
	call.op.deadline = fl_now(h->io) + 5 * FL_NS_PER_S;
	fl_http_start(client, &call);
	return test_op(h->io, &call.op);
}

static bool served(const struct house *h)
{
	return h->metrics.listens && !h->metrics.state.web.code;
}
static bool is_plain(const struct house *h)
{
	return served(h) && !h->metrics.context;
}
static bool is_tls(const struct house *h)
{
	return served(h) && h->metrics.context;
}
static bool is_refused(const struct house *h)
{
	return h->metrics.state.web.code != FL_OK;
}

static bool until(struct house *h, bool (*so)(const struct house *h))
{
	uint64_t end = fl_clock(h->io) + 20 * FL_NS_PER_S;

	while (!so(h) && fl_clock(h->io) < end)
		if (fl_io_turn(h->io, fl_clock(h->io) + 10 * FL_NS_PER_MS, NULL) < 0)
			return false;
	return so(h);
}

TEST(without_a_web_config_it_is_plain_http)
{
	FL_AUTO(house) struct house h = { 0 };

	OK_ERR(begin(&h, false), &h.err);
	if (!h.metrics.listens)
		OK(-(int)h.metrics.state.closed.code);   /* it tries again */
	CHECK_INT(h.metrics.state.access, FL_EXPORTER_MACHINE);
	OK(ask(&h, false, NULL));
}

/* The timer is fired by hand: a test does not wait for the clock. */
TEST(a_port_that_is_taken_is_tried_ever_more_seldom)
{
	static const uint64_t waits[] = { 1, 2, 4, 8 };
	FL_AUTO(house) struct house h = { 0 };
	struct metrics *m = &h.metrics;
	struct fl_timer *again = &m->again;
	int other;

	OK_ERR(begin(&h, false), &h.err);
	OK(-(int)m->state.closed.code);
	fl_pages_stop(&m->pages);
	other = fl_listen(h.io, &m->addr, 0600, &h.err);   /* another exporter */
	OK_ERR(other, &h.err);
	for (size_t i = 0; i < FL_LEN(waits); i++) {
		again->fire(again);
		CHECK(!m->listens);
		CHECK_INT(again->at - fl_now(h.io), waits[i] * FL_NS_PER_S);
	}
	for (int i = 0; i < 3; i++) {
		again->fire(again);
		CHECK_INT(again->at % METRICS_RETRY_LAST, 0);
		CHECK(again->at - fl_now(h.io) <= METRICS_RETRY_LAST);
	}
	fl_close(h.io, other);
	again->fire(again);
	OK(-(int)m->state.closed.code);
	CHECK_INT(m->delay, 0);   /* the next time it begins soon again */
}

static bool write_certs(const struct house *h, const struct test_certs *certs)
{
	return test_write_file(test_path(h->dir, "tls.crt"), certs->server.cert) &&
	       test_write_file(test_path(h->dir, "tls.key"), certs->server.key) &&
	       test_write_file(test_path(h->dir, "ca.crt"), certs->ca.cert);
}

#define PAIR "tls_server_config: {cert_file: tls.crt, key_file: tls.key"

/* Once: files are followed by the clock, and test_files tortures that. */
TEST_ONCE(a_web_config_is_followed_and_tls_is_never_plain)
{
	FL_AUTO(house) struct house h = { 0 };
	const struct test_certs *certs = test_certs();

	GOT(certs);
	OK_ERR(begin(&h, true), &h.err);
	CHECK(until(&h, is_refused) && !h.metrics.listens);   /* there is no file yet */
	CHECK(strstr(h.metrics.state.closed.text, "web.yaml"));
	CHECK(test_write_file(h.web, PAIR ", client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.crt}"));
	CHECK(!h.metrics.listens);                            /* nor a certificate */
	CHECK(write_certs(&h, certs));
	CHECK(until(&h, served));
	CHECK_INT(h.metrics.state.access, FL_EXPORTER_CERTIFICATES);
	CHECK_INT(ask(&h, true, &certs->client), 200);
	CHECK(ask(&h, true, NULL) < 0);
	CHECK(ask(&h, false, NULL) < 0);

	/* What is refused leaves what is in force. */
	CHECK(test_write_file(h.web, "basic_auth_users: {a: b}"));
	CHECK(until(&h, is_refused));
	CHECK(strstr(h.metrics.state.web.text, "basic_auth_users: not supported"));
	CHECK_INT(ask(&h, true, &certs->client), 200);

	/* Who may come changes without a new listener. */
	CHECK(test_write_file(h.web, PAIR "}"));
	CHECK(until(&h, served));
	CHECK_INT(ask(&h, true, NULL), 200);

	/* As it is for a moment while somebody writes it. */
	CHECK(test_write_file(h.web, ""));
	CHECK(until(&h, is_refused));
	CHECK(strstr(h.metrics.state.web.text, "TLS stays"));
	CHECK_INT(ask(&h, true, NULL), 200);
	CHECK(ask(&h, false, NULL) < 0);
	CHECK(test_write_file(h.web, PAIR "}"));
	CHECK(until(&h, served));
}

TEST_ONCE(a_web_config_without_a_certificate_is_plain_http_until_it_has_one)
{
	FL_AUTO(house) struct house h = { 0 };
	const struct test_certs *certs = test_certs();

	GOT(certs);
	OK_ERR(begin(&h, true), &h.err);
	CHECK(write_certs(&h, certs));
	CHECK(test_write_file(h.web, ""));
	CHECK(until(&h, is_plain));
	CHECK_INT(ask(&h, false, NULL), 200);
	CHECK(test_write_file(h.web, PAIR "}"));   /* between plain and TLS there is a new listener */
	CHECK(until(&h, is_tls));
	CHECK_INT(ask(&h, true, NULL), 200);
	CHECK(ask(&h, false, NULL) < 0);
}
