#include "io/notify.h"
#include "base/backoff.h"
#include "base/chain.h"
#include "io/loop.h"
#include <assert.h>
#include <errno.h>

/* How often to retry a missing directory, and to list one without a kernel watch: soon at first, as it may just be
 * being made; then so rarely that it costs nothing. */
#define FL_NOTIFY_RETRY_FIRST (10 * FL_NS_PER_MS)
#define FL_NOTIFY_RETRY_LAST (1 * FL_NS_PER_S)

/* Sets up the kernel's watch, or lists the directory: both may block. */
struct look_job {
	struct fl_job job;
	int notify_fd;        /* -1: no kernel watches */
	int watch;            /* -1: none; `result` says why */
	bool taken;           /* a struct fl_notify has the watch */
	uint64_t seen;        /* without a watch: a digest of all names and their files; 0: no such directory */
	char dir[];
};

static uint64_t mix(uint64_t h, uint64_t value)
{
	h = (h ^ value) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

/* Names come in any order, so their digests are added. */
static uint64_t digest_of(const struct fl_fs *fs, int dir, const char *name)
{
	struct fl_stat stat = { 0 };
	uint64_t h = 1;

	for (const char *p = name; *p; p++)
		h = mix(h, (unsigned char)*p);
	if (fs->stat(fs, dir, name, AT_SYMLINK_NOFOLLOW, &stat) == 0)
		h = mix(mix(mix(mix(h, stat.ino), (uint64_t)stat.mtime), (uint64_t)stat.ctime), stat.size);
	return h;
}

static int64_t look(struct look_job *look, const struct fl_fs *fs)
{
	int fd = fs->open(fs, AT_FDCWD, look->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	struct fl_stat stat = { 0 };
	char buf[2048];
	int64_t len;

	if (fd < 0)
		return fd;
	if (fs->stat(fs, fd, "", AT_EMPTY_PATH, &stat) == 0)
		look->seen = mix(mix(1, stat.ino), (uint64_t)stat.ctime);
	while ((len = fs->list(fs, fd, buf, sizeof buf)) > 0) {
		const char *name;
		size_t at = 0;

		while ((name = fl_list_next(buf, (size_t)len, &at, NULL)))
			look->seen += digest_of(fs, fd, name);
	}
	look->seen |= 1;
	fs->close(fs, fd);
	return len;
}

static void run(struct fl_job *job, const struct fl_fs *fs)
{
	struct look_job *looking = fl_container(job, struct look_job, job);

	if (looking->notify_fd >= 0)
		looking->watch = fs->notify_add(fs, looking->notify_fd, looking->dir);
	if (looking->watch >= 0) {
		job->result = 0;
		return;
	}
	job->result = look(looking, fs);
	if (job->result >= 0)   /* it exists but is not watched: the reason */
		job->result = looking->notify_fd >= 0 ? looking->watch : -EMFILE;
}

static bool is_used(const struct fl_io *io, int watch)
{
	for (const struct fl_notify *n = io->notifies; n; n = n->next)
		if (n->watch == watch)
			return true;
	return false;
}

/* Not while a job may be about to get the same number: its directory would go unwatched. A watch that stays is dropped
 * at its next change. */
static void drop_watch(struct fl_io *io, int watch)
{
	if (watch >= 0 && io->notify_setups == 0 && io->notify_poll.fd >= 0 && !is_used(io, watch))
		io->sys->notify_drop(io->sys, io->notify_poll.fd, watch);
}

static void release(struct fl_job *job)
{
	struct look_job *looking = fl_container(job, struct look_job, job);

	job->io->notify_setups--;
	if (!looking->taken)
		drop_watch(job->io, looking->watch);
	if (!job->io->notifies)
		fl_notifies_close(job->io);
	fl_free(looking);
}

static void start_look(struct fl_notify *notify);

static void look_again(struct fl_timer *timer)
{
	start_look(fl_container(timer, struct fl_notify, timer));
}

static void finish(struct fl_job *job, struct fl_op *op)
{
	struct look_job *looking = fl_container(job, struct look_job, job);
	struct fl_notify *notify = fl_container(op, struct fl_notify, op);

	notify->watch = looking->watch;
	looking->taken = true;
	if (looking->seen != notify->seen)
		notify->reported = false;
	notify->seen = looking->seen;
	if (looking->watch < 0)
		fl_op_fail_sys(op, (int)-job->result, "watch '%s'", looking->dir);
	else
		fl_op_end(op, 0);
}

static void looked(struct fl_op *op)
{
	struct fl_notify *notify = fl_container(op, struct fl_notify, op);
	bool report = !notify->reported;

	if (op->result >= 0) {
		notify->hint = (struct fl_err){ .code = FL_OK };
		notify->delay = 0;
		report = true;
	} else {
		uint64_t now = fl_now(notify->io);
		uint64_t wait = fl_backoff(&notify->delay, FL_NOTIFY_RETRY_FIRST, FL_NOTIFY_RETRY_LAST);

		if (notify->rare && op->result == -FL_E_NOTFOUND && wait == FL_NOTIFY_RETRY_LAST)
			wait = fl_round_in(now, notify->rare);
		fl_timer_set(notify->io, &notify->timer, now + wait);
	}
	notify->reported = true;
	if (report)
		notify->changed(notify, "");
}

/* ---- the kernel's changes ---- */

static void report_change(struct fl_io *io, const struct fl_change *change)
{
	bool used = change->watch < 0 || change->gone;

	for (struct fl_notify *n = io->notifies; n; n = io->notify_next) {
		io->notify_next = n->next;
		if (n->watch < 0 || (change->watch >= 0 && n->watch != change->watch))
			continue;
		used = true;
		if (change->gone) {
			n->watch = -1;
			n->reported = false;   /* the listing may find another state than the one reported now */
			start_look(n);
		}
		n->changed(n, change->watch < 0 ? "" : change->name);
	}
	io->notify_next = NULL;
	if (!used)
		drop_watch(io, change->watch);
}

static void drain(struct fl_io *io)
{
	struct fl_change change;

	for (unsigned i = 0; io->notify_poll.fd >= 0; i++) {
		if (i == FL_TURN_EVENTS) {   /* the implementation may hold more than its fd shows */
			fl_timer_set(io, &io->notify_more, fl_now(io));
			return;
		}
		if (io->sys->notify_read(io->sys, io->notify_poll.fd, &change) <= 0)
			return;
		report_change(io, &change);
	}
}

static void drain_ready(struct fl_poll *poll, unsigned what)
{
	(void)what;
	drain(fl_container(poll, struct fl_io, notify_poll));
}

static void drain_more(struct fl_timer *timer)
{
	drain(fl_container(timer, struct fl_io, notify_more));
}

/* Without it directories are listed on a timer; each listing tries again. */
static void open_notify(struct fl_io *io)
{
	struct fl_poll *poll = &io->notify_poll;

	if (poll->fd >= 0)
		return;
	io->notify_more = (struct fl_timer){ .fire = drain_more };
	*poll = (struct fl_poll){ .ready = drain_ready, .fd = io->sys->notify_open(io->sys) };
	if (poll->fd >= 0 && fl_poll_set(io, poll, FL_READABLE, NULL) < 0) {
		fl_close(io, poll->fd);
		poll->fd = -1;
	}
}

/* ---- start and stop ---- */

static void start_look(struct fl_notify *notify)
{
	size_t dir = strlen(notify->dir) + 1;
	struct fl_io *io = notify->io;
	struct look_job *job = fl_zalloc(sizeof *job + dir);

	fl_timer_stop(io, &notify->timer);
	fl_op_cancel(&notify->op);
	notify->op = (struct fl_op){ .done = looked, .err = &notify->hint };
	if (!job) {
		fl_op_refuse(&notify->op, io, FL_E_NOMEM, "watch '%s'", notify->dir);
		return;
	}
	open_notify(io);
	job->job = (struct fl_job){ .run = run, .finish = finish, .release = release };
	job->notify_fd = io->notify_poll.fd;
	job->watch = -1;
	memcpy(job->dir, notify->dir, dir);
	io->notify_setups++;
	fl_job_start(io, &notify->op, &job->job, FL_LANE_NOTIFY);
}

void fl_notify_start(struct fl_io *io, struct fl_notify *notify)
{
	assert(!notify->io);
	notify->io = io;
	notify->hint = (struct fl_err){ .code = FL_OK };
	notify->timer = (struct fl_timer){ .fire = look_again };
	notify->delay = 0;
	notify->seen = 0;
	notify->reported = false;
	notify->watch = -1;
	fl_chain_append(&io->notifies_last, notify);
	start_look(notify);
}

void fl_notify_stop(struct fl_notify *notify)
{
	struct fl_io *io = notify->io;

	if (!io)
		return;
	if (io->notify_next == notify)
		io->notify_next = notify->next;
	fl_chain_take_of(&io->notifies_last, notify);
	fl_op_cancel(&notify->op);
	fl_timer_stop(io, &notify->timer);
	notify->io = NULL;
	drop_watch(io, notify->watch);
	if (!io->notifies)
		fl_notifies_close(io);
}

/* All processes of a user share 128 instances, so none is kept without need. A worker may still use it. */
void fl_notifies_close(struct fl_io *io)
{
	if (io->notify_poll.fd < 0 || io->notify_setups > 0)
		return;
	fl_poll_stop(io, &io->notify_poll);
	fl_timer_stop(io, &io->notify_more);
	fl_close(io, io->notify_poll.fd);
	io->notify_poll.fd = -1;
}
