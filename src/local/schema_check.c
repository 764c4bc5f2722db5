/* Values against a schema, in the words of the API server. */
#include "json/write.h"
#include "local/ownership.h"
#include "local/schema_in.h"
#include <float.h>
#include <math.h>

struct check {
	struct fl_causes *causes;
	struct fl_buf path, value;       /* of the fault being told */
};

static struct fl_str name_of(const yyjson_mut_val *key)
{
	return (struct fl_str){ key->uni.str, (uint32_t)unsafe_yyjson_get_len((void *)(uintptr_t)key) };
}

/* ---- telling ---- */

static struct fl_str path_of(struct check *c, const struct fl_at *at)
{
	fl_buf_clear(&c->path);
	fl_at_put(&c->path, at);
	if (c->path.len == 0)
		fl_buf_str(&c->path, FL_S("<nil>"));
	if (c->path.failed)
		c->causes->failed = true;
	return fl_buf_view(&c->path);
}

static struct fl_str value_of(struct check *c, yyjson_mut_val *val)
{
	struct fl_jw w = FL_JW(&c->value);

	fl_buf_clear(&c->value);
	fl_jw_mut(&w, val);
	if (c->value.failed == FL_E_NOMEM)
		c->causes->failed = true;
	return fl_buf_view(&c->value);
}

#define INVALID "FieldValueInvalid"
#define WRONG_TYPE "FieldValueTypeInvalid"

