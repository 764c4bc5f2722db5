/* arena.h - memory that is freed all at once: one arena a request, a turn, a parse.
 *
 * Blocks grow geometrically up to a ceiling. A reset keeps one block, so that an arena in repeated use stops
 * allocating: the largest one up to `keep` bytes; with `keep` 0 the first one, unless it was made for one huge piece.
 * Under AddressSanitizer every piece is an allocation of its own, so that an overrun is detected.
 */
#pragma once
#include "base/mem.h"
#include "base/units.h"

/* Memory of one request or parse; the largest thing in one arena is a decoded list item or a YAML stream. */
#define FL_ARENA_MAX (64 * FL_MIB)
#define FL_ARENA_BLOCK_FIRST (4 * FL_KIB)   /* one page: most requests need no second block */
#define FL_ARENA_BLOCK_LAST (256 * FL_KIB)  /* growth stops here: waste stays below a quarter MiB */

struct fl_arena_block;

struct fl_arena {
	struct fl_arena_block *block;   /* the one being filled, linked to the older ones */
	size_t used;                    /* bytes allocated since the last reset */
	size_t max;                     /* refuse beyond; 0: FL_ARENA_MAX */
	size_t keep;                    /* bytes of a block that a reset may keep; 0: the first one's */
};

/* Zero-initialised is a valid, empty arena: struct fl_arena a = { 0 }; */

/* Zeroed, aligned for any type; NULL: allocation failed. A size of 0 gives a pointer of its own. */
void *fl_arena_get(struct fl_arena *arena, size_t size) FL_MUSTUSE;
void *fl_arena_get_n(struct fl_arena *arena, size_t count, size_t size) FL_MUSTUSE;

/* A terminated copy (the terminator is not counted); .p NULL: allocation failed. */
struct fl_str fl_arena_str(struct fl_arena *arena, struct fl_str s);
struct fl_str fl_arena_join(struct fl_arena *arena, const struct fl_str *parts, uint32_t count);
struct fl_str fl_arena_printf(struct fl_arena *arena, const char *fmt, ...) FL_PRINTF(2, 3);

/* Size an empty arena's first block to exactly this many bytes, for long-lived content of known size. */
int fl_arena_fit(struct fl_arena *arena, size_t bytes) FL_MUSTUSE;

void fl_arena_reset(struct fl_arena *arena);
void fl_arena_free(struct fl_arena *arena);   /* empty again, and usable */

static inline void fl_arena_auto_(struct fl_arena *arena)
{
	fl_arena_free(arena);
}
