/* launch.h - what starts, finds and tidies up after an MPS control daemon: `fairlead mps`, a program that the agent
 * runs for each such step, as all of it may block (node/mps/mps.h).
 *
 * For a resource R below the directory M: M/R/pipe and M/R/log are the daemon's, M/R/.started holds the limits that it
 * was given, M/R/.daemon its pid and start time, M/shm is the /dev/shm of the daemon and of its clients. Pods may write
 * to M/R/pipe, a small tmpfs, and to M/shm, and to nothing else.
 *
 * A daemon is found by .daemon, else by its pid file, else among all processes. Pods can take the pid file away, and
 * write another one: the process that it names must run our very program, in our PID namespace, with this pipe
 * directory. A Pod with hostPID can pass as that, and then has no share of MPS itself. Only if all three find none,
 * START makes directories and tmpfs, removes what an earlier daemon left, and starts one that outlives us; CLEAN fails
 * while one is found.
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
#define FL_MPS_INSIDE "inside"
#define FL_MPS_PATH_MAX 512   /* FL_MPS_ROOT_MAX, and what lies below it */

/* Prints pid and start time, FL_MPS_INSIDE if the daemon is in our own cgroup, and in a second line what .started
 * holds. Nothing where FIND finds no daemon; FL_E_RETRY
 * after START: it is not to be seen yet. */
int fl_mps_launch(const struct fl_fs *fs, const struct fl_mps_launch *how, struct fl_buf *out,
		  struct fl_err *err) FL_MUSTUSE;

/* Of a process, by its /proc/PID/stat, in ticks since the boot: with the pid it names one process for good. 0: the text
 * tells none. */
int64_t fl_mps_start_time(struct fl_str stat);
