/* What a role answers to those who look, asked over a unix socket. */
#include "serve/pages.h"
#include "api/core.h"
#include "api/node.h"
#include "base/units.h"
#include "http/client.h"
#include "http/h2_bytes.h"
#include "test.h"
#include "test_io.h"
#include <stdio.h>

static const uint64_t seed[2] = { 1, 2 };

struct fixture {
	struct fl_io *io;
	struct fl_metrics *metrics;
	struct fl_loop *loop;
	struct fl_pages pages;
	struct fl_process process;
	struct fl_http_client *client;
	struct fl_http_call call;
	struct fl_err err;
	char url[140];
	const char *lacks, *tells;     /* of readiness; NULL: nothing */
};

static bool is_ready(void *arg, struct fl_buf *words)
{
	const struct fixture *f = arg;

	fl_buf_str(words, fl_str(f->lacks ? f->lacks : f->tells));
	return !f->lacks;
}

static void own_page(struct fl_http_req *req)
{
	const struct fixture *f = fl_pages_of(req)->arg;

	fl_http_req_say(req, 200, "own %d", f->lacks != NULL);
}

static const struct fl_page more[] = { { "/own", own_page, "A page of its own." }, { 0 } };

static void say_plan(const void *facts, struct fl_plan *plan)
{
	const struct fl_ref *ref = facts;

	fl_say(plan, *ref, "Thinks", "of \"%.*s\"", FL_ARG(ref->name));
}

static bool say_gather(struct fl_view *view, struct fl_ref key, void *facts)
{
	(void)view;
	*(struct fl_ref *)facts = key;
	return true;
}

static void say_keys(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct fl_config_map *map = after ? after : before;

	fl_dirty_key(dirty, map->meta.space, map->meta.name);
}

static const struct fl_watched watches[] = { { &fl_config_map_kind, say_keys, false }, { 0 } };
static const struct fl_capability thinker = { .name = "thinker", .watches = watches, .key = &fl_config_map_kind,
					      .facts_size = sizeof(struct fl_ref), .gather = say_gather,
					      .plan = say_plan };
/* So many that an error's text cannot name them all. */
static const struct fl_kind *const kinds[] = {
	&fl_config_map_kind, &fl_node_kind, &fl_driver_kind, &fl_card_kind, &fl_card_fault_kind, &fl_holder_kind,
	&fl_active_kind, &fl_booking_kind, &fl_pod_watch_kind, &fl_dev_link_kind, &fl_inspection_kind, &fl_inside_kind,
	&fl_pod_finding_kind, &fl_eviction_kind, &fl_host_kind, &fl_runtime_kind, &fl_plugin_socket_kind,
	&fl_dir_trouble_kind, &fl_settings_kind, &fl_given_kind, &fl_config_file_kind, &fl_memo_kind, &fl_mps_kind,
	NULL,
};

#define KINDS \
	"ConfigMap, Node, Driver, Card, Fault, Holder, Active, Booking, PodWatch, DevLink, Inspection, " \
	"Inside, PodFinding, Eviction, Host, Runtime, PluginSocket, DirTrouble, Settings, Given, " \
	"ConfigFile, Memo, MpsDaemon"

static void fixture_auto_(struct fixture *f)
{
	fl_http_call_auto_(&f->call);
	fl_http_client_free(f->client);
	fl_pages_stop(&f->pages);
	fl_loop_free(f->loop);
	fl_metrics_free(f->metrics);
	fl_io_free(f->io);
}

static int feed(struct fixture *f)
{
	struct fl_feed *maps = fl_loop_feed(f->loop, &fl_config_map_kind);
	struct fl_config_map map = { 0 };

	FL_SET(FL_IN(&map, meta), name, FL_S("a b"));
	FL_SET(&map.meta, space, FL_S("ns"));
	fl_feed_begin(maps);
	if (fl_feed_put(maps, &map, &f->err) < 0)
		return -(int)f->err.code;
	fl_feed_synced(maps);
	fl_feed_begin(fl_loop_feed(f->loop, &fl_node_kind));
	fl_feed_synced(fl_loop_feed(f->loop, &fl_node_kind));
	while (!fl_loop_idle(f->loop))
		if (fl_io_turn(f->io, 0, &f->err) < 0)
			return -(int)f->err.code;
	return 0;
}

