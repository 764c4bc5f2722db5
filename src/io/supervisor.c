#include "io/supervisor.h"
#include "base/chain.h"
#include "base/units.h"
#include "io/frame.h"
#include "io/restart.h"
#include "io/serve.h"
#include <signal.h>
#include <stdio.h>

/* A line of a child's stderr; longer ones are cut. */
#define FL_SUPERVISOR_LINE_MAX 1024
/* From exec to the first frame: dlopen of a driver's library on a busy node takes a second or two. */
#define FL_SUPERVISOR_HELLO (10 * FL_NS_PER_S)
/* A killed child ends in milliseconds, unless it is stuck in the kernel. Then it is replaced within a second. */
#define FL_SUPERVISOR_KILL_WAIT (500 * FL_NS_PER_MS)
/* How long to wait for the exit of a child whose socket has ended: the exit shows why. */
#define FL_SUPERVISOR_EXIT_WAIT (200 * FL_NS_PER_MS)

FL_NAMES(fl_supervisor_news_names, FL_CHILD_NEWS_COUNT_, [FL_CHILD_READY] = "ready", [FL_CHILD_FAILED] = "failed",
	 [FL_CHILD_ENDED] = "ended", [FL_CHILD_ABANDONED] = "abandoned", [FL_CHILD_STUCK] = "stuck",
	 [FL_CHILD_REAPED] = "reaped", [FL_CHILD_CEILING] = "ceiling", [FL_CHILD_LET_GO] = "let-go");

enum stage {
	STARTING,              /* exec */
	GREETING,              /* its hello has not come yet */
	READY,
	LEAVING,               /* its socket has ended; its exit will show why */
	KILLED,
	STUCK,
};

struct fl_supervised_ {
	struct fl_supervisor *s;
	enum stage stage;
	struct fl_child_start start;
	struct fl_child_wait wait;
	struct fl_child *child;
	struct fl_poll sock, words;     /* fd -1: closed */
	struct fl_buf in, out;
	struct fl_timer timer;          /* the stage's deadline; READY: the request's */
	uint64_t ready_at;
	struct fl_err err;
	uint32_t id;                    /* of the request that it works on */
	bool busy;
	struct fl_request *request;     /* NULL although busy: cancelled, its deadline still counts */
	uint32_t line_len;
	char line[FL_SUPERVISOR_LINE_MAX];
	struct fl_supervised_ *next, **from;
};

struct fl_supervisor {
	struct fl_io *io;
	struct fl_supervisor_config config;
	struct fl_supervised_ *kid;                /* the current one */
	struct fl_supervised_ *gone;               /* killed ones that have not ended */
	struct fl_request *queue, **queue_last;
	struct fl_timer again;
	struct fl_restart_facts facts;
	bool at_ceiling;
	uint32_t last_id;
	struct fl_supervisor_state state;
};

static void go_on(struct fl_supervisor *s);
static void pump(struct fl_supervisor *s);

static void send_news(struct fl_supervisor *s, enum fl_supervisor_news news, const char *fmt, ...) FL_PRINTF(3, 4);
static void send_news(struct fl_supervisor *s, enum fl_supervisor_news news, const char *fmt, ...)
{
	char text[FL_ERR_TEXT];
	va_list args;

	if (!s->config.news)
		return;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	s->config.news(s->config.self, news, text);
}

static int pid_of(const struct fl_supervised_ *kid)
{
	return kid->child ? fl_child_pid(kid->child) : 0;
}

static bool is_dying(const struct fl_supervised_ *kid)
{
	return kid->stage == KILLED || kid->stage == LEAVING;
}

/* ---- requests ---- */

static void unqueue(struct fl_supervisor *s, struct fl_request *request)
{
	fl_chain_take_of(&s->queue_last, request);
	s->state.waiting--;
}

static void release_request(struct fl_request *request)
{
	fl_buf_free(&request->frame);
	request->on = NULL;
}

static void dropped(struct fl_op *op)
{
	struct fl_request *request = fl_container(op, struct fl_request, op);
	struct fl_supervisor *s = request->on;

	if (op->state == FL_OP_ENDED || !s)
		return;
	if (request->with)
		request->with->request = NULL;
	else
		unqueue(s, request);
	release_request(request);
}

/* Every waiting request fails with `err`. */
static void refuse_all(struct fl_supervisor *s, const struct fl_err *err)
{
	while (s->queue) {
		struct fl_request *request = s->queue;

		unqueue(s, request);
		release_request(request);
		fl_op_fail(&request->op, err->code, "%s", err->text);
	}
}

