/* inside_scan.h - one check of this node's containers from outside: driver libraries of another version than the loaded
 * driver's, and device nodes of the driver that a container has but may not open any more.
 *
 * Straight-line code over struct fl_fs, for a job of FL_LANE_PROCESSES: a read of the mappings of a process that hangs
 * in the kernel hangs too. It needs root and the host's processes. The host's root is `proc`/1/root, or the agent's own
 * if that may not be opened.
 *
 *   - A library is mapped by a process or mounted into its container: libcuda.so.V or libnvidia-NAME.so.V, where V has
 *     the form of a driver's version. Those of CUDA's forward compatibility (below a directory "compat") do not count.
 *   - Which devices a cgroup may open can be read on version 1 only (devices.list); on version 2 it is a BPF program.
 *     For both: a container that has a device node without a link in /dev/char, in a cgroup that systemd keeps, loses
 *     it at the next `systemctl daemon-reload`.
 *
 * A container chooses the names of its files and the targets of its links. So a name with characters that no driver's
 * file has is not reported, a device node counts by name and major number, and no link of a container is followed.
 */
#pragma once
#include "base/units.h"
#include "node/host/processes.h"

/* Bounds of the duration of a check. */
#define FL_INSIDE_PIDS 20000
#define FL_INSIDE_CONTAINERS 1024
#define FL_INSIDE_PODS 64                  /* with a finding; the kubelet has 110 by default */
#define FL_INSIDE_MAP_BYTES (4 * FL_MIB)   /* of one process; 20,000 mappings */
#define FL_INSIDE_DEV_NAMES 4096           /* in /dev of a container, which fills it as it likes; of a host: some 300 */

#define FL_INSIDE_TEXT 128   /* of a path or a process: enough to find it again */

/* A Pod with a finding; "": none of that sort. */
struct fl_inside_pod {
	char uid[FL_POD_UID];
	char pod[FL_POD_NAME];                 /* NAMESPACE/NAME; "": unknown */
	char library[FL_INSIDE_TEXT];          /* libcuda.so.550.54.15 */
	char process[FL_INSIDE_TEXT];          /* that has mapped it: python3 (pid 812) */
	char denied[FL_INSIDE_TEXT];           /* /dev/nvidia0 */
	char unlinked[FL_INSIDE_TEXT];
};

struct fl_inside_scan {
	/* The caller's. */
	const char *proc, *logs;               /* the kubelet's directory of Pod logs */
	char version[64];                      /* of the loaded driver; "": libraries are not checked */

	/* The result. */
	int error;                             /* of /proc itself; 0: it was read */
	bool cut;                              /* findings were left out */
	int unopened;                          /* errno of a container's /dev that could not be opened; 0: none */
	uint32_t len;
	struct fl_inside_pod at[FL_INSIDE_PODS];

	/* Its own. */
	uint32_t containers;
	uint64_t seen[FL_INSIDE_CONTAINERS];   /* digests of their cgroups */
	char text[16 * FL_KIB];
};

void fl_inside_scan(const struct fl_fs *fs, struct fl_inside_scan *scan);

/* The first library of another driver version in a line of /proc/PID/maps or mountinfo: its name in `ret`. */
bool fl_inside_library(struct fl_str line, struct fl_str version, char ret[static FL_INSIDE_TEXT]);

/* Whether a devices.list of this text allows reading and writing the device. */
bool fl_inside_allowed(struct fl_str list, uint32_t major, uint32_t minor);
