/* node.h - the kinds of a GPU node: they live in the agent's caches, never at an API server.
 *
 * Facts, each written by one feeder (src/node):
 *     Driver      one, "driver": the vendor's driver, its version and its state
 *     Card        a GPU, by its PCI address, with its MIG devices: also one without a driver
 *     Fault       a fault that a GPU has reported: "<address>/<what>"
 *     Holder      a container that has devices of a resource, from PodResources
 *     Active      one, "active": the containers of active Pods, from PodResources
 *     Runtime     one, "runtime": the container runtime, its version and CDI settings
 *     PluginSocket a socket in the kubelet's directory, by its file name
 *     DirTrouble  a directory that the agent cannot use, by its option
 *     Given       one, "given": what the process was started with
 *     ConfigFile  a file of the configuration
 *     PauseRequest  a request to release the driver: "operator"
 *     MigFile     mig-parted's file: the MIG layouts that have a name (api/mig.h)
 *     Memo        what was last read from the API server, kept on disk: "config", "claims", "pools"
 *     Inside      findings in the containers of a Pod: only of Pods that have any
 * Desired state, each applied by one sink:
 *     Settings    one, "settings": how this node serves its GPUs
 *     Host        one, "host": the driver's files and device nodes to scan, for CDI
 *     Resource    the devices that the kubelet allocates, by its resource name
 *     Health      of a GPU (by address) or a MIG device (by UUID), kept on disk
 *     CdiSpec     a file in the CDI directory (api/cdi.h)
 *     DriverPause one, "driver": whether the driver is released
 *     Pause       who has asked for that, kept on disk until the next boot: "operator", "node"
 *     Readiness   one, "gpus": why no GPU is served, for the log and /readyz
 *     Booking     the devices allocated to a container: kept on disk, compared with PodResources
 *     PodWatch    one, "pods": the Pods of this node are watched at the API server
 *     Eviction    a Pod to evict
 *     Layout      the MIG layout of a GPU, and the change that leads to it, kept on disk (api/mig.h)
 *     Mps         the MPS control daemon of a resource, by the resource's name
 *     DevLink     a link in /dev/char to a device node
 *     Inspection  one, "pods": what to inspect this node's containers for
 *     PodFinding  what is wrong inside a Pod
 * What the node reports of itself: api/node_report.h. The pools of the cluster: api/node_pools.h
 */
#pragma once
#include "api/local.h"
#include "api/mig.h"
#include "api/pools.h"

#define FL_GPU_CARDS_MAX 64                  /* GPUs of a node: the largest have 16, hypervisors some more */
/* Health checks in a row without a fault that are counted: no plan needs more, and an idle GPU's Card does not
 * change. */
#define FL_CARD_CLEAN_MAX 10
#define FL_HOST_LOOKED_MAX 768       /* where libcuda was searched for: library directories, and the root */

/* ---- Driver ---- */
enum fl_driver_state {
	FL_DRIVER_ABSENT,      /* no library, or the kernel module is not loaded */
	FL_DRIVER_STARTING,    /* the library is there and does not answer yet */
	FL_DRIVER_READY,
	FL_DRIVER_MISMATCH,    /* library and kernel module differ in version: an upgrade in progress */
	FL_DRIVER_SICK,        /* answers with errors, or children die or hang: see the message */
	FL_DRIVER_PAUSED,      /* an operator asked for its release */
	FL_DRIVER_STATE_COUNT_
};
extern const struct fl_names fl_driver_state_names;

#define FL_DRIVER(X) \
	FL_LOCAL(X) \
	X(ENUM(fl_driver_state), state, "state", .required = true, .help = "State of the driver.") \
	X(STR, version, "version", .help = "550.54.15") \
	X(I32, cuda, "cuda", .help = "The newest CUDA version that it supports: 12040 is 12.4.") \
	X(STR, library, "library", .help = "Path of libnvidia-ml.so.1 on the host.") \
	X(STR, root, "root", .help = "Root of the driver's files on the host: / or /run/nvidia/driver.") \
	X(STR, kernel, "kernel", .help = "Version of the loaded kernel module; absent: none.") \
	X(STR, message, "message", .help = "What is wrong and what to do; empty when healthy.")
FL_STRUCT(fl_driver, FL_DRIVER);
extern const struct fl_kind fl_driver_kind;

/* ---- Card ---- */
enum fl_card_answer {
	FL_CARD_UNASKED,       /* no driver, or not queried yet */
	FL_CARD_ANSWERS,
	FL_CARD_LOST,          /* fell off the bus, or needs a reset */
	FL_CARD_HUNG,
	           /* a call about it did not return: excluded until it answers a child of its own */
	FL_CARD_FAILS,         /* answers with errors: see the message */
	FL_CARD_ANSWER_COUNT_
};
extern const struct fl_names fl_card_answer_names;

/* The driver's recovery action; the values are NVML's. */
enum fl_recovery { FL_RECOVERY_NONE, FL_RECOVERY_RESET, FL_RECOVERY_REBOOT, FL_RECOVERY_DRAIN_P2P,
		   FL_RECOVERY_DRAIN_RESET, FL_RECOVERY_IMEX, FL_RECOVERY_COUNT_ };
extern const struct fl_names fl_recovery_names;

#define FL_PART_ATTRIBUTES(X) \
	X(I32, multiprocessors, "multiprocessors", .help = "Streaming multiprocessors.") \
	X(I32, gi_slices, "giSlices", .help = "Slices of the GPU instance.") \
	X(I32, ci_slices, "ciSlices", .help = "Slices of the compute instance.") \
	X(I32, copy_engines, "copyEngines", .help = "Copy engines.") \
	X(I32, decoders, "decoders", .help = "Video decoders.") \
	X(I32, encoders, "encoders", .help = "Video encoders.") \
	X(I32, jpegs, "jpegs", .help = "JPEG engines.") \
	X(I32, ofas, "ofas", .help = "Optical flow engines.")
FL_STRUCT(fl_part_attributes, FL_PART_ATTRIBUTES);

#define FL_PARTITION(X) \
	X(STR, uuid, "uuid", .required = true, .help = "MIG-...") \
	X(I32, index, "index", .help = "Its index on the GPU, as in 0:1.") \
	X(I32, gi, "gi", .required = true, .help = "GPU instance.") \
	X(I32, ci, "ci", .required = true, .help = "Compute instance.") \
	X(STR, profile, "profile", .required = true, .interned = true, .help = "1g.10gb, 1g.10gb+me, 1c.3g.40gb") \
	X(I64, memory, "memoryMiB", .help = "Its memory, MiB.") \
	X(OBJ(fl_part_attributes), attributes, "attributes", .help = "Its shares of the GPU; absent: not known.") \
	X(I32, gi_cap, "giCap", .help = "Minor number of the GPU instance's capability device; absent: not known.") \
	X(I32, ci_cap, "ciCap", .help = "The compute instance's.")
FL_STRUCT(fl_partition, FL_PARTITION);

