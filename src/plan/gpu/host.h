/* host.h - when the host is scanned for what containers need: libraries, programs, device nodes.
 *
 * Pure. A new scan is wanted for each driver version, card layout and changed search path, once the driver is ready.
 */
#pragma once
#include "api/node.h"
#include "plan/facts.h"
#include "plan/plan.h"

#define FL_GPU_HOST_FACTS(X) \
	X(NEED, fl_settings, settings, "settings") \
	X(NEED, fl_driver, driver, "driver") \
	X(ALL, fl_card, cards, card_len)
FL_FACTS(fl_gpu_host_facts, FL_GPU_HOST_FACTS);

extern const struct fl_owner fl_gpu_host_owner;
void fl_gpu_host_plan(const void *facts, struct fl_plan *plan);
