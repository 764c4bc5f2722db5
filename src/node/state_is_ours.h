/* state_is_ours.h - for a capability that writes outside this process: wait until this agent owns the state directory.
 * Of all that the journal holds, Health is fed last (node/agent.c), so until then another agent may still be there.
 *
 * Without this row: node-health and node-pods read Health anyway. node-lists looks on, to say that the directory cannot
 * be used (fl_dir_trouble_kind). pausing keeps its files outside the directory. config writes its Memo only once Memos
 * are known, which are read from the journal: the directory is ours by then.
 */
#pragma once
#include "api/node.h"
#include "run/facts.h"

/* A row of watches. */
#define FL_WHEN_STATE_IS_OURS { &fl_health_kind, fl_no_key, false }