/* How near another GPU is. Only the GPU with the lower address lists the link. */
#define FL_CARD_LINK(X) \
	X(STR, peer, "peer", .required = true, .help = "Address of the other GPU.") \
	X(I32, level, "level", \
	  .help = "NVML's: 0 one board, 10 one switch, 20 several, 30 host bridge, 40 NUMA node, 50 system.") \
	X(I32, nvlinks, "nvlinks", .help = "NVLinks between the two.")
FL_STRUCT(fl_card_link, FL_CARD_LINK);

#define FL_FABRIC(X) \
	X(STR, cluster, "cluster", .help = "UUID of the NVLink domain.") \
	X(I64, clique, "clique", .help = "Clique within the domain.") \
	X(I32, state, "state", .help = "NVML's: 3 is completed.") \
	X(I32, status, "status", .help = "NVML's return code of the registration.") \
	X(I64, health, "health", .help = "NVML's mask; absent: unknown.")
FL_STRUCT(fl_fabric, FL_FABRIC);

/* First the members from the bus, then those from the driver. `clean` counts the health checks in a row without a
 * fault, up to FL_CARD_CLEAN_MAX, so that an idle GPU's Card does not change. Each Fault has its own count. */
#define FL_CARD(X) \
	FL_LOCAL(X) \
	X(STR, vendor, "vendor", .interned = true, .help = "10de") \
	X(STR, device, "device", .interned = true, .help = "2330") \
	X(STR, pci_class, "class", .interned = true, .help = "0302") \
	X(STR, bound, "boundTo", .interned = true, .help = "The kernel driver bound to it: nvidia, vfio-pci.") \
	X(I32, numa, "numaNode", .help = "Absent: none.") \
	X(STR, bus, "bus", .help = "The bridges above it, from the root on: pci0000:00/0000:00:01.0/0000:01:00.0.") \
	X(I32, pcie_width, "pcieWidth", .help = "Lanes of its PCIe link; absent: not told.") \
	X(I32, pcie_width_max, "pcieWidthMax", .help = "Lanes that it and its slot could have; absent: not told.") \
	X(STRS, dri, "dri", .help = "Its nodes under /dev/dri: card1, renderD128.") \
	X(BOOL, vgpu, "vgpu", .help = "Is it a vGPU, made by a hypervisor?") \
	X(STR, vgpu_version, "vgpuHostVersion", .help = "Driver version of the hypervisor.") \
	X(STR, vgpu_branch, "vgpuHostBranch", .help = "Driver branch of the hypervisor.") \
	X(ENUM(fl_card_answer), answer, "answer", .required = true, .help = "Does the driver answer for it?") \
	X(STR, message, "message", .help = "Why it does not answer.") \
	X(STR, uuid, "uuid", .help = "GPU-...") \
	X(I32, index, "index", .help = "Its index in the driver's list.") \
	X(I32, minor, "minor", .help = "Of /dev/nvidia<minor>.") \
	X(STR, product, "product", .interned = true, .help = "NVIDIA A100-SXM4-80GB") \
	X(I64, memory, "memoryMiB", .help = "Its memory, MiB.") \
	X(I32, compute, "compute", .help = "Compute capability: 900 is 9.0, 1210 is 12.1.") \
	X(BOOL, mig_capable, "migCapable", .help = "Does it support MIG?") \
	X(BOOL, mig, "mig", .help = "Is it in MIG mode?") \
	X(BOOL, mig_pending, "migPending", .help = "Will it be in MIG mode after a reset?") \
	X(LIST(fl_partition), partitions, "partitions", .help = "Its MIG devices, by GPU and compute instance.") \
	X(LIST(fl_mig_offer), offers, "migProfiles", .help = "The profiles of GPU instances that it supports.") \
	X(LIST(fl_mig_instance), instances, "gpuInstances", .help = "Its GPU instances, by their place.") \
	X(LIST(fl_card_link), links, "links", .help = "Links to the GPUs with higher addresses.") \
	X(OBJ(fl_fabric), fabric, "fabric", .help = "Its NVLink domain; absent: none.") \
	X(ENUM(fl_recovery), recovery, "recovery", .help = "The driver's recovery action.") \
	X(I64, ecc, "eccUncorrected", .help = "Uncorrected memory errors since the driver was loaded.") \
	X(BOOL, remap_failed, "remapFailed", .help = "Remapping a memory row failed.") \
	X(BOOL, remap_pending, "remapPending", .help = "A memory row will be remapped at the next reset.") \
	X(I32, compute_mode, "computeMode", \
	  .help = "NVML's: 1 one thread, 2 none, 3 one process; absent: any number of processes.") \
	X(I32, mode_read, "computeModeRead", \
	  .help = "The mode last read from the driver; computeMode also shows a write in flight.") \
	X(BOOL, cuda, "cuda", .help = "Did it compute right when it was last tried? Absent: it was not.") \
	X(BOOL, events, "events", .help = "Does it send events for its faults?") \
	X(I32, clean, "clean", .help = "Health checks in a row without a fault.")
FL_STRUCT(fl_card, FL_CARD);
extern const struct fl_kind fl_card_kind;

/* Does another driver of the kernel have it (a virtual machine's)? Then it is none of ours. */
static inline bool fl_card_elsewhere(const struct fl_card *card)
{
	return card->bound.len && !fl_str_eq(card->bound, FL_S("nvidia"));
}

/* ---- Fault ---- */
enum fl_fault_what { FL_FAULT_XID, FL_FAULT_ECC, FL_FAULT_RECOVERY, FL_FAULT_UNAVAILABLE, FL_FAULT_WHAT_COUNT_ };
extern const struct fl_names fl_fault_what_names;

#define FL_CARD_FAULT(X) \
	FL_LOCAL(X) \
	X(STR, card, "card", .required = true, .help = "Address of the GPU.") \
	X(ENUM(fl_fault_what), what, "what", .required = true, .help = "Kind of report.") \
	X(I64, xid, "xid", .help = "XID number.") \
	X(I32, gi, "gi", .help = "GPU instance; absent: the whole GPU.") \
	X(I32, ci, "ci", .help = "Compute instance; absent: the whole GPU instance.") \
	X(I64, count, "count", .help = "Number of reports.") \
	X(I64, last, "last", .help = "Time of the last one: ns of the loop's clock.") \
	X(I32, clean, "clean", .help = "Health checks of the GPU without a fault since then, up to 10.")
FL_STRUCT(fl_card_fault, FL_CARD_FAULT);
extern const struct fl_kind fl_card_fault_kind;

/* ---- Holder: named "<namespace>/<pod>/<container>/<resource>" ---- */
#define FL_HOLDER(X) \
	FL_LOCAL(X) \
	X(STR, resource, "resource", .required = true, .interned = true, .help = "nvidia.com/gpu") \
	X(STRS, devices, "devices", .required = true, .help = "The kubelet's device IDs, sorted.") \
	X(STR, pod_space, "podNamespace", .required = true, .interned = true, .help = "Namespace of the Pod.") \
	X(STR, pod, "pod", .required = true, .help = "Its name.") \
	X(STR, container, "container", .required = true, .help = "Which container.")
