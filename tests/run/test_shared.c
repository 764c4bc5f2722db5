/* Items of lists that are one value to the API and several people's: what is patched, and what the object becomes. */
#include "api/core.h"
#include "api/demo.h"
#include "api/walk.h"
#include "base/units.h"
#include "run/shared.h"
#include "test.h"

static const struct fl_shared taints = { "fairlead-taints", &fl_node_kind, "spec.taints", "key,effect" };
static const struct fl_shared finalizers = { "fairlead-hold", &fl_demo_kind, "metadata.finalizers", NULL };

#define TEST_VERSION "[{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\",\"value\":\"7\"}"
#define NODE(taints) "{\"spec\":{\"taints\":[" taints "]}}"
#define THEIRS "{\"key\":\"a\",\"effect\":\"NoExecute\",\"timeAdded\":\"2026-01-31T12:00:00Z\"}"
#define OURS(value) "{\"key\":\"gpu\",\"value\":\"" value "\",\"effect\":\"NoSchedule\"}"

static const struct {
	const char *says;
	enum fl_want_what what;
	const char *item, *have;   /* a taint, a Node */
	const char *patch, *after; /* NULL: nothing is to be done */
} rows[] = {
	{ "the first item makes the list", FL_WANT_ITEM, OURS("x"), "{}",
	  TEST_VERSION ",{\"op\":\"add\",\"path\":\"/spec/taints\",\"value\":[" OURS("x") "]}]", NODE(OURS("x")) },
	{ "a further one comes last", FL_WANT_ITEM, OURS("x"), NODE(THEIRS),
	  TEST_VERSION ",{\"op\":\"add\",\"path\":\"/spec/taints/-\",\"value\":" OURS("x") "}]",
	  NODE(THEIRS "," OURS("x")) },
	{ "one that is there just so is left", FL_WANT_ITEM, OURS("x"), NODE(THEIRS "," OURS("x")), NULL, NULL },
	{ "what we do not say of it is somebody else's", FL_WANT_ITEM, "{\"key\":\"a\",\"effect\":\"NoExecute\"}",
	  NODE(THEIRS), NULL, NULL },
	{ "another value takes its place", FL_WANT_ITEM, OURS("x"), NODE(OURS("y") "," THEIRS),
	  TEST_VERSION ",{\"op\":\"replace\",\"path\":\"/spec/taints/0\",\"value\":" OURS("x") "}]",
	  NODE(OURS("x") "," THEIRS) },
	{ "another effect is another taint", FL_WANT_ITEM, "{\"key\":\"a\",\"effect\":\"NoSchedule\"}", NODE(THEIRS),
	  TEST_VERSION
	  ",{\"op\":\"add\",\"path\":\"/spec/taints/-\",\"value\":{\"key\":\"a\",\"effect\":\"NoSchedule\"}}]",
	  NODE(THEIRS ",{\"key\":\"a\",\"effect\":\"NoSchedule\"}") },
	{ "one goes, the others stay", FL_WANT_NO_ITEM, "{\"key\":\"gpu\",\"effect\":\"NoSchedule\"}",
	  NODE(THEIRS "," OURS("x")), TEST_VERSION ",{\"op\":\"remove\",\"path\":\"/spec/taints/1\"}]", NODE(THEIRS) },
	{ "what is not said of it means any: all of the key go", FL_WANT_NO_ITEM, "{\"key\":\"gpu\"}",
	  NODE(OURS("x") "," THEIRS ",{\"key\":\"gpu\",\"effect\":\"NoExecute\"}"),
	  TEST_VERSION ",{\"op\":\"remove\",\"path\":\"/spec/taints/0\"},{\"op\":\"remove\",\"path\":"
		       "\"/spec/taints/1\"}]",
	  NODE(THEIRS) },
	{ "what is not there need not go", FL_WANT_NO_ITEM, "{\"key\":\"gpu\"}", NODE(THEIRS), NULL, NULL },
	{ "nor from a list that is not there", FL_WANT_NO_ITEM, "{\"key\":\"gpu\"}", "{}", NULL, NULL },
};

TEST(taints_of_a_node)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);
		struct fl_str patch = { NULL, 0 };
		struct fl_node have;
		struct fl_taint item;
		void *after = NULL;
		int changes;

		OK(test_read(fl_node_bind(), row->have, 0, &arena, &have, NULL));
		OK(test_read(fl_taint_bind(), row->item, 0, &arena, &item, NULL));
		changes = fl_shared_change(&taints, row->what, &item, &have, FL_S("7"), &arena, &after, &patch, NULL);
		OK(changes);
		if (test_tortured() && changes && !row->patch)
			continue;   /* refused memory while comparing makes one patch too many, which does no harm */
		CHECK_INT(changes, row->patch != NULL);
		if (!changes)
			continue;
		CHECK_STR(patch, row->patch);
		OK(test_write(fl_node_bind(), after, &text, NULL));
		CHECK_STR(fl_buf_view(&text), row->after);
	}
}

TEST(finalizers_are_texts)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_str patch, mine = FL_S("fairlead/hold");
	struct fl_demo have, *with;
	void *after;
	int changes;

	OK(test_read(fl_demo_bind(), "{\"metadata\":{\"finalizers\":[\"b\"]}}", 0, &arena, &have, NULL));
	changes = fl_shared_change(&finalizers, FL_WANT_ITEM, &mine, &have, FL_S("7"), &arena, &after, &patch, NULL);
	OK(changes);
	CHECK_INT(changes, 1);
	CHECK_STR(patch,
		  TEST_VERSION ",{\"op\":\"add\",\"path\":\"/metadata/finalizers/-\",\"value\":\"fairlead/hold\"}]");
	with = after;
	CHECK_INT(with->meta.finalizers.len, 2);
	CHECK_INT(have.meta.finalizers.len, 1);
	changes = fl_shared_change(&finalizers, FL_WANT_NO_ITEM, &mine, with, FL_S("7"), &arena, &after, &patch, NULL);
	OK(changes);
	CHECK_STR(patch, TEST_VERSION ",{\"op\":\"remove\",\"path\":\"/metadata/finalizers/1\"}]");
}

/* A taint that could not be read may have shifted the places of those behind it. */
TEST(a_list_that_cannot_be_read_is_not_touched)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_taint item = { 0 };
	struct fl_str patch;
	struct fl_node have;
	void *after;

	OK(test_read(fl_node_bind(), NODE("{\"key\":7,\"effect\":\"NoSchedule\"}"), 0, &arena, &have, NULL));
	FL_SET(&item, key, FL_S("gpu"));
	FL_SET(&item, effect, FL_S("NoSchedule"));
	REFUSED(fl_shared_change(&taints, FL_WANT_ITEM, &item, &have, FL_S("7"), &arena, &after, &patch, NULL),
		FL_E_INVALID);
}
