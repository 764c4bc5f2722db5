#include "json/name.h"
#include "local/api_in.h"

/* All annotations of one object, as the API server takes them. */
#define ANNOTATIONS_MAX (256 * FL_KIB)

#define SUBDOMAIN_SAYS "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or " \
		"'.', " \
	"and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " \
	"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define LABEL_SAYS "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and " \
		"must start " \
	"and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " \
	"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define DNS1035_SAYS "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an " \
		"alphabetic " \
	"character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for " \
			"validation is " \
	"'[a-z]([-a-z0-9]*[a-z0-9])?')"
#define QUALIFIED_SAYS "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and " \
		"end with an " \
	"alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " \
	"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define PREFIX_SAYS "prefix part " SUBDOMAIN_SAYS
#define VALUE_SAYS "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', " \
		"and must " \
	"start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " \
	"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

static void invalid(struct fl_causes *causes, const char *field, struct fl_str value, const char *says)
{
	FL_AUTO(fl_buf) struct fl_buf quoted = FL_BUF(FL_MIB);

	fl_buf_json(&quoted, value);
	if (quoted.failed)
		causes->failed = true;
	else
		fl_cause_add(causes, "FieldValueInvalid", fl_str(field), "Invalid value: %s: %s", quoted.p, says);
}

/* ---- names ---- */

static enum fl_name_rule rule_of(const struct fl_api_call *call, uint32_t *ret_max, const char **ret_says)
{
	*ret_max = 63;
	if (call->resource->traits & FL_TRAIT_LABEL) {
		*ret_says = LABEL_SAYS;
		return FL_NAME_LABEL;
	}
	if (call->resource->traits & FL_TRAIT_DNS1035) {
		*ret_says = DNS1035_SAYS;
		return FL_NAME_DNS1035;
	}
	*ret_max = 253;
	*ret_says = SUBDOMAIN_SAYS;
	return FL_NAME_SUBDOMAIN;
}

static bool only_chars(enum fl_name_rule rule, struct fl_str text)
{
	uint32_t at = 0;

	while (at < text.len) {   /* in pieces that no limit of length concerns */
		struct fl_str piece = fl_str_sub(text, at, 40);

		if (!fl_name_ok(rule == FL_NAME_QUALIFIED ? FL_NAME_QUALIFIED : rule, piece))
			return false;
		at += 40;
	}
	return true;
}

static bool rbac(const struct fl_api_call *call)
{
	return fl_str_eq(call->resource->group, FL_S("rbac.authorization.k8s.io"));
}

static void check_path_name(struct fl_causes *causes, struct fl_str name)
{
	if (fl_str_eq(name, FL_S(".")) || fl_str_eq(name, FL_S("..")))
		invalid(causes, "metadata.name", name, "may not be '.' or '..'");
	if (fl_str_find(name, '/') >= 0)
		invalid(causes, "metadata.name", name, "may not contain '/'");
	if (fl_str_find(name, '%') >= 0)
		invalid(causes, "metadata.name", name, "may not contain '%'");
}

static void check_name(struct fl_api_call *call, yyjson_mut_val *meta, struct fl_causes *causes)
{
	struct fl_str name = fl_tree_str(fl_tree_get(meta, FL_S("name")));
	struct fl_str base = fl_tree_str(fl_tree_get(meta, FL_S("generateName")));
	const char *says;
	uint32_t max;
	enum fl_name_rule rule = rule_of(call, &max, &says);
	char text[64];

	if (base.len && !fl_str_eq(call->resource->key, FL_S("events"))) {   /* "a-" is the beginning of a name */
		struct fl_str stem = fl_str_sub(base, 0, base.p[base.len - 1] == '-' ? base.len - 1 : base.len);

		if (stem.len && !rbac(call) && !fl_name_ok(rule, fl_str_sub(stem, 0, max)))
			invalid(causes, "metadata.generateName", base, says);
	}
	if (!name.len) {
		fl_cause_add(causes, "FieldValueRequired", FL_S("metadata.name"),
			     "Required value: name or generateName is required");
	} else if (rbac(call)) {
		check_path_name(causes, name);
	} else if (!fl_name_ok(rule, name)) {
		bool over = name.len > max;

		(void)snprintf(text, sizeof text, "must be no more than %u characters", max);
		if (over)
			invalid(causes, "metadata.name", name, text);
		if (!over || !only_chars(rule, name))
			invalid(causes, "metadata.name", name, says);
	}
}