FL_STRUCT(fl_holder, FL_HOLDER);
extern const struct fl_kind fl_holder_kind;

/* ---- Active: one, "active": the rest of the last PodResources answer ---- */
#define FL_ACTIVE(X) \
	FL_LOCAL(X) \
	X(STRS, containers, "containers", \
	  .help = "<namespace>/<pod>/<container> of all active Pods, with devices or without, sorted.") \
	X(I64, since, "since", .help = "When this kubelet first answered: ns of the loop's clock.") \
	X(BOOL, settled, "settled", .help = "Has the kubelet run long enough to know all of its Pods?") \
	X(BOOL, due, "due", .help = "Has a device been withdrawn that somebody may have been given before this answer?")
FL_STRUCT(fl_active, FL_ACTIVE);
extern const struct fl_kind fl_active_kind;

/* ---- Booking: a record of an allocation, kept on disk; named as its Holder ---- */
#define FL_BOOKING_STATUS(X) FL_CONDITIONS(X)
FL_STRUCT(fl_booking_status, FL_BOOKING_STATUS);
#define FL_BOOKING(X) \
	FL_LOCAL(X) \
	X(STR, resource, "resource", .required = true, .interned = true, .help = "nvidia.com/gpu") \
	X(STRS, devices, "devices", .required = true, .help = "Device IDs allocated to the container, sorted.") \
	X(STR, pod_space, "podNamespace", .required = true, .interned = true, .help = "Namespace of the Pod.") \
	X(STR, pod, "pod", .required = true, .help = "Its name.") \
	X(STR, container, "container", .required = true, .help = "Which container.") \
	X(I64, since, "since", .required = true, .help = "When it was first seen: microseconds since 1970.") \
	X(I64, doubted, "doubted", .help = \
	  "Since when the kubelet lists other devices for its Pod, or none: ns of the loop's clock.") \
	X(STR, doubt_boot, "doubtedBoot", .interned = true, .help = "The boot to which that time belongs.") \
	X(OBJ(fl_booking_status), status, "status", .help = "Does the kubelet list the same devices?")
FL_STRUCT(fl_booking, FL_BOOKING);
extern const struct fl_kind fl_booking_kind;

/* ---- PodWatch: one, "pods": whether to watch the Pods of this node ---- */
#define FL_POD_WATCH(X) \
	FL_LOCAL(X) \
	X(BOOL, wanted, "wanted", .required = true, .help = "Keep the watch open?") \
	X(BOOL, failed_only, "failedOnly", .help = "Watch only Pods whose phase is Failed?")
FL_STRUCT(fl_pod_watch, FL_POD_WATCH);
extern const struct fl_kind fl_pod_watch_kind;

/* ---- DevLink: a link in /dev/char, "<major>:<minor>" ---- */
#define FL_DEV_LINK(X) \
	FL_LOCAL(X) \
	X(STR, target, "target", .required = true, .help = "The link's text: ../nvidia0.")
FL_STRUCT(fl_dev_link, FL_DEV_LINK);
extern const struct fl_kind fl_dev_link_kind;

/* ---- Inspection: one, "pods": inspects the containers of this node (node/kubelet/inside.h) ---- */
#define FL_INSPECTION(X) \
	FL_LOCAL(X) \
	X(STR, version, "version", .required = true, \
	  .help = "Version of the loaded driver: search for libraries of another one.") \
	X(BOOL, again, "again", .help = "Repeat the inspection? If not, once.")
FL_STRUCT(fl_inspection, FL_INSPECTION);
extern const struct fl_kind fl_inspection_kind;

/* ---- Inside: "<namespace>/<pod>"; "UID <uid>" where the Pod's name is unknown ---- */
#define FL_INSIDE(X) \
	FL_LOCAL(X) \
	X(STR, pod_space, "podNamespace", .interned = true, .help = "Namespace of the Pod; absent: unknown.") \
	X(STR, pod, "pod", .help = "Its name.") \
	X(STR, library, "library", .help = "A driver library of another version than the loaded driver's.") \
	X(STR, process, "process", .help = "A process that uses it: python3 (pid 812); absent: it is only mounted.") \
	X(STR, denied, "denied", .help = "A device node in a container whose cgroup denies opening it.") \
	X(STR, unlinked, "unlinked", \
	  .help = "A device node without a link in /dev/char, in a container whose cgroup is systemd's.")
FL_STRUCT(fl_inside, FL_INSIDE);
extern const struct fl_kind fl_inside_kind;

/* ---- PodFinding: "<namespace>/<pod>" ---- */
#define FL_POD_FINDING_STATUS(X) FL_CONDITIONS(X)
FL_STRUCT(fl_pod_finding_status, FL_POD_FINDING_STATUS);
#define FL_POD_FINDING(X) \
	FL_LOCAL(X) \
	X(STR, pod_space, "podNamespace", .required = true, .interned = true, .help = "Namespace of the Pod.") \
	X(STR, pod, "pod", .required = true, .help = "Its name.") \
	X(OBJ(fl_pod_finding_status), status, "status", .help = "What is wrong, and what to do.")
FL_STRUCT(fl_pod_finding, FL_POD_FINDING);
extern const struct fl_kind fl_pod_finding_kind;

/* ---- Eviction: of a Pod, "<namespace>/<pod>" ---- */
#define FL_EVICTION_STATUS(X) FL_CONDITIONS(X)
FL_STRUCT(fl_eviction_status, FL_EVICTION_STATUS);
#define FL_EVICTION(X) \
	FL_LOCAL(X) \
	X(STR, pod_space, "podNamespace", .required = true, .interned = true, .help = "Namespace of the Pod.") \
	X(STR, pod, "pod", .required = true, .help = "Its name.") \
	X(STR, uid, "uid", .required = true, .help = "Its UID: never evict another Pod of the same name.") \
	X(STR, card, "card", .required = true, .help = "Name of the Health that causes it.") \
	X(OBJ(fl_eviction_status), status, "status", .help = "Was it evicted?")
FL_STRUCT(fl_eviction, FL_EVICTION);
extern const struct fl_kind fl_eviction_kind;

/* ---- Host ---- */
enum fl_host_file {
	FL_HOST_LIBRARY,       /* found by the dynamic linker, in its directory */
	FL_HOST_MODULE,        /* a library that programs open by its path: VDPAU, X.Org */
	FL_HOST_BINARY,
	FL_HOST_FIRMWARE,
	FL_HOST_SOCKET,
	FL_HOST_CONFIG,        /* of GPUDirect Storage */
	FL_HOST_DATA,          /* configuration of the driver's libraries */
	FL_HOST_FILE_COUNT_
};
extern const struct fl_names fl_host_file_names;

/* A symlink in a container to a file, directly or through another symlink. */
#define FL_HOST_LINK(X) \
	X(STR, name, "name", .required = true, \
	  .help = "Path from the file's directory: libcuda.so.1, gbm/nvidia-drm_gbm.so") \
	X(STR, target, "target", .required = true, .help = "The link's text: libcuda.so.550.54.15")
