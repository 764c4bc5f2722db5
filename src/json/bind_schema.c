#include "base/units.h"
#include "json/bind_in.h"
#include "json/bind_kind.h"
#include <stdio.h>

/* What the API server's own types say of a quantity. */
static const char quantity_pattern[] =
	"^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|"
	"([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$";

static const struct {
	const char *type, *format;
} types[FL_T_COUNT_] = {
	[FL_T_STR] = { "string" }, [FL_T_BOOL] = { "boolean" }, [FL_T_I32] = { "integer", "int32" },
	[FL_T_I64] = { "integer", "int64" }, [FL_T_F64] = { "number", "double" },
	[FL_T_TIME] = { "string", "date-time" }, [FL_T_MICROTIME] = { "string", "date-time" },
	[FL_T_DURATION] = { "string" }, [FL_T_QUANTITY] = { NULL }, [FL_T_INTSTR] = { NULL },
	[FL_T_RAW] = { "object" }, [FL_T_ENUM] = { "string" }, [FL_T_OBJ] = { "object" },
};

static void put_text(struct fl_jw *w, const char *key, const char *value)
{
	if (!value)
		return;
	fl_jw_key(w, fl_str(key));
	fl_jw_str(w, fl_str(value));
}

static void put_true(struct fl_jw *w, const char *key, bool is)
{
	if (!is)
		return;
	fl_jw_key(w, fl_str(key));
	fl_jw_bool(w, true);
}

static void put_number(struct fl_jw *w, const char *key, int64_t value)
{
	fl_jw_key(w, fl_str(key));
	fl_jw_i64(w, value);
}

/* "a,b" as a list */
static void put_words(struct fl_jw *w, const char *key, const char *words)
{
	struct fl_str rest = fl_str(words), word;

	if (!words)
		return;
	fl_jw_key(w, fl_str(key));
	fl_jw_arr(w);
	while (fl_str_split(&rest, ',', &word))
		fl_jw_str(w, word);
	fl_jw_end_arr(w);
}

/* ---- rules ---- */

static void put_rule(struct fl_jw *w, const struct fl_rule *rule)
{
	fl_jw_obj(w);
	put_text(w, "rule", rule->cel);
	put_text(w, "message", rule->says);
	put_true(w, "optionalOldSelf", rule->on_create);
	fl_jw_end_obj(w);
}

/* A field's name in CEL: its reserved words are dressed up. */
static void cel_name(struct fl_str name, struct fl_buf *buf)
{
	static const char *const reserved[] = {
		"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let",
		"loop", "namespace", "null", "package", "return", "true", "var", "void", "while",
	};

	for (uint32_t i = 0; i < FL_LEN(reserved); i++)
		if (fl_str_eq(name, fl_str(reserved[i]))) {
			fl_buf_printf(buf, "__%s__", reserved[i]);
			return;
		}
	fl_buf_str(buf, name);
}

/* "self == oldSelf" on a field is only asked while it is there before and after: that it stays is the parent's to
 * say. */
static bool needs_presence_rule(const struct fl_field *f)
{
	return f->immutable && !f->required && !f->def.set;
}

static void put_presence_rule(struct fl_jw *w, const struct fl_field *f)
{
	FL_AUTO(fl_buf) struct fl_buf rule = FL_BUF(FL_BIND_PATH), says = FL_BUF(FL_BIND_PATH),
				      name = FL_BUF(FL_BIND_PATH);

	cel_name(f->json, &name);
	fl_buf_str(&name, FL_S(""));
	fl_buf_printf(&rule, "has(self.%s) == has(oldSelf.%s)", name.p ? name.p : "", name.p ? name.p : "");
	fl_buf_printf(&says, "%s is immutable", f->json.p);
	if (name.failed || rule.failed || says.failed)
		w->buf->failed = FL_E_NOMEM;
	else
		put_rule(w, &(struct fl_rule){ .cel = rule.p, .says = says.p });
}

