#include "io/posix.h"
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- in the child, between fork and exec: nothing but system calls ---- */

static void reset_signals(void)
{
	struct sigaction fresh = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int signo = 1; signo < NSIG; signo++)
		(void)sigaction(signo, &fresh, NULL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Whatever has been opened, by whomever, will not outlive the exec; ours would not anyway. */
static void close_others(void)
{
	if (close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) == 0)
		return;
	for (int fd = 3; fd < 4096; fd++)   /* a kernel before 5.11 */
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* Out of the way first, so that no number that is wanted is still in use; then to their places. */
static int place_fds(const struct fl_spawn *how, int *status)
{
	int high[FL_SPAWN_FDS], null, above = 3;

	for (unsigned i = 0; i < how->fd_count; i++)
		above = how->fds[i].as >= above ? how->fds[i].as + 1 : above;
	*status = fcntl(*status, F_DUPFD_CLOEXEC, above);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (*status < 0 || null < 0)
		return -1;
	for (unsigned i = 0; i < how->fd_count; i++) {
		high[i] = fcntl(how->fds[i].fd, F_DUPFD_CLOEXEC, above);
		if (high[i] < 0)
			return -1;
	}
	null = fcntl(null, F_DUPFD_CLOEXEC, above);
	if (null < 0)
		return -1;
	for (int fd = 0; fd < 3; fd++)
		if (dup2(null, fd) < 0)
			return -1;
	for (unsigned i = 0; i < how->fd_count; i++) {
		int flags = fcntl(high[i], F_GETFL);

		/* Programs expect to wait when they read and write. */
		if (dup2(high[i], how->fds[i].as) < 0 || flags < 0 || fcntl(high[i], F_SETFL, flags & ~O_NONBLOCK) < 0)
			return -1;
	}
	return 0;
}

static int stand(const struct fl_spawn *how, int parent)
{
	if (how->session && setsid() < 0)
		return -1;
	if (how->death_signal && prctl(PR_SET_PDEATHSIG, how->death_signal) < 0)
		return -1;
	if (how->death_signal && getppid() != parent)   /* it died before we could ask to be told */
		_exit(127);
	return chdir(how->dir ? how->dir : "/");
}

__attribute__((noreturn)) static void become(const struct fl_spawn *how, int status, int parent)
{
	static const char *const no_env[] = { NULL };
	int sys;

	reset_signals();
	close_others();
	if (place_fds(how, &status) == 0 && stand(how, parent) == 0)
		(void)execve(how->path, (char *const *)how->argv, (char *const *)(how->env ? how->env : no_env));
	sys = errno;
	(void)!write(status, &sys, sizeof sys);
	_exit(127);
}

/* ---- in the parent ---- */

/* clone and not fork: it hands over the pidfd, so that no pid can be mistaken; and not clone3, which default seccomp
 * filters refuse. Not vfork: a hanging exec would hang us. */
static int fork_pidfd(int *ret_fd)
{
	return (int)syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, NULL, ret_fd, NULL, NULL);
}

static int spawn(struct fl_sys *sys, const struct fl_spawn *how, struct fl_spawned *ret)
{
	int status[2], fd = -1, parent = getpid(), pid;
	sigset_t all, old;

	(void)sys;
	if (pipe2(status, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	/* No handler of ours may run in the child. */
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	pid = fork_pidfd(&fd);
	if (pid == 0)
		become(how, status[1], parent);
	if (pid < 0)
		pid = -errno;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
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
