/* allocate.h - the answers to the kubelet's Allocate and GetPreferredAllocation.
 *
 * Pure functions of one Resource: a container that may start gets exactly what the list has, whatever else happens. The
 * same request gets the same answer. Nothing is reserved: the kubelet keeps the books.
 */
#pragma once
#include "api/node.h"

/* Up to so many whole devices, the best set is found exactly: 65,536 sets with two numbers each are compared. The
 * largest boards have 16. Beyond, the search takes the best of FL_PREFER_BEGINNINGS greedy searches. */
#define FL_PREFER_EXACT 16
#define FL_PREFER_BEGINNINGS 64

/* One container's devices, as the kubelet names them: "GPU-...", "GPU-...::3". */
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

/* Owned by the arena, or borrowed from the resource. */
struct fl_allocation {
	struct fl_pair *env, *annotations;
	struct fl_allocation_node *nodes;
	struct fl_allocation_mount *mounts;
	struct fl_str *cdi;                    /* qualified names */
	uint32_t env_len, annotation_len, node_len, mount_len, cdi_len;
};

/* What a container gets for its devices, in addition to what all containers of the resource get.
 * FL_E_INVALID: an id that the resource does not have, or more replicas than it may have. FL_E_RETRY: a device is not
 * healthy, or nothing may be allocated now. The error text begins as NVIDIA's plugin's does, names the device and the
 * remedy; it appears in the Pod's status. */
int fl_gpu_allocate(const struct fl_resource *resource, const struct fl_device_ids *wish, struct fl_arena *arena,
		    struct fl_allocation *ret, struct fl_err *err) FL_MUSTUSE;

/* What every container of the resource gets, whatever its devices; in each list it follows that of
 * fl_gpu_allocate(). */
int fl_gpu_allocate_common(const struct fl_resource *resource, struct fl_arena *arena, struct fl_allocation *ret,
			   struct fl_err *err) FL_MUSTUSE;

/* The `size` best of `available`, all of `must` among them, in the order of the list. Whole devices: those nearest to
 * each other, such that the remaining ones are near each other too; exact for up to FL_PREFER_EXACT units. Replicas: by
 * the policy, on as many GPUs as possible when spread, as few as possible when packed, given those in use already
 * (absent from `available`). FL_E_INVALID: an unknown id, or an impossible size. */
int fl_prefer(const struct fl_resource *resource, const struct fl_device_ids *available,
	      const struct fl_device_ids *must, uint32_t size, struct fl_arena *arena, struct fl_str *ret_ids,
	      struct fl_err *err) FL_MUSTUSE;