static void put_own_rules(struct fl_jw *w, const struct fl_rule rules[FL_RULES])
{
	for (uint32_t i = 0; i < FL_RULES && rules[i].cel; i++)
		put_rule(w, &rules[i]);
}

static void put_immutable(struct fl_jw *w, const struct fl_field *f)
{
	FL_AUTO(fl_buf) struct fl_buf says = FL_BUF(FL_BIND_PATH);

	fl_buf_printf(&says, "%s is immutable", f->json.p);
	if (says.failed)
		w->buf->failed = says.failed;
	else
		put_rule(w, &(struct fl_rule){ .cel = "self == oldSelf", .says = says.p });
}

/* Those of a row (NULL: none) and those of the object that stands there (NULL: none) are one list. */
static void put_rules(struct fl_jw *w, const struct fl_field *row, const struct fl_bind *bind)
{
	bool any = (row && (row->immutable || row->rules[0].cel)) || (bind && bind->rules[0].cel);

	if (bind)
		fl_each_field (f, bind)
			any |= needs_presence_rule(f);
	if (!any)
		return;
	fl_jw_put(w, "x-kubernetes-validations", arr);
	if (row && row->immutable)
		put_immutable(w, row);
	if (row)
		put_own_rules(w, row->rules);
	if (bind) {
		put_own_rules(w, bind->rules);
		fl_each_field (f, bind)
			if (needs_presence_rule(f))
				put_presence_rule(w, f);
	}
	fl_jw_end_arr(w);
}

/* ---- schema ---- */

static void put_default(struct fl_jw *w, const struct fl_field *f)
{
	if (!f->def.set)
		return;
	fl_jw_key(w, FL_S("default"));
	if (f->def.text)
		fl_jw_str(w, fl_str(f->def.text));
	else if (f->type == FL_T_BOOL)
		fl_jw_bool(w, f->def.number != 0);
	else if (f->type == FL_T_ENUM)
		fl_jw_str(w, fl_str(fl_name(f->names, (int)f->def.number)));
	else if (f->type == FL_T_OBJ)
		fl_jw_raw(w, FL_S("{}"));
	else
		fl_jw_i64(w, f->def.number);
}

static void put_between(struct fl_jw *w, const struct fl_field *f)
{
	int64_t least = f->type == FL_T_I32 ? INT32_MIN : INT64_MIN, most = f->type == FL_T_I32 ? INT32_MAX : INT64_MAX;

	if (!f->between.set)
		return;
	if (f->between.min != least)
		put_number(w, "minimum", f->between.min);
	if (f->between.max != most)
		put_number(w, "maximum", f->between.max);
}

static void put_length(struct fl_jw *w, const struct fl_field *f, const char *of)
{
	char key[24];

	if (f->length.min) {
		(void)snprintf(key, sizeof key, "min%s", of);
		put_number(w, key, f->length.min);
	}
	if (f->length.max) {
		(void)snprintf(key, sizeof key, "max%s", of);
		put_number(w, key, f->length.max);
	}
}

static void put_properties(struct fl_jw *w, const struct fl_bind *bind, bool root, uint32_t depth);

/* One value of the row: the inside of its schema. */
static void put_value(struct fl_jw *w, const struct fl_field *f, uint32_t depth)
{
	bool int_or_string = f->type == FL_T_QUANTITY || f->type == FL_T_INTSTR;

	put_text(w, "type", types[f->type].type);
	put_text(w, "format", f->format ? f->format : types[f->type].format);
	put_text(w, "pattern", f->type == FL_T_QUANTITY ? quantity_pattern : f->pattern);
	put_between(w, f);
	if (int_or_string)
		fl_jw_put(w, "anyOf", raw, FL_S("[{\"type\":\"integer\"},{\"type\":\"string\"}]"));
	put_true(w, "x-kubernetes-int-or-string", int_or_string);
	put_true(w, "x-kubernetes-preserve-unknown-fields", f->type == FL_T_RAW);
	if (f->type == FL_T_ENUM) {
		fl_jw_put(w, "enum", arr);
		for (uint32_t i = 0; i < f->names->len; i++)
			fl_jw_str(w, fl_str(f->names->at[i]));
		fl_jw_end_arr(w);
	}
	if (f->type == FL_T_OBJ)
		put_properties(w, f->of(), false, depth + 1);
}

