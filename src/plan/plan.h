/* plan.h - what a plan may want. A plan cannot do anything; it can only say these things.
 *
 *     void fl_plan_capacity(const struct fl_capacity_facts *facts, struct fl_plan *plan)
 *     {
 *             ...
 *             fl_want(plan, &owner, facts->pool, &pool);
 *             fl_want_condition(plan, &owner, facts->pool, FL_EMIT_WARNING, "CapacityLow", FL_CONDITION_TRUE,
 *                               "AllInUse", "all %d units are held by Pods", total);
 *     }
 *
 * A plan is a pure function of its facts: no I/O, no clock, no log, no memory of the last time, and nobody tells it
 * what has changed. So it may be called at any time and as often as anybody likes: a missed event, a restart, a second
 * leader only cost time. The loop (run/loop.h) compares what is wanted with what is so and carries out the difference.
 *
 * Nothing here fails: what finds no memory is remembered by the plan, and its key is planned again. Structs that are
 * handed in are copied; their texts and lists are not, and live as long as the plan: in its arena, where facts lie too,
 * or they are literals, as types and reasons always are.
 */
#pragma once
#include "api/children.h"

/* A message of a plan, for people: the API server lets a condition have 32 KiB, and nobody reads more than a page. */
#define FL_PLAN_TEXT 2048

/* An object. */
struct fl_ref {
	const struct fl_kind *kind;
	struct fl_str space, name;     /* space: empty for what is cluster-scoped */
	struct fl_str uid;             /* empty: whoever bears the name. Given: nobody else of that name is meant */
	int64_t generation;            /* of the object that was read; 0: it has none */
};

/* A reference to an object that was read, of a kind whose root begins with FL_OBJECT or has FL_META_NAMES, as in
 * FL_REF(&fl_pod_kind, pod). */
#define FL_REF(kind_, object) \
	((struct fl_ref){ (kind_), (object)->meta.space, (object)->meta.name, (object)->meta.uid, \
			  FL_GENERATION((object)->meta) })

/* A list that the API treats as one value, and that is shared with others: Node taints, finalizers. No owner can have a
 * part of it, so single items are added and taken out, each by a patch that holds only for the version that we saw. */
struct fl_shared {
	const char *manager;
	const struct fl_kind *kind;
	const char *path;              /* "spec.taints"; the list is atomic or a set, and not inside another list */
	const char *by;                /* what makes two items the same: "key,effect"; NULL: the value, of a list of
					  texts */
};

/* A finalizer of ours: what bears it stays until we have cleaned up after it.
 *
 *     static const struct fl_finalizer finalizer = FL_FINALIZER(&fl_gpu_pool_kind, "fairlead-pools",
 *     "gpu.deckhouse.io/pool");
 */
struct fl_finalizer {
	struct fl_shared list;
	struct fl_str name;
};
#define FL_FINALIZER(kind, manager, name) { { manager, kind, "metadata.finalizers", NULL }, FL_S_INIT(name) }

/* The row of its list, and where the list lies in the root struct; NULL: the path leads to no such list. */
const struct fl_field *fl_shared_field(const struct fl_shared *shared, size_t *ret_offset);

enum fl_emit { FL_EMIT_NOBODY, FL_EMIT_NORMAL, FL_EMIT_WARNING, FL_EMIT_COUNT_ };
extern const struct fl_names fl_emit_names;

struct fl_plan;

/* The object should look so, as far as it is the owner's: of `object`, a root struct of the kind, nothing else is
 * looked at. What is the owner's, absent here and present there, goes. An object that is not there is made. Wanted
 * twice, by one owner: the later one counts, with the conditions that were wanted before. */
void fl_want(struct fl_plan *plan, const struct fl_owner *owner, struct fl_ref ref, const void *object);

/* Likewise, but only if nobody has written the object since the facts were read: for what one alone may have. Of
 * several who claim it at a time, one is first; the others are planned again on what it has made. What is not there
 * cannot be claimed. Conditions of the same owner are part of it. While the claim is on its way, plans see it as done,
 * as any write; it is sure when the facts show it in an object that has another version. */
void fl_want_claim(struct fl_plan *plan, const struct fl_owner *owner, struct fl_ref ref, const void *object);

/* A condition, in the same write as the rest that this owner wants of the object. Unless nobody is to be told, there is
 * an event too: once, when the write that changed the condition's status or reason has succeeded; another message under
 * the same reason is no news. `explain` prints the same words. The condition says of which generation it holds
 * (observedGeneration), where the reference has one: FL_REF. One that says the same of an older generation is written
 * again, without an event. */
void fl_want_condition(struct fl_plan *plan, const struct fl_owner *owner, struct fl_ref ref, enum fl_emit tell,
		       const char *type, enum fl_condition_status is, const char *reason, const char *message, ...)
	FL_PRINTF(8, 9);

/* How an object is deleted. Zeroed: its dependents go after it, at whatever version, with the grace of its kind. */
struct fl_deletion {
	enum fl_propagation propagation;   /* FL_FOREGROUND: dependents go first; FL_ORPHAN: they stay */
	bool as_seen;                      /* only if nobody has written it since the facts were read */
	bool now;                          /* without grace */
	int32_t grace_s;                   /* seconds; 0: as its kind says */
};

/* The object should not be. Only the one with this uid, if it is given, is deleted. One that is going already is left,
 * however it was deleted. It is there until its finalizers and grace are over: the facts show that, not the plan. */
