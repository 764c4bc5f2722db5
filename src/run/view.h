/* view.h - a read-only view of the caches, for gather, keys and answers; and the keys that a change makes dirty.
 *
 *     bool gather(struct fl_view *view, struct fl_ref key, void *facts)
 *     {
 *             f->pool = fl_view_get(view, &fl_gpu_pool_kind, key.space, key.name);
 *             ...
 *             struct fl_each each = fl_view_by(view, &fl_pod_kind, "pool", f->pool->meta.name);
 *             while ((pod = fl_each_next(&each))) ...
 *     }
 *
 * Objects come unpacked, in the view's arena; they and their texts live until the capability has planned. Own writes in
 * flight overlay the reported state. A failed allocation looks like absence and sets `failed`: the loop drops what was
 * gathered and repeats the key.
 */
#pragma once
#include "run/cache.h"

struct fl_children;
struct fl_loop;
struct fl_owner;
struct fl_want;

/* One read of a view; for tests, and to explain what a decision depends on. */
struct fl_read {
	enum { FL_READ_GET, FL_READ_BY, FL_READ_COUNT, FL_READ_SUM, FL_READ_ALL } how;
	const struct fl_kind *kind;
	struct fl_str space, name;     /* GET */
	const char *index;             /* BY, COUNT, SUM */
	struct fl_str value;           /* ... */
	bool found;
};

struct fl_view {
	struct fl_loop *loop;
	struct fl_arena *arena;
	uint64_t now;                  /* monotonic ns: a fact, and what fl_want_at counts in */
	int64_t wall;                  /* microseconds since 1970 */
	bool failed;
	void (*read)(void *arg, const struct fl_read *read);   /* called for each read; may be NULL */
	void *read_arg;
	bool steady;                   /* the loop's: the caches do not change while the view is used */
	struct fl_feed *seen_in;       /* the loop's, when steady: the last object read, and its unpacked form */
	const struct fl_entry *seen;
	void *seen_object;
};

/* The object, a root struct of the kind; NULL: there is none. */
const void *fl_view_get(struct fl_view *view, const struct fl_kind *kind, struct fl_str space, struct fl_str name);

/* Whether the server does not have the kind. Only for a kind that the capability watches as optional. */
bool fl_view_absent(struct fl_view *view, const struct fl_kind *kind);

/* Whether the server does not have the kind of the source of that name (fl_loop_feed_add). Likewise. */
bool fl_view_lacks(struct fl_view *view, const struct fl_kind *kind, const char *name);

/* Whether a feeder is about to report the kind and has not yet (fl_feed_awaited). Likewise. */
bool fl_view_awaited(struct fl_view *view, const struct fl_kind *kind);

/* Since when what is known of the kind is current, by the loop's clock in ns; 0: it is not, as its feeder has lost its
 * source, or the kind is not synced. What changed before that time is reported within moments. Only for a kind that the
 * capability watches as `current` and optional. */
uint64_t fl_view_current(struct fl_view *view, const struct fl_kind *kind);

/* Several objects: all, or those under a value of an index of the kind's source (struct fl_source). The order has no
 * meaning, but the same history gives the same order. */
struct fl_each {
	struct fl_view *view;
	struct fl_cache *cache;
	const struct fl_group *group;  /* NULL: all in the cache */
	uint32_t at;                   /* the next one */
	uint32_t len;                  /* of all */
};
struct fl_each fl_view_all(struct fl_view *view, const struct fl_kind *kind);
struct fl_each fl_view_by(struct fl_view *view, const struct fl_kind *kind, const char *index, struct fl_str value);

/* Objects whose controller has this uid, of a kind whose source has the index fl_by_controller. */
struct fl_each fl_view_children(struct fl_view *view, const struct fl_kind *kind, struct fl_str parent_uid);

/* The number of objects under a value, and the sum of their amounts there (FL_UNDER_FOR): looked up in O(1), without
 * reading the objects. */
uint32_t fl_view_count(struct fl_view *view, const struct fl_kind *kind, const char *index, struct fl_str value);
int64_t fl_view_sum(struct fl_view *view, const struct fl_kind *kind, const char *index, struct fl_str value);

