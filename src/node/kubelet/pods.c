#include "node/kubelet/pods.h"
#include "api/node.h"
#include "base/units.h"
#include "json/write.h"
#include "plan/gpu/pods.h"
#include "run/doing.h"
#include "run/kube.h"
#include <stdio.h>

/* ---- the watch ---- */

static int open_watch(struct fl_pods *pods, bool failed_only, struct fl_err *err)
{
	struct fl_watch_options options = { .kind = &fl_own_pod_kind,
					    .fields = failed_only ? pods->failed : pods->fields, .to = &fl_feed_watch,
					    .arg = pods->watching.feed, .log = pods->log };

	if (pods->watching.watch)
		return 0;
	pods->failed_only = failed_only;
	return fl_watching_open(&pods->watching, &options, err);
}

static void close_watch(struct fl_pods *pods)
{
	if (fl_watching_close(&pods->watching))
		fl_feed_absent(pods->watching.feed);
}

/* The plan reads PodWatch to know which Pods the cache holds. The old watch closes before a new selector counts. */
static void start_switch(void *self, struct fl_write *write)
{
	const struct fl_pod_watch *wanted = write->what == FL_WANT_OBJECT ? write->object : NULL;
	struct fl_pods *pods = self;
	struct fl_err err = { 0 };

	if (!wanted || !wanted->wanted || wanted->failed_only != pods->failed_only)
		close_watch(pods);
	if (wanted && wanted->wanted)
		(void)open_watch(pods, wanted->failed_only, &err);
	fl_doing_begin(write->held, write);
	fl_doing_over(write->held, pods->io, &err);
}

const struct fl_sink fl_pod_watch_sink = { start_switch, fl_doing_cancel, sizeof(struct fl_doing), 0 };

/* ---- evictions ---- */

struct evicting {
	struct fl_kube_call call;
	struct fl_write *write;
	struct fl_err err;
	struct fl_pods *pods;
	bool again;                    /* it was asked for twice */
	struct fl_op forget;           /* of one that is wanted no more: nothing is sent */
};

static struct fl_pods_refusal *refusal_of(struct fl_pods *pods, struct fl_str uid)
{
	for (uint32_t i = 0; i < FL_LEN(pods->refused); i++)
		if (fl_str_eq(fl_str(pods->refused[i].uid), uid))
			return &pods->refused[i];
	return NULL;
}

/* Limits requests for this Pod, however often the plan wants the eviction. */
static void remember(struct fl_pods *pods, const struct evicting *evicting)
{
	const struct fl_eviction *eviction = evicting->write->object;
	struct fl_pods_refusal *refusal = refusal_of(pods, eviction->uid);
	uint64_t after = evicting->call.answer.retry_after;

	if (!refusal)
		refusal = &pods->refused[pods->refused_next++ % FL_LEN(pods->refused)];
	(void)snprintf(refusal->uid, sizeof refusal->uid, "%.*s", FL_ARG(eviction->uid));
	refusal->until = fl_now(pods->io) + (after > FL_EVICT_AGAIN ? after : FL_EVICT_AGAIN);
	refusal->why = evicting->err;
}

static void tell_refused(const struct fl_pods *pods, const struct evicting *evicting)
{
	const struct fl_eviction *eviction = evicting->write->object;
	bool throttled = evicting->call.answer.reason == FL_REASON_THROTTLED;
	char words[FL_ERR_TEXT + 200] = "";
	struct fl_buf message = FL_BUF_IN(words);
	struct fl_told_event event = {
		.ref = { &fl_pod_kind, eviction->pod_space, eviction->pod, eviction->uid },
		.warning = true, .type = FL_S("Evicted"), .reason = FL_S("EvictionRefused"),
		.capability = "node-pods",
	};

	if (!fl_gpu_evict_refused(eviction, throttled, evicting->err.text, &message))
		return;
	event.message = fl_buf_view(&message);
	if (pods->event)
		pods->event(pods->event_arg, &event);
}

/* 409: the Pod changed or was replaced. Retry once; if that fails too, wait for the watch. */
static void evicted(struct fl_op *op)
{
	struct evicting *evicting = fl_container(op, struct evicting, call.op);
	bool conflict = op->result == -FL_E_CONFLICT;

	if (op->result >= 0 || op->result == -FL_E_NOTFOUND) {
		fl_write_done(evicting->write, NULL);
		return;
	}
	if (conflict && !evicting->again) {
		evicting->again = true;
		fl_kube_start(evicting->pods->kube, &evicting->call);
		return;
	}
	if (conflict || evicting->call.answer.reason == FL_REASON_THROTTLED)
		remember(evicting->pods, evicting);
	tell_refused(evicting->pods, evicting);
	fl_write_failed(evicting->write, &evicting->err);
}

