/* snapshot.h - the GPUs of a Node, from its labels and NodeFeatures.
 *
 * Pure. Of a label, the Node's value counts, then that of the NodeFeature with the Node's name, then that of the others
 * by name. Two sources tell of GPUs:
 *
 *   - the agent's own facts, an instance of the feature nvidia.com/gpu for each GPU, with UUID and PCI address;
 *   - labels gpu.deckhouse.io/device.NN.*, made from the PCI bus alone: there is no address, and NN is a number that
 *     changes when a GPU before it goes.
 *
 * Where both are there, the agent's facts are the GPUs. A slot of the same index and ids fills what an instance lacks.
 * Of the other slots only those count that are more, of their ids, than there are instances: GPUs that the driver does
 * not have.
 */
#pragma once
#include "api/core.h"
#include "api/nfd.h"
#include "api/pools.h"
#include "plan/plan.h"

#define FL_SNAPSHOT_CARDS 128          /* of one Node: the largest have 16; more are a label gone wrong */
#define FL_SNAPSHOT_PROFILES 64        /* MIG profiles of one Node: a model has fewer than 20 */

struct fl_snapshot_card {
	struct fl_str index;                   /* canonical */
	struct fl_device_hardware hardware;    /* as far as it is known */
	struct fl_str memory;                  /* MiB, as text; empty: not known */
	bool mig_known;                        /* is hardware.mig known? */
};

struct fl_snapshot {
	struct fl_snapshot_card *cards;        /* by index, numbers as numbers */
	uint32_t len;
	bool has_feature;                      /* is there a NodeFeature? */
	struct fl_str odd;                     /* what was not used, and why; empty: nothing */
};

struct fl_snapshot_in {
	const struct fl_node *node;
	const struct fl_gpu_feature *features; /* of this Node */
	uint32_t feature_len;
};

/* In the plan's arena; nothing of it counts when the plan has failed. */
void fl_snapshot_make(const struct fl_snapshot_in *in, struct fl_plan *plan, struct fl_snapshot *ret);

int fl_device_index_cmp(struct fl_str a, struct fl_str b);   /* numbers before texts */
