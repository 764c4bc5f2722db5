#include "json/quantity.h"
#include "json/write.h"

FL_NAMES(fl_quantity_format_names, FL_QUANTITY_FORMAT_COUNT_,
	 [FL_QUANTITY_DECIMAL] = "DecimalSI", [FL_QUANTITY_BINARY] = "BinarySI",
	 [FL_QUANTITY_EXPONENT] = "DecimalExponent");

_Static_assert(sizeof(struct fl_quantity) == 16, "a quantity is two words");

typedef __int128 wide;
typedef unsigned __int128 uwide;

#define NANO (-9)
#define SCALE_MAX 100   /* of what is stored; printing needs a digit for each */

static const wide wide_max = (wide)(~(uwide)0 >> 1);

/* ---- numbers ---- */

static wide mantissa(struct fl_quantity q)
{
	return (wide)((uwide)(wide)q.high << 64 | q.low);
}

static uwide size_of(wide m)
{
	return m < 0 ? -(uwide)m : (uwide)m;
}

/* m x 10^n; false when it does not fit. */
static bool times_ten(wide *m, int n)
{
	wide v = *m;

	if (v == 0)
		return true;
	for (; n > 0; n--)
		if (__builtin_mul_overflow(v, (wide)10, &v))
			return false;
	*m = v;
	return true;
}

/* m / 10^n, rounded away from zero. */
static wide over_ten(wide m, int n)
{
	uwide v = size_of(m);
	bool rest = false;

	for (; n > 0 && v; n--) {
		rest |= v % 10 != 0;
		v /= 10;
	}
	v += rest;
	return m < 0 ? -(wide)v : (wide)v;
}

static bool fits(wide m)
{
	return m >> 95 == 0 || m >> 95 == -1;
}

/* Put a number together; false when it has too many digits. */
static bool put(wide m, int scale, enum fl_quantity_format format, struct fl_quantity *ret)
{
	/* So large a power is given without the zeros before it, as it will be printed. */
	while ((!fits(m) || scale > SCALE_MAX / 2) && m && m % 10 == 0) {
		m /= 10;
		scale++;
	}
	if (m == 0)
		scale = 0;
	if (!fits(m) || scale > SCALE_MAX)
		return false;
	*ret = (struct fl_quantity){ (uint64_t)m, (int32_t)(m >> 64), (int8_t)scale, (uint8_t)format };
	return true;
}

int64_t fl_quantity_value(struct fl_quantity q)
{
	wide m = mantissa(q);

	if (q.scale < 0)
		m = over_ten(m, -q.scale);
	else if (!times_ten(&m, q.scale))
		return m < 0 ? INT64_MIN : INT64_MAX;
	return m > INT64_MAX ? INT64_MAX : m < INT64_MIN ? INT64_MIN : (int64_t)m;
}

int fl_quantity_cmp(struct fl_quantity a, struct fl_quantity b)
{
	wide x = mantissa(a), y = mantissa(b);

	/* What does not fit at the other's scale is larger than anything that fits. */
	if (a.scale > b.scale && !times_ten(&x, a.scale - b.scale))
		return x < 0 ? -1 : 1;
	if (b.scale > a.scale && !times_ten(&y, b.scale - a.scale))
		return y < 0 ? 1 : -1;
	return (x > y) - (x < y);
}

/* ---- reading ---- */

static const struct suffix {
	struct fl_str text;
	enum fl_quantity_format format;
	int8_t power;       /* of ten, or of two */
} suffixes[] = {
	{ FL_S_INIT(""), FL_QUANTITY_DECIMAL, 0 },   { FL_S_INIT("m"), FL_QUANTITY_DECIMAL, -3 },
	{ FL_S_INIT("Mi"), FL_QUANTITY_BINARY, 20 }, { FL_S_INIT("Gi"), FL_QUANTITY_BINARY, 30 },
	{ FL_S_INIT("Ki"), FL_QUANTITY_BINARY, 10 }, { FL_S_INIT("k"), FL_QUANTITY_DECIMAL, 3 },
	{ FL_S_INIT("M"), FL_QUANTITY_DECIMAL, 6 },  { FL_S_INIT("G"), FL_QUANTITY_DECIMAL, 9 },
	{ FL_S_INIT("Ti"), FL_QUANTITY_BINARY, 40 }, { FL_S_INIT("T"), FL_QUANTITY_DECIMAL, 12 },
	{ FL_S_INIT("Pi"), FL_QUANTITY_BINARY, 50 }, { FL_S_INIT("P"), FL_QUANTITY_DECIMAL, 15 },
	{ FL_S_INIT("Ei"), FL_QUANTITY_BINARY, 60 }, { FL_S_INIT("E"), FL_QUANTITY_DECIMAL, 18 },
	{ FL_S_INIT("u"), FL_QUANTITY_DECIMAL, -6 }, { FL_S_INIT("n"), FL_QUANTITY_DECIMAL, -9 },
};

