/* control.h - a fake node from a topology file, and the words that change it while it is in use.
 *
 * The program fakectl is these calls with a command line, so what a script can do a C test can, in the same words:
 *
 *     struct fake_state *node = fake_up("dgx-h100.yaml", "/tmp/x/node", 1, 0, &err);
 *     fake_say(node, "xid 3 79", stdout, &err);
 *
 * The words are a table in control.c, printed by `fakectl help`, explained in tests/fake/README.md.
 */
#pragma once
#include <stdio.h>

#include "base/err.h"
#include "fake/nvml/state.h"

/* Make `folder` (its parent is there) and its state from a topology; `seed` decides UUIDs and serial numbers, `node`
 * which of the nodes of a rack it is. NULL on failure. The mapping stays until the process ends. */
struct fake_state *fake_up(const char *topology, const char *folder, uint64_t seed, uint32_t node, struct fl_err *err);

/* Carry out one line of words; what it has to print goes to `out`. */
int fake_say(struct fake_state *state, const char *words, FILE *out, struct fl_err *err) FL_MUSTUSE;

/* The words and what they do, as a table. */
void fake_help(FILE *out);

/* The fake /dev, /proc, /sys and driver files of the node under `folder`/root, made anew; see tests/fake/README.md.
 * `library` is the fake libnvidia-ml.so.1, NULL: none is put there. */
int fake_tree(const struct fake_state *state, const char *folder, const char *library, struct fl_err *err) FL_MUSTUSE;

/* What of that changes with MIG: capabilities, their device nodes. Leaves all else alone. */
int fake_tree_caps(const struct fake_state *state, const char *folder, struct fl_err *err) FL_MUSTUSE;
