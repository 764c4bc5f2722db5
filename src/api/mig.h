/* mig.h - MIG: what a GPU can be partitioned into, its GPU instances, and the layouts that a node knows by name.
 *
 * A profile is named as NVIDIA's tools name it: "1g.10gb", "1g.10gb+me". A compute instance that has a part of its GPU
 * instance puts its slices in front: "1c.3g.40gb".
 */
#pragma once
#include "api/local.h"

#define FL_MIG_INSTANCES_MAX 8       /* GPU instances of a GPU: one a memory slice, and hardware has 8 of these */
#define FL_MIG_COMPUTES_MAX 8        /* compute instances in a GPU instance: one a compute slice; at most 7 */

/* Where the driver can make a GPU instance, in memory slices. */
#define FL_MIG_PLACE(X) \
	X(I32, start, "start", .required = true, .help = "First memory slice.") \
	X(I32, size, "size", .required = true, .help = "Number of memory slices.")
FL_STRUCT(fl_mig_place, FL_MIG_PLACE);

/* A profile that the driver offers for a GPU: read from the driver, so that no list of GPU models is needed. */
#define FL_MIG_OFFER(X) \
	X(STR, name, "name", .required = true, .interned = true, .help = "1g.10gb+me") \
	X(I32, count, "count", .required = true, .help = "Most GPU instances of it on one GPU.") \
	X(I32, slices, "slices", .required = true, .help = "Compute slices.") \
	X(I32, decoders, "decoders", .help = "Video decoders.") \
	X(I32, encoders, "encoders", .help = "Video encoders.") \
	X(I32, jpegs, "jpegs", .help = "JPEG engines.") \
	X(I32, ofas, "ofas", .help = "Optical flow engines.") \
	X(LIST(fl_mig_place), places, "places", .help = "Where it can be made.")
FL_STRUCT(fl_mig_offer, FL_MIG_OFFER);

/* A GPU instance: nothing else of the GPU lies at its place. Two are the same if profile, place and parts are. */
#define FL_MIG_INSTANCE(X) \
	X(STR, profile, "profile", .required = true, .interned = true, .help = "Of the GPU instance: 3g.40gb") \
	X(I32, start, "start", .required = true, .help = "First memory slice.") \
	X(LIST_OF(I32), computes, "computes", .help = \
	  "Slices of its compute instances, the largest first; one that has all of it: its slices.") \
	X(I32, gi, "gi", .help = "Its number, while it is on a GPU.")
FL_STRUCT(fl_mig_instance, FL_MIG_INSTANCE);
bool fl_mig_same(const struct fl_mig_instance *a, const struct fl_mig_instance *b);

/* "1g.10gb: 7" of a layout. */
#define FL_MIG_COUNT(X) \
	X(STR, profile, "profile", .required = true, .interned = true, .help = "1g.10gb, 1c.3g.40gb") \
	X(I32, count, "count", .required = true, .help = "Number of MIG devices.")
FL_STRUCT(fl_mig_count, FL_MIG_COUNT);

/* ---- what a node knows by a name: an entry of mig-parted's file ---- */
#define FL_MIG_ENTRY(X) \
	X(STRS, filters, "filters", .help = "Device IDs that it is for, as 0x20B010DE; absent: all.") \
	X(BOOL, all, "all", .help = "Is it for all GPUs?") \
	X(LIST_OF(I32), devices, "devices", .help = "Else indexes of GPUs, by bus address.") \
	X(BOOL, enabled, "enabled", .required = true, .help = "MIG mode.") \
	X(LIST(fl_mig_count), counts, "counts", .help = "MIG devices.")
FL_STRUCT(fl_mig_entry, FL_MIG_ENTRY);

#define FL_MIG_CONFIG(X) \
	X(STR, name, "name", .required = true, .help = "all-balanced") \
	X(LIST(fl_mig_entry), entries, "entries", .help = "Of several that are for a GPU, the last one counts.")
FL_STRUCT(fl_mig_config, FL_MIG_CONFIG);

