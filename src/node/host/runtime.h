/* runtime.h - the container runtime's version and configuration as a feeder of Runtime: mainly whether CDI is enabled.
 *
 * Queried over CRI, at the first of the usual sockets that exists: when the socket is made again, every
 * FL_RUNTIME_EVERY, and every FL_RUNTIME_RETRY while the runtime does not answer. The last answer applies until another
 * one comes; before the first, the message gives the reason. The first feed, before any answer, is "not known": no
 * device list waits for a runtime that starts after the agent.
 *
 * A recent CRI-O reports the directories of its CDI files; for an older one the feeder reads its configuration files,
 * if it can.
 */
#pragma once
#include "api/node.h"
#include "io/io.h"
#include "run/loop.h"

#define FL_RUNTIME_EVERY (300 * FL_NS_PER_S)     /* a configuration that was changed without a restart */
#define FL_RUNTIME_DEADLINE (5 * FL_NS_PER_S)    /* of one call */
#define FL_RUNTIME_RETRY (5 * FL_NS_PER_S)       /* while it does not answer: it may start after the agent */
#define FL_RUNTIME_QUIET (10 * FL_NS_PER_S)      /* silence is not reported sooner: after a boot it lasts seconds */

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

/* The socket that is asked; borrowed, as long as the feeder. */
const char *fl_runtime_socket(const struct fl_runtime_feed *runtime);

/* Reads a runtime's configuration (JSON): whether CDI is enabled (never given by CRI-O, where it always is) and the
 * directories of CDI files. Ignores what it cannot read. Texts are in the arena. Fails with FL_E_NOMEM only. For the
 * feeder, and for fuzzing. */
int fl_runtime_config(struct fl_str text, struct fl_arena *arena, struct fl_runtime *ret,
		      struct fl_err *err) FL_MUSTUSE;
