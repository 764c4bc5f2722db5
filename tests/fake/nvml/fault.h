/* fault.h - inside the fake libraries: where the node's state is, and the faults that were ordered. */
#pragma once
#include <limits.h>

#include "fake/nvml/state.h"

/* The file's path: as FAKE_ENV says, else beside the library that this is linked into. Negative: there is none. */
int fake_find(char path[PATH_MAX]);

/* An ordered SUCCESS: of a call that changes something, which answers so and changes nothing (fake_done). */
enum { FAKE_PRETENDED = -1 };

/* The fault ordered for this call on this GPU (-1: on none), if any; with the lock held. May not come back, or later.
 * The code to answer, or 0. */
int fake_faults(struct fake_state *state, int no, int gpu);

static inline int fake_done(int code)
{
	return code == FAKE_PRETENDED ? 0 : code;
}
