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
/* Writes in flight at once: fills a connection with a round trip of 1 ms, and is under any server's share. */
#define FL_RUN_WRITES 64
/* Keys in the queue at the start, while the others are still only in the cache: several rounds of writes. All of
 * 50,000 at once would take 10 MB. */
#define FL_RUN_QUEUE 512
/* Bytes of a namespace, a NUL and the name of an object: DNS names, 253 bytes each. */
#define FL_RUN_NAME 1024
#define FL_RUN_WATCHES 24            /* kinds that one capability reads */
/* A conflict is over when the watch has caught up, which takes a few ms. Without an event, the write is tried again. */
#define FL_RUN_CONFLICT (10 * FL_NS_PER_S)
#define FL_RUN_WRITE_TIMEOUT (30 * FL_NS_PER_S)   /* of one write, the wait for a busy server included */
#define FL_RUN_RETRY_FIRST (100 * FL_NS_PER_MS)   /* after a failure: most are over in a moment */
#define FL_RUN_RETRY_LAST (300 * FL_NS_PER_S)     /* a fault of hours costs a request every five minutes */
/* While the server is away, retries are as seldom as those of its watches: soon after it is back all is written. */
#define FL_RUN_AWAY_LAST (30 * FL_NS_PER_S)
/* A failure does not delay the key's other writes, but two attempts of one key are so far apart ... */
#define FL_RUN_RETRY_CHANGED (1 * FL_NS_PER_S)
#define FL_RUN_RESTING 8                          /* ... and after so many failed ones all its writes wait */
#define FL_LOCAL_RETRY_LAST (10 * FL_NS_PER_S)    /* a retry on disk or in memory loads no server */
/* A write repeated so often within the window is contested: another writer reverts it. It pauses. */
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
	/* Names the keys that a change makes dirty. Gets the object before and after; NULL: it did not exist, or does
	 * not any more. At the start both are the same. Must name every key whose gather may read the object: the
	 * tests' keys_check finds what is missing. */
	void (*keys)(const void *before, const void *after, struct fl_dirty *dirty);
	bool optional;                         /* the capability also works on a server without the kind */
	bool current;                          /* its facts have fl_view_current of the kind: all keys depend on it */
};

#define FL_OWNERS(...) (const struct fl_owner *const[]){ __VA_ARGS__, NULL }

struct fl_capability {
	const char *name;                      /* of metrics and explain */
	const struct fl_watched *watches;      /* the one without a kind ends them */
	const struct fl_kind *key;             /* its keys are names of objects of this kind; NULL: of none */
	const struct fl_owner *const *owners;  /* of all that its plan wants; NULL ends them */
	/* Of all that its plan wants with fl_want_child; NULL ends them. Their kind is watched with keys that name the
	 * parent, and its source has the index: fl_by_controller, or the label. */
	const struct fl_children *const *children;
	bool once;                             /* has one key, the empty one, which is dirty at the start too */
	/* Minimum time between two plans of a key, in ns: the first change is planned at once, later ones together when
	 * the time is over. */
	uint64_t every;
	size_t facts_size;
	/* Fills a zeroed struct with the facts of one key. False: there is nothing to plan; the object is gone. */
	bool (*gather)(struct fl_view *view, struct fl_ref key, void *facts);
	void (*plan)(const void *facts, struct fl_plan *plan);
};

/* Answers to requests: Allocate, admission. The facts are read when the request arrives. */
struct fl_answering {
	const char *name;
	const struct fl_kind *const *reads;    /* kinds that must be synced or absent before; NULL ends them */
	size_t facts_size;
	int (*gather)(struct fl_view *view, const void *request, void *facts, struct fl_err *err);
	int (*answer)(const void *facts, const void *request, struct fl_arena *arena, void *reply, struct fl_err *err);
};

/* ---- sinks: they apply the desired state of a kind ---- */

struct fl_sink {
	/* Starts the write. Its end is one of fl_write_done, _gone, _failed, never inside of start. */
	void (*start)(void *self, struct fl_write *write);
	/* The loop is being freed: stop, and report no end. */
	void (*cancel)(void *self, struct fl_write *write);
	size_t room;                           /* bytes that each write needs of its own: at write->held, zeroed */
	uint64_t retry_last;                   /* maximum time until a failed write is retried; 0: as for a server */
};

/* One want that is being applied. All of it is valid until the sink reports the end. */
struct fl_write {
	enum fl_want_what what;
	const struct fl_owner *owner;          /* OBJECT */
	const struct fl_shared *shared;        /* ITEM, NO_ITEM */
	struct fl_ref ref;                     /* with the uid of the object, if it is known */
	struct fl_str version;                 /* at which the difference was seen; empty: the object does not exist */
	const void *object;                    /* OBJECT: the owner's part, stamped; a root struct */
	struct fl_str_list paths;              /* OBJECT: the fields that differ */
	struct fl_str patch;                   /* ITEM, NO_ITEM: the JSON patch */
	struct fl_deletion how;                /* GONE */
	bool as_seen;                          /* OBJECT, GONE: only at `version`, else it fails with FL_E_CONFLICT */
	bool exists;                           /* the object exists */
	struct fl_arena arena;                 /* for what the sink needs until the end */
	void *held;                            /* the sink's own: struct fl_sink.room bytes */
	struct fl_loop *loop;
};

