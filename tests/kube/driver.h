/* driver.h - the parts of driver.c's program. */
#pragma once
#include "base/log.h"
#include "io/io.h"
#include "kube/discovery.h"
#include "kube/events.h"
#include "kube/lease.h"
#include "kube/watch.h"
#include "run/loop.h"

struct driver {
	struct fl_io *io;
	struct fl_kube *kube;
	struct fl_log *log;
	int argc;
	char **argv;
	struct fl_poll in;
	struct fl_watch *watch;
	struct fl_elector *elector;
	struct fl_events *events;
	struct fl_loop *loop;
};

extern const struct fl_kind driver_gadget_kind;

const struct fl_kind *driver_kind(const char *name);
const char *driver_flag(struct driver *driver, const char *name);   /* of "name=value"; NULL: not given */
void say(const char *fmt, ...) FL_PRINTF(1, 2);

/* driver_verbs.c */
void driver_log(struct fl_log *log, struct fl_io *io);
void driver_told(struct driver *driver, const char *line);          /* on stdin */
void driver_end(struct driver *driver);
int follow_verb(struct driver *driver);   /* a watch */
int lead_verb(struct driver *driver);     /* an elector that writes while it leads */
int event_verb(struct driver *driver);
int repeat_verb(struct driver *driver);   /* the same apply over and over, with other content */

/* driver_loop.c */
int loop_verb(struct driver *driver);     /* a capability through the whole loop */
int definition_verb(struct driver *driver);   /* the CRD of its kind */
void loop_explain(struct driver *driver, const char *name);
void loop_end(struct driver *driver);
