/* From the wire to the wire: a watch feeds, a plan wants, an apply goes out, and its answer is what counts. */
#include "api/demo.h"
#include "base/metrics.h"
#include "base/units.h"
#include "run/kube.h"
#include "script.h"
#include "test.h"
#include "test_io.h"

#define ROCKETS "/apis/demo.fairlead.test/v1alpha1/"
#define HEAD "\"apiVersion\":\"demo.fairlead.test/v1alpha1\",\"kind\":\"Rocket\","
#define META(version) \
	"\"metadata\":{\"name\":\"r1\",\"namespace\":\"team\",\"uid\":\"u1\",\"resourceVersion\":\"" version "\""
#define FULL_STATE(items) \
	items "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"5\",\"annotations\":" \
	      "{\"k8s.io/initial-events-end\":\"true\"}}}}\n"
#define ADDED(object) "{\"type\":\"ADDED\",\"object\":" object "}\n"

/* spec.replicas is what should be: a rocket called gone-* should not be, one with finalizers needs ours. */
static const struct fl_owner owner = {
	.manager = "fairlead-demo", .kind = &fl_demo_kind,
	.paths = (const char *const[]){ "status.capacity", "status.conditions[type=Ready]", NULL },
};
static const struct fl_owner *const owners[] = { &owner, NULL };
static const struct fl_shared finalizers = { "fairlead-hold", &fl_demo_kind, "metadata.finalizers", NULL };

struct facts {
	const struct fl_demo *rocket;
};

static void keys(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct fl_demo *rocket = after ? after : before;

	fl_dirty_key(dirty, rocket->meta.space, rocket->meta.name);
}

static bool gather(struct fl_view *view, struct fl_ref key, void *facts)
{
	((struct facts *)facts)->rocket = fl_view_get(view, &fl_demo_kind, key.space, key.name);
	return ((struct facts *)facts)->rocket != NULL;
}

static void plan_it(const void *facts, struct fl_plan *plan)
{
	const struct fl_demo *rocket = ((const struct facts *)facts)->rocket;
	struct fl_ref ref = FL_REF(&fl_demo_kind, rocket);
	struct fl_str mine = FL_S("fairlead/hold");
	struct fl_demo want = { 0 };

	if (rocket->spec.armed && rocket->spec.has.at_least)
		fl_want_deleted(plan, ref, &(struct fl_deletion){ FL_FOREGROUND, .as_seen = true,
								  .grace_s = rocket->spec.at_least });
	else if (rocket->spec.armed)
		fl_want_gone(plan, ref);
	if (rocket->meta.has.finalizers)
		fl_want_item(plan, &finalizers, ref, &mine);
	if (!rocket->spec.has.replicas)
		return;
	FL_SET(FL_IN(FL_IN(&want, status), capacity), total, rocket->spec.replicas);
	if (rocket->spec.has.at_least)
		fl_want_claim(plan, &owner, ref, &want);
	else
		fl_want(plan, &owner, ref, &want);
}

static const struct fl_watched watches[] = { { &fl_demo_kind, keys, false }, { 0 } };
static const struct fl_capability demo = {
	.name = "demo", .watches = watches, .key = &fl_demo_kind, .owners = owners, .facts_size = sizeof(struct facts),
	.gather = gather, .plan = plan_it,
};

struct world {
	struct script script;
	struct fl_metrics *metrics;
	struct fl_loop *loop;
	struct fl_watch *watch;
};

static void world_auto_(struct world *w)
{
	w->watch = fl_watch_free(w->watch);
	w->loop = fl_loop_free(w->loop);
	w->metrics = fl_metrics_free(w->metrics);
	script_close(&w->script);
}

static int world_open(struct world *w, const struct exchange *exchanges)
{
	struct fl_loop_options options = { .seed = { 1, 2 } };
	struct fl_watch_options watch = { .kind = &fl_demo_kind, .to = &fl_feed_watch };
	struct fl_source source = { .kind = &fl_demo_kind, .sink = &fl_kube_sink };
	int r = script_open(&w->script, exchanges);

	if (r < 0)
		return r;
	source.sink_arg = w->script.kube;
	options.metrics = w->metrics = fl_metrics_new(options.seed, NULL);
	if (!w->metrics)
		return -FL_E_NOMEM;
	w->loop = fl_loop_new(w->script.io, &options, NULL);
	if (!w->loop || fl_loop_source(w->loop, &source, NULL) < 0 || fl_loop_capability(w->loop, &demo, NULL) < 0)
		return -FL_E_NOMEM;
	watch.arg = fl_loop_feed(w->loop, &fl_demo_kind);
	w->watch = fl_watch_new(w->script.kube, &watch, NULL);
	return w->watch ? 0 : -FL_E_NOMEM;
}

