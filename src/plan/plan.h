/* plan.h - the outputs of a plan. A plan does nothing itself: the loop applies its outputs.
 *
 *     void fl_plan_capacity(const struct fl_capacity_facts *facts, struct fl_plan *plan)
 *     {
 *             ...
 *             fl_want(plan, &owner, facts->pool, &pool);
 *             fl_want_condition(plan, &owner, facts->pool, FL_EMIT_WARNING, "CapacityLow", FL_CONDITION_TRUE,
 *                               "AllInUse", "all %d units are held by Pods", total);
 *     }
 *
 * A plan is a pure function of its facts: no I/O, no clock, no log, no state of its own, and no knowledge of what has
 * changed. So it may be called at any time, any number of times: a missed event, a restart or a second leader only cost
 * time. The loop (run/loop.h) compares the desired state with the observed state and applies the difference.
 *
 * Nothing here fails: the plan stores a failed allocation, and its key is planned again. Structs are copied; their
 * texts and lists are borrowed as long as the plan: from its arena, which holds the facts too, or as literals, which
 * types and reasons always are.
 */
#pragma once
#include "api/children.h"

/* Bytes of a message: a page. The API server accepts 32 KiB in a condition, which is no text for people. */
#define FL_PLAN_TEXT 2048

/* An object. */
struct fl_ref {
	const struct fl_kind *kind;
	struct fl_str space, name;     /* space: empty if the kind is cluster-scoped */
	struct fl_str uid;             /* empty: any object of the name. Given: this one only */
	int64_t generation;            /* of the object that was read; 0: it has none */
};

/* A reference to an object that was read, of a kind whose root begins with FL_OBJECT or has FL_META_NAMES, as in
 * FL_REF(&fl_pod_kind, pod). */
#define FL_REF(kind_, object) \
	((struct fl_ref){ (kind_), (object)->meta.space, (object)->meta.name, (object)->meta.uid, \
			  FL_GENERATION((object)->meta) })

/* Do both name the same object, whatever they know of it? */
static inline bool fl_ref_same(struct fl_ref a, struct fl_ref b)
{
	return a.kind == b.kind && fl_str_eq(a.name, b.name) && fl_str_eq(a.space, b.space);
}

/* A list that the API treats as one value and that several writers share: Node taints, finalizers. No owner can have a
 * part of it, so single items are added and removed, each by a patch that applies only to the version that was read. */
struct fl_shared {
	const char *manager;
	const struct fl_kind *kind;
	const char *path;              /* "spec.taints"; the list is atomic or a set, and not inside another list */
	const char *by;                /* what makes two items the same: "key,effect"; NULL: the value, of a list of
					  texts */
};

/* A finalizer of a capability: its object is not deleted before the cleanup.
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

/* The desired object, as far as the owner writes it; `object` is a root struct of the kind, and its other fields are
 * ignored. Fields of the owner that are absent here are removed. A missing object is created. A second call for the
 * same owner and object replaces the first, but keeps its conditions. */
void fl_want(struct fl_plan *plan, const struct fl_owner *owner, struct fl_ref ref, const void *object);

/* Likewise, but only if the object has not been written since the facts were read: for what only one may have. Of
 * several claims at a time the first succeeds; the keys of the others are planned again on its result. A missing object
 * cannot be claimed. Conditions of the same owner are part of the claim. While the claim is in flight, plans see it as
 * done, as any write; it is certain when the facts show it in an object of another version. */
void fl_want_claim(struct fl_plan *plan, const struct fl_owner *owner, struct fl_ref ref, const void *object);

/* A condition, in the same write as the owner's other fields of the object. Unless `tell` is FL_EMIT_NOBODY, an Event
 * is sent once, when the write that changed the condition's status or reason has succeeded; a change of the message
 * alone sends none. `explain` prints the same text. observedGeneration is that of the reference, if it has one
 * (FL_REF); when only that changes, the condition is written again without an Event. */
void fl_want_condition(struct fl_plan *plan, const struct fl_owner *owner, struct fl_ref ref, enum fl_emit tell,
		       const char *type, enum fl_condition_status is, const char *reason, const char *message, ...)
	FL_PRINTF(8, 9);

/* How an object is deleted. Zeroed: dependents are deleted after it, at any version, with the grace period of its kind.
 * */
struct fl_deletion {
	enum fl_propagation propagation;   /* FL_FOREGROUND: dependents first; FL_ORPHAN: they stay */
	bool as_seen;                      /* only if it has not been written since the facts were read */
	bool now;                          /* without a grace period */
	int32_t grace_s;                   /* seconds; 0: as its kind says */
};

/* The object should not exist. With a uid, only that object is deleted. One that is being deleted already is left
 * alone. It exists until its finalizers are removed and its grace period is over: the facts show that, not the plan. */