static void fail_current(struct fl_supervised_ *kid, enum fl_code code, const char *why)
{
	struct fl_request *request = kid->request;

	kid->busy = false;
	kid->request = NULL;
	if (!request)
		return;
	release_request(request);
	fl_op_fail(&request->op, code, "%s: %s", kid->s->config.name, why);
}

/* 0, or why waiting is useless. */
static int has_hope(const struct fl_supervisor *s, struct fl_err *err)
{
	if (s->state.paused)
		return fl_fail(err, FL_E_RETRY, "%s: paused", s->config.name);
	if (s->at_ceiling)
		return fl_fail(err, FL_E_RETRY,
			       "%s: %u killed processes hang in the kernel, so no other is started: "
			       "if the driver does not recover, reboot the node",
			       s->config.name, s->facts.stuck);
	return 0;
}

void fl_supervisor_request(struct fl_supervisor *s, struct fl_request *request, uint16_t kind, struct fl_str payload)
{
	struct fl_err err = { 0 };

	request->on = NULL;
	request->with = NULL;
	request->id = ++s->last_id;
	fl_op_begin(&request->op, s->io, dropped);
	request->frame = FL_BUF(FL_FRAME_MAX + FL_FRAME_HEADER);
	if (!request->op.deadline || request->op.deadline == FL_NEVER)
		(void)fl_fail(&err, FL_E_INVALID, "%s: a request needs a deadline", s->config.name);
	else if (s->state.waiting >= FL_SUPERVISOR_QUEUE_MAX)
		(void)fl_fail(&err, FL_E_RETRY, "%s: %u requests wait; try again later", s->config.name,
			      s->state.waiting);
	else
		(void)has_hope(s, &err);
	if (!err.code)
		fl_frame_write(&request->frame, &(struct fl_frame){ FL_FRAME_REQUEST, kind, request->id, payload });
	if (err.code || fl_buf_check(&request->frame, s->config.name, &err) < 0) {
		fl_buf_free(&request->frame);
		fl_op_fail(&request->op, err.code, "%s", err.text);
		return;
	}
	request->on = s;
	fl_chain_append(&s->queue_last, request);
	s->state.waiting++;
	pump(s);
}

/* ---- the end of a child ---- */

static void kid_free(struct fl_supervised_ *kid)
{
	struct fl_io *io = kid->s->io;

	fl_op_cancel(&kid->start.op);
	fl_op_cancel(&kid->wait.op);
	fl_child_free(kid->child);
	fl_timer_stop(io, &kid->timer);
	fl_poll_stop(io, &kid->sock);
	fl_poll_stop(io, &kid->words);
	fl_close(io, kid->sock.fd);
	fl_close(io, kid->words.fd);
	fl_buf_free(&kid->in);
	fl_buf_free(&kid->out);
	fl_free(kid);
}

static void close_sock(struct fl_supervised_ *kid)
{
	fl_poll_stop(kid->s->io, &kid->sock);
	fl_close(kid->s->io, kid->sock.fd);
	kid->sock.fd = -1;
}

static void failed_again(struct fl_supervised_ *kid)
{
	struct fl_restart_facts *facts = &kid->s->facts;
	uint64_t now = fl_now(kid->s->io);

	facts->failures = fl_restart_failures(facts->failures, kid->ready_at ? now - kid->ready_at : 0);
	facts->failed_at = now;
}

/* Move the current child to those that are expected to end. */
static void set_aside(struct fl_supervised_ *kid)
{
	struct fl_supervisor *s = kid->s;

	s->kid = NULL;
	fl_chain_add(&s->gone, kid);
}

static void kill_kid(struct fl_supervised_ *kid)
{
	struct fl_supervisor *s = kid->s;

	close_sock(kid);
	kid->stage = KILLED;
	fl_timer_set(s->io, &kid->timer, fl_now(s->io) + FL_SUPERVISOR_KILL_WAIT);
	if (kid->child && fl_child_signal(kid->child, SIGKILL, NULL) < 0)
		return;   /* it has ended already, which will be reported */
}

