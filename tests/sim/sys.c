/* What a process sees: the table of io/sys.h. */
#include "sim/sim_in.h"
#include <errno.h>

#define PROCESS(sys_) fl_container(sys_, struct sim_process, sys)

/* A process that has ended, or whose host has no power, changes nothing any more. */
static bool powerless(const struct sim_process *p)
{
	return p->dead || p->host->cut_now;
}

bool sim_refuses(struct sim_process *p)
{
	bool (*refuse)(void) = p->host->world->config.refuse;

	return powerless(p) || (refuse && refuse());
}

/* ---- open files and fds ---- */

struct sim_file *sim_file_new(struct sim_host *host, enum sim_kind kind)
{
	struct sim_file *file = sim_get(sizeof *file);

	file->host = host;
	file->kind = kind;
	file->refs = 1;
	return file;
}

void sim_file_ref(struct sim_file *file)
{
	file->refs++;
}

void sim_file_drop(struct sim_file *file)
{
	if (--file->refs)
		return;
	switch (file->kind) {
	case SIM_INODE:
		sim_unlock(file);
		sim_inode_drop(file->inode);
		sim_put(file->list_after);
		sim_inode_drop(file->dir);
		sim_put(file->name);
		break;
	case SIM_SOCK:
		sim_net_close(file->sock);
		break;
	case SIM_LISTENER:
		sim_net_close_listener(file->listener);
		break;
	case SIM_PROCESS:
		file->process->handle = NULL;
		sim_process_drop(file->process);
		break;
	case SIM_STARTED:
		break;
	case SIM_SIGNALS:
		if (file->process->signals == file)
			file->process->signals = NULL;
		break;
	case SIM_NOTIFY:
		sim_notify_close(file->notify);
		break;
	}
	sim_put(file);
}

unsigned sim_file_ready(const struct sim_file *file)
{
	switch (file->kind) {
	case SIM_INODE:
		return FL_READABLE | FL_WRITABLE;
	case SIM_SOCK:
		return sim_net_ready(file->sock);
	case SIM_LISTENER:
		return file->listener->first ? FL_READABLE : 0;
	case SIM_PROCESS:
		return file->process->dead ? FL_READABLE : 0;
	case SIM_STARTED:
		return file->started ? FL_READABLE | FL_HUNGUP : 0;
	case SIM_SIGNALS:
		return file->process->pending ? FL_READABLE : 0;
	case SIM_NOTIFY:
		return file->notify->lost || file->notify->taken < file->notify->queue.len ? FL_READABLE : 0;
	}
	return 0;
}

static void queue_ready(struct sim_fd *fd)
{
	struct sim_process *p = fd->process;

	if (!fd->queued) {
		fd->queued = true;
		fd->next_ready = NULL;
		*p->ready_last = fd;
		p->ready_last = &fd->next_ready;
	}
	sim_process_wake(p);
}

void sim_file_changed(struct sim_file *file)
{
	unsigned ready = file->watchers ? sim_file_ready(file) : 0;

	for (struct sim_fd *fd = file->watchers; fd; fd = fd->next)
		if (ready & (fd->want | FL_HUNGUP))
			queue_ready(fd);
}

int sim_fd_add(struct sim_process *p, struct sim_file *file, int at_least)
{
	uint64_t max = p->host->faults.fds ? p->host->faults.fds : 4096;
	struct sim_fd *fd;
	uint32_t i = (uint32_t)at_least;

	while (i < p->fds.len && p->fds.at[i])
		i++;
	if (i >= max) {
		sim_file_drop(file);
		return -EMFILE;
	}
	while (p->fds.len <= i)
		sim_push(&p->fds, NULL);
	fd = sim_get(sizeof *fd);
	*fd = (struct sim_fd){ .process = p, .file = file };
	p->fds.at[i] = fd;
	return (int)i;
}

static struct sim_fd *fd_of(const struct sim_process *p, int fd)
{
	return fd >= 0 && (uint32_t)fd < p->fds.len ? p->fds.at[fd] : NULL;
}

struct sim_file *sim_fd_get(const struct sim_process *p, int fd)
{
	struct sim_fd *found = fd_of(p, fd);

	return found ? found->file : NULL;
}

static void unqueue_ready(struct sim_fd *fd)
{
	struct sim_process *p = fd->process;
	struct sim_fd **from = &p->ready;

	if (!fd->queued)
		return;
	while (*from != fd)
		from = &(*from)->next_ready;
	*from = fd->next_ready;
	if (!*from)
		p->ready_last = from;
	fd->queued = false;
}

