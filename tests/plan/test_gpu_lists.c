/* Which resources there are on a node. R61, R92, R95 of the pools' contract; I1, I3, I6. */
#include "plan/gpu/lists.h"
#include "gpu_facts.h"
#include "gpu_runtime.h"

#define READY "metadata: {name: driver}\nstate: Ready\n"
#define CARD(n, more) \
	"---\nmetadata: {name: '0000:0" n ":00.0'}\nanswer: Answers\nuuid: GPU-" n "\nindex: " n "\nminor: " n "\n" more
#define TWO \
	CARD("1", "links: [{peer: '0000:02:00.0', level: 10, nvlinks: 2}]\nnumaNode: 0\n") CARD("2", "numaNode: 0\n")
#define CUT \
	CARD("1", "mig: true\npartitions: [{uuid: MIG-1, index: 0, gi: 1, ci: 0, profile: 1g.10gb, giCap: 12, " \
		  "ciCap: 13}, {uuid: MIG-2, index: 1, gi: 2, ci: 0, profile: 1g.10gb+me}, {uuid: MIG-3, index: 2, " \
		  "gi: 3, ci: 0, profile: 1c.2g.20gb}]\n")
#define HALVES(caps) \
	CARD("1", "mig: true\npartitions: [{uuid: MIG-1, index: 0, gi: 1, ci: 0, profile: 1g.10gb, giCap: 12, " \
		  "ciCap: 13}, {uuid: MIG-2, index: 1, gi: 2, ci: 0, profile: 1g.10gb" caps "}]\n")
#define CAPS ", giCap: 21, ciCap: 22"
#define FIRST_HALF \
	"metadata: {name: x}\ncdiVersion: 0.5.0\nkind: k.io/gpu\ndevices: [{name: MIG-1, containerEdits: {}}]\n"
#define WELL(name, n) "---\nmetadata: {name: '" name "'}\ncard: '0000:0" n ":00.0'\nstate: Healthy\n"
#define SICK(name, n) \
	"---\nmetadata: {name: '" name "'}\ncard: '0000:0" n ":00.0'\nstate: Unhealthy\ncause: Xid79\nstatus: " \
	"{conditions: [{type: Healthy, status: 'False', reason: Xid79, message: reboot, " \
	"lastTransitionTime: '2026-01-01T00:00:00Z'}]}\n"
#define FLAPS(name, n) \
	"---\nmetadata: {name: '" name "'}\ncard: '0000:0" n ":00.0'\nstate: Unhealthy\ncause: Lost\nstatus: " \
	"{conditions: [{type: Healthy, status: 'False', reason: Lost, message: reset, " \
	"lastTransitionTime: '2026-01-01T00:00:00Z'}, {type: Flapping, status: 'True', reason: Flapping, " \
	"message: often, lastTransitionTime: '2026-01-01T00:00:00Z'}]}\n"
#define WELL1 WELL("0000:01:00.0", "1")
#define WELL2 WELL1 WELL("0000:02:00.0", "2")
#define WELLHALVES WELL1 WELL("MIG-1", "1") WELL("MIG-2", "1")
#define WELLCUT WELL2 WELL("MIG-1", "1") WELL("MIG-2", "1") WELL("MIG-3", "1")
#define SPEC \
	"metadata: {name: x}\ncdiVersion: 0.5.0\nkind: k.io/gpu\ndevices: [{name: GPU-1, containerEdits: {}}, " \
	"{name: GPU-2, containerEdits: {}}, {name: MIG-1, containerEdits: {}}, {name: MIG-2, containerEdits: {}}, " \
	"{name: '1', containerEdits: {}}, {name: '2', containerEdits: {}}]\n"
#define SPEC6 \
	SPEC "---\nmetadata: {name: six}\ncdiVersion: 0.5.0\nkind: k.io/gpu\n" \
	"devices: [{name: GPU-3, containerEdits: {}}, {name: GPU-4, containerEdits: {}}, " \
	"{name: GPU-5, containerEdits: {}}, {name: GPU-6, containerEdits: {}}]\n"
#define ON "unpooled: true\n"
/* At the agent's first look, so that it cannot say what it is. */
#define LOST1 "---\nmetadata: {name: '0000:01:00.0'}\nanswer: Lost\nmessage: gone\n"
#define SICK1 SICK("0000:01:00.0", "1")
#define WAS(more) "identity: {uuid: GPU-1, index: 1, minor: 1" more "}\n"
#define PART(n, gi) \
	SICK("MIG-" n, "1") "identity: {uuid: GPU-1, mig: true, partition: {uuid: MIG-" n ", index: 0, gi: " gi ", " \
			    "ci: 0, profile: 1g.10gb}}\n"
#define HOLD(resource, id) \
	"---\nmetadata: {name: t/j/c/" resource "}\nresource: " resource "\ndevices: [" id "]\npodNamespace: t\n" \
	"pod: j\ncontainer: c\n"
#define SERVED(units) "---\nmetadata: {name: nvidia.com/gpu}\nunits: [" units "]\n"
#define U(n) "{id: GPU-" n ", healthy: true, shown: GPU-" n ", card: '0000:0" n ":00.0'}"

