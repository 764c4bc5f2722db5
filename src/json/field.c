#include "base/limits.h"
#include "json/selector.h"
#include <stdlib.h>

static int by_text(const void *a, const void *b)
{
	return fl_str_cmp(*(const struct fl_str *)a, *(const struct fl_str *)b);
}

/* Take what stands before the next comma that has no backslash before it off the front. */
static struct fl_str take_term(struct fl_str *rest)
{
	bool escaped = false;
	uint32_t i = 0;
	struct fl_str term;

	for (; i < rest->len && (escaped || rest->p[i] != ','); i++)
		escaped = !escaped && rest->p[i] == '\\';
	term = fl_str_sub(*rest, 0, i);
	*rest = i < rest->len ? fl_str_sub(*rest, i + 1, rest->len) : (struct fl_str){ NULL, 0 };
	return term;
}

/* In place; false when a backslash stands before nothing that needs one, or is missing. */
static bool unescape(struct fl_str *value, char *p)
{
	uint32_t out = 0;

	for (uint32_t i = 0; i < value->len; i++) {
		if (p[i] == ',' || p[i] == '=')
			return false;
		if (p[i] == '\\') {
			i++;
			if (i == value->len || (p[i] != '\\' && p[i] != ',' && p[i] != '='))
				return false;
		}
		p[out++] = p[i];
	}
	value->len = out;
	return true;
}

static int parse_term(struct fl_str term, struct fl_field_term *ret, struct fl_err *err)
{
	const char *p = term.p;
	uint32_t i = 0, sign = 1;

	while (i < term.len && p[i] != '=' && !(p[i] == '!' && i + 1 < term.len && p[i + 1] == '='))
		i++;
	if (i == term.len)
		return fl_fail(err, FL_E_INVALID, "field selector '%.*s': write FIELD=VALUE or FIELD!=VALUE",
			       FL_ARG(term));
	ret->is_not = p[i] == '!';
	sign += ret->is_not || (i + 1 < term.len && p[i + 1] == '=');
	ret->field = fl_str_sub(term, 0, i);
	ret->value = fl_str_sub(term, i + sign, term.len);
	if (!unescape(&ret->value, (char *)(uintptr_t)ret->value.p))
		return fl_fail(err, FL_E_INVALID,
			       "field selector for '%.*s': in a value, a backslash stands before a comma, an equals "
			       "sign and a backslash, and before nothing else",
			       FL_ARG(ret->field));
	return 0;
}

int fl_field_selector_parse(struct fl_arena *arena, struct fl_str text, struct fl_field_selector *ret,
			    struct fl_err *err)
{
	struct fl_field_selector selector = { 0 };
	struct fl_str *terms, rest;
	uint32_t count = 0, cap = 1;

	if (text.len > FL_SELECTOR_MAX)
		return fl_fail(err, FL_E_TOOBIG, "a selector of %u bytes is over the limit of %llu", text.len,
			       FL_SELECTOR_MAX);
	for (uint32_t i = 0; i < text.len; i++)
		cap += text.p[i] == ',';
	terms = fl_arena_get_n(arena, cap, sizeof *terms);
	selector.at = fl_arena_get_n(arena, cap, sizeof *selector.at);
	rest = fl_arena_str(arena, text);
	if (!terms || !selector.at || !rest.p)
		return fl_fail(err, FL_E_NOMEM, "field selector: out of memory");
	while (rest.p)
		terms[count++] = take_term(&rest);
	qsort(terms, count, sizeof *terms, by_text);
	for (uint32_t i = 0; i < count; i++) {
		struct fl_field_term *term = &selector.at[selector.len];
		int r = terms[i].len ? parse_term(terms[i], term, err) : 0;

		if (r < 0)
			return r;
		/* As Kubernetes: "=" alone says nothing. */
		selector.len += terms[i].len && (term->field.len || term->value.len);
	}
	*ret = selector;
	return 0;
}

bool fl_field_selector_match(const struct fl_field_selector *selector, struct fl_map fields)
{
	for (uint32_t i = 0; i < selector->len; i++) {
		const struct fl_field_term *term = &selector->at[i];
		struct fl_str value = FL_S("");

		for (uint32_t k = 0; k < fields.len; k++)
			if (fl_str_eq(fields.at[k].key, term->field))
				value = fields.at[k].value;
		if (fl_str_eq(value, term->value) == term->is_not)
			return false;
	}
	return true;
}

void fl_field_selector_print(struct fl_buf *buf, const struct fl_field_selector *selector)
{
	for (uint32_t i = 0; i < selector->len; i++) {
		const struct fl_field_term *term = &selector->at[i];

		if (i)
			fl_buf_char(buf, ',');
		fl_buf_str(buf, term->field);
		fl_buf_str(buf, term->is_not ? FL_S("!=") : FL_S("="));
		for (uint32_t k = 0; k < term->value.len; k++) {
			if (term->value.p[k] && strchr("\\,=", term->value.p[k]))
				fl_buf_char(buf, '\\');
			fl_buf_char(buf, term->value.p[k]);
		}
	}
}
