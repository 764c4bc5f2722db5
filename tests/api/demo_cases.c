/* demo_cases - print, as one JSON document, the demo kind's CRD and everything that its table promises about it, as
 * cases for the real API server (tests/cluster/crd). The cases come out of the table, so no row can be forgotten; what
 * only a person can think of, an object for each rule in CEL, stands in a list below, and a rule without one is an
 * error.
 */
#include "api/demo.h"
#include "base/units.h"
#include "json/bind_in.h"
#include "kind_lint.h"
#include <assert.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>

static yyjson_mut_doc *doc;
static yyjson_mut_val *cases;
static int failures;

/* One rule of CEL, refused: `old` is there first (NULL: creation), then `now`; both are what stands in the spec. */
static const struct {
	const char *says, *old, *now;
} ruled[] = {
	{ "a stage burns or coasts", NULL, "{\"displayName\":\"r\",\"stages\":[{\"domain\":\"a\"}]}" },
	{ "a stage coasts no longer than it burns", NULL,
	  "{\"displayName\":\"r\",\"stages\":[{\"burnSeconds\":1,\"coastSeconds\":2}]}" },
	{ "packDomain is deprecated and cannot be used on new objects", NULL,
	  "{\"displayName\":\"r\",\"packDomain\":\"x\"}" },
	{ "replicas only grow", "{\"displayName\":\"r\",\"replicas\":3}", "{\"displayName\":\"r\",\"replicas\":2}" },
	{ "nothing may be called forbidden", NULL, "{\"displayName\":\"forbidden\"}" },
	{ "color must be seen", NULL, "{\"displayName\":\"r\",\"color\":\"invisible\"}" },
};

/* Rows of which no object may have a value at creation: their other cases are the rules'. */
static bool never_new(const struct fl_field *f)
{
	return f->deprecated != NULL;
}

/* ---- values ---- */

static yyjson_mut_val *text(const char *s)
{
	return yyjson_mut_strcpy(doc, s);
}

static yyjson_mut_val *json(const char *s)
{
	yyjson_doc *read = yyjson_read(s, strlen(s), 0);
	yyjson_mut_val *val = yyjson_val_mut_copy(doc, yyjson_doc_get_root(read));

	yyjson_doc_free(read);
	return val;
}

static yyjson_mut_val *letters(uint32_t count)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(64 * FL_KIB);

	fl_buf_str(&buf, FL_S(""));
	for (uint32_t i = 0; i < count; i++)
		fl_buf_str(&buf, FL_S("\xc3\xa9"));   /* two bytes each: characters are what counts */
	return text(count ? buf.p : "");
}

static yyjson_mut_val *some_object(const struct fl_bind *bind);

/* A value that the row takes; the n-th of several different ones. */
static yyjson_mut_val *some_value(const struct fl_field *f, uint32_t n)
{
	char word[64];

	switch (f->type) {
	case FL_T_STR:
		if (f->example && (n == 0 || f->pattern || f->format))
			return text(f->example);
		(void)snprintf(word, sizeof word, "%c", 'a' + (int)n);
		return text(word);
	case FL_T_BOOL: return yyjson_mut_bool(doc, n % 2 == 0);
	case FL_T_I32:
	case FL_T_I64:
	case FL_T_F64: return yyjson_mut_sint(doc,
					      (f->between.set && f->between.min > 0 ? f->between.min : 0) + (int64_t)n);
	case FL_T_TIME: return text("2026-01-31T12:00:00Z");
	case FL_T_MICROTIME: return text("2026-01-31T12:00:00.000001Z");
	case FL_T_DURATION: return text("1h0m0s");
	case FL_T_QUANTITY: return text("3Gi");
	case FL_T_INTSTR: return n % 2 ? text("40%") : yyjson_mut_sint(doc, 2);
	case FL_T_RAW: return json("{\"any\":{\"thing\":[1,\"two\"]}}");
	case FL_T_ENUM: return text(f->names->at[n % f->names->len]);
	case FL_T_OBJ: return f->example ? json(f->example) : some_object(f->of());
	case FL_T_COUNT_: break;
	}
	return NULL;
}

static yyjson_mut_val *shaped(const struct fl_field *f, yyjson_mut_val *value)
{
	yyjson_mut_val *whole;

	if (f->shape == FL_ONE)
		return value;
	whole = f->shape == FL_LIST ? yyjson_mut_arr(doc) : yyjson_mut_obj(doc);
	if (f->shape == FL_LIST)
		yyjson_mut_arr_append(whole, value);
	else
		yyjson_mut_obj_add_val(doc, whole, "key", value);
	return whole;
}

