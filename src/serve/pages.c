#include "serve/pages.h"
#include "json/write.h"
#include "http/query.h"
#include "serve/scrape.h"
#include <assert.h>

#define FL_QUERY_VALUE 512                     /* a name has 253 bytes, a group's kind twice that */

struct fl_pages *fl_pages_of(const struct fl_http_req *req)
{
	return fl_http_req_service(req);
}

/* ---- failures ---- */

static const struct {
	enum fl_code code;
	int status;
	const char *reason;   /* metav1.StatusReason */
} statuses[] = {
	{ FL_E_INVALID, 400, "BadRequest" },
	{ FL_E_TOOBIG, 400, "BadRequest" },
	{ FL_E_NOTFOUND, 404, "NotFound" },
	{ FL_E_NOMEM, 503, "ServiceUnavailable" },
	{ FL_E_RETRY, 503, "ServiceUnavailable" },
};

void fl_pages_put_status(struct fl_buf *body, struct fl_str message, const char *reason, int code)
{
	fl_buf_str(body, FL_S("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
			      "\"message\":"));
	fl_buf_json(body, message);
	fl_buf_printf(body, ",\"reason\":\"%s\",\"code\":%d}\n", reason, code);
}

static void fail(struct fl_http_req *req, bool json, enum fl_code code, struct fl_str why)
{
	FL_AUTO(fl_buf) struct fl_buf body = FL_BUF(FL_EXPLAIN_MAX);
	const char *reason = "InternalError";
	int status = 500;

	for (size_t i = 0; i < FL_LEN(statuses); i++)
		if (statuses[i].code == code) {
			status = statuses[i].status;
			reason = statuses[i].reason;
		}
	if (json)
		fl_pages_put_status(&body, why, reason, status);
	if (!json || body.failed)
		fl_http_req_say(req, status, "%.*s", FL_ARG(why));
	else
		fl_http_req_answer(req, status, FL_HEADERS({ FL_S("content-type"), FL_S("application/json") }),
				   fl_buf_view(&body));
}

int fl_pages_json(const struct fl_http_req *req, bool *ret_json, struct fl_err *err)
{
	char text[16];
	struct fl_buf output = FL_BUF_IN(text);
	int r = fl_query_get(fl_http_req_query(req), "output", &output, err);
	bool json = fl_str_eq(fl_buf_view(&output), FL_S("json"));

	*ret_json = json;
	if (r < 0 || (r && !json && !fl_str_eq(fl_buf_view(&output), FL_S("text"))))
		return fl_fail(err, FL_E_INVALID, "output is json or text");
	if (r == 0)
		*ret_json = fl_headers_token(fl_http_req_head(req)->headers, FL_S("accept"), FL_S("application/json"));
	return 0;
}

/* ---- probes ---- */

static void healthz(struct fl_http_req *req)
{
	fl_http_req_say(req, 200, "ok");
}

static void readyz(struct fl_http_req *req)
{
	struct fl_pages *pages = fl_pages_of(req);
	FL_AUTO(fl_buf) struct fl_buf words = FL_BUF(FL_READY_MAX);
	bool ready = pages->ready(pages->arg, &words);

	if (words.failed)
		fl_http_req_say(req, ready ? 200 : 503, "%sready; the text is too long or there is no memory for it",
				ready ? "" : "not ");
	else if (!ready)
		fl_http_req_say(req, 503, "%.*s", FL_ARG(fl_buf_view(&words)));
	else
		fl_http_req_say(req, 200, "ready%s%.*s", words.len ? "\n" : "", FL_ARG(fl_buf_view(&words)));
}

/* ---- explain ---- */

struct asked {
	struct fl_buf kind, space, name;
	char texts[3][FL_QUERY_VALUE];
};

