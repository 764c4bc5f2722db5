/* settings.h - how this node hands out its GPUs: the command line, the environment, and NVIDIA's configuration file.
 *
 * The command line and the environment come before the file, and the file before the defaults, as NVIDIA's plugin has
 * it. Its flags, environment names and file (version v1) are understood; what we do not do is
 * refused or reported by its name, so that nobody believes to have it. Options of ours that NVIDIA does not have are
 * FAIRLEAD_* in the environment.
 *
 *     struct options { struct fl_settings_given given; ... };
 *     static const struct fl_option options[] = { FL_SETTINGS_OPTIONS(struct options, given), ... };
 *
 *     fl_settings_make(&(struct fl_settings_from){ .given = &config->given, .name = name, .text = text }, &arena,
 *                      &settings, err);
 *     fl_feed_put(fl_loop_feed(loop, &fl_settings_kind), &settings, err);
 *
 * Pure: files are read, and labels watched, by whoever calls.
 */
#pragma once
#include "api/node.h"
#include "base/option.h"

/* What was given on the command line or in the environment, as it was written; .p NULL: it was not. Of a list the
 * command line's items are one text each, and any of them may be parted by commas. */
struct fl_settings_given {
	struct fl_str mig_strategy, id_strategy, pass_specs, share_policy, annotation_prefix, hook, without_cdi;
	struct fl_str hook_usual;              /* the hook's path where nobody names one */
	struct fl_str unpooled, pre_start, disable_health, enable_health, discovery, fail_on_init;
	struct fl_str gdrcopy, gds, mofed, imex_channels, imex_required, mps_root, cdi_kind, recovery_wait,
		      recovery_wait_max, recovery_checks;
	struct fl_str look_root, dev_root, nvidia_hook;
	struct fl_str startup_taint, evict_after, remove_refused, dev_links, make_nodes;
	struct fl_strs list_strategy, roots, cdi_flags, disabled_hooks;
	struct fl_strs pools;                  /* RESOURCE=CARD,CARD... */
};

/* --unpooled, --no-unpooled, --unpooled=false: NVIDIA's documentation has them without a value. */
#define FL_SETTINGS_TRUTH .bare = true, .value = "true|false"

