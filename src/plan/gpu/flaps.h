/* flaps.h - a GPU that breaks and comes back again and again: how often, and how long it must be well each time.
 *
 * A break is a fault of a GPU that was well by the look before. From FL_FLAP_BREAKS on the GPU is Flapping: it is
 * handed out again when it has been well for twice `recoveryWait`, and for twice as long after each return that did not
 * last, up to `recoveryWaitMax`. Each FL_FLAP_WINDOW without a break takes one back. A `recoveryWait` or a
 * `recoveryWaitMax` of 0 turns all of this off. What is counted is part of Health, and so outlives the
 * agent, but not the boot: that is what most remedies end with.
 */
#pragma once
#include "plan/gpu/health.h"

/* A GPU flaps from so many breaks on: two may be one fault and its remedy. */
#define FL_FLAP_BREAKS 3
#define FL_FLAP_WINDOW (600 * FL_NS_PER_S)    /* so long without a break takes one back */

struct fl_gpu_flap_facts {
	const struct fl_gpu_health_facts *health;
	const struct fl_partition *part;       /* NULL: the GPU itself */
	const struct fl_health *before;        /* as it was left, on the clock of this boot; NULL: nothing is known */
	bool sick;                             /* is there a fault of its own now? */
};

/* Counts what is new into `health`, whose state is set. */
void fl_gpu_flaps_count(const struct fl_gpu_flap_facts *facts, struct fl_health *health);

/* How long must it be well before it is handed out again, as it is now? 0: it does not flap. */
uint64_t fl_gpu_flap_wait(const struct fl_settings *settings, const struct fl_health *health, uint64_t now);

/* How often it has broken and how long it waits, in words. */
struct fl_str fl_gpu_flap_words(struct fl_plan *plan, const struct fl_settings *settings,
				const struct fl_health *health, uint64_t now);
