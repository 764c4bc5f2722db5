#include "node/pausing.h"
#include "api/node.h"
#include "base/chain.h"
#include "base/log.h"
#include "io/fs.h"
#include "plan/gpu/pause.h"
#include "run/facts.h"
#include "run/memory.h"
#include <stdio.h>

static const struct fl_str operator_name = FL_S_INIT(FL_PAUSE_OPERATOR);

FL_FACTS_ONCE(pause, fl_gpu_pause_facts, FL_GPU_PAUSE_FACTS, { &fl_driver_pause_kind, fl_one_key, false })

const struct fl_capability fl_node_pausing = {
	.name = "pause", .watches = pause_watches,
	.owners = FL_OWNERS(&fl_gpu_driver_pause_owner, &fl_gpu_pause_owner), .once = true,
	.facts_size = sizeof(struct fl_gpu_pause_facts), .gather = pause_gather, .plan = fl_gpu_pause_plan,
};

/* ---- what is remembered: a file each, which says why ---- */

static int print(void *arg, const void *object, struct fl_buf *out, struct fl_err *err)
{
	(void)arg;
	fl_buf_printf(out, "%.*s\n", FL_ARG(((const struct fl_pause *)object)->why));
	return fl_buf_check(out, "a pause", err);
}

/* Whatever stands in the file, it is there. */
static int parse(void *arg, const struct fl_folder_file *file, struct fl_arena *arena, void *object,
		 struct fl_err *err)
{
	struct fl_str why = fl_str_trim(file->content);
	struct fl_pause *pause = object;

	(void)arg;
	if (file->why)
		why = fl_arena_printf(arena, "the reason cannot be read: %s", file->why->text);
	if (!why.p && file->why)
		return fl_fail(err, FL_E_NOMEM, "no memory to read why the driver is released");
	FL_SET(pause, why, why.len ? why : FL_S("no reason was given"));
	return 1;
}

/* ---- who waits for it ---- */

struct fl_pausing_ask {
	struct fl_pausing *pausing;
	struct fl_http_req *req;
	struct fl_pausing_ask *next, **from;
	bool pause;                            /* that is what was asked for */
	bool begun;                            /* what is carried out now was wanted after it came */
	struct fl_gpu_pause again;             /* of one who asks for what was asked for before: is it so by now? */
	struct fl_err why;
	char kept[200];                        /* the first reason, if another was given now; "": none was */
};

/* With who else has the driver open. */
static void say_done(const struct fl_pausing *pausing, struct fl_http_req *req, const char *words)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_PLAN_TEXT);

	fl_buf_str(&text, fl_str(words));
	if (*pausing->gpu)
		fl_gpu_users(*pausing->gpu, &text);
	fl_buf_char(&text, '\n');
	fl_http_req_answer(req, 200, FL_HEADERS({ FL_S("content-type"), FL_S("text/plain; charset=utf-8") }),
			   fl_buf_view(&text));
}

static void forget(struct fl_pausing_ask *ask)
{
	fl_chain_take(ask);
	if (fl_op_busy(&ask->again.op)) {
		fl_op_cancel(&ask->again.op);
		fl_gpu_resume(*ask->pausing->gpu);
	}
	fl_free(ask);
}

static void gone(void *ask)
{
	forget(ask);
}

static const struct fl_http_req_user user = { .gone = gone };

static struct fl_pausing_ask *wait_for_it(struct fl_pausing *pausing, struct fl_http_req *req, bool pause)
{
	struct fl_pausing_ask *ask = fl_alloc(sizeof *ask);

	if (!ask) {
		fl_http_req_say(req, 503, "no memory to wait for the result; the request is in flight");
		return NULL;
	}
	*ask = (struct fl_pausing_ask){ .pausing = pausing, .req = req, .pause = pause };
	fl_chain_add(&pausing->asks, ask);
	fl_http_req_on(req, &user, ask);
	return ask;
}

