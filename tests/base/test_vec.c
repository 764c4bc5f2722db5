#include "base/vec.h"
#include "test.h"

TEST(a_vector_keeps_the_order)
{
	FL_AUTO(fl_vec) FL_VEC(int) v = { 0 };
	int want = 0;

	for (int i = 0; i < 100; i++)
		OK(fl_vec_push(&v, i));
	CHECK_INT(v.len, 100);
	CHECK(v.cap >= 100);
	fl_vec_each (item, &v)
		CHECK_INT(*item, want++);
	CHECK_INT(want, 100);
}

TEST(taking_one_out_closes_the_gap)
{
	FL_AUTO(fl_vec) FL_VEC(char) v = { 0 };

	for (const char *c = "abcd"; *c; c++)
		OK(fl_vec_push(&v, *c));
	fl_vec_remove(&v, 1);
	CHECK_STR(((struct fl_str){ v.at, v.len }), "acd");
	fl_vec_remove(&v, 2);
	CHECK_STR(((struct fl_str){ v.at, v.len }), "ac");
	fl_vec_remove(&v, 0);
	fl_vec_remove(&v, 0);
	CHECK_INT(v.len, 0);
}

TEST(an_empty_vector_has_nothing_to_visit)
{
	FL_AUTO(fl_vec) FL_VEC(int) v = { 0 };
	int seen = 0;

	fl_vec_each (item, &v)
		seen += *item + 1;
	CHECK_INT(seen, 0);
	OK(fl_vec_push(&v, 1));
	fl_vec_free(&v);
	CHECK(v.at == NULL && v.len == 0 && v.cap == 0);
	OK(fl_vec_push(&v, 2));
	CHECK_INT(v.at[0], 2);
}

TEST(room_asked_for_at_once_is_there)
{
	FL_AUTO(fl_vec) FL_VEC(int) v = { 0 };
	int *at;

	OK(fl_vec_reserve(&v, 1000));
	CHECK(v.cap >= 1000);
	at = v.at;
	for (int i = 0; i < 1000; i++)
		OK(fl_vec_push(&v, i));
	CHECK(v.at == at);
}

TEST(a_vector_that_cannot_grow_stays_as_it_was)
{
	FL_AUTO(fl_vec) FL_VEC(struct { char big[1 << 20]; }) v = { 0 };

	OK(fl_vec_reserve(&v, 1));
	CHECK_INT(fl_vec_reserve(&v, UINT32_MAX), -FL_E_NOMEM);
	CHECK(v.at != NULL && v.len == 0);
	v.len = 1;
	CHECK_INT(fl_vec_reserve(&v, UINT32_MAX), -FL_E_NOMEM);
	CHECK_INT(v.len, 1);
}
