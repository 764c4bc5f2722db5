#include "base/base64.h"
#include "local/api_in.h"

/* As often as the API server begins a patch anew when its object changes meanwhile. */
#define TRIES 5

void fl_hooking_end(struct fl_hooking *hooking)
{
	fl_hook_set_drop(hooking->set);
	hooking->set = NULL;
	hooking->stage = FL_HOOKS_NONE;
}

/* ---- refusals ---- */

static int refuse_internal(struct fl_api_call *call, struct fl_str why)
{
	struct fl_causes causes = FL_CAUSES(&call->arena);

	fl_cause_add(&causes, NULL, FL_S(""), "%.*s", FL_ARG(why));
	return fl_refuse(call, &(struct fl_refusal){ .code = 500, .reason = "InternalError", .causes = &causes },
			 "Internal error occurred: %.*s", FL_ARG(why));
}

static int refuse_call(struct fl_api_call *call, const struct fl_hook *hook, struct fl_str why)
{
	struct fl_str text = fl_arena_printf(&call->arena, "failed calling webhook \"%.*s\": %.*s",
					     FL_ARG(hook->spec->name), FL_ARG(why));

	return text.p ? refuse_internal(call, text) : -FL_E_NOMEM;
}

/* Terminated; NULL for an empty one. */
static const char *word(struct fl_api_call *call, struct fl_str text)
{
	struct fl_str copy = text.len ? fl_arena_str(&call->arena, text) : FL_S("");

	call->lost |= !copy.p;
	return copy.len ? copy.p : NULL;
}

static int refuse_denied(struct fl_api_call *call, const struct fl_hook *hook, const struct fl_status *status)
{
	const struct fl_status_details *details = &status->details;
	struct fl_causes causes = FL_CAUSES(&call->arena);
	struct fl_refusal refusal = { .code = status->code < 400 ? 400 : status->code,
				      .reason = word(call, status->reason), .name = details->name,
				      .group = details->group, .kind = details->kind, .uid = details->uid };
	struct fl_str why = status->message.len ? status->message : status->reason;

	if (details->retry_after_seconds > 0)
		refusal.retry = (uint32_t)details->retry_after_seconds;
	for (uint32_t i = 0; i < details->causes.len; i++) {
		const struct fl_status_cause *cause = &details->causes.at[i];

		fl_cause_add(&causes, word(call, cause->reason), cause->field, "%.*s", FL_ARG(cause->message));
	}
	if (details->causes.len)
		refusal.causes = &causes;
	return fl_refuse(call, &refusal, "admission webhook \"%.*s\" denied the request%s%.*s",
			 FL_ARG(hook->spec->name),
			 why.len ? ": " : " without explanation", FL_ARG(why));
}

/* ---- the answers ---- */

/* 1: the webhook agrees, and its answer is there. 0: it cannot be asked, and need not. */
static int take(struct fl_api_call *call, const struct fl_hook_ask *ask, struct fl_review_response *response)
{
	struct fl_str why;
	int r = fl_hook_answer(call, ask, response, &why);

	if (r == -FL_E_INVALID)
		return fl_str_eq(ask->hook->spec->failure, FL_S("Ignore")) ? 0 : refuse_call(call, ask->hook, why);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < response->warnings.len; i++)
		fl_api_call_warn(call, "%.*s", FL_ARG(response->warnings.at[i]));
	return response->allowed ? 1 : refuse_denied(call, ask->hook, &response->status);
}

/* Apply the patch to a copy; a webhook that was asked in another version changes the object in that one. */
static int patch(struct fl_api_call *call, const struct fl_hook_ask *ask, struct fl_str base64, yyjson_mut_val **ret)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_API_BODY_MAX);
	const struct fl_str parts[] = { call->resource->group, FL_S("/"), ask->version };
	struct fl_str version = parts[0].len ? fl_arena_join(&call->arena, parts, FL_LEN(parts)) : ask->version;
	yyjson_doc *doc;
	struct fl_err err;
	int r;

	*ret = fl_tree_copy(call->doc, call->object);
	if (!*ret || !version.p || !fl_tree_set(call->doc, *ret, "apiVersion", version))
		return -FL_E_NOMEM;
	r = fl_base64_get(&text, FL_BASE64_STD, base64, &err);
	if (r == 0)
		r = fl_json_read(&call->space, fl_buf_view(&text), 0, &doc, &err);
	if (r == 0)
		r = fl_tree_patch(call->doc, ret, yyjson_doc_get_root(doc), &err);
	return r == 0 || r == -FL_E_NOMEM ? r : refuse_internal(call, fl_str(err.text));
}

static void count_change(struct fl_hooking *hooking)
{
	for (size_t i = 0; i < hooking->set->mutating.len; i++) {
		hooking->again[i] |= hooking->before[i];
		hooking->before[i] = false;
	}
}