void fl_want_gone(struct fl_plan *plan, struct fl_ref ref);
void fl_want_deleted(struct fl_plan *plan, struct fl_ref ref, const struct fl_deletion *how);

/* A child of `parent`, which has a uid, should look so: like fl_want, with what names the parent (api/children.h)
 * besides. What bears the name and is not this parent's, be it somebody else's, nobody's or that of another of the
 * parent's name, is left as it is: `explain` says so of the parent ("Taken"), fl_view_taken says it to gather, and the
 * child is made when that one is gone. */
void fl_want_child(struct fl_plan *plan, const struct fl_children *children, struct fl_ref parent, struct fl_ref child,
		   const void *object);

/* And no others: every other object that names this parent so is deleted, itself and no later one of its name. Where no
 * child is wanted, all go. A plan that does not say this leaves the others. */
void fl_want_no_others(struct fl_plan *plan, const struct fl_children *children, struct fl_ref parent);

/* An item of a shared list should be there just so, or not be there. `item` is the element's struct, or a struct
 * fl_str; for the absence only what makes it the same is looked at, and a part of that which is absent means any. */
void fl_want_item(struct fl_plan *plan, const struct fl_shared *shared, struct fl_ref ref, const void *item);
void fl_want_no_item(struct fl_plan *plan, const struct fl_shared *shared, struct fl_ref ref, const void *item);

/* The finalizer should be there: first of all. What the plan wants after it is not written until it is, so nothing is
 * made that nobody would clean up. An object that is going gets none. */
void fl_want_finalizer(struct fl_plan *plan, const struct fl_finalizer *finalizer, struct fl_ref ref);
/* Remove the finalizer, last of all: when every other want of the plan is observed and answered, and every object that
 * the plan deletes (fl_want_gone, fl_want_no_others) is observed to be absent. */
void fl_want_no_finalizer(struct fl_plan *plan, const struct fl_finalizer *finalizer, struct fl_ref ref);

/* Call again at this time (monotonic ns, as among the facts). The earliest counts. */
void fl_want_at(struct fl_plan *plan, uint64_t at);

/* For `explain` only. */
void fl_say(struct fl_plan *plan, struct fl_ref ref, const char *reason, const char *message, ...) FL_PRINTF(4, 5);

/* What is allocated for an object that is to be wanted: lives as long as the plan. NULL: refused, and remembered. */
void *fl_plan_get(struct fl_plan *plan, size_t count, size_t size) FL_MUSTUSE;
struct fl_str fl_plan_printf(struct fl_plan *plan, const char *fmt, ...) FL_PRINTF(2, 3);
/* One more statement behind those of a text, with "; " between them. */
void fl_plan_append(struct fl_plan *plan, struct fl_str *text, const char *fmt, va_list args) FL_PRINTF(3, 0);

/* ---- for whoever carries it out, and for tests ---- */

struct fl_told {
	struct fl_str type;            /* a condition that is told when its status or reason changes */
	enum fl_emit tell;
	struct fl_told *next;
};

enum fl_want_what { FL_WANT_OBJECT, FL_WANT_GONE, FL_WANT_ITEM, FL_WANT_NO_ITEM, FL_WANT_COUNT_ };
extern const struct fl_names fl_want_names;

struct fl_want {
	enum fl_want_what what;
	const struct fl_owner *owner;          /* OBJECT */
	const struct fl_shared *shared;        /* ITEM, NO_ITEM */
	struct fl_ref ref;
	void *object;                          /* OBJECT: a root struct; ITEM, NO_ITEM: the item */
	struct fl_told *told;                  /* OBJECT */
	const struct fl_children *children;    /* OBJECT: it is a child; NULL: it is not */
	struct fl_ref parent;                  /* ... of this one */
	bool taken;                            /* ... whose name another one bears: the loop's */
	struct fl_deletion how;                /* GONE */
	bool first, last;                      /* ITEM, NO_ITEM: before, after all others */
	bool as_seen;                          /* OBJECT, GONE: only at the version that was seen */
	struct fl_want *next, *same_hash;
};

struct fl_said {
	struct fl_ref ref;
	struct fl_str reason, message;
	struct fl_said *next;
};

struct fl_no_others {
	const struct fl_children *children;
	struct fl_ref parent;
	struct fl_no_others *next;
};

#define FL_PLAN_BUCKETS 32   /* by which wanted objects are found: most plans want fewer */

struct fl_plan {
	struct fl_arena *arena;                /* borrowed */
	struct fl_want *first, **last;         /* in the order in which they were wanted */
	struct fl_no_others *no_others, **no_others_last;
	struct fl_said *said, **said_last;
	uint64_t at;                           /* 0: not asked for */
	bool failed;                           /* memory was refused: nothing of the plan counts */
	struct fl_want *bucket[FL_PLAN_BUCKETS];
};

void fl_plan_init(struct fl_plan *plan, struct fl_arena *arena);

/* What one owner wants of an object; NULL: nothing. */
const struct fl_want *fl_plan_find(const struct fl_plan *plan, const struct fl_owner *owner, struct fl_ref ref);

/* Is the object wanted as a child of this parent? */
bool fl_plan_has_child(const struct fl_plan *plan, const struct fl_children *children, struct fl_ref parent,
		       struct fl_ref child);

/* One line for each thing wanted and said, in order; the same plan gives the same text. */
void fl_plan_print(const struct fl_plan *plan, struct fl_buf *buf);
