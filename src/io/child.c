#include "io/child.h"
#include "base/chain.h"
#include "io/loop.h"
#include <assert.h>
#include <errno.h>
#include <signal.h>

/* How often to poll a dying child that the kernel could not watch for lack of memory. */
#define FL_REAP_RETRY (100 * FL_NS_PER_MS)

struct fl_child {
	struct fl_io *io;
	int pid;
	struct fl_poll process, started;      /* started.fd -1: the program runs */
	struct fl_child_start *start;         /* NULL: it has ended */
	struct fl_child_wait *wait;           /* NULL: none */
	bool ended;
	struct fl_exit exit;
	struct fl_timer again;                /* undead, and the kernel could not watch it */
	struct fl_child *next, **from;        /* among the undead */
	char path[];
};

/* ---- the end ---- */

static bool reap(struct fl_child *child)
{
	struct fl_sys *sys = child->io->sys;
	int r;

	if (child->ended)
		return true;
	r = sys->reap(sys, child->process.fd, &child->exit);
	if (r == -EAGAIN)
		return false;
	if (r < 0)
		child->exit = (struct fl_exit){ .code = -1 };   /* there is no child to wait for */
	child->ended = true;
	return true;
}

static void let_go(struct fl_child *child)
{
	fl_poll_stop(child->io, &child->process);
	fl_poll_stop(child->io, &child->started);
	fl_close(child->io, child->process.fd);
	fl_close(child->io, child->started.fd);
	fl_free(child);
}

static void bury(struct fl_child *child)
{
	fl_chain_take(child);
	child->io->undead_count--;
	fl_timer_stop(child->io, &child->again);
	let_go(child);
}

static void undead_ended(struct fl_poll *poll, unsigned what)
{
	struct fl_child *child = fl_container(poll, struct fl_child, process);

	(void)what;
	if (reap(child))
		bury(child);
}

static void watch_undead(struct fl_timer *timer)
{
	struct fl_child *child = fl_container(timer, struct fl_child, again);

	if (reap(child))
		bury(child);
	else if (fl_poll_set(child->io, &child->process, FL_READABLE, NULL) < 0)
		fl_timer_set(child->io, timer, fl_now(child->io) + FL_REAP_RETRY);
}

struct fl_child *fl_child_free(struct fl_child *child)
{
	struct fl_io *io;

	if (!child)
		return NULL;
	assert(!child->wait);
	io = child->io;
	if (reap(child)) {
		let_go(child);
		return NULL;
	}
	(void)io->sys->kill(io->sys, child->process.fd, SIGKILL);
	fl_poll_stop(io, &child->started);
	fl_poll_stop(io, &child->process);
	fl_close(io, child->started.fd);
	child->started.fd = -1;
	child->process.ready = undead_ended;
	child->again = (struct fl_timer){ .fire = watch_undead };
	fl_chain_add(&io->undead, child);
	io->undead_count++;
	if (fl_poll_set(io, &child->process, FL_READABLE, NULL) < 0)
		fl_timer_set(io, &child->again, fl_now(io) + FL_REAP_RETRY);
	return NULL;
}

unsigned fl_child_undead(const struct fl_io *io)
{
	return io->undead_count;
}

void fl_children_free(struct fl_io *io)
{
	while (io->undead) {
		(void)reap(io->undead);
		bury(io->undead);
	}
}

/* ---- the start ---- */

static void drop_start(struct fl_op *op)
{
	struct fl_child *child = op->held;

	if (op->state == FL_OP_ENDED)
		fl_container(op, struct fl_child_start, op)->child = NULL;
	child->start = NULL;
	fl_child_free(child);
}

static void fail_start(struct fl_child *child, int sys)
{
	fl_op_fail_sys(&child->start->op, sys, "start '%s'", child->path);
	child->start = NULL;
	fl_child_free(child);
}

static void ended(struct fl_poll *poll, unsigned what);

