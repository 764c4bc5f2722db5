#include "json/bind_walk.h"
#include "local/api_in.h"

/* ---- the question ---- */

static void put_kind(struct fl_jw *w, const char *name, const struct fl_api_call *call, struct fl_str version)
{
	fl_jw_key(w, fl_str(name));
	fl_jw_obj(w);
	fl_jw_put(w, "group", str, call->resource->group);
	fl_jw_put(w, "version", str, version);
	fl_jw_put(w, "kind", str, call->resource->kind);
	fl_jw_end_obj(w);
}

static void put_resource(struct fl_jw *w, const char *name, const struct fl_api_call *call, struct fl_str version)
{
	fl_jw_key(w, fl_str(name));
	fl_jw_obj(w);
	fl_jw_put(w, "group", str, call->resource->group);
	fl_jw_put(w, "version", str, version);
	fl_jw_put(w, "resource", str, call->resource->plural);
	fl_jw_end_obj(w);
}

static void put_object(struct fl_jw *w, const char *name, const struct fl_api_call *call, struct fl_str version,
		       yyjson_mut_val *object)
{
	fl_jw_key(w, fl_str(name));
	if (!object) {
		fl_jw_null(w);
		return;
	}
	fl_jw_obj(w);
	fl_put_type(w->buf, call->resource, version);
	w->comma = true;
	fl_object_print(w, object, call->before ? call->before->version : 0);
	fl_jw_end_obj(w);
}

static bool deletes(const struct fl_api_call *call)
{
	return call->verb == FL_VERB_DELETE || call->verb == FL_VERB_DELETE_ALL;
}

static void put_delete_options(struct fl_jw *w, const struct fl_wish *wish)
{
	if (wish->grace_set)
		fl_jw_put(w, "gracePeriodSeconds", i64, wish->grace);
	if (wish->uid.p || wish->if_version.p) {
		fl_jw_key(w, FL_S("preconditions"));
		fl_jw_obj(w);
		if (wish->uid.p)
			fl_jw_put(w, "uid", str, wish->uid);
		if (wish->if_version.p)
			fl_jw_put(w, "resourceVersion", str, wish->if_version);
		fl_jw_end_obj(w);
	}
	if (wish->spread)
		fl_jw_put(w, "propagationPolicy", str, fl_str(fl_spread_names.at[wish->spread]));
}

static void put_options(struct fl_jw *w, const struct fl_api_call *call)
{
	const struct fl_wish *wish = &call->wish;

	fl_jw_key(w, FL_S("options"));
	fl_jw_obj(w);
	fl_jw_put(w, "kind", str, deletes(call) ? FL_S("DeleteOptions") : call->old ? FL_S("UpdateOptions")
										     : FL_S("CreateOptions"));
	fl_jw_put(w, "apiVersion", str, FL_S("meta.k8s.io/v1"));
	if (deletes(call))
		put_delete_options(w, wish);
	if (wish->dry) {
		fl_jw_key(w, FL_S("dryRun"));
		fl_jw_arr(w);
		fl_jw_str(w, FL_S("All"));
		fl_jw_end_arr(w);
	}
	if (!deletes(call) && wish->manager.len)
		fl_jw_put(w, "fieldManager", str, wish->manager);
	if (!deletes(call) && wish->validation != FL_VALIDATION_WARN)
		fl_jw_put(w, "fieldValidation", str, fl_str(fl_validation_names.at[wish->validation]));
	fl_jw_end_obj(w);
}

/* Everybody may do everything here, as those of this group may in a cluster. */
static void put_user(struct fl_jw *w)
{
	fl_jw_key(w, FL_S("userInfo"));
	fl_jw_obj(w);
	fl_jw_put(w, "username", str, FL_S("kubernetes-admin"));
	fl_jw_key(w, FL_S("groups"));
	fl_jw_arr(w);
	fl_jw_str(w, FL_S("system:masters"));
	fl_jw_str(w, FL_S("system:authenticated"));
	fl_jw_end_arr(w);
	fl_jw_end_obj(w);
}

static void put_request(struct fl_jw *w, struct fl_api_call *call, const struct fl_hook_ask *ask)
{
	/* A collection is deleted under no name. */
	struct fl_str name = call->outer ? FL_S("") : call->name;

	fl_jw_obj(w);
	fl_jw_put(w, "uid", str, ask->uid);
	put_kind(w, "kind", call, ask->version);
	put_resource(w, "resource", call, ask->version);
	if (call->sub.len)
		fl_jw_put(w, "subResource", str, call->sub);
	put_kind(w, "requestKind", call, call->version);
	put_resource(w, "requestResource", call, call->version);
	if (call->sub.len)
		fl_jw_put(w, "requestSubResource", str, call->sub);
	if (name.len)
		fl_jw_put(w, "name", str, name);
	if (call->space_name.len)
		fl_jw_put(w, "namespace", str, call->space_name);
	fl_jw_put(w, "operation", str, deletes(call) ? FL_S("DELETE") : call->old ? FL_S("UPDATE") : FL_S("CREATE"));
	put_user(w);
	put_object(w, "object", call, ask->version, deletes(call) ? NULL : call->object);
	put_object(w, "oldObject", call, ask->version, call->old);
	fl_jw_put(w, "dryRun", bool, call->wish.dry);
	put_options(w, call);
	fl_jw_end_obj(w);
}

