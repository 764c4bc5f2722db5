/* mig_file.h - mig-parted's file, version v1, as a feeder: the MIG layouts that a node knows by name (MigFile).
 *
 *     version: v1
 *     mig-configs:
 *       two-sizes:
 *         - devices: [0, 1]                  # or all, by bus address; may have device-filter: 0x20B010DE
 *           mig-enabled: true
 *           mig-devices: {1g.10gb: 2, 3g.40gb: 1}
 *
 * The file is followed. One that is wrong is a MigFile that says why, with the line where the layout begins; nothing
 * of it counts.
 */
#pragma once
#include "api/node.h"
#include "run/folder.h"

#define FL_MIG_FILE_MAX (1 * FL_MIB)          /* a ConfigMap holds no more */
#define FL_MIG_CONFIGS_MAX 256                /* layouts of a file: NVIDIA's own has some 60 for all GPUs */
#define FL_MIG_ENTRIES_MAX 64                 /* of a layout: one a GPU */

/* Zeroed before the start; does not move. */
struct fl_mig_files {
	struct fl_folder folder;
	char dir[4096], *name;
};

/* The loop has a source for fl_mig_file_kind. `path` is copied; empty: there is no file. FL_E_INVALID: it is not the
 * path of a file. */
int fl_mig_file_start(struct fl_mig_files *files, struct fl_io *io, struct fl_loop *loop, struct fl_str path,
		      struct fl_err *err) FL_MUSTUSE;
void fl_mig_file_stop(struct fl_mig_files *files);   /* safe if not started */

/* What the text says. FL_E_INVALID: "line 4: layout 'x', entry 0: ..."; FL_E_NOMEM. */
int fl_mig_file_read(struct fl_str text, struct fl_arena *arena, struct fl_mig_file *ret,
		     struct fl_err *err) FL_MUSTUSE;
