#include "node/holding.h"
#include "api/node.h"
#include "base/log.h"
#include "io/fs.h"
#include "plan/gpu/pause.h"
#include "run/facts.h"
#include "run/memory.h"
#include <stdio.h>

static const struct fl_str operator_name = FL_S_INIT(FL_PAUSE_OPERATOR);

FL_FACTS_ONCE(hold, fl_gpu_pause_facts, FL_GPU_PAUSE_FACTS, { &fl_hold_kind, fl_one_key, false })

static const struct fl_owner *const hold_owners[] = { &fl_gpu_hold_owner, &fl_gpu_pause_owner, NULL };

const struct fl_capability fl_node_hold = {
	.name = "hold", .watches = hold_watches, .owners = hold_owners, .once = true,
	.facts_size = sizeof(struct fl_gpu_pause_facts), .gather = hold_gather, .plan = fl_gpu_pause_plan,
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
		why = fl_arena_printf(arena, "what for cannot be read: %s", file->why->text);
	if (!why.p && file->why)
		return fl_fail(err, FL_E_NOMEM, "no memory to read why the driver is let go of");
	FL_SET(pause, why, why.len ? why : FL_S("no reason was given"));
	return 1;
}

/* ---- who waits for it ---- */

struct fl_holding_ask {
	struct fl_holding *holding;
	struct fl_http_req *req;
	struct fl_holding_ask *next;
	bool pause;                            /* that is what was asked for */
	bool begun;                            /* what is carried out now was wanted after it came */
	struct fl_gpu_pause again;             /* of one who asks for what was asked for before: is it so by now? */
	struct fl_err why;
	char kept[200];                        /* the first reason, if another was given now; "": none was */
};

/* With who else has the driver open. */
static void say_done(const struct fl_holding *holding, struct fl_http_req *req, const char *words)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_PLAN_TEXT);

	fl_buf_str(&text, fl_str(words));
	if (*holding->gpu)
		fl_gpu_users(*holding->gpu, &text);
	fl_buf_char(&text, '\n');
	fl_http_req_answer(req, 200, FL_HEADERS({ FL_S("content-type"), FL_S("text/plain; charset=utf-8") }),
			   fl_buf_view(&text));
}

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

static struct fl_holding_ask *wait_for_it(struct fl_holding *holding, struct fl_http_req *req, bool pause)
{
	struct fl_holding_ask *ask = fl_alloc(sizeof *ask);

	if (!ask) {
		fl_http_req_say(req, 503, "no memory to wait for it; it is on its way");
		return NULL;
	}
	*ask = (struct fl_holding_ask){ .holding = holding, .req = req, .next = holding->asks,
					.pause = pause };
	holding->asks = ask;
	fl_http_req_on(req, &user, ask);
	return ask;
}

static void looked_again(struct fl_op *op)
{
	struct fl_holding_ask *ask = fl_container(op, struct fl_holding_ask, again.op);
	struct fl_http_req *req = ask->req;
	struct fl_holding *holding = ask->holding;
	struct fl_err why = op->result < 0 ? ask->why : (struct fl_err){ 0 };
	char words[280];

	(void)snprintf(words, sizeof words, "the driver is let go of already%s%s",
		       ask->kept[0] ? "; the reason stays as first given: " : "", ask->kept);
	fl_gpu_resume(*holding->gpu);     /* the pause that was asked for first stays */
	forget(ask);
	if (why.code)
		fl_http_req_say(req, 504, "%s", why.text);
	else
		say_done(holding, req, words);
}

/* What was asked for before may be on its way still, or have failed: a process that hung there may have ended since. */
static void look_again(struct fl_holding *holding, struct fl_http_req *req, struct fl_str words, struct fl_str kept)
{
	struct fl_holding_ask *ask = wait_for_it(holding, req, true);
	char why[200];

	if (!ask)
		return;
	(void)snprintf(why, sizeof why, "%.*s", FL_ARG(words));
	(void)snprintf(ask->kept, sizeof ask->kept, "%.*s", FL_ARG(kept));
	ask->again = (struct fl_gpu_pause){ .op = { .done = looked_again, .err = &ask->why }, .users = true };
	fl_gpu_pause(*holding->gpu, &ask->again, why);
}