static void unwatch(struct sim_fd *fd)
{
	if (!fd->want)
		return;
	unqueue_ready(fd);
	*fd->from = fd->next;
	if (fd->next)
		fd->next->from = fd->from;
	fd->want = 0;
}

void sim_fd_close(struct sim_process *p, int number)
{
	struct sim_fd *fd = fd_of(p, number);

	if (!fd)
		return;
	unwatch(fd);
	p->fds.at[number] = NULL;
	sim_file_drop(fd->file);
	sim_put(fd);
}

void sim_sys_close_all(struct sim_process *p)
{
	for (uint32_t i = 0; i < p->fds.len; i++)
		sim_fd_close(p, (int)i);
	for (unsigned i = 0; i < FL_LANE_COUNT_; i++)
		sim_unset(p->host->world, &p->lanes[i].run);
}

/* ---- time, chance ---- */

static uint64_t sys_now(struct fl_sys *sys)
{
	struct sim_process *p = PROCESS(sys);

	return p->host->world->now - p->host->booted + 1;
}

static int64_t sys_wall(struct fl_sys *sys)
{
	return sim_wall(PROCESS(sys)->host);
}

static int sys_random(struct fl_sys *sys, void *bytes, size_t len)
{
	struct sim_process *p = PROCESS(sys);
	uint64_t n = 0;

	if (sim_refuses(p))
		return -EIO;
	for (size_t i = 0; i < len; i++, n >>= 8) {
		if (i % 8 == 0)
			n = sim_random(p->host->world);
		((uint8_t *)bytes)[i] = (uint8_t)n;
	}
	return 0;
}

/* ---- readiness ---- */

static int sys_watch(struct fl_sys *sys, int number, unsigned had, unsigned want, void *token)
{
	struct sim_process *p = PROCESS(sys);
	struct sim_fd *fd = fd_of(p, number);

	if (!want) {
		if (fd)
			unwatch(fd);
		return 0;
	}
	if (!fd)
		return -EBADF;
	if (!had && sim_refuses(p))
		return -ENOSPC;
	if (!fd->want) {
		fd->next = fd->file->watchers;
		fd->from = &fd->file->watchers;
		if (fd->next)
			fd->next->from = &fd->next;
		fd->file->watchers = fd;
	}
	fd->want = want;
	fd->token = token;
	if (sim_file_ready(fd->file) & (want | FL_HUNGUP))
		queue_ready(fd);
	return 0;
}

static void give_back_job(struct sim_process *p, struct fl_job *job)
{
	job->next = NULL;
	*p->returned_last = job;
	p->returned_last = &job->next;
}

/* Those that were told and are still ready go to the end of the queue, so that all have their turn. */
static unsigned take_ready(struct sim_process *p, struct fl_io_event *events, unsigned max)
{
	struct sim_fd *last = NULL, *fd;
	unsigned n = 0;

	while (n < max && (fd = p->ready) && fd != last) {
		unsigned what = sim_file_ready(fd->file) & (fd->want | FL_HUNGUP);

		unqueue_ready(fd);
		if (!what)
			continue;
		events[n++] = (struct fl_io_event){ fd->token, what };
		fd->queued = true;
		fd->next_ready = NULL;
		*p->ready_last = fd;
		p->ready_last = &fd->next_ready;
		last = last ? last : fd;
	}
	return n;
}

static int sys_wait(struct fl_sys *sys, uint64_t until, struct fl_io_event *events, unsigned max)
{
	struct sim_process *p = PROCESS(sys);
	unsigned n = 0;

	(void)until;
	while (n < max && p->returned) {
		struct fl_job *job = p->returned;

		p->returned = job->next;
		if (!p->returned)
			p->returned_last = &p->returned;
		events[n++] = (struct fl_io_event){ job, FL_JOB_RETURNED };
	}
	return (int)(n + take_ready(p, events + n, max - n));
}

bool sim_has_events(struct sim_process *p)
{
	if (p->returned)
		return true;
	while (p->ready) {
		if (sim_file_ready(p->ready->file) & (p->ready->want | FL_HUNGUP))
			return true;
		unqueue_ready(p->ready);
	}
	return false;
}

/* ---- jobs ---- */

static void lane_runs(struct sim_event *event)
{
	struct sim_lane *lane = fl_container(event, struct sim_lane, run);
	struct sim_process *p = lane->process;
	struct fl_job *job = lane->first;

	lane->first = job->next;
	if (!lane->first)
		lane->last = &lane->first;
	lane->begun = false;
	job->run(job, &p->fs);
	sim_tell(p->host, "process %d job ends: %lld", p->pid, (long long)job->result);
	give_back_job(p, job);
	sim_process_wake(p);
	sim_lane_go(lane);
}

