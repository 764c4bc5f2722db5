/* cache.h - all objects of one kind, packed, found by name or by an index.
 *
 * An object is one block: its packed form and its links in the indexes. A reader unpacks it into its own arena. Objects
 * from the API server and from a node come in by the same two calls; a cache does not know its feeders.
 *
 *     static const struct fl_index pods_by[] = { { "node", pod_node }, { 0 } };
 *     fl_cache_init(&pods, &fl_pod_kind, pods_by, &interns, seed);
 *     fl_cache_put(&pods, &pod, &change, err);
 *     group = fl_cache_group(&pods, 0, node);
 *     for (i = 0; i < fl_group_len(group); i++)
 *             use(fl_group_at(&pods, group, i));
 */
#pragma once
#include "api/meta.h"
#include "base/vec.h"
#include "json/bind_pack.h"

#define FL_INDEXES 6            /* of one kind: each costs every object memory */
#define FL_SOURCES 4            /* of one kind: each reports some of its objects */

/* ---- indexes: finding, counting and summing up objects by a common value ---- */

struct fl_under;

/* An index. `of` enters an object with FL_UNDER under its values: none, one or several. All values of an index have the
 * same number of parts.
 *
 *     static void card_pool(const void *object, struct fl_under *under)
 *     {
 *             const struct card *card = object;
 *
 *             FL_UNDER_FOR(under, card->status.slices, card->status.pool.space, card->status.pool.name);
 *     }
 */
struct fl_index {
	const char *name;
	void (*of)(const void *object, struct fl_under *under);
	const char *label;     /* instead of `of`: under the value of this label */
};

/* An index under the uid of the controller, of any kind whose metadata has owner references:
 * { "controller", fl_by_controller }. */
void fl_by_controller(const void *object, struct fl_under *under);

/* Enters the object under this value, of one part or several; not if all parts are absent (.p NULL). A repeated value
 * counts once. */
#define FL_UNDER(under, ...) FL_UNDER_FOR(under, 0, __VA_ARGS__)
/* Like FL_UNDER, with an amount for the value's sum. Amounts that one object gives for one value are added, within 32
 * bits. */
#define FL_UNDER_FOR(under, amount, ...) \
	fl_under_parts((under), (amount), (const struct fl_str[]){ __VA_ARGS__ }, \
		       FL_LEN(((const struct fl_str[]){ __VA_ARGS__ })))
void fl_under_parts(struct fl_under *under, int64_t amount, const struct fl_str *parts, uint32_t len);

/* ---- unpacked objects: of a kind that has few and that is read often ---- */

/* What is computed from each object once, at its first read: a compiled selector. */
struct fl_make {
	size_t room;                   /* bytes of the result; 0: nothing is computed */
	/* Writes `made`, zeroed; object and arena are valid as long as it. Fails only if an allocation fails: a fault
	 * of the object is a part of the result. */
	int (*make)(const void *object, struct fl_arena *arena, void *made, struct fl_err *err);
};

struct fl_unpacked {
	const void *object, *made;
};

struct fl_entry;
struct fl_group;
struct fl_link;
struct opened;

struct fl_cache {
	const struct fl_kind *kind;
	struct fl_interns *interns;
	struct fl_index indexes[FL_INDEXES];
	uint32_t index_count;
	uint64_t seed[2];
	uint32_t len;               /* objects */
	uint64_t bytes;             /* of blocks; tables come on top: fl_cache_bytes */
	uint64_t unpackings;        /* how often an object was unpacked: the cost of gathering */

	/* Private: entries and their hashes by place, a table of places, and the groups of each index. */
	size_t meta_at, name_at, space_at;   /* offsets in the kind's root */
	FL_VEC(struct fl_entry *) entries;
	FL_VEC(uint32_t) hashes;
	uint32_t *slots, slot_count;
	uint32_t *wider, moved;     /* a table twice as large that is being filled, and the places that are in it */
	struct fl_hmap groups[FL_INDEXES];
	FL_VEC(struct fl_link) under;  /* the values of the object that is being put */
	struct fl_buf packing, joining;
	const struct fl_make *make;    /* NULL: objects are only packed */
	FL_VEC(struct opened) opened;  /* by place */
	FL_VEC(struct fl_unpacked) sorted;
	struct fl_arena opening;
	uint64_t opened_bytes;
	bool closed, unsorted;         /* one of `opened` is not open; `sorted` is out of date */
	void *blank;                   /* an object of defaults; NULL before the first one is put */

	uint8_t rounds[FL_SOURCES], unswept[FL_SOURCES];   /* full states; those since the last full sweep */
};

/* `by` ends with a row without a name; NULL: no indexes. The kind's root begins with the metadata that FL_META_NAMES
 * names. Allocates nothing. */