FL_STRUCT(fl_host_link, FL_HOST_LINK);

#define FL_HOST_PATH(X) \
	X(ENUM(fl_host_file), what, "what", .required = true, .help = "Kind of file.") \
	X(STR, path, "path", .required = true, .help = "Path inside the driver's root, without symlinks.") \
	X(STR, at, "at", .help = "Path in a container; absent: the same.") \
	X(LIST(fl_host_link), links, "links", .list_key = "name", .help = "Symlinks that containers get with it.")
FL_STRUCT(fl_host_path, FL_HOST_PATH);

#define FL_HOST_NODE(X) \
	X(STR, path, "path", .required = true, .help = "/dev/nvidiactl") \
	X(I32, major, "major", .required = true, .help = "Its numbers.") \
	X(I32, minor, "minor", .required = true, .help = "Its numbers.") \
	X(I32, mode, "mode", .help = "Its permission bits.") \
	X(I32, gid, "gid", .help = "Its group.")
FL_STRUCT(fl_host_node, FL_HOST_NODE);

/* version, root, devRoot and layout select what to scan. The rest is the result of the scan for `seen`
 * ("<version>/<layout>"). While `seen` differs, a scan is in progress: use nothing of the rest. A message without
 * `seen` means that the scan failed. */
#define FL_HOST(X) \
	FL_LOCAL(X) \
	X(STR, version, "version", .help = "The driver's version, as in its file names.") \
	X(STR, layout, "layout", .help = "A digest of the GPUs and MIG devices.") \
	X(STR, root, "root", .help = "Root of the files, as the agent sees it.") \
	X(STR, dev_root, "devRoot", .help = "Root of /dev; absent: the driver's root if it has one, else /.") \
	X(STR, nodes_root, "nodesRoot", .help = "Root under which /dev was found.") \
	X(STR, looked, "looked", \
	  .help = "Where libraries were searched; absent: libcuda of this version was found.") \
	X(STR, seen, "seen", .help = "Version and layout of the finished scan.") \
	X(LIST(fl_host_path), paths, "paths", .help = "Files of the driver, sorted.") \
	X(LIST(fl_host_node), nodes, "nodes", .help = "Device nodes of the driver, sorted by path.") \
	X(STR, hook, "hook", .help = "Path for the CDI hook's program; absent: no hook.") \
	X(STR, hook_at, "hookAt", .help = "Path of one that the container runtime can start.") \
	X(STR, hook_message, "hookMessage", .help = "Why there is none.") \
	X(BOOL, make_nodes, "makeNodes", .help = "Make missing device nodes of unified memory?") \
	X(STR, nodes_message, "nodesMessage", .help = "Why making one of them failed.") \
	X(STR, message, "message", .help = "What could not be scanned, and why.")
FL_STRUCT(fl_host, FL_HOST);
extern const struct fl_kind fl_host_kind;

/* ---- Runtime ---- */
#define FL_RUNTIME(X) \
	FL_LOCAL(X) \
	X(STR, runtime, "runtime", .help = "containerd") \
	X(STR, version, "version", .help = "Its version.") \
	X(BOOL, cdi_known, "cdiKnown", .help = "Is it known whether CDI is on?") \
	X(BOOL, cdi, "cdi", .help = "Is CDI on? If not, the runtime silently drops CDI device names.") \
	X(STRS, cdi_dirs, "cdiDirs", .help = "Where it reads CDI files; absent: unknown.") \
	X(STR, dirs_from, "cdiDirsFrom", .help = "The configuration file that sets them, if any.") \
	X(STR, our_dir, "ourCDIDir", .help = "Where the agent writes CDI files.") \
	X(STR, message, "message", .help = "Why querying it failed.")
FL_STRUCT(fl_runtime, FL_RUNTIME);
extern const struct fl_kind fl_runtime_kind;

/* ---- PluginSocket: by its file name in the kubelet's directory ---- */
#define FL_PLUGIN_SOCKET(X) \
	FL_LOCAL(X) \
	X(BOOL, ours, "ours", .help = "Does this agent serve it?") \
	X(BOOL, live, "live", .help = "Does a process answer there?") \
	X(I64, made, "made", .help = "When it was made: another time is another socket.")
FL_STRUCT(fl_plugin_socket, FL_PLUGIN_SOCKET);
extern const struct fl_kind fl_plugin_socket_kind;

/* ---- DirTrouble: by the option without its dashes ---- */
#define FL_DIR_STATE "state-dir"
#define FL_DIR_CDI "cdi-dir"
#define FL_DIR_KUBELET "kubelet-dir"

#define FL_DIR_TROUBLE(X) \
	FL_LOCAL(X) \
	X(STR, why, "why", .required = true, .help = "What failed, why, and what to do.")
FL_STRUCT(fl_dir_trouble, FL_DIR_TROUBLE);
extern const struct fl_kind fl_dir_trouble_kind;

/* ---- Readiness: "gpus", the Node's condition GPUsReady, also where there is no API server ---- */
#define FL_READINESS_STATUS(X) FL_CONDITIONS(X)
FL_STRUCT(fl_readiness_status, FL_READINESS_STATUS);

#define FL_READINESS(X) \
	FL_LOCAL(X) \
	X(BOOL, blocked, "blocked", .required = true, .help = "GPUs exist, but the node's set-up prevents serving.") \
	X(STR, why, "why", .help = "Why the set-up prevents serving, and what to do.") \
	X(OBJ(fl_readiness_status), status, "status", .help = "The condition.")
FL_STRUCT(fl_readiness, FL_READINESS);
extern const struct fl_kind fl_readiness_kind;

/* ---- Settings ---- */
enum fl_mig_strategy { FL_MIG_NONE, FL_MIG_SINGLE, FL_MIG_MIXED, FL_MIG_STRATEGY_COUNT_ };
extern const struct fl_names fl_mig_strategy_names;

/* How a container gets its devices (device list strategy). The names are NVIDIA's; device-specs is ours. */
enum fl_device_list { FL_BY_CDI, FL_BY_CDI_ANNOTATIONS, FL_BY_ENV, FL_BY_MOUNTS, FL_BY_NODES, FL_DEVICE_LIST_COUNT_ };
extern const struct fl_names fl_device_list_names;

enum fl_id_by { FL_ID_UUID, FL_ID_INDEX, FL_ID_BY_COUNT_ };
extern const struct fl_names fl_id_by_names;

enum fl_share_policy { FL_SHARE_DISTRIBUTED, FL_SHARE_PACKED, FL_SHARE_POLICY_COUNT_ };
extern const struct fl_names fl_share_policy_names;

/* What to do where the runtime has CDI off. */
enum fl_without_cdi { FL_WITHOUT_CDI_FALL_BACK, FL_WITHOUT_CDI_REFUSE, FL_WITHOUT_CDI_COUNT_ };
extern const struct fl_names fl_without_cdi_names;

