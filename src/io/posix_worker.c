#include "io/posix.h"
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* Stack of a worker: name lookup is the hungriest (its buffers alone take 64 KiB); only touched pages cost memory. */
#define FL_WORKER_STACK (256 * FL_KIB)

/* The one place with threads and locks. A block of its own, because a thread that never returns keeps it. */
struct lane {
	struct fl_workers *all;
	pthread_t thread;
	pthread_cond_t more;
	bool alive;                      /* there is a thread */
	struct fl_job *first, **last;    /* those that have not begun */
};

struct fl_workers {
	pthread_mutex_t lock;
	bool quit;
	bool abandoned;                  /* the loop is gone: threads that still run must not touch their jobs */
	int wake;                        /* eventfd: some have returned */
	struct fl_job *returned, **returned_last;
	struct lane lanes[FL_LANE_COUNT_];
};

static struct fl_job *next_job(struct lane *lane)
{
	struct fl_workers *all = lane->all;
	struct fl_job *job;

	while (!lane->first && !all->quit)
		(void)pthread_cond_wait(&lane->more, &all->lock);
	job = all->quit ? NULL : lane->first;
	if (job) {
		lane->first = job->next;
		if (!lane->first)
			lane->last = &lane->first;
	}
	return job;
}

static void *work(void *arg)
{
	struct lane *lane = arg;
	struct fl_workers *all = lane->all;
	struct fl_job *job;

	(void)pthread_mutex_lock(&all->lock);
	while ((job = next_job(lane))) {
		(void)pthread_mutex_unlock(&all->lock);
		job->run(job, &fl_posix_fs);
		(void)pthread_mutex_lock(&all->lock);
		if (all->abandoned)
			break;
		job->returned = true;
		job->next = NULL;
		*all->returned_last = job;
		all->returned_last = &job->next;
		if (!all->quit)   /* else the fd may have been reused by now */
			(void)eventfd_write(all->wake, 1);
	}
	(void)pthread_mutex_unlock(&all->lock);
	return NULL;
}

/* A worker never sees a signal: they are the loop's. */
static int start_thread(struct lane *lane)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int r = pthread_attr_init(&attr);

	if (r != 0)
		return r;
	(void)pthread_attr_setstacksize(&attr, FL_WORKER_STACK);
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&lane->thread, &attr, work, lane);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attr);
	return r;
}

static int make_workers(struct fl_posix *posix)
{
	struct fl_workers *all = fl_zalloc(sizeof *all);
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = posix };

	if (!all)
		return -ENOMEM;
	all->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (all->wake < 0 || epoll_ctl(posix->epoll, EPOLL_CTL_ADD, all->wake, &event) < 0) {
		int r = -errno;

		if (all->wake >= 0)
			(void)close(all->wake);
		fl_free(all);
		return r;
	}
	(void)mallopt(M_ARENA_MAX, 1);   /* name lookup allocates: not from a heap of its own */
	/* Return large blocks to the kernel when they are freed. By default glibc would keep a scan's MiB for the rest
	 * of the process. */
	(void)mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	(void)pthread_mutex_init(&all->lock, NULL);
	all->returned_last = &all->returned;
	for (int i = 0; i < FL_LANE_COUNT_; i++) {
		all->lanes[i].all = all;
		all->lanes[i].last = &all->lanes[i].first;
		(void)pthread_cond_init(&all->lanes[i].more, NULL);
	}
	posix->workers = all;
	return 0;
}

static int job_start(struct fl_sys *sys, struct fl_job *job)
{
	struct fl_posix *posix = fl_posix_of(sys);
	struct lane *lane;
	int r = posix->workers ? 0 : make_workers(posix);

	if (!posix->workers)
		return r;
	lane = &posix->workers->lanes[job->lane];
	if (!lane->alive) {
		r = start_thread(lane);
		if (r != 0)
			return -r;
		lane->alive = true;
	}
	(void)pthread_mutex_lock(&posix->workers->lock);
	*lane->last = job;
	lane->last = &job->next;
	(void)pthread_mutex_unlock(&posix->workers->lock);
	(void)pthread_cond_signal(&lane->more);   /* with the lock held it would wake only to wait for that */
	return 0;
}

static bool job_drop(struct fl_sys *sys, struct fl_job *job)
{
	struct fl_workers *all = fl_posix_of(sys)->workers;
	struct lane *lane = &all->lanes[job->lane];
	bool found = false;

	(void)pthread_mutex_lock(&all->lock);
	for (struct fl_job **at = &lane->first; *at; at = &(*at)->next) {
		if (*at != job)
			continue;
		*at = job->next;
		if (!*at)
			lane->last = at;
		found = true;
		break;
	}
	(void)pthread_mutex_unlock(&all->lock);
	return found;
}

unsigned fl_workers_returned(struct fl_posix *posix, struct fl_io_event *events, unsigned max)
{
	struct fl_workers *all = posix->workers;
	unsigned len = 0;
	eventfd_t count;

	(void)pthread_mutex_lock(&all->lock);
	for (; all->returned && len < max; len++) {
		events[len] = (struct fl_io_event){ all->returned, FL_JOB_RETURNED };
		all->returned = all->returned->next;
	}
	if (!all->returned) {
		all->returned_last = &all->returned;
		(void)eventfd_read(all->wake, &count);
	}
	(void)pthread_mutex_unlock(&all->lock);
	return len;
}

static void settle(struct fl_sys *sys)
{
	struct fl_workers *all = fl_posix_of(sys)->workers;
	struct timespec until;

	if (!all)
		return;
	(void)pthread_mutex_lock(&all->lock);
	all->quit = true;
	for (int i = 0; i < FL_LANE_COUNT_; i++)
		(void)pthread_cond_signal(&all->lanes[i].more);
	(void)pthread_mutex_unlock(&all->lock);
	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(FL_IO_FREE_WAIT / FL_NS_PER_S);
	for (int i = 0; i < FL_LANE_COUNT_; i++) {
		struct lane *lane = &all->lanes[i];

		if (lane->alive && pthread_clockjoin_np(lane->thread, NULL, CLOCK_MONOTONIC, &until) == 0)
			lane->alive = false;
	}
	(void)pthread_mutex_lock(&all->lock);
	all->abandoned = true;
	(void)pthread_mutex_unlock(&all->lock);
}

void fl_workers_free(struct fl_posix *posix)
{
	struct fl_workers *all = posix->workers;
	bool stuck = false;

	if (!all)
		return;
	(void)close(all->wake);
	for (int i = 0; i < FL_LANE_COUNT_; i++) {
		if (all->lanes[i].alive)
			(void)pthread_detach(all->lanes[i].thread);
		stuck |= all->lanes[i].alive;
	}
	if (stuck)
		return;   /* that thread still reads it when it returns */
	for (int i = 0; i < FL_LANE_COUNT_; i++)
		(void)pthread_cond_destroy(&all->lanes[i].more);
	(void)pthread_mutex_destroy(&all->lock);
	fl_free(all);
}

void fl_posix_workers(struct fl_sys *sys)
{
	sys->settle = settle;
	sys->job_start = job_start;
	sys->job_drop = job_drop;
}
