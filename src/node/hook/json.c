#include "node/hook/json.h"
#include "base/chars.h"

enum { DEPTH = 64 };

static void skip_blanks(struct fl_str text, uint32_t *at)
{
	while (*at < text.len && strchr(" \t\r\n", text.p[*at]) && text.p[*at])
		++*at;
}

static bool skip_text(struct fl_str text, uint32_t *at)
{
	for (++*at; *at < text.len; ++*at) {
		if (text.p[*at] == '"') {
			++*at;
			return true;
		}
		if (text.p[*at] == '\\')
			++*at;
	}
	return false;
}

/* Past the value that begins at *at: brackets are counted, whatever their kind. */
static bool skip_value(struct fl_str text, uint32_t *at)
{
	uint32_t begin = *at;
	int depth = 0;

	while (*at < text.len) {
		char c = text.p[*at];

		if (c == '"') {
			if (!skip_text(text, at))
				return false;
		} else if (c == '{' || c == '[') {
			if (++depth > DEPTH)
				return false;
			++*at;
			continue;
		} else if (c == '}' || c == ']') {
			if (!depth)
				return *at > begin;
			depth--;
			++*at;
		} else if (!depth && (c == ',' || c == ':' || strchr(" \t\r\n", c))) {
			return *at > begin;
		} else {
			++*at;
			continue;
		}
		if (!depth)
			return true;
	}
	return !depth && *at > begin;
}

/* The value at *at, and the comma after it. */
static bool take(struct fl_str text, uint32_t *at, struct fl_str *ret)
{
	uint32_t begin;

	skip_blanks(text, at);
	begin = *at;
	if (!skip_value(text, at))
		return false;
	*ret = fl_str_sub(text, begin, *at - begin);
	skip_blanks(text, at);
	return true;
}

static bool begins(struct fl_str text, char bracket, uint32_t *at)
{
	*at = 0;
	skip_blanks(text, at);
	return *at < text.len && text.p[(*at)++] == bracket;
}

bool fl_bare_member(struct fl_str object, const char *name, struct fl_str *ret)
{
	struct fl_str key;
	char text[64];
	uint32_t at;

	if (!begins(object, '{', &at))
		return false;
	while (take(object, &at, &key) && at < object.len && object.p[at] == ':') {
		at++;
		if (!take(object, &at, ret))
			return false;
		if (fl_bare_text(key, text, sizeof text) && strcmp(text, name) == 0)
			return true;
		if (at >= object.len || object.p[at] != ',')
			return false;
		at++;
	}
	return false;
}

bool fl_bare_next(struct fl_str array, uint32_t *at, struct fl_str *ret)
{
	if (!*at && !begins(array, '[', at))
		return false;
	if (!take(array, at, ret))
		return false;
	if (*at < array.len && array.p[*at] == ',')
		++*at;
	return true;
}

/* ---- texts ---- */

static bool hex(struct fl_str text, uint32_t at, uint32_t *ret)
{
	*ret = 0;
	for (uint32_t i = at; i < at + 4; i++) {
		int digit = fl_hex_digit(i < text.len ? text.p[i] : '\0');

		if (digit < 0)
			return false;
		*ret = *ret << 4 | (uint32_t)digit;
	}
	return true;
}

/* Bytes of a character, or 0. */
static uint32_t utf8(uint32_t c, char ret[4])
{
	uint32_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (uint32_t i = len; i-- > 1; c >>= 6)
		ret[i] = (char)(0x80 | (c & 0x3f));
	ret[0] = (char)(first[len] | c);
	return len;
}

/* What stands behind a backslash at *at, which is moved behind it; bytes, or 0. */
static uint32_t unescape(struct fl_str text, uint32_t *at, char ret[4])
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char c = *at < text.len ? text.p[*at] : '\0';
	const char *known = c ? strchr(from, c) : NULL;
	uint32_t high, low;

	++*at;
	if (known) {
		ret[0] = to[known - from];
		return 1;
	}
	if (c != 'u' || !hex(text, *at, &high))
		return 0;
	*at += 4;
	if (high >= 0xd800 && high < 0xdc00 && *at + 1 < text.len && text.p[*at] == '\\' && text.p[*at + 1] == 'u' &&
	    hex(text, *at + 2, &low) && low >= 0xdc00 && low < 0xe000) {
		*at += 6;
		high = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
	}
	return high && (high < 0xd800 || high >= 0xe000) ? utf8(high, ret) : 0;
}

bool fl_bare_text(struct fl_str value, char *ret, size_t size)
{
	struct fl_str text;
	size_t len = 0;

	if (value.len < 2 || value.p[0] != '"' || value.p[value.len - 1] != '"')
		return false;
	text = fl_str_sub(value, 1, value.len - 2);
	for (uint32_t at = 0; at < text.len;) {
		char piece[4] = { text.p[at++] };
		uint32_t n = piece[0] == '\\' ? unescape(text, &at, piece) : piece[0] != '\0';

		if (!n || len + n >= size)
			return false;
		memcpy(ret + len, piece, n);
		len += n;
	}
	if (len >= size)
		return false;
	ret[len] = '\0';
	return true;
}
