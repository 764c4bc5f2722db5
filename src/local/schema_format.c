/* Formats of texts, as the API server checks them: looser than the standards they are named after. */
#include "base/units.h"
#include "json/time.h"
#include "local/schema_in.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool is_letter(char c)
{
	return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c & 0x80) != 0;
}

/* Does the text look like the mask? 9: a digit, x: a hexadecimal one, anything else: itself, in any case. */
static bool looks_like(struct fl_str text, const char *mask)
{
	if (text.len != strlen(mask))
		return false;
	for (uint32_t i = 0; i < text.len; i++) {
		char c = text.p[i];

		if (mask[i] == '9' && is_digit(c))
			continue;
		if (mask[i] == 'x' ? !is_hex(c) : c != mask[i] && (!is_letter(c) || (c | 0x20) != mask[i]))
			return false;
	}
	return true;
}

static bool is_date(struct fl_str text)
{
	char whole[] = "2000-01-01T00:00:00Z";
	int64_t us;

	if (!looks_like(text, "9999-99-99"))
		return false;
	memcpy(whole, text.p, 10);
	return fl_time_parse(fl_str(whole), &us, NULL) == 0;
}

static bool is_date_time(struct fl_str text)
{
	struct fl_str rest = fl_str_sub(text, 19, text.len);
	uint32_t digits = 0;

	if (!looks_like(fl_str_sub(text, 0, 19), "9999-99-99t99:99:99") || !is_date(fl_str_sub(text, 0, 10)))
		return false;
	if (memcmp(text.p + 11, "23", 2) > 0 || text.p[14] > '5' || text.p[17] > '5')
		return false;
	if (rest.len && rest.p[0] == '.') {
		while (digits + 1 < rest.len && is_digit(rest.p[digits + 1]))
			digits++;
		if (!digits)
			return false;
		rest = fl_str_sub(rest, digits + 1, rest.len);
	}
	return looks_like(rest, "z") || looks_like(rest, "+99:99") || looks_like(rest, "-99:99");
}

/* As Go's, or any number with a unit somewhere: "3 days". */
static bool is_duration(struct fl_str text)
{
	static const char units[] =
		" ns nano nanos nanosecond nanoseconds us micro micros microsecond microseconds ms milli millis"
		" millisecond milliseconds s sec secs second seconds m min mins minute minutes h hr hour hours d day"
		" days w wk week weeks ";
	uint32_t i = 0;

	while (i < text.len) {
		char unit[20] = " ";
		uint32_t len = 1;

		if (!is_digit(text.p[i++]))
			continue;
		while (i < text.len && (is_digit(text.p[i]) || text.p[i] == ' '))
			i++;
		while (i < text.len && is_letter(text.p[i]) && len < sizeof unit - 2)
			unit[len++] = (char)(text.p[i++] | 0x20);
		unit[len] = ' ';
		if (len > 1 && strstr(units, unit))
			return true;
	}
	return false;
}

static bool is_base64(struct fl_str text)
{
	uint32_t padding = 0;

	if (text.len == 0 || text.len % 4)
		return false;
	while (padding < 2 && text.p[text.len - 1 - padding] == '=')
		padding++;
	for (uint32_t i = 0; i < text.len - padding; i++) {
		char c = text.p[i];

		if (!is_digit(c) && !((c | 0x20) >= 'a' && (c | 0x20) <= 'z') && c != '+' && c != '/')
			return false;
	}
	return true;
}

static bool number_up_to(struct fl_str text, uint64_t most)
{
	uint64_t value;

	return fl_str_u64(text, &value) && value <= most;
}

static bool is_ipv4(struct fl_str text)
{
	struct fl_str part;
	uint32_t parts = 0;

	for (; fl_str_split(&text, '.', &part); parts++)
		if (!number_up_to(part, 255))
			return false;
	return parts == 4;
}

static bool is_ipv6(struct fl_str text)
{
	uint32_t groups = 0, digits = 0, gaps = 0;

	for (uint32_t i = 0; i < text.len; i++) {
		char c = text.p[i];

		if (is_hex(c)) {
			groups += digits == 0;
			if (++digits > 4 || groups > 8)
				return false;
			continue;
		}
		if (c == '.' && digits)   /* the last two groups as an IPv4 address */
			return (gaps == 1 ? groups <= 6 : gaps == 0 && groups == 7) &&
			       is_ipv4(fl_str_sub(text, i - digits, text.len));
		if (c != ':')
			return false;
		if (i + 1 < text.len && text.p[i + 1] == ':') {
			gaps++;
			i++;
		} else if (digits == 0 || i + 1 == text.len) {
			return false;
		}
		digits = 0;
	}
	return gaps == 1 ? groups <= 7 : gaps == 0 && groups == 8;
}

static bool is_cidr(struct fl_str text)
{
	int64_t slash = fl_str_find(text, '/');
	struct fl_str ip = fl_str_sub(text, 0, slash < 0 ? 0 : (uint32_t)slash);
	struct fl_str bits = fl_str_sub(text, slash < 0 ? 0 : (uint32_t)slash + 1, text.len);

	return slash > 0 && ((is_ipv4(ip) && number_up_to(bits, 32)) || (is_ipv6(ip) && number_up_to(bits, 128)));
}

static bool is_mac(struct fl_str text)
{
	return looks_like(text, "xx:xx:xx:xx:xx:xx") || looks_like(text, "xx-xx-xx-xx-xx-xx") ||
	       looks_like(text, "xxxx.xxxx.xxxx") || looks_like(text, "xx:xx:xx:xx:xx:xx:xx:xx") ||
	       looks_like(text, "xx-xx-xx-xx-xx-xx-xx-xx") || looks_like(text, "xxxx.xxxx.xxxx.xxxx");
}

