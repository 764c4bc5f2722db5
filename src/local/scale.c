/* The scale of a custom resource: its replicas, as an object of its own. */
#include "local/api_in.h"

#define SCALE "Scale"
#define SCALE_VERSION "autoscaling/v1"

/* ---- what stands at the paths ---- */

static const char *go_type(yyjson_mut_val *val)
{
	if (yyjson_mut_is_str(val))
		return "string";
	if (yyjson_mut_is_bool(val))
		return "bool";
	if (yyjson_mut_is_null(val))
		return "<nil>";
	if (yyjson_mut_is_num(val))
		return yyjson_mut_is_real(val) ? "float64" : "int64";
	return yyjson_mut_is_obj(val) ? "map[string]interface {}" : "[]interface {}";
}

/* The value at the path. False: something on the way there is no object, and *ret is that. */
static bool value_at(yyjson_mut_val *object, struct fl_str path, yyjson_mut_val **ret)
{
	struct fl_str name;

	while (object && path.p && fl_str_split(&path, '.', &name)) {
		*ret = object;
		if (!yyjson_mut_is_obj(object))
			return false;
		object = fl_tree_get(object, name);
	}
	*ret = object;
	return true;
}

static void put_value(struct fl_buf *buf, yyjson_mut_val *val)
{
	struct fl_jw w = FL_JW(buf);

	if (yyjson_mut_is_str(val))
		fl_buf_str(buf, fl_tree_str(val));
	else
		fl_jw_mut(&w, val);
}

static void refuse_type(struct fl_causes *causes, struct fl_str path, const char *value, yyjson_mut_val *found,
			const char *wanted)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_API_BODY_MAX), field = FL_BUF(FL_API_BODY_MAX);

	fl_buf_printf(&field, ".%.*s", FL_ARG(path));
	put_value(&text, found);
	causes->failed |= text.failed || field.failed;
	if (!causes->failed)
		fl_cause_add(causes, "FieldValueInvalid", fl_buf_view(&field),
			     "Invalid value: %s: %.*s accessor error: %.*s is of the type %s, expected %s", value,
			     FL_ARG(fl_buf_view(&field)), FL_ARG(fl_buf_view(&text)), go_type(found), wanted);
}

static void check_number(struct fl_causes *causes, yyjson_mut_val *object, struct fl_str path)
{
	yyjson_mut_val *val = NULL;
	const char *says = NULL;
	struct fl_str field;
	int64_t number = 0;

	if (!path.len)
		return;
	if (!value_at(object, path, &val)) {
		refuse_type(causes, path, "0", val, "map[string]interface{}");
		return;
	}
	if (!val)
		return;
	if (yyjson_mut_is_real(val) || !fl_tree_i64(val, &number)) {
		refuse_type(causes, path, "0", val, "int64");
		return;
	}
	if (number < 0)
		says = "should be a non-negative integer";
	else if (number > INT32_MAX)
		says = "should be less than or equal to 2147483647";
	field = fl_arena_printf(causes->arena, ".%.*s", FL_ARG(path));
	causes->failed |= !field.p;
	if (says && field.p)
		fl_cause_add(causes, "FieldValueInvalid", field, "Invalid value: %lld: %s", (long long)number, says);
}

void fl_scale_check(struct fl_api_call *call, struct fl_causes *causes)
{
	const struct fl_served *served = call->served;
	yyjson_mut_val *val = NULL;

	check_number(causes, call->object, served->replicas);
	check_number(causes, call->object, served->status_replicas);
	if (!served->selector.len)
		return;
	if (!value_at(call->object, served->selector, &val))
		refuse_type(causes, served->selector, "\"\"", val, "map[string]interface{}");
	else if (val && !yyjson_mut_is_str(val))
		refuse_type(causes, served->selector, "\"\"", val, "string");
}

/* ---- a Scale out of an object ---- */

static bool copy_meta(struct fl_api_call *call, yyjson_mut_val *object, yyjson_mut_val *scale, uint64_t version)
{
	static const char *const members[] = { "name", "namespace", "uid", "creationTimestamp" };
	yyjson_mut_val *meta = fl_tree_object(call->doc, scale, "metadata"), *from = fl_meta(object);
	struct fl_str text = fl_arena_printf(&call->arena, "%llu", (unsigned long long)version);

	for (size_t i = 0; meta && i < FL_LEN(members); i++) {
		struct fl_str value = fl_tree_str(fl_tree_get(from, fl_str(members[i])));

		if (value.len && !fl_tree_set(call->doc, meta, members[i], value))
			return false;
	}
	return meta && text.p && fl_tree_set(call->doc, meta, "resourceVersion", text);
}

