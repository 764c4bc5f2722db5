/* loop_in.h - the inside of the loop: for the files of this folder only.
 *
 * loop.c: the iterations. feed.c: changes, and the keys that they make dirty. queue.c: keys, and when they are planned.
 * write.c: the difference, and its writes. overlay.c: own writes over the reported state. contest.c: reverted writes.
 * failing.c: reports of failed writes. await.c: keys that wait for an object. children.c: children of a parent.
 * explain.c, numbers.c: messages and metrics.
 */
#pragma once
#include "run/loop.h"

FL_STRUCT(fl_meta_names, FL_META_NAMES);   /* the beginning of any metadata */

/* An own write over the reported object, from before the write starts until a feeder has reported its result. What the
 * cache shows in each state:
 *
 *   NEW        the write has not started: the reported object
 *   LAID       in flight: the write over the reported object
 *   BARE       in flight: the reported object; an allocation failed, or the write adds nothing to show
 *   ECHOED     in flight: the reported object, which has all of the write: its event came before its answer
 *   CONFIRMED  in flight: the reported object; the answer is known to be no newer (fl_write_seen)
 *   GONE       in flight: nothing, as reported
 *   ANSWERED   done: its result, which no feeder has reported yet
 *   FAILED     failed: still the write, as the allocation to show the reported object failed; retried
 *
 * The next state by event; OUT: the overlay is removed, blank: impossible. overlay_next in overlay.c has the same rows,
 * and test_overlay_states walks them.
 *
 *              START START_BARE TOLD TOLD_BARE TOLD_ALL  TOLD_GONE CONFIRMED DONE     OVER BACK     STUCK
 *   NEW        LAID  BARE                                                             OUT
 *   LAID                        LAID BARE      ECHOED    GONE                ANSWERED OUT  ANSWERED FAILED
 *   BARE                        LAID BARE      ECHOED    GONE                ANSWERED OUT  ANSWERED
 *   ECHOED                      LAID BARE      ECHOED    GONE      CONFIRMED ANSWERED OUT
 *   CONFIRMED                                  CONFIRMED CONFIRMED                    OUT
 *   GONE                        LAID BARE      ECHOED    GONE                         OUT
 *   ANSWERED   LAID  BARE                      OUT       OUT                          OUT
 *   FAILED                                     OUT       OUT                          OUT  ANSWERED FAILED
 */
enum overlay_state {
	OVERLAY_NEVER, OVERLAY_NEW, OVERLAY_LAID, OVERLAY_BARE, OVERLAY_ECHOED, OVERLAY_CONFIRMED, OVERLAY_GONE,
	OVERLAY_ANSWERED, OVERLAY_FAILED, OVERLAY_OUT, OVERLAY_STATE_COUNT_,
};
enum overlay_event {
	ON_START,                      /* the write starts, and is shown over the reported object */
	ON_START_BARE,                 /* it starts, and is not shown */
	ON_TOLD,                       /* a feeder reports the object; the write is shown over it */
	ON_TOLD_BARE,                  /* ... and is not: the allocation failed */
	ON_TOLD_ALL,                   /* ... and the object has all of the write */
	ON_TOLD_GONE,                  /* a feeder reports that the object is gone */
	ON_CONFIRMED,                  /* the answer has the reported version */
	ON_DONE,                       /* the write succeeded, and its result is shown */
	ON_OVER,                       /* it ended, and the reported object is shown; or it never started */
	ON_BACK,                       /* it failed, and the result of the write before it is shown */
	ON_STUCK,                      /* it failed, and the allocation to show the reported object failed */
	OVERLAY_EVENT_COUNT_,
};
#define OVERLAY_HEARD UINT32_MAX       /* in overlay->asked: a full state that was asked for later is complete */
struct overlay {
	enum overlay_state state;
	struct slot *slot;             /* the write that is prepared or in flight; NULL: none */
	struct fl_entry *told;         /* LAID, FAILED: what was told last; NULL: not there */
	uint64_t version;              /* that the last write to be answered made; 0: not known, or told since */
	uint32_t asked[FL_SOURCES];    /* full states of each source that had been asked for at that answer */
	uint32_t space_len, len;
	char text[];                   /* space, NUL, name */
};