static int refuse_change(struct fl_api_call *call, const struct fl_webhook *spec)
{
	struct fl_str why = fl_arena_printf(&call->arena, "admission webhook \"%.*s\" attempted to modify the object, "
							  "which is not supported for this operation",
					    FL_ARG(spec->name));

	return why.p ? refuse_internal(call, why) : -FL_E_NOMEM;
}

static int take_mutation(struct fl_api_call *call, const struct fl_hook_ask *ask)
{
	struct fl_hooking *hooking = &call->hooking;
	const struct fl_webhook *spec = ask->hook->spec;
	yyjson_mut_val *was = call->object, *object;
	struct fl_review_response response;
	int r = take(call, ask, &response);

	if (r > 0 && response.patch.len && !call->object)
		return refuse_change(call, spec);
	if (r > 0 && response.patch.len) {
		r = patch(call, ask, response.patch, &object);
		if (r == 0)
			r = fl_object_hooked(call, object);
		if (r == 0 && !fl_tree_equal(was, call->object))
			count_change(hooking);
	}
	if (fl_str_eq(spec->again, FL_S("IfNeeded")))
		hooking->before[ask->hook - hooking->set->mutating.at] = true;
	return r < 0 ? r : 0;
}

/* ---- asking ---- */

static int place(struct fl_api_call *call, struct fl_hook_ask *ask)
{
	const struct fl_hook_client *client = &ask->hook->spec->client;
	const struct fl_hook_service *service = &client->service;
	struct fl_arena *arena = &call->arena;
	struct fl_api_hook *out = &ask->out;
	struct fl_str rest = client->url, path = service->path;
	char text[FL_ADDR_TEXT];
	int64_t slash;
	struct fl_addr addr;

	if (client->has.service) {
		out->server = fl_arena_printf(arena, "%.*s.%.*s.svc", FL_ARG(service->name), FL_ARG(service->space));
		rest = fl_arena_printf(arena, "https://%.*s:%d%s%.*s", FL_ARG(out->server), (int)service->port,
				       fl_str_starts(path, FL_S("/")) ? "" : "/", FL_ARG(path));
		if (!out->server.p || !rest.p)
			return -FL_E_NOMEM;
	}
	slash = fl_str_find(fl_str_sub(rest, 8, rest.len), '/');   /* behind https:// */
	out->origin = slash < 0 ? rest : fl_str_sub(rest, 0, 8 + (uint32_t)slash);
	path = fl_str_sub(rest, out->origin.len, rest.len);
	out->target = fl_arena_printf(arena, "%.*s?timeout=%ds", FL_ARG(path.len ? path : FL_S("/")),
				      (int)out->timeout);
	out->url = fl_arena_printf(arena, "%.*s%.*s", FL_ARG(out->origin), FL_ARG(out->target));
	if (!out->target.p || !out->url.p)
		return -FL_E_NOMEM;
	if (!client->has.service)
		return 0;
	ask->answered = !call->api->options.service ||
			!call->api->options.service(call->api->options.arg, service->space, service->name,
						    (uint16_t)service->port, &addr);
	if (ask->answered)
		ask->text = fl_arena_printf(arena, "service \"%.*s\" not found", FL_ARG(service->name));
	else
		out->origin = fl_arena_printf(arena, "https://%.*s", FL_ARG(fl_addr_print(&addr, text)));
	return out->origin.p && (!ask->answered || ask->text.p) ? 0 : -FL_E_NOMEM;
}

/* 0: it is not asked about this. 1: the question is in *ret. */
static int ask_for(struct fl_api_call *call, const struct fl_hook *hook, struct fl_hook_ask *ret)
{
	char uid[FL_UID_TEXT];
	int r;

	*ret = (struct fl_hook_ask){ .hook = hook };
	r = fl_hook_match(call, hook, &ret->version);
	if (r < 0 || !ret->version.len)
		return r;
	fl_api_uid(call->api, uid);
	ret->uid = fl_arena_str(&call->arena, fl_str(uid));
	ret->out.ca = hook->ca;
	ret->out.timeout = (uint32_t)hook->spec->timeout;
	if (!ret->uid.p || place(call, ret) < 0 || fl_hook_question(call, ret) < 0)
		return -FL_E_NOMEM;
	return 1;
}

static bool all_answered(const struct fl_hooking *hooking)
{
	for (uint32_t i = 0; i < hooking->ask_count; i++) {
		if (!hooking->asks[i].answered)
			return false;
	}
	return true;
}

static int wait(struct fl_api_call *call)
{
	struct fl_api_call *request = call->outer ? call->outer : call;

	call->hooking.discovery = call->api->discovery;
	request->outcome = FL_OUTCOME_HOOKS;
	return 1;
}