static const struct {
	const char *says, *settings, *cards, *health, *holders, *served, *spec, *others, *driver, *got;
	bool on_its_way;                       /* the CDI files: another one lies in the directory, or none */
} rows[] = {
	{ "R61: a GPU of no pool is not exposed", "", TWO, WELL2, "", "", SPEC, "", READY,
	  "GPUsReady: True NoResources: no GPU is served: no pool has one, and GPUs without a pool are off: set "
	  "--unpooled=true, or name GPUs with --pool\n" },
	{ "row 8: without libcuda nothing is advertised, and the condition names where it was looked for", ON, TWO,
	  WELL2, "", "", SPEC, "no libcuda", READY,
	  "GPUsReady: False LibrariesMissing: libcuda.so.1, which every GPU program needs, is in none of "
	  "/usr/lib64 below '/drv': install the driver's libraries of this version, or name their root by "
	  "--driver-root*\n" },
	{ "row 8: nor as device nodes", ON "deviceListStrategy: [device-specs]\n", TWO, WELL2, "", "", "", "no libcuda",
	  READY, "GPUsReady: False LibrariesMissing: *\n" },
	{ "CDI files where the runtime does not look: the condition names both places", ON, TWO, WELL2, "", "", SPEC,
	  "other dir", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0 250) GPU-2 (GPU-2, near 250 0)\n"
	  "GPUsReady: False CDIDirectory: the container runtime reads CDI files in /etc/cdi, /run/x, and the agent "
	  "writes them to /var/run/cdi: *\n" },
	{ "and of CRI-O the file and the setting", ON, TWO, WELL2, "", "", SPEC, "crio dir", READY,
	  "nvidia.com/gpu *\nGPUsReady: False CDIDirectory: the container runtime reads CDI files in /etc/cdi, and the "
	  "agent writes them to /var/run/cdi: name one of those by --cdi-dir, or add this one to cdi_spec_dirs of "
	  "[crio.runtime] in /etc/crio/crio.conf\n" },
	{ "/var/run is /run", ON, TWO, WELL2, "", "", SPEC, "same dir", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0 250) GPU-2 (GPU-2, near 250 0)\n"
	  "GPUsReady: True Ready: 2 GPUs, 1 resource\n" },
	{ "row 36: without the hook's program nothing is advertised by CDI, and the condition has the remedy",
	  ON "hook: /h\n", TWO, WELL2, "", "", SPEC, "no hook", READY,
	  "GPUsReady: False HookMissing: '/h' is on a mount*\n" },
	{ "GPUs of no pool, where somebody wants them", ON, TWO, WELL2, "", "", SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0 250) GPU-2 (GPU-2, near 250 0)\n"
	  "GPUsReady: True Ready: 2 GPUs, 1 resource\n" },
	{ "R92: asked twice, the same", ON, TWO, WELL2, "", SERVED(U("1") "," U("2")), SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0 250) GPU-2 (GPU-2, near 250 0)\n"
	  "GPUsReady: True Ready: 2 GPUs, 1 resource\n" },
	{ "by index", ON "deviceIDStrategy: index\n", TWO, WELL2, "", "", SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (1, near 0 250) GPU-2 (2, near 250 0)\n"
	  "GPUsReady: True Ready: 2 GPUs, 1 resource\n" },
	{ "where the driver tells no links, the bus does: one switch, several, one root, one node, none",
	  ON,
	  CARD("1", "bus: pci0/r0/u0/d0/1\nnumaNode: 0\n") CARD("2", "bus: pci0/r0/u0/d1/2\nnumaNode: 0\n")
	  CARD("3", "bus: pci0/r0/u0/d2/u1/d3/3\nnumaNode: 0\n") CARD("4", "bus: pci0/r1/4\nnumaNode: 0\n")
	  CARD("5", "bus: pci1/r2/5\nnumaNode: 0\n") CARD("6", "bus: pci2/r3/6\nnumaNode: 1\n"),
	  WELL2 WELL("0000:03:00.0", "3") WELL("0000:04:00.0", "4") WELL("0000:05:00.0", "5")
	  WELL("0000:06:00.0", "6"),
	  "", "", SPEC6, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0 50 40 30 20 10) GPU-2 (GPU-2, near 50 0 40 30 20 10) GPU-3 "
	  "(GPU-3, near 40 40 0 30 20 10) GPU-4 (GPU-4, near 30 30 30 0 20 10) GPU-5 (GPU-5, near 20 20 20 20 0 10) "
	  "GPU-6 (GPU-6, near 10 10 10 10 10 0)\nGPUsReady: True Ready: 6 GPUs, 1 resource\n" },
	{ "what the driver tells comes first", ON,
	  CARD("1", "bus: pci0/r0/u0/d0/1\nlinks: [{peer: '0000:02:00.0', level: 50}]\n")
	  CARD("2", "bus: pci0/r0/u0/d1/2\n"),
	  WELL2, "", "", SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0 10) GPU-2 (GPU-2, near 10 0)\nGPUsReady: *\n" },
	{ "a pool has its GPUs, others are nvidia.com/gpu", ON "pools: [{resource: p.io/a, cards: ['2']}]\n", TWO,
	  WELL2, "",
	  "", SPEC, "", READY,
	  "p.io/a cdi-cri: GPU-2 (GPU-2, near 0)\nnvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0)\n"
	  "GPUsReady: True Ready: 2 GPUs, 2 resources\n" },
	{ "never two names for one card: the first pool has it",
	  "pools: [{resource: p.io/a, cards: [GPU-2]}, {resource: p.io/b, cards: [all], slicesPerUnit: 3}]\n", TWO,
	    WELL2, "",
	  "", SPEC, "", READY,
	  "p.io/a cdi-cri: GPU-2 (GPU-2, near 0)\np.io/b cdi-cri: GPU-1 x3 (GPU-1)\n"
	  "GPUsReady: True Ready: 2 GPUs, 2 resources\n" },
	{ "shares, renamed", ON "sharing: [{resource: nvidia.com/gpu, renamed: nvidia.com/gpu.shared, replicas: 4}]\n",
	  TWO,
	  WELL2, "", "", SPEC, "", READY,
	  "nvidia.com/gpu.shared cdi-cri: GPU-1 x4 (GPU-1) GPU-2 x4 (GPU-2)\nGPUsReady: True Ready: 2 GPUs, 1 "
	    "resource\n" },

	{ "R95: a sick GPU is withdrawn, its neighbour is not", ON, TWO, WELL1 SICK("0000:02:00.0",
	  "2"),
	  "", SERVED(U("1") "," U("2")), SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0 250) GPU-2 (GPU-2, near 250 0) unhealthy: Xid79: reboot\n"
	  "GPUsReady: False GPUsUnhealthy: GPU-2 (GPU 0000:02:00.0): Xid79: reboot\n" },
	{ "of a GPU that flaps that is said, whatever it breaks with now", ON, TWO, WELL1 FLAPS("0000:02:00.0", "2"),
	  "", SERVED(U("1") "," U("2")), SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0 250) GPU-2 (GPU-2, near 250 0) unhealthy: Flapping: often\n"
	  "GPUsReady: False GPUsUnhealthy: GPU-2 (GPU 0000:02:00.0): Flapping: often\n" },
	{ "at the start nothing is served before its health is known", ON, TWO, WELL1, "", "", SPEC,
	  "", READY, "GPUsReady: True Ready: 2 GPUs, 1 resource\n" },
	{ "nor before its CDI file is written", ON, TWO, WELL2, "", "", "", "", READY,
	  "GPUsReady: False CDINotWritten: GPU-1 is not in the CDI file yet: *\n" },
	{ "not even for who holds another card: its name comes in a moment", ON, TWO, WELL2,
	  HOLD("nvidia.com/gpu", "GPU-2"), "", "", "nodes", READY,
	  "GPUsReady: False CDINotWritten: GPU-1 is not in the CDI file yet: *\n" },
	{ "but where its node is missing: then it comes later, or never", ON, TWO, WELL2,
	  HOLD("nvidia.com/gpu", "GPU-2"), "", "", "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0 250) unhealthy: its CDI file is not written yet; *\n"
	  "GPUsReady: False CDINotWritten: GPU-1 is not in the CDI file yet: /dev/nvidia1 is not there; *\n" },
	{ "nor for who holds another partition", ON "migStrategy: mixed\n", HALVES(CAPS), WELLHALVES,
	  HOLD("nvidia.com/mig-1g.10gb", "MIG-1"), "", FIRST_HALF, "nodes", READY,
	  "GPUsReady: False CDINotWritten: MIG-2 is not in the CDI file yet: *\n" },
	{ "but where a node of its capabilities is missing", ON "migStrategy: mixed\n", HALVES(CAPS), WELLHALVES,
	  HOLD("nvidia.com/mig-1g.10gb", "MIG-1"), "", FIRST_HALF, "no cap", READY,
	  "nvidia.com/mig-1g.10gb cdi-cri: MIG-1 (MIG-1) MIG-2 (MIG-2) unhealthy: its CDI file is not written yet; *\n"
	  "GPUsReady: False CDINotWritten: MIG-2 is not in the CDI file yet: *\n" },
	{ "or nobody knows which nodes they are", ON "migStrategy: mixed\n", HALVES(""), WELLHALVES,
	  HOLD("nvidia.com/mig-1g.10gb", "MIG-1"), "", FIRST_HALF, "nodes", READY,
	  "nvidia.com/mig-1g.10gb cdi-cri: MIG-1 (MIG-1) MIG-2 (MIG-2) unhealthy: its CDI file is not written yet; *\n"
	  "GPUsReady: False CDINotWritten: MIG-2 is not in the CDI file yet: *\n" },
	{ "which says why, where it cannot be written", ON, TWO, WELL2, "", "", "", "trouble", READY,
	  "GPUsReady: False CDINotWritten: GPU-1 is not in the CDI file yet: the disk is full: make room there; *\n" },
	{ "nor while it is being written", ON, TWO, WELL2, "", "", SPEC, "", READY,
	  "GPUsReady: False CDINotWritten: GPU-1 is not in the CDI file yet: *\n", true },
	{ "nor while the host is looked at: the file is another driver's", ON, TWO, WELL2, "", "", SPEC, "unseen",
	  READY, "GPUsReady: False CDINotWritten: GPU-1 is not in the CDI file yet: *\n" },
	{ "who holds another GPU does not wait for a disk that hangs", ON, TWO, WELL2, HOLD("nvidia.com/gpu", "GPU-2"),
	  "", SPEC, "failed", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0 250) unhealthy: its CDI file is not written yet; *\n"
	  "GPUsReady: False CDINotWritten: GPU-1 is not in the CDI file yet: '/drv' does not answer; *\n" },
	{ "what is handed out stays so while the file is written anew, and what is new waits", ON, TWO, WELL2, "",
	  SERVED(U("1")), SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0 250) GPU-2 (GPU-2, near 250 0) unhealthy: its CDI file is not "
	  "written yet*\nGPUsReady: False CDINotWritten: GPU-2 is not in the CDI file yet: *\n", true },
	{ "a recovered GPU waits for its CDI file", ON, TWO, WELL2, "",
	  SERVED(U("1") ",{id: GPU-2, healthy: false, shown: GPU-2, card: '0000:02:00.0'}"), SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0 250) GPU-2 (GPU-2, near 250 0) unhealthy: its CDI file is not "
	  "written yet*\nGPUsReady: False CDINotWritten: GPU-2 is not in the CDI file yet: *\n", true },
	{ "what comes beside GPUs and is not there is said, and GPUs are handed out",
	  ON "extras: [gds]\n", CARD("1", ""), WELL1, "", "", SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 *\nGPUsReady: False GDSMissing: GPUDirect Storage is switched on, and there "
	  "is no /dev/nvidia-fs0: load the module nvidia_fs, or switch gds-enabled off\n" },
	{ "an IMEX channel that is not there holds up nothing", ON "extras: [imex-channel]\n", CARD("1", ""), WELL1, "",
	  "", SPEC, "", READY, "nvidia.com/gpu cdi-cri: GPU-1 *\nGPUsReady: False IMEXChannelMissing: *\n" },
	{ "unless it is required: then nothing is advertised, and no Pod comes to be refused",
	  ON "extras: [imex-channel]\nimexRequired: true\n", CARD("1", ""), WELL1, "", "", SPEC, "", READY,
	  "GPUsReady: False IMEXChannelMissing: *\n" },
	{ "nor without CDI", ON "extras: [imex-channel]\nimexRequired: true\ndeviceListStrategy: [envvar]\n",
	  CARD("1", ""), WELL1, "", "", "", "", READY, "GPUsReady: False IMEXChannelMissing: *\n" },
	{ "what was advertised already is Unhealthy, and refused until the kubelet knows",
	  ON "extras: [imex-channel]\nimexRequired: true\n", CARD("1", ""), WELL1, "", SERVED(U("1")), SPEC, "",
	  READY, "nvidia.com/gpu refused cdi-cri: GPU-1 (GPU-1, near 0) unhealthy: IMEX channel 0 is required, and "
	  "there is no /dev/nvidia-caps-imex-channels/channel0: load *\nGPUsReady: False IMEXChannelMissing: *\n" },
	{ "an index that still leads to another GPU is not told", ON "deviceIDStrategy: index\n", CARD("1", ""), WELL1,
	  "", SERVED(U("1")),
	  "metadata: {name: x}\ncdiVersion: 0.5.0\nkind: k.io/gpu\ndevices: [{name: GPU-1, containerEdits: {env: "
	    "[A=b]}}, {name: '1', containerEdits: {env: [A=c]}}]\n",
	  "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (1, near 0) unhealthy: its CDI file is not written yet; *\n"
	  "GPUsReady: False CDINotWritten: *\n" },
	{ "a GPU that comes later waits alone", ON, TWO, WELL1, "", SERVED(U("1")), SPEC, "",
	  READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0 250) GPU-2 (GPU-2, near 250 0) unhealthy: it has not "
	    "been checked yet: wait a moment\nGPUsReady: True Ready: 2 GPUs, 1 resource\n" },

	{ "while the driver starts anew the list stays, as healthy as its GPUs", ON,
	  "---\nmetadata: {name: '0000:01:00.0'}\nanswer: Unasked\n---\nmetadata: {name: '0000:02:00.0'}\nanswer: "
	    "Unasked\n",
	  WELL2, "", SERVED(U("1") "," U("2")), SPEC, "", "metadata: {name: driver}\nstate: Starting\nmessage: wait\n",
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1) GPU-2 (GPU-2)\n"
	  "GPUsReady: False DriverNotReady: the driver is Starting: wait\n" },
	{ "a GPU that hangs stays in the list, as its health says", ON,
	  CARD("1", "") "---\nmetadata: {name: '0000:02:00.0'}\nanswer: Hung\n",
	  WELL1 SICK("0000:02:00.0", "2"), "", SERVED(U("1") "," U("2")), SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0 10) GPU-2 (GPU-2) unhealthy: Xid79: reboot\n"
	  "GPUsReady: False GPUsUnhealthy: *\n" },
	{ "a GPU that was lost before anybody knew it is in no list, and is told of", ON,
	  CARD("1", "") "---\nmetadata: {name: '0000:02:00.0'}\nanswer: Lost\n", WELL1 SICK("0000:02:00.0", "2"), "",
	  "", SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0)\n"
	  "GPUsReady: False GPUsUnhealthy: GPU at 0000:02:00.0 reports no UUID: Xid79: reboot\n" },
	{ "one that was lost before it was handed out is in the list all the same, for its name is known", ON,
	  CARD("1", "") "---\nmetadata: {name: '0000:02:00.0'}\nanswer: Lost\nuuid: GPU-2\n",
	  WELL1 SICK("0000:02:00.0", "2"), "", "", SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0 10) GPU-2 (GPU-2, near 10 0) unhealthy: Xid79: reboot\n"
	  "GPUsReady: False GPUsUnhealthy: GPU-2 (GPU 0000:02:00.0): Xid79: reboot\n" },
	{ "also in its pool, where that names it", "pools: [{resource: p.io/a, cards: [GPU-2]}]\n",
	  CARD("1", "") "---\nmetadata: {name: '0000:02:00.0'}\nanswer: Fails\nuuid: GPU-2\n",
	  WELL1 SICK("0000:02:00.0", "2"), "", "", SPEC, "", READY,
	  "p.io/a cdi-cri: GPU-2 (GPU-2, near 0) unhealthy: Xid79: reboot\n"
	  "GPUsReady: False GPUsUnhealthy: GPU-2 (GPU 0000:02:00.0): Xid79: reboot\n" },
	{ "but not while its health still says that it is well", ON,
	  CARD("1", "") "---\nmetadata: {name: '0000:02:00.0'}\nanswer: Lost\nuuid: GPU-2\n", WELL2, "", "", SPEC, "",
	  READY, "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0)\nGPUsReady: True Ready: 1 of 2 GPUs, 1 resource\n" },
	{ "nor when its name is another GPU's by now", ON,
	  "---\nmetadata: {name: '0000:01:00.0'}\nanswer: Lost\nuuid: GPU-2\n" CARD("2", ""),
	  SICK1 WELL("0000:02:00.0", "2"), "", "", SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-2 (GPU-2, near 0)\nGPUsReady: True Ready: 1 of 2 GPUs, 1 resource\n" },
	{ "one that is not asked yet is not", ON,
	  CARD("1", "") "---\nmetadata: {name: '0000:02:00.0'}\nanswer: Unasked\n", WELL1, "", "", SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0)\nGPUsReady: True Ready: 1 of 2 GPUs, 1 resource\n" },
	{ "a GPU of a virtual machine is in no list", ON, CARD("1", "") CARD("2", "boundTo: vfio-pci\n"), WELL2, "",
	  "", SPEC,
	  "", READY, "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0)\n"
	  "GPUsReady: True Ready: 1 of 2 GPUs, 1 resource\n" },

	{ "MIG none: GPUs, cut or not", ON, CUT, WELLCUT, "", "", SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0)\nGPUsReady: True Ready: 1 GPU, 1 resource\n" },
	{ "MIG mixed: parts by their profile, GPUs by theirs; parts of a GPU instance have no name",
	  ON "migStrategy: mixed\n", CUT CARD("2", ""), WELLCUT, "", "", SPEC, "", READY,
	  "nvidia.com/mig-1g.10gb cdi-cri: MIG-1 (MIG-1)\nnvidia.com/mig-1g.10gb.me cdi-cri: MIG-2 (MIG-2)\n"
	  "nvidia.com/gpu cdi-cri: GPU-2 (GPU-2, near 0)\nGPUsReady: True Ready: 2 GPUs, 3 resources\n" },
	{ "MIG mixed: a GPU without parts is told", ON "migStrategy: mixed\n", CARD("1", "mig: true\n"), WELL2, "", "",
	  SPEC,
	  "", READY, "GPUsReady: False NoPartitions: GPU 0000:01:00.0 is in MIG mode and has no MIG devices: *\n" },
	{ "MIG single: GPUs where none is cut", ON "migStrategy: single\n", CARD("1", ""), WELL2, "", "", SPEC, "",
	  READY, "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0)\nGPUsReady: True Ready: 1 GPU, 1 resource\n" },
	{ "MIG single: parts are the GPUs", ON "migStrategy: single\n",
	  CARD("1", "mig: true\npartitions: [{uuid: MIG-1, index: 0, gi: 1, ci: 0, profile: 1g.10gb}]\n"), WELLCUT, "",
	    "",
	  SPEC, "", READY, "nvidia.com/gpu cdi-cri: MIG-1 (MIG-1)\nGPUsReady: True Ready: 1 GPU, 1 resource\n" },
	{ "MIG single: one cut and one not", ON "migStrategy: single\n", CUT CARD("2", ""), WELLCUT, "", "", SPEC, "",
	  READY,
	  "GPUsReady: False MigStrategySingle: device 1 (GPU 0000:01:00.0): more than one MIG device type present on "
	    "node: *\n" },
	{ "MIG single: one that is not cut", ON "migStrategy: single\n", CARD("1", "") CARD("2", "mig: true\n"),
	  WELLCUT, "",
	  "", SPEC, "", READY,
	  "GPUsReady: False MigStrategySingle: device 1 (GPU 0000:01:00.0): all devices on the node must be "
	    "configured with the same migEnabled value: *\n" },
	{ "MIG single: one without parts", ON "migStrategy: single\n", CARD("1", "mig: true\n"), WELLCUT, "", "", SPEC,
	  "", READY,
	  "GPUsReady: False MigStrategySingle: device 1 (GPU 0000:01:00.0): has no MIG devices configured: create "
	    "some\n" },
	{ "a pool of parts",
	  "pools: [{resource: p.io/a, cards: [all], unit: MIG, migProfile: 1g.10gb, slicesPerUnit: 2}]\n",
	  CUT, WELLCUT, "", "", SPEC, "", READY,
	  "p.io/a cdi-cri: MIG-1 x2 (MIG-1)\nGPUsReady: True Ready: 1 GPU, 1 resource\n" },
	{ "a pool of parts that there are not",
	  "pools: [{resource: p.io/a, cards: [all], unit: MIG, migProfile: 7g}]\n", CUT,
	  WELLCUT, "", "", SPEC, "", READY,
	  "GPUsReady: False PoolMisconfigured: GPU 0000:01:00.0 of p.io/a has no MIG device 7g: create some\n" },
	{ "a pool of GPUs that are cut", "pools: [{resource: p.io/a, cards: [all]}]\n", CUT, WELLCUT, "", "", SPEC, "",
	  READY,
	  "GPUsReady: False PoolMisconfigured: GPU 0000:01:00.0 of p.io/a is in MIG mode: disable MIG, or serve "
	  "MIG devices\n" },

	{ "I3: a device that is gone stays in the list while somebody holds it", ON, CARD("1", ""), WELL2,
	  HOLD("nvidia.com/gpu", "GPU-2"), SERVED(U("1") "," U("2")), SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0 10) GPU-2 (GPU-2) leaving: it is listed only because "
	  "a Pod holds it; it is over when t/j has ended\nGPUsReady: True Ready: 1 GPU, 1 resource\n" },
	{ "and when it is gone for good, the Node tells of it", ON, CARD("1", ""),
	  WELL1 "---\nmetadata: {name: '0000:02:00.0'}\ncard: '0000:02:00.0'\nstate: Unhealthy\ncause: Gone\n"
	  "identity: {uuid: GPU-2}\nstatus: {conditions: [{type: Healthy, status: 'False', reason: Gone, "
	  "message: not there, lastTransitionTime: '2026-01-01T00:00:00Z'}]}\n",
	  HOLD("nvidia.com/gpu", "GPU-2"), SERVED(U("1") "," U("2")), SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0 10) GPU-2 (GPU-2) leaving: it is listed only because "
	  "a Pod holds it; it is over when t/j has ended\n"
	  "GPUsReady: False GPUsUnhealthy: GPU-2 (GPU 0000:02:00.0): Gone: not there\n" },
	{ "also when we have just started and know of it from its holder alone", ON, CARD("1", ""), WELL2,
	  HOLD("nvidia.com/gpu", "GPU-9"), "", SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0 10) GPU-9 (, near 10 0) leaving: *\n"
	  "GPUsReady: True Ready: 1 GPU, 1 resource\n" },
	{ "a resource that nobody wants any more goes", "", TWO, WELL2, "", SERVED(U("1")), SPEC, "", READY,
	  "gone nvidia.com/gpu\nGPUsReady: True NoResources: *\n" },
	{ "and stays while somebody holds a device of it", "", TWO, WELL2, HOLD("nvidia.com/gpu", "GPU-1"),
	  SERVED(U("1")), SPEC,
	  "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0) leaving: *\n"
	  "GPUsReady: True Ready: 1 of 2 GPUs, 1 resource\n" },
	{ "I1: a GPU goes to another pool when its holder has ended, not before",
	  "pools: [{resource: p.io/a, cards: ['1']}]\n", TWO, WELL2, HOLD("nvidia.com/gpu", "GPU-1"), SERVED(U("1")),
	    SPEC, "",
	  READY,
	  "p.io/a cdi-cri: GPU-1 (GPU-1, near 0) unhealthy: t/j holds it as GPU-1 of nvidia.com/gpu until it ends\n"
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0) leaving: *\n"
	  "GPUsReady: True Ready: 1 of 2 GPUs, 2 resources\n" },
	{ "what another plugin handed out is not registered in its place, while that one is away", "", TWO, WELL2,
	  HOLD("nvidia.com/gpu", "GPU-1"), "", SPEC, "", READY, "GPUsReady: True NoResources: *\n" },
	{ "nor is it wrong that it is there", "", TWO, WELL2, HOLD("nvidia.com/gpu", "GPU-1"), "", SPEC, "foreign",
	  READY, "GPUsReady: True NoResources: *\n" },
	{ "its GPU is no pool's until its holder has ended", "pools: [{resource: p.io/a, cards: ['1']}]\n", TWO, WELL2,
	  HOLD("nvidia.com/gpu", "GPU-1"), "", SPEC, "", READY,
	  "p.io/a cdi-cri: GPU-1 (GPU-1, near 0) unhealthy: t/j holds it as GPU-1 of nvidia.com/gpu until it ends\n"
	  "GPUsReady: True Ready: 1 of 2 GPUs, 1 resource\n" },
	{ "a resource of another domain is not ours, whatever its devices are called", ON, CARD("1", ""), WELL1,
	  HOLD("amd.com/gpu", "GPU-7"), "", SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0)\nGPUsReady: True Ready: 1 GPU, 1 resource\n" },
	{ "nor one of that domain that is no GPU's", ON, CARD("1", ""), WELL1, HOLD("nvidia.com/pgpu", "GPU-7"), "",
	  SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0)\nGPUsReady: True Ready: 1 GPU, 1 resource\n" },
	{ "a pool whose GPUs are others now stays for its holder", "pools: [{resource: p.io/a, cards: ['9']}]\n", TWO,
	  WELL2, HOLD("p.io/a", "GPU-1"), "", SPEC, "", READY,
	  "p.io/a cdi-cri: GPU-1 (, near 0) leaving: *\nGPUsReady: True Ready: 1 of 2 GPUs, 1 resource\n"
	  "GPUConfigApplied: False PoolMisconfigured: pool p.io/a: no GPU 9; *\n" },
	{ "so does one that was taken away while we were not there, by its domain", "", TWO, WELL2,
	  HOLD("gpu.deckhouse.io/train", "GPU-1") HOLD("cluster.gpu.deckhouse.io/all", "GPU-2"), "", SPEC, "", READY,
	  "gpu.deckhouse.io/train cdi-cri: GPU-1 (, near 0) leaving: *\n"
	  "cluster.gpu.deckhouse.io/all cdi-cri: GPU-2 (, near 0) leaving: *\n"
	  "GPUsReady: True Ready: 2 GPUs, 2 resources\n" },
	{ "and a part of a GPU that is not cut any more", ON, CARD("1", ""), WELL1,
	  HOLD("nvidia.com/mig-1g.10gb", "MIG-9"), "", SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0)\nnvidia.com/mig-1g.10gb cdi-cri: MIG-9 () leaving: *\n"
	  "GPUsReady: True Ready: 1 GPU, 2 resources\n" },
	{ "and a share of what is not shared any more", ON, CARD("2", ""), WELL2,
	  HOLD("nvidia.com/gpu.shared", "'GPU-1::0'"), "", SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-2 (GPU-2, near 0)\n"
	  "nvidia.com/gpu.shared cdi-cri: GPU-1 x1 (, near 0) leaving: *\n"
	  "GPUsReady: True Ready: 1 GPU, 2 resources\n" },
	{ "and one of a name that the settings gave",
	  ON "sharing: [{resource: nvidia.com/mig-1g.10gb, renamed: p.io/b, "
	  "replicas: 2}]\n", CARD("2", ""), WELL2, HOLD("p.io/b", "'MIG-9::0'"), "", SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-2 (GPU-2, near 0)\np.io/b cdi-cri: MIG-9 x1 () leaving: *\n"
	  "GPUsReady: True Ready: 1 GPU, 2 resources\n" },
	{ "I1: a MIG device is nobody's while a Pod holds its GPU", ON "migStrategy: mixed\n",
	  CARD("1", "mig: true\npartitions: [{uuid: MIG-1, index: 0, gi: 1, ci: 0, profile: 1g.10gb}]\n"), WELLCUT,
	  HOLD("nvidia.com/gpu", "GPU-1"), "", SPEC, "", READY,
	  "nvidia.com/mig-1g.10gb cdi-cri: MIG-1 (MIG-1) unhealthy: t/j holds it as GPU-1 of nvidia.com/gpu until it "
	    "ends\n"
	  "nvidia.com/gpu cdi-cri: GPU-1 (, near 0) leaving: *\nGPUsReady: True Ready: 1 GPU, 2 resources\n" },
	{ "I1: a GPU that is held whole is not shared meanwhile",
	  ON "sharing: [{resource: nvidia.com/gpu, replicas: 4}]\n",
	  TWO, WELL2, HOLD("nvidia.com/gpu", "GPU-1"), SERVED(U("1") "," U("2")), SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1) leaving: a Pod holds it as it was allocated before; "
	  "it is over when t/j has ended GPU-2 x4 (GPU-2)\nGPUsReady: True Ready: 2 GPUs, 1 resource\n" },
	{ "a share that is held is listed, though there are fewer now",
	  ON "sharing: [{resource: nvidia.com/gpu, replicas: 2}]\n", CARD("1", ""), WELL2,
	  HOLD("nvidia.com/gpu", "'GPU-1::3'"), "", SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 x4 (GPU-1) leaving: *\nGPUsReady: True Ready: 1 GPU, 1 resource\n" },

	{ "CDI is off: device nodes instead", ON, CARD("1", ""), WELL2, "", "", "", "off", READY,
	  "nvidia.com/gpu device-specs from /drv: /dev/nvidiactl: GPU-1 (GPU-1, near 0, /dev/nvidia1)\n"
	  "GPUsReady: False CDIOff: containerd 1.7 has CDI off: set enable_cdi in its configuration; until then "
	    "containers "
	  "get device nodes and no libraries\n" },
	{ "CDI is off: nothing, where that was asked for", ON "withoutCDI: refuse\n", CARD("1", ""), WELL2, "", "", "",
	  "off",
	  READY,
	  "nvidia.com/gpu refused: GPU-1 (GPU-1, near 0)\nGPUsReady: False CDIOff: *; until then no GPU is "
	    "advertised\n" },
	{ "it is unknown whether CDI is on: GPUs are handed out, and it is said", ON, CARD("1", ""), WELL1, "", "",
	  SPEC, "unknown", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0)\nGPUsReady: False RuntimeUnknown: it is unknown whether "
	  "*: it does not answer\n" },
	{ "what is surely wrong comes first", ON, CARD("1", ""), SICK1, "", "", SPEC, "unknown", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0) unhealthy: Xid79: reboot\n"
	  "GPUsReady: False GPUsUnhealthy: *: it does not answer\n" },
	{ "a runtime that has said nothing yet is not told of", ON, CARD("1", ""), WELL1, "", "", SPEC, "silent", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0)\nGPUsReady: True Ready: 1 GPU, 1 resource\n" },
	{ "nor where nothing is handed out", "", CARD("1", ""), WELL1, "", "", SPEC, "unknown", READY,
	  "GPUsReady: True NoResources: *\n" },
	{ "nor where containers do not get CDI names", ON "deviceListStrategy: [envvar]\n", CARD("1", ""), WELL1, "",
	  "", SPEC, "unknown", READY,
	  "nvidia.com/gpu envvar *\nGPUsReady: True Ready: 1 GPU, 1 resource\n" },
	{ "CDI alone has no use for nodes", ON "passDeviceSpecs: true\n", CARD("1", ""), WELL1, "", "", SPEC, "",
	  READY, "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0)\nGPUsReady: True Ready: 1 GPU, 1 resource\n" },
	{ "nodes of parts", ON "migStrategy: mixed\ndeviceListStrategy: [cdi-cri, envvar]\npassDeviceSpecs: true\n",
	  CARD("1",
	    "mig: true\npartitions: [{uuid: MIG-1, index: 0, gi: 1, ci: 0, profile: 1g.10gb, giCap: 12, ciCap: 13}]\n"),
	  WELLCUT, "", "", SPEC, "", READY,
	  "nvidia.com/mig-1g.10gb cdi-cri envvar device-specs from /drv: /dev/nvidiactl: MIG-1 (MIG-1, /dev/nvidia1, "
	  "/dev/nvidia-caps/nvidia-cap12, /dev/nvidia-caps/nvidia-cap13)\nGPUsReady: True Ready: 1 GPU, 1 "
	    "resource\n" },

	{ "before the API server has told of DeviceClasses a remembered claim counts", ON, CARD("1", ""), WELL2, "", "",
	  SPEC, "unheard, remembered", READY, "GPUsReady: False ClaimedByDeviceClass: *\n" },
	{ "without one what was given is served", ON, CARD("1", ""), WELL2, "", "", SPEC, "unheard", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0)\nGPUsReady: True Ready: 1 GPU, 1 resource\n" },
	{ "when it has told of none a remembered claim goes", ON, CARD("1", ""), WELL2, "", "", SPEC, "remembered",
	READY,
	  "gone claims\nnvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0)\nGPUsReady: True Ready: 1 GPU, 1 resource\n" },
	{ "what it tells is remembered", ON, CARD("1", ""), WELL2, "", "", SPEC, "claims kept", READY,
	  "claims: nvidia.com/gpu\nGPUsReady: False ClaimedByDeviceClass: *\n" },
	{ "while it is not known which configuration counts, nothing is served",
	  ON "waits: waits for the API server\n", CARD("1", ""), WELL2, HOLD("nvidia.com/gpu", "GPU-1"), "", SPEC,
	  "", READY,
	  "GPUsReady: False ConfigurationUnknown: waits for the API server\n" },
	{ "a name that a DeviceClass claims is not served", ON, CARD("1", ""), WELL2, "", SERVED(U("1")), SPEC,
	  "claimed", READY,
	  "gone nvidia.com/gpu\nGPUsReady: False ClaimedByDeviceClass: *\n" },
	{ "but for those who hold it, and to nobody else", ON, CARD("1", ""), WELL2, HOLD("nvidia.com/gpu", "GPU-1"),
	  SERVED(U("1")), SPEC, "claimed", READY,
	  "nvidia.com/gpu refused cdi-cri: GPU-1 (GPU-1, near 0)\nGPUsReady: False ClaimedByDeviceClass: *\n" },
	{ "a name that another plugin serves is not served", ON, CARD("1", ""), WELL2, "", "", SPEC, "foreign", READY,
	  "GPUsReady: False ServedByOther: nvidia.com/gpu is served by another plugin at nvidia-gpu.sock: remove that "
	    "one "
	  "first\n" },
	{ "a GPU that was lost before the agent came is what it was, though nothing in /run knows its name", ON,
	  LOST1 CARD("2", ""), SICK1 WAS("") WELL("0000:02:00.0", "2"), "", "",
	  "metadata: {name: x}\ncdiVersion: 0.5.0\nkind: k.io/gpu\ndevices: [{name: GPU-2, containerEdits: {}}]\n",
	  "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0 10) unhealthy: Xid79: reboot GPU-2 (GPU-2, near 10 0)\n"
	  "GPUsReady: False GPUsUnhealthy: GPU-1 (GPU 0000:01:00.0): Xid79: reboot\n" },
	{ "and it is held", ON "sharing: [{resource: nvidia.com/gpu, replicas: 2}]\ndeviceIDStrategy: index\n", LOST1,
	  SICK1 WAS(""), HOLD("nvidia.com/gpu", "'GPU-1::1'"), "", SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 x2 (1) unhealthy: Xid79: reboot\n"
	  "GPUsReady: False GPUsUnhealthy: GPU-1 (GPU 0000:01:00.0): Xid79: reboot\n" },
	{ "so are its partitions", ON "migStrategy: mixed\n", LOST1,
	  SICK1 WAS(", mig: true") PART("1", "1") PART("2", "2"),
	  HOLD("nvidia.com/mig-1g.10gb", "MIG-1"), "", "", "", READY,
	  "nvidia.com/mig-1g.10gb cdi-cri: MIG-1 (MIG-1) unhealthy: Xid79: reboot MIG-2 (MIG-2) unhealthy: Xid79: "
	  "reboot\n"
	  "GPUsReady: False GPUsUnhealthy: *\n" },
	{ "of a GPU that nothing is remembered of, only what is held is listed", ON, LOST1, SICK1,
	  HOLD("nvidia.com/gpu", "GPU-1"), "", SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (, near 0) leaving: *\n"
	  "GPUsReady: False GPUsUnhealthy: GPU at 0000:01:00.0 reports no *\n" },
	{ "a GPU that has moved to another place is there once", ON,
	  LOST1 "---\nmetadata: {name: '0000:02:00.0'}\nanswer: Answers\nuuid: GPU-1\nindex: 0\nminor: 0\n",
	  SICK1 WAS("") WELL("0000:02:00.0", "2"), "", "", SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0)\n"
	  "GPUsReady: False GPUsUnhealthy: GPU at 0000:01:00.0 reports no *\n" },
	{ "without a driver nothing is remembered into a list", ON, LOST1, SICK1 WAS(""), "", "", SPEC, "",
	  "metadata: {name: driver}\nstate: Absent\n", "GPUsReady: False DriverNotReady: *\n" },
	{ "who holds a device gets no new list before its file is there", ON, CARD("1", ""), WELL1,
	  HOLD("nvidia.com/gpu", "GPU-1"), "", SPEC, "", READY, "GPUsReady: False CDINotWritten: *\n", true },
	{ "nor one before the driver has said what there is", ON, LOST1, "", HOLD("nvidia.com/gpu", "GPU-1"), "", SPEC,
	  "", "metadata: {name: driver}\nstate: Starting\n", "GPUsReady: False DriverNotReady: *\n" },
	{ "but does where the file cannot be written", ON, CARD("1", ""), WELL1,
	  HOLD("nvidia.com/gpu", "GPU-1"), "", "", "trouble", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0) unhealthy: *\nGPUsReady: False CDINotWritten: *\n" },
	{ "nobody answers at that socket: the name is free", ON, CARD("1", ""), WELL2, "", "", SPEC, "dead", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0)\nGPUsReady: True Ready: 1 GPU, 1 resource\n" },
	{ "a mistake in the configuration is told", ON "message: x is wrong\n", CARD("1", ""), WELL2, "", "", SPEC, "",
	  READY, "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0)\nGPUsReady: False Configuration: x is wrong\n"
	  "GPUConfigApplied: False Invalid: x is wrong\n" },
	{ "what is not taken of it is told too, and no GPU is unready for that", ON "untaken: x is not taken\n",
	  CARD("1", ""), WELL1, "", "", SPEC, "", READY,
	  "nvidia.com/gpu cdi-cri: GPU-1 (GPU-1, near 0)\nGPUsReady: True Ready: 1 GPU, 1 resource\n"
	  "GPUConfigApplied: False PartlyIgnored: x is not taken\n" },
};

