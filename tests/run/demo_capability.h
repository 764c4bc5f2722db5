/* demo_capability.h - a capability as small as one can be, and the template of docs/ADDING-A-CAPABILITY.md.
 *
 * Bells stand in a file, one a line: "door 2". For each bell there should be a sign, a file of its own, that says how
 * it rings: "ding ding". Both are kinds like any other; the file is fed in, the signs are written by a sink.
 */
#pragma once
#include "io/file.h"
#include "io/job.h"
#include "io/notify.h"
#include "run/loop.h"

/* ---- two kinds ---- */
#define FL_BELL_SPEC(X) X(I32, rings, "rings", BETWEEN(1, 9), .help = "How often it rings.")
FL_STRUCT(fl_bell_spec, FL_BELL_SPEC);
#define FL_BELL(X) \
	FL_OBJECT(X) \
	X(OBJ(fl_bell_spec), spec, "spec", .help = "What kind of bell it is.")
FL_STRUCT(fl_bell, FL_BELL);
extern const struct fl_kind fl_bell_kind;

#define FL_SIGN_SPEC(X) X(STR, text, "text", .help = "What it says.")
FL_STRUCT(fl_sign_spec, FL_SIGN_SPEC);
#define FL_SIGN(X) \
	FL_OBJECT(X) \
	X(OBJ(fl_sign_spec), spec, "spec", .help = "What stands on it.")
FL_STRUCT(fl_sign, FL_SIGN);
extern const struct fl_kind fl_sign_kind;

/* ---- the decision ---- */
struct ring_facts {
	struct fl_ref bell, sign;
	bool rings;                    /* there is a bell of this name */
	int32_t times;
};
void ring_plan(const void *facts, struct fl_plan *plan);
extern const struct fl_capability ring;

/* ---- the outside: DIR/bells is read whenever DIR changes, DIR/NAME.sign is written ---- */
struct bell_feed {
	struct fl_feed *feed;
	struct fl_io *io;
	char path[256];
	struct fl_notify notify;
	struct fl_file_read read;
	struct fl_buf text;
	bool again;                    /* it changed while it was read */
	struct fl_timer retry;         /* what could not be read or taken in */
};
void bell_feed_start(struct bell_feed *bells, struct fl_io *io, struct fl_feed *feed, const char *dir);
void bell_feed_stop(struct bell_feed *bells);

struct sign_sink {
	struct fl_io *io;
	const char *dir;
};
extern const struct fl_sink sign_sink;   /* its self is a struct sign_sink */