static int read_asked(const struct fl_http_req *req, struct asked *asked, struct fl_err *err)
{
	struct fl_str query = fl_http_req_query(req);
	int kind, space, name;

	asked->kind = FL_BUF_IN(asked->texts[0]);
	asked->space = FL_BUF_IN(asked->texts[1]);
	asked->name = FL_BUF_IN(asked->texts[2]);
	kind = fl_query_get(query, "kind", &asked->kind, err);
	space = kind < 0 ? kind : fl_query_get(query, "namespace", &asked->space, err);
	name = space < 0 ? space : fl_query_get(query, "name", &asked->name, err);
	if (name < 0)
		return name;
	if (!asked->kind.len || !asked->name.len)
		return fl_fail(err, FL_E_INVALID, "what should be explained? /explain?kind=KIND&name=NAME, "
						  "with &namespace=NS where the kind has namespaces");
	return 0;
}

/* The kinds there are go into *out: they may be more than an error's text takes. */
static int find_kind(const struct fl_pages *pages, struct fl_str name, const struct fl_kind **ret, struct fl_buf *out,
		     struct fl_err *err)
{
	const struct fl_kind *kind;

	for (uint32_t i = 0; (kind = fl_loop_kind(pages->loop, i)); i++)
		if (fl_kind_named(kind, name)) {
			*ret = kind;
			return 0;
		}
	fl_buf_printf(out, "%s has nothing to do with a kind '%.*s'; it knows ", pages->title, FL_ARG(name));
	for (uint32_t i = 0; (kind = fl_loop_kind(pages->loop, i)); i++)
		fl_buf_printf(out, "%s%s", i ? ", " : "", kind->kind);
	if (out->failed)
		return fl_buf_check(out, "the kinds that there are", err);
	return fl_fail(err, FL_E_NOTFOUND, "%s has nothing to do with a kind '%.*s'", pages->title, FL_ARG(name));
}

static void put_json(const struct fl_kind *kind, const struct asked *asked, struct fl_str lines, struct fl_buf *out)
{
	struct fl_jw w = FL_JW(out);
	struct fl_str line;

	fl_jw_obj(&w);
	fl_jw_put(&w, "kind", str, fl_str(kind->kind));
	if (!kind->cluster_scoped)
		fl_jw_put(&w, "namespace", str, fl_buf_view(&asked->space));
	fl_jw_put(&w, "name", str, fl_buf_view(&asked->name));
	fl_jw_put(&w, "lines", arr);
	while (fl_str_split(&lines, '\n', &line))
		if (line.len)
			fl_jw_str(&w, line);
	fl_jw_end_arr(&w);
	fl_jw_end_obj(&w);
	fl_buf_char(out, '\n');
}

static int explained(struct fl_http_req *req, bool json, struct fl_buf *out, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf lines = FL_BUF(FL_EXPLAIN_MAX);
	struct fl_pages *pages = fl_pages_of(req);
	const struct fl_kind *kind = NULL;
	struct asked asked;
	int r = read_asked(req, &asked, err);

	if (r == 0)
		r = find_kind(pages, fl_buf_view(&asked.kind), &kind, out, err);
	if (r < 0)
		return r;
	assert(kind);
	/* A person's kubeconfig always has a namespace; of a kind without it is not meant. */
	r = fl_loop_explain(pages->loop, kind, kind->cluster_scoped ? FL_S("") : fl_buf_view(&asked.space),
			    fl_buf_view(&asked.name), &lines, err);
	if (r < 0)
		return r;
	if (json)
		put_json(kind, &asked, fl_buf_view(&lines), out);
	else if (lines.len)
		fl_buf_str(out, fl_buf_view(&lines));
	else
		fl_buf_printf(out, "no plan has anything to say of this %s\n", kind->kind);
	return fl_buf_check(out, "an explanation", err);
}