static bool read_suffix(struct fl_str s, enum fl_quantity_format *format, int *power)
{
	bool plus = s.len > 1 && s.p[1] == '+';
	int64_t exponent;

	for (size_t i = 0; i < FL_LEN(suffixes); i++) {
		if (!fl_str_eq(s, suffixes[i].text))
			continue;
		*format = suffixes[i].format;
		*power = suffixes[i].power;
		return true;
	}
	if (s.len < 2 || (s.p[0] != 'e' && s.p[0] != 'E') || !fl_str_i64(fl_str_sub(s, 1 + plus, s.len), &exponent) ||
	    (plus && s.p[2] == '-') || exponent > INT32_MAX || exponent < INT32_MIN)
		return false;
	*format = FL_QUANTITY_EXPONENT;
	*power = (int)exponent;
	return true;
}

/* The digits at the front of *rest, put behind those in *m; false when they are too many. */
static bool read_digits(struct fl_str *rest, wide *m, uint32_t *ret_count)
{
	uint32_t i = 0;
	bool ok = true;

	for (; i < rest->len && rest->p[i] >= '0' && rest->p[i] <= '9'; i++)
		ok = ok && !__builtin_mul_overflow(*m, (wide)10, m) &&
		     !__builtin_add_overflow(*m, (wide)(rest->p[i] - '0'), m);
	*ret_count = i;
	*rest = fl_str_sub(*rest, i, rest->len);
	return ok;
}

/* m x 2^power x 10^scale, at most 2^63-1; false when it needs more digits than there are. */
static bool binary(wide *m, int *scale, int power)
{
	wide shifted;

	if (__builtin_mul_overflow(*m, (wide)1 << power, &shifted)) {
		if (over_ten(*m, -*scale) - 1 <= INT64_MAX >> power)
			return false;
		shifted = wide_max;
		*scale = 0;
	}
	*m = shifted;
	if (*scale < NANO) {
		*m = over_ten(*m, NANO - *scale);
		*scale = NANO;
	}
	shifted = (wide)INT64_MAX;
	if (times_ten(&shifted, -*scale) && *m > shifted) {
		*m = INT64_MAX;
		*scale = 0;
	}
	return true;
}

static int refuse(struct fl_str text, const char *what, struct fl_err *err)
{
	return fl_fail(err, FL_E_INVALID,
		       "quantity '%.*s': %s; write a number and, if you like, one of n u m k M G T P E, Ki Mi Gi Ti "
		       "Pi Ei, or an exponent like e3",
		       FL_ARG(text), what);
}

int fl_quantity_parse(struct fl_str text, struct fl_quantity *ret, struct fl_err *err)
{
	struct fl_str rest = text;
	bool negative = text.len && text.p[0] == '-', fit, less_than_one;
	enum fl_quantity_format format;
	uint32_t before, after = 0;
	int power, scale;
	wide m = 0, one = 1;

	if (text.len == 0)
		return refuse(text, "is empty", err);
	if (negative || rest.p[0] == '+')
		rest = fl_str_sub(rest, 1, rest.len);
	fit = read_digits(&rest, &m, &before);
	if (rest.len && rest.p[0] == '.') {
		rest = fl_str_sub(rest, 1, rest.len);
		fit = read_digits(&rest, &m, &after) && fit;
	}
	if (!read_suffix(rest, &format, &power))
		return refuse(text, "what stands behind the number is no suffix", err);
	/* As Kubernetes: no digits are 0, except for suffixes with which it takes its slow path. */
	if (before + after == 0 && (power < NANO || (format == FL_QUANTITY_BINARY && power >= 50)))
		return refuse(text, "has no digits", err);
	scale = -(int)after;
	while (fit && after && m && m % 10 == 0 && scale < 0) {
		m /= 10;
		scale++;
	}
	if (fit && format == FL_QUANTITY_BINARY) {
		fit = binary(&m, &scale, power);
		less_than_one = times_ten(&one, -scale) && m && m < one;
		format = less_than_one ? FL_QUANTITY_DECIMAL : format;
	} else if (fit) {
		scale = power < INT32_MIN / 2 ? INT32_MIN / 2 : scale + power;
		if (scale < NANO) {
			m = over_ten(m, NANO - scale);
			scale = NANO;
		}
	}
	if (!fit || !put(negative ? -m : m, scale, format, ret))
		return fl_fail(err, FL_E_TOOBIG, "quantity '%.*s' has more digits than a quantity can hold (28)",
			       FL_ARG(text));
	return 0;
}

