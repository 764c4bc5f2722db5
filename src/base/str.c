#include "base/str.h"
#include "base/chars.h"

struct fl_str fl_str(const char *terminated)
{
	size_t len = terminated ? strlen(terminated) : 0;

	return (struct fl_str){ terminated, len > UINT32_MAX ? UINT32_MAX : (uint32_t)len };
}

int fl_str_cmp(struct fl_str a, struct fl_str b)
{
	uint32_t common = a.len < b.len ? a.len : b.len;
	int order = common ? memcmp(a.p, b.p, common) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

bool fl_str_starts(struct fl_str s, struct fl_str prefix)
{
	return s.len >= prefix.len && fl_str_eq(fl_str_sub(s, 0, prefix.len), prefix);
}

bool fl_str_ends(struct fl_str s, struct fl_str suffix)
{
	return s.len >= suffix.len && fl_str_eq(fl_str_sub(s, s.len - suffix.len, suffix.len), suffix);
}

int64_t fl_str_find(struct fl_str s, char byte)
{
	const char *at = s.len ? memchr(s.p, byte, s.len) : NULL;

	return at ? at - s.p : -1;
}

struct fl_str fl_str_trim(struct fl_str s)
{
	while (s.len && fl_is_blank(s.p[0]))
		s = fl_str_sub(s, 1, s.len);
	while (s.len && fl_is_blank(s.p[s.len - 1]))
		s.len--;
	return s;
}

bool fl_str_split(struct fl_str *rest, char separator, struct fl_str *ret_part)
{
	int64_t at;

	if (!rest->p)
		return false;
	at = fl_str_find(*rest, separator);
	*ret_part = fl_str_sub(*rest, 0, at < 0 ? rest->len : (uint32_t)at);
	*rest = at < 0 ? (struct fl_str){ NULL, 0 } : fl_str_sub(*rest, (uint32_t)at + 1, rest->len);
	return true;
}

bool fl_str_u64(struct fl_str s, uint64_t *ret)
{
	uint64_t value = 0;

	if (s.len == 0)
		return false;
	for (uint32_t i = 0; i < s.len; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(s.p[i] - '0'), &value))
			return false;
	}
	*ret = value;
	return true;
}

bool fl_str_i64(struct fl_str s, int64_t *ret)
{
	bool negative = s.len && s.p[0] == '-';
	uint64_t size;

	if (!fl_str_u64(negative ? fl_str_sub(s, 1, s.len) : s, &size))
		return false;
	if (size > (uint64_t)INT64_MAX + negative)
		return false;
	*ret = negative ? (int64_t)(0 - size) : (int64_t)size;
	return true;
}

/* Bytes of the UTF-8 sequence at p, or 0 when it is none. */
static uint32_t utf8_len(const unsigned char *p, uint32_t left)
{
	uint32_t len = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 : 4;

	if (len == 1)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4 || len > left)
		return 0;
	for (uint32_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
	    (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

uint32_t fl_str_utf8_len(struct fl_str s)
{
	return s.len ? utf8_len((const unsigned char *)s.p, s.len) : 0;
}

bool fl_str_utf8(struct fl_str s)
{
	uint32_t ascii = 0;

	/* Nearly all text is ASCII: eight bytes at a time as long as no top bit is set. */
	for (uint64_t word; s.len - ascii >= sizeof word; ascii += (uint32_t)sizeof word) {
		memcpy(&word, s.p + ascii, sizeof word);
		if (word & 0x8080808080808080u)
			break;
	}
	for (uint32_t i = ascii, len; i < s.len; i += len) {
		len = utf8_len((const unsigned char *)s.p + i, s.len - i);
		if (len == 0)
			return false;
	}
	return true;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

uint32_t fl_str_distance(struct fl_str a, struct fl_str b)
{
	uint32_t rows[3][FL_NAME_NEAR + 1];   /* of the table of all beginnings: this one and the two above it */

	if (a.len > FL_NAME_NEAR || b.len > FL_NAME_NEAR)
		return UINT32_MAX;
	for (uint32_t i = 0; i <= a.len; i++) {
		uint32_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *over = rows[(i + 1) % 3];

		row[0] = i;
		for (uint32_t j = 1; j <= b.len; j++) {
			if (i == 0) {
				row[j] = j;
				continue;
			}
			row[j] = least(above[j], row[j - 1]) + 1;
			row[j] = least(row[j], above[j - 1] + (lower(a.p[i - 1]) != lower(b.p[j - 1])));
			if (i > 1 && j > 1 && lower(a.p[i - 1]) == lower(b.p[j - 2]) &&
			    lower(a.p[i - 2]) == lower(b.p[j - 1]))
				row[j] = least(row[j], over[j - 2] + 1);
		}
	}
	return rows[a.len % 3][b.len];
}
