#include "http/chars.h"
#include "http/h1.h"

static const struct fl_str ours[] = {
	FL_S_INIT("host"), FL_S_INIT("connection"), FL_S_INIT("content-length"), FL_S_INIT("transfer-encoding"),
};

static int put_fields(struct fl_buf *out, struct fl_headers headers, struct fl_err *err)
{
	for (uint32_t i = 0; i < headers.len; i++) {
		const struct fl_header *field = &headers.at[i];

		if (!fl_header_valid(field))
			return fl_fail(err, FL_E_INVALID,
				       "header '%.*s' cannot be sent: bytes that may not stand there",
				       FL_ARG(field->name));
		for (size_t o = 0; o < FL_LEN(ours); o++)
			if (fl_str_eq(field->name, ours[o]))
				return fl_fail(err, FL_E_INVALID, "header '%.*s' is written by the connection",
					       FL_ARG(field->name));
		fl_buf_str(out, field->name);
		fl_buf_put(out, ": ", 2);
		fl_buf_str(out, field->value);
		fl_buf_put(out, "\r\n", 2);
	}
	return 0;
}

static void put_framing(struct fl_buf *out, int64_t content_length)
{
	if (content_length >= 0)
		fl_buf_printf(out, "content-length: %lld\r\n", (long long)content_length);
	else if (content_length == FL_H1_CHUNKED)
		fl_buf_str(out, FL_S("transfer-encoding: chunked\r\n"));
}

int fl_h1_put_request(struct fl_buf *out, const struct fl_http_head *head, int64_t content_length, struct fl_err *err)
{
	int result;

	if (!fl_http_all(head->method, FL_CH_TOKEN) || !fl_http_all(head->target, FL_CH_TARGET) ||
	    (head->authority.len && !fl_http_all(head->authority, FL_CH_TARGET)))
		return fl_fail(err, FL_E_INVALID, "a request with bytes that may not stand in its first line");
	fl_buf_str(out, head->method);
	fl_buf_char(out, ' ');
	fl_buf_str(out, head->target);
	fl_buf_str(out, FL_S(" HTTP/1.1\r\nhost: "));
	fl_buf_str(out, head->authority);
	fl_buf_str(out, FL_S("\r\n"));
	put_framing(out, content_length);
	result = put_fields(out, head->headers, err);
	if (result < 0)
		return result;
	fl_buf_put(out, "\r\n", 2);
	return fl_buf_check(out, "request head", err);
}

int fl_h1_put_response(struct fl_buf *out, const struct fl_http_head *head, int64_t content_length, bool close,
		       struct fl_err *err)
{
	int result;

	fl_buf_printf(out, "HTTP/1.1 %03d %.*s\r\n", head->status, FL_ARG(fl_http_reason(head->status)));
	if (head->status >= 200)
		put_framing(out, content_length);
	if (close)
		fl_buf_str(out, FL_S("connection: close\r\n"));
	result = put_fields(out, head->headers, err);
	if (result < 0)
		return result;
	fl_buf_put(out, "\r\n", 2);
	return fl_buf_check(out, "response head", err);
}

size_t fl_h1_chunk_before(char *into, size_t len)
{
	char digits[16];
	size_t count = 0, at = 0;

	do
		digits[count++] = "0123456789abcdef"[len & 15];
	while ((len >>= 4) != 0);
	while (count)
		into[at++] = digits[--count];
	into[at++] = '\r';
	into[at++] = '\n';
	return at;
}

int fl_h1_put_last_chunk(struct fl_buf *out, struct fl_headers trailers, struct fl_err *err)
{
	int result;

	fl_buf_str(out, FL_S("0\r\n"));
	result = put_fields(out, trailers, err);
	if (result < 0)
		return result;
	fl_buf_put(out, "\r\n", 2);
	return fl_buf_check(out, "trailers", err);
}
