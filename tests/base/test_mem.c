#include "test.h"

TEST(every_block_is_counted)
{
	long live = fl_mem_live();
	FL_AUTO(fl_mem) char *a = fl_alloc(3), *b = NULL;

	GOT(a);
	CHECK_INT(fl_mem_live(), live + 1);
	b = fl_zalloc(0);
	GOT(b);
	CHECK_INT(fl_mem_live(), live + 2);
	fl_free(fl_steal(&b));
	fl_free(NULL);
	CHECK_INT(fl_mem_live(), live + 1);
}

TEST(a_realloc_that_is_refused_leaves_the_block_whole)
{
	FL_AUTO(fl_mem) char *p = fl_realloc(NULL, 4);
	char *more;

	GOT(p);
	memcpy(p, "abc", 4);
	CHECK(fl_realloc(p, SIZE_MAX) == NULL);
	CHECK_STR(fl_str(p), "abc");
	more = fl_realloc(p, 4000);
	CHECK_STR(fl_str(more ? more : p), "abc");
	p = more ? more : p;
	GOT(more);
	more = fl_realloc(p, 0);
	p = more ? more : p;
	GOT(more);
}

TEST(sizes_that_overflow_are_refused)
{
	CHECK(fl_zalloc_n(SIZE_MAX / 2, 3) == NULL);
	CHECK(fl_alloc(FL_ALLOC_MAX + 1) == NULL);
	CHECK(fl_zalloc(SIZE_MAX) == NULL);
}

TEST(zeroed_is_zeroed)
{
	FL_AUTO(fl_mem) uint64_t *p = fl_zalloc_n(100, sizeof *p);

	GOT(p);
	for (int i = 0; i < 100; i++)
		CHECK_INT(p[i], 0);
}

TEST(a_copy_of_text_is_terminated)
{
	FL_AUTO(fl_mem) char *some = fl_strdup(FL_S("abc")), *none = NULL;

	GOT(some);
	CHECK_STR(fl_str(some), "abc");
	none = fl_strdup((struct fl_str){ NULL, 0 });
	GOT(none);
	CHECK_INT(none[0], 0);
}

TEST(what_was_handed_over_is_not_released)
{
	char *kept = NULL;
	{
		FL_AUTO(fl_mem) char *p = fl_strdup(FL_S("kept"));

		GOT(p);
		kept = fl_steal(&p);
		CHECK(p == NULL);
	}
	CHECK_STR(fl_str(kept), "kept");
	fl_free(kept);
}
