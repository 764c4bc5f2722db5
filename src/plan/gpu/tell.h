/* tell.h - which Pods the health of a GPU or MIG device concerns, and how an Event names the GPU.
 *
 * Pure. The caller ensures that the holders are current (node/pod_events.h).
 */
#pragma once
#include "api/node.h"
#include "base/arena.h"

struct fl_gpu_tell_facts {
	struct fl_str health;                  /* its name: the address of a GPU, or the UUID of a MIG device */
	const struct fl_card *card;            /* of that address; NULL: a MIG device's, or the GPU is gone */
	const struct fl_health *healths;       /* identities from the last answers of GPUs and MIG devices */
	const struct fl_holder *holders;       /* sorted by name, so that those of one Pod are adjacent */
	uint32_t health_len, holder_len;
};

struct fl_gpu_pod {
	struct fl_str space, name;
};

/* Writes the Pods that hold it, or a MIG device on the GPU, each once, in the order of the holders. `ret` has room for
 * `holder_len`. Returns their number. */
uint32_t fl_gpu_affected_pods(const struct fl_gpu_tell_facts *facts, struct fl_gpu_pod *ret);

/* "GPU 0000:03:00.0 (GPU-..., index 2)", as far as known; a MIG device with its GPU. The stable name comes first: the
 * driver renumbers indexes when a GPU goes. An Event about a Node names its GPU only by this. Empty: no memory. */
struct fl_str fl_gpu_tell_name(struct fl_arena *arena, const struct fl_health *health);

/* Whether a change of a GPU's health is one of the driver as a whole. The Node's condition GPUsReady has one Event for
 * that, so the GPUs need none of their own on the Node. `was`: the reason before. */
bool fl_gpu_tell_is_of_driver(bool healthy, struct fl_str reason, struct fl_str was);

/* Whether it is an XID of an application that does not count against the GPU: only Pods get an Event then. */
bool fl_gpu_tell_is_application(const struct fl_settings *settings, const struct fl_card_fault *fault);
