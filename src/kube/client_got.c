#include "kube/client_in.h"

#define FL_KUBE_TRIES 10                 /* of one call after 429 and the like, as client-go */

/* ---- objects ---- */

static const struct {
	const char *type;
	enum fl_item what;
} events[] = {
	{ "ADDED", FL_ADDED }, { "MODIFIED", FL_MODIFIED }, { "DELETED", FL_DELETED }, { "BOOKMARK", FL_BOOKMARK },
};

static int parse(struct fl_kube_flight *flight, struct fl_str json, yyjson_doc **ret_doc, struct fl_err *err)
{
	fl_json_space_reset(&flight->kube->space);
	return fl_json_read(&flight->kube->space, json, 0, ret_doc, err);
}

/* 1: told, go on. 0: the flight is gone. */
static int pass_item(struct fl_kube_flight *flight, enum fl_item what, yyjson_val *object)
{
	struct fl_kube_call *call = flight->call;
	struct fl_err err = { 0 };
	bool gone = false, *outer = flight->gone;
	int r;

	if (!call->item)
		return 1;
	flight->gone = &gone;
	r = call->item(call, what, object, &err);
	if (gone) {
		if (outer)
			*outer = true;
		return 0;
	}
	flight->gone = outer;
	call->items++;
	if (r >= 0)
		return 1;
	if (!err.code)
		(void)fl_fail(&err, (enum fl_code)-r, "the answer was not accepted");
	fl_flight_fail(flight, &err);
	return 0;
}

static int tell_event(struct fl_kube_flight *flight, yyjson_val *event)
{
	yyjson_val *object = fl_json_get(event, FL_S("object"));
	struct fl_str type = { 0 };
	struct fl_err err = { 0 };

	(void)fl_json_str(fl_json_get(event, FL_S("type")), &type);
	for (size_t i = 0; i < FL_LEN(events); i++)
		if (fl_str_eq(type, fl_str(events[i].type))) {
			if (events[i].what == FL_BOOKMARK)
				fl_flight_lists(flight, false);
			return pass_item(flight, events[i].what, object);
		}
	if (fl_str_eq(type, FL_S("ERROR"))) {
		(void)fl_status_fail(0, object, &flight->call->answer, &err);
		fl_flight_fail(flight, &err);
		return 0;
	}
	(void)fl_fail(&err, FL_E_INVALID, "an event of type '%.*s' in a watch", FL_ARG(type));
	fl_flight_fail(flight, &err);
	return 0;
}

static void split(struct fl_kube_flight *flight, struct fl_str bytes)
{
	struct fl_str item;
	struct fl_err err = { 0 };
	yyjson_doc *doc;
	int r;

	if (flight->full_state)
		fl_flight_listed(flight, bytes.len);
	fl_split_push(&flight->split, bytes);
	while ((r = fl_split_next(&flight->split, &item, &err)) > 0) {
		r = parse(flight, item, &doc, &err);
		if (r < 0)
			break;
		r = flight->call->verb == FL_KUBE_WATCH ? tell_event(flight, yyjson_doc_get_root(doc)) :
							  pass_item(flight, FL_ITEM, yyjson_doc_get_root(doc));
		if (r == 0)
			return;
	}
	if (r < 0) {
		fl_flight_fail(flight, &err);
		return;
	}
	fl_http_call_consume(&flight->http, bytes.len);
}

void fl_flight_got(struct fl_http_call *http, struct fl_str bytes)
{
	struct fl_kube_flight *flight = fl_container(http, struct fl_kube_flight, http);
	struct fl_err err = { 0 };

	flight->call->heard = fl_now(flight->kube->io);
	if (flight->split_on) {
		split(flight, bytes);
		return;
	}
	fl_buf_put(&flight->reply, bytes.p, bytes.len);
	if (fl_buf_check(&flight->reply, "the answer", &err) < 0)
		fl_flight_fail(flight, &err);
	else
		fl_http_call_consume(http, bytes.len);
}

/* ---- the head ---- */

static void warn(struct fl_kube_flight *flight, struct fl_headers headers)
{
	for (uint32_t i = 0; i < headers.len; i++)
		if (fl_str_eq(headers.at[i].name, FL_S("warning")))
			fl_log(flight->kube->log, FL_WARN, "API server warning",
			       FL_KV_STR("warning", headers.at[i].value),
			       FL_KV_STR("request", flight->http.target));
}

void fl_flight_head(struct fl_http_call *http)
{
	struct fl_kube_flight *flight = fl_container(http, struct fl_kube_flight, http);
	struct fl_kube_call *call = flight->call;
	struct fl_kube *kube = flight->kube;

	call->status = http->status;
	call->heard = fl_now(kube->io);
	if (kube->durations)
		fl_observe(fl_series(kube->durations, (struct fl_str[]){ http->method, fl_str(kube->host) }),
			   (double)(fl_now(kube->io) - flight->sent) / 1e9);
	flight->split_on = http->status == 200 && (call->verb == FL_KUBE_LIST || call->verb == FL_KUBE_WATCH);
	fl_flight_lists(flight, flight->split_on && (call->verb == FL_KUBE_LIST || call->initial_events));
	if (flight->split_on)
		fl_split_init(&flight->split, call->verb == FL_KUBE_LIST ? FL_SPLIT_LIST : FL_SPLIT_STREAM, 0);
	warn(flight, http->answer->headers);
	if (call->began && http->status / 100 == 2)
		call->began(call);
}

