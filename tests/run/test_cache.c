#include "api/core.h"
#include "base/units.h"
#include "run/cache.h"
#include "test.h"
#include <stdio.h>

static void pod_node(const void *pod, struct fl_under *under)
{
	FL_UNDER(under, ((const struct fl_pod *)pod)->spec.node_name);
}

static void pod_space(const void *pod, struct fl_under *under)
{
	FL_UNDER(under, ((const struct fl_pod *)pod)->meta.space);
}

/* Two values of one part each. */
static void pod_either(const void *pod, struct fl_under *under)
{
	pod_node(pod, under);
	pod_space(pod, under);
}

/* One value of two parts; it counts for its version. */
static void pod_both(const void *object, struct fl_under *under)
{
	const struct fl_pod *pod = object;
	int64_t version;

	if (fl_str_i64(pod->meta.resource_version, &version))
		FL_UNDER_FOR(under, version, pod->meta.space, pod->spec.node_name);
}

enum { BY_NODE, BY_SPACE, BY_EITHER, BY_BOTH };
static const struct fl_index by[] = { { "node", pod_node }, { "namespace", pod_space }, { "either", pod_either },
				      { "both", pod_both }, { 0 } };
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
	return (int)fl_group_len(fl_cache_group(&w->pods, index, fl_str(value)));
}

/* Those under a value of two parts. */
static const struct fl_group *under_both(const struct world *w, const char *space, const char *node)
{
	char text[64];
	struct fl_buf value = FL_BUF_IN(text);

	fl_cache_value(&value, (struct fl_str[]){ fl_str(space), fl_str(node) }, 2);
	return fl_cache_group(&w->pods, BY_BOTH, fl_buf_view(&value));
}

static int64_t sum_under(const struct world *w, const char *space, const char *node)
{
	return fl_group_sum(under_both(w, space, node));
}

/* Is the object of this name among those of the group, just once? */
static bool has_once(const struct world *w, const struct fl_group *group, const char *name)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < fl_group_len(group); i++)
		count += fl_group_at(&w->pods, group, i) == fl_cache_get(&w->pods, FL_S("team"), fl_str(name));
	return count == 1;
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

TEST(an_object_stands_under_several_values_of_one_index)
{
	WORLD(w);

	OK(put(&w, "team", "a", "node-1", "1"));
	OK(put(&w, "team", "b", "node-2", "1"));
	CHECK_INT(count_under(&w, BY_EITHER, "team"), 2);
	CHECK_INT(count_under(&w, BY_EITHER, "node-1"), 1);
	CHECK(has_once(&w, fl_cache_group(&w.pods, BY_EITHER, FL_S("node-2")), "b"));
	OK(put(&w, "team", "a", "node-2", "2"));
	CHECK_INT(count_under(&w, BY_EITHER, "node-1"), 0);
	CHECK_INT(count_under(&w, BY_EITHER, "node-2"), 2);
	CHECK(has_once(&w, fl_cache_group(&w.pods, BY_EITHER, FL_S("team")), "a"));
	CHECK(gone(&w, "team", "a"));
	CHECK(has_once(&w, fl_cache_group(&w.pods, BY_EITHER, FL_S("node-2")), "b"));
	CHECK_INT(count_under(&w, BY_EITHER, "team"), 1);
}

TEST(a_value_that_an_object_says_twice_has_it_once)
{
	WORLD(w);

	OK(put(&w, "node-1", "a", "node-1", "1"));
	CHECK_INT(count_under(&w, BY_EITHER, "node-1"), 1);
	CHECK(gone(&w, "node-1", "a"));
	CHECK_INT(count_under(&w, BY_EITHER, "node-1"), 0);
}

TEST(a_value_of_two_parts_is_no_other_that_reads_the_same)
{
	WORLD(w);

	OK(put(&w, "ab", "x", "c", "5"));
	OK(put(&w, "a", "x", "bc", "7"));
	CHECK_INT(sum_under(&w, "ab", "c"), 5);
	CHECK_INT(sum_under(&w, "a", "bc"), 7);
	CHECK_INT(sum_under(&w, "abc", ""), 0);
}

