/* loop.h - the one loop: facts in, plans out, the difference applied.
 *
 *     feeders ─▶ caches ─ keys ─▶ dirty keys ─ gather ─▶ plan ─▶ wanted ─ difference ─▶ sinks
 *
 * Start with struct fl_capability: all that a decision needs is one row. A feeder for each kind delivers its facts (a
 * watch of the API server, a directory, a driver), and a sink for each kind applies what is wanted; the loop knows
 * neither.
 *
 *     loop = fl_loop_new(io, &options, err);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_pod_kind, pods_by }, err);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_gpu_pool_kind, NULL, &fl_kube_sink, sink }, err);
 *     fl_loop_capability(loop, &fl_capacity, err);
 *     fl_watch_new(kube, &(struct fl_watch_options){ .kind = &fl_pod_kind, .to = &fl_feed_watch,
 *                                                    .arg = fl_loop_feed(loop, &fl_pod_kind) }, err);
 *
 * What it promises:
 *   - The loop calls a plan only when something that the plan may have read has changed. When idle, nothing runs and
 *     nothing is sent; no timer fires but the one that ends a key's interval (`.every`).
 *   - The loop writes only a difference between what is wanted and what the cache shows with own writes in flight laid
 *     over it.
 *   - Each object has one write at a time. A failed write is tried again with backoff and jitter. A write that another
 *     writer keeps reverting is reported (fl_view_contested, explain, metrics) and pauses.
 *   - New facts are planned at once, or, with `.every`, when the key's interval is over. What a server has refused is
 *     written again only when its wait is over; another want of the key may go FL_RUN_RETRY_CHANGED after the failure.
 *   - A failed allocation costs time and nothing else: no key, no deletion and no failed write is lost.
 *   - Capabilities take turns. A loop iteration takes at most FL_RUN_SLICE and the one plan that is running.
 *   - Events are sent once, after the write that changed a condition's status or reason has succeeded.
 * The same inputs in the same order give the same calls in the same order.
 */
#pragma once
#include "base/metrics.h"
#include "io/io.h"
#include "plan/plan.h"
#include "run/view.h"

/* What the loop takes of a turn: a quarter of the promised 2 ms, so that others, and the plan that runs, have the
 * rest. */
#define FL_RUN_SLICE (FL_NS_PER_MS / 2)
/* On their way at once: keeps a connection full at 1 ms, and is under any server's share. */
#define FL_RUN_WRITES 64
/* Keys that wait while the rest of a beginning is still in the cache: several rounds of writes. All of 50,000 at once
 * would take 10 MB. */
#define FL_RUN_QUEUE 512
/* Of a namespace, a NUL and a name of something that is written: DNS names, 253 bytes each. */
#define FL_RUN_NAME 1024
#define FL_RUN_WATCHES 24            /* kinds that one capability reads */
/* A conflict is over when the watch has caught up, which takes a few ms. Without a word from it, it is tried again. */
#define FL_RUN_CONFLICT (10 * FL_NS_PER_S)
#define FL_RUN_WRITE_TIMEOUT (30 * FL_NS_PER_S)   /* of one write, waiting for a server that is busy included */
#define FL_RUN_RETRY_FIRST (100 * FL_NS_PER_MS)   /* after a failure: most are over in a moment */
#define FL_RUN_RETRY_LAST (300 * FL_NS_PER_S)     /* what is wrong for hours costs a request every five minutes */
/* A server that is away is asked as seldom as its watches ask it: what has changed meanwhile is told soon after. */
#define FL_RUN_AWAY_LAST (30 * FL_NS_PER_S)
/* Another write than the one that failed is not held back, but two tries of one key are so far apart ... */
#define FL_RUN_RETRY_CHANGED (1 * FL_NS_PER_S)
#define FL_RUN_RESTING 8                          /* ... and so many different ones may fail until all wait */
#define FL_LOCAL_RETRY_LAST (10 * FL_NS_PER_S)    /* a disk, or memory, costs nobody else: soon after it heals */
/* What is written so often within the window is contested: another writer reverts it. It pauses. */
#define FL_CONTEST_TRIES 5
#define FL_CONTEST_WINDOW (60 * FL_NS_PER_S)
#define FL_CONTEST_REST (600 * FL_NS_PER_S)
/* A write that has held for as long ends the contest: whoever reverts more slowly does not contest it. */
#define FL_CONTEST_HELD FL_CONTEST_WINDOW

