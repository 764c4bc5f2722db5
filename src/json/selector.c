#include "json/selector.h"
#include "base/limits.h"
#include "json/name.h"
#include <stdlib.h>

FL_NAMES(fl_selector_op_names, FL_SELECTOR_OP_COUNT_,
	 [FL_SELECTOR_IS] = "=", [FL_SELECTOR_IS_NOT] = "!=", [FL_SELECTOR_IN] = "In", [FL_SELECTOR_NOT_IN] = "NotIn",
	 [FL_SELECTOR_EXISTS] = "Exists", [FL_SELECTOR_NOT_EXISTS] = "DoesNotExist", [FL_SELECTOR_GREATER] = ">",
	 [FL_SELECTOR_LESS] = "<");

/* ---- the compiled form ---- */

static int by_text(const void *a, const void *b)
{
	return fl_str_cmp(*(const struct fl_str *)a, *(const struct fl_str *)b);
}

int fl_selector_begin(struct fl_arena *arena, uint32_t cap, struct fl_selector *ret, struct fl_err *err)
{
	struct fl_requirement *at = cap ? fl_arena_get_n(arena, cap, sizeof *at) : NULL;

	if (cap && !at)
		return fl_fail(err, FL_E_NOMEM, "a selector of %u requirements: out of memory", cap);
	*ret = (struct fl_selector){ .at = at, .cap = cap };
	return 0;
}

static int check_values(struct fl_str key, enum fl_selector_op op, struct fl_str_list values, struct fl_err *err)
{
	bool none = op == FL_SELECTOR_EXISTS || op == FL_SELECTOR_NOT_EXISTS;
	bool many = op == FL_SELECTOR_IN || op == FL_SELECTOR_NOT_IN;
	int64_t number;

	if (none && values.len)
		return fl_fail(err, FL_E_INVALID, "selector for '%.*s': %s takes no values", FL_ARG(key),
			       fl_name(&fl_selector_op_names, (int)op));
	if ((many && values.len == 0) || (!many && !none && values.len != 1))
		return fl_fail(err, FL_E_INVALID, "selector for '%.*s': %s needs %s", FL_ARG(key),
			       fl_name(&fl_selector_op_names, (int)op), many ? "at least one value" : "one value");
	for (uint32_t i = 0; i < values.len; i++)
		if (fl_name_check(FL_NAME_VALUE, "label value", values.at[i], err) < 0)
			return fl_wrap(err, "selector for '%.*s'", FL_ARG(key));
	if ((op == FL_SELECTOR_GREATER || op == FL_SELECTOR_LESS) && !fl_str_i64(values.at[0], &number))
		return fl_fail(err, FL_E_INVALID, "selector for '%.*s': %s needs an integer, not '%.*s'", FL_ARG(key),
			       fl_name(&fl_selector_op_names, (int)op), FL_ARG(values.at[0]));
	return 0;
}

int fl_selector_add(struct fl_selector *selector, struct fl_str key, enum fl_selector_op op, struct fl_str_list values,
		    struct fl_err *err)
{
	int r = fl_name_check(FL_NAME_QUALIFIED, "label key", key, err);

	if (r == 0)
		r = check_values(key, op, values, err);
	if (r < 0)
		return r;
	if (selector->len == selector->cap)
		return fl_fail(err, FL_E_TOOBIG, "a selector has more than its %u requirements", selector->cap);
	if (values.len > 1)
		qsort(values.at, values.len, sizeof *values.at, by_text);
	selector->at[selector->len++] = (struct fl_requirement){ .key = key, .op = op, .values = values };
	return 0;
}

void fl_selector_close(struct fl_selector *selector)
{
	struct fl_requirement *at = selector->at;

	/* Few, and mostly in order; those of one key stay as they were written. */
	for (uint32_t i = 1; i < selector->len; i++) {
		struct fl_requirement one = at[i];
		uint32_t k = i;

		for (; k && fl_str_cmp(at[k - 1].key, one.key) > 0; k--)
			at[k] = at[k - 1];
		at[k] = one;
	}
}

static const struct fl_str *find(struct fl_map map, struct fl_str key)
{
	for (uint32_t i = 0; i < map.len; i++)
		if (fl_str_eq(map.at[i].key, key))
			return &map.at[i].value;
	return NULL;
}

static bool is_among(struct fl_str_list values, const struct fl_str *value)
{
	for (uint32_t i = 0; value && i < values.len; i++)
		if (fl_str_eq(values.at[i], *value))
			return true;
	return false;
}