#define FL_SETTINGS_OPTIONS(type, m) \
	FL_OPT_STR(type, m.mig_strategy, "mig-strategy", "How MIG partitions are called: none, single or mixed.", \
		   .env = "MIG_STRATEGY"), \
	FL_OPT_STRS(type, m.list_strategy, "device-list-strategy", \
		    "How containers get devices: cdi-cri, cdi-annotations, envvar, volume-mounts, device-specs.", \
		    .env = "DEVICE_LIST_STRATEGY"), \
	FL_OPT_STR(type, m.id_strategy, "device-id-strategy", "What containers are told of a device: uuid or index.", \
		   .env = "DEVICE_ID_STRATEGY"), \
	FL_OPT_STR(type, m.pass_specs, "pass-device-specs", "Hand out device nodes too, whatever the strategy.", \
		   .env = "PASS_DEVICE_SPECS", FL_SETTINGS_TRUTH), \
	FL_OPT_STR(type, m.share_policy, "shared-devices-allocation-policy", \
		   "Which shares are handed out first: distributed or packed.", \
		   .env = "SHARED_DEVICES_ALLOCATION_POLICY"), \
	FL_OPT_STR(type, m.annotation_prefix, "cdi-annotation-prefix", "Of annotations that name CDI devices.", \
		   .env = "CDI_ANNOTATION_PREFIX"), \
	FL_OPT_STR(type, m.hook, "cdi-hook-path", \
		   "Where the agent keeps the CDI hook's program, a path of the host too; " \
		   "else STATE_DIR/bin/fairlead-cdi-hook; " \
		   "empty: no hook."), \
	FL_OPT_STR(type, m.hook_usual, "cdi-hook-default", "The default of --cdi-hook-path.", .hidden = true), \
	FL_OPT_STR(type, m.nvidia_hook, "nvidia-cdi-hook-path", \
		   "The same, by NVIDIA's name; a path of NVIDIA's own hook is reported and not used.", \
		   .env = "NVIDIA_CDI_HOOK_PATH", .also = "nvidia-ctk-path", .env_also = "NVIDIA_CTK_PATH", \
		   .hidden = true), \
	FL_OPT_STRS(type, m.roots, "driver-root", \
		    "Where the driver may be installed, in order; / and /run/nvidia/driver. One: CDI files name it.", \
		    .env = "NVIDIA_DRIVER_ROOT", .also = "nvidia-driver-root"), \
	FL_OPT_STR(type, m.look_root, "driver-root-ctr-path", \
		   "Where the agent sees the driver's root; CDI files name --driver-root.", \
		   .env = "DRIVER_ROOT_CTR_PATH", .also = "container-driver-root", \
		   .env_also = "CONTAINER_DRIVER_ROOT", .value = "PATH"), \
	FL_OPT_STR(type, m.dev_root, "dev-root", \
		   "Where /dev lies on the host; else the driver's root, if it has one.", \
		   .env = "NVIDIA_DEV_ROOT", .also = "nvidia-dev-root", .value = "PATH"), \
	FL_OPT_STRS(type, m.cdi_flags, "cdi-feature-flags", \
		    "Changes to CDI files, by NVIDIA's names: no-additional-gids-for-device-nodes, " \
		    "disable-ipc-discoverer; all.", .env = "CDI_FEATURE_FLAGS"), \
	FL_OPT_STRS(type, m.disabled_hooks, "cdi-disable-hooks", \
		    "What the CDI hook leaves out: create-symlinks, enable-cuda-compat, update-ldcache, ...; all.", \
		    .env = "CDI_DISABLE_HOOKS"), \
	FL_OPT_STR(type, m.without_cdi, "without-cdi", \
		   "What to do where the container runtime has CDI off: device-specs or refuse."), \
	FL_OPT_STR(type, m.unpooled, "unpooled", \
		   "Serve cards that are in no pool as nvidia.com/gpu and nvidia.com/mig-*.", FL_SETTINGS_TRUTH), \
	FL_OPT_STRS(type, m.pools, "pool", "A resource and its cards: gpu.deckhouse.io/train=0,1 or ...=all."), \
	FL_OPT_STR(type, m.pre_start, "pre-start", "Be asked before each start of a container; see the manual first.", \
		   FL_SETTINGS_TRUTH), \
	FL_OPT_STR(type, m.disable_health, "disable-health-checks", \
		   "XIDs to be ignored besides those that applications cause; all: no report of a card counts.", \
		   .env = "DP_DISABLE_HEALTHCHECKS"), \
	FL_OPT_STR(type, m.enable_health, "enable-health-checks", "XIDs to be heeded after all; all: each of them.", \
		   .env = "DP_ENABLE_HEALTHCHECKS"), \
	FL_OPT_STR(type, m.cdi_kind, "cdi-kind", \
		   "Vendor and class of the CDI devices: k8s.device-plugin.nvidia.com/gpu."), \
	FL_OPT_STR(type, m.recovery_wait, "recovery-wait", "Between two returns of a card, at least: 30s, up to 1h."), \
	FL_OPT_STR(type, m.recovery_wait_max, "recovery-wait-max", \
		   "Longest time without a fault before a flapping GPU returns, above --recovery-wait " \
		   "and up to 1h: 10m, or twice --recovery-wait. 0s: off."), \
	FL_OPT_STR(type, m.recovery_checks, "recovery-checks", "Looks without a fault before a card comes back."), \
	FL_OPT_STR(type, m.startup_taint, "startup-taint", "Taint the Node until its GPUs are ready: false.", \
		   FL_SETTINGS_TRUTH), \
	FL_OPT_STR(type, m.evict_after, "evict-after", "Evict Pods this long after their GPU died; 0s: never.", \
		   .value = "DURATION"), \
	FL_OPT_STR(type, m.remove_refused, "remove-refused-pods", \
		   "Delete Pods that the kubelet refused for want of a GPU, if they have a controller: false.", \
		   FL_SETTINGS_TRUTH), \
	FL_OPT_STR(type, m.dev_links, "dev-char-links", \
		   "Keep /dev/char links to the GPUs' device nodes, for the systemd cgroup driver: false.", \
		   FL_SETTINGS_TRUTH), \
	FL_OPT_STR(type, m.make_nodes, "make-device-nodes", \
		   "Make /dev/nvidia-uvm and /dev/nvidia-uvm-tools where they are missing: true.", \
		   FL_SETTINGS_TRUTH), \
	FL_OPT_STR(type, m.fail_on_init, "fail-on-init-error", "Taken, and of no effect: no driver is waited for.", \
		   .env = "FAIL_ON_INIT_ERROR", .hidden = true, FL_SETTINGS_TRUTH), \
	FL_OPT_STR(type, m.discovery, "device-discovery-strategy", "auto or nvml.", \
		   .env = "DEVICE_DISCOVERY_STRATEGY", .hidden = true), \
	FL_OPT_STR(type, m.gdrcopy, "gdrcopy-enabled", "Give containers GDRCopy's device beside their cards.", \
		   .env = "GDRCOPY_ENABLED", FL_SETTINGS_TRUTH), \
	FL_OPT_STR(type, m.gds, "gds-enabled", "Give containers the devices of GPUDirect Storage.", \
		   .env = "GDS_ENABLED", FL_SETTINGS_TRUTH), \
	FL_OPT_STR(type, m.mofed, "mofed-enabled", "Give containers the devices of the InfiniBand network.", \
		   .env = "MOFED_ENABLED", FL_SETTINGS_TRUTH), \
	FL_OPT_STR(type, m.imex_channels, "imex-channel-ids", "IMEX channels that containers get: [] or [0].", \
		   .env = "IMEX_CHANNEL_IDS"), \
	FL_OPT_STR(type, m.imex_required, "imex-required", "Hand nothing out while the IMEX channel is not there.", \
		   .env = "IMEX_REQUIRED", FL_SETTINGS_TRUTH), \
	FL_OPT_STR(type, m.mps_root, "mps-root", \
		   "Directory on the host for MPS, as /run/nvidia/mps; sharing.mps of the configuration needs it.", \
		   .env = "MPS_ROOT", .value = "DIR")

