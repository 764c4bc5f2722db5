#include "serve/review.h"
#include "base/base64.h"
#include "json/bind_walk.h"
#include "plan/plan.h"

/* ---- the question ---- */

static int check(const struct fl_review_doc *doc, const struct fl_kind *kind, struct fl_err *err)
{
	const struct fl_review_resource *resource = &doc->request.resource;

	if (!fl_str_eq(doc->kind, FL_S(FL_ADMISSION_KIND)) || !fl_str_eq(doc->api_version, FL_S(FL_ADMISSION_VERSION)))
		return fl_fail(err, FL_E_INVALID,
			       "this is a %.*s of %.*s; only " FL_ADMISSION_KIND " of " FL_ADMISSION_VERSION " is read",
			       FL_ARG(doc->kind), FL_ARG(doc->api_version));
	if (!doc->request.uid.len || !doc->request.has.operation)
		return fl_fail(err, FL_E_INVALID, "the review's request has no uid or no operation");
	if (!fl_str_eq(resource->group, fl_str(kind->group)) || !fl_str_eq(resource->resource, fl_str(kind->plural)) ||
	    !fl_str_eq(resource->version, fl_str(kind->version)))
		return fl_fail(err, FL_E_INVALID,
			       "the review is about %.*s of '%.*s/%.*s'; here they are %s of '%s/%s': "
			       "see the rules of the webhook configuration",
			       FL_ARG(resource->resource), FL_ARG(resource->group), FL_ARG(resource->version),
			       kind->plural, kind->group, kind->version);
	return 0;
}

/* NULL: there is none. */
static int read_object(const struct fl_kind *kind, yyjson_val *json, struct fl_arena *arena, const void **ret,
		       struct fl_err *err)
{
	void *object;

	*ret = NULL;
	if (!json || yyjson_is_null(json))
		return 0;
	object = fl_arena_get(arena, kind->root()->size);
	if (!object)
		return fl_fail(err, FL_E_NOMEM, "no memory for the %s", kind->kind);
	*ret = object;
	return fl_decode(kind->root(), json, arena, FL_DECODE_BORROW, object, err);
}

int fl_review_read(struct fl_review *review, const struct fl_kind *kind, yyjson_val *json, struct fl_arena *arena,
		   struct fl_err *err)
{
	yyjson_val *request = fl_json_get(json, FL_S("request"));
	struct fl_review_doc doc;
	int r = fl_decode(fl_review_doc_bind(), json, arena, FL_DECODE_BORROW, &doc, err);

	if (r == 0)
		r = check(&doc, kind, err);
	if (r < 0)
		return r;
	*review = (struct fl_review){ .asked = doc.request, .kind = kind,
				      .json = fl_json_get(request, FL_S("object")) };
	r = read_object(kind, fl_json_get(request, FL_S("object")), arena, &review->object, err);
	if (r == 0)
		r = read_object(kind, fl_json_get(request, FL_S("oldObject")), arena, &review->old, err);
	return r;
}

/* ---- the verdict ---- */

void fl_verdict_init(struct fl_verdict *verdict, struct fl_arena *arena)
{
	*verdict = (struct fl_verdict){ .arena = arena, .patch = FL_BUF(FL_REVIEW_PATCH_MAX) };
}

void fl_verdict_free(struct fl_verdict *verdict)
{
	fl_buf_free(&verdict->patch);
}

void fl_allow(struct fl_verdict *verdict)
{
	verdict->allowed = true;
}

static struct fl_str words(struct fl_verdict *verdict, size_t most, const char *fmt, va_list args)
{
	char text[FL_PLAN_TEXT];
	struct fl_buf buf = FL_BUF_IN(text);
	struct fl_str cut, kept;

	fl_buf_vprintf(&buf, fmt, args);
	cut = fl_str_sub(fl_buf_view(&buf), 0, (uint32_t)most);
	while (cut.len && !fl_str_utf8(cut))   /* not in the middle of a character; what else is wrong ends here too */
		cut.len--;
	kept = fl_arena_str(verdict->arena, cut);
	verdict->failed |= !kept.p;
	return kept;
}