static bool holds(const struct fl_requirement *want, struct fl_map labels)
{
	const struct fl_str *value = find(labels, want->key);
	int64_t is, limit;

	switch (want->op) {
	case FL_SELECTOR_IS:
	case FL_SELECTOR_IN:
		return is_among(want->values, value);
	case FL_SELECTOR_IS_NOT:
	case FL_SELECTOR_NOT_IN:
		return !is_among(want->values, value);
	case FL_SELECTOR_EXISTS:
		return value != NULL;
	case FL_SELECTOR_NOT_EXISTS:
		return value == NULL;
	case FL_SELECTOR_GREATER:
	case FL_SELECTOR_LESS:
		if (!value || !fl_str_i64(*value, &is) || !fl_str_i64(want->values.at[0], &limit))
			return false;
		return want->op == FL_SELECTOR_GREATER ? is > limit : is < limit;
	case FL_SELECTOR_OP_COUNT_:
		break;
	}
	return false;
}

bool fl_selector_match(const struct fl_selector *selector, struct fl_map labels)
{
	for (uint32_t i = 0; i < selector->len; i++)
		if (!holds(&selector->at[i], labels))
			return false;
	return !selector->nothing;
}

static void print_one(struct fl_buf *buf, const struct fl_requirement *r)
{
	static const char *const sign[] = {
		[FL_SELECTOR_IS] = "=",      [FL_SELECTOR_IS_NOT] = "!=",
		[FL_SELECTOR_IN] = " in (",  [FL_SELECTOR_NOT_IN] = " notin (",
		[FL_SELECTOR_EXISTS] = "",   [FL_SELECTOR_NOT_EXISTS] = "",
		[FL_SELECTOR_GREATER] = ">", [FL_SELECTOR_LESS] = "<",
	};

	if (r->op == FL_SELECTOR_NOT_EXISTS)
		fl_buf_char(buf, '!');
	fl_buf_str(buf, r->key);
	fl_buf_str(buf, fl_str(r->twice ? "==" : sign[r->op]));
	for (uint32_t i = 0; i < r->values.len; i++) {
		if (i)
			fl_buf_char(buf, ',');
		fl_buf_str(buf, r->values.at[i]);
	}
	if (r->op == FL_SELECTOR_IN || r->op == FL_SELECTOR_NOT_IN)
		fl_buf_char(buf, ')');
}

void fl_selector_print(struct fl_buf *buf, const struct fl_selector *selector)
{
	for (uint32_t i = 0; i < selector->len; i++) {
		if (i)
			fl_buf_char(buf, ',');
		print_one(buf, &selector->at[i]);
	}
}

/* ---- from a text ---- */

/* One word of the text: a sign (one or two bytes), an identifier, or nothing at the end. */
struct word {
	struct fl_str s;
	bool sign;
};

struct parser {
	struct fl_arena *arena;
	struct fl_str text;      /* a copy: what is compiled points into it */
	uint32_t at;
	struct word next;        /* what comes, not yet taken */
	struct fl_err *err;
};