/* Call right before the write is sent: false when another replica leads. Is a may_send of struct fl_kube_call. */
bool fl_write_may(void *write);

/* Is this object the one that is written? A sink asks of an answer from outside: one about another object is none. */
bool fl_write_is(const struct fl_write *write, const void *object);
/* How the write ended. `object`: as it is now; NULL: the sink does not know, and the loop assumes the write's result
 * until a feeder reports the object. */
void fl_write_done(struct fl_write *write, const void *object);
/* Before a sink decodes an answer: has a feeder reported the object at this version already, with all that the write
 * wants? Then fl_write_done needs no object. */
bool fl_write_seen(struct fl_write *write, struct fl_str version);
void fl_write_gone(struct fl_write *write);                                /* the object does not exist any more */
/* FL_E_CONFLICT of a write with `as_seen` is no failure: its key is planned again when a feeder reports the object.
 * Anything else is retried with backoff. */
void fl_write_failed(struct fl_write *write, const struct fl_err *why);

/* ---- the loop ---- */

/* Sent after the write that changed a condition's status or reason. */
struct fl_told_event {
	struct fl_ref ref;
	bool warning;
	enum fl_condition_status is;
	struct fl_str type, reason, message;
	struct fl_str was;                     /* the reason before; empty: the condition is new */
	struct fl_str subject;                 /* what of the object (kube/events.h); the loop leaves it empty */
	const char *capability;
};

struct fl_loop_options {
	uint64_t seed[2];                      /* of maps and jitter: random in a process, fixed in a test */
	bool standby;                          /* another replica leads, until fl_loop_lead */
	bool (*may_write)(void *arg);          /* the lease's fence; NULL: always */
	void (*event)(void *arg, const struct fl_told_event *event);   /* NULL: no Event is sent */
	void *arg;
	uint32_t writes;                       /* in flight at once; 0: FL_RUN_WRITES */
	struct fl_metrics *metrics;            /* NULL: none */
	struct fl_log *log;                    /* NULL: no log */
};

struct fl_loop *fl_loop_new(struct fl_io *io, const struct fl_loop_options *options, struct fl_err *err) FL_MUSTUSE;
struct fl_loop *fl_loop_free(struct fl_loop *loop);    /* after all feeders. NULL-safe, returns NULL */
FL_DEFINE_AUTO(fl_loop, struct fl_loop *, fl_loop_free);

/* A kind in the caches: its indexes, and its sink (NULL: it is never written). */
struct fl_source {
	const struct fl_kind *kind;
	const struct fl_index *by;             /* a row without a name ends them; NULL: none */
	const struct fl_sink *sink;
	void *sink_arg;
	/* Keeps its objects unpacked, with what this makes of each (run/cache.h): for a kind with few objects that are
	 * read often. NULL: packed. */
	const struct fl_make *unpacked;
};

/* Sources first, then capabilities, then feeders. Both borrow their argument. FL_E_INVALID: a capability watches or
 * owns a kind without a source, or another owner writes the same field. */
int fl_loop_source(struct fl_loop *loop, const struct fl_source *source, struct fl_err *err) FL_MUSTUSE;
int fl_loop_capability(struct fl_loop *loop, const struct fl_capability *capability, struct fl_err *err) FL_MUSTUSE;

/* Lead, or stop leading: a standby keeps its caches up to date and plans nothing. Writes in flight are not cancelled,
 * but one that has not been sent yet is not sent any more, also when this replica leads again (fl_write_may). */
void fl_loop_lead(struct fl_loop *loop, bool lead);

int fl_loop_answer(struct fl_loop *loop, const struct fl_answering *answering, const void *request,
		   struct fl_arena *arena,
		   void *reply, struct fl_err *err) FL_MUSTUSE;

/* ---- feeders ----
 *
 * State of a source, by the calls of its feeder:
 *
 *     unknown --awaited--> awaited        unknown, awaited, absent --synced--> synced
 *     unknown, awaited, synced --absent--> absent
 */

/* The feed of a kind's first source; NULL: the kind has none. Lives as long as the loop. */
struct fl_feed *fl_loop_feed(struct fl_loop *loop, const struct fl_kind *kind);

