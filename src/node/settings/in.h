/* in.h - between the files of this folder: reading settings by their table. */
#pragma once
#include "node/settings/table.h"

#define FL_AT_OPTION(name) (&(struct fl_setting_value){ .before = "--", .place = (name) })
#define FL_AT_PLACE(name) (&(struct fl_setting_value){ .before = "", .place = (name) })

/* Ready to read into the settings. */
struct fl_setting_in fl_settings_in(struct fl_settings *settings, struct fl_arena *arena, struct fl_err *err);
