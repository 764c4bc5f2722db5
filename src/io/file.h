/* file.h - whole files, as operations: read one, replace one for good.
 *
 * They run in the lane of files, in the order in which they were started. A slow disk delays them but never the loop. A
 * cancelled or late operation may still take effect on the disk.
 */
#pragma once
#include "base/buf.h"
#include "io/op.h"

/* First read of a file: tokens, certificates and state files fit into it. */
#define FL_FILE_FIRST (4 * FL_KIB)
/* For reading a file of configuration or state. A disk that takes longer is reported. */
#define FL_FILE_TIMEOUT (10 * FL_NS_PER_S)

/* result: bytes read. The whole content replaces what `into` held; FL_E_TOOBIG when it is longer than into->max.
 * Follows symlinks: projected tokens are symlinks. */
struct fl_file_read {
	struct fl_op op;
	const char *path;          /* borrowed until the start returns */
	struct fl_buf *into;       /* borrowed until done() or cancel; untouched until then, and when it fails */
};
void fl_file_read(struct fl_io *io, struct fl_file_read *read);

/* result: 0 when the new content and its name are on the disk: temporary file beside it, write, fdatasync, rename,
 * fsync of the directory. After a failure or a crash the file is whole: either the old or the new one. After FL_E_IO it
 * is unknown which: read the file again. Temporary files left by a crash are removed. */
struct fl_file_replace {
	struct fl_op op;
	const char *path;          /* borrowed until the start returns; a symlink is replaced, not followed */
	struct fl_str content;     /* copied by the start */
	unsigned mode;             /* of the file; 0: 0600 */
	bool keep_old;             /* the former content stays as PATH.1 */
};
void fl_file_replace(struct fl_io *io, struct fl_file_replace *replace);
