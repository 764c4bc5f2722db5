/* output_in.h - for the files of this folder alone: where labels are, and where they should be. */
#pragma once
#include "plan/labels/labels.h"

#define LABELS_TIMESTAMP "nvidia.com/gfd.timestamp"

/* One place for labels, as it is. */
struct labels_place {
	bool exists;                   /* something of ours is there */
	struct fl_map is;              /* the labels in it */
};

struct labels_out {
	const struct fl_labels_facts *f;
	struct fl_plan *plan;
	struct fl_ref feature, file;   /* our NodeFeature; our file */
	struct labels_place at[FL_LABELS_OUTPUT_COUNT_];
};

struct fl_str labels_value(const struct fl_map *map, struct fl_str key);   /* {0}: there is none */

/* What is on the Node itself: `exists` by the annotation. And what should be: NULL: nothing. */
struct labels_place labels_direct(const struct fl_own_node *node, struct fl_plan *plan);
void labels_want_direct(const struct labels_out *out, const struct fl_map *labels);

/* A text of NFD's: is the key in its list of the labels that it manages on the Node? */
bool labels_nfd_has(const struct fl_own_node *node, struct fl_str key);

/* Has NFD had the time for what waits, while the agent could see its work? `name` and `lag`: which it is, and since
 * when it waits. When nothing waits for it, the answer is no. */
bool labels_waited(const struct labels_out *out, const char *name, const struct fl_label_lag *lag, bool waits);

/* Why the Node still lacks labels that it was given long ago; a reason and a message for the condition. NULL: it has
 * them, or it is too early to tell. */
const char *labels_lacking(const struct labels_out *out, const struct fl_map *labels, struct fl_str *ret_message);

/* The GPUs, for NodeFeatureRules and pools. */
void labels_features(const struct fl_labels_facts *f, struct fl_plan *plan, struct fl_nfd_features *ret);