int fl_hook_question(struct fl_api_call *call, struct fl_hook_ask *ask)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_API_ANSWER_MAX);
	struct fl_jw w = FL_JW(&text);

	fl_jw_obj(&w);
	fl_jw_put(&w, "kind", str, FL_S(FL_ADMISSION_KIND));
	fl_jw_put(&w, "apiVersion", str, FL_S(FL_ADMISSION_VERSION));
	fl_jw_key(&w, FL_S("request"));
	put_request(&w, call, ask);
	fl_jw_end_obj(&w);
	ask->out.body = text.failed ? (struct fl_str){ 0 } : fl_arena_str(&call->arena, fl_buf_view(&text));
	return ask->out.body.p ? 0 : -FL_E_NOMEM;
}

/* ---- the answer ---- */

static int fault(struct fl_api_call *call, struct fl_str *why, const char *fmt, ...) FL_PRINTF(3, 4);

static int fault(struct fl_api_call *call, struct fl_str *why, const char *fmt, ...)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_MIB);
	va_list args;

	va_start(args, fmt);
	fl_buf_vprintf(&text, fmt, args);
	va_end(args);
	*why = text.failed ? (struct fl_str){ 0 } : fl_arena_str(&call->arena, fl_buf_view(&text));
	return why->p ? -FL_E_INVALID : -FL_E_NOMEM;
}

#define NO_ANSWER "received invalid webhook response: "
#define EXPECTED "expected webhook response of " FL_ADMISSION_VERSION ", Kind=" FL_ADMISSION_KIND

static int check_patch(struct fl_api_call *call, const struct fl_review_response *response, struct fl_str *why)
{
	bool patch = response->patch.len > 0, type = response->has.patch_type;

	if (call->hooking.stage == FL_HOOKS_VALIDATE && (patch || type))
		return fault(call, why, NO_ANSWER "validating webhook may not return response.%s",
			     patch ? "patch" : "patchType");
	if (patch != type)
		return fault(call, why, NO_ANSWER "webhook returned response.%s but not response.%s",
			     patch ? "patch" : "patchType", patch ? "patchType" : "patch");
	if (type && !fl_str_eq(response->patch_type, FL_S("JSONPatch")))
		return fault(call, why, "unsupported patch type \"%.*s\"", FL_ARG(response->patch_type));
	return 0;
}

static int check_status(struct fl_api_call *call, const struct fl_hook_ask *ask, struct fl_str *why)
{
	struct fl_str text = fl_str_trim(ask->text);

	if (!ask->status)
		return fault(call, why, "failed to call webhook: Post \"%.*s\": %.*s", FL_ARG(ask->out.url),
			     FL_ARG(text));
	if (ask->status >= 200 && ask->status < 300)
		return 0;
	if (ask->status >= 500)
		return fault(call, why, "failed to call webhook: an error on the server (\"%.*s\") has prevented the "
					"request from succeeding",
			     FL_ARG(text));
	return fault(call, why, "failed to call webhook: %s",
		     ask->status == 404 ? "the server could not find the requested resource"
					: "the server rejected our request for an unknown reason");
}

static int check_doc(struct fl_api_call *call, const struct fl_hook_ask *ask, const struct fl_review_doc *doc,
		     struct fl_str *why)
{
	struct fl_str version = doc->api_version, kind = doc->kind;

	if (!fl_str_eq(kind, FL_S(FL_ADMISSION_KIND)) || !fl_str_eq(version, FL_S(FL_ADMISSION_VERSION)))
		return fault(call, why, NO_ANSWER EXPECTED ", got %.*s, Kind=%.*s", FL_ARG(version), FL_ARG(kind));
	if (!doc->has.response)
		return fault(call, why, NO_ANSWER "webhook response was absent");
	if (!fl_str_eq(doc->response.uid, ask->uid))
		return fault(call, why, NO_ANSWER "expected response.uid=\"%.*s\", got \"%.*s\"", FL_ARG(ask->uid),
			     FL_ARG(doc->response.uid));
	return check_patch(call, &doc->response, why);
}

int fl_hook_answer(struct fl_api_call *call, const struct fl_hook_ask *ask, struct fl_review_response *ret,
		   struct fl_str *ret_why)
{
	struct fl_review_doc doc = { 0 };
	struct fl_err err;
	yyjson_doc *json;
	int r = check_status(call, ask, ret_why);

	if (r < 0)
		return r;
	r = fl_json_read(&call->space, ask->text, 0, &json, &err);
	if (r == 0)
		r = fl_decode(fl_review_doc_bind(), yyjson_doc_get_root(json), &call->arena, FL_DECODE_BORROW, &doc,
			      &err);
	if (r < 0)
		return r == -FL_E_NOMEM ? r
					: fault(call, ret_why, "failed to call webhook: the answer cannot be read: %s",
						    err.text);
	*ret = doc.response;
	return check_doc(call, ask, &doc, ret_why);
}