void fl_deny(struct fl_verdict *verdict, int code, const char *message, ...)
{
	va_list args;

	verdict->allowed = false;
	verdict->code = code;
	va_start(args, message);
	verdict->message = words(verdict, FL_PLAN_TEXT, message, args);
	va_end(args);
}

void fl_warn(struct fl_verdict *verdict, const char *message, ...)
{
	va_list args;

	if (verdict->warning_count == FL_REVIEW_WARNINGS)
		return;
	va_start(args, message);
	verdict->warnings[verdict->warning_count++] = words(verdict, FL_REVIEW_WARNING, message, args);
	va_end(args);
}

void fl_verdict_want(struct fl_verdict *verdict, const struct fl_review *review, const struct fl_owner *may,
		     const void *wanted)
{
	const struct fl_bind *root = review->kind->root();
	void *after = fl_arena_get(verdict->arena, root->size);
	struct fl_err err = { .code = FL_E_NOMEM };
	int r = -FL_E_NOMEM;

	if (!review->object)
		return;
	if (after)
		r = fl_owned_lay(may, wanted, review->object, verdict->arena, after, &err);
	if (r == 0)
		r = fl_bind_patch(root, review->object, after, review->json, &verdict->patch, &err);
	if (r == -FL_E_INVALID)
		fl_deny(verdict, 422, "%s", err.text);
	verdict->failed |= r < 0 && r != -FL_E_INVALID;
}

/* ---- the answer ---- */

static const char *reason_of(int code)
{
	switch (code) {
	case 400:
		return "BadRequest";
	case 404:
		return "NotFound";
	case 409:
		return "Conflict";
	case 422:
		return "Invalid";
	case 429:
		return "TooManyRequests";
	default:
		return "Forbidden";
	}
}

static int put_patch(const struct fl_verdict *verdict, struct fl_arena *arena, struct fl_review_response *response,
		     struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf json = FL_BUF(FL_REVIEW_PATCH_MAX + 2), text = FL_BUF(FL_REVIEW_ANSWER_MAX);

	fl_buf_char(&json, '[');
	fl_buf_str(&json, fl_buf_view(&verdict->patch));
	fl_buf_char(&json, ']');
	if (fl_buf_check(&json, "the patch", err) < 0)
		return -(int)json.failed;
	fl_base64_put(&text, FL_BASE64_STD, json.p, json.len);
	if (fl_buf_check(&text, "the patch", err) < 0)
		return -(int)text.failed;
	FL_SET(response, patch_type, FL_S("JSONPatch"));
	FL_SET(response, patch, fl_arena_str(arena, fl_buf_view(&text)));
	return response->patch.p ? 0 : fl_fail(err, FL_E_NOMEM, "no memory for the patch");
}

int fl_verdict_write(const struct fl_verdict *verdict, struct fl_str uid, struct fl_arena *arena, struct fl_buf *out,
		     struct fl_err *err)
{
	struct fl_review_doc doc = { 0 };
	struct fl_review_response *response = FL_IN(&doc, response);
	int code = verdict->code ? verdict->code : 403;
	struct fl_jw w = FL_JW(out);

	if (verdict->failed)
		return fl_fail(err, verdict->patch.failed == FL_E_TOOBIG ? FL_E_TOOBIG : FL_E_NOMEM,
			       "the verdict found no room");
	FL_SET(&doc, api_version, FL_S(FL_ADMISSION_VERSION));
	FL_SET(&doc, kind, FL_S(FL_ADMISSION_KIND));
	FL_SET(response, uid, uid);
	FL_SET(response, allowed, verdict->allowed);
	if (!verdict->allowed) {
		FL_SET(FL_IN(response, status), code, code);
		FL_SET(&response->status, reason, fl_str(verdict->reason ? verdict->reason : reason_of(code)));
		FL_SET(&response->status, message, verdict->message);
	} else if (verdict->patch.len && put_patch(verdict, arena, response, err) < 0) {
		return -(int)(err ? err->code : FL_E_NOMEM);
	}
	if (verdict->warning_count) {
		/* Only read by the encoder. */
		struct fl_str_list warnings = { (struct fl_str *)(uintptr_t)verdict->warnings, verdict->warning_count };

		FL_SET(response, warnings, warnings);
	}
	fl_encode(fl_review_doc_bind(), &doc, &w);
	return fl_buf_check(out, "the answer", err);
}
