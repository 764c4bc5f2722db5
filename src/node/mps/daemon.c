/* The steps and probes of one daemon. */
#include "node/mps/in.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FL_MPS_QUIT_DEADLINE (5 * FL_NS_PER_S)   /* it ends its servers first */

/* ---- programs ---- */

static void program_ended(struct fl_op *op)
{
	struct fl_mps_daemon *daemon = fl_container(op, struct fl_mps_daemon, exec.op);
	void (*then)(struct fl_mps_daemon * daemon, int r) = daemon->then;
	int r = (int)op->result;

	daemon->then = NULL;
	then(daemon, r);
}

static void run(struct fl_mps_daemon *daemon, const struct fl_spawn *how, struct fl_str input, uint64_t within,
		void (*then)(struct fl_mps_daemon *daemon, int r))
{
	struct fl_io *io = daemon->all->io;

	fl_exec_free(&daemon->exec);
	daemon->err = (struct fl_err){ 0 };
	daemon->exec = (struct fl_exec){ .op = { .done = program_ended, .err = &daemon->err,
						 .deadline = fl_now(io) + within }, .input = input };
	daemon->then = then;
	fl_exec_start(io, &daemon->exec, how);
}

/* A step has the right of way: what a probe asks is asked again, soon. */
static void stop_probe(struct fl_mps_daemon *daemon)
{
	if (!daemon->probing)
		return;
	fl_op_cancel(&daemon->exec.op);
	daemon->probing = false;
	daemon->then = NULL;
	fl_timer_set(daemon->all->io, &daemon->probe, fl_now(daemon->all->io) + FL_MPS_PROBE_SOON);
}

static void launch(struct fl_mps_daemon *daemon, enum fl_mps_launch_what what,
		   void (*then)(struct fl_mps_daemon *daemon, int r))
{
	const struct fl_mps_options *o = &daemon->all->options;
	const char *const argv[] = {
		o->program, "mps", "--what", fl_name(&fl_mps_launch_names, (int)what), "--root", daemon->config.root,
		"--resource", daemon->name, "--program", daemon->config.program, "--proc", o->proc ? o->proc : "/proc",
		daemon->config.libraries[0] ? "--libraries" : NULL, daemon->config.libraries, NULL,
	};

	stop_probe(daemon);
	/* It ends with us: else it might start a daemon after the next agent has forgotten MPS. */
	run(daemon,
	    &(struct fl_spawn){ .path = o->program, .argv = argv, .env = o->env, .death_signal = SIGKILL }, FL_S(""),
	    FL_MPS_START_DEADLINE, then);
}

/* NVIDIA's program, with commands for the daemon. */
static void command(struct fl_mps_daemon *daemon, struct fl_str input, uint64_t within,
		    void (*then)(struct fl_mps_daemon *daemon, int r))
{
	char pipe[FL_MPS_PATH_MAX + 64], log[FL_MPS_PATH_MAX + 64], libraries[FL_MPS_PATH_MAX + 32];
	const char *const argv[] = { daemon->config.program, NULL };
	const char *const env[] = { pipe, log, daemon->config.libraries[0] ? libraries : NULL, NULL };

	(void)snprintf(pipe, sizeof pipe, "CUDA_MPS_PIPE_DIRECTORY=%s/%s/pipe", daemon->config.root, daemon->name);
	(void)snprintf(log, sizeof log, "CUDA_MPS_LOG_DIRECTORY=%s/%s/log", daemon->config.root, daemon->name);
	(void)snprintf(libraries, sizeof libraries, "LD_LIBRARY_PATH=%s", daemon->config.libraries);
	stop_probe(daemon);
	run(daemon,
	    &(struct fl_spawn){ .path = daemon->config.program, .argv = argv, .env = env, .death_signal = SIGKILL },
	    input, within, then);
}

static struct fl_str said(const struct fl_mps_daemon *daemon)
{
	return fl_buf_view(&daemon->exec.out.buf);
}

/* ---- the process ---- */

static void forget_process(struct fl_mps_daemon *daemon)
{
	struct fl_io *io = daemon->all->io;

	fl_poll_stop(io, &daemon->poll);
	fl_close(io, daemon->fd);
	daemon->fd = -1;
	daemon->pid = 0;
	daemon->ends = false;
	daemon->is = FL_MPS_OFF;
	daemon->set[0] = '\0';
	daemon->fault = false;
	daemon->clean = 0;
	stop_probe(daemon);
	fl_timer_stop(io, &daemon->probe);
}

