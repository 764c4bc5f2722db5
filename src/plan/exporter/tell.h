/* tell.h - the Node's condition about the GPU metrics: are they served as they were asked for, and to whom? Pure. */
#pragma once
#include "api/node_report.h"
#include "plan/facts.h"
#include "plan/plan.h"

#define FL_EXPORTER_CONDITION "GPUMetricsServed"

#define FL_EXPORTER_FACTS(X) \
	X(NEED, fl_exporter_status, status, "exporter") \
	X(MAYBE_ONLY, fl_own_node, node)
FL_FACTS(fl_exporter_facts, FL_EXPORTER_FACTS);

extern const struct fl_owner fl_exporter_owner;
void fl_exporter_plan(const void *facts, struct fl_plan *plan);