static void abandon(struct fl_supervised_ *kid, const char *why)
{
	struct fl_supervisor *s = kid->s;
	int pid = pid_of(kid);

	s->state.abandoned++;
	failed_again(kid);
	set_aside(kid);
	kill_kid(kid);
	fail_current(kid, FL_E_TIMEOUT, why);
	send_news(s, FL_CHILD_ABANDONED, "%s: process %d is abandoned: %s", s->config.name, pid, why);
	go_on(s);
}

/* The process could not be created, or sent no valid hello. */
static void start_failed(struct fl_supervised_ *kid, const char *reason)
{
	struct fl_supervisor *s = kid->s;
	char why[FL_ERR_TEXT];

	(void)snprintf(why, sizeof why, "%s", reason);   /* it may be the child's */
	failed_again(kid);
	if (kid->child) {
		set_aside(kid);
		kill_kid(kid);
	} else {
		s->kid = NULL;
		kid_free(kid);
	}
	send_news(s, FL_CHILD_FAILED, "%s: could not be started: %s", s->config.name, why);
	go_on(s);
}

static void timer_fires(struct fl_timer *timer)
{
	struct fl_supervised_ *kid = fl_container(timer, struct fl_supervised_, timer);
	struct fl_supervisor *s = kid->s;

	switch (kid->stage) {
	case STARTING:
	case GREETING:
		start_failed(kid, "it sent no hello in time");
		return;
	case READY:
		abandon(kid, "no answer by the deadline");
		return;
	case LEAVING:
		s->state.abandoned++;
		kill_kid(kid);
		fail_current(kid, FL_E_CLOSED, "its channel is broken");
		send_news(s, FL_CHILD_ABANDONED, "%s: process %d is abandoned: its channel is broken",
			  s->config.name, pid_of(kid));
		return;
	case KILLED:
		kid->stage = STUCK;
		s->facts.stuck++;
		send_news(s, FL_CHILD_STUCK, "%s: process %d was killed and hangs in the kernel",
			  s->config.name,
			  pid_of(kid));
		go_on(s);
		return;
	case STUCK:
		return;
	}
}

static void say_exit(const struct fl_exit *exit, char text[static 60])
{
	const char *name = exit->signo ? sigabbrev_np(exit->signo) : NULL;

	if (name)
		(void)snprintf(text, 60, "killed by SIG%s", name);
	else if (exit->signo)
		(void)snprintf(text, 60, "killed by signal %d", exit->signo);
	else
		(void)snprintf(text, 60, "ended with code %d", exit->code);
}

static bool read_words(struct fl_supervised_ *kid);
static bool read_sock(struct fl_supervised_ *kid);

static void exited(struct fl_op *op)
{
	struct fl_supervised_ *kid = fl_container(op, struct fl_supervised_, wait.op);
	struct fl_supervisor *s = kid->s;
	bool was_stuck = kid->stage == STUCK, unasked;
	int pid = pid_of(kid);
	char how[60];

	/* The rest of its output. At most so much, should another process hold the pipe and fill it. */
	for (int i = 0; i < 64 && read_words(kid); i++)
		continue;
	/* Replies that it sent before it ended still count. Reading may find that it broke the protocol: then it is
	 * abandoned. */
	while (s->kid == kid && kid->stage < LEAVING && read_sock(kid))
		continue;
	unasked = kid->stage <= LEAVING;
	if (op->result < 0)   /* our failure: the kernel could not watch it */
		(void)snprintf(how, sizeof how, "cannot be waited for: %s", fl_name(&fl_code_names, (int)-op->result));
	else
		say_exit(&kid->wait.exit, how);
	if (s->kid == kid) {
		s->kid = NULL;
		failed_again(kid);
	} else {
		fl_chain_take(kid);
	}
	fail_current(kid, FL_E_CLOSED, how);
	kid_free(kid);
	s->facts.stuck -= was_stuck;
	if (unasked) {
		s->state.crashes++;
		send_news(s, FL_CHILD_ENDED, "%s: process %d %s", s->config.name, pid, how);
	} else if (was_stuck) {
		send_news(s, FL_CHILD_REAPED, "%s: process %d was stuck and has ended", s->config.name, pid);
	} else if (s->state.paused) {
		send_news(s, FL_CHILD_LET_GO, "%s: process %d has ended: the driver is released", s->config.name, pid);
	}
	go_on(s);
}

/* ---- a child's output, replies and events ---- */

static void say_line(struct fl_supervised_ *kid)
{
	struct fl_supervisor *s = kid->s;

	if (kid->line_len)
		fl_log(s->config.log, FL_WARN, "child output", FL_KV_TEXT("child", s->config.name),
		       FL_KV_INT("pid", pid_of(kid)), FL_KV_STR("line", ((struct fl_str){ kid->line, kid->line_len })));
	kid->line_len = 0;
}