/* Hyphens may lack between the groups. */
static bool is_uuid_of(struct fl_str text, char version, bool variant)
{
	static const uint8_t groups[] = { 8, 4, 4, 4, 12 };
	uint32_t at = 0;

	for (uint32_t g = 0; g < FL_LEN(groups); g++) {
		if (g && at < text.len && text.p[at] == '-')
			at++;
		if (at + groups[g] > text.len)
			return false;
		if (g == 2 && version && text.p[at] != version)
			return false;
		if (g == 3 && variant && !strchr("89abAB", text.p[at]))
			return false;
		for (uint32_t i = 0; i < groups[g]; i++)
			if (!is_hex(text.p[at++]))
				return false;
	}
	return at == text.len;
}

static bool is_uuid(struct fl_str text)
{
	return is_uuid_of(text, 0, false);
}

static bool is_uuid3(struct fl_str text)
{
	return is_uuid_of(text, '3', false);
}

static bool is_uuid4(struct fl_str text)
{
	return is_uuid_of(text, '4', true);
}

static bool is_uuid5(struct fl_str text)
{
	return is_uuid_of(text, '5', true);
}

/* Of several labels the last one has letters only. */
static bool is_hostname(struct fl_str text)
{
	struct fl_str rest = text, label, last = { 0 };
	uint32_t labels = 0;

	for (; fl_str_split(&rest, '.', &label); labels++) {
		if (label.len == 0 || label.len > 63 || label.p[0] == '-' || label.p[label.len - 1] == '-')
			return false;
		for (uint32_t i = 0; i < label.len; i++)
			if (!is_letter(label.p[i]) && !is_digit(label.p[i]) && label.p[i] != '-')
				return false;
		last = label;
	}
	for (uint32_t i = 0; labels > 1 && i < last.len; i++)
		if (!is_letter(last.p[i]))
			return false;
	return text.len <= 255 && labels && (labels == 1 || last.len > 1);
}

/* An absolute one, or a path. */
static bool is_uri(struct fl_str text)
{
	int64_t colon = fl_str_find(text, ':');

	for (uint32_t i = 0; i < text.len; i++)
		if ((unsigned char)text.p[i] < 0x21 || text.p[i] == 0x7f)
			return false;
	if (text.len && text.p[0] == '/')
		return true;
	if (colon < 1 || !is_letter(text.p[0]))
		return false;
	for (uint32_t i = 0; i < colon; i++)
		if (!is_letter(text.p[i]) && !is_digit(text.p[i]) && !strchr("+-.", text.p[i]))
			return false;
	return true;
}

/* Small letters, digits, and hyphens between them. */
static bool is_label_of(struct fl_str text, uint32_t most)
{
	if (text.len == 0 || text.len > most || text.p[0] == '-' || text.p[text.len - 1] == '-')
		return false;
	for (uint32_t i = 0; i < text.len; i++)
		if (!is_digit(text.p[i]) && text.p[i] != '-' && !(text.p[i] >= 'a' && text.p[i] <= 'z'))
			return false;
	return true;
}

static bool is_label(struct fl_str text)
{
	return is_label_of(text, 63);
}

static bool is_long_name(struct fl_str text)
{
	struct fl_str rest = text, label;

	while (fl_str_split(&rest, '.', &label))
		if (!is_label_of(label, 253))
			return false;
	return text.len && text.len <= 253;
}

static bool is_color(struct fl_str text)
{
	if (text.len && text.p[0] == '#')
		text = fl_str_sub(text, 1, text.len);
	return looks_like(text, "xxx") || looks_like(text, "xxxxxx");
}

static bool is_object_id(struct fl_str text)
{
	return looks_like(text, "xxxxxxxxxxxxxxxxxxxxxxxx");
}

static bool is_anything(struct fl_str text)
{
	(void)text;
	return true;   /* of numbers, which are checked as such; and "password" */
}

bool fl_format_fits(struct fl_str format, struct fl_str text, bool *ret_known)
{
	static const struct {
		struct fl_str name;
		bool (*fits)(struct fl_str text);
	} formats[] = {
		{ FL_S_INIT("bsonobjectid"), is_object_id }, { FL_S_INIT("byte"), is_base64 },
		{ FL_S_INIT("cidr"), is_cidr }, { FL_S_INIT("date"), is_date },
		{ FL_S_INIT("date-time"), is_date_time }, { FL_S_INIT("datetime"), is_date_time },
		{ FL_S_INIT("double"), is_anything }, { FL_S_INIT("duration"), is_duration },
		{ FL_S_INIT("float"), is_anything }, { FL_S_INIT("hexcolor"), is_color },
		{ FL_S_INIT("hostname"), is_hostname }, { FL_S_INIT("int32"), is_anything },
		{ FL_S_INIT("int64"), is_anything }, { FL_S_INIT("ipv4"), is_ipv4 }, { FL_S_INIT("ipv6"), is_ipv6 },
		{ FL_S_INIT("k8s-long-name"), is_long_name }, { FL_S_INIT("k8s-short-name"), is_label },
		{ FL_S_INIT("mac"), is_mac }, { FL_S_INIT("password"), is_anything }, { FL_S_INIT("uri"), is_uri },
		{ FL_S_INIT("uuid"), is_uuid }, { FL_S_INIT("uuid3"), is_uuid3 }, { FL_S_INIT("uuid4"), is_uuid4 },
		{ FL_S_INIT("uuid5"), is_uuid5 },
	};

	*ret_known = false;
	for (size_t i = 0; i < FL_LEN(formats); i++) {
		if (!fl_str_eq(formats[i].name, format))
			continue;
		*ret_known = true;
		return formats[i].fits(text);
	}
	return true;
}
