#include "io/job.h"
#include "base/mem.h"
#include "io/loop.h"
#include <assert.h>

static void fly(struct fl_job *job)
{
	struct fl_io *io = job->io;

	job->flying = io->flying;
	if (job->flying)
		job->flying->from = &job->flying;
	job->from = &io->flying;
	io->flying = job;
}

static void land(struct fl_job *job)
{
	*job->from = job->flying;
	if (job->flying)
		job->flying->from = job->from;
	if (job->release)
		job->release(job);
	else
		fl_free(job);
}

static void let_go(struct fl_op *op)
{
	struct fl_job *job = op->held;

	if (op->state == FL_OP_ENDED)   /* the job is gone, and its result holds nothing */
		return;
	job->op = NULL;
	if (job->io->sys->job_drop(job->io->sys, job))
		land(job);
}

/* Hand it to the implementation; false: refused, and the operation has failed. */
static bool submit(struct fl_job *job)
{
	int r;

	job->again = job->returned = false;
	job->next = NULL;
	r = job->io->sys->job_start(job->io->sys, job);
	if (r < 0)
		fl_op_fail_sys(job->op, -r, "start a worker");
	return r >= 0;
}

void fl_job_start(struct fl_io *io, struct fl_op *op, struct fl_job *job, enum fl_lane lane)
{
	fl_op_begin(op, io, let_go);
	op->held = job;
	job->op = op;
	job->io = io;
	job->lane = lane;
	fly(job);
	if (!submit(job))
		land(job);
}

void fl_job_again(struct fl_job *job)
{
	job->again = true;
}

static void finish(struct fl_job *job)
{
	if (job->finish)
		job->finish(job, job->op);
	else if (job->result < 0)
		fl_op_fail_sys(job->op, (int)-job->result, "%s", job->what ? job->what : "job");
	else
		fl_op_end(job->op, job->result);
}

void fl_job_returned(struct fl_job *job)
{
	if (job->op) {
		finish(job);
		if (job->again && submit(job))
			return;
		assert(job->op->state != FL_OP_PENDING);
	}
	land(job);
}

void fl_jobs_take_back(struct fl_io *io)
{
	struct fl_job *next;

	for (struct fl_job *job = io->flying; job; job = next) {
		next = job->flying;
		job->op = NULL;
		if (io->sys->job_drop(io->sys, job))
			land(job);
	}
}

void fl_jobs_release(struct fl_io *io)
{
	struct fl_job *next;

	for (struct fl_job *job = io->flying; job; job = next) {
		next = job->flying;
		if (job->returned)
			land(job);
	}
}