static yyjson_mut_val *some_member(const struct fl_field *f, uint32_t n)
{
	return shaped(f, some_value(f, n));
}

static void put(yyjson_mut_val *object, struct fl_str key, yyjson_mut_val *value)
{
	yyjson_mut_obj_put(object, yyjson_mut_strncpy(doc, key.p, key.len), value);
}

static yyjson_mut_val *some_object(const struct fl_bind *bind)
{
	yyjson_mut_val *object = yyjson_mut_obj(doc);

	fl_each_field (f, bind)
		if (f->required && !f->def.set)
			put(object, f->json, some_member(f, 0));
	return object;
}

/* A list or map of `count` different elements. */
static yyjson_mut_val *many(const struct fl_field *f, uint32_t count)
{
	yyjson_mut_val *whole = f->shape == FL_LIST ? yyjson_mut_arr(doc) : yyjson_mut_obj(doc);
	char word[16];

	for (uint32_t i = 0; i < count; i++) {
		yyjson_mut_val *value = some_value(f, i);

		(void)snprintf(word, sizeof word, "k%u", i);
		if (f->shape == FL_MAP) {
			put(whole, fl_str(word), value);
			continue;
		}
		if (f->list_key) {
			uint32_t at = 0;

			put(value, fl_key_next(f, &at)->json, text(word));
		}
		yyjson_mut_arr_append(whole, value);
	}
	return whole;
}

/* ---- where a row is: the way from the root ---- */
struct way {
	const struct way *up;
	const struct fl_field *row;       /* the object that holds it; NULL at the root */
	const struct fl_bind *bind;
};

/* The whole object in which `f`, below `way`, has this value (NULL: is absent). */
static yyjson_mut_val *object_with(const struct way *way, const struct fl_field *f, yyjson_mut_val *value)
{
	yyjson_mut_val *object = way->row ? some_value(way->row, 0) : some_object(way->bind);

	yyjson_mut_obj_remove_keyn(object, f->json.p, f->json.len);
	if (value)
		put(object, f->json, value);
	return way->up ? object_with(way->up, way->row, shaped(way->row, object)) : object;
}

/* "/spec/ports/0/name" */
static void pointer(const struct way *way, struct fl_buf *buf)
{
	if (!way->up)
		return;
	pointer(way->up, buf);
	fl_buf_printf(buf, "/%s%s", way->row->json.p,
		way->row->shape == FL_LIST ? "/0" : way->row->shape == FL_MAP ? "/key" : "");
}

static void add_case(const struct way *way, const struct fl_field *f, const char *says, yyjson_mut_val *old,
		     yyjson_mut_val *now, const char *message, yyjson_mut_val *stored, bool absent)
{
	FL_AUTO(fl_buf) struct fl_buf path = FL_BUF(FL_KIB);
	yyjson_mut_val *c = yyjson_mut_arr_add_obj(doc, cases);

	if (way)
		pointer(way, &path);
	if (f)
		fl_buf_printf(&path, "/%s", f->json.p);
	yyjson_mut_obj_add_val(doc, c, "path", text(path.p ? path.p : ""));
	yyjson_mut_obj_add_val(doc, c, "says", text(says));
	if (old)
		yyjson_mut_obj_add_val(doc, c, "old", old);
	yyjson_mut_obj_add_val(doc, c, "now", now);
	yyjson_mut_obj_add_val(doc, c, "message", text(message ? message : ""));
	if (stored)
		yyjson_mut_obj_add_val(doc, c, "stored", stored);
	if (absent)
		yyjson_mut_obj_add_bool(doc, c, "absent", true);
}

static void accepted(const struct way *way, const struct fl_field *f, const char *says, yyjson_mut_val *value)
{
	add_case(way, f, says, NULL, object_with(way, f, value), NULL, yyjson_mut_val_mut_copy(doc, value), false);
}

static void refused(const struct way *way, const struct fl_field *f, const char *says, yyjson_mut_val *value,
		    const char *message)
{
	add_case(way, f, says, NULL, object_with(way, f, value), message, NULL, false);
}

/* ---- what each option promises ---- */

