#include "demo_capability.h"
#include "base/limits.h"
#include <errno.h>
#include <stdio.h>

/* ---- two kinds ---- */

FL_BIND(fl_bell_spec, FL_BELL_SPEC)
FL_BIND(fl_bell, FL_BELL)
const struct fl_kind fl_bell_kind = {
	.group = "demo.fairlead.test", .version = "v1", .kind = "Bell", .plural = "bells", .root = fl_bell_bind,
	.cluster_scoped = true, .help = "A bell: a line in a file.",
};

FL_BIND(fl_sign_spec, FL_SIGN_SPEC)
FL_BIND(fl_sign, FL_SIGN)
const struct fl_kind fl_sign_kind = {
	.group = "demo.fairlead.test", .version = "v1", .kind = "Sign", .plural = "signs", .root = fl_sign_bind,
	.cluster_scoped = true, .help = "A sign: a file that says how a bell rings.",
};

/* ---- the decision: keys, gather, plan ---- */

static const struct fl_owner sign_owner = {
	.manager = "demo-ring", .kind = &fl_sign_kind, .paths = (const char *const[]){ "spec.text", NULL },
};
static const struct fl_owner *const owners[] = { &sign_owner, NULL };

/* A bell's key is its name, and so is a sign's: whatever happens to either, they are looked at together. */
static void bell_keys(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct fl_bell *bell = after ? after : before;

	fl_dirty_key(dirty, FL_S(""), bell->meta.name);
}

static void sign_keys(const void *before, const void *after, struct fl_dirty *dirty)
{
	const struct fl_sign *sign = after ? after : before;

	fl_dirty_key(dirty, FL_S(""), sign->meta.name);
}

static bool ring_gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	const struct fl_bell *bell = fl_view_get(view, &fl_bell_kind, FL_S(""), key.name);
	const struct fl_sign *sign = fl_view_get(view, &fl_sign_kind, FL_S(""), key.name);
	struct ring_facts *facts = facts_;

	facts->bell = (struct fl_ref){ &fl_bell_kind, FL_S(""), key.name, FL_S("") };
	facts->sign = (struct fl_ref){ &fl_sign_kind, FL_S(""), key.name, FL_S("") };
	facts->rings = bell != NULL;
	facts->times = bell ? bell->spec.rings : 0;
	return bell || sign;
}

void ring_plan(const void *facts_, struct fl_plan *plan)
{
	const struct ring_facts *facts = facts_;
	struct fl_sign sign = { 0 };

	if (!facts->rings) {
		fl_want_gone(plan, facts->sign);
		return;
	}
	FL_SET(FL_IN(&sign, spec), text, FL_S("ding"));
	for (int32_t i = 1; i < facts->times; i++)
		sign.spec.text = fl_plan_printf(plan, "%.*s ding", FL_ARG(sign.spec.text));
	fl_want(plan, &sign_owner, facts->sign, &sign);
	fl_say(plan, facts->bell, "Rings", "%d times", facts->times);
}

static const struct fl_watched watches[] = { { &fl_bell_kind, bell_keys, false }, { &fl_sign_kind, sign_keys, false },
					     { 0 } };
const struct fl_capability ring = {
	.name = "ring", .watches = watches, .key = &fl_bell_kind, .owners = owners,
	.facts_size = sizeof(struct ring_facts), .gather = ring_gather, .plan = ring_plan,
};

/* ---- the feeder: one file is one full state ---- */

static void read_again(struct bell_feed *bells);

static int put_line(struct bell_feed *bells, struct fl_str line)
{
	struct fl_bell bell = { 0 };
	struct fl_str rest = line, name, number;
	int64_t rings;

	if (!fl_str_split(&rest, ' ', &name) || !name.len)
		return 0;
	number = rest.p ? rest : FL_S("1");
	if (!fl_str_i64(number, &rings) || rings < 1 || rings > 9)
		return 0;   /* a feeder may tell such a thing as a fault of the object; this one leaves it out */
	FL_SET(FL_IN(&bell, meta), name, name);
	FL_SET(FL_IN(&bell, spec), rings, (int32_t)rings);
	return fl_feed_put(bells->feed, &bell, NULL);
}

static int put_all(struct bell_feed *bells, struct fl_str text)
{
	struct fl_str line;
	int r = 0;

	fl_feed_begin(bells->feed);
	while (r == 0 && fl_str_split(&text, '\n', &line))
		r = put_line(bells, line);
	if (r == 0)
		fl_feed_synced(bells->feed);
	return r;
}

