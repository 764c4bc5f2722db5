/* cache_in.h - the inside of a cache: for cache.c and its indexes, group.c. */
#pragma once
#include "base/units.h"
#include "run/cache.h"

#define FL_PACKED_MAX (2 * FL_MIB)   /* one cached object: etcd stores none larger than 1.5 MiB as JSON */

/* A slot of a table is empty, or holds a place plus one. */
#define NOWHERE UINT32_MAX

/* An entry's membership in a group. */
struct fl_link {
	struct fl_group *group;
	uint32_t at;                    /* where in the group; NOWHERE: not in it yet */
	int32_t amount;                 /* what it counts for in the group's sum */
};

/* A source's mark in an entry: the round of its full state in which it told of the object last; 0: it has it not. */
#define MARK_BITS 5
#define ROUNDS ((1u << MARK_BITS) - 1)   /* 1 to ROUNDS, and again from 1 */

/* The bits are enough: a packed object ends at FL_PACKED_MAX, and each value takes some of its bytes; a source's round
 * is only compared with its current one. */
struct fl_entry {
	uint64_t len : 22;              /* of the packed bytes: ENTRY_BITS */
	uint64_t link_count : 22;
	uint64_t marks : MARK_BITS * FL_SOURCES;   /* of each source; outside of the cache: references but one */
	struct fl_link links[];         /* the packed bytes follow */
};
#define ENTRY_BITS ((1u << 22) - 1)
_Static_assert(FL_PACKED_MAX <= ENTRY_BITS, "its length fits");
_Static_assert(sizeof(struct fl_entry) == 8, "sources cost an object nothing");

/* An object that stays unpacked, by its entry's place. */
struct opened {
	struct fl_arena arena;
	struct fl_unpacked is;          /* .object NULL: not opened since it changed */
	uint32_t at;                    /* in cache->sorted */
};

uint32_t cache_place(const struct fl_cache *cache, struct fl_str space, struct fl_str name);   /* or NOWHERE */
int cache_by_name(const struct fl_cache *cache, const void *a, const void *b);   /* of two unpacked objects */

/* ---- unpacked.c: of a cache whose objects stay so; of others these do nothing ---- */

int unpacked_reserve(struct fl_cache *cache) FL_MUSTUSE;                 /* for one more */
void unpacked_put(struct fl_cache *cache, uint32_t place);              /* something new stands there */
void unpacked_remove(struct fl_cache *cache, uint32_t place);           /* the last one moves there */
void unpacked_free(struct fl_cache *cache);
uint64_t unpacked_bytes(const struct fl_cache *cache);

/* ---- group.c: where an object stands; before it is put, and when it is ---- */

void groups_init(struct fl_cache *cache, const struct fl_index *by);
void groups_free(struct fl_cache *cache);

/* Find out where an object stands: cache->under, with room in each group for it. Ends with groups_commit, or with
 * groups_undo. On failure nothing is held. */
int groups_prepare(struct fl_cache *cache, const void *object, struct fl_entry *before) FL_MUSTUSE;
void groups_undo(struct fl_cache *cache);
/* `entry`, made for cache->under, stands at this place now, `before` (NULL: nothing) no more. */
void groups_commit(struct fl_cache *cache, struct fl_entry *entry, struct fl_entry *before, uint32_t place);

void groups_leave(struct fl_cache *cache, struct fl_entry *entry);   /* out of all of them */
void groups_moved(struct fl_entry *entry, uint32_t place);           /* it stands at another place */
uint64_t groups_bytes(const struct fl_cache *cache);                 /* of the tables */
