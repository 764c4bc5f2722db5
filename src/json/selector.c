#include "json/selector.h"
#include "base/chars.h"
#include "json/name.h"

FL_NAMES(fl_selector_op_names, FL_SELECTOR_OP_COUNT_,
	 [FL_SELECTOR_IN] = "In", [FL_SELECTOR_NOT_IN] = "NotIn", [FL_SELECTOR_EXISTS] = "Exists",
	 [FL_SELECTOR_NOT_EXISTS] = "DoesNotExist", [FL_SELECTOR_GREATER] = "Gt", [FL_SELECTOR_LESS] = "Lt");

/* ---- one requirement ---- */

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
		if (fl_name_check(FL_NAME_VALUE, "label value", values.at[i], err) < 0) {
			(void)fl_wrap(err, "selector for '%.*s'", FL_ARG(key));
			return -FL_E_INVALID;   /* also where nobody asks why */
		}
	if ((op == FL_SELECTOR_GREATER || op == FL_SELECTOR_LESS) && !fl_str_i64(values.at[0], &number))
		return fl_fail(err, FL_E_INVALID, "selector for '%.*s': %s needs an integer, not '%.*s'", FL_ARG(key),
			       fl_name(&fl_selector_op_names, (int)op), FL_ARG(values.at[0]));
	return 0;
}

int fl_requirement_check(const struct fl_requirement *requirement, struct fl_err *err)
{
	int r = fl_name_check(FL_NAME_QUALIFIED, "label key", requirement->key, err);

	return r < 0 ? r : check_values(requirement->key, requirement->op, requirement->values, err);
}

static const struct fl_str *find_label(struct fl_map map, struct fl_str key)
{
	for (uint32_t i = 0; i < map.len; i++)
		if (fl_str_eq(map.at[i].key, key))
			return &map.at[i].value;
	return NULL;
}

static bool is_among(struct fl_str_list values, const struct fl_str *value)
{
	return value && fl_str_in(values.at, values.len, *value);
}

bool fl_requirement_holds(const struct fl_requirement *want, struct fl_map labels)
{
	const struct fl_str *value = find_label(labels, want->key);
	int64_t is, limit;

	if (fl_requirement_check(want, NULL) < 0)
		return false;
	switch (want->op) {
	case FL_SELECTOR_IN:
		return is_among(want->values, value);
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
		if (!fl_requirement_holds(&selector->at[i], labels))
			return false;
	return true;
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

static struct word take_word(struct parser *p)
{
	struct word taken = p->next;
	const char *t = p->text.p;
	uint32_t from;

	while (p->at < p->text.len && fl_is_blank(t[p->at]))
		p->at++;
	from = p->at;
	p->next.sign = p->at < p->text.len && is_sign(t[p->at]);
	if (p->next.sign) {
		p->at++;
		/* == and != are the signs of two bytes. */
		p->at += (t[from] == '=' || t[from] == '!') && p->at < p->text.len && t[p->at] == '=';
	} else {
		while (p->at < p->text.len && !is_sign(t[p->at]) && !fl_is_blank(t[p->at]))
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

/* (x,y,z): between commas and brackets nothing is the empty value. */
static int take_values(struct parser *p, struct fl_str_list *ret)
{
	uint32_t room = 2;
	bool value_before = false;
	struct word w = take_word(p);

	if (!is(w, "("))
		return expected(p, w, "'('");
	for (uint32_t i = p->at; i < p->text.len && p->text.p[i] != ')'; i++)
		room += p->text.p[i] == ',';
	ret->at = fl_arena_get_n(p->arena, room, sizeof *ret->at);
	ret->len = 0;
	if (!ret->at)
		return fl_fail(p->err, FL_E_NOMEM, "selector: out of memory");
	for (w = take_word(p);; w = take_word(p)) {
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
	ret->at[0] = take_word(p).s;
	return 0;
}

/* key, !key, or key, operator and what belongs to it. */
static int take_requirement(struct parser *p, struct fl_requirement *ret)
{
	static const struct {
		const char *word;
		enum fl_selector_op op;
		bool list;
	} ops[] = {
		{ "=", FL_SELECTOR_IN, false },    { "==", FL_SELECTOR_IN, false },
		{ ">", FL_SELECTOR_GREATER, false }, { "!=", FL_SELECTOR_NOT_IN, false },
		{ "<", FL_SELECTOR_LESS, false },  { "in", FL_SELECTOR_IN, true },
		{ "notin", FL_SELECTOR_NOT_IN, true },
	};
	bool is_not = is(p->next, "!");
	struct word key, op;
	uint32_t i = 0;
	int r = 0;

	if (is_not)
		(void)take_word(p);
	key = take_word(p);
	if (!is_name(key))
		return expected(p, key, "a label key");
	*ret = (struct fl_requirement){ .key = key.s, .op = is_not ? FL_SELECTOR_NOT_EXISTS : FL_SELECTOR_EXISTS };
	if (!is_not && !is_end(p->next) && !is(p->next, ",")) {
		op = take_word(p);
		while (i < FL_LEN(ops) && !fl_str_eq(op.s, fl_str(ops[i].word)))
			i++;
		if (i == FL_LEN(ops))
			return expected(p, op, "one of = == != > < in notin");
		ret->op = ops[i].op;
		r = ops[i].list ? take_values(p, &ret->values) : take_value(p, &ret->values);
	}
	return r < 0 ? r : fl_requirement_check(ret, p->err);
}

int fl_selector_parse(struct fl_arena *arena, struct fl_str text, struct fl_selector *ret, struct fl_err *err)
{
	struct parser p = { .arena = arena, .err = err };
	struct fl_selector selector = { 0 };
	uint32_t most = 1;

	if (text.len > FL_SELECTOR_MAX)
		return fl_fail(err, FL_E_TOOBIG, "a selector of %u bytes is over the limit of %llu", text.len,
			       FL_SELECTOR_MAX);
	p.text = fl_arena_str(arena, text);
	for (uint32_t i = 0; i < text.len; i++)
		most += text.p[i] == ',';
	selector.at = fl_arena_get_n(arena, most, sizeof *selector.at);
	if (!p.text.p || !selector.at)
		return fl_fail(err, FL_E_NOMEM, "selector: out of memory");
	(void)take_word(&p);
	while (!is_end(p.next)) {
		int r = take_requirement(&p, &selector.at[selector.len++]);

		if (r < 0)
			return r;
		if (is_end(p.next))
			break;
		if (!is(p.next, ","))
			return expected(&p, p.next, "',' or the end");
		(void)take_word(&p);
		if (is_end(p.next))
			return expected(&p, p.next, "another requirement");
	}
	*ret = selector;
	return 0;
}
