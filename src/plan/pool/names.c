#include "plan/pool/names.h"
#include "base/chars.h"
#include "base/sha256.h"

#define LABEL_VALUE 63        /* bytes that the API server takes */
#define HASH_DIGITS 8

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

void fl_device_sanitise(struct fl_str text, struct fl_buf *out)
{
	uint32_t len = 0;
	bool gap = false;

	for (uint32_t i = 0; i < text.len; i++) {
		if (!fl_is_alnum(text.p[i])) {
			gap = true;
			continue;
		}
		if (gap && len)
			fl_buf_char(out, '-');
		fl_buf_char(out, lower(text.p[i]));
		gap = false;
		len++;
	}
	if (!len)
		fl_buf_str(out, FL_S("gpu"));
}

void fl_device_prefix(struct fl_str node, bool hashed, struct fl_buf *out)
{
	unsigned char digest[FL_SHA256];
	char text[FL_DEVICE_TEXT];
	struct fl_buf whole = FL_BUF_IN(text);
	struct fl_str cut;

	if (!hashed) {
		fl_device_sanitise(node, out);
		return;
	}
	fl_device_sanitise(node, &whole);
	cut = fl_str_sub(fl_buf_view(&whole), 0, FL_DEVICE_NODE_CUT);
	while (cut.len && cut.p[cut.len - 1] == '-')
		cut.len--;
	fl_buf_str(out, cut);
	fl_buf_char(out, '-');
	fl_sha256(node, digest);
	for (unsigned i = 0; i < HASH_DIGITS / 2; i++)
		fl_buf_printf(out, "%02x", digest[i]);
}

/* "INDEX-VENDOR-DEVICE" */
static void put_suffix(struct fl_str index, const struct fl_device_pci *ids, struct fl_buf *out)
{
	char text[FL_DEVICE_TEXT];
	struct fl_buf all = FL_BUF_IN(text);

	fl_buf_printf(&all, "%.*s-%.*s-%.*s", FL_ARG(index), FL_ARG(ids->vendor), FL_ARG(ids->device));
	fl_device_sanitise(fl_buf_view(&all), out);
}

bool fl_device_name(struct fl_str node, bool hashed, struct fl_str index, const struct fl_device_pci *ids,
		    struct fl_buf *out)
{
	size_t before = out->len;

	fl_device_prefix(node, hashed, out);
	fl_buf_char(out, '-');
	put_suffix(index, ids, out);
	return !out->failed && out->len - before <= FL_DEVICE_NAME;
}

struct fl_str fl_device_prefix_of(struct fl_str name)
{
	for (int parts = 0; parts < 3; parts++) {
		while (name.len && name.p[name.len - 1] != '-')
			name.len--;
		if (!name.len)
			return name;
		name.len--;
	}
	return name;
}

bool fl_device_is_called(struct fl_str name, struct fl_str index, const struct fl_device_pci *ids)
{
	char text[FL_DEVICE_TEXT];
	struct fl_buf suffix = FL_BUF_IN(text);

	fl_buf_char(&suffix, '-');
	put_suffix(index, ids, &suffix);
	return !suffix.failed && fl_str_ends(name, fl_buf_view(&suffix));
}

struct fl_str fl_device_index(struct fl_str text)
{
	uint32_t zeros = 0;

	for (uint32_t i = 0; i < text.len; i++)
		if (!fl_is_digit(text.p[i]))
			return text;
	while (zeros + 1 < text.len && text.p[zeros] == '0')
		zeros++;
	return fl_str_sub(text, zeros, text.len);
}

bool fl_device_index_ok(struct fl_str index)
{
	for (uint32_t i = 0; i < index.len; i++)
		if (!fl_is_alnum(index.p[i]))
			return false;
	return index.len;
}

/* hhhh:hh:hh.[0-7] */
static bool is_address(struct fl_str s)
{
	static const char shape[] = "hhhh:hh:hh.o";

	if (s.len != sizeof shape - 1)
		return false;
	for (uint32_t i = 0; i < s.len; i++) {
		bool ok = shape[i] == 'h' ? fl_hex_digit(s.p[i]) >= 0 :
			  shape[i] == 'o' ? s.p[i] >= '0' && s.p[i] <= '7' :
					    s.p[i] == shape[i];

		if (!ok)
			return false;
	}
	return true;
}

void fl_device_address(struct fl_str text, struct fl_buf *out)
{
	struct fl_str address = fl_str_trim(text);

	if (fl_str_find(address, ':') == 8)
		address = fl_str_sub(address, 4, address.len);
	if (!is_address(address)) {
		fl_buf_str(out, text);
		return;
	}
	for (uint32_t i = 0; i < address.len; i++)
		fl_buf_char(out, lower(address.p[i]));
}

void fl_device_node_label(struct fl_str node, struct fl_buf *out)
{
	if (node.len <= LABEL_VALUE)
		fl_buf_str(out, node);
	else
		fl_device_prefix(node, true, out);
}
