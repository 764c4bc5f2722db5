/* scan.h - the driver's files and device nodes under a root, as straight-line code for a job.
 *
 * Nothing is allocated and nothing is loaded. The result is sorted, each file once, however the directories of a
 * distribution link to each other: paths have no symbolic links, and links resolve inside the root (driver_root.h).
 *
 * Libraries are those of the loaded version, in the directories of driver_root.h. The linker's cache counts only where
 * these lack libcuda. Each library has the links that a container gets with it.
 *
 * A missing directory counts as empty. `message` names one that may not be read. A temporary failure (a disk that does
 * not answer, no fds, no memory) is an `error`: after half a scan, containers would miss libraries.
 */
#pragma once
#include "api/node.h"
#include "node/host/driver_root.h"

#define FL_HOST_MESSAGE_MAX 600      /* what could not be read: two paths and words */
#define FL_HOST_LINKS 4              /* libcuda.so, libcuda.so.1, and some to spare */
#define FL_HOST_FILES_MAX 256        /* libraries, programs, firmware, configuration of one driver: 100 */
#define FL_HOST_NODES_MAX 512        /* 16 GPUs with seven MIG devices of two capabilities each, and their DRI nodes */

struct fl_host_file_found {
	enum fl_host_file what;
	char path[FL_HOST_PATH_MAX];             /* inside the root: "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15" */
	char at[FL_HOST_PATH_MAX];               /* its path in a container, if that is another one; else "" */
	struct fl_host_link_found {
		char name[FL_HOST_NAME_MAX];     /* from the file's directory */
		char target[FL_HOST_NAME_MAX];
	} links[FL_HOST_LINKS];                  /* sorted by name */
	uint32_t link_count;
};

struct fl_host_node_found {
	char path[FL_HOST_PATH_MAX];             /* "/dev/nvidia0" */
	uint32_t major, minor, mode, gid;
};

/* Directories whose files come and go while a driver runs, and the prefixes of these files. */
struct fl_host_place {
	const char *dir;
	bool dev;                                /* below dev_root, not root */
	const char *names[5];                    /* NULL ends them */
};
#define FL_HOST_PLACES 8   /* where files of a driver lie: as many as fl_host_places has */
extern const struct fl_host_place fl_host_places[FL_HOST_PLACES];

struct fl_host_scan {
	/* The caller's. Without a dev_root, device nodes are those of the root, or of "/" if it has no /dev. */
	char root[FL_HOST_PATH_MAX], dev_root[FL_HOST_PATH_MAX], version[64];
	char proc[FL_HOST_PATH_MAX], sysfs[FL_HOST_PATH_MAX];   /* of the kernel; sysfs may be "" */
	const char *const *env;                  /* borrowed: of PATH and XDG_DATA_DIRS, below the root; NULL: empty */

	bool has_files;                          /* set by fl_host_scan_files(): fl_host_scan() skips the files */

	char nodes_root[FL_HOST_PATH_MAX];       /* where device nodes were searched */
	char looked[FL_HOST_LOOKED_MAX];         /* for people: where libcuda was searched; "": it was found */
	uint32_t foreign;                        /* files named as libraries that this machine cannot load */
	uint32_t uvm_major;                      /* of unified memory's device nodes; 0: the kernel has none */
	uint32_t file_count, node_count;
	uint32_t places;                         /* bits: which of fl_host_places there are */
	int error;                               /* errno; the rest is not valid then */
	char where[2 * FL_HOST_PATH_MAX];        /* the path of the failed call */
	char message[FL_HOST_MESSAGE_MAX];       /* for people: what was left out, and why; empty: nothing */
	struct fl_lib_dirs dirs;                 /* scratch */
	struct fl_host_file_found files[FL_HOST_FILES_MAX];
	struct fl_host_node_found nodes[FL_HOST_NODES_MAX];
};

#define FL_HOST_UVM_MODE 0666
extern const char *const fl_host_uvm_nodes[2];   /* names of unified memory's device nodes, by minor number */

/* Makes unified memory's device nodes that are missing after a scan. 0: each exists with the kernel's numbers, or the
 * kernel has none. FL_E_EXISTS: something else is in the place of one; it is not touched. */
int fl_host_make_nodes(const struct fl_fs *fs, const struct fl_host_scan *scan, struct fl_err *err) FL_MUSTUSE;
void fl_host_scan(const struct fl_fs *fs, struct fl_host_scan *scan);
/* The major number that the kernel gave a driver of this name, by the text of /proc/devices; 0: none. */
unsigned fl_host_major(struct fl_str devices, struct fl_str driver);
/* The half that needs no device node: it may run while the driver starts. */
void fl_host_scan_files(const struct fl_fs *fs, struct fl_host_scan *scan);
