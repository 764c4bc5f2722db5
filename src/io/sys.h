/* sys.h - what an implementation of the seam provides: io/posix.c, tests/sim, and the tests' wrapper that makes the
 * n-th call fail. No other file includes this.
 *
 * The loop (io/loop.c) and all operations use only this table, so they are the same everywhere. An implementation
 * embeds a struct fl_sys and sets every pointer. Rules for all calls:
 *   - A call returns its result, >= 0, or a negated errno: never EINTR; ENOMEM when an allocation failed.
 *   - No call blocks, except wait(). (posix: bind, unlink and connect of a unix socket's path touch a file system;
 *     those live on tmpfs.) Calls that may block are in struct fl_fs and run in jobs.
 *   - No call calls back. Only wait() reports events.
 *   - Every call is made on the loop's thread. Only run() of a job may be on another one.
 *   - A failure leaves nothing behind: no fd, no file, no child.
 */
#pragma once
#include "io/child.h"
#include "io/fs.h"
#include "io/io.h"
#include "io/job.h"

/* An event of wait(). Either a poll is ready: `token` is that of watch(), `what` at least one of FL_READABLE,
 * FL_WRITABLE, FL_HUNGUP. Or a job has returned: `token` is the struct fl_job, `what` FL_JOB_RETURNED. */
#define FL_JOB_RETURNED 0x100u
struct fl_io_event {
	void *token;
	unsigned what;
};

/* One change in a watched directory. watch -1: changes were lost, read every directory. `gone`: that watch has ended by
 * itself (the directory was removed or unmounted); its number is not reported again. */
struct fl_change {
	int watch;
	bool gone;
	char name[FL_NAME_MAX + 1];   /* "": the directory itself */
};

struct fl_spawned {
	int pid;
	int fd;       /* the process: readable once it has ended; for reap() and kill() */
	int started;  /* read() gives the end when the program runs, or one int (errno) when it could not be started */
};

struct fl_sys {
	/* The end, in two steps. settle(): wait for running jobs, up to FL_IO_FREE_WAIT, and mark job->returned in
	 * those that have returned; the others are left behind for ever with what they use. Before it the loop has
	 * dropped what it could (job_drop); after it it calls close(), but wait() no more. free(): close what the
	 * implementation itself holds and free sys. */
	void (*settle)(struct fl_sys *sys);
	void (*free)(struct fl_sys *sys);
	const struct fl_fs *fs;

	uint64_t (*now)(struct fl_sys *sys);   /* monotonic ns; never 0, never goes back */
	int64_t (*wall)(struct fl_sys *sys);   /* ns since 1970 */
	int (*random)(struct fl_sys *sys, void *bytes, size_t len);

	/* ---- readiness ---- */

	/* Report `token` when fd is ready for `want`; `had` is what was wanted before (0: not watched so far). want 0
	 * ends it and cannot fail. Called only when something changes; always ended before fd is closed. */
	int (*watch)(struct fl_sys *sys, int fd, unsigned had, unsigned want, void *token);

	/* Wait for an event or until now() >= until (0: do not wait; FL_NEVER: for ever). Returns how many events, 0 to
	 * max. Level-triggered: the next call reports again what still holds; a returned job only once. Must not
	 * starve: with more than max ready, later calls report the others. May return 0 early. Fails only when the seam
	 * is broken for good. */
	int (*wait)(struct fl_sys *sys, uint64_t until, struct fl_io_event *events, unsigned max);

	/* ---- jobs ---- */

	/* Queue job->run(job, fs) behind the others of job->lane. -EAGAIN: no worker could be created. */
	int (*job_start)(struct fl_sys *sys, struct fl_job *job);

	/* true: it has not begun, never will, and is not reported. false: wait() will report it. */
	bool (*job_drop)(struct fl_sys *sys, struct fl_job *job);

	/* ---- sockets: stream, non-blocking ---- */

	/* Returns an fd at once. It becomes writable (or hung up) when the attempt is over; then connected() returns 0
	 * or the failure. An immediate failure may be returned here instead. Unix sockets with a full backlog:
	 * -EAGAIN. */
	int (*connect)(struct fl_sys *sys, const struct fl_addr *addr);
	int (*connected)(struct fl_sys *sys, int fd);

	/* See fl_listen in io/io.h. -EADDRINUSE: another process listens there; -EEXIST: the path is not a socket. */
	int (*listen)(struct fl_sys *sys, const struct fl_addr *addr, unsigned mode);

	/* -EAGAIN: none waits. -EMFILE: one was taken off the queue and closed for lack of fds. *ret_peer is always
	 * filled on success. Connections that died in the queue are skipped. */
	int (*accept)(struct fl_sys *sys, int fd, struct fl_addr *ret_peer);
	int (*local_addr)(struct fl_sys *sys, int fd, struct fl_addr *ret);
	int (*peer_cred)(struct fl_sys *sys, int fd, struct fl_cred *ret);

	/* > 0 bytes; read 0: the end; -EAGAIN: not now; -EPIPE and -ECONNRESET: gone, without any signal. Also on pipes
	 * and on spawned.started. */
	int64_t (*read)(struct fl_sys *sys, int fd, void *bytes, size_t len);
	int64_t (*write)(struct fl_sys *sys, int fd, const void *bytes, size_t len);
	int (*shutdown_write)(struct fl_sys *sys, int fd);
	void (*close)(struct fl_sys *sys, int fd);   /* any fd of the seam; exactly once */
	int (*pair)(struct fl_sys *sys, enum fl_pair_kind kind, int ret_fds[static 2]);

	/* ---- children ---- */

	int (*spawn)(struct fl_sys *sys, const struct fl_spawn *how, struct fl_spawned *ret);
	int (*reap)(struct fl_sys *sys, int fd, struct fl_exit *ret);   /* -EAGAIN: it still runs */
	int (*kill)(struct fl_sys *sys, int fd, int signo);             /* -ESRCH: it has ended */

	int (*process)(struct fl_sys *sys, int pid);   /* not a child: an fd as spawned.fd, not for reap(); -ESRCH */

	/* ---- signals ---- */

	/* An fd, readable when one of the set (bit n-1 for signal n) has come; one an implementation. */
	int (*signals)(struct fl_sys *sys, uint64_t set);
	int (*signal_read)(struct fl_sys *sys, int fd);                 /* its number; -EAGAIN: none */

	/* ---- directories ---- */

	/* One an fl_io. -EMFILE, -ENFILE, -ENOSYS: do without. */
	int (*notify_open)(struct fl_sys *sys);
	int (*notify_read)(struct fl_sys *sys, int fd, struct fl_change *ret);   /* 1: one change; -EAGAIN: no more */
	void (*notify_drop)(struct fl_sys *sys, int fd, int watch);
};

struct fl_sys *fl_posix_sys(struct fl_err *err);   /* NULL on failure */

/* A loop on an implementation. Takes over `sys`; on failure (NULL) it has freed it. */
struct fl_io *fl_io_new(struct fl_sys *sys, struct fl_err *err);
struct fl_sys *fl_io_sys(struct fl_io *io);

/* When fl_io_turn is due next, unless a poll becomes ready before: 0 now, FL_NEVER not at all. For driving several
 * loops at once. */
uint64_t fl_io_next(const struct fl_io *io);
