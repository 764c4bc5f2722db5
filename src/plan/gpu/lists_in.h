/* lists_in.h - building the lists: which GPUs are in which list (lists.c), and the state of each device (units.c). */
#pragma once
#include "plan/gpu/lists.h"

#define FL_LISTS_NAMED 4                     /* devices named in a condition's message: readers need examples */

struct list {
	struct fl_str name;
	struct fl_unit *units;
	uint32_t len;
	int32_t replicas;                      /* of new units; up to 1: not shared */
	bool mps;                              /* replicas are clients of a control daemon */
	bool waits;                            /* a device's state is unknown or its file is missing: first served
						  only if a container holds one of its devices */
	bool soon;                             /* ... and this ends in a moment: not served even for holders */
};

/* A device that a container holds. */
struct held {
	struct fl_str resource, id, card;      /* id without its replica; card: the GPU's address if known */
	int64_t replica;
	const struct fl_holder *holder;
};

#define LISTS_POOLS "PoolMisconfigured"   /* a reason of GPUConfigApplied and of GPUsReady */

struct lists {
	const struct fl_gpu_lists_facts *facts;
	struct fl_plan *plan;
	struct list *at;
	uint32_t len, list_max, unit_max;
	struct held *held;
	uint32_t held_len;
	bool by_nodes, by_cdi;                 /* how containers get devices, given what the runtime supports */
	bool *on_disk;                         /* for each of the specs: the file is written as planned */
	enum fl_device_list *device_lists;
	uint32_t device_lists_len;
	enum fl_extra *extras;                 /* extra devices that are present and may be allocated */
	uint32_t extra_len;
	bool extras_wait;                      /* one is present without its CDI file: not served for the first time */
	struct fl_str refused;
	struct fl_str required;                /* why a required extra device is missing; empty: none is */
	struct fl_str lacks;                   /* why the driver has no libraries; empty: it has them */
	const char *reason;                    /* of the first problem; NULL: there is none */
	bool lasting;                          /* at least one problem does not end by itself in a moment */
	uint32_t devices;                      /* that have a problem; the first ones are named */
	struct fl_str problems;
	struct fl_str pools;                   /* errors in the GPUs that pools name; empty: none */
	bool pools_unknown;                    /* ... not known before the driver has reported all GPUs */
	uint32_t sick;
	bool set_up;                           /* one problem is neither brief nor that of a device */
	bool others;                           /* another plugin or a DeviceClass has one of the names */
};

/* Chooses the extra devices that the host has. False: one is present without its CDI file. */
bool lists_choose_extras(struct lists *l);

/* Reports directories that the agent cannot use. */
void lists_look_at_dirs(struct lists *l);

/* Writes the Node's conditions, after all problems are known; `served`: the number of served lists. */
void lists_tell(struct lists *l, uint32_t served);

void lists_problem(struct lists *l, const char *reason, const char *fmt, ...) FL_PRINTF(3, 4);
/* A problem that ends by itself in a moment. */
void lists_moment(struct lists *l, const char *reason, const char *fmt, ...) FL_PRINTF(3, 4);
/* A problem of one device; the first FL_LISTS_NAMED devices are named. `soon`: it ends by itself in a moment. */
void lists_device(struct lists *l, bool soon, const char *reason, const char *fmt, ...) FL_PRINTF(4, 5);

/* The list of that name, made if it is missing; NULL: no memory. */
struct list *lists_get(struct lists *l, struct fl_str name);
struct fl_unit *list_find(struct list *list, struct fl_str id);
const struct fl_resource *lists_served(const struct lists *l, struct fl_str name);

/* nvidia.com/mig-1g.10gb.me of 1g.10gb+me; .p NULL: a part of a GPU instance, which has no resource name. */
struct fl_str lists_mig_name(struct lists *l, struct fl_str profile);

/* Of a GPU, by its address, or of a MIG device, by its UUID; NULL: not checked yet. */
const struct fl_health *lists_health(const struct lists *l, struct fl_str name);

/* Is the MIG layout of the GPU being changed, or not what it should be yet? */
bool lists_changing(const struct lists *l, const struct fl_card *card);

/* Finds which CDI files are written, not in flight. Call it before list_add(). False: no memory. */
bool lists_look_at_files(struct lists *l);
/* Adds a GPU (`part` NULL) or a MIG device to a list. */
void list_add(struct lists *l, struct list *list, const struct fl_card *card, const struct fl_partition *part);
/* Reports a GPU that is in no list because its UUID is unknown. */
void lists_tell_nameless(struct lists *l, const struct fl_card *card);
/* Keeps a device that was served and is missing now: unchanged, as healthy as its GPU. */
void list_keep(struct lists *l, struct list *list, const struct fl_unit *unit);
/* Applies what depends on holders, and sorts; call it after all devices are added. */
void list_finish(struct lists *l, struct list *list);

/* ---- lists_pools.c ---- */
/* Moves GPUs that pools name from `free` into the pools' lists. */
void lists_serve_pools(struct lists *l, const struct fl_card **free, uint32_t *free_len);
/* Does its pool keep the GPU of that address back? */
bool lists_withdrawn(const struct lists *l, struct fl_str resource, struct fl_str card);

/* ---- lists_claims.c ---- */
bool lists_blocked(const struct fl_gpu_lists_facts *facts);   /* an unusable directory keeps needed facts unknown */
bool lists_claimed(const struct lists *l, struct fl_str name);     /* by a DeviceClass, now or when last reported */
void lists_remember_claims(struct lists *l);