void fl_cache_init(struct fl_cache *cache, const struct fl_kind *kind, const struct fl_index *by,
		   struct fl_interns *interns, const uint64_t seed[2]);
void fl_cache_free(struct fl_cache *cache);

/* The effect of a put. `before` is the former object; the caller drops it with fl_entry_drop. */
struct fl_cache_change {
	struct fl_entry *before, *after;
	bool same;                  /* equal byte by byte: no change to report. `before` is NULL then */
};

/* Adds an object, or replaces the one of its name, whose sources it takes over. On failure nothing has changed. */
int fl_cache_put(struct fl_cache *cache, const void *object, struct fl_cache_change *ret,
		 struct fl_err *err) FL_MUSTUSE;

/* Removes an object; .before is NULL if there was none. Never fails. */
struct fl_cache_change fl_cache_remove(struct fl_cache *cache, struct fl_str space, struct fl_str name);
/* Drops a reference to an entry that was replaced or removed; the last one frees it. NULL-safe. */
void fl_entry_drop(struct fl_cache *cache, struct fl_entry *entry);
struct fl_entry *fl_entry_ref(struct fl_entry *entry);

/* ---- reading: borrowed until the next put or remove ---- */
struct fl_entry *fl_cache_get(const struct fl_cache *cache, struct fl_str space, struct fl_str name);
struct fl_str fl_entry_packed(const struct fl_cache *cache, const struct fl_entry *entry);
int fl_entry_unpack(struct fl_cache *cache, const struct fl_entry *entry, struct fl_arena *arena,
		    void *ret_object, struct fl_err *err) FL_MUSTUSE;

/* Whether the text of the member at this offset of the root is this one; whether two entries differ in that member at
 * most. False if it is absent. */
bool fl_entry_is(const struct fl_cache *cache, const struct fl_entry *entry, size_t offset, struct fl_str text);
bool fl_entry_same_but(const struct fl_cache *cache, const struct fl_entry *a, const struct fl_entry *b,
		       size_t offset);

/* Call before the first put: objects stay unpacked, at about two times their packed size more. `make` is borrowed. Then
 * get one (.object NULL: there is none), or all, sorted by namespace and name. */
void fl_cache_stay_unpacked(struct fl_cache *cache, const struct fl_make *make);
int fl_cache_unpacked_get(struct fl_cache *cache, struct fl_str space, struct fl_str name,
			  struct fl_unpacked *ret) FL_MUSTUSE;
int fl_cache_unpacked(struct fl_cache *cache, const struct fl_unpacked **ret, uint32_t *ret_len) FL_MUSTUSE;

/* The objects under one value of an index; NULL: none, with a length and a sum of 0. fl_cache_value makes one value of
 * several parts. */
const struct fl_group *fl_cache_group(const struct fl_cache *cache, uint32_t index, struct fl_str value);
uint32_t fl_group_len(const struct fl_group *group);
int64_t fl_group_sum(const struct fl_group *group);
struct fl_entry *fl_group_at(const struct fl_cache *cache, const struct fl_group *group, uint32_t i);

/* Appends the parts as one value; different parts give different values. */
void fl_cache_value(struct fl_buf *out, const struct fl_str *parts, uint32_t len);

/* All objects, in no order: start with *at = 0; NULL at the end. */
struct fl_entry *fl_cache_each(const struct fl_cache *cache, uint32_t *at);

/* The same backwards: start with *at = UINT32_MAX. Puts and removes are allowed in between; an object that exists all
 * the time is returned once. */
struct fl_entry *fl_cache_back(const struct fl_cache *cache, uint32_t *at);

/* ---- the sources of the kind that have an object, by number ---- */

void fl_cache_told(const struct fl_cache *cache, struct fl_entry *entry, uint32_t source);   /* this source has it */
void fl_cache_untold(struct fl_entry *entry, uint32_t source);   /* this source has it no longer */
void fl_cache_doom(struct fl_entry *entry);                      /* no source has it */
bool fl_cache_has(const struct fl_entry *entry);                 /* does any source have it? */
/* Does any other source have it, or this one since its last mark? */
bool fl_cache_has_now(const struct fl_cache *cache, const struct fl_entry *entry, uint32_t source);

/* A full state of a source: mark, then put and fl_cache_told for each object, then sweep: start with *at = UINT32_MAX.
 * The source loses the objects without fl_cache_told. Those that no source has any more are returned one by one; NULL
 * at the end. Puts and removes are allowed in between. */
void fl_cache_mark(struct fl_cache *cache, uint32_t source);
struct fl_entry *fl_cache_stale(struct fl_cache *cache, uint32_t source, uint32_t *at);

/* All memory of the cache, tables included. */
uint64_t fl_cache_bytes(const struct fl_cache *cache);
