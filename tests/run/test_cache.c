#include "api/core.h"
#include "base/limits.h"
#include "run/cache.h"
#include "test.h"
#include <stdio.h>

static struct fl_str pod_node(const void *pod)
{
	return ((const struct fl_pod *)pod)->spec.node_name;
}

static struct fl_str pod_space(const void *pod)
{
	return ((const struct fl_pod *)pod)->meta.space;
}

enum { BY_NODE, BY_SPACE };
static const struct fl_index by[] = { { "node", pod_node }, { "namespace", pod_space }, { 0 } };
static const uint64_t seed[2] = { 1, 2 };

/* The caches of a process share one pool of texts. */
struct world {
	struct fl_interns interns;
	struct fl_cache pods;
};

static void world_auto_(struct world *w)
{
	fl_cache_free(&w->pods);
	fl_interns_free(&w->interns);
}

static void world_init(struct world *w)
{
	fl_interns_init(&w->interns, seed);
	fl_cache_init(&w->pods, &fl_pod_kind, by, &w->interns, seed);
}

#define WORLD(w) \
	FL_AUTO(world) struct world w; \
	world_init(&w)

static void pod_make(struct fl_pod *pod, const char *space, const char *name, const char *node, const char *version)
{
	*pod = (struct fl_pod){ 0 };
	FL_SET(FL_IN(pod, meta), name, fl_str(name));
	FL_SET(FL_IN(pod, meta), resource_version, fl_str(version));
	if (space)
		FL_SET(FL_IN(pod, meta), space, fl_str(space));
	if (node)
		FL_SET(FL_IN(pod, spec), node_name, fl_str(node));
}

static int put(struct world *w, const char *space, const char *name, const char *node, const char *version)
{
	struct fl_pod pod;
	struct fl_cache_change change;
	int result;

	pod_make(&pod, space, name, node, version);
	result = fl_cache_put(&w->pods, &pod, &change, NULL);
	if (result == 0)
		fl_entry_drop(&w->pods, change.before);
	return result < 0 ? result : change.same;
}

static bool gone(struct world *w, const char *space, const char *name)
{
	struct fl_cache_change change = fl_cache_remove(&w->pods, fl_str(space), fl_str(name));

	fl_entry_drop(&w->pods, change.before);
	return change.before != NULL;
}

static int count_under(const struct world *w, uint32_t index, const char *value)
{
	int count = 0;

	for (const struct fl_entry *e = fl_cache_first(&w->pods, index, fl_str(value)); e;
	     e = fl_cache_next(&w->pods, index, e))
		count++;
	return count;
}

TEST(what_was_put_is_found_whole)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_entry *entry;
	struct fl_pod pod;
	WORLD(w);

	OK(put(&w, "team", "a", "node-1", "12"));
	entry = fl_cache_get(&w.pods, FL_S("team"), FL_S("a"));
	CHECK(entry);
	OK(fl_entry_unpack(&w.pods, entry, &arena, &pod, NULL));
	CHECK_STR(pod.meta.name, "a");
	CHECK_STR(pod.meta.space, "team");
	CHECK_STR(pod.meta.resource_version, "12");
	CHECK_STR(pod.spec.node_name, "node-1");
	CHECK(!fl_cache_get(&w.pods, FL_S("team"), FL_S("b")));
	CHECK(!fl_cache_get(&w.pods, FL_S("other"), FL_S("a")));
}

TEST(names_that_look_like_numbers_are_names)
{
	WORLD(w);

	OK(put(&w, "team", "12345", "node-1", "1"));
	CHECK(fl_cache_get(&w.pods, FL_S("team"), FL_S("12345")));
	CHECK(!fl_cache_get(&w.pods, FL_S("team"), FL_S("012345")));
}

