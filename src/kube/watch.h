/* watch.h - one kind, kept up to date: list and watch, whatever happens to connection and server.
 *
 * A watch tells its consumer a full state and then every change, each exactly once and in order. After a lost
 * connection it resumes at the version that it had; where the server has forgotten that version, a new full state is
 * told, and what is not in it is gone. Objects are decoded into a reused arena, handed over, and forgotten: the
 * consumer keeps what it wants.
 *
 *     begin()  put() put() ...  synced()     put() gone() put() ...     begin() ...
 *     absent()                               the server has no such kind (yet); it is asked again
 *
 * The full state comes as a stream of initial events where the server can (WatchList), else as a list. That a server
 * cannot is forgotten after FL_WATCH_NO_STREAM, and on a new connection, which may be to another server. A list comes
 * from the server's cache, not older than what was told; the first one, and one after a version that no server knows,
 * is the newest state.
 *
 * What is done after which outcome is fl_watch_next: pure, and a table in the tests.
 */
#pragma once
#include "kube/client.h"

/* A watch is ended and resumed after 5 to 10 minutes, as client-go's: what went wrong unseen goes wrong no longer. */
#define FL_WATCH_TIMEOUT_S 300
/* Bookmarks come every minute; three that do not come mean a server whose cache stands still. */
#define FL_WATCH_QUIET (200 * FL_NS_PER_S)
/* A server without WatchList may be replaced by one that has it. */
#define FL_WATCH_NO_STREAM (3600 * FL_NS_PER_S)
/* Initial events that stop coming without their end: a slow server, or one that does not know them. */
#define FL_WATCH_READING_QUIET (30 * FL_NS_PER_S)
#define FL_WATCH_DELAY_FIRST (200 * FL_NS_PER_MS)   /* back-off: a restart of the API server takes seconds ... */
#define FL_WATCH_DELAY_LAST (30 * FL_NS_PER_S)      /* ... and an outage must not be made longer by those who ask */
/* A kind that is not there: soon, as its CRD may be on its way ... */
#define FL_WATCH_ASK_FIRST (1 * FL_NS_PER_S)
#define FL_WATCH_ASK_LAST (30 * FL_NS_PER_S)        /* ... then so seldom that it costs little */

/* Whom a watch tells; a cache of src/run is one. Nothing here may free the watch. */
struct fl_watch_to {
	/* A full state comes: what was there before and is not put until synced() is gone. Comes again, without a
	 * synced() in between, when the state could not be read to its end: all that was put since the first begin()
	 * may be gone too, so the marking starts anew. What was there stays usable meanwhile: old, but once true. */
	void (*begin)(void *to);
	/* Here is an object of the kind's root struct, borrowed: new, changed, or as it was. A failure (memory) costs
	 * time only: the connection is dropped, and the same object comes again later. */
	int (*put)(void *to, const void *object, struct fl_err *err);
	void (*gone)(void *to, struct fl_str space, struct fl_str name);
	void (*synced)(void *to);
	/* The server does not have the kind. What was there is gone; when the kind arrives, begin() follows. Told
	 * once. */
	void (*absent)(void *to);
	/* A full state is asked for from now on: it will have in it all that the server has done by now. begin()
	 * follows when it comes. May be NULL. */
	void (*asked)(void *to);
	/* Has the consumer this object as it is at this version? Then it is not decoded, and this is its put(). May be
	 * NULL. */
	bool (*same)(void *to, struct fl_str space, struct fl_str name, struct fl_str uid, struct fl_str version);
};

enum fl_watch_state {
	FL_WATCH_STARTING,         /* nothing is known yet */
	FL_WATCH_READING,          /* a full state is coming */
	FL_WATCH_LIVE,             /* synced, and changes come */
	FL_WATCH_BROKEN,           /* what was told may be old: the connection is lost, or the server refuses. See
				      .err */
	FL_WATCH_ABSENT,
	FL_WATCH_STATE_COUNT_
};
extern const struct fl_names fl_watch_state_names;

/* ---- the decision ---- */

