/* lists_in.h - the lists while they are made: which cards are in which (lists.c), and what is said of each
 * device (units.c). */
#pragma once
#include "plan/gpu/lists.h"

#define FL_LISTS_NAMED 4                     /* devices in a condition's message: whoever reads it needs an example */

struct list {
	struct fl_str name;
	struct fl_unit *units;
	uint32_t len;
	int32_t replicas;                      /* of new units; up to 1: handed out whole */
	bool mps;                              /* replicas are clients of a control daemon */
	bool waits;                            /* something is not known yet of a device, or not written: not served
						  for the first time, but for who holds it */
	bool soon;                             /* ... and it comes by itself in a moment: not even for them */
};

/* A device that a container has. */
struct held {
	struct fl_str resource, id, card;      /* without its replica; the card's address, where it is known */
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
	bool by_nodes, by_cdi;                 /* how containers get devices, after what the runtime says */
	bool *on_disk;                         /* of each of the specs: is it there as it is shown? */
	enum fl_device_list *device_lists;
	uint32_t device_lists_len;
	enum fl_extra *extras;                 /* that are there, and may be handed out */
	uint32_t extra_len;
	bool extras_wait;                      /* one is there and its CDI file is not: not served for the first time */
	struct fl_str refused;
	struct fl_str required;                /* what must be beside cards and is not: why; empty: it is */
	struct fl_str lacks;                   /* the driver has no libraries: why; empty: it has */
	const char *reason;                    /* of the first problem; NULL: there is none */
	bool lasting;                          /* one of them does not end by itself in a moment */
	uint32_t devices;                      /* that have a problem; the first ones are named */
	struct fl_str problems;
	struct fl_str pools;                   /* what is wrong with how pools name their cards; empty: nothing */
	bool pools_unknown;                    /* ... or it is not known before the driver has told of all cards */
	uint32_t sick;
	bool set_up;                           /* one of the problems is neither a moment's nor a device's */
	bool others;                           /* another plugin, or a DeviceClass, has one of the names */
};

/* What containers get beside their cards, of what the host has. False: something is there, and its CDI file is not. */
bool lists_choose_extras(struct lists *l);

/* Directories that cannot be used. */
void lists_look_at_dirs(struct lists *l);

/* The Node's conditions, after all that is wrong is known; `served`: how many lists are. */
void lists_tell(struct lists *l, uint32_t served);

void lists_problem(struct lists *l, const char *reason, const char *fmt, ...) FL_PRINTF(3, 4);
/* One that ends by itself in a moment. */
void lists_moment(struct lists *l, const char *reason, const char *fmt, ...) FL_PRINTF(3, 4);
/* Of one device among many, `soon` as above: the first FL_LISTS_NAMED of them are named. */
void lists_device(struct lists *l, bool soon, const char *reason, const char *fmt, ...) FL_PRINTF(4, 5);

/* The list of that name, made if it is not there; NULL: no memory. */
struct list *lists_get(struct lists *l, struct fl_str name);
struct fl_unit *list_find(struct list *list, struct fl_str id);
const struct fl_resource *lists_served(const struct lists *l, struct fl_str name);

/* nvidia.com/mig-1g.10gb.me of 1g.10gb+me; .p NULL: a part of a GPU instance, which has no name as a resource. */
struct fl_str lists_mig_name(struct lists *l, struct fl_str profile);

/* Of a card, by its address, or of a partition, by its UUID; NULL: nobody has looked at it yet. */
const struct fl_health *lists_health(const struct lists *l, struct fl_str name);

/* Which CDI files are written and not on their way: before anything goes into a list. False: no memory. */
bool lists_look_at_files(struct lists *l);
/* A card, or its partition, into a list. */
void list_add(struct lists *l, struct list *list, const struct fl_card *card, const struct fl_partition *part);
/* A card that is in no list, for nobody knows its name: people are told of it all the same. */
void lists_tell_nameless(struct lists *l, const struct fl_card *card);
/* A device that was served and is not found now: it stays as it was, as healthy as its card. */
void list_keep(struct lists *l, struct list *list, const struct fl_unit *unit);
/* All that depends on who holds what, and the order: after everything is in. */
void list_finish(struct lists *l, struct list *list);

/* ---- lists_pools.c ---- */
/* Cards that pools name go from `free` into their lists. */
void lists_serve_pools(struct lists *l, const struct fl_card **free, uint32_t *free_len);

/* ---- lists_claims.c ---- */
bool lists_blocked(const struct fl_gpu_lists_facts *facts);   /* what lists rest on stays unknown, by a directory */
bool lists_claimed(const struct lists *l, struct fl_str name);     /* by a DeviceClass, now or when last heard of */
void lists_remember_claims(struct lists *l);