/* A value of several parts, as in the index: fl_view_count(view, &kind, "pool", FL_VALUE(view, space, name)). */
#define FL_VALUE(view, ...) \
	fl_view_value((view), (const struct fl_str[]){ __VA_ARGS__ }, FL_LEN(((const struct fl_str[]){ __VA_ARGS__ })))
struct fl_str fl_view_value(struct fl_view *view, const struct fl_str *parts, uint32_t len);

/* The next object, unpacked; NULL at the end. */
const void *fl_each_next(struct fl_each *each);

/* The remaining objects as one array of root structs, sorted by namespace and name, for plans that compare them.
 * Returns their number; *ret is in the view's arena. 0 and NULL also after a failed allocation. */
uint32_t fl_each_array(struct fl_each *each, void **ret);

/* All objects of a kind: one by one; as an array sorted like that; the first one, NULL: there is none. */
#define fl_view_each(object_, view_, kind_) \
	for (struct fl_each each_ = fl_view_all((view_), (kind_)); ((object_) = fl_each_next(&each_));)
void *fl_view_array(struct fl_view *view, const struct fl_kind *kind, uint32_t *ret_len);
const void *fl_view_first(struct fl_view *view, const struct fl_kind *kind);

/* A text about fields of this object that our owner writes and another writer keeps reverting; .p NULL: none. A fact
 * from which a plan may make a condition. It is read with the object, so the keys of the object's kind must name the
 * key that reads it; they run when the contest begins and when it ends. */
struct fl_str fl_view_contested(struct fl_view *view, const struct fl_owner *owner, struct fl_str space,
				struct fl_str name);
/* The same for any want (plan.h): an item of a shared list, the absence of one, that of an object. Compared are what is
 * wanted, its owner, its object, and of an item its identity. */
struct fl_str fl_view_contested_want(struct fl_view *view, const struct fl_want *want);

/* For a kind whose objects stay unpacked (struct fl_source): one, with .object NULL if there is none; or all, sorted by
 * namespace and name. Nothing is unpacked or sorted twice, so keys and facts of each of many objects may read all
 * pools. The results live as long as those of fl_view_get(). */
struct fl_unpacked fl_view_unpacked(struct fl_view *view, const struct fl_kind *kind, struct fl_str space,
				    struct fl_str name);
uint32_t fl_view_all_unpacked(struct fl_view *view, const struct fl_kind *kind, const struct fl_unpacked **ret);

/* For a wanted child: the object that has its name and is not the parent's, as "Market fair"; .p NULL: none. A fact
 * from which a plan may make a condition. The loop plans the key again when that object changes. */
struct fl_str fl_view_taken(struct fl_view *view, const struct fl_children *children, struct fl_str parent_uid,
			    struct fl_str space, struct fl_str name);

/* Zeroed memory in the view's arena; NULL: the allocation failed, and the view is marked as failed. */
void *fl_view_alloc(struct fl_view *view, size_t count, size_t size) FL_MUSTUSE;

/* ---- keys ---- */

struct fl_dirty {
	struct fl_view *view;          /* to find keys by indexes, where the object does not name them itself */
	void (*key)(struct fl_dirty *dirty, struct fl_str space, struct fl_str name);
	void (*each)(struct fl_dirty *dirty, const struct fl_kind *kind);
};

/* Marks a key to be planned again. Any text may be a key; mostly it is an object's name. */
static inline void fl_dirty_key(struct fl_dirty *dirty, struct fl_str space, struct fl_str name)
{
	dirty->key(dirty, space, name);
}

/* Marks the controller of a child, if it is of this kind: so a change of children makes the parent's key dirty. `space`
 * is the child's. */
void fl_dirty_controller(struct fl_dirty *dirty, const struct fl_kind *parent, struct fl_str space,
			 const struct fl_owner_ref_list *refs);

/* As if each object of this kind, which the capability watches, had changed: for what all of them depend on. Spread
 * over as many iterations as needed. */
static inline void fl_dirty_each(struct fl_dirty *dirty, const struct fl_kind *kind)
{
	dirty->each(dirty, kind);
}
