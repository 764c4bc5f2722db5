#include "local/api_in.h"

#define ORPHAN FL_S_INIT("orphan")
#define FOREGROUND FL_S_INIT("foregroundDeletion")
static const struct fl_str orphan = ORPHAN, foreground = FOREGROUND;

/* ---- the options of a body ---- */

static int read_precondition(struct fl_api_call *call, yyjson_val *options)
{
	yyjson_val *must = fl_json_get(options, FL_S("preconditions"));

	if (must && !yyjson_is_obj(must) && !yyjson_is_null(must))
		return fl_refuse_bad(call, "json: cannot unmarshal %s into Go struct field "
					   "DeleteOptions.preconditions of type v1.Preconditions",
				     yyjson_is_num(must) ? "number" : yyjson_is_str(must) ? "string" :
				     yyjson_is_arr(must) ? "array" : "bool");

	(void)fl_json_str(fl_json_get(must, FL_S("uid")), &call->wish.uid);
	(void)fl_json_str(fl_json_get(must, FL_S("resourceVersion")), &call->wish.if_version);
	return 0;
}

static int read_spread(struct fl_api_call *call, yyjson_val *options)
{
	yyjson_val *val = fl_json_get(options, FL_S("propagationPolicy"));
	yyjson_val *old = fl_json_get(options, FL_S("orphanDependents"));
	struct fl_str text;

	if (yyjson_is_str(val) && old && !yyjson_is_null(old))
		return fl_refuse_options(call, "DeleteOptions", "propagationPolicy", "FieldValueInvalid",
					 "Invalid value: \"%s\": orphanDependents and deletionPropagation cannot be "
					 "both set",
					 yyjson_get_str(val));
	if (yyjson_is_bool(old))
		call->wish.spread = yyjson_get_bool(old) ? FL_SPREAD_ORPHAN : FL_SPREAD_BACKGROUND;
	if (!fl_json_str(val, &text))
		return 0;
	for (unsigned i = 1; i < FL_SPREAD_COUNT_; i++) {
		if (fl_str_eq(text, fl_str(fl_spread_names.at[i]))) {
			call->wish.spread = i;
			return 0;
		}
	}
	return fl_refuse_options(call, "DeleteOptions", "propagationPolicy", "FieldValueNotSupported",
				 "Unsupported value: \"%.*s\": supported values: \"Foreground\", \"Background\", "
				 "\"Orphan\", \"nil\"",
				 FL_ARG(text));
}

static int read_options(struct fl_api_call *call)
{
	yyjson_val *options, *dry;
	struct fl_str text;
	int r;

	if (!fl_str_trim(call->ask.body).len)
		return 0;
	r = fl_api_call_read(call, call->ask.body, fl_str_find(call->ask.type, 'y') >= 0, &options);
	if (r < 0)
		return r;
	if (fl_json_i64(fl_json_get(options, FL_S("gracePeriodSeconds")), &call->wish.grace))
		call->wish.grace_set = true;
	dry = yyjson_arr_get_first(fl_json_get(options, FL_S("dryRun")));
	if (dry && (!fl_json_str(dry, &text) || !fl_str_eq(text, FL_S("All"))))
		return fl_refuse_options(call, "DeleteOptions", "dryRun", "FieldValueNotSupported",
					 "Unsupported value: supported values: \"All\"");
	call->wish.dry |= dry != NULL;
	r = read_precondition(call, options);
	return r < 0 ? r : read_spread(call, options);
}

static int check_precondition(struct fl_api_call *call)
{
	struct fl_str uid = fl_tree_str(fl_tree_get(fl_meta(call->old), FL_S("uid")));
	uint64_t version;

	if (call->wish.uid.p && !fl_str_eq(call->wish.uid, uid))
		return fl_refuse_conflict(call, "the UID in the precondition (%.*s) does not match the UID in "
						"record (%.*s). "
						"The object might have been deleted and then recreated",
					  FL_ARG(call->wish.uid), FL_ARG(uid));
	if (call->wish.if_version.p &&
	    (!fl_str_u64(call->wish.if_version, &version) || version != call->before->version))
		return fl_refuse_conflict(call, "the ResourceVersion in the precondition (%.*s) does not match the "
						"ResourceVersion in record (%llu). The object might have been modified",
					  FL_ARG(call->wish.if_version), (unsigned long long)call->before->version);
	return 0;
}

