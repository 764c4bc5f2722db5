/* launch.h - what starts, finds and tidies up after an MPS control daemon: `fairlead mps`, a program that the agent
 * runs for each such step, as all of it may block (node/mps/mps.h).
 *
 * For a resource R below the directory M: M/R/pipe and M/R/log are the daemon's, M/R/.started holds the limits that it
 * was given, M/shm is the /dev/shm of the daemon and of its clients.
 *
 * Start: a daemon that is there is taken, if its pid file names a process of that program with this very pipe
 * directory. Else directories and tmpfs are made, what an earlier daemon left is removed, and one is started that
 * outlives us.
 */
#pragma once
#include "base/buf.h"
#include "io/fs.h"

enum fl_mps_launch_what { FL_MPS_LAUNCH_START, FL_MPS_LAUNCH_FIND, FL_MPS_LAUNCH_CLEAN, FL_MPS_LAUNCH_COUNT_ };
extern const struct fl_names fl_mps_launch_names;

struct fl_mps_launch {
	struct fl_str what;                    /* fl_mps_launch_names */
	const char *root, *resource, *program, *libraries, *proc;
};

#define FL_MPS_PROGRAM "nvidia-cuda-mps-control"
#define FL_MPS_PATH_MAX 512

/* Prints the pid, and in a second line what .started holds. Nothing where no daemon is: found by FIND; FL_E_RETRY after
 * START: it has not said its pid yet. */
int fl_mps_launch(const struct fl_fs *fs, const struct fl_mps_launch *how, struct fl_buf *out,
		  struct fl_err *err) FL_MUSTUSE;