enum feed_state { FEED_UNKNOWN, FEED_AWAITED, FEED_SYNCED, FEED_ABSENT };

/* A source of a kind, as its feeder sees it; the kind's first source stands for the kind too (`first`). */
struct fl_feed {
	struct fl_loop *loop;
	struct fl_feed *first, *next;  /* of the kind; next: NULL at the end */
	uint32_t number;
	const char *name;              /* of one that was added; NULL: it was not */
	bool optional;
	enum feed_state told_state;    /* what is known of this source */
	uint32_t asked;                /* counts the full states that were asked for */
	bool asking;                   /* the last one has not begun */
	bool telling;                  /* a full state has begun and is not over */
	bool broken;                   /* the feeder has lost its source */
	uint64_t current_at;           /* since when it is synced and not broken; 0: it is not */
	bool sweeping;
	uint32_t sweep_at;

	/* Of the kind: only the first source has these. */
	struct fl_source source;
	struct fl_cache cache;
	const struct fl_field *meta;   /* the row of the root */
	enum feed_state state;         /* of all sources together */
	bool undone;                   /* an overlay has FAILED */
	struct fl_hmap overlays, awaits;
	uint64_t told, unchanged, full_states, told_at;   /* for the metrics */
};

/* A change that those who watch could not be told of for want of memory: it is told later. */
struct untold {
	struct untold *next;
	struct fl_feed *feed;
	struct fl_entry *before;
};

/* One key of one capability; it is there only while there is something to know about it. */
struct key {
	struct cap *cap;
	struct keys *in;               /* the queue, or those that wait for a write; NULL: neither */
	struct key *next, **from;      /* ... there */
	uint32_t failures, writing, awaiting;
	uint64_t queued_at, at;        /* at: the moment that its plan asked for */
	uint64_t not_before;           /* until then a change does not make it planned (row->every) */
	struct fl_timer timer;
	bool timer_frees;              /* the timer only frees the key */
	struct said *said;
	char *why;                     /* the last failure */
	struct rest *rest;             /* NULL: no server has refused what it wants */
	struct failing *failing;       /* NULL: no write to a server has failed since all went well */
	uint32_t space_len, len;
	char text[];                   /* space, NUL, name */
};

/* What a key wanted of a server that failed. The same is written again at `until`, whatever changes meanwhile: to plan
 * costs nothing, and a request that will fail costs the server. */
struct rest {
	uint64_t until, failed_at;
	bool holds;                    /* the last plan wanted some of it */
	uint32_t len;
	uint64_t writes[FL_RUN_RESTING];   /* when all are taken, the key's other writes to servers wait too */
};

/* What was told of a key whose writes to servers fail. */
struct failing {
	const struct fl_kind *refused; /* the kind of the last write, if a server refuses it; NULL: it does not */
	enum fl_code code;
	uint32_t len;
	uint64_t told[FL_RUN_RESTING]; /* digests of the failures that were logged */
};

/* What a plan said for explain: one block, texts behind it. */
struct said {
	struct said *next;
	const struct fl_kind *kind;
	struct fl_str space, name, reason, message;
	size_t size;
};

struct keys {
	struct key *first, **last;
	uint32_t len;
};

struct cap {
	const struct fl_capability *row;
	struct fl_loop *loop;
	bool active;
	bool begins;                   /* its one key (row->once) is to be made dirty */
	struct fl_hmap keys;
	struct keys queue;
	uint32_t watch_count;
	/* Of what is watched, whose objects are being asked for their keys. One that was asked for by keys (late) waits
	 * for the others, which may ask for it again; while it runs, that is done once more (again). */
	struct sweep {
		bool sweeping, late, again;
		uint32_t at;
	} sweeps[FL_RUN_WATCHES];
	struct fl_series *adds, *retries, *queued, *worked, *plans, *refused;
};

