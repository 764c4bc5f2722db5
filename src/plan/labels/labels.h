/* labels.h - the labels (nvidia.com) of a GPU node, as GPU feature discovery writes them, and where they go.
 *
 * Pure. Values follow GPU feature discovery (GFD) in every case but these: of several models, the one with the most
 * GPUs counts, then the first name, where GFD takes any; sharing counts only where GPUs outside all pools are served;
 * gfd.timestamp is the time of the last change.
 *
 * They go to one place, the output. Into a NodeFeature of the agent's own, owned by the Node, which NFD merges into the
 * Node's labels: by name, later names win, and the name follows that of GFD's object, so that GFD's coming and going
 * changes no label. Into a file that NFD's worker reads. Or on the Node itself, but no key that NFD has put there. With
 * another output the labels move: first there, then away from here, when NFD has had the time to read the new place; of
 * those on the Node itself first away.
 *
 * Nothing is written before the driver has reported all GPUs. While it is away, paused or sick, and while it is not
 * known what a GPU is, what was written stays.
 */
#pragma once
#include "api/nfd.h"
#include "api/node_report.h"
#include "plan/facts.h"
#include "plan/plan.h"

/* The NodeFeature, with the Node's name. NFD merges the objects of a Node by their names, and the later one wins: GFD's
 * is the same without the end. */
#define FL_LABELS_OBJECT "nvidia-features-for-%.*s-fairlead"
#define FL_LABELS_GFD_OBJECT "nvidia-features-for-%.*s"
#define FL_LABELS_CONDITION "GPULabelsPublished"
#define FL_LABELS_LAG "labels"       /* a LabelLag */
#define FL_LABELS_MOVE "move"

#define FL_LABELS_FACTS(X) \
	X(NEED, fl_settings, settings, "settings") \
	X(NEED, fl_given, given, "given") \
	X(NEED, fl_driver, driver, "driver") \
	X(ALL, fl_card, cards, card_len) \
	X(ALL, fl_label_file, files, file_len) \
	X(ONE, fl_label_lag, lag, FL_LABELS_LAG) \
	X(ONE, fl_label_lag, move, FL_LABELS_MOVE) \
	X(ALL, fl_check, checks, check_len) \
	X(MAYBE_ONLY, fl_own_node, node) \
	X(CURRENT, fl_own_node, node_current) \
	X(MAYBE_ALL, fl_node_feature, features, feature_len) \
	X(TOLD, fl_node_feature, features_told) \
	X(KNOWN, fl_node_feature, features_known) /* told and not known: the API server has no such kind */ \
	X(NOW, now) \
	X(WALL, wall)
FL_FACTS(fl_labels_facts, FL_LABELS_FACTS);

extern const struct fl_owner fl_labels_owner;          /* of the NodeFeature */
extern const struct fl_owner fl_labels_file_owner, fl_labels_lag_owner;
extern const struct fl_owner fl_labels_node_owner;     /* of the Node's condition */
/* Of labels on the Node itself, each with an annotation that says that they are there. gpu.present is written by the
 * GPU Operator otherwise. */
extern const struct fl_owner fl_labels_direct_owner, fl_labels_present_owner;
bool fl_labels_is_ours(struct fl_str key);             /* one of the keys of fl_labels_direct_owner */
void fl_labels_plan(const void *facts, struct fl_plan *plan);

/* The labels without gfd.timestamp, sorted. Not empty: why there are none, and what to do; then *ret is of no use. */
struct fl_str fl_labels_make(const struct fl_labels_facts *facts, struct fl_plan *plan, struct fl_map *ret);

/* A GPU of this node by its labels: the driver has told what it is, and no other driver of the kernel has it. */
bool fl_labels_counts(const struct fl_card *card);
