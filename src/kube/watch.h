/* watch.h - list and watch of one kind, across failures of connection and server.
 *
 * A watch reports a snapshot and then every change to its consumer, each exactly once and in order. After a lost
 * connection it resumes at its last version. If the server has forgotten that version, the watch reports a new
 * snapshot, and objects that are not in it are gone. Objects are decoded into a reused arena and lent to the consumer,
 * which copies what it keeps.
 *
 *     begin()  put() put() ...  synced()     put() gone() put() ...     begin() ...
 *     absent()                               the server has no such kind (yet); the watch asks again
 *
 * The snapshot comes as a stream of initial events if the server supports that (WatchList), else as a list. Lack of
 * support is assumed for FL_WATCH_NO_STREAM, and not on a new connection, which may be to another server. A list comes
 * from the server's cache, not older than the last reported version. The first list, one after a version that no
 * server knows, and one for a consumer with writes that it was not told of yet, is the newest state.
 *
 * fl_watch_next() maps each outcome to the next step: pure, and a table in the tests.
 */
#pragma once
#include "kube/client.h"

/* A watch is ended and resumed after 5 to 10 minutes, as client-go's: an unnoticed failure lasts no longer. */
#define FL_WATCH_TIMEOUT_S 300
/* Bookmarks come every minute; three missing ones mean that the server's cache has stopped. */
#define FL_WATCH_QUIET (200 * FL_NS_PER_S)
/* A server without WatchList may be replaced by one that has it. */
#define FL_WATCH_NO_STREAM (3600 * FL_NS_PER_S)
/* Initial events that stop coming without their end: a slow server, or one that does not know them. */
#define FL_WATCH_READING_QUIET (30 * FL_NS_PER_S)
#define FL_WATCH_DELAY_FIRST (200 * FL_NS_PER_MS)   /* back-off: a restart of the API server takes seconds ... */
#define FL_WATCH_DELAY_LAST (30 * FL_NS_PER_S)      /* ... and requests must not prolong an outage */
/* An absent kind: soon, as its CRD may be about to be created ... */
#define FL_WATCH_ASK_FIRST (1 * FL_NS_PER_S)
#define FL_WATCH_ASK_LAST (30 * FL_NS_PER_S)        /* ... then less often, for a minute (see watch_next.c) */

/* The consumer of a watch, for example a cache of src/run. None of these calls may free the watch. */
struct fl_watch_to {
	/* A snapshot begins: earlier objects that are not put before synced() are gone. Called again, without synced()
	 * in between, if the snapshot could not be read to its end: objects put since the first begin() may be gone
	 * too, so the marking starts again. Earlier objects stay usable meanwhile: old, but once true. */
	void (*begin)(void *to);
	/* An object of the kind's root struct, borrowed: new, changed or unchanged. A failure (memory) only costs time:
	 * the connection is dropped, and the same object comes again later. */
	int (*put)(void *to, const void *object, struct fl_err *err);
	void (*gone)(void *to, struct fl_str space, struct fl_str name);
	void (*synced)(void *to);
	/* The server does not have the kind: all objects are gone. begin() follows when the kind appears. Called
	 * once. */
	void (*absent)(void *to);
	/* A snapshot is requested now: it will contain all that the server has done by now. begin() follows when it
	 * comes. May be NULL. */
	void (*asked)(void *to);
	/* True if the consumer has this object at this version: the object is then not decoded, and this call replaces
	 * its put(). May be NULL. */
	bool (*same)(void *to, struct fl_str space, struct fl_str name, struct fl_str uid, struct fl_str version);
	/* Has the consumer answers to writes of its own of which it was not told yet? Then a list is the newest state:
	 * an older one would take them back. May be NULL. */
	bool (*ahead)(void *to);
	/* Whether what was reported is up to date: true when the watch becomes live, false when it breaks. What changed
	 * in between follows within moments of the first. May be NULL. */
	void (*current)(void *to, bool current);
	/* The server refuses to tell (401, 403); after each try. May be NULL. */
	void (*denied)(void *to);
};

enum fl_watch_state {
	FL_WATCH_STARTING,         /* nothing is known yet */
	FL_WATCH_READING,          /* a snapshot is being read */
	FL_WATCH_LIVE,             /* synced, and changes come */
	FL_WATCH_BROKEN,           /* the reported state may be old: the connection is lost, or the server refuses.
				      See .err */
	FL_WATCH_ABSENT,
	FL_WATCH_STATE_COUNT_
};
extern const struct fl_names fl_watch_state_names;

/* ---- the decision ---- */

