#include "local/api_in.h"

/* Whether the schemas of a CustomResourceDefinition are structural, with all faults at once; schema.c finds one, which
 * is told where there is none of these. */

static bool flag(yyjson_mut_val *schema, const char *name)
{
	return yyjson_mut_is_true(fl_tree_get(schema, fl_str(name)));
}

static bool has_text(yyjson_mut_val *schema, const char *name, const char *text)
{
	return fl_str_eq(fl_tree_str(fl_tree_get(schema, fl_str(name))), fl_str(text));
}

/* "spec.validation.openAPIV3Schema.properties[spec].type" */
static struct fl_str at(struct fl_causes *causes, struct fl_str path, const char *name)
{
	struct fl_str field = fl_arena_printf(causes->arena, "%.*s.%s", FL_ARG(path), name);

	causes->failed |= !field.p;
	return field.p ? field : path;
}

static void check_type(struct fl_causes *causes, struct fl_str path, yyjson_mut_val *schema, const char *says)
{
	if (fl_tree_str(fl_tree_get(schema, FL_S("type"))).len || flag(schema, "x-kubernetes-int-or-string") ||
	    flag(schema, "x-kubernetes-preserve-unknown-fields"))
		return;
	fl_cause_add(causes, "FieldValueRequired", at(causes, path, "type"), "Required value: %s", says);
}

static void check_list(struct fl_causes *causes, struct fl_str path, yyjson_mut_val *schema)
{
	yyjson_mut_val *items = fl_tree_get(schema, FL_S("items"));

	if (has_text(schema, "x-kubernetes-list-type", "map") &&
	    !yyjson_mut_arr_size(fl_tree_get(schema, FL_S("x-kubernetes-list-map-keys"))))
		fl_cause_add(causes, "FieldValueRequired", at(causes, path, "x-kubernetes-list-map-keys"),
			     "Required value: must not be empty if x-kubernetes-list-type is map");
	if (has_text(schema, "x-kubernetes-list-type", "set") && has_text(items, "type", "object") &&
	    !has_text(items, "x-kubernetes-map-type", "atomic"))
		fl_cause_add(causes, "FieldValueInvalid", at(causes, path, "items.x-kubernetes-map-type"),
			     "Invalid value: null: must be atomic as item of a list with "
			     "x-kubernetes-list-type=set");
}

static void check_schema(struct fl_causes *causes, struct fl_str path, yyjson_mut_val *schema, uint32_t depth)
{
	yyjson_mut_val *extra = fl_tree_get(schema, FL_S("additionalProperties"));
	yyjson_mut_val *properties = fl_tree_get(schema, FL_S("properties")), *key, *val;
	yyjson_mut_val *items = fl_tree_get(schema, FL_S("items"));
	size_t i, n;

	if (depth > FL_SCHEMA_DEPTH)   /* schema.c refuses it */
		return;
	if (extra && yyjson_mut_obj_size(properties))
		fl_cause_add(causes, "FieldValueForbidden", at(causes, path, "additionalProperties"),
			     "Forbidden: additionalProperties and properties are mutual exclusive");
	check_list(causes, path, schema);
	yyjson_mut_obj_foreach(properties, i, n, key, val)
	{
		struct fl_str below = fl_arena_printf(causes->arena, "%.*s.properties[%.*s]", FL_ARG(path),
						      FL_ARG(fl_tree_str(key)));

		causes->failed |= !below.p;
		if (!below.p)
			return;
		check_type(causes, below, val, "must not be empty for specified object fields");
		check_schema(causes, below, val, depth + 1);
	}
	if (yyjson_mut_is_obj(items)) {
		check_type(causes, at(causes, path, "items"), items, "must not be empty for specified array items");
		check_schema(causes, at(causes, path, "items"), items, depth + 1);
	}
	if (yyjson_mut_is_obj(extra))
		check_schema(causes, at(causes, path, "additionalProperties"), extra, depth + 1);
}

static void check_root(struct fl_causes *causes, struct fl_str path, yyjson_mut_val *schema)
{
	if (!fl_tree_str(fl_tree_get(schema, FL_S("type"))).len)
		fl_cause_add(causes, "FieldValueRequired", at(causes, path, "type"),
			     "Required value: must not be empty at the root");
	if (fl_tree_get(schema, FL_S("additionalProperties")))
		fl_cause_add(causes, "FieldValueForbidden", at(causes, path, "additionalProperties"),
			     "Forbidden: must not be used at the root");
	check_schema(causes, path, schema, 0);
}

void fl_crd_schemas_check(yyjson_mut_val *crd, struct fl_causes *causes)
{
	yyjson_mut_val *versions = fl_tree_at(crd, FL_S("spec.versions")), *one, *first, *schema;
	bool same = true;
	size_t i, n;

	first = fl_tree_at(yyjson_mut_arr_get_first(versions), FL_S("schema.openAPIV3Schema"));
	yyjson_mut_arr_foreach(versions, i, n, one)
	{
		schema = fl_tree_at(one, FL_S("schema.openAPIV3Schema"));
		same &= schema && first && fl_tree_equal(schema, first);
	}
	if (same && first) {   /* one for all is told as that */
		check_root(causes, FL_S("spec.validation.openAPIV3Schema"), first);
		return;
	}
	yyjson_mut_arr_foreach(versions, i, n, one)
	{
		struct fl_str path = fl_arena_printf(causes->arena, "spec.versions[%zu].schema.openAPIV3Schema", i);

		schema = fl_tree_at(one, FL_S("schema.openAPIV3Schema"));
		causes->failed |= !path.p;
		if (path.p && schema)
			check_root(causes, path, schema);
	}
}
