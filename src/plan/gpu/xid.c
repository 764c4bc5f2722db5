/* What the numbers mean that a card reports, in words for people. */
#include "base/mem.h"
#include "plan/gpu/health.h"

#define RESTART_APP "check the application; the GPU has no fault"
#define WATCH "nothing; if it recurs, reset the GPU when no process uses it: " FL_GPU_RESET
#define RESET "drain the node's Pods that hold it and reset the GPU: " FL_GPU_RESET
#define REBOOT "drain the node and reboot it"
#define REPLACE "drain the node and have the vendor check the GPU; it may need replacement"

/* Sorted by number. */
static const struct fl_xid xids[] = {
	{ 8, FL_XID_LOOK, "the GPU accepts no work", WATCH },
	{ 13, FL_XID_APPLICATION, "an application's kernel failed", RESTART_APP },
	{ 31, FL_XID_APPLICATION, "an application touched memory that is not its own", RESTART_APP },
	{ 32, FL_XID_LOOK, "a broken stream of commands reached the GPU", WATCH },
	{ 38, FL_XID_RESET, "the driver's firmware has failed", RESET },
	{ 43, FL_XID_APPLICATION, "an application's work was terminated", RESTART_APP },
	{ 45, FL_XID_APPLICATION, "work was removed after an application ended", RESTART_APP },
	{ 48, FL_XID_RESET, "memory has an uncorrectable error", RESET, true },
	{ 54, FL_XID_HARDWARE, "the GPU's auxiliary power is missing", "connect its power cables; " REPLACE },
	{ 61, FL_XID_RESET, "a controller on the GPU has stopped", RESET },
	{ 62, FL_XID_RESET, "a controller on the GPU has halted", RESET },
	{ 63, FL_XID_RESET, "a row of memory is remapped at the next reset", RESET },
	{ 64, FL_XID_HARDWARE, "a row of memory could not be remapped", REPLACE },
	{ 68, FL_XID_APPLICATION, "a video decoder's work failed", RESTART_APP },
	{ 69, FL_XID_LOOK, "a graphics engine has failed", WATCH },
	{ 74, FL_XID_RESET, "an NVLink has failed",
	  RESET "; if it recurs, check the link's cables and bridges" },
	{ 79, FL_XID_REBOOT, "the GPU has fallen off the bus", REBOOT "; if it recurs, " REPLACE },
	{ 92, FL_XID_LOOK, "corrected memory errors are frequent", WATCH },
	{ 94, FL_XID_RESET, "a memory error hit one application, which was terminated", RESET },
	{ 95, FL_XID_RESET, "a memory error could not be contained", RESET, true },
	{ 109, FL_XID_APPLICATION, "switching between applications took too long", RESTART_APP },
	{ 110, FL_XID_REBOOT, "the GPU's security engine has failed", REBOOT },
	{ 119, FL_XID_RESET, "the GPU's system processor does not answer", RESET "; if that fails, " REBOOT },
	{ 120, FL_XID_RESET, "the GPU's system processor has failed", RESET "; if that fails, " REBOOT },
	{ 121, FL_XID_LOOK, "the link between processors has corrected errors", WATCH },
	{ 136, FL_XID_RESET, "link training has failed", RESET },
	{ 137, FL_XID_LOOK, "an NVLink request failed at the other end", WATCH },
	{ 140, FL_XID_RESET, "memory has an unrecovered error", RESET, true },
	{ 143, FL_XID_RESET, "the GPU could not be initialized", RESET "; if that fails, " REBOOT },
	{ 154, FL_XID_LOOK, "the driver requests a recovery action",
	  "see its recovery action: nvidia-smi -q" },
	{ 155, FL_XID_RESET, "an NVLink went down", RESET },
	{ 156, FL_XID_RESET, "a part of the GPU was switched off", RESET },
};

/* Bad until it is known better: a new driver's numbers are mostly of new ways to fail. */
static const struct fl_xid unknown = {
	-1, FL_XID_LOOK, "the GPU has reported an unknown XID",
	"look the number up in NVIDIA's list of XIDs; ignore it with --disable-health-checks if it is harmless",
};

const struct fl_xid *fl_xid_find(int64_t number)
{
	for (uint32_t i = 0; i < FL_LEN(xids); i++)
		if (xids[i].number == number)
			return &xids[i];
	return &unknown;
}
