/* crio_conf.h - where CRI-O reads CDI files, by its configuration files: cdi_spec_dirs in [crio.runtime].
 *
 * Straight-line code for a job: nothing is allocated. crio.conf comes first, then each file of crio.conf.d in the order
 * of their names; the last one that has the setting counts. Files of directories below that one are not read.
 */
#pragma once
#include "base/str.h"
#include "base/units.h"
#include "io/fs.h"

#define FL_CRIO_PATH_MAX 512                     /* of a CDI directory or a configuration file of CRI-O */
#define FL_CRIO_DIRS_MAX 16                      /* directories of CDI files; there are two */
#define FL_CRIO_FILES_MAX 64                     /* of crio.conf.d; OpenShift writes a dozen */
#define FL_CRIO_FILE_MAX (256 * FL_KIB)          /* of one: a crio.conf with all its comments is 40 KiB */

struct fl_crio_conf {
	char path[2 * FL_CRIO_PATH_MAX];         /* the file with the setting, "": none; or the one that is wrong */
	char dirs[FL_CRIO_DIRS_MAX][FL_CRIO_PATH_MAX];
	uint32_t dir_count;                      /* none, and `seen`: CRI-O's own choice */
	bool seen;                               /* there is a configuration that can be read */
	bool set;                                /* the file that was read last has the setting */
	bool wrong;                              /* a file is no TOML, or has more than there is room for */
	int error;                               /* errno at `path`; nothing is to be made of the rest then */
	char text[FL_CRIO_FILE_MAX];             /* scratch */
	char names[FL_CRIO_FILES_MAX][FL_NAME_MAX + 1];
};

/* `dir`: "/etc/crio". */
void fl_crio_conf_read(const struct fl_fs *fs, const char *dir, struct fl_crio_conf *ret);

/* Of one file: true, and dirs are those that it sets, if it sets some. False: it is no TOML that CRI-O would take, or
 * has more than there is room for. For the job, and for fuzzing. */
bool fl_crio_conf_text(struct fl_str text, struct fl_crio_conf *conf);