static void lose(struct fl_mps_daemon *daemon, const char *why)
{
	daemon->fails++;
	daemon->clean = 0;
	(void)snprintf(daemon->message, sizeof daemon->message, "%s", why);
	fl_log(daemon->all->options.log, FL_WARN, "mps daemon unhealthy", FL_KV_TEXT("resource", daemon->name),
	       FL_KV_TEXT("why", why));
}

static void process_ended(struct fl_poll *poll, unsigned what)
{
	struct fl_mps_daemon *daemon = fl_container(poll, struct fl_mps_daemon, poll);
	void (*when_ended)(struct fl_mps_daemon * daemon) = daemon->when_ended;
	char why[FL_ERR_TEXT];
	bool adopting;

	(void)what;
	(void)snprintf(why, sizeof why, "the MPS control daemon (process %d) has ended; another one is started",
		       daemon->pid);
	forget_process(daemon);
	if (when_ended) {
		daemon->when_ended = NULL;
		when_ended(daemon);
		return;
	}
	daemon->known = false;   /* its files are there */
	lose(daemon, why);
	adopting = daemon->adopting;
	daemon->adopting = false;   /* the end of a step may begin the next one */
	if (adopting)
		mps_end(daemon);
	else
		mps_feed(daemon);
}

static void watch_failed(struct fl_mps_daemon *daemon)
{
	if (daemon->fd >= 0)
		forget_process(daemon);
	daemon->known = false;   /* one may be there all the same */
	mps_fail(daemon, &daemon->err);
}

static void looked(struct fl_op *op)
{
	struct fl_mps_daemon *daemon = fl_container(fl_container(op, struct fl_file_read, op), struct fl_mps_daemon,
						    look);
	struct fl_io *io = daemon->all->io;
	int64_t started = op->result < 0 ? 0 : fl_mps_start_time(fl_buf_view(&daemon->seen));

	fl_buf_free(&daemon->seen);
	if (started != daemon->started)
		(void)fl_fail(&daemon->err, FL_E_RETRY, "the MPS control daemon (process %d) has ended", daemon->pid);
	if (started != daemon->started || fl_poll_set(io, &daemon->poll, FL_READABLE, &daemon->err) < 0)
		watch_failed(daemon);
	else
		daemon->when_watched(daemon);
}

/* The line "PID START inside", or without the last word: by now the pid may be another process's, which must neither be
 * taken for the daemon nor be killed. */
static void watch_process(struct fl_mps_daemon *daemon, struct fl_str line,
			  void (*then)(struct fl_mps_daemon *daemon))
{
	const char *proc = daemon->all->options.proc ? daemon->all->options.proc : "/proc";
	struct fl_io *io = daemon->all->io;
	char path[FL_MPS_PATH_MAX];
	struct fl_str word, start;
	int64_t pid = 0;

	if (!fl_str_split(&line, ' ', &word) || !fl_str_split(&line, ' ', &start) || !fl_str_i64(word, &pid) ||
	    !fl_str_i64(start, &daemon->started))
		(void)fl_fail(&daemon->err, FL_E_IO, "no process is told");
	else
		daemon->fd = fl_process_open(io, (int)pid, &daemon->err);
	if (daemon->fd < 0) {
		watch_failed(daemon);
		return;
	}
	daemon->pid = (int)pid;
	daemon->ends = fl_str_eq(line, FL_S(FL_MPS_INSIDE));
	daemon->poll = (struct fl_poll){ .ready = process_ended, .fd = daemon->fd };
	daemon->when_watched = then;
	(void)snprintf(path, sizeof path, "%s/%d/stat", proc, daemon->pid);
	daemon->seen = FL_BUF(FL_FILE_FIRST);
	daemon->look = (struct fl_file_read){ .op = { .done = looked, .err = &daemon->err,
						      .deadline = fl_now(io) + FL_MPS_START_DEADLINE },
					      .path = path, .into = &daemon->seen };
	fl_file_read(io, &daemon->look);
}

/* ---- probes ---- */

static void probe(struct fl_timer *timer);

