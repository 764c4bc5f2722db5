#include "node/holding.h"
#include "api/node.h"
#include "base/log.h"
#include "io/fs.h"
#include "node/one_key.h"
#include "run/memory.h"
#include <stdio.h>

#define LABELS "nvidia.com/gpu.deploy."
#define PAUSED "paused-for-"

static const struct fl_str settings_name = FL_S_INIT("settings"), operator_name = FL_S_INIT("operator"),
			   driver_name = FL_S_INIT("driver");

/* ---- the decision ---- */

struct facts {
	const struct fl_pause *asked;          /* NULL: nobody has */
	struct fl_str key, value;              /* the label that asks for it; empty: none */
};

static const struct fl_owner owner = {
	.manager = "fairlead-hold", .kind = &fl_hold_kind, .paths = (const char *const[]){ "why", NULL },
};
static const struct fl_owner *const owners[] = { &owner, NULL };

static bool gather(struct fl_view *view, struct fl_ref key, void *facts_)
{
	const struct fl_settings *settings = fl_view_get(view, &fl_settings_kind, FL_S(""), settings_name);
	const struct fl_own_node *node = NULL;
	struct facts *facts = facts_;

	(void)key;
	facts->asked = fl_view_get(view, &fl_pause_kind, FL_S(""), operator_name);
	if (settings && !fl_view_absent(view, &fl_own_node_kind))
		node = fl_view_get(view, &fl_own_node_kind, FL_S(""), settings->node);
	for (uint32_t i = 0; node && i < node->meta.labels.len; i++) {
		if (!fl_str_starts(node->meta.labels.at[i].key, FL_S(LABELS)) ||
		    !fl_str_starts(node->meta.labels.at[i].value, FL_S(PAUSED)))
			continue;
		facts->key = node->meta.labels.at[i].key;
		facts->value = node->meta.labels.at[i].value;
	}
	return true;
}

static void plan(const void *facts_, struct fl_plan *plan)
{
	const struct facts *facts = facts_;
	struct fl_ref ref = { &fl_hold_kind, FL_S(""), driver_name, FL_S("") };
	struct fl_hold hold = { 0 };

	if (!facts->asked && !facts->key.len) {
		fl_want_gone(plan, ref);
		return;
	}
	FL_SET(FL_IN(&hold, meta), name, driver_name);
	if (facts->asked)
		FL_SET(&hold, why, facts->asked->why);
	else
		FL_SET(&hold, why,
		       fl_plan_printf(plan, "the Node's label %.*s is %.*s", FL_ARG(facts->key),
				      FL_ARG(facts->value)));
	fl_want(plan, &owner, ref, &hold);
	fl_say(plan, ref, "Held", "%.*s", FL_ARG(hold.why));
}

static const struct fl_watched watches[] = {
	{ &fl_pause_kind, fl_one_key, false }, { &fl_own_node_kind, fl_one_key, true },
	{ &fl_settings_kind, fl_one_key, false }, { &fl_hold_kind, fl_one_key, false }, { 0 },
};

const struct fl_capability fl_node_hold = {
	.name = "hold", .watches = watches, .owners = owners, .once = true, .facts_size = sizeof(struct facts),
	.gather = gather, .plan = plan,
};

/* ---- who waits for it ---- */

struct fl_holding_ask {
	struct fl_holding *holding;
	struct fl_http_req *req;
	struct fl_holding_ask *next;
	struct fl_gpu_pause again;             /* of one who asks for what was asked for before: is it so by now? */
	struct fl_err why;
};

static void forget(struct fl_holding_ask *ask)
{
	struct fl_holding_ask **from = &ask->holding->asks;

	while (*from != ask)
		from = &(*from)->next;
	*from = ask->next;
	if (fl_op_busy(&ask->again.op)) {
		fl_op_cancel(&ask->again.op);
		fl_gpu_resume(*ask->holding->gpu);
	}
	fl_free(ask);
}

static void gone(void *ask)
{
	forget(ask);
}

static const struct fl_http_req_user user = { .gone = gone };

