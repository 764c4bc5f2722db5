/* hmap.h - find an object by a text that it carries.
 *
 * The map holds pointers and asks the object for its key, so a key is stored once: in the object. Open addressing over
 * SipHash-1-3 with a seed of the owner's (random in a process, fixed in a test), so nobody outside can choose
 * collisions, and the same seed gives the same order of iteration.
 * Not owned: the objects. They must not move or change their key while they are in.
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

/* 0 or -FL_E_NOMEM. What had the same key is replaced, which never fails, and handed back in *ret_old (NULL:
 * nothing). */
int fl_hmap_put(struct fl_hmap *map, void *object, void **ret_old) FL_MUSTUSE;

/* 0 or -FL_E_NOMEM: so many more put() cannot fail. */
int fl_hmap_reserve(struct fl_hmap *map, uint32_t more) FL_MUSTUSE;

/* Take it out and return it; NULL when it was not there. Never fails. */
void *fl_hmap_del(struct fl_hmap *map, struct fl_str key);

/* Every object once, in an order that only the seed and the history decide. Start with *at = 0; NULL at the end.
 * The map must not change meanwhile, but what was just told may be taken out: then step back with (*at)--. */
void *fl_hmap_next(const struct fl_hmap *map, uint32_t *at);

/* The hash itself, for those who need one of their own. */
uint64_t fl_siphash13(const uint64_t seed[2], const void *bytes, size_t len);

static inline void fl_hmap_auto_(struct fl_hmap *map)
{
	fl_hmap_free(map);
}