static void looked_again(struct fl_op *op)
{
	struct fl_pausing_ask *ask = fl_container(op, struct fl_pausing_ask, again.op);
	struct fl_http_req *req = ask->req;
	struct fl_pausing *pausing = ask->pausing;
	struct fl_err why = op->result < 0 ? ask->why : (struct fl_err){ 0 };
	char words[280];

	(void)snprintf(words, sizeof words, "the driver is already released%s%s",
		       ask->kept[0] ? "; the reason stays as first given: " : "", ask->kept);
	fl_gpu_resume(*pausing->gpu);     /* the pause that was asked for first stays */
	forget(ask);
	if (why.code)
		fl_http_req_say(req, 504, "%s", why.text);
	else
		say_done(pausing, req, words);
}

/* What was asked for before may be on its way still, or have failed: a process that hung there may have ended since. */
static void look_again(struct fl_pausing *pausing, struct fl_http_req *req, struct fl_str words, struct fl_str kept)
{
	struct fl_pausing_ask *ask = wait_for_it(pausing, req, true);
	char why[200];

	if (!ask)
		return;
	(void)snprintf(why, sizeof why, "%.*s", FL_ARG(words));
	(void)snprintf(ask->kept, sizeof ask->kept, "%.*s", FL_ARG(kept));
	ask->again = (struct fl_gpu_pause){ .op = { .done = looked_again, .err = &ask->why }, .users = true };
	fl_gpu_pause(*pausing->gpu, &ask->again, why);
}

/* Those who look for themselves are answered by what they see. */
static void begin_all(struct fl_pausing *pausing)
{
	for (struct fl_pausing_ask *ask = pausing->asks; ask; ask = ask->next)
		ask->begun = !fl_op_busy(&ask->again.op);
}

static struct fl_pausing_ask *next_ask(const struct fl_pausing *pausing)
{
	struct fl_pausing_ask *ask = pausing->asks;

	while (ask && !ask->begun)
		ask = ask->next;
	return ask;
}

/* Why the operator has asked for a pause that still holds; empty: there is none. */
static struct fl_str asked_why(struct fl_view *view)
{
	return fl_gpu_pause_by_operator(fl_view_get(view, &fl_pause_request_kind, FL_S(""), operator_name),
					fl_view_get(view, &fl_pause_kind, FL_S(""), operator_name));
}

static bool has_asked(const struct fl_pausing *pausing)
{
	FL_VIEW(view, pausing->loop);

	return asked_why(&view).len;
}

static const char the_opposite[] = "the opposite was requested at the same time";

/* The label, as the Node has it, is in the reason of the pause. */
static void say_of_the_node(const struct fl_pausing *pausing, struct fl_http_req *req)
{
	FL_VIEW(view, pausing->loop);
	const struct fl_driver_pause *pause = fl_view_get(&view, &fl_driver_pause_kind, FL_S(""), FL_S("driver"));

	fl_http_req_say(req, 409, "the pause is not of fairlead pause: %.*s: remove that label to reopen the driver",
			FL_ARG(pause && pause->why.len ? pause->why : FL_S("a label of the Node asks for it")));
}

static void answer(const struct fl_pausing *pausing, struct fl_http_req *req, bool pause, const struct fl_err *why)
{
	bool paused = pausing->paused, by_node = paused && !has_asked(pausing);

	if (why->code)
		fl_http_req_say(req, 504, "%s", why->text);
	else if (pause == paused)
		say_done(pausing, req, paused ? "the driver is released" : "the driver is reopened");
	else if (by_node)
		say_of_the_node(pausing, req);
	else
		fl_http_req_say(req, 409, "%s", the_opposite);
}

static void answer_all(struct fl_pausing *pausing, const struct fl_err *why)
{
	struct fl_pausing_ask *ask;

	while ((ask = next_ask(pausing))) {
		struct fl_http_req *req = ask->req;
		bool pause = ask->pause;

		forget(ask);
		answer(pausing, req, pause, why);
	}
}

/* ---- the sink ---- */