/* Hashes. id: of what is wanted, as an owner's part of an object, or an item; desired: of its desired state. */
struct contest_ref {
	uint64_t id, desired;
};

/* A write on its way, or about to be. */
struct slot {
	struct fl_write write;
	struct cap *cap;
	struct key *key;
	struct fl_feed *feed;
	struct overlay *overlay;
	struct keys waiters;
	const void *laid;              /* ITEM, NO_ITEM: the object as it becomes */
	struct fl_told_event *events;
	uint32_t event_count;
	struct contest_ref contest;
	uint64_t digest;               /* of what it writes, for struct rest; 0: not to a server */
	const void *item;              /* ITEM, NO_ITEM: as wanted */
	uint64_t began, reign;         /* reign: the loop's when this was wanted */
	bool started;
	struct slot *next, **from;
};

/* What was written, for a while: to see that another writer reverts it. One for each write: small. */
struct contest {
	struct contest *next, *before; /* by the time of the last write, oldest first */
	uint64_t id, desired, at;      /* at: the last write */
	uint32_t tries;
	struct contested *contested;   /* NULL: nothing was reverted */
};

/* Of a contest that is active, or was. */
struct contested {
	struct contest *contest;
	bool active;                   /* others revert it: writes pause */
	bool reported;                 /* `active` as plans have read it */
	uint64_t ends;                 /* active: when it ends by itself */
	struct fl_timer timer;         /* to report it, and to end it */
	struct cap *cap;               /* whose write was the last */
	const struct fl_kind *kind;
	char *words, *key;             /* owned, of what is contested; key: as in struct key */
	uint32_t key_space, key_len;
	uint32_t space_len, len;
	char text[];                   /* space, name */
};

struct fl_loop {
	struct fl_io *io;
	struct fl_loop_options options;
	FL_VEC(struct fl_feed *) feeds;
	FL_VEC(struct cap *) caps;
	struct fl_interns interns;
	struct fl_arena arena;         /* of the key that is planned */
	struct fl_arena feeding;       /* of the change that is told */
	struct fl_timer work;
	bool leading;
	uint64_t reign;                /* how often it has begun to lead */
	bool starved;                  /* memory was refused to a key: give others time to let go of some */
	uint32_t next_cap;
	uint64_t chance;
	struct untold *untold, *room;  /* room: for the next one, so that none is lost */
	struct slot *slots;            /* on their way */
	struct slot *spare;            /* with a warm arena */
	uint32_t writing;
	uint32_t refused;              /* keys with failing->refused */
	struct fl_hmap contests;
	struct contest *oldest, *newest;
	size_t said_bytes;
	struct fl_buf packing;
	struct fl_family *families[24];
};

/* ---- loop.c ---- */
struct fl_feed *run_feed(const struct fl_loop *loop, const struct fl_kind *kind);
void run_wake(struct fl_loop *loop);               /* there is something to do in the next turn */
struct fl_view run_view(struct fl_loop *loop, struct fl_arena *arena);
struct fl_meta_names *run_meta(const struct fl_feed *feed, const void *object);
void run_set_names(const struct fl_feed *feed, void *object, struct fl_str space, struct fl_str name);
uint64_t run_random(struct fl_loop *loop);

/* Where in the root of the kind a text of its metadata stands, to be looked at where it is packed. */
#define RUN_AT(feed_, member_) ((feed_)->meta->offset + offsetof(struct fl_meta_names, member_))

/* ---- view.c ---- */

/* What is in the cache, and what it unpacked to; NULL: nothing is known of it. */
struct seen {
	const struct fl_entry *entry;
	void *object;
};
/* What the view got last, if it is this object: the caller's to change, the view forgets it. */
struct seen run_view_take(struct fl_view *view, const struct fl_feed *feed, struct fl_str space, struct fl_str name);

