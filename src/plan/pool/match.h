/* match.h - for the files of this folder alone: which GPUDevice a GPU has.
 *
 * A GPU is known by its UUID, else by its place: the PCI address in the inventoryID, which is set once. So an object
 * stays that GPU's whatever its index or the numbers of buses become, and that of a place whose GPU was replaced is the
 * new one's. A GPU without an address is known by its index and ids. An object without inventoryID is taken over by the
 * first GPU of its ids whose address becomes known.
 */
#pragma once
#include "plan/pool/inventory.h"
#include "plan/pool/snapshot.h"

struct match {
	const struct fl_snapshot_card *card;   /* NULL: the GPU of `device` is not there */
	const struct fl_gpu_device *device;    /* NULL: it has none yet */
	struct fl_str name;                    /* of the object */
	struct fl_str index;                   /* as in the name */
};

struct matches {
	struct match *at;                      /* GPUs of the snapshot, then objects whose GPU is not there */
	uint32_t len;
	struct fl_str waits;                   /* names that others have still; empty: none */
};

void match_all(const struct fl_inventory_facts *facts, const struct fl_snapshot *snapshot, struct fl_plan *plan,
	       struct matches *ret);

/* Is it an object of this very Node, and not of a former one of the name? */
bool match_is_own(const struct fl_inventory_facts *facts, const struct fl_gpu_device *device);