struct letting_go {
	struct fl_gpu_pause pause;
	struct fl_pausing *pausing;
	struct fl_write *write;
	struct fl_err why;
};

static void let_go(struct fl_op *op)
{
	struct letting_go *it = fl_container(op, struct letting_go, pause.op);
	struct fl_pausing *pausing = it->pausing;
	struct fl_err why = op->result < 0 ? it->why : (struct fl_err){ 0 };

	if (why.code)
		fl_log(pausing->log, FL_WARN, "driver still in use", FL_KV_ERR(&why));
	fl_write_done(it->write, NULL);
	answer_all(pausing, &why);
}

/* True: it->pause ends when it is carried out. */
static bool carry_out(struct fl_pausing *pausing, struct letting_go *it, bool pause, const char *why)
{
	struct fl_gpu *gpu = *pausing->gpu;

	if (!gpu || pause == pausing->paused)
		return false;
	pausing->paused = pause;
	if (pause) {
		fl_log(pausing->log, FL_INFO, "driver released", FL_KV_TEXT("why", why));
		fl_gpu_pause(gpu, &it->pause, why);
	} else {
		fl_log(pausing->log, FL_INFO, "driver reopened");
		fl_gpu_resume(gpu);
	}
	return pause;
}

static void start(void *pausing_, struct fl_write *write)
{
	const struct fl_driver_pause *pause = write->object;
	struct fl_pausing *pausing = pausing_;
	struct letting_go *it = write->held;
	char why[200];
	bool ends;

	*it = (struct letting_go){ .pause = { .op.done = let_go, .users = true }, .pausing = pausing, .write = write };
	it->pause.op.err = &it->why;
	begin_all(pausing);
	(void)snprintf(why, sizeof why, "%.*s", FL_ARG(pause->why));
	ends = carry_out(pausing, it, pause->paused, why);
	if (*pausing->gpu)
		fl_gpu_begin(*pausing->gpu);
	if (ends)
		return;
	fl_op_begin(&it->pause.op, pausing->io, NULL);
	fl_op_end(&it->pause.op, 0);
}

static void cancel(void *pausing, struct fl_write *write)
{
	(void)pausing;
	fl_op_cancel(&((struct letting_go *)write->held)->pause.op);
}

const struct fl_sink fl_pausing_sink = { start, cancel, sizeof(struct letting_go) };

/* ---- the operator's word ---- */

static int say(struct fl_pausing *pausing, bool pause, struct fl_str why, struct fl_err *err)
{
	struct fl_pause_request word = { 0 };

	FL_SET(FL_IN(&word, meta), name, operator_name);
	FL_SET(&word, pause, pause);
	FL_SET(&word, why, why);
	FL_SET(&word, asked, ++pausing->asked);
	return fl_feed_put(fl_loop_feed(pausing->loop, &fl_pause_request_kind), &word, err);
}

static void asked_to_pause(struct fl_http_req *req)
{
	struct fl_pausing *pausing = fl_http_req_service(req);
	FL_VIEW(view, pausing->loop);
	struct fl_str words = fl_str_trim(fl_http_req_body(req)), first = asked_why(&view), kept = FL_S("");
	struct fl_err err = { 0 };

	if (first.len && words.len && !fl_str_eq(first, words))
		kept = first;
	if (first.len)
		words = first;
	else if (!words.len)
		words = FL_S("asked for by the operator");
	if (say(pausing, true, words, &err) < 0)
		fl_http_req_say(req, 503, "%s", err.text);
	else if (pausing->paused && *pausing->gpu)
		look_again(pausing, req, words, kept);
	else
		(void)wait_for_it(pausing, req, true);
}

static void asked_to_resume(struct fl_http_req *req)
{
	struct fl_pausing *pausing = fl_http_req_service(req);
	bool asked = has_asked(pausing);
	struct fl_err err = { 0 };

	if (asked && say(pausing, false, FL_S(""), &err) < 0)
		fl_http_req_say(req, 503, "%s", err.text);
	else if (asked)
		(void)wait_for_it(pausing, req, false);
	else if (pausing->paused)
		say_of_the_node(pausing, req);
	else
		fl_http_req_say(req, 200, "there is no pause");
}

