/* in.h - the inside of the plan: what is wanted of a GPU (wish.c), the steps (layout.c), and what is said (tell.c). */
#pragma once
#include "plan/mig/layout.h"
#include "plan/mig/solve.h"

enum mig_state { MIG_DONE, MIG_WORKS, MIG_WAITS, MIG_FAILED };

struct mig {
	const struct fl_mig_facts *facts;
	struct fl_plan *plan;
	struct fl_str config;              /* the layout's name; empty: none is wanted, or it is not known */
	bool by_label;                     /* the Node's label names it */
	struct fl_str wrong;               /* why no GPU can have it */
	bool other;                        /* another program partitions, as the condition says */
	bool pooled;                       /* the GPU that is planned is of a pool of the cluster: its MigState tells */
	enum mig_state state;              /* the worst of all GPUs */
	const char *reason;                /* of the worst */
	struct fl_str said;
};

/* What one GPU should be. */
struct mig_wish {
	bool any;                          /* false: nothing is said of this GPU */
	bool mode;
	bool pooled;                       /* a pool of the cluster asks for it */
	bool home;                         /* it is what it was before it joined a pool */
	struct fl_mig_count *counts;
	uint32_t len;
	struct fl_str wrong;               /* why this GPU cannot have it */
};

void mig_choose(struct mig *m);                                /* config, by_label, wrong */
struct mig_wish mig_wish(struct mig *m, uint32_t card);
void mig_card(struct mig *m, uint32_t card);                   /* wants its Layout, and says its state */

void mig_say(struct mig *m, enum mig_state state, const char *reason, const struct fl_card *card, const char *fmt, ...)
	FL_PRINTF(5, 6);
void mig_end_states(struct mig *m);                            /* of GPUs of which nothing was said */
void mig_tell(struct mig *m);