struct fl_log;
struct fl_loop;
struct fl_feed;
struct fl_write;

/* ---- a capability ---- */

struct fl_watched {
	const struct fl_kind *kind;
	/* Which keys a change makes dirty. Called with the object as it was and as it is, NULL for "not there", both
	 * the same when the beginning is made. Must name every key whose gather may read the object: tests hold it to
	 * that. */
	void (*keys)(const void *before, const void *after, struct fl_dirty *dirty);
	bool optional;                         /* the capability also works on a server without the kind */
};

#define FL_OWNERS(...) (const struct fl_owner *const[]){ __VA_ARGS__, NULL }

struct fl_capability {
	const char *name;                      /* of metrics and explain */
	const struct fl_watched *watches;      /* the one without a kind ends them */
	const struct fl_kind *key;             /* the kind that its keys are names of; NULL: they are not */
	const struct fl_owner *const *owners;  /* all owners that it speaks for; NULL ends them */
	/* All that it wants with fl_want_child; NULL ends them. Their kind is watched with keys that name the parent,
	 * and its source has the index: fl_by_controller, or the label. */
	const struct fl_children *const *children;
	bool once;                             /* has one key, the empty one, which is dirty at the start too */
	/* The least time between two plans of a key that changes make dirty, in ns: the first change is planned at
	 * once, those that follow together when it is over. */
	uint64_t every;
	size_t facts_size;
	/* The facts for one key, into a zeroed struct. False: there is nothing to plan, as when the object is gone. */
	bool (*gather)(struct fl_view *view, struct fl_ref key, void *facts);
	void (*plan)(const void *facts, struct fl_plan *plan);
};

/* What waits for its answer: Allocate, admission. The facts are read when the question comes. */
struct fl_answering {
	const char *name;
	const struct fl_kind *const *reads;    /* what must be synced or absent before it answers; NULL ends them */
	size_t facts_size;
	int (*gather)(struct fl_view *view, const void *request, void *facts, struct fl_err *err);
	int (*answer)(const void *facts, const void *request, struct fl_arena *arena, void *reply, struct fl_err *err);
};

/* ---- sinks: they apply what is wanted of a kind ---- */

struct fl_sink {
	/* Begin. Ends with one of fl_write_done, _gone, _failed; never from inside. */
	void (*start)(void *self, struct fl_write *write);
	/* The loop is being freed: stop, and report nothing about it any more. */
	void (*cancel)(void *self, struct fl_write *write);
	size_t room;                           /* bytes that each write needs for itself: they are at write->held,
						  zeroed */
	uint64_t retry_last;                   /* the longest until what failed is tried again; 0: as for a server */
};

/* One want that is being applied. All of it lives until the sink reports its end. */
struct fl_write {
	enum fl_want_what what;
	const struct fl_owner *owner;          /* OBJECT */
	const struct fl_shared *shared;        /* ITEM, NO_ITEM */
	struct fl_ref ref;                     /* with the uid of the object that is meant, if it is known */
	struct fl_str version;                 /* at which the difference was seen; empty: it is not there */
	const void *object;                    /* OBJECT: the owner's part, stamped; a root struct */
	struct fl_str_list paths;              /* OBJECT: what differs */
	struct fl_str patch;                   /* ITEM, NO_ITEM: the JSON patch */
	struct fl_deletion how;                /* GONE */
	bool as_seen;                          /* OBJECT, GONE: only at `version`, else it fails with FL_E_CONFLICT */
	bool exists;                           /* the object is there */
	struct fl_arena arena;                 /* for whatever the sink needs until the end */
	void *held;                            /* the sink's own: struct fl_sink.room bytes */
	struct fl_loop *loop;
};

/* Ask right before it is sent: false when another replica leads. Give it to fl_kube_call as may_send. */
bool fl_write_may(void *write);

/* Is this object the one that is written? A sink asks of an answer from outside: one about another object is none. */
bool fl_write_is(const struct fl_write *write, const void *object);
/* How it ended. The object as it is now, or NULL when the sink was not told: then what was wanted is taken for so until
 * a feeder says otherwise. */
