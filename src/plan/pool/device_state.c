#include "plan/pool/device_state.h"

static const char *const paths[] = { "status.state", NULL };
const struct fl_owner fl_device_state_owner = { "fairlead-device-state", &fl_gpu_device_kind, paths };

/* Is it nobody's in this state? A device without a pool may begin anew from here when its Node is not managed. */
static const bool is_free[] = {
	[FL_DEVICE_DISCOVERED] = true, [FL_DEVICE_VALIDATING] = true, [FL_DEVICE_READY] = true,
	[FL_DEVICE_PENDING_ASSIGNMENT] = true, [FL_DEVICE_ASSIGNED] = true, [FL_DEVICE_RESERVED] = true,
	[FL_DEVICE_IN_USE] = true, [FL_DEVICE_FAULTED] = false,
};
_Static_assert(FL_LEN(is_free) == FL_DEVICE_STATE_COUNT_, "every state");

static enum fl_device_state next(const struct fl_gpu_device_status *is)
{
	if (!is->has.state)
		return FL_DEVICE_DISCOVERED;
	if (is->has.managed && !is->managed && !is->pool.name.len && is_free[is->state])
		return FL_DEVICE_DISCOVERED;
	return is->state;
}

void fl_device_state_plan(const void *facts, struct fl_plan *plan)
{
	const struct fl_gpu_device *device = ((const struct fl_device_state_facts *)facts)->device;
	struct fl_gpu_device want = { 0 };

	if (!device->status.has.node_name)
		return;   /* the inventory begins its status */
	FL_SET(FL_IN(&want, status), state, next(&device->status));
	fl_want(plan, &fl_device_state_owner, FL_REF(&fl_gpu_device_kind, device), &want);
	fl_say(plan, FL_REF(&fl_gpu_device_kind, device), "State", "%s",
	       fl_name(&fl_device_state_names, (int)want.status.state));
}
