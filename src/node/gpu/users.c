/* While the driver is paused: who else has it open, for whoever waits to unload it or to reset a GPU. */
#include "io/job.h"
#include "node/gpu/in.h"
#include <stdio.h>

struct users_job {
	struct fl_job job;
	struct fl_gpu *gpu;            /* for finish() alone: the worker may outlive it */
	char dev_root[FL_GPU_PATH_MAX], proc[FL_GPU_PATH_MAX], logs[FL_GPU_PATH_MAX];
	struct fl_driver_users found;
};

static void run(struct fl_job *job_, const struct fl_fs *fs)
{
	struct users_job *job = fl_container(job_, struct users_job, job);

	fl_driver_users_find(fs, job->proc, job->dev_root, job->logs, &job->found);
	job->job.result = 0;
}

static void finish(struct fl_job *job_, struct fl_op *op)
{
	struct users_job *job = fl_container(job_, struct users_job, job);

	job->gpu->users = job->found;
	fl_op_end(op, 0);
}

static bool is_whole(const struct fl_driver_users *users)
{
	return !users->unread && !users->error && !users->cut;
}

static bool is_free(const struct fl_driver_users *users)
{
	return !users->count && is_whole(users);
}

static void looked(struct fl_op *op)
{
	struct fl_gpu *gpu = fl_container(op, struct fl_gpu, users_look);

	gpu->users_known = op->result >= 0;
	gpu->users_at = gpu->users_known && is_free(&gpu->users) ? FL_NEVER : fl_now(gpu->io) + FL_DRIVER_USERS_EVERY;
	gpu_wake(gpu);
}

static bool any_kid(const struct fl_gpu *gpu)
{
	for (int i = 0; i < GPU_ROLE_COUNT_; i++)
		if (gpu->kids[i].s)
			return true;
	return false;
}

void gpu_users_ask(struct fl_gpu *gpu)
{
	fl_op_cancel(&gpu->users_look);
	gpu->users_known = false;
	gpu->users_at = gpu->users_until = 0;
}

/* A pause does not fail for want of names: it ends before its deadline, and says that they are not known yet. */
static void wait_for_names(struct fl_gpu *gpu)
{
	uint64_t now = fl_now(gpu->io), wait = FL_DRIVER_USERS_WAIT;

	for (const struct fl_gpu_pause *pause = gpu->waiting; pause; pause = pause->next)
		if (pause->op.deadline < now + 2 * wait)
			wait = pause->op.deadline > now ? (pause->op.deadline - now) / 2 : 0;
	gpu->users_until = now + wait;
}

void gpu_users_look(struct fl_gpu *gpu)
{
	const struct fl_gpu_options *o = &gpu->options;
	struct users_job *job;

	if (!gpu->pauses) {
		fl_op_cancel(&gpu->users_look);
		gpu->users = (struct fl_driver_users){ 0 };
		gpu->users_known = false;
		return;
	}
	if (any_kid(gpu) || fl_op_busy(&gpu->users_look) || fl_now(gpu->io) < gpu->users_at)
		return;
	if (!gpu->users_known)
		wait_for_names(gpu);
	gpu->users_look = (struct fl_op){ .done = looked };
	job = fl_zalloc(sizeof *job);
	if (!job) {
		fl_op_refuse(&gpu->users_look, gpu->io, FL_E_NOMEM, "no memory");
		return;
	}
	job->job = (struct fl_job){ .run = run, .finish = finish };
	job->gpu = gpu;
	(void)snprintf(job->dev_root, sizeof job->dev_root, "%s", o->dev_root ? o->dev_root : gpu->found.root);
	(void)snprintf(job->proc, sizeof job->proc, "%s", o->proc);
	(void)snprintf(job->logs, sizeof job->logs, "%s", o->pod_logs ? o->pod_logs : FL_POD_LOGS);
	fl_job_start(gpu->io, &gpu->users_look, &job->job, FL_LANE_OPEN_FILES);
}

/* Nobody was seen with it, which is not the same as nobody has it. */
static void say_unknown(const struct fl_gpu *gpu, struct fl_buf *ret)
{
	const struct fl_driver_users *users = &gpu->users;

	fl_buf_str(ret, FL_S("; whether other processes have it open is not known"));
	if (!gpu->users_known)
		fl_buf_str(ret, FL_S(" yet"));
	else if (users->error)
		fl_buf_printf(ret, ": read '%s': %s", gpu->options.proc, strerror(users->error));
	else if (users->unread)
		fl_buf_printf(ret, ": the open files of %u process%s cannot be read: give the agent CAP_SYS_PTRACE and "
				   "CAP_DAC_READ_SEARCH",
			      users->unread, users->unread == 1 ? "" : "es");
	else
		fl_buf_str(ret, FL_S(": too many processes or open files to check all"));
}

void fl_gpu_users(const struct fl_gpu *gpu, struct fl_buf *ret)
{
	const struct fl_driver_users *users = &gpu->users;

	if (!gpu->pauses || (gpu->users_known && is_free(users)))
		return;
	if (!gpu->users_known || !users->count) {
		say_unknown(gpu, ret);
		return;
	}
	fl_buf_printf(ret, "; %u process%s still %s it open: %s%s%s", users->count, users->count == 1 ? "" : "es",
		      users->count == 1 ? "has" : "have", users->text,
		      users->count > FL_DRIVER_USERS_NAMED ? ", ..." : "",
		      is_whole(users) ? "" : " (not all processes were checked)");
	fl_buf_str(ret, FL_S(": end them before the driver is unloaded or a GPU is reset"));
}
