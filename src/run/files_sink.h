/* files_sink.h - a directory as a sink: each wanted object is a file; the file of an unwanted one is removed.
 *
 *     sink = (struct fl_files_sink){ .io = io, .dir = dir, .suffix = ".sign", .print = print };
 *     fl_loop_source(loop, &(struct fl_source){ &fl_sign_kind, NULL, &fl_files_sink, &sink }, err);
 *
 * A file is replaced in one step (fl_file_replace). Replacing and removing are durable. The sink does not search for
 * old files: a folder (run/folder.h) over the same directory feeds the kind, so files of an earlier process are in the
 * cache and the plan decides. Files that a crash left half written are removed before the first write.
 *
 * Refused: a name that no file of this directory can have, and items of shared lists.
 */
#pragma once
#include "run/loop.h"

struct fl_files_sink {
	struct fl_io *io;
	const char *dir;               /* borrowed; a write fails if it is missing */
	bool make;                     /* make a missing directory (not its parents) */
	const char *suffix;            /* of the file, after the object's name; NULL: none */
	unsigned mode;                 /* of the file; 0: 0600 */
	/* Prints the file's content from the wanted object. A failure is the write's. */
	int (*print)(void *arg, const void *object, struct fl_buf *out, struct fl_err *err);
	/* The observed object after the write, if it has more than the wanted one; in the write's arena. NULL: it is
	 * the wanted one. */
	const void *(*written)(void *arg, struct fl_write *write);
	/* Called at the end of a write, before the loop learns of it. `why`: the failure, valid during the call; NULL:
	 * success. Not called for a cancelled write. NULL: no call. */
	void (*tried)(void *arg, struct fl_write *write, const struct fl_err *why);
	void *arg;

	bool swept;                    /* the sink's own */
};
extern const struct fl_sink fl_files_sink;   /* its self is a struct fl_files_sink, which outlives the loop */