void fl_flight_begin_answer(struct fl_kube_flight *flight)
{
	fl_buf_clear(&flight->reply);
	fl_split_free(&flight->split);
	flight->split_on = false;
	fl_flight_lists(flight, false);
	flight->call->status = 0;
	flight->call->answer = (struct fl_answer){ 0 };
}

/* ---- the end ---- */

static void list_ended(struct fl_kube_flight *flight)
{
	struct fl_kube_call *call = flight->call;
	struct fl_list list;
	struct fl_err err = { 0 };

	fl_flight_lists(flight, false);
	fl_json_space_reset(&flight->kube->space);
	if (fl_split_list(&flight->split, &flight->kube->space, &list, NULL, &err) < 0) {
		fl_flight_fail(flight, &err);
		return;
	}
	fl_buf_clear(&flight->resume);
	fl_buf_str(&flight->resume, list.resume);
	if (fl_buf_check(&flight->resume, "the continue token", &err) < 0) {
		fl_flight_fail(flight, &err);
		return;
	}
	if (call->page)
		call->page(call, &list);
	if (!flight->resume.len) {
		fl_flight_end(flight);
		return;
	}
	flight->tries = 0;   /* each page is a request of its own */
	flight->refreshed = false;
	fl_flight_go(flight);
}

static void object_ended(struct fl_kube_flight *flight)
{
	struct fl_kube_call *call = flight->call;
	struct fl_str object = fl_buf_view(&flight->reply);
	struct fl_err err = { 0 };
	yyjson_doc *doc;

	if (call->item && object.len && !(call->needless && call->needless(call, object))) {
		if (parse(flight, object, &doc, &err) < 0) {
			(void)fl_wrap(&err, "the API server's answer");
			fl_flight_fail(flight, &err);
			return;
		}
		if (pass_item(flight, FL_ITEM, yyjson_doc_get_root(doc)) == 0)
			return;
	}
	fl_flight_end(flight);
}

static void good(struct fl_kube_flight *flight)
{
	struct fl_err err = { 0 };

	if (!flight->split_on)
		object_ended(flight);
	else if (flight->call->verb == FL_KUBE_LIST)
		list_ended(flight);
	else if (fl_split_end(&flight->split, &err) < 0)
		fl_flight_fail(flight, &err);
	else
		fl_flight_end(flight);
}

static uint64_t retry_after(struct fl_kube_flight *flight)
{
	struct fl_str header = fl_headers_get(flight->http.answer->headers, FL_S("retry-after"));
	uint64_t after = 0;

	if (header.p && fl_retry_after(header, &after))
		return after ? after : 1;
	return flight->call->answer.retry_after;
}

static void bad(struct fl_kube_flight *flight)
{
	struct fl_kube_call *call = flight->call;
	struct fl_err err = { 0 };
	yyjson_doc *doc = NULL;
	uint64_t after;

	if (parse(flight, fl_buf_view(&flight->reply), &doc, NULL) < 0)
		doc = NULL;
	(void)fl_status_fail(call->status, doc ? yyjson_doc_get_root(doc) : NULL, &call->answer, &err);
	after = call->answer.retry_after = retry_after(flight);
	if (call->status == 429 && !after)
		after = call->answer.retry_after = FL_NS_PER_S;
	if (call->status == 429)
		fl_log(flight->kube->log, FL_WARN, "throttled by the API server",
		       FL_KV_DURATION("for", (int64_t)after), FL_KV_STR("request", flight->http.target),
		       FL_KV_STR("flow_schema", fl_headers_get(flight->http.answer->headers,
							       FL_S("x-kubernetes-pf-flowschema-uid"))));
	if (call->status == 401)
		fl_flight_refused(flight, &err);
	else if (after && (call->status == 429 || call->status >= 500) && !call->once && flight->tries < FL_KUBE_TRIES)
		fl_flight_later(flight, after, call->status == 429);
	else
		fl_flight_fail(flight, &err);
}

void fl_flight_done(struct fl_op *op)
{
	struct fl_kube_flight *flight = fl_container(op, struct fl_kube_flight, http.op);
	struct fl_kube *kube = flight->kube;
	char code[16] = "<error>";
	struct fl_buf buf = FL_BUF_IN(code);

	if (op->result >= 0)
		fl_buf_int(&buf, flight->http.status);
	if (kube->requests)
		fl_count(fl_series(kube->requests, (struct fl_str[]){ fl_str(code), fl_str(kube->host),
								      flight->http.method }), 1);
	if (flight->refused)
		(void)fl_fail(&flight->err, FL_E_DENIED, "not sent: this replica does not lead any more");
	else if (op->result == -FL_E_CLOSED)
		flight->err.code = FL_E_RETRY;   /* what was asked may have happened or not */
	if (flight->refused)
		fl_flight_fail(flight, &flight->err);
	else if (op->result >= 0 && flight->call->status / 100 == 2)
		good(flight);
	else if (op->result >= 0)
		bad(flight);
	else if (op->result == -FL_E_DENIED)
		fl_flight_refused(flight, &flight->err); /* a certificate was refused: there may be a new one */
	else
		fl_flight_fail(flight, &flight->err);
}
