/* memory.h - a sink for kinds that are nowhere but in the cache: what is wanted is so.
 *
 *     fl_loop_source(loop, &(struct fl_source){ &fl_settings_kind, NULL, &fl_memory_sink, io }, err);
 *
 * For facts that one plan makes and others read. Nobody else feeds such a kind: fl_memory_begin says that there is
 * nothing of it yet.
 */
#pragma once
#include "run/loop.h"

extern const struct fl_sink fl_memory_sink;    /* its self is the struct fl_io */

static inline void fl_memory_begin(struct fl_loop *loop, const struct fl_kind *kind)
{
	fl_feed_begin(fl_loop_feed(loop, kind));
	fl_feed_synced(fl_loop_feed(loop, kind));
}