/* ---- labels, annotations ---- */

static void check_key(struct fl_causes *causes, const char *field, struct fl_str key)
{
	int64_t slash = fl_str_find(key, '/');
	struct fl_str name = slash < 0 ? key : fl_str_sub(key, (uint32_t)slash + 1, UINT32_MAX);

	if (fl_name_ok(FL_NAME_QUALIFIED, key))
		return;
	if (fl_str_find(name, '/') >= 0) {
		invalid(causes, field, key,
			"a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start "
			"and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
			"used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS "
			"subdomain prefix and '/' (e.g. 'example.com/MyName')");
		return;
	}
	if (slash == 0)
		invalid(causes, field, key, "prefix part must be non-empty");
	else if (slash > 0 && !fl_name_ok(FL_NAME_SUBDOMAIN, fl_str_sub(key, 0, (uint32_t)slash)))
		invalid(causes, field, key, PREFIX_SAYS);
	if (!name.len)
		invalid(causes, field, key, "name part must be non-empty");
	else if (name.len > 63)
		invalid(causes, field, key, "name part must be no more than 63 bytes");
	if (!fl_name_ok(FL_NAME_QUALIFIED, fl_str_sub(name, 0, 63)))
		invalid(causes, field, key, QUALIFIED_SAYS);
}

static void check_labels(yyjson_mut_val *meta, struct fl_causes *causes)
{
	yyjson_mut_obj_iter iter;
	yyjson_mut_val *key;

	yyjson_mut_obj_iter_init(fl_tree_get(meta, FL_S("labels")), &iter);
	while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
		struct fl_str value = fl_tree_str(yyjson_mut_obj_iter_get_val(key));

		check_key(causes, "metadata.labels", fl_tree_str(key));
		if (value.len > 63)
			invalid(causes, "metadata.labels", value, "must be no more than 63 bytes");
		else if (!fl_name_ok(FL_NAME_VALUE, value))
			invalid(causes, "metadata.labels", value, VALUE_SAYS);
	}
}

static void check_annotations(struct fl_api_call *call, yyjson_mut_val *meta, struct fl_causes *causes)
{
	yyjson_mut_obj_iter iter;
	yyjson_mut_val *key;
	uint64_t bytes = 0;

	yyjson_mut_obj_iter_init(fl_tree_get(meta, FL_S("annotations")), &iter);
	while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
		struct fl_str name = fl_tree_str(key), small = fl_arena_str(&call->arena, name);

		causes->failed |= !small.p;
		for (uint32_t i = 0; small.p && i < small.len; i++) {   /* of them the case does not matter */
			if (small.p[i] >= 'A' && small.p[i] <= 'Z')
				((char *)(uintptr_t)small.p)[i] = (char)(small.p[i] + ('a' - 'A'));
		}
		if (small.p)
			check_key(causes, "metadata.annotations", small);
		bytes += name.len + fl_tree_str(yyjson_mut_obj_iter_get_val(key)).len;
	}
	if (bytes > ANNOTATIONS_MAX)
		fl_cause_add(causes, "FieldValueTooLong", FL_S("metadata.annotations"),
			     "Too long: may not be more than %llu bytes", (unsigned long long)ANNOTATIONS_MAX);
}

/* ---- owners, finalizers ---- */

