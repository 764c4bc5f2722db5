#include "fake/nvml/fault.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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

/* Healed, or the node's file is gone with whoever made it. */
static bool is_over(const struct fake_state *state, int file, uint32_t heals)
{
	struct stat st;

	return __atomic_load_n(&state->heals, __ATOMIC_ACQUIRE) != heals || fstat(file, &st) < 0 || st.st_nlink == 0;
}

/* A process of its own, which traces the one that hangs. A traced process that is killed stops once more before it
 * gives anything back (PTRACE_EVENT_EXIT), and stays so until its tracer lets it go: memory and files are still there,
 * nobody can wait for it, and more signals change nothing. */
static _Noreturn void keep(struct fake_state *state, pid_t thread, int file, int ready)
{
	const int dying = SIGTRAP | PTRACE_EVENT_EXIT << 8;
	uint32_t heals = __atomic_load_n(&state->heals, __ATOMIC_ACQUIRE);
	bool killed = false;
	int status;

	if (ptrace(PTRACE_SEIZE, thread, NULL, (void *)(uintptr_t)PTRACE_O_TRACEEXIT) < 0)
		_exit(1);   /* it hangs as a deaf one, and its test fails */
	(void)__atomic_add_fetch(&state->frozen, 1, __ATOMIC_RELEASE);
	(void)!write(ready, "", 1);
	close(ready);
	for (;;) {
		uint32_t bell = __atomic_load_n(&state->bell, __ATOMIC_ACQUIRE);
		pid_t got = waitpid(thread, &status, __WALL | WNOHANG);

		if (got < 0 || (got > 0 && !WIFSTOPPED(status)))
			_exit(0);
		if (got > 0 && status >> 8 == dying)
			killed = true;
		else if (got > 0)   /* on its way to a signal, or stopped by one */
			(void)ptrace(PTRACE_CONT, thread, NULL, (void *)(uintptr_t)(WSTOPSIG(status) & 0x7f));
		if (is_over(state, file, heals)) {
			(void)kill(thread, SIGKILL);
			if (killed) {
				(void)ptrace(PTRACE_DETACH, thread, NULL, NULL);
				_exit(0);
			}
		}
		fake_wait(state, bell, 10);
	}
}

/* From now on not even SIGKILL ends this thread, until a `heal`. */
static void freeze(struct fake_state *state)
{
	pid_t thread = gettid(), tracer;
	char path[PATH_MAX], byte;
	int go[2], ready[2], file;

	if (fake_find(path) < 0 || (file = open(path, O_RDONLY | O_CLOEXEC)) < 0 || pipe(go) < 0 || pipe(ready) < 0)
		return;
	tracer = fork();
	if (tracer == 0) {
		(void)setsid();
		(void)dup2(file, 0);
		(void)dup2(ready[1], 1);
		(void)dup2(go[0], 2);
		/* What the driver and the agent are to this process is not ours. (musl has no close_range.) */
		(void)syscall(SYS_close_range, 3u, ~0u, 0u);
		(void)!read(2, &byte, 1);
		keep(state, thread, 0, 1);
	}
	close(ready[1]);
	if (tracer > 0) {
		(void)prctl(PR_SET_PTRACER, tracer);
		(void)!write(go[1], "", 1);
		(void)!read(ready[0], &byte, 1);
	}
	close(ready[0]);
	close(go[0]);
	close(go[1]);
	close(file);
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
			return now.value ? (int)now.value : FAKE_PRETENDED;
	}
	return 0;
}