static void print_unit(const struct fl_unit *unit, struct fl_buf *out)
{
	fl_buf_printf(out, " %.*s", FL_ARG(unit->id));
	if (unit->replicas)
		fl_buf_printf(out, " x%d", (int)unit->replicas);
	fl_buf_printf(out, " (%.*s", FL_ARG(unit->shown));
	for (uint32_t i = 0; i < unit->nearness.len; i++)
		fl_buf_printf(out, "%s%d", i ? " " : ", near ", (int)unit->nearness.at[i]);
	for (uint32_t i = 0; i < unit->nodes.len; i++)
		fl_buf_printf(out, ", %.*s", FL_ARG(unit->nodes.at[i]));
	fl_buf_printf(out, ")%s%.*s", unit->leaving ? " leaving: " : unit->healthy ? "" : " unhealthy: ",
		      FL_ARG(unit->why));
}

static void print_plan(const struct fl_plan *plan, struct fl_buf *out)
{
	for (const struct fl_want *want = plan->first; want; want = want->next) {
		const struct fl_resource *r = want->object;

		if (want->what == FL_WANT_GONE) {
			fl_buf_printf(out, "gone %.*s\n", FL_ARG(want->ref.name));
			continue;
		}
		if (want->ref.kind == &fl_memo_kind) {
			const struct fl_memo *memo = want->object;

			fl_buf_printf(out, "%.*s:", FL_ARG(want->ref.name));
			for (uint32_t i = 0; i < memo->claimed.len; i++)
				fl_buf_printf(out, " %.*s", FL_ARG(memo->claimed.at[i]));
			fl_buf_char(out, '\n');
			continue;
		}
		if (want->ref.kind == &fl_readiness_kind)
			continue;   /* test_gpu_lists_dirs.c */
		if (want->ref.kind == &fl_own_node_kind) {
			const struct fl_own_node *node = want->object;

			for (uint32_t i = 0; i < node->status.conditions.len; i++) {
				const struct fl_condition *c = &node->status.conditions.at[i];

				if (fl_str_eq(c->reason, FL_S("Applied")) && c->status == FL_CONDITION_TRUE)
					continue;   /* as it is nearly always */
				fl_buf_printf(out, "%.*s: %s %.*s: %.*s\n", FL_ARG(c->type),
					      fl_name(&fl_condition_status_names, (int)c->status), FL_ARG(c->reason),
					      FL_ARG(c->message));
			}
			continue;
		}
		fl_buf_printf(out, "%.*s%s", FL_ARG(want->ref.name), r->refused.len ? " refused" : "");
		for (uint32_t i = 0; i < r->device_lists.len; i++)
			fl_buf_printf(out, " %s", fl_name(&fl_device_list_names, (int)r->device_lists.at[i]));
		if (r->dev_root.len)
			fl_buf_printf(out, " from %.*s", FL_ARG(r->dev_root));
		for (uint32_t i = 0; i < r->nodes.len; i++)
			fl_buf_printf(out, ": %.*s", FL_ARG(r->nodes.at[i]));
		fl_buf_char(out, ':');
		for (uint32_t i = 0; i < r->units.len; i++)
			print_unit(&r->units.at[i], out);
		fl_buf_char(out, '\n');
	}
}

