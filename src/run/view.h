/* view.h - a read-only look at the caches, for gather, keys and answers; and what a change makes dirty.
 *
 *     bool gather(struct fl_view *view, struct fl_ref key, void *facts)
 *     {
 *             f->pool = fl_view_get(view, &fl_gpu_pool_kind, key.space, key.name);
 *             ...
 *             struct fl_each each = fl_view_by(view, &fl_pod_kind, "pool", f->pool->meta.name);
 *             while ((pod = fl_each_next(&each))) ...
 *     }
 *
 * Objects come unpacked, in the view's arena; they and their texts live until the capability has planned. Own writes
 * that are still on their way are laid over what was told. A failure (memory) looks like absence and is remembered:
 * what was gathered is thrown away, and the key comes again.
 */
#pragma once
#include "run/cache.h"

struct fl_children;
struct fl_loop;
struct fl_owner;
struct fl_want;

/* What was looked at; for tests, and for people who ask what a decision rests on. */
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
	void (*read)(void *arg, const struct fl_read *read);   /* NULL: nobody asks */
	void *read_arg;
	bool steady;                   /* the loop's: the caches stand still as long as it is used */
	struct fl_feed *seen_in;       /* the loop's, when steady: what was got last, and what it unpacked to */
	const struct fl_entry *seen;
	void *seen_object;
};

/* The object, a root struct of the kind; NULL: there is none. */
const void *fl_view_get(struct fl_view *view, const struct fl_kind *kind, struct fl_str space, struct fl_str name);

/* Does the server not have the kind at all? Only of a kind that the capability watches as optional. */
bool fl_view_absent(struct fl_view *view, const struct fl_kind *kind);

/* Does the server not have what the source of that name (fl_loop_feed_add) tells of? Likewise. */
bool fl_view_lacks(struct fl_view *view, const struct fl_kind *kind, const char *name);

/* Has nobody told of the kind yet, who is about to (fl_feed_awaited)? Likewise. */
bool fl_view_awaited(struct fl_view *view, const struct fl_kind *kind);

/* Several: all, or those under a value of an index of the kind's source. In no order that means anything, but the same
 * history gives the same order. Indexes are those of struct fl_source. */
struct fl_each {
	struct fl_view *view;
	struct fl_cache *cache;
	const struct fl_group *group;  /* NULL: all in the cache */
	uint32_t at;                   /* the next one */
	uint32_t len;                  /* of all */
};
struct fl_each fl_view_all(struct fl_view *view, const struct fl_kind *kind);
struct fl_each fl_view_by(struct fl_view *view, const struct fl_kind *kind, const char *index, struct fl_str value);

/* Those whose controller has this uid, of a kind whose source has the index fl_by_controller. */
struct fl_each fl_view_children(struct fl_view *view, const struct fl_kind *kind, struct fl_str parent_uid);

/* How many there are under a value, and the sum of what they count for there (FL_UNDER_FOR): looked up, however many
 * there are. A plan that asks for these need not look at the objects. */
uint32_t fl_view_count(struct fl_view *view, const struct fl_kind *kind, const char *index, struct fl_str value);
int64_t fl_view_sum(struct fl_view *view, const struct fl_kind *kind, const char *index, struct fl_str value);

/* A value of several parts, as the index says them: fl_view_count(view, &kind, "pool", FL_VALUE(view, space, name)). */
#define FL_VALUE(view, ...) \
	fl_view_value((view), (const struct fl_str[]){ __VA_ARGS__ }, FL_LEN(((const struct fl_str[]){ __VA_ARGS__ })))
struct fl_str fl_view_value(struct fl_view *view, const struct fl_str *parts, uint32_t len);

/* The next object, unpacked; NULL at the end. */
const void *fl_each_next(struct fl_each *each);

/* All that are left as one array of root structs, sorted by namespace and name, for plans that weigh them against each
 * other: how many, and *ret in the view's arena. None, and NULL, also when memory was refused. */
uint32_t fl_each_array(struct fl_each *each, void **ret);

/* Of all of a kind: each; so sorted, as an array; the first that comes, NULL: there is none. */
#define fl_view_each(object_, view_, kind_) \
	for (struct fl_each each_ = fl_view_all((view_), (kind_)); ((object_) = fl_each_next(&each_));)
void *fl_view_array(struct fl_view *view, const struct fl_kind *kind, uint32_t *ret_len);
const void *fl_view_first(struct fl_view *view, const struct fl_kind *kind);

/* What an owner of ours wants of this object and somebody else takes away again and again, in words; .p NULL: nothing.
 * A fact from which a plan may make a condition. It is read with the object, so the keys of the object's kind must name
 * whoever asks; they are asked when it begins and when it ends. */
struct fl_str fl_view_contested(struct fl_view *view, const struct fl_owner *owner, struct fl_str space,
				struct fl_str name);
/* The same of anything that can be wanted (plan.h): an item of a shared list, the absence of one, that of an object.
 * What, who, where, and of an item what makes it the one that it is, are looked at. */
struct fl_str fl_view_contested_want(struct fl_view *view, const struct fl_want *want);

/* Of a kind whose objects stay unpacked (struct fl_source): one, with .object NULL where there is none; or all, sorted
 * by namespace and name. Nothing is unpacked or sorted that was so already, so keys and facts of each of many objects
 * may ask for all pools. They live as long as what fl_view_get gives. */
struct fl_unpacked fl_view_unpacked(struct fl_view *view, const struct fl_kind *kind, struct fl_str space,
				    struct fl_str name);
uint32_t fl_view_all_unpacked(struct fl_view *view, const struct fl_kind *kind, const struct fl_unpacked **ret);

/* Of a child that is wanted: what bears its name and is not the parent's, as "Market fair"; .p NULL: nothing. A fact
 * from which a plan may make a condition. The loop plans the key again when that one changes. */
struct fl_str fl_view_taken(struct fl_view *view, const struct fl_children *children, struct fl_str parent_uid,
			    struct fl_str space, struct fl_str name);

/* Room in the view's arena, zeroed; NULL: refused, and remembered. */
void *fl_view_alloc(struct fl_view *view, size_t count, size_t size) FL_MUSTUSE;

/* ---- keys ---- */

struct fl_dirty {
	struct fl_view *view;          /* to find keys by indexes, where the object does not name them itself */
	void (*key)(struct fl_dirty *dirty, struct fl_str space, struct fl_str name);
	void (*each)(struct fl_dirty *dirty, const struct fl_kind *kind);
};

/* This key is to be planned again. Any text may be a key; mostly it is an object's name. */
static inline void fl_dirty_key(struct fl_dirty *dirty, struct fl_str space, struct fl_str name)
{
	dirty->key(dirty, space, name);
}

/* The key that is named as the controller of a child, if that is of this kind: what makes a parent's key dirty when its
 * children change. `space` is the child's. */
void fl_dirty_controller(struct fl_dirty *dirty, const struct fl_kind *parent, struct fl_str space,
			 const struct fl_owner_ref_list *refs);

/* As if each object of this kind, which the capability watches, had changed: for what all of them depend on. Spread
 * over as many turns as it takes. */
static inline void fl_dirty_each(struct fl_dirty *dirty, const struct fl_kind *kind)
{
	dirty->each(dirty, kind);
}
