/* driver_users.h - which processes have the GPU driver open: a driver cannot be unloaded, nor a GPU reset, before they
 * have ended.
 *
 * Straight-line code over struct fl_fs, for a job. It needs the host's processes: in a PID namespace of its own the
 * agent sees only itself, and finds nobody.
 */
#pragma once
#include "base/str.h"
#include "base/units.h"
#include "io/fs.h"

/* Who else has the driver open is looked for while it is paused: 1,000 processes of 30 files take some 40 ms of a
 * worker. Bounds, so that no machine makes it long; named are as many as one line holds. */
#define FL_DRIVER_USERS_WAIT (1 * FL_NS_PER_S)
#define FL_DRIVER_USERS_EVERY (10 * FL_NS_PER_S)
#define FL_DRIVER_USERS_PIDS 20000
#define FL_DRIVER_USERS_FDS 4096
#define FL_DRIVER_USERS_NAMED 5

#define FL_POD_LOGS "/var/log/pods"
#define FL_DRIVER_USERS_TEXT 640   /* FL_DRIVER_USERS_NAMED of them, with the names of their Pods */

struct fl_driver_users {
	uint32_t count;                          /* processes that have it open */
	uint32_t unread;                         /* processes whose open files may not be read */
	int error;                               /* errno: `proc` could not be read, and so nobody knows */
	bool cut;                                /* there were more processes, or files of one, than are looked at */
	char text[FL_DRIVER_USERS_TEXT];         /* the first of them: "python3 (pid 812, Pod team/job), ..." */
};

/* Looks at what is open in `proc`/PID/fd. A device of the driver is one with a major number that `proc`/devices has for
 * it; where that has none, /dev/nvidia*, as seen by the process, or that below `dev_root` (NULL: none). `logs` is the
 * kubelet's directory of Pod logs, whose names are NAMESPACE_NAME_UID; a Pod that is not found there is named by its
 * UID. */
void fl_driver_users_find(const struct fl_fs *fs, const char *proc, const char *dev_root, const char *logs,
			  struct fl_driver_users *ret);

/* One more of them, by its directory in `proc`, which is open. */
void fl_driver_users_add(const struct fl_fs *fs, int proc, const char *logs, const char *pid,
			 struct fl_driver_users *ret);
