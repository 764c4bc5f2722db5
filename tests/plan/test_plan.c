/* What a plan may say, and what of it is there to be carried out. */
#include "api/demo.h"
#include "api/core.h"
#include "base/units.h"
#include "plan/plan.h"
#include "test.h"

static const struct fl_owner capacity = {
	"fairlead-capacity", &fl_demo_kind,
	(const char *const[]){ "status.capacity", "status.conditions[type=CapacityLow]", "status.conditions[type=Full]",
			       NULL },
};
static const struct fl_owner color = { "fairlead-color", &fl_demo_kind, (const char *const[]){ "spec.color", NULL } };
static const struct fl_shared taints = { "fairlead-taints", &fl_node_kind, "spec.taints", "key,effect" };
static const struct fl_shared finalizers = { "fairlead-finalizers", &fl_demo_kind, "metadata.finalizers", NULL };

static const struct fl_ref a100 = { &fl_demo_kind, FL_S_INIT("team"), FL_S_INIT("a100"), FL_S_INIT("u1") };
static const struct fl_ref h100 = { &fl_demo_kind, FL_S_INIT("team"), FL_S_INIT("h100"), { "", 0 } };
static const struct fl_ref node = { &fl_node_kind, { "", 0 }, FL_S_INIT("n1"), { "", 0 } };

static void total(struct fl_demo *pool, int32_t n)
{
	*pool = (struct fl_demo){ 0 };
	FL_SET(FL_IN(FL_IN(pool, status), capacity), total, n);
}

static void nothing(struct fl_plan *plan)
{
	(void)plan;
}

static void an_object(struct fl_plan *plan)
{
	struct fl_demo pool;

	total(&pool, 3);
	FL_SET(FL_IN(&pool, spec), color, FL_S("red"));
	fl_want(plan, &capacity, a100, &pool);
}

static void two_owners(struct fl_plan *plan)
{
	struct fl_demo pool;

	total(&pool, 3);
	FL_SET(FL_IN(&pool, spec), color, FL_S("red"));
	fl_want(plan, &capacity, a100, &pool);
	fl_want(plan, &color, a100, &pool);
	fl_want(plan, &color, h100, &pool);
}

static void conditions_first(struct fl_plan *plan)
{
	struct fl_demo pool;

	total(&pool, 0);
	fl_want_condition(plan, &capacity, a100, FL_EMIT_NOBODY, "CapacityLow", FL_CONDITION_TRUE, "NoCards",
			  "no GPU of %d",
			  8);
	fl_want_condition(plan, &capacity, a100, FL_EMIT_NOBODY, "Full", FL_CONDITION_FALSE, "Empty", "%s", "");
	fl_want(plan, &capacity, a100, &pool);
	fl_want_condition(plan, &capacity, a100, FL_EMIT_NOBODY, "CapacityLow", FL_CONDITION_FALSE, "Enough", "all");
}

static void of_a_generation(struct fl_plan *plan)
{
	struct fl_demo pool = { 0 };
	struct fl_pod pod = { 0 };

	FL_SET(FL_IN(&pool, meta), name, FL_S("seen"));
	FL_SET(&pool.meta, generation, 7);
	fl_want_condition(plan, &capacity, FL_REF(&fl_demo_kind, &pool), FL_EMIT_NOBODY, "Full", FL_CONDITION_FALSE,
			  "Empty", "%s", "");
	CHECK_INT(FL_REF(&fl_pod_kind, &pod).generation, 0);
}

static void wanted_twice(struct fl_plan *plan)
{
	struct fl_demo pool;

	total(&pool, 1);
	fl_want(plan, &capacity, a100, &pool);
	total(&pool, 2);
	fl_want(plan, &capacity, a100, &pool);
}

static void claimed(struct fl_plan *plan)
{
	struct fl_demo pool;

	total(&pool, 1);
	fl_want(plan, &capacity, a100, &pool);
	total(&pool, 2);
	fl_want_claim(plan, &capacity, a100, &pool);
}

static void the_absence(struct fl_plan *plan)
{
	fl_want_gone(plan, a100);
}

static void absences_of_a_kind(struct fl_plan *plan)
{
	fl_want_deleted(plan, a100, &(struct fl_deletion){ .propagation = FL_FOREGROUND, .as_seen = true });
	fl_want_deleted(plan, h100, &(struct fl_deletion){ .propagation = FL_ORPHAN, .grace_s = 30 });
	fl_want_deleted(plan, node, &(struct fl_deletion){ .now = true });
}