static void probe_later(struct fl_mps_daemon *daemon)
{
	const struct fl_mps_options *o = &daemon->all->options;
	bool rest = daemon->clean >= FL_CARD_CLEAN_MAX;
	uint64_t now = fl_now(daemon->all->io);
	uint64_t usual = daemon->server_len ? FL_MPS_PROBE_EVERY : fl_round_in(now, FL_MPS_PROBE_UNUSED);
	uint64_t every = rest ? usual : o->probe_soon ? o->probe_soon : FL_MPS_PROBE_SOON;

	daemon->probe.fire = probe;
	fl_timer_set(daemon->all->io, &daemon->probe, now + every);
}

/* What a probe has found: of a daemon that is being adopted it is the end of that step. */
static void tell(struct fl_mps_daemon *daemon, bool changed)
{
	bool adopting = daemon->adopting;

	daemon->adopting = false;
	probe_later(daemon);
	if (adopting)
		mps_end(daemon);
	else if (changed)
		mps_feed(daemon);
}

static void deaf(struct fl_mps_daemon *daemon)
{
	char why[FL_ERR_TEXT];

	if (daemon->is != FL_MPS_DEAF) {
		(void)snprintf(why, sizeof why,
			       "the MPS control daemon (process %d) does not answer; it is replaced when no Pod holds "
			       "a share: delete those that do: %.120s",
			       daemon->pid, daemon->err.text);
		lose(daemon, why);
	}
	daemon->is = FL_MPS_DEAF;
	tell(daemon, true);
}

static void probe_done(struct fl_mps_daemon *daemon, bool fault)
{
	bool was_deaf = daemon->is == FL_MPS_DEAF, changed = was_deaf || fault != daemon->fault;

	if (fault && !daemon->fault)
		lose(daemon, "a client of the MPS daemon has had a fault: all its clients on that GPU end, and new "
			     "ones fail until they have; delete the Pods that hold shares");
	if (!fault && (daemon->fault || was_deaf))
		daemon->message[0] = '\0';
	if (was_deaf)
		daemon->is = daemon->set[0] ? FL_MPS_READY : FL_MPS_RUNNING;
	daemon->fault = fault;
	if (!fault && daemon->clean < FL_CARD_CLEAN_MAX) {
		daemon->clean++;
		changed = true;
	}
	tell(daemon, changed);
}

/* A word for each server. */
static void probed_servers(struct fl_mps_daemon *daemon, int r)
{
	struct fl_str rest = said(daemon), line;
	bool fault = false;

	daemon->probing = false;
	if (r < 0) {
		deaf(daemon);
		return;
	}
	while (fl_str_split(&rest, '\n', &line))
		fault |= fl_str_eq(fl_str_trim(line), FL_S("FAULT"));
	probe_done(daemon, fault);
}

/* The percentage, then the pids of servers. */
static void probed(struct fl_mps_daemon *daemon, int r)
{
	char input[8 * 40];
	struct fl_buf ask = FL_BUF_IN(input);
	struct fl_str rest = said(daemon), line;
	uint32_t lines = 0;

	daemon->probing = false;
	daemon->server_len = 0;
	while (r >= 0 && fl_str_split(&rest, '\n', &line)) {
		int64_t pid;

		line = fl_str_trim(line);
		if (!line.len || lines++ == 0 || !fl_str_i64(line, &pid) ||
		    daemon->server_len == FL_LEN(daemon->servers))
			continue;
		daemon->servers[daemon->server_len++] = pid;
	}
	if (r < 0 || !lines) {
		if (r >= 0)
			(void)fl_fail(&daemon->err, FL_E_IO, "it prints nothing");
		deaf(daemon);
		return;
	}
	if (!daemon->server_len) {
		probe_done(daemon, false);
		return;
	}
	for (uint32_t i = 0; i < daemon->server_len; i++)
		fl_buf_printf(&ask, "get_server_status %lld\n", (long long)daemon->servers[i]);
	command(daemon, fl_buf_view(&ask), FL_MPS_ANSWER_DEADLINE, probed_servers);
	daemon->probing = true;
}

static void probe_now(struct fl_mps_daemon *daemon)
{
	command(daemon, FL_S("get_default_active_thread_percentage\nget_server_list\n"), FL_MPS_ANSWER_DEADLINE,
		probed);
	daemon->probing = true;
}

static void probe(struct fl_timer *timer)
{
	struct fl_mps_daemon *daemon = fl_container(timer, struct fl_mps_daemon, probe);

	if (daemon->write || fl_op_busy(&daemon->exec.op))
		probe_later(daemon);
	else
		probe_now(daemon);
}

/* ---- start ---- */

