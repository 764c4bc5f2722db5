/* allocate.h - what a container gets, and which devices are best together: the answers to the kubelet.
 *
 * Pure, and of a Resource alone: a container that may start gets exactly what the list says, whatever else is going on.
 * Asked twice, they answer the same. Nothing is taken: the kubelet keeps the books.
 */
#pragma once
#include "api/node.h"

/* Whole devices of which the best are found exactly: every set of so many is looked at, 65,536 of them with two numbers
 * each; the largest boards have 16. Beyond, the best of so many beginnings. */
#define FL_PREFER_EXACT 16
#define FL_PREFER_BEGINNINGS 64

/* One container's devices, as the kubelet has them: "GPU-...", "GPU-...::3". */
struct fl_device_ids {
	const struct fl_str *ids;
	uint32_t len;
};

struct fl_allocation_node {
	struct fl_str path, host_path;         /* permissions are rw */
};
struct fl_allocation_mount {
	struct fl_str path, host_path;
	bool writable;
};

/* All of it lies in the arena, or is the resource's. */
struct fl_allocation {
	struct fl_pair *env, *annotations;
	struct fl_allocation_node *nodes;
	struct fl_allocation_mount *mounts;
	struct fl_str *cdi;                    /* qualified names */
	uint32_t env_len, annotation_len, node_len, mount_len, cdi_len;
};

/* What a container gets for its devices, beside what all containers of the resource get.
 * FL_E_INVALID: an id that the resource does not have, or more shares than it gives. FL_E_RETRY: a device that is not
 * healthy, or nothing may be handed out now. The words begin as NVIDIA's plugin has them, name the device and say what
 * to do; people read them in the Pod's status. */
int fl_gpu_allocate(const struct fl_resource *resource, const struct fl_device_ids *wish, struct fl_arena *arena,
		    struct fl_allocation *ret, struct fl_err *err) FL_MUSTUSE;

/* What every container of the resource gets, whichever its devices: it comes after the above in each list. */
int fl_gpu_allocate_common(const struct fl_resource *resource, struct fl_arena *arena, struct fl_allocation *ret,
			   struct fl_err *err) FL_MUSTUSE;

/* The `size` best of `available`, with all of `must` among them, in the order of the list. Whole devices: those that
 * are nearest to each other, exactly for up to FL_PREFER_EXACT units, by the best of many beginnings beyond, and so
 * that what is left over is near too. Shares: as the policy says, on as many cards as can be when spread, as few when
 * packed; by what is in use already, which `available` shows. FL_E_INVALID: an id that there is not, or a size that
 * cannot be. */
int fl_prefer(const struct fl_resource *resource, const struct fl_device_ids *available,
	      const struct fl_device_ids *must, uint32_t size, struct fl_arena *arena, struct fl_str *ret_ids,
	      struct fl_err *err) FL_MUSTUSE;
