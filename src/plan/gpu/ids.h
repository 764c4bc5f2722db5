/* ids.h - what the kubelet calls a device: "GPU-...", and "GPU-...::3" where one is handed out several times; and
 * what NVIDIA's plugin calls its sockets. */
#pragma once
#include "api/node.h"

/* The part before "::<number>", all of it where there is none. The number, or -1. */
struct fl_str fl_gpu_id_base(struct fl_str id, int64_t *ret_replica);

/* Does the holder have this device, or a share of it? Does any of them? */
bool fl_gpu_holds(const struct fl_holder *holder, struct fl_str id);
bool fl_gpu_held(const struct fl_holder *holders, uint32_t len, struct fl_str id);

/* Is it the UUID of the card, or of a part of it? Does the holder have any of these, or a share of one? */
bool fl_gpu_card_has(const struct fl_card *card, struct fl_str uuid);
bool fl_gpu_holds_card(const struct fl_holder *holder, const struct fl_card *card);

/* The unit of that name (they are sorted by id), or NULL. */
const struct fl_unit *fl_gpu_unit_find(const struct fl_resource *resource, struct fl_str id);

/* The unit whose device this is, and which of its replicas (NULL: not asked); NULL: the resource has none such. */
const struct fl_unit *fl_gpu_id_unit(const struct fl_resource *resource, struct fl_str id, uint32_t *ret_replica);

/* NVIDIA's plugin calls the socket of nvidia.com/NAME nvidia-NAME.sock: the NAME; empty: it is none of these. */
#define FL_GPU_DOMAIN "nvidia.com/"
struct fl_str fl_gpu_socket_of(struct fl_str socket);