static void put_description(struct fl_jw *w, const struct fl_field *f)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);

	if (!f->deprecated) {
		put_text(w, "description", f->help);
		return;
	}
	fl_buf_printf(&text, "%s Deprecated: %s", f->help ? f->help : "", f->deprecated);
	if (text.failed)
		w->buf->failed = text.failed;
	else
		put_text(w, "description", text.p);
}

static void put_field(struct fl_jw *w, const struct fl_field *f, uint32_t depth)
{
	fl_jw_key(w, f->json);
	fl_jw_obj(w);
	put_description(w, f);
	put_default(w, f);
	put_true(w, "nullable", f->nullable);
	if (f->shape == FL_ONE) {
		put_value(w, f, depth);
		if (f->type == FL_T_STR)
			put_length(w, f, "Length");
		put_rules(w, f, f->type == FL_T_OBJ ? f->of() : NULL);
	} else {
		put_text(w, "type", f->shape == FL_LIST ? "array" : "object");
		put_length(w, f, f->shape == FL_LIST ? "Items" : "Properties");
		if (f->shape == FL_LIST)
			put_text(w, "x-kubernetes-list-type", f->list_key ? "map" : f->list_set ? "set" : "atomic");
		put_words(w, "x-kubernetes-list-map-keys", f->list_key);
		fl_jw_key(w, f->shape == FL_LIST ? FL_S("items") : FL_S("additionalProperties"));
		fl_jw_obj(w);
		put_value(w, f, depth);
		put_rules(w, NULL, f->type == FL_T_OBJ ? f->of() : NULL);
		fl_jw_end_obj(w);
		put_rules(w, f, NULL);
	}
	fl_jw_end_obj(w);
}

/* The rows below an object. The root has apiVersion and kind besides, and its metadata is the API server's own. */
static void put_properties(struct fl_jw *w, const struct fl_bind *bind, bool root, uint32_t depth)
{
	bool any_required = false;

	if (depth > FL_BIND_DEPTH) {
		w->buf->failed = FL_E_TOOBIG;   /* a table that contains itself; kind_lint of the tests says so */
		return;
	}
	put_text(w, "x-kubernetes-map-type", bind->atomic ? "atomic" : NULL);
	fl_jw_put(w, "properties", obj);
	if (root) {
		fl_jw_put(w, "apiVersion", raw, FL_S("{\"type\":\"string\"}"));
		fl_jw_put(w, "kind", raw, FL_S("{\"type\":\"string\"}"));
		fl_jw_put(w, "metadata", raw, FL_S("{\"type\":\"object\"}"));
	}
	fl_each_field (f, bind) {
		if (f->local || (root && fl_str_eq(f->json, FL_S("metadata"))))
			continue;
		put_field(w, f, depth);
		any_required |= f->required;
	}
	fl_jw_end_obj(w);
	if (!any_required)
		return;
	fl_jw_put(w, "required", arr);
	fl_each_field (f, bind)
		if (f->required)
			fl_jw_str(w, f->json);
	fl_jw_end_arr(w);
}

void fl_kind_schema(const struct fl_kind *kind, struct fl_jw *w)
{
	fl_jw_obj(w);
	put_text(w, "description", kind->help);
	put_text(w, "type", "object");
	put_properties(w, kind->root(), true, 0);
	put_rules(w, NULL, kind->root());
	fl_jw_end_obj(w);
}

/* ---- CustomResourceDefinition ---- */

