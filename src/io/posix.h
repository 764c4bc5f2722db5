/* posix.h - the inside of the real implementation of io/sys.h: for io/posix*.c only. */
#pragma once
#include "io/sys.h"
#include <errno.h>
#include <stdio.h>

struct fl_workers;
struct fl_posix_inotify;
struct fl_posix_launch;

struct fl_posix {
	struct fl_sys sys;
	int epoll;
	bool no_pwait2;              /* the kernel or a seccomp filter lacks it: round up to ms */
	int spare;                   /* an fd to close when no other is left; -1: not needed yet */
	struct fl_workers *workers;  /* NULL: no job yet */
	struct fl_posix_inotify *inotify;
	struct fl_posix_launch *launch;      /* of a child that shares our memory until its exec; NULL: none */
};

static inline struct fl_posix *fl_posix_of(struct fl_sys *sys)
{
	return fl_container(sys, struct fl_posix, sys);
}

/* A system call's result as the seam returns it: a negated errno on failure. */
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
bool fl_posix_launch_over(struct fl_posix *posix);
void fl_posix_notify(struct fl_sys *sys);
void fl_posix_workers(struct fl_sys *sys);

unsigned fl_workers_returned(struct fl_posix *posix, struct fl_io_event *events, unsigned max);
void fl_workers_free(struct fl_posix *posix);
int fl_posix_cover(const struct fl_fs *fs, int dir, const char *name, const void *bytes, size_t len);
