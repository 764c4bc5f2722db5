/* When the driver is released, and at whose word. */
#include "node/pausing.h"
#include "api/node.h"
#include "base/units.h"
#include "keys_check.h"
#include "plan/gpu_facts.h"
#include "rig.h"

#define NODE(labels) "metadata: {name: n1, labels: {" labels "}}\n"

#define LABEL "nvidia.com/gpu.deploy.device-plugin: paused-for-mig-change"
#define SAID "the Node's label nvidia.com/gpu.deploy.device-plugin is paused-for-mig-change"
#define NOT(who) "gone Pause " who "\n"
#define KEEP(who, why) "want Pause " who " by fairlead-driver-pause {\"why\":\"" why "\"}\n"
#define TOLD ",\"asked\":7"
#define FREE(told) "want DriverPause driver by fairlead-driver-pause {\"paused\":false" told "}\n"
#define HOLD(why, told) \
	"want DriverPause driver by fairlead-driver-pause {\"paused\":true,\"why\":\"" why "\"" told "}\n" \
	"say DriverPause driver: Paused: " why "\n"

static const struct {
	const char *says;
	const char *word;                      /* the operator's: "" to resume; NULL: nothing was said */
	const char *by_operator, *by_node;     /* what is remembered */
	const char *node, *plan;
} rows[] = {
	{ "nobody has asked", NULL, NULL, NULL, NODE("a: b"), NOT("operator") NOT("node") FREE("") },
	{ "nobody has, and there is no API server", NULL, NULL, NULL, NULL, NOT("operator") NOT("node") FREE("") },
	{ "the operator has", "an upgrade", NULL, NULL, NULL,
	  KEEP("operator", "an upgrade") NOT("node") HOLD("an upgrade", TOLD) },
	{ "a label of the Node does", NULL, NULL, NULL, NODE(LABEL),
	  NOT("operator") KEEP("node", SAID) HOLD(SAID, "") },
	{ "the same label says that it is to run", NULL, NULL, NULL,
	  NODE("nvidia.com/gpu.deploy.device-plugin: 'true'"), NOT("operator") NOT("node") FREE("") },
	{ "another label with that value is nobody's wish", NULL, NULL, NULL,
	  NODE("example.com/x: paused-for-mig-change"), NOT("operator") NOT("node") FREE("") },
	{ "both: what the operator says is what people read", "an upgrade", NULL, NULL, NODE(LABEL),
	  KEEP("operator", "an upgrade") KEEP("node", SAID) HOLD("an upgrade", TOLD) },
	{ "the operator had asked one who was here before us", NULL, "an upgrade", NULL, NULL,
	  KEEP("operator", "an upgrade") NOT("node") HOLD("an upgrade", "") },
	{ "and takes it back", "", "an upgrade", NULL, NULL, NOT("operator") NOT("node") FREE(TOLD) },
	{ "and asks for another one", "a repair", "an upgrade", NULL, NULL,
	  KEEP("operator", "a repair") NOT("node") HOLD("a repair", TOLD) },
	{ "a label did when the Node was seen last", NULL, NULL, "the label", NULL,
	  NOT("operator") KEEP("node", "the label") HOLD("the label", "") },
	{ "it does no more", NULL, NULL, "the label", NODE("a: b"), NOT("operator") NOT("node") FREE("") },
	{ "the Node is no more", NULL, NULL, "the label", "metadata: {name: n2}\n",
	  NOT("operator") NOT("node") FREE("") },
	{ "the operator takes back what is not theirs", "", NULL, "the label", NULL,
	  NOT("operator") KEEP("node", "the label") HOLD("the label", TOLD) },
};

struct world {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_pausing pausing;
	struct fl_gpu *gpu;                    /* none: what the sink would tell it is tests/node/test_gpu's */
	bool refused;
};

static void world_auto_(struct world *w)
{
	fl_pausing_stop(&w->pausing);
	w->loop = fl_loop_free(w->loop);
	w->io = fl_io_free(w->io);
}

static int put(struct world *w, const struct fl_kind *kind, const char *text)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const void *object = facts_object(&arena, kind->root(), fl_str(text));

	return object ? fl_feed_put(fl_loop_feed(w->loop, kind), object, NULL) : -FL_E_NOMEM;
}

