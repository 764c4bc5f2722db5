/* exec.h - run a program to its end: what it is told, and what it prints. */
#pragma once
#include "base/buf.h"
#include "io/child.h"
#include "io/io.h"

#define FL_CREDENTIAL_MAX (256 * FL_KIB) /* a token, a certificate, a bundle of CAs; what an exec plugin prints */

#define FL_EXEC_INPUT_MAX 4096   /* what a pipe takes at once, always */

struct fl_exec_pipe {
	struct fl_poll poll;
	int fd;                    /* -1: at its end */
	struct fl_buf buf;
	struct fl_exec *exec;
};

/* result: 0 when it has ended well; what it printed is in out.buf, the caller's to free with fl_exec_free. Its last
 * words on stderr are in the words of a failure. Cancelled or late, it is killed. */
struct fl_exec {
	struct fl_op op;
	struct fl_str input;       /* what it reads, FL_EXEC_INPUT_MAX at most; used until the start returns */

	struct fl_exec_pipe out, words;
	struct fl_io *io;
	struct fl_child_start start;
	struct fl_child_wait wait;
	struct fl_child *child;
	struct fl_err err;
	int write_fds[2], input_fd;
	bool ended;                /* the program */
};

/* `how` without fds; used until this returns. */
void fl_exec_start(struct fl_io *io, struct fl_exec *exec, const struct fl_spawn *how);
void fl_exec_free(struct fl_exec *exec);
