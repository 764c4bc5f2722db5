#include "base/units.h"
#include "test.h"

TEST(pieces_are_zeroed_aligned_and_apart)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	char *last = NULL;

	for (size_t size = 0; size < 200; size++) {
		char *piece = fl_arena_get(&arena, size);

		GOT(piece);
		CHECK((uintptr_t)piece % _Alignof(max_align_t) == 0);
		CHECK(piece != last);
		for (size_t i = 0; i < size; i++)
			CHECK_INT(piece[i], 0);
		memset(piece, 0xff, size);
		last = piece;
	}
}

TEST(what_was_given_stays_while_more_is_given)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	uint32_t *at[500];

	for (uint32_t i = 0; i < 500; i++) {
		at[i] = fl_arena_get(&arena, 4 + i * 7);
		GOT(at[i]);
		*at[i] = i;
	}
	for (uint32_t i = 0; i < 500; i++)
		CHECK_INT(*at[i], i);
}

TEST(an_arena_used_again_stops_allocating)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	long live;

	GOT(fl_arena_get(&arena, 100));
	live = fl_mem_live();
	for (int i = 0; i < 10; i++) {
		fl_arena_reset(&arena);
		CHECK_INT(arena.used, 0);
		GOT(fl_arena_get(&arena, 100));
		CHECK_INT(fl_mem_live(), live);
	}
}

static const struct {
	const char *says;
	size_t keep, used;             /* `used` in pieces of 1 KiB */
	size_t fits;                   /* bytes that need no further block after the reset */
} keeps[] = {
	{ "the first block, when nothing is said", 0, 10 * FL_KIB, FL_ARENA_BLOCK_FIRST },
	{ "the largest that may be", FL_ARENA_BLOCK_FIRST * 2, 10 * FL_KIB, FL_ARENA_BLOCK_FIRST * 2 },
	{ "not one that is larger", FL_ARENA_BLOCK_FIRST * 2, 40 * FL_KIB, FL_ARENA_BLOCK_FIRST * 2 },
	{ "the first, where the others are larger", 1, 10 * FL_KIB, FL_ARENA_BLOCK_FIRST },
};

TEST(a_reset_keeps_one_block)
{
	EACH_ROW (row, keeps) {
		FL_AUTO(fl_arena) struct fl_arena arena = { .keep = row->keep };
		long blocks = fl_mem_live();
		bool shares;

		for (size_t used = 0; used < row->used; used += FL_KIB)
			GOT(fl_arena_get(&arena, FL_KIB));
		/* Under AddressSanitizer each piece is a block, and none is kept. */
		shares = fl_mem_live() - blocks < (long)(row->used / FL_KIB);
		fl_arena_reset(&arena);
		blocks = fl_mem_live();
		for (size_t used = 0; used < row->fits; used += FL_KIB)
			GOT(fl_arena_get(&arena, FL_KIB));
		CHECK(!shares || fl_mem_live() == blocks);
		GOT(fl_arena_get(&arena, FL_KIB));
		CHECK_INT(fl_mem_live() - blocks, shares ? 1 : (long)(row->fits / FL_KIB) + 1);
	}
}

TEST(one_huge_piece_is_not_held_for_ever)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	long live = fl_mem_live();

	GOT(fl_arena_get(&arena, FL_ARENA_BLOCK_LAST + 1));
	CHECK_INT(fl_mem_live(), live + 1);
	fl_arena_reset(&arena);
	CHECK_INT(fl_mem_live(), live);
	GOT(fl_arena_get(&arena, 1));
	fl_arena_free(&arena);
	CHECK_INT(fl_mem_live(), live);
	GOT(fl_arena_get(&arena, 1));
}

TEST(an_arena_never_passes_its_ceiling)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { .max = 1024 };

	CHECK(fl_arena_get(&arena, 1025) == NULL);
	CHECK(fl_arena_get(&arena, SIZE_MAX) == NULL);
	GOT(fl_arena_get(&arena, 1000));
	CHECK(fl_arena_get(&arena, 100) == NULL);
	GOT(fl_arena_get(&arena, 8));
	CHECK(arena.used <= 1024);
	fl_arena_reset(&arena);
	GOT(fl_arena_get(&arena, 1024));
	CHECK(fl_arena_get(&arena, 0) == NULL);
}

TEST(without_a_ceiling_of_its_own_the_general_one_holds)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };

	CHECK(fl_arena_get(&arena, FL_ARENA_MAX + 1) == NULL);
	CHECK(fl_arena_get_n(&arena, SIZE_MAX / 2, 3) == NULL);
	GOT(fl_arena_get_n(&arena, 10, 10));
}

TEST(texts_are_copied_and_terminated)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_str text;

	text = fl_arena_str(&arena, FL_S("abc"));
	GOT(text.p);
	CHECK_STR(text, "abc");
	CHECK_INT(text.p[3], 0);
	text = fl_arena_str(&arena, (struct fl_str){ NULL, 0 });
	GOT(text.p);
	CHECK_INT(text.p[0], 0);
	text = fl_arena_printf(&arena, "%s-%d", "gpu", 7);
	GOT(text.p);
	CHECK_STR(text, "gpu-7");
	CHECK_INT(text.p[5], 0);
	text = fl_arena_join(&arena, (const struct fl_str[]){ FL_S("/mps/"), { NULL, 0 }, FL_S("pipe") }, 3);
	GOT(text.p);
	CHECK_STR(text, "/mps/pipe");
	CHECK_INT(text.p[9], 0);
	arena.max = arena.used;
	text = fl_arena_printf(&arena, "%s", "no room");
	CHECK(text.p == NULL && text.len == 0);
	text = fl_arena_join(&arena, &FL_S("no room"), 1);
	CHECK(text.p == NULL && text.len == 0);
	text = fl_arena_str(&arena, FL_S("no room"));
	CHECK(text.p == NULL && text.len == 0);
}

TEST(a_reused_block_gives_terminated_texts_too)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_str text;
	char *dirt = fl_arena_get(&arena, 256);

	GOT(dirt);
	memset(dirt, 'x', 256);
	fl_arena_reset(&arena);
	text = fl_arena_str(&arena, FL_S("abc"));
	GOT(text.p);
	CHECK_INT(text.p[3], 0);
	dirt = fl_arena_get(&arena, 64);
	GOT(dirt);
	for (int i = 0; i < 64; i++)
		CHECK_INT(dirt[i], 0);
}

TEST(a_fitted_block_holds_what_was_used_before)
{
	FL_AUTO(fl_arena) struct fl_arena scratch = { 0 }, arena = { 0 };
	long live;

	GOT(fl_arena_get(&scratch, 7));
	GOT(fl_arena_get(&scratch, 100));
	GOT(fl_arena_str(&scratch, FL_S("text")).p);
	OK(fl_arena_fit(&arena, scratch.used));
	live = fl_mem_live();
	GOT(fl_arena_get(&arena, 7));
	GOT(fl_arena_get(&arena, 100));
	GOT(fl_arena_str(&arena, FL_S("text")).p);
	CHECK_INT(arena.used, scratch.used);
	if (!FL_BLOCK_A_PIECE)
		CHECK_INT(fl_mem_live(), live);
}
