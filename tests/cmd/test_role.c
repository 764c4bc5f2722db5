/* A role from its beginning to its end, on a script that stands for the API server. */
#include "base/units.h"
#include "demo_lamp.h"
#include "http/client.h"
#include "script.h"
#include "test.h"
#include "test_io.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char *const env[] = { "PATH=/usr/bin:/bin", "POD_NAME=pod-1", NULL };

struct fixture {
	struct fl_io *io;
	struct fl_role_flags flags;
	struct fl_role role;
	struct fl_running run;
	struct fl_err err;
	char server[140], listen[140], cert[140];
};

static void fixture_auto_(struct fixture *f)
{
	fl_role_end(&f->run);
	fl_io_free(f->io);
	(void)unlink(f->listen + 5);
}

static struct fl_role_flags flags_of(struct fixture *f)
{
	(void)snprintf(f->server, sizeof f->server, "unix:%s", test_path(test_dir(), "nobody"));
	(void)snprintf(f->listen, sizeof f->listen, "unix:%s", test_path(test_dir(), "pages"));
	(void)snprintf(f->cert, sizeof f->cert, "%s", test_path(test_dir(), "none.pem"));
	return (struct fl_role_flags){
		.server = fl_str(f->server), .listen = fl_str(f->listen), .log_level = FL_LEVEL_COUNT_,
		.lease = FL_S("lease"), .lease_space = FL_S("ns"), .webhook_listen = FL_S("127.0.0.1:0"),
		.lease_duration = 3 * FL_NS_PER_S, .lease_give_up = 2 * FL_NS_PER_S, .lease_retry = FL_NS_PER_S,
		.grace = FL_NS_PER_S,
	};
}

static int begin(struct fixture *f)
{
	int r;

	f->io = f->io ? f->io : test_io();
	if (!f->io)
		return -FL_E_NOMEM;
	r = fl_role_begin(&f->run, &lamp_role, &f->flags, f->io, env, &f->err);
	return r < 0 ? r : fl_role_start(&f->run, &f->err);
}

/* Turns until it is over; how many ns that took. */
static int64_t until_over(struct fixture *f)
{
	uint64_t began = fl_clock(f->io);

	while (fl_role_turn(&f->run, fl_clock(f->io) + 100 * FL_NS_PER_MS, &f->err))
		if (fl_clock(f->io) - began > 20 * FL_NS_PER_S)
			return -FL_E_TIMEOUT;
	return (int64_t)(fl_clock(f->io) - began);
}

static void no_lead(struct fl_role_flags *flags)
{
	(void)flags;
}
static void lead(struct fl_role_flags *flags)
{
	flags->lead = true;
}
static void cert_alone(struct fl_role_flags *flags)
{
	flags->webhook_cert = "/nowhere";
}
static void slow_retry(struct fl_role_flags *flags)
{
	flags->lead = true;
	flags->lease_retry = 2 * FL_NS_PER_S;
}
static void slow_give_up(struct fl_role_flags *flags)
{
	flags->lead = true;
	flags->lease_give_up = 3 * FL_NS_PER_S;
}
static void no_address(struct fl_role_flags *flags)
{
	flags->listen = FL_S("here");
}
static void far_server(struct fl_role_flags *flags)
{
	flags->server = FL_S("http://10.0.0.1:80");
}
static void long_name(struct fl_role_flags *flags)
{
	static char name[FL_ROLE_NAME + 1];

	memset(name, 'a', sizeof name - 1);
	flags->identity = fl_str(name);
}

static const struct {
	const char *says;
	void (*set)(struct fl_role_flags *flags);
	const char *why;       /* NULL: it begins */
} rows[] = {
	{ "without a Lease", no_lead, NULL },
	{ "with one", lead, NULL },
	{ "a certificate without its key", cert_alone, "--webhook-cert and --webhook-key go together" },
	{ "a Lease that is looked at too seldom", slow_retry, "--lease-retry must be less" },
	{ "a leader that gives up too late", slow_give_up, "--lease-retry must be less" },
	{ "an address that is none", no_address, "--listen" },
	{ "an API server elsewhere without TLS", far_server, "loopback" },
	{ "a name that is too long", long_name, "--identity" },
};