TEST(a_sum_follows_each_change_of_what_an_object_counts_for)
{
	WORLD(w);

	OK(put(&w, "team", "a", "node-1", "40"));
	OK(put(&w, "team", "b", "node-1", "2"));
	CHECK_INT(sum_under(&w, "team", "node-1"), 42);
	OK(put(&w, "team", "a", "node-1", "30"));
	CHECK_INT(sum_under(&w, "team", "node-1"), 32);
	OK(put(&w, "team", "a", "node-2", "30"));
	CHECK_INT(sum_under(&w, "team", "node-1"), 2);
	CHECK_INT(sum_under(&w, "team", "node-2"), 30);
	OK(put(&w, "team", "a", "node-2", "9000000000"));   /* beyond 32 bits */
	CHECK_INT(sum_under(&w, "team", "node-2"), INT32_MAX);
	CHECK(gone(&w, "team", "a"));
	CHECK_INT(sum_under(&w, "team", "node-2"), 0);
}

static struct fl_entry *team(struct world *w, const char *name)
{
	return fl_cache_get(&w->pods, FL_S("team"), fl_str(name));
}

/* Put, and told by a source. */
static int tell(struct world *w, uint32_t source, const char *name)
{
	int r = put(w, "team", name, NULL, "1");

	if (r < 0)
		return r;
	fl_cache_told(&w->pods, team(w, name), source);
	return 0;
}

/* Sweep after a source's full state; how many were nobody's and are out now. */
static int sweep(struct world *w, uint32_t source)
{
	uint32_t at = UINT32_MAX;
	struct fl_entry *entry;
	int swept = 0;

	while ((entry = fl_cache_stale(&w->pods, source, &at))) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_pod pod;

		if (fl_entry_unpack(&w->pods, entry, &arena, &pod, NULL) < 0)
			return -FL_E_NOMEM;
		fl_entry_drop(&w->pods, fl_cache_remove(&w->pods, pod.meta.space, pod.meta.name).before);
		swept++;
	}
	return swept;
}

/* A relist that breaks off must not make what it had not told yet look fresh to the next one. */
TEST(a_full_state_takes_out_what_it_does_not_name)
{
	int swept;
	WORLD(w);

	OK(tell(&w, 0, "stays"));
	OK(tell(&w, 0, "goes"));
	OK(tell(&w, 0, "goes-later"));
	fl_cache_mark(&w.pods, 0);
	OK(tell(&w, 0, "goes-later"));
	fl_cache_mark(&w.pods, 0);
	OK(tell(&w, 0, "stays"));
	OK(tell(&w, 0, "new"));
	OK(put(&w, "team", "nobody", NULL, "1"));
	swept = sweep(&w, 0);
	OK(swept);
	CHECK_INT(swept, 3);
	CHECK_INT(w.pods.len, 2);
	CHECK(team(&w, "stays") && team(&w, "new"));
}

/* Rounds are counted in few bits: also of so many relists that break off none is taken for an earlier one. */
TEST(a_hundred_relists_that_break_off)
{
	int swept;
	WORLD(w);

	OK(tell(&w, 1, "goes"));
	for (int i = 0; i < 100; i++) {
		char name[8];

		(void)snprintf(name, sizeof name, "%d", i);
		fl_cache_mark(&w.pods, 1);
		OK(tell(&w, 1, name));
		OK(tell(&w, 1, "stays"));
	}
	swept = sweep(&w, 1);
	OK(swept);
	CHECK_INT(swept, 100);
	CHECK(team(&w, "stays") && team(&w, "99") && w.pods.len == 2);
}

