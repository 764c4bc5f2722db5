#include "grpc/wire.h"
#include "base/chars.h"
#include "base/units.h"
#include <stdio.h>

FL_NAMES(fl_grpc_status_names, FL_GRPC_COUNT_,
	 [FL_GRPC_OK] = "OK", [FL_GRPC_CANCELLED] = "Canceled", [FL_GRPC_UNKNOWN] = "Unknown",
	 [FL_GRPC_INVALID_ARGUMENT] = "InvalidArgument", [FL_GRPC_DEADLINE_EXCEEDED] = "DeadlineExceeded",
	 [FL_GRPC_NOT_FOUND] = "NotFound", [FL_GRPC_ALREADY_EXISTS] = "AlreadyExists",
	 [FL_GRPC_PERMISSION_DENIED] = "PermissionDenied", [FL_GRPC_RESOURCE_EXHAUSTED] = "ResourceExhausted",
	 [FL_GRPC_FAILED_PRECONDITION] = "FailedPrecondition", [FL_GRPC_ABORTED] = "Aborted",
	 [FL_GRPC_OUT_OF_RANGE] = "OutOfRange", [FL_GRPC_UNIMPLEMENTED] = "Unimplemented",
	 [FL_GRPC_INTERNAL] = "Internal", [FL_GRPC_UNAVAILABLE] = "Unavailable", [FL_GRPC_DATA_LOSS] = "DataLoss",
	 [FL_GRPC_UNAUTHENTICATED] = "Unauthenticated");

/* ---- messages ---- */