static void check_owner(yyjson_mut_val *owner, struct fl_causes *causes)
{
	static const struct {
		const char *name, *field, *says;
	} members[] = {
		{ "apiVersion", "metadata.ownerReferences.apiVersion", "version must not be empty" },
		{ "kind", "metadata.ownerReferences.kind", "must not be empty" },
		{ "name", "metadata.ownerReferences.name", "must not be empty" },
		{ "uid", "metadata.ownerReferences.uid", "must not be empty" },
	};

	for (size_t i = 0; i < FL_LEN(members); i++) {
		if (!fl_tree_str(fl_tree_get(owner, fl_str(members[i].name))).len)
			invalid(causes, members[i].field, FL_S(""), members[i].says);
	}
}

/* In the order of Go's struct. */
static void print_owners(struct fl_buf *buf, yyjson_mut_val *owners)
{
	static const char *const members[] = { "apiVersion", "kind", "name", "uid", "controller",
					       "blockOwnerDeletion" };
	struct fl_jw w = FL_JW(buf);
	yyjson_mut_val *owner, *val;
	size_t i, n;

	fl_jw_arr(&w);
	yyjson_mut_arr_foreach(owners, i, n, owner)
	{
		fl_jw_obj(&w);
		for (size_t j = 0; j < FL_LEN(members); j++) {
			val = fl_tree_get(owner, fl_str(members[j]));
			if (!val)
				continue;
			fl_jw_key(&w, fl_str(members[j]));
			fl_jw_mut(&w, val);
		}
		fl_jw_end_obj(&w);
	}
	fl_jw_end_arr(&w);
}

static struct fl_str text_of(yyjson_mut_val *object, const char *name)
{
	return fl_tree_str(fl_tree_get(object, fl_str(name)));
}

static void refuse_controllers(yyjson_mut_val *owners, yyjson_mut_val *one, yyjson_mut_val *two,
			       struct fl_causes *causes)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_API_BODY_MAX);

	print_owners(&text, owners);
	causes->failed |= text.failed != FL_OK;
	if (!text.failed)
		fl_cause_add(causes, "FieldValueInvalid", FL_S("metadata.ownerReferences"),
			     "Invalid value: %.*s: Only one reference can have Controller set to true. Found "
			     "\"true\" in references for %.*s/%.*s and %.*s/%.*s",
			     FL_ARG(fl_buf_view(&text)), FL_ARG(text_of(one, "kind")), FL_ARG(text_of(one, "name")),
			     FL_ARG(text_of(two, "kind")), FL_ARG(text_of(two, "name")));
}

static void check_owners(yyjson_mut_val *meta, struct fl_causes *causes)
{
	yyjson_mut_val *owners = fl_tree_get(meta, FL_S("ownerReferences")), *owner, *controller = NULL;
	size_t i, n;

	yyjson_mut_arr_foreach(owners, i, n, owner)
	{
		check_owner(owner, causes);
		if (!yyjson_mut_is_true(fl_tree_get(owner, FL_S("controller"))))
			continue;
		if (controller)
			refuse_controllers(owners, controller, owner, causes);
		controller = owner;
	}
}

static void check_finalizers(yyjson_mut_val *meta, struct fl_causes *causes)
{
	yyjson_mut_val *list = fl_tree_get(meta, FL_S("finalizers")), *one;
	bool orphan = fl_list_has(list, FL_S("orphan")), foreground = fl_list_has(list, FL_S("foregroundDeletion"));
	size_t i, n;

	yyjson_mut_arr_foreach(list, i, n, one)
		check_key(causes, "metadata.finalizers", fl_tree_str(one));
	if (orphan && foreground)
		fl_cause_add(causes, "FieldValueInvalid", FL_S("metadata.finalizers"),
			     "Invalid value: finalizers: finalizer orphan and foregroundDeletion cannot be both set");
}