static int world_init(struct world *w, const char *node)
{
	struct fl_loop_options options = { .seed = { 1, 2 } };
	const struct fl_source sources[] = {
		{ &fl_settings_kind, NULL, NULL, NULL }, { &fl_own_node_kind, NULL, NULL, NULL },
		{ &fl_pause_request_kind, NULL, NULL, NULL },
		{ &fl_driver_pause_kind, NULL, &fl_pausing_sink, &w->pausing },
	};
	struct fl_source pauses;

	w->io = rig_clock();
	w->loop = w->io ? fl_loop_new(w->io, &options, NULL) : NULL;
	if (!w->loop)
		return -FL_E_NOMEM;
	fl_pausing_init(&w->pausing, w->io, "", NULL);
	pauses = fl_pausing_pauses(&w->pausing);
	if (fl_loop_source(w->loop, &pauses, NULL) < 0)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < FL_LEN(sources); i++)
		if (fl_loop_source(w->loop, &sources[i], NULL) < 0)
			return -FL_E_NOMEM;
	if (fl_loop_capability(w->loop, &fl_node_pausing, NULL) < 0)
		return -FL_E_NOMEM;
	fl_pausing_start(&w->pausing, w->loop, &w->gpu);
	fl_feed_begin(fl_loop_feed(w->loop, &fl_settings_kind));
	if (put(w, &fl_settings_kind, "metadata: {name: settings}\nnode: n1\n") < 0)
		return -FL_E_NOMEM;
	fl_feed_synced(fl_loop_feed(w->loop, &fl_settings_kind));
	if (node) {
		if (put(w, &fl_own_node_kind, node) < 0)
			return -FL_E_NOMEM;
		fl_feed_synced(fl_loop_feed(w->loop, &fl_own_node_kind));
		return 0;
	}
	fl_feed_absent(fl_loop_feed(w->loop, &fl_own_node_kind));
	return 0;
}

static int ask(struct world *w, const char *why)
{
	struct fl_pause_request word = { 0 };

	FL_SET(FL_IN(&word, meta), name, FL_S("operator"));
	FL_SET(&word, pause, *why != '\0');
	FL_SET(&word, why, fl_str(why));
	FL_SET(&word, asked, 7);
	return fl_feed_put(fl_loop_feed(w->loop, &fl_pause_request_kind), &word, NULL);
}

static int remember(struct world *w, const char *whose, const char *why)
{
	struct fl_pause pause = { 0 };

	if (!why)
		return 0;
	FL_SET(FL_IN(&pause, meta), name, fl_str(whose));
	FL_SET(&pause, why, fl_str(why));
	return fl_feed_put(fl_loop_feed(w->loop, &fl_pause_kind), &pause, NULL);
}

TEST(at_whose_word)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);
		FL_AUTO(world) struct world w = { 0 };
		struct fl_plan plan;
		bool planned;

		OK(world_init(&w, row->node));
		if (row->word)
			OK(ask(&w, row->word));
		OK(remember(&w, "operator", row->by_operator));
		OK(remember(&w, "node", row->by_node));
		fl_plan_init(&plan, &arena);
		planned = fl_loop_try(w.loop, &fl_node_pausing, FL_S(""), FL_S(""), &plan, NULL, NULL);
		OK(planned && !plan.failed ? 0 : test_tortured() ? -FL_E_NOMEM : -FL_E_INVALID);
		fl_plan_print(&plan, &text);
		OK(fl_buf_check(&text, "plan", NULL));
		CHECK_STR(fl_buf_view(&text), row->plan);
	}
}

TEST(no_change_is_missed)
{
	FL_AUTO(fl_buf) struct fl_buf missed = FL_BUF(4 * FL_KIB);
	FL_AUTO(world) struct world w = { 0 };

	OK(world_init(&w, NODE("nvidia.com/gpu.deploy.dcgm: paused-for-x")));
	OK(ask(&w, "an upgrade"));
	OK(keys_check(w.loop, &fl_node_pausing, FL_S(""), FL_S(""), &missed));
	CHECK_STR(fl_buf_view(&missed), "");
}

static void pass(struct world *w)
{
	uint64_t until = fl_clock(w->io) + 10 * FL_NS_PER_S;

	while (fl_clock(w->io) < until)
		w->refused |= fl_io_turn(w->io, until, NULL) < 0;
}

static bool held(struct world *w)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(w->loop, &arena);

	const struct fl_driver_pause *hold = fl_view_get(&view, &fl_driver_pause_kind, FL_S(""), FL_S("driver"));

	return hold && hold->paused;
}

TEST(it_goes_round)
{
	FL_AUTO(world) struct world w = { 0 };

	OK(world_init(&w, NULL));
	pass(&w);
	CHECK(!held(&w));
	OK(ask(&w, "an upgrade"));
	pass(&w);
	CHECK(held(&w) || test_tortured());
	OK(ask(&w, ""));
	pass(&w);
	CHECK(!held(&w) || test_tortured());
	CHECK(fl_loop_idle(w.loop) || test_tortured());
}