/* ---- children.c ---- */
/* The name of the index that finds such children by their parent's uid; NULL: the source has none. */
const char *run_children_index(const struct fl_feed *feed, const struct fl_children *children);
/* Which children are not made because another object bears the name: told, and the key waits for news of that. */
int children_taken(struct key *key, struct fl_plan *plan, struct fl_view *view, struct fl_err *err);
/* Note as read what the loop reads of them: changes of that must make the key dirty. */
void children_note(struct fl_view *view, const struct fl_plan *plan);

/* ---- feed.c ---- */
/* Put into the cache, and tell those who watch. < 0: nothing has changed. *ret, if it is not NULL, says what it did:
 * ret->before is the caller's to drop. */
int run_put(struct fl_feed *feed, const void *object, struct fl_cache_change *ret, struct fl_err *err);
/* The same, for one who has what is shown there unpacked: `shown` is changed. */
int run_put_over(struct fl_feed *feed, void *shown, const void *object, struct fl_cache_change *ret,
		 struct fl_err *err);
/* Take out of the cache, and tell. Without memory for that it stays, as if it had not been named by a full state that
 * is over now, and goes later. */
void run_remove(struct fl_feed *feed, struct fl_str space, struct fl_str name);
/* Tell of what has changed. Never lost: what there is no memory for is told later, if run_may_change was true before
 * the change was made. */
bool run_may_change(struct fl_loop *loop);
void run_tell(struct fl_feed *feed, struct fl_entry *before, const struct fl_entry *now, const void *after);
/* Something that plans may have read with the object has changed, and is not in it. -FL_E_NOMEM: tell again. */
int run_tell_again(struct fl_feed *feed, struct fl_str space, struct fl_str name);
bool run_tell_late(struct fl_loop *loop);                      /* false: nothing is left to be told */
void run_starve(struct fl_loop *loop);                         /* memory was refused: go on after a while */
bool run_sweep(struct fl_feed *feed, uint32_t steps);          /* false: nothing left to sweep */
bool run_begin_keys(struct cap *cap, uint32_t steps);          /* false: all keys of the beginning are dirty */
void run_check_active(struct fl_loop *loop);

/* ---- await.c ---- */
void awaits_init(struct fl_feed *feed);
void awaits_free(struct fl_feed *feed);
/* The key is planned again as soon as a feeder tells anything of the object. -FL_E_NOMEM: it does not wait. */
int await_news(struct fl_feed *feed, struct fl_str space, struct fl_str name, struct key *key);
/* The write was held to a version that is not the server's: until a feeder tells of the object, or for a while, none
 * is. await_until: until when, for this version; 0: it may be. */
int await_refused(struct fl_feed *feed, const struct fl_write *write);
uint64_t await_until(struct fl_feed *feed, struct fl_str space, struct fl_str name, struct fl_str version);
void await_told(struct fl_feed *feed, struct fl_str space, struct fl_str name);

/* ---- overlay.c ---- */
/* Space, NUL, name: what overlays and others are found by. There is room: FL_RUN_NAME bytes, at least. */
struct fl_str run_text(char *text, struct fl_str space, struct fl_str name);
bool overlay_shows(const struct overlay *overlay); /* the cache shows an own write; NULL: it does not */
/* Is the object that is shown the one that bears the version that is shown? Not while our own write is laid over it
 * whose version we have not been told. */