TEST(what_a_person_says_is_looked_at)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fixture) struct fixture f = { 0 };
		int r;

		f.flags = flags_of(&f);
		row->set(&f.flags);
		r = begin(&f);
		if (!row->why) {
			OK_ERR(r, &f.err);
			continue;
		}
		REFUSED(r, row->set == far_server ? FL_E_DENIED : FL_E_INVALID);
		CHECK(strstr(f.err.text, row->why));
	}
}

TEST(it_ends_when_it_is_told_to)
{
	FL_AUTO(fixture) struct fixture f = { 0 };
	int64_t took;

	f.flags = flags_of(&f);
	OK_ERR(begin(&f), &f.err);
	CHECK(strcmp(f.run.identity, "pod-1_") > 0 && strncmp(f.run.identity, "pod-1_", 6) == 0);
	CHECK(fl_role_turn(&f.run, 0, &f.err) || test_tortured());
	if (test_tortured())
		return;
	fl_role_stop(&f.run);
	took = until_over(&f);
	OK(took);
	CHECK(took < (int64_t)FL_NS_PER_S || test_tortured());
}

static int asked_to_end;

static bool third_time(struct fl_running *run)
{
	(void)run;
	return ++asked_to_end >= 3;
}

TEST_ONCE(what_is_the_roles_own_is_waited_for)
{
	FL_AUTO(fixture) struct fixture f = { 0 };
	struct fl_role role = lamp_role;

	f.flags = flags_of(&f);
	OK_ERR(begin(&f), &f.err);
	role.ended = third_time;
	f.run.role = &role;
	asked_to_end = 0;
	CHECK(fl_role_turn(&f.run, 0, &f.err));
	CHECK_INT(asked_to_end, 0);
	fl_role_stop(&f.run);
	OK(until_over(&f));
	CHECK_INT(asked_to_end, 3);
}

/* The real time of its grace passes. */
TEST_ONCE(a_lease_that_cannot_be_given_back_costs_the_grace)
{
	FL_AUTO(fixture) struct fixture f = { 0 };
	int64_t took;

	f.flags = flags_of(&f);
	f.flags.lead = true;
	f.flags.grace = 300 * (int64_t)FL_NS_PER_MS;
	OK_ERR(begin(&f), &f.err);
	CHECK(fl_role_turn(&f.run, 0, &f.err));
	fl_role_stop(&f.run);
	took = until_over(&f);
	CHECK(took >= 0 && took < (int64_t)(900 * FL_NS_PER_MS));
}

TEST(the_second_time_it_ends_at_once)
{
	FL_AUTO(fixture) struct fixture f = { 0 };

	f.flags = flags_of(&f);
	f.flags.lead = true;
	f.flags.grace = 600 * (int64_t)FL_NS_PER_S;
	OK_ERR(begin(&f), &f.err);
	fl_role_stop(&f.run);
	CHECK(f.run.stage != FL_ROLE_OVER);
	fl_role_stop(&f.run);
	CHECK(f.run.stage == FL_ROLE_OVER);
}

/* NVIDIA's plugin reads its configuration again at SIGHUP, and what manages it sends that. */
static void sighup_then_sigterm(struct fl_timer *timer)
{
	(void)timer;
	(void)raise(SIGHUP);
	(void)raise(SIGTERM);
}

TEST_ONCE(sighup_ends_nothing_and_sigterm_ends_in_order)
{
	FL_AUTO(fixture) struct fixture f = { 0 };
	struct fl_timer timer = { .fire = sighup_then_sigterm };
	struct fl_role role = lamp_role;

	f.flags = flags_of(&f);
	OK_ERR(begin(&f), &f.err);
	role.ended = third_time;
	f.run.role = &role;
	asked_to_end = 0;
	fl_timer_set(f.io, &timer, fl_now(f.io));
	OK_ERR(fl_role_run(&f.run, &f.err), &f.err);
	CHECK_INT(asked_to_end, 3);
}

/* ---- without an API server ---- */

