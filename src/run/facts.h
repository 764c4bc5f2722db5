/* facts.h - gather and watches of a capability, from the table of its facts (plan/facts.h).
 *
 * With one key, which every change makes dirty:
 *
 *     FL_FACTS_ONCE(links, fl_gpu_links_facts, FL_GPU_LINKS_FACTS)
 *     const struct fl_capability fl_node_links = {
 *             .name = "node-links", .once = true, .watches = links_watches, .gather = links_gather,
 *             .facts_size = sizeof(struct fl_gpu_links_facts), .plan = fl_gpu_links_plan,
 *             .owners = FL_OWNERS(&fl_gpu_links_owner),
 *     };
 *
 * With several keys: a change of an object of SELF, UNDER or CHILDREN makes its key dirty, and any other change all
 * keys, which are the names of all objects of SELF and the fields of all of UNDER. One such capability a file:
 *
 *     FL_FACTS_KEYED(pool, fl_pool_facts, FL_POOL_FACTS)
 *
 * A gather of the capability's own calls links_gather first. Watches that are no facts follow the table:
 * FL_FACTS_ONCE(links, ..., { &fl_health_kind, fl_no_key, false }).
 */
#pragma once
#include "plan/facts.h"
#include "run/loop.h"
#include <stddef.h>

enum fl_fact_how {
	FL_FACT_ONE, FL_FACT_ONLY, FL_FACT_SELF, FL_FACT_ALL, FL_FACT_UNDER, FL_FACT_CHILDREN, FL_FACT_TOLD,
	FL_FACT_KNOWN, FL_FACT_CURRENT, FL_FACT_NOW, FL_FACT_WALL, FL_FACT_KEY, FL_FACT_COUNT_
};

struct fl_fact {
	enum fl_fact_how how;
	bool need;
	const struct fl_kind *kind, *parent;
	size_t offset, len_offset;
	const char *name;              /* of the object, or of the index */
};

/* Fills a zeroed struct by its rows. False, and only a part is filled: a needed object is missing, or neither SELF nor
 * UNDER finds anything. */
bool fl_gather(struct fl_view *view, struct fl_ref key, const struct fl_fact *rows, uint32_t count, void *facts);

/* Keys of changes that concern the only key, and of changes that concern none. */
static inline void fl_one_key(const void *before, const void *after, struct fl_dirty *dirty)
{
	(void)before;
	(void)after;
	fl_dirty_key(dirty, FL_S(""), FL_S(""));
}

static inline void fl_no_key(const void *before, const void *after, struct fl_dirty *dirty)
{
	(void)before;
	(void)after;
	(void)dirty;
}

#define FL_FACTS_ONCE(prefix, facts, TABLE, ...) \
	FL_FACTS_GATHER(prefix, facts, TABLE) \
	static const struct fl_watched prefix##_watches[] = { TABLE(FL_FACT_WATCH) __VA_OPT__(__VA_ARGS__,) { 0 } };

#define FL_FACTS_KEYED(prefix, facts, TABLE, ...) \
	FL_FACTS_GATHER(prefix, facts, TABLE) \
	__attribute__((unused)) static void fl_every_key(const void *before, const void *after, \
							 struct fl_dirty *dirty) \
	{ \
		(void)before; \
		(void)after; \
		TABLE(FL_FACT_EACH) \
	} \
	TABLE(FL_FACT_KEYS) \
	static const struct fl_watched prefix##_watches[] = { TABLE(FL_FACT_WATCH_KEYED) \
							      __VA_OPT__(__VA_ARGS__,) { 0 } };

#define FL_FACTS_GATHER(prefix, facts_, TABLE) \
	static bool prefix##_gather(struct fl_view *view, struct fl_ref key, void *facts) \
	{ \
		typedef struct facts_ self; \
		static const struct fl_fact rows[] = { TABLE(FL_FACT_ROW) }; \
		return fl_gather(view, key, rows, FL_LEN(rows), facts); \
	}

/* ---- a row of struct fl_fact ---- */

