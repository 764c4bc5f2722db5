/* The parser; h1_write.c writes. */
#include "http/h1.h"
#include "base/chars.h"
#include "http/chars.h"

#define FL_H1_LINE_MAX 256                  /* chunk size with extensions, which no known peer sends */

/* The parser's place in a message. */
enum {
	S_HEAD,
	S_LENGTH,       /* `left` bytes of body */
	S_SIZE,         /* a chunk's size line */
	S_CHUNK,        /* `left` bytes of it */
	S_CHUNK_END,    /* its CR LF */
	S_TRAILERS,
	S_UNTIL_CLOSE,
	S_END,          /* END must be returned */
	S_BROKEN,
};

void fl_h1_init(struct fl_h1 *h1, enum fl_h1_kind kind)
{
	*h1 = (struct fl_h1){ .kind = kind, .content_length = -1, .text = FL_BUF(FL_HTTP_HEAD_MAX) };
}

void fl_h1_free(struct fl_h1 *h1)
{
	fl_buf_free(&h1->text);
	fl_free(h1->fields);
	h1->fields = NULL;
	h1->field_cap = 0;
}

void fl_h1_expect(struct fl_h1 *h1, bool head_request)
{
	h1->no_body = head_request;
}

bool fl_h1_idle(const struct fl_h1 *h1)
{
	return h1->state == S_END || (h1->state == S_HEAD && (h1->viewed || h1->text.len == 0));
}

/* Stores the status to answer with; the caller adds the text. */
static enum fl_code refuse(struct fl_h1 *h1, int status, enum fl_code code)
{
	h1->refusal = h1->kind == FL_H1_REQUEST ? status : 0;
	return code;
}

#define BAD(h1) refuse(h1, 400, FL_E_INVALID)

static int no_memory(struct fl_h1 *h1, struct fl_err *err)
{
	return fl_fail(err, refuse(h1, 503, FL_E_NOMEM), "no memory for a head");
}

/* Is there a line end at `lf`, and was it a proper one? */
static int check_line_end(struct fl_h1 *h1, size_t lf, struct fl_err *err)
{
	if (lf == 0 || h1->text.p[lf - 1] != '\r')
		return fl_fail(err, BAD(h1), "a line ends in LF alone; it must end in CR LF");
	return 0;
}

/* Collect bytes in `text` up to a line end, or up to an empty line; later bytes stay in *in. 1: complete. */
static int gather(struct fl_h1 *h1, struct fl_str *in, bool block, size_t max, struct fl_err *err)
{
	while (in->len) {
		size_t had = h1->text.len, piece = in->len < 2048 ? in->len : 2048;
		char *lf;

		if (had >= max)
			return fl_fail(err, refuse(h1, 431, FL_E_TOOBIG), "over %zu bytes of %s", max,
				       block ? "header fields" : "chunk size");
		piece = piece < max - had ? piece : max - had;
		fl_buf_put(&h1->text, in->p, piece);
		if (h1->text.failed)
			return no_memory(h1, err);
		while ((lf = memchr(h1->text.p + h1->scanned, '\n', h1->text.len - h1->scanned)) != NULL) {
			size_t at = (size_t)(lf - h1->text.p);

			if (check_line_end(h1, at, err) < 0)
				return -FL_E_INVALID;
			h1->scanned = (uint32_t)at + 1;
			if (block && at != 1 && lf[-2] != '\n')
				continue;
			*in = fl_str_sub(*in, (uint32_t)(at + 1 - had), in->len);
			h1->text.len = at + 1;
			h1->text.p[at + 1] = 0;
			return 1;
		}
		h1->scanned = (uint32_t)h1->text.len;
		*in = fl_str_sub(*in, (uint32_t)piece, in->len);
	}
	return 0;
}

static void empty_text(struct fl_h1 *h1)
{
	fl_buf_clear(&h1->text);
	h1->scanned = 0;
	h1->head = (struct fl_http_head){ 0 };
}

/* The message is no longer needed: an idle connection holds no memory. */
static void forget(struct fl_h1 *h1)
{
	fl_h1_free(h1);
	h1->scanned = 0;
	h1->head = (struct fl_http_head){ 0 };
}

