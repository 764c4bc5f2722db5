#include "base/units.h"
#include "base/buf.h"
#include "base/chars.h"
#include <inttypes.h>

static const struct {
	struct fl_str name;
	uint64_t ns;
} duration_units[] = {
	{ FL_S_INIT("ns"), 1 },
	{ FL_S_INIT("us"), 1000 },
	{ FL_S_INIT("\xc2\xb5s"), 1000 },   /* the micro sign */
	{ FL_S_INIT("\xce\xbcs"), 1000 },   /* the Greek letter */
	{ FL_S_INIT("ms"), FL_NS_PER_MS },
	{ FL_S_INIT("s"), FL_NS_PER_S },
	{ FL_S_INIT("m"), 60 * FL_NS_PER_S },
	{ FL_S_INIT("h"), 3600 * FL_NS_PER_S },
};

/* Take the leading bytes off that are digits and dots (or that are neither). */
static struct fl_str take_part(struct fl_str *rest, bool number)
{
	uint32_t len = 0;
	struct fl_str taken;

	while (len < rest->len && (fl_is_digit(rest->p[len]) || rest->p[len] == '.') == number)
		len++;
	taken = fl_str_sub(*rest, 0, len);
	*rest = fl_str_sub(*rest, len, rest->len);
	return taken;
}

/* "1.5" times the unit, added to *sum. Digits that stand for less than a nanosecond are dropped, as in Go. */
static bool add_part(uint64_t *sum, struct fl_str number, uint64_t unit)
{
	int64_t dot = fl_str_find(number, '.');
	struct fl_str whole = dot < 0 ? number : fl_str_sub(number, 0, (uint32_t)dot);
	struct fl_str behind = dot < 0 ? FL_S("") : fl_str_sub(number, (uint32_t)dot + 1, number.len);
	uint64_t value = 0, part, fraction = 0;
	double scale = 1;

	if ((whole.len == 0 && behind.len == 0) || fl_str_find(behind, '.') >= 0)
		return false;
	if (whole.len && !fl_str_u64(whole, &value))
		return false;
	for (uint32_t i = 0; i < behind.len && fraction <= INT64_MAX / 10; i++, scale *= 10)
		fraction = fraction * 10 + (uint64_t)(behind.p[i] - '0');
	part = (uint64_t)((double)fraction * ((double)unit / scale));
	return !__builtin_mul_overflow(value, unit, &value) && !__builtin_add_overflow(value, part, &value) &&
	       !__builtin_add_overflow(*sum, value, sum);
}

bool fl_duration(struct fl_str text, int64_t *ret_ns)
{
	bool negative = fl_str_starts(text, FL_S("-"));
	uint64_t sum = 0;

	if (negative || fl_str_starts(text, FL_S("+")))
		text = fl_str_sub(text, 1, text.len);
	if (text.len == 0)
		return false;
	if (fl_str_eq(text, FL_S("0")))
		text.len = 0;   /* the only number that needs no unit */
	while (text.len) {
		struct fl_str number = take_part(&text, true), name = take_part(&text, false);
		uint64_t unit = 0;

		for (size_t i = 0; i < FL_LEN(duration_units); i++)
			if (fl_str_eq(duration_units[i].name, name))
				unit = duration_units[i].ns;
		if (!unit || !add_part(&sum, number, unit))
			return false;
	}
	if (sum > (uint64_t)INT64_MAX + negative)
		return false;
	*ret_ns = negative ? (int64_t)(0 - sum) : (int64_t)sum;
	return true;
}

/* value/unit with as many decimals as are needed. */
static void put_decimal(struct fl_buf *buf, uint64_t value, uint64_t unit)
{
	uint64_t rest = value % unit;

	fl_buf_printf(buf, "%" PRIu64, value / unit);
	if (rest)
		fl_buf_char(buf, '.');
	while (rest) {
		unit /= 10;
		fl_buf_char(buf, (char)('0' + rest / unit));
		rest %= unit;
	}
}

void fl_buf_duration(struct fl_buf *buf, int64_t ns)
{
	uint64_t left = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

	if (ns < 0)
		fl_buf_char(buf, '-');
	if (left == 0) {
		fl_buf_str(buf, FL_S("0s"));
	} else if (left < 1000) {
		fl_buf_printf(buf, "%" PRIu64 "ns", left);
	} else if (left < FL_NS_PER_MS) {
		put_decimal(buf, left, 1000);
		fl_buf_str(buf, FL_S("\xc2\xb5s"));
	} else if (left < FL_NS_PER_S) {
		put_decimal(buf, left, FL_NS_PER_MS);
		fl_buf_str(buf, FL_S("ms"));
	} else {
		if (left >= 3600 * FL_NS_PER_S)
			fl_buf_printf(buf, "%lluh", left / (3600 * FL_NS_PER_S));
		if (left >= 60 * FL_NS_PER_S)
			fl_buf_printf(buf, "%llum", left / (60 * FL_NS_PER_S) % 60);
		put_decimal(buf, left % (60 * FL_NS_PER_S), FL_NS_PER_S);
		fl_buf_char(buf, 's');
	}
}

/* The civil date of a day since 1970. Years begin in March, so that a leap day is the last of its year; an era is the
 * 400 years after which the calendar repeats. */
static void civil(int64_t day, int64_t *year, int *month, int *mday)
{
	int64_t from_era = day + 719468;
	int64_t era = (from_era >= 0 ? from_era : from_era - 146096) / 146097;
	int64_t doe = from_era - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t from_march = (5 * doy + 2) / 153;

	*mday = (int)(doy - (153 * from_march + 2) / 5 + 1);
	*month = (int)(from_march < 10 ? from_march + 3 : from_march - 9);
	*year = yoe + era * 400 + (*month <= 2);
}

static void put_digits(char *at, int n, int digits)
{
	for (; digits > 0; n /= 10)
		at[--digits] = (char)('0' + n % 10);
}

void fl_buf_time(struct fl_buf *buf, int64_t ns_since_1970)
{
	const int64_t ns_a_day = 86400 * (int64_t)FL_NS_PER_S;
	int64_t ns = ns_since_1970 % ns_a_day, year;
	int64_t day = ns_since_1970 / ns_a_day;
	int month, mday, second;
	char text[] = "0000-00-00T00:00:00.000000Z";

	if (ns < 0) {
		ns += ns_a_day;
		day--;
	}
	civil(day, &year, &month, &mday);
	second = (int)(ns / (int64_t)FL_NS_PER_S);
	put_digits(text, (int)year, 4);   /* 1678 to 2262 */
	put_digits(text + 5, month, 2);
	put_digits(text + 8, mday, 2);
	put_digits(text + 11, second / 3600, 2);
	put_digits(text + 14, second / 60 % 60, 2);
	put_digits(text + 17, second % 60, 2);
	put_digits(text + 20, (int)(ns % (int64_t)FL_NS_PER_S / 1000), 6);
	fl_buf_put(buf, text, strlen(text));
}
