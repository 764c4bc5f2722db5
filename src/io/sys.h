/* sys.h - what an implementation of the seam provides: io/posix.c, tests/sim, and the tests' wrapper that lets the n-th
 * call fail. Nobody else includes this.
 *
 * The loop (io/loop.c) and all operations stand above this table, so they are the same everywhere. An implementation
 * embeds a struct fl_sys and fills in every pointer. Its promises, for all calls:
 *   - Returned is what the call says, >= 0, or a negated errno. EINTR is never returned. -ENOMEM for want of memory.
 *   - No call waits, except wait(). (posix: bind, unlink and connect of a unix socket's path touch a file system; those
 *     live on tmpfs.) What may block is in struct fl_fs and runs in jobs.
 *   - No call calls back. What happened is told by wait() only.
 *   - Every call is made on the loop's thread. run() of a job is the one thing that may be elsewhere.
 *   - On failure nothing is left behind: no fd, no file, no child.
 */
#pragma once
#include "io/child.h"
#include "io/fs.h"
#include "io/io.h"
#include "io/job.h"

/* What wait() tells. Either a poll is ready: `token` as given to watch(), what = FL_READABLE | FL_WRITABLE | FL_HUNGUP,
 * at least one; or a job has returned: token is the struct fl_job, what = FL_JOB_RETURNED. */
#define FL_JOB_RETURNED 0x100u
struct fl_event {
	void *token;
	unsigned what;
};

/* One change in a watched directory. watch -1: changes were lost, look everywhere. `gone`: that watch has ended by
 * itself (the directory was removed or unmounted); its number will not be told again. */
struct fl_change {
	int watch;
	bool gone;
	char name[FL_NAME_MAX + 1];   /* "" when it is about the directory itself */
};

struct fl_spawned {
	int pid;
	int fd;       /* the process: readable once it has ended; for reap() and kill() */
	int started;  /* read() gives the end when the program runs, or one int (errno) when it could not be started */
};

struct fl_sys {
	/* The end, in two steps. settle(): wait for the jobs that are running, within reason; mark job->returned in
	 * those that are over; the others are left behind for ever with what they use. The loop has taken back what it
	 * could (job_drop) before and calls wait() no more; close() it still may. free(): close what the implementation
	 * itself holds and free sys. */
	void (*settle)(struct fl_sys *sys);
	void (*free)(struct fl_sys *sys);
	const struct fl_fs *fs;

	uint64_t (*now)(struct fl_sys *sys);   /* monotonic ns; never 0, never goes back */
	int64_t (*wall)(struct fl_sys *sys);   /* ns since 1970 */
	int (*random)(struct fl_sys *sys, void *bytes, size_t len);

	/* ---- readiness ---- */

	/* Tell `token` when fd is ready for `want`; `had` is what was wanted before (0: not watched so far). want 0
	 * ends it and cannot fail. Called only when something changes; always ended before fd is closed. */
	int (*watch)(struct fl_sys *sys, int fd, unsigned had, unsigned want, void *token);

	/* Wait until something is to be told or now() >= until (0: do not wait; FL_NEVER: for ever). How many events, 0
	 * to max. Level-triggered: what is still so is told again by the next call, a returned job only once. Must not
	 * starve: with more than max ready, later calls tell the others. May return 0 early. Fails only when the seam
	 * is broken for good. */
	int (*wait)(struct fl_sys *sys, uint64_t until, struct fl_event *events, unsigned max);

	/* ---- jobs ---- */

	/* Queue job->run(job, fs) behind the others of job->lane. -EAGAIN: no worker to be had. */
	int (*job_start)(struct fl_sys *sys, struct fl_job *job);

	/* true: it has not begun, never will, and will not be told. false: wait() will tell. */
	bool (*job_drop)(struct fl_sys *sys, struct fl_job *job);

	/* ---- sockets: stream, non-blocking ---- */

	/* An fd at once; it becomes writable (or hung up) when it is decided, and then connected() says 0 or why not. A
	 * failure that shows at once may be told here instead. Unix sockets with a full backlog: -EAGAIN. */
	int (*connect)(struct fl_sys *sys, const struct fl_addr *addr);
	int (*connected)(struct fl_sys *sys, int fd);

	/* As fl_listen of io/io.h says. -EADDRINUSE: somebody listens there; -EEXIST: the path is no socket. */
	int (*listen)(struct fl_sys *sys, const struct fl_addr *addr, unsigned mode);

	/* -EAGAIN: none waits. -EMFILE: one was taken off the queue and closed for want of fds. *ret_peer is always
	 * filled on success. Connections that died in the queue are skipped. */
	int (*accept)(struct fl_sys *sys, int fd, struct fl_addr *ret_peer);
	int (*local_addr)(struct fl_sys *sys, int fd, struct fl_addr *ret);
	int (*peer_cred)(struct fl_sys *sys, int fd, struct fl_cred *ret);

	/* > 0 bytes; read 0: the end; -EAGAIN: not now; -EPIPE and -ECONNRESET: gone, without any signal. Also on pipes
	 * and on spawned.started. */
	int64_t (*read)(struct fl_sys *sys, int fd, void *bytes, size_t len);
	int64_t (*write)(struct fl_sys *sys, int fd, const void *bytes, size_t len);
	int (*shutdown_write)(struct fl_sys *sys, int fd);
	void (*close)(struct fl_sys *sys, int fd);   /* any fd of the seam; once, whatever it says */
	int (*pair)(struct fl_sys *sys, enum fl_pair_kind kind, int ret_fds[static 2]);
	int (*datagram)(struct fl_sys *sys, const struct fl_addr *to, const void *bytes, size_t len);

	/* ---- children ---- */

	int (*spawn)(struct fl_sys *sys, const struct fl_spawn *how, struct fl_spawned *ret);
	int (*reap)(struct fl_sys *sys, int fd, struct fl_exit *ret);   /* -EAGAIN: it runs; otherwise once */
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

/* A loop above an implementation. Takes it over, also on failure (NULL: it has been freed). */
struct fl_io *fl_io_new(struct fl_sys *sys, struct fl_err *err);
struct fl_sys *fl_io_sys(struct fl_io *io);

/* When fl_io_turn is needed next, unless something becomes ready before: 0 now, FL_NEVER not at all. For those who
 * drive several loops at once. */
uint64_t fl_io_next(const struct fl_io *io);