/* 'Invalid value: 0: spec.a in body ...' */
#define REFUSE(c_, at_, val_, fmt_, ...) \
	do { \
		struct fl_str shown_ = value_of((c_), (val_)), path_ = path_of((c_), (at_)); \
		fl_cause_add((c_)->causes, INVALID, path_, "Invalid value: %.*s: %.*s in body " fmt_, FL_ARG(shown_), \
			     FL_ARG(path_), ##__VA_ARGS__); \
	} while (0)

/* Of several schemas together: no field is named. */
static void refuse_all(struct check *c, const struct fl_at *at, const char *after)
{
	struct fl_str path = path_of(c, at);

	fl_cause_add(c->causes, INVALID, FL_S("<nil>"), "Invalid value: \"\": \"%.*s\" %s", FL_ARG(path), after);
}

/* A number beyond what its format holds; NULL: the default one. */
static void refuse_range(struct check *c, const struct fl_at *at, const char *type, const char *format)
{
	struct fl_str path = path_of(c, at);

	fl_cause_add(c->causes, INVALID, FL_S("<nil>"),
		     "Invalid value: \"\": Checked value must be of type %s %s%s in %.*s", type,
		     format ? "with format " : "(default format)", format ? format : "", FL_ARG(path));
}

/* Without its decimals, where it has any: beyond 2^52 there are none. */
static double whole_part(double number)
{
	return fabs(number) < 4503599627370496.0 ? (double)(int64_t)number : number;
}

static bool is_whole(yyjson_mut_val *val)
{
	double number = yyjson_mut_get_num(val);

	if (!yyjson_mut_is_num(val))
		return false;
	if (yyjson_mut_is_real(val))
		return isfinite(number) && whole_part(number) == number && fabs(number) < 9223372036854775808.0;
	return !yyjson_mut_is_uint(val) || yyjson_mut_get_uint(val) <= INT64_MAX;
}

static const char *kind_of(yyjson_mut_val *val)
{
	if (yyjson_mut_is_num(val))
		return is_whole(val) ? "integer" : "number";
	return yyjson_mut_is_str(val) ? "string" : yyjson_mut_is_bool(val) ? "boolean" :
	       yyjson_mut_is_arr(val) ? "array" :        yyjson_mut_is_obj(val) ? "object" : "null";
}

static void refuse_type(struct check *c, const struct fl_at *at, const char *wanted, const char *found)
{
	struct fl_str path = path_of(c, at);

	fl_cause_add(c->causes, WRONG_TYPE, path,
		     "Invalid value: \"%s\": %.*s in body must be of type %s: \"%s\"", found, FL_ARG(path), wanted,
		     found);
}

/* ---- type ---- */

static bool is_type(const struct fl_node *node, yyjson_mut_val *val)
{
	switch (node->type) {
	case FL_VALUE_ANY:
		return !node->int_or_string || yyjson_mut_is_str(val) || is_whole(val);
	case FL_VALUE_OBJECT:
		return yyjson_mut_is_obj(val);
	case FL_VALUE_ARRAY:
		return yyjson_mut_is_arr(val);
	case FL_VALUE_STRING:
		return yyjson_mut_is_str(val);
	case FL_VALUE_INTEGER:
		return is_whole(val);
	case FL_VALUE_NUMBER:
		return yyjson_mut_is_num(val);
	case FL_VALUE_BOOLEAN:
		return yyjson_mut_is_bool(val);
	case FL_VALUE_COUNT_:
		break;
	}
	return false;
}

static bool check_type(struct check *c, const struct fl_node *node, const struct fl_at *at, yyjson_mut_val *val)
{
	struct fl_str format = node->bounds ? node->bounds->format : FL_S("");
	bool sized = fl_str_eq(format, FL_S("int64")) || fl_str_eq(format, FL_S("int32"));

	if ((yyjson_mut_is_null(val) && node->nullable) || is_type(node, val))
		return true;
	if (node->type == FL_VALUE_INTEGER && yyjson_mut_is_num(val)) {
		refuse_type(c, at, sized ? format.p : "integer", sized ? "float64" : "number");
		refuse_range(c, at, "integer", sized ? format.p : NULL);
	} else {
		const char *type = fl_name(&fl_value_type_names, (int)node->type);

		refuse_type(c, at, node->int_or_string ? "integer,string" : type, kind_of(val));
	}
	return false;
}

/* ---- bounds ---- */

static struct fl_str number(double value, char text[FL_DOUBLE_TEXT])
{
	return (struct fl_str){ text, fl_json_double(value, text) };
}

/* Of an integer the API server compares the whole part of the bound. */
static double bound_of(yyjson_mut_val *val, double bound)
{
	return yyjson_mut_is_real(val) ? bound : whole_part(bound);
}

static void check_multiple(struct check *c, const struct fl_bounds *b, const struct fl_at *at, yyjson_mut_val *val)
{
	double of = bound_of(val, b->multiple_of), times;
	char text[FL_DOUBLE_TEXT];
	struct fl_str path;

	if (!(b->multiple_of > 0))
		return;
	if (!(of > 0)) {
		path = path_of(c, at);
		fl_cause_add(c->causes, INVALID, path,
			     "Invalid value: 0: factor MultipleOf declared for %.*s must be positive: 0", FL_ARG(path));
		return;
	}
	times = yyjson_mut_get_num(val) / of;
	if (whole_part(times) != times) {
		REFUSE(c, at, val, "should be a multiple of %.*s", FL_ARG(number(of, text)));
	}
}

static void check_number(struct check *c, const struct fl_bounds *b, const struct fl_at *at, yyjson_mut_val *val)
{
	double v = yyjson_mut_get_num(val), least = bound_of(val, b->minimum), most = bound_of(val, b->maximum);
	char text[FL_DOUBLE_TEXT];

	if (fl_str_eq(b->format, FL_S("int32")) && (v < INT32_MIN || v > INT32_MAX))
		refuse_range(c, at, "integer", "int32");
	if (fl_str_eq(b->format, FL_S("float")) && fabs(v) > FLT_MAX)
		refuse_range(c, at, "number", "float");
	check_multiple(c, b, at, val);
	if (b->has_maximum && (v > most || (b->below_maximum && v >= most)))
		REFUSE(c, at, val, "should be less than %s%.*s", b->below_maximum ? "" : "or equal to ",
		       FL_ARG(number(most, text)));
	if (b->has_minimum && (v < least || (b->above_minimum && v <= least)))
		REFUSE(c, at, val, "should be greater than %s%.*s", b->above_minimum ? "" : "or equal to ",
		       FL_ARG(number(least, text)));
}

static int64_t characters(struct fl_str text)
{
	int64_t count = 0;

	for (uint32_t i = 0; i < text.len; i++)
		count += ((unsigned char)text.p[i] & 0xc0) != 0x80;
	return count;
}

static void check_text(struct check *c, const struct fl_bounds *b, const struct fl_at *at, yyjson_mut_val *val)
{
	struct fl_str text = fl_tree_str(val);
	int64_t count = characters(text);
	regmatch_t whole = { 0, (regoff_t)text.len };
	bool known;

	if (b->length[1] >= 0 && count > b->length[1])
		fl_cause_add(c->causes, "FieldValueTooLong", path_of(c, at),
			     "Too long: may not be more than %lld bytes", (long long)b->length[1]);
	if (b->length[0] >= 0 && count < b->length[0])
		REFUSE(c, at, val, "should be at least %lld chars long", (long long)b->length[0]);
	if (b->has_regex && regexec(&b->regex, text.len ? text.p : "", 1, &whole, REG_STARTEND) != 0)
		REFUSE(c, at, val, "should match '%.*s'", FL_ARG(b->pattern));
	if (b->format.len && !fl_format_fits(b->format, text, &known)) {
		struct fl_str shown = value_of(c, val), path = path_of(c, at);

		fl_cause_add(c->causes, WRONG_TYPE, path,
			     "Invalid value: %.*s: %.*s in body must be of type %.*s: %.*s",
			     FL_ARG(shown), FL_ARG(path), FL_ARG(b->format), FL_ARG(shown));
	}
}

/* How many items or members there are. */
static void check_count(struct check *c, const int64_t bounds[2], const struct fl_at *at, size_t count, const char *of)
{
	struct fl_str path;

	if (bounds[1] >= 0 && count > (size_t)bounds[1])
		fl_cause_add(c->causes, "FieldValueTooMany", path_of(c, at),
			     "Too many: %zu: must have at most %lld item%s", count, (long long)bounds[1],
			     bounds[1] == 1 ? "" : "s");
	if (bounds[0] < 0 || count >= (size_t)bounds[0])
		return;
	path = path_of(c, at);
	fl_cause_add(c->causes, INVALID, path, "Invalid value: %zu: %.*s in body should have at least %lld %s", count,
		     FL_ARG(path), (long long)bounds[0], of);
}

static bool same_value(yyjson_mut_val *a, yyjson_val *b)
{
	if (yyjson_is_num(b))
		return yyjson_mut_is_num(a) && yyjson_mut_get_num(a) == yyjson_get_num(b);
	if (yyjson_is_str(b))
		return yyjson_mut_is_str(a) && yyjson_mut_equals_strn(a, yyjson_get_str(b), yyjson_get_len(b));
	return !yyjson_is_ctn(b) && a->tag == b->tag;
}

static void check_enum(struct check *c, const struct fl_bounds *b, const struct fl_at *at, yyjson_mut_val *val)
{
	FL_AUTO(fl_buf) struct fl_buf list = FL_BUF(16 * FL_KIB);
	struct fl_str shown;
	yyjson_val *one;
	size_t i, max;

	yyjson_arr_foreach (b->values, i, max, one)
		if (same_value(val, one))
			return;
	yyjson_arr_foreach (b->values, i, max, one) {
		struct fl_jw w = FL_JW(&list);

		fl_buf_str(&list, i ? FL_S(", ") : FL_S(""));
		if (yyjson_is_str(one)) {
			fl_jw_val(&w, one);
			continue;
		}
		fl_buf_char(&list, '"');
		fl_jw_val(&w, one);
		fl_buf_char(&list, '"');
	}
	if (list.failed == FL_E_NOMEM)
		c->causes->failed = true;
	shown = value_of(c, val);
	fl_cause_add(c->causes, "FieldValueNotSupported", path_of(c, at),
		     "Unsupported value: %.*s: supported values: %.*s", FL_ARG(shown), FL_ARG(fl_buf_view(&list)));
}

/* ---- several schemas for one value ---- */

/* `old`: the value that is replaced; one that stays as it is may stay wrong. NULL: there is none. */
static void check_value(struct check *c, const struct fl_node *node, const struct fl_at *at, yyjson_mut_val *val,
			yyjson_mut_val *old);

/* What is wrong with the value by that schema alone. */
static struct fl_causes try(struct check *c, const struct fl_node *node, const struct fl_at *at, yyjson_mut_val *val)
{
	struct fl_causes alone = FL_CAUSES(c->causes->arena), *outer = c->causes;

	c->causes = &alone;
	check_value(c, node, at, val, NULL);
	c->causes = outer;
	outer->failed |= alone.failed;
	return alone;
}

static void add_all(struct fl_causes *causes, const struct fl_causes *more)
{
	if (!more->first)
		return;
	if (causes->last)
		causes->last->next = more->first;
	else
		causes->first = more->first;
	causes->last = more->last;
	causes->len += more->len;
}

static void check_any(struct check *c, const struct fl_nodes *nodes, const struct fl_at *at, yyjson_mut_val *val,
		      bool only_one)
{
	struct fl_causes first = { 0 };
	uint32_t good = 0;
	char count[64];

	for (uint32_t i = 0; i < nodes->len && (only_one || !good); i++) {
		struct fl_causes faults = try(c, nodes->at[i], at, val);

		good += faults.len == 0;
		if (i == 0)
			first = faults;
	}
	if (nodes->len == 0 || good == 1)
		return;
	if (good > 1) {
		struct fl_buf text = FL_BUF_IN(count);

		fl_buf_printf(&text, "%u valid alternatives", good);
	}
	if (!only_one)
		refuse_all(c, at, "must validate at least one schema (anyOf)");
	else if (good == 0)
		refuse_all(c, at, "must validate one and only one schema (oneOf). Found none valid");
	else
		fl_cause_add(c->causes, INVALID, FL_S("<nil>"),
			     "Invalid value: \"\": \"%.*s\" must validate one and only one schema (oneOf). Found %s",
			     FL_ARG(path_of(c, at)), count);
	if (good == 0)
		add_all(c->causes, &first);
}

static void check_several(struct check *c, const struct fl_bounds *b, const struct fl_at *at, yyjson_mut_val *val)
{
	uint32_t good = 0;

	check_any(c, &b->any_of, at, val, false);
	check_any(c, &b->one_of, at, val, true);
	for (uint32_t i = 0; i < b->all_of.len; i++) {
		struct fl_causes faults = try(c, b->all_of.at[i], at, val);

		good += faults.len == 0;
		add_all(c->causes, &faults);
	}
	if (good < b->all_of.len)
		refuse_all(c, at, good ? "must validate all the schemas (allOf)" :
					 "must validate all the schemas (allOf). None validated");
	if (b->not_ && try(c, b->not_, at, val).len == 0)
		refuse_all(c, at, "must not validate the schema (not)");
}

/* ---- the whole ---- */

static void check_required(struct check *c, const struct fl_node *node, const struct fl_at *at, yyjson_mut_val *val)
{
	static const struct fl_str of_resource[] = { FL_S_INIT("apiVersion"), FL_S_INIT("kind") };
	const struct fl_str *names = node->required;
	uint32_t len = node->required_len;

	for (uint32_t pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < len; i++)
			if (!fl_tree_get(val, names[i]))
				fl_cause_add(c->causes, "FieldValueRequired",
					     path_of(c, &(struct fl_at){ at, names[i], 0 }), "Required value");
		names = of_resource;
		len = node->resource && at ? FL_LEN(of_resource) : 0;
	}
}