/* Extra devices: NVIDIA's names of the CDI classes. */
enum fl_extra { FL_EXTRA_GDS, FL_EXTRA_MOFED, FL_EXTRA_GDRCOPY, FL_EXTRA_IMEX, FL_EXTRA_COUNT_ };
extern const struct fl_names fl_extra_names;

/* How lines of GPU metrics are written, beside the usual way. */
enum fl_metrics_line {
	FL_METRICS_ONCE, FL_METRICS_NO_HOST, FL_METRICS_NO_BLANKS, FL_METRICS_OLD_NAMES, FL_METRICS_POD_UID,
	FL_METRICS_POD_LABELS, FL_METRICS_LINE_COUNT_
};
extern const struct fl_names fl_metrics_line_names;

/* Optional behaviour of NVIDIA's generator of CDI files (CDI_FEATURE_FLAGS), by its names. */
enum fl_cdi_flag { FL_CDI_NO_NVSANDBOXUTILS, FL_CDI_COHERENT_ANNOTATIONS, FL_CDI_NO_ADDITIONAL_GIDS,
		   FL_CDI_NO_IPC, FL_CDI_EXPLICIT_LIBRARIES, FL_CDI_FLAG_COUNT_ };
extern const struct fl_names fl_cdi_flag_names;

/* The hooks of its CDI files, by its names (CDI_DISABLE_HOOKS): our program does all of them. */
enum fl_hook_part { FL_HOOK_SYMLINKS, FL_HOOK_CUDA_COMPAT, FL_HOOK_LDCACHE, FL_HOOK_NO_NODE_CHANGES,
		   FL_HOOK_APPLICATION_PROFILE, FL_HOOK_CHMOD, FL_HOOK_COUNT_ };
extern const struct fl_names fl_hook_part_names;

/* Time-slicing or MPS: each device of a resource has several replicas. */
#define FL_SHARING(X) \
	X(STR, resource, "resource", .required = true, .help = "nvidia.com/gpu, nvidia.com/mig-1g.10gb") \
	X(STR, renamed, "renamed", .help = "Resource name of the replicas; absent: the same.") \
	X(I32, replicas, "replicas", .required = true, BETWEEN(2, 10000), .help = "Replicas of each device.")
FL_STRUCT(fl_sharing, FL_SHARING);

/* A resource made of named GPUs: of the settings, or of a pool of the cluster (plan/nodepools). */
#define FL_NODE_POOL(X) \
	X(STR, resource, "resource", .required = true, .help = "gpu.deckhouse.io/training") \
	X(BOOL, cluster, "cluster", .help = "Is it a GPUPool or ClusterGPUPool?") \
	X(STRS, cards, "cards", .help = "UUIDs, PCI addresses or indexes; 'all'.") \
	X(STRS, kept_back, "keptBack", .help = "GPUs of the pool that are not advertised now.") \
	X(STRS, leaving, "leaving", .help = "GPUs that leave the pool: not advertised, and restored.") \
	X(ENUM(fl_pool_unit), unit, "unit", .help = "Whole GPUs, or their MIG devices.") \
	X(STR, profile, "migProfile", .help = "Profile of the MIG devices.") \
	X(I32, slices, "slicesPerUnit", BETWEEN(1, 64), DEFAULT(1), .help = "Replicas of each unit.")
FL_STRUCT(fl_node_pool, FL_NODE_POOL);

/* Where the labels of the GPUs are written. */
enum fl_labels_output { FL_LABELS_NODE_FEATURE, FL_LABELS_FILE, FL_LABELS_NODE, FL_LABELS_NONE,
			FL_LABELS_OUTPUT_COUNT_ };
extern const struct fl_names fl_labels_output_names;

#define FL_SETTINGS(X) \
	FL_LOCAL(X) \
	FL_SETTINGS_OWN(X)
