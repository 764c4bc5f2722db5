/* links.h - the sink of DevLink: symbolic links in /dev/char, made and removed in a worker.
 *
 *     static struct fl_links links = { .io = io };
 *     fl_loop_source(loop, &(struct fl_source){ &fl_dev_link_kind, NULL, &fl_links_sink, &links }, err);
 *     fl_memory_begin(loop, &fl_dev_link_kind)      nothing is known to be there
 *
 * A link that is there already with this target is left as it is; one with another target is replaced, for the numbers
 * are this node's now. What is no link is refused. Only links whose target is an nvidia node are ever removed.
 */
#pragma once
#include "io/io.h"
#include "run/loop.h"

struct fl_links {
	struct fl_io *io;
	const char *dir;           /* NULL: /dev/char */
};

extern const struct fl_sink fl_links_sink;     /* its self is a struct fl_links */
