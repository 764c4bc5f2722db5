#include "api/mig.h"

FL_BIND(fl_local_meta, FL_LOCAL_META)
FL_BIND(fl_mig_place, FL_MIG_PLACE)
FL_BIND(fl_mig_offer, FL_MIG_OFFER)
FL_BIND(fl_mig_instance, FL_MIG_INSTANCE)
FL_BIND(fl_mig_count, FL_MIG_COUNT)
FL_BIND(fl_mig_entry, FL_MIG_ENTRY)
FL_BIND(fl_mig_config, FL_MIG_CONFIG)
FL_BIND(fl_mig_file, FL_MIG_FILE)
FL_BIND(fl_layout, FL_MIG_LAYOUT)
FL_BIND(fl_mig_state, FL_MIG_STATE)

FL_NAMES(fl_mig_step_names, FL_MIG_STEP_COUNT_, [FL_MIG_REST] = "Rest", [FL_MIG_MODE_ON] = "ModeOn",
	 [FL_MIG_MODE_OFF] = "ModeOff", [FL_MIG_CREATE] = "Create", [FL_MIG_DESTROY] = "Destroy");

FL_LOCAL_KIND(fl_mig_file, "MigFile", "migfiles", "The layouts that a node knows by name.");
FL_LOCAL_KIND(fl_mig_state, "MigState", "migstates", "How far the MIG layout of a pool's GPU is.");
FL_LOCAL_KIND(fl_layout, "Layout", "layouts", "The MIG layout of a GPU, and the change that leads to it.");

bool fl_mig_same(const struct fl_mig_instance *a, const struct fl_mig_instance *b)
{
	if (a->start != b->start || a->computes.len != b->computes.len || !fl_str_eq(a->profile, b->profile))
		return false;
	for (uint32_t i = 0; i < a->computes.len; i++)
		if (a->computes.at[i] != b->computes.at[i])
			return false;
	return true;
}