static void wrong_type(const struct way *way, const struct fl_field *f)
{
	static const char *const message[FL_T_COUNT_] = {
		[FL_T_STR] = "must be of type string", [FL_T_BOOL] = "must be of type boolean",
		[FL_T_I32] = "must be of type integer", [FL_T_I64] = "must be of type integer",
		[FL_T_F64] = "must be of type number", [FL_T_TIME] = "must be of type",
		[FL_T_MICROTIME] = "must be of type", [FL_T_DURATION] = "must be of type string",
		[FL_T_QUANTITY] = "must be of type", [FL_T_INTSTR] = "must be of type",
		[FL_T_RAW] = "must be of type object", [FL_T_ENUM] = "must be of type string",
		[FL_T_OBJ] = "must be of type object",
	};
	bool is_text = f->type == FL_T_BOOL || f->type == FL_T_I32 || f->type == FL_T_I64 || f->type == FL_T_F64 ||
		       f->type == FL_T_RAW || f->type == FL_T_OBJ;

	refused(way, f, "a value of another type", shaped(f, is_text ? text("x") : yyjson_mut_bool(doc, true)),
		f->format ? "must be of type" : message[f->type]);
	if (f->shape == FL_LIST)
		refused(way, f, "one value is no list", text("x"), "must be of type array");
	if (f->shape == FL_MAP)
		refused(way, f, "one value is no map", text("x"), "must be of type object");
	if (f->type == FL_T_TIME || f->type == FL_T_MICROTIME)
		refused(way, f, "no time", text("soon"), "must be of type date-time");
	if (f->type == FL_T_QUANTITY)
		refused(way, f, "no quantity", shaped(f, text("much")), "should match");
	if (f->type == FL_T_I32)
		refused(way, f, "more than 32 bits", shaped(f, yyjson_mut_sint(doc, (int64_t)INT32_MAX + 1)),
			"must be of type");
	if (f->type == FL_T_I32 || f->type == FL_T_I64)
		refused(way, f, "no integer", shaped(f, yyjson_mut_real(doc, 1.5)), "must be of type integer");
	if (f->format)
		refused(way, f, "not in the format", text("no such thing"), "must be of type");
}

static void enums(const struct way *way, const struct fl_field *f)
{
	if (f->type != FL_T_ENUM)
		return;
	for (uint32_t i = 0; i < f->names->len; i++)
		accepted(way, f, "a name of the enum", shaped(f, text(f->names->at[i])));
	refused(way, f, "no name of the enum", shaped(f, text("Nope")), "Unsupported value: \"Nope\"");
}

static bool matches(const char *pattern, const char *s)
{
	regex_t compiled;
	int r = regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB);

	assert(r == 0);
	r = regexec(&compiled, s, 0, NULL, 0);
	regfree(&compiled);
	return r == 0;
}

static void patterns(const struct way *way, const struct fl_field *f)
{
	static const char *const tries[] = { "A-", "!", "0 0", "\xc3\xa9", "x", "" };

	for (uint32_t i = 0; f->pattern && i < FL_LEN(tries); i++)
		if (!matches(f->pattern, tries[i]))
			refused(way, f, "not of the pattern", shaped(f, text(tries[i])),
				tries[i][0] || !f->length.min ? "should match" : "should");
}

static void bounds(const struct way *way, const struct fl_field *f)
{
	if (!f->between.set)
		return;
	accepted(way, f, "the least", shaped(f, yyjson_mut_sint(doc, f->between.min)));
	if (f->between.min > INT32_MIN)
		refused(way, f, "less than the least", shaped(f, yyjson_mut_sint(doc, f->between.min - 1)),
			"should be greater than or equal to");
	accepted(way, f, "the most", shaped(f, yyjson_mut_sint(doc, f->between.max)));
	if (f->between.max < INT32_MAX)
		refused(way, f, "more than the most", shaped(f, yyjson_mut_sint(doc, f->between.max + 1)),
			"should be less than or equal to");
}

static void lengths(const struct way *way, const struct fl_field *f)
{
	bool is_text = f->shape == FL_ONE;

	if (f->length.min)
		refused(way, f, "too short", is_text ? letters(f->length.min - 1) : many(f, f->length.min - 1),
			is_text ? "should be at least" : "should have at least");
	if (f->length.max && f->length.max < 1000) {
		if (!f->pattern)
			accepted(way, f, "as long as may be", is_text ? letters(f->length.max) : many(f,
				f->length.max));
		refused(way, f, "too long", is_text ? letters(f->length.max + 1) : many(f, f->length.max + 1),
			is_text ? "may not be more than" : "must have at most");
	}
}

