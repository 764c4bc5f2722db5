/* dir_trouble.h - a directory that cannot be used is a fact: DirTrouble, by the option that names it.
 *
 *     fl_dir_trouble(loop, FL_DIR_CDI, "list '/cdi': Not a directory: name another one (--cdi-dir)");
 *     fl_dir_trouble(loop, FL_DIR_CDI, NULL);
 *
 * The loop has a source for fl_dir_trouble_kind, and fl_memory_begin has been called. What finds no memory is told by
 * the next call: whoever meets with the trouble tries again, and calls each time.
 */
#pragma once
#include "api/node.h"
#include "run/loop.h"

/* `why` as in DirTrouble; NULL: it can be used. */
static inline void fl_dir_trouble(struct fl_loop *loop, const char *option, const char *why)
{
	struct fl_feed *feed = fl_loop_feed(loop, &fl_dir_trouble_kind);
	struct fl_dir_trouble trouble = { 0 };

	if (!feed)
		return;
	if (!why) {
		fl_feed_gone(feed, FL_S(""), fl_str(option));
		return;
	}
	FL_SET(FL_IN(&trouble, meta), name, fl_str(option));
	FL_SET(&trouble, why, fl_str(why));
	(void)!fl_feed_put(feed, &trouble, NULL);
}
