/* cdi.h - the directory of CDI files: CdiSpec, as a feeder of what is there and a sink of what is wanted.
 *
 *     static struct fl_cdi_dir cdi;
 *     fl_cdi_init(&cdi, io, "/var/run/cdi");
 *     fl_loop_source(loop, &(struct fl_source){ &fl_cdi_spec_kind, NULL, &fl_files_sink, &cdi.files }, err);
 *     fl_cdi_start(&cdi, loop, err);
 *
 * An object is named as its file is, without ".json". Everybody's files are told, for names must be unique; which are
 * ours is the plan's to know. One that cannot be understood is told without devices. A file counts as being on the
 * disk (api/cdi.h) when it has been read, or when a write of ours has been renamed into place, and not before.
 */
#pragma once
#include "api/cdi.h"
#include "run/files_sink.h"
#include "run/folder.h"

struct fl_cdi_dir {
	struct fl_io *io;                      /* NULL: not started */
	const char *dir;
	struct fl_files_sink files;
	struct fl_folder folder;
};

/* `dir` is borrowed. Allocates nothing, touches nothing. */
void fl_cdi_init(struct fl_cdi_dir *cdi, struct fl_io *io, const char *dir);

/* The directory is made by the first write that misses it, its parents are not. */
void fl_cdi_start(struct fl_cdi_dir *cdi, struct fl_loop *loop);
void fl_cdi_stop(struct fl_cdi_dir *cdi);      /* one that is not started is left alone */
