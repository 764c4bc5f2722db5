/* detach.h - daemons that outlive the program that starts them, and what they need of the host. Every call blocks: for
 * use in child programs, never on the loop.
 */
#pragma once
#include "base/err.h"
#include <stdbool.h>

struct fl_detach {
	const char *path;                      /* of a program that daemonizes itself */
	const char *const *argv, *const *env;  /* as struct fl_spawn has them */
	const char *shm;                       /* its /dev/shm, in its own mount namespace; NULL: the host's */
	const char *cgroup;                    /* its name, beside the cgroup of this process, or above that of its
						  Pod. Where none can be made the daemon stays with us */
};

/* Start it in a session of its own, without any of our fds, and wait until the started program exits; the daemon goes
 * on. FL_E_IO: the start failed, or the program exited with a failure. */
int fl_detach(const struct fl_detach *how, struct fl_err *err) FL_MUSTUSE;

/* Mount a tmpfs with these options on this directory: no devices, no set-user-ID, no programs. `links` false: nobody
 * follows a symlink in it (from Linux 5.10 on). One that is there already stays. */
int fl_detach_tmpfs(const char *path, const char *options, bool links, struct fl_err *err) FL_MUSTUSE;

/* Unmount it; processes that use it keep it. 0 where nothing is mounted. */
int fl_detach_unmount(const char *path, struct fl_err *err) FL_MUSTUSE;

/* Label the path so that containers may use it, where SELinux is on. */
int fl_detach_label(const char *path, struct fl_err *err) FL_MUSTUSE;
