/* sanitise.h - a text as GPU feature discovery puts it into a label's value. */
#pragma once
#include "plan/plan.h"

/* Without what is no letter, digit, '_', '.', '-' or blank; words joined by '-'. In the plan's arena. */
struct fl_str labels_sanitise(struct fl_plan *plan, struct fl_str text);
