#include "json/time.h"

#define US_PER_S 1000000

/* ---- days ---- */

/* Days from 1970-01-01 to a day of the Gregorian calendar. Years begin in March here, so that the leap day is the last
 * of its year. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
	int64_t y = month <= 2 ? year - 1 : year, era = (y >= 0 ? y : y - 399) / 400, in_era = y - era * 400;
	int64_t in_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

	return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719468;
}

static void day_of(int64_t days, int64_t *year, int64_t *month, int64_t *day)
{
	int64_t from = days + 719468, era = (from >= 0 ? from : from - 146096) / 146097, in_era = from - era * 146097;
	int64_t y = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	int64_t in_year = in_era - (365 * y + y / 4 - y / 100), m = (5 * in_year + 2) / 153;

	*day = in_year - (153 * m + 2) / 5 + 1;
	*month = m < 10 ? m + 3 : m - 9;
	*year = y + era * 400 + (*month <= 2);
}

static int64_t days_in(int64_t year, int64_t month)
{
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return month == 2 ? 28 + leap : 30 + ((month + (month > 7)) & 1);
}

/* ---- reading ---- */

static bool is_digit(struct fl_str s, uint32_t at)
{
	return at < s.len && s.p[at] >= '0' && s.p[at] <= '9';
}

/* A number of `most` digits, or of at least `least`, off the front. */
static bool take_number(struct fl_str *rest, uint32_t least, uint32_t most, int64_t *ret)
{
	uint32_t i = 0;

	for (*ret = 0; i < most && is_digit(*rest, i); i++)
		*ret = *ret * 10 + rest->p[i] - '0';
	*rest = fl_str_sub(*rest, i, rest->len);
	return i >= least;
}

static bool take_char(struct fl_str *rest, char c)
{
	if (rest->len == 0 || rest->p[0] != c)
		return false;
	*rest = fl_str_sub(*rest, 1, rest->len);
	return true;
}

/* ".5": microseconds. `exactly` 0: any number of digits, none included. */
static bool take_fraction(struct fl_str *rest, uint32_t exactly, int64_t *ret_us)
{
	int64_t unit = US_PER_S / 10;
	uint32_t i = 1;

	*ret_us = 0;
	if (rest->len < 2 || (rest->p[0] != '.' && rest->p[0] != ',') || !is_digit(*rest, 1))
		return exactly == 0;
	for (; is_digit(*rest, i) && (exactly == 0 || i <= exactly); i++, unit /= 10)
		*ret_us += (rest->p[i] - '0') * unit;
	*rest = fl_str_sub(*rest, i, rest->len);
	return exactly == 0 || i == exactly + 1;
}

static bool take_zone(struct fl_str *rest, int64_t *ret_s)
{
	int64_t sign = 1, hours, minutes;

	*ret_s = 0;
	if (take_char(rest, 'Z'))
		return true;
	if (!take_char(rest, '+')) {
		sign = -1;
		if (!take_char(rest, '-'))
			return false;
	}
	if (!take_number(rest, 2, 2, &hours) || !take_char(rest, ':') || !take_number(rest, 2, 2, &minutes) ||
	    hours > 24 || minutes > 60)
		return false;
	*ret_s = sign * (hours * 3600 + minutes * 60);
	return true;
}

/* Days since 1970; month and day of two digits, or of at least `least`. */
static bool take_date(struct fl_str *rest, uint32_t least, int64_t *ret_days)
{
	int64_t year, month, day;

	if (!take_number(rest, 4, 4, &year) || !take_char(rest, '-') || !take_number(rest, least, 2, &month) ||
	    !take_char(rest, '-') || !take_number(rest, least, 2, &day) || month < 1 || month > 12 || day < 1 ||
	    day > days_in(year, month))
		return false;
	*ret_days = days_of(year, month, day);
	return true;
}

