#include "run/kube.h"

/* ---- feeder ---- */

static void feed_begin(void *feed)
{
	fl_feed_begin(feed);
}

static int feed_put(void *feed, const void *object, struct fl_err *err)
{
	return fl_feed_put(feed, object, err);
}

static void feed_gone(void *feed, struct fl_str space, struct fl_str name)
{
	fl_feed_gone(feed, space, name);
}

static void feed_synced(void *feed)
{
	fl_feed_synced(feed);
}

static void feed_absent(void *feed)
{
	fl_feed_absent(feed);
}

static void feed_asked(void *feed)
{
	fl_feed_asked(feed);
}

static bool feed_same(void *feed, struct fl_str space, struct fl_str name, struct fl_str uid, struct fl_str version)
{
	return fl_feed_same(feed, space, name, uid, version);
}

static bool feed_ahead(void *feed)
{
	return fl_feed_ahead(feed);
}

static void feed_current(void *feed, bool current)
{
	fl_feed_current(feed, current);
}

const struct fl_watch_to fl_feed_watch = {
	feed_begin, feed_put, feed_gone, feed_synced, feed_absent, feed_asked, feed_same, feed_ahead, feed_current,
};

/* ---- sink ---- */

/* One request; lies in the write's own room. */
struct request {
	struct fl_kube_call call;
	struct fl_write *write;
	struct fl_err err;
	void *object;                  /* as the server answered; NULL: it did not */
};

/* The first version in it: an object's own, unless a member before its metadata has one, which is then no version that
 * we have been told of. */
static struct fl_str version_in(struct fl_str json)
{
	static const char before[] = "\"resourceVersion\":\"";
	const char *at = memmem(json.p, json.len, before, sizeof before - 1);
	struct fl_str rest = { NULL, 0 };

	if (at)
		rest = fl_str_sub(json, (uint32_t)(at - json.p) + (uint32_t)sizeof before - 1, json.len);
	return fl_str_sub(rest, 0, (uint32_t)fl_str_find(rest, '"'));
}

/* Mostly the watch is as quick as the answer: then the echo has told all of it. */
static bool echoed(struct fl_kube_call *call, struct fl_str json)
{
	return fl_write_seen(fl_container(call, struct request, call)->write, version_in(json));
}

static int answered(struct fl_kube_call *call, enum fl_item what, yyjson_val *json, struct fl_err *err)
{
	struct request *request = fl_container(call, struct request, call);
	const struct fl_bind *root = request->write->ref.kind->root();
	struct fl_str kind;
	void *object;
	int r;

	(void)what;
	if (fl_json_str(fl_json_get(json, FL_S("kind")), &kind) && fl_str_eq(kind, FL_S("Status")))
		return 0;   /* a delete that is over at once */
	object = fl_arena_get(&request->write->arena, root->size);
	if (!object)
		return fl_fail(err, FL_E_NOMEM, "no memory for the answer about %s", call->kind->kind);
	r = fl_decode(root, json, &request->write->arena, 0, object, err);
	if (r == 0 && !fl_write_is(request->write, object))
		return fl_fail(err, FL_E_RETRY, "the answer is about another object: look for a proxy on the way");
	if (r == 0)
		request->object = object;
	return r;
}

static void request_done(struct fl_op *op)
{
	struct request *request = fl_container(op, struct request, call.op);
	struct fl_write *write = request->write;

	if (write->what == FL_WANT_GONE && (op->result == -FL_E_NOTFOUND || (op->result >= 0 && !request->object)))
		fl_write_gone(write);
	else if (op->result < 0)
		fl_write_failed(write, &request->err);
	else
		fl_write_done(write, request->object);
}

static int apply(struct request *request, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf body = FL_BUF(FL_JSON_ITEM_MAX);
	struct fl_write *write = request->write;
	struct fl_jw w = FL_JW(&body);
	int r = fl_owned_apply(write->owner, write->ref.space, write->ref.name, write->ref.uid,
			       write->as_seen ? write->version : FL_S(""), write->object,
			       &write->arena,
			       &w, err);

	if (r < 0)
		return r;
	request->call.body = fl_arena_str(&write->arena, fl_buf_view(&body));
	if (!request->call.body.p)
		return fl_fail(err, FL_E_NOMEM, "no memory to apply %s", write->ref.kind->kind);
	request->call.verb = FL_KUBE_APPLY;
	request->call.manager = write->owner->manager;
	request->call.subresource = fl_owner_is_status(write->owner) ? "status" : NULL;
	request->call.force = true;   /* the table of owners says whose it is; who takes it away again is found out */
	return 0;
}

static int prepare_request(struct request *request, struct fl_err *err)
{
	struct fl_write *write = request->write;

	switch (write->what) {
	case FL_WANT_OBJECT:
		return apply(request, err);
	case FL_WANT_ITEM:
	case FL_WANT_NO_ITEM:
		request->call.verb = FL_KUBE_JSON_PATCH;
		request->call.manager = write->shared->manager;
		request->call.body = write->patch;
		return 0;
	case FL_WANT_GONE:
		request->call.verb = FL_KUBE_DELETE;
		request->call.propagation = write->how.propagation ? write->how.propagation : FL_BACKGROUND;
		request->call.if_uid = write->ref.uid;
		request->call.if_version = write->as_seen ? write->version : FL_S("");
		request->call.now = write->how.now;
		request->call.grace_s = write->how.grace_s;
		return 0;
	case FL_WANT_COUNT_:
		break;
	}
	return fl_fail(err, FL_E_UNSUPPORTED, "no such write");
}

static void start_request(void *kube, struct fl_write *write)
{
	struct fl_io *io = fl_kube_io(kube);
	struct request *request = write->held;
	struct fl_kube_call *call = &request->call;

	request->write = write;
	call->kind = write->ref.kind;
	call->space = write->ref.space;
	call->name = write->ref.name;
	call->item = answered;
	call->needless = echoed;
	call->may_send = fl_write_may;
	call->may_arg = write;
	call->op.done = request_done;
	call->op.err = &request->err;
	call->op.deadline = fl_now(io) + FL_RUN_WRITE_TIMEOUT;
	if (prepare_request(request, &request->err) == 0) {
		fl_kube_start(kube, call);
		return;
	}
	fl_op_refuse(&call->op, io, request->err.code, "%s", request->err.text);
}

static void cancel_request(void *kube, struct fl_write *write)
{
	(void)kube;
	fl_op_cancel(&((struct request *)write->held)->call.op);
}

const struct fl_sink fl_kube_sink = { .start = start_request, .cancel = cancel_request, .room =
				     sizeof(struct request) };

/* ---- events ---- */

void fl_kube_event(void *events, const struct fl_told_event *event)
{
	char reason[129], type[129];
	struct fl_str cut_reason = fl_str_sub(event->reason, 0, sizeof reason - 1),
		      cut_type = fl_str_sub(event->type, 0, sizeof type - 1);
	struct fl_event_say say = { .kind = event->ref.kind, .space = event->ref.space, .name = event->ref.name,
				    .uid = event->ref.uid, .subject = event->subject, .warning = event->warning,
				    .reason = reason, .action = type };

	memcpy(reason, cut_reason.len ? cut_reason.p : "", cut_reason.len);
	reason[cut_reason.len] = '\0';
	memcpy(type, cut_type.len ? cut_type.p : "", cut_type.len);
	type[cut_type.len] = '\0';
	fl_event(events, &say, "%.*s", FL_ARG(event->message));
}
