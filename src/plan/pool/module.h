/* module.h - what ModuleConfig's status says of its settings. Pure. */
#pragma once
#include "api/module.h"
#include "plan/plan.h"

#define FL_SETTINGS_VALID "SettingsValid"

struct fl_module_facts {
	const struct fl_module_config *config;
	const struct fl_module *module;
};

extern const struct fl_owner fl_module_owner;
void fl_module_plan(const void *facts, struct fl_plan *plan);
