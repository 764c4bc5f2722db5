/* ready_files.h - a directory of files that say that a check has passed (plan/checks/ready.h): ReadyFile, as a feeder
 * of what is there and a sink of what is wanted.
 *
 *     fl_ready_files_init(&files, io, "/run/nvidia/validations", log);
 *     fl_loop_source(loop, &(struct fl_source){ &fl_ready_file_kind, NULL, &fl_files_sink, &files.sink }, err);
 *     fl_ready_files_start(&files, loop);
 *
 * The directory is made if it is missing, its parents are not. The files stay when the agent ends: those who wait for
 * them would wait at each of its restarts. Files whose names do not end in -ready are not looked at.
 */
#pragma once
#include "api/node_report.h"
#include "base/log.h"
#include "run/files_sink.h"
#include "run/folder.h"

struct fl_ready_files {
	struct fl_files_sink sink;             /* what fl_files_sink is given */

	/* Private. */
	struct fl_io *io;                      /* NULL: not started */
	struct fl_log *log;
	struct fl_folder folder;
	bool failed;                           /* as the log says */
};

/* NULL for the directory: there is none, and no file is ever wanted. Allocates nothing, touches nothing. */
void fl_ready_files_init(struct fl_ready_files *files, struct fl_io *io, const char *dir, struct fl_log *log);
void fl_ready_files_start(struct fl_ready_files *files, struct fl_loop *loop);
void fl_ready_files_stop(struct fl_ready_files *files);   /* one that is not started is left alone */
