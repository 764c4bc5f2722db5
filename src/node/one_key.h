/* one_key.h - of a capability that has one key: whatever changes makes it dirty. For struct fl_watched. */
#pragma once
#include "run/loop.h"

static inline void fl_one_key(const void *before, const void *after, struct fl_dirty *dirty)
{
	(void)before;
	(void)after;
	fl_dirty_key(dirty, FL_S(""), FL_S(""));
}