enum fl_watch_step {
	FL_STEP_STREAM,            /* watch with sendInitialEvents: the full state, then changes */
	FL_STEP_LIST,              /* list, page by page; then FL_STEP_WATCH */
	FL_STEP_WATCH,             /* watch from the version that we have */
	FL_STEP_CHECK,             /* has this server seen our version? One that was restored from a backup has not,
				      and a watch from there would be silent until it has */
	FL_STEP_ASK,               /* is the kind there by now? */
	FL_WATCH_STEP_COUNT_
};
extern const struct fl_names fl_watch_step_names;

enum fl_watch_outcome {
	FL_OUT_START,              /* nothing was done yet */
	FL_OUT_DONE,
			/* list: read to its end. Watch: the server ended it as agreed. Ask: the kind is there */
	FL_OUT_LOST,               /* connection failed or broke, or nothing came for too long */
	FL_OUT_EXPIRED,            /* 410, as status or as an event: the version is forgotten */
	FL_OUT_AHEAD,              /* this server has not seen our version yet */
	FL_OUT_NO_STREAM,          /* 400, 422: it does not know sendInitialEvents */
	FL_OUT_ABSENT,             /* 404: no such kind */
	FL_OUT_DENIED,             /* 401, 403 */
	FL_OUT_BUSY,               /* 429 and the like: it said when */
	FL_OUT_FAILED,             /* 5xx, answers that are none, memory */
	FL_WATCH_OUTCOME_COUNT_
};
extern const struct fl_names fl_watch_outcome_names;

struct fl_watch_facts {
	enum fl_watch_step step;           /* what was done ... */
	enum fl_watch_outcome outcome;     /* ... and what came of it */
	bool has_version;                  /* a full state was read, and this is where it goes on */
	bool progress;                     /* something came in this step: an object, a bookmark */
	bool no_stream;                    /* known from before: no sendInitialEvents */
	bool newest;                       /* the next list asks for the newest state, whatever was seen */
	bool built_in;                     /* the kind comes with another server only, not with a CRD */
	uint32_t failures;                 /* in a row, before this one */
	uint64_t took, retry_after;        /* ns */
};

struct fl_watch_plan {
	enum fl_watch_step step;
	uint64_t delay;                    /* ns; the doer adds jitter: up to as much again */
	uint32_t failures;
	bool forget;                       /* the version is of no use any more */
	bool no_stream, newest;
	bool absent;                       /* tell so, if it was not told */
	bool broken;                       /* what was told may be old */
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
	uint64_t quiet;                    /* without a word for so long after a bookmark came: it is stale */
	bool no_stream;                    /* never ask for initial events */
	/* What the server has in its cache will do as the first state, however old. Later states are not older than
	 * what was told. */
	bool any_first;
	struct fl_str since;               /* the first state must not be older than this version; copied */
};

struct fl_watch;

/* Copies the options, not what they point to. It begins at once, and nothing is told before the next turn.
 * FL_E_INVALID: .labels is no selector; of a server it would get the same refusal again and again. */
struct fl_watch *fl_watch_new(struct fl_kube *kube, const struct fl_watch_options *options,
			      struct fl_err *err) FL_MUSTUSE;
struct fl_watch *fl_watch_free(struct fl_watch *watch);   /* NULL-safe; nothing is told any more */
FL_DEFINE_AUTO(fl_watch, struct fl_watch *, fl_watch_free);

/* What is so, for health, metrics and `explain`. */
struct fl_watch_info {
	enum fl_watch_state state;
	uint64_t since;                    /* monotonic ns */
	struct fl_str version;             /* the newest resourceVersion that was told; lives until the next event */
	uint64_t events, full_states, resumes, failures;   /* since the start */
	const struct fl_err *err;          /* the last failure; NULL when there was none since the state was good */
};
struct fl_watch_info fl_watch_info(const struct fl_watch *watch);

/* Do not wait for the back-off: something has changed (the kind's CRD has just come). */
void fl_watch_poke(struct fl_watch *watch);
