/* ids.h - the kubelet's names of devices: "GPU-...", and "GPU-...::3" for a replica; and the names of the sockets of
 * NVIDIA's plugin. */
#pragma once
#include "api/node.h"

/* The part before "::<number>", or all of it. *ret_replica: the number, or -1. */
struct fl_str fl_gpu_id_base(struct fl_str id, int64_t *ret_replica);

/* Whether the holder, or any of the holders, has this device or a replica of it. */
bool fl_gpu_holds(const struct fl_holder *holder, struct fl_str id);
bool fl_gpu_held(const struct fl_holder *holders, uint32_t len, struct fl_str id);

/* Whether it is the UUID of the GPU or of a MIG device on it; whether the holder has any of these or a replica. */
bool fl_gpu_card_has(const struct fl_card *card, struct fl_str uuid);
bool fl_gpu_holds_card(const struct fl_holder *holder, const struct fl_card *card);

/* The unit of that name (they are sorted by id), or NULL. */
const struct fl_unit *fl_gpu_unit_find(const struct fl_resource *resource, struct fl_str id);

/* The unit of this device, or NULL. *ret_replica: which replica; may be NULL. */
const struct fl_unit *fl_gpu_id_unit(const struct fl_resource *resource, struct fl_str id, uint32_t *ret_replica);

/* NVIDIA's plugin names the socket of nvidia.com/NAME nvidia-NAME.sock. The NAME; empty: not such a socket. */
#define FL_GPU_DOMAIN "nvidia.com/"
struct fl_str fl_gpu_socket_of(struct fl_str socket);