/* The real time of its own start passes. */
TEST_ONCE(one_that_goes_on_alone_asks_the_api_server_after_its_own_start)
{
	FL_AUTO(fixture) struct fixture f = { 0 };
	struct fl_role alone = lamp_role;
	uint64_t began;

	alone.alone = true;
	f.flags = flags_of(&f);
	f.io = test_io();
	CHECK(f.io);
	OK_ERR(fl_role_begin(&f.run, &alone, &f.flags, f.io, env, &f.err), &f.err);
	began = fl_now(f.io);   /* which its timers count from */
	OK_ERR(fl_role_start(&f.run, &f.err), &f.err);
	CHECK(f.run.watches.len == 0);
	CHECK(fl_feed_known(fl_loop_feed(f.run.loop, &lamp_kind)));
	while (!f.run.watches.len && fl_clock(f.io) - began < 5 * FL_NS_PER_S)
		CHECK(fl_role_turn(&f.run, fl_clock(f.io) + FL_NS_PER_S, &f.err));
	CHECK(f.run.watches.len > 0);
	CHECK(fl_clock(f.io) - began >= FL_ROLE_ALONE_WAIT);
}

TEST_ONCE(one_that_is_told_to_end_before_that_asks_nobody)
{
	FL_AUTO(fixture) struct fixture f = { 0 };
	struct fl_role alone = lamp_role;

	alone.alone = true;
	f.flags = flags_of(&f);
	f.io = test_io();
	CHECK(f.io);
	OK_ERR(fl_role_begin(&f.run, &alone, &f.flags, f.io, env, &f.err), &f.err);
	OK_ERR(fl_role_start(&f.run, &f.err), &f.err);
	fl_role_stop(&f.run);
	OK(until_over(&f));
	CHECK(f.run.watches.len == 0);
}

/* ---- the port of the one before ---- */

static bool answers(const char *address)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool does;

	(void)snprintf(addr.sun_path, sizeof addr.sun_path, "%s", address + strlen("unix:"));
	does = fd >= 0 && connect(fd, (const struct sockaddr *)&addr, sizeof addr) == 0;
	if (fd >= 0)
		(void)close(fd);
	return does;
}

static int begin_behind(struct fixture *f, const struct fixture *first, bool goes_on_alone)
{
	int r;

	f->role = lamp_role;
	f->role.alone = goes_on_alone;
	f->flags = flags_of(f);
	f->flags.listen = first->flags.listen;
	f->io = test_io();
	r = f->io ? fl_role_begin(&f->run, &f->role, &f->flags, f->io, env, &f->err) : -FL_E_NOMEM;
	return r < 0 ? r : fl_role_start(&f->run, &f->err);
}

/* The real time until it tries again passes. */
TEST_ONCE(one_that_goes_on_alone_waits_for_the_port_until_the_one_before_has_gone)
{
	FL_AUTO(fixture) struct fixture first = { 0 }, second = { 0 };
	uint64_t tries, gone;

	first.flags = flags_of(&first);
	OK_ERR(begin(&first), &first.err);
	OK_ERR(begin_behind(&second, &first, true), &second.err);
	tries = fl_clock(second.io);
	while (fl_clock(second.io) - tries < FL_ROLE_LISTEN_RETRY + FL_ROLE_LISTEN_RETRY / 2)
		CHECK(fl_role_turn(&second.run, fl_clock(second.io) + FL_NS_PER_MS, &second.err));
	fl_role_end(&first.run);
	CHECK(!answers(first.listen));
	gone = fl_clock(second.io);
	while (!answers(first.listen) && fl_clock(second.io) - gone < 5 * FL_NS_PER_S)
		CHECK(fl_role_turn(&second.run, fl_clock(second.io) + 10 * FL_NS_PER_MS, &second.err));
	CHECK(answers(first.listen));
	CHECK(fl_clock(second.io) - gone < FL_ROLE_LISTEN_RETRY + 500 * FL_NS_PER_MS);
}

TEST(one_that_does_not_is_refused_the_port)
{
	FL_AUTO(fixture) struct fixture first = { 0 }, second = { 0 };

	first.flags = flags_of(&first);
	OK_ERR(begin(&first), &first.err);
	REFUSED(begin_behind(&second, &first, false), FL_E_EXISTS);
	CHECK(test_tortured() || strstr(second.err.text, "--listen: "));
	CHECK(answers(first.listen) || test_tortured());
}

/* ---- readiness ---- */

