/* file.h - the file with labels that NFD's worker reads (its source "local"): LabelFile, as a feeder of what is there
 * and a sink of what is wanted.
 *
 *     static struct fl_labels_file file;
 *     fl_labels_file_init(&file, io, "/etc/kubernetes/node-feature-discovery/features.d/nvidia-fairlead")
 *     fl_loop_source(loop, &(struct fl_source){ &fl_label_file_kind, NULL, &fl_files_sink, &file.sink }, err);
 *     fl_labels_file_start(&file, loop);
 *
 * Of the directory only this file is read; while the directory is missing there is an object "." that says so. Neither
 * the directory nor its parents are made: NFD's worker has it mounted from the host, and so must the agent. The file
 * stays when the agent ends. One line is a label; the first says who wrote it, so that no other program's file of this
 * name is ever removed.
 */
#pragma once
#include "api/node_report.h"
#include "io/fs.h"
#include "run/files_sink.h"
#include "run/folder.h"

#define FL_LABELS_FILE_MAX (64 * FL_KIB)   /* NFD reads no longer one */
#define FL_LABELS_FILE_PATH 512            /* of a path on the command line */

struct fl_labels_file {
	struct fl_files_sink sink;             /* what fl_files_sink is given */

	/* Private. */
	struct fl_io *io;                      /* NULL: not started */
	struct fl_folder folder;
	char dir[FL_LABELS_FILE_PATH];
	char name[FL_NAME_MAX + 1];
};

/* FL_E_INVALID: no absolute path of a file. */
int fl_labels_file_check(const char *path, struct fl_err *err) FL_MUSTUSE;

/* A path that has been checked; NULL: there is no file, and none is ever wanted. Allocates nothing, touches nothing. */
void fl_labels_file_init(struct fl_labels_file *file, struct fl_io *io, const char *path);
void fl_labels_file_start(struct fl_labels_file *file, struct fl_loop *loop);
void fl_labels_file_stop(struct fl_labels_file *file);   /* one that is not started is left alone */
