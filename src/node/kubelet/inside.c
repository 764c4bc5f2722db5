#include "node/kubelet/inside.h"
#include "api/node.h"
#include "base/log.h"
#include "io/job.h"
#include "node/host/driver_root.h"
#include "node/kubelet/inside_scan.h"
#include "run/memory.h"
#include <errno.h>
#include <stdio.h>

/* ---- a look, in a worker ---- */

struct look {
	struct fl_job job;
	struct fl_inside_feeder *feeder;       /* for finish() alone: the worker may outlive it */
	char proc[FL_GPU_PATH_MAX], logs[FL_GPU_PATH_MAX];
	struct fl_inside_scan scan;
};

static void run(struct fl_job *job, const struct fl_fs *fs)
{
	struct look *look = fl_container(job, struct look, job);

	fl_inside_scan(fs, &look->scan);
	job->result = 0;
}

static int put(struct fl_feed *feed, struct fl_arena *arena, const struct fl_inside_pod *pod)
{
	struct fl_inside inside = { 0 };
	struct fl_str rest = fl_str(pod->pod), space;
	struct fl_str name = rest.len ? rest : fl_arena_printf(arena, "UID %s", pod->uid);

	FL_SET(FL_IN(&inside, meta), name, name);
	if (rest.len && fl_str_split(&rest, '/', &space)) {
		FL_SET(&inside, pod_space, space);
		FL_SET(&inside, pod, rest);
	}
	FL_SET_TEXT(&inside, library, fl_str(pod->library));
	FL_SET_TEXT(&inside, process, fl_str(pod->process));
	FL_SET_TEXT(&inside, denied, fl_str(pod->denied));
	FL_SET_TEXT(&inside, unlinked, fl_str(pod->unlinked));
	return name.p ? fl_feed_put(feed, &inside, NULL) : -FL_E_NOMEM;
}

static const char no_openat2[] = "update the kernel to Linux 5.6 or later, until then no lost device is found: ";

/* What has not been told for want of memory is told by the next look: what is gone must not be gone for that. */
static void tell(struct fl_inside_feeder *feeder, const struct fl_inside_scan *scan, struct fl_op *op)
{
	struct fl_feed *feed = fl_loop_feed(feeder->loop, &fl_inside_kind);
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	/* Where the kernel cannot open any, none was ever found by its /dev. */
	bool unseen = scan->unopened && scan->unopened != ENOSYS, all = true;

	if (!scan->cut && !unseen)
		fl_feed_begin(feed);
	for (uint32_t i = 0; i < scan->len; i++)
		all &= put(feed, &arena, &scan->at[i]) == 0;
	if (!all) {
		fl_op_fail(op, FL_E_NOMEM, "no memory for what was found in containers");
		return;
	}
	if (scan->cut) {   /* who was not scanned is as before */
		fl_op_fail(op, FL_E_TOOBIG, "more than %d processes, %d containers or %d Pods with a finding: the rest "
					    "was not scanned",
			   FL_INSIDE_PIDS, FL_INSIDE_CONTAINERS, FL_INSIDE_PODS);
		return;
	}
	if (!unseen)
		fl_feed_synced(feed);
	if (scan->unopened)
		fl_op_fail_sys(op, scan->unopened, "%sopen /dev of a container",
			       scan->unopened == ENOSYS ? no_openat2 : "");
	else
		fl_op_end(op, 0);
}

static void finish(struct fl_job *job, struct fl_op *op)
{
	const struct look *look = fl_container(job, struct look, job);

	if (look->scan.error)
		fl_op_fail_sys(op, look->scan.error, "read '%s'", look->proc);
	else
		tell(look->feeder, &look->scan, op);
}

/* ---- when ---- */

static void look_now(struct fl_inside_feeder *feeder);

static uint64_t next_round(const struct fl_inside_feeder *feeder)
{
	uint64_t now = fl_now(feeder->io);

	return now + fl_round_in(now, feeder->options.every);
}

static void looked(struct fl_op *op)
{
	struct fl_inside_feeder *feeder = fl_container(op, struct fl_inside_feeder, op);
	bool failed = op->result < 0;

	if (failed && !feeder->failed)
		fl_log(feeder->options.log, FL_WARN, "container scan failed, will retry",
		       FL_KV_ERR(&feeder->err));
	feeder->failed = failed;
	if (feeder->anew)
		look_now(feeder);
	else if (feeder->wanted && (feeder->again || failed) && !fl_timer_is_set(&feeder->timer))
		fl_timer_set(feeder->io, &feeder->timer, next_round(feeder));
}

