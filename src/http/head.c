#include "http/head.h"
#include "http/chars.h"

const uint8_t fl_http_chars[256] = {
	['a' ... 'z'] = FL_CH_TOKEN | FL_CH_NAME | FL_CH_TARGET,
	['0' ... '9'] = FL_CH_TOKEN | FL_CH_NAME | FL_CH_TARGET,
	['A' ... 'Z'] = FL_CH_TOKEN | FL_CH_TARGET,
	['!'] = FL_CH_TOKEN | FL_CH_NAME | FL_CH_TARGET,
	['$' ... '\''] = FL_CH_TOKEN | FL_CH_NAME | FL_CH_TARGET,
	['*'] = FL_CH_TOKEN | FL_CH_NAME | FL_CH_TARGET,
	['+'] = FL_CH_TOKEN | FL_CH_NAME | FL_CH_TARGET,
	['-'] = FL_CH_TOKEN | FL_CH_NAME | FL_CH_TARGET,
	['.'] = FL_CH_TOKEN | FL_CH_NAME | FL_CH_TARGET,
	['^' ... '`'] = FL_CH_TOKEN | FL_CH_NAME | FL_CH_TARGET,
	['|'] = FL_CH_TOKEN | FL_CH_NAME | FL_CH_TARGET,
	['~'] = FL_CH_TOKEN | FL_CH_NAME | FL_CH_TARGET,
	['#'] = FL_CH_TOKEN | FL_CH_NAME,
	['"'] = FL_CH_TARGET,
	['('] = FL_CH_TARGET,
	[')'] = FL_CH_TARGET,
	[','] = FL_CH_TARGET,
	['/'] = FL_CH_TARGET,
	[':' ... '@'] = FL_CH_TARGET,
	['[' ... ']'] = FL_CH_TARGET,
	['{'] = FL_CH_TARGET,
	['}'] = FL_CH_TARGET,
};

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

bool fl_str_same(struct fl_str a, struct fl_str b)
{
	if (a.len != b.len)
		return false;
	for (uint32_t i = 0; i < a.len; i++)
		if (lower(a.p[i]) != lower(b.p[i]))
			return false;
	return true;
}

struct fl_str fl_headers_get(struct fl_headers headers, struct fl_str name)
{
	for (uint32_t i = 0; i < headers.len; i++)
		if (fl_str_eq(headers.at[i].name, name))
			return headers.at[i].value.p ? headers.at[i].value : FL_S("");
	return (struct fl_str){ 0 };
}

bool fl_headers_token(struct fl_headers headers, struct fl_str name, struct fl_str token)
{
	for (uint32_t i = 0; i < headers.len; i++) {
		struct fl_str rest = headers.at[i].value, part;

		if (!fl_str_eq(headers.at[i].name, name))
			continue;
		while (fl_str_split(&rest, ',', &part))
			if (fl_str_same(fl_str_trim(part), token))
				return true;
	}
	return false;
}

/* Is there a control character among these eight? A tab is one too. */
static bool any_control(uint64_t eight)
{
	const uint64_t ones = 0x0101010101010101u, high = ones * 0x80;
	uint64_t del = eight ^ ones * 0x7f;

	return (((eight - ones * 0x20) & ~eight) | ((del - ones) & ~del)) & high;
}

