/* The demo's plan, and that its keys miss nothing: as for every capability. */
#include "demo_lamp.h"
#include "keys_check.h"
#include "kind_lint.h"
#include "rig.h"

struct world {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_err err;
};

static void world_auto_(struct world *w)
{
	fl_loop_free(w->loop);
	fl_io_free(w->io);
}

static void start(void *self, struct fl_write *write)
{
	(void)self;
	(void)write;
}
static const struct fl_sink sink = { .start = start, .cancel = start };

static int open_it(struct world *w)
{
	w->io = rig_clock();
	if (!w->io)
		return -FL_E_NOMEM;
	w->loop = fl_loop_new(w->io, &(struct fl_loop_options){ .seed = { 7, 8 }, .standby = true }, &w->err);
	if (!w->loop)
		return -(int)w->err.code;
	for (const struct fl_role_kind *kind = lamp_role.kinds; kind->kind; kind++)
		if (fl_loop_source(w->loop, &(struct fl_source){ kind->kind, kind->by, &sink, NULL }, &w->err) < 0)
			return -(int)w->err.code;
	return fl_loop_capability(w->loop, &lamp_capability, &w->err);
}

static int put(struct world *w, const struct fl_kind *kind, const char *json)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	void *object = fl_arena_get(&arena, kind->root()->size);
	int r = object ? fl_json_read(NULL, fl_str(json), 0, &doc, &w->err) : -FL_E_NOMEM;

	if (r == 0)
		r = fl_decode(kind->root(), yyjson_doc_get_root(doc), &arena, 0, object, &w->err);
	return r < 0 ? r : fl_feed_put(fl_loop_feed(w->loop, kind), object, &w->err);
}

#define LAMP_A(spec) \
	"{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"u\",\"generation\":3},\"spec\":{" spec "}}"
#define NODE(name, value) \
	"{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"taints\":[{\"key\":\"test.fairlead.dev/lamp\"," \
	"\"value\":\"" value "\",\"effect\":\"NoSchedule\"}]}}"
#define MAP(text) "{\"metadata\":{\"name\":\"lamp-a\",\"namespace\":\"ns\"},\"data\":{\"text\":\"" text "\"}}"
#define SEEN "want Lamp ns/a by demo-status {\"status\":{\"observedGeneration\":3"

static const struct {
	const char *says, *lamp, *map, *node, *plan;   /* plan: is in what is printed */
	const char *not;                               /* is not */
} rows[] = {
	{ "a Lamp that wants nothing has its status alone", LAMP_A(""), NULL, NULL, SEEN "}}\n", "demo-map" },
	{ "a text is mirrored, and is not yet", LAMP_A("\"text\":\"hi\""), NULL, NULL, "\"Differs\"", "gone" },
	{ "by its field manager, with its label", LAMP_A("\"text\":\"hi\""), NULL, NULL,
	  "want ConfigMap ns/lamp-a by demo-map {\"metadata\":{\"labels\":{\"test.fairlead.dev/lamp\":\"yes\"}},"
	  "\"data\":{\"text\":\"hi\"}}", "gone" },
	{ "and then it is", LAMP_A("\"text\":\"hi\""), MAP("hi"), NULL, "\"Same\"", "\"Differs\"" },
	{ "another text is none", LAMP_A("\"text\":\"hi\""), MAP("ho"), NULL, "\"Differs\"", "\"Same\"" },
	{ "without a text the ConfigMap goes", LAMP_A(""), MAP("hi"), NULL, "gone ConfigMap ns/lamp-a", "demo-map" },
	{ "without a Lamp, too", NULL, MAP("hi"), NULL, "gone ConfigMap ns/lamp-a", "want Lamp" },
	{ "its Node bears its name", LAMP_A("\"node\":\"n\""), NULL, NODE("n", "else.b"), "\"value\":\"ns.a\"", "gone"
	  },
	{ "a Node that is not there bears nothing", LAMP_A("\"node\":\"m\""), NULL, NODE("n", "else.b"), SEEN,
	  "taints" },
	{ "another Node bears it no more", LAMP_A(""), NULL, NODE("n", "ns.a"), "test.fairlead.dev/lamp", "ns.a" },
};

TEST(the_plan)
{
	EACH_ROW (row, rows) {
		FL_AUTO(world) struct world w = { 0 };
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);
		struct fl_plan plan;

		OK_ERR(open_it(&w), &w.err);
		if (row->lamp)
			OK_ERR(put(&w, &lamp_kind, row->lamp), &w.err);
		if (row->map)
			OK_ERR(put(&w, &fl_config_map_kind, row->map), &w.err);
		if (row->node)
			OK_ERR(put(&w, &fl_node_kind, row->node), &w.err);
		fl_plan_init(&plan, &arena);
		if (!fl_loop_try(w.loop, &lamp_capability, FL_S("ns"), FL_S("a"), &plan, NULL, NULL) || plan.failed) {
			CHECK(test_tortured());
			return;
		}
		fl_plan_print(&plan, &text);
		OK(fl_buf_check(&text, "the plan", NULL));
		CHECK(strstr(text.p, row->plan));
		CHECK(!strstr(text.p, row->not ));
	}
}

/* Each change of each field is a plan: tortured, that would be some hundred thousand rounds. */
TEST_ONCE(its_keys_miss_nothing)
{
	FL_AUTO(world) struct world w = { 0 };
	FL_AUTO(fl_buf) struct fl_buf missed = FL_BUF(FL_MIB);

	OK_ERR(open_it(&w), &w.err);
	OK_ERR(put(&w, &lamp_kind, LAMP_A("\"text\":\"hi\",\"node\":\"n\"")), &w.err);
	OK_ERR(put(&w, &fl_config_map_kind, MAP("hi")), &w.err);
	OK_ERR(put(&w, &fl_node_kind, NODE("n", "ns.a")), &w.err);
	OK_ERR(put(&w, &fl_node_kind, NODE("m", "ns.a")), &w.err);
	OK(keys_check(w.loop, &lamp_capability, FL_S("ns"), FL_S("a"), &missed));
	CHECK_STR(fl_buf_view(&missed), "");
}

TEST(the_kind_holds_together)
{
	struct fl_err err = { 0 };

	OK_ERR(kind_lint(&lamp_kind, &err), &err);
}
