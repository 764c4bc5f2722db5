#include "local/schema_in.h"
#include "json/write.h"
#include <stdlib.h>

FL_NAMES(fl_value_type_names, FL_VALUE_COUNT_, [FL_VALUE_ANY] = "", [FL_VALUE_OBJECT] = "object",
	 [FL_VALUE_ARRAY] = "array",
	 [FL_VALUE_STRING] = "string", [FL_VALUE_INTEGER] = "integer", [FL_VALUE_NUMBER] = "number",
	 [FL_VALUE_BOOLEAN] = "boolean");

/* ---- what every object has; properties are sorted by length, then by bytes ---- */

#define TEXT(name_) { FL_S_INIT(name_), &fl_node_text }
#define PROPS(table) .props = (struct fl_prop *)(uintptr_t)(table), .prop_len = FL_LEN(table)

const struct fl_node fl_node_any = { .keep = true, .open = true, .nullable = true, .extra = &fl_node_any };
const struct fl_node fl_node_text = { .type = FL_VALUE_STRING };
static const struct fl_node boolean = { .type = FL_VALUE_BOOLEAN };
static const struct fl_node integer = { .type = FL_VALUE_INTEGER };
static const struct fl_node texts = { .type = FL_VALUE_OBJECT, .extra = &fl_node_text };
static const struct fl_node text_set = { .type = FL_VALUE_ARRAY, .list = FL_LIST_SET, .items = &fl_node_text };

static const struct fl_prop reference_props[] = {
	TEXT("uid"), TEXT("kind"), TEXT("name"), TEXT("apiVersion"), { FL_S_INIT("controller"), &boolean },
	{ FL_S_INIT("blockOwnerDeletion"), &boolean },
};
static const struct fl_node reference = { .type = FL_VALUE_OBJECT, .atomic = true, PROPS(reference_props) };
static const struct fl_str uid = FL_S_INIT("uid");
static const struct fl_node references = {
	.type = FL_VALUE_ARRAY, .list = FL_LIST_MAP, .items = &reference,
	.keys = (struct fl_str *)(uintptr_t)&uid, .key_len = 1,
};
static const struct fl_prop managed_props[] = {
	TEXT("time"), TEXT("manager"), { FL_S_INIT("fieldsV1"), &fl_node_any }, TEXT("operation"), TEXT("apiVersion"),
	TEXT("fieldsType"), TEXT("subresource"),
};
static const struct fl_node managed_entry = { .type = FL_VALUE_OBJECT, PROPS(managed_props) };
static const struct fl_node managed = { .type = FL_VALUE_ARRAY, .items = &managed_entry };
static const struct fl_prop metadata_props[] = {
	TEXT("uid"), TEXT("name"), { FL_S_INIT("labels"), &texts }, TEXT("selfLink"), TEXT("namespace"),
	{ FL_S_INIT("finalizers"), &text_set }, { FL_S_INIT("generation"), &integer },
	{ FL_S_INIT("annotations"), &texts }, TEXT("generateName"), { FL_S_INIT("managedFields"), &managed },
	{ FL_S_INIT("ownerReferences"), &references }, TEXT("resourceVersion"), TEXT("creationTimestamp"),
	TEXT("deletionTimestamp"), { FL_S_INIT("deletionGracePeriodSeconds"), &integer },
};
const struct fl_node fl_node_metadata = { .type = FL_VALUE_OBJECT, PROPS(metadata_props) };

/* Of use to find one only: the length tells most apart. */
static int order_of(struct fl_str a, struct fl_str b)
{
	if (a.len != b.len || a.len == 0)
		return a.len < b.len ? -1 : a.len > b.len;
	return a.p[0] != b.p[0] ? a.p[0] - b.p[0] : memcmp(a.p, b.p, a.len);
}

static int by_name(const void *a, const void *b)
{
	return order_of(((const struct fl_prop *)a)->name, ((const struct fl_prop *)b)->name);
}