static int add_field(struct fl_h1 *h1, struct fl_header field, uint32_t *count, struct fl_err *err)
{
	if (*count == FL_HTTP_FIELDS_MAX)
		return fl_fail(err, refuse(h1, 431, FL_E_TOOBIG), "over %d header fields", FL_HTTP_FIELDS_MAX);
	if (*count == h1->field_cap) {
		uint32_t cap = h1->field_cap ? h1->field_cap * 2 : 16;
		struct fl_header *fields = fl_realloc(h1->fields, cap * sizeof *fields);

		if (!fields)
			return no_memory(h1, err);
		h1->fields = fields;
		h1->field_cap = cap;
	}
	h1->fields[(*count)++] = field;
	return 0;
}

/* "Name: value" without its line end; puts the name into lower case in place. */
static int parse_field(struct fl_h1 *h1, char *line, uint32_t len, struct fl_header *ret, struct fl_err *err)
{
	struct fl_str all = { line, len }, name;
	int64_t colon = fl_str_find(all, ':');

	if (len && (line[0] == ' ' || line[0] == '\t'))
		return fl_fail(err, BAD(h1), "a folded header line, which HTTP/1.1 forbids");
	if (colon < 0)
		return fl_fail(err, BAD(h1), "a header line without a colon");
	name = fl_str_sub(all, 0, (uint32_t)colon);
	if (!fl_http_all(name, FL_CH_TOKEN))
		return fl_fail(err, BAD(h1), "a header name with bytes that may not stand there");
	for (uint32_t i = 0; i < name.len; i++)
		if (line[i] >= 'A' && line[i] <= 'Z')
			line[i] = (char)(line[i] + ('a' - 'A'));
	ret->name = name;
	ret->value = fl_str_trim(fl_str_sub(all, (uint32_t)colon + 1, len));
	if (!fl_http_value_valid(ret->value))
		return fl_fail(err, BAD(h1), "header '%.*s' has control bytes", FL_ARG(name));
	return 0;
}

/* The lines from `at` to the empty one at the end of `text`. */
static int parse_fields(struct fl_h1 *h1, size_t at, struct fl_err *err)
{
	uint32_t count = 0;

	while (at + 2 < h1->text.len) {
		char *line = h1->text.p + at, *lf = memchr(line, '\n', h1->text.len - at);
		uint32_t len = (uint32_t)(lf - line) - 1;
		struct fl_header field;
		int result = parse_field(h1, line, len, &field, err);

		if (result == 0)
			result = add_field(h1, field, &count, err);
		if (result < 0)
			return result;
		at += len + 2;
	}
	h1->head.headers = (struct fl_headers){ h1->fields, count };
	return 0;
}

/* The only field of that name, or none (.p NULL); more than one is refused. */
static int only_field(struct fl_h1 *h1, struct fl_str name, struct fl_str *ret, struct fl_err *err)
{
	*ret = (struct fl_str){ 0 };
	for (uint32_t i = 0; i < h1->head.headers.len; i++) {
		if (!fl_str_eq(h1->head.headers.at[i].name, name))
			continue;
		if (ret->p)
			return fl_fail(err, BAD(h1), "more than one header '%.*s'", FL_ARG(name));
		*ret = h1->head.headers.at[i].value;
		ret->p = ret->p ? ret->p : "";
	}
	return 0;
}

static int parse_version(struct fl_h1 *h1, struct fl_str text, struct fl_err *err)
{
	if (text.len != 8 || !fl_str_starts(text, FL_S("HTTP/")) || text.p[6] != '.')
		return fl_fail(err, BAD(h1), "no HTTP version where one belongs");
	if (text.p[5] != '1' || (text.p[7] != '0' && text.p[7] != '1'))
		return fl_fail(err, refuse(h1, 505, FL_E_UNSUPPORTED), "%.*s is not spoken here, HTTP/1.1 is",
			       text.p[5] >= '0' && text.p[5] <= '9' ? 8 : 5, text.p);
	h1->version = text.p[7] == '1';
	return 0;
}