static void check_object(struct check *c, const struct fl_node *node, const struct fl_at *at, yyjson_mut_val *val,
			 yyjson_mut_val *old)
{
	yyjson_mut_val *key, *item;
	size_t i, max;

	if (node->bounds)
		check_count(c, node->bounds->members, at, yyjson_mut_obj_size(val), "properties");
	yyjson_mut_obj_foreach(val, i, max, key, item)
	{
		const struct fl_node *below = fl_node_member(node, name_of(key));

		if (below && below != &fl_node_any && below != &fl_node_metadata)
			check_value(c, below, &(struct fl_at){ at, name_of(key), 0 }, item,
				    fl_tree_get(old, name_of(key)));
	}
	check_required(c, node, at, val);
}

/* The item of the same keys before; only those of a list-map are known again. */
static yyjson_mut_val *item_before(const struct fl_node *list, yyjson_mut_val *old, yyjson_mut_val *item)
{
	yyjson_mut_val *one;
	size_t i, max;

	if (list->list != FL_LIST_MAP)
		return NULL;
	yyjson_mut_arr_foreach(old, i, max, one)
	{
		uint32_t same = 0;

		while (same < list->key_len && fl_tree_equal(fl_tree_get(one, list->keys[same]),
							     fl_tree_get(item, list->keys[same])))
			same++;
		if (same == list->key_len)
			return one;
	}
	return NULL;
}

