#include "node/decide_checks.h"
#include "node/state_is_ours.h"
#include "plan/checks/checks.h"
#include "plan/checks/ready.h"
#include "plan/exporter/tell.h"

FL_FACTS_ONCE(checks, fl_checks_facts, FL_CHECKS_FACTS, FL_WHEN_STATE_IS_OURS)

const struct fl_capability fl_node_checks = {
	.name = "node-checks", .watches = checks_watches, .once = true,
	.owners = FL_OWNERS(&fl_checks_owner, &fl_checks_node_owner),
	.facts_size = sizeof(struct fl_checks_facts), .gather = checks_gather, .plan = fl_checks_plan,
};

FL_FACTS_ONCE(ready_files, fl_ready_facts, FL_READY_FACTS, { &fl_ready_file_kind, fl_one_key, false },
	      FL_WHEN_STATE_IS_OURS)

const struct fl_capability fl_node_ready_files = {
	.name = "node-ready-files", .watches = ready_files_watches, .once = true, .owners = FL_OWNERS(&fl_ready_owner),
	.facts_size = sizeof(struct fl_ready_facts), .gather = ready_files_gather, .plan = fl_ready_plan,
};

FL_FACTS_ONCE(exporter, fl_exporter_facts, FL_EXPORTER_FACTS, FL_WHEN_STATE_IS_OURS)

const struct fl_capability fl_node_exporter = {
	.name = "node-exporter", .watches = exporter_watches, .once = true, .owners = FL_OWNERS(&fl_exporter_owner),
	.facts_size = sizeof(struct fl_exporter_facts), .gather = exporter_gather, .plan = fl_exporter_plan,
};
