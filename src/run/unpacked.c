/* Objects of a cache that stay unpacked: opened when they are asked for first, closed when they change. */
#include "run/cache_in.h"
#include <stdlib.h>

#define ALIGN _Alignof(max_align_t)

void fl_cache_stay_unpacked(struct fl_cache *cache, const struct fl_make *make)
{
	cache->make = make;
}

static void close_it(struct fl_cache *cache, struct opened *opened)
{
	cache->opened_bytes -= opened->arena.used;
	fl_arena_free(&opened->arena);
	opened->is.object = opened->is.made = NULL;
}

int unpacked_reserve(struct fl_cache *cache)
{
	return cache->make ? fl_vec_reserve(&cache->opened, 1) : 0;
}

void unpacked_put(struct fl_cache *cache, uint32_t place)
{
	if (!cache->make)
		return;
	if (place < cache->opened.len) {
		close_it(cache, &cache->opened.at[place]);
	} else {
		cache->opened.at[cache->opened.len++] = (struct opened){ 0 };
		cache->unsorted = true;
	}
	cache->closed = true;
}

void unpacked_remove(struct fl_cache *cache, uint32_t place)
{
	if (!cache->make)
		return;
	close_it(cache, &cache->opened.at[place]);
	cache->opened.at[place] = cache->opened.at[--cache->opened.len];
	cache->unsorted = true;
}

void unpacked_free(struct fl_cache *cache)
{
	fl_vec_each (opened, &cache->opened)
		close_it(cache, opened);
	fl_vec_free(&cache->opened);
	fl_vec_free(&cache->sorted);
	fl_arena_free(&cache->opening);
}

uint64_t unpacked_bytes(const struct fl_cache *cache)
{
	return cache->opened_bytes + cache->opened.cap * sizeof *cache->opened.at +
	       cache->sorted.cap * sizeof *cache->sorted.at;
}

static int open_in(struct fl_cache *cache, const struct fl_entry *entry, struct fl_arena *arena,
		   struct fl_unpacked *ret)
{
	size_t size = (cache->kind->root()->size + ALIGN - 1) / ALIGN * ALIGN;
	char *object = fl_arena_get(arena, size + cache->make->room);

	if (!object)
		return -FL_E_NOMEM;
	*ret = (struct fl_unpacked){ object, cache->make->room ? object + size : NULL };
	if (fl_entry_unpack(cache, entry, arena, object, NULL) < 0 ||
	    (ret->made && cache->make->make(object, arena, object + size, NULL) < 0))
		return -FL_E_NOMEM;
	return 0;
}

/* Once to see how large it gets, and then into a block of just that size: the objects stay. */
static int open_place(struct fl_cache *cache, uint32_t place)
{
	struct opened *opened = &cache->opened.at[place];
	const struct fl_entry *entry = cache->entries.at[place];
	struct fl_unpacked first;
	int r;

	if (opened->is.object)
		return 0;
	r = open_in(cache, entry, &cache->opening, &first);
	if (r == 0)
		r = fl_arena_fit(&opened->arena, cache->opening.used);
	if (r == 0)
		r = open_in(cache, entry, &opened->arena, &opened->is);
	fl_arena_reset(&cache->opening);
	cache->opened_bytes += opened->arena.used;
	if (r < 0)
		close_it(cache, opened);
	return r;
}

static int by_name(const void *a_, const void *b_, void *cache_)
{
	const struct fl_cache *cache = cache_;
	const struct opened *a = &cache->opened.at[*(const uint32_t *)a_];
	const struct opened *b = &cache->opened.at[*(const uint32_t *)b_];

	return cache_by_name(cache, a->is.object, b->is.object);
}

static int sort(struct fl_cache *cache)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	uint32_t len = cache->opened.len, *order = fl_arena_get_n(&arena, len, sizeof *order);

	cache->sorted.len = 0;
	if (!order || fl_vec_reserve(&cache->sorted, len) < 0)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < len; i++)
		order[i] = i;
	qsort_r(order, len, sizeof *order, by_name, cache);
	for (uint32_t i = 0; i < len; i++)
		cache->opened.at[order[i]].at = i;
	cache->sorted.len = len;
	cache->unsorted = false;
	return 0;
}

int fl_cache_unpacked(struct fl_cache *cache, const struct fl_unpacked **ret, uint32_t *ret_len)
{
	bool changed = cache->unsorted || cache->closed;
	int r = 0;

	for (uint32_t i = 0; cache->closed && r == 0 && i < cache->opened.len; i++)
		r = open_place(cache, i);
	if (r == 0)
		cache->closed = false;
	if (r == 0 && cache->unsorted)
		r = sort(cache);
	if (r < 0)
		return r;
	for (uint32_t i = 0; changed && i < cache->opened.len; i++)
		cache->sorted.at[cache->opened.at[i].at] = cache->opened.at[i].is;
	*ret = cache->sorted.at;
	*ret_len = cache->sorted.len;
	return 0;
}

int fl_cache_unpacked_get(struct fl_cache *cache, struct fl_str space, struct fl_str name, struct fl_unpacked *ret)
{
	uint32_t place = cache_place(cache, space, name);
	int r = place == NOWHERE ? 0 : open_place(cache, place);

	*ret = place == NOWHERE || r < 0 ? (struct fl_unpacked){ NULL, NULL } : cache->opened.at[place].is;
	return r;
}
