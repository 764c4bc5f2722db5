/* device_state.h - the only writer of a GPUDevice's status.state.
 *
 * Pure; a key is the device. Its transitions are a table. Those that a new device or a disabled Node causes are here;
 * those of readiness and pools come with the plans that know of them, and until then a state stays as it is.
 */
#pragma once
#include "api/pools.h"
#include "plan/facts.h"
#include "plan/plan.h"

#define FL_DEVICE_STATE_FACTS(X) X(SELF, fl_gpu_device, device)
FL_FACTS(fl_device_state_facts, FL_DEVICE_STATE_FACTS);

extern const struct fl_owner fl_device_state_owner;
void fl_device_state_plan(const void *facts, struct fl_plan *plan);
