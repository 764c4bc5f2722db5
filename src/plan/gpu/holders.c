#include "plan/gpu/holders.h"
#include "base/units.h"

bool fl_gpu_holders_known(const struct fl_active *active, const struct fl_settings *settings, uint64_t now,
			  struct fl_plan *plan)
{
	uint64_t until = (uint64_t)settings->started + FL_GPU_HOLDERS_PATIENCE;

	if (active)
		return active->settled;
	if (now >= until)
		return true;
	fl_want_at(plan, until);
	return false;
}
