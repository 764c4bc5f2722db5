/* When the driver is let go of, and at whose word. */
#include "node/holding.h"
#include "api/node.h"
#include "base/limits.h"
#include "keys_check.h"
#include "plan/gpu_facts.h"
#include "rig.h"

#define NODE(labels) "metadata: {name: n1, labels: {" labels "}}\n"

static const struct {
	const char *says, *operator, *node, *plan;
} rows[] = {
	{ "nobody has asked", NULL, NODE("a: b"), "gone Hold driver\n" },
	{ "nobody has, and there is no API server", NULL, NULL, "gone Hold driver\n" },
	{ "the operator has", "an upgrade", NULL,
	  "want Hold driver by fairlead-hold {\"why\":\"an upgrade\"}\nsay Hold driver: Held: an upgrade\n" },
	{ "a label of the Node does", NULL, NODE("nvidia.com/gpu.deploy.device-plugin: paused-for-mig-change"),
	  "want Hold driver by fairlead-hold {\"why\":\"the Node's label nvidia.com/gpu.deploy.device-plugin is "
	  "paused-for-mig-change\"}\nsay Hold driver: Held: the Node's label nvidia.com/gpu.deploy.device-plugin is "
	  "paused-for-mig-change\n" },
	{ "the same label says that it is to run", NULL, NODE("nvidia.com/gpu.deploy.device-plugin: 'true'"),
	  "gone Hold driver\n" },
	{ "another label with that value is nobody's wish", NULL, NODE("example.com/x: paused-for-mig-change"),
	  "gone Hold driver\n" },
	{ "both: what the operator says is what people read", "an upgrade",
	  NODE("nvidia.com/gpu.deploy.dcgm: paused-for-driver-upgrade"),
	  "want Hold driver by fairlead-hold {\"why\":\"an upgrade\"}\nsay Hold driver: Held: an upgrade\n" },
};

struct world {
	struct fl_io *io;
	struct fl_loop *loop;
	struct fl_holding holding;
	struct fl_gpu *gpu;                    /* none: what the sink would tell it is tests/node/test_gpu's */
	bool refused;
};

static void world_auto_(struct world *w)
{
	fl_holding_stop(&w->holding);
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
		{ &fl_pause_kind, NULL, NULL, NULL },    { &fl_hold_kind, NULL, &fl_holding_sink, &w->holding },
	};

	w->io = rig_clock();
	w->loop = w->io ? fl_loop_new(w->io, &options, NULL) : NULL;
	if (!w->loop)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < FL_LEN(sources); i++)
		if (fl_loop_source(w->loop, &sources[i], NULL) < 0)
			return -FL_E_NOMEM;
	if (fl_loop_capability(w->loop, &fl_node_hold, NULL) < 0)
		return -FL_E_NOMEM;
	fl_holding_start(&w->holding, w->io, w->loop, &w->gpu, NULL);
	fl_feed_begin(fl_loop_feed(w->loop, &fl_settings_kind));
	if (put(w, &fl_settings_kind, "metadata: {name: settings}\nnode: n1\n") < 0)
		return -FL_E_NOMEM;
	fl_feed_synced(fl_loop_feed(w->loop, &fl_settings_kind));
	if (node)
		return put(w, &fl_own_node_kind, node);
	fl_feed_absent(fl_loop_feed(w->loop, &fl_own_node_kind));
	return 0;
}

static int ask(struct world *w, const char *why)
{
	struct fl_pause pause = { 0 };

	FL_SET(FL_IN(&pause, meta), name, FL_S("operator"));
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
		if (row->operator)
			OK(ask(&w, row->operator));
		fl_plan_init(&plan, &arena);
		planned = fl_loop_try(w.loop, &fl_node_hold, FL_S(""), FL_S(""), &plan, NULL, NULL);
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
	OK(keys_check(w.loop, &fl_node_hold, FL_S(""), FL_S(""), &missed));
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

	return fl_view_get(&view, &fl_hold_kind, FL_S(""), FL_S("driver"));
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
	fl_feed_gone(fl_loop_feed(w.loop, &fl_pause_kind), FL_S(""), FL_S("operator"));
	pass(&w);
	CHECK(!held(&w) || test_tortured());
	CHECK(fl_loop_idle(w.loop) || test_tortured());
}
