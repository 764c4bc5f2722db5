#include "base/names.h"

const char *fl_name(const struct fl_names *names, int value)
{
	if (value < 0 || (uint32_t)value >= names->len || !names->at[value])
		return "?";
	return names->at[value];
}

int fl_name_find(const struct fl_names *names, struct fl_str name)
{
	for (uint32_t i = 0; i < names->len; i++)
		if (names->at[i] && fl_str_eq(fl_str(names->at[i]), name))
			return (int)i;
	return -1;
}
