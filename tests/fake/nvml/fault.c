#include "fake/nvml/fault.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Where the state is: what the environment says, else beside the library. */
int fake_find(char path[PATH_MAX])
{
	const char *from = getenv(FAKE_ENV);
	static const char here = 0;     /* something of this library */
	Dl_info me;

	if (from && *from) {
		struct stat st;
		bool folder = stat(from, &st) == 0 && S_ISDIR(st.st_mode);
		return snprintf(path, PATH_MAX, folder ? "%s/" FAKE_FILE : "%s", from) < PATH_MAX ? 0 : -1;
	}
	if (!dladdr((void *)&here, &me) || !realpath(me.dli_fname, path))
		return -1;
	char *slash = strrchr(path, '/');
	size_t room = PATH_MAX - (size_t)(slash - path);
	return snprintf(slash, room, "/" FAKE_FILE) < (int)room ? 0 : -1;
}

/* Into a cgroup that stands still: not even SIGKILL ends a process there. Comes back when that cannot be done. */
static void freeze(const struct fake_state *state)
{
	char name[160];

	snprintf(name, sizeof(name), "/sys/fs/cgroup/freezer/fairlead-fake-%llx/cgroup.procs",
		 (unsigned long long)state->inode);
	int fd = open(name, O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		dprintf(fd, "0\n");
		close(fd);
	}
}

static void act(struct fake_state *state, const struct fake_fault *fault)
{
	switch ((enum fake_fault_kind)fault->kind) {
	case FAKE_FAIL: break;
	case FAKE_CRASH:
		/* With the lock held: who comes next gets it from the dead. */
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
		break;
	case FAKE_DELAY:
		fake_unlock(state);
		nanosleep(&(struct timespec){ .tv_sec = fault->value / 1000000,
			.tv_nsec = fault->value % 1000000 * 1000L }, NULL);
		fake_lock(state);
		break;
	case FAKE_FROZEN:
	case FAKE_DEAF:
	case FAKE_HANG: {
		sigset_t all;
		fake_unlock(state);
		sigfillset(&all);
		if (fault->kind == FAKE_FROZEN)
			freeze(state);
		if (fault->kind != FAKE_HANG)
			pthread_sigmask(SIG_BLOCK, &all, NULL);
		for (;;)
			pause();
	}
	}
}

int fake_faults(struct fake_state *state, int no, int gpu)
{
	for (uint32_t i = 0; i < FAKE_FAULTS; i++) {
		struct fake_fault *f = &state->faults[i];
		if (!f->used || (f->call >= 0 && f->call != no) || (f->gpu >= 0 && f->gpu != gpu) || f->times == 0)
			continue;
		if (f->times > 0 && --f->times == 0)
			f->used = 0;
		struct fake_fault now = *f;
		act(state, &now);
		if (now.kind == FAKE_FAIL)
			return (int)now.value;
	}
	return 0;
}
