#include "io/job.h"
#include "io/loop.h"
#include <errno.h>

struct lookup_job {
	struct fl_job job;
	struct fl_addr found[FL_LOOKUP_MAX];
	char host[];
};

static void run(struct fl_job *job, const struct fl_fs *fs)
{
	struct lookup_job *lookup = fl_container(job, struct lookup_job, job);

	job->result = fs->lookup(fs, lookup->host, lookup->found, FL_LOOKUP_MAX);
}

static void finish(struct fl_job *job, struct fl_op *op)
{
	struct lookup_job *from = fl_container(job, struct lookup_job, job);
	struct fl_lookup *lookup = fl_container(op, struct fl_lookup, op);

	if (job->result == -ENOENT || job->result == 0) {
		fl_op_fail(op, FL_E_NOTFOUND, "look up '%s': no such host", from->host);
	} else if (job->result == -EAGAIN) {
		fl_op_fail(op, FL_E_RETRY, "look up '%s': no name server answers", from->host);
	} else if (job->result < 0) {
		fl_op_fail_sys(op, (int)-job->result, "look up '%s'", from->host);
	} else {
		for (int64_t i = 0; i < job->result; i++) {
			lookup->found[i] = from->found[i];
			lookup->found[i].port = lookup->port;
		}
		fl_op_end(op, job->result);
	}
}

void fl_lookup(struct fl_io *io, struct fl_lookup *lookup)
{
	struct fl_str host = fl_str(lookup->host);
	struct lookup_job *job;

	if (fl_addr_parse_ip(&lookup->found[0], host, lookup->port, NULL) == 0) {
		fl_op_begin(&lookup->op, io, NULL);
		fl_op_end(&lookup->op, 1);
		return;
	}
	if (host.len == 0 || host.len > FL_HOST_MAX) {
		fl_op_refuse(&lookup->op, io, FL_E_INVALID, "look up '%.*s': not a host name", FL_ARG(host));
		return;
	}
	job = fl_zalloc(sizeof *job + host.len + 1);
	if (!job) {
		fl_op_refuse(&lookup->op, io, FL_E_NOMEM, "look up '%s'", lookup->host);
		return;
	}
	job->job = (struct fl_job){ .run = run, .finish = finish };
	memcpy(job->host, host.p, host.len);
	fl_job_start(io, &lookup->op, &job->job, FL_LANE_LOOKUP);
}
