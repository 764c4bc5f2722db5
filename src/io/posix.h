/* posix.h - the inside of the real implementation of io/sys.h: for io/posix*.c only. */
#pragma once
#include "base/limits.h"
#include "io/sys.h"
#include <errno.h>
#include <stdio.h>

struct fl_workers;
struct fl_posix_inotify;

struct fl_posix {
	struct fl_sys sys;
	int epoll;
	bool no_pwait2;              /* a kernel or a seccomp filter without it: round up to ms */
	int spare;                   /* an fd to give up when there are no others; -1: not needed yet */
	struct fl_workers *workers;  /* NULL: no job yet */
	struct fl_posix_inotify *inotify;
};

static inline struct fl_posix *fl_posix_of(struct fl_sys *sys)
{
	return fl_container(sys, struct fl_posix, sys);
}

/* The kernel's way to fail, as the seam's. */
static inline int64_t fl_sys_result(int64_t r)
{
	return r < 0 ? -errno : r;
}
#define FL_SYS_RETRY(call) ({ \
	__typeof__(call) retry_; \
	do \
		retry_ = (call); \
	while (retry_ < 0 && errno == EINTR); \
	retry_; \
})

extern const struct fl_fs fl_posix_fs;                   /* posix_file.c */
int fl_posix_lookup(const struct fl_fs *fs, const char *host, struct fl_addr *ret, unsigned max);   /* posix_sock.c */

void fl_posix_sockets(struct fl_sys *sys);               /* each fills in its part of the table */
void fl_posix_children(struct fl_sys *sys);
void fl_posix_notify(struct fl_sys *sys);
void fl_posix_workers(struct fl_sys *sys);

unsigned fl_workers_returned(struct fl_posix *posix, struct fl_event *events, unsigned max);
void fl_workers_free(struct fl_posix *posix);
int fl_posix_cover(const struct fl_fs *fs, int dir, const char *name, const void *bytes, size_t len);