static void check_array(struct check *c, const struct fl_node *node, const struct fl_at *at, yyjson_mut_val *val,
			yyjson_mut_val *old)
{
	yyjson_mut_val *item;
	size_t i, max;

	if (node->bounds)
		check_count(c, node->bounds->items, at, yyjson_mut_arr_size(val), "items");
	if (node->items)
		yyjson_mut_arr_foreach(val, i, max, item)
			check_value(c, node->items, &(struct fl_at){ at, { 0 }, i }, item,
				    item_before(node, old, item));
}

static void check_value(struct check *c, const struct fl_node *node, const struct fl_at *at, yyjson_mut_val *val,
			yyjson_mut_val *old)
{
	const struct fl_bounds *b = node->bounds;
	bool right;

	if (old && fl_tree_equal(old, val))
		return;
	right = check_type(c, node, at, val);
	if (yyjson_mut_is_null(val) && node->nullable)
		return;
	if (b)
		check_several(c, b, at, val);
	if (!right)
		return;
	if (b && yyjson_mut_is_str(val))
		check_text(c, b, at, val);
	if (b && yyjson_mut_is_num(val))
		check_number(c, b, at, val);
	if (b && b->values)
		check_enum(c, b, at, val);
	if (yyjson_mut_is_obj(val))
		check_object(c, node, at, val, old);
	else if (yyjson_mut_is_arr(val))
		check_array(c, node, at, val, old);
}