/* "http://host/path": sent to a proxy; its host wins over the field. */
static int parse_absolute(struct fl_h1 *h1, struct fl_str rest, struct fl_str scheme, struct fl_err *err)
{
	int64_t slash;

	rest = fl_str_sub(rest, scheme.len + 3, rest.len);
	slash = fl_str_find(rest, '/');
	h1->head.scheme = scheme;
	h1->head.authority = slash < 0 ? rest : fl_str_sub(rest, 0, (uint32_t)slash);
	h1->head.target = slash < 0 ? FL_S("/") : fl_str_sub(rest, (uint32_t)slash, rest.len);
	if (h1->head.authority.len == 0 || fl_str_find(h1->head.authority, '@') >= 0)
		return fl_fail(err, BAD(h1), "a request target without a proper host");
	return 0;
}

static int parse_target(struct fl_h1 *h1, struct fl_str target, struct fl_err *err)
{
	if (!fl_http_all(target, FL_CH_TARGET))
		return fl_fail(err, BAD(h1), "a request target with bytes that may not stand there");
	h1->head.target = target;
	if (target.p[0] == '/')
		return 0;
	if (fl_str_eq(target, FL_S("*")) && fl_str_eq(h1->head.method, FL_S("OPTIONS")))
		return 0;
	if (fl_str_starts(target, FL_S("http://")))
		return parse_absolute(h1, target, FL_S("http"), err);
	if (fl_str_starts(target, FL_S("https://")))
		return parse_absolute(h1, target, FL_S("https"), err);
	return fl_fail(err, BAD(h1), "a request target that does not begin with '/'");
}

static int parse_request_line(struct fl_h1 *h1, struct fl_str line, struct fl_err *err)
{
	int64_t first = fl_str_find(line, ' '), second;
	struct fl_str rest;
	int result;

	if (first < 0)
		return fl_fail(err, BAD(h1), "no request line");
	rest = fl_str_sub(line, (uint32_t)first + 1, line.len);
	second = fl_str_find(rest, ' ');
	if (second < 0)
		return fl_fail(err, BAD(h1), "a request line without a version");
	h1->head.method = fl_str_sub(line, 0, (uint32_t)first);
	if (!fl_http_all(h1->head.method, FL_CH_TOKEN) || h1->head.method.len > 32)
		return fl_fail(err, BAD(h1), "a malformed method");
	result = parse_version(h1, fl_str_sub(rest, (uint32_t)second + 1, rest.len), err);
	if (result < 0)
		return result;
	if (fl_str_eq(h1->head.method, FL_S("CONNECT")))
		return fl_fail(err, refuse(h1, 501, FL_E_UNSUPPORTED), "CONNECT is not served here");
	return parse_target(h1, fl_str_sub(rest, 0, (uint32_t)second), err);
}

static int parse_status_line(struct fl_h1 *h1, struct fl_str line, struct fl_err *err)
{
	int64_t status;
	int result = parse_version(h1, fl_str_sub(line, 0, 8), err);

	if (result < 0)
		return result;
	/* The blank before an empty reason is often missing. */
	if (line.len < 12 || line.p[8] != ' ' || (line.len > 12 && line.p[12] != ' ') ||
	    !fl_str_i64(fl_str_sub(line, 9, 3), &status) || status < 100 || status > 599 ||
	    !fl_http_value_valid(fl_str_sub(line, 12, line.len)))
		return fl_fail(err, BAD(h1), "no status line");
	h1->head.status = (int)status;
	return 0;
}

static int check_host(struct fl_h1 *h1, struct fl_err *err)
{
	struct fl_str host;
	int result = only_field(h1, FL_S("host"), &host, err);

	if (result < 0)
		return result;
	if (!host.p && h1->version == 1)
		return fl_fail(err, BAD(h1), "no header 'host'");
	if (host.len && (!fl_http_all(host, FL_CH_TARGET) || fl_str_find(host, '/') >= 0 ||
			 fl_str_find(host, '@') >= 0))
		return fl_fail(err, BAD(h1), "header 'host' names no host");
	if (!h1->head.authority.p)
		h1->head.authority = host;
	return 0;
}