static int know(struct fixture *f, const struct fl_kind *kind)
{
	fl_feed_begin(fl_loop_feed(f->run.loop, kind));
	fl_feed_synced(fl_loop_feed(f->run.loop, kind));
	return 0;
}

static struct fl_str ready(struct fixture *f, struct fl_buf *words)
{
	bool is = f->run.pages.ready(f->run.pages.arg, words);

	if (is)
		fl_buf_str(words, FL_S("ready"));
	return fl_buf_view(words);
}
#define READY(want) \
	do { \
		char room_[1024]; \
		struct fl_buf words_ = FL_BUF_IN(room_); \
		CHECK(fl_str_starts(ready(&f, &words_), fl_str(want))); \
	} while (0)

static bool not_mended(const struct fl_running *run, struct fl_buf *words)
{
	(void)run;
	fl_buf_str(words, FL_S("mount it"));
	return false;
}

/* What waits for the role's own is told by the role, and not by the name of a kind. */
TEST(what_a_person_can_mend_is_told_before_kinds_that_are_not_known)
{
	FL_AUTO(fixture) struct fixture f = { 0 };

	f.flags = flags_of(&f);
	OK_ERR(begin(&f), &f.err);
	READY("waits for lamps.test.fairlead.dev: starting");
	f.role = lamp_role;
	f.role.ready = not_mended;
	f.run.role = &f.role;
	READY("mount it");
}

TEST(what_is_missing_is_told_one_after_another)
{
	FL_AUTO(fixture) struct fixture f = { 0 };

	f.flags = flags_of(&f);
	f.flags.webhook_cert = f.flags.webhook_key = f.cert;
	OK_ERR(begin(&f), &f.err);
	READY("waits for lamps.test.fairlead.dev: starting");
	OK(know(&f, &lamp_kind));
	READY("waits for configmaps: starting");
	fl_feed_absent(fl_loop_feed(f.run.loop, &fl_config_map_kind));   /* as good as known */
	READY("waits for nodes: starting");
	OK(know(&f, &fl_node_kind));
	READY("waits for the certificate of the webhooks, ");
	f.run.loaded = true;
	READY("ready");
	fl_role_stop(&f.run);
	READY("stopping");
}

/* ---- one kind, watched with several selectors ---- */

static void any_key(const void *before, const void *after, struct fl_dirty *dirty)
{
	(void)before;
	(void)after;
	fl_dirty_key(dirty, FL_S(""), FL_S(""));
}

static bool gather_nothing(struct fl_view *view, struct fl_ref key, void *facts)
{
	(void)view;
	(void)key;
	(void)facts;
	return false;
}

static void plan_nothing(const void *facts, struct fl_plan *plan)
{
	(void)facts;
	(void)plan;
}

static const struct fl_watched maps_watches[] = { { &fl_config_map_kind, any_key, false }, { 0 } };
static const struct fl_capability maps = { .name = "maps", .watches = maps_watches, .facts_size = 1,
					   .gather = gather_nothing, .plan = plan_nothing };
static const struct fl_role_kind two_rows[] = {
	{ .kind = &fl_config_map_kind, .labels = "color=red" },
	{ .kind = &fl_config_map_kind, .labels = "color=blue", .source = "blue" },
	{ 0 },
};
static const struct fl_role two_sources = {
	.name = "demo", .reports = "test.fairlead.dev/demo", .kinds = two_rows,
	.capabilities = (const struct fl_capability *const[]){ &maps, NULL },
};

#define WATCH_OF(color) "/api/v1/configmaps?watch=true&labelSelector=color%3D" color "*"
#define MAP_NAMED(name) \
	"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ns\"," \
	"\"uid\":\"" name "\",\"resourceVersion\":\"4\"}}}\n"
#define END_OF_LIST \
	"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"5\",\"annotations\":" \
	"{\"k8s.io/initial-events-end\":\"true\"}}}}\n"
static const struct exchange two_watches[] = {
	{ WATCH_OF("red"), 200, MAP_NAMED("r") END_OF_LIST, .stay = true },
	{ WATCH_OF("blue"), 200, MAP_NAMED("b"), .stay = true },   /* the end of its list comes later */
	{ 0 },
};

