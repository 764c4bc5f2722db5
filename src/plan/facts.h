/* facts.h - what a plan reads, said once: a table that gives the struct here, and in run/facts.h what fills it and
 * which changes make a key dirty.
 *
 *     #define FL_GPU_LINKS_FACTS(X) \
 *             X(NEED, fl_settings, settings, "settings") \
 *             X(NEED, fl_host, host, "host") \
 *             X(ALL, fl_dev_link, links, link_len)
 *     FL_FACTS(fl_gpu_links_facts, FL_GPU_LINKS_FACTS);
 *
 * A row is X(how, struct, member, ...). Of one object, NULL where there is none:
 *     ONE(struct, member, "name")        the one of this name
 *     NEED(struct, member, "name")       likewise, and without it nothing is planned
 *     ONLY(struct, member)               the one that there is
 *     SELF(struct, member)               the one that bears the key's name; nothing is planned of a key for which
 *                                        neither SELF nor UNDER finds anything
 * Of several, an array sorted by namespace and name:
 *     ALL(struct, member, len)
 *     UNDER(struct, member, len, field)  those whose field is the key's name
 *     CHILDREN(struct, member, len, parent)  those whose controller is the object that SELF finds, a struct parent;
 *     needs
 *                                        the index fl_by_controller (run/cache.h)
 * SELF and CHILDREN take objects with or without a namespace. A key of UNDER has none, so what it shares a capability
 * with has none either; it needs an index named as the field, with the field as its only value.
 * Of a kind that may be absent or unknown (struct fl_watched, optional): MAYBE_ONE, MAYBE_ONLY, MAYBE_ALL, and
 *     NEED_ONLY(struct, member)          the one that there is, of such a kind; without it nothing is planned
 *     TOLD(struct, member)               a bool: its feeder has told of the kind, be it that there is none
 *     KNOWN(struct, member)              a bool: likewise, and it is not absent
 * Of the call:
 *     NOW(member), WALL(member)          the loop's clock in ns, microseconds since 1970
 *     KEY(member)                        the key's name
 * What no row can say is a further member, `FL_FACTS(name, TABLE, bool ours;)`, and the capability fills it.
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
#define FL_FACT_MEMBER_NOW(member) uint64_t member;
#define FL_FACT_MEMBER_WALL(member) int64_t member;
#define FL_FACT_MEMBER_KEY(member) struct fl_str member;
