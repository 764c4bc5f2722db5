#include "sim/sim_in.h"
#include "base/units.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static const uint64_t turn_takes = 1000;   /* ns: so that time goes on even for a loop that spins */

/* ---- memory ---- */

static void *got(void *p)
{
	if (!p) {
		(void)fputs("the simulator is out of memory\n", stderr);
		abort();
	}
	return p;
}

void *sim_get(size_t size)
{
	return got(calloc(1, size ? size : 1));
}

void *sim_more(void *p, size_t size)
{
	return got(realloc(p, size));
}

void sim_put(void *p)
{
	free(p);
}

/* ---- what will happen: a binary heap by time, then by order of setting ---- */

static bool before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void place(struct sim_world *w, uint32_t i, struct sim_event *event)
{
	w->heap.at[i] = event;
	event->place = i + 1;
}

static void rise(struct sim_world *w, uint32_t i, struct sim_event *event)
{
	for (; i > 0 && before(event, w->heap.at[(i - 1) / 2]); i = (i - 1) / 2)
		place(w, i, w->heap.at[(i - 1) / 2]);
	place(w, i, event);
}

static void sink(struct sim_world *w, uint32_t i, struct sim_event *event)
{
	for (uint32_t child; (child = 2 * i + 1) < w->heap.len; i = child) {
		if (child + 1 < w->heap.len && before(w->heap.at[child + 1], w->heap.at[child]))
			child++;
		if (!before(w->heap.at[child], event))
			break;
		place(w, i, w->heap.at[child]);
	}
	place(w, i, event);
}

void sim_unset(struct sim_world *w, struct sim_event *event)
{
	uint32_t i = event->place - 1;
	struct sim_event *last;

	if (!event->place)
		return;
	event->place = 0;
	last = w->heap.at[--w->heap.len];
	if (last == event)
		return;
	if (i > 0 && before(last, w->heap.at[(i - 1) / 2]))
		rise(w, i, last);
	else
		sink(w, i, last);
}

void sim_set(struct sim_world *w, struct sim_event *event, uint64_t at)
{
	sim_unset(w, event);
	event->at = at > w->now ? at : w->now;
	event->order = ++w->order;
	sim_push(&w->heap, event);
	rise(w, w->heap.len - 1, event);
}

bool sim_run_until(struct sim_world *w, uint64_t until, bool (*done)(void *arg), void *arg)
{
	while (w->heap.len && w->heap.at[0]->at <= until) {
		struct sim_event *event = w->heap.at[0];

		if (done && done(arg))
			return true;
		sim_unset(w, event);
		w->now = event->at;
		w->events++;
		event->fire(event);
	}
	if (done && done(arg))
		return true;
	if (until != FL_NEVER && w->now < until)
		w->now = until;
	return false;
}

void sim_run(struct sim_world *w, uint64_t until)
{
	(void)sim_run_until(w, until, NULL, NULL);
}

struct sim_call {
	struct sim_event event;
	struct sim_world *world;
	void (*call)(void *arg);
	void *arg;
};

static void call_fires(struct sim_event *event)
{
	struct sim_call *call = fl_container(event, struct sim_call, event);

	call->call(call->arg);
}

void sim_at(struct sim_world *w, uint64_t at, void (*run)(void *arg), void *arg)
{
	struct sim_call *call = sim_get(sizeof *call);

	*call = (struct sim_call){ .event.fire = call_fires, .world = w, .call = run, .arg = arg };
	sim_push(&w->calls, call);
	sim_set(w, &call->event, at);
}

uint64_t sim_now(const struct sim_world *w)
{
	return w->now;
}

uint64_t sim_events(const struct sim_world *w)
{
	return w->events;
}

/* ---- chance ---- */

