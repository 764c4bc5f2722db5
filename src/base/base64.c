#include "base/base64.h"

static const char alphabets[2][65] = {
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
};

static bool is_url(enum fl_base64 form)
{
	return form == FL_BASE64_URL || form == FL_BASE64_URL_RAW;
}

static bool is_padded(enum fl_base64 form)
{
	return form == FL_BASE64_STD || form == FL_BASE64_URL;
}

void fl_base64_put(struct fl_buf *buf, enum fl_base64 form, const void *bytes, size_t len)
{
	const char *alphabet = alphabets[is_url(form)];
	const unsigned char *p = bytes;

	for (; len; p += 3) {
		uint32_t three = (uint32_t)p[0] << 16 | (len > 1 ? (uint32_t)p[1] << 8 : 0) | (len > 2 ? p[2] : 0u);
		size_t some = len < 3 ? len : 3;
		char four[4] = { alphabet[three >> 18], alphabet[three >> 12 & 63], '=', '=' };

		if (some > 1)
			four[2] = alphabet[three >> 6 & 63];
		if (some > 2)
			four[3] = alphabet[three & 63];
		fl_buf_put(buf, four, is_padded(form) ? 4 : some + 1);
		len -= some;
	}
}

/* What the character stands for, or -1. */
static int value_of(char c, bool url)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == (url ? '-' : '+'))
		return 62;
	return c == (url ? '_' : '/') ? 63 : -1;
}

/* The padding that the form demands goes; false when it is not that. What is left has 2, 3 or 4 characters at its
 * end. */
static bool without_padding(struct fl_str *text, bool padded)
{
	if (!padded)
		return text->len % 4 != 1;
	if (text->len % 4 != 0)
		return false;
	for (int i = 0; i < 2 && text->len && text->p[text->len - 1] == '='; i++)
		text->len--;
	return true;
}

int fl_base64_get(struct fl_buf *buf, enum fl_base64 form, struct fl_str text, struct fl_err *err)
{
	uint32_t bits = 0, have = 0;
	unsigned char *out;
	size_t made = 0;

	if (!without_padding(&text, is_padded(form)))
		return fl_fail(err, FL_E_INVALID, "base64: %u characters cannot be %s text", text.len,
			       is_padded(form) ? "a padded" : "an unpadded");
	out = fl_buf_room(buf, (size_t)text.len / 4 * 3 + 3);
	if (!out)
		return fl_buf_check(buf, "base64", err);
	for (uint32_t i = 0; i < text.len; i++) {
		int value = value_of(text.p[i], is_url(form));

		if (value < 0)
			return fl_fail(err, FL_E_INVALID, "base64: character %u is none of its alphabet", i + 1);
		bits = bits << 6 | (uint32_t)value;
		have += 6;
		if (have >= 8) {
			have -= 8;
			out[made++] = (unsigned char)(bits >> have);
		}
	}
	if (bits & ((1u << have) - 1))
		return fl_fail(err, FL_E_INVALID, "base64: stray bits in the last character");
	fl_buf_added(buf, made);
	return 0;
}
