/* in.h - the inside of the plan: to which pool each GPU belongs (belong.c), the list of pools (nodepools.c), and what
 * is said of each GPU (tell.c). */
#pragma once
#include "plan/nodepools/nodepools.h"

enum belongs {
	BELONGS_NOWHERE,
	BELONGS_UNKNOWN,       /* the API server has not told of its pool yet: as it was */
	BELONGS_SERVED,
	BELONGS_KEPT_BACK,
	BELONGS_LEAVING,
};

/* A GPUDevice of this node. */
struct belonging {
	const struct fl_gpu_device *device;
	const struct fl_card *card;            /* NULL: no such GPU is here */
	struct fl_str address;                 /* of the GPU */
	const struct fl_gpu_pool *pool;        /* NULL: not known, or not there */
	struct fl_str resource;
	enum fl_api_answer answer;             /* of the API server about the pool */
	enum belongs is;
	const char *reason;                    /* of KEPT_BACK and LEAVING */
	struct fl_str why;
};

struct nodepools {
	const struct fl_nodepools_facts *facts;
	struct fl_plan *plan;
	struct belonging *at;
	uint32_t len;
	bool mixed;                            /* pools of several backends have GPUs here ... */
	enum fl_pool_backend backend;          /* ... and the oldest one of this */
};

/* ---- belong.c ---- */
bool nodepools_belong(struct nodepools *n);            /* false: no memory */
/* An entry that a pool has for a GPU, by its address: what it is there. */
enum belongs nodepools_entry_has(const struct fl_node_pool *pool, struct fl_str address);
const struct fl_node_pool *nodepools_find(const struct fl_node_pool_list *pools, struct fl_str resource);
/* Is the GPU in a pool of the command line? */
bool nodepools_local(const struct nodepools *n, const struct fl_card *card);

/* ---- tell.c ---- */
void nodepools_tell(struct nodepools *n, const struct belonging *b);
