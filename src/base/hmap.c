#include "base/hmap.h"

/* The whole hash is compared before the object is asked for its key: one cache miss less for each neighbour. */
struct fl_hmap_slot {
	void *object;
	uint64_t hash;
};

static const uint32_t first_cap = 16;   /* a power of two, like every later one */

void fl_hmap_init(struct fl_hmap *map, struct fl_str (*key)(const void *object), const uint64_t seed[2])
{
	*map = (struct fl_hmap){ .key = key, .seed = { seed[0], seed[1] } };
}

void fl_hmap_free(struct fl_hmap *map)
{
	fl_free(map->slots);
	map->slots = NULL;
	map->len = map->cap = 0;
}

static uint64_t hash_of(const struct fl_hmap *map, struct fl_str key)
{
	return fl_siphash13(map->seed, key.p, key.len);
}

/* Where the key is, or the empty slot where it would go. */
static uint32_t slot_of(const struct fl_hmap *map, uint64_t hash, struct fl_str key)
{
	uint32_t i = (uint32_t)hash & (map->cap - 1);

	while (map->slots[i].object) {
		if (map->slots[i].hash == hash && fl_str_eq(map->key(map->slots[i].object), key))
			return i;
		i = (i + 1) & (map->cap - 1);
	}
	return i;
}

void *fl_hmap_get(const struct fl_hmap *map, struct fl_str key)
{
	return map->cap ? map->slots[slot_of(map, hash_of(map, key), key)].object : NULL;
}

static void place(struct fl_hmap_slot *slots, uint32_t cap, struct fl_hmap_slot slot)
{
	uint32_t i = (uint32_t)slot.hash & (cap - 1);

	while (slots[i].object)
		i = (i + 1) & (cap - 1);
	slots[i] = slot;
}

static bool fits(uint64_t len, uint32_t cap)
{
	return len <= cap - cap / 4;
}

int fl_hmap_reserve(struct fl_hmap *map, uint32_t more)
{
	uint32_t cap = map->cap ? map->cap : first_cap;
	struct fl_hmap_slot *slots;

	if (map->cap && fits((uint64_t)map->len + more, map->cap))
		return 0;
	while (cap && !fits((uint64_t)map->len + more, cap))
		cap *= 2;
	slots = cap ? fl_zalloc_n(cap, sizeof *slots) : NULL;
	if (!slots)
		return -FL_E_NOMEM;
	for (uint32_t i = 0; i < map->cap; i++)
		if (map->slots[i].object)
			place(slots, cap, map->slots[i]);
	fl_free(map->slots);
	map->slots = slots;
	map->cap = cap;
	return 0;
}

int fl_hmap_put(struct fl_hmap *map, void *object, void **ret_old)
{
	struct fl_str key = map->key(object);
	uint64_t hash = hash_of(map, key);
	uint32_t i = map->cap ? slot_of(map, hash, key) : 0;
	void *old = map->cap ? map->slots[i].object : NULL;

	if (!old && !fits((uint64_t)map->len + 1, map->cap)) {
		if (fl_hmap_reserve(map, 1) < 0)
			return -FL_E_NOMEM;
		i = slot_of(map, hash, key);
	}
	map->len += !old;
	if (ret_old)
		*ret_old = old;
	map->slots[i] = (struct fl_hmap_slot){ object, hash };
	return 0;
}

/* Close the gap by moving back what had been pushed past it, so that no marker is left behind. */
static void close_gap(struct fl_hmap *map, uint32_t gap)
{
	uint32_t mask = map->cap - 1;

	for (uint32_t i = (gap + 1) & mask; map->slots[i].object; i = (i + 1) & mask) {
		uint32_t home = (uint32_t)map->slots[i].hash & mask;

		if (((i - home) & mask) < ((i - gap) & mask))
			continue;
		map->slots[gap] = map->slots[i];
		gap = i;
	}
	map->slots[gap].object = NULL;
}

void *fl_hmap_del(struct fl_hmap *map, struct fl_str key)
{
	uint32_t i;
	void *object;

	if (!map->cap)
		return NULL;
	i = slot_of(map, hash_of(map, key), key);
	object = map->slots[i].object;
	if (!object)
		return NULL;
	map->len--;
	close_gap(map, i);
	return object;
}

void *fl_hmap_next(const struct fl_hmap *map, uint32_t *at)
{
	while (*at < map->cap) {
		void *object = map->slots[(*at)++].object;

		if (object)
			return object;
	}
	return NULL;
}