/* A further source of a kind: a watch with another selector, a directory beside the API server. Call it before
 * capabilities and feeders. All sources of a kind fill one cache:
 *   - an object exists while one source has it, at no further memory for an object;
 *   - the kind is known and synced when each of its sources is; it is absent when all are, or one that is not optional;
 *   - whether an optional source is absent is a fact: fl_view_lacks, by its name;
 *   - of two versions of an object the later one counts, in whatever order they come. Only a full state may set an
 *     object back, as after a restore of the server.
 * A writer need not know which source will report its object. `name` is borrowed. NULL: FL_E_INVALID, the kind has no
 * source yet, or has FL_SOURCES; FL_E_NOMEM. */
struct fl_feed *fl_loop_feed_add(struct fl_loop *loop, const struct fl_kind *kind, const char *name, bool optional,
				 struct fl_err *err) FL_MUSTUSE;

/* A full state is requested: it will contain every write that has been answered by now. For a feeder whose full states
 * arrive long after their request; for others fl_feed_begin is the request too. */
void fl_feed_asked(struct fl_feed *feed);
/* Has an own write been answered whose result no feeder has reported yet? A full state that is requested now and is
 * older than the answer reverts it in the cache, and it is written again. */
bool fl_feed_ahead(const struct fl_feed *feed);
/* Begins a full state: this source loses the objects that are not put before fl_feed_synced. May be repeated before
 * the end. */
void fl_feed_begin(struct fl_feed *feed);
/* Does the cache show the object at this version? Then this counts as a put, without decoding: the echo of an own write
 * that was answered, a full state of known objects. Always false for objects without a version. */
bool fl_feed_same(struct fl_feed *feed, struct fl_str space, struct fl_str name, struct fl_str uid,
		  struct fl_str version);
/* An object as it is: new, changed or unchanged. -FL_E_NOMEM: nothing has changed; put it again. */
int fl_feed_put(struct fl_feed *feed, const void *object, struct fl_err *err) FL_MUSTUSE;
/* The object is gone from this source. */
void fl_feed_gone(struct fl_feed *feed, struct fl_str space, struct fl_str name);
void fl_feed_synced(struct fl_feed *feed);
void fl_feed_absent(struct fl_feed *feed);
/* The kind's first full state may take long: capabilities for which it is optional run without it, and
 * fl_view_awaited tells them "not known yet" from "there is none". Call it before all others. */
void fl_feed_awaited(struct fl_feed *feed);
/* Whether the reported state is up to date now (fl_view_current): false while the feeder has lost its source. Without
 * this call a source is current as soon as it is synced. */
void fl_feed_current(struct fl_feed *feed, bool current);

/* ---- looking at it ---- */

/* Whether nothing is to be done and no write is in flight. */
bool fl_loop_idle(const struct fl_loop *loop);
uint32_t fl_loop_writing(const struct fl_loop *loop);
uint64_t fl_loop_bytes(const struct fl_loop *loop);    /* of all caches */

/* The kinds in the order of their sources; NULL after the last. */
const struct fl_kind *fl_loop_kind(const struct fl_loop *loop, uint32_t n);

/* The first kind of a capability that is not known yet; NULL: all are. For /readyz. */
const struct fl_kind *fl_loop_missing(const struct fl_loop *loop);

/* Whether the kind is synced, absent or awaited. */
bool fl_feed_known(const struct fl_feed *feed);
/* The same of this source alone. */
bool fl_source_known(const struct fl_feed *source);

/* Writes that a server refuses (denied, invalid, ...): the number of keys that are held up by one, and one example.
 * keys 0: none. For /readyz, which is public: no names of objects. The log has the error. */
struct fl_refused {
	uint32_t keys;
	const char *capability;
	const struct fl_kind *kind;
	enum fl_code code;
};
struct fl_refused fl_loop_refused(const struct fl_loop *loop);

/* Lines for a person about one object: the latest messages of the plans, differences from the desired state, failures.
 * `name` may be a UUID if the source has an index "uuid". FL_E_NOTFOUND: there is neither an object nor a message. */
int fl_loop_explain(struct fl_loop *loop, const struct fl_kind *kind, struct fl_str space, struct fl_str name,
		    struct fl_buf *out, struct fl_err *err) FL_MUSTUSE;

/* Gathers and plans one key and applies nothing: for tests. False: there is nothing to plan. The plan is initialised by
 * the caller; `read` as in struct fl_view. */
bool fl_loop_try(struct fl_loop *loop, const struct fl_capability *capability, struct fl_str space, struct fl_str name,
		 struct fl_plan *plan, void (*read)(void *arg, const struct fl_read *read), void *read_arg);

/* A view of the caches as they are. */
struct fl_view fl_loop_view(struct fl_loop *loop, struct fl_arena *arena);
/* One for this block, with an arena of its own. */
#define FL_VIEW(view_, loop_) \
	FL_AUTO(fl_arena) struct fl_arena view_##arena_ = { 0 }; \
	struct fl_view view_ = fl_loop_view((loop_), &view_##arena_)
