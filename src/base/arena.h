/* arena.h - memory that goes away all at once: one arena a request, a turn, a parse.
 *
 * Blocks grow geometrically up to a ceiling; a reset keeps one block, so that an arena used over and over stops
 * allocating: the first (unless one huge piece asked for it), for many arenas are kept warm; or the largest up to
 * `keep`, for one that is all a loop has. Under AddressSanitizer every piece is an allocation of its own, so
 * that an overrun is seen.
 */
#pragma once
#include "base/mem.h"

struct fl_arena_block;

struct fl_arena {
	struct fl_arena_block *block;   /* the one being filled; the others hang behind it */
	size_t used;                    /* bytes handed out since the last reset */
	size_t max;                     /* refuse beyond; 0: FL_ARENA_MAX */
	size_t keep;                    /* bytes of a block that a reset may keep; 0: the first one's */
};

/* Zero-initialised is a valid, empty arena: struct fl_arena a = { 0 }; */

/* Zeroed, aligned for anything; NULL when refused. A size of 0 gives a pointer of its own. */
void *fl_arena_get(struct fl_arena *arena, size_t size) FL_MUSTUSE;
void *fl_arena_get_n(struct fl_arena *arena, size_t count, size_t size) FL_MUSTUSE;

/* A terminated copy (the terminator is not counted); .p is NULL when refused. */
struct fl_str fl_arena_str(struct fl_arena *arena, struct fl_str s);
struct fl_str fl_arena_join(struct fl_arena *arena, const struct fl_str *parts, uint32_t count);
struct fl_str fl_arena_printf(struct fl_arena *arena, const char *fmt, ...) FL_PRINTF(2, 3);

/* Let an empty arena's first block hold just so many bytes, for what is as large and stays. */
int fl_arena_fit(struct fl_arena *arena, size_t bytes) FL_MUSTUSE;

void fl_arena_reset(struct fl_arena *arena);
void fl_arena_free(struct fl_arena *arena);   /* empty again, and usable */

static inline void fl_arena_auto_(struct fl_arena *arena)
{
	fl_arena_free(arena);
}