static bool go_again(struct fl_hooking *hooking)
{
	bool any = false;

	for (size_t i = 0; i < hooking->set->mutating.len; i++)
		any |= hooking->again[i];
	any &= !hooking->second;
	hooking->second = true;
	hooking->next = 0;
	return any;
}

static int mutate(struct fl_api_call *call)
{
	struct fl_hooking *hooking = &call->hooking;
	int r = 0;

	do {
		while (r >= 0 && (hooking->ask_count || hooking->next < hooking->set->mutating.len)) {
			uint32_t at = hooking->next;

			if (hooking->ask_count) {
				hooking->ask_count = 0;
				r = take_mutation(call, &hooking->asks[0]);
				continue;
			}
			hooking->next++;
			if (hooking->second && !hooking->again[at])
				continue;
			r = ask_for(call, &hooking->set->mutating.at[at], &hooking->asks[0]);
			hooking->ask_count = r > 0;
			if (r > 0 && !hooking->asks[0].answered)
				return wait(call);
		}
	} while (r >= 0 && go_again(hooking));
	return r < 0 ? r : 0;
}

static int validate(struct fl_api_call *call)
{
	struct fl_hooking *hooking = &call->hooking;
	int first = 0;

	for (; hooking->next < hooking->set->validating.len; hooking->next++) {
		int r = ask_for(call, &hooking->set->validating.at[hooking->next], &hooking->asks[hooking->ask_count]);

		if (r < 0)
			return r;
		hooking->ask_count += r > 0;
	}
	if (!all_answered(hooking))
		return wait(call);
	for (uint32_t i = 0; i < hooking->ask_count; i++) {
		struct fl_review_response response;
		int r = first < 0 ? 0 : take(call, &hooking->asks[i], &response);

		if (r < 0)
			first = r;
	}
	return first;
}

static int begin(struct fl_api_call *call, enum fl_hook_stage stage)
{
	struct fl_hooking *hooking = &call->hooking;
	uint32_t tries = hooking->tries, count;
	struct fl_hook_set *set = fl_hook_set_hold(call->api);

	fl_hooking_end(hooking);
	*hooking = (struct fl_hooking){ .set = set, .stage = stage, .tries = tries };
	if (!set)
		return -FL_E_NOMEM;
	count = stage == FL_HOOKS_MUTATE ? (uint32_t)set->mutating.len : (uint32_t)set->validating.len;
	if (!count)
		return 0;
	hooking->asks = fl_arena_get_n(&call->arena, count, sizeof *hooking->asks);
	hooking->before = fl_arena_get_n(&call->arena, count, sizeof *hooking->before);
	hooking->again = fl_arena_get_n(&call->arena, count, sizeof *hooking->again);
	return hooking->asks && hooking->before && hooking->again ? 0 : -FL_E_NOMEM;
}

int fl_hooks(struct fl_api_call *call, enum fl_hook_stage stage)
{
	struct fl_hooking *hooking = &call->hooking;
	int r = hooking->stage == stage ? 0 : begin(call, stage);

	if (r < 0 || !hooking->asks)
		return r;
	return stage == FL_HOOKS_MUTATE ? mutate(call) : validate(call);
}

/* ---- for who asks them ---- */

static struct fl_api_call *waiting(const struct fl_api_call *call)
{
	return call->one ? call->one : (struct fl_api_call *)(uintptr_t)call;
}

uint32_t fl_api_call_hooks(const struct fl_api_call *call)
{
	return waiting(call)->hooking.ask_count;
}

const struct fl_api_hook *fl_api_call_hook(const struct fl_api_call *call, uint32_t index)
{
	const struct fl_hook_ask *ask = &waiting(call)->hooking.asks[index];

	return ask->answered ? NULL : &ask->out;
}

void fl_api_call_hooked(struct fl_api_call *call, uint32_t index, int status, struct fl_str text)
{
	struct fl_hook_ask *ask = &waiting(call)->hooking.asks[index];

	ask->answered = true;
	ask->status = status;
	ask->text = fl_arena_str(&call->arena, text);
	call->lost |= !ask->text.p;
}

int fl_api_call_is_current(struct fl_api_call *call)
{
	struct fl_str key = fl_api_call_key(call);

	if (!key.p)
		return -FL_E_NOMEM;
	if (call->hooking.discovery != call->api->discovery)
		return false;
	return call->verb == FL_VERB_CREATE || fl_ordered_get(&call->resource->shelf.objects, key) == call->before;
}

int fl_hooking_again(struct fl_api_call *call)
{
	if (++call->hooking.tries < TRIES)
		return 0;
	return fl_refuse_conflict(call, "the object has been modified; please apply your changes to the latest version "
					"and try again");
}