struct fl_settings_from {
	const struct fl_settings_given *given; /* NULL: nothing */
	struct fl_str name, text;              /* of NVIDIA's configuration file; text .p NULL: there is none */
	struct fl_str path;                    /* as messages call it; empty: by its name */
	const char *why;                       /* why there is none although one is asked for; NULL: none is */
	const struct fl_settings *last;        /* the last good ones; NULL: there were none */
	struct fl_str good_name, good_text;    /* the file that was in force last; .p NULL: none was, or it is gone */
	struct fl_str node, boot;              /* the Node's name, the kernel's boot_id */
};

/* What follows from them, or FL_E_INVALID with the path of what is wrong and what to write instead. Texts lie in the
 * arena or where they came from. */
int fl_settings_read(const struct fl_settings_from *from, struct fl_arena *arena, struct fl_settings *ret,
		     struct fl_err *err) FL_MUSTUSE;

/* The same, and a mistake is no end: then the last good ones stay in force, or those of the file that was in force
 * last, or what was given without a file; and their message says what is wrong, and which of them it is. FL_E_NOMEM
 * only. */
int fl_settings_make(const struct fl_settings_from *from, struct fl_arena *arena, struct fl_settings *ret,
		     struct fl_err *err) FL_MUSTUSE;

/* Without anything given: cards by UUID over CDI, damped by 30 s and three looks; nothing is served that nobody asked
 * for. */
int fl_settings_defaults(struct fl_arena *arena, struct fl_settings *ret, struct fl_err *err) FL_MUSTUSE;

/* Which of several named configurations a node has: the one that its label nvidia.com/device-plugin.config names, else
 * `fallback`, else the one that is called default, else the only one. FL_E_NOTFOUND names those that there are; *ret is
 * UINT32_MAX where nothing names one and there are none, which is no mistake. */
#define FL_SETTINGS_LABEL "nvidia.com/device-plugin.config"
int fl_settings_choose(const struct fl_str *names, uint32_t count, struct fl_str label, struct fl_str fallback,
		       uint32_t *ret, struct fl_err *err) FL_MUSTUSE;

/* NVIDIA's file alone, laid over what is there; for fl_settings_read, and for fuzzing. */
int fl_settings_file(struct fl_str text, struct fl_arena *arena, struct fl_settings *settings,
		     struct fl_err *err) FL_MUSTUSE;