const struct fl_node *fl_node_prop(const struct fl_node *node, struct fl_str name)
{
	uint32_t from = 0, to = node->prop_len;

	if (node->resource && fl_str_eq(name, FL_S("metadata")))
		return &fl_node_metadata;
	if (node->resource && (fl_str_eq(name, FL_S("kind")) || fl_str_eq(name, FL_S("apiVersion"))))
		return &fl_node_text;
	while (from < to) {
		uint32_t middle = (from + to) / 2;
		int order = order_of(name, node->props[middle].name);

		if (order == 0)
			return node->props[middle].node;
		if (order < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return NULL;
}

const struct fl_node *fl_node_member(const struct fl_node *node, struct fl_str name)
{
	const struct fl_node *found = fl_node_prop(node, name);

	if (found)
		return found;
	return node->extra ? node->extra : node->keep ? &fl_node_any : NULL;
}

/* ---- compiling ---- */

struct compiler {
	struct fl_schema *schema;
	unsigned flags;
	struct fl_err *err;
};

/* A place of the schema that is being compiled: "properties[spec].items", and the value's: "spec[*]". */
struct place {
	const struct place *up;
	const char *keyword;
	struct fl_str name;
	bool checks_only;      /* inside allOf, anyOf, oneOf, not */
	uint32_t depth;
};

static void put_place(struct fl_buf *buf, const struct place *place)
{
	if (!place || !place->keyword)
		return;
	put_place(buf, place->up);
	fl_buf_printf(buf, "%s%s", buf->len ? "." : "", place->keyword);
	if (place->name.p)
		fl_buf_printf(buf, "[%.*s]", FL_ARG(place->name));
}

static void put_path(struct fl_buf *buf, const struct place *place)
{
	if (!place || !place->keyword)
		return;
	put_path(buf, place->up);
	if (strcmp(place->keyword, "items") == 0)
		fl_buf_str(buf, FL_S("[*]"));
	else if (strcmp(place->keyword, "properties") == 0)
		fl_buf_printf(buf, "%s%.*s", buf->len ? "." : "", FL_ARG(place->name));
	else if (strcmp(place->keyword, "additionalProperties") == 0)
		fl_buf_str(buf, FL_S(".*"));
}

static int refuse(const struct compiler *c, const struct place *at, const char *keyword, const char *why)
{
	FL_AUTO(fl_buf) struct fl_buf path = FL_BUF(4 * FL_KIB);

	put_place(&path, at);
	fl_buf_printf(&path, "%s%s", path.len && keyword[0] ? "." : "", keyword);
	return path.failed == FL_E_NOMEM ? fl_fail(c->err, FL_E_NOMEM, "schema: out of memory") :
					   fl_fail(c->err, FL_E_INVALID, "%.*s: %s", FL_ARG(fl_buf_view(&path)), why);
}

static int no_memory(const struct compiler *c)
{
	return fl_fail(c->err, FL_E_NOMEM, "schema: out of memory");
}

/* What is not checked. */
static int note(const struct compiler *c, const struct place *at, const char *what, struct fl_str rule)
{
	FL_AUTO(fl_buf) struct fl_buf path = FL_BUF(64 * FL_KIB);
	struct fl_schema_rule one;

	put_path(&path, at);
	one.path = fl_arena_str(&c->schema->arena, fl_buf_view(&path));
	one.rule = what ? fl_arena_printf(&c->schema->arena, "%s %.*s", what, FL_ARG(rule)) : rule;
	if (path.failed || !one.path.p || !one.rule.p || fl_vec_push(&c->schema->rules, one) < 0)
		return no_memory(c);
	return 0;
}

static int compile(const struct compiler *c, yyjson_val *json, const struct place *at, struct fl_node **ret);

static bool is_true(yyjson_val *json, const char *keyword)
{
	return yyjson_is_true(yyjson_obj_get(json, keyword));
}

static int texts_of(const struct compiler *c, const struct place *at, yyjson_val *json, const char *keyword,
		    struct fl_str **ret, uint32_t *ret_len)
{
	yyjson_val *list = yyjson_obj_get(json, keyword), *one;
	size_t i, max;

	if (!list)
		return 0;
	if (!yyjson_is_arr(list))
		return refuse(c, at, keyword, "a list of names is wanted");
	*ret = fl_arena_get_n(&c->schema->arena, yyjson_arr_size(list) + 1, sizeof **ret);
	if (!*ret)
		return no_memory(c);
	yyjson_arr_foreach (list, i, max, one)
		if (!fl_json_str(one, &(*ret)[i]))
			return refuse(c, at, keyword, "a list of names is wanted");
	*ret_len = (uint32_t)yyjson_arr_size(list);
	return 0;
}

static int props_of(const struct compiler *c, const struct place *at, yyjson_val *json, struct fl_node *node)
{
	yyjson_val *props = yyjson_obj_get(json, "properties"), *key, *val;
	size_t i, max;
	int r;

	if (!props)
		return 0;
	if (!yyjson_is_obj(props))
		return refuse(c, at, "properties", "an object is wanted");
	node->props = fl_arena_get_n(&c->schema->arena, yyjson_obj_size(props) + 1, sizeof *node->props);
	if (!node->props)
		return no_memory(c);
	yyjson_obj_foreach (props, i, max, key, val) {
		struct fl_prop *prop = &node->props[i];
		struct place place = { at, "properties", { 0 }, at->checks_only, at->depth + 1 };
		struct fl_node *made;

		(void)fl_json_str(key, &prop->name);
		place.name = prop->name;
		r = compile(c, val, &place, &made);
		if (r < 0)
			return r;
		prop->node = made;
	}
	node->prop_len = (uint32_t)yyjson_obj_size(props);
	qsort(node->props, node->prop_len, sizeof *node->props, by_name);
	return 0;
}

/* items, additionalProperties, not: one schema. */
static int one_of(const struct compiler *c, const struct place *at, yyjson_val *json, const char *keyword, bool checks,
		  const struct fl_node **ret)
{
	struct place place = { at, keyword, { 0 }, checks || at->checks_only, at->depth + 1 };
	yyjson_val *val = yyjson_obj_get(json, keyword);
	struct fl_node *made = NULL;
	int r = val ? compile(c, val, &place, &made) : 0;

	if (r == 0)
		*ret = made;
	return r;
}

static int several(const struct compiler *c, const struct place *at, yyjson_val *json, const char *keyword,
		   struct fl_nodes *ret)
{
	yyjson_val *list = yyjson_obj_get(json, keyword), *val;
	size_t i, max;
	int r;

	if (!list)
		return 0;
	if (!yyjson_is_arr(list))
		return refuse(c, at, keyword, "a list of schemas is wanted");
	ret->at = fl_arena_get_n(&c->schema->arena, yyjson_arr_size(list) + 1, sizeof *ret->at);
	if (!ret->at)
		return no_memory(c);
	yyjson_arr_foreach (list, i, max, val) {
		struct place place = { at, keyword, { 0 }, true, at->depth + 1 };
		struct fl_node *made;

		r = compile(c, val, &place, &made);
		if (r < 0)
			return r;
		ret->at[ret->len++] = made;
	}
	return 0;
}

static int number_of(const struct compiler *c, const struct place *at, yyjson_val *json, const char *keyword,
		     double *ret, yyjson_val **ret_text)
{
	yyjson_val *val = yyjson_obj_get(json, keyword);

	if (!val)
		return 0;
	if (!yyjson_is_num(val))
		return refuse(c, at, keyword, "a number is wanted");
	*ret = yyjson_get_num(val);
	*ret_text = val;
	return 1;
}

static int counts_of(const struct compiler *c, const struct place *at, yyjson_val *json, const char *least,
		     const char *most, int64_t ret[2])
{
	const char *const keyword[2] = { least, most };

	for (int i = 0; i < 2; i++) {
		yyjson_val *val = yyjson_obj_get(json, keyword[i]);

		ret[i] = -1;
		if (val && (!fl_json_i64(val, &ret[i]) || ret[i] < 0))
			return refuse(c, at, keyword[i], "a count is wanted");
	}
	return 0;
}

static int numbers_of(const struct compiler *c, const struct place *at, yyjson_val *json, struct fl_bounds *b)
{
	int r = number_of(c, at, json, "minimum", &b->minimum, &b->minimum_text);

	b->has_minimum = r == 1;
	b->above_minimum = is_true(json, "exclusiveMinimum");
	if (r >= 0)
		r = number_of(c, at, json, "maximum", &b->maximum, &b->maximum_text);
	b->has_maximum = r == 1;
	b->below_maximum = is_true(json, "exclusiveMaximum");
	if (r >= 0)
		r = number_of(c, at, json, "multipleOf", &b->multiple_of, &b->multiple_text);
	if (r == 1 && !(b->multiple_of > 0))
		return refuse(c, at, "multipleOf", "a number above 0 is wanted");
	if (r >= 0)
		r = counts_of(c, at, json, "minLength", "maxLength", b->length);
	if (r >= 0)
		r = counts_of(c, at, json, "minItems", "maxItems", b->items);
	if (r >= 0)
		r = counts_of(c, at, json, "minProperties", "maxProperties", b->members);
	return r;
}

static int pattern_of(const struct compiler *c, const struct place *at, yyjson_val *json, struct fl_bounds *b)
{
	FL_AUTO(fl_buf) struct fl_buf posix = FL_BUF(64 * FL_KIB);
	bool known;
	int r = 0;

	if (fl_json_str(yyjson_obj_get(json, "pattern"), &b->pattern) && b->pattern.len) {
		if (fl_pattern_translate(b->pattern, &posix) && !posix.failed) {
			r = regcomp(&b->regex, posix.p ? posix.p : "", REG_EXTENDED | REG_NOSUB);
			b->has_regex = r == 0;
		}
		if (posix.failed == FL_E_NOMEM || r == REG_ESPACE)
			return no_memory(c);
		if (!b->has_regex && note(c, at, "pattern", b->pattern) < 0)
			return -FL_E_NOMEM;
	}
	if (!fl_json_str(yyjson_obj_get(json, "format"), &b->format) || b->format.len == 0)
		return 0;
	(void)fl_format_fits(b->format, FL_S(""), &known);
	return known ? 0 : note(c, at, "format", b->format);
}

static bool has_bounds(yyjson_val *json)
{
	static const char *const keywords[] = {
		"minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "minProperties",
		"maxProperties", "pattern", "format", "enum", "allOf", "anyOf", "oneOf", "not", "uniqueItems",
	};

	for (size_t i = 0; i < FL_LEN(keywords); i++)
		if (yyjson_obj_get(json, keywords[i]))
			return true;
	return false;
}

static int bounds_of(const struct compiler *c, const struct place *at, yyjson_val *json, struct fl_node *node)
{
	struct fl_bounds *b;
	int r;

	if (!has_bounds(json))
		return 0;
	b = fl_arena_get(&c->schema->arena, sizeof *b);
	if (!b)
		return no_memory(c);
	b->next = c->schema->all;
	c->schema->all = b;
	node->bounds = b;
	b->unique = is_true(json, "uniqueItems");
	b->values = yyjson_obj_get(json, "enum");
	if (b->values && !yyjson_is_arr(b->values))
		return refuse(c, at, "enum", "a list of values is wanted");
	r = numbers_of(c, at, json, b);
	if (r >= 0)
		r = pattern_of(c, at, json, b);
	if (r >= 0)
		r = several(c, at, json, "allOf", &b->all_of);
	if (r >= 0)
		r = several(c, at, json, "anyOf", &b->any_of);
	if (r >= 0)
		r = several(c, at, json, "oneOf", &b->one_of);
	return r < 0 ? r : one_of(c, at, json, "not", true, &b->not_);
}

/* ---- what the API server adds to OpenAPI ---- */

static int by_bytes(const void *a, const void *b)
{
	return fl_str_cmp(*(const struct fl_str *)a, *(const struct fl_str *)b);
}

static int list_of(const struct compiler *c, const struct place *at, yyjson_val *json, struct fl_node *node)
{
	struct fl_str kind = FL_S("atomic");

	(void)fl_json_str(yyjson_obj_get(json, "x-kubernetes-list-type"), &kind);
	if (fl_str_eq(kind, FL_S("set")))
		node->list = FL_LIST_SET;
	else if (fl_str_eq(kind, FL_S("map")))
		node->list = FL_LIST_MAP;
	else if (!fl_str_eq(kind, FL_S("atomic")))
		return refuse(c, at, "x-kubernetes-list-type", "atomic, set or map is wanted");
	if (node->key_len)   /* in the elements of managedFields they are sorted */
		qsort(node->keys, node->key_len, sizeof *node->keys, by_bytes);
	for (uint32_t i = 1; i < node->key_len; i++)
		if (fl_str_eq(node->keys[i], node->keys[i - 1]))
			return refuse(c, at, "x-kubernetes-list-map-keys", "a name stands there twice");
	if (node->list == FL_LIST_SET && !node->items)
		return refuse(c, at, "items", "Required value: must be specified");
	if (node->list == FL_LIST_MAP && (node->key_len == 0 || !node->items || node->items->type != FL_VALUE_OBJECT))
		return refuse(c, at, "x-kubernetes-list-map-keys",
			      "a list of type map has objects as items, and names their keys");
	return 0;
}

static int rules_of(const struct compiler *c, const struct place *at, yyjson_val *json)
{
	yyjson_val *rules = yyjson_obj_get(json, "x-kubernetes-validations"), *one;
	struct fl_str rule;
	size_t i, max;
	int r = 0;

	yyjson_arr_foreach (rules, i, max, one)
		if (r == 0 && fl_json_str(yyjson_obj_get(one, "rule"), &rule))
			r = note(c, at, NULL, rule);
	return r;
}

static int type_of(const struct compiler *c, const struct place *at, yyjson_val *json, struct fl_node *node)
{
	struct fl_str name = { 0 }, map = { 0 };
	int type;

	if (!yyjson_is_obj(json))
		return refuse(c, at, "", "a schema is an object");
	node->int_or_string = is_true(json, "x-kubernetes-int-or-string");
	node->open = (c->flags & FL_SCHEMA_OPEN) != 0;
	node->keep = node->open || is_true(json, "x-kubernetes-preserve-unknown-fields");
	node->resource = is_true(json, "x-kubernetes-embedded-resource");
	node->nullable = is_true(json, "nullable");
	node->present = is_true(json, "x-fairlead-present");
	(void)fl_json_str(yyjson_obj_get(json, "x-kubernetes-map-type"), &map);
	node->atomic = fl_str_eq(map, FL_S("atomic"));
	if (fl_json_str(yyjson_obj_get(json, "type"), &name) && name.len) {
		type = fl_name_find(&fl_value_type_names, name);
		if (type < 0)
			return refuse(c, at, "type", "array, boolean, integer, number, object or string is wanted");
		node->type = (enum fl_value_type)type;
	} else if (!at->checks_only && !node->int_or_string && !node->keep) {
		return refuse(c, at, "type", "Required value: must not be empty for specified object fields");
	}
	node->def = yyjson_obj_get(json, "default");
	return 0;
}

/* A default must fit its own schema, so that an object with it does. */
static int check_default(const struct compiler *c, const struct place *at, const struct fl_node *node)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(fl_buf) struct fl_buf why = FL_BUF(4 * FL_KIB);
	struct fl_causes causes = FL_CAUSES(&arena);
	yyjson_alc alc = fl_json_alc(NULL);
	FL_AUTO(fl_json_mut) yyjson_mut_doc *doc = yyjson_mut_doc_new(&alc);
	yyjson_mut_val *val = doc ? fl_tree_of(doc, node->def, NULL) : NULL;

	if (!val)
		return no_memory(c);
	fl_node_prune(node, val, &causes);
	if (fl_node_default(node, doc, val) < 0)
		return no_memory(c);
	fl_node_check(node, val, &causes);
	fl_causes_text(&causes, &why);
	if (causes.failed || why.failed == FL_E_NOMEM)
		return no_memory(c);
	return causes.len ? refuse(c, at, "default", why.p) : 0;
}

static bool has_default(const struct fl_node *node)
{
	bool has = node->def || (node->extra && node->extra->defaults) || (node->items && node->items->defaults);

	for (uint32_t i = 0; i < node->prop_len && !has; i++)
		has = node->props[i].node->defaults;
	return has;
}

static int compile(const struct compiler *c, yyjson_val *json, const struct place *at, struct fl_node **ret)
{
	struct fl_node *node = fl_arena_get(&c->schema->arena, sizeof *node);
	yyjson_val *extra = yyjson_obj_get(json, "additionalProperties");
	int r;

	if (!node)
		return no_memory(c);
	if (at->depth > FL_SCHEMA_DEPTH)
		return refuse(c, at, "", "the schema is nested too deep");
	r = type_of(c, at, json, node);
	if (r >= 0)
		r = props_of(c, at, json, node);
	if (r >= 0 && yyjson_is_obj(extra))
		r = one_of(c, at, json, "additionalProperties", false, &node->extra);
	else if (yyjson_is_true(extra))
		node->keep = true;
	if (r >= 0)
		r = one_of(c, at, json, "items", false, &node->items);
	if (r >= 0)
		r = texts_of(c, at, json, "required", &node->required, &node->required_len);
	if (r >= 0)
		r = texts_of(c, at, json, "x-kubernetes-list-map-keys", &node->keys, &node->key_len);
	if (r >= 0)
		r = list_of(c, at, json, node);
	if (r >= 0)
		r = bounds_of(c, at, json, node);
	if (r >= 0)
		r = rules_of(c, at, json);
	if (r >= 0 && node->def && !at->checks_only)
		r = check_default(c, at, node);
	node->defaults = r >= 0 && has_default(node);
	*ret = node;
	return r;
}

/* A copy of the schema, in which all texts then lie. */
static int keep(struct fl_schema *schema, yyjson_val *openapi, struct fl_err *err)
{
	yyjson_alc alc = fl_json_alc(NULL);
	FL_AUTO(fl_json_mut) yyjson_mut_doc *copy = yyjson_mut_doc_new(&alc);
	yyjson_mut_val *root = copy ? yyjson_val_mut_copy(copy, openapi) : NULL;

	schema->doc = root ? yyjson_mut_val_imut_copy(root, &alc) : NULL;
	return schema->doc ? 0 : fl_fail(err, FL_E_NOMEM, "schema: out of memory");
}

int fl_schema_compile(yyjson_val *openapi, unsigned flags, struct fl_schema **ret, struct fl_err *err)
{
	FL_AUTO(fl_schema) struct fl_schema *schema = fl_zalloc(sizeof *schema);
	struct compiler c = { schema, flags, err };
	int r = schema ? keep(schema, openapi, err) : fl_fail(err, FL_E_NOMEM, "schema: out of memory");

	if (r < 0)
		return r;
	r = compile(&c, schema->doc->root, &(struct place){ 0 }, &schema->root);
	if (r < 0)
		return r;
	if (schema->root->type != FL_VALUE_OBJECT && !schema->root->open)
		return refuse(&c, NULL, "type", "must be object at the root");
	schema->root->resource = true;
	*ret = fl_steal(&schema);
	return 0;
}

int fl_schema_of_kind(const struct fl_kind *kind, unsigned flags, struct fl_schema **ret, struct fl_err *err)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_CRD_MAX);
	FL_AUTO(fl_json_doc) yyjson_doc *doc = NULL;
	struct fl_jw w = FL_JW(&text);
	int r;

	fl_kind_schema(kind, &w);
	r = fl_buf_check(&text, "the schema of a kind", err);
	if (r >= 0)
		r = fl_json_read(NULL, fl_buf_view(&text), 0, &doc, err);
	return r < 0 ? r : fl_schema_compile(doc->root, flags, ret, err);
}

void fl_schema_free(struct fl_schema *schema)
{
	if (!schema)
		return;
	for (struct fl_bounds *b = schema->all; b; b = b->next)
		if (b->has_regex)
			regfree(&b->regex);
	yyjson_doc_free(schema->doc);
	fl_vec_free(&schema->rules);
	fl_arena_free(&schema->arena);
	fl_free(schema);
}

const struct fl_schema_rule *fl_schema_rules(const struct fl_schema *schema, uint32_t *ret_len)
{
	*ret_len = schema->rules.len;
	return schema->rules.at;
}
