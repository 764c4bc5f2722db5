/* host.h - the driver's files and device nodes as a feeder of Host, and what the container runtime says as one of
 * Runtime.
 *
 * The files are looked for in a worker, when asked (the driver has come, or is another one) and never by the clock; the
 * runtime is asked over CRI when its socket is made anew and every FL_RUNTIME_EVERY.
 */
#pragma once
#include "io/io.h"
#include "run/loop.h"

struct fl_host_feed;
struct fl_runtime_feed;
struct fl_log;

struct fl_host_options {
	const char *dev_root;         /* NULL: the driver's root */
	const char *sysfs, *proc;
	struct fl_log *log;
};

struct fl_host_feed *fl_host_new(struct fl_io *io, struct fl_loop *loop, const struct fl_host_options *options,
				 struct fl_err *err) FL_MUSTUSE;
struct fl_host_feed *fl_host_free(struct fl_host_feed *host);      /* NULL-safe, returns NULL */
void fl_host_look(struct fl_host_feed *host, struct fl_str driver_root);

struct fl_runtime_options {
	const char *socket;           /* NULL: containerd's and CRI-O's usual places are tried in order */
	struct fl_log *log;
};

struct fl_runtime_feed *fl_runtime_new(struct fl_io *io, struct fl_loop *loop, const struct fl_runtime_options *options,
				       struct fl_err *err) FL_MUSTUSE;
struct fl_runtime_feed *fl_runtime_free(struct fl_runtime_feed *runtime);   /* NULL-safe, returns NULL */