void fl_write_done(struct fl_write *write, const void *object);
/* For a sink that is about to read the object out of an answer: at this version a feeder has told of it already, with
 * all that the write wants. Then NULL is enough for fl_write_done. */
bool fl_write_seen(struct fl_write *write, struct fl_str version);
void fl_write_gone(struct fl_write *write);                                /* it is not there any more */
/* FL_E_CONFLICT of a write that holds only at the version that was seen: planned again as soon as a feeder tells of the
 * object, and it counts as no failure. Anything else: retried with backoff. */
void fl_write_failed(struct fl_write *write, const struct fl_err *why);

/* ---- the loop ---- */

/* Sent after the write that changed a condition's status or reason. */
struct fl_told_event {
	struct fl_ref ref;
	bool warning;
	enum fl_condition_status is;
	struct fl_str type, reason, message;
	struct fl_str subject;                 /* what of the object (kube/events.h); the loop leaves it empty */
	const char *capability;
};

struct fl_loop_options {
	uint64_t seed[2];                      /* of maps and jitter: random in a process, fixed in a test */
	bool standby;                          /* another replica leads, until fl_loop_lead */
	bool (*may_write)(void *arg);          /* the lease's fence; NULL: always */
	void (*event)(void *arg, const struct fl_told_event *event);   /* NULL: nobody is told */
	void *arg;
	uint32_t writes;                       /* in flight at once; 0: FL_RUN_WRITES */
	struct fl_metrics *metrics;            /* NULL: none are kept */
	struct fl_log *log;                    /* NULL: silent */
};

struct fl_loop *fl_loop_new(struct fl_io *io, const struct fl_loop_options *options, struct fl_err *err) FL_MUSTUSE;
struct fl_loop *fl_loop_free(struct fl_loop *loop);    /* feeders must be gone by then. NULL-safe, returns NULL */
FL_DEFINE_AUTO(fl_loop, struct fl_loop *, fl_loop_free);

/* A kind in the caches: its indexes, and its sink (NULL: it is never written). */
struct fl_source {
	const struct fl_kind *kind;
	const struct fl_index *by;             /* a row without a name ends them; NULL: none */
	const struct fl_sink *sink;
	void *sink_arg;
	/* Its objects stay unpacked, with what this makes of each (run/cache.h): few that are read often. Or NULL. */
	const struct fl_make *unpacked;
};

/* Sources first, then capabilities, then feeders. What is given is borrowed. FL_E_INVALID: a capability that watches or
 * owns what has no source, or an owner whose field another one writes. */
int fl_loop_source(struct fl_loop *loop, const struct fl_source *source, struct fl_err *err) FL_MUSTUSE;
int fl_loop_capability(struct fl_loop *loop, const struct fl_capability *capability, struct fl_err *err) FL_MUSTUSE;

/* Lead, or stop leading: a standby keeps its caches warm and plans nothing. Writes on their way are not called back,
 * but one that has not gone out yet may not do so any more, nor when this one leads again (fl_write_may). */
void fl_loop_lead(struct fl_loop *loop, bool lead);

int fl_loop_answer(struct fl_loop *loop, const struct fl_answering *answering, const void *request,
		   struct fl_arena *arena,
		   void *reply, struct fl_err *err) FL_MUSTUSE;

/* ---- feeders ----
 *
 * What is known of a source, by the calls of its feeder:
 *
 *     unknown --awaited--> awaited        unknown, awaited, absent --synced--> synced
 *     unknown, awaited, synced --absent--> absent
 */

/* Where the objects of a kind's first source go in; NULL: the kind has none. Lives as long as the loop. */
struct fl_feed *fl_loop_feed(struct fl_loop *loop, const struct fl_kind *kind);

/* Another source of a kind that has one, before capabilities and feeders: a watch with another selector, a directory
 * beside the API server. All fill one cache:
 *   - an object is there while one source has it; what a source no more names, or says is gone, goes only if no other
 *     has it. It costs an object no memory;
 *   - the kind is known and synced when each of its sources is; it is absent when all are, or one that is not optional;
 *   - that an optional one is absent is a fact: fl_view_lacks, by its name;
 *   - of two versions of an object the later one counts, whoever tells it last; only a full state is believed in any
 *     case, so that a server which was set back is.
 * Who writes an object need not know by which source it will be told. `name` is borrowed. NULL: FL_E_INVALID, the kind
 * has no source yet, or FL_SOURCES; FL_E_NOMEM. */
