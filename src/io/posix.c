#include "io/posix.h"
#include "io/loop.h"
#include <assert.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static int64_t read_clock(clockid_t id)
{
	struct timespec t;

	(void)clock_gettime(id, &t);
	return (int64_t)t.tv_sec * (int64_t)FL_NS_PER_S + t.tv_nsec;
}

static uint64_t now(struct fl_sys *sys)
{
	(void)sys;
	/* Counts the time that the machine slept: a lease expires then too. Never 0; the half of a ns does not
	 * matter. */
	return (uint64_t)read_clock(CLOCK_BOOTTIME) | 1;
}

static int64_t wall(struct fl_sys *sys)
{
	(void)sys;
	return read_clock(CLOCK_REALTIME);
}

static int random_bytes(struct fl_sys *sys, void *bytes, size_t len)
{
	char *p = bytes;

	(void)sys;
	while (len) {
		ssize_t n = FL_SYS_RETRY(getrandom(p, len, 0));

		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int watch(struct fl_sys *sys, int fd, unsigned had, unsigned want, void *token)
{
	struct epoll_event event = { .data.ptr = token };
	int how = !want ? EPOLL_CTL_DEL : had ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (want & FL_READABLE)
		event.events |= EPOLLIN;
	if (want & FL_WRITABLE)
		event.events |= EPOLLOUT;
	return epoll_ctl(fl_posix_of(sys)->epoll, how, fd, &event) < 0 ? -errno : 0;
}

static int wait_ms(struct fl_posix *posix, struct epoll_event *events, unsigned max, const struct timespec *left)
{
	int ms = -1;

	if (left)   /* round up, or the loop would spin for the last ms; wait an hour at most */
		ms = left->tv_sec >= 3600 ? 3600000 : (int)(left->tv_sec * 1000 + (left->tv_nsec + 999999) / 1000000);
	return epoll_wait(posix->epoll, events, (int)max, ms);
}

static int wait_epoll(struct fl_posix *posix, uint64_t until, struct epoll_event *events, unsigned max)
{
	struct timespec left = { 0 }, *timeout = until == FL_NEVER ? NULL : &left;
	uint64_t t = until == 0 || until == FL_NEVER ? until : now(&posix->sys);
	int n;

	if (until > t) {
		left.tv_sec = (time_t)((until - t) / FL_NS_PER_S);
		left.tv_nsec = (long)((until - t) % FL_NS_PER_S);
	}
	if (posix->no_pwait2)
		return wait_ms(posix, events, max, timeout);
	n = epoll_pwait2(posix->epoll, events, (int)max, timeout, NULL);
	if (n < 0 && (errno == ENOSYS || errno == EPERM)) {
		posix->no_pwait2 = true;
		n = wait_ms(posix, events, max, timeout);
	}
	return n;
}

static unsigned what_of(uint32_t events)
{
	return (events & EPOLLIN ? FL_READABLE : 0u) | (events & EPOLLOUT ? FL_WRITABLE : 0u) |
	       (events & (EPOLLHUP | EPOLLERR) ? FL_HUNGUP : 0u);
}

static int wait_events(struct fl_sys *sys, uint64_t until, struct fl_io_event *events, unsigned max)
{
	struct fl_posix *posix = fl_posix_of(sys);
	struct epoll_event got[FL_TURN_EVENTS];
	bool jobs = false;
	unsigned len = 0;
	int n = wait_epoll(posix, until, got, max < FL_TURN_EVENTS ? max : FL_TURN_EVENTS);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	for (int i = 0; i < n; i++) {
		if (got[i].data.ptr == posix)
			jobs = true;
		else
			events[len++] = (struct fl_io_event){ got[i].data.ptr, what_of(got[i].events) };
	}
	/* Those that do not fit keep the fd readable. */
	if (jobs)
		len += fl_workers_returned(posix, events + len, max - len);
	return (int)len;
}

static void close_fd(struct fl_sys *sys, int fd)
{
	(void)sys;
	(void)close(fd);   /* once: on Linux the fd is gone even after EINTR */
}

static void free_posix(struct fl_sys *sys)
{
	struct fl_posix *posix = fl_posix_of(sys);

	fl_workers_free(posix);
	fl_free(posix->inotify);
	(void)fl_posix_launch_over(posix);   /* the memory of one that hangs stays */
	(void)close(posix->epoll);
	if (posix->spare >= 0)
		(void)close(posix->spare);
	fl_free(posix);
}

struct fl_sys *fl_posix_sys(struct fl_err *err)
{
	struct fl_posix *posix = fl_zalloc(sizeof *posix);

	if (!posix)
		return fl_null(err, FL_E_NOMEM, "event loop");
	posix->spare = -1;
	posix->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (posix->epoll < 0) {
		(void)fl_fail_sys(err, errno, "event loop: epoll");
		fl_free(posix);
		return NULL;
	}
	(void)signal(SIGPIPE, SIG_IGN);   /* a write to a closed pipe is an error like any other */
	posix->sys = (struct fl_sys){
		.free = free_posix, .fs = &fl_posix_fs, .now = now, .wall = wall, .random = random_bytes,
		.watch = watch, .wait = wait_events, .close = close_fd,
	};
	fl_posix_sockets(&posix->sys);
	fl_posix_children(&posix->sys);
	fl_posix_notify(&posix->sys);
	fl_posix_workers(&posix->sys);
	return &posix->sys;
}