static void started(struct fl_mps_daemon *daemon)
{
	struct fl_str rest = said(daemon), line;

	(void)fl_str_split(&rest, '\n', &line);
	rest = fl_str_trim(rest);
	daemon->known = true;
	daemon->is = rest.len ? FL_MPS_READY : FL_MPS_RUNNING;
	daemon->message[0] = '\0';
	(void)snprintf(daemon->set, sizeof daemon->set, "%.*s", FL_ARG(rest));
	fl_log(daemon->all->options.log, daemon->ends ? FL_WARN : FL_INFO, "mps daemon running",
	       FL_KV_TEXT("resource", daemon->name), FL_KV_INT("pid", daemon->pid),
	       FL_KV_BOOL("adopted", rest.len != 0), FL_KV_BOOL("ends_with_agent", daemon->ends));
	probe_later(daemon);
	/* Whether one that is adopted is well, nobody has looked at since the former agent ended. */
	daemon->adopting = rest.len != 0;
	if (daemon->adopting)
		probe_now(daemon);
	else
		mps_end(daemon);
}

static void launched(struct fl_mps_daemon *daemon, int r)
{
	struct fl_str rest = said(daemon), line = { 0 };

	if (r < 0) {
		watch_failed(daemon);
		return;
	}
	(void)fl_str_split(&rest, '\n', &line);
	watch_process(daemon, line, started);
}

void mps_step_start(struct fl_mps_daemon *daemon)
{
	launch(daemon, FL_MPS_LAUNCH_START, launched);
}

/* ---- limits ---- */

/* Its end may have been told while a file was written. */
static bool is_gone(struct fl_mps_daemon *daemon)
{
	if (daemon->fd >= 0)
		return false;
	(void)fl_fail(&daemon->err, FL_E_RETRY, "the MPS control daemon has ended; another one is started");
	return true;
}

static void marked_ready(struct fl_op *op)
{
	struct fl_mps_daemon *daemon = fl_container(op, struct fl_mps_daemon, replace.op);

	if (op->result < 0 || is_gone(daemon)) {
		mps_fail(daemon, &daemon->err);
		return;
	}
	daemon->is = FL_MPS_READY;
	daemon->message[0] = '\0';
	(void)snprintf(daemon->set, sizeof daemon->set, "%s", daemon->wanted);
	mps_end(daemon);
}

static void mark(struct fl_mps_daemon *daemon, const char *path, struct fl_str content,
		 void (*done)(struct fl_op *op))
{
	daemon->err = (struct fl_err){ 0 };
	daemon->replace = (struct fl_file_replace){
		.op = { .done = done, .err = &daemon->err,
			.deadline = fl_now(daemon->all->io) + FL_MPS_START_DEADLINE },
		.path = path, .content = content, .mode = 0644,
	};
	fl_file_replace(daemon->all->io, &daemon->replace);
}

static void marked_started(struct fl_op *op)
{
	struct fl_mps_daemon *daemon = fl_container(op, struct fl_mps_daemon, replace.op);
	char path[FL_MPS_PATH_MAX];

	if (op->result < 0 || is_gone(daemon)) {
		mps_fail(daemon, &daemon->err);
		return;
	}
	(void)snprintf(path, sizeof path, "%s/.ready", daemon->config.root);
	mark(daemon, path, FL_S("\n"), marked_ready);
}

/* It says the percentage that is in force, at last. */
static void limited(struct fl_mps_daemon *daemon, int r)
{
	struct fl_str rest = fl_str_trim(said(daemon)), line = { 0 };
	const char *space = strrchr(daemon->wanted, ' ');
	char path[FL_MPS_PATH_MAX];
	int64_t want, is = -1;

	while (r >= 0 && fl_str_split(&rest, '\n', &line))
		;
	line = fl_str_trim(line);
	for (uint32_t i = 0; i < line.len; i++)   /* "25.0" */
		if (line.p[i] == '.')
			line.len = i;
	want = strtol(space ? space + 1 : daemon->wanted, NULL, 10);
	if (r >= 0 && (!fl_str_i64(line, &is) || is != want))
		r = fl_fail(&daemon->err, FL_E_IO, "%lld%% of the threads was wanted, and '%.*s' is what it says",
			    (long long)want, FL_ARG(fl_str_sub(line, 0, 60)));
	if (r < 0) {
		struct fl_err why = { 0 };

		(void)fl_fail(&why, daemon->err.code, "the MPS control daemon does not take its limits: %.160s",
			      daemon->err.text);
		mps_fail(daemon, &why);
		return;
	}
	(void)snprintf(path, sizeof path, "%s/%s/.started", daemon->config.root, daemon->name);
	mark(daemon, path, fl_str(daemon->wanted), marked_started);
}

