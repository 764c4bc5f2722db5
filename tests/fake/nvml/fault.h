/* fault.h - inside the fake libraries: where the node's state is, and the faults that were ordered. */
#pragma once
#include <limits.h>

#include "fake/nvml/state.h"

/* The file's path: as FAKE_ENV says, else beside the library that this is linked into. Negative: there is none. */
int fake_find(char path[PATH_MAX]);

/* The fault ordered for this call on this GPU (-1: on none), if any; with the lock held. May not come back, or later.
 * The code to answer, or 0. */
int fake_faults(struct fake_state *state, int no, int gpu);