/* Absent: it stays so, has its default, or is missed. null is the same, unless the row says that null is a value. */
static void absence(const struct way *way, const struct fl_field *f)
{
	yyjson_mut_val *stored = NULL;

	if (f->required && !f->def.set) {
		refused(way, f, "required", NULL, "Required value");
		return;
	}
	if (f->def.set && f->type == FL_T_OBJ) {
		stored = yyjson_mut_obj(doc);
		fl_each_field (below, f->of())
			if (below->def.set && below->def.text)
				put(stored, below->json, text(below->def.text));
			else if (below->def.set)
				put(stored, below->json, yyjson_mut_bool(doc, below->def.number != 0));
	} else if (f->def.text) {
		stored = text(f->def.text);
	} else if (f->def.set && f->type == FL_T_BOOL) {
		stored = yyjson_mut_bool(doc, f->def.number != 0);
	} else if (f->def.set && f->type == FL_T_ENUM) {
		stored = text(f->names->at[f->def.number]);
	} else if (f->def.set) {
		stored = yyjson_mut_sint(doc, f->def.number);
	}
	add_case(way, f, "absent", NULL, object_with(way, f, NULL), NULL, stored, !stored);
	if (!f->nullable)
		add_case(way, f, "null", NULL, object_with(way, f, yyjson_mut_null(doc)), NULL,
			 stored ? yyjson_mut_val_mut_copy(doc, stored) : NULL, !stored);
}

static void repeats(const struct way *way, const struct fl_field *f)
{
	yyjson_mut_val *twice;

	if (!f->list_key && !f->list_set)
		return;
	twice = some_member(f, 0);
	yyjson_mut_arr_append(twice, some_value(f, 0));
	refused(way, f, f->list_key ? "the same keys twice" : "the same value twice", twice, "Duplicate value");
}

static yyjson_mut_val *another(const struct fl_field *f)
{
	yyjson_mut_val *value = some_member(f, 1);

	if (f->type == FL_T_OBJ && f->shape == FL_ONE)
		put(value, f->of()->fields[0].json, some_member(&f->of()->fields[0], 1));
	return value;
}

static void immutable(const struct way *way, const struct fl_field *f)
{
	char message[80];

	if (!f->immutable)
		return;
	(void)snprintf(message, sizeof message, "%s is immutable", f->json.p);
	add_case(way, f, "kept", object_with(way, f, some_member(f, 0)), object_with(way, f, some_member(f, 0)), NULL,
		 NULL,
		 false);
	add_case(way, f, "changed", object_with(way, f, some_member(f, 0)), object_with(way, f, another(f)), message,
		 NULL,
		 false);
	if (f->required)
		return;
	/* Where there is a default, what is taken away comes back as that. */
	add_case(way, f, "added", object_with(way, f, NULL), object_with(way, f, some_member(f, 0)), message, NULL,
		 false);
	add_case(way, f, "taken away", object_with(way, f, some_member(f, 0)), object_with(way, f, NULL), message, NULL,
		 false);
}

static void unknown(const struct way *way, const struct fl_field *f)
{
	yyjson_mut_val *value;

	if (f->shape != FL_ONE || f->type != FL_T_OBJ)
		return;
	value = some_value(f, 0);
	put(value, FL_S("noSuchField"), yyjson_mut_sint(doc, 1));
	add_case(way, f, "what no row names is not stored", NULL, object_with(way, f, value), NULL, some_value(f, 0),
		 false);
}

static void walk(const struct way *way)
{
	fl_each_field (f, way->bind) {
		struct way below = { way, f, NULL };

		if (f->local || (!way->up && fl_str_eq(f->json, FL_S("metadata"))))
			continue;
		wrong_type(way, f);
		if (never_new(f))
			continue;
		if (f->type != FL_T_OBJ || !f->of()->rules[0].cel || !way->up)
			accepted(way, f, "a value", some_member(f, 0));
		enums(way, f);
		patterns(way, f);
		bounds(way, f);
		lengths(way, f);
		absence(way, f);
		repeats(way, f);
		immutable(way, f);
		unknown(way, f);
		if (f->type == FL_T_OBJ) {
			below.bind = f->of();
			walk(&below);
		}
	}
}

/* ---- rules ---- */

static bool is_ruled(const char *says)
{
	for (uint32_t i = 0; i < FL_LEN(ruled); i++)
		if (strcmp(ruled[i].says, says) == 0)
			return true;
	return false;
}

