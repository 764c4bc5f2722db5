#include "serve/admission.h"

struct fl_webhooks {
	struct fl_io *io;
	struct fl_loop *loop;
	const struct fl_admission *rows;
	struct fl_http_server *server;
	struct fl_http_route routes[FL_ADMISSION_MAX];
	struct fl_json_space space;        /* of the question that is being answered; so is the arena */
	struct fl_arena arena;
	struct fl_family *answers, *seconds;
	bool counts;
};

enum { ANSWERS, SECONDS, METRIC_COUNT };
static const struct fl_metric metrics[] = {
	[ANSWERS] = { "fairlead_admission_reviews_total", "Admission reviews answered.", FL_COUNTER,
		      .labels = { "webhook", "operation", "outcome" } },
	[SECONDS] = { "fairlead_admission_duration_seconds", "Time from a review's headers to the end of its answer.",
		      FL_HISTOGRAM, .labels = { "webhook" }, FL_METRIC_BUCKETS(fl_latency_buckets) },
};

/* ---- one question ---- */

struct question {
	struct fl_webhooks *webhooks;
	const struct fl_admission *row;
	struct fl_review review;
	struct fl_verdict verdict;
};

static int gather(struct fl_view *view, const void *request, void *facts, struct fl_err *err)
{
	const struct question *question = request;

	(void)err;
	if (question->row->gather)
		question->row->gather(view, &question->review, facts);
	return 0;
}

static int answer(const void *facts, const void *request, struct fl_arena *arena, void *reply, struct fl_err *err)
{
	const struct question *question = request;

	(void)arena;
	(void)err;
	question->row->decide(facts, &question->review, reply);
	return 0;
}

static int check_size(yyjson_doc *doc, struct fl_err *err)
{
	size_t values = yyjson_doc_get_val_count(doc);

	if (values <= FL_REVIEW_VALUES_MAX)
		return 0;
	return fl_fail(err, FL_E_TOOBIG, "the review has %zu keys and values, and at most %d are read: make the object "
					 "smaller",
		       values, FL_REVIEW_VALUES_MAX);
}

static int decide(struct question *question, struct fl_str body, struct fl_buf *out, struct fl_err *err)
{
	struct fl_webhooks *webhooks = question->webhooks;
	const struct fl_admission *row = question->row;
	struct fl_answering answering = { row->path, row->reads, row->facts_size, gather, answer };
	yyjson_doc *doc;
	int r = fl_json_read(&webhooks->space, body, 0, &doc, err);

	if (r == 0)
		r = check_size(doc, err);
	if (r == 0)
		r = fl_review_read(&question->review, row->kind, yyjson_doc_get_root(doc), &webhooks->arena, err);
	if (r == 0)
		r = fl_loop_answer(webhooks->loop, &answering, question, &webhooks->arena, &question->verdict, err);
	if (r == 0)
		r = fl_verdict_write(&question->verdict, question->review.asked.uid, &webhooks->arena, out, err);
	return r;
}

static void count(const struct question *question, int r)
{
	bool read = question->review.kind;
	const char *outcome = r < 0 ? "failed" : question->verdict.allowed ? "allowed" : "denied";
	struct fl_str values[] = {
		fl_str(question->row->path),
		fl_str(read ? fl_name(&fl_operation_names, (int)question->review.asked.operation) : "unknown"),
		fl_str(outcome),
	};

	if (question->webhooks->counts)
		fl_count(fl_series(question->webhooks->answers, values), 1);
}

static const struct fl_admission *row_of(const struct fl_webhooks *webhooks, struct fl_str path)
{
	const struct fl_admission *row = webhooks->rows;

	while (row->path && !fl_str_eq(fl_str(row->path), path))
		row++;
	return row;
}

static void handle(struct fl_http_req *req)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_REVIEW_ANSWER_MAX);
	struct fl_webhooks *webhooks = fl_http_req_service(req);
	struct question question = { .webhooks = webhooks, .row = row_of(webhooks, fl_http_req_path(req)) };
	struct fl_err err = { 0 };
	int r;

	fl_io_name(webhooks->io, "admission");
	fl_verdict_init(&question.verdict, &webhooks->arena);
	r = decide(&question, fl_http_req_body(req), &out, &err);
	if (r == 0)
		fl_http_req_answer(req, 200, FL_HEADERS({ FL_S("content-type"), FL_S("application/json") }),
				   fl_buf_view(&out));
	else if (r == -FL_E_INVALID || r == -FL_E_TOOBIG)
		fl_http_req_say(req, 400, "%s", err.text);
	else
		fl_http_req_say(req, 503, "%s", err.text);
	count(&question, r);
	fl_verdict_free(&question.verdict);
	fl_arena_reset(&webhooks->arena);
	fl_json_space_reset(&webhooks->space);
}

static void ended(void *service, const struct fl_http_access *access)
{
	struct fl_webhooks *webhooks = service;

	if (webhooks->counts && access->route && access->status == 200 && !access->cut)
		fl_observe(fl_series(webhooks->seconds, (struct fl_str[]){ fl_str(access->route->path) }),
			   (double)access->took / 1e9);
}

/* ---- the whole ---- */

static int set_up(struct fl_webhooks *webhooks, const struct fl_admission_options *options, struct fl_err *err)
{
	struct fl_http_server_options server = { .routes = webhooks->routes, .service = webhooks, .ended = ended,
						 .max_conns = FL_REVIEW_CONNS };
	struct fl_family *families[METRIC_COUNT];

	for (const struct fl_admission *row = options->rows; row->path; row++) {
		if (server.route_count == FL_ADMISSION_MAX)
			return fl_fail(err, FL_E_TOOBIG, "more than %d webhooks", FL_ADMISSION_MAX);
		webhooks->routes[server.route_count++] =
			(struct fl_http_route){ .method = "POST", .path = row->path, .handle = handle };
	}
	if (options->metrics) {
		if (fl_metrics_add(options->metrics, metrics, METRIC_COUNT, webhooks, families, err) < 0)
			return -(int)(err ? err->code : FL_E_NOMEM);
		webhooks->answers = families[ANSWERS];
		webhooks->seconds = families[SECONDS];
		webhooks->counts = true;
	}
	webhooks->server = fl_http_server_new(webhooks->io, &server, err);
	return webhooks->server ? 0 : -(int)(err ? err->code : FL_E_NOMEM);
}

struct fl_webhooks *fl_webhooks_new(struct fl_io *io, const struct fl_admission_options *options, struct fl_err *err)
{
	FL_AUTO(fl_webhooks) struct fl_webhooks *webhooks = fl_zalloc(sizeof *webhooks);

	if (!webhooks)
		return fl_null(err, FL_E_NOMEM, "no memory for the webhooks");
	webhooks->io = io;
	webhooks->loop = options->loop;
	webhooks->rows = options->rows;
	return set_up(webhooks, options, err) < 0 ? NULL : fl_steal(&webhooks);
}

struct fl_webhooks *fl_webhooks_free(struct fl_webhooks *webhooks)
{
	if (!webhooks)
		return NULL;
	webhooks->server = fl_http_server_free(webhooks->server);
	fl_json_space_free(&webhooks->space);
	fl_arena_free(&webhooks->arena);
	fl_free(webhooks);
	return NULL;
}

struct fl_http_server *fl_webhooks_server(struct fl_webhooks *webhooks)
{
	return webhooks->server;
}
