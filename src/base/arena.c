#include "base/arena.h"
#include <stdarg.h>
#include <stdio.h>

#define ALIGN _Alignof(max_align_t)

struct fl_arena_block {
	struct fl_arena_block *behind;
	size_t size, used;
	_Alignas(max_align_t) char bytes[];
};

static int add_block(struct fl_arena *arena, size_t size)
{
	struct fl_arena_block *block = fl_alloc(sizeof *block + size);

	if (!block)
		return -FL_E_NOMEM;
	block->behind = arena->block;
	block->size = size;
	block->used = 0;
	arena->block = block;
	return 0;
}

static int make_room(struct fl_arena *arena, size_t need)
{
	size_t size = arena->block ? arena->block->size * 2 : FL_ARENA_BLOCK_FIRST;

	if (size > FL_ARENA_BLOCK_LAST)
		size = FL_ARENA_BLOCK_LAST;
	return add_block(arena, size < need || FL_BLOCK_A_PIECE ? need : size);
}

int fl_arena_fit(struct fl_arena *arena, size_t bytes)
{
	return FL_BLOCK_A_PIECE || !bytes ? 0 : add_block(arena, bytes);
}

/* Not zeroed, for those who fill all of it anyway. */
static void *get(struct fl_arena *arena, size_t size)
{
	size_t max = arena->max ? arena->max : FL_ARENA_MAX;
	size_t need = size ? size : 1;
	void *piece;

	/* A piece alone in its block needs no room to align the next, and its last byte is the last of the block. */
	if (!FL_BLOCK_A_PIECE && need <= max)
		need = (need + ALIGN - 1) / ALIGN * ALIGN;
	if (need > max || arena->used > max - need)
		return NULL;
	if (!arena->block || arena->block->size - arena->block->used < need || FL_BLOCK_A_PIECE)
		if (make_room(arena, need) < 0)
			return NULL;
	piece = arena->block->bytes + arena->block->used;
	arena->block->used += need;
	arena->used += need;
	return piece;
}

void *fl_arena_get(struct fl_arena *arena, size_t size)
{
	void *piece = get(arena, size);

	return piece ? memset(piece, 0, size) : NULL;
}

void *fl_arena_get_n(struct fl_arena *arena, size_t count, size_t size)
{
	size_t total;

	return __builtin_mul_overflow(count, size, &total) ? NULL : fl_arena_get(arena, total);
}

struct fl_str fl_arena_str(struct fl_arena *arena, struct fl_str s)
{
	char *copy = get(arena, (size_t)s.len + 1);

	if (!copy)
		return (struct fl_str){ NULL, 0 };
	if (s.len)
		memcpy(copy, s.p, s.len);
	copy[s.len] = 0;
	return (struct fl_str){ copy, s.len };
}

struct fl_str fl_arena_join(struct fl_arena *arena, const struct fl_str *parts, uint32_t count)
{
	size_t len = 0;
	char *text, *at;

	for (uint32_t i = 0; i < count; i++)
		len += parts[i].len;
	text = at = len < UINT32_MAX ? get(arena, len + 1) : NULL;
	if (!text)
		return (struct fl_str){ NULL, 0 };
	for (uint32_t i = 0; i < count; i++) {
		if (parts[i].len)
			memcpy(at, parts[i].p, parts[i].len);
		at += parts[i].len;
	}
	*at = '\0';
	return (struct fl_str){ text, (uint32_t)len };
}

struct fl_str fl_arena_printf(struct fl_arena *arena, const char *fmt, ...)
{
	va_list args;
	char *text;
	int len;

	va_start(args, fmt);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	text = len < 0 ? NULL : get(arena, (size_t)len + 1);
	if (!text)
		return (struct fl_str){ NULL, 0 };
	va_start(args, fmt);
	(void)vsnprintf(text, (size_t)len + 1, fmt, args);
	va_end(args);
	return (struct fl_str){ text, (uint32_t)len };
}

void fl_arena_reset(struct fl_arena *arena)
{
	struct fl_arena_block *block = arena->block, *kept = NULL;

	/* A first block made for one huge piece would be held for ever. */
	while (block) {
		struct fl_arena_block *behind = block->behind;
		bool small = block->size <= arena->keep || (!behind && block->size <= FL_ARENA_BLOCK_LAST);

		if (small && !FL_BLOCK_A_PIECE && (!kept || kept->size < block->size)) {
			fl_free(kept);
			kept = block;
		} else {
			fl_free(block);
		}
		block = behind;
	}
	if (kept) {
		kept->behind = NULL;
		kept->used = 0;
	}
	arena->block = kept;
	arena->used = 0;
}

void fl_arena_free(struct fl_arena *arena)
{
	fl_arena_reset(arena);
	fl_free(arena->block);
	arena->block = NULL;
}