static const struct fl_http_route routes[] = {
	{ .method = "POST", .path = "/pause", .handle = asked_to_pause, .max_body = 160 },
	{ .method = "POST", .path = "/resume", .handle = asked_to_resume, .max_body = 160 },
};

/* ---- the start and the end ---- */

static void make_folder(struct fl_io *io, const char *path)
{
	const struct fl_fs *fs = fl_io_fs(io);
	char dir[FL_GPU_PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (slash && slash > path && (size_t)(slash - path) < sizeof dir) {
		memcpy(dir, path, (size_t)(slash - path));
		dir[slash - path] = '\0';
		(void)fs->mkdir(fs, AT_FDCWD, dir, 0755);   /* what it lacks, the listening says */
	}
}

void fl_pausing_init(struct fl_pausing *pausing, struct fl_io *io, const char *path, struct fl_log *log)
{
	const char *slash = strrchr(path, '/');
	int len = slash ? (int)(slash - path) : 0;

	*pausing = (struct fl_pausing){
		.path = path,
		.log = log,
		.files = { .io = io, .dir = pausing->dir, .make = true, .mode = 0644, .print = print },
		.folder = { .dir = pausing->dir, .parse = parse },
	};
	if (slash && (size_t)len < sizeof pausing->dir - sizeof "/paused")
		(void)snprintf(pausing->dir, sizeof pausing->dir, "%.*s/paused", len, path);
}

struct fl_source fl_pausing_pauses(struct fl_pausing *pausing)
{
	if (!pausing->dir[0])
		return (struct fl_source){ &fl_pause_kind, NULL, &fl_memory_sink, pausing->files.io };
	return (struct fl_source){ &fl_pause_kind, NULL, &fl_files_sink, &pausing->files };
}

void fl_pausing_start(struct fl_pausing *pausing, struct fl_loop *loop, struct fl_gpu **gpu)
{
	const struct fl_fs *fs = fl_io_fs(pausing->files.io);

	pausing->io = pausing->files.io;
	pausing->loop = loop;
	pausing->gpu = gpu;
	fl_memory_begin(loop, &fl_pause_request_kind);
	fl_memory_begin(loop, &fl_driver_pause_kind);
	if (!pausing->dir[0]) {
		fl_memory_begin(loop, &fl_pause_kind);
		return;
	}
	make_folder(pausing->io, pausing->dir);
	(void)fs->mkdir(fs, AT_FDCWD, pausing->dir, 0755);   /* one that is missing is looked for each second */
	fl_folder_start(pausing->io, &pausing->folder, fl_loop_feed(loop, &fl_pause_kind));
}

int fl_pausing_listen(struct fl_pausing *pausing, struct fl_err *err)
{
	struct fl_http_server_options options = { .routes = routes, .route_count = FL_LEN(routes), .service = pausing };
	struct fl_addr addr;

	if (fl_addr_unix(&addr, fl_str(pausing->path), err) < 0)
		return -(int)(err ? err->code : FL_E_INVALID);
	make_folder(pausing->io, pausing->path);
	pausing->server = fl_http_server_new(pausing->io, &options, err);
	if (pausing->server && fl_http_server_listen(pausing->server, &addr, 0600, NULL, NULL, err) == 0)
		return 0;
	pausing->server = fl_http_server_free(pausing->server);
	return -(int)(err ? err->code : FL_E_NOMEM);
}

void fl_pausing_stop(struct fl_pausing *pausing)
{
	const struct fl_fs *fs;

	if (!pausing->io)
		return;
	fs = fl_io_fs(pausing->io);
	if (pausing->server)
		(void)fs->unlink(fs, AT_FDCWD, pausing->path, 0);
	pausing->server = fl_http_server_free(pausing->server);
	while (pausing->asks)
		forget(pausing->asks);
	fl_folder_stop(&pausing->folder);
}