static void demand(const struct fl_rule rules[FL_RULES])
{
	for (uint32_t i = 0; i < FL_RULES && rules[i].cel; i++)
		if (!is_ruled(rules[i].says)) {
			fprintf(stderr, "demo_cases: no case for the rule '%s'\n", rules[i].says);
			failures++;
		}
}

static void demand_below(const struct fl_bind *bind)
{
	demand(bind->rules);
	fl_each_field (f, bind) {
		demand(f->rules);
		if (f->type == FL_T_OBJ && !f->local)
			demand_below(f->of());
	}
}

static yyjson_mut_val *with_spec(const char *spec)
{
	yyjson_mut_val *object = yyjson_mut_obj(doc);

	yyjson_mut_obj_add_val(doc, object, "spec", json(spec));
	return object;
}

static void rules(void)
{
	demand_below(fl_demo_bind());
	for (uint32_t i = 0; i < FL_LEN(ruled); i++)
		add_case(NULL, NULL, ruled[i].says, ruled[i].old ? with_spec(ruled[i].old) : NULL,
			with_spec(ruled[i].now),
			 ruled[i].says, NULL, false);
}

/* ---- the kind ---- */

static void words(yyjson_mut_val *into, const char *key, const char *list)
{
	yyjson_mut_val *array = yyjson_mut_obj_add_arr(doc, into, key);
	struct fl_str rest = fl_str(list), word;

	while (list && fl_str_split(&rest, ',', &word))
		yyjson_mut_arr_append(array, yyjson_mut_strncpy(doc, word.p, word.len));
}

static void selectable(yyjson_mut_val *into, const struct fl_bind *bind, const char *prefix)
{
	fl_each_field (f, bind) {
		char path[256];

		(void)snprintf(path, sizeof path, "%s.%s", prefix, f->json.p);
		if (f->selectable)
			yyjson_mut_arr_append(into, text(path + 1));
		if (f->type == FL_T_OBJ && f->shape == FL_ONE)
			selectable(into, f->of(), path);
	}
}

static void columns(yyjson_mut_val *into)
{
	for (const struct fl_column *column = fl_demo_kind.columns; column->name; column++) {
		FL_AUTO(fl_buf) struct fl_buf path = FL_BUF(FL_KIB);
		yyjson_mut_val *c = yyjson_mut_arr_add_obj(doc, into);

		yyjson_mut_obj_add_str(doc, c, "name", column->name);
		yyjson_mut_obj_add_int(doc, c, "priority", column->priority);
		if (column->condition)
			yyjson_mut_obj_add_str(doc, c, "condition", column->condition);
		else if (fl_column_find(fl_demo_bind(), column->name, &path))
			yyjson_mut_obj_add_val(doc, c, "path", text(path.p));
	}
}

int main(void)
{
	const struct fl_kind *kind = &fl_demo_kind;
	FL_AUTO(fl_buf) struct fl_buf crd = FL_BUF(FL_MIB);
	struct way root = { NULL, NULL, fl_demo_bind() };
	struct fl_jw w = FL_JW(&crd);
	yyjson_mut_val *top;
	struct fl_err err;
	char *out;

	if (kind_lint(kind, &err) < 0) {
		fprintf(stderr, "demo_cases: %s\n", err.text);
		return 1;
	}
	fl_kind_crd(&kind, 1, &w);
	doc = yyjson_mut_doc_new(NULL);
	top = yyjson_mut_obj(doc);
	yyjson_mut_doc_set_root(doc, top);
	yyjson_mut_obj_add_val(doc, top, "crd", json(crd.p));
	yyjson_mut_obj_add_str(doc, top, "group", kind->group);
	yyjson_mut_obj_add_str(doc, top, "version", kind->version);
	yyjson_mut_obj_add_str(doc, top, "kind", kind->kind);
	yyjson_mut_obj_add_str(doc, top, "plural", kind->plural);
	words(top, "shortNames", kind->short_names);
	words(top, "categories", kind->categories);
	selectable(yyjson_mut_obj_add_arr(doc, top, "selectable"), fl_demo_bind(), "");
	columns(yyjson_mut_obj_add_arr(doc, top, "columns"));
	cases = yyjson_mut_obj_add_arr(doc, top, "cases");
	walk(&root);
	rules();
	out = yyjson_mut_write(doc, YYJSON_WRITE_PRETTY, NULL);
	puts(out ? out : "");
	free(out);
	yyjson_mut_doc_free(doc);
	return failures || !out;
}