#define FL_SETTINGS_OWN(X) \
	X(STR, node, "node", .help = "Name of this Node.") \
	X(STR, boot, "boot", .help = "The kernel's boot_id, to which the loop's clock belongs.") \
	X(BOOL, unpooled, "unpooled", .help = "Serve GPUs outside all pools as nvidia.com/gpu and nvidia.com/mig-*?") \
	X(BOOL, gpu_pools, "gpuPools", .help = "Serve the GPUs of GPUPools and ClusterGPUPools?") \
	X(LIST(fl_node_pool), pools, "pools", .list_key = "resource", .help = "Resources made of named GPUs.") \
	X(ENUM(fl_mig_strategy), mig, "migStrategy", .help = "How MIG devices outside all pools are named.") \
	X(LIST_OF(ENUM(fl_device_list)), device_lists, "deviceListStrategy", .help = "How containers get devices.") \
	X(ENUM(fl_id_by), id_by, "deviceIDStrategy", .help = "How containers see device IDs.") \
	X(ENUM(fl_without_cdi), without_cdi, "withoutCDI", .help = "What to do where the runtime has CDI off.") \
	X(BOOL, pass_nodes, "passDeviceSpecs", .help = "Pass device nodes in addition to deviceListStrategy?") \
	X(ENUM(fl_share_policy), share_policy, "sharedDevicesAllocationPolicy", .help = "Spread replicas, or pack.") \
	X(LIST(fl_sharing), sharing, "sharing", .list_key = "resource", .help = "Replicas, by time-slicing or MPS.") \
	X(BOOL, one_share, "failRequestsGreaterThanOne", .help = "Refuse requests for two replicas?") \
	X(BOOL, mps, "mps", .help = "Share by MPS? If not, by time-slicing.") \
	X(STR, mps_root, "mpsRoot", .help = "Directory of MPS on the host.") \
	X(BOOL, health, "healthChecks", .help = "Do reported faults count?") \
	X(LIST_OF(I64), ignored, "ignoredXids", .help = "XIDs caused by applications, sorted.") \
	X(LIST_OF(I64), heeded, "heededXids", .help = "XIDs that count even where healthChecks is off, sorted.") \
	X(BOOL, pre_start, "preStart", .help = "Check again before each container starts?") \
	X(LIST_OF(ENUM(fl_extra)), extras, "extras", .help = "Extra devices of each container, in order.") \
	X(BOOL, imex_required, "imexRequired", .help = "Refuse allocations without the IMEX channel?") \
	X(STRS, look_roots, "lookRoots", .help = "Where the agent searches for the driver, in order.") \
	X(STR, look_dev, "lookDev", \
	  .help = "Where the agent searches for /dev; absent: the driver's root if it has one, else /.") \
	X(STR, driver_root, "driverRoot", \
	  .help = "The driver's root on the host, for CDI files; absent: where it was found.") \
	X(STR, dev_root, "devRoot", \
	  .help = "Root of /dev on the host, for CDI files; absent: where it was found.") \
	X(LIST_OF(ENUM(fl_cdi_flag)), cdi_flags, "cdiFeatureFlags", .help = "Changes to CDI files, in order.") \
	X(LIST_OF(ENUM(fl_hook_part)), disabled_hooks, "cdiDisableHooks", .help = "Hooks that do not run, in order.") \
	X(STR, cdi_kind, "cdiKind", .help = "k8s.device-plugin.nvidia.com/gpu") \
	X(STR, annotation_prefix, "cdiAnnotationPrefix", .help = "cdi.k8s.io/") \
	X(STR, hook, "hook", .help = "Path of our program on the host, for the CDI hook; absent: mounts instead.") \
	X(I64, recovery_wait, "recoveryWait", .help = "Least time between two recoveries of a GPU: ns.") \
	X(I64, recovery_wait_max, "recoveryWaitMax", \
	  .help = "Longest healthy time required of a GPU that keeps failing: ns.") \
	X(I32, recovery_checks, "recoveryChecks", .help = "Health checks without a fault before a GPU recovers.") \
	X(BOOL, startup_taint, "startupTaint", .help = "Taint the Node until its GPUs are ready for the first time?") \
	X(I64, evict_after, "evictAfter", .help = "Evict Pods this long after their GPU failed, ns; absent: never.") \
	X(BOOL, remove_refused, "removeRefusedPods", .help = "Delete refused Pods that have a controller?") \
	X(BOOL, make_nodes, "makeDeviceNodes", .help = "Make missing device nodes of unified memory?") \
	X(ENUM(fl_labels_output), labels, "labels", .help = "Where the labels of the GPUs are written.") \
	X(BOOL, no_timestamp, "noTimestamp", .help = "Leave out the label nvidia.com/gfd.timestamp?") \
	X(BOOL, present_label, "gpuPresentLabel", .help = "Write the label nvidia.com/gpu.present?") \
	X(BOOL, dev_links, "devCharLinks", .help = "Keep links in /dev/char to the driver's device nodes?") \
	X(STR, metrics_listen, "metricsListen", .help = "Where GPU metrics are served; absent: nowhere.") \
	X(I32, metrics_interval, "metricsInterval", .help = "Time between two reads of the GPUs: ms.") \
	X(STR, metrics_file, "metricsFile", .help = "The list of GPU metrics; absent: the default list.") \
	X(STR, metrics_web, "metricsWebConfig", .help = "The web config of their listener; absent: plain HTTP.") \
	X(LIST_OF(ENUM(fl_metrics_line)), metrics_lines, "metricsLines", \
	  .help = "How lines of GPU metrics are written.") \
	X(BOOL, metrics_pods, "metricsPods", .help = "Name the containers that have a device?") \
	X(STR, metrics_pod_allow, "metricsPodLabelAllowlist", .help = "Patterns of those labels; absent: all.") \
	X(I32, metrics_xids, "metricsXidWindow", .help = "How long an XID is counted: ms.") \
	X(I32, metrics_clocks, "metricsClockWindow", .help = "How long a clock event is counted: ms.") \
	X(BOOL, mig_manager, "migManager", .help = "Partition GPUs by MIG?") \
	X(STR, mig_file, "migConfigFile", .help = "Path of mig-parted's file; absent: layouts are all-...") \
	X(STR, mig_config, "migConfig", .help = "MIG layout of a Node without the label nvidia.com/mig.config.") \
	X(I64, started, "started", .help = "When the agent started: ns of the loop's clock.") \
	X(STR, waits, "waits", .help = "What must be known before serving; absent: nothing.") \
	X(STR, file, "file", .help = "The configuration file in force; absent: none.") \
	X(STR, message, "message", .help = "What is wrong with the configuration.") \
	X(STR, untaken, "untaken", .help = "What of the configuration is recognized but not applied.") \
	X(STR, no_node, "noNode", .help = "Set when the API server has no Node of this name: what to do.")
FL_STRUCT(fl_settings, FL_SETTINGS);
extern const struct fl_kind fl_settings_kind;

/* ---- what Settings are made from: this process's options, and files ---- */
#define FL_GIVEN_OPTION(X) \
	X(STR, name, "name", .required = true, .help = "Name of an option of the command line or the environment.") \
	X(STRS, values, "values", .help = "Its values, as written.")
FL_STRUCT(fl_given_option, FL_GIVEN_OPTION);

#define FL_GIVEN(X) \
	FL_LOCAL(X) \
	X(STR, node, "node", .help = "Name of this Node.") \
	X(STR, boot, "boot", .help = "The kernel's boot_id.") \
	X(STR, space, "namespace", .help = "Namespace of the agent's own objects; absent: no API server.") \
	X(STR, machine, "machine", .help = "Type of the machine; absent: unknown.") \
	X(STR, label_file, "labelFile", .help = "Path of the file that --labels=file writes.") \
	X(STR, ready_dir, "readyDir", .help = "Where ReadyFiles are written; absent: nowhere.") \
	X(I64, started, "started", .help = "When the agent started: ns of the loop's clock.") \
	X(STR, file, "file", \
	  .help = "The only configuration file; absent: the Node's label selects one of the directory.") \
	X(STR, path, "path", .help = "Path of that file or of the directory, as given.") \
	X(BOOL, several, "several", .help = "Does the Node's label select one of several files?") \
	X(STR, fallback, "fallback", .help = "The configuration of a Node without the label.") \
	X(LIST(fl_given_option), options, "options", .list_key = "name", .help = "The options given.")
FL_STRUCT(fl_given, FL_GIVEN);
extern const struct fl_kind fl_given_kind;

#define FL_CONFIG_FILE(X) \
	FL_LOCAL(X) \
	X(STR, text, "text", .help = "Its content.") \
	X(STR, why, "why", .help = "Why reading it failed.")
FL_STRUCT(fl_config_file, FL_CONFIG_FILE);
extern const struct fl_kind fl_config_file_kind;

/* ---- Memo: what was last read from the API server or the kubelet, kept on disk for a start without it ---- */
#define FL_BOOK_MEMO "book"
#define FL_MEMO(X) \
	FL_LOCAL(X) \
	X(STR, file, "file", .help = "Of \"config\": the configuration file last selected.") \
	X(STR, good, "good", .help = "Of \"config\": the one last in force.") \
	X(STRS, claimed, "claimed", .help = "Of \"claims\": resource names that DeviceClasses claim.") \
	X(LIST(fl_node_pool), pools, "pools", .list_key = "resource", .help = "Of \"pools\": the pools in force.") \
	X(BOOL, read, "read", .help = "Of \"pools\": were they ever read?") \
	X(BOOL, kept, "kept", .help = "Of \"book\": are all holders of that time among the Bookings?")
FL_STRUCT(fl_memo, FL_MEMO);
extern const struct fl_kind fl_memo_kind;

/* ---- PauseRequest, Pause, DriverPause ---- */
#define FL_PAUSE_REQUEST(X) \
	FL_LOCAL(X) \
	X(BOOL, pause, "pause", .help = "Release the driver; false: reopen it.") \
	X(STR, why, "why", .help = "The reason given.") \
	X(I64, asked, "asked", .help = "Number of the request, so that each is answered.")
FL_STRUCT(fl_pause_request, FL_PAUSE_REQUEST);
extern const struct fl_kind fl_pause_request_kind;

/* Named after its source: "operator", or "node" for a label of our Node. It outlives the process. */
#define FL_PAUSE(X) \
	FL_LOCAL(X) \
	X(STR, why, "why", .required = true, .help = "The reason given.")
