#include "io/posix.h"
#include <sys/inotify.h>
#include <unistd.h>

/* What one read returned and has not been reported yet. Small: the kernel keeps the rest. */
struct fl_posix_inotify {
	size_t at, len;
	_Alignas(struct inotify_event) char bytes[1024];
};
_Static_assert(sizeof((struct fl_posix_inotify *)0)->bytes >= sizeof(struct inotify_event) + FL_NAME_MAX + 1,
	       "the longest event must fit, or the kernel gives none");

static int notify_open(struct fl_sys *sys)
{
	struct fl_posix *posix = fl_posix_of(sys);
	int fd;

	if (!posix->inotify)
		posix->inotify = fl_zalloc(sizeof *posix->inotify);
	if (!posix->inotify)
		return -ENOMEM;
	posix->inotify->at = posix->inotify->len = 0;
	fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static int notify_read(struct fl_sys *sys, int fd, struct fl_change *ret)
{
	struct fl_posix_inotify *in = fl_posix_of(sys)->inotify;
	struct inotify_event event;
	size_t name;

	if (in->at == in->len) {
		ssize_t n = FL_SYS_RETRY(read(fd, in->bytes, sizeof in->bytes));

		in->at = in->len = 0;
		if (n <= 0)
			return n < 0 ? -errno : -EAGAIN;
		in->len = (size_t)n;
	}
	memcpy(&event, in->bytes + in->at, sizeof event);
	*ret = (struct fl_change){ .watch = event.mask & IN_Q_OVERFLOW ? -1 : event.wd };
	ret->gone = event.mask & (IN_IGNORED | IN_MOVE_SELF);
	if (event.len) {
		name = strnlen(in->bytes + in->at + sizeof event, event.len);
		if (name > FL_NAME_MAX)
			name = FL_NAME_MAX;
		memcpy(ret->name, in->bytes + in->at + sizeof event, name);
	}
	in->at += sizeof event + event.len;
	if (event.mask & IN_MOVE_SELF)   /* the watched path is no longer its own */
		(void)inotify_rm_watch(fd, event.wd);
	return 1;
}

static void notify_drop(struct fl_sys *sys, int fd, int watch)
{
	(void)sys;
	(void)inotify_rm_watch(fd, watch);
}

void fl_posix_notify(struct fl_sys *sys)
{
	sys->notify_open = notify_open;
	sys->notify_read = notify_read;
	sys->notify_drop = notify_drop;
}
