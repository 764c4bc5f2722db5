/* The CDI file of a node's GPUs. I3: what was handed out resolves until nobody holds it. */
#include "plan/gpu/cdi.h"
#include "gpu_facts.h"

#define READY "metadata: {name: driver}\nstate: Ready\n"
#define PLAIN "metadata: {name: s}\ncdiKind: k.io/gpu\n"
#define SEEN "metadata: {name: host}\nversion: '550'\nlayout: a\nseen: 550/a\n"
#define HOST SEEN "nodes: [" NODES "]\n"
#define NODES \
	"{path: /dev/dri/card1, major: 226, minor: 1, mode: 438}, {path: /dev/nvidia-caps/nvidia-cap12, major: 234, " \
	"minor: 12, mode: 438}, {path: /dev/nvidia-caps/nvidia-cap13, major: 234, minor: 13, mode: 438}, " \
	"{path: /dev/nvidia0, major: 195, minor: 0, mode: 438}, {path: /dev/nvidia1, major: 195, minor: 1, mode: " \
	  "438}, " \
	"{path: /dev/nvidiactl, major: 195, minor: 255, mode: 438}"
#define FILES \
	"paths: [{what: Library, path: /usr/lib/libcuda.so.550, links: [{name: libcuda.so.1, target: " \
	"libcuda.so.550}]}, {what: Binary, path: " \
	"/usr/bin/nvidia-smi}, {what: Socket, path: /run/nvidia-persistenced/socket}]\n"
#define ROW_21 \
	SEEN "nodes: [{path: /dev/dri/card1, major: 1, minor: 1, mode: 432, gid: 44}, {path: /dev/nvidia0, major: " \
	"195, " \
	     "minor: 0, mode: 432, gid: 0}]\n"
#define ONE "metadata: {name: a}\nanswer: Answers\nuuid: GPU-a\nindex: 0\nminor: 0\ndri: [card1]\n"
#define OTHER "---\nmetadata: {name: b}\nanswer: Answers\nuuid: GPU-b\nindex: 1\nminor: 1\n"
#define CUT "metadata: {name: a}\nanswer: Answers\nuuid: GPU-a\nindex: 0\nminor: 0\nmig: true\npartitions: " \
	  "[{uuid: MIG-1, " \
	    "index: 0, gi: 1, ci: 0, profile: x, giCap: 12, ciCap: 13}, {uuid: MIG-2, index: 1, gi: 2, ci: 0, " \
	      "profile: x, " \
	    "giCap: 99, ciCap: 98}]\n"
#define OLD "metadata: {name: k.io-gpu}\ncdiVersion: 0.5.0\nkind: k.io/gpu\ndevices: [{name: '7', containerEdits: " \
	  "{env: " \
	    "[A=z]}}, {name: GPU-z, containerEdits: {env: [A=z]}}]\n"
#define GDS \
	"metadata: {name: k.io-gds}\ncdiVersion: 0.3.0\nkind: k.io/gds\ndevices: [{name: all, containerEdits: {}}]\n"
#define HELD "metadata: {name: h}\nresource: r\ndevices: ['GPU-z::1']\npodNamespace: t\npod: p\ncontainer: c\n"
#define GPU_A "0: /dev/nvidia0=195:0 /dev/dri/card1=226:1\nGPU-a: /dev/nvidia0=195:0 /dev/dri/card1=226:1\n"

