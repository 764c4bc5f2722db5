/* cdi.h - the CDI file of this node's GPUs: a pure function of what the host has.
 *
 * Each full GPU and each partition is a device by UUID and by index, and `all` is all of them. Names that a container
 * holds stay in the file, with what they meant, until nobody holds them; so does every name and every file until a
 * kubelet that knows all of its Pods has told who holds what, however long that takes: what stays costs nothing. What
 * containers get beside cards has files of its own (plan/gpu/extras.h), which go when they are switched off and no Pod
 * can have them any more.
 */
#pragma once
#include "api/cdi.h"
#include "plan/facts.h"
#include "plan/gpu/needs.h"

#define FL_GPU_CDI_FACTS(X) \
	X(NEED, fl_settings, settings, "settings") \
	X(NEED, fl_driver, driver, "driver") \
	X(NEED, fl_host, host, "host") /* not yet seen as it is to be: nothing is wanted, what is written stays */ \
	X(ONE, fl_runtime, runtime, "runtime") \
	X(ALL, fl_card, cards, card_len) \
	X(ALL, fl_holder, holders, holder_len) \
	X(ONE, fl_active, active, "active") /* until the kubelet has told all, every name may be held */ \
	X(ALL, fl_cdi_spec, specs, spec_len) /* ours, as they are in the folder */ \
	X(ALL, fl_resource, resources, resource_len) /* as they are served now: what they hand out has its file */
FL_FACTS(fl_gpu_cdi_facts, FL_GPU_CDI_FACTS);

extern const struct fl_owner fl_gpu_cdi_owner;
void fl_gpu_cdi_plan(const void *facts, struct fl_plan *plan);