/* Those who look for themselves are answered by what they see. */
static void begin_all(struct fl_holding *holding)
{
	for (struct fl_holding_ask *ask = holding->asks; ask; ask = ask->next)
		ask->begun = !fl_op_busy(&ask->again.op);
}

static struct fl_holding_ask *next_ask(const struct fl_holding *holding)
{
	struct fl_holding_ask *ask = holding->asks;

	while (ask && !ask->begun)
		ask = ask->next;
	return ask;
}

/* Why the operator has asked for a pause that still holds; empty: there is none. */
static struct fl_str asked_why(struct fl_view *view)
{
	return fl_gpu_pause_by_operator(fl_view_get(view, &fl_word_kind, FL_S(""), operator_name),
					fl_view_get(view, &fl_pause_kind, FL_S(""), operator_name));
}

static bool has_asked(const struct fl_holding *holding)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(holding->loop, &arena);

	return asked_why(&view).len;
}

static const char the_opposite[] = "somebody asked for the opposite at the same time";

/* The label, as the Node has it, is in the reason of the hold. */
static void say_of_the_node(const struct fl_holding *holding, struct fl_http_req *req)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(holding->loop, &arena);
	const struct fl_hold *hold = fl_view_get(&view, &fl_hold_kind, FL_S(""), FL_S("driver"));

	fl_http_req_say(req, 409, "the pause is not of fairlead pause: %.*s: remove that label to take up the driver",
			FL_ARG(hold && hold->why.len ? hold->why : FL_S("a label of the Node asks for it")));
}

static void answer(const struct fl_holding *holding, struct fl_http_req *req, bool pause, const struct fl_err *why)
{
	bool held = holding->held, by_node = held && !has_asked(holding);

	if (why->code)
		fl_http_req_say(req, 504, "%s", why->text);
	else if (pause == held)
		say_done(holding, req, held ? "the driver is let go of" : "the driver is taken up");
	else if (by_node)
		say_of_the_node(holding, req);
	else
		fl_http_req_say(req, 409, "%s", the_opposite);
}