bool fl_http_value_valid(struct fl_str value)
{
	uint32_t i = 0;
	uint64_t eight;

	for (; value.len - i >= sizeof eight; i += (uint32_t)sizeof eight) {
		memcpy(&eight, value.p + i, sizeof eight);
		if (any_control(eight))
			break;
	}
	for (; i < value.len; i++) {
		uint8_t c = (uint8_t)value.p[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

bool fl_http_all(struct fl_str s, enum fl_http_char kind)
{
	unsigned common = kind;

	for (uint32_t i = 0; i < s.len; i++)
		common &= fl_http_chars[(uint8_t)s.p[i]];
	return s.len > 0 && common;
}

bool fl_header_valid(const struct fl_header *header)
{
	return fl_http_all(header->name, FL_CH_NAME) && fl_http_value_valid(header->value);
}

static struct fl_str place(char **at, struct fl_str s)
{
	char *p = *at;

	if (s.len)
		memcpy(p, s.p, s.len);
	*at += s.len;
	return (struct fl_str){ s.p ? p : NULL, s.len };
}

struct fl_http_head *fl_http_head_copy(const struct fl_http_head *head)
{
	size_t size = sizeof *head + head->headers.len * sizeof(struct fl_header) + head->method.len +
		      head->scheme.len +
		      head->authority.len + head->target.len;
	struct fl_http_head *copy;
	struct fl_header *fields;
	char *at;

	for (uint32_t i = 0; i < head->headers.len; i++)
		size += (size_t)head->headers.at[i].name.len + head->headers.at[i].value.len;
	copy = fl_alloc(size);
	if (!copy)
		return NULL;
	fields = (struct fl_header *)(copy + 1);
	at = (char *)(fields + head->headers.len);
	copy->method = place(&at, head->method);
	copy->scheme = place(&at, head->scheme);
	copy->authority = place(&at, head->authority);
	copy->target = place(&at, head->target);
	copy->status = head->status;
	copy->headers = (struct fl_headers){ fields, head->headers.len };
	for (uint32_t i = 0; i < head->headers.len; i++) {
		fields[i].name = place(&at, head->headers.at[i].name);
		fields[i].value = place(&at, head->headers.at[i].value);
	}
	return copy;
}

void fl_http_target_split(struct fl_str target, struct fl_str *ret_path, struct fl_str *ret_query)
{
	int64_t mark = fl_str_find(target, '?');

	*ret_path = mark < 0 ? target : fl_str_sub(target, 0, (uint32_t)mark);
	*ret_query = mark < 0 ? FL_S("") : fl_str_sub(target, (uint32_t)mark + 1, target.len);
}

struct fl_str fl_http_reason(int status)
{
	static const struct {
		int status;
		struct fl_str reason;
	} names[] = {
		{ 100, FL_S_INIT("Continue") },
		{ 200, FL_S_INIT("OK") },
		{ 201, FL_S_INIT("Created") },
		{ 202, FL_S_INIT("Accepted") },
		{ 204, FL_S_INIT("No Content") },
		{ 301, FL_S_INIT("Moved Permanently") },
		{ 302, FL_S_INIT("Found") },
		{ 304, FL_S_INIT("Not Modified") },
		{ 307, FL_S_INIT("Temporary Redirect") },
		{ 308, FL_S_INIT("Permanent Redirect") },
		{ 400, FL_S_INIT("Bad Request") },
		{ 401, FL_S_INIT("Unauthorized") },
		{ 403, FL_S_INIT("Forbidden") },
		{ 404, FL_S_INIT("Not Found") },
		{ 405, FL_S_INIT("Method Not Allowed") },
		{ 406, FL_S_INIT("Not Acceptable") },
		{ 408, FL_S_INIT("Request Timeout") },
		{ 409, FL_S_INIT("Conflict") },
		{ 410, FL_S_INIT("Gone") },
		{ 411, FL_S_INIT("Length Required") },
		{ 412, FL_S_INIT("Precondition Failed") },
		{ 413, FL_S_INIT("Content Too Large") },
		{ 414, FL_S_INIT("URI Too Long") },
		{ 415, FL_S_INIT("Unsupported Media Type") },
		{ 417, FL_S_INIT("Expectation Failed") },
		{ 422, FL_S_INIT("Unprocessable Content") },
		{ 429, FL_S_INIT("Too Many Requests") },
		{ 431, FL_S_INIT("Request Header Fields Too Large") },
		{ 500, FL_S_INIT("Internal Server Error") },
		{ 501, FL_S_INIT("Not Implemented") },
		{ 502, FL_S_INIT("Bad Gateway") },
		{ 503, FL_S_INIT("Service Unavailable") },
		{ 504, FL_S_INIT("Gateway Timeout") },
		{ 505, FL_S_INIT("HTTP Version Not Supported") },
	};

	for (size_t i = 0; i < FL_LEN(names); i++)
		if (names[i].status == status)
			return names[i].reason;
	return FL_S("Status");
}