#define CAP "/dev/nvidia-caps/nvidia-cap"
#define NODES ", {path: /dev/nvidia1}, {path: " CAP "12}, {path: " CAP "13}, {path: " CAP "21}"

static int gather(struct fl_arena *arena, const char *settings, const char *others, struct fl_gpu_lists_facts *ret)
{
	static const struct fl_str gpu = FL_S_INIT("nvidia.com/gpu");
	static struct fl_device_class class;
	const char *runtime = runtime_of(others);
	const char *sockets = "metadata: {name: fairlead-gpu-1.sock}\nlive: true\n---\n"
			      "metadata: {name: nvidia-gpu.sock}\nours: false\n";
	const char *way = strstr(settings, "deviceListStrategy") ? "" : "deviceListStrategy: [cdi-cri]\n";
	struct fl_str all = fl_arena_printf(arena, "metadata: {name: settings}\ncdiKind: k.io/gpu\n%s%s", way,
					    settings);
	struct fl_str told = fl_arena_printf(arena, "metadata: {name: runtime}\nruntime: %s\nversion: '1.7'\n%s",
					     strcmp(others, "crio dir") == 0 ? "cri-o" : "containerd", runtime);
	bool all_there = strcmp(others, "nodes") == 0 || strcmp(others, "trouble") == 0;
	const char *nodes = all_there ? NODES ", {path: " CAP "22}" : strcmp(others, "no cap") == 0 ? NODES : "";
	const char *live = strcmp(others, "foreign") == 0 ? "true" : "false";
	struct fl_str some = fl_arena_printf(arena, "%slive: %s\n", sockets, live);
	struct fl_str host = fl_arena_printf(arena, "metadata: {name: host}\nnodesRoot: /drv\nversion: '1'\nlayout: a\n"
						    "seen: %s\nnodes: [{path: /dev/nvidiactl, major: 195, "
						    "minor: 255}%s]\n%s",
					     strcmp(others, "unseen") == 0 ? "0/a" : "1/a", nodes,
					     strcmp(others, "no libcuda") == 0 ?
						     "looked: /usr/lib64 below '/drv'\n" :
					     strcmp(others, "no hook") == 0 ?
						     "hook: /h\nhookMessage: \"'/h' is on a mount without "
						     "execution\"\n" :
						     "");

	if (strcmp(others, "failed") == 0)
		host = FL_S("metadata: {name: host}\nmessage: \"'/drv' does not answer\"\n");
	FL_SET(FL_IN(&class, spec), resource, gpu);
	ret->state_known = ret->specs_known = ret->sockets_known = ret->holders_known = true;
	ret->classes_known = strncmp(others, "unheard", 7) != 0;
	if (strcmp(others, "remembered") == 0 || strcmp(others, "unheard, remembered") == 0)
		ret->claims = facts_object(arena, fl_memo_bind(),
					   FL_S("metadata: {name: claims}\nclaimed: [nvidia.com/gpu]\n"));
	if (strstr(others, "remembered") && !ret->claims)
		return -FL_E_NOMEM;
	ret->memo_known = strcmp(others, "claims kept") == 0 || ret->claims;
	if (strcmp(others, "claims kept") == 0 || strcmp(others, "claimed") == 0)
		ret->classes = &class, ret->class_len = 1;
	if (!all.p || !told.p || !some.p || !(ret->settings = facts_object(arena, fl_settings_bind(), all)) ||
	    !(ret->runtime = facts_object(arena, fl_runtime_bind(), told)) ||
	    !host.p || !(ret->host = facts_object(arena, fl_host_bind(), host)) ||
	    !(ret->node = facts_object(arena, fl_own_node_bind(), FL_S("metadata: {name: n1}\n"))) ||
	    !(ret->sockets = facts_list(arena, fl_plugin_socket_bind(), some.p, &ret->socket_len)))
		return -FL_E_NOMEM;
	return 0;
}

