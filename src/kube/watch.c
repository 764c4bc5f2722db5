#include "kube/watch.h"
#include "base/log.h"
#include "base/units.h"
#include "json/selector.h"
#include "kube/discovery.h"
#include <stdio.h>

static const char crd_path[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
static const char names_alone[] = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
static const char only_metadata[] = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/* The server is asked to end a watch; one that does not is cut so much later. */
#define OVERTIME (30 * FL_NS_PER_S)
/* A watch of a definition: questions go on beside it, so that one which fails unnoticed costs time only. */
#define DEFINITION_S 3600
/* Those who wait for a definition are told of it in the same moment: 5,000 of them ask within this time. */
#define CAME_WITHIN (2 * FL_NS_PER_S)

struct fl_watch {
	struct fl_kube *kube;
	struct fl_io *io;
	struct fl_watch_options options;
	enum fl_watch_step step;
	enum fl_watch_state state;
	bool told_begin, told_absent, progress, no_stream, newest;
	uint64_t no_stream_since;          /* when it was learned, ... */
	uint32_t no_stream_opened;         /* ... and after how many connections */
	bool bookmarked;                   /* the server sends bookmarks: who is silent for long is stale */
	uint32_t failures;
	uint64_t since, began;
	char version[64];
	uint32_t version_len;              /* 0: none to watch from */
	uint32_t seen_len;                 /* of the same, also when it is of no use to watch from; 0: none */
	struct fl_watch_info info;
	struct fl_err err;
	struct fl_err call_err;
	struct fl_timer timer;             /* the next step */
	struct fl_timer quiet;
	struct fl_kube_call call;
	struct fl_buf path;                /* of a check */
	struct fl_discover ask;
	uint64_t rest_until;               /* of a kind that is absent; a new connection ends it */
	uint32_t opened;                   /* connections, when it was asked last */
	struct fl_kube_call crd;           /* while the kind is absent: has its definition come? */
	char crd_name[FL_HOST_MAX + 16];
	struct fl_arena arena;
	void *object;                      /* root struct of the kind */
};

static void decide(struct fl_watch *watch, enum fl_watch_outcome outcome);

static void set_state(struct fl_watch *watch, enum fl_watch_state state)
{
	bool was_live = watch->state == FL_WATCH_LIVE, is_live = state == FL_WATCH_LIVE;

	if (state == watch->state)
		return;
	watch->state = state;
	watch->since = fl_now(watch->io);
	if (is_live)
		watch->err = (struct fl_err){ 0 };
	if (was_live != is_live && watch->options.to->current)
		watch->options.to->current(watch->options.arg, is_live);
}

static uint64_t chance(struct fl_watch *watch, uint64_t below)
{
	uint64_t drawn = 0;

	if (fl_random(watch->io, &drawn, sizeof drawn, NULL) < 0)
		return 0;
	return below ? drawn % below : 0;
}

/* ---- what came of it ---- */

static enum fl_watch_outcome outcome_of(const struct fl_watch *watch)
{
	const struct fl_kube_call *call = &watch->call;

	if (call->op.result >= 0)
		return FL_OUT_DONE;
	switch (call->answer.reason) {
	case FL_REASON_EXPIRED: return FL_OUT_EXPIRED;
	case FL_REASON_AHEAD: return FL_OUT_AHEAD;
	case FL_REASON_NOT_FOUND: return FL_OUT_ABSENT;
	case FL_REASON_UNAUTHORIZED:
	case FL_REASON_FORBIDDEN: return FL_OUT_DENIED;
	case FL_REASON_INVALID:
	case FL_REASON_BAD_REQUEST: return FL_OUT_NO_STREAM;
	case FL_REASON_THROTTLED: return FL_OUT_BUSY;
	case FL_REASON_TIMEOUT:
	case FL_REASON_BROKEN:
	case FL_REASON_CONFLICT:
	case FL_REASON_EXISTS:
	case FL_REASON_TOO_LARGE:
	case FL_REASON_UNSUPPORTED: return call->answer.retry_after ? FL_OUT_BUSY : FL_OUT_FAILED;
	case FL_REASON_NONE:
	case FL_REASON_COUNT_: break;
	}
	if (call->op.result == -FL_E_DENIED)
		return FL_OUT_DENIED;
	return call->op.result == -FL_E_RETRY || call->op.result == -FL_E_TIMEOUT || call->op.result == -FL_E_CLOSED ?
		       FL_OUT_LOST :
		       FL_OUT_FAILED;
}

static void stop_quiet(struct fl_watch *watch)
{
	fl_timer_stop(watch->io, &watch->quiet);
}

static void call_done(struct fl_op *op)
{
	struct fl_watch *watch = fl_container(op, struct fl_watch, call.op);
	enum fl_watch_outcome outcome = outcome_of(watch);

	stop_quiet(watch);
	if (outcome != FL_OUT_DONE)
		watch->err = watch->call_err;
	decide(watch, outcome);
}

/* ---- telling ---- */

static void tell_begin(struct fl_watch *watch)
{
	if (watch->told_begin)
		return;
	watch->told_begin = true;
	watch->told_absent = false;
	if (watch->state != FL_WATCH_LIVE)
		set_state(watch, FL_WATCH_READING);
	watch->options.to->begin(watch->options.arg);
}

static void tell_synced(struct fl_watch *watch)
{
	tell_begin(watch);
	watch->info.full_states++;
	set_state(watch, FL_WATCH_LIVE);
	watch->options.to->synced(watch->options.arg);
}

static struct fl_str text_of(yyjson_val *meta, struct fl_str key)
{
	struct fl_str text = { 0 };

	(void)fl_json_str(fl_json_get(meta, key), &text);
	return text;
}

static bool is_same(const struct fl_watch *watch, yyjson_val *object)
{
	yyjson_val *meta = fl_json_get(object, FL_S("metadata"));

	return watch->options.to->same &&
	       watch->options.to->same(watch->options.arg, text_of(meta, FL_S("namespace")),
				       text_of(meta, FL_S("name")), text_of(meta, FL_S("uid")),
				       text_of(meta, FL_S("resourceVersion")));
}

static int tell_put(struct fl_watch *watch, yyjson_val *object, struct fl_err *err)
{
	const struct fl_bind *bind = watch->options.kind->root();
	int r;

	if (is_same(watch, object)) {
		watch->info.events++;
		return 0;
	}
	fl_arena_reset(&watch->arena);
	r = fl_decode(bind, object, &watch->arena, FL_DECODE_BORROW, watch->object, err);
	if (r < 0)
		return r;
	watch->info.events++;
	return watch->options.to->put(watch->options.arg, watch->object, err);
}

static void tell_gone(struct fl_watch *watch, yyjson_val *object)
{
	yyjson_val *meta = fl_json_get(object, FL_S("metadata"));

	watch->info.events++;
	watch->options.to->gone(watch->options.arg, text_of(meta, FL_S("namespace")), text_of(meta, FL_S("name")));
}

/* ---- what comes ---- */

static void keep_version(struct fl_watch *watch, struct fl_str version)
{
	if (!version.len || version.len > sizeof watch->version)
		return;
	memcpy(watch->version, version.p, version.len);
	watch->version_len = watch->seen_len = version.len;
}

static struct fl_str version_of(yyjson_val *object)
{
	return text_of(fl_json_get(object, FL_S("metadata")), FL_S("resourceVersion"));
}

static bool ends_initial(yyjson_val *object)
{
	yyjson_val *notes = fl_json_get(fl_json_get(object, FL_S("metadata")), FL_S("annotations"));
	struct fl_str said = { 0 };

	return fl_json_str(fl_json_get(notes, FL_S("k8s.io/initial-events-end")), &said) && fl_str_eq(said,
												      FL_S("true"));
}

static uint64_t quiet_after(const struct fl_watch *watch)
{
	if (watch->step == FL_STEP_STREAM && !watch->version_len)
		return FL_WATCH_READING_QUIET;
	return watch->options.quiet ? watch->options.quiet : FL_WATCH_QUIET;
}

static void set_quiet(struct fl_watch *watch)
{
	fl_timer_set(watch->io, &watch->quiet, fl_now(watch->io) + quiet_after(watch));
}

static int item(struct fl_kube_call *call, enum fl_item what, yyjson_val *object, struct fl_err *err)
{
	struct fl_watch *watch = fl_container(call, struct fl_watch, call);
	bool initial = watch->step == FL_STEP_STREAM && !watch->version_len;
	int r = 0;

	if (watch->step == FL_STEP_LIST || initial)
		tell_begin(watch);
	switch (what) {
	case FL_ITEM:
	case FL_ADDED:
	case FL_MODIFIED: r = tell_put(watch, object, err); break;
	case FL_DELETED: tell_gone(watch, object); break;
	case FL_BOOKMARK:
	case FL_ITEM_COUNT_: break;
	}
	if (r < 0)
		return r;
	watch->progress = true;
	if (watch->step == FL_STEP_LIST)
		return 0;
	if (what == FL_BOOKMARK && !watch->bookmarked) {
		watch->bookmarked = true;
		set_quiet(watch);
	}
	/* Initial events come in any order: only their end is a point to resume from. */
	if (!initial) {
		keep_version(watch, version_of(object));
	} else if (what == FL_BOOKMARK && ends_initial(object)) {
		keep_version(watch, version_of(object));
		tell_synced(watch);
	}
	return 0;
}

static void page(struct fl_kube_call *call, const struct fl_list *list)
{
	struct fl_watch *watch = fl_container(call, struct fl_watch, call);

	tell_begin(watch);
	if (list->resume.len)
		return;
	keep_version(watch, list->resource_version);
	tell_synced(watch);
}

/* One that resumes is up to date as soon as it is on: what has changed meanwhile is on its way. */
static void began(struct fl_kube_call *call)
{
	struct fl_watch *watch = fl_container(call, struct fl_watch, call);

	if (watch->step == FL_STEP_WATCH)
		set_state(watch, FL_WATCH_LIVE);
}

static void went_quiet(struct fl_timer *timer)
{
	struct fl_watch *watch = fl_container(timer, struct fl_watch, quiet);
	bool reading = watch->step == FL_STEP_STREAM && !watch->version_len;
	uint64_t now = fl_now(watch->io), heard = watch->call.heard;

	if (heard < watch->began)
		heard = watch->began;
	if (now < heard + quiet_after(watch)) {
		fl_timer_set(watch->io, &watch->quiet, heard + quiet_after(watch));
		return;
	}
	if (!reading && !watch->bookmarked)
		return;
	fl_op_cancel(&watch->call.op);
	(void)fl_fail(&watch->err, FL_E_TIMEOUT, "%s: nothing came for %u s", watch->options.kind->plural,
		      (unsigned)(quiet_after(watch) / FL_NS_PER_S));
	decide(watch, FL_OUT_LOST);
}

/* ---- steps ---- */

static struct fl_str list_version(const struct fl_watch *watch)
{
	const struct fl_watch_to *to = watch->options.to;

	if (watch->newest || (to->ahead && to->ahead(watch->options.arg)))
		return (struct fl_str){ 0 };
	if (watch->seen_len)
		return (struct fl_str){ watch->version, watch->seen_len };
	return watch->options.any_first ? FL_S("0") : (struct fl_str){ 0 };
}

/* Of a watch that begins with initial events: empty, which makes the server read etcd, but where any state will do. One
 * of a version that the server has not seen would be silent. */
static struct fl_str stream_version(const struct fl_watch *watch)
{
	struct fl_str version = list_version(watch);

	return fl_str_eq(version, FL_S("0")) ? version : (struct fl_str){ 0 };
}

static void start_call(struct fl_watch *watch)
{
	const struct fl_watch_options *o = &watch->options;
	uint32_t timeout = o->timeout_s ? o->timeout_s : FL_WATCH_TIMEOUT_S;

	timeout += (uint32_t)chance(watch, timeout);
	watch->began = fl_now(watch->io);
	watch->progress = watch->told_begin = false;
	watch->call = (struct fl_kube_call){
		.op = { .done = call_done, .err = &watch->call_err }, .kind = o->kind, .item = item, .page = page,
				.began = began,
		.space = fl_str(o->space), .labels = fl_str(o->labels), .fields = fl_str(o->fields),
		.verb = watch->step == FL_STEP_LIST ? FL_KUBE_LIST : FL_KUBE_WATCH,
		.version = list_version(watch),
	};
	if (watch->step != FL_STEP_LIST) {
		watch->call.bookmarks = true;
		watch->call.once = true;
		watch->call.timeout_s = timeout;
		watch->call.op.deadline = watch->began + timeout * FL_NS_PER_S + OVERTIME;
		watch->call.version = watch->step == FL_STEP_STREAM ?
					      stream_version(watch) :
					      (struct fl_str){ watch->version, watch->version_len };
	}
	watch->call.initial_events = watch->step == FL_STEP_STREAM;
	if (watch->step == FL_STEP_STREAM || (watch->step == FL_STEP_WATCH && watch->bookmarked))
		set_quiet(watch);
	if (watch->step != FL_STEP_WATCH && watch->options.to->asked)
		watch->options.to->asked(watch->options.arg);
	fl_kube_start(watch->kube, &watch->call);
}

/* What is as new as our version: a server that has not seen it says so, and another starts the watch. One object, any,
 * will do. Where fields select a few, all of them: with a limit older servers do not answer from their cache. */
static void start_check(struct fl_watch *watch)
{
	const struct fl_watch_options *o = &watch->options;

	watch->began = fl_now(watch->io);
	watch->progress = watch->told_begin = false;
	watch->path.max = FL_KUBE_TARGET_MAX;
	fl_buf_clear(&watch->path);
	fl_kind_path(o->kind, o->kind->cluster_scoped ? FL_S("") : fl_str(o->space), FL_S(""), NULL, &watch->path);
	fl_buf_printf(&watch->path, "?%sresourceVersion=%.*s&resourceVersionMatch=NotOlderThan",
		      o->fields ? "" : "limit=1&", (int)watch->version_len, watch->version);
	if (o->fields)
		fl_buf_str(&watch->path, FL_S("&fieldSelector="));
	fl_buf_url(&watch->path, fl_str(o->fields));
	if (fl_buf_check(&watch->path, "a watch's path", &watch->err) < 0) {
		decide(watch, FL_OUT_FAILED);
		return;
	}
	watch->call = (struct fl_kube_call){
		.op = { .done = call_done, .err = &watch->call_err, .deadline = watch->began + OVERTIME },
		.verb = FL_KUBE_GET, .path = watch->path.p, .accept = names_alone, .once = true,
	};
	fl_kube_start(watch->kube, &watch->call);
}

static void asked(struct fl_op *op)
{
	struct fl_watch *watch = fl_container(op, struct fl_watch, ask.op);

	if (op->result >= 0) {
		fl_op_cancel(&watch->crd.op);
		decide(watch, FL_OUT_DONE);
		return;
	}
	if (op->result != -FL_E_NOTFOUND)
		watch->err = watch->call_err;
	decide(watch, op->result == -FL_E_NOTFOUND ? FL_OUT_ABSENT : FL_OUT_FAILED);
}

/* A question that is on its way may be too early: the next one follows soon. */
static void ask_soon(struct fl_watch *watch)
{
	uint64_t now = fl_now(watch->io);

	watch->failures = 0;
	if (!fl_timer_is_set(&watch->timer) || watch->rest_until <= now + CAME_WITHIN)
		return;
	watch->rest_until = now + chance(watch, CAME_WITHIN);
	fl_timer_set(watch->io, &watch->timer, watch->rest_until);
}

static int crd_item(struct fl_kube_call *call, enum fl_item what, yyjson_val *object, struct fl_err *err)
{
	struct fl_watch *watch = fl_container(call, struct fl_watch, crd);

	(void)object;
	(void)err;
	if (what == FL_ADDED || what == FL_MODIFIED)
		ask_soon(watch);
	return 0;
}

/* One that has ended begins again with the next question. Who may not watch definitions learns by these alone. */
static void watch_definition(struct fl_watch *watch)
{
	static const struct fl_kind crd = { .group = "apiextensions.k8s.io", .version = "v1",
					    .kind = "CustomResourceDefinition", .plural = "customresourcedefinitions",
					    .cluster_scoped = true };
	const struct fl_kind *kind = watch->options.kind;

	if (fl_op_busy(&watch->crd.op) || kind->built_in || !strchr(kind->group, '.'))
		return;
	(void)snprintf(watch->crd_name, sizeof watch->crd_name, "metadata.name=%s.%s", kind->plural, kind->group);
	watch->crd = (struct fl_kube_call){
		.verb = FL_KUBE_WATCH, .kind = &crd, .path = crd_path, .accept = only_metadata,
		.fields = fl_str(watch->crd_name), .timeout_s = DEFINITION_S, .once = true, .item = crd_item,
	};
	fl_kube_start(watch->kube, &watch->crd);
}

static void start_ask(struct fl_watch *watch)
{
	watch_definition(watch);
	watch->began = fl_now(watch->io);
	watch->progress = false;
	watch->ask.op = (struct fl_op){ .done = asked, .err = &watch->call_err, .deadline = watch->began + OVERTIME };
	watch->ask.kind = watch->options.kind;
	fl_discover(watch->kube, &watch->ask);
}

/* Looks every now and then whether the connection is another one, which costs no request. */
static bool rests(struct fl_watch *watch)
{
	uint64_t now = fl_now(watch->io), look = now + fl_round_in(now, FL_WATCH_ASK_LAST);

	if (watch->step != FL_STEP_ASK || now >= watch->rest_until || fl_kube_opened(watch->kube) != watch->opened)
		return false;
	fl_timer_set(watch->io, &watch->timer, look < watch->rest_until ? look : watch->rest_until);
	return true;
}

static void next_step(struct fl_timer *timer)
{
	struct fl_watch *watch = fl_container(timer, struct fl_watch, timer);

	if (rests(watch))
		return;
	if (watch->step == FL_STEP_ASK)
		start_ask(watch);
	else if (watch->step == FL_STEP_CHECK)
		start_check(watch);
	else
		start_call(watch);
}

static bool knows_no_stream(const struct fl_watch *watch)
{
	return watch->options.no_stream ||
	       (watch->no_stream && fl_kube_opened(watch->kube) == watch->no_stream_opened &&
		fl_now(watch->io) < watch->no_stream_since + FL_WATCH_NO_STREAM);
}

static void learn_no_stream(struct fl_watch *watch, bool before, bool now)
{
	watch->no_stream = now;
	if (before || !now)
		return;
	watch->no_stream_since = fl_now(watch->io);
	watch->no_stream_opened = fl_kube_opened(watch->kube);
}

static void decide(struct fl_watch *watch, enum fl_watch_outcome outcome)
{
	struct fl_watch_facts facts = {
		.step = watch->step, .outcome = outcome, .has_version = watch->version_len > 0,
				.progress = watch->progress,
		.no_stream = knows_no_stream(watch), .newest = watch->newest, .failures = watch->failures,
		.took = fl_now(watch->io) - watch->began,
		.retry_after = outcome == FL_OUT_BUSY ? watch->call.answer.retry_after : 0,
	};
	struct fl_watch_plan plan = fl_watch_next(&facts);

	if (plan.broken)
		fl_log(watch->options.log, outcome == FL_OUT_EXPIRED ? FL_INFO : FL_WARN,
				"watch interrupted, will resume",
		       FL_KV_TEXT("kind", watch->options.kind->kind),
		       FL_KV_TEXT("outcome", fl_name(&fl_watch_outcome_names, (int)outcome)),
		       FL_KV_TEXT("next", fl_name(&fl_watch_step_names, (int)plan.step)),
		       FL_KV_DURATION("in", (int64_t)plan.delay), FL_KV_ERR(&watch->err));
	watch->step = plan.step;
	watch->failures = plan.failures;
	watch->newest = plan.newest;
	learn_no_stream(watch, facts.no_stream, plan.no_stream);
	watch->info.failures += plan.broken;
	watch->info.resumes += plan.step == FL_STEP_WATCH && outcome != FL_OUT_START && facts.step != FL_STEP_LIST;
	if (plan.forget)
		watch->version_len = 0;
	if (plan.absent) {
		set_state(watch, FL_WATCH_ABSENT);
		if (!watch->told_absent) {
			fl_log(watch->options.log, FL_INFO, "kind absent from the API server, will retry",
			       FL_KV_TEXT("kind", watch->options.kind->kind),
			       FL_KV_TEXT("group", watch->options.kind->group));
			watch->options.to->absent(watch->options.arg);
		}
		watch->told_absent = true;
	} else if (plan.broken && watch->state != FL_WATCH_ABSENT) {
		set_state(watch, FL_WATCH_BROKEN);
	}
	if (outcome == FL_OUT_DENIED && watch->options.to->denied)
		watch->options.to->denied(watch->options.arg);
	watch->opened = fl_kube_opened(watch->kube);
	watch->rest_until = fl_now(watch->io) + plan.delay + chance(watch, plan.delay);
	if (!rests(watch))
		fl_timer_set(watch->io, &watch->timer, watch->rest_until);
}

/* ---- the watch ---- */

void fl_watch_poke(struct fl_watch *watch)
{
	if (!fl_timer_is_set(&watch->timer))
		return;
	watch->failures = 0;
	watch->rest_until = 0;
	fl_timer_set(watch->io, &watch->timer, fl_now(watch->io));
}

struct fl_watch_info fl_watch_info(const struct fl_watch *watch)
{
	struct fl_watch_info info = watch->info;

	info.state = watch->state;
	info.since = watch->since;
	info.version = (struct fl_str){ watch->version, watch->version_len };
	info.err = watch->err.code ? &watch->err : NULL;
	return info;
}

struct fl_watch *fl_watch_new(struct fl_kube *kube, const struct fl_watch_options *options, struct fl_err *err)
{
	FL_AUTO(fl_watch) struct fl_watch *watch = fl_zalloc(sizeof *watch);
	struct fl_selector selector;

	if (watch) {
		watch->kube = kube;
		watch->io = fl_kube_io(kube);
		watch->object = fl_zalloc(options->kind->root()->size);
	}
	if (!watch || !watch->object)
		return fl_null(err, FL_E_NOMEM, "no memory for a watch");
	if (options->labels && fl_selector_parse(&watch->arena, fl_str(options->labels), &selector, err) < 0) {
		(void)fl_wrap(err, "watch %s", options->kind->plural);
		return NULL;
	}
	fl_arena_reset(&watch->arena);
	watch->options = *options;
	keep_version(watch, options->since);
	watch->version_len = 0;
	watch->timer = (struct fl_timer){ .fire = next_step };
	watch->quiet = (struct fl_timer){ .fire = went_quiet };
	watch->began = watch->since = fl_now(watch->io);
	decide(watch, FL_OUT_START);
	return fl_steal(&watch);
}

struct fl_watch *fl_watch_free(struct fl_watch *watch)
{
	if (!watch)
		return NULL;
	if (watch->io) {
		fl_timer_stop(watch->io, &watch->timer);
		stop_quiet(watch);
	}
	fl_op_cancel(&watch->call.op);
	fl_op_cancel(&watch->crd.op);
	fl_op_cancel(&watch->ask.op);
	fl_arena_free(&watch->arena);
	fl_buf_free(&watch->path);
	fl_free(watch->object);
	fl_free(watch);
	return NULL;
}
