#include "node/pod_uid.h"
#include "io/job.h"
#include "node/gpu/driver_users.h"
#include "node/host/driver_root.h"
#include "node/host/processes.h"
#include <stdio.h>

/* An Event that waits for the UID of its Pod; its texts lie behind it. */
struct waiting {
	struct fl_op op;
	struct fl_pod_uids *uids;
	struct fl_told_event event;
	char uid[FL_POD_UID];
	struct waiting *next, **from;
};

struct uid_job {
	struct fl_job job;
	char logs[FL_GPU_PATH_MAX], pod[FL_POD_NAME], uid[FL_POD_UID];
};

struct fl_pod_uids {
	struct fl_io *io;
	struct fl_pod_uids_options options;
	struct waiting *first;
	uint32_t len;
};

#define TEXTS(event) \
	{ &(event)->ref.space, &(event)->ref.name, &(event)->ref.uid, &(event)->type, \
	  &(event)->reason, &(event)->message, &(event)->subject, &(event)->was }

size_t fl_told_event_texts(const struct fl_told_event *event)
{
	const struct fl_str *const texts[] = TEXTS(event);
	size_t size = 0;

	for (size_t i = 0; i < FL_LEN(texts); i++)
		size += texts[i]->len;
	return size;
}

void fl_told_event_move(struct fl_told_event *event, char *to)
{
	struct fl_str *const texts[] = TEXTS(event);

	for (size_t i = 0; i < FL_LEN(texts); i++) {
		if (texts[i]->len)
			memcpy(to, texts[i]->p, texts[i]->len);
		texts[i]->p = to;
		to += texts[i]->len;
	}
}

static void drop(struct waiting *waiting)
{
	*waiting->from = waiting->next;
	if (waiting->next)
		waiting->next->from = waiting->from;
	waiting->uids->len--;
	fl_free(waiting);
}

static void run(struct fl_job *job_, const struct fl_fs *fs)
{
	struct uid_job *job = fl_container(job_, struct uid_job, job);

	(void)fl_uid_of_pod(fs, job->logs, job->pod, job->uid);   /* without one, the Event has none */
}

static void finish(struct fl_job *job, struct fl_op *op)
{
	struct waiting *waiting = fl_container(op, struct waiting, op);

	memcpy(waiting->uid, fl_container(job, struct uid_job, job)->uid, sizeof waiting->uid);
	fl_op_end(op, 0);
}

static void looked(struct fl_op *op)
{
	struct waiting *waiting = fl_container(op, struct waiting, op);
	struct fl_pod_uids *uids = waiting->uids;

	waiting->event.ref.uid = fl_str(waiting->uid);
	uids->options.tell(uids->options.arg, &waiting->event);
	drop(waiting);
}

void fl_pod_uids_tell(struct fl_pod_uids *uids, const struct fl_told_event *event)
{
	struct waiting *waiting = NULL;
	struct uid_job *job = NULL;

	if (uids->len < FL_POD_UIDS_MAX) {
		waiting = fl_zalloc(sizeof *waiting + fl_told_event_texts(event));
		job = waiting ? fl_zalloc(sizeof *job) : NULL;
	}
	if (!job) {
		fl_free(waiting);
		uids->options.tell(uids->options.arg, event);
		return;
	}
	waiting->op = (struct fl_op){ .done = looked, .deadline = fl_now(uids->io) + FL_POD_UIDS_WAIT };
	waiting->uids = uids;
	waiting->event = *event;
	fl_told_event_move(&waiting->event, (char *)(waiting + 1));
	waiting->from = &uids->first;
	waiting->next = uids->first;
	if (waiting->next)
		waiting->next->from = &waiting->next;
	uids->first = waiting;
	uids->len++;
	job->job = (struct fl_job){ .run = run, .finish = finish };
	(void)snprintf(job->logs, sizeof job->logs, "%s", uids->options.logs);
	(void)snprintf(job->pod, sizeof job->pod, "%.*s/%.*s", FL_ARG(event->ref.space), FL_ARG(event->ref.name));
	fl_job_start(uids->io, &waiting->op, &job->job, FL_LANE_BULK);
}

struct fl_pod_uids *fl_pod_uids_new(struct fl_io *io, const struct fl_pod_uids_options *options, struct fl_err *err)
{
	struct fl_pod_uids *uids = fl_zalloc(sizeof *uids);

	if (!uids)
		return fl_null(err, FL_E_NOMEM, "no memory for Events on Pods");
	uids->io = io;
	uids->options = *options;
	if (!uids->options.logs)
		uids->options.logs = FL_POD_LOGS;
	return uids;
}

struct fl_pod_uids *fl_pod_uids_free(struct fl_pod_uids *uids)
{
	if (!uids)
		return NULL;
	while (uids->first) {
		fl_op_cancel(&uids->first->op);
		drop(uids->first);
	}
	fl_free(uids);
	return NULL;
}