FL_STRUCT(fl_pause, FL_PAUSE);
extern const struct fl_kind fl_pause_kind;

#define FL_DRIVER_PAUSE(X) \
	FL_LOCAL(X) \
	X(BOOL, paused, "paused", .required = true, .help = "Is the driver released?") \
	X(STR, why, "why", .help = "The request's source and reason.") \
	X(I64, asked, "asked", .help = "Number of the last request by then.")
FL_STRUCT(fl_driver_pause, FL_DRIVER_PAUSE);
extern const struct fl_kind fl_driver_pause_kind;

/* ---- Resource ---- */

/* A GPU or MIG device of a resource. Its devices are "<id>", or "<id>::0" to "<id>::<replicas-1>". */
#define FL_UNIT(X) \
	X(STR, id, "id", .required = true, .help = "UUID.") \
	X(I32, replicas, "replicas", .help = "Number of replicas; absent: one device, with the unit's own ID.") \
	X(BOOL, healthy, "healthy", .help = "May it be allocated?") \
	X(BOOL, leaving, "leaving", .help = "Listed only because a Pod holds it.") \
	X(STR, why, "why", .help = "Why it may not be allocated, and what to do.") \
	X(I32, numa, "numaNode", .help = "Absent: no preference.") \
	X(STR, shown, "shown", .help = "ID shown to containers: UUID or index.") \
	X(STRS, nodes, "nodes", .help = "Its device nodes, where containers get nodes.") \
	X(STR, card, "card", .help = "Address of the GPU.") \
	X(LIST_OF(I32), nearness, "nearness", .help = "Nearness to each unit, in the list's order: higher is nearer.")
FL_STRUCT(fl_unit, FL_UNIT);

/* All that Allocate and GetPreferredAllocation read. */
#define FL_RESOURCE(X) \
	FL_LOCAL(X) \
	X(LIST(fl_unit), units, "units", .help = "Sorted by id.") \
	X(LIST_OF(ENUM(fl_device_list)), device_lists, "ways", .help = "How containers get devices.") \
	X(STRS, nodes, "nodes", .help = "Device nodes of each container, where containers get nodes.") \
	X(STR, dev_root, "devRoot", .help = "Root of the device nodes on the host.") \
	X(LIST_OF(ENUM(fl_extra)), extras, "extras", .help = "Extra devices of each container.") \
	X(STR, cdi_kind, "cdiKind", .help = "k8s.device-plugin.nvidia.com/gpu") \
	X(STR, annotation_prefix, "cdiAnnotationPrefix", .help = "cdi.k8s.io/") \
	X(ENUM(fl_share_policy), share_policy, "sharePolicy", .help = "Spread replicas, or pack.") \
	X(BOOL, one_share, "oneShare", .help = "Refuse requests for two replicas?") \
	X(BOOL, pre_start, "preStart", .help = "Check again before each container starts?") \
	X(STR, mps_root, "mpsRoot", .help = "Directory of MPS on the host; absent: not shared by MPS.") \
	X(STR, refused, "refused", .help = "Why nothing may be allocated now; absent: it may.")
FL_STRUCT(fl_resource, FL_RESOURCE);
extern const struct fl_kind fl_resource_kind;
/* Counts the devices sent to the kubelet; each replica is one. */
void fl_resource_count(const struct fl_resource *resource, int64_t *ret_healthy, int64_t *ret_all);

/* ---- Health ---- */
enum fl_health_state { FL_HEALTHY, FL_SUSPECT, FL_UNHEALTHY, FL_RECOVERING, FL_HEALTH_STATE_COUNT_ };
extern const struct fl_names fl_health_state_names;

/* The condition "Healthy" shows the state to people; its changes become Events. */
#define FL_HEALTH_STATUS(X) FL_CONDITIONS(X)
FL_STRUCT(fl_health_status, FL_HEALTH_STATUS);
/* The identity of a GPU or MIG device when it last answered. The agent needs it for one that does not answer at its
 * first health check: Pods hold it by its UUID. */
#define FL_IDENTITY(X) \
	X(STR, uuid, "uuid", .help = "The GPU's UUID.") \
	X(I32, index, "index", .help = "The GPU's index in the driver's list.") \
	X(I32, minor, "minor", .help = "Of the GPU's /dev/nvidia<minor>.") \
	X(BOOL, mig, "mig", .help = "Was the GPU in MIG mode?") \
	X(I64, ecc, "eccUncorrected", .help = "Its last count of uncorrected memory errors.") \
	X(OBJ(fl_partition), part, "partition", .help = "The MIG device; absent: it is a GPU.")
FL_STRUCT(fl_identity, FL_IDENTITY);
#define FL_HEALTH(X) \
	FL_LOCAL(X) \
	X(STR, card, "card", .required = true, .help = "Address of the GPU.") \
	X(ENUM(fl_health_state), state, "state", .required = true, .help = "State of its health.") \
	X(STR, cause, "cause", .help = "In one word: Xid79, Lost, Hung.") \
	X(I64, since, "since", .help = "When this state began: ns of the loop's clock.") \
	X(I64, returned, "returned", .help = "When it last recovered.") \
	X(I32, breaks, "breaks", .help = "Failure count; decays without failures.") \
	X(I32, relapses, "relapses", .help = "Failures soon after a recovery; decays likewise.") \
	X(I64, broke, "broke", .help = "When it last failed: ns of the loop's clock.") \
	X(BOOL, well, "well", .help = "Has a health check found it healthy since its last failure?") \
	X(STR, boot, "boot", .help = "The boot to which these times belong.") \
	X(OBJ(fl_identity), identity, "identity", .help = "Its identity when it last answered.") \
	X(OBJ(fl_health_status), status, "status", .help = "The same as a condition.")
FL_STRUCT(fl_health, FL_HEALTH);
extern const struct fl_kind fl_health_kind;

/* ---- Mps: named after the resource ---- */

enum fl_mps_phase {
	FL_MPS_OFF,            /* no daemon */
	FL_MPS_RUNNING,        /* it runs, its limits are unknown */
	FL_MPS_READY,          /* it has the limits of `set` */
	FL_MPS_DEAF,           /* it does not answer; never desired */
	FL_MPS_PHASE_COUNT_
};
extern const struct fl_names fl_mps_phase_names;

/* How much memory of a GPU one client may pin. */
#define FL_MPS_LIMIT(X) \
	X(I32, index, "index", .required = true, .help = "The GPU's index in the driver's list.") \
	X(I64, memory, "memoryMiB", .required = true, .help = "Pinned memory limit of a client.")
FL_STRUCT(fl_mps_limit, FL_MPS_LIMIT);

/* Up to `why` desired state (plan/gpu/mps.h); the rest is observed by node/mps/mps.h. From before a compute mode is
 * changed until it is changed back, a journal record holds `cards` and `root`: see `marked`. */
