/* cdi.h - the directory of CDI files: CdiSpec, as a feeder of what is there and a sink of what is wanted.
 *
 *     static struct fl_cdi_dir cdi;
 *     fl_cdi_init(&cdi, io, "/var/run/cdi", log);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_cdi_spec_kind, NULL, &fl_files_sink, &cdi.files }, err);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_cdi_trouble_kind, NULL, NULL, NULL }, err);
 *     fl_cdi_start(&cdi, loop, err);
 *
 * An object is named as its file is, without ".json". Everybody's files are told, for names must be unique; which are
 * ours is the plan's to know. One that cannot be understood is told without devices. A file counts as being on the
 * disk (api/cdi.h) when it has been read, or when a write of ours has been renamed into place, and not before.
 *
 * A file that cannot be written is a CdiTrouble by its name: why, and what to do. It is logged once for each change,
 * and over when the file is there or is to go, or when nobody has wanted it for FL_CDI_TROUBLE_STALE. A directory that
 * cannot be read is a DirTrouble (node/host/dir_trouble.h).
 */
#pragma once
#include "api/cdi.h"
#include "run/files_sink.h"
#include "run/folder.h"

/* A CDI file that nobody has tried to write for so long is not wanted any more. Tries that fail are FL_LOCAL_RETRY_LAST
 * apart at most, and FL_FILE_TIMEOUT long on a disk that hangs. */
#define FL_CDI_TROUBLE_STALE (60 * FL_NS_PER_S)

struct fl_cdi_dir {
	struct fl_io *io;                      /* NULL: not started */
	const char *dir;
	struct fl_files_sink files;            /* what fl_files_sink is given */
	struct fl_folder folder;

	/* Private. */
	struct fl_loop *loop;
	struct fl_log *log;
	struct fl_feed *trouble;
	struct fl_timer stale;
};

/* `dir` and the log (NULL: none) are borrowed. Allocates nothing, touches nothing. */
void fl_cdi_init(struct fl_cdi_dir *cdi, struct fl_io *io, const char *dir, struct fl_log *log);

/* The directory is made by the write that misses it, its parents are not. */
void fl_cdi_start(struct fl_cdi_dir *cdi, struct fl_loop *loop);
void fl_cdi_stop(struct fl_cdi_dir *cdi);      /* one that is not started is left alone */

/* Between cdi.c and cdi_trouble.c: how a try ended, as struct fl_files_sink tells it. */
#define FL_CDI_DIR_REMEDY "mount a directory that the agent can write, or name another one (--cdi-dir)"
void fl_cdi_looked(void *cdi, const struct fl_err *why);   /* into the directory, as struct fl_folder tells it */
void fl_cdi_tried(void *cdi, struct fl_write *write, const struct fl_err *why);