int fl_quantity_of_json(const yyjson_val *val, struct fl_quantity *ret, struct fl_err *err)
{
	yyjson_val *v = (yyjson_val *)(uintptr_t)val;
	char number[FL_DOUBLE_TEXT];
	struct fl_str text;
	wide m;

	if (fl_json_str(val, &text))
		return fl_quantity_parse(fl_str_trim(text), ret, err);
	if (yyjson_is_int(v)) {
		m = yyjson_is_uint(v) ? (wide)unsafe_yyjson_get_uint(v) : (wide)unsafe_yyjson_get_sint(v);
		*ret = (struct fl_quantity){ (uint64_t)m, (int32_t)(m >> 64), 0, FL_QUANTITY_DECIMAL };
		return 0;
	}
	if (!yyjson_is_real(v))
		return fl_fail(err, FL_E_INVALID, "a quantity is a text or a number, this is %s", fl_json_kind(val));
	text = (struct fl_str){ number, fl_json_double(unsafe_yyjson_get_real(v), number) };
	return fl_quantity_parse(text, ret, err);
}

/* ---- printing ---- */

static uint32_t print(wide m, int zeros, struct fl_str suffix, char *text)
{
	char digits[48], *from = digits + sizeof digits, *out = text;
	uwide v = size_of(m);

	do
		*--from = (char)('0' + (int)(v % 10));
	while (v /= 10);
	if (m < 0)
		*out++ = '-';
	out = mempcpy(out, from, (size_t)(digits + sizeof digits - from));
	for (; zeros > 0; zeros--)
		*out++ = '0';
	if (suffix.len)
		out = mempcpy(out, suffix.p, suffix.len);
	return (uint32_t)(out - text);
}

static struct fl_str suffix_of(enum fl_quantity_format format, int power)
{
	for (size_t i = 0; i < FL_LEN(suffixes); i++)
		if (suffixes[i].format == format && suffixes[i].power == power)
			return suffixes[i].text;
	return FL_S("");
}

/* With a binary suffix: only whole numbers from 1024 on. */
static bool print_binary(struct fl_quantity q, char *text, uint32_t *ret_len)
{
	wide m = mantissa(q);
	int power = 0;

	if (q.scale < 0) {
		wide whole = over_ten(m, -q.scale), back = whole;

		if (!times_ten(&back, -q.scale) || back != m)
			return false;
		m = whole;
	} else if (!times_ten(&m, q.scale)) {
		return false;
	}
	if (size_of(m) < 1024)
		return false;
	for (; m % 1024 == 0 && power < 60; power += 10)
		m /= 1024;
	*ret_len = print(m, 0, power ? suffix_of(FL_QUANTITY_BINARY, power) : FL_S(""), text);
	return true;
}

uint32_t fl_quantity_print(struct fl_quantity q, char text[FL_QUANTITY_TEXT])
{
	enum fl_quantity_format format = (enum fl_quantity_format)q.format;
	wide m = mantissa(q);
	int power = q.scale, zeros;
	char exponent[8];
	uint32_t len;

	if (m == 0)
		return print(0, 0, FL_S(""), text);
	if (format == FL_QUANTITY_BINARY) {
		if (print_binary(q, text, &len))
			return len;
		format = FL_QUANTITY_DECIMAL;
	}
	for (; m % 10 == 0; power++)
		m /= 10;
	/* The power is a multiple of three; SI has no suffix beyond E. */
	zeros = ((power % 3) + 3) % 3;
	if (format == FL_QUANTITY_DECIMAL && power - zeros > 18)
		zeros = power - 18;
	power -= zeros;
	if (format == FL_QUANTITY_DECIMAL)
		return print(m, zeros, suffix_of(format, power), text);
	len = print(power, 0, FL_S(""), exponent + 1);
	exponent[0] = 'e';
	return print(m, zeros, (struct fl_str){ exponent, power ? len + 1 : 0 }, text);
}
