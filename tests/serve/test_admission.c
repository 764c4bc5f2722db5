/* Webhooks, asked over HTTP/2 on a unix socket. */
#include "serve/admission.h"
#include "api/core.h"
#include "base/units.h"
#include "http/client.h"
#include "test.h"
#include "test_io.h"
#include <stdio.h>

static const uint64_t seed[2] = { 1, 2 };

struct facts {
	bool known;                    /* the cache has one of this name */
};

static void gather(struct fl_view *view, const struct fl_review *review, void *facts)
{
	((struct facts *)facts)->known =
		fl_view_get(view, &fl_config_map_kind, review->asked.space, review->asked.name) != NULL;
}

static void decide(const void *facts, const struct fl_review *review, struct fl_verdict *verdict)
{
	if (((const struct facts *)facts)->known)
		fl_deny(verdict, 409, "%.*s is there", FL_ARG(review->asked.name));
	else
		fl_allow(verdict);
}

static void allow(const void *facts, const struct fl_review *review, struct fl_verdict *verdict)
{
	(void)facts;
	(void)review;
	fl_allow(verdict);
}

static const struct fl_kind *const reads[] = { &fl_config_map_kind, NULL };
static const struct fl_admission rows[] = {
	{ "/validate", &fl_config_map_kind, reads, sizeof(struct facts), gather, decide },
	{ "/any", &fl_config_map_kind, NULL, 0, NULL, allow },
	{ 0 },
};

enum { CALLS = 8 };

struct fixture {
	struct fl_io *io;
	struct fl_metrics *metrics;
	struct fl_loop *loop;
	struct fl_webhooks *webhooks;
	struct fl_http_client *client;
	struct fl_http_call calls[CALLS];
	struct fl_err err;
	char url[140];
};

static void fixture_auto_(struct fixture *f)
{
	for (int i = 0; i < CALLS; i++)
		fl_http_call_auto_(&f->calls[i]);
	fl_http_client_free(f->client);
	fl_webhooks_free(f->webhooks);
	fl_loop_free(f->loop);
	fl_metrics_free(f->metrics);
	fl_io_free(f->io);
}

static int sync(struct fixture *f)
{
	struct fl_feed *maps = fl_loop_feed(f->loop, &fl_config_map_kind);
	struct fl_config_map map = { 0 };

	FL_SET(FL_IN(&map, meta), name, FL_S("there"));
	FL_SET(&map.meta, space, FL_S("ns"));
	fl_feed_begin(maps);
	if (fl_feed_put(maps, &map, &f->err) < 0)
		return -(int)f->err.code;
	fl_feed_synced(maps);
	return 0;
}

static int open_it(struct fixture *f)
{
	struct fl_admission_options options = { .rows = rows };
	struct fl_addr addr;

	f->io = test_io();
	f->metrics = fl_metrics_new(seed, &f->err);
	if (!f->io || !f->metrics)
		return -FL_E_NOMEM;
	f->loop = fl_loop_new(f->io, &(struct fl_loop_options){ .seed = { 1, 2 } }, &f->err);
	if (!f->loop || fl_loop_source(f->loop, &(struct fl_source){ .kind = &fl_config_map_kind }, &f->err) < 0)
		return -(int)f->err.code;
	options.loop = f->loop;
	options.metrics = f->metrics;
	f->webhooks = fl_webhooks_new(f->io, &options, &f->err);
	(void)snprintf(f->url, sizeof f->url, "unix:%s", test_path(test_dir(), "hooks"));
	if (!f->webhooks || fl_addr_parse(&addr, fl_str(f->url), &f->err) < 0 ||
	    fl_http_server_listen(fl_webhooks_server(f->webhooks), &addr, 0600, NULL, NULL, &f->err) < 0)
		return -(int)f->err.code;
	f->client = fl_http_client_new(f->io,
				       &(struct fl_http_client_options){ .url = fl_str(f->url), .plain_h2 = true },
				       &f->err);
	return f->client ? 0 : -(int)f->err.code;
}

static void begin(struct fixture *f, int i, const char *path, const char *body)
{
	fl_http_call_free(&f->calls[i]);
	f->calls[i] = (struct fl_http_call){
		.op = { .done = test_op_done, .err = &f->err, .deadline = fl_now(f->io) + 5 * FL_NS_PER_S },
		.method = FL_S("POST"), .target = fl_str(path), .body = fl_str(body),
	};
	fl_http_start(f->client, &f->calls[i]);
}

#define REVIEW(uid, name) \
	"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"" uid "\"," \
	"\"operation\":\"CREATE\",\"namespace\":\"ns\",\"name\":\"" name "\",\"resource\":{\"group\":\"\"," \
	"\"version\":\"v1\",\"resource\":\"configmaps\"},\"object\":{\"metadata\":{\"name\":\"" name "\"}}}}"

