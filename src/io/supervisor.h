/* supervisor.h - a child program that may hang or crash without harm: asked one thing at a time, each by a deadline.
 *
 * The child is started at once and speaks io/frame.h on its fd 3 (io/serve.h is its half). A request that is not
 * answered by its deadline costs the child: it is killed and replaced. One that does not die (it sleeps in the kernel)
 * is left, counted, and reaped whenever it ends; with FL_SUPERVISOR_STUCK_MAX of those no other is started. A crash is
 * told, with the signal's name, and followed by a replacement: at once the first time, then ever later. The child dies
 * with this process, and its stderr goes into our log line by line. It has a session of its own: what is sent to our
 * process group (Ctrl-C, timeout) is for us, who end it; to it that would be a crash.
 */
#pragma once
#include "base/log.h"
#include "io/child.h"
#include "io/io.h"

enum fl_supervisor_news {
	FL_CHILD_READY,        /* it runs and has said hello */
	FL_CHILD_FAILED,       /* could not be started, or does not speak our language */
	FL_CHILD_ENDED,        /* by itself: an exit, or a crash */
	FL_CHILD_ABANDONED,    /* did not answer in time, or talked nonsense: killed */
	FL_CHILD_STUCK,        /* was killed and does not die */
	FL_CHILD_REAPED,       /* one that was stuck has ended at last */
	FL_CHILD_CEILING,      /* too many are stuck: none is started until one of them ends */
	FL_CHILD_LET_GO,       /* paused, and one that was killed has ended */
	FL_CHILD_NEWS_COUNT_
};
extern const struct fl_names fl_supervisor_news_names;

struct fl_supervisor_config {
	const char *name;               /* "gpu": in errors and log lines */
	const char *path;               /* the program, as struct fl_spawn has it; all borrowed as long as it lives */
	const char *const *argv, *const *env;
	struct fl_log *log;             /* NULL: silent */
	void *self;
	/* Either may be NULL. Neither may free the supervisor. `text` says what happened, and why. */
	void (*news)(void *self, enum fl_supervisor_news news, const char *text);
	void (*event)(void *self, uint16_t kind, struct fl_str payload);   /* what the child says unasked */
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

/* result: 0, and the answer is in *reply (what it held is gone); or the child's refusal, in its words. Without a
 * deadline it is refused. FL_E_CLOSED: the child has ended meanwhile. FL_E_RETRY: there is no child to be had, or
 * paused, or FL_SUPERVISOR_QUEUE_MAX are waiting. One that is cancelled is still worked on until its deadline. */
struct fl_request {
	struct fl_op op;
	struct fl_buf *reply;           /* borrowed until done() or cancel; NULL: of no interest */
	struct fl_supervisor *on;       /* the supervisor's, from here */
	struct fl_supervised_ *with;    /* who works on it; NULL: it waits */
	struct fl_request *next, **from;
	struct fl_buf frame;
	uint32_t id;
};
void fl_supervisor_request(struct fl_supervisor *s, struct fl_request *request, uint16_t kind, struct fl_str payload);

/* Let go of the driver now: the child is killed, requests are refused, no other is started until the resume. */
void fl_supervisor_pause(struct fl_supervisor *s);
void fl_supervisor_resume(struct fl_supervisor *s);

struct fl_supervisor_state {
	int pid;                        /* of the child that is ready; 0: none is */
	bool paused, busy;              /* busy: works on a request */
	unsigned waiting, stuck, failures;      /* requests; children; failures in a row */
	unsigned dying;                         /* children that were killed, or leave; not stuck yet */
	uint64_t starts, crashes, abandoned, answered;   /* since the beginning */
};
struct fl_supervisor_state fl_supervisor_state(const struct fl_supervisor *s);
