#include "scarce_io.h"
#include "io/job.h"
#include "io/sys.h"
#include <pthread.h>
#include <stdatomic.h>

static atomic_int no_fd, no_process, no_room;  /* the error; 0: it refuses nothing */
static struct fl_sys usual;
static struct fl_fs refusing;
static const struct fl_fs *usual_fs;

static struct {
	struct fl_job *job;
	void (*run)(struct fl_job *job, const struct fl_fs *fs);
} jobs[64];
static pthread_mutex_t jobs_lock = PTHREAD_MUTEX_INITIALIZER;

static int refuse(int *ret)
{
	*ret = -atomic_load(&no_fd);
	return *ret;
}

#define REFUSING(name, params, args) \
	static int name##_refusing params \
	{ \
		int r_; \
		return refuse(&r_) ? r_ : usual.name args; \
	}
REFUSING(connect, (struct fl_sys * sys, const struct fl_addr *addr), (sys, addr))
REFUSING(listen, (struct fl_sys * sys, const struct fl_addr *addr, unsigned mode), (sys, addr, mode))
REFUSING(accept, (struct fl_sys * sys, int fd, struct fl_addr *ret), (sys, fd, ret))
REFUSING(pair, (struct fl_sys * sys, enum fl_pair_kind kind, int ret[static 2]), (sys, kind, ret))
REFUSING(process, (struct fl_sys * sys, int pid), (sys, pid))
REFUSING(notify_open, (struct fl_sys * sys), (sys))

static int spawn_refusing(struct fl_sys *sys, const struct fl_spawn *how, struct fl_spawned *ret)
{
	int r = -atomic_load(&no_process);

	return r || refuse(&r) ? r : usual.spawn(sys, how, ret);
}

static int open_refusing(const struct fl_fs *fs, int dir, const char *path, int flags, unsigned mode)
{
	int r;

	return refuse(&r) ? r : usual_fs->open(fs, dir, path, flags, mode);
}

static int open_in_refusing(const struct fl_fs *fs, int dir, const char *path, int flags, unsigned mode, uint64_t how)
{
	int r;

	return refuse(&r) ? r : usual_fs->open_in(fs, dir, path, flags, mode, how);
}

static int64_t write_refusing(const struct fl_fs *fs, int fd, const void *bytes, size_t len)
{
	int error = atomic_load(&no_room);

	return error ? -error : usual_fs->write(fs, fd, bytes, len);
}

static int64_t pwrite_refusing(const struct fl_fs *fs, int fd, const void *bytes, size_t len, uint64_t at)
{
	int error = atomic_load(&no_room);

	return error ? -error : usual_fs->pwrite(fs, fd, bytes, len, at);
}

static void run_refusing(struct fl_job *job, const struct fl_fs *fs)
{
	(void)fs;
	(void)pthread_mutex_lock(&jobs_lock);
	for (size_t i = 0; i < FL_LEN(jobs); i++)
		if (jobs[i].job == job) {
			job->run = jobs[i].run;
			jobs[i].job = NULL;
			break;
		}
	(void)pthread_mutex_unlock(&jobs_lock);
	job->run(job, &refusing);
}

/* Without a place for it a job runs on the kernel as it is. */
static int job_start_refusing(struct fl_sys *sys, struct fl_job *job)
{
	(void)pthread_mutex_lock(&jobs_lock);
	for (size_t i = 0; i < FL_LEN(jobs); i++)
		if (!jobs[i].job) {
			jobs[i].job = job;
			jobs[i].run = job->run;
			job->run = run_refusing;
			break;
		}
	(void)pthread_mutex_unlock(&jobs_lock);
	return usual.job_start(sys, job);
}

static bool job_drop_refusing(struct fl_sys *sys, struct fl_job *job)
{
	if (!usual.job_drop(sys, job))
		return false;
	(void)pthread_mutex_lock(&jobs_lock);
	for (size_t i = 0; i < FL_LEN(jobs); i++)
		if (jobs[i].job == job)
			jobs[i].job = NULL;
	(void)pthread_mutex_unlock(&jobs_lock);
	return true;
}

void scarce_io(struct fl_io *io)
{
	struct fl_sys *sys = fl_io_sys(io);

	usual = *sys;
	usual_fs = sys->fs;
	refusing = *sys->fs;
	refusing.open = open_refusing;
	refusing.open_in = open_in_refusing;
	refusing.write = write_refusing;
	refusing.pwrite = pwrite_refusing;
	sys->connect = connect_refusing;
	sys->listen = listen_refusing;
	sys->accept = accept_refusing;
	sys->pair = pair_refusing;
	sys->process = process_refusing;
	sys->notify_open = notify_open_refusing;
	sys->spawn = spawn_refusing;
	sys->job_start = job_start_refusing;
	sys->job_drop = job_drop_refusing;
}

void scarce_disk_from_now(int error)
{
	atomic_store(&no_room, error);
}

void scarce_from_now(int fd, int process)
{
	atomic_store(&no_fd, fd);
	atomic_store(&no_process, process);
}