static const struct {
	const char *says, *settings, *driver, *host, *cards, *holders, *specs, *got, *served, *runtime;
	const char *active;                    /* what the kubelet has told; NULL: all; "": nothing yet */
} rows[] = {
	{ "nobody has looked at the host yet: nothing", PLAIN, READY, "", ONE, "", "", "" },
	{ "the driver is not ready: what was written stays", PLAIN,
	  "metadata: {name: d}\nstate: Absent\n", HOST, "", "",
	  OLD, "" },
	{ "a look is on its way: what was written stays", PLAIN, READY,
	  "metadata: {name: host}\nversion: '550'\nlayout: a\n", ONE, "", OLD, "" },
	{ "so it does while the next look is", PLAIN, READY,
	  "metadata: {name: host}\nversion: '550'\nlayout: b\nseen: 550/a\n", ONE, "", OLD, "" },
	{ "row 8: without libcuda no file", PLAIN, READY, HOST "looked: /usr/lib64\n", ONE, "", OLD,
	  "gone k.io-gpu\n" },
	{ "row 8: until the kubelet has told who holds what, a Pod may need it", PLAIN, READY,
	  HOST "looked: /usr/lib64\n", ONE, "", OLD, "", NULL, NULL, "" },
	{ "row 8: a kubelet that is young has not told all", PLAIN, READY, HOST "looked: /usr/lib64\n", ONE, "", OLD,
	  "", NULL, NULL, "settled: false\n" },
	{ "until it has told, names stay whose GPUs are gone", PLAIN, READY, HOST, OTHER, "", OLD,
	  "k.io-gpu 0.5.0 k.io/gpu\n1: *\n7: *\nGPU-b: *\nGPU-z: *\nall: *\neach: *\n", NULL, NULL, "" },
	{ "and so does a file that is switched off", PLAIN, READY, HOST, OTHER, "", GDS,
	  "k.io-gpu 0.5.0 k.io/gpu\n1: *\nGPU-b: *\nall: *\neach: *\n", NULL, NULL, "" },
	{ "what is new is written at once", PLAIN, READY, HOST, OTHER, "", "",
	  "k.io-gpu 0.5.0 k.io/gpu\n1: *\nGPU-b: *\nall: *\neach: *\n", NULL, NULL, "" },
	{ "row 8: what a Pod holds stays as it was", PLAIN, READY, HOST "looked: /usr/lib64\n", ONE, HELD, OLD, "" },
	{ "row 7: where the files are seen is not where the host has them",
	  PLAIN "hook: /h\ndriverRoot: /run/nvidia/driver\n", READY,
	  HOST FILES "hookAt: /h\nroot: /driver-root\nnodesRoot: /driver-root\n", OTHER, "", "",
	  "k.io-gpu 0.5.0 k.io/gpu\n1: /dev/nvidia1<-/run/nvidia/driver/dev/nvidia1=195:1\nGPU-b: *\nall: *\n"
	  "each: /dev/nvidiactl<-/run/nvidia/driver/dev/nvidiactl=195:255 "
	  "/usr/lib/libcuda.so.550<-/run/nvidia/driver/usr/lib/libcuda.so.550(ro) "
	  "/usr/bin/nvidia-smi<-/run/nvidia/driver/usr/bin/nvidia-smi(ro) *\n" },
	{ "row 4: files of the driver's root, nodes of the host", PLAIN "hook: /h\n", READY,
	  HOST FILES "hookAt: /h\nroot: /home/kubernetes/bin/nvidia\nnodesRoot: /\n", OTHER, "", "",
	  "k.io-gpu 0.5.0 k.io/gpu\n1: /dev/nvidia1=195:1\nGPU-b: *\nall: *\neach: /dev/nvidiactl=195:255 "
	  "/usr/lib/libcuda.so.550<-/home/kubernetes/bin/nvidia/usr/lib/libcuda.so.550(ro) *\n" },
	{ "row 18: partitions that draw have the GPU's nodes, others have not", PLAIN "migStrategy: mixed\n", READY,
	  SEEN "nodes: [" NODES ", {path: /dev/dri/renderD128, major: 226, minor: 128, mode: 438}, {path: "
	  "/dev/dri/controlD64, major: 226, minor: 64, mode: 438}]\n",
	  "metadata: {name: a}\nanswer: Answers\nuuid: GPU-a\nminor: 0\nmig: true\ndri: [card1, renderD128]\n"
	  "partitions: [{uuid: MIG-1, gi: 1, ci: 0, profile: 1g.24gb+gfx, giCap: 12, ciCap: 13}, {uuid: MIG-2, "
	  "gi: 2, ci: 0, profile: 1g.24gb, giCap: 12, ciCap: 13}]\n",
	  "", "",
	  "k.io-gpu 0.3.0 k.io/gpu\nMIG-1: /dev/nvidia0=195:0 *=234:13 /dev/dri/card1=226:1 "
	  "/dev/dri/renderD128=226:128\nMIG-2: /dev/nvidia0=195:0 /dev/nvidia-caps/nvidia-cap12=234:12 "
	  "/dev/nvidia-caps/nvidia-cap13=234:13\nall: *\neach: *\n" },
	{ "row 19: links by path, for programs that draw", PLAIN "hook: /h\n", READY,
	  SEEN "hookAt: /h\nnodes: [" NODES ", {path: /dev/dri/renderD128, major: 226, minor: 128, mode: 438}]\n",
	  "metadata: {name: '0000:01:00.0'}\nanswer: Answers\nuuid: GPU-a\nindex: 0\nminor: 0\ndri: [card1, "
	  "renderD128, card7]\n",
	  "", "",
	  "k.io-gpu 0.5.0 k.io/gpu\n0: *\nGPU-a: /dev/nvidia0=195:0 /dev/dri/card1=226:1 /dev/dri/renderD128=226:128 "
	  "hook /h fairlead cdi-hook --link ../card1::/dev/dri/by-path/pci-0000:01:00.0-card --link "
	  "../renderD128::/dev/dri/by-path/pci-0000:01:00.0-render for 10 s\n"
	  "all: /dev/nvidia0=195:0 /dev/dri/card1=226:1 /dev/dri/renderD128=226:128 hook /h *-render for "
	  "10 s\neach: *\n" },
	{ "row 20: control nodes are skipped", PLAIN "hook: /h\n", READY,
	  SEEN "hookAt: /h\nnodes: [" NODES ", {path: /dev/dri/controlD64, major: 226, minor: 64, mode: 438}]\n",
	  "metadata: {name: a}\nanswer: Answers\nuuid: GPU-a\nminor: 0\ndri: [controlD64]\n", "", "",
	  "k.io-gpu 0.3.0 k.io/gpu\nGPU-a: /dev/nvidia0=195:0\nall: /dev/nvidia0=195:0\neach: *\n" },
	{ "row 21: root's group is in no node, 44 is, and goes to the process", PLAIN, READY, ROW_21, ONE, "", "",
	  "k.io-gpu 0.7.0 k.io/gpu\n0: *\nGPU-a: /dev/nvidia0=195:0 /dev/dri/card1=1:1(gid 44) group 44\nall: "
	  "*\neach: *\n" },
	{ "row 21: not to the process where a flag says so",
	  PLAIN "cdiFeatureFlags: [no-additional-gids-for-device-nodes]\n", READY, ROW_21, ONE, "", "",
	  "k.io-gpu 0.5.0 k.io/gpu\n0: *\nGPU-a: /dev/nvidia0=195:0 /dev/dri/card1=1:1(gid 44)\nall: *\neach: *\n" },
	{ "row 40: containerd 1.7.0 reads the file", PLAIN, READY, ROW_21, ONE, "", "",
	  "k.io-gpu 0.5.0 k.io/gpu\n0: *\nGPU-a: /dev/nvidia0=195:0 /dev/dri/card1=1:1(gid 44)\nall: *\neach: *\n",
	  NULL, "runtime: containerd\nversion: 1.7.0\n" },
	{ "row 40: so does CRI-O 1.29", PLAIN, READY, ROW_21, ONE, "", "",
	  "k.io-gpu 0.5.0 k.io/gpu\n0: *\nGPU-a: *\nall: *\neach: *\n", NULL,
	  "runtime: cri-o\nversion: 1.29.11\n" },
	{ "row 40: a newer one gets groups", PLAIN, READY, ROW_21, ONE, "", "",
	  "k.io-gpu 0.7.0 k.io/gpu\n0: *\nGPU-a: *\nall: *\neach: *\n", NULL,
	  "runtime: containerd\nversion: v1.7.27~ds1\n" },
	{ "row 13: a file that a container has elsewhere", PLAIN "hook: /h\n", READY,
	  HOST "hookAt: /h\npaths: [{what: Data, path: /usr/share/vulkan/icd.d/n.json, at: "
	  "/etc/vulkan/icd.d/n.json}, {what: Module, "
	  "path: /usr/lib/xorg/modules/drivers/nvidia_drv.so}]\n",
	  ONE, "", "",
	  "k.io-gpu 0.5.0 k.io/gpu\n0: *\nGPU-a: *\nall: *\neach: /dev/nvidiactl=195:255 "
	  "/etc/vulkan/icd.d/n.json<-/usr/share/vulkan/icd.d/n.json(ro) "
	  "/usr/lib/xorg/modules/drivers/nvidia_drv.so(ro) *\n" },
	{ "sockets of the driver's daemons can be switched off", PLAIN "hook: /h\ncdiFeatureFlags: "
	  "[disable-ipc-discoverer]\n", READY, HOST FILES "hookAt: /h\n", ONE, "", "",
	  "k.io-gpu 0.5.0 k.io/gpu\n0: *\nGPU-a: *\nall: *\neach: /dev/nvidiactl=195:255 /usr/lib/libcuda.so.550(ro) "
	  "/usr/bin/nvidia-smi(ro) env *\n" },
	{ "no GPU, no file", PLAIN, READY, HOST, "", "", "", "" },
	{ "a file that names nothing any more goes", PLAIN, READY, HOST, "", "", OLD, "gone k.io-gpu\n" },
	{ "a GPU by UUID and by index, and all", PLAIN, READY, HOST, ONE OTHER, "", "",
	  "k.io-gpu 0.5.0 k.io/gpu\n0: /dev/nvidia0=195:0 /dev/dri/card1=226:1\n1: /dev/nvidia1=195:1\n"
	  "GPU-a: /dev/nvidia0=195:0 /dev/dri/card1=226:1\nGPU-b: /dev/nvidia1=195:1\n"
	  "all: /dev/nvidia0=195:0 /dev/dri/card1=226:1 /dev/nvidia1=195:1\n"
	  "each: /dev/nvidiactl=195:255 env NVIDIA_VISIBLE_DEVICES=void\n" },
	{ "a GPU without an index needs no newer version", PLAIN, READY, HOST,
	  "metadata: {name: b}\nanswer: Answers\nuuid: GPU-b\nminor: 1\n", "", "",
	  "k.io-gpu 0.3.0 k.io/gpu\nGPU-b: /dev/nvidia1=195:1\nall: /dev/nvidia1=195:1\neach: *\n" },
	{ "a dot in the class needs a newer one", "metadata: {name: s}\ncdiKind: k.io/g.p\n", READY, HOST, ONE, "", "",
	  "k.io-g.p 0.6.0 k.io/g.p\n" GPU_A "all: *\neach: *\n" },
	{ "a node that is not everybody's brings its group, and a newer version; root's group is never given", PLAIN,
	  READY,
	  SEEN "nodes: [{path: /dev/dri/card1, major: 1, minor: 1, mode: 432, gid: 44}, {path: "
	  "/dev/nvidia0, major: 195, minor: 0, mode: 432, gid: 0}, {path: /dev/nvidia1, major: 195, minor: 1, mode: "
	    "438, "
	  "gid: 9}]\n",
	  ONE, "", "",
	  "k.io-gpu 0.7.0 k.io/gpu\n0: /dev/nvidia0=195:0 /dev/dri/card1=1:1(gid 44) group 44\n"
	  "GPU-a: /dev/nvidia0=195:0 /dev/dri/card1=1:1(gid 44) group 44\nall: /dev/nvidia0=195:0 "
	  "/dev/dri/card1=1:1(gid 44) group 44\n"
	  "each: env NVIDIA_VISIBLE_DEVICES=void\n" },
	{ "parts by their capabilities; the GPU itself is none, and a part without its nodes is left out",
	  "metadata: {name: s}\ncdiKind: k.io/gpu\nmigStrategy: mixed\n", READY, HOST, CUT, "", "",
	  "k.io-gpu 0.5.0 k.io/gpu\n"
	  "0:0: /dev/nvidia0=195:0 /dev/nvidia-caps/nvidia-cap12=234:12 /dev/nvidia-caps/nvidia-cap13=234:13\n"
	  "MIG-1: /dev/nvidia0=195:0 /dev/nvidia-caps/nvidia-cap12=234:12 /dev/nvidia-caps/nvidia-cap13=234:13\n"
	  "all: *\neach: *\n" },
	{ "where parts are nobody's business the GPU is one", PLAIN, READY, HOST, CUT, "", "",
	  "k.io-gpu 0.5.0 k.io/gpu\n0: /dev/nvidia0=195:0\n0:0: *\nGPU-a: /dev/nvidia0=195:0\nMIG-1: *\nall: *\neach: "
	    "*\n" },
	{ "a GPU whose node is not there is left out", PLAIN, READY, HOST,
	  "metadata: {name: x}\nanswer: Answers\nuuid: GPU-x\nminor: 5\n" OTHER, "", "",
	  "k.io-gpu 0.5.0 k.io/gpu\n1: /dev/nvidia1=195:1\nGPU-b: /dev/nvidia1=195:1\nall: *\neach: *\n" },
	{ "a GPU of a virtual machine is left out", PLAIN, READY, HOST, ONE "boundTo: vfio-pci\n", "", "", "" },
	{ "what comes beside cards: a file each, where the host has it",
	  PLAIN "extras: [gds, mofed, gdrcopy, imex-channel]\n", READY,
	  SEEN "nodes: [{path: /dev/gdrdrv, major: 240, minor: 0}, "
	  "{path: /dev/infiniband/rdma_cm, major: 10, minor: 58}, "
	  "{path: /dev/infiniband/uverbs0, major: 231, minor: 192}, {path: /dev/nvidia-caps-imex-channels/channel0, "
	  "major: 238, minor: 0}, {path: /dev/nvidia-fs0, major: 239, minor: 0}, {path: /dev/nvidia1, major: 195, "
	  "minor: 1}]\npaths: [{what: Config, path: /etc/cufile.json}]\n",
	  OTHER, "", "",
	  "k.io-gds 0.3.0 k.io/gds\nall: /dev/nvidia-fs0=239:0 /etc/cufile.json(ro)\neach:\n"
	  "k.io-mofed 0.3.0 k.io/mofed\nall: /dev/infiniband/rdma_cm=10:58 /dev/infiniband/uverbs0=231:192\neach:\n"
	  "k.io-gdrcopy 0.3.0 k.io/gdrcopy\nall: /dev/gdrdrv=240:0\neach:\n"
	  "k.io-imex-channel 0.5.0 k.io/imex-channel\n0: /dev/nvidia-caps-imex-channels/channel0=238:0\neach:\n"
	  "k.io-gpu 0.5.0 k.io/gpu\n1: *\nGPU-b: *\nall: *\neach: env NVIDIA_VISIBLE_DEVICES=void\n" },
	{ "what the host does not have has no file", PLAIN "extras: [gds, imex-channel]\n", READY, HOST, OTHER, "", "",
	  "k.io-gpu 0.5.0 k.io/gpu\n1: *\nGPU-b: *\nall: *\neach: *\n" },
	{ "one that is switched off goes when no Pod has a GPU", PLAIN, READY, HOST, OTHER, "", GDS,
	  "gone k.io-gds\nk.io-gpu 0.5.0 k.io/gpu\n1: *\nGPU-b: *\nall: *\neach: *\n" },
	{ "and not before: a container that has it may start anew", PLAIN, READY, HOST, OTHER,
	  "metadata: {name: h}\nresource: r\ndevices: [GPU-b]\npodNamespace: t\npod: p\ncontainer: c\n", GDS,
	  "k.io-gpu 0.5.0 k.io/gpu\n1: *\nGPU-b: *\nall: *\neach: *\n" },
	{ "who has something else of the node needs it not", PLAIN, READY, HOST, OTHER,
	  "metadata: {name: h}\nresource: x.io/nic\ndevices: [eth7]\npodNamespace: t\npod: p\ncontainer: c\n", GDS,
	  "gone k.io-gds\nk.io-gpu 0.5.0 k.io/gpu\n1: *\nGPU-b: *\nall: *\neach: *\n" },
	{ "nor before the list that hands it out is another", PLAIN, READY, HOST, OTHER, "", GDS,
	  "k.io-gpu 0.5.0 k.io/gpu\n1: *\nGPU-b: *\nall: *\neach: *\n",
	  "metadata: {name: r}\nextras: [mofed, gds]\n" },
	{ "one of a list without it does", PLAIN, READY, HOST, OTHER, "", GDS,
	  "gone k.io-gds\nk.io-gpu 0.5.0 k.io/gpu\n1: *\nGPU-b: *\nall: *\neach: *\n",
	  "metadata: {name: r}\nextras: [mofed]\n" },
	{ "somebody else's of the same class stays", PLAIN, READY, HOST, OTHER, "",
	  "metadata: {name: x.io-gds}\ncdiVersion: 0.3.0\nkind: x.io/gds\n"
	  "devices: [{name: all, containerEdits: {}}]\n",
	  "k.io-gpu 0.5.0 k.io/gpu\n1: *\nGPU-b: *\nall: *\neach: *\n" },
	{ "while the driver is not ready it stays", PLAIN,
	  "metadata: {name: d}\nstate: Absent\n", HOST, "", "", GDS, "" },
	{ "one whose nodes are gone stays while it is switched on", PLAIN "extras: [gds]\n", READY, HOST, OTHER, "",
	  GDS,
	  "k.io-gpu 0.5.0 k.io/gpu\n1: *\nGPU-b: *\nall: *\neach: *\n" },
	{ "files without a hook: each link is a mount, and no variable replaces the image's LD_LIBRARY_PATH", PLAIN,
	READY,
	  HOST FILES, ONE, "",
	  "",
	  "k.io-gpu 0.5.0 k.io/gpu\n" GPU_A "all: *\neach: /dev/nvidiactl=195:255 /usr/lib/libcuda.so.550(ro) "
	  "/usr/bin/nvidia-smi(ro) /run/nvidia-persistenced/socket(nosuid) "
	  "/usr/lib/libcuda.so.1<-/usr/lib/libcuda.so.550(ro) env NVIDIA_VISIBLE_DEVICES=void "
	  "env NVIDIA_CTK_LIBCUDA_DIR=/usr/lib\n" },
	{ "files with our hook, of a driver in another root", PLAIN "hook: /opt/fairlead\n", READY,
	  HOST FILES "hookAt: /opt/fairlead\nroot: /run/nvidia/driver\nnodesRoot: /run/nvidia/driver\n", OTHER, "", "",
	  "k.io-gpu 0.5.0 k.io/gpu\n1: /dev/nvidia1<-/run/nvidia/driver/dev/nvidia1=195:1\nGPU-b: *\nall: *\n"
	  "each: /dev/nvidiactl<-/run/nvidia/driver/dev/nvidiactl=195:255 "
	  "/usr/lib/libcuda.so.550<-/run/nvidia/driver/usr/lib/libcuda.so.550(ro) "
	  "/usr/bin/nvidia-smi<-/run/nvidia/driver/usr/bin/nvidia-smi(ro) "
	  "/run/nvidia-persistenced/socket<-/run/nvidia/driver/run/nvidia-persistenced/socket(nosuid) "
	  "env NVIDIA_VISIBLE_DEVICES=void env NVIDIA_CTK_LIBCUDA_DIR=/usr/lib hook /opt/fairlead "
	  "fairlead cdi-hook --link "
	  "libcuda.so.550::/usr/lib/libcuda.so.1 --folder /usr/lib --driver-version 550 "
	  "--device-nodes-fixed --application-profile for 10 s\n" },
	{ "parts of the hook that are disabled have no words", PLAIN "hook: /h\ncdiDisableHooks: [update-ldcache, "
	  "enable-cuda-compat, disable-device-node-modification, "
	  "update-application-profile]\n", READY, HOST FILES "hookAt: /h\n", OTHER, "", "",
	  "k.io-gpu 0.5.0 k.io/gpu\n1: *\nGPU-b: *\nall: *\neach: * hook /h fairlead cdi-hook --link "
	  "libcuda.so.550::/usr/lib/libcuda.so.1 for 10 s\n" },
	{ "all of them: no hook, and no program is needed", PLAIN "hook: /h\ncdiDisableHooks: [create-symlinks, "
	  "enable-cuda-compat, update-ldcache, disable-device-node-modification, update-application-profile, "
	  "chmod]\n", READY, HOST FILES "hookMessage: no room\n", OTHER, "", "",
	  "k.io-gpu 0.5.0 k.io/gpu\n1: *\nGPU-b: *\nall: *\neach: /dev/nvidiactl=195:255 "
	  "/usr/lib/libcuda.so.550(ro) /usr/bin/nvidia-smi(ro) /run/nvidia-persistenced/socket(nosuid) "
	  "env NVIDIA_VISIBLE_DEVICES=void env NVIDIA_CTK_LIBCUDA_DIR=/usr/lib\n" },
	{ "row 36: a hook that is not there: no file names it", PLAIN "hook: /opt/fairlead\n", READY,
	  HOST FILES "hookMessage: no room\n", OTHER, "", "", "" },
	{ "row 36: nor one that is somewhere else", PLAIN "hook: /opt/fairlead\n", READY,
	  HOST FILES "hookAt: /opt/other\n", OTHER, "", "", "" },

	{ "a name that is held stays, with what it meant", PLAIN, READY, HOST, ONE, HELD, OLD,
	  "k.io-gpu 0.5.0 k.io/gpu\n" GPU_A "GPU-z: env A=z\nall: *\neach: *\n" },
	{ "its index too, where that is what was told", PLAIN "deviceIDStrategy: index\n", READY, HOST, ONE, HELD, OLD,
	  "k.io-gpu 0.5.0 k.io/gpu\n0: *\n7: env A=z\nGPU-a: *\nGPU-z: env A=z\nall: *\neach: *\n" },
	{ "an index that is held is given to no other GPU", PLAIN "deviceIDStrategy: index\n", READY, HOST,
	  "metadata: {name: b}\nanswer: Answers\nuuid: GPU-b\nindex: 7\nminor: 1\n", HELD, OLD,
	  "k.io-gpu 0.5.0 k.io/gpu\n7: env A=z\nGPU-b: /dev/nvidia1=195:1\nGPU-z: env A=z\nall: *\neach: *\n" },
	{ "while it is not known which configuration counts, the file stays", PLAIN "waits: for the label\n", READY,
	  HOST, ONE, "", OLD, "" },
	{ "a name that nobody holds goes", PLAIN, READY, HOST, ONE, "", OLD,
	  "k.io-gpu 0.5.0 k.io/gpu\n" GPU_A "all: *\neach: *\n" },
	{ "while a GPU cannot say what it is, no name goes", PLAIN, READY, HOST,
	  ONE "---\nmetadata: {name: b}\nanswer: Hung\n", "", OLD,
	  "k.io-gpu 0.5.0 k.io/gpu\n0: *\n7: env A=z\nGPU-a: *\nGPU-z: env A=z\nall: *\neach: *\n" },
	{ "a file of ours of another kind goes, one of somebody else's stays", PLAIN, READY, HOST, ONE, "",
	  "metadata: {name: old.io-gpu}\ncdiVersion: 0.5.0\nkind: old.io/gpu\ndevices: [{name: GPU-z, containerEdits: "
	    "{}}]\n"
	  "containerEdits: {hooks: [{hookName: createContainer, path: /x, args: [fairlead, cdi-hook]}]}\n---\n"
	  "metadata: {name: foreign.io-gpu}\ncdiVersion: 0.5.0\nkind: foreign.io/gpu\n"
	  "devices: [{name: GPU-z, containerEdits: {}}]\n",
	  "gone old.io-gpu\nk.io-gpu 0.5.0 k.io/gpu\n" GPU_A "all: *\neach: *\n" },
	{ "but stays while a name of it is held", PLAIN, READY, HOST, ONE, HELD,
	  "metadata: {name: old.io-gpu}\ncdiVersion: 0.5.0\nkind: old.io/gpu\ndevices: [{name: GPU-z, containerEdits: "
	    "{}}]\n"
	  "containerEdits: {hooks: [{hookName: createContainer, path: /x, args: [fairlead, cdi-hook]}]}\n",
	  "k.io-gpu 0.5.0 k.io/gpu\n" GPU_A "all: *\neach: *\n" },
};