static const struct fl_children parts = { &color, &fl_demo_kind, NULL };

static void children(struct fl_plan *plan)
{
	struct fl_demo part = { 0 };

	FL_SET(FL_IN(&part, spec), color, FL_S("blue"));
	fl_want_child(plan, &parts, a100, h100, &part);
	FL_SET(FL_IN(&part, spec), color, FL_S("red"));
	fl_want_child(plan, &parts, a100, h100, &part);
	fl_want_no_others(plan, &parts, a100);
}

static void items(struct fl_plan *plan)
{
	struct fl_taint taint = { 0 };
	struct fl_str mine = FL_S("fairlead/hold");

	FL_SET(&taint, key, FL_S("gpu"));
	FL_SET(&taint, effect, FL_S("NoSchedule"));
	fl_want_item(plan, &taints, node, &taint);
	FL_UNSET(&taint, effect);
	fl_want_no_item(plan, &taints, node, &taint);
	fl_want_item(plan, &finalizers, a100, &mine);
}

static void moments(struct fl_plan *plan)
{
	fl_want_at(plan, 700);
	fl_want_at(plan, 500);
	fl_want_at(plan, 900);
	fl_want_at(plan, 0);
}

static void words(struct fl_plan *plan)
{
	fl_say(plan, a100, "Waits", "for %s", "a GPU");
	fl_say(plan, node, "Cordoned", "by somebody");
}

static const struct {
	const char *says;
	void (*plan)(struct fl_plan *plan);
	const char *text;
} rows[] = {
	{ "a plan that says nothing wants nothing", nothing, "" },
	{ "of an object only what is the owner's is wanted", an_object,
	  "want Rocket team/a100 by fairlead-capacity {\"status\":{\"capacity\":{\"total\":3}}}\n" },
	{ "each owner and each object is a want of its own", two_owners,
	  "want Rocket team/a100 by fairlead-capacity {\"status\":{\"capacity\":{\"total\":3}}}\n"
	  "want Rocket team/a100 by fairlead-color {\"spec\":{\"color\":\"red\"}}\n"
	  "want Rocket team/h100 by fairlead-color {\"spec\":{\"color\":\"red\"}}\n" },
	{ "conditions are part of the same want, whatever comes first; of a type the last one counts", conditions_first,
	  "want Rocket team/a100 by fairlead-capacity {\"status\":{\"capacity\":{\"total\":0},\"conditions\":["
	  "{\"type\":\"CapacityLow\",\"status\":\"False\",\"reason\":\"Enough\",\"message\":\"all\"},"
	  "{\"type\":\"Full\",\"status\":\"False\",\"reason\":\"Empty\",\"message\":\"\"}]}}\n" },
	{ "a condition says of which generation it holds", of_a_generation,
	  "want Rocket seen by fairlead-capacity {\"status\":{\"conditions\":[{\"type\":\"Full\",\"status\":\"False\","
	  "\"reason\":\"Empty\",\"message\":\"\",\"observedGeneration\":7}]}}\n" },
	{ "wanted twice, the later one counts", wanted_twice,
	  "want Rocket team/a100 by fairlead-capacity {\"status\":{\"capacity\":{\"total\":2}}}\n" },
	{ "what holds only at the version that was seen, all of what the owner wants", claimed,
	  "want Rocket team/a100 by fairlead-capacity as seen {\"status\":{\"capacity\":{\"total\":2}}}\n" },
	{ "an absence", the_absence, "gone Rocket team/a100\n" },
	{ "how it goes: what hangs on it, of which version, how soon", absences_of_a_kind,
	  "gone Rocket team/a100 Foreground as seen\ngone Rocket team/h100 Orphan within 30 s\n"
	  "gone Node n1 within 0 s\n" },
	{ "a child names its parent; wanted twice, the later one counts", children,
	  "want Rocket team/h100 of Rocket team/a100 by fairlead-color {\"metadata\":{\"ownerReferences\":[{"
	  "\"apiVersion\":\"demo.fairlead.test/v1alpha1\",\"kind\":\"Rocket\",\"name\":\"a100\",\"uid\":\"u1\","
	  "\"controller\":true,\"blockOwnerDeletion\":true}]},\"spec\":{\"color\":\"red\"}}\n"
	  "no other Rocket of Rocket team/a100\n" },
	{ "items of shared lists", items,
	  "item Node n1 spec.taints {\"key\":\"gpu\",\"effect\":\"NoSchedule\"}\n"
	  "no item Node n1 spec.taints {\"key\":\"gpu\"}\n"
	  "item Rocket team/a100 metadata.finalizers \"fairlead/hold\"\n" },
	{ "the earliest moment counts, and none is none", moments, "again at 500\n" },
	{ "words for people", words, "say Rocket team/a100: Waits: for a GPU\nsay Node n1: Cordoned: by somebody\n" },
};

