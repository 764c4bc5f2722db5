#include "io/loop.h"
#include <errno.h>

/* Retries of a unix socket whose backlog is full: a working server accepts within a few ms. */
#define FL_CONNECT_RETRY (5 * FL_NS_PER_MS)

/* ---- connect ---- */

static void drop_connect(struct fl_op *op)
{
	struct fl_connect *connect = fl_container(op, struct fl_connect, op);

	if (op->state == FL_OP_ENDED) {
		fl_close(op->io, (int)op->result);
		return;
	}
	fl_timer_stop(op->io, &connect->retry);
	fl_poll_stop(op->io, &connect->poll);
	fl_close(op->io, connect->poll.fd);
}

static void fail_connect(struct fl_connect *connect, int sys)
{
	char where[FL_ADDR_TEXT];

	fl_close(connect->op.io, connect->poll.fd);
	connect->poll.fd = -1;
	(void)fl_addr_print(&connect->addr, where);
	fl_op_fail_sys(&connect->op, sys, "connect to %s", where);
}

static void decided(struct fl_poll *poll, unsigned what)
{
	struct fl_connect *connect = fl_container(poll, struct fl_connect, poll);
	struct fl_io *io = connect->op.io;
	int r;

	(void)what;
	fl_poll_stop(io, poll);
	r = io->sys->connected(io->sys, poll->fd);
	if (r < 0) {
		fail_connect(connect, -r);
		return;
	}
	fl_op_end(&connect->op, poll->fd);
	poll->fd = -1;
}

static void attempt(struct fl_io *io, struct fl_connect *connect)
{
	int fd = io->sys->connect(io->sys, &connect->addr);
	struct fl_err err;

	if (fd == -EAGAIN) {
		/* The backlog of a unix socket is full, and the kernel does not report when it has room again. */
		fl_timer_set(io, &connect->retry, fl_now(io) + FL_CONNECT_RETRY);
		return;
	}
	if (fd < 0) {
		fail_connect(connect, -fd);
		return;
	}
	connect->poll.fd = fd;
	if (fl_poll_set(io, &connect->poll, FL_WRITABLE, &err) < 0)
		fail_connect(connect, err.sys);
}

static void retry_connect(struct fl_timer *timer)
{
	struct fl_connect *connect = fl_container(timer, struct fl_connect, retry);

	attempt(connect->op.io, connect);
}

void fl_connect(struct fl_io *io, struct fl_connect *connect)
{
	fl_op_begin(&connect->op, io, drop_connect);
	connect->poll = (struct fl_poll){ .ready = decided, .fd = -1 };
	connect->retry = (struct fl_timer){ .fire = retry_connect };
	attempt(io, connect);
}

/* ---- listen, accept, who is there ---- */

int fl_listen(struct fl_io *io, const struct fl_addr *addr, unsigned mode, struct fl_err *err)
{
	char where[FL_ADDR_TEXT];
	int fd = io->sys->listen(io->sys, addr, mode);

	if (fd >= 0)
		return fd;
	(void)fl_addr_print(addr, where);
	if (fd == -EADDRINUSE)
		return fl_fail(err, FL_E_EXISTS, "listen on %s: another process listens there: stop it", where);
	if (fd == -EEXIST)
		return fl_fail(err, FL_E_EXISTS, "listen on %s: the path is not a socket: remove it first", where);
	return fl_fail_sys(err, -fd, "listen on %s", where);
}

int fl_accept(struct fl_io *io, int fd, struct fl_addr *ret_peer, struct fl_err *err)
{
	struct fl_addr peer;
	int got = io->sys->accept(io->sys, fd, ret_peer ? ret_peer : &peer);

	if (got >= 0)
		return got;
	if (got == -EMFILE)
		return fl_fail(err, FL_E_RETRY,
			       "accept: one connection turned away: too many open files: raise the limit");
	return fl_fail_sys(err, -got, "accept");
}

int fl_local_addr(struct fl_io *io, int fd, struct fl_addr *ret, struct fl_err *err)
{
	int r = io->sys->local_addr(io->sys, fd, ret);

	return r < 0 ? fl_fail_sys(err, -r, "address of a socket") : 0;
}

int fl_peer_cred(struct fl_io *io, int fd, struct fl_cred *ret, struct fl_err *err)
{
	int r = io->sys->peer_cred(io->sys, fd, ret);

	return r < 0 ? fl_fail_sys(err, -r, "credentials of the other side") : 0;
}

/* ---- bytes ---- */

static int64_t code_of(int64_t r)
{
	return r < 0 ? -(int64_t)fl_code_of_errno((int)-r) : r;
}

int64_t fl_read(struct fl_io *io, int fd, void *bytes, size_t len)
{
	return code_of(io->sys->read(io->sys, fd, bytes, len));
}

int64_t fl_write(struct fl_io *io, int fd, const void *bytes, size_t len)
{
	return code_of(io->sys->write(io->sys, fd, bytes, len));
}

void fl_shutdown_write(struct fl_io *io, int fd)
{
	(void)io->sys->shutdown_write(io->sys, fd);   /* fails only when the peer is gone */
}

void fl_close(struct fl_io *io, int fd)
{
	if (fd >= 0)
		io->sys->close(io->sys, fd);
}

int fl_pair(struct fl_io *io, enum fl_pair_kind kind, int ret_fds[static 2], struct fl_err *err)
{
	int r = io->sys->pair(io->sys, kind, ret_fds);

	return r < 0 ? fl_fail_sys(err, -r, kind == FL_PIPE ? "pipe" : "pair of sockets") : 0;
}
