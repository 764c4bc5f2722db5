#include "local/api_in.h"

/* ---- headers ---- */

static void add_header(struct fl_api_call *call, struct fl_str name, struct fl_str value)
{
	call->lost |= !value.p;
	if (call->header_count < FL_HEADERS_MAX && value.p)
		call->headers[call->header_count++] = (struct fl_header){ name, value };
}

static void json_header(struct fl_api_call *call)
{
	add_header(call, FL_S("content-type"), FL_S("application/json"));
}

/* In a quoted text of a header, a quote and a backslash are escaped; line ends cannot be sent. */
static struct fl_str quoted(struct fl_api_call *call, struct fl_str text)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(FL_HTTP_HEAD_MAX);

	fl_buf_str(&buf, FL_S("299 - \""));
	for (uint32_t i = 0; i < text.len; i++) {
		if (text.p[i] == '"' || text.p[i] == '\\')
			fl_buf_char(&buf, '\\');
		if ((unsigned char)text.p[i] >= ' ')
			fl_buf_char(&buf, text.p[i]);
	}
	fl_buf_char(&buf, '"');
	return buf.failed ? (struct fl_str){ 0 } : fl_arena_str(&call->arena, fl_buf_view(&buf));
}

void fl_api_call_warn(struct fl_api_call *of, const char *fmt, ...)
{
	struct fl_api_call *call = of->outer ? of->outer : of;
	char text[1024];
	struct fl_buf buf = FL_BUF_IN(text);
	struct fl_str value;
	va_list args;

	va_start(args, fmt);
	fl_buf_vprintf(&buf, fmt, args);
	va_end(args);
	value = quoted(call, fl_buf_view(&buf));
	for (uint32_t i = 0; i < call->header_count; i++) {
		if (fl_str_eq(call->headers[i].value, value))
			return;   /* the same webhook or field again */
	}
	if (call->warning_count++ < FL_WARNINGS_MAX)
		add_header(call, FL_S("warning"), value);
}

/* ---- refusals ---- */

static void print_causes(struct fl_jw *w, const struct fl_causes *causes)
{
	fl_jw_key(w, FL_S("causes"));
	fl_jw_arr(w);
	for (const struct fl_cause *cause = causes->first; cause; cause = cause->next) {
		fl_jw_obj(w);
		if (cause->reason)
			fl_jw_put(w, "reason", str, fl_str(cause->reason));
		fl_jw_put(w, "message", str, cause->message);
		if (cause->field.len)
			fl_jw_put(w, "field", str, cause->field);
		fl_jw_end_obj(w);
	}
	fl_jw_end_arr(w);
}

static void print_details(struct fl_jw *w, const struct fl_refusal *refusal)
{
	fl_jw_key(w, FL_S("details"));
	fl_jw_obj(w);
	if (refusal->name.len)
		fl_jw_put(w, "name", str, refusal->name);
	if (refusal->group.len)
		fl_jw_put(w, "group", str, refusal->group);
	if (refusal->kind.len)
		fl_jw_put(w, "kind", str, refusal->kind);
	if (refusal->uid.len)
		fl_jw_put(w, "uid", str, refusal->uid);
	if (refusal->causes && refusal->causes->len)
		print_causes(w, refusal->causes);
	if (refusal->retry)
		fl_jw_put(w, "retryAfterSeconds", i64, refusal->retry);
	fl_jw_end_obj(w);
}

void fl_status_print(struct fl_jw *w, const struct fl_refusal *refusal, struct fl_str message)
{
	bool well = refusal->code < 400;

	fl_jw_obj(w);
	fl_jw_put(w, "kind", str, FL_S("Status"));
	fl_jw_put(w, "apiVersion", str, FL_S("v1"));
	fl_jw_key(w, FL_S("metadata"));
	fl_jw_obj(w);
	fl_jw_end_obj(w);
	fl_jw_put(w, "status", str, well ? FL_S("Success") : FL_S("Failure"));
	if (message.len)
		fl_jw_put(w, "message", str, message);
	if (refusal->reason)
		fl_jw_put(w, "reason", str, fl_str(refusal->reason));
	if (refusal->kind.len || refusal->name.len || refusal->causes || refusal->retry || refusal->code == 405 ||
	    refusal->code == 422 ||
	    (refusal->code == 404 && refusal->reason))
		print_details(w, refusal);
	if (!well)
		fl_jw_put(w, "code", i64, refusal->code);
	fl_jw_end_obj(w);
}

