#include "cmd/role.h"
#include "cmd/role_in.h"
#include "io/log_stderr.h"
#include "run/kube.h"
#include <signal.h>
#include <unistd.h>

#define FL_ROLE_EVENTS_WAIT (1 * FL_NS_PER_S)  /* at the end, for Events of what has just changed; they are no duty */

static int failed(const struct fl_err *err)
{
	return -(int)(err && err->code ? err->code : FL_E_NOMEM);
}

/* ---- who leads ---- */

static void leads(void *run_, bool is)
{
	struct fl_running *run = run_;

	fl_loop_lead(run->loop, is && run->stage == FL_ROLE_RUNS);
}

static bool may_write(void *run_)
{
	const struct fl_running *run = run_;

	return !run->flags->lead || (run->elector && fl_lease_held(run->elector));
}

static void event(void *run_, const struct fl_told_event *told)
{
	struct fl_running *run = run_;

	if (run->role->event)
		run->role->event(run, told);
	else
		fl_kube_event(run->events, told);
}

/* A Pod's host name is its own name. */
static struct fl_str host_name(struct fl_io *io, const char *const *env, char *buf, size_t size)
{
	const struct fl_fs *fs = fl_io_fs(io);
	int64_t len;
	int fd;

	for (; env && *env; env++)
		if (strncmp(*env, "POD_NAME=", 9) == 0 && (*env)[9])
			return fl_str(*env + 9);
	fd = fs->open(fs, AT_FDCWD, "/proc/sys/kernel/hostname", O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return FL_S("fairlead");
	len = fl_fs_read_all(fs, fd, buf, size);
	fs->close(fs, fd);
	return len > 0 ? fl_str_trim((struct fl_str){ buf, (uint32_t)len }) : FL_S("fairlead");
}

/* Unique also where a Pod's name comes again; what stands before the '_' is the Pod, for `fairlead explain`. */
static int identify(struct fl_running *run, const char *const *env, uint64_t chance, struct fl_err *err)
{
	struct fl_buf name = FL_BUF_IN(run->identity);
	char text[FL_ROLE_NAME - 32];

	if (run->flags->identity.len)
		fl_buf_str(&name, run->flags->identity);
	else
		fl_buf_printf(&name, "%.*s_%016llx", FL_ARG(host_name(run->io, env, text, sizeof text)),
			      (unsigned long long)chance);
	return name.failed ? fl_fail(err, FL_E_INVALID, "--identity is longer than %d bytes", FL_ROLE_NAME - 1) : 0;
}

/* ---- begin ---- */

static int reach(struct fl_running *run, const char *const *env, struct fl_err *err)
{
	const struct fl_role_flags *flags = run->flags;
	struct fl_kube_where where = { .kubeconfig = flags->kubeconfig, .context = flags->context.p,
				       .server = flags->server.p, .env = env };
	struct fl_kube_options options = { .role = run->role->name, .metrics = run->metrics, .log = &run->log };

	run->config = fl_kube_config_load(fl_io_fs(run->io), &where, err);
	if (!run->config && run->role->alone && !flags->kubeconfig && err && err->code == FL_E_NOTFOUND)
		return 0;
	if (!run->config)
		return failed(err);
	options.config = run->config;
	run->kube = fl_kube_new(run->io, &options, err);
	return run->kube ? 0 : failed(err);
}

static bool is_further(const struct fl_role *role, uint32_t row)
{
	for (uint32_t i = 0; i < row; i++)
		if (role->kinds[i].kind == role->kinds[row].kind)
			return true;
	return false;
}

/* Its cache, or with a further row another source of it. */
static int add_kind(struct fl_running *run, uint32_t row, struct fl_err *err)
{
	const struct fl_role_kind *kind = &run->role->kinds[row];
	struct fl_source source = { kind->kind, kind->by, &fl_kube_sink, run->kube, kind->unpacked };

	if (!is_further(run->role, row)) {
		if (fl_loop_source(run->loop, &source, err) < 0)
			return failed(err);
		run->feeds[row] = fl_loop_feed(run->loop, kind->kind);
		return 0;
	}
	if (!kind->source || kind->by || kind->unpacked)
		return fl_fail(err, FL_E_INVALID, "%s: a further row of %s needs a source name, and no indexes",
			       run->role->name, kind->kind->kind);
	run->feeds[row] = fl_loop_feed_add(run->loop, kind->kind, kind->source, kind->optional, err);
	return run->feeds[row] ? 0 : failed(err);
}

static int make_loop(struct fl_running *run, const uint64_t seed[2], struct fl_err *err)
{
	struct fl_loop_options options = { .seed = { seed[0], seed[1] }, .standby = run->flags->lead,
					   .may_write = may_write, .event = event, .arg = run,
					   .metrics = run->metrics, .log = &run->log };
	uint32_t count = 0;

	run->loop = fl_loop_new(run->io, &options, err);
	if (!run->loop)
		return failed(err);
	while (run->role->kinds[count].kind)
		count++;
	run->feeds = fl_zalloc_n(count, sizeof(struct fl_feed *));
	if (!run->feeds)
		return fl_fail(err, FL_E_NOMEM, "no memory for the kinds of %s", run->role->name);
	for (uint32_t i = 0; i < count; i++)
		if (add_kind(run, i, err) < 0)
			return failed(err);
	return 0;
}

static int check_address(const char *option, struct fl_str text, struct fl_err *err)
{
	struct fl_err why = { 0 };
	struct fl_addr addr;

	if (fl_addr_parse(&addr, text, &why) < 0)
		return fl_fail(err, FL_E_INVALID, "%s: %s", option, why.text);
	return 0;
}

int fl_role_check(const struct fl_role_flags *flags, struct fl_err *err)
{
	if (check_address("--listen", flags->listen, err) < 0 ||
	    (flags->webhook_cert && check_address("--webhook-listen", flags->webhook_listen, err) < 0))
		return failed(err);
	if (flags->identity.len >= FL_ROLE_NAME)
		return fl_fail(err, FL_E_INVALID, "--identity is longer than %d bytes: choose a shorter one",
			       FL_ROLE_NAME - 1);
	if (!flags->webhook_cert != !flags->webhook_key)
		return fl_fail(err, FL_E_INVALID, "--webhook-cert and --webhook-key go together");
	if (flags->lead && !(flags->lease_retry < flags->lease_give_up && flags->lease_give_up < flags->lease_duration))
		return fl_fail(err, FL_E_INVALID,
			       "--lease-retry must be less than --lease-give-up, and that less than --lease-duration");
	return 0;
}

/* Not refused: in a Pod anybody's variables may begin so. As with a field of a file, the rest counts. */
static void warn_of_env(struct fl_running *run, const char *const *env)
{
	char text[FL_OPTION_NAME * 2] = "";
	struct fl_buf nearest = FL_BUF_IN(text);
	struct fl_str name;

	for (const char *const *at = env; run->role->program && at && *at; at++)
		if (fl_program_unknown_env(run->role->program, env, *at, &name, &nearest))
			fl_log(&run->log, FL_WARN, "environment variable ignored, no option has this name: correct or "
						   "remove it",
			       FL_KV_STR("name", name), FL_KV_STR("nearest", fl_buf_view(&nearest)));
}

int fl_role_begin(struct fl_running *run, const struct fl_role *role, const struct fl_role_flags *flags,
		  struct fl_io *io, const char *const *env, struct fl_err *err)
{
	struct fl_log_to to = fl_log_to_stderr(io);
	uint64_t chance[3];

