/* checks.h - the checks of a GPU node: does what a GPU program needs work, and what is to be done where it does not?
 *
 * Pure. Each check is a Check of the node, by its name:
 *
 *     driver     module and library have one version, and every GPU that is bound to the module answers
 *     nodes      each GPU and MIG device has its device nodes, with the right numbers
 *     toolkit    the driver's libraries, the hook, the container runtime's CDI and the CDI file
 *     cuda       no GPU on which CUDA was tried computed wrong. It is tried before one that hung comes back
 *     pcie       each GPU's link has its full width. Speed counts under load only, and is not looked at
 *     nvlink     each GPU has as many NVLinks as the others of its model
 *     fabric     each GPU that can join an NVLink fabric has, and the fabric is well
 *
 * A check that looks at nothing here is skipped. While what it looks at is not known, an earlier result is stale, and
 * there is no first one. The first three keep GPUs from being advertised (plan/gpu/needs.h, lists.h); the others are
 * reported. All failures are in one condition of the Node, each change is an Event, and each result is a metric and an
 * attribute of the NodeFeature.
 */
#pragma once
#include "api/cdi.h"
#include "api/node_report.h"
#include "plan/facts.h"
#include "plan/plan.h"

#define FL_CHECKS_CONDITION "GPUChecksPassed"

#define FL_CHECKS_FACTS(X) \
	X(NEED, fl_settings, settings, "settings") \
	X(NEED, fl_driver, driver, "driver") \
	X(ONE, fl_host, host, "host") \
	X(ONE, fl_runtime, runtime, "runtime") \
	X(ALL, fl_card, cards, card_len) \
	X(ALL, fl_cdi_spec, specs, spec_len) \
	X(ALL, fl_check, checks, check_len) \
	X(MAYBE_ONLY, fl_own_node, node)
FL_FACTS(fl_checks_facts, FL_CHECKS_FACTS);

extern const struct fl_owner fl_checks_owner, fl_checks_node_owner;
void fl_checks_plan(const void *facts, struct fl_plan *plan);