/* Read some of its stderr; its end means nothing. true: there may be more. */
static bool read_words(struct fl_supervised_ *kid)
{
	char bytes[1024];
	int64_t n = kid->words.fd < 0 ? -FL_E_AGAIN : fl_read(kid->s->io, kid->words.fd, bytes, sizeof bytes);

	if (n == -FL_E_AGAIN)
		return false;
	for (int64_t i = 0; i < n; i++) {
		if (bytes[i] == '\n')
			say_line(kid);
		else if (kid->line_len < sizeof kid->line)
			kid->line[kid->line_len++] = bytes[i];
	}
	if (n > 0)
		return true;
	say_line(kid);
	fl_poll_stop(kid->s->io, &kid->words);
	fl_close(kid->s->io, kid->words.fd);
	kid->words.fd = -1;
	return false;
}

static void words_ready(struct fl_poll *poll, unsigned what)
{
	(void)what;
	(void)read_words(fl_container(poll, struct fl_supervised_, words));
}

static void answered(struct fl_supervised_ *kid, const struct fl_frame *frame)
{
	struct fl_supervisor *s = kid->s;
	struct fl_request *request = kid->request;
	bool known = frame->kind < FL_E_COUNT_;

	kid->busy = false;
	kid->request = NULL;
	fl_timer_stop(s->io, &kid->timer);
	s->state.answered++;
	if (!request)
		return;
	release_request(request);
	if (frame->kind != FL_OK) {
		fl_op_fail(&request->op, known ? (enum fl_code)frame->kind : FL_E_INVALID, "%s: %.*s", s->config.name,
			   FL_ARG(frame->payload));
		return;
	}
	if (request->reply) {
		fl_buf_clear(request->reply);
		fl_buf_str(request->reply, frame->payload);
		if (request->reply->failed) {
			fl_op_fail(&request->op, request->reply->failed, "%s: an answer of %u bytes", s->config.name,
				   frame->payload.len);
			return;
		}
	}
	fl_op_end(&request->op, 0);
}

/* false: the child is no longer the current one. */
static bool take_frame(struct fl_supervised_ *kid, const struct fl_frame *frame)
{
	struct fl_supervisor *s = kid->s;
	struct fl_err err = { 0 };

	if (kid->stage == GREETING) {
		if (fl_frame_check_hello(frame, &err) < 0) {
			start_failed(kid, err.text);
			return false;
		}
		kid->stage = READY;
		kid->ready_at = fl_now(s->io);
		fl_timer_stop(s->io, &kid->timer);
		send_news(s, FL_CHILD_READY, "%s: process %d is ready", s->config.name, pid_of(kid));
	} else if (frame->type == FL_FRAME_EVENT) {
		if (s->config.event)
			s->config.event(s->config.self, frame->kind, frame->payload);
	} else if (frame->type == FL_FRAME_REPLY && kid->busy && frame->id == kid->id) {
		answered(kid, frame);
	} else {
		abandon(kid, "it sent an unexpected answer");
		return false;
	}
	return s->kid == kid;
}

/* The channel has ended: its exit shows why, if it comes soon. */
static void leave(struct fl_supervised_ *kid)
{
	struct fl_io *io = kid->s->io;

	close_sock(kid);
	set_aside(kid);
	failed_again(kid);
	kid->stage = LEAVING;
	fl_timer_set(io, &kid->timer, fl_now(io) + FL_SUPERVISOR_EXIT_WAIT);
}

/* One read, and all whole frames in it. true: there may be more. */
static bool read_sock(struct fl_supervised_ *kid)
{
	struct fl_supervisor *s = kid->s;
	struct fl_err err = { 0 };
	struct fl_frame frame;
	void *room = fl_buf_room(&kid->in, 16 * FL_KIB);
	int64_t n = room ? fl_read(s->io, kid->sock.fd, room, 16 * FL_KIB) : -FL_E_NOMEM;

	if (n == -FL_E_AGAIN)
		return false;
	if (n == -FL_E_NOMEM) {
		abandon(kid, "no memory for its answer");
		return false;
	}
	if (n <= 0) {
		leave(kid);
		return false;
	}
	fl_buf_added(&kid->in, (size_t)n);
	while ((n = fl_frame_read(fl_buf_view(&kid->in), &frame, &err)) > 0) {
		if (!take_frame(kid, &frame))
			return false;
		fl_buf_drop(&kid->in, (size_t)n);
	}
	if (n < 0) {
		abandon(kid, err.text);
		return false;
	}
	return true;
}

