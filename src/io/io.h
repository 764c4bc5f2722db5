/* io.h - the one seam to the outside: loop, time, readiness, sockets.
 *
 * Code above this layer never calls the kernel: clocks, timers, sockets, files, processes and random bytes come from a
 * struct fl_io. It is the event loop of one thread; no other thread may call anything here. io/loop.c is the loop,
 * above a table of calls (io/sys.h) that io/posix.c provides on epoll and tests/sim under virtual time with several
 * hosts in one process. The same inputs give the same order of callbacks.
 *
 * Further headers of the seam: op.h (asynchronous operations), addr.h, file.h, job.h and fs.h (calls that may block),
 * notify.h (directory changes), child.h, signals.h.
 *
 * Fds are numbers of this seam: they are valid only with the same fl_io, and no child inherits them. Non-blocking calls
 * return what they did, or a negated enum fl_code; -FL_E_AGAIN means "wait for readiness".
 */
#pragma once
#include "base/buf.h"
#include "io/addr.h"
#include "io/op.h"

/* Connections that wait for accept; the kernel cuts it to somaxconn. A kubelet or API server never has this many. */
#define FL_LISTEN_BACKLOG 4096
/* How long to wait for running jobs when their loop is freed: a working disk answers in this time, a hung one never. */
#define FL_IO_FREE_WAIT (1 * FL_NS_PER_S)
/* Name of a host: RFC 1035, and a dot at its end. */
#define FL_HOST_MAX 254

/* ---- the loop ---- */

struct fl_io *fl_posix_new(struct fl_err *err);   /* on the real kernel; the caller frees it; NULL on failure */

/* Cancels nothing: end all that was started first. NULL-safe, returns NULL. Waits up to FL_IO_FREE_WAIT for workers
 * that still write files; a worker that is stuck longer is left behind. */
struct fl_io *fl_io_free(struct fl_io *io);
static inline void fl_io_auto_(struct fl_io **io)
{
	fl_io_free(*io);
}

/* Run the loop until fl_io_stop is called. */
int fl_io_run(struct fl_io *io, struct fl_err *err) FL_MUSTUSE;

/* One turn: wait until something is ready, a timer is due or the time is `until` (0: do not wait). Then call back polls
 * and jobs, then timers, then ended operations. A turn that has taken FL_TURN_BUDGET leaves the rest, in order, to the
 * next one. What a callback sets or ends comes in the next turn. */
int fl_io_turn(struct fl_io *io, uint64_t until, struct fl_err *err) FL_MUSTUSE;
void fl_io_stop(struct fl_io *io);

/* How long turns took, callbacks only: the measurement behind the promise "no turn over 2 ms". */
struct fl_turns {
	uint64_t count;
	uint64_t longest;          /* ns */
	uint64_t longest_call;     /* ns: the longest single callback */
	const char *longest_name;  /* that callback's fl_io_name, else "poll", "timer", "op", "job" */
};
const struct fl_turns *fl_io_turns(const struct fl_io *io);
void fl_io_turns_reset(struct fl_io *io);
void fl_io_name(struct fl_io *io, const char *name);   /* name the running callback; a literal */

/* ---- time and random bytes ---- */

uint64_t fl_now(struct fl_io *io);    /* monotonic ns, as of when the running callback began; never 0 */
uint64_t fl_clock(struct fl_io *io);  /* the same clock, read now: to measure within a callback */
int64_t fl_wall(struct fl_io *io);    /* ns since 1970: for people and certificates, never to measure */
int fl_random(struct fl_io *io, void *bytes, size_t len, struct fl_err *err) FL_MUSTUSE;

/* A set timer moves; one in the past fires in the next turn. Never fails, never fires from inside. FL_NEVER stops. */
void fl_timer_set(struct fl_io *io, struct fl_timer *timer, uint64_t at);
void fl_timer_stop(struct fl_io *io, struct fl_timer *timer);

/* The time until the clock's next multiple of `every`, at most that: for checks by the clock, so that all of them wake
 * the process up together. A wake-up after seconds of rest, with cold caches, costs more than most checks. */