static int code_of(int status)
{
	return status == 409 ? -FL_E_CONFLICT : status == 404 ? -FL_E_NOTFOUND : -FL_E_INVALID;
}

static int refuse(struct fl_api_call *call, const struct fl_refusal *refusal, struct fl_str message)
{
	struct fl_jw w = FL_JW(&call->body);

	fl_buf_clear(&call->body);
	call->status = refusal->code;
	call->outcome = FL_OUTCOME_ANSWER;
	if (!refusal->reason && refusal->code == 404) {   /* no API is there: not JSON either */
		add_header(call, FL_S("content-type"), FL_S("text/plain; charset=utf-8"));
		fl_buf_str(&call->body, message);
		fl_buf_char(&call->body, '\n');
	} else {
		json_header(call);
		fl_status_print(&w, refusal, message);
		fl_buf_char(&call->body, '\n');
	}
	if (refusal->retry)
		add_header(call, FL_S("retry-after"), fl_arena_printf(&call->arena, "%u", refusal->retry));
	if (call->body.failed || (refusal->causes && refusal->causes->failed))
		return -FL_E_NOMEM;
	return code_of(refusal->code);
}

static int refuse_v(struct fl_api_call *call, const struct fl_refusal *refusal, const char *fmt, va_list args)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);

	fl_buf_vprintf(&text, fmt, args);
	return text.failed ? -FL_E_NOMEM : refuse(call, refusal, fl_buf_view(&text));
}

int fl_refuse(struct fl_api_call *call, const struct fl_refusal *refusal, const char *fmt, ...)
{
	va_list args;
	int r;

	va_start(args, fmt);
	r = refuse_v(call, refusal, fmt, args);
	va_end(args);
	return r;
}

int fl_refuse_bad(struct fl_api_call *call, const char *fmt, ...)
{
	va_list args;
	int r;

	va_start(args, fmt);
	r = refuse_v(call, &(struct fl_refusal){ .code = 400, .reason = "BadRequest" }, fmt, args);
	va_end(args);
	return r;
}

struct fl_refusal fl_refusal(const struct fl_api_call *call, int code, const char *reason)
{
	return (struct fl_refusal){ .code = code, .reason = reason, .group = call->resource->group,
				    .kind = call->resource->plural, .name = call->name };
}

/* widgets.demo.io "a": of the core group "configmaps". */
#define WHAT "%.*s \"%.*s\""
#define WHAT_ARG(call) FL_ARG((call)->resource->key), FL_ARG((call)->name)

int fl_refuse_not_found(struct fl_api_call *call)
{
	struct fl_refusal refusal = fl_refusal(call, 404, "NotFound");

	return fl_refuse(call, &refusal, WHAT " not found", WHAT_ARG(call));
}

int fl_refuse_conflict(struct fl_api_call *call, const char *fmt, ...)
{
	struct fl_refusal refusal = fl_refusal(call, 409, "Conflict");
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);
	va_list args;

	if (call->verb == FL_VERB_DELETE) {   /* of a deletion the API server names the kind */
		refusal.kind = call->resource->kind;
		fl_buf_printf(&text, "Operation cannot be fulfilled on %.*s%s%.*s \"%.*s\": ", FL_ARG(refusal.kind),
			      refusal.group.len ? "." : "", FL_ARG(refusal.group), FL_ARG(call->name));
	} else {
		fl_buf_printf(&text, "Operation cannot be fulfilled on " WHAT ": ", WHAT_ARG(call));
	}
	va_start(args, fmt);
	fl_buf_vprintf(&text, fmt, args);
	va_end(args);
	return text.failed ? -FL_E_NOMEM : refuse(call, &refusal, fl_buf_view(&text));
}

int fl_refuse_invalid(struct fl_api_call *call, const struct fl_causes *causes)
{
	struct fl_refusal refusal = fl_refusal(call, 422, "Invalid");
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);

	refusal.kind = call->resource->kind;
	refusal.causes = causes;
	fl_buf_str(&text, call->resource->kind);
	if (call->resource->group.len) {
		fl_buf_char(&text, '.');
		fl_buf_str(&text, call->resource->group);
	}
	fl_buf_printf(&text, " \"%.*s\" is invalid: ", FL_ARG(call->name));
	fl_causes_text(causes, &text);
	return text.failed || causes->failed ? -FL_E_NOMEM : refuse(call, &refusal, fl_buf_view(&text));
}