static void explain(struct fl_http_req *req)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(2 * FL_EXPLAIN_MAX);
	struct fl_err err = { 0 };
	bool json = false;

	if (fl_pages_json(req, &json, &err) < 0 || explained(req, json, &out, &err) < 0)
		fail(req, json, err.code, out.len && !out.failed ? fl_buf_view(&out) : fl_str(err.text));
	else
		fl_http_req_answer(req, 200,
				   FL_HEADERS({ FL_S("content-type"), json ? FL_S("application/json") :
									     FL_S("text/plain; charset=utf-8") }),
				   fl_buf_view(&out));
}

/* ---- the list ---- */

static void put_pages(struct fl_buf *out, const struct fl_page *page)
{
	for (; page && page->path; page++)
		fl_buf_printf(out, "%-16s %s\n", page->path, page->says);
}

void fl_pages_list(struct fl_http_req *req)
{
	FL_AUTO(fl_buf) struct fl_buf out = FL_BUF(FL_EXPLAIN_MAX);
	struct fl_pages *pages = fl_pages_of(req);

	fl_buf_printf(&out, "%s " FL_VERSION "\n\n", pages->title);
	put_pages(&out, pages->common ? pages->common : fl_pages_common);
	put_pages(&out, pages->more);
	if (out.failed)
		fl_http_req_say(req, 503, "no memory for the list");
	else
		fl_http_req_answer(req, 200, FL_HEADERS({ FL_S("content-type"), FL_S("text/plain; charset=utf-8") }),
				   fl_buf_view(&out));
}

const struct fl_page fl_pages_common[] = {
	{ "/", fl_pages_list, "This list.", .open = true },
	{ "/healthz", healthz, "200 while the event loop runs: a liveness probe.", true, true },
	{ "/livez", healthz, "The same.", true, true },
	{ "/readyz", readyz, "200 when ready, else the first thing missing.", true, true },
	{ "/metrics", fl_scrape, "Metrics for Prometheus." },
	{ "/explain", explain, "?kind=KIND&name=NAME[&namespace=NS][&output=json]: the state of an object." },
	{ 0 },
};

/* ---- the whole ---- */

static void guarded(struct fl_http_req *req)
{
	struct fl_pages *pages = fl_pages_of(req);

	fl_guard_serve(&pages->guard, req, pages->pages[fl_http_req_route(req) - pages->routes]->handle);
}

static int add_routes(struct fl_pages *pages, size_t *count, const struct fl_page *page, struct fl_err *err)
{
	for (; page && page->path; page++) {
		if (*count == FL_PAGES_MAX)
			return fl_fail(err, FL_E_TOOBIG, "more than %d pages", FL_PAGES_MAX);
		pages->pages[*count] = page;
		pages->routes[(*count)++] = (struct fl_http_route){ .method = "GET", .path = page->path, .max_body = 1,
								    .handle = page->open ? page->handle : guarded,
								    .probe = page->probe };
	}
	return 0;
}

int fl_pages_start(struct fl_pages *pages, struct fl_err *err)
{
	struct fl_http_server_options options = { .routes = pages->routes, .service = pages,
						  .max_conns = FL_PAGES_CONNS, .max_streams = FL_PAGES_STREAMS,
						  .max_queue = FL_METRICS_TEXT };
	int r = add_routes(pages, &options.route_count, pages->common ? pages->common : fl_pages_common, err);

	if (r == 0)
		r = add_routes(pages, &options.route_count, pages->more, err);
	pages->guard = (struct fl_guard){ .io = pages->io, .kube = pages->kube, .open = pages->open_metrics,
					  .metrics = pages->metrics };
	if (r == 0)
		r = fl_guard_start(&pages->guard, err);
	if (r < 0)
		return r;
	pages->server = fl_http_server_new(pages->io, &options, err);
	return pages->server ? 0 : -(int)(err ? err->code : FL_E_NOMEM);
}

void fl_pages_stop(struct fl_pages *pages)
{
	fl_guard_stop(&pages->guard);
	pages->server = fl_http_server_free(pages->server);
}
