/* one_key.h - of a capability that has one key: whatever changes makes it dirty. For struct fl_watched. */
#pragma once
#include "api/node.h"
#include "run/loop.h"

static inline void fl_one_key(const void *before, const void *after, struct fl_dirty *dirty)
{
	(void)before;
	(void)after;
	fl_dirty_key(dirty, FL_S(""), FL_S(""));
}

static inline void fl_no_key(const void *before, const void *after, struct fl_dirty *dirty)
{
	(void)before;
	(void)after;
	(void)dirty;
}

/* A row for each capability that writes outside this process: it waits until this agent owns the state directory. Of
 * all that the journal holds, Health is fed last (node/agent.c), so until then another agent may still be there. Only
 * node-lists looks on without it, to say that the directory cannot be used (may_tell in decide.c). */
#define FL_WHEN_STATE_IS_OURS { &fl_health_kind, fl_no_key, false }