void mps_step_limit(struct fl_mps_daemon *daemon, const struct fl_mps *want)
{
	char input[FL_EXEC_INPUT_MAX];
	struct fl_buf ask = FL_BUF_IN(input);

	for (uint32_t i = 0; i < want->limits.len; i++)
		fl_buf_printf(&ask, "set_default_device_pinned_mem_limit %d %lldM\n", (int)want->limits.at[i].index,
			      (long long)want->limits.at[i].memory);
	fl_buf_printf(&ask, "set_default_active_thread_percentage %d\nget_default_active_thread_percentage\n",
		      (int)want->threads);
	command(daemon, fl_buf_view(&ask), FL_MPS_ANSWER_DEADLINE, limited);
}

/* ---- the end ---- */

static void cleaned(struct fl_mps_daemon *daemon, int r)
{
	if (r < 0) {
		daemon->known = false;   /* another one may be there, and what is left there is in its way */
		mps_fail(daemon, &daemon->err);
		return;
	}
	daemon->known = true;
	daemon->is = FL_MPS_OFF;
	daemon->message[0] = '\0';
	fl_log(daemon->all->options.log, FL_INFO, "mps daemon stopped", FL_KV_TEXT("resource", daemon->name));
	mps_end(daemon);
}

static void clean(struct fl_mps_daemon *daemon)
{
	fl_timer_stop(daemon->all->io, &daemon->patience);
	fl_op_cancel(&daemon->exec.op);
	launch(daemon, FL_MPS_LAUNCH_CLEAN, cleaned);
}

static void impatient(struct fl_timer *timer)
{
	struct fl_mps_daemon *daemon = fl_container(timer, struct fl_mps_daemon, patience);
	struct fl_err err = { 0 };

	fl_log(daemon->all->options.log, FL_WARN, "mps daemon does not quit, killed",
	       FL_KV_TEXT("resource", daemon->name), FL_KV_INT("pid", daemon->pid));
	if (fl_process_signal(daemon->all->io, daemon->fd, SIGKILL, &err) < 0 && err.code != FL_E_NOTFOUND) {
		daemon->when_ended = NULL;
		mps_fail(daemon, &err);
	}
}

/* Its end is what counts, and is waited for all the same. */
static void asked_to_quit(struct fl_mps_daemon *daemon, int r)
{
	if (r < 0)
		fl_log(daemon->all->options.log, FL_WARN, "mps daemon not asked to quit",
		       FL_KV_TEXT("resource", daemon->name), FL_KV_TEXT("program", daemon->config.program),
		       FL_KV_TEXT("why", daemon->err.text));
}

static void quit(struct fl_mps_daemon *daemon)
{
	daemon->when_ended = clean;
	daemon->patience.fire = impatient;
	fl_timer_set(daemon->all->io, &daemon->patience, fl_now(daemon->all->io) + FL_MPS_QUIT_DEADLINE);
	command(daemon, FL_S("quit\n"), FL_MPS_QUIT_DEADLINE, asked_to_quit);
}

static void found(struct fl_mps_daemon *daemon, int r)
{
	struct fl_str rest = said(daemon), line = { 0 };

	if (r < 0)
		mps_fail(daemon, &daemon->err);
	else if (fl_str_split(&rest, '\n', &line) && line.len)
		watch_process(daemon, line, quit);
	else
		clean(daemon);
}

void mps_step_stop(struct fl_mps_daemon *daemon)
{
	if (daemon->fd >= 0)
		quit(daemon);
	else
		launch(daemon, FL_MPS_LAUNCH_FIND, found);
}

void mps_let_go(struct fl_mps_daemon *daemon)
{
	struct fl_io *io = daemon->all->io;

	daemon->when_ended = NULL;
	daemon->adopting = false;
	fl_exec_free(&daemon->exec);
	fl_op_cancel(&daemon->append.op);
	fl_op_cancel(&daemon->replace.op);
	fl_op_cancel(&daemon->look.op);
	fl_buf_free(&daemon->seen);
	fl_timer_stop(io, &daemon->turn);
	fl_timer_stop(io, &daemon->patience);
	fl_timer_stop(io, &daemon->probe);
	if (daemon->fd >= 0)
		forget_process(daemon);
}
