/* files_sink.h - a directory as a sink: each object that is wanted is a file, and what is not wanted goes.
 *
 *     sink = (struct fl_files_sink){ .io = io, .dir = dir, .suffix = ".sign", .print = print };
 *     fl_loop_source(loop, &(struct fl_source){ &fl_sign_kind, NULL, &fl_files_sink, &sink }, err);
 *
 * A file is replaced in one step and for good (fl_file_replace), its end is for good too. Which files are old is no
 * question for a sink: a folder (run/folder.h) over the same directory feeds the kind, so what an earlier process left
 * is in the cache, and a plan that does not want it says so. Files that a crash left half written are removed before
 * the first write.
 *
 * Refused with words: a name that is none of a file of this directory, and wants of items of shared lists.
 */
#pragma once
#include "run/loop.h"

struct fl_files_sink {
	struct fl_io *io;
	const char *dir;               /* borrowed; a write fails without it */
	bool make;                     /* ... but makes it (not its parents) and goes on */
	const char *suffix;            /* of the file, behind the object's name; NULL: none */
	unsigned mode;                 /* of the file; 0: 0600 */
	/* What stands in the file, from what the owner wants of the object; a failure is told as that of the write. */
	int (*print)(void *arg, const void *object, struct fl_buf *out, struct fl_err *err);
	/* The object as it is when its file is there, where it says more than was wanted of it; it lives in the write's
	 * arena. NULL: nothing more is known of it than that it is as was wanted. */
	const void *(*written)(void *arg, struct fl_write *write);
	/* How a write has ended, right before the loop is told: `why` is NULL when the file is there, or gone, as was
	 * wanted, and else valid for the call. Never of a write that was cancelled. NULL: nobody asks. */
	void (*tried)(void *arg, struct fl_write *write, const struct fl_err *why);
	void *arg;

	bool swept;                    /* the sink's own */
};
extern const struct fl_sink fl_files_sink;   /* its self is a struct fl_files_sink, which outlives the loop */
