/* file.h - whole files, as operations: read one, replace one for good, hold a lock.
 *
 * All go through the lane of files: they take effect in the order in which they were started, and a sick disk delays
 * them but never the loop. A cancelled or late operation may still take effect on the disk.
 */
#pragma once
#include "base/buf.h"
#include "io/op.h"

/* result: bytes read. `into` gets the whole content (what it held is gone); FL_E_TOOBIG when the content is longer than
 * into->max. Follows symlinks: projected tokens are such. */
struct fl_file_read {
	struct fl_op op;
	const char *path;          /* borrowed until the start returns */
	struct fl_buf *into;       /* borrowed until done() or cancel; untouched until then, and when it fails */
};
void fl_file_read(struct fl_io *io, struct fl_file_read *read);

/* result: 0 when the new content and its name are on the disk: temporary file beside it, write, fdatasync, rename,
 * fsync of the directory. After a failure or a crash the file is whole and either the old or the new one. After FL_E_IO
 * what is on the disk is unknown: read it again before going on. Temporary files that a crash left are removed. */
struct fl_file_replace {
	struct fl_op op;
	const char *path;          /* borrowed until the start returns; a symlink is replaced, not followed */
	struct fl_str content;     /* copied by the start */
	unsigned mode;             /* of the file; 0: 0600 */
	bool keep_old;             /* the former content stays as PATH.1 */
};
void fl_file_replace(struct fl_io *io, struct fl_file_replace *replace);

/* result: an fd that holds the exclusive flock on the file, made if need be; fl_close gives it back, and so does the
 * end of the process. Waits for it by trying again (FL_LOCK_RETRY_*), until the deadline. The file is never removed. */
struct fl_file_lock {
	struct fl_op op;
	const char *path;          /* borrowed while the operation is busy */

	/* The loop's. */
	struct fl_op attempt;
	struct fl_timer retry;
	uint64_t delay;
};
void fl_file_lock(struct fl_io *io, struct fl_file_lock *lock);