int fl_refuse_options_all(struct fl_api_call *call, const char *kind, const struct fl_causes *causes)
{
	struct fl_refusal refusal = { .code = 422, .reason = "Invalid", .group = FL_S("meta.k8s.io"),
				      .kind = fl_str(kind), .causes = causes };
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);

	fl_buf_printf(&text, "%s.meta.k8s.io \"\" is invalid: ", kind);
	fl_causes_text(causes, &text);
	return text.failed || causes->failed ? -FL_E_NOMEM : refuse(call, &refusal, fl_buf_view(&text));
}

int fl_refuse_options(struct fl_api_call *call, const char *kind, const char *field, const char *reason,
		      const char *fmt, ...)
{
	struct fl_causes causes = FL_CAUSES(&call->arena);
	FL_AUTO(fl_buf) struct fl_buf why = FL_BUF(FL_KIB);
	va_list args;

	va_start(args, fmt);
	fl_buf_vprintf(&why, fmt, args);
	va_end(args);
	if (why.failed)
		return -FL_E_NOMEM;
	fl_cause_add(&causes, reason, fl_str(field), "%.*s", FL_ARG(fl_buf_view(&why)));
	return fl_refuse_options_all(call, kind, &causes);
}

int fl_refuse_as(struct fl_api_call *call, const struct fl_err *err)
{
	if (err->code == FL_E_NOMEM)
		return -FL_E_NOMEM;
	return fl_refuse_bad(call, "%s", err->text);
}

/* ---- objects ---- */

void fl_put_type(struct fl_buf *buf, const struct fl_api_resource *resource, struct fl_str version)
{
	fl_buf_str(buf, FL_S("\"kind\":\""));
	fl_buf_str(buf, resource->kind);
	fl_buf_str(buf, FL_S("\",\"apiVersion\":\""));
	if (resource->group.len) {
		fl_buf_str(buf, resource->group);
		fl_buf_char(buf, '/');
	}
	fl_buf_str(buf, version);
	fl_buf_char(buf, '"');
}

void fl_state_print(struct fl_buf *buf, const struct fl_api_resource *resource, struct fl_str version,
		    const struct fl_state *state, bool kind)
{
	struct fl_str json = fl_state_json(state);

	if (!kind) {
		fl_buf_str(buf, json);
		return;
	}
	fl_buf_char(buf, '{');
	fl_put_type(buf, resource, version);
	fl_buf_char(buf, ',');   /* metadata is always there */
	fl_buf_str(buf, fl_str_sub(json, 1, json.len));
}

int fl_answer_state(struct fl_api_call *call, int status, const struct fl_state *state)
{
	call->status = status;
	call->outcome = FL_OUTCOME_ANSWER;
	json_header(call);
	fl_state_print(&call->body, call->resource, call->version, state, true);
	fl_buf_char(&call->body, '\n');
	return call->body.failed ? -FL_E_NOMEM : 0;
}

int fl_answer_tree(struct fl_api_call *call, int status, yyjson_mut_val *object, uint64_t version)
{
	struct fl_jw w = FL_JW(&call->body);

	call->status = status;
	call->outcome = FL_OUTCOME_ANSWER;
	json_header(call);
	fl_buf_char(&call->body, '{');
	fl_put_type(&call->body, call->resource, call->version);
	w.comma = true;
	fl_object_print(&w, object, version);
	fl_buf_str(&call->body, FL_S("}\n"));
	return call->body.failed ? -FL_E_NOMEM : 0;
}

int fl_answer_status(struct fl_api_call *call, int status, const struct fl_refusal *refusal)
{
	struct fl_jw w = FL_JW(&call->body);

	call->status = status;
	call->outcome = FL_OUTCOME_ANSWER;
	json_header(call);
	fl_status_print(&w, refusal, FL_S(""));
	fl_buf_char(&call->body, '\n');
	return call->body.failed ? -FL_E_NOMEM : 0;
}

int fl_answer_begin(struct fl_api_call *call)
{
	fl_buf_clear(&call->body);
	call->status = 200;
	call->outcome = FL_OUTCOME_ANSWER;
	json_header(call);
	return 0;
}