uint64_t sim_random(struct sim_world *w)
{
	uint64_t z = w->chance += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint64_t sim_below(struct sim_world *w, uint64_t bound)
{
	return bound ? sim_random(w) % bound : 0;
}

/* What never happens draws nothing, so that turning one fault off leaves the others where they were. */
bool sim_happens(struct sim_world *w, unsigned of_a_million)
{
	return of_a_million && sim_below(w, 1000000) < of_a_million;
}

/* ---- the trace ---- */

static void tell(struct sim_host *host, const char *fmt, va_list args)
{
	struct sim_world *w = host->world;
	char line[1024];
	int len;

	len = snprintf(line, sizeof line, "%llu %s ", (unsigned long long)w->now, host->name);
	len += vsnprintf(line + len, sizeof line - (size_t)len - 1, fmt, args);
	if ((size_t)len > sizeof line - 2)
		len = sizeof line - 2;
	line[len++] = '\n';
	if (w->trace_len + (size_t)len > w->trace_cap)
		w->trace = sim_more(w->trace, w->trace_cap = w->trace_cap * 2 + 64 * FL_KIB);
	memcpy(w->trace + w->trace_len, line, (size_t)len);
	w->trace_len += (size_t)len;
}

void sim_tell(struct sim_host *host, const char *fmt, ...)
{
	va_list args;

	if (!sim_traced(host))
		return;
	va_start(args, fmt);
	tell(host, fmt, args);
	va_end(args);
}

void sim_note(struct sim_process *process, const char *fmt, ...)
{
	va_list args;

	if (!sim_traced(process->host))
		return;
	va_start(args, fmt);
	tell(process->host, fmt, args);
	va_end(args);
}

struct fl_str sim_trace(const struct sim_world *w)
{
	return (struct fl_str){ w->trace, (uint32_t)w->trace_len };
}

/* ---- processes ---- */

static void finish_dying(struct sim_process *p);

static void process_turn(struct sim_event *event)
{
	struct sim_process *p = fl_container(event, struct sim_process, wake);
	struct sim_world *w = p->host->world;
	uint64_t next;
	int failed = 0;

	if (p->hung || p->host->cut_now)
		return;
	p->in_turn = true;
	if (!p->booted) {
		p->booted = true;
		p->io = fl_io_new(&p->sys, NULL);
		if (p->started) {
			p->started->started = true;
			p->started->started_errno = p->io ? 0 : ENOMEM;
			sim_file_changed(p->started);
		}
		failed = p->io ? p->run(p) : -FL_E_NOMEM;
	} else {
		failed = fl_io_turn(p->io, 0, NULL);
	}
	p->in_turn = false;
	if (failed < 0 && !p->ending) {
		p->ending = true;
		p->exit = (struct fl_exit){ .code = 1 };
	}
	if (p->ending) {
		finish_dying(p);
		return;
	}
	p->not_before = w->now + turn_takes;
	next = fl_io_next(p->io);
	if (next == 0 || sim_has_events(p))
		sim_process_wake(p);
	else if (next != FL_NEVER)
		sim_set(w, &p->wake, next + p->host->booted - 1);
}

void sim_process_wake(struct sim_process *p)
{
	struct sim_world *w = p->host->world;
	uint64_t at = w->now > p->not_before ? w->now : p->not_before;

	if (p->dead || p->hung || p->in_turn || (p->wake.place && p->wake.at <= at))
		return;
	sim_set(w, &p->wake, at);
}

struct sim_process *sim_process_new(struct sim_host *host, sim_main run, int parent)
{
	struct sim_process *p = sim_get(sizeof *p);

	p->host = host;
	p->run = run;
	p->refs = 1;
	p->parent = parent;
	p->pid = ++host->last_pid;
	p->wake.fire = process_turn;
	sim_sys_init(p);
	sim_fs_init(p);
	sim_push(&host->processes, p);
	sim_tell(host, "process %d starts", p->pid);
	return p;
}

void sim_process_ref(struct sim_process *p)
{
	p->refs++;
}

void sim_process_drop(struct sim_process *p)
{
	if (--p->refs)
		return;
	for (char **arg = p->argv; arg && *arg; arg++)
		sim_put(*arg);
	sim_put(p->argv);
	sim_put(p->fds.at);
	sim_put(p);
}

/* Children learn of it by the signal that they asked for. */
static void orphan_children(struct sim_process *parent)
{
	struct sim_host *host = parent->host;

	for (uint32_t i = 0; i < host->processes.len; i++) {
		struct sim_process *p = host->processes.at[i];

		if (p->parent != parent->pid || p->dead)
			continue;
		p->parent = 1;
		if (p->death_signal)
			sim_signal(p, p->death_signal);
	}
}

static void finish_dying(struct sim_process *p)
{
	struct sim_host *host = p->host;

	sim_unset(host->world, &p->wake);
	p->dead = true;
	if (p->exit.signo)
		sim_tell(host, "process %d is killed by signal %d", p->pid, p->exit.signo);
	else
		sim_tell(host, "process %d ends with code %d", p->pid, p->exit.code);
	if (p->gone)
		p->gone(p->self);
	if (p->io)
		fl_io_free(p->io);
	p->io = NULL;
	sim_sys_close_all(p);
	if (p->started && !p->started->started) {
		p->started->started = true;
		sim_file_changed(p->started);
	}
	if (p->started)
		sim_file_drop(p->started);
	p->started = NULL;
	for (uint32_t i = 0; i < host->processes.len; i++) {
		if (host->processes.at[i] != p)
			continue;
		host->processes.len--;
		memmove(host->processes.at + i, host->processes.at + i + 1,
			(host->processes.len - i) * sizeof *host->processes.at);
		break;
	}
	if (host->up)
		orphan_children(p);
	if (p->handle)
		sim_file_changed(p->handle);
	sim_process_drop(p);
}

void sim_process_end(struct sim_process *p, struct fl_exit how)
{
	if (p->dead || p->ending)
		return;
	p->ending = true;
	p->exit = how;
	if (!p->in_turn)
		finish_dying(p);
}

void sim_exit(struct sim_process *p, int code)
{
	sim_process_end(p, (struct fl_exit){ .code = code & 0xff });
}

void sim_die(struct sim_process *p, int signo)
{
	sim_process_end(p, (struct fl_exit){ .code = -1, .signo = signo });
}

static bool ignored(int signo)
{
	return signo == SIGCHLD || signo == SIGWINCH || signo == SIGURG || signo == SIGCONT || signo == SIGPIPE;
}

void sim_signal(struct sim_process *p, int signo)
{
	if (p->dead || p->ending || signo == 0)
		return;
	if (signo == SIGSTOP) {
		sim_hang(p, false);
	} else if (signo == SIGCONT && !p->unkillable) {
		sim_unhang(p);
	} else if (signo != SIGKILL && (p->caught >> (signo - 1) & 1)) {
		p->pending |= 1ull << (signo - 1);
		if (p->signals)
			sim_file_changed(p->signals);
	} else if (p->unkillable) {
		p->waiting_signal = ignored(signo) ? p->waiting_signal : signo;
	} else if (!ignored(signo)) {
		sim_die(p, signo);
	}
}

void sim_hang(struct sim_process *p, bool unkillable)
{
	p->hung = true;
	p->unkillable = unkillable;
	sim_unset(p->host->world, &p->wake);
	sim_tell(p->host, "process %d hangs%s", p->pid, unkillable ? " and cannot be killed" : "");
}

void sim_unhang(struct sim_process *p)
{
	int signo = p->waiting_signal;

	p->hung = p->unkillable = false;
	p->waiting_signal = 0;
	if (signo)
		sim_die(p, signo);
	else
		sim_process_wake(p);
}

void sim_own(struct sim_process *p, void *self, void (*gone)(void *self))
{
	p->self = self;
	p->gone = gone;
}

void sim_program(struct sim_world *w, const char *path, sim_main run)
{
	size_t size = strlen(path) + 1;
	struct sim_named named = { memcpy(sim_get(size), path, size), run };

	sim_push(&w->programs, named);
}

struct fl_io *sim_io(struct sim_process *p)
{
	return p->io;
}

struct sim_host *sim_host_of(struct sim_process *p)
{
	return p->host;
}

struct sim_world *sim_world_of(struct sim_process *p)
{
	return p->host->world;
}

void *sim_arg(struct sim_process *p)
{
	return p->host->arg;
}

const char *const *sim_argv(struct sim_process *p)
{
	return (const char *const *)p->argv;
}

int sim_pid(const struct sim_process *p)
{
	return p->pid;
}

struct sim_process *sim_process_find(struct sim_host *host, int pid)
{
	for (uint32_t i = 0; i < host->processes.len; i++)
		if (host->processes.at[i]->pid == pid)
			return host->processes.at[i];
	return NULL;
}

unsigned sim_process_count(const struct sim_host *host)
{
	return host->processes.len;
}