/* What is going gets no new finalizer. */
static void check_late_finalizers(bool builtin, yyjson_mut_val *old, yyjson_mut_val *meta, struct fl_causes *causes)
{
	yyjson_mut_val *had = fl_tree_get(old, FL_S("finalizers")), *one;
	FL_AUTO(fl_buf) struct fl_buf added = FL_BUF(64 * FL_KIB);
	size_t i, n;

	if (!fl_tree_get(old, FL_S("deletionTimestamp")))
		return;
	yyjson_mut_arr_foreach(fl_tree_get(meta, FL_S("finalizers")), i, n, one)
	{
		if (!fl_list_has(had, fl_tree_str(one)))
			fl_buf_printf(&added, "%s\"%.*s\"", added.len ? ", " : "", FL_ARG(fl_tree_str(one)));
	}
	causes->failed |= added.failed != FL_OK;
	/* A custom resource's metadata is checked twice. */
	for (int twice = 0; added.len && !added.failed && twice < (builtin ? 1 : 2); twice++)
		fl_cause_add(causes, "FieldValueForbidden", FL_S("metadata.finalizers"),
			     "Forbidden: no new finalizers can be added if the object is being deleted, found new "
			     "finalizers []string{%s}",
			     added.p);
}

void fl_meta_check(struct fl_api_call *call, yyjson_mut_val *old, yyjson_mut_val *object, struct fl_causes *causes)
{
	yyjson_mut_val *meta = fl_meta(object);

	if (!old)
		check_name(call, meta, causes);
	check_labels(meta, causes);
	check_annotations(call, meta, causes);
	check_owners(meta, causes);
	check_finalizers(meta, causes);
	if (old)
		check_late_finalizers(call->resource->builtin, fl_meta(old), meta, causes);
}

/* A custom resource's metadata is checked twice, and what is wrong is told twice. */
static void refuse_fixed(struct fl_api_call *call, struct fl_causes *causes, const char *name, struct fl_str value)
{
	struct fl_str field = fl_arena_printf(&call->arena, "metadata.%s", name);

	causes->failed |= !field.p;
	for (int i = 0; field.p && i < (call->resource->builtin ? 1 : 2); i++)
		fl_cause_add(causes, "FieldValueInvalid", field, "Invalid value: \"%.*s\": field is immutable",
			     FL_ARG(value));
}

/* What no write may change. The uid of a PUT is a precondition. */
int fl_meta_fixed(struct fl_api_call *call, yyjson_mut_val *object)
{
	static const char *const fixed[] = { "uid", "deletionTimestamp" };
	yyjson_mut_val *meta = fl_meta(object), *old = fl_meta(call->old);
	struct fl_causes causes = FL_CAUSES(&call->arena);

	for (size_t i = 0; i < FL_LEN(fixed); i++) {
		struct fl_str value = fl_tree_str(fl_tree_get(meta, fl_str(fixed[i])));

		if (value.len && !fl_str_eq(value, fl_tree_str(fl_tree_get(old, fl_str(fixed[i])))))
			refuse_fixed(call, &causes, fixed[i], value);
	}
	if (causes.failed)
		return -FL_E_NOMEM;
	return causes.len ? fl_refuse_invalid(call, &causes) : 0;
}

/* These are the API server's. */
int fl_meta_keep(struct fl_api_call *call, yyjson_mut_val *was, yyjson_mut_val *object, bool all)
{
	static const char *const kept[] = { "uid", "creationTimestamp", "deletionTimestamp",
					    "deletionGracePeriodSeconds", "generation", "generateName", "name",
					    "namespace", "managedFields" };
	yyjson_mut_val *meta = fl_meta(object), *old = fl_meta(was);

	fl_tree_remove(meta, FL_S("resourceVersion"));
	fl_tree_remove(meta, FL_S("selfLink"));
	for (size_t i = 0; i < (all ? FL_LEN(kept) : 6); i++) {
		yyjson_mut_val *had = fl_tree_get(old, fl_str(kept[i])), *copy;

		fl_tree_remove(meta, fl_str(kept[i]));
		if (!had)
			continue;
		copy = fl_tree_copy(call->doc, had);
		if (!copy || !fl_tree_put(call->doc, meta, fl_str(kept[i]), copy))
			return -FL_E_NOMEM;
	}
	return 0;
}