/* The first row for which it is true; its path is appended. */
typedef bool pick(const struct fl_field *f, const void *with);

static const struct fl_field *find_row(const struct fl_bind *bind, pick *is, const void *with, struct fl_buf *path,
				       uint32_t depth)
{
	const struct fl_field *found;
	size_t before = path->len;

	fl_each_field (f, bind) {
		fl_buf_printf(path, ".%s%s", f->json.p, f->shape == FL_LIST ? "[*]" : "");
		if (is(f, with))
			return f;
		found = NULL;
		if (f->type == FL_T_OBJ && depth < FL_BIND_DEPTH)
			found = find_row(f->of(), is, with, path, depth + 1);
		if (found)
			return found;
		fl_buf_cut(path, before);
	}
	return NULL;
}

static bool has_column(const struct fl_field *f, const void *name)
{
	return f->column && strcmp(f->column, name) == 0;
}

const struct fl_field *fl_column_find(const struct fl_bind *bind, const char *name, struct fl_buf *path)
{
	return find_row(bind, has_column, name, path, 0);
}

static void put_column(struct fl_jw *w, const struct fl_kind *kind, const struct fl_column *column)
{
	FL_AUTO(fl_buf) struct fl_buf path = FL_BUF(FL_BIND_PATH);
	const struct fl_field *f = NULL;
	const char *type = "string";

	if (column->condition) {
		fl_buf_printf(&path, ".status.conditions[?(@.type==\"%s\")].status", column->condition);
	} else if ((f = fl_column_find(kind->root(), column->name, &path))) {
		type = f->shape != FL_ONE || !types[f->type].type ? "string" : types[f->type].type;
		if (f->type == FL_T_TIME)
			type = "date";
	} else {
		fl_buf_str(&path, FL_S(".metadata.creationTimestamp"));   /* Age */
		type = "date";
	}
	if (path.failed) {
		w->buf->failed = path.failed;
		return;
	}
	fl_jw_obj(w);
	put_text(w, "name", column->name);
	put_text(w, "type", type);
	put_text(w, "jsonPath", path.p);
	if (column->priority)
		put_number(w, "priority", column->priority);
	put_text(w, "description", f ? f->help : NULL);
	fl_jw_end_obj(w);
}

static void put_selectable(struct fl_jw *w, const struct fl_bind *bind, struct fl_buf *path, bool *any)
{
	size_t before = path->len;

	fl_each_field (f, bind) {
		fl_buf_printf(path, ".%s", f->json.p);
		if (f->selectable && !path->failed) {
			if (!*any)
				fl_jw_put(w, "selectableFields", arr);
			*any = true;
			fl_jw_obj(w);
			put_text(w, "jsonPath", path->p);
			fl_jw_end_obj(w);
		}
		if (f->type == FL_T_OBJ && f->shape == FL_ONE)
			put_selectable(w, f->of(), path, any);
		fl_buf_cut(path, before);
	}
	if (path->failed)
		w->buf->failed = path->failed;
}

static void put_path(struct fl_jw *w, const char *key, const char *path)
{
	FL_AUTO(fl_buf) struct fl_buf dotted = FL_BUF(FL_BIND_PATH);

	if (!path)
		return;
	fl_buf_printf(&dotted, ".%s", path);
	if (dotted.failed)
		w->buf->failed = dotted.failed;
	else
		put_text(w, key, dotted.p);
}

static void put_subresources(struct fl_jw *w, const struct fl_kind *kind)
{
	if (!kind->status && !kind->scale.replicas)
		return;
	fl_jw_put(w, "subresources", obj);
	if (kind->status)
		fl_jw_put(w, "status", raw, FL_S("{}"));
	if (kind->scale.replicas) {
		fl_jw_put(w, "scale", obj);
		put_path(w, "specReplicasPath", kind->scale.replicas);
		put_path(w, "statusReplicasPath", kind->scale.status_replicas);
		put_path(w, "labelSelectorPath", kind->scale.selector);
		fl_jw_end_obj(w);
	}
	fl_jw_end_obj(w);
}

