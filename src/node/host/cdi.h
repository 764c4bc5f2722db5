/* cdi.h - the directory of CDI files: feeder and sink of CdiSpec.
 *
 *     static struct fl_cdi_dir cdi;
 *     fl_cdi_init(&cdi, io, "/var/run/cdi", log);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_cdi_spec_kind, NULL, &fl_files_sink, &cdi.files }, err);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_cdi_trouble_kind, NULL, NULL, NULL }, err);
 *     fl_cdi_start(&cdi, loop, err);
 *
 * An object has the name of its file without ".json". Files of other programs are objects too, those in YAML by their
 * whole name: names of devices must be unique. The plan knows which files are ours. A file that cannot be parsed is an
 * object without devices. A file counts as being on the disk (api/cdi.h) once it was read, or once our write was
 * renamed into place.
 *
 * A failed write is a CdiTrouble of the same name, with cause and remedy. It is logged once for each change. It ends
 * when the file is written or removed, or when no write was tried for FL_CDI_TROUBLE_STALE. An unreadable directory is
 * a DirTrouble (node/host/dir_trouble.h).
 */
#pragma once
#include "api/cdi.h"
#include "run/files_sink.h"
#include "run/folder.h"

/* A CDI file without a try for so long is not wanted any more: failed tries are at most FL_LOCAL_RETRY_LAST apart, and
 * take FL_FILE_TIMEOUT on a disk that hangs. */
#define FL_CDI_TROUBLE_STALE (60 * FL_NS_PER_S)

struct fl_cdi_dir {
	struct fl_io *io;                      /* NULL: not started */
	const char *dir;
	struct fl_files_sink files;            /* the self of fl_files_sink */
	struct fl_folder folder;

	/* Private. */
	struct fl_loop *loop;
	struct fl_log *log;
	struct fl_feed *trouble;
	struct fl_timer stale;
};

/* Borrows `dir` and the log (NULL: none). Allocates nothing and makes no system call. */
void fl_cdi_init(struct fl_cdi_dir *cdi, struct fl_io *io, const char *dir, struct fl_log *log);

/* The first write makes a missing directory, but not its parents. */
void fl_cdi_start(struct fl_cdi_dir *cdi, struct fl_loop *loop);
void fl_cdi_stop(struct fl_cdi_dir *cdi);      /* no effect before the start */

/* Between cdi.c and cdi_trouble.c: the result of a try. */
#define FL_CDI_DIR_REMEDY "mount a directory that the agent can write, or name another one (--cdi-dir)"
void fl_cdi_looked(void *cdi, const struct fl_err *why);   /* of a read of the directory */
void fl_cdi_tried(void *cdi, struct fl_write *write, const struct fl_err *why);
