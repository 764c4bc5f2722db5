/* local.h - what the kinds of a GPU node share: they live in the agent's caches, never at an API server. */
#pragma once
#include "api/core.h"

#define FL_LOCAL_META(X) FL_META_NAMES(X)
FL_STRUCT(fl_local_meta, FL_LOCAL_META);

#define FL_LOCAL(X) \
	FL_FAULTS(X) \
	X(OBJ(fl_local_meta), meta, "metadata", .help = "Its name.")

/* Such a kind, with that FL_BIND. No API server has it; the group is for words only. */
#define FL_LOCAL_KIND(bind_, kind_, plural_, help_) \
	const struct fl_kind bind_##_kind = { .group = "node.fairlead", .version = "v1", .cluster_scoped = true, \
					      .built_in = true, .kind = (kind_), .plural = (plural_), \
					      .root = bind_##_bind, .help = (help_) }