struct fl_feed *fl_loop_feed_add(struct fl_loop *loop, const struct fl_kind *kind, const char *name, bool optional,
				 struct fl_err *err) FL_MUSTUSE;

/* A full state is asked for: it will tell of all that has been done by now. For who is told long after he asks; who
 * does not call it asks when he begins. */
void fl_feed_asked(struct fl_feed *feed);
/* Are there own writes of the kind of whose results no feeder has told yet? A full state that is asked for now and is
 * older than their answers takes them back, and they are written again. */
bool fl_feed_ahead(const struct fl_feed *feed);
/* A full state comes; what is not put until it is over, this source has no more. May begin anew before it is over. */
void fl_feed_begin(struct fl_feed *feed);
/* Is the object shown just as it is at this version? Then it is as if it had been put, and nobody needs to read it: the
 * echo of an own write whose answer has come, a full state of what is known. Objects without a version never are. */
bool fl_feed_same(struct fl_feed *feed, struct fl_str space, struct fl_str name, struct fl_str uid,
		  struct fl_str version);
/* Here is an object: new, changed, or as it was. -FL_E_NOMEM: nothing has changed; bring it again. */
int fl_feed_put(struct fl_feed *feed, const void *object, struct fl_err *err) FL_MUSTUSE;
/* This source has it no more. */
void fl_feed_gone(struct fl_feed *feed, struct fl_str space, struct fl_str name);
void fl_feed_synced(struct fl_feed *feed);
void fl_feed_absent(struct fl_feed *feed);
/* Who tells of the kind may take long to answer: capabilities for which it is optional go on without it, and tell "not
 * known yet" (fl_view_awaited) from "there is none". Before anything was told of it. */
void fl_feed_awaited(struct fl_feed *feed);

/* ---- looking at it ---- */

/* Is nothing to do, and nothing in flight? */
bool fl_loop_idle(const struct fl_loop *loop);
uint32_t fl_loop_writing(const struct fl_loop *loop);
uint64_t fl_loop_bytes(const struct fl_loop *loop);    /* of all caches */

/* The kinds that it has a cache of, in the order of their sources; NULL after the last. */
const struct fl_kind *fl_loop_kind(const struct fl_loop *loop, uint32_t n);

/* The first kind of a capability that has not been read yet; NULL: all have. For /readyz. */
const struct fl_kind *fl_loop_missing(const struct fl_loop *loop);

/* Has a full state been told of the kind, or that there is none, or that it is awaited? */
bool fl_feed_known(const struct fl_feed *feed);
/* The same of this source alone. */
bool fl_source_known(const struct fl_feed *source);

/* What servers refuse to write (denied, invalid, ...): how many keys that keeps from what they want, and one of them.
 * keys 0: nothing. For /readyz, which everybody may read: no names of objects. The log has the words. */
struct fl_refused {
	uint32_t keys;
	const char *capability;
	const struct fl_kind *kind;
	enum fl_code code;
};
struct fl_refused fl_loop_refused(const struct fl_loop *loop);

/* What the plans that spoke last said of an object, what is wanted of it and not so, and what failed: lines for a
 * person. What bears a UUID (an index of that name) is found by it too. FL_E_NOTFOUND when there is no such object and
 * nobody has said anything of it. */
int fl_loop_explain(struct fl_loop *loop, const struct fl_kind *kind, struct fl_str space, struct fl_str name,
		    struct fl_buf *out, struct fl_err *err) FL_MUSTUSE;

/* Gather and plan one key and carry nothing out: for tests and for people who ask "what if". False: nothing to plan.
 * The plan was initialised with the arena that is given; `read` as in struct fl_view. */
bool fl_loop_try(struct fl_loop *loop, const struct fl_capability *capability, struct fl_str space, struct fl_str name,
		 struct fl_plan *plan, void (*read)(void *arg, const struct fl_read *read), void *read_arg);

/* A view of the caches as they are. */
struct fl_view fl_loop_view(struct fl_loop *loop, struct fl_arena *arena);
/* One for this block, with an arena of its own. */
#define FL_VIEW(view_, loop_) \
	FL_AUTO(fl_arena) struct fl_arena view_##arena_ = { 0 }; \
	struct fl_view view_ = fl_loop_view((loop_), &view_##arena_)