static int open_it(struct fixture *f)
{
	struct fl_loop_options options = { .seed = { 1, 2 } };
	struct fl_addr addr;

	f->io = test_io();
	f->metrics = fl_metrics_new(seed, &f->err);
	if (!f->io || !f->metrics)
		return -FL_E_NOMEM;
	options.metrics = f->metrics;
	f->loop = fl_loop_new(f->io, &options, &f->err);
	for (const struct fl_kind *const *kind = kinds; f->loop && *kind; kind++)
		if (fl_loop_source(f->loop, &(struct fl_source){ .kind = *kind }, &f->err) < 0)
			return -(int)f->err.code;
	if (!f->loop || fl_loop_capability(f->loop, &thinker, &f->err) < 0 || feed(f) < 0 ||
	    fl_process_add(&f->process, f->metrics, "test", &f->err) < 0)
		return -(int)f->err.code;
	f->pages = (struct fl_pages){ .io = f->io, .title = "test", .loop = f->loop, .metrics = f->metrics,
				      .process = &f->process, .ready = is_ready, .arg = f,
				      .more = more };
	(void)snprintf(f->url, sizeof f->url, "unix:%s", test_path(test_dir(), "pages"));
	if (fl_pages_start(&f->pages, &f->err) < 0 || fl_addr_parse(&addr, fl_str(f->url), &f->err) < 0 ||
	    fl_http_server_listen(f->pages.server, &addr, 0600, NULL, NULL, &f->err) < 0)
		return -(int)f->err.code;
	f->client = fl_http_client_new(f->io, &(struct fl_http_client_options){ .url = fl_str(f->url) }, &f->err);
	return f->client ? 0 : -(int)f->err.code;
}

/* The status, or -code; the answer's text is f->call.reply. */
static int64_t ask(struct fixture *f, const char *method, const char *target, const char *accept)
{
	static struct fl_header header;

	header = (struct fl_header){ FL_S("accept"), fl_str(accept) };
	fl_http_call_free(&f->call);
	f->call = (struct fl_http_call){ .op = { .err = &f->err, .deadline = fl_now(f->io) + 5 * FL_NS_PER_S },
					 .method = fl_str(method), .target = fl_str(target),
					 .headers = { &header, accept ? 1 : 0 } };
	fl_http_start(f->client, &f->call);
	return test_op(f->io, &f->call.op);
}