static void answer_all(struct fl_holding *holding, const struct fl_err *why)
{
	struct fl_holding_ask *ask;

	while ((ask = next_ask(holding))) {
		struct fl_http_req *req = ask->req;
		bool pause = ask->pause;

		forget(ask);
		answer(holding, req, pause, why);
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
	fl_write_done(it->write, NULL);
	answer_all(holding, &why);
}

/* True: it->pause ends when it is carried out. */
static bool carry_out(struct fl_holding *holding, struct letting_go *it, bool hold, const char *why)
{
	struct fl_gpu *gpu = *holding->gpu;

	if (!gpu || hold == holding->held)
		return false;
	holding->held = hold;
	if (hold) {
		fl_log(holding->log, FL_INFO, "lets go of the driver", FL_KV_TEXT("why", why));
		fl_gpu_pause(gpu, &it->pause, why);
	} else {
		fl_log(holding->log, FL_INFO, "takes the driver up again");
		fl_gpu_resume(gpu);
	}
	return hold;
}

static void start(void *holding_, struct fl_write *write)
{
	const struct fl_hold *hold = write->object;
	struct fl_holding *holding = holding_;
	struct letting_go *it = write->held;
	char why[200];
	bool ends;

	*it = (struct letting_go){ .pause = { .op.done = let_go, .users = true }, .holding = holding, .write = write };
	it->pause.op.err = &it->why;
	begin_all(holding);
	(void)snprintf(why, sizeof why, "%.*s", FL_ARG(hold->why));
	ends = carry_out(holding, it, hold->held, why);
	if (*holding->gpu)
		fl_gpu_begin(*holding->gpu);
	if (ends)
		return;
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

static int say(struct fl_holding *holding, bool pause, struct fl_str why, struct fl_err *err)
{
	struct fl_word word = { 0 };

	FL_SET(FL_IN(&word, meta), name, operator_name);
	FL_SET(&word, pause, pause);
	FL_SET(&word, why, why);
	FL_SET(&word, asked, ++holding->asked);
	return fl_feed_put(fl_loop_feed(holding->loop, &fl_word_kind), &word, err);
}

static void asked_to_pause(struct fl_http_req *req)
{
	struct fl_holding *holding = fl_http_req_service(req);
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_view view = fl_loop_view(holding->loop, &arena);
	struct fl_str words = fl_str_trim(fl_http_req_body(req)), first = asked_why(&view), kept = FL_S("");
	struct fl_err err = { 0 };

	if (first.len && words.len && !fl_str_eq(first, words))
		kept = first;
	if (first.len)
		words = first;
	else if (!words.len)
		words = FL_S("asked for by the operator");
	if (say(holding, true, words, &err) < 0)
		fl_http_req_say(req, 503, "%s", err.text);
	else if (holding->held && *holding->gpu)
		look_again(holding, req, words, kept);
	else
		(void)wait_for_it(holding, req, true);
}

static void asked_to_resume(struct fl_http_req *req)
{
	struct fl_holding *holding = fl_http_req_service(req);
	bool asked = has_asked(holding);
	struct fl_err err = { 0 };

	if (asked && say(holding, false, FL_S(""), &err) < 0)
		fl_http_req_say(req, 503, "%s", err.text);
	else if (asked)
		(void)wait_for_it(holding, req, false);
	else if (holding->held)
		say_of_the_node(holding, req);
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

void fl_holding_init(struct fl_holding *holding, struct fl_io *io, const char *path, struct fl_log *log)
{
	const char *slash = strrchr(path, '/');
	int len = slash ? (int)(slash - path) : 0;

	*holding = (struct fl_holding){
		.path = path,
		.log = log,
		.files = { .io = io, .dir = holding->dir, .make = true, .mode = 0644, .print = print },
		.folder = { .dir = holding->dir, .parse = parse },
	};
	if (slash && (size_t)len < sizeof holding->dir - sizeof "/paused")
		(void)snprintf(holding->dir, sizeof holding->dir, "%.*s/paused", len, path);
}

struct fl_source fl_holding_pauses(struct fl_holding *holding)
{
	if (!holding->dir[0])
		return (struct fl_source){ &fl_pause_kind, NULL, &fl_memory_sink, holding->files.io };
	return (struct fl_source){ &fl_pause_kind, NULL, &fl_files_sink, &holding->files };
}

void fl_holding_start(struct fl_holding *holding, struct fl_loop *loop, struct fl_gpu **gpu)
{
	const struct fl_fs *fs = fl_io_fs(holding->files.io);

	holding->io = holding->files.io;
	holding->loop = loop;
	holding->gpu = gpu;
	fl_memory_begin(loop, &fl_word_kind);
	fl_memory_begin(loop, &fl_hold_kind);
	if (!holding->dir[0]) {
		fl_memory_begin(loop, &fl_pause_kind);
		return;
	}
	make_folder(holding->io, holding->dir);
	(void)fs->mkdir(fs, AT_FDCWD, holding->dir, 0755);   /* one that is missing is looked for each second */
	fl_folder_start(holding->io, &holding->folder, fl_loop_feed(loop, &fl_pause_kind));
}

int fl_holding_listen(struct fl_holding *holding, struct fl_err *err)
{
	struct fl_http_server_options options = { .routes = routes, .route_count = FL_LEN(routes), .service = holding };
	struct fl_addr addr;

	if (fl_addr_unix(&addr, fl_str(holding->path), err) < 0)
		return -(int)(err ? err->code : FL_E_INVALID);
	make_folder(holding->io, holding->path);
	holding->server = fl_http_server_new(holding->io, &options, err);
	if (holding->server && fl_http_server_listen(holding->server, &addr, 0600, NULL, NULL, err) == 0)
		return 0;
	holding->server = fl_http_server_free(holding->server);
	return -(int)(err ? err->code : FL_E_NOMEM);
}

void fl_holding_stop(struct fl_holding *holding)
{
	const struct fl_fs *fs;

	if (!holding->io)
		return;
	fs = fl_io_fs(holding->io);
	if (holding->server)
		(void)fs->unlink(fs, AT_FDCWD, holding->path, 0);
	holding->server = fl_http_server_free(holding->server);
	while (holding->asks)
		forget(holding->asks);
	fl_folder_stop(&holding->folder);
}