static void look_now(struct fl_inside_feeder *feeder)
{
	const struct fl_inside_options *o = &feeder->options;
	struct look *look;

	feeder->anew = fl_op_busy(&feeder->op);
	if (feeder->anew)
		return;
	fl_timer_stop(feeder->io, &feeder->timer);
	feeder->op = (struct fl_op){ .done = looked, .err = &feeder->err,
				     .deadline = fl_now(feeder->io) + FL_INSIDE_WAIT };
	look = fl_zalloc(sizeof *look);
	if (!look) {
		fl_op_refuse(&feeder->op, feeder->io, FL_E_NOMEM, "no memory");
		return;
	}
	look->job = (struct fl_job){ .run = run, .finish = finish };
	look->feeder = feeder;
	(void)snprintf(look->proc, sizeof look->proc, "%s", o->proc);
	(void)snprintf(look->logs, sizeof look->logs, "%s", o->logs);
	look->scan.proc = look->proc;
	look->scan.logs = look->logs;
	memcpy(look->scan.version, feeder->version, sizeof look->scan.version);
	fl_job_start(feeder->io, &feeder->op, &look->job, FL_LANE_PROCESSES);
}

static void due(struct fl_timer *timer)
{
	look_now(fl_container(timer, struct fl_inside_feeder, timer));
}

static void want(struct fl_inside_feeder *feeder, const struct fl_inspection *inspection)
{
	bool same = feeder->wanted && fl_str_eq(fl_str(feeder->version), inspection->version);

	feeder->wanted = true;
	feeder->again = inspection->again;
	if (!same) {
		(void)snprintf(feeder->version, sizeof feeder->version, "%.*s", FL_ARG(inspection->version));
		fl_timer_set(feeder->io, &feeder->timer, fl_now(feeder->io) + FL_INSIDE_FIRST);
	} else if (fl_timer_is_set(&feeder->timer) && feeder->timer.at <= fl_now(feeder->io) + FL_INSIDE_FIRST) {
		return;   /* the next one is about to come */
	} else if (!feeder->again) {
		fl_timer_stop(feeder->io, &feeder->timer);
	} else if (!fl_op_busy(&feeder->op) && !fl_timer_is_set(&feeder->timer)) {
		fl_timer_set(feeder->io, &feeder->timer, next_round(feeder));
	}
}

/* ---- the sink: takes the inspection that is wanted ---- */

static void start(void *self, struct fl_write *write)
{
	struct fl_inside_feeder *feeder = self;

	if (write->what == FL_WANT_OBJECT) {
		want(feeder, write->object);
	} else {
		feeder->wanted = feeder->again = feeder->anew = false;
		fl_timer_stop(feeder->io, &feeder->timer);
	}
	fl_memory_sink.start(feeder->io, write);
}

static void cancel(void *self, struct fl_write *write)
{
	fl_memory_sink.cancel(((struct fl_inside_feeder *)self)->io, write);
}

/* ---- the whole ---- */

void fl_inside_init(struct fl_inside_feeder *feeder, struct fl_io *io, const struct fl_inside_options *options)
{
	*feeder = (struct fl_inside_feeder){ .io = io, .options = *options, .timer.fire = due,
					     .sink = fl_memory_sink };
	feeder->sink.start = start;
	feeder->sink.cancel = cancel;
	if (!options->proc)
		feeder->options.proc = "/proc";
	if (!options->logs)
		feeder->options.logs = "/var/log/pods";
	if (!options->every)
		feeder->options.every = FL_INSIDE_EVERY;
}

void fl_inside_start(struct fl_inside_feeder *feeder, struct fl_loop *loop)
{
	feeder->loop = loop;
	fl_memory_begin(loop, &fl_inspection_kind);
	fl_memory_begin(loop, &fl_inside_kind);
}

void fl_inside_stop(struct fl_inside_feeder *feeder)
{
	if (!feeder->loop)
		return;
	fl_timer_stop(feeder->io, &feeder->timer);
	fl_op_cancel(&feeder->op);
	feeder->loop = NULL;
}