static uint32_t length_of(const char *prefix)
{
	const uint8_t *p = (const uint8_t *)prefix;

	return (uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 8 | p[4];
}

static int check_prefix(struct fl_grpc_frames *frames, const char *prefix, struct fl_err *err)
{
	frames->refused = true;
	if (prefix[0] != 0)
		return fl_fail(err, FL_E_UNSUPPORTED, "a compressed message; only identity is understood");
	if (length_of(prefix) > frames->max)
		return fl_fail(err, FL_E_TOOBIG, "received message larger than max (%u vs. %zu)", length_of(prefix),
			       frames->max);
	frames->refused = false;
	return 0;
}

/* Move bytes from *in until `want` are held. */
static int hold(struct fl_grpc_frames *frames, struct fl_str *in, size_t want, struct fl_err *err)
{
	size_t more = want > frames->held.len ? want - frames->held.len : 0;

	if (more > in->len)
		more = in->len;
	frames->held.max = frames->max + FL_GRPC_PREFIX;
	fl_buf_put(&frames->held, in->p, more);
	if (fl_buf_check(&frames->held, "gRPC message", err) < 0)
		return -(int)frames->held.failed;
	*in = fl_str_sub(*in, (uint32_t)more, in->len);
	return frames->held.len >= want;
}

/* A message that lies whole in *in is given as it lies there. */
static int next_in_place(struct fl_grpc_frames *frames, struct fl_str *in, struct fl_str *ret_message,
			 struct fl_err *err)
{
	int result = check_prefix(frames, in->p, err);
	uint32_t len;

	if (result < 0)
		return result;
	len = length_of(in->p);
	if (in->len - FL_GRPC_PREFIX < len)
		return 0;
	*ret_message = fl_str_sub(*in, FL_GRPC_PREFIX, len);
	*in = fl_str_sub(*in, FL_GRPC_PREFIX + len, in->len);
	return 1;
}

int fl_grpc_next(struct fl_grpc_frames *frames, struct fl_str *in, struct fl_str *ret_message, struct fl_err *err)
{
	bool given = frames->held.len >= FL_GRPC_PREFIX &&
		     frames->held.len == FL_GRPC_PREFIX + (size_t)length_of(frames->held.p);
	int result;

	if (frames->refused)
		return fl_fail(err, FL_E_INVALID, "the stream was refused before");
	if (given)
		fl_buf_clear(&frames->held);   /* what the call before gave */
	if (frames->held.len == 0 && in->len >= FL_GRPC_PREFIX) {
		result = next_in_place(frames, in, ret_message, err);
		if (result != 0)
			return result;
	}
	result = hold(frames, in, FL_GRPC_PREFIX, err);
	if (result <= 0)
		return result;
	result = check_prefix(frames, frames->held.p, err);
	if (result < 0)
		return result;
	result = hold(frames, in, FL_GRPC_PREFIX + (size_t)length_of(frames->held.p), err);
	if (result <= 0)
		return result;
	*ret_message = fl_str_sub(fl_buf_view(&frames->held), FL_GRPC_PREFIX, length_of(frames->held.p));
	return 1;
}

bool fl_grpc_frames_whole(const struct fl_grpc_frames *frames)
{
	return frames->held.len == 0 || (frames->held.len >= FL_GRPC_PREFIX &&
					 frames->held.len == FL_GRPC_PREFIX + (size_t)length_of(frames->held.p));
}

void fl_grpc_frames_free(struct fl_grpc_frames *frames)
{
	fl_buf_free(&frames->held);
}

void fl_grpc_prefix(uint32_t len, uint8_t ret[static FL_GRPC_PREFIX])
{
	ret[0] = 0;
	ret[1] = (uint8_t)(len >> 24);
	ret[2] = (uint8_t)(len >> 16);
	ret[3] = (uint8_t)(len >> 8);
	ret[4] = (uint8_t)len;
}

/* ---- status ---- */

void fl_grpc_escape(struct fl_buf *out, struct fl_str text)
{
	for (uint32_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (c >= 0x20 && c <= 0x7e && c != '%')
			fl_buf_char(out, (char)c);
		else
			fl_buf_printf(out, "%%%02X", c);
	}
}

void fl_grpc_unescape(struct fl_buf *out, struct fl_str text)
{
	for (uint32_t i = 0; i < text.len; i++) {
		bool coded = text.p[i] == '%' && text.len - i > 2;
		int high = coded ? fl_hex_digit(text.p[i + 1]) : -1, low = coded ? fl_hex_digit(text.p[i + 2]) : -1;

		if (high >= 0 && low >= 0) {
			fl_buf_char(out, (char)(high << 4 | low));
			i += 2;
		} else {
			fl_buf_char(out, text.p[i]);
		}
	}
}

enum fl_grpc_status fl_grpc_status_parse(struct fl_str text)
{
	uint64_t value;

	if (text.len > 2 || !fl_str_u64(text, &value) || value >= FL_GRPC_COUNT_)
		return FL_GRPC_UNKNOWN;
	return (enum fl_grpc_status)value;
}

struct pair {
	uint32_t from;
	enum fl_grpc_status to;
};

static enum fl_grpc_status look_up(const struct pair *pairs, size_t len, uint32_t from, enum fl_grpc_status otherwise)
{
	for (size_t i = 0; i < len; i++)
		if (pairs[i].from == from)
			return pairs[i].to;
	return otherwise;
}

enum fl_grpc_status fl_grpc_status_of_http(int http_status)
{
	static const struct pair pairs[] = {
		{ 400, FL_GRPC_INTERNAL },      { 401, FL_GRPC_UNAUTHENTICATED }, { 403, FL_GRPC_PERMISSION_DENIED },
		{ 404, FL_GRPC_UNIMPLEMENTED }, { 429, FL_GRPC_UNAVAILABLE },     { 502, FL_GRPC_UNAVAILABLE },
		{ 503, FL_GRPC_UNAVAILABLE },   { 504, FL_GRPC_UNAVAILABLE },
	};

	return look_up(pairs, FL_LEN(pairs), (uint32_t)http_status, FL_GRPC_UNKNOWN);
}

enum fl_grpc_status fl_grpc_status_of_reset(uint32_t h2_error, bool past_deadline)
{
	static const struct pair pairs[] = {
		{ 3 /* FLOW_CONTROL_ERROR */, FL_GRPC_RESOURCE_EXHAUSTED },
		{ 7 /* REFUSED_STREAM */, FL_GRPC_UNAVAILABLE },
		{ 11 /* ENHANCE_YOUR_CALM */, FL_GRPC_RESOURCE_EXHAUSTED },
		{ 12 /* INADEQUATE_SECURITY */, FL_GRPC_PERMISSION_DENIED },
	};

	if (h2_error == 8 /* CANCEL */)
		return past_deadline ? FL_GRPC_DEADLINE_EXCEEDED : FL_GRPC_CANCELLED;
	return look_up(pairs, FL_LEN(pairs), h2_error, FL_GRPC_INTERNAL);
}

/* One table serves both ways; the first row that fits decides. */
static const struct {
	enum fl_code code;
	enum fl_grpc_status status;
} codes[] = {
	{ FL_OK, FL_GRPC_OK },
	{ FL_E_INVALID, FL_GRPC_INVALID_ARGUMENT },
	{ FL_E_NOTFOUND, FL_GRPC_NOT_FOUND },
	{ FL_E_EXISTS, FL_GRPC_ALREADY_EXISTS },
	{ FL_E_CONFLICT, FL_GRPC_ABORTED },
	{ FL_E_CONFLICT, FL_GRPC_FAILED_PRECONDITION },
	{ FL_E_DENIED, FL_GRPC_PERMISSION_DENIED },
	{ FL_E_DENIED, FL_GRPC_UNAUTHENTICATED },
	{ FL_E_TOOBIG, FL_GRPC_RESOURCE_EXHAUSTED },
	{ FL_E_TOOBIG, FL_GRPC_OUT_OF_RANGE },
	{ FL_E_NOMEM, FL_GRPC_RESOURCE_EXHAUSTED },
	{ FL_E_RETRY, FL_GRPC_UNAVAILABLE },
	{ FL_E_AGAIN, FL_GRPC_UNAVAILABLE },
	{ FL_E_CLOSED, FL_GRPC_UNAVAILABLE },
	{ FL_E_CLOSED, FL_GRPC_CANCELLED },
	{ FL_E_TIMEOUT, FL_GRPC_DEADLINE_EXCEEDED },
	{ FL_E_UNSUPPORTED, FL_GRPC_UNIMPLEMENTED },
	{ FL_E_CORRUPT, FL_GRPC_DATA_LOSS },
	{ FL_E_IO, FL_GRPC_INTERNAL },
};

enum fl_grpc_status fl_grpc_status_of_code(enum fl_code code)
{
	for (size_t i = 0; i < FL_LEN(codes); i++)
		if (codes[i].code == code)
			return codes[i].status;
	return FL_GRPC_UNKNOWN;
}

enum fl_grpc_status fl_grpc_status_of_bytes(enum fl_code code)
{
	return code == FL_E_INVALID ? FL_GRPC_INTERNAL : fl_grpc_status_of_code(code);
}

enum fl_code fl_grpc_code_of_status(enum fl_grpc_status status)
{
	for (size_t i = 0; i < FL_LEN(codes); i++)
		if (codes[i].status == status)
			return codes[i].code;
	return FL_E_IO;
}

/* ---- grpc-timeout ---- */

static const struct {
	char unit;
	uint64_t ns;
} units[] = {   /* finest first */
	{ 'n', 1 },           { 'u', 1000 },          { 'm', FL_NS_PER_MS },
	{ 'S', FL_NS_PER_S }, { 'M', 60 * FL_NS_PER_S }, { 'H', 3600 * FL_NS_PER_S },
};
static const uint64_t timeout_digits_max = 99999999;

bool fl_grpc_timeout_parse(struct fl_str text, uint64_t *ret_ns)
{
	uint64_t number;

	if (text.len < 2 || text.len > 9 || !fl_str_u64(fl_str_sub(text, 0, text.len - 1), &number))
		return false;
	for (size_t i = 0; i < FL_LEN(units); i++) {
		if (units[i].unit != text.p[text.len - 1])
			continue;
		if (__builtin_mul_overflow(number, units[i].ns, ret_ns))
			*ret_ns = UINT64_MAX;
		return true;
	}
	return false;
}

struct fl_str fl_grpc_timeout_print(uint64_t ns, char buf[static 16])
{
	size_t i = 0;

	while (i + 1 < FL_LEN(units) && ns / units[i].ns >= timeout_digits_max)
		i++;
	(void)snprintf(buf, 16, "%llu%c", (unsigned long long)(ns / units[i].ns + (ns % units[i].ns != 0)),
		       units[i].unit);
	return fl_str(buf);
}
