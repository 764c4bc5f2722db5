/* What the numbers mean that a card reports, in words for people. */
#include "base/mem.h"
#include "plan/gpu/health.h"

#define RESTART_APP "look at the application; nothing is wrong with the GPU"
#define WATCH "nothing, unless it comes again: then reset the GPU when nobody uses it: " FL_GPU_RESET
#define RESET "drain the node's Pods that hold it and reset the GPU: " FL_GPU_RESET
#define REBOOT "drain the node and reboot it"
#define REPLACE "drain the node and have the GPU looked at by its vendor; it may have to be replaced"

/* Sorted by number. */
static const struct fl_xid xids[] = {
	{ 8, FL_XID_LOOK, "the GPU has stopped taking work", WATCH },
	{ 13, FL_XID_APPLICATION, "an application's kernel failed", RESTART_APP },
	{ 31, FL_XID_APPLICATION, "an application touched memory that is not its own", RESTART_APP },
	{ 32, FL_XID_LOOK, "a broken stream of commands reached the GPU", WATCH },
	{ 38, FL_XID_RESET, "the driver's firmware has failed", RESET },
	{ 43, FL_XID_APPLICATION, "an application's work was ended", RESTART_APP },
	{ 45, FL_XID_APPLICATION, "work was cleared away after an application ended", RESTART_APP },
	{ 48, FL_XID_RESET, "memory has an error that cannot be corrected", RESET, true },
	{ 54, FL_XID_HARDWARE, "the GPU's auxiliary power is missing", "connect its power cables; " REPLACE },
	{ 61, FL_XID_RESET, "a controller on the GPU has stopped", RESET },
	{ 62, FL_XID_RESET, "a controller on the GPU has halted", RESET },
	{ 63, FL_XID_RESET, "a row of memory is to be replaced at the next reset", RESET },
	{ 64, FL_XID_HARDWARE, "a row of memory could not be replaced", REPLACE },
	{ 68, FL_XID_APPLICATION, "a video decoder's work failed", RESTART_APP },
	{ 69, FL_XID_LOOK, "a graphics engine has failed", WATCH },
	{ 74, FL_XID_RESET, "an NVLink has failed",
	  RESET "; if it comes again, look at the link's cables and bridges" },
	{ 79, FL_XID_REBOOT, "the GPU has fallen off the bus", REBOOT "; if it comes again, " REPLACE },
	{ 92, FL_XID_LOOK, "corrected memory errors come often", WATCH },
	{ 94, FL_XID_RESET, "a memory error has hit one application, which was ended", RESET },
	{ 95, FL_XID_RESET, "a memory error could not be contained", RESET, true },
	{ 109, FL_XID_APPLICATION, "switching between applications took too long", RESTART_APP },
	{ 110, FL_XID_REBOOT, "the GPU's security engine has failed", REBOOT },
	{ 119, FL_XID_RESET, "the GPU's system processor does not answer", RESET "; if that fails, " REBOOT },
	{ 120, FL_XID_RESET, "the GPU's system processor has failed", RESET "; if that fails, " REBOOT },
	{ 121, FL_XID_LOOK, "the link between processors has corrected errors", WATCH },
	{ 136, FL_XID_RESET, "a training of links has failed", RESET },
	{ 137, FL_XID_LOOK, "an NVLink request failed at the other end", WATCH },
	{ 140, FL_XID_RESET, "memory has an error that was not recovered from", RESET, true },
	{ 143, FL_XID_RESET, "the GPU could not be made ready", RESET "; if that fails, " REBOOT },
	{ 154, FL_XID_LOOK, "the driver wants something done about the GPU",
	  "see its recovery action: nvidia-smi -q" },
	{ 155, FL_XID_RESET, "an NVLink went down", RESET },
	{ 156, FL_XID_RESET, "a part of the GPU was switched off", RESET },
};

/* Bad until it is known better: a new driver's numbers are mostly of new ways to fail. */
static const struct fl_xid unknown = {
	-1, FL_XID_LOOK, "the GPU has reported something that is not known here",
	"look the number up in NVIDIA's list of XIDs; ignore it with --disable-health-checks if it is harmless",
};

const struct fl_xid *fl_xid_find(int64_t number)
{
	for (uint32_t i = 0; i < FL_LEN(xids); i++)
		if (xids[i].number == number)
			return &xids[i];
	return &unknown;
}