#define FL_FACT_ROW(how, ...) FL_FACT_ROW_##how(__VA_ARGS__)
#define FL_FACT_ROW_ONE(type, member, called) \
	{ .how = FL_FACT_ONE, .kind = &type##_kind, .offset = offsetof(self, member), .name = called },
#define FL_FACT_ROW_NEED(type, member, called) \
	{ .how = FL_FACT_ONE, .need = true, .kind = &type##_kind, .offset = offsetof(self, member), .name = called },
#define FL_FACT_ROW_ONLY(type, member) \
	{ .how = FL_FACT_ONLY, .kind = &type##_kind, .offset = offsetof(self, member) },
#define FL_FACT_ROW_SELF(type, member) \
	{ .how = FL_FACT_SELF, .kind = &type##_kind, .offset = offsetof(self, member) },
#define FL_FACT_ROW_ALL(type, member, count) \
	{ .how = FL_FACT_ALL, .kind = &type##_kind, .offset = offsetof(self, member), \
	  .len_offset = offsetof(self, count) },
#define FL_FACT_ROW_UNDER(type, member, count, field) \
	{ .how = FL_FACT_UNDER, .kind = &type##_kind, .offset = offsetof(self, member), \
	  .len_offset = offsetof(self, count), .name = #field },
#define FL_FACT_ROW_CHILDREN(type, member, count, parent_) \
	{ .how = FL_FACT_CHILDREN, .kind = &type##_kind, .parent = &parent_##_kind, .offset = offsetof(self, member), \
	  .len_offset = offsetof(self, count) },
#define FL_FACT_ROW_MAYBE_ONE FL_FACT_ROW_ONE
#define FL_FACT_ROW_NEED_ONLY(type, member) \
	{ .how = FL_FACT_ONLY, .need = true, .kind = &type##_kind, .offset = offsetof(self, member) },
#define FL_FACT_ROW_MAYBE_ONLY FL_FACT_ROW_ONLY
#define FL_FACT_ROW_MAYBE_ALL FL_FACT_ROW_ALL
#define FL_FACT_ROW_TOLD(type, member) \
	{ .how = FL_FACT_TOLD, .kind = &type##_kind, .offset = offsetof(self, member) },
#define FL_FACT_ROW_KNOWN(type, member) \
	{ .how = FL_FACT_KNOWN, .kind = &type##_kind, .offset = offsetof(self, member) },
#define FL_FACT_ROW_CURRENT(type, member) \
	{ .how = FL_FACT_CURRENT, .kind = &type##_kind, .offset = offsetof(self, member) },
#define FL_FACT_ROW_NOW(member) { .how = FL_FACT_NOW, .offset = offsetof(self, member) },
#define FL_FACT_ROW_WALL(member) { .how = FL_FACT_WALL, .offset = offsetof(self, member) },
#define FL_FACT_ROW_KEY(member) { .how = FL_FACT_KEY, .offset = offsetof(self, member) },

/* ---- a row of struct fl_watched, of a capability with one key ---- */

#define FL_FACT_WATCH(how, ...) FL_FACT_WATCH_##how(__VA_ARGS__)
#define FL_FACT_WATCH_ONE(type, ...) { &type##_kind, fl_one_key, false },
#define FL_FACT_WATCH_NEED FL_FACT_WATCH_ONE
#define FL_FACT_WATCH_ONLY FL_FACT_WATCH_ONE
#define FL_FACT_WATCH_ALL FL_FACT_WATCH_ONE
#define FL_FACT_WATCH_MAYBE_ONE(type, ...) { &type##_kind, fl_one_key, true },
#define FL_FACT_WATCH_MAYBE_ONLY FL_FACT_WATCH_MAYBE_ONE
#define FL_FACT_WATCH_NEED_ONLY FL_FACT_WATCH_MAYBE_ONE
#define FL_FACT_WATCH_MAYBE_ALL FL_FACT_WATCH_MAYBE_ONE
#define FL_FACT_WATCH_TOLD FL_FACT_WATCH_MAYBE_ONE
#define FL_FACT_WATCH_KNOWN FL_FACT_WATCH_MAYBE_ONE
#define FL_FACT_WATCH_CURRENT(type, ...) { &type##_kind, fl_one_key, true, true },
#define FL_FACT_WATCH_NOW(...)
#define FL_FACT_WATCH_WALL(...)
#define FL_FACT_WATCH_KEY(...)

/* ---- the same with a key each, and the functions that name them ---- */

#define FL_FACT_WATCH_KEYED(how, ...) FL_FACT_WATCH_KEYED_##how(__VA_ARGS__)
#define FL_FACT_WATCH_KEYED_ONE(type, ...) { &type##_kind, fl_every_key, false },
#define FL_FACT_WATCH_KEYED_NEED FL_FACT_WATCH_KEYED_ONE
#define FL_FACT_WATCH_KEYED_ONLY FL_FACT_WATCH_KEYED_ONE
#define FL_FACT_WATCH_KEYED_ALL FL_FACT_WATCH_KEYED_ONE
#define FL_FACT_WATCH_KEYED_MAYBE_ONE(type, ...) { &type##_kind, fl_every_key, true },
#define FL_FACT_WATCH_KEYED_MAYBE_ONLY FL_FACT_WATCH_KEYED_MAYBE_ONE
#define FL_FACT_WATCH_KEYED_NEED_ONLY FL_FACT_WATCH_KEYED_MAYBE_ONE
#define FL_FACT_WATCH_KEYED_MAYBE_ALL FL_FACT_WATCH_KEYED_MAYBE_ONE
#define FL_FACT_WATCH_KEYED_TOLD FL_FACT_WATCH_KEYED_MAYBE_ONE
#define FL_FACT_WATCH_KEYED_KNOWN FL_FACT_WATCH_KEYED_MAYBE_ONE
#define FL_FACT_WATCH_KEYED_CURRENT(type, ...) { &type##_kind, fl_every_key, true, true },
#define FL_FACT_WATCH_KEYED_SELF(type, member) { &type##_kind, type##_##member##_keys, false },
#define FL_FACT_WATCH_KEYED_CHILDREN(type, member, ...) { &type##_kind, type##_##member##_keys, false },
#define FL_FACT_WATCH_KEYED_UNDER(type, member, ...) { &type##_kind, type##_##member##_keys, false },
#define FL_FACT_WATCH_KEYED_NOW(...)
#define FL_FACT_WATCH_KEYED_WALL(...)
#define FL_FACT_WATCH_KEYED_KEY(...)

#define FL_FACT_KEYS(how, ...) FL_FACT_KEYS_##how(__VA_ARGS__)
#define FL_FACT_KEYS_SELF(type, member) \
	static void type##_##member##_keys(const void *before, const void *after, struct fl_dirty *dirty) \
	{ \
		const struct type *object = after ? after : before; \
\
		fl_dirty_key(dirty, object->meta.space, object->meta.name); \
	}
#define FL_FACT_KEYS_UNDER(type, member, count, field) \
	static void type##_##member##_keys(const void *before, const void *after, struct fl_dirty *dirty) \
	{ \
		if (before) \
			fl_dirty_key(dirty, FL_S(""), ((const struct type *)before)->field); \
		if (after) \
			fl_dirty_key(dirty, FL_S(""), ((const struct type *)after)->field); \
	}
#define FL_FACT_KEYS_CHILDREN(type, member, count, parent) \
	static void type##_##member##_keys(const void *before_, const void *after_, struct fl_dirty *dirty) \
	{ \
		const struct type *before = before_, *after = after_; \
\
		if (before) \
			fl_dirty_controller(dirty, &parent##_kind, before->meta.space, \
					    &before->meta.owner_references); \
		if (after) \
			fl_dirty_controller(dirty, &parent##_kind, after->meta.space, &after->meta.owner_references); \
	}
#define FL_FACT_KEYS_ONE(...)
#define FL_FACT_KEYS_NEED(...)
#define FL_FACT_KEYS_ONLY(...)
#define FL_FACT_KEYS_ALL(...)
#define FL_FACT_KEYS_MAYBE_ONE(...)
#define FL_FACT_KEYS_MAYBE_ONLY(...)
#define FL_FACT_KEYS_NEED_ONLY(...)
#define FL_FACT_KEYS_MAYBE_ALL(...)
#define FL_FACT_KEYS_TOLD(...)
#define FL_FACT_KEYS_KNOWN(...)
#define FL_FACT_KEYS_CURRENT(...)
#define FL_FACT_KEYS_NOW(...)
#define FL_FACT_KEYS_WALL(...)
#define FL_FACT_KEYS_KEY(...)

#define FL_FACT_EACH(how, ...) FL_FACT_EACH_##how(__VA_ARGS__)
#define FL_FACT_EACH_SELF(type, ...) fl_dirty_each(dirty, &type##_kind);
#define FL_FACT_EACH_UNDER FL_FACT_EACH_SELF
#define FL_FACT_EACH_CHILDREN(...)
#define FL_FACT_EACH_ONE(...)
#define FL_FACT_EACH_NEED(...)
#define FL_FACT_EACH_ONLY(...)
#define FL_FACT_EACH_ALL(...)
#define FL_FACT_EACH_MAYBE_ONE(...)
#define FL_FACT_EACH_MAYBE_ONLY(...)
#define FL_FACT_EACH_NEED_ONLY(...)
#define FL_FACT_EACH_MAYBE_ALL(...)
#define FL_FACT_EACH_TOLD(...)
#define FL_FACT_EACH_KNOWN(...)
#define FL_FACT_EACH_CURRENT(...)
#define FL_FACT_EACH_NOW(...)
#define FL_FACT_EACH_WALL(...)
#define FL_FACT_EACH_KEY(...)
