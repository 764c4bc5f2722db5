/* child.h - child processes.
 *
 * A start ends when the program runs or could not: a hanging exec (a sick disk) hangs the child, not the loop. The
 * child gets exactly the fds that are named, the environment that is given, and signals as a fresh program has them.
 */
#pragma once
#include "io/op.h"

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

/* How it ended: by exit(code), or by a signal; neither when the process table does not know any more. */
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

/* result: 0 when it has ended, now or long ago. One waits at a time. A deadline ends the waiting, not the child. */
struct fl_child_wait {
	struct fl_op op;
	struct fl_exit exit;
};
void fl_child_wait(struct fl_child *child, struct fl_child_wait *wait);

int fl_child_pid(const struct fl_child *child);

/* FL_E_NOTFOUND when it has ended. Never hits another process, however old the child is. */
int fl_child_signal(struct fl_child *child, int signo, struct fl_err *err) FL_MUSTUSE;

/* One that still runs is killed, and reaped by the loop whenever it dies (a hung driver may keep it for ever); its wait
 * must have been cancelled. NULL-safe. */
struct fl_child *fl_child_free(struct fl_child *child);

/* A process that is not our child, by its number: an fd, readable when it has ended. FL_E_NOTFOUND: there is none. */
int fl_process_open(struct fl_io *io, int pid, struct fl_err *err) FL_MUSTUSE;
int fl_process_signal(struct fl_io *io, int fd, int signo, struct fl_err *err) FL_MUSTUSE;

/* How many freed children have not died yet: the ceiling on abandoned ones is the caller's. */
unsigned fl_child_undead(const struct fl_io *io);

static inline void fl_child_auto_(struct fl_child **child)
{
	fl_child_free(*child);
}
