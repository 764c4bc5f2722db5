/* facts.h - the facts of a plan in one table, which gives the struct here, and in run/facts.h the function that fills
 * it and the changes that make a key dirty.
 *
 *     #define FL_GPU_LINKS_FACTS(X) \
 *             X(NEED, fl_settings, settings, "settings") \
 *             X(NEED, fl_host, host, "host") \
 *             X(ALL, fl_dev_link, links, link_len)
 *     FL_FACTS(fl_gpu_links_facts, FL_GPU_LINKS_FACTS);
 *
 * A row is X(how, struct, member, ...). One object, NULL if there is none:
 *     ONE(struct, member, "name")        by its name
 *     NEED(struct, member, "name")       likewise; without it nothing is planned
 *     ONLY(struct, member)               the only one of its kind
 *     SELF(struct, member)               by the key's name; where neither SELF nor UNDER finds anything, nothing is
 *                                        planned
 * Several objects, an array sorted by namespace and name:
 *     ALL(struct, member, len)
 *     UNDER(struct, member, len, field)  those whose field is the key's name
 *     CHILDREN(struct, member, len, parent)   those whose controller is the object of SELF, a struct parent; needs the
 *                                        index fl_by_controller (run/cache.h)
 * SELF and CHILDREN are for kinds with or without namespaces. Keys of UNDER have no namespace, nor may SELF beside it;
 * it needs an index with the field's name and the field as its only value.
 * Of a kind that may be absent or unknown (struct fl_watched, optional): MAYBE_ONE, MAYBE_ONLY, MAYBE_ALL, and
 *     NEED_ONLY(struct, member)          the only one of such a kind; without it nothing is planned
 *     TOLD(struct, member)               a bool: the kind is synced or absent
 *     KNOWN(struct, member)              a bool: the kind is synced
 *     CURRENT(struct, member)            a uint64_t: since when what is known of it is current, by the clock of NOW;
 *                                        0: it is not. A plan that judges from what is *not* there needs it: while a
 *                                        watch is broken nothing new comes
 * Of the call:
 *     NOW(member), WALL(member)          the loop's clock in ns, microseconds since 1970
 *     KEY(member)                        the key's name
 * Further members, which the capability's own gather fills, follow the table: `FL_FACTS(name, TABLE, bool ours;)`.
 */
#pragma once
#include "base/str.h"

/* Kinds are those of the struct: fl_host_kind of fl_host. */
#define FL_FACTS(name, TABLE, ...) \
	struct name { \
		TABLE(FL_FACT_MEMBER) \
		__VA_ARGS__ \
	}
#define FL_FACT_MEMBER(how, ...) FL_FACT_MEMBER_##how(__VA_ARGS__)
#define FL_FACT_MEMBER_ONE(type, member, ...) const struct type *member;
#define FL_FACT_MEMBER_NEED FL_FACT_MEMBER_ONE
#define FL_FACT_MEMBER_ONLY FL_FACT_MEMBER_ONE
#define FL_FACT_MEMBER_SELF FL_FACT_MEMBER_ONE
#define FL_FACT_MEMBER_MAYBE_ONE FL_FACT_MEMBER_ONE
#define FL_FACT_MEMBER_MAYBE_ONLY FL_FACT_MEMBER_ONE
#define FL_FACT_MEMBER_NEED_ONLY FL_FACT_MEMBER_ONE
#define FL_FACT_MEMBER_ALL(type, member, count, ...) \
	const struct type *member; \
	uint32_t count;
#define FL_FACT_MEMBER_UNDER FL_FACT_MEMBER_ALL
#define FL_FACT_MEMBER_CHILDREN FL_FACT_MEMBER_ALL
#define FL_FACT_MEMBER_MAYBE_ALL FL_FACT_MEMBER_ALL
#define FL_FACT_MEMBER_TOLD(type, member) bool member;
#define FL_FACT_MEMBER_KNOWN FL_FACT_MEMBER_TOLD
#define FL_FACT_MEMBER_CURRENT(type, member) uint64_t member;
#define FL_FACT_MEMBER_NOW(member) uint64_t member;
#define FL_FACT_MEMBER_WALL(member) int64_t member;
#define FL_FACT_MEMBER_KEY(member) struct fl_str member;