#define FL_MPS(X) \
	FL_LOCAL(X) \
	X(ENUM(fl_mps_phase), phase, "phase", .required = true, .help = "Desired state of the daemon.") \
	X(STR, root, "root", .help = "Directory of MPS on the host.") \
	X(STR, program, "program", .help = "Path of nvidia-cuda-mps-control.") \
	X(STR, libraries, "libraries", .help = "Directory of the driver's libraries; absent: the system's.") \
	X(STRS, cards, "cards", .help = "Addresses of the GPUs whose compute mode is changed.") \
	X(LIST(fl_mps_limit), limits, "limits", .help = "By index.") \
	X(I32, threads, "threadPercentage", .help = "Per cent of a GPU's threads that one client may use.") \
	X(BOOL, healthy, "healthy", .help = "May its replicas be allocated?") \
	X(I64, returned, "returned", .help = "When it became healthy after a fault: ns of the loop's clock.") \
	X(STR, why, "why", .help = "Why its replicas may not be allocated, and what to do.") \
	X(ENUM(fl_mps_phase), is, "is", .help = "Observed state of the daemon.") \
	X(STRS, marked, "marked", .help = "The GPUs in the journal's record.") \
	X(STR, set, "set", .help = "The limits that the daemon has, as fl_gpu_mps_limits() prints them.") \
	X(I32, pid, "pid", .help = "Of the daemon.") \
	X(BOOL, ends, "endsWithAgent", .help = "Is the daemon in the agent's own cgroup?") \
	X(BOOL, fault, "fault", .help = "A server of the daemon reports a fault of a client.") \
	X(I32, clean, "clean", .help = "Probes without a fault in a row, up to FL_CARD_CLEAN_MAX.") \
	X(I32, fails, "fails", .help = "How often the daemon was lost, deaf or faulty since the agent started.") \
	X(STR, message, "message", .help = "Why a step failed, or what is wrong with the daemon.")
FL_STRUCT(fl_mps, FL_MPS);
extern const struct fl_kind fl_mps_kind;

/* ---- our own Node at the API server: the fields that only the agent reads ----
 *
 * A kind of its own, not another source of fl_node_kind: sources select objects, kinds select fields. The agent reads
 * whole conditions and every allocatable resource of one Node. In the controller these rows would cost bytes for each
 * Node of the cluster. The same holds for Pods below. */
#define FL_OWN_NODE_SPEC(X) \
	X(LIST(fl_taint), taints, "taints", .help = "Shared with other writers, one value: changed by JSON patch only.")
FL_STRUCT(fl_own_node_spec, FL_OWN_NODE_SPEC);
#define FL_OWN_NODE_STATUS(X) \
	X(MAP_OF(QUANTITY), allocatable, "allocatable", .help = "The kubelet's allocatable devices.") \
	FL_CONDITIONS(X)
FL_STRUCT(fl_own_node_status, FL_OWN_NODE_STATUS);
enum { FL_NODE_NFD_LABELS, FL_NODE_OUR_LABELS, FL_NODE_OUR_PRESENT, FL_OWN_NODE_ANNOTATION_COUNT_ };
extern const struct fl_names fl_own_node_annotations;
#define FL_OWN_NODE_META(X) \
	FL_META_NAMES(X) \
	X(MAP, labels, "labels", .help = "Some are the operator's settings.") \
	X(MAP, annotations, "annotations", .keep = &fl_own_node_annotations, \
	  .help = "The list of NFD's labels, and marks of our own.")
FL_STRUCT(fl_own_node_meta, FL_OWN_NODE_META);
#define FL_OWN_NODE(X) \
	FL_FAULTS(X) \
	X(OBJ(fl_own_node_meta), meta, "metadata", .help = "Standard object metadata.") \
	X(OBJ(fl_own_node_spec), spec, "spec", .help = "Desired state.") \
	X(OBJ(fl_own_node_status), status, "status", .help = "Observed state.")
FL_STRUCT(fl_own_node, FL_OWN_NODE);
extern const struct fl_kind fl_own_node_kind;

/* ---- Pods of this node at the API server: watched only while needed (node/kubelet/pods.h), by one selector at a
 * time ---- */
#define FL_OWN_POD_META(X) \
	FL_META_NAMES(X) \
	X(LIST(fl_owner_ref), owner_references, "ownerReferences", .list_key = "uid", .help = "Has it a controller?")
FL_STRUCT(fl_own_pod_meta, FL_OWN_POD_META);
#define FL_OWN_POD_RESOURCES(X) \
	X(MAP_OF(QUANTITY), limits, "limits", .interned = true, .help = "Limits by resource name.")
FL_STRUCT(fl_own_pod_resources, FL_OWN_POD_RESOURCES);
#define FL_OWN_POD_CONTAINER(X) \
	X(OBJ(fl_own_pod_resources), resources, "resources", .help = "Its resource requests and limits.")
FL_STRUCT(fl_own_pod_container, FL_OWN_POD_CONTAINER);
#define FL_OWN_POD_SPEC(X) \
	X(LIST(fl_own_pod_container), init_containers, "initContainers", .help = "Run before the others.") \
	X(LIST(fl_own_pod_container), containers, "containers", .help = "Run together.")
FL_STRUCT(fl_own_pod_spec, FL_OWN_POD_SPEC);
#define FL_OWN_POD_STATUS(X) \
	X(ENUM(fl_pod_phase), phase, "phase", .help = "Phase of its life.") \
	X(STR, reason, "reason", .interned = true, .help = "Why it failed, in one word: UnexpectedAdmissionError.") \
	X(TIME, start, "startTime", .help = "When the kubelet first saw it, by this machine's clock.")
FL_STRUCT(fl_own_pod_status, FL_OWN_POD_STATUS);
#define FL_OWN_POD(X) \
	FL_FAULTS(X) \
	X(OBJ(fl_own_pod_meta), meta, "metadata", .help = "Standard object metadata.") \
	X(OBJ(fl_own_pod_spec), spec, "spec", .help = "Desired state.") \
	X(OBJ(fl_own_pod_status), status, "status", .help = "Observed state.")
FL_STRUCT(fl_own_pod, FL_OWN_POD);
extern const struct fl_kind fl_own_pod_kind;

/* ---- DeviceClass: a device plugin must not serve a resource name that a class claims ---- */
#define FL_DEVICE_CLASS_SPEC(X) \
	X(STR, resource, "extendedResourceName", .help = "Pods that request this resource get devices of the class.")
FL_STRUCT(fl_device_class_spec, FL_DEVICE_CLASS_SPEC);
#define FL_DEVICE_CLASS_META(X) FL_META_NAMES(X)
FL_STRUCT(fl_device_class_meta, FL_DEVICE_CLASS_META);
#define FL_DEVICE_CLASS(X) \
	FL_FAULTS(X) \
	X(OBJ(fl_device_class_meta), meta, "metadata", .help = "Standard object metadata.") \
	X(OBJ(fl_device_class_spec), spec, "spec", .help = "Desired state.")
FL_STRUCT(fl_device_class, FL_DEVICE_CLASS);
extern const struct fl_kind fl_device_class_kind;
