#include "http/query.h"
#include "base/chars.h"

static int put_decoded(struct fl_str value, const char *name, struct fl_buf *out, struct fl_err *err)
{
	size_t began = out->len;
	struct fl_str text;

	for (uint32_t i = 0; i < value.len; i++) {
		char c = value.p[i];

		if (c == '%') {
			int high = i + 2 < value.len ? fl_hex_digit(value.p[i + 1]) : -1;
			int low = i + 2 < value.len ? fl_hex_digit(value.p[i + 2]) : -1;

			if (high < 0 || low < 0)
				return fl_fail(err, FL_E_INVALID, "'%s' in the query: a '%%' without two hex digits",
					       name);
			c = (char)(high * 16 + low);
			i += 2;
		} else if (c == '+') {
			c = ' ';
		}
		fl_buf_char(out, c);
	}
	if (fl_buf_check(out, name, err) < 0)
		return -(int)out->failed;
	text = fl_str_sub(fl_buf_view(out), (uint32_t)began, UINT32_MAX);
	if (!fl_str_utf8(text) || fl_str_find(text, '\0') >= 0)
		return fl_fail(err, FL_E_INVALID, "'%s' in the query is no text", name);
	return 1;
}

int fl_query_get(struct fl_str query, const char *name, struct fl_buf *out, struct fl_err *err)
{
	struct fl_str part;

	if (!query.len)
		return 0;
	while (fl_str_split(&query, '&', &part)) {
		int64_t at = fl_str_find(part, '=');
		uint32_t len = at < 0 ? part.len : (uint32_t)at;

		if (fl_str_eq(fl_str_sub(part, 0, len), fl_str(name)))
			return put_decoded(at < 0 ? FL_S("") : fl_str_sub(part, len + 1, part.len), name, out, err);
	}
	return 0;
}

void fl_query_put(struct fl_buf *out, const char *name, struct fl_str value)
{
	bool first = fl_str_find(fl_buf_view(out), '?') < 0;

	fl_buf_printf(out, "%c%s=", first ? '?' : '&', name);
	fl_buf_url(out, value);
}
