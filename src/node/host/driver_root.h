/* driver_root.h - the root under which a driver is installed: paths inside it, and where its libraries are.
 *
 * NVML (node/gpu/find.h) and the files that containers get (scan.h) are looked for in the same directories. Symbolic
 * links lead inside the root, also absolute ones: the root of a driver container is a root of its own.
 *
 * Straight-line code over struct fl_fs, for a job. Nothing is allocated. Which links are followed is not a matter of
 * trust: the root belongs to the host.
 */
#pragma once
#include "base/str.h"
#include "base/units.h"
#include "io/fs.h"

#define FL_GPU_PATH_MAX 512                  /* of the driver's library, its root before it: real ones have 60 */
#define FL_HOST_PATH_MAX 192         /* of a driver's file inside its root, of a root: real ones have 80 */
#define FL_HOST_NAME_MAX 64          /* of a library */
#define FL_LIB_DIRS_MAX 24           /* the usual directories of libraries are 12; those of the linker's cache */
#define FL_LD_CACHE_MAX FL_MIB       /* /etc/ld.so.cache: 200 KiB on a machine with 3,000 libraries */
#define FL_ROOT_KNOWN_MAX 48         /* names that a look keeps in mind: with all places of the driver's files, 40 */

/* A path below a root, which may end in slashes; false: it is too long. */
bool fl_root_join(char *ret, size_t size, const char *root, const char *path) FL_MUSTUSE;

/* Where a path of the root ends, without links: 0 and what is there, or a negated errno. `path` may lack its slash. */
int fl_root_resolve(const struct fl_fs *fs, const char *root, const char *path, char ret[FL_HOST_PATH_MAX],
		    struct fl_stat *ret_stat);

/* What a look has learnt of a root so far: directories that are no links, and names that are not there. Zeroed:
 * nothing. The oldest makes room. */
struct fl_root_known {
	uint32_t count;                          /* learnt so far */
	struct fl_root_name {
		char path[FL_HOST_PATH_MAX];
		bool absent;
	} at[FL_ROOT_KNOWN_MAX];
};

/* The same, for many paths of one look: what two of them have in common is looked at once. */
int fl_root_resolve_known(const struct fl_fs *fs, const char *root, const char *path, struct fl_root_known *known,
			  char ret[FL_HOST_PATH_MAX], struct fl_stat *ret_stat);

/* Where device nodes are: in the root if it has a /dev, else in "/". 0 or a negated errno. */
int fl_root_dev(const struct fl_fs *fs, const char *root, const char **ret);

/* The directories that are searched for libraries, in order: those that exist, without links, each once. */
struct fl_lib_dirs {
	uint32_t len;
	char at[FL_LIB_DIRS_MAX][FL_HOST_PATH_MAX];
	int error;                               /* the first failure but "not there": a positive errno, and its path */
	char where[2 * FL_HOST_PATH_MAX];
	char cache[FL_LD_CACHE_MAX];             /* scratch */
};

/* The usual ones. */
void fl_lib_dirs_usual(const struct fl_fs *fs, const char *root, struct fl_lib_dirs *ret);
/* Their names, "" at the end: for messages. */
extern const char *const fl_lib_dir_names[];
/* And behind them those of the 64-bit driver libraries in the root's etc/ld.so.cache. */
void fl_lib_dirs_cached(const struct fl_fs *fs, const char *root, struct fl_lib_dirs *dirs);

/* A 64-bit library of this machine: 0, with its soname ("": it has none), or a negated errno; -ENOEXEC: it is not. */
int fl_lib_look(const struct fl_fs *fs, int dir, const char *path, char soname[FL_HOST_NAME_MAX]);