yyjson_mut_val *fl_scale_of(struct fl_api_call *call, yyjson_mut_val *object, uint64_t version)
{
	yyjson_mut_val *scale = yyjson_mut_obj(call->doc), *spec, *status;
	const struct fl_served *served = call->served;
	struct fl_str selector = fl_tree_str(fl_tree_at(object, served->selector));
	int64_t wanted = 0, there = 0;

	(void)fl_tree_i64(fl_tree_at(object, served->replicas), &wanted);
	(void)fl_tree_i64(fl_tree_at(object, served->status_replicas), &there);
	if (!scale || !fl_tree_set(call->doc, scale, "kind", FL_S(SCALE)) ||
	    !fl_tree_set(call->doc, scale, "apiVersion", FL_S(SCALE_VERSION)) ||
	    !copy_meta(call, object, scale, version))
		return NULL;
	spec = fl_tree_object(call->doc, scale, "spec");
	status = fl_tree_object(call->doc, scale, "status");
	if (!spec || !status || (wanted && !fl_tree_set_int(call->doc, spec, "replicas", wanted)) ||
	    !fl_tree_set_int(call->doc, status, "replicas", there) ||
	    (selector.len && !fl_tree_set(call->doc, status, "selector", selector)))
		return NULL;
	return scale;
}

int fl_scale_answer(struct fl_api_call *call, yyjson_mut_val *object, uint64_t version)
{
	yyjson_mut_val *scale = fl_scale_of(call, object, version);
	struct fl_jw w = FL_JW(&call->body);

	if (!scale)
		return -FL_E_NOMEM;
	if (!fl_tree_at(object, call->served->replicas))
		return fl_refuse(call, &(struct fl_refusal){ .code = 500, .reason = "InternalError" },
				 "Internal error occurred: the spec replicas field \".%.*s\" does not exist",
				 FL_ARG(call->served->replicas));
	(void)fl_answer_begin(call);
	fl_jw_mut(&w, scale);
	fl_buf_char(&call->body, '\n');
	return call->body.failed ? -FL_E_NOMEM : 0;
}

int fl_scale_get(struct fl_api_call *call, const struct fl_state *state)
{
	yyjson_mut_val *object = fl_api_call_tree(call, state);

	return object ? fl_scale_answer(call, object, state->version) : -FL_E_NOMEM;
}

/* ---- and back ---- */

static int check_scale(struct fl_api_call *call, yyjson_mut_val *scale, int64_t *ret)
{
	yyjson_mut_val *replicas = fl_tree_at(scale, FL_S("spec.replicas"));
	struct fl_causes causes = FL_CAUSES(&call->arena);
	struct fl_refusal refusal = { .code = 422, .reason = "Invalid", .group = FL_S("autoscaling"),
				      .kind = FL_S(SCALE), .name = call->name, .causes = &causes };
	struct fl_str kind = fl_tree_str(fl_tree_get(scale, FL_S("kind")));

	if (!fl_str_eq(kind, FL_S(SCALE)) ||
	    !fl_str_eq(fl_tree_str(fl_tree_get(scale, FL_S("apiVersion"))), FL_S(SCALE_VERSION)))
		return fl_refuse_bad(call, "the object provided is unrecognized (must be of type %s)", SCALE);
	*ret = 0;
	if (replicas && (yyjson_mut_is_real(replicas) || !fl_tree_i64(replicas, ret)))
		return fl_refuse_bad(call, "json: cannot unmarshal %s into Go struct field ScaleSpec.spec.replicas of "
					   "type int32",
				     yyjson_mut_is_str(replicas) ? "string" : "value");
	if (*ret >= 0)
		return 0;
	fl_cause_add(&causes, "FieldValueInvalid", FL_S("spec.replicas"),
		     "Invalid value: %lld: must be greater than or equal to 0", (long long)*ret);
	return fl_refuse(call, &refusal,
			 "Scale.autoscaling \"%.*s\" is invalid: spec.replicas: Invalid value: %lld: must be greater "
			 "than or equal to 0",
			 FL_ARG(call->name), (long long)*ret);
}

int fl_scale_put(struct fl_api_call *call, yyjson_mut_val *scale)
{
	struct fl_str path = call->served->replicas, name = FL_S(""), next = FL_S("");
	yyjson_mut_val *at;
	int64_t replicas = 0;
	int r = check_scale(call, scale, &replicas);

	if (r < 0)
		return r;
	at = call->object = fl_tree_copy(call->doc, call->old);
	if (!at)
		return -FL_E_NOMEM;
	(void)fl_str_split(&path, '.', &name);
	while (path.p && fl_str_split(&path, '.', &next)) {   /* `name` holds `next` */
		struct fl_str text = fl_arena_printf(&call->arena, "%.*s", FL_ARG(name));

		at = text.p ? fl_tree_object(call->doc, at, text.p) : NULL;
		if (!at)
			return -FL_E_NOMEM;
		name = next;
	}
	name = fl_arena_printf(&call->arena, "%.*s", FL_ARG(name));
	return name.p && fl_tree_set_int(call->doc, at, name.p, replicas) ? 0 : -FL_E_NOMEM;
}