static int begin_on(struct fixture *f, struct script *script, const struct fl_role *role)
{
	int r;

	f->flags = flags_of(f);
	f->flags.server = fl_str(script->server_url);
	f->io = test_io();
	r = f->io ? fl_role_begin(&f->run, role, &f->flags, f->io, env, &f->err) : -FL_E_NOMEM;
	return r < 0 ? r : fl_role_start(&f->run, &f->err);
}

static bool has_map(struct fixture *f, const char *name)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(f->run.loop, &arena);

	return fl_view_get(&view, &fl_config_map_kind, FL_S("ns"), fl_str(name)) != NULL;
}

/* Turns of both until /readyz begins so, and the ConfigMap is there. */
static bool comes_to(struct fixture *f, struct script *script, const char *words, const char *map)
{
	for (int i = 0; i < 2000; i++) {
		char room[1024];
		struct fl_buf buf = FL_BUF_IN(room);

		if (fl_str_starts(ready(f, &buf), fl_str(words)) && has_map(f, map))
			return true;
		if (test_pause(script->io, FL_NS_PER_MS / 2) < 0 ||
		    !fl_role_turn(&f->run, fl_clock(f->io) + FL_NS_PER_MS / 2, &f->err))
			return false;
	}
	return false;
}

/* ---- what the API server refuses, of one that goes on ---- */

#define FORBIDDEN 403, "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"no\",\"code\":403}"

static const struct exchange unread[] = {
	{ WATCH_OF("red"), 200, MAP_NAMED("r") END_OF_LIST, .stay = true },
	{ WATCH_OF("blue"), FORBIDDEN, .always = true },
	{ 0 },
};
static const struct exchange unwritten[] = {
	{ WATCH_OF("red"), 200, MAP_NAMED("r") END_OF_LIST, .stay = true },
	{ WATCH_OF("blue"), 200, END_OF_LIST, .stay = true },
	{ "/api/v1/namespaces/ns/configmaps/r*", FORBIDDEN, .always = true },
	{ 0 },
};

static const struct fl_owner map_owner = {
	.manager = "maps", .kind = &fl_config_map_kind, .paths = (const char *const[]){ "data[text]", NULL },
};

static bool gather_all(struct fl_view *view, struct fl_ref key, void *facts)
{
	(void)view;
	(void)key;
	(void)facts;
	return true;
}

static void plan_map(const void *facts, struct fl_plan *plan)
{
	struct fl_ref ref = { &fl_config_map_kind, FL_S("ns"), FL_S("r"), FL_S("") };
	struct fl_pair text = { FL_S("text"), FL_S("x") };
	struct fl_config_map map = { 0 };

	(void)facts;
	FL_SET(&map, data, ((struct fl_map){ &text, 1 }));
	fl_want(plan, &map_owner, ref, &map);
}

static const struct fl_capability writes_map = {
	.name = "writer", .watches = maps_watches, .once = true, .facts_size = 1, .gather = gather_all,
	.owners = (const struct fl_owner *const[]){ &map_owner, NULL }, .plan = plan_map,
};
static const struct fl_role goes_on = {
	.name = "demo", .reports = "test.fairlead.dev/demo", .kinds = two_rows, .alone = true,
	.capabilities = (const struct fl_capability *const[]){ &maps, NULL },
};
static const struct fl_role writer = {
	.name = "demo", .reports = "test.fairlead.dev/demo", .kinds = two_rows,
	.capabilities = (const struct fl_capability *const[]){ &writes_map, NULL },
};

static const struct {
	const char *says;
	const struct fl_role *role;
	const struct exchange *script;
	const char *words;
} refusals[] = {
	{ "a kind that may not be read", &goes_on, unread,
	  "the API server refuses to read configmaps (blue): check the token and the permissions of this account: no"
	  "ready" },
	{ "a write", &writer, unwritten,
	  "the API server refuses to write configmaps for writer (denied; 1 in all): check the token and the "
	  "permissions of this account; see the logready" },
};

/* Real sockets and real time. */
TEST_ONCE(what_the_api_server_refuses_is_told_by_one_that_is_ready)
{
	EACH_ROW (row, refusals) {
		FL_AUTO(fixture) struct fixture f = { 0 };
		FL_AUTO(script) struct script script = { 0 };

		OK(script_open(&script, row->script));
		OK_ERR(begin_on(&f, &script, row->role), &f.err);
		CHECK(comes_to(&f, &script, row->words, "r"));
	}
}