static inline uint64_t fl_round_in(uint64_t now, uint64_t every)
{
	return every - now % every;
}

/* ---- readiness ---- */

enum {
	FL_READABLE = 1,
	FL_WRITABLE = 2,
	FL_HUNGUP = 4,             /* always reported, with all wanted events: read or write to see why */
};

/* Level-triggered: reported again as long as it holds. ready() may stop or free any poll, its own included. A stopped
 * poll gets no further call, not even for events that the kernel had already reported. One poll an fd; stop it before
 * closing the fd. Zeroed is stopped. */
struct fl_poll {
	void (*ready)(struct fl_poll *poll, unsigned what);
	int fd;
	unsigned want;             /* the loop's: the events wanted now; 0: stopped */
};

/* want 0 is fl_poll_stop. Costs nothing when `want` is what it was. */
int fl_poll_set(struct fl_io *io, struct fl_poll *poll, unsigned want, struct fl_err *err) FL_MUSTUSE;
void fl_poll_stop(struct fl_io *io, struct fl_poll *poll);

/* ---- sockets ---- */

struct fl_connect {
	struct fl_op op;           /* result: a connected fd, the caller's to close */
	struct fl_addr addr;       /* set before the start */
	struct fl_poll poll;       /* the loop's */
	struct fl_timer retry;     /* the loop's: retries a unix socket with a full backlog */
};
void fl_connect(struct fl_io *io, struct fl_connect *connect);

/* A listening fd. A unix socket's path gets `mode`. A socket at that path on which no process listens is replaced;
 * anything else is FL_E_EXISTS. The path stays when the fd is closed. IP6 "[::]" accepts IPv4 too. */
int fl_listen(struct fl_io *io, const struct fl_addr *addr, unsigned mode, struct fl_err *err) FL_MUSTUSE;

/* The next connection's fd. -FL_E_AGAIN: none waits. -FL_E_RETRY: one was closed for lack of fds; go on accepting.
 * After any other failure the connection stays queued: stop the poll for a while. ret_peer may be NULL. */
int fl_accept(struct fl_io *io, int fd, struct fl_addr *ret_peer, struct fl_err *err) FL_MUSTUSE;

int fl_local_addr(struct fl_io *io, int fd, struct fl_addr *ret, struct fl_err *err) FL_MUSTUSE;

/* Who is at the other end of a unix socket. pid 0: not visible from here. */
struct fl_cred {
	int pid;
	uint32_t uid, gid;
};
int fl_peer_cred(struct fl_io *io, int fd, struct fl_cred *ret, struct fl_err *err) FL_MUSTUSE;

/* > 0: bytes, perhaps fewer than asked for; 0: the other side has ended (read). Never raises SIGPIPE. */
int64_t fl_read(struct fl_io *io, int fd, void *bytes, size_t len) FL_MUSTUSE;
int64_t fl_write(struct fl_io *io, int fd, const void *bytes, size_t len) FL_MUSTUSE;
void fl_shutdown_write(struct fl_io *io, int fd);   /* the peer reads the end; we can still read */
void fl_close(struct fl_io *io, int fd);            /* -1 is left alone */

/* A pipe (0 reads, 1 writes) or a connected pair of unix stream sockets, non-blocking. Both fds are the caller's. */
enum fl_pair_kind { FL_PIPE, FL_SOCKETPAIR };
int fl_pair(struct fl_io *io, enum fl_pair_kind kind, int ret_fds[static 2], struct fl_err *err) FL_MUSTUSE;

/* result: how many addresses were found (>= 1), in the order in which to try them. A numeric host needs no name
 * server. */
#define FL_LOOKUP_MAX 8   /* addresses of one name that are tried */
struct fl_lookup {
	struct fl_op op;
	const char *host;          /* borrowed until the start returns */
	uint16_t port;
	struct fl_addr found[FL_LOOKUP_MAX];
};
void fl_lookup(struct fl_io *io, struct fl_lookup *lookup);