/* ---- MigFile: one, by its file's name: mig-parted's ---- */
#define FL_MIG_FILE(X) \
	FL_LOCAL(X) \
	X(LIST(fl_mig_config), configs, "configs", .help = "Its layouts.") \
	X(STR, why, "why", .help = "Why it was not read; absent: it was.")
FL_STRUCT(fl_mig_file, FL_MIG_FILE);
extern const struct fl_kind fl_mig_file_kind;

/* ---- Layout: of a GPU, by its address; kept on disk ---- */
enum fl_mig_step { FL_MIG_REST, FL_MIG_MODE_ON, FL_MIG_MODE_OFF, FL_MIG_CREATE, FL_MIG_DESTROY, FL_MIG_STEP_COUNT_ };
extern const struct fl_names fl_mig_step_names;

/* Up to `turn` desired state (plan/mig/layout.h), which is on the disk before the step is done; the rest is what
 * came of it (node/gpu/mig.c). */
#define FL_MIG_LAYOUT(X) \
	FL_LOCAL(X) \
	X(STR, config, "config", .help = "The layout's name.") \
	X(BOOL, mode, "mode", .required = true, .help = "MIG mode that is wanted.") \
	X(LIST(fl_mig_count), counts, "counts", .help = "MIG devices that are wanted.") \
	X(BOOL, changes, "changes", .help = "Is the GPU being changed?") \
	X(BOOL, undo, "undo", .help = "Is the change being undone?") \
	X(STRS, leaving, "leaving", .help = "UUIDs of the devices that are withdrawn, sorted.") \
	X(BOOL, pooled, "pooled", .help = "Has a pool of the cluster its layout?") \
	X(BOOL, mode_home, "modeHome", .help = "MIG mode before it joined the pool.") \
	X(LIST(fl_mig_count), home, "home", .help = "MIG devices before it joined the pool.") \
	X(BOOL, mode_before, "modeBefore", .help = "MIG mode before the change.") \
	X(LIST(fl_mig_instance), before, "before", .help = "GPU instances before the change.") \
	X(LIST(fl_mig_instance), ours, "ours", .help = "GPU instances that the agent may destroy: made or adopted.") \
	X(STR, failed, "failed", .help = "Why the last change failed.") \
	X(I32, fails, "fails", .help = "How often in a row.") \
	X(I64, again, "again", .help = "When it is tried again: ns of the loop's clock.") \
	X(STR, boot, "boot", .help = "The boot to which these times belong.") \
	X(ENUM(fl_mig_step), step, "step", .help = "What is to be done now.") \
	X(OBJ(fl_mig_instance), at, "at", .help = "The GPU instance of the step.") \
	X(LIST(fl_mig_instance), unused, "unused", .help = "GPU instances that no process may use for the step.") \
	X(I64, started, "started", .help = "When the agent started that wants the step: another one does it again.") \
	X(I64, turn, "turn", .help = "Number of the step: with a new one it is done again.") \
	X(I64, answered, "answered", .help = "Number of the last step that the driver has answered.") \
	X(BOOL, busy, "busy", .help = "A process is in the way of it.") \
	X(STR, refused, "refused", .help = "Why the driver refused it; absent: it did it.") \
	X(I64, tried, "tried", .help = "When: ns of the loop's clock.")
FL_STRUCT(fl_layout, FL_MIG_LAYOUT);
extern const struct fl_kind fl_layout_kind;

/* ---- MigState: of a GPU of a pool of the cluster, by its address: how far its layout is ---- */
#define FL_MIG_STATE(X) \
	FL_LOCAL(X) \
	X(BOOL, done, "done", .required = true, .help = "Is its layout as the pool wants it?") \
	X(STR, reason, "reason", .help = "In one word: CardInUse, ResetRequired.") \
	X(STR, message, "message", .help = "What it waits for, or why it failed.")
FL_STRUCT(fl_mig_state, FL_MIG_STATE);
extern const struct fl_kind fl_mig_state_kind;