static void print_path(struct fl_str path, struct fl_str host, struct fl_buf *out)
{
	fl_buf_printf(out, " %.*s", FL_ARG(path));
	if (host.len && !fl_str_eq(path, host))
		fl_buf_printf(out, "<-%.*s", FL_ARG(host));
}

static void print_edits(struct fl_str name, const struct fl_cdi_edits *edits, struct fl_buf *out)
{
	fl_buf_printf(out, "%.*s:", FL_ARG(name));
	for (uint32_t i = 0; i < edits->nodes.len; i++) {
		print_path(edits->nodes.at[i].path, edits->nodes.at[i].host_path, out);
		fl_buf_printf(out, "=%lld:%lld", (long long)edits->nodes.at[i].major,
			      (long long)edits->nodes.at[i].minor);
		if (edits->nodes.at[i].has.gid)
			fl_buf_printf(out, "(gid %lld)", (long long)edits->nodes.at[i].gid);
	}
	for (uint32_t i = 0; i < edits->mounts.len; i++) {
		print_path(edits->mounts.at[i].path, edits->mounts.at[i].host_path, out);
		fl_buf_printf(out, "(%.*s)", FL_ARG(edits->mounts.at[i].options.at[0]));
	}
	for (uint32_t i = 0; i < edits->env.len; i++)
		fl_buf_printf(out, " env %.*s", FL_ARG(edits->env.at[i]));
	for (uint32_t i = 0; i < edits->hooks.len; i++) {
		fl_buf_printf(out, " hook %.*s", FL_ARG(edits->hooks.at[i].path));
		for (uint32_t k = 0; k < edits->hooks.at[i].args.len; k++)
			fl_buf_printf(out, " %.*s", FL_ARG(edits->hooks.at[i].args.at[k]));
		if (edits->hooks.at[i].has.timeout)
			fl_buf_printf(out, " for %d s", (int)edits->hooks.at[i].timeout);
	}
	for (uint32_t i = 0; i < edits->gids.len; i++)
		fl_buf_printf(out, " group %lld", (long long)edits->gids.at[i]);
	fl_buf_char(out, '\n');
}