static const struct {
	const char *says, *path, *body;
	int status;
	const char *has;
} questions[] = {
	{ "allowed by what the cache shows", "/validate", REVIEW("1", "new"), 200, "\"uid\":\"1\",\"allowed\":true" },
	{ "refused by what the cache shows", "/validate", REVIEW("2", "there"), 200,
	  "\"uid\":\"2\",\"allowed\":false,\"status\":{\"message\":\"there is there\",\"reason\":\"Conflict\","
	  "\"code\":409}" },
	{ "one without facts", "/any", REVIEW("3", "there"), 200, "\"allowed\":true" },
	{ "no JSON", "/validate", "{", 400, "line 1" },
	{ "nothing", "/validate", "", 400, "" },
	{ "JSON that is no review", "/validate", "{}", 400, "only AdmissionReview" },
	{ "a webhook that is not there", "/else", REVIEW("4", "a"), 404, "" },
};

TEST(questions_are_answered)
{
	FL_AUTO(fixture) struct fixture f = { 0 };

	OK_ERR(open_it(&f), &f.err);
	OK_ERR(sync(&f), &f.err);
	EACH_ROW (row, questions) {
		begin(&f, 0, row->path, row->body);
		OK_ERR(test_op(f.io, &f.calls[0].op), &f.err);
		if (test_tortured() && f.calls[0].status != row->status)
			return;   /* without memory: 500 or 503 */
		CHECK_INT(f.calls[0].status, row->status);
		CHECK(!row->has[0] || (f.calls[0].reply.p && strstr(f.calls[0].reply.p, row->has)));
	}
}

/* Binding it would hold the loop for long. */
TEST_ONCE(a_review_with_more_values_than_the_limit_is_refused)
{
	FL_AUTO(fl_buf) struct fl_buf body = FL_BUF(2 * FL_MIB);
	FL_AUTO(fixture) struct fixture f = { 0 };
	struct fl_str review = FL_S(REVIEW("1", "new"));

	OK_ERR(open_it(&f), &f.err);
	OK_ERR(sync(&f), &f.err);
	fl_buf_str(&body, fl_str_sub(review, 0, review.len - 3));
	fl_buf_str(&body, FL_S(",\"data\":{\"key\":\"\""));
	for (int i = 0; i < FL_REVIEW_VALUES_MAX / 2; i++)
		fl_buf_printf(&body, ",\"%d\":\"\"", i);
	fl_buf_str(&body, FL_S("}}}}"));
	fl_buf_char(&body, '\0');
	CHECK(!body.failed);
	begin(&f, 0, "/validate", body.p);
	OK_ERR(test_op(f.io, &f.calls[0].op), &f.err);
	CHECK_INT(f.calls[0].status, 400);
	CHECK(f.calls[0].reply.p && strstr(f.calls[0].reply.p, "at most 20000 are read"));
}

TEST(what_is_not_known_yet_is_not_decided)
{
	FL_AUTO(fixture) struct fixture f = { 0 };

	OK_ERR(open_it(&f), &f.err);
	begin(&f, 0, "/validate", REVIEW("1", "new"));
	OK_ERR(test_op(f.io, &f.calls[0].op), &f.err);
	CHECK(f.calls[0].status == 503 || test_tortured());
	if (test_tortured())
		return;
	CHECK(strstr(f.calls[0].reply.p, "nothing is known of ConfigMap yet"));
	begin(&f, 0, "/any", REVIEW("1", "new"));
	OK_ERR(test_op(f.io, &f.calls[0].op), &f.err);
	if (test_tortured())
		return;
	CHECK_INT(f.calls[0].status, 200);
	OK_ERR(sync(&f), &f.err);
	begin(&f, 0, "/validate", REVIEW("1", "new"));
	OK_ERR(test_op(f.io, &f.calls[0].op), &f.err);
	if (test_tortured())
		return;
	CHECK_INT(f.calls[0].status, 200);
}

TEST(several_at_once_share_a_connection)
{
	FL_AUTO(fixture) struct fixture f = { 0 };

	OK_ERR(open_it(&f), &f.err);
	OK_ERR(sync(&f), &f.err);
	for (int i = 0; i < CALLS; i++)
		begin(&f, i, "/validate", i % 2 ? REVIEW("odd", "there") : REVIEW("even", "new"));
	for (int i = 0; i < CALLS; i++)
		while (fl_op_busy(&f.calls[i].op))
			OK_ERR(fl_io_turn(f.io, fl_now(f.io) + FL_NS_PER_S, &f.err), &f.err);
	if (test_tortured())
		return;
	CHECK_INT(fl_http_client_conns(f.client), 1);
	for (int i = 0; i < CALLS; i++) {
		CHECK_INT(f.calls[i].status, 200);
		CHECK(strstr(f.calls[i].reply.p, i % 2 ? "\"odd\",\"allowed\":false" : "\"even\",\"allowed\":true"));
	}
}

