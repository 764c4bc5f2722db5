#include "base/units.h"
#include "json/bind_in.h"
#include "json/time.h"
#include <inttypes.h>

/* ---- one value from and to text ---- */

static bool read_i32(struct fl_str text, int32_t *ret)
{
	int64_t number;

	if (!fl_str_i64(text, &number) || number < INT32_MIN || number > INT32_MAX)
		return false;
	*ret = (int32_t)number;
	return true;
}

/* To the second: what is finer does not come back from the API server. */
static bool read_time(struct fl_str text, int64_t *ret)
{
	if (fl_time_parse(text, ret, NULL) < 0)
		return false;
	if (*ret != FL_TIME_NONE)
		*ret -= (*ret % 1000000 + 1000000) % 1000000;
	return true;
}

static bool read_enum(const struct fl_names *names, struct fl_str text, void *ret)
{
	int value = fl_name_find(names, text);

	if (value >= 0)
		memcpy(ret, &value, sizeof value);
	return value >= 0;
}

static bool read_bool(struct fl_str text, bool *ret)
{
	*ret = fl_str_eq(text, FL_S("true"));
	return *ret || fl_str_eq(text, FL_S("false"));
}

bool fl_value_read(const struct fl_field *f, struct fl_str text, void *ret)
{
	struct fl_intstr *intstr = ret;

	switch (f->type) {
	case FL_T_STR: *(struct fl_str *)ret = text; return true;
	case FL_T_BOOL: return read_bool(text, ret);
	case FL_T_I32: return read_i32(text, ret);
	case FL_T_I64: return fl_str_i64(text, ret);
	case FL_T_TIME: return read_time(text, ret);
	case FL_T_MICROTIME: return fl_time_parse_micro(text, ret, NULL) >= 0;
	case FL_T_DURATION: return fl_duration(text, ret);
	case FL_T_QUANTITY: return fl_quantity_parse(text, ret, NULL) >= 0;
	case FL_T_INTSTR: *intstr = (struct fl_intstr){ .is_str = true, .s = text }; return true;
	case FL_T_ENUM: return read_enum(f->names, text, ret);
	case FL_T_F64:
	case FL_T_RAW:
	case FL_T_OBJ:
	case FL_T_COUNT_: break;
	}
	return false;
}

static void print_enum(const struct fl_names *names, const void *value, struct fl_buf *buf)
{
	int number;

	memcpy(&number, value, sizeof number);
	fl_buf_str(buf, fl_str(fl_name(names, number)));
}

static void print_quantity(struct fl_quantity q, struct fl_buf *buf)
{
	char text[FL_QUANTITY_TEXT];

	fl_buf_put(buf, text, fl_quantity_print(q, text));
}

static void print_time(int64_t us, bool micro, struct fl_buf *buf)
{
	char text[FL_TIME_TEXT];

	fl_buf_put(buf, text, micro ? fl_time_print_micro(us, text) : fl_time_print(us, text));
}

void fl_value_print(const struct fl_field *f, const void *value, struct fl_buf *buf)
{
	const struct fl_intstr *intstr = value;
	char text[FL_DOUBLE_TEXT];

	switch (f->type) {
	case FL_T_STR:
	case FL_T_RAW: fl_buf_str(buf, *(const struct fl_str *)value); break;
	case FL_T_BOOL: fl_buf_str(buf, *(const bool *)value ? FL_S("true") : FL_S("false")); break;
	case FL_T_I32: fl_buf_printf(buf, "%" PRId32, *(const int32_t *)value); break;
	case FL_T_I64: fl_buf_printf(buf, "%" PRId64, *(const int64_t *)value); break;
	case FL_T_F64: fl_buf_put(buf, text, fl_json_double(*(const double *)value, text)); break;
	case FL_T_TIME: print_time(*(const int64_t *)value, false, buf); break;
	case FL_T_MICROTIME: print_time(*(const int64_t *)value, true, buf); break;
	case FL_T_DURATION: fl_buf_duration(buf, *(const int64_t *)value); break;
	case FL_T_QUANTITY: print_quantity(*(const struct fl_quantity *)value, buf); break;
	case FL_T_INTSTR:
		if (intstr->is_str)
			fl_buf_str(buf, intstr->s);
		else
			fl_buf_printf(buf, "%" PRId32, intstr->i);
		break;
	case FL_T_ENUM: print_enum(f->names, value, buf); break;
	case FL_T_OBJ:
	case FL_T_COUNT_: break;
	}
}

/* ---- a row's help ---- */