static bool take_clock(struct fl_str *rest, uint32_t least, uint32_t decimals, int64_t *ret_us)
{
	int64_t hour, minute, second, us;

	if (!take_number(rest, 1, 2, &hour) || !take_char(rest, ':') || !take_number(rest, least, 2, &minute) ||
	    !take_char(rest, ':') || !take_number(rest, least, 2, &second) || !take_fraction(rest, decimals, &us) ||
	    hour > 23 || minute > 59 || second > 59)
		return false;
	*ret_us = ((hour * 60 + minute) * 60 + second) * US_PER_S + us;
	return true;
}

static bool parse(struct fl_str rest, uint32_t decimals, int64_t *ret_us)
{
	int64_t days, us, zone;

	if (!take_date(&rest, 2, &days) || !take_char(&rest, 'T') || !take_clock(&rest, 2, decimals, &us) ||
	    !take_zone(&rest, &zone) || rest.len)
		return false;
	*ret_us = (days * 86400 - zone) * US_PER_S + us;
	return true;
}

bool fl_time_is_yaml(struct fl_str text)
{
	int64_t ignored;

	if (!take_date(&text, 1, &ignored))
		return false;
	if (take_char(&text, ' '))
		return take_clock(&text, 1, 0, &ignored) && text.len == 0;
	if (take_char(&text, 'T') || take_char(&text, 't'))
		return take_clock(&text, 1, 0, &ignored) && take_zone(&text, &ignored) && text.len == 0;
	return text.len == 0;
}

static int read_time(struct fl_str text, uint32_t decimals, const char *example, int64_t *ret_us, struct fl_err *err)
{
	int64_t us, first = days_of(0, 1, 1) * 86400 * US_PER_S, end = days_of(10000, 1, 1) * 86400 * US_PER_S;

	if (!parse(text, decimals, &us) || us < first || us >= end)
		return fl_fail(err, FL_E_INVALID, "'%.*s' is no time; write it like %s", FL_ARG(text), example);
	*ret_us = us == days_of(1, 1, 1) * 86400 * US_PER_S ? FL_TIME_NONE : us;
	return 0;
}

int fl_time_parse(struct fl_str text, int64_t *ret_us, struct fl_err *err)
{
	return read_time(text, 0, "2006-01-02T15:04:05Z", ret_us, err);
}

int fl_time_parse_micro(struct fl_str text, int64_t *ret_us, struct fl_err *err)
{
	return read_time(text, 6, "2006-01-02T15:04:05.000000Z", ret_us, err);
}

/* ---- printing ---- */

static char *put_number(char *out, int64_t number, int digits)
{
	for (int i = digits - 1; i >= 0; i--, number /= 10)
		out[i] = (char)('0' + number % 10);
	return out + digits;
}

static uint32_t print(int64_t us, bool micro, char *text)
{
	int64_t s = us / US_PER_S - (us % US_PER_S < 0), days = s / 86400 - (s % 86400 < 0), year, month, day;
	char *out = text;

	if (us == FL_TIME_NONE)
		return 0;
	day_of(days, &year, &month, &day);
	if (year < 0 || year > 9999)
		return 0;
	us -= s * US_PER_S;
	s -= days * 86400;
	out = put_number(out, year, 4);
	*out++ = '-';
	out = put_number(out, month, 2);
	*out++ = '-';
	out = put_number(out, day, 2);
	*out++ = 'T';
	out = put_number(out, s / 3600, 2);
	*out++ = ':';
	out = put_number(out, s / 60 % 60, 2);
	*out++ = ':';
	out = put_number(out, s % 60, 2);
	if (micro) {
		*out++ = '.';
		out = put_number(out, us, 6);
	}
	*out++ = 'Z';
	return (uint32_t)(out - text);
}

uint32_t fl_time_print(int64_t us, char text[FL_TIME_TEXT])
{
	return print(us, false, text);
}

uint32_t fl_time_print_micro(int64_t us, char text[FL_TIME_TEXT])
{
	return print(us, true, text);
}
