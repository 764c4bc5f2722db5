/* cdi.h - the CDI file of this node's GPUs: a pure function of what the host has.
 *
 * Each whole GPU and each MIG device is a device by UUID and by index; `all` is all of them. A name that a container
 * holds stays in the file, with its meaning, until no container holds it. Every name and every file stays until a
 * kubelet that knows all of its Pods has listed who holds what, however long that takes: keeping them costs nothing.
 * Extra devices have files of their own (plan/gpu/extras.h). Those are removed when they are disabled and no Pod can
 * have them any more.
 */
#pragma once
#include "api/cdi.h"
#include "plan/facts.h"
#include "plan/gpu/needs.h"

#define FL_GPU_CDI_FACTS(X) \
	X(NEED, fl_settings, settings, "settings") \
	X(NEED, fl_driver, driver, "driver") \
	X(NEED, fl_host, host, "host") /* while its scan is out of date, the files stay as they are */ \
	X(ONE, fl_runtime, runtime, "runtime") \
	X(ALL, fl_card, cards, card_len) \
	X(ALL, fl_holder, holders, holder_len) \
	X(ONE, fl_active, active, "active") /* until the kubelet has listed all Pods, every name may be held */ \
	X(ALL, fl_cdi_spec, specs, spec_len) /* ours, as they are in the directory */ \
	X(ALL, fl_resource, resources, resource_len) /* as they are served now: what they advertise has its file */
FL_FACTS(fl_gpu_cdi_facts, FL_GPU_CDI_FACTS);

extern const struct fl_owner fl_gpu_cdi_owner;
void fl_gpu_cdi_plan(const void *facts, struct fl_plan *plan);
