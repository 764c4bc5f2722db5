/* The store: objects in order, and what changed last. */
#include "local/store.h"
#include "test.h"
#include <stdio.h>

static struct fl_state *put(struct fl_store *store, struct fl_shelf *shelf, const char *space, const char *name,
			    const char *json)
{
	struct fl_state *state = fl_state_new(fl_str(space), fl_str(name), fl_str(json));

	if (state && fl_store_put(store, shelf, state) < 0) {
		fl_state_drop(state);
		return NULL;
	}
	return state;
}

struct fixture {
	struct fl_store store;
	struct fl_shelf shelf, other;
};

static void fixture_auto_(struct fixture *fixture)
{
	if (fixture->store.ring)
		fl_store_free(&fixture->store);
	fl_ordered_free(&fixture->shelf.objects);
	fl_ordered_free(&fixture->other.objects);
}

static void list(const struct fl_ordered *index, const char *from, char *text, size_t size)
{
	struct fl_spot spot = fl_ordered_from(index, fl_str(from));
	struct fl_buf buf = { .p = text, .cap = size, .max = size - 1 };
	struct fl_state *state;

	text[0] = '\0';
	while ((state = fl_ordered_next(index, &spot)) != NULL)
		fl_buf_printf(&buf, "%.*s ", FL_ARG(fl_state_key(state)));
}

TEST(objects_stand_in_the_order_of_their_keys)
{
	FL_AUTO(fixture) struct fixture fixture = { 0 };
	static const char *const names[][2] = { { "b", "x" }, { "a", "z" }, { "a-b", "c" }, { "a", "b" }, { "", "n" } };
	char text[200];

	OK(fl_store_init(&fixture.store, 4, NULL));
	for (size_t i = 0; i < FL_LEN(names); i++) {
		struct fl_state *state = put(&fixture.store, &fixture.shelf, names[i][0], names[i][1], "{}");

		GOT(state);
		fl_state_drop(state);
	}
	list(&fixture.shelf.objects, "", text, sizeof text);
	CHECK_STR(fl_str(text), "a-b/c a/b a/z b/x n ");
	list(&fixture.shelf.objects, "a/c", text, sizeof text);
	CHECK_STR(fl_str(text), "a/z b/x n ");
	CHECK(fl_ordered_get(&fixture.shelf.objects, FL_S("a/b")));
	CHECK(!fl_ordered_get(&fixture.shelf.objects, FL_S("a/c")));
}

TEST(a_change_of_each_write_is_known_until_the_window_is_over)
{
	FL_AUTO(fixture) struct fixture fixture = { 0 };
	const struct fl_store_change *change;
	uint32_t at = 0;

	OK(fl_store_init(&fixture.store, 3, NULL));
	for (int i = 0; i < 5; i++) {
		struct fl_state *state = put(&fixture.store, &fixture.shelf, "", "a", "{}");

		GOT(state);
		fl_state_drop(state);
	}
	CHECK_INT(fixture.store.version, 6);
	CHECK_INT(fixture.store.forgotten, 3);
	change = fl_store_after(&fixture.store, 4, &at);
	CHECK(change && change->version == 5 && change->before && change->before->version == 4 && !change->gone);
	change = fl_store_after(&fixture.store, 4, &at);
	CHECK(change && change->version == 6);
	CHECK(!fl_store_after(&fixture.store, 4, &at));
	fl_store_forget(&fixture.store, 6);
	at = 0;
	CHECK(!fl_store_after(&fixture.store, 0, &at));
	CHECK_INT(fixture.store.past, 0);
}

TEST(a_removed_object_is_told_with_its_last_state)
{
	FL_AUTO(fixture) struct fixture fixture = { 0 };
	FL_AUTO(fl_state) struct fl_state *state = NULL, *last = NULL;
	const struct fl_store_change *change;
	uint32_t at = 0;

	OK(fl_store_init(&fixture.store, 3, NULL));
	state = put(&fixture.store, &fixture.shelf, "s", "a", "{\"a\":1}");
	GOT(state);
	last = fl_state_new(FL_S("s"), FL_S("a"), FL_S("{\"a\":22}"));
	GOT(last);
	fl_store_remove(&fixture.store, &fixture.shelf, last);
	CHECK_INT(fixture.shelf.objects.len, 0);
	change = fl_store_after(&fixture.store, 2, &at);
	CHECK(change && change->gone && change->after == last && change->before == state && last->version == 3);
}

TEST_ONCE(many_objects_come_and_go_in_any_order)   /* 20,000 allocations say nothing that 20 do not */
{
	FL_AUTO(fixture) struct fixture fixture = { 0 };
	uint32_t live = 0;

	OK(fl_store_init(&fixture.store, 100, NULL));
	for (int i = 0; i < 20000; i++) {
		char name[20];
		struct fl_state *had, *state;

		(void)snprintf(name, sizeof name, "n%llu", (unsigned long long)(test_random() % 3000));
		had = fl_ordered_get(&fixture.shelf.objects, fl_str(name));
		if (had && test_random() % 2) {
			state = fl_state_new(FL_S(""), fl_str(name), FL_S("{}"));
			fl_store_remove(&fixture.store, &fixture.shelf, state);
			live--;
		} else {
			state = put(&fixture.store, &fixture.shelf, "", name, "{}");
			live += !had;
		}
		fl_state_drop(state);
		CHECK_INT(fixture.shelf.objects.len, live);
	}
	struct fl_spot spot = fl_ordered_from(&fixture.shelf.objects, FL_S(""));
	struct fl_state *state, *before = NULL;

	while ((state = fl_ordered_next(&fixture.shelf.objects, &spot)) != NULL) {
		CHECK(!before || fl_str_cmp(fl_state_key(before), fl_state_key(state)) < 0);
		before = state;
		live--;
	}
	CHECK_INT(live, 0);
}