/* Sets the state that follows the head. */
static int decide_body(struct fl_h1 *h1, struct fl_err *err)
{
	struct fl_str coding = { 0 }, length = { 0 };
	uint64_t bytes = 0;
	int result = only_field(h1, FL_S("transfer-encoding"), &coding, err);

	if (result == 0)
		result = only_field(h1, FL_S("content-length"), &length, err);
	if (result < 0)
		return result;
	if (coding.p && length.p)
		return fl_fail(err, BAD(h1), "both content-length and transfer-encoding: where does the body end?");
	if (coding.p && h1->version == 0)
		return fl_fail(err, BAD(h1), "transfer-encoding in HTTP/1.0");
	if (coding.p && !fl_str_same(coding, FL_S("chunked")))
		return fl_fail(err, refuse(h1, 501, FL_E_UNSUPPORTED),
			       "transfer-encoding '%.*s'; only chunked is known",
			       FL_ARG(coding));
	if (length.p && (length.len > 18 || !fl_str_u64(length, &bytes)))
		return fl_fail(err, BAD(h1), "content-length '%.*s' is no length", FL_ARG(length));
	h1->content_length = length.p ? (int64_t)bytes : -1;
	h1->has_body = coding.p || h1->content_length > 0;
	h1->state = coding.p ? S_SIZE : h1->content_length > 0 ? S_LENGTH : S_END;
	h1->left = length.p ? bytes : 0;
	return 0;
}

static int finish_request(struct fl_h1 *h1, struct fl_err *err)
{
	struct fl_str expect = { 0 };
	int result = check_host(h1, err);

	if (result == 0)
		result = decide_body(h1, err);
	if (result == 0)
		result = only_field(h1, FL_S("expect"), &expect, err);
	if (result < 0)
		return result;
	if (expect.p && !fl_str_same(expect, FL_S("100-continue")))
		return fl_fail(err, refuse(h1, 417, FL_E_UNSUPPORTED), "expect '%.*s' cannot be met", FL_ARG(expect));
	h1->expect_continue = expect.p && h1->version == 1 && h1->has_body;
	return FL_H1_HEAD;
}

static int finish_response(struct fl_h1 *h1, struct fl_err *err)
{
	int status = h1->head.status, result = decide_body(h1, err);

	if (result < 0)
		return result;
	if (status == 101)
		return fl_fail(err, BAD(h1), "the server switches to another protocol without a request to");
	if (status < 200) {
		h1->state = S_HEAD;
		h1->has_body = false;
	} else if (h1->no_body || status == 204 || status == 304) {
		h1->state = S_END;
		h1->has_body = false;
	} else if (h1->state == S_END && h1->content_length < 0) {
		h1->state = S_UNTIL_CLOSE;
		h1->has_body = true;
		h1->keep_alive = false;
	}
	return FL_H1_HEAD;
}

static int next_head(struct fl_h1 *h1, struct fl_str *in, struct fl_err *err)
{
	int result;
	uint32_t line;

	if (in->len && h1->text.len == 0 && !(fl_http_chars[(uint8_t)in->p[0]] & FL_CH_TOKEN))
		return fl_fail(err, BAD(h1), "%s", in->p[0] == 0x16 ? "TLS where plain HTTP is spoken" :
			"this is not HTTP");
	result = gather(h1, in, true, FL_HTTP_HEAD_MAX, err);
	if (result <= 0)
		return result;
	line = (uint32_t)((char *)memchr(h1->text.p, '\n', h1->text.len) - h1->text.p) - 1;
	result = h1->kind == FL_H1_REQUEST ? parse_request_line(h1, (struct fl_str){ h1->text.p, line }, err) :
					     parse_status_line(h1, (struct fl_str){ h1->text.p, line }, err);
	if (result == 0)
		result = parse_fields(h1, line + 2u, err);
	if (result < 0)
		return result;
	h1->keep_alive = h1->version == 1 ? !fl_headers_token(h1->head.headers, FL_S("connection"), FL_S("close")) :
					    fl_headers_token(h1->head.headers, FL_S("connection"), FL_S("keep-alive"));
	return h1->kind == FL_H1_REQUEST ? finish_request(h1, err) : finish_response(h1, err);
}

/* Up to `left` bytes of the input. */
static int next_data(struct fl_h1 *h1, struct fl_str *in, uint8_t then)
{
	h1->data = fl_str_sub(*in, 0, h1->left < in->len ? (uint32_t)h1->left : in->len);
	*in = fl_str_sub(*in, h1->data.len, in->len);
	h1->left -= h1->data.len;
	if (h1->left == 0)
		h1->state = then;
	return h1->data.len ? FL_H1_DATA : FL_H1_MORE;
}

