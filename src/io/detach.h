/* detach.h - daemons that outlive whoever starts them, and what they need of the host. Every call waits: for child
 * programs, never for the loop.
 */
#pragma once
#include "base/err.h"

struct fl_detach {
	const char *path;                      /* of a program that puts itself into the background */
	const char *const *argv, *const *env;  /* as struct fl_spawn has them */
	const char *shm;                       /* is its /dev/shm, in a mount namespace of its own; NULL: the host's */
	const char *cgroup;                    /* its name, beside the cgroup of this process, or above that of its
						  Pod. Where none can be made the daemon stays with us */
};

/* Starts it in a session of its own, without any of our fds, and waits until the program that was started has ended:
 * the daemon goes on. FL_E_IO: it could not be started, or ended with a failure. */
int fl_detach(const struct fl_detach *how, struct fl_err *err) FL_MUSTUSE;

/* A tmpfs of half the machine's memory, for everybody, at this directory; one that is there already is left. */
int fl_detach_tmpfs(const char *path, struct fl_err *err) FL_MUSTUSE;

/* What containers may use, where SELinux is on. */
int fl_detach_label(const char *path, struct fl_err *err) FL_MUSTUSE;