enum fl_watch_step {
	FL_STEP_STREAM,            /* watch with sendInitialEvents: the snapshot, then changes */
	FL_STEP_LIST,              /* list, page by page; then FL_STEP_WATCH */
	FL_STEP_WATCH,             /* watch from the last version */
	FL_STEP_CHECK,             /* check that this server has seen our version. One restored from a backup has not,
				      and a watch from there would be silent until it has */
	FL_STEP_ASK,               /* check whether the kind exists now */
	FL_WATCH_STEP_COUNT_
};
extern const struct fl_names fl_watch_step_names;

enum fl_watch_outcome {
	FL_OUT_START,              /* no step was taken yet */
	FL_OUT_DONE,
			/* list: read to its end. Watch: the server ended it as agreed. Ask: the kind exists */
	FL_OUT_LOST,               /* connection failed or broke, or nothing came for too long */
	FL_OUT_EXPIRED,            /* 410, as status or as an event: the version is forgotten */
	FL_OUT_AHEAD,              /* this server has not seen our version yet */
	FL_OUT_NO_STREAM,          /* 400, 422: it does not know sendInitialEvents */
	FL_OUT_ABSENT,             /* 404: no such kind */
	FL_OUT_DENIED,             /* 401, 403 */
	FL_OUT_BUSY,               /* 429 and similar, with Retry-After */
	FL_OUT_FAILED,             /* 5xx, malformed answers, memory */
	FL_WATCH_OUTCOME_COUNT_
};
extern const struct fl_names fl_watch_outcome_names;

struct fl_watch_facts {
	enum fl_watch_step step;           /* the last step ... */
	enum fl_watch_outcome outcome;     /* ... and its outcome */
	bool has_version;                  /* a snapshot was read, so a watch can resume */
	bool progress;                     /* this step received something: an object, a bookmark */
	bool no_stream;                    /* known from before: no sendInitialEvents */
	bool newest;                       /* the next list requests the newest state, whatever was seen */
	uint32_t failures;                 /* in a row, before this one */
	uint64_t took, retry_after;        /* ns */
};

struct fl_watch_plan {
	enum fl_watch_step step;
	uint64_t delay;                    /* ns; the doer adds jitter: up to as much again */
	uint32_t failures;
	bool forget;                       /* drop the version, it is useless now */
	bool no_stream, newest;
	bool absent;                       /* report the kind as absent, unless reported already */
	bool broken;                       /* the reported state may be old */
};

struct fl_watch_plan fl_watch_next(const struct fl_watch_facts *facts);

/* ---- the doer ---- */

struct fl_watch_options {
	const struct fl_kind *kind;
	const char *space;                 /* NULL: all */
	const char *labels, *fields;       /* selectors; NULL: none */
	const struct fl_watch_to *to;
	void *arg;
	struct fl_log *log;                /* NULL: silent */
	/* 0: FL_WATCH_TIMEOUT_S, FL_WATCH_QUIET */
	uint32_t timeout_s;                /* a watch is ended and resumed after this time, with jitter */
	uint64_t quiet;                    /* silence after a bookmark that makes the watch stale */
	bool no_stream;                    /* never request initial events */
	/* The first snapshot may be the server's cache, however old. Later ones are not older than the reported
	 * state. */
	bool any_first;
	struct fl_str since;               /* the first state must not be older than this version; copied */
};

struct fl_watch;

/* Copies the options, not what they point to. Starts at once; calls the consumer in the next iteration at the earliest.
 * FL_E_INVALID: .labels is not a selector, which a server would refuse again and again. */
struct fl_watch *fl_watch_new(struct fl_kube *kube, const struct fl_watch_options *options,
			      struct fl_err *err) FL_MUSTUSE;
struct fl_watch *fl_watch_free(struct fl_watch *watch);   /* NULL-safe; the consumer is not called any more */
FL_DEFINE_AUTO(fl_watch, struct fl_watch *, fl_watch_free);

/* The watch's state, for health, metrics and `explain`. */
struct fl_watch_info {
	enum fl_watch_state state;
	uint64_t since;                    /* monotonic ns */
	struct fl_str version;             /* the newest reported resourceVersion; valid until the next event */
	uint64_t events, full_states, resumes, failures;   /* since the start */
	const struct fl_err *err;          /* the last failure; NULL: none since the watch was live */
};
struct fl_watch_info fl_watch_info(const struct fl_watch *watch);

/* Ends the back-off, because something has changed (the kind's CRD was created). */
void fl_watch_poke(struct fl_watch *watch);