/* ---- what a delete makes of the object ---- */

/* The finalizers that stand for the chosen propagation. */
static int set_spread(struct fl_api_call *call)
{
	yyjson_mut_val *meta = fl_meta(call->object), *list = fl_tree_get(meta, FL_S("finalizers"));

	if (call->wish.spread == FL_SPREAD_DEFAULT)
		return 0;
	if (call->wish.spread != FL_SPREAD_ORPHAN)
		fl_list_remove(list, orphan);
	if (call->wish.spread != FL_SPREAD_FOREGROUND)
		fl_list_remove(list, foreground);
	if (call->wish.spread == FL_SPREAD_BACKGROUND)
		return 0;
	list = fl_tree_list(call->doc, meta, "finalizers");
	return list && fl_list_add(call->doc, list, call->wish.spread == FL_SPREAD_ORPHAN ? orphan : foreground)
		? 0 : -FL_E_NOMEM;
}

/* Seconds that a Pod's containers get; 0 for everything else, and for a Pod that no kubelet runs. */
static int64_t grace_of(const struct fl_api_call *call)
{
	struct fl_str phase = fl_tree_str(fl_tree_at(call->object, FL_S("status.phase")));
	int64_t grace = 30;

	if (!(call->resource->traits & FL_TRAIT_GRACE))
		return 0;
	if (!fl_tree_str(fl_tree_at(call->object, FL_S("spec.nodeName"))).len || fl_str_eq(phase, FL_S("Succeeded")) ||
	    fl_str_eq(phase, FL_S("Failed")))
		return 0;
	if (call->wish.grace_set)
		return call->wish.grace > 0 ? call->wish.grace : 0;
	(void)fl_tree_i64(fl_tree_at(call->object, FL_S("spec.terminationGracePeriodSeconds")), &grace);
	return grace;
}

static int set_going(struct fl_api_call *call, int64_t grace)
{
	yyjson_mut_val *meta = fl_meta(call->object);
	bool going = fl_tree_get(meta, FL_S("deletionTimestamp")) != NULL;
	/* Namespaces and CRDs are marked in a way of their own. */
	bool finalized = fl_str_eq(call->resource->key, FL_S("namespaces")) ||
			 fl_str_eq(call->resource->key, FL_S("customresourcedefinitions.apiextensions.k8s.io"));
	int64_t had = 0;

	if (going) {
		(void)fl_tree_i64(fl_tree_get(meta, FL_S("deletionGracePeriodSeconds")), &had);
		if (grace >= had)
			return 0;   /* it may only become shorter */
	}
	if (!fl_tree_set_time(call->doc, meta, "deletionTimestamp", call->api->now + grace * 1000000) ||
	    (!finalized &&
	     !fl_tree_set_int(call->doc, meta, "deletionGracePeriodSeconds", grace)))
		return -FL_E_NOMEM;
	if (!going && !finalized && fl_tree_get(meta, FL_S("generation")))
		return fl_object_raise(call, call->object);
	return 0;
}

/* 1: it is gone; 0: it is going. The call has `before` and `old`. */
int fl_delete(struct fl_api_call *call, struct fl_state **ret_after)
{
	int64_t grace;
	int r;

	call->object = fl_tree_copy(call->doc, call->old);
	if (!call->object)
		return -FL_E_NOMEM;
	r = set_spread(call);
	if (r == 0)
		r = fl_builtin_delete(call);
	if (r < 0)
		return r;
	grace = grace_of(call);
	if (!grace && !fl_object_kept(call))
		return (r = fl_commit_gone(call, ret_after)) < 0 ? r : 1;
	r = set_going(call, grace);
	return r < 0 ? r : fl_commit(call, ret_after);
}

/* ---- the verbs ---- */

int fl_api_call_load(struct fl_api_call *call)
{
	struct fl_str key = fl_api_call_key(call);

	if (!key.p)
		return -FL_E_NOMEM;
	fl_state_drop(call->before);
	call->before = fl_ordered_get(&call->resource->shelf.objects, key);
	call->old = NULL;
	if (!call->before)
		return 0;
	fl_state_hold(call->before);
	call->old = fl_api_call_tree(call, call->before);
	return call->old ? 0 : -FL_E_NOMEM;
}