void fl_want_gone(struct fl_plan *plan, struct fl_ref ref);
/* An Event about `about`, in the same breath as the write of a want that stands already: that of the owner for the
 * object or, without an owner, its absence. It is sent once, when that write has succeeded; where nothing differs, and
 * so nothing is written, none is sent. For what no condition tells: a first sight, an end. */
void fl_want_event(struct fl_plan *plan, const struct fl_owner *owner, struct fl_ref ref, struct fl_ref about,
		   enum fl_emit tell, const char *reason, const char *message, ...) FL_PRINTF(7, 8);
void fl_want_deleted(struct fl_plan *plan, struct fl_ref ref, const struct fl_deletion *how);

/* The desired child of `parent`, which has a uid: like fl_want, with the reference to the parent (api/children.h). If
 * an object of that name is not this parent's child, it is left alone: `explain` reports it at the parent ("Taken"),
 * gather finds it with fl_view_taken, and the child is created when that object is gone. */
void fl_want_child(struct fl_plan *plan, const struct fl_children *children, struct fl_ref parent, struct fl_ref child,
		   const void *object);

/* No other children: every other child of this parent is deleted, by its uid. Without a call of fl_want_child that is
 * all of them. A plan without this call leaves the others alone. */
void fl_want_no_others(struct fl_plan *plan, const struct fl_children *children, struct fl_ref parent);

/* The desired item of a shared list, or its absence. `item` is the element's struct, or a struct fl_str. For the
 * absence only the members that identify an item count, and an absent one means any value. */
void fl_want_item(struct fl_plan *plan, const struct fl_shared *shared, struct fl_ref ref, const void *item);
void fl_want_no_item(struct fl_plan *plan, const struct fl_shared *shared, struct fl_ref ref, const void *item);

/* Add the finalizer before all else: other wants of the plan are written only when it is there, so nothing is created
 * without a later cleanup. An object that is being deleted gets none. */
void fl_want_finalizer(struct fl_plan *plan, const struct fl_finalizer *finalizer, struct fl_ref ref);
/* Remove the finalizer, last of all: when every other want of the plan is observed and answered, and every object that
 * the plan deletes (fl_want_gone, fl_want_no_others) is observed to be absent. */
void fl_want_no_finalizer(struct fl_plan *plan, const struct fl_finalizer *finalizer, struct fl_ref ref);

/* Call again at this time (monotonic ns, as among the facts). The earliest counts. */
void fl_want_at(struct fl_plan *plan, uint64_t at);

/* For `explain` only. */
void fl_say(struct fl_plan *plan, struct fl_ref ref, const char *reason, const char *message, ...) FL_PRINTF(4, 5);

/* Zeroed memory for a desired object; valid as long as the plan. NULL: the allocation failed, which the plan stores. */
void *fl_plan_get(struct fl_plan *plan, size_t count, size_t size) FL_MUSTUSE;
struct fl_str fl_plan_printf(struct fl_plan *plan, const char *fmt, ...) FL_PRINTF(2, 3);
/* Appends a statement to a text, after "; ". */
void fl_plan_append(struct fl_plan *plan, struct fl_str *text, const char *fmt, va_list args) FL_PRINTF(3, 0);

/* ---- for the loop, and for tests ---- */

struct fl_told {
	struct fl_str type;            /* of a condition that sends an Event when its status or reason changes */
	enum fl_emit tell;
	struct fl_told *next;
};

struct fl_news {
	struct fl_ref about;
	enum fl_emit tell;
	struct fl_str reason, message;
	struct fl_news *next;
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
	struct fl_news *news;                  /* OBJECT, GONE: Events of fl_want_event */
	const struct fl_children *children;    /* OBJECT: of a child; NULL: it is none */
	struct fl_ref parent;                  /* ... of this parent */
	bool taken;                            /* ... another object has its name: set by the loop */
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

#define FL_PLAN_BUCKETS 32   /* of the table of desired objects: most plans have fewer */

struct fl_plan {
	struct fl_arena *arena;                /* borrowed */
	struct fl_want *first, **last;         /* in the order in which they were wanted */
	struct fl_no_others *no_others, **no_others_last;
	struct fl_said *said, **said_last;
	uint64_t at;                           /* of fl_want_at; 0: none */
	bool failed;                           /* an allocation failed: nothing of the plan counts */
	struct fl_want *bucket[FL_PLAN_BUCKETS];
};

void fl_plan_init(struct fl_plan *plan, struct fl_arena *arena);

/* The want of one owner for an object; NULL: none. */
const struct fl_want *fl_plan_find(const struct fl_plan *plan, const struct fl_owner *owner, struct fl_ref ref);

/* Is the object wanted as a child of this parent? */
bool fl_plan_has_child(const struct fl_plan *plan, const struct fl_children *children, struct fl_ref parent,
		       struct fl_ref child);

/* One line for each output, in order; the same plan gives the same text. */
void fl_plan_print(const struct fl_plan *plan, struct fl_buf *buf);