/* Whose jobs wait for the disk. */
static bool is_of_disk(const struct sim_lane *lane)
{
	const struct sim_lane *lanes = lane->process->lanes;

	return lane == &lanes[FL_LANE_FILES] || lane == &lanes[FL_LANE_BULK] || lane == &lanes[FL_LANE_JOURNAL];
}

void sim_lane_go(struct sim_lane *lane)
{
	struct sim_process *p = lane->process;
	struct sim_world *w = p->host->world;
	const struct sim_faults *f = &p->host->faults;
	uint64_t min = f->disk_max ? f->disk_min : 20000, max = f->disk_max ? f->disk_max : 200000;

	if (lane->begun || !lane->first || (f->stuck && is_of_disk(lane)))
		return;
	lane->begun = true;
	sim_set(w, &lane->run, w->now + min + sim_below(w, max - min + 1));
}

static int sys_job_start(struct fl_sys *sys, struct fl_job *job)
{
	struct sim_process *p = PROCESS(sys);
	struct sim_lane *lane = &p->lanes[job->lane];

	if (sim_refuses(p))
		return -EAGAIN;
	job->next = NULL;
	*lane->last = job;
	lane->last = &job->next;
	sim_lane_go(lane);
	return 0;
}

static bool sys_job_drop(struct fl_sys *sys, struct fl_job *job)
{
	struct sim_process *p = PROCESS(sys);
	struct sim_lane *lane = &p->lanes[job->lane];

	if (p->dead)
		return true;
	for (struct fl_job **from = &lane->first; *from; from = &(*from)->next) {
		if (*from != job)
			continue;
		if (from == &lane->first && lane->begun)
			return false;
		*from = job->next;
		if (!*from)
			lane->last = from;
		return true;
	}
	return false;
}

/* ---- sockets ---- */

static int sys_connect(struct fl_sys *sys, const struct fl_addr *addr)
{
	struct sim_process *p = PROCESS(sys);

	return sim_refuses(p) ? -ENOMEM : sim_net_connect(p, addr);
}

static struct sim_sock *sock_of(const struct sim_process *p, int fd)
{
	struct sim_file *file = sim_fd_get(p, fd);

	return file && file->kind == SIM_SOCK ? file->sock : NULL;
}

static int sys_connected(struct fl_sys *sys, int fd)
{
	struct sim_sock *sock = sock_of(PROCESS(sys), fd);

	if (!sock)
		return -EBADF;
	return sock->state == SIM_FAILED ? -sock->error : sock->state == SIM_CONNECTING ? -EINPROGRESS : 0;
}

static int sys_listen(struct fl_sys *sys, const struct fl_addr *addr, unsigned mode)
{
	struct sim_process *p = PROCESS(sys);

	return sim_refuses(p) ? -ENOMEM : sim_net_listen(p, addr, mode);
}

static int sys_accept(struct fl_sys *sys, int number, struct fl_addr *ret_peer)
{
	struct sim_process *p = PROCESS(sys);
	struct sim_file *listening = sim_fd_get(p, number), *file;
	struct sim_sock *sock;

	if (!listening || listening->kind != SIM_LISTENER)
		return -EINVAL;
	if (sim_refuses(p))
		return -ENOMEM;
	sock = sim_net_accept(listening->listener);
	if (!sock)
		return -EAGAIN;
	*ret_peer = sock->remote;
	file = sim_file_new(p->host, SIM_SOCK);
	file->sock = sock;
	sock->file = file;
	return sim_fd_add(p, file, 3);
}

static int sys_local_addr(struct fl_sys *sys, int number, struct fl_addr *ret)
{
	struct sim_file *file = sim_fd_get(PROCESS(sys), number);

	if (!file || (file->kind != SIM_SOCK && file->kind != SIM_LISTENER))
		return -ENOTSOCK;
	*ret = file->kind == SIM_SOCK ? file->sock->local : file->listener->addr;
	return 0;
}

static int sys_peer_cred(struct fl_sys *sys, int number, struct fl_cred *ret)
{
	struct sim_sock *sock = sock_of(PROCESS(sys), number);

	if (!sock)
		return -ENOTSOCK;
	if (sock->remote.kind != FL_ADDR_UNIX)
		return -EINVAL;
	*ret = sock->cred;
	return 0;
}