static const struct {
	const char *says, *method, *target, *accept;
	int status;
	const char *body;   /* the whole, or its beginning before a '*' */
} rows[] = {
	{ "the loop turns", "GET", "/healthz", NULL, 200, "ok\n" },
	{ "ready", "GET", "/readyz", NULL, 200, "ready\n" },
	{ "a list of all pages", "GET", "/", NULL, 200, "test "
	  FL_VERSION "\n\n/                This list.\n/healthz *" },
	{ "its own page", "GET", "/own", NULL, 200, "own 0\n" },
	{ "a page that is not there", "GET", "/nothing", NULL, 404, "*" },
	{ "only to look at", "POST", "/healthz", NULL, 405, "*" },
	{ "a HEAD is answered as a GET, without the body", "HEAD", "/healthz", NULL, 200, "" },
	{ "what the plans say", "GET", "/explain?kind=configmap&name=a%20b&namespace=ns", NULL, 200,
	  "thinker: Thinks: of \"a b\"\n" },
	{ "for programs", "GET", "/explain?kind=cm&name=a%20b&namespace=ns&output=json", NULL, 200,
	  "{\"kind\":\"ConfigMap\",\"namespace\":\"ns\",\"name\":\"a b\","
	  "\"lines\":[\"thinker: Thinks: of \\\"a b\\\"\"]}\n" },
	{ "for programs by their header", "GET", "/explain?kind=ConfigMap&name=a+b&namespace=ns", "application/json",
	  200,
	  "{\"kind\":\"ConfigMap\",*" },
	{ "the query counts more than the header", "GET", "/explain?kind=ConfigMap&name=a+b&namespace=ns&output=text",
	  "application/json", 200, "thinker: *" },
	{ "nothing is asked", "GET", "/explain", NULL, 400, "what should be explained? /explain?kind=KIND&name=NAME*" },
	{ "half of it is asked", "GET", "/explain?kind=node", NULL, 400, "what should be explained?*" },
	{ "an output that is none", "GET", "/explain?kind=node&name=a&output=xml", NULL, 400,
	  "output is json or text\n" },
	{ "a query that is none", "GET", "/explain?kind=%zz&name=a", NULL, 400, "'kind' in the query: a '%' without*" },
	{ "a kind that nobody knows", "GET", "/explain?kind=rocket&name=a", NULL, 404,
	  "test has nothing to do with a kind 'rocket'; it knows " KINDS "\n" },
	{ "and for programs", "GET", "/explain?kind=rocket&name=a&output=json", NULL, 404,
	  "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"test has "
	  "nothing to do with a kind 'rocket'; it knows " KINDS "\",*" },
	{ "an object that is not there", "GET", "/explain?kind=configmap&name=x&namespace=ns", NULL, 404,
	  "there is no ConfigMap ns/x, and no plan mentions it; there are a b\n" },
	{ "in another namespace there is none", "GET", "/explain?kind=configmap&name=a+b", NULL, 404,
	  "there is no ConfigMap*" },
	{ "a namespace of a kind that has none is passed over", "GET", "/explain?kind=node&name=n&namespace=ns", NULL,
	  404,
	  "there is no Node n,*" },
	{ "a failure for programs is a Status", "GET", "/explain?kind=rocket&name=a&output=json", NULL, 404,
	  "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"test has*" },
	{ "metrics", "GET", "/metrics", NULL, 200, "# HELP workqueue_depth *" },
};

static bool fits(struct fl_str got, const char *want)
{
	size_t len = strlen(want);

	if (len && want[len - 1] == '*')
		return fl_str_starts(got, (struct fl_str){ want, (uint32_t)len - 1 });
	return fl_str_eq(got, fl_str(want));
}

TEST(pages)
{
	FL_AUTO(fixture) struct fixture f = { 0 };

	OK_ERR(open_it(&f), &f.err);
	EACH_ROW (row, rows) {
		int64_t status = ask(&f, row->method, row->target, row->accept);

		OK_ERR(status, &f.err);
		if (test_tortured() && (status != row->status || !fits(fl_buf_view(&f.call.reply), row->body)))
			return;   /* a handler without memory says 503 or 500; a plan without it prints nothing yet */
		CHECK_INT(status, row->status);
		CHECK(fits(fl_buf_view(&f.call.reply), row->body));
	}
}

TEST(readiness_is_told_in_words)
{
	FL_AUTO(fixture) struct fixture f = { 0 };

	OK_ERR(open_it(&f), &f.err);
	f.lacks = "waits for the moon";
	OK_ERR(ask(&f, "GET", "/readyz", NULL), &f.err);
	if (test_tortured())
		return;
	CHECK_INT(f.call.status, 503);
	CHECK_STR(fl_buf_view(&f.call.reply), "waits for the moon\n");
	f.lacks = NULL;
	f.tells = "there is no moon";
	OK_ERR(ask(&f, "GET", "/readyz", NULL), &f.err);
	if (test_tortured())
		return;
	CHECK_INT(f.call.status, 200);
	CHECK_STR(fl_buf_view(&f.call.reply), "ready\nthere is no moon\n");
}

TEST(a_reason_of_4_kib_arrives_whole)
{
	static char reason[4097], want[4098];
	FL_AUTO(fixture) struct fixture f = { 0 };

	memset(reason, 'r', sizeof reason - 1);
	(void)snprintf(want, sizeof want, "%s\n", reason);
	OK_ERR(open_it(&f), &f.err);
	f.lacks = reason;
	OK_ERR(ask(&f, "GET", "/readyz", NULL), &f.err);
	if (test_tortured())
		return;
	CHECK_INT(f.call.status, 503);
	CHECK_STR(fl_buf_view(&f.call.reply), want);
}

TEST(a_reason_beyond_the_limit_is_replaced_by_a_sentence)
{
	static char reason[2 * FL_READY_MAX];
	FL_AUTO(fixture) struct fixture f = { 0 };

	memset(reason, 'r', sizeof reason - 1);
	OK_ERR(open_it(&f), &f.err);
	f.lacks = reason;
	OK_ERR(ask(&f, "GET", "/readyz", NULL), &f.err);
	if (test_tortured())
		return;
	CHECK_INT(f.call.status, 503);
	CHECK_STR(fl_buf_view(&f.call.reply), "not ready; the text is too long or there is no memory for it\n");
}

TEST(a_scrape_knows_the_process)
{
	FL_AUTO(fixture) struct fixture f = { 0 };

	OK_ERR(open_it(&f), &f.err);
	OK_ERR(ask(&f, "GET", "/metrics", NULL), &f.err);
	if (test_tortured())
		return;   /* what could not be seen is left out */
	CHECK_INT(f.call.status, 200);
	CHECK_STR(fl_headers_get(f.call.answer->headers, FL_S("content-type")), FL_METRICS_CONTENT_TYPE);
	CHECK(strstr(f.call.reply.p, "\nprocess_resident_memory_bytes "));
	CHECK(strstr(f.call.reply.p, "\nprocess_open_fds "));
	CHECK(strstr(f.call.reply.p, "\nfairlead_cache_objects{kind=\"ConfigMap\"} 1\n"));
}

/* ---- a long text ---- */

enum { FAMILIES = 24, SERIES = 1000 };

static void collect(struct fl_scrape *scrape, void *self)
{
	char name[16];

	(void)self;
	for (int i = 0; i < SERIES; i++) {
		struct fl_str value;

		(void)snprintf(name, sizeof name, "%d", i);
		value = fl_str(name);
		fl_scrape_value(scrape, &value, i);
	}
}

static char names[FAMILIES][16];
static struct fl_metric many[FAMILIES];

static int add_many(struct fixture *f)
{
	struct fl_family *families[FAMILIES];

	for (int i = 0; i < FAMILIES; i++) {
		(void)snprintf(names[i], sizeof names[i], "many_%d", i);
		many[i] = (struct fl_metric){ names[i], "Many.", FL_GAUGE, { "n" }, .collect = collect };
	}
	return fl_metrics_add(f->metrics, many, FAMILIES, NULL, families, &f->err);
}

/* Each allocation of a text this long would be tortured on its own. */
TEST_ONCE(a_long_scrape_leaves_turns_to_others)
{
	FL_AUTO(fixture) struct fixture f = { 0 };
	FL_AUTO(fl_buf) struct fl_buf whole = FL_BUF(FL_METRICS_TEXT);
	uint64_t turns;

	OK_ERR(open_it(&f), &f.err);
	OK_ERR(add_many(&f), &f.err);
	OK(fl_metrics_write(f.metrics, &whole, NULL));
	turns = fl_io_turns(f.io)->count;
	OK_ERR(ask(&f, "GET", "/metrics", NULL), &f.err);
	CHECK_INT(f.call.status, 200);
	CHECK(f.call.reply.len >= whole.len);
	CHECK(strstr(f.call.reply.p, "\nmany_23{n=\"999\"} 999\n"));
	CHECK(fl_io_turns(f.io)->count - turns > 4);
}

TEST_ONCE(who_goes_in_the_middle_of_a_scrape_leaves_nothing_behind)
{
	FL_AUTO(fixture) struct fixture f = { 0 };

	OK_ERR(open_it(&f), &f.err);
	OK_ERR(add_many(&f), &f.err);
	f.call = (struct fl_http_call){ .op = { .done = test_op_done }, .method = FL_S("GET"),
					.target = FL_S("/metrics") };
	fl_http_start(f.client, &f.call);
	for (int i = 0; i < 12; i++)
		OK_ERR(fl_io_turn(f.io, fl_now(f.io) + FL_NS_PER_MS, &f.err), &f.err);
	fl_op_cancel(&f.call.op);
	OK_ERR(ask(&f, "GET", "/healthz", NULL), &f.err);
	CHECK_INT(f.call.status, 200);
}

/* The process would be restarted by its probe. The simulation has the rest: tests/http/test_room.c. */
TEST_ONCE(sixty_four_idle_connections_do_not_starve_healthz)
{
	FL_AUTO(fixture) struct fixture f = { 0 };
	int fds[FL_PAGES_CONNS];
	struct fl_addr addr;

	OK_ERR(open_it(&f), &f.err);
	OK_ERR(fl_addr_parse(&addr, FL_S("127.0.0.1:0"), &f.err), &f.err);
	OK_ERR(fl_http_server_listen(f.pages.server, &addr, 0, NULL, &addr, &f.err), &f.err);
	for (size_t i = 0; i < FL_LEN(fds); i++) {
		struct fl_connect connect = { .addr = addr };
		struct fl_str ask_it = FL_S("GET / HTTP/1.1\r\nhost: a\r\n\r\n");

		fl_connect(f.io, &connect);
		fds[i] = (int)test_op(f.io, &connect.op);
		OK(fds[i]);
		CHECK_INT(fl_write(f.io, fds[i], ask_it.p, ask_it.len), ask_it.len);
		OK(test_pause(f.io, FL_NS_PER_MS));
	}
	CHECK_INT(fl_http_server_conns(f.pages.server), FL_PAGES_CONNS / 2);
	OK_ERR(ask(&f, "GET", "/healthz", NULL), &f.err);
	CHECK_INT(f.call.status, 200);
	for (size_t i = 0; i < FL_LEN(fds); i++)
		fl_close(f.io, fds[i]);
}

/* Whoever may ask nothing can still have a long target echoed on each of them, and take no answer. */
TEST_ONCE(one_connection_has_few_streams)
{
	FL_AUTO(fixture) struct fixture f = { 0 };
	FL_AUTO(fl_buf) struct fl_buf hello = FL_BUF(FL_KIB);
	struct fl_connect connect = { 0 };
	char bytes[200] = { 0 };
	int64_t got = -FL_E_AGAIN;
	bool few = false;
	int fd;

	h2_hello(&hello);
	OK_ERR(open_it(&f), &f.err);
	OK_ERR(fl_addr_parse(&connect.addr, fl_str(f.url), &f.err), &f.err);
	fl_connect(f.io, &connect);
	fd = (int)test_op(f.io, &connect.op);
	OK(fd);
	CHECK_INT(fl_write(f.io, fd, hello.p, hello.len), hello.len);
	for (int i = 0; i < 1000 && got == -FL_E_AGAIN; i++) {
		OK(test_pause(f.io, FL_NS_PER_MS));
		got = fl_read(f.io, fd, bytes, sizeof bytes);
	}
	fl_close(f.io, fd);
	for (int64_t i = 0; i + 6 <= got; i++)
		few |= memcmp(bytes + i, (char[]){ 0, 3, 0, 0, 0, FL_PAGES_STREAMS }, 6) == 0;
	CHECK(few);
}

TEST(too_many_pages_are_refused)
{
	static struct fl_page pages[FL_PAGES_MAX + 1];
	FL_AUTO(fixture) struct fixture f = { 0 };

	for (int i = 0; i < FL_PAGES_MAX; i++)
		pages[i] = (struct fl_page){ "/x", own_page, "x" };
	f.io = test_io();
	GOT(f.io);
	f.pages = (struct fl_pages){ .io = f.io, .more = pages };
	REFUSED(fl_pages_start(&f.pages, &f.err), FL_E_TOOBIG);
}
