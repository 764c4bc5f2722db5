#include "json/yaml_word.h"
#include "base/chars.h"
#include "base/mem.h"
#include <math.h>
#include <stdlib.h>

#define LONGEST_NUMBER 400   /* a double has at most 309 digits before its point */

static const struct {
	struct fl_str text;
	enum fl_word word;
	bool truth;
	double f;
} words[] = {
	{ FL_S_INIT(""), FL_WORD_NULL },
	{ FL_S_INIT("~"), FL_WORD_NULL },
	{ FL_S_INIT("null"), FL_WORD_NULL },
	{ FL_S_INIT("Null"), FL_WORD_NULL },
	{ FL_S_INIT("NULL"), FL_WORD_NULL },
	{ FL_S_INIT("true"), FL_WORD_BOOL, true },
	{ FL_S_INIT("True"), FL_WORD_BOOL, true },
	{ FL_S_INIT("TRUE"), FL_WORD_BOOL, true },
	{ FL_S_INIT("y"), FL_WORD_BOOL, true },
	{ FL_S_INIT("Y"), FL_WORD_BOOL, true },
	{ FL_S_INIT("yes"), FL_WORD_BOOL, true },
	{ FL_S_INIT("Yes"), FL_WORD_BOOL, true },
	{ FL_S_INIT("YES"), FL_WORD_BOOL, true },
	{ FL_S_INIT("on"), FL_WORD_BOOL, true },
	{ FL_S_INIT("On"), FL_WORD_BOOL, true },
	{ FL_S_INIT("ON"), FL_WORD_BOOL, true },
	{ FL_S_INIT("false"), FL_WORD_BOOL },
	{ FL_S_INIT("False"), FL_WORD_BOOL },
	{ FL_S_INIT("FALSE"), FL_WORD_BOOL },
	{ FL_S_INIT("n"), FL_WORD_BOOL },
	{ FL_S_INIT("N"), FL_WORD_BOOL },
	{ FL_S_INIT("no"), FL_WORD_BOOL },
	{ FL_S_INIT("No"), FL_WORD_BOOL },
	{ FL_S_INIT("NO"), FL_WORD_BOOL },
	{ FL_S_INIT("off"), FL_WORD_BOOL },
	{ FL_S_INIT("Off"), FL_WORD_BOOL },
	{ FL_S_INIT("OFF"), FL_WORD_BOOL },
	{ FL_S_INIT("<<"), FL_WORD_MERGE },
	{ FL_S_INIT(".nan"), FL_WORD_FLOAT, false, NAN },
	{ FL_S_INIT(".NaN"), FL_WORD_FLOAT, false, NAN },
	{ FL_S_INIT(".NAN"), FL_WORD_FLOAT, false, NAN },
	{ FL_S_INIT(".inf"), FL_WORD_FLOAT, false, INFINITY },
	{ FL_S_INIT(".Inf"), FL_WORD_FLOAT, false, INFINITY },
	{ FL_S_INIT(".INF"), FL_WORD_FLOAT, false, INFINITY },
	{ FL_S_INIT("+.inf"), FL_WORD_FLOAT, false, INFINITY },
	{ FL_S_INIT("+.Inf"), FL_WORD_FLOAT, false, INFINITY },
	{ FL_S_INIT("+.INF"), FL_WORD_FLOAT, false, INFINITY },
	{ FL_S_INIT("-.inf"), FL_WORD_FLOAT, false, -INFINITY },
	{ FL_S_INIT("-.Inf"), FL_WORD_FLOAT, false, -INFINITY },
	{ FL_S_INIT("-.INF"), FL_WORD_FLOAT, false, -INFINITY },
};