static void print_plan(const struct fl_plan *plan, struct fl_buf *out)
{
	for (const struct fl_want *want = plan->first; want; want = want->next) {
		const struct fl_cdi_spec *spec = want->object;

		if (want->what == FL_WANT_GONE) {
			fl_buf_printf(out, "gone %.*s\n", FL_ARG(want->ref.name));
			continue;
		}
		fl_buf_printf(out, "%.*s %.*s %.*s\n", FL_ARG(want->ref.name), FL_ARG(spec->version),
			      FL_ARG(spec->kind));
		for (uint32_t i = 0; i < spec->devices.len; i++)
			print_edits(spec->devices.at[i].name, &spec->devices.at[i].edits, out);
		print_edits(FL_S("each"), &spec->edits, out);
	}
}

TEST(the_file_from_facts)
{
	EACH_ROW_ALONE (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		FL_AUTO(fl_buf) struct fl_buf text = FL_BUF(8 * FL_KIB);
		struct fl_gpu_cdi_facts f = { 0 };
		struct fl_plan plan;
		struct fl_str told;

		GOT(f.settings = facts_object(&arena, fl_settings_bind(), fl_str(row->settings)));
		GOT(f.driver = facts_object(&arena, fl_driver_bind(), fl_str(row->driver)));
		if (*row->host)
			GOT(f.host = facts_object(&arena, fl_host_bind(), fl_str(row->host)));
		GOT(f.cards = facts_list(&arena, fl_card_bind(), row->cards, &f.card_len));
		GOT(f.holders = facts_list(&arena, fl_holder_bind(), row->holders, &f.holder_len));
		GOT(f.specs = facts_list(&arena, fl_cdi_spec_bind(), row->specs, &f.spec_len));
		GOT(f.resources = facts_list(&arena, fl_resource_bind(), row->served ? row->served : "",
					     &f.resource_len));
		if (row->runtime)
			GOT(f.runtime = facts_object(&arena, fl_runtime_bind(), fl_str(row->runtime)));
		told = fl_arena_printf(&arena, "metadata: {name: active}\n%s",
				       row->active ? row->active : "settled: true\n");
		GOT(told.p);
		if (!row->active || *row->active)
			GOT(f.active = facts_object(&arena, fl_active_bind(), told));
		fl_plan_init(&plan, &arena);
		fl_gpu_cdi_plan(&f, &plan);
		OK(plan.failed ? -FL_E_NOMEM : 0);
		print_plan(&plan, &text);
		OK(fl_buf_check(&text, "the plan", NULL));
		if (!facts_like(fl_buf_view(&text), fl_str(row->got)))
			CHECK_STR(fl_buf_view(&text), row->got);
	}
}

TEST(its_owner_is_sound)
{
	struct fl_err err = { 0 };

	OK_ERR(fl_owner_check(&fl_gpu_cdi_owner, &err), &err);
}
