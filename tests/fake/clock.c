/* A machine whose wall clock steps, for one program: preloaded by LD_PRELOAD, it adds what the file of
 * FAIRLEAD_FAKE_CLOCK says, eight bytes of signed nanoseconds in the machine's order, whenever that changes. Clocks
 * that measure go on. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

enum { NS_PER_S = 1000000000 };

static const int64_t *ahead;

__attribute__((constructor)) static void find_clock(void)
{
	const char *path = getenv("FAIRLEAD_FAKE_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED) {
		fprintf(stderr, "fake clock: FAIRLEAD_FAKE_CLOCK names no file of eight bytes\n");
		_exit(127);
	}
	close(fd);
	ahead = at;
}

SHOWN int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int r = (int)syscall(SYS_clock_gettime, clock, ret);

	if (r == 0 && ahead && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
		int64_t ns = (int64_t)ret->tv_sec * NS_PER_S + ret->tv_nsec + __atomic_load_n(ahead, __ATOMIC_RELAXED);

		ret->tv_sec = ns / NS_PER_S;
		ret->tv_nsec = ns % NS_PER_S;
	}
	return r;
}

SHOWN time_t time(time_t *ret)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}

SHOWN int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
	struct timespec now = { 0 };

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &now) < 0)
		return -1;
	*ret = (struct timeval){ .tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000 };
	return 0;
}