/* Decimal, 0x, 0o, 0b, or octal behind a zero, with or without a sign. */
static bool is_integer(const char *p, enum fl_word *word, struct fl_word_value *ret)
{
	bool sign = *p == '-' || *p == '+', negative = *p == '-';
	uint64_t value = 0;
	unsigned base = 10;

	p += sign;
	if (p[0] == '0' && p[1]) {
		char c = (char)(p[1] | 0x20);

		base = !p[2] ? 8 : c == 'x' ? 16 : c == 'b' ? 2 : 8;
		p += p[2] && (c == 'x' || c == 'b' || c == 'o') ? 2 : 1;
	}
	if (!*p)
		return false;
	for (; *p; p++) {
		int digit = fl_hex_digit(*p);

		if (digit < 0 || digit >= (int)base || __builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return false;
	}
	if (value > (uint64_t)INT64_MAX + negative) {
		ret->u = value;
		*word = FL_WORD_UINT;
		return !sign;
	}
	ret->i = negative ? (int64_t)(0 - value) : (int64_t)value;
	*word = FL_WORD_INT;
	return true;
}

/* [-+] digits [. digits] [e [-+] digits], with a digit before or behind the point. */
static bool is_float(const char *p, double *ret)
{
	const char *from = p;
	bool digits = false;

	p += *p == '-' || *p == '+';
	for (; fl_is_digit(*p); p++)
		digits = true;
	p += *p == '.';
	for (; fl_is_digit(*p); p++)
		digits = true;
	if (!digits)
		return false;
	if (*p == 'e' || *p == 'E') {
		p++;
		p += *p == '-' || *p == '+';
		if (!fl_is_digit(*p))
			return false;
		while (fl_is_digit(*p))
			p++;
	}
	if (*p)
		return false;
	*ret = strtod(from, NULL);
	return isfinite(*ret);
}

enum fl_word fl_word(struct fl_str text, struct fl_word_value *ret)
{
	char plain[LONGEST_NUMBER + 1];
	enum fl_word word;
	uint32_t len = 0;

	for (size_t i = 0; i < FL_LEN(words); i++) {
		if (!fl_str_eq(text, words[i].text))
			continue;
		ret->truth = words[i].truth;
		ret->f = words[i].f;
		return words[i].word;
	}
	if (text.len > LONGEST_NUMBER || !(fl_is_digit(text.p[0]) || strchr("+-.", text.p[0])) ||
	    memchr(text.p, 0, text.len))
		return FL_WORD_TEXT;
	for (uint32_t i = 0; i < text.len; i++) {
		if (text.p[i] != '_')
			plain[len++] = text.p[i];
		else if (text.p[0] == '.' &&
			 !(fl_is_digit(text.p[i - 1]) && i + 1 < text.len && fl_is_digit(text.p[i + 1])))
			return FL_WORD_TEXT;   /* as in Go: 1__0_ is a number, ._5 is none */
	}
	plain[len] = 0;
	if (text.p[0] != '.' && is_integer(plain, &word, ret))
		return word;
	return is_float(plain, &ret->f) ? FL_WORD_FLOAT : FL_WORD_TEXT;
}

/* A number of one or more digits off the front, at most `most` of them. */
static bool take_number(struct fl_str *s, uint32_t least, uint32_t most)
{
	uint32_t i = 0;

	while (i < s->len && i < most && fl_is_digit(s->p[i]))
		i++;
	*s = fl_str_sub(*s, i, s->len);
	return i >= least;
}

static bool take_one(struct fl_str *s, const char *of)
{
	if (s->len == 0 || !s->p[0] || !strchr(of, s->p[0]))
		return false;
	*s = fl_str_sub(*s, 1, s->len);
	return true;
}

bool fl_word_is_base60(struct fl_str text)
{
	bool parts = false;

	(void)take_one(&text, "+-");
	if (!text.len || !fl_is_digit(text.p[0]))
		return false;
	while (text.len && (fl_is_digit(text.p[0]) || text.p[0] == '_'))
		text = fl_str_sub(text, 1, text.len);
	while (take_one(&text, ":")) {
		parts = true;
		if (!take_number(&text, 1, 2))
			return false;
	}
	if (take_one(&text, "."))
		while (text.len && (fl_is_digit(text.p[0]) || text.p[0] == '_'))
			text = fl_str_sub(text, 1, text.len);
	return parts && text.len == 0;
}