static const struct {
	const char *says;
	struct exchange script[4];
	const char *body, *type;   /* of the write */
} rows[] = {
	{ "a difference is applied to the status with the uid that was seen, and its answer ends it",
	  { { ROCKETS "rockets?*", 200,
	      FULL_STATE(ADDED("{" HEAD META("3") "},\"spec\":{\"replicas\":2}}")), .stay = true },
	    { ROCKETS "namespaces/team/rockets/r1/status?fieldManager=fairlead-demo&force=true", 200,
	      "{" HEAD META("6") "},\"spec\":{\"replicas\":2},\"status\":{\"capacity\":{\"total\":2}}}" } },
	  "{" HEAD "\"metadata\":{\"name\":\"r1\",\"namespace\":\"team\",\"uid\":\"u1\"},"
	  "\"status\":{\"capacity\":{\"total\":2}}}", "application/apply-patch+yaml" },
	{ "a claim names the version that was seen",
	  { { ROCKETS "rockets?*", 200,
	      FULL_STATE(ADDED("{" HEAD META("3") "},\"spec\":{\"replicas\":2,\"minAvailable\":1}}")), .stay = true },
	    { ROCKETS "namespaces/team/rockets/r1/status?fieldManager=fairlead-demo&force=true", 200,
	      "{" HEAD META("6") "},\"spec\":{\"replicas\":2},\"status\":{\"capacity\":{\"total\":2}}}" } },
	  "{" HEAD META("3") "},\"status\":{\"capacity\":{\"total\":2}}}", "application/apply-patch+yaml" },
	{ "no difference, no write",
	  { { ROCKETS "rockets?*", 200,
	      FULL_STATE(ADDED("{" HEAD META("3") "},\"spec\":{\"replicas\":2},\"status\":{\"capacity\":{\"total\":2}"
						  "}}")),
	      .stay = true } },
	  NULL, NULL },
	{ "an item of a shared list is a patch of the version that was seen",
	  { { ROCKETS "rockets?*", 200, FULL_STATE(ADDED("{" HEAD META("3") ",\"finalizers\":[\"theirs\"]}}")), .stay =
	      true },
	    { ROCKETS "namespaces/team/rockets/r1?fieldManager=fairlead-hold", 200,
	      "{" HEAD META("6") ",\"finalizers\":[\"theirs\",\"fairlead/hold\"]}}" } },
	  "[{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\",\"value\":\"3\"},"
	  "{\"op\":\"add\",\"path\":\"/metadata/finalizers/-\",\"value\":\"fairlead/hold\"}]",
		  "application/json-patch+json" },
	{ "what should not be is deleted, this one and no other",
	  { { ROCKETS "rockets?*", 200, FULL_STATE(ADDED("{" HEAD META("3") "},\"spec\":{\"armed\":true}}")), .stay =
	      true },
	    { ROCKETS "namespaces/team/rockets/r1*", 200, "{\"kind\":\"Status\",\"status\":\"Success\"}" } },
	  "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"preconditions\":{\"uid\":\"u1\"},"
	  "\"propagationPolicy\":\"Background\"}", "application/json" },
	{ "it is deleted as the plan says, and only at the version that was seen",
	  { { ROCKETS "rockets?*", 200,
	      FULL_STATE(ADDED("{" HEAD META("3") "},\"spec\":{\"armed\":true,\"minAvailable\":9}}")), .stay = true },
	    { ROCKETS "namespaces/team/rockets/r1*", 200, "{\"kind\":\"Status\",\"status\":\"Success\"}" } },
	  "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"preconditions\":{\"uid\":\"u1\","
	  "\"resourceVersion\":\"3\"},\"propagationPolicy\":\"Foreground\",\"gracePeriodSeconds\":9}",
	  "application/json" },
};

/* Turns until `asked` questions have come and nothing is on its way. */
static int settle(struct world *w, unsigned asked)
{
	for (int i = 0; i < 300; i++) {
		int r = test_pause(w->script.io, FL_NS_PER_MS);

		if (r < 0)
			return r;
		if (w->script.asked >= asked && fl_loop_idle(w->loop) && !fl_loop_missing(w->loop) && i > 5)
			return 0;
	}
	return test_tortured() ? -FL_E_TIMEOUT : 0;
}

/* Real sockets and real time, and under torture each round would wait for its retries: the same paths are tortured in
 * tests/run/test_run.c and tests/kube. */
