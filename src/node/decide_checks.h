/* decide_checks.h - the capability that checks what GPU programs need: plan/checks/checks.h. */
#pragma once
#include "run/loop.h"

extern const struct fl_capability fl_node_checks;
