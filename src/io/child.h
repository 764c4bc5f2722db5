/* child.h - child processes.
 *
 * A start ends when the program runs or has failed to: an exec that hangs (on a failing disk) hangs the child, not the
 * loop. The child gets exactly the named fds, the given environment and default signal handling.
 */
#pragma once
#include "io/op.h"

/* fds handed to a child: stdin, stdout, stderr and a few pipes. */
#define FL_SPAWN_FDS 16

struct fl_fd_map {
	int fd;                       /* of ours */
	int as;                       /* its number in the child */
};

struct fl_spawn {
	const char *path;             /* absolute; PATH is not searched */
	const char *const *argv;      /* with argv[0]; ends with NULL */
	const char *const *env;       /* "NAME=value", ends with NULL; NULL: empty */
	const char *dir;              /* where it starts; NULL: "/" */
	const struct fl_fd_map *fds;  /* any other fd is closed; of 0, 1, 2 those not named are /dev/null */
	unsigned fd_count;            /* FL_SPAWN_FDS at most */
	bool session;                 /* a session, and so a process group, of its own */
	int death_signal;             /* sent to it when our thread ends; 0: none */
};

/* How it ended: by exit(code) or by a signal. Neither is set when the kernel has no record of it any more. */
struct fl_exit {
	int code;                     /* 0-255; -1: not by exit */
	int signo;                    /* 0: not by a signal */
};

struct fl_child;

struct fl_child_start {
	struct fl_op op;              /* result: the pid */
	struct fl_child *child;       /* in done() after success: the caller's, to be freed with fl_child_free */
};
/* *how is used until this returns. */
void fl_child_start(struct fl_io *io, struct fl_child_start *start, const struct fl_spawn *how);

/* result: 0 when it has ended, now or long ago. Only one wait at a time. A deadline ends the wait, not the child. */
struct fl_child_wait {
	struct fl_op op;
	struct fl_exit exit;
};
void fl_child_wait(struct fl_child *child, struct fl_child_wait *wait);

int fl_child_pid(const struct fl_child *child);

/* FL_E_NOTFOUND when it has ended. Never signals another process that has got the same pid since. */
int fl_child_signal(struct fl_child *child, int signo, struct fl_err *err) FL_MUSTUSE;

/* Kills a child that still runs; the loop reaps it whenever it dies (a hung driver may keep it for ever). Cancel its
 * wait first. NULL-safe. */
struct fl_child *fl_child_free(struct fl_child *child);

/* A process that is not our child, by its number: an fd, readable when it has ended. FL_E_NOTFOUND: there is none. */
int fl_process_open(struct fl_io *io, int pid, struct fl_err *err) FL_MUSTUSE;
int fl_process_signal(struct fl_io *io, int fd, int signo, struct fl_err *err) FL_MUSTUSE;

/* How many freed children have not died yet. The caller limits how many it abandons. */
unsigned fl_child_undead(const struct fl_io *io);

static inline void fl_child_auto_(struct fl_child **child)
{
	fl_child_free(*child);
}