static void have_read(struct fl_op *op)
{
	struct bell_feed *bells = fl_container(op, struct bell_feed, read.op);
	struct fl_str text = op->result == -FL_E_NOTFOUND ? FL_S("") : fl_buf_view(&bells->text);
	bool failed = op->result < 0 && op->result != -FL_E_NOTFOUND;

	if (bells->again)
		read_again(bells);
	else if (failed || put_all(bells, text) < 0)
		fl_timer_set(bells->io, &bells->retry, fl_now(bells->io) + 100 * FL_NS_PER_MS);
}

static void retry(struct fl_timer *timer)
{
	read_again(fl_container(timer, struct bell_feed, retry));
}

static void read_again(struct bell_feed *bells)
{
	bells->again = fl_op_busy(&bells->read.op);
	if (bells->again)
		return;
	bells->read = (struct fl_file_read){ .op = { .done = have_read }, .path = bells->path, .into = &bells->text };
	fl_file_read(bells->io, &bells->read);
}

static void changed(struct fl_notify *notify, const char *name)
{
	if (!name[0] || strcmp(name, "bells") == 0)
		read_again(fl_container(notify, struct bell_feed, notify));
}

void bell_feed_start(struct bell_feed *bells, struct fl_io *io, struct fl_feed *feed, const char *dir)
{
	*bells = (struct bell_feed){ .feed = feed, .io = io, .text = FL_BUF(FL_MIB),
				     .notify = { .changed = changed, .dir = dir }, .retry.fire = retry };
	(void)snprintf(bells->path, sizeof bells->path, "%s/bells", dir);
	fl_notify_start(io, &bells->notify);
}

void bell_feed_stop(struct bell_feed *bells)
{
	fl_notify_stop(&bells->notify);
	fl_op_cancel(&bells->read.op);
	fl_timer_stop(bells->io, &bells->retry);
	fl_buf_free(&bells->text);
}

/* ---- the sink: one sign is one file ---- */

struct removal {
	struct fl_job job;
	char path[320];
};

struct writing {
	struct fl_write *write;
	struct fl_err err;
	struct fl_file_replace replace;
	struct fl_op remove;
	char path[320];
};

static void end(struct writing *writing, int64_t result)
{
	if (result < 0)
		fl_write_failed(writing->write, &writing->err);
	else if (writing->write->what == FL_WANT_GONE)
		fl_write_gone(writing->write);
	else
		fl_write_done(writing->write, NULL);
}

static void replaced(struct fl_op *op)
{
	end(fl_container(op, struct writing, replace.op), op->result);
}

static void removed(struct fl_op *op)
{
	end(fl_container(op, struct writing, remove), op->result);
}

static void remove_run(struct fl_job *job, const struct fl_fs *fs)
{
	int r = fs->unlink(fs, AT_FDCWD, fl_container(job, struct removal, job)->path, 0);

	job->what = "remove the sign";
	job->result = r == -ENOENT ? 0 : r;
}

static void remove_release(struct fl_job *job)
{
	fl_free(fl_container(job, struct removal, job));
}

static void remove_sign(struct fl_io *io, struct writing *writing)
{
	struct removal *removal = fl_zalloc(sizeof *removal);

	if (!removal) {
		fl_op_begin(&writing->remove, io, NULL);
		fl_op_fail(&writing->remove, FL_E_NOMEM, "no memory to remove a sign");
		return;
	}
	removal->job = (struct fl_job){ .run = remove_run, .release = remove_release };
	memcpy(removal->path, writing->path, sizeof removal->path);
	fl_job_start(io, &writing->remove, &removal->job, FL_LANE_FILES);
}

static void sign_start(void *self, struct fl_write *write)
{
	struct sign_sink *sink = self;
	struct writing *writing = write->held;
	const struct fl_sign *sign = write->object;

	*writing = (struct writing){ .write = write };
	writing->replace.op = (struct fl_op){ .done = replaced, .err = &writing->err };
	writing->remove = (struct fl_op){ .done = removed, .err = &writing->err };
	(void)snprintf(writing->path, sizeof writing->path, "%s/%.*s.sign", sink->dir, FL_ARG(write->ref.name));
	if (write->what == FL_WANT_GONE) {
		remove_sign(sink->io, writing);
		return;
	}
	writing->replace.path = writing->path;
	writing->replace.content = sign->spec.text;
	fl_file_replace(sink->io, &writing->replace);
}

static void sign_cancel(void *self, struct fl_write *write)
{
	struct writing *writing = write->held;

	(void)self;
	fl_op_cancel(&writing->replace.op);
	fl_op_cancel(&writing->remove);
}

const struct fl_sink sign_sink = { .start = sign_start, .cancel = sign_cancel, .room = sizeof(struct writing) };
