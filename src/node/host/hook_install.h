/* hook_install.h - the hook's program on this host: a copy of the one that this program carries.
 *
 * Straight-line code for a job: nothing is allocated. Nothing is written without a difference.
 */
#pragma once
#include "base/err.h"
#include "io/fs.h"

#define FL_HOOK_PROGRAM_SECTION ".fairlead.program"   /* of `fairlead`: not loaded with it */
/* Only the hook's own program has this one: so the agent knows a file of its own, whatever its version. */
#define FL_HOOK_SECTION ".fairlead.hook"

/* The file at the path when it was last found to be the program: while its stat is the same, it is not read again. A
 * file that has just been changed may be changed once more within the same tick of its file system's clock; so one is
 * known only that is older than `now` by more than that. */
struct fl_hook_known {
	struct fl_stat stat;       /* ino 0: none is known */
	int64_t now;               /* the wall clock, from the caller */
};

/* 0: `path` is a program of the hook that the container runtime can start: it was, or has been written there. `source`
 * is the file that carries it ("/proc/self/exe"). A file at the path that is not Fairlead's hook is never replaced. The
 * path is the same on the host and here: the runtime starts it there. `known` is updated. */
int fl_hook_install(const struct fl_fs *fs, const char *source, const char *path, struct fl_hook_known *known,
		    struct fl_err *err) FL_MUSTUSE;
