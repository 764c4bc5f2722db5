/* inside_scan.h - what runs in the containers of this node, seen from outside: driver libraries of another version than
 * the loaded driver's, and device nodes of the driver that a container has and may not open any more.
 *
 * Straight-line code over struct fl_fs, for a job of FL_LANE_PROCESSES: the mappings of a process that hangs in the
 * kernel cannot be read, and who tries hangs too. It needs the host's processes, and root. The host's root is
 * `proc`/1/root; where that may not be opened, the agent's own.
 *
 *   - A library is one that a process has mapped, or that is mounted into its container: libcuda.so.V or
 *     libnvidia-NAME.so.V, where V looks like a driver's version. Those of CUDA's forward compatibility (below a
 *     directory "compat") are meant to be others.
 *   - Which devices a cgroup may open can be read on version 1 only (devices.list); on version 2 it is a BPF program.
 *     For both: a container that has a device node without a link in /dev/char, in a cgroup that systemd keeps, loses
 *     it at the next `systemctl daemon-reload`.
 *
 * A container chooses what its files are called and where its links lead. A name with other characters than a driver's
 * names have is not told, a device node counts by name and major number, and no link of a container is followed.
 */
#pragma once
#include "base/units.h"
#include "node/host/processes.h"

/* Bounds, so that no machine makes a look into its containers long. */
#define FL_INSIDE_PIDS 20000
#define FL_INSIDE_CONTAINERS 1024
#define FL_INSIDE_PODS 64                  /* with something to tell of; the kubelet has 110 by default */
#define FL_INSIDE_MAP_BYTES (4 * FL_MIB)   /* of one process; 20,000 mappings */
#define FL_INSIDE_DEV_NAMES 4096           /* in /dev of a container, which fills it as it likes; of a host: some 300 */

#define FL_INSIDE_TEXT 128   /* of a path or a process: enough to find it again */

/* A Pod with something to tell of; what is not so is "". */
struct fl_inside_pod {
	char uid[FL_POD_UID];
	char pod[FL_POD_NAME];                 /* NAMESPACE/NAME; "": its name cannot be found out */
	char library[FL_INSIDE_TEXT];          /* libcuda.so.550.54.15 */
	char process[FL_INSIDE_TEXT];          /* that has mapped it: python3 (pid 812) */
	char denied[FL_INSIDE_TEXT];           /* /dev/nvidia0 */
	char unlinked[FL_INSIDE_TEXT];
};

struct fl_inside_scan {
	/* The caller's. */
	const char *proc, *logs;               /* the kubelet's directory of Pod logs */
	char version[64];                      /* of the loaded driver; "": libraries are not looked at */

	/* What was found. */
	int error;                             /* of /proc itself; 0: it was read */
	bool cut;                              /* there was more than is kept */
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

/* May it be read and written, by the text of a devices.list? */
bool fl_inside_allowed(struct fl_str list, uint32_t major, uint32_t minor);