TEST(lists_from_facts)
{
	EACH_ROW_ALONE (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(8 * FL_KIB);
		struct fl_gpu_lists_facts f = { 0 };
		struct fl_cdi_spec *files;
		struct fl_plan plan;

		OK(gather(&arena, row->settings, row->others, &f));
		GOT(f.driver = facts_object(&arena, fl_driver_bind(), fl_str(row->driver)));
		GOT(f.cards = facts_list(&arena, fl_card_bind(), row->cards, &f.card_len));
		GOT(f.health = facts_list(&arena, fl_health_bind(), row->health, &f.health_len));
		GOT(f.holders = facts_list(&arena, fl_holder_bind(), row->holders, &f.holder_len));
		GOT(f.resources = facts_list(&arena, fl_resource_bind(), row->served, &f.resource_len));
		GOT(f.specs = files = facts_list(&arena, fl_cdi_spec_bind(), row->spec, &f.spec_len));
		for (uint32_t i = 0; i < f.spec_len && !row->on_its_way; i++) {
			FL_SET(&files[i], on_disk, fl_cdi_digest(&files[i]));
			OK(files[i].on_disk ? 0 : -FL_E_NOMEM);
		}
		if (strcmp(row->others, "trouble") == 0)
			GOT(f.troubles = facts_list(&arena, fl_cdi_trouble_bind(),
						    "metadata: {name: x}\nwhy: 'the disk is full: make room there'\n",
						    &f.trouble_len));
		fl_plan_init(&plan, &arena);
		fl_gpu_lists_plan(&f, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		print_plan(&plan, &text);
		OK(fl_buf_check(&text, "the plan", NULL));
		if (!facts_like(fl_buf_view(&text), fl_str(row->got)))
			CHECK_STR(fl_buf_view(&text), row->got);
	}
}

/* Who asks why a resource is not there is told, and what to do. */
TEST(why_what_is_held_is_not_registered_is_explained)
{
	static const struct {
		const char *says, *settings, *holders, *words;
	} asked[] = {
		{ "it may be another plugin's", "", HOLD("nvidia.com/gpu", "GPU-1"),
		  "t/j holds GPU-1 of it, and neither a pool nor --unpooled has that name: *" },
		{ "what is no GPU of NVIDIA's is surely another's", "", HOLD("amd.com/gpu", "0000:03:00.0"), NULL },
		{ "ours is registered", ON, HOLD("nvidia.com/gpu", "GPU-1"), NULL },
	};

	EACH_ROW_ALONE (row, asked) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_gpu_lists_facts f = { 0 };
		const struct fl_said *told = NULL;
		struct fl_plan plan;

		OK(gather(&arena, row->settings, "", &f));
		GOT(f.driver = facts_object(&arena, fl_driver_bind(), FL_S(READY)));
		GOT(f.holders = facts_list(&arena, fl_holder_bind(), row->holders, &f.holder_len));
		fl_plan_init(&plan, &arena);
		fl_gpu_lists_plan(&f, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		for (const struct fl_said *said = plan.said; said; said = said->next)
			if (said->ref.kind == &fl_resource_kind && fl_str_eq(said->reason, FL_S("NotOurs")))
				told = said;
		CHECK_INT(told != NULL, row->words != NULL);
		if (told && row->words)
			CHECK(facts_like(told->message, fl_str(row->words)));
	}
}

/* A container whose device comes without the nodes that all need would start, and fail. */
TEST(device_nodes_are_not_handed_out_before_they_are_known)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(8 * FL_KIB);
	struct fl_gpu_lists_facts f = { 0 };
	struct fl_plan plan;

	OK(gather(&arena, ON, "off", &f));
	GOT(f.driver = facts_object(&arena, fl_driver_bind(), FL_S(READY)));
	GOT(f.cards = facts_list(&arena, fl_card_bind(), CARD("1", ""), &f.card_len));
	GOT(f.health = facts_list(&arena, fl_health_bind(), WELL1, &f.health_len));
	GOT(f.host = facts_object(&arena, fl_host_bind(), FL_S("metadata: {name: host}\nversion: '1'\n")));
	fl_plan_init(&plan, &arena);
	fl_gpu_lists_plan(&f, &plan);
	OK(plan.failed ? -FL_E_NOMEM : 0);
	print_plan(&plan, &text);
	OK(fl_buf_check(&text, "the plan", NULL));
	CHECK(facts_like(fl_buf_view(&text), FL_S("GPUsReady: False CDIOff: *\n")));
}