TEST(the_same_again_is_no_change)
{
	int first, again, other;
	WORLD(w);

	first = put(&w, "team", "a", "node-1", "1");
	OK(first);
	again = put(&w, "team", "a", "node-1", "1");
	OK(again);
	other = put(&w, "team", "a", "node-1", "2");
	OK(other);
	CHECK_INT(first, false);
	CHECK_INT(again, true);
	CHECK_INT(other, false);
	CHECK_INT(w.pods.len, 1);
}

TEST(indexes_follow_each_change)
{
	WORLD(w);

	OK(put(&w, "team", "a", NULL, "1"));
	CHECK_INT(count_under(&w, BY_SPACE, "team"), 1);
	CHECK_INT(count_under(&w, BY_NODE, "node-1"), 0);
	OK(put(&w, "team", "a", "node-1", "2"));
	OK(put(&w, "team", "b", "node-1", "3"));
	CHECK_INT(count_under(&w, BY_NODE, "node-1"), 2);
	OK(put(&w, "team", "a", "node-2", "4"));
	CHECK_INT(count_under(&w, BY_NODE, "node-1"), 1);
	CHECK_INT(count_under(&w, BY_NODE, "node-2"), 1);
	CHECK(gone(&w, "team", "b"));
	CHECK(!gone(&w, "team", "b"));
	CHECK_INT(count_under(&w, BY_NODE, "node-1"), 0);
	CHECK_INT(count_under(&w, BY_SPACE, "team"), 1);
}

/* A relist that breaks off must not make what it had not told yet look fresh to the next one. */
TEST(a_full_state_takes_out_what_it_does_not_name)
{
	uint32_t at = UINT32_MAX;
	struct fl_entry *entry;
	int swept = 0;
	WORLD(w);

	OK(put(&w, "team", "stays", NULL, "1"));
	OK(put(&w, "team", "goes", NULL, "1"));
	OK(put(&w, "team", "goes-later", NULL, "1"));
	fl_cache_mark(&w.pods);
	OK(put(&w, "team", "goes-later", NULL, "1"));
	fl_cache_mark(&w.pods);
	OK(put(&w, "team", "stays", NULL, "1"));
	OK(put(&w, "team", "new", NULL, "2"));
	fl_cache_doom(&w.pods, fl_cache_get(&w.pods, FL_S("team"), FL_S("new")));
	while ((entry = fl_cache_stale(&w.pods, &at))) {
		if (entry == fl_cache_get(&w.pods, FL_S("team"), FL_S("new")))
			fl_cache_keep(&w.pods, entry);
		else
			CHECK(gone(&w, "team", ++swept == 1 ? "goes-later" : "goes"));
	}
	CHECK_INT(swept, 2);
	CHECK_INT(w.pods.len, 2);
	CHECK(fl_cache_get(&w.pods, FL_S("team"), FL_S("stays")));
	CHECK(fl_cache_get(&w.pods, FL_S("team"), FL_S("new")));
}

TEST(what_is_out_of_the_cache_lives_as_long_as_somebody_holds_it)
{
	struct fl_cache_change change;
	WORLD(w);

	OK(put(&w, "team", "a", NULL, "1"));
	change = fl_cache_remove(&w.pods, FL_S("team"), FL_S("a"));
	CHECK(change.before);
	fl_entry_drop(&w.pods, fl_entry_ref(change.before));
	CHECK(fl_entry_packed(&w.pods, change.before).len > 0);
	fl_entry_drop(&w.pods, change.before);
}

TEST(a_sweep_of_nothing_is_nothing)
{
	uint32_t at = UINT32_MAX;
	WORLD(w);

	fl_cache_mark(&w.pods);
	CHECK(!fl_cache_stale(&w.pods, &at));
	CHECK(!gone(&w, "team", "a"));
}

/* ---- against a list that is searched from end to end ---- */

enum { NAMES = 40, STEPS = 400 };

struct model {
	bool there[NAMES];
	int node[NAMES], version[NAMES];
};

