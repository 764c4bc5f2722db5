#include "json/json.h"

#define ALIGN _Alignof(max_align_t)

struct fl_json_spill {
	struct fl_json_spill *behind;
	size_t size;
	_Alignas(max_align_t) char bytes[];
};

static void *spill(struct fl_json_space *space, size_t size)
{
	struct fl_json_spill *piece;

	if (space->max && (size > space->max || space->used + space->spilled > space->max - size)) {
		space->full = true;
		return NULL;
	}
	piece = size > SIZE_MAX - sizeof *piece ? NULL : fl_alloc(sizeof *piece + size);
	if (!piece)
		return NULL;
	piece->behind = space->spills;
	piece->size = size;
	space->spills = piece;
	space->spilled += size;
	if (space->most < space->spilled)
		space->most = space->spilled;
	return piece->bytes;
}

static bool in_block(const struct fl_json_space *space, const char *p)
{
	return space->block && p >= space->block && p < space->block + space->size;
}

static void *space_malloc(void *ctx, size_t size)
{
	struct fl_json_space *space = ctx;
	size_t need = size + (ALIGN - size % ALIGN) % ALIGN;

	/* What fits into the block is there already: only what does not is held against the limit. */
	if (need < size || need > space->size - space->used || FL_BLOCK_A_PIECE)
		return spill(space, size);
	space->last = space->used;
	space->used += need;
	return space->block + space->last;
}

static void space_free(void *ctx, void *p)
{
	struct fl_json_space *space = ctx;

	/* Only what came last can be given back; the rest waits for the reset. */
	if (in_block(space, p)) {
		if ((char *)p == space->block + space->last)
			space->used = space->last;
		return;
	}
	for (struct fl_json_spill **at = &space->spills; *at; at = &(*at)->behind) {
		struct fl_json_spill *piece = *at;

		if ((void *)piece->bytes != p)
			continue;
		*at = piece->behind;
		space->spilled -= piece->size;
		fl_free(piece);
		return;
	}
}

static void *space_realloc(void *ctx, void *p, size_t old_size, size_t size)
{
	struct fl_json_space *space = ctx;
	void *grown;

	if (in_block(space, p) && (char *)p == space->block + space->last && size <= space->size - space->last) {
		space->used = space->last + size + (ALIGN - size % ALIGN) % ALIGN;
		if (space->used > space->size)
			space->used = space->size;
		return p;
	}
	grown = space_malloc(ctx, size);
	if (!grown)
		return NULL;
	memcpy(grown, p, old_size < size ? old_size : size);
	space_free(ctx, p);
	return grown;
}

static void *mem_malloc(void *ctx, size_t size)
{
	(void)ctx;
	return fl_alloc(size);
}

static void *mem_realloc(void *ctx, void *p, size_t old_size, size_t size)
{
	(void)ctx;
	(void)old_size;
	return fl_realloc(p, size);
}

static void mem_free(void *ctx, void *p)
{
	(void)ctx;
	fl_free(p);
}

yyjson_alc fl_json_alc(struct fl_json_space *space)
{
	if (!space)
		return (yyjson_alc){ mem_malloc, mem_realloc, mem_free, NULL };
	return (yyjson_alc){ space_malloc, space_realloc, space_free, space };
}

void fl_json_space_reset(struct fl_json_space *space)
{
	size_t want = space->used + space->most;

	while (space->spills) {
		struct fl_json_spill *behind = space->spills->behind;

		fl_free(space->spills);
		space->spills = behind;
	}
	if (space->most && space->size < FL_JSON_SPACE_KEEP && !FL_BLOCK_A_PIECE) {
		/* A refusal here costs nothing but speed: the next document spills again. */
		want = want + want / 2 < FL_JSON_SPACE_KEEP ? want + want / 2 : FL_JSON_SPACE_KEEP;
		fl_free(space->block);
		space->block = fl_alloc(want);
		space->size = space->block ? want : 0;
	}
	space->used = space->last = space->spilled = space->most = 0;
}

void fl_json_space_free(struct fl_json_space *space)
{
	fl_json_space_reset(space);
	fl_free(space->block);
	*space = (struct fl_json_space){ 0 };
}
