#include "plan/pool/module.h"

static const char *const paths[] = { "status.conditions[type=" FL_SETTINGS_VALID "]", NULL };
const struct fl_owner fl_module_owner = { "fairlead-module", &fl_module_config_kind, paths };

void fl_module_plan(const void *facts_, struct fl_plan *plan)
{
	const struct fl_module_facts *facts = facts_;
	const struct fl_module *module = facts->module;
	struct fl_ref ref = FL_REF(&fl_module_config_kind, facts->config);

	if (module->why.len)
		fl_want_condition(plan, &fl_module_owner, ref, FL_EMIT_WARNING, FL_SETTINGS_VALID, FL_CONDITION_FALSE,
				  "SettingsInvalid", "%.*s; nothing is changed until this is corrected",
				  FL_ARG(module->why));
	else if (module->unused.len)
		fl_want_condition(plan, &fl_module_owner, ref, FL_EMIT_WARNING, FL_SETTINGS_VALID, FL_CONDITION_TRUE,
				  "NotAllUsed", "this version does not use yet: %.*s", FL_ARG(module->unused));
	else
		fl_want_condition(plan, &fl_module_owner, ref, FL_EMIT_NORMAL, FL_SETTINGS_VALID, FL_CONDITION_TRUE,
				  "SettingsUsed", "the settings are in use");
}