/* A name that leads to no file keeps a container from starting. */
TEST(what_comes_beside_cards_waits_for_its_file)
{
	static const struct {
		const char *says, *spec;
		uint32_t extras, nodes;
		bool served;
	} files[] = {
		{ "no file, no list", SPEC, 0, 0, false },
		{ "with it each container gets it, and its nodes where nodes are handed out",
		  SPEC "---\nmetadata: {name: k.io-gds}\ncdiVersion: 0.3.0\nkind: k.io/gds\ndevices: [{name: all, "
		  "containerEdits: {}}]\n",
		  1, 3, true },
	};

	EACH_ROW_ALONE (row, files) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		struct fl_gpu_lists_facts f = { 0 };
		const struct fl_resource *resource = NULL;
		struct fl_cdi_spec *specs;
		struct fl_plan plan;

		OK(gather(&arena,
			  ON "extras: [gds]\ndeviceListStrategy: [cdi-cri, envvar]\npassDeviceSpecs: true\n", "", &f));
		GOT(f.driver = facts_object(&arena, fl_driver_bind(), FL_S(READY)));
		GOT(f.cards = facts_list(&arena, fl_card_bind(), CARD("1", ""), &f.card_len));
		GOT(f.health = facts_list(&arena, fl_health_bind(), WELL1, &f.health_len));
		GOT(f.specs = specs = facts_list(&arena, fl_cdi_spec_bind(), row->spec, &f.spec_len));
		for (uint32_t i = 0; i < f.spec_len; i++) {
			FL_SET(&specs[i], on_disk, fl_cdi_digest(&specs[i]));
			OK(specs[i].on_disk ? 0 : -FL_E_NOMEM);
		}
		GOT(f.host = facts_object(&arena, fl_host_bind(),
					  FL_S("metadata: {name: host}\nversion: '1'\nlayout: a\nseen: 1/a\n"
					       "nodes: [{path: /dev/nvidia-fs0, "
					       "major: 1, minor: 0}, {path: /dev/nvidia-fs1, major: 1, minor: 1}, "
					       "{path: /dev/nvidiactl, major: 195, minor: 255}]\n")));
		fl_plan_init(&plan, &arena);
		fl_gpu_lists_plan(&f, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		for (const struct fl_want *want = plan.first; want; want = want->next)
			if (want->ref.kind == &fl_resource_kind)
				resource = want->object;
		CHECK_INT(resource != NULL, row->served);
		CHECK_INT(resource ? resource->extras.len : 0, row->extras);
		CHECK_INT(resource ? resource->nodes.len : 0, row->nodes);
	}
}