bool overlay_is_seen(const struct overlay *overlay);
struct overlay *overlay_find(const struct fl_feed *feed, struct fl_str space, struct fl_str name);
struct overlay *overlay_new(struct fl_feed *feed, struct slot *slot, struct fl_str space, struct fl_str name);
void overlay_drop(struct fl_feed *feed, struct overlay *overlay);
void overlay_gone(struct fl_feed *feed, struct overlay *overlay, const struct fl_ref *ref);
void overlay_unuse(struct fl_feed *feed, struct overlay *overlay);   /* the write was not started */
/* At the start of the write. `seen`: what is shown, where somebody has looked already; it is changed. */
void overlay_lay(struct fl_feed *feed, struct overlay *overlay, struct seen seen);
int overlay_told(struct fl_feed *source, struct overlay *overlay, const void *object, struct fl_err *err);
/* Is what is shown what was told, or answered, at this version? */
bool overlay_same(struct fl_feed *feed, struct overlay *overlay, struct fl_str version);
/* Was it told, just as the write makes it, at this version? Then its answer need not be looked at. */
bool overlay_seen(struct fl_feed *feed, struct overlay *overlay, struct fl_str version);
/* *ret_as_laid: the object has become what was laid over it, to the letter. */
int overlay_done(struct fl_feed *feed, struct overlay *overlay, const void *object, bool *ret_as_laid);
bool overlay_failed(struct fl_feed *feed, struct overlay *overlay);   /* true: the overlay is gone */
void overlay_synced(struct fl_feed *source);
bool overlay_undo(struct fl_feed *feed);           /* false: nothing is left to be shown again */
uint64_t run_version(struct fl_str text);

/* ---- queue.c ---- */
int key_dirty(struct cap *cap, struct fl_str space, struct fl_str name);   /* 0 or -FL_E_NOMEM */
void key_enqueue(struct key *key);
void key_wait(struct key *key, struct slot *slot);
void key_fail(struct key *key, const struct fl_err *why);   /* again later, ever later */
void key_hurry(struct key *key, uint64_t most);             /* ... but no later than after this time */
void key_forgive(struct key *key);
void key_rest(struct key *key, uint64_t digest);     /* after key_fail: until it is tried again */
bool key_rests(struct key *key, uint64_t digest, uint64_t *ret_at);
void key_again(struct key *key);                   /* as if a change had made it dirty */
void key_settle(struct key *key);                  /* set its timer; forget it when there is nothing to know */
struct key *key_take(struct cap *cap);             /* the first of the queue */
void keys_drop(struct cap *cap);                   /* all that are not about writes on their way */
void keys_release(struct keys *waiters);
void keys_free(struct cap *cap);
struct fl_str key_space(const struct key *key);
struct fl_str key_name(const struct key *key);

/* ---- failing.c ---- */
void failing_tell(struct key *key, const struct fl_kind *kind, const struct fl_err *why);
void failing_over(struct key *key);                /* all is as it is wanted */
void failing_drop(struct key *key);                /* the same, and nobody is told */

/* ---- write.c ---- */
bool run_one_key(struct cap *cap);                 /* false: its queue is empty */
void slots_free(struct fl_loop *loop);

/* ---- contest.c ---- */
int contest_ref(struct fl_loop *loop, const struct fl_want *want, struct contest_ref *ret, struct fl_err *err);
/* May this be written? False: not before *ret_at. */
bool contest_may(struct fl_loop *loop, const struct contest_ref *ref, uint64_t *ret_at);
/* It was written; `survives`: its own answer differs still, in these paths. */
void contest_written(struct fl_loop *loop, const struct slot *slot, bool survives, const struct fl_str_list *paths);
/* While it is active; else NULL. */
static inline struct contested *contest_active(const struct contest *contest)
{
	return contest->contested && contest->contested->active ? contest->contested : NULL;
}
/* What another writer reverts of this want, and how; .p NULL: nothing. */
struct fl_str contest_words(struct fl_loop *loop, const struct fl_want *want);
void contests_free(struct fl_loop *loop);

/* ---- explain.c, numbers.c ---- */
int said_keep(struct key *key, const struct fl_plan *plan);
void said_drop(struct key *key);
int run_metrics_add(struct fl_loop *loop, struct fl_err *err);
void run_metrics_cap(struct cap *cap);
void run_count_write(struct fl_loop *loop, const struct slot *slot, const char *outcome);
