/* labels.h - the labels (nvidia.com) of a GPU node, as GPU feature discovery writes them, and where they go.
 *
 * Pure. Values follow GPU feature discovery (GFD) in every case but these: of several models, the one with the most
 * GPUs counts, then the first name; sharing counts only where GPUs outside all pools are served; gfd.timestamp is the
 * time of the last change.
 *
 * Labels go into a NodeFeature of the agent's own, owned by the Node, which NFD merges into the Node's labels. NFD
 * merges by name, later names win: the name follows that of GFD's object, so that GFD's coming and going changes no
 * label. Nothing is written before the driver has reported all GPUs. While it is away, paused or sick, and while it is
 * not known what a GPU is, what was written stays.
 */
#pragma once
#include "api/nfd.h"
#include "api/node.h"
#include "plan/facts.h"
#include "plan/plan.h"

/* The NodeFeature, with the Node's name. NFD merges the objects of a Node by their names, and the later one wins: GFD's
 * is the same without the end. */
#define FL_LABELS_OBJECT "nvidia-features-for-%.*s-fairlead"
#define FL_LABELS_CONDITION "GPULabelsPublished"

#define FL_LABELS_FACTS(X) \
	X(NEED, fl_settings, settings, "settings") \
	X(NEED, fl_given, given, "given") \
	X(NEED, fl_driver, driver, "driver") \
	X(ALL, fl_card, cards, card_len) \
	X(NEED_ONLY, fl_own_node, node) \
	X(MAYBE_ALL, fl_node_feature, features, feature_len) \
	X(TOLD, fl_node_feature, features_told) \
	X(KNOWN, fl_node_feature, features_known) /* told and not known: the API server has no such kind */ \
	X(WALL, wall)
FL_FACTS(fl_labels_facts, FL_LABELS_FACTS);

extern const struct fl_owner fl_labels_owner, fl_labels_node_owner;
void fl_labels_plan(const void *facts, struct fl_plan *plan);

/* The labels without gfd.timestamp, sorted. Not empty: why there are none, and what to do; then *ret is of no use. */
struct fl_str fl_labels_make(const struct fl_labels_facts *facts, struct fl_plan *plan, struct fl_map *ret);

/* A GPU of this node by its labels: the driver has told what it is, and no other driver of the kernel has it. */
bool fl_labels_counts(const struct fl_card *card);
