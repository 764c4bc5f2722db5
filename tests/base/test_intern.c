#include "base/intern.h"
#include "test.h"
#include <stdio.h>

static const uint64_t seed[2] = { 1, 2 };

/* A handle that lets go by itself, so that a torture round leaves nothing behind. */
struct held {
	struct fl_interns *pool;
	const struct fl_istr *istr;
};

static void held_auto_(struct held *held)
{
	(void)fl_intern_drop(held->pool, held->istr);
}
#define HELD(name, pool, text) FL_AUTO(held) struct held name = { (pool), fl_intern((pool), (text)) }

TEST(the_same_text_is_the_same_pointer)
{
	FL_AUTO(fl_interns) struct fl_interns pool;
	char elsewhere[] = "kube-system";

	fl_interns_init(&pool, seed);
	HELD(a, &pool, FL_S("kube-system"));
	GOT(a.istr);
	HELD(b, &pool, fl_str(elsewhere));
	CHECK(a.istr == b.istr);
	HELD(c, &pool, FL_S("default"));
	GOT(c.istr);
	CHECK(c.istr != a.istr);
	CHECK_STR(fl_istr(a.istr), "kube-system");
	CHECK_INT(a.istr->text[a.istr->len], 0);
	CHECK_INT(a.istr->holders, 2);
	CHECK_INT(pool.map.len, 2);
}

TEST(a_text_goes_with_its_last_holder)
{
	FL_AUTO(fl_interns) struct fl_interns pool;
	long live;

	fl_interns_init(&pool, seed);
	HELD(other, &pool, FL_S("other"));
	GOT(other.istr);
	live = fl_mem_live();
	HELD(a, &pool, FL_S("gone"));
	GOT(a.istr);
	CHECK_INT(fl_mem_live(), live + 1);
	CHECK(fl_intern_hold(a.istr) == a.istr);
	CHECK(fl_intern_drop(&pool, a.istr) == NULL);
	CHECK(fl_intern_find(&pool, FL_S("gone")) == a.istr);
	a.istr = fl_intern_drop(&pool, a.istr);
	CHECK_INT(fl_mem_live(), live);
	CHECK(fl_intern_find(&pool, FL_S("gone")) == NULL);
	CHECK(fl_intern_drop(&pool, NULL) == NULL);
}

TEST(looking_a_text_up_does_not_hold_it)
{
	FL_AUTO(fl_interns) struct fl_interns pool;

	fl_interns_init(&pool, seed);
	CHECK(fl_intern_find(&pool, FL_S("a")) == NULL);
	HELD(a, &pool, FL_S("a"));
	GOT(a.istr);
	CHECK(fl_intern_find(&pool, FL_S("a")) == a.istr);
	CHECK_INT(a.istr->holders, 1);
}

TEST(an_empty_text_and_no_text)
{
	FL_AUTO(fl_interns) struct fl_interns pool;

	fl_interns_init(&pool, seed);
	HELD(a, &pool, ((struct fl_str){ NULL, 0 }));
	GOT(a.istr);
	HELD(b, &pool, FL_S(""));
	CHECK(a.istr == b.istr);
	CHECK_STR(fl_istr(a.istr), "");
	CHECK_STR(fl_istr(NULL), "");
}

TEST(bytes_are_compared_not_letters)
{
	FL_AUTO(fl_interns) struct fl_interns pool;

	fl_interns_init(&pool, seed);
	HELD(a, &pool, FL_S("a\0b"));
	GOT(a.istr);
	HELD(b, &pool, FL_S("a\0c"));
	GOT(b.istr);
	CHECK(a.istr != b.istr);
	CHECK_INT(a.istr->len, 3);
}

#define TEXTS 40

/* Random holds and drops against plain counts. */
TEST(holders_are_counted_right_whatever_the_order)
{
	FL_AUTO(fl_interns) struct fl_interns pool;
	const struct fl_istr *at[TEXTS] = { NULL };
	uint32_t holders[TEXTS] = { 0 }, total = 0, kinds = 0;
	bool right = true, refused = false;
	char text[16];

	fl_interns_init(&pool, seed);
	for (int step = 0; step < 800 && right && !refused; step++) {
		uint32_t k = (uint32_t)(test_random() % TEXTS);

		(void)snprintf(text, sizeof text, "node-%u", k);
		if (test_random() % 2 && holders[k]) {
			(void)fl_intern_drop(&pool, at[k]);
			holders[k]--;
			total--;
			right = (fl_intern_find(&pool, fl_str(text)) != NULL) == (holders[k] > 0);
		} else {
			const struct fl_istr *got = fl_intern(&pool, fl_str(text));

			refused = got == NULL;
			right = refused || holders[k] == 0 || got == at[k];
			at[k] = got ? got : at[k];
			holders[k] += !refused;
			total += !refused;
		}
	}
	for (int k = 0; k < TEXTS; k++) {
		kinds += holders[k] > 0;
		right = right && (holders[k] == 0 || at[k]->holders == holders[k]);
	}
	right = right && pool.map.len == kinds && (total > 0 || refused);
	for (int k = 0; k < TEXTS; k++)
		for (; holders[k]; holders[k]--)
			(void)fl_intern_drop(&pool, at[k]);
	CHECK(right);
	CHECK(!refused || test_tortured());
	CHECK_INT(pool.map.len, 0);
}