static void forgotten(struct fl_op *op)
{
	fl_write_gone(fl_container(op, struct evicting, forget)->write);
}

static int write_body(const struct fl_eviction *eviction, struct fl_arena *arena, struct fl_str *ret,
		      struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf body = FL_BUF(4 * FL_KIB);
	struct fl_jw w = FL_JW(&body);

	fl_jw_obj(&w);
	fl_jw_put(&w, "apiVersion", str, FL_S("policy/v1"));
	fl_jw_put(&w, "kind", str, FL_S("Eviction"));
	fl_jw_put(&w, "metadata", obj);
	fl_jw_put(&w, "name", str, eviction->pod);
	fl_jw_put(&w, "namespace", str, eviction->pod_space);
	fl_jw_end_obj(&w);
	fl_jw_put(&w, "deleteOptions", obj);
	fl_jw_put(&w, "preconditions", obj);
	fl_jw_put(&w, "uid", str, eviction->uid);
	fl_jw_end_obj(&w);
	fl_jw_end_obj(&w);
	fl_jw_end_obj(&w);
	*ret = fl_arena_str(arena, fl_buf_view(&body));
	return ret->p ? 0 : fl_fail(err, FL_E_NOMEM, "no memory to evict a Pod");
}

static int fill_call(struct fl_kube_call *call, struct fl_write *write, struct fl_err *err)
{
	const struct fl_eviction *eviction = write->object;

	call->verb = FL_KUBE_CREATE;
	call->kind = &fl_own_pod_kind;
	call->subresource = "eviction";
	call->space = eviction->pod_space;
	call->name = eviction->pod;
	call->once = true;   /* 429 is a disruption budget's word on this Pod, not the server's on its load */
	call->may_send = fl_write_may;
	call->may_arg = write;
	return write_body(eviction, &write->arena, &call->body, err);
}

static void not_asked(struct fl_op *op)
{
	const struct evicting *evicting = fl_container(op, struct evicting, call.op);

	fl_write_failed(evicting->write, &evicting->err);
}

static void start_eviction(void *self, struct fl_write *write)
{
	struct fl_pods *pods = self;
	struct evicting *evicting = write->held;
	struct fl_kube_call *call = &evicting->call;
	struct fl_err why = { .code = FL_E_UNSUPPORTED, .text = "no API server to send evictions to" };
	const struct fl_pods_refusal *refusal;

	evicting->write = write;
	evicting->pods = pods;
	if (write->what != FL_WANT_OBJECT) {
		evicting->forget.done = forgotten;
		fl_op_begin(&evicting->forget, pods->io, NULL);
		fl_op_end(&evicting->forget, 0);
		return;
	}
	call->op = (struct fl_op){ .done = evicted, .err = &evicting->err,
				   .deadline = fl_now(pods->io) + FL_RUN_WRITE_TIMEOUT };
	refusal = refusal_of(pods, ((const struct fl_eviction *)write->object)->uid);
	if (refusal && fl_now(pods->io) < refusal->until) {
		why = refusal->why;
	} else if (pods->kube && fill_call(call, write, &why) == 0) {
		fl_kube_start(pods->kube, call);
		return;
	}
	call->op.done = not_asked;
	fl_op_refuse(&call->op, pods->io, why.code, "%s", why.text);
}

static void cancel_eviction(void *self, struct fl_write *write)
{
	struct evicting *evicting = write->held;

	(void)self;
	fl_op_cancel(&evicting->call.op);
	fl_op_cancel(&evicting->forget);
}

const struct fl_sink fl_eviction_sink = { start_eviction, cancel_eviction, sizeof(struct evicting),
					 FL_EVICT_RETRY_LAST };

/* ---- the whole ---- */

void fl_pods_begin(struct fl_pods *pods, struct fl_io *io, struct fl_loop *loop, struct fl_kube *kube,
		   struct fl_str node, struct fl_log *log)
{
	pods->io = io;
	pods->loop = loop;
	pods->kube = kube;
	pods->log = log;
	(void)snprintf(pods->fields, sizeof pods->fields, "spec.nodeName=%.*s", FL_ARG(node));
	(void)snprintf(pods->failed, sizeof pods->failed, "%s,status.phase=Failed", pods->fields);
	pods->watching = (struct fl_watching){ .kube = kube, .feed = fl_loop_feed(loop, &fl_own_pod_kind) };
	fl_feed_absent(pods->watching.feed);
}

void fl_pods_stop(struct fl_pods *pods)
{
	pods->watching.watch = fl_watch_free(pods->watching.watch);
}
