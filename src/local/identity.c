#include "local/api_in.h"

static int refuse_no_kind(struct fl_api_call *call)
{
	struct fl_str body = fl_str_trim(call->ask.body);

	return fl_refuse_bad(call, "the object provided is unrecognized (must be of type %.*s): Object 'Kind' is "
				   "missing in '%.*s' (%.*s%s)",
			     FL_ARG(call->resource->kind), FL_ARG(body), FL_ARG(fl_str_sub(body, 0, 30)),
			     body.len > 30 ? " ..." : "");
}

/* A custom resource of another kind or version: the refusal names it as it names itself. */
static int refuse_identity(struct fl_api_call *call, yyjson_mut_val *object, const char *field, struct fl_str want)
{
	struct fl_str found = fl_tree_str(fl_tree_get(object, fl_str(field)));
	struct fl_str version = fl_tree_str(fl_tree_get(object, FL_S("apiVersion"))), group = FL_S("");
	struct fl_causes causes = FL_CAUSES(&call->arena);
	struct fl_refusal refusal = { .code = 422, .reason = "Invalid", .causes = &causes };

	if (fl_str_find(version, '/') >= 0)
		(void)fl_str_split(&version, '/', &group);
	refusal.group = group;
	refusal.kind = fl_tree_str(fl_tree_get(object, FL_S("kind")));
	refusal.name = fl_tree_str(fl_tree_get(fl_meta(object), FL_S("name")));
	fl_cause_add(&causes, "FieldValueInvalid", fl_str(field), "Invalid value: \"%.*s\": must be %.*s",
		     FL_ARG(found), FL_ARG(want));
	return fl_refuse(call, &refusal, "%.*s.%.*s \"%.*s\" is invalid: %s: Invalid value: \"%.*s\": must be %.*s",
			 FL_ARG(refusal.kind), FL_ARG(group), FL_ARG(refusal.name), field, FL_ARG(found), FL_ARG(want));
}

int fl_object_type(struct fl_api_call *call, yyjson_mut_val *object)
{
	struct fl_str version = fl_tree_str(fl_tree_get(object, FL_S("apiVersion")));
	struct fl_str kind = fl_tree_str(fl_tree_get(object, FL_S("kind"))), want = fl_api_call_api_version(call);
	struct fl_str served = call->resource->kind;

	if (!want.p)
		return -FL_E_NOMEM;
	if (!yyjson_mut_is_obj(object))
		return fl_refuse_bad(call, "%.*s in version \"%.*s\" cannot be handled as a %.*s: json: cannot "
					   "unmarshal "
					   "into Go value",
				     FL_ARG(served), FL_ARG(call->version), FL_ARG(served));
	if (!kind.len && !call->resource->builtin)
		return refuse_no_kind(call);
	if (kind.len && !fl_str_eq(kind, served) && !call->resource->builtin)
		return refuse_identity(call, object, "kind", served);
	if (kind.len && !fl_str_eq(kind, served))
		return fl_refuse_bad(call, "%.*s in version \"%.*s\" cannot be handled as a %.*s: the object "
					   "provided is "
					   "unrecognized (must be of type %.*s)",
				     FL_ARG(kind), FL_ARG(call->version),
				     FL_ARG(served), FL_ARG(served));
	if (!fl_str_eq(version, want) && call->verb == FL_VERB_PATCH && !call->resource->builtin)
		return refuse_identity(call, object, "apiVersion", want);
	if ((version.len || !call->resource->builtin) && !fl_str_eq(version, want))
		return fl_refuse_bad(call, "the API version in the data (%.*s) does not match the expected API version "
					   "(%.*s)",
				     FL_ARG(version), FL_ARG(want));
	return fl_tree_set(call->doc, object, "apiVersion", want) && fl_tree_set(call->doc, object, "kind", served) &&
			       fl_tree_object(call->doc, object, "metadata")
		       ? fl_meta_types(call, object)
		       : -FL_E_NOMEM;
}

/* Name and namespace of the URL and of the object agree. */
int fl_object_place(struct fl_api_call *call, yyjson_mut_val *object)
{
	yyjson_mut_val *meta = fl_meta(object);
	struct fl_str name = fl_tree_str(fl_tree_get(meta, FL_S("name")));
	struct fl_str space = fl_tree_str(fl_tree_get(meta, FL_S("namespace")));

	if (call->resource->cluster) {
		fl_tree_remove(meta, FL_S("namespace"));
	} else if (space.len && !fl_str_eq(space, call->space_name)) {
		return fl_refuse_bad(call, "the namespace of the provided object does not match the namespace "
					   "sent on the "
					   "request");
	} else if (!fl_tree_set(call->doc, meta, "namespace", call->space_name)) {
		return -FL_E_NOMEM;
	}
	if (call->verb == FL_VERB_CREATE)
		return 0;
	if (!name.len)
		return fl_refuse_bad(call, "the name of the object (%.*s based on URL) was undeterminable: name "
					   "must be provided",
				     FL_ARG(call->name));
	if (name.len && !fl_str_eq(name, call->name))
		return fl_refuse_bad(call, "the name of the object (%.*s) does not match the name on the URL (%.*s)",
				     FL_ARG(name), FL_ARG(call->name));
	return fl_tree_set(call->doc, meta, "name", call->name) ? 0 : -FL_E_NOMEM;
}