static struct fl_holding_ask *wait_for_it(struct fl_holding *holding, struct fl_http_req *req)
{
	struct fl_holding_ask *ask = fl_alloc(sizeof *ask);

	if (!ask) {
		fl_http_req_say(req, 503, "no memory to wait for it; it is on its way");
		return NULL;
	}
	*ask = (struct fl_holding_ask){ .holding = holding, .req = req, .next = holding->asks };
	holding->asks = ask;
	fl_http_req_on(req, &user, ask);
	return ask;
}

static void looked_again(struct fl_op *op)
{
	struct fl_holding_ask *ask = fl_container(op, struct fl_holding_ask, again.op);
	struct fl_http_req *req = ask->req;
	struct fl_err why = op->result < 0 ? ask->why : (struct fl_err){ 0 };

	fl_gpu_resume(*ask->holding->gpu);     /* the pause that was asked for first stays */
	forget(ask);
	if (why.code)
		fl_http_req_say(req, 504, "%s", why.text);
	else
		fl_http_req_say(req, 200, "the driver is let go of already");
}

/* What was asked for before may be on its way still, or have failed: a process that hung there may have ended since. */
static void look_again(struct fl_holding *holding, struct fl_http_req *req, struct fl_str words)
{
	struct fl_holding_ask *ask = wait_for_it(holding, req);
	char why[200];

	if (!ask)
		return;
	(void)snprintf(why, sizeof why, "%.*s", FL_ARG(words));
	ask->again.op = (struct fl_op){ .done = looked_again, .err = &ask->why };
	fl_gpu_pause(*holding->gpu, &ask->again, why);
}

/* Those who look for themselves are answered by what they see. */
static struct fl_holding_ask *next_ask(const struct fl_holding *holding)
{
	struct fl_holding_ask *ask = holding->asks;

	while (ask && fl_op_busy(&ask->again.op))
		ask = ask->next;
	return ask;
}

static void answer_all(struct fl_holding *holding, const struct fl_err *why)
{
	struct fl_holding_ask *ask;

	while ((ask = next_ask(holding))) {
		struct fl_http_req *req = ask->req;

		forget(ask);
		if (why->code)
			fl_http_req_say(req, 504, "%s", why->text);
		else
			fl_http_req_say(req, 200, holding->held ? "the driver is let go of" : "the driver is taken up");
	}
}

/* ---- the sink ---- */

struct letting_go {
	struct fl_gpu_pause pause;
	struct fl_holding *holding;
	struct fl_write *write;
	struct fl_err why;
};

static void let_go(struct fl_op *op)
{
	struct letting_go *it = fl_container(op, struct letting_go, pause.op);
	struct fl_holding *holding = it->holding;
	struct fl_err why = op->result < 0 ? it->why : (struct fl_err){ 0 };

	if (why.code)
		fl_log(holding->log, FL_WARN, "the driver is not free", FL_KV_ERR(&why));
	if (it->write->what == FL_WANT_GONE)
		fl_write_gone(it->write);
	else
		fl_write_done(it->write, NULL);
	answer_all(holding, &why);
}

static void start(void *holding_, struct fl_write *write)
{
	struct fl_holding *holding = holding_;
	struct letting_go *it = write->held;
	bool hold = write->what == FL_WANT_OBJECT;
	char why[200] = "";

	*it = (struct letting_go){ .pause.op.done = let_go, .holding = holding, .write = write };
	it->pause.op.err = &it->why;
	if (hold)
		(void)snprintf(why, sizeof why, "%.*s", FL_ARG(((const struct fl_hold *)write->object)->why));
	if (hold != holding->held && *holding->gpu) {
		holding->held = hold;
		if (hold) {
			fl_log(holding->log, FL_INFO, "lets go of the driver", FL_KV_TEXT("why", why));
			fl_gpu_pause(*holding->gpu, &it->pause, why);
			return;
		}
		fl_log(holding->log, FL_INFO, "takes the driver up again");
		fl_gpu_resume(*holding->gpu);
	}
	fl_op_begin(&it->pause.op, holding->io, NULL);
	fl_op_end(&it->pause.op, 0);
}