/* ---- items that stand twice ---- */

static void check_lists(struct check *c, const struct fl_node *node, const struct fl_at *at, yyjson_mut_val *val);

static void check_item(struct check *c, const struct fl_node *node, const struct fl_at *at, yyjson_mut_val *item,
		       struct fl_ownership *seen)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(FL_JSON_ITEM_MAX);
	struct fl_owned *one;
	char kind;

	if (node->list == FL_LIST_MAP && !yyjson_mut_is_obj(item)) {
		struct fl_str shown = value_of(c, item);

		fl_cause_add(c->causes, INVALID, path_of(c, at),
			     "Invalid value: %.*s: must be an object for an array of list-type map", FL_ARG(shown));
		return;
	}
	if (fl_element_of(node, item, &text, &kind) != 0)
		return;
	one = text.failed ? NULL : fl_owned_make(seen, seen->root, kind, fl_buf_view(&text));
	if (!one) {
		c->causes->failed = true;
		return;
	}
	if (one->old && !one->hit) {
		fl_cause_add(c->causes, "FieldValueDuplicate", path_of(c, at), "Duplicate value: %.*s",
			     FL_ARG(fl_buf_view(&text)));
		one->hit = true;
	}
	one->old = item;
}

static void check_items(struct check *c, const struct fl_node *node, const struct fl_at *at, yyjson_mut_val *val)
{
	struct fl_ownership seen = { 0 };
	yyjson_mut_val *item;
	size_t i, max;

	if (node->list != FL_LIST_ATOMIC && yyjson_mut_arr_size(val)) {
		fl_ownership_init(&seen, c->causes->arena, 0);
		c->causes->failed |= seen.failed;
	}
	yyjson_mut_arr_foreach(val, i, max, item)
	{
		struct fl_at here = { at, { 0 }, i };

		if (seen.root)
			check_item(c, node, &here, item, &seen);
		if (node->items)
			check_lists(c, node->items, &here, item);
	}
}

