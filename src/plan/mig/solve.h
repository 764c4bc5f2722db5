/* solve.h - where the GPU instances of a layout lie on a GPU: profiles and places are those that the driver names.
 *
 * Pure. Of all layouts that hold what is wanted, the one with the least cost of removed instances, so that only
 * instances go that must. Which profile an engine belongs to (+me, +gfx, -me) is not known here: engines are counted
 * like slices, against the profile that has most of them, which is the whole GPU.
 */
#pragma once
#include "api/mig.h"
#include "base/arena.h"

struct fl_mig_task {
	const struct fl_mig_offer *offers;     /* of the GPU */
	uint32_t offer_len;
	const struct fl_mig_count *wants;
	uint32_t want_len;
	const struct fl_mig_instance *has;     /* on the GPU now; those from FL_MIG_INSTANCES_MAX on do not count */
	uint32_t has_len;
	const uint32_t *costs;                 /* of removing each of these; NULL: 1 each */
};

struct fl_mig_layout {
	struct fl_mig_instance at[FL_MIG_INSTANCES_MAX];   /* by place */
	uint32_t len;
	bool goes[FL_MIG_INSTANCES_MAX];       /* of task->has: it is in the way, or not wanted */
	uint32_t cost;                         /* of those that go */
};

/* FL_E_INVALID: no layout holds it, even if all of `has` went; the text says which profile or engine is the reason.
 * FL_E_NOMEM. Texts and lists of the layout lie in the arena, or are the task's. */
int fl_mig_solve(const struct fl_mig_task *task, struct fl_arena *arena, struct fl_mig_layout *ret,
		 struct fl_err *err) FL_MUSTUSE;

/* "1c.3g.40gb": the GPU instance's profile and 1; "3g.40gb": all of it and 0. */
struct fl_str fl_mig_split(struct fl_str profile, int32_t *ret_slices);

const struct fl_mig_offer *fl_mig_offered(const struct fl_mig_offer *offers, uint32_t len, struct fl_str profile);
