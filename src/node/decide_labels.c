#include "node/decide_labels.h"
#include "node/state_is_ours.h"
#include "plan/labels/labels.h"

FL_FACTS_ONCE(labels, fl_labels_facts, FL_LABELS_FACTS, FL_WHEN_STATE_IS_OURS)

const struct fl_capability fl_node_labels = {
	.name = "node-labels", .watches = labels_watches, .once = true,
	.owners = FL_OWNERS(&fl_labels_owner, &fl_labels_file_owner, &fl_labels_lag_owner, &fl_labels_node_owner,
			    &fl_labels_direct_owner, &fl_labels_present_owner),
	.facts_size = sizeof(struct fl_labels_facts), .gather = labels_gather, .plan = fl_labels_plan,
};
