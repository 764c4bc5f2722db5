/* demo_capability.h - a capability as small as one can be, and the template of docs/ADDING-A-CAPABILITY.md.
 *
 * A bell is a file that says how often it rings: "door.bell" with "2" in it. For each bell there should be a sign, a
 * file too, that says how it rings: "door.sign" with "ding ding". Both are kinds like any other, each fed from the
 * directory; the signs are written there as well.
 */
#pragma once
#include "plan/facts.h"
#include "run/files_sink.h"
#include "run/folder.h"

/* ---- two kinds ---- */
#define FL_BELL_SPEC(X) \
	X(I32, rings, "rings", BETWEEN(1, 9), .help = "How often it rings.") \
	X(STR, problem, "problem", .help = "Why its file says nothing.")
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
#define RING_FACTS(X) \
	X(KEY, name) \
	X(SELF, fl_bell, bell) \
	X(SELF, fl_sign, sign)
FL_FACTS(ring_facts, RING_FACTS);
void ring_plan(const void *facts, struct fl_plan *plan);
extern const struct fl_capability ring;

/* ---- the outside: how a file is read, and how one is written ---- */
int bell_parse(void *arg, const struct fl_folder_file *file, struct fl_arena *arena, void *object, struct fl_err *err);
int sign_parse(void *arg, const struct fl_folder_file *file, struct fl_arena *arena, void *object, struct fl_err *err);
int sign_print(void *arg, const void *object, struct fl_buf *out, struct fl_err *err);