TEST(what_a_plan_says_is_there_in_order)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);
		struct fl_plan plan;

		fl_plan_init(&plan, &arena);
		row->plan(&plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		fl_plan_print(&plan, &text);
		OK(fl_buf_check(&text, "plan", NULL));
		CHECK_STR(fl_buf_view(&text), row->text);
	}
}

/* A refusal anywhere makes the whole plan void: half of what should be so is not what should be so. */
TEST(refused_memory_sticks)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { .max = 64 };
	struct fl_plan plan;

	fl_plan_init(&plan, &arena);
	for (int i = 0; i < 40; i++)
		conditions_first(&plan);
	CHECK(plan.failed);
	words(&plan);
	items(&plan);
	the_absence(&plan);
	CHECK(plan.failed);
}

TEST(many_objects_are_found_again)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_plan plan;
	int found = 0;

	fl_plan_init(&plan, &arena);
	for (int i = 0; i < 200; i++) {
		struct fl_ref ref = { &fl_demo_kind, FL_S("team"), fl_plan_printf(&plan, "pool-%d", i % 100), { "",
			0 } };

		fl_want_condition(&plan, &capacity, ref, FL_EMIT_WARNING, i < 100 ? "Full" : "CapacityLow",
				  FL_CONDITION_TRUE,
				  "Test", "%d", i);
	}
	OK(plan.failed ? -FL_E_NOMEM : 0);
	for (const struct fl_want *want = plan.first; want; want = want->next) {
		const struct fl_demo *pool = want->object;

		CHECK(fl_plan_find(&plan, &capacity, want->ref) == want);
		CHECK_INT(pool->status.conditions.len, 2);
		CHECK_STR(want->told->type, "CapacityLow");
		found++;
	}
	CHECK_INT(found, 100);
	CHECK(!fl_plan_find(&plan, &color, plan.first->ref));
	CHECK(!fl_plan_find(&plan, &capacity, h100));
}

TEST(long_words_are_cut_between_characters)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_plan plan;
	char text[FL_PLAN_TEXT + 64];

	for (size_t i = 0; i < sizeof text - 1; i++)
		text[i] = i % 2 ? '\xa4' : '\xc3';
	text[sizeof text - 1] = '\0';
	fl_plan_init(&plan, &arena);
	fl_say(&plan, a100, "Long", "%s", text);
	fl_say(&plan, a100, "Long", "x%s", text);
	OK(plan.failed ? -FL_E_NOMEM : 0);
	CHECK_INT(plan.said->message.len, FL_PLAN_TEXT);
	CHECK_INT(plan.said->next->message.len, FL_PLAN_TEXT - 1);
	CHECK(fl_str_utf8(plan.said->message) && fl_str_utf8(plan.said->next->message));
}

static const struct {
	const char *says, *path;
	bool is;
} path_rows[] = {
	{ "a list of objects that is one value", "spec.stages", true },
	{ "a set of texts", "metadata.finalizers", true },
	{ "a list-map has owners for its elements", "spec.ports", false },
	{ "no list", "spec.color", false },
	{ "no such field", "spec.wings", false },
	{ "below a list", "spec.stages.domain", false },
};

TEST(shared_lists_are_those_of_one_value)
{
	EACH_ROW (row, path_rows) {
		struct fl_shared shared = { "m", &fl_demo_kind, row->path, NULL };
		size_t offset = 0;

		CHECK_INT(fl_shared_field(&shared, &offset) != NULL, row->is);
	}
	CHECK(fl_shared_field(&taints, NULL));
}
