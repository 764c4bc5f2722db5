#include "io/posix.h"
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child shares our memory until its exec, while we go on. Else our page tables are copied at each start, and each
 * page that we write after it is faulted in again. Not vfork: a hanging exec would hang us. So the child writes to
 * nothing of ours, errno included: it has a stack and a copy of *how, and its system calls are bare. */
struct fl_posix_launch {
	struct fl_spawn how;
	int status;                      /* an errno is written to it; the exec closes it */
	int parent;
	size_t size;                     /* of this mapping */
	atomic_int sharing;              /* the kernel makes it 0 when the child has another memory, or none */
	_Alignas(16) char stack[16 * FL_KIB];
	const char *pointers[];          /* argv and env; after them the fds and all texts */
};

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SHARE (CLONE_VM | CLONE_CHILD_CLEARTID)

static long bare(long number, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return r;
}
#elif defined(__aarch64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SHARE (CLONE_VM | CLONE_CHILD_CLEARTID)

static long bare(long number, long a, long b, long c, long d)
{
	register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3)
			 : "memory");
	return x0;
}
#else
#define SHARE 0                      /* a copy of our memory, as fork makes it */

static long bare(long number, long a, long b, long c, long d)
{
	long r = syscall(number, a, b, c, d);

	return r < 0 ? -errno : r;
}
#endif
#define BARE(name, a, b, c, d) ((int)bare(SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d)))

/* ---- in the child, between clone and exec ---- */

static void reset_signals(void)
{
	static const uint64_t fresh[8];  /* the kernel's sigaction: SIG_DFL, no flags, no mask */

	for (int signo = 1; signo < NSIG; signo++)
		(void)BARE(rt_sigaction, signo, fresh, NULL, sizeof(uint64_t));
	(void)BARE(rt_sigprocmask, SIG_SETMASK, fresh, NULL, sizeof(uint64_t));
}

/* Whatever has been opened, by whomever, will not outlive the exec; ours would not anyway. */
static void close_others(void)
{
	if (BARE(close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC, 0) == 0)
		return;
	for (int fd = 3; fd < 4096; fd++)   /* a kernel before 5.11 */
		(void)BARE(fcntl, fd, F_SETFD, FD_CLOEXEC, 0);
}

/* Out of the way first, so that no number that is wanted is still in use; then to their places. 0, or an errno. */
static int place_fds(const struct fl_spawn *how, int *status)
{
	int high[FL_SPAWN_FDS], null, above = 3;

	for (unsigned i = 0; i < how->fd_count; i++)
		above = how->fds[i].as >= above ? how->fds[i].as + 1 : above;
	*status = BARE(fcntl, *status, F_DUPFD_CLOEXEC, above, 0);
	null = BARE(openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC, 0);
	if (*status < 0 || null < 0)
		return *status < 0 ? -*status : -null;
	for (unsigned i = 0; i < how->fd_count; i++) {
		high[i] = BARE(fcntl, how->fds[i].fd, F_DUPFD_CLOEXEC, above, 0);
		if (high[i] < 0)
			return -high[i];
	}
	null = BARE(fcntl, null, F_DUPFD_CLOEXEC, above, 0);
	for (int fd = 0; fd < 3; fd++) {
		int r = null < 0 ? null : BARE(dup3, null, fd, 0, 0);

		if (r < 0)
			return -r;
	}
	for (unsigned i = 0; i < how->fd_count; i++) {
		int r = BARE(dup3, high[i], how->fds[i].as, 0, 0);
		int flags = r < 0 ? r : BARE(fcntl, high[i], F_GETFL, 0, 0);

		/* Programs expect to wait when they read and write. */
		if (flags >= 0)
			flags = BARE(fcntl, high[i], F_SETFL, flags & ~O_NONBLOCK, 0);
		if (flags < 0)
			return -flags;
	}
	return 0;
}

/* 0, or an errno. */
static int stand(const struct fl_spawn *how)
{
	int r = how->session ? BARE(setsid, 0, 0, 0, 0) : 0;

	if (r >= 0 && how->death_signal)
		r = BARE(prctl, PR_SET_PDEATHSIG, how->death_signal, 0, 0);
	if (r >= 0)
		r = BARE(chdir, how->dir ? how->dir : "/", 0, 0, 0);
	return r < 0 ? -r : 0;
}

static int become(void *arg)
{
	static const char *const no_env[] = { NULL };
	const struct fl_posix_launch *launch = arg;
	const struct fl_spawn *how = &launch->how;
	int status = launch->status, sys;

	reset_signals();
	close_others();
	sys = place_fds(how, &status);
	if (!sys)
		sys = stand(how);
	if (how->death_signal && BARE(getppid, 0, 0, 0, 0) != launch->parent)
		return 127;              /* it died before we could ask to be told */
	if (!sys)
		sys = -BARE(execve, how->path, how->argv, how->env ? how->env : no_env, 0);
	(void)BARE(write, status, &sys, sizeof sys, 0);
	return 127;
}

/* ---- in the parent ---- */

/* Whether no child shares our memory (any more). */
bool fl_posix_launch_over(struct fl_posix *posix)
{
	if (posix->launch && !atomic_load(&posix->launch->sharing)) {
		(void)munmap(posix->launch, posix->launch->size);
		posix->launch = NULL;
	}
	return !posix->launch;
}