/* false: its channel is broken. */
static bool flush(struct fl_supervised_ *kid)
{
	struct fl_io *io = kid->s->io;
	int64_t n = 0;

	while (kid->out.len && (n = fl_write(io, kid->sock.fd, kid->out.p, kid->out.len)) >= 0)
		fl_buf_drop(&kid->out, (size_t)n);
	if ((n >= 0 || n == -FL_E_AGAIN) &&
	    fl_poll_set(io, &kid->sock, FL_READABLE | (kid->out.len ? FL_WRITABLE : 0), NULL) == 0)
		return true;
	leave(kid);
	return false;
}

static void sock_ready(struct fl_poll *poll, unsigned what)
{
	struct fl_supervised_ *kid = fl_container(poll, struct fl_supervised_, sock);
	struct fl_supervisor *s = kid->s;

	fl_io_name(s->io, "supervisor");
	if ((what & FL_WRITABLE) && !flush(kid))
		return;
	if ((what & FL_READABLE) && read_sock(kid))
		pump(s);
}

/* Give the child the next request, if it has nothing to do. */
static void pump(struct fl_supervisor *s)
{
	struct fl_supervised_ *kid = s->kid;
	struct fl_request *request = s->queue;

	if (!kid || kid->stage != READY || kid->busy || !request)
		return;
	unqueue(s, request);
	kid->busy = true;
	kid->request = request;
	fl_buf_free(&kid->out);
	kid->out = request->frame;
	request->frame = FL_BUF(0);
	kid->id = request->id;
	request->with = kid;
	fl_timer_set(s->io, &kid->timer, request->op.deadline);
	(void)flush(kid);
}

/* ---- the start of a child ---- */

static void started(struct fl_op *op)
{
	struct fl_supervised_ *kid = fl_container(op, struct fl_supervised_, start.op);
	struct fl_supervisor *s = kid->s;

	if (op->result < 0) {
		start_failed(kid, kid->err.text);
		return;
	}
	kid->child = kid->start.child;
	kid->wait.op.done = exited;
	fl_child_wait(kid->child, &kid->wait);
	kid->stage = GREETING;
	s->state.starts++;
	if (fl_poll_set(s->io, &kid->sock, FL_READABLE, &kid->err) < 0)
		start_failed(kid, kid->err.text);
	else if (fl_poll_set(s->io, &kid->words, FL_READABLE, NULL) < 0)
		(void)read_words(kid);
}

static int spawn(struct fl_supervised_ *kid, struct fl_err *err)
{
	struct fl_supervisor *s = kid->s;
	int sock[2] = { -1, -1 }, words[2] = { -1, -1 };
	struct fl_spawn how = { .path = s->config.path, .argv = s->config.argv, .env = s->config.env,
				.session = true, .death_signal = SIGKILL };
	int r = fl_pair(s->io, FL_SOCKETPAIR, sock, err);

	if (r == 0)
		r = fl_pair(s->io, FL_PIPE, words, err);
	if (r < 0) {
		fl_close(s->io, sock[0]);
		fl_close(s->io, sock[1]);
		return r;
	}
	kid->sock = (struct fl_poll){ .ready = sock_ready, .fd = sock[0] };
	kid->words = (struct fl_poll){ .ready = words_ready, .fd = words[0] };
	how.fds = (const struct fl_fd_map[]){ { sock[1], FL_SERVE_FD }, { words[1], 2 } };
	how.fd_count = 2;
	kid->start.op.done = started;
	kid->start.op.err = &kid->err;
	fl_child_start(s->io, &kid->start, &how);
	fl_close(s->io, sock[1]);
	fl_close(s->io, words[1]);
	return 0;
}

static int start_child(struct fl_supervisor *s, struct fl_err *err)
{
	struct fl_supervised_ *kid = fl_zalloc(sizeof *kid);
	int r;

	if (!kid)
		return fl_fail(err, FL_E_NOMEM, "no memory");
	kid->s = s;
	kid->sock.fd = kid->words.fd = -1;
	kid->in = FL_BUF(FL_FRAME_MAX + FL_FRAME_HEADER + 16 * FL_KIB);
	kid->timer.fire = timer_fires;
	r = spawn(kid, err);
	if (r < 0) {
		kid_free(kid);
		return r;
	}
	s->kid = kid;
	fl_timer_set(s->io, &kid->timer, fl_now(s->io) + FL_SUPERVISOR_HELLO);
	return 0;
}