TEST(an_object_stays_while_one_source_has_it)
{
	int swept;
	WORLD(w);

	OK(tell(&w, 0, "both"));
	OK(tell(&w, 3, "both"));
	OK(tell(&w, 0, "first"));
	OK(tell(&w, 3, "last"));
	fl_cache_mark(&w.pods, 0);
	CHECK(fl_cache_has_now(&w.pods, team(&w, "both"), 0) && !fl_cache_has_now(&w.pods, team(&w, "first"), 0));
	OK(put(&w, "team", "both", "node-9", "2"));   /* a change does not say whose it is */
	swept = sweep(&w, 0);
	OK(swept);
	CHECK_INT(swept, 1);
	CHECK(team(&w, "both") && !team(&w, "first") && team(&w, "last"));
	fl_cache_untold(team(&w, "both"), 0);
	CHECK(fl_cache_has(team(&w, "both")));
	fl_cache_untold(team(&w, "both"), 3);
	CHECK(!fl_cache_has(team(&w, "both")));
	fl_cache_doom(team(&w, "last"));
	swept = sweep(&w, 1);
	OK(swept);
	CHECK_INT(swept, 2);
	CHECK_INT(w.pods.len, 0);
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

	fl_cache_mark(&w.pods, 0);
	CHECK(!fl_cache_stale(&w.pods, 0, &at));
	CHECK(!gone(&w, "team", "a"));
}

/* ---- against a list that is searched from end to end ---- */

enum { NAMES = 40, STEPS = 400 };

struct model {
	bool there[NAMES];
	int node[NAMES], version[NAMES];
};

static int64_t model_sum(const struct model *m, int node)
{
	int64_t sum = 0;

	for (int i = 0; i < NAMES; i++)
		sum += m->there[i] && m->node[i] == node ? m->version[i] : 0;
	return sum;
}

static int model_count(const struct model *m, int node)
{
	int count = 0;

	for (int i = 0; i < NAMES; i++)
		count += m->there[i] && (node < 0 || m->node[i] == node);
	return count;
}

/* Is each object that stays unpacked as its packed form? Asked in some steps only: several changes may come first. */
static int unpacked_agree(struct world *w)
{
	const struct fl_unpacked *all;
	uint32_t len;
	int r = test_random() % 3 ? 0 : fl_cache_unpacked(&w->pods, &all, &len);

	if (r < 0 || test_random() % 3)
		return r;
	if (fl_cache_unpacked(&w->pods, &all, &len) < 0)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < len; i++) {
		const struct fl_pod *pod = all[i].object;
		const struct fl_entry *entry = fl_cache_get(&w->pods, pod->meta.space, pod->meta.name);

		if (!entry ||
		    !fl_entry_is(&w->pods, entry, offsetof(struct fl_pod, spec.node_name), pod->spec.node_name) ||
		    (i && fl_str_cmp(((const struct fl_pod *)all[i - 1].object)->meta.name, pod->meta.name) >= 0))
			return -FL_E_CORRUPT;
	}
	return len == w->pods.len ? 0 : -FL_E_CORRUPT;
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
	static const struct fl_make only_unpacked = { 0 };
	struct model m = { 0 };
	WORLD(w);

	fl_cache_stay_unpacked(&w.pods, &only_unpacked);
	for (int step = 0; step < STEPS; step++) {
		uint32_t at = 0;
		int seen = 0;

		OK(one_step(&w, &m));
		OK(unpacked_agree(&w));
		while (fl_cache_each(&w.pods, &at))
			seen++;
		CHECK_INT(seen, model_count(&m, -1));
		CHECK_INT(w.pods.len, model_count(&m, -1));
		CHECK_INT(count_under(&w, BY_NODE, "node-0"), model_count(&m, 0));
		CHECK_INT(count_under(&w, BY_NODE, "node-3"), model_count(&m, 3));
		CHECK_INT(count_under(&w, BY_SPACE, "team"), model_count(&m, -1));
		CHECK_INT(count_under(&w, BY_EITHER, "node-1"), model_count(&m, 1));
		CHECK_INT(sum_under(&w, "team", "node-2"), model_sum(&m, 2));
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
		CHECK(!under_both(&w, "new-team", "node-2"));
	}
	OK(result);
}

/* ---- objects that stay unpacked ---- */

struct made {
	char node[16];
	const struct fl_pod *of;
};

static int makes;