TEST_ONCE(from_the_wire_to_the_wire)
{
	EACH_ROW (row, rows) {
		FL_AUTO(world) struct world w = { 0 };
		unsigned asked = row->type ? 2 : 1;

		OK(world_open(&w, row->script));
		OK(settle(&w, asked));
		CHECK_STR(fl_str(w.script.wrong), "");
		CHECK_INT(w.script.asked, asked);
		CHECK(fl_loop_idle(w.loop));
		if (row->body)
			CHECK_STR(fl_str(w.script.got_body), row->body);
		if (row->type && row->body)
			CHECK_STR(fl_str(w.script.got_type), row->type);
	}
}

static bool has_version(const struct world *w, struct fl_str version)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);
	const struct fl_demo *rocket = fl_view_get(&view, &fl_demo_kind, FL_S("team"), FL_S("r1"));

	return rocket && fl_str_eq(rocket->meta.resource_version, version);
}

#define ECHO(version) \
	"{\"type\":\"MODIFIED\",\"object\":{" HEAD META(version) "},\"spec\":{\"replicas\":2}," \
	"\"status\":{\"capacity\":{\"total\":2}}}}\n"

/* The answer, of version 6, is none that could be read. */
static const struct {
	const char *says, *version, *echo, *told;
} overtaken[] = {
	{ "what the watch has told already is not looked at in the answer", "6", ECHO("6"), "done\"} 1\n" },
	{ "what it has not told is", "4", ECHO("4"), "failed\"} 1\n" },
};

TEST_ONCE(an_answer_that_its_echo_has_overtaken)   /* as above */
{
	static const struct exchange exchanges[] = {
		{ ROCKETS "rockets?*", 200, FULL_STATE(ADDED("{" HEAD META("3") "},\"spec\":{\"replicas\":2}}")),
		  .stay = true },
		{ ROCKETS "namespaces/team/rockets/r1/status?*", .held = true },
		{ 0 },
	};

	EACH_ROW (row, overtaken) {
		FL_AUTO(world) struct world w = { 0 };
		FL_AUTO(fl_buf) struct fl_buf told = FL_BUF(FL_MIB);

		OK(world_open(&w, exchanges));
		for (int i = 0; i < 1000 && !w.script.held; i++)
			OK(test_pause(w.script.io, FL_NS_PER_MS));
		script_more(&w.script, row->echo);
		for (int i = 0; i < 1000 && !has_version(&w, fl_str(row->version)); i++)
			OK(test_pause(w.script.io, FL_NS_PER_MS));
		CHECK(has_version(&w, fl_str(row->version)) && w.script.held);
		script_answer(&w.script, "{" META("6") "}, and more");
		OK(settle(&w, 2));
		OK(fl_metrics_write(w.metrics, &told, NULL));
		CHECK(memmem(told.p, told.len, row->told, strlen(row->told)));
	}
}

/* A proxy on the way may answer anything. */
static const struct {
	const char *says, *answer;
} others[] = {
	{ "an answer without a name is refused", "{}" },
	{ "an answer about another name is refused",
	  "{" HEAD "\"metadata\":{\"name\":\"r2\",\"namespace\":\"team\",\"uid\":\"u2\",\"resourceVersion\":\"6\"}}" },
	{ "an answer about another namespace is refused",
	  "{" HEAD "\"metadata\":{\"name\":\"r1\",\"namespace\":\"crew\",\"uid\":\"u1\",\"resourceVersion\":\"6\"}}" },
};

TEST_ONCE(an_answer_about_another_object)   /* as above */
{
	EACH_ROW (row, others) {
		struct exchange exchanges[] = {
			{ ROCKETS "rockets?*", 200,
			  FULL_STATE(ADDED("{" HEAD META("3") "},\"spec\":{\"replicas\":2}}")), .stay = true },
			{ ROCKETS "namespaces/team/rockets/r1/status?*", 200, row->answer },
			{ 0 },
		};
		FL_AUTO(world) struct world w = { 0 };
		FL_AUTO(fl_buf) struct fl_buf told = FL_BUF(FL_MIB);

		OK(world_open(&w, exchanges));
		for (int i = 0; i < 1000 && (w.script.asked < 2 || fl_loop_writing(w.loop)); i++)
			OK(test_pause(w.script.io, FL_NS_PER_MS));
		CHECK_INT(w.script.asked, 2);
		OK(fl_metrics_write(w.metrics, &told, NULL));
		CHECK(memmem(told.p, told.len, "failed\"} 1\n", 11));
		CHECK(has_version(&w, FL_S("3")));
	}
}