static const struct {
	const char *name, *want;
} types[FL_T_COUNT_] = {
	[FL_T_STR] = { "string", "a text" },
	[FL_T_BOOL] = { "boolean", "true or false" },
	[FL_T_I32] = { "integer", "an integer of 32 bits" },
	[FL_T_I64] = { "integer", "an integer of 64 bits" },
	[FL_T_F64] = { "number", "a number" },
	[FL_T_TIME] = { "time", "a time such as 2026-01-31T12:00:00Z" },
	[FL_T_MICROTIME] = { "time", "a time such as 2026-01-31T12:00:00.000000Z" },
	[FL_T_DURATION] = { "duration", "a duration such as 1h30m" },
	[FL_T_QUANTITY] = { "quantity", "a quantity such as 128Mi" },
	[FL_T_INTSTR] = { "integer or string", "an integer of 32 bits or a text" },
	[FL_T_RAW] = { "object", "an object" },
	[FL_T_ENUM] = { "string", "one of" },
	[FL_T_OBJ] = { "object", "an object" },
};

static void list_names(const struct fl_names *names, struct fl_buf *buf)
{
	for (uint32_t i = 0; i < names->len; i++)
		fl_buf_printf(buf, "%s%s", i ? ", " : "", names->at[i]);
}

void fl_value_want(const struct fl_field *f, struct fl_buf *buf)
{
	fl_buf_str(buf, fl_str(types[f->type].want));
	if (f->type == FL_T_ENUM) {
		fl_buf_char(buf, ' ');
		list_names(f->names, buf);
	}
}

void fl_field_want(const struct fl_field *f, struct fl_buf *buf)
{
	if (f->shape == FL_ONE)
		fl_value_want(f, buf);
	else
		fl_buf_str(buf, f->shape == FL_LIST ? FL_S("a list") : FL_S("an object"));
}

void fl_field_type(const struct fl_field *f, struct fl_buf *buf)
{
	fl_buf_printf(buf, "%s%s", f->shape == FL_LIST ? "[]" : f->shape == FL_MAP ? "map[string]" : "",
		      types[f->type].name);
}

static void print_default(const struct fl_field *f, struct fl_buf *buf)
{
	if (f->def.text)
		fl_buf_str(buf, fl_str(f->def.text));
	else if (f->type == FL_T_BOOL)
		fl_buf_str(buf, f->def.number ? FL_S("true") : FL_S("false"));
	else if (f->type == FL_T_ENUM)
		fl_buf_str(buf, fl_str(fl_name(f->names, (int)f->def.number)));
	else if (f->type == FL_T_OBJ)
		fl_buf_str(buf, FL_S("{}"));
	else
		fl_buf_printf(buf, "%" PRId64, f->def.number);
}

static void print_range(int64_t min, int64_t max, int64_t least, int64_t most, const char *what, struct fl_buf *buf)
{
	if (min > least && max < most)
		fl_buf_printf(buf, ", %" PRId64 " to %" PRId64 "%s", min, max, what);
	else if (min > least)
		fl_buf_printf(buf, ", at least %" PRId64 "%s", min, what);
	else if (max < most)
		fl_buf_printf(buf, ", at most %" PRId64 "%s", max, what);
}

void fl_field_bounds(const struct fl_field *f, struct fl_buf *buf)
{
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(4 * FL_KIB);

	if (f->required)
		fl_buf_str(&text, FL_S(", required"));
	if (f->type == FL_T_ENUM) {
		fl_buf_str(&text, FL_S(", one of "));
		list_names(f->names, &text);
	}
	if (f->between.set)
		print_range(f->between.min, f->between.max, f->type == FL_T_I32 ? INT32_MIN : INT64_MIN,
			    f->type == FL_T_I32 ? INT32_MAX : INT64_MAX, "", &text);
	print_range(f->length.min, f->length.max ? f->length.max : INT64_MAX, 0, INT64_MAX,
		    f->shape == FL_ONE ? " characters" : f->shape == FL_LIST ? " elements" : " keys", &text);
	if (f->pattern)
		fl_buf_printf(&text, ", matches `%s`", f->pattern);
	if (f->list_key)
		fl_buf_printf(&text, ", a map by %s", f->list_key);
	if (f->list_set)
		fl_buf_str(&text, FL_S(", a set"));
	if (f->def.set) {
		fl_buf_str(&text, FL_S(", default "));
		print_default(f, &text);
	}
	if (f->immutable)
		fl_buf_str(&text, FL_S(", immutable"));
	if (text.failed)
		buf->failed = text.failed;
	else if (text.len)
		fl_buf_str(buf, fl_str_sub(fl_buf_view(&text), 2, UINT32_MAX));
}