static int make_pod(const void *object, struct fl_arena *arena, void *made_, struct fl_err *err)
{
	const struct fl_pod *pod = object;
	struct made *made = made_;

	if (!fl_arena_get(arena, 100))
		return fl_fail(err, FL_E_NOMEM, "no memory");
	(void)snprintf(made->node, sizeof made->node, "on %.*s", FL_ARG(pod->spec.node_name));
	made->of = pod;
	makes++;
	return 0;
}

static const struct fl_make make = { sizeof(struct made), make_pod };

/* Names and what was made, of all, in their order. */
static int print_all(struct fl_cache *cache, struct fl_buf *out)
{
	const struct fl_unpacked *all;
	uint32_t len;
	int r = fl_cache_unpacked(cache, &all, &len);

	for (uint32_t i = 0; r == 0 && i < len; i++) {
		const struct fl_pod *pod = all[i].object;
		const struct made *made = all[i].made;

		fl_buf_printf(out, "%.*s/%.*s %s;", FL_ARG(pod->meta.space), FL_ARG(pod->meta.name),
			      made->of == pod ? made->node : "of another");
	}
	return r;
}

#define ALL_ARE(w, want) \
	do { \
		FL_AUTO(fl_buf) struct fl_buf out_ = FL_BUF(FL_KIB); \
		OK(print_all(&(w).pods, &out_)); \
		OK(fl_buf_check(&out_, "all", NULL)); \
		CHECK_STR(fl_buf_view(&out_), want); \
	} while (0)

TEST(what_stays_unpacked_is_made_once_and_sorted)
{
	WORLD(w);
	struct fl_unpacked is, again;

	makes = 0;
	fl_cache_stay_unpacked(&w.pods, &make);
	ALL_ARE(w, "");
	OK(put(&w, "b", "y", "n1", "1"));
	OK(put(&w, "b", "x", "n2", "1"));
	OK(put(&w, "a", "z", "n3", "1"));
	CHECK_INT(makes, 0);
	ALL_ARE(w, "a/z on n3;b/x on n2;b/y on n1;");
	ALL_ARE(w, "a/z on n3;b/x on n2;b/y on n1;");
	CHECK(makes >= 3);
	makes = 0;
	OK(fl_cache_unpacked_get(&w.pods, FL_S("b"), FL_S("x"), &is));
	OK(fl_cache_unpacked_get(&w.pods, FL_S("b"), FL_S("x"), &again));
	CHECK(is.object && is.object == again.object && is.made == again.made);
	CHECK_INT(put(&w, "b", "x", "n2", "1"), 1);
	ALL_ARE(w, "a/z on n3;b/x on n2;b/y on n1;");
	CHECK_INT(makes, 0);
	OK(fl_cache_unpacked_get(&w.pods, FL_S("b"), FL_S("none"), &is));
	CHECK(!is.object && !is.made);
}

TEST(what_stays_unpacked_follows_each_change)
{
	WORLD(w);
	struct fl_unpacked is;

	fl_cache_stay_unpacked(&w.pods, &make);
	OK(put(&w, "a", "p", "n1", "1"));
	OK(put(&w, "a", "q", "n2", "1"));
	OK(put(&w, "a", "r", "n3", "1"));
	ALL_ARE(w, "a/p on n1;a/q on n2;a/r on n3;");
	OK(put(&w, "a", "q", "n9", "2"));
	OK(fl_cache_unpacked_get(&w.pods, FL_S("a"), FL_S("q"), &is));
	CHECK_STR(fl_str(((const struct made *)is.made)->node), "on n9");
	ALL_ARE(w, "a/p on n1;a/q on n9;a/r on n3;");
	CHECK(gone(&w, "a", "p"));   /* another comes to its place */
	ALL_ARE(w, "a/q on n9;a/r on n3;");
	OK(put(&w, "a", "p", "n5", "3"));
	OK(put(&w, "a", "r", "n6", "4"));
	ALL_ARE(w, "a/p on n5;a/q on n9;a/r on n6;");
	CHECK(gone(&w, "a", "r"));
	CHECK(gone(&w, "a", "p"));
	CHECK(gone(&w, "a", "q"));
	ALL_ARE(w, "");
}
