/* runtime.h - what the container runtime says of itself: Runtime, and with it whether CDI is on.
 *
 * Asked over CRI, at the first of its usual sockets that is there: when the socket is made anew, every
 * FL_RUNTIME_EVERY, and every FL_RUNTIME_RETRY while it does not answer. What it said last stands until it says
 * something else; before it has said anything, the message says why. It is told at once, before anybody has answered,
 * that nothing is known: no device list waits for a runtime that starts after us.
 *
 * Where CRI-O reads CDI files a newer one says itself; of an older one the configuration files are read, where they can
 * be seen.
 */
#pragma once
#include "api/node.h"
#include "io/io.h"
#include "run/loop.h"

#define FL_RUNTIME_EVERY (300 * FL_NS_PER_S)     /* a configuration that was changed without a restart */
#define FL_RUNTIME_DEADLINE (5 * FL_NS_PER_S)    /* of one call */
#define FL_RUNTIME_RETRY (5 * FL_NS_PER_S)       /* it does not answer: it starts after us */
#define FL_RUNTIME_QUIET (10 * FL_NS_PER_S)      /* for so long that is not told: after a boot it takes seconds */

struct fl_runtime_feed;
struct fl_log;

struct fl_runtime_options {
	const char *socket;           /* NULL: containerd's, then CRI-O's */
	struct fl_log *log;
	const char *crio_dir;         /* CRI-O's configuration; NULL: /etc/crio */
	const char *cdi_dir;          /* where we write CDI files; NULL: nowhere */
};

/* The loop must have a source for fl_runtime_kind. */
struct fl_runtime_feed *fl_runtime_new(struct fl_io *io, struct fl_loop *loop, const struct fl_runtime_options *options,
				       struct fl_err *err) FL_MUSTUSE;
struct fl_runtime_feed *fl_runtime_free(struct fl_runtime_feed *runtime);   /* NULL-safe, returns NULL */
FL_DEFINE_AUTO(fl_runtime, struct fl_runtime_feed *, fl_runtime_free);

/* What a runtime says of its configuration, in JSON: whether CDI is on (CRI-O never does: it always is) and where its
 * files are, as far as it is told; what cannot be understood tells nothing. Texts lie in the arena. FL_E_NOMEM only.
 * For the feed, and for fuzzing. */
int fl_runtime_config(struct fl_str text, struct fl_arena *arena, struct fl_runtime *ret,
		      struct fl_err *err) FL_MUSTUSE;
