/* keys_check.h - do a capability's keys miss nothing that its gather reads? Every capability's tests ask.
 *
 * The caches hold what the key's facts are made of; what is read is recorded. Each object that was read must make the
 * key dirty when it comes and when it goes; so must one that was looked for in vain, when it comes, and a further one
 * of those that were gone through. Then each field of each object is changed, one after another: a change after which
 * the plan differs must make the key dirty, told as a change, and so must its way back. What was only counted or
 * summed up was read as well.
 */
#pragma once
#include "run/loop.h"

/* A line for each thing missed, appended; nothing: all is well. How many changes were tried, or -FL_E_NOMEM. The caches
 * are as they were afterwards. */
int keys_check(struct fl_loop *loop, const struct fl_capability *capability, struct fl_str space, struct fl_str name,
	       struct fl_buf *missed) FL_MUSTUSE;