static void check_lists(struct check *c, const struct fl_node *node, const struct fl_at *at, yyjson_mut_val *val)
{
	yyjson_mut_val *key, *item;
	size_t i, max;

	if (yyjson_mut_is_arr(val) && node->type == FL_VALUE_ARRAY)
		check_items(c, node, at, val);
	yyjson_mut_obj_foreach(val, i, max, key, item)
	{
		const struct fl_node *below = fl_node_member(node, name_of(key));

		if (below && below != &fl_node_any && below != &fl_node_metadata && yyjson_mut_is_ctn(item))
			check_lists(c, below, &(struct fl_at){ at, name_of(key), 0 }, item);
	}
}

void fl_node_check(const struct fl_node *node, yyjson_mut_val *val, struct fl_causes *causes)
{
	struct check c = { causes, FL_BUF(64 * FL_KIB), FL_BUF(FL_JSON_ITEM_MAX) };

	check_value(&c, node, NULL, val, NULL);
	check_lists(&c, node, NULL, val);
	fl_buf_free(&c.path);
	fl_buf_free(&c.value);
}

void fl_schema_check(const struct fl_schema *schema, yyjson_mut_val *object, struct fl_causes *causes)
{
	fl_node_check(schema->root, object, causes);
}

/* A status that is written alone is checked by itself: what is said of it names it in `field` only. */
static void check_status(struct check *c, const struct fl_node *root, yyjson_mut_val *old, yyjson_mut_val *object)
{
	const struct fl_str name = FL_S("status");
	const struct fl_node *node = fl_node_member(root, name);
	yyjson_mut_val *val = fl_tree_get(object, name);
	struct fl_causes alone = FL_CAUSES(c->causes->arena), *outer = c->causes;

	if (!node || node == &fl_node_any || !val)
		return;
	c->causes = &alone;
	check_value(c, node, NULL, val, fl_tree_get(old, name));
	c->causes = outer;
	outer->failed |= alone.failed;
	for (struct fl_cause *one = alone.first; one; one = one->next) {
		if (fl_str_eq(one->field, FL_S("<nil>")))
			continue;
		one->field = fl_arena_printf(outer->arena, "status.%.*s", FL_ARG(one->field));
		outer->failed |= !one->field.p;
	}
	add_all(outer, &alone);
}

void fl_schema_check_update(const struct fl_schema *schema, bool status, yyjson_mut_val *old, yyjson_mut_val *object,
			    struct fl_causes *causes)
{
	struct check c = { causes, FL_BUF(64 * FL_KIB), FL_BUF(FL_JSON_ITEM_MAX) };

	if (status)
		check_status(&c, schema->root, old, object);
	else
		check_value(&c, schema->root, NULL, object, old);
	check_lists(&c, schema->root, NULL, object);
	fl_buf_free(&c.path);
	fl_buf_free(&c.value);
}