	run->role = role;
	run->flags = flags;
	run->io = io;
	fl_log_init(&run->log, &to, role->name);
	run->log.level = flags->log_level;
	run->log.format = flags->log_format;
	warn_of_env(run, env);
	if (fl_role_check(flags, err) < 0 || fl_random(io, chance, sizeof chance, err) < 0 ||
	    identify(run, env, chance[2], err) < 0)
		return failed(err);
	run->metrics = fl_metrics_new(chance, err);
	if (!run->metrics || fl_process_add(&run->process, run->metrics, role->name, err) < 0 ||
	    role_numbers_add(run, err) < 0 || reach(run, env, err) < 0 || make_loop(run, chance, err) < 0)
		return failed(err);
	return 0;
}

/* ---- start: the webhooks ---- */

static void fail(struct fl_running *run, const struct fl_err *why)
{
	run->why = *why;
	fl_log(&run->log, FL_ERROR, "fatal error, stopping", FL_KV_ERR(why));
	fl_role_stop(run);
}

/* The first certificate starts the listening; later ones are for later connections. */
static void cert_changed(struct fl_tls_files *files, struct fl_tls_context *context)
{
	struct fl_running *run = fl_container(files, struct fl_running, tls);
	struct fl_http_server *server = fl_webhooks_server(run->webhooks);
	struct fl_err err = { 0 };

	if (run->stage != FL_ROLE_RUNS)
		return;
	run->expires = fl_tls_context_expires(context);
	if (run->loaded)
		fl_http_server_use(server, context);
	else if (fl_http_server_listen(server, &run->webhook_addr, 0600, context, &run->webhook_addr, &err) < 0)
		fail(run, &err);
	else
		run->loaded = true;
	if (run->loaded)
		fl_log(&run->log, FL_INFO, "webhook certificate loaded",
		       FL_KV_INT("expires", run->expires), FL_KV_TEXT("path", files->cert));
}

static void cert_failed(struct fl_tls_files *files, const struct fl_err *err)
{
	struct fl_running *run = fl_container(files, struct fl_running, tls);

	run->tls_why = *err;
	fl_log(&run->log, FL_WARN, "webhook certificate not loaded, will retry",
	       FL_KV_ERR(err));
}

static int start_webhooks(struct fl_running *run, struct fl_err *err)
{
	const struct fl_role_flags *flags = run->flags;
	struct fl_admission_options options = { run->loop, run->role->webhooks, run->metrics };

	if (!run->role->webhooks || !flags->webhook_cert)
		return 0;
	if (fl_addr_parse(&run->webhook_addr, flags->webhook_listen, err) < 0)
		return fl_wrap(err, "--webhook-listen");
	run->webhooks = fl_webhooks_new(run->io, &options, err);
	if (!run->webhooks)
		return failed(err);
	run->tls = (struct fl_tls_files){ .changed = cert_changed, .failed = cert_failed, .cert = flags->webhook_cert,
					  .key = flags->webhook_key,
					  .config = { .server = true, .peer = FL_TLS_PEER_TRUST } };
	run->tls_started = true;
	return fl_tls_files_start(run->io, &run->tls, err);
}

/* ---- start: the rest ---- */

static int listen_at(struct fl_running *run, struct fl_err *err)
{
	struct fl_addr addr;

	if (fl_addr_parse(&addr, run->flags->listen, err) < 0 ||
	    fl_http_server_listen(run->pages.server, &addr, 0600, NULL, NULL, err) < 0)
		return fl_wrap(err, "--listen");
	return 0;
}

static void listen_again(struct fl_timer *timer)
{
	struct fl_running *run = fl_container(timer, struct fl_running, listen_later);
	struct fl_err err = { 0 };

	if (run->stage == FL_ROLE_RUNS && listen_at(run, &err) < 0)
		fl_timer_set(run->io, timer, fl_now(run->io) + FL_ROLE_LISTEN_RETRY);
}

/* A role that works alone starts without its pages, too: the process before it may still have the port. */
static int start_pages(struct fl_running *run, struct fl_err *err)
{
	struct fl_err why = { 0 };

	run->pages = (struct fl_pages){ .io = run->io, .title = run->role->name, .loop = run->loop,
					.metrics = run->metrics, .process = &run->process,
					.ready = role_ready, .arg = run, .more = run->role->pages,
					.kube = run->kube, .open_metrics = run->flags->open_metrics };
	if (fl_pages_start(&run->pages, err) < 0)
		return fl_wrap(err, "--listen");
	if (listen_at(run, &why) == 0)
		return 0;
	if (!run->role->alone || why.code != FL_E_EXISTS)
		return fl_fail_as(err, &why);
	fl_log(&run->log, FL_WARN, "listen address in use, will retry", FL_KV_ERR(&why));
	run->listen_later.fire = listen_again;
	fl_timer_set(run->io, &run->listen_later, fl_now(run->io) + FL_ROLE_LISTEN_RETRY);
	return 0;
}

static int watch_all(struct fl_running *run, struct fl_err *err)
{
	for (uint32_t i = 0; run->role->kinds[i].kind; i++) {
		const struct fl_role_kind *kind = &run->role->kinds[i];
		struct fl_watch_options options = { .kind = kind->kind, .space = kind->space,
						    .labels = kind->labels, .fields = kind->fields,
						    .any_first = kind->any_first, .to = &fl_feed_watch,
						    .arg = run->feeds[i], .log = &run->log };
		struct fl_watch *watch = fl_watch_new(run->kube, &options, err);

		if (!watch)
			return failed(err);
		if (fl_vec_push(&run->watches, watch) < 0) {
			fl_watch_free(watch);
			return fl_fail(err, FL_E_NOMEM, "no memory to watch %s", kind->kind->plural);
		}
	}
	return 0;
}

static void watch_now(struct fl_timer *timer)
{
	struct fl_running *run = fl_container(timer, struct fl_running, watch_later);
	struct fl_err err = { 0 };

	if (run->stage == FL_ROLE_RUNS && watch_all(run, &err) < 0)
		fail(run, &err);
}

/* TLS alone keeps the processor for longer than the whole start of a role that can do without. */
static int start_watches(struct fl_running *run, struct fl_err *err)
{
	for (uint32_t i = 0; run->role->kinds[i].kind && run->role->alone; i++)
		if (run->kube)
			fl_feed_awaited(run->feeds[i]);
		else
			fl_feed_absent(run->feeds[i]);
	if (!run->kube)
		return 0;
	if (!run->role->alone)
		return watch_all(run, err);
	run->watch_later.fire = watch_now;
	fl_timer_set(run->io, &run->watch_later, fl_now(run->io) + FL_ROLE_ALONE_WAIT);
	return 0;
}

static int start_lease(struct fl_running *run, struct fl_err *err)
{
	const struct fl_role_flags *flags = run->flags;
	struct fl_lease_options options = {
		.space = flags->lease_space.p, .name = flags->lease.p,
		.identity = run->identity, .leads = leads, .arg = run, .log = &run->log,
		.times = { (uint64_t)flags->lease_duration, (uint64_t)flags->lease_give_up,
			   (uint64_t)flags->lease_retry },
	};

	if (!flags->lead)
		return 0;
	if (!flags->lease_space.len)
		options.space = run->config->space.p;
	run->elector = fl_elector_new(run->kube, &options, err);
	return run->elector ? 0 : failed(err);
}

int fl_role_start(struct fl_running *run, struct fl_err *err)
{
	struct fl_events_options events = { .controller = run->role->reports, .instance = run->identity,
					    .metrics = run->metrics, .log = &run->log };

	for (const struct fl_capability *const *row = run->role->capabilities; *row; row++)
		if (fl_loop_capability(run->loop, *row, err) < 0)
			return failed(err);
	if (run->kube)
		run->events = fl_events_new(run->kube, &events, err);
	if (run->kube && !run->events)
		return failed(err);
	if (start_pages(run, err) < 0 || start_webhooks(run, err) < 0 || start_watches(run, err) < 0 ||
	    start_lease(run, err) < 0)
		return failed(err);
	fl_log(&run->log, FL_INFO, "started", FL_KV_TEXT("version", FL_VERSION),
	       FL_KV_STR("apiserver", run->config ? run->config->server : FL_S("none")),
	       FL_KV_TEXT("identity", run->identity), FL_KV_STR("listen", run->flags->listen));
	return 0;
}

/* ---- the end ---- */

static void over(struct fl_running *run)
{
	run->stage = FL_ROLE_OVER;
	fl_timer_stop(run->io, &run->late);
}

static void too_late(struct fl_timer *timer)
{
	struct fl_running *run = fl_container(timer, struct fl_running, late);

	if (run->stage == FL_ROLE_TELLS)
		fl_log(&run->log, FL_INFO, "Events not sent",
		       FL_KV_UINT("events", fl_events_waiting(run->events)));
	else
		fl_log(&run->log, FL_WARN, "not stopped in time", FL_KV_UINT("writes", fl_loop_writing(run->loop)));
	over(run);
}

static void drained(void *run)
{
	((struct fl_running *)run)->draining--;
}

static void drain(struct fl_running *run, struct fl_http_server *server)
{
	if (!server)
		return;
	run->draining++;
	fl_http_server_drain(server, run->deadline, drained, run);
}

void fl_role_stop(struct fl_running *run)
{
	if (run->stage != FL_ROLE_RUNS) {
		fl_log(&run->log, FL_WARN, "stopping at once");
		over(run);
		return;
	}
	fl_log(&run->log, FL_INFO, "stopping", FL_KV_UINT("writes", fl_loop_writing(run->loop)));
	run->stage = FL_ROLE_WRITES;
	run->deadline = fl_now(run->io) + (uint64_t)run->flags->grace;
	run->late.fire = too_late;
	fl_timer_set(run->io, &run->late, run->deadline);
	fl_loop_lead(run->loop, false);
	drain(run, run->pages.server);
	drain(run, run->webhooks ? fl_webhooks_server(run->webhooks) : NULL);
}

/* After each turn: what is awaited may have happened in it. The Lease goes only when no write of ours is left that the
 * next one who leads could meet. */
static void go_on(struct fl_running *run)
{
	if (run->stage == FL_ROLE_WRITES && !fl_loop_writing(run->loop)) {
		run->stage = FL_ROLE_RELEASES;
		run->release = (struct fl_op){ .deadline = run->deadline };   /* else it runs out by itself */
		if (run->elector)
			fl_elector_stop(run->elector, &run->release);
	}
	if (run->stage == FL_ROLE_RELEASES && !fl_op_busy(&run->release) && !run->draining &&
	    (!run->role->ended || run->role->ended(run))) {
		uint64_t until = fl_now(run->io) + FL_ROLE_EVENTS_WAIT;

		run->stage = FL_ROLE_TELLS;
		if (until < run->deadline)
			fl_timer_set(run->io, &run->late, until);
	}
	if (run->stage == FL_ROLE_TELLS && !(run->events && fl_events_waiting(run->events)))
		over(run);
}

bool fl_role_turn(struct fl_running *run, uint64_t until, struct fl_err *err)
{
	if (fl_io_turn(run->io, until, err) < 0) {
		run->why.code = err && err->code ? err->code : FL_E_IO;
		over(run);
	} else if (run->stage != FL_ROLE_RUNS) {
		go_on(run);
	}
	return run->stage != FL_ROLE_OVER;
}

static void signalled(struct fl_signals *signals, int signo)
{
	struct fl_running *run = fl_container(signals, struct fl_running, signals);

	/* Others read their configuration again at SIGHUP; our files are watched. */
	if (signo == SIGHUP)
		fl_log(&run->log, FL_INFO,
		       "SIGHUP ignored, changed files are applied without it, a link's target within a minute");
	else
		fl_role_stop(run);
}

int fl_role_run(struct fl_running *run, struct fl_err *err)
{
	static const int signos[] = { SIGTERM, SIGINT, SIGHUP, 0 };

	run->signals.came = signalled;
	if (fl_signals_start(run->io, &run->signals, signos, err) < 0)
		return failed(err);
	while (fl_role_turn(run, FL_NEVER, err))
		continue;
	fl_log(&run->log, FL_INFO, "stopped");
	if (run->why.code && run->why.text[0])
		return fl_fail_as(err, &run->why);
	return -(int)run->why.code;
}

void fl_role_end(struct fl_running *run)
{
	if (!run->io)
		return;
	fl_signals_stop(&run->signals);
	fl_timer_stop(run->io, &run->late);
	fl_timer_stop(run->io, &run->watch_later);
	fl_timer_stop(run->io, &run->listen_later);
	fl_op_cancel(&run->release);
	if (run->tls_started)
		fl_tls_files_stop(&run->tls);
	run->webhooks = fl_webhooks_free(run->webhooks);
	fl_pages_stop(&run->pages);
	run->elector = fl_elector_free(run->elector);
	fl_vec_each (watch, &run->watches)
		fl_watch_free(*watch);
	fl_vec_free(&run->watches);
	run->loop = fl_loop_free(run->loop);
	run->events = fl_events_free(run->events);
	run->kube = fl_kube_free(run->kube);
	run->config = fl_kube_config_free(run->config);
	run->metrics = fl_metrics_free(run->metrics);
	fl_free(run->feeds);
	run->feeds = NULL;
	fl_log_flush(&run->log);
	run->io = NULL;
}

int fl_role_main(const struct fl_role *role, const struct fl_role_flags *flags, struct fl_err *err)
{
	FL_AUTO(fl_io) struct fl_io *io = fl_posix_new(err);
	FL_AUTO(fl_mem) struct fl_running *run = fl_zalloc(sizeof *run);
	int r;

	if (!io || !run)
		return io ? fl_fail(err, FL_E_NOMEM, "no memory for %s", role->name) : failed(err);
	r = fl_role_begin(run, role, flags, io, (const char *const *)environ, err);
	if (r == 0)
		r = fl_role_start(run, err);
	if (r == 0)
		r = fl_role_run(run, err);
	fl_role_end(run);
	return r;
}