static int next_size(struct fl_h1 *h1, struct fl_str *in, struct fl_err *err)
{
	uint32_t digits = 0, len;
	int result = gather(h1, in, false, FL_H1_LINE_MAX, err);

	if (result <= 0)
		return result;
	len = (uint32_t)h1->text.len - 2;
	for (h1->left = 0; digits < len && fl_hex_digit(h1->text.p[digits]) >= 0; digits++)
		h1->left = h1->left << 4 | (uint64_t)fl_hex_digit(h1->text.p[digits]);
	/* 15 digits: sums of such lengths stay within 64 bits. */
	if (digits == 0 || digits > 15 || (digits < len && h1->text.p[digits] != ';') ||
	    !fl_http_value_valid((struct fl_str){ h1->text.p + digits, len - digits }))
		return fl_fail(err, BAD(h1), "a chunk without a proper size");
	empty_text(h1);
	h1->state = h1->left ? S_CHUNK : S_TRAILERS;
	return 1;
}

static int next_chunk_end(struct fl_h1 *h1, struct fl_str *in, struct fl_err *err)
{
	int result = gather(h1, in, false, 2, err);

	if (result == -FL_E_TOOBIG || (h1->text.len && h1->text.p[0] != '\r'))
		return fl_fail(err, BAD(h1), "a chunk that is longer than its size");
	if (result <= 0)
		return result;
	empty_text(h1);
	h1->state = S_SIZE;
	return 1;
}

/* Trailers must not hold fields that change how the message is read. */
static const struct fl_str no_trailers[] = {
	FL_S_INIT("content-length"), FL_S_INIT("transfer-encoding"), FL_S_INIT("host"), FL_S_INIT("connection"),
	FL_S_INIT("authorization"), FL_S_INIT("content-type"),
};

static int next_trailers(struct fl_h1 *h1, struct fl_str *in, struct fl_err *err)
{
	int result = gather(h1, in, true, FL_HTTP_HEAD_MAX, err);

	if (result <= 0)
		return result;
	result = parse_fields(h1, 0, err);
	if (result < 0)
		return result;
	for (size_t i = 0; i < FL_LEN(no_trailers); i++)
		if (fl_headers_get(h1->head.headers, no_trailers[i]).p)
			return fl_fail(err, BAD(h1), "'%.*s' among the trailers", FL_ARG(no_trailers[i]));
	h1->state = S_HEAD;
	return FL_H1_END;
}

static int step(struct fl_h1 *h1, struct fl_str *in, struct fl_err *err)
{
	switch (h1->state) {
	case S_HEAD:
		return next_head(h1, in, err);
	case S_LENGTH:
		return next_data(h1, in, S_END);
	case S_CHUNK:
		return next_data(h1, in, S_CHUNK_END);
	case S_TRAILERS:
		return next_trailers(h1, in, err);
	case S_UNTIL_CLOSE:
		h1->left = UINT64_MAX;
		return next_data(h1, in, S_UNTIL_CLOSE);
	case S_END:
		forget(h1);
		h1->state = S_HEAD;
		return FL_H1_END;
	case S_BROKEN:
		return fl_fail(err, FL_E_INVALID, "the connection is broken");
	}
	return 0;
}

int fl_h1_next(struct fl_h1 *h1, struct fl_str *in, struct fl_err *err)
{
	int result = 1;

	h1->data = (struct fl_str){ 0 };
	if (h1->viewed && h1->state == S_HEAD)
		forget(h1);
	if (h1->viewed)
		empty_text(h1);
	h1->viewed = false;
	while (result == 1 && (h1->state == S_SIZE || h1->state == S_CHUNK_END))
		result = h1->state == S_SIZE ? next_size(h1, in, err) : next_chunk_end(h1, in, err);
	if (result == 1) {
		result = step(h1, in, err);
		h1->viewed = result == FL_H1_HEAD || (result == FL_H1_END && h1->text.len);
	}
	if (result < 0)
		h1->state = S_BROKEN;
	return result;
}

int fl_h1_eof(struct fl_h1 *h1, struct fl_err *err)
{
	if (h1->state == S_UNTIL_CLOSE || h1->state == S_END) {
		forget(h1);
		h1->state = S_BROKEN;
		return FL_H1_END;
	}
	if (fl_h1_idle(h1))
		return FL_H1_MORE;
	h1->state = S_BROKEN;
	return fl_fail(err, FL_E_CLOSED, "the connection was closed in the middle of a message");
}