/* Real sockets and real time. */
TEST_ONCE(a_kind_in_two_rows_has_two_watches_and_one_cache)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);
	FL_AUTO(fixture) struct fixture f = { 0 };
	FL_AUTO(script) struct script script = { 0 };

	OK(script_open(&script, two_watches));
	OK_ERR(begin_on(&f, &script, &two_sources), &f.err);
	READY("waits for configmaps: starting");
	CHECK(comes_to(&f, &script, "waits for configmaps (blue): ", "b"));
	script_more(&script, END_OF_LIST);
	CHECK(comes_to(&f, &script, "ready", "r") && has_map(&f, "b"));
	CHECK_STR(fl_str(script.wrong), "");
	OK(fl_metrics_write(f.run.metrics, &text, NULL));
	CHECK(strstr(text.p, "fairlead_watch_live{kind=\"ConfigMap\",source=\"\"} 1\n"));
	CHECK(strstr(text.p, "fairlead_watch_live{kind=\"ConfigMap\",source=\"blue\"} 1\n"));
	CHECK(fl_loop_kind(f.run.loop, 0) == &fl_config_map_kind && !fl_loop_kind(f.run.loop, 1));   /* once */
}

static const struct {
	const char *says;
	struct fl_role_kind further;
} no_rows[] = {
	{ "a further row without a name", { .kind = &fl_config_map_kind } },
	{ "one with indexes",
	  { .kind = &fl_config_map_kind, .source = "blue", .by = (const struct fl_index[]){ { 0 } } } },
};

TEST(a_further_row_that_cannot_be_is_refused)
{
	EACH_ROW (row, no_rows) {
		const struct fl_role_kind kinds[] = { two_rows[0], row->further, { 0 } };
		FL_AUTO(fixture) struct fixture f = { 0 };

		f.role = two_sources;
		f.role.kinds = kinds;
		f.flags = flags_of(&f);
		f.io = test_io();
		GOT(f.io);
		REFUSED(fl_role_begin(&f.run, &f.role, &f.flags, f.io, env, &f.err), FL_E_INVALID);
		CHECK(test_tortured() || strstr(f.err.text, "a further row of ConfigMap needs a source name"));
	}
}

/* ---- the environment ---- */

TEST_ONCE(a_variable_that_no_option_reads_is_named_in_the_log)
{
	static const struct fl_option rows_[] = {
		FL_OPT_BOOL(struct fl_role_flags, open_metrics, "open-metrics", "Answer all."),
	};
	static const struct fl_command verb = { "lamp", "Shine.", FL_COMMAND_OPTIONS(rows_, struct fl_role_flags) };
	static const struct fl_command *const verbs[] = { &verb };
	static const struct fl_program program = { "lamps", "Lamps.", "FAIRLEAD_", verbs, 1 };
	static const char *const wrong[] = { "FAIRLEAD_OPEN_METRIC=true", "FAIRLEAD_OPEN_METRICS=true", NULL };
	FL_AUTO(fixture) struct fixture f = { .io = test_io() };
	struct fl_role role = lamp_role;
	char text[1024] = "";
	int to[2], before = dup(STDERR_FILENO);

	role.program = &program;
	f.flags = flags_of(&f);
	f.flags.log_level = FL_WARN;
	CHECK(f.io && before >= 0 && pipe2(to, O_NONBLOCK) == 0 && dup2(to[1], STDERR_FILENO) >= 0);
	OK_ERR(fl_role_begin(&f.run, &role, &f.flags, f.io, wrong, &f.err), &f.err);
	CHECK(dup2(before, STDERR_FILENO) >= 0);
	CHECK(read(to[0], text, sizeof text - 1) > 0);
	CHECK(strstr(text, "\"FAIRLEAD_OPEN_METRIC\"") && strstr(text, "\"nearest\":\"FAIRLEAD_OPEN_METRICS\""));
	CHECK(!strstr(text, "\"name\":\"FAIRLEAD_OPEN_METRICS\""));
	(void)close(to[0]);
	(void)close(to[1]);
	(void)close(before);
}