TEST(reviews_are_counted)
{
	FL_AUTO(fixture) struct fixture f = { 0 };
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);

	OK_ERR(open_it(&f), &f.err);
	OK_ERR(sync(&f), &f.err);
	begin(&f, 0, "/validate", REVIEW("1", "new"));
	OK_ERR(test_op(f.io, &f.calls[0].op), &f.err);
	begin(&f, 0, "/validate", "{");
	OK_ERR(test_op(f.io, &f.calls[0].op), &f.err);
	if (test_tortured())
		return;
	OK(fl_metrics_write(f.metrics, &text, NULL));
	CHECK(strstr(text.p, "fairlead_admission_reviews_total{webhook=\"/validate\",operation=\"CREATE\",outcome="
			     "\"allowed\"} 1\n"));
	CHECK(strstr(text.p, "fairlead_admission_reviews_total{webhook=\"/validate\",operation=\"unknown\",outcome="
			     "\"failed\"} 1\n"));
	CHECK(strstr(text.p, "fairlead_admission_duration_seconds_count{webhook=\"/validate\"} 1\n"));
}

enum { MANY = FL_REVIEW_CONNS + 44 };

static void close_all(struct fl_io *io, const int fds[static MANY])
{
	for (int i = 0; i < MANY; i++)
		if (fds[i] >= 0)
			fl_close(io, fds[i]);
}

static int dial(struct fixture *f, const struct fl_addr *addr, struct fl_str says)
{
	struct fl_connect connect = { .addr = *addr };
	int fd;

	fl_connect(f->io, &connect);
	fd = (int)test_op(f->io, &connect.op);
	if (fd >= 0 && says.len && fl_write(f->io, fd, says.p, says.len) != (int64_t)says.len) {
		fl_close(f->io, fd);
		return -FL_E_IO;
	}
	return fd;
}

static const struct {
	const char *says, *address;
	struct fl_str bytes;
	uint32_t most;             /* places that they may take */
} crowds[] = {
	{ "connections that never say a word", NULL, FL_S_INIT(""), FL_REVIEW_CONNS },
	{ "connections that have had their answer", NULL, FL_S_INIT("POST /any HTTP/1.1\r\nhost: a\r\ncontent-length: "
								    "1\r\n\r\n{"),
	  FL_REVIEW_CONNS },
	{ "connections of one address have half of the places", "127.0.0.1:0", FL_S_INIT(""), FL_REVIEW_CONNS / 2 },
};

/* As on the pages. The simulation has the rest: tests/http/test_room.c. */
TEST_ONCE(idle_connections_do_not_starve_the_webhooks)
{
	EACH_ROW (row, crowds) {
		FL_AUTO(fixture) struct fixture f = { 0 };
		struct fl_http_server *server;
		struct fl_addr addr;
		int fds[MANY];

		OK_ERR(open_it(&f), &f.err);
		OK_ERR(sync(&f), &f.err);
		server = fl_webhooks_server(f.webhooks);
		OK_ERR(fl_addr_parse(&addr, fl_str(row->address ? row->address : f.url), &f.err), &f.err);
		if (row->address)
			OK_ERR(fl_http_server_listen(server, &addr, 0, NULL, &addr, &f.err), &f.err);
		for (int i = 0; i < MANY; i++) {
			fds[i] = dial(&f, &addr, row->bytes);
			OK(fds[i]);
		}
		OK(test_pause(f.io, 20 * FL_NS_PER_MS));
		CHECK_INT(fl_http_server_conns(server), row->most);
		CHECK_INT(fl_http_server_evicted(server), MANY - row->most);
		begin(&f, 0, "/validate", REVIEW("1", "new"));
		OK_ERR(test_op(f.io, &f.calls[0].op), &f.err);
		CHECK_INT(f.calls[0].status, 200);
		CHECK(strstr(f.calls[0].reply.p, "\"uid\":\"1\",\"allowed\":true"));
		close_all(f.io, fds);
	}
}

TEST(too_many_webhooks_are_refused)
{
	static struct fl_admission many[FL_ADMISSION_MAX + 2];
	struct fixture f = { 0 };
	FL_AUTO(fl_io) struct fl_io *io = test_io();
	struct fl_admission_options options = { .rows = many };

	GOT(io);
	for (int i = 0; i <= FL_ADMISSION_MAX; i++)
		many[i] = (struct fl_admission){ "/x", &fl_config_map_kind, NULL, 0, NULL, allow };
	CHECK(!fl_webhooks_new(io, &options, &f.err));
	CHECK(f.err.code == FL_E_TOOBIG || f.err.code == FL_E_NOMEM);
}