#define WAS_READY \
	"status: {conditions: [{type: GPUsReady, status: 'True', reason: Ready, message: as it was, " \
	"lastTransitionTime: '2026-01-01T00:00:00Z'}, {type: GPUConfigApplied, status: 'False', " \
	"reason: PartlyIgnored, message: x, lastTransitionTime: '2026-01-01T00:00:00Z'}]}\n"
#define BEGUN ON "started: 100000000000\n"
#define SOON(n) "GPU-" n " is not in the CDI file yet: the agent writes it in a moment"
#define KEPT "GPUsReady: True Ready: as it was\n"
#define MANY \
	CARD("1", "") CARD("2", "") CARD("3", "") CARD("4", "") CARD("5", "") CARD("6", "")
#define MANY_WELL WELL2 WELL("0000:03:00.0", "3") WELL("0000:04:00.0", "4") WELL("0000:05:00.0", "5") \
	WELL("0000:06:00.0", "6")
#define UP "metadata: {name: driver}\nstate: Starting\n"

static const struct {
	const char *says, *settings, *driver, *cards, *health, *before, *got;
	unsigned seconds;                      /* since the start */
} restarts[] = {
	{ "a driver that needs seconds is no news", BEGUN, UP, TWO, WELL2, WAS_READY, KEPT, 29 },
	{ "one that needs longer is", BEGUN, UP, TWO, WELL2, WAS_READY, "GPUsReady: False DriverNotReady*\n", 30 },
	{ "one that is not there is at once", BEGUN, "metadata: {name: driver}\nstate: Absent\n", TWO, WELL2,
	  WAS_READY, "GPUsReady: False DriverNotReady*\n", 1 },
	{ "nor is a file that is written in a moment", BEGUN, READY, TWO, WELL2, WAS_READY, KEPT, 29 },
	{ "one that is not written even then is", BEGUN, READY, TWO, WELL2, WAS_READY,
	  "GPUsReady: False CDINotWritten: " SOON("1") "; " SOON("2") "\n", 31 },
	{ "a sick GPU is told at once, whatever comes in a moment", BEGUN, READY, TWO,
	  WELL1 SICK("0000:02:00.0", "2"), WAS_READY, "GPUsReady: False CDINotWritten: GPU-1 *: Xid79: reboot\n", 1 },
	{ "on a node that is new nothing is said before it is known", BEGUN, UP, TWO, WELL2, "", "", 1 },
	{ "nor is a configuration that is being read", BEGUN "waits: for the label\n", READY, TWO, WELL2, WAS_READY,
	  KEPT "GPUConfigApplied: False PartlyIgnored: x\n", 1 },
	{ "a label that names none is told at once", BEGUN "waits: for one\nmessage: no file a\n", READY, TWO, WELL2,
	  WAS_READY, "GPUsReady: False ConfigurationUnknown: *\nGPUConfigApplied: False Invalid: *\n", 1 },
	{ "of many devices four are named", BEGUN, READY, MANY, MANY_WELL, WAS_READY,
	  "GPUsReady: False CDINotWritten: " SOON("1") "; " SOON("2") "; " SOON("3") "; " SOON("4")
	  "; 2 more devices\n",
	  31 },
};