static int model_count(const struct model *m, int node)
{
	int count = 0;

	for (int i = 0; i < NAMES; i++)
		count += m->there[i] && (node < 0 || m->node[i] == node);
	return count;
}

/* 0 when the step went well. */
static int one_step(struct world *w, struct model *m)
{
	char name[16], node[16], version[16];
	int i = (int)(test_random() % NAMES), result;

	(void)snprintf(name, sizeof name, "pod-%d", i);
	if (test_random() % 3 == 0) {
		if (gone(w, "team", name) != m->there[i])
			return -FL_E_CORRUPT;
		m->there[i] = false;
		return 0;
	}
	(void)snprintf(node, sizeof node, "node-%d", (int)(test_random() % 4));
	(void)snprintf(version, sizeof version, "%d", (int)(test_random() % 3));
	result = put(w, "team", name, node, version);
	if (result < 0)
		return result;
	if (result != (m->there[i] && m->node[i] == node[5] - '0' && m->version[i] == version[0] - '0'))
		return -FL_E_CORRUPT;
	m->there[i] = true;
	m->node[i] = node[5] - '0';
	m->version[i] = version[0] - '0';
	return 0;
}

TEST(a_long_random_life_agrees_with_a_plain_list)
{
	struct model m = { 0 };
	WORLD(w);

	for (int step = 0; step < STEPS; step++) {
		uint32_t at = 0;
		int seen = 0;

		OK(one_step(&w, &m));
		while (fl_cache_each(&w.pods, &at))
			seen++;
		CHECK_INT(seen, model_count(&m, -1));
		CHECK_INT(w.pods.len, model_count(&m, -1));
		CHECK_INT(count_under(&w, BY_NODE, "node-0"), model_count(&m, 0));
		CHECK_INT(count_under(&w, BY_NODE, "node-3"), model_count(&m, 3));
		CHECK_INT(count_under(&w, BY_SPACE, "team"), model_count(&m, -1));
	}
}

/* While a wider table is being filled, at every stage of it: all that is there is found, and nothing else. Not
 * tortured: thousands of puts; what is refused is the test below. */
TEST_ONCE(all_is_found_while_the_table_grows)
{
	enum { PODS = 500, PUTS = 3 };   /* of four steps, one takes away */
	bool there[PODS] = { false };
	char name[16];
	WORLD(w);

	for (uint32_t step = 0, next = 0; next < PODS; step++) {
		uint32_t victim = (uint32_t)(test_random() % PODS);
		uint32_t len = 0;

		if (step % (PUTS + 1) < PUTS) {
			there[next] = true;
			(void)snprintf(name, sizeof name, "p-%u", next++);
			OK(put(&w, "s", name, NULL, "100"));
		} else {
			struct fl_cache_change change;

			(void)snprintf(name, sizeof name, "p-%u", victim);
			change = fl_cache_remove(&w.pods, FL_S("s"), fl_str(name));
			CHECK_INT(change.before != NULL, there[victim]);
			fl_entry_drop(&w.pods, change.before);
			there[victim] = false;
		}
		for (uint32_t i = 0; i < PODS; i++) {
			(void)snprintf(name, sizeof name, "p-%u", i);
			CHECK_INT(fl_cache_get(&w.pods, FL_S("s"), fl_str(name)) != NULL, there[i]);
			len += there[i];
		}
		CHECK_INT(w.pods.len, len);
	}
}

TEST(a_refused_put_has_changed_nothing)
{
	WORLD(w);
	uint32_t before;
	int result;

	OK(put(&w, "team", "a", "node-1", "1"));
	before = w.pods.len;
	result = put(&w, "new-team", "b", "node-2", "1");
	if (result < 0) {
		CHECK_INT(w.pods.len, before);
		CHECK_INT(count_under(&w, BY_SPACE, "new-team"), 0);
		CHECK_INT(count_under(&w, BY_NODE, "node-2"), 0);
	}
	OK(result);
}