/* After each change: is a child to be started? */
static void go_on(struct fl_supervisor *s)
{
	struct fl_restart_facts *facts = &s->facts;
	struct fl_restart plan;
	struct fl_err err = { 0 };

	facts->now = fl_now(s->io);
	facts->running = s->kid != NULL;
	facts->dying = false;
	for (const struct fl_supervised_ *kid = s->gone; kid; kid = kid->next)
		facts->dying |= is_dying(kid);
	plan = fl_restart_plan(facts);
	if (plan.what == FL_RESTART_CEILING && !s->at_ceiling) {
		s->at_ceiling = true;
		(void)has_hope(s, &err);
		refuse_all(s, &err);
		send_news(s, FL_CHILD_CEILING, "%s", err.text);
	}
	s->at_ceiling = plan.what == FL_RESTART_CEILING;
	fl_timer_stop(s->io, &s->again);
	if (plan.what == FL_RESTART_LATER)
		fl_timer_set(s->io, &s->again, plan.at);
	if (plan.what == FL_RESTART_START && start_child(s, &err) < 0) {
		facts->failures = fl_restart_failures(facts->failures ? facts->failures : 1, 0);
		facts->failed_at = facts->now;
		fl_timer_set(s->io, &s->again, facts->now + FL_SUPERVISOR_RETRY_FIRST);
		send_news(s, FL_CHILD_FAILED, "%s: could not be started: %s", s->config.name, err.text);
	}
}

static void try_again(struct fl_timer *timer)
{
	go_on(fl_container(timer, struct fl_supervisor, again));
}

struct fl_supervisor *fl_supervisor_new(struct fl_io *io, const struct fl_supervisor_config *config,
					struct fl_err *err)
{
	struct fl_supervisor *s = fl_zalloc(sizeof *s);

	if (!s)
		return fl_null(err, FL_E_NOMEM, "%s", config->name);
	s->io = io;
	s->config = *config;
	s->queue_last = &s->queue;
	s->again.fire = try_again;
	s->facts.wanted = true;
	s->facts.stuck_max = FL_SUPERVISOR_STUCK_MAX;
	if (start_child(s, NULL) < 0)
		fl_timer_set(io, &s->again, 0);   /* not from inside: only the loop sends news */
	return s;
}

struct fl_supervisor *fl_supervisor_free(struct fl_supervisor *s)
{
	if (!s)
		return NULL;
	fl_timer_stop(s->io, &s->again);
	if (s->kid && s->kid->request)
		fl_op_cancel(&s->kid->request->op);
	while (s->queue)
		fl_op_cancel(&s->queue->op);
	if (s->kid)
		kid_free(s->kid);
	for (struct fl_supervised_ *next; s->gone; s->gone = next) {
		next = s->gone->next;
		if (s->gone->request)
			fl_op_cancel(&s->gone->request->op);
		kid_free(s->gone);
	}
	fl_free(s);
	return NULL;
}

void fl_supervisor_pause(struct fl_supervisor *s)
{
	struct fl_err err = { 0 };
	struct fl_supervised_ *kid = s->kid;

	if (s->state.paused)
		return;
	s->state.paused = true;
	s->facts.wanted = false;
	(void)has_hope(s, &err);
	refuse_all(s, &err);
	if (kid && !kid->child) {
		fail_current(kid, FL_E_RETRY, "paused");
		s->kid = NULL;
		kid_free(kid);
	} else if (kid) {
		set_aside(kid);
		kill_kid(kid);
		fail_current(kid, FL_E_RETRY, "paused");
	}
	fl_timer_stop(s->io, &s->again);
}

struct fl_supervisor_state fl_supervisor_state(const struct fl_supervisor *s)
{
	struct fl_supervisor_state state = s->state;

	if (s->kid && s->kid->stage == READY) {
		state.pid = pid_of(s->kid);
		state.busy = s->kid->busy;
	}
	for (const struct fl_supervised_ *kid = s->gone; kid; kid = kid->next)
		state.dying += is_dying(kid);
	state.stuck = s->facts.stuck;
	state.failures = s->facts.failures;
	return state;
}