static int64_t sys_read(struct fl_sys *sys, int number, void *bytes, size_t len)
{
	struct sim_process *p = PROCESS(sys);
	struct sim_file *file = sim_fd_get(p, number);

	if (!file)
		return -EBADF;
	if (sim_refuses(p))
		return -ECONNRESET;
	if (file->kind == SIM_SOCK)
		return sim_net_read(file->sock, bytes, len);
	if (file->kind != SIM_STARTED)
		return -EINVAL;
	if (!file->started)
		return -EAGAIN;
	if (!file->started_errno || file->told || len < sizeof(int))
		return 0;
	file->told = true;
	memcpy(bytes, &file->started_errno, sizeof(int));
	return sizeof(int);
}

static int64_t sys_write(struct fl_sys *sys, int number, const void *bytes, size_t len)
{
	struct sim_process *p = PROCESS(sys);
	struct sim_sock *sock = sock_of(p, number);

	if (!sock)
		return -EBADF;
	return sim_refuses(p) ? -ECONNRESET : sim_net_write(sock, bytes, len);
}

static int sys_shutdown_write(struct fl_sys *sys, int number)
{
	struct sim_process *p = PROCESS(sys);
	struct sim_sock *sock = sock_of(p, number);

	if (!sock)
		return -ENOTSOCK;
	return powerless(p) ? 0 : sim_net_shutdown(sock);
}

static void sys_close(struct fl_sys *sys, int number)
{
	struct sim_process *p = PROCESS(sys);

	/* After the end the files are closed all at once, in the order of their numbers. */
	if (!p->dead)
		sim_fd_close(p, number);
}

static int sys_pair(struct fl_sys *sys, enum fl_pair_kind kind, int ret_fds[static 2])
{
	struct sim_process *p = PROCESS(sys);
	struct sim_file *files[2];

	if (sim_refuses(p))
		return -EMFILE;
	(void)sim_net_pair(p, kind, files);
	ret_fds[0] = sim_fd_add(p, files[0], 3);
	ret_fds[1] = ret_fds[0] < 0 ? ret_fds[0] : sim_fd_add(p, files[1], 3);
	if (ret_fds[0] < 0)
		sim_file_drop(files[1]);
	else if (ret_fds[1] < 0)
		sim_fd_close(p, ret_fds[0]);
	return ret_fds[1] < 0 ? ret_fds[1] : 0;
}

/* ---- children ---- */

static sim_main program(const struct sim_world *w, const char *path)
{
	for (uint32_t i = 0; i < w->programs.len; i++)
		if (strcmp(w->programs.at[i].path, path) == 0)
			return w->programs.at[i].run;
	return NULL;
}

static void copy_argv(struct sim_process *p, const char *const *argv)
{
	size_t n = 0;

	while (argv && argv[n])
		n++;
	p->argv = sim_get((n + 1) * sizeof *p->argv);
	for (size_t i = 0; i < n; i++) {
		size_t size = strlen(argv[i]) + 1;

		p->argv[i] = memcpy(sim_get(size), argv[i], size);
	}
}

static int spawn_missing(struct sim_file *started, struct sim_process *child)
{
	started->started = true;
	started->started_errno = ENOENT;
	child->started = NULL;
	sim_exit(child, 127);
	return 0;
}

static int sys_spawn(struct fl_sys *sys, const struct fl_spawn *how, struct fl_spawned *ret)
{
	struct sim_process *parent = PROCESS(sys), *child;
	struct sim_host *host = parent->host;
	sim_main run = program(host->world, how->path);
	struct sim_file *started, *file;

	if (sim_refuses(parent))
		return -EAGAIN;
	started = sim_file_new(host, SIM_STARTED);
	ret->started = sim_fd_add(parent, started, 3);
	if (ret->started < 0)
		return ret->started;
	file = sim_file_new(host, SIM_PROCESS);
	file->process = child = sim_process_new(host, run, parent->pid);
	child->handle = file;
	sim_process_ref(child);
	child->death_signal = how->death_signal;
	copy_argv(child, how->argv);
	ret->fd = sim_fd_add(parent, file, 3);
	if (ret->fd < 0) {
		int r = ret->fd;

		sim_exit(child, 127);
		sim_fd_close(parent, ret->started);
		return r;
	}
	ret->pid = child->pid;
	if (!run)
		return spawn_missing(started, child);
	for (unsigned i = 0; i < how->fd_count; i++) {
		struct sim_file *given = sim_fd_get(parent, how->fds[i].fd);

		if (!given)
			continue;
		sim_file_ref(given);
		(void)sim_fd_add(child, given, how->fds[i].as);
	}
	child->started = started;
	sim_file_ref(started);
	/* exec takes a moment, and the parent goes on meanwhile */
	child->not_before = host->world->now + 200000 + sim_below(host->world, 800000);
	sim_process_wake(child);
	return 0;
}

static struct sim_process *process_of(const struct sim_process *p, int number)
{
	struct sim_file *file = sim_fd_get(p, number);