static size_t text_size(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

struct room {
	size_t pointers, texts;          /* bytes */
};

static void add_list(struct room *room, const char *const *list)
{
	for (size_t i = 0; list; i++) {
		room->pointers += sizeof *list;
		room->texts += text_size(list[i]);
		if (!list[i])
			break;
	}
}

static const char *copy_text(char **texts, const char *text)
{
	size_t size = text_size(text);
	char *copy = text ? memcpy(*texts, text, size) : NULL;

	*texts += size;
	return copy;
}

static const char *const *copy_list(const char ***pointers, char **texts, const char *const *list)
{
	const char **copy = *pointers;

	if (!list)
		return NULL;
	for (; *list; list++)
		*(*pointers)++ = copy_text(texts, *list);
	*(*pointers)++ = NULL;
	return copy;
}

/* A mapping of its own: that of a child which hangs is left behind. */
static struct fl_posix_launch *launch_new(const struct fl_spawn *how)
{
	struct room room = { .texts = text_size(how->path) + text_size(how->dir) };
	size_t fds_len = how->fd_count * sizeof *how->fds, size;
	struct fl_posix_launch *launch;
	const char **pointers;
	char *texts;

	add_list(&room, how->argv);
	add_list(&room, how->env);
	size = sizeof *launch + room.pointers + fds_len + room.texts;
	launch = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (launch == MAP_FAILED)
		return NULL;
	launch->size = size;
	pointers = launch->pointers;
	texts = (char *)pointers + room.pointers + fds_len;
	launch->how = *how;
	launch->how.fds = fds_len ? memcpy((char *)pointers + room.pointers, how->fds, fds_len) : NULL;
	launch->how.path = copy_text(&texts, how->path);
	launch->how.dir = copy_text(&texts, how->dir);
	launch->how.argv = copy_list(&pointers, &texts, how->argv);
	launch->how.env = copy_list(&pointers, &texts, how->env);
	return launch;
}

/* clone and not fork: it hands over the pidfd, so that no pid can be mistaken; and not clone3, which default seccomp
 * filters refuse. */
static int launch_start(struct fl_posix_launch *launch, bool share, int *ret_fd)
{
	int flags = CLONE_PIDFD | SIGCHLD | (share ? SHARE : 0), pid;
	sigset_t all, old;

	launch->parent = getpid();
	launch->sharing = flags & CLONE_VM ? 1 : 0;
	/* No handler of ours may run in the child. */
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	pid = clone(become, launch->stack + sizeof launch->stack, flags, launch, ret_fd, NULL, &launch->sharing);
	if (pid < 0) {
		pid = -errno;
		launch->sharing = 0;
	}
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return pid;
}

/* One shares our memory at a time; while its exec hangs, others get a copy. */
static int spawn(struct fl_sys *sys, const struct fl_spawn *how, struct fl_spawned *ret)
{
	struct fl_posix *posix = fl_posix_of(sys);
	bool share = fl_posix_launch_over(posix);
	struct fl_posix_launch *launch = launch_new(how);
	int status[2], fd = -1, pid;

	if (!launch)
		return -ENOMEM;
	if (pipe2(status, O_CLOEXEC | O_NONBLOCK) < 0) {
		(void)munmap(launch, launch->size);
		return -errno;
	}
	launch->status = status[1];
	pid = launch_start(launch, share, &fd);
	if (launch->sharing)
		posix->launch = launch;
	else
		(void)munmap(launch, launch->size);
	(void)close(status[1]);
	if (pid < 0) {
		(void)close(status[0]);
		return pid;
	}
	*ret = (struct fl_spawned){ .pid = pid, .fd = fd, .started = status[0] };
	return 0;
}

static int reap(struct fl_sys *sys, int fd, struct fl_exit *ret)
{
	siginfo_t info = { 0 };

	(void)sys;
	if (FL_SYS_RETRY(waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG)) < 0)
		return -errno;
	if (info.si_pid == 0)
		return -EAGAIN;
	if (info.si_code == CLD_EXITED)
		*ret = (struct fl_exit){ .code = info.si_status };
	else
		*ret = (struct fl_exit){ .code = -1, .signo = info.si_status };
	return 0;
}

static int send_signal(struct fl_sys *sys, int fd, int signo)
{
	(void)sys;
	return syscall(SYS_pidfd_send_signal, fd, signo, NULL, 0) < 0 ? -errno : 0;
}

static int process(struct fl_sys *sys, int pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	(void)sys;
	return fd < 0 ? -errno : fd;
}

static int signals(struct fl_sys *sys, uint64_t set)
{
	sigset_t mask;
	int fd;

	(void)sys;
	sigemptyset(&mask);
	for (int signo = 1; signo <= 64; signo++)
		if (set >> (signo - 1) & 1)
			sigaddset(&mask, signo);
	fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	(void)pthread_sigmask(SIG_BLOCK, &mask, NULL);   /* workers block all, so none goes past us */
	return fd;
}

static int signal_read(struct fl_sys *sys, int fd)
{
	struct signalfd_siginfo info;
	ssize_t n = FL_SYS_RETRY(read(fd, &info, sizeof info));

	(void)sys;
	return n < 0 ? -errno : n == sizeof info ? (int)info.ssi_signo : -EAGAIN;
}

void fl_posix_children(struct fl_sys *sys)
{
	sys->spawn = spawn;
	sys->reap = reap;
	sys->kill = send_signal;
	sys->process = process;
	sys->signals = signals;
	sys->signal_read = signal_read;
}