static void put_version(struct fl_jw *w, const struct fl_kind *kind)
{
	FL_AUTO(fl_buf) struct fl_buf path = FL_BUF(FL_BIND_PATH);
	bool any = false;

	fl_jw_obj(w);
	put_text(w, "name", kind->version);
	fl_jw_put(w, "served", bool, !kind->not_served);
	fl_jw_put(w, "storage", bool, !kind->not_stored);
	put_true(w, "deprecated", kind->deprecated != NULL);
	put_text(w, "deprecationWarning", kind->deprecated);
	put_subresources(w, kind);
	if (kind->columns[0].name) {
		fl_jw_put(w, "additionalPrinterColumns", arr);
		for (uint32_t i = 0; i < FL_COLUMNS && kind->columns[i].name; i++)
			put_column(w, kind, &kind->columns[i]);
		fl_jw_end_arr(w);
	}
	put_selectable(w, kind->root(), &path, &any);
	if (any)
		fl_jw_end_arr(w);
	fl_jw_put(w, "schema", obj);
	fl_jw_key(w, FL_S("openAPIV3Schema"));
	fl_kind_schema(kind, w);
	fl_jw_end_obj(w);
	fl_jw_end_obj(w);
}

static void put_labels(struct fl_jw *w, const char *labels)
{
	struct fl_str rest = fl_str(labels), label;

	if (!labels)
		return;
	fl_jw_put(w, "labels", obj);
	while (fl_str_split(&rest, ',', &label)) {
		int64_t equals = fl_str_find(label, '=');

		fl_jw_key(w, fl_str_sub(label, 0, equals < 0 ? label.len : (uint32_t)equals));
		fl_jw_str(w, equals < 0 ? FL_S("") : fl_str_sub(label, (uint32_t)equals + 1, UINT32_MAX));
	}
	fl_jw_end_obj(w);
}

static void put_names(struct fl_jw *w, const struct fl_kind *kind)
{
	char singular[64], list[72];
	uint32_t n = 0;

	for (; kind->kind[n] && n < sizeof singular - 1; n++)   /* letters and digits: the bit makes capitals small */
		singular[n] = (char)(kind->kind[n] | 0x20);
	singular[n] = '\0';
	(void)snprintf(list, sizeof list, "%sList", kind->kind);
	fl_jw_put(w, "names", obj);
	put_text(w, "kind", kind->kind);
	put_text(w, "listKind", list);
	put_text(w, "plural", kind->plural);
	put_text(w, "singular", kind->singular ? kind->singular : singular);
	put_words(w, "shortNames", kind->short_names);
	put_words(w, "categories", kind->categories);
	fl_jw_end_obj(w);
}

void fl_kind_crd(const struct fl_kind *const *versions, uint32_t count, struct fl_jw *w)
{
	const struct fl_kind *kind = versions[0];
	char name[256];

	(void)snprintf(name, sizeof name, "%s.%s", kind->plural, kind->group);
	fl_jw_obj(w);
	put_text(w, "apiVersion", "apiextensions.k8s.io/v1");
	put_text(w, "kind", "CustomResourceDefinition");
	fl_jw_put(w, "metadata", obj);
	put_text(w, "name", name);
	put_labels(w, kind->labels);
	fl_jw_end_obj(w);
	fl_jw_put(w, "spec", obj);
	put_text(w, "group", kind->group);
	put_names(w, kind);
	put_text(w, "scope", kind->cluster_scoped ? "Cluster" : "Namespaced");
	fl_jw_put(w, "versions", arr);
	for (uint32_t i = 0; i < count; i++)
		put_version(w, versions[i]);
	fl_jw_end_arr(w);
	fl_jw_end_obj(w);
	fl_jw_end_obj(w);
}
