/* gpu_cdi.h - the CDI file of this node's GPUs: a pure function of what the host has.
 *
 * Each full GPU and each partition is a device by UUID and by index, and `all` is all of them. Names that a container
 * holds stay in the file, with what they meant, until nobody holds them. What containers get beside cards has files of
 * its own (plan/gpu_extras.h), which go when they are switched off and no Pod can have them any more.
 */
#pragma once
#include "api/cdi.h"
#include "plan/gpu_needs.h"

struct fl_gpu_cdi_facts {
	const struct fl_settings *settings;
	const struct fl_driver *driver;
	const struct fl_host *host;            /* NULL, or not yet seen as it is to be: nothing is wanted, what is
		written stays */
	const struct fl_runtime *runtime;      /* NULL: not known yet */
	const struct fl_card *cards;
	const struct fl_holder *holders;
	const struct fl_cdi_spec *specs;       /* ours, as they are in the folder */
	const struct fl_resource *resources;   /* as they are served now: what they hand out has its file */
	uint32_t card_len, holder_len, spec_len, resource_len;
};

extern const struct fl_owner fl_gpu_cdi_owner;
void fl_gpu_cdi_plan(const void *facts, struct fl_plan *plan);
