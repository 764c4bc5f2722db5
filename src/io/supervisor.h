/* supervisor.h - a child program that may hang or crash without harm: one request at a time, each with a deadline.
 *
 * The child starts at once and speaks io/frame.h on its fd 3 (io/serve.h is its half). When a request misses its
 * deadline, the child is killed and replaced. A child that does not die (it sleeps in the kernel) is counted as stuck,
 * and reaped whenever it ends. With FL_SUPERVISOR_STUCK_MAX stuck children no other is started. A crash is reported
 * with the signal's name and followed by a replacement: at once the first time, then with backoff. The child dies with
 * this process, and its stderr goes into our log line by line. It has a session of its own, so that a signal to our
 * process group (Ctrl-C, timeout) reaches only us, who end the child in order.
 */
#pragma once
#include "base/log.h"
#include "io/child.h"
#include "io/io.h"

/* Requests that wait for a child: any beyond that would only time out. */
#define FL_SUPERVISOR_QUEUE_MAX 64
/* Stuck children, each with the memory of a driver's library: more would not help. */
#define FL_SUPERVISOR_STUCK_MAX 4

enum fl_supervisor_news {
	FL_CHILD_READY,        /* it runs and has sent its hello */
	FL_CHILD_FAILED,       /* could not be started, or speaks another protocol */
	FL_CHILD_ENDED,        /* by itself: an exit, or a crash */
	FL_CHILD_ABANDONED,    /* killed: missed a deadline, or broke the protocol */
	FL_CHILD_STUCK,        /* was killed and does not die */
	FL_CHILD_REAPED,       /* a stuck one has ended */
	FL_CHILD_CEILING,      /* too many are stuck: no start until one ends */
	FL_CHILD_LET_GO,       /* paused, and the killed one has ended */
	FL_CHILD_NEWS_COUNT_
};
extern const struct fl_names fl_supervisor_news_names;

struct fl_supervisor_config {
	const char *name;               /* "gpu": in errors and log lines */
	const char *path;               /* the program, see struct fl_spawn; all borrowed until the free */
	const char *const *argv, *const *env;
	struct fl_log *log;             /* NULL: silent */
	void *self;
	/* Either may be NULL. Neither may free the supervisor. `text`: what happened, and why. */
	void (*news)(void *self, enum fl_supervisor_news news, const char *text);
	void (*event)(void *self, uint16_t kind, struct fl_str payload);   /* an event of the child */
};

struct fl_supervisor;
struct fl_supervisor *fl_supervisor_new(struct fl_io *io, const struct fl_supervisor_config *config,
					struct fl_err *err);

/* Cancels the requests, kills the child. NULL-safe, returns NULL. */
struct fl_supervisor *fl_supervisor_free(struct fl_supervisor *s);
static inline void fl_supervisor_auto_(struct fl_supervisor **s)
{
	fl_supervisor_free(*s);
}

/* result: 0, and the answer replaces what *reply held; or the child's refusal, with its text. A deadline is required
 * (FL_E_INVALID). FL_E_CLOSED: the child ended meanwhile. FL_E_RETRY: no child can be started, or paused, or
 * FL_SUPERVISOR_QUEUE_MAX requests wait. The child works on a cancelled request until its deadline. */
struct fl_request {
	struct fl_op op;
	struct fl_buf *reply;           /* borrowed until done() or cancel; NULL: not wanted */
	struct fl_supervisor *on;       /* the supervisor's, from here */
	struct fl_supervised_ *with;    /* the child that works on it; NULL: it waits */
	struct fl_request *next, **from;
	struct fl_buf frame;
	uint32_t id;
};
void fl_supervisor_request(struct fl_supervisor *s, struct fl_request *request, uint16_t kind, struct fl_str payload);

/* Release the driver now: kill the child, refuse requests, start no other child. */
void fl_supervisor_pause(struct fl_supervisor *s);

struct fl_supervisor_state {
	int pid;                        /* of the child that is ready; 0: none is */
	bool paused, busy;              /* busy: works on a request */
	unsigned waiting, stuck, failures;      /* requests; children; failures in a row */
	unsigned dying;                         /* children killed or ending; not stuck yet */
	uint64_t starts, crashes, abandoned, answered;   /* since the beginning */
};
struct fl_supervisor_state fl_supervisor_state(const struct fl_supervisor *s);
