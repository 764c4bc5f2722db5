/* hmap.h - find an object by a text that it carries.
 *
 * The map holds pointers and reads the key from the object, so a key is stored once: in the object. Open addressing
 * over SipHash-1-3 with the owner's seed (random in a process, fixed in a test): no attacker can choose collisions, and
 * the same seed gives the same order of iteration. The map does not own the objects. They must not move or change their
 * key while they are in it.
 */
#pragma once
#include "base/mem.h"

struct fl_hmap {
	struct fl_str (*key)(const void *object);
	uint64_t seed[2];
	struct fl_hmap_slot *slots;
	uint32_t len, cap;
};

void fl_hmap_init(struct fl_hmap *map, struct fl_str (*key)(const void *object), const uint64_t seed[2]);
void fl_hmap_free(struct fl_hmap *map);

void *fl_hmap_get(const struct fl_hmap *map, struct fl_str key);

/* 0 or -FL_E_NOMEM. Replaces an object of the same key, which never fails, and returns it in *ret_old (NULL: none). */
int fl_hmap_put(struct fl_hmap *map, void *object, void **ret_old) FL_MUSTUSE;

/* After 0, this many more put() cannot fail; or -FL_E_NOMEM. */
int fl_hmap_reserve(struct fl_hmap *map, uint32_t more) FL_MUSTUSE;

/* Take it out and return it; NULL when it was not there. Never fails. */
void *fl_hmap_del(struct fl_hmap *map, struct fl_str key);

/* Every object once, in an order that only the seed and the history decide. Start with *at = 0; NULL at the end. The
 * map must not change meanwhile, except that the object just returned may be removed: then step back with (*at)--. */
void *fl_hmap_next(const struct fl_hmap *map, uint32_t *at);

/* The hash itself, for those who need one of their own. */
uint64_t fl_siphash13(const uint64_t seed[2], const void *bytes, size_t len);

static inline void fl_hmap_auto_(struct fl_hmap *map)
{
	fl_hmap_free(map);
}
