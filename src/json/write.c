#include "json/write.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- texts ---- */

/* Bytes that stand for themselves in a text: ASCII but for controls, quote and backslash. */
static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* How many bytes at the front are plain; eight at a time, since most texts are nothing else. */
static uint32_t plain_run(const char *p, uint32_t len)
{
	const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
	uint32_t i = 0;

	for (; len - i >= 8; i += 8) {
		uint64_t w, quote, slash;

		memcpy(&w, p + i, 8);
		quote = w ^ ones * '"';
		slash = w ^ ones * '\\';
		if (((w | (w - ones * 0x20) | (quote - ones) | (slash - ones)) & tops) != 0)
			break;
	}
	while (i < len && is_plain((unsigned char)p[i]))
		i++;
	return i;
}

static void put_escape(struct fl_buf *buf, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char small = c == '"' || c == '\\' ? (char)c : c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' :
		     c == '\b' ? 'b' : c == '\f' ? 'f' : 0;

	if (small)
		fl_buf_put(buf, (char[]){ '\\', small }, 2);
	else
		fl_buf_put(buf, (char[]){ '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] }, 6);
}

static void put_odd_str(struct fl_buf *buf, struct fl_str s)
{
	fl_buf_char(buf, '"');
	while (s.len) {
		uint32_t len = plain_run(s.p, s.len);

		if (len)
			fl_buf_put(buf, s.p, len);
		s = fl_str_sub(s, len, s.len);
		if (s.len == 0)
			break;
		len = fl_str_utf8_len(s);
		if (len == 0)
			fl_buf_str(buf, FL_S("\\ufffd"));
		else if (len == 1)
			put_escape(buf, (unsigned char)s.p[0]);
		else if (len == 3 && memcmp(s.p, "\xe2\x80", 2) == 0 && (s.p[2] == '\xa8' || s.p[2] == '\xa9'))
			fl_buf_str(buf, s.p[2] == '\xa9' ? FL_S("\\u2029") : FL_S("\\u2028"));
		else
			fl_buf_put(buf, s.p, len);
		s = fl_str_sub(s, len ? len : 1, s.len);
	}
	fl_buf_char(buf, '"');
}

/* A text with what stands before and behind it: in one piece, since that is what a document mostly consists of. */
static void put_str(struct fl_buf *buf, bool comma, struct fl_str s, bool colon)
{
	size_t need = (size_t)s.len + 2 + comma + colon;
	char *room;

	if (plain_run(s.p, s.len) < s.len) {
		if (comma)
			fl_buf_char(buf, ',');
		put_odd_str(buf, s);
		if (colon)
			fl_buf_char(buf, ':');
		return;
	}
	room = fl_buf_room(buf, need);
	if (!room)
		return;
	if (comma)
		*room++ = ',';
	*room++ = '"';
	if (s.len)
		room = mempcpy(room, s.p, s.len);
	*room++ = '"';
	if (colon)
		*room = ':';
	fl_buf_added(buf, need);
}

/* ---- numbers ---- */

/* Decimal digits of u, right-aligned in front of `end`. */
static char *digits(uint64_t u, char *end)
{
	do
		*--end = (char)('0' + u % 10);
	while (u /= 10);
	return end;
}

/* The digits of a printed number, without zeros at the ends, and where its point stands: 0.d1d2d3... x 10^point. */
static uint32_t take_digits(const char *text, char *ret_digits, int *ret_point)
{
	int point = 0, exponent = 0, sign = 1;
	bool fraction = false;
	uint32_t len = 0;

	for (; *text && *text != 'e' && *text != 'E'; text++) {
		if (*text == '.')
			fraction = true;
		else if (len == 0 && *text == '0')
			point -= fraction;
		else {
			ret_digits[len++] = *text;
			point += !fraction;
		}
	}
	if (*text) {
		sign = text[1] == '-' ? -1 : 1;
		while (*++text)
			if (*text >= '0' && *text <= '9')
				exponent = exponent * 10 + *text - '0';
	}
	while (len && ret_digits[len - 1] == '0')
		len--;
	*ret_point = point + sign * exponent;
	return len;
}

/* The fewest digits that read back as this number. yyjson finds them; its notation is not Go's. */
static uint32_t shortest(double value, char *ret_digits, int *ret_point)
{
	yyjson_mut_val val = { .tag = YYJSON_TYPE_NUM | YYJSON_SUBTYPE_REAL, .uni.f64 = value };
	char space[512], *text = NULL;
	yyjson_alc alc;

	if (yyjson_alc_pool_init(&alc, space, sizeof space))
		text = yyjson_mut_val_write_opts(&val, 0, &alc, NULL, NULL);
	return take_digits(text ? text : "0", ret_digits, ret_point);
}

static uint32_t shortest_float(float value, char *ret_digits, int *ret_point)
{
	char text[FL_DOUBLE_TEXT];

	for (int decimals = 0; decimals < 10; decimals++) {
		(void)snprintf(text, sizeof text, "%.*e", decimals, (double)value);
		if (strtof(text, NULL) == value)
			break;
	}
	return take_digits(text, ret_digits, ret_point);
}

/* d.dddde+XX, with an exponent of at least `least` digits. */
static char *put_exponent_form(char *out, const char *d, uint32_t len, int exponent, int least)
{
	char number[8], *from;

	*out++ = d[0];
	if (len > 1) {
		*out++ = '.';
		out = mempcpy(out, d + 1, len - 1);
	}
	*out++ = 'e';
	*out++ = exponent < 0 ? '-' : '+';
	from = digits((uint64_t)(exponent < 0 ? -exponent : exponent), number + sizeof number);
	if (number + sizeof number - from < least)
		*--from = '0';
	return mempcpy(out, from, (size_t)(number + sizeof number - from));
}

static char *put_point_form(char *out, const char *d, uint32_t len, int point)
{
	if (point <= 0) {
		out = mempcpy(out, "0.", 2);
		for (; point < 0; point++)
			*out++ = '0';
		return mempcpy(out, d, len);
	}
	for (uint32_t i = 0; i < len || (int)i < point; i++) {
		if (i && (int)i == point)
			*out++ = '.';
		*out++ = i < len ? d[i] : '0';
	}
	return out;
}

uint32_t fl_json_double(double value, char text[FL_DOUBLE_TEXT])
{
	char d[32], *out = text;
	double size = fabs(value);
	int point = 0;
	uint32_t len;

	if (!isfinite(value))
		return 0;
	if (signbit(value))
		*out++ = '-';
	len = size > 0 ? shortest(size, d, &point) : 0;
	if (len == 0)
		*out++ = '0';
	else if (size < 1e-6 || size >= 1e21)
		out = put_exponent_form(out, d, len, point - 1, 1);
	else
		out = put_point_form(out, d, len, point);
	return (uint32_t)(out - text);
}

static uint32_t print_g(bool negative, const char *d, uint32_t len, int point, char *text)
{
	char *out = text;

	if (negative)
		*out++ = '-';
	if (len == 0)
		*out++ = '0';
	else if (point - 1 < -4 || point - 1 >= 6)
		out = put_exponent_form(out, d, len, point - 1, 2);
	else
		out = put_point_form(out, d, len, point);
	return (uint32_t)(out - text);
}

static uint32_t print_odd(double value, char *text)
{
	const char *word = isnan(value) ? ".nan" : value < 0 ? "-.inf" : ".inf";

	return (uint32_t)((char *)mempcpy(text, word, strlen(word)) - text);
}

uint32_t fl_double_g(double value, char text[FL_DOUBLE_TEXT])
{
	int point = 0;
	uint32_t len;
	char d[32];

	if (!isfinite(value))
		return print_odd(value, text);
	len = value != 0 ? shortest(fabs(value), d, &point) : 0;
	return print_g(signbit(value), d, len, point, text);
}

uint32_t fl_float_g(float value, char text[FL_DOUBLE_TEXT])
{
	int point = 0;
	uint32_t len;
	char d[32];

	if (!isfinite(value))
		return print_odd((double)value, text);
	len = value != 0 ? shortest_float(fabsf(value), d, &point) : 0;
	return print_g(signbit(value), d, len, point, text);
}

/* ---- the writer ---- */

static void before(struct fl_jw *w)
{
	if (w->comma)
		fl_buf_char(w->buf, ',');
	w->comma = true;
}

void fl_jw_obj(struct fl_jw *w)
{
	before(w);
	fl_buf_char(w->buf, '{');
	w->comma = false;
}

void fl_jw_end_obj(struct fl_jw *w)
{
	fl_buf_char(w->buf, '}');
	w->comma = true;
}

void fl_jw_arr(struct fl_jw *w)
{
	before(w);
	fl_buf_char(w->buf, '[');
	w->comma = false;
}

void fl_jw_end_arr(struct fl_jw *w)
{
	fl_buf_char(w->buf, ']');
	w->comma = true;
}

void fl_jw_key(struct fl_jw *w, struct fl_str key)
{
	put_str(w->buf, w->comma, key, true);
	w->comma = false;
}

void fl_jw_str(struct fl_jw *w, struct fl_str s)
{
	put_str(w->buf, w->comma, s, false);
	w->comma = true;
}

static void put_integer(struct fl_jw *w, bool negative, uint64_t size)
{
	char text[24], *at = digits(size, text + sizeof text);

	if (negative)
		*--at = '-';
	before(w);
	fl_buf_put(w->buf, at, (size_t)(text + sizeof text - at));
}

void fl_jw_i64(struct fl_jw *w, int64_t value)
{
	put_integer(w, value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void fl_jw_u64(struct fl_jw *w, uint64_t value)
{
	put_integer(w, false, value);
}

void fl_jw_double(struct fl_jw *w, double value)
{
	char text[FL_DOUBLE_TEXT];
	uint32_t len = fl_json_double(value, text);

	if (len)
		fl_jw_raw(w, (struct fl_str){ text, len });
	else
		fl_jw_null(w);
}

void fl_jw_bool(struct fl_jw *w, bool value)
{
	fl_jw_raw(w, value ? FL_S("true") : FL_S("false"));
}

void fl_jw_null(struct fl_jw *w)
{
	fl_jw_raw(w, FL_S("null"));
}

void fl_jw_raw(struct fl_jw *w, struct fl_str json)
{
	before(w);
	fl_buf_str(w->buf, json);
}

/* ---- documents ---- */

/* Both kinds of value begin with the same tag and payload, so a scalar of one reads as a scalar of the other. */
_Static_assert(offsetof(yyjson_val, tag) == offsetof(yyjson_mut_val, tag) &&
		       offsetof(yyjson_val, uni) == offsetof(yyjson_mut_val, uni),
	       "a scalar is read alike from both kinds of document");

static struct fl_str text_of(yyjson_val *val)
{
	return (struct fl_str){ unsafe_yyjson_get_str(val), (uint32_t)unsafe_yyjson_get_len(val) };
}

static void put_scalar(struct fl_jw *w, yyjson_val *val)
{
	switch (unsafe_yyjson_get_type(val)) {
	case YYJSON_TYPE_STR:
		fl_jw_str(w, text_of(val));
		break;
	case YYJSON_TYPE_RAW:
		fl_jw_raw(w, text_of(val));
		break;
	case YYJSON_TYPE_BOOL:
		fl_jw_bool(w, unsafe_yyjson_get_bool(val));
		break;
	case YYJSON_TYPE_NUM:
		if (yyjson_is_sint(val))
			fl_jw_i64(w, unsafe_yyjson_get_sint(val));
		else if (yyjson_is_uint(val))
			fl_jw_u64(w, unsafe_yyjson_get_uint(val));
		else
			fl_jw_double(w, unsafe_yyjson_get_real(val));
		break;
	default:
		fl_jw_null(w);
	}
}

static void put_val(struct fl_jw *w, yyjson_val *val, unsigned depth)
{
	yyjson_val *child = unsafe_yyjson_get_first(val);
	size_t len = unsafe_yyjson_get_len(val);

	if (!yyjson_is_ctn(val)) {
		put_scalar(w, val);
		return;
	}
	if (depth == FL_JSON_DEPTH) {
		w->buf->failed = w->buf->failed ? w->buf->failed : FL_E_TOOBIG;
		return;
	}
	if (yyjson_is_obj(val)) {
		fl_jw_obj(w);
		for (; len && !w->buf->failed; len--, child = unsafe_yyjson_get_next(child)) {
			fl_jw_key(w, text_of(child++));
			put_val(w, child, depth + 1);
		}
		fl_jw_end_obj(w);
		return;
	}
	fl_jw_arr(w);
	for (; len && !w->buf->failed; len--, child = unsafe_yyjson_get_next(child))
		put_val(w, child, depth + 1);
	fl_jw_end_arr(w);
}

void fl_jw_val(struct fl_jw *w, const yyjson_val *val)
{
	put_val(w, (yyjson_val *)(uintptr_t)val, 0);
}

static void put_mut(struct fl_jw *w, yyjson_mut_val *val, unsigned depth)
{
	size_t len = unsafe_yyjson_get_len(val);
	yyjson_mut_val *child;

	if (!yyjson_mut_is_ctn(val)) {
		put_scalar(w, (yyjson_val *)val);
		return;
	}
	if (depth == FL_JSON_DEPTH) {
		w->buf->failed = w->buf->failed ? w->buf->failed : FL_E_TOOBIG;
		return;
	}
	/* A container knows its last child; from there a ring leads to the first. */
	child = len == 0 ? NULL : yyjson_mut_is_obj(val) ? ((yyjson_mut_val *)val->uni.ptr)->next->next :
							   ((yyjson_mut_val *)val->uni.ptr)->next;
	if (yyjson_mut_is_obj(val)) {
		fl_jw_obj(w);
		for (; len && !w->buf->failed; len--, child = child->next) {
			fl_jw_key(w, text_of((yyjson_val *)child));
			child = child->next;
			put_mut(w, child, depth + 1);
		}
		fl_jw_end_obj(w);
		return;
	}
	fl_jw_arr(w);
	for (; len && !w->buf->failed; len--, child = child->next)
		put_mut(w, child, depth + 1);
	fl_jw_end_arr(w);
}

void fl_jw_mut(struct fl_jw *w, const yyjson_mut_val *val)
{
	put_mut(w, (yyjson_mut_val *)(uintptr_t)val, 0);
}