static bool is_sign(char c)
{
	return c && strchr("=!(),><", c);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct word take(struct parser *p)
{
	struct word taken = p->next;
	const char *t = p->text.p;
	uint32_t from;

	while (p->at < p->text.len && is_blank(t[p->at]))
		p->at++;
	from = p->at;
	p->next.sign = p->at < p->text.len && is_sign(t[p->at]);
	if (p->next.sign) {
		p->at++;
		/* == and != are the signs of two bytes. */
		p->at += (t[from] == '=' || t[from] == '!') && p->at < p->text.len && t[p->at] == '=';
	} else {
		while (p->at < p->text.len && !is_sign(t[p->at]) && !is_blank(t[p->at]))
			p->at++;
	}
	p->next.s = fl_str_sub(p->text, from, p->at - from);
	return taken;
}

static bool is(struct word w, const char *sign)
{
	return w.sign && fl_str_eq(w.s, fl_str(sign));
}

static bool is_end(struct word w)
{
	return w.s.len == 0;
}

static bool is_name(struct word w)
{
	return !w.sign && w.s.len;
}

static int expected(struct parser *p, struct word found, const char *what)
{
	if (is_end(found))
		return fl_fail(p->err, FL_E_INVALID, "selector '%.*s': it ends where %s should stand", FL_ARG(p->text),
			       what);
	return fl_fail(p->err, FL_E_INVALID, "selector '%.*s': '%.*s' stands where %s should", FL_ARG(p->text),
		       FL_ARG(found.s), what);
}

/* (x,y,z): each value once; between commas and brackets nothing is the empty value. */
static int take_values(struct parser *p, struct fl_str_list *ret)
{
	uint32_t room = 2;
	bool value_before = false;
	struct word w = take(p);

	if (!is(w, "("))
		return expected(p, w, "'('");
	for (uint32_t i = p->at; i < p->text.len && p->text.p[i] != ')'; i++)
		room += p->text.p[i] == ',';
	ret->at = fl_arena_get_n(p->arena, room, sizeof *ret->at);
	ret->len = 0;
	if (!ret->at)
		return fl_fail(p->err, FL_E_NOMEM, "selector: out of memory");
	for (w = take(p);; w = take(p)) {
		if (is_name(w) && !value_before) {
			ret->at[ret->len++] = w.s;
			value_before = true;
			continue;
		}
		if (!is(w, ",") && !is(w, ")"))
			return expected(p, w, value_before ? "',' or ')'" : "a value, ',' or ')'");
		if (!value_before)
			ret->at[ret->len++] = FL_S("");
		value_before = false;
		if (is(w, ")"))
			break;
	}
	qsort(ret->at, ret->len, sizeof *ret->at, by_text);
	room = 0;
	for (uint32_t i = 0; i < ret->len; i++)
		if (i == 0 || !fl_str_eq(ret->at[i], ret->at[room - 1]))
			ret->at[room++] = ret->at[i];
	ret->len = room;
	return 0;
}

/* What follows =, !=, > and <: one value, or nothing, which is the empty one. */
static int take_value(struct parser *p, struct fl_str_list *ret)
{
	ret->at = fl_arena_get(p->arena, sizeof *ret->at);
	ret->len = 1;
	if (!ret->at)
		return fl_fail(p->err, FL_E_NOMEM, "selector: out of memory");
	if (is_end(p->next) || is(p->next, ","))
		return 0;
	if (!is_name(p->next))
		return expected(p, p->next, "a value");
	ret->at[0] = take(p).s;
	return 0;
}

static int take_requirement(struct parser *p, struct fl_selector *selector)
{
	static const struct {
		const char *word;
		enum fl_selector_op op;
	} ops[] = {
		{ "=", FL_SELECTOR_IS },         { "==", FL_SELECTOR_IS },  { "!=", FL_SELECTOR_IS_NOT },
		{ ">", FL_SELECTOR_GREATER },    { "<", FL_SELECTOR_LESS }, { "in", FL_SELECTOR_IN },
		{ "notin", FL_SELECTOR_NOT_IN },
	};
	struct fl_str_list values = { 0 };
	bool is_not = is(p->next, "!");
	struct word key, op;
	uint32_t i = 0;
	int r;

	if (is_not)
		(void)take(p);
	key = take(p);
	if (!is_name(key))
		return expected(p, key, "a label key");
	if (is_not || is_end(p->next) || is(p->next, ","))
		return fl_selector_add(selector, key.s, is_not ? FL_SELECTOR_NOT_EXISTS : FL_SELECTOR_EXISTS, values,
				       p->err);
	op = take(p);
	while (i < FL_LEN(ops) && !fl_str_eq(op.s, fl_str(ops[i].word)))
		i++;
	if (i == FL_LEN(ops))
		return expected(p, op, "one of = == != > < in notin");
	r = ops[i].op == FL_SELECTOR_IN || ops[i].op == FL_SELECTOR_NOT_IN ? take_values(p, &values)
									   : take_value(p, &values);
	if (r == 0)
		r = fl_selector_add(selector, key.s, ops[i].op, values, p->err);
	if (r == 0)
		selector->at[selector->len - 1].twice = i == 1;
	return r;
}

int fl_selector_parse(struct fl_arena *arena, struct fl_str text, struct fl_selector *ret, struct fl_err *err)
{
	struct parser p = { .arena = arena, .err = err };
	struct fl_selector selector;
	uint32_t cap = 1;
	int r;

	if (text.len > FL_SELECTOR_MAX)
		return fl_fail(err, FL_E_TOOBIG, "a selector of %u bytes is over the limit of %llu", text.len,
			       FL_SELECTOR_MAX);
	p.text = fl_arena_str(arena, text);
	if (!p.text.p)
		return fl_fail(err, FL_E_NOMEM, "selector: out of memory");
	for (uint32_t i = 0; i < text.len; i++)
		cap += text.p[i] == ',';
	r = fl_selector_begin(arena, cap, &selector, err);
	if (r < 0)
		return r;
	(void)take(&p);
	while (!is_end(p.next)) {
		r = take_requirement(&p, &selector);
		if (r < 0)
			return r;
		if (is_end(p.next))
			break;
		if (!is(p.next, ","))
			return expected(&p, p.next, "',' or the end");
		(void)take(&p);
		if (is_end(p.next))
			return expected(&p, p.next, "another requirement");
	}
	fl_selector_close(&selector);
	*ret = selector;
	return 0;
}

/* ---- from a LabelSelector ---- */

static int bad_shape(struct fl_err *err, const char *where, const yyjson_val *val, const char *want)
{
	return fl_fail(err, FL_E_INVALID, "%s should be %s, but is %s", where, want, fl_json_kind(val));
}

static int add_label(struct fl_arena *arena, struct fl_selector *selector, yyjson_val *key, yyjson_val *val,
		     struct fl_err *err)
{
	struct fl_str_list values = { fl_arena_get(arena, sizeof(struct fl_str)), 1 };
	struct fl_str name;

	if (!values.at)
		return fl_fail(err, FL_E_NOMEM, "selector: out of memory");
	if (!fl_json_str(val, &values.at[0]) || !fl_json_str(key, &name))
		return bad_shape(err, "a value in matchLabels", val, "a text");
	return fl_selector_add(selector, name, FL_SELECTOR_IS, values, err);
}

static int add_expression(struct fl_arena *arena, struct fl_selector *selector, yyjson_val *val, struct fl_err *err)
{
	yyjson_val *list = fl_json_get(val, FL_S("values")), *item;
	struct fl_str_list values = { NULL, 0 };
	struct fl_str key = { NULL, 0 }, op = { NULL, 0 };
	yyjson_arr_iter iter;
	int number;

	(void)fl_json_str(fl_json_get(val, FL_S("key")), &key);
	(void)fl_json_str(fl_json_get(val, FL_S("operator")), &op);
	number = fl_name_find(&fl_selector_op_names, op);
	if (number < FL_SELECTOR_IN || number > FL_SELECTOR_NOT_EXISTS)
		return fl_fail(err, FL_E_INVALID,
			       "selector for '%.*s': operator '%.*s' is none of In, NotIn, Exists, DoesNotExist",
			       FL_ARG(key), FL_ARG(op));
	if (list && !yyjson_is_null(list) && !yyjson_is_arr(list))
		return bad_shape(err, "values in matchExpressions", list, "a list of texts");
	values.at = fl_arena_get_n(arena, yyjson_arr_size(list), sizeof *values.at);
	if (!values.at)
		return fl_fail(err, FL_E_NOMEM, "selector: out of memory");
	iter = yyjson_arr_iter_with(list);
	while ((item = yyjson_arr_iter_next(&iter)) != NULL)
		if (!fl_json_str(item, &values.at[values.len++]))
			return bad_shape(err, "a value in matchExpressions", item, "a text");
	return fl_selector_add(selector, key, (enum fl_selector_op)number, values, err);
}

int fl_selector_of_json(struct fl_arena *arena, yyjson_val *val, struct fl_selector *ret, struct fl_err *err)
{
	yyjson_val *labels = fl_json_get(val, FL_S("matchLabels")),
		   *expressions = fl_json_get(val, FL_S("matchExpressions"));
	yyjson_obj_iter pairs = yyjson_obj_iter_with(labels);
	yyjson_arr_iter items = yyjson_arr_iter_with(expressions);
	struct fl_selector selector;
	yyjson_val *item;
	int r;

	if (!val || yyjson_is_null(val)) {
		*ret = (struct fl_selector){ .nothing = true };
		return 0;
	}
	if (!yyjson_is_obj(val))
		return bad_shape(err, "a label selector", val, "an object");
	if (labels && !yyjson_is_null(labels) && !yyjson_is_obj(labels))
		return bad_shape(err, "matchLabels", labels, "an object");
	if (expressions && !yyjson_is_null(expressions) && !yyjson_is_arr(expressions))
		return bad_shape(err, "matchExpressions", expressions, "a list");
	if (yyjson_obj_size(labels) + yyjson_arr_size(expressions) > FL_SELECTOR_MAX)
		return fl_fail(err, FL_E_TOOBIG, "a label selector has over %llu requirements", FL_SELECTOR_MAX);
	r = fl_selector_begin(arena, (uint32_t)(yyjson_obj_size(labels) + yyjson_arr_size(expressions)), &selector,
			      err);
	while (r == 0 && (item = yyjson_obj_iter_next(&pairs)) != NULL)
		r = add_label(arena, &selector, item, yyjson_obj_iter_get_val(item), err);
	while (r == 0 && (item = yyjson_arr_iter_next(&items)) != NULL)
		r = add_expression(arena, &selector, item, err);
	if (r < 0)
		return r;
	fl_selector_close(&selector);
	*ret = selector;
	return 0;
}