static void cancel(void *holding, struct fl_write *write)
{
	(void)holding;
	fl_op_cancel(&((struct letting_go *)write->held)->pause.op);
}

const struct fl_sink fl_holding_sink = { start, cancel, sizeof(struct letting_go) };

/* ---- the operator's word ---- */

static void asked_to_pause(struct fl_http_req *req)
{
	struct fl_holding *holding = fl_http_req_service(req);
	struct fl_str words = fl_str_trim(fl_http_req_body(req));
	struct fl_pause pause = { 0 };
	struct fl_err err = { 0 };

	FL_SET(FL_IN(&pause, meta), name, operator_name);
	FL_SET(&pause, why, words.len ? words : FL_S("asked for by the operator"));
	if (fl_feed_put(fl_loop_feed(holding->loop, &fl_pause_kind), &pause, &err) < 0)
		fl_http_req_say(req, 503, "%s", err.text);
	else if (holding->held && *holding->gpu)
		look_again(holding, req, pause.why);
	else
		(void)wait_for_it(holding, req);
}

static void asked_to_resume(struct fl_http_req *req)
{
	struct fl_holding *holding = fl_http_req_service(req);
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(holding->loop, &arena);
	bool asked = fl_view_get(&view, &fl_pause_kind, FL_S(""), operator_name);

	fl_feed_gone(fl_loop_feed(holding->loop, &fl_pause_kind), FL_S(""), operator_name);
	if (asked)
		(void)wait_for_it(holding, req);
	else if (holding->held)
		fl_http_req_say(req, 409, "a label of the Node asks for it: take away its nvidia.com/gpu.deploy.* = "
					  "paused-for-...");
	else
		fl_http_req_say(req, 200, "nobody has asked for a pause");
}

static const struct fl_http_route routes[] = {
	{ .method = "POST", .path = "/pause", .handle = asked_to_pause, .max_body = 160 },
	{ .method = "POST", .path = "/resume", .handle = asked_to_resume, .max_body = 160 },
};

/* ---- the start and the end ---- */

void fl_holding_start(struct fl_holding *holding, struct fl_io *io, struct fl_loop *loop, struct fl_gpu **gpu,
		      struct fl_log *log)
{
	*holding = (struct fl_holding){ .io = io, .loop = loop, .gpu = gpu, .log = log };
	fl_memory_begin(loop, &fl_pause_kind);
	fl_memory_begin(loop, &fl_hold_kind);
}

static void make_folder(const struct fl_fs *fs, const char *path)
{
	char dir[FL_GPU_PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (slash && slash > path && (size_t)(slash - path) < sizeof dir) {
		memcpy(dir, path, (size_t)(slash - path));
		dir[slash - path] = '\0';
		(void)fs->mkdir(fs, AT_FDCWD, dir, 0755);   /* what it lacks, the listening says */
	}
}

int fl_holding_listen(struct fl_holding *holding, const char *path, struct fl_err *err)
{
	struct fl_http_server_options options = { .routes = routes, .route_count = FL_LEN(routes), .service = holding };
	struct fl_addr addr;

	if (fl_addr_unix(&addr, fl_str(path), err) < 0)
		return -(int)(err ? err->code : FL_E_INVALID);
	make_folder(fl_io_fs(holding->io), path);
	holding->server = fl_http_server_new(holding->io, &options, err);
	if (holding->server && fl_http_server_listen(holding->server, &addr, 0600, NULL, NULL, err) == 0) {
		holding->path = path;
		return 0;
	}
	holding->server = fl_http_server_free(holding->server);
	return -(int)(err ? err->code : FL_E_NOMEM);
}

void fl_holding_stop(struct fl_holding *holding)
{
	const struct fl_fs *fs;

	if (!holding->io)
		return;
	fs = fl_io_fs(holding->io);
	if (holding->path)
		(void)fs->unlink(fs, AT_FDCWD, holding->path, 0);
	holding->server = fl_http_server_free(holding->server);
	while (holding->asks)
		forget(holding->asks);
}
