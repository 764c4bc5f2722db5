/* io.h - the one seam to the outside.
 *
 * Code above this floor never calls the kernel: clocks, timers, sockets, files, processes and chance come from a struct
 * fl_io. io/posix.c is the real one, on epoll; tests/sim has another, in which several hosts live in one process under
 * virtual time. A struct fl_io is one thread's event loop; nothing here may be called from another thread.
 *
 * Fds are numbers of this seam: only the same fl_io gives them meaning. Non-blocking calls return what they did, or a
 * negated enum fl_code; -FL_E_AGAIN means "wait for readiness".
 */
#pragma once
#include "base/buf.h"
#include "io/op.h"

/* ---- the loop ---- */
struct fl_io *fl_posix_new(struct fl_err *err);
struct fl_io *fl_io_free(struct fl_io *io);   /* cancels nothing: whoever started something has ended it */

int fl_io_run(struct fl_io *io, struct fl_err *err);                   /* until fl_io_stop */
int fl_io_turn(struct fl_io *io, uint64_t until, struct fl_err *err);  /* what is due; waits for it until then */
void fl_io_stop(struct fl_io *io);

/* ---- time and chance ---- */
uint64_t fl_now(struct fl_io *io);    /* monotonic ns */
int64_t fl_wall(struct fl_io *io);    /* ns since 1970: for people and certificates, never to measure */
int fl_random(struct fl_io *io, void *bytes, size_t len, struct fl_err *err) FL_MUSTUSE;

/* A set timer moves; one in the past fires in the next turn. Never fails, never fires from inside. */
void fl_timer_set(struct fl_io *io, struct fl_timer *timer, uint64_t at);
void fl_timer_stop(struct fl_io *io, struct fl_timer *timer);

/* ---- readiness ---- */
enum { FL_READABLE = 1, FL_WRITABLE = 2, FL_HUNGUP = 4 /* always told, never asked for */ };

/* Level-triggered. ready() may stop or free any poll, its own included. */
struct fl_poll {
	void (*ready)(struct fl_poll *poll, unsigned what);
	int fd;
	unsigned want;             /* the loop's: what is asked for now; 0: not registered */
	uint32_t place;            /* the loop's */
};
int fl_poll_set(struct fl_io *io, struct fl_poll *poll, unsigned want, struct fl_err *err) FL_MUSTUSE;
void fl_poll_stop(struct fl_io *io, struct fl_poll *poll);

/* ---- sockets ---- */
struct fl_addr {
	enum { FL_ADDR_NONE, FL_ADDR_IP4, FL_ADDR_IP6, FL_ADDR_UNIX } kind;
	uint16_t port;
	uint8_t ip[16];            /* network order; IP4 uses the first four */
	char path[108];            /* UNIX; terminated, so 107 bytes at most; a leading '@' is the abstract space */
};
int fl_addr_parse(struct fl_addr *ret, struct fl_str text, struct fl_err *err);   /* 1.2.3.4:80 [::1]:80 unix:/p */
struct fl_str fl_addr_print(const struct fl_addr *addr, char buf[static 128]);

struct fl_cred {
	int pid;
	uint32_t uid, gid;
};

struct fl_connect {
	struct fl_op op;           /* result: a connected fd, the caller's to close */
	struct fl_addr addr;
	int fd;                    /* the loop's */
	struct fl_poll poll;
};
void fl_connect(struct fl_io *io, struct fl_connect *connect);

/* A unix socket's stale path is removed first if nobody answers there; mode is that of the path. */
int fl_listen(struct fl_io *io, const struct fl_addr *addr, unsigned mode, int *ret_fd, struct fl_err *err) FL_MUSTUSE;
int fl_accept(struct fl_io *io, int fd, int *ret_fd, struct fl_addr *ret_peer, struct fl_err *err) FL_MUSTUSE;
int fl_local_addr(struct fl_io *io, int fd, struct fl_addr *ret, struct fl_err *err) FL_MUSTUSE;
int fl_peer_cred(struct fl_io *io, int fd, struct fl_cred *ret, struct fl_err *err) FL_MUSTUSE;

/* > 0: bytes; 0: the other side has ended (read). Never raises SIGPIPE. */
int64_t fl_read(struct fl_io *io, int fd, void *bytes, size_t len) FL_MUSTUSE;
int64_t fl_write(struct fl_io *io, int fd, const void *bytes, size_t len) FL_MUSTUSE;
void fl_shutdown_write(struct fl_io *io, int fd);
void fl_close(struct fl_io *io, int fd);

/* result: how many addresses were found, in the order in which to try them. */
struct fl_lookup {
	struct fl_op op;
	const char *host;          /* borrowed until the start returns */
	uint16_t port;
	struct fl_addr found[8];
	struct fl_job *job;        /* the loop's */
};
void fl_lookup(struct fl_io *io, struct fl_lookup *lookup);