TEST(a_restart_is_no_news_of_the_gpus)
{
	EACH_ROW (row, restarts) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(8 * FL_KIB);
		struct fl_str node = fl_arena_printf(&arena, "metadata: {name: n1}\n%s", row->before);
		uint64_t begun = 100 * FL_NS_PER_S;
		struct fl_gpu_lists_facts f = { .now = begun + row->seconds * FL_NS_PER_S };
		struct fl_plan plan;

		OK(node.p ? 0 : -FL_E_NOMEM);
		OK(gather(&arena, row->settings, "unseen", &f));
		GOT(f.node = facts_object(&arena, fl_own_node_bind(), node));
		GOT(f.driver = facts_object(&arena, fl_driver_bind(), fl_str(row->driver)));
		GOT(f.cards = facts_list(&arena, fl_card_bind(), row->cards, &f.card_len));
		GOT(f.health = facts_list(&arena, fl_health_bind(), row->health, &f.health_len));
		fl_plan_init(&plan, &arena);
		fl_gpu_lists_plan(&f, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		print_plan(&plan, &text);
		OK(fl_buf_check(&text, "the plan", NULL));
		if (!facts_like(fl_buf_view(&text), fl_str(row->got)))
			CHECK_STR(fl_buf_view(&text), row->got);
		if (row->seconds < 30 && strncmp(row->got, KEPT, strlen(KEPT)) == 0)
			CHECK_INT(plan.at, begun + 30 * FL_NS_PER_S);
	}
}

TEST(nobody_has_looked_yet)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	struct fl_gpu_lists_facts f = { 0 };
	struct fl_err err = { 0 };
	struct fl_plan plan;

	fl_plan_init(&plan, &arena);
	fl_gpu_lists_plan(&f, &plan);
	CHECK(!plan.first && !plan.failed);
	OK_ERR(fl_owner_check(&fl_gpu_lists_owner, &err), &err);
	OK_ERR(fl_owner_check(&fl_gpu_lists_node_owner, &err), &err);
}