static int answer_gone(struct fl_api_call *call)
{
	struct fl_refusal done = fl_refusal(call, 200, NULL);

	done.uid = fl_tree_str(fl_tree_get(fl_meta(call->old), FL_S("uid")));
	return fl_answer_status(call, 200, &done);
}

/* 1: they are asked. */
static int ask_hooks(struct fl_api_call *call)
{
	int r = call->hooking.stage == FL_HOOKS_VALIDATE ? 0 : fl_hooks(call, FL_HOOKS_MUTATE);

	return r == 0 ? fl_hooks(call, FL_HOOKS_VALIDATE) : r;
}

int fl_api_call_delete_on(struct fl_api_call *call)
{
	FL_AUTO(fl_state) struct fl_state *after = NULL;
	int r = ask_hooks(call);

	if (r)
		return r;
	r = fl_delete(call, &after);
	if (r < 0)
		return r;
	if (r > 0 && !(call->resource->traits & FL_TRAIT_SHOWN))
		return answer_gone(call);
	if (call->wish.dry)
		return fl_answer_tree(call, 200, call->object, call->before->version);
	return fl_answer_state(call, 200, after);
}

int fl_api_call_delete(struct fl_api_call *call)
{
	int r = read_options(call);

	if (r == 0)
		r = fl_api_call_load(call);
	if (r == 0 && !call->before)
		r = fl_refuse_not_found(call);
	if (r == 0)
		r = check_precondition(call);
	return r < 0 ? r : fl_api_call_delete_on(call);
}

/* ---- a collection ---- */

/* A call of its own for one of them; *ret NULL: it is gone already. */
static int begin_one(struct fl_api_call *call, const struct fl_state *state)
{
	struct fl_api_call *one = fl_api_call_inner(call->api, call->resource, state);

	call->one = one;
	if (!one)
		return -FL_E_NOMEM;
	one->outer = call;
	one->verb = FL_VERB_DELETE_ALL;
	one->wish = call->wish;
	return fl_api_call_load(one);
}

/* It is refused: so is the request. */
static int take_refusal(struct fl_api_call *call, int r)
{
	struct fl_api_call *one = call->one;

	if (r == -FL_E_NOMEM)
		return r;
	fl_buf_clear(&call->body);
	fl_buf_str(&call->body, fl_buf_view(&one->body));
	call->status = one->status;
	call->outcome = FL_OUTCOME_ANSWER;
	return call->body.failed ? -FL_E_NOMEM : r;
}

/* 1: it waits for webhooks. */
static int delete_one(struct fl_api_call *call, const struct fl_state *state)
{
	FL_AUTO(fl_state) struct fl_state *after = NULL;
	int r = call->one ? fl_api_call_is_current(call->one) : 0;

	if (r < 0)
		return r;
	if (call->one && !r) {   /* it has changed while it waited */
		fl_api_call_free(call->one);
		call->one = NULL;
	}
	r = call->one ? 0 : begin_one(call, state);
	if (r == 0 && call->one->before)
		r = ask_hooks(call->one);
	if (r == 0 && call->one->before)
		r = fl_delete(call->one, &after);
	else if (r == 1)
		return 1;
	if (r < 0)
		return take_refusal(call, r);
	fl_api_call_free(call->one);
	call->one = NULL;
	return 0;
}

int fl_api_call_delete_all_on(struct fl_api_call *call)
{
	enum fl_outcome outcome = call->rest;

	for (; call->turn < call->len; call->turn++) {
		struct fl_state *state = call->states[call->turn];
		int r = call->filters && !call->one ? fl_filter_match(&call->filter, state, &call->api->peek) : 1;

		fl_peek_reset(&call->api->peek);
		if (r > 0)
			r = delete_one(call, state);
		if (r)
			return r;
	}
	call->outcome = outcome;
	return 0;
}

int fl_api_call_delete_all(struct fl_api_call *call)
{
	int r = read_options(call);

	if (r == 0)
		r = fl_api_call_list(call);
	call->rest = call->outcome;
	return r < 0 ? r : fl_api_call_delete_all_on(call);
}
