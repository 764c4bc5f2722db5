/* Patterns of Go, as POSIX extended ones. */
#include "local/schema_in.h"

struct translator {
	struct fl_str rest;
	struct fl_buf *out;
	bool ok;
};

/* Bytes that a bracket or a class stands for. */
struct set {
	bool has[128];
};

static char next(struct translator *t)
{
	char c = t->rest.len ? t->rest.p[0] : 0;

	t->ok &= t->rest.len > 0;
	t->rest = fl_str_sub(t->rest, 1, t->rest.len);
	return c;
}

static char peek(const struct translator *t)
{
	return t->rest.len ? t->rest.p[0] : 0;
}

static void add_range(struct set *set, int from, int to)
{
	for (int c = from; c <= to; c++)
		set->has[c] = true;
}

static void invert(struct set *set)
{
	for (int c = 1; c < 128; c++)
		set->has[c] = !set->has[c];
}

/* \d, \w, \s and their opposites: false for any other letter. */
static bool add_class(struct set *set, char letter)
{
	struct set one = { { false } };

	switch (letter | 0x20) {
	case 'd':
		add_range(&one, '0', '9');
		break;
	case 'w':
		add_range(&one, '0', '9');
		add_range(&one, 'A', 'Z');
		add_range(&one, 'a', 'z');
		one.has['_'] = true;
		break;
	case 's':
		one.has['\t'] = one.has['\n'] = one.has['\f'] = one.has['\r'] = one.has[' '] = true;
		break;
	default:
		return false;
	}
	if (letter < 'a')
		invert(&one);
	for (int c = 1; c < 128; c++)
		set->has[c] |= one.has[c];
	return true;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The character of an escape that stands for one; 0: it has no equal. */
static char escaped(char c)
{
	static const char names[] = "tnrfva", values[] = "\t\n\r\f\v\a";
	const char *at = c ? strchr(names, c) : NULL;

	if (at)
		return values[at - names];
	return is_letter(c) || (c >= '0' && c <= '9') || (c & 0x80) ? 0 : c;
}

static void put_plain(struct fl_buf *out, char c)
{
	if (strchr("\\^$.[|()*+?{", c))
		fl_buf_char(out, '\\');
	fl_buf_char(out, c);
}

/* As a bracket: a closing bracket first, a hyphen last, and an opening one and a caret where they mean nothing. */
static void put_set(struct translator *t, const struct set *set, bool other)
{
	bool any = false;

	fl_buf_str(t->out, other ? FL_S("[^") : FL_S("["));
	if (set->has[']'])
		fl_buf_char(t->out, ']');
	for (int c = 1; c < 128; c++) {
		any |= set->has[c];
		if (set->has[c] && !strchr("][^-", c))
			fl_buf_char(t->out, (char)c);
	}
	if (set->has['['])
		fl_buf_char(t->out, '[');
	if (set->has['^']) {
		/* Alone it would invert: [.^.] is a caret wherever it stands. */
		fl_buf_str(t->out, FL_S("[.^.]"));
	}
	if (set->has['-'])
		fl_buf_char(t->out, '-');
	fl_buf_char(t->out, ']');
	t->ok &= any;
}

static const struct {
	struct fl_str name;
	const char *ranges;
} named[] = {
	{ FL_S_INIT("[:alnum:]"), "09AZaz" }, { FL_S_INIT("[:alpha:]"), "AZaz" }, { FL_S_INIT("[:digit:]"), "09" },
	{ FL_S_INIT("[:lower:]"), "az" },     { FL_S_INIT("[:upper:]"), "AZ" },   { FL_S_INIT("[:xdigit:]"), "09AFaf" },
	{ FL_S_INIT("[:space:]"), "\t\r  " }, { FL_S_INIT("[:punct:]"), "!/:@[`{~" },
	{ FL_S_INIT("[:word:]"), "09AZaz__" },
};

static bool add_named(struct translator *t, struct set *set)
{
	for (size_t i = 0; i < FL_LEN(named); i++) {
		if (!fl_str_starts(t->rest, named[i].name))
			continue;
		for (const char *range = named[i].ranges; *range; range += 2)
			add_range(set, range[0], range[1]);
		t->rest = fl_str_sub(t->rest, named[i].name.len, t->rest.len);
		return true;
	}
	return false;
}

/* One character of a bracket, escaped or not; 0: it was a class, or has no equal. */
static char bracket_char(struct translator *t, struct set *set)
{
	char c = next(t);

	if (c != '\\') {
		t->ok &= !(c & 0x80);
		return t->ok ? c : 0;
	}
	c = next(t);
	if (add_class(set, c))
		return 0;
	c = escaped(c);
	t->ok &= c != 0;
	return c;
}

static void bracket(struct translator *t)
{
	struct set set = { { false } };
	bool other = peek(t) == '^', first = true;
	char from, to;

	if (other)
		(void)next(t);
	while (t->ok && (first || peek(t) != ']')) {
		first = false;
		if (add_named(t, &set))
			continue;
		from = bracket_char(t, &set);
		if (!from)
			continue;
		to = from;
		if (peek(t) == '-' && t->rest.len > 1 && t->rest.p[1] != ']') {
			(void)next(t);
			to = bracket_char(t, &set);
			t->ok &= to >= from;
		}
		if (t->ok)
			add_range(&set, from, to);
	}
	(void)next(t);
	if (t->ok)
		put_set(t, &set, other);
}

static void escape(struct translator *t)
{
	struct set set = { { false } };
	char c = next(t), plain = escaped(c);

	if (c == 'A' || c == 'z')
		fl_buf_char(t->out, c == 'A' ? '^' : '$');
	else if (add_class(&set, (char)(c | 0x20)))
		put_set(t, &set, c < 'a');
	else if (plain)
		put_plain(t->out, plain);
	else
		t->ok = false;
}

/* "(?:" and "(?P<name>" only group. */
static void group(struct translator *t)
{
	fl_buf_char(t->out, '(');
	if (peek(t) != '?')
		return;
	(void)next(t);
	if (fl_str_starts(t->rest, FL_S("P<")) || peek(t) == '<') {
		while (t->ok && next(t) != '>')
			;
		return;
	}
	t->ok &= next(t) == ':';
}

/* {2}, {2,} or {2,3}: what is none of these stands for itself. */
static bool is_count(struct fl_str rest)
{
	uint32_t i = 0, digits = 0;

	for (; i < rest.len && rest.p[i] >= '0' && rest.p[i] <= '9'; i++)
		digits++;
	if (i < rest.len && rest.p[i] == ',')
		for (i++; i < rest.len && rest.p[i] >= '0' && rest.p[i] <= '9'; i++)
			;
	return digits && i < rest.len && rest.p[i] == '}';
}

static void count(struct translator *t)
{
	if (!is_count(t->rest)) {
		fl_buf_str(t->out, FL_S("\\{"));
		return;
	}
	fl_buf_char(t->out, '{');
	while (peek(t) != '}')
		fl_buf_char(t->out, next(t));
	fl_buf_char(t->out, next(t));
	if (peek(t) == '?')
		(void)next(t);
}

bool fl_pattern_translate(struct fl_str pattern, struct fl_buf *posix)
{
	struct translator t = { pattern, posix, true };

	while (t.ok && t.rest.len) {
		char c = next(&t);

		switch (c) {
		case '\\':
			escape(&t);
			break;
		case '[':
			bracket(&t);
			break;
		case '(':
			group(&t);
			break;
		case '{':
			count(&t);
			break;
		case '.':
			fl_buf_str(posix, FL_S("[^\n]"));
			break;
		case '*':
		case '+':
		case '?':
			/* A lazy repeat matches the same texts. */
			fl_buf_char(posix, c);
			if (peek(&t) == '?')
				(void)next(&t);
			break;
		case ']':
		case '}':
			put_plain(posix, c);
			break;
		default:
			fl_buf_char(posix, c);
		}
	}
	return t.ok;
}
