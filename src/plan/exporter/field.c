#include "plan/exporter/field.h"

FL_NAMES(fl_dcgm_type_names, FL_DCGM_TYPE_COUNT_, [FL_DCGM_GAUGE] = "gauge", [FL_DCGM_COUNTER] = "counter",
	 [FL_DCGM_LABEL] = "label");

#define ROW(id_, name_, also_, old_, number_, type_, level_, source_, arg_, scale_, form_, usual_, help_) \
	{ .id = #id_, .name = (name_), .also = (also_), .old = (old_), .number = (number_), \
	  .type = FL_DCGM_##type_, .level = FL_DCGM_OF_##level_, .source = FL_DCGM_FROM_##source_, .arg = (arg_), \
	  .scale = (scale_), .form = FL_DCGM_##form_, .usual = (usual_), .help = (help_) },
const struct fl_dcgm_field fl_dcgm_fields[FL_DCGM_COUNT] = { FL_DCGM_FIELDS(ROW) };

/* "..._L#_TOTAL" is "..._L7_TOTAL". */
static bool is(struct fl_str name, const char *pattern, int32_t *ret_link)
{
	struct fl_str is = fl_str(pattern), front, number;
	int64_t hash = pattern ? fl_str_find(is, '#') : -1, link;
	uint32_t tail;

	if (!pattern || hash < 0)
		return pattern && fl_str_eq(name, is);
	front = fl_str_sub(is, 0, (uint32_t)hash);
	tail = is.len - front.len - 1;
	if (!fl_str_starts(name, front) || name.len <= front.len + tail ||
	    !fl_str_ends(name, fl_str_sub(is, front.len + 1, tail)))
		return false;
	number = fl_str_sub(name, front.len, name.len - front.len - tail);
	if (!fl_str_i64(number, &link) || link < 0 || link >= FL_DCGM_NAMED_LINKS ||
	    (number.len > 1 && number.p[0] == '0'))
		return false;
	*ret_link = (int32_t)link;
	return true;
}

int fl_dcgm_find(struct fl_str name, int32_t *ret_link)
{
	*ret_link = -1;
	for (int i = 0; i < FL_DCGM_COUNT; i++)
		if (is(name, fl_dcgm_fields[i].name, ret_link) || is(name, fl_dcgm_fields[i].also, ret_link) ||
		    is(name, fl_dcgm_fields[i].old, ret_link))
			return i;
	return -1;
}
