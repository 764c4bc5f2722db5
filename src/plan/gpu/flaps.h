/* flaps.h - a GPU that fails and recovers repeatedly: how often, and how long it must be healthy each time.
 *
 * A break is a fault of a GPU that was healthy at the check before. From FL_FLAP_BREAKS breaks on, the GPU is Flapping.
 * It is advertised again after it has been healthy for twice `recoveryWait`, and for twice as long after each recovery
 * that did not last, up to `recoveryWaitMax`. Each FL_FLAP_WINDOW without a break subtracts one. A `recoveryWait` or a
 * `recoveryWaitMax` of 0 disables all of this. The count is part of Health. It outlives the agent but not the boot,
 * with which most remedies end.
 */
#pragma once
#include "plan/gpu/health.h"

/* A GPU flaps from so many breaks on: two may be one fault and its remedy. */
#define FL_FLAP_BREAKS 3
#define FL_FLAP_WINDOW (600 * FL_NS_PER_S)    /* so long without a break subtracts one */

struct fl_gpu_flap_facts {
	const struct fl_gpu_health_facts *health;
	const struct fl_partition *part;       /* NULL: the GPU itself */
	const struct fl_health *before;        /* its last Health, on the clock of this boot; NULL: none */
	bool sick;                             /* it has a fault of its own now */
};

/* Adds new breaks to `health`, whose state is set. */
void fl_gpu_flaps_count(const struct fl_gpu_flap_facts *facts, struct fl_health *health);

/* How long it must now be healthy before it is advertised again; 0: it does not flap. */
uint64_t fl_gpu_flap_wait(const struct fl_settings *settings, const struct fl_health *health, uint64_t now);

/* A text with its break count and its wait. */
struct fl_str fl_gpu_flap_words(struct fl_plan *plan, const struct fl_settings *settings,
				const struct fl_health *health, uint64_t now);
