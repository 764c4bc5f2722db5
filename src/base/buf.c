#include "base/buf.h"
#include "base/chars.h"
#include <assert.h>
#include <stdio.h>

static const size_t first_cap = 256;

void *fl_buf_room(struct fl_buf *buf, size_t len)
{
	size_t max = buf->max < PTRDIFF_MAX ? buf->max : PTRDIFF_MAX - 1;   /* so that one more never overflows */
	size_t need, cap;
	char *p;

	if (buf->failed)
		return NULL;
	if (len > max || buf->len > max - len) {
		buf->failed = FL_E_TOOBIG;
		return NULL;
	}
	need = buf->len + len + 1;
	if (need <= buf->cap)
		return buf->p + buf->len;
	cap = buf->cap ? buf->cap * 2 : first_cap;
	if (cap < need)
		cap = need;
	if (cap > max + 1)
		cap = max + 1;
	p = fl_realloc(buf->p, cap);
	if (!p) {
		buf->failed = FL_E_NOMEM;
		return NULL;
	}
	buf->p = p;
	buf->cap = cap;
	buf->p[buf->len] = 0;
	return buf->p + buf->len;
}

void fl_buf_added(struct fl_buf *buf, size_t len)
{
	assert(len < buf->cap - buf->len);
	buf->len += len;
	buf->p[buf->len] = 0;
}

void fl_buf_put(struct fl_buf *buf, const void *bytes, size_t len)
{
	bool fits = len < buf->cap - buf->len && buf->len + len <= buf->max && !buf->failed;
	void *room = fits ? buf->p + buf->len : fl_buf_room(buf, len);

	if (!room)
		return;
	if (len)
		memcpy(room, bytes, len);
	buf->len += len;
	buf->p[buf->len] = 0;
}

void fl_buf_str(struct fl_buf *buf, struct fl_str s)
{
	fl_buf_put(buf, s.p, s.len);
}

/* The digits of n, written so that they end at `end`; where they begin. */
static char *digits_before(char *end, uint64_t n)
{
	do
		*--end = (char)('0' + n % 10);
	while (n /= 10);
	return end;
}

void fl_buf_uint(struct fl_buf *buf, uint64_t n)
{
	char text[20], *end = text + sizeof text, *p = digits_before(end, n);

	fl_buf_put(buf, p, (size_t)(end - p));
}

void fl_buf_int(struct fl_buf *buf, int64_t n)
{
	char text[20], *end = text + sizeof text, *p = digits_before(end, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);

	if (n < 0)
		*--p = '-';
	fl_buf_put(buf, p, (size_t)(end - p));
}

void fl_buf_vprintf(struct fl_buf *buf, const char *fmt, va_list args)
{
	size_t left = buf->cap - buf->len;
	va_list again;
	char *room;
	int len;

	if (buf->failed)
		return;
	/* Mostly it fits behind what is there, and one pass is enough. */
	va_copy(again, args);
	len = vsnprintf(left ? buf->p + buf->len : NULL, left, fmt, again);
	va_end(again);
	if (len >= 0 && (size_t)len < left && buf->len + (size_t)len <= buf->max) {
		buf->len += (size_t)len;
		return;
	}
	if (left)
		buf->p[buf->len] = 0;
	if (len < 0)
		buf->failed = FL_E_TOOBIG;   /* longer than an int can say */
	room = fl_buf_room(buf, (size_t)len);
	if (!room)
		return;
	(void)vsnprintf(room, (size_t)len + 1, fmt, args);
	fl_buf_added(buf, (size_t)len);
}

void fl_buf_printf(struct fl_buf *buf, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fl_buf_vprintf(buf, fmt, args);
	va_end(args);
}

/* What stands behind the backslash, 'u' for the long form, or 0 for a byte that stands for itself. */
static char json_escape(unsigned char c)
{
	switch (c) {
	case '"':
	case '\\':
		return (char)c;
	case '\n':
		return 'n';
	case '\r':
		return 'r';
	case '\t':
		return 't';
	default:
		return c < 0x20 || c == 0x7f ? 'u' : 0;
	}
}

/* ASCII that stands for itself: nearly all there is. */
static bool is_plain(char c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

void fl_buf_json(struct fl_buf *buf, struct fl_str s)
{
	uint32_t done = 0, i = 0;   /* done: what stands before it is in the buffer; up to i it may go in as it is */

	fl_buf_char(buf, '"');
	while (i < s.len) {
		uint32_t len;
		char escape;
		bool c1;

		if (is_plain(s.p[i])) {
			i++;
			continue;
		}
		len = fl_str_utf8_len(fl_str_sub(s, i, s.len));
		escape = json_escape((unsigned char)s.p[i]);
		c1 = len == 2 && (unsigned char)s.p[i] == 0xc2 && (unsigned char)s.p[i + 1] < 0xa0;

		if (len && !escape && !c1) {
			i += len;
			continue;
		}
		fl_buf_put(buf, s.p + done, i - done);
		if (len == 0)
			fl_buf_str(buf, FL_S("\xef\xbf\xbd"));
		else if (c1 || escape == 'u')
			fl_buf_printf(buf, "\\u%04x", (unsigned char)s.p[i + c1]);
		else
			fl_buf_put(buf, (char[]){ '\\', escape }, 2);
		i += len ? len : 1;
		done = i;
	}
	if (i > done)
		fl_buf_put(buf, s.p + done, i - done);
	fl_buf_char(buf, '"');
}

void fl_buf_url(struct fl_buf *buf, struct fl_str s)
{
	for (uint32_t i = 0; i < s.len; i++)
		if (fl_is_alnum(s.p[i]) || (s.p[i] && strchr("-._~", s.p[i])))
			fl_buf_char(buf, s.p[i]);
		else
			fl_buf_printf(buf, "%%%02X", (unsigned char)s.p[i]);
}

void fl_buf_drop(struct fl_buf *buf, size_t len)
{
	if (len > buf->len)
		len = buf->len;
	if (len == 0)
		return;
	memmove(buf->p, buf->p + len, buf->len - len + 1);
	buf->len -= len;
}

size_t fl_buf_take(struct fl_buf *buf, size_t *at, void *room, size_t len)
{
	size_t left = buf->len - *at, piece = left < len ? left : len;

	if (piece)
		memcpy(room, buf->p + *at, piece);
	*at += piece;
	if (*at == buf->len) {
		fl_buf_free(buf);
		*at = 0;
	}
	return piece;
}

void fl_buf_clear(struct fl_buf *buf)
{
	fl_buf_drop(buf, buf->len);
	buf->failed = FL_OK;
}

void fl_buf_free(struct fl_buf *buf)
{
	fl_free(buf->p);
	*buf = FL_BUF(buf->max);
}

int fl_buf_check(const struct fl_buf *buf, const char *what, struct fl_err *err)
{
	if (!buf->failed)
		return 0;
	if (buf->failed == FL_E_TOOBIG)
		return fl_fail(err, FL_E_TOOBIG, "%s: over %zu bytes", what, buf->max);
	return fl_fail(err, buf->failed, "%s: %s", what, fl_name(&fl_code_names, (int)buf->failed));
}

struct fl_str fl_buf_view(const struct fl_buf *buf)
{
	return (struct fl_str){ buf->p, buf->len > UINT32_MAX ? UINT32_MAX : (uint32_t)buf->len };
}
