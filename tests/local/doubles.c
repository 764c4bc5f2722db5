/* doubles.c - stands in for schemas, field ownership and patches where they are not linked yet: everything is kept,
 * nobody owns a field, an apply is a merge patch. */
#include "local/apply.h"
#include "local/call.h"

struct fl_schema {
	char none;
};

int fl_schema_compile(yyjson_val *openapi, unsigned flags, struct fl_schema **ret, struct fl_err *err)
{
	(void)openapi;
	(void)flags;
	*ret = fl_zalloc(sizeof **ret);
	return *ret ? 0 : fl_fail(err, FL_E_NOMEM, "no memory for a schema");
}

void fl_schema_free(struct fl_schema *schema)
{
	fl_free(schema);
}

const struct fl_schema_rule *fl_schema_rules(const struct fl_schema *schema, uint32_t *ret_len)
{
	(void)schema;
	*ret_len = 0;
	return NULL;
}

void fl_schema_prune(const struct fl_schema *schema, yyjson_mut_val *object, struct fl_causes *unknown)
{
	(void)schema;
	(void)object;
	(void)unknown;
}

int fl_schema_default(const struct fl_schema *schema, yyjson_mut_doc *doc, yyjson_mut_val *object)
{
	(void)schema;
	(void)doc;
	(void)object;
	return 0;
}

void fl_schema_check(const struct fl_schema *schema, yyjson_mut_val *object, struct fl_causes *causes)
{
	(void)schema;
	(void)object;
	(void)causes;
}

static int put_copy(yyjson_mut_doc *doc, yyjson_mut_val *object, struct fl_str name, yyjson_mut_val *val)
{
	yyjson_mut_val *copy = val ? fl_tree_copy(doc, val) : NULL;

	if (!val)
		fl_tree_remove(object, name);
	return !val || (copy && fl_tree_put(doc, object, name, copy)) ? 0 : -FL_E_NOMEM;
}

int fl_part_reset(enum fl_part part, yyjson_mut_doc *doc, yyjson_mut_val *before, yyjson_mut_val *after)
{
	yyjson_mut_obj_iter iter;
	yyjson_mut_val *key;
	int r = 0;

	if (part == FL_PART_MAIN)
		return put_copy(doc, after, FL_S("status"), fl_tree_get(before, FL_S("status")));
	yyjson_mut_obj_iter_init(before, &iter);
	while (part == FL_PART_STATUS && r == 0 && (key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
		if (!fl_str_eq(fl_tree_str(key), FL_S("status")))
			r = put_copy(doc, after, fl_tree_str(key), yyjson_mut_obj_iter_get_val(key));
	}
	return r;
}

int fl_apply(const struct fl_schema *schema, const struct fl_writer *who, unsigned flags, yyjson_mut_doc *doc,
	     yyjson_mut_val *live, yyjson_mut_val *config, struct fl_causes *conflicts, struct fl_err *err)
{
	yyjson_mut_val *merged = yyjson_mut_merge_patch(doc, live, config), *key;
	yyjson_mut_obj_iter iter;

	(void)schema;
	(void)who;
	(void)flags;
	(void)conflicts;
	yyjson_mut_obj_iter_init(merged, &iter);
	while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
		if (put_copy(doc, live, fl_tree_str(key), yyjson_mut_obj_iter_get_val(key)) < 0)
			return fl_fail(err, FL_E_NOMEM, "no memory for an apply");
	}
	return merged ? 1 : fl_fail(err, FL_E_NOMEM, "no memory for an apply");
}

void fl_apply_conflict(const struct fl_causes *conflicts, struct fl_buf *buf)
{
	(void)conflicts;
	(void)buf;
}

int fl_managed_update(const struct fl_schema *schema, const struct fl_writer *who, yyjson_mut_doc *doc,
		      yyjson_mut_val *before, yyjson_mut_val *after, struct fl_arena *arena, struct fl_err *err)
{
	(void)schema;
	(void)who;
	(void)doc;
	(void)before;
	(void)after;
	(void)arena;
	(void)err;
	return 0;
}

int fl_tree_merge(yyjson_mut_doc *doc, yyjson_mut_val **object, yyjson_val *patch, struct fl_err *err)
{
	yyjson_mut_val *copy = yyjson_val_mut_copy(doc, patch);

	*object = copy ? yyjson_mut_merge_patch(doc, *object, copy) : NULL;
	return *object ? 0 : fl_fail(err, FL_E_NOMEM, "no memory for a patch");
}

int fl_tree_patch(yyjson_mut_doc *doc, yyjson_mut_val **object, yyjson_val *patch, struct fl_err *err)
{
	yyjson_mut_val *copy = yyjson_val_mut_copy(doc, patch), *after;
	yyjson_patch_err why;

	if (!copy)
		return fl_fail(err, FL_E_NOMEM, "no memory for a patch");
	after = yyjson_mut_patch(doc, *object, copy, &why);
	if (!after)
		return fl_fail(err, FL_E_INVALID, "%s", why.msg);
	*object = after;
	return 0;
}
