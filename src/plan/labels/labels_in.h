/* labels_in.h - for the files of this folder alone: labels while they are made. */
#pragma once
#include "plan/labels/labels.h"

/* GPUs or MIG devices that one set of labels is about. */
struct labels_group {
	struct fl_str name;                    /* "gpu", "mig-1g.10gb" */
	const struct fl_card *card;            /* one of them; NULL: there are none */
	const struct fl_partition *part;       /* NULL: whole GPUs */
	uint32_t count;
};

struct labels {
	const struct fl_labels_facts *facts;
	struct fl_plan *plan;
	const struct fl_card **cards;          /* that count, by address */
	uint32_t card_len, part_len;           /* MIG devices of all of them */
	struct fl_pair *at;
	uint32_t len, cap;
};

/* "nvidia.com/<name>[.<more>]"; a label that is there is replaced. */
void labels_put(struct labels *l, struct fl_str name, const char *more, const char *fmt, ...) FL_PRINTF(4, 5);

/* GPUs by model, MIG devices by the MIG strategy. */
void labels_resources(struct labels *l);
