#include "api/meta.h"

FL_NAMES(fl_condition_status_names, FL_CONDITION_STATUS_COUNT_, [FL_CONDITION_FALSE] = "False",
	 [FL_CONDITION_TRUE] = "True", [FL_CONDITION_UNKNOWN] = "Unknown");
FL_NAMES(fl_term_op_names, FL_TERM_OP_COUNT_, [FL_TERM_IN] = "In", [FL_TERM_NOT_IN] = "NotIn",
	 [FL_TERM_EXISTS] = "Exists", [FL_TERM_DOES_NOT_EXIST] = "DoesNotExist");
FL_NAMES(fl_propagation_names, FL_PROPAGATION_COUNT_, [FL_PROPAGATION_DEFAULT] = "", [FL_BACKGROUND] = "Background",
	 [FL_FOREGROUND] = "Foreground", [FL_ORPHAN] = "Orphan");

FL_BIND(fl_owner_ref, FL_OWNER_REF)
FL_BIND(fl_meta, FL_META)
FL_BIND(fl_condition, FL_CONDITION)
FL_BIND(fl_selector_term, FL_SELECTOR_TERM)
FL_BIND(fl_label_selector, FL_LABEL_SELECTOR, .atomic = true)
FL_BIND(fl_status_cause, FL_STATUS_CAUSE)
FL_BIND(fl_status_details, FL_STATUS_DETAILS)
FL_BIND(fl_status, FL_STATUS)

const struct fl_meta fl_no_meta = { 0 };

const struct fl_condition *fl_condition_find(const struct fl_condition_list *conditions, struct fl_str type)
{
	return fl_find(conditions->at, conditions->len, type, type);
}

struct fl_str fl_map_value(struct fl_map map, struct fl_str key)
{
	for (uint32_t i = 0; i < map.len; i++)
		if (fl_str_eq(map.at[i].key, key))
			return map.at[i].value;
	return (struct fl_str){ NULL, 0 };
}

bool fl_map_equal(struct fl_map a, struct fl_map b)
{
	if (a.len != b.len)
		return false;
	for (uint32_t i = 0; i < a.len; i++)
		if (!fl_str_eq(a.at[i].key, b.at[i].key) || !fl_str_eq(a.at[i].value, b.at[i].value))
			return false;
	return true;
}
