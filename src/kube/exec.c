#include "kube/exec.h"
#include "base/units.h"
#include "io/file.h"

static void close_pipe(struct fl_exec_pipe *pipe)
{
	fl_poll_stop(pipe->exec->io, &pipe->poll);
	fl_close(pipe->exec->io, pipe->fd);
	pipe->fd = -1;
}

static void close_write(struct fl_exec *exec)
{
	for (int i = 0; i < 2; i++) {
		fl_close(exec->io, exec->write_fds[i]);
		exec->write_fds[i] = -1;
	}
	fl_close(exec->io, exec->input_fd);
	exec->input_fd = -1;
}

static void let_go(struct fl_exec *exec)
{
	fl_op_cancel(&exec->start.op);
	fl_op_cancel(&exec->wait.op);
	exec->child = fl_child_free(exec->child);
	close_pipe(&exec->out);
	close_pipe(&exec->words);
	close_write(exec);
}

static void drop(struct fl_op *op)
{
	let_go(fl_container(op, struct fl_exec, op));
}

static void fail(struct fl_exec *exec, const struct fl_err *why)
{
	let_go(exec);
	fl_op_fail(&exec->op, why->code, "%s", why->text);
}

/* ---- how it ended ---- */

/* The last line that says something. */
static struct fl_str last_line(struct fl_str text)
{
	uint32_t from;

	text = fl_str_trim(text);
	for (from = text.len; from && text.p[from - 1] != '\n';)
		from--;
	return fl_str_sub(text, from, text.len);
}

static void check_end(struct fl_exec *exec)
{
	struct fl_str said = last_line(fl_buf_view(&exec->words.buf));
	struct fl_exit how = exec->wait.exit;
	struct fl_err err = { 0 };

	if (!exec->ended || exec->out.fd >= 0)
		return;
	if (how.code == 0) {
		let_go(exec);
		fl_op_end(&exec->op, 0);
		return;
	}
	if (how.signo)
		(void)fl_fail(&err, FL_E_DENIED, "it died of signal %d%s%.*s", how.signo, said.len ? ": " : "",
				FL_ARG(said));
	else
		(void)fl_fail(&err, FL_E_DENIED, "it ended with %d%s%.*s", how.code, said.len ? ": " : "",
				FL_ARG(said));
	fail(exec, &err);
}

static void has_ended(struct fl_op *op)
{
	struct fl_exec *exec = fl_container(op, struct fl_exec, wait.op);

	if (op->result < 0) {
		fail(exec, &exec->err);
		return;
	}
	exec->ended = true;
	check_end(exec);
}

/* ---- what it prints ---- */

static void readable(struct fl_poll *poll, unsigned what)
{
	struct fl_exec_pipe *pipe = fl_container(poll, struct fl_exec_pipe, poll);
	struct fl_exec *exec = pipe->exec;
	void *room = fl_buf_room(&pipe->buf, FL_FILE_FIRST);
	struct fl_err err = { 0 };
	char waste[256];
	int64_t n;

	(void)what;
	/* Too much on stderr is read and forgotten; on stdout it is no credential. */
	if (!room && pipe == &exec->out) {
		(void)fl_fail(&err, pipe->buf.failed, "it prints more than %zu bytes", pipe->buf.max);
		fail(exec, &err);
		return;
	}
	n = fl_read(exec->io, pipe->fd, room ? room : waste, room ? FL_FILE_FIRST : sizeof waste);
	if (n > 0 && room)
		fl_buf_added(&pipe->buf, (size_t)n);
	if (n > 0 || n == -FL_E_AGAIN)
		return;
	close_pipe(pipe);
	check_end(exec);
}

static void started(struct fl_op *op)
{
	struct fl_exec *exec = fl_container(op, struct fl_exec, start.op);

	close_write(exec);
	if (op->result < 0) {
		fail(exec, &exec->err);
		return;
	}
	exec->child = exec->start.child;
	exec->wait = (struct fl_child_wait){ .op = { .done = has_ended, .err = &exec->err } };
	fl_child_wait(exec->child, &exec->wait);
}

static int open_pipe(struct fl_exec *exec, struct fl_exec_pipe *pipe, int *ret_write, struct fl_err *err)
{
	int fds[2], r = fl_pair(exec->io, FL_PIPE, fds, err);

	if (r < 0)
		return r;
	pipe->fd = fds[0];
	*ret_write = fds[1];
	pipe->poll = (struct fl_poll){ .ready = readable, .fd = pipe->fd };
	return fl_poll_set(exec->io, &pipe->poll, FL_READABLE, err);
}

/* A pipe with all of it in it, and its end. */
static int put_input(struct fl_exec *exec, struct fl_err *err)
{
	struct fl_str input = exec->input;
	int fds[2], r = fl_pair(exec->io, FL_PIPE, fds, err);
	int64_t n;

	if (r < 0)
		return r;
	exec->input_fd = fds[0];
	n = input.len <= FL_EXEC_INPUT_MAX ? fl_write(exec->io, fds[1], input.p, input.len) : -FL_E_TOOBIG;
	fl_close(exec->io, fds[1]);
	return n == (int64_t)input.len ? 0 : fl_fail(err, n == -FL_E_TOOBIG ? FL_E_TOOBIG : FL_E_IO,
						     "write %u bytes for a program", input.len);
}

void fl_exec_start(struct fl_io *io, struct fl_exec *exec, const struct fl_spawn *how)
{
	struct fl_spawn with = *how;
	struct fl_fd_map fds[3];
	struct fl_err err = { 0 };

	exec->io = io;
	exec->child = NULL;
	exec->ended = false;
	exec->start = (struct fl_child_start){ .op = { .done = started, .err = &exec->err } };
	exec->wait = (struct fl_child_wait){ 0 };
	exec->out = (struct fl_exec_pipe){ .fd = -1, .exec = exec, .buf = FL_BUF(FL_CREDENTIAL_MAX) };
	exec->words = (struct fl_exec_pipe){ .fd = -1, .exec = exec, .buf = FL_BUF(16 * FL_KIB) };
	exec->write_fds[0] = exec->write_fds[1] = exec->input_fd = -1;
	fl_op_begin(&exec->op, io, drop);
	if (open_pipe(exec, &exec->out, &exec->write_fds[0], &err) < 0 ||
	    open_pipe(exec, &exec->words, &exec->write_fds[1], &err) < 0 ||
	    (exec->input.len && put_input(exec, &err) < 0)) {
		fail(exec, &err);
		return;
	}
	fds[0] = (struct fl_fd_map){ .fd = exec->write_fds[0], .as = 1 };
	fds[1] = (struct fl_fd_map){ .fd = exec->write_fds[1], .as = 2 };
	with.fds = fds;
	fds[2] = (struct fl_fd_map){ .fd = exec->input_fd, .as = 0 };
	with.fd_count = exec->input.len ? 3 : 2;
	fl_child_start(io, &exec->start, &with);
}

void fl_exec_free(struct fl_exec *exec)
{
	fl_op_cancel(&exec->op);
	fl_buf_free(&exec->out.buf);
	fl_buf_free(&exec->words.buf);
}
