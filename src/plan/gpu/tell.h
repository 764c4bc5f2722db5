/* tell.h - whom the health of a GPU or MIG device concerns, and how an Event names the GPU.
 *
 * Pure, as all that decides. Whether the holders are those of now is the caller's care (node/pod_events.h).
 */
#pragma once
#include "api/node.h"
#include "base/arena.h"

struct fl_gpu_tell_facts {
	struct fl_str health;                  /* its name: the address of a card, or the UUID of a partition */
	const struct fl_card *card;            /* of that address; NULL: a partition's, or the card is gone */
	const struct fl_health *healths;       /* what cards and partitions were when they answered last */
	const struct fl_holder *holders;       /* sorted by name, so that those of one Pod stand together */
	uint32_t health_len, holder_len;
};

struct fl_gpu_pod {
	struct fl_str space, name;
};

/* The Pods that hold it, or a part of the card: each once, in the order of the holders. `ret` has room for as many as
 * there are holders. How many. */
uint32_t fl_gpu_affected_pods(const struct fl_gpu_tell_facts *facts, struct fl_gpu_pod *ret);

/* "GPU 0000:03:00.0 (GPU-..., index 2)", as far as it is known; a MIG device with the GPU that it is on. The driver
 * counts anew when a GPU goes, so what stays comes first. An Event about a
 * Node says nothing else of which GPU it means. Without memory: empty. */
struct fl_str fl_gpu_tell_name(struct fl_arena *arena, const struct fl_health *health);

/* Is it an XID that an application causes, and does not count against the GPU? Then only Pods are told of it. */
bool fl_gpu_tell_is_application(const struct fl_settings *settings, const struct fl_card_fault *fault);