static void started(struct fl_poll *poll, unsigned what)
{
	struct fl_child *child = fl_container(poll, struct fl_child, started);
	struct fl_io *io = child->io;
	int sys = 0;
	int64_t n = io->sys->read(io->sys, poll->fd, &sys, sizeof sys);

	(void)what;
	if (n == -EAGAIN)
		return;
	if (n != 0) {
		fail_start(child, n == sizeof sys ? sys : EIO);
		return;
	}
	fl_poll_stop(io, poll);
	fl_close(io, poll->fd);
	poll->fd = -1;
	child->start->child = child;
	fl_op_end(&child->start->op, child->pid);
	child->start = NULL;
}

void fl_child_start(struct fl_io *io, struct fl_child_start *start, const struct fl_spawn *how)
{
	size_t path = strlen(how->path) + 1;
	struct fl_child *child = fl_zalloc(sizeof *child + path);
	struct fl_spawned spawned;
	struct fl_err err;
	int r;

	start->child = NULL;
	if (!child || how->fd_count > FL_SPAWN_FDS) {
		fl_op_refuse(&start->op, io, child ? FL_E_INVALID : FL_E_NOMEM, "start '%s'", how->path);
		fl_free(child);
		return;
	}
	memcpy(child->path, how->path, path);
	r = io->sys->spawn(io->sys, how, &spawned);
	if (r < 0) {
		fl_free(child);
		fl_op_refuse(&start->op, io, fl_code_of_errno(-r), "start '%s': cannot create a process: %s", how->path,
			     strerrordesc_np(-r));
		return;
	}
	fl_op_begin(&start->op, io, drop_start);
	start->op.held = child;
	child->io = io;
	child->pid = spawned.pid;
	child->start = start;
	child->process = (struct fl_poll){ .ready = ended, .fd = spawned.fd };
	child->started = (struct fl_poll){ .ready = started, .fd = spawned.started };
	if (fl_poll_set(io, &child->started, FL_READABLE, &err) < 0)
		fail_start(child, err.sys);
}

/* ---- in between ---- */

static void end_wait(struct fl_child *child)
{
	struct fl_child_wait *wait = child->wait;

	child->wait = NULL;
	wait->exit = child->exit;
	fl_op_end(&wait->op, 0);
}

static void ended(struct fl_poll *poll, unsigned what)
{
	struct fl_child *child = fl_container(poll, struct fl_child, process);

	(void)what;
	if (!reap(child))
		return;
	fl_poll_stop(child->io, poll);
	end_wait(child);
}

static void drop_wait(struct fl_op *op)
{
	struct fl_child *child = op->held;

	if (op->state == FL_OP_ENDED)
		return;
	child->wait = NULL;
	fl_poll_stop(child->io, &child->process);
}

void fl_child_wait(struct fl_child *child, struct fl_child_wait *wait)
{
	struct fl_err err;

	assert(!child->wait);
	fl_op_begin(&wait->op, child->io, drop_wait);
	wait->op.held = child;
	child->wait = wait;
	if (reap(child)) {
		end_wait(child);
	} else if (fl_poll_set(child->io, &child->process, FL_READABLE, &err) < 0) {
		child->wait = NULL;
		fl_op_fail_sys(&wait->op, err.sys, "wait for '%s'", child->path);
	}
}

int fl_process_open(struct fl_io *io, int pid, struct fl_err *err)
{
	int fd = io->sys->process(io->sys, pid);

	return fd < 0 ? fl_fail_sys(err, -fd, "watch process %d", pid) : fd;
}

int fl_process_signal(struct fl_io *io, int fd, int signo, struct fl_err *err)
{
	int r = io->sys->kill(io->sys, fd, signo);

	return r < 0 ? fl_fail_sys(err, -r, "signal %d to a process", signo) : 0;
}

int fl_child_pid(const struct fl_child *child)
{
	return child->pid;
}

int fl_child_signal(struct fl_child *child, int signo, struct fl_err *err)
{
	struct fl_sys *sys = child->io->sys;
	int r = child->ended ? -ESRCH : sys->kill(sys, child->process.fd, signo);

	return r < 0 ? fl_fail_sys(err, -r, "signal %d to '%s'", signo, child->path) : 0;
}
