#include "node/decide_labels.h"
#include "node/state_is_ours.h"
#include "plan/labels/labels.h"

FL_FACTS_ONCE(labels, fl_labels_facts, FL_LABELS_FACTS, FL_WHEN_STATE_IS_OURS)

static const struct fl_owner *const labels_owners[] = { &fl_labels_owner, &fl_labels_node_owner, NULL };

const struct fl_capability fl_node_labels = {
	.name = "node-labels", .watches = labels_watches, .owners = labels_owners, .once = true,
	.facts_size = sizeof(struct fl_labels_facts), .gather = labels_gather, .plan = fl_labels_plan,
};