static const char *go_type(yyjson_mut_val *val)
{
	if (yyjson_mut_is_num(val))
		return "number";
	if (yyjson_mut_is_bool(val))
		return "bool";
	if (yyjson_mut_is_obj(val))
		return "object";
	return yyjson_mut_is_arr(val) ? "array" : "string";
}

static bool is_a(yyjson_mut_val *val, char type)
{
	return type == 'o' ? yyjson_mut_is_obj(val) : yyjson_mut_is_str(val);
}

/* Empty maps and lists are as if they were not there. */
void fl_meta_tidy(yyjson_mut_val *object)
{
	static const char *const members[] = { "labels", "annotations", "finalizers", "ownerReferences" };
	yyjson_mut_val *meta = fl_meta(object);

	for (size_t i = 0; i < FL_LEN(members); i++) {
		yyjson_mut_val *val = fl_tree_get(meta, fl_str(members[i]));

		if ((yyjson_mut_is_obj(val) && !yyjson_mut_obj_size(val)) ||
		    (yyjson_mut_is_arr(val) && !yyjson_mut_arr_size(val)))
			fl_tree_remove(meta, fl_str(members[i]));
	}
}

/* Are all values of metadata of the type that they must have? Go's words when they are not. */
int fl_meta_types(struct fl_api_call *call, yyjson_mut_val *object)
{
	static const struct {
		const char *name;
		char type;        /* s text, m map of texts, l list of texts, o list of objects */
		const char *go;
	} members[] = {
		{ "name", 's', "ObjectMeta.name of type string" },
		{ "namespace", 's', "ObjectMeta.namespace of type string" },
		{ "generateName", 's', "ObjectMeta.generateName of type string" },
		{ "uid", 's', "ObjectMeta.uid of type types.UID" },
		{ "resourceVersion", 's', "ObjectMeta.resourceVersion of type string" },
		{ "labels", 'm', "ObjectMeta.labels of type string" },
		{ "annotations", 'm', "ObjectMeta.annotations of type string" },
		{ "finalizers", 'l', "ObjectMeta.finalizers of type string" },
		{ "ownerReferences", 'o', "ObjectMeta.ownerReferences of type v1.OwnerReference" },
	};
	yyjson_mut_val *meta = fl_meta(object);

	for (size_t i = 0; i < FL_LEN(members); i++) {
		yyjson_mut_val *val = fl_tree_get(meta, fl_str(members[i].name)), *one, *key;
		bool ok = true;
		size_t j, n;
		yyjson_mut_val *bad = NULL;

		if (val && yyjson_mut_is_null(val)) {
			fl_tree_remove(meta, fl_str(members[i].name));
			continue;
		}
		if (!val)
			continue;
		if (members[i].type == 's')
			ok = yyjson_mut_is_str(val);
		else
			ok = members[i].type == 'm' ? yyjson_mut_is_obj(val) : yyjson_mut_is_arr(val);
		yyjson_mut_arr_foreach(val, j, n, one)
			bad = bad || is_a(one, members[i].type) ? bad : one;
		if (members[i].type == 'm') {
			yyjson_mut_obj_foreach(val, j, n, key, one)
				bad = bad || yyjson_mut_is_str(one) ? bad : one;
		}
		if (!ok || bad)
			return fl_refuse_bad(call, "%.*s in version \"%.*s\" cannot be handled as a %.*s: json: cannot "
						   "unmarshal %s into Go struct field %s",
					     FL_ARG(call->resource->kind), FL_ARG(call->version),
					     FL_ARG(call->resource->kind), go_type(bad ? bad : val), members[i].go);
	}
	return 0;
}