	return file && file->kind == SIM_PROCESS ? file->process : NULL;
}

static int sys_reap(struct fl_sys *sys, int number, struct fl_exit *ret)
{
	struct sim_process *child = process_of(PROCESS(sys), number);

	if (!child)
		return -EBADF;
	if (!child->dead)
		return -EAGAIN;
	if (child->reaped)
		return -ECHILD;
	child->reaped = true;
	*ret = child->exit;
	return 0;
}

static int sys_kill(struct fl_sys *sys, int number, int signo)
{
	struct sim_process *p = PROCESS(sys), *child = process_of(p, number);

	if (powerless(p) || !child)
		return -ESRCH;
	if (child->dead)
		return -ESRCH;
	sim_signal(child, signo);
	return 0;
}

static int sys_process(struct fl_sys *sys, int pid)
{
	struct sim_process *p = PROCESS(sys), *other = sim_process_find(p->host, pid);
	struct sim_file *file;

	if (sim_refuses(p))
		return -EMFILE;
	if (!other)
		return -ESRCH;
	file = other->handle;
	if (file) {
		sim_file_ref(file);
	} else {
		file = sim_file_new(p->host, SIM_PROCESS);
		file->process = other;
		other->handle = file;
		sim_process_ref(other);
	}
	return sim_fd_add(p, file, 3);
}

/* ---- signals, directories ---- */

static int sys_signals(struct fl_sys *sys, uint64_t set)
{
	struct sim_process *p = PROCESS(sys);
	struct sim_file *file;

	if (sim_refuses(p))
		return -EMFILE;
	file = sim_file_new(p->host, SIM_SIGNALS);
	file->process = p;
	p->signals = file;
	p->caught |= set;
	return sim_fd_add(p, file, 3);
}

static int sys_signal_read(struct fl_sys *sys, int fd)
{
	struct sim_process *p = PROCESS(sys);
	int signo = __builtin_ffsll((long long)p->pending);

	(void)fd;
	if (!signo)
		return -EAGAIN;
	p->pending &= p->pending - 1;
	return signo;
}

static int sys_notify_open(struct fl_sys *sys)
{
	struct sim_process *p = PROCESS(sys);
	struct sim_file *file;

	if (p->host->faults.no_notify || sim_refuses(p))
		return -EMFILE;
	file = sim_file_new(p->host, SIM_NOTIFY);
	file->notify = sim_get(sizeof *file->notify);
	file->notify->host = p->host;
	file->notify->file = file;
	return sim_fd_add(p, file, 3);
}

static int sys_notify_read(struct fl_sys *sys, int fd, struct fl_change *ret)
{
	struct sim_file *file = sim_fd_get(PROCESS(sys), fd);

	return file && file->kind == SIM_NOTIFY ? sim_notify_next(file->notify, ret) : -EBADF;
}

static void sys_notify_drop(struct fl_sys *sys, int fd, int watch)
{
	struct sim_file *file = sim_fd_get(PROCESS(sys), fd);

	if (file && file->kind == SIM_NOTIFY)
		sim_notify_drop_watch(file->notify, watch);
}

/* By then the process is dead, and sys_job_drop has given everything back. */
static void sys_settle(struct fl_sys *sys)
{
	(void)sys;
}

static void sys_free(struct fl_sys *sys)
{
	(void)sys;
}

void sim_sys_init(struct sim_process *p)
{
	p->sys = (struct fl_sys){
		.free = sys_free, .settle = sys_settle, .fs = &p->fs,
		.now = sys_now, .wall = sys_wall, .random = sys_random,
		.watch = sys_watch, .wait = sys_wait, .job_start = sys_job_start, .job_drop = sys_job_drop,
		.connect = sys_connect, .connected = sys_connected, .listen = sys_listen, .accept = sys_accept,
		.local_addr = sys_local_addr, .peer_cred = sys_peer_cred, .read = sys_read, .write = sys_write,
		.shutdown_write = sys_shutdown_write, .close = sys_close, .pair = sys_pair,
		.spawn = sys_spawn, .reap = sys_reap, .kill = sys_kill, .process = sys_process, .signals = sys_signals,
		.signal_read = sys_signal_read, .notify_open = sys_notify_open, .notify_read = sys_notify_read,
		.notify_drop = sys_notify_drop,
	};
	p->ready_last = &p->ready;
	p->returned_last = &p->returned;
	for (unsigned i = 0; i < FL_LANE_COUNT_; i++) {
		p->lanes[i] = (struct sim_lane){ .process = p, .run = { .fire = lane_runs } };
		p->lanes[i].last = &p->lanes[i].first;
	}
}
